from typing import Any

from sklearn.base import BaseEstimator
from skpro.distributions.base import BaseDistribution
from skpro.regression.base import BaseProbaRegressor

class Predictive(BaseDistribution):
    estimator: BaseEstimator
    X: Any
    def __init__(self, estimator: BaseEstimator, X: Any, index: Any = ..., columns: Any = ...) -> None: ...

class Regressor(BaseProbaRegressor):
    estimator: BaseEstimator | None
    def __init__(self, estimator: BaseEstimator | None = ...) -> None: ...
    @classmethod
    def get_test_params(cls, parameter_set: str = ...) -> list[dict[str, Any]]: ...
