"""Kernel Stein discrepancy of a sample to a model."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data.blocks import LazyRows, spread_rows
from skdiscrepancy._data.checks import (
    RandomStateLike,
    draw_seeds,
    explains_keywords,
    takes_parameters_of,
    warn_user,
)
from skdiscrepancy._data.frames import as_table
from skdiscrepancy._estimators.base import BaseDiscrepancy, Settings, collection_of
from skdiscrepancy._estimators.ksd_features import (
    means_of_features,
    stein_gram,
    test_of_features,
    witness_of_features,
)
from skdiscrepancy._estimators.ksd_models import (
    GivenGradients,
    as_given,
    check_differentiable,
    fingerprint,
    fit_model,
    gradients_at,
    in_scale,
    refuse_without_density,
    standardized,
    unseeded,
)
from skdiscrepancy._estimators.random_features import (
    check_features,
    draw_features,
    seed_of,
)
from skdiscrepancy._gram.run import Run, in_one_blas_thread
from skdiscrepancy._gram.stein import SteinGram
from skdiscrepancy._gram.tiles import Gram
from skdiscrepancy._models.dispatch import (
    can_be_drawn_from,
    check_model,
    draw_from,
    is_density_estimator,
)
from skdiscrepancy._nulls.groups import (
    block_sign_test,
    complete_means,
    one_sample_methods,
    one_sample_test,
    signed_means,
    wild_test,
)
from skdiscrepancy._nulls.pvalues import (
    OPTIONS,
    Options,
    TestResult,
    check_options,
    parametric_test,
)
from skdiscrepancy._nulls.row_order import warn_if_dependent
from skdiscrepancy._statistics.evaluations import DiscrepancyResult
from skdiscrepancy._statistics.second_order import (
    design_noise,
    feature_statistics,
    one_sample,
    over_design,
    stein_witness,
    warn_left_out,
)
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels._base import KernelLike
from skdiscrepancy.pooling import check_pooling


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
    core = core_of(order)
    if in_series:
        return block_sign_test(core, options)
    if design.complete:
        return wild_test(core, options)
    return one_sample_test(core, design, options)


def ksd_test_by_draws(
    estimator: Any, X: np.ndarray, settings: Settings, options: Options
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
    refit = estimator._was_fitted_to(X)
    given = [estimator.bandwidth, *(kernel.bandwidth for kernel in settings.kernels)]
    if refit and "dyadic" in [rule for rule in given if isinstance(rule, str)]:
        raise ValueError(
            "bandwidth == 'dyadic', must be 'grid', 'median' or numbers for method == "
            "'parametric', because all draws must have the same number of kernels."
        )
    # All draws use the same pairs or features, and their fits start from the same seed.
    [seed] = draw_seeds(options.generator, 1)
    # Draws have encoded columns already.
    one_thread = clone(estimator).set_params(n_jobs=1, verbose=0, encoder=None)
    if refit and is_density_estimator(estimator.model):
        start = estimator.model_.get_params()
        one_thread.model.set_params(
            **{
                name: seed if start.get(name) is None else start[name]
                for name in unseeded(estimator.model)
            }
        )
    design = settings.design
    # Partial functions can be sent to other processes.
    return parametric_test(
        means(estimator, design, seed, estimator.n_jobs, X),
        partial(means_after_fit, one_thread, settings, seed)
        if refit
        else partial(means, estimator, design, seed, 1),
        partial(draw_sample, estimator.model_, X.shape, X.dtype),
        options,
        what="refits" if refit else "draws",
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


def means_after_fit(
    estimator: Any, settings: Settings, seed: int, X: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of a sample to which the estimator is fitted first."""
    fitted = clone(estimator)._fit(X, settings)
    return means(fitted, settings.design, seed, 1, X)


def means(
    estimator: Any, design: Design, seed: int, n_jobs: int | None, X: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the statistics of a sample, and their scales under random signs."""
    if estimator.n_components is not None:
        return means_of_features(estimator, X, seed, n_jobs)
    core = estimator._core(X, estimator._gradients(X))
    core.run = Run(n_jobs)
    if design.complete:
        return complete_means(core)
    options = Options("wild", 0, core.n, "max").ready([], seed, core.run)
    values, scale = signed_means(core, design, seed, options)
    return values[:, 0], scale


@in_one_blas_thread
def evaluate_rows(
    estimator: Any,
    X: np.ndarray,
    gradients: np.ndarray,
    design: Design,
    sample_weight: Any,
    *,
    errors: bool,
) -> DiscrepancyResult:
    """Compare rows, and the gradients at these rows, with a fitted estimator.

    `errors` tells whether the result has a standard error.
    """
    weights = None
    if sample_weight is not None:
        least = design._least_rows()
        weights = estimator._check_weights(sample_weight, X, design, least)
        X, gradients = X[weights > 0], gradients[weights > 0]
        weights = weights[weights > 0]
    core: Any
    if estimator.n_components is not None:
        sample, unbiased = (X, gradients), not design.biased
        core = stein_gram(estimator, seed_of(estimator), sample, weights=weights)
        scales = estimator.normalize or errors
        statistics = feature_statistics(core, 1, unbiased=unbiased, scales=scales)
    elif weights is None:
        core = estimator._core(X, gradients)
        statistics = over_design(core, design, estimator.random_state)
    else:
        core = estimator._core(X, gradients)
        statistics = one_sample(core, weights, unbiased=not design.biased)
    result = estimator._result(statistics, list(estimator.kernels_))
    if not errors:
        return result
    noise = partial(design_noise, core, design, weights=weights)
    return estimator._with_uncertainty(result, statistics, design, noise)


class KSDEstimator(BaseDiscrepancy):
    r"""Squared kernel Stein discrepancy between a sample and a model.

    KSD measures how badly a model fits a sample. A larger score means a worse fit.
    :math:`\mathrm{KSD}^2 = E\, h(X, X')`, where the Stein kernel h needs only the
    gradient of the log-density, not its normalising constant [1]_ [2]_. `fit` fits the
    model if necessary and chooses the kernels. `score` checks the model on a sample.

    By default, the score pools 20 kernels, and the statistic of each kernel is divided
    by its scale sigma_k [3]_. Complete designs take O(n^2) time and O(n) memory. The
    time of incomplete designs grows with their number of pairs.

    KSD does not detect wrong weights of well-separated modes. It is not valid for
    densities that do not vanish at the boundary of their support. Transform such data,
    for example by the logarithm. Use `standardize` if columns have different units.

    By default, ``GridSearchCV(KSDEstimator(...), grid)`` maximises `score` and picks
    the model that fits worst. To pick the best model, pass ``scoring=neg_ksd_scorer``
    from :mod:`skdiscrepancy.model_checking`.

    Read more in the :ref:`User Guide <ksd>`.

    Parameters
    ----------
    model : density estimator, frozen distribution, callable or None, default=None
        Model to check; :func:`skdiscrepancy.model_checking.score_function` lists the
        supported models. `fit` clones and fits a density estimator of scikit-learn. To
        keep a fitted model, wrap it in a :class:`~sklearn.frozen.FrozenEstimator`. A
        callable takes an array of shape (n_samples, n_features) and returns the
        gradients of the log-density, in an array of this shape. None is the Gaussian
        distribution with the mean and covariance of the sample passed to `fit`.
    kernel : str, kernel object or list of them, default=("gaussian", "imq")
        Kernels, twice differentiable: "gaussian", "imq", "matern32", "matern52",
        "matern72", "matern92" or objects of :mod:`skdiscrepancy.kernels`.
    bandwidth : str, float or array-like of float, default="grid"
        Bandwidths, chosen as in :class:`MMDEstimator` from the rows that `fit` sees.
    n_bandwidths : int, default=10
        Number of bandwidths of a "grid".
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design, default="u"
        Pairs of rows that enter the statistic. "u" and "v" use all pairs, the others
        fewer, which takes less time. See :mod:`skdiscrepancy.designs`.
    standardize : bool, default=False
        Divide each column by its standard deviation in `fit`, and multiply gradients by
        it. Then the score does not depend on the units of the columns.
    normalize : bool, default=True
        Divide the statistic of each kernel by its scale sigma_k.
    squared : bool, default=True
        False takes the square root of the statistic of each kernel. Possible only with
        ``design="v"`` and ``normalize=False``.
    pooling : {"fuse", "mean", "max"} or None, default="fuse"
        How to combine the statistics of several kernels. "fuse" is a smooth maximum.
        None requires a single kernel.
    fuse_nu : "auto" or float, default="auto"
        Parameter of "fuse". A larger value is closer to "max". "auto" is the number of
        rows n for complete designs, and the number of pairs divided by n for others.
    encoder : "auto", None or transformer, default="auto"
        A transformer is cloned, fitted, and encodes all data before the model sees
        them. "auto" and None refuse a DataFrame that has categories, dates or missing
        values, because they have no density.
    n_components : int or None, default=None
        Number of random features for each kernel. None uses exact kernels. With random
        features [4]_, the time grows linearly with the number of rows. 256 features
        have about the power of the exact test. Avoid "matern32", whose random features
        have an infinite variance. X may then be a dask array, a dask DataFrame, a list
        of blocks of rows, or a function that returns an iterator of blocks. `score`
        reads X twice and calls the model for each block; see :ref:`out_of_core`. Needs
        a complete design.
    n_jobs : int or None, default=None
        Number of threads. The score does not depend on it.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the pairs that ``design="r"`` draws, random features, the resamples of
        `test`, and the fit of a model whose own `random_state` is None. None draws new
        ones in every call. The global generator of numpy is never used, except by such
        a model.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.

    Attributes
    ----------
    model_ : object
        The fitted model.
    score_function_ : callable
        Gradient of the log-density of the model.
    scale_ : ndarray of shape (n_features,) or None
        Standard deviations of the columns, None if `standardize` is False.
    kernels_ : list of kernel objects
        Collection of kernels, each with one number as bandwidth.
    encoder_ : transformer or None
        Fitted encoder. None if the data need none.
    feature_seed_ : int
        Seed of the random features, if there are `n_components`.
    n_features_in_ : int
        Number of features seen during :term:`fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`, if all are strings.

    See Also
    --------
    ksd_score : Scores a model in one call, or gradients of its log-density.
    ksd_from_gram : Computes KSD from a matrix of the Stein kernel.

    References
    ----------
    .. [1] K. Chwialkowski, H. Strathmann and A. Gretton, "A kernel test of goodness of
       fit", ICML 2016.
    .. [2] Q. Liu, J. Lee and M. Jordan, "A kernelized Stein discrepancy for
       goodness-of-fit tests", ICML 2016.
    .. [3] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.
    .. [4] A. Rahimi and B. Recht, "Random features for large-scale kernel machines",
       NeurIPS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import KSDEstimator
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> ksd = KSDEstimator(lambda X: -X).fit(X)
    >>> round(ksd.score(X), 3), round(ksd.score(X + 1.0), 3)
    (-0.029, 0.735)
    """

    _learns_from = (*BaseDiscrepancy._learns_from, "model", "standardize")
    _own_checks: ClassVar = {
        "model": lambda values: check_model(values["model"]),
        "kernel": lambda values: check_differentiable(values["kernel"]),
    }

    def __init__(
        self,
        model: Any = None,
        *,
        kernel: Any = ("gaussian", "imq"),
        bandwidth: Any = "grid",
        n_bandwidths: int = 10,
        design: str | Design = "u",
        standardize: bool = False,
        normalize: bool = True,
        squared: bool = True,
        pooling: str | None = "fuse",
        fuse_nu: Any = "auto",
        encoder: Any = "auto",
        n_components: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ):
        self.model = model
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_bandwidths = n_bandwidths
        self.design = design
        self.standardize = standardize
        self.normalize = normalize
        self.squared = squared
        self.pooling = pooling
        self.fuse_nu = fuse_nu
        self.encoder = encoder
        self.n_components = n_components
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @explains_keywords
    def fit(self, X: ArrayLike, y: Any = None) -> KSDEstimator:
        """Fit the model if necessary, and choose the kernels from a sample.

        A density estimator that is already fitted is cloned and fitted again, with a
        warning. A :class:`~sklearn.frozen.FrozenEstimator` is never fitted again. If
        you change `model`, `standardize`, `encoder` or a parameter of the kernels after
        `fit`, the other methods ask you to call `fit` again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : array-like of shape (n_samples,), default=None
            Target that is passed to the `fit` method of the model.

        Returns
        -------
        self : KSDEstimator
            Fitted estimator.
        """
        return self._fit(X, self._check_params(), y)

    def _fit(self, X: Any, settings: Settings, y: Any = None) -> Self:
        """Fit the model and choose the kernels, with checked parameters."""
        X = self._validate_first(X, settings.design)
        # The model comes first, because its errors are quick to detect.
        fitted = fit_model(self.model, X, y, self.random_state)
        self.model_, self.score_function_ = fitted
        self._fit_kernels(X, settings.kernels)
        return self

    @explains_keywords
    def score(self, X: ArrayLike, y: Any = None, sample_weight: Any = None) -> float:
        """Compute how badly the model fits a sample.

        If the model fits, scores scatter around zero, may be negative, and shrink like
        1 / sqrt(n). To search for the best model, pass ``scoring=neg_ksd_scorer`` from
        :mod:`skdiscrepancy.model_checking`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : Ignored
            Not used, present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for complete designs. Rows of weight 0 are ignored.

        Returns
        -------
        score : float
            The discrepancy. A larger score means a worse fit.
        """
        return self._evaluate(X, sample_weight).value

    @explains_keywords
    def evaluate(
        self, X: ArrayLike, y: Any = None, sample_weight: Any = None
    ) -> DiscrepancyResult:
        """Compute the discrepancy, and the statistic and scale of each kernel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : Ignored
            Not used, present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for complete designs. Rows of weight 0 are ignored.

        Returns
        -------
        result : DiscrepancyResult
            The score as `value`, with `statistics`, `scales` and `kernels`. For one
            kernel, or with ``pooling="mean"``, the result also has a `standard_error`
            and a `confidence_interval`, unless the rows have weights.
        """
        return self._evaluate(X, sample_weight, errors=True)

    def _evaluate(self, X: Any, *weights: Any, **how: Any) -> DiscrepancyResult:
        """Check the parameters and evaluate rows."""
        check_is_fitted(self)
        settings = self._check_params(len(self.kernels_))
        return self._evaluate_rows(X, settings.design, *weights, **how)

    def _evaluate_rows(
        self, X: Any, design: Design, sample_weight: Any, *, errors: bool = False
    ) -> DiscrepancyResult:
        """Compute the discrepancy of rows that are not validated."""
        X = self._validate(X, reset=False, least=design._least_rows())
        warn_left_out(design, len(X))
        gradients = self._gradients(X)
        return evaluate_rows(self, X, gradients, design, sample_weight, errors=errors)

    @explains_keywords
    @takes_parameters_of(check_options, names=" ".join(OPTIONS))
    def test(self, X: ArrayLike, y: Any = None, **given: Any) -> TestResult:
        """Test whether a sample comes from the model.

        The parameters `normalize`, `squared`, `pooling` and `fuse_nu` of the estimator
        have no effect on the test.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : Ignored
            Not used, present for API consistency.
        method : {"auto", "wild", "parametric", "asymptotic"}, default="auto"
            Null distribution. "wild" gives rows random signs. It controls the type I
            error for many rows, and rejects too rarely if the model was fitted to these
            rows. "asymptotic" is a normal limit that only the designs "x", "l" and "b"
            have and take by default. "parametric" draws samples from the model, and
            controls the type I error exactly if the model is known. If X is the sample
            passed to `fit`, in any order, "parametric" also refits the kernels, and a
            model that `fit` fitted, to each draw, in `n_jobs` threads. It is then valid
            for many rows.
        n_resamples : int, default=999
            Number of resamples. p-values are multiples of 1 / (1 + `n_resamples`).
        n_groups : int or None, default=256
            Largest number of random signs of "wild". With more rows, random groups of
            rows share a sign. None gives each row its own sign.
        pooling : {"max", "mean", "fuse", "agg"}, default="max"
            How to combine several kernels; see :func:`~skdiscrepancy.ksd_test`.
        block_length : int, "auto" or None, default=None
            Rows of a series: "wild" gives each block of this many consecutive rows one
            sign; see :func:`~skdiscrepancy.ksd_test`. Needs a complete design.

        Returns
        -------
        result : TestResult
            With `statistic`, `pvalue`, `null_distribution`, and an adjusted p-value for
            each kernel.
        """
        check_is_fitted(self)
        return self._test(X, self._check_test(**given))

    @in_one_blas_thread
    def _test(self, X: Any, settings: Settings) -> TestResult:
        """Test whether a sample comes from the model, with checked parameters."""
        design, options = settings.design, settings.options
        X = self._validate(X, reset=False, least=2)
        warn_left_out(design, len(X))
        in_memory = None if isinstance(X, LazyRows) else X
        options = options.with_block_length(len(X), warn_if_dependent, in_memory)
        options = options.ready(list(self.kernels_), self.random_state, self._run)
        if options.method == "parametric":
            return ksd_test_by_draws(self, X, settings, options)
        fitted = self.model is None or is_density_estimator(self.model)
        if fitted and self._was_fitted_to(X):
            warn_user(
                f"The model was fitted to these rows, but method == {options.method!r} "
                "treats it as known, so the test rejects too rarely. Test held-out "
                "rows, or use method='parametric'."
            )
        gradients = self._gradients(X)
        if self.n_components is not None:
            return test_of_features(self, X, gradients, options)
        return stein_test(
            lambda rows: self._core(X[rows], gradients[rows]), len(X), design, options
        )

    def _check_features(self, design: Design) -> None:
        """Refuse random features for designs that are not complete."""
        check_features(self.n_components, design, paired=not design.complete)

    def _methods(self, design: Design) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the null distributions of a test, and those for rows of a series."""
        methods, for_blocks = stein_methods(design)
        in_blocks = self.n_components is None
        return (*methods, "parametric"), for_blocks if in_blocks else ()

    def _gradients(self, X: Any) -> Any:
        """Return the gradients at the rows of X, None if X is read by blocks."""
        if isinstance(X, LazyRows):
            return None
        return gradients_at(X, self.score_function_)

    def _was_fitted_to(self, X: np.ndarray) -> bool:
        return self._fitted_to == fingerprint(X)

    def _core(self, X: np.ndarray, gradients: np.ndarray) -> SteinGram:
        """Return the Stein kernel, on standardised columns if `standardize`."""
        both = in_scale(self.scale_, X, gradients)
        return SteinGram(self.kernels_, *both, self._run)

    def _fit_kernels(self, X: np.ndarray, kernels: list[KernelLike]) -> None:
        """Choose the kernels, and the scale of the columns, from a sample."""
        scale, rows = None, X
        if self.standardize:
            scale, rows = standardized(X)
        collection = collection_of(self, [rows], kernels)
        check_pooling(self.pooling, len(collection))
        self.scale_, self.kernels_ = scale, collection
        self._fitted_to = fingerprint(X)
        draw_features(self, (self.kernels_, [spread_rows(X)[:1]]))
        self._remember()

    def _validate_first(self, X: Any, design: Design) -> np.ndarray:
        """Validate the sample that is passed to `fit`."""
        # The Gaussian distribution that None stands for needs two rows.
        least = 2 if self.model is None else design._least_rows()
        reader = self._reader(None, least)
        X = reader.blocks(X)
        # Categories and missing values have no density, so "auto" has nothing to do.
        reader.encoder = None if isinstance(self.encoder, str) else self.encoder
        self.encoder_ = reader.fit([X])
        return self._validate(X, reset=True, least=least)

    def _read(self, X: Any, settings: Settings) -> Any:
        """Return data in blocks as rows that are read by blocks."""
        return self._reader(None, settings.design._least_rows()).blocks(as_table(X))

    def _validate(self, X: Any, *, reset: bool, least: int) -> np.ndarray:
        if not reset:
            self._refuse_changed()
        if self.encoder_ is None:
            refuse_without_density(X)
        return self._reader(None, least).rows(X, reset=reset)

    @explains_keywords
    def witness(self, points: ArrayLike, X: ArrayLike) -> np.ndarray:
        r"""Compute the Stein witness function, which shows where the model fits badly.

        The witness function is positive where the sample has more mass than the model
        explains, and negative where it has less. For the sample x,
        :math:`g(t) = \frac1n \sum_i h(x_i, t)` [1]_, where h is the Stein kernel for
        the mean of `kernels_`. The mean of g under the model is zero. The mean over
        the sample is the score of an estimator with ``design="v", normalize=False,
        pooling="mean"``. Takes O(p n) time and O(p + n) memory for p points.

        Parameters
        ----------
        points : array-like of shape (n_points, n_features)
            Points at which to evaluate the function.
        X : array-like of shape (n_samples, n_features)
            Sample to compare with the model.

        Returns
        -------
        values : ndarray of shape (n_points,)
            Values of g, float64.

        See Also
        --------
        skdiscrepancy.plotting.WitnessDisplay : Draws the function.

        References
        ----------
        .. [1] W. Jitkrittum et al., "A linear-time kernel goodness-of-fit test",
           NeurIPS 2017.

        Examples
        --------
        >>> import numpy as np
        >>> from skdiscrepancy import KSDEstimator
        >>> X = np.random.RandomState(0).normal(size=(100, 1)) + 1.0
        >>> values = KSDEstimator(lambda X: -X).fit(X).witness([[-1.0], [2.0]], X)
        >>> values.round(2).tolist()
        [-0.44, 1.53]
        """
        check_is_fitted(self)
        self._check_params()
        points = self._validate(points, reset=False, least=1)
        return self._witness(points, self._validate(X, reset=False, least=1))

    def _witness(self, points: Any, X: Any) -> np.ndarray:
        gradients = [self._gradients(Z) for Z in (points, X)]
        if self.n_components is not None:
            return witness_of_features(self, (points, gradients[0]), (X, gradients[1]))
        core = self._core(np.concatenate((points, X)), np.concatenate(gradients))
        return stein_witness(core, len(points))


@takes_parameters_of(KSDEstimator)
def ksd_score(
    X: ArrayLike, model: Any = None, *, sample_weight: Any = None, **params: Any
) -> float:
    """Compute the squared kernel Stein discrepancy (KSD) between a sample and a model.

    KSD [1]_ [2]_ measures how badly a model fits a sample. It needs only the gradient
    of the log-density, not its normalising constant. By default, the score pools 20
    kernels [3]_. The bandwidths depend on the sample. If the model fits, scores scatter
    around zero, may be negative, and shrink like 1 / sqrt(n).

    Read more in the :ref:`User Guide <ksd>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples,)
        Sample.
    model : model, callable, array-like of shape (n_samples, n_features) or None, \
            default=None
        Model to check, as in :class:`KSDEstimator`, or an array with the gradients of
        the log-density at the rows of X. A fitted density estimator is used without
        fitting it again. An unfitted density estimator is cloned and fitted to X. None
        is the Gaussian distribution with the mean and covariance of X.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, for complete designs. Rows of weight 0 are ignored. The
        bandwidths, and an unfitted model, weight all other rows equally.
    **params : dict
        Parameters of :class:`KSDEstimator`.

    Returns
    -------
    score : float
        The discrepancy. A larger score means a worse fit.

    See Also
    --------
    KSDEstimator : Scores several samples with the same model and kernels.
    ksd_test : Tests whether a sample comes from a model.

    References
    ----------
    .. [1] K. Chwialkowski, H. Strathmann and A. Gretton, "A kernel test of goodness of
       fit", ICML 2016.
    .. [2] Q. Liu, J. Lee and M. Jordan, "A kernelized Stein discrepancy for
       goodness-of-fit tests", ICML 2016.
    .. [3] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import ksd_score
    >>> X = np.random.RandomState(0).normal(size=(100, 2))

    Compare the sample with a standard Gaussian and with a narrower Gaussian:

    >>> round(ksd_score(X, lambda X: -X), 3)
    -0.029
    >>> round(ksd_score(X, lambda X: -2 * X), 3)
    0.255

    Pass the gradients at the rows of X instead of a model:

    >>> round(ksd_score(X, -X), 3)
    -0.029
    """
    estimator = KSDEstimator(as_given(model), **params)
    settings = estimator._check_params()
    X, design = estimator._read(X, settings), settings.design
    if sample_weight is not None:
        # Remove rows of weight 0 before fitting, because they must have no effect.
        X = estimator._validate_first(X, design)
        least = design._least_rows()
        weights = estimator._check_weights(sample_weight, X, design, least)
        some = weights > 0
        if isinstance(estimator.model, GivenGradients):
            estimator.model = estimator.model.take(X, some)
        X, sample_weight = X[some], weights[some]
        # The rows are encoded already.
        estimator.encoder = None
    fitted = estimator._fit(X, settings)
    return fitted._evaluate_rows(X, design, sample_weight).value
