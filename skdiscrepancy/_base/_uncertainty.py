"""How sure a discrepancy is: its standard error and its confidence interval.

A statistic is close to |mu + e|^2 - E |e|^2, where mu is the difference of two mean
embeddings and e is normal noise. So the statistic minus the discrepancy |mu|^2 is a
linear form of the noise, 2 <mu, e>, plus a quadratic form. Far from the null hypothesis
the linear form is larger, and the statistic is normal. Near the null hypothesis the
quadratic form is larger, and the statistic is skewed.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammainccinv
from scipy.stats import norm, t as student


@dataclass(frozen=True)
class Noise:
    """Moments of the noise of a statistic.

    The noise of the statistic is 2 p'g + g'G g minus its mean, for a vector g of
    independent standard normal numbers, one for each row. The projections p are
    the linear form, and the symmetric matrix G is the quadratic form.

    Attributes
    ----------
    linear : float
        The sum of the squares of the observed projections. Its mean is p'p + tr(G^2).
    squares, cubes : float
        tr(G^2) and tr(G^3).
    largest : float
        A bound of the largest eigenvalue of G, tr(G^4)^(1/4). Like `cubes`, it is 0 for
        normalised statistics, whose intervals do not need it.
    bias : float
        The mean of |e|^2, which the V-statistic has more than the U-statistic.
    ratio : float
        Variance of the normalised statistic by the jackknife, or 0 if it is not needed.
    ratio_bias : float
        Bias of the normalised statistic, because noise inflates the scales.
    """

    linear: float
    squares: float
    cubes: float
    largest: float
    bias: float
    ratio: float = 0.0
    ratio_bias: float = 0.0

    @property
    def variance(self) -> float:
        """Estimate of the variance of the statistic, at least that of its last term."""
        return 4 * max(self.linear - self.squares, 0.0) + 2 * self.squares

    @property
    def share(self) -> float:
        """Fraction of the squared projections that is noise, from 0 to 1."""
        if self.linear <= 0:
            return 1.0
        return min(self.squares / self.linear, 1.0)

    @property
    def variance_of_ratio(self) -> float:
        """Estimate of the variance of the normalised statistic.

        The jackknife has the variance 4 tr(G^2) for the quadratic form instead of
        2 tr(G^2), so half of the fraction of noise is subtracted. If the rows of the
        jackknife do not differ, the variance is for a fixed scale.
        """
        return self.ratio * (1 - self.share / 2) or self.variance


@dataclass(frozen=True)
class Uncertainty:
    """Standard error and confidence intervals of one discrepancy.

    Attributes
    ----------
    value : float
        The discrepancy.
    noise : Noise
        Moments of its noise.
    biased : bool
        Whether the discrepancy is a V-statistic.
    normalized : bool
        Whether it is divided by its scale.
    root : bool
        Whether it is the square root of a statistic.
    """

    value: float
    noise: Noise
    biased: bool = False
    normalized: bool = False
    root: bool = False

    @property
    def standard_error(self) -> float:
        """Standard error of the discrepancy."""
        if self.normalized:
            return float(np.sqrt(self.noise.variance_of_ratio))
        error = float(np.sqrt(self.noise.variance))
        if not self.root:
            return error
        # Delta method. The root of the error bounds the error of a root.
        bound = np.sqrt(error)
        return float(min(error / (2 * self.value), bound) if self.value > 0 else bound)

    @property
    def centre(self) -> float:
        """The statistic without the bias of a V-statistic."""
        value = self.value**2 if self.root else self.value
        return value - self.noise.bias if self.biased else value

    def interval(self, level: float) -> tuple[float, float]:
        """Return the bounds of a confidence interval, which are never negative."""
        centre = self.centre
        if self.normalized:
            width = float(norm.ppf((1 + level) / 2)) * self.standard_error
            # Noise in the scales makes the ratio smaller, by an amount that is not well
            # known, so only the upper bound is corrected for it. No discrepancy is
            # negative, so a negative statistic is evidence of none, not of less.
            higher = float(centre - min(self.noise.ratio_bias, 0.0))
            return max(centre - width, 0.0), max(higher, 0.0) + width
        low, high = quadratic_interval(centre, self.noise, level)
        return (float(np.sqrt(low)), float(np.sqrt(high))) if self.root else (low, high)


@dataclass(frozen=True)
class NormalUncertainty:
    """Standard error and confidence intervals of a statistic that is normal.

    Attributes
    ----------
    value : float
        The discrepancy.
    standard_error : float
        Its standard error.
    n_degrees : int
        Degrees of freedom of Student's t distribution.
    """

    value: float
    standard_error: float
    n_degrees: int

    def interval(self, level: float) -> tuple[float, float]:
        """Return the bounds of a confidence interval, which are never negative."""
        width = float(student.ppf((1 + level) / 2, self.n_degrees))
        width *= self.standard_error
        return max(self.value - width, 0.0), max(self.value + width, 0.0)


def quadratic_interval(
    statistic: float, noise: Noise, level: float
) -> tuple[float, float]:
    """Return a confidence interval of |mu|^2 by the inversion of tests.

    For each value of |mu|^2, the noise has the variance 4 r |mu|^2 + 2 tr(G^2), where r
    is the mean of the eigenvalues of G in the direction of mu. The lower bound is the
    smallest value whose upper quantile, by Pearson's type III distribution with three
    moments, is not below the statistic. The upper bound uses the normal quantile, which
    is wider than the quantile of a distribution that is skewed to the right, and near
    the null hypothesis the largest eigenvalue of G.

    Parameters
    ----------
    statistic : float
        Unbiased statistic.
    noise : Noise
        Moments of its noise.
    level : float
        Probability that the interval holds |mu|^2.

    Returns
    -------
    low, high : float
        The bounds, zero or larger.
    """
    tail = (1 - level) / 2
    unit = max(abs(statistic), np.sqrt(noise.variance))
    if noise.squares <= (1e-14 * unit) ** 2 and noise.linear <= (1e-14 * unit) ** 2:
        # Constant rows have no noise.
        return max(statistic, 0.0), max(statistic, 0.0)
    rate = _rate(statistic, noise)
    # The direction of mu is as uncertain as its projections, and may have the largest
    # eigenvalue.
    upper_rate = rate + noise.share * (noise.largest - rate)
    lower, upper = float(norm.ppf(tail)), float(norm.isf(tail))

    def deviation(value: float, rate: float = rate) -> float:
        return float(np.sqrt(4 * rate * value + 2 * noise.squares))

    def skewness(value: float) -> float:
        cumulant = 24 * rate**2 * value + 8 * noise.cubes
        spread = deviation(value)
        return max(cumulant, 0.0) / spread**3 if spread > 0 else 0.0

    def excess(value: float) -> float:
        # Pearson's quantile is below the normal quantile for a very large skewness.
        quantile = max(_pearson_quantile(tail, skewness(value)), upper)
        return statistic - value - deviation(value) * quantile

    def shortfall(value: float) -> float:
        return statistic - value - deviation(value, upper_rate) * lower

    return _crossing(excess, unit), _crossing(shortfall, unit)


def _pearson_quantile(tail: float, skewness: float) -> float:
    """Return the upper quantile of Pearson's type III distribution.

    It is a gamma distribution with mean 0 and variance 1. The largest skewness that
    occurs is the skewness of a chi-square distribution with one degree of freedom.
    """
    shape = 4 / min(max(skewness, 1e-3), 2.8) ** 2
    return float((gammainccinv(shape, tail) - shape) / np.sqrt(shape))


def _rate(statistic: float, noise: Noise) -> float:
    """Return p'p as a multiple of |mu|^2, a mean of eigenvalues of G.

    Near the null hypothesis, where the direction of mu is unknown, it is the mean in
    the direction of the observed embedding.
    """
    length = max(statistic, 0.0) + noise.bias
    rate = noise.linear / length if length > 0 else 0.0
    if statistic > 0:
        signal = max(noise.linear - noise.squares, 0.0)
        rate = max(rate, signal / statistic)
    return min(rate, noise.largest)


def _crossing(function: Callable[[float], float], unit: float) -> float:
    """Return the positive zero of a decreasing function, 0 if it starts below zero."""
    if function(0.0) <= 0:
        return 0.0
    high = unit
    while function(high) > 0:
        high *= 4
    return float(brentq(function, 0.0, high, xtol=1e-12 * unit, rtol=1e-12))
