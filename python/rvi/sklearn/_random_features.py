"""Kernel machines: one-pass models on random features."""

import numpy as np
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, RegressorMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets

from .._rvi import Fourier
from . import _rows
from ._linear import BayesianLinearRegression
from ._logistic import BayesianLogisticRegression
from ._online import Tabular, atomic
from ._regression import Distributions
from ._show import Summary

#: Rows, and length scales in units of the root of the number of inputs, among which the evidence chooses.
TRIED_ROWS, TRIED_SCALES = 500, (0.25, 0.5, 1.0, 2.0, 4.0)
#: The kernels by name.
KERNELS = ("Rbf", "Laplace", "Cauchy", "Matern32", "Matern52", "LaplaceProduct")
#: Prior standard deviations of the function, among which the evidence of all rows decides.
PRIOR_SCALES = (0.5, 2.0, 8.0)


class RandomFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Tabular):
    """A model on cosines and sines of random frequencies, whose inner products are a kernel."""

    _sparse = False

    def __init__(
        self,
        n_frequencies=100,
        *,
        kernel="Rbf",
        length_scale="evidence",
        orthogonal=True,
        prior_scale=PRIOR_SCALES,
        memory="everything",
        random_state=0,
        column_order="strict",
    ):
        self.n_frequencies = n_frequencies
        self.kernel = kernel
        self.length_scale = length_scale
        self.orthogonal = orthogonal
        self.prior_scale = prior_scale
        self.memory = memory
        self.random_state = random_state
        self.column_order = column_order

    def __sklearn_is_fitted__(self):
        return hasattr(self, "model_")

    def _fitted(self):
        if hasattr(self, "model_"):
            return self.model_
        return super()._fitted()

    @property
    def _n_features_out(self):
        return self._basis.width

    def _choose(self, X, y, weight):
        """Scales of the inputs and the length scale by the first rows, then the features."""
        if weight is None:
            self._centre, scale = X.mean(axis=0), X.std(axis=0)
        else:
            weight = _rows.weights(weight, X, may_be_zero=False)
            self._centre = np.average(X, axis=0, weights=weight)
            scale = np.sqrt(np.average((X - self._centre) ** 2, axis=0, weights=weight))
        self._scale = np.where(scale > 0, scale, 1.0)
        self._seed = _rows.seed(self.random_state)
        if isinstance(self.length_scale, str):
            if self.length_scale != "evidence":
                raise ValueError(f"length_scale must be 'evidence' or positive numbers, not {self.length_scale!r}")
            root = float(np.sqrt(X.shape[1]))
            tried = X[:TRIED_ROWS], y[:TRIED_ROWS], None if weight is None else weight[:TRIED_ROWS]
            found = [(self._evidence(scale * root, *tried), scale * root) for scale in TRIED_SCALES]
            self.length_scale_ = max(found)[1]
        else:
            self.length_scale_ = np.atleast_1d(np.asarray(self.length_scale, dtype=np.float64))
        self._basis = self._features_of(self.length_scale_)

    def _features_of(self, length_scale):
        if self.kernel not in KERNELS:
            near = [own for own in KERNELS if own.lower() == str(self.kernel).lower().replace("-", "").replace("_", "")]
            hint = f": did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"kernel must be one of {', '.join(map(repr, KERNELS))}, not {self.kernel!r}{hint}")
        scales = np.atleast_1d(length_scale).tolist()
        frequencies = int(self.n_frequencies)
        return Fourier(self.kernel, self.n_features_in_, frequencies, scales, bool(self.orthogonal), self._seed)

    def _evidence(self, length_scale, X, y, weight):
        features = self._features_of(length_scale).features(self._scaled(X))
        return self._begun().fit(features, y, sample_weight=weight).evidence_

    def _scaled(self, X):
        return _rows.contiguous((X - self._centre) / self._scale)

    def _begun(self):
        return self._linear(prior_scale=self.prior_scale, standardise="never", memory=self.memory, belief="auto")

    def transform(self, X):
        """The random features of rows, of shape (n_rows, 2 * n_frequencies).

        Parameters
        ----------
        X : {array-like, table} of shape (n_rows, n_features)
            Rows.
        """
        self._fitted()
        return self._basis.features(self._scaled(self._checked(X, reset=False)))

    @property
    def evidence_(self):
        """Log evidence of all rows so far, in nats."""
        return self._fitted().evidence_

    @property
    def info_(self):
        """Rows, evidence, prior scales, digits left, advice of the model on the features (a dictionary)."""
        return self._fitted().info_

    def summary(self):
        """The model in a table: family, rows, noise, kernel and evidence; its weights, which are of random features, are left out.

        Returns
        -------
        text : Summary
            A `str`, which notebooks show as a table.
        """
        of_features = self._fitted().summary()
        scales = ", ".join(f"{scale:.4g}" for scale in np.atleast_1d(self.length_scale_))
        kernel = f"{self.kernel}, length scale {scales} in deviations of the inputs, {self.n_frequencies} frequencies"
        head = f"{type(self).__name__}:{of_features.head.partition(':')[2]}"
        return Summary.of(head, {**of_features.facts, "kernel": kernel}, [], {}, "`predict` gives each row its interval.")

    def certificate(self, X=None, y=None):
        """The findings about the model on the features that have a consequence; see `BayesianLinearRegression.certificate`.

        Parameters
        ----------
        X, y
            Rows that the model has not learned, as for `fit`.

        Returns
        -------
        findings : list of dict
            As those of `rvi.table.Model.certificate`.
        """
        return self._fitted().certificate(None if X is None else self.transform(X), y)

    def __getstate__(self):
        state = super().__getstate__()
        # The same seed draws the same features.
        return {name: value for name, value in state.items() if name != "_basis"}

    def __setstate__(self, state):
        super().__setstate__(state)
        if hasattr(self, "model_"):
            self._basis = self._features_of(self.length_scale_)


class RandomFeatureRegressor(RegressorMixin, Distributions, RandomFeatures):
    """A Gaussian process on random features: a smooth function with its doubt, learned in one pass.

    Parameters
    ----------
    n_frequencies : int, default=100
        Number of random frequencies; each gives a cosine and a sine.
    kernel : str, default='Rbf'
        'Rbf', 'Laplace', 'Cauchy', 'Matern32', 'Matern52' or 'LaplaceProduct' (not orthogonal).
    length_scale : 'evidence', float or array-like of shape (n_features,), default='evidence'
        In units of the inputs' standard deviations; by default the best of five by evidence on the first 500 rows.
    orthogonal : bool, default=True
        Orthogonal blocks of frequencies, which are more accurate.
    prior_scale : 'learned', float or sequence of float, default=(0.5, 2, 8)
        Prior standard deviation of the function, in units of the noise.
    memory : 'everything', 'learned' or float, default='everything'
        Forgetting, as in `BayesianLinearRegression`.
    random_state : int, RandomState instance or None, default=0
        Seed of the frequencies.
    column_order : 'strict' or 'by_name', default='strict'
        Require the columns of a table in the order of the fit, or match them by name.

    Attributes
    ----------
    model_ : BayesianLinearRegression
        The model on the features.
    length_scale_ : float or ndarray
        That of the kernel.
    evidence_ : float
        Log evidence, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> from rvi.sklearn import RandomFeatureRegressor
    >>> x = np.linspace(-3, 3, 200)[:, None]
    >>> y = np.sin(2 * x[:, 0])
    >>> model = RandomFeatureRegressor(n_frequencies=30).fit(x, y)
    >>> bool(np.max(np.abs(model.predict(x) - y)) < 0.1)
    True
    """

    _linear = BayesianLinearRegression

    @atomic
    def fit(self, X, y, sample_weight=None):
        """Learn the rows anew.

        Parameters
        ----------
        X : {array-like, table} of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Numbers.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._checked(X, y, reset=True, y_numeric=True)
        self._choose(X, y, sample_weight)
        self.model_ = self._begun().fit(self._basis.features(self._scaled(X)), y, sample_weight=sample_weight)
        return self

    @atomic
    def partial_fit(self, X, y, sample_weight=None):
        """Learn more rows; scales and length scale stay those of the first call.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        self : object
            The estimator.
        """
        if not hasattr(self, "model_"):
            return self.fit(X, y, sample_weight)
        X, y = self._checked(X, y, reset=False, y_numeric=True)
        self.model_.partial_fit(self._basis.features(self._scaled(X)), y, sample_weight=sample_weight)
        return self

    def predict(self, X, return_std=False, return_interval=None):
        """Expected target; see `BayesianLinearRegression.predict`.

        Parameters
        ----------
        X : {array-like, table} of shape (n_rows, n_features)
            Rows.
        return_std : bool, default=False
            Also return the standard deviation of a new target.
        return_interval : float, optional
            Mass of the central interval of a new target, returned too.

        Returns
        -------
        mean : ndarray of shape (n_rows,)
            Or a tuple that begins with it.
        """
        return self._fitted().predict(self.transform(X), return_std=return_std, return_interval=return_interval)

    def _asked(self, X, offset=None, **sizes):
        return self._fitted()._asked(self.transform(X), offset, **sizes)


class RandomFeatureClassifier(ClassifierMixin, RandomFeatures):
    """A kernel classifier on random features, learned in one pass, for two and more classes.

    Parameters
    ----------
    n_frequencies : int, default=100
        Number of random frequencies; each gives a cosine and a sine.
    kernel : str, default='Rbf'
        'Rbf', 'Laplace', 'Cauchy', 'Matern32', 'Matern52' or 'LaplaceProduct' (not orthogonal).
    length_scale : 'evidence', float or array-like of shape (n_features,), default='evidence'
        In units of the inputs' standard deviations; by default the best of five by evidence on the first 500 rows.
    orthogonal : bool, default=True
        Orthogonal blocks of frequencies, which are more accurate.
    prior_scale : 'learned', float or sequence of float, default=(0.5, 2, 8)
        Prior standard deviation of the log odds.
    memory : 'everything', 'learned' or float, default='everything'
        Forgetting, as in `BayesianLinearRegression`.
    random_state : int, RandomState instance or None, default=0
        Seed of the frequencies.
    column_order : 'strict' or 'by_name', default='strict'
        Require the columns of a table in the order of the fit, or match them by name.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    model_ : BayesianLogisticRegression
        The model on the features.
    length_scale_ : float or ndarray
        That of the kernel.
    evidence_ : float
        Log evidence, in nats.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from rvi.sklearn import RandomFeatureClassifier
    >>> X, y = make_moons(400, noise=0.15, random_state=0)
    >>> model = RandomFeatureClassifier(n_frequencies=30).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _linear = BayesianLogisticRegression

    @property
    def classes_(self):
        """The labels."""
        return self._fitted().classes_

    @atomic
    def fit(self, X, y, sample_weight=None):
        """Learn the rows anew.

        Parameters
        ----------
        X : {array-like, table} of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Labels, of at least two classes.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._checked(X, y, reset=True)
        check_classification_targets(y)
        return self._learn_classes(X, y, np.unique(y), sample_weight)

    def _learn_classes(self, X, y, classes, sample_weight):
        model = self._begun()
        self._choose_for(X, y, classes, sample_weight)
        features = self._basis.features(self._scaled(X))
        self.model_ = model.partial_fit(features, y, classes=classes, sample_weight=sample_weight)
        return self

    def _choose_for(self, X, y, classes, weight):
        self._known = classes
        try:
            self._choose(X, y, weight)
        finally:
            del self._known

    def _evidence(self, length_scale, X, y, weight):
        features = self._features_of(length_scale).features(self._scaled(X))
        return self._begun().partial_fit(features, y, classes=self._known, sample_weight=weight).evidence_

    @atomic
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn more rows; scales and length scale stay those of the first call.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array-like of shape (n_classes,), optional
            All labels that will come; needed by the first call.

        Returns
        -------
        self : object
            The estimator.
        """
        first = not hasattr(self, "model_")
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        X, y = self._checked(X, y, reset=first)
        if first:
            return self._learn_classes(X, y, np.unique(classes), sample_weight)
        features = self._basis.features(self._scaled(X))
        self.model_.partial_fit(features, y, classes=classes, sample_weight=sample_weight)
        return self

    def predict_proba(self, X, return_interval=None):
        """Probability of each class; see `BayesianLogisticRegression.predict_proba`.

        Parameters
        ----------
        X : {array-like, table} of shape (n_rows, n_features)
            Rows.
        return_interval : float, optional
            Mass of the interval of each probability, returned too.

        Returns
        -------
        probability : ndarray of shape (n_rows, n_classes)
            Or a tuple of it and the intervals.
        """
        return self._fitted().predict_proba(self.transform(X), return_interval=return_interval)

    def decision_function(self, X):
        """Predictive log odds; of more than two classes log probabilities.

        Parameters
        ----------
        X : {array-like, table} of shape (n_rows, n_features)
            Rows.
        """
        return self._fitted().decision_function(self.transform(X))

    def predict(self, X):
        """The most probable label, of shape (n_rows,).

        Parameters
        ----------
        X : {array-like, table} of shape (n_rows, n_features)
            Rows.
        """
        return self._fitted().predict(self.transform(X))
