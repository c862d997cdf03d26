"""The label kernel."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data import (
    Codes,
    as_labels,
    block_distances,
    check_flag,
    encode_labels,
)
from skdiscrepancy.kernels._base import Kernel


class IndicatorKernel(Kernel):
    """Label kernel: 1 for equal labels, 0 for different ones.

    Labels are of any type that can be compared; with several columns, rows are equal if
    they agree in all of them. HSIC with this kernel on the labels of two stacked
    samples is their MMD, up to a factor [1]_; weights by class are discussed in [2]_.

    Parameters
    ----------
    balanced : bool, default=False
        Divide by the number of times that the label occurs among all labels that the
        kernel is evaluated on, so that a rare class weighs as much as a frequent one.

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
    def norm(self) -> str | None:
        """None or "balanced": the distance is that of labels."""
        check_flag(self.balanced, "balanced")
        return "balanced" if self.balanced else None

    def evaluate(self, distance: np.ndarray, out: np.ndarray) -> np.ndarray:
        if self.balanced:
            np.copyto(out, distance, casting="same_kind")
            return out
        return np.subtract(1, distance, out=out)

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
        X = as_labels(X, "X")
        if Y is None:
            return self._gram(encode_labels(X), X.dtype)
        Y = as_labels(Y, "Y")
        if X.shape[1] != Y.shape[1]:
            raise ValueError(
                f"Y has {Y.shape[1]} columns, must have {X.shape[1]} as X."
            )
        codes = encode_labels(X, Y)
        both = np.float32 if X.dtype == Y.dtype == np.float32 else np.float64
        return self._gram(codes, both, len(X))

    def _gram(
        self, codes: np.ndarray, dtype: Any, n_first: int | None = None
    ) -> np.ndarray:
        """Return the Gram matrix of the first codes with the others, or of all."""
        codes = Codes(codes, balanced=self.norm is not None).codes
        A, B = codes[:n_first], codes[n_first or 0 :]
        distance = block_distances(A, B, self.norm)
        if dtype == np.float32:
            distance = distance.astype(np.float32)
        return self.evaluate(distance, distance)


def sample_dtype(kernels: list[Any]) -> Any:
    """Return what the rows of a sample are to be: floats, or labels of any type."""
    if all(isinstance(kernel, IndicatorKernel) for kernel in kernels):
        return None
    return [np.float64, np.float32]
