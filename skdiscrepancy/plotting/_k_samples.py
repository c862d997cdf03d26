"""Heat maps of the tests of all pairs of samples."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data import check_flag, check_number
from skdiscrepancy.plotting._heat_maps import (
    MAX_WRITTEN,
    check_colormap,
    draw_heat_map,
    write_cells,
)
from skdiscrepancy.plotting._style import set_title


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
