"""Rows in order: whether they depend on each other, and the length of blocks."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.stats import norm, rankdata

from skdiscrepancy._data.arrays import encode_labels
from skdiscrepancy._data.checks import shown, warn_user
from skdiscrepancy.kernels._base import IndicatorKernel, PrecomputedKernel

# A test needs this many blocks of each sample. "auto" leaves at least twice as many.
MIN_BLOCKS = 4
MIN_AUTO_BLOCKS = 8
# "auto" takes this multiple of the rule. The rule balances bias and variance of an
# estimated variance, but the type I error suffers more from the bias, which longer
# blocks reduce.
SAFETY = 1.5
# "auto" looks at this many columns. Wider data are projected on principal components.
MAX_COLUMNS = 10
# Autocorrelations below NEGLIGIBLE * sqrt(log10(n) / n) count as zero.
NEGLIGIBLE = 2.0


def rows_of_blocks(
    block_length: int | str, n_rows: int, *samples: np.ndarray | None
) -> int:
    """Return the number of rows of a block, for samples of `n_rows` rows or more.

    A sample has at least `MIN_BLOCKS` blocks. The samples are series in the order of
    their rows, for "auto", and None if the rows are not numbers.
    """
    most = n_rows // MIN_BLOCKS
    if most < 1:
        raise ValueError(
            f"n_samples == {n_rows}, must be >= {MIN_BLOCKS} for a test with "
            f"block_length == {block_length!r}."
        )
    if block_length != "auto":
        if int(block_length) > most:
            raise ValueError(
                f"block_length == {block_length}, must be from 1 to {most}, because at "
                f"least {MIN_BLOCKS} blocks are needed, and a sample has {n_rows} rows."
            )
        return int(block_length)
    known = [sample for sample in samples if sample is not None]
    if len(known) < len(samples):
        raise ValueError(
            "block_length == 'auto', must be an integer or None, because the rows are "
            "labels, a sparse matrix, positions in a Gram matrix or read by blocks. "
            "The automatic length needs columns of numbers in memory."
        )
    series = [own for sample in known for own in scalar_series(sample)]
    wanted = max(map(automatic_length, series), default=1.0)
    length, most = int(np.ceil(SAFETY * wanted)), max(1, n_rows // MIN_AUTO_BLOCKS)
    if wanted > most:
        warn_user(
            f"The rows depend on each other over so long a time that "
            f"block_length='auto' needs blocks of {length} rows, and a sample has "
            f"only {n_rows} rows. This call uses blocks of {most} rows, and may reject "
            "a true null hypothesis, or raise a false alarm, too often. Pass more "
            "rows, or remove a trend."
        )
    return min(length, most)


def scalar_series(sample: np.ndarray) -> np.ndarray:
    """Return the series that the automatic length looks at, one in each row.

    They are the columns and their squared deviations from the mean, because kernels
    see changes of location and of scale. Data of more than `MAX_COLUMNS` columns are
    first projected on as many leading principal components.
    """
    columns = np.asarray(sample, dtype=np.float64)
    # Sums and squares of large numbers overflow.
    columns = columns / (np.abs(columns).max(initial=0.0) or 1.0)
    columns = columns - columns.mean(axis=0)
    columns /= np.abs(columns).max(initial=0.0) or 1.0
    if columns.shape[1] > MAX_COLUMNS:
        small = columns.shape[1] <= len(columns)
        gram = columns.T @ columns if small else columns @ columns.T
        vectors = np.linalg.eigh(gram)[1][:, -MAX_COLUMNS:]
        columns = columns @ vectors if small else vectors
    return np.concatenate((columns.T, np.square(columns.T)))


def automatic_length(series: np.ndarray) -> float:
    """Return the length of blocks by the rule of Politis and White.

    It minimises the mean squared error of the variance of a mean that the circular
    block bootstrap estimates [1]_, with the corrected constants of [2]_. Moments of the
    spectral density come from autocovariances with a flat-top window, which ends where
    the autocorrelations become negligible. It takes O(n log n). The length is 1 or
    more, and 1 for a constant series.

    References
    ----------
    .. [1] D. N. Politis and H. White, "Automatic block-length selection for the
       dependent bootstrap", Econometric Reviews 23, 2004.
    .. [2] A. Patton, D. N. Politis and H. White, "Correction to 'Automatic block-length
       selection for the dependent bootstrap'", Econometric Reviews 28, 2009.
    """
    n = len(series)
    n_quiet = max(5, int(np.ceil(np.sqrt(np.log10(n)))))
    longest = min(int(np.ceil(np.sqrt(n))) + n_quiet, n - 1)
    most = np.ceil(min(3 * np.sqrt(n), n / 3))
    series = series - series.mean()
    size = np.abs(series).max()
    if n < 3 or not size > 0:
        return 1.0
    n_lags = min(longest + n_quiet, n - 1)
    padded = next_fast_len(n + n_lags, real=True)
    spectrum = np.square(np.abs(rfft(series / size, padded)))
    R = irfft(spectrum, padded)[: n_lags + 1] / n
    loud = np.abs(R[1:] / R[0]) >= NEGLIGIBLE * np.sqrt(np.log10(n) / n)
    # The first lag after which several autocorrelations in a row are negligible.
    quiet = (k for k in range(longest) if not loud[k : k + n_quiet].any())
    last = next(quiet, int(np.flatnonzero(loud).max(initial=-1)) + 1)
    width = min(2 * max(last, 1), longest)
    lags = np.arange(1, width + 1)
    window = np.minimum(1.0, 2 * (1 - lags / width))
    # Sums over all lags from -width to width.
    density = R[0] + 2 * window @ R[lags]
    slope = 2 * (window * lags) @ R[lags]
    if not density > 0:
        # The window can make an estimated density negative.
        return float(most)
    length = np.cbrt(1.5 * n * (slope / density) ** 2)
    return float(np.clip(length, 1.0, max(most, 1.0)))


# Probability that a test warns of rows in random order, about.
FALSE_ALARMS = 1e-6
# Rows that are looked at, at most: dependence that matters shows in them.
MAX_ROWS = 2000
# Columns that are looked at, at most, at equal distances.
MAX_LOOKED_AT = 64
# Columns whose corrections for few or skew scores are larger are not looked at.
MAX_CORRECTION = 2.0
# Labels become columns of zeros and ones, for this many frequent labels at most.
MAX_LABELS = 10
# Values of a side of an HSIC test that has at most this many are classes.
MAX_CLASSES = 20
# A series also depends within stretches of about this many rows. Groups do not.
STRETCH = 10
# Probability that rows that are independent within groups look like a series, about.
FALSE_SERIES = 0.01
# Standard deviation of a standard normal number that is clipped to [-1, 1].
CLIPPED_DEVIATION = 0.7184


def columns_of(rows: Any, kernels: list[Any], *, all_rows: bool) -> np.ndarray | None:
    """Return columns of numbers that describe the order of validated rows.

    They are the rows, or zeros and ones for the frequent labels. None for a sparse
    matrix, for rows that are read by blocks, and for positions in a Gram matrix. A
    check looks at the first rows only, and needs not `all_rows`.
    """
    types = {type(kernel) for kernel in kernels}
    if not isinstance(rows, np.ndarray) or PrecomputedKernel in types:
        return None
    rows = rows if all_rows else rows[:MAX_ROWS]
    if rows.dtype.kind == "f" and types != {IndicatorKernel}:
        return rows
    codes = encode_labels(rows)
    counts = np.bincount(codes)
    frequent = np.argsort(-counts, kind="stable")[:MAX_LABELS]
    return np.equal.outer(codes, frequent).astype(np.float64)


# Changes of each column that are removed before the order of its rows is judged.
MAX_STEPS = 3


def without_changes(columns: np.ndarray, least: int) -> np.ndarray:
    """Return columns without their largest changes of mean, and then of scale.

    Rows that change look as if they depended on their neighbours. Each step lowers the
    sum of squares most, with at least `least` rows on both sides.
    """
    if len(columns) < 2 * least:
        return columns
    columns = np.asarray(columns, dtype=np.float64)
    columns = columns / (
        np.abs(columns).max(axis=0, initial=0.0) + (columns == 0).all(0)
    )
    columns = columns - _steps(columns, least)
    scales = np.sqrt(np.maximum(_steps(np.square(columns), least), 0))
    return columns / np.where(scales > 0, scales, 1)


def _steps(columns: np.ndarray, least: int) -> np.ndarray:
    """Return piecewise constant columns that are near to these columns."""
    n = len(columns)
    left, rows = columns - columns.mean(axis=0), np.arange(n)[:, np.newaxis]
    sizes = rows[least : n - least + 1]
    for _ in range(MAX_STEPS):
        sums = np.cumsum(left, axis=0)[least - 1 : n - least]
        best = np.argmax(np.square(sums) / (sizes * (n - sizes)), axis=0)
        m, total = best + least, np.take_along_axis(sums, best[np.newaxis], axis=0)[0]
        left = left - np.where(rows < m, total / m, -total / (n - m))
    return columns - left


# Remedies for tests that know clusters.
REMEDIES = (
    "pass block_length='auto'. If some rows belong together, such as all rows of one "
    "subject, pass `clusters` to mmd_test, hsic_test, k_sample_test or a column test"
)


def warn_if_dependent(
    *samples: np.ndarray | None,
    names: Sequence[Any] = (),
    both: bool = False,
    n_left: int | None = None,
    because: str = "block_length == None treats rows as independent. The p-value may "
    "be much too small",
    remedy: str = "pass block_length='auto'",
    silence: str = "shuffle them or pass block_length=1",
) -> None:
    """Warn if the rows of a sample, in the given order, clearly depend on each other.

    A sample that is None is not looked at. With `both`, the samples are variables of a
    test of independence, which is valid if the rows of all variables but one are in
    random order. So only pairs of variables are warned of, one of the first `n_left`
    with one of the others, or all pairs if it is None. Labels that are sorted put the
    rows of other variables in order too, so the rows of a variable are looked at within
    each class of the other one.
    """
    known = {i: sample for i, sample in enumerate(samples) if sample is not None}
    rate = FALSE_ALARMS / max(len(known), 1)
    known = {i: sample for i, sample in known.items() if in_order(sample, rate)}
    found = list(known)
    if both:
        found = [
            k
            for (i, x), (j, y) in combinations(known.items(), 2)
            if (n_left is None or i < n_left <= j)
            and in_order(x, rate, classes_of(y))
            and in_order(y, rate, classes_of(x))
            for k in (i, j)
        ]
    if not found:
        return
    titles = list(dict.fromkeys(names[i] if names else "a sample" for i in found))
    of = ", and the rows of ".join(map(str, titles)) + "," * (len(titles) > 1)
    of = of if len(titles) < 3 else shown(titles)
    warn_user(
        f"The rows of {of} clearly depend on each other in the given order, but "
        f"{because}. If the rows are a series, such as measurements in the order of "
        f"time, {remedy}. If they are independent and merely sorted or grouped, "
        f"{silence} to avoid this warning."
    )


def classes_of(sample: np.ndarray) -> np.ndarray | None:
    """Return the class of each row, None if there are many different rows."""
    sample = sample[:MAX_ROWS]
    if any(len(np.unique(column)) > MAX_CLASSES for column in sample.T):
        return None
    values, classes = np.unique(sample, axis=0, return_inverse=True)
    return classes.ravel() if len(values) <= MAX_CLASSES else None


def in_order(
    sample: np.ndarray, false_alarms: float, classes: np.ndarray | None = None
) -> bool:
    """Tell whether the rows of a sample clearly depend on their predecessors.

    The statistic of a column is the sum of c_t c_(t + 1) over neighbouring rows, with
    the centred ranks c. For rows in random order, the mean is -sum c_t^2 / n, and the
    statistic is nearly normal for many rows. The threshold is a normal quantile, with
    the terms of Cornish and Fisher for skewness and kurtosis, divided by the number of
    columns (Bonferroni). Columns whose corrections are large, such as rare labels, are
    not looked at. Nor are columns in equal steps, which are positions and not a sample,
    and sorted columns. With `classes`, ranks and neighbours are taken within each
    class. A column must also depend on its predecessors within short stretches of rows,
    because rows that come group by group, as from a mixture, are not a series. Rows in
    random order are dependent with the probability `false_alarms`.
    """
    step = -(-sample.shape[1] // MAX_LOOKED_AT)
    sample = sample[:MAX_ROWS, :: max(step, 1)]
    n, n_columns = sample.shape
    if n < 3 or not n_columns:
        return False
    classes = np.zeros(n) if classes is None else classes
    order = np.argsort(classes, kind="stable")
    sample, same = sample[order], np.diff(classes[order]) == 0
    with np.errstate(all="ignore"):
        steps = np.diff(sample, axis=0)
        looked_at = np.ptp(steps, axis=0) > 1e-9 * np.abs(steps).max(axis=0)
        looked_at &= (steps[same] < 0).any(axis=0) & (steps[same] > 0).any(axis=0)
    if not looked_at.any():
        return False
    pieces = np.split(sample[:, looked_at], np.flatnonzero(~same) + 1)
    scores = [rankdata(part, axis=0) - (len(part) + 1) / 2 for part in pieces]
    c = np.concatenate(scores)
    squares, n_pairs = np.square(c).mean(axis=0), same.sum()
    expected = -sum(np.square(part).mean(axis=0) for part in scores) / squares
    c /= np.sqrt(squares)
    z = ((c[1:] * c[:-1])[same].sum(axis=0) - expected) / np.sqrt(n_pairs)
    # Cumulants of the sum for independent scores of mean 0 and variance 1.
    third, fourth = (c**3).mean(axis=0), (c**4).mean(axis=0)
    skewness = third**2 / np.sqrt(n_pairs)
    kurtosis = (fourth**2 - 3 + 6 * (fourth - 1)) / n_pairs
    limit = norm.isf(false_alarms / n_columns)
    correction = skewness * (limit**2 - 1) / 6
    correction += np.maximum(kurtosis, 0) * (limit**3 - 3 * limit) / 24
    clear = (correction < MAX_CORRECTION) & (z > limit + correction)
    if not clear.any():
        return False
    share = min(false_alarms / FALSE_ALARMS, 1.0)
    limit = norm.isf(FALSE_SERIES * share / n_columns)
    return bool((_within_stretches([part[:, clear] for part in pieces]) > limit).any())


def _within_stretches(pieces: list[np.ndarray]) -> np.ndarray:
    """Return how clearly rows depend on their predecessors in short stretches of rows.

    The statistic of a stretch is its lag-one autocorrelation of ranks, minus the mean
    and divided by the standard deviation for rows in random order. Statistics are
    clipped to [-1, 1], so that the few stretches in which a group ends and another one
    begins do not matter. For rows in random order, their scaled sums are nearly normal.
    """
    total, n_stretches = np.zeros((2, pieces[0].shape[1]))
    for piece in pieces:
        for rows in np.array_split(piece, max(len(piece) // STRETCH, 1)):
            n = len(rows)
            if n < STRETCH // 2:
                continue
            c = rankdata(rows, axis=0) - (n + 1) / 2
            squares = np.square(c).sum(axis=0)
            varies = squares > 0
            r = (c[1:] * c[:-1]).sum(axis=0) / np.where(varies, squares, 1)
            z = (r + 1 / n) * n * np.sqrt(n - 1) / (n - 2)
            total += np.where(varies, np.clip(z, -1, 1), 0)
            n_stretches += varies
    return total / (CLIPPED_DEVIATION * np.sqrt(np.maximum(n_stretches, 1)))
