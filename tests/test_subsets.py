"""MMD over random subsets: the published KID, any kernel, seeds, bad input."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle

import brute_force as reference
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import polynomial_kernel

from skdiscrepancy import MMDSubsetsResult, mmd_score, mmd_subsets
from skdiscrepancy.bandwidths import median_bandwidth
from skdiscrepancy.kernels import GaussianKernel, PolynomialKernel, PrecomputedKernel

RNG = np.random.RandomState(0)
X, Y = RNG.normal(size=(40, 3)), 1.3 * RNG.normal(size=(30, 3)) + 0.4
FEW = {"n_subsets": 4, "subset_size": 12, "random_state": 0}


def published_kid(x, y):
    """Unbiased squared MMD of Bińkowski et al. (2018), with their kernel."""
    m = len(x)
    K_xx, K_yy, K_xy = (
        polynomial_kernel(a, b, degree=3, gamma=1 / x.shape[1], coef0=1)
        for a, b in ((x, x), (y, y), (x, y))
    )
    within = K_xx.sum() - np.trace(K_xx) + K_yy.sum() - np.trace(K_yy)
    return within / (m * (m - 1)) - 2 * K_xy.sum() / m**2


def test_one_subset_of_all_rows_is_the_published_kid():
    x = X[:30]
    result = mmd_subsets(x, Y, n_subsets=3, subset_size=30)
    assert_allclose(result.values, published_kid(x, Y), rtol=1e-10)
    assert_allclose(result.mean, published_kid(x, Y), rtol=1e-10)
    assert result.standard_deviation < 1e-12
    K = np.array(
        [
            [(np.dot(a, b) / 3 + 1) ** 3 for b in np.concatenate((x, Y))]
            for a in np.concatenate((x, Y))
        ]
    )
    assert_allclose(result.mean, reference.mmd(K, 30, unbiased=True)[0], rtol=1e-10)


def test_kernel_of_kid_is_the_default():
    kernel = PolynomialKernel(3, gamma=1 / 3, coef0=1)
    assert_array_equal(
        mmd_subsets(X, Y, **FEW).values, mmd_subsets(X, Y, kernel=kernel, **FEW).values
    )


@pytest.mark.parametrize("kernel", ["gaussian", "linear", "energy", "laplace"])
def test_one_subset_of_all_rows_is_the_score_of_any_kernel(kernel):
    x = X[:30]
    result = mmd_subsets(x, Y, kernel=kernel, n_subsets=1, subset_size=30)
    plain = {"normalize": False, "pooling": None, "bandwidth": "median"}
    assert_allclose(result.mean, mmd_score(x, Y, kernel=kernel, **plain), rtol=1e-10)


def test_subsets_are_drawn_without_replacement_from_each_sample():
    seen = []

    class Recorder(PolynomialKernel):
        def gram(self, A, B):
            seen.append(A.copy())
            seen.append(B.copy())
            return super().gram(A, B)

    mmd_subsets(X, Y, kernel=Recorder(), n_subsets=1, subset_size=25, random_state=0)
    used = np.unique(np.concatenate(seen), axis=0)
    # 25 rows of each sample, all different, all of them rows of the samples.
    assert len(used) == 50
    of_x = [any(np.array_equal(row, x) for x in X) for row in used]
    of_y = [any(np.array_equal(row, y) for y in Y) for row in used]
    assert sum(of_x) == sum(of_y) == 25


def test_every_row_takes_part_in_some_subset():
    rows, bits = np.arange(20)[:, np.newaxis], 2.0 ** np.arange(20)
    # Different rows have the kernel 0. So the value of a subset is minus twice the
    # mean over all pairs of the bits of the rows that are in both subsets.
    options = {"kernel": PrecomputedKernel(np.diag(bits)), "subset_size": 5}
    result = mmd_subsets(rows, rows, n_subsets=200, random_state=0, **options)
    sums = np.round(-result.values / 2 * 25).astype(int)
    # A row is in both subsets with probability 1/16, and in none of 200 pairs of
    # subsets with probability 3e-6.
    assert np.bitwise_or.reduce(sums) == 2**20 - 1


def test_bandwidth_comes_from_the_whole_pooled_sample():
    result = mmd_subsets(X, Y, kernel="gaussian", **FEW)
    pooled = median_bandwidth(np.concatenate((X, Y)))
    assert result.kernel.bandwidth == pooled
    fixed = mmd_subsets(X, Y, kernel=GaussianKernel(bandwidth=pooled), **FEW)
    assert_array_equal(result.values, fixed.values)


def test_mean_and_standard_deviation_are_those_of_the_values():
    result = mmd_subsets(X, Y, **FEW)
    assert result.values.shape == (4,)
    assert_allclose(result.mean, np.mean(result.values), rtol=1e-14)
    assert_allclose(result.standard_deviation, np.std(result.values), rtol=1e-14)
    assert result.subset_size == 12


def test_mean_over_subsets_is_unbiased():
    # Squared MMD of N(0, 1) and N(1, 1) with the linear kernel is 1.
    rng, means = np.random.RandomState(1), []
    for _ in range(100):
        x, y = rng.normal(size=(50, 1)), rng.normal(1, size=(60, 1))
        options = {"kernel": "linear", "n_subsets": 5, "subset_size": 20}
        means.append(mmd_subsets(x, y, random_state=rng, **options).mean)
    # 4 standard errors: a correct program fails for about one seed in 16 000.
    assert abs(np.mean(means) - 1) < 4 * np.std(means) / 10


def test_random_state_fixes_the_subsets_and_n_jobs_does_not_matter():
    first = mmd_subsets(X, Y, **FEW)
    assert mmd_subsets(X, Y, n_jobs=2, **FEW) == first
    other = mmd_subsets(X, Y, n_subsets=4, subset_size=12, random_state=1)
    assert not np.any(other.values == first.values)
    generator = np.random.default_rng(0)
    options = {"n_subsets": 2, "subset_size": 12, "random_state": generator}
    assert mmd_subsets(X, Y, **options) != mmd_subsets(X, Y, **options)


def test_global_random_state_is_neither_used_nor_changed():
    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    first = mmd_subsets(X, Y, n_subsets=1, subset_size=5)
    assert_array_equal(np.random.get_state()[1], before)
    assert first != mmd_subsets(X, Y, n_subsets=1, subset_size=5)


def test_wide_samples_agree_with_whole_matrices():
    # Many columns have tiles of their own size.
    x, y = RNG.normal(size=(2, 70, 600))
    result = mmd_subsets(x, y, n_subsets=1, subset_size=70)
    assert_allclose(result.mean, published_kid(x, y), rtol=1e-9)


def test_data_frames_and_columns_are_taken():
    frames = (pd.DataFrame(Z, columns=list("abc")) for Z in (X, Y))
    assert_allclose(
        mmd_subsets(*frames, encoder=None, **FEW).values,
        mmd_subsets(X, Y, **FEW).values,
        rtol=1e-12,
    )
    columns = mmd_subsets(pd.Series(X[:, 0]), Y[:, 0], **FEW)
    assert_allclose(columns.values, mmd_subsets(X[:, :1], Y[:, :1], **FEW).values)


def test_result_is_a_table_a_text_and_a_picture():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    result = mmd_subsets(X, Y, **FEW)
    assert isinstance(result, MMDSubsetsResult)
    assert repr(result).startswith(f"MMDSubsetsResult(mean={result.mean:.4g}, ")
    assert repr(result).endswith("kernel='Polynomial', 4 subsets)")
    assert_array_equal(result.to_frame()["value"], result.values)
    assert f"<b>{result.mean:.4g}</b>" in result._repr_html_()
    display = result.plot(bins=3)
    assert sum(bar.get_height() for bar in display.bars_) == 4
    assert_allclose(display.mean_.get_xdata(), result.mean)
    matplotlib.pyplot.close("all")
    assert pickle.loads(pickle.dumps(result)) == result


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subset_size": 31}, "subset_size == 31, .* X has 40 rows and Y has 30"),
        ({"subset_size": 1}, "subset_size == 1, must be an integer >= 2"),
        ({"n_subsets": 0}, "n_subsets == 0, must be an integer >= 1"),
        ({"kernel": ("linear", "energy")}, "kernel == .* has 2 kernels"),
        ({"kernel": "gaussian", "bandwidth": "grid"}, "bandwidth == 'grid' makes 10"),
        ({"random_state": -1}, "random_state == -1"),
        ({"n_jobs": 0}, "n_jobs == 0"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        mmd_subsets(X, Y, **{**FEW, **options})


def test_samples_must_have_the_same_columns():
    with pytest.raises(ValueError, match="Y has 2 features, must have 3 as X"):
        mmd_subsets(X, Y[:, :2], **FEW)


def test_numbers_beyond_floating_point_are_refused():
    with pytest.raises(ValueError, match="not finite"):
        mmd_subsets(X * 1e150, Y, **FEW)


def test_mean_and_deviation_are_finite_where_squares_of_the_values_are_not():
    small = mmd_subsets(X, Y, kernel="linear", **FEW)
    scale = 2.0**300
    large = mmd_subsets(scale * X, scale * Y, kernel="linear", **FEW)
    assert_allclose(large.mean / scale**2, small.mean)
    assert_allclose(large.standard_deviation / scale**2, small.standard_deviation)


def test_result_is_independent_of_the_type_of_the_sizes():
    sizes = {"n_subsets": np.int8(4), "subset_size": np.uint8(12)}
    assert mmd_subsets(X, Y, **{**FEW, **sizes}) == mmd_subsets(X, Y, **FEW)


def test_blocks_tables_and_features_give_the_subsets_of_arrays():
    da = pytest.importorskip("dask.array")
    plain = mmd_subsets(X, Y, **FEW).values
    in_blocks = [X[:13], X[13:]], da.from_array(Y, chunks=(8, 3))
    assert_allclose(mmd_subsets(*in_blocks, **FEW).values, plain, rtol=1e-9)
    linear = [
        mmd_subsets(X, Y, kernel="linear", n_components=size, **FEW).values
        for size in (None, 4)
    ]
    assert_allclose(*linear, rtol=1e-10)
    options = {"kernel": "gaussian", "bandwidth": 2.0, "n_components": 8, **FEW}
    found = mmd_subsets(*in_blocks, **options).values
    assert_allclose(found, mmd_subsets(X, Y, **options).values, rtol=1e-9)


def test_weights_are_those_of_the_rows_in_a_subset():
    w, v = np.linspace(0, 2, 40), np.linspace(1, 2, 30)
    x = X[10:]
    given = {"sample_weight": w[10:], "sample_weight_Y": v}
    found = mmd_subsets(x, Y, n_subsets=2, subset_size=30, **given).values
    options = {"kernel": "polynomial", "normalize": False, "pooling": None}
    assert_allclose(found, mmd_score(x, Y, **options, **given), rtol=1e-9)
    equal = mmd_subsets(X, Y, sample_weight=np.full(40, 2.0), **FEW).values
    assert_allclose(equal, mmd_subsets(X, Y, **FEW).values, rtol=1e-10)
