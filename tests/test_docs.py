"""What the documentation promises: every public name, with all that belongs to it."""

# SPDX-License-Identifier: BSD-3-Clause

import ast
import contextlib
import dataclasses
import functools
import inspect
import io
import re
import runpy
import textwrap
import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import numpydoc.docscrape
import numpydoc.validate
import pytest

import skdiscrepancy

ROOT = Path(__file__).parent.parent
API = ROOT / "doc" / "api"
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
README = (ROOT / "README.rst").read_text(encoding="utf-8")
MODULES = [
    skdiscrepancy.__name__,
    *(
        f"skdiscrepancy.{name}"
        for name in skdiscrepancy.__all__
        if inspect.ismodule(getattr(skdiscrepancy, name))
    ),
]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
# The linter asks these of no docstring, since most are private. Public ones have them.
PUBLIC_CHECKS = {"PR01", "PR02", "RT01", "GL08"}
SKIPPED_CHECKS = set(CONFIG["numpydoc_validation"]["checks"]) - PUBLIC_CHECKS


def public_names():
    for module in MODULES:
        for name in import_module(module).__all__:
            if f"{module}.{name}" not in MODULES:
                yield module, name


def classes_and_functions():
    for module, name in public_names():
        thing = getattr(import_module(module), name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            yield f"{module}.{name}", thing


def own_methods(cls):
    for name, member in vars(cls).items():
        if not name.startswith("_") and inspect.isfunction(member):
            yield name, member


def problems(path):
    """Return what numpydoc finds wrong with a docstring."""
    errors = numpydoc.validate.validate(path)["errors"]
    return {code: text for code, text in errors if code not in SKIPPED_CHECKS}


THINGS = list(classes_and_functions())
# Pages that can be referred to: those with a label before their title.
LABELS = {
    label
    for page in (ROOT / "doc").rglob("*.rst")
    for label in re.findall(r"\A\.\. _(\w+):\n", page.read_text())
}


@pytest.mark.parametrize(("module", "name"), list(public_names()))
def test_public_name_is_in_the_api_reference(module, name):
    pages = "".join(page.read_text() for page in API.glob("*.rst"))
    listed = re.findall(r"^   ([\w.]+)$", pages, flags=re.MULTILINE)
    # What the top level has too has its page there.
    path = f"{module}.{name}".removeprefix("skdiscrepancy.")
    assert listed.count(name if name in skdiscrepancy.__all__ else path) == 1


def test_page_of_the_api_reference_is_in_its_table_of_contents():
    listed = re.findall(r"^ +api/(\w+)$", API.with_suffix(".rst").read_text(), re.M)
    assert sorted(listed) == sorted(page.stem for page in API.glob("*.rst"))


@pytest.mark.parametrize(
    ("path", "thing"), [pytest.param(*item, id=item[0]) for item in THINGS]
)
def test_docstring_has_all_sections(path, thing):
    doc = numpydoc.docscrape.get_doc_object(thing)
    text = inspect.getdoc(thing)
    if inspect.isfunction(thing):
        assert doc["Returns"]
    elif "__call__" in vars(thing):
        # What an object returns that is called is documented there.
        assert numpydoc.docscrape.FunctionDoc(vars(thing)["__call__"])["Returns"]
    else:
        assert doc["Attributes"]
    assert doc["See Also"]
    assert doc["Examples"]
    # Sphinx warns of references that are not cited, and of citations without one.
    listed = re.findall(r"^\.\. \[(\d+)\]", text, flags=re.MULTILINE)
    assert set(re.findall(r"\[(\d+)\]_", text)) == set(listed)


@pytest.mark.parametrize(
    ("path", "thing"), [pytest.param(*item, id=item[0]) for item in THINGS]
)
def test_docstring_passes_validation(path, thing):
    found = problems(path)
    if dataclasses.is_dataclass(thing) and thing.__dataclass_params__.frozen:
        # Users read the fields of a result and never make one: they are attributes.
        entries = numpydoc.docscrape.ClassDoc(thing)["Attributes"]
        documented = {name for entry in entries for name in entry.name.split(", ")}
        names = {field.name for field in dataclasses.fields(thing)}
        assert documented >= {name for name in names if not name.startswith("_")}
        found.pop("PR01", None)
    assert not found


@pytest.mark.parametrize(
    ("path", "thing"), [pytest.param(*item, id=item[0]) for item in THINGS]
)
def test_documented_defaults_are_those_of_the_signature(path, thing):
    parameters = inspect.signature(thing).parameters
    for item in numpydoc.docscrape.get_doc_object(thing)["Parameters"]:
        _, has_default, text = item.type.partition("default=")
        for name in item.name.split(", ") if has_default else ():
            assert ast.literal_eval(text) == parameters[name].default, name


@pytest.mark.parametrize(
    ("path", "thing"),
    [pytest.param(*item, id=item[0]) for item in THINGS if inspect.isclass(item[1])],
)
def test_docstrings_of_methods_pass_validation(path, thing):
    for name, member in own_methods(thing):
        # A method that overrides another has the docstring of that one.
        assert inspect.getdoc(member), f"{path}.{name} has no docstring"
        if member.__doc__:
            assert not problems(f"{path}.{name}"), f"{path}.{name}"


@pytest.mark.parametrize(
    ("path", "thing"), [pytest.param(*item, id=item[0]) for item in THINGS]
)
def test_docstring_links_to_a_page_of_the_guide(path, thing):
    link = r"Read more in the :ref:`User Guide <(\w+)>`\."
    (label,) = re.findall(link, inspect.getdoc(thing))
    assert label in LABELS


@pytest.mark.parametrize(
    ("path", "thing"), [pytest.param(*item, id=item[0]) for item in THINGS]
)
def test_summary_cites_nothing(path, thing):
    # Tables of names show the summary, without the list of references.
    assert "]_" not in " ".join(numpydoc.docscrape.get_doc_object(thing)["Summary"])


def test_gallery_has_a_place_for_every_example():
    order = runpy.run_path(str(ROOT / "doc" / "gallery_order.py"))["ORDER"]
    assert sorted(order) == [example.name for example in EXAMPLES]
    assert order[0] == "quickstart.py"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_licence_of_an_example_is_not_a_cell_of_its_page(example):
    # The gallery shows what follows the docstring.
    first, *others = example.read_text().splitlines()
    assert first.startswith("# SPDX-License-Identifier:")
    assert not any("SPDX" in line for line in others)


def test_lines_of_the_readme_fit_into_100_columns():
    assert not [line for line in README.splitlines() if len(line) > 100]


def test_readme_is_short():
    assert len(README.split()) <= 650


def code_of_the_readme():
    """Return all blocks of README.rst, which users copy into one session."""
    blocks = re.findall(r"\.\. code-block:: python\n\n((?: {4}.*\n|\n)+)", README)
    return "\n".join(textwrap.dedent(block) for block in blocks)


def rows_of_the_readme():
    """Return the questions and the calls of the table in README.rst."""
    _, _, body, _ = re.split(r"^=+  =+\n", README, flags=re.MULTILINE)
    return [
        (question.strip(), call.strip("`"))
        for question, call in (line.split("  ``") for line in body.splitlines())
    ]


def test_code_of_the_readme_prints_what_its_comments_say():
    code = code_of_the_readme()
    promised = re.findall(r"^print\(.*\)  # (.*)$", code, flags=re.MULTILINE)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert promised
    assert printed.getvalue().splitlines() == promised


def test_every_call_of_the_readme_runs_on_its_example():
    names = {name: getattr(skdiscrepancy, name) for name in skdiscrepancy.__all__}
    for name, thing in names.items():
        # Seeded: about 1 in 20 draws warns of poor regressions, also of good ones.
        if inspect.isfunction(thing) and name.endswith(("_test", "_report")):
            names[name] = functools.partial(thing, random_state=0)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code_of_the_readme(), names)
    for _, call in rows_of_the_readme():
        assert eval(call, names) is not None, call


def test_readme_has_the_first_eight_questions_of_the_guide():
    page = (ROOT / "doc" / "user_guide" / "questions.rst").read_text(encoding="utf-8")
    questions = re.findall(r"^   \* - (.*)$", page, flags=re.MULTILINE)
    assert len(rows_of_the_readme()) == 8
    assert [row[0] for row in rows_of_the_readme()] == questions[1:9]


def test_every_call_beside_a_function_of_r_runs():
    page = (ROOT / "doc" / "coming_from.rst").read_text(encoding="utf-8")
    table = page.partition("From R\n------\n")[2]
    calls = [
        call
        for line in table.splitlines()
        if re.match(r"``\w+::", line)
        for call in re.findall(r"``(\w+\(.*?\).*?)``", line)
    ]
    X, Y = np.random.RandomState(0).normal(size=(2, 40, 1))
    names = {name: getattr(skdiscrepancy, name) for name in skdiscrepancy.__all__}
    names |= {"X": X, "Y": Y, "y": Y[:, 0], "Z": X + Y, "labels": np.repeat([0, 1], 20)}
    assert len(calls) == 6
    for call in calls:
        assert eval(call, names) is not None, call


def test_measurements_are_the_stored_results(monkeypatch):
    monkeypatch.setattr("sys.argv", ["docs.py", "--check"])
    runpy.run_path(str(ROOT / "benchmarks" / "docs.py"), run_name="__main__")


def test_every_file_of_results_is_on_a_page():
    pages = "".join(path.read_text("utf-8") for path in (ROOT / "doc").rglob("*.rst"))
    folder = ROOT / "benchmarks" / "results"
    files = {str(path.relative_to(folder)) for path in folder.rglob("*.csv")}
    # "run.py" writes these beside the tables that the pages show.
    copies = ("environment", "designs", "targets", "comparisons")
    files = {name for name in files if not any(copy in name for copy in copies)}
    assert {name for name in files if f"results/{name}" not in pages} == set()
