"""Coverage of confidence intervals, and level and power of comparisons.

Run from the root of the repository, for example::

    python benchmarks/uncertainty.py coverage --draws 2000
    python benchmarks/uncertainty.py compare --draws 2000

Each command writes one line for each case to a table in ``benchmarks/results``.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
from pathlib import Path

import numpy as np

from skdiscrepancy import (
    HSICEstimator,
    KSDEstimator,
    MMDEstimator,
    hsic_compare,
    ksd_compare,
    mmd_compare,
)

RESULTS = Path(__file__).parent / "results"
# Rows and repetitions from which the discrepancies of the distributions are computed.
LARGE, N_LARGE = 4000, 8
COVERAGE = ("discrepancy", "kernels", "normalize", "n", "effect", "truth", "draws")
FOUND = ("coverage", "below", "above", "mean_error", "deviation", "level")
# From almost no discrepancy to a large one: shifts of the mean, or correlations.
EFFECTS = {
    "MMD": (0.05, 0.2, 0.5, 1.0),
    "HSIC": (0.05, 0.2, 0.5, 0.8),
    "KSD": (0.05, 0.2, 0.5, 1.0),
}
# Shifts of two candidates (weights of two variables for HSIC): both at the null
# hypothesis, equally far from it in two directions, and not equally far.
CASES = {
    "MMD": {
        "null": ([0, 0], [0, 0]),
        "equal": ([0.5, 0], [0, 0.5]),
        "opposite": ([0.5, 0], [-0.5, 0]),
        "power, one column": ([0.3, 0], [0.5, 0]),
        "power": ([0.3, 0.3], [0.5, 0.5]),
    },
    "HSIC": {"null": (0, 0), "equal": (0.5, 0.5), "power": (0.3, 0.8)},
    "KSD": {
        "equal": ([0.5, 0], [0, 0.5]),
        "opposite": ([0.5, 0], [-0.5, 0]),
        "power, one column": ([0.3, 0], [0.5, 0]),
        "power": ([0.3, 0.3], [0.5, 0.5]),
    },
}
# Rows of the reference and of both candidates. HSIC and KSD have one sample.
LEVEL_ROWS = {
    "MMD": ((60, 20, 200), (200, 20, 20), (30, 30, 30), (100, 100, 100)),
    "HSIC": ((40,), (80,), (200,)),
    "KSD": ((40,), (80,), (200,)),
}
POWER_ROWS = {
    "MMD": ((100, 100, 100), (500, 500, 500)),
    "HSIC": ((100,), (500,)),
    "KSD": ((100,), (500,)),
}
COMPARED = ("discrepancy", "case", "rows", "draws", "at 0.05", "at 0.01")
SETTINGS = {
    "median": {"kernel": "gaussian", "bandwidth": "median", "pooling": None},
    "mean": {"n_bandwidths": 2, "pooling": "mean"},
}


def draw(name, n, effect, rng):
    """Draw a sample with a discrepancy."""
    if name == "HSIC":
        x, noise = rng.normal(size=(2, n))
        return x[:, np.newaxis], effect * x + np.sqrt(1 - effect**2) * noise
    shift = np.array([effect, 0.0])
    if name == "MMD":
        return rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) + shift
    return (rng.normal(size=(n, 2)) + shift,)


def standard_score(X):
    """Return the gradient of the standard normal log-density."""
    return -X


def estimator_of(name, **options):
    """Return an estimator that is not fitted."""
    if name == "KSD":
        return KSDEstimator(standard_score, **options)
    if name == "HSIC":
        return HSICEstimator(**options)
    return MMDEstimator(**options)


def evaluate(name, sample, options):
    """Return the result for a sample, with kernels that have bandwidths."""
    estimator = estimator_of(name, **options)
    if name == "MMD":
        return estimator.fit(sample[0]).evaluate(sample[1])
    return estimator.fit(*sample).evaluate(*sample)


def fixed_kernels(name, options):
    """Return the options with the bandwidths of a large sample."""
    options = dict(options)
    if name == "HSIC" and "bandwidth" in options:
        options["target_bandwidth"] = options["bandwidth"]
    sample = draw(name, 2000, 0.0, np.random.default_rng(1))
    fitted = estimator_of(name, **options).fit(*sample[: 2 if name == "HSIC" else 1])
    fixed = {"pooling": options["pooling"], "kernel": fitted.kernels_}
    if name == "HSIC":
        fixed["target_kernel"] = fitted.target_kernels_
    return fixed


def truths(name, effect, options):
    """Return the discrepancy of the distributions, not normalised and normalised."""
    rng = np.random.default_rng(2)
    found = []
    for _ in range(N_LARGE):
        sample = draw(name, LARGE, effect, rng)
        result = evaluate(name, sample, {**options, "normalize": True})
        share = result.uncertainty.noise.share
        found.append((result.statistics, result.scales**2 * (1 - share)))
    statistics, squares = np.mean(found, axis=0)
    return statistics.mean(), (statistics / np.sqrt(squares)).mean()


def coverage(n_draws, names, sizes, kinds, ways, seed):
    """Yield one row for each case."""
    for n in sizes:
        for kind in kinds:
            for name in names:
                options = fixed_kernels(name, SETTINGS[kind])
                for effect in EFFECTS[name]:
                    both = truths(name, effect, options)
                    for normalize in ways:
                        truth = both[normalize]
                        rng = np.random.default_rng(seed)
                        given = {**options, "normalize": normalize}
                        found = []
                        for _ in range(n_draws):
                            result = evaluate(name, draw(name, n, effect, rng), given)
                            low, high = result.confidence_interval()
                            outside = low > truth, high < truth
                            # The null hypothesis of a discrepancy of at most the truth.
                            rejected = result.pvalue_above(truth) <= 0.05
                            row = result.standard_error, result.value, rejected
                            found.append((*outside, *row))
                        low, high, error, value, rejected = np.transpose(found)
                        yield {
                            "discrepancy": name,
                            "kernels": kind,
                            "normalize": normalize,
                            "n": n,
                            "effect": effect,
                            "truth": f"{truth:.6f}",
                            "draws": n_draws,
                            "coverage": 1 - low.mean() - high.mean(),
                            "below": high.mean(),
                            "above": low.mean(),
                            "mean_error": f"{error.mean():.6f}",
                            "deviation": f"{value.std():.6f}",
                            "level": rejected.mean(),
                        }


def compare(name, sizes, case, rng):
    """Return a p-value, for candidates that are equally far or not."""
    first, second = CASES[name][case]
    if name == "HSIC":
        a, b, noise = rng.normal(size=(3, *sizes))
        return hsic_compare(a, b, first * a + second * b + noise).pvalue
    X, *candidates = (rng.normal(size=(n, 2)) for n in sizes)
    if name == "KSD":
        return ksd_compare(X, first - X, second - X).pvalue
    return mmd_compare(X, candidates[0] + first, candidates[1] + second).pvalue


def comparisons(n_draws, names, cases, seed):
    """Yield one row for each case: how often a comparison rejects.

    A fifth of the draws measures samples of more than 200 rows.
    """
    for name in names:
        for case in CASES[name]:
            if cases and case not in cases:
                continue
            rows = POWER_ROWS if case.startswith("power") else LEVEL_ROWS
            for sizes in rows[name]:
                draws = n_draws if max(sizes) <= 200 else n_draws // 5
                rng = np.random.default_rng(seed)
                pvalues = [compare(name, sizes, case, rng) for _ in range(draws)]
                yield {
                    "discrepancy": name,
                    "case": case,
                    "rows": "/".join(map(str, sizes)),
                    "draws": draws,
                    "at 0.05": float(np.mean(np.array(pvalues) <= 0.05)),
                    "at 0.01": float(np.mean(np.array(pvalues) <= 0.01)),
                }


def write(path, rows, columns):
    """Write rows to a table, each as soon as it is there."""
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, columns, lineterminator="\n")
        table.writeheader()
        for row in rows:
            row = {
                key: f"{x:.4f}" if isinstance(x, float) else x for key, x in row.items()
            }
            table.writerow(row)
            file.flush()
            print(*row.values(), flush=True)


def main():
    """Run one of the studies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=("coverage", "compare"))
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--names", nargs="+", default=list(EFFECTS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[100, 500])
    parser.add_argument("--kinds", nargs="+", default=list(SETTINGS))
    parser.add_argument("--plain", action="store_true", help="not normalised only")
    parser.add_argument("--cases", nargs="+")
    parser.add_argument("--seed", type=int, default=100_001)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    path = given.output or RESULTS / f"{given.study}.csv"
    if given.study == "coverage":
        ways = (False,) if given.plain else (False, True)
        cases = given.names, given.sizes, given.kinds, ways, given.seed
        rows = coverage(given.draws, *cases)
        write(path, rows, COVERAGE + FOUND)
    else:
        rows = comparisons(given.draws, given.names, given.cases, given.seed)
        write(path, rows, COMPARED)


if __name__ == "__main__":
    main()
