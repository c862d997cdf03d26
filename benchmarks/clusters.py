"""Measure how often tests of rows in clusters reject, with and without `clusters`.

Usage: ``python benchmarks/clusters.py [--draws N] [--only NAME] [--output DIR]``. It
prints a line for each setting and writes ``clusters.csv``. Null hypotheses are true.
The sleep study is simulated from the variance components that lme4 publishes: 18
subjects of 10 days. The fertility rates of 20 random countries in 30 years need
statsmodels. One thread; about 3 minutes for 1000 draws.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import warnings
from functools import cache
from pathlib import Path
from time import process_time

import numpy as np

from skdiscrepancy import hsic_test, k_sample_test, mmd_test

LEVEL = 0.05
SEEDS = 10**6
DAYS = np.arange(10.0)


def reactions(rng, n_subjects=18):
    """Draw reaction times, with a random intercept and slope for each subject."""
    deviations = np.array([24.74, 5.92])
    correlation = np.array([[1.0, 0.066], [0.066, 1.0]])
    effects = rng.multivariate_normal(
        [251.4, 10.47], correlation * np.outer(deviations, deviations), n_subjects
    )
    noise = 25.59 * rng.normal(size=(n_subjects, len(DAYS)))
    subject = np.repeat(np.arange(n_subjects), len(DAYS))
    return (effects[:, :1] + effects[:, 1:] * DAYS + noise).ravel(), subject


@cache
def countries():
    """Read the fertility rates of the countries that have all of them, 1981 to 2010."""
    from statsmodels.datasets import fertility

    table = fertility.load_pandas().data
    rates = table[[str(year) for year in range(1981, 2011)]].to_numpy(dtype=float)
    return rates[np.isfinite(rates).all(axis=1)]


def fertility_rates(rng):
    """Draw 20 countries."""
    rates = countries()
    rates = rates[rng.permutation(len(rates))[:20]]
    return rates.ravel(), np.repeat(np.arange(20), rates.shape[1])


def split(rng, draw, effect=0.0, n_samples=2):
    """Return the p-value for clusters that are divided among samples at random."""
    values, labels = draw(rng)
    owners = rng.permutation(np.arange(labels[-1] + 1) % n_samples)[labels]
    values = values + effect * (owners == 1)
    if n_samples > 2:
        return lambda clusters, **how: (
            k_sample_test(
                values, groups=owners, clusters=labels if clusters else None, **how
            ).pvalue
        )
    parts = [owners == a for a in range(2)]
    both = [values[own] for own in parts]
    given = [labels[own] for own in parts]
    return lambda clusters, **how: (
        mmd_test(*both, clusters=given if clusters else None, **how).pvalue
    )


def divide(rng, draw, effect=0.0):
    """Return the p-value for random rows of each cluster, a third in one sample.

    Each cluster has a deviation of its own in each sample.
    """
    values, labels = draw(rng)
    n_rows = len(values) // (labels[-1] + 1)
    second = np.concatenate(
        [rng.permutation(n_rows) >= n_rows // 3 for _ in range(labels[-1] + 1)]
    )
    own = 14 * rng.normal(size=(labels[-1] + 1, 2))
    values = values + own[labels, second.astype(int)] + effect * second
    both, given = [values[~second], values[second]], [labels[~second], labels[second]]
    return lambda clusters, **how: (
        mmd_test(*both, clusters=given if clusters else None, **how).pvalue
    )


def dependence(rng, n_clusters, effect=0.0, constant=False, n_rows=10):
    """Return the p-value for two variables, with a random effect of each cluster.

    Half of the variance is within clusters, unless y is `constant` in each cluster.
    """
    labels = np.repeat(np.arange(n_clusters), n_rows)
    x, y = rng.normal(size=(2, n_clusters))[:, labels]
    x += rng.normal(size=len(labels))
    if not constant:
        y += rng.normal(size=len(labels))
    y += effect * (x**2 - 2) if not constant else 0
    return lambda clusters, **how: (
        hsic_test(
            x, y, clusters=labels if clusters else None, kernel="gaussian", **how
        ).pvalue
    )


# How a test is drawn, and what the power is measured for.
CASES = {
    "mmd_test, sleep study, subjects split": (split, (reactions,), 60.0),
    "mmd_test, fertility, countries split": (split, (fertility_rates,), None),
    "mmd_test, sleep study, subjects in both": (divide, (reactions,), 30.0),
    "k_sample_test, sleep study, 3 samples": (split, (reactions, 0.0, 3), None),
    "hsic_test, y constant, 20 clusters": (dependence, (20, 0.0, True), None),
    "hsic_test, both vary, 10 clusters": (dependence, (10,), 0.3),
    "hsic_test, both vary, 20 clusters": (dependence, (20,), 0.3),
    "hsic_test, both vary, 50 clusters": (dependence, (50,), 0.3),
    "hsic_test, both vary, 20 clusters of 2": (dependence, (20, 0.0, False, 2), None),
}


def rejections(make, args, draws, *, clusters):
    """Return the fraction of rejections."""
    rejected = 0
    for seed in range(draws):
        test = make(np.random.RandomState(seed), *args)
        # The data and the permutations have different seeds.
        how = {"random_state": SEEDS + seed, "n_jobs": 1}
        how |= {} if clusters else {"block_length": 1}
        rejected += test(clusters, **how) <= LEVEL
    return rejected / draws


def main():
    """Measure all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results"
    )
    args = parser.parse_args()
    # Clusters that are left out on purpose.
    warnings.simplefilter("ignore")
    lines = []
    for name, (make, given, effect) in CASES.items():
        if args.only not in name:
            continue
        start, few = process_time(), args.draws // 5
        line = {
            "test": name,
            "draws": args.draws,
            "type I error": rejections(make, given, args.draws, clusters=True),
            "draws of the others": few,
            "type I error, rows as independent": rejections(
                make, given, few, clusters=False
            ),
            "power": "",
        }
        if effect is not None:
            with_effect = given[0], effect, *given[2:]
            line["power"] = rejections(make, with_effect, few, clusters=True)
        print(line, f"{process_time() - start:.0f} s", flush=True)
        lines.append(line)
    with (args.output / "clusters.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
