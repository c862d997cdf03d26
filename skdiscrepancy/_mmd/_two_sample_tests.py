"""The MMD test of two samples."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from skdiscrepancy._base import Settings
from skdiscrepancy._data import RandomStateLike, draw_seeds, generator_of
from skdiscrepancy._engine import (
    PairedSource,
    RowSums,
    in_one_blas_thread,
    kernel_source,
)
from skdiscrepancy._mmd._effect import choose_kernels, effect_of
from skdiscrepancy._mmd._feature_scores import test_of_features
from skdiscrepancy._mmd._statistics import paired_size
from skdiscrepancy._nulls import (
    Options,
    TestResult,
    block_permutation_test,
    block_sign_test,
    columns_of,
    one_sample_test,
    permutation_test,
    rows_of_blocks,
    warn_if_dependent,
)
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels import KernelLike


@in_one_blas_thread
def test_samples(
    estimator: Any,
    X: Any,
    Y: Any,
    settings: Settings,
    options: Options,
    *,
    bandwidth: Any,
    table: Any,
    paired: bool,
    effect: bool,
) -> TestResult:
    """Test two samples with bandwidths from both.

    Parameters
    ----------
    estimator : MMDEstimator
        Estimator with checked parameters.
    X, Y : ndarray or rows that are read by blocks
        Validated samples.
    settings : Settings
        Checked parameters of the estimator.
    options : Options
        Options of the test.
    bandwidth : object
        Rule for the bandwidths, or numbers.
    table : object
        Layout of the columns, for kernels on some columns.
    paired : bool
        Whether row i of Y belongs to row i of X.
    effect : bool
        Whether the result has an effect size, if the test has one.

    Returns
    -------
    result : TestResult
        Result.
    """
    design = settings.design
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
    effect = effect and options.block_length in (None, 1)
    kernels, kernel = choose_kernels(
        estimator, [X, Y], settings.kernels, bandwidth, table=table, effect=effect
    )
    options = _with_block_length(options, kernels, X, Y, paired=on_pairs)
    if estimator.n_components is not None:
        return test_of_features(estimator, kernels, X, Y, design, options)
    result = two_sample_test(
        kernels,
        X,
        Y,
        design,
        options,
        paired=on_pairs,
        by_groups=paired,
        random_state=estimator.random_state,
        **estimator._walk_options(),
    )
    return replace(result, effect=effect_of(kernel, X, Y, n_jobs=estimator.n_jobs))


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


def _with_block_length(
    options: Options, kernels: list[KernelLike], X: Any, Y: Any, *, paired: bool
) -> Options:
    """Return the options with the number of rows of a block.

    Without blocks, warn if the rows clearly depend on each other.
    """
    if options.block_length == 1:
        return options._replace(block_length=None)
    in_series = options.block_length is not None
    samples = [columns_of(Z, kernels, all_rows=in_series) for Z in (X, Y)]
    if paired:
        samples = [differences(*samples)]
    if not in_series:
        warn_if_dependent(*samples)
        return options
    n_rows = min(len(X), len(Y))
    length = rows_of_blocks(options.block_length, n_rows, *samples)
    return options._replace(block_length=length)


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
    kernels: list[KernelLike],
    X: np.ndarray,
    Y: np.ndarray,
    design: Design,
    options: Options,
    *,
    paired: bool,
    by_groups: bool = False,
    random_state: RandomStateLike,
    **walk_options: Any,
) -> TestResult:
    """Test whether two samples have the same distribution.

    Parameters
    ----------
    kernels : list of kernel objects
        Kernels, each with one number as bandwidth.
    X, Y : ndarray of shape (n_samples, n_features)
        Samples.
    design : Design
        Pairs of rows that enter the statistic.
    options : Options
        Options of the test.
    paired : bool
        Whether the core on pairs (X_i, Y_i) is used.
    by_groups : bool, default=False
        Whether groups of pairs are swapped if there are more pairs than groups, for
        complete designs.
    random_state : object
        Seeds the resamples, and the pairs of a random design.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    result : TestResult
        Result.
    """
    generator = generator_of(random_state)
    blocks = {
        "block_length": options.block_length,
        "n_resamples": options.n_resamples,
        "n_groups": options.n_groups,
        "generator": generator,
        "pooling": options.pooling,
        "kernels": kernels,
        **walk_options,
    }
    if not paired and options.block_length is not None:
        source = kernel_source(kernels, X, Y)
        return block_permutation_test(source, len(X), len(Y), **blocks)
    if not paired:
        # Groups must hold random rows, because neighbouring rows may be similar.
        X, Y = (Z[generator.permutation(len(Z))] for Z in (X, Y))
        return permutation_test(
            kernel_source(kernels, X, Y),
            len(X),
            len(Y),
            unbiased=not design.biased,
            n_resamples=options.n_resamples,
            n_groups=options.n_groups,
            generator=generator,
            pooling=options.pooling,
            kernels=kernels,
            **walk_options,
        )
    size = paired_size(len(X), len(Y), design)
    in_series = options.block_length is not None
    if design.complete and (in_series or by_groups):
        # Groups must hold random pairs, and blocks neighbouring pairs.
        order = np.arange(size) if in_series else generator.permutation(size)
        core = PairedSource(kernel_source(kernels, X[order], Y[order]), size)
        return block_sign_test(core, size, method="swap", **blocks)
    core = PairedSource(kernel_source(kernels, X[:size], Y[:size]), size)
    return one_sample_test(
        options,
        RowSums(core, moments=True),
        design,
        size,
        generator,
        kernels=kernels,
        # Pairs and signs must not share random numbers.
        random_state=draw_seeds(generator, 1)[0],
        **walk_options,
    )
