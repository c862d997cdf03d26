"""Calls of other packages that compute the same number as ours.

Every import is inside its function: a package that is not installed is skipped. What a
package lets its user do once, such as wrapping an array, is done outside of the timing.
"""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np


def hyppo_hsic(X, Y, n_jobs):
    """Compute hyppo's Hsic statistic, with its own median bandwidth, that of X.

    It is the unbiased HSIC(X, Y) over the root of HSIC(X, X) HSIC(Y, Y).
    """
    from hyppo.independence import Hsic

    return Hsic(workers=n_jobs).statistic(X, Y)


def openturns_parts(X, Y, bandwidths, statistic):
    """Wrap samples and Gaussian kernels for OpenTURNS; `statistic` is "U" or "V"."""
    import openturns as ot

    samples = [ot.Sample(Z) for Z in (X, Y)]
    # exp(-d^2 / (2 scale^2)), of amplitude one.
    models = [ot.SquaredExponential([b / np.sqrt(2)], [1.0]) for b in bandwidths]
    return samples, models, getattr(ot, f"HSIC{statistic}Stat")()


def openturns_hsic(samples, models, statistic):
    """Compute one HSIC from two discretised covariance models, and nothing else."""
    import openturns as ot

    K, L = (model.discretize(Z) for model, Z in zip(models, samples, strict=True))
    return statistic.computeHSICIndex(K, L, ot.Point(len(samples[0]), 1.0))


def openturns_sensitivity(samples, models, statistic):
    """Compute HSIC by the estimator for sensitivity analysis, as documented.

    It also computes HSIC(X, X) and HSIC(Y, Y), for its R2 indices.
    """
    import openturns as ot

    estimator = ot.HSICEstimatorGlobalSensitivity(models, *samples, statistic)
    return estimator.getHSICIndices()[0]


def dcor_energy(X, Y):
    """Compute the unbiased energy distance."""
    import dcor

    return float(dcor.energy_distance(X, Y, estimation_stat="u_statistic"))


def scipy_energy(x, y):
    """Return scipy's energy distance of two columns, squared."""
    from scipy.stats import energy_distance

    return float(energy_distance(x, y)) ** 2


def dcor_covariance(X, Y):
    """Compute the unbiased squared distance covariance."""
    import dcor

    return float(dcor.u_distance_covariance_sqr(X, Y))


def dcor_column_covariance(x, y):
    """Compute the squared distance covariance of two columns, in O(n log n)."""
    import dcor

    return float(dcor.distance_covariance_sqr(x, y))


def eummd_mmd(x, y, bandwidth):
    """Compute the unbiased squared MMD of a Laplace kernel, in O(n log n)."""
    import eummd

    return float(eummd.eummd(x, y, beta=1 / bandwidth, pval=False)["stat"])


def goodpoints_mmd(X, Y, bandwidth):
    """Compute the unbiased squared MMD of a Gaussian kernel, in compiled loops."""
    from goodpoints import gaussianc

    return gaussianc.unbiased_sqMMD_gaussian(X, Y, bandwidth**2)


def goodpoints_block_mmd(X, Y, bandwidth, block_size):
    """Compute the block estimator of squared MMD and its variance over blocks."""
    from goodpoints import gaussianc

    mean_and_variance = np.empty(2)
    gaussianc.block_sqMMD_gaussian(X, Y, bandwidth**2, block_size, mean_and_variance)
    return float(mean_and_variance[0])


def hsic_lasso(X, y):
    """Compute the normalised HSIC of each column of X with y, as the HSIC Lasso does.

    One block of all rows, which is the lasso without its block approximation; the
    package computes in float32.
    """
    from pyHSICLasso.hsic_lasso import hsic_lasso as kernels_and_products

    _, products, _ = kernels_and_products(
        X.T, y[np.newaxis], "Gaussian", n_jobs=1, B=len(X), M=1
    )
    return products.sum(dtype=float)


def hsic_lasso_features(X, y, n_features, block_size):
    """Select columns by the HSIC Lasso, in blocks permuted three times.

    A block size of zero is the lasso without blocks. The package prints as it goes.
    """
    from pyHSICLasso import HSICLasso

    lasso = HSICLasso()
    lasso.input(X, y)
    lasso.regression(n_features, B=block_size, M=3, n_jobs=1)
    return lasso.get_index()


def stein_thinning_ksd(X, gradients, bandwidth):
    """Compute the KSD of all rows with an IMQ kernel: a V-statistic, its root taken."""
    from stein_thinning.stein import ksd

    return float(ksd(_stein_thinning_kernel(X, gradients, bandwidth), len(X))[-1])


def stein_thinning_matrix(X, gradients, bandwidth):
    """Compute the unbiased squared KSD from the matrix of the Stein kernel."""
    from stein_thinning.stein import kmat

    H = kmat(_stein_thinning_kernel(X, gradients, bandwidth), len(X))
    return (H.sum() - np.trace(H)) / (len(H) * (len(H) - 1))


def _stein_thinning_kernel(X, gradients, bandwidth):
    from stein_thinning.kernel import make_imq

    # A number as text is the squared bandwidth.
    kernel = make_imq(X, repr(float(bandwidth**2)))

    def values(rows, cols):
        return kernel(X[rows], X[cols], gradients[rows], gradients[cols])

    return values
