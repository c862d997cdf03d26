"""The Stein witness function of a KSDEstimator."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data import explains_keywords
from skdiscrepancy._ksd._feature_scores import witness_of_features
from skdiscrepancy._ksd._statistics import witness_values


class WitnessMixin:
    """Methods that show where a model fits badly."""

    n_components: int | None
    _check_params: Any
    _gradients: Any
    _refuse_changed: Any
    _source: Any
    _validate: Any
    _walk_options: Any

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
        source = self._source(np.concatenate((points, X)), np.concatenate(gradients))
        return witness_values(source, len(points), len(X), **self._walk_options())
