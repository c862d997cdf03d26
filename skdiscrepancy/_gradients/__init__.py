"""Gradients of log-densities, for the models that KSD can check."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._gradients._affine import without_names
from skdiscrepancy._gradients._dispatch import (
    ScoreFunction,
    check_model,
    is_density_estimator,
    score_function,
    score_function_of,
    takes_nothing,
)
from skdiscrepancy._gradients._distributions import copyable
from skdiscrepancy._gradients._draws import can_be_drawn_from, draw_from
from skdiscrepancy._gradients._mixtures import SampleGaussianScore
from skdiscrepancy._gradients._numeric import widths

__all__ = [
    "SampleGaussianScore",
    "ScoreFunction",
    "can_be_drawn_from",
    "check_model",
    "copyable",
    "draw_from",
    "is_density_estimator",
    "score_function",
    "score_function_of",
    "takes_nothing",
    "widths",
    "without_names",
]
