"""The path of a selection of columns."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy.plotting._style import (
    BLUE,
    VERMILLION,
    legend_above,
    name_rows,
    set_axes,
)

# Height of the bars of one column, of which there are two.
HEIGHT = 0.4


class SelectionDisplay:
    """Display of the path of a selector: relevance against redundancy.

    Two bars for each selected column show its relevance, the centred kernel alignment
    (CKA) with y, and its redundancy, the mean CKA with the columns selected before. The
    column that was selected first is on top. Methods of minimal redundancy and maximal
    relevance [1]_ maximise the difference of relevance and redundancy. Use
    :meth:`from_estimator` to draw the path of a fitted selector.

    Read more in the :ref:`User Guide <plotting>`.

    Parameters
    ----------
    relevance : array-like of shape (n_selected,)
        CKA of each selected column with y.
    redundancy : array-like of shape (n_selected,)
        Mean CKA of each selected column with the columns selected before.
    feature_names : array-like of shape (n_selected,)
        Names of the columns.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        The figure.
    relevance_bars_ : matplotlib BarContainer
        Bars of the relevance.
    redundancy_bars_ : matplotlib BarContainer
        Bars of the redundancy.

    See Also
    --------
    skdiscrepancy.feature_selection.HSICSelector : Computes the path that is drawn.

    References
    ----------
    .. [1] H. Peng, F. Long and C. Ding, "Feature selection based on mutual information:
       criteria of max-dependency, max-relevance, and min-redundancy", IEEE Transactions
       on Pattern Analysis and Machine Intelligence 27, 2005.

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

    def __init__(
        self,
        *,
        relevance: ArrayLike,
        redundancy: ArrayLike,
        feature_names: Sequence[Any],
    ):
        self.relevance = relevance
        self.redundancy = redundancy
        self.feature_names = feature_names

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> SelectionDisplay:
        """Draw the path of a selector.

        Parameters
        ----------
        estimator : HSICSelector or HSICSelectorCV
            Fitted selector.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : SelectionDisplay
            The display, already drawn.
        """
        check_is_fitted(estimator)
        # With cross-validation, the path belongs to the selector of all rows.
        path = getattr(estimator, "selector_", estimator).path_
        names = getattr(estimator, "feature_names_in_", None)
        if names is None:
            names = np.array([f"x{j}" for j in range(estimator.n_features_in_)])
        display = cls(
            relevance=path.relevance,
            redundancy=path.redundancy,
            feature_names=path.get("group", names[path.feature]),
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> SelectionDisplay:
        """Draw the path.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : SelectionDisplay
            The display itself.
        """
        steps = np.arange(1, len(self.feature_names) + 1)
        ax = set_axes(self, ax, figsize=(6.4, max(2.0, 1.6 + 0.4 * len(steps))))
        self.relevance_bars_ = ax.barh(
            steps - HEIGHT / 2,
            self.relevance,
            HEIGHT,
            color=BLUE,
            label="relevance, with y",
        )
        self.redundancy_bars_ = ax.barh(
            steps + HEIGHT / 2,
            self.redundancy,
            HEIGHT,
            color=VERMILLION,
            label="redundancy, mean with the columns above",
        )
        labels = [f"{i}. {name}" for i, name in enumerate(self.feature_names, 1)]
        name_rows(ax, labels, start=1)
        ax.set_xlabel("Centred kernel alignment (CKA)")
        ax.spines[["top", "right"]].set_visible(False)
        legend_above(ax, "Selected columns, the first on top")
        return self
