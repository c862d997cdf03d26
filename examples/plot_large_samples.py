# SPDX-License-Identifier: BSD-3-Clause
"""
How do I use it on a million rows?
==================================

A complete statistic takes all pairs of rows, and four times as long for twice the rows.
A design takes some of the pairs: time grows with the rows, and so can the sample.
"""

# %%
# Two samples of a million rows and five columns; those of the second are larger by 0.05
# of a standard deviation, which no histogram would show.
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

from skdiscrepancy import MMDEstimator
from skdiscrepancy.designs import Blocks
from skdiscrepancy.inference import mmd_test

rng = np.random.default_rng(0)
X = rng.normal(size=(1_000_000, 5))
Y = rng.normal(0.05, size=(1_000_000, 5))

# %%
# All pairs ("u"), all pairs within blocks of 500 rows, and every row once ("l"). No
# design keeps a matrix of n by n numbers, which would be 8 TB for a million rows: the
# memory is that of the data, a few numbers for each row, and a tile. Each test is
# timed, `fit` included; its statistic is in standard deviations of its null.
options = {"kernel": "gaussian", "bandwidth": "median", "random_state": 0}
runs = {
    "all pairs": (lambda n: "u", [1000, 2000, 4000, 6000]),
    "blocks of 500 rows": (lambda n: Blocks(n_blocks=n // 500), [5000, 15_000, 50_000]),
    "linear": (lambda n: "l", [10_000, 100_000, 1_000_000]),
}
# The first call loads or compiles what the others use.
MMDEstimator(**options).fit(X[:200]).test(Y[:200])
results = {}
for name, (design, sizes) in runs.items():
    results[name] = []
    for n in sizes:
        start = perf_counter()
        mmd = MMDEstimator(design=design(n), **options).fit(X[:n])
        test = mmd.test(Y[:n], n_resamples=199)
        seconds = perf_counter() - start
        # The tests of blocks and pairs have a normal null: no resamples.
        null = test.null_distribution if test.null_distribution.size else [-1, 1]
        deviations = (test.statistic - np.mean(null)) / np.std(null)
        results[name].append((n, seconds, deviations))
        print(f"{name:20} {n:9,} rows {seconds:6.2f} s {deviations:6.1f} deviations")

# %%
# On the left, time against rows; on the right, what was seen for that time.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
colors, markers = ["#0072b2", "#d55e00", "#009e73"], ["o", "s", "^"]
for (name, rows), color, marker in zip(results.items(), colors, markers, strict=True):
    n, seconds, deviations = np.transpose(rows)
    left.loglog(n, seconds, color=color, marker=marker, label=name)
    right.semilogx(seconds, deviations, color=color, marker=marker)
left.set(xlabel="rows of each sample", ylabel="time of a test, s")
right.set(xlabel="time of a test, s", ylabel="statistic, in deviations of its null")
right.axhline(1.64, color="0.5", linestyle=":")
right.text(10, 1.8, "about p = 0.05", color="0.4", ha="right")
ticks = [0.03, 0.1, 0.3, 1, 3, 10]
left.set_yticks(ticks, ticks)
right.set_xticks(ticks, ticks)
for ax in (left, right):
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)
figure.legend(loc="outside upper center", ncols=3, frameon=False)
plt.show()

# %%
# A single column is another matter. By the Laplace kernel, all pairs of a million rows
# take n log n steps in sorted order, to the same number.
start = perf_counter()
options["kernel"] = "laplace"
test = mmd_test(X[:, [0]], Y[:, [0]], n_resamples=199, **options)
print(f"first column, all pairs: p = {test.pvalue:.3f}, {perf_counter() - start:.1f} s")

# %%
# Times depend on the machine, slopes do not: for many rows, time grows as their square
# for all pairs, and in proportion for the others. What counts for a test is the number
# of pairs rather than that of rows: 6000 rows with all pairs are 8.3 deviations off,
# 50 000 in blocks 5.9, and a million rows used once only 0.6, though all differ alike.
# So take "l" only if rows come as a stream and are gone. Else blocks as large as time
# allows, or a random part of the rows with all pairs, do as well as each other. Pairs
# and blocks are of neighbouring rows: shuffle rows that are sorted or in clusters. One
# run of each is shown: by chance alone, a statistic moves by about one deviation.
