"""Contextual bandits on calibrated posteriors: Thompson sampling and upper confidence bounds."""

import copy

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state

from .sklearn import BayesianLogisticRegression, _rows

__all__ = ["Bandit", "replay"]


class Bandit:
    """Chooses among arms by the posterior of their rewards, and learns from the rewards.

    Parameters
    ----------
    arms : sequence or dict
        The arms, hashable. With a dict from arms to features all arms share one posterior.
    learner : estimator, optional
        Model of the rewards: by default `BayesianLogisticRegression`, for rewards 0 and 1; `BayesianLinearRegression` or
        `BayesianGLMRegressor` for others. The bandit learns on copies.
    policy : 'thompson' or 'ucb', default='thompson'
        Thompson sampling: the best arm under one posterior draw of the weights. Upper confidence bound: the largest upper end of the
        posterior interval of the linear predictor.
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

    def __init__(self, arms, learner=None, *, policy="thompson", level=0.9, random_state=None):
        self.arms = list(arms)
        if len(set(self.arms)) != len(self.arms) or not self.arms:
            raise ValueError(f"arms must be distinct, and at least one: {self.arms}")
        if policy not in ("thompson", "ucb"):
            raise ValueError(f"policy must be 'thompson' or 'ucb', not {policy!r}")
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

    def _scores(self, X):
        scores = np.full((len(X), len(self.arms)), np.inf)
        drawn = None
        for place in range(len(self.arms)):
            model = self._model(place)
            if not model.__sklearn_is_fitted__():
                continue
            rows = self._rows(X, place)
            if self.policy == "ucb":
                scores[:, place] = model._model.predictor_interval(_rows.rows(rows), self.level)[1]
                continue
            if drawn is None or self.features is None:
                # Arms that share a posterior share its draws; each context has its own.
                drawn = model.sample_weights(len(X), self._random)
            weights, intercepts = drawn
            scores[:, place] = intercepts + np.einsum("ij,ij->i", rows, weights)
        return scores

    def _choose(self, X):
        scores = self._scores(X)
        # Equal scores, of arms that have learned nothing, are decided by chance.
        ties = scores == scores.max(axis=1, keepdims=True)
        return np.argmax(ties * self._random.random_sample(scores.shape), axis=1)

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
