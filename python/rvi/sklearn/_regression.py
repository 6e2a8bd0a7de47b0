"""Base of the estimators of numbers and counts: predictions with their uncertainty, draws, coefficients."""

import numpy as np
from sklearn.base import RegressorMixin

from . import _rows
from ._intervals import together
from ._online import OnlineEstimator


class OnlineRegressor(RegressorMixin, OnlineEstimator):
    """A regressor of one linear predictor."""

    def _size(self, n, sizes):
        """The trials or exposures of a family; none for a family without."""
        for name, values in sizes.items():
            if values is not None:
                raise ValueError(f"{name} has no meaning for this model")

    def _predict(self, X, *, return_std=False, return_interval=None, offset=None, **sizes):
        model, rows = self._predicts(X)
        n = rows[0].shape[0] - 1 if isinstance(rows, tuple) else rows.shape[0]
        offset, size = _rows.numbers("offset", offset, n), self._size(n, sizes)
        mean, std = model.predict(rows, offset, size)
        interval = None
        if return_interval is not None:
            interval = model.interval(rows, _rows.level(return_interval), offset, size)
        return together(mean, std=std if return_std else None, interval=interval)

    def _log_density(self, X, y, offset=None, **sizes):
        model = self._fitted()
        X, y = self._checked(X, y, reset=False, y_numeric=True)
        n = X.shape[0]
        offset, size = _rows.numbers("offset", offset, n), self._size(n, sizes)
        return model.log_density(_rows.rows(X), _rows.contiguous(y), offset, size)

    def sample_y(self, X, n_samples=1, random_state=0):
        """Draws of the target.

        Parameters
        ----------
        X : {array-like, sparse matrix, table} of shape (n_rows, n_features)
            Rows.
        n_samples : int, default=1
            Draws for each row, independent of those of other rows.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws.

        Returns
        -------
        draws : ndarray of shape (n_rows, n_samples)
            From the predictive distribution.
        """
        model, rows = self._predicts(X)
        return model.draw_labels(rows, int(n_samples), _rows.seed(random_state))

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
        intercepts, weights = self._fitted().sample(int(n_samples), _rows.seed(random_state))
        return weights[:, 0], intercepts[:, 0]

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
