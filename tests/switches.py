"""Switches between the ways to one number: each is a context manager.

Tests that compare two ways, or need one of them, name it here only.
"""

# SPDX-License-Identifier: BSD-3-Clause

import math
from contextlib import ExitStack, contextmanager, nullcontext
from unittest import mock

from skdiscrepancy._estimators import base
from skdiscrepancy._gram import kernel_gram, run, sorted_columns, tiles
from skdiscrepancy._gram.tiles import CentredGram, Gram, PairedGram, Tile
from skdiscrepancy._loops import jit, tile_loops
from skdiscrepancy._nulls import pvalues


@contextmanager
def without_numba():
    """Run the loops of numpy, as if numba were not installed."""
    with mock.patch.object(jit, "numba_works", return_value=False):
        yield


@contextmanager
def sorted_from(n_rows):
    """Sum kernels on one column in sorted order from `n_rows` rows on."""
    with mock.patch.object(kernel_gram, "min_rows", return_value=n_rows):
        yield


def in_order():
    """Sum kernels on one column in sorted order, however few the rows are."""
    return sorted_from(0)


def by_tiles():
    """Sum all kernels over all pairs, however many the rows are."""
    return sorted_from(math.inf)


@contextmanager
def small_pieces(tile=7, max_pairs=11):
    """Cut everything into small tiles, several tasks, and chunks of few pairs."""
    changes = [
        (Gram, "tile", tile),
        (PairedGram, "tile", max(1, tile - 2)),
        (CentredGram, "tile", max(1, tile - 4)),
        (tiles, "MIN_PIECE", tile + 1),
        (tiles, "STRIPES", 3),
        (run, "WAVE", 2),
        (tiles, "MOST_PAIRS", max_pairs),
        (tiles, "BLOCK_ROWS", tile + 3),
        (sorted_columns, "BLOCK_ROWS", tile + 4),
    ]
    with ExitStack() as stack:
        for owner, name, value in changes:
            stack.enter_context(mock.patch.object(owner, name, value))
        yield


@contextmanager
def groups_of_rows(n):
    """Permute, or give signs to, so many groups of rows, None for single rows."""
    with mock.patch.object(pvalues, "GROUPS", n or 2**62):
        yield


# Every way from rows to sums; both loops in both orders.
WAYS = {
    "compiled tiles": (nullcontext, by_tiles),
    "numpy tiles": (without_numba, by_tiles),
    "compiled order": (nullcontext, in_order),
    "numpy order": (without_numba, in_order),
}


@contextmanager
def way(name):
    """Take one of `WAYS`."""
    with ExitStack() as stack:
        for switch in WAYS[name]:
            stack.enter_context(switch())
        yield


@contextmanager
def zero_scales():
    """Keep scales that are zero, where a score that is normalised is refused."""
    with mock.patch.object(
        base, "normalize_statistics", lambda values, scales, rounding: values
    ):
        yield


class DecayGram(Gram):
    """Exponentials of given distances, which are summed as tiles of kernels are."""

    def __init__(self, x, rates):
        self.x, self.dtype, self.n_kernels = x, x.dtype, len(rates)
        self.known = {k: ("decay", rate) for k, rate in enumerate(rates)}

    def shared(self, rows, cols):
        def evaluate(members, outs):
            rates = [self.known[k][1] for k in members]
            for k in tile_loops.decay_values(self.x, rates, outs):
                yield k, outs[k]

        yield self.known, (self.x,) * 3, evaluate


def decay_sums(x, rates, **options):
    """Return the sums of the rows and of the columns of exponentials."""
    tile = Tile(*(slice(0, n) for n in x.shape), **options)
    return DecayGram(x, rates).tile_sums(tile)


def decay_group_sums(x, rates, row_groups, col_groups):
    """Return the sums of exponentials over groups, and of squares."""
    tile = Tile(*(slice(0, n) for n in x.shape))
    return DecayGram(x, rates).tile_groups(tile, row_groups, col_groups)
