"""Length scales and noise of a Gaussian process, by marginal likelihood.

The targets are the columns of F. Target j has the covariance s_j (K + t_j I), where K
is a Gaussian kernel with one length scale for each column of Z, which all targets
share. The variance s_j and the noise ratio t_j belong to the target. The best s_j has a
closed form. One eigendecomposition K = U diag(e) U' gives the likelihood of all
targets, and its gradient.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

# Bounds of the logarithms of length scales, for columns of unit standard deviation,
# and of noise ratios.
SCALE_BOUNDS = (-3.0, 5.0)
RATIO_BOUNDS = (-7.0, 7.0)
# Noise ratio at the start.
FIRST_RATIO = 0.3
# Length scales of a column that is tried alone, and the logarithm of the others.
FIRST_SCALES = (0.15, 0.4, 1.2)
FAR = 3.0
# Columns are tried alone if there are no more than this.
MAX_TRIED = 100
# Starts are compared on at most this many rows.
TRIAL_ROWS = 200
MAX_STEPS = 60
# Fraction of the sum of squares of a target that counts as zero, so that a target
# without noise has a likelihood.
VANISHED = 1e-12


def gaussian_covariance(A: np.ndarray, B: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return exp(-|a - b|^2 / 2) of rows whose columns are divided by their scales."""
    return np.exp(-cdist(A / scales, B / scales, "sqeuclidean") / 2)


def eigenpairs(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues, none of them negative, and the eigenvectors."""
    values, vectors = np.linalg.eigh(K)
    return np.maximum(values, 0), vectors


def negative_log_likelihood(
    parameters: np.ndarray, Z: np.ndarray, F: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the negative log marginal likelihood of a row, and its gradient.

    Constants are left out. Cost O(n^3) time and O(n^2) memory.

    Parameters
    ----------
    parameters : ndarray of shape (n_columns + n_targets,)
        Logarithms of the length scales and of the noise ratios.
    Z : ndarray of shape (n_samples, n_columns)
        Columns.
    F : ndarray of shape (n_samples, n_targets)
        Targets, each with a mean of zero.

    Returns
    -------
    value : float
        Negative log-likelihood, divided by the number of rows.
    gradient : ndarray of shape (n_columns + n_targets,)
        Its derivatives.
    """
    n, p = Z.shape
    scales, ratios = np.exp(parameters[:p]), np.exp(parameters[p:])
    K = gaussian_covariance(Z, Z, scales)
    values, vectors = eigenpairs(K)
    projected = vectors.T @ F
    value, inverse, variances = _profile(values, np.square(projected), ratios, n)
    solved = vectors @ (projected * inverse)
    # The derivative of the likelihood by the entries of K.
    weights = (vectors * inverse.sum(axis=1)) @ vectors.T
    weights -= (solved / variances) @ solved.T
    weights *= K
    # d K_ij / d log scale = K_ij (z_i - z_j)^2 / scale^2, summed without an array of
    # all differences.
    centred = Z / scales
    sums = np.square(centred).T @ weights.sum(axis=1)
    by_scale = sums - np.einsum("ic,ij,jc->c", centred, weights, centred, optimize=True)
    fit = (np.square(projected) * np.square(inverse)).sum(axis=0) / variances
    by_ratio = 0.5 * ratios * (inverse.sum(axis=0) - fit)
    return value / n, np.concatenate((by_scale, by_ratio)) / n


def _profile(
    values: np.ndarray,
    squares: np.ndarray,
    ratios: np.ndarray,
    n: int,
    rest: np.ndarray | float = 0.0,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the likelihood with the best variances, (e + t)^-1, and the variances.

    `rest` are the sums of squares outside the span of the eigenvectors, where the
    eigenvalues are zero.
    """
    inverse = 1 / (values[:, np.newaxis] + ratios)
    n_rest = n - len(values)
    variances = ((squares * inverse).sum(axis=0) + rest / ratios) / n
    totals = squares.sum(axis=0) + rest
    variances = np.maximum(variances, VANISHED * totals / n + np.finfo(float).tiny)
    value = 0.5 * (n * np.log(variances) - np.log(inverse).sum(axis=0))
    value += 0.5 * n_rest * np.log(ratios)
    return float(value.sum()), inverse, variances


def choose_parameters(Z: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Choose length scales and noise ratios by marginal likelihood.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_columns)
        Columns of unit standard deviation.
    F : ndarray of shape (n_samples, n_targets)
        Targets with a mean of zero and a standard deviation that is not zero.

    Returns
    -------
    scales : ndarray of shape (n_columns,)
        One length scale for each column. A long one means that the column has no
        effect.
    ratios : ndarray of shape (n_targets,)
        Variance of the noise of each target, relative to the variance of its function.
    """
    p, m = Z.shape[1], F.shape[1]
    best = minimize(
        negative_log_likelihood,
        _start(Z, F),
        args=(Z, F),
        jac=True,
        method="L-BFGS-B",
        bounds=[SCALE_BOUNDS] * p + [RATIO_BOUNDS] * m,
        options={"maxiter": MAX_STEPS},
    ).x
    return np.exp(best[:p]), np.exp(best[p:])


def _start(Z: np.ndarray, F: np.ndarray) -> np.ndarray:
    """Return the most likely of several starts.

    A function of one column among many is often lost from a start with equal length
    scales, so each column is also tried alone, unless there are very many.
    """
    p, m = Z.shape[1], F.shape[1]
    trials = [np.full(p, 0.5 * np.log(p))]
    for column in range(p if p <= MAX_TRIED else 0):
        for scale in FIRST_SCALES:
            alone = np.full(p, FAR)
            alone[column] = np.log(scale)
            trials.append(alone)
    ratios = np.full(m, np.log(FIRST_RATIO))
    starts = [np.append(np.clip(trial, *SCALE_BOUNDS), ratios) for trial in trials]
    rows = slice(None, TRIAL_ROWS)
    values = [negative_log_likelihood(s, Z[rows], F[rows])[0] for s in starts]
    return starts[int(np.argmin(values))]


def choose_noise_ratios(
    values: np.ndarray, squares: np.ndarray, rest: np.ndarray, n: int
) -> np.ndarray:
    """Choose the noise ratio of each target, with the length scales known.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Eigenvalues of the covariance. The others are zero.
    squares : ndarray of shape (n_values, n_targets)
        Squares of the products of the eigenvectors with the targets.
    rest : ndarray of shape (n_targets,)
        Sums of squares of the targets outside the span of the eigenvectors.
    n : int
        Number of rows.

    Returns
    -------
    ratios : ndarray of shape (n_targets,)
        Noise ratios.
    """
    n_rest = n - len(values)

    def function(logs: np.ndarray) -> tuple[float, np.ndarray]:
        ratios = np.exp(logs)
        value, inverse, variances = _profile(values, squares, ratios, n, rest)
        fit = (squares * np.square(inverse)).sum(axis=0) + rest / np.square(ratios)
        trace = inverse.sum(axis=0) + n_rest / ratios
        return value / n, 0.5 * ratios * (trace - fit / variances) / n

    best = minimize(
        function,
        np.full(len(rest), np.log(FIRST_RATIO)),
        jac=True,
        method="L-BFGS-B",
        bounds=[RATIO_BOUNDS] * len(rest),
    ).x
    return np.exp(best)
