"""Exponentials, their sums, distances, angles and shifted rows, compiled by numba.

The compiler turns the exponential into vector instructions. It is a power of two, set
in the exponent bits, times a polynomial on half an octave. It agrees with the
exponential of numpy to one or two units in the last place.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np
from numba import njit, types
from numba.extending import overload

from skdiscrepancy._loops.jit import DECAY, GAUSSIAN

# Adding and subtracting these numbers rounds to an integer, which is then in the low
# bits of the sum.
ROUND_64, ROUND_32 = 1.5 * 2.0**52, 1.5 * 2.0**23
# log(2) in two parts. The first part has few digits, so that its multiples are exact.
LN2_64 = 6.93145751953125e-1, 1.42860682030941723212e-6
LN2_32 = 0.693359375, -2.12194440e-4
# Polynomials that equal exp at the Chebyshev points of [-log(2) / 2, log(2) / 2],
# highest coefficient first. Their relative errors are 4e-18 and 4e-9.
TERMS_64 = (
    2.5110037605963777e-08,
    2.763263963904103e-07,
    2.755724091857897e-06,
    2.4801485482328494e-05,
    0.00019841269890047113,
    0.0013888888952314775,
    0.008333333333319601,
    0.0416666666664881,
    0.1666666666666668,
    0.5000000000000019,
    1.0,
    1.0,
)
TERMS_32 = (0.0013941108, 0.008375126, 0.04166635, 0.16666415, 0.5, 1.0, 1.0)
_options = {"nogil": True, "error_model": "numpy", "cache": True}
# "contract" allows fused multiply-add. Nothing else may be reordered, so that a result
# does not depend on its place in an array, and NaN stays NaN.
loop = njit(fastmath={"contract"}, **_options)
# The terms of a sum may be reordered here, but always in the same way.
sum_loop = njit(fastmath={"contract", "reassoc"}, **_options)


def exponential(x):
    """Compute exp(x) for x <= 0.

    Compiled code runs `_exp_64` or `_exp_32` instead. This body runs if you set
    NUMBA_DISABLE_JIT.
    """
    return np.exp(x)


@overload(exponential, jit_options={"fastmath": {"contract"}})
def _choose_exponential(x):
    return _exp_32 if x == types.float32 else _exp_64


def _exponential_of(kind, integer, bias, n_bits, rounding, ln2, least, terms):
    """Return the exponential for a type of numbers."""
    log2e, rounding, high, low = map(kind, (np.log2(np.e), rounding, *ln2))
    least, zero, terms = kind(least), kind(0), tuple(map(kind, terms))
    bias, n_bits = integer(bias), integer(n_bits)

    def exponential(x):
        shifted = x * log2e + rounding
        octaves = shifted - rounding
        r = x - octaves * high - octaves * low
        p = terms[0]
        for term in terms[1:]:
            p = p * r + term
        exponent = (kind(shifted).view(integer) + bias) << n_bits
        value = p * integer(exponent).view(kind)
        return zero if x < least else value

    return exponential


# Below -708 or -87, the exponential is zero or a denormal number.
_exp_64 = _exponential_of(
    np.float64, np.int64, 1023, 52, ROUND_64, LN2_64, -708, TERMS_64
)
_exp_32 = _exponential_of(
    np.float32, np.int32, 127, 23, ROUND_32, LN2_32, -87, TERMS_32
)


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
    of_rows = weights[0]
    # Row by row, so that the values of a row stay in the first-level cache.
    decays = np.empty(distance.shape[1], distance.dtype)
    values = np.empty_like(decays)
    col_sums[:] = 0
    for i in range(distance.shape[0]):
        at = slice(ends[i, 0], ends[i, 1])
        row, of_cols = distance[i, at], weights[1][at]
        powers, terms = decays[: row.size], values[: row.size]
        for k in range(kinds.size):
            columns = col_sums[order[k], at]
            if kinds[k] == DECAY:
                square = squares[k] > 0
                if not square:
                    decay(row, scales[k], powers)
                for _ in range(1, squares[k]):
                    _square(powers)
                # The last square is taken while the values are added up.
                total = _add_row(powers, square, of_rows[i], of_cols, columns)
            else:
                kernel = kinds[k], scales[k], squares[k]
                _stein_row(row, inner[i, at], cross[i, at], kernel, powers, terms)
                total = _add_row(terms, False, of_rows[i], of_cols, columns)
            row_sums[order[k], i] = total


@sum_loop
def _add_row_and_squares(row, square, col_sums, squares):
    """Add a row to the column sums, and its sum of squares.

    If `square`, the entries are squared first.
    """
    of_squares = 0.0
    for j in range(row.size):
        value = row[j] * row[j] if square else row[j]
        row[j] = value
        col_sums[j] += value
        of_squares += value * value
    squares[0] += of_squares


@sum_loop
def _add_to_groups(columns, bounds, group_sums):
    """Add column sums to the sums of groups, and reset them."""
    for g in range(bounds.size - 1):
        part = 0.0
        for j in range(bounds[g], bounds[g + 1]):
            part += columns[j]
        group_sums[g] += part
    columns[:] = 0


@loop
def group_sums(tile, kernels, groups, drop_diagonal, of_groups, squares):
    """Write the sums of a tile over groups, and of squares.

    `groups` are the groups of the rows and the bounds of the groups of columns. If
    `drop_diagonal`, the entries (i, i) count as zero.
    """
    distance, inner, cross = tile
    order, kinds, scales, doubles = kernels
    row_groups, col_bounds = groups
    decays = np.empty(distance.shape[1], distance.dtype)
    values = np.empty_like(decays)
    # Column sums over the rows of the current group.
    columns = np.zeros((len(of_groups), distance.shape[1]), distance.dtype)
    of_groups[:] = 0
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
                _add_row_and_squares(decays, square, columns[k], squares[k])
            else:
                kernel = kinds[m], scales[m], doubles[m]
                _stein_row(distance[i], inner[i], cross[i], kernel, decays, values)
                if drop_diagonal:
                    values[i] = 0
                _add_row_and_squares(values, False, columns[k], squares[k])
        group = row_groups[i]
        if i == row_groups.size - 1 or row_groups[i + 1] != group:
            for k in range(kinds.size):
                _add_to_groups(columns[k], col_bounds, of_groups[k, group])


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


# pi / 2 in three parts. Multiples of the first two parts are exact.
TWO_OVER_PI = 0.6366197723675814
HALF_PI_HIGH = 1.57079625129699707031
HALF_PI_MIDDLE = 7.54978941586159635335e-8
HALF_PI_LOW = 5.39030285815811905290e-15
# Polynomials for (sin(x) - x) / x^3 and (cos(x) - 1 + x^2 / 2) / x^4 in x^2, on
# [-pi / 4, pi / 4], highest coefficient first. Their errors are below 1e-16.
SINE_TERMS = (
    1.58962301576546568060e-10,
    -2.50507477628578072866e-8,
    2.75573136213857245213e-6,
    -1.98412698295895385996e-4,
    8.33333333332211858878e-3,
    -1.66666666666666307295e-1,
)
COSINE_TERMS = (
    -1.13585365213876817300e-11,
    2.08757008419747316778e-9,
    -2.75573141792967388112e-7,
    2.48015872888517045348e-5,
    -1.38888888888730564116e-3,
    4.16666666666665929218e-2,
)


@loop
def waves(angles, factor, amplitude, out):
    """Write cosines and sines of factor * angles to both halves of each row.

    The compiler turns the inner loop into vector instructions, because it has no
    branches.
    """
    n = angles.shape[1]
    for i in range(angles.shape[0]):
        cosines, sines, row = out[i, :n], out[i, n:], angles[i]
        for j in range(n):
            x = row[j] * factor
            shifted = x * TWO_OVER_PI + ROUND_64
            quarter = np.float64(shifted).view(np.int64)
            turns = shifted - ROUND_64
            r = x - turns * HALF_PI_HIGH
            r = r - turns * HALF_PI_MIDDLE
            r = r - turns * HALF_PI_LOW
            z = r * r
            s = SINE_TERMS[0]
            for term in SINE_TERMS[1:]:
                s = s * z + term
            s = r + r * z * s
            c = COSINE_TERMS[0]
            for term in COSINE_TERMS[1:]:
                c = c * z + term
            c = 1.0 - 0.5 * z + z * z * c
            odd = quarter & 1
            cosine = s if odd else c
            sine = c if odd else s
            cosine = -cosine if (quarter + 1) & 2 else cosine
            sine = -sine if quarter & 2 else sine
            cosines[j] = amplitude * cosine
            sines[j] = amplitude * sine


@loop
def double(amplitude, out):
    """Write cosines and sines of twice the angles to the array of both."""
    n = out.shape[1] // 2
    factor = 2 / amplitude
    for i in range(out.shape[0]):
        cosines, sines = out[i, :n], out[i, n:]
        for j in range(n):
            sine = sines[j]
            sines[j] = factor * cosines[j] * sine
            cosines[j] = amplitude - factor * sine * sine


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
