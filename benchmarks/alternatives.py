"""Tables for users: what they gain against each alternative.

Usage: ``python benchmarks/alternatives.py``. Reads the measurements in
``benchmarks/results`` and writes one table for each alternative to
``benchmarks/results/alternatives``, and the table of incomplete designs without the
targets. The appendix of the documentation shows or links these tables. A full run of
``run.py`` writes them too.
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import re
from pathlib import Path

from case import OURS
from cases import CASES

RESULTS = Path(__file__).resolve().parent / "results"
NUMBA = " + numba"


def write_tables(results=RESULTS):
    """Write the tables of all alternatives, from the measurements in a folder."""
    output = results / "alternatives"
    output.mkdir(exist_ok=True)
    for name, table in {**alternatives(results), "designs": designs(results)}.items():
        if table:
            with (output / f"{name}.csv").open("w", newline="") as file:
                writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(table)


def alternatives(results):
    """Return for each alternative the rows of its table.

    Times are CPU times on one thread: other work on the machine does not change them.
    """
    # Cases of several sizes share a title.
    first = {case.title: case.contenders[0].name for case in CASES.values()}
    modules = {
        (case.title, contender.name): contender.module
        for case in CASES.values()
        for contender in case.contenders
    }
    measured = {
        (row["case"], row["contender"], int(row["rows"])): row
        for row in measurements(results)
        if row["threads"] == "1"
    }
    tables = {}
    for (title, contender, n_rows), row in measured.items():
        if contender.startswith(OURS) or (title, contender) not in modules:
            continue
        # The first contender of a case is ours, and is compared with all others.
        own = first[title]
        plain = measured.get((title, own, n_rows))
        compiled = measured.get((title, own + NUMBA, n_rows))
        if not own.startswith(OURS) or plain is None or compiled is None:
            continue
        theirs = float(row["CPU, s"])
        factors = [theirs / float(ours["CPU, s"]) for ours in (plain, compiled)]
        module = modules[title, contender]
        line = {
            "computation": in_words(title),
            "rows": n_rows,
            "alternative": contender,
            "alternative (s)": row["CPU, s"],
            "ours (s)": plain["CPU, s"],
            "ours, numba (s)": compiled["CPU, s"],
            "speed-up": factor(factors[0]),
            "speed-up, numba": factor(factors[1]),
            "alternative (MB)": row["memory, MB"],
            "ours (MB)": plain["memory, MB"],
        }
        table = tables.setdefault(table_of(module, contender), [])
        keys = ("computation", "rows", "alternative")
        # Some sizes are in two cases.
        if all(any(line[key] != other[key] for key in keys) for other in table):
            table.append(line)
    for table in tables.values():
        order = list(dict.fromkeys(line["computation"] for line in table))
        table.sort(key=lambda line: (order.index(line["computation"]), line["rows"]))
    return tables


def designs(results):
    """Return the table of incomplete designs, without the targets."""
    with (results / "designs.csv").open(newline="") as file:
        return [
            {
                "computation": in_words(row["case"]),
                "engine": row["engine"],
                "pairs": row["pairs"],
                "time (s)": row["wall, s"],
                "memory (MB)": row["memory, MB"],
            }
            for row in csv.DictReader(file)
        ]


def measurements(results):
    """Return all measurements."""
    with (results / "measurements.csv").open(newline="") as file:
        return [*csv.DictReader(file)]


def table_of(module, contender):
    """Return the name of the table that a contender of a module is in."""
    if module is None:
        return "mutual_info" if contender.startswith("mutual_info") else "by_hand"
    return module


def in_words(title):
    """Return the title of a case, with its number of columns in words."""
    title = title.replace(", growth", "").replace("d = 1,", "1 column,")
    title = re.sub(r"\bd = 1$", "1 column", title)
    return re.sub(r"\bd = (\d+)", r"\1 columns", title)


def factor(value):
    """Write a ratio with two digits."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


if __name__ == "__main__":
    write_tables()
