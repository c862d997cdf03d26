"""Kernel for labels."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data import Codes, as_labels, check_flag, encode_labels
from skdiscrepancy.kernels._base import Kernel, KernelLike
from skdiscrepancy.kernels._sparse import accept_sparse


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

    @property
    def norm(self) -> None:
        """None, because labels have no distance."""
        return None

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
        accept_sparse(X, "X", [self])
        X = as_labels(X, "X")
        parts, stop = [X], 0
        if Y is not None:
            accept_sparse(Y, "Y", [self])
            Y = as_labels(Y, "Y")
            if X.shape[1] != Y.shape[1]:
                raise ValueError(
                    f"Y has {Y.shape[1]} columns, must have {X.shape[1]} as X."
                )
            parts, stop = [X, Y], len(X)
        both = all(part.dtype == np.float32 for part in parts)
        labels = Codes(encode_labels(*parts), np.float32 if both else np.float64)
        rows, cols = slice(0, len(X)), slice(stop, len(labels))
        K = np.empty((len(X), len(labels) - stop), dtype=labels.dtype)
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
