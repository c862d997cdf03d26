"""The values of MMD over random subsets, and their mean."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy.plotting._style import BLUE, VERMILLION, legend_above, set_axes


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
