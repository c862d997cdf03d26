"""Selection of columns against packages for the same question.

Their methods are others, so there is no number to compare: times and memory only.
"""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import peers
from case import OURS, Case, Contender, pairs_of_one
from sklearn.feature_selection import mutual_info_regression

from skdiscrepancy.feature_selection import HSICSelector, hsic_regression

N_SELECTED = 10


def additive(n, p):
    """Draw n rows of p columns, and a y that depends on the first four of them."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(n, p)), rng.normal(size=n)
    y += -2 * np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + X[:, 2] + np.exp(-X[:, 3])
    return X, y


def select(samples, n_jobs):
    """Select columns by HSIC Lasso."""
    selector = HSICSelector(N_SELECTED, method="lasso", n_jobs=n_jobs)
    return selector.fit(*samples).path_.feature


def pyhsiclasso(block_size):
    """Return a run of pyHSICLasso; zero is one block of all rows."""
    return lambda samples, n_jobs: peers.hsic_lasso_features(
        *samples, N_SELECTED, block_size
    )


def filter_case(name, n_columns, sizes, quick_sizes, **targets):
    """Return the case of the scores of all columns, ours with p-values."""
    return Case(
        name,
        f"scores of {n_columns} columns",
        lambda n: additive(n, n_columns),
        (
            Contender(
                OURS,
                lambda samples, n_jobs: hsic_regression(*samples, n_jobs=n_jobs),
                threaded=False,
            ),
            Contender(
                "mutual_info_regression",
                lambda samples, n_jobs: mutual_info_regression(
                    *samples, random_state=0, n_jobs=n_jobs
                ),
                faster_by=1,
                threaded=False,
            ),
        ),
        sizes=sizes,
        quick_sizes=quick_sizes,
        pairs=pairs_of_one,
        kind="peer",
        tolerance=None,
        **targets,
    )


CASES = (
    Case(
        "select-lasso",
        f"HSIC Lasso, {N_SELECTED} of 200 columns",
        lambda n: additive(n, 200),
        (
            Contender(OURS, select, threaded=False),
            Contender(
                "pyHSICLasso, blocks of 20",
                pyhsiclasso(20),
                module="pyHSICLasso",
                faster_by=10,
                threaded=False,
            ),
            Contender(
                "pyHSICLasso, all rows",
                pyhsiclasso(0),
                module="pyHSICLasso",
                faster_by=40,
                threaded=False,
            ),
        ),
        sizes=(500,),
        quick_sizes=(200,),
        pairs=pairs_of_one,
        kind="peer",
        tolerance=None,
    ),
    filter_case("select-filter", 1000, (1000,), (500,)),
    filter_case("select-filter-rows", 100, (100_000,), (2000,), max_memory=1000),
)
