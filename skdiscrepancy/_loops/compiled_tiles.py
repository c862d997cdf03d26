"""Exponentials, their sums, and distances on tiles, compiled by numba."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np

from skdiscrepancy._loops.compiled_exponential import exponential, loop, sum_loop
from skdiscrepancy._loops.constants import GAUSSIAN


@loop
def decay(x, rate, out):
    """Write exp(rate * x) to `out`."""
    for i in range(x.size):
        out[i] = exponential(x[i] * rate)


@sum_loop
def _add_row(row, col_sums):
    """Add a row to the column sums and return the sum of the row in float64."""
    total = 0.0
    for j in range(row.size):
        total += row[j]
        col_sums[j] += row[j]
    return total


@loop
def _square(row):
    """Square the entries of a row."""
    for j in range(row.size):
        row[j] *= row[j]


@sum_loop
def _square_and_add_row(row, col_sums):
    """Square the entries of a row, then do as `_add_row`."""
    total = 0.0
    for j in range(row.size):
        value = row[j] * row[j]
        row[j] = value
        total += value
        col_sums[j] += value
    return total


@loop
def decay_sums(x, rates, squares, row_sums, col_sums):
    """Write the sums of the rows and columns of exp(rate * x) for every rate.

    `squares` says how often the previous exponential is squared, 0 for a new one.
    """
    # Row by row, so that the values of a row stay in the first-level cache.
    values = np.empty(x.shape[1], x.dtype)
    col_sums[:] = 0
    for i in range(x.shape[0]):
        for k in range(rates.size):
            if squares[k]:
                for _ in range(1, squares[k]):
                    _square(values)
                row_sums[k, i] = _square_and_add_row(values, col_sums[k])
            else:
                decay(x[i], rates[k], values)
                row_sums[k, i] = _add_row(values, col_sums[k])


@sum_loop
def _add_weighted_row(row, weight, weights, col_sums):
    """Add a row times its weight to the column sums, and return its weighted sum."""
    total = 0.0
    for j in range(row.size):
        total += row[j] * weights[j]
        col_sums[j] += row[j] * weight
    return total


@loop
def weighted_decay_sums(x, rates, squares, of_rows, of_cols, row_sums, col_sums):
    """Write the sums that `decay_sums` writes, with weights of rows and columns."""
    values = np.empty(x.shape[1], x.dtype)
    col_sums[:] = 0
    for i in range(x.shape[0]):
        for k in range(rates.size):
            if squares[k] == 0:
                decay(x[i], rates[k], values)
            for _ in range(squares[k]):
                _square(values)
            row_sums[k, i] = _add_weighted_row(values, of_rows[i], of_cols, col_sums[k])


@loop
def decay_band_sums(x, rates, squares, first, width, row_sums, col_sums):
    """Write the sums that `decay_sums` writes, over the pairs of a band.

    Row i is at column `first` + i, and its pairs are the `width` - 1 columns before.
    """
    row = np.empty(x.shape[1], x.dtype)
    row_sums[:] = 0
    col_sums[:] = 0
    for i in range(x.shape[0]):
        stop = first + i
        start = max(0, stop - width + 1)
        values = row[: stop - start]
        for k in range(rates.size):
            columns = col_sums[k, start:stop]
            if squares[k]:
                for _ in range(1, squares[k]):
                    _square(values)
                row_sums[k, i] = _square_and_add_row(values, columns)
            else:
                decay(x[i, start:stop], rates[k], values)
                row_sums[k, i] = _add_row(values, columns)


@sum_loop
def _add_row_and_squares(row, col_sums, squares):
    """Add a row to the column sums, add its sum of squares, and return its sum."""
    total = 0.0
    square = total
    for j in range(row.size):
        total += row[j]
        col_sums[j] += row[j]
        square += row[j] * row[j]
    squares[0] += square
    return total


@sum_loop
def _square_and_add_row_and_squares(row, col_sums, squares):
    """Square the entries of a row, then do as `_add_row_and_squares`."""
    total = 0.0
    square = total
    for j in range(row.size):
        value = row[j] * row[j]
        row[j] = value
        total += value
        col_sums[j] += value
        square += value * value
    squares[0] += square
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
def _close_group(i, row_groups, col_bounds, columns, group_sums, col_sums):
    """Add the columns to their groups if row i is the last of its group."""
    group = row_groups[i]
    if i == row_groups.size - 1 or row_groups[i + 1] != group:
        for k in range(columns.shape[0]):
            _add_to_groups(columns[k], col_bounds, group_sums[k, group], col_sums[k])


@loop
def decay_group_sums(
    x, rates, doubles, row_groups, col_bounds, group_sums, row_sums, col_sums, squares
):
    """Write the sums of exp(rate * x) over groups, rows and columns, and of squares.

    `doubles` says how often the previous exponential is squared, 0 for a new one.
    """
    values = np.empty(x.shape[1], x.dtype)
    # Column sums over the rows of the current group.
    columns = np.zeros(col_sums.shape, col_sums.dtype)
    group_sums[:] = 0
    col_sums[:] = 0
    squares[:] = 0
    for i in range(x.shape[0]):
        for k in range(rates.size):
            if doubles[k] == 0:
                decay(x[i], rates[k], values)
                total = _add_row_and_squares(values, columns[k], squares[k])
            else:
                for _ in range(1, doubles[k]):
                    _square(values)
                total = _square_and_add_row_and_squares(values, columns[k], squares[k])
            row_sums[k, i] = total
        _close_group(i, row_groups, col_bounds, columns, group_sums, col_sums)


@loop
def _stein_row(distance, inner, cross, kind, bandwidth, squares, decays, out):
    """Write a row of the Stein kernel, like `evaluate_stein` of the kernels.

    `decays` holds the exponentials of the last Gaussian kernel. `squares` says how
    often they are squared for this one, 0 for new ones.
    """
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


@loop
def stein_sums(distance, inner, cross, kinds, bandwidths, squares, row_sums, col_sums):
    """Write the sums of the rows and columns of the Stein kernel for every kernel."""
    values = np.empty(distance.shape[1], distance.dtype)
    decays = np.empty(distance.shape[1], distance.dtype)
    col_sums[:] = 0
    for i in range(distance.shape[0]):
        for k in range(kinds.size):
            _stein_row(
                distance[i],
                inner[i],
                cross[i],
                kinds[k],
                bandwidths[k],
                squares[k],
                decays,
                values,
            )
            row_sums[k, i] = _add_row(values, col_sums[k])


@loop
def stein_group_sums(
    distance,
    inner,
    cross,
    kinds,
    bandwidths,
    doubles,
    drop_diagonal,
    row_groups,
    col_bounds,
    group_sums,
    row_sums,
    col_sums,
    squares,
):
    """Write the sums of the Stein kernel as `decay_group_sums` does."""
    values = np.empty(distance.shape[1], distance.dtype)
    decays = np.empty(distance.shape[1], distance.dtype)
    columns = np.zeros(col_sums.shape, col_sums.dtype)
    group_sums[:] = 0
    col_sums[:] = 0
    squares[:] = 0
    for i in range(distance.shape[0]):
        for k in range(kinds.size):
            _stein_row(
                distance[i],
                inner[i],
                cross[i],
                kinds[k],
                bandwidths[k],
                doubles[k],
                decays,
                values,
            )
            if drop_diagonal:
                values[i] = 0
            row_sums[k, i] = _add_row_and_squares(values, columns[k], squares[k])
        _close_group(i, row_groups, col_bounds, columns, group_sums, col_sums)


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
