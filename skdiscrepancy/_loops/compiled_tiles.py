"""Exponentials, their sums, and distances on tiles, compiled by numba."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np

from skdiscrepancy._loops.compiled_exponential import exponential, loop, sum_loop
from skdiscrepancy._loops.constants import DECAY, GAUSSIAN


@loop
def decay(x, rate, out):
    """Write exp(rate * x) to `out`."""
    for i in range(x.size):
        out[i] = exponential(x[i] * rate)


@loop
def _square(row):
    """Square the entries of a row."""
    for j in range(row.size):
        row[j] *= row[j]


@loop
def _stein_row(distance, inner, cross, kernel, decays, out):
    """Write a row of the Stein kernel, like `evaluate_stein` of the kernels.

    `kernel` is its kind, its bandwidth, and how often the exponentials of the previous
    Gaussian kernel, in `decays`, are squared for this one, 0 for new exponentials.
    """
    kind, bandwidth, squares = kernel
    area = bandwidth * bandwidth
    # Constants have the type of the arguments, so that float32 stays float32.
    one = bandwidth / bandwidth
    two, three = one + one, one + one + one
    if kind == GAUSSIAN:
        rate = one / area
        if squares == 0:
            decay(distance, -rate, decays)
        for _ in range(squares):
            _square(decays)
        for j in range(out.size):
            pull = cross[j] - two * rate * distance[j]
            out[j] = (inner[j] + two * rate * pull) * decays[j]
    else:
        for j in range(out.size):
            weight = one / (area + distance[j])
            pull = cross[j] - three * distance[j] * weight
            out[j] = bandwidth * np.sqrt(weight) * (inner[j] + weight * pull)


@sum_loop
def _add_row(row, square, weight, weights, col_sums):
    """Add a row times its weight to the column sums, and return its weighted sum.

    If `square`, the entries are squared first. No `weights` means ones, which takes
    less time. The sum of the row is in float64.
    """
    total = 0.0
    weighted = weights.size > 0
    for j in range(col_sums.size):
        value = row[j] * row[j] if square else row[j]
        row[j] = value
        total += value * weights[j] if weighted else value
        col_sums[j] += value * weight if weighted else value
    return total


@loop
def sums(tile, kernels, weights, ends, row_sums, col_sums):
    """Write the weighted sums of the rows and columns of a tile for every kernel.

    `tile` are distances and the products of `_stein_row`. `kernels` are their indices,
    kinds, rates or bandwidths, and squares in the order of chains. `weights` are those
    of rows and columns. Row i has the columns `ends[i, 0]` to `ends[i, 1]`.
    """
    distance, inner, cross = tile
    order, kinds, scales, squares = kernels
    of_rows, of_cols = weights
    # Row by row, so that the values of a row stay in the first-level cache.
    decays = np.empty(distance.shape[1], distance.dtype)
    values = np.empty_like(decays)
    col_sums[:] = 0
    for i in range(distance.shape[0]):
        start, stop = ends[i, 0], ends[i, 1]
        row = distance[i, start:stop]
        for k in range(kinds.size):
            columns = col_sums[order[k], start:stop]
            if kinds[k] == DECAY:
                square = squares[k] > 0
                if not square:
                    decay(row, scales[k], decays)
                for _ in range(1, squares[k]):
                    _square(decays[: row.size])
                # The last square is taken while the values are added up.
                total = _add_row(decays, square, of_rows[i], of_cols, columns)
            else:
                kernel = kinds[k], scales[k], squares[k]
                _stein_row(row, inner[i], cross[i], kernel, decays, values)
                total = _add_row(values, False, of_rows[i], of_cols, columns)
            row_sums[order[k], i] = total


@sum_loop
def _add_row_and_squares(row, square, col_sums, squares):
    """Add a row to the column sums, add its sum of squares, and return its sum.

    If `square`, the entries are squared first.
    """
    total = 0.0
    of_squares = total
    for j in range(row.size):
        value = row[j] * row[j] if square else row[j]
        row[j] = value
        total += value
        col_sums[j] += value
        of_squares += value * value
    squares[0] += of_squares
    return total


@sum_loop
def _add_to_groups(columns, bounds, group_sums, col_sums):
    """Add column sums to the sums of all rows and of groups, and reset them."""
    for g in range(bounds.size - 1):
        part = 0.0
        for j in range(bounds[g], bounds[g + 1]):
            part += columns[j]
        group_sums[g] += part
    for j in range(columns.size):
        col_sums[j] += columns[j]
        columns[j] = 0


@loop
def group_sums(tile, kernels, groups, drop_diagonal, of_groups, rows, cols, squares):
    """Write the sums of a tile over groups, rows and columns, and of squares.

    `groups` are the groups of the rows and the bounds of the groups of columns. If
    `drop_diagonal`, the entries (i, i) count as zero.
    """
    distance, inner, cross = tile
    order, kinds, scales, doubles = kernels
    row_groups, col_bounds = groups
    decays = np.empty(distance.shape[1], distance.dtype)
    values = np.empty_like(decays)
    # Column sums over the rows of the current group.
    columns = np.zeros(cols.shape, cols.dtype)
    of_groups[:] = 0
    cols[:] = 0
    squares[:] = 0
    for i in range(distance.shape[0]):
        for m in range(kinds.size):
            k = order[m]
            if kinds[m] == DECAY:
                square = doubles[m] > 0
                if not square:
                    decay(distance[i], scales[m], decays)
                for _ in range(1, doubles[m]):
                    _square(decays)
                if drop_diagonal:
                    decays[i] = 0
                total = _add_row_and_squares(decays, square, columns[k], squares[k])
            else:
                kernel = kinds[m], scales[m], doubles[m]
                _stein_row(distance[i], inner[i], cross[i], kernel, decays, values)
                if drop_diagonal:
                    values[i] = 0
                total = _add_row_and_squares(values, False, columns[k], squares[k])
            rows[k, i] = total
        group = row_groups[i]
        if i == row_groups.size - 1 or row_groups[i + 1] != group:
            for k in range(kinds.size):
                _add_to_groups(columns[k], col_bounds, of_groups[k, group], cols[k])


@loop
def city_block(A, B, out):
    """Write the L1 distances between the rows of A and the columns of B to `out`."""
    # B is transposed, so that the inner loop runs over many distances at once.
    for i in range(A.shape[0]):
        row = out[i]
        row[:] = 0
        for k in range(A.shape[1]):
            a, b = A[i, k], B[k]
            for j in range(row.size):
                row[j] += abs(a - b[j])


@loop
def difference_products(A, B, S, T, out):
    """Write (S_i - T_j) . (A_i - B_j) to `out`, rows of A and S, columns of B and T."""
    for i in range(A.shape[0]):
        row = out[i]
        row[:] = 0
        for k in range(A.shape[1]):
            a, b, s, t = A[i, k], B[k], S[i, k], T[k]
            for j in range(row.size):
                row[j] += (s - t[j]) * (a - b[j])
