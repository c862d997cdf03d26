"""Measure how well selectors recover the relevant columns of tables of mixed types.

Usage: ``python benchmarks/recovery_tables.py [--known] [--methods] [--repetitions N]
[--seed N] [--output DIR]``. Prints a line for each setting and writes
``recovery_tables.csv``, or with ``--known`` the recovery from data of several shapes to
``recovery_known.csv``, or with ``--methods`` the recovery by each method to
``recovery_methods.csv``. One thread; a few minutes with the defaults.

The data are those of Friedman, with five relevant columns among ten. Every other column
is cut into five categories of equal size, and 10 % of all cells are missing at random.
The selectors are told the number of relevant columns. The target is a recovery of at
most 0.1 below the recovery on the complete numbers.

The data of ``--known`` are the functions below. "lasso" is told the number of relevant
columns, with two scales and with one, and ``HSICSelectorCV`` chooses the number.

The data of ``--methods`` have 200 rows. Each method is told the number of relevant
columns. Copies do not count as relevant. In "copy", the value is the fraction of draws
in which the weak column was selected, and not a copy of the strong one. In "null", it
is the fraction of draws in which "auto" did not warn, although all 20 columns of 100
rows are independent of y, from ten times as many draws.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, make_classification, make_friedman1
from sklearn.linear_model import LinearRegression

from skdiscrepancy.feature_selection import HSICSelector, HSICSelectorCV

RESULTS = Path(__file__).resolve().parent / "results"
METHODS = ("filter", "mrmr", "lasso", "forward", "backward")
N_RELEVANT, N_COLUMNS, N_CATEGORIES, MISSING = 5, 10, 5, 0.1


def as_table(X, rng, *, categories, missing):
    """Return a table with categories in every other column, and with missing values."""
    table = pd.DataFrame(X).add_prefix("x")
    if categories:
        for column in table.columns[::2]:
            bins = pd.qcut(table[column], N_CATEGORIES, labels=list("abcde"))
            table[column] = bins.astype(str)
    return table.mask(rng.uniform(size=X.shape) < MISSING) if missing else table


def recovery(n, method, seed):
    """Return the fraction of relevant columns that are selected, for each table."""
    X, y = make_friedman1(n, N_COLUMNS, noise=1.0, random_state=seed)
    rng = np.random.RandomState(seed)
    tables = {
        "complete numbers": X,
        "categories": as_table(X, rng, categories=True, missing=False),
        "missing values": as_table(X, rng, categories=False, missing=True),
        "categories and missing values": as_table(
            X, rng, categories=True, missing=True
        ),
    }
    return {
        name: HSICSelector(N_RELEVANT, method=method)
        .fit(table, y)
        .support_[:N_RELEVANT]
        .mean()
        for name, table in tables.items()
    }


def ishigami(n, rng):
    """Return Ishigami's function. Column 2 only interacts, and counts as noise."""
    X = rng.uniform(-np.pi, np.pi, size=(n, 10))
    y = np.sin(X[:, 0]) * (1 + 0.1 * X[:, 2] ** 4) + 7 * np.sin(X[:, 1]) ** 2
    return X, y, [0, 1]


def linear(n, rng):
    """Return five linear effects among 20 normal columns."""
    X = rng.normal(size=(n, 20))
    y = X[:, :5] @ [1, 0.8, 0.6, 0.5, 0.4] + 1.5 * rng.normal(size=n)
    return X, y, range(5)


def heavy(n, rng):
    """Return four linear effects among 20 columns with heavy tails."""
    X = rng.standard_t(3, size=(n, 20))
    y = X[:, :4] @ [1, 0.8, 0.6, 0.4] + 1.5 * rng.normal(size=n)
    return X, y, range(4)


def additive(n, rng, *, copies=0):
    """Return four smooth effects among 50 columns, some of them noisy copies."""
    X = rng.normal(size=(n, 50))
    for column in range(4, 4 + copies):
        X[:, column] = X[:, column % 4] + 0.3 * rng.normal(size=n)
    y = -2 * np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + X[:, 2] + np.exp(-X[:, 3])
    return X, y + rng.normal(size=n), range(4 + copies)


def xor(n, rng):
    """Return a product of two signs, which no single column shows."""
    X = rng.normal(size=(n, 50))
    y = np.sign(X[:, 0] * X[:, 1])
    return X, y + 0.3 * rng.normal(size=n), range(2)


def classes(n, rng):
    """Return two classes, of which five columns tell, alone and together."""
    X, y = make_classification(
        n, 50, n_informative=5, n_redundant=0, shuffle=False, random_state=rng
    )
    return X, y, range(5)


def copy(n, rng):
    """Return a strong and a weak column, with a noisy copy of the strong one."""
    X = rng.normal(size=(n, 10))
    X[:, 2] = X[:, 0] + 0.3 * rng.normal(size=n)
    y = X[:, 0] + X[:, 1] / 2 + 0.3 * rng.normal(size=n)
    return X, y, range(2)


def attrition(n, rng):
    """Return 31 mixed columns, eight of which change the odds of a rare label."""
    table = pd.DataFrame(rng.normal(size=(n, 31))).add_prefix("x")
    table["x0"] = np.where(overtime := rng.uniform(size=n) < 0.3, "yes", "no")
    table["x1"] = status = rng.choice(["single", "married", "divorced"], n)
    table["x2"] = travel = rng.choice(
        ["often", "rarely", "never"], n, p=[0.2, 0.7, 0.1]
    )
    for column in (3, 4, 8, 9, 10, 11):
        table[f"x{column}"] = rng.randint(1, 5, size=n)
    for column in (5, 12, 13):
        table[f"x{column}"] = rng.exponential(size=n)
    for column in (14, 15, 16):
        table[f"x{column}"] = rng.choice(list("abcdef"), n)
    odds = 1.4 * overtime + 0.7 * (status == "single") + 0.6 * (travel == "often")
    odds -= 0.3 * (table["x3"] + table["x4"] - 5) / 1.1 - 0.3 * (table["x5"] - 1)
    odds += 0.4 * table["x6"] - 0.35 * table["x7"]
    # 16 % of the labels are 1.
    labels = rng.uniform(size=n) < 1 / (1 + np.exp(2.75 - odds))
    return table, labels.astype(int), range(8)


def diabetes(rng):
    """Return R^2 of a linear regression on the chosen columns, and their number."""
    X, y = load_diabetes(return_X_y=True)
    train, test = np.split(rng.permutation(len(X)), [354])
    chosen = HSICSelectorCV().fit(X[train], y[train]).get_support()
    model = LinearRegression().fit(X[train][:, chosen], y[train])
    return model.score(X[test][:, chosen], y[test]), chosen.sum()


KNOWN = {
    "ishigami, 200 rows": (ishigami, 200),
    "ishigami, 500 rows": (ishigami, 500),
    "ishigami, 1000 rows": (ishigami, 1000),
    "linear": (linear, 200),
    "heavy": (heavy, 200),
    "additive": (additive, 200),
    "redundant": (lambda n, rng: additive(n, rng, copies=8), 200),
    "friedman": (
        lambda n, rng: (*make_friedman1(n, 50, random_state=rng), range(5)),
        200,
    ),
    "attrition": (attrition, 1470),
}


SHAPES = {
    "friedman": lambda n, rng: (
        *make_friedman1(n, 50, noise=1.0, random_state=rng),
        range(5),
    ),
    "additive": additive,
    "redundant": lambda n, rng: (*additive(n, rng, copies=8)[:2], range(4)),
    "xor": xor,
    "classes": classes,
    "copy": copy,
}


def by_method(first, repetitions):
    """Return a row for each kind of data and each method."""
    for name, draw in SHAPES.items():
        for method in METHODS:
            found = []
            for seed in range(first, first + repetitions):
                X, y, relevant = draw(200, np.random.RandomState(seed))
                selector = HSICSelector(len(relevant), method=method).fit(X, y)
                recovered = selector.support_[relevant]
                found.append(recovered.all() if name == "copy" else recovered.mean())
            yield method_row(name, method, found)
    for method in METHODS[:3]:
        found = []
        for seed in range(first, first + 10 * repetitions):
            rng = np.random.RandomState(seed)
            X, y = rng.normal(size=(100, 20)), rng.normal(size=100)
            selector = HSICSelector("auto", method=method, random_state=seed)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                selector.fit(X, y)
            # Without any evidence, the selector warns and keeps the best column.
            found.append(not caught)
        yield method_row("null", method, found)


def method_row(name, method, found):
    """Return the mean of what one method found, with its standard error."""
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    values = {"value": f"{np.mean(found):.4f}", "standard error": f"{error:.4f}"}
    return {"data": name, "method": method, "draws": len(found), **values}


def known(first, repetitions, n_searches):
    """Return a row for each kind of data, with standard errors in brackets."""
    for name, (draw, n) in KNOWN.items():
        found = []
        for seed in range(first, first + repetitions):
            X, y, relevant = draw(n, np.random.RandomState(seed))
            row = {}
            for factor in (1.2, None):
                selector = HSICSelector(len(relevant), bandwidth_factor=factor)
                support = selector.fit(X, y).support_
                row[f"recovered, {factor}"] = support[relevant].mean()
                row[f"all, {factor}"] = float(support[relevant].all())
            if seed < first + n_searches:
                support = HSICSelectorCV().fit(X, y).support_
                row["CV recovered"] = support[relevant].mean()
                row["CV noise"] = support.sum() - support[relevant].sum()
            found.append(row)
        yield summary(name, pd.DataFrame(found))
    found = [diabetes(np.random.RandomState(first + i)) for i in range(n_searches)]
    yield summary("diabetes", pd.DataFrame(found, columns=["CV R2", "CV columns"]))


def summary(name, found):
    """Return means, with standard errors in brackets."""
    errors = found.std() / np.sqrt(found.count())
    texts = {key: f"{found[key].mean():.3f} ({errors[key]:.3f})" for key in found}
    return {"data": name, **texts}


def main():
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--known", action="store_true")
    parser.add_argument("--methods", action="store_true")
    parser.add_argument("--searches", type=int, default=40)
    parser.add_argument("--seed", type=int, default=100_000)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    rows, last = [], options.seed + options.repetitions
    options.output.mkdir(parents=True, exist_ok=True)
    if options.known:
        for row in known(options.seed, options.repetitions, options.searches):
            rows.append(row)
            print(row, flush=True)
        path = options.output / "recovery_known.csv"
        pd.DataFrame(rows).to_csv(path, index=False)
        return
    if options.methods:
        for row in by_method(options.seed, options.repetitions):
            rows.append(row)
            print(row, flush=True)
        path = options.output / "recovery_methods.csv"
        pd.DataFrame(rows).to_csv(path, index=False)
        return
    for n in (200, 500):
        for method in METHODS:
            draws = [recovery(n, method, seed) for seed in range(options.seed, last)]
            means = {name: np.mean([draw[name] for draw in draws]) for name in draws[0]}
            means = {name: round(float(mean), 3) for name, mean in means.items()}
            rows.append({"n": n, "method": method, **means})
            print(rows[-1], flush=True)
    with (options.output / "recovery_tables.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
