"""HSIC of all pairs of many variables, by low-rank factors.

The factor of each variable is computed once. A pair of variables of ranks r and s takes
O(n r s) time. Kernels without a complete factor, such as the Laplace kernel on many
rows, use the sums of the engine, in sorted order or over tiles.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config

from skdiscrepancy._base import check_finite
from skdiscrepancy._data import shown
from skdiscrepancy._engine import (
    Factor,
    Source,
    factor_of,
    kernel_source,
    progress,
    run_all,
)
from skdiscrepancy._hsic._cka_terms import Terms, hsic_terms, positive_part
from skdiscrepancy._nulls import gamma_pvalue, invariants

# Rank of a factor in estimates of memory.
USUAL_RANK = 128
# Norms of centred matrices below this fraction of the trace are rounding errors.
CONSTANT = 1e-12
# An unbiased HSIC below this fraction of the biased one is a rounding error.
ROUNDING = 1e-12


class KernelColumn(NamedTuple):
    """The rows of a variable, and its kernel with a number as bandwidth."""

    rows: np.ndarray
    kernel: Any


class MatrixTerms(NamedTuple):
    """HSIC of all pairs of variables on the left and on the right.

    Attributes
    ----------
    cross : ndarray of shape (n_left, n_right)
        HSIC of each pair.
    own_left : ndarray of shape (n_left,)
        HSIC of each variable with itself, 0 for a constant.
    own_right : ndarray of shape (n_right,)
        HSIC of each variable with itself.
    pvalues : ndarray of shape (n_left, n_right)
        p-value of each pair.
    """

    cross: np.ndarray
    own_left: np.ndarray
    own_right: np.ndarray
    pvalues: np.ndarray


class _Side(NamedTuple):
    """What is known of one variable, whatever the other variable of a pair is.

    Attributes
    ----------
    factor : Factor
        Centred factor of the Gram matrix.
    diagonal : ndarray of shape (n,)
        Diagonal of the centred matrix.
    constant : bool
        Whether the kernel does not distinguish the rows.
    invariants : Invariants
        Numbers that determine the moments of permutations.
    """

    factor: Factor
    diagonal: np.ndarray
    constant: bool
    invariants: Any


def dependence_matrix(
    left: list[KernelColumn],
    right: list[KernelColumn] | None,
    *,
    unbiased: bool,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> MatrixTerms:
    """Compute HSIC and p-values of all pairs of variables.

    The p-values are tails of the gamma distribution with the first three moments of the
    V-statistic over all permutations, as in `gamma_test`. Factors are kept as far as
    the working memory of scikit-learn allows, and else computed again for each batch of
    other variables.

    Parameters
    ----------
    left : list of KernelColumn
        Variables.
    right : list of KernelColumn or None
        Variables on the same rows. None for all pairs of variables on the left.
    unbiased : bool
        U-statistics, or V-statistics. The p-values do not depend on it.
    n_jobs : int or None, default=None
        Number of threads.
    verbose : int, default=0
        Whether the progress is shown.

    Returns
    -------
    terms : MatrixTerms
        The matrices are symmetric if `right` is None.
    """
    symmetric = right is None
    variables = [*left, *(right or [])]
    n_left, n = len(left), len(left[0].rows)
    first = range(n_left)
    second = first if right is None else range(n_left, len(variables))
    values, pvalues = np.zeros((2, len(variables), len(variables)))
    own, complete = np.zeros((2, len(variables)))
    # Threads share the factors.
    options: dict[str, Any] = {
        "n_jobs": n_jobs,
        "verbose": verbose,
        "require": "sharedmem",
    }

    def sides_of(batch: range) -> list[_Side]:
        members = [variables[v] for v in batch]
        return list(run_all(members, _side, **options))

    batches = list(_batches(first, second, n))
    with progress("pairs of columns", 3 * len(batches), verbose) as line:
        for batch, others in batches:
            of_batch = sides_of(batch)
            of_others = of_batch if others == batch else sides_of(others)
            for places, sides in ((batch, of_batch), (others, of_others)):
                own[places] = [_own(side, unbiased) for side in sides]
                complete[places] = [side.factor.complete for side in sides]
            line.advance()
            row_of = _RowTask(of_others, unbiased, symmetric and others == batch)
            rows = run_all(list(enumerate(of_batch)), row_of, **options)
            for a, (products, tails) in zip(batch, rows, strict=True):
                values[a, others], pvalues[a, others] = products, tails
            line.advance()
        if symmetric:
            values, pvalues = _mirrored(values), _mirrored(pvalues)
        line.step = len(batches)
        # Kernels without a complete factor have exact sums instead.
        pairs = _rough_pairs(np.flatnonzero(complete == 0).tolist(), first, second)
        if pairs:
            terms = _exact_terms(
                variables, pairs, unbiased=unbiased, n_jobs=n_jobs, verbose=verbose
            )
            positive = positive_part(*terms)
            for (i, j), value, part in zip(pairs, terms.values, positive, strict=True):
                values[i, j] = values[j, i] = value
                if i == j:
                    own[i] = part
        line.advance()
    cross = np.ix_(first, second)
    check_finite(values)
    return MatrixTerms(values[cross], own[first], own[second], pvalues[cross])


def _side(column: KernelColumn) -> _Side:
    """Return what is known of one variable."""
    rows, kernel = column
    every = np.arange(len(rows))
    # Numbers that are not finite raise an error later, without a warning before it.
    with np.errstate(all="ignore"):
        factor = factor_of(rows, kernel)
        trace = np.abs(kernel_source([kernel], rows).aligned(every, every)).sum()
        check_finite(np.array([trace, factor.norm]))
        if not factor.complete and factor.norm == 0:
            raise ValueError(
                f"kernel == {shown(kernel)}, must be positive definite, but some "
                "values k(x, x) are negative."
            )
        constant = factor.norm <= CONSTANT * trace
        diagonal = np.einsum("ri,ri->i", factor.rows, factor.rows)
        known = None if constant else invariants(factor.rows)
    return _Side(factor, diagonal, constant, known)


def _own(side: _Side, unbiased: bool) -> float:
    """Return HSIC of a variable with itself, 0 if it is a rounding error."""
    if side.constant:
        return 0.0
    n = len(side.diagonal)
    product = side.factor.norm**2
    value = _hsic(product, side.diagonal, side.diagonal, n, unbiased)
    return value if value > ROUNDING * product / n**2 else 0.0


def _hsic(
    product: float, a: np.ndarray, b: np.ndarray, n: int, unbiased: bool
) -> float:
    """Return HSIC from the inner product of centred matrices and their diagonals.

    The rows of both matrices sum to zero, so the sums of their off-diagonal entries are
    sums over the diagonals a and b. The U-statistic is Equation 5 of Song et al. (2012)
    in these sums.
    """
    if not unbiased:
        return product / n**2
    both = float(a @ b)
    total = product - both + a.sum() * b.sum() / ((n - 1) * (n - 2))
    return (total - 2 * both / (n - 2)) / (n * (n - 3))


class _RowTask:
    """HSIC and p-values of one variable with all others of a batch."""

    def __init__(self, others: list[_Side], unbiased: bool, symmetric: bool):
        self.others = others
        self.unbiased = unbiased
        self.symmetric = symmetric
        self.rows = np.concatenate([side.factor.rows for side in others])
        ends = np.cumsum([len(side.factor.rows) for side in others])
        self.starts = np.append(0, ends)

    def __call__(self, task: tuple[int, _Side]) -> tuple[np.ndarray, np.ndarray]:
        position, side = task
        n = len(side.diagonal)
        begin = position if self.symmetric else 0
        values, pvalues = np.zeros(len(self.others)), np.ones(len(self.others))
        rows = self.rows[self.starts[begin] :]
        squares = np.square(side.factor.rows @ rows.T).sum(axis=0)
        for j in range(begin, len(self.others)):
            other = self.others[j]
            place = self.starts[j : j + 2] - self.starts[begin]
            product = float(squares[slice(*place)].sum())
            values[j] = _hsic(product, side.diagonal, other.diagonal, n, self.unbiased)
            if not (side.constant or other.constant):
                pvalues[j] = gamma_pvalue(product, side.invariants, other.invariants)
        return values, pvalues


def _batches(first: range, second: range, n: int) -> Iterator[tuple[range, range]]:
    """Yield pairs of batches of variables whose factors fit into the working memory."""
    room = get_config()["working_memory"] * 2**20
    size = max(1, int(room // (2 * 8 * USUAL_RANK * n)))
    for start in range(first.start, first.stop, size):
        batch = range(start, min(start + size, first.stop))
        begin = start if second == first else second.start
        for other in range(begin, second.stop, size):
            yield batch, range(other, min(other + size, second.stop))


def _mirrored(values: np.ndarray) -> np.ndarray:
    """Return a symmetric matrix from its upper half."""
    return np.triu(values) + np.triu(values, 1).T


def _rough_pairs(
    rough: list[int], first: range, second: range
) -> list[tuple[int, int]]:
    """Return all pairs with a variable without a complete factor, each pair once."""
    known = set(rough)
    pairs = [(v, v) for v in rough]
    pairs += [
        (i, j)
        for i in first
        for j in second
        if (i in known or j in known) and (i < j or second != first)
    ]
    return pairs


def _exact_terms(
    variables: list[KernelColumn], pairs: list[tuple[int, int]], **options: Any
) -> Terms:
    """Return HSIC of some pairs by exact sums, in sorted order or over tiles."""
    sources: list[Source] = [kernel_source([c.kernel], c.rows) for c in variables]
    return hsic_terms(sources, pairs, len(variables[0].rows), **options)
