"""Scores and tests of KSD that use features of Stein kernels."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

from skdiscrepancy._data.blocks import LazyRows
from skdiscrepancy._data.checks import draw_seeds
from skdiscrepancy._estimators.ksd_models import in_scale, lazy_stein_blocks
from skdiscrepancy._estimators.random_features import seed_of
from skdiscrepancy._gram.feature_maps import SteinMaps
from skdiscrepancy._gram.features import FeatureGram
from skdiscrepancy._gram.pieces import ArrayBlocks, Blocks
from skdiscrepancy._gram.run import Run
from skdiscrepancy._gram.stein import check_squares
from skdiscrepancy._nulls.groups import means_of_groups, wild_test_of_groups
from skdiscrepancy._nulls.pvalues import Options, TestResult
from skdiscrepancy._statistics.second_order import check_finite, feature_witness

# Number of groups of rows for the scales of samples that are drawn from the model. Each
# scale is a root of about 500 squares, so its standard error is about 3 %.
SCALE_GROUPS = 32


def stein_gram(
    estimator: Any,
    seed: int,
    *samples: tuple[np.ndarray, np.ndarray],
    weights: np.ndarray | None = None,
    division: int | None = None,
    run: Run | None = None,
) -> FeatureGram:
    """Return the Stein kernels on samples with their gradients, from features.

    `division` seeds random groups of rows.
    """
    run, scale = run or estimator._run, estimator.scale_
    blocks: Blocks
    if any(isinstance(X, LazyRows) for X, _ in samples):
        rows = [X for X, _ in samples]
        blocks = lazy_stein_blocks(estimator.score_function_, scale, *rows, run=run)
        scaled = rows if scale is None else [X / scale for X in rows]
    else:
        both = [in_scale(scale, *sample) for sample in samples]
        scaled = [X for X, _ in both]
        blocks = ArrayBlocks(*scaled, beside=[S for _, S in both], run=run)
    check_squares(estimator.kernels_, np.dtype(np.float64))
    maps = SteinMaps(estimator.kernels_, estimator.n_components, seed, *scaled)
    return FeatureGram(maps, blocks, [weights], seed=division)


def witness_of_features(
    estimator: Any,
    points: tuple[np.ndarray, np.ndarray],
    sample: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Compute the witness function from rows and gradients of points and a sample."""
    return feature_witness(stein_gram(estimator, seed_of(estimator), sample, points))


def stein_groups(gram: FeatureGram, n_groups: int) -> np.ndarray:
    """Sum the Stein kernel over all pairs of different rows of two random groups."""
    [n] = gram.sizes
    bounds = np.linspace(0, n, min(n, n_groups) + 1).astype(np.int64)
    return check_finite(gram.group_sums(bounds).groups)


def test_of_features(
    estimator: Any, X: np.ndarray, gradients: np.ndarray, options: Options
) -> TestResult:
    """Test whether a sample comes from the model, with random features."""
    seed, division = draw_seeds(options.generator, 2)
    gram = stein_gram(
        estimator, seed, (X, gradients), division=division, run=options.run
    )
    groups = stein_groups(gram, options.n_groups)
    return wild_test_of_groups(groups, len(X), options)


def means_of_features(
    estimator: Any, X: np.ndarray, seed: int, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the U-statistics of a sample, and their scales under random signs.

    The same seed gives the same features for all samples.
    """
    sample, run = (X, estimator._gradients(X)), Run(n_jobs)
    gram = stein_gram(estimator, seed, sample, division=seed, run=run)
    return means_of_groups(stein_groups(gram, SCALE_GROUPS), len(X))
