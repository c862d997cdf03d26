"""Scores of batches against a reference that was fitted before."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
from case import OURS, Case, Contender

from skdiscrepancy import MMDEstimator, mmd_score

BATCH, COLUMN_BATCH = 500, 1000
LAPLACE = {"kernel": "laplace"}
ONE_LAPLACE = {"kernel": "laplace", "bandwidth": 1.0}


def reference_and_batch(m, n, d):
    """Draw a reference sample of m rows and a batch of n rows, slightly shifted."""
    rng = np.random.RandomState(0)
    return rng.normal(size=(m, d)), rng.normal(0.1, 1, size=(n, d))


def contenders(target, **params):
    """Return `score` of a fitted estimator, and `mmd_score` of both samples."""

    def fit(samples):
        reference, batch = samples
        return MMDEstimator(n_jobs=1, **params).fit(reference), batch

    def score(fitted, n_jobs):
        mmd, batch = fitted
        return mmd.set_params(n_jobs=n_jobs).score(batch)

    return (
        Contender(f"{OURS}, fitted", score, prepare=fit),
        Contender(
            f"{OURS}, mmd_score",
            lambda samples, n_jobs: mmd_score(*samples, n_jobs=n_jobs, **params),
            faster_by=1 / target,
        ),
    )


CASES = (
    Case(
        "score-batch",
        f"score of {BATCH} rows, defaults, 20 kernels, d = 10",
        lambda m: reference_and_batch(m, BATCH, 10),
        contenders(0.08),
        sizes=(20_000,),
        quick_sizes=(5000,),
        pairs=lambda m: m * BATCH + BATCH * (BATCH - 1) // 2,
        # Bandwidths of one sample, and of both.
        tolerance=None,
    ),
    Case(
        "score-batch-column",
        f"score of {COLUMN_BATCH} rows, one Laplace kernel, d = 1",
        lambda m: reference_and_batch(m, COLUMN_BATCH, 1),
        contenders(0.2, **ONE_LAPLACE),
        sizes=(1_000_000,),
        quick_sizes=(100_000,),
        pairs=lambda m: m * COLUMN_BATCH,
    ),
    Case(
        "score-batch-column-grid",
        f"score of {COLUMN_BATCH} rows, ten Laplace kernels, d = 1",
        lambda m: reference_and_batch(m, COLUMN_BATCH, 1),
        contenders(0.2, **LAPLACE),
        sizes=(1_000_000,),
        quick_sizes=(100_000,),
        pairs=lambda m: m * COLUMN_BATCH,
        tolerance=None,
    ),
)
