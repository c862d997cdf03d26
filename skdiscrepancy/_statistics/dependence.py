"""Statistics of dependence, from kernels, Gram matrices or features."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from skdiscrepancy._data.arrays import effective_size, other_weights
from skdiscrepancy._gram.frequency_groups import (
    MEAN_ROWS,
    VARIANCES,
    FeaturePair,
    LineMoments,
    unbiased_products,
)
from skdiscrepancy._gram.products import UNIFORM, Centring, centred_products
from skdiscrepancy._gram.run import progress
from skdiscrepancy._gram.tiles import Gram, PairWeights, ProductGram
from skdiscrepancy._statistics.noise import (
    LEAST_ROWS,
    Noise,
    Projections,
    RowBlocks,
    RowMeans,
    centred,
    centred_product,
    noise_of,
    noise_rows,
    too_few_rows,
)
from skdiscrepancy._statistics.second_order import Statistics, check_finite, warn_unused
from skdiscrepancy.designs import Design


class Norms(NamedTuple):
    """Sums of products of the weights of 2, 3 and 4 different rows."""

    two: float
    three: float
    four: float

    @classmethod
    def of(cls, weights: Any, n: int, itemsize: int = 8) -> Norms:
        """Compute the sums, or refuse weights that leave too few digits."""
        if n < 4:
            raise ValueError(f"n_samples == {n}, must be >= 4 for the unbiased HSIC.")
        if not np.ndim(weights):
            return cls(*np.cumprod(1 - np.arange(1, 4) / n).tolist())
        found, sums, factor = [], np.cumsum(weights), 1.0
        for size in (2, 3, 4):
            # Each row with the tuples of the rows before it.
            sums = np.cumsum(weights[size - 1 :] * sums[:-1])
            factor *= size
            found.append(factor * float(sums[-1]))
        if found[-1] < LEAST_NORMS[itemsize]:
            raise ValueError(
                "sample_weight has almost all weight in three rows or fewer, so the "
                "unbiased HSIC, which compares four different rows, has too few "
                "digits. Use design='v' or other weights."
            )
        return cls(*found)

    @property
    def factor(self) -> float:
        """Factor of the projections of the U-statistic on rows."""
        return self.three / (self.two**2 * self.four)


# The V-statistic divides by nothing.
NO_NORMS = Norms(1.0, 1.0, 1.0)
# Smallest sum of the products of four weights, by which rounding errors are divided,
# for values of four and of eight bytes.
LEAST_NORMS = {4: 1e-3, 8: 1e-8}


def centring_offsets(
    row_sums: np.ndarray, weights: np.ndarray | None = None, *, unbiased: bool
) -> np.ndarray:
    """Return the offsets to subtract from rows and columns to centre Gram matrices.

    The weighted rows of A_ij = K_ij - offset_i - offset_j sum to zero, without the
    diagonal if `unbiased`.
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


def complete_hsic(
    norms: Norms, weights: np.ndarray | None, unbiased: bool, row_sums: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute HSIC and its scale from the row sums of products of centred matrices.

    The V-statistic is the sum of w_i w_j A_ij B_ij. The U-statistic is the mean of the
    fourth-order core of [1]_ over different rows, which does not change when K_ij
    becomes A_ij. Inclusion and exclusion of equal rows leave a sum of A_ij B_ij times
    w_i w_j times 1 - sum w^2 - w_i - w_j + 2 w_i w_j, for equal weights Equation 5,
    sum(A o B) / (N (N - 3)). The projection on sample i, Theorem 5, is ((N - 2) c_i +
    sum(c)) / (2 (N - 1) (N - 3)) with c = (A o B) 1. The scale is twice the standard
    deviation of c_i. The `row_sums` have these weights.

    References
    ----------
    .. [1] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.
    """
    # Results that are not finite raise an error, without a warning before it.
    with np.errstate(all="ignore"):
        totals, rows, w = _centred_rows(row_sums, weights, unbiased=unbiased)
        return _finish(totals, np.square(rows, out=rows) @ w, norms)


def _centred_rows(
    row_sums: np.ndarray, weights: np.ndarray | None, *, unbiased: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the totals of row sums, the row means less their mean, and the weights."""
    n, pairs, w = row_sums.shape[1], 1.0, weights
    if w is None:
        # The weights of pairs, if all weights are equal.
        pairs = (n - 1) * (n - 2) / n**4 if unbiased else 1 / n**2
        w = np.full(n, 1 / n)
    rows = row_sums * (pairs / w)
    rows -= (rows @ w)[:, np.newaxis]
    return pairs * row_sums.sum(axis=1), rows, w


def _finish(totals: Any, variances: Any, norms: Norms) -> tuple[Any, Any]:
    """Return the statistics and scales from the totals of products, and of rows."""
    return totals / norms.four, 2 * norms.factor * np.sqrt(variances)


def hsic_of_factors(
    products: Any, diagonals: np.ndarray, diagonal: np.ndarray, unbiased: bool
) -> Any:
    """Return HSIC from inner products of centred matrices, and diagonals."""
    n = len(diagonal)
    if not unbiased:
        return products / n**2
    spreads = diagonals.mean(axis=-1) * diagonal.mean()
    linear = diagonals @ diagonal / n - spreads
    return unbiased_products(products / n**2, linear, spreads, n)


def paired_core(x: Gram, y: Gram, design: Design) -> Gram:
    """Return the core on pairs of rows (Z_i, Z_{i+n}), and warn of rows in no pair."""
    n_rows, n = x.n, x.n // 2
    left_out = design.n_unused(n)
    if n_unused := n_rows % 2 + 2 * left_out:
        why = f"the design {design!r} pairs the rows i and i + {n}"
        if left_out:
            why += f", and leaves out the last {left_out} of {n} pairs"
        warn_unused(n_unused, n_rows, f"{why}.")
    return ProductGram(x.paired(), y.paired(), 0.25)


def hsic_statistics(
    x: Gram, y: Gram, w: np.ndarray | None = None, *, unbiased: bool
) -> Statistics:
    """Compute the complete statistics of two Grams on the same rows, with weights w."""
    norms, centring = _norms_and_centring(x, y, w, unbiased=unbiased)
    nu = float(x.n) if w is None else effective_size(w)
    finish = partial(complete_hsic, norms, w, unbiased)
    products = centred_products(x, y, centring, finish)
    # The U-statistic divides rounding errors too.
    sizes = products.sizes / (1.0 if w is None else norms.four)
    return Statistics.of(*products.results, nu, sizes, [products.dtype])


def _norms_and_centring(
    x: Gram, y: Gram, w: np.ndarray | None, *, unbiased: bool
) -> tuple[Norms, Centring]:
    """Return what a statistic divides by, and how matrices are centred and summed."""
    norms, pairs = NO_NORMS, UNIFORM
    if unbiased:
        itemsize = min(side.dtype.itemsize for side in (x, y))
        norms = Norms.of(1 / x.n if w is None else w, x.n, itemsize)
    if w is not None:
        # For the weights of pairs see `complete_hsic`.
        centred = [(norms.two - 0.5, w), (2, w * (w - 0.5))]
        pairs = PairWeights(w, centred if unbiased else [(1.0, w)])
    offsets = partial(centring_offsets, weights=w, unbiased=unbiased)
    return norms, Centring(offsets, not unbiased, pairs)


# Rows from which the noise of features is estimated, for all groups and kernels.
NOISE_ROWS = 200


def hsic_noise(
    source: Any, weights: np.ndarray | None, statistics: Statistics, *, normalize: bool
) -> Noise | str:
    """Estimate the noise of the mean over all products of kernels, or say why not.

    The core is A_ij B_ij for centred matrices, from a FeaturePair or from two Grams.
    """
    features = isinstance(source, FeaturePair)
    n = source.n if features else source[0].n
    if n < LEAST_ROWS:
        return too_few_rows(n)
    mean_only = not normalize and statistics.shares.max() < 1
    if features:
        rows = noise_rows(n, most=NOISE_ROWS)
        sides, v = source.matrices(rows), source.weights_of(rows)
    else:
        rows = noise_rows(n, len(statistics.scales) if normalize else 1)
        means = (side.mean() if mean_only else side for side in source)
        sides = [side.dense(rows, rows) for side in means]
        v = 1.0 if weights is None else weights[rows]
    v = v * np.ones(len(rows))
    v = v / v.sum()
    matrices: Any = centred_matrices(sides[0], sides[1], v, statistics.chosen)
    if mean_only:
        H = _mean_core(sides, v)
        scales = np.array([RowMeans.of(H, [v], [1.0]).scale])
        matrices, statistics = [(0, H)], replace(statistics, scales=scales)
    return noise_of(matrices, [v], [statistics.nu], statistics, normalize=normalize)


def _mean_core(sides: list[Any], v: np.ndarray) -> np.ndarray:
    """Return the mean core over kernels and groups, on rows with weights v."""
    # The mean over all products is the product of the mean kernels.
    x, y = (np.mean([A for _, A in _centred(side, v)], axis=0) for side in sides)
    return np.asarray(np.mean(x * y, axis=0))


def hsic_projections(
    source: Any, weights: np.ndarray | None = None, length: int | None = None
) -> Projections:
    """Return the U-statistic of the mean kernels, and its projections on the rows.

    `source` is a FeaturePair, or two Grams.
    """
    sides: Any
    if isinstance(source, FeaturePair):
        n, blocks = source.n, RowBlocks.of(source.n, length, 1)
        with np.errstate(all="ignore"):
            norms, powers, forms, of_groups, _ = _core_of_features(source, True)
            means = np.mean(of_groups, axis=0)
            rows = np.concatenate(source.fold(forms, powers, means, MEAN_ROWS))
        total, w = means.mean(), source.weights * np.ones(n)
        sides = source.matrices(blocks.rows)
    else:
        x, y = (side.mean() for side in source)
        blocks = RowBlocks.of(x.n, length, 1)
        norms, centring = _norms_and_centring(x, y, weights, unbiased=True)
        sums = centred_products(x, y, centring, tuple).results
        [total], [rows], w = _centred_rows(sums, weights, unbiased=True)
        sides = [side.dense(blocks.rows, blocks.rows) for side in (x, y)]
    value, v = check_finite(total / norms.four), w[blocks.rows]
    core = _mean_core(sides, v / v.sum())
    linear = {"rows": norms.factor * w * rows}
    return Projections.of(float(value), linear, core, [w], [blocks])


def _centred(side: Any, v: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the centred matrices of each kernel, one for each group of features."""
    for k, matrices in side:
        groups = matrices.reshape(-1, len(v), len(v))
        yield k, np.array([centred(K, [v]) for K in groups])


def centred_matrices(
    x: Any, y: Any, v: np.ndarray, chosen: int | None = None
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield products of centred Gram matrices, with changes of their variances."""
    others = dict(_centred(y, v))
    for a, A in _centred(x, v):
        for b, B in others.items():
            k = a * len(others) + b
            if chosen in (None, k):
                yield k, *centred_product(A, B, v)


# Smallest difference of the weight of a row and of all other rows, by which features
# divide.
LEAST_GAP = 1e-2


def dependence_of_features(
    pair: FeaturePair, *, unbiased: bool, scales: bool = True
) -> Statistics:
    """Compute the complete statistics of all products of kernels from features.

    They are means over groups of frequencies. Scales take a second pass over the rows.
    """
    w, n, varies = pair.weights, pair.n, np.ndim(pair.weights) > 0
    quiet = np.errstate(all="ignore")
    with progress("kernel sums", 1 + 2 * scales, pair.run.verbose) as passes, quiet:
        norms, powers, forms, of_groups, sizes = _core_of_features(pair, unbiased)
        passes.advance()
        means = np.mean(of_groups, axis=0)
        variances = np.ones_like(means)
        if scales:
            passes.step = 2
            variances = pair.fold(forms, powers, means, VARIANCES)
            passes.advance()
        statistics, deviations = _finish(means, variances, norms)
        # The quasi-random frequencies of different groups spread more evenly than
        # independent frequencies, so this is an upper bound as a rule. A single group
        # does not show how much groups differ.
        errors = np.full(means.shape, np.inf)
        if pair.n_groups > 1:
            spread = np.std(of_groups, axis=0, ddof=1) / norms.four
            errors = spread / np.sqrt(pair.n_groups)
        errors[np.logical_and.outer(pair.x.exact, pair.y.exact)] = 0
    return Statistics.of(
        statistics.ravel(),
        deviations.ravel() if scales else np.ones(means.size),
        effective_size(w) if varies else float(n),
        np.mean(sizes, axis=0).ravel() / (norms.four if varies else 1.0),
        [np.float64],
        errors.ravel(),
    )


def _core_of_features(pair: FeaturePair, unbiased: bool) -> tuple[Any, ...]:
    """Return norms and powers, and the forms, means and sizes of all groups."""
    w = pair.weights
    norms = Norms.of(w, pair.n) if unbiased else NO_NORMS
    if unbiased and np.min(np.abs(1 - 2 * w)) < LEAST_GAP:
        raise ValueError(
            "sample_weight has half of all weight in one row, so the unbiased HSIC "
            "from random features has too few digits. Use n_components=None, "
            "design='v' or other weights."
        )
    terms = _Terms.of(w, norms, unbiased=unbiased)
    found, share = [], 1.0 if np.ndim(w) else w
    for g, totals in enumerate(pair.sums(terms.powers)):
        means = [[share * total for total in own] for own in totals]
        sums = dict(zip(terms.powers, means, strict=True))
        found.append(_projection(pair, g, sums, terms))
    return norms, terms.powers, *zip(*found, strict=True)


class _Terms(NamedTuple):
    """What the weights w of rows enter, as polynomials in the gap y = 1 - 2 w of a row.

    A polynomial is a dict of its coefficients, by the powers of y. If all rows have one
    weight, it is a number. The weights of pairs are w_i w_j (c + y_i y_j / 2), with c =
    1/2 - sum w^2, which is w_i w_j times the sum of p_q y_i^q y_j^q over `pairs`.

    Attributes
    ----------
    powers : list of int
        Powers of y in all products.
    masses : dict
        Sums of w y^p over all rows.
    pairs : dict
        The factors p_q.
    own : dict
        The weight of the pair of a row with itself, divided by w y^2.
    norm, ones : dict
        The offset of a row is minus the sum of its squared norm times w / y, and of a
        constant times 1 / y. The V-statistic has no offsets.
    """

    powers: list[int]
    masses: dict[int, float]
    pairs: dict[int, float]
    own: dict[int, float]
    norm: dict[int, float]
    ones: dict[int, float]

    @classmethod
    def of(cls, w: Any, norms: Norms, *, unbiased: bool) -> _Terms:
        """Return the polynomials for a statistic."""
        if not unbiased:
            return cls([0], {0: 1.0}, {0: 1.0}, {}, {}, {})
        y, c = 1 - 2 * w, norms.two - 0.5
        if np.ndim(w):
            powers, pairs = [1, 0, -1, -2], {0: c, 1: 0.5}
            own = {1: -0.25, 0: 0.25, -1: -c / 2, -2: c / 2}
            masses = {p: float(w @ y**p) for p in powers}
            return cls(powers, masses, pairs, own, {0: -0.5, -1: 0.5}, {-1: 1.0})
        pair = c + y**2 / 2
        own = {0: w * pair / y**2}
        return cls([0], {0: 1.0}, {0: pair}, own, {0: w / y}, {0: 1 / y})


def _rows_of(side: Any, g: int, sums: Any, terms: _Terms) -> tuple[Any, ...]:
    """Return the vectors z and u of rows with A_ij = z_i . u_j, for centred matrices A.

    With the features a, measured from their means, and the offsets f of
    :func:`centring_offsets`, z = (a, f, 1) and u = (a, -1, -f). They are matrices times
    the lines and the ones of all kernels, one matrix for each power of the gap.

    Returns
    -------
    left, right : dict
        The matrices of z and u, by powers.
    own : ndarray of shape (n_lines + n_kernels,)
        A_ii is the sum over the lines and ones of a kernel with these weights, divided
        by the gap.
    kernels : ndarray of shape (n_kernels, n_lines + n_kernels)
        Which line and one belongs to which kernel.
    sizes : ndarray of shape (n_kernels,)
        Mean of k(x, x).
    """
    norms, every = side.is_norm[g], np.eye(side.n_kernels)
    moments = LineMoments.of(side, g, 1, *sums[0])
    m = np.where(norms, 0, moments.means)
    kernels = np.repeat(every, side.ends[g] - side.starts[g], axis=1)
    a = np.hstack((np.diag(1.0 * ~norms), -m[:, np.newaxis] * kernels.T))
    ones = np.hstack((np.zeros_like(kernels), every))
    # The squared norm of the features.
    constant = moments.spreads - kernels @ (moments.weights * moments.means)
    squares = np.hstack((kernels * moments.weights, every * constant))
    # The weighted mean of the offsets.
    middle = np.zeros(side.n_kernels)
    for p, c in terms.norm.items():
        x, xx = sums[p]
        middle -= (
            c * kernels @ np.where(norms, 0, xx - m * (2 * x - terms.masses[p] * m))
        )
    middle /= 1 + sum(c * terms.masses[p] for p, c in terms.ones.items())
    centre = middle[:, np.newaxis] * ones
    left, right = {}, {}
    for p in {0, *terms.norm, *terms.ones}:
        f = -terms.norm.get(p, 0) * squares - terms.ones.get(p, 0) * centre
        rest = float(p == 0)
        left[p] = csr_array(np.vstack((rest * a, f, rest * ones)))
        right[p] = csr_array(np.vstack((rest * a, -rest * ones, -f)))
    own = (squares + 2 * centre).sum(axis=0)
    return left, right, own, np.hstack((kernels, every)), moments.sizes


def _projection(
    pair: FeaturePair, g: int, sums: dict[int, Any], terms: _Terms
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return the projection of the core on a row, for one group of frequencies.

    Returns
    -------
    forms : list of ndarray
        What `FeaturePair.fold` needs, for each power.
    means : ndarray of shape (n_kernels_x, n_kernels_y)
        Weighted means over all rows.
    sizes : ndarray of shape (n_kernels_x, n_kernels_y)
        Magnitude of the terms.
    """
    (left, right, own, x_kernels, x_sizes), (of_y, by_y, own_y, y_kernels, y_sizes) = (
        _rows_of(side, g, {p: found[i:4:2] for p, found in sums.items()}, terms)
        for i, side in enumerate((pair.x, pair.y))
    )
    shape = len(x_kernels), len(y_kernels)
    # Sums over rows of the products of all lines and ones.
    moments = {
        p: np.block(
            [
                [C, np.tile(a[:, np.newaxis], shape[1])],
                [np.tile(b, (shape[0], 1)), np.full(shape, terms.masses[p])],
            ]
        )
        for p, (a, b, _, _, C) in sums.items()
    }
    forms = {p: -terms.own.get(p, 0) * np.outer(own, own_y) for p in sums}
    for q, factor in terms.pairs.items():
        both = product(right.items(), by_y.items())
        inner = sum(u @ moments[q + i + j] @ v.T for (i, u), (j, v) in both)
        for (i, u), (j, v) in product(left.items(), of_y.items()):
            forms[q + i + j] += factor * (u.T @ inner @ v)
    means: Any = sum(x_kernels @ (forms[p] * moments[p]) @ y_kernels.T for p in sums)
    return list(forms.values()), means, np.outer(x_sizes, y_sizes)
