"""Does a model fit the data? Gradients of log-densities, scorers and Stein thinning."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._data.checks import make_public
from skdiscrepancy._models.dispatch import (
    log_density_gradient as log_density_gradient,
    log_density_gradient_of as log_density_gradient_of,
)
from skdiscrepancy.model_checking._densities import (
    HyvarinenScorer as HyvarinenScorer,
    KSDScorer as KSDScorer,
    MMDScorer as MMDScorer,
    SteinThinning as SteinThinning,
    neg_hyvarinen_scorer as neg_hyvarinen_scorer,
    neg_ksd_scorer as neg_ksd_scorer,
    neg_mmd_scorer as neg_mmd_scorer,
    search_compare as search_compare,
    stein_thinning as stein_thinning,
)
from skdiscrepancy.model_checking._thinning import MMDThinning as MMDThinning

make_public(__name__)
