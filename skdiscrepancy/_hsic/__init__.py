"""Hilbert-Schmidt independence criterion between X and y."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._hsic._cka import CKAResult, cka_score
from skdiscrepancy._hsic._cka_estimator import CKAEstimator
from skdiscrepancy._hsic._comparison import variable_projections
from skdiscrepancy._hsic._estimator import HSICEstimator
from skdiscrepancy._hsic._params import HSICParams, HSICTestParams
from skdiscrepancy._hsic._score import hsic_score
from skdiscrepancy._hsic._statistics import (
    centring_offsets,
    complete_statistics,
    hsic_from_gram,
)

__all__ = [
    "CKAEstimator",
    "CKAResult",
    "HSICEstimator",
    "HSICParams",
    "HSICTestParams",
    "centring_offsets",
    "cka_score",
    "complete_statistics",
    "hsic_from_gram",
    "hsic_score",
    "variable_projections",
]
