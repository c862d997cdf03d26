"""Base class, colours, titles, legends and the late import of matplotlib."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

import numpy as np

# The colours of Okabe and Ito, which colour-blind people can distinguish.
BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#555555"
# Largest width of a legend, as a multiple of the width of its axes. The gap to the next
# axes is 0.2.
OVERHANG = 1.2
# Space between a title and the legend below it, in points.
TITLE_GAP = 4


class Display:
    """Base class of the Displays: dataclasses with a method `plot`.

    A new Display is a subclass with the decorator ``@dataclass(kw_only=True, eq=False,
    repr=False)``. The method `plot` begins with :func:`set_axes`, and ends with
    :func:`legend_above` or :func:`set_title`.
    """

    ax_: Any
    figure_: Any

    @classmethod
    def _read(cls, result: Any, **computed: Any) -> Self:
        """Return the display of a result, whose attributes have the same names."""
        names = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        read = {name: getattr(result, name) for name in names - computed.keys()}
        return cls(**read, **computed)


def import_pyplot(display: Any) -> Any:
    """Return matplotlib.pyplot, or say how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type(display).__name__}.plot needs matplotlib. Install it with "
            '`pip install "skdiscrepancy[plot]"`.'
        ) from error
    return plt


def set_axes(display: Any, ax: Any, *, box: bool = True, **figure_options: Any) -> Any:
    """Give a display its `ax_` and `figure_`, new ones if `ax` is None."""
    plt = import_pyplot(display)
    if ax is None:
        # Legends and colour bars next to the axes need the constrained layout.
        _, ax = plt.subplots(layout="constrained", **figure_options)
    if not box:
        ax.spines[["top", "right"]].set_visible(False)
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def legend_above(
    ax: Any, title: str, *, ncols: int = 1, handles: list[Any] | None = None
) -> Any:
    """Draw a title and a legend above the axes, where they hide no data.

    A legend that is wider than its axes takes the space of the axes next to them, so
    it gets fewer columns than `ncols`.
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
    # A third of the smallest float would be zero.
    axis.axes.set(**{f"{axis.axis_name}lim": (1.2, max(least / 3, 1e-300))})
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

    Returns the lines, all markers, and the filled markers of p-values up to the level.
    """
    places = np.arange(len(names))
    stems = ax.hlines(places, 1.0, pvalues, color=BLUE, linewidth=2, alpha=0.5)
    [markers] = ax.plot(
        pvalues, places, "o", color=BLUE, markerfacecolor="white", zorder=3
    )
    small = pvalues <= level
    [significant] = ax.plot(pvalues[small], places[small], "o", color=BLUE, zorder=4)
    ax.axvline(level, **level_style(level))
    name_rows(ax, names)
    pvalue_scale(ax.xaxis, float(np.min([level, *pvalues])))
    return stems, markers, significant


def level_style(level: float) -> dict[str, Any]:
    """Return the style of the line of a level, with its label."""
    label = f"level {level:g} (filled: below)"
    return {"color": GREY, "linestyle": "--", "zorder": 0, "label": label}


def draw_histogram(ax: Any, values: np.ndarray, bins: Any, label: str) -> Any:
    """Draw a histogram and return its bars."""
    # An edge makes a bar of one value visible.
    style = {"color": BLUE, "alpha": 0.6, "edgecolor": BLUE, "linewidth": 0.8}
    _, _, bars = ax.hist(values, bins=bins, label=label, **style)
    return bars


def name_rows(ax: Any, names: list[str], start: int = 0) -> None:
    """Label rows, the first on top."""
    ax.set_yticks(np.arange(start, start + len(names)), [plain(name) for name in names])
    ax.set_ylim(start + len(names) - 0.4, start - 0.6)
    ax.tick_params(axis="y", length=0)


def rows_height(n_rows: int) -> float:
    """Return the height of a figure with so many labelled rows, in inches."""
    return float(np.clip(1.7 + 0.3 * n_rows, 2.2, 14))
