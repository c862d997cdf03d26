"""The layers of the package: imports go downwards, and not in circles."""

# SPDX-License-Identifier: BSD-3-Clause

import ast
import re
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import skdiscrepancy

PACKAGE = Path(skdiscrepancy.__file__).parent
# Top first. Packages of one layer do not import each other.
LAYERS = [
    ["__main__"],
    ["plotting"],
    ["monitoring"],
    ["inference", "feature_selection", "model_checking"],
    ["_estimators"],
    ["_nulls"],
    ["_statistics"],
    ["_gram"],
    ["bandwidths"],
    ["kernels", "designs", "pooling"],
    ["_models", "tables"],
    ["_data"],
    ["_loops"],
]
LAYER = {package: i for i, packages in enumerate(LAYERS) for package in packages}
# Lines of code, without docstrings, comments and blank lines.
MOST_LINES = 720


class Import(NamedTuple):
    """One import of a module of the package by another."""

    importer: str
    imported: str
    when_called: bool

    @property
    def packages(self):
        return package_of(self.importer), package_of(self.imported)


def package_of(module):
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
        "skdiscrepancy._data.results",
        "skdiscrepancy.plotting",
    )


def upward(imports):
    """Return the imports of a package that is not below."""
    return [
        item
        for item in imports
        if "" not in item.packages
        and item.packages[0] != item.packages[1]
        and LAYER[item.packages[1]] <= LAYER[item.packages[0]]
        and not is_the_arrow_to_a_display(item)
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


def lines_of_code(source):
    """Count the lines without docstrings, comments and blank lines."""
    definitions = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, definitions) and ast.get_docstring(node) is not None:
            docstrings |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return sum(
        bool(line.strip()) and not line.strip().startswith("#")
        for i, line in enumerate(source.splitlines(), 1)
        if i not in docstrings
    )


def test_every_package_has_its_layer():
    packages = {package_of(name) for name, _ in modules()} - {""}
    assert packages == LAYER.keys()


def test_imports_go_downwards():
    assert not upward(all_imports())


def test_no_module_imports_itself_by_way_of_others():
    # A package is imported before its own modules are.
    inner = [
        item
        for item in all_imports()
        if not item.importer.startswith(f"{item.imported}.")
        and not is_the_arrow_to_a_display(item)
    ]
    assert cycle(inner) is None


def test_private_packages_have_no_list_of_names():
    assert [
        name
        for name, path in modules()
        if path.name == "__init__.py"
        and package_of(name).startswith("_")
        and lines_of_code(path.read_text())
    ] == []


def test_no_two_modules_share_a_name():
    names = Counter(p.name for _, p in modules() if p.name != "__init__.py")
    assert [name for name, count in names.items() if count > 1] == []


def test_no_module_is_longer_than_it_should_be():
    sizes = {name: lines_of_code(path.read_text()) for name, path in modules()}
    assert {name: n for name, n in sizes.items() if n > MOST_LINES} == {}


def test_lines_of_code_are_counted_without_words():
    source = '"""Words.\n\nMore."""\n\n# A comment.\nx = 1  # one\n\n\ndef f():\n'
    assert lines_of_code(source + '    """Words."""\n    return x\n') == 3


def test_contributing_page_shows_the_same_layers():
    page = PACKAGE.parent / "doc" / "contributing.rst"
    if not page.exists():
        pytest.skip("the sources of the documentation are not here")
    shown = re.findall(r"^   \* - (.*)$", page.read_text(), re.MULTILINE)
    layers = [set(re.findall(r"``(\w+?)/?(?:\.py)?``", row)) for row in shown]
    assert list(filter(None, layers)) == [set(packages) for packages in LAYERS]


KNOWN = {"skdiscrepancy", "skdiscrepancy._nulls.groups", "skdiscrepancy._gram.tiles"}


@pytest.mark.parametrize(
    ("importer", "line", "found"),
    [
        ("_gram.tiles", "from skdiscrepancy._nulls.groups import x", True),
        ("inference._tests", "from skdiscrepancy.model_checking import x", True),
        ("_nulls.groups", "from skdiscrepancy._gram.tiles import x", False),
        ("_nulls.groups", "from skdiscrepancy.plotting import x", True),
        ("_nulls.groups", "if f:\n import skdiscrepancy.plotting", True),
        ("_data.results", "import skdiscrepancy.plotting", True),
        ("_data.results", "if f:\n import skdiscrepancy.plotting", False),
    ],
)
def test_wrong_imports_would_be_seen(importer, line, found):
    imports = imports_of(f"skdiscrepancy.{importer}", line, KNOWN)
    assert bool(upward(list(imports))) == found


def test_a_circle_would_be_seen():
    arrows = [Import("a.b", "a.c", False), Import("a.c", "a.d", True)]
    assert cycle(arrows) is None
    assert set(cycle([*arrows, Import("a.d", "a.b", False)])) == {"a.b", "a.c", "a.d"}
