"""Base class of kernels, kernels on some columns, sums and products of kernels."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import operator
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from skdiscrepancy._data.arrays import as_block, check_rows, of_one_kind
from skdiscrepancy._data.checks import KeywordHints, check_number, shown
from skdiscrepancy._data.frames import Layout


def accept_sparse(X: Any, name: str, kernels: list[Any]) -> Literal["csr", False]:
    """Return the option `accept_sparse` of `check_array` for a sample.

    Parameters
    ----------
    X : object
        Sample, not validated.
    name : str
        Name of the sample, for error messages.
    kernels : list of kernel objects
        Kernels that read the sample.

    Returns
    -------
    accept_sparse : "csr" or False
        "csr" if the kernels take sparse data. A sparse sample that they do not take is
        refused.
    """
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
    """Return X, and Y unless it is None, as rows that a kernel takes."""
    given = [(X, "X")] if Y is None else [(X, "X"), (Y, "Y")]
    samples = [
        check_rows(Z, name, accept_sparse=accept_sparse(Z, name, [kernel]))
        for Z, name in given
    ]
    n_features, other = samples[0].shape[1], samples[-1].shape[1]
    if other != n_features:
        raise ValueError(f"Y has {other} features, must have {n_features} as X.")
    return samples


# A function of blocks has no value for single pairs. Pairs are taken from the diagonals
# of small matrices.
PAIRS_AT_ONCE = 32


class Kernel(KeywordHints, BaseEstimator, metaclass=ABCMeta):
    """Base class of all kernels.

    A kernel measures how similar two rows are. The property `norm` is the order of the
    Minkowski distance that the kernel depends on. It is None for a kernel that does not
    depend on such a distance, such as a kernel on labels.

    `a + b` and `a * b` of two kernels are kernels.

    The kernels of this package follow the first section of [1]_. To write your own
    kernel, derive from :class:`RadialKernel` or :class:`RowKernel` instead of this
    class.

    Read more in the :ref:`User Guide <kernels>`.

    See Also
    --------
    RadialKernel : Base class for your own kernel of a distance.
    RowKernel : Base class for any other kernel.
    check_kernel : Turns names into kernel objects.

    References
    ----------
    .. [1] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> from skdiscrepancy.kernels import GaussianKernel, IndicatorKernel, LaplaceKernel
    >>> [k.norm for k in (GaussianKernel(), LaplaceKernel(), IndicatorKernel())]
    [2, 1, None]
    """

    @property
    def norm(self) -> Any:
        """Order of the Minkowski distance, None for a kernel of another kind."""
        return None

    @property
    def differentiable(self) -> bool:
        """Whether KSD can use the kernel.

        KSD needs a twice differentiable function of the Euclidean distance.
        """
        return False

    @property
    def takes_sparse(self) -> bool:
        """Whether the kernel takes sparse data.

        If you set it to True in your own kernel, `gram` gets matrices of the type
        ``scipy.sparse.csr_array``.
        """
        return False

    @abstractmethod
    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> np.ndarray:
        """Compute the Gram matrix.

        Parameters
        ----------
        X : array-like
            First sample.
        Y : array-like, default=None
            Second sample. If None, `X` is used.

        Returns
        -------
        K : ndarray of shape (n_samples_X, n_samples_Y)
            Value of the kernel for each pair of rows.
        """

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Compute the kernel of all rows of A with all rows of B, without any checks.

        Parameters
        ----------
        A : ndarray of shape (n_rows_A, n_features)
            First block of rows.
        B : ndarray of shape (n_rows_B, n_features)
            Second block of rows.

        Returns
        -------
        K : ndarray of shape (n_rows_A, n_rows_B)
            Values of the kernel.
        """
        return self(A, B)

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Compute the kernel of each row of A with the same row of B.

        Parameters
        ----------
        A : ndarray of shape (n_rows, n_features)
            First block of rows.
        B : ndarray of shape (n_rows, n_features)
            Second block of rows.

        Returns
        -------
        values : ndarray of shape (n_rows,)
            Values of the kernel.
        """
        parts = [
            np.diagonal(self.gram(A[i : i + PAIRS_AT_ONCE], B[i : i + PAIRS_AT_ONCE]))
            for i in range(0, A.shape[0], PAIRS_AT_ONCE)
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def check_params(self) -> None:
        """Refuse parameters that the kernel cannot be evaluated with.

        A bandwidth is not checked, because the estimator can still choose it.
        """

    def learn(self, samples: list[np.ndarray]) -> Any:
        """Return the kernel with all that it takes from the data of an estimator.

        Parameters
        ----------
        samples : list of ndarray of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        kernel : Kernel
            A copy of the kernel.
        """
        return clone(self)

    def resolve(self, table: Any, n_features: int) -> Kernel:
        """Return the kernel with positions in place of the names of columns.

        Parameters
        ----------
        table : object
            The data before validation, such as a DataFrame, or the layout of a table.
        n_features : int
            Number of columns of the rows that the kernel sees.

        Returns
        -------
        kernel : Kernel
            The kernel itself if it looks at all columns.
        """
        return self

    def members(self) -> list[Kernel]:
        """Return the kernel and all kernels that it is made of.

        Returns
        -------
        kernels : list of Kernel
            Only the kernel itself, unless it is made of other kernels.
        """
        return [self]

    def is_definite(self, n_features: int) -> bool:
        """Return whether the kernel is positive definite on rows of given length.

        Parameters
        ----------
        n_features : int
            Number of features of a row.

        Returns
        -------
        definite : bool
            False if it is known that the kernel is not positive definite. Then
            V-statistics can be negative.
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

    Derive your own kernel from this class if it has parameters to search over;
    otherwise pass a function as `kernel`. Write `gram`, and `pairs` if single pairs
    can be computed faster. Such kernels go back to [1]_; KSD cannot use them, because
    it needs derivatives.

    Read more in the :ref:`User Guide <kernels>`.

    See Also
    --------
    FunctionKernel : A kernel from a function.
    RadialKernel : Base class of the kernels that are functions of one distance.

    References
    ----------
    .. [1] N. Aronszajn, "Theory of reproducing kernels", Transactions of the American
       Mathematical Society 68, 1950.

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
        """Compute the kernel of all rows of A with all rows of B.

        Parameters
        ----------
        A : ndarray of shape (n_rows_A, n_features)
            First block of rows.
        B : ndarray of shape (n_rows_B, n_features)
            Second block of rows.

        Returns
        -------
        K : ndarray of shape (n_rows_A, n_rows_B)
            Values of the kernel.
        """

    def features(self, A: np.ndarray) -> np.ndarray | None:
        """Compute the vectors whose inner products are the kernel, if there are few.

        With them, complete statistics take linear time.

        Parameters
        ----------
        A : ndarray of shape (n_rows, n_features)
            Block of rows.

        Returns
        -------
        F : ndarray of shape (n_rows, n_components) or None
            None if the kernel has no such vectors.
        """
        return None

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> np.ndarray:
        """Compute the Gram matrix.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_features)
            First sample.
        Y : array-like of shape (n_samples_Y, n_features), default=None
            Second sample; `X` itself if None.

        Returns
        -------
        K : ndarray of shape (n_samples_X, n_samples_Y)
            Values of the kernel.
        """
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
        """Whether both kernels take sparse data."""
        return self.first.takes_sparse and self.second.takes_sparse

    def check_params(self) -> None:
        """Refuse parts that cannot be added or multiplied."""
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

    You get this kernel from `first + second`. It is positive definite if both kernels
    are [1]_. A sum is large if two rows are similar for one of the kernels.

    If both parts have several bandwidths, the i-th bandwidth of one part goes with the
    i-th bandwidth of the other part, so a grid of ten bandwidths gives ten kernels, not
    a hundred. A shorter list of bandwidths is spread over the longer list. A part
    without a bandwidth, or with a single one, goes with all of them.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    first : Kernel
        First kernel.
    second : Kernel
        Second kernel.

    See Also
    --------
    ProductKernel : Product of two kernels.
    ColumnKernel : Kernel on some columns, for sums over groups of columns.

    References
    ----------
    .. [1] N. Aronszajn, "Theory of reproducing kernels", Transactions of the American
       Mathematical Society 68, 1950.

    Examples
    --------
    >>> from skdiscrepancy.kernels import GaussianKernel, LinearKernel
    >>> kernel = GaussianKernel(bandwidth=2.0) + LinearKernel()
    >>> float(kernel([[0.0]], [[2.0]])[0, 0].round(4))
    0.3679
    """

    _operation = staticmethod(operator.add)

    def features(self, A: np.ndarray) -> np.ndarray | None:
        parts = []
        for part in (self.first, self.second):
            F = part.features(A) if isinstance(part, RowKernel) else None
            if F is None:
                return None
            parts.append(F)
        return np.concatenate(parts, axis=1)


class ProductKernel(CombinedKernel):  # numpydoc ignore=PR02
    """Product of two kernels, :math:`k_1(x, y) k_2(x, y)`.

    You get this kernel from `first * second`. It is positive definite if both kernels
    are [1]_. A product is large only if two rows are similar for both kernels.

    If both parts have several bandwidths, the i-th bandwidth of one part goes with the
    i-th bandwidth of the other part, so a grid of ten bandwidths gives ten kernels, not
    a hundred. A shorter list of bandwidths is spread over the longer list. A part
    without a bandwidth, or with a single one, goes with all of them.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    first : Kernel
        First kernel.
    second : Kernel
        Second kernel.

    See Also
    --------
    SumKernel : Sum of two kernels.
    ColumnKernel : Kernel on some columns, for numbers and categories in one table.

    References
    ----------
    .. [1] N. Aronszajn, "Theory of reproducing kernels", Transactions of the American
       Mathematical Society 68, 1950.

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
    """Kernel that looks at some of the columns.

    Add or multiply such kernels to give each group of columns a kernel of its own [1]_,
    for example a Gaussian kernel on columns of numbers and an indicator kernel on a
    column of categories. Bandwidths come from the distances in these columns alone.

    A table with categories, dates or missing values is encoded first, see
    :class:`~skdiscrepancy.tables.TableEncoder`. The kernel then sees all encoded
    columns of the columns that you choose.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    kernel : Kernel
        Kernel on the chosen columns.
    columns : int, str, list of int, list of str, slice, mask or callable
        The columns, as for :class:`sklearn.compose.ColumnTransformer`. Integers are
        positions. Strings are names of columns of a DataFrame. A callable, such as
        :class:`sklearn.compose.make_column_selector`, gets the DataFrame and returns
        one of these. The fitted kernels in `kernels_` have a list of positions.

    See Also
    --------
    ProductKernel : Product of kernels on different columns.
    SumKernel : Sum of kernels on different columns.

    References
    ----------
    .. [1] N. Aronszajn, "Theory of reproducing kernels", Transactions of the American
       Mathematical Society 68, 1950.

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
        """Refuse columns of a wrong type, before there are data."""
        check_part(self.kernel, "kernel")
        if not callable(self.columns):
            _check_columns(self.columns)

    def resolve(self, table: Any, n_features: int) -> ColumnKernel:
        layout = Layout.of(table, n_features)
        columns = self.columns
        if callable(columns):
            columns = columns(layout.table)
            _check_columns(columns)
        chosen = _positions(columns, layout)
        positions = layout.positions(chosen)
        inner = self.kernel.resolve(layout.take(chosen), len(positions))
        return ColumnKernel(inner, positions)

    def take(self, A: np.ndarray) -> np.ndarray:
        """Return the columns of a block that the kernel looks at.

        Parameters
        ----------
        A : ndarray of shape (n_rows, n_features)
            Block of rows.

        Returns
        -------
        block : ndarray of shape (n_rows, n_columns)
            The columns, copied.
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
        if not isinstance(self.kernel, RowKernel):
            return None
        return self.kernel.features(self.take(A))

    def members(self) -> list[Kernel]:
        return [self, *self.kernel.members()]

    def is_definite(self, n_features: int) -> bool:
        columns = self.resolve(None, n_features).columns
        return self.kernel.is_definite(len(columns))


def _check_columns(columns: Any) -> None:
    """Raise an error unless a value can stand for columns."""
    items = columns if _is_list(columns) else [columns]
    kinds: tuple[Any, ...] = (str, (bool, np.bool_), Integral)
    if isinstance(columns, slice):
        try:
            columns.indices(1)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"columns == {shown(columns)}, must be a slice of positions: {error}."
            ) from None
        return
    if not len(items):
        raise ValueError(f"columns == {shown(columns)}, must hold at least one column.")
    one_kind = any(all(isinstance(item, kind) for item in items) for kind in kinds)
    a_single_flag = isinstance(columns, (bool, np.bool_))
    if not one_kind or a_single_flag:
        raise TypeError(f"columns == {shown(columns)}, must be {ALLOWED}.")


def _positions(columns: Any, layout: Layout) -> list[int]:
    """Return the positions of checked columns."""
    n, names, wanted = len(layout.blocks), layout.names, ""
    items = list(columns) if _is_list(columns) else [columns]
    if isinstance(columns, slice):
        items = list(range(n))[columns]
        wanted = "" if items else f"select at least one of {n} columns"
    elif isinstance(items[0], str):
        missing = [name for name in items if name not in names]
        items = [names.index(name) for name in items if name in names]
        if not names:
            wanted = (
                f"hold positions from 0 to {n - 1}, because the data have no column "
                "names"
            )
        elif missing:
            wanted = (
                f"hold names of columns. {missing[0]!r} is not among the columns "
                f"{shown(names)}"
            )
    elif isinstance(items[0], (bool, np.bool_)):
        if len(items) != n or not any(items):
            wanted = (
                f"hold {n} flags, one for each column, and at least one of them must "
                "be True"
            )
        items = np.flatnonzero(items).tolist()
    elif not all(-n <= item < n for item in items):
        wanted = f"hold positions from 0 to {n - 1}, because there are {n} columns"
    if wanted:
        raise ValueError(f"columns == {shown(columns)}, must {wanted}.")
    return [int(item) % n for item in items]


def _is_list(columns: Any) -> bool:
    """Return whether a value holds several columns."""
    return isinstance(columns, (list, tuple)) or getattr(columns, "ndim", 0) == 1


def resolve_columns(
    kernels: list[KernelLike], table: Any, n_features: int
) -> list[KernelLike]:
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
