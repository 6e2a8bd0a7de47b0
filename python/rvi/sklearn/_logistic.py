"""Logistic regression for two and more classes."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from . import _rows
from ._intervals import together
from ._online import OnlineEstimator, atomic

#: Draws of the weights behind an interval of a probability among several classes.
DRAWS = 2000


class BayesianLogisticRegression(ClassifierMixin, OnlineEstimator):
    """Logistic regression for two and more classes: calibrated probabilities and their uncertainty from one pass.

    Two classes have one linear predictor, more a softmax. Probabilities are averages over the posterior of the weights and over
    their prior scale, so there is nothing to tune. One row costs some ``9 n_features²`` flops with two classes.

    Parameters
    ----------
    prior_scale : 'learned', float or sequence of float, default='learned'
        Prior standard deviation of the weights of standardised inputs.
    fit_intercept : bool, default=True
        Fit an intercept.
    intercept_scale : float or None, default=None
        Prior standard deviation of the intercept; 5 by default.
    standardise : int, 'never' or (centres, scales), default=50
        Number of first rows that set the scales of the inputs; 'never' for no scales; or given scales.
    memory : 'everything', 'learned' or float, default='everything'
        Forgetting: 'everything' is remembered; 'learned' follows the drift; a number is the factor on a row's weight for every later row.
    belief : 'auto', 'full', 'square_root', 'diagonal' or int, default='auto'
        Form of the posterior; an integer is the rank of a factor. 'auto' is 'full' up to 1000 inputs
        (400 of more than two classes), 10 up to 20,000. More than two classes with another
        belief than 'full' are independent of each other.
    keep_rows : bool, default=False
        Keep the rows, for `refine` and `diagnose`.
    keep_sample : bool, default=True
        Keep a sample of the rows (at most 256, 1 MiB) in the model, to detect a harmful order of the rows; see ``info_["order"]``.
    reorder : bool, default=True
        If the labels come in runs (for example sorted), let `fit` learn the rows again in random order, because one pass in such an
        order misleads. Never with forgetting or in `partial_fit`.
    start : 'fitted' or 'one_pass', default='fitted'
        Fit the first rows together, or learn them one by one.
    column_order : 'strict' or 'by_name', default='strict'
        Require the columns of a table in the order of the fit, or match them by name.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_, coef_std_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Posterior means and standard deviations of the weights, in the units of the inputs; of more than two classes relative to
        the first, whose are 0.
    intercept_, intercept_std_ : ndarray of shape (1,) or (n_classes,)
        The same for the intercepts.
    covariance_ : ndarray of shape (n_features, n_features)
        Posterior covariance of the weights; for two classes.
    evidence_ : float
        Log evidence, in nats.
    info_ : dict
        Rows, evidence, prior scales, digits left, advice.
    reordered_ : bool
        True if `fit` learned the rows again in random order.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of str
        Names of the inputs, if the rows were a table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rvi.sklearn import BayesianLogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesianLogisticRegression().fit(X, y)
    >>> model.predict(X[[0, 60, 120]])
    array([0, 1, 2])
    >>> probability, interval = model.predict_proba(X[:1], return_interval=0.9)
    >>> probability.shape, interval.shape
    ((1, 3), (1, 3, 2))
    """

    _kinds = ("Two", "Classes")
    _record_kinds = ("Two",)

    def __init__(
        self,
        prior_scale="learned",
        *,
        fit_intercept=True,
        intercept_scale=None,
        standardise=50,
        memory="everything",
        belief="auto",
        keep_rows=False,
        keep_sample=True,
        reorder=True,
        start="fitted",
        column_order="strict",
    ):
        self.prior_scale = prior_scale
        self.fit_intercept = fit_intercept
        self.intercept_scale = intercept_scale
        self.standardise = standardise
        self.memory = memory
        self.belief = belief
        self.keep_rows = keep_rows
        self.keep_sample = keep_sample
        self.reorder = reorder
        self.start = start
        self.column_order = column_order

    def _kind(self):
        if len(self.classes_) == 2:
            return "Two", {}
        joint = None if self.belief in ("auto", "full") else False
        return "Classes", {"classes": len(self.classes_), "joint": joint}

    def _encoded(self, y):
        """The positions of labels among the classes; `ValueError` for a label that is none of them."""
        places = np.searchsorted(self.classes_, y)
        unseen = self.classes_[np.minimum(places, len(self.classes_) - 1)] != y
        if unseen.any():
            labels = np.unique(np.asarray(y)[unseen])
            raise ValueError(f"labels {labels.tolist()} are none of the classes {self.classes_.tolist()}")
        return places.astype(np.float64)

    def _set_classes(self, labels):
        if len(labels) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes, but there is only one class: "
                f"{np.asarray(labels).tolist()}"
            )
        self.classes_ = np.asarray(labels)

    @atomic
    def fit(self, X, y, sample_weight=None, offset=None):
        """Learn the rows anew.

        Parameters
        ----------
        X : {array-like, sparse matrix, table} of shape (n_rows, n_features)
            Rows; contiguous float64 arrays are not copied.
        y : array-like of shape (n_rows,)
            Labels, of at least two classes.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row, not negative.
        offset : array-like of shape (n_rows,) or float, optional
            A known part of the log odds; for two classes.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._checked(X, y, reset=True)
        check_classification_targets(y)
        self._restart()
        self._set_classes(np.unique(y))
        return self._learn(X, self._encoded(y), sample_weight, offset=offset, reorder=self.reorder)

    @atomic
    def partial_fit(self, X, y, classes=None, sample_weight=None, offset=None):
        """Learn more rows: the same as if they had been the rest of the fit.

        Parameters
        ----------
        X, y, sample_weight, offset
            As for `fit`.
        classes : array-like of shape (n_classes,), optional
            All labels that will come; needed by the first call.

        Returns
        -------
        self : object
            The estimator; after an error it is as it was.
        """
        first = not hasattr(self, "_model")
        X, y = self._checked(X, y, reset=first)
        check_classification_targets(y)
        if first:
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self._set_classes(unique_labels(classes))
        elif classes is not None and not np.array_equal(self.classes_, unique_labels(classes)):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {self.classes_!r}"
            )
        return self._learn(X, self._encoded(y), sample_weight, offset=offset)

    def predict_proba(self, X, return_interval=None, offset=None):
        """Probability of each class, averaged over the posterior of the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix, table} of shape (n_rows, n_features)
            Rows.
        return_interval : float, optional
            Also return the central posterior interval of this mass for each probability; with more than two classes from 2000
            draws of the weights. A probability near 0 or 1 is the mean of a skewed posterior and can lie outside its own
            central interval: use the interval for the range of the probability, the mean for decisions.
        offset : array-like of shape (n_rows,) or float, optional
            A known part of the log odds; for two classes.

        Returns
        -------
        probability : ndarray of shape (n_rows, n_classes)
            Or a tuple of it and the intervals, of shape (n_rows, n_classes, 2).
        """
        model = self._fitted()
        X = self._checked(X, reset=False)
        rows, n = _rows.rows(X), X.shape[0]
        offset = _rows.numbers("offset", offset, n)
        level = None if return_interval is None else _rows.level(return_interval)
        if len(self.classes_) > 2:
            self._check_offset(offset)
            probability, _ = model.probabilities(rows)
            interval = None if level is None else self._softmax_interval(X, level)
            return together(probability, interval=interval)
        mean, _ = model.predict(rows, offset)
        probability = np.column_stack([1.0 - mean, mean])
        interval = None
        if level is not None:
            lower, upper = model.interval(rows, level, offset)
            interval = np.column_stack([1.0 - upper, lower]), np.column_stack([1.0 - lower, upper])
        return together(probability, interval=interval)

    def _softmax_interval(self, X, level):
        weights, intercepts = self.sample_weights(DRAWS, random_state=0)
        ends = np.empty((2, X.shape[0], len(self.classes_)))
        tail = 0.5 * (1.0 - level)
        # In blocks of rows, so that memory stays within some 10⁷ numbers.
        block = max(1, 10_000_000 // (DRAWS * len(self.classes_)))
        for first in range(0, X.shape[0], block):
            part = X[first : first + block]
            logits = np.stack([part @ own.T for own in np.moveaxis(weights, 1, 0)]) + intercepts.T[:, None, :]
            logits -= logits.max(axis=0)
            np.exp(logits, out=logits)
            logits /= logits.sum(axis=0)
            ends[:, first : first + block] = np.quantile(logits, [tail, 1.0 - tail], axis=2).transpose(0, 2, 1)
        return ends[0], ends[1]

    def predict_log_proba(self, X, offset=None):
        """Logarithm of `predict_proba`, of shape (n_rows, n_classes).

        Parameters
        ----------
        X, offset
            As for `predict_proba`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, offset=offset))

    def decision_function(self, X, offset=None):
        """Predictive log odds, of shape (n_rows,); of more than two classes log probabilities, of shape (n_rows, n_classes).

        Parameters
        ----------
        X, offset
            As for `predict_proba`.
        """
        probability = np.clip(self.predict_proba(X, offset=offset), np.finfo(float).tiny, None)
        found = np.log(probability)
        return found if len(self.classes_) > 2 else found[:, 1] - found[:, 0]

    def predict(self, X, offset=None):
        """The most probable label, of shape (n_rows,).

        Parameters
        ----------
        X, offset
            As for `predict_proba`.
        """
        model, rows, offset, _ = self._asked(X, offset)
        self._check_offset(offset)
        return self.classes_[model.points(rows, True, offset).astype(np.intp)]

    def _check_offset(self, offset):
        if offset is not None and len(self.classes_) > 2:
            raise ValueError("offset has no meaning for more than two classes")

    def sample_y(self, X, n_samples=1, random_state=0):
        """Draws of the label.

        Parameters
        ----------
        X : {array-like, sparse matrix, table} of shape (n_rows, n_features)
            Rows.
        n_samples : int, default=1
            Draws for each row.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws.

        Returns
        -------
        draws : ndarray of shape (n_rows, n_samples)
            Labels.
        """
        probability = self.predict_proba(X)
        uniform = np.random.default_rng(_rows.seed(random_state)).random((len(probability), int(n_samples), 1))
        cumulative = np.cumsum(probability, axis=1)[:, None, :]
        places = (uniform * cumulative[..., -1:] >= cumulative).sum(axis=-1)
        return self.classes_[np.minimum(places, len(self.classes_) - 1)]

    def sample_weights(self, n_samples=1, random_state=0):
        """Draws of the weights from the posterior, for Thompson sampling: act as if one were the truth.

        Parameters
        ----------
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws.

        Returns
        -------
        weights : ndarray of shape (n_samples, n_features) or (n_samples, n_classes, n_features)
            In the units of the inputs; of more than two classes relative to the first, whose are 0.
        intercepts : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The linear predictors where all inputs are 0.
        """
        return self._draws(int(n_samples), _rows.seed(random_state))[:2]

    def _draws(self, n, seed):
        intercepts, weights, noise = self._fitted().sample(n, seed)
        if len(self.classes_) == 2:
            return weights[:, 0], intercepts[:, 0], noise
        return np.insert(weights, 0, 0.0, axis=1), np.insert(intercepts, 0, 0.0, axis=1), noise

    def _under_draws(self, X, draws, seed, offset=None, **sizes):
        if len(self.classes_) == 2:
            return super()._under_draws(X, draws, seed, offset, **sizes)
        X, (weights, intercepts) = self._checked(X, reset=False), draws
        scores = np.asarray(X @ weights.reshape(-1, X.shape[1]).T).reshape(X.shape[0], *intercepts.shape) + intercepts
        scores -= scores.max(axis=-1, keepdims=True)
        log_p = np.swapaxes(scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True)), 0, 1)

        def under(labels):
            if labels is None:
                # The largest of log probabilities with Gumbel noise is a draw of the class.
                return np.argmax(log_p + np.random.default_rng(seed).gumbel(size=log_p.shape), axis=-1).astype(np.float64)
            return np.take_along_axis(log_p, labels.astype(np.intp)[None, :, None], axis=-1)[..., 0]

        return under

    def _family_name(self):
        return "logit" if len(self.classes_) == 2 else "softmax"

    def _labels_of(self, y):
        return self._encoded(column_or_1d(y))

    def _per_class(self, values):
        return values if len(self.classes_) == 2 else np.insert(values, 0, 0.0, axis=0)

    @property
    def coef_(self):
        """Posterior means of the weights."""
        return self._per_class(self._coefficient_parts()[0])

    @property
    def coef_std_(self):
        """Posterior standard deviations of the weights."""
        return self._per_class(self._coefficient_parts()[1])

    @property
    def intercept_(self):
        """Posterior means of the intercepts."""
        return self._per_class(self._coefficient_parts()[2])

    @property
    def intercept_std_(self):
        """Posterior standard deviations of the intercepts."""
        return self._per_class(self._coefficient_parts()[3])

    @property
    def covariance_(self):
        """Posterior covariance of the weights, for two classes."""
        model = self._fitted()
        if len(self.classes_) > 2:
            raise AttributeError("weights of several classes have no one covariance: see sample_weights")
        return model.covariance()
