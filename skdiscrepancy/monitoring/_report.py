"""The report of how two tables differ, its page and its pictures."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._data.frames import Column
from skdiscrepancy._data.results import Result
from skdiscrepancy._nulls.pvalues import TestResult
from skdiscrepancy.inference._column_tests import ColumnTests

# Bars of a histogram, and categories that have a bar of their own.
N_BINS = 24


N_BARS = 6


# Numbers beyond these quantiles are counted in the first or the last bar, because one
# outlier would hide the shape of the rest.
TAIL = 0.005


# Rows of each table in a picture of two columns, at most.
N_POINTS = 250


OTHER = "other values"


MISSING = "missing"


def marginal(first: Column, second: Column) -> dict[str, Any]:
    """Return the bars of a column in both tables.

    Parameters
    ----------
    first, second : Column
        The column of the reference table and of the new table.

    Returns
    -------
    bars : dict
        `labels`, the name of each bar, or of the first and the last bar of a histogram,
        `reference` and `new`, the fraction of all rows in each bar, `missing`, the
        fraction of missing values in both tables, and `histogram`, whether the bars are
        intervals.
    """
    both = (first, second)
    missing = [float(np.mean(column.missing)) for column in both]
    if {first.kind, second.kind} & {"category", "ordered"}:
        labels, shares = _bars(first, second)
        histogram = False
    else:
        labels, shares = _histogram(first, second)
        histogram = True
    return {
        "labels": labels,
        "reference": shares[0],
        "new": shares[1],
        "missing": missing,
        "histogram": histogram,
    }


def pair_points(
    names: list[Any],
    first: list[Column],
    second: list[Column],
    generator: np.random.RandomState,
) -> dict[str, Any]:
    """Return rows of both tables as points, for a picture of two columns.

    Parameters
    ----------
    names : list of length 2
        Names of the columns.
    first, second : list of Column
        Two columns of the reference table and of the new table.
    generator : RandomState
        Draws the rows, and shifts the points of a category, which would hide each
        other.

    Returns
    -------
    points : dict
        `names`, the names of the columns, the vertical axis last, `ticks`, the places
        and texts on each axis, and `reference` and `new`, arrays of shape (n_points, 2)
        with numbers from 0 to 1. Rows with missing values are left out.
    """
    axes = [_axis(*pair) for pair in zip(first, second, strict=True)]
    # Names of categories need the room at the left.
    order = [1, 0] if axes[0].shift > axes[1].shift == 0 else [0, 1]
    points = []
    for side in (0, 1):
        places = np.column_stack([axes[j].places[side] for j in order])
        places = places[~np.isnan(places).any(axis=1)]
        kept = generator.permutation(len(places))[:N_POINTS]
        shifts = generator.uniform(-1, 1, size=(len(kept), 2))
        points.append(places[kept] + shifts * [axes[j].shift for j in order])
    return {
        "names": [names[j] for j in order],
        "ticks": [axes[j].ticks for j in order],
        "reference": points[0],
        "new": points[1],
    }


class Axis(NamedTuple):
    """Where the values of a column are on an axis from 0 to 1."""

    ticks: list[tuple[float, str]]
    # The places of the rows of both tables.
    places: list[np.ndarray]
    # How far points may be shifted, 0 for numbers.
    shift: float


def _axis(first: Column, second: Column) -> Axis:
    if not {first.kind, second.kind} & {"category", "ordered"}:
        low, half = _range([column.values for column in (first, second)])
        places = [_fractions(c.values, low, half) for c in (first, second)]
        ends = [(0.0, _written(first, low)), (1.0, _written(first, low + 2 * half))]
        return Axis(ends if half > 0 else [], places, 0.0)
    labels, _ = _bars(first, second)
    positions = {label: (i + 0.5) / len(labels) for i, label in enumerate(labels)}
    other = positions.get(OTHER, np.nan)
    places = []
    for column in (first, second):
        texts = [write_value(column, row) for row in range(len(column.values))]
        found = np.array([positions.get(text, other) for text in texts])
        places.append(np.where(column.missing, np.nan, found))
    ticks = [(place, label) for label, place in positions.items()]
    return Axis(ticks, places, 0.3 / max(len(labels), 1))


def write_value(column: Column, row: int) -> str:
    """Return the value of a row as text."""
    if column.missing[row]:
        return MISSING
    value = column.values[row]
    if column.kind == "category":
        return _text_of(value)
    if column.kind == "ordered":
        return _text_of((column.levels or [])[int(value)])
    return _written(column, value)


def _text_of(value: Any) -> str:
    """Return a category as text, whatever it is."""
    try:
        return str(value)
    except Exception:
        # Integers of many digits, and objects of users, may have no text.
        return f"a value of type {type(value).__name__}"


def _bars(first: Column, second: Column) -> tuple[list[str], list[np.ndarray]]:
    counts = [_counts(column) for column in (first, second)]
    if first.kind == second.kind == "ordered":
        levels = dict.fromkeys([*(first.levels or []), *(second.levels or [])])
        labels = list(dict.fromkeys(map(_text_of, levels)))
    else:
        # Equal shares in the order of their names, whatever the order of the rows.
        labels = sorted(
            set().union(*counts),
            key=lambda label: (
                -sum(count[label] / count.total() for count in counts if count),
                label,
            ),
        )
    shown = labels if len(labels) <= N_BARS + 1 else labels[:N_BARS]
    shares = []
    for column, count in zip((first, second), counts, strict=True):
        bars = [count[label] for label in shown]
        if len(shown) < len(labels):
            bars.append(count.total() - sum(bars))
        shares.append(np.array(bars) / len(column.values))
    return [*shown, OTHER] if len(shown) < len(labels) else shown, shares


def _counts(column: Column) -> Counter[str]:
    """Return the number of known rows of each category, by its text."""
    counts: Counter[str] = Counter()
    if column.kind in ("category", "ordered"):
        places = column.values if column.codes is None else column.codes
        known = places[~column.missing].astype(int)
        levels = column.levels or []
        sizes = np.bincount(known, minlength=len(levels))
        for level, n in zip(levels, sizes, strict=True):
            counts[_text_of(level)] += int(n)
    else:
        counts.update(_written(column, v) for v in column.values[~column.missing])
    return +counts


def _histogram(first: Column, second: Column) -> tuple[list[str], list[np.ndarray]]:
    values = [column.values[~column.missing] for column in (first, second)]
    low, half = _range(values)
    if np.isnan(low):
        return [], [np.zeros(0), np.zeros(0)]
    shares = []
    for column, known in zip((first, second), values, strict=True):
        places = (_fractions(known, low, half) * N_BINS).astype(int)
        counts = np.bincount(np.minimum(places, N_BINS - 1), minlength=N_BINS)
        shares.append(counts / len(column.values))
    return [_written(first, low), _written(first, low + 2 * half)], shares


def _range(values: list[np.ndarray]) -> tuple[float, float]:
    """Return the least number of an axis, and half of the length of the axis.

    The length itself can overflow.
    """
    pooled = np.concatenate(values)
    pooled = pooled[~np.isnan(pooled)]
    if not len(pooled):
        return np.nan, np.nan
    low, high = np.quantile(pooled / 2, [TAIL, 1 - TAIL])
    if low == high:
        low, high = pooled.min() / 2, pooled.max() / 2
    return 2 * low, high - low


def _fractions(values: np.ndarray, low: float, half: float) -> np.ndarray:
    """Return how far numbers are from the beginning of an axis, from 0 to 1."""
    if not half > 0:
        return np.where(np.isnan(values), np.nan, 0.5)
    return np.clip((values / 2 - low / 2) / half, 0, 1)


def _written(column: Column, value: float) -> str:
    if column.kind == "date":
        seconds = (column.origin or 0) + value
        try:
            date = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        except OverflowError:
            return f"{seconds:.6g} s"
        midnight = date.hour == date.minute == date.second == 0
        return f"{date:%Y-%m-%d}" if midnight else f"{date:%Y-%m-%d %H:%M}"
    if column.kind == "duration":
        return str(timedelta(seconds=round(value))) if abs(value) < 8e13 else f"{value}"
    return f"{value:.4g}"


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
    draw = _draw_histogram if bars["histogram"] else _draw_bars
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


def _draw_histogram(bars: dict[str, Any]) -> tuple[int, str]:
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


def _draw_bars(bars: dict[str, Any]) -> tuple[int, str]:
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


# Columns of the table of columns, and of the table of rows, at most.
MAX_COLUMNS = 100


MAX_VALUES = 8


# Letters of a value, at most.
MAX_LETTERS = 40


STYLE = """
:root { color-scheme: light dark; --page: #fff; --card: #f6f7f9; --text: #1c2126;
  --quiet: #5b6570; --line: #d9dee3; --reference: #0072b2; --new: #d55e00;
  --alarm: #b3261e; --calm: #1f7a4d; }
@media (prefers-color-scheme: dark) { :root { --page: #14181c; --card: #1e242a;
  --text: #e6eaee; --quiet: #9aa5b1; --line: #36404a; --reference: #56b4e9;
  --new: #f28e2b; --alarm: #ff8a80; --calm: #6fd3a0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 62rem;
  background: var(--page); color: var(--text); line-height: 1.5;
  font-family: system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0.2rem 0 0.6rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 0.5rem; }
p { margin: 0.4rem 0; max-width: 46rem; }
.kicker, .note, th, .kind, footer { color: var(--quiet); }
.kicker, .note, footer { font-size: 0.875rem; }
.answer { border-left: 4px solid var(--calm); padding-left: 0.9rem; }
.answer.drift { border-color: var(--alarm); }
.facts { display: flex; flex-wrap: wrap; gap: 0.6rem; margin: 1.2rem 0 0;
  padding: 0; list-style: none; }
.facts li { flex: 1 1 8.5rem; background: var(--card); border-radius: 6px;
  padding: 0.6rem 0.8rem; font-size: 0.875rem; color: var(--quiet); }
.facts b { display: block; font-size: 1.25rem; color: var(--text);
  overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem;
  font-variant-numeric: tabular-nums; }
th { font-weight: 500; text-align: left; vertical-align: bottom; }
th, td { padding: 0.45rem 0.9rem 0.45rem 0; border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; white-space: nowrap; }
.wide td { white-space: nowrap; }
td.name { overflow-wrap: anywhere; min-width: 7rem; }
.name b { display: block; }
.kind { font-size: 0.8rem; }
.tag { display: inline-block; font-size: 0.75rem; padding: 0 0.45em;
  margin-right: 0.3em; border: 1px solid currentColor; border-radius: 1em;
  color: var(--alarm); }
.key { display: inline-block; width: 0.8em; height: 0.8em; border-radius: 2px;
  margin: 0 0.3em 0 0.9em; vertical-align: -0.05em; }
.key.r { background: var(--reference); } .key.n { background: var(--new); }
.wide { overflow-x: auto; }
svg { display: block; max-width: 100%; height: auto; }
svg .r { fill: var(--reference); } svg .n { fill: var(--new); }
svg .r.area { fill-opacity: 0.35; stroke: var(--reference); }
svg .n.line { fill: none; stroke: var(--new); stroke-width: 1.6; }
svg circle { fill-opacity: 0.6; } svg text.axis-name { font-weight: 600; }
.pair { display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; margin: 0.5rem 0 1rem; }
figure { margin: 0; } figcaption { font-size: 0.8rem; color: var(--quiet); }
svg .axis { stroke: var(--quiet); fill: none; }
svg text { fill: var(--quiet); font-size: 10px; } svg .small { font-size: 8px; }
ol { padding-left: 1.3rem; margin: 0.5rem 0; } footer { margin-top: 2.5rem; }
@media (max-width: 40rem) {
  .columns thead { display: none; }
  .columns, .columns tbody, .columns tr, .columns td { display: block; }
  .columns tr { border-bottom: 1px solid var(--line); padding: 0.6rem 0; }
  .columns td { border: none; padding: 0.1rem 0; }
  .columns td.number { display: flex; justify-content: space-between; }
  .columns td.number::before { content: attr(data-label); color: var(--quiet); }
  .columns td.picture { padding: 0.4rem 0; }
  .columns td.picture:empty { display: none; }
}
@media print { body { max-width: none; } tr, li { break-inside: avoid; } }
"""


def report_page(report: Any) -> str:
    """Return a drift report as an HTML page.

    Parameters
    ----------
    report : DriftReport
        The report.

    Returns
    -------
    page : str
        The page. Its style and its pictures are inside.
    """
    title, sentences = answer(report)
    css = "answer drift" if _rejects(report) else "answer"
    text = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Drift report: {escape(title)}</title>\n<style>{STYLE}</style>\n"
        '</head>\n<body>\n<header><p class="kicker">Drift report</p>'
        f'<div class="{css}"><h1>{escape(title)}</h1>{text}</div>'
        f"{_facts(report)}</header>\n<main>\n{_explanation(report)}\n"
        f"{_columns(report)}\n{_rows(report)}\n</main>\n{_footer(report)}\n"
        "</body>\n</html>\n"
    )


def answer(report: Any) -> tuple[str, list[str]]:
    """Return the answer of a report in one line, and in some sentences."""
    pvalue = _pvalue(report.joint_test.pvalue)
    drifted = _drifted(report)
    alone = "No column differs significantly on its own."
    if drifted:
        alone = (
            f"{len(drifted)} of {_counted(len(report.kinds), 'column')} "
            f"{'differs on its' if len(drifted) == 1 else 'differ on their'} own: "
            f"{_listed(list(map(_cut, drifted)))}."
        )
    if not _rejects(report):
        return f"No drift detected ({pvalue})", [
            "The joint test of all columns does not distinguish the new table from the "
            f"reference at level {report.level:g}.",
            alone,
        ]
    # Single columns first, because a list that goes on after "how" is hard to read.
    groups = sorted(report.explanation, key=lambda group: len(group) > 1)
    causes = [_cause(group, drifted) for group in groups]
    cause = f"The drift is in {_listed(causes)}."
    return f"The tables differ ({pvalue})", [alone, cause, _remaining(report)]


def _cause(group: list[Any], drifted: list[Any]) -> str:
    """Return a group of columns that differ together in words."""
    if len(group) == 1:
        return _cut(group[0])
    names = _listed(list(map(_cut, group)))
    if any(name in drifted for name in group):
        return f"{names} together"
    return f"how {names} depend on each other"


def _remaining(report: Any) -> str:
    if report.remaining_pvalue is None:
        return "These are all columns."
    pvalue = f"({_pvalue(report.remaining_pvalue)})"
    if report.remaining_pvalue > report.level:
        one = sum(map(len, report.explanation)) == 1
        without = "this column" if one else "these columns"
        return f"Without {without}, no significant difference remains {pvalue}."
    return (
        f"The other columns still differ {pvalue}. Raise max_columns to name more "
        "columns."
    )


def _facts(report: Any) -> str:
    drifted = len(_drifted(report))
    facts = [
        (f"{report.joint_test.pvalue:.2g}", "p-value of the joint test"),
        (f"{drifted} of {len(report.kinds)}", "columns with drift of their own"),
        (f"{report.n_reference:,}", "rows in the reference"),
        (f"{report.n_new:,}", "rows in the new table"),
    ]
    items = "".join(f"<li><b>{value}</b>{what}</li>" for value, what in facts)
    return f'<ul class="facts">{items}</ul>'


def _explanation(report: Any) -> str:
    head = "<section><h2>Which columns explain the drift?</h2>"
    if not report.explanation:
        return (
            f"{head}<p>There is nothing to explain, because the joint test does not "
            "reject.</p></section>"
        )
    pairs = iter(report.pairs)
    groups = ""
    for group in report.explanation:
        together = _together(next(pairs)) if len(group) > 1 else ""
        names = escape(_listed(list(map(_cut, group))))
        groups += f"<li><b>{names}</b>{together}</li>"
    return (
        f'{head}<ol>{groups}</ol><p class="note">Strongest first. A backward '
        "elimination removes the columns without which the discrepancy (MMD) is "
        f"largest. {escape(_remaining(report))}</p></section>"
    )


def _together(points: dict[str, Any]) -> str:
    """Return the pictures of the columns of a group, one for each table."""
    figures = "".join(
        f"<figure><figcaption>{text}</figcaption>{pair_picture(points, table)}</figure>"
        for table, text in [("reference", "Reference"), ("new", "New")]
    )
    return f', which differ together<div class="pair">{figures}</div>'


def _columns(report: Any) -> str:
    frame = report._columns()
    order = report._order()[:MAX_COLUMNS]
    rows = "".join(_column(report, frame, i, j) for i, j in enumerate(order))
    note = ""
    if len(order) < len(report.kinds):
        note = (
            f'<p class="note">The {len(order)} of {len(report.kinds)} columns with the '
            "smallest p-values. <code>to_frame()</code> returns all of them.</p>"
        )
    head = "".join(
        f'<th scope="col"{css}>{text}</th>'
        for text, css in [
            ("Column", ""),
            ("Distribution", ""),
            *((label, ' class="number"') for label in _numbers(frame, 0)),
        ]
    )
    return (
        '<section><h2>Which columns differ on their own?</h2><p class="note">Adjusted '
        "p-values take the number of columns into account. The effect size is the "
        "normalised MMD, from 0 to 1. Pictures show columns that differ, or that "
        "explain the drift:"
        '<span class="key r"></span>reference<span class="key n"></span>new</p>'
        f'<table class="columns"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>'
        f"</table>{note}</section>"
    )


def _numbers(frame: dict[str, Any], i: int) -> dict[str, str]:
    """Return the numbers of a row of the table of columns, by their headings."""
    before, after = frame["missing_reference"][i], frame["missing_new"][i]
    return {
        "Effect size": f"{frame['effect_size'][i]:.3f}",
        "p-value": f"{frame['pvalue'][i]:.2g}",
        "Adjusted p-value": f"{frame['adjusted_pvalue'][i]:.2g}",
        "Missing": f"{before:.1%} → {after:.1%}" if before or after else "none",
    }


def _column(report: Any, frame: dict[str, Any], i: int, j: int) -> str:
    name = str(frame["feature"][i])
    drifts = frame["adjusted_pvalue"][i] <= report.level
    explains = frame["explanation"][i] > 0
    tags = '<span class="tag">differs</span>' if drifts else ""
    tags += '<span class="tag">explains drift</span>' if explains else ""
    drawn = picture(report.marginals[j], name) if drifts or explains else ""
    cells = "".join(
        f'<td class="number" data-label="{label}">{value}</td>'
        for label, value in _numbers(frame, i).items()
    )
    return (
        f'<tr><td class="name"><b>{_short(name)}</b><span class="kind">'
        f"{frame['kind'][i]}</span> {tags}</td>"
        f'<td class="picture">{drawn}</td>{cells}</tr>'
    )


def _rows(report: Any) -> str:
    named = [name for group in report.explanation for name in group]
    names = report.column_tests.feature_names
    others = [names[j] for j in report._order() if names[j] not in named]
    shown = [*named, *others][:MAX_VALUES]
    head = "".join(f'<th scope="col">{_short(name)}</th>' for name in shown)
    body = ""
    for label, contribution, values in zip(
        report.row_labels, report.contributions, report.row_values, strict=True
    ):
        cells = "".join(f"<td>{_short(values[name])}</td>" for name in shown)
        body += (
            f"<tr><td>{_short(label)}</td>"
            f'<td class="number">{contribution:.3f}</td>{cells}</tr>'
        )
    what = "the columns that explain the drift" if named else "all columns"
    return (
        '<section><h2>Which rows contribute most?</h2><p class="note">Rows of the new '
        f"table that are most unlike the reference in {what}, by their contribution to "
        'the discrepancy.</p><div class="wide"><table><thead><tr><th scope="col">Row'
        f'</th><th scope="col" class="number">Contribution</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div></section>"
    )


def _footer(report: Any) -> str:
    test = report.joint_test
    correction = {"bh": "Benjamini-Hochberg", "by": "Benjamini-Yekutieli"}.get(
        report.column_tests.correction, str(report.column_tests.correction)
    )
    return (
        f"<footer><p>Joint test: MMD with {_counted(len(test.kernels), 'kernel')}, "
        f"method {escape(test.method)}, {len(test.null_distribution)} resamples. "
        f"Level {report.level:g}. Correction of the p-values of columns: "
        f"{escape(correction)}. Made with skdiscrepancy.</p></footer>"
    )


def _rejects(report: Any) -> bool:
    return bool(report.joint_test.pvalue <= report.level)


def _drifted(report: Any) -> list[Any]:
    frame = report._columns()
    pairs = zip(frame["feature"], frame["adjusted_pvalue"], strict=True)
    return [name for name, pvalue in pairs if pvalue <= report.level]


def _pvalue(pvalue: float) -> str:
    # Spaces that are no end of a line.
    return f"p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{pvalue:.2g}"


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _listed(names: list[Any], most: int = 6) -> str:
    """Return names as words of a sentence."""
    words = [str(name) for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(words)} and {len(names) - most} more"
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _cut(value: Any) -> str:
    # An empty text would not be seen.
    text = " ".join(str(value).split()) or repr(str(value))
    return text if len(text) <= MAX_LETTERS else f"{text[: MAX_LETTERS - 1]}…"


def _short(value: Any) -> str:
    return escape(_cut(value))


@dataclass(frozen=True, eq=False, repr=False)
class DriftReport(Result):
    """Report of how a new table differs from a reference table.

    The joint test compares all columns together, so it also detects drift that no
    single column shows. The report names the columns that explain the drift [1]_, and
    the rows that contribute most. The repr, the table in a notebook, :meth:`to_frame`
    and :meth:`plot` show the column with the smallest p-value first. The attributes
    have the order of the columns of your data. Two reports are equal if all their
    attributes are equal.

    Read more in the :ref:`User Guide <tables>`.

    Attributes
    ----------
    joint_test : TestResult
        Test of all columns together.
    column_tests : ColumnTests
        Test of each column, with p-values corrected for the number of columns.
    kinds : list of str
        What each column holds: "number", "date", "duration", "ordered" or "category".
    effect_sizes : ndarray of shape (n_features,)
        Effect size of each column, from 0 to 1, which does not grow with the number of
        rows. It is t / sqrt(1 + t^2), where t is the normalised MMD (the value of
        :func:`skdiscrepancy.mmd_score` with one Laplace kernel whose bandwidth is the
        mean distance of two rows), or 0 if t is negative. It is 1 if the column is
        constant in each table, but not the same constant.
    missing_reference : ndarray of shape (n_features,)
        Fraction of missing values of each column in the reference table.
    missing_new : ndarray of shape (n_features,)
        Fraction of missing values of each column in the new table.
    explanation : list of list
        Names of the columns that explain the drift. The columns of one group differ
        together. The strongest group comes first, and each group begins with its
        strongest column. Empty if the joint test does not reject.
    remaining_pvalue : float or None
        p-value of the joint test of all columns that `explanation` does not name. None
        if it names all columns.
    rows : ndarray of shape (n_rows,)
        Positions of the rows of the new table that contribute most, the largest
        contribution first.
    row_labels : list of length n_rows
        Index labels of these rows, or their positions if the table has no index.
    row_values : list of dict
        Values of these rows as text, by the name of the column.
    contributions : ndarray of shape (n_rows,)
        Contribution of each of these rows, see :meth:`skdiscrepancy.MMDEstimator.\
contributions`, computed on the columns of `explanation`, or on all columns if it is
        empty.
    marginals : list of dict
        Distribution of each column in both tables, for the pictures of :meth:`to_html`.
    pairs : list of dict
        Some rows of both tables in the first two columns of each group of several
        columns, for the pictures of :meth:`to_html`.
    n_reference : int
        Number of rows of the reference table.
    n_new : int
        Number of rows of the new table.
    level : float
        Significance level.

    See Also
    --------
    drift_report : Computes the report.
    skdiscrepancy.plotting.DriftReportDisplay : Draws the effect sizes.

    References
    ----------
    .. [1] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.monitoring import drift_report
    >>> rng = np.random.RandomState(0)
    >>> X, Y = rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + [0, 2, 0]
    >>> report = drift_report(X, Y, random_state=0)
    >>> report.joint_test.pvalue
    0.001
    >>> report.explanation
    [['x1']]
    """

    joint_test: TestResult
    column_tests: ColumnTests
    kinds: list[str]
    effect_sizes: np.ndarray
    missing_reference: np.ndarray
    missing_new: np.ndarray
    explanation: list[list[Any]]
    remaining_pvalue: float | None
    rows: np.ndarray
    row_labels: list[Any]
    row_values: list[dict[Any, str]]
    contributions: np.ndarray
    marginals: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    n_reference: int
    n_new: int
    level: float

    _display = "DriftReportDisplay"
    _item = "column"
    _index = "feature"
    _shown_first = "smallest p-values"
    _repr_rows = 10

    def _summary(self) -> dict[str, Any]:
        groups = (" + ".join(map(str, group)) for group in self.explanation)
        return {
            "pvalue": self.joint_test.pvalue,
            "explanation": ", ".join(groups) or "none",
        }

    def _order(self) -> np.ndarray:
        """Return the columns of the data in the order of the table."""
        return np.lexsort((-self.effect_sizes, self.column_tests.pvalues))

    def _columns(self) -> dict[str, Any]:
        order, tests = self._order(), self.column_tests
        groups = {
            name: i + 1 for i, group in enumerate(self.explanation) for name in group
        }
        names = [tests.feature_names[j] for j in order]
        return {
            "feature": names,
            "kind": [self.kinds[j] for j in order],
            "effect_size": self.effect_sizes[order],
            "pvalue": tests.pvalues[order],
            "adjusted_pvalue": tests.adjusted_pvalues[order],
            "missing_reference": self.missing_reference[order],
            "missing_new": self.missing_new[order],
            "explanation": np.array([groups.get(name, 0) for name in names]),
        }

    def to_frame(self) -> Any:
        """Return the report as a DataFrame, one row for each column of the data.

        Needs pandas: ``pip install "skdiscrepancy[pandas]"``.

        Returns
        -------
        frame : pandas.DataFrame
            The columns are `kind`, `effect_size`, `pvalue`, `adjusted_pvalue`,
            `missing_reference`, `missing_new` and `explanation`, the number of the
            group of `explanation` that names the column, or 0. The index holds
            the names of the columns of the data. The smallest p-value comes first, and
            equal p-values are sorted by the largest effect.
        """
        return super().to_frame()

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Write the report as an HTML page in a single file.

        The page has the answer in words, the tests, pictures of the columns that have
        drifted, and the rows that contribute most. It loads nothing from a network and
        runs no scripts, so you can send it by e-mail. It contains values of your data.

        Parameters
        ----------
        path : str, path-like or None, default=None
            File to write. None writes no file.

        Returns
        -------
        page : str
            The page.
        """
        page = report_page(self)
        if path is not None:
            # Names may have letters that UTF-8 does not have.
            Path(path).write_text(page, encoding="utf-8", errors="backslashreplace")
        return page

    def plot(self, **kwargs: Any) -> Any:
        """Draw the effect size of each column, with the smallest p-value on top.

        Needs matplotlib: ``pip install "skdiscrepancy[plot]"``.

        Parameters
        ----------
        **kwargs : dict
            Options of :meth:`DriftReportDisplay.from_result
            <skdiscrepancy.plotting.DriftReportDisplay.from_result>`, such as `ax`.

        Returns
        -------
        display : DriftReportDisplay
            The display, already drawn.
        """
        return super().plot(**kwargs)
