"""The HSIC test of X and y."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from skdiscrepancy._data import RandomStateLike, draw_seeds, generator_of
from skdiscrepancy._engine import PairedSource, ProductRowSums, factor_of, kernel_source
from skdiscrepancy._hsic._statistics import paired_rows, unbiased_offsets
from skdiscrepancy._nulls import (
    MIN_ROWS,
    Options,
    TestResult,
    check_options,
    columns_of,
    far_offsets,
    gamma_test,
    one_sample_methods,
    one_sample_test,
    rows_of_blocks,
    shift_test,
    warn_if_both_dependent,
)
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels import Kernel, KernelLike


def independence_test(
    kernels: list[KernelLike],
    target_kernels: list[KernelLike],
    X: np.ndarray,
    y: np.ndarray,
    design: Design,
    options: Options,
    *,
    second_order: bool,
    random_state: RandomStateLike,
    **walk_options: Any,
) -> TestResult:
    """Test whether X and y are independent.

    Parameters
    ----------
    kernels, target_kernels : list of kernel objects
        Kernels on X and on y, each with one number as bandwidth.
    X, y : ndarray of shape (n_samples, n_features)
        Rows of both.
    design : Design
        Pairs of rows that enter the statistic.
    options : Options
        Options of the test.
    second_order : bool
        Whether the core on pairs of rows is used for a complete design too.
    random_state : object
        Seeds the resamples, and the pairs of a random design.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    result : TestResult
        Result.
    """
    n, pairs = len(X), list(product(kernels, target_kernels))
    complete = design.complete and not second_order
    generator = generator_of(random_state)
    if complete and options.method == "asymptotic":
        return _gamma_test(kernels, target_kernels, X, y)
    if complete:
        check_enough(n)
        shuffle, nearest = options.method == "permutation", options.block_length
        in_order = not shuffle or nearest is not None
        order = np.arange(n) if in_order else generator.permutation(n)
        X, y = X[order], y[order]
        return shift_test(
            kernel_source(kernels, X),
            lambda order: kernel_source(target_kernels, y[order]),
            n,
            lambda source: (
                unbiased_offsets(source, n, **walk_options)
                if nearest is None
                else far_offsets(source, n, nearest, **walk_options)
            ),
            n_resamples=options.n_resamples,
            shuffle=shuffle,
            generator=generator,
            pooling=options.pooling,
            kernels=pairs,
            block_length=nearest,
            **walk_options,
        )
    half = paired_rows(n, design)
    reducer = ProductRowSums(
        PairedSource(kernel_source(kernels, X), half),
        PairedSource(kernel_source(target_kernels, y), half),
        factor=0.25,
        moments=True,
    )
    return one_sample_test(
        options,
        reducer,
        design,
        half,
        generator,
        kernels=pairs,
        # Pairs and signs must not share random numbers.
        random_state=draw_seeds(generator, 1)[0],
        **walk_options,
    )


def independence_options(
    design: Design,
    method: str,
    *,
    second_order: bool,
    n_components: int | None,
    **given: Any,
) -> Options:
    """Check the options of a test of independence.

    Parameters
    ----------
    design : Design
        Pairs of rows.
    method : str
        Name of a method, or "auto".
    second_order : bool
        Whether the core on pairs of rows is used for a complete design too.
    n_components : int or None
        Number of random features.
    **given : dict
        Other options of the test.

    Returns
    -------
    options : Options
        Checked options.
    """
    methods = one_sample_methods(design)
    for_blocks: tuple[str, ...] = ()
    if design.complete and not second_order:
        methods = ("permutation", "shift", "asymptotic")
        for_blocks = ("permutation", "shift")
    if n_components is not None:
        methods, for_blocks = ("permutation", "shift"), ()
    return check_options(
        method, n_groups=None, allowed=methods, for_blocks=for_blocks, **given
    )


def with_block_length(
    options: Options,
    X: Any,
    y: Any,
    kernels: list[KernelLike],
    target_kernels: list[KernelLike],
) -> Options:
    """Return the options with the number of rows of a block.

    Without blocks, warn if the rows of X and those of y clearly depend on each other.
    """
    if options.block_length == 1:
        return options._replace(block_length=None)
    in_series = options.block_length is not None
    sides = [
        columns_of(rows, own, all_rows=in_series)
        for rows, own in ((X, kernels), (y, target_kernels))
    ]
    if not in_series:
        if options.method != "shift":
            warn_if_both_dependent(*sides)
        return options
    length = rows_of_blocks(options.block_length, len(X), *sides)
    return options._replace(block_length=length)


def check_enough(n: int) -> None:
    """Refuse a test of fewer rows than the unbiased HSIC needs."""
    if n < 4:
        raise ValueError(f"n_samples == {n}, must be >= 4 for an HSIC test.")


def _gamma_test(
    kernels: list[Any], target_kernels: list[Any], X: np.ndarray, y: np.ndarray
) -> TestResult:
    pairs = list(product(kernels, target_kernels))
    if len(pairs) > 1 or not all(isinstance(kernel, Kernel) for kernel in pairs[0]):
        raise ValueError(
            "method == 'asymptotic', must be 'permutation' or 'shift' for "
            f"{len(kernels)} kernels on X and {len(target_kernels)} on "
            "y. The gamma distribution needs one kernel of skdiscrepancy.kernels "
            "on each side, with one `bandwidth` and one `target_bandwidth`."
        )
    if len(X) < MIN_ROWS:
        raise ValueError(
            f"n_samples == {len(X)}, must be >= {MIN_ROWS} for method == 'asymptotic'."
        )
    kernel, target_kernel = pairs[0]
    return gamma_test(factor_of(X, kernel), factor_of(y, target_kernel), pairs)
