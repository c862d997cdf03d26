"""Samples as float arrays."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array


def check_rows(X: ArrayLike, name: str = "X", **options: Any) -> np.ndarray:
    """Return a sample as an array of float64, or float32 if it comes so.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sample.
    name : str, default="X"
        Name of the sample, for error messages.
    **options : dict
        Other options of :func:`sklearn.utils.check_array`.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The array that was given, if it is of such a type.
    """
    options = {"dtype": [np.float64, np.float32], **options}
    return check_array(X, input_name=name, **options)
