"""Expressions of the values of parameters, by name: allowed ones and hostile ones."""

# SPDX-License-Identifier: BSD-3-Clause

from hostile_data import one_of, rarely
from hypothesis import strategies as st

KERNELS = [
    "'gaussian'",
    "'laplace'",
    "'imq'",
    "'matern32'",
    "'matern92'",
    "('gaussian', 'laplace')",
    "GaussianKernel(bandwidth=2.0)",
    "LaplaceKernel(bandwidth=[0.5, 1.0])",
    "MaternKernel(nu=2.5, p=1)",
    "MaternKernel(nu=0.5, p=3)",
    "[IMQKernel(), 'matern52']",
    "'indicator'",
    "IndicatorKernel(balanced=True)",
    "RBF(1.0)",
    "(lambda A, B: A @ B.T)",
    "'linear'",
    "'energy'",
    "'rbf'",
    "'polynomial'",
    "'cosine'",
    "'laplacian'",
    "('gaussian', 'energy', 'linear')",
    "EnergyKernel(0.5)",
    "AffineKernel()",
    "PolynomialKernel(2, gamma=0.5, coef0=0)",
    "FunctionKernel('sigmoid', {'gamma': 0.1})",
    "(lambda A, B: np.minimum(A[:, :1], B[:, 0]))",
    "GaussianKernel() + LaplaceKernel(bandwidth=1.0)",
    "GaussianKernel() * LinearKernel()",
    "ColumnKernel(GaussianKernel(), 0)",
    "FeatureKernel(StandardScaler())",
    "ColumnKernel(MaternKernel(), [0]) * ColumnKernel(IndicatorKernel(), -1)",
    "ColumnKernel(EnergyKernel(), slice(None)) + CosineKernel()",
    "GaussianKernel(metric='cosine')",
    "LaplaceKernel(metric='hamming')",
    "IMQKernel(bandwidth=2.0, metric='chebyshev')",
    "MaternKernel(metric='sqeuclidean')",
]
HOSTILE_KERNELS = [
    "'nope'",
    "None",
    "[]",
    "3",
    "GaussianKernel",
    "['gaussian', None]",
    "GaussianKernel(bandwidth=0)",
    "GaussianKernel(bandwidth=1e-300)",
    "GaussianKernel(bandwidth=1e300)",
    "LaplaceKernel(bandwidth='nope')",
    "MaternKernel(nu=2)",
    "MaternKernel(p=0.5)",
    "MaternKernel(p=np.inf)",
    "MaternKernel(p=1e300)",
    "IndicatorKernel(balanced='a')",
    "(lambda A, B: 1.0)",
    "(lambda A, B: np.full((len(A), len(B)), np.nan))",
    "(lambda A, B: np.full((len(A), len(B)), 1e300))",
    "(lambda A, B: 1j * (A @ B.T))",
    "(lambda A, B: sp.csr_matrix(A @ B.T))",
    "(lambda A, B: (A @ B.T).astype(str))",
    "(lambda A, B: (A @ B.T)[:, 1:])",
    "(lambda A, B: np.negative(A, out=A) @ B.T)",
    "(lambda A: A)",
    "'precomputed'",
    "'chi2'",
    "'additive_chi2'",
    "'sigmoid'",
    "GaussianKernel(metric='nope')",
    "GaussianKernel(metric='precomputed')",
    "GaussianKernel(metric='mahalanobis')",
    "GaussianKernel(metric='haversine')",
    "GaussianKernel(metric='jaccard')",
    "IMQKernel(metric='canberra')",
    "IMQKernel(metric='correlation')",
    "LaplaceKernel(metric='nan_euclidean')",
    "LaplaceKernel(metric=3)",
    "GaussianKernel(metric=lambda a, b: np.nan)",
    "PolynomialKernel(0)",
    "PolynomialKernel(100)",
    "PolynomialKernel(10**400)",
    "PolynomialKernel(gamma=1e300)",
    "PolynomialKernel(coef0=-1)",
    "EnergyKernel(3)",
    "AffineKernel(-1)",
    "EnergyKernel(1e-300)",
    "EnergyKernel(origin=[1.0])",
    "EnergyKernel(origin='a')",
    "CovarianceKernel(origin=[[1.0]])",
    "ColumnKernel(GaussianKernel(), 10**400)",
    "ColumnKernel(GaussianKernel(), 'c0')",
    "ColumnKernel(GaussianKernel(), [True])",
    "ColumnKernel(GaussianKernel(), [0, 0])",
    "ColumnKernel(GaussianKernel(), [])",
    "ColumnKernel(GaussianKernel(), lambda X: [0])",
    "ColumnKernel(GaussianKernel(), lambda X: None)",
    "ColumnKernel('gaussian', 0)",
    "GaussianKernel(bandwidth=[1.0, 2.0]) + GaussianKernel()",
    "GaussianKernel(bandwidth='nope') * LinearKernel()",
    "PrecomputedKernel(np.eye(3))",
    "PrecomputedKernel([[1.0, 2.0]])",
    "FunctionKernel('rbf', {'nope': 1})",
    "LinearKernel",
]
BANDWIDTHS = ["'grid'", "'median'", "1.0", "0.1", "[0.5, 2.0]", "'dyadic'"]
BANDWIDTHS += ["np.array([1, 2])", "np.float32(1)", "10", "1e-3", "1e3"]
HOSTILE_NUMBERS = ["0", "-1", "np.nan", "np.inf", "'nope'", "None", "[]", "True", "1j"]
HOSTILE_NUMBERS += ["10**400", "Fraction(1, 2)", "decimal.Decimal(1)", "[[1.0]]", "'1'"]
HOSTILE_NUMBERS += ["1e-300", "1e300", "1e-160", "1e160", "1e-30", "1e30", "5e-324"]
HOSTILE_NUMBERS += [
    "np.array(1.0)",
    "[1.0, None]",
    "np.longdouble(1)",
    "{}",
    "object()",
]
HOSTILE_INTEGERS = ["0", "-1", "1.5", "None", "'a'", "True", "10**400", "np.nan", "[1]"]
HOSTILE_INTEGERS += ["2.0", "np.array(2)", "np.uint8(2)", "10**9"]
# A number of this size asks for as much work; the largest are refused.
HOSTILE_SIZES = [text for text in HOSTILE_INTEGERS if text != "10**9"]
DESIGNS = ["'u'", "'v'", "'l'", "'d'", "'b'", "'x'", "'r'", "Blocks(n_blocks=2)"]
DESIGNS += ["Subdiagonals(n_subdiagonals=1)", "RandomPairs(n_pairs=5, replace=True)"]
DESIGNS += ["Cross(n_first=2)", "CompleteV()", "RandomPairs(n_pairs=7)"]
DESIGNS += ["Blocks(block_sizes=[2, 3])"]
HOSTILE_DESIGNS = ["'U'", "None", "3", "CompleteU", "Blocks(n_blocks=0)", "[]"]
HOSTILE_DESIGNS += ["Subdiagonals(n_subdiagonals=10**9)", "RandomPairs(n_pairs=10**6)"]
HOSTILE_DESIGNS += ["Cross(n_first=np.int64(3))", "Blocks(n_blocks=np.int64(2))"]
HOSTILE_DESIGNS += ["Blocks(block_sizes=[1])", "Cross(n_first='a')"]
HOSTILE_DESIGNS += ["Blocks(block_sizes=[[2], [2, 3]])", "Blocks(n_blocks=10**400)"]
HOSTILE_DESIGNS += ["RandomPairs(n_pairs=10**400, replace=True)", "10**400"]
HOSTILE_DESIGNS += ["RandomPairs(replace='a')", "Blocks(block_sizes=[2**63, 2**63])"]
HOSTILE_DESIGNS += ["RandomPairs(n_pairs=1.5)", "Subdiagonals(n_subdiagonals='half')"]
ENCODERS = ["'auto'", "None", "TableEncoder()", "StandardScaler()"]
HOSTILE_ENCODERS = ["'nope'", "3", "TableEncoder", "[]", "GaussianKernel()"]
HOSTILE_ENCODERS += ["TableEncoder(max_categories=1)"]
BOOLS = ["True", "False"]
HOSTILE_BOOLS = ["None", "'a'", "1", "np.True_", "2", "np.array([True])"]
HOSTILE_WORDS = ["'nope'", "None", "3", "['max']", "''", "np.str_('max')"]
SEEDS = ["0", "1", "np.random.RandomState(1)", "np.random.default_rng(1)"]
HOSTILE_SEEDS = [
    "-1",
    "'a'",
    "1.5",
    "2**32",
    "10**400",
    "None",
    "np.int64(3)",
    "[1, 2]",
]
# Folds of few rows; sometimes they hold out too few of them.
FOLDS = ["2", "3", "KFold(2)", "GroupKFold(2)", "None"]
FOLDS += [
    "[(range(4), range(4, 8))]",
    "[(np.arange(len(X)) < 4, np.arange(len(X)) > 3)]",
]
HOSTILE_FOLDS = ["0", "1", "-1", "1.5", "'a'", "True", "10**400", "np.nan", "[]", "{}"]
HOSTILE_FOLDS += [
    "object()",
    "[[0]]",
    "[(1, 2)]",
    "[([0, 1], [10**9])]",
    "[(None, None)]",
]
HOSTILE_FOLDS += [
    "[([0, 1, 2], [3.0, 4.0, 5.0, 6.5])]",
    "KFold",
    "[([], [0, 1, 2, 3])]",
]
HOSTILE_FOLDS += ["np.array(2)", "2.0", "[(['a'] * 4, ['b'] * 4)]"]
JOBS = ["1", "None", "-1"]
HOSTILE_JOBS = ["0", "'a'", "1.5", "True", "np.int64(2)", "-100", "10**400", "10**9"]
WEIGHTS = ["np.arange(len(X)) % 3 + 1.0", "np.ones(len(X))", "[1.0] * len(X)"]
HOSTILE_WEIGHTS = ["np.zeros(len(X))", "-np.ones(len(X))", "np.ones(len(X) + 1)"]
HOSTILE_WEIGHTS += ["np.nan * np.ones(len(X))", "1.0", "'a'", "1e300 * np.ones(len(X))"]
HOSTILE_WEIGHTS += ["1e-300 * np.ones(len(X))", "1.0 * (np.arange(len(X)) == 0)"]
HOSTILE_WEIGHTS += ["np.ones((len(X), 2))", "np.array(['a'] * len(X))"]
HOSTILE_WEIGHTS += ["1.0 * (np.arange(len(X)) % 2)", "np.arange(len(X)) ** 20.0"]
METHODS = ["auto", "permutation", "swap", "shift", "wild", "asymptotic", "parametric"]
WORDS = {
    "pooling": ["'fuse'", "'mean'", "'max'", "None", "'agg'"],
    "method": [f"'{word}'" for word in METHODS],
    "selection": ["'lasso'", "'forward'", "'backward'"],
    "correction": ["'bh'", "'by'", "'holm'", "None"],
    "statistic": ["'cka'", "'hsic'"],
    "pvalue": ["'gamma'", "'permutation'", "None"],
    "preconditioner": ["'id'", "'med'", "'cov'", "'sclmed'", "'smpcov'"],
}


def values(allowed, hostile, one_in=5):
    return rarely(one_of(hostile), one_of(allowed), one_in)


def weights(name="X"):
    """Return weights of the rows of a sample, which may be sparse."""
    lists = WEIGHTS, HOSTILE_WEIGHTS
    length = f"np.shape({name})[0]"
    return values(
        *([text.replace("len(X)", length) for text in some] for some in lists)
    )


def words(name):
    return values(WORDS[name], HOSTILE_WORDS, 8)


def numbers(*allowed):
    return values(allowed, HOSTILE_NUMBERS)


def sizes(*allowed):
    return values(allowed, HOSTILE_SIZES)


KERNEL = values(KERNELS, HOSTILE_KERNELS)
BOOL = values(BOOLS, HOSTILE_BOOLS)
ORDER = {"p": numbers("2", "1", "3", "np.inf", "1.5")}
VERBOSE = {
    "verbose": values(["0"], ["-1", "'a'", "None", "True", "np.int64(0)", "10**400"], 4)
}
RUN = {
    "n_jobs": values(JOBS[:1], [*JOBS[1:], *HOSTILE_JOBS], 12),
    "random_state": values(SEEDS, HOSTILE_SEEDS, 12),
}
SEED = {"random_state": RUN["random_state"]}
STATISTIC = {
    "kernel": KERNEL,
    "bandwidth": values(BANDWIDTHS, HOSTILE_NUMBERS),
    "n_bandwidths": sizes("2", "1", "np.int64(2)", "None"),
    "design": values(DESIGNS, HOSTILE_DESIGNS),
    "normalize": BOOL,
    "squared": BOOL,
    "fuse_nu": numbers("'auto'", "1.0", "1e-9", "1e9"),
    "encoder": values(ENCODERS, HOSTILE_ENCODERS),
    **VERBOSE,
}
TARGET = {
    "target_kernel": values(["'auto'", *KERNELS], HOSTILE_KERNELS),
    "target_bandwidth": values(BANDWIDTHS, HOSTILE_NUMBERS),
}
COMPONENTS = {"n_components": values(["None", "16", "np.int64(7)"], HOSTILE_SIZES, 3)}
MMD = {**STATISTIC, "second_order": BOOL, **COMPONENTS}
HSIC = {**STATISTIC, "second_order": BOOL, **TARGET, **COMPONENTS}
KSD = {**STATISTIC, "standardize": BOOL, **COMPONENTS}
POOLING = {"pooling": words("pooling")}
# Parameters of scores that tests do not have.
OF_SCORES = ("n_bandwidths", "normalize", "squared", "fuse_nu", "second_order")
TEST = {
    "method": words("method"),
    "pooling": words("pooling"),
    "block_length": values(
        ["None", "1", "2", "np.int64(3)", "'auto'"], [*HOSTILE_SIZES, "'long'"]
    ),
}
CONDITIONAL = {
    **{key: STATISTIC[key] for key in ("kernel", "bandwidth")},
    "encoder": STATISTIC["encoder"],
    **VERBOSE,
    **TARGET,
    **{key: TEST[key] for key in ("pooling", "block_length")},
    "regressor": values(["None", "LinearRegression()"], ["3", "LinearRegression"]),
}
PAIRED = {"paired": BOOL}
# What takes one kernel, and one bandwidth.
ONE_KERNEL = {
    "kernel": KERNEL,
    "bandwidth": values(
        ["'median'", "1.0", "0.1", "10", "np.float32(1)", "1e3"],
        [*BANDWIDTHS, *HOSTILE_NUMBERS],
    ),
}
CKA = {
    **ONE_KERNEL,
    "target_kernel": values(["None", "'indicator'", *KERNELS], HOSTILE_KERNELS),
    "design": values(["'u'", "'v'"], [*DESIGNS, *HOSTILE_DESIGNS]),
    **VERBOSE,
}
SUBSETS = {
    **ONE_KERNEL,
    **VERBOSE,
    "n_subsets": sizes("3", "1", "np.int64(2)"),
    "subset_size": sizes("4", "2", "np.int64(3)", "6"),
}
RESAMPLES = {"n_resamples": values(["19", "9", "np.int64(19)", "1"], HOSTILE_INTEGERS)}
GRAM = {key: MMD[key] for key in ("design", "normalize", "second_order")}
FACTORS = {
    "kernel": KERNEL,
    "target_kernel": TARGET["target_kernel"],
    "bandwidth_factor": numbers("1.0", "0.1", "10"),
    "target_bandwidth_factor": numbers("1.0", "0.1", "10"),
}
GRAM_TEST = {**TEST, **RESAMPLES, **RUN, **VERBOSE, "design": MMD["design"]}
# Each column has its own kernel, so there is no transformer of all of them.
COLUMN_ENCODER = {"encoder": values(["'auto'", "None"], [*HOSTILE_ENCODERS, "1"], 8)}
SCORE = {
    **FACTORS,
    **COLUMN_ENCODER,
    **VERBOSE,
    "statistic": words("statistic"),
    "pvalue": words("pvalue"),
}
GROUPS = ["None", "[0] * X.shape[1]", "{'a': [0]}", "{'a': [0, X.shape[1] - 1]}"]
GROUPS += ["{'a': ['c0']}", "np.arange(X.shape[1]) // 2", "{}", "['a'] * X.shape[1]"]
HOSTILE_GROUPS = ["3", "'a'", "[0]", "{'a': []}", "{'a': 0}", "{'a': [-1]}", "[[0]]"]
HOSTILE_GROUPS += ["{'a': [10**400]}", "{'a': [0], 'b': [0]}", "{'a': ['nope']}"]
HOSTILE_GROUPS += ["[np.nan] * X.shape[1]", "[{}] * X.shape[1]", "{'a': [[0]]}"]
SELECTOR = {
    **FACTORS,
    **COLUMN_ENCODER,
    "groups": values(GROUPS, HOSTILE_GROUPS, 4),
    **VERBOSE,
    "n_features_to_select": values(
        ["1", "'auto'", "2", "0.5"], [*HOSTILE_INTEGERS, "1e-300"]
    ),
    "method": words("selection"),
    "step": values(["1", "2", "0.5"], HOSTILE_INTEGERS),
    "n_probes": sizes("3", "1", "np.int64(5)"),
}
SCORER = {
    "kernel": KERNEL,
    "bandwidth_factor": FACTORS["bandwidth_factor"],
    "design": STATISTIC["design"],
    "normalize": BOOL,
    "pooling": words("pooling"),
}


@st.composite
def keywords(draw, strategies, always=()):
    """Draw up to four of some keywords, and those that are always given."""
    if not strategies:
        return {}
    names = st.sampled_from(sorted(strategies))
    chosen = draw(st.lists(names, unique=True, max_size=4))
    return {name: draw(strategies[name]) for name in sorted({*chosen, *always})}
