"""Incomplete designs on many rows: memory, and time for each pair."""

# SPDX-License-Identifier: BSD-3-Clause

from itertools import product
from math import isqrt

from case import OURS, Case, Contender, dependent, misfit, two_samples

from skdiscrepancy import hsic_score, ksd_score, mmd_score
from skdiscrepancy.designs import Blocks, Cross, Linear, RandomPairs, Subdiagonals

BLOCK_ROWS = 100


def subsample(n):
    """Return the rows that the cross design takes, for 9 n pairs of its halves."""
    return 6 * isqrt(n)


# Letter, title, design of n samples, and number of distinct pairs of n samples out of
# n_rows rows, which are as many samples for MMD and KSD and twice as many for HSIC.
DESIGNS = (
    ("L", "linear", lambda n, n_rows: Linear(), lambda n, n_rows: n // 2),
    (
        "D",
        "10 subdiagonals",
        lambda n, n_rows: Subdiagonals(n_subdiagonals=10),
        lambda n, n_rows: 10 * n - 55,
    ),
    (
        "B",
        f"blocks of {BLOCK_ROWS}",
        lambda n, n_rows: Blocks(n_blocks=n // BLOCK_ROWS),
        lambda n, n_rows: n * (BLOCK_ROWS - 1) // 2,
    ),
    (
        "R",
        "10 random pairs a row",
        lambda n, n_rows: RandomPairs(n_pairs=10 * n_rows),
        lambda n, n_rows: 10 * n_rows,
    ),
    (
        "X",
        "cross, sub-sample",
        lambda n, n_rows: Cross(),
        lambda n, n_rows: (n // 2) * (n - n // 2),
    ),
)
# Name, what is added to the title, data, score, rows of a sample, parameters, letters.
STATISTICS = (
    ("mmd", "20 kernels", two_samples, mmd_score, 1, {}, "LDBRX"),
    (
        "hsic",
        "one kernel",
        dependent,
        hsic_score,
        2,
        {
            "kernel": "gaussian",
            "bandwidth": "median",
            "target_bandwidth": "median",
            "pooling": None,
        },
        "LDBRX",
    ),
    ("hsic400", "400 products", dependent, hsic_score, 2, {}, "L"),
    ("ksd", "20 kernels", misfit, ksd_score, 1, {}, "LDBRX"),
)


def design_case(statistic, design):
    """Return the case of one statistic with one incomplete design."""
    name, collection, make, score, rows_of_sample, params, _ = statistic
    letter, title, make_design, count = design

    def used_rows(n_rows):
        return rows_of_sample * subsample(n_rows) if letter == "X" else n_rows

    def run(samples, n_jobs):
        n_rows = len(samples[0])
        used = used_rows(n_rows)
        return score(
            *(Z[:used] for Z in samples),
            design=make_design(used // rows_of_sample, n_rows),
            random_state=0,
            n_jobs=n_jobs,
            **params,
        )

    return Case(
        f"{name}-{letter.lower()}",
        f"{score.__name__}, {collection}, d = 5, {letter}: {title}",
        lambda n: make(n, 5),
        (Contender(OURS, run, threaded=False),),
        sizes=(100_000, 1_000_000),
        quick_sizes=(1_000, 10_000),
        pairs=lambda n: count(used_rows(n) // rows_of_sample, n),
        kind="design",
        max_memory=500,
        # Ten times the pairs, and a fifth for larger caches missed.
        max_time_growth=12,
    )


CASES = tuple(
    design_case(statistic, design)
    for statistic, design in product(STATISTICS, DESIGNS)
    if design[0] in statistic[-1]
)
