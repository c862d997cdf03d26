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
Every measured figure on these pages comes from a script that you can run. Each line
names the script, the commit with its last results, and the file with all figures. For
some columns, it has the range and the median over all lines.

- Settings were chosen on other random seeds than these figures use, with :ref:`an
  exception <validation_power>`.
- A rate p of n draws has a standard error of :math:`\\sqrt{p (1 - p) / n}`, which is
  .007 for .05 of 1000 draws.
- Times are CPU times of one thread unless the file has a column of threads.

.. list-table::
   :header-rows: 1
   :widths: 40 24 24 12
   :class: measurements

   * - Measured
     - Figures
     - Script, commit
     - File
"""
ROW = """   * - {title}. {text}
     - {figures}
     - ``{command}``, {commit}
     - :download:`{name} <../benchmarks/results/{file}>`
"""


@dataclass(frozen=True)
class Study:
    """One file of results, how it is made, and columns whose ranges are shown."""

    file: str
    title: str
    command: str
    text: str
    columns: tuple[str, ...] = ()

    def figures(self):
        """Return the number of lines, and the range and the median of each column."""
        with (RESULTS / self.file).open(encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))
        found = [f"{len(rows)} lines"]
        for column in self.columns:
            numbers = [float(row[column]) for row in rows if row[column]]
            least, middle, most = (f"{f(numbers):.3g}" for f in (min, median, max))
            found.append(f"{column} {least} to {most}, median {middle}")
        return "; ".join(found)


STUDIES = (
    Study(
        "level.csv",
        "Type I errors of tests",
        "python benchmarks/power.py --level",
        "True null hypotheses that tests of samples, of dependence and of fit reject.",
        ("rate at 0.05",),
    ),
    Study(
        "levels.csv",
        "Type I errors for tables, labels and series",
        "python benchmarks/levels.py",
        "Rejections of true null hypotheses. For column tests, sums of false "
        "discovery proportions.",
    ),
    Study(
        "power.csv",
        "Power of two-sample tests",
        "python benchmarks/power.py --power",
        'Fraction of rejections by pooling; "max" is the default. Published figures '
        "and their tests stand beside them.",
        ("max",),
    ),
    Study(
        "shapes.csv",
        "Power for twenty shapes of dependence",
        "python benchmarks/shapes.py",
        "Power of :func:`~skdiscrepancy.hsic_test` and of the tests of hyppo on the "
        "same draws.",
        ("hsic_test",),
    ),
    Study(
        "goodness_of_fit.csv",
        "Power of tests of fit",
        "python benchmarks/goodness_of_fit.py",
        "Rejections by :func:`~skdiscrepancy.ksd_test`, with radial kernels alone "
        "and with the default kernels.",
        ("with the affine kernel",),
    ),
    Study(
        "sample_size.csv",
        "Rows for a power of 80 %",
        "python benchmarks/sample_size.py",
        "Only the first column has the effect. *told* is a t-test or a test of "
        "Pearson's correlation of that column.",
    ),
    Study(
        "corrupted.csv",
        "Tests with corrupted rows",
        "python benchmarks/corrupted.py",
        "Fraction of rejections by study and number of rows that the test allows for.",
    ),
    Study(
        "sequential.csv",
        "Tests that look after every row",
        "python benchmarks/sequential.py",
        "Streams that ever reject, and pairs until a rejection.",
        ("median",),
    ),
    Study(
        "change_points.csv",
        "Change points",
        "python benchmarks/change_points.py PART DRAWS",
        "Type I errors, places and times, with ruptures on the same data.",
    ),
    Study(
        "control.csv",
        "Groups against a control",
        "python benchmarks/control.py",
        "Family-wise type I errors and power.",
        ("any false discovery, dunnett",),
    ),
    Study(
        "thinning.csv",
        "Thinning",
        "python benchmarks/thinning.py --draws 3",
        "MMD to the full sample of 100 selected rows, divided by the MMD of random "
        "subsets.",
        ("ratio",),
    ),
    Study(
        "conditional.csv",
        "Conditional tests",
        "python benchmarks/conditional.py --null --power --weak --warning --peer",
        "Rejections by :func:`~skdiscrepancy.conditional_hsic_test` and by KCI of "
        "causal-learn.",
        ("seconds",),
    ),
    Study(
        "series.csv",
        "Rows of a series",
        "python benchmarks/series.py",
        "Autoregressive rows, with blocks and as if they were independent.",
        ("type I error",),
    ),
    Study(
        "clusters.csv",
        "Rows in clusters",
        "python benchmarks/clusters.py",
        "Rows that belong to subjects or countries, with clusters and as if they "
        "were independent.",
        ("type I error",),
    ),
    Study(
        "many_variables.csv",
        "Tests of many variables",
        "python benchmarks/many_variables.py",
        "Rejections of joint independence and of equal samples.",
    ),
    Study(
        "many_variables_speed.csv",
        "Time of tests of many variables",
        "python benchmarks/many_variables.py --speed",
        "Ratios are times of the pairs one by one, divided by the time of the matrix.",
        ("seconds",),
    ),
    Study(
        "coverage.csv",
        "Confidence intervals",
        "python benchmarks/uncertainty.py coverage",
        "Coverage of 95 % intervals, and type I error of ``pvalue_above`` at the "
        "true discrepancy.",
        ("coverage", "level"),
    ),
    Study(
        "compare.csv",
        "Comparisons",
        "python benchmarks/uncertainty.py compare",
        "Rejections of equal candidates (null, equal, opposite) and of unequal "
        "candidates (power).",
    ),
    Study(
        "effect_sizes.csv",
        "Effect sizes",
        "python benchmarks/effect_sizes.py",
        "Effect sizes of known shifts and correlations.",
    ),
    Study(
        "recovery_known.csv",
        "Relevant columns",
        "python benchmarks/recovery_tables.py --known --repetitions 200 --searches 60",
        "Fraction of relevant columns that selectors recover, with standard errors.",
    ),
    Study(
        "recovery_tables.csv",
        "Relevant columns of mixed tables",
        "python benchmarks/recovery_tables.py",
        "Fraction of the five relevant columns that a selector recovers if it is "
        "told their number.",
        ("complete numbers", "categories and missing values"),
    ),
    Study(
        "recovery_methods.csv",
        "Methods of selection",
        "python benchmarks/recovery_tables.py --methods",
        "Fraction of the relevant columns that each method recovers.",
        ("value",),
    ),
    Study(
        "model_choice.csv",
        "Choice of a model",
        "python benchmarks/model_choice.py",
        "Scores, and how often a search chooses the right model.",
    ),
    Study(
        "monitor.csv",
        "Run lengths of the monitor",
        "python benchmarks/monitor.py --run-length --repetitions 500",
        "Rows until a false alarm, for a run length of 1000.",
        ("mean run length",),
    ),
    Study(
        "monitor_series.csv",
        "The monitor and time series",
        "python benchmarks/monitor_series.py --simulated --references 20",
        "False alarms divided by those asked for, and rows until a shift raises an "
        "alarm.",
    ),
    Study(
        "large_tables.csv",
        "Large tables",
        "python benchmarks/large_tables.py",
        "Seconds with two threads, and memory on top of the data.",
        ("seconds",),
    ),
    Study(
        "times.csv",
        "Time of default options",
        "python benchmarks/times.py",
        "CPU times on one thread, ten columns. Tests are exact up to 10 000 rows in "
        "total.",
        ("seconds",),
    ),
    Study(
        "design_power.csv",
        "Designs and random features",
        "python benchmarks/design_power.py",
        "Power and CPU time of the MMD of two samples of 4000 rows that differ by "
        "0.1 in the mean of one of five columns.",
        ("power",),
    ),
    Study(
        "weights.csv",
        "Weights",
        "python benchmarks/weights.py",
        "Time of a score with weights, divided by its time without weights.",
        ("ratio",),
    ),
    Study(
        "comparisons.csv",
        "Scores, tests and selectors beside other packages",
        "python benchmarks/run.py",
        "Time or memory of the alternative divided by ours. "
        ":doc:`appendix/benchmarks` has tables by package.",
        ("ratio",),
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
    return HEAD + "".join(
        ROW.format(
            title=study.title,
            text=study.text,
            figures=study.figures(),
            command=study.command,
            commit=commits.get(study.file),
            name=Path(study.file).name,
            file=study.file,
        )
        for study in STUDIES
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
    commits = re.findall(
        r"``, (\w+)\n     - :download:`\S+ <\.\./benchmarks/results/(\S+)>", written
    )
    if written != page({file: commit for commit, file in commits}):
        sys.exit(f"{PAGE} differs from the results: run python -m benchmarks.docs")


if __name__ == "__main__":
    main()
