"""Kernels on some of the columns, and the parts of composed kernels."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from skdiscrepancy._data.checks import shown
from skdiscrepancy._data.frames import Layout
from skdiscrepancy.kernels._base import (
    CombinedKernel,
    Kernel,
    KernelLike,
    RowKernel,
    check_part,
)
from skdiscrepancy.kernels._radial import RadialKernel

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


class RadialPart(NamedTuple):
    """A radial kernel that another kernel is made of.

    Attributes
    ----------
    kernel : RadialKernel
        The kernel.
    columns : tuple of int or None
        Positions of the columns that the kernel looks at, None for all columns.
    """

    kernel: RadialKernel
    columns: tuple[int, ...] | None


def radial_parts(
    kernel: KernelLike, columns: tuple[int, ...] | None = None
) -> Iterator[RadialPart]:
    """Yield the radial kernels that a kernel on some columns is made of."""
    if isinstance(kernel, RadialKernel):
        yield RadialPart(kernel, columns)
    elif isinstance(kernel, CombinedKernel):
        yield from radial_parts(kernel.first, columns)
        yield from radial_parts(kernel.second, columns)
    elif isinstance(kernel, ColumnKernel):
        inner = kernel.columns
        chosen = inner if columns is None else [columns[j] for j in inner]
        yield from radial_parts(kernel.kernel, tuple(chosen))


def resolve_columns(
    kernels: list[KernelLike], table: Any, n_features: int
) -> list[KernelLike]:
    """Return kernels with positions in place of the names of columns of a table."""
    return [
        kernel.resolve(table, n_features) if isinstance(kernel, Kernel) else kernel
        for kernel in kernels
    ]


def with_bandwidths(
    kernel: KernelLike, samples: list[np.ndarray], bandwidths: Iterator[list[float]]
) -> list[Any]:
    """Return the kernels that a kernel with several bandwidths stands for.

    Parameters
    ----------
    kernel : kernel object
        Kernel, with positions in place of the names of columns.
    samples : list of ndarray of shape (n_samples, n_features)
        Samples.
    bandwidths : iterator of list of float
        Bandwidths of the radial kernels, in the order of :func:`radial_parts`.

    Returns
    -------
    kernels : list of kernel objects
        Kernels in the order of their bandwidths. The i-th bandwidth of the first part
        of a sum or product goes with the i-th bandwidth of the second part.
    """
    if isinstance(kernel, RadialKernel):
        own = clone(kernel)
        # Shallow copies share a metric, and so the distances of a tile.
        return [
            copy(own).set_params(bandwidth=float(value)) for value in next(bandwidths)
        ]
    if isinstance(kernel, CombinedKernel):
        first = with_bandwidths(kernel.first, samples, bandwidths)
        second = with_bandwidths(kernel.second, samples, bandwidths)
        n = max(len(first), len(second))
        pairs = zip(_spread(first, n), _spread(second, n), strict=True)
        return [type(kernel)(*pair) for pair in pairs]
    if isinstance(kernel, ColumnKernel):
        some = [kernel.take(sample) for sample in samples]
        return [
            ColumnKernel(part, kernel.columns)
            for part in with_bandwidths(kernel.kernel, some, bandwidths)
        ]
    return [kernel.learn(samples) if isinstance(kernel, RowKernel) else clone(kernel)]


def _spread(kernels: list[Any], n: int) -> list[Any]:
    """Return n kernels in the given order, each repeated about equally often."""
    # Positions from the first kernel to the last, rounded to the nearest.
    steps, last = max(n - 1, 1), len(kernels) - 1
    return [kernels[(2 * i * last + steps) // (2 * steps)] for i in range(n)]
