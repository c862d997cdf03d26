"""Measure how often tests with random features reject, and how long they take.

Usage: ``python benchmarks/feature_power.py [--power] [--level] [--compress]
[--repetitions N]``. ``--power`` compares features with designs and a sub-sample,
``--compress`` with Compress Then Test of goodpoints, which must be installed, and
``--level`` counts the rejections of true null hypotheses. Prints a line for each
setting. One thread; times are CPU times.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
from collections.abc import Callable
from functools import partial
from time import process_time

import numpy as np
from scipy.stats import binom

from skdiscrepancy import hsic_test, ksd_test, mmd_test

LEVEL = 0.05
ONE_KERNEL = {"kernel": "gaussian", "bandwidth": "grid"}
FEATURES = {"n_components": 256}
Draw = Callable[[np.random.RandomState], tuple]
Test = Callable[..., float]


def spread(rng, n=3000):
    """Draw five columns, one of them with a standard deviation of 1.12."""
    X, Y = rng.normal(size=(2, n, 5))
    Y[:, 0] *= 1.12
    return X, Y


def shifted(rng, n=16_384, shift=0.03):
    """Draw five columns, one of them with another mean."""
    X, Y = rng.normal(size=(2, n, 5))
    Y[:, 0] += shift
    return X, Y


def two_samples(X, Y, seed, rows=None, **options):
    """Return the p-value of the test by MMD, of the first rows of both samples."""
    options = {"n_resamples": 199, **ONE_KERNEL, **options}
    return mmd_test(X[:rows], Y[:rows], random_state=seed, **options).pvalue


def product(rng, n=1000):
    """Draw a variable that depends on the product of two columns."""
    X = rng.normal(size=(n, 2))
    return X, 0.15 * X[:, 0] * X[:, 1] + rng.normal(size=n)


def quadratic(rng, n=3000):
    """Draw a variable that depends on the square of one of five columns."""
    X = rng.normal(size=(n, 5))
    return X, 0.07 * X[:, 0] ** 2 + rng.normal(size=n)


def sine(rng, n=3000):
    """Draw a variable that depends on the sine of one of five columns."""
    X = rng.normal(size=(n, 5))
    return X, 0.15 * np.sin(3 * X[:, 0]) + rng.normal(size=n)


def default_dependence(X, y, seed, **options):
    """Return the p-value of the test by HSIC with its default kernels."""
    return hsic_test(X, y, random_state=seed, **options).pvalue


def dependence(X, y, seed, **options):
    """Return the p-value of the test by HSIC."""
    options = {"kernel": "gaussian", "n_resamples": 199, **options}
    return hsic_test(X, y, random_state=seed, **options).pvalue


def compress(X, Y, seed, bandwidth, **options):
    """Return 0 if Compress Then Test rejects, and 1 otherwise."""
    from goodpoints.ctt import ctt

    rejects = ctt(
        X,
        Y,
        lam=bandwidth,
        kernel="gauss",
        null_seed=seed,
        statistic_seed=seed + 1,
        alpha=LEVEL,
        **options,
    ).rejects
    return 0.0 if rejects else 1.0


def tied(rng):
    """Draw unbalanced samples of small integers."""
    return rng.poisson(2, size=(41, 2)), rng.poisson(2, size=(23, 2))


def unbalanced(rng):
    """Draw unbalanced samples with heavy tails."""
    return rng.standard_t(3, size=(20, 3)), rng.standard_t(3, size=(75, 3))


def independent(rng):
    """Draw heavy-tailed columns and an exponential variable."""
    return rng.standard_t(3, size=(60, 2)), rng.exponential(size=60)


def independent_ties(rng):
    """Draw small integers and labels that do not depend on them."""
    return rng.poisson(2, size=(60, 2)), rng.choice(["a", "b", "c"], size=60)


def in_blocks(rng):
    """Draw heavy-tailed columns in two blocks, and an exponential variable."""
    X, y = independent(rng)
    return [X[:35], X[35:]], y


def normal(rng, n=80):
    """Draw a sample of a standard normal distribution, and its gradients."""
    X = rng.normal(size=(n, 2))
    return X, -X


def model(rng):
    """Draw a sample of a standard normal distribution, and the distribution."""
    from scipy.stats import multivariate_normal

    return rng.normal(size=(50, 2)), multivariate_normal(np.zeros(2))


def pvalue(test, *data, **options):
    """Return the p-value of a small test with features."""
    *data, seed = data
    options = {"n_resamples": 99, "n_components": 32, **options}
    return test(*data, random_state=seed, **options).pvalue


LEVELS: dict[str, tuple[Draw, Test]] = {
    "MMD, 41 + 23 rows with ties": (tied, partial(pvalue, mmd_test)),
    "MMD, 20 + 75 rows": (unbalanced, partial(pvalue, mmd_test)),
    "HSIC, 60 rows": (independent, partial(pvalue, hsic_test)),
    "HSIC, 60 rows with ties, labels": (independent_ties, partial(pvalue, hsic_test)),
    "HSIC, 60 rows in blocks": (in_blocks, partial(pvalue, hsic_test)),
    "KSD, wild bootstrap, 80 rows": (normal, partial(pvalue, ksd_test)),
    "KSD, wild bootstrap, 400 rows": (
        partial(normal, n=400),
        partial(pvalue, ksd_test),
    ),
    "KSD, parametric bootstrap, 50 rows": (
        model,
        partial(pvalue, ksd_test, method="parametric", n_resamples=19),
    ),
}
POWERS: dict[str, tuple[Draw, Test]] = {
    name: (spread, partial(two_samples, **options))
    for name, options in {
        "all pairs": {},
        "256 features": FEATURES,
        "64 features": {"n_components": 64},
        "design x": {"design": "x"},
        "design r": {"design": "r"},
        "design b": {"design": "b"},
        "design d": {"design": "d"},
        "all pairs of 750 rows": {"rows": 750},
    }.items()
}
POWERS |= {
    f"HSIC, {name}": (product, partial(dependence, **options))
    for name, options in {"all pairs": {}, "256 features": FEATURES}.items()
}
POWERS |= {
    f"HSIC, default kernels, {draw.__name__}, {name}": (
        draw,
        partial(default_dependence, **options),
    )
    for draw in (quadratic, sine)
    for name, options in {"all pairs": {}, "256 features": FEATURES}.items()
}
# The median bandwidth, with which no test sees the data before they are compressed.
MEDIAN = {"bandwidth": 3.0}
COMPRESS: dict[str, tuple[Draw, Test]] = {
    "256 features": (shifted, partial(two_samples, **FEATURES, **MEDIAN)),
    "64 features": (shifted, partial(two_samples, n_components=64, **MEDIAN)),
    **{
        f"Compress Then Test, g = {g}": (
            shifted,
            partial(compress, bandwidth=3.0, g=g, B=199, s=16),
        )
        for g in (0, 2, 4)
    },
}


def measure(name, draw, test, repetitions, first_seed):
    """Print the number of rejections, the CPU time, and the 99.9 % limits of .05."""
    rejections, times = 0, []
    for seed in range(first_seed, first_seed + repetitions):
        data = draw(np.random.RandomState(seed))
        start = process_time()
        rejections += test(*data, seed) <= LEVEL
        times.append(process_time() - start)
    low, high = binom.interval(0.999, repetitions, LEVEL)
    print(
        f"{name:<52}{rejections:>5} of {repetitions}, median {np.median(times):.3f} s"
        f"  (level .05: {low:.0f} to {high:.0f})",
        flush=True,
    )


def main():
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("power", "level", "compress"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--repetitions", type=int)
    arguments = parser.parse_args()
    for asked, settings, repetitions in (
        (arguments.power, POWERS, 100),
        (arguments.level, LEVELS, 1000),
        (arguments.compress, COMPRESS, 50),
    ):
        if asked:
            for name, (draw, test) in settings.items():
                measure(name, draw, test, arguments.repetitions or repetitions, 70_000)


if __name__ == "__main__":
    main()
