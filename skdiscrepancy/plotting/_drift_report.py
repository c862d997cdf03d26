"""The effect sizes of the columns of a drift report."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data.checks import check_number
from skdiscrepancy.plotting._style import (
    BLUE,
    GREY,
    VERMILLION,
    legend_above,
    name_rows,
    rows_height,
    set_axes,
)


class DriftReportDisplay:
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

    def __init__(
        self,
        *,
        feature_names: Sequence[Any],
        effect_sizes: ArrayLike,
        adjusted_pvalues: ArrayLike,
        explains: ArrayLike,
        pvalue: float,
        level: float = 0.05,
    ):
        self.feature_names = feature_names
        self.effect_sizes = effect_sizes
        self.adjusted_pvalues = adjusted_pvalues
        self.explains = explains
        self.pvalue = pvalue
        self.level = level

    @classmethod
    def from_result(
        cls, result: Any, *, max_columns: int | None = 30, ax: Any = None
    ) -> DriftReportDisplay:
        """Draw a drift report.

        Parameters
        ----------
        result : DriftReport
            Result of :func:`~skdiscrepancy.monitoring.drift_report`.
        max_columns : int or None, default=30
            Largest number of columns to draw. The columns with the smallest p-values
            are drawn first. None draws all columns.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : DriftReportDisplay
            The display, already drawn.
        """
        columns = result._columns()
        display = cls(
            feature_names=columns["feature"],
            effect_sizes=columns["effect_size"],
            adjusted_pvalues=columns["adjusted_pvalue"],
            explains=columns["explanation"] > 0,
            pvalue=result.joint_test.pvalue,
            level=result.level,
        )
        return display.plot(ax=ax, max_columns=max_columns)

    def plot(
        self, ax: Any = None, *, max_columns: int | None = 30
    ) -> DriftReportDisplay:
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
        if max_columns is not None:
            check_number(max_columns, "max_columns", integer=True, least=1)
        names = list(self.feature_names)[:max_columns]
        n_drawn, n_columns = len(names), len(self.feature_names)
        sizes, pvalues, explains = (
            np.asarray(values)[:n_drawn]
            for values in (self.effect_sizes, self.adjusted_pvalues, self.explains)
        )
        largest = float(np.max(sizes, initial=0)) or 1.0
        places = np.arange(n_drawn)
        colors = np.where(explains, VERMILLION, BLUE)
        ax = set_axes(self, ax, figsize=(6.4, rows_height(n_drawn)))
        self.stems_ = ax.hlines(places, 0, sizes, color=colors, linewidth=2, alpha=0.5)
        self.markers_ = ax.scatter(
            sizes,
            places,
            s=45,
            c=np.where(pvalues <= self.level, colors, "white"),
            edgecolors=colors,
            linewidths=1.5,
            zorder=3,
        )
        self.pvalue_texts_ = [
            ax.annotate(
                f"p = {pvalue:.2g}",
                (1, place),
                xycoords=ax.get_yaxis_transform(),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize="small",
                fontweight="bold" if pvalue <= self.level else "normal",
            )
            for place, pvalue in zip(places, pvalues, strict=True)
        ]
        name_rows(ax, names)
        ax.set_xlim(-0.03 * largest, 1.1 * largest)
        ax.set_xlabel("Effect size (normalised MMD)")
        ax.spines[["top", "right"]].set_visible(False)
        legend_above(ax, self._title(n_drawn, n_columns), ncols=3, handles=_handles())
        return self

    def _title(self, n_drawn: int, n_columns: int) -> str:
        title = (
            "The tables differ" if self.pvalue <= self.level else "No drift detected"
        )
        title += f" (p = {self.pvalue:.2g})"
        if n_drawn < n_columns:
            title += f"\n(the {n_drawn} of {n_columns} smallest p-values)"
        return title


def _handles() -> list[Any]:
    """Return the artists of the legend, which has entries for all cases."""
    from matplotlib.lines import Line2D

    dot: dict[str, Any] = {"marker": "o", "linestyle": ""}
    return [
        Line2D([], [], **dot, color=GREY, label="differs on its own"),
        Line2D([], [], **dot, color=GREY, markerfacecolor="white", label="does not"),
        Line2D([], [], color=VERMILLION, linewidth=3, label="explains the drift"),
    ]
