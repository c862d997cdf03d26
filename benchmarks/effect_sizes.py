"""Effect sizes of shifts and correlations that are known from textbooks.

    python benchmarks/effect_sizes.py

writes benchmarks/results/effect_sizes.csv, the yardstick of the page "How large is it?"
of the user guide: the mean effect size of samples of N(0, 1), and its standard error.
One column has the effect. With ten columns, the other nine have none. It takes about
five minutes on two cores.
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
from pathlib import Path

import numpy as np

from skdiscrepancy import HSICEstimator, KSDEstimator, MMDEstimator

SEED, N_ROWS, N_DRAWS = 100_001, 5_000, 40
DEVIATIONS, CORRELATIONS = (0.2, 0.5, 0.8, 2.0), (0.1, 0.3, 0.5, 0.9)
# The effect size does not depend on the kernels. One kernel takes the least time.
ONE = {"bandwidth": 1.0, "pooling": None, "n_jobs": -1}
RESULTS = Path(__file__).parent / "results" / "effect_sizes.csv"


def mmd(rng, n_columns, size):
    """Compare two samples whose first columns differ by Cohen's d."""
    X, Y = rng.normal(size=(2, N_ROWS, n_columns))
    Y[:, 0] += size
    return MMDEstimator(kernel="laplace", **ONE).fit(X).evaluate(Y).effect_size


def hsic(rng, n_columns, size):
    """Measure the dependence of y on X, whose first column has a correlation with y."""
    X, noise = rng.normal(size=(N_ROWS, n_columns)), rng.normal(size=N_ROWS)
    y = size * X[:, 0] + np.sqrt(1 - size**2) * noise
    estimator = HSICEstimator(kernel="laplace", target_bandwidth=1.0, **ONE)
    return estimator.fit(X, y).evaluate(X, y).effect_size


def ksd(rng, n_columns, size):
    """Compare rows whose first column is shifted with the standard normal model."""
    X = rng.normal(size=(N_ROWS, n_columns))
    X[:, 0] += size
    estimator = KSDEstimator(lambda X: -X, kernel="imq", **ONE)
    return estimator.fit(X).evaluate(X).effect_size


QUESTIONS = [
    ("MMD, Cohen's d", mmd, DEVIATIONS),
    ("HSIC, correlation", hsic, CORRELATIONS),
    ("KSD, shift", ksd, DEVIATIONS),
]


def main():
    """Measure all effect sizes, and write the table."""
    rows = []
    for number, (name, measure, sizes) in enumerate(QUESTIONS):
        for size in sizes:
            row = [name, size]
            for n_columns in (1, 10):
                seeds = np.random.SeedSequence([SEED, number]).spawn(N_DRAWS)
                found = [
                    measure(np.random.default_rng(s), n_columns, size) for s in seeds
                ]
                error = np.std(found, ddof=1) / np.sqrt(N_DRAWS)
                row += [f"{np.mean(found):.3f}", f"{error:.4f}"]
            print(*row, flush=True)
            rows.append(row)
    heading = ["discrepancy", "size", "one column", "error", "ten columns", "error"]
    with RESULTS.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([heading, *rows])


if __name__ == "__main__":
    main()
