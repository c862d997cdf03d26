# SPDX-License-Identifier: BSD-3-Clause
"""
What do I do with a million rows?
=================================

A discrepancy of all pairs of rows takes four times as long if the number of rows
doubles. What do faster choices detect?
"""

# %%
# Both samples have a million rows and five columns, and all means differ by 0.1
# standard deviations. The order is random, so the first n rows are a random subset.
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skdiscrepancy import mmd_test
from skdiscrepancy.designs import Blocks

rng = np.random.default_rng(0)
X = rng.normal(size=(1_000_000, 5))
Y = rng.normal(0.1, size=(1_000_000, 5))
runs = []


def run(choice, X, Y, kernel="gaussian", **options):
    """Run a test with one kernel and measure its time."""
    start = perf_counter()
    options |= {"kernel": kernel, "bandwidth": "median", "random_state": 0}
    test = mmd_test(X, Y, **options)
    seconds = perf_counter() - start
    # Tests on blocks or disjoint pairs compare a studentised statistic with Student's t
    # distribution, so they have no resamples. The other tests use permutations.
    null = test.null_distribution if test.null_distribution.size else np.array([-1, 1])
    strength = (test.statistic - null.mean()) / null.std()
    runs.append((choice, len(X), seconds, strength))


# %%
# Random features are the default above 10 000 rows in total. With
# ``n_components=None``, tests use exact kernels. For a single column, the Laplace
# kernel needs only sorted values. No choice builds an n by n matrix.
exact = {"n_components": None}
run("warm-up", X[:100], Y[:100], n_components=256)
for n in (20_000, 200_000, 1_000_000):
    run("256 random features", X[:n], Y[:n])
for n in (1000, 3000, 8000):
    run("a subset, all pairs", X[:n], Y[:n], **exact)
for n in (5000, 20_000, 80_000):
    run("blocks of 500 rows", X[:n], Y[:n], design=Blocks(n_blocks=n // 500))
for n in (20_000, 200_000, 1_000_000):
    run("disjoint pairs", X[:n], Y[:n], design="l")
for n in (20_000, 200_000, 1_000_000):
    run("one column, all pairs", X[:n, [0]], Y[:n, [0]], kernel="laplace", **exact)
report = pd.DataFrame(runs[1:], columns=["choice", "rows", "seconds", "strength"])
print(report.round(1).to_string(index=False))

# %%
# The strength is the distance of the statistic from the mean of the null distribution,
# in standard deviations. Times depend on the machine.
figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
colors = ["#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7"]
for choice, marker, color, height in zip(
    report["choice"].unique(), "vos^D", colors, [10, 10, -14, -14, -14], strict=True
):
    rows, seconds, strength = report[report["choice"] == choice].T.to_numpy()[1:]
    ax.loglog(seconds, strength, color=color, marker=marker, label=choice)
    for n, x, y in zip(rows, seconds, strength, strict=True):
        style = {"xytext": (0, height), "ha": "center", "va": "center", "color": color}
        ax.annotate(f"{n:,}", (x, y), textcoords="offset points", **style)
ax.axhline(1.64, color="0.5", linestyle="--", label="p = 0.05")
ax.set(xlabel="seconds", ylabel="strength of the result", ylim=(0.3, 700))
ax.xaxis.set_major_formatter("{x:g}")
ax.yaxis.set_major_formatter("{x:g}")
ax.margins(x=0.1)
figure.legend(loc="outside upper center", ncols=3)
plt.show()

# %%
# Random features use all pairs of a million rows in seconds, and no other choice for
# all columns comes close. If your kernel has no features, draw a random subset as large
# as your time allows. Use disjoint pairs only for streams that you cannot store. A test
# of one column misses changes in the other columns. With 999 resamples, the strength
# cannot grow much further. And in a million rows, tiny differences are significant, so
# look at the effect size.
