"""What is called: kernels, their sums and products, and their profiles."""

# SPDX-License-Identifier: BSD-3-Clause

import hostile_data as data
import hostile_parameters as params
from calls import is_array, target
from hypothesis import strategies as st

NONE = st.just(())
SAMPLES = data.samples("X", "Y")
METRICS = ["None", "'cosine'", "'hamming'", "'chebyshev'", "'l1'", "'euclidean'"]
METRICS += ["(lambda a, b: np.abs(a - b).max())", "'sqeuclidean'", "'jaccard'"]
HOSTILE_METRICS = ["'nope'", "3", "''", "'precomputed'", "'mahalanobis'", "'haversine'"]
HOSTILE_METRICS += ["'seuclidean'", "'nan_euclidean'", "'canberra'", "'correlation'"]
HOSTILE_METRICS += ["(lambda a, b: -1.0)", "(lambda a, b: np.nan)", "[]", "np.linalg"]
HOSTILE_METRICS += ["(lambda a, b: 'a')", "(lambda a, b: a)", "(lambda a: 1.0)"]
HOSTILE_METRICS += [
    "(lambda a, b: None)",
    "(lambda a, b: 1j)",
    "'braycurtis'",
    "'yule'",
]
PARTS = ["GaussianKernel(bandwidth=1.0)", "LinearKernel()", "IndicatorKernel()"]
PARTS += ["EnergyKernel()", "LaplaceKernel(bandwidth=2.0, metric='cosine')"]
PARTS += ["PolynomialKernel(2)", "ColumnKernel(CosineKernel(), 0)"]
PARTS += ["FunctionKernel('rbf')", "GaussianKernel(bandwidth=1.0) + LinearKernel()"]
HOSTILE_PARTS = ["'gaussian'", "None", "3", "GaussianKernel", "GaussianKernel()", "[]"]
HOSTILE_PARTS += ["GaussianKernel(bandwidth=[1.0, 2.0])", "RBF(1.0)", "GaussianKernel"]
HOSTILE_PARTS += ["IndicatorKernel(balanced=True)", "PrecomputedKernel(np.eye(2))"]
HOSTILE_PARTS += ["(lambda A, B: A @ B.T)", "MaternKernel(nu=2)", "PolynomialKernel(0)"]
COLUMNS = ["0", "[0]", "-1", "slice(None)", "np.array([0])", "[0, -1]", "(0,)"]
COLUMNS += ["(lambda X: [0])", "slice(0, 1)", "np.int64(0)", "[True]", "'c0'", "['c0']"]
HOSTILE_COLUMNS = [
    "3",
    "10**400",
    "1.5",
    "None",
    "[]",
    "True",
    "[0, 'c0']",
    "{}",
    "{0}",
]
HOSTILE_COLUMNS += ["slice(5, 5)", "[False]", "np.array([[0]])", "[0, 0]", "[None]"]
HOSTILE_COLUMNS += ["(lambda X: None)", "(lambda X: X)", "'nope'", "slice('a', 'b')"]
HOSTILE_COLUMNS += [
    "np.array([0.0])",
    "np.array(0)",
    "[-100]",
    "range(1)",
    "slice(1.5)",
]
FUNCTIONS = ["'rbf'", "'sigmoid'", "(lambda A, B: A @ B.T)", "'chi2'", "'cosine'"]
FUNCTIONS += ["(lambda A, B, gamma=1: gamma * (A @ B.T))"]
HOSTILE_FUNCTIONS = [
    "'nope'",
    "None",
    "3",
    "(lambda A, B: None)",
    "'precomputed'",
    "[]",
]
HOSTILE_FUNCTIONS += ["(lambda A, B: 1j * (A @ B.T))", "(lambda A, B: A)"]
HOSTILE_FUNCTIONS += ["(lambda A, B: sp.csr_matrix(A @ B.T))", "(lambda A: A)", "float"]
HOSTILE_FUNCTIONS += ["(lambda A, B: (A @ B.T).astype(object))", "GaussianKernel()"]
PARAMS = ["None", "{}", "{'gamma': 0.5}"]
HOSTILE_PARAMS = ["{'nope': 1}", "3", "[]", "{'gamma': 'a'}", "{1: 2}", "'gamma'"]
HOSTILE_PARAMS += ["{'gamma': 1e300}", "{'gamma': None}", "{'gamma': -1}"]
TRANSFORMERS = ["StandardScaler()", "make_pipeline(StandardScaler())"]
HOSTILE_TRANSFORMERS = ["None", "3", "StandardScaler", "GaussianMixture(2)", "'pca'"]
HOSTILE_TRANSFORMERS += [
    "LinearRegression()",
    "GaussianKernel()",
    "StandardScaler(copy=3)",
]
MATRICES = ["np.eye(30)", "np.exp(-np.subtract.outer(np.arange(9), np.arange(9)) ** 2)"]
MATRICES += [
    "np.eye(5, dtype=np.float32)",
    "[[1.0, 0.5], [0.5, 1.0]]",
    "np.ones((3, 3))",
]
HOSTILE_MATRICES = ["None", "[]", "3", "np.ones((2, 3))", "np.triu(np.ones((3, 3)))"]
HOSTILE_MATRICES += ["np.nan * np.eye(9)", "1e300 * np.eye(9)", "1j * np.eye(9)", "'K'"]
HOSTILE_MATRICES += ["sp.eye(9).tocsr()", "np.eye(9).astype(str)", "np.eye(9) > 0"]
HOSTILE_MATRICES += ["pd.DataFrame(np.eye(9))", "np.ma.masked_greater(np.eye(9), 0.5)"]
HOSTILE_MATRICES += [
    "np.eye(9, dtype=int)",
    "np.eye(9).astype(object)",
    "np.eye(9)[None]",
]
# A function of two rows is slow for a thousand rows.
NAMED_METRIC = params.values(
    [text for text in METRICS if "lambda" not in text],
    [text for text in HOSTILE_METRICS if "lambda" not in text],
)
WIDTH = {
    "bandwidth": params.numbers("1.0", "0.1", "np.int64(3)", "1e3"),
    "metric": params.values(METRICS, HOSTILE_METRICS),
}
RADIAL = [
    ("GaussianKernel", WIDTH),
    ("LaplaceKernel", WIDTH),
    ("IMQKernel", WIDTH),
    (
        "MaternKernel",
        {**WIDTH, "nu": params.numbers("1.5", "0.5", "2.5", "4.5"), **params.ORDER},
    ),
]
PART = params.values(PARTS, HOSTILE_PARTS)
ORIGIN = params.values(
    ["None", "[0.0]", "X[0]", "np.zeros(2)"],
    ["3", "'a'", "[np.nan]", "[]", "[[1.0]]", "X", "[1e300]", "[1j]"],
)
OTHERS = [
    ("IndicatorKernel", {"balanced": params.BOOL}),
    ("LinearKernel", {}),
    ("CosineKernel", {}),
    (
        "PolynomialKernel",
        {
            "degree": params.sizes("3", "1", "2", "np.int64(5)", "50"),
            "gamma": params.numbers("None", "0.5", "2"),
            "coef0": params.numbers("1", "0", "0.5"),
        },
    ),
    (
        "EnergyKernel",
        {"exponent": params.numbers("1", "0.5", "1.9", "2"), "origin": ORIGIN},
    ),
    ("CovarianceKernel", {"origin": ORIGIN}),
    (
        "FunctionKernel",
        {
            "function": params.values(FUNCTIONS, HOSTILE_FUNCTIONS),
            "params": params.values(PARAMS, HOSTILE_PARAMS),
        },
    ),
    (
        "FeatureKernel",
        {"transformer": params.values(TRANSFORMERS, HOSTILE_TRANSFORMERS)},
    ),
    ("PrecomputedKernel", {"K": params.values(MATRICES, HOSTILE_MATRICES)}),
    (
        "ColumnKernel",
        {"kernel": PART, "columns": params.values(COLUMNS, HOSTILE_COLUMNS)},
    ),
    ("SumKernel", {"first": PART, "second": PART}),
    ("ProductKernel", {"first": PART, "second": PART}),
]
REQUIRED = [
    "bandwidth",
    "function",
    "transformer",
    "K",
    "kernel",
    "columns",
    "first",
    "second",
]


@st.composite
def positions(draw):
    """Draw rows of a Gram matrix; some of them are not in it."""
    usual = ["np.arange(2)[:, None]", "[[0], [1], [0]]", "np.zeros((4, 1))"]
    hostile = [
        "[[2]]",
        "[[-1]]",
        "[[0.5]]",
        "[[10**9]]",
        "[[1e300]]",
        "[[0, 1]]",
        "[0]",
    ]
    hostile += ["[['a']]", "pd.DataFrame({'a': [0, 1]})", "np.array([[1]], dtype=bool)"]
    one = data.rarely(data.one_of(hostile), data.one_of(usual), 4)
    return {"X": draw(one), "Y": draw(one)}, ()


def kernel_targets():
    """Yield Gram matrices of kernels, and profiles of radial kernels."""
    for name, members in [*RADIAL, *OTHERS]:
        few = data.plain_samples("X", "Y")
        if name == "PrecomputedKernel":
            few = positions()
        samples = {"": SAMPLES, " of few rows": few}
        large = {**members, **({"metric": NAMED_METRIC} if "metric" in members else {})}
        for rows, strategy in samples.items():
            yield (
                f"kernels.{name}{rows}",
                target(
                    f"{name}({{keywords}})(X, Y)",
                    strategy,
                    members if rows else large,
                    callables=name,
                    also=("X", "Y"),
                    always=REQUIRED,
                    documented=is_array,
                    # A product of rows has no bound, and may be far below its terms.
                    near="value" if {"bandwidth", "balanced"} & {*members} else None,
                ),
            )
    yield (
        "kernels.check_kernel",
        target(
            "check_kernel(kernel)",
            st.tuples(st.fixed_dictionaries({"kernel": params.KERNEL}), NONE),
            callables="check_kernel MaternKernel IndicatorKernel",
        ),
    )
    distances = ["np.linspace(0, 3, 5)", "[0.0, 1.0]", "2.0", "np.float32([[0, 1]])"]
    distances += ["np.arange(3)", "[1e-300, 1e300]", "[0.0, 5e-324]", "1e160"]
    hostile = ["-1.0", "np.nan", "np.inf", "'a'", "None", "[]", "[[1.0], [1.0, 2.0]]"]
    hostile += ["1j", "10**400", "sp.csr_matrix([[1.0]])", "object()", "{}", "[None]"]
    hostile += ["np.ma.masked_greater([1.0, 2.0], 1.5)", "np.datetime64('2020-01-01')"]
    distance = params.values(distances, hostile)
    for name, members in RADIAL:
        for method in ("profile", "profile_derivatives"):
            yield (
                f"kernels.{name}.{method}",
                target(
                    f"{name}({{keywords}}).{method}(distance)",
                    st.tuples(st.fixed_dictionaries({"distance": distance}), NONE),
                    members,
                    callables=name,
                    # What says that there are no derivatives.
                    also=("distance", name),
                    always=["bandwidth"],
                ),
            )
