"""Comparisons of candidates by their scores."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal, norm, t
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity

from skdiscrepancy import (
    MMDEstimator,
    hsic_compare,
    hsic_score,
    ksd_compare,
    ksd_score,
    mmd_compare,
    mmd_score,
)
from skdiscrepancy._statistics.noise import noise_rows
from skdiscrepancy.inference import ComparisonResult
from skdiscrepancy.inference._comparisons import sample_projections
from skdiscrepancy.model_checking import neg_ksd_scorer, search_compare

pd = pytest.importorskip("pandas")

PLAIN = {"normalize": False, "pooling": "mean"}
FIXED = {"kernel": "gaussian", "bandwidth": [1.0, 3.0]}
EAST, NORTH = np.eye(2)


def normal(*shape, seed=0):
    return np.random.RandomState(seed).normal(size=shape)


def mean_gaussian(A, B):
    squared = ((A[:, np.newaxis] - B) ** 2).sum(-1)
    return (np.exp(-squared) + np.exp(-squared / 9)) / 2


def test_scores_of_mmd_are_those_of_mmd_score():
    X, Y, Z = normal(30, 2), normal(25, 2, seed=1) + 0.3, normal(20, 2, seed=2) + 0.6
    result = mmd_compare(X, Y, Z, **FIXED)
    expected = [mmd_score(X, W, **FIXED, **PLAIN) for W in (Y, Z)]
    assert_allclose(result.scores, expected, rtol=1e-10)
    assert_allclose(result.difference, expected[0] - expected[1], rtol=1e-10)


def under_equality(difference, p, G):
    """Return the variance of a difference of equal scores, and its degrees."""
    # The variance of the mean of n rows, without bias.
    linear = [len(q) * np.var(q, ddof=1) for q in p]
    squares = np.sum(G**2)
    variance = 4 * max(sum(linear) - squares, 0) + 2 * squares
    spread = sum((4 * v) ** 2 / (len(q) - 1) for v, q in zip(linear, p, strict=True))
    rows = np.concatenate(p)
    change = -16 * (rows @ G @ rows) * difference / variance
    return variance + max(change, 0), variance**2 / spread, change


@pytest.mark.parametrize(("seed", "larger"), [(5, False), (1, True)])
def test_error_of_a_difference_of_mmds_is_that_of_its_forms(seed, larger):
    rng, sizes = np.random.RandomState(seed), (30, 10, 20)
    X, Y, Z = (rng.normal(size=(n, 2)) for n in sizes)
    samples = X, Y + 0.5 * EAST, Z + 0.5 * NORTH
    K = {
        (i, j): mean_gaussian(samples[i], samples[j])
        for i in range(3)
        for j in range(3)
    }

    def off(i):
        return (K[i, i].sum(axis=1) - np.diag(K[i, i])) / (sizes[i] - 1)

    # MMD(X, Y) - MMD(X, Z): the terms within X cancel.
    p = [
        K[0, 2].mean(axis=1) - K[0, 1].mean(axis=1),
        off(1) - K[1, 0].mean(axis=1),
        -(off(2) - K[2, 0].mean(axis=1)),
    ]
    signs = [[0, -1, 1], [-1, 1, 0], [1, 0, -1]]
    C = [(np.eye(n) - 1 / n) / n for n in sizes]
    G = np.block(
        [[signs[i][j] * C[i] @ K[i, j] @ C[j] for j in range(3)] for i in range(3)]
    )
    np.fill_diagonal(G, 0)
    result = mmd_compare(*samples, **FIXED)
    p = [(part - part.mean()) / len(part) for part in p]
    variance, degrees, change = under_equality(result.difference, p, G)
    assert (change > 0) == larger
    assert_allclose(result.standard_error**2, variance, rtol=1e-9)
    assert_allclose(result.n_degrees[0, 1], degrees, rtol=1e-9)


def test_projections_belong_to_the_rows_of_the_quadratic_form():
    X, Y = normal(150, 2), normal(120, 2, seed=1)
    [both], _ = sample_projections(MMDEstimator(**FIXED, **PLAIN), X, [Y])
    for name, rows in zip(both.linear, (X, Y), strict=True):
        block = both.quadratic[name, name]
        some = rows[noise_rows(len(rows), most=len(block))]
        C = np.eye(len(some)) - 1 / len(some)
        G = C @ mean_gaussian(some, some) @ C / (len(some) * len(rows))
        assert_allclose(block, G - np.diag(np.diag(G)), atol=1e-15)


def test_scores_of_ksd_and_hsic_are_those_of_one_call():
    X = normal(40, 2)
    result = ksd_compare(X, -X, 0.3 - X)
    expected = [ksd_score(X, G, **PLAIN) for G in (-X, 0.3 - X)]
    assert_allclose(result.scores, expected, rtol=1e-9)
    y = X[:, 0] + 0.5 * X[:, 1]
    result = hsic_compare(X[:, 0], X[:, 1], y)
    expected = [hsic_score(X[:, j], y, **PLAIN) for j in (0, 1)]
    assert_allclose(result.scores, expected, rtol=1e-9)


def test_error_of_a_difference_of_ksds_is_that_of_its_core():
    X, w, H = normal(30, 1)[:, 0], 1.5, []
    for mean in (0.2, 0.7):
        s, d = mean - X, X[:, np.newaxis] - X
        terms = np.outer(s, s) + 2 * (s[:, np.newaxis] - s) * d / w**2
        H.append(np.exp(-(d**2) / w**2) * (terms + 2 / w**2 - 4 * d**2 / w**4))
    core = H[0] - H[1]
    rows = (core.sum(axis=1) - np.diag(core)) / 29
    C = np.eye(30) - 1 / 30
    G = C @ core @ C / 900
    np.fill_diagonal(G, 0)
    projections = (rows - rows.mean()) / 30
    expected, degrees, _ = under_equality(rows.mean(), [projections], G)
    models = [multivariate_normal(mean=[m]) for m in (0.2, 0.7)]
    result = ksd_compare(X, *models, kernel="gaussian", bandwidth=w)
    assert_allclose(result.difference, rows.mean(), rtol=1e-9)
    assert_allclose(result.standard_error**2, expected, rtol=1e-9)
    assert_allclose(result.n_degrees[0, 1], degrees, rtol=1e-9)


def test_error_of_hsic_is_that_of_its_projections():
    x, e = normal(2, 40)
    options = {"kernel": "gaussian", "bandwidth": 1.5, "target_bandwidth": 1.5}
    result = hsic_compare(x, e, x + e, **options)
    K, L = (np.exp(-((z[:, np.newaxis] - z) ** 2) / 1.5**2) for z in (x, x + e))
    C = np.eye(40) - 1 / 40
    core = (C @ K @ C) * (C @ L @ C)
    G = C @ core @ C / 40**2
    squares = np.sum(G**2) - np.sum(np.diag(G) ** 2)
    sigma = hsic_scale(x, x + e, options)
    linear = sigma**2 / (4 * 39)
    expected = 4 * max(linear - squares, 0) + 2 * squares
    assert_allclose(result.standard_errors[0] ** 2, expected, rtol=1e-9)


def hsic_scale(x, y, options):
    from skdiscrepancy import HSICEstimator

    X = x[:, np.newaxis]
    hsic = HSICEstimator(**options, target_kernel="gaussian", pooling=None)
    return hsic.fit(X, y).evaluate(X, y).scales[0]


def test_pvalues_are_tails_of_student():
    X, Y, Z = normal(40, 1), normal(40, 1, seed=1) + 0.2, normal(40, 1, seed=2) + 0.8
    result = mmd_compare(X, Y, Z)
    z, student = result.difference / result.standard_error, t(result.n_degrees[0, 1])
    assert_allclose(result.pvalue_less, student.cdf(z), rtol=1e-12)
    assert_allclose(result.pvalue_greater, student.sf(z), rtol=1e-12)
    assert_allclose(result.pvalue, 2 * student.sf(abs(z)), rtol=1e-12)
    low, high = result.confidence_interval(0.9)
    assert_allclose((low + high) / 2, result.difference, rtol=1e-12)
    assert_allclose((high - low) / 2, student.ppf(0.95) * result.standard_error)
    swapped = mmd_compare(X, Z, Y)
    assert_allclose(swapped.difference, -result.difference, rtol=1e-10)
    assert_allclose(swapped.pvalue_greater, result.pvalue_less, rtol=1e-8)


def test_table_of_candidates_starts_with_the_best():
    X = normal(100, 2)
    shifts = {"far": 1.5, "near": 0.0, "middle": 0.7}
    samples = [normal(100, 2, seed=i + 1) + s for i, s in enumerate(shifts.values())]
    result = mmd_compare(X, *samples, names=list(shifts))
    frame = result.to_frame()
    assert list(frame.index) == ["near", "middle", "far"]
    assert frame["difference"].iloc[0] == 0
    assert result.best == "near"
    assert result.best_set() == ["near"]
    pair = result.pair("far", "near")
    assert_allclose(pair.difference, result.scores[0] - result.scores[1])
    assert pair.names == ["far", "near"]
    with pytest.raises(ValueError, match="There are 3 candidates, must be 2"):
        result.pvalue  # noqa: B018
    assert not hasattr(result, "pvalue")
    with pytest.raises(ValueError, match="candidate 'other', must be in"):
        result.pair("far", "other")


def test_adjusted_pvalues_are_those_of_holm_over_ordered_pairs():
    scores = np.array([1.0, 1.5, 4.0])
    errors = np.full((3, 3), 0.5)
    differences = scores[:, np.newaxis] - scores
    result = ComparisonResult(list("abc"), scores, errors[0], differences, errors)
    # One-sided p-values of six pairs, smallest first: c against a, c against b, ...
    assert_allclose(result.adjusted_pvalues[2], 6 * norm.sf(6), rtol=1e-10)
    assert_allclose(result.adjusted_pvalues[1], 4 * norm.sf(1), rtol=1e-10)
    assert result.adjusted_pvalues[0] == 1
    assert result.best_set() == ["a", "b"]


def test_dependence_prefers_the_larger_score():
    a, b, noise = normal(3, 150)
    result = hsic_compare(b, a, a + 0.2 * b + 0.5 * noise, names=["b", "a"])
    assert result.larger_is_better
    assert result.best == "a"
    assert result.best_set() == ["a"]
    assert result.pvalue_less < 0.01


def test_equal_candidates_do_not_differ():
    X, Y = normal(30, 2), normal(30, 2, seed=1) + 1
    result = ksd_compare(X, -X, -X)
    assert result.difference == 0
    assert result.pvalue == 1
    assert result.best_set() == ["model 0", "model 1"]
    result = mmd_compare(X, Y, Y)
    assert result.difference == 0
    assert result.pvalue == 1


def test_level_if_all_samples_share_a_distribution():
    rng = np.random.RandomState(0)
    pvalues = [
        mmd_compare(*rng.normal(size=(3, 40, 1)), **FIXED).pvalue for _ in range(200)
    ]
    # Binomial with p = .05: more than 20 of 200 for one seed in 1000.
    assert np.sum(np.array(pvalues) <= 0.05) <= 20


def test_small_samples_are_not_better_by_chance():
    rng, pvalues = np.random.RandomState(0), []
    for _ in range(300):
        X, Y, Z = (rng.normal(size=(n, 2)) for n in (60, 20, 200))
        candidates = Y + 0.5 * EAST, Z + 0.5 * NORTH
        result = mmd_compare(X, *candidates, kernel="gaussian", bandwidth=1.5)
        pvalues.append(result.pvalue_less)
    # Binomial with p = .025: more than 17 of 300 for one seed in 1000. With the
    # standard error of the observed difference, p is about .08.
    assert np.sum(np.array(pvalues) <= 0.025) <= 17


def test_result_does_not_depend_on_n_jobs():
    X, Y, Z = normal(3, 60, 2)
    assert mmd_compare(X, Y, Z) == mmd_compare(X, Y, Z, n_jobs=2)
    assert ksd_compare(X, -X, -2 * X) == ksd_compare(X, -X, -2 * X, n_jobs=2)
    first, second = (hsic_compare(X, Y, Z[:, 0], n_jobs=j) for j in (1, 2))
    assert first == second


def test_tables_are_encoded_together():
    rng = np.random.RandomState(0)

    def table(share):
        labels = np.where(rng.uniform(size=80) < share, "a", "b")
        return pd.DataFrame({"label": labels, "number": rng.normal(size=80)})

    X, near, far = table(0.5), table(0.5), table(0.95)
    result = mmd_compare(X, far, near, names=["far", "near"])
    assert result.best == "near"
    assert result.pvalue_greater < 0.01


def test_fitted_models_are_compared_and_others_refused():
    X, other = normal(200, 2), normal(200, 2, seed=1)
    good = GaussianMixture(random_state=0).fit(other)
    bad = GaussianMixture(random_state=0).fit(other + 1)
    result = ksd_compare(X, bad, good, names=["bad", "good"])
    assert result.best_set() == ["good"]
    with pytest.raises(ValueError, match=r"model 'model 1' is .* must be fitted"):
        ksd_compare(X, good, GaussianMixture())


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda X: mmd_compare(X, X), TypeError, "1 candidates given"),
        (lambda X: mmd_compare(X, [X, X]), TypeError, "at least 2"),
        (lambda X: hsic_compare(X, X[:, 0]), TypeError, "at least 3 arrays"),
        (lambda X: ksd_compare(X, -X), TypeError, "1 models given"),
        (lambda X: mmd_compare(X, X, X, names=["a"]), ValueError, "2 different names"),
        (lambda X: mmd_compare(X, X, X, names=["a", "a"]), ValueError, "different"),
        (lambda X: mmd_compare(X, X, X, names="ab"), TypeError, "names == 'ab'"),
        (lambda X: mmd_compare(X, X, X[:, :1]), ValueError, "candidate 1 has 1 feat"),
        (lambda X: mmd_compare(X, X * np.nan, X), ValueError, "candidate 0"),
        (
            lambda X: mmd_compare(X, X, X).confidence_interval(95),
            ValueError,
            "confidence == 95, must be a finite number > 0 and < 1",
        ),
        (lambda X: mmd_compare(X, X[:3], X), ValueError, "n_samples == 3"),
        (lambda X: mmd_compare(X, [X], X), ValueError, "candidate 0 is a list of bl"),
        (lambda X: mmd_compare([X], X, X), ValueError, "X is a list of blocks, and"),
        (lambda X: hsic_compare(X, X, [X]), ValueError, "y is a list of blocks, and"),
        (lambda X: ksd_compare([X], -X, X), ValueError, "X is a list of blocks, and"),
        (lambda X: ksd_compare(X[:3], -X[:3], -X[:3]), ValueError, "n_samples == 3"),
        (lambda X: ksd_compare(X, -X, -X[:5]), ValueError, "gradients of shape"),
        (lambda X: mmd_compare(X, X, X, bandwidth=-1), ValueError, "bandwidth == -1"),
        (lambda X: mmd_compare(X, X, X, design="v"), TypeError, "design"),
    ],
)
def test_bad_arguments_are_named(call, error, match):
    with pytest.raises(error, match=match):
        call(normal(20, 2))


class Unread:
    """A sample that must not be looked at."""

    def __array__(self, *args, **kwargs):
        raise AssertionError("The data were read")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel", "typo"),
        ("bandwidth", -1),
        ("n_bandwidths", 0),
        ("encoder", "typo"),
        ("n_jobs", 0),
        ("verbose", -1),
    ],
)
@pytest.mark.parametrize("compare", [mmd_compare, hsic_compare, ksd_compare])
def test_parameters_are_checked_before_the_data(compare, name, value):
    others = (np.negative, np.negative) if compare is ksd_compare else [Unread()] * 2
    with pytest.raises((ValueError, TypeError), match=name):
        compare(Unread(), *others, **{name: value})


def search_results():
    scores = normal(3, 5) + np.array([[0], [0.1], [4]])
    results = {f"split{i}_test_score": scores[:, i] for i in range(5)}
    return {**results, "params": [{"a": i} for i in range(3)]}, scores


def test_search_is_compared_with_the_corrected_t_test():
    found, scores = search_results()
    result = search_compare(found)
    d = scores[0] - scores[2]
    error = np.sqrt(d.var(ddof=1) * (1 / 5 + 1 / 4))
    pair = result.pair("a=0", "a=2")
    assert_allclose(pair.standard_error, error, rtol=1e-12)
    assert_allclose(pair.pvalue, 2 * t.sf(abs(d.mean() / error), 4), rtol=1e-10)
    assert result.best == "a=2"
    half = search_compare(found, test_fraction=0.5).pair("a=0", "a=2")
    assert_allclose(half.standard_error**2, d.var(ddof=1) * (1 / 5 + 1), rtol=1e-12)


def test_fitted_search_is_compared():
    X = normal(90, 1)
    grid = {"bandwidth": [0.4, 5.0]}
    search = GridSearchCV(KernelDensity(), grid, scoring=neg_ksd_scorer, cv=3).fit(X)
    result = search_compare(search)
    assert result.names == ["bandwidth=0.4", "bandwidth=5.0"]
    assert_allclose(result.scores, search.cv_results_["mean_test_score"], rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "options", "match"),
    [
        ({}, {"metric": "r2"}, "metric == 'r2', must be one of \\['score'\\]"),
        ({"split0_test_score": [np.nan, 1, 1]}, {}, "not finite"),
        ({"split1_test_score": [1.0]}, {}, "split1_test_score of shape"),
        ({}, {"test_fraction": 1.0}, "test_fraction"),
        ({}, {"names": ["a"]}, "3 different names"),
    ],
)
def test_bad_searches_are_named(change, options, match):
    found, _ = search_results()
    with pytest.raises(ValueError, match=match):
        search_compare({**found, **change}, **options)
    with pytest.raises(ValueError, match="must be a fitted search"):
        search_compare(KernelDensity())


def test_result_is_shown_pickled_and_drawn():
    pytest.importorskip("matplotlib").use("agg")
    X = normal(60, 2)
    result = mmd_compare(X, X + 0.1, X + 2, names=["near", "far"])
    assert pickle.loads(pickle.dumps(result)) == result
    assert "difference=" in repr(result)
    assert "adjusted p-value" in result._repr_html_()
    display = result.plot()
    assert display.names == ["near", "far"]
    assert_allclose(display.kept_.get_xdata(), [0])
    assert_allclose(display.worse_.get_xdata(), [-result.difference])
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == ["near", "far"]


def blocks(Z):
    """Return rows in two blocks."""
    return [Z[:17], Z[17:]]


def in_dask(Z):
    """Return rows in chunks of dask."""
    array = pytest.importorskip("dask.array")
    return array.from_array(Z, chunks=(11, *Z.shape[1:]))


MODELS = [multivariate_normal(mean=[m, 0]) for m in (0.1, 0.6)]
COMPARISONS = {
    "mmd": lambda make=np.asarray, **options: mmd_compare(
        make(normal(30, 2)), make(normal(25, 2, seed=1) + 0.3), normal(20, 2), **options
    ),
    "hsic": lambda make=np.asarray, **options: hsic_compare(
        make(normal(30, 2)),
        make(normal(30, 1, seed=1)),
        make(normal(30, 2)[:, 0] ** 2 + normal(30, seed=2)),
        **options,
    ),
    "ksd": lambda make=np.asarray, **options: ksd_compare(
        make(normal(30, 2)), *MODELS, **options
    ),
}
every_comparison = pytest.mark.parametrize("name", COMPARISONS)


def assert_same(result, expected, rtol=1e-9):
    for name in ("scores", "standard_errors", "difference_errors", "n_degrees"):
        one, other = getattr(result, name), getattr(expected, name)
        assert_allclose(one, other, rtol=rtol, atol=1e-14, err_msg=name)


@every_comparison
@pytest.mark.parametrize("make", [blocks, in_dask])
@pytest.mark.parametrize("block_length", [None, 3])
def test_rows_in_blocks_are_compared_like_rows_in_memory(name, make, block_length):
    options = {"n_components": 8, "random_state": 0, "block_length": block_length}
    in_memory = COMPARISONS[name](**options)
    assert_same(COMPARISONS[name](make, **options), in_memory)
    with pytest.raises(ValueError, match="n_components == None, must be an integer"):
        COMPARISONS[name](make)


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 31)])
def test_features_of_a_linear_kernel_are_exact(weights):
    for name in ("mmd", "hsic"):
        options = {"kernel": "linear", "sample_weight": weights, "block_length": 2}
        if name == "hsic":
            options["target_kernel"] = "linear"
        exact = COMPARISONS[name](**options)
        assert_same(COMPARISONS[name](n_components=4, **options), exact, 1e-10)


@every_comparison
def test_many_features_are_close_to_the_kernels(name):
    options = {"bandwidth": [1.0, 3.0]}
    if name == "hsic":
        options["target_bandwidth"] = [1.0, 3.0]
    exact = COMPARISONS[name](**options)
    found = COMPARISONS[name](n_components=1024, random_state=0, **options)
    # Features that are drawn at random have errors of a few percent.
    assert_allclose(found.difference, exact.difference, rtol=0.1)
    assert_allclose(found.standard_error, exact.standard_error, rtol=0.1)


@every_comparison
@pytest.mark.parametrize("features", [{}, {"n_components": 8, "random_state": 0}])
def test_equal_weights_and_blocks_of_one_row_change_nothing(name, features):
    plain = COMPARISONS[name](**features)
    options = {"sample_weight": np.full(30, 3.0), "block_length": 1}
    assert_same(COMPARISONS[name](**options, **features), plain)


def test_weighted_scores_are_those_of_the_estimators():
    X, Y, Z = normal(30, 2), normal(25, 2, seed=1), normal(20, 2, seed=2)
    w, v = np.arange(30.0), np.linspace(1, 3, 20)
    given = {"sample_weight": w, "candidate_weights": [None, v]}
    found = mmd_compare(X, Y, Z, **FIXED, **given).scores
    both = [
        mmd_score(X, C, sample_weight=w, sample_weight_Y=u, **FIXED, **PLAIN)
        for C, u in ((Y, None), (Z, v))
    ]
    assert_allclose(found, both, rtol=1e-10)
    y = X[:, 0] ** 2
    found = hsic_compare(X, X[:, :1], y, sample_weight=w, **FIXED).scores
    both = [hsic_score(C, y, sample_weight=w, **FIXED, **PLAIN) for C in (X, X[:, :1])]
    assert_allclose(found, both, rtol=1e-9)
    found = ksd_compare(X, -X, -2 * X, sample_weight=w, **FIXED).scores
    both = [ksd_score(X, s * X, sample_weight=w, **FIXED, **PLAIN) for s in (-1, -2)]
    assert_allclose(found, both, rtol=1e-9)


def test_projections_are_derivatives_by_the_weights():
    X, Y = normal(12, 1), normal(9, 1, seed=1) + 0.5
    w, step = np.linspace(1, 2, 12), 1e-6
    # One column: sums in sorted order must come back in the order of the rows.
    how = {"kernel": "laplace", "bandwidth": 1.0, "n_bandwidths": 1}
    estimator = MMDEstimator(**how, **PLAIN)
    [found], _ = sample_projections(estimator, X, [Y], [w, None])

    def score(weights):
        return mmd_score(X, Y, sample_weight=weights, **how, **PLAIN)

    for i in (0, 5, 11):
        change = (score(w + step * np.eye(12)[i]) - score(w - step * np.eye(12)[i])) / 2
        # The statistic has twice the projection, for a change relative to w_i.
        expected = 2 * found.linear["reference"][i] / w[i]
        assert_allclose(change / step, expected, rtol=1e-5)


def test_sums_over_blocks_replace_rows_of_a_series():
    X, Y = normal(24, 2), normal(20, 2, seed=1) + 0.3
    [rows], _ = sample_projections(MMDEstimator(**FIXED, **PLAIN), X, [Y])
    [found], _ = sample_projections(MMDEstimator(**FIXED, **PLAIN), X, [Y], None, 4)
    assert found.value == rows.value
    for name, n_blocks in (("reference", 6), ("candidate 0", 5)):
        sums = rows.linear[name].reshape(n_blocks, 4).sum(axis=1)
        assert_allclose(found.linear[name], sums, rtol=1e-9)
        assert found.sizes[name] == n_blocks
    K = mean_gaussian(X, Y)
    K = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
    sums = -K.reshape(6, 4, 5, 4).sum(axis=(1, 3)) / (24 * 20)
    assert_allclose(found.quadratic["reference", "candidate 0"], sums, rtol=1e-9)


def test_automatic_blocks_are_longer_for_a_series():
    # Moving averages of 8 numbers, the candidates with other means.
    sums = np.cumsum(normal(3, 400), axis=1)
    series = (sums[:, 8:] - sums[:, :-8]) / np.sqrt(8) + [[0], [1], [2]]
    options = {"kernel": "gaussian", "bandwidth": 1.0}
    alone, in_blocks = (
        mmd_compare(*series, block_length=length, **options)
        for length in (None, "auto")
    )
    assert_allclose(in_blocks.scores, alone.scores, rtol=1e-12)
    assert np.all(in_blocks.standard_errors > 1.5 * alone.standard_errors)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"block_length": 0}, "block_length == 0, must be"),
        ({"block_length": 6}, "block_length == 6, must be from 1 to 5"),
        ({"candidate_weights": [None]}, "candidate_weights has 1 entries, must have 2"),
        ({"sample_weight": np.ones(3)}, r"has shape \(3,\), must have"),
        ({"n_components": 0}, "n_components == 0"),
    ],
)
def test_bad_options_are_named(options, match):
    with pytest.raises(ValueError, match=match):
        COMPARISONS["mmd"](**options)
