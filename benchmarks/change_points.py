"""Measure change_point_test: type I errors, places, coverage, other methods, times.

Each part appends rows to results/change_points.csv: what was measured, the method, the
number of rows, columns and draws, and the value. Fractions have a standard error of at
most .5 / sqrt(draws). Start one part at a time, for example::

    python benchmarks/change_points.py level 1000
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

from skdiscrepancy import change_point_test

RESULTS = Path(__file__).parent / "results" / "change_points.csv"
COLUMNS = ["measured", "method", "n_samples", "n_features", "draws", "value"]
# Seeds from here are for reported figures, smaller ones for what was tried.
FRESH = 100_000
WITHIN = 5


def series(seed, n, d, coefficient=0.0):
    """Return a stationary autoregressive series with variance 1."""
    noise = np.random.RandomState(seed).normal(size=(n + 100, d))
    scale = np.sqrt(1 - coefficient**2)
    return lfilter([scale], [1, -coefficient], noise, axis=0)[100:]


def shifted(seed, n, d, place, shift=1.0, coefficient=0.0):
    """Return a series whose mean changes in every column."""
    X = series(seed, n, d, coefficient)
    X[place:] += shift
    return X


def likelihood_place(X, least):
    """Return where two normal means, with a common variance 1, fit best."""
    n = len(X)
    m = np.arange(1, n)[:, np.newaxis]
    sums = np.cumsum(X - X.mean(axis=0), axis=0)[:-1]
    gains = (np.square(sums) / (m * (n - m))).sum(axis=1)
    return least + int(gains[least - 1 : n - least].argmax())


def kernel_cpd(X, n_changes=1, least=10):
    """Return the places of KernelCPD with its Gaussian kernel and median bandwidth."""
    import ruptures

    algorithm = ruptures.KernelCPD(kernel="rbf", min_size=least).fit(X)
    return algorithm.predict(n_bkps=n_changes)[:-1]


# Permutations: fewer than by default, at which the level is exact, too.
FEW = {"n_resamples": 99, "max_changes": 1}
CASES = {
    "level": [("independent rows", 1, 0.0, None)],
    "level_series": [("AR(.5)", 1, 0.5, "auto")],
    "level_more": [
        ("AR(.8)", 1, 0.8, "auto"),
        ("AR(.5)", 3, 0.5, "auto"),
        ("AR(.5), rows as independent", 1, 0.5, 1),
        ("independent rows", 5, 0.0, None),
    ],
}


def level(draws, first, cases="level"):
    """Measure how often a series without a change is found to have one."""
    for what, d, coefficient, block_length in CASES[cases]:
        found = [
            change_point_test(
                series(first + i, 200, d, coefficient),
                block_length=block_length,
                random_state=2**31 - first - i,
                **{**FEW, "n_resamples": 199 if cases == "level" else 99},
            ).pvalue
            for i in range(draws)
        ]
        rate = np.mean(np.array(found) <= 0.05)
        yield f"type I error, {what}", "change_point_test", 200, d, draws, rate


def level_series(draws, first):
    """Measure the type I error for the series that the goal names."""
    return level(draws, first, "level_series")


def level_more(draws, first):
    """Measure type I errors of other series."""
    return level(draws, first, "level_more")


def place(draws, first):
    """Measure places for a shift of one standard deviation in every column."""
    for d, true in [(2, 100), (1, 100), (3, 100), (2, 60)]:
        errors = {}
        for i in range(draws):
            X = shifted(first + i, 200, d, true)
            # Intervals of a small coverage take little time.
            result = change_point_test(
                X, level=1, confidence=0.5, random_state=2**31 - first - i, **FEW
            )
            by = {
                "change_point_test": result.change_points[0],
                "likelihood": likelihood_place(X, 10),
                "ruptures.KernelCPD": kernel_cpd(X)[0],
            }
            for method, row in by.items():
                errors.setdefault(method, []).append(abs(row - true))
        of = f"shift of 1 at row {true}"
        for method, own in errors.items():
            near = np.mean(np.array(own) <= WITHIN)
            yield f"within {WITHIN} rows, {of}", method, 200, d, draws, near
            yield f"mean error, {of}", method, 200, d, draws, np.mean(own)


def shifted_series(seed):
    """Return a series with a shift of 1.5 standard deviations in the middle."""
    return shifted(seed, 200, 1, 100, 1.5, 0.5)


def coverage(draws, first):
    """Measure coverage for several changes, among the tests that reject."""
    cases = [
        ("shift of 1", lambda s: shifted(s, 200, 2, 100), 100, None),
        ("shift of 1.5, AR(.5)", shifted_series, 100, "auto"),
        ("scale times 2", lambda s: scaled(s, 200), 100, None),
        ("shift of 0.5", lambda s: shifted(s, 1000, 2, 400, 0.5), 400, None),
        # Intervals are shown only if the test rejects, which is rare here.
        ("shift of 0.4", lambda s: shifted(s, 200, 2, 100, 0.4), 100, None),
    ]
    for what, draw, true, block_length in cases:
        covered, lengths, power = [], [], []
        for i in range(draws):
            X = draw(first + i)
            result = change_point_test(
                X, block_length=block_length, random_state=2**31 - first - i, **FEW
            )
            power.append(result.pvalue <= 0.05)
            for low, high in result.intervals:
                covered.append(low <= true <= high)
                lengths.append(high - low + 1)
        mine = "change_point_test", *X.shape
        n_found = len(covered)
        yield f"power, {what}", *mine, draws, np.mean(power)
        yield f"coverage of 95 % intervals, {what}", *mine, n_found, np.mean(covered)
        yield f"mean rows of an interval, {what}", *mine, n_found, np.mean(lengths)


def scaled(seed, n):
    """Return a series of two columns whose scale doubles in the middle."""
    X = series(seed, n, 2)
    X[n // 2 :] *= 2
    return X


def several(draws, first):
    """Measure three changes of mean and scale, and false changes besides."""
    true = np.array([75, 150, 225])
    exact, close, false, missed, theirs = [], [], [], [], []
    for i in range(draws):
        X = series(first + i, 300, 2)
        X[75:150] += 1.5
        X[225:] *= 2.5
        found = change_point_test(X, n_resamples=299, random_state=2**31 - first - i)
        places = found.change_points
        exact.append(len(places) == 3)
        gaps = np.abs(np.subtract.outer(places, true))
        # A false change is in a part without changes: too many, or far from all.
        false.append(len(places) > 3 or bool((gaps.min(axis=1) > 15).any()))
        close.append(gaps.min(axis=0) <= WITHIN if len(places) else np.zeros(3, bool))
        missed.append(len(places) < 3)
        given = np.array(kernel_cpd(X, 3, 15))
        theirs.append(np.abs(np.subtract.outer(given, true)).min(axis=0) <= WITHIN)
    ours, size = np.mean(close), (300, 2, draws)
    yield "three changes found", "change_point_test", *size, np.mean(exact)
    yield "a false change beside three", "change_point_test", *size, np.mean(false)
    yield "fewer than three changes", "change_point_test", *size, np.mean(missed)
    yield f"changes within {WITHIN} rows, of three", "change_point_test", *size, ours
    yield (
        f"changes within {WITHIN} rows, of three (number given)",
        "ruptures.KernelCPD",
        *size,
        np.mean(theirs),
    )


def seconds(draws, first):
    """Measure the processor time of one call in one thread, the median of some."""
    for n in (200, 1000, 5000):
        X = shifted(first, n, 2, n // 3)
        calls = {
            "change_point_test": lambda X=X: change_point_test(
                X, max_changes=1, random_state=0
            ),
            "ruptures.KernelCPD": lambda X=X: kernel_cpd(X),
        }
        if n >= 5000:
            calls["change_point_test, 256 features"] = lambda X=X: change_point_test(
                X, max_changes=1, n_components=256, random_state=0
            )
        for method, call in calls.items():
            # The first call of all compiles and imports.
            if n == 200:
                call()
            times = []
            for _ in range(draws):
                start = time.process_time()
                call()
                times.append(time.process_time() - start)
            yield "processor seconds of a call", method, n, 2, draws, np.median(times)


PARTS = level, level_series, level_more, place, coverage, several, seconds
PARTS = {part.__name__: part for part in PARTS}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("draws", type=int)
    parser.add_argument("--first", type=int, default=FRESH, help="first seed")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    new = not RESULTS.exists()
    for row in PARTS[given.part](given.draws, given.first):
        print(*row, flush=True)
        if given.first >= FRESH:
            with RESULTS.open("a", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                if new:
                    writer.writerow(COLUMNS)
                    new = False
                writer.writerow([*row[:-1], round(float(row[-1]), 4)])
