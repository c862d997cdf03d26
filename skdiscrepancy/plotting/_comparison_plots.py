"""Differences of candidates, and values over subsets, with their intervals."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy.plotting._style import BLUE, GREY, VERMILLION, legend_above, set_axes


class ComparisonDisplay:
    """Display of the difference of each candidate to the best one, with intervals.

    Each line is a confidence interval of a difference of two scores. Filled markers
    show candidates that cannot be distinguished from the best one, after Holm's
    correction for the number of comparisons [1]_. Open markers show candidates that are
    significantly worse than some other candidate.

    Use :meth:`from_result`, or the method `plot` of
    :class:`~skdiscrepancy.ComparisonResult`.

    Read more in the :ref:`User Guide <uncertainty>`.

    Parameters
    ----------
    names : list of length n_candidates
        Names of the candidates, the best first.
    differences : array-like of shape (n_candidates,)
        Score of each candidate minus the score of the best one.
    widths : array-like of shape (n_candidates,)
        Half the width of the interval of each difference.
    in_set : array-like of shape (n_candidates,), of bool
        Whether a candidate cannot be distinguished from the best one.
    discrepancy : str, default="score"
        What the scores are, for the labels.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        The figure.
    intervals_ : matplotlib LineCollection
        The intervals.
    kept_ : matplotlib Line2D
        The filled markers.
    worse_ : matplotlib Line2D
        The open markers.

    See Also
    --------
    skdiscrepancy.mmd_compare : Compares samples by their distance to a sample.

    References
    ----------
    .. [1] S. Holm, "A simple sequentially rejective multiple test procedure",
       Scandinavian Journal of Statistics 6, 1979.

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

    def __init__(
        self,
        *,
        names: Sequence[Any],
        differences: ArrayLike,
        widths: ArrayLike,
        in_set: ArrayLike,
        discrepancy: str = "score",
    ):
        self.names = names
        self.differences = differences
        self.widths = widths
        self.in_set = in_set
        self.discrepancy = discrepancy

    @classmethod
    def from_result(
        cls, result: Any, *, level: float = 0.05, ax: Any = None
    ) -> ComparisonDisplay:
        """Draw a comparison.

        Parameters
        ----------
        result : ComparisonResult
            Result of a comparison.
        level : float, default=0.05
            Significance level. The intervals have the confidence level 1 - `level`.
        ax : matplotlib Axes, default=None
            Axes to draw in; new ones if None.

        Returns
        -------
        display : ComparisonDisplay
            The display, drawn.
        """
        kept = result.best_set(level)
        best = result.names.index(result.best)
        order = np.argsort(
            -result.scores if result.larger_is_better else result.scores, kind="stable"
        )
        names = [result.names[i] for i in order]
        widths = []
        for i in order:
            low, high = 0.0, 0.0
            if i != best:
                pair = result.pair(result.names[i], result.best)
                low, high = pair.confidence_interval(1 - level)
            widths.append((high - low) / 2)
        display = cls(
            names=names,
            differences=result.differences[order, best],
            widths=widths,
            in_set=[name in kept for name in names],
            discrepancy=result.discrepancy,
        )
        return display.plot(ax=ax, level=level)

    def plot(self, ax: Any = None, *, level: float = 0.05) -> ComparisonDisplay:
        """Draw the intervals.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; new ones if None.
        level : float, default=0.05
            Significance level, for the title and the legend.

        Returns
        -------
        display : ComparisonDisplay
            The display itself.
        """
        differences, widths = np.asarray(self.differences), np.asarray(self.widths)
        in_set = np.asarray(self.in_set, dtype=bool)
        n = len(differences)
        ax = set_axes(self, ax, figsize=(6.4, 1.6 + 0.36 * n))
        places = np.arange(n)
        ax.axvline(0, color=GREY, linewidth=1, linestyle="--")
        self.intervals_ = ax.hlines(
            places,
            differences - widths,
            differences + widths,
            color=[BLUE if kept else VERMILLION for kept in in_set],
            linewidth=2,
        )
        style = {"linestyle": "none", "marker": "o", "markersize": 7, "zorder": 3}
        [self.kept_] = ax.plot(
            differences[in_set],
            places[in_set],
            color=BLUE,
            label="not distinguishable from the best",
            **style,
        )
        [self.worse_] = ax.plot(
            differences[~in_set],
            places[~in_set],
            color=VERMILLION,
            markerfacecolor="white",
            label="worse",
            **style,
        )
        ax.set_yticks(places, [str(name) for name in self.names])
        ax.set_ylim(n - 0.5, -0.5)
        ax.set_xlabel(
            f"Difference in {self.discrepancy} to {self.names[0]}, with "
            f"{100 * (1 - level):g} % intervals"
        )
        ax.spines[["top", "right"]].set_visible(False)
        title = (
            f"{n - int(in_set.sum())} of {n} candidates significantly worse at level "
            f"{level:g}"
        )
        legend_above(ax, title, ncols=2, handles=[self.kept_, self.worse_])
        return self


class SubsetsDisplay:
    """Display of the squared MMD of random subsets, with their mean.

    A histogram shows the values of the subsets, and a line their mean, such as the
    Kernel Inception Distance (KID) [1]_.

    Use :meth:`from_result`, or the method `plot` of
    :class:`~skdiscrepancy.MMDSubsetsResult`.

    Read more in the :ref:`User Guide <generators>`.

    Parameters
    ----------
    values : array-like of shape (n_subsets,)
        Squared MMD of each subset.
    subset_size : int or None, default=None
        Number of rows of each sample in a subset, for the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        The figure.
    bars_ : matplotlib BarContainer
        The histogram.
    mean_ : matplotlib Line2D
        The mean of the values.

    See Also
    --------
    skdiscrepancy.mmd_subsets : Computes the values.

    References
    ----------
    .. [1] M. Bińkowski et al., "Demystifying MMD GANs", ICLR 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_subsets
    >>> from skdiscrepancy.plotting import SubsetsDisplay
    >>> X, Y = np.random.RandomState(0).normal(size=(2, 200, 4))
    >>> result = mmd_subsets(X, Y, n_subsets=30, subset_size=50, random_state=0)
    >>> display = SubsetsDisplay.from_result(result)
    >>> int(sum(bar.get_height() for bar in display.bars_))
    30
    """

    def __init__(self, *, values: ArrayLike, subset_size: int | None = None):
        self.values = values
        self.subset_size = subset_size

    @classmethod
    def from_result(
        cls, result: Any, *, bins: Any = "auto", ax: Any = None
    ) -> SubsetsDisplay:
        """Draw the values of subsets.

        Parameters
        ----------
        result : MMDSubsetsResult
            Result of :func:`~skdiscrepancy.mmd_subsets`.
        bins : int, array-like or str, default="auto"
            Bins of the histogram, as for :func:`numpy.histogram_bin_edges`.
        ax : matplotlib Axes, default=None
            Axes to draw in; new ones if None.

        Returns
        -------
        display : SubsetsDisplay
            The display, drawn.
        """
        display = cls(values=result.values, subset_size=result.subset_size)
        return display.plot(ax=ax, bins=bins)

    def plot(self, ax: Any = None, *, bins: Any = "auto") -> SubsetsDisplay:
        """Draw the histogram.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; new ones if None.
        bins : int, array-like or str, default="auto"
            Bins of the histogram, as for :func:`numpy.histogram_bin_edges`.

        Returns
        -------
        display : SubsetsDisplay
            The display itself.
        """
        values = np.asarray(self.values)
        ax = set_axes(self, ax, figsize=(6.4, 3.6))
        rows = "" if self.subset_size is None else f" of {self.subset_size} rows"
        _, _, self.bars_ = ax.hist(
            values,
            bins=bins,
            color=BLUE,
            alpha=0.6,
            edgecolor=BLUE,
            linewidth=0.8,
            label=f"{values.size} subsets{rows}",
        )
        self.mean_ = ax.axvline(
            values.mean(),
            color=VERMILLION,
            linewidth=2,
            label=f"mean {values.mean():.3g}, standard deviation {values.std():.2g}",
        )
        ax.set(xlabel="Squared MMD of a subset", ylabel="Number of subsets")
        ax.set_ylim(bottom=0)
        ax.spines[["top", "right"]].set_visible(False)
        legend_above(ax, "Squared MMD of random subsets", ncols=2)
        return self
