"""The effect size of a two-sample test: a normalised MMD of one kernel."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from skdiscrepancy._base import (
    LEAST_ROWS,
    DiscrepancyResult,
    Uncertainty,
    noise_rows,
    two_sample_noise,
)
from skdiscrepancy._engine import RowSums, kernel_source
from skdiscrepancy._mmd._statistics import two_sample_statistics
from skdiscrepancy.bandwidths import build_collection
from skdiscrepancy.kernels import KernelLike, RadialKernel, resolve_columns
from skdiscrepancy.pooling import normalize_statistics

# An effect size uses all rows up to this number, and then the fraction of the rows, in
# each sample, so that it takes little of the time of a test.
ALL_ROWS, FRACTION = 300, 0.4
# Rows of both samples for the noise of the effect size.
NOISE_ROWS = 200


def choose_kernels(
    estimator: Any,
    samples: list[Any],
    kernels: list[KernelLike],
    bandwidth: Any,
    *,
    table: Any,
    effect: bool,
) -> tuple[list[KernelLike], KernelLike | None]:
    """Return the kernels of a test, and the kernel of its effect size.

    The effect size uses the first kernel. Its bandwidth is the median distance, or the
    middle of the bandwidths if they are numbers.

    Parameters
    ----------
    estimator : MMDEstimator
        Estimator with checked parameters.
    samples : list of ndarray or SparseRows
        Both samples.
    kernels : list of kernel objects
        Kernels, with or without bandwidths.
    bandwidth : object
        Rule for the bandwidths, or numbers.
    table : object
        Layout of the columns, for kernels on some columns.
    effect : bool
        Whether a kernel for the effect size is needed.

    Returns
    -------
    kernels : list of kernel objects
        Kernels of the test.
    kernel : kernel object or None
        Kernel of the effect size.
    """
    if not effect:
        return estimator._collection(samples, kernels, bandwidth, table=table), None
    first, by_rule, n_features = (
        kernels[0],
        isinstance(bandwidth, str),
        samples[0].shape[1],
    )
    if (
        by_rule
        and isinstance(first, RadialKernel)
        and first.bandwidth is None
        and first.is_definite(n_features)
    ):
        # One list of distances gives the bandwidths of the test and their median.
        median = clone(first).set_params(bandwidth="median")
        kernels = [*kernels, median]
        *found, last = estimator._collection(samples, kernels, bandwidth, table=table)
        return found, last
    found = estimator._collection(samples, kernels, bandwidth, table=table)
    if len(found) == 1:
        return found, found[0]
    members = build_collection(
        samples,
        resolve_columns([first], table, n_features),
        "median" if by_rule else bandwidth,
        1,
        "bandwidth",
    )
    return found, members[len(members) // 2]


def effect_of(
    kernel: KernelLike | None, X: Any, Y: Any, **walk_options: Any
) -> DiscrepancyResult | None:
    """Compute the normalised unbiased MMD of one kernel, with its uncertainty.

    Parameters
    ----------
    kernel : kernel object or None
        Kernel with one number as bandwidth, None for no effect size.
    X, Y : ndarray or SparseRows of shape (n_samples, n_features)
        Samples.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    effect : DiscrepancyResult or None
        The discrepancy. None if there are few rows, or if a scale of zero, as of
        constant samples, or numbers that are not finite leave no effect size.
    """
    if kernel is None or min(len(X), len(Y)) < LEAST_ROWS:
        return None
    X, Y = (_some_rows(Z) for Z in (X, Y))
    m, n = len(X), len(Y)
    source = kernel_source([kernel], X, Y)
    found = two_sample_statistics(source, m, n, unbiased=True, **walk_options)
    values, scales = found.values, found.scales
    if not np.all(np.isfinite([values, scales, found.sizes])):
        return None
    if scales[0] <= found.rounding[0]:
        return None
    [value] = normalize_statistics(values, scales, rounding=found.rounding)
    first = noise_rows(m, n_samples=2, most=NOISE_ROWS)
    others = noise_rows(n, n_samples=2, most=NOISE_ROWS)
    rows = np.concatenate((first, m + others))
    with np.errstate(all="ignore"):
        noise = two_sample_noise(
            RowSums(source).matrices(rows, rows),
            len(first),
            m,
            n,
            values,
            scales,
            normalize=True,
        )
    uncertainty = Uncertainty(float(value), noise, normalized=True)
    if not np.isfinite(uncertainty.interval(0.95)).all():
        return None
    return DiscrepancyResult(
        float(value), values, scales, [kernel], "MMD", uncertainty=uncertainty
    )


def _some_rows(Z: Any) -> Any:
    """Return all rows of a small sample, and some rows of a large sample."""
    most = max(ALL_ROWS, int(np.ceil(FRACTION * len(Z))))
    return Z if len(Z) <= most else Z[noise_rows(len(Z), most=most)]
