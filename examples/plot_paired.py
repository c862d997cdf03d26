# SPDX-License-Identifier: BSD-3-Clause
"""
Did the same fields change between two years?
=============================================

Measurements of one subject before and after are pairs. A paired test compares each
subject with itself, so differences between subjects do not hide a change.
"""

# %%
# Ten varieties of barley grew at six sites in Minnesota, in 1931 and again in 1932. A
# pair is the yield of one variety at one site in both years.
import matplotlib.pyplot as plt
import pandas as pd
from vega_datasets import local_data

from skdiscrepancy import mmd_test

table = pd.read_json(local_data.barley.filepath)
pairs = table.pivot_table(index=["site", "variety"], columns="year", values="yield")
pairs = pairs.sample(frac=1, random_state=0)
tests = {
    "all sites, paired": mmd_test(
        pairs[1931], pairs[1932], paired=True, random_state=0
    ),
    "all sites, as two samples": mmd_test(pairs[1931], pairs[1932], random_state=0),
}
for site, rows in pairs.groupby("site"):
    tests[site] = mmd_test(rows[1931], rows[1932], paired=True, random_state=0)
for name, test in tests.items():
    print(f"{name:27} p = {test.pvalue:.3f}")
site = pairs.index.get_level_values("site")
clustered = mmd_test(pairs[1931], pairs[1932], clusters=(site, site), random_state=0)
print(f"six sites as clusters       p = {clustered.pvalue:.3f}")

# %%
# Each line is a pair.
figure, axes = plt.subplots(1, 6, figsize=(12, 3.6), sharey=True, layout="constrained")
for ax, (site, rows) in zip(axes, pairs.groupby("site"), strict=True):
    ax.plot(rows.T.to_numpy(), "o-", color="#d55e00" if site == "Morris" else "0.6")
    ax.set_xticks([0, 1], ["1931", "1932"])
    ax.set(title=f"{site}\np = {tests[site].pvalue:.3f}", xlim=(-0.3, 1.3))
axes[0].set_ylabel("yield, bushels per acre")
plt.show()

# %%
# As pairs, the years differ with p = 0.001. As two unrelated samples, p = 0.024,
# because the sites differ more than the years. Each site differs on its own, too, and
# Morris in the other direction. W. S. Cleveland (1993) suspected that its years were
# swapped. But if the weather of a year affects a whole site, only the six sites are
# independent. With ``clusters``, p = 0.47, because six sites are weak evidence if one
# changes in the other direction.
