"""Checked matrices as the rows that the extension takes, without a copy where there need be none."""

import inspect

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight

from ._tables import located

# An argument of scikit-learn 1.6 and later.
_MAY_BE_ZERO = {"allow_all_zero_weights": True} if "allow_all_zero_weights" in inspect.signature(_check_sample_weight).parameters else {}


def contiguous(values):
    """float64 in one piece, at an address from which a processor reads floats; not copied where it is so already.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.eye(3)
    >>> contiguous(X) is X, contiguous(np.frombuffer(bytes(17), np.float64, offset=1)).flags.aligned
    (True, True)
    """
    return np.require(values, np.float64, ["C", "A"])


def rows(X):
    """A float64 matrix in one piece as it is; a sparse one as `(starts, positions, values)`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.eye(3)
    >>> rows(X) is X
    True
    """
    if sparse.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        index = np.uintp
        return X.indptr.astype(index), X.indices.astype(index), contiguous(X.data)
    if X.flags.f_contiguous and X.flags.aligned:
        return X
    return contiguous(X)


def numbers(name, values, n, *, positive=False):
    """One finite float for each of `n` rows, or none for none; a scalar stands for all."""
    if values is None:
        return None
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from error
    if array.ndim == 0:
        array = np.full(n, float(array))
    if array.shape != (n,):
        raise ValueError(f"{name} has the shape {array.shape}, expected ({n},)")
    if not np.isfinite(array).all():
        index = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"{name}[{index}] is not finite: {array[index]}")
    if positive and not (array > 0).all():
        index = int(np.flatnonzero(array <= 0)[0])
        raise ValueError(f"{name}[{index}] = {array[index]} must be positive")
    return contiguous(array)


def level(value, name="return_interval"):
    """An interval's level, a float strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating):
        raise TypeError(f"{name} must be a level such as 0.9, not {value!r}")
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} = {value} must be between 0 and 1, exclusive")
    return float(value)


def probabilities(q):
    """A list of probabilities strictly between 0 and 1, from one or several.

    Examples
    --------
    >>> probabilities(0.5), probabilities([0.1, 0.9])
    ([0.5], [0.1, 0.9])
    """
    return [level(value, "q") for value in np.atleast_1d(np.asarray(q)).tolist()]


def seed(random_state):
    """An integer seed from a random state of scikit-learn."""
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(0, 2**31 - 1))


def weights(sample_weight, X, *, may_be_zero=True):
    """The weights of the rows, finite and not negative, and not all 0 unless they may be."""
    try:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, **_MAY_BE_ZERO)
    except ValueError as error:
        place = located("sample_weight", sample_weight)
        raise ValueError(f"{error}\n{place}" if place else str(error)) from None
    negative = np.flatnonzero(weight < 0)
    if negative.size:
        raise ValueError(f"Negative values in data passed to `sample_weight`: sample_weight[{negative[0]}] = {weight[negative[0]]}")
    if not may_be_zero and not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weight
