"""Measure the level and the delays of the sequential tests.

Usage: ``python benchmarks/sequential.py [--part level|delay] [--streams N] [--rows N]
[--seed N] [--output DIR]``. It prints a line for each setting and writes
``sequential.csv``; lines of the other part are kept, and so are lines of other
seeds. One thread.

Levels are of many streams side by side, with 16 random features (8 for HSIC) and
kernels that are learnt from one warm-up for all streams of a setting. Delays are of the
public classes with their defaults, each stream with its own warm-up.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
from itertools import count
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy import stats

from skdiscrepancy import SequentialHSICTest, SequentialKSDTest, SequentialMMDTest
from skdiscrepancy.monitoring._sequential import Bets, features_of, product_features

LEVEL, SEED = 0.05, 100_000
STREAMS, ROWS = 1000, 10_000


def normal(d):
    """Return a function that draws normal rows."""
    return lambda rng, n: rng.normal(size=(n, d))


def integers(rng, n):
    """Draw rows with many ties."""
    return rng.randint(3, size=(n, 1)).astype(float)


def cauchy(rng, n):
    """Draw rows without a mean."""
    return rng.standard_cauchy(size=(n, 2))


def changes_of_pairs(draw, rng, n):
    """Yield differences of features for a true null of the two-sample test."""
    test = SequentialMMDTest(n_components=16, random_state=rng.randint(10**6))
    test.update(draw(rng, 20), draw(rng, 20))
    while True:
        x, y = (features_of(test._maps, draw(rng, n), n) for _ in range(2))
        yield x - y, x - y


def changes_of_targets(draw, rng, n):
    """Yield differences of features for independent X and y, every second row."""
    test = SequentialHSICTest(n_components=8, random_state=rng.randint(10**6))
    # Integers are numbers here.
    test.set_params(target_kernel=test.kernel)
    test.update(draw(rng, 20), draw(rng, 20))
    while True:
        a, b, c, e = (
            features_of(maps, draw(rng, n), n) for maps in test._maps for _ in range(2)
        )
        change = product_features(a - b, c - e)
        yield None
        yield change, change


def changes_of_draws(model, rng, n):
    """Yield differences of Stein features for rows of the model."""
    test = SequentialKSDTest(model, n_components=16, random_state=rng.randint(10**6))
    test.update(model.rvs(size=20, random_state=rng))
    while True:
        rows = (model.rvs(size=(n, 1), random_state=rng) for _ in range(2))
        x, z = (
            features_of(test._maps, (X, test._source._gradients(X)), n) for X in rows
        )
        yield x - z, x


LEVELS = {
    "MMD, normal, 2 columns": (changes_of_pairs, normal(2)),
    "MMD, three integers": (changes_of_pairs, integers),
    "MMD, Cauchy, 2 columns": (changes_of_pairs, cauchy),
    "HSIC, normal, 1 column": (changes_of_targets, normal(1)),
    "HSIC, three integers": (changes_of_targets, integers),
    "HSIC, Cauchy, 2 columns": (changes_of_targets, cauchy),
    "KSD, normal model": (changes_of_draws, stats.norm()),
    "KSD, Cauchy model": (changes_of_draws, stats.cauchy()),
}


def largest_wealth(changes, n_rows):
    """Return the largest log-wealth of each stream, after 20 rows of warm-up."""
    bets, largest, terms = Bets(), -np.inf, iter(changes)
    for i in range(n_rows):
        term = next(terms)
        if term is not None:
            bets.step(*term, bet=i >= 20)
            largest = np.maximum(largest, bets.log_wealth)
    return largest


def shifted(rng):
    """Return a test, and rows for it: 10 columns, one mean shifted by .35."""

    def draw():
        y = rng.normal(size=(1, 10))
        y[:, 0] += 0.35
        return rng.normal(size=(1, 10)), y

    return SequentialMMDTest, (), draw


def scaled(rng):
    """Return a test, and rows for it: 2 columns, standard deviation 1.5."""
    return (
        SequentialMMDTest,
        (),
        lambda: (rng.normal(size=(1, 2)), 1.5 * rng.normal(size=(1, 2))),
    )


def linear(rng):
    """Return a test, and rows for it: a correlation of .4."""

    def draw():
        x = rng.normal(size=(1, 1))
        return x, 0.4 * x[0] + np.sqrt(1 - 0.4**2) * rng.normal(size=1)

    return SequentialHSICTest, (), draw


def quadratic(rng):
    """Return a test, and rows for it: y is a square with noise."""

    def draw():
        x = rng.normal(size=(1, 1))
        return x, x[0] ** 2 + rng.normal(size=1)

    return SequentialHSICTest, (), draw


def wrong_mean(rng):
    """Return a test, and rows for it: a mean of .35 in place of 0."""
    return SequentialKSDTest, (stats.norm(),), lambda: (rng.normal(0.35, size=(1, 1)),)


def heavy_tails(rng):
    """Return a test, and rows for it: Student t (3) in place of a normal model."""
    model = stats.norm(scale=np.sqrt(3))
    return SequentialKSDTest, (model,), lambda: (rng.standard_t(3, size=(1, 1)),)


DELAYS = {
    "MMD, 10 columns, one mean shifted by .35": shifted,
    "MMD, 2 columns, standard deviation 1.5": scaled,
    "HSIC, correlation .4": linear,
    "HSIC, y = x^2 + noise": quadratic,
    "KSD, mean .35": wrong_mean,
    "KSD, Student t (3), normal model of its variance": heavy_tails,
}


def delay(make, seed, most):
    """Return the number of rows until the test rejects, infinity after `most`."""
    rng = np.random.RandomState(seed)
    cls, args, draw = make(rng)
    test = cls(*args, random_state=seed, level=LEVEL)
    # Blocks of rows take less time, and give the same rows to rejection.
    for start in count(0, 20):
        rows = [
            np.concatenate(side)
            for side in zip(*(draw() for _ in range(20)), strict=True)
        ]
        if (rejected := test.update(*rows)).any():
            return start + int(rejected.argmax()) + 1
        if start >= most:
            return np.inf


def main():
    """Measure all settings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=["level", "delay"])
    parser.add_argument("--streams", type=int, default=STREAMS)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results"
    )
    args = parser.parse_args()
    path, lines = args.output / "sequential.csv", {}
    if path.exists():
        with path.open() as file:
            lines = {
                (line["setting"], int(line["seed"])): line
                for line in csv.DictReader(file)
            }
    n = args.streams
    for name in [*LEVELS, *DELAYS]:
        part = "level" if name in LEVELS else "delay"
        if args.part not in (None, part) or args.only not in name:
            continue
        start = perf_counter()
        line = {"setting": name, "seed": args.seed, "streams": n}
        if part == "level":
            changes, model = LEVELS[name]
            rng = np.random.RandomState(args.seed)
            largest = largest_wealth(changes(model, rng, n), args.rows)
            share = float(np.mean(largest >= -np.log(LEVEL)))
            line |= {"rows": args.rows, "rejected": share}
        else:
            seeds = range(args.seed, args.seed + n)
            delays = np.array([delay(DELAYS[name], s, args.rows) for s in seeds])
            low, median, high = np.quantile(delays, [0.25, 0.5, 0.75], method="lower")
            line |= {"rows": args.rows, "rejected": float(np.mean(delays < np.inf))}
            line |= {"lower quartile": low, "median": median, "upper quartile": high}
        lines[name, args.seed] = line
        print(line, f"{perf_counter() - start:.0f} s", flush=True)
        fields = ["setting", "seed", "streams", "rows", "rejected"]
        fields += ["lower quartile", "median", "upper quartile"]
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, fields, restval="")
            writer.writeheader()
            writer.writerows(lines.values())


if __name__ == "__main__":
    main()
