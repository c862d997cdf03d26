"""Loops over sorted columns compiled by numba: scans, merges and sums over groups."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np
from numba import njit

from skdiscrepancy._compiled import _exp_64, _options

# Values between two exponentials that are taken over the whole distance: the factors
# between are rounded, where neighbours are all at one distance all in the same way.
CHUNK = 1024
# As in the scans of numpy: exp(-800) is zero, and there is no inf * 0.
FAR = 800.0
# Blocks of a merge sort that begin as all pairs.
LEAF = 16


@njit("(float64[::1], float64, float64[::1])", fastmath={"contract"}, **_options)
def _factors(steps, rate, out):
    """Write the exponentials of steps to `out`."""
    for i in range(steps.size):
        out[i] = _exp_64(-rate * steps[i])


@njit("float64(float64[::1], float64)", **_options)
def _factor_across(steps, rate):
    """Return the exponential of the sum of all steps but the first."""
    total = 0.0
    for i in range(1, steps.size):
        total += steps[i]
    return _exp_64(-rate * total)


@njit(
    "(float64[::1], float64, float64[:, ::1], float64[:, ::1])",
    fastmath={"contract"},
    **_options,
)
def scan_exponentials(steps, rate, weights, sums):
    """Write the weighted row sums of exp(-rate * distance) on a sorted column."""
    n = steps.size
    n_chunks = (n + CHUNK - 1) // CHUNK
    factors = np.empty(CHUNK + 1)
    carried = np.zeros(weights.shape[0])
    for chunk in range(n_chunks):
        start, stop = chunk * CHUNK, min((chunk + 1) * CHUNK, n)
        _factors(steps[start:stop], rate, factors)
        across = factors[0] * _factor_across(steps[start:stop], rate)
        for v in range(carried.size):
            w, out = weights[v], sums[v]
            total, inside = carried[v], 0.0
            for i in range(start, stop):
                factor = factors[i - start]
                total = total * factor + w[i]
                inside = inside * factor + w[i]
                out[i] = total
            carried[v] = inside + across * carried[v]
    carried[:] = 0
    for chunk in range(n_chunks - 1, -1, -1):
        start, stop = chunk * CHUNK, min((chunk + 1) * CHUNK, n)
        # Steps to the value after: the last one leads to the next chunk.
        after = steps[start + 1 : min(stop + 1, n)]
        _factors(after, rate, factors)
        if stop == n:
            factors[stop - 1 - start] = 0.0
        across = _factor_across(steps[start:stop], rate) * factors[stop - 1 - start]
        for v in range(carried.size):
            w, out = weights[v], sums[v]
            total, inside = carried[v], 0.0
            for i in range(stop - 1, start - 1, -1):
                factor = factors[i - start]
                total *= factor
                out[i] += total
                total += w[i]
                inside = inside * factor + w[i]
            carried[v] = inside + across * carried[v]


@njit("(float64[::1], float64)", fastmath={"contract"}, inline="always", **_options)
def _shift(moments, step):
    """Move the point that moments are taken from, as `shift_moments` of the scans."""
    factor = _exp_64(-step)
    for q in range(moments.size - 1, 0, -1):
        moved = moments[0] * step / q
        for r in range(1, q):
            moved = (moved + moments[r]) * step / (q - r)
        moments[q] = (moments[q] + moved) * factor
    moments[0] *= factor


@njit(
    "(float64[::1], float64, float64[::1], float64[:, ::1], float64[:, ::1])",
    fastmath={"contract"},
    **_options,
)
def scan_moments(steps, rate, combine, weights, sums):
    """Write the weighted row sums of a polynomial times an exponential.

    `combine` has the weights of the moments in a sum.
    """
    n = steps.size
    n_chunks = (n + CHUNK - 1) // CHUNK
    for v in range(weights.shape[0]):
        w, out = weights[v], sums[v]
        for direction in range(2):
            carried = np.zeros(combine.size)
            for c in range(n_chunks):
                chunk = c if direction == 0 else n_chunks - 1 - c
                start, stop = chunk * CHUNK, min((chunk + 1) * CHUNK, n)
                total, inside = carried.copy(), np.zeros(combine.size)
                span = 0.0
                for t in range(stop - start):
                    if direction == 0:
                        i = start + t
                        step = steps[i]
                    else:
                        i = stop - 1 - t
                        step = steps[i + 1] if i + 1 < n else np.inf
                    step = min(rate * step, FAR)
                    _shift(total, step)
                    if t == 0:
                        _shift(carried, step)
                    else:
                        span += step
                        _shift(inside, step)
                    if direction == 0:
                        total[0] += w[i]
                        out[i] = 0.0
                    for q in range(combine.size):
                        out[i] += combine[q] * total[q]
                    if direction == 1:
                        total[0] += w[i]
                    inside[0] += w[i]
                _shift(carried, min(span, FAR))
                carried += inside


@njit(
    "(int64[::1], float64[::1], float64[::1], float64[::1], float64, float64)",
    fastmath={"contract"},
    **_options,
)
def _leaf(order, x, y, totals, x_rate, y_rate):
    """Add the pairs of a few rows to their totals and sort the rows by y."""
    values = np.empty(LEAF)
    for i in range(1, x.size):
        for j in range(i):
            values[j] = _exp_64(
                -(x_rate * (x[i] - x[j]) + y_rate * abs(y[i] - y[j]))
            )
        for j in range(i):
            totals[i] += values[j]
            totals[j] += values[j]
    for i in range(1, x.size):
        row, x_i, y_i, total = order[i], x[i], y[i], totals[i]
        j = i
        while j > 0 and y[j - 1] > y_i:
            order[j], x[j] = order[j - 1], x[j - 1]
            y[j], totals[j] = y[j - 1], totals[j - 1]
            j -= 1
        order[j], x[j], y[j], totals[j] = row, x_i, y_i, total


@njit(
    "(float64[::1], float64[::1], float64[::1], float64, float64, float64, "
    "float64[::1], float64[::1])",
    fastmath={"contract"},
    **_options,
)
def _exchange(x, y, second, centre, x_rate, y_rate, factors, totals):
    """Add what the rows of two blocks that meet at `centre` owe each other.

    `second` is 1 for rows of the second block, 0 for those of the first, all in the
    order of y. `factors` is room for one exponential a row.
    """
    n = x.size
    for i in range(n):
        factors[i] = _exp_64(-x_rate * abs(x[i] - centre))
    n_chunks = (n + CHUNK - 1) // CHUNK
    steps, decays = np.empty(CHUNK), np.empty(CHUNK)
    for direction in range(2):
        first_carried = second_carried = 0.0
        for c in range(n_chunks):
            chunk = c if direction == 0 else n_chunks - 1 - c
            start, stop = chunk * CHUNK, min((chunk + 1) * CHUNK, n)
            for t in range(stop - start):
                i = start + t if direction == 0 else stop - 1 - t
                before = max(i - 1, 0) if direction == 0 else min(i + 1, n - 1)
                steps[t] = abs(y[i] - y[before])
            _factors(steps[: stop - start], y_rate, decays)
            across = decays[0] * _factor_across(steps[: stop - start], y_rate)
            of_first, of_second = first_carried, second_carried
            first_inside = second_inside = 0.0
            for t in range(stop - start):
                i = start + t if direction == 0 else stop - 1 - t
                weight = factors[i] * second[i]
                other = factors[i] - weight
                of_first = of_first * decays[t] + other
                first_inside = first_inside * decays[t] + other
                of_second = of_second * decays[t] + weight
                second_inside = second_inside * decays[t] + weight
                # One of the two weights is zero.
                totals[i] += weight * of_first + other * of_second
            first_carried = first_inside + across * first_carried
            second_carried = second_inside + across * second_carried


@njit(
    "(float64[::1], float64[::1], float64, float64, float64[::1])",
    fastmath={"contract"},
    **_options,
)
def product_sums(x, y, x_rate, y_rate, sums):
    """Write the row sums of the product of two kernels; x is in increasing order.

    A merge sort by y: blocks of rows that follow in x are merged to blocks in the order
    of y, and every pair of blocks adds what their rows owe each other.
    """
    n = x.size
    order = np.arange(n)
    xs, ys, totals = x.copy(), y.copy(), np.ones(n)
    for start in range(0, n, LEAF):
        _leaf(
            order[start : start + LEAF],
            xs[start : start + LEAF],
            ys[start : start + LEAF],
            totals[start : start + LEAF],
            x_rate,
            y_rate,
        )
    new_order, new_xs = np.empty_like(order), np.empty(n)
    new_ys, new_totals = np.empty(n), np.empty(n)
    factors, second = np.empty(n), np.empty(n)
    half = LEAF
    while half < n:
        for start in range(0, n, 2 * half):
            middle, stop = min(start + half, n), min(start + 2 * half, n)
            i, j = start, middle
            for at in range(start, stop):
                # Without a branch, which could not be foretold.
                later = j < stop and (i >= middle or ys[j] < ys[i])
                k = j if later else i
                second[at] = later
                new_order[at] = order[k]
                new_xs[at] = xs[k]
                new_ys[at] = ys[k]
                new_totals[at] = totals[k]
                j += later
                i += not later
            if middle < stop:
                _exchange(
                    new_xs[start:stop],
                    new_ys[start:stop],
                    second[start:stop],
                    x[middle],
                    x_rate,
                    y_rate,
                    factors,
                    new_totals[start:stop],
                )
        order, new_order = new_order, order
        xs, new_xs = new_xs, xs
        ys, new_ys = new_ys, ys
        totals, new_totals = new_totals, totals
        half *= 2
    for i in range(n):
        sums[order[i]] = totals[i]
