"""Measure how often tests of tables, labels and series reject true null hypotheses.

Usage: ``python benchmarks/levels.py [--draws N] [--only NAME] [--output FILE]``.
Tops up every setting in ``levels.csv`` to N draws, with the seeds after the last seed
in the file, and writes the file after every 50 draws. So you can stop the measurement
and continue it. One thread; about 20 minutes for 1000 draws.

Tests have 199 resamples, so p-values are multiples of 1/200, and .05 and .01 are
reached exactly. Tests that permute blocks of rows only after a first cycle of n shifts
have 999 resamples, as do column tests, because the correction divides the level by ten.
An exact test has fewer or more rejections than its limits with a probability of at most
.0005 each.

For column tests, the table has sums of the fraction of false discoveries, whose mean is
the false discovery rate. Of all fractions with the same mean, zeros and ones have the
largest variance, so the limits are generous. "warned" counts calls that warned.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import warnings
from functools import partial
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from scipy.signal import lfilter
from scipy.stats import binom
from sklearn.mixture import GaussianMixture

from skdiscrepancy import (
    conditional_hsic_test,
    hsic_column_tests,
    hsic_test,
    joint_independence_test,
    ksd_test,
    mmd_column_tests,
)
from skdiscrepancy.monitoring import drift_report

LEVELS = (0.01, 0.05)
FIRST_SEED = 100_001
OPTIONS = {"n_resamples": 199, "n_jobs": 1}
LABELS = np.array(["a", "b", "c", "d"])
SIZES = ["S", "M", "L"]
CONDITIONAL = ["categorical X", "label y", "both labels"]
CONDITIONAL += ["discrete given", "integer given", "all discrete"]


def series(rng, n, rho=0.5):
    """Draw stationary AR(1) process with variance 1."""
    noise = np.sqrt(1 - rho**2) * rng.normal(size=n + 50)
    return lfilter([1], [1, -rho], noise)[50:]


def classes_of(rng, z):
    """Draw one of three labels for each row, which depends on z."""
    utility = 2 * z[:, np.newaxis] * [-1, 0, 1] + rng.gumbel(size=(len(z), 3))
    return LABELS[utility.argmax(axis=1)]


def draw_table(n, rng):
    """Draw eight columns of all types, of which `amount` depends on `segment`."""
    segment = rng.integers(3, size=n)
    age = rng.normal(45, 12, n)
    age[rng.random(n) < 0.1] = np.nan
    seconds = rng.uniform(0, 30 * 86_400, n).astype("timedelta64[s]")
    return pd.DataFrame(
        {
            "segment": np.array(["basic", "family", "pro"])[segment],
            "amount": segment + rng.normal(size=n),
            "age": age,
            "visits": rng.poisson(4, n),
            "region": rng.choice(["north", "east", "south", "west", None], n),
            "returning": rng.random(n) < 0.4,
            "size": pd.Categorical(rng.choice(SIZES, n), SIZES, ordered=True),
            "ordered": np.datetime64("2026-03-01T00:00:00") + seconds,
        }
    )


def table(rng, seed, target):
    """Test a mixed table with missing values against an independent y."""
    n = 100
    y = rng.exponential(size=n)
    if target == "label":
        y = rng.choice(LABELS, n, p=[0.5, 0.3, 0.15, 0.05])
    return hsic_test(draw_table(n, rng), y, random_state=seed, **OPTIONS).pvalue


def hsic_blocks(rng, seed, rho):
    """Test two independent series. Four of five cycles of shifts permute blocks."""
    x, y = series(rng, 200, rho), series(rng, 200, rho)
    options = {"block_length": "auto", **OPTIONS, "n_resamples": 999}
    return hsic_test(x, y, random_state=seed, **options).pvalue


def conditional(rng, seed, kind, block_length=1):
    """Test X and y that both depend on z, and on nothing else that they share."""
    n, rho = 100, 0.0 if block_length == 1 else 0.5
    z = series(rng, n, rho)
    if kind == "discrete given":
        z = rng.choice(LABELS, n)
        X, y = (z == "a") + 2.0 * (z == "b") + 0.5 * rng.normal(size=(2, n))
    elif kind == "integer given":
        z = rng.poisson(2, n)
        X, y = np.sin(z) + 0.5 * rng.normal(size=(2, n))
    elif kind == "all discrete":
        z = rng.choice(LABELS, n)
        X, y = (classes_of(rng, (z == "a") - 1.0 * (z == "b")) for _ in range(2))
    else:
        X, y = (np.sin(2 * z) + 0.5 * series(rng, n, rho) for _ in range(2))
        X = classes_of(rng, z) if kind in ("categorical X", "both labels") else X
        y = classes_of(rng, z) if kind in ("label y", "both labels") else y
    X = pd.DataFrame({"x": X})
    options = {"block_length": block_length, **OPTIONS}
    return conditional_hsic_test(X, y, z, random_state=seed, **options).pvalue


def ksd(rng, seed, model, d=1, n=100, **options):
    """Test draws from a known density or from a fitted one, or a fit to X itself."""
    X, known = rng.normal(size=(n, d)), None
    if model == "fixed":
        known = partial(np.multiply, -1)
    elif model == "fitted":
        known = GaussianMixture(2, random_state=seed).fit(X)
        X = rng.permutation(known.sample(n)[0])
    return ksd_test(X, known, random_state=seed, **OPTIONS, **options).pvalue


def joint_blocks(rng, seed, n):
    """Test three independent series. All cycles but the first permute blocks."""
    variables = (series(rng, n) for _ in range(3))
    options = {"block_length": "auto", "n_jobs": 1}
    return joint_independence_test(*variables, random_state=seed, **options).pvalue


def report(rng, seed):
    """Compare two mixed tables with missing values that share a distribution."""
    n = 100
    reference, new = draw_table(n, rng), draw_table(n, rng)
    new["segment"] = rng.permutation(new["segment"])
    # In one half of all rows, on average, amounts depend on segments.
    both = pd.concat([reference, new], ignore_index=True)
    both = both.iloc[rng.permutation(2 * n)].reset_index(drop=True)
    tables = both[:n], both[n:]
    return drift_report(*tables, random_state=seed, **OPTIONS).joint_test.pvalue


def column_tests(rng, seed, test, effect):
    """Return the fraction of false discoveries among the discoveries at each level."""
    n, d, false = 50, 10, 3
    common = rng.normal(size=(2, 2, n, 1))
    # The last columns depend on each other, but on none of the first columns.
    X, Y = np.sqrt(0.5) * (rng.normal(size=(2, n, d)) + np.repeat(common[0], d, axis=2))
    X[:, :false] += np.sqrt(0.5) * (common[1, 0] - common[0, 0])
    if test == "mmd":
        Y[:, :false] += effect
        tests = mmd_column_tests(X, Y, n_jobs=1, random_state=seed)
    else:
        y = effect * X[:, :false].sum(axis=1) + rng.normal(size=n)
        tests = hsic_column_tests(X, y, n_jobs=1, random_state=seed)
    found = np.greater_equal.outer(LEVELS, tests.adjusted_pvalues)
    wrong = found[:, false if effect else 0 :].sum(axis=1)
    return wrong / np.maximum(found.sum(axis=1), 1)


# Name of each setting, and a function that draws a p-value for a seed.
SETTINGS = {
    "hsic_test, mixed table, number, n = 100": partial(table, target="number"),
    "hsic_test, mixed table, label, n = 100": partial(table, target="label"),
    "hsic_test, block_length='auto', white, n = 200": partial(hsic_blocks, rho=0.0),
    "hsic_test, block_length='auto', AR(.5), n = 200": partial(hsic_blocks, rho=0.5),
    "drift_report, joint test, mixed tables, n = 2 x 100": report,
    "ksd_test, 8 features, fixed model, d = 2, n = 600": partial(
        ksd, model="fixed", n_components=8, d=2, n=600
    ),
}
for D, model, d in product((8, 32), ("fixed", "fitted", "own"), (1, 5)):
    name = f"ksd_test, {D} features, {model} model, d = {d}, n = 100"
    SETTINGS[name] = partial(ksd, model=model, n_components=D, d=d)
for kind in CONDITIONAL:
    name = f"conditional_hsic_test, {kind}, n = 100"
    SETTINGS[name] = partial(conditional, kind=kind)
for length in ("auto", 10):
    name = f"conditional_hsic_test, block_length={length!r}, AR(.5), n = 100"
    SETTINGS[name] = partial(conditional, kind="numbers", block_length=length)
for n in (100, 200):
    name = f"joint_independence_test, block_length='auto', AR(.5), n = {n}"
    SETTINGS[name] = partial(joint_blocks, n=n)
for test, n_false, effect in (("mmd", 0, 0.0), ("mmd", 3, 0.8), ("hsic", 3, 0.3)):
    name = f"{test}_column_tests, {n_false} of 10 columns differ, n = 50"
    SETTINGS[name] = partial(column_tests, test=test, effect=effect)


def measure(draw, seeds):
    """Return the number of rejections at each level, and how many draws warned."""
    rejected, warned = np.zeros(len(LEVELS)), 0
    for seed in seeds:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            # Another kind of generator than the one that draws the resamples.
            drawn = draw(np.random.default_rng(seed), seed)
        rejected += np.less_equal(drawn, LEVELS) if np.isscalar(drawn) else drawn
        warned += bool(caught)
    return rejected, warned


def row_of(name, draws, rejected, warned):
    """Return a row of the table."""
    row = {"name": name, "draws": draws}
    row["seeds"] = f"{FIRST_SEED} to {FIRST_SEED + draws - 1}"
    for level, count in zip(LEVELS, rejected, strict=True):
        row[f"rejected at {level}"] = round(float(count), 3)
        least, most = binom.ppf([0.0005, 0.9995], draws, level)
        row[f"limits at {level}"] = f"{least:.0f} to {most:.0f}"
    return row | {"warned": warned}


def main():
    """Top up the draws of all settings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results/levels.csv"
    )
    args = parser.parse_args()
    rows = {}
    if args.output.exists():
        with args.output.open() as file:
            rows = {row["name"]: row for row in csv.DictReader(file)}
    for name, draw in SETTINGS.items():
        if args.only not in name:
            continue
        start = process_time()
        row = rows.get(name, {"draws": 0, "warned": 0})
        rejected = [float(row.get(f"rejected at {level}", 0)) for level in LEVELS]
        draws, warned = int(row["draws"]), int(row["warned"])
        while draws < args.draws:
            more = min(50, args.draws - draws)
            first = FIRST_SEED + draws
            counts, others = measure(draw, range(first, first + more))
            rejected, warned, draws = rejected + counts, warned + others, draws + more
            rows[name] = row_of(name, draws, rejected, warned)
            with args.output.open("w", newline="") as file:
                writer = csv.DictWriter(file, fieldnames=list(rows[name]))
                writer.writeheader()
                writer.writerows(rows.values())
        print(rows[name], f"{process_time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
