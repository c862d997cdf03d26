"""Parameters of functions that compare a sample with a model."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from skdiscrepancy._base import CommonParams, ScoreParams


class KSDTestParams(CommonParams, total=False):
    """Parameters of a KSDEstimator that `ksd_test` accepts, without the model."""

    standardize: bool
    n_components: int | None


class KSDParams(ScoreParams, total=False):
    """Parameters of a KSDEstimator, without the model."""

    standardize: bool
    n_components: int | None
