"""Which question takes which kind of data: every combination, tried.

``python doc/combinations.py`` tries all of them on small data and writes the table of
the user guide. A test compares the table with the code.
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.mixture import GaussianMixture

import skdiscrepancy as sk
from skdiscrepancy.feature_selection import ColumnCKA, HSICSelector, HSICSelectorCV
from skdiscrepancy.kernels import PrecomputedKernel
from skdiscrepancy.monitoring import DriftMonitor, drift_report

TABLE = Path(__file__).parent / "user_guide" / "combinations.csv"
N = 40
FEATURES = {"n_components": 16}
TEST = {"n_resamples": 19, "random_state": 0}


@cache
def numbers(seed, n=N):
    """Return three columns, the last with few values."""
    X = np.random.default_rng(seed).normal(size=(n, 3)).round(2)
    X[:, 2] = np.abs(X[:, 2]).round()
    return X


def table(X):
    """Return a table with numbers, categories and a missing value."""
    frame = pd.DataFrame(X.copy(), columns=["a", "b", "c"])
    frame["word"] = np.where(X[:, 2] > 0, "u", "v")
    frame.loc[1, "a"] = np.nan
    return frame


def blocks(X):
    """Return the rows in two blocks."""
    return [X[:25], X[25:]]


def memory_map(X):
    """Return the rows in a file."""
    with tempfile.NamedTemporaryFile(delete=False) as file:
        found = np.memmap(file.name, dtype=X.dtype, mode="w+", shape=X.shape)
    found[...] = X
    return found


def dask_array(X):
    """Return the rows in two chunks."""
    import dask.array

    return dask.array.from_array(X, chunks=(25, -1) if X.ndim > 1 else 25)


def dask_table(X):
    """Return a table in two partitions."""
    import dask.dataframe

    return dask.dataframe.from_pandas(table(X), npartitions=2)


def polars_table(X):
    """Return a table of polars."""
    import polars

    return polars.from_pandas(table(X))


def positions(X):
    """Return positions in a matrix of all samples."""
    start = {1: 0, 2: N, 3: 2 * N}[next(s for s in (1, 2, 3) if X is numbers(s))]
    return np.arange(start, start + N)[:, np.newaxis]


def gaussian(A, B):
    """Return the Gram matrix of two blocks of rows."""
    return rbf_kernel(A, B, gamma=0.5)


# For each kind of data, what becomes of a sample, and the options that go with it.
KINDS = {
    "array": (lambda X: X, {}),
    "float32": (lambda X: X.astype(np.float32), {}),
    "table": (table, {}),
    "polars": (polars_table, {}),
    "sparse": (csr_array, {}),
    "function": (lambda X: X, {"kernel": gaussian}),
    "precomputed": (positions, {"kernel": "precomputed"}),
    "features": (lambda X: X, FEATURES),
    "design": (lambda X: X, {"design": "b"}),
    "blocks": (blocks, FEATURES),
    "memory map": (memory_map, FEATURES),
    "dask array": (dask_array, FEATURES),
    "dask table": (dask_table, FEATURES),
    "weights": (lambda X: X, {"sample_weight": np.linspace(1, 2, N)}),
    "series": (lambda X: X, {"block_length": 3}),
    "series by features": (lambda X: X, {"block_length": 3, **FEATURES}),
}


def with_samples(function, n_samples=2, **own):
    """Return a question of several samples."""

    def ask(make, options):
        samples = [make(numbers(seed)) for seed in range(1, n_samples + 1)]
        return function(*samples, **own, **options)

    return ask


def with_target(function, **own):
    """Return a question of the dependence of y on X. Blocks of X have blocks of y."""

    def ask(make, options):
        y = numbers(1)[:, 0] ** 2 + numbers(2)[:, 0]
        if make in (blocks, dask_array):
            y = make(y)
        elif make is dask_table:
            y = make(np.column_stack((y, y, y)))["b"]
        return function(make(numbers(1)), y, **own, **options)

    return ask


def with_variables(function, **own):
    """Return a question of several variables on the same rows."""

    def ask(make, options):
        variables = [make(numbers(seed)) for seed in (1, 2, 3)]
        return function(*variables, **own, **options)

    return ask


def with_model(function, n_models=1, **own):
    """Return a question of a sample and of models."""

    def ask(make, options):
        models = [GaussianMixture(k + 1).fit(numbers(2)) for k in range(n_models)]
        return function(make(numbers(1)), *models, **own, **options)

    return ask


def columns_of(function, **own):
    """Return a question of the columns of one sample."""
    return lambda make, options: function(make(numbers(1)), **own, **options)


def selected(selector):
    """Return a question of a selector."""

    def ask(X, y, sample_weight=None, **options):
        own = selector(**options)
        if sample_weight is None:
            return own.fit(X, y)
        return own.fit(X, y, sample_weight=sample_weight)

    return with_target(ask)


def search(**options):
    """Return a search over numbers of columns."""
    return HSICSelectorCV(HSICSelector(**options), cv=2)


def watched(make, options):
    """Watch a stream of rows. Data in blocks are the reference sample."""
    monitor = DriftMonitor(window_size=5, random_state=0, run_length=100, **options)
    monitor.fit(make(numbers(1)))
    rows = {blocks: np.array, memory_map: np.array, dask_array: np.array}
    return monitor.update({**rows, dask_table: table}.get(make, make)(numbers(2)))


def sequential(cls):
    """Return a question that takes rows one by one."""
    return lambda *rows, **options: cls(random_state=0, **options).update(*rows)


def score_of(X, y, **options):
    """Score columns."""
    return ColumnCKA(**options)(X, y)


QUESTIONS = {
    "mmd_score": with_samples(sk.mmd_score),
    "hsic_score": with_target(sk.hsic_score),
    "ksd_score": with_model(sk.ksd_score),
    "cka_score": with_samples(sk.cka_score),
    "mmd_test": with_samples(sk.mmd_test, **TEST),
    "hsic_test": with_target(sk.hsic_test, **TEST),
    "ksd_test": with_model(sk.ksd_test, **TEST),
    "k_sample_test": with_samples(sk.k_sample_test, 3, **TEST),
    "change_point_test": columns_of(sk.change_point_test, **TEST),
    "joint_independence_test": with_variables(sk.joint_independence_test, **TEST),
    "conditional_hsic_test": with_variables(sk.conditional_hsic_test, **TEST),
    "mmd_compare": with_samples(sk.mmd_compare, 3),
    "hsic_compare": with_variables(sk.hsic_compare),
    "ksd_compare": with_model(sk.ksd_compare, 2),
    "mmd_column_tests": with_samples(sk.mmd_column_tests, **TEST),
    "hsic_column_tests": with_target(sk.hsic_column_tests, **TEST),
    "hsic_matrix": columns_of(sk.hsic_matrix),
    "mmd_subsets": with_samples(sk.mmd_subsets, n_subsets=3, subset_size=20),
    "drift_report": with_samples(drift_report, **TEST),
    "DriftMonitor": watched,
    "SequentialMMDTest": with_samples(sequential(sk.SequentialMMDTest)),
    "SequentialHSICTest": with_target(sequential(sk.SequentialHSICTest)),
    "SequentialKSDTest": with_model(
        lambda X, model, **o: sequential(sk.SequentialKSDTest)(X, model=model, **o)
    ),
    "HSICSelector": selected(HSICSelector),
    "HSICSelectorCV": selected(search),
}


# Why a combination has no meaning, and of which questions.
PERMUTED = "Rows with weights are not exchangeable, so they cannot be permuted."
DENSITY = "KSD compares rows with a density of the raw columns and needs derivatives."
ALL_PAIRS = "The statistic uses all pairs of rows."
NO_PVALUE = "A score has no p-value that dependent rows could change."
ONE_MATRIX = "One matrix cannot be the kernel of every column or variable."
TESTS = (
    "mmd_test hsic_test k_sample_test joint_independence_test conditional_hsic_test "
    "mmd_column_tests hsic_column_tests drift_report DriftMonitor change_point_test "
    "SequentialMMDTest SequentialHSICTest SequentialKSDTest"
)
WITH_DESIGNS = "mmd_score hsic_score ksd_score mmd_test hsic_test ksd_test"
SCORES = (
    "mmd_score hsic_score ksd_score cka_score mmd_subsets HSICSelector HSICSelectorCV"
)


def no_meaning(question, kind):
    """Return why a combination has no meaning, None if it has one."""
    foreign = ("table", "polars", "dask table", "sparse", "function", "precomputed")
    if "ksd" in question.lower() and kind in foreign:
        return DENSITY
    if kind == "weights" and question in TESTS.split():
        return PERMUTED
    if kind == "design" and question not in WITH_DESIGNS.split():
        return ALL_PAIRS
    if kind.startswith("series") and question in SCORES.split():
        return NO_PVALUE
    columns = ("joint", "hsic_matrix", "HSICSel", "drift_report")
    if kind == "precomputed" and question.startswith(columns):
        return ONE_MATRIX
    return None


def attempt(question, kind):
    """Return "yes", or the error of a question with a kind of data."""
    make, options = KINDS[kind]
    options = dict(options)
    if options.get("kernel") == "precomputed":
        every = np.concatenate([numbers(seed) for seed in (1, 2, 3)])
        options["kernel"] = PrecomputedKernel(gaussian(every, every))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            QUESTIONS[question](make, options)
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return "yes"


def row_of(question):
    """Return the row of the table: "yes", "no", or "-" for what has no meaning."""
    cells = []
    for kind in KINDS:
        if no_meaning(question, kind):
            cells.append("-")
        else:
            cells.append("yes" if attempt(question, kind) == "yes" else "no")
    return [question, *cells]


def main():
    """Write the table."""
    rows = [["question", *KINDS], *map(row_of, QUESTIONS)]
    with TABLE.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    cells = [cell for row in rows[1:] for cell in row[1:]]
    print(f"{cells.count('yes')} of {len(cells) - cells.count('-')} combinations work.")


if __name__ == "__main__":
    main()
