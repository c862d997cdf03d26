"""Baselines by hand: what is written today with ``sklearn.metrics.pairwise``.

One full Gram matrix for each kernel, as most scripts and papers do it. Bandwidths are
given, so that their computation is in our time and not in that of these functions.
"""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
from scipy.special import logsumexp
from sklearn.metrics.pairwise import (
    euclidean_distances,
    laplacian_kernel,
    manhattan_distances,
    rbf_kernel,
)

from skdiscrepancy.bandwidths import bandwidth_grid


def gaussian_and_laplace(X):
    """Return the 20 default kernels of MMD and HSIC as (function, gamma)."""
    gaussian = [(rbf_kernel, 1 / b**2) for b in bandwidth_grid(X, p=2)]
    laplace = [(laplacian_kernel, 1 / b) for b in bandwidth_grid(X, p=1)]
    return gaussian + laplace


def gaussian_and_imq(X):
    """Return the 20 default kernels of KSD as (Stein matrix, bandwidth)."""
    bandwidths = bandwidth_grid(X, p=2)
    return [(stein, b) for stein in (gaussian_stein, imq_stein) for b in bandwidths]


def fuse(statistics, nu):
    """Pool normalised statistics into a relaxed maximum."""
    statistics = np.asarray(statistics)
    return (logsumexp(nu * statistics) - np.log(len(statistics))) / nu


def mmd(X, Y, kernels):
    """Compute the normalised and fused unbiased MMD, one full matrix a kernel."""
    m, Z = len(X), np.concatenate((X, Y))
    grams = (kernel(Z, gamma=gamma) for kernel, gamma in kernels)
    return _fused_mmd(m, len(Y), ((K[:m, :m], K[m:, m:], K[:m, m:]) for K in grams))


def mmd_by_blocks(X, Y, kernels):
    """Compute the same as :func:`mmd` from three smaller matrices for each kernel."""
    grams = (
        (kernel(X, gamma=gamma), kernel(Y, gamma=gamma), kernel(X, Y, gamma=gamma))
        for kernel, gamma in kernels
    )
    return _fused_mmd(len(X), len(Y), grams)


def mmd_from_shared_distances(X, Y, kernels):
    """Compute the same as :func:`mmd`, with distances taken once for each norm."""
    blocks = ((X, X), (Y, Y), (X, Y))
    distances = {
        rbf_kernel: [euclidean_distances(A, B, squared=True) for A, B in blocks],
        laplacian_kernel: [manhattan_distances(A, B) for A, B in blocks],
    }
    grams = (
        [np.exp(-gamma * D) for D in distances[kernel]] for kernel, gamma in kernels
    )
    return _fused_mmd(len(X), len(Y), grams)


def _fused_mmd(m, n, grams):
    harmonic = 2 * m * n / (m + n)
    normalized = []
    for K_xx, K_yy, K_xy in grams:
        np.fill_diagonal(K_xx, 0)
        np.fill_diagonal(K_yy, 0)
        a = K_xx.sum(axis=1) / (m - 1) - K_xy.mean(axis=1)
        b = K_yy.sum(axis=1) / (n - 1) - K_xy.mean(axis=0)
        sigma = np.sqrt(4 * harmonic * (a.var() / m + b.var() / n))
        normalized.append((a.mean() + b.mean()) / sigma)
    return fuse(normalized, harmonic)


def permuted_mmd(X, Y, kernels, n_resamples=999):
    """Compute a p-value by permutations, a product with every full Gram matrix.

    The statistic is the largest unbiased MMD of a kernel over the deviation that it has
    among the permutations.
    """
    m, n, Z = len(X), len(Y), np.concatenate((X, Y))
    rng = np.random.RandomState(0)
    in_x = np.zeros((1 + n_resamples, m + n))
    in_x[0, :m] = 1
    for row in in_x[1:]:
        row[rng.permutation(m + n)[:m]] = 1
    largest = np.full(1 + n_resamples, -np.inf)
    for kernel, gamma in kernels:
        K = kernel(Z, gamma=gamma)
        np.fill_diagonal(K, 0)
        of_rows = in_x @ K
        within = np.einsum("bi,bi->b", of_rows, in_x)
        across = of_rows.sum(axis=1) - within
        within_y = K.sum() - within - 2 * across
        values = within / (m * (m - 1)) + within_y / (n * (n - 1))
        values -= 2 * across / (m * n)
        largest = np.maximum(largest, values / values.std())
    return np.mean(largest >= largest[0])


def gram_matrices(samples, kernels):
    """Compute the Gram matrices of each sample, one after the other, and drop them."""
    for Z, kernels_of_sample in zip(samples, kernels, strict=True):
        for kernel, gamma in kernels_of_sample:
            kernel(Z, gamma=gamma)


def unbiased_hsic(K, L):
    """Compute the unbiased HSIC of Song et al. (2012), Equation 5."""
    n = len(K)
    np.fill_diagonal(K, 0)
    np.fill_diagonal(L, 0)
    k, ell = K.sum(axis=1), L.sum(axis=1)
    total = np.sum(K * L) + k.sum() * ell.sum() / ((n - 1) * (n - 2))
    return (total - 2 * (k @ ell) / (n - 2)) / (n * (n - 3))


def ksd(X, gradients, kernels):
    """Compute the normalised and fused unbiased KSD, one matrix for each kernel."""
    n = len(X)
    normalized = []
    for stein, bandwidth in kernels:
        H = stein(X, gradients, bandwidth)
        np.fill_diagonal(H, 0)
        means = H.sum(axis=1) / (n - 1)
        normalized.append(means.mean() / (2 * means.std()))
    return fuse(normalized, n)


def gaussian_stein(X, gradients, bandwidth):
    """Compute the Stein kernel of exp(-d^2 / bandwidth^2)."""
    squared, inner, cross = _stein_parts(X, gradients)
    gamma = 1 / bandwidth**2
    K = np.exp(-gamma * squared)
    return K * (inner + 2 * gamma * (cross + X.shape[1] - 2 * gamma * squared))


def imq_stein(X, gradients, bandwidth):
    """Compute the Stein kernel of (1 + d^2 / bandwidth^2)^(-1/2)."""
    squared, inner, cross = _stein_parts(X, gradients)
    gamma = 1 / bandwidth**2
    Q = 1 + gamma * squared
    parts = inner + gamma * ((cross + X.shape[1]) / Q - 3 * gamma * squared / Q**2)
    return parts / np.sqrt(Q)


def _stein_parts(X, gradients):
    """Return d(x, y)^2, s(x).s(y) and (s(x) - s(y)).(x - y) for all pairs of rows."""
    own = np.sum(gradients * X, axis=1)
    mixed = gradients @ X.T
    cross = own[:, np.newaxis] + own - mixed - mixed.T
    return euclidean_distances(X, squared=True), gradients @ gradients.T, cross
