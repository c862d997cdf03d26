"""The p-values of tests of many columns."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data import check_number
from skdiscrepancy.plotting._style import (
    draw_pvalues,
    legend_above,
    rows_height,
    set_axes,
)

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
