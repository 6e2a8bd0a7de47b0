"""Base of the estimators of numbers and counts: predictions with their uncertainty, draws, coefficients."""

import numpy as np
from sklearn.base import RegressorMixin

from . import _rows
from ._intervals import together
from ._online import OnlineEstimator


class Distributions:
    """The predictive distribution of a label, in the same words for every regressor and for `rvi.Model`."""

    def predict_interval(self, X, level=0.9, offset=None, exposure=None, trials=None):
        """The central interval of each row's label.

        Parameters
        ----------
        X : {array-like, sparse matrix, table} of shape (n_rows, n_features)
            Rows.
        level : float, default=0.9
            Mass of the interval.
        offset, exposure, trials : array-like of shape (n_rows,) or float, optional
            As for `fit`.

        Returns
        -------
        intervals : ndarray of shape (n_rows, 2)
        """
        model, rows, *beside = self._asked(X, offset, exposure=exposure, trials=trials)
        return np.stack(model.interval(rows, _rows.level(level, "level"), *beside), axis=-1)

    def predict_quantiles(self, X, q=(0.05, 0.25, 0.5, 0.75, 0.95), offset=None, exposure=None, trials=None):
        """Quantiles of each row's label.

        Parameters
        ----------
        X : {array-like, sparse matrix, table} of shape (n_rows, n_features)
            Rows.
        q : float or sequence of float, default=(0.05, 0.25, 0.5, 0.75, 0.95)
            Probabilities, each between 0 and 1.
        offset, exposure, trials : array-like of shape (n_rows,) or float, optional
            As for `fit`.

        Returns
        -------
        quantiles : ndarray of shape (n_rows, n_quantiles)
        """
        model, rows, *beside = self._asked(X, offset, exposure=exposure, trials=trials)
        return model.quantiles(rows, _rows.probabilities(q), *beside)

    def cdf(self, X, y, offset=None, exposure=None, trials=None):
        """The probability that each row's label is at most `y`, of shape (n_rows,).

        Parameters
        ----------
        X, offset, exposure, trials
            As for `predict_quantiles`.
        y : array-like of shape (n_rows,) or float
            Labels, not necessarily possible ones.
        """
        return self._at(X, y, False, offset, exposure=exposure, trials=trials)

    def crps(self, X, y, offset=None, exposure=None, trials=None):
        """The continuous ranked probability score of each label, in its units, of shape (n_rows,): the absolute error, generalised to a distribution.

        Parameters
        ----------
        X, y, offset, exposure, trials
            As for `cdf`.
        """
        return self._at(X, y, True, offset, exposure=exposure, trials=trials)

    def _at(self, X, y, score, offset, **sizes):
        model, rows, *beside = self._asked(X, offset, **sizes)
        n = rows[0].shape[0] - 1 if isinstance(rows, tuple) else rows.shape[0]
        return model.below(rows, _rows.numbers("y", y, n), score, *beside)

    def log_density(self, X, y, offset=None, exposure=None, trials=None):
        """Log predictive density or probability of labels, in nats, of shape (n_rows,).

        Parameters
        ----------
        X, y, offset, exposure, trials
            As for `fit`.
        """
        model, rows, *beside = self._asked(X, offset, exposure=exposure, trials=trials)
        n = rows[0].shape[0] - 1 if isinstance(rows, tuple) else rows.shape[0]
        return model.log_density(rows, _rows.numbers("y", y, n), *beside)

    def sample_y(self, X, n_samples=1, random_state=0, offset=None, exposure=None, trials=None):
        """Draws of the target.

        Parameters
        ----------
        X : {array-like, sparse matrix, table} of shape (n_rows, n_features)
            Rows.
        n_samples : int, default=1
            Draws for each row, independent of those of other rows.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws.
        offset, exposure, trials : array-like of shape (n_rows,) or float, optional
            As for `fit`.

        Returns
        -------
        draws : ndarray of shape (n_rows, n_samples)
            From the predictive distribution.
        """
        model, rows, *beside = self._asked(X, offset, exposure=exposure, trials=trials)
        return model.draw_labels(rows, int(n_samples), _rows.seed(random_state), *beside)


class OnlineRegressor(RegressorMixin, Distributions, OnlineEstimator):
    """A regressor of one linear predictor."""

    def _predict(self, X, *, return_std=False, return_interval=None, offset=None, **sizes):
        model, rows, *beside = self._asked(X, offset, **sizes)
        mean = model.points(rows, False, *beside)
        std = model.predict(rows, *beside)[1] if return_std else None
        interval = None if return_interval is None else model.interval(rows, _rows.level(return_interval), *beside)
        return together(mean, std=std, interval=interval)

    def _labels_of(self, y):
        return _rows.contiguous(y)

    def _family_name(self):
        return "gaussian"

    def _score_name(self):
        return "R²"

    def _draws(self, n, seed):
        intercepts, weights, noise = self._fitted().sample(n, seed)
        return weights[:, 0], intercepts[:, 0], noise

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
        weights : ndarray of shape (n_samples, n_features)
            In the units of the inputs.
        intercepts : ndarray of shape (n_samples,)
            The linear predictor where all inputs are 0.
        """
        return self._draws(int(n_samples), _rows.seed(random_state))[:2]

    @property
    def coef_(self):
        """Posterior means of the weights, in the units of the inputs."""
        return self._coefficient_parts()[0][0]

    @property
    def coef_std_(self):
        """Posterior standard deviations of the weights."""
        return self._coefficient_parts()[1][0]

    @property
    def intercept_(self):
        """Posterior mean of the intercept."""
        return float(self._coefficient_parts()[2][0])

    @property
    def intercept_std_(self):
        """Posterior standard deviation of the intercept."""
        return float(self._coefficient_parts()[3][0])

    @property
    def covariance_(self):
        """Posterior covariance of the weights, of shape (n_features, n_features)."""
        return self._fitted().covariance()
