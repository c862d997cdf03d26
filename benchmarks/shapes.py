"""Measure the power of hsic_test for the twenty shapes of hyppo, beside other tests.

Usage: ``python benchmarks/shapes.py [--rows N ...] [--shapes NAME ...] [--draws N]
[--first SEED]``. Prints a line for each shape and number of rows, and adds it to
``results/shapes.csv``. Needs hyppo. One thread; 20 minutes with the defaults.

The shapes are the simulations of hyppo 0.5.2 with one column and ``noise=True``. The
other tests are those of hyppo with its defaults, on the same draws. As in
``hyppo.tools.power``, a test rejects if its statistic exceeds the 95 % quantile of the
statistics of permuted draws, here of four permutations of each draw.

The column "HHG, published" has the figures that hyppo stores for this setting
(github.com/neurodata/hyppo, benchmarks/vs_samplesize, 5000 draws). They are older than
the noise of some shapes, such as exponential and joint normal, so the column "HHG" is
the one to compare with.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import importlib
import itertools

import numpy as np
from power import RESULTS, write

from skdiscrepancy import hsic_test

# Defaults were chosen on draws with seeds below 50 000.
FIRST_SEED = 100_000
LEVEL = 0.05
PEERS = ("MGC", "HHG", "Dcorr", "Hsic")
N_PERMUTATIONS = 4
WITHOUT_NOISE = ("multiplicative_noise", "multimodal_independence")
# For 50 and 100 rows.
PUBLISHED = {
    "linear": (0.766, 0.985),
    "exponential": (0.999, 1.0),
    "cubic": (0.880, 0.998),
    "joint_normal": (1.0, 1.0),
    "step": (0.628, 0.947),
    "quadratic": (0.441, 0.825),
    "w_shaped": (0.472, 0.847),
    "spiral": (0.305, 0.740),
    "uncorrelated_bernoulli": (0.984, 1.0),
    "logarithmic": (0.743, 0.979),
    "fourth_root": (0.166, 0.353),
    "sin_four_pi": (0.107, 0.240),
    "sin_sixteen_pi": (0.061, 0.058),
    "square": (0.228, 0.682),
    "two_parabolas": (0.241, 0.491),
    "circle": (0.447, 0.897),
    "ellipse": (0.436, 0.897),
    "diamond": (0.650, 0.986),
    "multiplicative_noise": (0.570, 0.901),
    "multimodal_independence": (0.055, 0.050),
}


def draw(shape, n, seed):
    """Draw n rows of a shape, with the generator of hyppo, which is the global one."""
    simulations = importlib.import_module("hyppo.tools.indep_sim").SIMULATIONS
    np.random.seed(seed)
    noise = {} if shape in WITHOUT_NOISE else {"noise": True}
    return simulations[shape](n, 1, **noise)


def power_of_hyppo(name, samples):
    """Return how often the statistic exceeds the quantile of permuted samples."""
    test = getattr(importlib.import_module("hyppo.independence"), name)()
    observed = [test.statistic(x, y) for x, y in samples]
    rng = np.random.RandomState(0)
    null = [
        test.statistic(x, rng.permutation(y))
        for x, y in samples
        for _ in range(N_PERMUTATIONS)
    ]
    return np.mean(np.array(observed) > np.quantile(null, 1 - LEVEL))


def known():
    """Return the rows of the table so far."""
    path = RESULTS / "shapes.csv"
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {(row["shape"], int(row["rows"])): row for row in csv.DictReader(file)}


def with_means(table):
    """Return the rows of the table in order, with means over all shapes."""
    rows = []
    for n in sorted({n for _, n in table}):
        own = [table[shape, n] for shape in PUBLISHED if (shape, n) in table]
        rows += own
        if len(own) == len(PUBLISHED):
            names = ("hsic_test", *PEERS, "HHG, published")
            means = {k: np.mean([float(row[k]) for row in own]) for k in names}
            means = {k: round(float(mean), 3) for k, mean in means.items()}
            rows.append({**own[0], "shape": "mean", "standard error": "", **means})
    return rows


def main():
    """Measure all shapes and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[50, 100])
    parser.add_argument("--shapes", nargs="+", default=list(PUBLISHED))
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="first seed")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.draws)
    for n, shape in itertools.product(options.rows, options.shapes):
        samples = [draw(shape, n, seed) for seed in seeds]
        pvalues = [
            hsic_test(*sample, random_state=seed).pvalue
            for sample, seed in zip(samples, seeds, strict=True)
        ]
        rate = np.mean(np.array(pvalues) <= LEVEL)
        found = {"hsic_test": rate}
        found["standard error"] = np.sqrt(rate * (1 - rate) / len(seeds))
        found |= {name: power_of_hyppo(name, samples) for name in PEERS}
        found = {name: round(float(value), 3) for name, value in found.items()}
        published = {50: PUBLISHED[shape][0], 100: PUBLISHED[shape][1]}.get(n, "")
        row = {"shape": shape, "rows": n, "draws": len(seeds), **found}
        row["HHG, published"] = published
        print(row, flush=True)
        write(with_means(known() | {(shape, n): row}), RESULTS / "shapes.csv")


if __name__ == "__main__":
    main()
