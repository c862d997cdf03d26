"""Does a model fit the data? Gradients of log-densities, scorers and Stein thinning."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._models.dispatch import score_function, score_function_of
from skdiscrepancy.model_checking._densities import (
    HyvarinenScorer,
    KSDScorer,
    MMDScorer,
    SteinThinning,
    compare_scores,
    neg_hyvarinen_scorer,
    neg_ksd_scorer,
    neg_mmd_scorer,
    stein_thinning,
)

__all__ = [
    "HyvarinenScorer",
    "KSDScorer",
    "MMDScorer",
    "SteinThinning",
    "compare_scores",
    "neg_hyvarinen_scorer",
    "neg_ksd_scorer",
    "neg_mmd_scorer",
    "score_function",
    "score_function_of",
    "stein_thinning",
]


def __dir__() -> list[str]:
    return sorted(__all__)
