"""Measure the monitor: rows per second, run length without drift, delay after a shift.

Usage: ``python benchmarks/monitor.py [--speed] [--run-length] [--false-alarms]
[--delay] [--repetitions N] [--bandwidth NAME] [--reference N]``. Prints a line for each
setting. ``--run-length`` takes each distribution, and normal data with smaller
reference samples too, and writes ``results/monitor.csv``. ``--false-alarms`` counts the
false alarms of the default run length, which is extrapolated, for normal data. Without
a choice, measures all. The delay is compared with a CUSUM that knows the shift, and
with alibi-detect if it is installed. One thread; about an hour with the defaults.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import importlib.util
import time
from pathlib import Path

import numpy as np

from skdiscrepancy.monitoring import DriftMonitor

OUTPUT = Path(__file__).parent / "results" / "monitor.csv"
FIRST_SEED = 100_000
WINDOW, RUN_LENGTH, REFERENCE, COLUMNS = 50, 1000, 2000, 5
# Rows without drift before a shift.
BEFORE = 2 * WINDOW
# Rows of the smaller reference samples, for normal data.
SMALL_REFERENCES = (300, 700)
# Number of reference samples. Other packages take minutes to learn from one.
REFERENCES = {"run length": 50, "false alarms": 100, "delay": 3}
# Rows of a stream for each reference sample, where false alarms are counted.
LONG = 40_000
# Parameters of all monitors.
PARAMS = {"window_size": WINDOW, "run_length": RUN_LENGTH}
DISTRIBUTIONS = {
    "normal": lambda rng, n: rng.normal(size=(n, COLUMNS)),
    "Student t, 3 degrees": lambda rng, n: rng.standard_t(3, size=(n, COLUMNS)),
    "Poisson, mean 1.5": lambda rng, n: rng.poisson(1.5, (n, COLUMNS)).astype(float),
}


def fitted(reference, seed):
    """Return a monitor of a reference sample."""
    return DriftMonitor(**PARAMS, random_state=seed).fit(reference)


def speed(repetitions=5):
    """Print the rows per second of one processor, in one call and row by row."""
    rng = np.random.RandomState(FIRST_SEED)
    monitor = DriftMonitor(random_state=0).fit(rng.normal(size=(2000, 10)))
    rows = rng.normal(size=(2000, 10))
    for name, run in {
        "in one call": lambda: monitor.update(rows),
        "row by row": lambda: [monitor.update(row) for row in rows],
    }.items():
        run()
        times = []
        for _ in range(repetitions):
            # Other programs on the machine do not count.
            start = time.process_time()
            run()
            times.append(time.process_time() - start)
        print(f"rows per second {name}: {len(rows) / min(times):.0f}", flush=True)


def run_lengths(repetitions, size):
    """Print and write the mean number of rows until a false alarm."""
    n_references, lines = REFERENCES["run length"], []
    settings = [("normal", n) for n in SMALL_REFERENCES]
    settings += [(name, size) for name in DISTRIBUTIONS]
    for name, n_rows in settings:
        draw = DISTRIBUTIONS[name]
        means = []
        for i in range(n_references):
            rng = np.random.RandomState(FIRST_SEED + i)
            monitor = fitted(draw(rng, n_rows), i)
            lengths = []
            for _ in range(-(-repetitions // n_references)):
                monitor.reset()
                alarms = np.zeros(1, dtype=bool)
                while not alarms.any():
                    alarms = monitor.update(draw(rng, 500))
                end = monitor.n_seen_ - len(alarms) + int(alarms.argmax())
                # The first full window is the first row that can raise an alarm.
                lengths.append(end - WINDOW + 2)
            means.append(np.mean(lengths))
        # Reference samples are independent, the streams of one reference are not.
        error = np.std(means, ddof=1) / n_references**0.5
        line = {
            "distribution": name,
            "reference rows": n_rows,
            "bandwidth": PARAMS["bandwidth"],
            "run length asked for": RUN_LENGTH,
            "reference samples": n_references,
            "streams of each": len(lengths),
            "mean run length": round(np.mean(means)),
            "standard error": round(error),
        }
        lines.append(line)
        print(", ".join(f"{key}: {value}" for key, value in line.items()), flush=True)
        with OUTPUT.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(lines[0]))
            writer.writeheader()
            writer.writerows(lines)


def false_alarms(size):
    """Print how many rows there are for each false alarm of the default run length."""
    draw, n_references = DISTRIBUTIONS["normal"], REFERENCES["false alarms"]
    rows, alarms = np.zeros((2, n_references))
    for i in range(n_references):
        rng = np.random.RandomState(FIRST_SEED + i)
        monitor = DriftMonitor(**{**PARAMS, "run_length": 10_000}, random_state=i)
        monitor.fit(draw(rng, size))
        while rows[i] < LONG:
            monitor.reset()
            found = np.zeros(1, dtype=bool)
            while not found.any() and monitor.n_seen_ < LONG:
                found = monitor.update(draw(rng, 1000))
            unused = len(found) - 1 - int(found.argmax()) if found.any() else 0
            rows[i] += monitor.n_seen_ - unused - WINDOW + 1
            alarms[i] += found.any()
    mean = rows.sum() / alarms.sum()
    # Reference samples are independent, the alarms of one reference sample are not.
    error = np.sqrt(np.sum((alarms - rows / mean) ** 2)) / alarms.sum()
    print(
        f"rows for each false alarm, run length 10,000: {mean:.0f} +- "
        f"{mean * error:.0f}",
        flush=True,
    )


def shifted(rng, n):
    """Draw rows with a shift of one standard deviation in one column."""
    rows = rng.normal(size=(n, COLUMNS))
    rows[:, 0] += 1
    return rows


def delay_of(alarm, rng):
    """Return the number of shifted rows until `alarm` returns True for a row.

    Returns None if there is an alarm before the shift.
    """
    if any(alarm(row) for row in rng.normal(size=(BEFORE, COLUMNS))):
        return None
    for i, row in enumerate(shifted(rng, 100 * WINDOW)):
        if alarm(row):
            return i + 1
    raise AssertionError("the shift was not detected")


class Cusum:
    """The CUSUM of the first column, which knows that the shift is from 0 to 1.

    The threshold is that of Siegmund's approximation of the run length.
    """

    def __init__(self):
        levels = np.linspace(1, 12, 100_000)
        b = levels + 1.166
        self.threshold = levels[np.searchsorted(2 * (np.exp(b) - 1 - b), RUN_LENGTH)]
        self.value = 0.0

    def __call__(self, row):
        """Return whether there is an alarm."""
        self.value = max(0.0, self.value + row[0] - 0.5)
        return self.value > self.threshold


def delays(repetitions):
    """Print the mean delay of each method after a shift."""
    found = {"skdiscrepancy": [], "CUSUM that knows the shift": []}
    with_alibi = importlib.util.find_spec("alibi_detect") is not None
    if with_alibi:
        found["alibi-detect"] = []
    for i in range(REFERENCES["delay"]):
        rng = np.random.RandomState(FIRST_SEED + i)
        reference = rng.normal(size=(REFERENCE, COLUMNS))
        monitor = fitted(reference, i)
        if with_alibi:
            detector = alibi(reference)
        for j in range(-(-repetitions // REFERENCES["delay"])):
            seed = FIRST_SEED * (j + 2) + i
            monitor.reset()
            methods = {
                "skdiscrepancy": lambda row, m=monitor: m.update(row)[0],
                "CUSUM that knows the shift": Cusum(),
            }
            if with_alibi:
                detector.reset_state()
                methods["alibi-detect"] = lambda row, d=detector: d.predict(
                    row.astype(np.float32)
                )["data"]["is_drift"]
            for name, alarm in methods.items():
                delay = delay_of(alarm, np.random.RandomState(seed))
                if delay is not None:
                    found[name].append(delay)
    for name, values in found.items():
        print(
            f"delay, {name}: {np.mean(values):.1f} +- "
            f"{np.std(values) / len(values) ** 0.5:.1f} rows, {len(values)} streams "
            f"without an alarm in the {BEFORE} rows before",
            flush=True,
        )


def alibi(reference):
    """Return the online MMD of alibi-detect with the same window and run length."""
    from alibi_detect.cd import MMDDriftOnline

    return MMDDriftOnline(
        reference.astype(np.float32),
        ert=RUN_LENGTH,
        window_size=WINDOW,
        backend="pytorch",
        # Twice as many take more than 20 GB of memory.
        n_bootstraps=RUN_LENGTH + 200,
        verbose=False,
    )


def main():
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    choices = ("speed", "run_length", "false_alarms", "delay")
    for name in choices:
        parser.add_argument(f"--{name.replace('_', '-')}", action="store_true")
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--bandwidth", default="grid")
    parser.add_argument("--reference", type=int, default=REFERENCE)
    options = parser.parse_args()
    PARAMS["bandwidth"] = options.bandwidth
    every = not any(getattr(options, name) for name in choices)
    if options.speed or every:
        speed()
    if options.run_length or every:
        run_lengths(options.repetitions, options.reference)
    if options.false_alarms or every:
        false_alarms(options.reference)
    if options.delay or every:
        delays(options.repetitions)


if __name__ == "__main__":
    main()
