"""Kernels on some of the columns."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from skdiscrepancy._data import Layout, shown
from skdiscrepancy.kernels._base import Kernel, RowKernel, check_part

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
        chosen = _positions(columns, layout.names, len(layout.blocks))
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


def _positions(columns: Any, names: list[Any], n_features: int) -> list[int]:
    """Return the positions of checked columns."""
    if isinstance(columns, slice):
        found = list(range(n_features))[columns]
        if not found:
            raise ValueError(
                f"columns == {shown(columns)}, must select at least one of "
                f"{n_features} columns."
            )
        return found
    items = list(columns) if _is_list(columns) else [columns]
    if isinstance(items[0], str):
        return [_position(name, columns, names, n_features) for name in items]
    if isinstance(items[0], (bool, np.bool_)):
        if len(items) != n_features or not any(items):
            raise ValueError(
                f"columns == {shown(columns)}, must hold {n_features} flags, one for "
                "each column, and at least one of them must be True."
            )
        return np.flatnonzero(items).tolist()
    if not all(-n_features <= item < n_features for item in items):
        raise ValueError(
            f"columns == {shown(columns)}, must hold positions from 0 to "
            f"{n_features - 1}, because there are {n_features} columns."
        )
    return [int(item) % n_features for item in items]


def _position(name: str, columns: Any, names: list[Any], n_features: int) -> int:
    if name in names:
        return names.index(name)
    if not names:
        raise ValueError(
            f"columns == {shown(columns)}, must hold positions from 0 to "
            f"{n_features - 1}, because the data have no column names."
        )
    raise ValueError(
        f"columns == {shown(columns)}, must hold names of columns. {name!r} is not "
        f"among the columns {shown(names)}."
    )


def _is_list(columns: Any) -> bool:
    """Return whether a value holds several columns."""
    return isinstance(columns, (list, tuple)) or getattr(columns, "ndim", 0) == 1
