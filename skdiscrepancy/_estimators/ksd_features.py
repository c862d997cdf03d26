r"""Features of Stein kernels, and the scores and tests that use them.

A stationary kernel is the mean of cos(w . (x - y)) over its frequencies w, so its Stein
kernel is h(x, y) = Re sum_w conj(xi_w(x)) . xi_w(y) with the features

.. math::

    \xi_w(x) = (s(x) + i w)\, e^{i w^\top x} / \sqrt{n_\mathrm{frequencies}},

where s is the gradient of the log-density. The d complex numbers of each frequency
never exist for single rows: their sums, and inner products with them, are matrix
products of the gradients and of the cosines and sines.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._data.blocks import LazyRows, spread_rows
from skdiscrepancy._data.checks import draw_seeds, generator_of
from skdiscrepancy._estimators.ksd_models import in_scale, lazy_stein_blocks
from skdiscrepancy._gram.feature_maps import FeatureMaps
from skdiscrepancy._gram.feature_sums import (
    ArrayBlocks,
    Blocks,
    FeatureTask,
    Piece,
    PieceRows,
    join,
    joined_values,
    run_pieces,
    sum_pieces,
)
from skdiscrepancy._gram.run import QUIET, Run, progress
from skdiscrepancy._gram.stein import check_squares
from skdiscrepancy._gram.tiles import Moments, check_group_memory
from skdiscrepancy._nulls.feature_groups import random_groups
from skdiscrepancy._nulls.groups import means_of_groups, wild_test_of_groups
from skdiscrepancy._nulls.pvalues import Options, TestResult
from skdiscrepancy._statistics.evaluations import DiscrepancyResult
from skdiscrepancy._statistics.second_order import (
    Statistics,
    check_finite,
    weight_masses,
)
from skdiscrepancy.designs import Design

# Bytes that the sums over groups of one piece may take. More sums take more passes.
GROUP_BYTES = 2**26
# A U-statistic is the difference of two sums. It must not be smaller by this factor.
MOST_CANCELLATION = 1e6


class SteinRows(NamedTuple):
    """Rows of samples, the gradients in the same pieces, and features of the kernels.

    All kernels have frequencies.
    """

    maps: FeatureMaps
    blocks: Blocks
    gradients: Blocks

    def frequencies(self, k: int) -> np.ndarray:
        """Return the frequencies of a kernel, of shape (n_features, n_frequencies)."""
        [part] = self.maps.parts[k]
        assert part.spectrum is not None
        return part.spectrum.factor * part.spectrum.base.T

    def select(self, kernels: range) -> SteinRows:
        """Return the same rows with some of the kernels."""
        return self._replace(maps=self.maps.select(kernels))

    def extended(self, piece: Piece) -> np.ndarray:
        """Return the gradients of a piece, and a column of ones."""
        S = self.gradients.read(piece)
        return np.column_stack((S, np.ones(len(S)))).astype(np.float64, copy=False)


def _features_of_sums(M: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return sums of Stein features, real parts and then imaginary parts.

    M holds the sums of the products of gradients with cosines and sines, for the
    frequencies W, and in the last row the sums of cosines and sines. It is overwritten.
    """
    P = W.shape[1]
    sums, ones = M[..., :-1, :], M[..., -1:, :]
    sums[..., :P] -= W * ones[..., P:]
    sums[..., P:] += W * ones[..., :P]
    return sums


class SteinTotals(NamedTuple):
    """Sums of Stein features over the rows of a sample, with weights.

    Also the sum of the squared gradients, with squared weights, and of the squared
    weights.
    """

    sums: list[np.ndarray]
    gradients: float
    rows: float


def _totals_of(
    rows: SteinRows, weights: np.ndarray | None, given: PieceRows
) -> tuple[list[Any], float, float]:
    S = rows.extended(given.piece)
    if weights is not None:
        S *= weights[given.positions, np.newaxis]
    totals: list[Any] = [0.0] * rows.maps.n_kernels
    for strip, k, F in rows.maps.strips(given.block, given.positions):
        totals[k] = totals[k] + S[strip].T @ F
    squares = np.einsum("ij,ij->j", S, S)
    return totals, squares[:-1].sum(), squares[-1]


def stein_totals(
    rows: SteinRows, weights: np.ndarray | None = None, *, run: Run = QUIET
) -> SteinTotals:
    """Sum the Stein features of the first sample, in one pass over its rows."""
    work = FeatureTask(rows.blocks, _totals_of, rows, weights)
    sums, of_gradients, of_rows = sum_pieces(work, samples=(0,), run=run)
    sums = [_features_of_sums(M, rows.frequencies(k)) for k, M in enumerate(sums)]
    return SteinTotals(sums, of_gradients, of_rows)


def _lines(rows: SteinRows, vectors: list[np.ndarray]) -> list[np.ndarray]:
    """Return what `_products` needs for inner products with one vector a kernel.

    xi(x) . v is linear in the products of gradients with cosines and sines.
    """
    lines = []
    for k, v in enumerate(vectors):
        W = rows.frequencies(k)
        cosine, sine = np.split(v, 2, axis=1)
        ones = np.concatenate(((W * sine).sum(axis=0), -(W * cosine).sum(axis=0)))
        lines.append(np.vstack((v, ones)).T)
    return lines


def _products(
    rows: SteinRows, lines: list[np.ndarray], S: np.ndarray, given: PieceRows
) -> np.ndarray:
    """Return the inner products of the features of rows with vectors, by kernel."""
    products = np.empty((rows.maps.n_kernels, len(S)))
    for strip, k, F in rows.maps.strips(given.block, given.positions):
        products[k, strip] = np.einsum("ij,ij->i", S[strip], F @ lines[k])
    return products


def _moments_of(
    rows: SteinRows,
    lines: list[np.ndarray],
    weights: np.ndarray | None,
    lengths: np.ndarray | int,
    unbiased: bool,
    given: PieceRows,
) -> Moments:
    S, index = rows.extended(given.piece), given.positions
    sums = _products(rows, lines, S, given)
    w = 1.0 if weights is None else weights[index]
    if unbiased:
        norms = np.einsum("ij,ij->i", S[:, :-1], S[:, :-1])
        squares = [_mean_square(rows.frequencies(k)) for k in range(len(lines))]
        sums -= w * np.add.outer(squares, norms)
    sums *= w
    return Moments.of_row_sums(
        sums, lengths if isinstance(lengths, int) else lengths[index]
    )


def _values_of(
    rows: SteinRows, lines: list[np.ndarray], given: PieceRows
) -> np.ndarray:
    return _products(rows, lines, rows.extended(given.piece), given).mean(axis=0)


def _mean_square(W: np.ndarray) -> float:
    """Return the mean of the squared norms of frequencies.

    It is the part of h(x, x) that does not depend on the gradient, because
    cos^2 + sin^2 = 1.
    """
    return float(np.square(W).sum() / W.shape[1])


def stein_feature_statistics(
    rows: SteinRows,
    weights: np.ndarray | None = None,
    *,
    unbiased: bool,
    scales: bool = True,
    run: Run = QUIET,
) -> Statistics:
    """Compute the complete statistics of the Stein kernel from its features.

    With the sum T of the features of n rows, the V-statistic is |T|^2 / n^2. The scale
    sigma_k takes a second pass over the rows, because it is the standard deviation of
    the inner products of all rows with T. Without `scales`, all scales are 1. The
    result has the standard errors from the draw of random features.
    """
    n = rows.blocks.sizes[0]
    lengths: np.ndarray | int = n - unbiased
    weight = float(n * lengths)
    if weights is not None:
        weights, lengths = weight_masses(weights, unbiased=unbiased)
        weight = float(lengths.sum())
    verbose = run.verbose
    quiet = np.errstate(all="ignore")
    with progress("kernel sums", 1 + scales, verbose) as passes, quiet:
        totals = stein_totals(rows, weights, run=run)
        passes.advance()
        # The diagonal, relative to all other pairs.
        cancellation = totals.rows / weight if unbiased else 0.0
        if cancellation > MOST_CANCELLATION:
            raise ValueError(
                "sample_weight has almost all weight in one row, so the U-statistic "
                "from random features has too few digits. Use n_components=None, "
                "design='v' or other weights."
            )
        K = rows.maps.n_kernels
        values, errors, sizes = np.zeros(K), np.zeros(K), np.zeros(K)
        for k, T in enumerate(totals.sums):
            W = rows.frequencies(k)
            P = W.shape[1]
            # The part of each frequency in the statistic, which is unbiased by itself.
            parts = np.square(T).sum(axis=0).reshape(2, P).sum(axis=0)
            diagonals = totals.gradients + totals.rows * np.square(W).sum(axis=0)
            if unbiased:
                parts -= diagonals / P
            parts /= weight
            values[k] = parts.sum()
            # A single frequency does not show how much frequencies differ.
            errors[k] = np.sqrt(P * np.var(parts, ddof=1)) if P > 1 else np.inf
            sizes[k] = (1 + cancellation) * diagonals.mean() / totals.rows
        deviations = np.ones(K)
        if scales:
            work = FeatureTask(
                rows.blocks,
                _moments_of,
                rows,
                _lines(rows, totals.sums),
                weights,
                lengths,
                unbiased,
                merge=Moments.merge,
            )
            deviations = sum_pieces(work, run=run).scale
            passes.advance()
    nu = float(n) if weights is None else 1 / totals.rows
    dtype = np.dtype(np.float64)
    return Statistics(values, deviations, nu, sizes, dtype, errors)


def _groups_of(
    rows: SteinRows, columns: slice, n_groups: int, given: PieceRows
) -> tuple[np.ndarray, np.ndarray]:
    piece, block, index, groups = given
    # In the order of the groups, each group is a slice of a strip.
    order = np.argsort(groups, kind="stable")
    block, index, groups = block[order], index[order], groups[order]
    S = rows.extended(piece)[order]
    squares = np.einsum("ij,ij->i", S[:, :-1], S[:, :-1])
    S = np.column_stack((S[:, columns], S[:, -1]))
    shape = rows.maps.n_kernels, n_groups, S.shape[1]
    sums = np.zeros((*shape, 2 * rows.maps.n_frequencies))
    for strip, k, F in rows.maps.strips(block, index):
        own = groups[strip]
        starts = np.flatnonzero(np.diff(own, prepend=-1))
        part = S[strip]
        for i, j in zip(starts, [*starts[1:], len(own)], strict=True):
            sums[k, own[i]] += part[i:j].T @ F[i:j]
    return sums, np.bincount(groups, squares, n_groups)


def stein_groups(
    rows: SteinRows, n_groups: int, seed: Any, *, run: Run = QUIET
) -> np.ndarray:
    """Sum the Stein kernel over all pairs of different rows of two groups.

    The rows are divided into groups at random. The sums of the features of all groups
    take n_groups * n_features * n_components numbers for each kernel. If this is much,
    the rows are read several times, for some kernels or columns at a time.
    """
    n = rows.blocks.sizes[0]
    G, K = min(n, n_groups), rows.maps.n_kernels
    check_group_memory(K, G)
    bounds = np.linspace(0, n, G + 1).astype(np.int64)
    sizes = bounds[1:] - bounds[:-1]
    nobody = np.zeros(G, dtype=np.int64)
    result = np.zeros((K, G, G))
    own = np.arange(G)
    passes = list(_passes(rows, G))
    verbose = run.verbose
    quiet = np.errstate(all="ignore")
    with progress("kernel sums", len(passes), verbose) as line, quiet:
        for kernels, columns in passes:
            some = rows.select(kernels)
            draw = np.random.default_rng(seed)
            groups = random_groups(rows.blocks, nobody == 0, sizes, nobody, draw)
            work = FeatureTask(rows.blocks, _groups_of, some, columns, G, is_large=True)
            sums: Any = None
            squares = np.zeros(G)
            for _, (part, of_gradients) in run_pieces(work, groups, run=run):
                sums = part if sums is None else np.add(sums, part, out=sums)
                squares += of_gradients
            for i, k in enumerate(kernels):
                W = rows.frequencies(k)
                F = _features_of_sums(sums[i], W[columns]).reshape(G, -1)
                result[k] += F @ F.T
                if columns.start == 0:
                    result[k, own, own] -= squares + sizes * _mean_square(W)
            line.advance()
    return check_finite(result)


def _passes(rows: SteinRows, n_groups: int) -> Iterator[tuple[range, slice]]:
    """Yield kernels and columns whose sums over groups fit into memory together."""
    K, d = rows.maps.n_kernels, rows.blocks.n_features
    column_bytes = 16 * n_groups * rows.maps.n_frequencies
    width = min(max(GROUP_BYTES // column_bytes - 1, 1), d)
    n_kernels = max(GROUP_BYTES // (column_bytes * (width + 1)), 1)
    n_batches = -(-K // n_kernels)
    bounds = np.linspace(0, K, n_batches + 1).astype(np.int64)
    for start, stop in pairwise(bounds.tolist()):
        for first in range(0, d, width):
            yield range(start, stop), slice(first, min(first + width, d))


# Number of groups of rows for the scales of samples that are drawn from the model. Each
# scale is a root of about 500 squares, so its standard error is about 3 %.
SCALE_GROUPS = 32


def check_features(n_components: Any, design: Design) -> None:
    """Refuse random features for a design that is not complete."""
    if n_components is not None and not design.complete:
        raise ValueError(
            f"n_components == {n_components}, must be None for the design {design!r}. "
            "Random features need design='u' or design='v'."
        )


def draw_features(estimator: Any, X: np.ndarray) -> None:
    """Draw the seed of the features of a fitted estimator, and check its kernels."""
    if estimator.n_components is None:
        return
    [estimator.feature_seed_] = draw_seeds(generator_of(estimator.random_state), 1)
    FeatureMaps(
        estimator.kernels_,
        estimator.n_components,
        estimator.feature_seed_,
        spread_rows(X)[:1],
    )


def _stein_rows(
    estimator: Any, seed: int, *samples: tuple[np.ndarray, np.ndarray]
) -> SteinRows:
    """Return samples and their gradients, with the features of the kernels."""
    blocks: list[Blocks]
    if any(isinstance(X, LazyRows) for X, _ in samples):
        scaled, *blocks = lazy_stein_blocks(
            estimator.score_function_, estimator.scale_, *(X for X, _ in samples)
        )
    else:
        both = [in_scale(estimator.scale_, *sample) for sample in samples]
        scaled = [X for X, _ in both]
        blocks = [ArrayBlocks(*scaled), ArrayBlocks(*(S for _, S in both))]
    check_squares(estimator.kernels_, np.dtype(np.float64))
    maps = FeatureMaps(estimator.kernels_, estimator.n_components, seed, *scaled)
    return SteinRows(maps, *blocks)


def _seed_of(estimator: Any) -> int:
    """Return the seed of the features of a fitted estimator."""
    if not hasattr(estimator, "feature_seed_"):
        raise ValueError(
            f"n_components == {estimator.n_components} was set after `fit`. Call `fit` "
            "again to draw random features."
        )
    return estimator.feature_seed_


def evaluate_features(
    estimator: Any,
    X: np.ndarray,
    gradients: np.ndarray,
    design: Design,
    weights: np.ndarray | None,
) -> DiscrepancyResult:
    """Compute the discrepancy of a sample from random features."""
    statistics = stein_feature_statistics(
        _stein_rows(estimator, _seed_of(estimator), (X, gradients)),
        weights,
        unbiased=not design.biased,
        scales=estimator.normalize,
        run=estimator._run,
    )
    return estimator._result(statistics, list(estimator.kernels_))


def witness_of_features(
    estimator: Any,
    points: tuple[np.ndarray, np.ndarray],
    sample: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Compute the witness function from rows and gradients of points and a sample."""
    rows = _stein_rows(estimator, _seed_of(estimator), sample, points)
    n, run = rows.blocks.sizes[0], estimator._run
    with np.errstate(all="ignore"):
        lines = _lines(rows, [T / n for T in stein_totals(rows, run=run).sums])
        work = FeatureTask(rows.blocks, _values_of, rows, lines, merge=join)
        return check_finite(joined_values(work, 1, run=run))


def test_of_features(
    estimator: Any, X: np.ndarray, gradients: np.ndarray, options: Options
) -> TestResult:
    """Test whether a sample comes from the model, with random features."""
    seed, division = draw_seeds(options.generator, 2)
    rows = _stein_rows(estimator, seed, (X, gradients))
    groups = stein_groups(rows, options.n_groups, division, run=options.run)
    return wild_test_of_groups(groups, len(X), options)


def means_of_features(
    estimator: Any, X: np.ndarray, seed: int, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the U-statistics of a sample, and their scales under random signs.

    The same seed gives the same features for all samples.
    """
    rows = _stein_rows(estimator, seed, (X, estimator._gradients(X)))
    groups = stein_groups(rows, SCALE_GROUPS, seed, run=Run(n_jobs))
    return means_of_groups(groups, len(X))
