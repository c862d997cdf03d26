"""Measure how often the tests reject: under the null, and under known alternatives.

Usage: ``python benchmarks/power.py [--level] [--power] [--repetitions N] [--only TEXT]
[--output DIR]``. Prints a line for each setting and writes ``level.csv`` and
``power.csv``. One thread; about two hours with the defaults. ``--only`` measures the
settings whose names contain the text, and writes nothing.

``shapes.py`` measures the power of ``hsic_test``, and ``goodness_of_fit.py`` that of
``ksd_test``.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import itertools
from functools import partial
from pathlib import Path

import numpy as np
from scipy.signal import lfilter
from scipy.stats import binom, norm
from sklearn.covariance import EmpiricalCovariance

from skdiscrepancy import k_sample_test
from skdiscrepancy.inference import hsic_test, ksd_test, mmd_test

RESULTS = Path(__file__).resolve().parent / "results"
LEVELS = (0.05, 0.01)
POOLINGS = ("max", "fuse", "agg", "mean")
# Defaults were chosen on draws with seeds below 50 000.
FIRST_SEED = 100_000


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


def uniforms(n, d, size, rng):
    """Draw uniform and perturbed uniform samples."""
    return rng.uniform(size=(n, d)), perturbed_uniform(n, d, size, rng)


def sine(n, size, rng):
    """Draw a uniform sample and one with the density 1 + size * sin(4 pi x)."""
    x = rng.uniform(size=20 * n)
    kept = rng.uniform(size=20 * n) * (1 + size) < 1 + size * np.sin(4 * np.pi * x)
    return rng.uniform(size=(n, 1)), x[kept][:n, np.newaxis]


def four_modes(n, deviation, rng):
    """Draw a mixture, and one with another standard deviation in one mode."""
    centres = np.array([(20, 20), (20, -20), (-20, 20), (-20, -20)])
    samples = []
    for first in (1.0, deviation):
        mode = rng.randint(4, size=n)
        scale = np.where(mode == 0, first, 1.0)[:, np.newaxis]
        samples.append(scale * rng.normal(size=(n, 2)) + centres[mode])
    return samples


def shifted(sizes, d, shift, n_columns, rng):
    """Draw normal samples that differ in the means of some columns."""
    X, Y = (rng.normal(size=(size, d)) for size in sizes)
    Y[:, :n_columns] += shift
    return X, Y


def scaled(d, variance, rng, n=100):
    """Draw normal samples that differ in the variance of all columns."""
    X, Y = rng.normal(size=(2, n, d))
    return X, np.sqrt(variance) * Y


def equicorrelated(d, correlations, rng, n=100):
    """Draw normal samples with other correlations between all columns."""
    return [
        np.sqrt(rho) * rng.normal(size=(n, 1))
        + np.sqrt(1 - rho) * rng.normal(size=(n, d))
        for rho in correlations
    ]


def thin_hypercube(rng, n=100, d=1000, n_thin=30):
    """Draw uniform samples, of which the second is narrower in some columns."""
    X, Y = rng.uniform(size=(2, n, d))
    Y[:, :n_thin] = 0.1 + 0.8 * Y[:, :n_thin]
    return X, Y


def heavy_tails(rng, n=100, d=30):
    """Draw multivariate t samples with 10 degrees of freedom and other scales."""
    index = np.arange(d)
    root = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(index, index)))
    return [
        np.sqrt(scale * 10 / rng.chisquare(10, size=(n, 1)))
        * (rng.normal(size=(n, d)) @ root.T)
        for scale in (1.0, 1.25)
    ]


def one_factor(rng, n=100, d=500):
    """Draw normal samples, of which the second has five equal columns."""
    X, Y = rng.normal(size=(2, n, d))
    Y[:, -5:] = np.sqrt(3) * rng.normal(size=(n, 1))
    return X, Y


def autoregressive(d, correlations, rng, n=100):
    """Draw samples whose columns are autoregressive processes with variance 1."""
    return [
        lfilter(
            [1], [1, -rho], np.sqrt(1 - rho**2) * rng.normal(size=(n, d + 50)), axis=1
        )[:, 50:]
        for rho in correlations
    ]


# Settings of two samples, the best published power, and which test has it.
FUSED = "MMDAgg or MMD-FUSE"
POWER = (
    ("correlation 0, .5, d = 2", partial(equicorrelated, 2, (0.0, 0.5)), None, ""),
    ("uniforms, d = 1, n = 200, a = .5", partial(uniforms, 200, 1, 0.5), 0.62, FUSED),
    ("uniforms, d = 2, n = 200, a = 1", partial(uniforms, 200, 2, 1.0), 0.38, FUSED),
    ("uniforms, d = 1, n = 500, a = .3", partial(uniforms, 500, 1, 0.3), 0.605, FUSED),
    ("uniforms, d = 1, n = 500, a = .5", partial(uniforms, 500, 1, 0.5), 0.985, FUSED),
    ("uniforms, d = 2, n = 500, a = .6", partial(uniforms, 500, 2, 0.6), 0.485, FUSED),
    ("uniforms, d = 2, n = 500, a = 1", partial(uniforms, 500, 2, 1.0), 0.995, FUSED),
    ("sine, n = 200, a = .5", partial(sine, 200, 0.5), None, ""),
    ("four modes, .5, n = 200", partial(four_modes, 200, 0.5), 0.70, FUSED),
    ("four modes, 2, n = 200", partial(four_modes, 200, 2.0), 0.44, FUSED),
    ("four modes, .5, n = 150", partial(four_modes, 150, 0.5), None, ""),
    ("four modes, 2, n = 150", partial(four_modes, 150, 2.0), None, ""),
    ("shift .35 in 1 of 2", partial(shifted, (100, 100), 2, 0.35, 1), None, ""),
    ("shift .5 in 1 of 3", partial(shifted, (100, 150), 3, 0.5, 1), None, ""),
    ("shift .1 in 50 of 50", partial(shifted, (100, 100), 50, 0.1, 50), None, ""),
    ("shift 1 in 2 of 250", partial(shifted, (100, 100), 250, 1.0, 2), 0.97, "KLR"),
    ("variance 1.35^2, d = 1", partial(scaled, 1, 1.35**2), None, ""),
    ("variance 1.2, d = 20", partial(scaled, 20, 1.2), 0.84, "MMMD"),
    ("t10, 1.25 Sigma, d = 30", heavy_tails, 0.64, "MMMD"),
    ("thin hypercube, d = 1000", thin_hypercube, 0.61, "KLR0"),
    (
        "equicorrelation .5, .55, d = 500",
        partial(equicorrelated, 500, (0.5, 0.55)),
        1.0,
        "KLR",
    ),
    ("five equal columns, d = 500", one_factor, 0.995, "KLR"),
    ("AR .5, .6, d = 500", partial(autoregressive, 500, (0.5, 0.6)), 0.94, "KLR0"),
)


def in_one_sample(draw):
    """Return a test of two samples of 100 rows that are drawn together."""

    def run(rng, n, **options):
        Z = draw(rng)
        return mmd_test(Z[:n], Z[n:], random_state=rng, **options)

    return run


def zeros_and_exponentials(rng):
    """Draw five columns of zeros, and exponential numbers in a tenth of the cells."""
    return rng.exponential(size=(200, 5)) * (rng.uniform(size=(200, 5)) < 0.1)


# Samples of 200 rows of one distribution.
SAMPLES = {
    "normal, d = 1": lambda rng: rng.normal(size=(200, 1)),
    "normal, d = 10": lambda rng: rng.normal(size=(200, 10)),
    "normal, d = 100": lambda rng: rng.normal(size=(200, 100)),
    "normal, d = 1000": lambda rng: rng.normal(size=(200, 1000)),
    "Cauchy, d = 1": lambda rng: rng.standard_cauchy(size=(200, 1)),
    "Cauchy, d = 10": lambda rng: rng.standard_cauchy(size=(200, 10)),
    "t3, d = 5": lambda rng: rng.standard_t(3, size=(200, 5)),
    "log-normal, d = 3": lambda rng: np.exp(2 * rng.normal(size=(200, 3))),
    "equicorrelated, d = 500": lambda rng: equicorrelated(500, [0.5], rng, 200)[0],
    "AR .5, d = 300": lambda rng: autoregressive(300, [0.5], rng, 200)[0],
    "Bernoulli(.1), d = 1": lambda rng: 1.0 * rng.binomial(1, 0.1, size=(200, 1)),
    "Poisson(1), d = 4": lambda rng: 1.0 * rng.poisson(1, size=(200, 4)),
    "digits, d = 2": lambda rng: 1.0 * rng.randint(10, size=(200, 2)),
    "zeros and exponentials, d = 5": zeros_and_exponentials,
}


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


def three_samples(rng, n, **options):
    """Test three samples of different sizes."""
    Z = rng.standard_t(3, size=(n, 3))
    found = k_sample_test(Z[:20], Z[20:80], Z[80:], random_state=rng, **options)
    return found.overall


def null_cases():
    """Yield names and tests of true null hypotheses."""

    def case(kind, run, n, name, **options):
        def test(rng):
            return run(rng, n, **{"n_resamples": 199, **options})

        return f"{kind}, {name}, n = {n}", test

    for name, draw in SAMPLES.items():
        yield case("MMD", in_one_sample(draw), 100, f"permutation, u, {name}")
    for name in ("normal, d = 1", "normal, d = 100", "Cauchy, d = 10", "digits, d = 2"):
        own = in_one_sample(SAMPLES[name])
        yield case("MMD", own, 40, f"permutation, u, {name}, m = 160")
    own = in_one_sample(SAMPLES["t3, d = 5"])
    yield case("MMD", own, 40, "permutation, v, t3, d = 5, m = 160", design="v")
    options = {"n_components": 64}
    yield case("MMD", own, 60, "permutation, u, t3, d = 5, 64 features", **options)
    yield case("MMD", three_samples, 200, "permutation, u, t3, d = 3, k = 3")
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


def measure_level(n_repetitions, only=""):
    """Return a row for each null case: rates, and whether they are within limits."""
    rows = []
    for name, run in null_cases():
        if only not in name:
            continue
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


def rates(draw, n_repetitions, **options):
    """Return the rejection rates at .05 of mmd_test for each pooling."""
    seeds, found = range(FIRST_SEED, FIRST_SEED + n_repetitions), []
    for seed in seeds:
        X, Y = draw(np.random.RandomState(seed))
        how = {"random_state": seed, "n_resamples": 199, **options}
        found.append([mmd_test(X, Y, pooling=p, **how).pvalue for p in POOLINGS])
    return dict(zip(POOLINGS, np.mean(np.array(found) <= 0.05, axis=0), strict=True))


def measure_power(n_repetitions, only=""):
    """Return a row for each alternative: rates at .05, and the best published rate."""
    rows = []
    for name, draw, published, test in POWER:
        for kernel in (("gaussian", "laplace"), ("gaussian", "laplace", "covariance")):
            with_covariance = len(kernel) == 3
            if only not in name or (
                with_covariance and "equal" not in name and "AR" not in name
            ):
                continue
            found = rates(draw, n_repetitions, kernel=kernel)
            power = found["max"]
            error = np.sqrt(power * (1 - power) / n_repetitions)
            row = {"alternative": name + ", with covariance" * with_covariance}
            row |= {pooling: f"{rate:.3f}" for pooling, rate in found.items()}
            row |= {"standard error of max": f"{error:.3f}"}
            row |= {"published": published or "", "test": test}
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
    parser.add_argument("--repetitions", type=int, metavar="N", help="1000 and 400")
    parser.add_argument("--only", default="", metavar="TEXT", help="part of names")
    parser.add_argument("--output", type=Path, default=RESULTS, metavar="DIR")
    options = parser.parse_args()
    both = options.level == options.power
    for wanted, measure, draws, name in (
        (options.power, measure_power, 400, "power.csv"),
        (options.level, measure_level, 1000, "level.csv"),
    ):
        if both or wanted:
            rows = measure(options.repetitions or draws, options.only)
            if not options.only:
                write(rows, options.output / name)


if __name__ == "__main__":
    main()
