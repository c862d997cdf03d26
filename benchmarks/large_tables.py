"""Measure time and memory of questions on tables of many rows or many columns.

Usage: ``python benchmarks/large_tables.py [--scale F] [--only NAME] [--output DIR]``.
Each case runs in a process of its own, with two threads or two workers of dask. Prints
a line for each case and writes ``large_tables.csv``: seconds, and the peak of the
memory above the data, in GB. ``--scale 0.01`` has a hundredth of the rows.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import random_array

RESULTS = Path(__file__).resolve().parent / "results"
SEED = 70_000


def draw_table(n, shift=0.0, seed=SEED):
    """Draw 14 columns of numbers, 4 of categories and 2 of dates; some are missing."""
    rng = np.random.default_rng(seed)
    columns = {f"x{j}": rng.normal(size=n) for j in range(14)}
    columns["x3"] += shift
    columns["x5"][rng.random(n) < 0.05] = np.nan
    for j in range(4):
        words = np.array([f"word{i}" for i in range(3 + 4 * j)])
        columns[f"k{j}"] = pd.Categorical(words[rng.integers(len(words), size=n)])
    start = np.datetime64("2026-01-01T00:00:00")
    for j in range(2):
        seconds = rng.integers(0, 10**7, n).astype("timedelta64[s]")
        columns[f"t{j}"] = start + seconds
    return pd.DataFrame(columns)


def report_in_memory(n):
    """Report the drift of two tables of 20 mixed columns in memory."""
    from skdiscrepancy.monitoring import drift_report

    tables = draw_table(n), draw_table(n, 0.01, SEED + 1)
    options = {"n_components": 256, "n_jobs": 2, "random_state": 0}
    return lambda: drift_report(*tables, **options)


def report_by_dask(n):
    """Report the drift of two Parquet files by two workers of 2 GB."""
    import dask.dataframe
    from distributed import Client, LocalCluster

    from skdiscrepancy.monitoring import drift_report

    folder = Path(tempfile.mkdtemp())
    for i in range(2):
        table = draw_table(n, 0.01 * i, SEED + i)
        table.to_parquet(folder / f"{i}.parquet", row_group_size=max(1, n // 20))
        del table
    limits = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "2GB"}
    client = Client(LocalCluster(dashboard_address=None, **limits))

    def run():
        tables = [
            dask.dataframe.read_parquet(folder / f"{i}.parquet", split_row_groups=True)
            for i in range(2)
        ]
        found = drift_report(*tables, n_components=256, random_state=0)
        client.close()
        return found

    return run


def report_of_columns(n):
    """Report the drift of 1000 columns of numbers."""
    from skdiscrepancy.monitoring import drift_report

    rng = np.random.default_rng(SEED)
    X, Y = rng.normal(size=(2, n, 1000)).astype(np.float32)
    Y[:, 7] += 0.05
    options = {"n_components": 64, "n_jobs": 2, "random_state": 0}
    return lambda: drift_report(X, Y, **options)


def select_sparse(n):
    """Select columns of a sparse matrix with half as many columns as rows."""
    from skdiscrepancy.feature_selection import HSICSelector

    rng = np.random.default_rng(SEED)
    X = random_array((n, n // 2), density=0.01, format="csr", rng=rng)
    X.data = np.ceil(5 * X.data)
    y = X[:, [3]].toarray()[:, 0] - X[:, [8]].toarray()[:, 0] + rng.normal(size=n)
    selector = HSICSelector(10, n_components=64, n_jobs=2, random_state=0)
    return lambda: selector.fit(X, y)


CASES = {
    "drift_report in memory": (report_in_memory, 10**6),
    "drift_report by dask": (report_by_dask, 10**6),
    "drift_report of 1000 columns": (report_of_columns, 10**5),
    "HSICSelector of sparse columns": (select_sparse, 10**4),
}


def measure(name, n, results):
    """Send the seconds and the memory of a case."""
    run = CASES[name][0](n)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    before = pages * resource.getpagesize()
    start = time.perf_counter()
    run()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    results.put((seconds, max(peak - before, 0) / 1e9))


def main():
    """Measure all cases and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--output", type=Path, default=RESULTS)
    args = parser.parse_args()
    context, rows = multiprocessing.get_context("spawn"), []
    for name, (_, size) in CASES.items():
        if args.only not in name:
            continue
        n, results = int(size * args.scale), context.SimpleQueue()
        process = context.Process(target=measure, args=(name, n, results))
        process.start()
        process.join()
        if process.exitcode:
            raise SystemExit(f"{name} failed")
        seconds, memory = results.get()
        rows.append({"case": name, "rows": n, "seconds": round(seconds, 1)})
        rows[-1]["gigabytes"] = round(memory, 2)
        print(rows[-1], flush=True)
    args.output.mkdir(parents=True, exist_ok=True)
    with (args.output / "large_tables.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
