"""Sums of products of kernels on two columns by merges, compiled by numba."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from math import exp, expm1
from typing import NamedTuple

import numpy as np

from skdiscrepancy._loops._compiled_exponential import exponential, loop
from skdiscrepancy._loops._constants import CACHED, CACHED_LEVELS, CHUNK, LEAF


class Kernels(NamedTuple):
    """Rates of both kernels, if one minus a kernel replaces it, and if rows weigh."""

    x_rate: float
    y_rate: float
    x_wide: bool
    y_wide: bool
    weighted: bool


class Rows(NamedTuple):
    """Rows of a block: numbers, both columns, sums so far, and weights."""

    numbers: np.ndarray
    x: np.ndarray
    y: np.ndarray
    totals: np.ndarray
    weights: np.ndarray


@loop
def _part(rows, start, stop):
    """Return some of the rows, as views."""
    return Rows(
        rows.numbers[start:stop],
        rows.x[start:stop],
        rows.y[start:stop],
        rows.totals[start:stop],
        rows.weights[start:stop],
    )


@loop
def _leaf(rows, kernels):
    """Add the pairs of a few rows to their totals and sort the rows by y."""
    numbers, x, y, totals, weights = rows
    x_rate, y_rate, x_wide, y_wide, _ = kernels
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
            totals[i] += values[j] * weights[j]
            totals[j] += values[j] * weights[i]
    for i in range(1, x.size):
        number, x_i, y_i, total = numbers[i], x[i], y[i], totals[i]
        weight = weights[i]
        j = i
        while j > 0 and y[j - 1] > y_i:
            numbers[j], x[j] = numbers[j - 1], x[j - 1]
            y[j], totals[j] = y[j - 1], totals[j - 1]
            weights[j] = weights[j - 1]
            j -= 1
        numbers[j], x[j], y[j], totals[j] = number, x_i, y_i, total
        weights[j] = weight


@loop
def _exchange(rows, second, centre, kernels, room):
    """Add the kernel over all pairs of rows of two blocks that meet at `centre`.

    `second` is 1 for rows of the second block and 0 for rows of the first block. Rows
    are in the order of y. `room` is overwritten with exponentials of the rows.
    """
    _, x, y, totals, weights = rows
    x_rate, y_rate, weighted = kernels.x_rate, kernels.y_rate, kernels.weighted
    factors, decays = room[0], room[1]
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
            # One of the two factors is zero.
            later = factors[i] * second[i]
            sooner = factors[i] - later
            weight = weights[i] if weighted else 1.0
            of_later, of_sooner = later * weight, sooner * weight
            of_first = of_first * decays[i] + of_sooner
            first_inside = first_inside * decays[i] + of_sooner
            of_second = of_second * decays[i] + of_later
            second_inside = second_inside * decays[i] + of_later
            totals[i] += later * of_first + sooner * of_second
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
            later = factors[i] * second[i]
            sooner = factors[i] - later
            weight = weights[i] if weighted else 1.0
            of_later, of_sooner = later * weight, sooner * weight
            of_first = of_first * into + of_sooner
            first_inside = first_inside * into + of_sooner
            of_second = of_second * into + of_later
            second_inside = second_inside * into + of_later
            totals[i] += later * of_first + sooner * of_second
            into = decays[i]
        first_carried = first_inside + across * first_carried
        second_carried = second_inside + across * second_carried


@loop
def _exchange_wide(rows, second, centre, kernels, room):
    """Do as `_exchange`, but with one minus the kernel of y.

    Let u be the kernel of x between a row and the centre, and v the kernel between the
    centre and the other row. One minus the kernel of x is then
    1 - u v = (1 - u) + u (1 - v). It needs sums with and without the weights 1 - v.
    """
    _, x, y, totals, weights = rows
    x_rate, y_rate, x_wide, _, _ = kernels
    factors, gains = room[0], room[1]
    n = x.size
    for i in range(n):
        t = -x_rate * abs(x[i] - centre)
        factors[i] = -expm1(t) if x_wide else exp(t)
    gains[0] = 0.0
    for i in range(1, n):
        gains[i] = -expm1(-y_rate * (y[i] - y[i - 1]))
    for direction in range(2):
        # Weights of rows of both blocks so far, times their factors, and sums of both.
        n_first = n_second = w_first = w_second = 0.0
        of_first = of_second = first_w = second_w = 0.0
        for t in range(n):
            i = t if direction == 0 else n - 1 - t
            gain = gains[i] if direction == 0 else (gains[i + 1] if t else 0.0)
            of_first += gain * (n_first - of_first)
            of_second += gain * (n_second - of_second)
            first_w += gain * (w_first - first_w)
            second_w += gain * (w_second - second_w)
            factor = factors[i]
            alone, near = (factor, 1.0 - factor) if x_wide else (0.0, factor)
            later = second[i]
            sooner = 1.0 - later
            totals[i] += alone * (later * of_first + sooner * of_second)
            totals[i] += near * (later * first_w + sooner * second_w)
            later, sooner = later * weights[i], sooner * weights[i]
            n_first += sooner
            n_second += later
            w_first += sooner * factor
            w_second += later * factor


@loop
def _merge(rows, merged, half, centres, kernels, room):
    """Merge every two blocks of `half` rows in the order of y, and write to `merged`.

    `centres` is x in the order before all merges. Two blocks meet at the first row of
    the second block.
    """
    n, second = rows.y.size, room[2]
    for start in range(0, n, 2 * half):
        middle, stop = min(start + half, n), min(start + 2 * half, n)
        i, j = start, middle
        for at in range(start, stop):
            # A branch would slow this down, because it cannot be predicted.
            later = j < stop and (i >= middle or rows.y[j] < rows.y[i])
            k = j if later else i
            second[at] = later
            merged.numbers[at] = rows.numbers[k]
            merged.x[at] = rows.x[k]
            merged.y[at] = rows.y[k]
            merged.totals[at] = rows.totals[k]
            if kernels.weighted:
                merged.weights[at] = rows.weights[k]
            j += later
            i += not later
        if middle < stop:
            block, of_second = _part(merged, start, stop), second[start:stop]
            if kernels.y_wide:
                _exchange_wide(block, of_second, centres[middle], kernels, room)
            else:
                _exchange(block, of_second, centres[middle], kernels, room)


@loop
def product_sums(x, y, x_rate, y_rate, x_wide, y_wide, weights, sums):
    """Write the weighted row sums of the product of two kernels, for increasing x.

    This is a merge sort by y. Blocks of rows that follow in x are merged to blocks in
    the order of y, and every merge adds the kernel over the pairs of both blocks.
    """
    n = x.size
    kernels = Kernels(x_rate, y_rate, x_wide, y_wide, weights.size > 0)
    # Many small arrays would be returned to the system at every call.
    numbers, columns = np.empty((2, n), np.int64), np.empty((2, 4, n))
    first, second = columns[0], columns[1]
    rows = Rows(numbers[0], first[0], first[1], first[2], first[3])
    merged = Rows(numbers[1], second[0], second[1], second[2], second[3])
    room = np.empty((3, n))
    for i in range(n):
        rows.numbers[i], rows.x[i], rows.y[i] = i, x[i], y[i]
        rows.weights[i] = weights[i] if weights.size else 1.0
        # One minus a kernel is zero on the diagonal.
        rows.totals[i] = 0.0 if y_wide else rows.weights[i]
        merged.weights[i] = 1.0
    for start in range(0, n, LEAF):
        _leaf(_part(rows, start, start + LEAF), kernels)
    # We first merge within parts that fit the cache, and then all parts.
    for start in range(0, n, CACHED):
        stop = min(start + CACHED, n)
        here, there = _part(rows, start, stop), _part(merged, start, stop)
        for level in range(CACHED_LEVELS):
            _merge(here, there, LEAF << level, x[start:stop], kernels, room)
            here, there = there, here
    if CACHED_LEVELS % 2:
        rows, merged = merged, rows
    level = CACHED_LEVELS
    while LEAF << level < n:
        _merge(rows, merged, LEAF << level, x, kernels, room)
        rows, merged = merged, rows
        level += 1
    for i in range(n):
        sums[rows.numbers[i]] = rows.totals[i]
