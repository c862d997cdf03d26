"""Parameters of functions that compare two samples."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from skdiscrepancy._base import CommonParams, ScoreParams


class MMDTestParams(CommonParams, total=False):
    """Parameters of an MMDEstimator that `mmd_test` accepts."""

    second_order: bool
    n_components: int | None


class MMDParams(ScoreParams, total=False):
    """Parameters of an MMDEstimator."""

    second_order: bool
    n_components: int | None
