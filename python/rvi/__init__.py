"""Bayesian regression and classification in one pass, with honest uncertainty.

=====================  ==========================================================================
`rvi.sklearn`          estimators for scikit-learn: linear, logistic, GLMs, ARD, random features
`rvi.river`            classifiers and regressors for river
`rvi.bandit`           Thompson sampling and upper confidence bounds
`rvi.boost`            the posterior of any log-density as a mixture of Gaussians
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

__all__ = ["__version__"]
