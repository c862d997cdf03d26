"""Pages of drift reports: the answer in words, and pictures of columns."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._data.frames import Column

# Bars of a histogram, and categories that have a bar of their own.
N_BINS, N_BARS = 24, 6
# Numbers beyond these quantiles are counted in the first or the last bar, because one
# outlier would hide the shape of the rest.
TAIL = 0.005
# Rows of each table in a picture of two columns, at most.
N_POINTS = 250
OTHER, MISSING = "other values", "missing"


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
    axis = _axis(first, second)
    labels = [text for _, text in axis.ticks]
    histogram = axis.shift == 0
    n_bars = len(labels)
    if histogram and labels:
        labels, n_bars = [labels[0], labels[-1]], N_BINS
    shares = []
    for places in axis.places:
        bars = (places[~np.isnan(places)] * n_bars).astype(int)
        counts = np.bincount(np.minimum(bars, n_bars - 1), minlength=n_bars)
        shares.append(counts / len(places))
    return {
        "labels": labels,
        "reference": shares[0],
        "new": shares[1],
        "missing": [float(np.mean(column.missing)) for column in (first, second)],
        "histogram": histogram,
    }


def pair_points(
    columns: list[tuple[Any, Column, Column]], generator: np.random.RandomState
) -> dict[str, Any]:
    """Return rows of both tables as points, for a picture of two columns.

    Parameters
    ----------
    columns : list of length 2
        The name of each column, and the column of the reference table and of the new
        table.
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
    named = [(name, _axis(*pair)) for name, *pair in columns]
    # Names of categories need the room at the left.
    if named[0][1].shift > named[1][1].shift == 0:
        named.reverse()
    names, axes = map(list, zip(*named, strict=True))
    points = {}
    for side, table in enumerate(("reference", "new")):
        places = np.column_stack([axis.places[side] for axis in axes])
        places = places[~np.isnan(places).any(axis=1)]
        kept = generator.permutation(len(places))[:N_POINTS]
        shifts = generator.uniform(-1, 1, size=(len(kept), 2))
        points[table] = places[kept] + shifts * [axis.shift for axis in axes]
    return {"names": names, "ticks": [axis.ticks for axis in axes], **points}


class Axis(NamedTuple):
    """Where the values of a column are on an axis from 0 to 1."""

    ticks: list[tuple[float, str]]
    # The places of the rows of both tables, NaN where a value is missing.
    places: list[np.ndarray]
    # How far points may be shifted, 0 for numbers.
    shift: float = 0.0


def _axis(first: Column, second: Column) -> Axis:
    """Return an axis for numbers, or with a place for each of a few values."""
    if {first.kind, second.kind} & {"category", "ordered"}:
        return _category_axis(first, second)
    values = [first.values, second.values]
    pooled = np.concatenate(values)
    pooled = pooled[~np.isnan(pooled)]
    if not len(pooled):
        return Axis([], values)
    levels = np.unique(pooled)
    few = 1 < len(levels) <= N_BARS + 1 and np.all(levels == np.rint(levels))
    if few and first.kind == second.kind == "number":
        return _category_axis(first, second)
    # Half of the numbers, because the length of the axis can overflow.
    low, high = np.quantile(pooled / 2, [TAIL, 1 - TAIL])
    if low == high:
        low, high = pooled.min() / 2, pooled.max() / 2
    start, half = _written(first, 2 * low), high - low
    if half == 0:
        places = [np.where(np.isnan(column), np.nan, 0.5) for column in values]
        return Axis([(0.5, start)], places)
    places = [np.clip((column / 2 - low) / half, 0, 1) for column in values]
    return Axis([(0.0, start), (1.0, _written(first, 2 * low + 2 * half))], places)


def _category_axis(first: Column, second: Column) -> Axis:
    """Return an axis with a place for each category, and one for all rare ones."""
    coded = [_coded(column) for column in (first, second)]
    shares = Counter[str]()
    for texts, codes in coded:
        known = codes[codes >= 0]
        sizes = np.bincount(known, minlength=len(texts)) / max(len(known), 1)
        for text, size in zip(texts, sizes.tolist(), strict=True):
            shares[text] += size
    labels = list(shares)
    if first.kind == second.kind == "number":
        labels = sorted(+shares, key=float)
    elif not first.kind == second.kind == "ordered":
        # Equal shares in the order of their names, whatever the order of the rows.
        labels = sorted(+shares, key=lambda label: (-shares[label], label))
    has_rare = len(labels) > N_BARS + 1
    shown = labels[:N_BARS] if has_rare else labels
    n_places = len(shown) + has_rare
    positions = {label: (i + 0.5) / n_places for i, label in enumerate(shown)}
    ticks = [(place, label) for label, place in positions.items()]
    other = (n_places - 0.5) / n_places if has_rare else np.nan
    ticks += [(other, OTHER)] if has_rare else []
    places = [
        # The last place is the place of the code -1.
        np.array([*(positions.get(text, other) for text in texts), np.nan])[codes]
        for texts, codes in coded
    ]
    return Axis(ticks, places, 0.3 / max(n_places, 1))


def _coded(column: Column) -> tuple[list[str], np.ndarray]:
    """Return the categories as texts, and the category of each row, -1 if missing."""
    if column.codes is not None:
        return list(map(_text_of, column.levels or [])), column.codes
    levels, codes = np.unique(column.values, return_inverse=True)
    texts = [_written(column, level) for level in levels]
    return texts, np.where(column.missing, -1, codes)


def write_value(column: Column, row: int) -> str:
    """Return the value of a row as text."""
    if column.missing[row]:
        return MISSING
    if column.codes is None:
        return _written(column, column.values[row])
    return _text_of((column.levels or [])[column.codes[row]])


def _text_of(value: Any) -> str:
    """Return a category as text, whatever it is."""
    try:
        return str(value)
    except Exception:
        # Integers of many digits, and objects of users, may have no text.
        return f"a value of type {type(value).__name__}"


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
    whole = value == np.rint(value) and abs(value) < 2**53
    return str(int(value)) if whole else f"{value:.4g}"


# Sizes of the picture of one column in pixels: its width, the height of a histogram,
# the height of a bar, the gap between bars, and the width of their names.
WIDTH, HEIGHT, BAR, GAP, LABEL = 220, 56, 7, 6, 92
# Sizes of a picture of two columns: its width, the area of the points, and its left.
PAIR, AREA, LEFT = 300, 150, 84
# Letters of the name of a bar, and of a value in a table, at most.
LETTERS, MAX_LETTERS = 14, 40
# Rows of the table of columns, and columns of the table of rows, at most.
MAX_COLUMNS, MAX_VALUES = 100, 8


def picture(bars: dict[str, Any], name: str) -> str:
    """Draw the distributions of a column, which `marginal` returns, as SVG."""
    both, missing = (bars["reference"], bars["new"]), bars["missing"]
    largest = max(float(np.max(shares, initial=0)) for shares in both) or 1.0
    content, y, rows = "", 0, []
    if not bars["histogram"]:
        rows = [(*row, largest) for row in zip(bars["labels"], *both, strict=True)]
    elif bars["labels"]:
        content, y = _histogram(bars["labels"], both, largest), HEIGHT + 15 + GAP
    if any(missing):
        rows.append((MISSING, *missing, max(missing)))
    for label, *shares, most in rows:
        content += _text(LABEL - 6, y + BAR + 4, _cut(label, LETTERS), "end")
        for share, css in zip(shares, "rn", strict=True):
            width = (WIDTH - LABEL - 34) * share / most
            size = f'height="{BAR}" width="{max(width, 0.5):.1f}"'
            content += f'<rect class="{css}" x="{LABEL}" y="{y}" {size}/>'
            content += _text(LABEL + width + 4, y + BAR, f"{share:.0%}", "small")
            y += BAR + 1
        y += GAP
    title = f"Distribution of {name} in the reference and the new table"
    return _svg(WIDTH, y - GAP, content, title)


def _histogram(ends: list[str], both: Iterable[np.ndarray], largest: float) -> str:
    """Draw the reference as an area, and the new table as a line above it."""
    content = _text(0, HEIGHT + 11, ends[0])
    if ends[1] != ends[0]:
        content += _text(WIDTH, HEIGHT + 11, ends[1], "end")
    x = np.repeat(np.linspace(0, WIDTH, N_BINS + 1), 2)
    for shares, css in zip(both, ("r area", "n line"), strict=True):
        y = HEIGHT - 2 - (HEIGHT - 6) * np.repeat([0, *shares, 0], 2)[1:-1] / largest
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
        content += f'<polyline class="{css}" points="{points}"/>'
    return f'{content}<path class="axis" d="M0 {HEIGHT - 1.5}H{WIDTH}"/>'


def pair_picture(points: dict[str, Any], table: str) -> str:
    """Draw the rows of a table, "reference" or "new", which `pair_points` returns."""
    across, up = (_cut(name, 24) for name in points["names"])
    across_ticks, up_ticks = points["ticks"]
    width = PAIR - LEFT
    content = f'<path class="axis" d="M{LEFT} 0V{AREA}H{PAIR}"/>'
    content += _text(LEFT + width / 2, AREA + 26, across, "middle axis-name")
    content += _text(LEFT, -6, up, "axis-name")
    for x, y in points[table] * (width - 8, AREA - 8):
        place = f'cx="{LEFT + 4 + x:.1f}" cy="{AREA - 4 - y:.1f}"'
        content += f'<circle class="{table[0]}" {place} r="2"/>'
    for place, label in across_ticks:
        css = {0: "", 1: "end"}.get(place, "middle")
        short = _cut(label, max(4, 40 // len(across_ticks)))
        content += _text(LEFT + width * place, AREA + 12, short, css)
    for place, label in up_ticks:
        # The ends of an axis of numbers are beside its ends.
        y = AREA * (1 - place) + {0: 0, 1: 9}.get(place, 4)
        content += _text(LEFT - 4, y, _cut(label, LETTERS), "end")
    return _svg(PAIR, AREA + 50, content, f"{up} against {across}, {table} table", -18)


def _svg(width: int, height: int, content: str, title: str, top: int = 0) -> str:
    return (
        f'<svg viewBox="0 {top} {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(title)}">{content}</svg>'
    )


def _text(x: float, y: float, text: str, css: str = "") -> str:
    return f'<text class="{css}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


CORRECTIONS = {"holm": "Holm", "bh": "Benjamini-Hochberg", "by": "Benjamini-Yekutieli"}
COLUMN = """
<tr><td class="name"><b>{name}</b><span class="kind">{row[kind]}</span> {tags}</td>
<td class="picture">{drawn}</td>
<td class="number" data-label="Effect size">{size}</td>
<td class="number" data-label="p-value">{row[pvalue]:.2g}</td>
<td class="number" data-label="Adjusted p-value">{row[adjusted_pvalue]:.2g}</td>
<td class="number" data-label="Missing">{missing}</td></tr>"""


def report_page(report: Any) -> str:
    """Return a drift report as an HTML page, with its style and its pictures inside."""
    test, frame = report.joint_test, report._columns()
    small = np.flatnonzero(frame["adjusted_pvalue"] <= report.level)
    title, *sentences = answer(report)
    n_columns = len(report.kinds)
    columns = [_column(report, frame, i) for i in range(n_columns)[:MAX_COLUMNS]]
    left_out = (
        f'<p class="note">The {MAX_COLUMNS} of {n_columns} columns with the smallest '
        "p-values. <code>to_frame()</code> returns all of them.</p>"
    )
    # The columns that explain the drift come first.
    named = [name for group in report.explanation for name in group]
    shown = list(dict.fromkeys([*named, *frame["feature"]]))[:MAX_VALUES]
    rows = [
        f'<tr><td>{_html(label)}</td><td class="number">{contribution:.3f}</td>'
        f"{_each('<td>{}</td>', (_html(values[name]) for name in shown))}</tr>"
        for label, contribution, values in zip(
            report.row_labels, report.contributions, report.row_values, strict=True
        )
    ]
    page, style = (
        files("skdiscrepancy.monitoring").joinpath(name).read_text(encoding="utf-8")
        for name in ("report.html", "report.css")
    )
    return page.format(
        report=report,
        test=test,
        style=style,
        title=escape(title),
        mood="alarm" if report.drift else "calm",
        answer=_each("<p>{}</p>", map(escape, sentences)),
        n_drifted=len(small),
        n_columns=n_columns,
        explanation=_explanation(report),
        columns="".join(columns),
        left_out=left_out if n_columns > MAX_COLUMNS else "",
        compared="the columns that explain the drift" if named else "all columns",
        row_heads=_each('<th scope="col">{}</th>', map(_html, shown)),
        rows="".join(rows),
        kernels=_counted(len(test.kernels), "kernel"),
        features=f"{test.n_components} random features for each"
        if test.n_components
        else "exact",
        n_resamples=len(test.null_distribution),
        correction=CORRECTIONS[str(report.column_tests.correction)],
    )


def answer(report: Any) -> list[str]:
    """Return the answer of a report in one line, followed by some sentences."""
    pvalue, groups = _pvalue(report.pvalue), report.explanation
    if not report.drift:
        return [
            f"No drift detected ({pvalue})",
            "Neither all columns together nor any column differ significantly at level "
            f"{report.level:g}.",
        ]
    size = report.joint_test._effect_words().get("effect_size", "unknown")
    title = f"The tables differ ({pvalue}), effect size {size}"
    small = report._columns()
    both = zip(small["feature"], small["adjusted_pvalue"], strict=True)
    alone = [name for name, adjusted in both if adjusted <= report.level]
    sentences = ["No column differs significantly on its own."]
    if alone:
        sentences = [
            f"{len(alone)} of {_counted(len(report.kinds), 'column')} "
            f"{'differs on its' if len(alone) == 1 else 'differ on their'} own: "
            f"{_listed(map(_cut, alone))}."
        ]
    pairs = [" and ".join(map(_cut, group)) for group in groups if len(group) > 1]
    if pairs:
        changed = "; ".join(pairs)
        sentences.append(f"Columns depend on each other in another way: {changed}.")
    together = report.joint_test
    if together.change and together.pvalue <= report.level:
        sentences.append(f"All columns together show a change of {together.change}.")
    return [title, *sentences, _remaining(report)]


def _remaining(report: Any) -> str:
    """Return what the columns that are not named do."""
    if report.remaining_pvalue is None:
        return "These are all columns."
    pvalue = f"({_pvalue(report.remaining_pvalue)})"
    n_differ = np.sum(report.adjusted_pvalues <= report.level)
    if not report.explanation:
        if n_differ or len(report.kinds) == 1:
            return f"All columns together: {_pvalue(report.remaining_pvalue)}."
        return (
            f"All columns together differ {pvalue}. No pair of columns could be named: "
            "many small changes, or a change of how several columns depend on each "
            "other."
        )
    if report.remaining_pvalue <= report.level / 2:
        return f"The other columns still differ together {pvalue}."
    one = sum(map(len, report.explanation)) == 1
    without = "this column" if one else "these columns"
    return f"Without {without}, no significant difference remains {pvalue}."


def _explanation(report: Any) -> str:
    """Return the list of the columns that explain the drift."""
    if not report.explanation:
        return f"<p>{_remaining(report) if report.drift else 'None.'}</p>"
    pairs, groups = iter(report.pairs), ""
    for group in report.explanation:
        together = ""
        if len(group) > 1:
            points = next(pairs)
            figures = "".join(
                f"<figure><figcaption>{table.capitalize()}</figcaption>"
                f"{pair_picture(points, table)}</figure>"
                for table in ("reference", "new")
            )
            together = f', which differ together<div class="pair">{figures}</div>'
        groups += f"<li><b>{escape(_listed(map(_cut, group)))}</b>{together}</li>"
    return (
        f'<ol>{groups}</ol><p class="note">Each differs significantly itself. '
        f"{_remaining(report)}</p>"
    )


def _column(report: Any, frame: dict[str, Any], i: int) -> str:
    """Return row `i` of the table of columns."""
    row = {key: values[i] for key, values in frame.items()}
    place = report._order()[i]
    size = report.column_tests.results[place]._effect_words().get("effect_size", "none")
    tags = ["differs"] if row["adjusted_pvalue"] <= report.level else []
    tags += ["differs together with others"] if row["explanation"] and not tags else []
    bars = report.marginals[place]
    before, after = row["missing_reference"], row["missing_new"]
    return COLUMN.format(
        row=row,
        size=size,
        name=_html(row["feature"]),
        tags=_each('<span class="tag">{}</span>', tags),
        drawn=picture(bars, row["feature"]) if tags else "",
        missing=f"{before:.1%} → {after:.1%}" if before or after else "none",
    )


def _pvalue(pvalue: float) -> str:
    # Spaces that are no end of a line.
    return f"p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{pvalue:.2g}"


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _listed(names: Iterable[str], most: int = 6) -> str:
    """Return names as words of a sentence."""
    words = list(names)
    if len(words) > most:
        return f"{', '.join(words[:most])} and {len(words) - most} more"
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _cut(value: Any, letters: int = MAX_LETTERS) -> str:
    """Return a value in a few letters."""
    # An empty text would not be seen.
    text = " ".join(str(value).split()) or repr(str(value))
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def _html(value: Any) -> str:
    return escape(_cut(value))


def _each(pattern: str, values: Iterable[str]) -> str:
    return "".join(pattern.format(value) for value in values)
