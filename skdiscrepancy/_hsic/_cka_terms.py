"""The three terms of CKA: HSIC of two samples, and of each sample with itself."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._base import check_finite
from skdiscrepancy._data import as_labels, as_table, check_rows, shown, warn_user
from skdiscrepancy._engine import Source, in_one_blas_thread, source_pair_totals
from skdiscrepancy._hsic._statistics import centring_offsets
from skdiscrepancy.bandwidths import N_BANDWIDTHS, build_collection, check_bandwidths
from skdiscrepancy.designs import check_design
from skdiscrepancy.kernels import (
    KernelLike,
    check_kernel,
    resolve_columns,
    sample_dtype,
    warn_if_indefinite,
)


class CKASettings(NamedTuple):
    """What the check of the parameters of CKA has found.

    Attributes
    ----------
    kernel, target_kernel : list of length 1
        The kernel on X and the kernel on Y, bandwidths still to be chosen.
    unbiased : bool
        Whether HSIC is the U-statistic.
    """

    kernel: list[KernelLike]
    target_kernel: list[KernelLike]
    unbiased: bool

    @property
    def least_rows(self) -> int:
        """Smallest number of rows that HSIC takes."""
        return 4 if self.unbiased else 2


def check_cka_params(
    kernel: Any, target_kernel: Any, bandwidth: Any, design: Any
) -> CKASettings:
    """Check the parameters of CKA."""
    checked = check_design(design)
    if not checked.complete:
        raise ValueError(
            f"design == {shown(design)}, must be 'u' or 'v': CKA needs all pairs of "
            "rows."
        )
    of_x = _one_kernel(kernel, "kernel")
    of_y = (
        of_x if target_kernel is None else _one_kernel(target_kernel, "target_kernel")
    )
    check_bandwidths([*of_x, *of_y], bandwidth, "bandwidth")
    return CKASettings(of_x, of_y, not checked.biased)


def _one_kernel(kernel: Any, name: str) -> list[KernelLike]:
    kernels = check_kernel(kernel, name)
    if len(kernels) > 1:
        raise ValueError(
            f"{name} == {shown(kernel)} has {len(kernels)} kernels, must be one kernel "
            "for CKA."
        )
    return kernels


def kernel_with_bandwidth(
    sample: np.ndarray, kernel: list[KernelLike], bandwidth: Any, table: Any
) -> list[Any]:
    """Return the kernel with all that it takes from a sample, in a list.

    `table` is the sample before validation, with the names of the columns.
    """
    kernel = resolve_columns(kernel, table, sample.shape[1])
    warn_if_indefinite(kernel, sample.shape[1])
    found = build_collection([sample], kernel, bandwidth, N_BANDWIDTHS, "bandwidth")
    if len(found) > 1:
        raise ValueError(
            f"bandwidth == {shown(bandwidth)} makes {len(found)} kernels of "
            f"{kernel[0]!r}, must be 'median' or one number for CKA."
        )
    return found


def as_representation(
    Z: Any, name: str, kernel: list[KernelLike], least: int
) -> np.ndarray:
    """Return a sample as the kernel reads it; one dimension is one column."""
    Z = as_table(Z)
    shape = tuple(getattr(Z, "shape", ()))
    if len(shape) > 2:
        raise ValueError(
            f"{name} has shape {shape}, must have two dimensions: flatten the values "
            f"of each row with reshape({shape[0]}, -1), or pass a list of layers."
        )
    Z = check_rows(
        Z, name, dtype=sample_dtype(kernel), ensure_min_samples=least, estimator="CKA"
    )
    return Z if Z.dtype.kind == "f" else as_labels(Z, name)


class Terms(NamedTuple):
    """HSIC of pairs of samples.

    Attributes
    ----------
    values : ndarray of shape (n_pairs,)
        HSIC of each pair.
    roundings : ndarray of shape (n_pairs,)
        How large HSIC of a constant sample with itself may be by rounding.
    """

    values: np.ndarray
    roundings: np.ndarray


@in_one_blas_thread
def hsic_terms(
    sources: list[Source],
    pairs: list[tuple[int, int]],
    n: int,
    *,
    unbiased: bool,
    **walk_options: Any,
) -> Terms:
    """Compute complete HSIC, not normalised, of pairs of sources with one kernel each.

    In the centred matrices A and B this is sum(A o B) / (n (n - 3)) for U, where the
    diagonal is left out, and sum(A o B) / n^2 for V, as in `complete_hsic`.

    Parameters
    ----------
    sources : list of Source
        One kernel each, on the same rows.
    pairs : list of pairs of int
        Positions of sources.
    n : int
        Number of rows.
    unbiased : bool
        U-statistics, or V-statistics.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    terms : Terms
        In the order of the pairs.
    """
    for source in sources:
        # CKA has neither incomplete designs nor random features.
        source.ways = ("minibatches (CKAEstimator.partial_fit)",)
    # Sums beyond floating point are refused below.
    with np.errstate(all="ignore"):
        found = source_pair_totals(
            sources,
            pairs,
            n,
            partial(centring_offsets, unbiased=unbiased),
            diagonal=not unbiased,
            **walk_options,
        )
    count = n * (n - 3) if unbiased else n * n
    return Terms(check_finite(found.totals / count), found.roundings / count)


def alignments(
    cross: np.ndarray, own_x: np.ndarray, own_y: np.ndarray, constant: list[str]
) -> np.ndarray:
    """Divide HSIC by the geometric mean of HSIC of each sample with itself.

    Parameters
    ----------
    cross : ndarray of shape (n_x, n_y)
        HSIC of each sample on the left with each sample on the right.
    own_x : ndarray of shape (n_x,)
        HSIC of the samples on the left with themselves, 0 for constant samples.
    own_y : ndarray of shape (n_y,)
        HSIC of the samples on the right with themselves, 0 for constant samples.
    constant : list of str
        Names of the constant samples, for the warning.

    Returns
    -------
    cka : ndarray of shape (n_x, n_y)
        CKA, 0 beside a constant sample.
    """
    if constant:
        warn_user(
            f"CKA with {', '.join(constant)} is 0, because HSIC with itself is not "
            "positive. For the kernel, all rows are equal, all rows are equally "
            "different, or all rows but one are equal."
        )
    # Root by root: the product of two HSIC may be beyond floating point.
    scale = np.sqrt(np.maximum(own_x, 0))[:, np.newaxis] * np.sqrt(np.maximum(own_y, 0))
    cka = np.zeros(cross.shape)
    np.divide(cross, scale, out=cka, where=scale > 0)
    return cka


def positive_part(terms: np.ndarray, roundings: np.ndarray) -> np.ndarray:
    """Return HSIC of samples with themselves, 0 where it is a rounding error."""
    return np.where(terms > roundings, terms, 0.0)
