"""The probabilistic regressor of skpro, on the estimators of `rvi.sklearn`.

Examples
--------
>>> from rvi.skpro import Regressor
>>> from sklearn.datasets import load_diabetes
>>> X, y = load_diabetes(return_X_y=True, as_frame=True)
>>> model = Regressor().fit(X[:300], y[:300])
>>> model.predict_proba(X[300:]).shape, list(model.predict_quantiles(X[300:], alpha=[0.1, 0.9]).columns)
((142, 1), [('target', 0.1), ('target', 0.9)])
"""

import numpy as np
from sklearn.base import clone

try:
    import pandas as pd
    from skpro.distributions.base import BaseDistribution
    from skpro.regression.base import BaseProbaRegressor
except ImportError as error:
    raise ImportError("rvi.skpro needs the package skpro: pip install 'rvi[skpro]'") from error

from .sklearn import BayesianLinearRegression

__all__ = ["Predictive", "Regressor"]


class Predictive(BaseDistribution):
    """The predictive distributions of the rows of a table.

    Parameters
    ----------
    estimator : fitted estimator
        A regressor of `rvi.sklearn` with quantiles.
    X : pandas.DataFrame
        The rows.
    index, columns : pandas.Index, optional
        Of the table of labels.
    """

    _tags = {
        "capabilities:exact": ["mean", "var", "log_pdf", "pdf", "cdf", "ppf"],
        "capabilities:approx": ["energy", "pdfnorm"],
        "distr:measuretype": "continuous",
        "distr:paramtype": "nonparametric",
        "broadcast_init": "off",
    }

    def __init__(self, estimator, X, index=None, columns=None):
        self.estimator = estimator
        self.X = X
        super().__init__(index=X.index if index is None else index, columns=pd.RangeIndex(1) if columns is None else columns)
        self._shape = (len(self.index), len(self.columns))

    def _iloc(self, rowidx=None, colidx=None):
        rows = np.atleast_1d(np.arange(len(self.index))[slice(None) if rowidx is None else rowidx])
        return Predictive(self.estimator, self.X.iloc[rows], self.index[rows], self.columns)

    def _iat(self, rowidx=None, colidx=None):
        return self._iloc(rowidx)

    def _mean(self):
        return self.estimator.predict(self.X)[:, None]

    def _var(self):
        return self.estimator.predict(self.X, return_std=True)[1][:, None] ** 2

    def _log_pdf(self, x):
        return self.estimator.log_density(self.X, np.ravel(x))[:, None]

    def _pdf(self, x):
        return np.exp(self._log_pdf(x))

    def _cdf(self, x):
        return self.estimator.cdf(self.X, np.ravel(x))[:, None]

    def _ppf(self, p):
        p = np.ravel(p)
        found = np.full(len(p), np.nan)
        for own in np.unique(p[~np.isnan(p)]):
            found[p == own] = self.estimator.predict_quantiles(self.X[p == own], own)[:, 0]
        return found[:, None]

    def _sample(self, n_samples=None):
        draws = self.estimator.sample_y(self.X, n_samples or 1, random_state=None)
        if n_samples is None:
            return pd.DataFrame(draws, index=self.index, columns=self.columns)
        index = pd.MultiIndex.from_product([range(n_samples), self.index])
        return pd.DataFrame(draws.T.reshape(-1, 1), index=index, columns=self.columns)


class Regressor(BaseProbaRegressor):
    """A regressor of `rvi.sklearn` with the interface of skpro, learning on with `update`.

    Parameters
    ----------
    estimator : estimator, optional
        By default `BayesianLinearRegression`; `BayesianGLMRegressor` for counts and numbers with outliers, `RandomFeatureRegressor` for what is not
        linear. It is copied.

    Examples
    --------
    >>> from rvi.skpro import Regressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> Regressor().fit(X[:300], y[:300]).predict_interval(X[300:], coverage=0.9).shape
    (142, 2)
    """

    _tags = {"capability:missing": False, "capability:update": True, "capability:multioutput": False}

    def __init__(self, estimator=None):
        self.estimator = estimator
        super().__init__()

    @classmethod
    def get_test_params(cls, parameter_set="default"):
        """Arguments for skpro's checks.

        Parameters
        ----------
        parameter_set : str
            There is one.
        """
        return [{}, {"estimator": BayesianLinearRegression(prior_scale=10.0)}]

    def _fit(self, X, y, C=None):
        self.estimator_ = clone(BayesianLinearRegression() if self.estimator is None else self.estimator)
        self._labels = y.columns
        self.estimator_.fit(_named(X), y.iloc[:, 0].to_numpy())
        return self

    def _update(self, X, y, C=None):
        self.estimator_.partial_fit(_named(X), y.iloc[:, 0].to_numpy())
        return self

    def _predict(self, X):
        return pd.DataFrame(self.estimator_.predict(_named(X)), index=X.index, columns=self._labels)

    def _predict_proba(self, X):
        return Predictive(self.estimator_, _named(X), X.index, self._labels)

    def _predict_quantiles(self, X, alpha):
        columns = pd.MultiIndex.from_product([self._labels, alpha])
        return pd.DataFrame(self.estimator_.predict_quantiles(_named(X), alpha), index=X.index, columns=columns)


def _named(X):
    """The table with texts for names, as scikit-learn asks."""
    return X.rename(columns=str)
