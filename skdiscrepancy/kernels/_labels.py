"""The label kernel, and labels as integers."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._samples import block_distances
from skdiscrepancy.kernels._radial import Kernel


class IndicatorKernel(Kernel):
    """Label kernel: 1 for equal labels, 0 for different ones.

    Labels are of any type that can be compared; with several columns, rows are equal if
    they agree in all of them.

    Examples
    --------
    >>> from skdiscrepancy.kernels import IndicatorKernel
    >>> IndicatorKernel()(["a", "b"], ["b"]).tolist()
    [[0.0], [1.0]]
    """

    @property
    def norm(self) -> None:
        """None: the distance is that of labels."""
        return None

    def evaluate(self, distance: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Write the kernel values for distances of labels to `out`."""
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
            Zeros and ones.
        """
        X = as_labels(X, "X")
        if Y is None:
            codes = encode_labels(X)
            return 1 - block_distances(codes, codes, None)
        Y = as_labels(Y, "Y")
        if X.shape[1] != Y.shape[1]:
            raise ValueError(
                f"Y has {Y.shape[1]} columns, must have {X.shape[1]} as X."
            )
        # Two parts may be of different types; as objects each label keeps its own.
        if X.dtype != Y.dtype:
            X, Y = X.astype(object), Y.astype(object)
        codes = encode_labels(np.concatenate((X, Y)))
        return 1 - block_distances(codes[: len(X)], codes[len(X) :], None)


def as_labels(labels: Any, name: str) -> np.ndarray:
    """Return labels of any type as an array with one column for each kind of label."""
    given, labels = labels, np.asarray(labels)
    if labels.dtype.kind in "US" and not hasattr(given, "dtype"):
        # numpy makes strings of the numbers in a list that also has strings.
        labels = np.asarray(given, dtype=object)
    if labels.ndim == 1:
        labels = labels[:, np.newaxis]
    if labels.ndim != 2 or labels.size == 0:
        raise ValueError(
            f"{name} has shape {labels.shape}, must have at least one row, and one "
            "or two dimensions."
        )
    # NaN is the one value that differs from itself; as a label it would match nothing.
    missing = labels != labels
    if labels.dtype == object:
        missing = missing | np.equal(labels, None)
    if np.any(missing):
        raise ValueError(f"Input {name} contains NaN or None; labels must be known.")
    return labels


def encode_labels(labels: np.ndarray) -> np.ndarray:
    """Return an integer for each row of labels, the same for equal rows."""
    codes = np.zeros(len(labels), dtype=np.int64)
    for column in labels.T:
        if column.dtype == object:
            # Labels of several types have no order, but they have a hash.
            known: dict[Any, int] = {}
            inverse = np.array([known.setdefault(v, len(known)) for v in column])
        else:
            inverse = np.unique(column, return_inverse=True)[1]
        codes = codes * (inverse.max() + 1) + inverse
        codes = np.unique(codes, return_inverse=True)[1]
    return codes
