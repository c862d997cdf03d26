"""Statistics, or p-values, against the bandwidths of the kernels."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from skdiscrepancy._data.checks import check_number
from skdiscrepancy._estimators.ksd import KSDEstimator
from skdiscrepancy._estimators.mmd import MMDEstimator
from skdiscrepancy.bandwidths import median_bandwidth
from skdiscrepancy.kernels._names import kernel_bandwidth, kernel_name
from skdiscrepancy.kernels._radial import RadialKernel
from skdiscrepancy.plotting._style import (
    BLUE,
    GREY,
    VERMILLION,
    Display,
    level_style,
    log_scale,
    pvalue_scale,
    rows_height,
)

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


@dataclass(kw_only=True, eq=False, repr=False)
class BandwidthDisplay(Display):
    """Display of a discrepancy, or a test, against the bandwidth.

    For a discrepancy, the display shows the statistic of each kernel, divided by its
    scale if `normalize` is True, and the pooled value [1]_. For a test, it shows the
    adjusted p-value of each kernel and the p-value of the test. A filled marker means
    that the kernel rejects the null hypothesis on its own. In both cases, a higher
    point means a larger difference. Each line is a type of kernel, and each marker is
    one bandwidth. If the largest bandwidth of a panel is more than four times the
    smallest, the bandwidth axis is logarithmic.

    Bandwidths are distances between rows, and kernels measure distances in different
    norms. A Gaussian kernel uses the Euclidean norm, and a Laplace kernel the L1 norm.
    Bandwidths of different norms are not comparable, so each norm has its own panel. A
    kernel without a bandwidth is a dashed line in every panel. If no kernel has a
    bandwidth, each kernel is a bar.

    HSIC has pairs of kernels. For each kernel on X, the display shows the largest
    statistic, or the smallest p-value, over all kernels on y.

    Use :meth:`from_estimator` or :meth:`from_result`, or the method `plot` of the
    result of `evaluate`.

    Read more in the :ref:`User Guide <plotting>`.

    Parameters
    ----------
    kernel_names : list of str of length n_kernels
        Type of each kernel.
    bandwidths : array-like of shape (n_kernels,)
        Bandwidth of each kernel, NaN for a kernel without a bandwidth.
    statistics : array-like of shape (n_kernels,)
        Statistic of each kernel, divided by its scale if `normalized`.
    value : float
        Pooled statistic.
    normalized : bool, default=True
        Whether the statistics are normalised.
    pvalues : array-like of shape (n_kernels,), default=None
        Adjusted p-value of each kernel. For a test, the p-values are drawn instead of
        the statistics.
    pvalue : float or None, default=None
        The p-value of the test.
    medians : dict or None, default=None
        Median distance in the norm of the kernel, for each type of kernel.
    paired : bool, default=False
        Whether statistics and p-values are the best over several kernels on y.
    norms : list of length n_kernels or None, default=None
        Order of the norm of each kernel, such as 1 or 2, or None for a kernel without a
        norm. If `norms` is None, there is only one panel.
    discrepancy : str, default="discrepancy"
        Name of the discrepancy, such as "MMD".

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure, with the title and the legend. They contain the panels if
        there are several.
    axes_ : ndarray of matplotlib Axes of shape (n_panels,)
        The panels, one for each norm.
    figure_ : matplotlib Figure
        The figure.
    lines_ : dict of matplotlib Line2D
        The line of each type of kernel.
    bars_ : matplotlib BarContainer, LineCollection or None
        The bars, if no kernel has a bandwidth.
    significant_ : dict of matplotlib Line2D
        For a test, the filled markers of each type of kernel.
    median_lines_ : list of matplotlib Line2D
        Median distances, one for each norm.
    pooled_line_ : matplotlib Line2D
        The pooled value, or the p-value of the test, in the first panel.

    See Also
    --------
    NullDistributionDisplay : Draws the null distribution of a test.
    skdiscrepancy.DiscrepancyResult : Holds the statistics that are drawn.

    References
    ----------
    .. [1] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

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
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : BandwidthDisplay
            The display, already drawn. It shows the median distance of the reference
            sample for MMD, and of X for HSIC and KSD.
        """
        result = estimator.evaluate(X, y)
        rows = X if issparse(X) else np.asarray(X)
        if isinstance(estimator, MMDEstimator):
            rows = estimator.reference_
        elif isinstance(estimator, KSDEstimator) and estimator.scale_ is not None:
            rows = rows / estimator.scale_
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
            Result of `evaluate` or `test` of an estimator, or of a function of
            :mod:`skdiscrepancy.inference`.
        medians : dict or None, default=None
            Median distance in the norm of the kernel, for each type of kernel, such as
            ``{"Gaussian": 1.5}``.
        level : float, default=0.05
            Significance level of a test.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : BandwidthDisplay
            The display, already drawn.

        Examples
        --------
        >>> import numpy as np
        >>> from skdiscrepancy.inference import mmd_test
        >>> from skdiscrepancy.plotting import BandwidthDisplay
        >>> X = np.random.RandomState(0).normal(size=(100, 2))
        >>> result = mmd_test(X[:50], X[50:] + 1, random_state=0)
        >>> display = BandwidthDisplay.from_result(result)
        >>> display.pooled_line_.get_label()
        'test: p = 0.001'
        """
        pvalues, statistics = getattr(result, "pvalues", None), result.statistics
        is_test = pvalues is not None
        scales = np.asarray(1.0 if is_test else result.scales)
        # The scale and the statistic of constant data are 0.
        zeros = np.zeros_like(statistics)
        statistics = np.divide(statistics, scales, out=zeros, where=scales > 0)
        kernels, statistics, pvalues, paired = _on_first_variable(
            result.kernels, statistics, pvalues
        )
        display = cls(
            kernel_names=[kernel_name(kernel) for kernel in kernels],
            bandwidths=np.array([kernel_bandwidth(kernel) for kernel in kernels]),
            statistics=statistics,
            value=result.statistic if is_test else result.value,
            normalized=not np.all(scales == 1),
            pvalues=pvalues,
            pvalue=result.pvalue if is_test else None,
            medians=medians,
            paired=paired,
            norms=[getattr(kernel, "norm", None) for kernel in kernels],
            discrepancy=getattr(result, "discrepancy", "discrepancy"),
        )
        return display.plot(ax=ax, level=level)

    def plot(self, ax: Any = None, *, level: float = 0.05) -> Self:
        """Draw the statistics, or the p-values.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.
        level : float, default=0.05
            Significance level of a test.

        Returns
        -------
        display : BandwidthDisplay
            The display itself.
        """
        level = check_number(level, "level", strict=True, most=1)
        is_test = self.pvalues is not None
        panels = self._panels()
        # With bars for kernels without a bandwidth, the figure grows with their number.
        height = 4.4 if panels else rows_height(len(self.kernel_names))
        ax = self._begin(ax, 6.4 if len(panels) < 2 else 8.4, height, box=True)
        self.lines_: dict[str, Any] = {}
        self.significant_: dict[str, Any] = {}
        self.median_lines_: list[Any] = []
        self.bars_: Any = None
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
        for panel in self.axes_:
            panel.spines[["top", "right"]].set_visible(False)
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
        kernels = [line for line in self.lines_.values() if line in handles.values()]
        return [*kernels, *(h for h in handles.values() if h not in kernels)]

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
    return np.array(panels)


def _on_first_variable(
    kernels: list[Any], statistics: np.ndarray, pvalues: np.ndarray | None
) -> tuple[list[Any], np.ndarray, np.ndarray | None, bool]:
    """Return the kernels on one variable, with the best numbers over all others.

    The kernels of HSIC are all products of kernels on X and on y. Of each kernel on X
    come its largest statistic and its smallest p-value, and whether several products
    share a kernel. If there is one tuple of kernels for each index instead, the kernels
    are those on the first variable that has bandwidths.
    """
    if not isinstance(kernels[0], tuple):
        return kernels, statistics, pvalues, False
    columns = list(zip(*kernels, strict=True))
    n_first, n_second = (len(set(map(id, column))) for column in columns[:2])
    if len(columns) > 2 or n_first * n_second != len(kernels):
        has_bandwidth = [
            not np.isnan(kernel_bandwidth(column[0])) for column in columns
        ]
        return list(columns[np.argmax(has_bandwidth)]), statistics, pvalues, False
    # All pairs with the first kernel on X come first, and so on.
    shape = (-1, n_second)
    statistics = statistics.reshape(shape).max(axis=1)
    if pvalues is not None:
        pvalues = pvalues.reshape(shape).min(axis=1)
    return list(columns[0][::n_second]), statistics, pvalues, n_second > 1
