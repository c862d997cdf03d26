"""Null distribution of HSIC: all permutations of y, by their first three moments.

The statistic is <A, P B P'> for centred matrices A and B and a random permutation P.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammainc, gammaincc, ndtr
from scipy.stats import pearson3

# In the sum of third powers, directions of eigenvalues below this part of the trace do
# not count, nor do more than so many; matrices of so few rows are taken whole.
NEGLIGIBLE = 1e-6
MAX_AXES = 96
MAX_SQUARE = 4096
# Skewness below which a gamma distribution is a normal one.
NO_SKEWNESS = 1e-4
# A variance that is so small a part of its terms is rounding.
NO_VARIANCE = 1e-12


class Invariants(NamedTuple):
    """What the moments need to know of a centred matrix.

    `mean_part` is tr(A) / (n - 1), the multiple of the centring matrix that is taken
    from A first: it shifts the statistic by a constant and leaves a matrix without
    trace, whose moments are central ones. The others are, for that matrix with
    diagonal d: tr(A^2), sum d_i^2, tr(A^3), sum d_i^3, sum a_ij^3, d' diag(A^2) and
    d' A d.
    """

    n: int
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
    n = G.shape[1]
    M = G @ G.T
    diagonal = np.einsum("ri,ri->i", G, G)
    diagonal_of_square = np.einsum("ri,ri->i", M @ G, G)
    trace, T2 = np.trace(M), np.square(M).sum()
    T3 = float(np.einsum("ab,ab->", M @ M, M))
    c = trace / (n - 1)
    # Of A - c H, where H has 1 - 1/n on its diagonal and -1/n elsewhere.
    d = diagonal - c * (1 - 1 / n)
    square = diagonal_of_square - 2 * c * diagonal + c**2 * (1 - 1 / n)
    raised = diagonal + c / n
    cubes = _sum_of_cubes(G, M) + 3 * (c / n) * T2 + c**3 / n
    return Invariants(
        n=n,
        mean_part=float(c),
        T2=float(T2 - c * trace),
        S2=float(d @ d),
        T3=float(T3 - 3 * c * T2 + 3 * c**2 * trace - c**3 * (n - 1)),
        S3=float((d**3).sum()),
        U=float(cubes + (d**3 - raised**3).sum()),
        R=float(d @ square),
        B=float(np.square(G @ d).sum() - c * (d @ d - d.sum() ** 2 / n)),
    )


def _sum_of_cubes(G: np.ndarray, M: np.ndarray) -> float:
    """Return the sum of the third powers of the entries of G' G; M = G G'."""
    rank, n = G.shape
    if n < min(rank**2, MAX_SQUARE):
        blocks = (G[:, i : i + 256].T @ G for i in range(0, n, 256))
        return float(sum(np.einsum("ij,ij,ij->", A, A, A) for A in blocks))
    values, vectors = np.linalg.eigh(M)
    kept = np.flatnonzero(values > NEGLIGIBLE * values.sum())[-MAX_AXES:]
    axes = vectors[:, kept].T @ G
    return float(sum(np.square((axes * axis) @ axes.T).sum() for axis in axes))


def permutation_moments(a: Invariants, b: Invariants) -> tuple[float, float, float]:
    """Return mean, variance and third central moment over all permutations.

    Exact, by the formulas of [1]_, in which all terms with a trace vanish here.

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
        return getattr(a, first) * getattr(b, second) + getattr(a, second) * getattr(
            b, first
        )

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
    """The gamma distribution with three moments of the permutations.

    Shifted, and mirrored if the skewness is negative: Pearson's type III.
    """

    mean: float
    deviation: float
    skewness: float

    def pvalue(self, statistic: float) -> float:
        """Return the upper tail, never 0."""
        z = (statistic - self.mean) / self.deviation
        if abs(self.skewness) < NO_SKEWNESS:
            tail = ndtr(-z)
        else:
            shape = 4 / self.skewness**2
            argument = max(shape + 2 * z / self.skewness, 0)
            tail = (gammaincc if self.skewness > 0 else gammainc)(shape, argument)
        return float(np.clip(tail, np.finfo(float).tiny, 1.0))

    def distribution(self, scale: float) -> Any:
        """Return the distribution of a multiple of the statistic, as scipy has it."""
        return pearson3(
            self.skewness, loc=scale * self.mean, scale=scale * self.deviation
        )


def gamma_limit(a: Invariants, b: Invariants) -> GammaLimit | None:
    """Return the gamma distribution, None where no permutation changes anything."""
    mean, variance, third = permutation_moments(a, b)
    # With labels that are all different the terms of the variance cancel.
    terms = [v.T2 / v.n + v.mean_part**2 for v in (a, b)]
    if variance <= NO_VARIANCE * terms[0] * terms[1]:
        return None
    deviation = float(np.sqrt(variance))
    return GammaLimit(mean, deviation, third / deviation**3)


def gamma_pvalue(statistic: float, a: Invariants, b: Invariants) -> float:
    """Return the tail of the gamma distribution, 1 where it has no variance."""
    limit = gamma_limit(a, b)
    return 1.0 if limit is None else limit.pvalue(statistic)
