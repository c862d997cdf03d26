"""The MMD test of two samples."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

from skdiscrepancy._data import RandomStateLike, draw_seeds, generator_of
from skdiscrepancy._engine import PairedSource, RowSums, kernel_source
from skdiscrepancy._mmd._statistics import paired_size
from skdiscrepancy._nulls import Options, TestResult, one_sample_test, permutation_test
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels import KernelLike


def two_sample_test(
    kernels: list[KernelLike],
    X: np.ndarray,
    Y: np.ndarray,
    design: Design,
    options: Options,
    *,
    paired: bool,
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
