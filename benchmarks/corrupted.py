"""Tests with `n_corrupted`: rejections over numbers of moved rows, level and power.

Run from the root of the repository, for example::

    python benchmarks/corrupted.py --draws 1000

Writes ``benchmarks/results/corrupted.csv``. The moved rows are those of the experiment
of A. Schrab and I. Kim, "Robust kernel hypothesis testing under data corruption".
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
from functools import partial
from pathlib import Path

import numpy as np

from skdiscrepancy import hsic_test, mmd_test

RESULTS = Path(__file__).parent / "results"
COLUMNS = ("study", "setting", "rows", "n_corrupted", "n_changed", "draws", "rejected")


# What an adversary does to r rows of two samples of the same distribution.
CHANGES = {
    "none": lambda X, Y, r: None,
    "far away": lambda X, Y, r: Y.__setitem__(slice(r), 1e3),
    "shifted": lambda X, Y, r: Y.__setitem__(slice(r), Y[:r] + 3),
    # The rows that already are on one side go further.
    "extreme rows": lambda X, Y, r: Y.__setitem__(np.argsort(-Y[:, 0])[:r], 3.0),
}
# What an adversary does to r pairs of independent x and y.
PAIRS = {
    "none": lambda x, y, r: None,
    "diagonal": lambda x, y, r: (
        x.__setitem__(slice(r), np.linspace(-3, 3, r)[:, np.newaxis]),
        y.__setitem__(slice(r), np.linspace(-3, 3, r)[:, np.newaxis]),
    ),
    "two points": lambda x, y, r: (
        x.__setitem__(slice(r), 3.0),
        y.__setitem__(slice(r), 3.0),
    ),
}


def moved(rng, n_changed, r):
    """Test samples of 2000 rows with 50 columns, some of whose rows are far away."""
    X, Y = rng.normal(size=(2, 2000, 50)) / 10
    Y[:n_changed] += 1000
    return mmd_test(X, Y, n_corrupted=r, random_state=rng, n_resamples=199)


def shifted(rng, n, r, shift=0.0, change="none"):
    """Test two samples with two columns."""
    X, Y = rng.normal(size=(2, n, 2))
    CHANGES[change](X, Y, r)
    Y = Y + np.array([shift, 0])
    return mmd_test(X, Y, n_corrupted=r, random_state=rng, n_resamples=199)


def correlated(rng, n, r, rho=0.0, change="none"):
    """Test two variables."""
    x, noise = rng.normal(size=(2, n, 1))
    y = rho * x + np.sqrt(1 - rho**2) * noise
    PAIRS[change](x, y, r)
    return hsic_test(x, y, n_corrupted=r, random_state=rng, n_resamples=199)


def cases(draws):
    """Yield the settings: all columns but the last, and the test of one draw."""
    for r in (200, 500):
        for c in range(0, 1300, 100):
            yield ("moved rows", "", 2000, r, c, 10), partial(moved, n_changed=c, r=r)
    for n, r in ((50, 1), (200, 2), (200, 10)):
        for name in CHANGES:
            test = partial(shifted, n=n, r=r, change=name)
            yield ("level MMD", name, n, r, r, draws), test
        for name in PAIRS:
            test = partial(correlated, n=n, r=r, change=name)
            yield ("level HSIC", name, n, r, r, draws // 5), test
    for n, some in ((500, 100), (5000, 20)):
        for r in (0, 0.001, 0.01):
            for shift in (0.05, 0.1, 0.2, 0.5, 1.0):
                test = partial(shifted, n=n, r=r, shift=shift)
                yield ("power MMD", f"shift {shift}", n, r, 0, some), test
    for r in (0, 1, 5, 10):
        for rho in (0.1, 0.3, 0.5, 0.8):
            test = partial(correlated, n=1000, r=r, rho=rho)
            yield ("power HSIC", f"correlation {rho}", 1000, r, 0, 20), test


def main():
    """Write the table, each row as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=100_001)
    given = parser.parse_args()
    with (RESULTS / "corrupted.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        for values, test in cases(given.draws):
            rng = np.random.RandomState(given.seed)
            found = [test(rng).pvalue <= 0.05 for _ in range(values[-1])]
            row = dict(zip(COLUMNS, (*values, f"{np.mean(found):.3f}"), strict=True))
            table.writerow(row)
            file.flush()
            print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
