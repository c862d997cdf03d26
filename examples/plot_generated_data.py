# SPDX-License-Identifier: BSD-3-Clause
"""
Are the generated data like the real ones?
==========================================

A generative model can be judged by its data alone: draw from it, and compare with real
rows that it has not seen. MMD does so for any generator, with or without a density, and
its witness shows where the two differ.
"""

# %%
# The real rows are images of digits on their first ten principal components. A third is
# held out; each generator sees the others and draws as many rows as are held out. The
# last is none: it hands out rows that it has seen.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KernelDensity, NearestNeighbors

from skdiscrepancy import MMDEstimator
from skdiscrepancy.plotting import WitnessDisplay

X, digit = load_digits(return_X_y=True)
train, real = train_test_split(X, test_size=1 / 3, stratify=digit, random_state=0)
pca = PCA(10, random_state=0).fit(train)
train, real = pca.transform(train), pca.transform(real)
n_rows = len(real)
mixtures = [GaussianMixture(k, random_state=0).fit(train) for k in (1, 10)]
densities = [KernelDensity(bandwidth=width).fit(train) for width in (10, 3)]
generated = {
    "1 Gaussian": mixtures[0].sample(n_rows)[0],
    "10 Gaussians": mixtures[1].sample(n_rows)[0],
    "kernel density,\nbandwidth 10": densities[0].sample(n_rows, random_state=0),
    "kernel density,\nbandwidth 3": densities[1].sample(n_rows, random_state=0),
    "copies": train[:n_rows],
}

# %%
# One estimator, fitted to the held-out rows, scores all generators with the same
# kernels, so that scores compare; the p-values say which differences could be chance.
# The last number is the distance to the nearest training row, the median, over that of
# the held-out rows: near 1 for new rows like the real ones, 0 for copies.
mmd = MMDEstimator(random_state=0).fit(real)
nearest = NearestNeighbors(n_neighbors=1).fit(train)
usual = np.median(nearest.kneighbors(real)[0])
results = {}
for name, rows in generated.items():
    distance = np.median(nearest.kneighbors(rows)[0]) / usual
    results[name] = mmd.score(rows), mmd.test(rows).pvalue, distance
    label = name.replace("\n", " ")
    print("{:28} MMD {:5.2f}, p = {:.3f}, nearest {:.2f}".format(label, *results[name]))

# %%
# Scores on the left, squares for p < 0.05. On the right, where the single Gaussian (new
# sample) differs from the real rows (reference), on two of the ten components.
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4.8), layout="constrained", width_ratios=[1, 1.25]
)
for name, (score, p, _) in results.items():
    color = "#d55e00" if p < 0.05 else "#0072b2"
    left.plot(score, name, "s" if p < 0.05 else "o", color=color, markersize=7)
    left.annotate(
        f"p = {p:.3f}", (score, name), (9, 0), textcoords="offset points", va="center"
    )
left.axvline(0, color="0.6", linewidth=1, zorder=0)
left.set(xlabel="MMD score to held-out rows", xlim=(-0.1, 1.3))
left.invert_yaxis()
left.margins(y=0.1)
left.spines[["top", "right"]].set_visible(False)
WitnessDisplay.from_estimator(mmd, generated["1 Gaussian"], features=[0, 1], ax=right)
right.set(xlabel="first principal component", ylabel="second principal component")
plt.show()

# %%
# One Gaussian puts too many rows into the middle, which real digits avoid, and too few
# at the upper end; a kernel density that is too wide is worse still. Ten Gaussians
# (0.06) and the narrow kernel density (0.07) are close to the real rows, though the
# test tells both from them, p = 0.001: a p-value does not say how close. The best score
# has the generator that only copies, for MMD compares distributions, and copies have
# the right one: look at distances to the training rows as well. And two components show
# where rows differ, not all of it: scores and p-values are of ten.
