"""Kernels by name."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from skdiscrepancy._data import check_flag
from skdiscrepancy.kernels._base import Kernel, KernelLike
from skdiscrepancy.kernels._labels import IndicatorKernel
from skdiscrepancy.kernels._radial import (
    GaussianKernel,
    IMQKernel,
    LaplaceKernel,
    MaternKernel,
    check_matern,
)

KERNELS: dict[str, Callable[[], Kernel]] = {
    "gaussian": GaussianKernel,
    "laplace": LaplaceKernel,
    "imq": IMQKernel,
    "matern12": partial(MaternKernel, nu=0.5),
    "matern32": partial(MaternKernel, nu=1.5),
    "matern52": partial(MaternKernel, nu=2.5),
    "matern72": partial(MaternKernel, nu=3.5),
    "matern92": partial(MaternKernel, nu=4.5),
    "indicator": IndicatorKernel,
}


def check_kernel(
    kernel: Any, name: str = "kernel", names: Iterable[str] = tuple(KERNELS)
) -> list[KernelLike]:
    """Return the kernels that a parameter names, bandwidths still to be chosen.

    The names are those of the kernels of [1]_.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    kernel : str, kernel object, or a tuple or list of them
        A name, a kernel of this module, or one of
        :mod:`sklearn.gaussian_process.kernels`.
    name : str, default="kernel"
        Name of the parameter, for error messages.
    names : iterable of str, default=all names
        Names that are allowed.

    Returns
    -------
    kernels : list of kernel objects
        Those given, and new ones for names.

    See Also
    --------
    Kernel : Is the base class of the kernels.
    skdiscrepancy.bandwidths.kernel_collection : Also chooses the bandwidths.

    References
    ----------
    .. [1] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> from skdiscrepancy.kernels import check_kernel
    >>> check_kernel(("gaussian", "matern52"))
    [GaussianKernel(), MaternKernel(nu=2.5)]
    """
    items = list(kernel) if isinstance(kernel, (tuple, list)) else [kernel]
    kernels = []
    for item in items:
        if isinstance(item, str) and item in KERNELS and item in names:
            kernels.append(KERNELS[item]())
        elif isinstance(item, (Kernel, GaussianProcessKernel)):
            if isinstance(item, MaternKernel):
                check_matern(item)
            elif isinstance(item, IndicatorKernel):
                check_flag(item.balanced, "balanced")
            kernels.append(item)
        else:
            error = ValueError if isinstance(item, str) else TypeError
            raise error(
                f"{name} == {item!r}, must be one of {sorted(names)}, a kernel "
                "object of skdiscrepancy.kernels or sklearn.gaussian_process.kernels, "
                "or a tuple or list of them."
            )
    if not kernels:
        raise ValueError(f"{name} == {kernel!r}, must hold at least one kernel.")
    return kernels
