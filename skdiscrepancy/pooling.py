"""Normalisation of statistics by their scales, and pooling over kernels."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data import check_number

__all__ = ["normalize_statistics", "pool_statistics"]

# How statistics become one score; None is for a single kernel.
POOLINGS = ("fuse", "mean", "max", None)
# How statistics become one test; "agg" pools the p-values of the kernels.
TEST_POOLINGS = ("max", "mean", "fuse", "agg")
# Sums of fewer than 1e8 numbers below this are finite.
LARGE = 1e300


def __dir__() -> list[str]:
    return sorted(__all__)


def normalize_statistics(
    statistics: ArrayLike, scales: ArrayLike, *, rounding: ArrayLike = 0.0
) -> np.ndarray:
    """Divide each statistic by its scale.

    The scale is an estimate of the standard deviation where there is a discrepancy
    ([1]_, [2]_, Equation 5), which makes kernels comparable.

    Read more in the :ref:`User Guide <pooling>`.

    Parameters
    ----------
    statistics : array-like of shape (n_kernels,)
        Statistics S_k.
    scales : array-like of shape (n_kernels,)
        Scales sigma_k, not negative.
    rounding : float or array-like of shape (n_kernels,), default=0.0
        Size below which a number is a rounding error of zero.

    Returns
    -------
    normalized : ndarray of shape (n_kernels,)
        S_k / sigma_k; 0 where both are zero up to rounding, as for constant data.

    Raises
    ------
    ValueError
        If a scale is zero, up to rounding, and its statistic is not.

    See Also
    --------
    pool_statistics : Makes one number of several statistics.

    References
    ----------
    .. [1] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.
    .. [2] F. Liu et al., "Learning deep kernels for non-parametric two-sample tests",
       ICML 2020.

    Examples
    --------
    >>> from skdiscrepancy.pooling import normalize_statistics
    >>> normalize_statistics([1.0, 0.0], [2.0, 0.0]).tolist()
    [0.5, 0.0]
    """
    statistics = _finite_vector(statistics, "statistics")
    scales = _finite_vector(scales, "scales", statistics.shape)
    limits = _as_numbers(rounding, "rounding")
    if limits.shape not in ((), statistics.shape) or not np.all(limits >= 0):
        raise ValueError(
            f"rounding == {rounding!r}, must be a number >= 0, or as many as "
            f"statistics, {statistics.size}."
        )
    if np.any(scales < 0):
        raise ValueError(f"scales == {scales!r}, must be >= 0.")
    flat = scales <= limits
    undefined = flat & (np.abs(statistics) > limits)
    if np.any(undefined):
        raise ValueError(
            f"The scale sigma_k is zero for {np.count_nonzero(undefined)} of "
            f"{scales.size} kernel(s), the first being kernel "
            f"{int(np.argmax(undefined))}, while the statistic is not: it cannot be "
            "normalised. Use normalize=False, or more and more varied data."
        )
    with np.errstate(over="ignore"):
        normalized = np.divide(
            statistics, scales, out=np.zeros_like(statistics), where=~flat
        )
    if not np.all(np.isfinite(normalized)):
        k = int(np.argmin(np.isfinite(normalized)))
        raise ValueError(
            f"scales[{k}] == {scales[k]:.3g}, must be larger for a statistic of "
            f"{statistics[k]:.3g}: their ratio is beyond floating point. Use "
            "normalize=False, or rescale the data."
        )
    return normalized


def _as_numbers(values: Any, name: str) -> np.ndarray:
    """Return numbers as an array, or an error that names them."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"{name} must be finite numbers: {error}.") from None


def pool_statistics(
    statistics: ArrayLike, *, pooling: str | None = "fuse", nu: float | None = None
) -> float:
    r"""Pool the statistics of a collection of kernels into one number.

    "fuse" is the rule of [1]_; all three are compared in [2]_.

    Read more in the :ref:`User Guide <pooling>`.

    Parameters
    ----------
    statistics : array-like of shape (n_kernels,)
        Statistics, normalised or not.
    pooling : {"fuse", "mean", "max"} or None, default="fuse"
        Relaxed maximum
        :math:`\frac1\nu \log \frac1{|K|} \sum_k \exp(\nu S_k)`, mean, or maximum;
        None for a single kernel.
    nu : float, default=None
        Parameter of "fuse", which needs it, positive: the larger, the closer to the
        maximum.

    Returns
    -------
    value : float
        Pooled statistic.

    See Also
    --------
    normalize_statistics : Makes the statistics of kernels comparable first.

    References
    ----------
    .. [1] F. Biggs, A. Schrab and A. Gretton, "MMD-FUSE: Learning and combining kernels
       for two-sample testing without data splitting", NeurIPS 2023.
    .. [2] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> from skdiscrepancy.pooling import pool_statistics
    >>> round(pool_statistics([1.0, 2.0], pooling="fuse", nu=1000.0), 3)
    1.999
    """
    statistics = _finite_vector(statistics, "statistics")
    if not statistics.size:
        raise ValueError(
            f"statistics has shape {statistics.shape}, must have one dimension and at "
            "least one entry."
        )
    check_pooling(pooling, statistics.size)
    if pooling is None:
        return float(statistics[0])
    if pooling == "max":
        return float(np.max(statistics))
    # Next to the largest number, only fractions have sums and differences.
    unit = 1.0
    if np.abs(statistics).max() > LARGE:
        unit = 2.0 ** (1 + len(statistics).bit_length())
    if pooling == "mean":
        return unit * float(np.mean(statistics / unit))
    check_number(nu, "nu", strict=True)
    assert nu is not None
    rate = min(unit * float(nu), np.finfo(np.float64).max)
    return unit * float(fuse(statistics / unit, rate))


def _finite_vector(
    values: ArrayLike, name: str, shape: tuple[int, ...] | None = None
) -> np.ndarray:
    """Return finite numbers, one for each kernel, as an array."""
    vector = _as_numbers(values, name)
    if vector.ndim != 1:
        raise ValueError(
            f"{name} has shape {vector.shape}, must have one dimension and at least "
            "one entry."
        )
    if shape is not None and vector.shape != shape:
        raise ValueError(
            f"{name} has shape {vector.shape}, must have {shape} as statistics."
        )
    if not np.all(np.isfinite(vector)):
        raise ValueError(f"{name} must be finite numbers.")
    return vector


def fuse(statistics: np.ndarray, nu: float) -> np.ndarray:
    """Compute the relaxed maximum over the first axis, one for each other entry."""
    # The maximum is taken out first, and added as it is, so that kernels that agree
    # give their common value to the last bit.
    top = statistics.max(axis=0)
    # expm1 and log1p keep the digits of the mean, the limit for small nu.
    with np.errstate(over="ignore"):
        excess = np.log1p(np.mean(np.expm1(nu * (statistics - top)), axis=0))
    return top + excess / nu


def check_pooling(pooling: Any, n_kernels: int = 1) -> None:
    """Refuse unknown rules, and None for more than one kernel."""
    if pooling is not None and not (isinstance(pooling, str) and pooling in POOLINGS):
        raise ValueError(f"pooling == {pooling!r}, must be one of {POOLINGS}.")
    if pooling is None and n_kernels != 1:
        raise ValueError(
            f"pooling == None, must be one of {POOLINGS[:-1]} for a collection of "
            f"{n_kernels} kernels; for one kernel give one name and one bandwidth."
        )
