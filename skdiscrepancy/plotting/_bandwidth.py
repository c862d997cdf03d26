"""Statistics, or p-values, against the bandwidths of the kernels."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data import check_number
from skdiscrepancy._ksd import KSDEstimator
from skdiscrepancy._mmd import MMDEstimator
from skdiscrepancy.bandwidths import median_bandwidth
from skdiscrepancy.kernels import KernelLike, RadialKernel
from skdiscrepancy.plotting._style import (
    GREY,
    MARKERS,
    SERIES,
    kernel_name,
    legend_above,
    set_axes,
)

# Bandwidths further apart than this are drawn on a logarithmic axis.
WIDE = 20


class BandwidthDisplay:
    """Display of a discrepancy, or a test, against the bandwidth.

    For a discrepancy, the statistic of each kernel, over its scale if it is normalised,
    with the pooled value [1]_. For a test, the adjusted p-value of each kernel with
    that of the test: a filled marker is a bandwidth at which there is a difference. In
    both, higher is more different, a line is a type of kernel and a marker a point of
    its grid. A kernel without a bandwidth is a dashed line.

    HSIC has pairs of kernels: drawn for each kernel on X is the largest statistic, or
    the smallest p-value, over the kernels on y.

    Made by :meth:`from_estimator` or :meth:`from_result`.

    Read more in the :ref:`User Guide <plotting>`.

    Parameters
    ----------
    kernel_names : list of str of length n_kernels
        Type of each kernel.
    bandwidths : array-like of shape (n_kernels,)
        Bandwidth of each kernel, NaN if it has none.
    statistics : array-like of shape (n_kernels,)
        Statistic of each kernel, over its scale if `normalized`.
    value : float
        Pooled statistic.
    normalized : bool, default=True
        Whether the statistics are normalised.
    pvalues : array-like of shape (n_kernels,), default=None
        Adjusted p-value of each kernel, for a test; drawn instead of the statistics.
    pvalue : float or None, default=None
        The p-value of the test.
    medians : dict or None, default=None
        Median distance in the norm of the kernel, for each type of kernel.
    paired : bool, default=False
        Whether statistics and p-values are the best over several kernels on y.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        The figure.
    lines_ : dict of matplotlib Line2D
        The line of each type of kernel.
    significant_ : dict of matplotlib Line2D
        For a test, the filled markers of each type of kernel.
    median_lines_ : list of matplotlib Line2D
        Median distances, one for each norm.
    pooled_line_ : matplotlib Line2D
        The pooled value, or the p-value of the test.

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

    def __init__(
        self,
        *,
        kernel_names: list[str],
        bandwidths: ArrayLike,
        statistics: ArrayLike,
        value: float,
        normalized: bool = True,
        pvalues: ArrayLike | None = None,
        pvalue: float | None = None,
        medians: dict[str, float] | None = None,
        paired: bool = False,
    ):
        self.kernel_names = kernel_names
        self.bandwidths = bandwidths
        self.statistics = statistics
        self.value = value
        self.normalized = normalized
        self.pvalues = pvalues
        self.pvalue = pvalue
        self.medians = medians
        self.paired = paired

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, y: Any = None, *, ax: Any = None
    ) -> BandwidthDisplay:
        """Draw the statistics of an estimator on a sample.

        Parameters
        ----------
        estimator : MMDEstimator, HSICEstimator or KSDEstimator
            Fitted estimator.
        X : array-like of shape (n_samples, n_features)
            Sample, as for `score`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Second variables of HSIC.
        ax : matplotlib Axes, default=None
            Axes to draw in; new ones if None.

        Returns
        -------
        display : BandwidthDisplay
            The display, drawn, with the median distances of the reference sample for
            MMD, and of X for HSIC and KSD.
        """
        result = estimator.evaluate(X, y)
        rows = np.asarray(X)
        if isinstance(estimator, MMDEstimator):
            rows = estimator.reference_
        elif isinstance(estimator, KSDEstimator) and estimator.scale_ is not None:
            rows = rows / estimator.scale_
        # Of one column, all norms agree, but for rounding.
        medians = {
            kernel_name(kernel): median_bandwidth(
                rows, p=kernel.norm if rows.shape[1] > 1 else 1
            )
            for kernel in _one_of_each(estimator.kernels_)
        }
        return cls.from_result(result, medians=medians, ax=ax)

    @classmethod
    def from_result(
        cls,
        result: Any,
        *,
        medians: dict[str, float] | None = None,
        level: float = 0.05,
        ax: Any = None,
    ) -> BandwidthDisplay:
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
            Level of a test.
        ax : matplotlib Axes, default=None
            Axes to draw in; new ones if None.

        Returns
        -------
        display : BandwidthDisplay
            The display, drawn.

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
        kernels, statistics = result.kernels, np.asarray(result.statistics)
        pvalues = getattr(result, "pvalues", None)
        is_test, normalized = pvalues is not None, False
        if not is_test:
            scales = np.asarray(result.scales)
            normalized = not np.all(scales == 1)
            # Constant data have no scale, and a statistic of 0.
            statistics = np.divide(
                statistics, scales, out=np.zeros_like(statistics), where=scales > 0
            )
        paired = isinstance(kernels[0], tuple)
        if paired:
            # All pairs with the first kernel on X come first, and so on.
            shape = (-1, len({id(second) for _, second in kernels}))
            kernels = [first for first, _ in kernels[:: shape[1]]]
            statistics = statistics.reshape(shape).max(axis=1)
            if pvalues is not None:
                pvalues = pvalues.reshape(shape).min(axis=1)
            paired = shape[1] > 1
        display = cls(
            kernel_names=[kernel_name(kernel) for kernel in kernels],
            bandwidths=np.array(
                [
                    k.bandwidth if isinstance(k, RadialKernel) else np.nan
                    for k in kernels
                ],
                dtype=np.float64,
            ),
            statistics=statistics,
            value=result.statistic if is_test else result.value,
            normalized=normalized,
            pvalues=pvalues,
            pvalue=result.pvalue if is_test else None,
            medians=medians,
            paired=paired,
        )
        return display.plot(ax=ax, level=level)

    def plot(self, ax: Any = None, *, level: float = 0.05) -> BandwidthDisplay:
        """Draw the statistics, or the p-values.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; new ones if None.
        level : float, default=0.05
            Level of a test.

        Returns
        -------
        display : BandwidthDisplay
            The display itself.
        """
        check_number(level, "level", strict=True, most=1)
        bandwidths = np.asarray(self.bandwidths)
        types = list(dict.fromkeys(self.kernel_names))
        if np.all(np.isnan(bandwidths)):
            raise ValueError(
                f"kernel_names == {types!r}, must have one with a bandwidth at least."
            )
        is_test = self.pvalues is not None
        values = np.asarray(self.pvalues if is_test else self.statistics)
        ax = set_axes(self, ax, figsize=(6.4, 4.4))
        self.lines_, self.significant_ = {}, {}
        for index, name in enumerate(types):
            style = {
                "color": SERIES[index % len(SERIES)],
                "marker": MARKERS[index % len(MARKERS)],
            }
            own = np.flatnonzero([other == name for other in self.kernel_names])
            if np.isnan(bandwidths[own]).all():
                self.lines_[name] = ax.axhline(
                    values[own[0]], color=style["color"], linestyle="--", label=name
                )
                continue
            own = own[np.argsort(bandwidths[own])]
            face = {"markerfacecolor": "white"} if is_test else {}
            [self.lines_[name]] = ax.plot(
                bandwidths[own], values[own], label=name, **style, **face
            )
            if is_test:
                own = own[values[own] <= level]
                [self.significant_[name]] = ax.plot(
                    bandwidths[own], values[own], linestyle="none", **style
                )
        self._draw_medians(ax)
        if is_test:
            self._draw_test(ax, level, values)
        else:
            self.pooled_line_ = ax.axhline(
                self.value, color="black", label=f"pooled: {self.value:.3g}"
            )
            kind = "normalised statistic" if self.normalized else "statistic"
            best = ", largest over kernels on y" if self.paired else ""
            ax.set_ylabel(f"{kind}{best}")
        if np.nanmax(bandwidths) > WIDE * np.nanmin(bandwidths):
            self._spread(ax)
        ax.set_xlabel("bandwidth, in the norm of the kernel")
        ax.spines[["top", "right"]].set_visible(False)
        legend_above(ax, ncols=3)
        return self

    def _spread(self, ax: Any) -> None:
        """Draw bandwidths of several decades on a logarithmic axis."""
        from matplotlib.ticker import LogLocator

        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter("")

    def _draw_medians(self, ax: Any) -> None:
        self.median_lines_ = []
        drawn = {
            name: median
            for name, median in (self.medians or {}).items()
            if name in self.lines_
        }
        for median in dict.fromkeys(drawn.values()):
            # Kernels of one norm share their median.
            names = [name for name in drawn if drawn[name] == median]
            alone = len(names) == 1 and len(drawn) > 1
            label = f"median distance, {names[0]}" if alone else "median distance"
            line = ax.axvline(
                median,
                color=self.lines_[names[0]].get_color() if alone else GREY,
                linestyle=":",
                label=label,
                zorder=0,
            )
            self.median_lines_.append(line)

    def _draw_test(self, ax: Any, level: float, pvalues: np.ndarray) -> None:
        from matplotlib.ticker import LogLocator

        self.pooled_line_ = ax.axhline(
            self.pvalue, color="black", zorder=1, label=f"test: p = {self.pvalue:.3g}"
        )
        ax.axhline(
            level,
            color=GREY,
            linestyle="--",
            zorder=0,
            label=f"level {level:g}, filled if reached",
        )
        # Small p-values on top: higher is more different, as for statistics.
        ax.set_yscale("log")
        least = float(np.min([level, self.pvalue, *pvalues]))
        ax.set_ylim(1.2, least / 1.5)
        # Of two decades or less, powers of ten alone are too few.
        ax.yaxis.set_major_locator(
            LogLocator(subs=(1, 2, 5) if least > 0.01 else (1,), numticks=12)
        )
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("")
        best = ", smallest over kernels on y" if self.paired else ""
        ax.set_ylabel(f"adjusted p-value{best}")


def _one_of_each(kernels: list[KernelLike]) -> list[RadialKernel]:
    """Return a kernel of each type that has a bandwidth."""
    radial = [kernel for kernel in kernels if isinstance(kernel, RadialKernel)]
    return list({kernel_name(kernel): kernel for kernel in radial}.values())
