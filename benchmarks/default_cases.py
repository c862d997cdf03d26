"""Scores with their defaults, many kernels fused, against scikit-learn by hand."""

# SPDX-License-Identifier: BSD-3-Clause

import by_hand
import numpy as np
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

from skdiscrepancy import HSICEstimator, hsic_score, ksd_score, mmd_score

# Product of kernels that HSIC by hand is compared on: Gaussian x Laplace, mid-grid.
HSIC_PRODUCT = (5, 15)


def default_mmd(samples, n_jobs):
    """Run mmd_score with its defaults."""
    return mmd_score(*samples, n_jobs=n_jobs)


def default_hsic(samples, n_jobs):
    """Run hsic_score with its defaults."""
    return hsic_score(*samples, n_jobs=n_jobs)


def default_ksd(sample, n_jobs):
    """Run ksd_score with its defaults."""
    return ksd_score(*sample, n_jobs=n_jobs)


def in_float32(samples):
    """Round the data to float32."""
    return tuple(Z.astype(np.float32) for Z in samples)


def with_mmd_kernels(samples):
    """Add the kernels, from the pooled sample as in mmd_score."""
    return (*samples, by_hand.gaussian_and_laplace(np.concatenate(samples)))


def with_hsic_kernels(samples):
    """Return both samples as columns and the kernels of each."""
    samples = as_columns(*samples)
    return samples, [by_hand.gaussian_and_laplace(Z) for Z in samples]


def with_ksd_kernels(sample):
    """Add the kernels."""
    return (*sample, by_hand.gaussian_and_imq(sample[0]))


def one_product_of_ours(samples, score):
    """Return the statistic of one of the 400 products of kernels."""
    k, ell = HSIC_PRODUCT
    result = HSICEstimator().fit(*samples).evaluate(*samples)
    return float(result.statistics[20 * k + ell])


def one_product_by_hand(samples, nothing):
    """Return the same statistic by hand."""
    (X, y), kernels = with_hsic_kernels(samples)
    (kernel, gamma), (target_kernel, target_gamma) = (
        kernels_of_sample[k]
        for kernels_of_sample, k in zip(kernels, HSIC_PRODUCT, strict=True)
    )
    return by_hand.unbiased_hsic(
        kernel(X, gamma=gamma), target_kernel(y, gamma=target_gamma)
    )


MMD_BY_HAND = Contender(
    "by hand",
    lambda parts, n_jobs: by_hand.mmd(*parts),
    prepare=with_mmd_kernels,
    faster_by=10,
)
MMD_BY_BLOCKS = Contender(
    "by hand, three blocks",
    lambda parts, n_jobs: by_hand.mmd_by_blocks(*parts),
    prepare=with_mmd_kernels,
)

CASES = (
    Case(
        "mmd",
        "mmd_score, defaults, 20 kernels, d = 10",
        lambda n: two_samples(n, 10),
        (
            Contender(OURS, default_mmd),
            MMD_BY_HAND,
            MMD_BY_BLOCKS,
            Contender(
                "by hand, distances once",
                lambda parts, n_jobs: by_hand.mmd_from_shared_distances(*parts),
                prepare=with_mmd_kernels,
                threaded=False,
            ),
        ),
        sizes=(2000,),
        quick_sizes=(1000,),
        pairs=pairs_of_two,
        max_memory=64,
        two_threads_gain=1.7,
    ),
    Case(
        "mmd-d100",
        "mmd_score, defaults, 20 kernels, d = 100",
        lambda n: two_samples(n, 100),
        (Contender(OURS, default_mmd), MMD_BY_HAND, MMD_BY_BLOCKS),
        sizes=(2000,),
        quick_sizes=(500,),
        pairs=pairs_of_two,
    ),
    Case(
        "mmd-float32",
        "mmd_score, defaults, d = 10, float32",
        lambda n: two_samples(n, 10),
        (
            Contender(
                f"{OURS}, float32",
                default_mmd,
                prepare=in_float32,
                single_precision=True,
            ),
            Contender(f"{OURS}, float64", default_mmd, faster_by=2),
        ),
        sizes=(2000,),
        quick_sizes=(1000,),
        pairs=pairs_of_two,
        tolerance=1e-3,
    ),
    Case(
        "hsic",
        "hsic_score, defaults, 400 products, d = 5",
        lambda n: dependent(n, 5),
        (
            Contender(OURS, default_hsic, value=one_product_of_ours),
            Contender(
                "40 Gram matrices by hand",
                lambda parts, n_jobs: by_hand.gram_matrices(*parts),
                prepare=with_hsic_kernels,
                value=one_product_by_hand,
                faster_by=1,
            ),
        ),
        sizes=(2000,),
        quick_sizes=(1000,),
        pairs=pairs_of_one,
        max_memory=200,
    ),
    Case(
        "ksd",
        "ksd_score, defaults, 20 kernels, d = 10",
        lambda n: misfit(n, 10),
        (
            Contender(OURS, default_ksd),
            Contender(
                "by hand",
                lambda parts, n_jobs: by_hand.ksd(*parts),
                prepare=with_ksd_kernels,
                faster_by=10,
            ),
        ),
        sizes=(2000,),
        quick_sizes=(1000,),
        pairs=pairs_of_one,
    ),
    Case(
        "growth",
        "mmd_score, defaults, 20 kernels, d = 10, growth",
        lambda n: two_samples(n, 10),
        (
            Contender(OURS, default_mmd, threaded=False),
            Contender(
                "by hand",
                MMD_BY_HAND.run,
                prepare=with_mmd_kernels,
                threaded=False,
                # Some matrices of 3 GB are there at once; twice the rows take 13 GB.
                max_size=10_000,
            ),
        ),
        sizes=(1000, 2000, 4000, 10_000, 20_000),
        quick_sizes=(500, 1000, 2000),
        pairs=pairs_of_two,
        max_time_growth=4.4,
        max_memory_growth=2.2,
    ),
)
