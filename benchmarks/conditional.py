"""Measure how often the conditional test rejects, and how long it takes.

Usage: ``python benchmarks/conditional.py [--null] [--power] [--warning] [--time]
[--peer] [--draws N] [--only NAME ...] [--output FILE]``. ``--null`` counts the
rejections of true null hypotheses, ``--power`` the rejections of alternatives,
``--warning`` how often the test warns where the regression is hard, and ``--time``
measures CPU times. ``--peer`` also runs the test KCI of causal-learn, which must be
installed. Every line is a row of a CSV file. One thread.

Generators, with z standard normal with p columns, and e standard normal:

- same-p: X = sin(3 z_1) + .3 e, Y = sin(3 z_1) + .3 e.
- nonlinear-p: X = tanh(2 a.z) + .5 e, Y = cos(2 b.z) + .5 e, with random a, b of
  length 1.
- linear-p: X = 2 a.z + .5 e, Y = 2 b.z + .5 e.
- heteroscedastic-1: X = z e, Y = z e.

Alternatives: "linear" adds .35 (X - mean X) to Y, and "quadratic" adds
.5 (X^2 - mean X^2).
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import sys
import warnings
from time import process_time

import numpy as np
from sklearn.linear_model import LinearRegression

from skdiscrepancy import conditional_hsic_test

LEVEL = 0.05
GENERATORS = [
    *(f"{name}-{p}" for name in ("same", "nonlinear", "linear") for p in (1, 3, 5)),
    "heteroscedastic-1",
]
# Null hypotheses where the regression is hard, with their numbers of rows.
HARD = [
    ("same-1", 60),
    ("same-3", 60),
    ("same-5", 60),
    ("steps-1", 200),
    ("steps-1", 800),
    ("fast-1", 200),
    ("fast-3", 200),
]
FIELDS = "test,generator,alternative,n,draws,rejected,warned,seconds"


def draw(generator, n, rng, alternative=""):
    """Draw X, Y and Z."""
    name, p = generator.rsplit("-", 1)
    Z = rng.normal(size=(n, int(p)))
    noise = rng.normal(size=(2, n))
    if name == "same":
        X, Y = np.sin(3 * Z[:, 0]) + 0.3 * noise
    elif name == "fast":
        X, Y = np.sin(8 * Z[:, 0]) + 0.3 * noise
    elif name == "steps":
        X, Y = np.sign(np.sin(4 * Z[:, 0])) + 0.2 * noise
    elif name == "heteroscedastic":
        X, Y = Z[:, 0] * noise
    else:
        a, b = rng.normal(size=(2, int(p)))
        X, Y = 2 * Z @ a / np.linalg.norm(a), 2 * Z @ b / np.linalg.norm(b)
        if name == "nonlinear":
            X, Y = np.tanh(X), np.cos(Y)
        X, Y = X + 0.5 * noise[0], Y + 0.5 * noise[1]
    if alternative == "linear":
        Y = Y + 0.35 * (X - X.mean())
    elif alternative == "quadratic":
        Y = Y + 0.5 * (X**2 - np.mean(X**2))
    return X, Y, Z


def ours(X, Y, Z, seed, regressor=None):
    """Return the p-value of the test, and whether it warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = conditional_hsic_test(
            X, Y, Z, regressor=regressor, n_resamples=199, n_jobs=1, random_state=seed
        )
    return result.pvalue, any("too small" in str(w.message) for w in caught)


def kci(X, Y, Z, seed):
    """Return the p-value of causal-learn, which never warns."""
    from causallearn.utils.KCI.KCI import KCI_CInd

    np.random.seed(seed)
    return KCI_CInd().compute_pvalue(X[:, None], Y[:, None], Z)[0], False


def straight(X, Y, Z, seed):
    """Return the p-value of the test with a linear regression, and its warning."""
    return ours(X, Y, Z, seed, LinearRegression())


TESTS = {"conditional_hsic_test": ours, "KCI": kci, "linear regression": straight}


def measure(test, generator, alternative, n, draws, first_seed, file):
    """Write how often a test rejects."""
    rejected = warned = 0
    start = process_time()
    for seed in range(first_seed, first_seed + draws):
        data = draw(generator, n, np.random.RandomState(seed), alternative)
        pvalue, warning = TESTS[test](*data, seed)
        rejected += pvalue <= LEVEL
        warned += warning
    seconds = (process_time() - start) / draws
    row = (test, generator, alternative or "null", n, draws)
    row += (f"{rejected / draws:.3f}", f"{warned / draws:.3f}", f"{seconds:.2f}")
    print(*row, sep=",", file=file, flush=True)


def main():
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("null", "power", "warning", "time", "peer"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=GENERATORS)
    parser.add_argument("--output", type=argparse.FileType("a"), default=sys.stdout)
    arguments = parser.parse_args()
    tests = ["conditional_hsic_test"] + ["KCI"] * arguments.peer
    settings = []
    if arguments.null:
        settings += [(generator, "", 200) for generator in arguments.only]
    if arguments.power:
        settings += [
            (generator, alternative, 200)
            for generator in arguments.only
            for alternative in ("linear", "quadratic")
        ]
    if arguments.warning:
        settings += [(generator, "", n) for generator, n in HARD]
    print(FIELDS, file=arguments.output)
    for test in tests:
        for generator, alternative, n in settings:
            measure(
                test,
                generator,
                alternative,
                n,
                arguments.draws,
                arguments.seed,
                arguments.output,
            )
    if arguments.warning:
        for generator in ("same-1", "same-3", "linear-1"):
            measure(
                "linear regression",
                generator,
                "",
                200,
                arguments.draws,
                arguments.seed,
                arguments.output,
            )
    if arguments.time:
        for n in (1000, 10_000):
            measure("conditional_hsic_test", "same-3", "", n, 1, 0, arguments.output)


if __name__ == "__main__":
    main()
