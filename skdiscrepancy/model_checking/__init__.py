"""Does this model fit these data? Gradients of log-densities, scorers and thinning."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._score_functions import score_function, score_function_of

__all__ = [
    "score_function",
    "score_function_of",
]
