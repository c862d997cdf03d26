"""Sums of kernels on one column, in sorted order instead of by tiles.

On a single column, the sums of a Laplace or Matern kernel over a sample follow from
each other in sorted order: O(n log n) in place of O(n^2), and as exact. This is the one
place that decides who goes that way: kernels that have a `line_profile`, on one column
of at least `min_rows` rows, one kernel of a collection or all of them. The others take
the walk over tiles; results agree to rounding, whatever the way. Sums are float64, also
those of float32 columns.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from skdiscrepancy._data import Codes, Rows
from skdiscrepancy._engine._parallel import Task, held_bytes, run_all
from skdiscrepancy._engine._reducers import RowSums
from skdiscrepancy._engine._sources import KernelSource, Source, sample_key
from skdiscrepancy._engine._walk import walk
from skdiscrepancy._loops import (
    Profile,
    compiled,
    complement_sums,
    product_sums,
    scan_sums,
)
from skdiscrepancy.designs import square

# Products of polynomials need so many bandwidths from the least to the largest value:
# one minus a wider kernel has too few digits for HSIC.
MIN_SPAN = 0.3


def min_rows(way: str, degree: int = 0) -> int:
    """Return the number of rows from which on sorted order is faster than all pairs.

    Measured on collections of five and ten kernels. In numpy the steps of a scan are
    calls, and there are more of them for a polynomial; all pairs, on the other hand,
    have no compiled loops for one.

    Parameters
    ----------
    way : {"scan", "product", "groups"}
        Row sums, those of products of two kernels, or sums over groups.
    degree : int, default=0
        Degree of the polynomial of the kernel.

    Returns
    -------
    n : int
        Number of rows.
    """
    fast = compiled("scans") is not None
    if way == "product":
        return 768 if fast else 3072
    if fast:
        return 256 if degree else 512
    if way == "groups":
        return 1024 * max(1, 2 * degree)
    return 512 * max(1, degree)


def line_profiles(source: Source, n: int, way: str = "scan") -> dict[int, Profile]:
    """Return the kernels of a source on n rows that are summed in sorted order."""
    profiles: dict[int, Profile] = {}
    if not isinstance(source, KernelSource):
        return profiles
    for k, kernel in enumerate(source.kernels):
        profile = getattr(kernel, "line_profile", None)
        if (
            profile is not None
            and source.samples[sample_key(kernel)].n_features == 1
            and n >= min_rows(way, profile.degree)
        ):
            profiles[k] = profile
    return profiles


def other_kernels(source: Source, profiles: dict[int, Profile]) -> list[int]:
    """Return the kernels of a source that are left to the walk."""
    return [k for k in range(source.n_kernels) if k not in profiles]


def column_parts(source: KernelSource) -> list[np.ndarray]:
    """Return the parts of the one column of a source, in float64."""
    for rows in source.samples.values():
        if isinstance(rows, Rows):
            return [part[:, 0].astype(np.float64) for part in rows.parts]
    raise AssertionError("kernels of labels have no column")


class Line:
    """One column in increasing order, and the kernels on it.

    Parameters
    ----------
    column : ndarray of shape (n,)
        Values of the rows.
    profiles : list of Profile
        Kernels.
    """

    def __init__(self, column: np.ndarray, profiles: list[Profile]):
        self.profiles = profiles
        self.order = np.argsort(column)
        self.values = column[self.order]
        self.steps = steps_of(self.values)
        self.n_rows, self.n_kernels = len(column), len(profiles)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return held_bytes(vars(self).values())

    def diagonal(self, k: int) -> float:
        """Return the value of kernel k at distance zero."""
        return float(self.profiles[k].polynomial[0])

    def spans(self) -> Iterator[tuple[int, float]]:
        """Yield each kernel with the distance of the ends of the column for it."""
        with np.errstate(over="ignore"):
            span = float(self.values[-1] - self.values[0])
        for k, profile in enumerate(self.profiles):
            yield k, profile.rate * span

    def can_be_wide(self, k: int) -> bool:
        """Tell whether sums of one minus kernel k can be made."""
        return self.profiles[k].degree == 0

    def sums(
        self, k: int, weights: np.ndarray | None = None, *, wide: bool = False
    ) -> np.ndarray:
        """Return the row sums of kernel k, rows and weights in their own order.

        If `wide`, those of one minus the kernel.
        """
        if weights is not None:
            weights = weights[np.newaxis, self.order]
        sums, profile = np.empty(len(self.order)), self.profiles[k]
        if wide:
            sums[self.order] = complement_sums(self.steps, profile.rate, weights)[0]
        else:
            sums[self.order] = scan_sums(self.steps, profile, weights)[0]
        return sums

    def products(
        self,
        k: int,
        other: Line,
        other_k: int,
        *,
        wide: bool = False,
        other_wide: bool = False,
    ) -> np.ndarray:
        """Return the row sums of the product with a kernel on another column.

        Both kernels are exponentials, or one minus an exponential where `wide`.
        """
        if wide and not other_wide:
            return other.products(other_k, self, k, other_wide=True)
        column = np.empty_like(other.values)
        column[other.order] = other.values
        sums = np.empty(len(self.order))
        sums[self.order] = product_sums(
            self.values,
            column[self.order],
            self.profiles[k].rate,
            other.profiles[other_k].rate,
            x_wide=wide,
            y_wide=other_wide,
        )
        return sums


class Classes:
    """Labels, whose sums are those of their classes, and the kernels on them.

    Parameters
    ----------
    samples : list of Codes
        Codes of the labels for each kernel.
    """

    def __init__(self, samples: list[Codes]):
        codes = samples[0].codes
        self.codes = codes[:, 0] if codes.ndim == 2 else codes
        counts = np.bincount(self.codes)[self.codes]
        # The values of the kernels within the class of each row.
        self.values = [
            1 / counts if sample.codes.ndim == 2 else np.ones(len(counts))
            for sample in samples
        ]
        self.n_rows, self.n_kernels = len(counts), len(samples)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return held_bytes(vars(self).values())

    def diagonal(self, k: int) -> np.ndarray:
        """Return the value of kernel k for each row with itself."""
        return self.values[k]

    def can_be_wide(self, k: int) -> bool:
        """Tell that labels are equal or not, but never close."""
        return False

    def sums(
        self, k: int, weights: np.ndarray | None = None, *, wide: bool = False
    ) -> np.ndarray:
        """Return the row sums of kernel k, which is never `wide`."""
        return self.values[k] * np.bincount(self.codes, weights)[self.codes]

    def products(
        self,
        k: int,
        other: Line,
        other_k: int,
        *,
        wide: bool = False,
        other_wide: bool = False,
    ) -> np.ndarray:
        """Return the row sums of the product with a kernel on a column.

        With one minus that kernel if `other_wide`.
        """
        within = np.argsort(self.codes[other.order], kind="stable")
        order = other.order[within]
        steps, profile = steps_of(other.values[within]), other.profiles[other_k]
        starts = np.diff(self.codes[order], prepend=-1) != 0
        steps[starts] = np.inf
        sums = np.empty(len(order))
        if other_wide:
            sums[order] = complement_sums(steps, profile.rate, starts=starts)[0]
        else:
            sums[order] = scan_sums(steps, profile)[0]
        return sums * self.values[k]


def factors_in_order(
    x: Source, y: Source, n: int
) -> tuple[Line | Classes, Line, bool] | None:
    """Return both factors of products of kernels that have sums in sorted order.

    Exponentials on a column with such on another, or any kernels that decay on a column
    with labels; None if there is any other pair among them, or a kernel so wide that
    the digits of HSIC would be lost.

    Parameters
    ----------
    x, y : Source
        Kernels on the same rows.
    n : int
        Number of rows.

    Returns
    -------
    first, second : Line or Classes, Line
        The factors.
    swapped : bool
        Whether the first is of y.
    """
    swapped = label_samples(y) is not None
    first, second = (y, x) if swapped else (x, y)
    labels = label_samples(first)
    # With labels, products are scans of the classes.
    way = "product" if labels is None else "scan"
    profiles = line_profiles(second, n, way)
    if len(profiles) < second.n_kernels:
        return None
    if labels is not None:
        line = line_of(second, profiles)
        if any(0 < t < MIN_SPAN and line.profiles[k].degree for k, t in line.spans()):
            return None
        return Classes(labels), line, swapped
    of_first = line_profiles(first, n, way)
    both = [*of_first.values(), *profiles.values()]
    if len(of_first) < first.n_kernels or any(profile.degree for profile in both):
        return None
    return line_of(first, of_first), line_of(second, profiles), swapped


def label_samples(source: Source) -> list[Codes] | None:
    """Return the labels for each kernel of a source that has no other kernels."""
    if not isinstance(source, KernelSource):
        return None
    samples = [source.samples[sample_key(kernel)] for kernel in source.kernels]
    return samples if all(isinstance(sample, Codes) for sample in samples) else None


def line_of(source: KernelSource, profiles: dict[int, Profile]) -> Line:
    """Return the one column of a source with some of its kernels."""
    return Line(np.concatenate(column_parts(source)), list(profiles.values()))


def steps_of(values: np.ndarray) -> np.ndarray:
    """Return the distance of each sorted value from the one before."""
    with np.errstate(over="ignore"):
        return np.diff(values, prepend=-np.inf)


def row_sums(
    source: Source, n: int, *, diagonal: bool, **walk_options: Any
) -> np.ndarray:
    """Return the row sums of the Gram matrices of a source on n rows.

    Parameters
    ----------
    source : Source
        Kernels.
    n : int
        Number of rows.
    diagonal : bool
        Whether k(x_i, x_i) is in the sum of row i.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    sums : ndarray of shape (n_kernels, n)
        Row sums.
    """
    profiles = line_profiles(source, n)
    sums = np.empty((source.n_kernels, n))
    others = other_kernels(source, profiles)
    if others:
        rest = source.select(others) if profiles else source
        [(part, _)] = walk(
            [square(0, n, diagonal=diagonal)], RowSums(rest), **walk_options
        )
        sums[others] = part
    if profiles:
        work = _LineTask(line_of(source, profiles), diagonal)
        for k, part in zip(
            profiles, run_all(range(len(profiles)), work, **walk_options), strict=True
        ):
            sums[k] = part
    return sums


def two_sample_sums(
    source: Source,
    profiles: dict[int, Profile],
    finish: Callable[..., Any],
    *,
    diagonal: bool,
    **walk_options: Any,
) -> Iterator[tuple[int, Any]]:
    """Yield what becomes of the row sums within and between two samples.

    Kernel by kernel, so that there are never the sums of many at once.

    Parameters
    ----------
    source : KernelSource
        Kernels on the stacked rows of two samples.
    profiles : dict
        Those of its kernels that are wanted.
    finish : callable
        Takes the sums of X over X, of Y over Y, of X over Y and of Y over X, each of
        shape (1, rows) and in increasing order of the values.
    diagonal : bool
        Whether k(x_i, x_i) is in the sum of row i.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Yields
    ------
    k, result : int, object
        Kernel, and what `finish` returns.
    """
    x, y = (np.sort(part) for part in column_parts(source))
    at_y = np.searchsorted(x, y, "right") + np.arange(len(y))
    weights = np.zeros((2, len(x) + len(y)))
    weights[1, at_y] = 1
    np.subtract(1, weights[1], out=weights[0])
    at_x = np.flatnonzero(weights[0])
    values = np.empty(weights.shape[1])
    values[at_x], values[at_y] = x, y
    work = _TwoSampleTask(steps_of(values), weights, (at_x, at_y), diagonal, finish)
    del x, y, values
    results = run_all(profiles.values(), work, **walk_options)
    yield from zip(profiles, results, strict=True)


class _LineTask(Task):
    """The row sums of one kernel on a column."""

    def __init__(self, line: Line, diagonal: bool):
        self.line = line
        self.diagonal = diagonal

    def __call__(self, k: int) -> np.ndarray:
        sums = self.line.sums(k)
        return sums if self.diagonal else sums - self.line.diagonal(k)


class _TwoSampleTask(Task):
    """What becomes of the row sums of one kernel on two samples."""

    def __init__(
        self,
        steps: np.ndarray,
        weights: np.ndarray,
        positions: tuple[np.ndarray, np.ndarray],
        diagonal: bool,
        finish: Callable[..., Any],
    ):
        self.steps = steps
        self.weights = weights
        self.positions = positions
        self.diagonal = diagonal
        self.finish = finish

    def __call__(self, profile: Profile) -> Any:
        over_x, over_y = scan_sums(self.steps, profile, self.weights)
        at_x, at_y = self.positions
        within = over_x[at_x], over_y[at_y]
        cross = over_y[at_x], over_x[at_y]
        if not self.diagonal:
            for sums in within:
                sums -= profile.polynomial[0]
        return self.finish(*(sums[np.newaxis] for sums in (*within, *cross)))
