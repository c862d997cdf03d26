"""Mistakes that newcomers make: none is silent, and the messages say what to do."""

# SPDX-License-Identifier: BSD-3-Clause

import copy
import pickle
import re
import sys
import warnings
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skdiscrepancy
from skdiscrepancy import (
    HSICEstimator,
    KSDEstimator,
    MMDEstimator,
    conditional_hsic_test,
    hsic_score,
    hsic_test,
    k_sample_test,
    ksd_score,
    ksd_test,
    mmd_column_tests,
    mmd_score,
    mmd_test,
)
from skdiscrepancy.kernels import GaussianKernel
from skdiscrepancy.model_checking import log_density_gradient
from skdiscrepancy.monitoring import drift_report

RNG = np.random.RandomState(0)
X, Y = RNG.normal(size=(100, 3)), RNG.normal(size=(80, 3))
x, other = X[:, 0], RNG.normal(size=(100, 3))
y = x + RNG.normal(size=100)
LABELS = np.repeat([0, 1, 2, 3], 25)
FRAME = pd.DataFrame({"a": x, "b": X[:, 1], "c": np.repeat(["u", "v"], 50)})
RESULT = mmd_test(X, Y, n_resamples=99, random_state=0)
NORMAL = stats.norm(0, 1)


def run(statement):
    exec(statement, {})


# What a user does, the error, and what the error says.
ERRORS = [
    # Wrong data.
    (lambda: mmd_test(X, y), ValueError, "call hsic_test(X, y)"),
    (lambda: mmd_test(FRAME, y), ValueError, "call hsic_test(X, y)"),
    (lambda: mmd_score(X, y[:, np.newaxis]), ValueError, "call hsic_test(X, y)"),
    (lambda: hsic_test(X, Y), ValueError, "call mmd_test(X, Y)"),
    (lambda: hsic_score(X, Y), ValueError, "one value for each row of X"),
    (lambda: HSICEstimator().fit(X, Y), ValueError, "call mmd_test(X, Y)"),
    (lambda: k_sample_test(X, LABELS), ValueError, "k_sample_test(X, groups=labels)"),
    (lambda: k_sample_test(FRAME, "c"), ValueError, "one table with `groups`"),
    (lambda: mmd_test(X[:1], Y), ValueError, "MMDEstimator().fit(sample).contrib"),
    (lambda: mmd_test(Y, X[:1]), ValueError, "MMDEstimator().fit(sample).contrib"),
    # Swapped arguments.
    (lambda: ksd_test(NORMAL, x), TypeError, "as in ksd_test(X, model)"),
    (lambda: ksd_score(GaussianMixture(), X), TypeError, "Pass the sample first"),
    (lambda: ksd_test(lambda X: -X, X), TypeError, "as in ksd_test(X, model)"),
    # Options by position.
    (lambda: mmd_test(X, Y, 999), TypeError, "by name. Did you mean n_resamples=999?"),
    (lambda: mmd_test(X, Y, "rbf"), TypeError, "Options must be passed by name"),
    (lambda: mmd_test(X, Y, "gaussian"), TypeError, "mean kernel='gaussian'?"),
    (lambda: mmd_test(X, Y, "median"), TypeError, "mean bandwidth='median'?"),
    (lambda: mmd_test(X, Y, other), TypeError, "k_sample_test(X, Y, Z)"),
    (lambda: ksd_test(X, None, 99), TypeError, "takes 2 positional arguments, but"),
    (lambda: MMDEstimator("gaussian"), TypeError, "Did you mean kernel='gaussian'?"),
    (lambda: GaussianKernel(2.0), TypeError, "Did you mean bandwidth=2.0?"),
    # Words of other packages.
    (lambda: mmd_test(X, Y, alpha=0.05), TypeError, "as in result.pvalue <= 0.05"),
    (lambda: hsic_test(X, y, p_value=True), TypeError, "as in result.pvalue <= 0.05"),
    (lambda: drift_report(X, Y, alpha=0.05), TypeError, "Did you mean 'level'?"),
    (lambda: hsic_test(X, y, Z=X), TypeError, "conditional_hsic_test(X, y, Z)"),
    (lambda: conditional_hsic_test(X, y, Z=X), TypeError, "Did you mean 'given'?"),
    # The result is not a number.
    (lambda: RESULT.p_value, AttributeError, "Did you mean 'pvalue'?"),
    (lambda: RESULT.p, AttributeError, "Did you mean 'pvalue'?"),
    (lambda: RESULT.stat, AttributeError, "Did you mean 'statistic"),
    (lambda: RESULT < 0.05, TypeError, "Use its attributes, as in result.pvalue <="),
    (lambda: RESULT >= 0.05, TypeError, "Use its attributes, as in result.pvalue <="),
    (lambda: RESULT["pvalue"], TypeError, "Use its attributes, as in result.pvalue <="),
    (lambda: bool(RESULT), TypeError, "Use its attributes, as in result.pvalue <="),
    (lambda: bool(mmd_column_tests(X, Y)), TypeError, "Use its attributes."),
    # Misspelt names.
    (lambda: mmd_test(X, Y, kernel="guassian"), ValueError, "Did you mean 'gaussian'?"),
    (lambda: mmd_test(X, Y, kernel="normal"), ValueError, "Did you mean 'gaussian'?"),
    (lambda: ksd_test(X, kernel="guassian"), ValueError, "Did you mean 'gaussian'?"),
    (lambda: mmd_test(X, Y, design="blocks"), ValueError, "Did you mean 'Blocks()'?"),
    (lambda: mmd_test(X, Y, design="U"), ValueError, "Did you mean 'u'?"),
    (lambda: mmd_test(X, Y, bandwidth="medain"), ValueError, "Did you mean 'median'?"),
    # Names of other modules.
    (
        lambda: skdiscrepancy.GaussianKernel,
        AttributeError,
        "Did you mean skdiscrepancy.kernels.GaussianKernel?",
    ),
    (lambda: skdiscrepancy.inference.HSICSelector, AttributeError, "HSICSelector?"),
    (
        lambda: skdiscrepancy.pooling.mmd_test,
        AttributeError,
        "Did you mean skdiscrepancy.mmd_test?",
    ),
    (
        lambda: run("from skdiscrepancy import GaussianKernel"),
        ImportError,
        "cannot import name 'GaussianKernel'",
    ),
    (lambda: skdiscrepancy.mmd, AttributeError, "skdiscrepancy.mmd_test"),
    (lambda: skdiscrepancy.mmd_tset, AttributeError, "mean skdiscrepancy.mmd_test?"),
    # Models.
    (
        lambda: ksd_test(X, lambda X: -np.square(X).sum(axis=1) / 2),
        ValueError,
        "pass log_density_gradient(log_density, finite_differences=True)",
    ),
    (lambda: ksd_test(X, Y), ValueError, "To compare two samples, call mmd_test"),
    # Parameters that do not go together.
    (
        lambda: HSICEstimator(kernel="gaussian", bandwidth="median", pooling=None).fit(
            X, y
        ),
        ValueError,
        "for HSIC also a single target_bandwidth",
    ),
    (
        lambda: make_pipeline(StandardScaler(), MMDEstimator(kernel="precomputed")).fit(
            X
        ),
        ValueError,
        "kernel=skdiscrepancy.kernels.PrecomputedKernel(K)",
    ),
]


@pytest.mark.parametrize(("mistake", "error", "text"), ERRORS)
def test_errors_say_what_to_do(mistake, error, text):
    with pytest.raises(error, match=re.escape(text)):
        mistake()


UNLIKE = "do not look like the gradients"
FITTED = "The model was fitted to these rows"
WARNINGS = [
    (lambda: k_sample_test(x, LABELS), "k_sample_test(X, groups=labels)"),
    (lambda: k_sample_test(x, LABELS.astype(str)), "k_sample_test(X, groups=labels)"),
    (lambda: mmd_test(x, LABELS), "call hsic_test(X, y)"),
    (lambda: mmd_test(pd.Series(x), pd.Series(LABELS)), "convert it to floats"),
    (lambda: hsic_test(LABELS, X), "Swap X and y?"),
    # A second sample, gradients of other rows or of the wrong sign, and densities.
    (lambda: ksd_test(X, other), "To compare two samples, call mmd_test"),
    (lambda: ksd_test(X + 5, other + 5), "To compare two samples, call mmd_test"),
    (lambda: ksd_test(X, -X[::-1]), UNLIKE),
    (lambda: ksd_test(X, X), UNLIKE),
    (lambda: ksd_test(X, lambda X: X), UNLIKE),
    (lambda: ksd_test(x, NORMAL.logpdf), "pass log_density_gradient(log_density"),
    (lambda: ksd_test(x, NORMAL.logpdf(x)), "pass log_density_gradient(log_density"),
    (lambda: ksd_test(x, NORMAL.pdf), UNLIKE),
    (lambda: ksd_test(np.round(x), lambda X: -X), "it looks rounded or discrete"),
    (lambda: hsic_test(pd.DataFrame(X), pd.DataFrame(other)), "call mmd_test or drift"),
    # Models of these rows.
    (lambda: ksd_test(X, GaussianMixture(1).fit(X)), FITTED),
    (lambda: ksd_test(X, GaussianMixture(4, random_state=0).fit(X)), FITTED),
    (lambda: ksd_test(x, stats.norm(*stats.norm.fit(x))), "Test held-out rows"),
    (lambda: ksd_test(x, stats.t(*stats.t.fit(x))), FITTED),
    (lambda: ksd_test(X, KernelDensity().fit(X)), FITTED),
    (lambda: ksd_test(x, stats.gaussian_kde(x)), FITTED),
    (lambda: ksd_test(X, GaussianMixture(1)), "method='parametric' with the unfitted"),
    # Too few resamples.
    (lambda: mmd_test(X, Y, n_resamples=9), "n_resamples == 9, must be >= 19"),
    (lambda: ksd_test(X, -X, n_resamples=18), "can reject at the significance level"),
    (
        lambda: k_sample_test(X, Y, other, n_resamples=19),
        "No pair can be significant at the level 0.05. Pass a larger n_resamples",
    ),
]


@pytest.mark.parametrize(("mistake", "text"), WARNINGS)
def test_warnings_say_what_to_do(mistake, text):
    with pytest.warns(UserWarning, match=re.escape(text)):
        mistake()


def test_independence_does_not_depend_on_which_variable_comes_first():
    # So swapped numbers are not a mistake.
    results = [hsic_test(*pair, random_state=0) for pair in ((X, y), (y, X))]
    assert_allclose(results[0].statistic, results[1].statistic)
    assert results[0].pvalue == results[1].pvalue


@pytest.mark.parametrize("call", [lambda: mmd_test(x, LABELS.astype(float))])
def test_numbers_that_repeat_can_be_a_sample(call):
    assert call().pvalue <= 0.01


def shifted(deviations, n):
    rows = np.random.RandomState(n).normal(size=(n, 2)) + deviations
    return rows, -rows


def correlated(deviations, n):
    # Nearly all of the variance is in one direction.
    covariance = np.array([[1, 0.99], [0.99, 1]])
    rows = np.random.RandomState(n).multivariate_normal((0, 0), covariance, size=n)
    rows[:, 0] += deviations
    return rows, -rows @ np.linalg.inv(covariance)


def two_modes(distance, n):
    # The gradients hardly correlate with the rows: by -1 / distance.
    rng = np.random.RandomState(n)
    rows, mode = rng.normal(size=(n, 1)), distance * rng.randint(2, size=(n, 1))
    return rows + mode, -rows


@pytest.mark.parametrize("n", [50, 200, 1000])
@pytest.mark.parametrize(
    ("sample", "parameter"),
    [(shifted, 0), (shifted, 2), (shifted, 4), (correlated, 2), (two_modes, 20)],
)
def test_models_that_fit_badly_are_no_mistake(sample, parameter, n):
    rows, gradients = sample(parameter, n)
    ksd_test(rows, gradients, random_state=0, block_length=1)
    ksd_test(rows, lambda X: gradients, random_state=0, block_length=1)


def test_model_of_other_rows_is_no_mistake():
    # A mean is within 1e-3 standard errors in one of 1250 samples.
    model = GaussianMixture(2, random_state=0).fit(other)
    ksd_test(X, model, random_state=0)


def test_results_still_unpack_compare_copy_and_pickle():
    statistic, pvalue = RESULT
    assert (statistic, pvalue) == (RESULT[0], RESULT[1]) == tuple(RESULT)
    assert len(RESULT) == 2
    assert RESULT == copy.copy(RESULT) == pickle.loads(pickle.dumps(RESULT))
    assert not hasattr(RESULT, "p_value")
    assert not hasattr(RESULT, "__array_interface__")


@pytest.mark.parametrize("name", ["", *skdiscrepancy._NAMES[""].split()])
def test_names_of_other_modules_are_not_attributes(name):
    module = import_module(f"skdiscrepancy.{name}".rstrip("."))
    assert not hasattr(module, "HyvarinenScorer") or name == "model_checking"
    assert not hasattr(module, "__wrapped__")
    with pytest.raises(AttributeError, match=r"has no attribute 'zzz'\.$"):
        module.zzz  # noqa: B018
    assert set(dir(module)) == set(module.__all__)


def test_estimator_at_the_end_of_a_pipeline_has_its_test():
    pipe = make_pipeline(StandardScaler(), MMDEstimator(random_state=0)).fit(X)
    result = pipe[-1].test(pipe[:-1].transform(Y + 1))
    scaled = StandardScaler().fit(X)
    expected = MMDEstimator(random_state=0).fit(scaled.transform(X))
    assert result == expected.test(scaled.transform(Y + 1))
    assert result.pvalue <= 0.01


class Tensor:
    """Rows with the methods of a tensor that are used."""

    def __init__(self, values):
        self.values = values
        self.dtype = values.dtype

    def __len__(self):
        return len(self.values)

    def reshape(self, *shape):
        return Tensor(self.values.reshape(*shape))

    def sum(self, axis=None):
        return Tensor(np.asarray(self.values.sum(axis=axis)))

    @property
    def shape(self):
        return self.values.shape

    def detach(self):
        return self

    cpu = detach

    def numpy(self):
        return self.values


class Torch:
    """The functions of torch that are used, for the density exp(-x^2 / 2)."""

    class autograd:
        @staticmethod
        def grad(total, x):
            return [Tensor(-x.values)]

    enable_grad = staticmethod(warnings.catch_warnings)

    @staticmethod
    def tensor(values, requires_grad):
        return Tensor(np.array(values))


class Distribution:
    """A distribution as in torch, of columns, in a precision of its own."""

    def __init__(self, dtype):
        self.dtype = dtype

    def log_prob(self, x):
        if x.dtype != self.dtype:
            raise RuntimeError("expected m1 and m2 to have the same dtype")
        return Tensor(-(x.values**2) / 2)

    def sample(self, sample_shape=()):
        return np.random.RandomState(0).normal(size=(*sample_shape, 3))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distributions_with_log_prob_are_models(monkeypatch, dtype):
    monkeypatch.setitem(sys.modules, "torch", Torch)
    model = Distribution(dtype)
    assert_allclose(log_density_gradient(model)(X), -X, rtol=1e-6)
    result = ksd_test(X, model, random_state=0)
    assert_allclose(result.statistic, ksd_test(X, -X, random_state=0).statistic, 1e-4)
    drawn = ksd_test(X, model, method="parametric", n_resamples=19, random_state=0)
    assert len(drawn.null_distribution) == 19
    with pytest.raises(TypeError, match=r"as in ksd_test\(X, model\)"):
        ksd_test(model, X)


def test_log_prob_of_arrays_is_differentiated_numerically():
    class Numpy:
        def log_prob(self, X):
            return -np.square(X).sum(axis=1) / 2

    score = log_density_gradient(Numpy(), finite_differences=True)
    assert_allclose(score(X), -X, atol=1e-8)


def test_distributions_of_torch_are_models():
    torch = pytest.importorskip("torch")
    model = torch.distributions.MultivariateNormal(torch.zeros(3), torch.eye(3))
    assert_allclose(log_density_gradient(model)(X), -X, atol=1e-6)
    layer = torch.nn.Linear(3, 1)
    score = log_density_gradient(lambda x: layer(x)[:, 0], backend="torch")
    weight = layer.weight.detach().numpy()
    assert_allclose(score(X), np.broadcast_to(weight, X.shape), atol=1e-6)
    assert KSDEstimator(model, random_state=0).fit(X).test(X).pvalue > 0.01
