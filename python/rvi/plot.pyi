from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from matplotlib.axes import Axes

Array: TypeAlias = NDArray[np.float64]
# An array, a sparse matrix, or a table of pandas, Polars or PyArrow.
Table: TypeAlias = Any

def plot_coefficients(
    estimator: Any, level: float = ..., ax: Axes | None = ..., unit: Literal["deviation", "input"] = ...
) -> Axes: ...

def plot_prequential(scores: ArrayLike, ax: Axes | None = ..., label: str | None = ...) -> Axes: ...

def plot_reliability(y: ArrayLike, probability: ArrayLike, bins: int = ..., level: float = ..., ax: Axes | None = ...) -> Axes: ...

def prequential(estimator: Any, X: Table, y: ArrayLike, classes: ArrayLike | None = ..., block: int = ...) -> Array: ...
