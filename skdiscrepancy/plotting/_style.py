"""Base classes of the Displays: axes, colours, titles, legends and their matplotlib."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self, dataclass_transform

import numpy as np

# The colours of Okabe and Ito, which colour-blind people can distinguish.
BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#555555"
# Largest width of a legend, as a multiple of the width of its axes. The gap to the next
# axes is 0.2.
OVERHANG = 1.2
# Space between a title and the legend below it, in points.
TITLE_GAP = 4


@dataclass_transform(kw_only_default=True, eq_default=False)
class Display:
    """Base class of the Displays: a dataclass with a method `plot`."""

    ax_: Any
    figure_: Any

    def __init_subclass__(cls) -> None:
        """Make a dataclass of a subclass, which draws results if nothing else."""
        dataclass(kw_only=True, eq=False, repr=False)(cls)
        if "plot" in vars(cls) and not any(n.startswith("from_") for n in vars(cls)):
            cls.from_result = from_result_with(vars(cls)["plot"])  # type: ignore[attr-defined]

    @classmethod
    def _fields(cls, result: Any, **options: Any) -> dict[str, Any]:
        """Return the fields from a result, whose attributes have the same names."""
        names = (field.name for field in fields(cls))  # type: ignore[arg-type]
        return {name: getattr(result, name) for name in names if hasattr(result, name)}

    def _pyplot(self) -> Any:
        """Return matplotlib.pyplot, or say how to get it."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                f"{type(self).__name__}.plot needs matplotlib. Install it with "
                '`pip install "skdiscrepancy[plot]"`.'
            ) from error
        return plt

    def _begin(self, ax: Any, width: float, height: float, box: bool = False) -> Any:
        """Set `ax_` and `figure_`, to new ones if `ax` is None, and return the axes."""
        plt = self._pyplot()
        if ax is None:
            # Legends and colour bars next to the axes need the constrained layout.
            _, ax = plt.subplots(layout="constrained", figsize=(width, height))
        if not box:
            ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _title(self, title: str, pad: float | None = None) -> Self:
        """Draw a title at the left, `pad` points above the axes."""
        style = {"loc": "left", "fontsize": "medium", "fontweight": "bold"}
        self.ax_.set_title(title, pad=pad, **style)
        return self

    def _legend(self, title: str, ncols: int = 1, **options: Any) -> Self:
        """Draw a title and a legend above the axes, where they hide no data.

        A legend that is wider than its axes takes the space of the axes next to them,
        so it gets fewer columns than `ncols`.
        """
        ax = self.ax_
        options |= {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.3}
        for columns in range(ncols, 0, -1):
            legend = ax.legend(frameon=False, ncols=columns, **options)
            room = OVERHANG * ax.get_window_extent().width
            if legend.get_window_extent().width <= room:
                break
        height = legend.get_window_extent().y1 - ax.get_window_extent().y1
        # The position of a title is in points, for every resolution.
        return self._title(title, pad=72 * height / ax.figure.dpi + TITLE_GAP)

    def _name_rows(self, names: Sequence[Any], start: int = 0) -> None:
        """Label rows, the first on top."""
        stop = start + len(names)
        self.ax_.set_yticks(np.arange(start, stop), [plain(name) for name in names])
        self.ax_.set_ylim(stop - 0.4, start - 0.6)
        self.ax_.tick_params(axis="y", length=0)

    def _draw_histogram(self, values: np.ndarray, bins: Any, label: str) -> Any:
        """Draw a histogram and return its bars."""
        # An edge makes a bar of one value visible.
        style = {"color": BLUE, "alpha": 0.6, "edgecolor": BLUE, "linewidth": 0.8}
        return self.ax_.hist(values, bins=bins, label=label, **style)[2]

    def _draw_value(self, value: float, label: str) -> Any:
        """Draw a line at a value over bars or a density, and return the line."""
        line = self.ax_.axvline(value, color=VERMILLION, linewidth=2, label=label)
        self.ax_.set_ylim(bottom=0)
        return line


def from_result_with(plot: Callable[..., Any]) -> Any:
    """Return a class method `from_result` that has the options of a method `plot`."""

    def from_result(cls: Any, result: Any, *, ax: Any = None, **options: Any) -> Any:
        """Draw a result.

        Parameters
        ----------
        result : result of a test, a comparison, a score or a report
            Result to draw.
        ax : matplotlib Axes, default=None
            Axes to draw in.
        **options : dict
            Options of `plot`.

        Returns
        -------
        display : Display
            The display.
        """
        return cls(**cls._fields(result, **options)).plot(ax=ax, **options)

    drawn = inspect.signature(plot)
    options = list(drawn.parameters.values())[2:]
    of_class, result, ax, _ = inspect.signature(from_result).parameters.values()
    shown = drawn.replace(parameters=[of_class, result, *options, ax])
    from_result.__signature__ = shown  # type: ignore[attr-defined]
    from_result.__qualname__ = plot.__qualname__.replace("plot", "from_result")
    return classmethod(from_result)


def plain(name: Any, letters: int = 32) -> str:
    """Return a name from the data as a label: one line, not too long, no formulas."""
    text = " ".join(str(name).split())
    if len(text) > letters:
        text = f"{text[: letters - 3]}..."
    return text.replace("$", r"\$")


def whole_numbers(*axes: Any) -> None:
    """Let axes have ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    for axis in axes:
        axis.set_major_locator(MaxNLocator("auto", integer=True))
