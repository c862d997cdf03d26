"""Stein thinning: the few rows of a sample that represent a model best."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator

from skdiscrepancy._data.arrays import check_rows
from skdiscrepancy._data.checks import (
    KeywordHints,
    check_flag,
    check_number,
    check_verbose,
)
from skdiscrepancy._estimators.ksd import (
    check_gradients,
    fit_model,
    gradients_at,
    in_scale,
    refuse_constant,
)
from skdiscrepancy._gram.run import in_one_blas_thread, progress
from skdiscrepancy._models.dispatch import check_model, is_singular
from skdiscrepancy._statistics.second_order import check_finite

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

    Use Stein thinning to compress a Markov chain, and to correct its bias, for example
    from a burn-in that is too short. Each step adds the row that makes the KSD between
    the chosen rows and the model smallest [1]_. A row can be chosen more than once. The
    kernel is the inverse multiquadric :math:`(1 + (x - y)^\top \Gamma (x - y))^{-1/2}`.
    Takes O(n) time for each chosen row, and O(n) memory.

    Read more in the :ref:`User Guide <model_checking>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sample, for example the states of a Markov chain.
    gradients : array-like of shape (n_samples, n_features)
        Gradients of the log-density of the model at the rows of X.
    n_points : int
        Number of rows to choose.
    standardize : bool, default=True
        First divide each column by its mean absolute deviation.
    preconditioner : {"id", "med", "cov"}, default="id"
        The matrix :math:`\Gamma` of the kernel. "id" is the identity matrix. "med" is
        the identity matrix divided by the squared median distance between rows. "cov"
        is the inverse of the covariance matrix.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.

    Returns
    -------
    indices : ndarray of shape (n_points,)
        Indices of the chosen rows, in the order of their choice.

    See Also
    --------
    SteinThinning : Computes the gradients from a model.

    References
    ----------
    .. [1] M. Riabiz et al., "Optimal thinning of MCMC output", Journal of the Royal
       Statistical Society B 84, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.model_checking import stein_thinning
    >>> X = np.random.RandomState(0).normal(size=(200, 2)) + 0.5
    >>> chosen = stein_thinning(X, -X, 20)

    The model has mean 0. The mean of the sample is biased, and thinning corrects it:

    >>> X.mean(axis=0).round(2).tolist()
    [0.43, 0.51]
    >>> X[chosen].mean(axis=0).round(2).tolist()
    [0.04, 0.08]
    """
    n_points = _check_params(n_points, standardize, preconditioner, verbose)
    rows: np.ndarray = check_rows(X, dtype=np.float64)
    S = check_gradients(gradients, rows)
    indices = np.empty(n_points, dtype=np.int64)
    # Values that are not finite raise an error below.
    with np.errstate(all="ignore"), progress("points", n_points, verbose) as line:
        if standardize:
            scale = np.mean(np.abs(rows - rows.mean(axis=0)), axis=0)
            refuse_constant(scale, np.abs(rows).max(axis=0))
            rows, S = in_scale(scale, rows, S)
        Y, trace = _precondition(rows, preconditioner)
        # The diagonal of the Stein kernel, plus twice its sum over the chosen rows.
        objective = trace + np.einsum("ij,ij->i", S, S)
        for step in range(n_points):
            check_finite(objective)
            chosen = indices[step] = int(np.argmin(objective))
            if step + 1 < n_points:
                objective += 2 * _stein_column(rows, Y, S, trace, chosen)
            line.advance()
    return indices


class SteinThinning(KeywordHints, BaseEstimator):
    """Stein thinning: the few rows of a sample that represent a model best.

    Use Stein thinning to compress a Markov chain, and to correct its bias, for example
    from a burn-in that is too short. Each step adds the row that makes the KSD between
    the chosen rows and the model smallest [1]_. A row can be chosen more than once.
    Takes O(n) time for each chosen row, and O(n) memory.

    Read more in the :ref:`User Guide <model_checking>`.

    Parameters
    ----------
    n_points : int, default=10
        Number of rows to choose.
    model : density estimator, frozen distribution, callable or None, default=None
        Model, as in :class:`skdiscrepancy.KSDEstimator`. `fit` clones and fits a
        density estimator of scikit-learn. To keep a fitted model, wrap it in a
        :class:`~sklearn.frozen.FrozenEstimator`. The model is not used if you pass
        gradients to `fit`.
    standardize : bool, default=True
        First divide each column by its mean absolute deviation.
    preconditioner : {"id", "med", "cov"}, default="id"
        Matrix of the inverse multiquadric kernel; see :func:`stein_thinning`.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.

    Attributes
    ----------
    support_ : ndarray of shape (n_points,)
        Indices of the chosen rows, in the order of their choice.
    points_ : ndarray of shape (n_points, n_features)
        The chosen rows.
    n_features_in_ : int
        Number of features seen during :term:`fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`, if all are strings.

    See Also
    --------
    stein_thinning : Chooses rows from gradients, without a model.

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

    def __init__(
        self,
        n_points: int = 10,
        model: Any = None,
        *,
        standardize: bool = True,
        preconditioner: str = "id",
        verbose: int = 0,
    ):
        self.n_points = n_points
        self.model = model
        self.standardize = standardize
        self.preconditioner = preconditioner
        self.verbose = verbose

    def fit(
        self, X: ArrayLike, y: Any = None, *, gradients: ArrayLike | None = None
    ) -> SteinThinning:
        """Choose the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : array-like of shape (n_samples,), default=None
            Target that is passed to the `fit` method of the model.
        gradients : array-like of shape (n_samples, n_features), default=None
            Gradients of the log-density at the rows of X, used instead of the model.

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
        rows: np.ndarray = check_rows(
            X, estimator=self, dtype=np.float64, ensure_min_samples=2
        )
        if gradients is None:
            gradients = gradients_at(rows, fit_model(model, rows, y)[1])
        self.support_ = stein_thinning(rows, gradients, **params)
        self.points_ = rows[self.support_]
        return self


def _check_params(
    n_points: Any, standardize: Any, preconditioner: Any, verbose: Any
) -> int:
    check_flag(standardize, "standardize")
    check_verbose(verbose)
    if preconditioner not in PRECONDITIONERS:
        raise ValueError(
            f"preconditioner == {preconditioner!r}, must be one of {PRECONDITIONERS}."
        )
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
            raise ValueError(
                "preconditioner == 'med', must be 'id' here: most rows of X are equal."
            )
        return X / median**2, d / median**2
    centred = X - X.mean(axis=0)
    covariance = centred.T @ centred / max(n - 1, 1)
    constant = np.sqrt(np.diag(covariance)) <= 1e-13 * np.abs(X).max(axis=0)
    if np.any(constant) or is_singular(covariance):
        raise ValueError(
            "preconditioner == 'cov', must be 'id' or 'med' here: the covariance of X "
            "is singular."
        )
    precision = cho_solve(cho_factor(covariance), np.eye(d))
    return X @ precision, float(np.trace(precision))


def _stein_column(
    X: np.ndarray, Y: np.ndarray, S: np.ndarray, trace: float, chosen: int
) -> np.ndarray:
    """Return the Stein kernel between all rows and a chosen row, for Y = X Gamma."""
    gaps, pulls = X - X[chosen], Y - Y[chosen]
    weight = 1 / (1 + np.einsum("ij,ij->i", gaps, pulls))
    values = np.einsum("ij,ij->i", pulls, pulls)
    values *= -3 * weight
    values += trace + np.einsum("ij,ij->i", S - S[chosen], pulls)
    values *= weight
    values += S @ S[chosen]
    return values * np.sqrt(weight)
