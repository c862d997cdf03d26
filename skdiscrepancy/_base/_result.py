"""The result of an estimator: a discrepancy, its statistics and its uncertainty."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skdiscrepancy._base._uncertainty import NormalUncertainty, Uncertainty
from skdiscrepancy._data import Result, check_number
from skdiscrepancy.kernels import kernel_columns


class UnavailableError(ValueError, AttributeError):
    """A result does not have this number. `hasattr` is False."""


@dataclass(frozen=True, eq=False, repr=False)
class DiscrepancyResult(Result):
    """Discrepancy with the statistic and scale of every kernel.

    The method `evaluate` of an estimator returns this result. It holds the pooled
    discrepancy and the statistics that were pooled [1]_, so you can see which kernels
    and bandwidths detect a difference. A notebook shows it as a table. Two results are
    equal if all their attributes are equal.

    Read more in the :ref:`User Guide <score>`.

    Attributes
    ----------
    value : float
        The discrepancy, the number that `score` returns.
    statistics : ndarray of shape (n_kernels,)
        The statistic S_k of each kernel before normalisation, or the square root of
        the statistic if `squared` is False.
    scales : ndarray of shape (n_kernels,)
        The scale sigma_k of each kernel. The scale of constant data is 0. All scales
        are 1 if `normalize` is False.
    kernels : list of length n_kernels
        The kernels. For HSIC, each entry is a pair of a kernel on X and a kernel on y.
    discrepancy : str
        Name of the discrepancy: "MMD", "HSIC" or "KSD".
    feature_errors : ndarray of shape (n_kernels,) or None
        Standard error of each statistic from the draw of random features, usually an
        upper bound. The standard error from the data is sigma_k / sqrt(n). None if the
        estimator has no `n_components`.
    uncertainty : object or None
        The numbers behind `standard_error` and `confidence_interval`, or a text that
        says why there are none.

    See Also
    --------
    MMDEstimator.evaluate : Compares two samples.
    HSICEstimator.evaluate : Measures how y depends on X.
    KSDEstimator.evaluate : Compares a sample with a model.
    skdiscrepancy.plotting.BandwidthDisplay : Draws the statistic of each kernel.

    References
    ----------
    .. [1] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import MMDEstimator
    >>> X = np.random.RandomState(0).normal(size=(50, 2))
    >>> result = MMDEstimator().fit(X[:25]).evaluate(X[25:])
    >>> round(result.value, 3), len(result.kernels)
    (0.002, 20)
    >>> round(float((result.statistics / result.scales).max()), 3)
    0.043
    """

    value: float
    statistics: np.ndarray
    scales: np.ndarray
    kernels: list[Any]
    discrepancy: str = "discrepancy"
    feature_errors: np.ndarray | None = None
    uncertainty: Uncertainty | NormalUncertainty | str | None = None

    _display = "BandwidthDisplay"
    _shown_first = "largest normalised statistics"

    @property
    def _normalized(self) -> np.ndarray:
        # The scale and the statistic of constant data are 0.
        zeros = np.zeros(len(self.statistics))
        positive = self.scales > 0
        return np.divide(self.statistics, self.scales, out=zeros, where=positive)

    @property
    def standard_error(self) -> float:
        """Standard error of `value`, from the sampling of the rows.

        You get it for one kernel, and for several kernels with ``pooling="mean"``, for
        the designs "u", "v" and "x". The kernels count as fixed, although their
        bandwidths may come from the data.

        Returns
        -------
        error : float
            The standard error. Near the null hypothesis, where the statistic is not
            normal, use `confidence_interval`.

        Raises
        ------
        ValueError
            If this discrepancy has no standard error. The message says why, and what to
            pass to the estimator.
        """
        return self._known_uncertainty().standard_error

    def confidence_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval of the discrepancy of the distributions.

        The interval holds the discrepancy between the distributions behind the rows
        with about the probability `level`. It is never below zero, and it starts at
        zero if the data are compatible with no discrepancy. It is not symmetric around
        `value` if `value` is close to zero, where the statistic is skewed. For the
        V-statistic, the interval takes the bias of `value` into account.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level, above 0 and below 1.

        Returns
        -------
        low, high : float
            Bounds of the interval.

        Raises
        ------
        ValueError
            If this discrepancy has no standard error. The message says why, and what to
            pass to the estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from skdiscrepancy import MMDEstimator
        >>> rng = np.random.RandomState(0)
        >>> X, Y = rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 1
        >>> mmd = MMDEstimator(pooling="mean", normalize=False).fit(X)
        >>> low, high = mmd.evaluate(Y).confidence_interval()
        >>> round(low, 2), round(high, 2)
        (0.06, 0.17)
        """
        return self._known_uncertainty().interval(check_level(level))

    @property
    def effect_size(self) -> float:
        """The discrepancy as a number from 0 (none) to 1 (as large as possible).

        For a normalised discrepancy t, it is t / sqrt(1 + t^2), and 0 if t is negative.
        Unlike a p-value, it does not depend on the number of rows, apart from noise. If
        `standard_error` is known, the bias of a V-statistic is subtracted from t.

        Returns
        -------
        size : float
            The effect size.

        Raises
        ------
        ValueError
            If the discrepancy is not normalised.
        """
        self._check_normalized()
        return effect_size(getattr(self.uncertainty, "centre", self.value))

    def effect_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval of the effect size, which contains it.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level, above 0 and below 1.

        Returns
        -------
        low, high : float
            Bounds of the interval, from 0 to 1.

        Raises
        ------
        ValueError
            If the discrepancy is not normalised, or has no standard error.

        Examples
        --------
        >>> import numpy as np
        >>> from skdiscrepancy import MMDEstimator
        >>> rng = np.random.RandomState(0)
        >>> X, Y = rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 1
        >>> result = MMDEstimator(pooling="mean").fit(X).evaluate(Y)
        >>> low, high = result.effect_interval()
        >>> 0 < low < result.effect_size < high < 1
        True
        """
        self._check_normalized()
        low, high = self.confidence_interval(level)
        return effect_size(low), effect_size(high)

    def _check_normalized(self) -> None:
        if np.all(self.scales == 1):
            raise UnavailableError(
                "normalize == False, must be True for an effect size, because the "
                "discrepancy alone has no largest value."
            )

    def _known_uncertainty(self) -> Uncertainty | NormalUncertainty:
        found = self.uncertainty
        if isinstance(found, (Uncertainty, NormalUncertainty)):
            return found
        raise UnavailableError(found or "This result has no standard error.")

    def _summary(self) -> dict[str, Any]:
        summary = {"value": self.value, "discrepancy": self.discrepancy}
        if isinstance(self.uncertainty, (Uncertainty, NormalUncertainty)):
            error = self.uncertainty.standard_error
            summary = {"value": self.value, "standard_error": error, **summary}
        return summary

    def _columns(self) -> dict[str, Any]:
        errors = self.feature_errors
        return {
            **kernel_columns(self.kernels),
            "statistic": self.statistics,
            "scale": self.scales,
            "normalized_statistic": self._normalized,
            **({} if errors is None else {"feature_error": errors}),
        }

    def _priorities(self) -> np.ndarray:
        return -self._normalized

    def to_frame(self) -> Any:
        """Return the statistics as a DataFrame, one row for each kernel.

        Needs pandas: ``pip install "skdiscrepancy[pandas]"``.

        Returns
        -------
        frame : pandas.DataFrame
            The columns are `kernel`, `bandwidth`, `statistic`, `scale` and
            `normalized_statistic`, for HSIC also `target_kernel` and
            `target_bandwidth`, and with random features `feature_error`. The rows are
            in the order of `kernels`. A bandwidth is NaN if a kernel has none.
        """
        return super().to_frame()

    def plot(self, **kwargs: Any) -> Any:
        """Draw the statistic of each kernel against its bandwidth.

        Needs matplotlib: ``pip install "skdiscrepancy[plot]"``.

        Parameters
        ----------
        **kwargs : dict
            Options of :meth:`BandwidthDisplay.from_result
            <skdiscrepancy.plotting.BandwidthDisplay.from_result>`, such as `ax`.

        Returns
        -------
        display : BandwidthDisplay
            The display, already drawn.
        """
        return super().plot(**kwargs)


def effect_size(value: float) -> float:
    """Return t / sqrt(1 + t^2) for a normalised discrepancy t, 0 if t is negative."""
    return float(max(value, 0.0) / np.hypot(1.0, value))


def check_level(level: Any) -> float:
    """Return a level, or raise an error unless it is above 0 and below 1."""
    level = check_number(
        level, "level", strict=True, most=1, context=", 0 and 1 excluded"
    )
    if level >= 1:
        raise ValueError(f"level == {level}, must be > 0 and < 1.")
    return level
