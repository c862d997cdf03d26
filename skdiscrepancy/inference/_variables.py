"""The variables of a joint test: their rows and their kernels."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from skdiscrepancy._data import (
    are_integers,
    are_labels,
    as_array,
    as_labels,
    as_numbers,
    check_column_encoder,
    encode_labels,
    is_numeric,
    shown,
)
from skdiscrepancy.bandwidths import build_collection
from skdiscrepancy.kernels import (
    ColumnKernel,
    IndicatorKernel,
    Kernel,
    PrecomputedKernel,
    RadialKernel,
    kernel_bandwidth,
    warn_if_indefinite,
)
from skdiscrepancy.tables import encode_target, fit_target_encoder


@dataclass(frozen=True, eq=False)
class JointVariable:
    """One variable of a joint test.

    Attributes
    ----------
    rows : ndarray of shape (n_samples, n_columns)
        Numbers or labels.
    kernels : list of kernel objects
        Kernels, each with a number as bandwidth. Labels have a single kernel.
    """

    rows: np.ndarray
    kernels: list[Any]


def check_joint_kernels(kernels: list[Any]) -> None:
    """Refuse kernels that cannot be used on every variable."""
    for kernel in kernels:
        parts = kernel.members() if isinstance(kernel, Kernel) else []
        if any(isinstance(part, (ColumnKernel, PrecomputedKernel)) for part in parts):
            raise ValueError(
                f"kernel == {shown(kernel)}, must not choose columns or hold a Gram "
                "matrix, because all variables use the same kernels."
            )


def read_variable(
    Z: Any,
    name: str,
    kernels: list[Any],
    bandwidth: Any,
    n_bandwidths: int,
    encoder: Any,
) -> JointVariable:
    """Read one variable, and give its kernels their bandwidths.

    Labels are strings, booleans, and integers with at most 20 distinct values. They
    have the indicator kernel. Tables with missing values, or with labels beside
    numbers, are encoded by `TableEncoder`.

    Parameters
    ----------
    Z : array-like of shape (n_samples,) or (n_samples, n_columns)
        Variable.
    name : str
        Name of the variable, for error messages.
    kernels : list of kernel objects
        Kernels for numbers.
    bandwidth : {"dyadic", "grid", "median"}, float or array-like
        Bandwidths of the kernels that do not have their own.
    n_bandwidths : int
        Number of bandwidths of "dyadic" and "grid".
    encoder : "auto" or None
        Whether to encode tables.

    Returns
    -------
    variable : JointVariable
        Rows and kernels.
    """
    if issparse(Z):
        raise TypeError(f"{name} is a sparse matrix, must be dense.")
    check_column_encoder(encoder, Z, name, kinds=("number", "category"))
    all_labels = all(isinstance(kernel, IndicatorKernel) for kernel in kernels)
    table_encoder = fit_target_encoder(encoder, Z, labels=all_labels)
    rows = encode_target(encoder, table_encoder, Z, labels=all_labels)
    rows = as_labels(as_array(rows, name), name)
    if all_labels:
        return JointVariable(rows, kernels[:1])
    if are_labels(rows):
        _check_labels(rows, name)
        return JointVariable(rows, [IndicatorKernel()])
    rows = as_numbers(rows, name)
    if not np.all(np.isfinite(rows)):
        raise ValueError(f"{name} contains infinity, must hold finite numbers.")
    warn_if_indefinite(kernels, rows.shape[1])
    return JointVariable(rows, _collection(rows, kernels, bandwidth, n_bandwidths))


def _check_labels(rows: np.ndarray, name: str) -> None:
    """Refuse labels that are all different, and numbers beside labels."""
    if rows.dtype == object and rows.shape[1] > 1:
        for j, column in enumerate(rows.T):
            if is_numeric(column) and not are_integers(column):
                raise ValueError(
                    f"Column {j} of {name} holds numbers and another column labels. "
                    "Pass a DataFrame, or one variable for each column."
                )
    n_labels = int(encode_labels(rows).max()) + 1
    if n_labels == len(rows):
        raise ValueError(
            f"{name} holds {n_labels} labels that are all different, so they carry no "
            "information. Labels must occur more than once."
        )


def _collection(
    rows: np.ndarray, kernels: list[Any], bandwidth: Any, n_bandwidths: int
) -> list[Any]:
    """Give the kernels on numbers their bandwidths, as many for every variable."""
    found = []
    for kernel in kernels:
        rule = bandwidth
        if isinstance(kernel, RadialKernel) and kernel.bandwidth is not None:
            rule, kernel = kernel.bandwidth, clone(kernel).set_params(bandwidth=None)
        if isinstance(rule, str) and rule == "dyadic":
            rule = "grid"
            if isinstance(kernel, RadialKernel):
                rule = _dyadic_grid(rows, kernel, n_bandwidths)
        found += build_collection([rows], [kernel], rule, n_bandwidths, "bandwidth")
    return found


def _dyadic_grid(rows: np.ndarray, kernel: Any, n_bandwidths: int) -> np.ndarray:
    """Return bandwidths in equal ratios, on the range of the rule "dyadic".

    The rule itself chooses their number from the data, so it differs by variable.
    """
    if n_bandwidths == 1:
        [middle] = build_collection([rows], [kernel], "median", 1, "bandwidth")
        return np.array([kernel_bandwidth(middle)])
    ends = build_collection([rows], [kernel], "grid", 2, "bandwidth")
    low, high = (kernel_bandwidth(end) for end in ends)
    info = np.finfo(float)
    exponents = np.linspace(np.log2(low) - 1, np.log2(high) + 1, n_bandwidths)
    return np.exp2(np.clip(exponents, np.log2(info.tiny), np.log2(info.max) - 1e-9))
