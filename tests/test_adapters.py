"""The code of the page on other packages, run with these packages.

They are in the extra `adapters`.
"""

# SPDX-License-Identifier: BSD-3-Clause

import re
import textwrap
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "doc" / "user_guide" / "adapters.rst"


def run_block(word):
    """Run the only code block of the page with a word, and return its names."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"code-block:: python\n\n((?:   .*\n|\n)+)", text)
    [block] = [textwrap.dedent(block) for block in blocks if word in block]
    names = {"__name__": "page"}
    exec(compile(block, str(PAGE), "exec"), names)
    return names


def test_pc_finds_the_edges_that_the_page_names():
    pytest.importorskip("causallearn")
    names = run_block("causallearn")
    assert {tuple(map(int, edge)) for edge in names["edges"]} == {(0, 1), (0, 2)}
    # The default test sees only linear dependence.
    usual = names["pc"](names["data"], 0.01, show_progress=False).G.graph
    assert usual[0, 1] != 0 == usual[0, 2]


def test_river_detector_sees_the_change_of_whole_rows():
    river = pytest.importorskip("river")
    names = run_block("river")
    detector, alarms = names["detector"], names["alarms"]
    assert isinstance(detector, river.base.DriftDetector)
    assert 500 < alarms[0] < 520
    # One number at a time, as river documents it, and a copy as river makes it.
    one = names["KernelDrift"](detector.reference[:, :1]).clone()
    for x in range(100):
        one.update(2.0 + x % 2)
        if one.drift_detected:
            break
    assert one.drift_detected
