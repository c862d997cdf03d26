# SPDX-License-Identifier: BSD-3-Clause
"""
Does my mixture model fit?
==========================

A log-likelihood ranks models, but it does not say whether the best model fits. A test
on held-out rows does. KSD compares the rows with the density of the model, and MMD
compares them with rows drawn from the model.
"""

# %%
# The data are two columns of the iris data. We fit mixtures of one to three Gaussians
# to half of the rows and check them on the other half. The last model has wrong
# weights, because we give its cluster of small petals 5 % of the mass instead of a
# third.
import copy

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from skdiscrepancy import ksd_test, mmd_test

X, species = load_iris(return_X_y=True)
X = StandardScaler().fit_transform(X[:, [1, 2]])
train, held_out = train_test_split(X, test_size=0.5, stratify=species, random_state=0)
models = {
    f"{k} Gaussian{'s' * (k > 1)}": GaussianMixture(k, n_init=5, random_state=0)
    for k in (1, 2, 3)
}
for model in models.values():
    model.fit(train)
wrong = models["2, wrong weights"] = copy.deepcopy(models["2 Gaussians"])
wrong.weights_ = np.where(wrong.means_[:, 1] < 0, 0.05, 0.95)

# %%
# A small p-value is evidence that the model does not fit. Never test a model on the
# rows that it was fitted to, because it fits these rows better than new rows.
report = pd.DataFrame(
    {
        "log-likelihood": model.score(held_out),
        "KSD": ksd_test(held_out, model, random_state=0).pvalue,
        "MMD": mmd_test(held_out, model.sample(500)[0], random_state=0).pvalue,
    }
    for model in models.values()
).set_axis(list(models))
print(report.round(3))

# %%
# Each panel shows the held-out rows and the density of a model, with both p-values.
figure, axes = plt.subplots(1, 4, figsize=(12, 3.8), layout="constrained", sharey=True)
grid = np.meshgrid(np.linspace(-3, 3.5, 100), np.linspace(-2.2, 2.2, 100))
points = np.column_stack([axis.ravel() for axis in grid])
for ax, (name, model) in zip(axes, models.items(), strict=True):
    density = np.exp(model.score_samples(points)).reshape(grid[0].shape)
    ax.contourf(*grid, density, levels=12, cmap="Blues")
    ax.plot(*held_out.T, "o", color="#d55e00", markersize=4, markeredgecolor="white")
    ksd, mmd = report.loc[name, ["KSD", "MMD"]]
    ax.set_title(f"{name}\nKSD: p = {ksd:.3f}, MMD: p = {mmd:.3f}", fontsize=11)
    ax.set_xlabel("sepal width, standardised")
axes[0].set_ylabel("petal length, standardised")
plt.show()

# %%
# Both tests reject the single Gaussian, and neither rejects two or three Gaussians. Two
# Gaussians have the best log-likelihood, because two of the three species overlap in
# these columns. A model that passes may still be wrong, since 75 rows do not reveal a
# small misfit. The last panel shows the blind spot of KSD. It sees the shape of each
# cluster but hardly its weight, so right and wrong weights get the same p-value. MMD
# detects the wrong weights, and the log-likelihood drops. If clusters are far apart, do
# not rely on KSD alone.
