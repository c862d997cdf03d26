"""Parameters of functions that measure dependence."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

from skdiscrepancy._base import CommonParams, ScoreParams


class HSICTestParams(CommonParams, total=False):
    """Parameters of an HSICEstimator that `hsic_test` accepts."""

    target_kernel: Any
    second_order: bool
    n_components: int | None


class HSICParams(ScoreParams, total=False):
    """Parameters of an HSICEstimator."""

    target_kernel: Any
    target_bandwidth: Any
    second_order: bool
    n_components: int | None
