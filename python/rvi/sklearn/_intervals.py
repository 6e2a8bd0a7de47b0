"""Results of predictions: a value alone, or with its standard deviation and interval."""

import numpy as np


def together(value, *, std=None, interval=None):
    """`value`, or a tuple of it with the further results."""
    found = [value]
    if std is not None:
        found.append(std)
    if interval is not None:
        found.append(np.stack(interval, axis=-1))
    return found[0] if len(found) == 1 else tuple(found)
