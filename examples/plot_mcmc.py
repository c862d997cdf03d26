# SPDX-License-Identifier: BSD-3-Clause
"""
Did my MCMC run work?
=====================

A Markov chain that starts far away or moves too slowly does not represent its target.
KSD measures the misfit from the unnormalised log-density alone, and Stein thinning
chooses the rows that represent the target best.
"""

# %%
# Random walks (Metropolis) start far from their target. Two chains explore a bent
# density, one with too small steps and one with good steps. The third chain explores a
# density with two modes and never leaves the nearer mode.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skdiscrepancy import ksd_score
from skdiscrepancy.model_checking import SteinThinning, log_density_gradient

rng = np.random.default_rng(0)


def bent(X):
    """Return a log-density: x is normal, and y is normal around x² - 1."""
    x, y = X.T
    return -(x**2) / 2 - 2 * (y - x**2 + 1) ** 2


def two_modes(X):
    """Return a log-density with normal modes at x = -5 and x = 5."""
    x, y = X.T
    return np.logaddexp(5 * x, -5 * x) - (x**2 + y**2) / 2


def metropolis(log_density, start, step):
    """Return the 3200 states of a chain."""
    chain = [np.array(start)]
    while len(chain) < 3200:
        proposal = chain[-1] + rng.normal(0, step, 2)
        log_ratio = log_density(proposal) - log_density(chain[-1])
        chain.append(proposal if np.log(rng.uniform()) < log_ratio else chain[-1])
    return np.array(chain)


runs = {
    "steps too small": (bent, metropolis(bent, (4, 9), 0.1)),
    "good steps": (bent, metropolis(bent, (4, 9), 1.0)),
    "one mode missed": (two_modes, metropolis(two_modes, (-9, 5), 1.0)),
}

# %%
# We keep 160 rows of each chain, chosen in three ways. A smaller KSD means a better
# fit. The last line of the table is the mean KSD of 20 samples of 160 independent
# draws.
options = {"kernel": "imq", "bandwidth": 1.0, "pooling": None}
options |= {"design": "v", "normalize": False, "squared": False}
x, e, side = rng.normal(size=(3, 20, 160))
draws = {bent: (x, x**2 - 1 + e / 2), two_modes: (x + 5 * np.sign(side), e)}
kept, ksd = {}, pd.DataFrame()
for name, (log_density, chain) in runs.items():
    # KSD needs the gradient of the log-density.
    model = log_density_gradient(log_density, finite_differences=True)
    kept[name] = {
        "every 20th row": chain[::20],
        "second half, every 10th row": chain[1600::10],
        "Stein thinning": SteinThinning(160, model).fit(chain).points_,
    }
    scores = {key: ksd_score(X, model, **options) for key, X in kept[name].items()}
    samples = np.stack(draws[log_density], axis=-1)
    mean = np.mean([ksd_score(X, model, **options) for X in samples])
    ksd[name] = pd.Series({**scores, "independent draws": mean})
print(ksd.round(2))

# %%
styles = {"every 20th row": ("#d55e00", "s"), "Stein thinning": ("#0072b2", "o")}
ranges = {bent: ([-4.5, 4.5], [-3, 12.5]), two_modes: ([-10, 8], [-5, 6])}
figure, axes = plt.subplots(1, 3, figsize=(12, 5), layout="constrained")
for ax, (name, (log_density, chain)) in zip(axes, runs.items(), strict=True):
    grid = np.meshgrid(*(np.linspace(*ends, 120) for ends in ranges[log_density]))
    density = np.exp(log_density(np.transpose(grid)))
    ax.contour(*grid, density / density.max(), [0.02, 0.2, 0.6], colors="0.3")
    ax.plot(*chain.T, color="0.75", linewidth=0.5, zorder=0)
    for choice, (color, marker) in styles.items():
        label = f"{choice}: KSD {ksd.loc[choice, name]:.2f}"
        rows = kept[name][choice]
        ax.plot(*rows.T, marker, color=color, markersize=3, label=label)
    ax.set(title=name, xlabel="x", ylabel="y")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14))
plt.show()

# %%
# With good steps, the second half of the chain is as good as independent draws. Stein
# thinning is better still, and discards most of the burn-in. If the steps are too
# small, no choice of rows repairs the chain. But KSD does not detect a missing mode,
# because the gradient near one mode does not reveal another. To find all modes, start
# several chains from different points.
