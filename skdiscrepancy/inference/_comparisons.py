"""Comparisons: which sample is closer, which model fits better, what y depends on."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from skdiscrepancy._data.arrays import refuse_blocks
from skdiscrepancy._data.checks import takes_parameters_of
from skdiscrepancy._data.frames import as_table
from skdiscrepancy._estimators.hsic import HSICEstimator
from skdiscrepancy._estimators.ksd import (
    KSDEstimator,
    as_given,
    gradients_at,
    is_fitted,
)
from skdiscrepancy._estimators.mmd import MMDEstimator
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.products import Centring, centred_products
from skdiscrepancy._gram.run import in_one_blas_thread
from skdiscrepancy._models.dispatch import is_density_estimator, score_function_of
from skdiscrepancy._statistics.dependence import centring_offsets, mean_centred
from skdiscrepancy._statistics.evaluations import ComparisonResult, check_names
from skdiscrepancy._statistics.noise import (
    LEAST_ROWS,
    QUADRATIC_ROWS,
    Projections,
    noise_rows,
    one_sample_projections,
)
from skdiscrepancy._statistics.second_order import too_few_rows
from skdiscrepancy.designs import Region, square

# A comparison is of unbiased statistics that are not normalised, so that it is of the
# discrepancies and not of their ratios to noise.
STATISTIC: dict[str, Any] = {"design": "u", "normalize": False, "pooling": "mean"}


def sample_projections(estimator: Any, X: Any, candidates: list[Any]) -> list[Any]:
    """Compare several samples with one sample, by the mean over kernels.

    Returns the unbiased statistic of each candidate. One walk computes all sums, and
    all candidates share the sums within X.
    """
    settings = estimator._check_params()
    names = [f"candidate {c}" for c in range(len(candidates))]
    table, samples = estimator._read_together([X, *candidates], settings, ["X", *names])
    estimator._learn(samples, settings, table)
    if (least := min(map(len, samples))) < LEAST_ROWS:
        raise ValueError(too_few_rows(least))
    source = gram(estimator.kernels_, *samples, run=estimator._run)
    (_, m), *others = ends = list(pairwise(accumulate(map(len, samples), initial=0)))
    within = [square(*own, diagonal=False) for own in ends]
    across = [Region(0, m, *own) for own in others]
    sums = iter(source.walk([*within, *across]))
    own, *of_others = (
        next(sums)[0].mean(axis=0) / (stop - start - 1) for start, stop in ends
    )
    first = noise_rows(m, n_samples=2, most=QUADRATIC_ROWS)
    shared = _block(source, first, first) / (len(first) * m)
    found = []
    for name, (start, stop), b, (of_x, of_y) in zip(
        names, others, of_others, sums, strict=True
    ):
        n = stop - start
        a, b = own - of_x.mean(axis=0) / n, b - of_y.mean(axis=0) / m
        some = start + noise_rows(n, n_samples=2, most=QUADRATIC_ROWS)
        size = np.sqrt(float(len(first)) * m * len(some) * n)
        quadratic = {
            ("reference", name): -_block(source, first, some) / size,
            (name, name): _block(source, some, some) / (len(some) * n),
            # In all quadratic forms, so it cancels in differences.
            ("reference", "reference"): shared,
        }
        linear = {"reference": (a - a.mean()) / m, name: (b - b.mean()) / n}
        found.append(Projections(float(a.mean() + b.mean()), linear, quadratic))
    return found


def _block(source: Any, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Return the mean over kernels of a centred block, without the diagonal."""
    [(_, K)] = source.mean().dense(rows, cols)
    K = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
    if rows is cols:
        np.fill_diagonal(K, 0)
    return K


# Keywords of a comparison, in this order.
PARAMETERS = (
    "names kernel target_kernel bandwidth target_bandwidth n_bandwidths standardize "
    "encoder n_jobs verbose"
)


@takes_parameters_of(MMDEstimator, names=PARAMETERS)
@in_one_blas_thread
def mmd_compare(
    X: ArrayLike,
    *candidates: ArrayLike,
    names: Sequence[Any] | None = None,
    **params: Any,
) -> ComparisonResult:
    """Compare samples by their distance to one sample.

    Which of two generators makes rows that are closer to real rows, and is the
    difference more than chance? ``mmd_compare(X, Y, Z)`` computes the squared MMD of Y
    and of Z to X, and the standard error of their difference [1]_. Both depend on X, so
    they are correlated, and their difference has a smaller error.

    The score of a candidate is the unbiased MMD, averaged over the kernels, without
    normalisation. The bandwidths depend on all samples. If all candidates share the
    distribution of X, the second-order term of the statistic keeps the standard error
    from vanishing. One pass over all pairs computes all sums, and the candidates share
    the sums within X.

    Read more in the :ref:`User Guide <uncertainty>`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features) or (n_samples_X,)
        Sample to which the candidates are compared, such as real rows.
    *candidates : {array-like, sparse matrix} of shape (n_samples_Y, n_features)
        Two or more samples, such as the rows of generators. All samples must be
        independent.
    names : list of length n_candidates or None, default=None
        Names of the candidates. None is "candidate 0", "candidate 1" and so on.
    kernel : str, kernel object, callable or list, default=("gaussian", "laplace")
        Kernels, as in :class:`~skdiscrepancy.MMDEstimator`.
    bandwidth : {"grid", "median", "dyadic"}, float or array-like, default="grid"
        Bandwidths of the kernels that do not have their own.
    n_bandwidths : int, default=10
        Number of bandwidths of a "grid".
    encoder : "auto", None or transformer, default="auto"
        How to encode tables, fitted to all samples together.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.

    Returns
    -------
    result : ComparisonResult
        The candidate with the smallest score is the best.

    See Also
    --------
    mmd_score : Computes the distance of one sample.
    mmd_test : Tests whether two samples differ.

    References
    ----------
    .. [1] W. Bounliphone et al., "A test of relative similarity for model selection in
       generative models", ICLR 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_compare
    >>> rng = np.random.RandomState(0)
    >>> X, Y, Z = rng.normal(size=(3, 300, 2)) + np.reshape([0, 0.3, 0.8], (3, 1, 1))
    >>> result = mmd_compare(X, Y, Z)
    >>> result.best, result.pvalue < 0.001
    ('candidate 0', True)
    """
    names = _names(candidates, names, "a sample of at least two rows")
    estimator = MMDEstimator(**STATISTIC, **params)
    tables = _in_memory(candidates)
    refuse_blocks(X, "X")
    found = sample_projections(estimator, as_table(X), tables)
    return ComparisonResult.of(names, found, "MMD")


@takes_parameters_of(KSDEstimator, names=PARAMETERS)
@in_one_blas_thread
def ksd_compare(
    X: ArrayLike, *models: Any, names: Sequence[Any] | None = None, **params: Any
) -> ComparisonResult:
    """Compare models by how well they fit a sample.

    Which of two models fits the rows better, and is the difference more than chance?
    ``ksd_compare(X, model_a, model_b)`` computes the squared KSD of both models, and
    the standard error of their difference on the same rows [1]_. No model needs a
    normalising constant.

    The score of a model is the unbiased KSD, averaged over the kernels, without
    normalisation. The bandwidths depend on X alone. The models count as fixed, so fit
    them to other rows than X.

    Read more in the :ref:`User Guide <uncertainty>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples,)
        Sample.
    *models : fitted model, callable or array-like of shape (n_samples, n_features)
        Two or more models: fitted density estimators, distributions of scipy, functions
        that return the gradient of the log-density, or arrays with the gradients at the
        rows of X.
    names : list of length n_models or None, default=None
        Names of the models. None is "model 0", "model 1" and so on.
    kernel : str, kernel object or list of them, default=("gaussian", "imq")
        Kernels, as in :class:`~skdiscrepancy.KSDEstimator`.
    bandwidth : {"grid", "median", "dyadic"}, float or array-like, default="grid"
        Bandwidths of the kernels that do not have their own.
    n_bandwidths : int, default=10
        Number of bandwidths of a "grid".
    standardize : bool, default=False
        Divide each column by its standard deviation before kernels are computed.
    encoder : "auto", None or transformer, default="auto"
        How to encode tables, as in :class:`~skdiscrepancy.KSDEstimator`.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.

    Returns
    -------
    result : ComparisonResult
        The model with the smallest score is the best.

    See Also
    --------
    ksd_score : Computes the discrepancy of one model.
    ksd_test : Tests whether a model fits.
    skdiscrepancy.model_checking.compare_scores : Compares the candidates of a search.

    References
    ----------
    .. [1] J. N. Lim et al., "Kernel Stein tests for multiple model comparison", NeurIPS
       2019.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import multivariate_normal
    >>> from skdiscrepancy import ksd_compare
    >>> X = np.random.RandomState(0).normal(size=(300, 2))
    >>> models = [multivariate_normal(mean=[m, 0]) for m in (0.1, 0.6)]
    >>> result = ksd_compare(X, *models)
    >>> result.best, result.pvalue < 0.001
    ('model 0', True)
    """
    names = _names(models, names, "a model", "model")
    for name, model in zip(names, models, strict=True):
        if model is None or (is_density_estimator(model) and not is_fitted(model)):
            raise ValueError(
                f"model {name!r} is {model!r}, must be fitted, a score function or an "
                "array of gradients. Fit the models to other rows than X, because a "
                "model that was fitted to X fits X too well."
            )
    givens = [as_given(model) for model in models]
    estimator = KSDEstimator(givens[0], **STATISTIC, **params)
    settings = estimator._check_params()
    refuse_blocks(X, "X")
    rows = estimator._validate_first(as_table(X), settings.design)
    if len(rows) < LEAST_ROWS:
        raise ValueError(too_few_rows(len(rows)))
    estimator._fit_kernels(rows, settings.kernels)
    n = len(rows)
    some, found = noise_rows(len(rows), most=QUADRATIC_ROWS), []
    for given in givens:
        gradients = gradients_at(rows, score_function_of(given))
        core = estimator._core((rows, gradients))
        means = core.sums(diagonal=False).mean(axis=0) / (n - 1)
        [(_, H)] = core.mean().dense(some, some)
        found.append(one_sample_projections(float(means.mean()), means, H))
    return ComparisonResult.of(names, found, "KSD")


@takes_parameters_of(HSICEstimator, names=PARAMETERS)
@in_one_blas_thread
def hsic_compare(
    *variables: ArrayLike, names: Sequence[Any] | None = None, **params: Any
) -> ComparisonResult:
    """Compare variables by how strongly y depends on them.

    On which of two sets of columns does y depend more strongly, and is the difference
    more than chance? ``hsic_compare(X_a, X_b, y)`` computes the squared HSIC of y with
    both, and the standard error of their difference on the same rows [1]_.

    The score is the unbiased HSIC, averaged over all products of a kernel on X with a
    kernel on y, without normalisation. The bandwidths of each X depend on its own
    distances. HSIC also depends on the number of columns and on the kernels, so compare
    variables with similar numbers of columns.

    Read more in the :ref:`User Guide <uncertainty>`.

    Parameters
    ----------
    *variables : array-like of shape (n_samples, n_features) or (n_samples,)
        Two or more candidates, followed by y. All of them have the same rows.
    names : list of length n_candidates or None, default=None
        Names of the candidates. None is "candidate 0", "candidate 1" and so on.
    kernel : str, kernel object, callable or list, default=("gaussian", "laplace")
        Kernels on the candidates, as in :class:`~skdiscrepancy.HSICEstimator`.
    target_kernel : "auto", or as `kernel`, default="auto"
        Kernels on y.
    bandwidth : {"grid", "median", "dyadic"}, float or array-like, default="grid"
        Bandwidths of the kernels on the candidates that do not have their own.
    target_bandwidth : str, float or array-like of float, default="grid"
        Bandwidths of the kernels on y.
    n_bandwidths : int, default=10
        Number of bandwidths of a "grid".
    encoder : "auto", None or transformer, default="auto"
        How to encode tables.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.

    Returns
    -------
    result : ComparisonResult
        The candidate with the largest score is the best.

    See Also
    --------
    hsic_score : Measures the dependence on one variable.
    hsic_test : Tests whether two variables are independent.

    References
    ----------
    .. [1] W. Bounliphone, A. Gretton, A. Tenenhaus and M. Blaschko, "A low variance
       consistent test of relative dependency", ICML 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import hsic_compare
    >>> rng = np.random.RandomState(0)
    >>> a, b, noise = rng.normal(size=(3, 300))
    >>> result = hsic_compare(a, b, a + 0.4 * b + noise, names=["a", "b"])
    >>> result.best, result.pvalue < 0.001
    ('a', True)
    """
    if len(variables) < 3:
        raise TypeError(
            f"hsic_compare takes at least 3 arrays, two candidates and y, and got "
            f"{len(variables)}."
        )
    *candidates, y = variables
    names = _names(candidates, names, "an array")
    refuse_blocks(y, "y")
    estimator = HSICEstimator(**STATISTIC, **params)
    settings = estimator._check_params()
    found: list[Projections] = []
    # The mean over all products of kernels is the product of the mean kernels.
    for X in _in_memory(candidates):
        fitted = clone(estimator)._fit(X, y, settings)
        rows, target = fitted._validate_fitted(X, y, settings)
        if found and len(rows) != len(found[0].linear["rows"]):
            raise ValueError(
                f"X has {len(rows)} rows, must have "
                f"{len(found[0].linear['rows'])} as the other variables."
            )
        x = gram(fitted.kernels_, rows, run=estimator._run).mean()
        z = gram(fitted.target_kernels_, target, run=estimator._run).mean()
        n = len(rows)
        centring = Centring(partial(centring_offsets, unbiased=True), diagonal=False)
        products = centred_products(x, z, centring, tuple)
        [sums] = products.results
        # The projection of the core of order four on a row, times two.
        means = sums * ((n - 2) / ((n - 1) * (n - 3)))
        value = float(sums.sum() / (n * (n - 3)))
        some = noise_rows(n, most=QUADRATIC_ROWS)
        core = mean_centred(x, some) * mean_centred(z, some)
        found.append(one_sample_projections(value, means, core))
    return ComparisonResult.of(names, found, "HSIC", larger_is_better=True)


def _names(
    candidates: Sequence[Any], names: Any, what: str, word: str = "candidate"
) -> list[Any]:
    """Return the names of at least two candidates."""
    if len(candidates) < 2:
        raise TypeError(
            f"{len(candidates)} {word}s given, must be at least 2. Pass each as {what} "
            "of its own, such as *candidates for a list."
        )
    return check_names(names, len(candidates), f"{word} ")


def _in_memory(candidates: Sequence[Any]) -> list[Any]:
    """Return candidates as tables or arrays. Refuse data that are read by blocks."""
    for i, candidate in enumerate(candidates):
        refuse_blocks(candidate, f"candidate {i}")
    return [as_table(candidate) for candidate in candidates]
