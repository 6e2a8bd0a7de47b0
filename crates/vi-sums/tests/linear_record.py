"""The record of a linear posterior, read by the documentation of `vi-sums` alone: for the tests of the engines."""

import struct

import numpy as np


class LinearRecord:
    """Prior, counts, means and scatter of the record."""

    def __init__(self, record):
        assert record[12:36].rstrip(b"\0") == b"vi-sums/linear"
        self.prior = struct.unpack_from("<4d", record, 44)
        self.inputs, length = struct.unpack_from("<2Q", record, 76)
        sums = np.array(struct.unpack_from(f"<{length}d", record, 92))
        k = self.inputs + 1
        self.rows, self.skipped = sums[:2]
        self.mean, self.scatter = sums[2 : 2 + k], np.zeros((k, k))
        self.scatter[np.tril_indices(k)] = sums[2 + k :]
        self.scatter += np.tril(self.scatter, -1).T
