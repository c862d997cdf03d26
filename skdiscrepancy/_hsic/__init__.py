"""Hilbert-Schmidt independence criterion between X and y."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._hsic._cka import CKAResult, cka_score
from skdiscrepancy._hsic._cka_estimator import CKAEstimator
from skdiscrepancy._hsic._cka_terms import (
    alignments,
    check_cka_params,
    kernel_with_bandwidth,
)
from skdiscrepancy._hsic._comparison import variable_projections
from skdiscrepancy._hsic._dependence_matrix import KernelColumn, dependence_matrix
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
    "KernelColumn",
    "alignments",
    "centring_offsets",
    "check_cka_params",
    "cka_score",
    "complete_statistics",
    "dependence_matrix",
    "hsic_from_gram",
    "hsic_score",
    "kernel_with_bandwidth",
    "variable_projections",
]
