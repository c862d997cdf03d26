"""Random permutations of rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, permutations

import numpy as np

from skdiscrepancy._data import RandomStateLike, draw_seeds, generator_of
from skdiscrepancy._engine import end_if_stopped

# Up to this many rows, all permutations are used.
MAX_LISTED = 6


class Permutations:
    """Random permutations of rows that you can iterate over again and again.

    For up to six rows, they are all permutations except the identity. For more rows,
    only seeds are kept, because n_resamples x n numbers may not fit into memory.
    """

    def __init__(self, n: int, n_resamples: int, random_state: RandomStateLike):
        self.n = n
        self.seeds = draw_seeds(generator_of(random_state), n_resamples)
        self.listed: list[np.ndarray] = []
        if n <= MAX_LISTED:
            self.listed = list(map(np.array, islice(permutations(range(n)), 1, None)))

    def __len__(self) -> int:
        return len(self.listed or self.seeds)

    def __iter__(self) -> Iterator[np.ndarray]:
        if self.listed:
            yield from self.listed
            return
        for seed in self.seeds:
            end_if_stopped()
            yield np.random.RandomState(seed).permutation(self.n)
