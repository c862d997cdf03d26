"""Does a model fit the data? Gradients of log-densities, scorers and Stein thinning."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._models.dispatch import log_density_gradient, log_density_gradient_of
from skdiscrepancy.model_checking._densities import (
    HyvarinenScorer,
    KSDScorer,
    MMDScorer,
    SteinThinning,
    neg_hyvarinen_scorer,
    neg_ksd_scorer,
    neg_mmd_scorer,
    search_compare,
    stein_thinning,
)

__all__ = [
    "HyvarinenScorer",
    "KSDScorer",
    "MMDScorer",
    "SteinThinning",
    "log_density_gradient",
    "log_density_gradient_of",
    "neg_hyvarinen_scorer",
    "neg_ksd_scorer",
    "neg_mmd_scorer",
    "search_compare",
    "stein_thinning",
]


def __dir__() -> list[str]:
    return sorted(__all__)
