"""Measure how often a drift report detects and explains drift of an interaction.

Usage: ``python benchmarks/drift_report.py [--repetitions N] [--resamples N]
[--output DIR]``. Prints a line for each setting and writes ``drift_report.csv``. One
thread; about ten minutes with the defaults.

The reference table has eight columns of all types, with missing values. The number
`amount` depends on the category `segment`. In the new table, `segment` is exchanged
between rows, so that every column has the distribution that it had, but `amount` does
not depend on `segment` anymore. Without drift, the rows of both tables are permuted.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import binom

from skdiscrepancy.monitoring import drift_report

RESULTS = Path(__file__).resolve().parent / "results"
LEVEL = 0.05
# Distance of the means of `amount` in two segments, in standard deviations.
EFFECTS = (0.8, 1.0, 1.5)
SIZES = ["S", "M", "L"]
# The method was chosen on draws with seeds below 100.
FIRST_SEED = 60_000


def draw_table(n, effect, rng):
    """Draw a table in which `amount` depends on `segment`."""
    segment = rng.integers(3, size=n)
    age = rng.normal(45, 12, n)
    age[rng.random(n) < 0.1] = np.nan
    seconds = rng.uniform(0, 30 * 86_400, n).astype("timedelta64[s]")
    return pd.DataFrame(
        {
            "segment": np.array(["basic", "family", "pro"])[segment],
            "amount": effect * segment + rng.normal(size=n),
            "age": age,
            "visits": rng.poisson(4, n),
            "region": rng.choice(["north", "east", "south", "west", None], n),
            "returning": rng.random(n) < 0.4,
            "size": pd.Categorical(rng.choice(SIZES, n), SIZES, ordered=True),
            "ordered": np.datetime64("2026-03-01T00:00:00") + seconds,
        }
    )


def draw_pair(n, effect, rng, *, drift):
    """Draw a reference table and a new table."""
    reference, new = draw_table(n, effect, rng), draw_table(n, effect, rng)
    new["segment"] = rng.permutation(new["segment"])
    if drift:
        return reference, new
    both = pd.concat([reference, new], ignore_index=True)
    both = both.iloc[rng.permutation(2 * n)].reset_index(drop=True)
    return both[:n], both[n:]


def measure(n, effect, *, drift, repetitions, resamples):
    """Return how often the report rejects, and how often it names both columns."""
    counts = dict.fromkeys(("joint", "columns", "named", "first", "exactly"), 0)
    for seed in range(FIRST_SEED, FIRST_SEED + repetitions):
        reference, new = draw_pair(n, effect, np.random.default_rng(seed), drift=drift)
        report = drift_report(
            reference, new, level=LEVEL, n_resamples=resamples, random_state=seed
        )
        named = [name for group in report.explanation for name in group]
        cause = {"segment", "amount"}
        counts["joint"] += report.joint_test.pvalue <= LEVEL
        counts["columns"] += int(report.column_tests.adjusted_pvalues.min() <= LEVEL)
        counts["named"] += cause <= set(named)
        counts["first"] += cause == set(named[:2])
        counts["exactly"] += cause == set(named)
    return {key: count / repetitions for key, count in counts.items()}


def main():
    """Measure all settings and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--resamples", type=int, default=999)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--output", type=Path, default=RESULTS)
    args = parser.parse_args()
    low, high = binom.interval(0.99, args.repetitions, LEVEL)
    print(f"limits of the level {LEVEL}: {low / args.repetitions:.2f} to ", end="")
    print(f"{high / args.repetitions:.2f} (99 %)")
    settings = [(effect, True) for effect in EFFECTS] + [(EFFECTS[-1], False)]
    rows = []
    for effect, drift in settings:
        found = measure(
            args.rows,
            effect,
            drift=drift,
            repetitions=args.repetitions,
            resamples=args.resamples,
        )
        rows.append({"rows": args.rows, "effect": effect, "drift": drift, **found})
        print(rows[-1], flush=True)
    args.output.mkdir(parents=True, exist_ok=True)
    with (args.output / "drift_report.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
