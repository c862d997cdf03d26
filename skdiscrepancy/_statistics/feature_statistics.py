"""Statistics of two samples from features of their rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._data.arrays import SparseRows, aligned_products, as_rows
from skdiscrepancy._data.targets import other_weights
from skdiscrepancy._gram.feature_maps import FeatureMaps
from skdiscrepancy._gram.feature_sums import (
    Blocks,
    FeatureTask,
    KeptFeatures,
    Lines,
    PieceRows,
    Totals,
    blocks_of,
    feature_totals,
    keep_features,
    row_values,
    run_pieces,
    sums_of_squares,
)
from skdiscrepancy._gram.run import QUIET, Run, progress
from skdiscrepancy._gram.two_sample_sums import stacked_weights
from skdiscrepancy._statistics.noise import NO_FEATURE_ERRORS
from skdiscrepancy._statistics.second_order import Statistics, check_finite
from skdiscrepancy._statistics.two_samples import harmonic_size
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels._base import KernelLike

# Largest size of the diagonal that is subtracted, relative to all other pairs.
MOST_CANCELLATION = 1e6


class _Sample(NamedTuple):
    """The sum of squared weights that sum to one, and 1 minus this sum."""

    squares: float
    others: float

    @classmethod
    def of(cls, weights: np.ndarray) -> _Sample:
        return cls(float(weights @ weights), float(weights @ other_weights(weights)))


def feature_statistics(
    maps: FeatureMaps,
    blocks: Blocks,
    weights: np.ndarray | None = None,
    *,
    unbiased: bool,
    scales: bool = True,
    kept: KeptFeatures | None = None,
    held_out: bool = False,
    run: Run = QUIET,
) -> Statistics:
    """Compute the complete statistics of two samples from features of their rows.

    With the weighted means x and y of the features, the V-statistic is |x - y|^2. The
    U-statistic and the scale are as in :func:`two_sample_mmd`. The scale takes a second
    pass over the rows: it is the standard deviation of inner products with vectors that
    depend on x and y, and one pass would need all products of two features.

    Parameters
    ----------
    maps : FeatureMaps
        Features of the kernels.
    blocks : Blocks
        Rows of the two samples.
    weights : ndarray of shape (m + n,) or None, default=None
        Positive weights of the stacked rows, which sum to one for each sample. None
        stands for equal weights.
    unbiased : bool
        U-statistic or V-statistic.
    scales : bool, default=True
        Whether the scales are needed. All scales are 1 otherwise.
    kept : KeptFeatures or None, default=None
        Sums over the first sample without weights, if they are kept.
    held_out : bool, default=False
        Whether the rows of the second sample are rows of the first, and are compared
        with its other rows. Needs `kept`.
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    statistics : Statistics
        Statistics, with the standard errors from the draw of random features.
    """
    m: float
    n: float
    m, n = blocks.sizes
    if weights is None:
        m -= n if held_out else 0
        if min(m, n) < 1 + unbiased:
            raise ValueError(
                f"n_samples == {min(m, n)}, must be >= 2 for the unbiased MMD."
            )
        samples = [_Sample(1 / size, 1 - 1 / size) for size in (m, n)]
    else:
        samples = [_Sample.of(w) for w in np.split(weights, [blocks.sizes[0]])]
        if unbiased and max(s.squares / s.others for s in samples) > MOST_CANCELLATION:
            raise ValueError(
                "sample_weight has almost all weight in one row, so the U-statistic "
                "from random features has too few digits. Use n_components=None, "
                "design='v' or other weights."
            )
        m, n = (1 / s.squares for s in samples)
    K = maps.n_kernels
    values, errors, sizes, deviations = *np.zeros((3, K)), np.ones(K)
    quiet = np.errstate(all="ignore")
    with progress("kernel sums", 1 + scales, run.verbose) as passes, quiet:
        means = _mean_features(maps, blocks, weights, kept, held_out, run=run)
        passes.advance()
        for k in range(K):
            terms = _terms(means, k, samples, unbiased)
            values[k], errors[k] = terms.sum(), feature_error(maps, k, terms)
            sizes[k] = max(
                diagonal / s.squares * (1 + unbiased * s.squares / s.others)
                for diagonal, s in zip(means.diagonals[:, k], samples, strict=True)
            )
        if scales:
            if weights is None:
                lines = [
                    _lines(means, (0, 1), m, unbiased),
                    _lines(means, (1, 0), n, unbiased),
                ]
                squares = _squares(maps, blocks, lines, kept, held_out, run=run)
                var_a, var_b = squares[0] / m, squares[1] / n
            else:
                var_a, var_b = _variances(
                    maps, blocks, weights, means, unbiased, run=run
                )
            deviations = np.sqrt(4 * harmonic_size(m, n) * (var_a / m + var_b / n))
            passes.advance()
    dtype = np.dtype(np.float64)
    return Statistics(values, deviations, harmonic_size(m, n), sizes, dtype, errors)


def _mean_features(
    maps: FeatureMaps,
    blocks: Blocks,
    weights: np.ndarray | None = None,
    kept: KeptFeatures | None = None,
    held_out: bool = False,
    *,
    run: Run = QUIET,
) -> Totals:
    """Return the sums over two samples, with weights that sum to one for each."""
    if weights is not None:
        return feature_totals(maps, blocks, weights, samples=(0, 1), run=run)
    m, n, *_ = blocks.sizes
    some = (0, 1) if kept is None else (1,)
    found = feature_totals(maps, blocks, samples=some, run=run)
    (first, second, *_), (own, other, *_) = found
    if kept is not None:
        first, own = kept.sums, kept.diagonals
    if held_out:
        m -= n
        first = [S - T for S, T in zip(first, second, strict=True)]
        own = own - other
    means = [[S / m for S in first], [T / n for T in second]]
    return Totals(means, np.array([own / m**2, other / n**2]))


def _squares(
    maps: FeatureMaps,
    blocks: Blocks,
    lines: list[Lines],
    kept: KeptFeatures | None,
    held_out: bool,
    *,
    run: Run = QUIET,
) -> np.ndarray:
    """Sum the squares of one function for each sample, with the sums that are kept."""
    if kept is None or kept.moments is None:
        squares = sums_of_squares(maps, blocks, lines, run=run)
    else:
        squares = sums_of_squares(maps, blocks, lines, samples=(1,), run=run)
        squares[0] = kept.sums_of_squares(maps, lines[0], blocks.sizes[0])
    if held_out:
        # The first sample holds the rows of the second.
        first = [lines[0]] * 2
        squares[0] -= sums_of_squares(maps, blocks, first, samples=(1,), run=run)[1]
    return np.maximum(squares, 0)


def _terms(means: Totals, k: int, samples: list[_Sample], unbiased: bool) -> np.ndarray:
    """Return the part of each feature in the statistic of a kernel.

    A difference of means loses fewer digits than a difference of sums over pairs.
    """
    x, y = means.sums[0][k], means.sums[1][k]
    terms = np.square(x - y)
    if not unbiased:
        return terms
    for mean, diagonal, s in zip((x, y), means.diagonals[:, k], samples, strict=True):
        # The pairs (i, i) have the mean k(x_i, x_i), which is spread over all features:
        # for each frequency, cos^2 + sin^2 = 1.
        own = np.square(mean) * s.squares - diagonal / len(mean)
        terms = terms + own / s.others
    return terms


def feature_error(maps: FeatureMaps, k: int, terms: np.ndarray) -> float:
    """Return the standard error of a statistic from its random frequencies.

    Each frequency gives an unbiased estimate. The quasi-random frequencies spread more
    evenly than independent frequencies, so this is an upper bound as a rule. A single
    frequency does not show how much frequencies differ.
    """
    variance = 0.0
    for positions in maps.frequencies(k):
        parts = terms[positions].sum(axis=0)
        n = len(parts)
        variance += n * np.var(parts, ddof=1) if n > 1 else np.inf
    return float(np.sqrt(variance))


def _lines(means: Totals, order: tuple[int, int], m: float, unbiased: bool) -> Lines:
    """Return mean_i' k(x_i, x_i') - mean_j k(x_i, y_j) minus its mean over i."""
    own, other = order
    factor, share = m / (m - unbiased), unbiased / (m - 1 or 1)
    weights = [
        factor * x - y for x, y in zip(means.sums[own], means.sums[other], strict=True)
    ]
    inner = [x @ w for x, w in zip(means.sums[own], weights, strict=True)]
    return Lines(weights, inner - share * m * means.diagonals[own], share)


def feature_contributions(
    maps: FeatureMaps,
    blocks: Blocks,
    kept: KeptFeatures | None = None,
    weights: np.ndarray | None = None,
    *,
    run: Run = QUIET,
) -> np.ndarray:
    """Compute the contribution of each row of the second of two samples to MMD.

    For the mean of all kernels, as :func:`row_contributions`, from features of the
    rows, in two passes. `kept` are sums over the first sample, if they are kept.
    `weights` of the stacked rows sum to one for each sample.
    """
    # Results that are not finite are refused, without a warning before.
    with np.errstate(all="ignore"):
        totals = _mean_features(maps, blocks, weights, kept, run=run)
        means = list(zip(*totals.sums[:2], strict=True))
        offsets = np.array([-x @ x for x, _ in means])
        lines = Lines([y - 2 * x for x, y in means], offsets)
        values = row_values(maps, blocks, lines, 1, run=run)
    return check_finite(values / maps.n_kernels)


def feature_witness(
    maps: FeatureMaps,
    blocks: Blocks,
    weights: np.ndarray | None = None,
    *,
    run: Run = QUIET,
) -> np.ndarray:
    """Compute the witness function of two samples at the rows of a third.

    For the mean of all kernels, as :func:`witness_values`, from features of the rows.
    `weights` of the stacked rows sum to one for each sample.
    """
    with np.errstate(all="ignore"):
        x_means, y_means, *_ = _mean_features(maps, blocks, weights, run=run).sums
        weights_of = [y - x for x, y in zip(x_means, y_means, strict=True)]
        lines = Lines(weights_of, np.zeros(maps.n_kernels))
        values = row_values(maps, blocks, lines, 2, run=run)
    return check_finite(values / maps.n_kernels)


def _variances(
    maps: FeatureMaps,
    blocks: Blocks,
    weights: np.ndarray,
    means: Totals,
    unbiased: bool,
    *,
    run: Run,
) -> np.ndarray:
    """Return the weighted variances of the differences of row means of each sample."""
    parts = np.split(weights, [blocks.sizes[0]])
    others = np.concatenate([other_weights(w) for w in parts])
    work = FeatureTask(blocks, _moments_of, maps, weights, others, means, unbiased)
    moments = np.zeros((2, 2, maps.n_kernels))
    for piece, part in run_pieces(work, run=run):
        moments[piece.sample] += part
    return np.maximum(moments[:, 1] - moments[:, 0] ** 2, 0)


def _moments_of(
    maps: FeatureMaps,
    weights: np.ndarray,
    others: np.ndarray,
    totals: Totals,
    unbiased: bool,
    given: PieceRows,
) -> np.ndarray:
    """Return weighted sums of the differences of row means, and of their squares.

    The differences are measured from numbers near their means, which lose no digits.
    """
    found = np.zeros((2, maps.n_kernels))
    sample, index = given.piece.sample, given.positions
    for strip, k, F in maps.strips(given.block, given.positions):
        w = weights[index[strip]]
        own = totals.sums[sample][k]
        other = totals.sums[1 - sample][k]
        means = F @ own
        if unbiased:
            unit = maps.has_unit_norm(k)
            means = means - w * (1.0 if unit else aligned_products(F, F))
            means /= others[index[strip]]
        values = means - F @ other - own @ (own - other)
        found[:, k] += w @ values, w @ values**2
    return found


class FeatureReference(NamedTuple):
    """A reference sample, features of its kernels, and sums of its features.

    Attributes
    ----------
    rows : ndarray, csr_array or LazyRows of shape (m, n_features)
        The sample.
    kernels : list of kernel objects
        Kernels, each with one number as bandwidth.
    n_components : int
        Number of random features for each kernel.
    seed : int
        Seed of the random features.
    scales : bool
        Whether the scales are needed.
    weights : ndarray of shape (m,) or None
        Positive weights of the rows, if they have weights. No sums are kept then.
    maps : FeatureMaps or None
        Features of the kernels on this sample, if the sums are kept.
    sums : KeptFeatures or None
        Sums over the sample, if they are kept.
    """

    rows: Any
    kernels: list[KernelLike]
    n_components: int
    seed: int
    scales: bool
    weights: np.ndarray | None = None
    maps: FeatureMaps | None = None
    sums: KeptFeatures | None = None
    run: Run = QUIET

    def with_sums(self) -> FeatureReference:
        """Sum the features of the sample, unless they depend on other rows too."""
        X = as_rows(self.rows)
        maps = FeatureMaps(self.kernels, self.n_components, self.seed, X)
        if maps.labels or self.weights is not None:
            return self
        # Results that are not finite are refused in a score.
        with np.errstate(all="ignore"):
            sums = keep_features(maps, X, scales=self.scales, run=self.run)
        return self._replace(maps=maps, sums=sums)

    def _parts(self, Y: Any) -> tuple[FeatureMaps, Blocks, KeptFeatures | None]:
        """Return features, the rows of both samples, and sums that can be used."""
        X = as_rows(self.rows)
        # Sparse rows are not centred, so they are compared with sparse rows.
        same_kind = isinstance(X, SparseRows) == isinstance(Y, SparseRows)
        if self.maps is not None and same_kind:
            return self.maps, blocks_of(X, Y), self.sums
        maps = FeatureMaps(self.kernels, self.n_components, self.seed, X, Y)
        return maps, blocks_of(X, Y), None

    def noise(self, *args: Any, **kwargs: Any) -> str:
        """Say why there is no standard error."""
        return NO_FEATURE_ERRORS

    def statistics(
        self,
        Y: Any,
        design: Design,
        *,
        paired: bool = False,
        random_state: Any = None,
        weights: np.ndarray | None = None,
        held_out: bool = False,
    ) -> Statistics:
        """Compute the statistics of a sample against the reference sample.

        The parameters are those of `Reference.statistics`. There are no pairs
        (X_i, Y_i), and no random pairs.
        """
        maps, blocks, kept = self._parts(Y)
        return feature_statistics(
            maps,
            blocks,
            stacked_weights((self.weights, weights), blocks.sizes),
            unbiased=not design.biased,
            scales=self.scales,
            kept=kept,
            held_out=held_out,
            run=self.run,
        )

    def statistics_of_held_out(
        self,
        rows: np.ndarray,
        design: Design,
        *,
        paired: bool = False,
        random_state: Any = None,
    ) -> Statistics:
        """Compute the statistics of some rows of the reference against its other rows.

        The sums of the other rows follow from the sums that are kept.
        """
        Y = as_rows(self.rows)[rows]
        _, blocks, kept = self._parts(Y)
        if kept is not None:
            return self.statistics(Y, design, held_out=True)
        others = np.delete(np.arange(blocks.sizes[0]), rows)
        of_others, weights = (
            None if self.weights is None else self.weights[some]
            for some in (others, rows)
        )
        other = self._replace(rows=self.rows[others], weights=of_others)
        return other.statistics(Y, design, weights=weights)

    def contributions(self, Y: Any, weights: np.ndarray | None = None) -> np.ndarray:
        """Compute the contribution of each row of a sample, which may have weights."""
        maps, blocks, kept = self._parts(Y)
        stacked = stacked_weights((self.weights, weights), blocks.sizes)
        return feature_contributions(maps, blocks, kept, stacked, run=self.run)
