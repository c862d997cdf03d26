"""The entries of the core matrix that a design uses."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data.checks import RandomStateLike, check_number
from skdiscrepancy.designs import Design, check_design
from skdiscrepancy.plotting._style import BLUE, set_axes

# Numbers are written into the cells of matrices up to this size.
MAX_WRITTEN = 30


# Largest number of rows of a matrix that is drawn.
MOST_DRAWN = 10_000


class DesignDisplay:
    """Display of the entries of the core matrix that a design uses.

    The entries h(Z_i, Z_j) that the design uses are blue, and the others are white, as
    in the figures of [1]_. Random pairs drawn with replacement can use an entry several
    times. Such entries are darker and show how often they are used.

    Use :meth:`from_design` or :meth:`from_estimator`.

    Read more in the :ref:`User Guide <plotting>`.

    Parameters
    ----------
    mask : array-like of shape (n_samples, n_samples)
        How often each entry is used.
    design_name : str or None, default=None
        First line of the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        The figure.
    cells_ : matplotlib QuadMesh
        The cells.
    texts_ : list of matplotlib Text
        The numbers in the cells, row by row. The list is empty if no entry is used
        twice, or for more than 30 samples, when a colour bar replaces the numbers.

    See Also
    --------
    skdiscrepancy.designs.check_design : Turns a letter into a design.

    References
    ----------
    .. [1] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> from skdiscrepancy.designs import Subdiagonals
    >>> from skdiscrepancy.plotting import DesignDisplay
    >>> display = DesignDisplay.from_design(Subdiagonals(n_subdiagonals=2), 10)
    >>> int(display.mask.sum())
    34
    """

    def __init__(self, *, mask: ArrayLike, design_name: str | None = None):
        self.mask = mask
        self.design_name = design_name

    @classmethod
    def from_design(
        cls,
        design: str | Design,
        n_samples: int,
        *,
        random_state: RandomStateLike = None,
        ax: Any = None,
    ) -> DesignDisplay:
        """Draw a design.

        Parameters
        ----------
        design : {"v", "u", "l", "d", "b", "x", "r"} or Design
            Design to draw.
        n_samples : int
            Number of samples, which is the number of rows of the core matrix.
        random_state : int, RandomState instance, Generator or None, default=None
            Seeds the pairs of :class:`~skdiscrepancy.designs.RandomPairs`.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : DesignDisplay
            The display, already drawn.

        Examples
        --------
        >>> from skdiscrepancy.designs import RandomPairs
        >>> from skdiscrepancy.plotting import DesignDisplay
        >>> pairs = RandomPairs(n_pairs=27, replace=True)
        >>> display = DesignDisplay.from_design(pairs, 10, random_state=0)
        >>> int(display.mask.sum())
        54
        """
        design = check_design(design)
        check_number(n_samples, "n_samples", integer=True, least=1, most=MOST_DRAWN)
        mask = design.mask(n_samples, random_state=random_state)
        return cls(mask=mask, design_name=repr(design)).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, n_samples: int, *, ax: Any = None
    ) -> DesignDisplay:
        """Draw the design of an estimator, which need not be fitted.

        Parameters
        ----------
        estimator : MMDEstimator, HSICEstimator or KSDEstimator
            Estimator. Its `random_state` seeds random pairs.
        n_samples : int
            Number of samples. A sample is a row for KSD, a pair (X_i, Y_i) for MMD, and
            a pair of the rows i and i + `n_samples` for HSIC.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : DesignDisplay
            The display, already drawn.

        Examples
        --------
        >>> from skdiscrepancy import MMDEstimator
        >>> from skdiscrepancy.plotting import DesignDisplay
        >>> display = DesignDisplay.from_estimator(MMDEstimator(design="x"), 10)
        >>> display.ax_.get_title().splitlines()
        ['Cross()', '50 of 100 entries']
        """
        return cls.from_design(
            estimator.design, n_samples, random_state=estimator.random_state, ax=ax
        )

    def plot(self, ax: Any = None) -> DesignDisplay:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : DesignDisplay
            The display itself.
        """
        ax = set_axes(self, ax, figsize=(4.2, 4.4))
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.ticker import MaxNLocator

        mask = np.asarray(self.mask)
        n, most = len(mask), int(mask.max())
        several = most > 1
        # Entries used once are blue, or light blue if others are used more often.
        shades = ["#9CCBE6", BLUE, "#00375A"] if several else [BLUE, BLUE]
        colours = LinearSegmentedColormap.from_list("counts", shades)
        centres = np.arange(n)
        self.cells_ = ax.pcolormesh(
            centres,
            centres,
            np.ma.masked_equal(mask, 0),
            cmap=colours,
            vmin=1,
            vmax=max(most, 2),
            shading="nearest",
            edgecolors="white" if n <= MAX_WRITTEN else "none",
            linewidth=0.5,
        )
        self.texts_: list[Any] = []
        if several and n <= MAX_WRITTEN:
            self._write_counts(ax, mask, most)
        elif several:
            ax.figure.colorbar(
                self.cells_, ax=ax, label="Number of times used", shrink=0.7
            )
        # The first sample on top, as in a matrix.
        ax.set(
            xlim=(-0.5, n - 0.5),
            ylim=(n - 0.5, -0.5),
            aspect="equal",
            xlabel="Sample j",
            ylabel="Sample i",
        )
        ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        ax.yaxis.set_major_locator(MaxNLocator("auto", integer=True))
        used = f"{np.count_nonzero(mask)} of {mask.size} entries"
        name = "" if self.design_name is None else f"{self.design_name}\n"
        ax.set_title(f"{name}{used}", fontsize="medium")
        return self

    def _write_counts(self, ax: Any, mask: np.ndarray, most: int) -> None:
        size = min(10.0, 200 / len(mask))
        for i, j in np.argwhere(mask):
            dark = 2 * mask[i, j] > most
            self.texts_.append(
                ax.text(
                    j,
                    i,
                    str(mask[i, j]),
                    ha="center",
                    va="center",
                    fontsize=size,
                    color="white" if dark else "black",
                )
            )
