"""Sums of products of shifted rows, compiled by numba."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np

from skdiscrepancy._loops.compiled_exponential import sum_loop

# Numbers of a row that are multiplied at a time. Shifts that follow each other are
# close together, so they find the numbers of all rows in the first cache.
BLOCK = 1024


@sum_loop
def shifted_sums(first, others, shifts, sums):
    """Add the sums of the products of rows to `sums`, one for each row of shifts."""
    n_rows, n = first.shape
    n_others = others.shape[0]
    partial = np.empty(BLOCK)
    for row in range(n_rows):
        for start in range(0, n, BLOCK):
            a = first[row, start : min(start + BLOCK, n)]
            size = len(a)
            for b in range(shifts.shape[0]):
                product = a
                if n_others > 2:
                    product = partial
                    product[:size] = a
                for j in range(n_others - 2):
                    place = start + shifts[b, j]
                    factor = others[j, row, place : place + size]
                    for i in range(size):
                        product[i] *= factor[i]
                place = start + shifts[b, n_others - 1]
                last = others[n_others - 1, row, place : place + size]
                total = 0.0
                if n_others == 1:
                    for i in range(size):
                        total += product[i] * last[i]
                else:
                    place = start + shifts[b, n_others - 2]
                    middle = others[n_others - 2, row, place : place + size]
                    for i in range(size):
                        total += product[i] * middle[i] * last[i]
                sums[b] += total
