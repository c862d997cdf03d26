"""Measure how often scorers choose the right number of components, and held-out scores.

Usage: ``python benchmarks/model_choice.py [--draws N] [--seed N]``. It prints a line
for each setting and writes ``model_choice.csv``:

- *choice*: 300 rows of three Gaussians in two dimensions, with unit standard
  deviations, the weights .4, .35 and .25, and means that are equally far from each
  other. Five-fold cross-validation chooses among mixtures of one to six Gaussians. The
  value is the fraction of draws in which it chooses three.
- *overfit*: mixtures of four Gaussians, fitted to 100 rows of one Gaussian. The value
  is the mean score of the rows of the fit and of 100 other rows.
- *far modes*: the score of 500 rows against a model of two equal modes ten standard
  deviations apart, by the fraction of rows in the first mode.

One thread; about 15 minutes for 200 draws.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
from pathlib import Path

import numpy as np
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV

from skdiscrepancy import ksd_score
from skdiscrepancy.model_checking import KSDScorer, neg_hyvarinen_scorer, neg_ksd_scorer

RESULTS = Path(__file__).parent / "results" / "model_choice.csv"
TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
SCORERS = {
    "log-likelihood": lambda model, X, y=None: model.score(X),
    "neg_hyvarinen_scorer": neg_hyvarinen_scorer,
    "neg_ksd_scorer": neg_ksd_scorer,
    "KSDScorer(bandwidth_factor=1)": KSDScorer(bandwidth_factor=1),
    "-ksd_score": lambda model, X, y=None: -ksd_score(X, model),
}
SEPARATIONS = (2.5, 4.0, 8.0)


def choices(rng, seed, separation):
    """Return the number of components that each scorer chooses."""
    modes = rng.choice(3, size=300, p=[0.4, 0.35, 0.25])
    X = separation * TRIANGLE[modes] + rng.normal(size=(300, 2))
    search = GridSearchCV(
        GaussianMixture(n_init=2, random_state=seed % 2**31),
        {"n_components": range(1, 7)},
        scoring=SCORERS,
        refit=False,
    ).fit(X)
    found = search.cv_results_
    return {name: 1 + found[f"mean_test_{name}"].argmax() for name in SCORERS}


def overfit(rng, seed):
    """Return the score of the rows of a fit, and of other rows."""
    X, Y = rng.normal(size=(2, 100, 2))
    model = GaussianMixture(4, random_state=seed % 2**31).fit(X)
    return ksd_score(X, model), ksd_score(Y, model)


def far_modes(rng, part):
    """Return the score of rows of which a part is in the first of two modes."""
    model = GaussianMixture(2).fit(np.array([[-5.0], [-5.1], [5.0], [5.1]]))
    model.weights_, model.means_ = np.array([0.5, 0.5]), np.array([[-5.0], [5.0]])
    model.covariances_ = model.precisions_cholesky_ = np.ones((2, 1, 1))
    first = np.arange(500) < 500 * part
    X = np.where(first, -5.0, 5.0) + rng.normal(size=500)
    return ksd_score(X[:, None], model)


def line(study, setting, criterion, values):
    """Return one line of the table, and print it."""
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    row = [study, setting, criterion, len(values), np.mean(values), error]
    row[4:] = [f"{number:.4f}" for number in row[4:]]
    print(*row, sep=", ", flush=True)
    return row


def main():
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=100_000)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.draws)
    rows = []
    pairs = np.array([overfit(np.random.RandomState(seed), seed) for seed in seeds])
    for setting, values in zip(("rows of the fit", "other rows"), pairs.T, strict=True):
        rows.append(line("overfit", setting, "ksd_score", values))
    for part in (0.5, 0.1, 0.0):
        values = [far_modes(np.random.RandomState(seed), part) for seed in seeds]
        rows.append(line("far modes", part, "ksd_score", values))
    for separation in SEPARATIONS:
        chosen = [choices(np.random.RandomState(s), s, separation) for s in seeds]
        for name in SCORERS:
            right = [found[name] == 3 for found in chosen]
            rows.append(line("choice", separation, name, right))
    with options.output.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["study", "setting", "criterion", "draws", "value", "standard error"]
        )
        writer.writerows(rows)


if __name__ == "__main__":
    main()
