"""Cyclic shifts of one or several variables, of all rows or in windows of rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial, reduce
from itertools import pairwise
from math import sqrt
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.fft import irfft, rfft

from skdiscrepancy._data.checks import draw_seeds
from skdiscrepancy._gram.feature_maps import at_rows
from skdiscrepancy._gram.features import FeatureGram
from skdiscrepancy._gram.frequency_groups import (
    FeaturePair,
    LineMoments,
    unbiased_products,
)
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.pieces import ArrayBlocks, Piece, PieceRows, PieceTask, add
from skdiscrepancy._gram.run import Work, end_if_stopped, progress, run_all
from skdiscrepancy._gram.tiles import Gram
from skdiscrepancy._loops.tile_loops import shifted_sums
from skdiscrepancy._nulls.pvalues import (
    CONSTANT,
    Options,
    TestResult,
    combine,
    corrupted_test,
    warn_if_powerless,
)
from skdiscrepancy._statistics.dependence import centring_offsets
from skdiscrepancy._statistics.second_order import check_finite
from skdiscrepancy.bandwidths import bounds_of

# Numbers of the values of one kernel on some diagonals.
CHUNK_NUMBERS = 2**14
# Work on all shifts, if the row sums of one source count as one.
SHIFTS = 4
# Fraction of the norm of a matrix, or of features, that centring a constant leaves.
ROUNDING = 1e-12
# Weight of the similarities beside HSIC, for the widest kernels. In 400 draws of twenty
# shapes of 50 rows, the mean power was .567 without them, .658 for .8 and .663 for .9,
# but spirals lost .02 and .05.
WEIGHT = 0.8
# Products of kernels with a smaller share have too small a weight to be of use.
LEAST_SHARE = 0.1


# The rows of a variable, and its kernels.
Variable = tuple[Any, list[Any]]


def shift_test(x: Variable, y: Variable, options: Options) -> TestResult:
    """Test whether the rows of x and y are independent, by HSIC for all products.

    The rows of y are shifted cyclically against the rows of x, by 0 to n - 1 steps.
    Shifts form a group, so the type I error is exact for exchangeable rows. If more
    than n resamples are needed, y is put into another random order and shifted again.
    For the method "shift", the rows keep their order, and the test is valid for
    stationary time series.

    With blocks, random orders keep blocks of neighbouring rows together, and pairs of
    rows that are nearer than a block are left out, of the first and last rows as well.
    """
    n, length = x[0].shape[0], options.block_length
    first = _row_order(n, options, 0)
    of_x = cache(partial(_with_offsets, x, first, options))

    def sides(orbit: int) -> Any:
        order = first[_row_order(n, options, orbit)] if orbit else first
        return of_x(), _with_offsets(y, order, options)

    if options.n_corrupted:
        biased = partial(all_shifts, nearest=0)
        parts, *_ = _each_orbit(n, options, sides, biased, SHIFTS)
        kernels = zip(*options.kernels, strict=True)
        bounds = np.prod([bounds_of(side) for side in kernels], axis=0)
        sensitivities = 4 * (n - 1) / n**2 * np.sqrt(bounds)
        values = np.concatenate(parts, axis=1) / n**2
        return corrupted_test(values, sensitivities, options)

    def work(x: Any, y: Any) -> tuple[np.ndarray, ...]:
        return *similar_shifts(x, y), *all_shifts(x, y, length or 1)

    similar, [share, *_], parts, *squares = _each_orbit(n, options, sides, work, SHIFTS)
    # Take roots first, because products of small sums may underflow.
    roots = (np.sqrt(check_finite(own[0])) for own in squares)
    scale, size = (np.outer(*both).ravel() for both in zip(*roots, strict=True))
    n_pairs = n * (n - 3) if length is None else n * (n - 2 * length + 1)
    values = np.concatenate(parts, axis=1) / n_pairs
    scale[scale <= ROUNDING * size] = 0
    # In units of the standard deviation under the null.
    scale *= np.sqrt(2 / (n * (n - 1))) / n_pairs
    z = hsic_and_similarity(values, scale, np.concatenate(similar, axis=1), share)
    result = combine(z, np.ones(len(z)), options)
    return replace(result, statistics=values[:, 0].copy())


def hsic_and_similarity(
    values: np.ndarray, scale: np.ndarray, similar: np.ndarray, share: np.ndarray
) -> np.ndarray:
    """Combine the HSIC of every resample with the correlation of mean similarities.

    HSIC is the mean of k(x_i, x_j) l(y_i, y_j) over pairs of rows, minus twice the mean
    over rows i of the products of their mean similarities to all rows, plus a number
    that no resample changes. These two terms are for HSIC what the means within two
    samples are for the MMD [1]_. Some dependences change both terms, which cancels in
    HSIC. On a circle, for example, a row that is far out in x is near the centre in y.

    So `similar` is the correlation of the mean similarities for each product of
    kernels, divided by its standard deviation over all permutations of rows (for
    windows of rows, over all resamples), and `values` are divided by their `scale`. The
    squared correlation, in units of its own standard deviation, and the HSIC are two
    sides of a right triangle if both are positive. The correlation counts by the root
    of the `share`, because narrow kernels do not see how far out a row is. The share is
    the product of the means of both kernels over all pairs of rows, relative to their
    values for i = j. It is 0 if k(x, x) differs between rows: f(x) + f(x') can be added
    to a kernel without changing HSIC, but not without changing mean similarities.

    References
    ----------
    .. [1] H. Song and H. Chen, "Generalized kernel two-sample tests", Biometrika 111,
       2024.
    """
    z = values / np.where(scale > 0, scale, np.inf)[:, np.newaxis]
    wide = (scale > 0) & (share > LEAST_SHARE)
    weights, hsic = WEIGHT * np.sqrt(share[wide] / 2), z[wide]
    beside = weights[:, np.newaxis] * (np.square(similar[wide]) - 1)
    larger, both = np.maximum(hsic, beside), np.minimum(hsic, beside) > 0
    larger[both] = np.hypot(hsic[both], beside[both])
    z[wide] = larger
    return z


def similar_shifts(
    x: tuple[Gram, np.ndarray], y: tuple[Gram, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return correlations of mean similarities for every shift, and their shares.

    Each side is a Gram and the offsets that centre it. The offset of a row is half its
    mean similarity to the other rows, up to a factor and a constant, and the mean of
    all offsets is half the mean of the matrix. The correlations are in units of their
    standard deviation over all permutations.
    """
    n, spectra, shares = x[0].n, [], []
    for side, offsets in (x, y):
        diagonal, mean = side.diagonal(), offsets.mean(axis=1)
        own = diagonal.max(axis=1).astype(np.float64)
        useful = (own > 0) & (diagonal.min(axis=1) > (1 - CONSTANT) * own)
        own[~useful] = np.inf
        rows = (offsets - mean[:, np.newaxis]) / own[:, np.newaxis]
        size = np.linalg.norm(rows, axis=1)
        size[size <= ROUNDING * sqrt(n)] = np.inf
        spectra.append(rfft(rows / size[:, np.newaxis]))
        shares.append(np.where(size < np.inf, 2 * mean / own, 0).clip(0, 1))
    found = np.conj(spectra[0])[:, np.newaxis] * spectra[1]
    found = irfft(found, n).reshape(-1, n)
    return sqrt(n - 1) * found, np.outer(*shares).ravel()


def _each_orbit(
    n: int, options: Options, sides: Any, evaluate: Any, work: float
) -> Iterator[tuple[Any, ...]]:
    """Return all that is found for the orbits of shifts of n rows, part by part.

    `sides` takes the number of an orbit, and `evaluate` takes what it returns, which
    is so much more `work`. Warn if there are few shifts.
    """
    what, n_orbits = "permutations", -(-(options.n_resamples + 1) // n)
    if options.method != "permutation":
        what, n_orbits = "shifts", 1
        warn_if_powerless(n, "shifts")
    found = []
    with progress(what, n_orbits * (1 + work), options.run.verbose) as line:
        for orbit in range(n_orbits):
            line.step = 1.0
            both = sides(orbit)
            line.advance()
            line.step = work
            found.append(evaluate(*both))
            line.advance()
    return zip(*found, strict=True)


def _row_order(n: int, options: Options, orbit: int) -> np.ndarray:
    """Return an order of n rows that keeps blocks of neighbouring rows together.

    In the first orbit, the order is at random unless it matters.
    """
    if options.block_length is None and options.method != "shift":
        return options.generator.permutation(n)
    if orbit == 0 or options.block_length is None:
        return np.arange(n)
    blocks = np.array_split(np.arange(n), n // options.block_length)
    order = options.generator.permutation(len(blocks))
    return np.concatenate([blocks[i] for i in order])


def _with_offsets(
    variable: Variable, order: np.ndarray, options: Options
) -> tuple[Gram, np.ndarray]:
    """Return the Gram of rows in an order, and its offsets for the U-statistic.

    With blocks, rows are in a circle, and pairs of rows that are nearer than a block
    are left out. The offsets then solve a circulant system.
    """
    (rows, kernels), nearest = variable, options.block_length
    side = gram(kernels, rows[order], run=options.run)
    biased = bool(options.n_corrupted)
    n, sums = side.n, side.sums(diagonal=biased)
    if nearest is None:
        return side, centring_offsets(sums, unbiased=not biased)
    every = np.arange(n)
    for distance in range(1, nearest):
        other = (every + distance) % n
        values = side.pairs(every, other)
        sums -= values
        sums[:, other] -= values
    distances = np.minimum(every, n - every)
    remain = np.where(distances >= nearest, 1.0, 0.0)
    spectrum = rfft(remain).real + remain.sum()
    return side, irfft(rfft(sums, axis=1) / spectrum, n, axis=1)


def all_shifts(
    x: tuple[Gram, np.ndarray], y: tuple[Gram, np.ndarray], nearest: int = 1
) -> tuple[np.ndarray, ...]:
    """Return the sums of products of centred matrices for every shift.

    Each side is a Gram and the offsets that centre it. On the diagonal d, the sums over
    i of a[i, i + d] b[i + s, i + d + s] for all s are one circular cross-correlation.
    Diagonals before `nearest` are left out. Also return the sums of squares of each
    side, with and without centring.
    """
    n = x[0].n
    (x[0] * y[0])._warn_if_long(n**2 / 2)
    diagonals = list(some_diagonals(n, nearest))
    parts = run_all(diagonals, Work(_shift_diagonals, (x, y)), x[0].run)
    spectrum, *squares = totals = next(parts)
    for part in parts:
        for total, own in zip(totals, part, strict=True):
            total += own
    return irfft(spectrum, n=n, axis=0).reshape(n, -1).T, *squares


def some_diagonals(n: int, first: int = 1) -> Iterator[np.ndarray]:
    """Yield the diagonals of one half of a matrix, some at a time."""
    step = max(1, CHUNK_NUMBERS // n)
    for start in range(first, n // 2 + 1, step):
        yield np.arange(start, min(start + step, n // 2 + 1))


def _entries(n: int, numbers: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return rows, columns and weights of the entries of some diagonals of a circle.

    Each diagonal counts for both halves of a symmetric matrix. The main diagonal, and a
    middle diagonal, hold both already.
    """
    rows = np.tile(np.arange(n), len(numbers))
    once = (numbers == 0) | (2 * numbers == n)
    weights = np.repeat(np.where(once, 1.0, 2.0), n)
    return rows, (rows + np.repeat(numbers, n)) % n, weights


def _shift_diagonals(sides: Any, numbers: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the products of the transforms of some diagonals, and sums of squares."""
    n = sides[0][0].n
    rows, cols, weights = _entries(n, numbers)
    found, squares = [], []
    for side, offsets in sides:
        values = side.pairs(rows, cols).astype(np.float64, copy=False)
        whole = np.einsum("kp,kp,p->k", values, values, weights)
        values -= offsets[:, rows]
        values -= offsets[:, cols]
        centred = np.einsum("kp,kp,p->k", values, values, weights)
        squares.append(np.stack((centred, whole)))
        found.append(values)
    return np.matmul(*transforms(found[0] * weights, found[1], n)), *squares


def transforms(x: np.ndarray, y: np.ndarray, length: int) -> tuple[np.ndarray, ...]:
    """Return Fourier transforms of pieces of the lines of x and y, conjugate for x.

    Their products are the transforms of the circular cross-correlations.
    """
    a, b = (rfft(Z.reshape(len(Z), -1, length), axis=2) for Z in (x, y))
    return np.conj(a, out=a).transpose(2, 0, 1), b.transpose(2, 1, 0)


# Work on the products of one orbit, if the row sums of all sources count as one.
PRODUCTS = 8
# Standard deviations below this fraction of the terms of the statistic are rounding
# errors.
JOINT_ROUNDING = 1e-13


def joint_shift_test(variables: list[Variable], options: Options) -> TestResult:
    """Test whether the rows of several variables are jointly independent [1]_.

    A resample shifts the rows of variable l cyclically by l * s steps, for a common s.
    For every s but a few, all pairs of variables are out of step. The shifts by s = 0
    to n - 1 form a group, and the other orbits start from independent random orders of
    all variables. So the type I error is exact for rows in random order. For the method
    "shift", there is one orbit only, and the test is valid for stationary time series
    whose rows keep their order.

    The pooled statistics are standardised by their means and standard deviations over
    all resamples, including the data. A permutation of the data changes neither.

    Each variable has rows and kernels. A single kernel is used beside every kernel of
    the other variables. For rows of a series, random orders are orders of whole blocks.

    References
    ----------
    .. [1] N. Pfister, P. Bühlmann, B. Schölkopf and J. Peters, "Kernel-based tests for
       joint independence", Journal of the Royal Statistical Society B 80, 2018.
    """
    n, n_variables = len(variables[0][0]), len(variables)
    common, n_resamples = np.arange(n), options.n_resamples
    if n > n_resamples + 1:
        # Distinct random elements of a group, with the identity, are exchangeable.
        drawn = options.generator.choice(n - 1, size=n_resamples, replace=False)
        common = np.append(0, 1 + np.sort(drawn))
    shifts = common[:, np.newaxis] * np.arange(1, n_variables) % n
    first = _row_order(n, options, 0)

    def sides(orbit: int) -> Any:
        orders = [first] * n_variables
        if orbit:
            orders = [_row_order(n, options, orbit) for _ in variables]
        grams: list[Gram] = [
            gram(kernels, rows[order], run=options.run)
            for (rows, kernels), order in zip(variables, orders, strict=True)
        ]
        return grams, [side.sums() / n for side in grams], shifts

    parts, terms = _each_orbit(n, options, sides, joint_statistics, PRODUCTS)
    sizes = np.max(terms, axis=0)
    values = check_finite(np.concatenate(parts, axis=1))
    return _from_means(values, values.std(axis=1) > JOINT_ROUNDING * sizes, options)


def _from_means(values: np.ndarray, useful: np.ndarray, options: Options) -> TestResult:
    """Rank statistics, standardised by their moments over all resamples."""
    means, scale = values.mean(axis=1, keepdims=True), values.std(axis=1)
    result = combine(values - means, np.where(useful, scale, 0), options)
    return replace(result, statistics=values[:, 0].copy())


def joint_statistics(
    grams: list[Gram], row_means: list[np.ndarray], shifts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the V-statistic of dHSIC for many shifts of all variables but the first.

    For Gram matrices K^l with row means m^l, the statistic is the mean of the product
    of all K^l, plus the product of their means, minus twice the mean of the product of
    all m^l. One walk over the diagonals evaluates each kernel once for all shifts, in
    O(n * n_kernels) memory. `row_means` include the diagonal, and each row of `shifts`
    has the steps of all variables but the first. Also return the magnitude of the terms
    of the statistics.
    """
    n, work = grams[0].n, Work(_joint_diagonals, grams, shifts)
    parts = run_all(list(some_diagonals(n, first=0)), work, grams[0].run)
    values = reduce(add, parts) / n**2
    means = np.stack(np.broadcast_arrays(*row_means), axis=1)
    # The largest term is not negative for positive definite kernels.
    sizes = np.abs(values).max(axis=1)
    centre = np.prod(means.mean(axis=2), axis=1)
    sizes = np.maximum(sizes, np.abs(centre))
    for k, factors in enumerate(means[:, :, np.newaxis]):
        values[k] += centre[k] - 2 * shifted_sums(factors, shifts) / n
    return values, sizes


def _joint_diagonals(
    grams: list[Gram], shifts: np.ndarray, numbers: np.ndarray
) -> np.ndarray:
    """Return the sums of products of all variables on some diagonals."""
    n, sums = grams[0].n, []
    rows, cols, weights = _entries(n, numbers)
    values = np.broadcast_arrays(*(side.pairs(rows, cols) for side in grams))
    for parts in zip(*values, strict=True):
        end_if_stopped()
        factors = np.stack(parts, dtype=np.float64)
        factors[0] *= weights
        sums.append(shifted_sums(factors.reshape(len(grams), -1, n), shifts))
    return np.array(sums)


# Rows of all variables whose features are computed at a time.
PRODUCT_ROWS = 256


def joint_feature_test(core: FeatureGram, options: Options) -> TestResult:
    """Test whether the rows of several variables are jointly independent [1]_.

    For one frequency, the statistic is the squared distance between the mean of the
    products of all features and the product of their means. A resample draws one shift
    s for each group of windows, as :func:`feature_window_test`, and shifts the rows of
    variable l by l * s steps in all windows of the group. Windows have 31 rows at most,
    a prime number, so that all pairs of variables are out of step.

    References
    ----------
    .. [1] N. Pfister, P. Bühlmann, B. Schölkopf and J. Peters, "Kernel-based tests for
       joint independence", Journal of the Royal Statistical Society B 80, 2018.
    """
    cut = Windows.at_random(core, options, WINDOW - 1)
    with np.errstate(all="ignore"):
        found = PieceTask(core.blocks, _product_sums, cut).sum()
        places, stay, sums = (total / core.n for total in found)
        centres, values = np.prod(sums, axis=0), []
        for own, rest in zip(places, stay - centres, strict=True):
            chosen = (own[g][:, steps] for g, steps in enumerate(cut.shifts.T))
            means = reduce(np.add, chosen) + rest[:, np.newaxis]
            values.append(np.mean(np.abs(means) ** 2, axis=0))
    statistics = check_finite(np.array(values))
    sizes = np.mean(np.abs(centres) ** 2, axis=1)
    useful = statistics.std(axis=1) > JOINT_ROUNDING * sizes
    return _from_means(statistics, useful, options)


def _product_sums(cut: Windows, given: PieceRows) -> list[np.ndarray]:
    """Return sums of products of features, for each kernel and frequency.

    For each group of windows and shift, then over the rows that stay. Then come the
    sums of the features of each variable.
    """
    maps, L, n_groups = cut.pair.maps, cut.length, cut.shifts.shape[1]
    K, P = maps.n_kernels, maps.n_frequencies
    shapes = (K, n_groups, P, L), (K, P), (len(maps.maps), K, P)
    places, stay, sums = totals = [np.zeros(shape, complex) for shape in shapes]
    for own, used, turns in cut.strips(given.piece, PRODUCT_ROWS):
        ones = np.equal.outer(np.arange(n_groups), turns).astype(np.float64)
        for k, sides in maps.sides(at_rows(given.block, own), given.positions[own]):
            sums[:, k] += [F.sum(axis=1) for F in sides]
            stay[k] += reduce(np.multiply, (F[:, used:] for F in sides)).sum(axis=1)
            # Twice in a row, so that every shift is a slice.
            first, *rest = (F[:, :used].reshape(len(F), -1, L) for F in sides)
            rest = [np.concatenate((F, F), axis=2) for F in rest]
            for s in range(L):
                shifted = (
                    F[:, :, i * s % L :][:, :, :L] for i, F in enumerate(rest, 1)
                )
                products = reduce(np.multiply, shifted, first)
                places[k, :, :, s] += ones @ products.sum(axis=2).T
    return totals


# Rows of a window, whose shifts are 0 to WINDOW - 1, and groups of windows, each with a
# shift of its own. A resample leaves 1 / WINDOW of the rows of y in place on average.
WINDOW = 32
N_GROUPS = 4
# Bytes of the sums of a tile, and of one pass over rows that are read by blocks. More
# sums take more passes.
TILE_BYTES = 2**26
PASS_BYTES = 2**28
# Rows whose features are computed at a time.
STRIP = 2**13


def windows(n: int, n_resamples: int) -> tuple[int, np.ndarray]:
    """Return the number of rows of a window, and an order of n rows.

    A window holds rows at equal distances in this order. A shift by one step in all
    windows is then a shift of the series of all rows by the number of windows. There
    are more rows in a window, and so cyclic shifts, than `n_resamples` if there are
    enough rows, and the windows hold almost all rows.
    """
    length = n // max(1, n // (n_resamples + 1))
    used = n // length * length
    order = np.arange(used).reshape(length, -1).T
    return length, np.append(order, np.arange(used, n))


# A task: a group of frequencies, and consecutive kernels on x.
Tile = tuple[int, range]


class Windows(NamedTuple):
    """Windows of rows, in groups that are shifted together.

    Attributes
    ----------
    pair : FeaturePair
        Features of x and y.
    length : int
        Number of rows of a window.
    seed : int or None
        Seed of the order of the rows of each piece. None leaves them in order.
    shifts : ndarray of shape (1 + n_resamples, n_groups)
        Shift of each group of windows, 0 for the data.
    block : int
        Rows of a block of a series. As many neighbouring windows are shifted together,
        and each of them has one row of each of `length` consecutive blocks.
    """

    pair: Any
    length: int
    seed: int | None
    shifts: np.ndarray
    block: int = 1

    @classmethod
    def at_random(cls, pair: Any, options: Options, longest: int) -> Windows:
        """Draw the shifts of windows of at most `longest` rows, or blocks."""
        [seed], block = draw_seeds(options.generator, 1), options.block_length or 1
        sizes = [piece.n_rows // block for piece in pair.blocks.pieces()]
        lengths = [sum(sizes) // n_windows for n_windows in range(1, N_GROUPS + 1)]
        lengths = [max(1, min(own, longest, max(sizes))) for own in lengths]
        # How many resamples windows allow, of which some may be in one piece only.
        counts = [sum(size // own for size in sizes) for own in lengths]
        n_shifts, length = max(
            (float(own) ** min(N_GROUPS, n_windows), own)
            for own, n_windows in zip(lengths, counts, strict=True)
        )
        size = (options.n_resamples + 1, N_GROUPS)
        shifts = options.generator.randint(length, size=size)
        shifts[0] = 0
        warn_if_powerless(n_shifts, "shifts", "rows" if block == 1 else "blocks")
        return cls(pair, length, seed, shifts, block)

    def strips(self, piece: Piece, n_rows: int) -> Iterator[tuple[Any, int, Any]]:
        """Yield rows of whole windows, about `n_rows`, and the groups of the windows.

        Then how many of these rows are in windows. The groups of windows take turns.
        The order is the same in every pass.
        """
        size, n_groups = self.length * self.block, self.shifts.shape[1]
        order, first = np.arange(piece.n_rows), 0
        if self.seed is not None:
            draw = np.random.default_rng((self.seed, piece.rows.start))
            if self.block == 1:
                order = draw.permutation(piece.n_rows)
            first = int(draw.integers(n_groups))
        step = max(1, n_rows // size) * size
        for start in range(0, len(order), step):
            end_if_stopped()
            own = order[start : start + step]
            used = len(own) // size * size
            blocks = own[:used].reshape(-1, self.length, self.block)
            own = np.append(blocks.swapaxes(1, 2), own[used:])
            turns = np.arange(used // self.length) // self.block
            yield own, used, (first + start // size + turns) % n_groups


def feature_window_test(
    pair: FeaturePair, options: Options, length: int | None = None
) -> TestResult:
    """Test whether the rows of x and y are independent, by HSIC from features.

    Each piece of rows is put in random order and divided into windows, and the windows
    of all pieces into groups. A resample draws one cyclic shift for each group, and
    shifts y against x in all windows of the group. Rows that do not fill a window stay.
    These permutations form a group, so the type I error is exact if the rows of each
    piece are exchangeable.

    With blocks of a series, windows have consecutive blocks in their order, and shifts
    move whole blocks. Neighbouring blocks stay neighbours, except for the first and
    last block of a window, so near rows change the statistics of the data and of all
    resamples by the same number, which the mean over all resamples subtracts.

    For two series, the `length` of a window is given. Rows keep their order, all
    windows are one group, and the resamples are all shifts. Each piece but the last
    must hold whole windows.

    The covariances of the features for all resamples are sums of few matrices, one for
    each group and shift, which are sums over all windows of the group. They are a
    circular cross-correlation, which is a product of Fourier transforms summed over the
    windows. A resample then needs the inner products of these matrices only.

    Each product of kernels is divided by its standard deviation over all resamples,
    which no resample changes. The covariances of mean similarities are bilinear forms
    of the same matrices and the means of the features.

    Time grows linearly with the number of rows. The number of passes over the rows
    depends on the number of kernels and features only.
    """
    if length is None:
        cut = Windows.at_random(pair, options, WINDOW)
    else:
        cut = Windows(pair, length, None, np.arange(length)[:, np.newaxis])
        warn_if_powerless(pair.n, "shifts")
    shape = (pair.x.n_kernels, pair.y.n_kernels)
    found, share = np.zeros((2, *shape, len(cut.shifts))), np.zeros((2, *shape))
    run, how, size = pair.run, dict[str, Any](), 1
    if not isinstance(pair.blocks, ArrayBlocks):
        # Many tiles in each pass over the rows, one pass after the other.
        run, how, size = run._replace(n_jobs=1), {"require": "sharedmem"}, PASS_BYTES
    passes, work = list(_passes(cut, size)), Work(_statistics_of_pass, cut)
    shares = run_all(passes, work, run, what="permutations", **how)
    with np.errstate(all="ignore"):
        for tiles, parts in zip(passes, shares, strict=True):
            for (_, kernels), (own, near) in zip(tiles, parts, strict=True):
                found[:, kernels] += own
                share[:, kernels] += near
        found = found.reshape(2, -1, len(cut.shifts)) / pair.n_groups
        useful, share = share.reshape(2, -1) / pair.n_groups
        deviations = found.std(axis=2)
        centred = found - found.mean(axis=2, keepdims=True)
        share[deviations[1] <= ROUNDING] = 0
        similar = centred[1] / np.where(share > 0, deviations[1], np.inf)[:, np.newaxis]
        scale = np.where(useful > 0, deviations[0], 0)
        both = hsic_and_similarity(centred[0], scale, similar, share)
    result = combine(both, np.ones(len(both)), options)
    return replace(result, statistics=found[0, :, 0].copy())


def _passes(cut: Windows, most: int) -> Iterator[list[Tile]]:
    """Yield tiles, several of them together if their sums take few bytes."""
    x, y = cut.pair.x, cut.pair.y
    tiles: list[Tile] = []
    used = 0
    for g in range(cut.pair.n_groups):
        cell = 16 * cut.shifts.shape[1] * (cut.length // 2 + 1) * len(y.is_norm[g])
        n_tiles = min(x.n_kernels, -(-cell * len(x.is_norm[g]) // TILE_BYTES))
        bounds = np.linspace(0, x.n_kernels, n_tiles + 1).astype(int).tolist()
        for kernels in (range(*pair) for pair in pairwise(bounds)):
            lines = x.lines(g, kernels)
            size = cell * int(lines.stop - lines.start)
            if tiles and used + size > most:
                yield tiles
                tiles, used = [], 0
            tiles.append((g, kernels))
            used += size
    yield tiles


def _statistics_of_pass(cut: Windows, tiles: list[Tile]) -> list[Any]:
    """Return the share of each tile in the statistics."""
    blocks, sums = cut.pair.blocks, cast(Any, None)
    with np.errstate(all="ignore"):
        if isinstance(blocks, ArrayBlocks):
            # Threads run tiles, and not the pieces of one tile.
            for piece in blocks.pieces():
                work = PieceTask(blocks, _window_sums, cut, tiles, sums)
                _, sums = work((piece, None))
        else:
            task = blocks, _window_sums, cut, tiles, None
            sums = PieceTask(*task, merge=_merge_windows, is_large=True).sum()
        return [_statistics(cut, *both) for both in zip(tiles, sums, strict=True)]


def _merge_windows(first: Any, second: Any) -> Any:
    for old, new in zip(first, second, strict=True):
        for a, b in zip(old, new, strict=True):
            # Into the sums that were computed last, and that nobody else has.
            np.add(a, b, out=b)
    return second


def _window_sums(
    cut: Windows, tiles: list[Tile], totals: list[Any] | None, given: PieceRows
) -> list[Any]:
    """Return the sums over the windows of a piece, and earlier `totals`, for each tile.

    The spectra are products of Fourier transforms, summed over the windows of each
    group of windows. The products are those of the rows that stay. Then come the sums
    of the features of x, and of y, and of their squares.
    """
    piece, (x, y), index, _ = given
    pair = cut.pair
    totals = totals or [_zeros(cut, *tile) for tile in tiles]
    for own, used, turns in cut.strips(piece, STRIP):
        rows, others, places = x[own], y[own], index[own]
        features: dict[int, np.ndarray] = {}
        for (g, kernels), (spectra, products, *sums) in zip(tiles, totals, strict=True):
            if g not in features:
                features = {g: pair.y.features(g, others, places)}
            A, B = pair.x.features(g, rows, places, kernels), features[g]
            for total, F in zip(sums, (A, B), strict=True):
                total += F.sum(axis=1), np.einsum("ij,ij->i", F, F)
            products += A[:, used:] @ B[:, used:].T
            a, b = transforms(A[:, :used], B[:, :used], cut.length)
            for group in np.unique(turns):
                turn = np.flatnonzero(turns == group)
                # Copies of one frequency at a time stay in the cache.
                for total, u, v in zip(spectra[group], a, b, strict=True):
                    total += u[:, turn] @ v[turn]
    return totals


def _zeros(cut: Windows, g: int, kernels: range) -> tuple[np.ndarray, ...]:
    """Return sums over no windows."""
    lines, n_y = cut.pair.x.lines(g, kernels), len(cut.pair.y.is_norm[g])
    n_x = int(lines.stop - lines.start)
    shape = (cut.shifts.shape[1], cut.length // 2 + 1, n_x, n_y)
    shapes = (n_x, n_y), (2, n_x), (2, n_y)
    return np.zeros(shape, dtype=np.complex128), *map(np.zeros, shapes)


def _statistics(cut: Windows, tile: Tile, sums: Any) -> tuple[np.ndarray, ...]:
    """Return the part of a tile in the statistics of all pairs of kernels.

    The first statistic is HSIC, the second the covariance of mean similarities, which
    is a bilinear form of the covariances of the features and the means of the features.
    A place is a group of windows and a shift. The covariances of a resample are the sum
    of one matrix for each group, at the place that the resample chooses. So inner
    products of the matrices of all places are enough. Also return whether the features
    of both kernels are not constant, and their share as in :func:`hsic_and_similarity`.
    """
    spectra, stay, x_sums, y_sums = sums
    x, y, n, (g, kernels) = cut.pair.x, cut.pair.y, cut.pair.n, tile
    lines, starts = x.lines(g, kernels), y.starts[g]
    all_sums = np.zeros((2, len(x.is_norm[g])))
    all_sums[:, lines] = x_sums
    of_x = LineMoments.of(x, g, n, *all_sums)
    of_y = LineMoments.of(y, g, n, *y_sums)
    # Rows that stay, and the means, belong to every choice of places.
    rest = stay / n - np.outer(of_x.means[lines], of_y.means)
    n_groups = cut.shifts.shape[1]
    places = cut.shifts + cut.length * np.arange(n_groups)
    a, b = np.triu_indices(n_groups)
    pairs = places[:, a] * n_groups * cut.length + places[:, b]
    weights = np.where(a == b, 1.0, 2.0)
    values, similar = found = np.empty((2, len(kernels), y.n_kernels, len(places)))
    # Measured from zero.
    x_means, y_means = (
        np.where(side.is_norm[g], 0, own.means + side.centres[g])
        for side, own in ((x, of_x), (y, of_y))
    )
    for k, out, beside in zip(kernels, values, similar, strict=True):
        whole = x.lines(g, range(k, k + 1))
        own = slice(whole.start - lines.start, whole.stop - lines.start)
        C = irfft(spectra[:, :, own], n=cut.length, axis=1) / n
        C[0] += rest[own]
        C = C.reshape(-1, *C.shape[2:])
        weighted = np.einsum("f,pfg->gp", of_x.weights[whole], C)
        weighted *= of_y.weights[:, np.newaxis]
        linear = np.add.reduceat(weighted, starts, axis=0)
        forms = np.einsum("f,pfg->gp", x_means[whole], C) * y_means[:, np.newaxis]
        beside[:] = np.add.reduceat(forms, starts, axis=0)[:, places].sum(axis=2)
        C = C[:, ~x.is_norm[g][whole]]
        if n_groups == 1:
            squares = np.square(C).sum(axis=1).T
            squares[y.is_norm[g]] = 0
            out[:] = np.add.reduceat(squares, starts, axis=0)
            out[:] = unbiased_products(out, linear, 0, n)
        else:
            # The statistic is z'Mz, where z marks the places of a resample.
            for m, (start, end) in enumerate(zip(starts, y.ends[g], strict=True)):
                inside = np.flatnonzero(~y.is_norm[g][start:end]) + start
                V = C[:, :, inside].reshape(len(C), -1)
                M = unbiased_products(V @ V.T, np.diag(linear[m]), 0, n)
                out[m] = M.take(pairs) @ weights
    spreads = np.outer(of_x.spreads[kernels], of_y.spreads)
    values += unbiased_products(0, 0, spreads, n)[:, :, np.newaxis]
    parts = []
    for side, moments in ((x, of_x), (y, of_y)):
        # Centring a constant leaves only rounding errors.
        useful = moments.spreads > ROUNDING**2 * moments.sizes
        unit = ~np.logical_or.reduceat(side.is_norm[g], side.starts[g])
        parts.append((useful, np.where(useful & unit, 1 - moments.spreads, 0)))
    sides = zip(*parts, strict=True)
    return found, np.stack([np.outer(a[kernels], b) for a, b in sides])
