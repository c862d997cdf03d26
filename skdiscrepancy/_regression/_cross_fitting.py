"""Cross-fitting of any regressor of scikit-learn."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict

from skdiscrepancy._data import shown

N_FOLDS = 5


def check_regressor(regressor: Any) -> None:
    """Refuse a parameter `regressor` that is not None or a regressor."""
    if regressor is None:
        return
    if isinstance(regressor, type) or not all(
        hasattr(regressor, name) for name in ("fit", "predict", "get_params")
    ):
        raise TypeError(
            f"regressor == {shown(regressor)}, must be None or a regressor with `fit` "
            "and `predict`, such as RandomForestRegressor()."
        )


def cross_fitted(
    regressor: Any, Z: np.ndarray, F: np.ndarray, generator: np.random.RandomState
) -> np.ndarray:
    """Return the targets minus the predictions of models that did not see their rows.

    Parameters
    ----------
    regressor : regressor
        Regressor for several targets. It is cloned.
    Z : ndarray of shape (n_samples, n_columns)
        Columns.
    F : ndarray of shape (n_samples, n_targets)
        Targets.
    generator : RandomState
        Draws the folds.

    Returns
    -------
    residuals : ndarray of shape (n_samples, n_targets)
        Held-out residuals.
    """
    folds = KFold(min(N_FOLDS, len(Z)), shuffle=True, random_state=generator)
    targets = F[:, 0] if F.shape[1] == 1 else F
    try:
        predicted = cross_val_predict(clone(regressor), Z, targets, cv=folds)
    except ValueError as error:
        raise ValueError(
            f"regressor == {shown(regressor)} failed on {F.shape[1]} targets, must be "
            "a regressor for several targets. Wrap a regressor for one target in "
            f"sklearn.multioutput.MultiOutputRegressor. It said: {error}"
        ) from error
    predicted = np.asarray(predicted, dtype=np.float64).reshape(len(F), -1)
    if predicted.shape != F.shape or not np.all(np.isfinite(predicted)):
        raise ValueError(
            f"regressor == {shown(regressor)} predicted an array of shape "
            f"{predicted.shape}, must predict finite numbers of shape {F.shape}."
        )
    return F - predicted
