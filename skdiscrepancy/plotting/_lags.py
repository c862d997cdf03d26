"""The statistic of every lag of two series."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data import check_number
from skdiscrepancy.plotting._style import BLUE, GREY, VERMILLION, legend_above, set_axes


class LagDisplay:
    """Display of the dependence of two series at every lag.

    A stem shows the statistic of each lag. A dashed line shows the critical value at
    the significance level `level`, which accounts for the number of lags [1]_. Lags
    whose adjusted p-value is at most `level` are highlighted. Use :meth:`from_result`,
    or the method `plot` of a result.

    Read more in the :ref:`User Guide <series>`.

    Parameters
    ----------
    lags : array-like of shape (n_lags,)
        Lags. At a positive lag, y follows X.
    statistics : array-like of shape (n_lags,)
        Statistic of each lag.
    pvalues : array-like of shape (n_lags,)
        Adjusted p-value of each lag.
    null_distribution : array-like of shape (n_windows,)
        Largest statistics of windows of larger shifts.
    level : float, default=0.05
        Significance level.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        The figure.
    stems_ : matplotlib StemContainer
        Stems of the lags that are not significant, None if all lags are significant.
    significant_ : matplotlib StemContainer or None
        Stems of the significant lags, None if no lag is significant.
    threshold_ : matplotlib Line2D
        The critical value.

    See Also
    --------
    skdiscrepancy.hsic_test : Tests lags if you pass `max_lag`.
    NullDistributionDisplay : Draws the null distribution of a test.

    References
    ----------
    .. [1] K. Chwialkowski and A. Gretton, "A kernel independence test for random
       processes", ICML 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import hsic_test
    >>> from skdiscrepancy.plotting import LagDisplay
    >>> rng = np.random.RandomState(0)
    >>> x = rng.normal(size=202)
    >>> y = x[:-2] ** 2 + rng.normal(size=200)
    >>> result = hsic_test(x[2:], y, method="shift", max_lag=5, n_bandwidths=3)
    >>> display = LagDisplay.from_result(result)
    >>> display.significant_.markerline.get_xdata()
    array([2])
    """

    def __init__(
        self,
        *,
        lags: ArrayLike,
        statistics: ArrayLike,
        pvalues: ArrayLike,
        null_distribution: ArrayLike,
        level: float = 0.05,
    ):
        self.lags = lags
        self.statistics = statistics
        self.pvalues = pvalues
        self.null_distribution = null_distribution
        self.level = level

    @classmethod
    def from_result(
        cls, result: Any, *, level: float = 0.05, ax: Any = None
    ) -> LagDisplay:
        """Draw the statistic of every lag.

        Parameters
        ----------
        result : LagTestResult
            Result of :func:`~skdiscrepancy.hsic_test` with `max_lag`.
        level : float, default=0.05
            Significance level, between 0 and 1.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : LagDisplay
            The display, already drawn.
        """
        if not hasattr(result, "lag_statistics"):
            raise TypeError(
                f"result == {result!r}, must be a LagTestResult. hsic_test returns it "
                "if you pass max_lag."
            )
        display = cls(
            lags=result.lags,
            statistics=result.lag_statistics,
            pvalues=result.lag_pvalues,
            null_distribution=result.null_distribution,
            level=level,
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> LagDisplay:
        """Draw the statistics.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : LagDisplay
            The display itself.
        """
        level = check_number(self.level, "level", strict=True, most=1)
        lags, statistics = np.asarray(self.lags), np.asarray(self.statistics)
        found = np.asarray(self.pvalues) <= level
        ax = set_axes(self, ax, figsize=(6.4, 4.0))
        self.stems_ = _draw_stems(
            ax, lags[~found], statistics[~found], BLUE, "other lags"
        )
        self.significant_ = _draw_stems(
            ax, lags[found], statistics[found], VERMILLION, "significant lags"
        )
        self.threshold_ = ax.axhline(
            _critical_value(np.asarray(self.null_distribution), self.level),
            color=GREY,
            linestyle="--",
            linewidth=1,
            label=f"critical value at level {self.level:g}, for {len(lags)} lags",
        )
        ax.axhline(0, color=GREY, linewidth=0.8)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(
            xlabel="Lag: X follows y (negative), y follows X (positive)",
            ylabel="Test statistic",
        )
        ax.spines[["top", "right"]].set_visible(False)
        legend_above(ax, "Dependence of two series at every lag", ncols=2)
        return self


def _draw_stems(
    ax: Any, lags: np.ndarray, statistics: np.ndarray, colour: str, label: str
) -> Any:
    """Draw the stems of some lags, None if there are none."""
    if not len(lags):
        return None
    stems = ax.stem(lags, statistics, basefmt=" ", label=label)
    stems.markerline.set(color=colour, markersize=5)
    stems.stemlines.set(color=colour, linewidth=1.5)
    return stems


def _critical_value(null: np.ndarray, level: float) -> float:
    """Return the value that a statistic must exceed for a p-value of the level."""
    # p = (1 + number of values that are at least as large) / (1 + number of values).
    allowed = int(np.floor(level * (1 + len(null)) + 1e-9)) - 1
    if allowed < 0:
        return float(null.max())
    return float(np.sort(null)[::-1][min(allowed, len(null) - 1)])
