"""Scores and tests of a KSDEstimator with `n_components`."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

from skdiscrepancy._base import DiscrepancyResult
from skdiscrepancy._data import LazyRows, draw_seeds, generator_of, spread_rows
from skdiscrepancy._engine import ArrayBlocks, FeatureMaps, check_components
from skdiscrepancy._ksd._feature_sums import (
    SteinRows,
    stein_feature_statistics,
    stein_feature_witness,
    stein_groups,
)
from skdiscrepancy._ksd._lazy_samples import lazy_stein_blocks
from skdiscrepancy._ksd._models import in_scale
from skdiscrepancy._ksd._stein import check_squares
from skdiscrepancy._nulls import (
    Options,
    TestResult,
    means_of_groups,
    wild_test_of_groups,
)
from skdiscrepancy.designs import Design

# Number of groups of rows for the scales of samples that are drawn from the model. Each
# scale is a root of about 500 squares, so its standard error is about 3 %.
SCALE_GROUPS = 32


def check_features(n_components: Any, design: Design) -> None:
    """Check a number of random features, which need a complete design."""
    check_components(n_components)
    if n_components is not None and not design.complete:
        raise ValueError(
            f"n_components == {n_components}, must be None for the design {design!r}. "
            "Random features need design='u' or design='v'."
        )


def draw_features(estimator: Any, X: np.ndarray) -> None:
    """Draw the seed of the features of a fitted estimator, and check its kernels."""
    if estimator.n_components is None:
        return
    [estimator.feature_seed_] = draw_seeds(generator_of(estimator.random_state), 1)
    FeatureMaps(
        estimator.kernels_,
        estimator.n_components,
        estimator.feature_seed_,
        spread_rows(X)[:1],
    )


def _stein_rows(
    estimator: Any, seed: int, *samples: tuple[np.ndarray, np.ndarray]
) -> SteinRows:
    """Return samples and their gradients, with the features of the kernels."""
    if any(isinstance(X, LazyRows) for X, _ in samples):
        scaled, *blocks = lazy_stein_blocks(
            estimator.score_function_, estimator.scale_, *(X for X, _ in samples)
        )
        check_squares(estimator.kernels_, np.dtype(np.float64))
        maps = FeatureMaps(estimator.kernels_, estimator.n_components, seed, *scaled)
        return SteinRows(maps, *blocks)
    rows = [in_scale(estimator.scale_, *sample) for sample in samples]
    sets = [[sample[i] for sample in rows] for i in (0, 1)]
    check_squares(estimator.kernels_, np.dtype(np.float64))
    maps = FeatureMaps(estimator.kernels_, estimator.n_components, seed, *sets[0])
    return SteinRows(maps, ArrayBlocks(*sets[0]), ArrayBlocks(*sets[1]))


def _seed_of(estimator: Any) -> int:
    """Return the seed of the features of a fitted estimator."""
    if not hasattr(estimator, "feature_seed_"):
        raise ValueError(
            f"n_components == {estimator.n_components} was set after `fit`. Call `fit` "
            "again to draw random features."
        )
    return estimator.feature_seed_


def evaluate_features(
    estimator: Any,
    X: np.ndarray,
    gradients: np.ndarray,
    design: Design,
    weights: np.ndarray | None,
) -> DiscrepancyResult:
    """Compute the discrepancy of a sample from random features."""
    statistics = stein_feature_statistics(
        _stein_rows(estimator, _seed_of(estimator), (X, gradients)),
        weights,
        unbiased=not design.biased,
        scales=estimator.normalize,
        **estimator._walk_options(),
    )
    return estimator._result(statistics, list(estimator.kernels_))


def witness_of_features(
    estimator: Any,
    points: tuple[np.ndarray, np.ndarray],
    sample: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Compute the witness function from rows and gradients of points and a sample."""
    rows = _stein_rows(estimator, _seed_of(estimator), sample, points)
    return stein_feature_witness(rows, **estimator._walk_options())


def test_of_features(
    estimator: Any,
    X: np.ndarray,
    gradients: np.ndarray,
    options: Options,
    generator: np.random.RandomState,
) -> TestResult:
    """Test whether a sample comes from the model, with random features."""
    seed, division = draw_seeds(generator, 2)
    groups = stein_groups(
        _stein_rows(estimator, seed, (X, gradients)),
        options.n_groups,
        division,
        **estimator._walk_options(),
    )
    return wild_test_of_groups(
        groups,
        len(X),
        n_resamples=options.n_resamples,
        generator=generator,
        pooling=options.pooling,
        kernels=list(estimator.kernels_),
        verbose=estimator.verbose,
    )


def means_of_features(
    estimator: Any, X: np.ndarray, seed: int, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the U-statistics of a sample, and their scales under random signs.

    The same seed gives the same features for all samples.
    """
    rows = _stein_rows(estimator, seed, (X, estimator._gradients(X)))
    groups = stein_groups(rows, SCALE_GROUPS, seed, n_jobs=n_jobs)
    return means_of_groups(groups, len(X))
