# SPDX-License-Identifier: BSD-3-Clause
"""
Which generator is best, and do its rows look real?
===================================================

You can judge a generative model by its samples if you compare them with real rows that
the model has not seen. A comparison says which generators clearly differ.
"""

# %%
# The real data are images of digits, reduced to ten principal components. Generators
# learn from one half of the rows. The last generator cheats and returns training rows.
# MMD does not detect copies, so we also compute the median distance to the nearest
# training row, divided by the same median for the held-out rows.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors

from skdiscrepancy import MMDEstimator, mmd_compare
from skdiscrepancy.plotting import WitnessDisplay

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
generated["copied rows"] = train

mmd = MMDEstimator(random_state=0).fit(real)
nearest = NearestNeighbors(n_neighbors=1).fit(train)
usual = np.median(nearest.kneighbors(real)[0])
report = pd.DataFrame(
    {
        "score": mmd.score(rows),
        "p-value": mmd.test(rows).pvalue,
        "distance": np.median(nearest.kneighbors(rows)[0]) / usual,
    }
    for rows in generated.values()
).set_axis(list(generated))
print(report.round(3))
honest = {name: generated[name] for name in report.index[:3]}
comparison = mmd_compare(real, *honest.values(), names=list(honest))
print("not distinguishable from the best:", comparison.best_set())

# %%
# The right panel compares the single Gaussian (new sample) with the real rows.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
comparison.plot(ax=left)
WitnessDisplay.from_estimator(mmd, generated["1 Gaussian"], features=[0, 1], ax=right)
right.set(xlabel="first component", ylabel="second component")
plt.show()

# %%
# The single Gaussian is clearly the worst, because it puts too many rows in the middle,
# where real digits are rare. Ten and twenty Gaussians cannot be distinguished, because
# the interval of their difference contains zero. Both differ from real digits, but a
# small p-value does not mean a large difference. The copies have the best score,
# because their distribution is right. So check the distance to the training rows as
# well.
