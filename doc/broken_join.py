"""Draw the first figure: a broken join changes no single column, only the whole rows.

    python doc/broken_join.py

writes ``doc/_static/broken_join.png``, which README.rst and the site show.
"""

# SPDX-License-Identifier: BSD-3-Clause

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import ks_2samp
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from skdiscrepancy import mmd_test

BLUE, ORANGE = "#0072B2", "#D55E00"
PATH = Path(__file__).parent / "_static" / "broken_join.png"


def draw():
    """Return the figure."""
    wine = load_wine(as_frame=True).data
    wine = wine[["total_phenols", "flavanoids", "color_intensity", "hue"]]
    old, new = train_test_split(wine, test_size=0.5, random_state=0)
    joined = new.assign(flavanoids=np.roll(new["flavanoids"], 1))
    pvalue = mmd_test(old, joined, random_state=0).pvalue

    options = {"figsize": (9.6, 3.0), "layout": "constrained"}
    figure, (left, middle, right) = plt.subplots(1, 3, **options)
    for ax, column in ((left, "total_phenols"), (middle, "flavanoids")):
        for sample, color, name in ((old, BLUE, "old"), (joined, ORANGE, "joined")):
            values = np.sort(sample[column])
            heights = np.arange(1, len(values) + 1) / len(values)
            ax.step(values, heights, where="post", color=color, label=name)
        same = ks_2samp(old[column], joined[column]).pvalue
        ax.set(xlabel=column, title=f"{column} alone:\nks_2samp p = {same:.2f}")
    left.set_ylabel("fraction of rows below")
    left.legend(frameon=False, loc="lower right")
    for sample, color, marker in ((old, BLUE, "o"), (joined, ORANGE, "x")):
        x, y = sample["total_phenols"], sample["flavanoids"]
        right.scatter(x, y, s=18, color=color, marker=marker, linewidth=1, alpha=0.8)
    right.set(xlabel="total_phenols", ylabel="flavanoids")
    right.set_title(f"all four columns together:\nmmd_test p = {pvalue:.3f}")
    for ax in (left, middle, right):
        ax.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    draw().savefig(PATH, dpi=120)
