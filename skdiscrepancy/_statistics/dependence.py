"""Statistics of dependence, from kernels, Gram matrices or features."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data.arrays import effective_size, other_weights
from skdiscrepancy._data.checks import RandomStateLike, check_flag
from skdiscrepancy._gram.frequency_groups import (
    FeaturePair,
    LineMoments,
    block_sums,
    unbiased_products,
)
from skdiscrepancy._gram.products import UNIFORM, Centring, centred_products
from skdiscrepancy._gram.run import progress
from skdiscrepancy._gram.tiles import Gram, PairWeights, ProductGram
from skdiscrepancy._statistics.noise import (
    LEAST_ROWS,
    Noise,
    RowMeans,
    centred_product,
    doubly_centred,
    noise_of,
    noise_rows,
)
from skdiscrepancy._statistics.second_order import (
    Statistics,
    design_noise,
    matrix_gram,
    one_statistic,
    over_design,
    too_few_rows,
    warn_unused,
)
from skdiscrepancy.designs import Design, check_design
from skdiscrepancy.kernels._base import check_gram


class Norms(NamedTuple):
    """Sums of products of the weights of 2, 3 and 4 different rows.

    The sum over all tuples of different rows is 1 - sum w_i^2 for two rows. It is
    computed from positive terms only, so that it keeps its digits if one row has almost
    all weight.
    """

    two: float
    three: float
    four: float

    @classmethod
    def of(cls, weights: np.ndarray) -> Norms:
        """Compute the sums for weights that sum to one."""
        found, sums, factor = [], np.cumsum(weights), 1.0
        for size in (2, 3, 4):
            # Each row with the tuples of the rows before it.
            sums = np.cumsum(weights[size - 1 :] * sums[:-1])
            factor *= size
            found.append(factor * float(sums[-1]) if len(sums) else 0.0)
        return cls(*found)


def centring_offsets(
    row_sums: np.ndarray, weights: np.ndarray | None = None, *, unbiased: bool
) -> np.ndarray:
    """Return the offsets to subtract from rows and columns to centre a Gram matrix.

    The weighted rows of the matrix A_ij = K_ij - offset_i - offset_j then sum to zero,
    without the diagonal if `unbiased`. The V-statistic without weights has A = H K H.

    Parameters
    ----------
    row_sums : ndarray of shape (n_kernels, n_samples)
        Sums of w_j K_ij over j, without j = i if `unbiased`.
    weights : ndarray of shape (n_samples,) or None, default=None
        Weights that sum to one. None for sums of K_ij, without weights.
    unbiased : bool
        True for the U-statistic, False for the V-statistic.

    Returns
    -------
    offsets : ndarray of shape (n_kernels, n_samples)
        Offsets, for both rows and columns.
    """
    n = row_sums.shape[1]
    with np.errstate(all="ignore"):
        if weights is None:
            # The offsets of a constant matrix are exact.
            total, others = row_sums.sum(axis=1, keepdims=True), n - unbiased
            return (row_sums - total / (2 * others)) / (others - unbiased)
        if not unbiased:
            return row_sums - (row_sums @ weights)[:, np.newaxis] / 2
        # Row i says that (1 - 2 w_i) f_i + sum_j w_j f_j is the row sum r_i. We solve
        # for all f but the f of the largest weight d, because 1 - 2 w_d can be zero.
        d, others = int(np.argmax(weights)), other_weights(weights)
        gaps = others - weights
        shares = np.divide(weights, gaps, out=np.zeros_like(gaps), where=gaps > 0)
        shares[d] = 0
        total, sums = shares.sum(), row_sums @ shares
        largest = (row_sums[:, d] * (1 + total) - sums) / (others[d] + total * gaps[d])
        rest = (sums - weights[d] * total * largest) / (1 + total)
        known = weights[d] * largest + rest
        gaps[d] = 1
        offsets = (row_sums - known[:, np.newaxis]) / gaps
        offsets[:, d] = largest
        return offsets


def pair_weights(weights: np.ndarray, *, unbiased: bool) -> PairWeights:
    """Return the weights of pairs of rows in the statistic.

    The V-statistic has w_i w_j. For the U-statistic see :func:`complete_hsic`.
    """
    if not unbiased:
        return PairWeights(weights, [(1.0, weights)])
    centred = weights * (weights - 0.5)
    return PairWeights(weights, [(Norms.of(weights).two - 0.5, weights), (2, centred)])


def complete_hsic(
    row_sums: np.ndarray, weights: np.ndarray | None = None, *, unbiased: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Compute HSIC and its scale from the row sums of products of centred matrices.

    With A and B the centred matrices of :func:`centring_offsets`, the V-statistic is
    the sum of w_i w_j A_ij B_ij. The U-statistic is the mean of the fourth-order core
    of [1]_ over all four different rows i, j, q, r, weighted by w_i w_j w_q w_r. The
    core does not change when K_ij becomes A_ij. Inclusion and exclusion of equal rows
    then leave only a sum over i and j, of A_ij B_ij times w_i w_j times
    1 - sum w^2 - w_i - w_j + 2 w_i w_j. It is divided by the sum of the products of
    four weights. Equal weights give the unbiased estimator of [1]_, Equation 5, which
    is sum(A o B) / (N (N - 3)). The projection of the symmetrised core on sample i,
    Theorem 5, is ((N - 2) c_i + sum(c)) / (2 (N - 1) (N - 3)) with c = (A o B) 1. Its
    last term is the same for all samples and adds no variance. The V-statistic of equal
    weights is tr(KHLH) / N^2.

    Parameters
    ----------
    row_sums : ndarray of shape (n_kernels, n_samples)
        Row sums of A_ij B_ij times the weights of :func:`pair_weights`, without the
        diagonal if `unbiased`.
    weights : ndarray of shape (n_samples,) or None, default=None
        Positive weights that sum to one. None for row sums of A_ij B_ij.
    unbiased : bool
        U-statistic or V-statistic.

    Returns
    -------
    statistics, scales : ndarray of shape (n_kernels,)
        Squared HSIC and sigma_k, which is twice the weighted standard deviation of
        c_i = sum_j w_j A_ij B_ij. For the U-statistic, c_i has the weights of pairs,
        and a factor makes sigma_k the scale without weights if weights are equal.

    References
    ----------
    .. [1] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.
    """
    # Results that are not finite raise an error, without a warning before it.
    n = row_sums.shape[1]
    with np.errstate(all="ignore"):
        if weights is None:
            # The weights of pairs, if all weights are equal.
            pairs = (n - 1) * (n - 2) / n**4 if unbiased else 1 / n**2
            row_sums, weights = row_sums * pairs, np.full(n, 1 / n)
        statistics, rows = row_sums.sum(axis=1), row_sums / weights
        rows -= (rows @ weights)[:, np.newaxis]
        scales = 2 * np.sqrt(np.square(rows) @ weights)
        if unbiased:
            norms = Norms.of(weights)
            statistics = statistics / norms.four
            scales = scales * (norms.three / (norms.two**2 * norms.four))
        return statistics, scales


# Smallest sum of the products of four weights, by which rounding errors are divided,
# for values of four and of eight bytes.
LEAST_NORMS = {4: 1e-3, 8: 1e-8}


def complete_statistics(
    x: Gram, y: Gram, *, unbiased: bool, weights: np.ndarray | None = None
) -> Statistics:
    """Compute the complete statistics of the rows, for all products of kernels.

    `weights` are positive weights of the rows that sum to one.
    """
    four, pairs, nu = 1.0, UNIFORM, float(x.n)
    if weights is not None:
        four = Norms.of(weights).four if unbiased else 1.0
        if four < max(LEAST_NORMS[side.dtype.itemsize] for side in (x, y)):
            raise ValueError(
                "sample_weight has almost all weight in three rows or fewer, so the "
                "unbiased HSIC, which compares four different rows, has too few "
                "digits. Use design='v' or other weights."
            )
        pairs, nu = pair_weights(weights, unbiased=unbiased), effective_size(weights)
    offsets = partial(centring_offsets, weights=weights, unbiased=unbiased)
    finish = partial(complete_hsic, weights=weights, unbiased=unbiased)
    products = centred_products(x, y, Centring(offsets, not unbiased, pairs), finish)
    values, scales = products.results
    # The U-statistic divides rounding errors too.
    return Statistics(values, scales, nu, products.sizes / four, products.dtype)


def paired_core(x: Gram, y: Gram, design: Design | None = None) -> Gram:
    """Return the second-order core, on pairs of rows (Z_i, Z_{i+n}).

    Warn of the rows that the design does not use.
    """
    n_rows, n = x.n, x.n // 2
    left_out = 0 if design is None else design.n_unused(n)
    n_unused = n_rows % 2 + 2 * left_out
    if design is not None and n_unused:
        why = f"the design {design!r} pairs the rows i and i + {n}"
        if left_out:
            why += f", and leaves out the last {left_out} of {n} pairs"
        warn_unused(n_unused, n_rows, f"{why}.")
    return ProductGram(x.paired(), y.paired(), 0.25)


def hsic_statistics(
    x: Gram,
    y: Gram,
    design: Design,
    *,
    second_order: bool,
    random_state: RandomStateLike = None,
    weights: np.ndarray | None = None,
) -> Statistics:
    """Compute the statistics of a design for two Grams on the same rows.

    `weights` of the rows need a complete design and no `second_order`.
    """
    if second_order or not design.complete:
        return over_design(paired_core(x, y, design), design, random_state)
    if not design.biased and x.n < 4:
        raise ValueError(f"n_samples == {x.n}, must be >= 4 for the unbiased HSIC.")
    return complete_statistics(x, y, unbiased=not design.biased, weights=weights)


def hsic_from_gram(
    K: ArrayLike,
    L: ArrayLike,
    *,
    design: str | Design = "u",
    second_order: bool = False,
    normalize: bool = True,
    random_state: RandomStateLike = None,
) -> float:
    """Compute the squared Hilbert-Schmidt independence criterion from Gram matrices.

    Use this function if you have Gram matrices already, for example of strings or
    graphs. The V-statistic is tr(KHLH) / N^2 [1]_. The U-statistic is Equation 5 of
    [2]_. The incomplete designs come from [3]_.

    Read more in the :ref:`User Guide <hsic>`.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Gram matrix of X.
    L : array-like of shape (n_samples, n_samples)
        Gram matrix of y.
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design, default="u"
        Pairs of rows that enter the statistic. "u" and "v" use all pairs, the others
        fewer, which takes less time. See :mod:`skdiscrepancy.designs`.
    second_order : bool, default=False
        Pair the rows i and i + N/2 also for "u" and "v".
    normalize : bool, default=True
        Divide the statistic by its scale sigma_k.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the pairs that ``design="r"`` draws. None draws new ones in every call.
        The global generator of numpy is never used.

    Returns
    -------
    score : float
        The dependence. A larger score means a stronger dependence.

    See Also
    --------
    hsic_score : Computes HSIC from X and y.
    HSICEstimator : Scores several samples with the same kernels.

    References
    ----------
    .. [1] A. Gretton et al., "Measuring statistical dependence with Hilbert-Schmidt
       norms", ALT 2005.
    .. [2] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.
    .. [3] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import hsic_from_gram
    >>> round(hsic_from_gram(np.eye(4), np.eye(4), design="v", normalize=False), 4)
    0.1875
    """
    design = check_design(design)
    check_flag(second_order, "second_order")
    check_flag(normalize, "normalize")
    K, L = check_gram(K, "K"), check_gram(L, "L")
    if K.shape != L.shape:
        raise ValueError(f"L has shape {L.shape}, must be {K.shape} as K.")
    statistics = hsic_statistics(
        matrix_gram(K),
        matrix_gram(L),
        design,
        second_order=second_order,
        random_state=random_state,
    )
    return one_statistic(statistics, normalize=normalize)


def hsic_noise(
    x: Gram,
    y: Gram,
    design: Design,
    statistics: Statistics,
    weights: np.ndarray | None = None,
    *,
    second_order: bool,
    normalize: bool,
) -> Noise | tuple[float, int] | str:
    """Estimate the noise of the mean over all products of kernels, or say why not.

    HSIC is the statistic of the core A_ij B_ij, for the centred matrices A and B. The
    estimated centres change the statistic by terms of a smaller order only.
    """
    if second_order or not design.complete:
        return design_noise(paired_core(x, y), design, statistics, normalize=normalize)
    if x.n < LEAST_ROWS:
        return too_few_rows(x.n)
    measure = np.ones(x.n) if weights is None else weights
    size, n_products = effective_size(measure), len(statistics.scales)
    rows = noise_rows(x.n, n_products if normalize else 1)
    v = measure[rows] / measure[rows].sum()
    if normalize or n_products == 1:
        matrices = centred_matrices(x, y, rows, v)
        return noise_of(matrices, [v], [size], statistics, normalize=normalize)
    H = mean_centred(x, rows, v) * mean_centred(y, rows, v)
    return _noise_of_mean(H, v, size, statistics)


def _noise_of_mean(
    H: np.ndarray, v: np.ndarray, size: float, statistics: Statistics
) -> Noise:
    """Estimate the noise of the mean over products, the product H of mean kernels."""
    scales = np.array([RowMeans.of(H, [v], [1.0]).scale])
    mean = replace(statistics, scales=scales)
    return noise_of([(0, H)], [v], [size], mean, normalize=False)


def mean_centred(
    gram: Gram, rows: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the mean over kernels of the centred Gram matrices of some rows."""
    [(_, mean)] = gram.mean().dense(rows, rows)
    return doubly_centred(mean.astype(np.float64), weights)


def centred_matrices(
    x: Gram, y: Gram, rows: np.ndarray, v: np.ndarray
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield the product of the centred Gram matrices of each pair of kernels.

    With each product come the changes of the variance of its row means.
    """
    others = np.empty((y.n_kernels, len(rows), len(rows)))
    for k, values in y.dense(rows, rows):
        others[k] = doubly_centred(values.astype(np.float64), v)
    for a, values in x.dense(rows, rows):
        A = doubly_centred(values.astype(np.float64), v)
        for b, B in enumerate(others):
            yield a * y.n_kernels + b, *centred_product(A[np.newaxis], B[np.newaxis], v)


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
    H = (x.mean(axis=1) * y.mean(axis=1)).mean(axis=0)
    return _noise_of_mean(H, v, float(n), statistics)


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
