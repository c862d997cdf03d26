"""Sums of products of several matrices whose rows are shifted cyclically."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np

from skdiscrepancy._loops.jit import compiled, ready


def shifted_sums(factors: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Return the sums of products of matrices, for many cyclic shifts of their rows.

    Each product has `n_rows * n` terms, so this takes O(n_shifts * n_factors * n_rows *
    n) time. Shifted rows are contiguous, so no values are gathered.

    Parameters
    ----------
    factors : ndarray of shape (n_factors, n_rows, n), of float64
        The matrices, at least two.
    shifts : ndarray of shape (n_shifts, n_factors - 1), of int
        Steps from 0 to n - 1 by which the rows of each matrix but the first move to the
        left.

    Returns
    -------
    sums : ndarray of shape (n_shifts,)
        For each row s of shifts, the sum over r and i of the product of factors[0, r,
        i] and all factors[l, r, (i + s[l - 1]) % n].
    """
    n = factors.shape[2]
    first = ready(factors[0])
    # Twice in a row, so that every shift is a slice.
    others = np.concatenate((factors[1:], factors[1:]), axis=2)
    sums = np.zeros(len(shifts))
    loops = compiled("shifts")
    if loops is not None:
        loops.shifted_sums(first, others, ready(shifts, np.int64), sums)
        return sums
    partial = np.empty_like(first)
    for b, steps in enumerate(shifts.tolist()):
        product = first
        for factor, step in zip(others[:-1], steps[:-1], strict=True):
            product = np.multiply(product, factor[:, step : step + n], out=partial)
        last = others[-1, :, steps[-1] : steps[-1] + n]
        sums[b] = np.einsum("ri,ri->", product, last)
    return sums
