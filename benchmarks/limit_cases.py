"""Limits of the machine: what numpy takes for the operations that a pair needs."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
from case import Case, Contender


def tile(n, dtype=np.float64):
    """Return a tile that fits the cache, and how often it is to be used for n^2."""
    return -np.random.RandomState(0).uniform(0, 5, size=(256, 256)).astype(dtype), n


def exponentials(parts, n_jobs):
    """Take exponentials of n^2 numbers, tile by tile, in place."""
    values, n = parts
    out = np.empty_like(values)
    for _ in range(n * n // values.size):
        np.exp(values, out=out)


def squared_distances(parts, n_jobs):
    """Take n^2 inner products of ten columns, tile by tile."""
    values, n = parts
    A, B, out = values[:, :10].copy(), values[:10].copy(), np.empty_like(values)
    for _ in range(n * n // values.size):
        np.matmul(A, B, out=out)


def reads(parts, n_jobs):
    """Read n^2 numbers from memory once, as a reduction of a Gram matrix does."""
    return float(parts.sum())


CASES = (
    Case(
        "limits",
        "numpy, for each number",
        tile,
        (
            Contender("exp, float64", exponentials, threaded=False),
            Contender(
                "exp, float32",
                exponentials,
                prepare=lambda parts: tile(parts[1], np.float32),
                threaded=False,
            ),
            Contender("inner product, d = 10", squared_distances, threaded=False),
            Contender(
                "read from memory",
                reads,
                prepare=lambda parts: np.ones((parts[1], parts[1])),
                threaded=False,
            ),
        ),
        sizes=(5120,),
        quick_sizes=(2560,),
        pairs=lambda n: n * n,
        kind="limit",
        tolerance=None,
    ),
)
