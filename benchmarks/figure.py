"""The figure of time and memory over the number of rows."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

# Okabe and Ito's colours, which the colour-blind tell apart; markers and dashes say it
# again.
STYLES = {
    "by hand": {"color": "#d55e00", "marker": "s", "linestyle": "-"},
    "skdiscrepancy": {"color": "#0072b2", "marker": "o", "linestyle": "-"},
    "skdiscrepancy + numba": {"color": "#009e73", "marker": "^", "linestyle": "--"},
}


def draw_growth(lines, path):
    """Draw time and memory of complete MMD over the number of rows, log-log.

    Parameters
    ----------
    lines : dict
        For each name of STYLES the records of its measurements, or nothing.
    path : Path
        File to write.
    """
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9, 4.3), layout="constrained")
    for axes, quantity, unit, title in (
        (panels[0], "wall", 1, "time with one thread (s)"),
        (panels[1], "memory", 1e6, "peak memory above the data (MB)"),
    ):
        for name, style in STYLES.items():
            records = sorted(lines.get(name, []), key=lambda record: record["size"])
            if records:
                axes.plot(
                    [record["size"] for record in records],
                    # A logarithm must exist; no run is seen to take less.
                    [max(record[quantity] / unit, 1e-3) for record in records],
                    label=name,
                    linewidth=1.8,
                    markersize=6,
                    **style,
                )
        axes.set(xscale="log", yscale="log", ylabel=title)
        axes.set_xlabel("rows in each of the two samples")
        axes.grid(color="0.9")
        axes.spines[["top", "right"]].set_visible(False)
        label_ticks(axes)
    draw_square(panels[0])
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=4,
        frameon=False,
    )
    figure.suptitle("mmd_score with its defaults (20 kernels), 10 columns", fontsize=11)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_square(axes):
    """Draw the slope of the square of the number of rows, below all lines."""
    points = np.concatenate([line.get_xydata() for line in axes.lines])
    x = np.array([points[:, 0].min(), points[:, 0].max()])
    y = x**2 * np.min(points[:, 1] / points[:, 0] ** 2) / 2
    axes.plot(x, y, color="0.5", linewidth=1.2, linestyle=":", label="slope of rows²")


def label_ticks(axes):
    """Put plain numbers on both axes: all sizes, and 1, 2, 5 where there is room."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    sizes = sorted({x for line in axes.lines for x in line.get_xdata()})
    axes.set_xticks(sizes, [f"{size:,.0f}".replace(",", " ") for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    low, high = axes.get_ylim()
    steps = (1.0, 2.0, 5.0) if high / low < 300 else (1.0,)
    axes.yaxis.set_major_locator(LogLocator(subs=steps))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
