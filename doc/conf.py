"""Sphinx configuration."""

from importlib.metadata import version as installed_version
from pathlib import Path

project = "skdiscrepancy"
copyright = "the skdiscrepancy developers"
release = version = installed_version("skdiscrepancy")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinxcontrib.bibtex",
]
autosummary_generate = True
bibtex_bibfiles = ["references.bib"]
numpydoc_show_class_members = False
# Terms such as :term:`fit` are in scikit-learn's glossary.
suppress_warnings = ["ref.term"]
exclude_patterns = ["_build", "generated/**/.*"]
if not (Path(__file__).parent.parent / "benchmarks" / "results").exists():
    # The page shows the tables that a full run of benchmarks/run.py writes.
    exclude_patterns.append("benchmarks.rst")
html_theme = "pydata_sphinx_theme"
