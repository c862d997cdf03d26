# SPDX-License-Identifier: BSD-3-Clause
"""
Is my new batch drifting, and where?
====================================

A model in use meets new batches, and what matters is whether they still look like the
data it was trained on. Three questions in turn: has anything changed, in which columns,
and because of which rows?
"""

# %%
# Readings of a machine: 500 rows of reference, 300 new ones. Pressure follows
# temperature. In the new batch vibration spreads more, supplier C delivers more, and in
# 12 rows a valve has failed: the temperature is high, and the pressure low.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from skdiscrepancy import MMDEstimator
from skdiscrepancy.inference import mmd_column_tests, mmd_test

rng = np.random.RandomState(0)


def draw(n_rows, vibration, shares):
    """Return readings."""
    temperature = rng.normal(70, 5, n_rows)
    return pd.DataFrame(
        {
            "temperature": temperature,
            "pressure": 2 + 0.04 * (temperature - 70) + rng.normal(0, 0.05, n_rows),
            "vibration": rng.normal(1, vibration, n_rows),
            "flow": rng.gamma(9, 1.5, n_rows),
            "humidity": rng.uniform(30, 60, n_rows),
            "supplier": rng.choice(["A", "B", "C"], n_rows, p=shares),
        }
    )


reference = draw(500, vibration=0.2, shares=[0.5, 0.3, 0.2])
new = draw(300, vibration=0.3, shares=[0.4, 0.25, 0.35])
failed = np.arange(300) >= 288
new.loc[failed, "temperature"] = rng.normal(88, 1, 12)
new.loc[failed, "pressure"] = rng.normal(1.2, 0.05, 12)

# %%
# Anything? One test of the columns of numbers, standardised by the reference. Where? A
# test for each column, with the correction of Benjamini and Hochberg.
numbers = reference.columns[:-1]
scaler = StandardScaler().set_output(transform="pandas").fit(reference[numbers])
X, Y = scaler.transform(reference[numbers]), scaler.transform(new[numbers])
print(f"all columns of numbers: p = {mmd_test(X, Y, random_state=0).pvalue:.3f}")
tests = mmd_column_tests(reference, new, random_state=0)
print(tests)

# %%
# Because of which rows? `contributions` says how much each adds to the discrepancy. A
# milder failure, within the range of each column, is a harder case.
mmd = MMDEstimator().fit(X)
contributions = mmd.contributions(Y)
largest = contributions.argsort()[-12:]
print(f"12 largest contributions: {failed[largest].sum()} of failed rows")
mild = Y.copy()
mild.loc[failed, ["temperature", "pressure"]] = 1.4, -1.3
largest = mmd.contributions(mild).argsort()[-12:]
print(f"12 largest, milder failure: {failed[largest].sum()} of failed rows")

# %%
# Left, what the columns say; right, what the rows say, in the plane of two columns.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
order = tests.adjusted_pvalues.argsort()[::-1]
names, adjusted = reference.columns[order], tests.adjusted_pvalues[order]
drifts = adjusted <= 0.05
left.plot(adjusted[drifts], names[drifts], "s", color="#d55e00", label="drifts")
left.plot(adjusted[~drifts], names[~drifts], "o", color="#0072b2", label="not seen")
left.axvline(0.05, color="0.4", linestyle="--", label="level 0.05")
left.set(xscale="log", xlim=(1.2, 0.001), xlabel="adjusted p-value")
left.set_xticks([1, 0.1, 0.01, 0.001], [1, 0.1, 0.01, 0.001])
left.margins(y=0.1)
left.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
right.plot(*reference[numbers[:2]].T.values, ".", color="0.8", label="reference")
drawn = new.iloc[contributions.argsort()]
style = {"c": np.sort(contributions), "cmap": "viridis_r", "s": 16, "zorder": 3}
points = right.scatter(drawn["temperature"], drawn["pressure"], **style)
right.set(xlabel="temperature, °C", ylabel="pressure, bar")
right.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
figure.colorbar(points, label="new batch: contribution of the row")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The batch drifts (p = 0.001), in vibration and supplier (adjusted p = 0.003 each). The
# failed valve is in neither answer: 12 of 300 rows do not change the distribution of
# temperature or pressure enough. As rows they stand out: they are the 12 largest
# contributions. But dark points lie at the ends of the line too: what is rare adds
# much, wrong or not. And of 12 rows that fail mildly, each column in its usual range,
# none is among the largest: that needs a model of pressure given temperature.
