"""Kernels from Gram matrices: rows are positions."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data import check_rows
from skdiscrepancy.kernels._base import RowKernel

# Units of the working precision that two entries (i, j) and (j, i) may differ by,
# relative to the largest entry.
ROUNDING = 100
BLOCK_ROWS = 512


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
        K = check_rows(self.K, "K")
        if K.shape[0] != K.shape[1]:
            raise ValueError(f"K has shape {K.shape}, must be square.")
        limit = ROUNDING * np.finfo(K.dtype).eps * max(K.max(), -K.min())
        for i in range(0, len(K), BLOCK_ROWS):
            part = slice(i, i + BLOCK_ROWS)
            if np.any(np.abs(K[part] - K[:, part].T) > limit):
                raise ValueError("K must be symmetric.")

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
