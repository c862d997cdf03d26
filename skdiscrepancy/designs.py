"""Designs: the pairs of samples that a statistic uses."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from math import isqrt
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from sklearn.base import BaseEstimator

from skdiscrepancy._data.checks import (
    KeywordHints,
    RandomStateLike,
    check_flag,
    check_number,
    did_you_mean,
    draw_seeds,
    generator_of,
    make_public,
    shown,
)

Pairs = tuple[np.ndarray, np.ndarray]
# Rows of pairs, the positions in a list of pairs where they start, and at the end the
# length of the list, the shift s of each row, and ranks r, None for 0, 1 and so on. The
# pair at position k, in row i, is (i, r[k] + s).
Part = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]
# More samples than any array has; lists of as many blocks would fill the memory.
LARGEST = 2**40


class Region(NamedTuple):
    """A rectangle of index pairs, with half-open ranges of rows and columns.

    A `symmetric` region is a square that stands for all its ordered pairs.
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

    A design is the set of pairs (i, j) of rows that a statistic uses. Derive your own
    design from it and write `pairs`.

    Read more in the :ref:`User Guide <designs>`.

    Attributes
    ----------
    complete, biased : bool
        Whether the design has every pair, and pairs (i, i).
    upper : bool
        Whether (i, j) also stands for (j, i).

    See Also
    --------
    check_design : Takes a letter.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import ksd_score
    >>> from skdiscrepancy.designs import Design, Subdiagonals
    >>> class Neighbours(Design):
    ...     "The pairs (i, i + 1)."
    ...     def pairs(self, n, random_state=None):
    ...         return np.arange(n - 1), np.arange(1, n)
    >>> X = np.random.RandomState(0).normal(size=(50, 1)) + 1
    >>> for design in (Neighbours(), Subdiagonals(n_subdiagonals=1)):
    ...     print(design, design.size(50), round(ksd_score(X, -X, design=design), 3))
    Neighbours() 49 0.234
    Subdiagonals(n_subdiagonals=1) 49 0.234
    """

    complete = False
    biased = False

    def _least_rows(self, n_variables: int = 1) -> int:
        """Return the smallest number of rows; HSIC has two variables."""
        return n_variables if self.biased else 2 * n_variables

    upper = True

    @abstractmethod
    def pairs(self, n: int, random_state: RandomStateLike = None) -> Pairs:
        """Return the index pairs of the design.

        Parameters
        ----------
        n : int
            Number of rows.
        random_state : int, RandomState instance, Generator or None, default=None
            Seeds all random draws.

        Returns
        -------
        rows, cols : ndarray of shape (size(n),)
            Indices i and j of the pairs.
        """

    def size(self, n: int) -> int:
        """Return the number of pairs.

        Parameters
        ----------
        n : int
            Number of rows.

        Returns
        -------
        size : int
            Number of pairs.
        """
        regions = self.regions(n)
        if regions is None:
            return len(self.pairs(n)[0])
        return sum((r.row_stop - r.row_start) * r.row_length for r in regions)

    def mask(self, n: int, random_state: RandomStateLike = None) -> np.ndarray:
        """Return how often the design uses each pair, for pictures.

        Parameters
        ----------
        n : int
            Number of rows.
        random_state : int, RandomState instance, Generator or None, default=None
            Seeds all random draws.

        Returns
        -------
        mask : ndarray of shape (n, n), dtype int64
            Counts, symmetric.
        """
        pairs = self.pairs(n, random_state=random_state)
        counts = np.zeros((n, n), dtype=np.int64)
        np.add.at(counts, tuple(pairs), 1)
        return counts + counts.T if self.upper else counts

    def n_unused(self, n: int) -> int:
        """Return the number of unused rows, 0 for :class:`RandomPairs`.

        Parameters
        ----------
        n : int
            Number of rows.

        Returns
        -------
        n_unused : int
            Number of rows in no pair.
        """
        at_least(n, 1, self)
        return 0

    def regions(self, n: int) -> list[Region] | None:
        """Return the rectangles of pairs that make up the design.

        Parameters
        ----------
        n : int
            Number of rows.

        Returns
        -------
        regions : list of Region or None
            Rectangles that share no row, None if there are none.
        """
        return None

    def chunks(
        self, n: int, max_pairs: int, random_state: RandomStateLike = None
    ) -> Iterator[Pairs]:
        """Yield the pairs in chunks, ordered by row.

        Parameters
        ----------
        n : int
            Number of rows.
        max_pairs : int
            Largest number of pairs in a chunk of several rows.
        random_state : int, RandomState instance, Generator or None, default=None
            Seeds all random draws.

        Yields
        ------
        rows, cols : ndarray
            Indices i and j of the pairs.
        """
        max_pairs = check_number(max_pairs, "max_pairs", integer=True, least=1)
        for rows, bounds, shifts, ranks in self._parts(n, random_state):
            row = 0
            while row < len(rows):
                # As many rows as have at most `max_pairs` pairs, at least one.
                end = np.searchsorted(bounds, bounds[row] + max_pairs, "right") - 1
                end = max(int(end), row + 1)
                lengths = np.diff(bounds[row : end + 1])
                i = np.repeat(rows[row:end], lengths)
                j = np.arange(bounds[row], bounds[end])
                j = j if ranks is None else ranks[j]
                j = j + np.repeat(shifts[row:end], lengths)
                # Rectangles on the diagonal hold pairs (i, i).
                whole = ranks is not None or self.upper or self.biased
                kept = slice(None) if whole else i != j
                if i.size:
                    yield i[kept], j[kept]
                row = end

    def _parts(self, n: int, random_state: RandomStateLike) -> Iterator[Part]:
        """Yield parts of the pairs, ordered by row."""
        regions = self.regions(n)
        if regions is not None:
            for region in regions:
                rows = np.arange(region.row_start, region.row_stop)
                bounds = (region.col_stop - region.col_start) * np.arange(len(rows) + 1)
                yield rows, bounds, region.col_start - bounds[:-1], None
            return
        i, j = map(np.asarray, self.pairs(n, random_state=random_state))
        well_formed = i.shape == j.shape and i.ndim == 1 and i.size
        if not well_formed or np.min((i, j)) < 0 or np.max((i, j)) >= n:
            raise ValueError(
                f"{self!r} must give one or more pairs of indices from 0 to {n - 1}, "
                "as two arrays of equal length."
            )
        order = np.argsort(i, kind="stable")
        rows, starts = np.unique(i[order], return_index=True)
        yield rows, np.append(starts, i.size), np.zeros_like(rows), j[order]

    def _count(self, name: str, n: int, default: int, most: int | None = None) -> int:
        """Return a parameter that is an integer from 1 to `most`, or a keyword."""
        value, keyword = getattr(self, name), "half" if name == "n_first" else "sqrt"
        if isinstance(value, str) and value == keyword:
            return default
        limits: dict[str, Any] = {"least": 1, "most": most, "keyword": keyword}
        limits |= {"integer": True, "context": f" for {n} samples"}
        return check_number(value, name, **limits)


class StreamedDesign(Design):
    """Base class of designs that generate their pairs chunk by chunk."""

    def pairs(self, n: int, random_state: RandomStateLike = None) -> Pairs:
        pieces = list(self.chunks(n, max_pairs=self.size(n), random_state=random_state))
        rows, cols = zip(*pieces, strict=True)
        return np.concatenate(rows), np.concatenate(cols)


def at_least(n: Any, least: int, design: Design) -> int:
    """Return the number of samples, or raise an error if it is too small."""
    if not isinstance(n, Integral) or isinstance(n, bool):
        raise TypeError(
            f"n == {shown(n)}, must be an integer >= {least} for the design "
            f"{shown(design)}: the number of samples."
        )
    if not least <= int(n) <= LARGEST:
        allowed = f">= {least}" if n < least else "at most 2**40"
        raise ValueError(
            f"n_samples == {shown(n)}, must be {allowed} for the design "
            f"{shown(design)}."
        )
    return int(n)


# Up to MAX_AT_ONCE pairs are drawn at once. More pairs are drawn in parts of about
# PART_SIZE pairs.
MAX_AT_ONCE = 2**27
PART_SIZE = 2**22
# Number of standard deviations by which the expected number of draws exceeds the
# number of pairs that we need.
SURPLUS = 6


def draw_ranks(
    offsets: np.ndarray, size: int, replace: bool, rng: RandomState
) -> Iterator[tuple[int, int, np.ndarray]]:
    """Draw ranks of pairs and yield them in sorted order, a few rows at a time.

    Row i has the ranks from offsets[i] to offsets[i + 1] - 1.
    """
    population = int(offsets[-1])
    if size <= MAX_AT_ONCE:
        yield 0, len(offsets) - 1, _draw(population, size, replace, rng)
        return
    # The caller may use the generator between two parts, so the parts need their own.
    rng = RandomState(draw_seeds(rng, 1)[0])
    wanted = np.linspace(0, population, -(-size // PART_SIZE) + 1)
    rows = np.unique(np.searchsorted(offsets, wanted))
    ranges = np.diff(offsets[rows])
    if replace:
        counts = rng.multinomial(size, ranges / population)
        surplus = np.empty(0, dtype=np.int64)
    else:
        # Each rank is included independently with the same probability, so the counts
        # are binomial. Given the total count, all sets of ranks are equally likely. The
        # total is slightly too large, so the surplus ranks are removed at random.
        probability = min(1.0, (size + SURPLUS * np.sqrt(size)) / population)
        counts = rng.binomial(ranges, probability)
        while counts.sum() < size:
            counts = rng.binomial(ranges, probability)
        total = int(counts.sum())
        surplus = _draw_distinct(total, total - size, rng)
    bounds = np.concatenate(([0], np.cumsum(counts)))
    for b, count in enumerate(counts):
        ranks = _draw(int(ranges[b]), int(count), replace, rng)
        first, last = np.searchsorted(surplus, bounds[b : b + 2])
        ranks = np.delete(ranks, surplus[first:last] - bounds[b])
        yield int(rows[b]), int(rows[b + 1]), ranks + offsets[rows[b]]


def _draw(population: int, size: int, replace: bool, rng: RandomState) -> np.ndarray:
    """Draw `size` integers below `population`, sorted."""
    if replace:
        return np.sort(rng.randint(population, size=size, dtype=np.int64))
    if size <= population // 2:
        return _draw_distinct(population, size, rng)
    kept = np.ones(population, dtype=bool)
    kept[_draw_distinct(population, population - size, rng)] = False
    return np.flatnonzero(kept)


def _draw_distinct(population: int, size: int, rng: RandomState) -> np.ndarray:
    """Draw `size` distinct integers below `population`, sorted.

    Each round draws as many integers as are still missing, so all sets of that size are
    equally likely.
    """
    drawn = rng.randint(population, size=size, dtype=np.int64)
    while True:
        # Sorting in place is much faster here than the hash table of numpy.unique.
        drawn.sort()
        new = np.ones(len(drawn), dtype=bool)
        np.not_equal(drawn[1:], drawn[:-1], out=new[1:])
        missing = size - np.count_nonzero(new)
        if not missing:
            return drawn
        drawn = drawn[new]
        more = rng.randint(population, size=missing, dtype=np.int64)
        drawn = np.concatenate((drawn, more))


class CompleteV(StreamedDesign):
    """All ordered pairs with the diagonal, for the V-statistic.

    It is biased, but never negative for a positive definite core [1]_, and takes
    O(n^2) time.

    Read more in the :ref:`User Guide <designs>`.

    Attributes
    ----------
    complete, biased, upper : bool
        See :class:`Design`.

    See Also
    --------
    CompleteU : Unbiased.

    References
    ----------
    .. [1] R. von Mises, "On the asymptotic distribution of differentiable statistical
       functions", Annals of Mathematical Statistics 18, 1947.

    Examples
    --------
    >>> from skdiscrepancy.designs import CompleteV
    >>> CompleteV().size(10)
    100
    """

    complete = True
    biased = True
    upper = False

    def regions(self, n: int) -> list[Region]:
        return [square(0, at_least(n, 1, self), diagonal=True)]


class CompleteU(StreamedDesign):
    """All ordered pairs without the diagonal, for the U-statistic.

    It is unbiased, with the smallest variance [1]_, and takes O(n^2) time.

    Read more in the :ref:`User Guide <designs>`.

    Attributes
    ----------
    complete, upper : bool
        See :class:`Design`.

    See Also
    --------
    CompleteV : Biased.

    References
    ----------
    .. [1] W. Hoeffding, "A class of statistics with asymptotically normal
       distribution", Annals of Mathematical Statistics 19, 1948.

    Examples
    --------
    >>> from skdiscrepancy.designs import CompleteU
    >>> CompleteU().size(10)
    90
    """

    complete = True
    upper = False

    def regions(self, n: int) -> list[Region]:
        return [square(0, at_least(n, 2, self), diagonal=False)]


class Linear(StreamedDesign):
    """The pairs (1, 2), (3, 4) and so on, for the linear-time L-statistic.

    It is the fastest and least precise design ([1]_, Lemma 14).

    Read more in the :ref:`User Guide <designs>`.

    Attributes
    ----------
    complete, upper : bool
        See :class:`Design`.

    See Also
    --------
    Subdiagonals : Has more pairs.

    References
    ----------
    .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.

    Examples
    --------
    >>> from skdiscrepancy.designs import Linear
    >>> Linear().size(11)
    5
    """

    def size(self, n: int) -> int:
        return at_least(n, 2, self) // 2

    def n_unused(self, n: int) -> int:
        return at_least(n, 2, self) % 2

    def _parts(self, n: int, random_state: RandomStateLike) -> Iterator[Part]:
        size = self.size(n)
        yield 2 * np.arange(size), np.arange(size + 1), np.arange(1, size + 1), None


class Subdiagonals(StreamedDesign):
    """The first subdiagonals of the core matrix, for the D-statistic.

    The pairs (i, i + j) with j <= r [1]_ take O(r n) time.

    Read more in the :ref:`User Guide <designs>`.

    Parameters
    ----------
    n_subdiagonals : "sqrt" or int, default="sqrt"
        Number r. "sqrt" is floor(sqrt(n)).

    Attributes
    ----------
    complete, upper : bool
        See :class:`Design`.

    See Also
    --------
    RandomPairs : Draws pairs at random.

    References
    ----------
    .. [1] A. Schrab et al., "Efficient aggregated kernel tests using incomplete
       U-statistics", NeurIPS 2022.

    Examples
    --------
    >>> from skdiscrepancy.designs import Subdiagonals
    >>> Subdiagonals(n_subdiagonals=3).size(10)
    24
    """

    def __init__(self, *, n_subdiagonals: str | int = "sqrt"):
        self.n_subdiagonals = n_subdiagonals

    def _order(self, n: int) -> int:
        """Return the number of subdiagonals."""
        n = at_least(n, 2, self)
        return self._count("n_subdiagonals", n, isqrt(n), n - 1)

    def size(self, n: int) -> int:
        r, n = self._order(n), int(n)
        return r * n - r * (r + 1) // 2

    def _parts(self, n: int, random_state: RandomStateLike) -> Iterator[Part]:
        n = int(n)
        rows = np.arange(n - 1)
        bounds = np.append(0, np.cumsum(np.minimum(self._order(n), n - 1 - rows)))
        yield rows, bounds, rows + 1 - bounds[:-1], None


class Blocks(StreamedDesign):
    """All pairs within consecutive blocks of rows, for the B-statistic.

    It takes O(n^2 / n_blocks) time [1]_. Remaining rows form one more block.

    Read more in the :ref:`User Guide <designs>`.

    Parameters
    ----------
    n_blocks : "sqrt" or int, default="sqrt"
        Number of equal blocks. "sqrt" is floor(sqrt(n)).
    block_sizes : array-like of int or None, default=None
        Sizes to use instead. Later rows are in no pair.

    Attributes
    ----------
    complete, upper : bool
        See :class:`Design`.

    See Also
    --------
    Subdiagonals : Another fast design.

    References
    ----------
    .. [1] W. Zaremba et al., "B-test: A non-parametric, low variance kernel two-sample
       test", NeurIPS 2013.

    Examples
    --------
    >>> from skdiscrepancy.designs import Blocks
    >>> Blocks(n_blocks=2).size(10)
    40
    >>> Blocks(block_sizes=(4, 4, 2)).size(10)
    26
    """

    upper = False

    def __init__(self, *, n_blocks: str | int = "sqrt", block_sizes: Any = None):
        self.n_blocks = n_blocks
        self.block_sizes = block_sizes

    def _sizes(self, n: int) -> list[int]:
        n = at_least(n, 2, self)
        if self.block_sizes is None:
            # Two or three samples form one block, because floor(sqrt(n)) is 1.
            b = self._count("n_blocks", n, isqrt(n), n // 2)
            size, rest = n // b, n % b
            return [size] * b + ([rest] if rest >= 2 else [])
        given = np.asarray(self.block_sizes, dtype=object)
        integers = given.ndim == 1 and all(isinstance(size, Integral) for size in given)
        # In integers of Python, whose sum does not overflow.
        values = [int(size) for size in given] if integers else []
        if not values or min(values) < 2 or sum(values) > n:
            raise ValueError(
                f"block_sizes == {shown(self.block_sizes)}, must be integers of at "
                f"least 2 with a sum of at most the number of samples, {n}."
            )
        return values

    def n_unused(self, n: int) -> int:
        used = sum(self._sizes(n))
        return int(n) - used

    def regions(self, n: int) -> list[Region]:
        stops = np.cumsum([0, *self._sizes(n)]).tolist()
        return [square(start, stop, diagonal=False) for start, stop in pairwise(stops)]


class Cross(StreamedDesign):
    """All pairs between two parts of the rows, for the X-statistic.

    It is asymptotically normal [1]_, so p-values need no resampling. It takes O(n^2)
    time.

    Read more in the :ref:`User Guide <designs>`.

    Parameters
    ----------
    n_first : "half" or int, default="half"
        Rows in the first part. "half" is floor(n / 2).

    Attributes
    ----------
    complete, upper : bool
        See :class:`Design`.

    See Also
    --------
    CompleteU : Has more pairs.

    References
    ----------
    .. [1] I. Kim and A. Ramdas, "Dimension-agnostic inference using cross
       U-statistics", Bernoulli 30, 2024.

    Examples
    --------
    >>> from skdiscrepancy.designs import Cross
    >>> Cross().size(10)
    25
    """

    def __init__(self, *, n_first: str | int = "half"):
        self.n_first = n_first

    def regions(self, n: int) -> list[Region]:
        n = at_least(n, 2, self)
        first = self._count("n_first", n, n // 2, n - 1)
        return [Region(0, first, first, n)]


class RandomPairs(StreamedDesign):
    """Pairs i < j drawn at random, for the R-statistic.

    This incomplete U-statistic [1]_ takes O(n + n_pairs) time.

    Read more in the :ref:`User Guide <designs>`.

    Parameters
    ----------
    n_pairs : "sqrt" or int, default="sqrt"
        Number of pairs. "sqrt" is n floor(sqrt(n)), at most all.
    replace : bool, default=False
        Draw with replacement.

    Attributes
    ----------
    complete, upper : bool
        See :class:`Design`.

    See Also
    --------
    Subdiagonals : Draws nothing.

    References
    ----------
    .. [1] G. Blom, "Some properties of incomplete U-statistics", Biometrika 63, 1976.

    Examples
    --------
    >>> from skdiscrepancy.designs import RandomPairs
    >>> rows, cols = RandomPairs(n_pairs=4).pairs(10, random_state=0)
    >>> list(zip(rows.tolist(), cols.tolist()))
    [(0, 1), (0, 4), (6, 7), (8, 9)]
    """

    def __init__(self, *, n_pairs: str | int = "sqrt", replace: bool = False):
        self.n_pairs = n_pairs
        self.replace = replace

    def size(self, n: int) -> int:
        n = at_least(n, 2, self)
        check_flag(self.replace, "replace")
        population = n * (n - 1) // 2
        most = None if self.replace else population
        return self._count("n_pairs", n, min(n * isqrt(n), population), most)

    def _parts(self, n: int, random_state: RandomStateLike) -> Iterator[Part]:
        size, generator, n = self.size(n), generator_of(random_state), int(n)
        # Row i holds n - 1 - i ranks, starting at offsets[i].
        offsets = np.concatenate(([0], np.cumsum(np.arange(n - 1, 0, -1))))
        shifts = np.arange(1, n + 1) - offsets
        for first, last, ranks in draw_ranks(offsets, size, self.replace, generator):
            bounds = np.searchsorted(ranks, offsets[first : last + 1])
            yield np.arange(first, last), bounds, shifts[first:last], ranks


DESIGNS = {
    "v": CompleteV,
    "u": CompleteU,
    "l": Linear,
    "d": Subdiagonals,
    "b": Blocks,
    "x": Cross,
    "r": RandomPairs,
}


def check_design(design: Any) -> Design:
    """Return the design object for a letter or a design object.

    Read more in the :ref:`User Guide <designs>`.

    Parameters
    ----------
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design
        Design, or a letter. In this order, letters stand for :class:`CompleteV`,
        :class:`CompleteU`, :class:`Linear`, :class:`Subdiagonals`, :class:`Blocks`,
        :class:`Cross` and :class:`RandomPairs`.

    Returns
    -------
    design : Design
        Object.

    See Also
    --------
    CompleteU : The default.

    Examples
    --------
    >>> from skdiscrepancy.designs import check_design
    >>> check_design("d")
    Subdiagonals()
    """
    if isinstance(design, str) and design in DESIGNS:
        return DESIGNS[design]()
    if isinstance(design, Design):
        return design
    names = [*DESIGNS, *(f"{made.__name__}()" for made in DESIGNS.values())]
    raise ValueError(
        f"design == {shown(design)}, must be one of {sorted(DESIGNS)} or a design "
        f"object of skdiscrepancy.designs.{did_you_mean(design, names)}"
    )


__all__ = [*(d.__name__ for d in (Design, *DESIGNS.values())), "check_design"]
make_public(__name__)
