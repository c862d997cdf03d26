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


def _examples(config):
    # In a run that starts above this folder, the options are not known.
    return config.getoption("examples", 0)
