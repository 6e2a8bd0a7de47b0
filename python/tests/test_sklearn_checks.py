"""scikit-learn's own checks of every estimator."""

import rvi.sklearn
from sklearn.utils.estimator_checks import parametrize_with_checks

REASON = (
    "a pass over rows in their order: the first 50 rows tell the scales, and a row of weight 2 is one step, not two, so that the "
    "digits differ from those of the row learned twice"
)

#: The only two checks that are expected to fail, of models that are not linear: for linear ones a weight is so many rows.
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": REASON,
    "check_sample_weight_equivalence_on_sparse_data": REASON,
}


def expected(estimator):
    return {} if isinstance(estimator, rvi.sklearn.BayesianLinearRegression | rvi.sklearn.BayesianGLMRegressor) else EXPECTED


@parametrize_with_checks([getattr(rvi.sklearn, name)() for name in rvi.sklearn.__all__], expected_failed_checks=expected)
def test_estimator(estimator, check):
    check(estimator)
