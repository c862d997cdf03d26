"""Where two samples differ: the witness function, and the contribution of each row."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._base import check_finite
from skdiscrepancy._data import as_rows, explains_keywords
from skdiscrepancy._engine import (
    KeptSums,
    RowSums,
    kernel_source,
    two_sample_sums,
    walk,
)
from skdiscrepancy._mmd._feature_reference import FeatureReference
from skdiscrepancy._mmd._feature_scores import witness_of_features
from skdiscrepancy._mmd._reference import Reference
from skdiscrepancy._mmd._samples import reference_rows
from skdiscrepancy.designs import Region
from skdiscrepancy.kernels import IndicatorKernel, KernelLike


def witness_values(
    kernels: list[KernelLike],
    points: np.ndarray,
    X: np.ndarray,
    Y: np.ndarray,
    **walk_options: Any,
) -> np.ndarray:
    """Compute the witness function at points, for the mean of several kernels.

    f(t) = mean_j k(t, y_j) - mean_i k(t, x_i), in O(n_points (m + n)) time.

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
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    values : ndarray of shape (n_points,)
        Values of f.
    """
    _refuse_balanced(kernels)
    p, m, n = len(points), len(X), len(Y)
    (to_x, _), (to_y, _) = walk(
        [Region(0, p, p, p + m), Region(0, p, p + m, p + m + n)],
        RowSums(kernel_source(kernels, points, X, Y)),
        **walk_options,
    )
    return check_finite(np.mean(to_y / n - to_x / m, axis=0))


def row_contributions(
    kernels: list[KernelLike],
    X: np.ndarray,
    Y: np.ndarray,
    kept: KeptSums | None = None,
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
        _contributions,
        diagonal=True,
        keep_order=True,
        kept=kept,
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
    for kernel in kernels:
        if isinstance(kernel, IndicatorKernel) and kernel.balanced:
            raise ValueError(
                f"kernel == {kernel!r}, must not be balanced for a witness function, "
                "because its values would change with the number of points."
            )


class WitnessMixin:
    """Methods of an estimator that show where a sample differs from the reference."""

    n_components: int | None
    kernels_: list[KernelLike]
    _learnt_from: dict[str, Any]
    _check_params: Callable[..., Any]
    _known_reference: Callable[[], Reference | FeatureReference]
    _validate: Callable[..., np.ndarray]
    _walk_options: Callable[[], dict[str, Any]]
    _refuse_changed: Callable[[], None]

    @explains_keywords
    def witness(self, points: ArrayLike, Y: ArrayLike) -> np.ndarray:
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
        return self._witness(points, Y)

    def _witness(self, points: np.ndarray, Y: np.ndarray) -> np.ndarray:
        self._refuse_changed()
        if self.n_components is not None:
            _refuse_balanced(self.kernels_)
            return witness_of_features(self, points, reference_rows(self), Y)
        return witness_values(
            self.kernels_, points, reference_rows(self), Y, **self._walk_options()
        )

    @explains_keywords
    def contributions(self, Y: ArrayLike) -> np.ndarray:
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
        reference = self._known_reference()
        if isinstance(reference, FeatureReference):
            return reference.contributions(Y, **self._walk_options())
        return row_contributions(
            reference.kernels,
            as_rows(reference.rows),
            Y,
            kept=reference.sums,
            **self._walk_options(),
        )
