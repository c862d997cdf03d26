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
    """Print one line."""
    print(f"  {case:26}  {yes if pvalue < 0.05 else no:24}  p = {pvalue:.3f}")


# %%
# **Do two samples differ?** The maximum mean discrepancy (MMD) compares all columns at
# once. Here it compares chemical analyses of wines, first from one grape variety, then
# from two. The columns have different units, so they are standardised first.
wine, variety = load_wine(return_X_y=True)
wine = StandardScaler().fit_transform(wine)
first, second = train_test_split(wine[variety == 1], test_size=0.5, random_state=0)

print("Do two samples of wine differ? (MMD)")
test = mmd_test(first, second, random_state=0)
answer("same grape variety", test.pvalue, "yes, they differ", "no difference detected")
test = mmd_test(first, wine[variety == 0], random_state=0)
answer(
    "different grape varieties",
    test.pvalue,
    "yes, they differ",
    "no difference detected",
)

# %%
# **Does y depend on X?** The Hilbert-Schmidt independence criterion (HSIC) detects
# dependence of any shape. Here y is the progression of diabetes after one year.
diabetes = load_diabetes()

print("\nDoes the progression of diabetes depend on it? (HSIC)")
for name, label in {"bmi": "body mass index", "age": "age", "sex": "sex"}.items():
    column = diabetes.data[:, [diabetes.feature_names.index(name)]]
    test = hsic_test(column, diabetes.target, random_state=0)
    answer(label, test.pvalue, "yes, it does", "no dependence detected")

# %%
# **Does a model fit?** The kernel Stein discrepancy (KSD) compares data with a density.
# Here a Gaussian is fitted to one half of the rows and tested on the other half.
cancer = load_breast_cancer()
texture = cancer.data[:, cancer.feature_names == "mean texture"]

print("\nDoes a Gaussian fit the texture of tumours? (KSD)")
for label, rows in {"texture": texture, "log(texture)": np.log(texture)}.items():
    train, held_out = train_test_split(rows, test_size=0.5, random_state=0)
    test = ksd_test(held_out, GaussianMixture().fit(train), random_state=0)
    answer(label, test.pvalue, "no, it does not", "no misfit detected")

# %%
# The two grape varieties differ, body mass index and age are related to the progression
# of diabetes, and a Gaussian fits the logarithm of the texture but not the texture
# itself. "Not detected" is not a proof: with few rows, small effects stay hidden. Nor
# is a small p-value a large effect. For the size of an effect, compare scores such as
# :func:`~skdiscrepancy.mmd_score`.
