"""Measure how much longer scores take if rows have weights.

Usage: ``python benchmarks/weights.py [--repetitions N]``. Prints, and writes to
``benchmarks/results/weights.csv``, the CPU times of complete scores without and with
weights, the smallest of N repetitions that alternate, and their ratio. One thread.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
from pathlib import Path
from time import process_time

import numpy as np

from skdiscrepancy import HSICEstimator, MMDEstimator

RESULTS = Path(__file__).parent / "results" / "weights.csv"
ONE_KERNEL = {"kernel": "gaussian", "bandwidth": 2.0, "pooling": None}
# Name, estimator, rows, columns, parameters.
CASES = [
    ("MMD, 20 kernels", MMDEstimator, 3000, 5, {}),
    ("MMD, 20 kernels, V", MMDEstimator, 3000, 5, {"design": "v"}),
    ("MMD, dyadic", MMDEstimator, 3000, 5, {"bandwidth": "dyadic"}),
    ("MMD, one kernel", MMDEstimator, 3000, 5, ONE_KERNEL),
    ("MMD, features", MMDEstimator, 20_000, 5, {"n_components": 64}),
    ("MMD, one column", MMDEstimator, 100_000, 1, {"kernel": "laplace"}),
    ("HSIC, 400 products", HSICEstimator, 2000, 5, {}),
    ("HSIC, 400 products, V", HSICEstimator, 2000, 5, {"design": "v"}),
    (
        "HSIC, one product",
        HSICEstimator,
        3000,
        5,
        {**ONE_KERNEL, "target_bandwidth": 2.0},
    ),
    ("HSIC, two columns", HSICEstimator, 20_000, 1, {"kernel": "laplace"}),
    (
        "HSIC, two columns, V",
        HSICEstimator,
        20_000,
        1,
        {"kernel": "laplace", "design": "v"},
    ),
]


def scores(cls, n, d, params):
    """Return functions that score without and with weights."""
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(2, n, d))
    w, v = rng.exponential(size=(2, n))
    estimator = cls(n_jobs=1, random_state=0, **params)
    if cls is MMDEstimator:

        def weighted():
            return estimator.fit(X, sample_weight=w).score(Y, sample_weight=v)

        return lambda: estimator.fit(X).score(Y), weighted
    estimator.fit(X, Y)
    return lambda: estimator.score(X, Y), lambda: estimator.score(X, Y, w)


def seconds(function):
    """Return the CPU time of one call."""
    start = process_time()
    function()
    return process_time() - start


def main():
    """Measure all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    repetitions = parser.parse_args().repetitions
    lines = []
    for name, cls, n, d, params in CASES:
        both = scores(cls, n, d, params)
        # The first calls compile the loops.
        for function in both:
            function()
        times = np.array([list(map(seconds, both)) for _ in range(repetitions)])
        plain, weighted = times.min(axis=0)
        line = name, n, d, f"{plain:.3f}", f"{weighted:.3f}", f"{weighted / plain:.2f}"
        print(*line, sep="\t", flush=True)
        lines.append(line)
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["case", "rows", "columns", "plain", "weighted", "ratio"])
        writer.writerows(lines)


if __name__ == "__main__":
    main()
