"""Statistics of the Stein kernel, from a matrix or with weights of rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._base import (
    check_finite,
    check_gram,
    one_statistic,
    second_order_statistics,
    warn_left_out,
)
from skdiscrepancy._data import RandomStateLike, check_flag
from skdiscrepancy._engine import GramSource, RowSums, Source, walk
from skdiscrepancy.designs import Design, Region, check_design


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
    source: Source, n_points: int, n: int, **walk_options: Any
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
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    values : ndarray of shape (n_points,)
        Values of g.
    """
    region = Region(0, n_points, n_points, n_points + n)
    [(sums, _)] = walk([region], RowSums(source), **walk_options)
    return check_finite(sums.mean(axis=0) / n)
