"""Regression of several targets on the same columns, with held-out residuals."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._regression._cross_fitting import check_regressor, cross_fitted
from skdiscrepancy._regression._gaussian_process import (
    MAX_EXACT_ROWS,
    MAX_FIT_ROWS,
    Smoother,
    fit_gaussian_process,
    smoother_of,
)
from skdiscrepancy._regression._marginal_likelihood import (
    choose_noise_ratios,
    choose_parameters,
)
from skdiscrepancy._regression._residuals import (
    Residuals,
    residuals_of,
    variance_inflation,
)

__all__ = [
    "MAX_EXACT_ROWS",
    "MAX_FIT_ROWS",
    "Residuals",
    "Smoother",
    "check_regressor",
    "choose_noise_ratios",
    "choose_parameters",
    "cross_fitted",
    "fit_gaussian_process",
    "residuals_of",
    "smoother_of",
    "variance_inflation",
]


def __dir__() -> list[str]:
    return sorted(__all__)
