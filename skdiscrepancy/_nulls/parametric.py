"""Draws from a model: the parametric bootstrap of KSD."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from skdiscrepancy._data.checks import draw_seeds
from skdiscrepancy._gram.run import one_openmp_thread, run_all
from skdiscrepancy._nulls.pvalues import Options, TestResult, combine

# Statistics and scales of the kernels, for a sample.
Evaluate = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def parametric_test(
    observed: tuple[np.ndarray, np.ndarray],
    evaluate: Evaluate,
    draw: Callable[[np.random.RandomState], np.ndarray],
    options: Options,
    *,
    what: str = "draws",
) -> TestResult:
    """Test whether a sample comes from a model, by samples drawn from the model.

    Each statistic is divided by the scale of its sample. If all samples are treated in
    the same way, the type I error is exact for a known model. For a model that is
    fitted to each sample, the type I error is accurate for many rows. `what` is done
    with each draw, for the progress.
    """
    statistics, scales = observed
    values = np.empty((len(statistics), 1 + options.n_resamples))
    values[:, 0] = _standardize(statistics, scales)
    seeds = draw_seeds(options.generator, options.n_resamples)
    work = partial(_value_of_draw, evaluate, draw)
    answers = run_all(seeds, work, options.run, what=what)
    for b, answer in enumerate(answers, start=1):
        values[:, b] = answer
    result = combine(values, (np.ones(len(values)),), options)
    return replace(result, statistics=statistics)


def _value_of_draw(
    evaluate: Evaluate, draw: Callable[..., np.ndarray], seed: int
) -> np.ndarray:
    """Return the standardised statistics of one sample of the model."""
    # Models that use OpenMP would wait for threads of their own in every thread.
    with one_openmp_thread():
        return _standardize(*evaluate(draw(np.random.RandomState(seed))))


def _standardize(statistics: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Divide statistics by their scales. A scale is 0 only if its statistic is 0."""
    return np.divide(
        statistics, scales, out=np.zeros_like(statistics), where=scales > 0
    )
