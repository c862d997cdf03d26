"""The dependence of every pair of columns, as a table of CKA and p-values.

HSIC of all pairs of many variables, by low-rank factors.

The factor of each variable is computed once. A pair of variables of ranks r and s takes
O(n r s) time. Kernels without a complete factor, such as the Laplace kernel on many
rows, use the sums of the engine, in sorted order or over tiles.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn import get_config

from skdiscrepancy._data.arrays import (
    SparseRows,
    check_rows,
    kind_of_blocks,
    warn_of_other_index,
)
from skdiscrepancy._data.blocks import LazyRows, lazy_pair, lazy_rows
from skdiscrepancy._data.checks import RUN, shown, takes_parameters_of
from skdiscrepancy._data.frames import as_numbers, as_table, is_table
from skdiscrepancy._data.results import MatrixResult
from skdiscrepancy._estimators.base import check_correction
from skdiscrepancy._estimators.cka import (
    CKAEstimator,
    CKASettings,
    Variable,
    check_cka_params,
    cka,
    cka_of_terms,
    hsic_terms,
    norms_of,
    warn_of_constants,
)
from skdiscrepancy._gram.factors import (
    Factor,
    LazyFactors,
    SparseColumns,
    StackedFactors,
    batches,
)
from skdiscrepancy._gram.run import in_one_blas_thread, progress, run_all
from skdiscrepancy._nulls.limits import (
    MIN_ROWS,
    gamma_pvalue,
    invariants,
    lazy_invariants,
    shift_pvalue,
)
from skdiscrepancy._nulls.pvalues import check_options
from skdiscrepancy._statistics.dependence import hsic_of_factors
from skdiscrepancy._statistics.second_order import check_finite
from skdiscrepancy.inference._multiple_tests import (
    ColumnSample,
    adjust_pvalues,
    read_samples,
)
from skdiscrepancy.inference._tests import refuse_parts
from skdiscrepancy.kernels._base import IndicatorKernel, Kernel
from skdiscrepancy.kernels._names import kernel_name

# Rank of a factor in estimates of memory.
USUAL_RANK = 128
# An unbiased HSIC below this fraction of the biased one is a rounding error.
ROUNDING = 1e-12
# The rows of a variable, and its kernel with a number as bandwidth.
KernelColumn = tuple[np.ndarray, Any]


class _Side(NamedTuple):
    """Factor, diagonal and invariants of a variable, None for a constant."""

    factor: Factor
    diagonal: np.ndarray
    invariants: Any


def dependence_matrix(
    variables: list[KernelColumn],
    first: range,
    second: range,
    settings: CKASettings,
    block_length: int | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return HSIC and p-values of pairs of variables, and the norm of each variable.

    The norm is the root of HSIC of a variable with itself, 0 for a constant. Factors
    are kept if the working memory of scikit-learn allows, and else computed again.
    """
    n, unbiased, features = len(variables[0][0]), settings.unbiased, settings.features
    run = settings.run
    if isinstance(variables[0][0], LazyRows):
        return _lazy_matrix(LazyFactors(variables, features, run=run), unbiased)
    both = values, pvalues = np.zeros((2, len(variables), len(variables)))
    norms, rough = np.zeros(len(variables)), set()
    # Threads share the factors.
    options: dict[str, Any] = {"run": run, "require": "sharedmem"}

    def side_of(v: int) -> _Side:
        variable = Variable(*variables[v], features)
        # Values without squares are refused here.
        assert variable.gram.n
        factor = variable.factor._replace(rows=variable.lines)
        # Numbers that are not finite raise an error later, without a warning before it.
        with np.errstate(all="ignore"):
            norm = factor.norm
            constant = variable.is_zero(norm)
            if not factor.complete:
                rough.add(v)
                if norm == 0:
                    raise ValueError(
                        f"kernel == {shown(variable.kernel)}, must be positive "
                        "definite, but some values k(x, x) are negative."
                    )
            diagonal = np.einsum("ri,ri->i", factor.rows, factor.rows)
            if constant:
                return _Side(factor, diagonal, None)
            own = hsic_of_factors(norm**2, diagonal, diagonal, unbiased)
            norms[v] = np.sqrt(own) if own > ROUNDING * norm**2 / n**2 else 0.0
            found = None if block_length else invariants(factor.rows)
        return _Side(factor, diagonal, found)

    def row_of(task: tuple[list[_Side], StackedFactors, _Side, int]) -> tuple[Any, Any]:
        others, stack, side, begin = task
        products = stack.inner_products(side.factor, begin)
        factors, diagonals, found = zip(*others[begin:], strict=True)
        if block_length is None:
            pairs = zip(products, found, strict=True)
            tails = [gamma_pvalue(value, side.invariants, own) for value, own in pairs]
        else:
            G = side.factor.rows
            tails = [shift_pvalue(G, factor.rows, block_length) for factor in factors]
        values = hsic_of_factors(products, np.array(diagonals), side.diagonal, unbiased)
        return values, tails

    rank = int(features[0]) if features else USUAL_RANK
    size = int(get_config()["working_memory"] * 2**16 // (rank * n))
    pairs_of_batches = list(batches(first, second, max(1, size)))
    with progress("pairs of columns", 3 * len(pairs_of_batches), run.verbose) as line:
        for batch, others in pairs_of_batches:
            of_others = of_batch = list(run_all(batch, side_of, **options))
            if others != batch:
                of_others = list(run_all(others, side_of, **options))
            line.advance()
            # Of pairs within a batch, each is computed once.
            begins = np.arange(len(batch)) * (others == batch and second == first)
            stack = StackedFactors([side.factor for side in of_others])
            own = zip(of_batch, begins.tolist(), strict=True)
            tasks = [(of_others, stack, *side) for side in own]
            rows = run_all(tasks, row_of, **options)
            for a, begin, found in zip(batch, begins, rows, strict=True):
                places = others[begin:]
                both[:, a, places] = both[:, places, a] = found
            line.advance()
        line.step = len(pairs_of_batches)
        # Kernels without a complete factor have exact sums instead.
        pairs = [(v, v) for v in sorted(rough)]
        pairs += [
            (i, j)
            for i, j in product(first, second)
            if rough & {i, j} and (i < j or second != first)
        ]
        if pairs:
            grams = [Variable(*variable).gram for variable in variables]
            terms = hsic_terms(grams, pairs, unbiased, run=run)
            at, k = tuple(np.array(pairs).T), len(rough)
            values[at] = values.T[at] = terms[0]
            norms[at[0][:k]] = norms_of(terms[0][:k], terms[1][:k])
        line.advance()
    return check_finite(values), pvalues, norms


def _lazy_matrix(table: LazyFactors, unbiased: bool) -> tuple[np.ndarray, ...]:
    """Compute HSIC, p-values and norms of variables that are read by blocks."""
    values, products = table.hsic(unbiased=unbiased)
    least = np.where(table.norms > 0, ROUNDING * (table.norms / table.n) ** 2, np.inf)
    both = zip(products.flat, product(lazy_invariants(table), repeat=2), strict=True)
    tails = [gamma_pvalue(value, *pair) for value, pair in both]
    pvalues = np.reshape(tails, products.shape)
    return check_finite(values), pvalues, norms_of(np.diagonal(values), least)


@dataclass(frozen=True, eq=False, repr=False)
class HSICMatrixResult(MatrixResult):
    """CKA and p-values of all pairs of columns.

    ``np.asarray(result)`` is the matrix of CKA. Tables show the smallest p-value first.
    :meth:`plot` draws a :class:`~skdiscrepancy.plotting.HSICMatrixDisplay`.

    Read more in the :ref:`User Guide <many_variables>`.

    Attributes
    ----------
    matrix : ndarray of shape (n_columns_X, n_columns_y)
        CKA of each pair of columns.
    pvalues : ndarray of shape (n_columns_X, n_columns_y) or None
        p-value of each pair.
    adjusted_pvalues : ndarray of shape (n_columns_X, n_columns_y) or None
        Corrected p-values, except on the diagonal.
    x_names : list of length n_columns_X
        Columns of X.
    y_names : list of length n_columns_y
        Columns of y.
    x_kernels : list of length n_columns_X
        Kernels on columns of X.
    y_kernels : list of length n_columns_y
        Kernels on columns of y.
    correction : {"bh", "by", "holm"} or None
        The correction.
    symmetric : bool
        Whether X was compared with itself.

    See Also
    --------
    skdiscrepancy.hsic_matrix : Computes the result.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import hsic_matrix
    >>> X = np.random.RandomState(0).normal(size=(100, 3))
    >>> X[:, 2] = X[:, 0] ** 2
    >>> result = hsic_matrix(X)
    >>> result.to_frame()[["first", "second"]].values[0].tolist()
    ['x0', 'x2']
    >>> result.to_frame(square=True).shape, round(float(result.matrix[0, 2]), 2)
    ((3, 3), 0.54)
    """

    matrix: np.ndarray
    pvalues: np.ndarray | None
    adjusted_pvalues: np.ndarray | None
    x_names: list[Any]
    y_names: list[Any]
    x_kernels: list[Any]
    y_kernels: list[Any]
    correction: str | None
    symmetric: bool

    _display = "HSICMatrixDisplay"
    _item = "pair"
    _shown_first = "smallest p-values"
    _repr_rows = 10

    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows and columns of all pairs, in the order of the table."""
        rows, cols = pairs = _pairs_of(self.matrix, self.symmetric)
        # The smallest p-value, and then the largest CKA, is first.
        keys = [-self.matrix[pairs]]
        if self.pvalues is not None:
            keys.append(self.pvalues[pairs])
        order = np.lexsort(keys)
        return rows[order], cols[order]

    def _summary(self) -> dict[str, Any]:
        if self.adjusted_pvalues is None:
            return {"largest": float(self.matrix[self._pairs()][0])}
        return {
            "smallest_adjusted_pvalue": float(self.adjusted_pvalues[self._pairs()][0]),
            "correction": self.correction,
        }

    def _columns(self) -> dict[str, Any]:
        rows, cols = pairs = self._pairs()
        columns = {
            "first": [self.x_names[i] for i in rows],
            "second": [self.y_names[j] for j in cols],
            "cka": self.matrix[pairs],
        }
        if self.pvalues is not None and self.adjusted_pvalues is not None:
            columns["pvalue"] = self.pvalues[pairs]
            columns["adjusted_pvalue"] = self.adjusted_pvalues[pairs]
        return columns

    def to_frame(self, *, square: bool = False) -> Any:
        """Return the pairs of columns as a DataFrame (needs pandas).

        Parameters
        ----------
        square : bool, default=False
            Return the matrix of CKA instead of one row for each pair.

        Returns
        -------
        frame : pandas.DataFrame
            One row for each pair, or the matrix.
        """
        frame = super().to_frame()
        if not square:
            return frame
        names = {"index": list(self.x_names), "columns": list(self.y_names)}
        return type(frame)(self.matrix, **names)


@takes_parameters_of(
    CKAEstimator,
    names="correction kernel bandwidth design block_length sample_weight encoder "
    f"n_components {RUN}",
    kernel="gaussian",
)
@in_one_blas_thread
def hsic_matrix(
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    correction: str | None = "bh",
    block_length: int | str | None = None,
    sample_weight: Any = None,
    **params: Any,
) -> HSICMatrixResult:
    """Measure and test the dependence of every pair of columns.

    Use it like a matrix of correlations, for dependence of any form and columns of any
    type. CKA (:func:`cka_score`) is about 0 for independent columns and 1 for identical
    columns. The p-values use three moments of all permutations [1]_.
    Takes O(n p^2) time for p columns and smooth kernels.

    Read more in the :ref:`User Guide <many_variables>`.

    Parameters
    ----------
    X : {array-like, sparse matrix} or DataFrame of shape (n_samples, n_columns_X)
        Columns, at least seven rows.
    y : array-like or DataFrame of shape (n_samples,) or (n_samples, n_columns_y), \
            default=None
        Other columns of these rows. None compares X with itself.
    correction : {"bh", "by", "holm"} or None, default="bh"
        "bh" and "by" control the false discovery rate, "holm" any false discovery.
    kernel : str, kernel object or callable, default="gaussian"
        Kernel for columns of numbers; "energy" gives squared distance correlations.
    block_length : int, "auto" or None, default=None
        Smallest shift for a :ref:`series <series>`; p-values are at least 1 / n.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows. With weights, there are no p-values.
    encoder : "auto" or None, default="auto"
        "auto" reads dates and missing values; None raises an error.
    **params : dict
        Parameters of :class:`skdiscrepancy.CKAEstimator`.

    Returns
    -------
    result : HSICMatrixResult
        CKA and p-values. Constant columns have the CKA 0.

    See Also
    --------
    hsic_column_tests : Tests whether y depends on columns.

    References
    ----------
    .. [1] F. Kazi-Aoual et al., "Refined approximations to permutation tests for
       multivariate inference", Computational Statistics & Data Analysis 20, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import hsic_matrix
    >>> rng = np.random.RandomState(0)
    >>> X = rng.normal(size=(200, 3))
    >>> X[:, 2] = np.cos(2 * X[:, 0]) + 0.1 * rng.normal(size=200)
    >>> (hsic_matrix(X).adjusted_pvalues < 0.05).tolist()
    [[True, False, True], [False, True, False], [True, False, True]]
    """
    options = check_options(("gamma",), ("shift",), block_length=block_length)
    given, symmetric = CKAEstimator(**params), y is None
    # Columns are not encoded by a transformer, which is refused when they are read.
    encoder, given.encoder = given.encoder, None
    settings = check_cka_params(given)
    [checked] = settings.kernels[0]
    refuse_parts([checked])
    if not isinstance(checked, Kernel):
        raise ValueError(
            f"kernel == {shown(given.kernel)}, must be one kernel of "
            "skdiscrepancy.kernels, or a function that returns the Gram matrix of two "
            f"blocks of rows, not {kernel_name(checked)} of another package."
        )
    check_correction(correction)
    warn_of_other_index(X, y)
    if given.n_components is not None:
        X, y = _lazy(X, y)
    x_names, left = y_names, every = _read_columns(X, "X", encoder)
    if not symmetric:
        y_names, right = _read_columns(y, "y", encoder)
        every = [*left, *right]
    n, n_left = len(left[0].parts[0]), len(left)
    if n < MIN_ROWS:
        raise ValueError(
            f"n_samples == {n}, must be >= {MIN_ROWS} for the p-values of hsic_matrix."
        )
    if len(every) < 2:
        raise ValueError(
            "X has 1 column, must have at least 2, or pass other columns as y."
        )
    if (own := len(every[-1].parts[0])) != n:
        raise ValueError(f"y has {own} rows, must have {n} as X.")
    lazy, weights = isinstance(every[0].parts[0], LazyRows), None
    if options.wants_blocks and (lazy or sample_weight is not None):
        raise ValueError(
            f"block_length == {shown(block_length)}, must be None for rows with "
            "sample_weight, which have no p-values, and for rows that are read by "
            "blocks, because shifts need all rows in memory."
        )
    for column in every:
        rows, weights = settings.with_weight(column.parts[0], sample_weight)
        column.stored[0] = rows
    columns = [_with_kernel(column, settings) for column in every]
    first = range(n_left)
    second = first if symmetric else range(n_left, len(every))
    titles = [f"column {shown(name)} of X" for name in x_names]
    if not symmetric:
        titles += [f"column {shown(name)} of y" for name in y_names]
    pvalues = adjusted = None
    if weights is not None:
        pairs = [(v, v) for v in range(len(every))]
        pairs += [(i, j) for i, j in product(first, second) if i < j]
        terms = settings.terms(columns, pairs, weights)
        matrix = cka_of_terms(terms, pairs, titles)
    else:
        options = options.with_block_length(
            n,
            *(column.order(*column.parts) for column in every),
            both=True,
            names=[*x_names, *y_names],
            n_left=None if symmetric else n_left,
            because="the p-values are for independent rows. They may be much too small",
        )
        length = options.block_length
        found = dependence_matrix(columns, first, second, settings, length)
        values, pvalues, norms = found
        warn_of_constants(titles, norms)
        matrix, pvalues = cka(values, norms, norms), pvalues[first][:, second]
        # Each pair is one test.
        adjusted, at = pvalues.copy(), _pairs_of(pvalues, symmetric)
        adjusted[at] = adjust_pvalues(pvalues[at], correction)
        if symmetric:
            adjusted.T[at] = adjusted[at]
    kernels = [kernel for _, kernel in columns]
    return HSICMatrixResult(
        matrix=matrix[first][:, second],
        pvalues=pvalues,
        adjusted_pvalues=adjusted,
        x_names=x_names,
        y_names=y_names,
        x_kernels=kernels[:n_left],
        y_kernels=kernels if symmetric else kernels[n_left:],
        correction=correction,
        symmetric=symmetric,
    )


def _read_columns(X: Any, name: str, encoder: Any) -> tuple[list[Any], list[Any]]:
    """Return the names of columns, and the columns, which may be one-dimensional."""
    if issparse(X):
        rows: Any = check_rows(X, name, accept_sparse="csr")
        X = SparseColumns(rows.matrix if isinstance(rows, SparseRows) else rows)
    if isinstance(X, (LazyRows, SparseColumns)):
        every = range(X.shape[1])
        names = getattr(X, "columns", []) or [f"{name.lower()}{j}" for j in every]
        views: Any = [X.take([j]) for j in every]
        return names, [ColumnSample([view], False, [0.0]) for view in views]
    table = as_table(X)
    names, columns = read_samples((table,), (name,), encoder)
    if table is not X:
        own = getattr(X, "name", None)
        return [name.lower() if own is None else own], columns
    if not is_table(X):
        names = [f"{name.lower()}{j}" for j in range(len(names))]
    return names, columns


def _lazy(X: Any, y: Any) -> tuple[Any, Any]:
    """Return data in blocks and memory maps as rows that are read by blocks."""
    given = [Z for Z in (X, y) if Z is not None]
    if not any(kind_of_blocks(Z) or isinstance(Z, np.memmap) for Z in given):
        return X, y
    if y is not None:
        return lazy_pair(X, y, least=MIN_ROWS)
    rows = lazy_rows(X, "X", MIN_ROWS)
    rows.whole = rows
    return rows, None


def _with_kernel(column: ColumnSample, settings: CKASettings) -> KernelColumn:
    """Return a column with its kernel. Labels have the indicator kernel."""
    [rows] = column.parts
    if column.of_labels:
        return rows, IndicatorKernel()
    if isinstance(rows, np.ndarray):
        rows = as_numbers(rows, "X or y").astype(np.float64, copy=False)
    sample = np.asarray(rows) if isinstance(rows, SparseColumns) else rows
    return rows, settings.choose(0, sample)


def _pairs_of(matrix: np.ndarray, symmetric: bool) -> Any:
    """Return the rows and columns of all pairs, each symmetric pair once."""
    if symmetric:
        return np.triu_indices(len(matrix), 1)
    return tuple(np.indices(matrix.shape).reshape(2, -1))
