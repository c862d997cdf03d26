"""Sphinx configuration."""

from importlib.metadata import version as installed_version

project = "skdiscrepancy"
copyright = "the skdiscrepancy developers"
release = version = installed_version("skdiscrepancy")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
]
autosummary_generate = True
numpydoc_show_class_members = False
# Terms such as :term:`fit` are in scikit-learn's glossary.
suppress_warnings = ["ref.term"]
exclude_patterns = ["_build", "generated/**/.*"]
html_theme = "pydata_sphinx_theme"
