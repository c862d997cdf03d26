"""Comparisons: which sample is closer, which model fits better, what y depends on."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone

from skdiscrepancy._data.checks import (
    RUN,
    check_value,
    draw_seeds,
    generator_of,
    takes_parameters_of,
)
from skdiscrepancy._data.frames import as_table
from skdiscrepancy._estimators.hsic import HSICEstimator
from skdiscrepancy._estimators.ksd import KSDEstimator, as_given, is_fitted
from skdiscrepancy._estimators.mmd import MMDEstimator
from skdiscrepancy._gram.run import in_one_blas_thread
from skdiscrepancy._models.dispatch import is_density_estimator, log_density_gradient_of
from skdiscrepancy._nulls.row_order import columns_of, rows_of_blocks
from skdiscrepancy._statistics.dependence import hsic_projections
from skdiscrepancy._statistics.evaluations import ComparisonResult, Effect, check_names
from skdiscrepancy._statistics.noise import Projections
from skdiscrepancy._statistics.second_order import projections_of

# A comparison is of unbiased statistics that are not normalised, so that it is of the
# discrepancies and not of their ratios to noise.
STATISTIC: dict[str, Any] = {"design": "u", "normalize": False, "pooling": "mean"}


def sample_projections(
    estimator: Any,
    X: Any,
    candidates: list[Any],
    weights: Sequence[Any] | None = None,
    block_length: Any = None,
) -> tuple[list[Projections], list[Effect]]:
    """Return the unbiased statistic and effect size of each candidate.

    `weights` are those of X and of each candidate.
    """
    settings = estimator._check_params()
    names = ["X", *(f"candidate {c}" for c in range(len(candidates)))]
    words = ["sample_weight", *(f"candidate_weights of {name}" for name in names[1:])]
    weights = weights or [None] * len(names)
    table, samples, of_rows = estimator._read(
        [X, *candidates], settings, weights, names, words
    )
    estimator._learn(samples, settings, table, of_rows[0])
    sides = [(Z, estimator.kernels_) for Z in samples]
    length = _length(block_length, *sides)
    estimator._keep_sums(scales=False)
    found, effects = [], []
    for Y, w, name in zip(samples[1:], of_rows[1:], names[1:], strict=True):
        core = estimator._core(Y, settings, w)
        found.append(projections_of(core, ("reference", name), length))
        effects.append(estimator._effect(samples[0], Y, of_rows[0], w))
    return found, effects


def _length(block_length: Any, *sides: tuple[Any, list[Any]]) -> int | None:
    """Return the number of rows of the blocks of series, None for single rows."""
    if check_value(block_length, "block_length") in (None, 1):
        return None
    columns = [columns_of(*side, all_rows=True) for side in sides]
    return rows_of_blocks(block_length, min(len(Z) for Z, _ in sides), *columns)


# Keywords of a comparison, in this order.
PARAMETERS = (
    "names kernel target_kernel bandwidth target_bandwidth n_bandwidths standardize "
    f"encoder sample_weight candidate_weights block_length n_components {RUN}"
)


@takes_parameters_of(MMDEstimator, names=PARAMETERS)
@in_one_blas_thread
def mmd_compare(
    X: ArrayLike,
    *candidates: ArrayLike,
    names: Sequence[Any] | None = None,
    sample_weight: Any = None,
    candidate_weights: Sequence[Any] | None = None,
    block_length: int | str | None = None,
    **params: Any,
) -> ComparisonResult:
    """Compare samples by their distance to one sample.

    Use it to ask which generator makes rows closer to real rows, by more than chance.
    Scores are unbiased squared MMD, averaged over kernels. Standard errors of
    differences account for correlated scores [1]_. Exact kernels take O(n^2) time.

    Read more in the :ref:`User Guide <uncertainty>`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features) or (n_samples_X,)
        Sample to compare with.
    *candidates : {array-like, sparse matrix} of shape (n_samples_Y, n_features)
        Two or more independent samples.
    names : list of length n_candidates or None, default=None
        Names of the candidates.
    sample_weight : array-like of shape (n_samples_X,), default=None
        Weights of the rows.
    candidate_weights : list of length n_candidates or None, default=None
        Weights of each candidate.
    block_length : int, "auto" or None, default=None
        Length of the blocks of a :ref:`series <series>`.
    **params : dict
        Parameters of :class:`skdiscrepancy.MMDEstimator`.

    Returns
    -------
    result : ComparisonResult
        The smallest score is the best.

    See Also
    --------
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
    names = _names(candidates, names, block_length, "a sample of at least two rows")
    estimator, n = MMDEstimator(**STATISTIC, **params), len(candidates)
    weights = [None] * n if candidate_weights is None else list(candidate_weights)
    if len(weights) != n:
        raise ValueError(
            f"candidate_weights has {len(weights)} entries, must have {n}, an array or "
            "None for each candidate."
        )
    given = list(candidates), [sample_weight, *weights], block_length
    found, effects = sample_projections(estimator, X, *given)
    return ComparisonResult.of(names, found, "MMD", effects)


@takes_parameters_of(KSDEstimator, names=PARAMETERS)
@in_one_blas_thread
def ksd_compare(
    X: ArrayLike,
    *models: Any,
    names: Sequence[Any] | None = None,
    sample_weight: Any = None,
    block_length: int | str | None = None,
    **params: Any,
) -> ComparisonResult:
    """Compare models by how well they fit a sample.

    Use it to ask which model fits better, by more than chance. Fit the models to other
    rows than X. Scores are unbiased squared KSD, averaged over kernels. Standard errors
    of differences account for correlated scores [1]_. Exact kernels take O(n^2) time.

    Read more in the :ref:`User Guide <uncertainty>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples,)
        Sample.
    *models : fitted model, callable or array-like of shape (n_samples, n_features)
        Density estimators, scipy distributions, or gradients of log-densities.
    names : list of length n_models or None, default=None
        Names of the models.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    block_length : int, "auto" or None, default=None
        Length of the blocks of a :ref:`series <series>`.
    **params : dict
        Parameters of :class:`skdiscrepancy.KSDEstimator`.

    Returns
    -------
    result : ComparisonResult
        The smallest score is the best.

    See Also
    --------
    ksd_test : Tests whether a model fits.
    skdiscrepancy.model_checking.search_compare : Compares candidates of a search.

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
    names = _names(models, names, block_length, "a model", "model")
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
    read = estimator._read(as_table(X), givens, settings, sample_weight)
    rows, weights, givens = read
    estimator._fit_kernels(rows, settings.kernels)
    length = _length(block_length, (rows, estimator.kernels_))
    found, effects = [], []
    for given in givens:
        estimator.log_density_gradient_ = log_density_gradient_of(given)
        both = rows, estimator._gradients(rows)
        core = estimator._core(both, weights=[weights])
        found.append(projections_of(core, ["rows"], length))
        effects.append(estimator._effect(*both, weights))
    return ComparisonResult.of(names, found, "KSD", effects)


@takes_parameters_of(HSICEstimator, names=PARAMETERS)
@in_one_blas_thread
def hsic_compare(
    *variables: ArrayLike,
    names: Sequence[Any] | None = None,
    sample_weight: Any = None,
    block_length: int | str | None = None,
    **params: Any,
) -> ComparisonResult:
    """Compare variables by how strongly y depends on them.

    Use it to ask on which columns y depends more strongly, by more than chance. Scores
    are unbiased squared HSIC, which depends on the number of columns, so compare
    candidates of similar size. Standard errors of differences account for correlated
    scores [1]_. Exact kernels take O(n^2) time.

    Read more in the :ref:`User Guide <uncertainty>`.

    Parameters
    ----------
    *variables : array-like of shape (n_samples, n_features) or (n_samples,)
        Two or more candidates, then y, with the same rows.
    names : list of length n_candidates or None, default=None
        Names of the candidates.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    block_length : int, "auto" or None, default=None
        Length of the blocks of a :ref:`series <series>`.
    **params : dict
        Parameters of :class:`skdiscrepancy.HSICEstimator`.

    Returns
    -------
    result : ComparisonResult
        The largest score is the best.

    See Also
    --------
    hsic_test : Tests whether two variables are independent.

    References
    ----------
    .. [1] W. Bounliphone et al., "A low variance consistent test of relative
       dependency", ICML 2015.

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
    names = _names(candidates, names, block_length, "an array")
    estimator = HSICEstimator(**STATISTIC, **params)
    settings = estimator._check_params()
    # All candidates share the features of y.
    [estimator.random_state] = draw_seeds(generator_of(estimator.random_state), 1)
    read: list[Any] = []
    for X in candidates:
        fitted = clone(estimator)
        rows, *given = fitted._learn(as_table(X), y, settings, sample_weight)
        if read and len(rows) != (n := len(read[0][1])):
            raise ValueError(
                f"X has {len(rows)} rows, must have {n} as the other variables."
            )
        read.append((fitted, rows, *given))
    sides = [(rows, own.kernels_) for own, rows, _, _ in read]
    sides.append((read[0][2], read[0][0].target_kernels_))
    length = _length(block_length, *sides)
    found, effects = [], []
    for own, rows, target, weights in read:
        source = own._grams(rows, target, settings, weights)
        found.append(hsic_projections(source, weights, length))
        effects.append(own._effect(rows, target, weights))
    return ComparisonResult.of(names, found, "HSIC", effects, larger_is_better=True)


def _names(
    candidates: Any, names: Any, block_length: Any, what: str, word: str = "candidate"
) -> list[Any]:
    """Return the names of at least two candidates, and check the length of blocks."""
    check_value(block_length, "block_length")
    if len(candidates) < 2:
        raise TypeError(
            f"{len(candidates)} {word}s given, must be at least 2. Pass each as {what} "
            "of its own, such as *candidates for a list."
        )
    return check_names(names, len(candidates), f"{word} ")
