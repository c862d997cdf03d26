"""Scorers of densities, the comparison of candidates in a search, Stein thinning."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data.arrays import (
    aligned_products,
    check_rows,
    refuse_masked,
    refuse_missing,
)
from skdiscrepancy._data.checks import (
    FLAG,
    RandomStateLike,
    check_number,
    check_value,
    declares_parameters,
    generator_of,
    shown,
)
from skdiscrepancy._estimators.ksd import (
    KSDEstimator,
    check_differentiable,
    check_gradients,
    fit_model,
    freeze,
    gradients_at,
    in_scale,
    refuse_constant,
)
from skdiscrepancy._estimators.mmd import MMDEstimator
from skdiscrepancy._gram.run import in_one_blas_thread
from skdiscrepancy._models.dispatch import (
    check_model,
    draw_from,
    is_singular,
    log_density_gradient_of,
    widths,
    without_names,
)
from skdiscrepancy._statistics.evaluations import (
    ComparisonResult,
    check_level,
    check_names,
)
from skdiscrepancy._statistics.second_order import check_finite
from skdiscrepancy.bandwidths import median_bandwidth
from skdiscrepancy.designs import Design
from skdiscrepancy.model_checking._thinning import greedy_rows


def search_compare(
    search: Any,
    *,
    metric: str = "score",
    test_fraction: float | None = None,
    names: Sequence[Any] | None = None,
) -> ComparisonResult:
    """Compare the candidates of a search over the same splits.

    Which candidates are worse by more than chance? Variances take into account that
    splits share training rows [1]_.

    Read more in the :ref:`User Guide <uncertainty>`.

    Parameters
    ----------
    search : GridSearchCV, RandomizedSearchCV or dict
        Fitted search, or its `cv_results_`.
    metric : str, default="score"
        Name of the score.
    test_fraction : float or None, default=None
        Fraction of test rows. None is 1 / n_splits.
    names : list of length n_candidates or None, default=None
        Names of candidates. None takes their parameters.

    Returns
    -------
    result : ComparisonResult
        Comparison, in which the largest score is best.

    See Also
    --------
    skdiscrepancy.ksd_compare : Compares fitted models.

    References
    ----------
    .. [1] C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine
       Learning 52, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KernelDensity
    >>> from skdiscrepancy.model_checking import KSDScorer, search_compare
    >>> X = np.random.RandomState(0).normal(size=(300, 1))
    >>> grid = {"bandwidth": [0.3, 0.4, 3.0]}
    >>> scoring = KSDScorer(bandwidth_factor=1)
    >>> search = GridSearchCV(KernelDensity(), grid, scoring=scoring).fit(X)
    >>> result = search_compare(search)
    >>> "bandwidth=3.0" in result.best_set()
    False
    """
    found = search if isinstance(search, dict) else getattr(search, "cv_results_", None)
    if found is None or "params" not in found:
        must = "must be a fitted search with `cv_results_`."
        raise ValueError(f"search == {shown(search)}, {must}")
    scores = _scores(found, metric)
    n_candidates, n_splits = scores.shape
    if n_candidates < 2 or n_splits < 2:
        found = f"{n_candidates} candidates and {n_splits} splits"
        raise ValueError(f"search has {found}, must have at least 2 of each.")
    if not np.all(np.isfinite(scores)):
        bad = found["params"][int(np.argmin(np.isfinite(scores).all(axis=1)))]
        raise ValueError(
            f"search has scores that are not finite, the first for {bad}, must have "
            "finite scores. Leave out candidates that cannot be scored."
        )
    fraction = 1 / n_splits if test_fraction is None else test_fraction
    test_fraction = check_level(fraction, "test_fraction")
    if names is None:
        pairs = ([f"{k}={value}" for k, value in p.items()] for p in found["params"])
        names = list(map(", ".join, pairs))
    factor = 1 / n_splits + test_fraction / (1 - test_fraction)
    names = check_names(names, n_candidates, "candidate ")
    differences = scores[:, np.newaxis] - scores
    errors = [np.sqrt(v.var(axis=-1, ddof=1) * factor) for v in (scores, differences)]
    numbers = scores.mean(axis=1), errors[0], differences.mean(axis=2), errors[1]
    degrees = np.full((n_candidates, n_candidates), n_splits - 1.0)
    return ComparisonResult(names, *numbers, metric, True, degrees)


def _scores(found: dict[str, Any], metric: str) -> np.ndarray:
    """Return the scores of each candidate in each split."""
    ending = f"_test_{metric}"
    keys = [key for key in found if key.startswith("split") and key.endswith(ending)]
    if not keys:
        known = [k.partition("_test_")[2] for k in found if k.startswith("split0_test")]
        raise ValueError(f"metric == {metric!r}, must be one of {sorted(known)}.")
    keys.sort(key=lambda key: int(key.removeprefix("split").removesuffix(ending)))
    columns, n_candidates = [], len(found["params"])
    for key in keys:
        columns.append(column := np.asarray(found[key], dtype=np.float64))
        if column.shape != (n_candidates,):
            must = f"must have one score for each of {n_candidates} candidates."
            raise ValueError(f"search has {key} of shape {column.shape}, {must}")
    return np.transpose(columns)


# Step of the numerical derivatives of gradients, in standard deviations of a column.
STEP = 1e-4


@declares_parameters
class KSDScorer(BaseEstimator):
    """Negative kernel Stein discrepancy between a fitted density and held-out rows.

    Pass it as `scoring` to :class:`~sklearn.model_selection.GridSearchCV`. Choose by
    log-likelihood if you know the normalising constant. Leave out very rough densities,
    whose scores are noise.

    Read more in the :ref:`User Guide <model_checking>`.

    Parameters
    ----------
    kernel : str, kernel object or list of them, default="gaussian"
        Kernels, twice differentiable.
    bandwidth_factor : float, default=0.125
        Multiple of the median distance between held-out rows.
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design, default="u"
        Pairs of rows; see :mod:`skdiscrepancy.designs`.
    normalize : bool, default=False
        Divide each statistic by its scale.
    pooling : {"fuse", "mean", "max"} or None, default="mean"
        How to combine several kernels.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds all random draws.

    See Also
    --------
    HyvarinenScorer : Scores by score matching.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KernelDensity
    >>> from skdiscrepancy.model_checking import KSDScorer
    >>> X = np.random.RandomState(0).normal(size=(200, 2))
    >>> grid = {"bandwidth": [0.1, 0.4]}
    >>> search = GridSearchCV(KernelDensity(), grid, scoring=KSDScorer()).fit(X)
    >>> search.best_params_
    {'bandwidth': 0.4}
    """

    _: KW_ONLY
    kernel: Any = "gaussian"
    bandwidth_factor: float = 0.125
    design: str | Design = "u"
    normalize: bool = False
    pooling: str | None = "mean"
    n_jobs: int | None = None
    random_state: RandomStateLike = None

    def __call__(self, estimator: Any, X: ArrayLike, y: Any = None) -> float:
        """Score a fitted model.

        Parameters
        ----------
        estimator : estimator
            Fitted model, or a pipeline whose last step is scored.
        X : array-like of shape (n_samples, n_features)
            Held-out rows.
        y : Ignored
            Not used.

        Returns
        -------
        score : float
            Score, larger for a better fit.
        """
        factor = check_number(self.bandwidth_factor, "bandwidth_factor", strict=True)
        kernels = check_differentiable(self.kernel)
        model, X = last_step(estimator, X)
        bandwidth = factor * median_bandwidth(X)
        params = self.get_params(deep=False)
        del params["bandwidth_factor"]
        params["kernel"] = [
            clone(k).set_params(bandwidth=bandwidth) if k.bandwidth is None else k
            for k in kernels
        ]
        return -KSDEstimator(freeze(model), **params).fit(X).score(X)


class HyvarinenScorer(BaseEstimator):
    r"""Negative Hyvarinen score of a fitted density (score matching).

    Pass it as `scoring` to :class:`~sklearn.model_selection.GridSearchCV`. It needs the
    gradient s of the log-density, for the mean of :math:`\|s(x)\|^2 / 2 + \nabla \cdot
    s(x)` [1]_. Do not use it for rounded data, or if s jumps.

    Read more in the :ref:`User Guide <model_checking>`.

    See Also
    --------
    KSDScorer : Scores by KSD.

    References
    ----------
    .. [1] A. Hyvarinen, "Estimation of non-normalized statistical models by score
       matching", JMLR 6, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.covariance import EmpiricalCovariance
    >>> from skdiscrepancy.model_checking import HyvarinenScorer
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> density = EmpiricalCovariance().fit(X)
    >>> round(HyvarinenScorer()(density, X), 2)
    0.96
    >>> round(HyvarinenScorer()(density, X + 1), 2)
    -0.01
    """

    def __call__(self, estimator: Any, X: ArrayLike, y: Any = None) -> float:
        """Score a fitted model.

        Parameters
        ----------
        estimator : estimator
            Fitted model, or a pipeline whose last step is scored.
        X : array-like of shape (n_samples, n_features)
            Held-out rows.
        y : Ignored
            Not used.

        Returns
        -------
        score : float
            Score, larger for a better fit.
        """
        model, X = last_step(estimator, X)
        score = log_density_gradient_of(model)
        gradients = gradients_at(X, score)
        # Values that are not finite raise an error.
        with np.errstate(all="ignore"):
            total = np.square(gradients).sum(axis=1) / 2
            for j, width in enumerate(widths(X)):
                shift = np.zeros(X.shape[1])
                shift[j] = STEP * width
                ahead = gradients_at(check_finite(X + shift), score)[:, j]
                behind = gradients_at(check_finite(X - shift), score)[:, j]
                total += (ahead - behind) / (2 * shift[j])
            return -float(check_finite(total.mean()))


@declares_parameters
class MMDScorer(BaseEstimator):
    """Negative maximum mean discrepancy between held-out rows and draws of a model.

    Pass it as `scoring` to :class:`~sklearn.model_selection.GridSearchCV`. The model
    needs a method `sample`, but no density.

    Read more in the :ref:`User Guide <model_checking>`.

    Parameters
    ----------
    n_samples : int or None, default=None
        Number of draws. None is the number of rows.
    normalize : bool, default=False
        Divide each statistic by its scale.
    pooling : {"fuse", "mean", "max"} or None, default="mean"
        How to combine several kernels.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance, Generator or None, default=0
        Seeds all random draws.

    See Also
    --------
    KSDScorer : Scores by KSD.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KernelDensity
    >>> from skdiscrepancy.model_checking import MMDScorer
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> round(MMDScorer()(KernelDensity().fit(X), X), 2)
    -0.02
    >>> round(MMDScorer()(KernelDensity().fit(X + 2), X), 2)
    -0.3
    """

    _: KW_ONLY
    n_samples: int | None = None
    normalize: bool = False
    pooling: str | None = "mean"
    n_jobs: int | None = None
    random_state: RandomStateLike = 0

    def __call__(self, estimator: Any, X: ArrayLike, y: Any = None) -> float:
        """Score a fitted model.

        Parameters
        ----------
        estimator : estimator
            Fitted model, or a pipeline whose last step is scored.
        X : array-like of shape (n_samples, n_features)
            Held-out rows.
        y : Ignored
            Not used.

        Returns
        -------
        score : float
            Score, larger for a better fit.
        """
        options: dict[str, Any] = {"integer": True, "least": 2, "optional": True}
        n = check_number(self.n_samples, "n_samples", **options)
        model, X = last_step(estimator, X)
        draws = draw_from(model, n or len(X), generator_of(self.random_state))
        names = ("normalize", "pooling", "n_jobs")
        params = {name: getattr(self, name) for name in names}
        return -MMDEstimator(**params).fit(X).score(draws)


def last_step(estimator: Any, X: Any) -> tuple[Any, np.ndarray]:
    """Return the last step of a pipeline, and X after all previous steps."""
    # Checked first, because a step may drop the mask, or read NaT as a number.
    refuse_masked(X, "X")
    if getattr(getattr(X, "dtype", None), "kind", "") in ("m", "M"):
        refuse_missing(np.asarray(X), "X")
    # A frozen model, or a search within a search.
    if isinstance(estimator, FrozenEstimator):
        return last_step(estimator.estimator, X)
    if hasattr(estimator, "best_estimator_"):
        return last_step(estimator.best_estimator_, X)
    if isinstance(estimator, Pipeline):
        if len(estimator.steps) > 1:
            try:
                # A copy, because steps that work in place must not change the sample.
                # Values that are not finite are refused below.
                with np.errstate(all="ignore"):
                    X = estimator[:-1].transform(copy.deepcopy(X))
            except (TypeError, ValueError) as error:
                if isinstance(error, NotFittedError):
                    raise
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(
                    "X has values that the pipeline cannot transform, must have "
                    f"columns of the types that the pipeline was fitted to: {error}"
                ) from error
        return last_step(estimator.steps[-1][1], X)
    if isinstance(estimator, KSDEstimator):
        check_is_fitted(estimator)
        # Column names must agree with the KSDEstimator, because the model may have been
        # fitted with other names.
        X = check_rows(X, estimator=estimator, reset=False, dtype=np.float64)
        return last_step(without_names(estimator.model_), X)
    options: dict[str, Any] = {"dtype": np.float64, "ensure_min_samples": 2}
    if isinstance(estimator, BaseEstimator):
        # Names and order of the columns must agree with `fit` of the estimator.
        options.update(estimator=estimator, reset=False)
    return estimator, check_rows(X, **options)


neg_ksd_scorer = KSDScorer()
neg_hyvarinen_scorer = HyvarinenScorer()
neg_mmd_scorer = MMDScorer()


PRECONDITIONERS = ("id", "med", "cov")
# Number of rows, at equal steps, for the median distance.
MEDIAN_ROWS = 1000


@in_one_blas_thread
def stein_thinning(
    X: ArrayLike,
    gradients: ArrayLike,
    n_points: int,
    *,
    standardize: bool = True,
    preconditioner: str = "id",
    verbose: int = 0,
) -> np.ndarray:
    r"""Choose the few rows of a sample that represent a model best.

    Use it to compress a Markov chain and correct its bias. Each step adds the row that
    makes the KSD smallest, for the kernel :math:`(1 + (x - y)^\top \Gamma (x -
    y))^{-1/2}`, in O(n) time.

    Read more in the :ref:`User Guide <model_checking>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sample.
    gradients : array-like of shape (n_samples, n_features)
        Gradients of the log-density.
    n_points : int
        Number of rows to choose.
    standardize : bool, default=True
        Divide columns by their mean absolute deviations.
    preconditioner : {"id", "med", "cov"}, default="id"
        Matrix :math:`\Gamma`: identity, identity over squared median distance, or
        inverse covariance.
    verbose : int, default=0
        1 or more shows the percentage done and the time left.

    Returns
    -------
    indices : ndarray of shape (n_points,)
        Indices of the chosen rows.

    See Also
    --------
    SteinThinning : Needs a model, but no gradients.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.model_checking import stein_thinning
    >>> X = np.random.RandomState(0).normal(size=(200, 2)) + 0.5
    >>> chosen = stein_thinning(X, -X, 20)
    >>> X.mean(axis=0).round(2).tolist()
    [0.43, 0.51]
    >>> X[chosen].mean(axis=0).round(2).tolist()
    [0.04, 0.08]
    """
    flags = {"standardize": standardize, "verbose": verbose}
    n_points = _check_params(n_points, preconditioner, **flags)
    rows: np.ndarray = check_rows(X, dtype=np.float64)
    S = check_gradients(gradients, rows)
    # Values that are not finite raise an error.
    with np.errstate(all="ignore"):
        if standardize:
            scale = np.mean(np.abs(rows - rows.mean(axis=0)), axis=0)
            refuse_constant(scale, np.abs(rows).max(axis=0))
            rows, S = in_scale(scale, rows, S)
        Y, trace = _precondition(rows, preconditioner)
        column = partial(_stein_column, rows, Y, S, trace)
        return greedy_rows(n_points, trace + aligned_products(S, S), column, verbose)


@declares_parameters
class SteinThinning(BaseEstimator):
    """Stein thinning: the few rows of a sample that represent a model best.

    Use it to compress a Markov chain and correct its bias. Each step adds the row that
    makes the KSD smallest, possibly once more, in O(n) time [1]_.

    Read more in the :ref:`User Guide <model_checking>`.

    Parameters
    ----------
    n_points : int, default=10
        Number of rows to choose.
    model : density estimator, frozen distribution, callable or None, default=None
        Model. Estimators that are not frozen are refitted. None is Gaussian.
    standardize : bool, default=True
        Divide columns by their mean absolute deviations.
    preconditioner : {"id", "med", "cov"}, default="id"
        Matrix as in :func:`stein_thinning`.
    verbose : int, default=0
        1 or more shows the percentage done and the time left.

    Attributes
    ----------
    support_ : ndarray of shape (n_points,)
        Indices of the chosen rows.
    points_ : ndarray of shape (n_points, n_features)
        The chosen rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, if all are strings.

    See Also
    --------
    stein_thinning : Needs gradients, but no model.

    References
    ----------
    .. [1] M. Riabiz et al., "Optimal thinning of MCMC output", Journal of the Royal
       Statistical Society B 84, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.model_checking import SteinThinning
    >>> X = np.random.RandomState(0).normal(size=(200, 2)) + 0.5
    >>> thinning = SteinThinning(20, lambda X: -X).fit(X)
    >>> thinning.points_.mean(axis=0).round(2).tolist()
    [0.04, 0.08]
    """

    n_points: int = 10
    model: Any = None
    _: KW_ONLY
    standardize: bool = True
    preconditioner: str = "id"
    verbose: int = 0

    def fit(
        self, X: ArrayLike, y: Any = None, *, gradients: ArrayLike | None = None
    ) -> SteinThinning:
        """Choose the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : array-like of shape (n_samples,), default=None
            Target for the model.
        gradients : array-like of shape (n_samples, n_features), default=None
            Gradients of the log-density, instead of the model.

        Returns
        -------
        self : SteinThinning
            Fitted estimator.
        """
        params = self.get_params(deep=False)
        model = params.pop("model")
        _check_params(**params)
        if gradients is None:
            check_model(model)
        options: dict[str, Any] = {"dtype": np.float64, "ensure_min_samples": 2}
        rows: np.ndarray = check_rows(X, estimator=self, **options)
        if gradients is None:
            gradients = gradients_at(rows, fit_model(model, rows, y)[1])
        self.support_ = stein_thinning(rows, gradients, **params)
        self.points_ = rows[self.support_]
        return self


def _check_params(n_points: Any, preconditioner: Any, **flags: Any) -> int:
    for name, value in flags.items():
        check_value(value, name, FLAG if name == "standardize" else None)
    if preconditioner not in PRECONDITIONERS:
        must = f"must be one of {PRECONDITIONERS}."
        raise ValueError(f"preconditioner == {preconditioner!r}, {must}")
    return check_number(n_points, "n_points", integer=True, least=1)


def _precondition(X: np.ndarray, preconditioner: str) -> tuple[np.ndarray, float]:
    """Return X times the preconditioning matrix, and the trace of that matrix."""
    n, d = X.shape
    if preconditioner == "id":
        return X, float(d)
    if preconditioner == "med":
        some = X[np.linspace(0, n - 1, min(n, MEDIAN_ROWS), dtype=int)]
        median = np.median(pdist(some)) if n > 1 else 0.0
        if not median > 0:
            must = "must be 'id' here: most rows of X are equal."
            raise ValueError(f"preconditioner == 'med', {must}")
        return X / median**2, d / median**2
    centred = X - X.mean(axis=0)
    covariance = centred.T @ centred / max(n - 1, 1)
    constant = np.sqrt(np.diag(covariance)) <= 1e-13 * np.abs(X).max(axis=0)
    if np.any(constant) or is_singular(covariance):
        must = "must be 'id' or 'med' here: the covariance of X is singular."
        raise ValueError(f"preconditioner == 'cov', {must}")
    precision = cho_solve(cho_factor(covariance), np.eye(d))
    return X @ precision, float(np.trace(precision))


def _stein_column(X: Any, Y: Any, S: Any, trace: float, chosen: int) -> np.ndarray:
    """Return the Stein kernel between all rows and a chosen row, for Y = X Gamma."""
    gaps, pulls = X - X[chosen], Y - Y[chosen]
    weight = 1 / (1 + aligned_products(gaps, pulls))
    values = aligned_products(pulls, pulls) * (-3 * weight)
    values += trace + aligned_products(S - S[chosen], pulls)
    return (values * weight + S @ S[chosen]) * np.sqrt(weight)
