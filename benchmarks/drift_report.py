"""How often a drift report is right, and how long it takes.

Run ``python -m benchmarks.drift_report explanations`` for the columns that reports
name, ``... null`` for the rate of false verdicts, and ``... times`` for seconds.
"""

# SPDX-License-Identifier: BSD-3-Clause

import sys
from time import perf_counter

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from skdiscrepancy import drift_report

FIRST_SEED = 100_000


def numbers(n, n_columns, rng):
    """Return a table of independent normal columns."""
    return pd.DataFrame(rng.normal(size=(n, n_columns))).add_prefix("x")


def mixed(n, rng):
    """Return a table with numbers, categories, a flag, dates and missing values."""
    table = numbers(n, 4, rng)
    table["skew"] = rng.exponential(size=n)
    table["kind"] = rng.choice(list("abcdef"), n)
    table["flag"] = rng.uniform(size=n) < 0.3
    days = rng.integers(0, 365, n).astype("timedelta64[D]")
    table["date"] = np.datetime64("2026-01-01", "s") + days
    table.loc[rng.uniform(size=n) < 0.05, "x3"] = np.nan
    return table


def shifted(n, n_columns, rng, columns, size):
    """Return two tables, and shift some columns of the second one."""
    tables = [numbers(n, n_columns, rng) for _ in range(2)]
    tables[1][columns] += size
    return *tables, {(name,) for name in columns}


def dependent(n, rng):
    """Return two tables of 8 columns, two of which have a correlation in one table."""
    tables = [numbers(n, 8, rng) for _ in range(2)]
    tables[1]["x5"] = 0.7 * tables[1]["x2"] + np.sqrt(0.51) * tables[1]["x5"]
    return *tables, {("x2", "x5")}


def categories(n, rng):
    """Return two mixed tables, with other shares of the categories in the second."""
    tables = [mixed(n, rng) for _ in range(2)]
    tables[1]["kind"] = rng.choice(list("abcdef"), n, p=[0.25, *[0.15] * 5])
    return *tables, {("kind",)}


SETTINGS = {
    "one of 8 shifted by .3, 2 x 1000": lambda rng: shifted(1000, 8, rng, ["x3"], 0.3),
    "one of 8 shifted by .05, 2 x 80 000": lambda rng: shifted(
        80_000, 8, rng, ["x3"], 0.05
    ),
    "correlation 0 to .7, 2 of 8, 2 x 1000": lambda rng: dependent(1000, rng),
    "three of 30 shifted by .4, 2 x 1000": lambda rng: shifted(
        1000, 30, rng, ["x1", "x11", "x21"], 0.4
    ),
    "share of a category .17 to .25, 2 x 1000": lambda rng: categories(1000, rng),
    "no drift, 8 mixed columns, 2 x 1000": lambda rng: (
        mixed(1000, rng),
        mixed(1000, rng),
        set(),
    ),
}


def explain(name, seed):
    """Return whether a report sees drift, names the truth only, or a wrong column."""
    reference, new, truth = SETTINGS[name](np.random.default_rng(seed))
    report = drift_report(reference, new, random_state=seed, max_rows=1)
    found = {tuple(sorted(group)) for group in report.explanation}
    known = {column for group in truth for column in group}
    wrong = any(column not in known for group in found for column in group)
    return report.drift, found == truth, wrong


def rates(names, n_draws, first):
    """Print how often reports are right."""
    print("| setting | drift | the truth and nothing else | a wrong column |")
    print("| --- | --- | --- | --- |")
    for name in names:
        seeds = range(first, first + n_draws)
        answers = Parallel(n_jobs=2)(delayed(explain)(name, seed) for seed in seeds)
        print("|", name, *(f"| {rate:.3f}" for rate in np.mean(answers, axis=0)), "|")
        sys.stdout.flush()


def times():
    """Print the seconds of reports with the default settings, on two threads."""
    rng = np.random.default_rng(0)
    tables = {
        "2 x 30 000 rows, 8 mixed columns": [mixed(30_000, rng) for _ in range(2)],
        "2 x 170 000 rows, 8 mixed columns": [mixed(170_000, rng) for _ in range(2)],
        "2 x 900 rows, 64 numeric columns": [numbers(900, 64, rng) for _ in range(2)],
    }
    for name, (reference, new) in tables.items():
        for shift in (0.0, 0.3):
            start = perf_counter()
            drift_report(reference, new.assign(x0=new["x0"] + shift), n_jobs=2)
            print(f"{name}, x0 + {shift}: {perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    what, *numbers_given = sys.argv[1:] or ["explanations"]
    n_draws, first = ([*map(int, numbers_given), 200, FIRST_SEED][i] for i in (0, -1))
    if what == "times":
        times()
    else:
        names = list(SETTINGS)
        rates(names[-1:] if what == "null" else names, n_draws, first)
