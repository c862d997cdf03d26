"""What the displays share: matplotlib, imported late, colours, and names."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

from skdiscrepancy.kernels import Kernel, MaternKernel

# The colours of Okabe and Ito, which people who do not tell red from green tell apart.
BLUE, VERMILLION = "#0072B2", "#D55E00"
SERIES = (BLUE, VERMILLION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
# Width of a legend in that of its axes, at most: the gap to the next axes is 0.2.
OVERHANG = 1.2
MARKERS = ("o", "s", "^", "D", "v", "P")
GREY = "#555555"


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
        # Legends and colour bars next to the axes need a layout that knows them.
        _, ax = plt.subplots(layout="constrained", **figure_options)
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def legend_above(ax: Any, *, ncols: int = 1, **options: Any) -> Any:
    """Draw a legend above the axes, where it hides nothing.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes.
    ncols : int, default=1
        Number of columns, at most: a legend that is wider than its axes takes their
        room, or that of the axes next to them.
    **options : dict
        Options of the legend.

    Returns
    -------
    legend : matplotlib Legend
        The legend.
    """
    place = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.3}
    for columns in range(ncols, 0, -1):
        legend = ax.legend(frameon=False, ncols=columns, **place, **options)
        room = OVERHANG * ax.get_window_extent().width
        if legend.get_window_extent().width <= room:
            break
    return legend


def kernel_name(kernel: Any) -> str:
    """Return what a legend calls a kernel: its type, without the bandwidth."""
    name = type(kernel).__name__
    if isinstance(kernel, MaternKernel):
        order = "" if kernel.p == 2 else f", L{kernel.p:g}"
        return f"Matérn {round(2 * kernel.nu)}/2{order}"
    if not isinstance(kernel, Kernel):
        # A kernel of scikit-learn, which may be a sum or product.
        return str(kernel)
    name = name.removesuffix("Kernel")
    return f"balanced {name}" if getattr(kernel, "balanced", False) else name
