"""Charts of tests and scores: by kernel, column, candidate, batch and subset."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data.checks import RandomStateLike, check_number, shown
from skdiscrepancy._estimators.ksd import KSDEstimator, in_units
from skdiscrepancy._estimators.mmd import MMDEstimator
from skdiscrepancy.bandwidths import median_bandwidth
from skdiscrepancy.kernels._names import kernel_bandwidth, kernel_name
from skdiscrepancy.kernels._radial import RadialKernel
from skdiscrepancy.monitoring._drift import CORRECTIONS
from skdiscrepancy.plotting._style import (
    BLUE,
    GREY,
    VERMILLION,
    Display,
    plain,
    whole_numbers,
)
from skdiscrepancy.tables import encode


class NullDistributionDisplay(Display):
    """Display of the null distribution of a test.

    A histogram shows the resamples, or a curve the density without resampling. A line
    marks your data. Use :meth:`from_result`.

    Read more in the :ref:`User Guide <plotting>`.

    Parameters
    ----------
    null_distribution : array-like of shape (n_resamples,)
        Statistics of the resamples.
    statistic : float
        Statistic of your data.
    pvalue : float
        The p-value.
    method : str or None, default=None
        How the null distribution was computed.
    n_kernels : int, default=1
        Number of kernels.
    null_limit : frozen distribution of :mod:`scipy.stats` or None, default=None
        Null distribution without resampling.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_, density_, observed_ : matplotlib artist or None
        Histogram, density, and line at your data.

    See Also
    --------
    BandwidthDisplay : Draws the p-value of each kernel.

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
        return super()._fields(result) | {"n_kernels": len(result.kernels)}

    def plot(self, ax: Any = None, *, bins: Any = "auto") -> Self:
        """Draw the distribution.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in.
        bins : int, array-like or str, default="auto"
            Bins of :func:`numpy.histogram_bin_edges`.

        Returns
        -------
        display : NullDistributionDisplay
            The display.
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


# Colours of the types of kernels, and their markers: one marker more than colours, so
# that pairs of marker and colour repeat late.
SERIES = (BLUE, VERMILLION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# Gap between two panels, as a fraction of the width of all.
GAP = 0.05
# Distances in the norms, as the labels of the axes call them.
DISTANCES = {1: "Manhattan", 2: "Euclidean", np.inf: "Chebyshev"}
# Bandwidths further apart than this are drawn on a logarithmic axis.
WIDE = 4


class PValues(Display):
    """Base class of the displays of p-values."""

    def _draw_pvalues(
        self, names: Sequence[Any], pvalues: np.ndarray, level: float
    ) -> tuple[Any, Any, Any]:
        """Draw p-values as lines with a marker at the end, the first on top.

        Returns the lines, all markers, and the filled markers of p-values up to the
        level.
        """
        ax, places, small = self.ax_, np.arange(len(names)), pvalues <= level
        stems = ax.hlines(places, 1.0, pvalues, color=BLUE, linewidth=2, alpha=0.5)
        open_style = {"color": BLUE, "markerfacecolor": "white", "zorder": 3}
        [markers] = ax.plot(pvalues, places, "o", **open_style)
        [filled] = ax.plot(pvalues[small], places[small], "o", color=BLUE, zorder=4)
        ax.axvline(level, **level_style(level))
        self._name_rows(names)
        pvalue_scale(ax.xaxis, float(np.min([level, *pvalues])))
        return stems, markers, filled


def pvalue_scale(axis: Any, least: float) -> None:
    """Make an axis logarithmic for p-values, with small p-values at its end."""
    # For two decades or less, ticks at powers of ten are too few.
    log_scale(axis, (1, 2, 5) if least > 0.01 else (1,))
    # A third of the smallest float would be zero.
    axis.axes.set(**{f"{axis.axis_name}lim": (1.2, max(least / 3, 1e-300))})


def log_scale(axis: Any, subs: tuple[float, ...]) -> None:
    """Make an axis logarithmic, with ticks at these multiples of powers of ten."""
    from matplotlib.ticker import LogLocator

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("")


def level_style(level: float) -> dict[str, Any]:
    """Return the style of the line of a level, with its label."""
    label = f"level {level:g} (filled: below)"
    return {"color": GREY, "linestyle": "--", "zorder": 0, "label": label}


def rows_height(n_rows: int) -> float:
    """Return the height of a figure with a line for each row, in inches."""
    return float(np.clip(1.7 + 0.3 * n_rows, 2.2, 14))


class BandwidthDisplay(PValues):
    """Display of a discrepancy, or a test, against the bandwidth.

    A marker is the statistic of a kernel, or its adjusted p-value, filled if the kernel
    rejects. Bandwidths of different norms are not comparable, so each norm has a panel.
    HSIC shows the best kernel on y.

    Read more in the :ref:`User Guide <plotting>`.

    Parameters
    ----------
    kernel_names : list of str
        Name of each kernel.
    bandwidths, statistics : array-like of shape (n_kernels,)
        Bandwidth (or NaN) and statistic of each kernel.
    value : float
        Pooled statistic.
    normalized : bool, default=True
        Whether statistics are normalised.
    pvalues : array-like of shape (n_kernels,) or None, default=None
        Adjusted p-values of a test.
    pvalue : float or None, default=None
        The p-value of the test.
    medians : dict or None, default=None
        Median distances, such as ``{"Gaussian": 1.5}``.
    paired : bool, default=False
        Whether there are several kernels on y.
    norms : list or None, default=None
        Norm of each kernel.
    discrepancy : str, default="discrepancy"
        Name of the discrepancy.

    Attributes
    ----------
    ax_ : matplotlib Axes
    axes_ : ndarray of matplotlib Axes
        The panels.
    figure_ : matplotlib Figure
    lines_, significant_ : dict of matplotlib artists
        Lines and filled markers by the name of a kernel.
    median_lines_ : list of matplotlib artists
        Median distances.
    pooled_line_, bars_ : matplotlib artist or None
        Pooled value, and bars of kernels without bandwidths.

    See Also
    --------
    NullDistributionDisplay : Draws the null distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import MMDEstimator
    >>> from skdiscrepancy.plotting import BandwidthDisplay
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> mmd = MMDEstimator().fit(X)
    >>> display = BandwidthDisplay.from_estimator(mmd, X + 0.5)
    >>> sorted(display.lines_)
    ['Gaussian', 'Laplace']
    """

    kernel_names: list[str]
    bandwidths: ArrayLike
    statistics: ArrayLike
    value: float
    normalized: bool = True
    pvalues: ArrayLike | None = None
    pvalue: float | None = None
    medians: dict[str, float] | None = None
    paired: bool = False
    norms: list[Any] | None = None
    discrepancy: str = "discrepancy"

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, y: Any = None, *, ax: Any = None
    ) -> Self:
        """Draw the statistics of an estimator on a sample.

        Parameters
        ----------
        estimator : MMDEstimator, HSICEstimator or KSDEstimator
            Fitted estimator.
        X : array-like of shape (n_samples, n_features)
            Sample to score.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Second variables of HSIC.
        ax : matplotlib Axes, default=None
            Axes to draw in.

        Returns
        -------
        display : BandwidthDisplay
            The display, with the median distance of the reference or X.
        """
        result = estimator.evaluate(X, y)
        rows = encode(getattr(estimator, "encoder_", None), X)
        rows = rows if issparse(rows) else np.asarray(rows)
        if isinstance(estimator, MMDEstimator):
            rows = estimator.reference_
        elif isinstance(estimator, KSDEstimator):
            rows = in_units(estimator.scale_, rows)
        norms = {
            kernel_name(kernel): kernel.norm
            for kernel in estimator.kernels_
            if isinstance(kernel, RadialKernel) and kernel.metric is None
        }
        medians = {name: median_bandwidth(rows, p=p) for name, p in norms.items()}
        return cls.from_result(result, medians=medians, ax=ax)

    @classmethod
    def from_result(
        cls,
        result: Any,
        *,
        medians: dict[str, float] | None = None,
        level: float = 0.05,
        ax: Any = None,
    ) -> Self:
        """Draw the result of an evaluation or of a test.

        Parameters
        ----------
        result : DiscrepancyResult or TestResult
            Result to draw.
        medians : dict or None, default=None
            Median distances, such as ``{"Gaussian": 1.5}``.
        level : float, default=0.05
            Significance level.
        ax : matplotlib Axes, default=None
            Axes to draw in.

        Returns
        -------
        display : BandwidthDisplay
            The display.
        """
        pvalues = getattr(result, "pvalues", None)
        is_test = pvalues is not None
        statistics = result.statistics if is_test else result._normalized
        kernels, statistics, pvalues, paired = _on_first_variable(
            result.kernels, statistics, pvalues
        )
        return cls(
            kernel_names=[kernel_name(kernel) for kernel in kernels],
            bandwidths=np.array([kernel_bandwidth(kernel) for kernel in kernels]),
            statistics=statistics,
            value=result.statistic if is_test else result.value,
            normalized=not (is_test or np.all(result.scales == 1)),
            pvalues=pvalues,
            pvalue=result.pvalue if is_test else None,
            medians=medians,
            paired=paired,
            norms=[getattr(kernel, "norm", None) for kernel in kernels],
            discrepancy=getattr(result, "discrepancy", "discrepancy"),
        ).plot(ax=ax, level=level)

    def plot(self, ax: Any = None, *, level: float = 0.05) -> Self:
        """Draw the statistics, or the p-values.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in.
        level : float, default=0.05
            Significance level.

        Returns
        -------
        display : BandwidthDisplay
            The display.
        """
        level = check_number(level, "level", strict=True, most=1)
        is_test = self.pvalues is not None
        panels = self._panels()
        # With bars for kernels without a bandwidth, the figure grows with their number.
        height = 4.4 if panels else rows_height(len(self.kernel_names))
        ax = self._begin(ax, 6.4 if len(panels) < 2 else 8.4, height)
        self.lines_, self.significant_ = dict[str, Any](), dict[str, Any]()
        self.median_lines_, self.bars_ = list[Any](), None
        self.axes_ = _divide(ax, max(len(panels), 1))
        pooled = self.pvalue if is_test else self.value
        label = f"{'test: p =' if is_test else 'pooled:'} {pooled:.3g}"
        line = {"color": "black", "zorder": 1, "label": label}
        if panels:
            for panel, (norm, own) in zip(self.axes_, panels.items(), strict=True):
                self._draw_panel(panel, norm, own, level)
                if is_test:
                    panel.axhline(level, **level_style(level))
                panel.axhline(pooled, **line)
            self.pooled_line_ = self.axes_[0].lines[-1]
            self.axes_[0].set_ylabel(self._value_label())
            self._scale_values(self.axes_[0], level)
        else:
            # No kernel has a bandwidth, so each kernel has a bar.
            names, values = self.kernel_names, self._values
            if is_test:
                self.bars_, *_ = self._draw_pvalues(names, values, level)
            else:
                self.bars_ = ax.barh(np.arange(len(names)), values, 0.6, color=BLUE)
                self._name_rows(names)
            self.pooled_line_ = ax.axvline(pooled, **line)
            ax.set_xlabel(self._value_label())
        name = "Discrepancy" if self.discrepancy == "discrepancy" else self.discrepancy
        what = "p-values of the test" if is_test else name
        title = f"{what} by {'bandwidth' if panels else 'kernel'}"
        return self._legend(title, ncols=3, handles=self._handles())

    def _handles(self) -> list[Any]:
        """Return one artist for each label, with the kernels first."""
        handles: dict[str, Any] = {}
        for panel in self.axes_:
            for handle in panel.get_legend_handles_labels()[0]:
                handles.setdefault(handle.get_label(), handle)
        return sorted(handles.values(), key=lambda h: h.get_label() not in self.lines_)

    @property
    def _values(self) -> np.ndarray:
        return np.asarray(self.statistics if self.pvalues is None else self.pvalues)

    def _panels(self) -> dict[Any, list[int]]:
        """Return the kernels of each norm that have a bandwidth."""
        norms = [None] * len(self.kernel_names) if self.norms is None else self.norms
        panels: dict[Any, list[int]] = {}
        for index in np.flatnonzero(~np.isnan(self.bandwidths)).tolist():
            panels.setdefault(norms[index], []).append(index)
        return panels

    def _value_label(self) -> str:
        if self.pvalues is not None:
            best = ", smallest over kernels on y" if self.paired else ""
            # Small p-values are at the upper or right end, where the arrow points.
            return f"Adjusted p-value{best}\nstronger evidence →"
        best = ", largest over kernels on y" if self.paired else ""
        name = self.discrepancy
        named = f"Normalised {name}" if self.normalized else name[0].upper() + name[1:]
        return f"{named}{best}"

    def _draw_panel(self, panel: Any, norm: Any, own: list[int], level: float) -> None:
        """Draw the kernels of one norm, and all kernels without a bandwidth."""
        bandwidths, values = np.asarray(self.bandwidths), self._values
        is_test = self.pvalues is not None
        for index, name in enumerate(dict.fromkeys(self.kernel_names)):
            color, marker = SERIES[index % len(SERIES)], MARKERS[index % len(MARKERS)]
            same = np.flatnonzero([other == name for other in self.kernel_names])
            if np.isnan(bandwidths[same]).all():
                style = {"color": color, "linestyle": "--", "label": name}
                lines = [panel.axhline(value, **style) for value in values[same]]
                self.lines_.setdefault(name, lines[0])
                continue
            drawn = np.intersect1d(same, own)
            if not drawn.size:
                continue
            drawn = drawn[np.argsort(bandwidths[drawn], kind="stable")]
            x, y = bandwidths[drawn], values[drawn]
            style = {"color": color, "marker": marker}
            face = {"markerfacecolor": "white"} if is_test else {}
            [self.lines_[name]] = panel.plot(x, y, label=name, **style, **face)
            if is_test:
                style["linestyle"], small = "none", y <= level
                [self.significant_[name]] = panel.plot(x[small], y[small], **style)
        known = self.medians or {}
        names = [self.kernel_names[index] for index in own]
        # Kernels of one norm share their median.
        for median in dict.fromkeys(known[name] for name in names if name in known):
            style = {"color": GREY, "linestyle": ":", "label": "median distance"}
            self.median_lines_.append(panel.axvline(median, zorder=0, **style))
        if bandwidths[own].max() > WIDE * bandwidths[own].min():
            panel.set_xscale("log")
            low, high = panel.get_xlim()
            # Less than a decade needs more ticks.
            subs = (1, 2, 5) if high > 10 * low else (1, 1.5, 2, 3, 4, 6, 8)
            log_scale(panel.xaxis, subs)
        distance = "" if norm is None else f" ({DISTANCES.get(norm, f'L{norm}')})"
        # Labels of narrow panels must not run into each other.
        label = "Kernel bandwidth" if len(self.axes_) == 1 else "Bandwidth"
        panel.set_xlabel(f"{label}{distance}")

    def _scale_values(self, ax: Any, level: float) -> None:
        """Scale the axis of statistics or p-values, which all panels share."""
        if self.pvalues is not None:
            least = float(np.min([level, self.pvalue or 1.0, *self._values]))
            pvalue_scale(ax.yaxis, least)
        else:
            # Without zero, a small difference between kernels would look large.
            low, high = ax.get_ylim()
            if not low <= 0 <= high:
                # The new limit at the data has a margin for the markers.
                end = 1.06 * (high if low > 0 else low)
                ax.set_ylim(min(end, 0.0), max(end, 0.0))
        for panel in self.axes_[1:]:
            panel.tick_params(axis="y", labelleft=False)


def _divide(ax: Any, n_panels: int) -> np.ndarray:
    """Replace the axes by panels side by side, and return the panels."""
    if n_panels == 1:
        return np.array([ax])
    ax.set_axis_off()
    width = (1 + GAP) / n_panels - GAP
    panels: list[Any] = []
    for index in range(n_panels):
        place = (index * (width + GAP), 0, width, 1)
        shared = {"sharey": panels[0]} if panels else {}
        panels.append(ax.inset_axes(place, **shared))
        panels[-1].spines[["top", "right"]].set_visible(False)
    return np.array(panels)


def _on_first_variable(
    kernels: list[Any], statistics: np.ndarray, pvalues: np.ndarray | None
) -> tuple[list[Any], np.ndarray, np.ndarray | None, bool]:
    """Return the kernels on one variable, with the best numbers over all others."""
    if not isinstance(kernels[0], tuple):
        return kernels, statistics, pvalues, False
    columns = list(zip(*kernels, strict=True))
    n_first, n_second = (len(set(map(id, column))) for column in columns[:2])
    if len(columns) > 2 or n_first * n_second != len(kernels):
        found = [not np.isnan(kernel_bandwidth(column[0])) for column in columns]
        return list(columns[np.argmax(found)]), statistics, pvalues, False
    # All pairs with the first kernel on X come first, and so on.
    shape = (-1, n_second)
    statistics = statistics.reshape(shape).max(axis=1)
    if pvalues is not None:
        pvalues = pvalues.reshape(shape).min(axis=1)
    return list(columns[0][::n_second]), statistics, pvalues, n_second > 1


class ColumnTestsDisplay(PValues):
    """Display of the tests of the columns of a table.

    Each line ends at the adjusted p-value of a column. Longer lines are stronger
    evidence, and filled markers are significant. Use :meth:`from_result`.

    Read more in the :ref:`User Guide <plotting>`.

    Parameters
    ----------
    feature_names, adjusted_pvalues : array-like of shape (n_features,)
        Name and p-value of each column, from top to bottom.
    correction : {"bh", "by", "holm"} or None, default=None
        Correction of the p-values.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    stems_, markers_, significant_ : matplotlib artists
        Lines, ends, filled ends.

    See Also
    --------
    skdiscrepancy.mmd_column_tests : Tests which columns differ.

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
        columns = result._columns()
        return {
            "feature_names": columns["feature"],
            "adjusted_pvalues": columns["adjusted_pvalue"],
            "correction": result.correction,
        }

    def plot(
        self, ax: Any = None, *, level: float = 0.05, max_columns: int | None = 30
    ) -> Self:
        """Draw the p-values.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in.
        level : float, default=0.05
            Significance level.
        max_columns : int or None, default=30
            Largest number of columns; None draws all.

        Returns
        -------
        display : ColumnTestsDisplay
            The display.
        """
        level = check_number(level, "level", strict=True, most=1)
        names = _first_columns(self.feature_names, max_columns)
        n_drawn, pvalues = len(names), np.asarray(self.adjusted_pvalues)
        ax = self._begin(ax, 6.4, rows_height(n_drawn))
        drawn = self._draw_pvalues(names, pvalues[:n_drawn], level)
        self.stems_, self.markers_, self.significant_ = drawn
        label = "p-value (not adjusted)"
        if self.correction is not None:
            label = f"Adjusted p-value ({CORRECTIONS[self.correction]})"
        ax.set_xlabel(label)
        n_small = int(np.sum(pvalues <= level))
        title = f"{n_small} of {len(pvalues)} columns significant at level {level:g}"
        if n_drawn < len(pvalues):
            title += f"\n(the {n_drawn} smallest p-values)"
        return self._legend(title)


def _first_columns(names: Sequence[Any], max_columns: int | None) -> list[Any]:
    """Return the names of the columns to draw."""
    if max_columns is not None:
        check_number(max_columns, "max_columns", integer=True, least=1)
    return list(names)[:max_columns]


class DriftReportDisplay(Display):
    """Display of a drift report.

    Each line ends at the :ref:`effect size <effect_size>` of a column. Filled markers
    are significant. Orange columns explain the drift, even if they do not differ on
    their own. Use :meth:`from_result`.

    Read more in the :ref:`User Guide <tables>`.

    Parameters
    ----------
    feature_names, effect_sizes, adjusted_pvalues, explains : array-like
        Name, effect size and p-value of each column, and whether it explains the drift.
    pvalue : float
        The p-value of the verdict.
    level : float, default=0.05
        Significance level.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    stems_, markers_ : matplotlib artists
        Lines and their ends.
    pvalue_texts_ : list of matplotlib artists
        The p-values.

    See Also
    --------
    skdiscrepancy.drift_report : Computes the report.

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
    'The tables differ (p = 0.002)'
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
            "pvalue": result.pvalue,
            "level": result.level,
        }

    def plot(self, ax: Any = None, *, max_columns: int | None = 30) -> Self:
        """Draw the effect sizes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in.
        max_columns : int or None, default=30
            Largest number of columns; None draws all.

        Returns
        -------
        display : DriftReportDisplay
            The display.
        """
        names = _first_columns(self.feature_names, max_columns)
        n_drawn, n_columns = len(names), len(self.feature_names)
        columns = self.effect_sizes, self.adjusted_pvalues, self.explains
        sizes, pvalues, explains = (np.asarray(values)[:n_drawn] for values in columns)
        largest = float(np.nanmax([0.0, *sizes])) or 1.0
        places, small = np.arange(n_drawn), pvalues <= self.level
        colors = np.where(explains, VERMILLION, BLUE)
        ax = self._begin(ax, 6.4, rows_height(n_drawn))
        self.stems_ = ax.hlines(places, 0, sizes, color=colors, linewidth=2, alpha=0.5)
        faces = np.where(small, colors, "white")
        style = {"s": 45, "c": faces, "edgecolors": colors, "linewidths": 1.5}
        self.markers_ = ax.scatter(sizes, places, zorder=3, **style)
        style = {"xycoords": ax.get_yaxis_transform(), "textcoords": "offset points"}
        style |= {"xytext": (4, 0), "va": "center", "fontsize": "small"}
        weights = np.where(small, "bold", "normal")
        self.pvalue_texts_ = [
            ax.annotate(f"p = {pvalue:.2g}", (1, i), fontweight=weights[i], **style)
            for i, pvalue in enumerate(pvalues)
        ]
        self._name_rows(names)
        ax.set_xlim(-0.03 * largest, 1.1 * largest)
        ax.set_xlabel("Effect size (0 to 1)")
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


# Height of the bars of one selected column, of which there are two.
HEIGHT = 0.4
# Number of batch sizes for which a band is computed, at most.
MOST_SIZES = 5
# Number of labels on the axis, at most.
MOST_LABELS = 12


class ComparisonDisplay(Display):
    """Display of the difference of each candidate to the best one, with intervals.

    Filled markers cannot be distinguished from the best candidate (Holm's correction).
    Open markers are significantly worse than another candidate. Use
    :meth:`from_result`.

    Read more in the :ref:`User Guide <uncertainty>`.

    Parameters
    ----------
    names, differences, widths, in_set : array-like of shape (n_candidates,)
        Name of each candidate, difference to the best, half of the interval, and
        whether the marker is filled.
    discrepancy : str, default="score"
        Name of the scores.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    intervals_, kept_, worse_ : matplotlib artists
        Intervals, filled and open markers.

    See Also
    --------
    skdiscrepancy.mmd_compare : Compares samples to a reference.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_compare
    >>> from skdiscrepancy.plotting import ComparisonDisplay
    >>> rng = np.random.RandomState(0)
    >>> X, Y, Z = rng.normal(size=(3, 200, 2)) + np.reshape([0, 0.2, 1], (3, 1, 1))
    >>> result = mmd_compare(X, Y, Z, names=["near", "far"])
    >>> display = ComparisonDisplay.from_result(result)
    >>> display.names, display.ax_.get_title(loc="left")
    (['near', 'far'], '1 of 2 candidates significantly worse at level 0.05')
    """

    names: Sequence[Any]
    differences: ArrayLike
    widths: ArrayLike
    in_set: ArrayLike
    discrepancy: str = "score"

    @classmethod
    def _fields(cls, result: Any, **options: Any) -> dict[str, Any]:
        """Return the fields from a comparison, the best candidate first."""
        level = options.get("level", 0.05)
        kept = result.best_set(level)
        columns = result._columns()
        best, *others = names = columns["candidate"]
        ends = [result.pair(n, best).confidence_interval(1 - level) for n in others]
        return {
            "names": names,
            "differences": columns["difference"],
            "widths": [0.0, *((high - low) / 2 for low, high in ends)],
            "in_set": [name in kept for name in names],
            "discrepancy": result.discrepancy,
        }

    def plot(self, ax: Any = None, *, level: float = 0.05) -> Self:
        """Draw the intervals.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in.
        level : float, default=0.05
            Significance level.

        Returns
        -------
        display : ComparisonDisplay
            The display.
        """
        differences, widths = np.asarray(self.differences), np.asarray(self.widths)
        in_set = np.asarray(self.in_set, dtype=bool)
        n = len(differences)
        places = np.arange(n)
        ax = self._begin(ax, 6.4, 1.6 + 0.36 * n)
        ax.axvline(0, color=GREY, linewidth=1, linestyle="--")
        low, high = differences - widths, differences + widths
        colors = np.where(in_set, BLUE, VERMILLION)
        self.intervals_ = ax.hlines(places, low, high, color=colors, linewidth=2)
        style = {"linestyle": "none", "marker": "o", "markersize": 7, "zorder": 3}
        kept = {"color": BLUE, "label": "not distinguishable from the best", **style}
        [self.kept_] = ax.plot(differences[in_set], places[in_set], **kept)
        style |= {"color": VERMILLION, "label": "worse", "markerfacecolor": "white"}
        [self.worse_] = ax.plot(differences[~in_set], places[~in_set], **style)
        self._name_rows(self.names)
        ax.set_xlabel(
            f"Difference in {self.discrepancy} to {self.names[0]}, with "
            f"{100 * (1 - level):g} % intervals"
        )
        n_worse = int(np.sum(~in_set))
        title = f"{n_worse} of {n} candidates significantly worse at level {level:g}"
        return self._legend(title, ncols=2)


class SubsetsDisplay(Display):
    """Display of the squared MMD of random subsets, with their mean.

    Use :meth:`from_result`.

    Read more in the :ref:`User Guide <generators>`.

    Parameters
    ----------
    values : array-like of shape (n_subsets,)
        Squared MMD of each subset.
    subset_size : int or None, default=None
        Rows of a subset.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_, mean_ : matplotlib artists
        Histogram, and line at the mean.

    See Also
    --------
    skdiscrepancy.mmd_subsets : Computes the values.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_subsets
    >>> from skdiscrepancy.plotting import SubsetsDisplay
    >>> X, Y = np.random.RandomState(0).normal(size=(2, 200, 4)) + [[[0]], [[0.5]]]
    >>> result = mmd_subsets(X, Y, n_subsets=30, subset_size=50, random_state=0)
    >>> display = SubsetsDisplay.from_result(result)
    >>> int(sum(bar.get_height() for bar in display.bars_))
    30
    """

    values: ArrayLike
    subset_size: int | None = None

    def plot(self, ax: Any = None, *, bins: Any = "auto") -> Self:
        """Draw the histogram.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in.
        bins : int, array-like or str, default="auto"
            Bins of :func:`numpy.histogram_bin_edges`.

        Returns
        -------
        display : SubsetsDisplay
            The display.
        """
        values = np.asarray(self.values)
        ax = self._begin(ax, 6.4, 3.6)
        rows = "" if self.subset_size is None else f" of {self.subset_size} rows"
        label = f"{values.size} subsets{rows}"
        self.bars_ = self._draw_histogram(values, bins, label)
        mean = values.mean()
        label = f"mean {mean:.3g}, standard deviation {values.std():.2g}"
        self.mean_ = self._draw_value(mean, label)
        ax.set(xlabel="Squared MMD of a subset", ylabel="Number of subsets")
        return self._legend("Squared MMD of random subsets", ncols=2)


class BatchScoresDisplay(Display):
    """Display of the scores of batches over time, with the band of usual scores.

    The band contains a fraction `confidence` of the scores of random reference rows:
    0.95 gives one false alarm in 40 batches. If reference rows are not independent, the
    band is too narrow.

    Read more in the :ref:`User Guide <mmd>`.

    Parameters
    ----------
    scores : array-like of shape (n_batches,)
        Score of each batch.
    labels : array-like of shape (n_batches,) or None, default=None
        Labels of the batches.
    band : array-like of shape (2,) or (n_batches, 2), or None, default=None
        Lower and upper end of the band.
    confidence : float or None, default=None
        Fraction of usual scores in the band.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_, band_, above_ : matplotlib artist or None
        Scores, band, scores above it.

    See Also
    --------
    skdiscrepancy.MMDEstimator.score_batches : Computes the scores.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import MMDEstimator
    >>> from skdiscrepancy.plotting import BatchScoresDisplay
    >>> X = np.random.RandomState(0).normal(size=(400, 2))
    >>> X[300:] += 1
    >>> mmd = MMDEstimator().fit(X[:200])
    >>> display = BatchScoresDisplay.from_estimator(
    ...     mmd, X[200:], batch_size=50, random_state=0
    ... )
    >>> (display.scores > display.band[:, 1]).tolist()
    [False, False, True, True]
    """

    scores: ArrayLike
    labels: Any = None
    band: ArrayLike | None = None
    confidence: float | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: MMDEstimator,
        batches: Any,
        *,
        batch_size: int | None = None,
        by: Any = None,
        confidence: float = 0.95,
        n_resamples: int = 100,
        random_state: RandomStateLike = None,
        ax: Any = None,
    ) -> Self:
        """Compute the scores of batches and the band, and draw them.

        The band takes the time of `n_resamples` scores for each size of a batch.

        Parameters
        ----------
        estimator : MMDEstimator
            Fitted estimator.
        batches : iterable, array-like or DataFrame
            Samples, or one sample to divide by `batch_size` or `by`.
        batch_size : int or None, default=None
            Number of consecutive rows of each batch.
        by : str or None, default=None
            Column with the labels of the batches.
        confidence : float, default=0.95
            Fraction of scores in the band.
        n_resamples : int, default=100
            Number of random batches of the reference.
        random_state : int, RandomState instance, Generator or None, default=None
            Seeds all random draws.
        ax : matplotlib Axes, default=None
            Axes to draw in.

        Returns
        -------
        display : BatchScoresDisplay
            The display.
        """
        if not isinstance(estimator, MMDEstimator):
            raise TypeError(
                f"estimator == {shown(estimator)}, must be a fitted MMDEstimator."
            )
        confidence = check_number(confidence, "confidence", strict=True, most=1)
        n_resamples = check_number(n_resamples, "n_resamples", integer=True, least=2)
        scores, labels, sizes = estimator._score_batches(batches, batch_size, by)
        known = np.unique(sizes)
        if len(known) > MOST_SIZES:
            places = np.linspace(0, len(known) - 1, MOST_SIZES + 1)[:-1]
            known = known[places.astype(int)]
        tails = [(1 - confidence) / 2, (1 + confidence) / 2]
        bands = []
        for size in known:
            usual = estimator._score_held_out(int(size), n_resamples, random_state)
            # A new score is above the i-th of n with probability i / (n + 1), so this
            # method leaves the fraction `confidence` inside on average.
            bands.append(np.quantile(usual, tails, method="weibull"))
        band = np.array(bands)[np.searchsorted(known, sizes, "right") - 1]
        named = None if by is None else labels
        return cls.from_scores(
            scores, labels=named, band=band, confidence=confidence, ax=ax
        )

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        *,
        labels: Any = None,
        band: ArrayLike | None = None,
        confidence: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw scores that you have computed.

        Parameters
        ----------
        scores : array-like of shape (n_batches,)
            Score of each batch.
        labels : array-like of shape (n_batches,) or None, default=None
            Labels of the batches.
        band : array-like of shape (2,) or (n_batches, 2), or None, default=None
            Lower and upper end. Compute it from rows outside the reference.
        confidence : float or None, default=None
            Fraction of usual scores in the band.
        ax : matplotlib Axes, default=None
            Axes to draw in.

        Returns
        -------
        display : BatchScoresDisplay
            The display.
        """
        given = cls(scores=scores, labels=labels, band=band, confidence=confidence)
        return given.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the scores and the band.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in.

        Returns
        -------
        display : BatchScoresDisplay
            The display.
        """
        scores, band = np.asarray(self.scores, dtype=np.float64), None
        n = len(scores) if scores.ndim == 1 else 0
        if not n:
            raise ValueError(
                f"scores has shape {scores.shape}, must be one-dimensional and not "
                "empty."
            )
        if self.labels is not None and len(self.labels) != n:
            raise ValueError(
                f"labels has {len(self.labels)} entries, must have {n}, one for each "
                "score."
            )
        if self.band is not None:
            ends = np.asarray(self.band, dtype=np.float64)
            if ends.shape not in ((2,), (n, 2)):
                raise ValueError(
                    f"band has shape {ends.shape}, must have shape (2,) or {(n, 2)}."
                )
            band = np.broadcast_to(ends, (n, 2))
        ax, places = self._begin(ax, 6.4, 3.6), np.arange(n)
        self.band_ = self.above_ = None
        if band is not None:
            # Each batch has its own band, half a step to each side.
            edges = np.repeat(np.append(places, len(places)) - 0.5, 2)[1:-1]
            label = "batches of the reference"
            if self.confidence is not None:
                label = f"{100 * self.confidence:g} % of {label}"
            style = {"color": GREY, "alpha": 0.2, "linewidth": 0, "label": label}
            self.band_ = ax.fill_between(edges, *np.repeat(band, 2, axis=0).T, **style)
        style = {"color": BLUE, "markersize": 4, "label": "batch"}
        [self.line_] = ax.plot(places, scores, "o-", **style)
        if band is not None and np.any(above := scores > band[:, 1]):
            style = {"color": VERMILLION, "markersize": 6, "zorder": 3}
            style["label"] = "batch above the band"
            [self.above_] = ax.plot(places[above], scores[above], "D", **style)
        ax.axhline(0, color=GREY, linewidth=0.8, zorder=0)
        ax.set(xlabel="Batch", ylabel="Discrepancy to the reference")
        ax.margins(x=0.02)
        if self.labels is None:
            whole_numbers(ax.xaxis)
        else:
            some = places[:: -(-len(places) // MOST_LABELS)]
            names = [plain(list(self.labels)[place]) for place in some]
            crowded = sum(map(len, names)) > 60
            turned = {"rotation": 30, "ha": "right"} if crowded else {}
            ax.set_xticks(some, names, **turned)
        return self._legend("Scores of batches", ncols=3)


# Words for the vertical axis and the title of a stream.
MONITOR_WORDS = {
    "statistic": ("Discrepancy to the reference", "Statistic of the last rows"),
    "wealth": ("Wealth", "Wealth of bets against the null hypothesis"),
}


class MonitorDisplay(Display):
    """Display of a stream: statistic, threshold, alarms and the change point.

    For a sequential test, the statistic is the wealth, and the alarm is the first
    rejection. Use :meth:`from_result`.

    Read more in the :ref:`User Guide <monitoring>`.

    Parameters
    ----------
    position, statistic, threshold, alarm : array-like of shape (n_rows,)
        Values for each row of the stream.
    change_point : int or None, default=None
        Estimated first row after the change.
    name : {"statistic", "wealth"}, default="statistic"
        What `statistic` is.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_, threshold_line_, alarms_, change_line_ : matplotlib artist or None
        Statistic, threshold, alarms, change point.

    See Also
    --------
    skdiscrepancy.DriftMonitor : Watches the stream.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.monitoring import DriftMonitor
    >>> rng = np.random.RandomState(0)
    >>> monitor = DriftMonitor(window_size=20, run_length=500, random_state=0)
    >>> monitor = monitor.fit(rng.normal(size=(500, 2)))
    >>> alarms = monitor.update(rng.normal(size=(50, 2)) + 1)
    >>> display = monitor.plot()
    >>> len(display.alarms_.get_xdata()) == int(alarms.sum())
    True
    """

    position: ArrayLike
    statistic: ArrayLike
    threshold: ArrayLike
    alarm: ArrayLike
    change_point: int | None = None
    name: str = "statistic"

    @classmethod
    def _fields(cls, result: Any, **options: Any) -> dict[str, Any]:
        """Return the fields from the history of a stream."""
        return result._curve()

    def plot(self, ax: Any = None) -> Self:
        """Draw the stream.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in.

        Returns
        -------
        display : MonitorDisplay
            The display.
        """
        ax = self._begin(ax, 6.4, 3.6)
        words = MONITOR_WORDS[self.name]
        position, statistic = np.asarray(self.position), np.asarray(self.statistic)
        [self.line_] = ax.plot(position, statistic, color=BLUE, label=self.name)
        style: dict[str, Any]
        style = {"color": GREY, "linestyle": "--", "label": "threshold"}
        [self.threshold_line_] = ax.plot(position, self.threshold, **style)
        self.alarms_ = self.change_line_ = None
        if np.any(alarm := np.asarray(self.alarm, dtype=bool)):
            style = {"color": VERMILLION, "markersize": 3, "label": "alarm"}
            some = position[alarm], statistic[alarm]
            [self.alarms_] = ax.plot(*some, "o", **style)
        if self.change_point is not None:
            label = f"change at row {self.change_point}"
            style = {"color": VERMILLION, "linestyle": ":", "label": label}
            self.change_line_ = ax.axvline(self.change_point, **style)
        ax.set(xlabel="Row of the stream", ylabel=words[0])
        ax.set_yscale("log" if self.name == "wealth" else "linear")
        ax.margins(x=0.02)
        whole_numbers(ax.xaxis)
        return self._legend(words[1], ncols=4)


class ChangePointDisplay(Display):
    """Display of a series and the places at which its distribution changes.

    Each column has its means between changes. Lines show changes, and bands their
    confidence intervals. Use :meth:`from_result`.

    Read more in the :ref:`User Guide <change_points>`.

    Parameters
    ----------
    series : array-like of shape (n_samples, n_columns)
        Columns to draw.
    names : list of length n_columns
        Names of the columns.
    index : array-like of shape (n_samples,)
        Labels of the rows.
    change_points : array-like of shape (n_changes,)
        First row after each change.
    intervals : array-like of shape (n_changes, 2)
        Confidence intervals.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_, means_, change_lines_, bands_ : list of matplotlib artists
        Columns, means, changes, intervals.

    See Also
    --------
    skdiscrepancy.change_point_test : Computes the changes.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import change_point_test
    >>> X = np.random.RandomState(0).normal(size=90)
    >>> X[60:] += 2
    >>> display = change_point_test(X, random_state=0).plot()
    >>> len(display.lines_), len(display.change_lines_)
    (1, 1)
    """

    series: ArrayLike
    names: Sequence[Any]
    index: ArrayLike
    change_points: ArrayLike
    intervals: ArrayLike

    @classmethod
    def _fields(cls, result: Any, **options: Any) -> dict[str, Any]:
        """Return the fields from a result, which keeps its series."""
        own = dict(zip(("names", "series", "index"), result._series, strict=True))
        return own | super()._fields(result)

    def plot(self, ax: Any = None) -> Self:
        """Draw the series and its changes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in.

        Returns
        -------
        display : ChangePointDisplay
            The display.
        """
        series, x = np.asarray(self.series, dtype=np.float64), np.asarray(self.index)
        places = np.asarray(self.change_points, dtype=np.int64)
        n, d = series.shape
        if x.dtype.kind not in "fiuM" or not np.all(x[1:] > x[:-1]):
            x = np.arange(n)
        ax = self._begin(ax, 6.4, 3.6)
        if d > 1:
            low, high = np.fmin.reduce(series), np.fmax.reduce(series)
            spread = np.where(high > low, high - low, 1)
            # The first column on top, with a gap below each column.
            series = 0.85 * (series - low) / spread - np.arange(d)
        self.lines_ = ax.plot(x, series, color=BLUE, linewidth=0.8)
        self.means_, self.change_lines_, self.bands_ = [], [], []
        for column in series.T:
            parts = np.split(column, places)
            known = [part[np.isfinite(part)] for part in parts]
            levels = [part.mean() if part.size else np.nan for part in known]
            means = np.repeat(levels, list(map(len, parts)))
            self.means_ += ax.plot(x, means, color=GREY, drawstyle="steps-post")
        for place, (first, last) in zip(
            places, np.asarray(self.intervals), strict=True
        ):
            style: dict[str, Any] = {"color": VERMILLION, "alpha": 0.25, "linewidth": 0}
            self.bands_.append(ax.axvspan(x[first], x[last], **style))
            style = {"color": VERMILLION, "linestyle": "--"}
            self.change_lines_.append(ax.axvline(x[place], **style))
        drawn = self.lines_, self.means_, self.change_lines_, self.bands_
        labels = "series", "mean between changes", "change", "interval"
        for artists, label in zip(drawn, labels, strict=True):
            for artist in artists[:1]:
                artist.set_label(label)
        if d > 1:
            ax.set_yticks(0.4 - np.arange(d), [plain(name) for name in self.names])
            ax.tick_params(axis="y", length=0)
        elif self.names[0] not in (0, None):
            ax.set_ylabel(plain(self.names[0]))
        if np.array_equal(x, np.arange(n)):
            ax.set_xlabel("Row")
        ax.margins(x=0.02)
        n_changes = f"{len(places)} change{'' if len(places) == 1 else 's'}"
        return self._legend(f"{n_changes} of the distribution", ncols=4)


class SelectionDisplay(Display):
    """Display of the path of a selector: relevance against redundancy.

    Relevance is the centred kernel alignment (CKA) of a column with y. Redundancy is
    its mean CKA with the columns above it. Use :meth:`from_estimator`.

    Read more in the :ref:`User Guide <plotting>`.

    Parameters
    ----------
    relevance, redundancy, feature_names : array-like of shape (n_selected,)
        Relevance, redundancy and name of each column, in the order of selection.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    relevance_bars_, redundancy_bars_ : matplotlib artists
        The bars.

    See Also
    --------
    skdiscrepancy.HSICSelector : Computes the path.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.feature_selection import HSICSelector
    >>> from skdiscrepancy.plotting import SelectionDisplay
    >>> X = np.random.RandomState(0).normal(size=(100, 6))
    >>> y = X[:, 1] ** 2 + np.sin(2 * X[:, 4])
    >>> selector = HSICSelector(2).fit(X, y)
    >>> SelectionDisplay.from_estimator(selector).feature_names.tolist()
    ['x1', 'x4']
    """

    relevance: ArrayLike
    redundancy: ArrayLike
    feature_names: Sequence[Any]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the path of a selector.

        Parameters
        ----------
        estimator : HSICSelector or HSICSelectorCV
            Fitted selector.
        ax : matplotlib Axes, default=None
            Axes to draw in.

        Returns
        -------
        display : SelectionDisplay
            The display.
        """
        check_is_fitted(estimator)
        # With cross-validation, the path belongs to the selector of all rows.
        path = getattr(estimator, "selector_", estimator).path_
        names = getattr(estimator, "feature_names_in_", None)
        if names is None:
            names = np.array([f"x{j}" for j in range(estimator.n_features_in_)])
        return cls(
            relevance=path.relevance,
            redundancy=path.redundancy,
            feature_names=path.get("group", names[path.feature]),
        ).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the path.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in.

        Returns
        -------
        display : SelectionDisplay
            The display.
        """
        steps = np.arange(1, len(self.feature_names) + 1)
        ax = self._begin(ax, 6.4, max(2.0, 1.6 + 0.4 * len(steps)))
        above, below = steps - HEIGHT / 2, steps + HEIGHT / 2
        style = {"color": BLUE, "label": "relevance, with y"}
        self.relevance_bars_ = ax.barh(above, self.relevance, HEIGHT, **style)
        label = "redundancy, mean with the columns above"
        style = {"color": VERMILLION, "label": label}
        self.redundancy_bars_ = ax.barh(below, self.redundancy, HEIGHT, **style)
        labels = [f"{i}. {name}" for i, name in enumerate(self.feature_names, 1)]
        self._name_rows(labels, start=1)
        ax.set_xlabel("Centred kernel alignment (CKA)")
        return self._legend("Selected columns, the first on top")


class SelectionCVDisplay(Display):
    """Display of the cross-validated score by the number of selected columns.

    The band, one standard error, is only a rough guide, because folds share training
    rows. Use :meth:`from_estimator`.

    Read more in the :ref:`User Guide <plotting>`.

    Parameters
    ----------
    n_features : array-like of shape (n_sizes,)
        Numbers of columns.
    scores : array-like of shape (n_settings, n_sizes, n_folds)
        Held-out :math:`R^2`.
    best_setting : int, default=0
        Position of the best setting.
    n_features_selected : int or None, default=None
        Chosen number of columns.
    setting_name : str or None, default=None
        Name of the best setting.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_, band_, chosen_ : matplotlib artist or None
        Curve, band and chosen number.
    other_lines_ : list of matplotlib artists
        Curves of the other settings.

    See Also
    --------
    skdiscrepancy.HSICSelectorCV : Chooses the number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.feature_selection import HSICSelectorCV
    >>> from skdiscrepancy.plotting import SelectionCVDisplay
    >>> X = np.random.RandomState(0).normal(size=(100, 6))
    >>> y = X[:, 1] ** 2 + np.sin(2 * X[:, 4])
    >>> selector = HSICSelectorCV().fit(X, y)
    >>> display = SelectionCVDisplay.from_estimator(selector)
    >>> int(display.chosen_.get_xdata()[0])
    2
    """

    n_features: ArrayLike
    scores: ArrayLike
    best_setting: int = 0
    n_features_selected: int | None = None
    setting_name: str | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the cross-validated scores of a selector.

        Parameters
        ----------
        estimator : HSICSelectorCV
            Fitted selector.
        ax : matplotlib Axes, default=None
            Axes to draw in.

        Returns
        -------
        display : SelectionCVDisplay
            The display.
        """
        check_is_fitted(estimator)
        results = getattr(estimator, "cv_results_", None)
        if results is None or "n_features" not in results:
            raise TypeError(f"estimator == {estimator!r}, must be an HSICSelectorCV.")
        sizes = np.unique(results["n_features"])
        n_splits = sum(key.startswith("split") for key in results)
        splits = [results[f"split{i}_test_score"] for i in range(n_splits)]
        scores = np.transpose(splits).reshape(-1, len(sizes), n_splits)
        best = int(np.argmax(results["mean_test_score"])) // len(sizes)
        params = estimator.best_params_.items() if len(scores) > 1 else ()
        setting = ", ".join(f"{key}={value}" for key, value in params) or None
        return cls(
            n_features=sizes,
            scores=scores,
            best_setting=best,
            n_features_selected=estimator.n_features_,
            setting_name=setting,
        ).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the scores.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in.

        Returns
        -------
        display : SelectionCVDisplay
            The display.
        """
        ax = self._begin(ax, 6.4, 4.4)
        sizes, scores = np.asarray(self.n_features), np.asarray(self.scores)
        n_splits, best = scores.shape[2], self.best_setting
        means = scores.mean(axis=2)
        others = np.delete(means, best, axis=0).T
        style = {"color": GREY, "linewidth": 0.8, "alpha": 0.5}
        self.other_lines_ = ax.plot(sizes, others, **style)
        if self.other_lines_:
            self.other_lines_[0].set_label("other parameters")
        folds = f"mean of {n_splits} fold{'' if n_splits == 1 else 's'}"
        name = "" if self.setting_name is None else f", {plain(self.setting_name, 60)}"
        style = {"color": BLUE, "markersize": 4, "label": f"{folds}{name}"}
        [self.line_] = ax.plot(sizes, means[best], "o-", **style)
        self.band_ = self.chosen_ = None
        if n_splits > 1:
            error = scores[best].std(axis=1, ddof=1) / np.sqrt(n_splits)
            ends = means[best] - error, means[best] + error
            style = {"color": BLUE, "alpha": 0.2, "label": "one standard error"}
            self.band_ = ax.fill_between(sizes, *ends, linewidth=0, **style)
        chosen = self.n_features_selected
        if chosen is not None:
            style = {"color": VERMILLION, "linestyle": "--", "zorder": 1}
            self.chosen_ = ax.axvline(chosen, label=f"chosen: {chosen}", **style)
        whole_numbers(ax.xaxis)
        ax.set(xlabel="Number of columns", ylabel="R² on held-out rows")
        named = [self.line_, self.band_, self.chosen_, *self.other_lines_[:1]]
        handles = list(filter(None, named))
        title = "Cross-validated score by number of columns"
        return self._legend(title, ncols=3, handles=handles)
