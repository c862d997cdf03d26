"""Null distributions and p-values of tests."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data.checks import check_flag, check_number
from skdiscrepancy.plotting._style import (
    BLUE,
    MAX_WRITTEN,
    VERMILLION,
    check_colormap,
    draw_heat_map,
    draw_pvalues,
    legend_above,
    rows_height,
    set_axes,
    set_title,
    write_cells,
)


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


CORRECTIONS = {
    "bh": "Adjusted p-value (Benjamini-Hochberg)",
    "by": "Adjusted p-value (Benjamini-Yekutieli)",
    "holm": "Adjusted p-value (Holm)",
    None: "p-value (not adjusted)",
}


class ColumnTestsDisplay:
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

    def __init__(
        self,
        *,
        feature_names: Sequence[Any],
        adjusted_pvalues: ArrayLike,
        correction: str | None = None,
    ):
        self.feature_names = feature_names
        self.adjusted_pvalues = adjusted_pvalues
        self.correction = correction

    @classmethod
    def from_result(
        cls,
        result: Any,
        *,
        level: float = 0.05,
        max_columns: int | None = 30,
        ax: Any = None,
    ) -> ColumnTestsDisplay:
        """Draw the tests of columns.

        Parameters
        ----------
        result : ColumnTests
            Result of :func:`~skdiscrepancy.mmd_column_tests` or
            :func:`~skdiscrepancy.hsic_column_tests`.
        level : float, default=0.05
            Significance level of the tests.
        max_columns : int or None, default=30
            Largest number of columns to draw. The columns with the smallest p-values
            are drawn first. None draws all columns.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : ColumnTestsDisplay
            The display, already drawn.
        """
        order = result._order()
        display = cls(
            feature_names=[result.feature_names[j] for j in order],
            adjusted_pvalues=result.adjusted_pvalues[order],
            correction=result.correction,
        )
        return display.plot(ax=ax, level=level, max_columns=max_columns)

    def plot(
        self, ax: Any = None, *, level: float = 0.05, max_columns: int | None = 30
    ) -> ColumnTestsDisplay:
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
        if max_columns is not None:
            check_number(max_columns, "max_columns", integer=True, least=1)
        names = list(self.feature_names)[:max_columns]
        pvalues = np.asarray(self.adjusted_pvalues)
        ax = set_axes(self, ax, figsize=(6.4, rows_height(len(names))))
        self.stems_, self.markers_, self.significant_ = draw_pvalues(
            ax, names, pvalues[: len(names)], level
        )
        ax.set_xlabel(CORRECTIONS[self.correction])
        ax.spines[["top", "right"]].set_visible(False)
        n_small = int(np.sum(pvalues <= level))
        title = f"{n_small} of {len(pvalues)} columns significant at level {level:g}"
        if len(names) < len(pvalues):
            title += f"\n(the {len(names)} smallest p-values)"
        legend_above(ax, title)
        return self


class KSampleDisplay:
    """Display of the tests of all pairs of samples as a heat map.

    The colour of a cell is the statistic of the pair, in standard deviations of its
    permutations. The number in a cell is the adjusted p-value [1]_, bold if it is at
    most the significance level. The diagonal stays empty.

    Use :meth:`from_result`, or the method `plot` of
    :class:`~skdiscrepancy.inference.KSampleResult`.

    Read more in the :ref:`User Guide <many_variables>`.

    Parameters
    ----------
    pairs : list of tuple of int
        Positions of both samples of each pair.
    statistics : array-like of shape (n_pairs,)
        Statistic of each pair.
    adjusted_pvalues : array-like of shape (n_pairs,)
        Adjusted p-value of each pair.
    sample_names : list of length n_samples
        Names of the samples.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        The figure.
    image_ : matplotlib AxesImage
        The heat map.
    colorbar_ : matplotlib Colorbar
        The scale of the colours.
    texts_ : list of matplotlib Text
        The adjusted p-values, none for more than 12 samples.

    See Also
    --------
    skdiscrepancy.k_sample_test : Computes the tests.

    References
    ----------
    .. [1] J. P. Shaffer, "Modified sequentially rejective multiple test procedures",
       Journal of the American Statistical Association 81, 1986.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import k_sample_test
    >>> from skdiscrepancy.plotting import KSampleDisplay
    >>> a, b, c = np.random.RandomState(0).normal(size=(3, 60, 2))
    >>> result = k_sample_test(a, b, c + 1, random_state=0)
    >>> display = KSampleDisplay.from_result(result)
    >>> display.ax_.get_title(loc="left").splitlines()
    ['2 of 3 pairs differ', '(bold: adjusted p-value at most 0.05)']
    """

    def __init__(
        self,
        *,
        pairs: Sequence[tuple[int, int]],
        statistics: ArrayLike,
        adjusted_pvalues: ArrayLike,
        sample_names: Sequence[Any],
    ):
        self.pairs = pairs
        self.statistics = statistics
        self.adjusted_pvalues = adjusted_pvalues
        self.sample_names = sample_names

    @classmethod
    def from_result(
        cls,
        result: Any,
        *,
        level: float = 0.05,
        include_values: bool = True,
        cmap: Any = "viridis",
        ax: Any = None,
    ) -> KSampleDisplay:
        """Draw the tests of all pairs of samples.

        Parameters
        ----------
        result : KSampleResult
            Result of :func:`~skdiscrepancy.k_sample_test`.
        level : float, default=0.05
            Significance level of the tests.
        include_values : bool, default=True
            Write the adjusted p-values into the cells of at most 12 samples.
        cmap : str or matplotlib Colormap, default="viridis"
            Colours.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : KSampleDisplay
            The display, already drawn.
        """
        display = cls(
            pairs=result.pairs,
            statistics=result.statistics,
            adjusted_pvalues=result.adjusted_pvalues,
            sample_names=result.sample_names,
        )
        return display.plot(
            ax=ax, level=level, include_values=include_values, cmap=cmap
        )

    def plot(
        self,
        ax: Any = None,
        *,
        level: float = 0.05,
        include_values: bool = True,
        cmap: Any = "viridis",
    ) -> KSampleDisplay:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.
        level : float, default=0.05
            Significance level of the tests.
        include_values : bool, default=True
            Write the adjusted p-values into the cells of at most 12 samples.
        cmap : str or matplotlib Colormap, default="viridis"
            Colours.

        Returns
        -------
        display : KSampleDisplay
            The display itself.
        """
        level = check_number(level, "level", strict=True, most=1)
        check_flag(include_values, "include_values")
        check_colormap(self, cmap)
        k = len(self.sample_names)
        pvalues = np.asarray(self.adjusted_pvalues)
        matrix = np.ma.masked_all((k, k))
        for (a, b), value in zip(self.pairs, np.asarray(self.statistics), strict=True):
            matrix[a, b] = matrix[b, a] = value
        low, high = min(0.0, float(matrix.min())), max(1.0, float(matrix.max()))
        options = {"cmap": cmap, "vmin": low, "vmax": high}
        names = (self.sample_names, self.sample_names)
        ax = draw_heat_map(
            self, ax, matrix, names, label="Statistic (standard deviations)", **options
        )
        self.texts_ = []
        if include_values and k <= MAX_WRITTEN:
            for (a, b), pvalue in zip(self.pairs, pvalues, strict=True):
                weight = "bold" if pvalue <= level else "normal"
                texts = dict.fromkeys(((a, b), (b, a)), f"{pvalue:.2g}")
                self.texts_ += write_cells(
                    ax, matrix, texts, (low, high), fontweight=weight
                )
        n_small = int(np.sum(pvalues <= level))
        marks = f"(bold: adjusted p-value at most {level:g})"
        if not self.texts_:
            marks = f"(adjusted p-value at most {level:g})"
        set_title(ax, f"{n_small} of {len(pvalues)} pairs differ\n{marks}")
        return self
