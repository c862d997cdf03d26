"""Kernel Stein discrepancy between a model and a sample."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._ksd._comparison import model_projections
from skdiscrepancy._ksd._estimator import KSDEstimator
from skdiscrepancy._ksd._models import (
    as_given,
    check_differentiable,
    check_gradients,
    fit_model,
    freeze,
    gradients_at,
)
from skdiscrepancy._ksd._params import KSDParams, KSDTestParams
from skdiscrepancy._ksd._score import ksd_score
from skdiscrepancy._ksd._signs import stein_options, stein_test, with_block_length
from skdiscrepancy._ksd._statistics import ksd_from_gram

__all__ = [
    "KSDEstimator",
    "KSDParams",
    "KSDTestParams",
    "as_given",
    "check_differentiable",
    "check_gradients",
    "fit_model",
    "freeze",
    "gradients_at",
    "ksd_from_gram",
    "ksd_score",
    "model_projections",
    "stein_options",
    "stein_test",
    "with_block_length",
]
