# SPDX-License-Identifier: BSD-3-Clause
"""
How much precision do I lose with fewer pairs?
==============================================

A discrepancy averages over pairs of rows, and a design chooses the pairs. Fewer pairs
cost less time but make the estimate noisier. How much noisier depends on whether the
samples differ at all.
"""

# %%
# We draw 40 pairs of samples with 256 rows and estimate their squared MMD with each of
# the seven designs. First both samples have the same distribution. Then the mean of the
# second sample is shifted by half a standard deviation in both columns.
# ``second_order=True`` makes the complete designs V and U average over the same terms
# as the other designs.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skdiscrepancy import mmd_score
from skdiscrepancy.designs import check_design
from skdiscrepancy.plotting import DesignDisplay

n_rows, n_repetitions = 256, 40
rng = np.random.RandomState(0)
textbook = {"kernel": "gaussian", "bandwidth": 2.0, "normalize": False, "pooling": None}
estimates = []
for seed in range(n_repetitions):
    X, Y = rng.normal(size=(2, n_rows, 2))
    for design in "vuldbxr":
        options = {"design": design, "second_order": design in "uv", **textbook}
        equal, shifted = (
            mmd_score(X, Y + shift, random_state=seed, **options) for shift in (0, 0.5)
        )
        estimates.append((design.upper(), equal, shifted))
estimates = pd.DataFrame(estimates, columns=["design", "equal", "shifted"])

# %%
# The time of a design is proportional to its number of pairs. A pair (i, j) and its
# mirror image (j, i) count once, because they are computed once.
groups = estimates.groupby("design", sort=False)
means, spreads = groups.mean(), groups.std()
pairs = pd.Series(
    {
        name: np.count_nonzero(np.triu(check_design(name.lower()).mask(n_rows)))
        for name in means.index
    }
)
report = means.add_prefix("mean ").join(spreads.add_prefix("std "))
print(report.assign(pairs=pairs).round(4))

# %%
# The upper row shows which pairs of 16 rows each design uses. The lower row shows the
# standard deviation of the estimates against the number of pairs.
figure = plt.figure(figsize=(10, 6.4), layout="constrained")
top, bottom = figure.subfigures(2, 1, height_ratios=[1, 2.4])
for ax, name in zip(top.subplots(1, 7), pairs.index, strict=True):
    DesignDisplay.from_design(name.lower(), 16, random_state=0, ax=ax)
    ax.set(title=name, xticks=[], yticks=[], xlabel="", ylabel="")
panels = bottom.subplots(1, 2, sharey=True)
titles = {"equal": "no difference", "shifted": "mean shifted by 0.5"}
ends = np.array([100, 40_000])
line = spreads.loc["U", "equal"] * np.sqrt(pairs["U"] / ends)
for ax, (column, title) in zip(panels, titles.items(), strict=True):
    ax.loglog(ends, line, "--", color="0.6", label="proportional to 1 / √pairs")
    ax.plot(pairs, spreads[column], "o", color="#0072b2")
    for name in "ULDBXR":
        place = pairs[name], spreads.loc[name, column]
        offset = (-10, -14) if name in "RX" else (8, 6)
        text = "U, V" if name == "U" else name
        ax.annotate(text, place, offset, textcoords="offset points", ha="center")
    ax.set(title=title, xlabel="pairs of 256 rows")
    ax.minorticks_off()
ticks = [0.002, 0.005, 0.01, 0.02, 0.05]
panels[0].set(ylabel="standard deviation of squared MMD", ylim=(0.0018, 0.07))
panels[0].set_yticks(ticks, ticks)
panels[0].legend(loc="lower left")
plt.show()

# %%
# Without a difference, only the number of pairs matters. All designs lie near the line,
# and L, with 128 pairs, is 15 times as noisy as U. A small difference must exceed this
# noise, so use all pairs if you can afford them. With a clear difference, most of the
# noise comes from the rows themselves, and more pairs do not remove it. Then X, R, D
# and B are nearly as precise as U, although B uses only a seventeenth of the pairs. L
# is imprecise in both cases. V is as precise as U but biased. Without a difference its
# mean is 0.004, although the true value is 0.
