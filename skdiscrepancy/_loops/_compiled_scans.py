"""Scans and sums over groups on sorted columns, compiled by numba."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np

from skdiscrepancy._loops._compiled_exponential import exponential, inlined, loop
from skdiscrepancy._loops._compiled_merges import product_sums
from skdiscrepancy._loops._constants import CHUNK, FAR, LEAF

__all__ = [
    "group_sums_below",
    "product_sums",
    "run_exponentials",
    "run_polynomials",
    "scan_complements",
    "scan_exponentials",
    "scan_moments",
    "states_of_exponentials",
    "states_of_moments",
]


@loop
def _factors(steps, rate, out):
    """Write the exponentials of steps to `out`."""
    for i in range(steps.size):
        out[i] = exponential(-rate * steps[i])


@loop
def _factor_across(steps, rate):
    """Return the exponential of the sum of all steps but the first."""
    total = 0.0
    for i in range(1, steps.size):
        total += steps[i]
    return exponential(-rate * total)


@loop
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
        # Each step leads to the next value, and the last step to the next chunk.
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


@loop
def scan_complements(shares, keep, weights, sums):
    """Write the weighted row sums of 1 - exp(-rate * distance) on a sorted column.

    `shares` are 1 - exp(-step), and `keep` is 0 where a new group starts. If a kernel
    is wide, the numbers added at each step are small, and so are their rounding errors.
    Chunks are therefore not needed.
    """
    n = shares.size
    for v in range(weights.shape[0]):
        w, out = weights[v], sums[v]
        before = total = 0.0
        for i in range(n):
            total = (total + shares[i] * (before - total)) * keep[i]
            out[i] = total
            before = before * keep[i] + w[i]
        before = total = 0.0
        for i in range(n - 1, -1, -1):
            if i + 1 < n:
                total = (total + shares[i + 1] * (before - total)) * keep[i + 1]
                before *= keep[i + 1]
            out[i] += total
            before += w[i]


@inlined
def _shift(moments, step):
    """Move the reference point of the moments, like `shift_moments` of the scans."""
    factor = exponential(-step)
    for q in range(moments.size - 1, 0, -1):
        moved = moments[0] * step / q
        for r in range(1, q):
            moved = (moved + moments[r]) * step / (q - r)
        moments[q] = (moments[q] + moved) * factor
    moments[0] *= factor


@loop
def scan_moments(steps, rate, combine, weights, sums):
    """Write the weighted row sums of a polynomial times an exponential.

    `combine` holds the weights of the moments in a sum.
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


@loop
def states_of_exponentials(steps, rate, weights, below, above):
    """Write the weighted sums of exp(-rate * distance) before and after each value."""
    n = steps.size
    n_chunks = (n + CHUNK - 1) // CHUNK
    factors = np.empty(CHUNK + 1)
    carried = 0.0
    for chunk in range(n_chunks):
        start, stop = chunk * CHUNK, min((chunk + 1) * CHUNK, n)
        _factors(steps[start:stop], rate, factors)
        across = factors[0] * _factor_across(steps[start:stop], rate)
        total, inside = carried, 0.0
        for i in range(start, stop):
            factor = factors[i - start]
            total *= factor
            below[i] = total
            total += weights[i]
            inside = inside * factor + weights[i]
        carried = inside + across * carried
    carried = 0.0
    for chunk in range(n_chunks - 1, -1, -1):
        start, stop = chunk * CHUNK, min((chunk + 1) * CHUNK, n)
        _factors(steps[start + 1 : min(stop + 1, n)], rate, factors)
        if stop == n:
            factors[stop - 1 - start] = 0.0
        across = _factor_across(steps[start:stop], rate) * factors[stop - 1 - start]
        total, inside = carried, 0.0
        for i in range(stop - 1, start - 1, -1):
            factor = factors[i - start]
            total *= factor
            above[i] = total
            total += weights[i]
            inside = inside * factor + weights[i]
        carried = inside + across * carried


@loop
def states_of_moments(steps, rate, weights, below, above):
    """Write the weighted moments of the distances to all values before and after."""
    n, n_moments = steps.size, below.shape[0]
    n_chunks = (n + CHUNK - 1) // CHUNK
    for direction in range(2):
        out = below if direction == 0 else above
        carried = np.zeros(n_moments)
        for c in range(n_chunks):
            chunk = c if direction == 0 else n_chunks - 1 - c
            start, stop = chunk * CHUNK, min((chunk + 1) * CHUNK, n)
            total, inside = carried.copy(), np.zeros(n_moments)
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
                for q in range(n_moments):
                    out[q, i] = total[q]
                total[0] += weights[i]
                inside[0] += weights[i]
            _shift(carried, min(span, FAR))
            carried += inside


@loop
def run_exponentials(points, bounds, ends, lower, upper, rate, out):
    """Write the sums of exp(-rate * distance) at points, from the states of values.

    The points of a run lie between the same two values, the `ends` of the run.
    """
    for run in range(ends.shape[1]):
        below, above = ends[0, run], ends[1, run]
        weight_below, weight_above = lower[run], upper[run]
        start, stop = bounds[run], bounds[run + 1]
        across = rate * (above - below)
        if across < 1.0:
            # The second exponential is a quotient, which takes less time.
            weight_above *= exponential(-across)
            for i in range(start, stop):
                factor = exponential(-rate * (points[i] - below))
                out[i] = weight_below * factor + weight_above / factor
        else:
            for i in range(start, stop):
                from_below = weight_below * exponential(-rate * (points[i] - below))
                from_above = weight_above * exponential(-rate * (above - points[i]))
                out[i] = from_below + from_above


@loop
def run_polynomials(points, bounds, ends, lower, upper, rate, out):
    """Write sums like `run_exponentials`, of polynomials times exponentials."""
    n_moments = lower.shape[0]
    for run in range(ends.shape[1]):
        for i in range(bounds[run], bounds[run + 1]):
            s = min(rate * (points[i] - ends[0, run]), FAR)
            t = min(rate * (ends[1, run] - points[i]), FAR)
            of_lower = of_upper = 0.0
            for q in range(n_moments - 1, -1, -1):
                of_lower = of_lower * s + lower[q, run]
                of_upper = of_upper * t + upper[q, run]
            out[i] = of_lower * exponential(-s) + of_upper * exponential(-t)


@loop
def group_sums_below(values, groups, rate, combine, sums):
    """Sum a kernel by group over all pairs (i, j) of a sorted column with j < i.

    `combine` holds the weights of the moments in the kernel.
    """
    n, n_groups, n_moments = values.size, sums.shape[0], combine.size
    before = np.zeros((n_groups, n_moments))
    carried = np.zeros((n_moments, n_groups))
    share = np.empty(n_moments)
    for start in range(0, n, LEAF):
        stop = min(start + LEAF, n)
        gap = (
            0.0 if start == 0 else min(rate * (values[start] - values[start - 1]), FAR)
        )
        for g in range(n_groups):
            _shift(before[g], gap)
            for q in range(n_moments):
                carried[q, g] = before[g, q]
        for i in range(start, stop):
            t = min(rate * (values[i] - values[start]), FAR)
            # Weights of the moments of all values before the block.
            for r in range(n_moments):
                share[r], term = 0.0, exponential(-t)
                for a in range(n_moments - r):
                    share[r] += combine[a + r] * term
                    term *= t / (a + 1)
            out = sums[groups[i]]
            for r in range(n_moments):
                for g in range(n_groups):
                    out[g] += share[r] * carried[r, g]
            for j in range(start, i):
                t = min(rate * (values[i] - values[j]), FAR)
                term = exponential(-t)
                value = 0.0
                for q in range(n_moments):
                    value += combine[q] * term
                    term *= t / (q + 1)
                out[groups[j]] += value
        span = min(rate * (values[stop - 1] - values[start]), FAR)
        for g in range(n_groups):
            _shift(before[g], span)
        for i in range(start, stop):
            t = min(rate * (values[stop - 1] - values[i]), FAR)
            term = exponential(-t)
            for q in range(n_moments):
                before[groups[i], q] += term
                term *= t / (q + 1)
