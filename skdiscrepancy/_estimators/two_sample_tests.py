"""The MMD test of two samples, and its effect size."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from skdiscrepancy._data.checks import draw_seeds
from skdiscrepancy._estimators.base import Settings, collection_of
from skdiscrepancy._estimators.random_features import features_of
from skdiscrepancy._gram.feature_maps import FeatureMaps
from skdiscrepancy._gram.features import FeatureGram
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.pieces import blocks_of
from skdiscrepancy._gram.run import Run, in_one_blas_thread
from skdiscrepancy._gram.two_sample_sums import TwoSamples, Weights
from skdiscrepancy._nulls.groups import (
    block_permutation_test,
    block_sign_test,
    one_sample_test,
    permutation_test,
)
from skdiscrepancy._nulls.pvalues import Options, TestResult
from skdiscrepancy._nulls.row_order import columns_of, warn_if_dependent
from skdiscrepancy._statistics.evaluations import DiscrepancyResult
from skdiscrepancy._statistics.noise import (
    LEAST_ROWS,
    Uncertainty,
    noise_rows,
    sample_noise,
)
from skdiscrepancy._statistics.second_order import (
    feature_witness,
    paired_size,
    two_sample_statistics,
)
from skdiscrepancy.bandwidths import build_collection
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels._base import KernelLike, resolve_columns
from skdiscrepancy.kernels._radial import RadialKernel
from skdiscrepancy.pooling import normalize_statistics

# An effect size uses all rows up to this number, and then the fraction of the rows, in
# each sample, so that it takes little of the time of a test.
ALL_ROWS, FRACTION = 300, 0.4
# Rows of both samples for the noise of the effect size.
NOISE_ROWS = 200
# About this many rows give the scales of kernels that have features.
EXAMPLES = 1024


def choose_kernels(
    estimator: Any,
    samples: list[Any],
    kernels: list[KernelLike],
    table: Any,
    *,
    effect: bool,
) -> tuple[list[KernelLike], KernelLike | None]:
    """Return the kernels of a test, and the kernel of its effect size.

    The effect size uses the first kernel. Its bandwidth is the median distance, or the
    middle of the bandwidths if they are numbers. `table` is the layout of the columns,
    for kernels on some columns.
    """
    if not effect:
        return collection_of(estimator, samples, kernels, table), None
    first, bandwidth, n_features = kernels[0], estimator.bandwidth, samples[0].shape[1]
    by_rule = isinstance(bandwidth, str)
    if (
        by_rule
        and isinstance(first, RadialKernel)
        and first.bandwidth is None
        and first.is_definite(n_features)
    ):
        # One list of distances gives the bandwidths of the test and their median.
        median = clone(first).set_params(bandwidth="median")
        kernels = [*kernels, median]
        *found, last = collection_of(estimator, samples, kernels, table)
        return found, last
    found = collection_of(estimator, samples, kernels, table)
    if len(found) == 1:
        return found, found[0]
    members = build_collection(
        samples,
        resolve_columns([first], table, n_features),
        "median" if by_rule else bandwidth,
        1,
        "bandwidth",
    )
    return found, members[len(members) // 2]


@in_one_blas_thread
def effect_of(kernel: KernelLike, X: Any, Y: Any, run: Run) -> DiscrepancyResult | None:
    """Compute the normalised unbiased MMD of one kernel, with its uncertainty.

    None if a scale of zero, as of constant samples, or numbers that are not finite
    leave no effect size.
    """
    both = TwoSamples(gram([kernel], X, Y, run=run))
    found = two_sample_statistics(both, unbiased=True)
    values, scales = found.values, found.scales
    if not np.all(np.isfinite([values, scales, found.sizes])):
        return None
    if scales[0] <= found.rounding[0]:
        return None
    [value] = normalize_statistics(values, scales, rounding=found.rounding)
    with np.errstate(all="ignore"):
        noise = sample_noise(
            both.gram, both.measures, found, normalize=True, most=NOISE_ROWS
        )
    uncertainty = Uncertainty(float(value), noise, normalized=True)
    if not np.isfinite(uncertainty.interval(0.95)).all():
        return None
    return DiscrepancyResult(
        float(value), values, scales, [kernel], "MMD", uncertainty=uncertainty
    )


def _some_rows(Z: Any) -> Any:
    """Return a copy of all rows of a small sample, and of some of a large sample."""
    most = max(ALL_ROWS, int(np.ceil(FRACTION * len(Z))))
    return Z[noise_rows(len(Z), most=most)]


def witness_of_features(
    estimator: Any, points: np.ndarray, X: np.ndarray, Y: np.ndarray, weights: Weights
) -> np.ndarray:
    """Compute the witness function at points from random features."""
    [maps] = features_of(estimator, (estimator.kernels_, [X, Y, points]))
    blocks = blocks_of(X, Y, points, run=estimator._run)
    return feature_witness(FeatureGram(maps, blocks, weights))


def test_of_features(
    estimator: Any, X: np.ndarray, Y: np.ndarray, design: Design, options: Options
) -> TestResult:
    """Test whether two samples have the same distribution, with random features."""
    seed, division = draw_seeds(options.generator, 2)
    maps = FeatureMaps(options.kernels, estimator.n_components, seed, X, Y)
    blocks = blocks_of(X, Y, run=options.run)
    core: Any = FeatureGram(maps, blocks, seed=division, n_examples=EXAMPLES)
    sizes, unbiased = [len(X), len(Y)], not design.biased
    return permutation_test(core, sizes, options, unbiased=unbiased)


@in_one_blas_thread
def test_samples(
    estimator: Any, X: Any, Y: Any, settings: Settings, table: Any, *, effect: bool
) -> TestResult:
    """Test two validated samples with bandwidths from both.

    `effect` tells whether the result has an effect size, if the test has one.
    """
    design, options, paired = settings.design, settings.options, settings.paired
    on_pairs = paired or estimator._is_paired(design)
    if paired and len(X) != len(Y):
        raise ValueError(
            f"paired == True, must be False for samples of different sizes, {len(X)} "
            f"and {len(Y)} rows. In paired samples, row i of both samples belongs to "
            "the same subject."
        )
    if not on_pairs and min(len(X), len(Y)) < 2:
        raise ValueError(
            f"n_samples == {min(len(X), len(Y))}, must be >= 2 for an MMD test."
        )
    # Effect sizes need independent rows, and intervals need exact kernels.
    effect = effect and not on_pairs and estimator.n_components is None
    effect = effect and not options.wants_blocks
    kernels, kernel = choose_kernels(
        estimator, [X, Y], settings.kernels, table, effect=effect
    )
    columns = [columns_of(Z, kernels, all_rows=options.wants_blocks) for Z in (X, Y)]
    if on_pairs:
        columns = [differences(*columns)]
    least = min(len(X), len(Y))
    options = options.with_block_length(least, warn_if_dependent, *columns)
    options = options.ready(kernels, estimator.random_state, estimator._run)
    if estimator.n_components is not None:
        return test_of_features(estimator, X, Y, design, options)
    result = two_sample_test(X, Y, design, options, paired=on_pairs, by_groups=paired)
    if kernel is None or least < LEAST_ROWS:
        return result
    # Copies, because users may change their data before they ask for the effect.
    some = _some_rows(X), _some_rows(Y)
    later = partial(effect_of, kernel, *some, Run(estimator.n_jobs))
    return replace(result, _effect=later)


def refuse_other_order(X: Any, Y: Any) -> None:
    """Refuse paired tables whose indices hold the same labels in another order."""
    if not all(hasattr(getattr(Z, "index", None), "isin") for Z in (X, Y)):
        return
    first, second = X.index, Y.index
    if len(first) != len(second) or first.equals(second):
        return
    if first.isin(second).all() and second.isin(first).all():
        raise ValueError(
            "X and Y have the same labels in their indices, but in another order. With "
            "paired == True, row i of both samples must belong to the same subject. "
            "Pass Y.loc[X.index], or call reset_index(drop=True) on both tables."
        )


def differences(x: np.ndarray | None, y: np.ndarray | None) -> np.ndarray | None:
    """Return the differences of pairs: of their columns, and of squared columns."""
    if x is None or y is None:
        return None
    size = min(len(x), len(y))
    x, y = x[:size].astype(np.float64), y[:size].astype(np.float64)
    with np.errstate(all="ignore"):
        differences = x - y
        squares = differences * ((x - x.mean(axis=0)) + (y - x.mean(axis=0)))
    columns = np.concatenate((differences, squares), axis=1)
    return columns[:, np.isfinite(columns).all(axis=0)]


def two_sample_test(
    X: np.ndarray,
    Y: np.ndarray,
    design: Design,
    options: Options,
    *,
    paired: bool,
    by_groups: bool = False,
) -> TestResult:
    """Test whether two samples have the same distribution.

    If `paired`, the core on pairs (X_i, Y_i) is used. For complete designs, `by_groups`
    swaps groups of pairs if there are more pairs than groups.
    """
    generator, in_series = options.generator, options.block_length is not None
    run = options.run
    if not paired and in_series:
        both = gram(options.kernels, X, Y, run=run)
        return block_permutation_test(both, len(X), options)
    if not paired:
        # Groups must hold random rows, because neighbouring rows may be similar.
        X, Y = (Z[generator.permutation(len(Z))] for Z in (X, Y))
        both = gram(options.kernels, X, Y, run=run)
        sizes, unbiased = [len(X), len(Y)], not design.biased
        return permutation_test(both, sizes, options, unbiased=unbiased)
    size = paired_size(len(X), len(Y), design)
    by_groups = design.complete and (in_series or by_groups)
    order = np.arange(size)
    if by_groups and not in_series:
        # Groups must hold random pairs, and blocks neighbouring pairs.
        order = generator.permutation(size)
    core = gram(options.kernels, X[order], Y[order], run=run).paired()
    if by_groups:
        return block_sign_test(core, options)
    return one_sample_test(core, design, options)
