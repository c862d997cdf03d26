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
    explains_keywords,
    second_order_statistics,
)
from skdiscrepancy._data import RandomStateLike, generator_of, validate_rows, warn_user
from skdiscrepancy._engine import RowSums
from skdiscrepancy._gradients import check_model, is_density_estimator
from skdiscrepancy._ksd._draws import ksd_test_by_draws
from skdiscrepancy._ksd._models import (
    check_differentiable,
    column_deviations,
    fingerprint,
    fit_model,
    gradients_at,
)
from skdiscrepancy._ksd._signs import stein_methods, stein_test
from skdiscrepancy._ksd._statistics import check_weights, warn_left_out, witness_values
from skdiscrepancy._ksd._stein import SteinSource, weighted_statistics
from skdiscrepancy._nulls import Options, TestResult, check_options
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels import KernelLike
from skdiscrepancy.pooling import check_pooling


class KSDEstimator(BaseDiscrepancy):
    r"""Squared kernel Stein discrepancy of a sample to a model.

    :math:`\mathrm{KSD}^2 = E\, h(X, X')` with the Stein kernel h of the model, which
    needs the gradient of the log-density only, not its normalising constant
    [1]_ [2]_. `fit` takes the kernels from a sample; `score` is the misfit of the model
    to a sample: the larger, the worse.

    With the defaults the score is pooled over 20 kernels, each statistic divided
    by its scale sigma_k [3]_. Complete designs take O(n^2) time and O(n) memory, the
    others time in proportion to their number of pairs.

    A KSD does not see the weights of well-separated modes, and it is not valid for
    densities that do not vanish at the boundary of their support: transform such data,
    for example by the logarithm. Standardise columns that differ in their units.

    A search that maximises `score`, as ``GridSearchCV(KSDEstimator(...), grid)`` does
    by default, picks the model that fits worst. Pass ``scoring=neg_ksd_scorer`` of
    :mod:`skdiscrepancy.model_checking`, and the search picks the best fit.

    Read more in the :ref:`User Guide <ksd>`.

    Parameters
    ----------
    model : density estimator, frozen distribution, callable or None, default=None
        Model to be checked; :func:`skdiscrepancy.model_checking.score_function` lists
        those that are known. A density estimator of scikit-learn is cloned and fitted
        in `fit`, with a warning if it is fitted already: wrap a fitted model in a
        :class:`~sklearn.frozen.FrozenEstimator` to use it as it is. A callable is the
        gradient of the log-density: it takes an array of shape (n_samples, n_features)
        and returns one of the same shape. None: the Gaussian with mean and covariance
        of the sample seen in `fit`.
    kernel : str, kernel object or list of them, default=("gaussian", "imq")
        Kernels, twice differentiable: "gaussian", "imq", "matern32", "matern52",
        "matern72", "matern92" or objects of :mod:`skdiscrepancy.kernels`.
    bandwidth : str, float or array-like of float, default="grid"
        As for :class:`MMDEstimator`, from the distances between rows of X.
    n_bandwidths : int, default=10
        Points of the grid.
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design, default="u"
        Pairs of samples that are used; see :mod:`skdiscrepancy.designs`.
    standardize : bool, default=False
        Divide the columns by their standard deviations in `fit`, and multiply the
        gradients by them: the score no longer depends on the units of the columns.
    normalize : bool, default=True
        Divide the statistic of each kernel by its scale sigma_k.
    squared : bool, default=True
        False: take the square root, kernel by kernel; for ``design="v"`` and
        ``normalize=False`` only.
    pooling : {"fuse", "mean", "max"} or None, default="fuse"
        How the statistics of several kernels become one; None for one kernel.
    fuse_nu : "auto" or float, default="auto"
        Parameter of "fuse": the larger, the closer to "max". "auto" is the number of
        samples for complete designs, and the number of pairs over that of samples for
        the others.
    n_jobs : int or None, default=None
        Number of threads; the score does not depend on it.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the pairs that ``design="r"`` draws, the resamples of `test`, and the fit
        of a model whose own `random_state` is None. None draws afresh. The global
        generator of numpy is never used, except by such a model.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.

    Attributes
    ----------
    model_ : object
        The fitted model.
    score_function_ : callable
        Gradient of its log-density.
    scale_ : ndarray of shape (n_features,) or None
        What the columns are divided by, None if not `standardize`.
    kernels_ : list of kernel objects
        Collection of kernels, each with one number as bandwidth.
    n_features_in_ : int
        Number of features seen during :term:`fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`, if all are strings.

    See Also
    --------
    ksd_score : The same in one call, also from gradients.
    ksd_from_gram : The same from a matrix of the Stein kernel.

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
    >>> from skdiscrepancy import KSDEstimator
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> ksd = KSDEstimator(lambda X: -X).fit(X)
    >>> ksd.score(X) < ksd.score(X + 1.0)
    True
    """

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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @explains_keywords
    def fit(self, X: ArrayLike, y: Any = None) -> KSDEstimator:
        """Take the kernels from a sample, and fit the model to it if need be.

        A density estimator is always fitted, also if it comes fitted, which a warning
        then says; a :class:`~sklearn.frozen.FrozenEstimator` is used as it is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : array-like of shape (n_samples,), default=None
            Handed to the model, for those that need it.

        Returns
        -------
        self : KSDEstimator
            Fitted estimator.
        """
        settings = self._check_params()
        X = self._validate_first(X, settings.design)
        # First: that there is no Gaussian for X is known at once.
        fitted = fit_model(self.model, X, y, self.random_state)
        self.model_, self.score_function_ = fitted
        self._fit_kernels(X, settings.kernels)
        return self

    @explains_keywords
    def score(self, X: ArrayLike, y: Any = None, sample_weight: Any = None) -> float:
        """Compute the misfit of the model to a sample.

        The score is a discrepancy: the smaller, the better the fit. A search, which
        looks for the largest score, needs ``scoring=neg_ksd_scorer`` of
        :mod:`skdiscrepancy.model_checking`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : Ignored
            Not used, present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for complete designs; rows of weight 0 do not count.

        Returns
        -------
        score : float
            The larger, the worse the fit.
        """
        return self.evaluate(X, sample_weight=sample_weight).value

    @explains_keywords
    def evaluate(
        self, X: ArrayLike, y: Any = None, sample_weight: Any = None
    ) -> DiscrepancyResult:
        """Compute the misfit and the statistic and scale of each kernel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : Ignored
            Not used, present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for complete designs; rows of weight 0 do not count.

        Returns
        -------
        result : DiscrepancyResult
            With `value`, `statistics`, `scales` and `kernels`.
        """
        check_is_fitted(self)
        design = self._check_params(len(self.kernels_)).design
        X = self._validate(X, reset=False, least=1 if design.biased else 2)
        warn_left_out(design, len(X))
        return self._evaluate(X, self._gradients(X), design, sample_weight)

    @explains_keywords
    def witness(self, points: ArrayLike, X: ArrayLike) -> np.ndarray:
        r"""Compute the Stein witness function of a sample at points.

        :math:`g(t) = \frac1n \sum_i h(x_i, t)` with the Stein kernel h of the model and
        the sample x, for the mean of `kernels_`. Its mean under the model is zero, so
        it is positive where the sample has mass that the model does not explain, and
        negative where the model expects more. Its mean over the sample is the
        V-statistic: the score with ``design="v", normalize=False, pooling="mean"``,
        whatever these parameters are. Takes O(p n) time and O(p + n) memory for p
        points.

        Parameters
        ----------
        points : array-like of shape (n_points, n_features)
            Where the function is evaluated.
        X : array-like of shape (n_samples, n_features)
            Sample.

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
        >>> (values > 0).tolist()
        [False, True]
        """
        check_is_fitted(self)
        self._check_params()
        points = self._validate(points, reset=False, least=1)
        return self._witness(points, self._validate(X, reset=False, least=1))

    def _witness(self, points: np.ndarray, X: np.ndarray) -> np.ndarray:
        gradients = [self._gradients(Z) for Z in (points, X)]
        source = self._source(np.concatenate((points, X)), np.concatenate(gradients))
        return witness_values(source, len(points), len(X), **self._walk_options())

    @explains_keywords
    def test(
        self,
        X: ArrayLike,
        y: Any = None,
        *,
        method: str = "auto",
        n_resamples: int = 999,
        n_groups: int | None = 256,
        pooling: str = "max",
    ) -> TestResult:
        """Test whether a sample is from the model.

        The parameters `normalize`, `squared`, `pooling` and `fuse_nu` of the estimator
        play no role.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : Ignored
            Not used, present for API consistency.
        method : {"auto", "wild", "parametric", "asymptotic"}, default="auto"
            Null distribution. Complete designs, by U-statistics: "wild", random signs
            of the rows, asymptotically of the right level, and conservative if the
            model was fitted to the same rows. Other designs: the same on their pairs;
            X, L and B have a normal limit, and take that by default. "parametric", for
            all designs: samples that are drawn from the model, of exact level if that
            is known; if X is the sample that was seen in `fit`, in any order, kernels,
            and a model that was fitted there, are fitted to each draw anew, and the
            level is asymptotic. Draws and fits run in `n_jobs` threads. If the model
            spends its time in Python code, ``joblib.parallel_config(backend="loky")``
            is faster, with the same p-value.
        n_resamples : int, default=999
            Number of resamples: p-values are multiples of 1 / (1 + `n_resamples`).
        n_groups : int or None, default=256
            Groups of rows at random share their sign if there are more rows than this;
            None: each row has its own.
        pooling : {"max", "mean", "fuse", "agg"}, default="max"
            How the statistics of several kernels become one.

        Returns
        -------
        result : TestResult
            With `statistic`, `pvalue`, `null_distribution`, and an adjusted p-value of
            each kernel.
        """
        check_is_fitted(self)
        design = self._check_params().design
        options = self._check_options(
            design,
            method=method,
            n_resamples=n_resamples,
            n_groups=n_groups,
            pooling=pooling,
        )
        X = self._validate(X, reset=False, least=1 if design.biased else 2)
        warn_left_out(design, len(X))
        generator = generator_of(self.random_state)
        if options.method == "parametric":
            return ksd_test_by_draws(self, X, design, options, generator)
        fitted = self.model is None or is_density_estimator(self.model)
        if fitted and self._was_fitted_to(X):
            warn_user(
                f"The model was fitted to these rows: method == {options.method!r} "
                "takes it as known, and rejects too rarely. Test held-out rows, or "
                "use method='parametric'."
            )
        gradients = self._gradients(X)
        return stein_test(
            lambda rows: self._source(X[rows], gradients[rows]),
            len(X),
            design,
            options,
            generator,
            kernels=list(self.kernels_),
            **self._walk_options(),
        )

    def _check_options(self, design: Design, **given: Any) -> Options:
        """Check the options of a test, which are those of `test`."""
        return check_options(allowed=(*stein_methods(design), "parametric"), **given)

    def _check_params(self, n_kernels: int = 1) -> Settings:
        check_model(self.model)
        return super()._check_params(n_kernels)

    def _check_kernels(self) -> list[Any]:
        return check_differentiable(self.kernel)

    def _gradients(self, X: np.ndarray) -> np.ndarray:
        """Return the gradients of the model at the rows of X."""
        return gradients_at(X, self.score_function_)

    def _was_fitted_to(self, X: np.ndarray) -> bool:
        return self._fitted_to == fingerprint(X)

    def _source(self, X: np.ndarray, gradients: np.ndarray) -> SteinSource:
        """Return the Stein kernel, standardised if asked to."""
        if self.scale_ is not None:
            X, gradients = X / self.scale_, gradients * self.scale_
        return SteinSource(self.kernels_, X, gradients)

    def _fit_kernels(self, X: np.ndarray, kernels: list[KernelLike]) -> None:
        """Take the kernels, and the units of the columns, from a sample."""
        scale = column_deviations(X) if self.standardize else None
        rows = X if scale is None else X / scale
        collection = self._collection([rows], kernels, self.bandwidth)
        check_pooling(self.pooling, len(collection))
        self.scale_, self.kernels_ = scale, collection
        self._fitted_to = fingerprint(X)

    def _evaluate(
        self,
        X: np.ndarray,
        gradients: np.ndarray,
        design: Design,
        sample_weight: Any = None,
    ) -> DiscrepancyResult:
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, len(X), self.design)
            X, gradients = X[weights > 0], gradients[weights > 0]
            weights = weights[weights > 0]
        source = self._source(X, gradients)
        if weights is None:
            statistics = second_order_statistics(
                design,
                len(X),
                RowSums(source, moments=True),
                random_state=self.random_state,
                **self._walk_options(),
            )
        else:
            unbiased = not design.biased
            statistics = weighted_statistics(
                source, weights, unbiased=unbiased, **self._walk_options()
            )
        return self._result(statistics, list(self.kernels_))

    def _validate_first(self, X: Any, design: Design) -> np.ndarray:
        """Return the sample of `fit`."""
        # One row has no covariance for the Gaussian that stands for no model.
        one_is_enough = design.biased and self.model is not None
        return self._validate(X, reset=True, least=1 if one_is_enough else 2)

    def _validate(self, X: Any, *, reset: bool, least: int) -> np.ndarray:
        return validate_rows(self, X, reset=reset, ensure_min_samples=least)
