"""Draws from a model: the parametric bootstrap of KSD."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from skdiscrepancy._data.checks import draw_seeds
from skdiscrepancy._gram.run import QUIET, Run, Task, one_openmp_thread, run_all
from skdiscrepancy._nulls.pvalues import TestResult, combine

# Statistics and scales of the kernels, for a sample.
Evaluate = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def parametric_test(
    observed: tuple[np.ndarray, np.ndarray],
    evaluate: Evaluate,
    draw: Callable[[np.random.RandomState], np.ndarray],
    *,
    n_resamples: int,
    generator: np.random.RandomState,
    pooling: str,
    kernels: list[Any],
    what: str = "draws",
    run: Run = QUIET,
) -> TestResult:
    """Test whether a sample comes from a model, by samples drawn from the model.

    Each statistic is divided by the scale of its sample. If all samples are treated in
    the same way, the type I error is exact for a known model. For a model that is
    fitted to each sample, the type I error is accurate for many rows.

    Parameters
    ----------
    observed : tuple of two ndarray of shape (n_kernels,)
        Statistics and scales of the kernels for the data.
    evaluate : callable
        Takes a drawn sample and returns its statistics and scales.
    draw : callable
        Takes a generator and returns a sample from the model.
    n_resamples : int
        Number of samples to draw.
    generator : RandomState
        Seeds the draws.
    pooling : {"max", "mean", "fuse", "agg"}
        How to combine several kernels.
    kernels : list
        The kernels.
    what : str, default="draws"
        What is done with each draw, for the progress.
    n_jobs : int or None, default=None
        Number of threads, or of workers of another backend.
    verbose : int, default=0
        Whether the progress is shown.

    Returns
    -------
    result : TestResult
        Result.
    """
    statistics, scales = observed
    values = np.empty((len(statistics), 1 + n_resamples))
    values[:, 0] = _standardize(statistics, scales)
    seeds = draw_seeds(generator, n_resamples)
    work = _DrawTask(evaluate, draw)
    answers = run_all(seeds, work, run, what=what)
    for b, answer in enumerate(answers, start=1):
        values[:, b] = answer
    result = combine(
        values, (np.ones(len(values)),), kernels, pooling=pooling, method="parametric"
    )
    return replace(result, statistics=statistics)


class _DrawTask(Task):
    """The work on one sample of the model."""

    def __init__(self, evaluate: Evaluate, draw: Callable[..., np.ndarray]):
        self.evaluate = evaluate
        self.draw = draw

    def __call__(self, seed: int) -> np.ndarray:
        # Models that use OpenMP would wait for threads of their own in every thread.
        with one_openmp_thread():
            statistics, scales = self.evaluate(self.draw(np.random.RandomState(seed)))
        return _standardize(statistics, scales)


def _standardize(statistics: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Divide statistics by their scales. A scale is 0 only if its statistic is 0."""
    return np.divide(
        statistics, scales, out=np.zeros_like(statistics), where=scales > 0
    )
