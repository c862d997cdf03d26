"""Heat maps of the similarity of layers and of the dependence of columns."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import pdist, squareform

from skdiscrepancy._data.checks import check_flag, check_number
from skdiscrepancy.plotting._style import (
    MAX_WRITTEN,
    check_colormap,
    draw_heat_map,
    light_cells,
    rounded,
    set_title,
    write_cells,
)


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


# Colours go up to the largest CKA, but at least to this number.
LEAST_RANGE = 0.1


class HSICMatrixDisplay:
    """Display of the dependence of all pairs of columns as a heat map.

    Light cells are pairs of columns that depend on each other. The colours end at the
    largest CKA, and the cells of columns with themselves stay empty. Hierarchical
    clustering [1]_ puts columns side by side that depend on each other. In a small
    matrix, bold numbers are significant. In a large matrix, dots mark significant
    pairs.

    Use :meth:`from_result`, or the method `plot` of
    :class:`~skdiscrepancy.inference.HSICMatrixResult`.

    Read more in the :ref:`User Guide <many_variables>`.

    Parameters
    ----------
    matrix : array-like of shape (n_columns_X, n_columns_y)
        CKA of each pair.
    adjusted_pvalues : array-like of shape (n_columns_X, n_columns_y)
        Adjusted p-value of each pair.
    x_names : list of length n_columns_X
        Names of the rows of the matrix.
    y_names : list of length n_columns_y
        Names of the columns of the matrix.
    symmetric : bool, default=False
        Whether rows and columns are the same. Their order is then the same, and the
        diagonal is not counted.

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
    dots_ : list of matplotlib PathCollection
        The marks of significant pairs of large matrices.
    x_order_ : ndarray of shape (n_columns_X,)
        Positions of the rows from top to bottom.
    y_order_ : ndarray of shape (n_columns_y,)
        Positions of the columns from left to right.

    See Also
    --------
    skdiscrepancy.hsic_matrix : Computes the matrix.

    References
    ----------
    .. [1] Z. Bar-Joseph, D. K. Gifford and T. S. Jaakkola, "Fast optimal leaf ordering
       for hierarchical clustering", Bioinformatics 17, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import hsic_matrix
    >>> from skdiscrepancy.plotting import HSICMatrixDisplay
    >>> X = np.random.RandomState(0).normal(size=(100, 3))
    >>> X[:, 2] = X[:, 0] ** 2
    >>> display = HSICMatrixDisplay.from_result(hsic_matrix(X))
    >>> display.ax_.get_title(loc="left").splitlines()
    ['1 of 3 pairs significant', '(bold: adjusted p-value at most 0.05)']
    """

    def __init__(
        self,
        *,
        matrix: ArrayLike,
        adjusted_pvalues: ArrayLike,
        x_names: Sequence[Any],
        y_names: Sequence[Any],
        symmetric: bool = False,
    ):
        self.matrix = matrix
        self.adjusted_pvalues = adjusted_pvalues
        self.x_names = x_names
        self.y_names = y_names
        self.symmetric = symmetric

    @classmethod
    def from_result(
        cls,
        result: Any,
        *,
        level: float = 0.05,
        cluster: bool = True,
        include_values: bool = True,
        cmap: Any = "viridis",
        ax: Any = None,
    ) -> HSICMatrixDisplay:
        """Draw the dependence of all pairs of columns.

        Parameters
        ----------
        result : HSICMatrixResult
            Result of :func:`~skdiscrepancy.hsic_matrix`.
        level : float, default=0.05
            Pairs with an adjusted p-value of at most this level are marked.
        cluster : bool, default=True
            Order rows and columns by hierarchical clustering. False keeps the order of
            your data.
        include_values : bool, default=True
            Write the numbers into the cells if there are at most 12 rows and columns.
        cmap : str or matplotlib Colormap, default="viridis"
            Colours.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : HSICMatrixDisplay
            The display, already drawn.
        """
        display = cls(
            matrix=result.matrix,
            adjusted_pvalues=result.adjusted_pvalues,
            x_names=result.x_names,
            y_names=result.y_names,
            symmetric=result.symmetric,
        )
        return display.plot(
            ax=ax,
            level=level,
            cluster=cluster,
            include_values=include_values,
            cmap=cmap,
        )

    def plot(
        self,
        ax: Any = None,
        *,
        level: float = 0.05,
        cluster: bool = True,
        include_values: bool = True,
        cmap: Any = "viridis",
    ) -> HSICMatrixDisplay:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.
        level : float, default=0.05
            Pairs with an adjusted p-value of at most this level are marked.
        cluster : bool, default=True
            Order rows and columns by hierarchical clustering. False keeps the order of
            your data.
        include_values : bool, default=True
            Write the numbers into the cells if there are at most 12 rows and columns.
        cmap : str or matplotlib Colormap, default="viridis"
            Colours.

        Returns
        -------
        display : HSICMatrixDisplay
            The display itself.
        """
        level = check_number(level, "level", strict=True, most=1)
        check_flag(cluster, "cluster")
        check_flag(include_values, "include_values")
        check_colormap(self, cmap)
        matrix = np.asarray(self.matrix)
        self.x_order_, self.y_order_ = map(np.arange, matrix.shape)
        if cluster:
            self.x_order_, self.y_order_ = cluster_orders(matrix, self.symmetric)
        places = np.ix_(self.x_order_, self.y_order_)
        small = np.asarray(self.adjusted_pvalues)[places] <= level
        # The columns with themselves have CKA 1, which would hide all other colours.
        same = np.equal.outer(self.x_order_, self.y_order_) & self.symmetric
        matrix, small = np.ma.masked_array(matrix[places], mask=same), small & ~same
        names = (
            [self.x_names[i] for i in self.x_order_.tolist()],
            [self.y_names[j] for j in self.y_order_.tolist()],
        )
        ends = min(0.0, float(matrix.min())), max(LEAST_RANGE, float(matrix.max()))
        options = {"cmap": cmap, "vmin": ends[0], "vmax": ends[1]}
        ax = draw_heat_map(self, ax, matrix, names, label="CKA", **options)
        self.texts_, self.dots_ = [], []
        if include_values and max(matrix.shape) <= MAX_WRITTEN:
            cells = list(zip(*np.nonzero(~same), strict=True))
            texts = {place: rounded(float(matrix[place])) for place in cells}
            self.texts_ = write_cells(ax, matrix, texts, ends)
            for text, place in zip(self.texts_, cells, strict=True):
                text.set_fontweight("bold" if small[place] else "normal")
        else:
            self.dots_ = _draw_dots(ax, matrix, small, ends)
        share = 2 if self.symmetric else 1
        marks = "bold" if self.texts_ else "dots"
        set_title(
            ax,
            f"{small.sum() // share} of {np.sum(~same) // share} pairs significant\n"
            f"({marks}: adjusted p-value at most {level:g})",
        )
        return self


def cluster_orders(
    matrix: np.ndarray, symmetric: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the orders of rows and columns that put similar ones side by side.

    Rows that are columns too are as distant as one minus their CKA. The rows of other
    matrices are compared with each other by all their numbers.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_columns)
        CKA.
    symmetric : bool
        Whether rows and columns are the same.

    Returns
    -------
    rows, columns : ndarray of shape (n_rows,) and (n_columns,)
        Positions in order.
    """
    if symmetric:
        distances = 1 - np.clip(matrix, 0, 1)
        np.fill_diagonal(distances, 0)
        order = _leaves(squareform((distances + distances.T) / 2, checks=False))
        return order, order
    return _leaves(pdist(matrix)), _leaves(pdist(matrix.T))


def _leaves(distances: np.ndarray) -> np.ndarray:
    """Return the order of the leaves of a tree of average linkage."""
    if not len(distances):
        return np.arange(1)
    return leaves_list(linkage(distances, method="average", optimal_ordering=True))


def _draw_dots(
    ax: Any, matrix: np.ndarray, small: np.ndarray, ends: tuple[float, float]
) -> list[Any]:
    """Mark significant cells by dots, dark ones in light cells."""
    light = light_cells(matrix, ends)
    size = float(np.clip(400 / max(matrix.shape), 2, 20))
    dots = []
    for cells, color in ((small & light, "black"), (small & ~light, "white")):
        rows, columns = np.nonzero(cells)
        dots.append(ax.scatter(columns, rows, s=size, color=color, linewidths=0))
    return dots
