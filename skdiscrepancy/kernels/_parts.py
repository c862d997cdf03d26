"""Kernels that are made of other kernels, part by part."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from skdiscrepancy.kernels._base import CombinedKernel, Kernel, KernelLike, RowKernel
from skdiscrepancy.kernels._columns import ColumnKernel
from skdiscrepancy.kernels._radial_base import RadialKernel


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
