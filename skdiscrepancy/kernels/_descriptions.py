"""Kernels in words, for tables and legends."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import inspect
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from skdiscrepancy.kernels._base import CombinedKernel, Kernel, SumKernel
from skdiscrepancy.kernels._columns import ColumnKernel
from skdiscrepancy.kernels._functions import FunctionKernel
from skdiscrepancy.kernels._radial import MaternKernel

# Parameters that are not in the name of a kernel: numbers of their own, or arrays.
NOT_NAMED = ("bandwidth", "balanced", "origin", "K")
# Letters of the value of a parameter in the name of a kernel, at most.
MAX_LETTERS = 40


def kernel_name(kernel: Any) -> str:
    """Return what a table or a legend calls a kernel, without the bandwidth.

    The parts of a sum or product have their bandwidths in brackets, because there is
    not one bandwidth for a column of a table or an axis of a figure.
    """
    if isinstance(kernel, CombinedKernel):
        parts = [kernel.first, kernel.second]
        if isinstance(kernel, SumKernel):
            return " + ".join(map(_part_name, parts))
        return " x ".join(_in_brackets(part, SumKernel) for part in parts)
    if isinstance(kernel, ColumnKernel):
        inner = _in_brackets(kernel.kernel, CombinedKernel)
        if not np.isnan(kernel_bandwidth(kernel)):
            inner = kernel_name(kernel.kernel)
        return f"{inner} on {_shortened(kernel.columns)}"
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
        function = kernel.function
        name = getattr(function, "__name__", None) or str(function)
        return ", ".join(
            [name, *(f"{k}={v!r}" for k, v in (kernel.params or {}).items())]
        )
    if getattr(kernel, "balanced", False) is True:
        return f"balanced {name}"
    return ", ".join([name, *_changed_parameters(kernel)])


def kernel_bandwidth(kernel: Any) -> float:
    """Return the bandwidth of a kernel, NaN if it has none that is a number."""
    if isinstance(kernel, ColumnKernel):
        return kernel_bandwidth(kernel.kernel)
    bandwidth = getattr(kernel, "bandwidth", None)
    return float(bandwidth) if isinstance(bandwidth, Real) else np.nan


def kernel_columns(kernels: Sequence[Any]) -> dict[str, Any]:
    """Return the columns of a table that say which kernels there are.

    Parameters
    ----------
    kernels : list of kernels, or of tuples of kernels on several variables
        The kernels.

    Returns
    -------
    columns : dict
        `kernel` and `bandwidth`; for pairs of a kernel on X and a kernel on y also
        `target_kernel` and `target_bandwidth`; for more variables `kernel` and a
        bandwidth for each variable, `bandwidth_0` and so on.
    """
    if kernels and isinstance(kernels[0], tuple) and len(kernels[0]) > 2:
        names = [list(dict.fromkeys(map(kernel_name, item))) for item in kernels]
        widths = np.array([list(map(kernel_bandwidth, item)) for item in kernels])
        return {
            "kernel": [", ".join(item) for item in names],
            **{f"bandwidth_{i}": column for i, column in enumerate(widths.T)},
        }
    if kernels and isinstance(kernels[0], tuple):
        on_x, on_y = zip(*kernels, strict=True)
        of_target = kernel_columns(on_y)
        return {
            **kernel_columns(on_x),
            **{f"target_{key}": values for key, values in of_target.items()},
        }
    return {
        "kernel": [kernel_name(kernel) for kernel in kernels],
        "bandwidth": np.array([kernel_bandwidth(kernel) for kernel in kernels]),
    }


def _part_name(kernel: Kernel) -> str:
    """Return the name of a part of another kernel, with its bandwidth."""
    if isinstance(kernel, ColumnKernel):
        inner = _in_brackets(kernel.kernel, CombinedKernel)
        return f"{inner} on {_shortened(kernel.columns)}"
    name, bandwidth = kernel_name(kernel), kernel_bandwidth(kernel)
    if isinstance(kernel, CombinedKernel):
        return name
    name, *options = name.split(", ")
    options += [] if np.isnan(bandwidth) else [f"{bandwidth:.3g}"]
    return f"{name}({', '.join(options)})" if options else name


def _in_brackets(kernel: Kernel, kind: Any) -> str:
    """Return the name of a part, in brackets if it is of a kind."""
    name = _part_name(kernel)
    return f"({name})" if isinstance(kernel, kind) else name


def _shortened(value: Any) -> str:
    """Return the text of a value in one short line, for a function its name."""
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    text = " ".join(repr(value).split())
    return text if len(text) <= MAX_LETTERS else f"{text[: MAX_LETTERS - 3]}..."


def _changed_parameters(kernel: Kernel) -> list[str]:
    """Return the parameters of a kernel that are not its defaults, as text."""
    changed = []
    defaults = inspect.signature(type(kernel)).parameters
    for name, value in kernel.get_params(deep=False).items():
        text = _shortened(value)
        if name in NOT_NAMED or text == repr(defaults[name].default):
            continue
        changed.append(f"{name}={text}")
    return changed
