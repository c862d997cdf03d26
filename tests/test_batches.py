"""Tests of fitting once and scoring often, and of the scores of batches."""

# SPDX-License-Identifier: BSD-3-Clause

import copy
import pickle
from itertools import product

import numpy as np
import pytest
import switches
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skdiscrepancy import MMDEstimator, mmd_score
from skdiscrepancy._gram import features
from skdiscrepancy.kernels import (
    ColumnKernel,
    FeatureKernel,
    GaussianKernel,
    IndicatorKernel,
    LaplaceKernel,
    LinearKernel,
    PrecomputedKernel,
)
from skdiscrepancy.plotting import BatchScoresDisplay

M, N = 40, 17
rng = np.random.RandomState(0)
X, Y = rng.normal(size=(M, 3)), rng.normal(0.5, 1, size=(N, 3))
GRAM = rbf_kernel(np.concatenate((X, Y)))
POSITIONS = np.arange(M)[:, np.newaxis], np.arange(M, M + N)[:, np.newaxis]
LABELS = rng.randint(4, size=(M, 1)), rng.randint(5, size=(N, 1))
TIES = np.round(X[:, :1], 1), np.round(Y[:, :1], 1)
COLUMN_KERNELS = ["laplace", "matern32", "matern92", "gaussian", "energy"]
# Samples, and kernels on them.
CASES = {
    "defaults": ((X, Y), ("gaussian", "laplace")),
    "float32": ((X.astype(np.float32), Y.astype(np.float32)), "gaussian"),
    "float32 and float64": ((X.astype(np.float32), Y), "gaussian"),
    "far float32": ((X.astype(np.float32), 1e6 + Y.astype(np.float32)), "gaussian"),
    "column": ((X[:, :1], Y[:, :1]), COLUMN_KERNELS),
    "ties": (TIES, COLUMN_KERNELS),
    "separate columns": ((X[:, :1], 100 + Y[:, :1]), COLUMN_KERNELS),
    "many columns": ((np.tile(X, 7), np.tile(Y, 7)), ["gaussian", "imq", "laplace"]),
    "sparse": ((csr_array(X[:9]), csr_array(Y[:4])), ["gaussian", "laplace"]),
    "sparse and dense": ((csr_array(X[:9]), Y[:4]), ["gaussian", "linear"]),
    "dense and sparse": ((X[:9], csr_array(Y[:4])), "gaussian"),
    "features": ((X, Y), ["linear", "polynomial", "gaussian"]),
    "function": ((X, Y), lambda A, B: rbf_kernel(A, B, gamma=0.7)),
    "sum and product": (
        (X, Y),
        [GaussianKernel() + LinearKernel(), GaussianKernel() * LaplaceKernel()],
    ),
    "some columns": ((X, Y), ColumnKernel(GaussianKernel(), [0, 2])),
    "metric": ((X, Y), GaussianKernel(metric="cosine")),
    "Gaussian process": ((X, Y), RBF(0.8) + WhiteKernel(0.1)),
    "precomputed": (POSITIONS, PrecomputedKernel(GRAM)),
    "labels": (LABELS, "indicator"),
    "balanced labels": (LABELS, IndicatorKernel(balanced=True)),
}


@pytest.fixture(params=switches.WAYS)
def every_way(request):
    with switches.way(request.param), switches.small_pieces():
        yield request.param


def assert_same_bits(case, **params):
    """Compare `score` with one call, which computes all sums in one walk."""
    (first, second), kernel = CASES[case]
    mmd = MMDEstimator(kernel=kernel, n_bandwidths=2, normalize=False).fit(first)
    mmd.set_params(**params)
    # The kernels have their bandwidths already.
    params = {**mmd.get_params(deep=False), "kernel": mmd.kernels_, "n_jobs": None}
    # Sums of dense rows are kept, and products with sparse rows round in another way.
    rtol = 1e-12 if case == "dense and sparse" else 0
    assert_allclose(mmd.score(second), mmd_score(first, second, **params), rtol=rtol)


@pytest.mark.parametrize("case", CASES)
def test_scores_have_the_bits_of_one_call(case):
    with switches.small_pieces():
        assert_same_bits(case)


@pytest.mark.parametrize("params", [{"design": "v"}, {"n_jobs": 2}])
@pytest.mark.parametrize("case", ["defaults", "many columns", "ties", "features"])
def test_scores_have_the_bits_of_one_call_in_every_way(case, params, every_way):
    assert_same_bits(case, **params)


@pytest.mark.parametrize("case", ["defaults", "column", "features"])
def test_contributions_are_those_of_a_walk_without_sums(case, every_way):
    (first, second), kernel = CASES[case]
    mmd = MMDEstimator(kernel=kernel, n_bandwidths=2).fit(first)
    # An estimator that was fitted for an incomplete design has no sums.
    other = MMDEstimator(kernel=kernel, n_bandwidths=2, design="l").fit(first)
    expected = other.contributions(second)
    assert_allclose(mmd.contributions(second), expected, rtol=1e-12, atol=1e-15)


class Counting:
    """A function that counts the pairs it is called for."""

    n_pairs = 0

    def __call__(self, A, B):
        self.n_pairs += len(A) * len(B)
        return rbf_kernel(A, B)


def test_score_evaluates_no_pair_within_the_reference():
    def pairs(m):
        rows = np.random.RandomState(0).normal(size=(m, 2))
        mmd = MMDEstimator(kernel=Counting()).fit(rows)
        # The kernel of the collection is a copy of the function.
        [kernel] = mmd.kernels_
        in_fit, kernel.function.n_pairs = kernel.function.n_pairs, 0
        mmd.score(Y[:, :2])
        return in_fit, kernel.function.n_pairs

    in_fit, in_score = pairs(500)
    assert in_fit >= 500 * 499 / 2
    assert in_score <= 500 * N + N**2


def test_fit_for_an_incomplete_design_evaluates_no_pair():
    mmd = MMDEstimator(kernel=Counting(), design="l").fit(X)
    assert mmd.kernels_[0].function.n_pairs == 0


@pytest.mark.filterwarnings("ignore:.*rows are not used:UserWarning")
@pytest.mark.parametrize(
    ("first", "then"),
    product(
        [{"design": "u"}, {"design": "v"}, {"design": "d"}, {"second_order": True}],
        [{"design": "u", "second_order": False}, {"design": "v"}, {"design": "x"}],
    ),
)
def test_a_design_that_is_changed_after_fit_gives_its_own_score(first, then):
    sample = np.tile(Y, (3, 1))[:M]
    changed = MMDEstimator(**first).fit(X).set_params(**then)
    fitted = MMDEstimator(**{**first, **then}).fit(X)
    assert changed.score(sample) == fitted.score(sample)


CHANGES = {
    "a kernel": ({}, {"kernel": "gaussian"}, "kernel == 'gaussian'"),
    "a bandwidth": ({}, {"bandwidth": 2.0}, "bandwidth == 2.0"),
    "a number in an array": (
        {"bandwidth": np.array([1.0, 2.0])},
        {"bandwidth": np.array([1.0, 3.0])},
        "bandwidth == ",
    ),
    "a number of bandwidths": ({}, {"n_bandwidths": 3}, "n_bandwidths == 3"),
    "an encoder": ({}, {"encoder": None}, "encoder == None"),
    "a parameter of a kernel": (
        {"kernel": GaussianKernel(bandwidth=1.0)},
        {"kernel__bandwidth": 3.0},
        r"kernel == GaussianKernel\(bandwidth=3.0\)",
    ),
    "a parameter of an encoder": (
        {"encoder": StandardScaler()},
        {"encoder__with_mean": False},
        r"encoder == StandardScaler\(with_mean=False\)",
    ),
}


@pytest.mark.parametrize("case", CHANGES)
@pytest.mark.parametrize(
    "use",
    [
        lambda mmd: mmd.score(Y),
        lambda mmd: mmd.evaluate(Y).value,
        lambda mmd: mmd.contributions(Y).tolist(),
        lambda mmd: mmd.witness(Y, Y).tolist(),
        lambda mmd: mmd.score_batches([Y]).tolist(),
    ],
)
def test_what_fit_learns_from_must_not_change_without_fit(case, use):
    given, changed, message = CHANGES[case]
    mmd = clone(MMDEstimator(**given)).fit(X)
    use(mmd)
    mmd.set_params(**changed)
    with pytest.raises(ValueError, match=message + r".* Call `fit` again\."):
        use(mmd)
    other = clone(MMDEstimator(**given)).set_params(**changed)
    assert use(mmd.fit(X)) == use(other.fit(X))


def _gram(A, B):
    return A @ B.T


@pytest.mark.parametrize(
    "given",
    [
        {"kernel": _gram},
        {"kernel": [GaussianKernel(bandwidth=1.0), _gram]},
        {"kernel": Counting()},
        {"bandwidth": np.array([1.0, 2.0])},
        {"kernel": 2.0 * RBF(1.5)},
        # NaN is not equal to itself.
        {"encoder": SimpleImputer(missing_values=float("nan"))},
    ],
)
def test_copies_of_an_estimator_score_without_fit(given):
    mmd = MMDEstimator(**given).fit(X)
    expected = mmd.score(Y)
    restored = pickle.loads(pickle.dumps(mmd))
    assert restored.score(Y) == copy.deepcopy(mmd).score(Y) == expected


@pytest.mark.parametrize(
    "make",
    [
        lambda: {"kernel": [GaussianKernel(bandwidth=1.0), _gram]},
        lambda: {"bandwidth": np.array([1.0, 2.0])},
        lambda: {"kernel": 2.0 * RBF(1.5)},
        lambda: {"kernel": ["gaussian"], "encoder": StandardScaler()},
    ],
)
def test_parameters_with_equal_values_are_not_a_change(make):
    mmd = MMDEstimator(**make()).fit(X)
    assert mmd.score(Y) == mmd.set_params(**make()).score(Y)


def test_a_gram_matrix_is_neither_copied_nor_taken_for_another():
    A, B = POSITIONS
    mmd = MMDEstimator(kernel=PrecomputedKernel(GRAM)).fit(A)
    restored = pickle.loads(pickle.dumps(mmd))
    assert restored.score(B) == mmd.score(B)
    mmd.set_params(kernel=PrecomputedKernel(GRAM / 2))
    with pytest.raises(ValueError, match="has changed since `fit`"):
        mmd.score(B)


@pytest.mark.parametrize("attribute", ["reference_", "kernels_"])
def test_sums_of_a_replaced_attribute_are_not_used(attribute):
    mmd, other = MMDEstimator().fit(X), MMDEstimator().fit(X + np.arange(3))
    setattr(mmd, attribute, getattr(other, attribute))
    kernels = mmd.kernels_
    assert mmd.score(Y) == mmd_score(mmd.reference_, Y, kernel=kernels)


def test_pickles_hold_the_sums_and_clones_do_not():
    mmd = MMDEstimator(kernel=Counting()).fit(X)
    restored = pickle.loads(pickle.dumps(mmd))
    restored.kernels_[0].function.n_pairs = 0
    assert restored.score(Y) == mmd.score(Y)
    assert restored.kernels_[0].function.n_pairs <= M * N + N**2
    assert set(vars(clone(mmd))) == set(mmd.get_params())
    assert repr(MMDEstimator().fit(X)) == "MMDEstimator()"


def test_a_reference_without_squares_is_scored_with_other_rows():
    narrow, kernel = 1e-170 * X, GaussianKernel(bandwidth=1.0)
    score = MMDEstimator(kernel=kernel).fit(narrow).score(Y)
    assert_allclose(score, MMDEstimator(kernel=kernel).fit(0 * X).score(Y), rtol=1e-12)


def test_states_that_are_too_large_to_keep_are_computed_again(monkeypatch):
    with switches.in_order():
        expected = MMDEstimator().fit(X[:, :1]).score(Y[:, :1])
        monkeypatch.setattr("skdiscrepancy._gram.sorted_columns.MOST_KEPT", 5000)
        assert MMDEstimator().fit(X[:, :1]).score(Y[:, :1]) == expected


def frames():
    """Return a table with days in no order, as pandas and polars hold it."""
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    days = rng.permutation(np.repeat(["tue", "mon", "wed"], [12, 20, 8]))
    columns = {"a": X[:, 0], "day": days.tolist(), "b": X[:, 1]}
    return days, {"pandas": pd.DataFrame(columns), "polars": pl.DataFrame(columns)}


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_scores_of_batches_are_the_scores_of_single_batches(n_jobs):
    mmd = MMDEstimator(n_bandwidths=2).fit(Y)
    parts = [X[:10], X[10:15], X[15:]]
    expected = [mmd.score(part) for part in parts]
    mmd.set_params(n_jobs=n_jobs)
    assert_array_equal(mmd.score_batches(parts), expected)
    assert_array_equal(mmd.score_batches(part for part in parts), expected)
    expected = [mmd.score(X[start : start + 9]) for start in range(0, M, 9)]
    assert len(expected) == 5
    for sample in (X, X.tolist()):
        assert_array_equal(mmd.score_batches(sample, batch_size=9), expected)
    of_sparse = mmd.score_batches(csr_array(X), batch_size=9)
    assert_allclose(of_sparse, expected, rtol=1e-9)
    assert_array_equal(mmd.score_batches(X[:36].reshape(4, 9, 3)), expected[:4])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_of_labels_divides_a_table(library):
    days, tables = frames()
    table = tables[library]
    mmd = MMDEstimator(n_bandwidths=2).fit(table[["a", "b"]])
    order = list(dict.fromkeys(days))
    plain = table[["a", "b"]]
    rows = [np.flatnonzero(days == day) for day in order]
    expected = [mmd.score(getattr(plain, "iloc", plain)[index]) for index in rows]
    assert_array_equal(mmd.score_batches(table, by="day"), expected)


def test_rows_that_are_too_few_for_a_batch_are_left_out_with_a_warning():
    mmd = MMDEstimator().fit(Y)
    with pytest.warns(UserWarning, match="1 of 40 rows are not used"):
        assert len(mmd.score_batches(X, batch_size=13)) == 3
    assert len(mmd.set_params(design="v").score_batches(X, batch_size=13)) == 4


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_random_pairs_of_batches_do_not_depend_on_threads(make):
    def scores(n_jobs):
        mmd = MMDEstimator(design="r", random_state=make(0), n_jobs=n_jobs)
        return mmd.fit(X[:10]).score_batches(X, batch_size=10)

    assert_array_equal(scores(1), scores(2))
    assert len(set(scores(1))) == 4


@pytest.mark.parametrize(
    ("batches", "options", "error", "match"),
    [
        (X, {}, ValueError, "batches is a single sample.*batch_size"),
        (X.tolist(), {}, ValueError, "batches is a single sample"),
        ([], {}, ValueError, r"batches == \[\]"),
        (3, {}, TypeError, "batches == 3"),
        ({"first": X, "second": Y}, {}, TypeError, "must be a list of samples"),
        ([X, X[:, :2]], {}, ValueError, "Batch 1: X has 2 features"),
        ([X, X[:1]], {}, ValueError, "Batch 1: .*minimum of 2"),
        ([X, X * np.nan], {}, ValueError, "Batch 1: .*NaN"),
        (X, {"batch_size": 1}, ValueError, "batch_size == 1"),
        ([X], {"batch_size": 5}, ValueError, "batch_size == 5"),
        (X, {"batch_size": 5, "by": "day"}, ValueError, "must not both"),
        (X, {"by": "day"}, TypeError, "by == 'day'.*DataFrame"),
    ],
)
def test_batches_that_cannot_be_read_are_refused(batches, options, error, match):
    with pytest.raises(error, match=match):
        MMDEstimator().fit(X).score_batches(batches, **options)


def test_labels_of_batches_must_be_known_columns_without_gaps():
    _, tables = frames()
    table = tables["pandas"]
    mmd = MMDEstimator().fit(table[["a", "b"]])
    with pytest.raises(ValueError, match="by == 'night', must be a column"):
        mmd.score_batches(table, by="night")
    with pytest.raises(ValueError, match=r"by == \['day'\], must be a column"):
        mmd.score_batches(table, by=["day"])
    table.loc[3, "day"] = None
    with pytest.raises(ValueError, match=r"batches\['day'\] contains NaN"):
        mmd.score_batches(table, by="day")


@pytest.mark.filterwarnings("ignore:.*rows are not used:UserWarning")
@pytest.mark.parametrize(
    ("kernel", "design", "n_columns"),
    [
        ("gaussian", "u", 3),
        ("gaussian", "v", 3),
        (["laplace", "energy"], "u", 1),
        ("linear", "u", 3),
        (IndicatorKernel(balanced=True), "u", 1),
        ("gaussian", "d", 3),
    ],
)
@pytest.mark.parametrize("switch", [switches.by_tiles, switches.in_order])
def test_the_band_has_the_scores_of_rows_held_out_of_the_reference(
    kernel, design, n_columns, switch
):
    with switch():
        check_band(kernel, design, n_columns)


def check_band(kernel, design, n_columns):
    """Compare a band with the scores of samples that share no row."""
    pytest.importorskip("matplotlib")
    # Ties, because rows are found by their values in sorted order.
    rows = np.round(X[:, :n_columns], 1)
    params = {"design": design, "normalize": False}
    mmd = MMDEstimator(kernel=kernel, n_bandwidths=2, **params).fit(rows)
    display = BatchScoresDisplay.from_estimator(
        mmd, [rows[:8], rows[5:13]], confidence=0.6, n_resamples=6, random_state=7
    )
    generator, scores = np.random.RandomState(7), []
    for _ in range(6):
        held_out = np.sort(generator.permutation(M)[:8])
        rest = np.delete(rows, held_out, axis=0)
        if design == "d":
            rest = rest[:8]
        scores.append(mmd_score(rest, rows[held_out], kernel=mmd.kernels_, **params))
    # A new score falls into each of the 7 gaps between 6 scores equally often. So the
    # 20 % and 80 % quantiles are 1.4 and 5.6 scores from below.
    scores.sort()
    expected = [
        scores[0] + 0.4 * (scores[1] - scores[0]),
        scores[4] + 0.6 * (scores[5] - scores[4]),
    ]
    assert_allclose(display.band, [expected, expected], rtol=1e-9, atol=1e-13)


def test_a_batch_has_a_band_of_batches_with_at_most_as_many_rows():
    pytest.importorskip("matplotlib")
    mmd = MMDEstimator(n_bandwidths=2).fit(X)
    options = {"n_resamples": 5, "random_state": 0}

    def band(*sizes):
        batches = [Y[:size] for size in sizes]
        return BatchScoresDisplay.from_estimator(mmd, batches, **options).band

    several = band(12, 5, 7, 3, 9, 11)
    # Six sizes, of which five have a band; the largest one has that of the next.
    expected = np.concatenate([band(size) for size in (11, 5, 7, 3, 9, 11)])
    assert_array_equal(several, expected)


def test_the_picture_shows_scores_labels_and_batches_above_the_band():
    pytest.importorskip("matplotlib")
    display = BatchScoresDisplay.from_scores(
        [0.1, 0.5, -0.2], labels=["mon", "tue", "wed"], band=(-0.1, 0.2), confidence=0.9
    )
    assert_array_equal(display.line_.get_ydata(), [0.1, 0.5, -0.2])
    assert_array_equal(display.above_.get_xdata(), [1])
    names = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert names == ["mon", "tue", "wed"]
    assert display.band_.get_label() == "90 % of batches of the reference"
    [vertices] = [path.vertices for path in display.band_.get_paths()]
    assert (vertices[:, 1].min(), vertices[:, 1].max()) == (-0.1, 0.2)
    plain = BatchScoresDisplay.from_scores([0.1, 0.5])
    assert plain.band_ is None
    assert plain.above_ is None


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"scores": []}, "scores has shape"),
        ({"scores": [1.0], "labels": ["a", "b"]}, "labels has 2 entries"),
        ({"scores": [1.0], "band": [1.0]}, "band has shape"),
    ],
)
def test_scores_that_cannot_be_drawn_are_refused(given, match):
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match=match):
        BatchScoresDisplay(**given).plot()


def test_the_band_needs_a_reference_larger_than_a_batch():
    pytest.importorskip("matplotlib")
    mmd = MMDEstimator().fit(X)
    with pytest.raises(ValueError, match="A batch has 40 rows, must have at most 38"):
        BatchScoresDisplay.from_estimator(mmd, [X])
    with pytest.raises(ValueError, match="confidence == "):
        BatchScoresDisplay.from_estimator(mmd, [Y], confidence=1.5)
    with pytest.raises(TypeError, match="must be a fitted MMDEstimator"):
        BatchScoresDisplay.from_estimator(X, [Y])


FEATURES = {"n_components": 6, "random_state": 0}
SPARSE = csr_array(X), csr_array(Y)
# Samples, and kernels on them.
FEATURE_CASES = {
    "random": ((X, Y), ["gaussian", "laplace"]),
    "float32": ((X.astype(np.float32), Y.astype(np.float32)), "imq"),
    "sum": ((X, Y), [GaussianKernel() + LinearKernel(), "gaussian"]),
    "exact": ((X, Y), [LinearKernel(), FeatureKernel(FunctionTransformer(csr_array))]),
    "sparse": (SPARSE, ["gaussian", "imq"]),
    "sparse and dense": ((SPARSE[0], Y), "gaussian"),
    "dense and sparse": ((X, SPARSE[1]), "gaussian"),
    "labels": (LABELS, ["indicator", IndicatorKernel(balanced=True)]),
    "blocks": (([X[:7], X[7:]], Y), ["gaussian", "linear"]),
    "batch in blocks": ((X, [Y[:7], Y[7:]]), "gaussian"),
}


@pytest.fixture(params=[2**22, 0], ids=["products", "no products"])
def most_products(request, monkeypatch):
    """Keep products of features, or sums alone."""
    monkeypatch.setattr(features, "MOST_PRODUCTS", request.param)


@pytest.mark.usefixtures("most_products")
@pytest.mark.parametrize("params", [{}, {"design": "v"}, {"normalize": False}])
@pytest.mark.parametrize("case", FEATURE_CASES)
def test_scores_from_features_are_those_of_one_call(case, params):
    (first, second), kernel = FEATURE_CASES[case]
    params = {"pooling": "mean", **FEATURES, **params}
    with switches.small_pieces():
        mmd = MMDEstimator(kernel=kernel, n_bandwidths=2, **params).fit(first)
        expected = mmd_score(first, second, kernel=mmd.kernels_, **params)
        assert_allclose(mmd.score(second), expected, rtol=1e-10, atol=1e-14)
        # Pickles hold the sums, and scales are found even if `fit` needed none.
        copied = mmd if case == "blocks" else pickle.loads(pickle.dumps(mmd))
        copied.set_params(normalize=True)
        params["normalize"] = True
        expected = mmd_score(first, second, kernel=mmd.kernels_, **params)
        assert_allclose(copied.score(second), expected, rtol=1e-10, atol=1e-14)


def test_a_score_from_features_does_not_read_the_reference():
    rows = X.copy()
    mmd = MMDEstimator(**FEATURES).fit(rows)
    scores = [mmd.score(Y), *mmd.contributions(Y)]
    rows[:] = 0
    assert_array_equal([mmd.score(Y), *mmd.contributions(Y)], scores)
    # Other features need the rows again.
    mmd.set_params(n_components=8)
    zeros = MMDEstimator(kernel=mmd.kernels_, **{**FEATURES, "n_components": 8})
    assert_allclose(mmd.score(Y), zeros.fit(rows).score(Y), rtol=1e-10)


def test_scales_are_accurate_for_features_far_from_zero():
    params = {"kernel": "linear", "design": "v", "pooling": None, **FEATURES}
    mmd = MMDEstimator(**params).fit(X + 1e6)
    # For the mean difference d, the statistic |d|^2 varies like 2 d . x.
    d = X.mean(axis=0) - Y.mean(axis=0)
    variance = np.var(X @ d) / M + np.var(Y @ d) / N
    expected = 2 * np.sqrt(2 * M * N / (M + N) * variance)
    assert_allclose(mmd.evaluate(Y + 1e6).scales, expected, rtol=1e-7)


@pytest.mark.usefixtures("most_products")
@pytest.mark.parametrize("case", ["random", "sum", "exact", "sparse", "labels"])
def test_rows_of_the_reference_are_scored_against_the_others_from_features(case):
    (first, _), kernel = FEATURE_CASES[case]
    mmd = MMDEstimator(kernel=kernel, n_bandwidths=2, **FEATURES).fit(first)
    scores = mmd._score_held_out(9, 4, 1)
    generator = np.random.RandomState(1)
    for score in scores:
        rows = np.sort(generator.permutation(M)[:9])
        others = np.delete(np.arange(M), rows)
        expected = mmd_score(
            first[others], first[rows], kernel=mmd.kernels_, **FEATURES
        )
        assert_allclose(score, expected, rtol=1e-9)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_batches_are_scored_from_features(n_jobs):
    mmd = MMDEstimator(n_jobs=n_jobs, **FEATURES).fit(X)
    batches = [Y, Y[:5], X[:9] + 1]
    expected = [mmd.score(batch) for batch in batches]
    assert_array_equal(mmd.score_batches(batches), expected)
    exact = MMDEstimator().fit(X).score_batches(batches)
    assert not np.any(np.isclose(expected, exact))


def test_a_band_needs_the_rows_of_the_reference():
    mmd = MMDEstimator(**FEATURES).fit([X[:9], X[9:]])
    with pytest.raises(ValueError, match=r"X is read by blocks.*in memory"):
        BatchScoresDisplay.from_estimator(mmd, [Y])


@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
def test_a_column_may_be_constant_in_the_reference_sample_only(kernel):
    X, Y = np.random.RandomState(0).normal(size=(2, 30, 2))
    X[:, 1] = 0
    params = {"kernel": kernel, "bandwidth": 1.0, "pooling": None}
    expected = mmd_score(X, Y, **params)
    with switches.in_order():
        assert_allclose(MMDEstimator(**params).fit(X).score(Y), expected, rtol=1e-10)
    assert_allclose(MMDEstimator(**params).fit(X).score(Y), expected, rtol=1e-10)
