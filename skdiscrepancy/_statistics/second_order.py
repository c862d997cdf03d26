"""Statistics of one-sample cores, over a design or with weights, and their noise."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data.arrays import effective_size, other_weights
from skdiscrepancy._data.checks import RandomStateLike, check_flag, warn_user
from skdiscrepancy._gram.kernel_gram import KernelGram, gram
from skdiscrepancy._gram.tiles import Gram, Moments
from skdiscrepancy._statistics.noise import LEAST_ROWS, Noise, noise_rows, sample_noise
from skdiscrepancy.designs import Cross, Design, Region, check_design
from skdiscrepancy.kernels._base import PrecomputedKernel, check_gram
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


def over_design(
    core: Gram, design: Design, random_state: RandomStateLike = None
) -> Statistics:
    """Compute the statistics of a second-order core over a design."""
    moments = core.moments(design, random_state)
    nu = float(core.n) if design.complete else moments.weight / core.n
    with np.errstate(all="ignore"):
        scales, sizes = moments.scale, core.magnitudes().mean(axis=1)
    return Statistics(moments.mean, scales, nu, sizes, core.dtype)


def weight_masses(
    weights: np.ndarray, *, unbiased: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights that sum to one, and the weight of all pairs of each row."""
    w = weights / weights.sum()
    return w, w * other_weights(w) if unbiased else w


def one_sample(core: Gram, weights: np.ndarray, *, unbiased: bool) -> Statistics:
    """Compute the complete statistics of a core for rows with weights.

    The V-statistic is the sum of w_i w_j h_ij, and the U-statistic leaves out i = j and
    divides by the sum of the weights of the other pairs.
    """
    w, masses = weight_masses(weights, unbiased=unbiased)
    sums = core.sums(w, diagonal=not unbiased)
    with np.errstate(all="ignore"):
        # Statistics that are not finite are refused.
        moments = Moments.of_row_sums(sums * w, masses)
        scales, sizes = moments.scale, core.magnitudes().mean(axis=1)
    nu = effective_size(w)
    return Statistics(moments.mean, scales, nu, sizes, core.dtype)


def matrix_gram(K: np.ndarray, m: int | None = None) -> KernelGram:
    """Return the Gram of a matrix that is known, m rows in the first sample."""
    rows = np.arange(len(K), dtype=K.dtype)[:, np.newaxis]
    samples = [rows] if m is None else [rows[:m], rows[m:]]
    return gram([PrecomputedKernel(K)], *samples)


class Normal(NamedTuple):
    """Standard error and degrees of freedom of a normal statistic."""

    error: float
    n_degrees: int


def design_noise(
    core: Gram,
    design: Design,
    statistics: Statistics,
    weights: np.ndarray | None = None,
    *,
    normalize: bool,
) -> Noise | Normal | str:
    """Estimate the noise of the mean of second-order statistics, or say why not.

    Complete designs may have weights of the rows.
    """
    n = core.n
    if n < LEAST_ROWS:
        return too_few_rows(n)
    if design.complete:
        measures = [np.ones(n) if weights is None else weights]
        return sample_noise(core, measures, statistics, normalize=normalize)
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
    [(of_rows, of_cols)] = core.walk([region])
    some = [
        start + noise_rows(stop - start, n_samples=2)
        for start, stop in (region[:2], region[2:4])
    ]
    return cross_noise(of_rows, of_cols, core.dense(*some))


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


def ksd_from_gram(
    H: ArrayLike,
    *,
    design: str | Design = "u",
    normalize: bool = True,
    random_state: RandomStateLike = None,
) -> float:
    """Compute the squared kernel Stein discrepancy from a matrix of the Stein kernel.

    Use this function if you have a matrix of the Stein kernel already. The statistics
    come from [1]_, the designs and the scale from [2]_.

    Read more in the :ref:`User Guide <ksd>`.

    Parameters
    ----------
    H : array-like of shape (n_samples, n_samples)
        Values of the Stein kernel for all pairs of rows.
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design, default="u"
        Pairs of rows that enter the statistic. "u" and "v" use all pairs, the others
        fewer, which takes less time. See :mod:`skdiscrepancy.designs`.
    normalize : bool, default=True
        Divide the statistic by its scale sigma_k.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the pairs that ``design="r"`` draws. None draws new ones in every call.
        The global generator of numpy is never used.

    Returns
    -------
    score : float
        The discrepancy. A larger score means a worse fit.

    See Also
    --------
    ksd_score : Computes KSD from a sample and a model.
    KSDEstimator : Scores several samples with the same model and kernels.

    References
    ----------
    .. [1] Q. Liu, J. Lee and M. Jordan, "A kernelized Stein discrepancy for
       goodness-of-fit tests", ICML 2016.
    .. [2] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> from skdiscrepancy import ksd_from_gram
    >>> ksd_from_gram([[5.0, 1.0], [1.0, 5.0]], design="u", normalize=False)
    1.0
    """
    design = check_design(design)
    check_flag(normalize, "normalize")
    core = matrix_gram(check_gram(H, "H"))
    warn_left_out(design, core.n)
    return one_statistic(over_design(core, design, random_state), normalize=normalize)


def stein_witness(core: Gram, n_points: int) -> np.ndarray:
    """Compute the Stein witness function g(t) = mean_i h(t, x_i), mean over kernels.

    The core is on the stacked points t and rows x of the sample.
    """
    n = core.n - n_points
    [(sums, _)] = core.walk([Region(0, n_points, n_points, core.n)])
    return check_finite(sums.mean(axis=0) / n)
