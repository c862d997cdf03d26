"""Draw the designs of the paper, and the precision of each design."""

# SPDX-License-Identifier: BSD-3-Clause

import matplotlib.pyplot as plt
import numpy as np

from skdiscrepancy import mmd_score
from skdiscrepancy.designs import (
    Blocks,
    CompleteU,
    CompleteV,
    Cross,
    Linear,
    RandomPairs,
    Subdiagonals,
    check_design,
)
from skdiscrepancy.plotting import DesignDisplay


def paper_designs():
    """Draw the entries that each design of the paper uses, for ten rows."""
    columns = [
        {"V": CompleteV(), "U": CompleteU(), "L": Linear()},
        {f"D, r = {r}": Subdiagonals(n_subdiagonals=r) for r in (1, 2, 3)},
        {
            "B, sizes " + ", ".join(map(str, sizes)): Blocks(block_sizes=sizes)
            for sizes in ((5, 5), (3, 5), (4, 4, 2))
        },
        {f"X, n₁ = {n_first}": Cross(n_first=n_first) for n_first in (5, 3, 8)},
        {
            "R, 18 pairs": RandomPairs(n_pairs=18),
            "R, 27 with replacement": RandomPairs(n_pairs=27, replace=True),
        },
    ]
    figure, axes = plt.subplots(3, 5, figsize=(12, 7.8), layout="constrained")
    for panels, designs in zip(axes.T, columns, strict=True):
        for ax, (name, design) in zip(panels, designs.items(), strict=False):
            shown = DesignDisplay.from_design(design, 10, random_state=0, ax=ax)
            ax.set_title(f"{name}\n{(shown.mask > 0).sum()} entries", fontsize=10)
            ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    key = "blue: used\nwhite: not used\n\n1, 2, 3: times drawn"
    axes[2, 4].set_axis_off()
    axes[2, 4].text(0.5, 0.5, key, ha="center", va="center", fontsize=11)
    figure.supxlabel("row j", fontsize=11)
    figure.supylabel("row i", fontsize=11)
    return figure


def precision(n_rows=256, n_repetitions=40):
    """Draw the standard deviation of a squared MMD against the number of pairs."""
    rng = np.random.RandomState(0)
    options = {"kernel": "gaussian", "bandwidth": 2.0, "normalize": False}
    names, shifts = "VULDBXR", (0, 0.5)
    values = np.empty((n_repetitions, len(names), len(shifts)))
    for seed in range(n_repetitions):
        X, Y = rng.normal(size=(2, n_rows, 2))
        for j, name in enumerate(names):
            # The complete designs average over the same terms as the others.
            options |= {"design": name.lower(), "second_order": name in "UV"}
            for k, shift in enumerate(shifts):
                values[seed, j, k] = mmd_score(
                    X, Y + shift, pooling=None, random_state=seed, **options
                )
    spreads = values.std(axis=0, ddof=1)
    # A pair (i, j) and its mirror image count once, because they are computed once.
    masks = [check_design(name.lower()).mask(n_rows) for name in names]
    pairs = np.array([np.count_nonzero(np.triu(mask)) for mask in masks])

    figure, panels = plt.subplots(
        1, 2, figsize=(10, 4.4), sharey=True, layout="constrained"
    )
    ends = np.array([100, 40_000])
    line = spreads[1, 0] * np.sqrt(pairs[1] / ends)
    titles = ["no difference", "mean shifted by 0.5"]
    for ax, spread, title in zip(panels, spreads.T, titles, strict=True):
        ax.loglog(ends, line, "--", color="0.6", label="proportional to 1 / √pairs")
        ax.plot(pairs, spread, "o", color="#0072b2")
        for name, *place in zip(names[1:], pairs[1:], spread[1:], strict=True):
            offset = (-6, -14) if name in "RX" else (8, 6)
            text = "U, V" if name == "U" else name
            ax.annotate(text, place, offset, textcoords="offset points", ha="center")
        ax.set(title=title, xlabel=f"pairs of {n_rows} rows")
        ax.minorticks_off()
    ticks = [0.002, 0.005, 0.01, 0.02, 0.05]
    panels[0].set(ylabel="standard deviation of squared MMD", ylim=(0.0018, 0.07))
    panels[0].set_yticks(ticks, ticks)
    panels[0].legend(loc="lower left")
    return figure
