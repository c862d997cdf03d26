"""Null distributions and p-values of tests, and the report of drift."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data.checks import check_number
from skdiscrepancy.plotting._style import (
    BLUE,
    GREY,
    VERMILLION,
    Display,
    from_result_with,
    rows_height,
)


@dataclass(kw_only=True, eq=False, repr=False)
class NullDistributionDisplay(Display):
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

    null_distribution: ArrayLike
    statistic: float
    pvalue: float
    method: str | None = None
    n_kernels: int = 1
    null_limit: Any = None

    @classmethod
    def _fields(cls, result: Any, **options: Any) -> dict[str, Any]:
        """Return the fields from a test, and how many kernels it has."""
        names = ("null_distribution", "statistic", "pvalue", "method", "null_limit")
        read = {name: getattr(result, name) for name in names}
        return {**read, "n_kernels": len(result.kernels)}

    def plot(self, ax: Any = None, *, bins: Any = "auto") -> Self:
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
        ax = self._begin(ax, 6.4, 4.0)
        self.bars_ = self.density_ = None
        adjusted = ""
        if null.size:
            method = "" if self.method is None else f", {self.method}"
            label = f"null hypothesis: {null.size} resamples{method}"
            self.bars_ = self._draw_histogram(null, bins, label)
            ax.set(xlabel="Test statistic", ylabel="Number of resamples")
        else:
            self._draw_density(ax)
            if self.n_kernels > 1:
                adjusted = f" (adjusted for {self.n_kernels} kernels)"
        label = f"your data: p = {self.pvalue:.3g}{adjusted}"
        self.observed_ = self._draw_value(self.statistic, label)
        # One row would be wider than the axes.
        return self._legend("Test statistic and its null distribution")

    from_result = from_result_with(plot)

    def _draw_density(self, ax: Any) -> None:
        """Draw the density from its ends to the statistic of the data."""
        limit, student = self.null_limit, self.method == "asymptotic"
        low, high = (4.0 * np.array([-1, 1])) if student else limit.ppf([1e-4, 0.9999])
        reach = 0.05 * (high - low)
        low, high = min(low, self.statistic - reach), max(high, self.statistic + reach)
        if student:
            # Show studentised statistics with zero in the middle.
            low, high = min(low, -high), max(high, -low)
        grid = np.linspace(low, high, 401)
        name = f"Student's t, {limit.args[0]} df" if student else "gamma distribution"
        density, label = limit.pdf(grid), f"null hypothesis: {name}"
        [self.density_] = ax.plot(grid, density, color=BLUE, label=label)
        ax.fill_between(grid, density, color=BLUE, alpha=0.25, linewidth=0)
        xlabel = "Studentised statistic" if student else "HSIC (V-statistic)"
        ax.set(xlabel=xlabel, ylabel="Density under the null hypothesis")


CORRECTIONS = {
    "bh": "Adjusted p-value (Benjamini-Hochberg)",
    "by": "Adjusted p-value (Benjamini-Yekutieli)",
    "holm": "Adjusted p-value (Holm)",
    None: "p-value (not adjusted)",
}


@dataclass(kw_only=True, eq=False, repr=False)
class ColumnTestsDisplay(Display):
    """Display of the tests of the columns of a table.

    The line of each column ends at its adjusted p-value [1]_ on a logarithmic axis. A
    longer line means stronger evidence. A filled marker means that the adjusted p-value
    is at most the significance level. The column with the smallest p-value is on top.

    Use :meth:`from_result`, or the method `plot` of
    :class:`~skdiscrepancy.inference.ColumnTests`.

    Read more in the :ref:`User Guide <plotting>`.

    Parameters
    ----------
    feature_names : list of length n_features
        Names of the columns, from top to bottom.
    adjusted_pvalues : array-like of shape (n_features,)
        Adjusted p-value of each column.
    correction : {"bh", "by", "holm"} or None, default=None
        Correction for the number of columns.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        The figure.
    stems_ : matplotlib LineCollection
        The lines.
    markers_ : matplotlib Line2D
        The ends of all lines.
    significant_ : matplotlib Line2D
        The filled markers.

    See Also
    --------
    skdiscrepancy.mmd_column_tests : Tests which columns of two samples differ.
    skdiscrepancy.hsic_column_tests : Tests which columns y depends on.

    References
    ----------
    .. [1] Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", Journal
       of the Royal Statistical Society B 57, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_column_tests
    >>> from skdiscrepancy.plotting import ColumnTestsDisplay
    >>> rng = np.random.RandomState(0)
    >>> X, Y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + [0, 2]
    >>> tests = mmd_column_tests(X, Y, random_state=0)
    >>> display = ColumnTestsDisplay.from_result(tests)
    >>> display.feature_names
    ['x1', 'x0']
    >>> display.ax_.get_title(loc="left")
    '1 of 2 columns significant at level 0.05'
    """

    feature_names: Sequence[Any]
    adjusted_pvalues: ArrayLike
    correction: str | None = None

    @classmethod
    def _fields(cls, result: Any, **options: Any) -> dict[str, Any]:
        """Return the fields from tests of columns, the smallest p-value first."""
        order = result._order()
        return {
            "feature_names": [result.feature_names[j] for j in order],
            "adjusted_pvalues": result.adjusted_pvalues[order],
            "correction": result.correction,
        }

    def plot(
        self, ax: Any = None, *, level: float = 0.05, max_columns: int | None = 30
    ) -> Self:
        """Draw the p-values.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.
        level : float, default=0.05
            Significance level of the tests.
        max_columns : int or None, default=30
            Largest number of columns to draw, starting with the first. None draws all
            columns.

        Returns
        -------
        display : ColumnTestsDisplay
            The display itself.
        """
        level = check_number(level, "level", strict=True, most=1)
        names = _first_columns(self.feature_names, max_columns)
        n_drawn, pvalues = len(names), np.asarray(self.adjusted_pvalues)
        ax = self._begin(ax, 6.4, rows_height(n_drawn))
        self.stems_, self.markers_, self.significant_ = self._draw_pvalues(
            names, pvalues[:n_drawn], level
        )
        ax.set_xlabel(CORRECTIONS[self.correction])
        n_small = int(np.sum(pvalues <= level))
        title = f"{n_small} of {len(pvalues)} columns significant at level {level:g}"
        if n_drawn < len(pvalues):
            title += f"\n(the {n_drawn} smallest p-values)"
        return self._legend(title)

    from_result = from_result_with(plot)


def _first_columns(names: Sequence[Any], max_columns: int | None) -> list[Any]:
    """Return the names of the columns to draw."""
    if max_columns is not None:
        check_number(max_columns, "max_columns", integer=True, least=1)
    return list(names)[:max_columns]


@dataclass(kw_only=True, eq=False, repr=False)
class DriftReportDisplay(Display):
    """Display of a drift report.

    The line of each column ends at its effect size, the normalised MMD of both tables
    [1]_ on a scale from 0 to 1. A filled marker means that the adjusted p-value, which
    is printed at the right, is at most the significance level. The columns that explain
    the drift are orange, also if they do not differ on their own. The column with the
    smallest p-value is on top.

    Use :meth:`from_result`, or the method `plot` of
    :class:`~skdiscrepancy.monitoring.DriftReport`.

    Read more in the :ref:`User Guide <tables>`.

    Parameters
    ----------
    feature_names : list of length n_features
        Names of the columns, from top to bottom.
    effect_sizes : array-like of shape (n_features,)
        Effect size of each column.
    adjusted_pvalues : array-like of shape (n_features,)
        Adjusted p-value of each column.
    explains : array-like of shape (n_features,)
        Whether each column explains the drift.
    pvalue : float
        The p-value of the joint test.
    level : float, default=0.05
        Significance level.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        The figure.
    stems_ : matplotlib LineCollection
        The lines.
    markers_ : matplotlib PathCollection
        The ends of the lines.
    pvalue_texts_ : list of matplotlib Text
        The adjusted p-values.

    See Also
    --------
    skdiscrepancy.monitoring.drift_report : Computes the report.

    References
    ----------
    .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.monitoring import drift_report
    >>> from skdiscrepancy.plotting import DriftReportDisplay
    >>> rng = np.random.RandomState(0)
    >>> X, Y = rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + [0, 2, 0]
    >>> display = DriftReportDisplay.from_result(drift_report(X, Y, random_state=0))
    >>> display.feature_names[0]
    'x1'
    >>> display.ax_.get_title(loc="left")
    'The tables differ (p = 0.001)'
    """

    feature_names: Sequence[Any]
    effect_sizes: ArrayLike
    adjusted_pvalues: ArrayLike
    explains: ArrayLike
    pvalue: float
    level: float = 0.05

    @classmethod
    def _fields(cls, result: Any, **options: Any) -> dict[str, Any]:
        """Return the fields from a report, the smallest p-value first."""
        columns = result._columns()
        return {
            "feature_names": columns["feature"],
            "effect_sizes": columns["effect_size"],
            "adjusted_pvalues": columns["adjusted_pvalue"],
            "explains": columns["explanation"] > 0,
            "pvalue": result.joint_test.pvalue,
            "level": result.level,
        }

    def plot(self, ax: Any = None, *, max_columns: int | None = 30) -> Self:
        """Draw the effect sizes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.
        max_columns : int or None, default=30
            Largest number of columns to draw, starting with the first. None draws all
            columns.

        Returns
        -------
        display : DriftReportDisplay
            The display itself.
        """
        names = _first_columns(self.feature_names, max_columns)
        n_drawn, n_columns = len(names), len(self.feature_names)
        sizes, pvalues, explains = (
            np.asarray(values)[:n_drawn]
            for values in (self.effect_sizes, self.adjusted_pvalues, self.explains)
        )
        largest = float(np.max(sizes, initial=0)) or 1.0
        places, small = np.arange(n_drawn), pvalues <= self.level
        colors = np.where(explains, VERMILLION, BLUE)
        ax = self._begin(ax, 6.4, rows_height(n_drawn))
        self.stems_ = ax.hlines(places, 0, sizes, color=colors, linewidth=2, alpha=0.5)
        faces = np.where(small, colors, "white")
        style = {"s": 45, "c": faces, "edgecolors": colors, "linewidths": 1.5}
        self.markers_ = ax.scatter(sizes, places, zorder=3, **style)
        style = {"xycoords": ax.get_yaxis_transform(), "textcoords": "offset points"}
        style |= {"xytext": (4, 0), "va": "center", "fontsize": "small"}
        self.pvalue_texts_ = [
            ax.annotate(f"p = {pvalue:.2g}", (1, i), fontweight=weight, **style)
            for i, pvalue, weight in zip(
                places, pvalues, np.where(small, "bold", "normal"), strict=True
            )
        ]
        self._name_rows(names)
        ax.set_xlim(-0.03 * largest, 1.1 * largest)
        ax.set_xlabel("Effect size (normalised MMD)")
        found = self.pvalue <= self.level
        title = "The tables differ" if found else "No drift detected"
        title += f" (p = {self.pvalue:.2g})"
        if n_drawn < n_columns:
            title += f"\n(the {n_drawn} of {n_columns} smallest p-values)"
        dot: dict[str, Any] = {"marker": "o", "linestyle": "", "color": GREY}
        ax.plot([], [], label="differs on its own", **dot)
        ax.plot([], [], label="does not", markerfacecolor="white", **dot)
        ax.plot([], [], label="explains the drift", color=VERMILLION, linewidth=3)
        return self._legend(title, ncols=3)

    from_result = from_result_with(plot)
