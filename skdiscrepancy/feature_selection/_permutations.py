"""Random permutations of rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np

from skdiscrepancy._data import generator_of

# Up to this many rows, all permutations are listed.
MAX_LISTED = 6


class Permutations:
    """Random permutations that can be gone through again and again.

    All of them but the identity where rows are few; they are kept as seeds, not as
    n_permutations x n numbers.
    """

    def __init__(self, n: int, n_permutations: int, random_state: Any):
        self.n = n
        self.listed = list(permutations(range(n)))[1:] if n <= MAX_LISTED else None
        self.seeds = generator_of(random_state).randint(
            np.iinfo(np.int32).max, size=n_permutations
        )

    def __len__(self) -> int:
        return len(self.seeds if self.listed is None else self.listed)

    def __iter__(self) -> Iterator[np.ndarray]:
        if self.listed is not None:
            return map(np.array, self.listed)
        return (np.random.RandomState(seed).permutation(self.n) for seed in self.seeds)
