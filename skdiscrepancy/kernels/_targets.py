"""Choice of the kernels on y."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

from skdiscrepancy._data import (
    are_labels,
    as_labels,
    as_numbers,
    is_numeric,
    refuse_different_labels,
    refuse_numbers_among_labels,
)
from skdiscrepancy.kernels._base import Kernel, KernelLike
from skdiscrepancy.kernels._columns import ColumnKernel
from skdiscrepancy.kernels._labels import IndicatorKernel, sample_dtype
from skdiscrepancy.kernels._names import KERNELS, check_kernel
from skdiscrepancy.kernels._precomputed import PrecomputedKernel


def choose_target_kernels(
    target_kernel: Any, y: np.ndarray, kernels: list[KernelLike]
) -> list[Any]:
    """Return the kernels on y, given the parameter and the kernels on X."""
    if not (isinstance(target_kernel, str) and target_kernel == "auto"):
        return check_kernel(target_kernel, "target_kernel", ("auto", *KERNELS))
    if are_labels(y):
        refuse_numbers_among_labels(y)
        refuse_different_labels(y)
        return [IndicatorKernel()]
    numeric = [kernel for kernel in kernels if not _is_for_x_only(kernel)]
    return numeric or check_kernel(("gaussian", "laplace"))


def _is_for_x_only(kernel: KernelLike) -> bool:
    """Return whether a kernel on X does not suit numbers in y.

    Continuous numbers are hardly ever equal, so a label kernel does not suit them.
    Positions in a Gram matrix of X carry no information about y, nor do columns of X.
    A metric is for several columns that belong together.
    """
    of_x = (ColumnKernel, IndicatorKernel, PrecomputedKernel)
    parts = kernel.members() if isinstance(kernel, Kernel) else []
    return any(
        isinstance(part, of_x) or getattr(part, "metric", None) is not None
        for part in parts
    )


def as_target(
    y: np.ndarray, kernels: list[KernelLike], target_kernel: Any
) -> np.ndarray:
    """Return y with one column for each target, as labels or as numbers."""
    y = as_labels(y, "y")
    if sample_dtype(kernels) is None:
        return y
    if is_numeric(y):
        return as_numbers(y, "y")
    raise ValueError(
        f"y holds values of type {y.dtype}, must be numbers for target_kernel == "
        f"{target_kernel!r}; labels need target_kernel='indicator'."
    )
