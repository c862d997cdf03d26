"""Drift reports: how a new table differs from a reference, and in which columns."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, dia_array, issparse
from scipy.stats import chi2, rankdata
from sklearn.base import clone

from skdiscrepancy._data.arrays import as_block, check_rows, kind_of_blocks
from skdiscrepancy._data.blocks import lazy_rows, open_rows, rows_at
from skdiscrepancy._data.checks import (
    RUN,
    draw_seeds,
    generator_of,
    takes_parameters_of,
)
from skdiscrepancy._data.frames import (
    Column,
    as_table,
    in_order,
    is_table,
    read_columns,
)
from skdiscrepancy._data.results import Result
from skdiscrepancy._estimators.base import Settings, check_correction, check_parameters
from skdiscrepancy._estimators.mmd import MMDEstimator
from skdiscrepancy._estimators.readers import Reader, refuse_other_columns
from skdiscrepancy._gram.run import in_one_blas_thread, progress
from skdiscrepancy._nulls.pvalues import Options, TestResult
from skdiscrepancy._statistics.evaluations import holm
from skdiscrepancy.designs import CompleteU
from skdiscrepancy.inference._multiple_tests import (
    ColumnTestsResult,
    checked_tests,
    of_tests,
    two_sample_columns,
)
from skdiscrepancy.inference._tests import mmd_test, with_clusters
from skdiscrepancy.kernels._radial import LaplaceKernel
from skdiscrepancy.tables import (
    TableEncoder,
    encode,
    fit_encoder,
    refuse_encoder_of_blocks,
)

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
    return f"{value:.4g}"


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


def report_page(report: DriftReportResult) -> str:
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


def answer(report: DriftReportResult) -> list[str]:
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
    alone = [group[0] for group in groups if len(group) == 1]
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
    return [title, *sentences, _remaining(report)]


def _remaining(report: DriftReportResult) -> str:
    """Return what the columns that are not named do."""
    if report.remaining_pvalue is None:
        return "These are all columns."
    pvalue = f"({_pvalue(report.remaining_pvalue)})"
    if not report.explanation:
        return (
            f"All columns together differ {pvalue}. No pair of columns could be named: "
            "many small changes, or a change of how several columns depend on each "
            "other."
        )
    if report.remaining_pvalue <= report.level / 2:
        return (
            f"The other columns still differ together {pvalue}, but none of them, and "
            "no pair of them, could be named."
        )
    one = sum(map(len, report.explanation)) == 1
    without = "this column" if one else "these columns"
    return f"Without {without}, no significant difference remains {pvalue}."


def _explanation(report: DriftReportResult) -> str:
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


def _column(report: DriftReportResult, frame: dict[str, Any], i: int) -> str:
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


@dataclass(frozen=True, eq=False, repr=False)
class DriftReportResult(Result):
    """Report of how a new table differs from a reference table.

    The joint test compares all columns together, so it also detects drift that no
    single column shows. `drift` is the verdict of this test and of the tests of single
    columns, and `pvalue` its p-value: the smallest one, adjusted for all of these
    tests [1]_. The report names the columns that explain the drift, and the rows that
    contribute most. The repr, the table in a notebook, :meth:`to_frame`
    and :meth:`plot` show the column with the smallest p-value first. The attributes
    have the order of the columns of your data. Two reports are equal if all their
    attributes are equal.

    The frame has one row for each column of your data, with `kind`, `effect_size`,
    `pvalue`, `adjusted_pvalue`, `missing_reference`, `missing_new` and `explanation`,
    the number of the group of `explanation` that names the column, or 0. Equal p-values
    are sorted by the largest effect. The figure is a
    :class:`~skdiscrepancy.plotting.DriftReportDisplay` of the effect sizes.

    Read more in the :ref:`User Guide <tables>`.

    Attributes
    ----------
    joint_test : TestResult
        Test of all columns together.
    column_tests : ColumnTestsResult
        Test of each column, with p-values corrected for the number of columns.
    kinds : list of str
        What each column holds: "number", "date", "duration", "ordered" or "category".
    missing_reference : ndarray of shape (n_features,)
        Fraction of missing values of each column in the reference table.
    missing_new : ndarray of shape (n_features,)
        Fraction of missing values of each column in the new table.
    explanation : list of list
        Names of the columns that explain the drift: each column that differs on its
        own, the smallest p-value first, then pairs that differ only together.
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
    n_compared : tuple of int
        Number of random rows of each table that the contributions compare. If a table
        is read by blocks, the marginals and pairs come from these rows, too.

    See Also
    --------
    drift_report : Computes the report.
    skdiscrepancy.plotting.DriftReportDisplay : Draws the effect sizes.

    References
    ----------
    .. [1] S. Holm, "A simple sequentially rejective multiple test procedure",
       Scandinavian Journal of Statistics 6, 1979.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.monitoring import drift_report
    >>> rng = np.random.RandomState(0)
    >>> X, Y = rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + [0, 2, 0]
    >>> report = drift_report(X, Y, random_state=0)
    >>> report.drift, report.pvalue
    (True, 0.002)
    >>> report.explanation
    [['x1']]
    """

    joint_test: TestResult
    column_tests: ColumnTestsResult
    kinds: list[str]
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
    n_compared: tuple[int, int] = (0, 0)

    _display = "DriftReportDisplay"
    _item = "column"
    _index = "feature"
    _shown_first = "smallest p-values"
    _repr_rows = 10

    @property
    def adjusted_pvalues(self) -> np.ndarray:
        """p-value of each column, adjusted for all columns and the joint test."""
        return np.minimum(2 * self.column_tests.adjusted_pvalues, 1.0)

    @property
    def pvalue(self) -> float:
        """p-value of the verdict: the smallest adjusted one of all tests."""
        return float(min(2 * self.joint_test.pvalue, self.adjusted_pvalues.min()))

    @property
    def drift(self) -> bool:
        """Whether the tables differ, in a column or in all columns together."""
        return self.pvalue <= self.level

    def _summary(self) -> dict[str, Any]:
        groups = (" + ".join(map(str, group)) for group in self.explanation)
        return {
            "drift": self.drift,
            "pvalue": self.pvalue,
            **self.joint_test._effect_words(),
            "explanation": ", ".join(groups) or "none",
        }

    @property
    def effect_sizes(self) -> np.ndarray:
        """Effect size of each column, those of `column_tests`; see :ref:`effect_size`.

        NaN for a column without an effect size, such as a constant column.
        """
        return self.column_tests.effect_sizes

    def _order(self) -> np.ndarray:
        """Return the columns of the data in the order of the table."""
        return np.lexsort((-self.effect_sizes, self.column_tests.pvalues))

    def _columns(self) -> dict[str, Any]:
        order, tests = self._order(), self.column_tests
        groups = {n: i for i, group in enumerate(self.explanation, 1) for n in group}
        names = [tests.feature_names[j] for j in order]
        return {
            "feature": names,
            "kind": [self.kinds[j] for j in order],
            "effect_size": self.effect_sizes[order],
            "pvalue": tests.pvalues[order],
            "adjusted_pvalue": self.adjusted_pvalues[order],
            "missing_reference": self.missing_reference[order],
            "missing_new": self.missing_new[order],
            "explanation": np.array([groups.get(name, 0) for name in names]),
        }

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


# Functions of each encoded column that show how columns depend on each other, and how
# many functions a table has at most.
N_FUNCTIONS, MOST_FUNCTIONS = 4, 2000
# Pairs of columns that are tested, at most, and the smallest p-value of a column of a
# pair. Columns with smaller ones may differ on their own, so a pair would say too much.
MOST_PAIRS, LEAST_PVALUE = 10, 0.01


def changed_pairs(blocks: list[np.ndarray], m: int) -> list[tuple[int, int]]:
    """Return pairs of columns that seem to depend on each other in another way.

    Cosines of the ranks describe each column. The covariances of these functions in the
    first m rows and in the others are compared, in standard errors, and the largest
    difference counts for a pair. The strongest pair comes first. Others follow if their
    differences are too large for chance.

    Parameters
    ----------
    blocks : list of ndarray of shape (n_samples, n_block_columns)
        Encoded columns, with the rows of both samples stacked.
    m : int
        Number of rows of the first sample.

    Returns
    -------
    pairs : list of tuple of int
        Positions of both blocks of each pair.
    """
    Z = np.hstack(blocks)
    number = int(np.clip(MOST_FUNCTIONS // Z.shape[1], 1, N_FUNCTIONS))
    angles = np.pi * (rankdata(Z, axis=0) - 0.5) / len(Z)
    F = np.cos(angles[:, :, np.newaxis] * np.arange(1, number + 1)).reshape(len(Z), -1)
    difference, variance = np.zeros((2, F.shape[1], F.shape[1]))
    for sign, part in ((1, F[:m]), (-1, F[m:])):
        part = part - part.mean(axis=0)
        covariance, squares = part.T @ part / len(part), np.square(part)
        difference += sign * covariance
        variance += (squares.T @ squares / len(part) - covariance**2) / len(part)
    ratios = np.zeros_like(variance)
    # Constant columns leave rounding errors.
    varies = variance > 1e-12 / len(Z)
    np.divide(difference**2, variance, out=ratios, where=varies)
    starts = number * np.cumsum([0, *(block.shape[1] for block in blocks[:-1])])
    ratios = np.maximum.reduceat(ratios, starts, axis=0)
    ratios = np.maximum.reduceat(ratios, starts, axis=1)
    first, second = np.triu_indices(len(blocks), 1)
    found = ratios[first, second]
    order = np.argsort(-found, kind="stable")[:MOST_PAIRS]
    clear = found[order] > chi2.isf(0.05 / max(varies.sum() / 2, 1), 1)
    clear[:1] = True
    return list(zip(first[order][clear], second[order][clear], strict=True))


# Rows of each table that contributions compare, at most, in quadratic time.
COMPARED_ROWS = 5000
# Larger tables in memory are encoded by blocks, if the joint test uses features.
MOST_VALUES = 2**23


@takes_parameters_of(
    checked_tests,
    mmd_test,
    names="level correction n_resamples kernel block_length clusters max_columns "
    f"max_rows encoder n_components {RUN}",
)
@in_one_blas_thread
def drift_report(
    reference: ArrayLike,
    new: ArrayLike,
    *,
    level: float = 0.05,
    correction: str = "holm",
    kernel: Any = None,
    max_columns: int = 10,
    max_rows: int = 10,
    encoder: Any = "auto",
    **params: Any,
) -> DriftReportResult:
    """Report how a new table differs from a reference table.

    Use it to detect data drift (covariate shift) and to see where it comes from. The
    tables may have numbers, strings, categories, booleans, dates and missing values.
    The report has a joint test of all columns and a test of each column. It names the
    columns that explain the drift, also if no single column has drifted, and the rows
    of the new table that contribute most.

    The verdict, `drift`, combines the joint test and the tests of columns. Each of the
    two has half of the `level`, so that without drift, the probability that the report
    sees drift is at most `level`. With the default correction [1]_, this is also the
    probability that any column is named that has not drifted.

    The report names each column that differs on its own. If the other columns still
    differ together, it looks for pairs that depend on each other in another way: one
    half of the rows suggests pairs, and the other half tests them, so that each pair
    that is named differs significantly itself. Changes that only three or more columns
    show together have no names.

    By default, tables of more than 10 000 rows in total are compared by random
    features, in linear time; see `n_components`. Contributions compare at most 5000
    random rows of each table. Tables with more than 8 million values in total are
    encoded by blocks, and tables may be read by blocks: dask DataFrames and arrays,
    lists of blocks, and functions that return an iterator of blocks. Of such tables,
    and of sparse matrices, pictures and the search for pairs use the 5000 rows.

    Read more in the :ref:`User Guide <tables>`.

    Parameters
    ----------
    reference : DataFrame or {array-like, sparse matrix} of shape \
            (n_samples_reference, n_features)
        Reference table, for example the training data.
    new : DataFrame or {array-like, sparse matrix} of shape (n_samples_new, n_features)
        New table, with the same columns. Columns of DataFrames are matched by name.
    level : float, default=0.05
        Significance level of the verdict, and of the columns that are named.
    correction : {"holm", "bh", "by"}, default="holm"
        Correction of the p-values of single columns. "holm" controls the probability
        that any column is named wrongly. "bh" and "by" control the fraction of the
        named columns that are wrong, and name more of many columns; see
        :func:`skdiscrepancy.mmd_column_tests`.
    n_resamples : int or None, default=None
        Number of resamples of each test. None is 999 for joint tests and, for single
        columns, 100 times the number of columns, at least 999.
    kernel : str, kernel object, callable, list or None, default=None
        Kernels, as in :func:`skdiscrepancy.mmd_test`. None uses Gaussian and Laplace
        kernels for all columns together, and Laplace kernels for single columns.
    max_columns : int, default=10
        Largest number of columns in the explanation. 0 does without it.
    max_rows : int, default=10
        Number of rows to report, those with the largest contributions.
    encoder : "auto", None or transformer, default="auto"
        How the joint test reads the tables. "auto" is a
        :class:`~skdiscrepancy.TableEncoder` that is fitted to both tables. It
        gives every column the same weight, whatever its unit. None uses numbers as they
        are. The explanation, the effect sizes and the contributions always use a
        TableEncoder: yours, if you pass one.
    n_jobs : int or None, default=None
        Number of threads. The report does not depend on it.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the resamples and the halves of the rows. None draws new ones in every
        call. The global generator of numpy is never used.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.
    **params : dict
        Parameters of :func:`skdiscrepancy.mmd_test`.

    Returns
    -------
    report : DriftReportResult
        The report. ``report.to_html("report.html")`` writes it as a page for a browser.

    See Also
    --------
    skdiscrepancy.mmd_test : Tests all columns together.
    skdiscrepancy.mmd_column_tests : Tests each column.

    References
    ----------
    .. [1] S. Holm, "A simple sequentially rejective multiple test procedure",
       Scandinavian Journal of Statistics 6, 1979.

    Examples
    --------
    In the new table, the third column is shifted:

    >>> import numpy as np
    >>> from skdiscrepancy.monitoring import drift_report
    >>> rng = np.random.RandomState(0)
    >>> reference, new = rng.normal(size=(2, 200, 4))
    >>> report = drift_report(reference, new + [0, 0, 1, 0], random_state=0)
    >>> report.drift, report.pvalue, report.explanation
    (True, 0.002, [['x2']])

    Here, two columns are equal in the reference, but independent in the new table. No
    single column shows this drift:

    >>> reference[:, 1] = reference[:, 3]
    >>> report = drift_report(reference, new, random_state=0)
    >>> report.drift, report.pvalue
    (True, 0.002)
    >>> bool(report.adjusted_pvalues.min() > 0.05)
    True
    >>> report.explanation
    [['x1', 'x3']]
    """
    own = {"level": level, "max_columns": max_columns, "max_rows": max_rows}
    values = check_parameters({**own, "encoder": encoder})
    check_correction(correction, tuple(CORRECTIONS))
    params["correction"] = correction
    kernels: list[Any] = [LaplaceKernel()]
    if kernel is not None:
        kernels, params["kernel"] = [], kernel
    mmd, settings = checked_tests(MMDEstimator, bandwidth="dyadic", **params)
    names = ["reference", "new"]
    given, settings = with_clusters(settings, reference, new, names=names)
    with progress("drift report", 4, mmd.verbose) as line:
        tables = _Tables(*given, encoder, mmd, settings.options.clusters is None)
        of_columns = replace(settings, kernels=kernels or settings.kernels)
        x, y = tables.given
        column_tests = two_sample_columns(x, y, mmd, of_columns)
        # The tests of columns have looked at the order of the rows.
        settings = of_tests(settings, 1)

        plain = copy(mmd).set_params(encoder=None)

        def pvalue_of(columns: list[int], rows: Any) -> float:
            x, y = tables.of(columns, rows, None if rows else tables.encoded)
            own, clusters = settings, settings.options.clusters
            if rows and clusters:
                some = [codes[i] for codes, i in zip(clusters, rows, strict=True)]
                own = replace(own, options=own.options._replace(clusters=some))
            return copy(plain)._test_pair(x, y, own).pvalue

        line.advance()
        x, y = map(as_table, tables.joint)
        joint_test = copy(plain)._test_pair(x, y, settings)
        line.advance()
        adjusted = 2 * column_tests.adjusted_pvalues
        differ = np.lexsort((-column_tests.statistics, column_tests.pvalues))
        groups, remaining = tables.explain(
            joint_test.pvalue,
            column_tests.pvalues,
            [j for j in differ.tolist() if adjusted[j] <= values["level"]],
            pvalue_of,
            values["level"] / 2,
            values["max_columns"],
            settings.options,
        )
        line.advance()
        found = [j for group in groups for j in group]
        x, y = tables.of(found or list(range(len(tables.columns))))
        kept, others = tables.draw_rows(COMPARED_ROWS)
        how = {name: getattr(mmd, name) for name in RUN.split()}
        complete = Settings(CompleteU(), settings.kernels)
        fitted = MMDEstimator(**how)._fit(x[kept], complete)
        contributions, rows = fitted._contributions(y[others]), others
        line.advance()
    names, sample = column_tests.feature_names, tables.samples[1]
    named = [(name, *pair) for name, pair in zip(names, tables.columns, strict=True)]
    largest = np.argsort(-contributions, kind="stable")[: values["max_rows"]]
    rows = rows[largest]
    # Of the rows that are not in the sample, neither values nor labels are known.
    index = getattr(sample, "index", None) if is_table(sample) else None
    missing: Any = np.array([column_tests.missing_X, column_tests.missing_Y])
    return DriftReportResult(
        joint_test=joint_test,
        column_tests=column_tests,
        kinds=list(tables.encoder.kinds_),
        missing_reference=missing[0],
        missing_new=missing[1],
        explanation=[[names[j] for j in group] for group in groups],
        remaining_pvalue=remaining,
        rows=tables.positions[1][rows],
        row_labels=(tables.positions[1] if index is None else index)[rows].tolist(),
        row_values=[
            {name: write_value(column, row) for name, _, column in named}
            for row in rows
        ],
        contributions=contributions[largest],
        marginals=[
            marginal(*pair) | {"missing": share}
            for pair, share in zip(tables.columns, missing.T.tolist(), strict=True)
        ],
        pairs=[
            pair_points([named[j] for j in group[:2]], generator_of(mmd.random_state))
            for group in groups
            if len(group) > 1
        ],
        n_reference=tables.encoded[0].shape[0],
        n_new=tables.encoded[1].shape[0],
        level=float(values["level"]),
        n_compared=(len(kept), len(others)),
    )


class _Tables:
    """Both tables, encoded as numbers.

    Attributes
    ----------
    given : list
        Both tables, with columns in the same order.
    samples : list
        Both tables, or random rows of tables that are read by blocks.
    positions : list of ndarray of shape (n_rows,)
        Positions of the rows of the samples in the tables.
    columns : list of tuple of Column
        The columns of the samples.
    compared : list of ndarray of shape (n_rows, n_columns)
        The samples, encoded.
    encoded, joint : list of {ndarray, csr_array, LazyRows}
        Both tables, encoded, and as the joint test reads them.
    """

    def __init__(
        self, reference: Any, new: Any, encoder: Any, mmd: MMDEstimator, lazy: bool
    ):
        self.mmd, self.names = mmd, ["reference", "new"]
        own = encoder if isinstance(encoder, TableEncoder) else TableEncoder()
        self.encoder = clone(own)
        self.given = tables = [reference, in_order(new, reference, *self.names[::-1])]
        as_given = not (encoder is own or isinstance(encoder, str))
        self.encoded: list[Any]
        self.joint: Any = None
        if any(map(kind_of_blocks, tables)):
            # What the first pass finds is kept for the tests of columns.
            self.given = self._in_blocks(tables, encoder if as_given else own)
        elif any(map(issparse, tables)):
            self._sparse(tables)
            self.joint = tables if issparse(reference) and as_given else None
        elif lazy and mmd.n_components and _n_values(tables) > MOST_VALUES:
            self._in_blocks(tables, encoder if as_given else own)
        else:
            n_columns = [_check(*pair) for pair in zip(tables, self.names, strict=True)]
            if n_columns[0] != n_columns[1]:
                raise ValueError(
                    f"new has {n_columns[1]} columns, must have {n_columns[0]} as "
                    "reference."
                )
            self._encode(tables, [np.arange(len(table)) for table in tables])
            self.encoded = self.compared
            if as_given:
                fitted = fit_encoder(encoder, tables)
                self.joint = [encode(fitted, table) for table in tables]
        self.joint = self.joint or self.encoded

    def _encode(self, samples: list[Any], positions: list[np.ndarray]) -> None:
        """Encode and read rows in memory, by an encoder that may have been fitted."""
        self.samples, self.positions = samples, positions
        if not hasattr(self.encoder, "kinds_"):
            self.encoder._fit_tables(samples, self.names)
        # `set_output` can make DataFrames of the encoding.
        self.compared = [np.asarray(self.encoder.transform(t)) for t in samples]
        forms = [block.form for block in self.encoder._blocks]
        pairs = zip(samples, self.names, strict=True)
        self.columns = list(zip(*(read_columns(*p, forms) for p in pairs), strict=True))

    def _draw(self, rows: list[Any], take: Callable[..., Any]) -> None:
        """Encode and read random rows of both tables."""
        draw = np.random.default_rng(draw_seeds(generator_of(self.mmd.random_state), 1))
        most = min(COMPARED_ROWS, MOST_VALUES // rows[0].shape[1])
        positions = [
            np.sort(draw.choice(Z.shape[0], min(Z.shape[0], most), replace=False))
            for Z in rows
        ]
        self._encode(list(map(take, rows, positions)), positions)

    def _in_blocks(self, tables: list[Any], encoder: Any) -> list[Any]:
        """Read both tables by blocks, and some rows as they are."""
        refuse_encoder_of_blocks(encoder)
        reader = Reader(None, 2, "auto", self.mmd)
        pairs = zip(tables, self.names, strict=True)
        rows = [open_rows(reader.blocks(*pair), pair[1]) for pair in pairs]
        refuse_other_columns(*rows, *self.names)
        self.encoder._fit_tables(rows, self.names)
        self._draw(rows, rows_at)
        self.encoded = [lazy_rows(encode(self.encoder, Z), Z.name, 2) for Z in rows]
        if encoder is None:
            self.joint = [lazy_rows(copy(Z), Z.name, 2) for Z in rows]
        return rows

    def _sparse(self, tables: list[Any]) -> None:
        """Scale sparse matrices by the encoder of some of their rows."""
        pairs = zip(tables, self.names, strict=True)
        rows = [as_block(check_rows(*p, accept_sparse="csr")) for p in pairs]
        self._draw(rows, lambda Z, some: Z[some].toarray())
        blocks: Any = self.encoder._blocks
        units = [np.ldexp(block.scale, block.exponent) for block in blocks]
        # A shift by the median would change no distance.
        scale = dia_array(([1 / np.array(units)], [0]), shape=(len(units),) * 2)
        self.encoded = [csr_array(Z @ scale) for Z in rows]

    def of(self, columns: list[int], rows: Any = None, tables: Any = None) -> list[Any]:
        """Return encoded columns of some rows of both samples, or of both tables."""
        tables = self.compared if tables is None else tables
        if issparse(tables[0]):
            return [Z[:, columns] for Z in tables]
        places = np.r_[tuple(self.encoder.output_slices_[j] for j in columns)]
        parts = [Z.take(places, axis=1) for Z in tables]
        ends = [
            (Z.min(axis=0), Z.max(axis=0))
            if isinstance(Z, np.ndarray)
            else (Z.least, Z.most)
            for Z in parts
        ]
        # Constant columns, such as the indicators of values that are never missing,
        # change no distance, and one column is faster than two.
        varies = np.ptp(np.concatenate(ends), axis=0) > 0
        varies[0] |= not varies.any()
        parts = [Z.take(np.flatnonzero(varies), axis=1) for Z in parts]
        if rows is None:
            return parts
        return [Z[some] for Z, some in zip(parts, rows, strict=True)]

    def draw_rows(self, n_rows: int) -> list[np.ndarray]:
        """Draw at most `n_rows` rows of each table, in their order."""
        generator = generator_of(self.mmd.random_state)
        sizes = map(len, self.compared)
        return [np.sort(generator.permutation(size)[:n_rows]) for size in sizes]

    def explain(
        self,
        pvalue: float,
        pvalues: np.ndarray,
        named: list[int],
        test: Callable[..., float],
        level: float,
        most: int,
        options: Options,
    ) -> tuple[list[list[int]], float | None]:
        """Name columns and pairs of columns that differ significantly themselves.

        If the columns that do not differ on their own differ together, one half of the
        rows of both tables suggests pairs of them, and the other half tests these.

        Parameters
        ----------
        pvalue : float
            The p-value of the test of all columns.
        pvalues : ndarray of shape (n_columns,)
            The p-values of the tests of single columns.
        named : list of int
            Columns that differ on their own.
        test : callable
            Takes the positions of some columns, and rows of both tables or None for all
            rows, and returns the p-value of their test.
        level : float
            Significance level of these tests.
        most : int
            Largest number of columns to name.
        options : Options
            Options of the tests, which say whether rows belong together.

        Returns
        -------
        groups : list of list of int
            Columns that differ, and pairs that differ together.
        remaining : float or None
            The p-value of the test of the other columns. None if there are no others.
        """
        if not most:
            return [], pvalue

        def of_others(known: list[int]) -> tuple[list[int], float | None]:
            others = [j for j in range(len(self.columns)) if j not in known]
            if len(known) * len(others) == 0:
                return others, None if known else pvalue
            return others, test(others, None)

        groups = [[j] for j in named[:most]]
        others, remaining = of_others(named[:most])
        room = (most - len(groups)) // 2
        if room and len(others) > 1 and remaining is not None and remaining <= level:
            search, check = self.halves(options)
            alike = [j for j in others if pvalues[j] > LEAST_PVALUE]
            blocks = [np.concatenate(self.of([j], search)) for j in alike]
            found = changed_pairs(blocks, len(search[0])) if len(alike) > 1 else []
            pairs = [[alike[i], alike[j]] for i, j in found]
            adjusted = holm(np.array([test(pair, check) for pair in pairs]))
            groups += [pairs[i] for i in np.flatnonzero(adjusted <= level)[:room]]
        if len(groups) > len(named):
            _, remaining = of_others([j for group in groups for j in group])
        return groups, remaining

    def halves(self, options: Options) -> Iterator[list[np.ndarray]]:
        """Yield both halves of the rows: of random rows or clusters, or of a series."""
        ranks = [np.arange(len(Z)) / len(Z) for Z in self.compared]
        if not options.wants_blocks:
            units = options.clusters or [np.arange(len(Z)) for Z in self.compared]
            number = 1 + max(own.max() for own in units)
            order = generator_of(self.mmd.random_state).permutation(number) / number
            ranks = [order[own] for own in units]
        for first in (True, False):
            yield [np.flatnonzero((rank < 0.5) == first) for rank in ranks]


def _n_values(tables: list[Any]) -> float:
    return sum(float(np.prod(getattr(table, "shape", 0))) for table in tables)


def _check(table: Any, name: str) -> int:
    """Refuse a table of too few rows, and return how many columns it has."""
    columns = read_columns(table, name)
    n_rows = len(columns[0].values) if columns else 0
    if n_rows < 2:
        raise ValueError(
            f"{name} has {n_rows} rows and {len(columns)} columns, must have at least "
            "two rows and one column."
        )
    for column in () if is_table(table) else columns:
        known = not np.any(column.missing)
        if column.kind not in ("number", "category") or not known:
            what = f"{column.kind}s" if known else "missing values"
            raise ValueError(
                f"{name} has {what} in column {column.name}, must be a DataFrame of "
                "pandas or polars to have them."
            )
    return len(columns)
