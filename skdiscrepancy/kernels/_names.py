"""Kernels by name."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from skdiscrepancy._data import shown
from skdiscrepancy.kernels._base import Kernel, KernelLike
from skdiscrepancy.kernels._energy import EnergyKernel
from skdiscrepancy.kernels._functions import (
    CosineKernel,
    FunctionKernel,
    LinearKernel,
    PolynomialKernel,
)
from skdiscrepancy.kernels._labels import IndicatorKernel
from skdiscrepancy.kernels._radial import (
    GaussianKernel,
    IMQKernel,
    LaplaceKernel,
    MaternKernel,
)
from skdiscrepancy.kernels._sparse import takes_sparse

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
    "energy": EnergyKernel,
    "linear": LinearKernel,
    "polynomial": PolynomialKernel,
    "cosine": CosineKernel,
    # The names of `sklearn.metrics.pairwise.pairwise_kernels`.
    "rbf": GaussianKernel,
    "laplacian": LaplaceKernel,
    "poly": PolynomialKernel,
    "sigmoid": partial(FunctionKernel, "sigmoid"),
    "chi2": partial(FunctionKernel, "chi2"),
    "additive_chi2": partial(FunctionKernel, "additive_chi2"),
}


def check_kernel(
    kernel: Any, name: str = "kernel", names: Iterable[str] = tuple(KERNELS)
) -> list[KernelLike]:
    """Return the kernels that a parameter names, bandwidths still to be chosen.

    The names are those of the kernels of [1]_.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    kernel : str, kernel object, callable, or a tuple or list of them
        A name, a kernel of this module or of :mod:`sklearn.gaussian_process.kernels`,
        or a function that returns the Gram matrix of two blocks of rows.
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
    if not items:
        raise ValueError(f"{name} == {kernel!r}, must hold at least one kernel.")
    return [_check_one(item, name, list(names)) for item in items]


def _check_one(item: Any, name: str, names: list[str]) -> KernelLike:
    """Return one kernel of a parameter."""
    if isinstance(item, str) and item in KERNELS and item in names:
        return KERNELS[item]()
    if isinstance(item, (Kernel, GaussianProcessKernel)):
        if isinstance(item, Kernel):
            item.check_params()
        return item
    if callable(item) and not isinstance(item, type):
        kernel = FunctionKernel(item)
        kernel.check_params()
        return kernel
    if isinstance(item, str) and item == "precomputed":
        raise ValueError(
            f"{name} == 'precomputed', must be an object: pass {name}="
            "skdiscrepancy.kernels.PrecomputedKernel(K) and positions in K as rows, or "
            "pass Gram matrices to mmd_from_gram, hsic_from_gram or ksd_from_gram, and "
            "for a test to mmd_test_from_gram, hsic_test_from_gram or "
            "ksd_test_from_gram."
        )
    if len(getattr(item, "shape", ())) == 2:
        raise TypeError(
            f"{name} is an array of shape {tuple(item.shape)}, must be a kernel. For a "
            f"Gram matrix K, pass {name}=skdiscrepancy.kernels.PrecomputedKernel(K) "
            "and positions in K as rows."
        )
    error = ValueError if isinstance(item, str) else TypeError
    raise error(
        f"{name} == {shown(item)}, must be one of {sorted(names)}, a kernel object of "
        "skdiscrepancy.kernels or sklearn.gaussian_process.kernels, a function that "
        "returns the Gram matrix of two blocks of rows, or a tuple or list of them."
    )


def tag_sparse(tags: Any, kernel: Any) -> Any:
    """Set the tag that X may be sparse, if the kernels of a parameter take it."""
    try:
        tags.input_tags.sparse = takes_sparse(check_kernel(kernel))
    except (TypeError, ValueError):
        # `fit` explains what is wrong with the parameter.
        tags.input_tags.sparse = False
    return tags
