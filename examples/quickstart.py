# SPDX-License-Identifier: BSD-3-Clause
"""
Where do I start?
=================

skdiscrepancy answers three questions: whether two samples differ, whether y depends on
X, and whether a model fits. Each answer takes one function call and comes with a
p-value.
"""

# %%
# The data are chemical analyses of wines from three grape varieties. A p-value below
# 0.05 is evidence of a difference, a dependence or a misfit.
import numpy as np
from sklearn.datasets import load_wine
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from skdiscrepancy import hsic_test, ksd_test, mmd_test

wine = load_wine()
names = ["total_phenols", "flavanoids", "color_intensity", "hue"]
X = StandardScaler().fit_transform(wine.data)
X = X[:, [wine.feature_names.index(name) for name in names]]


def answer(case, pvalue, yes, no):
    """Print the answer in words and its p-value."""
    print(f"  {case:26}  {yes if pvalue < 0.05 else no:24}  p = {pvalue:.3f}")


# %%
# **Do two samples differ?** The maximum mean discrepancy (MMD) compares all columns at
# once. In the second sample, a join has put the flavanoids of each wine into the next
# row. No single column has changed.
old, new = train_test_split(X, test_size=0.5, random_state=0)
joined = new.copy()
joined[:, 1] = np.roll(new[:, 1], 1)

print("Do the wines differ from the old wines? (MMD)")
for label, sample in {"new wines": new, "after the broken join": joined}.items():
    test = mmd_test(old, sample, random_state=0)
    answer(label, test.pvalue, "yes, they differ", "no difference detected")

# %%
# **Does y depend on X?** The Hilbert-Schmidt independence criterion (HSIC) detects
# dependence of any shape. Total phenols and colour are almost uncorrelated.
print("\nDoes the colour depend on this column? (HSIC)")
columns = {"total phenols": X[:, 0], "hue": X[:, 3]}
columns["phenols of another wine"] = np.random.RandomState(0).permutation(X[:, 0])
for label, column in columns.items():
    test = hsic_test(column, X[:, 2], random_state=0)
    answer(label, test.pvalue, "yes, it does", "no dependence detected")

# %%
# **Does a model fit?** The kernel Stein discrepancy (KSD) compares data with a density.
# Here we fit Gaussians to the old wines and test them on the new wines.
print("\nDo Gaussians fit the flavanoids? (KSD)")
for label, n_components in {"one Gaussian": 1, "three Gaussians": 3}.items():
    model = GaussianMixture(n_components, random_state=0).fit(old[:, [1]])
    test = ksd_test(new[:, [1]], model, random_state=0)
    answer(label, test.pvalue, "no, they do not", "no misfit detected")

# %%
# The broken join makes the wines differ, the colour depends on the phenols and on the
# hue, and one Gaussian does not fit the flavanoids. If a test detects nothing, this
# does not prove the opposite, because few rows do not reveal small effects. Nor does a
# small p-value mean a large effect. Look at the ``effect_size`` of the result.
