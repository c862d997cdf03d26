"""Base classes of designs, as pairs, rectangles or chunks of pairs."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from skdiscrepancy._data import KeywordHints, RandomStateLike, check_number, shown

Pairs = tuple[np.ndarray, np.ndarray]

# More samples than any array has; lists of as many blocks would fill the memory.
LARGEST = 2**40


class Region(NamedTuple):
    """A rectangle of index pairs, with half-open ranges of rows and columns.

    A `symmetric` region is a square on the diagonal and stands for all its ordered
    pairs. `diagonal` says whether the pairs (i, i) belong to the region.
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


class Design(KeywordHints, BaseEstimator, metaclass=ABCMeta):
    """Base class of all designs.

    A statistic is a mean over pairs (i, j) of samples. A design is the set D of pairs
    that the statistic uses [1]_.

    To write your own design, derive from this class and implement `pairs`. The designs
    of this package also implement `regions` or `chunks`, so that no statistic needs a
    list of all pairs in memory.

    Read more in the :ref:`User Guide <designs>`.

    Attributes
    ----------
    complete : bool
        Class attribute. Whether the design uses every pair. Incomplete designs,
        including your own, run on a one-sample second-order core.
    biased : bool
        Class attribute. Whether the design contains the pairs (i, i), as for the
        V-statistic.
    upper : bool
        Class attribute. Whether a pair (i, j) also stands for (j, i). If so, `mask`
        shows both.

    See Also
    --------
    check_design : Turns a letter into a design object.
    CompleteU : Default design of the estimators.

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
    >>> for design in (Neighbours(), Subdiagonals(n_subdiagonals=1)):
    ...     print(design, design.size(50), round(ksd_score(X, -X, design=design), 3))
    Neighbours() 49 0.07
    Subdiagonals(n_subdiagonals=1) 49 0.07
    """

    complete = False
    biased = False
    upper = True

    @abstractmethod
    def pairs(self, n: int, random_state: RandomStateLike = None) -> Pairs:
        """Return the index pairs of the design, the set D of the paper.

        Parameters
        ----------
        n : int
            Number of samples.
        random_state : int, RandomState instance, Generator or None, default=None
            Seeds the pairs that :class:`RandomPairs` draws. The other designs ignore
            it.

        Returns
        -------
        rows, cols : ndarray of shape (size(n),)
            Zero-based indices i and j of the pairs. A pair that is used twice appears
            twice.
        """

    def size(self, n: int) -> int:
        """Return the number of pairs of the design for `n` samples.

        Parameters
        ----------
        n : int
            Number of samples.

        Returns
        -------
        size : int
            Number of pairs. A pair that is used twice counts twice.
        """
        return len(self.pairs(n)[0])

    def mask(self, n: int, random_state: RandomStateLike = None) -> np.ndarray:
        """Return how often the design uses each entry of the n x n core matrix.

        The mask is for pictures of a design. If the design is defined above the
        diagonal, the mask is symmetrised, as in the figures of the paper. The mask
        takes O(n^2) memory. No statistic is computed from it.

        Parameters
        ----------
        n : int
            Number of samples.
        random_state : int, RandomState instance, Generator or None, default=None
            Seeds the pairs that :class:`RandomPairs` draws. The other designs ignore
            it.

        Returns
        -------
        mask : ndarray of shape (n, n), dtype int64
            Counts. They are zero for entries that the design does not use.
        """
        pairs = self.pairs(n, random_state=random_state)
        counts = np.zeros((n, n), dtype=np.int64)
        np.add.at(counts, tuple(pairs), 1)
        return counts + counts.T if self.upper else counts

    def n_unused(self, n: int) -> int:
        """Return the number of unused samples that estimators warn about.

        Parameters
        ----------
        n : int
            Number of samples.

        Returns
        -------
        n_unused : int
            In :class:`Linear`, 1 for an odd number of samples. In :class:`Blocks`, the
            samples after the last block. Else 0, also for :class:`RandomPairs`, which
            may leave out any sample.
        """
        at_least(n, 1, self)
        return 0

    def regions(self, n: int) -> list[Region] | None:
        """Return the rectangles of pairs that make up the design.

        Parameters
        ----------
        n : int
            Number of samples.

        Returns
        -------
        regions : list of Region or None
            Rectangles that have no row in common. None if the design is not made of
            rectangles.
        """
        return None

    def chunks(
        self, n: int, max_pairs: int, random_state: RandomStateLike = None
    ) -> Iterator[Pairs]:
        """Yield the pairs in chunks, ordered by row.

        All pairs of a row are in one chunk.

        Parameters
        ----------
        n : int
            Number of samples.
        max_pairs : int
            Largest number of pairs in a chunk. A chunk is larger only if a single row
            has more pairs.
        random_state : int, RandomState instance, Generator or None, default=None
            Seeds the pairs that :class:`RandomPairs` draws. The other designs ignore
            it.

        Yields
        ------
        rows, cols : ndarray
            Zero-based indices i and j of the pairs of a chunk.
        """
        max_pairs = check_max_pairs(max_pairs)
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
                "as two arrays of equal length."
            )
        order = np.argsort(rows, kind="stable")
        yield from _whole_rows(rows[order], cols[order], max_pairs)


class StreamedDesign(Design):
    """Base class of designs that generate their pairs chunk by chunk."""

    def pairs(self, n: int, random_state: RandomStateLike = None) -> Pairs:
        pieces = list(self.chunks(n, max_pairs=self.size(n), random_state=random_state))
        rows, cols = zip(*pieces, strict=True)
        return np.concatenate(rows), np.concatenate(cols)


class BlockDesign(StreamedDesign):
    """Base class of designs that are made of rectangles."""

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
        max_pairs = check_max_pairs(max_pairs)
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
    """Split pairs, ordered by row, into chunks without splitting a row."""
    starts = np.append(np.flatnonzero(np.diff(rows, prepend=-1)), rows.size)
    row = 0
    while row < starts.size - 1:
        stop = int(np.searchsorted(starts, starts[row] + max_pairs, "right")) - 1
        stop = max(stop, row + 1)
        yield rows[starts[row] : starts[stop]], cols[starts[row] : starts[stop]]
        row = stop


def at_least(n: Any, least: int, design: Design) -> int:
    """Return the number of samples, or raise an error if it is too small."""
    if not isinstance(n, Integral) or isinstance(n, bool):
        raise TypeError(
            f"n == {shown(n)}, must be an integer >= {least} for the design "
            f"{shown(design)}: the number of samples."
        )
    if n < least:
        raise ValueError(
            f"n_samples == {n}, must be >= {least} for the design {shown(design)}."
        )
    if int(n) > LARGEST:
        raise ValueError(
            f"n_samples == {shown(n)}, must be at most 2**40 for the design "
            f"{shown(design)}."
        )
    return int(n)


def check_max_pairs(max_pairs: Any) -> int:
    """Return the size of a chunk."""
    return check_number(max_pairs, "max_pairs", integer=True, least=1)


def check_count(
    value: Any, name: str, keyword: str, default: int, most: int | None, n: int
) -> int:
    """Return a count of at least 1 that was passed as an integer or a keyword."""
    if isinstance(value, str) and value == keyword:
        return default
    return check_number(
        value,
        name,
        integer=True,
        least=1,
        most=most,
        keyword=keyword,
        context=f" for {n} samples",
    )
