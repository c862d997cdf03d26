"""Effect sizes of two-sample tests."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist

from skdiscrepancy import (
    HSICEstimator,
    KSDEstimator,
    MMDEstimator,
    hsic_test,
    ksd_test,
    mmd_test,
    mmd_test_from_gram,
)
from skdiscrepancy._estimators import mmd as mmd_module
from skdiscrepancy.kernels import GaussianKernel, LaplaceKernel
from skdiscrepancy.monitoring import drift_report

FEW = {"n_resamples": 99, "random_state": 0}


def samples(m=40, n=30, d=2, shift=0.5, seed=0):
    rng = np.random.RandomState(seed)
    return rng.normal(size=(m, d)), rng.normal(size=(n, d)) + shift


def normalised_mmd(X, Y, bandwidth):
    """Return the unbiased MMD over its scale, pair by pair."""

    def k(x, y):
        return np.exp(-np.sum((x - y) ** 2) / bandwidth**2)

    def row_differences(own, others):
        return [
            np.mean([k(x, z) for j, z in enumerate(own) if j != i])
            - np.mean([k(x, z) for z in others])
            for i, x in enumerate(own)
        ]

    a, b = row_differences(X, Y), row_differences(Y, X)
    m, n = len(X), len(Y)
    variance = 4 * 2 * m * n / (m + n) * (np.var(a) / m + np.var(b) / n)
    return (np.mean(a) + np.mean(b)) / np.sqrt(variance)


def test_effect_is_the_normalised_mmd_at_the_median_distance():
    X, Y = samples()
    result = mmd_test(X, Y, **FEW)
    median = np.median(pdist(np.concatenate((X, Y))))
    [kernel] = result.effect.kernels
    assert isinstance(kernel, GaussianKernel)
    assert_allclose(kernel.bandwidth, median, rtol=1e-12)
    t = normalised_mmd(X, Y, median)
    assert_allclose(result.effect.value, t, rtol=1e-10)
    assert_allclose(result.effect_size, t / np.sqrt(1 + t**2), rtol=1e-10)


def test_interval_of_few_rows_is_the_interval_of_the_estimator():
    X, Y = samples(80, 90)
    result = mmd_test(X, Y, **FEW)
    mmd = MMDEstimator(kernel=result.effect.kernels, pooling=None).fit(X)
    expected = mmd.evaluate(Y)
    assert_allclose(result.effect.value, expected.value, rtol=1e-12)
    for level in (0.5, 0.95):
        assert_allclose(
            result.effect_interval(level), expected.effect_interval(level), rtol=1e-10
        )
    assert_allclose(
        result.effect.confidence_interval(), expected.confidence_interval(), rtol=1e-10
    )


def test_interval_of_many_rows_is_close_to_the_interval_of_all_rows():
    X, Y = samples(1000, 900, shift=0.6)
    result = mmd_test(X, Y, n_resamples=9, random_state=0)
    mmd = MMDEstimator(kernel=result.effect.kernels, pooling=None).fit(X)
    expected = mmd.evaluate(Y)
    # 40 % of the rows have an error of about 1 / sqrt(0.4) of the error of all rows,
    # and 100 rows of each sample estimate it to within a fifth.
    ratio = result.effect.standard_error / expected.standard_error
    assert 1.6 * 0.75 < ratio < 1.6 * 1.25
    difference = result.effect.value - expected.value
    # The difference has a standard deviation below the standard error of the effect. A
    # correct program is out of this range for fewer than one seed in 15 000.
    assert abs(difference) < 4 * result.effect.standard_error


def high_dimensional(rng, n=60):
    # Of 200 columns, so noise inflates the scale and its correction is large.
    X, Y = rng.standard_gamma(1, size=(2, n, 200))
    return X, Y + 0.2


def rare(rng, n=800):
    return (rng.uniform(size=(2, n, 1)) < [[[0.005]], [[0.01]]]).astype(float)


def subsampled(rng, n=2000):
    # The effect uses 800 rows of each sample, and its noise 100 rows.
    return rng.normal(size=(n, 1)), rng.normal(size=(n, 1)) + 0.1


@pytest.mark.parametrize("draw", [high_dimensional, rare, subsampled])
def test_interval_of_an_effect_contains_it_and_has_a_reasonable_width(draw):
    for seed in range(10):
        X, Y = draw(np.random.RandomState(seed))
        bandwidth = 1.4 if draw is subsampled else "median"
        result = mmd_test(X, Y, n_resamples=1, kernel="gaussian", bandwidth=bandwidth)
        low, high = result.effect_interval()
        assert low <= result.effect_size <= high
        assert high - low > 1e-3
        # By its definition, t has a standard error of about 1 / sqrt(n) for a known
        # scale. Twice the width of its interval leaves room for noise in the scale.
        assert draw is not subsampled or high - low < 8 / np.sqrt(0.4 * len(X))


@pytest.mark.parametrize("design", ["u", "v"])
@pytest.mark.parametrize("shift", [0, 0.4])
def test_intervals_of_all_discrepancies_contain_the_effect(design, shift):
    options = {"kernel": "gaussian", "bandwidth": 16.0, "pooling": None}
    options["design"] = design
    for seed in range(5):
        X, Y = high_dimensional(np.random.RandomState(seed), n=30)
        Y = Y - 0.2 + shift
        hsic = HSICEstimator(**options, target_bandwidth=16.0)
        results = [
            MMDEstimator(**options).fit(X).evaluate(Y),
            hsic.fit(X, Y).evaluate(X, Y + shift * X),
            KSDEstimator(lambda Z: 1 - Z, **options).fit(X).evaluate(X + shift),
        ]
        for result in results:
            low, high = result.effect_interval()
            assert low <= result.effect_size <= high
            assert low < high


def test_effect_of_a_v_statistic_is_close_to_the_effect_of_a_u_statistic():
    X, Y = samples(30, 30)
    options = {"kernel": "gaussian", "bandwidth": 1.0, "pooling": None}
    u, v = (
        MMDEstimator(**options, design=d).fit(X).evaluate(Y).effect_size for d in "uv"
    )
    # The scales differ by terms of the order 1 / n.
    assert_allclose(v, u, rtol=3 / 30)


def test_effect_draws_nothing_and_does_not_depend_on_random_state():
    X, Y = samples(400, 350)
    options = {"method": "auto", "pooling": "max", "n_resamples": 9}

    def run(effect, seed):
        mmd = MMDEstimator(bandwidth="dyadic", random_state=seed)
        return mmd._test_pair(X, Y, mmd._check_test(**options), effect=effect)

    generator, other = np.random.RandomState(3), np.random.RandomState(3)
    first, second = run(True, generator), run(False, other)
    assert generator.randint(1000) == other.randint(1000)
    assert second.effect is None
    assert np.array_equal(first.null_distribution, second.null_distribution)
    assert first.pvalue == second.pvalue
    assert [k.bandwidth for k in first.kernels] == [k.bandwidth for k in second.kernels]
    assert run(True, 4).effect == first.effect


def test_effect_does_not_depend_on_n_jobs_or_the_estimator():
    X, Y = samples()
    result = mmd_test(X, Y, **FEW)
    assert mmd_test(X, Y, n_jobs=2, **FEW).effect == result.effect
    fitted = MMDEstimator(random_state=0).fit(X).test(Y, n_resamples=99)
    assert fitted == result
    assert pickle.loads(pickle.dumps(result)) == result
    sparse = mmd_test(csr_array(X), csr_array(Y), **FEW)
    assert_allclose(sparse.effect_size, result.effect_size, rtol=1e-10)


def test_effect_does_not_grow_with_the_number_of_rows():
    sizes = [
        mmd_test(*samples(n, n, shift=1, seed=n), n_resamples=9).effect_size
        for n in (150, 300)
    ]
    # Standard errors are about 0.04 and 0.03, so this fails for one seed in 10 000.
    assert abs(sizes[0] - sizes[1]) < 0.2


@pytest.mark.parametrize(
    ("options", "bandwidth", "kind"),
    [
        ({"kernel": "laplace", "bandwidth": 2.0}, 2.0, LaplaceKernel),
        ({"kernel": ["laplace", "gaussian"], "bandwidth": 2.0}, 2.0, LaplaceKernel),
        ({"bandwidth": [1.0, 2.0, 4.0]}, 2.0, GaussianKernel),
        ({"kernel": GaussianKernel(bandwidth=[1.0, 3.0, 4.0])}, 3.0, GaussianKernel),
        ({"kernel": [GaussianKernel(bandwidth=3.0), "laplace"]}, 3.0, GaussianKernel),
    ],
)
def test_effect_uses_the_first_kernel_with_its_bandwidth(options, bandwidth, kind):
    [kernel] = mmd_test(*samples(), **options, **FEW).effect.kernels
    assert type(kernel) is kind
    assert kernel.bandwidth == bandwidth


@pytest.mark.parametrize(
    "kernel", [GaussianKernel() + LaplaceKernel(), lambda X, Y: X @ Y.T, "linear"]
)
def test_effect_exists_for_any_kernel(kernel):
    result = mmd_test(*samples(), kernel=kernel, **FEW)
    low, high = result.effect_interval()
    assert 0 <= low < high < 1
    assert len(result.effect.kernels) == 1


def test_effect_of_labels_and_gram_matrices():
    labels = np.array(list("abca" * 5)), np.array(list("abbb" * 5))
    assert 0 < mmd_test(*labels, kernel="indicator", **FEW).effect_size < 1
    X, Y = samples()
    one = mmd_test(X, Y, kernel="gaussian", bandwidth=2.0, **FEW)
    grams = [
        np.exp(-np.square(A[:, np.newaxis] - B).sum(-1) / 4)
        for A, B in ((X, X), (Y, Y), (X, Y))
    ]
    of_gram = mmd_test_from_gram(*grams, **FEW)
    assert_allclose(of_gram.effect_size, one.effect_size, rtol=1e-10)


@pytest.mark.parametrize(
    "options",
    [{"paired": True}, {"block_length": 3}, {"design": "x"}, {"n_components": 16}],
)
def test_tests_without_an_effect_have_none(options):
    X, Y = samples(40, 40)
    result = mmd_test(X, Y, **options, **FEW)
    assert result.effect is None
    assert result.effect_size is None
    assert result.effect_interval() is None
    assert "effect" not in repr(result)
    with pytest.raises(ValueError, match="level"):
        result.effect_interval(2)


def test_tests_of_other_discrepancies_have_no_effect():
    X, Y = samples(30, 30)
    assert hsic_test(X, Y, bandwidth="median", **FEW).effect is None
    assert ksd_test(X, lambda Z: -Z, bandwidth="median", **FEW).effect is None
    hsic = HSICEstimator(kernel="gaussian", bandwidth=1.0, pooling="mean")
    assert 0 <= hsic.fit(X, Y).evaluate(X, Y).effect_size < 1


@pytest.mark.filterwarnings("ignore:The smallest possible p-value")
def test_few_or_constant_rows_have_no_effect():
    X, Y = samples()
    assert mmd_test(X[:3], Y, **FEW).effect is None
    assert mmd_test(X[:4], Y[:4], **FEW).effect is not None
    assert mmd_test(0 * X, 0 * Y, **FEW).effect is None
    # Samples of two different constants have a scale of zero.
    assert mmd_test(0 * X, 0 * Y + 1, **FEW).effect is None
    assert mmd_test(1e200 * X, 1e200 * Y, kernel="laplace", **FEW).effect_size > 0


def test_summary_shows_the_effect_beside_the_pvalue():
    result = mmd_test(*samples(), **FEW)
    low, high = result.effect_interval()
    text = f"{result.effect_size:.2g} ({low:.2g} to {high:.2g})"
    assert f"effect_size='{text}'" in repr(result)
    assert f"effect size <b>{text}</b>" in result._repr_html_()


def test_report_computes_one_effect(monkeypatch):
    found, original = [], mmd_module.effect_of

    def counted(*args, **kwargs):
        found.append(original(*args, **kwargs))
        return found[-1]

    monkeypatch.setattr(mmd_module, "effect_of", counted)
    X, Y = samples(d=3, shift=[1.0, 0.0, 0.5])
    report = drift_report(X, Y, **FEW)
    assert report.joint_test.effect_size > 0
    report.to_html()
    assert len(found) == 1


def test_effect_is_of_the_rows_of_the_test():
    X, Y = samples()
    expected = mmd_test(X, Y, **FEW).effect
    result = mmd_test(X, Y, **FEW)
    X[:] = 0
    assert result.effect == expected
    assert len(pickle.dumps(result)) < 20_000
