# SPDX-License-Identifier: BSD-3-Clause
"""
Have my texts drifted?
======================

Tickets, queries and product names change. TF-IDF turns texts into sparse rows, and MMD
compares all rows of two samples at once.
"""

# %%
# Our short texts are the names of airports in the United States. The reference is 400
# names from outside Alaska. In a batch of 100 new names, 0 to 50 % come from Alaska.
# Fit TF-IDF to both samples together. Otherwise, it ignores new words, and every batch
# looks different.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import ks_2samp
from sklearn.feature_extraction.text import TfidfVectorizer
from vega_datasets import local_data

from skdiscrepancy import mmd_test

airports = pd.read_csv(local_data.airports.filepath).query("country == 'USA'")
in_alaska = airports["state"] == "AK"
alaska, elsewhere = airports["name"][in_alaska], airports["name"][~in_alaska]
rng = np.random.default_rng(0)


def draw(fraction):
    """Return 400 names from outside Alaska, and 100 names with some from Alaska."""
    n_alaska = int(100 * fraction)
    names = rng.permutation(elsewhere)[: 500 - n_alaska]
    return names[:400], np.append(names[400:], rng.permutation(alaska)[:n_alaska])


def text_test(old, new, **options):
    """Compare two lists of texts. The linear kernel is the cosine similarity here."""
    rows = TfidfVectorizer(**options).fit_transform(np.append(old, new))
    options = {"kernel": "linear", "n_resamples": 199, "random_state": 0}
    return mmd_test(rows[: len(old)], rows[len(old) :], **options).pvalue


characters = {"analyzer": "char_wb", "ngram_range": (2, 4)}
tests = {
    "MMD, words": text_test,
    "MMD, characters": lambda old, new: text_test(old, new, **characters),
    "Kolmogorov-Smirnov, length": lambda old, new: (
        ks_2samp([len(text) for text in old], [len(text) for text in new]).pvalue
    ),
}
power = {}
for fraction in (0, 0.1, 0.2, 0.3, 0.4, 0.5):
    batches = [draw(fraction) for _ in range(10)]
    power[fraction] = {
        name: np.mean([test(*batch) <= 0.05 for batch in batches])
        for name, test in tests.items()
    }
power = pd.DataFrame(power).T
print(power)

# %%
# Which words make the difference? We subtract the mean TF-IDF of both groups.
words = TfidfVectorizer()
rows = words.fit_transform(pd.concat([alaska, elsewhere]))
change = rows[: len(alaska)].mean(axis=0) - rows[len(alaska) :].mean(axis=0)
change = pd.Series(np.ravel(change), words.get_feature_names_out()).sort_values()

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
for (name, values), marker in zip(power.items(), "os^", strict=True):
    left.plot(values, marker=marker, label=name)
left.axhline(0.05, color="0.5", linestyle="--", label="false positive rate")
left.set(xlabel="fraction of new names from Alaska", ylabel="drift detected")
left.legend()
ends = pd.concat([change[:6], change[-6:]])
right.barh(ends.index, ends, color=np.where(ends > 0, "#d55e00", "#0072b2"))
right.set(xlabel="mean TF-IDF, Alaska minus elsewhere")
plt.show()

# %%
# With 40 % of names from Alaska, all tests detect the drift in every batch. With 20 %
# they rarely do, because a hundred short names contain little information. The length
# of a name does almost as well here, because names in Alaska are short. But length
# misses a change of topic, and words show what has changed: seaplane bases (SPB) and
# bays instead of municipal and county airports. TF-IDF does not know which words mean
# the same. If that matters, use embeddings.
