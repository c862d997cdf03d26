"""Scores of single kernels against packages that compute the same number."""

# SPDX-License-Identifier: BSD-3-Clause

from math import sqrt

import numpy as np
import peers
from case import (
    OURS,
    Case,
    Contender,
    as_columns,
    dependent,
    misfit,
    pairs_of_one,
    pairs_of_two,
    two_samples,
)

from skdiscrepancy import hsic_score, ksd_score, mmd_score
from skdiscrepancy.bandwidths import median_bandwidth
from skdiscrepancy.designs import Blocks

# The textbook statistic of one kernel.
TEXTBOOK = {"normalize": False, "pooling": None}
BLOCK_ROWS = 100


def hyppo_bandwidths(X):
    """Return hyppo's bandwidth in our notation, for X and for y: the median of X."""
    bandwidth = sqrt(2) * median_bandwidth(X)
    return {"bandwidth": bandwidth, "target_bandwidth": bandwidth}


def gaussian_hsic(X, y, n_jobs=1, **params):
    """Compute HSIC of one Gaussian kernel on X and one on y."""
    return hsic_score(
        X,
        y,
        kernel="gaussian",
        target_kernel="gaussian",
        n_jobs=n_jobs,
        **TEXTBOOK,
        **params,
    )


def hsic_with_median(samples, n_jobs):
    """Compute the median bandwidth of X, then one HSIC."""
    X, y = samples
    return gaussian_hsic(X, y, n_jobs, **hyppo_bandwidths(X))


def hsic_correlation(samples, n_jobs):
    """Compute the median bandwidth of X, then the three HSIC that hyppo computes."""
    X, y = as_columns(*samples)
    bandwidths = hyppo_bandwidths(X)
    xy, xx, yy = (
        gaussian_hsic(A, B, n_jobs, **bandwidths) for A, B in ((X, y), (X, X), (y, y))
    )
    return xy / sqrt(xx * yy)


HYPPO = Contender(
    "hyppo",
    lambda samples, n_jobs: peers.hyppo_hsic(*samples, n_jobs),
    prepare=lambda samples: as_columns(*samples),
    module="hyppo",
)


def given_bandwidths(design):
    """Return a run of one HSIC with the bandwidths that follow the samples."""

    def run(parts, n_jobs):
        X, y, (bandwidth, target_bandwidth) = parts
        return gaussian_hsic(
            X,
            y,
            n_jobs,
            bandwidth=bandwidth,
            target_bandwidth=target_bandwidth,
            design=design,
        )

    return run


def with_medians(samples):
    """Add the median bandwidth of each sample."""
    samples = as_columns(*samples)
    return (*samples, [median_bandwidth(Z) for Z in samples])


def openturns_case(statistic, contenders):
    """Return the case of a U- or V-statistic of OpenTURNS, which takes one column."""
    return Case(
        f"hsic-openturns-{statistic.lower()}",
        f"HSIC, one Gaussian kernel, d = 1, {statistic}-statistic",
        lambda n: dependent(n, 1),
        (
            Contender(OURS, given_bandwidths(statistic.lower()), prepare=with_medians),
            *(
                Contender(
                    name,
                    lambda parts, n_jobs, call=call: call(*parts),
                    prepare=lambda samples: peers.openturns_parts(
                        *with_medians(samples), statistic
                    ),
                    module="openturns",
                    faster_by=target,
                )
                for name, call, target in contenders
            ),
        ),
        sizes=(2000,),
        quick_sizes=(1000,),
        pairs=pairs_of_one,
        kind="peer",
    )


# A kernel exp(-d / l) becomes 1 - d / l when l is large, and MMD and HSIC become energy
# distance and distance covariance over l and l^2. This l leaves six digits of each.
LARGE = 1e6


def energy_mmd(samples, n_jobs):
    """Compute the energy distance as the limit of an MMD."""
    return LARGE * mmd_score(
        *samples, kernel="matern12", bandwidth=LARGE, n_jobs=n_jobs, **TEXTBOOK
    )


def distance_hsic(samples, n_jobs):
    """Compute the squared distance covariance as the limit of an HSIC."""
    return LARGE**2 * hsic_score(
        *samples,
        kernel="matern12",
        target_kernel="matern12",
        bandwidth=LARGE,
        target_bandwidth=LARGE,
        n_jobs=n_jobs,
        **TEXTBOOK,
    )


def lasso_products(samples, n_jobs):
    """Compute the normalised HSIC of each column of X with y, and add them up."""
    X, y = as_columns(*samples)

    def hsic(A, B):
        # The lasso divides each column by its standard deviation.
        return gaussian_hsic(
            A,
            B,
            n_jobs,
            design="v",
            bandwidth=sqrt(2) * A.std(),
            target_bandwidth=sqrt(2) * B.std(),
        )

    own = hsic(y, y)
    columns = [X[:, [k]] for k in range(X.shape[1])]
    return sum(hsic(x, y) / sqrt(hsic(x, x) * own) for x in columns)


def with_pooled_median(samples):
    """Add the median bandwidth of the pooled sample."""
    return (*samples, median_bandwidth(np.concatenate(samples)))


def gaussian_mmd(parts, n_jobs, **params):
    """Compute MMD of one Gaussian kernel with a given bandwidth."""
    X, Y, bandwidth = parts
    return mmd_score(
        X,
        Y,
        kernel="gaussian",
        bandwidth=bandwidth,
        n_jobs=n_jobs,
        **TEXTBOOK,
        **params,
    )


def with_median(sample):
    """Add the median bandwidth."""
    return (*sample, median_bandwidth(sample[0]))


def imq_ksd(parts, n_jobs, **params):
    """Compute KSD of one IMQ kernel with a given bandwidth."""
    X, gradients, bandwidth = parts
    return ksd_score(
        X,
        gradients,
        kernel="imq",
        bandwidth=bandwidth,
        n_jobs=n_jobs,
        **TEXTBOOK,
        **params,
    )


CASES = (
    Case(
        "hsic-hyppo",
        "HSIC, one Gaussian kernel with median, d = 5",
        lambda n: dependent(n, 5),
        (
            Contender(
                OURS,
                hsic_with_median,
                # hyppo's number has a denominator, which we do not compute here.
                value=lambda samples, _: hsic_correlation(samples, 1),
            ),
            Contender("hyppo", HYPPO.run, HYPPO.prepare, module="hyppo", faster_by=5),
        ),
        sizes=(2000,),
        quick_sizes=(1000,),
        pairs=pairs_of_one,
        kind="peer",
    ),
    Case(
        "hsic-hyppo-normalised",
        "HSIC(X, y) / root of HSIC(X, X) HSIC(y, y), d = 5",
        lambda n: dependent(n, 5),
        (Contender(OURS, hsic_correlation), HYPPO),
        sizes=(2000,),
        quick_sizes=(1000,),
        pairs=pairs_of_one,
        kind="peer",
    ),
    openturns_case("U", [("openturns", peers.openturns_hsic, 3)]),
    openturns_case(
        "V",
        [
            ("openturns", peers.openturns_hsic, 3),
            ("openturns, with R2 indices", peers.openturns_sensitivity, None),
        ],
    ),
    Case(
        "hsic-pyhsiclasso",
        "HSIC of 5 columns with y, normalised, V-statistic",
        lambda n: dependent(n, 5),
        (
            Contender(OURS, lasso_products),
            Contender(
                "pyHSICLasso",
                lambda samples, n_jobs: peers.hsic_lasso(*samples),
                module="pyHSICLasso",
            ),
        ),
        sizes=(2000,),
        quick_sizes=(1000,),
        pairs=pairs_of_one,
        kind="peer",
        # The package works in float32.
        tolerance=1e-4,
    ),
    Case(
        "mmd-goodpoints",
        "MMD, one Gaussian kernel, d = 10",
        lambda n: two_samples(n, 10),
        (
            Contender(OURS, gaussian_mmd, prepare=with_pooled_median),
            Contender(
                "goodpoints",
                lambda parts, n_jobs: peers.goodpoints_mmd(*parts),
                prepare=with_pooled_median,
                module="goodpoints",
                threaded=False,
            ),
        ),
        sizes=(2000,),
        quick_sizes=(1000,),
        pairs=pairs_of_two,
        kind="peer",
    ),
    Case(
        "mmd-blocks-goodpoints",
        "MMD, one Gaussian kernel, d = 5, blocks of 100 rows",
        lambda n: two_samples(n, 5),
        (
            Contender(
                OURS,
                lambda parts, n_jobs: gaussian_mmd(
                    parts, n_jobs, design=Blocks(n_blocks=len(parts[0]) // BLOCK_ROWS)
                ),
                prepare=with_pooled_median,
            ),
            Contender(
                "goodpoints",
                lambda parts, n_jobs: peers.goodpoints_block_mmd(*parts, BLOCK_ROWS),
                prepare=with_pooled_median,
                module="goodpoints",
                threaded=False,
            ),
        ),
        sizes=(1_000_000,),
        quick_sizes=(20_000,),
        pairs=lambda n: n * (BLOCK_ROWS - 1) // 2,
        kind="peer",
    ),
    Case(
        "mmd-dcor",
        "energy distance, d = 10",
        lambda n: two_samples(n, 10),
        (
            Contender(OURS, energy_mmd),
            Contender(
                "dcor",
                lambda samples, n_jobs: peers.dcor_energy(*samples),
                module="dcor",
                threaded=False,
            ),
        ),
        sizes=(2000,),
        quick_sizes=(1000,),
        pairs=pairs_of_two,
        kind="peer",
        tolerance=1e-4,
    ),
    Case(
        "hsic-dcor",
        "distance covariance, d = 5",
        lambda n: dependent(n, 5),
        (
            Contender(OURS, distance_hsic),
            Contender(
                "dcor",
                lambda samples, n_jobs: peers.dcor_covariance(*samples),
                module="dcor",
                threaded=False,
            ),
        ),
        sizes=(2000,),
        quick_sizes=(1000,),
        pairs=pairs_of_one,
        kind="peer",
        tolerance=1e-4,
    ),
    Case(
        "ksd-stein-thinning-v",
        "KSD, one IMQ kernel, d = 10, root of the V-statistic",
        lambda n: misfit(n, 10),
        (
            Contender(
                OURS,
                lambda parts, n_jobs: imq_ksd(parts, n_jobs, design="v", squared=False),
                prepare=with_median,
            ),
            Contender(
                "stein-thinning, ksd",
                lambda parts, n_jobs: peers.stein_thinning_ksd(*parts),
                prepare=with_median,
                module="stein_thinning",
                threaded=False,
            ),
        ),
        sizes=(2000,),
        quick_sizes=(1000,),
        pairs=pairs_of_one,
        kind="peer",
    ),
    Case(
        "ksd-stein-thinning-u",
        "KSD, one IMQ kernel, d = 10, U-statistic",
        lambda n: misfit(n, 10),
        (
            Contender(OURS, imq_ksd, prepare=with_median),
            Contender(
                "stein-thinning, kmat",
                lambda parts, n_jobs: peers.stein_thinning_matrix(*parts),
                prepare=with_median,
                module="stein_thinning",
                threaded=False,
            ),
        ),
        sizes=(2000,),
        quick_sizes=(1000,),
        pairs=pairs_of_one,
        kind="peer",
    ),
)
