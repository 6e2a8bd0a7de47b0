"""Base of all estimators on a front-door model: settings, learning, state, posterior of the weights."""

import contextlib
import difflib
import functools
import json
import warnings

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_array, check_X_y

from .. import _settings
from .._arviz import inference_data
from .._compat import validate_data
from .._rvi import Online
from . import _rows, _tables
from ._show import InNotebooks, Shown
from ._state import Stored


def atomic(method):
    """The method of an estimator that is as it was where the method raises."""

    @functools.wraps(method)
    def wrapped(self, *args, **kwargs):
        before = self.__dict__.copy()
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return wrapped


@contextlib.contextmanager
def kept_rows():
    """Explains in the words of Python that a model without its rows needs them."""
    try:
        yield
    except ValueError as error:
        if "keep no rows" not in str(error):
            raise
        raise ValueError("this needs an estimator with keep_rows=True, belief='full' and memory='everything'") from error


#: Rows that are copied at once where they are learned in a random order.
ROWS = 8192
#: Rows after which labels are first looked at for runs: those that are fitted together are among them.
FIRST_LOOK = 4096
#: What scikit-learn takes for a call without a target; `None` is a target that is missing.
NO_TARGET = "no_validation"


def _update(model, X, told, part):
    """Learns a part of the rows with their labels, weights, offsets and sizes."""
    model.update(_rows.rows(X[part]), *(None if own is None else own[part] for own in told))


class Tabular(InNotebooks, BaseEstimator):
    """Validation of tables, arrays and sparse matrices, columns told apart by name."""

    _sparse = True

    def __new__(cls, *_args, **given):
        known = cls._get_param_names()
        for name in given:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f": did you mean {near[0]!r}?" if near else f"; its arguments are {', '.join(known)}"
                raise TypeError(f"{cls.__name__} has no argument {name!r}{hint}")
        return super().__new__(cls)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        return tags

    def _fitted(self):
        if not hasattr(self, "_model"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments "
                "before using this estimator."
            )
        return self._model

    def _checked(self, X, y=NO_TARGET, *, reset, **options):
        """`X`, or `X` and `y`, as scikit-learn checks them; the columns of a table matched by name."""
        try:
            found = self._validated(X, y, reset=reset, **options)
            if options.get("y_numeric"):
                _rows.contiguous(found[1])
            return found
        except (TypeError, ValueError) as error:
            told = _tables.explained(X, y, error)
            if told is None:
                raise
            raise ValueError(told) from error

    def _validated(self, X, y, *, reset, **options):
        if hasattr(X, "check_format"):
            # SciPy's loops believe positions and starts: those of a damaged matrix would end the interpreter.
            X.check_format(full_check=True)
        X, names = _tables.named(X)
        known = None if reset else getattr(self, "feature_names_in_", None)
        if getattr(self, "column_order", "strict") not in ("strict", "by_name"):
            raise ValueError(f"column_order must be 'strict' or 'by_name', not {self.column_order!r}")
        if known is not None and getattr(self, "column_order", "strict") == "by_name":
            present = names if names is not None else [str(c) for c in getattr(X, "columns", [])] or None
            if present is not None:
                X = _tables.reordered(X, present, list(known))
                names = list(known) if names is not None else None
        if y is None:
            options.pop("y_numeric", None)
        options = {"accept_sparse": "csr" if self._sparse else False, "dtype": np.float64, **options}
        if names is None or (known is None and not reset):
            return validate_data(self, X, y, reset=reset, **options)
        if reset:
            found = validate_data(self, X, y, reset=True, **options)
            self.feature_names_in_ = np.asarray(names, dtype=object)
            return found
        if list(known) != names:
            missing = [name for name in known if name not in names]
            raise ValueError(_tables.difference(missing, [name for name in names if name not in set(known)]))
        if isinstance(y, str):
            return check_array(X, estimator=self, input_name="X", **options)
        return check_X_y(X, y, estimator=self, **options)

    def _names(self):
        """Names of the columns; `x0`, `x1` and so on if some have none or share one."""
        names = [str(name) for name in getattr(self, "feature_names_in_", [])]
        if len(set(names)) == self.n_features_in_:
            return names
        return [f"x{j}" for j in range(self.n_features_in_)]


def _together(one, other):
    """Number, mean and sum of squared deviations of two sets of labels; None if it is not known of both."""
    if one is None or other is None:
        return None
    (n, mean, squares), (more, other_mean, other_squares) = one, other
    if not n or not more:
        return one if n else other
    step = other_mean - mean
    return n + more, mean + step * more / (n + more), squares + other_squares + step**2 * n * more / (n + more)


class OnlineEstimator(Shown, Stored, Tabular):
    """An estimator whose state is one of the front door's models."""

    #: What the model's kind is called where it is stored.
    _kinds = ()
    #: The kinds whose posterior it takes as a record.
    _record_kinds = ()

    def _fitted(self):
        """The model that answers, its first rows fitted together."""
        return super()._fitted().answering()

    def _learned(self):
        """The model that learns and is stored."""
        return super()._fitted()

    def _kind(self):
        """The kind of model, and the numbers that belong to it."""
        raise NotImplementedError

    def _settings(self, kind, *, sparse):
        inputs = self.n_features_in_
        form = _settings.belief(self.belief, inputs, kind == "Classes")
        centre = self.fit_intercept and _settings.is_dense(form) and not sparse
        scale = self.intercept_scale
        if scale is None:
            scale = _settings.INTERCEPT_SCALE.get(kind, 5.0)
        return {
            "belief": form,
            "prior_scale": _settings.prior_scale(self.prior_scale),
            "intercept": bool(self.fit_intercept),
            "intercept_scale": float(scale),
            "standardise": _settings.standardise(self.standardise, centre),
            "memory": _settings.memory(self.memory),
            "keep_rows": bool(self.keep_rows),
            "keep_sample": bool(getattr(self, "keep_sample", True)),
            "start": _settings.start(self.start),
            "names": self._names(),
        }

    def _preferred(self, X, told):
        """The kind of model for rows and their observations, and its numbers."""
        return self._kind()

    def _begin(self, X, kind, numbers):
        """A model of the columns of `X` with nothing learned."""
        settings = self._settings(kind, sparse=hasattr(X, "tocsr"))
        model = Online(kind, self.n_features_in_, _settings.dumps(settings), **numbers)
        self._means = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        return model

    def _learn(self, X, y, sample_weight, *, offset=None, size=None, reorder=False):
        """Learns checked rows, in the present model or a new one; and again in random order if their order is harmful and may change."""
        n = X.shape[0]
        weight = None
        if sample_weight is not None:
            # Rows of no weight teach nothing, which is no model to begin with.
            weight = _rows.contiguous(_rows.weights(sample_weight, X, may_be_zero=hasattr(self, "_model")))
        offset, size = _rows.numbers("offset", offset, n), size
        model = getattr(self, "_model", None)
        told = [_rows.contiguous(y), weight, offset, size]
        if model is None:
            kind = self._preferred(X, told)
            model = self._begin(X, *kind)
        self.reordered_ = False
        if reorder:
            try:
                model = self._learned_in_any_order(model, kind, X, told)
            except ValueError:
                # An error of all rows names the row by its place among them.
                self._begin(X, *kind).update(_rows.rows(X), *told)
                raise
        else:
            model.update(_rows.rows(X), *told)
        before = getattr(self, "_moments", None if hasattr(self, "_model") else (0, 0.0, 0.0))
        self._model = model
        known = model.kind() == "Number" and weight is None and offset is None
        self._moments = _together(before, (n, float(y.mean()), float(((y - y.mean()) ** 2).sum())) if known else None)
        self._warn_of_order(n)
        return self

    def _learned_in_any_order(self, model, kind, X, told):
        """The new model with all rows; in random order if labels come in runs, which is looked at whenever the number of rows has doubled."""
        n, first, last = X.shape[0], 0, FIRST_LOOK
        while first < n:
            _update(model, X, told, slice(first, last))
            order = model.info()["order"]
            if order and order["in_runs"]:
                self.reordered_ = True
                model, turns = self._begin(X, *kind), np.random.default_rng(0).permutation(n)
                for first in range(0, n, ROWS):
                    _update(model, X, told, turns[first : first + ROWS])
                break
            first, last = last, 2 * last
        return model

    def _warn_of_order(self, rows):
        """Warns where the order of the rows has misled one pass: at 200 rows, and whenever their number has doubled since."""
        learned, looked = getattr(self, "_order_rows", (0, 100))
        learned += rows
        if learned >= 2 * looked:
            looked, order = learned, self._model.info()["order"]
            if order and order["matters"]:
                warnings.warn(f"{order['says']}: shuffle the rows", stacklevel=4)
        self._order_rows = (learned, looked)

    def _restart(self):
        for name in ("_model", "_means", "_moments", "_order_rows", "reordered_", "family_", "behind_"):
            self.__dict__.pop(name, None)

    def _size(self, n, sizes):
        """The trials or exposures of a family; none for a family without."""
        for name, values in sizes.items():
            if values is not None:
                raise ValueError(f"{name} has no meaning for this model")

    def _asked(self, X, offset=None, **sizes):
        """The model, rows for it, and the offset and size of each."""
        model, X = self._fitted(), self._checked(X, reset=False)
        n = X.shape[0]
        return model, _rows.rows(X), _rows.numbers("offset", offset, n), self._size(n, sizes)

    @property
    def evidence_(self):
        """Log evidence of all rows so far, in nats, for comparing models of the same rows."""
        return self._fitted().evidence()

    @property
    def info_(self):
        """Rows, evidence, prior scales, digits left, advice (a dictionary)."""
        return self._fitted().info()

    def coefficients(self, level=0.9):
        """Coefficients with their intervals.

        Parameters
        ----------
        level : float, default=0.9
            Mass of the central intervals.

        Returns
        -------
        names : list of str
            The intercept's first, if there is one.
        values : ndarray of shape (n_predictors, n_coefficients, 5)
            Mean, standard deviation, lower and upper end, and the probability of being positive.
        """
        return self._fitted().coefficients(_rows.level(level))

    def _input_scales(self):
        """The scale of each input, or none where they are used as they are."""
        return self._fitted().input_scales()

    def robust_errors(self, X, y, clusters=None, sample_weight=None, offset=None, exposure=None, trials=None):
        """Standard errors of the coefficients that hold whatever the noise (HC3), or for rows that depend on each other in clusters (CR1).

        Parameters
        ----------
        X, y, sample_weight, offset, exposure, trials
            The rows that were learned, as for `fit`.
        clusters : array-like of shape (n_rows,), optional
            The cluster of each row.

        Returns
        -------
        errors : ndarray of shape (n_coefficients,)
            In the order of `coefficients`: those of the posterior to be compared with are its standard deviations. Several classes, and beliefs
            without a full covariance, have none: `ValueError`.
        """
        model, rows, offset, size = self._asked(X, offset, exposure=exposure, trials=trials)
        labels = self._labels_of(y)
        if clusters is not None:
            clusters = np.unique(np.asarray(clusters), return_inverse=True)[1].ravel()
            if len(clusters) != len(labels) or clusters.max(initial=0) == 0:
                raise ValueError("clusters: one value for each row is needed, and two different ones")
            clusters = clusters.tolist()
        return model.robust_errors(rows, labels, _rows.numbers("sample_weight", sample_weight, len(labels)), offset, size, clusters)

    def _coefficient_parts(self):
        """Means and standard deviations of the weights (predictors × inputs) and of the intercepts (predictors)."""
        _, values = self._fitted().coefficients(0.5)
        first = values.shape[1] - self.n_features_in_
        weights, intercepts = values[:, first:, :2], np.zeros((values.shape[0], 2))
        if first:
            intercepts = values[:, 0, :2]
        return weights[..., 0], weights[..., 1], intercepts[:, 0], intercepts[:, 1]

    def refine(self, tolerance=1e-8, max_sweeps=100):
        """Remove the error of one pass by sweeps over the kept rows (expectation propagation); needs ``keep_rows=True``.

        Parameters
        ----------
        tolerance : float, default=1e-8
            Convergence: change in a sweep, in nats, of the sum of the rows' log normalisers (with more than three classes of the
            bound on the log evidence).
        max_sweeps : int, default=100
            Most sweeps.

        Returns
        -------
        self : object
            The estimator. A linear model with a full covariance is already exact: `ValueError`.
        """
        model = self._learned()
        with kept_rows():
            model.refine(float(tolerance), int(max_sweeps))
        return self

    def diagnose(self, draws=4000, random_state=0):
        """Distance to the true posterior, by Pareto-smoothed importance sampling; needs ``keep_rows=True``.

        Parameters
        ----------
        draws : int, default=4000
            Draws of the posterior, at least 25.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws.

        Returns
        -------
        info : dict
            As `info_`, with ``k_hat``, ``effective_share`` and the advice based on them.
        """
        model = self._fitted()
        with kept_rows():
            return model.diagnose(int(draws), _rows.seed(random_state))

    def certificate(self, X=None, y=None, offset=None, exposure=None, trials=None):
        """The findings about the model that have a consequence, each with its grounds.

        Parameters
        ----------
        X, y, offset, exposure, trials
            Rows that the model has not learned, in their order, as for `fit`: how often intervals held their labels, whether labels began to fall elsewhere in their
            predictions, and labels far out. Without rows order, posterior, digits and repairs alone.

        Returns
        -------
        findings : list of dict
            As those of `rvi.table.Model.certificate`; certified intervals are given by models of tables.
        """
        if (X is None) != (y is None):
            raise ValueError("X and y are given together")
        if X is None:
            return json.loads(self._fitted().certificate())
        model, rows, *beside = self._asked(X, offset, exposure=exposure, trials=trials)
        return json.loads(model.certificate(rows, self._labels_of(y), *beside))

    def merge(self, *others):
        """Merge with estimators of other rows.

        Parameters
        ----------
        *others : estimators
            Of the same class and settings, standardised by the same given numbers (``standardise=(centres, scales)`` or
            ``'never'``).

        Returns
        -------
        self : object
            A model of all rows: exact for linear models, an approximation otherwise. With a prior scale that is learned the
            merge places the scale anew by all rows, whatever the parts; one model that saw them all placed it some rows before,
            so coefficients differ by some hundredths of their deviations. With a given ``prior_scale`` they are equal.
        """
        model = self._learned()
        for other in others:
            if type(other) is not type(self):
                raise TypeError(f"a {type(other).__name__} cannot be merged into a {type(self).__name__}")
            if not np.array_equal(getattr(other, "classes_", []), getattr(self, "classes_", [])):
                raise ValueError("models of other classes cannot be merged")
        try:
            model.merge([other._learned() for other in others])
        except ValueError as error:
            if "scales" not in str(error) and "standardisation" not in str(error):
                raise
            what = str(error).partition(" (merge needs")[0]
            raise ValueError(f"{what}; give all of them the same standardise=(centres, scales), or 'never'") from error
        for other in others:
            self._moments = _together(getattr(self, "_moments", None), getattr(other, "_moments", None))
        return self

    def _under_draws(self, X, draws, seed, offset=None, **sizes):
        """A function that takes labels and gives the log likelihood of each row under each draw of the seed; for `None` it draws a label."""
        model, rows, *beside = self._asked(X, offset, **sizes)
        return lambda labels: model.under_draws(rows, len(draws[1]), seed, labels, *beside)

    def to_arviz(self, n_samples=1000, random_state=0, *, chains=4, X=None, y=None, offset=None, exposure=None, trials=None):
        """Independent joint draws of the posterior for ArviZ, in chains, as its tools expect them.

        Parameters
        ----------
        n_samples : int, default=1000
            Draws in each chain.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws.
        chains : int, default=4
            Number of chains.
        X : {array-like, sparse matrix, table} of shape (n_rows, n_features), optional
            Rows for ``posterior_predictive``: a label under each draw.
        y : array-like of shape (n_rows,), optional
            Their labels, for ``observed_data`` and ``log_likelihood``.
        offset, exposure, trials : array-like of shape (n_rows,) or float, optional
            As for `fit`.

        Returns
        -------
        data : arviz.InferenceData or xarray.DataTree
            As the version of ArviZ has it. The posterior has ``intercept``, ``coef`` with the names of the inputs, and ``sigma``, the deviation of the
            noise of a number. Classes are numbered in the order of ``classes_``. Counts with a learned spread and heavy tails have the posterior alone:
            `ValueError` with rows.
        """
        chains, count = int(chains), int(n_samples) * int(chains)
        if chains < 1 or count < 1:
            raise ValueError(f"n_samples = {n_samples} and chains = {chains} must be at least 1")
        seed = _rows.seed(random_state)
        weights, intercepts, noise = self._draws(count, seed)
        groups = {"posterior": {"intercept": intercepts, "coef": weights, **({"sigma": noise} if noise.size else {})}}
        if y is not None and X is None:
            raise ValueError("y needs the rows X that it belongs to")
        if X is not None:
            under = self._under_draws(X, (weights, intercepts), seed, offset, exposure=exposure, trials=trials)
            try:
                groups["posterior_predictive"] = {"y": under(None)}
            except ValueError as error:
                if "given one draw" not in str(error):
                    raise
                raise ValueError("learned spreads and heavy tails have draws of the posterior alone: leave X out") from error
            if y is not None:
                labels = self._labels_of(y)
                groups["log_likelihood"] = {"y": under(labels)}
                groups["observed_data"] = {"y": labels}
        return inference_data(groups, chains, {"coef": self._names()})
