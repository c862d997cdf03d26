"""Statistics of second-order cores over a design, with their scales and noise."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._data.checks import RandomStateLike, warn_user
from skdiscrepancy._gram.run import QUIET, Run
from skdiscrepancy._gram.walks import RowSums, design_moments, walk
from skdiscrepancy._statistics.noise import (
    LEAST_ROWS,
    Noise,
    noise_rows,
    one_sample_noise,
)
from skdiscrepancy.designs import Cross, Design
from skdiscrepancy.pooling import normalize_statistics

# A number below this many units of the working precision, relative to the terms of its
# sum, is a rounding error of zero.
ROUNDING = 100


@dataclass(frozen=True, eq=False)
class Statistics:
    """The statistics of a collection of kernels, with everything that pooling needs.

    `nu` is the parameter of fuse for these data. `sizes`, the magnitude of the terms of
    each sum, and `dtype`, one for all kernels or one for each, determine how large a
    rounding error can be. `errors` are standard errors from random features, if any.
    """

    values: np.ndarray
    scales: np.ndarray
    nu: float
    sizes: np.ndarray
    dtype: np.dtype | list[np.dtype]
    errors: np.ndarray | None = None

    @property
    def rounding(self) -> np.ndarray:
        """Size of a rounding error for each kernel."""
        dtypes = self.dtype if isinstance(self.dtype, list) else [self.dtype]
        return ROUNDING * np.array([np.finfo(d).eps for d in dtypes]) * self.sizes

    def check_finite(self) -> None:
        """Refuse numbers that are not finite."""
        check_finite(self.values)
        check_finite(self.scales)
        check_finite(self.sizes)


def check_finite(values: np.ndarray) -> np.ndarray:
    """Return the statistics unchanged if all of them are finite."""
    if not np.all(np.isfinite(values)):
        raise ValueError(
            "The statistic is not finite, because distances, gradients or bandwidths "
            "are too large or too small for floating point. Rescale the data, or "
            "choose a `bandwidth` similar to the distances between rows."
        )
    return values


def second_order_statistics(
    design: Design,
    n: int,
    reducer: RowSums,
    *,
    random_state: RandomStateLike = None,
    run: Run = QUIET,
) -> Statistics:
    """Compute the statistics of a second-order core over a design on n samples."""
    moments = design_moments(design, n, reducer, random_state=random_state, run=run)
    nu = float(n) if design.complete else moments.weight / n
    with np.errstate(all="ignore"):
        scales, sizes = moments.scale, reducer.sizes(n)
    return Statistics(moments.mean, scales, nu, sizes, reducer.dtype)


class Normal(NamedTuple):
    """Standard error and degrees of freedom of a normal statistic."""

    error: float
    n_degrees: int


def second_order_noise(
    design: Design,
    n: int,
    reducer: RowSums,
    values: np.ndarray,
    scales: np.ndarray,
    *,
    normalize: bool,
    run: Run = QUIET,
) -> Noise | Normal | str:
    """Estimate the noise of the mean of second-order statistics, or say why not."""
    if n < LEAST_ROWS:
        return too_few_rows(n)
    if design.complete:
        rows = noise_rows(n, reducer.n_sums)
        matrices = reducer.matrices(rows, rows)
        return one_sample_noise(matrices, n, values, scales, normalize=normalize)
    if not isinstance(design, Cross):
        return (
            f"design == {design!r}, must be 'u', 'v' or 'x' for a standard error. "
            "Other designs use each row in too few pairs to estimate it."
        )
    if normalize:
        return (
            "normalize == True, must be False for the standard error of design == "
            f"{design!r}."
        )
    [region] = design.regions(n)
    [(rows, cols)] = walk([region], reducer.with_sums(), run=run)
    some = [
        start + noise_rows(stop - start, n_samples=2)
        for start, stop in (region[:2], region[2:4])
    ]
    return cross_noise(rows, cols, reducer.matrices(*some))


def cross_noise(
    rows: np.ndarray, cols: np.ndarray, matrices: Iterable[tuple[int, np.ndarray]]
) -> Normal:
    """Estimate the noise of the mean of second-order statistics on a rectangle.

    Parameters
    ----------
    rows : ndarray of shape (n_kernels, n_rows)
        Sums of the core over each row.
    cols : ndarray of shape (n_kernels, n_cols)
        Sums of the core over each column.
    matrices : iterable of (int, ndarray)
        The core of each kernel on some rows and columns.

    Returns
    -------
    normal : Normal
        The standard error. Its square is the variance of the row means over n_rows plus
        the variance of the column means over n_cols. Both hold the variance of the
        core, which counts once.
    """
    n_rows, n_cols = rows.shape[1], cols.shape[1]
    of_rows = np.var(rows.mean(axis=0) / n_cols, ddof=n_rows > 1) / n_rows
    of_cols = np.var(cols.mean(axis=0) / n_rows, ddof=n_cols > 1) / n_cols
    H: Any = sum(values.astype(np.float64) for _, values in matrices) / len(rows)
    H = H - H.mean(axis=0) - H.mean(axis=1, keepdims=True) + H.mean()
    both = np.mean(np.square(H)) / (n_rows * n_cols)
    variance = max(of_rows + of_cols - both, of_rows, of_cols)
    return Normal(float(np.sqrt(variance)), max(min(n_rows, n_cols) - 1, 1))


def too_few_rows(n: int) -> str:
    """Say that a standard error needs more rows."""
    return f"n_samples == {n}, must be >= {LEAST_ROWS} for a standard error."


def one_statistic(statistics: Statistics, *, normalize: bool) -> float:
    """Return the statistic of a single kernel, normalised or not."""
    statistics.check_finite()
    values = statistics.values
    if normalize:
        values = normalize_statistics(
            values, statistics.scales, rounding=statistics.rounding
        )
    return float(values[0])


def warn_unused(n_unused: int, n_rows: int, why: str) -> None:
    """Warn about the number of rows that a design does not use."""
    warn_user(f"{n_unused} of {n_rows} rows are not used: {why}")


def warn_left_out(design: Design, n: int, where: str = "") -> None:
    """Say how many of n rows a design has in no pair."""
    n_unused = design.n_unused(n)
    if n_unused:
        warn_user(
            f"{n_unused} of {n} rows are not used{where}: the design {design!r} has no "
            "pair for the last."
        )
