"""Posteriors in the queries of DataFusion: fitted, merged, subtracted and asked where the rows already are.

===============================================  =====================================================================
`vi_linear(['settings',] y, x...)`               aggregate: the exact posterior of a linear regression
`vi_glm('family settings', y, x...)`             aggregate: that of classes or counts, one pass
`vi_pass(at, y, x...)`                           aggregate: the statistics of one pass of the batch optimum
`vi_merge(posterior)`                            aggregate: the rows of all posteriors
`vi_pool(['settings',] key, posterior)`          aggregate: the linear mixed model of groups
`vi_components(pool)`                            its standard deviations over the groups, correlations, the noise
`vi_effects(pool[, key])`                        the effects of all groups, or of one
`vi_predict_group(['level=',] pool, key, x...)`  as `vi_predict`, for a row of a group
`vi_robust(['CR0',] pool)`                       least squares with cluster-robust errors
`vi_subtract(posterior, posterior)`              the first without the rows of the second
`vi_factors(at, pass)`                           what stands for the rows of a pass
`vi_newton(at, pass[, share])`                   Newton's step from there: `posterior`, `bound`, `size`
`vi_predict(['level=0.9',] posterior, x...)`     `mean`, `variance`, `lower`, `upper` of each row
`vi_coefficients(posterior)`                     the weights, the intercept first
`vi_evidence(posterior)`                         `log p(y)` in nats
`vi_sample(posterior, seed)`                     one draw of the weights
`vi_describe(posterior)`                         `kind`, `inputs`, `rows`, `skipped`
===============================================  =====================================================================

`fit_glm` makes as many passes as the best Gaussian takes.

Examples
--------
>>> import rvi_datafusion
>>> from datafusion import SessionContext
>>> ctx = rvi_datafusion.register(SessionContext())
>>> table = ctx.from_pydict({"x": [1.0, 2.0, 3.0, 4.0], "y": [3.1, 4.9, 7.2, 8.8]}, name="days")
>>> row = ctx.sql("SELECT vi_describe(vi_linear(y, x)) AS told FROM days").to_pylist()[0]
>>> row["told"]
{'kind': 'linear', 'inputs': 1, 'rows': 4, 'skipped': 0}
"""

import datafusion

from ._engine import functions, register
from ._fit import Fitted, fit_glm
from ._functions import ENGINE, __version__

__all__ = ["Fitted", "__version__", "fit_glm", "functions", "register"]

if datafusion.__version__.split(".")[0] != str(ENGINE):
    # Functions handed over to another version would not be an error, but damaged memory.
    raise ImportError(
        f"this build of rvi_datafusion is for datafusion {ENGINE}, and there is {datafusion.__version__}: "
        "it has to be rebuilt for each major version"
    )
