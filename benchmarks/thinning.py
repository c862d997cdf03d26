"""Measure how near the rows that MMDThinning chooses are to the whole sample.

Usage: ``python benchmarks/thinning.py [--draws N] [--seed S] [--only NAME] [--output
DIR]``. It prints a line for each setting and writes ``thinning.csv``. The ratio is the
MMD between the chosen rows and the sample, divided by the mean MMD of 20 random subsets
of the same size. Kernel thinning of goodpoints, if it is installed, halves the sample
seven times, so it is compared with MMDThinning for the same number of points. It has
the Gaussian kernel of MMDThinning in both of its steps, and is measured on one draw.
Its time does not include the sums over all pairs. One thread; about 10 minutes.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
from pathlib import Path
from time import process_time

import numpy as np

from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy.model_checking import MMDThinning

try:
    from goodpoints import kt
except ImportError:
    kt = None

N, N_POINTS, HALVINGS = 10_000, 100, 7
KERNELS = {
    "gaussian, median": {"kernel": "gaussian", "bandwidth": "median"},
    "laplace, median": {"kernel": "laplace", "bandwidth": "median"},
    "energy": {"kernel": "energy"},
    "default, 20 kernels": {},
}
SAMPLES = {
    "exponential, 1 column": lambda rng: rng.exponential(size=(N, 1)),
    "normal, 2 columns": lambda rng: rng.normal(size=(N, 2)),
    "3 clusters, 2 columns": lambda rng: (
        rng.normal(size=(N, 2)) + 4 * rng.randint(3, size=(N, 1))
    ),
    "Student t(3), 5 columns": lambda rng: rng.standard_t(3, size=(N, 5)),
    "normal, 10 columns": lambda rng: rng.normal(size=(N, 10)),
    "normal, 50 columns": lambda rng: rng.normal(size=(N, 50)),
}


class Distance:
    """The MMD between rows of a sample and the sample, for the mean of kernels."""

    def __init__(self, X, kernels):
        self.core = gram(kernels, X)
        self.means = self.core.sums().mean(axis=0) / len(X)

    def __call__(self, rows):
        """Return the MMD of some rows."""
        within = self.core.stack(rows, rows).mean()
        square = within - 2 * self.means[rows].mean() + self.means.mean()
        return np.sqrt(max(square, 0))

    def random(self, n_points, rng):
        """Return the mean MMD of random subsets."""
        subsets = (rng.permutation(len(self.means))[:n_points] for _ in range(20))
        return np.mean([self(rows) for rows in subsets])


def measure(make, options, draws, seed):
    """Return the ratios and times of one setting."""
    ratios, times = [], []
    for i in range(draws):
        rng = np.random.RandomState(seed + i)
        X = make(rng)
        start = process_time()
        thinning = MMDThinning(N_POINTS, **options).fit(X)
        times.append(process_time() - start)
        distance = Distance(X, thinning.kernels_)
        random = distance.random(N_POINTS, rng)
        ratios.append(distance(thinning.support_) / random)
    line = {
        "draws": draws,
        "ratio": f"{np.mean(ratios):.3f}",
        "largest ratio": f"{np.max(ratios):.3f}",
        "seconds": f"{np.median(times):.2f}",
        "points of goodpoints": "",
    }
    names = "ratio of goodpoints", "ratio, as many points", "seconds of goodpoints"
    line |= dict.fromkeys(names, "")
    if kt is not None and options.get("kernel") == "gaussian":
        [kernel] = thinning.kernels_
        rate = np.log(kernel(np.zeros((1, 1)), np.ones((1, 1)))[0, 0])

        def values(y, rows):
            return np.exp(rate * np.square(rows - y).sum(axis=1))

        def numbers(y, rows):
            # The second step stores the value of a single pair as a number.
            found = values(y, rows)
            return found if len(found) > 1 else found[0]

        start = process_time()
        rows = kt.thin(
            X, HALVINGS, values, numbers, seed=seed, meanK=distance.means, unique=True
        )
        seconds = process_time() - start
        random = distance.random(len(rows), rng)
        own = MMDThinning(len(rows), **options).fit(X).support_
        found = (
            f"{distance(rows) / random:.3f}",
            f"{distance(own) / random:.3f}",
            f"{seconds:.0f}",
        )
        line |= {
            "points of goodpoints": len(rows),
            **dict(zip(names, found, strict=True)),
        }
    return line


def main():
    """Measure all settings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--seed", type=int, default=10**5)
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results"
    )
    args = parser.parse_args()
    lines = []
    for sample, make in SAMPLES.items():
        for kernel, options in KERNELS.items():
            if args.only not in f"{sample}; {kernel}":
                continue
            line = {"sample": sample, "kernel": kernel}
            line |= measure(make, options, args.draws, args.seed)
            print(line, flush=True)
            lines.append(line)
    with (args.output / "thinning.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
