"""What a case is, and the data and counts that several cases share."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

OURS = "skdiscrepancy"


@dataclass(frozen=True)
class Contender:
    """One way to compute the number of a case.

    Attributes
    ----------
    name : str
        Name in the tables.
    run : callable
        Takes the prepared data and the number of threads; this is what is timed.
    prepare : callable or None
        Takes the data and returns the prepared data, outside of the timing.
    value : callable or None
        Takes the data and the result of `run`; returns the number that all contenders
        share, outside of the timing. None: the result itself.
    module : str or None
        Package that must be installed.
    faster_by : float or None
        Target: our time is to be smaller by this factor, with one thread.
    threaded : bool
        Measured on all cores too.
    max_size : int or None
        Not run on more rows than this.
    single_precision : bool
        Computes in float32.
    """

    name: str
    run: Callable[[Any, int], Any]
    prepare: Callable[[Any], Any] | None = None
    value: Callable[[Any, Any], float] | None = None
    module: str | None = None
    faster_by: float | None = None
    threaded: bool = True
    max_size: int | None = None
    single_precision: bool = False

    @property
    def ours(self) -> bool:
        """Whether it is this package, which is measured with and without numba."""
        return self.name.startswith(OURS)


@dataclass(frozen=True)
class Case:
    """Contenders on the same data.

    Attributes
    ----------
    name : str
        Name on the command line.
    title : str
        What is computed, in the tables.
    make : callable
        Takes the number of rows and returns the data.
    contenders : tuple of Contender
        The first one is the one that the others are compared with.
    sizes, quick_sizes : tuple of int
        Numbers of rows, in increasing order.
    pairs : callable
        Takes the number of rows and returns the number of distinct pairs of samples.
    kind : {"target", "peer", "design", "limit"}
        Quick runs measure less for some of them.
    tolerance : float or None
        Relative difference of the values that is allowed; None: nothing to compare.
    max_memory : float or None
        Target for our memory above the data, in MB.
    two_threads_gain : float or None
        Target for our time with one thread over that with two.
    max_time_growth, max_memory_growth : float or None
        Targets for the growth from the last but one size to the last.
    """

    name: str
    title: str
    make: Callable[[int], Any]
    contenders: tuple[Contender, ...]
    sizes: tuple[int, ...]
    quick_sizes: tuple[int, ...]
    pairs: Callable[[int], int]
    kind: str = "target"
    tolerance: float | None = 1e-8
    max_memory: float | None = None
    two_threads_gain: float | None = None
    max_time_growth: float | None = None
    max_memory_growth: float | None = None


def two_samples(n, d):
    """Draw two Gaussian samples of n rows, slightly shifted."""
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    Y += 0.1
    return X, Y


def dependent(n, d):
    """Draw n rows of X and a numeric y that depends on the first column."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    y += X[:, 0] ** 2
    return X, y


def misfit(n, d):
    """Draw n heavy-tailed rows, and the gradients of a Gaussian log-density."""
    X = np.random.RandomState(0).standard_t(5, size=(n, d))
    return X, -X


def pairs_of_two(n):
    """Count the pairs among two samples of n rows."""
    return n * (2 * n - 1)


def pairs_of_one(n):
    """Count the pairs among n rows."""
    return n * (n - 1) // 2


def as_columns(X, y):
    """Return X, and y as one column or more."""
    return X, y.reshape(len(X), -1)
