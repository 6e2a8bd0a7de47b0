"""Differences between versions of scikit-learn, from 1.4 on."""

import inspect

import numpy as np
from sklearn.utils.validation import _check_sample_weight

try:
    from sklearn.utils.validation import validate_data
except ImportError:

    def validate_data(estimator, X="no_validation", y="no_validation", **options):
        """As of scikit-learn 1.6."""
        return estimator._validate_data(X, y, **options)


_MAY_BE_ZERO = {"allow_all_zero_weights": True} if "allow_all_zero_weights" in inspect.signature(_check_sample_weight).parameters else {}


def checked_weights(sample_weight, X, *, may_be_zero=True):
    """The weights of the rows, finite and not negative, and not all 0 unless they may be."""
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, **_MAY_BE_ZERO)
    negative = np.flatnonzero(weight < 0)
    if negative.size:
        raise ValueError(f"Negative values in data passed to `sample_weight`: sample_weight[{negative[0]}] = {weight[negative[0]]}")
    if not may_be_zero and not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weight
