"""Tests against the score alone, and against permutations by hand.

Permutations are drawn at random, so there is no number to compare: times and memory
only. The rates of rejection are measured by ``power.py``.
"""

# SPDX-License-Identifier: BSD-3-Clause

import by_hand
from case import (
    OURS,
    Case,
    Contender,
    dependent,
    pairs_of_one,
    pairs_of_two,
    two_samples,
)
from default_cases import default_hsic, default_mmd, with_mmd_kernels

from skdiscrepancy.inference import hsic_test, mmd_test

SCORE = f"{OURS}, score alone"


def test_by_mmd(samples, n_jobs):
    """Run mmd_test with its defaults, and with exact kernels for any number of rows."""
    return mmd_test(*samples, n_components=None, n_jobs=n_jobs, random_state=0)


def test_by_hsic(samples, n_jobs):
    """Run hsic_test with its defaults."""
    return hsic_test(*samples, n_jobs=n_jobs, random_state=0)


CASES = (
    Case(
        "test-mmd",
        "test by MMD, 20 kernels, 999 permutations",
        lambda n: two_samples(n, 10),
        (
            Contender(OURS, test_by_mmd, threaded=False),
            Contender(
                "by hand",
                lambda samples, n_jobs: by_hand.permuted_mmd(*samples),
                prepare=with_mmd_kernels,
                faster_by=10,
                threaded=False,
            ),
        ),
        sizes=(500,),
        quick_sizes=(300,),
        pairs=pairs_of_two,
        tolerance=None,
    ),
    Case(
        "test-mmd-score",
        "test by MMD, 20 kernels, 999 permutations",
        lambda n: two_samples(n, 10),
        (
            Contender(OURS, test_by_mmd, threaded=False),
            Contender(SCORE, default_mmd, faster_by=round(1 / 1.5, 3), threaded=False),
        ),
        sizes=(5000,),
        quick_sizes=(1000,),
        pairs=pairs_of_two,
        tolerance=None,
    ),
    Case(
        "test-mmd-memory",
        "test by MMD, 20 kernels, 999 permutations",
        lambda n: two_samples(n, 10),
        (Contender(OURS, test_by_mmd, threaded=False),),
        sizes=(10_000,),
        quick_sizes=(2000,),
        pairs=pairs_of_two,
        tolerance=None,
        max_memory=500,
    ),
    Case(
        "test-hsic",
        "test by HSIC, 400 products, 999 permutations",
        lambda n: dependent(n, 10),
        (
            Contender(OURS, test_by_hsic, threaded=False),
            Contender(SCORE, default_hsic, faster_by=round(1 / 3, 3), threaded=False),
        ),
        sizes=(1000,),
        quick_sizes=(500,),
        pairs=pairs_of_one,
        tolerance=None,
    ),
)
