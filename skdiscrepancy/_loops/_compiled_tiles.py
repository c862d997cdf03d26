"""Inner loops compiled by numba: exponentials, their sums, and distances.

Written so that the compiler makes vector instructions of them. The exponential is a
power of two, set in the exponent bits, times a polynomial on half an octave; it agrees
with numpy's to one or two units in the last place.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload

from skdiscrepancy._loops._constants import GAUSSIAN

# Adding and taking away 1.5 times the power of two of the last bit rounds to an
# integer, which is then in the low bits of the sum.
ROUND_64 = 1.5 * 2.0**52
ROUND_32 = np.float32(1.5 * 2.0**23)
LOG2E_64 = float(np.log2(np.e))
LOG2E_32 = np.float32(LOG2E_64)
# log(2) in two parts, the first with so few digits that its multiples are exact.
LN2_HIGH_64 = 6.93145751953125e-1
LN2_LOW_64 = 1.42860682030941723212e-6
LN2_HIGH_32 = np.float32(0.693359375)
LN2_LOW_32 = np.float32(-2.12194440e-4)
# Below, the exponential is zero but for denormal numbers.
LEAST_64 = -708.0
LEAST_32 = np.float32(-87.0)
# Polynomials that equal exp at the Chebyshev points of [-log(2) / 2, log(2) / 2],
# highest coefficient first; their relative error is 4e-18, and 4e-9.
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
TERMS_32 = tuple(
    np.float32(term)
    for term in (
        0.0013941108,
        0.008375126,
        0.04166635,
        0.16666415,
        0.5,
        1.0,
        1.0,
    )
)


def _bit_cast(source: Any, target: Any, llvm_type: Any) -> Any:
    @intrinsic
    def cast(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], llvm_type)

        return target(source), generate

    return cast


_bits_64 = _bit_cast(types.float64, types.int64, ir.IntType(64))
_float_64 = _bit_cast(types.int64, types.float64, ir.DoubleType())
_bits_32 = _bit_cast(types.float32, types.int32, ir.IntType(32))
_float_32 = _bit_cast(types.int32, types.float32, ir.FloatType())

# "contract" allows fused multiply-add; nothing else may be reordered, so that a result
# does not depend on where in an array it stands, and NaN stays NaN.
_options = {"nogil": True, "error_model": "numpy", "cache": True}


@njit(fastmath={"contract"}, inline="always", **_options)
def _exp_64(x):
    shifted = x * LOG2E_64 + ROUND_64
    octaves = shifted - ROUND_64
    r = x - octaves * LN2_HIGH_64 - octaves * LN2_LOW_64
    p = TERMS_64[0]
    for term in TERMS_64[1:]:
        p = p * r + term
    value = p * _float_64((_bits_64(shifted) + 1023) << 52)
    return 0.0 if x < LEAST_64 else value


@njit(fastmath={"contract"}, inline="always", **_options)
def _exp_32(x):
    shifted = x * LOG2E_32 + ROUND_32
    octaves = shifted - ROUND_32
    r = x - octaves * LN2_HIGH_32 - octaves * LN2_LOW_32
    p = TERMS_32[0]
    for term in TERMS_32[1:]:
        p = p * r + term
    value = p * _float_32((_bits_32(shifted) + np.int32(127)) << np.int32(23))
    return np.float32(0.0) if x < LEAST_32 else value


def _exp(x):
    """Stand for the exponential of the type of its argument."""


@overload(_exp, inline="always")
def _choose_exp(x):
    return _exp_32.py_func if x == types.float32 else _exp_64.py_func


@njit(
    ["(float64[::1], float64, float64[::1])", "(float32[::1], float32, float32[::1])"],
    fastmath={"contract"},
    **_options,
)
def decay(x, rate, out):
    """Write exp(rate * x) to `out`."""
    for i in range(x.size):
        out[i] = _exp(x[i] * rate)


@njit(
    ["float64(float64[::1], float64[::1])", "float32(float32[::1], float32[::1])"],
    # Here the terms of a sum may be reordered: always in the same way.
    fastmath={"contract", "reassoc"},
    **_options,
)
def _add_row(row, col_sums):
    """Add a row to the column sums and return its own sum."""
    total = row[:1].sum() * 0
    for j in range(row.size):
        total += row[j]
        col_sums[j] += row[j]
    return total


@njit(
    [
        "(float64[:, ::1], float64[::1], float64[:, ::1], float64[:, ::1])",
        "(float32[:, ::1], float32[::1], float32[:, ::1], float32[:, ::1])",
    ],
    **_options,
)
def decay_sums(x, rates, row_sums, col_sums):
    """Write the sums of the rows and columns of exp(rate * x) for every rate."""
    # Row by row: the values of a row stay in the first-level cache.
    values = np.empty_like(x[0])
    col_sums[:] = 0
    for i in range(x.shape[0]):
        for k in range(rates.size):
            decay(x[i], rates[k], values)
            row_sums[k, i] = _add_row(values, col_sums[k])


@njit(
    [
        "float64(float64[::1], float64[::1], float64[::1])",
        "float32(float32[::1], float32[::1], float32[::1])",
    ],
    fastmath={"contract", "reassoc"},
    **_options,
)
def _add_row_and_squares(row, col_sums, squares):
    """Add a row to the column sums, its squares to one number; return its sum."""
    total = row[:1].sum() * 0
    square = total
    for j in range(row.size):
        total += row[j]
        col_sums[j] += row[j]
        square += row[j] * row[j]
    squares[0] += square
    return total


@njit(
    [
        "(float64[::1], int64[::1], float64[::1], float64[::1])",
        "(float32[::1], int64[::1], float32[::1], float32[::1])",
    ],
    fastmath={"contract", "reassoc"},
    **_options,
)
def _add_to_groups(columns, bounds, group_sums, col_sums):
    """Add sums of columns to those of all rows and of groups; begin them anew."""
    for g in range(bounds.size - 1):
        part = columns[:1].sum() * 0
        for j in range(bounds[g], bounds[g + 1]):
            part += columns[j]
        group_sums[g] += part
    for j in range(columns.size):
        col_sums[j] += columns[j]
        columns[j] = 0


@njit(
    [
        "(float64[:, ::1], float64[::1], int64[::1], int64[::1], float64[:, :, ::1], "
        "float64[:, ::1], float64[:, ::1], float64[:, ::1])",
        "(float32[:, ::1], float32[::1], int64[::1], int64[::1], float32[:, :, ::1], "
        "float32[:, ::1], float32[:, ::1], float32[:, ::1])",
    ],
    **_options,
)
def decay_group_sums(
    x, rates, row_groups, col_bounds, group_sums, row_sums, col_sums, squares
):
    """Write the sums of exp(rate * x) over groups, rows and columns, and of squares."""
    values = np.empty_like(x[0])
    # Sums of columns over the rows of the present group.
    columns = np.zeros_like(col_sums)
    group_sums[:] = 0
    col_sums[:] = 0
    squares[:] = 0
    last = x.shape[0] - 1
    for i in range(x.shape[0]):
        for k in range(rates.size):
            decay(x[i], rates[k], values)
            row_sums[k, i] = _add_row_and_squares(values, columns[k], squares[k])
        group = row_groups[i]
        if i == last or row_groups[i + 1] != group:
            for k in range(rates.size):
                _add_to_groups(
                    columns[k], col_bounds, group_sums[k, group], col_sums[k]
                )


@njit(
    [
        "(float64[::1], float64[::1], float64[::1], int64, float64, float64[::1])",
        "(float32[::1], float32[::1], float32[::1], int64, float32, float32[::1])",
    ],
    fastmath={"contract"},
    **_options,
)
def _stein_row(distance, inner, cross, kind, bandwidth, out):
    """Write a row of the Stein kernel, as `evaluate_stein` of the kernels."""
    square = bandwidth * bandwidth
    # Constants of the type of the arguments: others would make all double.
    one = bandwidth / bandwidth
    two, three = one + one, one + one + one
    if kind == GAUSSIAN:
        rate = one / square
        for j in range(out.size):
            pull = cross[j] - two * rate * distance[j]
            out[j] = (inner[j] + two * rate * pull) * _exp(-rate * distance[j])
    else:
        for j in range(out.size):
            weight = one / (square + distance[j])
            pull = cross[j] - three * distance[j] * weight
            out[j] = bandwidth * np.sqrt(weight) * (inner[j] + weight * pull)


@njit(
    [
        "(float64[:, ::1], float64[:, ::1], float64[:, ::1], int64[::1], float64[::1], "
        "float64[:, ::1], float64[:, ::1])",
        "(float32[:, ::1], float32[:, ::1], float32[:, ::1], int64[::1], float32[::1], "
        "float32[:, ::1], float32[:, ::1])",
    ],
    **_options,
)
def stein_sums(distance, inner, cross, kinds, bandwidths, row_sums, col_sums):
    """Write the sums of the rows and columns of the Stein kernel for every kernel."""
    values = np.empty_like(distance[0])
    col_sums[:] = 0
    for i in range(distance.shape[0]):
        for k in range(kinds.size):
            _stein_row(distance[i], inner[i], cross[i], kinds[k], bandwidths[k], values)
            row_sums[k, i] = _add_row(values, col_sums[k])


@njit(
    [
        "(float64[:, ::1], float64[:, ::1], float64[:, ::1])",
        "(float32[:, ::1], float32[:, ::1], float32[:, ::1])",
    ],
    fastmath={"contract"},
    **_options,
)
def city_block(A, B, out):
    """Write the L1 distances of the rows of A to the columns of B to `out`."""
    # Columns of B, not rows: the inner loop then runs over many distances at once.
    for i in range(A.shape[0]):
        row = out[i]
        row[:] = 0
        for k in range(A.shape[1]):
            a, b = A[i, k], B[k]
            for j in range(row.size):
                row[j] += abs(a - b[j])


@njit(
    [
        "(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], "
        "float64[:, ::1])",
        "(float32[:, ::1], float32[:, ::1], float32[:, ::1], float32[:, ::1], "
        "float32[:, ::1])",
    ],
    fastmath={"contract"},
    **_options,
)
def difference_products(A, B, S, T, out):
    """Write (S_i - T_j) . (A_i - B_j) to `out`, rows of A and S, columns of B and T."""
    for i in range(A.shape[0]):
        row = out[i]
        row[:] = 0
        for k in range(A.shape[1]):
            a, b, s, t = A[i, k], B[k], S[i, k], T[k]
            for j in range(row.size):
                row[j] += (s - t[j]) * (a - b[j])
