"""Compare two tables from the shell: ``python -m skdiscrepancy drift old.csv new.csv``.

The exit code is 0 without drift, 1 with drift and 2 after an error.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from skdiscrepancy.monitoring._drift import MOST_VALUES, drift_report
from skdiscrepancy.monitoring._pages import answer

READERS = {".csv": "read_csv", ".parquet": "read_parquet", ".pq": "read_parquet"}


def read_table(name: str) -> Any:
    """Read a table by pandas or polars, a large Parquet file by blocks of rows."""
    path = Path(name)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"{name} must end in one of {', '.join(READERS)}.")
    if not path.is_file():
        raise ValueError(f"{name} must be a file that exists.")
    if reader == "read_parquet" and (blocks := _large_parquet(path)):
        return blocks
    for package in ("pandas", "polars"):
        try:
            module = import_module(package)
        except ModuleNotFoundError:
            continue
        if reader == "read_csv" and package == "polars":
            table = module.read_csv(path, try_parse_dates=True)
        else:
            table = getattr(module, reader)(path)
        _refuse_one_column(table, name)
        if reader == "read_csv" and package == "pandas":
            table = _with_dates(table, module)
        return table
    raise ImportError("CSV and Parquet files need pandas or polars.")


def _refuse_one_column(table: Any, name: str) -> None:
    """Refuse a table whose columns were not divided."""
    [first, *others] = table.columns
    marks = [mark for mark in ";\t|" if mark in str(first)]
    if marks and not others:
        raise ValueError(
            f"{name} has one column, {first!r}, must have commas between columns. If "
            f"{marks[0]!r} is between them, convert the file, or read it in Python."
        )


def _with_dates(table: Any, pandas: Any) -> Any:
    """Return a DataFrame with columns of dates in place of their texts."""
    for name in table.select_dtypes(["object", "string"]):
        try:
            table[name] = pandas.to_datetime(table[name], format="ISO8601", utc=True)
        except (ValueError, TypeError):
            continue
    return table


def _large_parquet(path: Path) -> Any:
    """Return a function that yields blocks of a file, None if it is small."""
    try:
        parquet = import_module("pyarrow.parquet")
    except ModuleNotFoundError:
        return None
    size = parquet.read_metadata(path)
    if size.num_rows * size.num_columns <= MOST_VALUES:
        return None

    def blocks() -> Iterator[Any]:
        for batch in parquet.ParquetFile(path).iter_batches():
            yield batch.to_pandas()

    return blocks


def drift(args: Namespace) -> int:
    """Print a drift report of two files, and return the exit code."""
    reference, new = map(read_table, (args.reference, args.new))
    report = drift_report(
        reference,
        new,
        level=args.level,
        clusters=args.clusters,
        n_jobs=args.jobs,
        random_state=args.seed,
        verbose=int(sys.stderr.isatty()),
    )
    if args.html:
        report.to_html(args.html)
    if args.json:
        columns = report._columns()
        cells = (np.asarray(values).tolist() for values in columns.values())
        found = {
            "drift": report.drift,
            "pvalue": report.pvalue,
            "level": report.level,
            "effect_size": report.effect_size,
            "explanation": report.explanation,
            "columns": [
                dict(zip(columns, map(_known, row), strict=True))
                for row in zip(*cells, strict=True)
            ],
        }
        print(json.dumps(found, default=str))
    else:
        print(*answer(report), *report._lines(None), sep="\n")
    return int(report.drift)


def _known(value: Any) -> Any:
    """Return a value, None in place of NaN, which JSON does not have."""
    return None if isinstance(value, float) and np.isnan(value) else value


def main(args: Sequence[str] | None = None) -> int:
    """Run a command of the shell, and return its exit code."""
    parser = ArgumentParser("python -m skdiscrepancy", description=__doc__)
    command = parser.add_subparsers(required=True).add_parser(
        "drift", help="compare a new table with a reference table"
    )
    command.set_defaults(run=drift)
    for name in ("reference", "new"):
        command.add_argument(name, help="a CSV or Parquet file")
    command.add_argument("--level", type=float, default=0.05, help="significance level")
    command.add_argument("--html", metavar="FILE", help="write the report as a page")
    command.add_argument(
        "--clusters", metavar="COLUMN", help="rows that belong together"
    )
    command.add_argument("--json", action="store_true", help="print JSON")
    command.add_argument("--jobs", type=int, help="number of threads")
    command.add_argument("--seed", type=int, default=0, help="seed of the resamples")
    given = parser.parse_args(args)
    try:
        return given.run(given)
    except Exception as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
