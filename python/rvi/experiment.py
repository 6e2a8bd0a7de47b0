"""Experiments that may be looked at after every row: A/B tests, with covariates where there are any.

A test at 5 % that is looked at again and again raises an alarm sooner or later. The intervals and e-values here hold at all looks together: stop when you like.

Examples
--------
>>> import numpy as np
>>> from rvi.experiment import Experiment
>>> rng = np.random.default_rng(0)
>>> experiment = Experiment(["treated"])
>>> for day in range(20):
...     treated = rng.integers(0, 2, 100).astype(float)
...     revenue = 10.0 + 0.5 * treated + rng.normal(size=100)
...     _ = experiment.update(treated[:, None], revenue)
...     if experiment.effect("treated", size=0.3).e_value > 20.0:  # a level of 5 %
...         break
>>> day < 19
True
"""

import math
from dataclasses import dataclass

import numpy as np

from ._rvi import Sums

__all__ = ["Effect", "Experiment"]


@dataclass(frozen=True)
class Effect:
    """What the rows so far tell of an effect, valid whenever it is looked at.

    Attributes
    ----------
    estimate : float
        The least-squares estimate.
    log_e_value : float
        The log of the evidence against the null effect, in nats.
    interval : tuple of float
        The interval of the confidence sequence; infinite ends while nothing can be said.
    """

    estimate: float
    log_e_value: float
    interval: tuple[float, float]

    @property
    def e_value(self):
        """The evidence against the null effect: where that is true, it ever reaches 1/alpha with probability alpha at most."""
        return math.exp(self.log_e_value) if self.log_e_value < 709.0 else math.inf

    @property
    def p_value(self):
        """One over the e-value, at most 1: a p-value that holds at all looks."""
        return min(1.0, math.exp(-self.log_e_value))


class Experiment:
    """The sums of a linear regression with an intercept, of which effects are asked at any time.

    Exact for noise that is Gaussian and of one variance (arXiv 2210.08589); for labels of 0 and 1 and for counts asymptotic: see the guide.

    Parameters
    ----------
    inputs : int or sequence of str
        Columns of a row, or their names: who was treated, and covariates.
    """

    def __init__(self, inputs=1):
        self.names = None if isinstance(inputs, (int, np.integer)) else [str(name) for name in inputs]
        if self.names is not None and len(set(self.names)) < len(self.names):
            raise ValueError("two columns have one name")
        self.inputs = inputs if self.names is None else len(self.names)
        self._sums = Sums(self.inputs)

    @property
    def rows(self):
        """The number of rows."""
        return self._sums.rows()

    def update(self, X, y):
        """Add rows, all or none.

        Parameters
        ----------
        X : array of shape (rows, inputs)
            Their columns.
        y : array of shape (rows,)
            Their labels.

        Returns
        -------
        self : Experiment
        """
        self._sums.update(np.ascontiguousarray(X, dtype=float), np.ascontiguousarray(y, dtype=float))
        return self

    def merge(self, other):
        """Add the rows of another experiment with the same columns, exactly.

        Parameters
        ----------
        other : Experiment
            It stays as it is.

        Returns
        -------
        self : Experiment
        """
        self._sums.merge(other._sums)
        return self

    def effect(self, contrast=None, *, size, level=0.95, null=0.0):
        """The effect of a coefficient, or of a contrast of several.

        Parameters
        ----------
        contrast : str, dict of str to float, or array of shape (inputs,), optional
            The name of a column; or the factors of the coefficients, those of named columns or of all. By default the first column.
        size : float
            The size of effects worth finding, in deviations of the noise. Choose it before the first row: one that is chosen by the rows breaks the promise.
        level : float
            The probability that the intervals of all looks together hold the effect.
        null : float
            The effect against which the e-value speaks.

        Returns
        -------
        effect : Effect
        """
        if contrast is None:
            contrast = np.eye(1, self.inputs)[0]
        elif isinstance(contrast, (str, dict)):
            contrast = self._factors({contrast: 1.0} if isinstance(contrast, str) else contrast)
        contrast = np.ascontiguousarray(contrast, dtype=float)
        estimate, log_e_value, interval = self._sums.effect(contrast, null, size, level)
        return Effect(estimate, log_e_value, interval or (-math.inf, math.inf))

    def _factors(self, named):
        """The factors of all coefficients from those of some columns."""
        names = self.names or []
        for name in named:
            if name not in names:
                raise ValueError(f"no column is called {name!r}" + (f": they are {', '.join(names)}" if names else "; give names to Experiment"))
        return [named.get(name, 0.0) for name in names]
