"""Sphinx configuration."""

import re
from pathlib import Path

import skdiscrepancy

HERE = Path(__file__).parent

project = "skdiscrepancy"
copyright = "the skdiscrepancy developers"
release = version = skdiscrepancy.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "numpydoc",
    "matplotlib.sphinxext.plot_directive",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "generated/backreferences", "sg_execution_times.rst"]
# Single backquotes in docstrings are names.
default_role = "literal"
nitpicky = True
# Without a network, most names of other projects are not known.
nitpick_ignore_regex = [("py:.*", r"(matplotlib|numpy|pandas|scipy|sklearn)\..*")]

# API reference
autosummary_generate = True
# Types are in the docstrings.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

# Other projects. Without a network the few names in these files are known; terms such
# as :term:`fit` are in the glossary of scikit-learn and remain words then.
intersphinx_mapping = {
    name: (url, (None, str(HERE / "_inventories" / f"{name}.inv")))
    for name, url in {
        "numpy": "https://numpy.org/doc/stable/",
        "scipy": "https://docs.scipy.org/doc/scipy/",
        "sklearn": "https://scikit-learn.org/stable/",
    }.items()
}
intersphinx_timeout = 5
suppress_warnings = ["ref.term"]

bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"

# Examples and figures
sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/(plot_|quickstart)",
    "within_subsection_order": "ExampleTitleSortKey",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("skdiscrepancy",),
    "min_reported_time": 10**6,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "plot_gallery": True,
    "abort_on_example_error": True,
}
plot_formats = [("png", 120)]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_working_directory = str(HERE)

# Pages
html_theme = "pydata_sphinx_theme"
html_title = "skdiscrepancy"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "skdiscrepancy"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 7,
    "show_nav_level": 1,
    "navigation_depth": 2,
    "show_prev_next": True,
    "icon_links": [],
    "footer_start": ["copyright"],
    "footer_center": [],
    "footer_end": [],
}
html_sidebars = {
    "index": [],
    "getting_started": [],
    "choosing": [],
    "scaling": [],
    "benchmarks": [],
    "changelog": [],
    "contributing": [],
    "references": [],
}


def skip_member(app, what, name, obj, skip, options):
    """Leave out the methods that scikit-learn makes for the routing of metadata."""
    return True if re.fullmatch(r"set_\w+_request", name) else skip


def setup(app):
    """Connect to Sphinx."""
    app.connect("autodoc-skip-member", skip_member)
