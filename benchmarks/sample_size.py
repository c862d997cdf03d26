"""Rows that the tests need for a power of 80 %.

Run from the root of the repository, for example::

    python benchmarks/sample_size.py --draws 200

Adds what is missing to ``benchmarks/results/sample_size.csv``: for each effect the
powers at five numbers of rows (fewer draws above 500 rows), and the rows for a power of
80 % by a probit curve through them. Beside
them stand the rows of a t-test or of a test of Pearson's correlation that is told which
column to look at.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
from pathlib import Path

import numpy as np
from scipy import optimize, stats

from skdiscrepancy import hsic_test, mmd_test

RESULTS = Path(__file__).parent / "results"
POWER = 0.8
COLUMNS = ("test", "effect", "columns", "draws", "rows", "power", "rows_80", "told")
FACTORS = (0.6, 0.8, 1.0, 1.25, 1.5)
PILOTS = 30
# Rows of all draws of one power, so that many rows have fewer draws.
MOST_ROWS = 100_000


def two_samples(rng, n, shift, d):
    """Test two samples that differ in the mean of the first of d columns."""
    X, Y = rng.normal(size=(2, n, d))
    Y[:, 0] += shift
    return mmd_test(X, Y, random_state=rng, n_resamples=199, n_components=None)


def dependence(rng, n, rho, d):
    """Test a variable that depends on the first of d columns."""
    X = rng.normal(size=(n, d))
    y = rho * X[:, 0] + np.sqrt(1 - rho**2) * rng.normal(size=n)
    return hsic_test(X, y, random_state=rng, n_resamples=199, n_components=None)


def power(test, n, effect, d, draws, seed):
    """Return the fraction of samples on which a test rejects at .05."""
    rng = np.random.RandomState(seed)
    return np.mean([test(rng, n, effect, d).pvalue <= 0.05 for _ in range(draws)])


def rows_of_t_test(shift):
    """Return the rows of each sample of a two-sided t-test."""

    def missing(n):
        limit = stats.t.ppf(0.975, 2 * n - 2)
        return stats.nct.sf(limit, 2 * n - 2, shift * np.sqrt(n / 2)) - POWER

    return optimize.brentq(missing, 3, 1e5)


def rows_of_correlation(rho):
    """Return the rows of a two-sided test of a correlation, by Fisher's z."""
    z = stats.norm.ppf(0.975) + stats.norm.ppf(POWER)
    return 3 + (z / np.arctanh(rho)) ** 2


def rows_needed(rows, powers):
    """Return the rows for the power by a probit curve in the root of the rows."""
    clipped = np.clip(powers, 0.005, 0.995)
    slope, start = np.polyfit(np.sqrt(rows), stats.norm.ppf(clipped), 1)
    return ((stats.norm.ppf(POWER) - start) / slope) ** 2


SETTINGS = (
    ("mmd_test", two_samples, rows_of_t_test, (0.8, 0.5, 0.2)),
    ("hsic_test", dependence, rows_of_correlation, (0.5, 0.3, 0.1)),
)


def main():
    """Write the table, each row as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=100_001)
    parser.add_argument("--output", type=Path, default=RESULTS / "sample_size.csv")
    given = parser.parse_args()
    done = set()
    if given.output.exists():
        with given.output.open() as file:
            done = {tuple(row[:3]) for row in csv.reader(file)}
    with given.output.open("a", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        if not done:
            table.writerow(COLUMNS)
        for (name, test, told, effects), d in (
            (setting, d) for d in (1, 10) for setting in SETTINGS
        ):
            for effect in effects:
                if (name, str(effect), str(d)) in done:
                    continue
                n = told(effect)
                while power(test, round(n), effect, d, PILOTS, 1) < POWER:
                    n *= 1.25
                rows = [round(n * factor) for factor in FACTORS]
                draws = [min(given.draws, MOST_ROWS // n) for n in rows]
                powers = [
                    power(test, n, effect, d, some, given.seed)
                    for n, some in zip(rows, draws, strict=True)
                ]
                needed = rows_needed(rows, powers), told(effect)
                for n, some, found in zip(rows, draws, powers, strict=True):
                    values = name, effect, d, some, n, f"{found:.3f}"
                    table.writerow((*values, *(f"{x:.0f}" for x in needed)))
                file.flush()
                print(name, effect, d, *map("{:.0f}".format, needed), flush=True)


if __name__ == "__main__":
    main()
