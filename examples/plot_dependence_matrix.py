# SPDX-License-Identifier: BSD-3-Clause
"""
What does a correlation matrix miss?
====================================

``table.corr()`` sees straight lines between numbers. ``hsic_matrix(table)`` sees
dependence of any form, also of categorical columns.
"""

# %%
# The table has the weather of Seattle from 2012 to 2015, and the day of the year. We
# keep every 15th day, because neighbouring days are similar, and shuffle these nearly
# independent rows.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from vega_datasets import local_data

from skdiscrepancy import hsic_matrix

table = pd.read_csv(local_data.seattle_weather.filepath)[::15]
table["day"] = pd.to_datetime(table.pop("date")).dt.day_of_year
columns = ["day", "temp_min", "temp_max", "weather", "precipitation", "wind"]
table = table[columns].sample(frac=1, random_state=0)

correlations = table.select_dtypes("number").corr().reindex(columns, columns=columns)
result = hsic_matrix(table)
print(correlations.round(2))
print(result.to_frame().round(3))

# %%
# On the right, bold numbers are significant.
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
image = left.imshow(correlations, cmap="RdBu_r", vmin=-1, vmax=1)
for (i, j), value in np.ndenumerate(correlations):
    if i != j and np.isfinite(value):
        color = "white" if abs(value) > 0.6 else "black"
        left.text(j, i, f"{value:.2f}", ha="center", va="center", color=color)
left.set_xticks(range(6), columns, rotation=45, ha="right")
left.set_yticks(range(6), columns)
left.set_title("table.corr()", loc="left")
figure.colorbar(image, ax=left, label="correlation")
result.plot(ax=right, cluster=False)
right.set_title("hsic_matrix(table)", loc="left")
plt.show()

# %%
# The correlation of the day with the temperatures is at most 0.16, because they rise
# and fall within a year. Their CKA is 0.35 and 0.37, and significant. The kind of
# weather, such as rain, has no correlation at all, but depends on the precipitation and
# the maximum temperature. CKA has no sign, so it does not say that a rainy day is
# colder. Its values are small where noise dominates, so judge pairs by their p-values.
# With 98 days, the test does not detect that the weather depends on the season.
