"""Measure contenders of cases, each in a process of its own unless the run is quick.

Started by ``run.py`` with one argument, the task as JSON. Each job of the task and each
number of rows gives one line of JSON in the file that the task names.
"""

# SPDX-License-Identifier: BSD-3-Clause

import ctypes
import gc
import json
import resource
import statistics
import sys
import time
from contextlib import suppress

# More than two tiles a side: every path of the engine is taken, and compiled if it is,
# before the first measurement.
WARM_UP_ROWS = 600


def main():
    """Measure what the task asks for."""
    task = json.loads(sys.argv[1])
    if not task["numba"]:
        # From now on `import numba` fails, as where it is not installed.
        sys.modules["numba"] = None
    with open(task["file"], "a") as file:
        for job in task["jobs"]:
            try:
                for record in measure_job(job, task["repeats"], task["seconds"]):
                    # Written at once: it stays if a larger size ends the process.
                    print(json.dumps({**job, **record}), file=file, flush=True)
            except Exception as error:
                failure = f"{type(error).__name__}: {error}"
                print(json.dumps({**job, "failure": failure}), file=file, flush=True)


def measure_job(job, repeats, seconds):
    """Yield the record of each number of rows of one contender."""
    # After numba was hidden.
    from cases import CASES

    case = CASES[job["case"]]
    contender = next(c for c in case.contenders if c.name == job["contender"])
    prepare = contender.prepare or (lambda data: data)
    threads = job["threads"]
    contender.run(prepare(case.make(WARM_UP_ROWS)), threads)
    for size in job["sizes"]:
        data = case.make(size)
        prepared = prepare(data)
        record = measure(
            lambda prepared=prepared: contender.run(prepared, threads),
            repeats=repeats,
            seconds=seconds,
        )
        value = record.pop("result")
        if case.tolerance is not None:
            if contender.value is not None:
                value = contender.value(data, value)
            record["value"] = float(value)
        record["size"] = size
        record["pairs"] = case.pairs(size)
        record["numba_used"] = sys.modules.get("numba") is not None
        yield record
        del data, prepared, value


def measure(run, *, repeats, seconds):
    """Time repeated runs, and take the peak of memory over the first.

    Parameters
    ----------
    run : callable
        What is measured.
    repeats : int
        Number of runs.
    seconds : float
        No further run is started after this time.

    Returns
    -------
    record : dict
        Medians in seconds, memory in bytes, and the result.
    """
    wall, cpu = [], []
    before = forget_peak_memory()
    start = time.perf_counter()
    while True:
        # CPU time is that of all threads of the process.
        cpu_start, wall_start = time.process_time(), time.perf_counter()
        result = run()
        wall.append(time.perf_counter() - wall_start)
        cpu.append(time.process_time() - cpu_start)
        if len(wall) == 1:
            memory = peak_memory() - before
        if len(wall) >= repeats or time.perf_counter() - start > seconds:
            break
    return {
        "wall": statistics.median(wall),
        "cpu": statistics.median(cpu),
        "repeats": len(wall),
        "memory": memory,
        "result": result,
    }


def forget_peak_memory():
    """Return the memory in use, and make it the peak where the system can do so.

    Memory that was freed is given back first: a run that takes it again is seen to.
    """
    gc.collect()
    # Linux. Elsewhere the peak of import and warm-up stays, and hides as much of a run.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    return peak_memory()


def peak_memory():
    """Return the largest memory that this process has had, in bytes."""
    with suppress(OSError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    # Kilobytes on Linux, bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
