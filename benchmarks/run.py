"""Measure this package and its peers in one run: time, memory, values and growth.

Usage: ``python benchmarks/run.py [--quick] [--only NAME] [--repeats N]
[--output DIR]``. Every contender of a case is measured in a process of its own. Prints
tables, writes them as CSV, and draws a figure. A full run takes about 50 minutes and
renews the page of the documentation; a quick one has fewer rows, shares processes to
save their start, takes two minutes and renews nothing.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path

import alternatives
import report
from cases import CASES

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
# Partial runs do not touch what the documentation shows.
PARTIAL_RESULTS = ROOT / "build" / "benchmarks"
FIGURE_OF_DOCS = ROOT / "doc" / "_static" / "benchmarks.png"
# A measurement that takes longer is given up.
TIMEOUT = 3600
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "OPENTURNS_NUM_THREADS",
)


def main():
    """Run the benchmarks that the command line asks for."""
    options = parse_options()
    cases = [
        case
        for case in CASES.values()
        if options.only is None or fnmatch(case.name, options.only)
    ]
    if options.list:
        print("\n".join(f"{case.name:24} {case.title}" for case in cases))
        return 0
    if not cases:
        sys.exit(f"--only == {options.only!r} matches none of: {', '.join(CASES)}")
    repeats = options.repeats or (3 if options.quick else 5)
    seconds = 0.3 if options.quick else 8

    skipped = []
    engines = [False, True] if uses_numba(skipped) else [False]
    jobs = [job for case in cases for job in jobs_of(case, engines, options, skipped)]
    records = []
    complete, interrupted = options.only is None and not options.quick, False
    report.print_progress_header()
    try:
        for task in tasks_of(jobs, shared=options.quick):
            for record in run_task(task, repeats=repeats, seconds=seconds):
                if "failure" in record:
                    line = "{case}: {contender} failed: {failure}".format(**record)
                    skipped.append(line)
                    print(line, flush=True)
                else:
                    records.append(record)
                    report.print_progress(record)
    except KeyboardInterrupt:
        skipped.append("all that was to come when the run was interrupted")
        interrupted, complete = True, False

    records.sort(key=report.order)
    problems = report.check_values(records)
    output = options.output or (RESULTS if complete else PARTIAL_RESULTS)
    output.mkdir(parents=True, exist_ok=True)
    report.write(records, skipped, problems, output)
    if options.quick:
        print("Targets are for the sizes of a full run: a quick one judges nothing.")
    drawn = output / report.FIGURE
    if complete and options.output is None and drawn.exists():
        FIGURE_OF_DOCS.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(drawn, FIGURE_OF_DOCS)
    if complete and options.output is None:
        alternatives.write_tables(RESULTS)
    return 1 if problems or interrupted else 0


def parse_options():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows and repeats")
    parser.add_argument(
        "--only", metavar="NAME", help="name of a case; * stands for anything"
    )
    parser.add_argument(
        "--repeats", type=int, metavar="N", help="runs for a median (5, quick: 3)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="for tables and figure (benchmarks/results; partial: build/benchmarks)",
    )
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    return parser.parse_args()


def jobs_of(case, engines, options, skipped):
    """List the measurements of a case; what cannot be measured goes to `skipped`."""
    cores = n_cores()
    jobs = []
    for contender in case.contenders:
        name = f"{case.name}: {contender.name}"
        if contender.module is not None and find_spec(contender.module) is None:
            skipped.append(f"{name} skipped: {contender.module} is not installed")
            continue
        sizes = case.quick_sizes if options.quick else case.sizes
        if contender.max_size is not None:
            left_out = [size for size in sizes if size > contender.max_size]
            if left_out:
                skipped.append(f"{name} skipped for {left_out} rows: too large for it")
            sizes = [size for size in sizes if size <= contender.max_size]
        threads = {1}
        if contender.threaded and (case.two_threads_gain or not options.quick):
            threads.add(cores)
        if case.two_threads_gain and contender is case.contenders[0]:
            if cores >= 2:
                threads.add(2)
            else:
                skipped.append(f"{name} skipped for two threads: there is one core")
        if not contender.ours:
            # Peers may use numba; scikit-learn does not.
            numba = [contender.module is not None]
        elif options.quick and case.kind == "design":
            numba = engines[-1:]
        else:
            numba = engines
        jobs += [
            {
                "case": case.name,
                "contender": contender.name,
                "module": contender.module,
                "numba": engine,
                "threads": n,
                "sizes": list(sizes),
            }
            for n in sorted(threads)
            for engine in numba
        ]
    return jobs


def tasks_of(jobs, *, shared):
    """Divide the jobs into lists, one for each process.

    Where processes are shared, it is among jobs of the same package, number of threads
    and use of numba.
    """
    if not shared:
        return [[job] for job in jobs]
    tasks = {}
    for job in jobs:
        key = (job["module"], job["threads"], job["numba"])
        tasks.setdefault(key, []).append(job)
    return list(tasks.values())


def run_task(jobs, *, repeats, seconds):
    """Run jobs in a process of their own and return their records.

    A job that fails has a record with a "failure" that says why.
    """
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    environment.update(dict.fromkeys(THREAD_VARIABLES, str(jobs[0]["threads"])))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "records.json"
        task = {
            "jobs": jobs,
            "numba": jobs[0]["numba"],
            "repeats": repeats,
            "seconds": seconds,
            "file": str(file),
        }
        script = ROOT / "benchmarks" / "measure.py"
        death = ""
        try:
            done = subprocess.run(
                [sys.executable, str(script), json.dumps(task)],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                timeout=TIMEOUT,
            )
        except subprocess.TimeoutExpired:
            death = f"not finished within {TIMEOUT} s"
        else:
            if done.returncode:
                last = done.stderr.strip().splitlines()[-1:]
                death = " ".join([f"exit code {done.returncode}", *last])
        lines = file.read_text().splitlines() if file.exists() else []
    records = [json.loads(line) for line in lines]
    if death:
        finished = [(r["case"], r["contender"], r.get("size")) for r in records]
        records += [
            {**job, "failure": death}
            for job in jobs
            if (job["case"], job["contender"], job["sizes"][-1]) not in finished
        ]
    return records


def uses_numba(skipped):
    """Tell whether this package has a path that is compiled by numba, installed."""
    if find_spec("numba") is None:
        skipped.append("skdiscrepancy + numba skipped: numba is not installed")
        return False
    probe = {
        "case": "mmd",
        "contender": "skdiscrepancy",
        "numba": True,
        "threads": 1,
        "sizes": [100],
    }
    [record] = run_task([probe], repeats=1, seconds=0)
    if "failure" in record:
        sys.exit(f"skdiscrepancy does not run: {record['failure']}")
    if not record["numba_used"]:
        skipped.append("skdiscrepancy + numba skipped: this version makes no use of it")
    return record["numba_used"]


def n_cores():
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    sys.exit(main())
