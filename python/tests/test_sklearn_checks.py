"""scikit-learn's own checks of every estimator."""

import rvi.sklearn
from sklearn.utils.estimator_checks import parametrize_with_checks

REASON = (
    "a row of weight 2 adds its log density twice to the evidence that chooses the prior scales; the row learned twice adds two log densities that differ, "
    "so that the digits do"
)

#: The only two checks that are expected to fail.
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": REASON,
    "check_sample_weight_equivalence_on_sparse_data": REASON,
}


def expected(estimator):
    return EXPECTED


@parametrize_with_checks([getattr(rvi.sklearn, name)() for name in rvi.sklearn.__all__], expected_failed_checks=expected)
def test_estimator(estimator, check):
    check(estimator)
