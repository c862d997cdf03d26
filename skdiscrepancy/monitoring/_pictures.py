"""Small pictures of the distribution of a column in two tables, as SVG."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

# Sizes in pixels.
WIDTH, HEIGHT = 220, 56
BAR, GAP, LABEL = 7, 6, 92
# Letters of the name of a bar, at most.
LETTERS = 14
# Sizes of a picture of two columns: its width, the area of the points, and its left.
PAIR, AREA, LEFT = 300, 150, 84


def picture(bars: dict[str, Any], name: str) -> str:
    """Draw the distributions of a column in both tables.

    Parameters
    ----------
    bars : dict
        The bars, see :func:`skdiscrepancy.monitoring._marginals.marginal`.
    name : str
        Name of the column, for readers who cannot see the picture.

    Returns
    -------
    svg : str
        The picture. Its colours are those of the classes "r" and "n" of the page.
    """
    draw = _histogram if bars["histogram"] else _bars
    height, content = draw(bars)
    if any(bars["missing"]):
        top = height + 4
        content += _bar_pair("missing", bars["missing"], top, max(bars["missing"]))
        height = top + 2 * BAR + 3
    title = escape(f"Distribution of {name} in the reference and the new table")
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{title}">{content}</svg>'
    )


def pair_picture(points: dict[str, Any], table: str) -> str:
    """Draw the rows of one table as points, by the values of two columns.

    Parameters
    ----------
    points : dict
        The points, see :func:`skdiscrepancy.monitoring._marginals.pair_points`.
    table : {"reference", "new"}
        The table to draw.

    Returns
    -------
    svg : str
        The picture.
    """
    across, up = (shortened(str(name), 24) for name in points["names"])
    title = escape(f"{up} against {across}, {table} table")
    width = PAIR - LEFT
    parts = [
        f'<path class="axis" d="M{LEFT} 0V{AREA}H{PAIR}"/>',
        _text(LEFT + width / 2, AREA + 26, across, anchor="middle", css="axis-name"),
        _text(LEFT, -6, up, css="axis-name"),
    ]
    for x, y in points[table]:
        parts.append(
            f'<circle class="{table[0]}" cx="{LEFT + 4 + (width - 8) * x:.1f}" '
            f'cy="{AREA - 4 - (AREA - 8) * y:.1f}" r="2"/>'
        )
    across_ticks, up_ticks = points["ticks"]
    for place, label in across_ticks:
        anchor = {0: "start", 1: "end"}.get(place, "middle")
        short = shortened(label, max(4, 40 // len(across_ticks)))
        parts.append(_text(LEFT + width * place, AREA + 12, short, anchor=anchor))
    for place, label in up_ticks:
        # The ends of an axis of numbers are beside its ends.
        y = AREA * (1 - place) + {0: 0, 1: 9}.get(place, 4)
        parts.append(_text(LEFT - 4, y, shortened(label), anchor="end"))
    return (
        f'<svg viewBox="0 -18 {PAIR} {AREA + 50}" width="{PAIR}" height="{AREA + 50}" '
        f'role="img" aria-label="{title}">{"".join(parts)}</svg>'
    )


def _histogram(bars: dict[str, Any]) -> tuple[int, str]:
    """Draw the reference as an area, and the new table as a line above it."""
    both = [bars["reference"], bars["new"]]
    if not len(both[0]):
        return 0, ""
    largest = max(float(np.max(shares)) for shares in both) or 1.0
    step = WIDTH / len(both[0])
    low, high = bars["labels"]
    paths = []
    for shares, css in zip(both, ("r area", "n line"), strict=True):
        tops = HEIGHT - 2 - (HEIGHT - 6) * shares / largest
        points = [f"M0 {HEIGHT - 2}"]
        for i, top in enumerate(tops):
            points.append(f"L{i * step:.1f} {top:.1f}L{(i + 1) * step:.1f} {top:.1f}")
        points.append(f"L{WIDTH} {HEIGHT - 2}")
        paths.append(f'<path class="{css}" d="{"".join(points)}"/>')
    axis = f'<path class="axis" d="M0 {HEIGHT - 1.5}H{WIDTH}"/>'
    ends = _text(0, HEIGHT + 11, low)
    if high != low:
        ends += _text(WIDTH, HEIGHT + 11, high, anchor="end")
    return HEIGHT + 15, "".join([*paths, axis, ends])


def _bars(bars: dict[str, Any]) -> tuple[int, str]:
    """Draw two horizontal bars for each category."""
    both = bars["reference"], bars["new"]
    largest = max(float(np.max(shares, initial=0)) for shares in both)
    step = 2 * BAR + 2 + GAP
    content = "".join(
        _bar_pair(label, shares, i * step, largest)
        for i, (label, *shares) in enumerate(zip(bars["labels"], *both, strict=True))
    )
    return max(len(bars["labels"]) * step - GAP, 0), content


def _bar_pair(label: str, shares: list[float], top: int, largest: float) -> str:
    """Draw the fraction of rows in both tables, as a multiple of the largest one."""
    unit = (WIDTH - LABEL - 34) / (largest or 1.0)
    parts = [_text(LABEL - 6, top + BAR + 4, shortened(label), anchor="end")]
    for i, (share, css) in enumerate(zip(shares, "rn", strict=True)):
        y = top + i * (BAR + 1)
        parts.append(
            f'<rect class="{css}" x="{LABEL}" y="{y}" '
            f'width="{max(unit * share, 0.5):.1f}" height="{BAR}"/>'
        )
        x = LABEL + unit * share + 4
        parts.append(_text(x, y + BAR, f"{share:.0%}", css="small"))
    return "".join(parts)


def shortened(label: str, letters: int = LETTERS) -> str:
    """Return the name of a bar in a few letters."""
    return label if len(label) <= letters else f"{label[: letters - 1]}…"


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", css: str = "label"
) -> str:
    return (
        f'<text class="{css}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )
