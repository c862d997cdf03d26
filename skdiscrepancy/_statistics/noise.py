"""How sure a statistic is: its noise, standard error and confidence interval.

A statistic is close to |mu + e|^2 - E |e|^2, where mu is the difference of two mean
embeddings and e is normal noise. Its error is a linear form of the noise, 2 <mu, e>,
plus a quadratic form. Far from the null hypothesis the linear form is larger, and the
statistic is normal. Near it the quadratic form is larger, and the statistic is skewed.

Both are forms of one standard normal number for each row. Statistics that share rows
share these numbers, so the noise of a difference is the difference of the forms.

Above a number of rows, variances are estimated from some of the rows and corrected by
scales from all rows.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement, pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaincc, gammainccinv
from scipy.stats import norm, t as student

from skdiscrepancy._data.arrays import effective_size


@dataclass(frozen=True)
class Noise:
    """Moments of the noise 2 p'g + g'G g minus its mean, for standard normal g.

    Attributes
    ----------
    linear : float
        Sum of the squares of the observed projections. Its mean is p'p + tr(G^2).
    squares, cubes : float
        tr(G^2) and tr(G^3).
    largest : float
        Bound of the largest eigenvalue, tr(G^4)^(1/4).
    bias : float
        Mean of |e|^2, by which V-statistics are larger.
    ratio : float
        Jackknife variance of the normalised statistic, or 0.
    ratio_bias : float
        Bias of the normalised statistic.
    n_rows : float
        Effective number of rows, of the smaller sample.
    """

    linear: float
    squares: float
    cubes: float
    largest: float
    bias: float
    ratio: float = 0.0
    ratio_bias: float = 0.0
    n_rows: float = np.inf

    @property
    def variance(self) -> float:
        """Estimate of the variance of the statistic, at least that of its last term."""
        return 4 * max(self.linear - self.squares, 0.0) + 2 * self.squares

    @property
    def share(self) -> float:
        """Fraction of the squared projections that is noise, from 0 to 1."""
        if self.linear <= 0:
            return 1.0
        return min(self.squares / self.linear, 1.0)

    def rate(self, statistic: float) -> float:
        """Return p'p as a multiple of |mu|^2, a mean of eigenvalues of G."""
        length = max(statistic, 0.0) + self.bias
        rate = self.linear / length if length > 0 else 0.0
        if statistic > 0:
            rate = max(rate, max(self.linear - self.squares, 0.0) / statistic)
        return min(rate, self.largest)

    def deviation(self, value: float, rate: float) -> float:
        """Return the standard deviation of the statistic if |mu|^2 is a value.

        G has n^2 terms where the U-statistic has n (n - 1), and centring makes the n
        rows of G shorter, by about as much.
        """
        spread = np.sqrt(4 * rate * value + 2 * self.squares)
        return float(spread / (1 - 1 / self.n_rows) ** 2)

    def shape(self, value: float, rate: float) -> float:
        """Return the shape of the gamma distribution with its skewness."""
        cumulant = max(24 * rate**2 * value + 8 * self.cubes, 0.0)
        variance = 4 * rate * value + 2 * self.squares
        skewness = cumulant / variance**1.5 if variance > 0 else 0.0
        return 4 / min(max(skewness, 1e-3), 2.8) ** 2


@dataclass(frozen=True)
class Uncertainty:
    """Standard error and confidence intervals of one discrepancy.

    `root` says whether the discrepancy is the square root of a statistic.
    """

    value: float
    noise: Noise
    biased: bool = False
    normalized: bool = False
    root: bool = False

    @property
    def standard_error(self) -> float:
        """Standard error of the discrepancy."""
        noise = self.noise
        if self.normalized:
            # The jackknife has the variance 4 tr(G^2) for the quadratic form instead of
            # 2 tr(G^2), so half of the fraction of noise is subtracted. If its rows do
            # not differ, the variance is for a fixed scale.
            variance = noise.ratio * (1 - noise.share / 2) or noise.variance
            return float(np.sqrt(variance))
        error = float(np.sqrt(noise.variance))
        if not self.root:
            return error
        # Delta method. The root of the error bounds the error of a root.
        bound = np.sqrt(error)
        return float(min(error / (2 * self.value), bound) if self.value > 0 else bound)

    @property
    def centre(self) -> float:
        """The statistic without the bias of a V-statistic."""
        value = self.value**2 if self.root else self.value
        return value - self.noise.bias if self.biased else value

    def interval(self, level: float) -> tuple[float, float]:
        """Return the bounds of a confidence interval, never negative."""
        centre = self.centre
        if self.normalized:
            width = float(norm.ppf((1 + level) / 2)) * self.standard_error
            # Noise in the scales makes the ratio smaller, by an amount that is not well
            # known, so only the upper bound is corrected for it. No discrepancy is
            # negative, so a negative statistic is evidence of none, not of less.
            higher = float(centre - min(self.noise.ratio_bias, 0.0))
            return max(centre - width, 0.0), max(higher, 0.0) + width
        low, high = quadratic_interval(centre, self.noise, level)
        return (float(np.sqrt(low)), float(np.sqrt(high))) if self.root else (low, high)

    def pvalue_above(self, delta: float) -> float:
        """Return the p-value of the discrepancy being at most delta."""
        if self.normalized:
            return _normal_tail(self.centre - delta, self.standard_error)
        delta = delta**2 if self.root else delta
        return quadratic_pvalue(self.centre, self.noise, delta)


@dataclass(frozen=True)
class NormalUncertainty:
    """Standard error and confidence intervals of a statistic that is normal."""

    value: float
    standard_error: float
    n_degrees: int

    def interval(self, level: float) -> tuple[float, float]:
        """Return the bounds of a confidence interval, never negative."""
        width = float(student.ppf((1 + level) / 2, self.n_degrees))
        width *= self.standard_error
        return max(self.value - width, 0.0), max(self.value + width, 0.0)

    def pvalue_above(self, delta: float) -> float:
        """Return the p-value of the discrepancy being at most delta."""
        tail = partial(student.sf, df=self.n_degrees)
        return _normal_tail(self.value - delta, self.standard_error, tail)


def _normal_tail(gap: float, error: float, tail: Any = norm.sf) -> float:
    """Return the p-value of a gap with a standard error, which may be 0."""
    return float(tail(gap / error)) if error > 0 else float(gap <= 0)


def quadratic_interval(
    statistic: float, noise: Noise, level: float
) -> tuple[float, float]:
    """Return a confidence interval of |mu|^2 by the inversion of tests.

    For each value of |mu|^2, the noise has the variance 4 r |mu|^2 + 2 tr(G^2), where r
    is the mean of the eigenvalues of G in the direction of mu. The lower bound uses
    Pearson's type III distribution. The upper bound uses the normal quantile, which is
    wider, and near the null hypothesis the largest eigenvalue of G.
    """
    tail = (1 - level) / 2
    unit = max(abs(statistic), np.sqrt(noise.variance))
    if noise.squares <= (1e-14 * unit) ** 2 and noise.linear <= (1e-14 * unit) ** 2:
        # Constant rows have no noise.
        return max(statistic, 0.0), max(statistic, 0.0)
    rate = noise.rate(statistic)
    # The direction of mu is as uncertain as its projections, and may have the largest
    # eigenvalue.
    upper_rate = rate + noise.share * (noise.largest - rate)
    lower, upper = float(norm.ppf(tail)), float(norm.isf(tail))

    def excess(value: float) -> float:
        # Pearson's quantile is below the normal quantile for a very large skewness.
        shape = noise.shape(value, rate)
        quantile = max((gammainccinv(shape, tail) - shape) / np.sqrt(shape), upper)
        return statistic - value - noise.deviation(value, rate) * float(quantile)

    def shortfall(value: float) -> float:
        return statistic - value - noise.deviation(value, upper_rate) * lower

    return _crossing(excess, unit), _crossing(shortfall, unit)


def quadratic_pvalue(statistic: float, noise: Noise, value: float) -> float:
    """Return the probability of a statistic at least as large if |mu|^2 is a value."""
    rate = noise.rate(statistic)
    shape, spread = noise.shape(value, rate), noise.deviation(value, rate)
    if not spread > 0:
        return float(statistic <= value)
    z = (statistic - value) / spread
    pearson = gammaincc(shape, max(shape + z * np.sqrt(shape), 0.0))
    return float(max(pearson, norm.sf(z)))


def _crossing(function: Callable[[float], float], unit: float) -> float:
    """Return the positive zero of a decreasing function, 0 if it starts below zero."""
    if function(0.0) <= 0:
        return 0.0
    high = unit
    while function(high) > 0:
        high *= 4
    return float(brentq(function, 0.0, high, xtol=1e-12 * unit, rtol=1e-12))


# Rows from which the noise is estimated, and fewer rows for more than so many kernels.
MOST_ROWS = 1000
MANY_KERNELS = 40
# The jackknife leaves out a row and needs variances of the others.
LEAST_ROWS = 4
# Scales of some rows below this fraction of the scale of all rows are rounding errors.
ROUNDING = 1e-9
# The choice of rows adds no randomness to a standard error.
SEED = 0


def noise_rows(
    n: int, n_kernels: int = 1, n_samples: int = 1, most: int = MOST_ROWS
) -> np.ndarray:
    """Return the rows from which the noise is estimated, all if they are few."""
    if n_samples == 2 or n_kernels > MANY_KERNELS:
        most = most // 2
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.RandomState(SEED).choice(n, most, replace=False))


def noise_of(
    matrices: Iterable[tuple[Any, ...]],
    masses: list[np.ndarray],
    sizes: list[float],
    statistics: Any,
    *,
    normalize: bool,
) -> Noise:
    """Estimate the noise of the mean of statistics over kernels, or of a chosen kernel.

    `matrices` yields the core of each kernel on some stacked rows, and if it depends on
    estimated centres, what leaving a row out of them changes. The `masses` are weights
    of these rows.
    """
    values, scales, nu = statistics.values, statistics.scales, statistics.nu
    of_kernels = weights = statistics.shares
    if normalize:
        weights = np.divide(
            weights, scales, out=np.zeros(len(scales)), where=scales > 0
        )
    shares, z = _signed(masses, sizes)
    parts = [nu / size for size in sizes]
    total: Any = 0.0
    bias = spread = 0.0
    left_out = [np.zeros(len(v)) for v in masses]
    for k, matrix, *changes in matrices:
        if not of_kernels[k]:
            continue
        H = matrix.astype(np.float64, copy=False)
        total = weights[k] * H + total
        if normalize and scales[k] > 0:
            squares = _off_diagonal_squares(centred(H, masses, z))
            # Noise inflates the scale, which is little more than noise near the null
            # hypothesis, so the factor is at most 2.
            signal = 1 - squares / (scales[k] ** 2 / (4 * nu))
            factor = float(1 / np.sqrt(max(signal, 0.25)))
            bias += (1 - factor) * weights[k] * values[k]
        rows = RowMeans.of(H, masses, parts)
        spread += weights[k] * rows.scale
        if normalize and rows.scale > ROUNDING * scales[k] > 0:
            for a in range(len(masses)):
                ratios = rows.without_each(a, values[k] / scales[k], *changes)
                left_out[a] = left_out[a] + ratios * (factor * of_kernels[k])
    G = centred(total, masses, z)
    rows = RowMeans.of(total, masses, parts)
    means = [m - v @ m for m, v in zip(rows.values, masses, strict=True)]
    linear = np.abs(z) * np.concatenate(means)
    scale = weights @ scales
    if spread > ROUNDING * scale:
        # The scale is from all rows.
        linear *= scale / spread
    else:
        # If some rows do not differ, although others do, only the sum of squares is
        # known.
        linear = np.array([scale / (2 * np.sqrt(nu))])
    ratio = 0.0
    if normalize:
        # The jackknife variance for all rows, from values without each of some rows.
        for each, v, share in zip(left_out, masses, shares, strict=True):
            ratio += float((1 - v) @ np.square(each - v @ each)) * share
    cubes = largest = 0.0
    squares = _off_diagonal_squares(G)
    if not normalize:
        # The interval of a normalised statistic does not need these moments, which take
        # the time of a product of matrices.
        inside = G - np.diag(np.diag(G))
        square = inside @ inside
        squares, cubes = float(np.trace(square)), float(np.vdot(square, inside))
        largest = float(np.sqrt(np.linalg.norm(square)))
    # The diagonal of G is the bias of a V-statistic. A U-statistic leaves it out.
    return Noise(
        float(linear @ linear),
        squares,
        cubes,
        largest,
        float(np.trace(G)),
        ratio,
        bias,
        min(sizes),
    )


def sample_noise(gram: Any, statistics: Any, *, normalize: bool) -> Noise:
    """Estimate the noise of complete statistics of one sample, or of two samples."""
    measures, masses, stacked = gram.measures, [], []
    sizes = gram.sizes or [gram.n]
    for n, start, p in zip(sizes, np.cumsum([0, *sizes]), measures, strict=False):
        some = noise_rows(n, gram.n_kernels, len(measures))
        w = np.full(len(some), p.at(some).weights)
        masses.append(w / w.sum())
        stacked.append(start + some)
    rows = np.concatenate(stacked)
    effective = [p.total**2 / p.squares for p in measures]
    matrices = gram.dense(rows, rows)
    return noise_of(matrices, masses, effective, statistics, normalize=normalize)


def centred_product(
    A: np.ndarray, B: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean product of centred matrices, and the changes by their centres.

    Without row z of weight v_z, the entry A_ij changes by v_z (A_iz + A_jz), to first
    order.
    """
    H = np.einsum("gij,gij->ij", A, B) / len(A)
    r = (H @ v - np.diag(H) * v) / (1 - v)
    r = v * (r - v @ r)
    both = zip(A, B, strict=True)
    changes = np.sum([a @ (v * (b @ r)) + b @ (v * (a @ r)) for a, b in both], axis=0)
    return H, 2 * v / (1 - v) * changes / len(A)


def _signed(
    masses: list[np.ndarray], sizes: list[float]
) -> tuple[list[float], np.ndarray]:
    """Return the fractions of rows that are known, and their signed weights."""
    shares = [effective_size(v) / size for v, size in zip(masses, sizes, strict=True)]
    each = zip((1.0, -1.0), shares, masses, strict=False)
    return shares, np.concatenate([s * np.sqrt(c) * v for s, c, v in each])


def centred(K: np.ndarray, masses: list[np.ndarray], z: Any = 1.0) -> np.ndarray:
    """Subtract the mean of its sample from each row and column; multiply by z z'."""
    G, ends = K.astype(np.float64), np.cumsum([len(v) for v in masses])
    for v, end in zip(masses, ends, strict=True):
        side = slice(end - len(v), end)
        G[side] -= v @ G[side]
        G[:, side] -= (G[:, side] @ v)[:, np.newaxis]
    G *= np.outer(z, z)
    return G


def _off_diagonal_squares(G: np.ndarray) -> float:
    return float(np.vdot(G, G) - np.vdot(np.diag(G), np.diag(G)))


class RowMeans(NamedTuple):
    """Means of a core over the rows of one sample, or the differences for two samples.

    The `parts` are factors of variances in the scale. The `sums` and `cross` are sums
    over the other rows, and over the other sample.
    """

    blocks: list[list[np.ndarray]]
    masses: list[np.ndarray]
    parts: list[float]
    sums: list[np.ndarray]
    cross: list[Any]

    @classmethod
    def of(
        cls, H: np.ndarray, masses: list[np.ndarray], parts: list[float]
    ) -> RowMeans:
        """Return the means of a core on the stacked rows, without the diagonal."""
        H = H.copy()
        np.fill_diagonal(H, 0)
        ends = np.cumsum([len(v) for v in masses])[:-1]
        blocks = [np.split(rows, ends, axis=1) for rows in np.split(H, ends)]
        sums = [blocks[a][a] @ v for a, v in enumerate(masses)]
        cross: list[Any] = [0.0]
        if len(masses) > 1:
            cross = [blocks[0][1] @ masses[1], blocks[1][0] @ masses[0]]
        return cls(blocks, masses, parts, sums, cross)

    @property
    def values(self) -> list[np.ndarray]:
        """Means over the sample, minus means over the other one."""
        each = zip(self.sums, self.masses, self.cross, strict=True)
        return [sums / (1 - v) - cross for sums, v, cross in each]

    @property
    def scale(self) -> float:
        """The scale sigma_k of these rows."""
        variance = 0.0
        for part, v, values in zip(self.parts, self.masses, self.values, strict=True):
            variance += part * float(v @ np.square(values - v @ values))
        return 2 * float(np.sqrt(variance))

    def without_each(
        self, a: int, ratio: float, changes: np.ndarray | float = 0.0
    ) -> np.ndarray:
        """Return the normalised statistic without each row, to the first order."""
        w = self.masses[a][:, np.newaxis]
        means, variances = np.zeros((2, len(w)))
        for b, v in enumerate(self.masses):
            # Row i has the means of all rows without row i.
            values, rest = -w * self.blocks[a][b], np.ones(len(w))
            if b == a:
                rest -= w[:, 0]
                values += self.sums[b]
                values /= 1 - w - v
                values -= self.cross[b]
                np.fill_diagonal(values, 0)
            else:
                values += self.cross[b]
                values /= w - 1
                values += self.sums[b] / (1 - v)
            mean = values @ v / rest
            means += mean
            values -= mean[:, np.newaxis]
            if b == a:
                np.fill_diagonal(values, 0)
            variances += self.parts[b] * (np.square(values, out=values) @ v / rest)
        # The ratios themselves would be erratic near the null hypothesis. There, some
        # of the rows have scales that are much noisier than the scale of all rows.
        scales = 2 * np.sqrt(np.maximum(variances + changes, 0))
        return (means - ratio * scales) / (scales.mean() or 1.0)


# Rows on which quadratic forms are computed. Only sums of their entries are needed.
QUADRATIC_ROWS = 200
# Smallest number of blocks of a series for a quadratic form.
LEAST_BLOCKS = 20


def too_few_rows(n: int) -> str:
    """Say that a standard error needs more rows."""
    return f"n_samples == {n}, must be >= {LEAST_ROWS} for a standard error."


class RowBlocks(NamedTuple):
    """First rows of all blocks of a series, and rows and starts of some blocks."""

    starts: np.ndarray
    rows: np.ndarray
    inside: np.ndarray

    @classmethod
    def of(cls, n: int, length: int | None, n_samples: int) -> RowBlocks:
        """Divide n rows into blocks of a length, None for single rows."""
        if n < LEAST_ROWS:
            raise ValueError(too_few_rows(n))
        bounds, most = np.arange(n + 1), QUADRATIC_ROWS
        if length is not None:
            bounds = np.linspace(0, n, n // length + 1).astype(np.int64)
            most = min(most, max(2 * LEAST_BLOCKS, MOST_ROWS // length))
        some = noise_rows(len(bounds) - 1, n_samples=n_samples, most=most)
        rows = np.concatenate([np.arange(*bounds[b : b + 2]) for b in some])
        lengths = np.diff(bounds)[some]
        return cls(bounds[:-1], rows, np.cumsum(lengths) - lengths)


@dataclass(frozen=True, eq=False)
class Projections:
    """A statistic, with its projections on the rows of samples.

    `linear` is p for each sample, and `quadratic` has the blocks of G for two samples.
    Rows of a series are sums over blocks of rows.
    """

    value: float
    linear: dict[Any, np.ndarray]
    quadratic: dict[tuple[Any, Any], np.ndarray]
    sizes: dict[Any, float]

    @classmethod
    def of(
        cls,
        value: float,
        linear: dict[Any, np.ndarray],
        core: np.ndarray,
        weights: list[np.ndarray],
        blocks: list[RowBlocks],
    ) -> Projections:
        """Return the projections of a statistic from its core on some stacked rows."""
        names = list(linear)
        some = [w[own.rows] for w, own in zip(weights, blocks, strict=True)]
        masses = [w / w.sum() for w in some]
        _, z = _signed(masses, list(map(effective_size, weights)))
        G = centred(core, masses, z)
        firsts = np.cumsum([0, *map(len, some)])
        each = zip(firsts, blocks, strict=False)
        at = np.concatenate([first + own.inside for first, own in each])
        G = np.add.reduceat(np.add.reduceat(G, at), at, axis=1)
        np.fill_diagonal(G, 0)
        bounds = pairwise(np.cumsum([0, *(len(own.inside) for own in blocks)]))
        parts = {name: slice(*both) for name, both in zip(names, bounds, strict=True)}
        pairs = combinations_with_replacement(names, 2)
        quadratic = {(a, b): G[parts[a], parts[b]] for a, b in pairs}
        sums, sizes = {}, {}
        for name, own, w in zip(names, blocks, weights, strict=True):
            sums[name] = np.add.reduceat(linear[name], own.starts)
            sizes[name] = effective_size(np.add.reduceat(w, own.starts))
        return cls(value, sums, quadratic, sizes)

    def __sub__(self, other: Projections) -> Projections:
        return Projections(
            self.value - other.value,
            _difference(self.linear, other.linear),
            _difference(self.quadratic, other.quadratic),
            self.sizes | other.sizes,
        )

    @property
    def variance(self) -> float:
        """Estimate of the variance of the statistic."""
        linear = sum(self._sums_of_squares())
        squares = 0.0
        for (first, second), block in self.quadratic.items():
            square = float(np.vdot(block, block))
            squares += square if first == second else 2 * square
        return 4 * max(linear - squares, 0.0) + 2 * squares

    def _sums_of_squares(self) -> list[float]:
        """Return the sums of squared projections, corrected for few rows."""
        sizes = [self.sizes[name] for name in self.linear]
        every = zip(self.linear.values(), sizes, strict=True)
        return [float(p @ p) * size / max(size - 1, 1e-9) for p, size in every]

    def under_equality(self) -> tuple[float, float]:
        """Return the variance of a difference of equal scores, with its degrees.

        A difference d and its estimated variance v have the covariance 16 p'Gp, so a
        sample that is close to the reference by chance has a small v. At d = 0, the
        variance is v - 16 p'Gp d / v, which is used if it is larger. The degrees of
        freedom are Satterthwaite's.
        """
        variance = self.variance
        if not 0 < variance < np.inf:
            return variance, 1.0
        unit = {name: p / np.sqrt(variance) for name, p in self.linear.items()}
        each = zip(self._sums_of_squares(), self.linear, strict=True)
        shares = [
            (4 * p / variance) ** 2 / max(self.sizes[name] - 1, 1e-9)
            for p, name in each
        ]
        product = 0.0
        for (first, second), block in self.quadratic.items():
            p = _on_some(unit[first], len(block))
            q = _on_some(unit[second], block.shape[1])
            product += (1 if first == second else 2) * float(p @ block @ q)
        # Sums of squares that vanish have no noise.
        degrees = 1 / max(sum(shares), 1e-9)
        return variance + max(-16 * product * self.value, 0.0), degrees


def _on_some(p: np.ndarray, n_some: int) -> np.ndarray:
    """Return projections on the rows of a quadratic form, for sums over all rows."""
    return p[noise_rows(len(p), most=n_some)] * np.sqrt(len(p) / n_some)


def _difference(first: dict[Any, Any], second: dict[Any, Any]) -> dict[Any, Any]:
    """Subtract arrays by their names. A name that is missing stands for zeros."""
    return {
        name: first.get(name, 0.0) - second.get(name, 0.0)
        for name in first | second
        # The same array cancels.
        if first.get(name) is not second.get(name)
    }
