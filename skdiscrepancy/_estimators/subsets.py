"""MMD over random subsets of two samples: the Kernel Inception Distance (KID)."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data.blocks import table_of
from skdiscrepancy._data.checks import (
    RandomStateLike,
    check_number,
    draw_seeds,
    generator_of,
    shown,
)
from skdiscrepancy._data.frames import as_table, layout_of
from skdiscrepancy._data.results import Result
from skdiscrepancy._estimators.base import collection_of
from skdiscrepancy._estimators.mmd import MMDEstimator
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.run import Run, Work, run_all
from skdiscrepancy._statistics.second_order import check_finite, complete
from skdiscrepancy.kernels._names import kernel_name


@dataclass(frozen=True, eq=False, repr=False)
class MMDSubsetsResult(Result):
    """Squared MMD of random subsets of two samples, with mean and standard deviation.

    :func:`mmd_subsets` returns this result. With the default kernel, `mean` is the
    Kernel Inception Distance (KID) [1]_. Two results are equal if all their attributes
    are.

    The frame of :meth:`to_frame` has one row for each subset, with `subset` and
    `value`. The method :meth:`plot` draws a histogram of the values, a
    :class:`~skdiscrepancy.plotting.SubsetsDisplay`.

    Read more in the :ref:`User Guide <generators>`.

    Attributes
    ----------
    mean : float
        Mean over the subsets.
    standard_deviation : float
        Standard deviation over the subsets, divided by their number as in
        :func:`numpy.std`. This is the spread of single subsets, not the error of the
        mean.
    values : ndarray of shape (n_subsets,)
        Unbiased squared MMD of each subset.
    subset_size : int
        Number of rows of each sample in a subset.
    kernel : kernel object
        The kernel, with a number as bandwidth if it has one.

    See Also
    --------
    mmd_subsets : Computes the values.
    skdiscrepancy.plotting.SubsetsDisplay : Draws the values.

    References
    ----------
    .. [1] M. Bińkowski et al., "Demystifying MMD GANs", ICLR 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_subsets
    >>> X, Y = np.random.RandomState(0).normal(size=(2, 300, 4)) + [[[0]], [[0.5]]]
    >>> result = mmd_subsets(X, Y, n_subsets=10, subset_size=100, random_state=0)
    >>> round(result.mean, 1), len(result.values)
    (1.2, 10)
    """

    mean: float
    standard_deviation: float
    values: np.ndarray
    subset_size: int
    kernel: Any

    _display = "SubsetsDisplay"
    _item = "subset"
    _shown_first = "largest values"

    def _summary(self) -> dict[str, Any]:
        return {
            "mean": self.mean,
            "standard_deviation": self.standard_deviation,
            "kernel": kernel_name(self.kernel),
        }

    def _columns(self) -> dict[str, Any]:
        return {"subset": np.arange(len(self.values)), "value": self.values}

    def _priorities(self) -> np.ndarray:
        return -self.values


def mmd_subsets(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    n_subsets: int = 100,
    subset_size: int = 1000,
    kernel: Any = "polynomial",
    bandwidth: Any = "median",
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
    verbose: int = 0,
) -> MMDSubsetsResult:
    r"""Average the squared MMD over random subsets of two samples, as KID does.

    With the defaults this is the Kernel Inception Distance (KID) of [1]_, if X and Y
    are the features that an Inception network computes for real and for generated
    images: the kernel is :math:`(x^\top y / d + 1)^3`, and every subset has the
    unbiased squared MMD of `subset_size` rows of X and as many rows of Y, drawn without
    replacement. The values are not normalised. If both samples share a distribution,
    they scatter around zero and may be negative.

    Takes O(n_subsets subset_size^2) time and O(subset_size) memory for each thread.

    Read more in the :ref:`User Guide <generators>`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
        First sample.
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features)
        Second sample.
    n_subsets : int, default=100
        Number of subsets.
    subset_size : int, default=1000
        Number of rows of each sample in a subset, at most the rows of the smaller
        sample.
    kernel : str, kernel object or callable, default="polynomial"
        Kernel. The default is ``PolynomialKernel(3, gamma=1 / n_features, coef0=1)``.
    bandwidth : "median" or float, default="median"
        Bandwidth of a kernel that has a bandwidth, such as "gaussian", and none of its
        own. "median" is the median distance between the rows of both whole samples.
    n_jobs : int or None, default=None
        Number of threads, over subsets; the result does not depend on it.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the subsets. None draws afresh. The global generator of numpy is never
        used.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.

    Returns
    -------
    result : MMDSubsetsResult
        With `mean`, `standard_deviation` and `values`.

    See Also
    --------
    mmd_score : Uses all rows at once, with many kernels.
    mmd_test : Tests whether the difference is more than chance.

    References
    ----------
    .. [1] M. Bińkowski et al., "Demystifying MMD GANs", ICLR 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_subsets
    >>> rng = np.random.RandomState(0)
    >>> real, good, bad = rng.normal(size=(3, 500, 8)) * [[[1.0]], [[1.0]], [[1.2]]]
    >>> options = dict(n_subsets=20, subset_size=200, random_state=0)
    >>> round(mmd_subsets(real, good, **options).mean, 3)
    -0.005
    >>> round(mmd_subsets(real, bad, **options).mean, 3)
    0.063
    """
    n_subsets = check_number(n_subsets, "n_subsets", integer=True, least=1)
    subset_size = check_number(subset_size, "subset_size", integer=True, least=2)
    mmd = MMDEstimator(
        kernel=kernel,
        bandwidth=bandwidth,
        normalize=False,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
    )
    settings = mmd._check_params()
    if len(settings.kernels) > 1:
        raise ValueError(
            f"kernel == {shown(kernel)} has {len(settings.kernels)} kernels, must be "
            "one kernel for mmd_subsets."
        )
    table, [X, Y] = mmd._read_together([as_table(X), as_table(Y)], settings)
    if subset_size > min(len(X), len(Y)):
        raise ValueError(
            f"subset_size == {subset_size}, must be at most {min(len(X), len(Y))}, the "
            f"number of rows of the smaller sample: X has {len(X)} rows and Y has "
            f"{len(Y)}."
        )
    layout = layout_of(mmd.encoder_, table_of(table))
    kernels = collection_of(mmd, [X, Y], settings.kernels, layout)
    if len(kernels) > 1:
        raise ValueError(
            f"bandwidth == {shown(bandwidth)} makes {len(kernels)} kernels of "
            f"{settings.kernels[0]!r}, must be 'median' or one number for mmd_subsets."
        )
    seeds = draw_seeds(generator_of(random_state), n_subsets)
    work = Work(_subset_mmd, [X, Y], kernels, subset_size)
    values = check_finite(np.array(list(run_all(seeds, work, Run(n_jobs, verbose)))))
    # Sums and squares may be beyond floating point where their means are not. Powers of
    # two change no digit.
    exponent = np.frexp(np.abs(values).max())[1]
    units = np.ldexp(values, -exponent)
    return MMDSubsetsResult(
        mean=float(np.ldexp(units.mean(), exponent)),
        standard_deviation=float(np.ldexp(units.std(), exponent)),
        values=values,
        subset_size=subset_size,
        kernel=kernels[0],
    )


def _subset_mmd(
    samples: list[np.ndarray], kernels: list[Any], size: int, seed: int
) -> float:
    """Compute the unbiased squared MMD of one subset of each sample."""
    generator = np.random.RandomState(seed)
    some = [Z[generator.choice(len(Z), size, replace=False)] for Z in samples]
    both = gram(kernels, *some, run=Run(1))
    return float(complete(both, unbiased=True).values[0])
