"""MMD over random subsets of two samples: the Kernel Inception Distance (KID)."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data.arrays import as_rows
from skdiscrepancy._data.checks import (
    RUN,
    check_number,
    draw_seeds,
    generator_of,
    shown,
    takes_parameters_of,
)
from skdiscrepancy._data.results import Result
from skdiscrepancy._estimators.base import collection_of
from skdiscrepancy._estimators.mmd import MMDEstimator
from skdiscrepancy._estimators.readers import layout_of
from skdiscrepancy._gram.feature_maps import have_features
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.pieces import Blocks, blocks_of
from skdiscrepancy._gram.run import Run, Work, run_all
from skdiscrepancy._statistics.second_order import check_finite, complete
from skdiscrepancy.kernels._names import kernel_name


@dataclass(frozen=True, eq=False, repr=False)
class MMDSubsetsResult(Result):
    """Squared MMD of random subsets of two samples, with mean and standard deviation.

    With the default kernel of :func:`mmd_subsets`, `mean` is the KID.

    Read more in the :ref:`User Guide <generators>`.

    Attributes
    ----------
    mean : float
        Mean over the subsets.
    standard_deviation : float
        Standard deviation over subsets, not of the mean.
    values : ndarray of shape (n_subsets,)
        Unbiased squared MMD of each subset.
    subset_size : int
        Number of rows in a subset.
    kernel : kernel object
        Kernel with its bandwidth.

    See Also
    --------
    skdiscrepancy.plotting.SubsetsDisplay : Draws the values.

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


@takes_parameters_of(
    MMDEstimator,
    names="n_subsets subset_size kernel bandwidth encoder sample_weight "
    f"sample_weight_Y n_components {RUN}",
    kernel="polynomial",
    bandwidth="median",
)
def mmd_subsets(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    n_subsets: int = 100,
    subset_size: int = 1000,
    sample_weight: Any = None,
    sample_weight_Y: Any = None,
    **params: Any,
) -> MMDSubsetsResult:
    r"""Average the squared MMD over random subsets of two samples, as KID does.

    For the features of an Inception network and the default kernel :math:`(x^\top y / d
    + 1)^3`, the mean is the Kernel Inception Distance (KID) [1]_. The MMD is unbiased
    and not normalised, so values scatter around zero for equal distributions.

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
        Rows of each sample, drawn without replacement.
    kernel : str, kernel object or callable, default="polynomial"
        One kernel, as in :class:`MMDEstimator`.
    bandwidth : "median" or float, default="median"
        Bandwidth of a kernel without its own.
    sample_weight : array-like of shape (n_samples_X,), default=None
        Relative row weights of X.
    sample_weight_Y : array-like of shape (n_samples_Y,), default=None
        Relative row weights of Y.
    **params : dict
        Parameters of :class:`MMDEstimator`.

    Returns
    -------
    result : MMDSubsetsResult
        With `mean`, `standard_deviation` and `values`.

    See Also
    --------
    mmd_score : Uses all rows at once.
    mmd_test : Tests for equal distributions.

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
    >>> round(mmd_subsets(real, bad, **options).mean, 3)
    0.063
    >>> round(mmd_subsets(real, good, **options).mean, 3)
    -0.005
    """
    n_subsets = check_number(n_subsets, "n_subsets", integer=True, least=1)
    subset_size = check_number(subset_size, "subset_size", integer=True, least=2)
    mmd = MMDEstimator(normalize=False, **params)
    settings, n_components = mmd._check_params(), mmd.n_components
    if len(settings.kernels) > 1:
        raise ValueError(
            f"kernel == {shown(mmd.kernel)} has {len(settings.kernels)} kernels, must "
            "be one kernel for mmd_subsets."
        )
    # A subset is in memory, so exact kernels can read data in blocks, too.
    mmd.n_components = n_components or subset_size
    given = sample_weight, sample_weight_Y
    table, [X, Y], weights = mmd._read([X, Y], settings, given)
    if subset_size > min(len(X), len(Y)):
        raise ValueError(
            f"subset_size == {subset_size}, must be at most {min(len(X), len(Y))}, the "
            f"number of rows of the smaller sample: X has {len(X)} rows and Y has "
            f"{len(Y)}."
        )
    layout = layout_of(mmd.encoder_, table)
    kernels = collection_of(mmd, [X, Y], settings.kernels, layout)
    if len(kernels) > 1:
        raise ValueError(
            f"bandwidth == {shown(mmd.bandwidth)} makes {len(kernels)} kernels of "
            f"{settings.kernels[0]!r}, must be 'median' or one number for mmd_subsets."
        )
    generator = generator_of(mmd.random_state)
    seeds = draw_seeds(generator, n_subsets)
    known = n_components if have_features(kernels, X) else None
    how = {"n_components": known, "seed": draw_seeds(generator, 1)[0]}
    samples = [blocks_of(Z) for Z in (X, Y)]
    work = Work(_subset_mmd, samples, weights, kernels, subset_size, how)
    values = check_finite(np.array(list(run_all(seeds, work, mmd._run))))
    # Sums and squares may be beyond floating point where their means are not. Powers of
    # two change no digit.
    exponent = np.frexp(np.abs(values).max())[1]
    units = np.ldexp(values, -exponent)
    mean, deviation = np.ldexp([units.mean(), units.std()], exponent).tolist()
    return MMDSubsetsResult(mean, deviation, values, subset_size, kernels[0])


def _subset_mmd(
    samples: list[Blocks],
    weights: list[Any],
    kernels: list[Any],
    size: int,
    how: dict[str, Any],
    seed: int,
) -> float:
    """Compute the unbiased squared MMD of one subset of each sample."""
    generator, some, of_some = np.random.RandomState(seed), [], []
    for rows, w in zip(samples, weights, strict=True):
        index = generator.choice(rows.sizes[0], size, replace=False)
        some.append(as_rows(rows.take(index)))
        of_some.append(None if w is None else w[index])
    both = gram(kernels, *some, weights=of_some, run=Run(1), **how)
    return float(complete(both, unbiased=True, scales=False).values[0])
