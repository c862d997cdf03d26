# SPDX-License-Identifier: BSD-3-Clause
"""
Which entries does each design use?
===================================

A statistic with core h is a mean of entries h(Z_i, Z_j) of an n x n matrix, and its
design says which of them. These are the designs of "A Practical Introduction to Kernel
Discrepancies" (A. Schrab, arXiv:2503.04820), with the parameters of its figures.
"""

# %%
# One column for each family, for n = 10. Designs that the paper defines above the
# diagonal only are mirrored, as in its figures: h is symmetric.
import matplotlib.pyplot as plt

from skdiscrepancy.designs import (
    Blocks,
    CompleteU,
    CompleteV,
    Cross,
    Linear,
    RandomPairs,
    Subdiagonals,
)
from skdiscrepancy.plotting import DesignDisplay

n_samples = 10
columns = {
    "complete and linear": {
        "V": CompleteV(),
        "U": CompleteU(),
        "L": Linear(),
    },
    "subdiagonals": {f"D, r = {r}": Subdiagonals(n_subdiagonals=r) for r in (1, 2, 3)},
    "blocks": {
        "B, sizes " + ", ".join(map(str, sizes)): Blocks(block_sizes=sizes)
        for sizes in ((5, 5), (3, 5), (4, 4, 2))
    },
    "cross": {f"X, n₁ = {n_first}": Cross(n_first=n_first) for n_first in (5, 3, 8)},
    "random pairs": {
        "R, 18 pairs": RandomPairs(n_pairs=18),
        "R, 27 with replacement": RandomPairs(n_pairs=27, replace=True),
    },
}

# %%
# Each panel is a :class:`~skdiscrepancy.plotting.DesignDisplay`. Where pairs are drawn
# with replacement, the numbers say how often.
figure, axes = plt.subplots(3, len(columns), figsize=(12, 7.8), layout="constrained")
for panels, (family, designs) in zip(axes.T, columns.items(), strict=True):
    for ax, (name, design) in zip(panels, designs.items(), strict=False):
        display = DesignDisplay.from_design(design, n_samples, random_state=0, ax=ax)
        used = (display.mask > 0).sum()
        ax.set_title(f"{name}\n{used} entries", fontsize=10)
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
        print(f"{family:20} {name:24} |D| = {design.size(n_samples):3}  {used} entries")
key = "blue: in the sum\nwhite: left out\n\n1, 2, 3: times drawn"
axes[2, 4].set_axis_off()
axes[2, 4].text(0.5, 0.5, key, ha="center", va="center", fontsize=11)
figure.supxlabel("sample j", fontsize=11)
figure.supylabel("sample i", fontsize=11)
plt.show()

# %%
# V has all 100 entries, U all but the diagonal, L only 10. The others lie between, and
# their parameters move them: three subdiagonals have 48 entries, a cross of halves 50.
# Blocks of sizes 3 and 5 leave the last two of the ten samples out: sizes that do not
# sum to n waste data. Of the 27 pairs with replacement 6 repeat others, and 42 entries
# stay instead of 54. The random panels are other draws than those of the paper.
