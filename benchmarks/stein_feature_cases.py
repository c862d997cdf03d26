"""KSD with random features against exact kernels, and its growth with the rows.

Features and signs are drawn at random, so there is no number to compare.
"""

# SPDX-License-Identifier: BSD-3-Clause

from functools import partial

from case import OURS, Case, Contender, misfit, pairs_of_one
from feature_cases import EXACT, run, with_features

from skdiscrepancy import ksd_score, ksd_test

FEATURES = f"{OURS}, 256 features"


def against_exact(name, title, function):
    """Compare features with exact kernels, which take 25 times as long for 10^5."""
    return Case(
        f"features-ksd-{name}",
        title,
        lambda n: misfit(n, 10),
        (
            Contender(FEATURES, with_features(function)),
            Contender(EXACT, partial(run, function, n_components=None), faster_by=5),
        ),
        sizes=(20_000,),
        quick_sizes=(5000,),
        pairs=pairs_of_one,
        tolerance=None,
    )


def growth(name, title, function):
    """Measure the time and memory of features for up to a million rows."""
    return Case(
        f"features-ksd-{name}-growth",
        f"{title}, 256 features",
        lambda n: misfit(n, 10),
        (Contender(OURS, with_features(function)),),
        sizes=(100_000, 1_000_000),
        quick_sizes=(20_000, 100_000),
        pairs=pairs_of_one,
        tolerance=None,
        max_memory=500,
        max_time_growth=11,
        max_memory_growth=2,
    )


CASES = tuple(
    make(name, title, function)
    for name, title, function in (
        ("score", "KSD, 20 kernels", ksd_score),
        ("test", "test by KSD, defaults, 999 vectors of signs", ksd_test),
    )
    for make in (against_exact, growth)
)
