"""Average slopes, comparisons and predictions by the package marginaleffects, from an estimator of `rvi.sklearn`.

Needs ``pip install 'rvi[marginaleffects]'``.
"""

import numpy as np
import polars as pl
from marginaleffects.classes import ModelAbstract, ModelVault
from scipy.special import expit, ndtr

from .sklearn._online import OnlineEstimator

__all__ = ["Coefficients"]

#: The number of draws behind the covariance of the coefficients; a standard error from them varies by half a percent.
DRAWS = 20_000

#: The mean of a label from its linear predictor.
MEANS = {
    "gaussian": lambda eta: eta,
    "robust": lambda eta: eta,
    "varying": lambda eta: eta,
    "logit": expit,
    "probit": ndtr,
    "poisson": np.exp,
    "negative_binomial": np.exp,
}


def _type(column):
    """The type of a column in the words of marginaleffects."""
    if column.dtype == pl.Boolean:
        return "boolean"
    if not column.dtype.is_numeric():
        return "character"
    if set(column.unique().to_list()) <= {0, 1}:
        return "binary"
    return "integer" if column.dtype.is_integer() else "numeric"


class Coefficients(ModelAbstract):
    """A fitted estimator as marginaleffects sees it: coefficients, their covariance and a table.

    Slopes and comparisons are taken at the posterior means of the coefficients, their errors by the delta method from the posterior covariance.

    Parameters
    ----------
    estimator : estimator or Pipeline
        A linear, logistic or generalised linear model that was fitted on a table; or a pipeline whose last step is one and whose steps before take
        the table's columns.
    data : table
        Rows with the columns that the estimator, or the first step of the pipeline, was fitted on.

    Raises
    ------
    TypeError
        For another estimator, and for several classes.
    ValueError
        For labels whose mean is no function of one linear predictor, and for a table without one of the columns.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from marginaleffects import avg_slopes
    >>> from rvi.marginaleffects import Coefficients
    >>> from rvi.sklearn import BayesianLinearRegression
    >>> data = pd.DataFrame({"age": np.arange(40.0), "dose": np.arange(40.0) % 3})
    >>> model = BayesianLinearRegression().fit(data, 2.0 * data["age"] - data["dose"] + np.sin(data["age"]))
    >>> slopes = avg_slopes(Coefficients(model, data))
    >>> [round(float(slope)) for slope in slopes["estimate"]]
    [2, -1]
    """

    def __init__(self, estimator, data):
        self._before, last = (estimator[:-1], estimator[-1]) if hasattr(estimator, "steps") else (None, estimator)
        if not isinstance(last, OnlineEstimator) or len(getattr(last, "classes_", [0, 1])) != 2:
            raise TypeError(f"marginaleffects needs a model of one linear predictor, not {type(last).__name__}")
        family = last._family_name()
        if family not in MEANS:
            raise ValueError(f"the mean of a label of family {family!r} is no function of one linear predictor: {', '.join(MEANS)} are")
        self._mean = MEANS[family]
        self._columns = [str(name) for name in estimator.feature_names_in_]
        data = pl.DataFrame(data) if isinstance(data, dict) else pl.from_dataframe(data)
        # Texts are refused by marginaleffects, which asks for levels.
        data = data.with_columns(pl.col(name).cast(pl.Enum(sorted(set(data[name].drop_nulls())))) for name in data.columns if data[name].dtype == pl.String)
        if missing := [name for name in self._columns if name not in data.columns]:
            raise ValueError(f"the table has no column {missing[0]!r}")
        weights, intercepts, _ = last._draws(DRAWS, 0)
        vault = ModelVault(
            coef=np.concatenate([np.ravel(last.intercept_), np.ravel(last.coef_)]),
            coefnames=np.array(["intercept", *last._names()]),
            formula=lambda rows: (None, self.get_exog(rows)),
            modeldata=data,
            package="rvi",
            vcov=np.cov(np.column_stack([intercepts, weights]), rowvar=False),
            variable_names=["label", *self._columns],
        )
        super().__init__(last, vault)

    def validation(self):
        """Gives marginaleffects the types of the columns; its release 0.6 fails at floats with Polars 2."""
        self.coef, self.formula, self.response_name = self.vault.coef, self.vault.formula, "label"
        types = {name: _type(column) for name, column in self.vault.modeldata.to_dict().items()}
        self.vault.variables_type = types

    def get_vcov(self, vcov=True):
        """The posterior covariance of the coefficients; none for ``vcov=False``."""
        if isinstance(vcov, bool):
            return self.vault.vcov if vcov else None
        raise ValueError("vcov must be True, False or a covariance; `robust_errors` of the estimator gives those that hold whatever the noise")

    def get_exog(self, newdata):
        """The intercept's ones and the inputs of the estimator."""
        rows = newdata.select(self._columns).to_pandas()
        rows = rows if self._before is None else self._before.transform(rows)
        rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
        return np.column_stack([np.ones(len(rows)), rows])

    def get_predict(self, params, newdata):
        """The mean of each label under the coefficients ``params``."""
        rows = self.get_exog(newdata) if isinstance(newdata, pl.DataFrame) else np.asarray(newdata)
        return pl.DataFrame({"rowid": np.arange(len(rows), dtype=np.int32), "estimate": self._mean(rows @ params)})
