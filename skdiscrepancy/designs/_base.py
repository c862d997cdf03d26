"""What a design is: pairs, regions, chunks."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from skdiscrepancy._data import RandomStateLike, check_number

Pairs = tuple[np.ndarray, np.ndarray]


class Region(NamedTuple):
    """A rectangle of index pairs, rows by columns, half-open as slices are.

    A `symmetric` region is a square on the diagonal and stands for all its ordered
    pairs; `diagonal` says whether the pairs (i, i) belong to it.
    """

    row_start: int
    row_stop: int
    col_start: int
    col_stop: int
    symmetric: bool = False
    diagonal: bool = True

    @property
    def row_length(self) -> int:
        """Number of pairs in each row."""
        return self.col_stop - self.col_start - (not self.diagonal)


def square(start: int, stop: int, *, diagonal: bool) -> Region:
    """Return the symmetric region of rows `start` to `stop`."""
    return Region(start, stop, start, stop, symmetric=True, diagonal=diagonal)


class Design(BaseEstimator, metaclass=ABCMeta):
    """Base class of the designs.

    A design is the set D of index pairs that a statistic is the mean over [1]_. One of
    one's own needs only `pairs`. The designs here describe themselves by rectangles
    (`regions`) or by a stream of chunks (`chunks`), so that no list of all pairs is
    ever made to compute a statistic.

    Read more in the :ref:`User Guide <designs>`.

    Attributes
    ----------
    complete : bool
        Class attribute. Complete designs use every pair; the others, and designs of
        your own, run on a one-sample second-order core.
    biased : bool
        Class attribute. Whether the design holds the pairs (i, i), as that of the
        V-statistic does.
    upper : bool
        Class attribute. Whether a pair (i, j) stands for (j, i) too, so that `mask`
        shows both.

    See Also
    --------
    check_design : Turns a letter into a design.
    CompleteU : Is the default of the estimators.

    References
    ----------
    .. [1] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import ksd_score
    >>> from skdiscrepancy.designs import Design, Subdiagonals
    >>> class Neighbours(Design):
    ...     "The pairs (i, i + 1)."
    ...     def pairs(self, n, random_state=None):
    ...         return np.arange(n - 1), np.arange(1, n)
    >>> X = np.random.RandomState(0).normal(size=(50, 1))
    >>> own = ksd_score(X, -X, design=Neighbours())
    >>> abs(own - ksd_score(X, -X, design=Subdiagonals(n_subdiagonals=1))) < 1e-12
    True
    """

    complete = False
    biased = False
    upper = True

    @abstractmethod
    def pairs(self, n: int, random_state: RandomStateLike = None) -> Pairs:
        """Return the index pairs of the design, exactly the paper's set D.

        Parameters
        ----------
        n : int
            Number of samples.
        random_state : int, RandomState instance, Generator or None, default=None
            Seeds :class:`RandomPairs`; ignored by the other designs.

        Returns
        -------
        rows, cols : ndarray of shape (size(n),)
            Zero-based indices, with multiplicity.
        """

    def size(self, n: int) -> int:
        """Return the number of pairs of the design on `n` samples.

        Parameters
        ----------
        n : int
            Number of samples.

        Returns
        -------
        size : int
            Size of the paper's set D, with multiplicity.
        """
        return len(self.pairs(n)[0])

    def mask(self, n: int, random_state: RandomStateLike = None) -> np.ndarray:
        """Return how often each entry of the n x n core matrix is used, for drawing.

        Designs that are defined above the diagonal are symmetrised, as in the figures
        of the paper. Takes O(n^2) memory; no statistic is computed from it.

        Parameters
        ----------
        n : int
            Number of samples.
        random_state : int, RandomState instance, Generator or None, default=None
            Seeds :class:`RandomPairs`; ignored by the other designs.

        Returns
        -------
        mask : ndarray of shape (n, n), dtype int64
            Counts, zero where an entry is not used.
        """
        pairs = self.pairs(n, random_state=random_state)
        counts = np.zeros((n, n), dtype=np.int64)
        np.add.at(counts, tuple(pairs), 1)
        return counts + counts.T if self.upper else counts

    def n_unused(self, n: int) -> int:
        """Return how many of `n` samples you are warned of, since no pair has them.

        Parameters
        ----------
        n : int
            Number of samples.

        Returns
        -------
        n_unused : int
            1 for the last of an odd number in :class:`Linear`, else 0.
        """
        return 0

    def regions(self, n: int) -> list[Region] | None:
        """Return the rectangles of a block design, None for a design of loose pairs.

        Parameters
        ----------
        n : int
            Number of samples.

        Returns
        -------
        regions : list of Region or None
            Disjoint in their rows.
        """
        return None

    def chunks(
        self, n: int, max_pairs: int, random_state: RandomStateLike = None
    ) -> Iterator[Pairs]:
        """Yield the pairs in chunks, ordered by row, each row within one chunk.

        Parameters
        ----------
        n : int
            Number of samples.
        max_pairs : int
            Size of a chunk; a chunk is larger only when one row alone is.
        random_state : int, RandomState instance, Generator or None, default=None
            Seeds :class:`RandomPairs`; ignored by the other designs.

        Yields
        ------
        rows, cols : ndarray
            Zero-based indices.
        """
        rows, cols = map(np.asarray, self.pairs(n, random_state=random_state))
        if (
            rows.shape != cols.shape
            or rows.ndim != 1
            or not rows.size
            or min(rows.min(), cols.min()) < 0
            or max(rows.max(), cols.max()) >= n
        ):
            raise ValueError(
                f"{self!r} must give one or more pairs of indices from 0 to {n - 1}, "
                "as two arrays of one length."
            )
        order = np.argsort(rows, kind="stable")
        yield from _whole_rows(rows[order], cols[order], max_pairs)


class StreamedDesign(Design):
    """Base class of the designs that make their pairs chunk by chunk."""

    def pairs(self, n: int, random_state: RandomStateLike = None) -> Pairs:
        pieces = list(self.chunks(n, max_pairs=self.size(n), random_state=random_state))
        rows, cols = zip(*pieces, strict=True)
        return np.concatenate(rows), np.concatenate(cols)


class BlockDesign(StreamedDesign):
    """Base class of the designs made of rectangles."""

    @abstractmethod
    def regions(self, n: int) -> list[Region]: ...

    def size(self, n: int) -> int:
        return sum(
            (region.row_stop - region.row_start) * region.row_length
            for region in self.regions(n)
        )

    def chunks(
        self, n: int, max_pairs: int, random_state: RandomStateLike = None
    ) -> Iterator[Pairs]:
        for region in self.regions(n):
            width = region.col_stop - region.col_start
            step = max(1, max_pairs // width)
            for start in range(region.row_start, region.row_stop, step):
                stop = min(start + step, region.row_stop)
                rows = np.repeat(np.arange(start, stop), width)
                cols = np.tile(
                    np.arange(region.col_start, region.col_stop), stop - start
                )
                if not region.diagonal:
                    kept = rows != cols
                    rows, cols = rows[kept], cols[kept]
                yield rows, cols


def _whole_rows(rows: np.ndarray, cols: np.ndarray, max_pairs: int) -> Iterator[Pairs]:
    """Cut pairs that are ordered by row into chunks that keep each row whole."""
    starts = np.append(np.flatnonzero(np.diff(rows, prepend=-1)), rows.size)
    row = 0
    while row < starts.size - 1:
        stop = int(np.searchsorted(starts, starts[row] + max_pairs, "right")) - 1
        stop = max(stop, row + 1)
        yield rows[starts[row] : starts[stop]], cols[starts[row] : starts[stop]]
        row = stop


def at_least(n: Any, least: int, design: Design) -> int:
    """Return a number of samples, unless the smallest design of its kind needs more."""
    if not isinstance(n, Integral) or isinstance(n, bool):
        raise TypeError(
            f"n == {n!r}, must be an integer >= {least} for the design {design!r}: the "
            "number of samples."
        )
    if n < least:
        raise ValueError(
            f"n_samples == {n}, must be >= {least} for the design {design!r}."
        )
    return int(n)


def check_count(
    value: Any, name: str, keyword: str, default: int, most: int | None, n: int
) -> int:
    """Return a count of at least 1, given as an integer or by its keyword."""
    if isinstance(value, str) and value == keyword:
        return default
    check_number(
        value,
        name,
        integer=True,
        least=1,
        most=most,
        keyword=keyword,
        context=f" for {n} samples",
    )
    return int(value)
