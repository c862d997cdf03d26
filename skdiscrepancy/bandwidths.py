"""Bandwidths from the distances of a sample, and the collection of kernels."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from math import ceil, log2, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from skdiscrepancy._data import (
    TOO_LARGE,
    ColumnDistances,
    ListedDistances,
    Rows,
    block_distances,
    check_number,
    check_rows,
)
from skdiscrepancy.kernels import KernelLike, RadialKernel, RowKernel, check_kernel

__all__ = [
    "bandwidth_grid",
    "inter_sample_distances",
    "kernel_collection",
    "median_bandwidth",
]

# Rules that take bandwidths from the distances between rows.
RULES = ("grid", "median", "dyadic")
# Default number of points of a grid.
N_BANDWIDTHS = 10
# Points of a dyadic grid in steps of the root of two, and in steps of two.
MAX_HALVES, MAX_OCTAVES = 12, 24
# Distances are taken among at most this many rows: two million pairs.
MAX_ROWS = 2000
# Rows of a block of distances.
BLOCK_ROWS = 256
# Rows that are read at a time to choose those.
READ_ROWS = 2**16
# The least and the largest number above zero.
SMALLEST, LARGEST = float(np.nextafter(0, 1)), float(np.finfo(np.float64).max)
# The draw of those rows is part of the definition of a bandwidth, not of chance.
SEED = 0


def inter_sample_distances(X: ArrayLike, *, p: float = 2) -> np.ndarray:
    """Compute the non-zero distances between the rows of a sample.

    Bandwidths are taken from these [1]_. All pairs i < j, as a multiset; above 2000
    rows, those of 2000 rows. Which ones does not depend on the order of the rows, nor
    on their location.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sample.
    p : float, default=2
        Order of the Minkowski distance.

    Returns
    -------
    distances : ndarray of shape (n_distances,)
        Possibly empty.

    See Also
    --------
    median_bandwidth : Computes the median of the distances.
    bandwidth_grid : Computes a grid between two quantiles of the distances.

    References
    ----------
    .. [1] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> from skdiscrepancy.bandwidths import inter_sample_distances
    >>> sorted(inter_sample_distances([[0.0], [0.0], [3.0]]).tolist())
    [3.0, 3.0]
    """
    check_number(p, "p", least=1, finite=False)
    return _distances(_representative_rows([check_rows(X)]), p)


def median_bandwidth(X: ArrayLike, *, p: float = 2) -> float:
    """Compute the median of the non-zero distances of a sample.

    The median heuristic [1]_, in the norm of the kernel.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sample.
    p : float, default=2
        Order of the Minkowski distance.

    Returns
    -------
    bandwidth : float
        1.0 if all rows are equal.

    See Also
    --------
    bandwidth_grid : Computes several bandwidths.
    kernel_collection : Builds kernels with this bandwidth.

    References
    ----------
    .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.

    Examples
    --------
    >>> from skdiscrepancy.bandwidths import median_bandwidth
    >>> median_bandwidth([[0.0], [1.0], [3.0]])
    2.0
    """
    return _choose(ListedDistances(inter_sample_distances(X, p=p)), "median", 1)[0]


def bandwidth_grid(X: ArrayLike, *, p: float = 2, n_bandwidths: int = 10) -> np.ndarray:
    """Compute bandwidths at equal steps from the 5 % to the 95 % quantile of distances.

    The grid of [1]_, Section 6, in the norm of the kernel.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sample.
    p : float, default=2
        Order of the Minkowski distance.
    n_bandwidths : int, default=10
        Number of bandwidths; a single one is the 5 % quantile.

    Returns
    -------
    bandwidths : ndarray of shape (n_bandwidths,)
        All 1.0 if all rows are equal.

    See Also
    --------
    median_bandwidth : Computes a single bandwidth.
    kernel_collection : Builds kernels with these bandwidths.

    References
    ----------
    .. [1] F. Biggs, A. Schrab and A. Gretton, "MMD-FUSE: Learning and combining kernels
       for two-sample testing without data splitting", NeurIPS 2023.

    Examples
    --------
    >>> from skdiscrepancy.bandwidths import bandwidth_grid
    >>> bandwidth_grid([[0.0], [1.0]], n_bandwidths=3).tolist()
    [1.0, 1.0, 1.0]
    """
    check_number(n_bandwidths, "n_bandwidths", integer=True, least=1)
    distances = ListedDistances(inter_sample_distances(X, p=p))
    return np.array(_choose(distances, "grid", n_bandwidths))


def kernel_collection(
    X: ArrayLike,
    *,
    kernel: Any = ("gaussian", "laplace"),
    bandwidth: Any = "grid",
    n_bandwidths: int = 10,
) -> list[Any]:
    """Build a collection of kernels, each with one number as bandwidth.

    The default is the collection of 20 kernels that [1]_ recommends.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sample that the bandwidths are taken from, each in the norm of its kernel.
    kernel : str, kernel object or list of them, default=("gaussian", "laplace")
        Kernels. One with a bandwidth of its own keeps it.
    bandwidth : "grid", "median", "dyadic", float or array-like of float, default="grid"
        Bandwidth of the kernels that have none of their own; several numbers make one
        kernel each.
    n_bandwidths : int, default=10
        Points of a grid.

    Returns
    -------
    kernels : list of kernel objects
        Ordered by kernel, then by bandwidth.

    See Also
    --------
    bandwidth_grid : Computes the bandwidths of the default.
    skdiscrepancy.kernels.check_kernel : Turns names into kernels without a bandwidth.

    References
    ----------
    .. [1] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> from skdiscrepancy.bandwidths import kernel_collection
    >>> kernel_collection([[0.0], [2.0]], bandwidth="median")
    [GaussianKernel(bandwidth=2.0), LaplaceKernel(bandwidth=2.0)]
    """
    return build_collection(
        [check_rows(X)], check_kernel(kernel), bandwidth, n_bandwidths, "bandwidth"
    )


def build_collection(
    samples: list[np.ndarray],
    kernels: list[KernelLike],
    bandwidth: Any,
    n_bandwidths: int,
    name: str,
    *,
    run: Callable[..., Iterable[Any]] = map,
) -> list[Any]:
    """Give every kernel its bandwidths, from the pooled rows of the samples.

    Parameters
    ----------
    samples : list of ndarray of shape (n_samples, n_features)
        Samples.
    kernels : list of kernel objects
        Kernels; those with bandwidths of their own keep them.
    bandwidth : "grid", "median", "dyadic", float or array-like of float
        Bandwidth of the other kernels.
    n_bandwidths : int
        Points of a grid.
    name : str
        Name of the bandwidth parameter, for error messages.
    run : callable, default=map
        Applies a function to each norm; :func:`map`, or the same in threads.

    Returns
    -------
    kernels : list of kernel objects
        Each with one number as bandwidth.
    """
    check_bandwidths(kernels, bandwidth, name, n_bandwidths)
    # What each kernel is given: a rule, or one or more numbers.
    given = [
        bandwidth if getattr(kernel, "bandwidth", None) is None else kernel.bandwidth
        for kernel in kernels
    ]
    rules: dict[float, list[str]] = {}
    for kernel, values in zip(kernels, given, strict=True):
        if isinstance(kernel, RadialKernel) and isinstance(values, str):
            rules.setdefault(kernel.norm, []).append(values)
    by_rule: dict[tuple[float, str], list[float]] = {}
    if rules:
        rows = _representative_rows(samples)
        apply = partial(_apply_rules, rows, n_bandwidths)
        for found in run(apply, rules.items()):
            by_rule.update(found)
    collection: list[Any] = []
    for kernel, values in zip(kernels, given, strict=True):
        if isinstance(kernel, RowKernel):
            collection.append(kernel.learn(samples))
            continue
        if not isinstance(kernel, RadialKernel):
            collection.append(clone(kernel))
            continue
        if isinstance(values, str):
            values = by_rule[kernel.norm, values]
        collection += [
            clone(kernel).set_params(bandwidth=float(value))
            for value in np.atleast_1d(values)
        ]
    return collection


def check_bandwidths(
    kernels: list[KernelLike],
    bandwidth: Any,
    name: str,
    n_bandwidths: int = N_BANDWIDTHS,
) -> None:
    """Check a bandwidth parameter, and the bandwidths that kernels have themselves."""
    check_number(n_bandwidths, "n_bandwidths", integer=True, least=1)
    check_bandwidth(bandwidth, name)
    dyadic = isinstance(bandwidth, str) and bandwidth == "dyadic"
    if dyadic and n_bandwidths != N_BANDWIDTHS:
        raise ValueError(
            f"n_bandwidths == {n_bandwidths!r}, must be {N_BANDWIDTHS}, its default, "
            f"for {name} == 'dyadic', whose number of points follows from the data. "
            f"Pass {name}='grid' as well to choose the number of points."
        )
    for kernel in kernels:
        own = getattr(kernel, "bandwidth", None)
        if own is not None:
            check_bandwidth(own, f"bandwidth of {type(kernel).__name__}")


def check_bandwidth(bandwidth: Any, name: str) -> None:
    """Refuse what is neither a rule nor one or more positive numbers."""
    message = (
        f"{name} == {bandwidth!r}, must be 'grid', 'median', 'dyadic', or one or more "
        "finite numbers > 0."
    )
    if isinstance(bandwidth, str):
        if bandwidth not in RULES:
            raise ValueError(message)
        return
    try:
        values = np.asarray(bandwidth)
    except ValueError:
        raise ValueError(message) from None
    if values.size and values.dtype.kind not in "iuf":
        raise TypeError(message)
    positive = np.all(values > 0) and np.all(np.isfinite(values))
    if values.ndim > 1 or not values.size or not positive:
        raise ValueError(message)


def _apply_rules(
    rows: np.ndarray,
    n_bandwidths: int,
    norm_and_rules: tuple[float, list[str]],
) -> dict[tuple[float, str], list[float]]:
    """Return the bandwidths in one norm by each of the rules."""
    norm, rules = norm_and_rules
    distances: ColumnDistances | ListedDistances
    if rows.shape[1] == 1 and len(rows) > 1:
        # All norms agree, and order does instead of all distances.
        distances = ColumnDistances(rows[:, 0])
    else:
        distances = ListedDistances(_distances(rows, norm))
    return {
        (norm, rule): _choose(distances, rule, n_bandwidths)
        for rule in dict.fromkeys(rules)
    }


def column_medians(X: np.ndarray) -> np.ndarray:
    """Return the median of the non-zero distances of every column, 1.0 if constant."""
    medians = []
    for column in X.T:
        if len(column) > MAX_ROWS:
            column = _representative_rows([column[:, np.newaxis]])[:, 0]
        medians += _choose(ColumnDistances(column), "median", 1)
    return np.array(medians)


def _choose(
    distances: ColumnDistances | ListedDistances, rule: str, n_bandwidths: int
) -> list[float]:
    """Apply the rule "median", "grid" or "dyadic" to non-zero distances."""
    if not distances.size:
        distances = ListedDistances(np.ones(1))
    if rule == "median":
        return [distances.quantile(0.5)]
    # The second selection finds the distances in order up to the first.
    low, high = distances.quantile(0.05), distances.quantile(0.95)
    if rule == "dyadic":
        # At the ends of floating point there is no half, or double, of a number.
        return _dyadic_steps(max(low / 2, SMALLEST), 2 * min(high, LARGEST / 2))
    return np.linspace(low, high, n_bandwidths).tolist()


def _dyadic_steps(low: float, high: float) -> list[float]:
    """Return bandwidths from `low` to at least `high` in steps of the root of two.

    In steps of two if there would be too many, and of a larger power of two for data
    that spread over many orders of magnitude.
    """
    octaves = log2(high) - log2(low)
    n_halves = max(ceil(2 * octaves - 1e-9), 0)
    step = 1
    while n_halves // step + 1 > (MAX_HALVES if step == 1 else MAX_OCTAVES):
        step = 2 * step
    # Multiples by powers of two of two numbers, so that every second rate, or the
    # next one for a Gaussian kernel, is exactly twice the one before.
    halves = np.arange(0, -(-n_halves // step) * step + 1, step)
    starts = np.where(halves % 2, low * sqrt(2.0), low)
    with np.errstate(over="ignore"):
        return np.minimum(np.ldexp(starts, halves // 2), LARGEST).tolist()


def _distances(X: np.ndarray, p: float) -> np.ndarray:
    """Compute the non-zero distances between rows."""
    with np.errstate(over="ignore", invalid="ignore"):
        n = len(X)
        X = Rows(X).take(slice(0, n))
        distances = np.empty(n * (n - 1) // 2)
        at = 0
        for start in range(0, n, BLOCK_ROWS):
            rows = X[start : start + BLOCK_ROWS]
            block = block_distances(rows, X[start:], p).read(squared=False)
            own, others = np.split(block, [len(rows)], axis=1)
            for part in (own[np.triu_indices(len(rows), 1)], others.ravel()):
                distances[at : at + part.size] = part
                at += part.size
    if distances.size and not np.isfinite(distances.max()):
        raise ValueError(TOO_LARGE)
    # A copy of two million numbers is made only if there is something to leave out.
    if distances.size and distances.min() > 0:
        return distances
    return distances[distances > 0]


def _representative_rows(samples: list[np.ndarray]) -> np.ndarray:
    """Return at most MAX_ROWS rows, chosen by a fixed draw among the sorted rows.

    Rows are sorted by a fixed combination of their columns. The order of the rows, ties
    and a shift of the data then make no difference to the rows that are chosen.
    """
    n_rows = sum(len(sample) for sample in samples)
    if n_rows <= MAX_ROWS:
        return np.concatenate(samples).astype(np.float64, copy=False)
    generator = np.random.RandomState(SEED)
    weights = np.asarray(generator.normal(size=samples[0].shape[1]))
    chosen = np.sort(generator.choice(n_rows, MAX_ROWS, replace=False))
    if samples[0].shape[1] == 1:
        values = np.concatenate([sample[:, 0] for sample in samples], dtype=np.float64)
        values.sort()
        return values[:: 1 if weights[0] > 0 else -1][chosen, np.newaxis]
    order = np.argsort(_projections(samples, weights), kind="stable")
    rows = Rows(*samples, centred=False).take(order[chosen])
    return rows.astype(np.float64, copy=False)


def _projections(samples: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Return a combination of the columns for each row, shifted to the least values."""
    # By blocks of rows: the samples may be on disk.
    blocks = [
        sample[start : start + READ_ROWS]
        for sample in samples
        for start in range(0, len(sample), READ_ROWS)
    ]
    least = np.min([block.min(axis=0) for block in blocks], axis=0)
    projections = np.zeros(sum(map(len, blocks)))
    at = 0
    with np.errstate(over="ignore", invalid="ignore"):
        for block in blocks:
            part = projections[at : at + len(block)]
            at += len(block)
            # Column by column: a matrix product may round a row by where it stands.
            for column, lowest, weight in zip(block.T, least, weights, strict=True):
                part += weight * np.subtract(column, lowest, dtype=np.float64)
    return projections


def __dir__() -> list[str]:
    return sorted(__all__)
