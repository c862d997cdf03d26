"""Measure the power and the time of designs, random features and subsets of the rows.

Usage: ``python benchmarks/design_power.py [--repetitions N] [--seed S]``. MMD with one
Gaussian kernel; the mean of one of five columns differs by 0.1. The power is the
fraction of statistics above the 95 % quantile of the statistics of equal samples; its
standard error leaves out the error of the quantile. One thread; times are medians of
CPU times. Writes ``design_power.csv``.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
from pathlib import Path
from time import process_time

import numpy as np

from skdiscrepancy import mmd_score

RESULTS = Path(__file__).resolve().parent / "results"
ROWS, SHIFT = 4000, 0.1
OPTIONS = {
    "kernel": "gaussian",
    "bandwidth": 3.0,
    "normalize": False,
    "pooling": None,
    "n_jobs": 1,
}
CHOICES = {
    "all pairs": {},
    "256 features": {"n_components": 256},
    "design x": {"design": "x"},
    "design r": {"design": "r"},
    "design d": {"design": "d"},
    "design b": {"design": "b"},
    "design l": {"design": "l"},
    "250 rows": {"rows": 250},
    "500 rows": {"rows": 500},
    "1000 rows": {"rows": 1000},
    "2000 rows": {"rows": 2000},
}


def score(X, Y, seed, rows=None, **options):
    """Return the statistic of the first rows, and its CPU time."""
    start = process_time()
    value = mmd_score(X[:rows], Y[:rows], random_state=seed, **OPTIONS, **options)
    return value, process_time() - start


def main():
    """Compare all choices on the same samples."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=190_000)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    values = {name: ([], []) for name in CHOICES}
    times = {name: [] for name in CHOICES}
    for seed in range(options.seed, options.seed + options.repetitions):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(size=(2, ROWS, 5))
        shifted = Y + SHIFT * np.eye(1, 5)
        for name, choice in CHOICES.items():
            for kept, second in zip(values[name], (Y, shifted), strict=True):
                value, seconds = score(X, second, seed, **choice)
                kept.append(value)
                times[name].append(seconds)
    with (options.output / "design_power.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["choice", "rows", "power", "standard error", "seconds"])
        for name, (equal, different) in values.items():
            power = np.mean(different > np.quantile(equal, 0.95))
            error = np.sqrt(power * (1 - power) / len(equal))
            rows = CHOICES[name].get("rows", ROWS)
            seconds = np.median(times[name])
            writer.writerow(
                [name, rows, f"{power:.3f}", f"{error:.3f}", f"{seconds:.4f}"]
            )


if __name__ == "__main__":
    main()
