"""Kernels by name, in words, and as chosen for y."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from numbers import Real
from typing import Any, NoReturn

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from skdiscrepancy._data.arrays import (
    SparseRows,
    are_labels,
    as_labels,
    is_numeric,
    refuse_different_labels,
    refuse_numbers_among_labels,
)
from skdiscrepancy._data.checks import did_you_mean, shown
from skdiscrepancy._data.frames import as_numbers
from skdiscrepancy.kernels._base import (
    AffineKernel,
    ColumnKernel,
    CombinedKernel,
    CosineKernel,
    CovarianceKernel,
    EnergyKernel,
    FunctionKernel,
    IndicatorKernel,
    Kernel,
    KernelLike,
    LinearKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RowKernel,
    SumKernel,
    accept_sparse,
    sample_dtype,
)
from skdiscrepancy.kernels._radial import (
    GaussianKernel,
    IMQKernel,
    LaplaceKernel,
    MaternKernel,
)

KERNELS: dict[str, Callable[[], Kernel]] = {
    "gaussian": GaussianKernel,
    "laplace": LaplaceKernel,
    "imq": IMQKernel,
    **{f"matern{2 * q + 1}2": partial(MaternKernel, nu=q + 0.5) for q in range(5)},
    "indicator": IndicatorKernel,
    "energy": EnergyKernel,
    "covariance": CovarianceKernel,
    "linear": LinearKernel,
    "affine": AffineKernel,
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


# Kernels of this package, and of scikit-learn.
KINDS = (Kernel, GaussianProcessKernel)


def check_kernel(
    kernel: Any, name: str = "kernel", names: Iterable[str] = tuple(KERNELS)
) -> list[KernelLike]:
    """Return kernel objects for names, functions and kernel objects.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    kernel : str, kernel object, callable, or a tuple or list of them
        Kernels: names, objects of :mod:`skdiscrepancy.kernels`, or functions. Names are
        "gaussian", "laplace", "imq", "matern12" to "matern92", "energy", "covariance",
        "linear", "affine", "polynomial", "cosine", "indicator", and all names of
        :func:`sklearn.metrics.pairwise.pairwise_kernels`.
    name : str, default="kernel"
        Name of the parameter, for error messages.
    names : iterable of str, optional
        Allowed names, by default all.

    Returns
    -------
    kernels : list of kernel objects
        Kernels.

    See Also
    --------
    skdiscrepancy.bandwidths.kernel_collection : Also chooses bandwidths.

    Examples
    --------
    >>> from skdiscrepancy.kernels import check_kernel
    >>> check_kernel(("gaussian", "matern52"))
    [GaussianKernel(), MaternKernel(nu=2.5)]
    """
    items = list(kernel) if isinstance(kernel, (tuple, list)) else [kernel]
    if not items:
        raise ValueError(f"{name} == {kernel!r}, must hold at least one kernel.")
    kernels: list[KernelLike] = []
    for item in items:
        named = isinstance(item, str) and item in KERNELS and item in names
        other = callable(item) and not isinstance(item, (type, *KINDS))
        checked = KERNELS[item]() if named else FunctionKernel(item) if other else item
        if not isinstance(checked, KINDS):
            _refuse(item, name, names)
        if isinstance(checked, Kernel) and not named:
            checked.check_params()
        kernels.append(checked)
    return kernels


def _refuse(item: Any, name: str, names: Iterable[str]) -> NoReturn:
    """Say what is wrong with a value that is not a kernel."""
    text = isinstance(item, str)
    if text and item == "precomputed":
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
    raise (ValueError if text else TypeError)(
        f"{name} == {shown(item)}, must be one of {sorted(names)}, a kernel object of "
        "skdiscrepancy.kernels or sklearn.gaussian_process.kernels, a function that "
        "returns the Gram matrix of two blocks of rows, or a tuple or list of them."
        + did_you_mean(item, names)
    )


# Rules that compute bandwidths from the distances between rows.
RULES = ("grid", "median", "dyadic")
# Default number of bandwidths of a grid.
N_BANDWIDTHS = 10


def check_bandwidths(
    kernels: list[Any], bandwidth: Any, name: str, n_bandwidths: int | None = None
) -> None:
    """Check a bandwidth parameter and the bandwidths that kernel objects have."""
    given = [(name, bandwidth)]
    for kernel in kernels:
        for member in kernel.members() if isinstance(kernel, Kernel) else ():
            own = getattr(member, "bandwidth", None)
            if own is not None and not isinstance(member, RowKernel):
                given.append((f"bandwidth of {type(member).__name__}", own))
    for title, value in given:
        if isinstance(value, str) and value in RULES:
            continue
        message = (
            f"{title} == {shown(value)}, must be 'grid', 'median', 'dyadic', or one or "
            f"more finite numbers > 0.{did_you_mean(value, RULES)}"
        )
        try:
            values = np.asarray(value)
        except ValueError:
            raise ValueError(message) from None
        if values.size and values.dtype.kind not in "iuf":
            if all(type(one) is int for one in values.ravel()):
                raise ValueError(f"{message} Integers must be below 2**64.")
            raise (ValueError if isinstance(value, str) else TypeError)(message)
        positive = np.all(values > 0) and np.all(np.isfinite(values))
        if values.ndim > 1 or not values.size or not positive:
            raise ValueError(message)
    dyadic = isinstance(bandwidth, str) and bandwidth == "dyadic"
    if dyadic and n_bandwidths is not None:
        raise ValueError(
            f"n_bandwidths == {n_bandwidths!r}, must be None for {name} == 'dyadic', "
            "because the data determine the number of dyadic bandwidths. "
            f"To choose the number yourself, also pass {name}='grid'."
        )


def tag_sparse(tags: Any, kernel: Any) -> Any:
    """Set the tag that X may be sparse, if the kernels of a parameter take it."""
    try:
        accepted = accept_sparse(None, "X", check_kernel(kernel))
        tags.input_tags.sparse = accepted == "csr"
    except (TypeError, ValueError):
        # `fit` explains what is wrong with the parameter.
        tags.input_tags.sparse = False
    return tags


# Parameters that are not in the name of a kernel: numbers of their own, or arrays.
NOT_NAMED = ("bandwidth", "balanced", "origin", "K")
# Letters of the value of a parameter in the name of a kernel, at most.
MAX_LETTERS = 40


def kernel_name(kernel: Any) -> str:
    """Return the name of a kernel without its bandwidth, for a table or a legend."""
    if isinstance(kernel, CombinedKernel):
        is_sum, parts = isinstance(kernel, SumKernel), (kernel.first, kernel.second)
        names = [_part_name(part, () if is_sum else SumKernel) for part in parts]
        return (" + " if is_sum else " x ").join(names)
    if isinstance(kernel, ColumnKernel):
        if np.isnan(kernel_bandwidth(kernel)):
            return _part_name(kernel)
        return f"{kernel_name(kernel.kernel)} on {_shortened(kernel.columns)}"
    if isinstance(kernel, MaternKernel):
        order = "" if kernel.p == 2 else f", L{kernel.p:g}"
        if kernel.metric is not None:
            order = f", metric={_shortened(kernel.metric)}"
        return f"Matérn {round(2 * kernel.nu)}/2{order}"
    if not isinstance(kernel, Kernel):
        # A kernel of scikit-learn, which may be a sum or product.
        return str(kernel)
    name = type(kernel).__name__.removesuffix("Kernel")
    if isinstance(kernel, FunctionKernel):
        name = getattr(kernel.function, "__name__", None) or str(kernel.function)
        changed = [f"{k}={v!r}" for k, v in (kernel.params or {}).items()]
        return ", ".join([name, *changed])
    if getattr(kernel, "balanced", False) is True:
        return f"balanced {name}"
    defaults = inspect.signature(type(kernel)).parameters
    texts = {k: _shortened(v) for k, v in kernel.get_params(deep=False).items()}
    changed = [
        f"{k}={text}"
        for k, text in texts.items()
        if k not in NOT_NAMED and text != repr(defaults[k].default)
    ]
    return ", ".join([name, *changed])


def kernel_bandwidth(kernel: Any) -> float:
    """Return the bandwidth of a kernel, NaN if it has none that is a number."""
    if isinstance(kernel, ColumnKernel):
        return kernel_bandwidth(kernel.kernel)
    bandwidth = getattr(kernel, "bandwidth", None)
    return float(bandwidth) if isinstance(bandwidth, Real) else np.nan


def kernel_columns(kernels: Sequence[Any]) -> dict[str, Any]:
    """Return the columns of a table that say which kernels there are."""
    if not (kernels and isinstance(kernels[0], tuple)):
        return {
            "kernel": [kernel_name(kernel) for kernel in kernels],
            "bandwidth": np.array([kernel_bandwidth(kernel) for kernel in kernels]),
        }
    on_x, *others = (kernel_columns(column) for column in zip(*kernels, strict=True))
    if len(others) == 1:
        return on_x | {f"target_{key}": values for key, values in others[0].items()}
    each = [on_x, *others]
    names = zip(*(columns["kernel"] for columns in each), strict=True)
    return {
        "kernel": [", ".join(dict.fromkeys(item)) for item in names],
        **{f"bandwidth_{i}": columns["bandwidth"] for i, columns in enumerate(each)},
    }


def _part_name(kernel: Kernel, bracketed: Any = ()) -> str:
    """Return the name of a part with its bandwidth, in brackets if it is of a kind."""
    if isinstance(kernel, ColumnKernel):
        inner = _part_name(kernel.kernel, CombinedKernel)
        name = f"{inner} on {_shortened(kernel.columns)}"
    elif isinstance(kernel, CombinedKernel):
        name = kernel_name(kernel)
    else:
        name, *options = kernel_name(kernel).split(", ")
        bandwidth = kernel_bandwidth(kernel)
        options += [] if np.isnan(bandwidth) else [f"{bandwidth:.3g}"]
        name = f"{name}({', '.join(options)})" if options else name
    return f"({name})" if isinstance(kernel, bracketed) else name


def _shortened(value: Any) -> str:
    """Return the text of a value in one short line, for a function its name."""
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    text = " ".join(repr(value).split())
    return text if len(text) <= MAX_LETTERS else f"{text[: MAX_LETTERS - 3]}..."


def choose_target_kernels(target_kernel: Any, y: Any, kernels: list[Any]) -> list[Any]:
    """Return the kernels on y, given the parameter and the kernels on X."""
    if not (isinstance(target_kernel, str) and target_kernel == "auto"):
        return check_kernel(target_kernel, "target_kernel", ("auto", *KERNELS))
    if not isinstance(y, SparseRows) and are_labels(y):
        refuse_numbers_among_labels(y)
        refuse_different_labels(y)
        return [IndicatorKernel()]
    # Continuous numbers are hardly ever equal, so a label kernel does not suit them.
    # Positions in a Gram matrix of X carry no information about y, nor do columns of X.
    of_x = ColumnKernel, IndicatorKernel, PrecomputedKernel
    numeric = [kernel for kernel in kernels if not is_for_columns(kernel, *of_x)]
    return numeric or check_kernel(("gaussian", "laplace"))


def is_for_columns(kernel: KernelLike, *kinds: type) -> bool:
    """Return whether a kernel has a part of some kinds, or with a metric."""
    parts = kernel.members() if isinstance(kernel, Kernel) else []
    return any(
        isinstance(part, kinds) or getattr(part, "metric", None) is not None
        for part in parts
    )


def as_target(y: Any, kernels: list[Any], target_kernel: Any) -> np.ndarray:
    """Return y with one column for each target, as labels or as numbers."""
    y = y if isinstance(y, SparseRows) else as_labels(y, "y")
    if sample_dtype(kernels) is None or isinstance(y, SparseRows):
        return y
    if is_numeric(y):
        return as_numbers(y, "y")
    raise ValueError(
        f"y holds values of type {y.dtype}, must be numbers for target_kernel == "
        f"{target_kernel!r}; labels need target_kernel='indicator'."
    )
