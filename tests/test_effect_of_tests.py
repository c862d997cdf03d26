"""The effect size, which is one number for one question."""

# SPDX-License-Identifier: BSD-3-Clause

import copy
import csv
import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist
from scipy.stats import multivariate_normal

from skdiscrepancy import (
    HSICEstimator,
    KSDEstimator,
    MMDEstimator,
    conditional_hsic_test,
    hsic_column_tests,
    hsic_compare,
    hsic_test,
    joint_independence_test,
    k_sample_test,
    ksd_compare,
    ksd_test,
    mmd_column_tests,
    mmd_compare,
    mmd_test,
    mmd_test_from_gram,
)
from skdiscrepancy._statistics.evaluations import YARDSTICK
from skdiscrepancy.kernels import ColumnKernel, GaussianKernel, LaplaceKernel
from skdiscrepancy.monitoring import drift_report

FEW = {"n_resamples": 99, "random_state": 0}


def samples(m=40, n=30, d=2, shift=0.5, seed=0):
    rng = np.random.RandomState(seed)
    return rng.normal(size=(m, d)), rng.normal(size=(n, d)) + shift


def variables(n=40, d=2, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + rng.normal(size=n)


def model(X):
    return -X


def bounded(t):
    return max(t, 0) / np.sqrt(1 + t**2)


def laplace(A, B, bandwidth):
    return np.exp(-cdist(A, B, "cityblock") / bandwidth)


def mmd_by_hand(X, Y):
    """Return the effect size from the formulas of the U-statistic and its scale."""
    m, n = len(X), len(Y)
    b = np.median(pdist(np.concatenate((X, Y)), "cityblock"))
    K, L, M = laplace(X, X, b), laplace(Y, Y, b), laplace(X, Y, b)
    of_x = (K.sum(axis=1) - 1) / (m - 1) - M.mean(axis=1)
    of_y = (L.sum(axis=1) - 1) / (n - 1) - M.mean(axis=0)
    variance = 4 * 2 * m * n / (m + n) * (np.var(of_x) / m + np.var(of_y) / n)
    return bounded((of_x.mean() + of_y.mean()) / np.sqrt(variance))


def hsic_by_hand(X, y):
    """Return the effect size of Song's U-statistic from all quadruples of rows."""
    n, y = len(X), y.reshape(len(X), -1)
    K, L = (
        laplace(Z, Z, np.median(pdist(Z, "cityblock"))) * (1 - np.eye(n))
        for Z in (X, y)
    )
    p = np.zeros(n)
    rows = range(n)
    for i in rows:
        others = [j for j in rows if j != i]
        total = count = 0
        for a in others:
            for b in others:
                for c in others:
                    if len({a, b, c}) < 3:
                        continue
                    # The core averages over the places of row i among four rows.
                    for s, t, u, v in (
                        (i, a, b, c),
                        (a, i, b, c),
                        (a, b, i, c),
                        (a, b, c, i),
                    ):
                        total += K[s, t] * (L[s, t] + L[u, v] - 2 * L[s, u])
                        count += 1
        p[i] = total / count
    return bounded(p.mean() / np.sqrt(16 * (np.mean(p**2) - p.mean() ** 2)))


def ksd_by_hand(X):
    """Return the effect size of a standard normal model from the Stein kernel."""
    n, d = X.shape
    b2 = np.median(pdist(X)) ** 2
    H = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            r = X[i] - X[j]
            q = 1 + r @ r / b2
            k = q**-0.5
            grad = -(q**-1.5) * r / b2
            trace = d * q**-1.5 / b2 - 3 * q**-2.5 * (r @ r) / b2**2
            H[i, j] = k * (X[i] @ X[j]) + (X[i] - X[j]) @ grad + trace
    np.fill_diagonal(H, 0)
    means = H.sum(axis=1) / (n - 1)
    return bounded(means.mean() / (2 * np.std(means)))


def test_effect_sizes_are_those_of_their_formulas():
    X, Y = samples()
    assert_allclose(mmd_test(X, Y, **FEW).effect_size, mmd_by_hand(X, Y), rtol=1e-10)
    x, y = variables(12)
    assert_allclose(hsic_test(x, y, **FEW).effect_size, hsic_by_hand(x, y), rtol=1e-9)
    assert_allclose(ksd_test(Y, model, **FEW).effect_size, ksd_by_hand(Y), rtol=1e-10)


def test_mmd_has_one_effect_size():
    X, Y = samples()
    expected = mmd_test(X, Y, **FEW)
    size, interval = expected.effect_size, expected.effect_interval()
    evaluated = MMDEstimator().fit(X).evaluate(Y)
    fitted = MMDEstimator(random_state=0).fit(X).test(Y, n_resamples=99)
    for result in (evaluated, fitted, k_sample_test(X, Y, **FEW).results[0]):
        assert_allclose(result.effect_size, size, rtol=1e-10)
        assert_allclose(result.effect_interval(), interval, rtol=1e-10)
    compared = mmd_compare(X, Y, Y + 1, Y - 3, names=list("abc"))
    assert_allclose(compared.effect_sizes[0], size, rtol=1e-10)
    assert_allclose(compared.pair("c", "a").effect_sizes[1], size, rtol=1e-10)
    of_three = k_sample_test(X, Y, Y + 1, **FEW)
    assert_allclose(of_three.results[0].effect_size, size, rtol=1e-10)
    assert of_three.overall.effect_size is None
    one = mmd_test(X[:, 1], Y[:, 1], **FEW).effect_size
    report = drift_report(X[:, [1]], Y[:, [1]], correction="bh", **FEW)
    for sizes in (
        mmd_column_tests(X, Y, **FEW).effect_sizes[1:],
        drift_report(X, Y, correction="bh", **FEW).effect_sizes[1:],
        [report.joint_test.effect_size],
        report.to_frame()["effect_size"],
    ):
        assert_allclose(sizes, [one], rtol=1e-10)


def test_tables_have_one_effect_size():
    pd = pytest.importorskip("pandas")
    rng = np.random.RandomState(0)
    X, Y = (
        pd.DataFrame(
            {
                "number": rng.normal(s, size=n),
                "missing": np.where(rng.uniform(size=n) < 0.2, np.nan, np.arange(n)),
                "label": rng.choice(list("aab" if s else "abc"), size=n),
            }
        )
        for s, n in ((0, 50), (1, 40))
    )
    expected = mmd_test(X, Y, **FEW).effect_size
    evaluated = MMDEstimator().fit(X).evaluate(Y)
    report = drift_report(X, Y, correction="bh", **FEW)
    for result in (evaluated, report.joint_test):
        assert_allclose(result.effect_size, expected, rtol=1e-10)
    for name, size in zip(X, report.effect_sizes, strict=True):
        alone = mmd_test(X[[name]], Y[[name]], **FEW).effect_size
        assert_allclose(size, alone, rtol=1e-10)


def test_hsic_has_one_effect_size():
    X, y = variables()
    expected = hsic_test(X, y, **FEW)
    result = HSICEstimator().fit(X, y).evaluate(X, y)
    assert_allclose(result.effect_size, expected.effect_size, rtol=1e-10)
    assert_allclose(result.effect_interval(), expected.effect_interval(), rtol=1e-10)
    compared = hsic_compare(X, X[:, [1]], y)
    one = hsic_test(X[:, 1], y, **FEW).effect_size
    assert_allclose(compared.effect_sizes, [expected.effect_size, one], rtol=1e-10)
    sizes = hsic_column_tests(X, y, **FEW).effect_sizes
    assert_allclose(sizes[1], one, rtol=1e-10)


def test_ksd_has_one_effect_size():
    _, X = samples()
    expected = ksd_test(X, model, **FEW)
    gaussian = multivariate_normal(np.zeros(2))
    for result in (
        KSDEstimator(model).fit(X).evaluate(X),
        ksd_test(X, -X, **FEW),
        ksd_test(X, gaussian, method="parametric", n_resamples=9, random_state=0),
    ):
        assert_allclose(result.effect_size, expected.effect_size, rtol=1e-10)
    compared = ksd_compare(X, lambda X: 1 - X, -X)
    assert_allclose(compared.effect_sizes[1], expected.effect_size, rtol=1e-10)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "gaussian"},
        {"kernel": GaussianKernel(bandwidth=[1.0, 3.0])},
        {"bandwidth": [0.1, 2.0]},
        {"bandwidth": "median"},
        {"n_resamples": 19},
        {"random_state": 7},
        {"n_jobs": 2},
        {"design": "v"},
        {"design": "l"},
        {"pooling": "mean"},
        {"paired": True},
        {"block_length": 3},
    ],
)
def test_effect_size_does_not_depend_on_options(options):
    X, Y = samples(40, 40)
    expected = mmd_test(X, Y, **FEW).effect_size
    found = mmd_test(X, Y, **{**FEW, **options}).effect_size
    assert_allclose(found, expected, rtol=1e-10)
    own = {k: v for k, v in options.items() if hasattr(MMDEstimator, k)}
    mmd = MMDEstimator(**own, normalize=False).fit(X)
    assert_allclose(mmd.evaluate(Y).effect_size, expected, rtol=1e-10)


def test_other_discrepancies_do_not_depend_on_options_either():
    X, y = variables()
    expected = hsic_test(X, y, **FEW).effect_size
    for options in ({"kernel": "gaussian"}, {"bandwidth": 1.0}, {"design": "x"}):
        assert_allclose(
            hsic_test(X, y, **FEW, **options).effect_size, expected, rtol=1e-10
        )
    expected = ksd_test(X, model, **FEW).effect_size
    for options in ({"kernel": "gaussian"}, {"bandwidth": 1.0}, {"design": "x"}):
        assert_allclose(
            ksd_test(X, model, **FEW, **options).effect_size, expected, rtol=1e-10
        )


def test_other_kernels_are_used_as_they_are():
    X, Y = samples(d=3)
    some = [0, 2]
    found = mmd_test(X, Y, kernel=ColumnKernel(LaplaceKernel(), some), **FEW)
    expected = mmd_test(X[:, some], Y[:, some], **FEW)
    assert_allclose(found.effect_size, expected.effect_size, rtol=1e-10)
    linear = mmd_test(X, Y, kernel="linear", **FEW).effect_size
    function = mmd_test(X, Y, kernel=lambda A, B: A @ B.T, **FEW).effect_size
    both = np.concatenate((X, Y))
    K = both @ both.T
    of_gram = mmd_test_from_gram(K[:40, :40], K[40:, 40:], K[:40, 40:], **FEW)
    assert_allclose([function, of_gram.effect_size], linear, rtol=1e-9)


def test_labels_sparse_matrices_and_weights():
    labels = np.array(list("abca" * 5)), np.array(list("abbb" * 5))
    found = mmd_test(*labels, kernel="indicator", **FEW).effect_size
    one_hot = [(z[:, np.newaxis] == list("abc")).astype(float) for z in labels]
    # Any kernel with two values gives the same number.
    assert_allclose(found, mmd_test(*one_hot, **FEW).effect_size, rtol=1e-10)
    X, Y = samples()
    sparse = mmd_test(csr_array(X), csr_array(Y), **FEW).effect_size
    assert_allclose(sparse, mmd_test(X, Y, **FEW).effect_size, rtol=1e-10)
    # Rows of weight 0 do not count, and equal weights change nothing.
    weights = np.repeat([0.0, 3.0], [10, 20])
    found = MMDEstimator().fit(X).evaluate(Y, sample_weight=weights)
    expected = mmd_test(X, Y[10:], **FEW).effect_size
    assert_allclose(found.effect_size, expected, rtol=1e-10)
    # Weights that grow with a column change the sample.
    skewed = MMDEstimator().fit(X).evaluate(Y, sample_weight=np.exp(Y[:, 0]))
    assert skewed.effect_size > mmd_test(X, Y, **FEW).effect_size


def test_random_features_and_blocks():
    X, Y = samples(600, 500)
    exact = mmd_test(X, Y, **FEW).effect_size
    found = mmd_test(X, Y, n_components=512, **FEW)
    # 512 features have a standard error of about 0.01 here.
    assert_allclose(found.effect_size, exact, atol=0.05)
    blocks = [X[:200], X[200:]], [Y[:100], Y[100:]]
    lazy = mmd_test(*blocks, n_components=512, **FEW)
    assert_allclose(lazy.effect_size, found.effect_size, rtol=1e-9)
    fitted = MMDEstimator(n_components=512, random_state=5).fit(X).evaluate(Y)
    assert_allclose(fitted.effect_size, found.effect_size, rtol=1e-9)
    y = X[:, 0] + np.random.RandomState(1).normal(size=600)
    one = hsic_test(X, y, n_components=512, **FEW).effect_size
    many = hsic_test([X[:200], X[200:]], y, n_components=512, **FEW).effect_size
    assert_allclose(many, one, rtol=1e-9)
    assert_allclose(one, hsic_test(X, y, **FEW).effect_size, atol=0.05)
    one = ksd_test(Y, model, n_components=512, **FEW).effect_size
    assert_allclose(one, ksd_test(Y, model, **FEW).effect_size, atol=0.05)


def test_results_without_an_effect_size():
    X, Y = samples(40, 40)
    given = {"match": "must be above|must be >= 4|constant|zero"}
    constant = mmd_test(0 * X, 0 * Y, **FEW)
    for result in (
        constant,
        mmd_test(0 * X, 0 * Y + 1, **FEW),
        mmd_test(X[:3], Y, **FEW),
        joint_independence_test(X, Y, Y[:, 0], **FEW),
        conditional_hsic_test(X, Y, X[:, 0], **FEW),
    ):
        assert result.effect_size is None
        assert result.effect_interval() is None
        assert "effect" not in repr(result)
    with pytest.raises(ValueError, match="confidence == 2"):
        constant.effect_interval(2)
    for sample in (0 * Y, 0 * Y + 1, Y[:3]):
        mmd = MMDEstimator(normalize=False).fit(0 * X if len(sample) > 3 else X)
        result = mmd.evaluate(sample)
        assert not hasattr(result, "effect_size")
        assert "effect" not in repr(result)
        with pytest.raises(ValueError, **given):
            result.effect_size  # noqa: B018
        with pytest.raises(ValueError, **given):
            result.effect_interval()


def test_effect_size_is_of_the_rows_of_the_call():
    X, Y = samples()
    expected = mmd_test(X, Y, **FEW).effect_size
    result, gradients = mmd_test(X, Y, **FEW), -Y
    fit = ksd_test(Y, gradients, **FEW)
    known = ksd_test(Y.copy(), model, **FEW).effect_size
    X[:] = 0
    gradients[:] = 0
    assert result.effect_size == expected
    assert_allclose(fit.effect_size, known, rtol=1e-10)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, "pickle"])
def test_copies_have_the_effect_size_and_pickles_have_no_rows(copied):
    X, Y = samples(3000, 3000)
    size = 20_000
    results = [
        mmd_test(X, Y, n_resamples=9, random_state=0),
        MMDEstimator(kernel="laplace", bandwidth=1.0).fit(X).evaluate(Y),
        mmd_compare(X, Y, Y + 1, kernel="laplace", bandwidth=1.0),
    ]
    for result in results:
        if copied == "pickle":
            text = pickle.dumps(result)
            assert len(text) < size
            other = pickle.loads(text)
        else:
            other = copied(result)
        assert other == result
        for name in ("effect_size", "effect_sizes"):
            assert np.all(getattr(other, name, 0) == getattr(result, name, 0))
        assert repr(other) == repr(result)


def test_nothing_is_computed_until_it_is_asked_for(monkeypatch):
    calls, original = [], MMDEstimator._compute_effect

    def counted(self, *rows):
        calls.append(1)
        return original(self, *rows)

    monkeypatch.setattr(MMDEstimator, "_compute_effect", counted)
    X, Y = samples(d=3)
    report = drift_report(X, Y, correction="bh", **FEW)
    result = mmd_test(X, Y, **FEW)
    MMDEstimator().fit(X).evaluate(Y)
    assert result != mmd_test(X, Y, n_resamples=19)
    assert not calls
    for _ in range(2):
        repr(result), result.effect_size, result.effect_interval()
    assert len(calls) == 1
    report.to_frame(), report.to_html(), repr(report)
    assert len(calls) in (4, 5)


def test_effect_size_grows_with_cohens_d_and_not_with_rows():
    X, Y = samples(500, 500, d=1, shift=0)
    sizes = [mmd_test(X, Y + d, **FEW).effect_size for d in (0.2, 0.5, 0.8, 2, 10)]
    assert np.all(np.diff(sizes) > 0)
    assert 0.9 < sizes[-1] < 1
    half = mmd_test(X[:250], Y[:250] + 0.8, **FEW)
    low, high = half.effect_interval(confidence=0.9999)
    # Half of the rows agree with all rows, but for one seed in 10 000.
    assert low < sizes[2] < high


def test_yardstick_separates_small_medium_and_large_effects():
    rng = np.random.RandomState(0)
    X, Y, noise = rng.normal(size=(3, 4000, 1))

    def both(name, test, sizes):
        words = []
        for size in sizes:
            result = test(size)
            words.append(result._summary()["effect_size"].split("(")[1][:-1])
            assert f"effect size <b>{result.effect_size:.2f}" in result._repr_html_()
        # Halfway between thresholds, several standard errors of 0.015 away from both.
        assert words == ["negligible", "small", "medium", "large"], name

    few = {"n_resamples": 9, "kernel": "gaussian", "bandwidth": 1.0, "random_state": 0}
    both("MMD", lambda d: mmd_test(X, Y + d, **few), (0.05, 0.35, 0.65, 1.2))
    both(
        "HSIC",
        lambda r: hsic_test(
            X, r * X + np.sqrt(1 - r**2) * noise, target_bandwidth=1.0, **few
        ),
        (0.01, 0.2, 0.4, 0.7),
    )
    both("KSD", lambda d: ksd_test(X + d, model, **few), (0.05, 0.35, 0.65, 1.2))


def test_yardstick_has_the_numbers_of_the_benchmark():
    path = Path(__file__).parents[1] / "benchmarks" / "results" / "effect_sizes.csv"
    with path.open() as file:
        rows = [row for row in csv.reader(file) if row[1] not in ("size", "2.0", "0.9")]
    for name, steps in YARDSTICK.items():
        found = [float(row[2]) for row in rows if row[0].startswith(name)]
        # Rounded to two digits.
        assert_allclose(found, steps, atol=0.0051)


@pytest.mark.parametrize("shift", [0, 0.4])
def test_intervals_contain_the_effect_size(shift):
    for seed in range(5):
        X, Y = np.random.RandomState(seed).standard_gamma(1, size=(2, 30, 200))
        for result in (
            mmd_test(X, Y + shift, **FEW),
            hsic_test(X, Y + shift * X, bandwidth="median", **FEW),
            ksd_test(X + shift, lambda Z: 1 - Z, **FEW),
        ):
            low, high = result.effect_interval()
            assert low <= result.effect_size <= high
            assert low < high
