"""Relevance determination for whole data sets: a prior scale for the weight of each input."""

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from .._rvi import HorseshoeClass, HorseshoeNumber, VbClass, VbNumber
from . import _rows
from ._intervals import together
from ._online import Tabular, atomic
from ._show import Summary, columns_of, holds

#: The draws from which a summary takes its intervals.
DRAWS = 4000


class Relevance(Tabular):
    """A linear predictor whose weights have a scale each."""

    _sparse = False

    def __init__(
        self, *, ard=True, fit_intercept=True, n_draws=1000, random_state=0, tol=1e-8, max_iter=5000, column_order="strict"
    ):
        self.ard = ard
        self.fit_intercept = fit_intercept
        self.n_draws = n_draws
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.column_order = column_order

    def _determine(self, sampled, variational, X, y):
        X, y, intercept = _rows.rows(X), _rows.contiguous(y), bool(self.fit_intercept)
        if isinstance(self.ard, str) and self.ard != "variational":
            raise ValueError(f"ard must be True, False or 'variational', not {self.ard!r}")
        if isinstance(self.ard, str) or not self.ard:
            self._model = variational(X, y, bool(self.ard), intercept, float(self.tol), int(self.max_iter))
        else:
            self._model = sampled(X, y, intercept, int(self.n_draws), _rows.seed(self.random_state))
        info = self._model.info()
        self.n_iter_ = info["iterations"]
        intercept, self.coef_, self.coef_std_ = self._model.coefficients()
        self.intercept_ = float(intercept)
        self.evidence_ = info["evidence"]
        self.relevance_ = np.zeros(self.n_features_in_)
        for index, determined, _ in info["relevance"]:
            self.relevance_[index] = determined
        return self

    @property
    def info_(self):
        """Report of the fit: iterations, bounds, condition, collinear columns, advice (a dictionary)."""
        return self._fitted().info()

    def summary(self, level=0.9):
        """The model in a table: of each coefficient its interval, its sign and how much the rows determine it.

        Parameters
        ----------
        level : float, default=0.9
            Mass of the intervals, which are quantiles of 4000 draws.

        Returns
        -------
        text : Summary
            A `str`, which notebooks show as a table. ``relevance`` is that of `relevance_`.
        """
        level = _rows.level(level)
        weights, intercepts = self.sample_weights(DRAWS)
        draws = np.column_stack([intercepts, weights])
        ends = np.quantile(draws, [0.5 - level / 2, 0.5 + level / 2], axis=0)
        values = np.column_stack([draws.mean(axis=0), draws.std(axis=0), *ends, (draws > 0).mean(axis=0), [np.nan, *self.relevance_]])
        columns, info = [*columns_of(level), "relevance"], self.info_
        if hasattr(self, "classes_"):
            columns.append("odds ratio")
            values = np.column_stack([values, np.exp(values[:, 0])])
        rows = dict(zip(["intercept", *self._names()], values, strict=True))
        if not self.fit_intercept:
            del rows["intercept"]
        prior = self.ard if isinstance(self.ard, str) else "horseshoe" if self.ard else "one shrinkage"
        facts = {"weights": prior, "log evidence": f"{self.evidence_:.2f} nats"}
        return Summary.of(f"{type(self).__name__}: {info['advice']}", facts, columns, {"": rows}, holds(level))

    def sample_weights(self, n_samples=1, random_state=0):
        """Draws of the weights from the posterior.

        Parameters
        ----------
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws.

        Returns
        -------
        weights : ndarray of shape (n_samples, n_features)
            In the units of the inputs.
        intercepts : ndarray of shape (n_samples,)
            The linear predictor where all inputs are 0.
        """
        intercepts, weights = self._fitted().sample(int(n_samples), _rows.seed(random_state))
        return weights, intercepts

    def _predicts(self, X):
        model = self._fitted()
        return model, _rows.rows(self._checked(X, reset=False))


class ARDRegression(RegressorMixin, Relevance):
    """Linear regression with relevance determination: unknown noise, a scale for the weight of each input.

    By default the prior is the horseshoe and the posterior is sampled (Gibbs), seeded: intervals hold with more inputs than rows. ``ard='variational'`` is
    Drugowitsch's variational Bayes, whose intervals do not; ``ard=False`` is his method with one shrinkage for all inputs.

    Parameters
    ----------
    ard : True, False or 'variational', default=True
        A scale for each input, sampled; one shrinkage for all; a shrinkage for each, by variational Bayes.
    fit_intercept : bool, default=True
        An intercept with a flat prior.
    n_draws : int, default=1000
        Kept draws of the posterior, after 1000 discarded sweeps.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws.
    tol : float, default=1e-8
        Convergence: largest relative change of a parameter, for variational Bayes.
    max_iter : int, default=5000
        Most iterations of variational Bayes.
    column_order : 'strict' or 'by_name', default='strict'
        Require the columns of a table in the order of the fit, or match them by name.

    Attributes
    ----------
    coef_, coef_std_ : ndarray of shape (n_features,)
        Posterior means and standard deviations of the weights, in the units of the inputs.
    intercept_ : float
        Posterior mean of the intercept.
    relevance_ : ndarray of shape (n_features,)
        Squared mean of each weight over its mean square: near 1 for a weight that the rows determine, near 0 for an irrelevant input.
    evidence_ : float
        The log evidence in nats, in the units of the target: an estimate about a nat off; a bound for variational Bayes.
    n_iter_ : int
        Sweeps, or iterations of variational Bayes.
    info_ : dict
        Report of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from rvi.sklearn import ARDRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> y = 2.0 * X[:, 3] + rng.normal(size=200)
    >>> model = ARDRegression().fit(X, y)
    >>> int(np.argmax(model.relevance_))
    3
    """

    @atomic
    def fit(self, X, y):
        """Fit all rows.

        Parameters
        ----------
        X : {array-like, table} of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Numbers.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._checked(X, y, reset=True, y_numeric=True)
        return self._determine(HorseshoeNumber, VbNumber, X, y)

    def predict(self, X, return_std=False, return_interval=None):
        """Expected target.

        Parameters
        ----------
        X : {array-like, table} of shape (n_rows, n_features)
            Rows.
        return_std : bool, default=False
            Also return the standard deviation of a new target.
        return_interval : float, optional
            Mass of the central interval of a new target, returned too, of shape (n_rows, 2).

        Returns
        -------
        mean : ndarray of shape (n_rows,)
            Or a tuple that begins with it.
        """
        model, rows = self._predicts(X)
        mean, std = model.predict(rows)
        interval = None if return_interval is None else model.interval(rows, _rows.level(return_interval))
        return together(mean, std=std if return_std else None, interval=interval)


class ARDClassifier(ClassifierMixin, Relevance):
    """Logistic regression of two classes with relevance determination: a scale for the weight of each input.

    By default the prior is the horseshoe and the posterior is sampled (Gibbs with Polya-Gamma variables), seeded. ``ard='variational'`` is Drugowitsch's
    variational Bayes; ``ard=False`` is his method with one shrinkage for all inputs.

    Parameters
    ----------
    ard : True, False or 'variational', default=True
        A scale for each input, sampled; one shrinkage for all; a shrinkage for each, by variational Bayes.
    fit_intercept : bool, default=True
        An intercept, not shrunk with the weights.
    n_draws : int, default=1000
        Kept draws of the posterior, after 1000 discarded sweeps.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws.
    tol : float, default=1e-8
        Convergence: largest relative change of a parameter, for variational Bayes.
    max_iter : int, default=5000
        Most iterations of variational Bayes.
    column_order : 'strict' or 'by_name', default='strict'
        Require the columns of a table in the order of the fit, or match them by name.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels.
    coef_, coef_std_ : ndarray of shape (1, n_features)
        Posterior means and standard deviations of the weights, in the units of the inputs.
    intercept_ : ndarray of shape (1,)
        Posterior mean of the intercept.
    relevance_ : ndarray of shape (n_features,)
        Squared mean of each weight over its mean square: near 1 for a weight that the rows determine, near 0 for an irrelevant input.
    evidence_ : float
        The log evidence in nats, in the units of the target: an estimate about a nat off; a bound for variational Bayes.
    n_iter_ : int
        Sweeps, or iterations of variational Bayes.
    info_ : dict
        Report of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from rvi.sklearn import ARDClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 10))
    >>> y = np.where(X[:, 7] + 0.3 * rng.normal(size=300) > 0, "yes", "no")
    >>> model = ARDClassifier().fit(X, y)
    >>> int(np.argmax(model.relevance_)), bool(model.predict(X[:1])[0] == y[0])
    (7, True)
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @atomic
    def fit(self, X, y):
        """Fit all rows.

        Parameters
        ----------
        X : {array-like, table} of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Labels of two classes.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._checked(X, y, reset=True)
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y")
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(f"ARDClassifier needs samples of 2 classes, but there is only one class: {classes.tolist()}")
        self.classes_ = classes
        self._determine(HorseshoeClass, VbClass, X, y == classes[1])
        self.coef_, self.coef_std_ = self.coef_[None], self.coef_std_[None]
        self.intercept_ = np.array([self.intercept_])
        return self

    def predict_proba(self, X, return_interval=None):
        """Probability of each class.

        Parameters
        ----------
        X : {array-like, table} of shape (n_rows, n_features)
            Rows.
        return_interval : float, optional
            Also return the central posterior interval of this mass for each probability.

        Returns
        -------
        probability : ndarray of shape (n_rows, 2)
            Or a tuple of it and the intervals, of shape (n_rows, 2, 2).
        """
        model, rows = self._predicts(X)
        mean, _ = model.predict(rows)
        interval = None
        if return_interval is not None:
            lower, upper = model.interval(rows, _rows.level(return_interval))
            interval = np.column_stack([1.0 - upper, lower]), np.column_stack([1.0 - lower, upper])
        return together(np.column_stack([1.0 - mean, mean]), interval=interval)

    def decision_function(self, X):
        """Predictive log odds, of shape (n_rows,).

        Parameters
        ----------
        X : {array-like, table} of shape (n_rows, n_features)
            Rows.
        """
        found = np.log(np.clip(self.predict_proba(X), np.finfo(float).tiny, None))
        return found[:, 1] - found[:, 0]

    def predict(self, X):
        """The more probable label, of shape (n_rows,).

        Parameters
        ----------
        X : {array-like, table} of shape (n_rows, n_features)
            Rows.
        """
        probability = self.predict_proba(X)
        return self.classes_[np.argmax(probability, axis=1)]
