"""Mixed models: regression and classification with effects that differ from group to group.

A group with few rows is pulled towards the others as far as the groups are alike, which is learned; a new group is predicted with the whole
spread between groups. The cost of a row does not depend on the number of groups.

Examples
--------
>>> import numpy as np
>>> from rvi.grouped import GroupedRegressor
>>> rng = np.random.default_rng(0)
>>> clinic = rng.integers(0, 30, 600)
>>> X = rng.normal(size=(600, 1))
>>> y = 2.0 * X[:, 0] + rng.normal(size=30)[clinic] + 0.5 * rng.normal(size=600)
>>> model = GroupedRegressor().fit(X, y, groups=clinic)
>>> [component["name"] for component in model.components()]
['sd(intercept)']
>>> known, spread = model.predict(X[:1], groups=[3], return_std=True)
>>> new, wider = model.predict(X[:1], groups=["a clinic never seen"], return_std=True)
>>> bool(spread[0] < wider[0])
True
"""

import hashlib
import json

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ._compat import validate_data
from ._rvi import Grouped
from .sklearn._show import InNotebooks, Summary, columns_of, holds

__all__ = ["GroupedClassifier", "GroupedRegressor"]


def _key(name):
    """A 64-bit key of a group's name: equal for equal numbers, whatever their type."""
    if isinstance(name, (bool, np.bool_, int, np.integer)):
        name = int(name)
    elif isinstance(name, (float, np.floating)):
        if not np.isfinite(name):
            raise ValueError(f"a group is missing or not finite: {name}")
        name = int(name) if float(name).is_integer() else float(name)
    elif name is None:
        raise ValueError("a group is missing: None")
    kind = "number" if isinstance(name, (int, float)) else "text"
    digest = hashlib.blake2b(f"{kind} {name}".encode(), digest_size=8)
    return int.from_bytes(digest.digest(), "little")


def _names(groups, n):
    """The distinct names of the groups, and for each row the place of its own."""
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise ValueError(f"groups has the shape {groups.shape}, expected ({n},)")
    if groups.dtype != object:
        return np.unique(groups, return_inverse=True)
    places = {}
    inverse = np.array([places.setdefault(name, len(places)) for name in groups.tolist()], dtype=np.intp)
    return list(places), inverse


class _Grouped(InNotebooks, BaseEstimator):
    def __init__(self, slopes=(), intercept=True, correlated=True, estimate="averaged", keep_rows=False):
        self.slopes = slopes
        self.intercept = intercept
        self.correlated = correlated
        self.estimate = estimate
        self.keep_rows = keep_rows

    def _kind(self):
        raise NotImplementedError

    def _settings(self, names):
        estimates = {"averaged": "Averaged", "optimum": "Optimum"}
        if self.estimate not in estimates:
            raise ValueError(f"estimate={self.estimate!r} must be 'averaged' or 'optimum'")
        places = {name: j for j, name in enumerate(names)}
        slopes = [places.get(slope, slope) for slope in self.slopes]
        for slope in slopes:
            if not isinstance(slope, (int, np.integer)) or slope < 0:
                raise ValueError(f"slopes: there is no feature {slope!r}")
        effects = {"intercept": bool(self.intercept), "slopes": [int(j) for j in slopes], "correlated": bool(self.correlated)}
        return {
            "effects": effects,
            "components": estimates[self.estimate],
            "intercept": True,
            "prior_scale": None,
            "standardise": "Chosen",
            "keep_rows": bool(self.keep_rows),
            "names": names,
        }

    def _learn(self, X, y, groups, sample_weight, offset, size, first):
        if first:
            names = [str(name) for name in getattr(self, "feature_names_in_", [])]
            self._model = Grouped(self._kind(), X.shape[1], json.dumps(self._settings(names)))
            self._groups = {}
        names, inverse = _names(groups, len(X))
        keys = np.array([_key(name) for name in names], dtype=np.uint64)
        self._model.update(X, keys[inverse], y, _numbers(sample_weight), _numbers(offset), _numbers(size))
        self._groups.update(zip(list(names), keys.tolist(), strict=True))
        return self

    def _answers(self, X, groups, level=0.9, offset=None, size=None):
        check_is_fitted(self, "_model")
        X = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        names, inverse = _names(groups, len(X))
        keys = np.array([_key(name) for name in names], dtype=np.uint64)
        return self._model.predict(X, keys[inverse], level, _numbers(offset), _numbers(size))

    def refine(self):
        """Finds the components of variance for all rows so far.

        Numbers: exactly. Classes and counts: sweeps over all rows, which are there up to 5000 rows or with ``keep_rows``.
        """
        check_is_fitted(self, "_model")
        self._model.refine()
        return self

    def coefficients(self):
        """Names of the common weights, the intercept first, their means and standard deviations."""
        check_is_fitted(self, "_model")
        names, values = self._model.coefficients(0.9)
        return names, values[:, 0].copy(), values[:, 1].copy()

    def summary(self, level=0.9):
        """The model in a table: groups, components of variance, noise, evidence, and of each common coefficient its interval and its sign.

        Parameters
        ----------
        level : float, default=0.9
            Mass of the intervals.

        Returns
        -------
        text : Summary
            A `str`, which notebooks show as a table.
        """
        check_is_fitted(self, "_model")
        names, values = self._model.coefficients(level)

        def told(value, lower, upper):
            return f"{value:.4g} ({lower:.4g} to {upper:.4g})"

        facts = {"groups": len(self._groups)}
        facts |= {own["name"]: told(own["value"], own["lower"], own["upper"]) for own in self.components(level)}
        if (shared := self.intraclass_correlation(level)) is not None:
            facts["intraclass correlation"] = told(*shared)
        if (noise := self._model.noise()) is not None:
            facts["noise, standard deviation"] = f"{noise:.4g}"
        facts["log evidence"] = f"{self.evidence_:.2f} nats"
        head = f"{type(self).__name__}: {self._model.observations} rows; `effects` gives those of each group."
        return Summary.of(head, facts, columns_of(level), {"": dict(zip(names, values, strict=True))}, holds(level))

    def components(self, level=0.9):
        """The components of variance: dictionaries of name, value, lower and upper end of the interval of probability ``level``."""
        check_is_fitted(self, "_model")
        keys = ("name", "value", "lower", "upper")
        return [dict(zip(keys, found, strict=True)) for found in self._model.components(level)]

    def intraclass_correlation(self, level=0.9):
        """The share of the variance that lies between groups, and its interval; ``None`` for other effects than one intercept."""
        check_is_fitted(self, "_model")
        return self._model.intraclass_correlation(level)

    def effects(self, groups=None):
        """Names of the groups (all that were learned, unless given), means and standard deviations of their effects.

        The arrays have a row for each group and a column for each effect: the intercept's, then the slopes'.
        """
        check_is_fitted(self, "_model")
        names = list(self._groups) if groups is None else list(groups)
        keys = np.array([self._groups[name] if name in self._groups else _key(name) for name in names], dtype=np.uint64)
        mean, deviation = self._model.effects(keys)
        return names, mean, deviation

    @property
    def evidence_(self):
        """The log probability of all labels, in nats."""
        check_is_fitted(self, "_model")
        return self._model.evidence


def _numbers(values):
    return None if values is None else np.ascontiguousarray(values, dtype=np.float64)


class GroupedRegressor(RegressorMixin, _Grouped):
    """Numbers or counts with effects for each group.

    Parameters
    ----------
    slopes : sequence of int or str, default=()
        The features whose weights each group has for itself.
    intercept : bool, default=True
        Whether each group has its own intercept.
    correlated : bool, default=True
        Whether the effects of a group are correlated.
    estimate : {"averaged", "optimum"}, default="averaged"
        What is done about not knowing the components of variance: they are averaged over, or the values of largest evidence are taken;
        for numbers these are the REML estimates of lme4.
    keep_rows : bool, default=False
        Whether rows are kept for :meth:`refine`.
    family : {"number", "count"}, default="number"
        Numbers with Gaussian noise, or Poisson counts.
    """

    def __init__(
        self, slopes=(), intercept=True, correlated=True, estimate="averaged", keep_rows=False, family="number"
    ):
        super().__init__(slopes, intercept, correlated, estimate, keep_rows)
        self.family = family

    def _kind(self):
        kinds = {"number": "Number", "count": "Count"}
        if self.family not in kinds:
            raise ValueError(f"family={self.family!r} must be 'number' or 'count'")
        return kinds[self.family]

    def fit(self, X, y, groups, sample_weight=None, offset=None, exposure=None):
        """Learns all rows, after which the components of variance are found for them.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
        groups : array of shape (n,)
            The group of each row: numbers or texts.
        sample_weight, offset, exposure : arrays of shape (n,), optional
        """
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", y_numeric=True)
        self._learn(X, _numbers(y), groups, sample_weight, offset, exposure, first=True)
        if self.family == "number":
            self._model.refine()
        return self

    def partial_fit(self, X, y, groups, sample_weight=None, offset=None, exposure=None):
        """Learns further rows."""
        first = not hasattr(self, "_model")
        X, y = validate_data(self, X, y, reset=first, dtype=np.float64, order="C", y_numeric=True)
        return self._learn(X, _numbers(y), groups, sample_weight, offset, exposure, first)

    def predict(self, X, groups, return_std=False, return_interval=None, offset=None, exposure=None):
        """The expected label at each row, of known groups and of new ones.

        With ``return_std`` also the standard deviation of the label; with ``return_interval=level`` also the ends of the interval that holds
        it with this probability, of shape (n, 2).
        """
        level = 0.9 if return_interval is None else return_interval
        found = self._answers(X, groups, level, offset, exposure)
        answers = [found[:, 0]]
        if return_std:
            answers.append(found[:, 1])
        if return_interval is not None:
            answers.append(found[:, 2:])
        return answers[0] if len(answers) == 1 else tuple(answers)

    def score(self, X, y, groups, sample_weight=None):
        """The coefficient of determination of the predictions."""
        from sklearn.metrics import r2_score

        return r2_score(y, self.predict(X, groups), sample_weight=sample_weight)

    @property
    def noise_(self):
        """The standard deviation of the noise."""
        check_is_fitted(self, "_model")
        return self._model.noise()


class GroupedClassifier(ClassifierMixin, _Grouped):
    """Two classes with effects for each group: logistic or probit regression.

    Parameters
    ----------
    slopes, intercept, correlated, estimate, keep_rows
        As for :class:`GroupedRegressor`.
    link : {"logit", "probit"}, default="logit"
    """

    def __init__(
        self, slopes=(), intercept=True, correlated=True, estimate="averaged", keep_rows=False, link="logit"
    ):
        super().__init__(slopes, intercept, correlated, estimate, keep_rows)
        self.link = link

    def _kind(self):
        kinds = {"logit": "Two", "probit": "Probit"}
        if self.link not in kinds:
            raise ValueError(f"link={self.link!r} must be 'logit' or 'probit'")
        return kinds[self.link]

    def _labels(self, y, classes):
        y = np.asarray(y)
        if len(classes) != 2:
            raise ValueError(f"y has {len(classes)} classes, but this model learns two")
        unknown = ~np.isin(y, classes)
        if unknown.any():
            raise ValueError(f"y[{int(np.argmax(unknown))}] = {y[np.argmax(unknown)]!r} is none of the classes")
        return (y == classes[1]).astype(np.float64)

    def fit(self, X, y, groups, sample_weight=None, offset=None):
        """Learns all rows; see :meth:`GroupedRegressor.fit`."""
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        classes = np.unique(y)
        labels = self._labels(y, classes)
        self.classes_ = classes
        self._learn(X, labels, groups, sample_weight, offset, None, first=True)
        if self.keep_rows:
            self._model.refine()
        return self

    def partial_fit(self, X, y, groups, classes=None, sample_weight=None, offset=None):
        """Learns further rows; the first call names both classes."""
        first = not hasattr(self, "_model")
        if first and classes is None:
            raise ValueError("the first call of partial_fit needs classes")
        X, y = validate_data(self, X, y, reset=first, dtype=np.float64, order="C")
        known = np.unique(classes) if first else self.classes_
        labels = self._labels(y, known)
        self.classes_ = known
        return self._learn(X, labels, groups, sample_weight, offset, None, first)

    def predict_proba(self, X, groups, return_interval=None, offset=None):
        """The probability of each class at each row; with ``return_interval=level`` also the ends of that of the second class."""
        level = 0.9 if return_interval is None else return_interval
        found = self._answers(X, groups, level, offset)
        probability = np.column_stack([1.0 - found[:, 0], found[:, 0]])
        return probability if return_interval is None else (probability, found[:, 2:])

    def predict(self, X, groups, offset=None):
        """The more probable class at each row."""
        return self.classes_[(self.predict_proba(X, groups, offset=offset)[:, 1] > 0.5).astype(int)]

    def score(self, X, y, groups, sample_weight=None):
        """The share of rows whose class is predicted."""
        from sklearn.metrics import accuracy_score

        return accuracy_score(y, self.predict(X, groups), sample_weight=sample_weight)
