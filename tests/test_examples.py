"""What the examples promise: a question, short code, an answer, and no extras."""

# SPDX-License-Identifier: BSD-3-Clause

import ast
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# Runs a file as if the extras were not installed.
WITHOUT_EXTRAS = """
import runpy, sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"matplotlib", "pandas", "polars"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_title_is_a_question_with_an_underline_of_its_length(path):
    title, line = ast.get_docstring(ast.parse(path.read_text("utf-8"))).splitlines()[:2]
    assert title.endswith("?")
    assert line == "=" * len(title)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_ends_with_what_was_seen(path):
    text = path.read_text("utf-8")
    last_cell = text.rpartition("# %%\n")[2].splitlines()
    assert len(text.splitlines()) <= 100
    assert len(last_cell) > 2
    assert all(line.startswith("# ") for line in last_cell)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_gallery_does_not_render_the_license(path):
    # What is above the docstring is not rendered. A comment below it is a cell.
    text = path.read_text("utf-8")
    assert text.startswith('# SPDX-License-Identifier: BSD-3-Clause\n"""\n')
    assert text.count("SPDX") == 1


def test_quickstart_answers_three_questions_without_extras():
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, ROOT / "examples" / "quickstart.py"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert len(re.findall(r"^\S.*\? \((?:MMD|HSIC|KSD)\)$", run.stdout, re.M)) == 3
    answers = re.findall(r"(yes|no)\b.* p = ([01]\.\d{3})$", run.stdout, re.M)
    assert len(answers) == 7


def test_figures_of_the_appendix_show_every_entry_of_a_design():
    figures = runpy.run_path(str(ROOT / "doc" / "appendix" / "paper_figures.py"))
    titles = [ax.get_title() for ax in figures["paper_designs"]().axes]
    for name, n_entries in {"V": 100, "U": 90, "L": 10, "X, n₁ = 3": 42}.items():
        assert f"{name}\n{n_entries} entries" in titles
    panels = figures["precision"](n_rows=16, n_repetitions=2).axes
    for ax in panels:
        _, points = ax.get_lines()
        # Linear is the design with the fewest pairs, the complete V that with the most.
        assert (min(points.get_xdata()), max(points.get_xdata())) == (8, 136)
