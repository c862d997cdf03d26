# SPDX-License-Identifier: BSD-3-Clause
"""
Is a decision fair, given the qualification?
============================================

Two groups get different salary offers. The difference may be fair, if the groups differ
in experience, or unfair, if the group matters beyond the experience. A test of
independence cannot distinguish the two cases, but a conditional test can.
"""

# %%
# The groups differ in their experience. Offers grow with experience, and not in a
# straight line. In the fair company the group has no other effect. In the unfair
# company, a person of group B with the same experience gets less, and more so the more
# experience the person has.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from skdiscrepancy import conditional_hsic_test, hsic_test

rng = np.random.RandomState(0)
n = 300
group = rng.choice(["A", "B"], size=n)
experience = rng.gamma(3, np.where(group == "A", 4.0, 2.0))
fair = 30 + 40 * np.log1p(experience / 3) + 8 * rng.normal(size=n)
offers = {
    "fair company": fair,
    "unfair company": fair - np.where(group == "B", 1.5 * experience, 0),
}

# %%
# We ask two questions for each company. Does the offer depend on the group? Does it
# depend on the group, given the experience?
pvalues = pd.DataFrame(
    {
        "dependent": hsic_test(offer, group, random_state=0).pvalue,
        "given experience": conditional_hsic_test(
            offer, group, experience, random_state=0
        ).pvalue,
    }
    for offer in offers.values()
).set_axis(list(offers))
print(pvalues)

# %%
# The residuals show why. We subtract a smooth curve of the experience, which a Gaussian
# process fits to both groups together, as the test does for the features of its
# kernels.
colors = {"A": "C0", "B": "C1"}
figure, axes = plt.subplots(2, 2, figsize=(9, 6), sharex=True, layout="constrained")
for column, (name, offer) in zip(axes.T, offers.items(), strict=True):
    curve = GaussianProcessRegressor(
        RBF(10.0) + WhiteKernel(0.1), normalize_y=True
    ).fit(experience[:, np.newaxis], offer)
    residual = offer - curve.predict(experience[:, np.newaxis])
    for label, color in colors.items():
        some = group == label
        options = {"s": 12, "color": color, "alpha": 0.7, "label": f"group {label}"}
        column[0].scatter(experience[some], offer[some], **options)
        column[1].scatter(experience[some], residual[some], **options)
    column[1].axhline(0, color="gray", linewidth=1)
    given = pvalues.loc[name, "given experience"]
    column[0].set_title(f"{name}\np-value given experience: {given:.3f}")
    column[1].set_xlabel("experience in years")
axes[0, 0].set_ylabel("offer")
axes[1, 0].set_ylabel("offer minus curve")
axes[0, 0].legend()
plt.show()

# %%
# In both companies the offer depends on the group. Only in the unfair company does it
# depend on the group among people with the same experience. In the lower row, most
# points of group B with long experience are under the line. The answer is only as good
# as the list of what is given. If a legitimate reason is missing from ``given``, a fair
# company looks unfair. If ``given`` contains a consequence of unfair treatment, such as
# the last salary, an unfair company looks fair. And where only one group has people,
# here above 20 years, there is nothing to compare.
