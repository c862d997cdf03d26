"""Scores and tests of an HSICEstimator with `n_components`."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from skdiscrepancy._base import DiscrepancyResult
from skdiscrepancy._data import LazyRows, draw_seeds, generator_of, is_on_disk
from skdiscrepancy._engine import (
    ArrayBlocks,
    FeatureMaps,
    FeatureSide,
    paired_blocks,
    piece_rows,
)
from skdiscrepancy._hsic._feature_statistics import feature_statistics
from skdiscrepancy._hsic._independence_test import check_enough
from skdiscrepancy._hsic._lazy_samples import pair_of_rows
from skdiscrepancy._nulls import (
    Options,
    TestResult,
    feature_shift_test,
    feature_window_test,
    window_length,
    windows,
)
from skdiscrepancy.designs import Design


def refuse_pairs(n_components: int | None, design: Design, second_order: bool) -> None:
    """Refuse random features for statistics on pairs of rows i and i + N/2."""
    if n_components is not None and (second_order or not design.complete):
        raise ValueError(
            f"n_components == {n_components}, must be None for the design {design!r} "
            "on the rows i and i + N/2. Random features need design='u' or design='v', "
            "and second_order=False."
        )


def draw_features(estimator: Any, X: np.ndarray, y: np.ndarray) -> None:
    """Draw the seed of the features of a fitted estimator, and check its kernels."""
    if estimator.n_components is None:
        return
    [estimator.feature_seed_] = draw_seeds(generator_of(estimator.random_state), 1)
    _maps(estimator, X, y)


def _maps(estimator: Any, X: np.ndarray, y: np.ndarray) -> list[FeatureMaps]:
    """Return the features of the kernels on X and on y."""
    if not hasattr(estimator, "feature_seed_"):
        raise ValueError(
            f"n_components == {estimator.n_components} was set after `fit`. Call `fit` "
            "again to draw random features."
        )
    size, seed = estimator.n_components, estimator.feature_seed_
    # Frequencies of X and y must be independent.
    return [
        FeatureMaps(estimator.kernels_, size, seed, X),
        FeatureMaps(estimator.target_kernels_, size, seed + 1, y),
    ]


def _sides(
    estimator: Any, X: Any, y: Any, step: int
) -> tuple[FeatureSide, FeatureSide] | None:
    """Return the features of both sides, or None if all kernels have exact features."""
    maps = _maps(estimator, X, y)
    seed = estimator.feature_seed_
    if isinstance(X, LazyRows):
        # Exact kernels need all rows in memory.
        blocks = paired_blocks(X, y)
        return (
            FeatureSide(maps[0], blocks[0], seed, X.some),
            FeatureSide(maps[1], blocks[1], seed + 1, y.some),
        )
    if not any(own.is_random for own in maps):
        return None
    return (
        FeatureSide(maps[0], ArrayBlocks(X, step=step), seed),
        FeatureSide(maps[1], ArrayBlocks(y, step=step), seed + 1),
    )


def evaluate_features(
    estimator: Any, X: np.ndarray, y: np.ndarray, design: Design
) -> DiscrepancyResult | None:
    """Compute the dependence from random features, None if no features are random."""
    sides = _sides(estimator, X, y, piece_rows(X.shape[1] + y.shape[1]))
    if sides is None:
        return None
    statistics = feature_statistics(
        *sides,
        unbiased=not design.biased,
        scales=estimator.normalize,
        **estimator._walk_options(),
    )
    return estimator._result(statistics, estimator._pairs())


def without_errors(result: DiscrepancyResult) -> DiscrepancyResult:
    """Return a result of exact features, which have no random errors."""
    return replace(result, feature_errors=np.zeros_like(result.statistics))


def test_of_features(
    estimator: Any, X: np.ndarray, y: np.ndarray, options: Options
) -> TestResult | None:
    """Test whether X and y are independent, None if no features are random."""
    n, generator = len(X), generator_of(estimator.random_state)
    check_enough(n)
    if options.method == "shift":
        return _test_of_series(estimator, X, y, options)
    if is_on_disk(X):
        # A random order of all rows would be a copy in memory.
        X, y = pair_of_rows(X, y, 4)
    elif not isinstance(X, LazyRows):
        order = generator.permutation(n)
        X, y = X[order], y[order]
    sides = _sides(estimator, X, y, piece_rows(X.shape[1] + y.shape[1]))
    if sides is None:
        return None
    [seed] = draw_seeds(generator, 1)
    return feature_window_test(
        *sides,
        n_resamples=options.n_resamples,
        generator=generator,
        seed=seed,
        pooling=options.pooling,
        kernels=estimator._pairs(),
        **estimator._walk_options(),
    )


def _test_of_series(
    estimator: Any, X: Any, y: Any, options: Options
) -> TestResult | None:
    """Test whether two series are independent, by shifts that keep their order."""
    if isinstance(X, LazyRows):
        raise ValueError(
            "method == 'shift', must be 'permutation' if X or y is read by blocks, "
            "because rows of different blocks are never in one place."
        )
    n = len(X)
    length = window_length(n, options.n_resamples)
    order = windows(n, length)
    step = max(1, piece_rows(X.shape[1] + y.shape[1]) // length) * length
    sides = _sides(estimator, X[order], y[order], step)
    if sides is None:
        return None
    return feature_shift_test(
        *sides,
        length,
        pooling=options.pooling,
        kernels=estimator._pairs(),
        **estimator._walk_options(),
    )
