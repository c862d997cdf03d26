"""The table of combinations: each entry is what the code does."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("polars")
pytest.importorskip("pyarrow")
pytest.importorskip("dask.dataframe")

PATH = Path(__file__).parent.parent / "doc" / "combinations.py"
spec = importlib.util.spec_from_file_location("combinations", PATH)
combinations = importlib.util.module_from_spec(spec)
spec.loader.exec_module(combinations)

with combinations.TABLE.open(newline="") as file:
    HEADER, *ROWS = csv.reader(file)


def test_the_table_has_all_questions_and_kinds_of_data():
    assert HEADER[1:] == list(combinations.KINDS)
    assert [row[0] for row in ROWS] == list(combinations.QUESTIONS)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_the_table_is_what_the_code_does(row):
    assert combinations.row_of(row[0]) == row


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_what_does_not_work_names_the_parameter_or_the_data(row):
    question, *cells = row
    for kind, cell in zip(combinations.KINDS, cells, strict=True):
        if cell != "yes":
            error = combinations.attempt(question, kind)
            assert error != "yes"
            _, options = combinations.KINDS[kind]
            words = [*options, "sparse", "missing", "text", "blocks", "dask"]
            assert any(word in error.lower() for word in words), error
