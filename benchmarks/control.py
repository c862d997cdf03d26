"""Measure false discoveries and power of tests of several samples against a control.

Usage: ``python benchmarks/control.py [--draws N] [--only NAME] [--seed S] [--output
DIR]``. It prints a line for each setting and writes ``control.csv``. All corrections
read the p-values of the same calls. One thread; about 20 minutes for 1000 draws.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import warnings
from pathlib import Path
from time import process_time

import numpy as np

from skdiscrepancy import k_sample_test
from skdiscrepancy.inference._multiple_tests import adjust_pvalues

LEVEL = 0.05
ONE = {"kernel": "gaussian", "bandwidth": "median"}
EQUAL, LARGE, SMALL = (30, 30, 30, 30), (60, 30, 30, 30), (20, 60, 60, 60)


def normal(rng, n):
    """Draw rows of two independent normal columns."""
    return rng.normal(size=(n, 2))


def heavy(rng, n):
    """Draw rows of five columns with heavy tails."""
    return rng.standard_t(3, size=(n, 5))


# The rows, the sizes with the control first, what changes the samples, and options.
CASES = {
    "null, equal sizes": (normal, EQUAL, {}, ONE),
    "null, large control": (normal, LARGE, {}, ONE),
    "null, small control": (normal, SMALL, {}, ONE),
    "null, heavy tails, 20 kernels": (heavy, EQUAL, {}, {}),
    "null, 6 samples": (normal, (20,) * 7, {}, ONE),
    "one shifted by 3, equal sizes": (normal, EQUAL, {3: (1, 3)}, ONE),
    "one shifted by 3, large control": (normal, LARGE, {3: (1, 3)}, ONE),
    "one shifted by 3, small control": (normal, SMALL, {3: (1, 3)}, ONE),
    "one with a scale of 0.2, equal sizes": (normal, EQUAL, {3: (0.2, 0)}, ONE),
    "one shifted by 0.6, equal sizes": (normal, EQUAL, {3: (1, 0.6)}, ONE),
    "one shifted by 0.6, large control": (normal, LARGE, {3: (1, 0.6)}, ONE),
    "one shifted by 0.6, small control": (normal, SMALL, {3: (1, 0.6)}, ONE),
    "two shifted by 0.6, equal sizes": (normal, EQUAL, {2: (1, 0.6), 3: (1, 0.6)}, ONE),
}


def measure(make, sizes, changes, options, draws, seed):
    """Return the rates of any false discovery and of each true one, by correction."""
    false, true = {}, {}
    null = np.array([a not in changes for a in range(1, len(sizes))])
    for i in range(draws):
        rng = np.random.RandomState(seed + i)
        samples = [make(rng, n) for n in sizes]
        for a, (scale, shift) in changes.items():
            samples[a] = scale * samples[a] + shift
        # The data and the permutations have different seeds.
        how = {"n_resamples": 499, "random_state": 10**6 + seed + i, **options}
        found = k_sample_test(*samples, control=0, **how)
        adjusted = {
            "dunnett": found.adjusted_pvalues,
            "holm": adjust_pvalues(found.pvalues, "holm"),
            "bonferroni": found.pvalues * len(null),
        }
        for name, pvalues in adjusted.items():
            rejected = pvalues <= LEVEL
            false[name] = false.get(name, 0) + rejected[null].any() / draws
            if changes:
                power = rejected[~null].mean() / draws
                true[name] = true.get(name, 0) + power
    return false, true


def main():
    """Measure all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=10**5)
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results"
    )
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for name, case in CASES.items():
        if args.only not in name:
            continue
        start = process_time()
        false, true = measure(*case, args.draws, args.seed)
        line = {"samples": name, "sizes": " ".join(map(str, case[1]))}
        line["draws"] = args.draws
        line |= {f"any false discovery, {key}": f"{v:.3f}" for key, v in false.items()}
        line |= {f"power, {key}": f"{true.get(key, np.nan):.3f}" for key in false}
        print(line, f"{process_time() - start:.0f} s", flush=True)
        lines.append({key: "" if v == "nan" else v for key, v in line.items()})
    with (args.output / "control.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
