"""Kernels for labels, and kernels from Gram matrices."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data.arrays import as_labels, check_rows, encode_labels
from skdiscrepancy._data.checks import check_flag
from skdiscrepancy._data.distances import Codes
from skdiscrepancy.kernels._base import Kernel, KernelLike, RowKernel, accept_sparse


class IndicatorKernel(Kernel):
    """Kernel for categorical data: 1 for equal labels, 0 for different labels.

    Labels can be of any hashable type, such as strings or integers. If a row has
    several labels, two rows are equal if all their labels are equal.

    Stack two samples and label each row by its sample. HSIC between the rows and these
    labels, with this kernel on the labels, is the MMD of the two samples up to a factor
    [1]_. Weights for classes are discussed in [2]_.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    balanced : bool, default=False
        Whether to divide by the number of times that the label occurs in the data. A
        rare class then has the same weight as a frequent class.

    See Also
    --------
    GaussianKernel : Kernel for numbers.
    skdiscrepancy.HSICEstimator : Uses this kernel if y holds labels.

    References
    ----------
    .. [1] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.
    .. [2] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.

    Examples
    --------
    >>> from skdiscrepancy.kernels import IndicatorKernel
    >>> IndicatorKernel()(["a", "b"], ["b"]).tolist()
    [[0.0], [1.0]]
    """

    def __init__(self, *, balanced: bool = False):
        self.balanced = balanced

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> np.ndarray:
        """Compute the Gram matrix.

        Parameters
        ----------
        X : array-like of shape (n_samples_X,) or (n_samples_X, n_columns)
            Labels of the first sample.
        Y : array-like of shape (n_samples_Y,) or (n_samples_Y, n_columns), default=None
            Labels of the second sample. If None, `X` is used.

        Returns
        -------
        K : ndarray of shape (n_samples_X, n_samples_Y)
            1 for each pair of rows with equal labels, else 0. If `balanced` is True,
            each 1 is divided by the number of times that the label occurs in X and Y.
            The values are float32 if all labels are float32, else float64.
        """
        self.check_params()
        parts = []
        for Z, name in [(X, "X")] if Y is None else [(X, "X"), (Y, "Y")]:
            accept_sparse(Z, name, [self])
            parts.append(as_labels(Z, name))
        (n, n_columns), (m, other) = parts[0].shape, parts[-1].shape
        if n_columns != other:
            raise ValueError(f"Y has {other} columns, must have {n_columns} as X.")
        both = all(part.dtype == np.float32 for part in parts)
        labels = Codes(encode_labels(*parts), np.float32 if both else np.float64)
        rows, cols = slice(0, n), slice(len(labels) - m, len(labels))
        K = np.empty((n, m), dtype=labels.dtype)
        return labels.block(rows, cols, K, balanced=self.balanced)

    def check_params(self) -> None:
        check_flag(self.balanced, "balanced")

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Compute the kernel of all rows of A with all rows of B, without any checks.

        Parameters
        ----------
        A : ndarray of shape (n_rows_A, n_columns)
            First block of rows.
        B : ndarray of shape (n_rows_B, n_columns)
            Second block of rows.

        Returns
        -------
        K : ndarray of shape (n_rows_A, n_rows_B)
            1 for each pair of rows that are equal in all columns, else 0.
        """
        equal = np.ones((len(A), len(B)), dtype=bool)
        for a, b in zip(A.T, B.T, strict=True):
            equal &= a[:, np.newaxis] == b
        return equal.astype(A.dtype)

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Compute the kernel of each row of A with the same row of B.

        Parameters
        ----------
        A : ndarray of shape (n_rows, n_columns)
            First block of rows.
        B : ndarray of shape (n_rows, n_columns)
            Second block of rows.

        Returns
        -------
        values : ndarray of shape (n_rows,)
            1 for each pair of rows that are equal in all columns, else 0.
        """
        return np.all(A == B, axis=1).astype(A.dtype)


def sample_dtype(kernels: list[KernelLike]) -> Any:
    """Return the dtypes of a sample for `check_array`, None for labels of any type."""
    if all(isinstance(kernel, IndicatorKernel) for kernel in kernels):
        return None
    return [np.float64, np.float32]


def refuse_balanced(kernels: list[KernelLike], why: str, name: str = "kernel") -> None:
    """Refuse kernels whose values depend on how many rows have a label.

    Parameters
    ----------
    kernels : list of kernel objects
        Kernels.
    why : str
        For what they are refused, and why, for the error message.
    name : str, default="kernel"
        Name of the parameter.
    """
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
    """Kernel from a Gram matrix, for strings, graphs and anything else.

    The rows of X and y are positions in the matrix: one column of integers from 0 on.
    So tests, designs, cross-validation and pooling over several matrices work for data
    that are not numbers, such as graphs [1]_.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    K : array-like of shape (n_objects, n_objects)
        Gram matrix of all objects, symmetric.

    See Also
    --------
    FunctionKernel : A kernel from a function of two blocks of rows.
    skdiscrepancy.mmd_from_gram : The statistic from the blocks of a Gram matrix.

    References
    ----------
    .. [1] S. V. N. Vishwanathan et al., "Graph kernels", JMLR 11, 2010.

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
            False returns a view of an array whose repr is its shape.

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
        """Refuse a matrix that is not square, finite and symmetric."""
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
