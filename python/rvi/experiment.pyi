from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike
from typing_extensions import Self

@dataclass(frozen=True)
class Effect:
    estimate: float
    log_e_value: float
    interval: tuple[float, float]
    @property
    def e_value(self) -> float: ...
    @property
    def p_value(self) -> float: ...

class Experiment:
    inputs: int
    names: list[str] | None
    def __init__(self, inputs: int | Sequence[str] = ...) -> None: ...
    @property
    def rows(self) -> int: ...
    def update(self, X: ArrayLike, y: ArrayLike) -> Self: ...
    def merge(self, other: Experiment) -> Self: ...
    def effect(
        self, contrast: str | Mapping[str, float] | ArrayLike | None = ..., *, size: float, level: float = ..., null: float = ...,
    ) -> Effect: ...
