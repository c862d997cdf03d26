"""The discrepancy of a sample to the reference sample, with its standard error."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from functools import partial
from typing import Any

from skdiscrepancy._base import DiscrepancyResult
from skdiscrepancy.designs import Design


def evaluate_sample(
    estimator: Any, Y: Any, design: Design, *, errors: bool = False
) -> DiscrepancyResult:
    """Compare a validated sample with the reference sample of a fitted estimator.

    `errors` says whether the result has a standard error.
    """
    reference = estimator._known_reference()
    options = {"paired": estimator._is_paired(design), **estimator._walk_options()}
    statistics = reference.statistics(
        Y, design, random_state=estimator.random_state, **options
    )
    result = estimator._result(statistics, list(estimator.kernels_))
    if not errors:
        return result
    noise = partial(reference.noise, Y, design, **options)
    return estimator._with_uncertainty(result, statistics, design, noise)
