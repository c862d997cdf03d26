"""Measure how often the conditional test rejects, and how long it takes.

Usage: ``python benchmarks/conditional.py [--null] [--power] [--weak] [--warning]
[--time] [--peer] [--draws N] [--only NAME ...] [--output FILE]``. ``--null`` counts the
rejections of true null hypotheses, ``--power`` the rejections of alternatives,
``--weak`` the rejections of a weak linear effect by the test, by the test with linear
kernels and by the coefficient of a linear regression with robust standard errors,
``--warning`` how often the test warns where the regression is hard, and ``--time``
measures CPU times. ``--peer`` also runs the test KCI of causal-learn, which must be
installed. Every line is a row of a CSV file. One thread.

Generators, with z standard normal with p columns, and e standard normal:

- same-p: X = sin(3 z_1) + .3 e, Y = sin(3 z_1) + .3 e.
- nonlinear-p: X = tanh(2 a.z) + .5 e, Y = cos(2 b.z) + .5 e, with random a, b of
  length 1.
- linear-p: X = 2 a.z + .5 e, Y = 2 b.z + .5 e.
- heteroscedastic-1: X = z e, Y = z e.
- weak-3 and series-3: Z, X - b.z and Y - c.z have the autoregressive coefficient 0 and
  .5, all with a standard deviation of 1.

Alternatives: "weak" adds 3.5 / sqrt(n) (X - b.z) to Y, "linear" adds
.35 (X - mean X), and "quadratic" adds .5 (X^2 - mean X^2).
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import sys
import warnings
from time import process_time

import numpy as np
from scipy.stats import norm
from sklearn.linear_model import LinearRegression

from skdiscrepancy import conditional_hsic_test
from skdiscrepancy.kernels import LinearKernel

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
    if name in ("weak", "series"):
        own = rng.normal(size=(n + 50, int(p) + 2))
        for row in range(1, n + 50) if name == "series" else ():
            own[row] = 0.5 * own[row - 1] + 0.75**0.5 * own[row]
        Z, noise = own[50:, 2:], own[50:, :2].T
        b, c = rng.normal(size=(2, int(p)))
        X, Y = Z @ b / np.linalg.norm(b), Z @ c / np.linalg.norm(c)
        X, Y = X + noise[0], Y + noise[1]
        if alternative == "weak":
            Y = Y + 3.5 / n**0.5 * noise[0]
    elif name == "same":
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


def ours(X, Y, Z, seed, regressor=None, **options):
    """Return the p-value of the test, and whether it warned."""
    options = {"n_resamples": 199, "n_jobs": 1, "random_state": seed, **options}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = conditional_hsic_test(X, Y, Z, regressor=regressor, **options)
    return result.pvalue, any("too small" in str(w.message) for w in caught)


def kci(X, Y, Z, seed):
    """Return the p-value of causal-learn, which never warns."""
    from causallearn.utils.KCI.KCI import KCI_CInd

    np.random.seed(seed)
    return KCI_CInd().compute_pvalue(X[:, None], Y[:, None], Z)[0], False


def straight(X, Y, Z, seed):
    """Return the p-value of the test with a linear regression, and its warning."""
    return ours(X, Y, Z, seed, LinearRegression())


LINEAR = {"kernel": LinearKernel(), "target_kernel": LinearKernel()}


def partial(X, Y, Z, seed):
    """Return the p-value of the test with linear regression and linear kernels."""
    return ours(X, Y, Z, seed, LinearRegression(), **LINEAR)


def blocks(X, Y, Z, seed):
    """Return the p-value of the test for series."""
    return ours(X, Y, Z, seed, block_length="auto")


def linear_blocks(X, Y, Z, seed):
    """Return the p-value of the test for series with linear kernels."""
    return ours(X, Y, Z, seed, block_length="auto", **LINEAR)


def robust(X, Y, Z, seed, lags=4):
    """Return the p-value of the coefficient of X, with Newey and West's errors."""
    Z = np.column_stack([np.ones(len(X)), Z])
    of_x, of_y = (y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0] for y in (X, Y))
    scores = of_x * (of_y - of_x * (of_x @ of_y) / (of_x @ of_x))
    variance = scores @ scores
    for lag in range(1, lags + 1):
        variance += 2 * (1 - lag / (lags + 1)) * scores[lag:] @ scores[:-lag]
    return 2 * norm.sf(abs(of_x @ of_y) / np.sqrt(variance)), False


TESTS = {
    "conditional_hsic_test": ours,
    "KCI": kci,
    "linear regression": straight,
    "linear regression and kernels": partial,
    "blocks": blocks,
    "blocks and linear kernels": linear_blocks,
    "coefficient": robust,
}


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
    for name in ("null", "power", "weak", "warning", "time", "peer"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=100_000)
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
    how = arguments.draws, arguments.seed, arguments.output
    if arguments.weak:
        for test in ("linear regression", "linear regression and kernels"):
            for generator in ("linear-1", "linear-3"):
                measure(test, generator, "", 200, *how)
        for test in ("blocks", "blocks and linear kernels", "coefficient"):
            for generator in ("weak-3", "series-3"):
                for alternative in ("", "weak"):
                    measure(test, generator, alternative, 200, *how)
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
