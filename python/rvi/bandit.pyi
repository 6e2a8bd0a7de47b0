from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Self

Array: TypeAlias = NDArray[np.float64]
RandomState: TypeAlias = int | np.random.RandomState | None
# An array, a sparse matrix, or a table of pandas, Polars or PyArrow.
Table: TypeAlias = Any

class Bandit:
    arms: list[Any]
    models: list[Any]
    policy: str
    level: float
    def __init__(self, arms: Any, learner: Any = ..., *, policy: Literal['directed', 'thompson', 'ucb', 'greedy'] = ..., level: float = ..., random_state: RandomState = ...) -> None: ...
    def pull(self, X: Table, keys: Iterable[Hashable] | None = ...) -> list[Any]: ...
    def update(self, X: Table, arms: Any, rewards: ArrayLike, sample_weight: ArrayLike | None = ...) -> Self: ...
    def reward(self, key: Hashable, value: float) -> Self: ...
    @property
    def waiting(self) -> list[Hashable]: ...
    def expected(self, X: Table) -> Array: ...

def replay(bandit: Bandit, X: Table, arms: Any, rewards: ArrayLike) -> tuple[float, float, int]: ...

@dataclass(frozen=True)
class Value:
    estimate: float
    error: float
    interval: tuple[float, float]
    effective: float
    # An array, or None without the range of the rewards.
    anytime: Any

def value(
    arms: ArrayLike, rewards: ArrayLike, probabilities: ArrayLike, policy: ArrayLike, *, predicted: ArrayLike | None = ...,
    estimator: Literal['ips', 'snips', 'dr'] | None = ..., level: float = ..., within: tuple[float, float] | None = ..., least: float | None = ...,
) -> Value: ...

@dataclass(frozen=True)
class Log:
    arms: NDArray[np.intp]
    rewards: Array
    probabilities: Array
    features: list[dict[str, float]]

def read_vw(lines: Iterable[str]) -> Log: ...
