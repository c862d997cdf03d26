# SPDX-License-Identifier: BSD-3-Clause
"""
Is my column normal, or does another model fit?
===============================================

Normality is often tested with Kolmogorov-Smirnov and judged by a Q-Q plot. KSD tests
any model with a density, in any number of columns.
"""

# %%
# The column is the texture of 569 tumours. We fit a Gaussian to the texture and to its
# logarithm, and test both on the same rows. A model looks too good on these rows.
# Lilliefors' tables correct Kolmogorov-Smirnov for this. With ``method="parametric"``,
# KSD refits any model to each sample that it draws from the model.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import kstest, probplot
from sklearn.datasets import load_breast_cancer
from sklearn.mixture import GaussianMixture
from statsmodels.stats.diagnostic import lilliefors

from skdiscrepancy import ksd_test

texture = load_breast_cancer(as_frame=True).data["mean texture"].to_numpy()
columns = {"texture": texture, "log(texture)": np.log(texture)}
options = {"method": "parametric", "n_resamples": 199, "random_state": 0}
report = pd.DataFrame(
    {
        "Kolmogorov-Smirnov": kstest(x, "norm", args=(x.mean(), x.std())).pvalue,
        "Lilliefors": lilliefors(x)[1],
        "KSD": ksd_test(x, GaussianMixture(1), **options).pvalue,
    }
    for x in columns.values()
).set_axis(list(columns))
print(report.round(3))

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for ax, (name, x) in zip(axes, columns.items(), strict=True):
    (quantiles, ordered), (slope, intercept, _) = probplot(x)
    ax.plot(quantiles, intercept + slope * quantiles, color="0.6")
    ax.plot(quantiles, ordered, "o", color="#0072b2", markersize=3)
    text = ", ".join(f"{test}: {p:.3f}" for test, p in report.loc[name].items())
    ax.set_title(f"{name}\n{text}", fontsize=10)
    ax.set(xlabel="quantile of the Gaussian", ylabel=f"quantile of {name}")
plt.show()

# %%
# The Q-Q plot of the texture is bent. But Kolmogorov-Smirnov does not reject it (p =
# 0.125), because the test treats the fitted mean and variance as known. The two tests
# that correct for the fit reject the texture, and no test rejects the logarithm. For a
# Gaussian column, use Lilliefors' test, which is much faster. KSD is for models without
# tables, such as mixtures. But it hardly notices a wrong weight of a cluster that is
# far from the others.
