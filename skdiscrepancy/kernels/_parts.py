"""Kernels that are made of other kernels, part by part."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from skdiscrepancy.kernels._base import CombinedKernel, KernelLike, RowKernel
from skdiscrepancy.kernels._radial_base import RadialKernel


def radial_parts(kernel: KernelLike) -> Iterator[RadialKernel]:
    """Yield the radial kernels that a kernel is made of."""
    if isinstance(kernel, RadialKernel):
        yield kernel
    elif isinstance(kernel, CombinedKernel):
        yield from radial_parts(kernel.first)
        yield from radial_parts(kernel.second)


def with_bandwidths(
    kernel: KernelLike, samples: list[np.ndarray], bandwidths: Iterator[list[float]]
) -> list[Any]:
    """Return the kernels that a kernel with several bandwidths stands for.

    Parameters
    ----------
    kernel : kernel object
        Kernel.
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
        return [
            clone(kernel).set_params(bandwidth=float(value))
            for value in next(bandwidths)
        ]
    if isinstance(kernel, CombinedKernel):
        first = with_bandwidths(kernel.first, samples, bandwidths)
        second = with_bandwidths(kernel.second, samples, bandwidths)
        n = max(len(first), len(second))
        pairs = zip(_spread(first, n), _spread(second, n), strict=True)
        return [type(kernel)(*pair) for pair in pairs]
    return [kernel.learn(samples) if isinstance(kernel, RowKernel) else clone(kernel)]


def _spread(kernels: list[Any], n: int) -> list[Any]:
    """Return n kernels in the given order, each repeated about equally often."""
    # Positions from the first kernel to the last, rounded to the nearest.
    steps, last = max(n - 1, 1), len(kernels) - 1
    return [kernels[(2 * i * last + steps) // (2 * steps)] for i in range(n)]
