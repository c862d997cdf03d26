"""Messages: what you typed, and what is allowed, in place of an error of numpy."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics.pairwise import chi2_kernel
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GroupKFold
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from skdiscrepancy import (
    CKAEstimator,
    KSDEstimator,
    MMDEstimator,
    cka_score,
    conditional_hsic_test,
    hsic_column_tests,
    hsic_from_gram,
    hsic_matrix,
    hsic_score,
    hsic_test,
    hsic_test_from_gram,
    joint_independence_test,
    k_sample_test,
    ksd_from_gram,
    ksd_score,
    ksd_test,
    ksd_test_from_gram,
    mmd_column_tests,
    mmd_from_gram,
    mmd_score,
    mmd_subsets,
    mmd_test,
    mmd_test_from_gram,
)
from skdiscrepancy.bandwidths import bandwidth_grid, kernel_collection
from skdiscrepancy.designs import (
    Blocks,
    CompleteU,
    CompleteV,
    Cross,
    Linear,
    RandomPairs,
    Subdiagonals,
)
from skdiscrepancy.feature_selection import ColumnCKA, HSICSelector, HSICSelectorCV
from skdiscrepancy.kernels import (
    ColumnKernel,
    EnergyKernel,
    FeatureKernel,
    FunctionKernel,
    GaussianKernel,
    IMQKernel,
    LaplaceKernel,
    LinearKernel,
    MaternKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RowKernel,
)
from skdiscrepancy.model_checking import (
    HyvarinenScorer,
    KSDScorer,
    MMDScorer,
    neg_mmd_scorer,
    stein_thinning,
)
from skdiscrepancy.monitoring import drift_report
from skdiscrepancy.plotting import (
    BatchScoresDisplay,
    CKADisplay,
    DesignDisplay,
    WitnessDisplay,
)
from skdiscrepancy.pooling import normalize_statistics, pool_statistics
from skdiscrepancy.tables import TableEncoder

X = np.random.RandomState(0).normal(size=(60, 2))
GRAM = X @ X.T
HUGE = 10**400
DESIGNS = [
    CompleteV(),
    CompleteU(),
    Linear(),
    Subdiagonals(),
    Blocks(),
    Cross(),
    RandomPairs(),
]


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_integers_of_numpy_are_integers(kind):
    options = {"random_state": 0, "n_resamples": 99}
    typed = {**options, "n_resamples": kind(99)}
    for test, second in ((mmd_test, X[:50] + 0.3), (ksd_test, -X)):
        assert test(X, second, **typed).pvalue == test(X, second, **options).pvalue
    pvalue = hsic_test(X, X[:, 0], n_resamples=kind(120), random_state=0).pvalue
    expected = hsic_test(X, X[:, 0], n_resamples=120, random_state=0).pvalue
    assert pvalue == expected


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
class TestNumbersOfSamples:
    @pytest.mark.parametrize("n", ["a", 2.5, None, True])
    @pytest.mark.parametrize("method", ["pairs", "size", "mask"])
    def test_what_is_no_integer_is_named(self, design, method, n):
        with pytest.raises(TypeError, match=rf"n == {n!r}, must be an integer"):
            getattr(design, method)(n)

    @pytest.mark.parametrize("method", ["pairs", "size", "mask"])
    def test_negative_numbers_are_named(self, design, method):
        with pytest.raises(ValueError, match="n_samples == -3, must be >= "):
            getattr(design, method)(-3)

    def test_integers_of_numpy_do_not_overflow(self, design):
        assert design.size(np.int16(20_000)) == design.size(20_000)


class TestBandwidths:
    @pytest.mark.parametrize("kernel", ["gaussian", "imq", "matern32", "matern52"])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_a_kernel_that_is_flat_has_the_stein_kernel_of_a_constant(
        self, kernel, dtype
    ):
        options = {"normalize": False, "pooling": None, "kernel": kernel}
        rows = X.astype(dtype)
        score = ksd_score(rows, -rows, bandwidth=1e200, **options)
        # Without derivatives, h(x, y) is the inner product of the gradients.
        H = X @ X.T
        expected = (H.sum() - np.trace(H)) / (60 * 59)
        assert_allclose(score, expected, rtol=1e-4 if dtype == np.float32 else 1e-12)

    @pytest.mark.parametrize("kernel", ["gaussian", "imq", "matern32", "matern52"])
    @pytest.mark.parametrize(
        ("dtype", "bandwidth"), [(np.float64, 1e-200), (np.float32, 1e-20)]
    )
    def test_bandwidths_without_a_square_are_named(self, kernel, dtype, bandwidth):
        rows = X.astype(dtype)
        for function in (ksd_score, ksd_test):
            with pytest.raises(ValueError, match=f"bandwidth == {bandwidth}, must be"):
                function(rows, -rows, kernel=kernel, bandwidth=bandwidth)

    @pytest.mark.parametrize("kind", [GaussianKernel, IMQKernel, MaternKernel])
    def test_derivatives_are_finite_or_name_the_bandwidth(self, kind):
        with pytest.raises(ValueError, match="bandwidth == 1e-200, must be larger"):
            kind(bandwidth=1e-200).profile_derivatives([0.0, 1.0])
        slope, curvature = kind(bandwidth=1e200).profile_derivatives([0.0, 1.0])
        assert_array_equal(slope, 0)
        assert_array_equal(curvature, 0)


@pytest.mark.parametrize(
    "value", [Fraction(1, 2), HUGE, 10**5000], ids=["half", "400", "5000"]
)
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("fuse_nu", lambda value: mmd_score(X, X, fuse_nu=value)),
        ("bandwidth", lambda value: GaussianKernel(bandwidth=value)(X)),
        ("p", lambda value: MaternKernel(bandwidth=1.0, p=value)(X)),
        ("n_resamples", lambda value: mmd_test(X, X, n_resamples=value)),
        ("n_bandwidths", lambda value: mmd_score(X, X, n_bandwidths=value)),
        ("nu", lambda value: pool_statistics([1.0], nu=value)),
    ],
)
def test_numbers_that_arrays_do_not_know_are_named(name, call, value):
    with pytest.raises((TypeError, ValueError), match=f"^{name} == .*, must be") as e:
        call(value)
    assert len(str(e.value)) < 400


def test_densities_without_a_sampler_are_named():
    model = KernelDensity(kernel="exponential").fit(X + 0.1)
    match = r"model == KernelDensity\(kernel='exponential'\), must be .* drawn from"
    with pytest.raises(TypeError, match=match):
        neg_mmd_scorer(model, X)
    with pytest.raises(TypeError, match=match):
        ksd_test(X, model, method="parametric", n_resamples=9)


@pytest.mark.parametrize(
    ("statistics", "scales", "rounding", "match"),
    [
        (
            [1.0, 2.0],
            [1.0, 2.0, 3.0],
            0.0,
            r"scales has shape \(3,\), must have \(2,\)",
        ),
        ([[1.0]], [[2.0]], 0.0, "must have one dimension"),
        (1.0, 2.0, 0.0, "must have one dimension"),
        ("a", [1.0], 0.0, "statistics must be finite numbers"),
        ([1.0], [object()], 0.0, "scales must be finite numbers"),
        ([1.0], [1.0], [1.0, 2.0], "rounding == .* must be a number >= 0, or as many"),
        ([1.0], [1.0], -1.0, "rounding == -1.0, must be a number >= 0"),
        ([HUGE], [1.0], 0.0, "statistics must be finite numbers"),
    ],
    ids=range(8),
)
def test_wrong_statistics_are_named(statistics, scales, rounding, match):
    with pytest.raises(ValueError, match=match):
        normalize_statistics(statistics, scales, rounding=rounding)


class TestOddLastRow:
    def test_the_design_l_warns_of_it(self):
        rows = X[:19]
        match = r"1 of 19 rows are not used: the design Linear\(\)"
        with pytest.warns(UserWarning, match=match):
            ksd_score(rows, -rows, design="l")
        with pytest.warns(UserWarning, match=match):
            ksd_test(rows, -rows, design="l")
        with pytest.warns(UserWarning, match=match):
            ksd_from_gram(rows @ rows.T, design="l")

    @pytest.mark.parametrize("design", ["v", "u", "l", "d", "b", "x", "r"])
    def test_there_is_no_warning_where_there_is_none(self, design):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ksd_score(X, -X, design=design)
            mmd_score(X, X + 1, design=design)
            hsic_score(X, X[:, 0], design=design)


# The number of rows of each design that are in no pair, of 19 samples.
LEFT_OUT = [
    (Linear(), 1),
    # Blocks of 4 and a rest of 3, two of 9 and a rest of 1, six of 3 and a rest of 1.
    (Blocks(), 0),
    (Blocks(n_blocks=2), 1),
    (Blocks(n_blocks=6), 1),
    (Blocks(block_sizes=[4, 5]), 10),
    (Subdiagonals(), 0),
    (Cross(), 0),
]


@pytest.mark.parametrize(("design", "n_unused"), LEFT_OUT, ids=repr)
class TestRowsInNoPair:
    def test_their_number_is_that_of_empty_rows_of_the_mask(self, design, n_unused):
        assert design.n_unused(19) == n_unused
        assert np.count_nonzero(design.mask(19).sum(axis=0) == 0) == n_unused

    @staticmethod
    def check(n_unused, n_rows, *calls):
        for call in calls:
            with warnings.catch_warnings(record=True) as record:
                warnings.simplefilter("always")
                call()
            found = [str(one.message).partition(":")[0] for one in record]
            expected = [f"{n_unused} of {n_rows} rows are not used"] * bool(n_unused)
            assert [text.removesuffix(" in each sample") for text in found] == expected

    def test_mmd_warns_of_them_once(self, design, n_unused):
        A, B = X[:19], X[19:38]
        K = np.exp(-((A[:, :1] - A[:, 0]) ** 2))
        self.check(
            n_unused,
            19,
            lambda: mmd_score(A, B, design=design),
            lambda: mmd_test(A, B, design=design),
            lambda: MMDEstimator(design=design).fit(A).evaluate(B),
            lambda: mmd_from_gram(K, K, K / 2, design=design),
        )

    def test_hsic_warns_of_pairs_of_them_once(self, design, n_unused):
        A, y = X[:38], X[:38, 0]
        K = np.exp(-((A[:, :1] - A[:, 0]) ** 2))
        self.check(
            2 * n_unused,
            38,
            lambda: hsic_score(A, y, design=design),
            lambda: hsic_test(A, y, design=design),
            lambda: hsic_from_gram(K, K, design=design),
        )
        # The 39th row has no partner.
        A, y = X[:39], X[:39, 0]
        call = partial(hsic_score, A, y, design=design)
        self.check(2 * n_unused + 1, 39, call)

    def test_ksd_warns_of_them_once(self, design, n_unused):
        rows = X[:19]
        H = rows @ rows.T
        self.check(
            n_unused,
            19,
            lambda: ksd_score(rows, -rows, design=design),
            lambda: ksd_test(rows, -rows, design=design),
            lambda: ksd_from_gram(H, design=design, normalize=False),
        )


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
class TestArgumentsOfDesigns:
    @pytest.mark.parametrize("max_pairs", [None, 1.5, "a", True])
    def test_sizes_of_chunks_that_are_no_integers_are_named(self, design, max_pairs):
        match = rf"max_pairs == {max_pairs!r}, must be an integer >= 1"
        with pytest.raises(TypeError, match=match):
            list(design.chunks(11, max_pairs))

    @pytest.mark.parametrize("max_pairs", [0, -1, HUGE])
    def test_sizes_of_chunks_out_of_range_are_named(self, design, max_pairs):
        with pytest.raises(ValueError, match=r"max_pairs == .*must be an integer >= 1"):
            list(design.chunks(11, max_pairs))

    @pytest.mark.parametrize("kind", [np.uint8, np.int64])
    def test_chunks_are_the_pairs_whatever_the_type_of_their_size(self, design, kind):
        parts = [
            [np.concatenate(part) for part in zip(*chunks, strict=True)]
            for chunks in (
                design.chunks(11, size, random_state=0) for size in (3, kind(3))
            )
        ]
        assert_array_equal(*parts)

    @pytest.mark.parametrize("n", ["a", 2.5, None, True])
    def test_numbers_of_unused_samples_need_an_integer(self, design, n):
        with pytest.raises(TypeError, match=rf"n == {n!r}, must be an integer"):
            design.n_unused(n)

    def test_no_array_has_so_many_samples(self, design):
        for method in ("size", "pairs", "n_unused"):
            with pytest.raises(ValueError, match=r"n_samples == 10+\.\.\., must be at"):
                getattr(design, method)(HUGE)

    def test_messages_print_the_beginning_of_a_long_design(self, design):
        names = design.get_params()
        design = clone(design).set_params(**dict.fromkeys(names, HUGE))
        with pytest.raises(TypeError, match=r"n == 1\.5, must be an integer") as error:
            design.size(1.5)
        assert len(str(error.value)) < 200


@pytest.mark.parametrize("sizes", [[[2], [2, 3]], [2**63, 2**63], ["a"], 3, [2.0]])
def test_block_sizes_that_are_no_list_of_integers_are_named(sizes):
    with pytest.raises(ValueError, match=r"block_sizes == .*must be integers"):
        Blocks(block_sizes=sizes).pairs(11)


@pytest.mark.parametrize("value", [HUGE, -HUGE, 10**9], ids=["huge", "-huge", "1e9"])
@pytest.mark.parametrize(
    "call",
    [
        lambda n_jobs: mmd_test(X, X, n_jobs=n_jobs),
        lambda n_jobs: ksd_score(X, -X, n_jobs=n_jobs),
        lambda n_jobs: hsic_column_tests(X, X[:, 0], n_jobs=n_jobs),
        lambda n_jobs: HSICSelector(1, n_jobs=n_jobs).fit(X, X[:, 0]),
        lambda n_jobs: HSICSelectorCV(n_jobs=n_jobs).fit(X, X[:, 0]),
        lambda n_jobs: ColumnCKA(n_jobs=n_jobs)(X, X[:, 0]),
    ],
    ids=range(6),
)
def test_numbers_of_threads_that_no_machine_starts_are_refused(call, value):
    with pytest.raises(ValueError, match=r"n_jobs == .*from -10000 to 10000") as error:
        call(value)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("bandwidth", lambda value: mmd_score(X, X, bandwidth=value)),
        ("bandwidth", lambda value: mmd_score(X, X, bandwidth=[1, value])),
        ("target_bandwidth", lambda v: hsic_score(X, X, target_bandwidth=v)),
        ("random_state", lambda value: mmd_score(X, X, random_state=value)),
        ("verbose", lambda value: mmd_score(X, X, verbose=value)),
        ("nu", lambda value: MaternKernel(bandwidth=1.0, nu=value)(X)),
        ("design", lambda value: mmd_score(X, X, design=value)),
        ("normalize", lambda value: mmd_score(X, X, normalize=value)),
        ("cv", lambda value: HSICSelectorCV(cv=value).fit(X, X[:, 0])),
    ],
    ids=range(9),
)
def test_messages_do_not_print_hundreds_of_digits(name, call):
    with pytest.raises((TypeError, ValueError), match=rf"{name} == ") as error:
        call(HUGE)
    assert "0" * 61 not in str(error.value)


class TestFolds:
    @pytest.mark.parametrize(
        "cv",
        [
            0,
            1,
            -1,
            61,
            1.5,
            "a",
            np.nan,
            [],
            {},
            [[0]],
            [(1, 2)],
            [([0, 1, 2], [100])],
            [([0, 1, 2], [3.0, 4.5])],
            [([], [0, 1, 2, 3])],
            [([0, 1, 2], [])],
            GroupKFold(3),
        ],
        ids=repr,
    )
    def test_folds_that_cannot_be_used_name_cv(self, cv):
        with pytest.raises(ValueError, match="cv == "):
            HSICSelectorCV(cv=cv).fit(X, X[:, 0])

    def test_a_bool_is_no_number_of_folds(self):
        with pytest.raises(TypeError, match="cv == True, must be an integer from 2"):
            HSICSelectorCV(cv=True).fit(X, X[:, 0])


def test_a_gaussian_of_more_columns_than_rows_is_refused_at_once(monkeypatch):
    # Eigenvalues of 5000 columns take ten seconds and more.
    monkeypatch.setattr(np.linalg, "eigvalsh", None)
    wide = np.random.RandomState(0).normal(size=(100, 5000))
    with pytest.raises(ValueError, match=r"shape \(100, 5000\), is singular"):
        ksd_score(wide)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-100, 1e100, 1e160, 1e300])
@pytest.mark.parametrize(
    "call",
    [
        lambda Z: mmd_score(Z, Z[:30] * 2),
        lambda Z: mmd_score(Z, Z[:30] * 2, kernel="laplace"),
        lambda Z: ksd_score(Z),
        lambda Z: ksd_score(Z, lambda Z: -Z),
        lambda Z: HyvarinenScorer()(lambda Z: -Z, Z),
        lambda Z: HyvarinenScorer()(KSDEstimator().fit(Z), Z),
        lambda Z: float(stein_thinning(Z, -Z, 3)[0]),
        lambda Z: float(stein_thinning(Z, -Z, 3, preconditioner="med")[0]),
        lambda Z: ksd_score(Z, KernelDensity().fit(X)),
    ],
)
def test_extreme_scales_give_a_finite_number_or_an_error(call, scale):
    try:
        value = call(X * scale)
    except ValueError as error:
        message = str(error)
        assert any(
            word in message
            for word in ("Rescale", "bandwidth ==", "gradients of model", "sigma_k")
        )
    else:
        assert np.isfinite(value)


KERNELS = [GaussianKernel, LaplaceKernel, IMQKernel, MaternKernel]


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("method", ["profile", "profile_derivatives"])
class TestDistances:
    @pytest.mark.parametrize(
        "distance",
        [
            -1.0,
            np.nan,
            [1.0, np.nan],
            csr_array([[1.0]]),
            np.ma.masked_greater([1.0, 2.0], 1.5),
            np.array(["2020-01-01"], dtype="datetime64[D]"),
            HUGE,
        ],
        ids=["negative", "nan", "nans", "sparse", "mask", "dates", "huge"],
    )
    def test_what_is_no_distance_is_named(self, kind, method, distance):
        kernel = kind(bandwidth=1.0)
        if method != "profile" and not kernel.differentiable:
            method = "profile"
        with pytest.raises((TypeError, ValueError), match="distance"):
            getattr(kernel, method)(distance)

    @pytest.mark.parametrize("distance", [1e160, 1e300, np.inf])
    def test_kernels_vanish_at_large_distances(self, kind, method, distance):
        kernel = kind(bandwidth=1.0)
        if method != "profile" and not kernel.differentiable:
            method = "profile"
        # Every warning is an error in this suite. The slowest kernel is 1 / distance.
        values = getattr(kernel, method)([distance])
        assert_allclose(np.ravel(values), 0, atol=1e-150)


@pytest.mark.parametrize(
    "nu", ["nope", None, 2, HUGE], ids=["word", "none", "2", "huge"]
)
def test_orders_of_matern_kernels_are_checked_before_their_derivatives(nu):
    with pytest.raises(ValueError, match="nu == "):
        MaternKernel(bandwidth=1.0, nu=nu).profile_derivatives([1.0])


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_a_model_that_cannot_be_fitted_is_named():
    with pytest.raises(ValueError, match=r"model == GaussianMixture.*cannot be fitted"):
        KSDEstimator(GaussianMixture(2, random_state=0)).fit(1e300 * X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1e39, 1e300])
@pytest.mark.filterwarnings("ignore:.*is not positive definite")
def test_a_norm_of_huge_order_is_the_largest_difference(dtype, p):
    rows = X.astype(dtype)
    large, limit = (MaternKernel(bandwidth=1.0, p=order)(rows) for order in (p, np.inf))
    # Old releases of scipy compute the distances in another order.
    assert_allclose(large, limit, rtol=1e-6 if dtype is np.float32 else 0)


@pytest.mark.parametrize("features", [1.5, {}, object(), [], [0.0]], ids=range(5))
def test_features_that_are_no_columns_are_named(features):
    estimator = MMDEstimator().fit(X)
    with pytest.raises(ValueError, match=r"features == .*must be one or two different"):
        WitnessDisplay.from_estimator(estimator, X + 1, features=features)


@pytest.mark.parametrize("widths", [[1.0, 2.0], (1.0, 2.0)], ids=["list", "tuple"])
def test_arrays_of_bandwidths_give_the_test_of_lists(widths):
    results = [
        MMDEstimator(bandwidth=bandwidth, random_state=0).fit(X).test(X[:50] + 0.3)
        for bandwidth in (widths, np.array(widths))
    ]
    assert results[0].pvalue == results[1].pvalue
    assert len(results[1].kernels) == 4


@pytest.mark.parametrize("kind", KERNELS)
def test_profiles_are_finite_or_name_the_bandwidth(kind):
    try:
        values = kind(bandwidth=1e300).profile([1e-300, 1e300])
    except ValueError as error:
        values = str(error)
    if isinstance(values, str):
        assert "bandwidth == 1e+300, must be smaller here" in values
    else:
        assert np.all(np.isfinite(values))


@pytest.mark.parametrize("grid", [3, [3], {"step": 1}, {"step": []}], ids=repr)
def test_grids_that_are_no_grids_name_the_parameter(grid):
    with pytest.raises((TypeError, ValueError), match="param_grid == "):
        HSICSelectorCV(param_grid=grid).fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("kernel", "scale"),
    [
        (LinearKernel(), 1e300),
        (PolynomialKernel(), np.float32(1e12)),
        (EnergyKernel(), 1e300),
        (ColumnKernel(LinearKernel(), 0), 1e300),
        (GaussianKernel(bandwidth=1.0) + LinearKernel(), 1e300),
        (GaussianKernel(bandwidth=1.0) * LinearKernel(), 1e300),
    ],
)
def test_a_gram_matrix_beyond_floating_point_is_refused(kernel, scale):
    rows = scale * X.astype(np.asarray(scale).dtype)
    with pytest.raises(ValueError, match=f"X and Y are too large for {rows.dtype}"):
        kernel(rows)


@pytest.mark.parametrize("columns", [slice("a", "b"), slice(1.5), slice(0, 2, 0)])
def test_a_slice_that_is_not_of_positions_is_refused(columns):
    with pytest.raises(TypeError, match=r"columns == slice\(.*slice of positions"):
        mmd_score(X, X, kernel=ColumnKernel(GaussianKernel(), columns))


@pytest.mark.parametrize(
    "call",
    [
        lambda: cka_score(X, X[::-1], kernel=lambda A, B: 1e300 + 0 * (A @ B.T)),
        lambda: CKAEstimator().fit(1e300 * np.tile(X, 30), X),
        lambda: mmd_test(X, -X, kernel=PolynomialKernel(999), n_resamples=19),
        lambda: hsic_test_from_gram(1e300 * X @ X.T, 1e300 * X @ X.T),
        lambda: HSICSelector(target_kernel=lambda A, B: 1e200 * (A @ B.T)).fit(
            X, X[:, 0]
        ),
        lambda: conditional_hsic_test(X, X[:, 0], X, target_bandwidth=5e-324),
    ],
)
def test_sums_beyond_floating_point_are_refused_without_a_warning_of_numpy(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="not finite"):
            call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cka_score(X, X, design=Blocks(n_blocks=HUGE)), "design == Blocks"),
        (lambda: cka_score({HUGE: np.nan * X}, X), "layer 1000.* of X"),
        (lambda: HSICSelector(groups={"a": [HUGE]}).fit(X, X[:, 0]), "'a'.* column 10"),
        (lambda: HSICSelector(groups={HUGE: 3}).fit(X, X[:, 0]), "must be a list"),
        (
            lambda: HSICSelector(groups={HUGE: [0], 0: [0]}).fit(X, X[:, 0]),
            "group 1000.* already",
        ),
        (
            lambda: HSICSelectorCV(
                HSICSelector(step=HUGE), param_grid={"nope": [1]}
            ).fit(X, X[:, 0]),
            "Invalid parameter 'nope' in param_grid",
        ),
    ],
)
def test_messages_do_not_print_all_digits(call, words):
    with pytest.raises(ValueError, match=words) as caught:
        call()
    assert max(map(len, str(caught.value).split())) < 100


@pytest.mark.parametrize("cmap", [[], 3])
def test_what_is_not_a_colormap_is_refused(cmap):
    pytest.importorskip("matplotlib")
    with pytest.raises(TypeError, match="cmap == "):
        CKADisplay.from_result(cka_score([X], [X]), cmap=cmap)


@pytest.mark.parametrize("position", [0, 1])
def test_a_column_whose_kernel_is_zero_is_not_selected(position):
    columns = np.insert(X[:, :1], position, 0.0, axis=1)
    kernel = PolynomialKernel(coef0=0)
    selector = HSICSelector(1, kernel=kernel, n_probes=3, random_state=0).fit(
        columns, X[:, 0]
    )
    assert selector.get_support().tolist() == [position != 0, position != 1]


@pytest.mark.parametrize(
    "kernel", ["linear", "energy", PolynomialKernel(gamma=1e300, coef0=0)]
)
@pytest.mark.parametrize(
    "select", [ColumnCKA(), HSICSelector(1, n_probes=3, random_state=0)]
)
def test_columns_beyond_floating_point_do_not_count_as_constant(select, kernel):
    selector = clone(select).set_params(kernel=kernel)
    with pytest.raises(ValueError, match="not finite"):
        getattr(selector, "fit", selector)(1e300 * X, X[:, 0])


@pytest.mark.parametrize("origin", [[1.0], np.zeros(3), [[0.0, 0.0]]])
@pytest.mark.parametrize("combined", [False, True])
def test_an_origin_of_other_columns_is_refused_in_every_gram_matrix(origin, combined):
    kernel = EnergyKernel(origin=origin)
    if combined:
        kernel = ColumnKernel(kernel, [0, 1]) + LinearKernel()
    with pytest.raises(ValueError, match=r"origin has shape .* must have shape \(2,\)"):
        kernel(X)


def test_kernels_of_scikit_learn_take_arrays_that_are_read_only():
    X = np.random.RandomState(0).uniform(size=(6, 2))
    expected = FunctionKernel("chi2")(X)
    X.setflags(write=False)
    assert_array_equal(FunctionKernel("chi2")(X), expected)


def test_parameters_that_scikit_learn_refuses_are_named():
    with pytest.raises(TypeError, match=r"'sigmoid' .* params == {'gamma': 'a'}"):
        FunctionKernel("sigmoid", {"gamma": "a"})(np.ones((3, 1)))


def test_a_gram_matrix_of_objects_is_one_of_numbers():
    rows = np.arange(2)[:, np.newaxis]
    K = PrecomputedKernel(np.eye(3).astype(object))(rows)
    assert K.dtype == np.float64
    assert_array_equal(K, np.eye(2))


def test_a_grid_up_to_the_largest_number_is_finite():
    X = np.array([[0.0], [1.0], [np.finfo(float).max]])
    grid = [kernel.bandwidth for kernel in kernel_collection(X, kernel="laplace")]
    assert np.all(np.isfinite(grid))
    assert np.all(np.diff(grid) > 0)


def test_missing_dates_are_refused_before_a_pipeline():
    X = np.random.RandomState(0).normal(size=(20, 1))
    model = make_pipeline(StandardScaler(), GaussianMixture(random_state=0)).fit(X)
    dates = np.array([["2020-01-01"], ["NaT"]] * 3, dtype="M8[D]")
    with pytest.raises(ValueError, match="NaT"):
        MMDScorer()(model, dates)


def test_dates_that_a_pipeline_cannot_transform_are_named():
    X = np.random.RandomState(0).normal(size=(20, 1))
    model = make_pipeline(StandardScaler(), GaussianMixture(random_state=0)).fit(X)
    dates = pd.DataFrame({"a": X[:, 0], "day": pd.Timestamp("2020-01-01")})
    for scorer in (KSDScorer(), MMDScorer()):
        with (
            pytest.warns(UserWarning, match="X has feature names"),
            pytest.raises(TypeError, match="X has values that the pipeline cannot"),
        ):
            scorer(model, dates)


def test_a_sparse_sample_that_a_pipeline_cannot_transform_is_named():
    X = np.random.RandomState(0).normal(size=(20, 1))
    model = make_pipeline(StandardScaler(), GaussianMixture(random_state=0)).fit(X)
    with pytest.raises(ValueError, match="X has values that the pipeline cannot"):
        KSDScorer()(model, csr_array(X))


@pytest.mark.parametrize("metric", ["haversine", lambda a, b: "a", lambda a, b: a])
def test_metrics_that_fail_are_named(metric):
    X = np.random.RandomState(0).normal(size=(20, 3))
    kernel = GaussianKernel(bandwidth=1.0, metric=metric)
    for design in ("u", "l"):
        with pytest.raises((TypeError, ValueError), match="metric == "):
            mmd_score(X, X, kernel=kernel, design=design)


@pytest.mark.parametrize("text", [["a"], ["a", "b"]])
@pytest.mark.parametrize("kernel", [GaussianKernel(bandwidth=1.0), LinearKernel()])
def test_text_without_columns_is_refused_by_the_name_of_the_sample(kernel, text):
    with pytest.raises(ValueError, match=r"Y has text .*must have numbers"):
        kernel([[1.0]], text)


MANY = 10**9


@pytest.mark.parametrize(
    "call",
    [
        lambda n: mmd_test(X, X, n_resamples=n),
        lambda n: MMDEstimator().fit(X).test(X, n_resamples=n),
        lambda n: hsic_test(X, X[:, 0], n_resamples=n),
        lambda n: ksd_test(X, -X, n_resamples=n),
        lambda n: ksd_test(X, GaussianMixture(), method="parametric", n_resamples=n),
        lambda n: conditional_hsic_test(X, X[:, 0], X, n_resamples=n),
        lambda n: joint_independence_test(X, X[:, 0], n_resamples=n),
        lambda n: k_sample_test(X, X, n_resamples=n),
        lambda n: mmd_column_tests(X, X, n_resamples=n),
        lambda n: hsic_column_tests(X, X[:, 0], n_resamples=n),
        lambda n: mmd_test_from_gram(GRAM, GRAM, GRAM, n_resamples=n),
        lambda n: hsic_test_from_gram(GRAM, GRAM, n_resamples=n),
        lambda n: ksd_test_from_gram(GRAM, n_resamples=n),
        lambda n: drift_report(X, X, n_resamples=n),
        lambda n: ColumnCKA(pvalue="permutation", n_resamples=n)(X, X[:, 0]),
        lambda n: BatchScoresDisplay.from_estimator(
            MMDEstimator().fit(X), X, batch_size=9, n_resamples=n
        ),
    ],
    ids=range(16),
)
def test_more_resamples_than_anybody_needs_are_refused_before_they_are_drawn(call):
    match = r"n_resamples == 1000000000, must be .* at most 10000000, because each one"
    with pytest.raises(ValueError, match=match):
        call(MANY)


@pytest.mark.parametrize(
    ("name", "most", "call"),
    [
        ("n_subsets", 10**7, lambda n: mmd_subsets(X, X, n_subsets=n, subset_size=5)),
        ("n_probes", 10**7, lambda n: HSICSelector(n_probes=n).fit(X, X[:, 0])),
        ("n_bandwidths", 10**4, lambda n: mmd_score(X, X, n_bandwidths=n)),
        ("n_bandwidths", 10**4, lambda n: bandwidth_grid(X, n_bandwidths=n)),
        ("n_points", 10**7, lambda n: stein_thinning(X, -X, n)),
        (
            "n_samples",
            10**7,
            lambda n: MMDScorer(n_samples=n)(GaussianMixture().fit(X), X),
        ),
        ("n_samples", 10**4, lambda n: DesignDisplay.from_design("u", n)),
        (
            "grid_resolution",
            10**4,
            lambda n: WitnessDisplay.from_estimator(
                MMDEstimator().fit(X), X, grid_resolution=n
            ),
        ),
    ],
    ids=range(8),
)
def test_numbers_that_no_memory_holds_are_refused(name, most, call):
    match = rf"{name} == 1000000000, must be .* {most}\b"
    with pytest.raises(ValueError, match=match):
        call(MANY)


def test_categories_that_no_memory_holds_are_refused_before_they_are_encoded():
    n = 50_000
    table = pd.DataFrame({"name": [f"v{i}" for i in range(n)], "number": 1.0})
    encoder = TableEncoder(max_categories=None).fit(table)
    n_columns = len(encoder.get_feature_names_out())
    match = (
        f"max_categories == None, must be smaller here, such as 30: {n} rows of "
        rf"{n_columns} columns, one for each category, take 18\.6 GiB"
    )
    with pytest.raises(ValueError, match=match):
        encoder.transform(table)
    assert encoder.transform(table[:2]).shape == (2, n_columns)


class TestGradientsInBlocks:
    @staticmethod
    def gradients():
        return iter([-X[:25], -X[25:]])

    def test_a_function_of_gradient_blocks_gives_the_score_of_the_gradients(self):
        options = {"n_components": 64, "random_state": 0}
        expected = ksd_score([X[:25], X[25:]], -X, **options)
        found = ksd_score([X[:25], X[25:]], self.gradients, **options)
        assert_allclose(found, expected, rtol=1e-12)

    def test_rows_in_memory_need_gradients_in_memory(self):
        match = "model is a function that returns blocks, must be an array or a table"
        for function in (ksd_score, ksd_test):
            with pytest.raises(ValueError, match=match):
                function(X, self.gradients)

    def test_a_model_takes_rows(self):
        match = "model == .*must take the rows X .* but it takes no arguments"
        with pytest.raises(TypeError, match=match):
            KSDEstimator(lambda: -X).fit(X)


LARGEST = np.column_stack((X[:, 0], X[:, 1] / np.abs(X[:, 1]).max() * 1.7e308))


@pytest.mark.parametrize(
    "call",
    [
        lambda: hsic_matrix(LARGEST),
        lambda: hsic_column_tests(LARGEST, X[:, 0]),
        lambda: mmd_score(LARGEST, X),
        lambda: ksd_score(LARGEST, -X),
        lambda: cka_score(LARGEST, X),
    ],
    ids=range(5),
)
@pytest.mark.filterwarnings("ignore:The interquartile range")
def test_the_largest_floats_of_both_signs_are_refused_without_a_warning(call):
    # Every warning is an error in this suite.
    with pytest.raises(ValueError, match=r"(distances|statistic).* not finite"):
        call()


@pytest.mark.parametrize("kind", [csr_array, np.array])
def test_scorers_do_not_let_the_steps_of_a_pipeline_change_the_rows(kind):
    rows = kind(np.where(X > 0, 9 * X, 0.0))
    before = rows.copy()
    model = make_pipeline(
        MaxAbsScaler(copy=False),
        TruncatedSVD(1, random_state=0),
        GaussianMixture(random_state=0),
    ).fit(rows.copy())
    scores = [KSDScorer()(model, rows) for _ in range(2)]
    assert scores[0] == scores[1]
    assert abs(rows - before).max() == 0


class TestFunctionsOfUsers:
    @staticmethod
    def writes(A, B):
        A *= 0
        return A @ B.T

    @staticmethod
    def writes_sparse(A, B):
        A.data[:] = 0
        return A @ B.T

    @pytest.mark.parametrize("design", ["u", "r"])
    def test_a_kernel_that_writes_into_its_rows_is_refused(self, design):
        rows = X.copy()
        match = "kernel function 'writes' failed .* read-only"
        with pytest.raises(ValueError, match=match):
            mmd_score(rows, rows + 1, kernel=self.writes, design=design)
        with pytest.raises(ValueError, match=match):
            FunctionKernel(self.writes)(rows)
        assert_array_equal(rows, X)

    def test_a_kernel_that_writes_into_sparse_rows_is_refused(self):
        rows = csr_array(np.where(X > 0, X, 0.0))
        before = rows.copy()
        with pytest.raises(ValueError, match=r"'writes_sparse' failed .* read-only"):
            FunctionKernel(self.writes_sparse)(rows)
        assert (rows != before).nnz == 0

    def test_a_kernel_object_that_writes_into_its_rows_is_refused(self):
        class Writes(RowKernel):
            def gram(self, A, B):
                A[:] = 0
                return A @ B.T

        rows = X.copy()
        with pytest.raises(ValueError, match="read-only"):
            mmd_score(rows, rows + 1, kernel=Writes())
        assert_array_equal(rows, X)

    @pytest.mark.parametrize("design", ["u", "r"])
    def test_a_metric_that_writes_into_its_rows_is_refused(self, design):
        def metric(a, b):
            a[:] = 0
            return np.abs(a - b).sum()

        rows, kernel = X.copy(), GaussianKernel(bandwidth=1.0, metric=metric)
        with pytest.raises(ValueError, match="read-only"):
            mmd_score(rows, rows + 1, kernel=kernel, design=design)
        assert_array_equal(rows, X)

    def test_a_transformer_that_works_in_place_gives_the_score_of_a_copy(self):
        scores, rows = [], X.copy()
        for copy in (True, False):
            kernel = FeatureKernel(MaxAbsScaler(copy=copy))
            scores.append(mmd_score(rows, X + 1, kernel=kernel))
        assert scores[0] == scores[1]
        assert_array_equal(rows, X)

    def test_compiled_functions_get_arrays_that_they_can_read(self):
        A, B = np.abs(X), np.abs(X) + 1
        found = mmd_score(A, B, kernel=chi2_kernel)
        assert_allclose(found, mmd_score(A, B, kernel="chi2"), rtol=1e-12)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("wrap", [FunctionKernel, None, "sum", "columns"])
    def test_an_asymmetric_kernel_is_named(self, wrap, dtype):
        def later(A, B):
            return np.exp(-np.maximum(A[:, :1] - B[:, 0], 0))

        kernel = {
            FunctionKernel: FunctionKernel(later),
            "sum": FunctionKernel(later) + LinearKernel(),
            "columns": ColumnKernel(FunctionKernel(later), [0]),
        }.get(wrap, later)
        rows = X.astype(dtype)
        match = (
            r"kernel function 'later' returned k\(x, y\) == 1 and k\(y, x\) == 0\..*"
        )
        match += "must be symmetric"
        for call in (
            lambda: mmd_score(rows, rows + 1, kernel=kernel),
            lambda: hsic_test(rows, rows[:, 0], kernel=kernel, random_state=0),
        ):
            with pytest.raises(ValueError, match=match):
                call()

    def test_rounding_errors_are_not_an_asymmetry(self):
        signs = np.random.RandomState(0).choice([-1, 1], size=(60, 60))

        def rounded(A, B):
            # The rounding errors of a function that computes in float16.
            relative = np.finfo(np.float16).eps * signs[: len(A), : len(B)]
            return (A @ B.T) * (1 + relative)

        found = hsic_score(X, X[:, 0], kernel=rounded, target_kernel="linear")
        exact = hsic_score(X, X[:, 0], kernel="linear", target_kernel="linear")
        assert_allclose(found, exact, rtol=1e-2)
