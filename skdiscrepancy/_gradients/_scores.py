"""What all gradients of models share: rows are checked before, numbers after."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any

import numpy as np

from skdiscrepancy._data import check_rows


class ModelScore(metaclass=ABCMeta):
    """Gradient of the log-density of a model, as a function of rows.

    Attributes
    ----------
    n_features : int or None
        Number of variables of the density, None if the model itself checks the number.
    """

    n_features: int | None = None

    def __call__(self, X: Any) -> np.ndarray:
        """Return the gradients at the rows of X, all of them finite.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        gradients : ndarray of shape (n_samples, n_features)
            Gradients of the log-density.
        """
        X = check_rows(X)
        if self.n_features is not None and X.shape[1] != self.n_features:
            raise ValueError(
                f"X has shape {X.shape}, must have shape (n_samples, "
                f"{self.n_features}): model is a density of {self.n_features} "
                "variables."
            )
        # Numbers that are not finite are refused, without a warning before.
        with np.errstate(all="ignore"):
            gradients = self.gradients_at(X)
        finite = np.isfinite(gradients).all(axis=1)
        if not np.all(finite):
            raise ValueError(
                f"The gradients of model are not finite at {np.count_nonzero(~finite)} "
                f"of {len(X)} rows of X, the first being row {int(np.argmin(finite))}. "
                "The density is zero there, or the numbers are too large or too small "
                "for floating point. Rescale X, or remove these rows."
            )
        return gradients

    @abstractmethod
    def gradients_at(self, X: np.ndarray) -> np.ndarray:
        """Return the gradients at rows that are checked; they need not be finite."""
