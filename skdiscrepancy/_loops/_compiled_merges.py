"""Merges of two columns compiled by numba: sums of products of their kernels."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from math import exp, expm1

import numpy as np

from skdiscrepancy._loops._compiled_exponential import exponential, loop
from skdiscrepancy._loops._constants import CACHED, CACHED_LEVELS, CHUNK, LEAF


@loop
def _leaf(order, x, y, totals, x_rate, y_rate, x_wide, y_wide):
    """Add the pairs of a few rows to their totals and sort the rows by y."""
    values = np.empty(LEAF)
    for i in range(1, x.size):
        if y_wide:
            for j in range(i):
                u = -x_rate * (x[i] - x[j])
                u = -expm1(u) if x_wide else exp(u)
                values[j] = -u * expm1(-y_rate * abs(y[i] - y[j]))
        else:
            for j in range(i):
                t = x_rate * (x[i] - x[j]) + y_rate * abs(y[i] - y[j])
                values[j] = exponential(-t)
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


@loop
def _exchange(x, y, second, centre, x_rate, y_rate, factors, decays, totals):
    """Add what the rows of two blocks that meet at `centre` owe each other.

    `second` is 1 for rows of the second block, 0 for those of the first, all in the
    order of y. `factors` and `decays` are room for exponentials of the rows.
    """
    n = x.size
    decays[0] = 0.0
    for i in range(n):
        factors[i] = exponential(-x_rate * abs(x[i] - centre))
    for i in range(1, n):
        decays[i] = exponential(-y_rate * (y[i] - y[i - 1]))
    n_chunks = (n + CHUNK - 1) // CHUNK
    first_carried = second_carried = 0.0
    for chunk in range(n_chunks):
        start, stop = chunk * CHUNK, min((chunk + 1) * CHUNK, n)
        of_first, of_second = first_carried, second_carried
        first_inside = second_inside = 0.0
        for i in range(start, stop):
            # One of the two weights is zero.
            weight = factors[i] * second[i]
            other = factors[i] - weight
            of_first = of_first * decays[i] + other
            first_inside = first_inside * decays[i] + other
            of_second = of_second * decays[i] + weight
            second_inside = second_inside * decays[i] + weight
            totals[i] += weight * of_first + other * of_second
        across = decays[start] * exponential(-y_rate * (y[stop - 1] - y[start]))
        first_carried = first_inside + across * first_carried
        second_carried = second_inside + across * second_carried
    first_carried = second_carried = into = 0.0
    for chunk in range(n_chunks - 1, -1, -1):
        start, stop = chunk * CHUNK, min((chunk + 1) * CHUNK, n)
        across = into * exponential(-y_rate * (y[stop - 1] - y[start]))
        of_first, of_second = first_carried, second_carried
        first_inside = second_inside = 0.0
        for i in range(stop - 1, start - 1, -1):
            weight = factors[i] * second[i]
            other = factors[i] - weight
            of_first = of_first * into + other
            first_inside = first_inside * into + other
            of_second = of_second * into + weight
            second_inside = second_inside * into + weight
            totals[i] += weight * of_first + other * of_second
            into = decays[i]
        first_carried = first_inside + across * first_carried
        second_carried = second_inside + across * second_carried


@loop
def _exchange_wide(
    x, y, second, centre, x_rate, y_rate, x_wide, factors, gains, totals
):
    """Add what two blocks owe each other for one minus the kernel of y.

    As `_exchange`. Of a kernel of x that is u v, u to the centre and v from it, one
    minus it is (1 - u) + u (1 - v): it takes sums with and without the weights 1 - v.
    """
    n = x.size
    for i in range(n):
        t = -x_rate * abs(x[i] - centre)
        factors[i] = -expm1(t) if x_wide else exp(t)
    gains[0] = 0.0
    for i in range(1, n):
        gains[i] = -expm1(-y_rate * (y[i] - y[i - 1]))
    for direction in range(2):
        # Rows of both blocks so far: their number, their weights, and sums with both.
        n_first = n_second = w_first = w_second = 0.0
        of_first = of_second = first_w = second_w = 0.0
        for t in range(n):
            i = t if direction == 0 else n - 1 - t
            gain = gains[i] if direction == 0 else (gains[i + 1] if t else 0.0)
            of_first += gain * (n_first - of_first)
            of_second += gain * (n_second - of_second)
            first_w += gain * (w_first - first_w)
            second_w += gain * (w_second - second_w)
            weight = factors[i]
            alone, near = (weight, 1.0 - weight) if x_wide else (0.0, weight)
            later = second[i]
            sooner = 1.0 - later
            totals[i] += alone * (later * of_first + sooner * of_second)
            totals[i] += near * (later * first_w + sooner * second_w)
            n_first += sooner
            n_second += later
            w_first += sooner * weight
            w_second += later * weight


@loop
def _merge(
    order,
    state,
    room,
    centres,
    begin,
    end,
    half,
    last,
    parity,
    x_rate,
    y_rate,
    x_wide,
    y_wide,
):
    """Merge blocks of `half` rows to blocks of `last` rows, from `begin` to `end`.

    `order` and `state`, which is x, y and the totals, are there twice, and `parity`
    says which of both has the blocks.
    """
    factors, decays, second = room[0], room[1], room[2]
    while half < last:
        xs, ys, totals = state[parity, 0], state[parity, 1], state[parity, 2]
        rows, new_rows = order[parity], order[1 - parity]
        parity = 1 - parity
        new_xs, new_ys = state[parity, 0], state[parity, 1]
        new_totals = state[parity, 2]
        for start in range(begin, end, 2 * half):
            middle, stop = min(start + half, end), min(start + 2 * half, end)
            i, j = start, middle
            for at in range(start, stop):
                # Without a branch, which could not be foretold.
                later = j < stop and (i >= middle or ys[j] < ys[i])
                k = j if later else i
                second[at] = later
                new_rows[at] = rows[k]
                new_xs[at] = xs[k]
                new_ys[at] = ys[k]
                new_totals[at] = totals[k]
                j += later
                i += not later
            if middle < stop and y_wide:
                _exchange_wide(
                    new_xs[start:stop],
                    new_ys[start:stop],
                    second[start:stop],
                    centres[middle],
                    x_rate,
                    y_rate,
                    x_wide,
                    factors,
                    decays,
                    new_totals[start:stop],
                )
            elif middle < stop:
                _exchange(
                    new_xs[start:stop],
                    new_ys[start:stop],
                    second[start:stop],
                    centres[middle],
                    x_rate,
                    y_rate,
                    factors,
                    decays,
                    new_totals[start:stop],
                )
        half *= 2


@loop
def product_sums(x, y, x_rate, y_rate, x_wide, y_wide, sums):
    """Write the row sums of the product of two kernels; x is in increasing order.

    A merge sort by y: blocks of rows that follow in x are merged to blocks in the order
    of y, and every pair of blocks adds what their rows owe each other.
    """
    n = x.size
    order, state = np.empty((2, n), dtype=np.int64), np.empty((2, 3, n))
    room = np.empty((3, n))
    order[0] = np.arange(n)
    # One minus a kernel is zero on the diagonal.
    state[0, 0], state[0, 1], state[0, 2] = x, y, 0.0 if y_wide else 1.0
    for start in range(0, n, LEAF):
        stop = start + LEAF
        _leaf(
            order[0, start:stop],
            state[0, 0, start:stop],
            state[0, 1, start:stop],
            state[0, 2, start:stop],
            x_rate,
            y_rate,
            x_wide,
            y_wide,
        )
    # Blocks that fit the cache are merged one after the other, then all of them.
    for start in range(0, n, CACHED):
        stop = min(start + CACHED, n)
        _merge(
            order,
            state,
            room,
            x,
            start,
            stop,
            LEAF,
            CACHED,
            0,
            x_rate,
            y_rate,
            x_wide,
            y_wide,
        )
    half, parity = LEAF, 0
    while half < CACHED or half < n:
        half, parity = 2 * half, 1 - parity
    there = CACHED_LEVELS % 2
    _merge(
        order,
        state,
        room,
        x,
        0,
        n,
        CACHED,
        half,
        there,
        x_rate,
        y_rate,
        x_wide,
        y_wide,
    )
    for i in range(n):
        sums[order[parity, i]] = state[parity, 2, i]
