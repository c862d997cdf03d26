"""Random features against exact kernels, and their growth with the number of rows.

Features and permutations are drawn at random, so there is no number to compare.
"""

# SPDX-License-Identifier: BSD-3-Clause

from functools import partial

from case import (
    OURS,
    Case,
    Contender,
    dependent,
    pairs_of_one,
    pairs_of_two,
    two_samples,
)

from skdiscrepancy import hsic_score, hsic_test, mmd_score, mmd_test

COMPONENTS = 256
EXACT = f"{OURS}, exact"
ONE_KERNEL = {"kernel": "gaussian", "bandwidth": "grid"}


def run(function, samples, n_jobs, **params):
    """Run a score or a test."""
    return function(*samples, n_jobs=n_jobs, random_state=0, **params)


def with_features(function, **params):
    """Return a score or a test with random features."""
    return partial(run, function, n_components=COMPONENTS, **params)


CASES = (
    Case(
        "features-test",
        "test by MMD, 10 Gaussian kernels, 999 permutations",
        lambda n: two_samples(n, 5),
        (
            Contender(f"{OURS}, 256 features", with_features(mmd_test, **ONE_KERNEL)),
            Contender(
                EXACT,
                partial(run, mmd_test, n_components=None, **ONE_KERNEL),
                faster_by=10,
            ),
        ),
        sizes=(20_000,),
        quick_sizes=(5000,),
        pairs=pairs_of_two,
        tolerance=None,
    ),
    Case(
        "features-test-defaults",
        "test by MMD, defaults, 999 permutations, 256 features",
        lambda n: two_samples(n, 10),
        (Contender(OURS, with_features(mmd_test)),),
        sizes=(100_000, 1_000_000),
        quick_sizes=(20_000, 100_000),
        pairs=pairs_of_two,
        tolerance=None,
        max_memory=500,
        max_time_growth=11,
        max_memory_growth=2,
    ),
    Case(
        "features-score",
        "MMD, 20 kernels, 256 features",
        lambda n: two_samples(n, 10),
        (Contender(OURS, with_features(mmd_score)),),
        sizes=(100_000, 1_000_000),
        quick_sizes=(20_000, 100_000),
        pairs=pairs_of_two,
        tolerance=None,
        max_memory=500,
        max_time_growth=11,
        max_memory_growth=2,
    ),
    Case(
        "features-hsic-test",
        "test by HSIC, 400 products of kernels, 999 permutations, 256 features",
        lambda n: dependent(n, 5),
        (
            Contender(
                OURS,
                with_features(hsic_test, bandwidth="grid", target_bandwidth="grid"),
            ),
        ),
        sizes=(10_000, 100_000),
        quick_sizes=(2000, 10_000),
        pairs=pairs_of_one,
        tolerance=None,
        max_memory=700,
        max_time_growth=11,
        max_memory_growth=2,
    ),
    Case(
        "features-hsic-score",
        "HSIC, 400 products of kernels, 256 features",
        lambda n: dependent(n, 5),
        (Contender(OURS, with_features(hsic_score)),),
        sizes=(10_000, 100_000),
        quick_sizes=(2000, 10_000),
        pairs=pairs_of_one,
        tolerance=None,
        max_memory=500,
        max_time_growth=11,
        max_memory_growth=2,
    ),
)
