"""Few rows that stand for all: the greedy choice, and thinning by MMD."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skdiscrepancy._data.arrays import take_rows
from skdiscrepancy._data.checks import check_number, declares_parameters
from skdiscrepancy._estimators.mmd import MMDEstimator
from skdiscrepancy._estimators.readers import Reader
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.run import in_one_blas_thread, progress
from skdiscrepancy._statistics.second_order import check_finite
from skdiscrepancy.kernels._names import tag_sparse


def greedy_rows(
    n_points: int,
    diagonal: np.ndarray,
    column: Callable[[int], np.ndarray],
    verbose: int,
    means: np.ndarray | None = None,
) -> np.ndarray:
    """Choose rows one by one, each with the smallest discrepancy to a distribution.

    `column` returns the kernel between all rows and one row, and `means` are its means
    over the distribution, None if they are zero, as for Stein kernels. With means, a
    row is chosen only once, and each row is exchanged for the best one at the end.
    """
    # Half of what the discrepancy of n rows changes with a row, times n^2.
    objective, indices = diagonal / 2, np.empty(n_points, dtype=np.int64)
    taken = np.zeros(len(objective), dtype=bool)
    n_steps = n_points * (1 if means is None else 2)
    with progress("points", n_steps, verbose) as line:
        for step in range(n_steps):
            i = step % n_points
            found = objective
            if means is not None:
                if step >= n_points:
                    objective -= column(indices[i])
                    taken[indices[i]] = False
                found = objective - min(step + 1, n_points) * means
                found[taken] = np.inf
            check_finite(objective)
            indices[i] = int(np.argmin(found))
            taken[indices[i]] = True
            if step + 1 < n_steps:
                objective += column(indices[i])
            line.advance()
    return indices


@declares_parameters
class MMDThinning(BaseEstimator):
    """Few rows of a sample that stand for all of its rows.

    Use it for typical rows (a coreset, prototypes). Each step adds the row that makes
    the MMD to the sample smallest, as in kernel herding [1]_. At the end, each row is
    exchanged for the best one. Takes O(n^2) time and O(n) memory.

    Read more in the :ref:`User Guide <model_checking>`.

    Parameters
    ----------
    n_points : int, default=10
        Number of rows to choose.
    kernel : str, kernel object, callable or list, default=("gaussian", "laplace")
        Kernels to average. "energy" gives support points.
    bandwidth : {"grid", "median", "dyadic"}, float or array-like, default="grid"
        Bandwidths of kernels without their own; see :ref:`kernels`.
    encoder : "auto", None or transformer, default="auto"
        How to encode tables; see :ref:`tables`.
    n_jobs : int or None, default=None
        Number of threads.
    verbose : int, default=0
        1 or more shows the percentage done and the time left.

    Attributes
    ----------
    support_ : ndarray of shape (n_points,)
        Indices of the chosen rows, all different.
    points_ : array, DataFrame or list with n_points rows
        The chosen rows, of the type of X.
    kernels_ : list of kernel objects
        Kernels with their bandwidths.
    encoder_ : transformer or None
        Fitted encoder. None for arrays.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, if all are strings.

    See Also
    --------
    SteinThinning : Represents a model.

    References
    ----------
    .. [1] Y. Chen, M. Welling and A. Smola, "Super-samples from kernel herding", UAI
       2010.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_score
    >>> from skdiscrepancy.model_checking import MMDThinning
    >>> X = np.random.RandomState(0).normal(size=(500, 2))
    >>> points = MMDThinning(20).fit(X).points_
    >>> options = {"normalize": False, "pooling": "mean", "design": "v"}
    >>> ratio = mmd_score(points, X, **options) / mmd_score(X[:20], X, **options)
    >>> bool(ratio < 0.2)
    True
    """

    n_points: int = 10
    _: KW_ONLY
    kernel: Any = ("gaussian", "laplace")
    bandwidth: Any = "grid"
    encoder: Any = "auto"
    n_jobs: int | None = None
    verbose: int = 0

    @in_one_blas_thread
    def fit(self, X: ArrayLike, y: Any = None) -> MMDThinning:
        """Choose the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sample.
        y : Ignored
            Not used.

        Returns
        -------
        self : MMDThinning
            Fitted estimator.
        """
        params = self.get_params(deep=False)
        n_points = params.pop("n_points")
        n_points = check_number(n_points, "n_points", integer=True, least=1)
        mmd = MMDEstimator(**params)
        settings = mmd._check_params()
        reader = Reader(settings.kernels, 2, self.encoder, self)
        encoder = mmd.encoder_ = reader.fit([X])
        rows = reader.rows(X, reset=True)
        if n_points > (n := len(rows)):
            must = f"must be at most {n}, the number of rows of X."
            raise ValueError(f"n_points == {n_points}, {must}")
        mmd._learn([rows], settings, X)
        core, every = gram(mmd.kernels_, rows, run=mmd._run), np.arange(n)

        def column(i: int) -> np.ndarray:
            values = core.dense(every, np.array([i]))
            return sum((v[:, 0] for _, v in values), np.zeros(n)) / core.n_kernels

        # Values that are not finite raise an error. One line shows sums and choices.
        both = progress("points", 2, self.verbose)
        with np.errstate(all="ignore"), both:
            means = check_finite(core.sums()).mean(axis=0) / n
            both.advance()
            diagonal = core.diagonal().mean(axis=0)
            chosen = greedy_rows(n_points, diagonal, column, self.verbose, means)
            both.advance()
        self.encoder_, self.kernels_, self.support_ = encoder, mmd.kernels_, chosen
        self.points_ = take_rows(X, chosen)
        return self

    def __sklearn_tags__(self) -> Any:
        return tag_sparse(super().__sklearn_tags__(), self.kernel)
