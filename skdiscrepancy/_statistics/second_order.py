"""Second-order statistics: of one-sample cores, and of two samples.

They come from kernels, Gram matrices or features, over a design or with weights. A
reference sample keeps its sums.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from skdiscrepancy._data.blocks import LazyRows
from skdiscrepancy._data.checks import RandomStateLike, warn_user
from skdiscrepancy._gram.kernel_gram import KernelGram, gram
from skdiscrepancy._gram.row_sums import Fold, Measure, Moments, RowSums
from skdiscrepancy._gram.tiles import Gram
from skdiscrepancy._statistics.noise import (
    LEAST_ROWS,
    Noise,
    Projections,
    RowBlocks,
    noise_rows,
    sample_noise,
    too_few_rows,
)
from skdiscrepancy.designs import Cross, Design
from skdiscrepancy.kernels._base import PrecomputedKernel

# A number below this many units of the working precision, relative to the terms of its
# sum, is a rounding error of zero.
ROUNDING = 100


@dataclass(frozen=True, eq=False)
class Statistics:
    """The statistics of a collection of kernels, with everything that pooling needs.

    `nu` is the parameter of fuse. `rounding` is the size of rounding errors.
    """

    values: np.ndarray
    scales: np.ndarray
    nu: float
    rounding: np.ndarray
    errors: np.ndarray | None = None
    chosen: int | None = None

    @classmethod
    def of(
        cls, values: Any, scales: Any, nu: float, sizes: Any, dtypes: Any, *more: Any
    ) -> Statistics:
        """Return finite statistics of terms of a size and a type for each kernel."""
        eps = np.array([np.finfo(dtype).eps for dtype in dtypes])
        check_finite(np.array([values, scales, sizes]))
        return cls(values, scales, nu, ROUNDING * eps * sizes, *more)

    @property
    def shares(self) -> np.ndarray:
        """Shares of the kernels in the number that has a standard error."""
        K = len(self.scales)
        return np.full(K, 1 / K) if self.chosen is None else np.eye(K)[self.chosen]


def check_finite(values: np.ndarray) -> np.ndarray:
    """Return the statistics unchanged if all of them are finite."""
    if not np.all(np.isfinite(values)):
        raise ValueError(
            "The statistic is not finite, because distances, gradients or bandwidths "
            "are too large or too small for floating point. Rescale the data, or "
            "choose a `bandwidth` similar to the distances between rows."
        )
    return values


def over_design(
    core: Gram,
    design: Design,
    random_state: RandomStateLike = None,
    *,
    scales: bool = True,
) -> Statistics:
    """Compute the statistics of a core, or of two samples, over a design."""
    if design.complete:
        return complete(core, unbiased=not design.biased, scales=scales)
    refuse_pair_weights(design, *core.weights)
    moments = core.moments(design, random_state)
    nu = moments.weight / core.n
    with np.errstate(all="ignore"):
        sigma, sizes = moments.scale, core.magnitudes().mean(axis=1)
    return Statistics.of(moments.mean, sigma, nu, sizes, [core.dtype])


# Numbers of a part that stay in the cache.
PART = 2**16


# Results that are not finite are refused, without a warning before.
@np.errstate(all="ignore")
def complete(gram: Gram, *, unbiased: bool, scales: bool = True) -> Statistics:
    """Compute the complete statistics of one sample, or of two samples.

    With weights w of X and v of Y that sum to one, the V-statistic is the sum of w_i
    w_i' k(x_i, x_i'), for two samples plus v_j v_j' k(y_j, y_j') minus 2 w_i v_j k(x_i,
    y_j). The U-statistic [1]_ (Lemma 6) leaves out i = i' and j = j', and divides by 1
    - sum w_i^2 and 1 - sum v_j^2.

    The scale is sigma_k^2 = 4 nu (Var a_i / m' + Var b_j / n'), with the differences
    a_i and b_j of row means, m' = 1 / sum w_i^2, n' = 1 / sum v_j^2, and nu = m', or 2
    m' n' / (m' + n') for two samples.

    References
    ----------
    .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.
    """
    measures, K = gram.measures, gram.n_kernels
    least = min(gram.sizes or [gram.n])
    if least < 1 + unbiased:
        what = "MMD" if len(measures) == 2 else "statistic"
        raise ValueError(f"n_samples == {least}, must be >= 2 for the unbiased {what}.")
    # One over the effective number of rows.
    shares = [p.squares / p.total**2 for p in measures]
    nu = len(shares) / sum(shares)
    values, variances, sizes = np.zeros((3, K))
    dtypes, errors = [gram.dtype] * K, None
    known = gram.from_means and gram.from_means(unbiased=unbiased)
    if scales or known is None:
        step = partial(_moments, measures, unbiased)
        how = Fold(step, _merge, diagonal=not unbiased, shifted=True)
        for some, dtype, found in gram.fold(how):
            for (value, size, moments), share in zip(found, shares, strict=True):
                values[some] += value
                sizes[some] = np.maximum(sizes[some], size)
                variances[some] += share * moments.spread / moments.weight
            for k in some:
                dtypes[k] = dtype
    sigma = 2 * np.sqrt(nu * np.maximum(variances, 0)) if scales else np.ones(K)
    if known is not None:
        values, sizes, errors = known
    elif len(measures) == 1:
        sizes = gram.magnitudes().mean(axis=1)
    return Statistics.of(values, sigma, nu, sizes, dtypes, errors)


def _moments(
    measures: list[Measure], unbiased: bool, part: RowSums
) -> tuple[np.ndarray, np.ndarray, Moments]:
    """Return the share of rows in the statistic, their largest mean, and moments."""
    p, own = part.measure, part.sums[part.sample]
    assert p is not None
    K, n = own.shape
    weights = np.full(n, p.weights)
    others = np.full(n, p.others if unbiased else p.total)
    # Rows of one sample count as the pairs that they are in.
    masses = weights * others if len(measures) == 1 else weights
    crossed = [
        (sums, measures[j].total)
        for j, sums in enumerate(part.sums)
        if j != part.sample
    ]
    step, size, found = max(1, PART // K), np.zeros(K), []
    # Results that are not finite are refused, without a warning before.
    with np.errstate(all="ignore"):
        # Pairs (i, i') have other weights than rows, unless all weights are equal.
        value = own @ weights / (p.pairs if unbiased else p.total**2)
        for sums, total in crossed:
            value -= sums @ weights / (p.total * total)
        for at in range(0, n, step):
            some = slice(at, at + step)
            means = own[:, some] / others[some]
            size = np.maximum(size, np.abs(means).max(axis=1))
            for sums, total in crossed:
                cross = sums[:, some] / total
                size = np.maximum(size, np.abs(cross).max(axis=1))
                means -= cross
            found.append(Moments.of_means(means, masses[some]))
        return value, size, reduce(Moments.merge, found)


def _merge(first: Any, second: Any) -> Any:
    value, size, moments = first
    others = second[2]
    return value + second[0], np.maximum(size, second[1]), moments.merge(others)


def _over_kernels(part: RowSums) -> list[np.ndarray]:
    """Return the sums over kernels of the sums over each sample."""
    return [np.sum(part.sums, axis=1)]


@np.errstate(all="ignore")
def mean_sums(gram: Gram, **how: Any) -> list[np.ndarray]:
    """Return the sums over each sample, for the rows of each, as means over kernels."""
    sums: Any = None
    for _, _, found in gram.fold(Fold(_over_kernels, add, keep_order=True, **how)):
        own = [np.concatenate(parts, axis=1) / gram.n_kernels for parts in found]
        sums = own if sums is None else list(map(add, sums, own))
    return sums


def witness(gram: Gram) -> np.ndarray:
    """Compute the witness function of one sample, or of two samples.

    For two samples, it is the mean over the second minus the mean over the first.
    """
    [sums] = mean_sums(gram, shifted=True)
    first, *others = (s / p.total for s, p in zip(sums, gram.measures, strict=True))
    return check_finite(others[0] - first if others else first)


def _contributions(measures: list[Measure], part: RowSums) -> list[np.ndarray]:
    """Return the contributions of Y from row sums, and their level from those of X."""
    p, q = measures
    assert part.measure is not None
    with np.errstate(all="ignore"):
        if part.sample == 0:
            weights = np.full(part.sums[0].shape[1], part.measure.weights)
            return [np.atleast_1d((part.sums[0] @ weights).sum() / p.total**2)]
        return [np.sum(part.sums[1] / q.total - 2 * part.sums[0] / p.total, axis=0)]


def row_contributions(gram: Gram) -> np.ndarray:
    """Compute the contribution of each row of Y to MMD, for the mean of kernels."""
    step, values = partial(_contributions, gram.measures), np.zeros(gram.sizes[1])
    for _, _, found in gram.fold(Fold(step, add, keep_order=True)):
        level, rows = map(np.concatenate, found)
        values += level.sum() + rows
    return check_finite(values / gram.n_kernels)


def projections_of(
    gram: Gram, names: Sequence[Any], length: int | None = None
) -> Projections:
    """Return the U-statistic of the mean over kernels, and its projections on rows.

    The projection is the part of the mean that the row is in, minus the mean times the
    weight of these pairs.
    """
    measures, sizes, value = gram.measures, gram.sizes or (gram.n,), 0.0
    blocks = [RowBlocks.of(n, length, len(sizes)) for n in sizes]
    # Offsets cancel if all pairs within and across samples have one weight.
    shifted = gram.stacked_weights is None
    sums = mean_sums(gram, diagonal=False, shifted=shifted)
    weights = [p.weights * np.ones(n) for p, n in zip(measures, sizes, strict=True)]
    linear = {}
    with np.errstate(all="ignore"):
        for a, (name, p, w) in enumerate(zip(names, measures, weights, strict=True)):
            within, across = w * sums[a][a] / p.pairs, np.zeros(len(w))
            if len(sizes) > 1:
                across = w * sums[a][1 - a] / (p.total * measures[1 - a].total)
            centres = p.others / p.pairs * within.sum() - across.sum() / p.total
            linear[name] = within - across - w * centres
            value += float(within.sum() - across.sum())
    check_finite(np.array(value))
    each = zip(np.cumsum([0, *sizes]), blocks, strict=False)
    rows = np.concatenate([start + own.rows for start, own in each])
    [(_, core)] = gram.mean().dense(rows, rows)
    return Projections.of(value, linear, core, weights, blocks)


def positions_of(K: np.ndarray) -> np.ndarray:
    """Return the rows of a PrecomputedKernel that stand for all rows of its matrix."""
    return np.arange(len(K), dtype=K.dtype)[:, np.newaxis]


def matrix_gram(K: np.ndarray) -> KernelGram:
    """Return the Gram of a matrix that is known."""
    return gram([PrecomputedKernel(K)], positions_of(K))


def design_noise(
    core: Gram, design: Design, statistics: Statistics, *, normalize: bool
) -> Noise | tuple[float, int] | str:
    """Estimate the noise of the mean of second-order statistics, or say why not."""
    n = min(core.sizes or [core.n])
    if n < LEAST_ROWS:
        return too_few_rows(n)
    if design.complete:
        return sample_noise(core, statistics, normalize=normalize)
    if not isinstance(design, Cross):
        return (
            f"design == {design!r}, must be 'u', 'v' or 'x' for a standard error. "
            "Other designs use each row in too few pairs to estimate it."
        )
    if normalize:
        return (
            "normalize == True, must be False for the standard error of design == "
            f"{design!r}."
        )
    [region] = design.regions(n)
    [(rows, cols)] = core.walk([region])
    n_rows, n_cols, shares = rows.shape[1], cols.shape[1], statistics.shares
    some = [
        start + noise_rows(stop - start, n_samples=2)
        for start, stop in (region[:2], region[2:4])
    ]
    of_rows = np.var(shares @ rows / n_cols, ddof=n_rows > 1) / n_rows
    of_cols = np.var(shares @ cols / n_rows, ddof=n_cols > 1) / n_cols
    dense = core.dense(*some)
    H: Any = sum(shares[k] * values.astype(np.float64) for k, values in dense)
    H = H - H.mean(axis=0) - H.mean(axis=1, keepdims=True) + H.mean()
    # Row means and column means both hold the variance of the core, which counts once.
    both = np.mean(np.square(H)) / (n_rows * n_cols)
    variance = max(of_rows + of_cols - both, of_rows, of_cols)
    return float(np.sqrt(variance)), max(min(n_rows, n_cols) - 1, 1)


def warn_unused(n_unused: int, n_rows: int, why: str, where: str = "") -> None:
    """Warn about the number of rows that a design does not use."""
    warn_user(f"{n_unused} of {n_rows} rows are not used{where}: {why}")


def warn_left_out(design: Design, n: int, where: str = "") -> None:
    """Say how many of n rows a design has in no pair."""
    if n_unused := design.n_unused(n):
        why = f"the design {design!r} has no pair for the last."
        warn_unused(n_unused, n, why, where)


def refuse_far_pairs(design: Design, *samples: Any) -> None:
    """Refuse pairs of rows that are read by blocks."""
    if any(isinstance(sample, LazyRows) for sample in samples):
        raise ValueError(
            f"design == {design!r}, must be 'u' or 'v', with second_order=False and "
            "paired=False, for a sample that is read by blocks, because the two rows "
            "of a pair may be in blocks that are not in memory at the same time. Pass "
            "an array, a sparse matrix or a DataFrame."
        )


def refuse_pair_weights(design: Design, *weights: np.ndarray | None) -> None:
    """Refuse weights of pairs, unless all remaining rows have the same weight."""
    if any(of_rows is not None and np.ptp(of_rows) > 0 for of_rows in weights):
        raise ValueError(
            f"design == {design!r}, must be 'v' or 'u' with second_order=False, if "
            "sample_weight has different weights above zero, because two rows of "
            "different weights form no pair."
        )


def paired_size(X: Any, Y: Any, design: Design) -> int:
    """Return the number of pairs (X_i, Y_i), and warn about rows in no pair."""
    refuse_far_pairs(design, X, Y)
    m, n = len(X), len(Y)
    if m != n:
        if design.complete:
            raise ValueError(
                f"second_order == True, must be False for samples of different sizes, "
                f"{m} and {n} rows, with the design {design!r}."
            )
        warn_unused(
            abs(m - n),
            max(m, n),
            f"the design {design!r} pairs the rows of two samples, and the other "
            f"sample has {min(m, n)} rows.",
        )
    warn_left_out(design, min(m, n), " in each sample")
    return min(m, n)
