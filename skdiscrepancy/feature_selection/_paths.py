"""The orders in which columns are chosen.

Every function takes the columns with the CKA of each column and y, and returns the
columns in the order of their choice with the value of the objective at that step.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np

from skdiscrepancy._engine import Progress, progress
from skdiscrepancy.feature_selection._lasso import lasso_path
from skdiscrepancy.feature_selection._probes import Path, Probes, best_of, exceeds_noise
from skdiscrepancy.feature_selection._single_columns import Columns
from skdiscrepancy.feature_selection._stepwise import backward_path, forward_path
from skdiscrepancy.feature_selection._variables import Variable


def filter_path(
    columns: Columns,
    target: Variable,
    relevance: np.ndarray,
    k: int,
    probes: Probes | None = None,
) -> Path:
    """Rank the columns by their CKA with y."""
    return mrmr_path(columns, target, relevance, k, probes, redundancy=False)


def mrmr_path(
    columns: Columns,
    target: Variable,
    relevance: np.ndarray,
    k: int,
    probes: Probes | None = None,
    *,
    redundancy: bool = True,
) -> Path:
    """Repeatedly choose the column of largest relevance minus mean redundancy.

    Relevance is the CKA with y, redundancy the CKA with a chosen column.
    """
    k = min(k, int(np.sum(relevance > 0)))
    with progress("columns", k, columns.verbose) as line:
        return _mrmr_path(columns, target, relevance, k, probes, redundancy, line)


def _mrmr_path(
    columns: Columns,
    target: Variable,
    relevance: np.ndarray,
    k: int,
    probes: Probes | None,
    redundancy: bool,
    line: Progress,
) -> Path:
    path: Path = []
    allowed = relevance > 0
    shared = np.zeros(len(relevance))
    noise = None if probes is None else probes.alignments(target)
    shared_noise: np.ndarray | float = 0.0
    while len(path) < k:
        gains = relevance - shared / max(len(path), 1)
        best = best_of(gains, allowed)
        if noise is not None:
            gains_of_noise = noise - shared_noise / max(len(path), 1)
            if not exceeds_noise(gains_of_noise, best, allowed):
                break
        path.append((best, float(gains[best])))
        allowed[best] = False
        if redundancy and len(path) < k:
            chosen = columns.variable(best)
            shared += columns.alignments(chosen)
            if probes is not None:
                shared_noise = shared_noise + probes.alignments(chosen)
        line.advance()
    return path


PATHS = {
    "filter": filter_path,
    "mrmr": mrmr_path,
    "lasso": lasso_path,
    "forward": forward_path,
    "backward": backward_path,
}
