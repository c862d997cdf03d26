"""Scans, merges and sums over groups on sorted columns, compiled by numba."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from math import exp, expm1

import numpy as np

from skdiscrepancy._loops.compiled_tiles import decay, exponential, loop
from skdiscrepancy._loops.jit import FAR

# Number of values after which an exponential is computed from the whole distance. If
# neighbours are equally spaced, all factors have the same rounding error, so the error
# of their product would grow with the number of values.
CHUNK = 512
# Size of the smallest blocks, of which all pairs are computed.
LEAF = 16


@loop
def _leaf(x, y, weights, sums, kernels):
    """Add the kernel over all pairs of a few rows to their sums.

    `kernels` are the rates of both kernels, and whether one minus a kernel replaces it.
    """
    x_rate, y_rate, x_wide, y_wide = kernels
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
            sums[i] += values[j] * weights[j]
            sums[j] += values[j] * weights[i]


@loop
def _exchange(rows, kernels, sums):
    """Add the kernel over all pairs of rows of two blocks.

    `rows` are the rows in the order of y: their numbers, distances from the point where
    the blocks meet in x, steps in y, weights, and 1 for rows of the second block.
    """
    order, gaps, steps, weights, second = rows
    x_rate, y_rate, _, _ = kernels
    n = order.size
    factors, decays = np.empty(n), np.empty(n + 1)
    decay(gaps, -x_rate, factors)
    decay(steps, -y_rate, decays)
    decays[0] = decays[n] = 0.0
    n_chunks = (n + CHUNK - 1) // CHUNK
    for backwards in range(2):
        first_carried = second_carried = 0.0
        for c in range(n_chunks):
            chunk = n_chunks - 1 - c if backwards else c
            start, stop = chunk * CHUNK, min((chunk + 1) * CHUNK, n)
            # Backwards, the step of a value is the step of the next value.
            across = decays[stop if backwards else start]
            across *= exponential(-y_rate * steps[start + 1 : stop].sum())
            of_first, of_second = first_carried, second_carried
            first_inside = second_inside = 0.0
            for t in range(stop - start):
                i = stop - 1 - t if backwards else start + t
                into = decays[i + backwards]
                # One of the two factors is zero.
                later = factors[i] * second[i]
                sooner = factors[i] - later
                of_later, of_sooner = later * weights[i], sooner * weights[i]
                of_first = of_first * into + of_sooner
                first_inside = first_inside * into + of_sooner
                of_second = of_second * into + of_later
                second_inside = second_inside * into + of_later
                sums[order[i]] += later * of_first + sooner * of_second
            first_carried = first_inside + across * first_carried
            second_carried = second_inside + across * second_carried


@loop
def _exchange_wide(rows, kernels, sums):
    """Do as `_exchange`, but with one minus the kernel of y.

    Let u be the kernel of x between a row and the centre, and v the kernel between the
    centre and the other row. One minus the kernel of x is then
    1 - u v = (1 - u) + u (1 - v). It needs sums with and without the weights 1 - v.
    """
    order, factors, gains, weights, second = rows
    x_rate, y_rate, x_wide, _ = kernels
    n = order.size
    for i in range(n):
        t = -x_rate * factors[i]
        factors[i] = -expm1(t) if x_wide else exp(t)
        gains[i] = -expm1(-y_rate * gains[i])
    gains[0] = gains[n] = 0.0
    for backwards in range(2):
        # Weights of rows of both blocks so far, times their factors, and sums of both.
        n_first = n_second = w_first = w_second = 0.0
        of_first = of_second = first_w = second_w = 0.0
        for t in range(n):
            i = n - 1 - t if backwards else t
            gain = gains[i + backwards]
            of_first += gain * (n_first - of_first)
            of_second += gain * (n_second - of_second)
            first_w += gain * (w_first - first_w)
            second_w += gain * (w_second - second_w)
            factor = factors[i]
            alone, near = (factor, 1.0 - factor) if x_wide else (0.0, factor)
            later = second[i]
            sooner = 1.0 - later
            total = alone * (later * of_first + sooner * of_second)
            sums[order[i]] += total + near * (later * first_w + sooner * second_w)
            later, sooner = later * weights[i], sooner * weights[i]
            n_first += sooner
            n_second += later
            w_first += sooner * factor
            w_second += later * factor


@loop
def product_sums(x, y, order, kernels, weights, sums):
    """Write the weighted row sums of the product of two kernels, for increasing x.

    `order` sorts y, and is overwritten. Blocks of rows that follow in x are halved, and
    every step adds the kernel over the pairs of two halves, in the order of y.
    """
    n, y_wide = x.size, kernels[3]
    halves, room = np.empty(n, np.int64), np.empty((4, n + 1))
    for i in range(n):
        # One minus a kernel is zero on the diagonal.
        sums[i] = 0.0 if y_wide else weights[i]
    half = LEAF
    while 2 * half < n:
        half *= 2
    while half >= LEAF:
        for start in range(0, n - half, 2 * half):
            middle, stop = start + half, min(start + 2 * half, n)
            block, size = order[start:stop], stop - start
            factors, steps = room[0, :size], room[1, : size + 1]
            w, second = room[2, :size], room[3, :size]
            before = y[block[0]]
            # Each half keeps its order by y.
            first, last = start, middle
            for t in range(size):
                i = block[t]
                later = i >= middle
                factors[t], w[t], second[t] = abs(x[i] - x[middle]), weights[i], later
                steps[t], before = y[i] - before, y[i]
                halves[last if later else first] = i
                last += later
                first += not later
            rows = block, factors, steps, w, second
            if y_wide:
                _exchange_wide(rows, kernels, sums)
            else:
                _exchange(rows, kernels, sums)
            block[:] = halves[start:stop]
        half //= 2
    for start in range(0, n, LEAF):
        at = slice(start, start + LEAF)
        _leaf(x[at], y[at], weights[at], sums[at], kernels)


@loop
def scan_exponentials(steps, rate, weights, backwards, out):
    """Add the weighted sums of exp(-rate * distance) over all values before each value.

    If `backwards`, over all values after it.
    """
    n = steps.size
    n_chunks = (n + CHUNK - 1) // CHUNK
    factors, totals = np.empty(CHUNK), np.empty(CHUNK)
    carried = 0.0
    for c in range(n_chunks):
        chunk = n_chunks - 1 - c if backwards else c
        start, stop = chunk * CHUNK, min((chunk + 1) * CHUNK, n)
        size, w, o = stop - start, weights[start:stop], out[start:stop]
        # Backwards, the step of a value is the step of the next value.
        decay(steps[start + backwards : min(stop + backwards, n)], -rate, factors)
        if backwards and stop == n:
            factors[size - 1] = 0.0
        across = factors[size - 1 if backwards else 0]
        across *= exponential(-rate * steps[start + 1 : stop].sum())
        total, inside = carried, 0.0
        for t in range(size):
            i = size - 1 - t if backwards else t
            totals[i] = total
            total = total * factors[i] + w[i]
            inside = inside * factors[i] + w[i]
        for i in range(size):
            o[i] += totals[i] * factors[i]
        carried = inside + across * carried


@loop
def scan_complements(shares, keep, weights, sums):
    """Add the weighted row sums of 1 - exp(-rate * distance) on a sorted column.

    `shares` are 1 - exp(-step), and `keep` is 0 where a new group starts. If a kernel
    is wide, the numbers added at each step are small, and so are their rounding errors.
    Chunks are therefore not needed.
    """
    n = shares.size
    for backwards in range(2):
        before = total = 0.0
        for t in range(n):
            i = n - 1 - t if backwards else t
            if t:
                at = i + backwards
                total = (total + shares[at] * (before - total)) * keep[at]
                before *= keep[at]
            sums[i] += total
            before += weights[i]


@loop
def run_sums(points, bounds, ends, lower, upper, rate, out):
    """Write sums at points, from polynomials at the ends of the runs of points.

    The points of a run lie between the same two values, the `ends` of the run. A sum is
    a polynomial of the distance from each end, times an exponential.
    """
    n_moments = lower.shape[0]
    for run in range(ends.shape[1]):
        below, above = ends[0, run], ends[1, run]
        across = rate * (above - below)
        if n_moments == 1 and across < 1.0:
            # The second exponential is a quotient, which takes less time.
            from_below, from_above = lower[0, run], upper[0, run] * exponential(-across)
            for i in range(bounds[run], bounds[run + 1]):
                factor = exponential(-rate * (points[i] - below))
                out[i] = from_below * factor + from_above / factor
            continue
        for i in range(bounds[run], bounds[run + 1]):
            s = min(rate * (points[i] - below), FAR)
            t = min(rate * (above - points[i]), FAR)
            of_lower = of_upper = 0.0
            for q in range(n_moments - 1, -1, -1):
                of_lower = of_lower * s + lower[q, run]
                of_upper = of_upper * t + upper[q, run]
            out[i] = of_lower * exponential(-s) + of_upper * exponential(-t)


@loop
def group_sums_below(steps, groups, rate, combine, sums):
    """Sum a kernel by group over all pairs (i, j) of a sorted column with j < i.

    `combine` holds the weights of the moments in the kernel.
    """
    n_groups, n_moments = sums.shape[0], combine.size
    # Moments sum_j t_j^q exp(-t_j) / q! of the values so far, for each group.
    moments = np.zeros((n_moments, n_groups))
    for i in range(steps.size):
        step, out = min(rate * steps[i], FAR), sums[groups[i]]
        factor = exponential(-step)
        for q in range(n_moments - 1, -1, -1):
            moment, term = moments[q], 1.0
            for r in range(q - 1, -1, -1):
                term *= step / (q - r)
                lower = moments[r]
                for g in range(n_groups):
                    moment[g] += term * lower[g]
            for g in range(n_groups):
                moment[g] *= factor
                out[g] += combine[q] * moment[g]
        moments[0, groups[i]] += 1.0
