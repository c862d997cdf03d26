"""Statistics of dependence from features of the rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._gram.frequency_groups import (
    FeaturePair,
    LineMoments,
    block_sums,
    unbiased_products,
)
from skdiscrepancy._gram.run import progress
from skdiscrepancy._statistics.noise import (
    LEAST_ROWS,
    Noise,
    RowMeans,
    centred_product,
    doubly_centred,
    noise_of,
    noise_rows,
)
from skdiscrepancy._statistics.second_order import Statistics, too_few_rows


def dependence_of_features(
    pair: FeaturePair, *, unbiased: bool, scales: bool = True
) -> Statistics:
    """Compute the complete statistics of all products of kernels from features.

    The statistics are means over groups of frequencies. For one group, let a and b be
    the features of a row on both sides minus their means, C the matrix of covariances
    of a and b, and s and t the squared norms of a and b. The V-statistic is |C|^2, and
    the U-statistic of [1]_ is n / (n - 3) times
    |C|^2 - cov(s, t) / (n - 2) - mean(s) mean(t) / (n - 1).

    The scale sigma_k takes a second pass over the rows, because the projection of the
    core on a row needs C.

    Parameters
    ----------
    pair : FeaturePair
        Features of the kernels on x and y.
    unbiased : bool
        U-statistic or V-statistic.
    scales : bool, default=True
        Whether the scales are needed. All scales are 1 otherwise.

    Returns
    -------
    statistics : Statistics
        Statistics, with the standard errors from the draw of random features.

    References
    ----------
    .. [1] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.
    """
    n = pair.n
    if unbiased and n < 4:
        raise ValueError(f"n_samples == {n}, must be >= 4 for the unbiased HSIC.")
    quiet = np.errstate(all="ignore")
    with progress("kernel sums", 1 + 2 * scales, pair.run.verbose) as passes, quiet:
        totals = pair.sums()
        passes.advance()
        groups = [_Group.of(pair, g, *sums) for g, sums in enumerate(totals)]
        values = np.array([group.statistics(unbiased=unbiased) for group in groups])
        sizes = np.mean([np.outer(own.x.sizes, own.y.sizes) for own in groups], axis=0)
        deviations = np.ones_like(sizes)
        if scales:
            forms, means = [], np.zeros_like(sizes)
            for group in groups:
                form, mean = group.projection(len(groups), unbiased=unbiased)
                forms.append(form)
                means += mean
            passes.step = 2
            variances = pair.variances(forms, means)
            passes.advance()
            factor = 2 * n * (n - 2) / ((n - 1) * (n - 3)) if unbiased else 2.0
            deviations = factor * np.sqrt(variances)
        errors = _errors(values, np.logical_and.outer(pair.x.exact, pair.y.exact))
    return Statistics(
        values.mean(axis=0).ravel(),
        deviations.ravel(),
        float(n),
        sizes.ravel(),
        np.dtype(np.float64),
        errors.ravel(),
    )


# Rows from which the noise is estimated, for all groups and kernels at once.
NOISE_ROWS = 200


def feature_noise(
    pair: FeaturePair, statistics: Statistics, *, normalize: bool
) -> Noise | str:
    """Estimate the noise of the mean over all products of kernels from features.

    The core is the mean over groups of the products of centred matrices.
    """
    n = pair.n
    if n < LEAST_ROWS:
        return too_few_rows(n)
    rows = noise_rows(n, most=NOISE_ROWS)
    v = np.full(len(rows), 1 / len(rows))
    x, y = (
        _centred_groups(side, block, rows)
        for side, block in zip((pair.x, pair.y), pair.blocks.take(rows), strict=True)
    )
    if normalize or len(statistics.values) == 1:
        places = np.ndindex(x.shape[1], y.shape[1])
        matrices = (
            (k, *centred_product(x[:, a], y[:, b], v))
            for k, (a, b) in enumerate(places)
        )
        return noise_of(matrices, [v], [float(n)], statistics, normalize=normalize)
    # The mean over products is the product of the mean kernels.
    H = (x.mean(axis=1) * y.mean(axis=1)).mean(axis=0)
    mean = replace(statistics, scales=np.array([RowMeans.of(H, [v], [1.0]).scale]))
    return noise_of([(0, H)], [v], [float(n)], mean, normalize=False)


def _centred_groups(side: Any, block: Any, rows: np.ndarray) -> np.ndarray:
    """Return the centred matrix of each group and kernel, on some rows."""
    found = []
    for g in range(len(side.groups)):
        F = side.features(g, block, rows)
        F[side.is_norm[g]] = 0
        bounds = zip(side.starts[g], side.ends[g], strict=True)
        found.append([doubly_centred(F[a:b].T @ F[a:b]) for a, b in bounds])
    return np.array(found)


def _errors(values: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Return the standard errors of means over groups of frequencies.

    The quasi-random frequencies of different groups spread more evenly than independent
    frequencies, so this is an upper bound as a rule. A single group does not show how
    much groups differ.
    """
    n_groups = len(values)
    if n_groups < 2:
        return np.where(exact, 0.0, np.inf)
    return np.where(exact, 0.0, values.std(axis=0, ddof=1) / np.sqrt(n_groups))


class _Group(NamedTuple):
    """Covariances of the features of one group of frequencies.

    Attributes
    ----------
    n : int
        Number of rows.
    x, y : LineMoments
        LineMoments of both sides.
    starts : tuple of ndarray
        First lines of the kernels of both sides.
    covariances : ndarray of shape (n_lines_x, n_lines_y)
        Covariances of all lines.
    inside : ndarray of shape (n_lines_x, n_lines_y), of bool
        Whether both lines are features, not squared norms.
    """

    n: int
    x: LineMoments
    y: LineMoments
    starts: tuple[np.ndarray, ...]
    covariances: np.ndarray
    inside: np.ndarray

    @classmethod
    def of(
        cls, pair: FeaturePair, g: int, x: Any, y: Any, xs: Any, ys: Any, products: Any
    ) -> _Group:
        """Return the covariances of a group from sums over rows."""
        n, sides = pair.n, (pair.x, pair.y)
        of_x = LineMoments.of(pair.x, g, n, x, xs)
        of_y = LineMoments.of(pair.y, g, n, y, ys)
        C = products / n - np.outer(of_x.means, of_y.means)
        inside = np.logical_and.outer(*(~side.is_norm[g] for side in sides))
        return cls(n, of_x, of_y, tuple(side.starts[g] for side in sides), C, inside)

    def statistics(self, *, unbiased: bool) -> np.ndarray:
        """Return the statistics of all products of kernels."""
        squares = block_sums(np.square(self.covariances) * self.inside, *self.starts)
        if not unbiased:
            return squares
        W = np.outer(self.x.weights, self.y.weights)
        linear = block_sums(W * self.covariances, *self.starts)
        return unbiased_products(
            squares, linear, np.outer(self.x.spreads, self.y.spreads), self.n
        )

    def projection(
        self, n_groups: int, *, unbiased: bool
    ) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
        """Return what the projection of the core on a row is, up to a constant.

        For the V-statistic, it is a' C b. The U-statistic centres the kernels without
        their diagonals, and the projection has these terms of the squared norms s and t
        besides, all of them linear in the lines of features.

        Returns
        -------
        form : tuple
            What `FeaturePair.variances` needs, for the mean over all groups.
        means : ndarray of shape (n_kernels_x, n_kernels_y)
            Means over all rows.
        """
        x, y, n, (x_starts, y_starts) = self.x, self.y, self.n, self.starts
        C = self.covariances
        M = C * self.inside
        of_x = np.zeros((len(x.means), len(y.spreads)))
        of_y = np.zeros((len(x.spreads), len(y.means)))
        if unbiased:
            of_x += np.add.reduceat(C * y.weights, y_starts, axis=1)
            of_x[~self.inside.any(axis=1)] = 0
            of_x -= np.outer(x.weights, y.spreads)
            of_y += np.add.reduceat(C * x.weights[:, np.newaxis], x_starts, axis=0)
            of_y[:, ~self.inside.any(axis=0)] = 0
            of_y -= np.outer(x.spreads, y.weights)
            of_x, of_y = of_x / (n - 2), of_y / (n - 2)
            M = M - (n - 1) / (n - 2) ** 2 * np.outer(x.weights, y.weights)
        means = block_sums(M * C, x_starts, y_starts)
        # The lines are not centred.
        of_x -= np.add.reduceat(M * y.means, y_starts, axis=1)
        of_y -= np.add.reduceat(M * x.means[:, np.newaxis], x_starts, axis=0)
        both = block_sums(M * np.outer(x.means, y.means), x_starts, y_starts)
        means += both
        means += np.add.reduceat(of_x * x.means[:, np.newaxis], x_starts, axis=0)
        means += np.add.reduceat(of_y * y.means, y_starts, axis=1)
        return (M / n_groups, of_x / n_groups, of_y / n_groups), means / n_groups
