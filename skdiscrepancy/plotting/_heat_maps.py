"""Heat maps of matrices with named rows and columns."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skdiscrepancy._data import shown
from skdiscrepancy.plotting._style import import_pyplot, plain, set_axes

# Numbers are written into the cells of matrices of at most so many rows or columns.
MAX_WRITTEN = 12
# Inches of a cell, and of a whole side.
CELL, LEAST, MOST = 0.5, 3.0, 9.0
# Inches of a letter of a name, and letters of a name at most.
LETTER, MAX_LETTERS = 0.08, 20
# Above this fraction of the colour scale, cells are light and need dark letters.
LIGHT = 0.6
# Names of rows or columns, at most.
MAX_NAMES = 30


def check_colormap(display: Any, cmap: Any) -> None:
    """Refuse what is not a colormap before a figure is made."""
    import_pyplot(display)
    from matplotlib.colors import Colormap

    if not (cmap is None or isinstance(cmap, (str, Colormap))):
        raise TypeError(
            f"cmap == {shown(cmap)}, must be a name or a Colormap of matplotlib."
        )


def draw_heat_map(
    display: Any,
    ax: Any,
    matrix: np.ndarray,
    names: tuple[Sequence[Any], Sequence[Any]],
    *,
    label: str,
    **image_options: Any,
) -> Any:
    """Draw a matrix, with names of its rows and columns and a scale of colours.

    Parameters
    ----------
    display : object
        Display, which gets `ax_`, `figure_`, `image_` and `colorbar_`.
    ax : matplotlib Axes or None
        Axes to draw in.
    matrix : ndarray of shape (n_rows, n_columns)
        Numbers. Masked cells stay empty.
    names : pair of sequences
        Names of the rows and of the columns.
    label : str
        Label of the colours.
    **image_options : dict
        Options of the image, such as `cmap` and `vmin`.

    Returns
    -------
    ax : matplotlib Axes
        Axes of the figure.
    """
    texts = [[plain(name, MAX_LETTERS) for name in of_axis] for of_axis in names]
    room = LETTER * np.array([max(map(len, of_axis)) for of_axis in texts])
    height, width = np.clip(CELL * np.array(matrix.shape) + 1.2, LEAST, MOST)
    # Long names of columns are written at an angle, below the cells.
    figsize = (width + 1.2 + room[0], height + 0.7 * room[1])
    ax = set_axes(display, ax, figsize=figsize)
    display.image_ = ax.imshow(matrix, aspect="auto", **image_options)
    display.colorbar_ = ax.figure.colorbar(display.image_, ax=ax, label=label)
    for axis, of_axis in zip((ax.yaxis, ax.xaxis), texts, strict=True):
        places = np.arange(len(of_axis))[:: -(-len(of_axis) // MAX_NAMES)]
        axis.set_ticks(places, [of_axis[i] for i in places])
    if any(len(str(name)) > 4 for name in names[1]):
        ax.tick_params(axis="x", rotation=45)
        for text in ax.get_xticklabels():
            text.set(ha="right", rotation_mode="anchor")
    elif len(names[1]) > MAX_WRITTEN:
        ax.tick_params(axis="x", rotation=90)
    return ax


def write_cells(
    ax: Any,
    matrix: np.ndarray,
    texts: dict[tuple[int, int], str],
    ends: tuple[float, float],
    **style: Any,
) -> list[Any]:
    """Write texts into cells, dark letters on light cells.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes of the heat map.
    matrix : ndarray of shape (n_rows, n_columns)
        Numbers.
    texts : dict
        Text of each cell.
    ends : pair of float
        Numbers at the lower and at the upper end of the colours.
    **style : dict
        Options of all texts.

    Returns
    -------
    texts : list of matplotlib Text
        The texts.
    """
    written = []
    light = light_cells(matrix, ends)
    for (i, j), text in texts.items():
        options = {
            "color": "black" if light[i, j] else "white",
            "fontsize": "small",
            **style,
        }
        written.append(ax.text(j, i, text, ha="center", va="center", **options))
    return written


def light_cells(matrix: np.ndarray, ends: tuple[float, float]) -> np.ndarray:
    """Return which cells are light and need dark letters."""
    low, high = ends
    return np.asarray((matrix - low) / (high - low) > LIGHT)


def rounded(value: float) -> str:
    """Return a number with two digits, and no sign before zero."""
    return f"{round(value, 2) + 0.0:.2f}"
