"""Sums of products of shifted rows, compiled by numba."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np

from skdiscrepancy._loops._compiled_exponential import sum_loop


@sum_loop
def shifted_sums(first, others, shifts, sums):
    """Add the sums of the products of rows to `sums`, one for each row of shifts.

    All rows of one place stay in the cache while the loop goes over the shifts.
    """
    n_rows, n = first.shape
    n_others = others.shape[0]
    partial = np.empty(n)
    for row in range(n_rows):
        a = first[row]
        for b in range(shifts.shape[0]):
            last = others[n_others - 1, row, shifts[b, n_others - 1] :]
            total = 0.0
            if n_others == 1:
                for i in range(n):
                    total += a[i] * last[i]
            elif n_others == 2:
                middle = others[0, row, shifts[b, 0] :]
                for i in range(n):
                    total += a[i] * middle[i] * last[i]
            else:
                for i in range(n):
                    partial[i] = a[i]
                for j in range(n_others - 1):
                    factor = others[j, row, shifts[b, j] :]
                    for i in range(n):
                        partial[i] *= factor[i]
                for i in range(n):
                    total += partial[i] * last[i]
            sums[b] += total
