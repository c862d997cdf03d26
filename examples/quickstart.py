# SPDX-License-Identifier: BSD-3-Clause
"""
Where do I start?
=================

skdiscrepancy answers three questions about your data: whether two samples differ,
whether y depends on X, and whether a model fits. Each answer takes one function call
and comes with a p-value.
"""

# %%
# A p-value below 0.05 is evidence of a difference, a dependence or a misfit.
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from skdiscrepancy import hsic_test, ksd_test, mmd_test


def answer(case, pvalue, yes, no):
    """Print the answer in words and its p-value."""
    print(f"  {case:26}  {yes if pvalue < 0.05 else no:24}  p = {pvalue:.3f}")


# %%
# **Do two samples differ?** The maximum mean discrepancy (MMD) compares all columns at
# once. Here the samples are chemical analyses of wines, first from the same grape
# variety, then from two varieties. The columns have different units, so we standardise
# them first.
wine, variety = load_wine(return_X_y=True)
wine = StandardScaler().fit_transform(wine)
first, second = train_test_split(wine[variety == 1], test_size=0.5, random_state=0)

samples = {
    "same grape variety": second,
    "different grape varieties": wine[variety == 0],
}

print("Do two samples of wine differ? (MMD)")
for label, sample in samples.items():
    test = mmd_test(first, sample, random_state=0)
    answer(label, test.pvalue, "yes, they differ", "no difference detected")

# %%
# **Does y depend on X?** The Hilbert-Schmidt independence criterion (HSIC) detects
# dependence of any shape. Here y is the progression of diabetes after one year.
diabetes = load_diabetes()

print("\nDoes the progression of diabetes depend on this column? (HSIC)")
for name, label in {"bmi": "body mass index", "age": "age", "sex": "sex"}.items():
    column = diabetes.data[:, [diabetes.feature_names.index(name)]]
    test = hsic_test(column, diabetes.target, random_state=0)
    answer(label, test.pvalue, "yes, it does", "no dependence detected")

# %%
# **Does a model fit?** The kernel Stein discrepancy (KSD) compares data with a density.
# Here we fit a Gaussian to half of the rows and test it on the other half.
cancer = load_breast_cancer()
texture = cancer.data[:, cancer.feature_names == "mean texture"]

print("\nDoes a Gaussian fit the texture of tumours? (KSD)")
for label, rows in {"texture": texture, "log(texture)": np.log(texture)}.items():
    train, held_out = train_test_split(rows, test_size=0.5, random_state=0)
    test = ksd_test(held_out, GaussianMixture().fit(train), random_state=0)
    answer(label, test.pvalue, "no, it does not", "no misfit detected")

# %%
# The two grape varieties differ, the progression of diabetes depends on body mass index
# and age, and a Gaussian does not fit the texture. If a test detects nothing, this does
# not prove the opposite, because a few hundred rows do not reveal small effects. Nor
# does a small p-value mean a large effect. To see how large an effect is, look at the
# ``effect_size`` of the result, which is also in its repr.
