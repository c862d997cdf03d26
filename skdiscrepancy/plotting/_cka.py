"""Heat maps of the similarities of layers."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data import check_flag
from skdiscrepancy.plotting._heat_maps import (
    MAX_WRITTEN,
    check_colormap,
    draw_heat_map,
    write_cells,
)
from skdiscrepancy.plotting._style import set_title


class CKADisplay:
    """Display of the similarities of layers as a heat map.

    Rows are the layers of X and columns are the layers of Y, as in the figures of [1]_,
    with the first layer of X on top. Light cells are similar layers. The colours go
    from 0, or from the least value if that is negative, to 1.

    Use :meth:`from_result`, or the method `plot` of
    :class:`~skdiscrepancy.CKAResult`.

    Read more in the :ref:`User Guide <cka>`.

    Parameters
    ----------
    matrix : array-like of shape (n_layers_X, n_layers_Y)
        CKA of each layer of X with each layer of Y.
    x_layers : list of length n_layers_X
        Names of the layers of X.
    y_layers : list of length n_layers_Y
        Names of the layers of Y.

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
        The numbers in the cells, none for large matrices.

    See Also
    --------
    skdiscrepancy.cka_score : Computes the similarities.

    References
    ----------
    .. [1] S. Kornblith et al., "Similarity of neural network representations
       revisited", ICML 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import cka_score
    >>> from skdiscrepancy.plotting import CKADisplay
    >>> first = np.random.RandomState(0).normal(size=(50, 3))
    >>> layers = {"first": first, "second": np.tanh(first)}
    >>> display = CKADisplay.from_result(cka_score(layers, layers))
    >>> display.matrix.round(2).tolist()
    [[1.0, 0.94], [0.94, 1.0]]
    >>> [text.get_text() for text in display.texts_]
    ['1.00', '0.94', '0.94', '1.00']
    """

    def __init__(
        self, *, matrix: ArrayLike, x_layers: Sequence[Any], y_layers: Sequence[Any]
    ):
        self.matrix = matrix
        self.x_layers = x_layers
        self.y_layers = y_layers

    @classmethod
    def from_result(
        cls,
        result: Any,
        *,
        cmap: Any = "viridis",
        include_values: bool = True,
        ax: Any = None,
    ) -> CKADisplay:
        """Draw the similarities of layers.

        Parameters
        ----------
        result : CKAResult
            Result of :func:`~skdiscrepancy.cka_score`.
        cmap : str or matplotlib Colormap, default="viridis"
            Colours.
        include_values : bool, default=True
            Write the numbers into the cells if there are at most 12 rows and columns.
        ax : matplotlib Axes, default=None
            Axes to draw in; new ones if None.

        Returns
        -------
        display : CKADisplay
            The display, drawn.
        """
        display = cls(
            matrix=result.matrix, x_layers=result.x_layers, y_layers=result.y_layers
        )
        return display.plot(ax=ax, cmap=cmap, include_values=include_values)

    def plot(
        self, ax: Any = None, *, cmap: Any = "viridis", include_values: bool = True
    ) -> CKADisplay:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; new ones if None.
        cmap : str or matplotlib Colormap, default="viridis"
            Colours.
        include_values : bool, default=True
            Write the numbers into the cells if there are at most 12 rows and columns.

        Returns
        -------
        display : CKADisplay
            The display itself.
        """
        check_flag(include_values, "include_values")
        check_colormap(self, cmap)
        matrix = np.asarray(self.matrix)
        least = min(0.0, float(matrix.min()))
        names = (self.x_layers, self.y_layers)
        options = {"cmap": cmap, "vmin": least, "vmax": 1}
        ax = draw_heat_map(self, ax, matrix, names, label="CKA", **options)
        self.texts_ = []
        if include_values and max(matrix.shape) <= MAX_WRITTEN:
            texts = {place: f"{value:.2f}" for place, value in np.ndenumerate(matrix)}
            self.texts_ = write_cells(ax, matrix, texts, (least, 1))
        ax.set(xlabel="Layer of Y", ylabel="Layer of X")
        set_title(ax, "Similarity of layers")
        return self
