"""Kernels of rows and of labels: base classes, sums, products, and named kernels.

The kernels that are functions of a distance are in `_radial.py`.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import inspect
import operator
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from numbers import Integral
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel
from sklearn.metrics.pairwise import kernel_metrics, pairwise_kernels
from sklearn.preprocessing import normalize

from skdiscrepancy._data.arrays import (
    aligned_products,
    as_block,
    as_labels,
    check_rows,
    encode_labels,
    inner_products,
    of_one_kind,
    read_only,
)
from skdiscrepancy._data.blocks import LazyRows
from skdiscrepancy._data.checks import (
    KeywordHints,
    check_flag,
    check_number,
    explaining,
    shown,
)
from skdiscrepancy._data.distances import (
    Codes,
    Rows,
    aligned_distances,
    aligned_values,
    block_distances,
)
from skdiscrepancy._data.frames import Layout


def accept_sparse(X: Any, name: str, kernels: list[Any]) -> Literal["csr", False]:
    """Return "csr" if all kernels take sparse data, else False, or refuse sparse X."""
    refusing = [k for k in kernels if not getattr(k, "takes_sparse", False)]
    if not refusing:
        return "csr"
    if issparse(X):
        shown = " ".join(repr(refusing[0]).split())
        raise TypeError(
            f"{name} is sparse, must be dense for kernel == {shown}. Sparse data need "
            "one of the kernels GaussianKernel, IMQKernel, LaplaceKernel, MaternKernel "
            "with p=1 or p=2, these with the metric 'cosine', 'euclidean' or "
            "'manhattan', LinearKernel, PolynomialKernel, CosineKernel, "
            "FunctionKernel, or sums and products of them. To convert the data, call "
            f"{name}.toarray()."
        )
    return False


def read_both(kernel: Any, X: Any, Y: Any) -> list[Any]:
    """Return X, and Y unless it is None, as rows or labels that a kernel takes."""
    samples, labels = [], isinstance(kernel, IndicatorKernel)
    for Z, name in [(X, "X")] if Y is None else [(X, "X"), (Y, "Y")]:
        sparse = accept_sparse(Z, name, [kernel])
        read = as_labels if labels else partial(check_rows, accept_sparse=sparse)
        samples.append(read(Z, name))
    n_features, other = samples[0].shape[1], samples[-1].shape[1]
    if other != n_features:
        what = "columns" if labels else "features"
        raise ValueError(f"Y has {other} {what}, must have {n_features} as X.")
    return samples


class Kernel(KeywordHints, BaseEstimator, metaclass=ABCMeta):
    """Base class of all kernels.

    `a + b` and `a * b` are kernels, too.

    Read more in the :ref:`User Guide <kernels>`.

    See Also
    --------
    RadialKernel : Derive kernels of a distance from it.
    RowKernel : Derive all others from it.

    Examples
    --------
    >>> from skdiscrepancy.kernels import GaussianKernel, IndicatorKernel, LaplaceKernel
    >>> [k.norm for k in (GaussianKernel(), LaplaceKernel(), IndicatorKernel())]
    [2, 1, None]
    """

    @property
    def norm(self) -> Any:
        """Order of the Minkowski distance, or None."""
        return None

    @property
    def differentiable(self) -> bool:
        """Whether KSD can use the kernel."""
        return False

    @property
    def takes_sparse(self) -> bool:
        """Whether `gram` takes ``scipy.sparse.csr_array``."""
        return False

    @abstractmethod
    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> np.ndarray:
        """Compute the Gram matrix.

        Parameters
        ----------
        X : array-like
            First sample.
        Y : array-like, default=None
            Second sample, by default `X`.

        Returns
        -------
        K : ndarray of shape (n_samples_X, n_samples_Y)
            Kernel values.
        """

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Compute the Gram matrix of two blocks of rows.

        Parameters
        ----------
        A : ndarray of shape (n_rows_A, n_features)
            First rows.
        B : ndarray of shape (n_rows_B, n_features)
            Second rows.

        Returns
        -------
        K : ndarray of shape (n_rows_A, n_rows_B)
            Kernel values.
        """
        return self(A, B)

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Compute the kernel of rows with the same position.

        Parameters
        ----------
        A, B : ndarray of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        values : ndarray of shape (n_rows,)
            Kernel values.
        """
        return aligned_values(self.gram, A, B)

    def features(self, A: np.ndarray) -> np.ndarray | None:
        """Compute vectors whose inner products are the kernel.

        Parameters
        ----------
        A : ndarray of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        F : ndarray of shape (n_rows, n_components) or None
            Vectors, None if there are none.
        """
        return None

    def check_params(self) -> None:
        """Raise an error if a parameter is not allowed."""

    def learn(self, samples: list[np.ndarray]) -> Any:
        """Return a copy that has learned from data.

        Parameters
        ----------
        samples : list of ndarray of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        kernel : Kernel
            Copy.
        """
        return clone(self)

    def resolve(self, table: Any, n_features: int) -> Kernel:
        """Return a kernel without column names.

        Parameters
        ----------
        table : object
            The data.
        n_features : int
            Number of columns.

        Returns
        -------
        kernel : Kernel
            Kernel.
        """
        return self

    def members(self) -> list[Kernel]:
        """Return the kernel and all its parts.

        Returns
        -------
        kernels : list of Kernel
            Kernels.
        """
        return [self]

    def is_definite(self, n_features: int) -> bool:
        """Return whether the kernel is positive definite.

        Parameters
        ----------
        n_features : int
            Number of columns.

        Returns
        -------
        definite : bool
            If False, V-statistics can be negative.
        """
        return True

    def __add__(self, other: Any) -> SumKernel:
        return _combine(SumKernel, self, other)

    def __mul__(self, other: Any) -> ProductKernel:
        return _combine(ProductKernel, self, other)


# A kernel of this package, or a Gaussian process kernel of scikit-learn.
KernelLike: TypeAlias = Kernel | GaussianProcessKernel


class RowKernel(Kernel):
    """Base class of the kernels that are functions of two blocks of rows.

    Derive your own kernel from it, and write `gram`. KSD cannot use it.

    Read more in the :ref:`User Guide <kernels>`.

    See Also
    --------
    FunctionKernel : Needs no class.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_score
    >>> from skdiscrepancy.kernels import RowKernel
    >>> class MinKernel(RowKernel):
    ...     def gram(self, A, B):
    ...         return np.minimum(A, B.T)
    >>> X, Y = np.array([[0.1], [0.2], [0.3]]), np.array([[0.7], [0.8], [0.9]])
    >>> round(mmd_score(X, Y, kernel=MinKernel(), normalize=False), 3)
    0.467
    """

    @abstractmethod
    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Compute the Gram matrix of two blocks of rows.

        Parameters
        ----------
        A : ndarray of shape (n_rows_A, n_features)
            First rows.
        B : ndarray of shape (n_rows_B, n_features)
            Second rows.

        Returns
        -------
        K : ndarray of shape (n_rows_A, n_rows_B)
            Kernel values.
        """

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> np.ndarray:
        self.check_params()
        samples = read_both(self, X, Y)
        kernel = self.resolve(X, samples[0].shape[1])
        for member in kernel.members():
            if hasattr(member, "bandwidth") and not isinstance(member, RowKernel):
                check_number(member.bandwidth, f"bandwidth of {member!r}", strict=True)
        A, B = of_one_kind(samples[0], samples[-1])
        with np.errstate(all="ignore"):
            K = kernel.gram(as_block(A), as_block(B))
        if not np.all(np.isfinite(K)):
            raise ValueError(
                f"Values of {self!r} on X and Y are too large for {K.dtype}. Rescale X "
                "and Y."
            )
        return K


class CombinedKernel(RowKernel):
    """Base class of the sum and the product of two kernels."""

    _operation: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def __init__(self, first: Kernel, second: Kernel):
        self.first = first
        self.second = second

    @property
    def takes_sparse(self) -> bool:
        """Whether `gram` takes ``scipy.sparse.csr_array``."""
        return self.first.takes_sparse and self.second.takes_sparse

    def check_params(self) -> None:
        check_part(self.first, "first")
        check_part(self.second, "second")

    def learn(self, samples: list[np.ndarray]) -> CombinedKernel:
        return type(self)(self.first.learn(samples), self.second.learn(samples))

    def resolve(self, table: Any, n_features: int) -> CombinedKernel:
        parts = (self.first, self.second)
        return type(self)(*(part.resolve(table, n_features) for part in parts))

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return self._operation(self.first.gram(A, B), self.second.gram(A, B))

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return self._operation(self.first.pairs(A, B), self.second.pairs(A, B))

    def members(self) -> list[Kernel]:
        return [self, *self.first.members(), *self.second.members()]

    def is_definite(self, n_features: int) -> bool:
        parts = (self.first, self.second)
        return all(part.is_definite(n_features) for part in parts)


class SumKernel(CombinedKernel):  # numpydoc ignore=PR02
    """Sum of two kernels, :math:`k_1(x, y) + k_2(x, y)`.

    Write `first + second`. Bandwidths of both are combined in order.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    first, second : Kernel
        Kernels.

    See Also
    --------
    ProductKernel : Product of two kernels.

    Examples
    --------
    >>> from skdiscrepancy.kernels import GaussianKernel, LinearKernel
    >>> kernel = GaussianKernel(bandwidth=2.0) + LinearKernel()
    >>> float(kernel([[0.0]], [[2.0]])[0, 0].round(4))
    0.3679
    """

    _operation = staticmethod(operator.add)

    def features(self, A: np.ndarray) -> np.ndarray | None:
        first, second = self.first.features(A), self.second.features(A)
        if first is None or second is None:
            return None
        return np.concatenate((first, second), axis=1)


class ProductKernel(CombinedKernel):  # numpydoc ignore=PR02
    """Product of two kernels, :math:`k_1(x, y) k_2(x, y)`.

    Write `first * second`. Bandwidths of both are combined in order.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    first, second : Kernel
        Kernels.

    See Also
    --------
    SumKernel : Sum of two kernels.

    Examples
    --------
    >>> from skdiscrepancy.kernels import GaussianKernel, LaplaceKernel
    >>> kernel = GaussianKernel(bandwidth=2.0) * LaplaceKernel(bandwidth=2.0)
    >>> float(kernel([[0.0]], [[2.0]])[0, 0].round(4))
    0.1353
    """

    _operation = staticmethod(operator.mul)


ALLOWED = (
    "a position, a name, a list of positions or of names, a slice, a mask, or a "
    "callable such as make_column_selector"
)


class ColumnKernel(RowKernel):
    """Kernel on some of the columns.

    Add or multiply such kernels to give each group of columns its own.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    kernel : Kernel
        Kernel.
    columns : int, str, list of int, list of str, slice, mask or callable
        Columns; see :class:`sklearn.compose.ColumnTransformer`.

    See Also
    --------
    ProductKernel : Product of two kernels.

    Examples
    --------
    >>> from skdiscrepancy.kernels import ColumnKernel, GaussianKernel, IndicatorKernel
    >>> numbers = ColumnKernel(GaussianKernel(bandwidth=2.0), [0, 1])
    >>> kernel = numbers * ColumnKernel(IndicatorKernel(), 2)
    >>> X = [[0.0, 0.0, 7.0], [0.0, 2.0, 7.0], [0.0, 2.0, 8.0]]
    >>> kernel(X)[0].round(4).tolist()
    [1.0, 0.3679, 0.0]
    """

    def __init__(self, kernel: Kernel, columns: Any):
        self.kernel = kernel
        self.columns = columns

    def check_params(self) -> None:
        check_part(self.kernel, "kernel")
        if not callable(self.columns):
            _items(self.columns)

    def resolve(self, table: Any, n_features: int) -> ColumnKernel:
        layout, columns = Layout.of(table, n_features), self.columns
        columns = columns(layout.table) if callable(columns) else columns
        chosen = _positions(columns, layout)
        positions = layout.positions(chosen)
        inner = self.kernel.resolve(layout.take(chosen), len(positions))
        return ColumnKernel(inner, positions)

    def take(self, A: np.ndarray) -> np.ndarray:
        """Return the columns of the kernel.

        Parameters
        ----------
        A : ndarray of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        block : ndarray of shape (n_rows, n_columns)
            Columns.
        """
        return np.take(A, np.atleast_1d(self.columns), axis=1)

    def learn(self, samples: list[np.ndarray]) -> ColumnKernel:
        kernel = self.resolve(None, samples[0].shape[1])
        learnt = kernel.kernel.learn([kernel.take(sample) for sample in samples])
        return ColumnKernel(learnt, kernel.columns)

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        some = self.take(A)
        return self.kernel.gram(some, some if B is A else self.take(B))

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return self.kernel.pairs(self.take(A), self.take(B))

    def features(self, A: np.ndarray) -> np.ndarray | None:
        return self.kernel.features(self.take(A))

    def members(self) -> list[Kernel]:
        return [self, *self.kernel.members()]

    def is_definite(self, n_features: int) -> bool:
        columns = self.resolve(None, n_features).columns
        return self.kernel.is_definite(len(columns))


def _items(columns: Any) -> Any:
    """Return a slice or a list of columns, or raise an error for other values."""
    if isinstance(columns, slice):
        try:
            columns.indices(1)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"columns == {shown(columns)}, must be a slice of positions: {error}."
            ) from None
        return columns
    several = isinstance(columns, (list, tuple)) or getattr(columns, "ndim", 0) == 1
    items = list(columns) if several else [columns]
    if not items:
        raise ValueError(f"columns == {shown(columns)}, must hold at least one column.")
    kinds: tuple[Any, ...] = (str, (bool, np.bool_), Integral)
    one_kind = any(all(isinstance(item, kind) for item in items) for kind in kinds)
    if not one_kind or isinstance(columns, (bool, np.bool_)):
        raise TypeError(f"columns == {shown(columns)}, must be {ALLOWED}.")
    return items


def _positions(columns: Any, layout: Layout) -> list[int]:
    """Return the positions of columns."""
    n, names, wanted, items = len(layout.blocks), layout.names, "", _items(columns)
    if isinstance(columns, slice):
        items = list(range(n))[columns]
        wanted = "" if items else f"select at least one of {n} columns"
    elif isinstance(items[0], str):
        missing = [name for name in items if name not in names]
        items = [names.index(name) for name in items if name in names]
        if not names:
            wanted = f"hold positions from 0 to {n - 1}: the data have no column names"
        elif missing:
            known = f"among the columns {shown(names)}"
            wanted = f"hold names: {missing[0]!r} is not {known}"
    elif isinstance(items[0], (bool, np.bool_)):
        if len(items) != n or not any(items):
            wanted = f"hold {n} flags, and at least one of them must be True"
        items = np.flatnonzero(items).tolist()
    elif not all(-n <= item < n for item in items):
        wanted = f"hold positions from 0 to {n - 1}, because there are {n} columns"
    if wanted:
        raise ValueError(f"columns == {shown(columns)}, must {wanted}.")
    return [int(item) % n for item in items]


def resolve_columns(kernels: list[Any], table: Any, n_features: int) -> list[Any]:
    """Return kernels with positions in place of the names of columns of a table."""
    return [
        kernel.resolve(table, n_features) if isinstance(kernel, Kernel) else kernel
        for kernel in kernels
    ]


def check_part(part: Any, name: str) -> None:
    """Raise an error unless a parameter is a kernel that other kernels can hold."""
    if not isinstance(part, Kernel):
        raise TypeError(
            f"{name} == {shown(part)}, must be a kernel object of "
            "skdiscrepancy.kernels. For a function, pass FunctionKernel(function)."
        )
    part.check_params()
    if getattr(part, "balanced", False) is True:
        raise ValueError(
            f"{name} == {part!r}, must have balanced=False: a kernel that is made of "
            "other kernels sees some rows at a time, and cannot count labels."
        )


def _combine(kind: Any, first: Kernel, second: Any) -> Any:
    """Return the sum or product of a kernel with what is at its right."""
    if isinstance(second, GaussianProcessKernel):
        # Otherwise scikit-learn would take our kernel for a number.
        raise TypeError(
            f"{second!r} is a kernel of scikit-learn. To add it to a kernel of "
            "skdiscrepancy, or to multiply them, write FunctionKernel(kernel)."
        )
    return kind(first, second) if isinstance(second, Kernel) else NotImplemented


class IndicatorKernel(Kernel):
    """Kernel for categorical data: 1 for equal labels, else 0.

    Labels can have any hashable type.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    balanced : bool, default=False
        Give rare and frequent classes equal weights.

    See Also
    --------
    ColumnKernel : Kernel on some columns.

    Examples
    --------
    >>> from skdiscrepancy.kernels import IndicatorKernel
    >>> IndicatorKernel()(["a", "b"], ["b"]).tolist()
    [[0.0], [1.0]]
    """

    def __init__(self, *, balanced: bool = False):
        self.balanced = balanced

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> np.ndarray:
        self.check_params()
        parts = read_both(self, X, Y)
        n, m = len(parts[0]), len(parts[-1])
        both = all(part.dtype == np.float32 for part in parts)
        labels = Codes(encode_labels(*parts), np.float32 if both else np.float64)
        rows, cols = slice(0, n), slice(len(labels) - m, len(labels))
        K = np.empty((n, m), dtype=labels.dtype)
        return labels.compare(rows, cols, K, balanced=self.balanced)

    def check_params(self) -> None:
        check_flag(self.balanced, "balanced")

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        equal = np.ones((len(A), len(B)), dtype=bool)
        for a, b in zip(A.T, B.T, strict=True):
            equal &= a[:, np.newaxis] == b
        return equal.astype(A.dtype)

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.all(A == B, axis=1).astype(A.dtype)


def sample_dtype(kernels: list[KernelLike]) -> Any:
    """Return the dtypes of a sample for `check_array`, None for labels of any type."""
    if all(isinstance(kernel, IndicatorKernel) for kernel in kernels):
        return None
    return [np.float64, np.float32]


def refuse_balanced(kernels: list[KernelLike], why: str, name: str = "kernel") -> None:
    """Raise an error for kernels whose values depend on the counts of labels."""
    for kernel in kernels:
        if isinstance(kernel, IndicatorKernel) and kernel.balanced:
            raise ValueError(f"{name} == {kernel!r}, must not be balanced {why}.")


# Units of the working precision that two entries (i, j) and (j, i) may differ by,
# relative to the largest entry.
ROUNDING = 100
BLOCK_ROWS = 512


def check_gram(K: ArrayLike, name: str, *, symmetric: bool = True) -> np.ndarray:
    """Check the shape and symmetry of a Gram matrix, and return it as a float array."""
    gram = check_rows(K, name)
    if symmetric:
        if gram.shape[0] != gram.shape[1]:
            raise ValueError(f"{name} has shape {gram.shape}, must be square.")
        limit = ROUNDING * np.finfo(gram.dtype).eps * max(gram.max(), -gram.min())
        for i in range(0, len(gram), BLOCK_ROWS):
            part = slice(i, i + BLOCK_ROWS)
            if np.any(np.abs(gram[part] - gram[:, part].T) > limit):
                raise ValueError(f"{name} must be symmetric.")
    return gram


class _GramMatrix(np.ndarray):
    """Array that is printed as its shape."""

    def __repr__(self) -> str:
        return f"<array of shape {self.shape}>"


class PrecomputedKernel(RowKernel):
    """Kernel from a Gram matrix, for example of strings or graphs.

    The rows of X and y are positions in the matrix.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    K : array-like of shape (n_objects, n_objects)
        Symmetric Gram matrix.

    See Also
    --------
    FunctionKernel : Kernel from a function.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_score
    >>> from skdiscrepancy.kernels import PrecomputedKernel
    >>> words = ["abab", "abba", "baba", "cdcd", "dccd", "cddc"]
    >>> sets = [set(word) for word in words]
    >>> K = np.array([[len(a & b) / len(a | b) for b in sets] for a in sets])
    >>> first, second = np.array([[0], [1], [2]]), np.array([[3], [4], [5]])
    >>> mmd_score(first, second, kernel=PrecomputedKernel(K), normalize=False)
    2.0
    """

    def __init__(self, K: ArrayLike):
        self.K = K

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters of this kernel.

        Parameters
        ----------
        deep : bool, default=True
            False returns a view that prints its shape.

        Returns
        -------
        params : dict
            The parameter `K`.
        """
        # scikit-learn prints these values with deep=False. A `__repr__` of this class
        # would be ignored inside of an estimator.
        if not deep and isinstance(self.K, np.ndarray):
            return {"K": self.K.view(_GramMatrix)}
        return {"K": self.K}

    def __sklearn_clone__(self) -> PrecomputedKernel:
        # Nobody changes a Gram matrix, and a copy would take n^2 numbers.
        return PrecomputedKernel(self.K)

    def check_params(self) -> None:
        check_gram(self.K, "K")

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return self._entries(np.ix_(self._positions(A), self._positions(B)))

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return self._entries((self._positions(A), self._positions(B)))

    def _entries(self, index: tuple[np.ndarray, ...]) -> np.ndarray:
        """Return entries of the matrix as numbers, whatever its type is."""
        entries = np.asarray(self.K)[index]
        return entries if entries.dtype.kind in "fiu" else entries.astype(np.float64)

    def _positions(self, A: np.ndarray) -> np.ndarray:
        """Return the positions of rows in the matrix."""
        if A.shape[1] != 1:
            raise ValueError(
                f"X or y has {A.shape[1]} columns, must have one column of positions "
                f"in the matrix for {self!r}."
            )
        values, n = A[:, 0], len(np.asarray(self.K))
        with np.errstate(invalid="ignore"):
            positions = values.astype(np.int64)
        wrong = (positions != values) | (positions < 0) | (positions >= n)
        if np.any(wrong):
            raise ValueError(
                f"X or y holds the position {values[wrong][0]:g}, must hold integers "
                f"from 0 to {n - 1} for {self!r}."
            )
        return positions


# Names of `pairwise_kernels` that take dense rows only.
DENSE_ONLY = ("additive_chi2", "chi2")
# Larger differences of k(x, y) and k(y, x), relative to the largest value of a tile,
# are not rounding errors, not even of a function that computes in float16.
ASYMMETRY = 1e-2


class FunctionKernel(RowKernel):
    """Kernel from a function of two blocks of rows, or a name.

    The function must be symmetric and positive definite.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    function : callable or str
        Function of two read-only blocks that returns their Gram matrix, or a name of
        :func:`sklearn.metrics.pairwise.pairwise_kernels`.
    params : dict or None, default=None
        Keywords for the function.

    See Also
    --------
    RowKernel : Base class for your own kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_score
    >>> from skdiscrepancy.kernels import FunctionKernel
    >>> def cubic(A, B, shift):
    ...     return (A @ B.T + shift) ** 3
    >>> X, Y = np.random.RandomState(0).normal(size=(2, 100, 3))
    >>> kernel = FunctionKernel(cubic, {"shift": 1.0})
    >>> mmd_score(X, Y, kernel=kernel) < mmd_score(X, Y + 1, kernel=kernel)
    True
    """

    def __init__(self, function: str | Callable, params: Mapping | None = None):
        self.function = function
        self.params = params

    @property
    def takes_sparse(self) -> bool:
        """Whether `gram` takes ``scipy.sparse.csr_array``."""
        return not (isinstance(self.function, str) and self.function in DENSE_ONLY)

    def check_params(self) -> None:
        functions, named = kernel_metrics(), isinstance(self.function, str)
        function: Any = functions.get(self.function) if named else self.function
        if not callable(function):
            must = f"must be a callable or one of {sorted(functions)}."
            error = ValueError if named else TypeError
            raise error(f"function == {shown(self.function)}, {must}")
        if self.params is not None and not isinstance(self.params, Mapping):
            raise TypeError(f"params == {shown(self.params)}, must be a dict or None.")
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            # Compiled functions may have none.
            return
        what = f"The kernel function {self._name!r} does not take two blocks of rows"
        with explaining(f"{what} with params == {shown(self.params)}"):
            signature.bind(None, None, **(self.params or {}))

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        shape, same = (A.shape[0], B.shape[0]), B is A
        params = dict(self.params or {})
        if isinstance(self.function, str):
            if not issparse(A):
                # Some functions of scikit-learn do not take read-only arrays.
                A, B = (np.require(block, requirements="W") for block in (A, B))
            what = f"The kernel {self.function!r} of scikit-learn failed with params =="
            with explaining(f"{what} {shown(self.params)}"):
                return pairwise_kernels(A, B, metric=self.function, **params)
        A, B = read_only(A, B)
        with explaining(
            f"The kernel function {self._name!r} failed on blocks of {shape[0]} and "
            f"{shape[1]} rows. It must take two blocks of rows and return their Gram "
            f"matrix. {self._single_rows} The error is"
        ):
            try:
                K = self.function(A, B, **params)
            except ValueError as error:
                # Compiled functions may not read arrays that are read-only.
                if "buffer source array is read-only" not in str(error):
                    raise
                K = self.function(A.copy(), B.copy(), **params)
        return self._checked(K, shape, same)

    @property
    def _name(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))

    @property
    def _single_rows(self) -> str:
        """What to pass instead of a function of two single rows."""
        name = self._name if self._name.isidentifier() else "function"
        return (
            "For a function of two single rows, pass functools.partial("
            f"sklearn.metrics.pairwise.pairwise_kernels, metric={name})."
        )

    def _checked(self, K: Any, shape: tuple[int, int], same: bool) -> np.ndarray:
        """Return what the function gave, if it is the Gram matrix of two blocks."""
        returned = f"The kernel function {self._name!r} returned"
        if issparse(K):
            K = K.toarray()
        try:
            K = np.asarray(K, dtype=None if hasattr(K, "dtype") else np.float64)
        except (TypeError, ValueError):
            must = f"must return an array of shape {shape}."
            raise TypeError(f"{returned} {shown(K)}, {must}") from None
        if K.shape != shape:
            raise ValueError(
                f"{returned} an array of shape {K.shape} for blocks of {shape[0]} and "
                f"{shape[1]} rows, must return shape {shape}. {self._single_rows}"
            )
        _refuse_not_numbers(K, returned)
        if same and K.size:
            numbers = K if K.dtype.kind == "f" else K.astype(np.float64)
            gaps = np.abs(numbers - numbers.T)
            if gaps.max() > ASYMMETRY * np.abs(numbers).max():
                i, j = np.unravel_index(np.argmax(gaps), gaps.shape)
                raise ValueError(
                    f"{returned} k(x, y) == {K[i, j]:g} and k(y, x) == {K[j, i]:g} for "
                    "two rows, must be symmetric."
                )
        return K


def _refuse_not_numbers(values: Any, returned: str) -> None:
    """Refuse what a function of the user returned, unless it is finite and real."""
    if values.dtype.kind not in "fiub":
        kind = f"values of type {values.dtype}"
        raise TypeError(f"{returned} {kind}, must return real numbers.")
    # A sum is finite if all terms are, but for terms at the end of floating point.
    with np.errstate(all="ignore"):
        suspicious = not np.isfinite(values.sum())
    if suspicious and not np.all(np.isfinite(values)):
        raise ValueError(f"{returned} NaN or infinity, must return finite numbers.")


class VectorKernel(RowKernel):
    """Base class of the kernels that are inner products of known vectors."""

    takes_sparse = True

    def _vectors(self, A: Any) -> Any:
        """Return the vectors of a block of rows."""
        return A

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        F = self._vectors(A)
        return inner_products(F, F if B is A else self._vectors(B))

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return aligned_products(self._vectors(A), self._vectors(B))

    def features(self, A: np.ndarray) -> np.ndarray | None:
        F = self._vectors(A)
        return None if issparse(F) else F


class LinearKernel(VectorKernel):
    r"""Linear kernel :math:`\langle x, y \rangle`.

    MMD compares means. HSIC is linear CKA [1]_ without its normalisation.

    Read more in the :ref:`User Guide <kernels>`.

    See Also
    --------
    PolynomialKernel : Compares more moments.

    References
    ----------
    .. [1] S. Kornblith et al., "Similarity of neural network representations
       revisited", ICML 2019.

    Examples
    --------
    >>> from skdiscrepancy.kernels import LinearKernel
    >>> LinearKernel()([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[11.0]]
    """


class PolynomialKernel(RowKernel):
    r"""Polynomial kernel :math:`(\gamma \langle x, y \rangle + c)^{\mathrm{degree}}`.

    The defaults give the Kernel Inception Distance (KID) [1]_.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    degree : int, default=3
        Degree.
    gamma : float or None, default=None
        Factor. None is 1 / n_features.
    coef0 : float, default=1
        The constant c.

    See Also
    --------
    LinearKernel : Compares means only.

    References
    ----------
    .. [1] M. Bińkowski et al., "Demystifying MMD GANs", ICLR 2018.

    Examples
    --------
    >>> from skdiscrepancy.kernels import PolynomialKernel
    >>> PolynomialKernel(degree=2)([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[42.25]]
    """

    def __init__(
        self, degree: int = 3, *, gamma: float | None = None, coef0: float = 1
    ):
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    takes_sparse = True

    def check_params(self) -> None:
        check_number(self.degree, "degree", integer=True, least=1)
        check_number(self.coef0, "coef0")
        check_number(self.gamma, "gamma", strict=True, optional=True)

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return self._power(inner_products(A, B), A.shape[1])

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return self._power(aligned_products(A, B), A.shape[1])

    def _power(self, products: np.ndarray, n_features: int) -> np.ndarray:
        products *= 1 / n_features if self.gamma is None else float(self.gamma)
        products += float(self.coef0)
        if self.degree == 1:
            return products
        # Products of arrays: powers of numpy call a function for every entry.
        power = products * products
        for _ in range(int(self.degree) - 2):
            power *= products
        return power


class CosineKernel(VectorKernel):
    r"""Cosine of the angle between rows, :math:`\langle x, y \rangle / (|x| |y|)`.

    It suits texts of different lengths [1]_. Rows of zeros have the value 0.

    Read more in the :ref:`User Guide <kernels>`.

    See Also
    --------
    LinearKernel : Compares means only.

    References
    ----------
    .. [1] G. Salton and C. Buckley, "Term-weighting approaches in automatic text
       retrieval", Information Processing & Management 24, 1988.

    Examples
    --------
    >>> from skdiscrepancy.kernels import CosineKernel
    >>> CosineKernel()([[3.0, 4.0]], [[6.0, 8.0], [0.0, 0.0]]).round(6).tolist()
    [[1.0, 0.0]]
    """

    def _vectors(self, A: Any) -> Any:
        """Return rows of length one; rows of zeros as they are."""
        if issparse(A):
            return normalize(normalize(A, norm="max"), norm="l2", copy=False)
        # Divided by the largest entry first, squares neither overflow nor underflow.
        largest = np.abs(A).max(axis=1, keepdims=True)
        A = A / np.where(largest > 0, largest, 1)
        lengths = np.sqrt(np.einsum("ij,ij->i", A, A))[:, np.newaxis]
        return A / np.where(lengths > 0, lengths, 1)


class CentredKernel(RowKernel):
    """Base class of the kernels that are functions of the rows minus an origin."""

    def __init__(self, *, origin: ArrayLike | None = None):
        self.origin = origin

    def check_params(self) -> None:
        if self.origin is not None:
            check_rows(np.atleast_2d(np.asarray(self.origin)), "origin")

    def resolve(self, table: Any, n_features: int) -> Self:
        if self.origin is not None and np.shape(self.origin) != (n_features,):
            raise ValueError(
                f"origin has shape {np.shape(self.origin)}, must have shape "
                f"({n_features},) as a row of the data."
            )
        return self

    def learn(self, samples: list[np.ndarray]) -> Self:
        kernel = clone(self)
        if self.origin is None:
            # Statistics that are not finite raise an error later.
            with np.errstate(over="ignore", invalid="ignore"):
                totals = sum(np.sum(Z, axis=0, dtype=np.float64) for Z in samples)
            kernel.set_params(origin=totals / sum(map(len, samples)))
        return kernel.resolve(None, samples[0].shape[1])

    def _from_origin(self, A: np.ndarray) -> np.ndarray:
        if self.origin is None:
            return A
        origin = np.asarray(self.origin, dtype=np.float64)
        return (A - origin).astype(A.dtype, copy=False)


class EnergyKernel(CentredKernel):
    """Energy kernel :math:`|x - o|^a + |y - o|^a - |x - y|^a`, Euclidean norms.

    The squared MMD is the energy distance, HSIC the squared distance covariance [1]_.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    exponent : float, default=1
        Exponent a, above 0 and below 2.
    origin : array-like of shape (n_features,) or None, default=None
        Any point o. None is the mean.

    See Also
    --------
    LaplaceKernel : Bounded, with a bandwidth.

    References
    ----------
    .. [1] D. Sejdinovic et al., "Equivalence of distance-based and RKHS-based
       statistics in hypothesis testing", Annals of Statistics 41, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_score
    >>> X, Y = np.array([[0.0], [2.0]]), np.array([[5.0], [7.0]])
    >>> options = dict(design="v", normalize=False)
    >>> distance = 2 * 5.0 - 1.0 - 1.0  # 2 E|X - Y| - E|X - X'| - E|Y - Y'|
    >>> round(mmd_score(X, Y, kernel="energy", **options) / distance, 12)
    1.0
    """

    def __init__(self, exponent: float = 1, *, origin: ArrayLike | None = None):
        super().__init__(origin=origin)
        self.exponent = exponent

    def check_params(self) -> None:
        check_number(self.exponent, "exponent", strict=True)
        if self.exponent >= 2:
            must = "must be a number above 0 and below 2."
            raise ValueError(f"exponent == {self.exponent!r}, {must}")
        super().check_params()

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        A, B = self._from_origin(A), self._from_origin(B)
        K = self._power(block_distances(A, B, 2).read(squared=True))
        np.subtract(self._lengths(B), K, out=K)
        K += self._lengths(A)[:, np.newaxis]
        return K

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        A, B = self._from_origin(A), self._from_origin(B)
        distance = self._power(aligned_distances(A, B, 2).read(squared=True))
        return self._lengths(A) + self._lengths(B) - distance

    def _lengths(self, A: np.ndarray) -> np.ndarray:
        return self._power(np.einsum("ij,ij->i", A, A))

    def _power(self, squares: Any) -> np.ndarray:
        """Return lengths to the power of the exponent, from their squares."""
        if self.exponent == 1:
            return np.sqrt(squares)
        return squares ** (float(self.exponent) / 2)


class AffineKernel(CentredKernel):
    r"""Affine kernel :math:`3/2 + \langle x - o, y - o \rangle / l^2`.

    KSD then sees means, scales and correlations only [1]_, MMD means only.

    Read more in the :ref:`User Guide <ksd>`.

    Parameters
    ----------
    bandwidth : float or None, default=None
        Length l. None is the root mean square of x - o.
    origin : array-like of shape (n_features,) or None, default=None
        Point o. None is the mean.

    See Also
    --------
    LinearKernel : Compares means only.

    References
    ----------
    .. [1] C. Stein, "Estimation of the mean of a multivariate normal distribution",
       Annals of Statistics 9, 1981.

    Examples
    --------
    >>> from skdiscrepancy.kernels import AffineKernel
    >>> AffineKernel()([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[12.5]]
    """

    differentiable = True

    def __init__(
        self, bandwidth: float | None = None, *, origin: ArrayLike | None = None
    ):
        self.bandwidth = bandwidth
        self.origin = origin

    def check_params(self) -> None:
        super().check_params()
        check_number(self.bandwidth, "bandwidth", strict=True, optional=True)

    def learn(self, samples: list[np.ndarray]) -> AffineKernel:
        kernel = super().learn(samples)
        if self.bandwidth is None:
            with np.errstate(over="ignore", invalid="ignore"):
                square = np.mean(np.square(np.concatenate(samples) - kernel.origin))
            kernel.set_params(bandwidth=float(np.sqrt(square)) or 1.0)
        return kernel

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        A, B = self._from_origin(A), self._from_origin(B)
        return 1.5 + inner_products(A, B) / float(self.bandwidth or 1) ** 2

    def stein_vectors(self, A: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, ...]:
        r"""Compute vectors P, U and V of rows.

        The Stein kernel is :math:`(P_i^\top P_j) (S_i^\top S_j) + U_i^\top V_j`.

        Parameters
        ----------
        A, S : ndarray of shape (n_rows, n_features)
            Rows, and gradients of the log-density.

        Returns
        -------
        P, U, V : ndarray of shape (n_rows, n_vectors)
            Vectors.
        """
        n, length = len(A), float(self.bandwidth or 1)
        A, d, ones = self._from_origin(A), A.shape[1], np.ones(n)
        if n > 1 and np.abs(A.mean(axis=0, dtype=np.float64)).max() < 1e-6 * length:
            # The origin is the mean of these rows, and each row is a part of it. As if
            # it were the mean of the other rows.
            A = A * A.dtype.type(n / (n - 1))
        P = np.column_stack((A / length, np.sqrt(1.5) * ones))
        a = aligned_products(A, S) + d
        # U_i . V_j is a_i + a_j - d + a_i a_j / 5, divided by the squared bandwidth.
        U = np.array([a / 5**0.5 + 5**0.5, (5 + d) ** 0.5 * ones]).T / length
        return P, U, U * [1, -1]


class CovarianceKernel(CentredKernel):
    r"""Covariance kernel :math:`\langle x - o, y - o \rangle^2`, with the mean as o.

    It compares covariances only [1]_. Outliers have a large weight.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    origin : array-like of shape (n_features,) or None, default=None
        Point o. None is the mean.

    See Also
    --------
    LinearKernel : Compares means only.

    References
    ----------
    .. [1] J. Li and S. X. Chen, "Two sample tests for high-dimensional covariance
       matrices", Annals of Statistics 40, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_test
    >>> X, Y = np.random.RandomState(0).normal(size=(2, 100, 300))
    >>> Y[:, :10] = Y[:, :1]
    >>> kernels = ["gaussian", "laplace", "covariance"]
    >>> mmd_test(X, Y, kernel=kernels, random_state=0).pvalue < 0.01
    True
    """

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        F = self._from_origin(A)
        return np.square(inner_products(F, F if B is A else self._from_origin(B)))

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.square(aligned_products(self._from_origin(A), self._from_origin(B)))


# Sparse features of more columns are not made dense.
MAX_DENSE = 1024


class FeatureKernel(VectorKernel):
    r"""Kernel from a transformer, :math:`k(x, y) = \langle T(x), T(y) \rangle`.

    T is any transformer of scikit-learn. Tests of arrays fit it to both samples, and
    stay exact. Complete designs take linear time.

    Read more in the :ref:`User Guide <own_kernels>`.

    Parameters
    ----------
    transformer : transformer
        Transformer, not refitted if it is a :class:`~sklearn.frozen.FrozenEstimator`.

    Attributes
    ----------
    transformer_ : transformer
        Fitted transformer.

    See Also
    --------
    FunctionKernel : Kernel from a function.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.kernel_approximation import Nystroem
    >>> from skdiscrepancy import mmd_score
    >>> from skdiscrepancy.kernels import FeatureKernel
    >>> X, Y = np.random.RandomState(0).normal(size=(2, 200, 3))
    >>> kernel = FeatureKernel(Nystroem(n_components=50, random_state=0))
    >>> mmd_score(X, Y, kernel=kernel) < mmd_score(X, Y + 1, kernel=kernel)
    True
    """

    def __init__(self, transformer: Any):
        self.transformer = transformer

    def check_params(self) -> None:
        methods = ("fit", "transform", "get_params")
        known = all(callable(getattr(self.transformer, m, None)) for m in methods)
        if not known or isinstance(self.transformer, type):
            raise TypeError(
                f"transformer == {shown(self.transformer)}, must be a transformer "
                "object of scikit-learn, with `fit` and `transform`, such as "
                "Nystroem()."
            )

    def learn(self, samples: list[np.ndarray]) -> FeatureKernel:
        kernel = FeatureKernel(clone(self.transformer))
        if isinstance(self.transformer, FrozenEstimator):
            # Its method `fit` does nothing, but needs labels.
            kernel.transformer_ = kernel.transformer
            return kernel
        if any(isinstance(sample, LazyRows) for sample in samples):
            raise ValueError(
                f"transformer == {shown(self.transformer)}, must be fitted for data "
                "that are read by blocks. Fit it to some rows, and pass "
                "sklearn.frozen.FrozenEstimator(transformer)."
            )
        rows = Rows(*samples, centred=False)
        everything = rows.take(slice(0, len(rows)))
        if len(samples) > 1 and not rows.sparse:
            # Which rows a Nystroem approximation draws must not depend on the sample.
            everything = np.ascontiguousarray(everything)
            row = np.dtype((np.void, everything.itemsize * everything.shape[1]))
            keys = everything.view(row).ravel()
            everything = everything[np.argsort(keys, kind="stable")]
        kernel.transformer_ = _run(clone(self.transformer), "fit", everything)
        return kernel

    def transform(self, A: Any) -> Any:
        """Compute the features of rows.

        Parameters
        ----------
        A : {ndarray, csr_array} of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        F : {ndarray, csr_array} of shape (n_rows, n_components)
            Features.
        """
        transformer = getattr(self, "transformer_", self.transformer)
        F = _run(transformer, "transform", A)
        F = csr_array(F) if issparse(F) else np.asarray(F)
        returned = f"The transformer {type(transformer).__name__} returned"
        if F.ndim != 2 or F.shape[0] != A.shape[0]:
            raise ValueError(
                f"{returned} an array of shape {F.shape} for {A.shape[0]} rows, must "
                "return one row of features for each row."
            )
        _refuse_not_numbers(F.data if issparse(F) else F, returned)
        return F.astype(np.float64, copy=False) if F.dtype.kind != "f" else F

    _vectors = transform

    def features(self, A: np.ndarray) -> np.ndarray | None:
        F = self.transform(A)
        if issparse(F):
            return F.toarray() if F.shape[1] <= MAX_DENSE else None
        return F

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> np.ndarray:
        self.check_params()
        if hasattr(self, "transformer_"):
            return super().__call__(X, Y)
        samples = read_both(self, X, Y)
        return self.learn(samples)(*map(as_block, samples))


def _run(transformer: Any, method: str, A: Any) -> Any:
    """Call a method of a transformer, and say which one it was if it fails."""
    rows = f"{A.shape[0]} rows of {A.shape[1]} numbers"
    what = f"transformer == {shown(transformer)}, must be able to {method} {rows}"
    # A copy, because a transformer that works in place must not change the sample.
    with explaining(what):
        return getattr(transformer, method)(A.copy())
