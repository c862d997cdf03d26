"""The label kernel."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data import Codes, as_labels, check_flag, encode_labels
from skdiscrepancy.kernels._base import Kernel, KernelLike


class IndicatorKernel(Kernel):
    """Label kernel: 1 for equal labels, 0 for different ones.

    Labels are of any type that can be compared; with several columns, rows are equal if
    they agree in all of them. HSIC with this kernel on the labels of two stacked
    samples is their MMD, up to a factor [1]_; weights by class are discussed in [2]_.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    balanced : bool, default=False
        Divide by the number of times that the label occurs among all labels that the
        kernel is evaluated on, so that a rare class weighs as much as a frequent one.

    See Also
    --------
    GaussianKernel : Compares numbers.
    skdiscrepancy.HSICEstimator : Uses this kernel for labels y.

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
        """None: labels agree or do not."""
        return None

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> np.ndarray:
        """Compute the Gram matrix.

        Parameters
        ----------
        X : array-like of shape (n_samples_X,) or (n_samples_X, n_columns)
            First labels.
        Y : array-like of shape (n_samples_Y,) or (n_samples_Y, n_columns), default=None
            Second labels; `X` itself if None.

        Returns
        -------
        K : ndarray of shape (n_samples_X, n_samples_Y)
            Zeros and ones, or one over the count of the label among X and Y if
            `balanced`; float32 if the labels are, else float64.
        """
        check_flag(self.balanced, "balanced")
        X = as_labels(X, "X")
        parts, stop = [X], 0
        if Y is not None:
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


def sample_dtype(kernels: list[KernelLike]) -> Any:
    """Return what the rows of a sample are to be: floats, or labels of any type."""
    if all(isinstance(kernel, IndicatorKernel) for kernel in kernels):
        return None
    return [np.float64, np.float32]
