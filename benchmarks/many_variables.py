"""Measure the tests of many variables: rejections, and CPU times.

Usage: ``python benchmarks/many_variables.py [--only NAME ...] [--repetitions N]
[--speed] [--output DIR]``. Prints a line for each setting and writes
``many_variables.csv``, or with ``--speed`` ``many_variables_speed.csv``. One thread,
and 199 permutations where rejections are counted, 999 where time is measured. A true
null hypothesis should be rejected at most as often as the last column says, which
a binomial variable with the level exceeds once in a thousand times.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
from functools import partial
from itertools import combinations
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from scipy.stats import binom

from skdiscrepancy import (
    hsic_matrix,
    hsic_score,
    joint_independence_test,
    k_sample_test,
)

RESULTS = Path(__file__).resolve().parent / "results"
LEVEL = 0.05
N_RESAMPLES = 199
FIRST_SEED = 70_000
ONE_KERNEL = {"kernel": "gaussian", "bandwidth": "median", "pooling": None}


def independent(rng, n):
    """Draw a normal column, two heavy-tailed columns, and labels."""
    return rng.normal(size=n), rng.standard_t(2, size=(n, 2)), rng.integers(3, size=n)


def signs(rng, n):
    """Draw three variables that are independent in pairs but not jointly."""
    x, y, noise = rng.normal(size=(3, n))
    return x, y, np.abs(noise) * np.sign(x * y)


def one_pair(rng, n):
    """Draw three variables, of which the last two depend on each other."""
    x, y, noise = rng.normal(size=(3, n))
    return x, y, y**2 + noise


def joint(variables, seed):
    """Return whether the test of joint independence rejects."""
    options = {"n_resamples": N_RESAMPLES, "random_state": seed}
    return joint_independence_test(*variables, **options).pvalue <= LEVEL


def unequal_sizes(rng, n):
    """Draw four samples of the same heavy-tailed distribution."""
    return [rng.standard_t(3, size=(m, 2)) for m in (n, n // 2, 2 * n, n // 3)]


def one_differs(rng, n):
    """Draw four samples, of which the last has another mean."""
    *equal, last = unequal_sizes(rng, n)
    return *equal, last + 2


def one_is_wider(rng, n):
    """Draw three samples, of which the last has 1.5 times the standard deviation."""
    a, b, c = rng.normal(size=(3, n, 2))
    return a, b, 1.5 * c


def k_samples(samples, seed):
    """Return the result of the test of several samples."""
    return k_sample_test(*samples, n_resamples=N_RESAMPLES, random_state=seed)


def all_samples(samples, seed):
    """Return whether the test of all samples rejects."""
    return k_samples(samples, seed).pvalue <= LEVEL


def equal_pairs(samples, seed):
    """Return whether any pair of equal samples is rejected."""
    result = k_samples(samples, seed)
    equal = np.array([b < len(samples) - 1 for _, b in result.pairs])
    return result.adjusted_pvalues[equal].min() <= LEVEL


def different_pairs(samples, seed):
    """Return whether all pairs of different samples are rejected."""
    result = k_samples(samples, seed)
    different = np.array([b == len(samples) - 1 for _, b in result.pairs])
    return result.adjusted_pvalues[different].max() <= LEVEL


def mixed_table(rng, n):
    """Draw eight independent columns of several types, with missing values."""
    numbers = rng.standard_t(3, size=(n, 5))
    numbers[rng.random(n) < 0.2, 0] = np.nan
    frame = pd.DataFrame(numbers, columns=list("abcde"))
    frame["f"] = rng.choice(["u", "v", "w"], n)
    frame["g"] = rng.exponential(size=n) ** 2
    frame["h"] = rng.random(n) < 0.1
    return frame


def any_pair(frame, seed):
    """Return whether any pair of columns is rejected, after Holm's correction."""
    result = hsic_matrix(frame, correction="holm")
    return result.to_frame()["adjusted_pvalue"].min() <= LEVEL


# Name: the draws, the number of rows, the test, and whether the null is true.
SETTINGS = {
    "joint-null-50": (independent, 50, joint, True),
    "joint-null-200": (independent, 200, joint, True),
    "joint-signs-200": (signs, 200, joint, False),
    "joint-one-pair-100": (one_pair, 100, joint, False),
    "k-samples-null": (unequal_sizes, 60, all_samples, True),
    "k-samples-equal-pairs": (one_differs, 60, equal_pairs, True),
    "k-samples-wider-pairs": (one_is_wider, 100, different_pairs, False),
    "matrix-null": (mixed_table, 200, any_pair, True),
}


def measure(draw, n, test, *, repetitions):
    """Return the fraction of rejections, and the CPU time of a test."""
    count, start = 0, process_time()
    for seed in range(FIRST_SEED, FIRST_SEED + repetitions):
        count += int(test(draw(np.random.default_rng(seed), n), seed))
    return count / repetitions, (process_time() - start) / repetitions


def cpu_time(function):
    """Return the CPU time of one call."""
    start = process_time()
    function()
    return process_time() - start


def measure_speed():
    """Return rows of CPU times: what was measured, seconds, and a ratio if any."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 50))
    # Compiles the loops.
    joint_independence_test(*signs(rng, 50), random_state=0)
    hsic_matrix(X[:100])
    rows = []
    one_kernel = {"kernel": "gaussian", "bandwidth": "median"}
    for n, options, what in (
        (1000, {}, "20 kernels"),
        (10_000, one_kernel, "one kernel"),
    ):
        variables = signs(rng, n)
        run = partial(joint_independence_test, *variables, n_jobs=1, **options)
        name = f"joint_independence_test of 3 variables, {n} rows, {what}"
        rows.append([name, f"{cpu_time(run):.2f}", ""])
        print(*rows[-1], flush=True)
    ours = cpu_time(lambda: hsic_matrix(X, n_jobs=1))
    options = {**ONE_KERNEL, "target_bandwidth": "median", "n_jobs": 1}
    theirs = cpu_time(
        lambda: [
            hsic_score(X[:, i], X[:, j], **options)
            for i, j in combinations(range(50), 2)
        ]
    )
    rows.append(["hsic_matrix, 50 columns of 2000 rows", f"{ours:.2f}", ""])
    rows.append(["1225 calls of hsic_score", f"{theirs:.2f}", f"{theirs / ours:.1f}"])
    print(*rows[-2], *rows[-1], flush=True)
    return rows


def main():
    """Measure all settings, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=list(SETTINGS))
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.speed:
        write(
            options.output / "many_variables_speed.csv",
            ["what", "seconds", "ratio"],
            measure_speed(),
        )
        return
    limit = binom.ppf(0.999, options.repetitions, LEVEL) / options.repetitions
    rows = []
    for name in options.only:
        draw, n, test, null = SETTINGS[name]
        rate, seconds = measure(draw, n, test, repetitions=options.repetitions)
        most = f"{limit:.4f}" if null else ""
        rows.append([name, n, options.repetitions, rate, f"{seconds:.3f}", most])
        print(*rows[-1], flush=True)
    head = ["setting", "rows", "draws", "rejections", "seconds", "limit"]
    write(options.output / "many_variables.csv", head, rows)


def write(path, head, rows):
    """Write a table."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
