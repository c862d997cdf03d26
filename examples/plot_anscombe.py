# SPDX-License-Identifier: BSD-3-Clause
"""
Can samples with equal means, variances and correlations differ?
================================================================

Anscombe drew four samples of eleven points with the same mean, variance, correlation
and regression line. Which of them can a test distinguish?
"""

# %%
# MMD compares each sample with sample I. HSIC tests whether the residuals of the
# regression line depend on x.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from vega_datasets import local_data

from skdiscrepancy import hsic_test, mmd_test

table = pd.read_json(local_data.anscombe.filepath)
samples = {name: rows[["X", "Y"]] for name, rows in table.groupby("Series")}
report, lines = {}, {}
for name, rows in samples.items():
    x, y = rows.to_numpy(float).T
    lines[name] = np.polyfit(x, y, 1)
    residual = y - np.polyval(lines[name], x)
    report[name] = {
        "correlation": np.corrcoef(x, y)[0, 1],
        "MMD to I": mmd_test(samples["I"], rows, random_state=0).pvalue,
        "HSIC of residuals": hsic_test(x, residual, random_state=0).pvalue,
    }
report = pd.DataFrame(report).T
print(report.round(3))

# %%
figure, axes = plt.subplots(
    1, 4, figsize=(12, 3.6), sharex=True, sharey=True, layout="constrained"
)
ends = np.array([3, 20])
for ax, (name, rows) in zip(axes, samples.items(), strict=True):
    ax.plot(ends, np.polyval(lines[name], ends), color="0.6")
    ax.plot(rows["X"], rows["Y"], "o", color="#0072b2")
    correlation, mmd, hsic = report.loc[name]
    text = f"MMD to I: p = {mmd:.3f}\nHSIC of residuals: p = {hsic:.3f}"
    ax.set_title(f"{name}: correlation {correlation:.3f}\n{text}", fontsize=10)
    ax.set_xlabel("x")
axes[0].set_ylabel("y")
plt.show()

# %%
# HSIC detects the curve (II) and the outlier (III), because their residuals depend on
# x. MMD detects that x has another distribution in IV. But each test also misses
# something. Eleven points are too few for MMD to distinguish II and III from I. In IV,
# all points but one have the same x, so HSIC detects nothing. No test replaces a look
# at the points.
