"""Colours, titles, legends and the late import of matplotlib, for all displays."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

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
