"""What hypothesis draws: samples, kernels and designs.

Samples are multiples of a power of two, with few bits: their differences, also those
from a centre, and with an offset that is such a multiple too, do not round. What two
ways to one number differ by is then due to the ways, and can be bounded.
"""

# SPDX-License-Identifier: BSD-3-Clause

import brute_force as reference
import numpy as np
from hypothesis import settings, strategies as st

from skdiscrepancy.designs import (
    Blocks,
    CompleteU,
    CompleteV,
    Cross,
    Design,
    Linear,
    RandomPairs,
    Subdiagonals,
)
from skdiscrepancy.kernels import check_kernel

# For properties that take little time: more examples, in any profile.
many_examples = settings(max_examples=4 * settings.default.max_examples)
seeds = st.integers(0, 2**32 - 1)
dtypes = st.sampled_from([np.float64, np.float32])
# 17 columns have their distances from matrix products, also where loops are compiled.
dimensions = st.sampled_from([1, 1, 2, 4, 17])
powers_of_two = st.integers(-20, 20).map(lambda exponent: 2.0**exponent)
# Tiles, or chunks of pairs, that divide nothing evenly.
piece_sizes = st.integers(1, 9)
RADIAL = [name for name in reference.KERNELS if name != "indicator"]
SMOOTH = list(reference.DERIVATIVES)
# Kernels with sums in sorted order on one column, and products of such sums.
ON_A_LINE = ["laplace", "matern12", "matern32", "matern52", "matern72", "matern92"]
EXPONENTIAL = ["laplace", "matern12"]


class OwnPairs(Design):
    """A design of a user, who gives nothing but pairs, in no order."""

    def __init__(self, *, seed=0):
        self.seed = seed

    def pairs(self, n, random_state=None):
        rows, cols = np.random.RandomState(self.seed).randint(n, size=(2, 3 * n))
        return rows, cols


@st.composite
def integers_in_columns(draw, n, d):
    """Draw n x d integers of at most 512: ties, constant columns, equal rows."""
    tops = draw(st.lists(st.sampled_from([512, 3, 1, 0]), min_size=d, max_size=d))
    if n * d <= 40:
        columns = [
            draw(st.lists(st.integers(-top, top), min_size=n, max_size=n))
            for top in tops
        ]
        values = np.array(columns, dtype=np.int64).T
    else:
        rng = np.random.RandomState(draw(seeds))
        values = np.column_stack([rng.randint(-top, top + 1, size=n) for top in tops])
    if draw(st.booleans()):
        values = values[np.random.RandomState(draw(seeds)).randint(n, size=n)]
    return values


@st.composite
def samples(draw, n, d, *, unit=1.0, offset=0, dtype=np.float64):
    """Draw rows of integers plus an offset, in a unit; no number rounds."""
    values = draw(integers_in_columns(n, d))
    return (unit * (values + offset)).astype(dtype)


def offsets(dtype):
    """Draw offsets that leave room for integers of at most 512, in units."""
    most = 2**20 if dtype == np.float32 else 2**40
    return st.one_of(st.just(0), st.integers(-most, most))


@st.composite
def kernels(draw, unit, names=RADIAL, most=3):
    """Draw kernels: pairs of a kernel object and its Gram matrix by brute force."""
    drawn = []
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=most)):
        bandwidth = unit * draw(st.floats(1 / 16, 4096))
        kernel = check_kernel(name)[0].set_params(bandwidth=bandwidth)
        drawn.append((kernel, name, bandwidth))
    return drawn


def gram(kernel, rows):
    """Return the Gram matrix of a drawn kernel, by brute force."""
    _, name, bandwidth = kernel
    rows = np.asarray(rows, dtype=np.float64).tolist()
    return reference.gram(reference.KERNELS[name], rows, bandwidth)


@st.composite
def incomplete_designs(draw, n):
    """Draw designs of n samples that are not complete, with random parameters."""
    family = draw(st.sampled_from("ldbsxrRo"))
    if family == "l":
        return Linear()
    if family == "d":
        return Subdiagonals(
            n_subdiagonals=draw(st.just("sqrt") | st.integers(1, n - 1))
        )
    if family == "b":
        return Blocks(n_blocks=draw(st.just("sqrt") | st.integers(1, n // 2)))
    if family == "s":
        sizes, left = [], n
        while left >= 2 and (not sizes or draw(st.booleans())):
            sizes.append(draw(st.integers(2, left)))
            left -= sizes[-1]
        return Blocks(block_sizes=tuple(sizes))
    if family == "x":
        return Cross(n_first=draw(st.just("half") | st.integers(1, n - 1)))
    if family == "o":
        return OwnPairs(seed=draw(seeds))
    most = n * (n - 1) // 2 if family == "r" else 3 * n
    n_pairs = draw(st.just("sqrt") | st.integers(1, most))
    return RandomPairs(n_pairs=n_pairs, replace=family == "R")


def designs(n):
    """Draw designs of n samples, complete or not."""
    return st.sampled_from([CompleteV(), CompleteU()]) | incomplete_designs(n)
