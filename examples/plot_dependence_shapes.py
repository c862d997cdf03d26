# SPDX-License-Identifier: BSD-3-Clause
"""
Which measure detects my dependence?
====================================

Correlation detects straight lines, but dependence comes in many shapes. This example
runs three tests on ten shapes: correlation, mutual information and HSIC.
"""

# %%
# Each shape has 150 points. In the last two, x and y are independent.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import pearsonr
from sklearn.feature_selection import mutual_info_regression

from skdiscrepancy import hsic_test

n = 150
rng = np.random.default_rng(5)
x, u = rng.uniform(-1, 1, size=(2, n))
noise, sign = rng.normal(size=(2, n)), rng.choice([-1, 1], size=n)
column, row = rng.integers(10, size=n), rng.integers(5, size=n)
circle = np.array([np.cos(np.pi * x), np.sin(np.pi * x)])
board = np.array([column, 2 * row + column % 2])
shapes = {
    "line": (x, x + 0.6 * noise[0]),
    "faint line": (x, x + 3 * noise[0]),
    "parabola": (x, x**2 + 0.2 * noise[0]),
    "circle": circle + 0.2 * noise,
    "cross": (x, sign * x + 0.15 * noise[0]),
    "growing spread": (x, (1.1 + x) * noise[0]),
    "waves": (x, np.sin(12 * np.pi * x) + 0.1 * noise[0]),
    "chessboard": board + rng.uniform(size=(2, n)),
    "four clusters": (sign + 0.3 * noise[0], np.sign(u) + 0.3 * noise[1]),
    "noise": (noise[0], noise[1]),
}


# %%
# scikit-learn estimates mutual information but has no test for it, so we compare the
# estimate with the estimates for 199 permutations of y. ``hsic_test`` makes its own
# permutations.
def mutual_info_pvalue(X, y):
    """Return the p-value of a permutation test of mutual information."""
    ys = [y, *(rng.permutation(y) for _ in range(199))]
    values = [mutual_info_regression(X, y, random_state=0)[0] for y in ys]
    return np.mean(np.array(values) >= values[0])


pvalues = pd.DataFrame(
    {
        "correlation": pearsonr(x, y)[1],
        "mutual info": mutual_info_pvalue(x.reshape(-1, 1), y),
        "HSIC": hsic_test(x.reshape(-1, 1), y, random_state=0).pvalue,
    }
    for x, y in shapes.values()
).set_axis(list(shapes))
print(pvalues.round(3))

# %%
# A colour marks the p-values of at most 0.05, for which the test detects a dependence.
figure, axes = plt.subplots(2, 5, figsize=(11, 6.4))
figure.subplots_adjust(0.01, 0.19, 0.99, 0.95, wspace=0.06, hspace=0.66)
colors = {"correlation": "#d55e00", "mutual info": "#009e73", "HSIC": "#0072b2"}
for ax, (name, (x, y)) in zip(axes.flat, shapes.items(), strict=True):
    ax.plot(x, y, "o", color="0.35", markersize=3, markeredgewidth=0)
    ax.set(xticks=[], yticks=[], title=name)
    for line, (measure, pvalue) in enumerate(pvalues.loc[name].items()):
        style = {"ha": "center", "va": "center", "color": "0.4"}
        if pvalue <= 0.05:
            box = {"facecolor": colors[measure], "edgecolor": "none", "pad": 2}
            style |= {"color": "white", "bbox": box}
        text = f"{measure}: p {f'= {pvalue:.3f}' if pvalue >= 0.001 else '< 0.001'}"
        ax.text(0.5, -0.1 - 0.14 * line, text, transform=ax.transAxes, **style)
plt.show()

# %%
# Correlation detects the two lines and nothing else. Mutual information and HSIC detect
# the clear line, the parabola, the circle, the cross and the growing spread. Only HSIC
# detects the waves, because it tries many bandwidths. None of the tests is misled by
# the four clusters, where x and y are independent. HSIC has its limits, too. It misses
# the faint line, for which correlation is the better test. It also misses the small
# squares of the chessboard, which none of the three tests detects in 150 points.
