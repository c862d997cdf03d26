"""Write the page "Measurements" of the documentation from the stored results.

Usage, from the root of the repository: ``python -m benchmarks.docs [--check]``. Writes
``doc/measurements.rst``. The commit beside a study is the last one that changed its
results. ``--check`` fails if the page differs from the stored results, commits apart.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "doc" / "measurements.rst"
HEAD = """.. This page is written by ``python -m benchmarks.docs``.

.. _measurements:

Measurements
============
Every measured figure on these pages comes from a script that you can run. Below each
study stand the script, the commit with its last results, and the file with all figures.

- Settings were chosen on other random seeds than the seeds that these figures use.
- A rate p of n draws has a standard error of :math:`\\sqrt{p (1 - p) / n}`, which is
  .007 for .05 of 1000 draws.
- Times are CPU times of one thread unless the file has a column of threads.

"""
SECTION = """{title}
{line}
{text}

{figures}

``{command}``, commit {commit}, :download:`{file} <../benchmarks/results/{file}>`

"""


@dataclass(frozen=True)
class Study:
    """One file of results: how it is made, and which of its columns are shown."""

    file: str
    title: str
    command: str
    text: str
    # Names of columns: a table shows every row, a spread the least, median and largest.
    table: tuple[str, ...] = ()
    spread: tuple[str, ...] = ()
    # The spread is shown for each value of these columns.
    by: tuple[str, ...] = ()

    def rows(self):
        """Read the results."""
        with (RESULTS / self.file).open(encoding="utf-8") as lines:
            return list(csv.DictReader(lines))

    def figures(self):
        """Return a table of the results."""
        rows = self.rows()
        if self.table:
            return as_table(
                self.table, [[row[name] for name in self.table] for row in rows]
            )
        head = (*self.by, "settings")
        head += tuple(
            f"{name}: {x}" for name in self.spread for x in ("least", "median", "most")
        )
        groups = {}
        for row in rows:
            groups.setdefault(tuple(row[name] for name in self.by), []).append(row)
        lines = []
        for group, members in groups.items():
            line = [*group, len(members)]
            for name in self.spread:
                numbers = [float(row[name]) for row in members if row[name]]
                three = (
                    (f(numbers) for f in (min, median, max)) if numbers else ("",) * 3
                )
                line += [f"{x:.3g}" if numbers else "" for x in three]
            lines.append(line)
        return as_table(head, lines)


def as_table(head, rows):
    """Write a csv-table."""
    lines = [",".join(f'"{cell}"' for cell in row) for row in (head, *rows)]
    options = ".. csv-table::\n   :header-rows: 1\n   :class: measurements\n\n   "
    return options + "\n   ".join(lines)


STUDIES = (
    Study(
        "level.csv",
        "Type I errors of tests",
        "python benchmarks/power.py --level",
        "True null hypotheses that tests of samples, of dependence and of fit reject.",
        spread=("rate at 0.05", "rate at 0.01"),
    ),
    Study(
        "levels.csv",
        "Type I errors for tables, labels and series",
        "python benchmarks/levels.py",
        "Rejections of true null hypotheses. For column tests, sums of false "
        "discovery proportions.",
        spread=("draws", "rejected at 0.05", "rejected at 0.01"),
    ),
    Study(
        "power.csv",
        "Power of two-sample tests",
        "python benchmarks/power.py --power",
        'Fraction of rejections by pooling; "max" is the default. Published '
        "figures and their tests stand beside them.",
        table=("alternative", "max", "fuse", "agg", "published", "test"),
    ),
    Study(
        "shapes.csv",
        "Power for twenty shapes of dependence",
        "python benchmarks/shapes.py",
        "Power of :func:`~skdiscrepancy.hsic_test` and of the tests of hyppo on "
        "the same draws.",
        spread=("hsic_test", "MGC", "HHG", "Dcorr", "Hsic"),
        by=("rows",),
    ),
    Study(
        "goodness_of_fit.csv",
        "Power of tests of fit",
        "python benchmarks/goodness_of_fit.py",
        "Rejections by :func:`~skdiscrepancy.ksd_test`, with radial kernels "
        "alone and with the default kernels.",
        table=(
            "setting",
            "draws",
            "radial kernels",
            "with the affine kernel",
            "published",
        ),
    ),
    Study(
        "sample_size.csv",
        "Rows for a power of 80 %",
        "python benchmarks/sample_size.py",
        "Only the first column has the effect. *told* is a t-test or a test of "
        "Pearson's correlation of that column.",
        table=("test", "effect", "columns", "rows_80", "told"),
    ),
    Study(
        "corrupted.csv",
        "Tests with corrupted rows",
        "python benchmarks/corrupted.py",
        "Fraction of rejections by study and number of rows that the test allows for.",
        spread=("rejected",),
        by=("study", "rows", "n_corrupted"),
    ),
    Study(
        "sequential.csv",
        "Tests that look after every row",
        "python benchmarks/sequential.py",
        "Streams that ever reject, and pairs until a rejection.",
    ),
    Study(
        "change_points.csv",
        "Change points",
        "python benchmarks/change_points.py",
        "Type I errors, places and times, with ruptures on the same data.",
    ),
    Study(
        "control.csv",
        "Groups against a control",
        "python benchmarks/control.py",
        "Family-wise type I errors and power.",
    ),
    Study(
        "thinning.csv",
        "Thinning",
        "python benchmarks/thinning.py",
        "MMD to the full sample of 100 selected rows, divided by that of random "
        "subsets.",
    ),
    Study(
        "conditional.csv",
        "Conditional tests",
        "python benchmarks/conditional.py",
        "Rejections by :func:`~skdiscrepancy.conditional_hsic_test` and by KCI "
        "of causal-learn.",
        spread=("rejected", "seconds"),
        by=("test", "alternative", "n"),
    ),
    Study(
        "series.csv",
        "Rows of a series",
        "python benchmarks/series.py",
        "Autoregressive rows, with blocks and as if they were independent.",
        table=(
            "test",
            "autocorrelation",
            "type I error",
            "power",
            "type I error, rows as independent",
        ),
    ),
    Study(
        "clusters.csv",
        "Rows in clusters",
        "python benchmarks/clusters.py",
        "Rows that belong to subjects or countries, with clusters and as if they "
        "were independent.",
        table=(
            "test",
            "draws",
            "type I error",
            "type I error, rows as independent",
            "power",
        ),
    ),
    Study(
        "many_variables.csv",
        "Tests of many variables",
        "python benchmarks/many_variables.py",
        "Rejections of joint independence and of equal samples.",
        table=("setting", "rows", "draws", "rejections", "seconds"),
    ),
    Study(
        "many_variables_speed.csv",
        "Time of tests of many variables",
        "python benchmarks/many_variables.py --speed",
        "Ratios are times of the pairs one by one, divided by the time of the matrix.",
        table=("what", "seconds", "ratio"),
    ),
    Study(
        "coverage.csv",
        "Confidence intervals",
        "python benchmarks/uncertainty.py coverage",
        "Coverage of 95 % intervals, and type I error of ``pvalue_above`` at the "
        "true discrepancy.",
        spread=("coverage", "level"),
        by=("discrepancy", "normalize", "n"),
    ),
    Study(
        "compare.csv",
        "Comparisons",
        "python benchmarks/uncertainty.py compare",
        "Rejections of equal candidates (null, equal, opposite) and of unequal "
        "candidates (power).",
        spread=("at 0.05", "at 0.01"),
        by=("discrepancy", "case"),
    ),
    Study(
        "effect_sizes.csv",
        "Effect sizes",
        "python benchmarks/effect_sizes.py",
        "Effect sizes of known shifts and correlations.",
        table=("discrepancy", "size", "one column", "ten columns"),
    ),
    Study(
        "recovery_known.csv",
        "Relevant columns",
        "python benchmarks/recovery_tables.py --known",
        "Fraction of relevant columns that selectors recover, with standard errors.",
        table=("data", "recovered, None", "all, None", "CV recovered", "CV noise"),
    ),
    Study(
        "recovery_tables.csv",
        "Relevant columns of mixed tables",
        "python benchmarks/recovery_tables.py",
        "Fraction of the five relevant columns that a selector recovers if it is "
        "told their number.",
        table=("n", "method", "complete numbers", "categories and missing values"),
    ),
    Study(
        "large_tables.csv",
        "Large tables",
        "python benchmarks/large_tables.py",
        "Seconds with two threads, and memory on top of the data.",
        table=("case", "rows", "seconds", "gigabytes"),
    ),
    Study(
        "times.csv",
        "Time of default options",
        "python benchmarks/times.py",
        "CPU times on one thread, ten columns. Tests are exact up to 10 000 rows in "
        "total.",
        table=("function", "rows", "features", "engine", "seconds"),
    ),
    Study(
        "design_power.csv",
        "Designs and random features",
        "python benchmarks/design_power.py",
        "Power and CPU time of the MMD of two samples of 4000 rows that differ by 0.1 "
        "in the mean of one of five columns.",
        table=("choice", "rows", "power", "standard error", "seconds"),
    ),
    Study(
        "weights.csv",
        "Weights",
        "python benchmarks/weights.py",
        "Time of a score with weights, divided by its time without weights.",
        table=("case", "rows", "ratio"),
    ),
    Study(
        "comparisons.csv",
        "Scores beside other packages",
        "python benchmarks/run.py",
        "Time or memory of the alternative divided by ours. "
        ":doc:`appendix/benchmarks` has tables by package.",
        spread=("ratio",),
        by=("engine", "threads"),
    ),
    Study(
        "testing/targets.csv",
        "Tests beside code by hand",
        'python benchmarks/run.py --only "test-*"',
        "CPU time of the alternative divided by ours.",
        table=("case", "rows", "engine", "quantity", "by CPU time"),
    ),
    Study(
        "one_column/targets.csv",
        "Single columns",
        'python benchmarks/run.py --only "*column*"',
        "Time of the alternative divided by ours.",
        spread=("ratio",),
        by=("quantity", "engine"),
    ),
)


def commit_of(file):
    """Return the last commit that changed a file of results."""
    path = str(RESULTS / file)
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%h", "--", path]
    return subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.strip()


def page(commits):
    """Return the text of the page, with the commit of each file of results."""
    return (
        HEAD
        + "".join(
            SECTION.format(
                title=study.title,
                line="-" * len(study.title),
                text=study.text,
                figures=study.figures(),
                command=study.command,
                commit=commits[study.file],
                file=study.file,
            )
            for study in STUDIES
        ).rstrip()
        + "\n"
    )


def main():
    """Write the page, or compare it with the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        PAGE.write_text(
            page({s.file: commit_of(s.file) for s in STUDIES}), encoding="utf-8"
        )
        return
    written = PAGE.read_text(encoding="utf-8")
    commits = re.findall(r"commit (\w+), :download:`(\S+) ", written)
    if written != page({file: commit for commit, file in commits}):
        sys.exit(f"{PAGE} differs from the results: run python -m benchmarks.docs")


if __name__ == "__main__":
    main()
