"""Tables, CSV files and the figure of a run."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import figure
from cases import CASES

FIGURE = "benchmarks.png"
# The compiled path must give the numbers of the other one.
NUMBA_TOLERANCE = 1e-12
PACKAGES = (
    "skdiscrepancy",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "hyppo",
    "dcor",
    "openturns",
    "goodpoints",
    "pyHSICLasso",
    "stein-thinning",
)
PROGRESS = "{:24} {:34} {:>9} {:>8} {:>11} {:>11} {:>10} {:>9}  {}"


def print_progress_header():
    """Print the head of the table that grows as measurements come in."""
    print(
        PROGRESS.format(
            "case",
            "contender",
            "rows",
            "threads",
            "wall, s",
            "CPU, s",
            "memory, MB",
            "ns / pair",
            "value",
        ),
        flush=True,
    )


def print_progress(record):
    """Print one measurement."""
    row = measurement(record)
    print(
        PROGRESS.format(
            record["case"],
            *(row[name] for name in ("contender", "rows", "threads")),
            *(row[name] for name in ("wall, s", "CPU, s", "memory, MB", "ns / pair")),
            row["value"],
        ),
        flush=True,
    )


def write(records, skipped, problems, folder):
    """Print the tables of a run, write them as CSV and draw the figure."""
    rows = [row for case in CASES.values() for row in comparisons(case, records)]
    targets = [row for row in rows if row["target"]]
    others = [row for row in rows if not row["target"]]
    for row in others:
        del row["target"], row["met"]
    tables = {
        "environment": environment(),
        "targets": targets,
        "comparisons": others,
        "designs": designs(records),
        "measurements": [measurement(record) for record in records],
    }
    for name, table in tables.items():
        write_csv(folder / f"{name}.csv", table)
        if name != "measurements":
            print(f"\n{name.capitalize()}\n{aligned(table)}")
    if skipped:
        print("\nNot measured\n" + "\n".join(f"    {line}" for line in skipped))
    growth = [record for record in records if record["case"] == "growth"]
    if growth and find_spec("matplotlib") is None:
        print("\nNo figure: matplotlib is not installed.")
    elif growth:
        lines = {}
        for record in growth:
            lines.setdefault(label(record), []).append(record)
        figure.draw_growth(lines, folder / FIGURE)
    print(f"\nWritten to {folder}")
    if problems:
        print("\n" + "!" * 88)
        print("!!! VALUES DIFFER: these contenders did not do the same work")
        print("\n".join(f"!!! {line}" for line in problems))
        print("!" * 88)
    else:
        print("Values agree: all contenders of a case did the same work.")


def order(record):
    """Return the place of a record in the tables."""
    case = CASES[record["case"]]
    return (
        list(CASES).index(case.name),
        [c.name for c in case.contenders].index(record["contender"]),
        record["threads"],
        record["numba"],
        record["size"],
    )


def label(record):
    """Return the name of a contender, with the engine if it is ours."""
    with_numba = record["numba"] and contender_of(record).ours
    return record["contender"] + (" + numba" if with_numba else "")


def contender_of(record):
    """Return the contender of a record."""
    contenders = CASES[record["case"]].contenders
    return next(c for c in contenders if c.name == record["contender"])


def measurement(record):
    """Return a record as a row of the table of measurements."""
    return {
        "case": CASES[record["case"]].title,
        "contender": label(record),
        "rows": record["size"],
        "threads": record["threads"],
        "wall, s": digits(record["wall"]),
        "CPU, s": digits(record["cpu"]),
        "runs": record["repeats"],
        "memory, MB": f"{record['memory'] / 1e6:.0f}",
        "ns / pair": digits(1e9 * record["wall"] / record["pairs"]),
        "value": f"{record['value']:.10g}" if "value" in record else "",
    }


def find(records, like, contender=None, **changes):
    """Find the measurement that differs from another one in nothing else.

    Parameters
    ----------
    records : list of dict
        Measurements.
    like : dict
        One of them.
    contender : Contender or None
        Another contender of the case.
    **changes : dict
        Other entries of the record.

    Returns
    -------
    record : dict or None
        None if there is none.
    """
    names = ["case", "contender", "numba", "threads", "size"]
    if contender is not None:
        changes["contender"] = contender.name
        if not contender.ours:
            # It is measured in one way only.
            names.remove("numba")
    wanted = {**{name: like[name] for name in names}, **changes}
    return next((r for r in records if wanted.items() <= r.items()), None)


def comparisons(case, records):
    """Return the ratios, memory and growth of a case, with their targets.

    Parameters
    ----------
    case : Case
        The case; those of designs have a table of their own.
    records : list of dict
        All measurements of a run.

    Returns
    -------
    rows : list of dict
        One for each comparison of the first contender with another one, or with
        itself. Targets are for one thread.
    """
    first = case.contenders[0]
    if case.kind == "design" or not first.ours:
        return []
    measured = [r for r in records if r["case"] == case.name]
    measured = [r for r in measured if r["contender"] == first.name]
    sizes = sorted({r["size"] for r in measured})
    rows = []
    for ours in measured:
        single = ours["threads"] == 1
        for contender in case.contenders[1:]:
            other = find(records, ours, contender)
            if other is not None:
                goal = contender.faster_by if single else None
                rows.append(ratio_row(ours, other, contender.name, goal))
        if case.two_threads_gain is not None and ours["threads"] == 2:
            other = find(records, ours, threads=1)
            rows.append(ratio_row(ours, other, "one thread", case.two_threads_gain))
        if ours["size"] != sizes[-1]:
            continue
        if case.max_memory is not None:
            rows.append(memory_row(ours, case.max_memory if single else None))
        if case.max_time_growth is not None and len(sizes) > 1:
            other = find(records, ours, size=sizes[-2])
            rows.append(growth_row(ours, other, "wall", case.max_time_growth))
            rows.append(growth_row(ours, other, "memory", case.max_memory_growth))
    return rows


def designs(records):
    """Return the table of incomplete designs, one row for each that was measured."""
    rows = []
    for record in records:
        case = CASES[record["case"]]
        if case.kind != "design":
            continue
        sizes = [r["size"] for r in records if r["case"] == case.name]
        if record["size"] != max(sizes):
            continue
        smaller = find(records, record, size=min(sizes))
        growth = record["wall"] / smaller["wall"]
        memory = record["memory"] / 1e6
        met = memory <= case.max_memory and growth <= case.max_time_growth
        rows.append(
            {
                "case": case.title,
                "rows": record["size"],
                "pairs": record["pairs"],
                "engine": "numba" if record["numba"] else "numpy",
                "threads": record["threads"],
                "wall, s": digits(record["wall"]),
                "ns / pair": digits(1e9 * record["wall"] / record["pairs"]),
                "time for 10 x the rows": digits(growth),
                "memory, MB": digits(memory),
                "met": "yes" if met else "NO",
            }
        )
    return rows


def ratio_row(ours, other, name, goal):
    """Return the row of a comparison with another contender: its time over ours."""
    ratio = other["wall"] / ours["wall"]
    return row_of(
        ours,
        f"time, {name} / ours",
        digits(ours["wall"]),
        digits(other["wall"]),
        ratio=digits(ratio),
        cpu_ratio=digits(other["cpu"] / ours["cpu"]),
        target="" if goal is None else f">= {goal:g}",
        met=None if goal is None else ratio >= goal,
    )


def memory_row(ours, goal):
    """Return the row of our memory."""
    memory = ours["memory"] / 1e6
    return row_of(
        ours,
        "memory above data, MB",
        digits(memory),
        target="" if goal is None else f"<= {goal:g}",
        met=None if goal is None else memory <= goal,
    )


def growth_row(ours, smaller, quantity, goal):
    """Return the row of the growth of our time or memory from fewer rows."""
    unit = 1 if quantity == "wall" else 1e6
    # Less than a page of memory is not seen.
    ratio = ours[quantity] / (smaller[quantity] or 4096)
    return row_of(
        ours,
        f"{'time' if quantity == 'wall' else 'memory'}, "
        f"{ours['size']} rows / {smaller['size']}",
        digits(ours[quantity] / unit),
        digits(smaller[quantity] / unit),
        ratio=digits(ratio),
        target=f"<= {goal:g}",
        met=ratio <= goal,
    )


def row_of(ours, quantity, own, other="", *, target, met, ratio="", cpu_ratio=""):
    """Return a row of the tables of comparisons."""
    return {
        "case": CASES[ours["case"]].title,
        "rows": ours["size"],
        "engine": "numba" if ours["numba"] else "numpy",
        "threads": ours["threads"],
        "quantity": quantity,
        "ours": own,
        "other": other,
        "ratio": ratio,
        "by CPU time": cpu_ratio,
        "target": target,
        "met": {None: "", True: "yes", False: "NO"}[met],
    }


def check_values(records):
    """Return what is wrong with the values: contenders must agree, threads exactly."""
    problems = []
    for record in records:
        case, contender = CASES[record["case"]], contender_of(record)
        if case.tolerance is None:
            continue
        same_size = [
            other
            for other in records
            if (other["case"], other["size"]) == (record["case"], record["size"])
        ]
        own = next(o for o in same_size if o["contender"] == contender.name)
        first = same_size[0]
        if record is first:
            continue
        value = record["value"]
        checks = [(first, case.tolerance * max(abs(value), abs(first["value"])))]
        if contender.ours and case.kind != "peer" and not contender.single_precision:
            # Scores of kind "peer" are multiplied by large numbers.
            checks.append((own, NUMBA_TOLERANCE * max(abs(value), 1)))
        if contender.ours:
            one_thread = next(o for o in same_size if label(o) == label(record))
            checks.append((one_thread, 0))
        for other, allowed in checks:
            # Written so that NaN is a problem.
            if not abs(value - other["value"]) <= allowed:
                problems.append(
                    f"{record['case']}, {record['size']} rows: "
                    f"{label(record)}, {record['threads']} thread(s): {value!r}; "
                    f"{label(other)}, {other['threads']} thread(s): {other['value']!r}"
                )
    return problems


def environment():
    """Return machine and versions as rows of a table."""
    rows = [
        ("processor", processor()),
        ("cores", os.cpu_count()),
        ("system", f"{platform.system()} {platform.machine()}"),
        ("Python", platform.python_version()),
    ]
    for package in PACKAGES:
        try:
            rows.append((package, version(package)))
        except PackageNotFoundError:
            rows.append((package, "not installed"))
    return [{"what": what, "which": str(which)} for what, which in rows]


def processor():
    """Return the name of the processor."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def digits(value):
    """Write a number with three digits, and not as a power of ten."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def aligned(table):
    """Return a list of dictionaries as a text with aligned columns."""
    if not table:
        return "    none"
    lines = [list(table[0]), *([str(cell) for cell in row.values()] for row in table)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "    " + "  ".join(map(str.ljust, line, widths)).rstrip() for line in lines
    )


def write_csv(path, table):
    """Write a list of dictionaries."""
    with path.open("w", newline="") as file:
        if table:
            writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(table)
