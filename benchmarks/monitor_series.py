"""Measure the monitor on rows that depend on each other: false alarms and delay.

Usage: ``python benchmarks/monitor_series.py [--simulated] [--electricity] [--example]
[--references N] [--run-length N] [--seed N]``. ``--simulated`` takes independent rows
and autoregressions of two columns, with windows of 100 rows, two kernels, and four
streams for each reference sample of 2000 rows. ``--electricity`` takes the half-hourly
demand for electricity in England and Wales, from 5 June to 27 August 2000, which comes
with pmdarima (``pip install pmdarima``), with windows of one day. One day in two is the
reference sample, and the other days are the stream. ``--example`` makes the figure of
the page on monitoring, ``doc/_static/monitoring.png``. Without a choice, does all.
Prints, for each setting, the rate of false alarms divided by the rate that `run_length`
asks for, and the delay after a shift: of one standard deviation in the first column, or
of 2000 MW, of which at most 7 days are watched. ``--simulated`` also writes
``results/monitor_series.csv``. One thread; about 20 minutes.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.signal import lfilter

from skdiscrepancy.monitoring import DriftMonitor

OUTPUT = Path(__file__).parent / "results" / "monitor_series.csv"
WINDOW, REFERENCE, COLUMNS, STREAMS = 100, 2000, 2, 4
# Rows of a stream without drift, and after the shift.
CALM, SHIFTED = 5000, 2000
# Autocorrelations of lag one of the simulated rows.
COEFFICIENTS = (0.0, 0.5, 0.8)
LENGTHS = (None, "auto")
HALF_HOURS = 48
# Shift of the demand for electricity, in MW.
SHIFT = 2000


def false_alarms(monitor, rows):
    """Return the alarms after a window without one, and how many rows follow one."""
    w, alarms = monitor.window_size, monitor.reset().update(rows)
    recent = np.convolve(alarms, np.ones(w + 1))[: len(alarms)] - alarms
    quiet = (recent == 0)[w:]
    return np.array([alarms[w:][quiet].sum(), quiet.sum(), alarms.sum()])


def delay_after(monitor, rows, shift):
    """Return the shifted rows until an alarm, NaN if one came before the shift."""
    calm = rows[: 2 * monitor.window_size]
    if monitor.reset().update(calm).any():
        return np.nan
    alarms = monitor.update(rows[len(calm) :] + shift)
    return alarms.argmax() + 1 if alarms.any() else np.inf


def report(name, monitor, counts, delays):
    """Print and return the rate of false alarms and the delay of one setting."""
    alarms, rows, every = np.reshape(counts, (-1, 3)).T
    rate = alarms.sum() / max(rows.sum(), 1)
    # Reference samples are independent, the alarms of one reference sample are not.
    error = np.sqrt(np.sum((alarms - rate * rows) ** 2)) / max(rows.sum(), 1)
    rate, error = rate * monitor.run_length, error * monitor.run_length
    delays = np.array(delays)
    known = delays[~np.isnan(delays)]
    print(
        f"{name}, block_length={monitor.block_length!r}, blocks of "
        f"{monitor.block_length_} rows: {every.sum():.0f} alarms; after a window "
        f"without one, {alarms.sum():.0f} in {rows.sum():.0f} rows, {rate:.2f} +- "
        f"{error:.2f} times the rate asked for; median delay "
        f"{np.median(known) if len(known) else np.nan:.0f} rows, "
        f"{np.isfinite(known).sum()} of {len(known)} shifts detected, "
        f"{len(delays) - len(known)} streams with an alarm before the shift",
        flush=True,
    )
    return {
        "setting": name,
        "block_length": str(monitor.block_length),
        "run length asked for": monitor.run_length,
        "reference samples": len(alarms),
        "rate / rate asked for": round(rate, 3),
        "standard error": round(error, 3),
        "median delay": round(np.median(known)) if len(known) else "",
        "shifts without an alarm before": len(known),
    }


def simulated(options, params):
    """Measure independent rows and autoregressions."""
    lines = []
    for coefficient in COEFFICIENTS:

        def draw(rng, n, a=coefficient):
            noise = np.sqrt(1 - a**2) * rng.normal(size=(n + 100, COLUMNS))
            return lfilter([1], [1, -a], noise, axis=0)[100:]

        for length in LENGTHS:
            counts, delays = np.zeros((options.references, 3)), []
            for i in range(options.references):
                rng = np.random.RandomState(options.seed + i)
                monitor = DriftMonitor(
                    window_size=WINDOW,
                    bandwidth="median",
                    block_length=length,
                    random_state=i,
                    **params,
                )
                monitor.fit(draw(rng, REFERENCE))
                for _ in range(STREAMS):
                    counts[i] += false_alarms(monitor, draw(rng, CALM))
                    # The first column shifts by one standard deviation.
                    rows = draw(rng, SHIFTED)
                    delays.append(delay_after(monitor, rows, [1.0, 0.0]))
            name = f"autocorrelation {coefficient}"
            lines.append(report(name, monitor, counts, delays))
            with OUTPUT.open("w", newline="") as file:
                writer = csv.DictWriter(file, fieldnames=list(lines[0]))
                writer.writeheader()
                writer.writerows(lines)


def without_seasons(demand, reference):
    """Subtract the mean of each half-hour of each weekday of the reference rows."""
    season = demand.index.strftime("%a %H:%M")
    means = demand[reference].groupby(season[reference]).mean()
    return demand - means.loc[season].to_numpy()


def half_hourly_demand():
    """Return the demand for electricity with its times, and the number of each day."""
    from pmdarima.datasets import load_taylor

    times = pd.date_range("2000-06-05", periods=84 * HALF_HOURS, freq="30min")
    return pd.Series(load_taylor(), times), np.arange(len(times)) // HALF_HOURS


def electricity(params):
    """Measure half-hourly demand, and its residuals of the weekday and time of day."""
    demand, day = half_hourly_demand()
    for name in ("demand", "residuals"):
        for length in LENGTHS:
            counts, delays = [], []
            for remainder in (0, 1):
                here = day % 2 == remainder
                rows = demand if name == "demand" else without_seasons(demand, here)
                X, stream = rows[here].to_frame(), rows[~here].to_frame()
                monitor = DriftMonitor(
                    window_size=HALF_HOURS,
                    block_length=length,
                    random_state=0,
                    **params,
                )
                counts.append(
                    false_alarms(monitor.fit(X.to_numpy()), stream.to_numpy())
                )
                n = 9 * HALF_HOURS
                for start in range(0, len(stream) - n + 1, 2 * HALF_HOURS):
                    part = stream[start : start + n].to_numpy()
                    delays.append(delay_after(monitor, part, SHIFT))
            title = (
                f"electricity, {name} (standard deviation {rows[here].std():.0f} MW)"
            )
            report(title, monitor, counts, delays)


def example(params):
    """Watch the last six weeks of demand, and draw the statistic of the residuals."""
    demand, day = half_hourly_demand()
    before = day < 42
    residuals = without_seasons(demand, before)
    print(residuals[~before].resample("W").mean().round().to_dict())
    for name, rows in {"demand": demand, "residuals": residuals}.items():
        monitor = DriftMonitor(window_size=HALF_HOURS, random_state=0, **params)
        monitor.fit(rows[before].to_frame().to_numpy())
        alarms = monitor.update(rows[~before].to_frame().to_numpy())
        print(f"{name}: {alarms.sum()} of {len(alarms)} rows have an alarm")
    times = rows[~before].index
    print(
        f"first alarm {times[alarms.argmax()]}, change {times[monitor.change_point_]}"
    )
    static = Path(__file__).parents[1] / "doc" / "_static"
    monitor.plot().figure_.savefig(static / "monitoring.png", dpi=100)


def main():
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("simulated", "electricity", "example"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--references", type=int, default=50)
    parser.add_argument("--run-length", type=float, default=1000)
    parser.add_argument("--seed", type=int, default=100_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    params = {"run_length": options.run_length}
    every = not (options.simulated or options.electricity or options.example)
    if options.simulated or every:
        simulated(options, params)
    if options.electricity or every:
        electricity(params)
    if options.example or every:
        example(params)


if __name__ == "__main__":
    main()
