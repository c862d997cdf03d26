"""Measure how often tests of rows of a series reject.

Usage: ``python benchmarks/series.py [--draws N] [--only NAME] [--output DIR]``. Prints
a line for each setting and writes ``series.csv``. The rows are one column of a
stationary AR(1) process with variance 1. Half as many draws measure the power, and the
tests that treat rows as independent. One thread; about 13 minutes for 400 draws.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from skdiscrepancy import hsic_column_tests, hsic_test, ksd_test, mmd_test

LEVEL = 0.05
ROWS = 400
HSIC_KERNELS = {"kernel": "gaussian"}


def autoregressive(rng, rho, n=ROWS):
    """Draw a stationary AR(1) process with variance 1."""
    e = rng.normal(size=n)
    e[1:] *= np.sqrt(1 - rho**2)
    for t in range(1, n):
        e[t] += rho * e[t - 1]
    return e


def two_samples(rng, rho, effect, **options):
    """Return the p-value for two series whose means differ by `effect`."""
    x, y = autoregressive(rng, rho), autoregressive(rng, rho) + effect
    return mmd_test(x, y, **options).pvalue


def dependence(rng, rho, effect, **options):
    """Return the p-value for series of which one holds the square of the other."""
    x, y = autoregressive(rng, rho), autoregressive(rng, rho)
    y += effect * (x**2 - 1) / np.sqrt(2)
    return hsic_test(x, y, **HSIC_KERNELS, **options).pvalue


def lags(rng, rho, effect, **options):
    """Return the smallest adjusted p-value of all lags. The lag of `effect` is 3."""
    x, y = autoregressive(rng, rho, ROWS + 10), autoregressive(rng, rho)
    y += effect * (x[2:-8] ** 2 - 1) / np.sqrt(2)
    table = sliding_window_view(x, 11)
    tests = hsic_column_tests(
        table, y, correction="holm", n_resamples=439, **HSIC_KERNELS, **options
    )
    return tests.adjusted_pvalues.min()


def fit(rng, rho, effect, **options):
    """Return the p-value of a standard normal model, for a series of mean `effect`."""
    x = autoregressive(rng, rho) + effect
    return ksd_test(x, lambda X: -X, **options).pvalue


# Test, effect, and options with blocks.
CASES = {
    "mmd_test": (two_samples, 0.5, {}),
    "ksd_test": (fit, 0.5, {}),
    "hsic_test": (dependence, 0.35, {}),
    "hsic_test, shift without blocks": (
        dependence,
        0.35,
        {"method": "shift", "block_length": None},
    ),
    "hsic_column_tests, 11 lags": (lags, 0.35, {}),
}


def rejections(test, rho, effect, draws, **options):
    """Return the fraction of rejections."""
    rejected = 0
    for seed in range(draws):
        rng = np.random.RandomState(seed)
        rejected += test(rng, rho, effect, random_state=seed, **options) <= LEVEL
    return rejected / draws


def main():
    """Measure all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results"
    )
    args = parser.parse_args()
    # Long dependence, and rows that are treated as independent on purpose.
    warnings.simplefilter("ignore")
    lines = []
    for name, (test, effect, options) in CASES.items():
        if args.only not in name:
            continue
        for rho in (0.5, 0.8):
            start = process_time()
            blocks = {"block_length": "auto", "n_jobs": 1, **options}
            rows = {"block_length": 1, "n_jobs": 1}
            line = {
                "test": name,
                "rows": ROWS,
                "autocorrelation": rho,
                "draws of type I error": args.draws,
                "type I error": rejections(test, rho, 0, args.draws, **blocks),
                "draws of the others": args.draws // 2,
                "power": rejections(test, rho, effect, args.draws // 2, **blocks),
            }
            independent = name in ("mmd_test", "ksd_test", "hsic_test")
            line["type I error, rows as independent"] = (
                rejections(test, rho, 0, args.draws // 2, **rows) if independent else ""
            )
            print(line, f"{process_time() - start:.0f} s", flush=True)
            lines.append(line)
    with (args.output / "series.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
