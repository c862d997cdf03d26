"""Colours, titles, legends, heat maps and the late import of matplotlib."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skdiscrepancy._data.checks import shown
from skdiscrepancy.kernels._names import kernel_bandwidth

# The colours of Okabe and Ito, which colour-blind people can distinguish.
BLUE, VERMILLION = "#0072B2", "#D55E00"


SERIES = (BLUE, VERMILLION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


# Largest width of a legend, as a multiple of the width of its axes. The gap to the next
# axes is 0.2.
OVERHANG = 1.2


# One marker more than colours, so that pairs of marker and colour repeat late.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


GREY = "#555555"


# Space between a title and the legend below it, in points.
TITLE_GAP = 4


def import_pyplot(display: Any) -> Any:
    """Return matplotlib.pyplot, or say how to get it.

    Parameters
    ----------
    display : object
        Display that needs it, for the message.

    Returns
    -------
    pyplot : module
        The module.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type(display).__name__}.plot needs matplotlib. Install it with "
            '`pip install "skdiscrepancy[plot]"`.'
        ) from error
    return plt


def set_axes(display: Any, ax: Any, **figure_options: Any) -> Any:
    """Give a display its `ax_` and `figure_`, new ones if `ax` is None.

    Parameters
    ----------
    display : object
        Display.
    ax : matplotlib Axes or None
        Axes to draw in.
    **figure_options : dict
        Options of a new figure.

    Returns
    -------
    ax : matplotlib Axes
        Axes to draw in.
    """
    plt = import_pyplot(display)
    if ax is None:
        # Legends and colour bars next to the axes need the constrained layout.
        _, ax = plt.subplots(layout="constrained", **figure_options)
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def legend_above(
    ax: Any, title: str, *, ncols: int = 1, handles: list[Any] | None = None
) -> Any:
    """Draw a title and a legend above the axes, where they hide no data.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes.
    title : str
        Title.
    ncols : int, default=1
        Number of columns, at most: a legend that is wider than its axes takes their
        room, or the room of the axes next to them.
    handles : list of matplotlib artists or None, default=None
        Artists in the legend; None for all that have a label.

    Returns
    -------
    legend : matplotlib Legend
        The legend.
    """
    options: dict[str, Any] = {} if handles is None else {"handles": handles}
    options |= {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.3}
    for columns in range(ncols, 0, -1):
        legend = ax.legend(frameon=False, ncols=columns, **options)
        room = OVERHANG * ax.get_window_extent().width
        if legend.get_window_extent().width <= room:
            break
    height = legend.get_window_extent().y1 - ax.get_window_extent().y1
    # The position of a title is in points, for every resolution.
    set_title(ax, title, pad=72 * height / ax.figure.dpi + TITLE_GAP)
    return legend


def set_title(ax: Any, title: str, pad: float | None = None) -> None:
    """Draw a title at the left, `pad` points above the axes."""
    ax.set_title(title, loc="left", fontsize="medium", fontweight="bold", pad=pad)


def plain(name: Any, letters: int = 32) -> str:
    """Return a name from the data as a label: one line, not too long, no formulas."""
    text = " ".join(str(name).split())
    if len(text) > letters:
        text = f"{text[: letters - 3]}..."
    return text.replace("$", r"\$")


def pvalue_scale(axis: Any, least: float) -> None:
    """Make an axis logarithmic for p-values down to the least of them.

    Small p-values are at the upper or right end, as large statistics are. A margin
    keeps points at the smallest possible p-value away from the edge.
    """
    from matplotlib.ticker import LogLocator

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.axes.set(**{f"{axis.axis_name}lim": (1.2, least / 3)})
    # For two decades or less, ticks at powers of ten are too few.
    axis.set_major_locator(
        LogLocator(subs=(1, 2, 5) if least > 0.01 else (1,), numticks=12)
    )
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("")


def draw_pvalues(
    ax: Any, names: list[str], pvalues: np.ndarray, level: float
) -> tuple[Any, Any, Any]:
    """Draw p-values as lines with a marker at the end, the first on top.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes.
    names : list of str
        Labels.
    pvalues : ndarray of shape (n_names,)
        The p-values.
    level : float
        Markers of p-values up to this level are filled.

    Returns
    -------
    stems : matplotlib LineCollection
        The lines.
    markers : matplotlib Line2D
        All markers.
    significant : matplotlib Line2D
        Filled markers.
    """
    places = np.arange(len(names))
    stems = ax.hlines(places, 1.0, pvalues, color=BLUE, linewidth=2, alpha=0.5)
    [markers] = ax.plot(
        pvalues, places, "o", color=BLUE, markerfacecolor="white", zorder=3
    )
    small = pvalues <= level
    [significant] = ax.plot(pvalues[small], places[small], "o", color=BLUE, zorder=4)
    ax.axvline(
        level,
        color=GREY,
        linestyle="--",
        zorder=0,
        label=f"level {level:g} (filled: below)",
    )
    name_rows(ax, names)
    pvalue_scale(ax.xaxis, float(np.min([level, *pvalues])))
    return stems, markers, significant


def name_rows(ax: Any, names: list[str], start: int = 0) -> None:
    """Label rows, the first on top."""
    ax.set_yticks(np.arange(start, start + len(names)), [plain(name) for name in names])
    ax.set_ylim(start + len(names) - 0.4, start - 0.6)
    ax.tick_params(axis="y", length=0)


def rows_height(n_rows: int) -> float:
    """Return the height of a figure with so many labelled rows, in inches."""
    return float(np.clip(1.7 + 0.3 * n_rows, 2.2, 14))


def on_first_variable(
    kernels: list[Any], statistics: np.ndarray, pvalues: np.ndarray | None
) -> tuple[list[Any], np.ndarray, np.ndarray | None, bool]:
    """Return the kernels on one variable, with the best numbers over all others.

    Parameters
    ----------
    kernels : list of kernels, or of tuples of kernels on several variables
        All products of kernels on X and on y, or one tuple for each index.
    statistics : ndarray of shape (n_kernels,)
        Statistics.
    pvalues : ndarray of shape (n_kernels,) or None
        The p-values of a test.

    Returns
    -------
    kernels : list of kernels
        Kernels on the first variable. If there is one tuple for each index, kernels on
        the first variable that has bandwidths.
    statistics : ndarray
        The largest statistic of each kernel.
    pvalues : ndarray or None
        The smallest p-value of each kernel.
    paired : bool
        Whether several products share a kernel.
    """
    if not isinstance(kernels[0], tuple):
        return kernels, statistics, pvalues, False
    columns = list(zip(*kernels, strict=True))
    n_first, n_second = (len(set(map(id, column))) for column in columns[:2])
    if len(columns) > 2 or n_first * n_second != len(kernels):
        aligned = next(
            (c for c in columns if not np.isnan(kernel_bandwidth(c[0]))), columns[0]
        )
        return list(aligned), statistics, pvalues, False
    # All pairs with the first kernel on X come first, and so on.
    shape = (-1, n_second)
    statistics = statistics.reshape(shape).max(axis=1)
    if pvalues is not None:
        pvalues = pvalues.reshape(shape).min(axis=1)
    return list(columns[0][::n_second]), statistics, pvalues, n_second > 1


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
