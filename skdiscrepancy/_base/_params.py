"""Parameters of the estimators, for the signatures of functions."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, TypedDict

from skdiscrepancy._data import RandomStateLike


class StatisticParams(TypedDict, total=False):
    """Parameters of every estimator that define the statistic."""

    n_bandwidths: int
    design: Any
    normalize: bool
    squared: bool
    fuse_nu: Any


class CommonParams(StatisticParams, total=False):
    """Parameters that every estimator shares with its test."""

    kernel: Any
    encoder: Any
    n_jobs: int | None
    random_state: RandomStateLike
    verbose: int


class ScoreParams(CommonParams, total=False):
    """Parameters of every estimator."""

    bandwidth: Any
    pooling: str | None
