"""Bayesian regression and classification in one pass, with honest uncertainty.

=====================  ==========================================================================
`rvi.fit`, `rvi.load`  models of tables with texts, dates, gaps and categories
`rvi.sklearn`          estimators for scikit-learn: linear, logistic, GLMs, ARD, random features
`rvi.grouped`          mixed models: effects that differ from group to group
`rvi.river`            classifiers and regressors for river
`rvi.skpro`            the estimators with skpro's interface of probabilistic regressors
`rvi.marginaleffects`  the estimators for marginaleffects: average slopes and comparisons
`rvi.bandit`           Thompson sampling and upper confidence bounds
`rvi.experiment`       A/B tests that may be looked at after every row
`rvi.boost`            the posterior of any log-density as a mixture of Gaussians
`rvi.latent`           latent Gaussian models: processes and effects of groups, nested (`rvi.nested`)
`rvi.plot`             pictures of coefficients, calibration and prequential scores (matplotlib)
=====================  ==========================================================================

Examples
--------
>>> from sklearn.datasets import load_breast_cancer
>>> from rvi.sklearn import BayesianLogisticRegression
>>> X, y = load_breast_cancer(return_X_y=True)
>>> model = BayesianLogisticRegression().fit(X, y)
>>> model.predict_proba(X[:2]).shape
(2, 2)
"""

from ._rvi import __version__
from .nested import latent
from .table import Model, fit, load

__all__ = ["Model", "__version__", "fit", "latent", "load"]
