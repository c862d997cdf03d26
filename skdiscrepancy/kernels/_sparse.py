"""Which kernels take sparse data."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, Literal

from scipy.sparse import issparse


def takes_sparse(kernels: list[Any]) -> bool:
    """Return whether all kernels can be evaluated on sparse rows."""
    return all(getattr(kernel, "takes_sparse", False) for kernel in kernels)


def accept_sparse(X: Any, name: str, kernels: list[Any]) -> Literal["csr", False]:
    """Return the option `accept_sparse` of `check_array` for a sample.

    Parameters
    ----------
    X : object
        Sample, not validated.
    name : str
        Name of the sample, for error messages.
    kernels : list of kernel objects
        Kernels that read the sample.

    Returns
    -------
    accept_sparse : "csr" or False
        "csr" if the kernels take sparse data. A sparse sample that they do not take is
        refused.
    """
    if takes_sparse(kernels):
        return "csr"
    if issparse(X):
        kernel = next(k for k in kernels if not getattr(k, "takes_sparse", False))
        shown = " ".join(repr(kernel).split())
        raise TypeError(
            f"{name} is sparse, must be dense for kernel == {shown}. Sparse data need "
            "one of the kernels GaussianKernel, IMQKernel, LaplaceKernel, MaternKernel "
            "with p=1 or p=2, these with the metric 'cosine', 'euclidean' or "
            "'manhattan', LinearKernel, PolynomialKernel, CosineKernel, "
            "FunctionKernel, or sums and products of them. To convert the data, call "
            f"{name}.toarray()."
        )
    return False
