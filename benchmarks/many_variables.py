"""Measure the tests of many variables: rejections of true and false null hypotheses.

Usage: ``python benchmarks/many_variables.py [--only NAME ...] [--repetitions N]
[--output DIR]``. Prints a line for each setting and writes ``many_variables.csv``. One
thread. A true null hypothesis should be rejected at most as often as the last column
says, which a binomial variable with the level exceeds once in a thousand times.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
from pathlib import Path
from time import process_time

import numpy as np
from scipy.stats import binom

from skdiscrepancy import joint_independence_test

RESULTS = Path(__file__).resolve().parent / "results"
LEVEL = 0.05
FIRST_SEED = 70_000


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


def four_signs(rng, n):
    """Draw four variables of which any three are independent."""
    x, y, z, noise = rng.normal(size=(4, n))
    return x, y, z, np.abs(noise) * np.sign(x * y * z)


def joint(variables, seed):
    """Return whether the test of joint independence rejects."""
    return joint_independence_test(*variables, random_state=seed).pvalue <= LEVEL


# Name: the draws, the number of rows, the test, and whether the null is true.
SETTINGS = {
    "joint-null-50": (independent, 50, joint, True),
    "joint-null-200": (independent, 200, joint, True),
    "joint-signs-200": (signs, 200, joint, False),
    "joint-one-pair-100": (one_pair, 100, joint, False),
    "joint-four-signs-400": (four_signs, 400, joint, False),
}


def measure(draw, n, test, *, repetitions):
    """Return the fraction of rejections, and the CPU time of a test."""
    count, start = 0, process_time()
    for seed in range(FIRST_SEED, FIRST_SEED + repetitions):
        count += test(draw(np.random.default_rng(seed), n), seed)
    return count / repetitions, (process_time() - start) / repetitions


def main():
    """Measure all settings, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=list(SETTINGS))
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    limit = binom.ppf(0.999, options.repetitions, LEVEL) / options.repetitions
    rows = []
    for name in options.only:
        draw, n, test, null = SETTINGS[name]
        rate, seconds = measure(draw, n, test, repetitions=options.repetitions)
        most = f"{limit:.3f}" if null else ""
        rows.append([name, n, options.repetitions, rate, f"{seconds:.3f}", most])
        print(*rows[-1], flush=True)
    with open(options.output / "many_variables.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["setting", "rows", "draws", "rejections", "seconds", "limit"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
