"""The command of the shell: verdict, exit codes, pages and JSON."""

# SPDX-License-Identifier: BSD-3-Clause

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skdiscrepancy import __main__ as shell, drift_report


def draw(seed, shift=0.0):
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 90, 80).astype("timedelta64[D]")
    return pd.DataFrame(
        {
            "amount": rng.normal(size=80) + shift,
            "city": rng.choice(["Bern", "Lyon"], 80),
            "day": np.datetime64("2026-01-01", "s") + days,
            "unit": 1.0,
        }
    )


@pytest.fixture
def files(tmp_path):
    """Return the paths of a reference, of an equal table, and of a shifted one."""
    tables = {"old.csv": draw(0), "same.parquet": draw(1), "new.csv": draw(2, 2.0)}
    for name, table in tables.items():
        path = tmp_path / name
        if name.endswith("csv"):
            table.to_csv(path, index=False)
        else:
            pytest.importorskip("pyarrow")
            table.to_parquet(path)
    return [str(tmp_path / name) for name in tables]


def test_exit_code_and_first_line_are_the_verdict(files, capsys):
    old, same, new = files
    assert shell.main(["drift", old, new]) == 1
    first, second, *others = capsys.readouterr().out.splitlines()
    assert first.startswith("The tables differ (p\xa0=\xa0")
    assert second == "1 of 4 columns differs on its own: amount."
    assert next(line.split()[0] for line in others[-4:]) == "amount"
    assert shell.main(["drift", old, same, "--level", "0.01"]) == 0
    assert capsys.readouterr().out.startswith("No drift detected")


def test_json_and_page_are_those_of_the_report(files, capsys, tmp_path):
    old, _, new = files
    page = tmp_path / "report.html"
    assert shell.main(["drift", old, new, "--json", "--html", str(page)]) == 1
    found = json.loads(capsys.readouterr().out)
    expected = drift_report(draw(0), draw(2, 2.0), random_state=0)
    assert found["pvalue"] == expected.pvalue
    assert found["explanation"] == [["amount"]]
    kinds = {row["feature"]: row["kind"] for row in found["columns"]}
    assert kinds == dict(zip(draw(0), expected.kinds, strict=True))
    sizes = {row["feature"]: row["effect_size"] for row in found["columns"]}
    assert sizes["unit"] is None
    assert "The tables differ" in page.read_text(encoding="utf-8")


def test_clusters_are_a_column(files, capsys):
    # Some days are in both tables.
    assert shell.main(["drift", files[0], files[2], "--clusters", "day"]) == 2
    assert "clusters has 48 clusters in one sample" in capsys.readouterr().err


def test_large_parquet_files_are_read_by_blocks(files, capsys, monkeypatch):
    _, same, _ = files
    monkeypatch.setattr(shell, "MOST_VALUES", 100)
    blocks = shell.read_table(same)
    assert sum(map(len, blocks())) == 80
    assert shell.main(["drift", same, same]) == 0
    assert "No drift detected" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["old.txt"], "old.txt must end in one of .csv, .parquet, .pq."),
        (["missing.csv"], "missing.csv must be a file that exists."),
        (["--level", "7"], "level == 7"),
        (["semicolons.csv"], "semicolons.csv has one column, 'a;b'"),
    ],
)
def test_errors_have_exit_code_2(files, capsys, args, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("semicolons.csv").write_text("a;b\n1;2\n", encoding="utf-8")
    given = [args[0], files[2]] if len(args) == 1 else [files[0], files[2], *args]
    assert shell.main(["drift", *given]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"error: {message}")
    assert not captured.out


def test_command_runs_as_a_module():
    command = [sys.executable, "-m", "skdiscrepancy", "drift", "only_one.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage: python -m skdiscrepancy drift" in done.stderr


def test_without_readers_the_error_names_them(files, capsys, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(shell, "import_module", missing)
    assert shell.main(["drift", files[0], files[2]]) == 2
    assert "need pandas or polars" in capsys.readouterr().err
