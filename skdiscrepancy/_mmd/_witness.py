"""Where two samples differ: the witness function, and the contribution of each row."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._base import check_finite
from skdiscrepancy._data import as_rows, check_weights, explains_keywords
from skdiscrepancy._engine import (
    KeptSums,
    RowSums,
    Weights,
    kernel_source,
    stacked_weights,
    two_sample_sums,
    walk,
)
from skdiscrepancy._mmd._feature_reference import FeatureReference
from skdiscrepancy._mmd._feature_scores import witness_of_features
from skdiscrepancy._mmd._reference import Reference
from skdiscrepancy._mmd._samples import reference_rows
from skdiscrepancy._mmd._weighted import weighted_contributions
from skdiscrepancy.designs import Region
from skdiscrepancy.kernels import KernelLike, refuse_balanced


def witness_values(
    kernels: list[KernelLike],
    points: np.ndarray,
    X: np.ndarray,
    Y: np.ndarray,
    weights: Weights = (None, None),
    **walk_options: Any,
) -> np.ndarray:
    """Compute the witness function at points, for the mean of several kernels.

    f(t) = mean_j k(t, y_j) - mean_i k(t, x_i), in O(n_points (m + n)) time. The means
    are weighted if the samples have weights.

    Parameters
    ----------
    kernels : list of kernel objects
        Each with one number as bandwidth.
    points : ndarray of shape (n_points, n_features)
        Points at which to evaluate the function.
    X : ndarray of shape (m, n_features)
        First sample.
    Y : ndarray of shape (n, n_features)
        Second sample.
    weights : pair of ndarray or None, default=(None, None)
        Weights of both samples that sum to one, None for equal weights.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    values : ndarray of shape (n_points,)
        Values of f.
    """
    _refuse_balanced(kernels)
    p, m, n = len(points), len(X), len(Y)
    stacked = stacked_weights(weights, (m, n))
    if stacked is not None:
        # The sums of the columns are not needed.
        stacked, m, n = np.concatenate((np.zeros(p), stacked)), 1, 1
    (to_x, _), (to_y, _) = walk(
        [Region(0, p, p, p + len(X)), Region(0, p, p + len(X), p + len(X) + len(Y))],
        RowSums(kernel_source(kernels, points, X, Y), weights=stacked),
        **walk_options,
    )
    return check_finite(np.mean(to_y / n - to_x / m, axis=0))


def row_contributions(
    kernels: list[KernelLike],
    X: np.ndarray,
    Y: np.ndarray,
    kept: KeptSums | None = None,
    weights: Weights | None = None,
    **walk_options: Any,
) -> np.ndarray:
    """Compute the contribution of each row of Y to MMD, for the mean of kernels.

    c_j = mean_j' k(y_j, y_j') - 2 mean_i k(x_i, y_j) + mean_ii' k(x_i, x_i'). The mean
    of all c_j is the V-statistic. Takes O((m + n)^2) time, or O(m n + n^2) if the sums
    within X are known. Sums of one column in sorted order take O((m + n) log(m + n)).

    Parameters
    ----------
    kernels : list of kernel objects
        Each with one number as bandwidth.
    X : ndarray of shape (m, n_features)
        First sample.
    Y : ndarray of shape (n, n_features)
        Second sample.
    kept : KeptSums or None, default=None
        Sums within X, if they are known.
    weights : pair of ndarray or None, default=None
        Weights of the rows of X and of Y. Means are weighted means then.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    contributions : ndarray of shape (n,)
        Values of c.
    """
    m, n = len(X), len(Y)
    parts = two_sample_sums(
        kernel_source(kernels, X, Y, reference=True),
        m,
        n,
        _contributions if weights is None else weighted_contributions,
        diagonal=True,
        keep_order=True,
        kept=kept,
        weights=weights,
        **walk_options,
    )
    values = np.zeros(n)
    for part in parts:
        values += part.result
    return check_finite(values / len(kernels))


def _contributions(
    within_x: np.ndarray, within_y: np.ndarray, cross_x: np.ndarray, cross_y: np.ndarray
) -> np.ndarray:
    """Return the contributions of Y from row sums, summed over kernels."""
    m, n = within_x.shape[1], within_y.shape[1]
    level = within_x.mean(axis=1, keepdims=True) / m
    return np.sum(within_y / n - 2 * cross_y / m + level, axis=0)


def _refuse_balanced(kernels: list[KernelLike]) -> None:
    refuse_balanced(
        kernels,
        "for a witness function, because its values would change with the number of "
        "points",
    )


class WitnessMixin:
    """Methods of an estimator that show where a sample differs from the reference."""

    n_components: int | None
    kernels_: list[KernelLike]
    reference_weight_: np.ndarray | None
    _check_params: Callable[..., Any]
    _known_reference: Callable[[], Reference | FeatureReference]
    _validate: Callable[..., np.ndarray]
    _walk_options: Callable[[], dict[str, Any]]
    _refuse_changed: Callable[[], None]

    @explains_keywords
    def witness(
        self, points: ArrayLike, Y: ArrayLike, *, sample_weight: Any = None
    ) -> np.ndarray:
        r"""Compute the witness function, which shows where two samples differ.

        The witness function is positive where the sample has more mass than the
        reference sample, and negative where it has less. For the reference x and the
        sample y, :math:`f(t) = \frac1n \sum_j k(t, y_j) - \frac1m \sum_i k(t, x_i)`
        [1]_, where k is the mean of `kernels_`. The parameters `design`, `normalize`
        and `pooling` have no effect. Takes O(p (m + n)) time and O(p + m + n) memory
        for p points.

        Parameters
        ----------
        points : {array-like, sparse matrix} of shape (n_points, n_features)
            Points at which to evaluate the function.
        Y : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sample to compare with the reference sample.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows of Y. The means of f are then weighted means. The mean
            over the reference sample has the weights that were passed to `fit`.

        Returns
        -------
        values : ndarray of shape (n_points,)
            Values of f, float64.

        See Also
        --------
        skdiscrepancy.plotting.WitnessDisplay : Draws the function.

        References
        ----------
        .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.

        Examples
        --------
        >>> import numpy as np
        >>> from skdiscrepancy import MMDEstimator
        >>> X = np.random.RandomState(0).normal(size=(100, 1))
        >>> values = MMDEstimator().fit(X).witness([[-1.0], [2.0]], X + 1.0)
        >>> values.round(2).tolist()
        [-0.19, 0.18]
        """
        check_is_fitted(self)
        self._check_params()
        points = self._validate(points, self.kernels_, reset=False, least=1)
        Y = self._validate(Y, self.kernels_, reset=False, least=1)
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, len(Y), 1)
        return self._witness(points, Y, weights)

    def _witness(
        self, points: np.ndarray, Y: np.ndarray, weights: np.ndarray | None = None
    ) -> np.ndarray:
        self._refuse_changed()
        of_both = self.reference_weight_, weights
        if self.n_components is not None:
            _refuse_balanced(self.kernels_)
            return witness_of_features(self, points, reference_rows(self), Y, of_both)
        return witness_values(
            self.kernels_,
            points,
            reference_rows(self),
            Y,
            of_both,
            **self._walk_options(),
        )

    @explains_keywords
    def contributions(self, Y: ArrayLike, *, sample_weight: Any = None) -> np.ndarray:
        r"""Compute how much each row of a sample adds to the discrepancy.

        Rows with large contributions are unlike the reference sample. For the reference
        x, the sample y and the mean k of `kernels_`, the contribution of row j is
        :math:`c_j = \frac1n \sum_{j'} k(y_j, y_{j'}) - \frac2m \sum_i k(x_i, y_j)
        + \frac1{m^2} \sum_{i, i'} k(x_i, x_{i'})`. The mean contribution is the score
        of an estimator with ``design="v", normalize=False, pooling="mean"``. Takes the
        time and memory of `score` with a complete design.

        Parameters
        ----------
        Y : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sample to compare with the reference sample.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows of Y. The sums over rows, and the mean contribution, are
            then weighted means, also over the reference sample if `fit` had weights. A
            row of weight 0 has a contribution too, but adds nothing to the mean.

        Returns
        -------
        contributions : ndarray of shape (n_samples,)
            Values of c, float64.

        References
        ----------
        .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.

        Examples
        --------
        >>> import numpy as np
        >>> from skdiscrepancy import MMDEstimator
        >>> X = np.random.RandomState(0).normal(size=(200, 2))
        >>> Y = X[100:].copy()
        >>> Y[7] += 5
        >>> int(MMDEstimator().fit(X[:100]).contributions(Y).argmax())
        7
        """
        check_is_fitted(self)
        self._check_params()
        Y = self._validate(Y, self.kernels_, reset=False, least=1)
        reference, weights = self._known_reference(), None
        if sample_weight is not None:
            _refuse_balanced(self.kernels_)
            weights = check_weights(sample_weight, len(Y), 1)
        if isinstance(reference, FeatureReference):
            return reference.contributions(Y, weights, **self._walk_options())
        return row_contributions(
            reference.kernels,
            as_rows(reference.rows),
            Y,
            kept=reference.sums,
            weights=reference.of_both(weights),
            **self._walk_options(),
        )
