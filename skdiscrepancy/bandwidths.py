"""Bandwidths from the distances between rows, and collections of kernels."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import partial
from math import ceil, log2, prod, sqrt
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from skdiscrepancy._data.arrays import check_rows
from skdiscrepancy._data.checks import check_number, check_value, make_public
from skdiscrepancy._data.distances import (
    TOO_LARGE,
    ColumnDistances,
    Rows,
    block_distances,
    quantile_of,
    representative_rows,
)
from skdiscrepancy.kernels._base import (
    ColumnKernel,
    CombinedKernel,
    IndicatorKernel,
    ProductKernel,
    RowKernel,
    SumKernel,
    accept_sparse,
    resolve_columns,
)
from skdiscrepancy.kernels._names import N_BANDWIDTHS, check_bandwidths, check_kernel
from skdiscrepancy.kernels._radial import RadialKernel

__all__ = [
    "bandwidth_grid",
    "inter_sample_distances",
    "kernel_collection",
    "median_bandwidth",
]
# Largest number of bandwidths of a dyadic grid, in steps of sqrt(2) and in steps of 2.
MAX_HALVES, MAX_OCTAVES = 12, 24
# Largest multiple of the median distance at which a dyadic grid of two or more samples
# begins.
NARROW = 0.3
# Number of rows in a block of distances.
BLOCK_ROWS = 256
# Distances in a metric that are smaller, relative to the largest, are zero.
ROUNDING = 1e-12
# The smallest and the largest positive float.
SMALLEST, LARGEST = float(np.nextafter(0, 1)), float(np.finfo(np.float64).max)


def inter_sample_distances(X: ArrayLike, *, p: float = 2) -> np.ndarray:
    """Compute the non-zero distances between rows.

    It uses at most 2000 rows.

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
        Distances in no particular order.

    See Also
    --------
    median_bandwidth : Computes their median.

    Examples
    --------
    >>> from skdiscrepancy.bandwidths import inter_sample_distances
    >>> sorted(inter_sample_distances([[0.0], [0.0], [3.0]]).tolist())
    [3.0, 3.0]
    """
    return _distances(*_read(X, p))


def _read(X: ArrayLike, p: float) -> tuple[Any, float]:
    """Return some rows of a sample, and the order of a Minkowski distance."""
    p = check_number(p, "p", least=1, finite=False)
    X = check_rows(X, accept_sparse="csr" if p in (1, 2) else False)
    return representative_rows([X]), p


def median_bandwidth(X: ArrayLike, *, p: float = 2) -> float:
    """Compute the median of the non-zero distances between rows.

    This bandwidth is the median heuristic.

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
        Median distance, 1.0 if all rows are equal.

    See Also
    --------
    bandwidth_grid : Computes several bandwidths.

    Examples
    --------
    >>> from skdiscrepancy.bandwidths import median_bandwidth
    >>> median_bandwidth([[0.0], [1.0], [3.0]])
    2.0
    """
    return quantiles(*_read(X, p))(0.5)


def bandwidth_grid(X: ArrayLike, *, p: float = 2, n_bandwidths: int = 10) -> np.ndarray:
    """Compute bandwidths between two quantiles of non-zero distances.

    They go in equal steps from the 5 % to the 95 % quantile ([1]_, Section 6).

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sample.
    p : float, default=2
        Order of the Minkowski distance.
    n_bandwidths : int, default=10
        Number of bandwidths. 1 gives the 5 % quantile.

    Returns
    -------
    bandwidths : ndarray of shape (n_bandwidths,)
        Increasing bandwidths.

    See Also
    --------
    kernel_collection : Builds kernels.

    References
    ----------
    .. [1] F. Biggs et al., "MMD-FUSE: Learning and combining kernels for two-sample
       testing without data splitting", NeurIPS 2023.

    Examples
    --------
    >>> from skdiscrepancy.bandwidths import bandwidth_grid
    >>> X = [[0.0], [1.0], [2.0], [4.0], [8.0]]
    >>> bandwidth_grid(X, n_bandwidths=3).round(3).tolist()
    [1.0, 4.275, 7.55]
    """
    n_bandwidths = check_value(n_bandwidths, "n_bandwidths")
    return np.array(_choose(quantiles(*_read(X, p)), "grid", n_bandwidths))


def kernel_collection(
    X: ArrayLike,
    *,
    kernel: Any = ("gaussian", "laplace"),
    bandwidth: Any = "grid",
    n_bandwidths: int | None = None,
) -> list[Any]:
    """Build a list of kernels, each with a single number as its bandwidth.

    The defaults give 20 kernels.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sample.
    kernel : str, kernel object or list of them, default=("gaussian", "laplace")
        Kernels: names, objects of :mod:`skdiscrepancy.kernels`, or functions.
    bandwidth : {"grid", "median", "dyadic"}, float or array-like, default="grid"
        Bandwidths of kernels without their own; see :ref:`kernels`.
    n_bandwidths : int or None, default=None
        Size of a "grid". None is 10.

    Returns
    -------
    kernels : list of kernel objects
        Kernels.

    See Also
    --------
    skdiscrepancy.kernels.check_kernel : Chooses no bandwidths.

    Examples
    --------
    >>> from skdiscrepancy.bandwidths import kernel_collection
    >>> kernel_collection([[0.0], [2.0]], bandwidth="median")
    [GaussianKernel(bandwidth=2.0), LaplaceKernel(bandwidth=2.0)]
    """
    kernels = check_kernel(kernel)
    n_bandwidths = check_value(n_bandwidths, "n_bandwidths")
    check_bandwidths(kernels, bandwidth, "bandwidth", n_bandwidths)
    rows = check_rows(X, accept_sparse=accept_sparse(X, "X", kernels))
    kernels = resolve_columns(kernels, X, rows.shape[1])
    return build_collection([rows], kernels, bandwidth, n_bandwidths)


def build_collection(
    samples: Any,
    kernels: list[Any],
    bandwidth: Any,
    n_bandwidths: int | None,
    run: Any = None,
) -> list[Any]:
    """Build a list of kernels with bandwidths from the pooled rows of the samples."""
    number = n_bandwidths or N_BANDWIDTHS
    # The bandwidth parameter of each radial kernel: a rule, or one or more numbers.
    parts = [part for kernel in kernels for part in radial_parts(kernel)]
    given = [bandwidth if k.bandwidth is None else k.bandwidth for k, _ in parts]
    # Each kernel has the distances of its columns in its norm or metric.
    keys = [(columns, kernel.metric or kernel.norm) for kernel, columns in parts]
    rules: dict[tuple[Any, Any], dict[str, None]] = {}
    for key, values in zip(keys, given, strict=True):
        if isinstance(values, str):
            rules.setdefault(key, {})[values] = None
    rows = {
        columns: representative_rows(
            [Z if columns is None else np.take(Z, columns, axis=1) for Z in samples]
        )
        for columns in dict.fromkeys(key[0] for key in rules)
    }

    def apply_rules(key: tuple[Any, Any]) -> dict[str, list[float]]:
        """Return the bandwidths that each rule gives for one kind of distances."""
        quantile = quantiles(rows[key[0]], key[1])
        return {
            rule: _choose(quantile, rule, number, len(samples) > 1)
            for rule in rules[key]
        }

    results = map(apply_rules, rules) if run is None else run(rules, apply_rules)
    found = dict(zip(rules, results, strict=True))
    chosen = (
        found[key][own] if isinstance(own, str) else np.atleast_1d(own).tolist()
        for key, own in zip(keys, given, strict=True)
    )
    return [
        member
        for kernel in kernels
        for member in with_bandwidths(kernel, samples, chosen)
    ]


def quantiles(X: Any, p: Any) -> Callable[[float], float]:
    """Return the quantiles of the distances of order or metric p, as a function."""
    if isinstance(p, Real) and X.shape[1] == 1 and len(X) > 1:
        # On one column all norms agree, and sorting replaces the list of distances.
        return ColumnDistances(X[:, 0]).quantile
    return partial(quantile_of, _distances(X, p))


def _choose(
    quantile: Any, rule: str, n_bandwidths: int, compared: bool = False
) -> list[float]:
    """Apply the rule "median", "grid" or "dyadic" to quantiles of the distances.

    `compared` tells whether they are distances between rows of several samples.
    """
    if rule == "median":
        return [quantile(0.5)]
    # The first selection partly sorts the distances, which speeds up the second.
    low, high = quantile(0.05), quantile(0.95)
    if rule == "dyadic":
        low = low / 2
        if compared:
            # Distances between rows of many columns differ little, so that only narrow
            # kernels, which vanish for most pairs, show small changes of the distances.
            low = min(low, NARROW * quantile(0.5))
        # Half the smallest float is zero, and twice the largest float is infinite.
        low, high = max(low, SMALLEST), 2 * min(high, LARGEST / 2)
        n_halves = max(ceil(2 * (log2(high) - log2(low)) - 1e-9), 0)
        # Steps of sqrt(2), or of a power of two if these were too many.
        step = 1
        while n_halves // step + 1 > (MAX_HALVES if step == 1 else MAX_OCTAVES):
            step = 2 * step
        # All bandwidths are `low` or `low * sqrt(2)` times a power of two. Rates of
        # kernels then double exactly, so that one exponential can be the square of
        # another.
        halves = np.arange(0, -(-n_halves // step) * step + 1, step)
        starts = np.where(halves % 2, low * sqrt(2.0), low)
        with np.errstate(over="ignore"):
            return np.minimum(np.ldexp(starts, halves // 2), LARGEST).tolist()
    with np.errstate(over="ignore", invalid="ignore"):
        grid = np.linspace(low, high, n_bandwidths)
    if not np.all(np.isfinite(grid)):
        # Multiples of a very large step overflow, but weighted means do not.
        shares = np.linspace(0, 1, n_bandwidths)
        grid = low * (1 - shares) + high * shares
    return grid.tolist()


def _distances(X: Any, p: Any) -> np.ndarray:
    """Compute the non-zero distances between rows, of order p or in the metric p."""
    with np.errstate(all="ignore"):
        n = len(X)
        X = Rows(X, centred=isinstance(p, Real)).take(slice(0, n))
        distances = np.empty(n * (n - 1) // 2)
        at = 0
        for start in range(0, n, BLOCK_ROWS):
            rows = X[start : start + BLOCK_ROWS]
            block = block_distances(rows, X[start:], p).read(squared=False)
            own, others = np.split(block, [rows.shape[0]], axis=1)
            for part in (own[np.triu_indices(len(own), 1)], others.ravel()):
                distances[at : at + part.size] = part
                at += part.size
    if distances.size and not np.isfinite(distances.max()):
        raise ValueError(TOO_LARGE)
    # Distances of equal rows are rounding errors in metrics such as "cosine".
    least = ROUNDING * distances.max(initial=0) if isinstance(p, str) else 0
    # We copy two million numbers only if some of them are zero.
    if distances.size and distances.min() > least:
        return distances
    return distances[distances > least]


def radial_parts(kernel: Any, columns: Any = None) -> Iterator[tuple[Any, Any]]:
    """Yield the radial kernels that a kernel is made of, and their columns."""
    if isinstance(kernel, RadialKernel):
        yield kernel, columns
    elif isinstance(kernel, CombinedKernel):
        yield from radial_parts(kernel.first, columns)
        yield from radial_parts(kernel.second, columns)
    elif isinstance(kernel, ColumnKernel):
        inner = kernel.columns
        chosen = inner if columns is None else [columns[j] for j in inner]
        yield from radial_parts(kernel.kernel, tuple(chosen))


def bounds_of(kernels: Iterable[Any]) -> np.ndarray:
    """Return the largest value of each kernel, of kernels that are never negative."""
    return np.array([_bound(kernel, kernel) for kernel in kernels])


def _bound(part: Any, kernel: Any) -> float:
    """Return the largest value of a part of a kernel, or refuse the kernel."""
    if isinstance(part, RadialKernel):
        # The bound is that of distances in a Hilbert space.
        if part.metric is None and part.is_definite(3):
            return 1.0
    elif isinstance(part, IndicatorKernel) and not part.balanced:
        return 1.0
    if isinstance(part, ColumnKernel):
        return _bound(part.kernel, kernel)
    if isinstance(part, (SumKernel, ProductKernel)):
        both = _bound(part.first, kernel), _bound(part.second, kernel)
        return sum(both) if isinstance(part, SumKernel) else prod(both)
    raise ValueError(
        f"kernel == {kernel!r}, must be a radial kernel that is positive definite "
        "(without a metric, and Matern kernels with p=2), an indicator kernel that is "
        "not balanced, or a sum or product of them for n_corrupted > 0, because a "
        "single corrupted row can change other kernels by any amount."
    )


def with_bandwidths(kernel: Any, samples: list[Any], bandwidths: Any) -> list[Any]:
    """Return the kernels that a kernel with several bandwidths stands for.

    The i-th bandwidths of both parts of a sum or product go together.
    """
    if isinstance(kernel, RadialKernel):
        own = clone(kernel)
        # Shallow copies share a metric, and so the distances of a tile.
        return [
            copy(own).set_params(bandwidth=float(value)) for value in next(bandwidths)
        ]
    if isinstance(kernel, CombinedKernel):
        first = with_bandwidths(kernel.first, samples, bandwidths)
        second = with_bandwidths(kernel.second, samples, bandwidths)
        n = max(len(first), len(second))
        pairs = zip(_spread(first, n), _spread(second, n), strict=True)
        return [type(kernel)(*pair) for pair in pairs]
    if isinstance(kernel, ColumnKernel):
        some = [kernel.take(sample) for sample in samples]
        return [
            ColumnKernel(part, kernel.columns)
            for part in with_bandwidths(kernel.kernel, some, bandwidths)
        ]
    return [kernel.learn(samples) if isinstance(kernel, RowKernel) else clone(kernel)]


def _spread(kernels: list[Any], n: int) -> list[Any]:
    """Return n kernels in the given order, each repeated about equally often."""
    # Positions from the first kernel to the last, rounded to the nearest.
    steps, last = max(n - 1, 1), len(kernels) - 1
    return [kernels[(2 * i * last + steps) // (2 * steps)] for i in range(n)]


make_public(__name__)
