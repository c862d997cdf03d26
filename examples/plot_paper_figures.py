# SPDX-License-Identifier: BSD-3-Clause
"""
Which pairs of rows does each design use?
=========================================

A discrepancy is a mean of entries h(Z_i, Z_j) of an n x n matrix, and its design
chooses the entries. These are the designs of "A Practical Introduction to Kernel
Discrepancies" (A. Schrab, arXiv:2503.04820), with the parameters of its figures.
"""

# %%
# Each column of the figure shows one family of designs for n = 10. The paper defines
# some designs above the diagonal only. We mirror them, as the figures of the paper do,
# because h is symmetric.
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
    "complete and linear": {"V": CompleteV(), "U": CompleteU(), "L": Linear()},
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
# :class:`~skdiscrepancy.plotting.DesignDisplay` draws each panel. If pairs are drawn
# with replacement, the numbers say how often each pair was drawn.
figure, axes = plt.subplots(3, len(columns), figsize=(12, 7.8), layout="constrained")
for panels, (family, designs) in zip(axes.T, columns.items(), strict=True):
    for ax, (name, design) in zip(panels, designs.items(), strict=False):
        display = DesignDisplay.from_design(design, n_samples, random_state=0, ax=ax)
        used = (display.mask > 0).sum()
        ax.set_title(f"{name}\n{used} entries", fontsize=10)
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
        print(f"{family:19}  {name:22}  {used:3} entries")
key = "blue: used\nwhite: not used\n\n1, 2, 3: times drawn"
axes[2, 4].set_axis_off()
axes[2, 4].text(0.5, 0.5, key, ha="center", va="center", fontsize=11)
figure.supxlabel("row j", fontsize=11)
figure.supylabel("row i", fontsize=11)
plt.show()

# %%
# V uses all 100 entries, U leaves out the diagonal, and L uses only 10 entries. The
# other designs lie in between, and you choose how many entries they use. For example,
# three subdiagonals have 48 entries, and a cross of two halves has 50. Some choices
# waste data. Blocks of sizes 3 and 5 ignore the last two of the ten rows. Of the 27
# pairs drawn with replacement, 6 are repeats, which leaves 42 entries instead of 54.
# The random pairs are not the pairs that were drawn for the paper.
