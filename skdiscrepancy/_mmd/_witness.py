"""Where two samples differ: the witness function, and the contribution of each row."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

from skdiscrepancy._base import check_finite
from skdiscrepancy._engine import RowSums, kernel_source, two_sample_sums, walk
from skdiscrepancy.designs import Region
from skdiscrepancy.kernels import IndicatorKernel, KernelLike


def witness_values(
    kernels: list[KernelLike],
    points: np.ndarray,
    X: np.ndarray,
    Y: np.ndarray,
    **walk_options: Any,
) -> np.ndarray:
    """Compute the witness function at points, for the mean of several kernels.

    f(t) = mean_j k(t, y_j) - mean_i k(t, x_i), in O(n_points (m + n)) time.

    Parameters
    ----------
    kernels : list of kernel objects
        Each with one number as bandwidth.
    points : ndarray of shape (n_points, n_features)
        Points at which to evaluate the function.
    X : ndarray of shape (m, n_features)
        First sample.
    Y : ndarray of shape (n, n_features)
        Second sample.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    values : ndarray of shape (n_points,)
        Values of f.
    """
    refuse_balanced(kernels)
    p, m, n = len(points), len(X), len(Y)
    (to_x, _), (to_y, _) = walk(
        [Region(0, p, p, p + m), Region(0, p, p + m, p + m + n)],
        RowSums(kernel_source(kernels, points, X, Y)),
        **walk_options,
    )
    return check_finite(np.mean(to_y / n - to_x / m, axis=0))


def row_contributions(
    kernels: list[KernelLike], X: np.ndarray, Y: np.ndarray, **walk_options: Any
) -> np.ndarray:
    """Compute the contribution of each row of Y to MMD, for the mean of kernels.

    c_j = mean_j' k(y_j, y_j') - 2 mean_i k(x_i, y_j) + mean_ii' k(x_i, x_i'). The mean
    of all c_j is the V-statistic. Takes O((m + n)^2) time, or O((m + n) log(m + n)) for
    kernels on one column whose sums can be computed in sorted order.

    Parameters
    ----------
    kernels : list of kernel objects
        Each with one number as bandwidth.
    X : ndarray of shape (m, n_features)
        First sample.
    Y : ndarray of shape (n, n_features)
        Second sample.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    contributions : ndarray of shape (n,)
        Values of c.
    """
    m, n = len(X), len(Y)
    parts = two_sample_sums(
        kernel_source(kernels, X, Y),
        m,
        n,
        _contributions,
        diagonal=True,
        keep_order=True,
        **walk_options,
    )
    values = np.zeros(n)
    for part in parts:
        values += part.result
    return check_finite(values / len(kernels))


def _contributions(
    within_x: np.ndarray, within_y: np.ndarray, cross_x: np.ndarray, cross_y: np.ndarray
) -> np.ndarray:
    """Return the contributions of Y from row sums, summed over kernels."""
    m, n = within_x.shape[1], within_y.shape[1]
    level = within_x.mean(axis=1, keepdims=True) / m
    return np.sum(within_y / n - 2 * cross_y / m + level, axis=0)


def refuse_balanced(kernels: list[KernelLike]) -> None:
    for kernel in kernels:
        if isinstance(kernel, IndicatorKernel) and kernel.balanced:
            raise ValueError(
                f"kernel == {kernel!r}, must not be balanced for a witness function, "
                "because its values would change with the number of points."
            )
