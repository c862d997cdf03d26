"""Tests with `n_corrupted`: rejections over numbers of moved rows, level and power.

Run from the root of the repository, for example::

    python benchmarks/corrupted.py --draws 1000

Writes ``benchmarks/results/corrupted.csv``. The moved rows are those of the experiment
of A. Schrab and I. Kim, "Robust kernel hypothesis testing under data corruption".
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
from pathlib import Path

import numpy as np

from skdiscrepancy import hsic_test, mmd_test

RESULTS = Path(__file__).parent / "results"
COLUMNS = ("study", "setting", "rows", "n_corrupted", "n_changed", "draws", "rejected")


def moved(n_changed, n_corrupted, rng):
    """Test two samples of 2000 rows with 50 columns, of which some rows are far away."""
    X, Y = rng.normal(size=(2, 2000, 50)) / 10
    Y[:n_changed] += 1000
    return mmd_test(X, Y, n_corrupted=n_corrupted, random_state=rng, n_resamples=199)


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


def rates(draws, seed):
    """Yield one row for each setting."""

    def row(study, setting, rows, n_corrupted, n_changed, draws, test):
        rng = np.random.RandomState(seed)
        found = [test(rng).pvalue <= 0.05 for _ in range(draws)]
        values = study, setting, rows, n_corrupted, n_changed, draws, np.mean(found)
        return dict(zip(COLUMNS, values, strict=True))

    for r in (200, 500):
        for c in range(0, 1300, 100):
            yield row("moved rows", "", 2000, r, c, 10, lambda g: moved(c, r, g))
    for n, r in ((50, 1), (200, 2), (200, 10)):
        how = {"n_corrupted": r, "n_resamples": 199}
        for name, change in CHANGES.items():

            def test(rng):
                X, Y = rng.normal(size=(2, n, 2))
                change(X, Y, r)
                return mmd_test(X, Y, random_state=rng, **how)

            yield row("level MMD", name, n, r, r, draws, test)
        for name, change in PAIRS.items():

            def test(rng):
                x, y = rng.normal(size=(2, n, 1))
                change(x, y, r)
                return hsic_test(x, y, random_state=rng, **how)

            yield row("level HSIC", name, n, r, r, draws // 5, test)
    for n in (500, 5000):
        for r in (0, 0.001, 0.01):
            how = {"n_corrupted": r, "n_resamples": 199}
            for shift in (0.05, 0.1, 0.2, 0.5, 1.0):

                def test(rng):
                    X, Y = rng.normal(size=(2, n, 2))
                    return mmd_test(X, Y + [shift, 0], random_state=rng, **how)

                name = f"shift {shift}"
                yield row("power MMD", name, n, r, 0, 100 if n < 1000 else 20, test)
    for r in (0, 1, 5, 10):
        for rho in (0.1, 0.3, 0.5, 0.8):

            def test(rng):
                x, noise = rng.normal(size=(2, 1000))
                y = rho * x + np.sqrt(1 - rho**2) * noise
                how = {"n_corrupted": r, "n_resamples": 199}
                return hsic_test(x, y, random_state=rng, **how)

            yield row("power HSIC", f"correlation {rho}", 1000, r, 0, 20, test)


def main():
    """Write the table, each row as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=100_001)
    given = parser.parse_args()
    with (RESULTS / "corrupted.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        for row in rates(given.draws, given.seed):
            table.writerow({**row, "rejected": f"{row['rejected']:.3f}"})
            file.flush()
            print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
