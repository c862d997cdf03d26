"""Tests of a Stein kernel by random signs of the rows, or by a limit."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skdiscrepancy._data import draw_seeds
from skdiscrepancy._engine import RowSums, Source
from skdiscrepancy._nulls import (
    Options,
    TestResult,
    block_sign_test,
    check_options,
    one_sample_methods,
    one_sample_test,
    rows_of_blocks,
    warn_if_dependent,
    wild_test,
)
from skdiscrepancy.designs import Design


def stein_methods(design: Design) -> tuple[str, ...]:
    """Return the null distributions that a Stein kernel has without its model."""
    if design.complete:
        return ("wild",)
    # Signs of the rows are the swaps of a core, and the wild bootstrap.
    return tuple("wild" if m == "swap" else m for m in one_sample_methods(design))


def stein_options(
    design: Design,
    n_components: int | None = None,
    *,
    more: tuple[str, ...] = (),
    **given: Any,
) -> Options:
    """Check the options of a test of a Stein kernel.

    Parameters
    ----------
    design : Design
        Pairs of rows.
    n_components : int or None, default=None
        Number of random features.
    more : tuple of str, default=()
        Further null distributions, which need a model.
    **given : dict
        Options of the test.

    Returns
    -------
    options : Options
        Checked options.
    """
    in_blocks = design.complete and n_components is None
    return check_options(
        allowed=(*stein_methods(design), *more),
        for_blocks=("wild",) if in_blocks else (),
        **given,
    )


def with_block_length(options: Options, n: int, X: np.ndarray | None = None) -> Options:
    """Return the options with the number of rows of a block.

    Without blocks, warn if the rows of X clearly depend on each other. X is None if
    only a matrix of its n rows is known.
    """
    if options.block_length in (None, 1):
        if options.block_length is None:
            warn_if_dependent(X)
        return options._replace(block_length=None)
    return options._replace(block_length=rows_of_blocks(options.block_length, n, X))


def stein_test(
    source_of: Callable[[np.ndarray], Source],
    n: int,
    design: Design,
    options: Options,
    generator: np.random.RandomState,
    *,
    kernels: list[Any],
    **walk_options: Any,
) -> TestResult:
    """Test whether a Stein kernel has mean zero.

    Parameters
    ----------
    source_of : callable
        Returns the Stein kernel of some rows.
    n : int
        Number of rows.
    design : Design
        Pairs of rows.
    options : Options
        Options of the test.
    generator : RandomState
        Draws the signs.
    kernels : list
        The kernels.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    result : TestResult
        Result.
    """
    if options.block_length is not None:
        return block_sign_test(
            source_of(np.arange(n)),
            n,
            block_length=options.block_length,
            n_resamples=options.n_resamples,
            n_groups=options.n_groups,
            generator=generator,
            pooling=options.pooling,
            kernels=kernels,
            method=options.method,
            **walk_options,
        )
    if design.complete:
        # Groups have rows at random, because neighbours may be alike.
        return wild_test(
            source_of(generator.permutation(n)),
            n,
            n_resamples=options.n_resamples,
            n_groups=options.n_groups,
            generator=generator,
            pooling=options.pooling,
            kernels=kernels,
            **walk_options,
        )
    return one_sample_test(
        options,
        RowSums(source_of(np.arange(n)), moments=True),
        design,
        n,
        generator,
        kernels=kernels,
        # Pairs and signs must not come from the same numbers.
        random_state=draw_seeds(generator, 1)[0],
        **walk_options,
    )
