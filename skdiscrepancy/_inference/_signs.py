"""Random signs: the wild bootstrap of KSD."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

from skdiscrepancy._engine import Source
from skdiscrepancy._engine._groups import group_sums
from skdiscrepancy._inference._result import TestResult, combine


def wild_test(
    source: Source,
    n: int,
    *,
    n_resamples: int,
    n_groups: int,
    generator: np.random.RandomState,
    pooling: str,
    kernels: list[Any],
    **walk_options: Any,
) -> TestResult:
    """Test whether a degenerate core has mean zero, by random signs of the rows.

    The statistics sum h_ij e_i e_j / (n (n - 1)) over pairs of different rows, with
    independent signs e, have asymptotically the null distribution of the U-statistic.
    With more rows than `n_groups`, consecutive rows share a sign.

    Parameters
    ----------
    source : Source
        The core, for several kernels.
    n : int
        Number of rows.
    n_resamples : int
        Number of draws of signs.
    n_groups : int
        Number of signs, at most.
    generator : RandomState
        Draws them.
    pooling : {"max", "mean", "fuse"}
        How kernels are pooled.
    kernels : list
        The kernels.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    result : TestResult
        Result.
    """
    bounds = np.unique(np.linspace(0, n, min(n, n_groups) + 1).astype(np.int64))
    sums = group_sums(source, bounds, **walk_options)
    signs = generator.choice((-1.0, 1.0), size=(n_resamples, len(bounds) - 1))
    observed = sums.rows.sum(axis=1)
    resampled = []
    for M in sums.groups:
        between = M - np.diag(np.diag(M))
        resampled.append(np.einsum("bg,bg->b", signs @ between, signs))
    values = np.column_stack((observed, np.array(resampled))) / (n * (n - 1))
    # In units of the deviation under the null.
    scale = np.sqrt(2 * np.maximum(sums.squares, np.finfo(float).tiny))
    scale /= n * (n - 1)
    return combine(values, (scale,), kernels, pooling=pooling, method="wild")
