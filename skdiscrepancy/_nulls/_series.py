"""Tests of rows of a series, by whole blocks of consecutive rows.

Neighbouring rows of a series are similar, so the mean of a kernel over pairs of near
rows differs from its mean over independent rows. Pairs of rows of the same block, or of
neighbouring blocks, are left out of the statistic and of all resamples. The remaining
pairs are nearly independent, and so are the blocks that resamples permute.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.fft import irfft, rfft

from skdiscrepancy._engine import BRIEF, Source, aligned_by_parts, progress, row_sums
from skdiscrepancy._nulls._permutations import (
    draw_groups,
    form_work,
    group_bounds,
    n_divisions,
    quadratic_forms,
)
from skdiscrepancy._nulls._result import TestResult, combine, warn_if_powerless
from skdiscrepancy._nulls._units import in_units, scaled_group_sums

# Fraction of the norm of a matrix that centring a constant leaves by rounding.
ROUNDING = 1e-11


def block_permutation_test(
    source: Source,
    m: int,
    n: int,
    *,
    block_length: int,
    n_resamples: int,
    n_groups: int,
    generator: np.random.RandomState,
    pooling: str,
    kernels: list[Any],
    **walk_options: Any,
) -> TestResult:
    """Test whether m and n stacked rows of two series have the same distribution.

    The test permutes whole blocks of consecutive rows. The statistic of a kernel is the
    mean over pairs of rows of X, plus the mean over pairs of rows of Y, minus twice the
    mean over pairs of a row of X and a row of Y. Pairs of rows in the same block, or in
    neighbouring blocks of one series, are left out. Offsets of the blocks centre the
    kernel first, so that its sum over the remaining pairs of each block is zero. They
    cancel in a complete statistic, and here they remove the noise of means over
    different sets of pairs.

    Parameters
    ----------
    source : Source
        Kernels on the stacked rows.
    m, n : int
        Rows of both series.
    block_length : int
        Smallest number of rows of a block.
    n_resamples : int
        Number of permutations.
    n_groups : int
        Largest number of blocks to permute.
    generator : RandomState
        Draws the permutations.
    pooling : {"max", "mean", "fuse", "agg"}
        How to combine several kernels.
    kernels : list
        The kernels.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    result : TestResult
        Result.
    """
    bounds, moves = group_bounds(m, n, n_groups, least=block_length)
    in_x = bounds[:-1] < m
    warn_if_powerless(n_divisions(in_x, moves, m, n), "permutations", of="blocks")
    sums, exponents = scaled_group_sums(source, bounds, **walk_options)
    used = far_blocks(np.flatnonzero(~in_x)[0], len(in_x))
    counts = used * np.multiply.outer(np.diff(bounds), np.diff(bounds))
    A, useful = centre_used(sums.groups, counts)
    Z = draw_groups(in_x, moves, n_resamples, generator).astype(np.float64)
    total = len(Z) * form_work(len(in_x))
    with progress(
        "permutations", total, walk_options.get("verbose", 0), delay=BRIEF
    ) as line:
        # All sums over rows of A are zero. So the sums within X, within Y, and minus
        # the sum across both are the same number.
        values = quadratic_forms(A, Z, line)
    within_x, within_y, across = (
        counts[np.ix_(a, b)].sum()
        for a, b in ((in_x, in_x), (~in_x, ~in_x), (in_x, ~in_x))
    )
    values *= 1 / within_x + 1 / within_y + 2 / across
    # The standard deviation under permutations, and the norm of the whole matrix, which
    # favours small bandwidths.
    unit = np.sqrt(2) * (1 / m + 1 / n) / (m + n)
    scales = tuple(
        in_units(unit * norm, -exponents)
        for norm in (np.sqrt(np.square(A).sum(axis=(1, 2))), np.sqrt(sums.squares))
    )
    result = combine(
        in_units(values, -exponents),
        scales,
        kernels,
        pooling=pooling,
        method="permutation",
        useful=useful,
    )
    return replace(result, block_length=int(bounds[1]))


def far_blocks(first: int, n_blocks: int) -> np.ndarray:
    """Return which pairs of blocks enter a statistic.

    Parameters
    ----------
    first : int
        First block of the second series; 0 for one series.
    n_blocks : int
        Number of all blocks.

    Returns
    -------
    used : ndarray of shape (n_blocks, n_blocks), of bool
        False for a block with itself and with its neighbours in the same series.
    """
    position = np.arange(n_blocks)
    near = np.abs(np.subtract.outer(position, position)) <= 1
    second = position >= first
    return ~(near & np.equal.outer(second, second))


def centre_used(sums: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centre sums over pairs of blocks, so that those in use add up to zero by row.

    Parameters
    ----------
    sums : ndarray of shape (n_kernels, n_blocks, n_blocks)
        Sums of kernels over pairs of rows.
    counts : ndarray of shape (n_blocks, n_blocks)
        Number of pairs of rows, and 0 for pairs of blocks that are left out.

    Returns
    -------
    centred : ndarray of shape (n_kernels, n_blocks, n_blocks)
        Sums of k(i, j) - a_g - a_h for rows i and j of the blocks g and h. They are
        zero for pairs that are left out.
    useful : ndarray of shape (n_kernels,), of bool
        Whether more than rounding errors is left.
    """
    centred = np.where(counts > 0, sums, 0.0)
    before = np.square(centred).sum(axis=(1, 2))
    system = counts + np.diag(counts.sum(axis=1))
    offsets = np.linalg.solve(system, centred.sum(axis=2).T).T
    centred -= counts * (offsets[:, :, np.newaxis] + offsets[:, np.newaxis])
    after = np.square(centred).sum(axis=(1, 2))
    return centred, after > ROUNDING**2 * before


def far_offsets(
    source: Source, n: int, nearest: int, **walk_options: Any
) -> np.ndarray:
    """Return offsets that centre matrices without the pairs of near rows.

    With K_ij - a_i - a_j, the sums over the remaining pairs of each row are zero. The
    distance of rows is circular, so that the system of equations has a solution by
    Fourier transforms.

    Parameters
    ----------
    source : Source
        Kernels on a series.
    n : int
        Number of rows.
    nearest : int
        Smallest circular distance of two rows that remain.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    offsets : ndarray of shape (n_kernels, n)
        Offsets.
    """
    sums = row_sums(source, n, diagonal=False, **walk_options)
    every = np.arange(n)
    for distance in range(1, nearest):
        other = (every + distance) % n
        values = aligned_by_parts(source, every, other)
        sums -= values
        sums[:, other] -= values
    distances = np.minimum(every, n - every)
    remain = np.where(distances >= nearest, 1.0, 0.0)
    spectrum = rfft(remain).real + remain.sum()
    return irfft(rfft(sums, axis=1) / spectrum, n, axis=1)


def block_sign_test(
    source: Source,
    n: int,
    *,
    block_length: int | None,
    n_resamples: int,
    n_groups: int,
    generator: np.random.RandomState,
    pooling: str,
    kernels: list[Any],
    method: str,
    inflation: float = 1.0,
    **walk_options: Any,
) -> TestResult:
    """Test whether a core has mean zero, by one random sign for each block of rows.

    The statistic is the mean of the core over pairs of rows. Pairs of rows in the same
    block or in neighbouring blocks are left out of the data and of all resamples.

    Parameters
    ----------
    source : Source
        The core, for several kernels.
    n : int
        Number of rows.
    block_length : int or None
        Smallest number of rows of a block. None for independent rows in random order:
        then only pairs of the same block are left out, and there are as many blocks as
        rows if `n_groups` allows it.
    n_resamples : int
        Number of vectors of signs.
    n_groups : int
        Largest number of blocks.
    generator : RandomState
        Draws the signs.
    pooling : {"max", "mean", "fuse", "agg"}
        How to combine several kernels.
    kernels : list
        The kernels.
    method : str
        Name of the null distribution.
    inflation : float, default=1.0
        Factor of the statistics of random signs.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    result : TestResult
        Result.
    """
    n_blocks = min(n // (block_length or 1), n_groups)
    bounds = np.linspace(0, n, n_blocks + 1).astype(np.int64)
    warn_if_powerless(
        # All signs can change together.
        2.0 ** min(n_blocks - 1, 64),
        "vectors of signs",
        of="rows" if block_length is None else "blocks",
    )
    sums, exponents = scaled_group_sums(source, bounds, **walk_options)
    lengths = np.diff(bounds)
    used = ~np.eye(n_blocks, dtype=bool)
    if block_length is not None:
        used = far_blocks(0, n_blocks)
    n_pairs = (used * np.multiply.outer(lengths, lengths)).sum()
    A = np.where(used, sums.groups, 0.0)
    signs = generator.choice((-1.0, 1.0), size=(1 + n_resamples, n_blocks))
    signs[0] = 1
    total = len(signs) * form_work(n_blocks)
    verbose = walk_options.get("verbose", 0)
    with progress("resamples", total, verbose, delay=BRIEF) as line:
        values = quadratic_forms(A, signs, line) / n_pairs
    values[:, 1:] *= inflation
    # The standard deviation under random signs.
    scale = np.sqrt(2 * np.square(A).sum(axis=(1, 2))) / n_pairs
    result = combine(
        in_units(values, -exponents),
        (in_units(scale, -exponents),),
        kernels,
        pooling=pooling,
        method=method,
    )
    return replace(result, block_length=block_length and n // n_blocks)
