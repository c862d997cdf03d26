"""The parameters of estimators and questions, and what each of them may be."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from skdiscrepancy._data.checks import (
    check_flag,
    check_jobs,
    check_number,
    check_seed,
    check_verbose,
)
from skdiscrepancy._gram.feature_maps import check_components
from skdiscrepancy.bandwidths import N_BANDWIDTHS, check_bandwidths
from skdiscrepancy.designs import check_design
from skdiscrepancy.kernels._names import KERNELS, check_kernel
from skdiscrepancy.pooling import check_pooling
from skdiscrepancy.tables import check_encoder

# Corrections of p-values for the number of tests.
CORRECTIONS = ("bh", "by", "holm", None)


def check_parameters(
    given: Mapping[str, Any], **own: Callable[[dict[str, Any]], Any]
) -> dict[str, Any]:
    """Check every parameter by its name, and return their values.

    A check takes all values, those of earlier checks included, because what one
    parameter may be can depend on others. What it returns, such as the kernels of
    names, replaces the value. `own` are checks in place of those of `CHECKS`.
    """
    values = dict(given)
    for name, check in (CHECKS | own).items():
        if name in given:
            found = check(values)
            values[name] = values[name] if found is None else found
    return values


def _alone(name: str, check: Callable[..., Any], /, **how: Any) -> Callable[..., Any]:
    """Return the check of a parameter that does not depend on others."""
    return lambda values: check(values[name], **how)


def _flag(name: str) -> Callable[..., None]:
    return _alone(name, check_flag, name=name)


def _integer(name: str) -> Callable[..., Any]:
    """Return the check of a positive integer."""
    return _alone(name, check_number, name=name, integer=True, least=1)


def _check_bandwidth(values: dict[str, Any]) -> None:
    n_bandwidths = values.get("n_bandwidths", N_BANDWIDTHS)
    check_bandwidths(values["kernel"], values["bandwidth"], "bandwidth", n_bandwidths)


def _check_nu(values: dict[str, Any]) -> None:
    nu = values["fuse_nu"]
    if not (isinstance(nu, str) and nu == "auto"):
        check_number(nu, "fuse_nu", strict=True, keyword="auto")


def _check_target_kernel(values: dict[str, Any]) -> list[Any]:
    """Return the kernels on y, none of them for "auto"."""
    kernel = values["target_kernel"]
    if isinstance(kernel, str) and kernel == "auto":
        return []
    return check_kernel(kernel, "target_kernel", ("auto", *KERNELS))


def _check_target_bandwidth(values: dict[str, Any]) -> None:
    bandwidth = values["target_bandwidth"]
    check_bandwidths(values["target_kernel"], bandwidth, "target_bandwidth")


def check_correction(correction: Any, allowed: tuple[Any, ...] = CORRECTIONS) -> None:
    """Refuse an unknown correction of p-values."""
    if correction not in allowed:
        raise ValueError(f"correction == {correction!r}, must be one of {allowed}.")


# What each parameter may be, in the order of the checks.
CHECKS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "correction": _alone("correction", check_correction),
    "level": _alone("level", check_number, name="level", strict=True, most=1),
    "max_columns": _integer("max_columns"),
    "max_rows": _integer("max_rows"),
    "design": _alone("design", check_design),
    "kernel": _alone("kernel", check_kernel),
    "n_bandwidths": _integer("n_bandwidths"),
    "bandwidth": _check_bandwidth,
    "second_order": _flag("second_order"),
    "standardize": _flag("standardize"),
    "normalize": _flag("normalize"),
    "squared": _flag("squared"),
    "pooling": _alone("pooling", check_pooling),
    "fuse_nu": _check_nu,
    "encoder": _alone("encoder", check_encoder),
    "n_jobs": _alone("n_jobs", check_jobs),
    "random_state": _alone("random_state", check_seed),
    "verbose": _alone("verbose", check_verbose),
    "target_kernel": _check_target_kernel,
    "target_bandwidth": _check_target_bandwidth,
    "n_components": _alone("n_components", check_components),
}
