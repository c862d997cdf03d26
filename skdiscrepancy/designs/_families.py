"""The designs V, U, L, D, B, X and R of the paper."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import isqrt
from typing import Any

import numpy as np

from skdiscrepancy._data import RandomStateLike, check_flag, generator_of, shown
from skdiscrepancy.designs._base import (
    BlockDesign,
    Design,
    Pairs,
    Region,
    StreamedDesign,
    at_least,
    check_count,
    check_max_pairs,
    square,
)
from skdiscrepancy.designs._draws import draw_ranks


class CompleteV(BlockDesign):
    """All ordered pairs with the diagonal, for the V-statistic.

    The V-statistic [1]_ is biased. It is never negative if the core is positive
    definite. It takes O(n^2) time.

    Read more in the :ref:`User Guide <designs>`.

    Attributes
    ----------
    complete : bool
        Class attribute, True. The design uses every pair.
    biased : bool
        Class attribute, True. The design contains the pairs (i, i).
    upper : bool
        Class attribute, False. The pairs (i, j) and (j, i) are both in the design.

    See Also
    --------
    CompleteU : Unbiased design without the diagonal.

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


class CompleteU(BlockDesign):
    """All ordered pairs without the diagonal, for the U-statistic.

    The U-statistic is unbiased, and no other unbiased estimator has a smaller variance
    [1]_. It can be negative. It takes O(n^2) time. This design is the default of the
    estimators.

    Read more in the :ref:`User Guide <designs>`.

    Attributes
    ----------
    complete : bool
        Class attribute, True. The design uses every pair.
    upper : bool
        Class attribute, False. The pairs (i, j) and (j, i) are both in the design.

    See Also
    --------
    CompleteV : Biased design with the diagonal.
    Subdiagonals : Faster design with fewer pairs, for large samples.

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

    The design has floor(n / 2) pairs and takes O(n) time ([1]_, Lemma 14). It is the
    fastest and least precise design. If n is odd, the last sample is in no pair.

    Read more in the :ref:`User Guide <designs>`.

    Attributes
    ----------
    complete : bool
        Class attribute, False. The design runs on a one-sample second-order core.
    upper : bool
        Class attribute, True. A pair (i, j) also stands for (j, i).

    See Also
    --------
    Subdiagonals : More precise design, still fast for large samples.
    RandomPairs : Design whose pairs are drawn at random.

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

    def chunks(
        self, n: int, max_pairs: int, random_state: RandomStateLike = None
    ) -> Iterator[Pairs]:
        size, max_pairs = self.size(n), check_max_pairs(max_pairs)
        for start in range(0, size, max_pairs):
            rows = 2 * np.arange(start, min(start + max_pairs, size))
            yield rows, rows + 1


class Subdiagonals(StreamedDesign):
    """The first subdiagonals of the core matrix, for the D-statistic.

    The design consists of the pairs (i, i + j) for j = 1, ..., r [1]_. It takes O(r n)
    time.

    Read more in the :ref:`User Guide <designs>`.

    Parameters
    ----------
    n_subdiagonals : "sqrt" or int, default="sqrt"
        Number r of subdiagonals, from 1 to n - 1. More subdiagonals make the statistic
        slower and more precise. "sqrt" means floor(sqrt(n)).

    Attributes
    ----------
    complete : bool
        Class attribute, False. The design runs on a one-sample second-order core.
    upper : bool
        Class attribute, True. A pair (i, j) also stands for (j, i).

    See Also
    --------
    Blocks : Design with all pairs within blocks of samples.
    RandomPairs : Design whose pairs are drawn at random.
    Linear : Design with the fewest pairs.

    References
    ----------
    .. [1] A. Schrab, I. Kim, B. Guedj and A. Gretton, "Efficient aggregated kernel
       tests using incomplete U-statistics", NeurIPS 2022.

    Examples
    --------
    >>> from skdiscrepancy.designs import Subdiagonals
    >>> Subdiagonals(n_subdiagonals=3).size(10)
    24
    """

    def __init__(self, *, n_subdiagonals: str | int = "sqrt"):
        self.n_subdiagonals = n_subdiagonals

    def _order(self, n: int) -> int:
        n = at_least(n, 2, self)
        return check_count(
            self.n_subdiagonals, "n_subdiagonals", "sqrt", isqrt(n), n - 1, n
        )

    def size(self, n: int) -> int:
        r, n = self._order(n), int(n)
        return r * n - r * (r + 1) // 2

    def chunks(
        self, n: int, max_pairs: int, random_state: RandomStateLike = None
    ) -> Iterator[Pairs]:
        r = self._order(n)
        step = max(1, check_max_pairs(max_pairs) // r)
        shifts = np.arange(1, r + 1)
        for start in range(0, n - 1, step):
            rows = np.arange(start, min(start + step, n - 1))
            cols = (rows[:, np.newaxis] + shifts).ravel()
            rows = np.repeat(rows, r)
            if cols[-1] >= n:
                kept = cols < n
                rows, cols = rows[kept], cols[kept]
            yield rows, cols


class Blocks(BlockDesign):
    """All pairs within consecutive blocks of samples, for the B-statistic.

    The time is proportional to the sum of the squared block sizes [1]_. The diagonal is
    left out.

    If `n_blocks` does not divide n, each block has floor(n / n_blocks) samples. The
    remaining samples form one more block. A single remaining sample is in no pair.

    Read more in the :ref:`User Guide <designs>`.

    Parameters
    ----------
    n_blocks : "sqrt" or int, default="sqrt"
        Number of equal blocks, from 1 to n / 2. Fewer blocks make the statistic slower
        and more precise. "sqrt" means floor(sqrt(n)). Ignored if you set `block_sizes`.
    block_sizes : array-like of int or None, default=None
        Number of samples in each block. Each block has at least 2 samples, and all
        blocks together have at most n. Samples after the last block are in no pair.

    Attributes
    ----------
    complete : bool
        Class attribute, False. The design runs on a one-sample second-order core.
    upper : bool
        Class attribute, False. The pairs (i, j) and (j, i) are both in the design.

    See Also
    --------
    Subdiagonals : Design with a similar number of pairs, near the diagonal.
    CompleteU : Design with all pairs of distinct samples.

    References
    ----------
    .. [1] W. Zaremba, A. Gretton and M. Blaschko, "B-test: A non-parametric, low
       variance kernel two-sample test", NeurIPS 2013.

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
            b = check_count(self.n_blocks, "n_blocks", "sqrt", isqrt(n), n // 2, n)
            size, rest = n // b, n % b
            return [size] * b + ([rest] if rest >= 2 else [])
        try:
            sizes = np.asarray(self.block_sizes)
            are_integers = sizes.ndim == 1 and sizes.dtype.kind in "iu"
        except ValueError:
            # Lists of different lengths.
            are_integers = False
        # In integers of Python, whose sum does not overflow.
        values = sizes.tolist() if are_integers else []
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


class Cross(BlockDesign):
    """All pairs between two parts of the samples, for the X-statistic.

    The design consists of the pairs (i, j) with i among the first n_1 samples and j
    among the other samples. It takes O(n_1 (n - n_1)) time.

    The studentised X-statistic is asymptotically normal [1]_, so you can get a p-value
    without resampling.

    Read more in the :ref:`User Guide <designs>`.

    Parameters
    ----------
    n_first : "half" or int, default="half"
        Number n_1 of samples in the first part, from 1 to n - 1. "half" means
        floor(n / 2).

    Attributes
    ----------
    complete : bool
        Class attribute, False. The design runs on a one-sample second-order core.
    upper : bool
        Class attribute, True. A pair (i, j) also stands for (j, i).

    See Also
    --------
    CompleteU : Design with all pairs of distinct samples.
    Linear : Design with fewer pairs and an asymptotically normal statistic.

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
        first = check_count(self.n_first, "n_first", "half", n // 2, n - 1, n)
        return [Region(0, first, first, n)]


class RandomPairs(StreamedDesign):
    """Pairs i < j drawn at random, for the R-statistic.

    The R-statistic is an incomplete U-statistic [1]_ [2]_. To use the same pairs in
    every run, set `random_state` of the estimator.

    The design takes O(n + n_pairs) time, and memory for n_pairs integers. If you ask
    for more than 2^27 pairs, they are drawn in parts to bound the memory. All
    n(n - 1)/2 pairs are listed only if you ask for more than half of them.

    Read more in the :ref:`User Guide <designs>`.

    Parameters
    ----------
    n_pairs : "sqrt" or int, default="sqrt"
        Number of pairs. More pairs make the statistic slower and more precise. "sqrt"
        means n floor(sqrt(n)), or all n(n - 1)/2 pairs if there are fewer.
    replace : bool, default=False
        Whether to draw with replacement. A pair that is drawn twice counts twice.

    Attributes
    ----------
    complete : bool
        Class attribute, False. The design runs on a one-sample second-order core.
    upper : bool
        Class attribute, True. A pair (i, j) also stands for (j, i).

    See Also
    --------
    Subdiagonals : Design with a similar number of pairs, which are fixed.
    CompleteU : Design with all pairs of distinct samples.

    References
    ----------
    .. [1] A. J. Lee, "U-Statistics: Theory and Practice", Marcel Dekker, 1990.
    .. [2] G. Blom, "Some properties of incomplete U-statistics", Biometrika 63, 1976.

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
        return check_count(
            self.n_pairs,
            "n_pairs",
            "sqrt",
            min(n * isqrt(n), population),
            None if self.replace else population,
            n,
        )

    def chunks(
        self, n: int, max_pairs: int, random_state: RandomStateLike = None
    ) -> Iterator[Pairs]:
        size, generator, n = self.size(n), generator_of(random_state), int(n)
        max_pairs = check_max_pairs(max_pairs)
        # Row i holds n - 1 - i ranks, starting at offsets[i].
        offsets = np.concatenate(([0], np.cumsum(np.arange(n - 1, 0, -1))))
        for row, last, ranks in draw_ranks(offsets, size, self.replace, generator):
            bounds = np.searchsorted(ranks, offsets[row : last + 1])
            first = row
            while row < last:
                begin = row - first
                stop = int(np.searchsorted(bounds, bounds[begin] + max_pairs, "right"))
                end = min(max(stop - 1, begin + 1), last - first)
                lengths = np.diff(bounds[begin : end + 1])
                rows = np.repeat(np.arange(row, first + end), lengths)
                if rows.size:
                    inside = slice(bounds[begin], bounds[end])
                    yield rows, ranks[inside] - offsets[rows] + rows + 1
                row = first + end


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

    The letters name the statistics of [1]_.

    Read more in the :ref:`User Guide <designs>`.

    Parameters
    ----------
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design
        Letter of a design, or a design object.

    Returns
    -------
    design : Design
        The design object. For a letter, it has default parameters.

    See Also
    --------
    Design : Base class for your own design.
    skdiscrepancy.plotting.DesignDisplay : Picture of the pairs of a design.

    References
    ----------
    .. [1] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

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
    raise ValueError(
        f"design == {shown(design)}, must be one of {sorted(DESIGNS)} or a design "
        "object of skdiscrepancy.designs."
    )
