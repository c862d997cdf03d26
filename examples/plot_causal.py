# SPDX-License-Identifier: BSD-3-Clause
"""
Is it a chain, a fork or a collider?
====================================

Three variables can form a chain x → z → y, a fork x ← z → y, or a collider x → z ← y.
Tests of (conditional) independence show which variables are connected.
"""

# %%
# No effect here is a straight line. Are x and y dependent, and are they still dependent
# if you know z? Correlation and partial correlation ask the same about straight lines.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import pearsonr

from skdiscrepancy import conditional_hsic_test, hsic_test

rng = np.random.default_rng(0)
a, b, c = rng.normal(size=(3, 300))
middle = a + np.sin(2 * a) + 0.4 * b
graphs = {
    "chain x → z → y": (a, middle, middle**2 / 2 + 0.4 * c),
    "fork x ← z → y": (np.sin(2 * a) + 0.4 * b, a, a**2 + 0.4 * c),
    "collider x → z ← y": (a, a * b + 0.3 * c, b),
}


def partial_correlation(x, y, z):
    """Return the p-value of the correlation of residuals of lines in z."""
    x, y = (v - np.polyval(np.polyfit(z, v, 1), z) for v in (x, y))
    return pearsonr(x, y).pvalue


report = pd.DataFrame(
    {
        "correlation": pearsonr(x, y).pvalue,
        "partial correlation": partial_correlation(x, y, z),
        "HSIC": hsic_test(x, y, random_state=0).pvalue,
        "HSIC given z": conditional_hsic_test(x, y, z, random_state=0).pvalue,
    }
    for x, z, y in graphs.values()
).set_axis(list(graphs))
print(report.round(3))

# %%
figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for ax, (name, (x, z, y)) in zip(axes, graphs.items(), strict=True):
    dots = ax.scatter(x, y, c=z, cmap="viridis", s=14)
    alone, given = report.loc[name, ["HSIC", "HSIC given z"]]
    ax.set_title(
        f"{name}\nHSIC: p = {alone:.3f}, given z: p = {given:.3f}", fontsize=11
    )
    ax.set(xlabel="x", ylabel="y")
    figure.colorbar(dots, ax=ax, label="z")
plt.show()

# %%
# In the chain and the fork, x and y are dependent, but no longer if you know z, so no
# edge connects them. In the collider, x and y are independent until you know z.
# Correlations miss all of this. But the tests cannot distinguish the chain from the
# fork, because both imply the same independences. A large p-value may also mean too few
# rows, and a common cause that you did not measure adds an edge where there is none.
