"""Gram matrices of features, and HSIC of Gram matrices, written out."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np


def grams(side, Z):
    """Return the Gram matrix of each group and kernel, from all features."""
    result = []
    for g, (starts, norms) in enumerate(zip(side.starts, side.is_norm, strict=True)):
        F = side.features(g, Z, np.arange(len(Z))) + side.centres[g][:, np.newaxis]
        ends = [*starts[1:], len(F)]
        lines = [
            [i for i in range(start, end) if not norms[i]]
            for start, end in zip(starts, ends, strict=True)
        ]
        result.append([F[own].T @ F[own] for own in lines])
    return np.array(result)


def song(K, L):
    """Return Equation 5 of Song et al. (2012), written out."""
    n = len(K)
    K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
    value = np.trace(K @ L) + K.sum() * L.sum() / ((n - 1) * (n - 2))
    return (value - 2 / (n - 2) * (K @ L).sum()) / (n * (n - 3))
