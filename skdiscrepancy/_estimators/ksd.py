"""Kernel Stein discrepancy of a sample to a model."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import hashlib
from collections.abc import Callable
from copy import copy
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data.arrays import (
    check_rows,
    kind_of_blocks,
    readable,
    refuse_blocks,
)
from skdiscrepancy._data.blocks import LazyRows, lazy_pair
from skdiscrepancy._data.checks import (
    RandomStateLike,
    declares_parameters,
    did_you_mean,
    draw_seeds,
    generator_of,
    shown,
    takes_parameters_of,
    warn_user,
)
from skdiscrepancy._data.frames import as_table, find_column
from skdiscrepancy._estimators import base
from skdiscrepancy._estimators.base import BaseDiscrepancy, Settings, collection_of
from skdiscrepancy._estimators.hsic import HSICEstimator
from skdiscrepancy._gram.feature_maps import SteinMaps
from skdiscrepancy._gram.features import FeatureGram
from skdiscrepancy._gram.kernel_gram import SteinGram, check_squares
from skdiscrepancy._gram.pieces import ArrayBlocks, Blocks, LazyBlocks, paired_blocks
from skdiscrepancy._gram.row_sums import Measure, Moments
from skdiscrepancy._gram.run import Run, in_one_blas_thread
from skdiscrepancy._gram.tiles import Gram, PairWeights, WeightedGram
from skdiscrepancy._models.dispatch import (
    GradientFunction,
    SampleGaussianScore,
    can_be_drawn_from,
    check_model,
    copyable,
    deviations_of,
    draw_from,
    is_density_estimator,
    is_model,
    log_density_gradient_of,
    takes_nothing,
    widths,
)
from skdiscrepancy._nulls.groups import (
    one_sample_methods,
    one_sample_test,
    sign_test,
    signed_groups,
    signed_means,
)
from skdiscrepancy._nulls.pvalues import (
    OPTIONS,
    Options,
    TestResult,
    check_options,
    parametric_test,
)
from skdiscrepancy._statistics.evaluations import DiscrepancyResult
from skdiscrepancy._statistics.second_order import (
    matrix_gram,
    refuse_far_pairs,
    warn_left_out,
    witness,
)
from skdiscrepancy.designs import Design, check_design
from skdiscrepancy.kernels._base import (
    AffineKernel,
    Kernel,
    KernelLike,
    PrecomputedKernel,
    check_gram,
)
from skdiscrepancy.kernels._names import KERNELS, check_kernel
from skdiscrepancy.kernels._radial import IMQKernel

# Number of groups of rows for the scales of samples that are drawn from the model. Each
# scale is a root of about 500 squares, so its standard error is about 3 %.
SCALE_GROUPS = 32
# Number of rows to hash at a time, so that a memory-mapped sample is not copied.
HASHED_ROWS = 4096
NOT_GRADIENTS = (
    "For a log-density, pass log_density_gradient(log_density, finite_differences="
    "True) from skdiscrepancy.model_checking. To compare two samples, call mmd_test."
)


def fit_model(
    model: Any, X: np.ndarray, y: Any = None, random_state: RandomStateLike = None
) -> tuple[Any, GradientFunction]:
    """Fit a clone of the model if necessary, and return it with its gradient."""
    lazy = isinstance(X, LazyRows)
    if model is None:
        if lazy:
            raise ValueError(
                "model == None, must be a model or a function if X is read by blocks. "
                "None is a Gaussian distribution with the moments of X, which needs "
                "all rows in memory. Pass a Gaussian distribution, such as "
                "scipy.stats.multivariate_normal(mean, cov)."
            )
        score = SampleGaussianScore(X)
        return score, score
    if is_density_estimator(model):
        if lazy:
            raise ValueError(
                f"model == {model!r}, must not need a fit if X is read by blocks. Fit "
                "the model to a sample of the rows first, and pass "
                "FrozenEstimator(model) from sklearn.frozen."
            )
        if is_fitted(model):
            warn_user(
                f"model == {model!r} is fitted already, but `fit` fits a clone of it "
                "to X. To keep the fitted model, pass FrozenEstimator(model) from "
                "sklearn.frozen."
            )
        model = clone(model)
        names = [] if random_state is None else unseeded(model)
        if names:
            [seed] = draw_seeds(generator_of(random_state), 1)
            model.set_params(**dict.fromkeys(names, seed))
        # A copy with the same memory layout: models that work in place must not change
        # the sample.
        try:
            with np.errstate(all="ignore"):
                model = model.fit(X.copy(order="K"), y)
        except ValueError as error:
            raise ValueError(
                f"model == {model!r} cannot be fitted to X of shape {X.shape}: {error}"
            ) from error
    return model, log_density_gradient_of(model)


def unseeded(model: Any) -> list[str]:
    """Return the parameters of an estimator that are random states of None."""
    return [
        name
        for name, value in model.get_params().items()
        if name.rpartition("__")[2] == "random_state" and value is None
    ]


class GivenGradients:
    """The gradient of a log-density that is known only at the rows of one sample.

    Parameters
    ----------
    values : array-like of shape (n_samples, n_features)
        Gradients at the rows of the sample, in their order.
    """

    def __init__(self, values: Any):
        self.values = values

    def __call__(self, X: np.ndarray) -> Any:
        """Return the gradients. X must be the sample."""
        return self.values

    def __repr__(self) -> str:
        if kind_of_blocks(self.values) is not None:
            return f"gradients in {kind_of_blocks(self.values)}"
        return f"gradients of shape {np.shape(self.values)}"


def as_given(model: Any) -> Any:
    """Prepare the model of a one-call function, which does not refit a fitted model."""
    given = hasattr(model, "__array__") or isinstance(model, (list, tuple))
    if given or takes_nothing(model):
        return GivenGradients(as_table(model))
    return freeze(model) if is_fitted(model) else copyable(model)


# Default kernels of tests.
TEST_KERNELS = ("gaussian", "imq", "affine")


def freeze(model: Any) -> Any:
    """Return a model that `fit` does not change."""
    return FrozenEstimator(model) if is_density_estimator(model) else model


def in_units(scale: Any, X: Any) -> Any:
    """Divide columns by their scale, or by a root of their covariance.

    None is no scale.
    """
    if np.ndim(scale) == 2:
        inverse = np.linalg.inv(scale.astype(np.float64))
        return X @ inverse.T.astype(scale.dtype)
    return X if scale is None else X / scale


def in_scale(scale: Any, X: np.ndarray, gradients: np.ndarray) -> tuple[Any, Any]:
    """Return rows in the units of a scale, and gradients in these units."""
    if scale is not None:
        gradients = gradients @ scale if scale.ndim == 2 else gradients * scale
    return in_units(scale, X), gradients


def is_fitted(model: Any) -> bool:
    """Tell whether a model is a fitted density estimator."""
    if not is_density_estimator(model):
        return False
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def gradients_at(X: np.ndarray, log_density_gradient: GradientFunction) -> np.ndarray:
    """Return the gradients of a log-density at the rows of X."""
    if isinstance(log_density_gradient, GivenGradients):
        return check_gradients(log_density_gradient.values, X)
    # Values that are not finite raise an error, so numpy need not warn about them.
    with np.errstate(all="ignore"):
        # A copy, because a model that works in place must not change the sample.
        values = log_density_gradient(X.copy())
    return check_gradients(values, X)


def check_gradients(gradients: Any, X: np.ndarray) -> np.ndarray:
    """Return gradients as an array of the shape and type of the sample."""
    refuse_blocks(gradients, "model")
    with readable(gradients, "gradients of model", X.dtype):
        shape = np.shape(gradients)
    if shape != X.shape:
        raise ValueError(
            f"model gives gradients of shape {shape}, must give {X.shape}, the "
            f"gradient of the log-density at each row of X. {NOT_GRADIENTS}"
        )
    gradients = check_rows(gradients, "gradients of model")
    return gradients.astype(X.dtype, copy=False)


# Fewer rows are not looked at.
LEAST_OF_TIES = 20


def warn_of_ties(X: np.ndarray) -> None:
    """Warn of columns in which most values are repeated, as if they were rounded."""
    distinct = [len(np.unique(column)) for column in X.T]
    if len(X) >= LEAST_OF_TIES and 2 * min(distinct) < len(X):
        j = int(np.argmin(distinct))
        warn_user(
            f"Column {j} of X has {distinct[j]} different values in {len(X)} rows, so "
            "it looks rounded or discrete. The model is a density, which never "
            "repeats a value, and with small bandwidths the test rejects for this "
            "reason alone. Pass bandwidth='median', or add uniform noise as wide as "
            "the rounding."
        )


def warn_if_not_gradients(X: np.ndarray, gradients: np.ndarray, given: bool) -> None:
    """Warn if numbers cannot be the gradients of a model that is near the sample.

    A column and its gradients have the covariance -1 under the model, so a correlation
    above 1/2 is suspicious. So is one above -1/2 if all gradients of a single column
    have one sign, as log-densities have. Given gradients must depend on the rows, which
    a second sample or rows in another order do not.
    """
    x, g = ((Z - Z.mean(axis=0)) / widths(Z) for Z in (X, gradients))
    one_sign = X.shape[1] == 1 and abs(np.sign(gradients).sum()) == len(X)
    # Fewer rows have too much noise.
    suspicious = len(X) >= 50 and np.mean(x * g) > (-0.5 if one_sign else 0.5)
    if given and not suspicious and len(X) >= max(50, 2 * X.shape[1]):
        # Left singular vectors, because Gaussian models have gradients that are linear.
        x, g = (np.linalg.svd(Z[:: -(-len(X) // 256)], False)[0] for Z in (x, g))
        hsic = HSICEstimator(bandwidth="dyadic", random_state=0).fit(x, g)
        test = hsic.test(x, g, n_resamples=199, block_length=1)
        suspicious = test.pvalue > 0.01
    if suspicious:
        warn_user(
            "The gradients of model do not look like the gradients of a log-density at "
            "the rows of X, which average to about 0 and point towards the middle of "
            f"the model. {NOT_GRADIENTS} Ignore this if the model is far from X."
        )


def check_differentiable(kernel: Any) -> list[Any]:
    """Return the kernels of a parameter, and refuse kernels that KSD cannot use."""
    works = [name for name, make in KERNELS.items() if make().differentiable]
    given = list(kernel) if isinstance(kernel, (tuple, list)) else [kernel]
    kernels = []
    for item in given:
        known = not isinstance(item, str) or item in works
        [checked] = check_kernel([item]) if known else [None]
        if not (isinstance(checked, Kernel) and checked.differentiable):
            raise ValueError(
                f"kernel == {shown(item)}, must be one of {works} for KSD, or a kernel "
                "object of these kinds with p=2 and metric=None, because KSD needs two "
                f"derivatives of the kernel.{did_you_mean(item, works)}"
            )
        kernels.append(checked)
    return kernels or check_kernel(kernel)


def fingerprint(X: np.ndarray) -> tuple[tuple[int, ...], bytes]:
    """Return a hash of a set of rows that does not depend on their order or precision.

    Rows that are read by blocks have the hash of no rows.
    """
    if isinstance(X, LazyRows):
        return X.shape, b""
    weights = np.asarray(np.random.RandomState(0).uniform(1, 2, size=X.shape[1]))
    numbers = np.zeros(len(X))
    with np.errstate(all="ignore"):
        for start in range(0, len(X), HASHED_ROWS):
            part = numbers[start : start + HASHED_ROWS]
            rows = np.asarray(X[start : start + HASHED_ROWS], dtype=np.float32)
            # Column by column, because the rounding of a matrix product may depend on
            # the position of a row.
            for weight, column in zip(weights, rows.T, strict=True):
                part += weight * column.astype(np.float64)
    numbers.sort()
    return X.shape, hashlib.blake2b(numbers.tobytes(), digest_size=16).digest()


def standardized(X: Any, whiten: bool = False) -> tuple[np.ndarray, Any]:
    """Return standard deviations, or a root of the covariance, and X in their units."""
    if isinstance(X, LazyRows):
        moments, largest = X.reduce(_column_moments, _merge_moments)
        deviations = np.sqrt(moments.spread / moments.weight)
    else:
        deviations, largest = X.std(axis=0, dtype=np.float64), np.abs(X).max(axis=0)
    refuse_constant(deviations, largest)
    if whiten:
        correlations = np.corrcoef(X, rowvar=False, dtype=np.float64)
        values, vectors = np.linalg.eigh(np.atleast_2d(correlations))
        if values[0] < np.finfo(X.dtype).eps ** 0.75 * values[-1]:
            raise ValueError(
                "standardize == 'whiten', must be True or False here: the covariance "
                "matrix of the rows is singular."
            )
        deviations = deviations[:, np.newaxis] * vectors * np.sqrt(values)
    scale = deviations.astype(X.dtype)
    return scale, in_units(scale, X)


def refuse_constant(deviations: np.ndarray, largest: np.ndarray) -> None:
    """Refuse columns that are constant up to rounding, from their largest numbers."""
    constant = deviations <= 1e-13 * largest
    if np.any(constant):
        raise ValueError(
            f"standardize == True, must be False here: column "
            f"{int(np.argmax(constant))} of X is constant."
        )


def _column_moments(block: np.ndarray, extra: Any) -> tuple[Moments, np.ndarray]:
    """Return the moments of columns, and their largest absolute values."""
    largest = np.abs(block).max(axis=0)
    with np.errstate(all="ignore"):
        columns = block.T.astype(np.float64, order="C")
        return Moments.of_means(columns, np.ones(len(block))), largest


def _merge_moments(a: Any, b: Any) -> Any:
    return a[0].merge(b[0]), np.maximum(a[1], b[1])


def lazy_stein_blocks(
    log_density_gradient: Any, scale: np.ndarray | None, *samples: Any, run: Run
) -> Blocks:
    """Return the rows and gradients, in a scale, of samples that are read by blocks.

    The gradients of a block are computed where the block is, in every pass.
    """
    if not isinstance(log_density_gradient, GivenGradients):
        view = partial(_with_gradients, log_density_gradient)
        return LazyBlocks(*samples, view=partial(_stein_rows, scale, view), run=run)
    if len(samples) > 1:
        raise ValueError(
            "model is an array of gradients, must be a model here, because the "
            "gradients at other rows are needed too."
        )
    X, G = lazy_pair(samples[0], log_density_gradient.values, ("X", "gradients"))
    if G.shape[1] != X.shape[1]:
        raise ValueError(
            f"model gives gradients of {G.shape[1]} columns, must give {X.shape[1]} "
            "as X."
        )
    blocks = paired_blocks(X, G, run=run)
    blocks.view = partial(_stein_rows, scale, blocks.view)
    return blocks


def _with_gradients(log_density_gradient: Any, X: np.ndarray) -> tuple[Any, Any]:
    return X, gradients_at(X, log_density_gradient)


def _stein_rows(scale: Any, view: Any, block: Any) -> tuple[Any, Any]:
    return in_scale(scale, *view(block))


def stein_methods(design: Design) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the null distributions without a model, and those for rows of a series."""
    if design.complete:
        return ("wild",), ("wild",)
    # Signs of the rows are the swaps of a core, and the wild bootstrap.
    methods = one_sample_methods(design)
    return tuple("wild" if m == "swap" else m for m in methods), ()


def stein_test(
    core_of: Callable[[np.ndarray], Gram], n: int, design: Design, options: Options
) -> TestResult:
    """Test whether a Stein kernel of n rows, in any order, has mean zero."""
    in_series = options.block_length is not None
    at_random = design.complete and not in_series
    # Groups have rows at random, because neighbours may be alike.
    order = options.generator.permutation(n) if at_random else np.arange(n)
    return signed_test(core_of(order), design, options)


def signed_test(core: Gram, design: Design, options: Options) -> TestResult:
    """Test whether a Stein kernel has mean zero, by signs of its rows."""
    if design.complete:
        return sign_test(core, options)
    return one_sample_test(core, design, options)


def ksd_test_by_draws(
    estimator: KSDEstimator, X: np.ndarray, settings: Settings, options: Options
) -> TestResult:
    """Test whether a sample comes from a model, by samples drawn from the model.

    If the estimator was fitted to the sample, a clone is fitted to each draw.
    """
    if isinstance(X, LazyRows):
        raise ValueError(
            "method == 'parametric', must be 'wild' if X is read by blocks, because "
            "samples of as many rows are drawn from the model, and they are made in "
            "memory."
        )
    if isinstance(estimator.model_, GivenGradients):
        raise ValueError(
            "method == 'parametric', must be another method if model is an array of "
            "gradients, because there is no model to draw samples from. Pass the model "
            "itself."
        )
    if not can_be_drawn_from(estimator.model_):
        raise TypeError(
            f"method == 'parametric', must be another method for model == "
            f"{estimator.model_!r}, which has no method `sample` or `rvs`."
        )
    refit = estimator._fitted_to == fingerprint(X)
    given = [estimator.bandwidth, *(kernel.bandwidth for kernel in settings.kernels)]
    if refit and "dyadic" in [rule for rule in given if isinstance(rule, str)]:
        raise ValueError(
            "bandwidth == 'dyadic', must be 'grid', 'median' or numbers for method == "
            "'parametric', because all draws must have the same number of kernels."
        )
    # All draws use the same pairs or features, and their fits start from the same seed.
    [seed] = draw_seeds(options.generator, 1)
    one = (clone if refit else copy)(estimator)
    one.set_params(n_jobs=1, verbose=0)
    if refit and is_density_estimator(estimator.model):
        start = estimator.model_.get_params()
        one.model.set_params(
            **{
                name: seed if start.get(name) is None else start[name]
                for name in unseeded(estimator.model)
            }
        )
    # Partial functions can be sent to other processes.
    return parametric_test(
        means(estimator, settings, seed, False, X),
        partial(means, one, settings, seed, refit),
        partial(draw_sample, estimator.model_, X.shape, X.dtype),
        options,
        "refits" if refit else "draws",
    )


def draw_sample(
    model: Any,
    shape: tuple[int, ...],
    dtype: np.dtype,
    generator: np.random.RandomState,
) -> np.ndarray:
    """Draw a sample of one shape and type from a fitted model."""
    Z = draw_from(model, shape[0], generator)
    if Z.shape != shape:
        raise ValueError(
            f"model == {model!r} gives draws of shape {Z.shape}, must give {shape}."
        )
    return Z.astype(dtype, copy=False)


def means(
    estimator: KSDEstimator, settings: Settings, seed: int, refit: bool, X: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the statistics of a sample or a refit, and their scales under signs."""
    if refit:
        estimator = clone(estimator)
        estimator._learn(X, settings)
    design, run = settings.design, Run(estimator.n_jobs)
    both = X, estimator._gradients(X)
    core = estimator._core(both, seed=seed, division=seed, run=run)
    if design.complete:
        n_groups = 1 if estimator.n_components is None else SCALE_GROUPS
        return signed_groups(core, n_groups)[:2]
    options = Options("wild", 0, core.n, "max").ready([], seed, run)
    values, scale = signed_means(core, design, seed, options)
    return values[:, 0], scale


@declares_parameters
class KSDEstimator(BaseDiscrepancy):
    r"""Squared kernel Stein discrepancy between a sample and a model.

    `score` measures how badly a model fits a sample [1]_, from gradients of its
    log-density. It pools unbiased estimates of many kernels, each divided by its scale,
    in O(n^2) time. KSD misses wrong weights of distant modes, and the density must
    vanish at the boundary of its support. Without ``scoring=neg_ksd_scorer``, a grid
    search picks the worst model.

    Read more in the :ref:`User Guide <ksd>`.

    Parameters
    ----------
    model : density estimator, frozen distribution, callable or None, default=None
        Model of :func:`skdiscrepancy.model_checking.log_density_gradient`, or function
        that returns gradients. `fit` refits a density estimator, unless it is a
        :class:`~sklearn.frozen.FrozenEstimator`. None is a Gaussian distribution with
        the moments of X.
    kernel : str, kernel object or list of them, default=("gaussian", "imq")
        Kernels: "gaussian", "imq", "matern32" to "matern92", "affine", or objects of
        :mod:`skdiscrepancy.kernels`.
    bandwidth : {"grid", "median", "dyadic"}, float or array-like, default="grid"
        Bandwidths of kernels without their own; see :ref:`kernels`. "median" is the
        median distance between rows. "grid" and "dyadic" are several around it.
    n_bandwidths : int or None, default=None
        Size of a "grid". None is 10.
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design, default="u"
        Pairs of rows to use; see :mod:`skdiscrepancy.designs`.
    standardize : bool or "whiten", default=False
        True divides columns by standard deviations. "whiten" also decorrelates them.
    normalize : bool, default=True
        Divide each statistic by its scale, a standard deviation.
    squared : bool, default=True
        False takes square roots. Needs ``design="v"`` and ``normalize=False``.
    pooling : {"fuse", "mean", "max"} or None, default="fuse"
        How to combine kernels: "fuse" is a smooth maximum. None needs one kernel.
    fuse_nu : "auto" or float, default="auto"
        Larger values bring "fuse" closer to "max".
    n_components : int or None, default=None
        Number of random features, for linear time; None is exact.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds all random draws.
    verbose : int, default=0
        1 or more shows the percentage done and the time left.

    Attributes
    ----------
    model_ : object
        The fitted model.
    log_density_gradient_ : callable
        Gradient of its log-density.
    scale_ : ndarray of shape (n_features,) or (n_features, n_features) or None
        Standard deviations, or a root of the covariance.
    kernels_ : list of kernel objects
        Kernels with their bandwidths.
    feature_seed_ : int
        Seed of the random features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, if all are strings.

    See Also
    --------
    ksd_score : Scores a model in one call.
    ksd_test : Tests whether a model fits.

    References
    ----------
    .. [1] K. Chwialkowski, H. Strathmann and A. Gretton, "A kernel test of goodness of
       fit", ICML 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import KSDEstimator
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> ksd = KSDEstimator(lambda X: -X).fit(X)
    >>> round(ksd.score(X + 1.0), 3)
    0.735
    >>> round(ksd.score(X), 3)
    -0.029
    """

    _discrepancy = "KSD"
    _effect_kernel = IMQKernel
    _learns_from = ("kernel", "bandwidth", "n_bandwidths", "model", "standardize")
    _own_checks: ClassVar = {
        "model": lambda values: check_model(values["model"]),
        "kernel": lambda values: check_differentiable(values["kernel"]),
    }

    model: Any = None
    _: KW_ONLY
    kernel: Any = ("gaussian", "imq")
    standardize: bool | str = False

    def fit(self, X: ArrayLike, y: Any = None) -> KSDEstimator:
        """Fit the model if necessary, and choose the kernels from a sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : array-like of shape (n_samples,), default=None
            Passed to the `fit` method of the model.

        Returns
        -------
        self : KSDEstimator
            Fitted estimator.
        """
        self._learn(X, self._check_params(), y)
        return self

    def _learn(
        self, X: Any, settings: Settings, y: Any = None, sample_weight: Any = None
    ) -> tuple[Any, Any]:
        """Fit the model and the kernels; return rows as they read them, and weights."""
        X, weights, [self.model] = self._read(X, [self.model], settings, sample_weight)
        # The model comes first, because its errors are quick to detect.
        fitted = fit_model(self.model, X, y, self.random_state)
        self.model_, self.log_density_gradient_ = fitted
        self._fit_kernels(X, settings.kernels)
        return X, weights

    def score(self, X: ArrayLike, y: Any = None, sample_weight: Any = None) -> float:
        """Compute how badly the model fits a sample.

        If the model fits, scores scatter around zero and may be negative.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Relative row weights.

        Returns
        -------
        score : float
            A larger score means a worse fit.
        """
        return self._evaluate(X, y, self._check_fitted(), sample_weight).value

    def evaluate(
        self, X: ArrayLike, y: Any = None, sample_weight: Any = None
    ) -> DiscrepancyResult:
        """Compute the discrepancy, and the statistic and scale of each kernel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Relative row weights.

        Returns
        -------
        result : DiscrepancyResult
            The score, its standard error, and all statistics.
        """
        return self._evaluate(X, y, self._check_fitted(errors=True), sample_weight)

    def _validated(
        self, X: Any, y: Any, settings: Settings, sample_weight: Any
    ) -> tuple[Any, Any, Any]:
        """Return rows whose columns agree with `fit`, their gradients and weights."""
        X = self._validate(X, least=settings.design._least_rows())
        X, weights = self._weighted([X], sample_weight, settings)
        return X, self._gradients(X), weights

    @in_one_blas_thread
    def _compare(
        self, X: Any, gradients: Any, weights: Any, settings: Settings
    ) -> DiscrepancyResult:
        """Compare validated rows with the model."""
        warn_left_out(settings.design, len(X))
        core = self._core((X, gradients), weights=[weights])
        return self._estimate(core, settings)

    def _sides(self, X: Any, gradients: Any, weights: Any) -> dict[str, Any]:
        """Return the rows that the bandwidth of an effect size comes from."""
        return {"kernels_": [in_units(self.scale_, X)]}

    @takes_parameters_of(check_options, names=" ".join((*OPTIONS, "sample_weight")))
    def test(
        self, X: ArrayLike, y: Any = None, *, sample_weight: Any = None, **given: Any
    ) -> TestResult:
        """Test whether a sample comes from the model.

        The test ignores `normalize`, `squared`, `fuse_nu` and the `pooling` of the
        estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : Ignored
            Not used.
        method : {"auto", "wild", "parametric", "asymptotic"}, default="auto"
            Null distribution: "wild" draws random signs, for many rows and a model not
            fitted to them. "parametric" draws samples from the model, and refits a
            model that `fit` fitted to X. "asymptotic" is for the designs "x", "l" and
            "b". "auto" is "asymptotic" for these designs, else "wild".
        n_resamples : int, default=999
            Number of resamples.
        pooling : {"max", "mean", "fuse", "agg"}, default="max"
            How to combine kernels; "agg" takes the smallest p-value.
        block_length : int, "auto" or None, default=None
            Rows that stay together in a :ref:`series <series>`. None warns of dependent
            rows, and 1 does not.
        sample_weight : array-like of shape (n_samples,), default=None
            Relative row weights, for ``method="wild"``.

        Returns
        -------
        result : TestResult
            Statistic, p-value, and :ref:`effect size <effect_size>`.
        """
        check_is_fitted(self)
        settings = self._check_test(**given)
        X = self._validate(X, least=2)
        X, weights = self._weighted([X], sample_weight, settings)
        return self._test_rows(X, weights, settings)

    @in_one_blas_thread
    def _test_rows(self, X: Any, weights: Any, settings: Settings) -> TestResult:
        """Test whether validated rows come from the model."""
        design, options, gradients = (
            settings.design,
            settings.options,
            self._gradients(X),
        )
        warn_left_out(design, len(X))
        in_memory = None if isinstance(X, LazyRows) else X
        options = options.with_block_length(len(X), in_memory)
        options = self._choose_features(options, [X], self.kernels_)
        options = options.ready(list(self.kernels_), self.random_state, self._run)
        exact = options.method == "wild" and self.n_components is None
        if weights is not None and not exact:
            raise ValueError(
                f"method == {options.method!r} and n_components == "
                f"{self.n_components}, must be 'wild' and None with sample_weight, "
                "because only random signs of single rows keep the weights of the rows."
            )
        effect = self._effect(X, gradients, weights)
        if options.method == "parametric":
            result = ksd_test_by_draws(self, X, settings, options)
            return replace(result, _effect=effect)
        fitted = self.model is None or is_density_estimator(self.model)
        fitted = fitted and self._fitted_to == fingerprint(X)
        if gradients is not None:
            warn_if_not_gradients(X, gradients, isinstance(self.model, GivenGradients))
            warn_of_ties(X)
            # Gradients average to 0 over rows to which a location was fitted by maximum
            # likelihood. A model of other rows is so close in one of 1250 samples.
            mean = getattr(self.log_density_gradient_, "mean", None)
            errors = gradients if mean is None else X - mean
            least = 1e-3 * deviations_of(errors)[0] / np.sqrt(len(X))
            fitted |= bool(np.all(np.abs(errors.mean(axis=0)) < least))
        if fitted:
            warn_user(
                f"The model was fitted to these rows, but method == {options.method!r} "
                "treats it as known, so the test rejects too rarely. Test held-out "
                "rows, or use method='parametric' with the unfitted model."
            )
        if self.n_components is not None:
            seed, division = draw_seeds(options.generator, 2)
            core = self._core((X, gradients), seed=seed, division=division)
            core.in_order = options.block_length is not None
            return replace(signed_test(core, design, options), _effect=effect)
        if weights is not None:
            # The mean over all pairs is the weighted U-statistic.
            n_pairs = len(X) * (len(X) - 1)
            weights = weights * np.sqrt(n_pairs / Measure.of(1, weights).pairs)

        def core_of(rows: np.ndarray) -> Gram:
            core = self._core((X[rows], gradients[rows]))
            if weights is None:
                return core
            w = weights[rows]
            return WeightedGram(core, PairWeights(w, [(1.0, w)]))

        result = stein_test(core_of, len(X), design, options)
        return replace(result, _effect=effect)

    def _methods(self, settings: Settings) -> tuple[Any, ...]:
        methods, for_blocks = stein_methods(settings.design)
        return (*methods, "parametric"), for_blocks

    def _gradients(self, X: Any) -> Any:
        """Return the gradients at the rows of X, None if X is read by blocks."""
        if isinstance(X, LazyRows):
            return None
        return gradients_at(X, self.log_density_gradient_)

    def _core(
        self,
        *samples: tuple[Any, Any],
        weights: Any = (),
        seed: int | None = None,
        division: int | None = None,
        run: Run | None = None,
    ) -> Any:
        """Return the Stein kernel at the rows of samples, exact or from features.

        Each sample has rows and gradients, None if rows are read by blocks.
        """
        run, scale = run or self._run, self.scale_
        rows = [X for X, _ in samples]
        blocks: Blocks
        if any(isinstance(X, LazyRows) for X in rows):
            design = check_design(self.design)
            if not design.complete:
                refuse_far_pairs(design, *rows)
            blocks = lazy_stein_blocks(
                self.log_density_gradient_, scale, *rows, run=run
            )
            rows = [in_units(scale, X) for X in rows]
        else:
            both = [in_scale(scale, *sample) for sample in samples]
            rows, gradients = map(list, zip(*both, strict=True))
            if self.n_components is None:
                core = SteinGram(self.kernels_, rows, gradients, run)
                core.weights = weights
                return core
            blocks = ArrayBlocks(*rows, beside=[gradients], run=run)
        check_squares(self.kernels_, np.dtype(np.float64))
        seed = self._seed() if seed is None else seed
        maps = SteinMaps(self.kernels_, self.n_components, seed, *rows)
        return FeatureGram(maps, blocks, weights, seed=division)

    def _fit_kernels(self, X: np.ndarray, kernels: list[KernelLike]) -> None:
        """Choose the kernels, and the scale of the columns, from a sample."""
        exact_rows = {None: np.inf, "auto": base.EXACT_ROWS}.get(self.n_components, 0)
        with_features = isinstance(X, LazyRows) or len(X) > exact_rows
        if with_features and self.kernel == TEST_KERNELS:
            # The affine kernel has no random features.
            kernels = [k for k in kernels if not isinstance(k, AffineKernel)]
        scale, rows = None, X
        if self.standardize:
            scale, rows = standardized(X, self.standardize == "whiten")
        collection = collection_of(self, [rows], kernels)
        self.scale_, self.kernels_ = scale, collection
        self._fitted_to = fingerprint(X)
        self._remember()

    def _read(
        self, X: Any, models: list[Any], settings: Settings, sample_weight: Any
    ) -> tuple[Any, Any, list[Any]]:
        """Return the rows of `fit` that have a weight, their weights, and the models.

        Gradients that are given in place of a model are at these rows only.
        """
        if is_model(X):
            order = "Pass the sample first, as in ksd_test(X, model)."
            raise TypeError(f"X == {shown(X)} is a model, must be a sample. {order}")
        # Tests, and the Gaussian distribution that None stands for, need two rows.
        two = self.model is None or settings.options is not None
        least = 2 if two else settings.design._least_rows()
        X = self._validate(self._reader(None, least).blocks(X), least, reset=True)
        for i, model in enumerate(models):
            if sample_weight is not None and isinstance(model, GivenGradients):
                given = [check_gradients(model.values, X)]
                given, _ = self._weighted(given, sample_weight, settings)
                models[i] = GivenGradients(given)
        return *self._weighted([X], sample_weight, settings), models

    def _validate(self, X: Any, least: int, *, reset: bool = False) -> np.ndarray:
        """Return rows, which must have known numbers and agree with `fit`."""
        if not reset:
            self._refuse_changed()
        if found := find_column(X, "X", ("number",)):
            raise ValueError(
                f"X has {found[0]} in column {found[1]!r}, must have known numbers. "
                "KSD compares rows with the density of a model, so each column must "
                "be a number. Drop or convert the column."
            )
        return self._reader(None, least).rows(X, reset=reset)

    def witness(self, points: ArrayLike, X: ArrayLike) -> np.ndarray:
        r"""Compute the Stein witness function, which shows where the model fits badly.

        :math:`g(t) = \frac1n \sum_i h(x_i, t)`, with the Stein kernel h, is positive
        where the sample x has more mass than the model explains.

        Parameters
        ----------
        points : array-like of shape (n_points, n_features)
            Points at which to evaluate g.
        X : array-like of shape (n_samples, n_features)
            Sample.

        Returns
        -------
        values : ndarray of shape (n_points,)
            Values of g.

        See Also
        --------
        skdiscrepancy.plotting.WitnessDisplay : Draws the function.
        """
        check_is_fitted(self)
        self._check_params()
        return self._witness(self._validate(points, 1), self._validate(X, 1))

    def _witness(self, points: Any, X: Any) -> np.ndarray:
        samples = [(Z, self._gradients(Z)) for Z in (X, points)]
        return witness(self._core(*samples, weights=[None]))


@takes_parameters_of(KSDEstimator)
def ksd_score(
    X: ArrayLike, model: Any = None, *, sample_weight: Any = None, **params: Any
) -> float:
    """Compute the squared kernel Stein discrepancy (KSD) between a sample and a model.

    KSD measures how badly a model fits a sample. By default, the score is a smooth
    maximum over kernels of unbiased estimates, each divided by its scale. If the model
    fits, scores scatter around zero and may be negative. Takes O(n^2) time.

    Read more in the :ref:`User Guide <ksd>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples,)
        Sample.
    model : model, callable, array-like of shape (n_samples, n_features) or None, \
            default=None
        Model of :class:`skdiscrepancy.KSDEstimator`, not fitted again if it is fitted,
        or gradients at the rows.
    sample_weight : array-like of shape (n_samples,), default=None
        Relative row weights.
    **params : dict
        Parameters of :class:`KSDEstimator`.

    Returns
    -------
    score : float
        A larger score means a worse fit.

    See Also
    --------
    KSDEstimator : Scores several samples.
    ksd_test : Tests whether a model fits.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import ksd_score
    >>> X = np.random.RandomState(0).normal(size=(100, 2))

    A Gaussian with half of the variance does not fit the sample:

    >>> round(ksd_score(X, lambda X: -2 * X), 3)
    0.255

    You can pass the gradients at the rows of X instead of a model:

    >>> round(ksd_score(X, -2 * X), 3)
    0.255
    """
    estimator = KSDEstimator(as_given(model), **params)
    settings = estimator._check_params()
    rows = estimator._learn(as_table(X), settings, sample_weight=sample_weight)
    X, weights = rows
    return estimator._compare(X, estimator._gradients(X), weights, settings).value


@takes_parameters_of(KSDEstimator, names="design normalize random_state")
def ksd_from_gram(H: ArrayLike, **params: Any) -> float:
    """Compute the squared kernel Stein discrepancy from a matrix of the Stein kernel.

    Use it for your own Stein kernel.

    Read more in the :ref:`User Guide <ksd>`.

    Parameters
    ----------
    H : array-like of shape (n_samples, n_samples)
        Stein kernel of all pairs of rows.
    **params : dict
        Parameters of :class:`KSDEstimator`.

    Returns
    -------
    score : float
        A larger score means a worse fit.

    See Also
    --------
    ksd_score : Computes KSD from a sample.

    Examples
    --------
    >>> from skdiscrepancy import ksd_from_gram
    >>> ksd_from_gram([[5.0, 1.0], [1.0, 5.0]], design="u", normalize=False)
    1.0
    """
    estimator = KSDEstimator(pooling=None, **params)
    settings = estimator._check_params()
    H = check_gram(H, "H")
    estimator.kernels_ = [PrecomputedKernel(H)]
    warn_left_out(settings.design, len(H))
    return estimator._estimate(matrix_gram(H), settings).value
