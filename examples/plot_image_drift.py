# SPDX-License-Identifier: BSD-3-Clause
"""
Does a test notice images that have gone bad?
=============================================

A camera may blur or shift images, or lose a pixel. You want to know before the labels
arrive, and which faults matter to the classifier.
"""

# %%
# We corrupt images of digits in six ways. In a batch of 200 images, 5 to 100 % are
# corrupted, and MMD compares the pixels of the batch with 800 clean images. A support
# vector machine learned from the clean images.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.ndimage import gaussian_filter
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from skdiscrepancy import MMDEstimator

X, digit = load_digits(return_X_y=True)
reference, X, y_reference, y = train_test_split(
    X, digit, train_size=800, stratify=digit, random_state=0
)
rng = np.random.default_rng(0)
dead = np.ones((8, 8))
dead[3, 4] = 0
faults = {
    "none": lambda images: images,
    "dead pixel": lambda images: images * dead,
    "darker": lambda images: 0.8 * images,
    "noise": lambda images: images + rng.normal(0, 2, images.shape),
    "blur": lambda images: gaussian_filter(images, (0, 0.6, 0.6)),
    "shift": lambda images: np.roll(images, 1, axis=2),
    "mirror": lambda images: images[:, :, ::-1],
}
classifier = SVC().fit(reference, y_reference)
mmd = MMDEstimator(kernel="gaussian", random_state=0).fit(reference)
fractions = [0.05, 0.1, 0.3, 1]
shown, accuracy, detected = {}, {}, {}
for name, fault in faults.items():
    bad = fault(X.reshape(-1, 8, 8))
    shown[name], bad = bad[y == 5][5], bad.reshape(X.shape)
    accuracy[name] = classifier.score(bad, y)
    pvalues = np.empty((6, len(fractions)))
    for i, rows in enumerate(rng.permuted([np.arange(len(X))] * 6, axis=1)[:, :200]):
        for j, fraction in enumerate(fractions):
            n_bad = int(200 * fraction)
            batch = np.concatenate((bad[rows[:n_bad]], X[rows[n_bad:]]))
            pvalues[i, j] = mmd.test(batch, n_resamples=199).pvalue
    detected[name] = (pvalues <= 0.05).mean(axis=0)
report = pd.DataFrame(detected, index=fractions).T
print(report.assign(accuracy=accuracy).round(2))

# %%
# Above: a bad image, and the accuracy for bad images. Below: the fraction of six
# batches in which the test detects drift.
figure, axes = plt.subplots(
    2, 7, figsize=(12, 4.4), height_ratios=[1.3, 1], sharey="row", layout="constrained"
)
for (above, below), name in zip(axes.T, report.index, strict=True):
    above.imshow(shown[name], cmap="gray_r", vmin=0, vmax=16)
    above.set(xticks=[], yticks=[], title=f"{name}\naccuracy {accuracy[name]:.0%}")
    below.bar(range(4), report.loc[name], color="#0072b2")
    below.set_xticks(range(4), ["5", "10", "30", "100"])
    below.set(xlabel="% bad images", ylim=(0, 1.02))
axes[1, 0].set_ylabel("drift detected")
plt.show()

# %%
# If all images are bad, MMD detects every fault, and it raises no false alarm. But
# an alarm does not mean that your model fails. A dead pixel, less light, noise and blur
# hardly reduce the accuracy, while shifted and mirrored images halve it. MMD detects
# 5 % of shifted images in most batches, but it misses 10 % of mirrored images. Watch
# the predictions of the classifier as well.
