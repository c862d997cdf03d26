"""Measure how long scores and tests take with the options of most users.

Usage: ``python benchmarks/times.py [--scale F] [--output DIR]``. Ten columns, one
thread, CPU times. Writes ``times.csv``. ``--scale 0.1`` has a tenth of the rows.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import subprocess
import sys
from pathlib import Path
from time import process_time

import numpy as np

RESULTS = Path(__file__).resolve().parent / "results"
SEED = 180_000
N_COLUMNS = 10
EXACT = (1000, 5000)
MANY = (20_000, 100_000, 1_000_000)
# For each function, the numbers of rows with exact kernels and with features.
SIZES = {
    "mmd_score": (EXACT + MANY[:1], MANY),
    "mmd_test": (EXACT + MANY[:1], MANY),
    "hsic_score": (EXACT, MANY[:2]),
    "hsic_test": (EXACT, MANY[:2]),
    "ksd_score": (EXACT + MANY[:1], MANY),
    "ksd_test": (EXACT + MANY[:1], MANY),
}


def samples_of(function, n):
    """Draw what a function takes, without a discrepancy."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n, N_COLUMNS))
    if function.startswith("ksd"):
        return X, np.negative
    if function.startswith("hsic"):
        return X, rng.normal(size=n)
    return X, rng.normal(size=(n, N_COLUMNS))


def measure(function, n, n_components):
    """Return the CPU time of one call, in seconds."""
    import skdiscrepancy

    samples = samples_of(function, n)
    start = process_time()
    getattr(skdiscrepancy, function)(
        *samples, n_components=n_components, random_state=0, n_jobs=1
    )
    return process_time() - start


def main():
    """Measure all functions, with numba and without."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--engine", choices=("numba", "numpy"))
    options = parser.parse_args()
    if options.engine is None:
        lines = ["function,rows,features,engine,seconds"]
        # Without numba, the sums over few rows only.
        for engine in ("numba", "numpy"):
            command = [sys.executable, __file__, "--engine", engine]
            command += ["--scale", str(options.scale)]
            run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            lines += run.stdout.splitlines()
        (options.output / "times.csv").write_text("\n".join(lines) + "\n")
        return
    if options.engine == "numpy":
        # From now on `import numba` fails, as where it is not installed.
        sys.modules["numba"] = None
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for function, ways in SIZES.items():
        for n_components, sizes in zip((None, 256), ways, strict=True):
            # The first call loads or compiles the loops.
            measure(function, 600, n_components)
            for size in sizes:
                if options.engine == "numpy" and size not in EXACT:
                    continue
                n = int(options.scale * size)
                seconds = measure(function, n, n_components)
                features = n_components or "exact"
                row = (function, n, features, options.engine, f"{seconds:.3g}")
                writer.writerow(row)
                sys.stdout.flush()


if __name__ == "__main__":
    main()
