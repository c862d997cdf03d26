"""Single columns with the Laplace kernel, summed in sorted order."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import peers
from case import (
    OURS,
    Case,
    Contender,
    dependent,
    pairs_of_one,
    pairs_of_two,
    two_samples as draw_two_samples,
)

from skdiscrepancy import hsic_score, mmd_score

LAPLACE = {"kernel": "laplace", "normalize": False, "pooling": None}
TEN_BANDWIDTHS = np.linspace(0.1, 2.0, 10)
N_COLUMNS = 20


def two_columns(n):
    """Draw two samples of one column."""
    return draw_two_samples(n, 1)


def one_bandwidth(samples, n_jobs):
    """Compute unbiased MMD of one Laplace kernel."""
    return mmd_score(*samples, bandwidth=1.0, n_jobs=n_jobs, **LAPLACE)


def ten_bandwidths(samples, n_jobs):
    """Compute the mean of unbiased MMD over ten Laplace kernels."""
    params = {**LAPLACE, "pooling": "mean"}
    return mmd_score(*samples, bandwidth=TEN_BANDWIDTHS, n_jobs=n_jobs, **params)


def laplace_hsic(samples, n_jobs):
    """Compute unbiased HSIC of two columns, one Laplace kernel on each."""
    return hsic_score(
        *samples, bandwidth=1.0, target_bandwidth=1.0, n_jobs=n_jobs, **LAPLACE
    )


def energy_hsic(samples, n_jobs):
    """Compute the squared distance covariance of two columns."""
    params = {"kernel": "energy", "target_kernel": "energy", "design": "v"}
    return hsic_score(*samples, normalize=False, pooling=None, n_jobs=n_jobs, **params)


def energy_mmd(samples, n_jobs):
    """Compute the energy distance of two columns."""
    params = {"kernel": "energy", "design": "v", "normalize": False}
    return mmd_score(*samples, pooling=None, n_jobs=n_jobs, **params)


def drift_of_columns(samples, n_jobs):
    """Compute the score of every column, ten bandwidths each, and add them up."""
    X, Y = samples
    return sum(
        mmd_score(X[:, [j]], Y[:, [j]], kernel="laplace", n_jobs=n_jobs)
        for j in range(X.shape[1])
    )


GROWTH = {
    "sizes": (10_000, 100_000, 1_000_000),
    "quick_sizes": (1000, 10_000),
    # Ten times the rows, and a third for the logarithm and for caches missed.
    "max_time_growth": 13,
    "max_memory_growth": 12,
}

CASES = (
    Case(
        "mmd-column",
        "MMD, one Laplace kernel, d = 1",
        two_columns,
        (
            Contender(OURS, one_bandwidth),
            Contender(
                "eummd",
                lambda columns, n_jobs: peers.eummd_mmd(*columns, 1.0),
                prepare=lambda samples: tuple(Z[:, 0].copy() for Z in samples),
                module="eummd",
                faster_by=1 / 1.5,
                threaded=False,
            ),
        ),
        pairs=pairs_of_two,
        kind="peer",
        # A difference of numbers that are a few hundred times as large.
        tolerance=1e-9,
        **GROWTH,
    ),
    Case(
        "mmd-column-grid",
        "MMD, ten Laplace kernels, d = 1",
        two_columns,
        (
            Contender(OURS, ten_bandwidths),
            Contender(
                f"{OURS}, one kernel", one_bandwidth, faster_by=1 / 5, threaded=False
            ),
        ),
        pairs=pairs_of_two,
        tolerance=None,
        **GROWTH,
    ),
    Case(
        "hsic-column",
        "HSIC, Laplace x Laplace, d = 1",
        lambda n: dependent(n, 1),
        (
            Contender(OURS, laplace_hsic),
            Contender(
                "dcor, distance covariance",
                lambda columns, n_jobs: peers.dcor_column_covariance(*columns),
                prepare=lambda samples: (samples[0][:, 0].copy(), samples[1]),
                module="dcor",
                faster_by=1,
                threaded=False,
            ),
        ),
        pairs=pairs_of_one,
        # Another statistic of the same order, by the fastest way to it.
        tolerance=None,
        **GROWTH,
    ),
    Case(
        "hsic-energy-column",
        "HSIC, energy x energy, d = 1: distance covariance",
        lambda n: dependent(n, 1),
        (
            Contender(OURS, energy_hsic),
            Contender(
                "dcor, distance covariance",
                lambda columns, n_jobs: peers.dcor_column_covariance(*columns),
                prepare=lambda samples: (samples[0][:, 0].copy(), samples[1]),
                module="dcor",
                faster_by=1,
                threaded=False,
            ),
        ),
        pairs=pairs_of_one,
        tolerance=1e-9,
        **GROWTH,
    ),
    Case(
        "mmd-energy-column",
        "MMD, energy kernel, d = 1: energy distance",
        two_columns,
        (
            Contender(OURS, energy_mmd),
            Contender(
                "scipy, squared",
                lambda columns, n_jobs: peers.scipy_energy(*columns),
                prepare=lambda samples: tuple(Z[:, 0].copy() for Z in samples),
                faster_by=None,
                threaded=False,
            ),
        ),
        pairs=pairs_of_two,
        kind="peer",
        tolerance=1e-9,
        **GROWTH,
    ),
    Case(
        "mmd-columns",
        f"mmd_score of each of {N_COLUMNS} columns, ten Laplace kernels",
        lambda n: draw_two_samples(n, N_COLUMNS),
        (Contender(OURS, drift_of_columns),),
        sizes=(1_000_000,),
        quick_sizes=(10_000,),
        pairs=lambda n: N_COLUMNS * pairs_of_two(n),
        max_memory=1000,
    ),
)
