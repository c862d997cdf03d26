"""Measure the power and the type I error of ksd_test and ksd_compare.

Usage: ``python benchmarks/goodness_of_fit.py [--first N] [--draws N] [--output DIR]
[SETTING ...]``. Settings are names, or beginnings of names. Prints a line for each
setting and adds it to ``goodness_of_fit.csv``. One thread; about an hour in total.

Gamma data and the Gauss-Bernoulli machine are the settings of A. Schrab et al., "KSD
aggregated goodness-of-fit test", NeurIPS 2022. Their figures, from 200 draws, are in
results/results_gamma.csv and results_RBM.csv of github.com/antoninschrab/ksdagg-paper.
Their bandwidths differ by setting: 1 to 1024 medians for gamma data, and 2^-20 to 1
medians for the machine. "agg" is their rule with both ranges and wild signs.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import itertools
from pathlib import Path

import numpy as np
from scipy.stats import binom, multivariate_normal

from skdiscrepancy import ksd_compare, ksd_test
from skdiscrepancy.bandwidths import median_bandwidth

RESULTS = Path(__file__).resolve().parent / "results"
# Choices were made on draws with seeds below 50 000.
FIRST_SEED = 100_000
FIELDS = (
    "setting",
    "draws",
    "first seed",
    "radial kernels",
    "with the affine kernel",
    "agg",
    "whitened",
    "published",
    "least",
    "most",
)

# The weights of the machine are those of the code of the paper.
MACHINE = np.random.RandomState(0)
WEIGHTS = MACHINE.randint(0, 2, size=(50, 40)) * 2 - 1.0
OF_ROWS, OF_HIDDEN = MACHINE.normal(size=50), MACHINE.normal(size=40)
CHANGES = MACHINE.normal(size=(50, 40))
# Gibbs steps. The paper makes 2000, but the hidden units hardly change after the first.
STEPS = 200


def machine(noise, n=1000, steps=STEPS):
    """Return draws of a machine with noise on its weights, and gradients without."""
    weights = WEIGHTS + noise * CHANGES

    def draw(rng):
        X = rng.normal(size=(n, 50))
        for _ in range(steps + 1):
            odds = np.exp(-X @ weights - 2 * OF_HIDDEN)
            hidden = np.where(rng.uniform(size=(n, 40)) * (1 + odds) <= 1, 1.0, -1.0)
            X = rng.normal(size=(n, 50)) + hidden @ weights.T / 2 + OF_ROWS
        signs = np.tanh(X @ WEIGHTS / 2 + OF_HIDDEN)
        return X, OF_ROWS - X + signs @ WEIGHTS.T / 2

    return draw


def gamma(shift, n=500):
    """Return draws of a gamma distribution, against a smaller shape."""

    def draw(rng):
        X = rng.gamma(5 + shift, scale=5, size=(n, 1))
        return X, 4 / X - 1 / 5

    return draw


def normal(sample):
    """Return draws that are tested against a standard normal distribution."""

    def draw(rng):
        X = sample(rng)
        return X, -X

    return draw


def student(n, d):
    """Return draws of Student's t distribution, 5 degrees of freedom, variance 1."""
    return normal(lambda rng: rng.standard_t(5, size=(n, d)) * np.sqrt(0.6))


def laplace(n, d):
    """Return draws of the Laplace distribution of variance 1."""
    return normal(lambda rng: rng.laplace(scale=np.sqrt(0.5), size=(n, d)))


def shifted(n, d, shift, columns=None):
    """Return normal draws with another mean of the first columns."""
    moved = np.arange(d) < (columns or d)
    return normal(lambda rng: rng.normal(size=(n, d)) + shift * moved)


def scaled(n, d, scale, columns=None):
    """Return normal draws with another standard deviation of the first columns."""
    factors = np.where(np.arange(d) < (columns or d), scale, 1)
    return normal(lambda rng: rng.normal(size=(n, d)) * factors)


def correlated(n, d, correlation):
    """Return normal draws of variance 1 whose columns are all correlated."""
    own, shared = np.sqrt(1 - correlation), np.sqrt(correlation)

    def sample(rng):
        return own * rng.normal(size=(n, d)) + shared * rng.normal(size=(n, 1))

    return normal(sample)


def mixture(n, d, weight, distance=1.2):
    """Return draws of two normal modes, against modes of equal weight."""

    def draw(rng):
        X = rng.normal(size=(n, d))
        X[:, 0] += np.where(rng.uniform(size=n) < weight, distance, -distance)
        gradients = -X
        gradients[:, 0] += distance * np.tanh(distance * X[:, 0])
        return X, gradients

    return draw


def wave(n, d, frequency, size=0.5):
    """Return draws of a normal density times 1 + a sine of the first column."""

    def sample(rng):
        X = rng.normal(size=(8 * n, d))
        density = 1 + size * np.sin(frequency * X[:, 0])
        return X[rng.uniform(size=8 * n) * (1 + size) < density][:n]

    return normal(sample)


# Settings, with the power of KSDAgg.
POWER = {
    "gamma, shape + .1": (gamma(0.1), 0.175),
    "gamma, shape + .2": (gamma(0.2), 0.495),
    "gamma, shape + .3": (gamma(0.3), 0.82),
    "gamma, shape + .4": (gamma(0.4), 0.945),
    "machine, noise .01": (machine(0.01), 0.345),
    "machine, noise .02": (machine(0.02), 0.995),
    "machine, noise .03": (machine(0.03), 1.0),
    "machine, noise .04": (machine(0.04), 1.0),
    "Laplace, d = 1, n = 200": (laplace(200, 1), None),
    "Laplace, d = 5, n = 150": (laplace(150, 5), None),
    "Student t, d = 1, n = 400": (student(400, 1), None),
    "Student t, d = 5, n = 200": (student(200, 5), None),
    "mean + .15, d = 1, n = 200": (shifted(200, 1, 0.15), None),
    "mean + .12, d = 2, n = 200": (shifted(200, 2, 0.12), None),
    "one mean + .3, d = 10, n = 200": (shifted(200, 10, 0.3, 1), None),
    "scale 1.12, d = 1, n = 200": (scaled(200, 1, 1.12), None),
    "scale 1.06, d = 5, n = 200": (scaled(200, 5, 1.06), None),
    "scale 1.05, d = 20, n = 200": (scaled(200, 20, 1.05), None),
    "one scale 1.2, d = 10, n = 300": (scaled(300, 10, 1.2, 1), None),
    "correlation .06, d = 10, n = 200": (correlated(200, 10, 0.06), None),
    "weight .6, d = 1, n = 300": (mixture(300, 1, 0.6), None),
    "weight .65, d = 5, n = 300": (mixture(300, 5, 0.65), None),
    "sine 3, d = 2, n = 200": (wave(200, 2, 3), None),
    "sine 6, d = 1, n = 300": (wave(300, 1, 6), None),
}
LEVEL = {
    "null: gamma": gamma(0),
    "null: normal, d = 2, n = 100": shifted(100, 2, 0),
    "null: normal, d = 10, n = 100": shifted(100, 10, 0),
    "null: normal, d = 50, n = 100": shifted(100, 50, 0),
    "null: normal, d = 300, n = 100": shifted(100, 300, 0),
    "null: machine": machine(0.0),
}


def tests_of(name, draw, rng):
    """Yield the name of a test and its p-value on one draw."""
    X, gradients = draw(rng)
    seed = rng.randint(2**31)
    given = {"random_state": seed, "n_resamples": 199 if name in LEVEL else 499}
    radial = ("gaussian", "imq")
    if name in POWER:
        yield "radial kernels", ksd_test(X, gradients, kernel=radial, **given)
    yield "with the affine kernel", ksd_test(X, gradients, **given)
    if 1 < X.shape[1] < len(X):
        yield "whitened", ksd_test(X, gradients, standardize="whiten", **given)
    if name in POWER and POWER[name][1] is not None:
        grid = median_bandwidth(X) * 2.0 ** np.arange(-20, 11)
        own = {"kernel": "imq", "bandwidth": grid, "pooling": "agg"}
        yield "agg", ksd_test(X, gradients, **own, **given)


def measure_test(name, draw, first, draws):
    """Return the rates of rejection at .05 on independent draws."""
    found = {}
    for seed in range(first, first + draws):
        for test, result in tests_of(name, draw, np.random.RandomState(seed)):
            found.setdefault(test, []).append(result.pvalue <= 0.05)
    return {test: float(np.mean(rejected)) for test, rejected in found.items()}


def comparison(correlation, change, n=500, d=4):
    """Return rows, and two normal models of which the second has a wrong covariance."""
    covariance = np.full((d, d), correlation) + (1 - correlation) * np.eye(d)
    wrong = covariance.copy()
    # The first difference of columns has another variance.
    direction = np.zeros(d)
    direction[:2] = 1, -1
    wrong += change * (1 - correlation) * np.outer(direction, direction) / 2

    def draw(rng):
        X = rng.multivariate_normal(np.zeros(d), covariance, size=n)
        return X, [multivariate_normal(np.zeros(d), C) for C in (covariance, wrong)]

    return draw


COMPARE = {
    f"compare: correlation {correlation}, variance + {change:.0%}": comparison(
        correlation, change
    )
    for correlation, change in itertools.product((0.0, 0.9, 0.99), (0.0, 0.5))
}


def measure_comparison(draw, first, draws):
    """Return how often a comparison is significant and finds the right model."""
    found = {}
    for seed in range(first, first + draws):
        X, models = draw(np.random.RandomState(seed))
        ways = {"radial kernels": False, "whitened": "whiten"}
        for way, standardize in ways.items():
            result = ksd_compare(X, *models, standardize=standardize)
            right = result.best == "model 0" and result.pvalue <= 0.05
            found.setdefault(way, []).append(right)
    return {way: float(np.mean(right)) for way, right in found.items()}


def main():
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("settings", nargs="*", help="all")
    parser.add_argument("--first", type=int, default=FIRST_SEED, metavar="N")
    parser.add_argument("--draws", type=int, metavar="N", help="400, 200 or 1000")
    parser.add_argument("--output", type=Path, default=RESULTS, metavar="DIR")
    options = parser.parse_args()
    path = options.output / "goodness_of_fit.csv"
    rows = []
    if path.exists():
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
    for name in (*POWER, *LEVEL, *COMPARE):
        if options.settings and not name.startswith(tuple(options.settings)):
            continue
        slow = "machine" in name or name in COMPARE
        draws = options.draws or (200 if slow else 1000 if name in LEVEL else 400)
        row = {"setting": name, "draws": draws, "first seed": options.first}
        if name in COMPARE:
            row |= measure_comparison(COMPARE[name], options.first, draws)
        elif name in LEVEL:
            row |= measure_test(name, LEVEL[name], options.first, draws)
            # A correct test is outside these limits in one of 1000 cases.
            row["least"], row["most"] = binom.ppf((0.0005, 0.9995), draws, 0.05) / draws
        else:
            draw, published = POWER[name]
            row |= measure_test(name, draw, options.first, draws)
            row["published"] = published
        print(row, flush=True)
        rows = [other for other in rows if other["setting"] != name] + [row]
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
