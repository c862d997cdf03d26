"""Scores of tables against the same scores of tables that were encoded before."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
from case import OURS, Case, Contender, pairs_of_two

from skdiscrepancy import mmd_score
from skdiscrepancy.tables import TableEncoder

# Columns of each type: numbers, numbers with missing values, categories, ordered
# categories, booleans and dates.
OF_EACH_TYPE = 5


def two_tables(n):
    """Draw two tables of n rows and 30 columns of mixed types, slightly shifted."""
    # Benchmarks without tables need no pandas.
    import pandas as pd

    rng = np.random.RandomState(0)

    def draw(shift):
        columns = {}
        for j in range(OF_EACH_TYPE):
            numbers = rng.normal(shift, 1, size=(2, n))
            numbers[1, rng.uniform(size=n) < 0.1] = np.nan
            columns[f"number {j}"], columns[f"incomplete {j}"] = numbers
            columns[f"category {j}"] = rng.choice([*"abcdefgh"], size=n)
            columns[f"ordered {j}"] = pd.Categorical.from_codes(
                rng.randint(4, size=n), [*"abcd"], ordered=True
            )
            columns[f"bool {j}"] = rng.uniform(size=n) < 0.3
            days = rng.randint(1000, size=n).astype("timedelta64[D]")
            columns[f"date {j}"] = np.datetime64("2026-01-01") + days
        return pd.DataFrame(columns)

    return draw(0.0), draw(0.1)


def encoded(tables):
    """Encode two tables together, as `encoder="auto"` does."""
    import pandas as pd

    encoder = TableEncoder().fit(pd.concat(tables, ignore_index=True))
    return [encoder.transform(table) for table in tables]


CASES = (
    Case(
        "mmd-table",
        f"mmd_score of two tables, {6 * OF_EACH_TYPE} columns of mixed types",
        two_tables,
        (
            Contender(
                OURS,
                lambda tables, n_jobs: mmd_score(*tables, n_jobs=n_jobs),
                module="pandas",
            ),
            # Encoding takes at most a tenth of the time of the score.
            Contender(
                f"{OURS}, encoded before",
                lambda samples, n_jobs: mmd_score(*samples, n_jobs=n_jobs),
                prepare=encoded,
                module="pandas",
                faster_by=1 / 1.1,
            ),
        ),
        sizes=(20_000,),
        quick_sizes=(2000,),
        pairs=pairs_of_two,
    ),
)
