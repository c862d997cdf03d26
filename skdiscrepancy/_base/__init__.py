"""What the three estimators share: parameters, results, and their uncertainty."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._base._comparison import (
    ComparisonResult,
    check_names,
    holm,
    step_down,
)
from skdiscrepancy._base._estimators import (
    BaseDiscrepancy,
    Normal,
    Settings,
    Statistics,
    check_finite,
    check_gram,
    collection_of,
    one_statistic,
    second_order_noise,
    second_order_statistics,
    too_few_rows,
    warn_left_out,
    warn_unused,
)
from skdiscrepancy._base._noise import (
    LEAST_ROWS,
    NO_FEATURE_ERRORS,
    NO_WEIGHTED_ERRORS,
    doubly_centred,
    noise_of,
    noise_rows,
    one_sample_noise,
    two_sample_noise,
)
from skdiscrepancy._base._params import CommonParams, ScoreParams, StatisticParams
from skdiscrepancy._base._projections import (
    QUADRATIC_ROWS,
    Projections,
    one_sample_projections,
)
from skdiscrepancy._base._result import DiscrepancyResult, check_level, effect_size
from skdiscrepancy._base._uncertainty import Noise, NormalUncertainty, Uncertainty

__all__ = [
    "LEAST_ROWS",
    "NO_FEATURE_ERRORS",
    "NO_WEIGHTED_ERRORS",
    "QUADRATIC_ROWS",
    "BaseDiscrepancy",
    "CommonParams",
    "ComparisonResult",
    "DiscrepancyResult",
    "Noise",
    "Normal",
    "NormalUncertainty",
    "Projections",
    "ScoreParams",
    "Settings",
    "StatisticParams",
    "Statistics",
    "Uncertainty",
    "check_finite",
    "check_gram",
    "check_level",
    "check_names",
    "collection_of",
    "doubly_centred",
    "effect_size",
    "holm",
    "noise_of",
    "noise_rows",
    "one_sample_noise",
    "one_sample_projections",
    "one_statistic",
    "second_order_noise",
    "second_order_statistics",
    "step_down",
    "too_few_rows",
    "two_sample_noise",
    "warn_left_out",
    "warn_unused",
]
