"""The noise of statistics, from the matrices of their cores on some rows.

Sums over all pairs are needed of a bounded number of rows only: above it, variances are
estimated from some of the rows. Scales from all rows then correct the variances.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from skdiscrepancy._base._uncertainty import Noise

# Rows from which the noise is estimated, and fewer rows for more than so many kernels.
MOST_ROWS = 1000
MANY_KERNELS = 40
# The jackknife leaves out a row and needs variances of the others.
LEAST_ROWS = 4
# Why random features have no standard error.
NO_WEIGHTED_ERRORS = "sample_weight must be None for a standard error."
NO_FEATURE_ERRORS = (
    "n_components must be None for a standard error. Random features have errors of "
    "their own, which `feature_errors` estimates."
)
# Scales of some rows below this fraction of the scale of all rows are rounding errors.
ROUNDING = 1e-9
# The choice of rows adds no randomness to a standard error.
SEED = 0


def noise_factor(linear: float, squares: float) -> float:
    """Return the factor by which noise inflates a scale.

    Parameters
    ----------
    linear : float
        The sum of the squares of the projections, of which the scale is a multiple.
    squares : float
        The noise in this sum.

    Returns
    -------
    factor : float
        From 1 to 2. Near the null hypothesis, the scale is little more than noise.
    """
    if linear <= 0:
        return 1.0
    return float(1 / np.sqrt(max(1 - squares / linear, 0.25)))


def noise_rows(
    n: int, n_kernels: int = 1, n_samples: int = 1, most: int = MOST_ROWS
) -> np.ndarray:
    """Return the rows from which the noise is estimated, all if they are few."""
    if n_samples == 2 or n_kernels > MANY_KERNELS:
        most = most // 2
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.RandomState(SEED).choice(n, most, replace=False))


def one_sample_noise(
    matrices: Iterable[tuple[Any, ...]],
    n: int,
    values: np.ndarray,
    scales: np.ndarray,
    *,
    normalize: bool,
) -> Noise:
    """Estimate the noise of the mean over kernels of one-sample statistics.

    Parameters
    ----------
    matrices : iterable of (int, ndarray of shape (n_some, n_some), ...)
        The core of each kernel on some rows, with the diagonal. A core that depends on
        estimated centres also has the changes of the variance of its row means, if each
        row is left out of the centres.
    n : int
        Number of all rows.
    values, scales : ndarray of shape (n_kernels,)
        Statistics and their scales sigma_k, from all rows.
    normalize : bool
        Whether each statistic is divided by its scale.

    Returns
    -------
    noise : Noise
        Noise of the mean.
    """
    weights = _weights(scales, normalize=normalize)
    total, bias, spread = None, 0.0, 0.0
    left_out: Any = 0.0
    for k, matrix, *changes in matrices:
        H = matrix.astype(np.float64)
        some = len(H)
        size = 1 / np.sqrt(some * n)
        total = weights[k] * H if total is None else total + weights[k] * H
        if normalize and scales[k] > 0:
            squares = _off_diagonal_squares(doubly_centred(H)) * size**4
            factor = noise_factor(scales[k] ** 2 / (4 * n), squares)
            bias += (1 - factor) * weights[k] * values[k]
        np.fill_diagonal(H, 0)
        scale = 2 * float(np.std(H.sum(axis=1) / (some - 1)))
        spread += weights[k] * scale
        if normalize and scale > ROUNDING * scales[k] > 0:
            ratios = jackknife(H, values[k] / scales[k], *changes)
            left_out = left_out + ratios * (factor / len(scales))
    assert total is not None
    rows = (total.sum(axis=1) - np.diag(total)) / (some - 1)
    projections = _rescaled(
        (rows - rows.mean()) * size, spread, weights @ scales, 2 * np.sqrt(n)
    )
    ratio = _jackknife_variance(left_out, n) if normalize else 0.0
    G = doubly_centred(total) * size**2
    return noise_of(projections, G, ratio, bias, normalize=normalize)


def two_sample_noise(
    matrices: Iterable[tuple[int, np.ndarray]],
    n_first: int,
    m: int,
    n: int,
    values: np.ndarray,
    scales: np.ndarray,
    *,
    normalize: bool,
) -> Noise:
    """Estimate the noise of the mean over kernels of two-sample statistics.

    Parameters
    ----------
    matrices : iterable of (int, ndarray of shape (n_some, n_some))
        The Gram matrix of each kernel on some rows of both samples, stacked.
    n_first : int
        Number of these rows that are of the first sample.
    m, n : int
        Numbers of all rows of both samples.
    values, scales : ndarray of shape (n_kernels,)
        Statistics and their scales sigma_k, from all rows.
    normalize : bool
        Whether each statistic is divided by its scale.

    Returns
    -------
    noise : Noise
        Noise of the mean.
    """
    weights = _weights(scales, normalize=normalize)
    total, bias, spread = None, 0.0, 0.0
    left_out: list[Any] = [0.0, 0.0]
    parts = 2 * n / (m + n), 2 * m / (m + n)
    for k, matrix in matrices:
        K = matrix.astype(np.float64)
        if total is None:
            total = np.zeros_like(K)
            counts = n_first, len(K) - n_first
            sizes = np.repeat(
                (1 / np.sqrt(counts[0] * m), -1 / np.sqrt(counts[1] * n)), counts
            )
        total += weights[k] * K
        if normalize and scales[k] > 0:
            G = _centred_by_sample(K, n_first) * np.outer(sizes, sizes)
            linear = scales[k] ** 2 * (m + n) / (8 * m * n)
            factor = noise_factor(linear, _off_diagonal_squares(G))
            bias += (1 - factor) * weights[k] * values[k]
        np.fill_diagonal(K, 0)
        x, y = TwoSampleRows.of_both(K, n_first)
        scale = x.scale(y, parts)
        spread += weights[k] * scale
        if normalize and scale > ROUNDING * scales[k] > 0:
            share, ratio = factor / len(scales), values[k] / scales[k]
            left_out[0] = left_out[0] + x.jackknife(y, parts, ratio) * share
            left_out[1] = left_out[1] + y.jackknife(x, parts[::-1], ratio) * share
    assert total is not None
    if normalize and len(scales) == 1 and scales[0] > 0:
        G *= weights[0]
    else:
        G = _centred_by_sample(total, n_first) * np.outer(sizes, sizes)
    np.fill_diagonal(total, 0)
    both = TwoSampleRows.of_both(total, n_first)
    differences = np.concatenate([s.values - s.values.mean() for s in both])
    size = np.sqrt(8 * m * n / (m + n))
    projections = _rescaled(np.abs(sizes) * differences, spread, weights @ scales, size)
    ratio = 0.0
    if normalize:
        ratio = sum(map(_jackknife_variance, left_out, (m, n)))
    return noise_of(projections, G, ratio, bias, normalize=normalize)


def noise_of(
    projections: np.ndarray,
    G: np.ndarray,
    ratio: float = 0.0,
    ratio_bias: float = 0.0,
    *,
    normalize: bool = False,
) -> Noise:
    """Compute the moments of the noise from its linear and quadratic form.

    The diagonal of G is the bias of a V-statistic. A U-statistic leaves it out. The
    interval of a normalised statistic does not need the third and fourth moment, which
    take the time of a product of matrices.
    """
    bias = float(np.trace(G))
    cubes = largest = 0.0
    if normalize:
        squares = _off_diagonal_squares(G)
    else:
        G = G - np.diag(np.diag(G))
        square = G @ G
        squares = float(np.trace(square))
        cubes = float(np.vdot(square, G))
        largest = float(np.sqrt(np.linalg.norm(square)))
    return Noise(
        linear=float(projections @ projections),
        squares=squares,
        cubes=cubes,
        largest=largest,
        bias=bias,
        ratio=ratio,
        ratio_bias=ratio_bias,
    )


def doubly_centred(H: np.ndarray) -> np.ndarray:
    """Subtract the means of rows and columns from a symmetric matrix."""
    means = H.mean(axis=1)
    return H - means[:, np.newaxis] - means + means.mean()


def _centred_by_sample(K: np.ndarray, n_first: int) -> np.ndarray:
    """Subtract the mean of its sample from each row and each column."""
    centred = K.copy()
    for side in (slice(0, n_first), slice(n_first, None)):
        centred[side] -= centred[side].mean(axis=0)
        centred[:, side] -= centred[:, side].mean(axis=1, keepdims=True)
    return centred


def _off_diagonal_squares(G: np.ndarray) -> float:
    return float(np.vdot(G, G) - np.vdot(np.diag(G), np.diag(G)))


def _jackknife_variance(left_out: np.ndarray | float, n: int) -> float:
    """Return the variance for n rows, from values without each of some rows."""
    some = np.size(left_out)
    return (some - 1) * float(np.var(left_out)) * some / n


def _weights(scales: np.ndarray, *, normalize: bool) -> np.ndarray:
    """Return the factor of each statistic in their mean."""
    ones = np.ones(len(scales))
    if normalize:
        ones = np.divide(ones, scales, out=np.zeros_like(ones), where=scales > 0)
    return ones / len(scales)


def _rescaled(
    projections: np.ndarray, estimate: float, scale: float, size: float
) -> np.ndarray:
    """Return projections of some rows, multiplied so that their scale is from all rows.

    If some rows do not differ, although others do, only the sum of squares is known.
    """
    if estimate > ROUNDING * scale:
        return projections * (scale / estimate)
    return np.array([scale / size])


def jackknife(
    H: np.ndarray, ratio: float, changes: np.ndarray | float = 0.0
) -> np.ndarray:
    """Return the normalised one-sample statistic without each of the rows.

    Parameters
    ----------
    H : ndarray of shape (n, n)
        Symmetric core with a diagonal of zeros.
    ratio : float
        Normalised statistic of all rows, also of rows that are not in H.
    changes : ndarray of shape (n,) or float, default=0.0
        Further changes of the variance of the row means without each of the rows.

    Returns
    -------
    values : ndarray of shape (n,)
        U-statistic over twice the standard deviation of its row means, without row i,
        to the first order and up to a constant.
    """
    n, sums = len(H), H.sum(axis=1)
    statistics = (sums.sum() - 2 * sums) / ((n - 1) * (n - 2))
    squares = sums @ sums - sums**2 - 2 * (H @ sums) + np.square(H).sum(axis=1)
    variances = squares / ((n - 1) * (n - 2) ** 2) - statistics**2
    return _ratios(statistics, variances + changes, ratio)


class TwoSampleRows:
    """The rows of one of two samples, and their sums.

    Parameters
    ----------
    within : ndarray of shape (m, m)
        Gram matrix of the sample, with a diagonal of zeros.
    across : ndarray of shape (m, n)
        Kernel values between this sample and the other sample.
    """

    def __init__(self, within: np.ndarray, across: np.ndarray):
        self.within, self.across = within, across
        self.m, self.n = across.shape
        self.own = within.sum(axis=1) / (self.m - 1)
        self.others = across.mean(axis=1)
        # Differences of row means, whose mean over both samples is the statistic.
        self.values = self.own - self.others

    @classmethod
    def of_both(cls, K: np.ndarray, m: int) -> tuple[TwoSampleRows, TwoSampleRows]:
        """Return both samples of a Gram matrix with a diagonal of zeros."""
        return cls(K[:m, :m], K[:m, m:]), cls(K[m:, m:], K[m:, :m])

    def scale(self, other: TwoSampleRows, parts: tuple[float, float]) -> float:
        """Return sigma_k. The variances of both samples are weighted by `parts`."""
        variance = parts[0] * np.var(self.values) + parts[1] * np.var(other.values)
        return 2 * float(np.sqrt(variance))

    def jackknife(
        self, other: TwoSampleRows, parts: tuple[float, float], ratio: float
    ) -> np.ndarray:
        """Return the normalised statistic without each of the rows of this sample."""
        m, n, K, L = self.m, self.n, self.within, self.across
        # Without row i, the values of this sample are u_j - K_ij / (m - 2), ...
        u = self.values + self.own / (m - 2)
        sums = u.sum() - u - K.sum(axis=1) / (m - 2)
        squares = u @ u - u**2 - 2 * (K @ u) / (m - 2)
        squares += np.square(K).sum(axis=1) / (m - 2) ** 2
        means = sums / (m - 1)
        variances = parts[0] * (squares / (m - 1) - means**2)
        # ... and the values of the other sample are q_j + L_ij / (m - 1).
        q = other.values - other.others / (m - 1)
        other_means = (q.sum() + L.sum(axis=1) / (m - 1)) / n
        squares = q @ q + 2 * (L @ q) / (m - 1)
        squares += np.square(L).sum(axis=1) / (m - 1) ** 2
        variances += parts[1] * (squares / n - other_means**2)
        return _ratios(means + other_means, variances, ratio)


def _ratios(statistics: np.ndarray, variances: np.ndarray, ratio: float) -> np.ndarray:
    """Return statistics over scales, to the first order and up to a constant.

    The ratios themselves would be erratic near the null hypothesis. There, some of the
    rows have scales that are much noisier than the scale of all rows.
    """
    scales = 2 * np.sqrt(np.maximum(variances, 0))
    scale = scales.mean() or 1.0
    return (statistics - ratio * scales) / scale
