"""Hilbert-Schmidt independence criterion between X and y."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._hsic._estimator import HSICEstimator, hsic_score
from skdiscrepancy._hsic._params import HSICParams, HSICTestParams
from skdiscrepancy._hsic._statistics import (
    centring_offsets,
    complete_statistics,
    hsic_from_gram,
)

__all__ = [
    "HSICEstimator",
    "HSICParams",
    "HSICTestParams",
    "centring_offsets",
    "complete_statistics",
    "hsic_from_gram",
    "hsic_score",
]
