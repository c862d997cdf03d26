"""The path of a selection of columns, and its cross-validated score."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy.plotting._style import (
    BLUE,
    GREY,
    VERMILLION,
    Display,
    legend_above,
    name_rows,
    plain,
    set_axes,
)

# Height of the bars of one column, of which there are two.
HEIGHT = 0.4


@dataclass(kw_only=True, eq=False, repr=False)
class SelectionDisplay(Display):
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

    def plot(self, ax: Any = None) -> Self:
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
        figsize = (6.4, max(2.0, 1.6 + 0.4 * len(steps)))
        ax = set_axes(self, ax, figsize=figsize, box=False)
        style: dict[str, Any] = {"color": BLUE, "label": "relevance, with y"}
        self.relevance_bars_ = ax.barh(
            steps - HEIGHT / 2, self.relevance, HEIGHT, **style
        )
        label = "redundancy, mean with the columns above"
        self.redundancy_bars_ = ax.barh(
            steps + HEIGHT / 2, self.redundancy, HEIGHT, color=VERMILLION, label=label
        )
        labels = [f"{i}. {name}" for i, name in enumerate(self.feature_names, 1)]
        name_rows(ax, labels, start=1)
        ax.set_xlabel("Centred kernel alignment (CKA)")
        legend_above(ax, "Selected columns, the first on top")
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class SelectionCVDisplay(Display):
    """Display of the cross-validated score by the number of selected columns.

    The curve shows the mean over the folds of the centred kernel alignment (CKA) of the
    selected columns with y, on held-out rows [1]_. The band shows one standard error on
    each side, which is only a rough guide, because folds share training rows. A line
    marks the chosen number of columns. If parameters were searched, the blue curve
    belongs to the best parameters, and thin grey curves belong to the others.

    Use :meth:`from_estimator` to draw the curve of a fitted selector.

    Read more in the :ref:`User Guide <plotting>`.

    Parameters
    ----------
    n_features : array-like of shape (n_sizes,)
        Numbers of columns.
    scores : array-like of shape (n_settings, n_sizes, n_splits)
        Score of each setting of the parameters, number of columns and fold.
    best_setting : int, default=0
        Index of the best setting of the parameters.
    n_features_selected : int or None, default=None
        The chosen number of columns.
    setting_name : str or None, default=None
        Name of the best setting, if there are several.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        The figure.
    line_ : matplotlib Line2D
        The curve of the best setting.
    band_ : matplotlib PolyCollection or None
        One standard error on each side, None for a single fold.
    other_lines_ : list of matplotlib Line2D
        The curves of the other settings.
    chosen_ : matplotlib Line2D or None
        The line at the chosen number of columns.

    See Also
    --------
    skdiscrepancy.feature_selection.HSICSelectorCV : Chooses the number of columns.
    SelectionDisplay : Draws the selected columns.

    References
    ----------
    .. [1] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.

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
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : SelectionCVDisplay
            The display, already drawn.
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
        setting = None
        if len(scores) > 1:
            params = estimator.best_params_
            setting = ", ".join(f"{key}={value}" for key, value in params.items())
        display = cls(
            n_features=sizes,
            scores=scores,
            best_setting=best,
            n_features_selected=estimator.n_features_,
            setting_name=setting,
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the scores.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : SelectionCVDisplay
            The display itself.
        """
        ax = set_axes(self, ax, figsize=(6.4, 4.4), box=False)
        from matplotlib.ticker import MaxNLocator

        sizes, scores = np.asarray(self.n_features), np.asarray(self.scores)
        n_splits, best = scores.shape[2], self.best_setting
        means = scores.mean(axis=2)
        self.other_lines_ = [
            ax.plot(sizes, mean, color=GREY, linewidth=0.8, alpha=0.5)[0]
            for index, mean in enumerate(means)
            if index != best
        ]
        if self.other_lines_:
            self.other_lines_[0].set_label("other parameters")
        folds = f"mean of {n_splits} fold{'' if n_splits == 1 else 's'}"
        name = "" if self.setting_name is None else f", {plain(self.setting_name, 60)}"
        [self.line_] = ax.plot(
            sizes, means[best], "o-", color=BLUE, markersize=4, label=f"{folds}{name}"
        )
        self.band_ = self.chosen_ = None
        if n_splits > 1:
            error = scores[best].std(axis=1, ddof=1) / np.sqrt(n_splits)
            low, high = means[best] - error, means[best] + error
            style = {"color": BLUE, "alpha": 0.2, "linewidth": 0}
            self.band_ = ax.fill_between(
                sizes, low, high, label="one standard error", **style
            )
        chosen = self.n_features_selected
        if chosen is not None:
            style = {"color": VERMILLION, "linestyle": "--", "zorder": 1}
            self.chosen_ = ax.axvline(chosen, label=f"chosen: {chosen}", **style)
        ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        ax.set(xlabel="Number of columns", ylabel="CKA with y on held-out rows")
        named = [self.line_, self.band_, self.chosen_, *self.other_lines_[:1]]
        handles = [handle for handle in named if handle is not None]
        title = "Cross-validated score by number of columns"
        legend_above(ax, title, ncols=3, handles=handles)
        return self
