"""Options of the fuzzer; without ``--examples`` nothing of this folder is collected."""

# SPDX-License-Identifier: BSD-3-Clause

import pytest


def pytest_addoption(parser):
    group = parser.getgroup("fuzz", "fuzzing of the public functions")
    group.addoption(
        "--examples",
        type=int,
        default=0,
        help="Number of calls, divided among the functions that are fuzzed.",
    )
    group.addoption("--seed", type=int, default=0, help="Seed of the calls.")


def pytest_ignore_collect(collection_path, config):
    # The modules need hypothesis, and --doctest-modules would import them.
    is_module = collection_path.suffix == ".py"
    return True if is_module and not _examples(config) else None


def pytest_collect_file(file_path, parent):
    wanted = _examples(parent.config) and file_path.name.startswith("fuzz_")
    # A file that is named in the command is collected without this.
    if wanted and not parent.session.isinitpath(file_path):
        return pytest.Module.from_parent(parent, path=file_path)
    return None


def pytest_terminal_summary(terminalreporter):
    counts = [
        dict(report.user_properties)["calls"]
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        if "calls" in dict(report.user_properties)
    ]
    if counts:
        n_calls, n_results = (sum(column) for column in zip(*counts, strict=True))
        terminalreporter.write_line(
            f"{n_calls} calls, of which {n_results} gave a result and kept every rule"
        )


def _examples(config):
    # In a run that starts above this folder, the options are not known.
    return config.getoption("examples", 0)
