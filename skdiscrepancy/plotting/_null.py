"""The null distribution of a test, and the statistic of the data."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy.plotting._style import BLUE, VERMILLION, legend_above, set_axes


class NullDistributionDisplay:
    """Display of the null distribution of a test.

    A histogram shows the statistics of the resamples [1]_. A line shows the statistic
    of your data. The p-value is the fraction of resamples at the line or to the right
    of it. For a test without resampling, a density replaces the histogram. It is
    Student's t for the designs "x", "l" and "b", and a gamma density for HSIC with one
    kernel. Use :meth:`from_result`, or the method `plot` of a result.

    Read more in the :ref:`User Guide <plotting>`.

    Parameters
    ----------
    null_distribution : array-like of shape (n_resamples,)
        Statistics of the resamples, empty for a test without resampling.
    statistic : float
        Statistic of the data.
    pvalue : float
        The p-value of the test.
    method : str or None, default=None
        Name of the null distribution.
    n_kernels : int, default=1
        Number of kernels. The p-value of a test without resampling is adjusted for it.
    null_limit : frozen distribution of :mod:`scipy.stats` or None, default=None
        Null distribution of a test without resampling.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        The figure.
    bars_ : matplotlib BarContainer or None
        The histogram, None for a test without resampling.
    density_ : matplotlib Line2D or None
        The density, None for a test by resampling.
    observed_ : matplotlib Line2D
        The statistic of the data.

    See Also
    --------
    BandwidthDisplay : Draws the p-value of each kernel.
    skdiscrepancy.inference.TestResult : Holds the statistics that are drawn.

    References
    ----------
    .. [1] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.inference import mmd_test
    >>> from skdiscrepancy.plotting import NullDistributionDisplay
    >>> rng = np.random.RandomState(0)
    >>> X, Y = rng.normal(size=(50, 2)), rng.normal(size=(60, 2)) + 1
    >>> result = mmd_test(X, Y, random_state=0)
    >>> display = NullDistributionDisplay.from_result(result)
    >>> display.observed_.get_label()
    'your data: p = 0.001'
    """

    def __init__(
        self,
        *,
        null_distribution: ArrayLike,
        statistic: float,
        pvalue: float,
        method: str | None = None,
        n_kernels: int = 1,
        null_limit: Any = None,
    ):
        self.null_distribution = null_distribution
        self.statistic = statistic
        self.pvalue = pvalue
        self.method = method
        self.n_kernels = n_kernels
        self.null_limit = null_limit

    @classmethod
    def from_result(
        cls, result: Any, *, bins: Any = "auto", ax: Any = None
    ) -> NullDistributionDisplay:
        """Draw the null distribution of a test.

        Parameters
        ----------
        result : TestResult
            Result of a test of :mod:`skdiscrepancy.inference`.
        bins : int, array-like or str, default="auto"
            Bins of the histogram, as for :func:`numpy.histogram_bin_edges`.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : NullDistributionDisplay
            The display, already drawn.
        """
        display = cls(
            null_distribution=result.null_distribution,
            statistic=result.statistic,
            pvalue=result.pvalue,
            method=result.method,
            n_kernels=len(result.kernels),
            null_limit=result.null_limit,
        )
        return display.plot(ax=ax, bins=bins)

    def plot(self, ax: Any = None, *, bins: Any = "auto") -> NullDistributionDisplay:
        """Draw the distribution.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.
        bins : int, array-like or str, default="auto"
            Bins of the histogram, as for :func:`numpy.histogram_bin_edges`.

        Returns
        -------
        display : NullDistributionDisplay
            The display itself.
        """
        null = np.asarray(self.null_distribution)
        if not null.size and self.null_limit is None:
            raise ValueError(
                f"method == {self.method!r} has an empty null_distribution and "
                "null_limit == None, must have one of them to be drawn."
            )
        ax = set_axes(self, ax, figsize=(6.4, 4.0))
        self.bars_ = self.density_ = None
        adjusted = ""
        if null.size:
            self._draw_resamples(ax, null, bins)
        else:
            self._draw_density(ax)
            if self.n_kernels > 1:
                adjusted = f" (adjusted for {self.n_kernels} kernels)"
        self.observed_ = ax.axvline(
            self.statistic,
            color=VERMILLION,
            linewidth=2,
            label=f"your data: p = {self.pvalue:.3g}{adjusted}",
        )
        ax.set_ylim(bottom=0)
        ax.spines[["top", "right"]].set_visible(False)
        # One row would be wider than the axes.
        legend_above(ax, "Test statistic and its null distribution")
        return self

    def _draw_resamples(self, ax: Any, null: np.ndarray, bins: Any) -> None:
        method = "" if self.method is None else f", {self.method}"
        _, _, self.bars_ = ax.hist(
            null,
            bins=bins,
            color=BLUE,
            alpha=0.6,
            # An edge makes a bar of one resample visible.
            edgecolor=BLUE,
            linewidth=0.8,
            label=f"null hypothesis: {null.size} resamples{method}",
        )
        ax.set(xlabel="Test statistic", ylabel="Number of resamples")

    def _draw_density(self, ax: Any) -> None:
        """Draw the density from its ends to the statistic of the data."""
        limit, student = self.null_limit, self.method == "asymptotic"
        low, high = (4.0 * np.array([-1, 1])) if student else limit.ppf([1e-4, 0.9999])
        reach = 0.05 * (high - low)
        low = min(low, self.statistic - reach)
        high = max(high, self.statistic + reach)
        if student:
            # Show studentised statistics with zero in the middle.
            low, high = min(low, -high), max(high, -low)
        grid = np.linspace(low, high, 401)
        name = f"Student's t, {limit.args[0]} df" if student else "gamma distribution"
        density = limit.pdf(grid)
        [self.density_] = ax.plot(
            grid, density, color=BLUE, label=f"null hypothesis: {name}"
        )
        ax.fill_between(grid, density, color=BLUE, alpha=0.25, linewidth=0)
        xlabel = "Studentised statistic" if student else "HSIC (V-statistic)"
        ax.set(xlabel=xlabel, ylabel="Density under the null hypothesis")
