"""The page of a drift report: one file, without scripts and without a network."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from html import escape
from typing import Any

from skdiscrepancy.monitoring._pictures import pair_picture, picture

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
