# SPDX-License-Identifier: BSD-3-Clause
"""
What does a design cost, and what does it lose?
===============================================

A discrepancy of n rows is a mean over pairs of rows, and a design says which pairs:
from all n squared of them down to n / 2. Fewer pairs cost less time and give a noisier
estimate; how much noisier depends on whether there is a difference at all.
"""

# %%
# The seven designs with their defaults, on 256 rows in each sample, 40 times. The
# first pairs of samples have one distribution; in the others, the mean of the second
# sample is off by half a deviation in both columns. `second_order=True` gives the
# complete designs V and U the core of the others, on pairs (X_i, Y_i).
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

from skdiscrepancy import MMDEstimator
from skdiscrepancy.designs import check_design
from skdiscrepancy.plotting import DesignDisplay

n_rows, n_repetitions, shifts, rng = 256, 40, (0.0, 0.5), np.random.RandomState(0)
estimators = {
    name.upper(): MMDEstimator(
        kernel="gaussian",
        bandwidth=2.0,
        normalize=False,
        pooling=None,
        design=name,
        second_order=name in "uv",
    )
    for name in "vuldbxr"
}
estimates = np.empty((len(estimators), len(shifts), n_repetitions))
for repetition in range(n_repetitions):
    X, Y = rng.normal(size=(2, n_rows, 2))
    for values, estimator in zip(estimates, estimators.values(), strict=True):
        estimator.set_params(random_state=repetition).fit(X)
        values[:, repetition] = [estimator.score(Y + shift) for shift in shifts]

# %%
# A pair (i, j) and its mirror (j, i) are computed once, and counted once here. Time is
# that of one score of 2000 rows: it depends on the machine, and for few pairs it is
# that of checking the input and starting up.
designs = {name: check_design(name.lower()) for name in estimators}
pairs = [np.count_nonzero(np.triu(d.mask(n_rows))) for d in designs.values()]
X, Y = rng.normal(size=(2, 2000, 2))
print("design  pairs  equal: mean, deviation  shifted: mean, deviation  2000 rows")
for name, count, values in zip(estimators, pairs, estimates, strict=True):
    start = perf_counter()
    estimators[name].fit(X).score(Y)
    time = 1000 * (perf_counter() - start)
    (m0, m1), (s0, s1) = values.mean(axis=1), values.std(axis=1)
    print(
        f"{name:6} {count:6} {m0:12.4f} {s0:10.4f} {m1:14.4f} {s1:10.4f} {time:7.0f} ms"
    )

# %%
# Above, the designs on 16 rows; below, the deviation of the estimate against the
# number of pairs, with one line in both panels.
figure = plt.figure(figsize=(10, 6.2), layout="constrained")
figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
top, bottom = figure.subfigures(2, 1, height_ratios=[1, 2.6])
for ax, (name, design) in zip(top.subplots(1, 7), designs.items(), strict=True):
    DesignDisplay.from_design(design, 16, random_state=0, ax=ax)
    ax.set(title=name, xticks=[], yticks=[], xlabel="", ylabel="")
deviations = estimates.std(axis=2).T
ends = np.array([100, 40000])
# Through U, on the left; the same on the right.
line = deviations[0, 1] * np.sqrt(pairs[1] / ends)
titles = ["X and Y of one distribution", "mean of Y shifted by 0.5"]
panels = bottom.subplots(1, 2, sharey=True)
for ax, heights, title in zip(panels, deviations, titles, strict=True):
    ax.loglog(ends, line, color="0.6", linestyle="--", label="∝ 1 / √pairs, through U")
    ax.plot(pairs, heights, "o", color="#0072b2")
    for name, x, y in zip(["U, V", *"LDBXR"], pairs[1:], heights[1:], strict=True):
        offset = (-12, -15) if name in "RX" else (10, 6)
        ax.annotate(name, (x, y), offset, textcoords="offset points", ha="center")
    ax.set(title=title, xlabel="pairs (i, j) of 256 rows")
    ax.spines[["top", "right"]].set_visible(False)
    ax.minorticks_off()
ticks = [0.002, 0.005, 0.01, 0.02, 0.05]
panels[0].set(ylabel="standard deviation of squared MMD", ylim=(0.0018, 0.07))
panels[0].set_yticks(ticks, ticks)
panels[0].legend(frameon=False, loc="lower left")
plt.show()

# %%
# Without a difference only the number of pairs counts, not which: the designs lie about
# on one line, and L, with 128 pairs, has 15 times the deviation of U. This is the noise
# that a small difference must rise above, so there U is worth its cost. With a shift
# the rows themselves vary, which no pair averages away: X, R, D and B, with 2 to 17
# times fewer pairs, come within a quarter of U, and only L is far off. V deviates as U
# does, but is biased: 0.0041 where the truth is 0. Deviations from 40 repetitions are
# known to about a tenth: D and R are not told apart. X saves only half of the pairs.
