"""Measure how often the tests reject: under the null, and under known alternatives.

Usage: ``python benchmarks/power.py [--level] [--power] [--repetitions N]
[--output DIR]``. Prints a line for each setting and writes ``level.csv`` and
``power.csv``. One thread; about half an hour with the defaults.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import itertools
from pathlib import Path

import numpy as np
from scipy.stats import binom

from skdiscrepancy.inference import hsic_test, ksd_test, mmd_test

RESULTS = Path(__file__).resolve().parent / "results"
LEVELS = (0.05, 0.01)


def bump(t):
    """Return the perturbation of one coordinate."""
    out = np.zeros_like(t)
    first, second = (t > -1) & (t < -0.5), (t > -0.5) & (t < 0)
    out[first] = np.exp(-1 / (1 - (4 * t[first] + 3) ** 2))
    out[second] = -np.exp(-1 / (1 - (4 * t[second] + 1) ** 2))
    return out


def perturbed_uniform(n, d, size, rng):
    """Draw from the perturbed uniform density, with two bumps in each coordinate."""
    corners = list(itertools.product((1, 2), repeat=d))
    signs = rng.choice((-1, 1), size=len(corners))
    kept = np.empty((0, d))
    while len(kept) < n:
        x = rng.uniform(size=(4 * n, d))
        density = 1 + size * np.exp(d) * sum(
            sign * np.prod([bump(2 * x[:, r] - j[r]) for r in range(d)], axis=0)
            for sign, j in zip(signs, corners, strict=True)
        )
        kept = np.concatenate((kept, x[rng.uniform(size=4 * n) * (1 + size) < density]))
    return kept[:n]


def uniforms(n, d, size):
    """Return a test of uniform against perturbed uniform samples."""

    def run(rng):
        X, Y = rng.uniform(size=(n, d)), perturbed_uniform(n, d, size, rng)
        return mmd_test(X, Y, random_state=rng)

    return run


def four_modes(deviation):
    """Return a test of a mixture against one with another deviation in one mode."""

    def run(rng):
        centres = np.array([(20, 20), (20, -20), (-20, 20), (-20, -20)])
        samples = []
        for first in (1.0, deviation):
            mode = rng.randint(4, size=200)
            scale = np.where(mode == 0, first, 1.0)[:, np.newaxis]
            samples.append(scale * rng.normal(size=(200, 2)) + centres[mode])
        return mmd_test(*samples, random_state=rng)

    return run


def shifted_normals(rng):
    """Test normal samples that differ in the mean of one coordinate."""
    X, Y = rng.normal(size=(100, 3)), rng.normal(size=(150, 3))
    Y[:, 0] += 0.5
    return mmd_test(X, Y, random_state=rng)


def correlated(correlation):
    """Return a test of linear dependence."""

    def run(rng):
        x, noise = rng.normal(size=(2, 200))
        y = correlation * x + np.sqrt(1 - correlation**2) * noise
        return hsic_test(x[:, np.newaxis], y, random_state=rng)

    return run


def laplace_data(d):
    """Return a test of Laplace data of unit variance against a standard normal."""

    def run(rng):
        X = rng.laplace(scale=np.sqrt(0.5), size=(200, d))
        return ksd_test(X, lambda X: -X, random_state=rng)

    return run


def gamma_data(shift):
    """Return a test of gamma data against a gamma model of another shape."""

    def run(rng):
        X = rng.gamma(5 + shift, scale=5, size=(500, 1))
        return ksd_test(X, lambda X: 4 / X - 1 / 5, random_state=rng)

    return run


# Settings, with the rate to be reached and where it is from.
POWER = (
    ("MMD, perturbed uniform, d = 1, n = 200, a = .5", uniforms(200, 1, 0.5), 0.62),
    ("MMD, perturbed uniform, d = 2, n = 200, a = 1", uniforms(200, 2, 1.0), 0.38),
    ("MMD, four modes, deviation .5", four_modes(0.5), 0.70),
    ("MMD, four modes, deviation 2", four_modes(2.0), 0.44),
    ("MMD, shift .5, d = 3, m = 100, n = 150", shifted_normals, 0.88),
    ("MMD, perturbed uniform, d = 1, n = 500, a = .3", uniforms(500, 1, 0.3), 0.605),
    ("MMD, perturbed uniform, d = 1, n = 500, a = .5", uniforms(500, 1, 0.5), 0.985),
    ("MMD, perturbed uniform, d = 2, n = 500, a = .6", uniforms(500, 2, 0.6), 0.485),
    ("MMD, perturbed uniform, d = 2, n = 500, a = 1", uniforms(500, 2, 1.0), 0.995),
    ("HSIC, correlation .2, n = 200", correlated(0.2), 0.62),
    ("HSIC, correlation .4, n = 200", correlated(0.4), 0.98),
    ("KSD, Laplace data, d = 1, n = 200", laplace_data(1), 0.88),
    ("KSD, Laplace data, d = 5, n = 200", laplace_data(5), 0.95),
    ("KSD, gamma data, shift .1, n = 500", gamma_data(0.1), 0.17),
    ("KSD, gamma data, shift .2, n = 500", gamma_data(0.2), 0.43),
    ("KSD, gamma data, shift .3, n = 500", gamma_data(0.3), 0.75),
    ("KSD, gamma data, shift .4, n = 500", gamma_data(0.4), 0.915),
)


def null_cases():
    """Yield names and tests of true null hypotheses."""
    designs = {"u": 60, "v": 60, "d": 60, "r": 60, "x": 400, "l": 400, "b": 400}
    for design, n in designs.items():
        params = {"design": design, "n_resamples": 199, "n_bandwidths": 4}

        def mmd(rng, n=n, params=params):
            X, Y = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
            return mmd_test(X, Y, random_state=rng, **params)

        def hsic(rng, n=n, params=params):
            X, y = rng.standard_t(3, size=(n, 2)), rng.exponential(size=n)
            return hsic_test(X, y, random_state=rng, **params)

        def ksd(rng, n=n, params=params):
            n = max(n, 200)
            X = rng.normal(size=(n, 2))
            return ksd_test(X, lambda X: -X, random_state=rng, **params)

        yield f"MMD, design {design}, normal, n = {n}", mmd
        yield f"HSIC, design {design}, t and exponential, n = {n}", hsic
        yield f"KSD, design {design}, normal, n = {max(n, 200)}", ksd

    def tied(rng):
        X = rng.binomial(1, 0.1, size=(30, 1)).astype(float)
        Y = rng.binomial(1, 0.1, size=(300, 1)).astype(float)
        return mmd_test(X, Y, n_resamples=199, random_state=rng)

    def tied_labels(rng):
        X = rng.binomial(1, 0.1, size=(60, 1)).astype(float)
        return hsic_test(X, rng.binomial(1, 0.1, size=60), random_state=rng)

    def grouped(rng):
        X, Y = rng.normal(size=(103, 2)), rng.normal(size=(211, 2))
        params = {"n_groups": 40, "n_resamples": 199, "n_bandwidths": 4}
        return mmd_test(X, Y, random_state=rng, **params)

    yield "MMD, Bernoulli(.1), m = 30, n = 300", tied
    yield "HSIC, Bernoulli(.1) twice, n = 60", tied_labels
    yield "MMD, 40 groups of 7 rows, normal, m = 103, n = 211", grouped


def pvalues_of(run, n_repetitions):
    """Run a test on independent draws and return the p-values."""
    return np.array(
        [run(np.random.RandomState(seed)).pvalue for seed in range(n_repetitions)]
    )


def measure_level(n_repetitions):
    """Return a row for each null case: rates, and whether they are within limits."""
    rows = []
    for name, run in null_cases():
        pvalues = pvalues_of(run, n_repetitions)
        row = {"case": name, "draws": n_repetitions}
        for level in LEVELS:
            rate = np.mean(pvalues <= level)
            most = binom.ppf(0.9995, n_repetitions, level) / n_repetitions
            row[f"rate at {level}"] = round(float(rate), 4)
            row[f"limit at {level}"] = round(float(most), 4)
        row["held"] = (
            "yes"
            if all(row[f"rate at {lv}"] <= row[f"limit at {lv}"] for lv in LEVELS)
            else "NO"
        )
        print(row, flush=True)
        rows.append(row)
    return rows


def measure_power(n_repetitions):
    """Return a row for each alternative: the rate at .05 and what it is to reach."""
    rows = []
    for name, run, target in POWER:
        rate = float(np.mean(pvalues_of(run, n_repetitions) <= 0.05))
        error = np.sqrt(target * (1 - target) / n_repetitions)
        row = {
            "case": name,
            "draws": n_repetitions,
            "rate at 0.05": round(rate, 4),
            "to reach": target,
            "reached": "yes" if rate >= target - 2 * error else "NO",
        }
        print(row, flush=True)
        rows.append(row)
    return rows


def write(rows, path):
    """Write rows as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main():
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--level", action="store_true", help="level only")
    parser.add_argument("--power", action="store_true", help="power only")
    parser.add_argument("--repetitions", type=int, metavar="N", help="1000 and 200")
    parser.add_argument("--output", type=Path, default=RESULTS, metavar="DIR")
    options = parser.parse_args()
    both = options.level == options.power
    if both or options.power:
        rows = measure_power(options.repetitions or 200)
        write(rows, options.output / "power.csv")
    if both or options.level:
        rows = measure_level(options.repetitions or 1000)
        write(rows, options.output / "level.csv")


if __name__ == "__main__":
    main()
