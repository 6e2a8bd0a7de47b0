"""Contextual bandits on calibrated posteriors, and what another policy would have earned: `value` from logs with probabilities."""

import copy
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state

from . import _rvi
from .sklearn import BayesianLogisticRegression, _rows

__all__ = ["Bandit", "Log", "Value", "read_vw", "replay", "value"]

POLICIES = ("directed", "thompson", "ucb", "greedy")


class Bandit:
    """Chooses among arms by the posterior of their rewards, and learns from the rewards.

    Parameters
    ----------
    arms : sequence or dict
        The arms, hashable. With a dict from arms to features all arms share one posterior.
    learner : estimator, optional
        Model of the rewards: by default `BayesianLogisticRegression`, for rewards 0 and 1; `BayesianLinearRegression` or
        `BayesianGLMRegressor` for others. The bandit learns on copies.
    policy : 'directed', 'thompson', 'ucb' or 'greedy', default='directed'
        Information-directed sampling (arXiv 1403.5556): by 100 posterior draws of all rewards, the choice with the least squared cost
        for the variance of the reward that the best arm explains; it explores no more than it can use. Thompson sampling: the
        best arm under one draw. Upper confidence bound: the largest upper end of the posterior interval of the linear predictor.
        Greedy: the largest mean of the linear predictor, without exploration.
    level : float, default=0.9
        Mass of the central interval for 'ucb'.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Notes
    -----
    Arms without features have a posterior each, over the weights of the context. Arms with features share one over context, features
    and their products. Arms without observations are tried first.

    Examples
    --------
    >>> import numpy as np
    >>> from rvi.bandit import Bandit
    >>> rng = np.random.default_rng(0)
    >>> bandit = Bandit(["red", "blue"], random_state=0)
    >>> for _ in range(300):
    ...     x = rng.normal(size=(1, 2))
    ...     arm = bandit.pull(x)
    ...     clicked = rng.random() < 1 / (1 + np.exp(-3 * x[0, 0] * (1 if arm[0] == "red" else -1)))
    ...     bandit = bandit.update(x, arm, [clicked])
    >>> bandit.pull([[2.0, 0.0]])[0], bandit.pull([[-2.0, 0.0]])[0]
    ('red', 'blue')
    """

    def __init__(self, arms, learner=None, *, policy="directed", level=0.9, random_state=None):
        self.arms = list(arms)
        if len(set(self.arms)) != len(self.arms) or not self.arms:
            raise ValueError(f"arms must be distinct, and at least one: {self.arms}")
        if policy not in POLICIES:
            raise ValueError(f"policy must be one of {', '.join(map(repr, POLICIES))}, not {policy!r}")
        self.features = None
        if isinstance(arms, dict):
            self.features = np.array([np.asarray(own, dtype=np.float64) for own in arms.values()])
            if self.features.ndim != 2:
                raise ValueError("each arm needs the same number of features")
        self.learner = BayesianLogisticRegression() if learner is None else learner
        self.policy, self.level = policy, _rows.level(level)
        self._random = check_random_state(random_state)
        self.models = [clone(self.learner) for _ in ([0] if self.features is not None else self.arms)]
        self._waiting = {}

    def _rows(self, X, place):
        """The rows of a model for an arm at each context."""
        if self.features is None:
            return X
        own = np.broadcast_to(self.features[place], (len(X), self.features.shape[1]))
        return np.hstack([X, own, (X[:, :, None] * own[:, None, :]).reshape(len(X), X.shape[1] * own.shape[1])])

    def _contexts(self, X):
        X = _rows.contiguous(X)
        if X.ndim != 2 or not np.isfinite(X).all():
            raise ValueError(f"contexts must be finite numbers of shape (n_rows, n_features), not {X.shape}")
        known = next((model.n_features_in_ for model in self.models if model.__sklearn_is_fitted__()), None)
        own = 0 if self.features is None else self.features.shape[1]
        if known is not None and X.shape[1] + own + X.shape[1] * own != known:
            raise ValueError(f"contexts have {X.shape[1]} features, unlike the earlier contexts")
        return X

    def _model(self, place):
        return self.models[0 if self.features is not None else place]

    def _choose(self, X):
        if not len(X):
            return []
        fitted = np.array([model.__sklearn_is_fitted__() for model in self.models])
        if not fitted.all():
            untried = np.flatnonzero(~fitted) if self.features is None else np.arange(len(self.arms))
            return self._random.choice(untried, size=len(X))
        rows = X
        if self.features is not None:
            # Each context has a row for each arm.
            rows = np.stack([self._rows(X, place) for place in range(len(self.arms))], axis=1).reshape(len(X) * len(self.arms), -1)
        models = [model._model for model in self.models]
        before = self._random.get_state()
        try:
            return _rvi.choose(models, _rows.contiguous(rows), len(self.arms), self.policy, self.level, _rows.seed(self._random))
        except BaseException:
            self._random.set_state(before)
            raise

    def pull(self, X, keys=None):
        """Choose an arm for each context.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Contexts.
        keys : sequence of hashable, optional
            Keys under which contexts and choices are kept until `reward`.

        Returns
        -------
        arms : list
            One for each context.
        """
        X = self._contexts(X)
        if keys is not None:
            keys = list(keys)
            if len(keys) != len(X) or len(set(keys)) != len(keys) or not self._waiting.keys().isdisjoint(keys):
                raise ValueError("keys must be one for each context, all distinct and not in use")
        places = self._choose(X)
        if keys is not None:
            for key, row, place in zip(keys, X, places, strict=True):
                self._waiting[key] = (row.copy(), int(place))
        return [self.arms[place] for place in places]

    def update(self, X, arms, rewards, sample_weight=None):
        """Learn rewards of choices.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Contexts.
        arms : sequence
            The chosen arms, by this bandit or another policy.
        rewards : array-like of shape (n_rows,)
            The rewards.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row.

        Returns
        -------
        self : Bandit
            Unchanged after an error.
        """
        X, arms, rewards = self._contexts(X), list(arms), np.asarray(rewards, dtype=np.float64)
        known = {arm: place for place, arm in enumerate(self.arms)}
        unknown = [arm for arm in arms if arm not in known]
        if unknown:
            raise ValueError(f"there is no arm {unknown[0]!r}")
        if len(arms) != len(X) or rewards.shape != (len(X),):
            raise ValueError(f"{len(X)} contexts, {len(arms)} arms and rewards of shape {rewards.shape}")
        if is_classifier(self.learner) and not np.isin(rewards, (0.0, 1.0)).all():
            place = int(np.flatnonzero(~np.isin(rewards, (0.0, 1.0)))[0])
            raise ValueError(
                f"rewards[{place}] = {rewards[place]:g}, but rewards of {type(self.learner).__name__} are 0 and 1: for numbers take "
                "Bandit(arms, BayesianLinearRegression())"
            )
        places = np.array([known[arm] for arm in arms], dtype=int)
        weight = _rows.numbers("sample_weight", sample_weight, len(X))
        before = list(self.models)
        try:
            groups = [0] if self.features is not None else np.unique(places)
            for place in groups:
                chosen = places >= 0 if self.features is not None else places == place
                # One of several arms may fail after others have learned: then these are as they were, too.
                if len(groups) > 1:
                    self.models[place] = copy.deepcopy(self.models[place])
                own = None if weight is None else weight[chosen]
                self._learn(place, self._chosen_rows(X, places, chosen), rewards[chosen], own)
        except BaseException:
            self.models = before
            raise
        return self

    def _chosen_rows(self, X, places, chosen):
        if self.features is None:
            return X[chosen]
        return np.vstack([self._rows(X[i : i + 1], places[i]) for i in range(len(X))])

    def _learn(self, place, rows, rewards, weight):
        model = self.models[place]
        if model.__sklearn_is_fitted__():
            # What scikit-learn would check for some hundred microseconds has been checked.
            model._learn(rows, model._encoded(rewards) if is_classifier(model) else rewards, weight)
        else:
            more = {"classes": [0.0, 1.0]} if is_classifier(model) else {}
            model.partial_fit(rows, rewards, sample_weight=weight, **more)

    def reward(self, key, value):
        """Learn the reward of the choice under `key`, now or later; the key is then free.

        Parameters
        ----------
        key : hashable
            As given to `pull`; an unknown key is a `KeyError`.
        value : float
            The reward.
        """
        row, place = self._waiting[key]
        self.update(row[None], [self.arms[place]], [value])
        del self._waiting[key]
        return self

    @property
    def waiting(self):
        """The keys of choices without a reward."""
        return list(self._waiting)

    def expected(self, X):
        """Expected reward of each arm at each context, of shape (n_rows, n_arms); NaN for arms without observations.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Contexts.
        """
        X = self._contexts(X)
        found = np.full((len(X), len(self.arms)), np.nan)
        for place in range(len(self.arms)):
            model = self._model(place)
            if model.__sklearn_is_fitted__():
                rows = self._rows(X, place)
                found[:, place] = model._model.predict(rows)[0]
        return found


def replay(bandit, X, arms, rewards):
    """Mean reward of a bandit, estimated from a log of random choices (Li, Chu, Langford and Wang 2011).

    Parameters
    ----------
    bandit : Bandit
        It learns only from the rows on which its choice is the logged one.
    X : array-like of shape (n_rows, n_features)
        Contexts in their order.
    arms : sequence
        The chosen arms, drawn with equal probabilities: otherwise the estimate is biased.
    rewards : array-like of shape (n_rows,)
        The rewards.

    Returns
    -------
    mean : float
        Mean reward of the matching rows; NaN if there are none.
    error : float
        Its standard error.
    count : int
        Number of matching rows.
    """
    earned = []
    for row, arm, reward in zip(np.asarray(X, dtype=np.float64), arms, rewards, strict=True):
        if bandit.pull(row[None])[0] == arm:
            bandit.update(row[None], [arm], [reward])
            earned.append(float(reward))
    if not earned:
        return float("nan"), float("nan"), 0
    return float(np.mean(earned)), float(np.std(earned) / np.sqrt(len(earned))), len(earned)


@dataclass(frozen=True)
class Value:
    """An estimate of the mean reward of a policy.

    Attributes
    ----------
    estimate : float
        The estimate.
    error : float
        Its standard error.
    interval : tuple of float
        The interval by the central limit theorem, for a number of rounds that was fixed beforehand.
    effective : float
        The number of rounds that would tell as much if all weights were equal. With less than a few hundred the interval is too narrow.
    anytime : ndarray of shape (n_rounds, 2) or None
        The ends, after each round, of an interval that holds at all rounds together; None unless `within` was given.

    Examples
    --------
    >>> from rvi.bandit import value
    >>> found = value([0, 1] * 200, [0.0, 1.0] * 200, [0.5] * 400, [[0.0, 1.0]] * 400)
    >>> round(found.estimate, 12), round(found.effective)
    (1.0, 200)
    """

    estimate: float
    error: float
    interval: tuple[float, float]
    effective: float
    anytime: np.ndarray | None


def value(arms, rewards, probabilities, policy, *, predicted=None, estimator=None, level=0.95, within=None, least=None):
    """Mean reward of a policy, estimated from a log of the choices of another.

    With the weights `w = policy[t, arm] / probability`, the estimators are the means over the rounds of

    - 'ips', inverse propensity scores: `w * reward` (unbiased);
    - 'snips', self-normalised: the same sum over that of the weights (a bias of order 1/n; no change by the rewards' origin);
    - 'dr', doubly robust: `policy @ predicted + w * (reward - predicted[arm])` (unbiased whatever the predictions, and the more
      precise the better they are; arXiv 1103.4601).

    Parameters
    ----------
    arms : array-like of int, shape (n_rounds,)
        The chosen arms as columns of `policy`, from 0.
    rewards : array-like of shape (n_rounds,)
        Their rewards.
    probabilities : array-like of shape (n_rounds,)
        The probability with which each was chosen, above 0 and at most 1.
    policy : array-like of shape (n_rounds, n_arms)
        The probability with which the policy in question would choose each arm. It may not depend on the rewards of the log.
    predicted : array-like of shape (n_rounds, n_arms), optional
        The expected reward of each arm, as by `Bandit.expected`, from other rounds or earlier ones.
    estimator : 'ips', 'snips' or 'dr', optional
        By default 'dr' with predictions and 'ips' without.
    level : float, default=0.95
        Level of the intervals.
    within : tuple of float, optional
        The lowest and the highest possible reward. With it `anytime` is an empirical-Bernstein confidence sequence (arXiv 2010.09686, 2210.10768) that holds
        for all rounds together: look whenever you like. That of 'snips' needs `least`.
    least : float, optional
        The least probability with which the log chooses any arm in any round; the sequence uses predictions only with it, of 'snips' the self-normalised mean of the
        rounds before.

    Returns
    -------
    value : Value
        The estimate with its intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from rvi.bandit import value
    >>> rng = np.random.default_rng(0)
    >>> arms = rng.choice(2, size=2000, p=[0.8, 0.2])
    >>> rewards = (rng.random(2000) < np.where(arms == 1, 0.6, 0.3)).astype(float)
    >>> found = value(arms, rewards, np.where(arms == 1, 0.2, 0.8), [[0.0, 1.0]] * 2000, within=(0, 1))
    >>> found.interval[0] < 0.6 < found.interval[1]
    True
    >>> lower, upper = found.anytime[-1].tolist()
    >>> lower < 0.6 < upper
    True
    """
    if estimator is None:
        estimator = "ips" if predicted is None else "dr"
    if estimator not in ("ips", "snips", "dr"):
        raise ValueError(f"estimator must be 'ips', 'snips' or 'dr', not {estimator!r}")
    if estimator == "dr" and predicted is None:
        raise ValueError("the estimator 'dr' needs predicted")
    if estimator == "snips" and within is not None and least is None:
        raise ValueError("the confidence sequence of the estimator 'snips' needs least, the least probability in the log")
    chosen = np.asarray(arms)
    if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer) or (chosen < 0).any():
        raise ValueError("arms must be columns of policy, whole numbers from 0, one for each round")
    matrices = [None if own is None else _rows.contiguous(own) for own in (policy, predicted)]
    if any(own is not None and own.ndim != 2 for own in matrices):
        raise ValueError("policy and predicted must have the shape (n_rounds, n_arms)")
    columns = [_rows.contiguous(own) for own in (probabilities, rewards)]
    if any(own.ndim != 1 for own in columns):
        raise ValueError("probabilities and rewards must have the shape (n_rounds,)")
    log = (np.ascontiguousarray(chosen, dtype=np.uintp), *columns, *matrices)
    estimate, error, lower, upper, effective = _rvi.value(log, estimator, _rows.level(level))
    anytime = None
    if within is not None:
        lowest, highest = map(float, within)
        own = log if estimator == "dr" and least is not None else (*log[:4], None)
        normalised = estimator == "snips"
        least = float(least) if normalised or own[4] is not None else None
        anytime = _rvi.value_sequence(own, (lowest, highest), least, _rows.level(level), normalised)
    return Value(estimate, error, (lower, upper), effective, anytime)


@dataclass(frozen=True)
class Log:
    """A log of choices, as `read_vw` reads it.

    Attributes
    ----------
    arms : ndarray of int, shape (n_rounds,)
        The chosen arms, from 0.
    rewards : ndarray of shape (n_rounds,)
        Their rewards.
    probabilities : ndarray of shape (n_rounds,)
        The probability with which each was chosen.
    features : list of dict
        The features of each context by name, for `sklearn.feature_extraction.DictVectorizer`.

    Examples
    --------
    >>> from rvi.bandit import read_vw
    >>> read_vw(["2:-1:0.5 | age:31"]).features
    [{'age': 31.0}]
    """

    arms: np.ndarray
    rewards: np.ndarray
    probabilities: np.ndarray
    features: list


def read_vw(lines):
    """Read a log in the format of Vowpal Wabbit's `--cb`: `action:cost:probability | features`.

    Parameters
    ----------
    lines : iterable of str
        The lines, of a file or a list; empty ones are passed over. Actions count from 1, and a reward is the negative of a cost.

    Returns
    -------
    log : Log
        Its arms count from 0. A feature `a` of a namespace `user` is called `user^a`; without a value it is 1, and the value of a namespace
        multiplies those of its features.

    Examples
    --------
    >>> from rvi.bandit import read_vw
    >>> log = read_vw(["1:0:0.75 |user tom |time morning", "", "3:-1:0.25 |user:2 anna age:0.5"])
    >>> log.arms.tolist(), log.rewards.tolist(), log.probabilities.tolist()
    ([0, 2], [0.0, 1.0], [0.75, 0.25])
    >>> log.features
    [{'user^tom': 1.0, 'time^morning': 1.0}, {'user^anna': 2.0, 'user^age': 1.0}]
    """
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        label, *spaces = line.split("|")
        try:
            action, cost, probability = label.split()[0].split(":")
            action, cost, probability = int(action), float(cost), float(probability)
            features = {}
            for space in spaces:
                name, scale = "", 1.0
                words = space.split()
                if words and not space[0].isspace():
                    name, scale = _named(words.pop(0))
                for word in words:
                    own, times = _named(word)
                    own = f"{name}^{own}" if name else own
                    features[own] = features.get(own, 0.0) + scale * times
        except (IndexError, ValueError) as error:
            raise ValueError(f"line {number} is not 'action:cost:probability | features': {line.strip()[:80]!r}") from error
        if action < 1 or not np.isfinite(cost) or not 0.0 < probability <= 1.0:
            raise ValueError(
                f"line {number}: the action must be 1 or more, the cost finite, and the probability above 0 and at most 1: {label.strip()!r}"
            )
        found.append((action - 1, -cost, probability, features))
    arms, rewards, probabilities = (np.array([own[i] for own in found], dtype=kind) for i, kind in enumerate((np.intp, float, float)))
    # A cost of 0 is a reward of 0, without a sign.
    return Log(arms, rewards + 0.0, probabilities, [own[3] for own in found])


def _named(word):
    """A name and its value, 1 where it has none."""
    name, colon, number = word.rpartition(":")
    return (name, float(number)) if colon else (word, 1.0)
