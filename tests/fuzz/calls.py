"""Calls as Python source: what is run is what a finding prints."""

# SPDX-License-Identifier: BSD-3-Clause

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import hostile_parameters as params
import numpy as np
from hypothesis import strategies as st
from oracle import parameter_names

# In the order in which a finding prints them.
IMPORTS = [
    "import decimal",
    "from fractions import Fraction",
    "import numpy as np",
    "import pandas as pd",
    "import polars as pl",
    "import scipy.sparse as sp",
    "from scipy import stats",
    "from sklearn.covariance import EmpiricalCovariance",
    "from sklearn.gaussian_process.kernels import RBF",
    "from sklearn.linear_model import LinearRegression",
    "from sklearn.mixture import GaussianMixture",
    "from sklearn.model_selection import GroupKFold",
    "from sklearn.model_selection import KFold",
    "from sklearn.neighbors import KernelDensity",
    "from sklearn.pipeline import make_pipeline",
    "from sklearn.preprocessing import StandardScaler",
]
PACKAGE_IMPORTS = {
    "skdiscrepancy": [
        "CKAEstimator",
        "HSICEstimator",
        "KSDEstimator",
        "MMDEstimator",
        "cka_score",
        "change_point_test",
        "conditional_hsic_test",
        "hsic_column_tests",
        "hsic_compare",
        "hsic_from_gram",
        "hsic_matrix",
        "hsic_score",
        "hsic_test",
        "hsic_test_from_gram",
        "joint_independence_test",
        "k_sample_test",
        "ksd_compare",
        "ksd_from_gram",
        "ksd_score",
        "ksd_test",
        "ksd_test_from_gram",
        "mmd_column_tests",
        "mmd_compare",
        "mmd_from_gram",
        "mmd_score",
        "mmd_subsets",
        "mmd_test",
        "mmd_test_from_gram",
    ],
    "skdiscrepancy.bandwidths": [
        "bandwidth_grid",
        "inter_sample_distances",
        "kernel_collection",
        "median_bandwidth",
    ],
    "skdiscrepancy.designs": [
        "Blocks",
        "CompleteU",
        "CompleteV",
        "Cross",
        "Linear",
        "RandomPairs",
        "Subdiagonals",
        "check_design",
    ],
    "skdiscrepancy.feature_selection": [
        "ColumnCKA",
        "HSICSelector",
        "HSICSelectorCV",
        "hsic_classif",
        "hsic_regression",
    ],
    "skdiscrepancy.kernels": [
        "ColumnKernel",
        "CosineKernel",
        "CovarianceKernel",
        "EnergyKernel",
        "FeatureKernel",
        "FunctionKernel",
        "GaussianKernel",
        "IMQKernel",
        "IndicatorKernel",
        "LaplaceKernel",
        "LinearKernel",
        "MaternKernel",
        "PolynomialKernel",
        "PrecomputedKernel",
        "ProductKernel",
        "SumKernel",
        "check_kernel",
    ],
    "skdiscrepancy.model_checking": [
        "HyvarinenScorer",
        "KSDScorer",
        "MMDScorer",
        "MMDThinning",
        "SteinThinning",
        "search_compare",
        "neg_hyvarinen_scorer",
        "neg_ksd_scorer",
        "neg_mmd_scorer",
        "log_density_gradient",
        "log_density_gradient_of",
        "stein_thinning",
    ],
    "skdiscrepancy.monitoring": [
        "DriftMonitor",
        "SequentialHSICTest",
        "SequentialKSDTest",
        "SequentialMMDTest",
        "drift_report",
    ],
    "skdiscrepancy.plotting": [
        "BandwidthDisplay",
        "BatchScoresDisplay",
        "CKADisplay",
        "ChangePointDisplay",
        "ColumnTestsDisplay",
        "ComparisonDisplay",
        "DesignDisplay",
        "DriftReportDisplay",
        "HSICMatrixDisplay",
        "KSampleDisplay",
        "NullDistributionDisplay",
        "SelectionCVDisplay",
        "SelectionDisplay",
        "SubsetsDisplay",
        "WitnessDisplay",
    ],
    "skdiscrepancy.pooling": ["normalize_statistics", "pool_statistics"],
    "skdiscrepancy.tables": ["TableEncoder"],
}
IMPORTS += [
    f"from {module} import {name}"
    for module, names in PACKAGE_IMPORTS.items()
    for name in names
]
NAMESPACE = {}
exec("\n".join(IMPORTS), NAMESPACE)


@dataclass(frozen=True)
class Call:
    """Data, and an expression that uses them.

    Attributes
    ----------
    data : dict of str to str
        Expressions of the arguments, by name; later ones may use earlier ones.
    expression : str
        The call, with a place ``{group}`` for each group of keywords.
    keywords : dict of str to dict of str to str
        Expressions of the keywords of each group, by name.
    read_only : tuple of str
        Arguments whose arrays cannot be written.
    """

    data: dict
    expression: str
    keywords: dict = field(default_factory=dict)
    read_only: tuple = ()

    def with_keyword(self, group, name, expression):
        """Return the call with another value of one keyword."""
        keywords = {**self.keywords, group: {**self.keywords[group], name: expression}}
        return replace(self, keywords=keywords)

    def data_values(self):
        """Make the arguments anew."""
        space = dict(NAMESPACE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, expression in self.data.items():
                space[name] = eval(expression, space)
        values = {name: space[name] for name in self.data}
        for name in self.read_only:
            values[name].setflags(write=False)
        return values

    def keyword_values(self, data):
        """Make the keywords anew, by group."""
        space = {**NAMESPACE, **data}
        return {
            group: {name: eval(text, space) for name, text in members.items()}
            for group, members in self.keywords.items()
        }

    def run(self, data, keywords):
        """Return the result for these arguments and keywords."""
        places = {group: f"**{group}" for group in keywords}
        space = {**NAMESPACE, **data, **keywords}
        return eval(self.expression.format(**places), space)

    def source(self):
        """Return the call as a script."""
        lines = [f"{name} = {text}" for name, text in self.data.items()]
        lines += [f"{name}.setflags(write=False)" for name in self.read_only]
        places = {
            group: ", ".join(f"{name}={text}" for name, text in members.items())
            for group, members in self.keywords.items()
        }
        expression = self.expression.format(**places)
        lines.append(re.sub(r", (?=\))", "", expression))
        words = set(re.findall(r"\w+", "\n".join(lines)))
        imports = [line for line in IMPORTS if line.split()[-1] in words]
        return "\n".join([*imports, *lines])


def is_float(result):
    return "" if type(result) is float else f"{type(result).__name__}, not float"


def is_test(result):
    expected = type(result.statistic) is float and type(result.pvalue) is float
    if not expected or len(result.statistics) != len(result.kernels):
        return "fields are not as documented"
    none = not len(result.null_distribution) and result.null_limit is None
    # The gamma test of a constant has none, and rejects nothing.
    if none and (result.method, result.pvalue) != ("gamma", 1.0):
        return "no null distribution"
    return ""


def is_evaluation(result):
    lengths = {len(result.statistics), len(result.scales), len(result.kernels)}
    return is_float(result.value) or ("lengths differ" if len(lengths) > 1 else "")


def is_array(result):
    return "" if isinstance(result, np.ndarray) else f"{type(result).__name__}"


def is_anything(result):
    return ""


@dataclass(frozen=True)
class Target:
    """One function or method, and what it may be called with.

    Attributes
    ----------
    expression : str
        The call, with places for groups of keywords.
    data : strategy
        Draws expressions of the arguments, and which of them are read-only.
    groups : dict of str to dict of str to strategy
        Keywords of each group.
    always : dict of str to tuple of str
        Keywords that are given in every call, so that it is short and repeatable.
    documented : callable
        Returns what is wrong with a result, or nothing.
    near : {"value", "normalized", "pvalue"} or None
        What is compared between float32 and float64; "normalized" is the value of calls
        that do not change `normalize`.
    names : set of str
        Names of parameters, one of which a message has.
    takes_missing : bool
        Whether missing values are data like others.
    """

    expression: str
    data: st.SearchStrategy
    groups: dict = field(default_factory=dict)
    always: dict = field(default_factory=dict)
    documented: Callable = is_anything
    near: str | None = None
    names: frozenset = frozenset()
    takes_missing: bool = False

    @property
    def calls(self):
        return calls(self)


@st.composite
def calls(draw, target):
    values, read_only = draw(target.data)
    return Call(
        data=values,
        expression=target.expression,
        keywords={
            group: draw(params.keywords(members, target.always.get(group, ())))
            for group, members in target.groups.items()
        },
        read_only=read_only,
    )


COMMON_NAMES = {"n_samples", "n_features", "sample_weight"}
# A kernel and a design are parameters that have parameters.
COMMON_NAMES |= parameter_names(
    *(NAMESPACE[name] for name in PACKAGE_IMPORTS["skdiscrepancy.kernels"]),
    *(NAMESPACE[name] for name in PACKAGE_IMPORTS["skdiscrepancy.designs"]),
)
# Words of so many messages that they say nothing; calls of the kernels know them.
COMMON_NAMES -= {"first", "second", "function", "names", "name"}


# Given in every call of what has them.
ALWAYS = ("n_jobs", "random_state", "n_resamples", "n_probes")


def target(expression, data, *groups, callables, also=(), always=None, **options):
    """Make a target; a group is a dictionary of strategies."""
    groups = dict(zip(("keywords", "options"), groups, strict=False))
    names = parameter_names(*(NAMESPACE[name] for name in callables.split()))
    names |= COMMON_NAMES.union(also, *groups.values())
    if always is None:
        always = [
            name for name in ALWAYS for members in groups.values() if name in members
        ]
    given = {
        group: tuple(name for name in always if name in members)
        for group, members in groups.items()
    }
    return Target(expression, data, groups, given, names=frozenset(names), **options)
