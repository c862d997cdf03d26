"""Statistics of the Stein kernel, from a matrix or with weights of rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data.checks import RandomStateLike, check_flag
from skdiscrepancy._data.targets import effective_size, other_weights
from skdiscrepancy._gram.run import QUIET, Run
from skdiscrepancy._gram.sources import GramSource, Source
from skdiscrepancy._gram.walks import Moments, RowSums, walk
from skdiscrepancy._statistics.second_order import (
    Statistics,
    check_finite,
    one_statistic,
    second_order_statistics,
    warn_left_out,
)
from skdiscrepancy.designs import Design, Region, check_design, square
from skdiscrepancy.kernels._labels import check_gram


def stein_statistics(
    source: Source,
    n: int,
    design: Design,
    weights: np.ndarray | None = None,
    *,
    random_state: RandomStateLike = None,
    run: Run = QUIET,
) -> Statistics:
    """Compute the statistics of a core on n rows, which may have weights."""
    if weights is not None:
        return weighted_statistics(source, weights, unbiased=not design.biased, run=run)
    core = RowSums(source, moments=True)
    return second_order_statistics(design, n, core, random_state=random_state, run=run)


def weight_masses(
    weights: np.ndarray, *, unbiased: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights that sum to one, and the weight of all pairs of each row."""
    w = weights / weights.sum()
    return w, w * other_weights(w) if unbiased else w


def weighted_statistics(
    source: Source, weights: np.ndarray, *, unbiased: bool, run: Run = QUIET
) -> Statistics:
    """Compute the complete statistics of a core for rows with weights.

    For weights that sum to one, the V-statistic is sum w_i w_j h_ij. The U-statistic
    leaves out the terms with i = j and divides by 1 - sum w_i^2.

    Parameters
    ----------
    source : Source
        The core.
    weights : ndarray of shape (n_samples,)
        Positive weights.
    unbiased : bool
        U-statistic or V-statistic.
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    statistics : Statistics
        Statistics, whose `nu` is the effective number of rows, 1 / sum w_i^2.
    """
    n = len(weights)
    w, masses = weight_masses(weights, unbiased=unbiased)
    region = square(0, n, diagonal=not unbiased)
    [(sums, _)] = walk([region], RowSums(source, weights=w), run=run)
    with np.errstate(all="ignore"):
        # Statistics that are not finite are refused.
        moments = Moments.of_row_sums(sums * w, masses)
        scales = moments.scale
        sizes = source.sizes(n).mean(axis=1)
    nu = effective_size(w, n)
    return Statistics(moments.mean, scales, nu, sizes, source.dtype)


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
    source = GramSource(check_gram(H, "H"))
    warn_left_out(design, len(source.K))
    statistics = second_order_statistics(
        design, len(source.K), RowSums(source, moments=True), random_state=random_state
    )
    return one_statistic(statistics, normalize=normalize)


def witness_values(
    source: Source, n_points: int, n: int, *, run: Run = QUIET
) -> np.ndarray:
    """Compute the Stein witness function at points, for the mean of several kernels.

    g(t) = mean_i h(t, x_i), in O(n_points n) time.

    Parameters
    ----------
    source : Source
        The core on the stacked points and rows of the sample.
    n_points : int
        Number of points.
    n : int
        Number of rows of the sample.
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    values : ndarray of shape (n_points,)
        Values of g.
    """
    region = Region(0, n_points, n_points, n_points + n)
    [(sums, _)] = walk([region], RowSums(source), run=run)
    return check_finite(sums.mean(axis=0) / n)
