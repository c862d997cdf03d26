"""Choice of the best column, and of the columns that are distinguished from noise."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from skdiscrepancy.feature_selection._single_columns import Columns
from skdiscrepancy.feature_selection._variables import Variable

# Columns in the order of their choice, with the objective at that step.
Path = list[tuple[int, float]]

# Values that agree to this fraction are equal; the first column is then chosen.
TIES = 1e-9


class Probes:
    """Columns with permuted rows, which are independent of everything.

    A column is distinguished from noise if its gain is larger than the gain of every
    permuted column that can still be chosen, for each of the permutations. Under
    independence, that has a probability of at most 1 / (1 + number of permutations).
    """

    def __init__(self, columns: Columns, permutations: Iterable[np.ndarray]):
        self.columns = columns
        self.permutations = list(permutations)

    def alignments(self, target: Variable) -> np.ndarray:
        """Return the CKA of all permuted columns with a variable.

        The shape is (1 + n_probes, n_features). The first row is the CKA of the
        columns without permutation, computed from the same factors, because factors
        that are not complete lower all of these values. The variable is permuted
        instead of the column, which has the same effect.
        """
        F = target.factor.rows
        permuted = [F, *(F[:, permutation] for permutation in self.permutations)]
        size = target.factor.norm

        def align(column: Variable) -> np.ndarray:
            G = column.factor.rows
            total = size * column.factor.norm
            if not total or not column.norm:
                return np.zeros(len(permuted))
            return np.array([np.square(G @ P.T).sum() / total for P in permuted])

        return np.array(self.columns.map(align)).T


def exceeds_noise(gains: np.ndarray, column: int, allowed: np.ndarray) -> bool:
    """Tell whether a gain in the first row is above all gains of permuted columns."""
    return bool(gains[0, column] > gains[1:, allowed].max() + TIES)


def best_of(values: np.ndarray, allowed: np.ndarray) -> int:
    """Return the index of the largest allowed value, the first index among ties."""
    values = np.where(allowed, values, -np.inf)
    largest = values.max()
    return int(np.argmax(values >= largest - TIES * abs(largest)))
