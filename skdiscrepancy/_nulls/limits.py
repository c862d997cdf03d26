"""Null distribution of HSIC from the first three moments of all permutations of y.

The statistic is <A, P B P'> for centred matrices A and B and a random permutation P.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.fft import irfft, rfft
from scipy.special import gammaincc, gammaln, ndtr
from scipy.stats import pearson3

from skdiscrepancy._gram.factors import Factor, LazyFactors, inner_product
from skdiscrepancy._nulls.pvalues import TestResult, rank_pvalue
from skdiscrepancy._statistics.second_order import check_finite

# The sum of third powers uses at most MAX_AXES eigenvectors, and none whose eigenvalue
# is below NEGLIGIBLE times the trace. For few rows, up to MAX_SQUARE, it is exact.
NEGLIGIBLE = 1e-6
MAX_AXES = 96
MAX_SQUARE = 4096
# Skewness below which a normal distribution replaces the gamma distribution.
NO_SKEWNESS = 1e-4
# A variance below this fraction of its terms is a rounding error.
NO_VARIANCE = 1e-12
# Numbers of a factor that are compared at a time.
BLOCK_NUMBERS = 2**18
# Entries of matrices that differ by less than this fraction of the largest are equal.
EQUAL = 1e-9


class Invariants(NamedTuple):
    """The numbers of a centred matrix that determine the moments.

    First, the centring matrix times `mean_part` = tr(A) / (n - 1) is subtracted from A.
    This shifts the statistic by a constant and leaves a matrix of trace zero, whose
    moments are central moments. The other numbers belong to this matrix A with diagonal
    d: tr(A^2), sum d_i^2, tr(A^3), sum d_i^3, sum a_ij^3, d' diag(A^2) and d' A d.
    `classes` numbers the rows. Exchanging rows of one class does not change the matrix.
    It is None for rows that are read by blocks.
    """

    n: int
    classes: np.ndarray | None
    mean_part: float
    T2: float
    S2: float
    T3: float
    S3: float
    U: float
    R: float
    B: float


def invariants(G: np.ndarray) -> Invariants:
    """Compute the invariants of A = G' G, for a centred factor G."""
    rank, n = G.shape
    if 2 * rank >= n and n <= MAX_SQUARE:
        return _invariants_of_matrix(G.T @ G)
    M = G @ G.T
    cubes, classes = _sum_of_cubes(G, M), _equal_columns(G)
    return _invariants_of_sums(M, n, _sums_of_rows(M, n, G), cubes, classes)


def lazy_invariants(table: LazyFactors) -> list[Invariants | None]:
    """Compute the invariants of variables that are read by blocks, in one pass."""
    n, sums = table.n, table.sum(_strip_sums, table.n, table.own)
    return [
        _invariants_of_sums(M, n, own[:6], _sum_of_squares(own[6:])) if a else None
        for a, M, own in zip(table.norms, table.own, sums, strict=True)
    ]


def _strip_sums(read: Any, roots: Any, index: Any, n: int, own: Any) -> list[Any]:
    """Return what the invariants of each variable need of some rows."""
    both = zip(own, map(read, range(len(own))), strict=True)
    return [[*_sums_of_rows(M, n, G), *_axis_products(M, G)] for M, G in both]


def _sums_of_rows(M: np.ndarray, n: int, G: np.ndarray) -> list[Any]:
    """Return sums over some of n rows for the invariants, with M = G G' of all rows."""
    diagonal, c = np.einsum("ri,ri->i", G, G), np.trace(M) / (n - 1)
    # Of A - c H, where H has 1 - 1/n on its diagonal and -1/n elsewhere.
    d, raised = diagonal - c * (1 - 1 / n), diagonal + c / n
    square = np.einsum("ri,ri->i", M @ G, G) - 2 * c * diagonal + c**2 * (1 - 1 / n)
    gaps = d**3 - raised**3
    return [d @ d, (d**3).sum(), d @ square, gaps.sum(), d.sum(), G @ d]


def _invariants_of_sums(
    M: np.ndarray, n: int, sums: Any, cubes: float, classes: np.ndarray | None = None
) -> Invariants:
    """Compute the invariants of A from sums over rows, and of third powers of A."""
    S2, S3, R, gaps, total, Gd = sums
    trace, T2 = np.trace(M), np.square(M).sum()
    T3, c = np.einsum("ab,ab->", M @ M, M), trace / (n - 1)
    U = cubes + 3 * (c / n) * T2 + c**3 / n + gaps
    B = np.square(Gd).sum() - c * (S2 - total**2 / n)
    T3 += 3 * c * (c * trace - T2) - c**3 * (n - 1)
    found = c, T2 - c * trace, S2, T3, S3, U, R, B
    return Invariants(n, classes, *map(float, found))


def _invariants_of_matrix(A: np.ndarray) -> Invariants:
    """Compute the invariants of a centred matrix from its entries.

    If A is nearly a multiple of the centring matrix, as for narrow kernels and for
    labels that are nearly all different, the subtraction cancels most of A. The entries
    of the difference are still accurate, but sums over A are not.
    """
    n = len(A)
    c = np.trace(A) / (n - 1)
    E = A + c / n
    E[np.diag_indices(n)] -= c
    d, squares = np.diagonal(E), np.square(E)
    square, T3, U = squares.sum(axis=1), np.vdot(E @ E, E), np.vdot(squares, E)
    sums = c, square.sum(), d @ d, T3, (d**3).sum(), U, d @ square, d @ E @ d
    return Invariants(n, _twins(A), *map(float, sums))


def _equal_columns(G: np.ndarray) -> np.ndarray:
    """Return classes of equal columns of a factor."""
    # Equal columns are neighbours if columns are sorted by a combination of the rows.
    order = np.argsort(np.cos(np.arange(1, len(G) + 1)) @ G, kind="stable")
    gaps = np.zeros(len(order) - 1)
    # Some rows at a time, because a factor can be large.
    step = max(1, BLOCK_NUMBERS // len(order))
    for start in range(0, len(G), step):
        ordered = G[start : start + step, order]
        steps = np.abs(ordered[:, 1:] - ordered[:, :-1])
        np.maximum(gaps, steps.max(axis=0), out=gaps)
    size = max(G.max(initial=0.0), -G.min(initial=0.0))
    return _classes_in_order(order, gaps > EQUAL * size)


def _twins(A: np.ndarray) -> np.ndarray:
    """Return classes of rows whose exchange does not change a symmetric matrix.

    Equal rows are twins, and so are rows of labels that occur once. Twins that are not
    neighbours in the order of the rows by size may be missed.
    """
    n, tolerance = len(A), EQUAL * np.abs(A).max()
    d, size = np.diagonal(A), np.square(A).sum(axis=1)
    weights = np.cos(np.arange(1, n + 1))
    order = np.lexsort((A @ weights, np.round(size / max(size.max(), 1e-300) / EQUAL)))
    first, second = order[:-1], order[1:]
    gaps = np.abs(A[first] - A[second])
    every = np.arange(n - 1)
    gaps[every, first] = gaps[every, second] = np.abs(d[first] - d[second])
    return _classes_in_order(order, gaps.max(axis=1) > tolerance)


def _classes_in_order(order: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Number the classes of rows. `new` marks where the next class begins."""
    classes = np.empty(len(order), dtype=np.int64)
    classes[order] = np.concatenate(([0], np.cumsum(new)))
    return classes


def least_pvalue(a: Invariants, b: Invariants) -> float:
    """Return a lower bound for p-values over all permutations.

    Permutations within the classes of a matrix do not change the statistic. So the
    p-value is at least the probability of the contingency table of both classifications
    in Fisher's exact test. This is 1 / n! without classes, and 2 / (n (n - 1)) if two
    labels agree and all others are different.
    """

    def log_orders(counts: np.ndarray) -> float:
        return float(gammaln(1.0 + counts).sum())

    if a.classes is None or b.classes is None:
        return 0.0
    bound = log_orders(np.bincount(a.classes)) + log_orders(np.bincount(b.classes))
    if max(a.classes.max(), b.classes.max()) < a.n - 1:
        # If all rows differ in one classification, they differ in both together.
        table = a.classes * a.n + b.classes
        bound -= log_orders(np.unique(table, return_counts=True)[1])
    return float(np.exp(bound - gammaln(1.0 + a.n)))


def _sum_of_cubes(G: np.ndarray, M: np.ndarray) -> float:
    """Return the sum of the third powers of the entries of G' G; M = G G'."""
    rank, n = G.shape
    if n < min(rank**2, MAX_SQUARE):
        blocks = (G[:, i : i + 256].T @ G for i in range(0, n, 256))
        return float(sum(np.einsum("ij,ij,ij->", A, A, A) for A in blocks))
    return _sum_of_squares(_axis_products(M, G))


def _sum_of_squares(parts: Iterable[np.ndarray]) -> float:
    """Return the sum of the squares of all entries."""
    return float(sum(np.square(part).sum() for part in parts))


def _axis_products(M: np.ndarray, G: np.ndarray) -> Iterator[np.ndarray]:
    """Yield sums over rows of products of three axes, whose squares sum to the cubes.

    The axes are the main eigenvectors of M, which is G G' of all rows.
    """
    values, vectors = np.linalg.eigh(M)
    kept = np.flatnonzero(values > NEGLIGIBLE * values.sum())[-MAX_AXES:]
    axes = vectors[:, kept].T @ G
    return ((axes * axis) @ axes.T for axis in axes)


def permutation_moments(a: Invariants, b: Invariants) -> tuple[float, float, float]:
    """Return mean, variance and third central moment over all permutations.

    The moments are exact, by the formulas of [1]_, where all terms with a trace vanish.

    References
    ----------
    .. [1] F. Kazi-Aoual et al., "Refined approximations to permutation tests for
       multivariate inference", Computational Statistics & Data Analysis 20, 1995.
    """
    n = a.n
    mean = (n - 1) * a.mean_part * b.mean_part
    variance = 2 * a.T2 * b.T2 / ((n + 1) * (n - 2)) + (
        (n * (n + 1) * a.S2 - 2 * (n - 1) * a.T2)
        * (n * (n + 1) * b.S2 - 2 * (n - 1) * b.T2)
        / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    )

    def both(first: str, second: str) -> float:
        orders = (a, b), (b, a)
        return sum(getattr(u, first) * getattr(v, second) for u, v in orders)

    total = n**2 * (n + 1) * (n**2 + 15 * n - 4) * a.S3 * b.S3
    total += 4 * (n**4 - 8 * n**3 + 19 * n**2 - 4 * n - 16) * a.U * b.U
    total += 24 * (n**2 - n - 4) * both("U", "B")
    total += 6 * (n**4 - 8 * n**3 + 21 * n**2 - 6 * n - 24) * a.B * b.B
    total += 12 * (n**4 - n**3 - 8 * n**2 + 36 * n - 48) * a.R * b.R
    total += 24 * (n**3 - 3 * n**2 - 2 * n + 8) * both("R", "U")
    total += 24 * (n**3 - 2 * n**2 - 3 * n + 12) * both("R", "B")
    total -= 4 * n * (n - 1) * (n**2 - n + 4) * both("U", "S3")
    total -= 6 * n * (n - 1) * (n**2 - n + 4) * both("B", "S3")
    total -= 12 * n * (n - 1) ** 2 * (n + 4) * both("R", "S3")
    total += 16 * n * (n - 1) * (n - 2) * both("T3", "S3")
    total += 8 * (n**3 - 9 * n**2 + 26 * n - 22) * a.T3 * b.T3
    total -= 8 * (3 * n**2 - 15 * n + 16) * both("T3", "U")
    total -= 8 * (3 * n**2 - 15 * n + 24) * both("T3", "B")
    total -= 8 * (n - 2) * (3 * n**2 - 15 * n + 24) * both("T3", "R")
    third = total / (n * (n - 1) * (n - 2) * (n - 3) * (n - 4) * (n - 5))
    return mean, variance, third


class GammaLimit(NamedTuple):
    """The gamma distribution with the first three moments of the permutations.

    It is a shifted gamma distribution (Pearson's type III). If the permutations have a
    negative skewness, a normal distribution replaces it, because the mirrored gamma
    distribution ends before the largest statistic of the permutations. `least` is the
    smallest p-value.
    """

    mean: float
    deviation: float
    skewness: float
    least: float

    def pvalue(self, statistic: float) -> float:
        """Return the upper tail, but at least the smallest p-value of permutations."""
        z = (statistic - self.mean) / self.deviation
        if self.skewness < NO_SKEWNESS:
            tail = ndtr(-z)
        else:
            shape = 4 / self.skewness**2
            tail = gammaincc(shape, max(shape + 2 * z / self.skewness, 0))
        return float(np.clip(tail, max(self.least, np.finfo(float).tiny), 1.0))


def gamma_limit(a: Invariants | None, b: Invariants | None) -> GammaLimit | None:
    """Return the gamma distribution, or None if no permutation changes anything.

    A constant has no invariants.
    """
    if a is None or b is None:
        return None
    mean, variance, third = permutation_moments(a, b)
    # The terms of the variance cancel if all labels are different.
    terms = [v.T2 / v.n + v.mean_part**2 for v in (a, b)]
    if variance <= NO_VARIANCE * terms[0] * terms[1]:
        return None
    deviation = float(np.sqrt(variance))
    skewness = max(third / deviation**3, 0.0)
    return GammaLimit(mean, deviation, skewness, min(least_pvalue(a, b), 1.0))


def gamma_pvalue(statistic: float, a: Any, b: Any) -> float:
    """Return the tail of the gamma distribution, or 1 if it has no variance."""
    limit = gamma_limit(a, b)
    return 1.0 if limit is None else limit.pvalue(statistic)


def shift_pvalue(G: np.ndarray, F: np.ndarray, nearest: int) -> float:
    """Return the p-value of the V-statistic among cyclic shifts of the rows of F.

    Shifts by fewer than `nearest` rows are left out, because the rows of a series
    depend on their neighbours. All shifts of a product are one cross-correlation.
    """
    n, values = G.shape[1], np.zeros(G.shape[1])
    transformed = rfft(F, axis=1)
    for line in np.conj(rfft(G, axis=1)):
        values += np.square(irfft(line * transformed, n, axis=1)).sum(axis=0)
    shifted = values[nearest : n - nearest + 1]
    return rank_pvalue(np.append(values[0], shifted), values[0])


# The third moment divides by (n - 5).
MIN_ROWS = 7


def gamma_test(x: Factor, y: Factor, kernels: list[Any]) -> TestResult:
    """Test whether x and y are independent, by the V-statistic of one product.

    The mean, variance and skewness of the V-statistic over all permutations of y are
    known. The p-value is the tail of the gamma distribution with these moments. If a
    centred factor is not complete, the test uses a slightly different statistic.
    """
    n = x.rows.shape[1]
    product = inner_product(x.rows, y.rows)
    check_finite(np.array(product))
    pvalue, distribution = 1.0, None
    if min(x.norm, y.norm) > 1e-12 * n:
        limit = gamma_limit(invariants(x.rows), invariants(y.rows))
        if limit is not None:
            mean, deviation, skewness, _ = limit
            pvalue = limit.pvalue(product)
            distribution = pearson3(skewness, mean / n**2, deviation / n**2)
    return TestResult(
        statistic=product / n**2,
        pvalue=pvalue,
        null_distribution=np.empty(0),
        method="gamma",
        kernels=kernels,
        statistics=np.array([product / n**2]),
        pvalues=np.array([pvalue]),
        null_limit=distribution,
        chosen=None if distribution is None else 0,
    )
