"""The functions as the engine's own package has them."""

from datafusion import SessionContext
from datafusion.user_defined import AggregateUDF, ScalarUDF

from . import _functions


def functions() -> dict[str, AggregateUDF | ScalarUDF]:
    """The functions by name, to be called on expressions.

    Examples
    --------
    >>> from datafusion import SessionContext, col
    >>> linear = functions()["vi_linear"]
    >>> table = SessionContext().from_pydict({"x": [1.0, 2.0, 3.0], "y": [1.1, 1.9, 3.0]})
    >>> table.aggregate([], [linear(col("y"), col("x")).alias("model")]).schema().names
    ['model']
    """
    aggregates = {own.name: AggregateUDF.from_pycapsule(own) for own in _functions.aggregates()}
    return aggregates | {own.name: ScalarUDF.from_pycapsule(own) for own in _functions.scalars()}


def register(ctx: SessionContext) -> SessionContext:
    """Register all functions with `ctx`, and give it back.

    Functions of the same names that were there before are replaced.

    Examples
    --------
    >>> from datafusion import SessionContext
    >>> ctx = register(SessionContext())
    >>> ctx.sql("SELECT vi_evidence(NULL) AS evidence").to_pylist()
    [{'evidence': None}]
    """
    for function in functions().values():
        if isinstance(function, AggregateUDF):
            ctx.register_udaf(function)
        else:
            ctx.register_udf(function)
    return ctx
