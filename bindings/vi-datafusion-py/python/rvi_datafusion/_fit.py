"""Passes over rows that stay where they are, to the best Gaussian."""

from dataclasses import dataclass

from typing import Any

from datafusion import DataFrame, Expr, col, lit

from ._engine import functions
from ._functions import Search


@dataclass(frozen=True)
class Fitted:
    """A fit and how it was found."""

    record: bytes
    """The posterior, which the functions of queries read."""
    passes: int
    """Passes over the rows."""
    bound: float
    """The bound on the log evidence, in nats."""
    stop: str
    """Why the search stopped: 'converged', 'iterations' where the passes ran out, 'improvement' where no step was better, or 'diverged'."""


def asked(frame: DataFrame, call: Expr) -> Any:
    """The one value of an aggregate over all rows of `frame`."""
    answer = frame.aggregate([], [call.alias("answer")]).collect()
    return next(batch.column(0)[0].as_py() for batch in answer if batch.num_rows)


def fit_glm(frame: DataFrame, model: str, *, tolerance: float = 1e-9, max_passes: int = 200) -> Fitted:
    """The variational Gaussian optimum of the rows of `frame`: classes or counts, fitted to the end.

    Each pass is one query for `vi_pass`: the rows stay where the engine has them, and as many numbers come back as a covariance has. The result is that of one
    machine, to the tolerance, however the rows are parted.

    Parameters
    ----------
    frame
        The first column is the label, the others are features, or one list of them.
    model
        Family and settings, as `vi_glm` takes them: ``'logistic scale=1'``.
    tolerance
        The last step moves the mean by less than so many standard deviations.
    max_passes
        The largest number of passes.

    Returns
    -------
    Fitted
        The posterior and how it was found. Cost: the query of `frame`, 10 to 40 times; a frame that is dear to compute is better cached first.

    Examples
    --------
    >>> from datafusion import SessionContext
    >>> table = SessionContext().from_pydict({"y": [1.0, 0.0, 1.0, 0.0], "x": [0.2, -1.3, 2.1, -0.4]})
    >>> fitted = fit_glm(table, "logistic")
    >>> fitted.stop, fitted.passes < 30
    ('converged', True)
    """
    own = functions()
    columns = [col('"' + name.replace('"', '""') + '"') for name in frame.schema().names]
    # A few rows tell what is wrong with columns and model, and the length of lists.
    few = asked(frame.limit(1000), own["vi_describe"](own["vi_glm"](lit(model), *columns)))
    search = Search(model, few["inputs"] if few else 0, tolerance, max_passes)
    while (at := search.wanted()) is not None:
        search.tell(asked(frame, own["vi_pass"](lit(at), *columns)))
    return Fitted(*search.finish())
