# SPDX-License-Identifier: BSD-3-Clause
"""
Which generator is better, and is that more than chance?
========================================================

A generator with a smaller distance to real rows may be better, or may only have been
lucky with its draws. A comparison gives each difference a standard error, and names the
generators that cannot be distinguished from the best one.
"""

# %%
# The real data are images of digits, reduced to ten principal components. Three
# generators learn from one half of the rows and draw as many rows as we held out.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import train_test_split

from skdiscrepancy import MMDEstimator, mmd_compare

X, digit = load_digits(return_X_y=True)
train, real = train_test_split(X, test_size=0.5, stratify=digit, random_state=0)
pca = PCA(10, random_state=0).fit(train)
train, real = pca.transform(train), pca.transform(real)
generated = {
    f"{k} Gaussian{'s' * (k > 1)}": GaussianMixture(k, random_state=0)
    .fit(train)
    .sample(len(real))[0]
    for k in (1, 10, 20)
}

# %%
# How sure is the score of a single generator? The interval holds the squared MMD of the
# two distributions, not only of these rows. It starts at zero if the rows are
# compatible with a perfect generator.
mmd = MMDEstimator(pooling="mean", normalize=False).fit(real)
for name, rows in generated.items():
    result = mmd.evaluate(rows)
    low, high = result.confidence_interval()
    print(f"{name:>12}: {result.value:.4f}, 95 % interval {low:.4f} to {high:.4f}")

# %%
# Intervals of single scores may overlap although the generators differ, because all
# scores depend on the same real rows. The comparison takes this into account. A small
# adjusted p-value means that some other generator is better.
comparison = mmd_compare(real, *generated.values(), names=list(generated))
print(comparison)
print("not distinguishable from the best:", comparison.best_set())

# %%
# The figure shows the difference of each generator to the best one.
comparison.plot()
plt.show()

# %%
# One Gaussian is clearly the worst generator. Whether ten or twenty Gaussians are
# better, these rows cannot tell: the interval of their difference holds zero. Draw more
# rows from the generators to shorten the intervals, until the number of real rows is
# the limit. A comparison does not detect a generator that copies its training rows, and
# which generator is closer depends on the kernel and on the representation of the rows.
