"""Scores and tests of an MMDEstimator with `n_components`."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from operator import is_
from typing import Any

import numpy as np

from skdiscrepancy._data import draw_seeds, generator_of
from skdiscrepancy._engine import FeatureMaps, Weights, blocks_of, stacked_weights
from skdiscrepancy._mmd._feature_reference import FeatureReference
from skdiscrepancy._mmd._feature_statistics import feature_witness
from skdiscrepancy._nulls import Options, TestResult, feature_permutation_test
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels import KernelLike


def refuse_pairs(n_components: int | None, design: Design, *, paired: bool) -> None:
    """Refuse random features for statistics on pairs (X_i, Y_i)."""
    if n_components is not None and paired:
        raise ValueError(
            f"n_components == {n_components}, must be None for the design {design!r} "
            "on pairs (X_i, Y_i). Random features need design='u' or design='v', and "
            "second_order=False."
        )


def draw_features(estimator: Any, samples: list[np.ndarray]) -> None:
    """Draw the seed of the features of a fitted estimator, and check its kernels."""
    if estimator.n_components is None:
        return
    [estimator.feature_seed_] = draw_seeds(generator_of(estimator.random_state), 1)
    FeatureMaps(
        estimator.kernels_, estimator.n_components, estimator.feature_seed_, *samples
    )


def feature_reference(estimator: Any) -> FeatureReference:
    """Return the reference sample of an estimator, with its sums if they are valid."""
    if not hasattr(estimator, "feature_seed_"):
        raise ValueError(
            f"n_components == {estimator.n_components} was set after `fit`. Call `fit` "
            "again to draw random features."
        )
    found = FeatureReference(
        estimator.reference_,
        estimator.kernels_,
        estimator.n_components,
        estimator.feature_seed_,
        estimator.normalize,
        estimator.reference_weight_,
    )
    kept = estimator._reference
    if not isinstance(kept, FeatureReference):
        return found
    # Rows, kernels and weights are the same objects, and the features are the same.
    same = all(map(is_, kept[:2], found[:2])) and kept[2:4] == found[2:4]
    same = same and kept.weights is found.weights
    return kept._replace(scales=found.scales) if same else found


def witness_of_features(
    estimator: Any, points: np.ndarray, X: np.ndarray, Y: np.ndarray, weights: Weights
) -> np.ndarray:
    """Compute the witness function at points from random features."""
    reference = feature_reference(estimator)
    maps = FeatureMaps(
        reference.kernels, reference.n_components, reference.seed, X, Y, points
    )
    return feature_witness(
        maps,
        blocks_of(X, Y, points),
        stacked_weights(weights, (len(X), len(Y))),
        **estimator._walk_options(),
    )


def test_of_features(
    estimator: Any,
    kernels: list[KernelLike],
    X: np.ndarray,
    Y: np.ndarray,
    design: Design,
    options: Options,
) -> TestResult:
    """Test whether two samples have the same distribution, with random features."""
    generator = generator_of(estimator.random_state)
    [seed] = draw_seeds(generator, 1)
    return feature_permutation_test(
        FeatureMaps(kernels, estimator.n_components, seed, X, Y),
        blocks_of(X, Y),
        unbiased=not design.biased,
        n_resamples=options.n_resamples,
        n_groups=options.n_groups,
        generator=generator,
        pooling=options.pooling,
        kernels=kernels,
        **estimator._walk_options(),
    )
