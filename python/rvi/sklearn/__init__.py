"""Estimators for scikit-learn on one-pass Bayesian models."""

from ._ard import ARDClassifier, ARDRegression
from ._glm import BayesianGLMRegressor
from ._linear import BayesianLinearRegression
from ._logistic import BayesianLogisticRegression
from ._random_features import RandomFeatureClassifier, RandomFeatureRegressor

__all__ = [
    "ARDClassifier",
    "ARDRegression",
    "BayesianGLMRegressor",
    "BayesianLinearRegression",
    "BayesianLogisticRegression",
    "RandomFeatureClassifier",
    "RandomFeatureRegressor",
]
