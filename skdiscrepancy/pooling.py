"""Normalisation of the statistics of several kernels, and pooling into one number."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data.checks import check_value, make_public, refuse_several, shown

__all__ = ["normalize_statistics", "pool_statistics"]
# Ways to pool statistics into one test. "agg" pools the p-values of the kernels.
TEST_POOLINGS = ("max", "mean", "fuse", "agg")
# Sums of fewer than 1e8 numbers below this are finite.
LARGE = 1e300


make_public(__name__)


def normalize_statistics(
    statistics: ArrayLike, scales: ArrayLike, *, rounding: ArrayLike = 0.0
) -> np.ndarray:
    """Divide each statistic by its scale.

    Statistics of different kernels are then comparable ([1]_, Equation 5).

    Read more in the :ref:`User Guide <pooling>`.

    Parameters
    ----------
    statistics, scales : array-like of shape (n_kernels,)
        Statistic S_k and scale sigma_k of each kernel.
    rounding : float or array-like of shape (n_kernels,), default=0.0
        Numbers up to this size are treated as zero.

    Returns
    -------
    normalized : ndarray of shape (n_kernels,)
        S_k / sigma_k, or 0 if both are zero.

    See Also
    --------
    pool_statistics : Pools statistics into one number.

    References
    ----------
    .. [1] F. Liu et al., "Learning deep kernels for non-parametric two-sample tests",
       ICML 2020.

    Examples
    --------
    >>> from skdiscrepancy.pooling import normalize_statistics
    >>> normalize_statistics([1.0, 0.0], [2.0, 0.0]).tolist()
    [0.5, 0.0]
    """
    statistics = _numbers(statistics, "statistics", least=0)
    scales = _numbers(scales, "scales", least=0)
    if scales.shape != statistics.shape:
        raise ValueError(
            f"scales has shape {scales.shape}, must have {statistics.shape} as "
            "statistics."
        )
    limits = _numbers(rounding, "rounding")
    if limits.shape not in ((), statistics.shape) or not np.all(limits >= 0):
        raise ValueError(
            f"rounding == {shown(rounding)}, must be a number >= 0, or as many as "
            f"statistics, {statistics.size}."
        )
    if np.any(scales < 0):
        raise ValueError(f"scales == {shown(scales)}, must be >= 0.")
    flat = scales <= limits
    undefined = flat & (np.abs(statistics) > limits)
    if np.any(undefined):
        raise ValueError(
            f"The scale sigma_k is zero for {np.count_nonzero(undefined)} of "
            f"{scales.size} kernel(s), the first being kernel "
            f"{int(np.argmax(undefined))}, but the statistic is not zero, so it cannot "
            "be normalised. Use normalize=False, or data with more distinct rows."
        )
    with np.errstate(over="ignore"):
        normalized = np.divide(
            statistics, scales, out=np.zeros_like(statistics), where=~flat
        )
    if not np.all(np.isfinite(normalized)):
        k = int(np.argmin(np.isfinite(normalized)))
        raise ValueError(
            f"scales[{k}] == {scales[k]:.3g}, must be larger for a statistic of "
            f"{statistics[k]:.3g}, because their ratio overflows floating point. Use "
            "normalize=False, or rescale the data."
        )
    return normalized


def pool_statistics(
    statistics: ArrayLike, *, pooling: str | None = "fuse", nu: float | None = None
) -> float:
    r"""Pool the statistics of several kernels into one number.

    "fuse" [1]_ is the smooth maximum
    :math:`\frac1\nu \log \frac1{|K|} \sum_k \exp(\nu S_k)`.

    Read more in the :ref:`User Guide <pooling>`.

    Parameters
    ----------
    statistics : array-like of shape (n_kernels,)
        Statistic S_k of each kernel.
    pooling : {"fuse", "mean", "max"} or None, default="fuse"
        How to pool. None requires a single kernel.
    nu : float or None, default=None
        Parameter that "fuse" needs. Larger values approach "max".

    Returns
    -------
    value : float
        Pooled statistic.

    See Also
    --------
    normalize_statistics : Divides statistics by their scales.

    References
    ----------
    .. [1] F. Biggs et al., "MMD-FUSE: Learning and combining kernels for two-sample
       testing without data splitting", NeurIPS 2023.

    Examples
    --------
    >>> from skdiscrepancy.pooling import pool_statistics
    >>> for pooling in ("mean", "fuse", "max"):
    ...     print(pooling, round(pool_statistics([1, 2], pooling=pooling, nu=10), 3))
    mean 1.5
    fuse 1.931
    max 2.0
    """
    statistics = _numbers(statistics, "statistics", least=1)
    check_value(pooling, "pooling")
    if pooling is None:
        refuse_several(statistics.size)
        return float(statistics[0])
    if pooling == "max":
        return float(np.max(statistics))
    # Sums and differences of the largest floats overflow, so we scale them down.
    unit = 1.0
    if np.abs(statistics).max() > LARGE:
        unit = 2.0 ** (1 + len(statistics).bit_length())
    if pooling == "mean":
        return unit * float(np.mean(statistics / unit))
    nu = check_value(nu, "nu", {"strict": True})
    rate = min(unit * nu, np.finfo(np.float64).max)
    return unit * float(fuse(statistics / unit, rate))


def _numbers(values: ArrayLike, name: str, least: int | None = None) -> np.ndarray:
    """Return finite numbers as an array, of one dimension if they have a `least` size.

    Other values raise an error that names the parameter.
    """
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"{name} must be finite numbers: {error}.") from None
    if least is not None and (numbers.ndim != 1 or numbers.size < least):
        raise ValueError(
            f"{name} has shape {numbers.shape}, must have one dimension and at least "
            "one entry."
        )
    if not np.all(np.isfinite(numbers)):
        raise ValueError(f"{name} must be finite numbers.")
    return numbers


def fuse(statistics: np.ndarray, nu: float) -> np.ndarray:
    """Compute the relaxed maximum over the first axis."""
    # Subtracting the maximum avoids overflow. If all kernels have the same statistic,
    # the result is this statistic to the last bit.
    top = statistics.max(axis=0)
    # expm1 and log1p are accurate for small nu, where the limit is the mean.
    with np.errstate(over="ignore"):
        excess = np.log1p(np.mean(np.expm1(nu * (statistics - top)), axis=0))
    return top + excess / nu
