"""Measure how often the tests reject: under the null, and under known alternatives.

Usage: ``python benchmarks/power.py [--level] [--power] [--repetitions N]
[--output DIR]``. Prints a line for each setting and writes ``level.csv`` and
``power.csv``. One thread; about an hour with the defaults.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import itertools
from pathlib import Path

import numpy as np
from scipy.stats import binom, norm
from sklearn.covariance import EmpiricalCovariance

from skdiscrepancy.inference import hsic_test, ksd_test, mmd_test

RESULTS = Path(__file__).resolve().parent / "results"
LEVELS = (0.05, 0.01)
POOLINGS = ("max", "fuse", "agg", "mean")
# Defaults were chosen on draws with other seeds: 0 to 99 and 40 000 to 50 399.
FIRST_SEED = 60_000


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

    def run(rng, **options):
        X, Y = rng.uniform(size=(n, d)), perturbed_uniform(n, d, size, rng)
        return mmd_test(X, Y, random_state=rng, **options)

    return run


def four_modes(deviation):
    """Return a test of a mixture against one with another deviation in one mode."""

    def run(rng, **options):
        centres = np.array([(20, 20), (20, -20), (-20, 20), (-20, -20)])
        samples = []
        for first in (1.0, deviation):
            mode = rng.randint(4, size=200)
            scale = np.where(mode == 0, first, 1.0)[:, np.newaxis]
            samples.append(scale * rng.normal(size=(200, 2)) + centres[mode])
        return mmd_test(*samples, random_state=rng, **options)

    return run


def shifted_normals(rng, **options):
    """Test normal samples that differ in the mean of one coordinate."""
    X, Y = rng.normal(size=(100, 3)), rng.normal(size=(150, 3))
    Y[:, 0] += 0.5
    return mmd_test(X, Y, random_state=rng, **options)


def correlated(correlation):
    """Return a test of linear dependence."""

    def run(rng, **options):
        x, noise = rng.normal(size=(2, 200))
        y = correlation * x + np.sqrt(1 - correlation**2) * noise
        return hsic_test(x[:, np.newaxis], y, random_state=rng, **options)

    return run


def laplace_data(d):
    """Return a test of Laplace data of unit variance against a standard normal."""

    def run(rng, **options):
        X = rng.laplace(scale=np.sqrt(0.5), size=(200, d))
        return ksd_test(X, lambda X: -X, random_state=rng, **options)

    return run


def gamma_data(shift):
    """Return a test of gamma data against a gamma model of another shape."""

    def run(rng, **options):
        X = rng.gamma(5 + shift, scale=5, size=(500, 1))
        return ksd_test(X, lambda X: 4 / X - 1 / 5, random_state=rng, **options)

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


def two_normals(rng, n, **options):
    """Test two samples of a normal distribution."""
    X, Y = rng.normal(size=(2, n, 2))
    return mmd_test(X, Y, random_state=rng, **options)


def independent(rng, n, **options):
    """Test heavy-tailed columns and an exponential variable."""
    X, y = rng.standard_t(3, size=(n, 2)), rng.exponential(size=n)
    return hsic_test(X, y, random_state=rng, **options)


def true_model(rng, n, **options):
    """Test a sample of a standard normal distribution."""
    X = rng.normal(size=(n, 2))
    return ksd_test(X, lambda X: -X, random_state=rng, **options)


def known_model(rng, n, **options):
    """Test a sample of a distribution that can be drawn from."""
    return ksd_test(rng.normal(size=(n, 1)), norm(), random_state=rng, **options)


def fitted_model(rng, n, **options):
    """Test a Gaussian that is fitted to the same sample."""
    X = rng.normal(size=(n, 1))
    return ksd_test(X, EmpiricalCovariance(), random_state=rng, **options)


def tied_samples(rng, n, **options):
    """Test two discrete, heavily tied samples of different sizes."""
    X, Y = (rng.binomial(1, 0.1, size=(size, 1)) * 1.0 for size in (n // 10, n))
    return mmd_test(X, Y, random_state=rng, **options)


def rare_pairs(rng, n, **options):
    """Test two samples of a rare event, equal in nearly all pairs."""
    X, Y = (rng.binomial(1, 0.02, size=(n, 1)) * 1.0 for _ in range(2))
    return mmd_test(X, Y, random_state=rng, **options)


def tied_columns(rng, n, **options):
    """Test two binary variables."""
    X, y = rng.binomial(1, 0.1, size=(n, 1)) * 1.0, rng.binomial(1, 0.1, size=n)
    return hsic_test(X, y, random_state=rng, **options)


def grouped(rng, n, **options):
    """Test samples of different sizes that are not multiples of the groups."""
    X, Y = rng.normal(size=(n // 2, 2)), rng.normal(size=(n, 2))
    return mmd_test(X, Y, random_state=rng, **options)


def series(rng, n, **options):
    """Test two independent autoregressive series."""
    noise = rng.normal(size=(2, n + 50))
    x = np.zeros((2, n + 50))
    for t in range(1, n + 50):
        x[:, t] = 0.5 * x[:, t - 1] + noise[:, t]
    return hsic_test(x[0, 50:, np.newaxis], x[1, 50:], random_state=rng, **options)


def null_cases():
    """Yield names and tests of true null hypotheses."""

    def case(kind, run, n, name, **options):
        def test(rng):
            return run(rng, n, **{"n_resamples": 199, **options})

        return f"{kind}, {name}, n = {n}", test

    for pooling in POOLINGS:
        options = {"pooling": pooling}
        yield case("MMD", two_normals, 60, f"permutation, u, {pooling}", **options)
        yield case("HSIC", independent, 60, f"permutation, u, {pooling}", **options)
        yield case("KSD", true_model, 200, f"wild, u, {pooling}", **options)
    yield case("MMD", two_normals, 60, "permutation, v", design="v")
    yield case("MMD", grouped, 211, "permutation, u, 40 groups, m = 105")
    yield case("MMD", tied_samples, 300, "permutation, u, Bernoulli(.1), m = 30")
    yield case("HSIC", independent, 60, "permutation, v", design="v")
    yield case("HSIC", tied_columns, 60, "permutation, u, Bernoulli(.1)")
    yield case("HSIC", series, 200, "shift, u, AR(.5) series", method="shift")
    one = {"kernel": "gaussian", "bandwidth": "median", "target_bandwidth": "median"}
    gamma = {"method": "asymptotic", "design": "v", **one}
    yield case("HSIC", independent, 200, "gamma, v, one kernel", **gamma)
    yield case("KSD", true_model, 200, "wild, v", design="v")
    yield case("MMD", two_normals, 60, "swap, u, paired", paired=True)
    for design in "ldbxr":
        options = {"design": design, "method": "swap"}
        yield case("MMD", two_normals, 60, f"swap, {design}", **options)
        yield case("HSIC", independent, 60, f"swap, {design}", **options)
        options["method"] = "wild"
        yield case("KSD", true_model, 200, f"wild, {design}", **options)
    for design in "ldbxr":
        options = {"design": design, "method": "swap"}
        yield case("MMD", rare_pairs, 40, f"swap, {design}, Bernoulli(.02)", **options)
    for design in "lbx":
        options = {"design": design, "method": "asymptotic"}
        name = f"normal, {design}, Bernoulli(.02)"
        yield case("MMD", rare_pairs, 200, name, **options)
        yield case("MMD", two_normals, 400, f"normal, {design}", **options)
        yield case("HSIC", independent, 400, f"normal, {design}", **options)
        yield case("KSD", true_model, 400, f"normal, {design}", **options)
    draws = {"method": "parametric", "n_resamples": 99}
    for design in ("u", "d"):
        name = f"parametric, {design}"
        yield case("KSD", known_model, 30, name, design=design, **draws)
    yield case("KSD", fitted_model, 200, "parametric, u, model refitted", **draws)


def pvalues_of(run, n_repetitions, **options):
    """Run a test on independent draws and return the p-values."""
    seeds = range(FIRST_SEED, FIRST_SEED + n_repetitions)
    return np.array([run(np.random.RandomState(s), **options).pvalue for s in seeds])


def measure_level(n_repetitions):
    """Return a row for each null case: rates, and whether they are within limits."""
    rows = []
    for name, run in null_cases():
        pvalues = pvalues_of(run, n_repetitions)
        row = {"case": name, "draws": n_repetitions}
        held = True
        for level in LEVELS:
            rate = float(np.mean(pvalues <= level))
            most = float(binom.ppf(0.9995, n_repetitions, level) / n_repetitions)
            row[f"rate at {level}"] = round(rate, 4)
            row[f"limit at {level}"] = round(most, 4)
            held = held and rate <= most
        row["held"] = "yes" if held else "NO"
        print(row, flush=True)
        rows.append(row)
    return rows


def measure_power(n_repetitions):
    """Return a row for each alternative: rates at .05, and what is to be reached."""
    rows = []
    for name, run, target in POWER:
        rates = {
            pooling: float(
                np.mean(pvalues_of(run, n_repetitions, pooling=pooling) <= 0.05)
            )
            for pooling in POOLINGS
        }
        error = np.sqrt(target * (1 - target) / n_repetitions)
        row = {"case": name, "draws": n_repetitions}
        row |= {pooling: round(rate, 4) for pooling, rate in rates.items()}
        row["to reach"] = target
        row["reached"] = "yes" if rates["max"] >= target - 2 * error else "NO"
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
