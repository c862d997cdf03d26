"""Sphinx configuration."""

import inspect
import re
import sys
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

import skdiscrepancy

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "skdiscrepancy"
copyright = "the skdiscrepancy developers"
release = version = skdiscrepancy.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    # MathJax from an installed package, so that pages need no network.
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "numpydoc",
    "matplotlib.sphinxext.plot_directive",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "generated/backreferences"]
# Single backquotes in docstrings are names.
default_role = "literal"
nitpicky = True
# Without a network, most names of other projects are not known.
nitpick_ignore_regex = [("py:.*", r"(matplotlib|numpy|pandas|scipy|sklearn)\..*")]


def methods_of(cls):
    """Divide the methods of a class into those of its page and those of other pages.

    A method of a public base class is on the page of that class, and scikit-learn
    documents its own methods.
    """
    own, others = [], {}
    for name, _ in inspect.getmembers(cls, callable):
        bases = [c for c in cls.__mro__ if getattr(vars(c).get(name), "__doc__", "")]
        # scikit-learn makes methods that set requests of metadata.
        if not bases or re.match(r"_(?!_call__)|set_\w+_request|get_metadata", name):
            continue
        base = bases[0]
        public = base.__module__.partition("._")[0]
        if base.__module__.startswith("sklearn."):
            others.setdefault("scikit-learn", []).append(name)
        elif base is not cls and base.__name__ in dir(sys.modules[public]):
            others.setdefault(f":class:`~{public}.{base.__name__}`", []).append(name)
        else:
            own.append(name)
    return own, others


# API reference
autosummary_generate = True
PUBLIC = [getattr(skdiscrepancy, name) for name in skdiscrepancy.__all__]
autosummary_context = {
    "documented": {
        f"{module.__name__}.{name}": methods_of(getattr(module, name))
        for module in (skdiscrepancy, *filter(inspect.ismodule, PUBLIC))
        for name in module.__all__
        if inspect.isclass(getattr(module, name))
    }
}
# Types are in the docstrings.
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
# The template of a class documents its methods.
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
    "within_subsection_order": "gallery_order.position",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("skdiscrepancy",),
    "thumbnail_size": (600, 400),
    "default_thumb_file": str(HERE / "_static" / "thumbnail.png"),
    "min_reported_time": 10**6,
    "write_computation_times": False,
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

# Copied code has no prompts, and printed results have no button.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.sphx-glr-script-out) > div.highlight pre"

# Words that people search for, as entries of the index: the search puts a page with
# such an entry first. A page says all words that it is listed with.
search_words = {
    "coming_from": [
        "adversarial validation",
        "ANOVA",
        "chi-square",
        "Cohen's d",
        "covariate shift",
        "Granger",
        "Kolmogorov-Smirnov",
        "normality",
        "partial correlation",
        "PSI",
        "sample size",
        "Wasserstein",
    ],
    "user_guide/questions": ["data drift", "covariate shift", "feature importance"],
    "user_guide/mmd": ["data drift", "energy distance", "KID", "categorical"],
    "user_guide/recipes": ["data drift", "covariate shift", "categorical", "KID"],
    "user_guide/hsic": ["distance correlation", "distance covariance"],
    "user_guide/testing": [
        "false positive rate",
        "type I error",
        "missing values",
        "p-value",
    ],
    "user_guide/feature_selection": ["feature importance", "CKA"],
    "user_guide/pitfalls": ["false positive rate"],
}

# Pages
html_theme = "pydata_sphinx_theme"
html_title = "skdiscrepancy"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "skdiscrepancy"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 7,
    "show_nav_level": 1,
    "navigation_depth": 3,
    "show_prev_next": True,
    "icon_links": [],
    "footer_start": ["copyright"],
    "footer_center": [],
    "footer_end": [],
}
# Pages without a section of their own have nothing to show beside them.
html_sidebars = {
    page.stem: [] for page in sorted(HERE.glob("*.rst")) if page.stem != "api"
}


def link_parameters(app, what, name, obj, options, lines):
    """Link to parameters that a function shares with another, instead of repeating."""
    shared = "**params : dict"
    raw = (inspect.getdoc(getattr(obj, "__wrapped__", None)) or "").splitlines()
    if shared in raw:
        own = {n for line in raw for n in line.partition(" : ")[0].split(", ")}
        others = [n for n in inspect.signature(obj).parameters if n not in own]
        lines[:] = [", ".join(others) if line == shared else line for line in raw]


def mend_docstring(app, what, name, obj, options, lines):
    """Adapt a docstring, as numpydoc has left it, to these pages."""
    inherited = getattr(inspect.unwrap(obj), "__module__", None) or ""
    for i, line in enumerate(lines):
        # "A. Author" is the first item of a list to docutils.
        lines[i] = re.sub(r"^(\s*\.\. \[[\w-]+\] )(?=[A-Z]\. )", r"\1\\", line)
        if inherited.startswith("sklearn."):
            # Labels of another project are not known without a network.
            lines[i] = re.sub(r":ref:`([^`<]*?)( <[^`]*>)?`", r"\1", lines[i])


def add_search_words(app, doctree):
    """Put the words of a page into the index, as main entries for its first section."""
    if words := app.config.search_words.get(app.env.docname):
        section = next(doctree.findall(nodes.section))
        anchor = section["ids"][0]
        entries = [("single", word, anchor, "main", None) for word in words]
        section.insert(1, addnodes.index(entries=entries, inline=False))


def find_other_name(app, env, node, contnode):
    """Refer to the functions of `inference` at the top level, where their pages are."""
    name = node.get("reftarget", "").removeprefix("skdiscrepancy.inference.")
    if name not in skdiscrepancy.inference.__all__ or name not in skdiscrepancy.__all__:
        return None
    return env.domains["py"].resolve_xref(
        env,
        node["refdoc"],
        app.builder,
        node["reftype"],
        f"skdiscrepancy.{name}",
        node,
        contnode,
    )


def setup(app):
    """Connect to Sphinx."""
    app.add_config_value("search_words", {}, "env")
    app.connect("autodoc-process-docstring", link_parameters, priority=100)
    app.connect("autodoc-process-docstring", mend_docstring, priority=900)
    app.connect("doctree-read", add_search_words)
    app.connect("missing-reference", find_other_name)
