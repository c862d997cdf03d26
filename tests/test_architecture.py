"""The rooms of the package: imports go downwards, and through the front door."""

# SPDX-License-Identifier: BSD-3-Clause

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import skdiscrepancy

PACKAGE = Path(skdiscrepancy.__file__).parent
# Top first. Rooms of one line know nothing of each other.
FLOORS = [
    ["plotting"],
    ["monitoring"],
    ["inference", "feature_selection", "model_checking"],
    ["_mmd", "_hsic", "_ksd"],
    ["_nulls"],
    ["_base"],
    ["_engine"],
    ["bandwidths"],
    ["kernels", "designs", "pooling"],
    ["_gradients", "_regression", "tables"],
    ["_data"],
    ["_loops"],
]
FLOOR = {room: i for i, rooms in enumerate(FLOORS) for room in rooms}


class Import(NamedTuple):
    """One import of a module of the package by another."""

    importer: str
    imported: str
    when_called: bool

    @property
    def rooms(self):
        return room_of(self.importer), room_of(self.imported)


def room_of(module):
    return module.split(".")[1] if "." in module else ""


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        yield ".".join(parts), path


def imports_of(name, source, known):
    """Yield the imports of a module; `known` are the names of all modules."""
    tree = ast.parse(source)
    at_import = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            targets = [
                f"{node.module}.{alias.name}"
                if f"{node.module}.{alias.name}" in known
                else node.module
                for alias in node.names
            ]
        elif isinstance(node, ast.ImportFrom):
            raise AssertionError(f"{name} has a relative import")
        else:
            continue
        for target in targets:
            if target.partition(".")[0] == "skdiscrepancy":
                yield Import(name, target, id(node) not in at_import)


def all_imports():
    paths = dict(modules())
    for name, path in paths.items():
        yield from imports_of(name, path.read_text(), paths)


def is_the_arrow_to_a_display(item):
    """Tell whether an import is the one upward arrow.

    The base class of results imports the Displays when `plot` is called.
    """
    return item.when_called and item[:2] == (
        "skdiscrepancy._data._results",
        "skdiscrepancy.plotting",
    )


def upward(imports):
    """Return the imports of a room that is not below."""
    return [
        item
        for item in imports
        if "" not in item.rooms
        and item.rooms[0] != item.rooms[1]
        and FLOOR[item.rooms[1]] <= FLOOR[item.rooms[0]]
        and not is_the_arrow_to_a_display(item)
    ]


def through_the_window(imports):
    """Return the imports from a private module of another room."""
    return [
        item
        for item in imports
        if item.rooms[0] != item.rooms[1] and item.imported.count(".") > 1
    ]


def cycle(imports):
    """Return the modules of a circle of imports, None if there is none."""
    graph = {}
    for item in imports:
        if item.importer != item.imported:
            graph.setdefault(item.importer, set()).add(item.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return None


def test_every_room_has_its_place():
    rooms = {room_of(name) for name, _ in modules()} - {""}
    assert rooms <= FLOOR.keys()


def test_imports_go_downwards():
    assert not upward(all_imports())


def test_rooms_are_entered_by_their_door():
    assert not through_the_window(all_imports())


def test_no_module_imports_itself_by_way_of_others():
    # A room is imported before its own modules are: that is how packages work.
    inner = [
        item
        for item in all_imports()
        if not item.importer.startswith(f"{item.imported}.")
        and not is_the_arrow_to_a_display(item)
    ]
    assert cycle(inner) is None


def test_no_module_is_longer_than_it_should_be():
    assert {
        name: n
        for name, path in modules()
        if (n := len(path.read_text().splitlines())) > 500
    } == {}


def test_contributing_page_shows_the_same_rooms():
    page = PACKAGE.parent / "doc" / "contributing.rst"
    if not page.exists():
        pytest.skip("the sources of the documentation are not here")
    shown = re.findall(r"^   \* - (.*)$", page.read_text(), re.MULTILINE)
    floors = [set(re.findall(r"``(\w+?)/?(?:\.py)?``", row)) for row in shown]
    built = {room_of(name) for name, _ in modules()}
    expected = [{room for room in rooms if room in built} for rooms in FLOORS]
    assert list(filter(None, floors)) == list(filter(None, expected))


KNOWN = {"skdiscrepancy", "skdiscrepancy._mmd", "skdiscrepancy._engine._walk"}


@pytest.mark.parametrize(
    ("check", "importer", "line", "found"),
    [
        (upward, "_engine._walk", "from skdiscrepancy._mmd import x", True),
        (upward, "_hsic._estimator", "from skdiscrepancy._mmd import x", True),
        (upward, "_mmd._estimator", "from skdiscrepancy._engine import x", False),
        (upward, "_nulls._result", "from skdiscrepancy.plotting import x", True),
        (upward, "_nulls._result", "if f:\n import skdiscrepancy.plotting", True),
        (upward, "_data._results", "import skdiscrepancy.plotting", True),
        (upward, "_data._results", "if f:\n import skdiscrepancy.plotting", False),
        (through_the_window, "_mmd._s", "from skdiscrepancy._engine._walk import x", 1),
        (through_the_window, "_mmd._s", "from skdiscrepancy._engine import _walk", 1),
        (through_the_window, "_engine._s", "import skdiscrepancy._engine._walk", False),
    ],
)
def test_wrong_imports_would_be_seen(check, importer, line, found):
    imports = imports_of(f"skdiscrepancy.{importer}", line, KNOWN)
    assert bool(check(list(imports))) == bool(found)


def test_a_circle_would_be_seen():
    arrows = [Import("a.b", "a.c", False), Import("a.c", "a.d", True)]
    assert cycle(arrows) is None
    assert set(cycle([*arrows, Import("a.d", "a.b", False)])) == {"a.b", "a.c", "a.d"}
