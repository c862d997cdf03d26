"""Kernel Stein discrepancy of a sample to a model."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._base import (
    BaseDiscrepancy,
    DiscrepancyResult,
    Settings,
    warn_left_out,
)
from skdiscrepancy._data import (
    LazyRows,
    RandomStateLike,
    check_columns,
    check_rows,
    explains_keywords,
    generator_of,
    validate_rows,
    warn_user,
)
from skdiscrepancy._engine import in_one_blas_thread
from skdiscrepancy._gradients import check_model, is_density_estimator
from skdiscrepancy._ksd._draws import ksd_test_by_draws
from skdiscrepancy._ksd._evaluation import evaluate_rows
from skdiscrepancy._ksd._feature_scores import (
    check_features,
    draw_features,
    test_of_features,
)
from skdiscrepancy._ksd._lazy_samples import read_sample, standardized, validate_lazy
from skdiscrepancy._ksd._models import (
    check_differentiable,
    fingerprint,
    fit_model,
    gradients_at,
    in_scale,
    refuse_without_density,
)
from skdiscrepancy._ksd._signs import stein_options, stein_test, with_block_length
from skdiscrepancy._ksd._stein import SteinSource
from skdiscrepancy._ksd._witness import WitnessMixin
from skdiscrepancy._nulls import TestResult
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels import KernelLike
from skdiscrepancy.pooling import check_pooling
from skdiscrepancy.tables import encode, fit_encoder


class KSDEstimator(WitnessMixin, BaseDiscrepancy):
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
    _flags = ("standardize", "normalize", "squared")

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
        settings = self._check_params()
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
        return self._evaluate_rows(X, sample_weight).value

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
        return self._evaluate_rows(X, sample_weight, errors=True)

    def _evaluate_rows(
        self, X: ArrayLike, sample_weight: Any, *, errors: bool = False
    ) -> DiscrepancyResult:
        check_is_fitted(self)
        design = self._check_params(len(self.kernels_)).design
        X = self._validate(X, reset=False, least=1 if design.biased else 2)
        warn_left_out(design, len(X))
        gradients = self._gradients(X)
        return evaluate_rows(self, X, gradients, design, sample_weight, errors=errors)

    @explains_keywords
    @in_one_blas_thread
    def test(
        self,
        X: ArrayLike,
        y: Any = None,
        *,
        method: str = "auto",
        n_resamples: int = 999,
        n_groups: int | None = 256,
        pooling: str = "max",
        block_length: int | str | None = None,
    ) -> TestResult:
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
        design = self._check_params().design
        options = stein_options(
            design,
            self.n_components,
            more=("parametric",),
            method=method,
            n_resamples=n_resamples,
            n_groups=n_groups,
            pooling=pooling,
            block_length=block_length,
        )
        X = self._validate(X, reset=False, least=2)
        warn_left_out(design, len(X))
        in_memory = None if isinstance(X, LazyRows) else X
        options = with_block_length(options, len(X), in_memory)
        generator = generator_of(self.random_state)
        if options.method == "parametric":
            return ksd_test_by_draws(self, X, design, options, generator)
        fitted = self.model is None or is_density_estimator(self.model)
        if fitted and self._was_fitted_to(X):
            warn_user(
                f"The model was fitted to these rows, but method == {options.method!r} "
                "treats it as known, so the test rejects too rarely. Test held-out "
                "rows, or use method='parametric'."
            )
        gradients = self._gradients(X)
        if self.n_components is not None:
            return test_of_features(self, X, gradients, options, generator)
        return stein_test(
            lambda rows: self._source(X[rows], gradients[rows]),
            len(X),
            design,
            options,
            generator,
            kernels=list(self.kernels_),
            **self._walk_options(),
        )

    def _check_params(self, n_kernels: int = 1) -> Settings:
        check_model(self.model)
        settings = super()._check_params(n_kernels)
        check_features(self.n_components, settings.design)
        return settings

    def _check_kernels(self) -> list[Any]:
        return check_differentiable(self.kernel)

    def _gradients(self, X: Any) -> Any:
        """Return the gradients at the rows of X, None if X is read by blocks."""
        if isinstance(X, LazyRows):
            return None
        return gradients_at(X, self.score_function_)

    def _was_fitted_to(self, X: np.ndarray) -> bool:
        return self._fitted_to == fingerprint(X)

    def _source(self, X: np.ndarray, gradients: np.ndarray) -> SteinSource:
        """Return the Stein kernel, on standardised columns if `standardize`."""
        return SteinSource(self.kernels_, *in_scale(self.scale_, X, gradients))

    def _fit_kernels(self, X: np.ndarray, kernels: list[KernelLike]) -> None:
        """Choose the kernels, and the scale of the columns, from a sample."""
        scale, rows = None, X
        if self.standardize:
            scale, rows = standardized(X)
        collection = self._collection([rows], kernels, self.bandwidth)
        check_pooling(self.pooling, len(collection))
        self.scale_, self.kernels_ = scale, collection
        self._fitted_to = fingerprint(X)
        draw_features(self, X)
        self._remember()

    def _validate_first(self, X: Any, design: Design) -> np.ndarray:
        """Validate the sample that is passed to `fit`."""
        # The Gaussian distribution that None stands for needs two rows.
        least = 1 if design.biased and self.model is not None else 2
        X = read_sample(self, X, least)
        # Categories and missing values have no density, so "auto" has nothing to do.
        encoder = None if isinstance(self.encoder, str) else self.encoder
        self.encoder_ = fit_encoder(encoder, [X])
        return self._validate(X, reset=True, least=least)

    def _read(self, X: Any) -> Any:
        """Return data in blocks as rows that are read by blocks."""
        return read_sample(self, X, 1 if self._check_params().design.biased else 2)

    def _validate(self, X: Any, *, reset: bool, least: int) -> np.ndarray:
        if not reset:
            self._refuse_changed()
        X = read_sample(self, X, least)
        if isinstance(X, LazyRows):
            return validate_lazy(self, X, reset=reset)
        if self.encoder_ is None:
            refuse_without_density(X)
            return validate_rows(self, X, reset=reset, ensure_min_samples=least)
        check_columns(self, X, reset=reset)
        return check_rows(encode(self.encoder_, X), ensure_min_samples=least)
