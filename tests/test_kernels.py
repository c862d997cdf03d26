"""Kernels against the formulas of the paper, written out here by hand."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
import warnings
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

import skdiscrepancy.kernels
from skdiscrepancy import hsic_from_gram, hsic_score, mmd_score
from skdiscrepancy.bandwidths import median_bandwidth
from skdiscrepancy.kernels import (
    GaussianKernel,
    IMQKernel,
    IndicatorKernel,
    LaplaceKernel,
    MaternKernel,
    check_kernel,
)

# Matern kernels of any norm go through the interface test; the warning has its own.
pytestmark = pytest.mark.filterwarnings("ignore:.*not positive definite:UserWarning")

# Psi(t), t the distance over the bandwidth, term by term as in the paper.
MATERN = {
    0.5: lambda t: np.exp(-t),
    1.5: lambda t: (1 + np.sqrt(3) * t) * np.exp(-np.sqrt(3) * t),
    2.5: lambda t: (1 + np.sqrt(5) * t + 5 / 3 * t**2) * np.exp(-np.sqrt(5) * t),
    3.5: lambda t: (
        (1 + np.sqrt(7) * t + 14 / 5 * t**2 + 7 * np.sqrt(7) / 15 * t**3)
        * np.exp(-np.sqrt(7) * t)
    ),
    4.5: lambda t: (
        (1 + 3 * t + 108 / 28 * t**2 + 6**3 / 84 * t**3 + 6**4 / 1680 * t**4)
        * np.exp(-3 * t)
    ),
}

SMOOTH = [
    pytest.param(GaussianKernel(), 2, lambda t: np.exp(-(t**2)), id="gaussian"),
    pytest.param(IMQKernel(), 2, lambda t: 1 / np.sqrt(1 + t**2), id="imq"),
    *(
        pytest.param(MaternKernel(nu=nu), 2, MATERN[nu], id=f"matern-{nu}-2")
        for nu in (1.5, 2.5, 3.5, 4.5)
    ),
]
ROUGH = [
    pytest.param(LaplaceKernel(), 1, lambda t: np.exp(-t), id="laplace"),
    *(
        pytest.param(MaternKernel(nu=nu, p=p), p, MATERN[nu], id=f"matern-{nu}-{p}")
        for nu, p in [
            *((0.5, p) for p in (1, 2, 3, np.inf)),
            *((1.5, 1), (2.5, 3), (4.5, np.inf)),
        ]
    ),
]
RADIAL = SMOOTH + ROUGH
INDICATOR = pytest.param(
    IndicatorKernel(), 2, lambda t: (t == 0).astype(float), id="indicator"
)

smooth_kernels = pytest.mark.parametrize(("kernel", "p", "profile"), SMOOTH)
radial_kernels = pytest.mark.parametrize(("kernel", "p", "profile"), RADIAL)
all_kernels = pytest.mark.parametrize(
    ("kernel", "p", "profile"), [*SMOOTH, *ROUGH, INDICATOR]
)
dimensions = pytest.mark.parametrize("n_features", [1, 2, 5])


def with_bandwidth(kernel, bandwidth):
    has_one = "bandwidth" in kernel.get_params()
    return clone(kernel).set_params(**({"bandwidth": bandwidth} if has_one else {}))


def sample(n_features=5, n_samples=20, seed=0):
    return np.random.RandomState(seed).normal(size=(n_samples, n_features))


def minkowski(X, Y, p):
    gaps = np.abs(X[:, np.newaxis] - Y)
    return gaps.max(-1) if np.isinf(p) else (gaps**p).sum(-1) ** (1 / p)


def is_definite(kernel, n_features):
    """Schoenberg: p = 2, the line, exp(-|.|_p) for p < 2 or in the plane."""
    nu, p = getattr(kernel, "nu", None), getattr(kernel, "p", 2)
    rough_and_safe = nu == 0.5 and (p <= 2 or n_features == 2)
    return nu is None or p == 2 or n_features == 1 or rough_and_safe


class TestEveryKernel:
    @all_kernels
    @dimensions
    def test_values_are_those_of_the_paper(self, kernel, p, profile, n_features):
        X, Y = sample(n_features), sample(n_features, n_samples=7, seed=1)
        for bandwidth in (0.7, 3):
            K = with_bandwidth(kernel, bandwidth)(X, Y)
            # Squared distances may lose four digits to cancellation, never more.
            assert_allclose(K, profile(minkowski(X, Y, p) / bandwidth), rtol=1e-11)

    @all_kernels
    @dimensions
    def test_gram_matrix_is_symmetric_with_unit_diagonal(
        self, kernel, p, profile, n_features
    ):
        K = with_bandwidth(kernel, 1.3)(sample(n_features))
        assert_array_equal(K, K.T)
        assert_array_equal(np.diag(K), 1)

    @all_kernels
    def test_gram_matrix_is_positive_semi_definite(self, kernel, p, profile):
        for n_features, bandwidth in product((1, 2, 5), (0.3, 2.0)):
            K = with_bandwidth(kernel, bandwidth)(sample(n_features, n_samples=60))
            # Rounding of 60 x 60 entries of at most 1.
            rounding = 60 * 60 * np.finfo(float).eps
            if is_definite(kernel, n_features):
                assert np.linalg.eigvalsh(K)[0] > -rounding

    @all_kernels
    @dimensions
    def test_two_samples_give_a_block_of_the_joint_matrix(
        self, kernel, p, profile, n_features
    ):
        X, Y = sample(n_features), sample(n_features, n_samples=7, seed=1)
        kernel = with_bandwidth(kernel, 1.3)
        joint = kernel(np.concatenate((X, Y)))
        assert_allclose(kernel(X, Y), joint[:20, 20:], rtol=1e-11)
        assert_allclose(kernel(Y, X), joint[20:, :20], rtol=1e-11)
        assert_allclose(kernel(X), joint[:20, :20], rtol=1e-11)

    @all_kernels
    @dimensions
    def test_equal_rows_give_exactly_one(self, kernel, p, profile, n_features):
        kernel, copies = with_bandwidth(kernel, 1e-3), np.arange(40) % 20
        same = np.equal.outer(copies, copies)
        for dtype in (np.float32, np.float64):
            X = (sample(n_features) + 100).astype(dtype)
            assert_array_equal(kernel(X[copies])[same], 1)
            assert_array_equal(kernel(X[copies], X)[same[:, :20]], 1)

    @all_kernels
    @dimensions
    def test_offset_of_the_data_makes_no_difference(
        self, kernel, p, profile, n_features
    ):
        # Multiples of 2^-10 below 2^4: exact also after the shift.
        X = np.random.RandomState(0).randint(-(2**13), 2**13, (20, n_features)) / 2**10
        kernel = with_bandwidth(kernel, 2.0)
        assert_allclose(kernel(X + 1e6), kernel(X), rtol=1e-11)
        assert_allclose(kernel(X[:5] + 1e6, X + 1e6), kernel(X[:5], X), rtol=1e-11)

    @all_kernels
    @dimensions
    def test_clusters_far_apart_keep_their_digits(self, kernel, p, profile, n_features):
        X = sample(n_features, n_samples=40)
        X[20:] += 1e6
        distances = minkowski(X, X, p)
        # Centring rounds each coordinate to 2^-35 (half a unit in the last place of
        # 5e5), so a distance is off by at most n_features 2^-34 = 3e-10, and
        # |Psi'| <= 1: with bandwidth 4 the kernel is off by less than 1e-10.
        K = with_bandwidth(kernel, 4.0)(X)
        assert_allclose(K, profile(distances / 4), rtol=0, atol=1e-10)

    @all_kernels
    def test_parameters_survive_clone_repr_and_pickle(self, kernel, p, profile):
        X, kernel = sample(), with_bandwidth(kernel, 1.3)
        namespace = {**vars(skdiscrepancy.kernels), "inf": np.inf}
        for copy in (
            clone(kernel),
            pickle.loads(pickle.dumps(kernel)),
            eval(repr(kernel), namespace),
        ):
            assert type(copy) is type(kernel)
            assert copy.get_params() == kernel.get_params()
            assert_array_equal(copy(X), kernel(X))


class TestRadialKernels:
    @radial_kernels
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_limits_in_the_bandwidth_are_identity_and_ones(
        self, kernel, p, profile, dtype
    ):
        X = sample().astype(dtype)
        # Distances are between 0.1 and 100; Psi(t) <= 1 / t and 1 - Psi(t) <= t.
        assert minkowski(X, X, np.inf)[np.triu_indices(20, 1)].min() > 0.1
        assert minkowski(X, X, 1).max() < 100
        for bandwidth in (1e-9, 1e-100, 1e-200, 1e-310):
            K = with_bandwidth(kernel, bandwidth)(X)
            assert_allclose(K, np.eye(20), rtol=0, atol=1e-8)
        for bandwidth in (1e9, 1e100, 1e200, 1e308):
            K = with_bandwidth(kernel, bandwidth)(X)
            assert_allclose(K, np.ones((20, 20)), rtol=0, atol=2e-7)

    @radial_kernels
    @dimensions
    def test_float32_stays_float32(self, kernel, p, profile, n_features):
        X = sample(n_features).astype(np.float32)
        kernel = with_bandwidth(kernel, 2.0)
        assert kernel(X).dtype == kernel(X, X[:3]).dtype == np.float32
        assert kernel(X, X.astype(float)).dtype == np.float64
        assert kernel.profile(X[0]).dtype == np.float32
        # A few units in the last place of 1, times two digits of cancellation.
        exact = profile(minkowski(X.astype(float), X.astype(float), p) / 2)
        assert_allclose(kernel(X), exact, rtol=0, atol=1e-5)

    @radial_kernels
    def test_profile_is_the_kernel_of_the_distance(self, kernel, p, profile):
        distance = np.array([[0.0, 0.1], [1.0, 30.0]])
        values = with_bandwidth(kernel, 2.0).profile(distance)
        assert_allclose(values, profile(distance / 2), rtol=1e-13)
        assert with_bandwidth(kernel, 2.0).profile(0) == 1

    @smooth_kernels
    def test_derivatives_match_finite_differences(self, kernel, p, profile):
        d, h, bandwidth = np.linspace(0.05, 5, 40), 1e-4, 1.3
        slope, curvature = with_bandwidth(kernel, bandwidth).profile_derivatives(d)
        below, here, above = (profile((d + s) / bandwidth) for s in (-h, 0, h))
        # Central differences: off by h^2 times a derivative of order 3 or 4 (some tens
        # over bandwidth^4), and by rounding, 2^-52 / h^2.
        assert_allclose(slope * d, (above - below) / (2 * h), rtol=0, atol=1e-6)
        assert_allclose(curvature, (above - 2 * here + below) / h**2, rtol=0, atol=1e-6)

    @smooth_kernels
    def test_derivatives_at_zero_are_the_limits(self, kernel, p, profile):
        bandwidth = 1.7
        # Psi''(0): from the series of exp and of the root; nu / (nu - 1) for Matern.
        rate = {GaussianKernel: 2, IMQKernel: 1}.get(type(kernel))
        rate = rate or kernel.nu / (kernel.nu - 1)
        kernel = with_bandwidth(kernel, bandwidth)
        for distance in (0.0, 1e-12):
            assert_allclose(
                kernel.profile_derivatives(distance), -rate / bandwidth**2, rtol=1e-10
            )

    @smooth_kernels
    @dimensions
    def test_gradient_and_trace_match_finite_differences(
        self, kernel, p, profile, n_features
    ):
        bandwidth, h = 1.7, 1e-4
        x, y = sample(n_features, n_samples=2)
        steps = h * np.eye(n_features)

        def k(x, y):
            return profile(np.sqrt(np.sum((x - y) ** 2)) / bandwidth)

        slope, curvature = with_bandwidth(kernel, bandwidth).profile_derivatives(
            np.sqrt(np.sum((x - y) ** 2))
        )
        gradient = [(k(x + e, y) - k(x - e, y)) / (2 * h) for e in steps]
        assert_allclose(slope * (x - y), gradient, rtol=0, atol=1e-6)
        trace = sum(
            s * t * k(x + s * e, y + t * e) / (4 * h**2)
            for e, s, t in product(steps, (-1, 1), (-1, 1))
        )
        # Rounding of n_features second differences is the largest error.
        assert_allclose(-curvature - (n_features - 1) * slope, trace, rtol=0, atol=1e-6)

    @smooth_kernels
    def test_derivatives_of_float32_stay_float32(self, kernel, p, profile):
        distance = np.linspace(0, 3, 5, dtype=np.float32)
        kernel = with_bandwidth(kernel, 2.0)
        for single, double in zip(
            kernel.profile_derivatives(distance),
            kernel.profile_derivatives(distance.astype(float)),
            strict=True,
        ):
            assert single.dtype == np.float32
            assert_allclose(single, double, rtol=0, atol=1e-6)

    @smooth_kernels
    def test_derivatives_vanish_for_extreme_bandwidths(self, kernel, p, profile):
        # Both are of order 1 / (d^2 t) for large t and t^2 / d^2 for small t, or less.
        for bandwidth in (1e-100, 1e100, 1e-200, 1e200):
            scaled = with_bandwidth(kernel, bandwidth)
            assert_allclose(scaled.profile_derivatives([0.5, 2]), 0, atol=1e-90)

    @pytest.mark.parametrize(("kernel", "p", "profile"), ROUGH)
    def test_kernels_that_are_not_differentiable_say_so(self, kernel, p, profile):
        assert not kernel.differentiable
        name = type(kernel).__name__
        with pytest.raises(ValueError, match=rf"{name}\(.*not twice differentiable"):
            with_bandwidth(kernel, 1.0).profile_derivatives([1.0])


class TestMaternDefiniteness:
    @pytest.mark.parametrize(
        ("nu", "p", "n_features"),
        [
            *product((1.5, 2.5, 3.5, 4.5), (1, 3, np.inf), (2, 5)),
            *product((0.5,), (2.5, np.inf), (3, 5)),
        ],
    )
    def test_indefinite_kernels_warn(self, nu, p, n_features):
        kernel = MaternKernel(nu=nu, p=p, bandwidth=1.0)
        with pytest.warns(
            UserWarning, match=f"not positive definite for {n_features} features"
        ):
            kernel(sample(n_features))

    @pytest.mark.parametrize(
        ("nu", "p", "n_features"),
        [
            *product((0.5, 1.5, 4.5), (2, 2.0), (1, 2, 5)),
            *product((0.5, 1.5, 4.5), (1, 3, np.inf), (1,)),
            *product((0.5,), (1, 1.5), (2, 5)),
            *product((0.5,), (3, np.inf), (2,)),
        ],
    )
    def test_definite_kernels_do_not_warn(self, nu, p, n_features):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            K = MaternKernel(nu=nu, p=p, bandwidth=1.0)(sample(n_features))
        assert np.linalg.eigvalsh(K)[0] > -1e-12

    def test_warning_is_justified_by_a_negative_eigenvalue(self):
        grid = 0.35 * np.array(list(product(range(12), repeat=2)))
        with pytest.warns(UserWarning, match="p=1"):
            K = MaternKernel(nu=1.5, p=1, bandwidth=1.0)(grid)
        by_hand = MATERN[1.5](minkowski(grid, grid, 1))
        smallest = np.linalg.eigvalsh(by_hand)[0]
        assert_allclose(np.linalg.eigvalsh(K)[0], smallest, rtol=1e-10)
        # The published value, to its two digits.
        assert_allclose(smallest, -0.17, rtol=0, atol=0.005)


class TestIndicator:
    @pytest.mark.parametrize(
        "labels",
        [
            ["a", "b", "a", "abc"],
            [1, "1", "a", 1],
            np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"),
        ],
        ids=["str-list", "mixed-list", "date"],
    )
    def test_one_exactly_for_equal_labels(self, labels):
        expected = [[float(a == b) for b in labels] for a in labels]
        assert_array_equal(IndicatorKernel()(labels), expected)
        assert_array_equal(
            IndicatorKernel()(labels, labels[:2]), np.array(expected)[:, :2]
        )

    @pytest.mark.parametrize(
        ("first", "second", "expected"),
        [
            (["a", "b"], ["abc", "b"], [[0, 0], [0, 1]]),
            ([1, 2], ["1", "2"], [[0, 0], [0, 0]]),
            ([1, 2], [2.0, 2.5], [[0, 0], [1, 0]]),
            ([0, 1], [True], [[0], [1]]),
        ],
        ids=["lengths", "int-str", "int-float", "int-bool"],
    )
    def test_labels_of_two_samples_keep_their_types(self, first, second, expected):
        assert_array_equal(IndicatorKernel()(first, second), expected)

    @pytest.mark.parametrize(
        "labels",
        [
            [0.0, np.nan],
            ["a", None],
            ["a", np.nan],
            np.array(["a", np.nan], dtype=object),
            [["a", "b"], ["a", None]],
            np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"),
        ],
        ids=["nan", "none", "nan-list", "nan-object", "column", "nat"],
    )
    def test_missing_labels_are_refused(self, labels):
        with pytest.raises(ValueError, match="Input X contains NaN, NaT or None"):
            IndicatorKernel()(labels)
        with pytest.raises(ValueError, match="Input Y contains NaN, NaT or None"):
            IndicatorKernel()(np.zeros(np.shape(labels)), labels)

    @pytest.mark.parametrize(
        ("X", "Y", "message"),
        [
            (np.zeros((2, 2)), np.zeros((2, 3)), "Y has 3 columns, must have 2"),
            ([], None, r"X has shape \(0, 1\)"),
            (np.zeros((2, 2, 2)), None, r"X has shape \(2, 2, 2\)"),
        ],
    )
    def test_wrong_shapes_are_refused(self, X, Y, message):
        with pytest.raises(ValueError, match=message):
            IndicatorKernel()(X, Y)


def balanced_gram(labels):
    """1 / n_c for two labels of the same class of n_c, term by term."""
    labels = list(labels)
    return np.array([[(a == b) / labels.count(a) for b in labels] for a in labels])


class TestBalancedIndicator:
    def test_every_class_weighs_the_same(self):
        labels = np.repeat(["rare", "common", "frequent"], [2, 10, 50])
        values = np.linalg.eigvalsh(IndicatorKernel(balanced=True)(labels))
        # A projection on the classes: one for each of the three, else zero.
        assert_allclose(values, [0] * 59 + [1] * 3, rtol=0, atol=1e-13)

    def test_classes_of_equal_size_differ_by_a_constant_only(self):
        labels = np.arange(12) % 3
        K = IndicatorKernel(balanced=True)(labels)
        assert_allclose(4 * K, IndicatorKernel()(labels), rtol=1e-15)

    @pytest.mark.parametrize("design", ["v", "u", "l", "d", "b", "x", "r"])
    @pytest.mark.parametrize("normalize", [False, True])
    def test_hsic_with_labels_is_that_of_the_gram_matrices(self, design, normalize):
        rng = np.random.RandomState(0)
        X = rng.normal(size=(40, 2))
        labels = np.where(X[:, 0] + 0.3 * rng.normal(size=40) > 1, "rare", "frequent")
        labels[:3] = "other"
        K = np.exp(-(minkowski(X, X, 2) ** 2) / 1.3**2)
        params = {"design": design, "normalize": normalize, "random_state": 0}
        score = hsic_score(
            X,
            labels,
            kernel=GaussianKernel(bandwidth=1.3),
            target_kernel=IndicatorKernel(balanced=True),
            pooling="mean",
            **params,
        )
        expected = hsic_from_gram(K, balanced_gram(labels), **params)
        assert_allclose(score, expected, rtol=1e-9, atol=1e-15)

    def test_clone_is_balanced(self):
        kernel = IndicatorKernel(balanced=True)
        assert repr(clone(kernel)) == "IndicatorKernel(balanced=True)"
        assert pickle.loads(pickle.dumps(kernel)).balanced is True
        assert kernel.get_params() == {"balanced": True}

    @pytest.mark.parametrize("balanced", ["yes", 1, None])
    def test_what_is_not_a_bool_is_named(self, balanced):
        kernel = IndicatorKernel(balanced=balanced)
        message = f"balanced == {balanced!r}, must be True or False"
        with pytest.raises(TypeError, match=message):
            kernel(["a", "b"])
        with pytest.raises(TypeError, match=message):
            hsic_score(sample(), ["a", "b"] * 10, target_kernel=kernel)


class TestCheckKernel:
    @pytest.mark.parametrize(
        ("name", "cls", "params"),
        [
            ("gaussian", GaussianKernel, {}),
            ("laplace", LaplaceKernel, {}),
            ("imq", IMQKernel, {}),
            ("indicator", IndicatorKernel, {"balanced": False}),
            *(
                (f"matern{int(2 * nu)}2", MaternKernel, {"nu": nu, "p": 2})
                for nu in MATERN
            ),
        ],
    )
    def test_names_stand_for_kernels_without_bandwidth(self, name, cls, params):
        (kernel,) = check_kernel(name)
        assert type(kernel) is cls
        expected = {"bandwidth": None, "metric": None, **params}
        if cls is IndicatorKernel:
            expected = params
        assert kernel.get_params() == expected

    @pytest.mark.parametrize("container", [list, tuple])
    def test_objects_are_kept_as_they_are_and_in_order(self, container):
        given = container([IMQKernel(), "laplace", RBF(2.0), GaussianKernel()])
        kernels = check_kernel(given)
        assert kernels[0] is given[0]
        assert kernels[2:] == list(given[2:])
        assert isinstance(kernels[1], LaplaceKernel)

    @pytest.mark.parametrize(
        ("kernel", "error", "message"),
        [
            (
                "rbff",
                ValueError,
                r"target_kernel == 'rbff', must be one of \['additive",
            ),
            (("imq", "x"), ValueError, "target_kernel == 'x', must be one of"),
            (3, TypeError, "target_kernel == 3, must be one of"),
            (None, TypeError, "target_kernel == None, must be one of"),
            (GaussianKernel, TypeError, "target_kernel == .*GaussianKernel"),
            ([], ValueError, r"target_kernel == \[\], must hold at least one"),
            (MaternKernel(nu=1), ValueError, r"nu == 1, must be one of \(0.5, 1.5"),
            (MaternKernel(p=0.5), ValueError, "p == 0.5, must be .* >= 1"),
        ],
    )
    def test_what_is_no_kernel_is_refused(self, kernel, error, message):
        with pytest.raises(error, match=message):
            check_kernel(kernel, "target_kernel")


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (GaussianKernel(), TypeError, "bandwidth == None, must be"),
        (GaussianKernel(bandwidth="grid"), TypeError, "bandwidth == 'grid', must be"),
        (LaplaceKernel(bandwidth=[1.0]), TypeError, r"bandwidth == \[1.0\], must be"),
        (IMQKernel(bandwidth=0), ValueError, "bandwidth == 0, must be .* > 0"),
        (LaplaceKernel(bandwidth=-1), ValueError, "bandwidth == -1, must be .* > 0"),
        (IMQKernel(bandwidth=np.nan), ValueError, "bandwidth == nan, must be"),
        (MaternKernel(bandwidth=np.inf), ValueError, "bandwidth == inf, must be"),
        (MaternKernel(bandwidth=1.0, nu=1), ValueError, "nu == 1, must be one of"),
        (MaternKernel(bandwidth=1.0, nu="1.5"), ValueError, "nu == '1.5', must be"),
        (MaternKernel(bandwidth=1.0, p=0.5), ValueError, "p == 0.5, must be .* >= 1"),
        (MaternKernel(bandwidth=1.0, p=np.nan), ValueError, "p == nan, must be"),
        (MaternKernel(bandwidth=1.0, p="2"), TypeError, "p == '2', must be"),
    ],
)
def test_bad_parameters_are_named(kernel, error, message):
    with pytest.raises(error, match=message):
        kernel(sample())
    with pytest.raises(error, match=message):
        kernel.profile([1.0])


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        (np.zeros((4, 3)), np.zeros((4, 2)), "Y has 2 features, must have 3 as X"),
        ([[0.0], [np.nan]], None, "Input X contains NaN"),
        ([[0.0]], [[np.inf]], "Input Y contains infinity"),
        ([0.0, 1.0], None, "Expected 2D array"),
        (np.empty((0, 2)), None, "Found array with 0 sample"),
    ],
)
def test_bad_samples_are_named(X, Y, message):
    with pytest.raises(ValueError, match=message):
        GaussianKernel(bandwidth=1.0)(X, Y)


@pytest.mark.parametrize("p", [40.0, 200.0, 1000.0])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_large_orders_of_the_distance_neither_overflow_nor_underflow(p, unit):
    # d_p of a difference (u, u) is u 2^(1/p).
    kernel = MaternKernel(nu=0.5, p=p, bandwidth=unit)
    expected = np.exp(-(2 ** (1 / p)))
    assert_allclose(kernel([[0.0, 0.0]], [[unit, unit]]), expected, rtol=1e-12)
    X = [[0.0, 0.0], [unit, unit]]
    assert_allclose(median_bandwidth(X, p=p), unit * 2 ** (1 / p), rtol=1e-12)
    loose = mmd_score(
        np.zeros((2, 2)),
        np.full((2, 2), unit),
        kernel=kernel,
        design="l",
        normalize=False,
        pooling=None,
    )
    assert_allclose(loose, 2 - 2 * expected, rtol=1e-12)


def test_a_gram_matrix_beyond_floating_point_is_refused():
    X = 1e200 * np.random.RandomState(0).normal(size=(5, 6))
    with pytest.raises(ValueError, match=r"spread over .* must spread over"):
        GaussianKernel(bandwidth=1e200)(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_indicator_keeps_the_float_type_of_numeric_labels(dtype):
    labels = np.array([0, 1, 1], dtype=dtype)
    assert IndicatorKernel()(labels).dtype == dtype
    assert IndicatorKernel()(labels, labels).dtype == dtype
