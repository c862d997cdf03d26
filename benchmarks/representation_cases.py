"""CKA of representations and KID of generators against matrix products by hand."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
from case import OURS, Case, Contender, pairs_of_one, pairs_of_two

from skdiscrepancy import cka_score, mmd_score, mmd_subsets

COLUMNS, KID_COLUMNS = 512, 2048
# Rows of a tile for functions of few columns.
TILE = 256
# Some of the hundred subsets that KID has by default.
SUBSETS = {"n_subsets": 30, "random_state": 0}


def two_representations(n):
    """Draw two representations of n rows that share half of their variance."""
    X, Y = np.random.RandomState(0).normal(size=(2, n, COLUMNS))
    return X, X + Y


def two_products(samples, n_jobs):
    """Compute the products that CKA needs: one whole, and one half for each sample."""
    X, Y = samples
    cross, own_x, own_y = (np.linalg.norm(A.T @ B) for A, B in ((X, Y), (X, X), (Y, Y)))
    return cross**2 / (own_x * own_y)


def real_and_generated(n):
    """Draw the features of real and of generated images."""
    X, Y = np.random.RandomState(0).normal(size=(2, n, KID_COLUMNS))
    Y *= 1.01
    return X, Y


def subset_size(X):
    """Return the number of rows of a subset."""
    return min(1000, len(X))


def kid(samples, n_jobs):
    """Compute KID by this package."""
    X, Y = samples
    size = subset_size(X)
    return mmd_subsets(X, Y, subset_size=size, n_jobs=n_jobs, **SUBSETS).mean


def kid_by_hand(samples, n_jobs):
    """Compute KID from three whole Gram matrices for each subset."""
    m, rng, values = subset_size(samples[0]), np.random.RandomState(0), []
    for _ in range(SUBSETS["n_subsets"]):
        x, y = (Z[rng.choice(len(Z), m, replace=False)] for Z in samples)
        K_xx, K_yy, K_xy = (
            (A @ B.T / A.shape[1] + 1) ** 3 for A, B in ((x, x), (y, y), (x, y))
        )
        within = K_xx.sum() - np.trace(K_xx) + K_yy.sum() - np.trace(K_yy)
        values.append(within / (m * (m - 1)) - 2 * K_xy.mean())
    return np.mean(values)


def own_kernel(A, B):
    """Compute a kernel that a user wrote, a polynomial times an exponential."""
    distance = np.sqrt(
        np.maximum((A**2).sum(1)[:, None] + (B**2).sum(1) - 2 * A @ B.T, 0)
    )
    return (1 + distance) * np.exp(-distance)


def own_kernel_on_tiles(samples, n_jobs):
    """Evaluate that kernel on the tiles that MMD needs, and do nothing else."""
    Z, total = np.concatenate(samples), 0.0
    starts = range(0, len(Z), TILE)
    for i in starts:
        for j in starts[i // TILE :]:
            total += own_kernel(Z[i : i + TILE], Z[j : j + TILE])[0, 0]
    return total


CASES = (
    Case(
        "mmd-own-kernel",
        "mmd_score with a Python function as kernel, d = 10",
        lambda n: tuple(np.random.RandomState(0).normal(size=(2, n, 10))),
        (
            Contender(
                OURS,
                lambda samples, n_jobs: mmd_score(
                    *samples, kernel=own_kernel, n_jobs=n_jobs
                ),
            ),
            # At most a tenth more than the function itself.
            Contender(
                "the function alone",
                own_kernel_on_tiles,
                faster_by=1 / 1.1,
                threaded=False,
            ),
        ),
        sizes=(4000,),
        quick_sizes=(1000,),
        pairs=pairs_of_two,
        tolerance=None,
    ),
    Case(
        name="cka-linear",
        title=f"linear CKA, d = {COLUMNS}",
        make=two_representations,
        contenders=(
            Contender(OURS, lambda samples, n_jobs: cka_score(*samples, n_jobs=n_jobs)),
            Contender("two matrix products", two_products, faster_by=1 / 3),
        ),
        sizes=(10_000,),
        quick_sizes=(1000,),
        pairs=pairs_of_one,
        tolerance=None,
    ),
    Case(
        name="kid",
        title=f"KID, 30 subsets, d = {KID_COLUMNS}",
        make=real_and_generated,
        contenders=(
            Contender(OURS, kid),
            # Not slower, up to the noise of a measurement.
            Contender("numpy, whole matrices", kid_by_hand, faster_by=0.95),
        ),
        sizes=(10_000,),
        quick_sizes=(1000,),
        pairs=pairs_of_two,
        # Subsets are drawn from other numbers.
        tolerance=None,
        max_memory=500,
    ),
)
