"""Features of the kernels of a collection: random ones, or those that are exact.

With features f, a kernel is k(x, y) = f(x) . f(y), and sums over pairs of rows become
sums over rows.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array, issparse

from skdiscrepancy._data.arrays import aligned_products, as_block, encode_labels
from skdiscrepancy._data.blocks import LazyCodes, LazyRows, spread_rows
from skdiscrepancy._data.distances import Codes, Index, Rows
from skdiscrepancy._gram.run import end_if_stopped
from skdiscrepancy._loops.tile_loops import waves
from skdiscrepancy.kernels._base import (
    ColumnKernel,
    FeatureKernel,
    IndicatorKernel,
    KernelLike,
    RowKernel,
    SumKernel,
)
from skdiscrepancy.kernels._radial import SpectralDraws, Spectrum

# Rows whose features are computed at a time, so that they fit into the cache.
STRIP = 512
WITH_FEATURES = (
    "The kernels with features are Gaussian, Laplace, IMQ and Matern (p=2) kernels "
    "without a metric, products and sums of them, ColumnKernel of them, "
    "IndicatorKernel, LinearKernel and CosineKernel unless data are sparse, and "
    "FeatureKernel of any transformer. For most other kernels, pass "
    "FeatureKernel(sklearn.kernel_approximation.Nystroem(...))."
)


class Part(NamedTuple):
    """Some features of a kernel.

    Attributes
    ----------
    size : int
        Number of features.
    spectrum : Spectrum or None
        Frequencies of Fourier features.
    function : callable or None
        Takes a block of rows and their positions among all rows, and returns their
        features, if they are exact.
    has_unit_norm : bool
        Whether the features of every row have the norm 1.
    """

    size: int
    spectrum: Spectrum | None = None
    function: Callable[[Any, Index], Any] | None = None
    has_unit_norm: bool = False


class FeatureMaps:
    """The features of all kernels of a collection.

    The frequencies of kernels that differ only in their bandwidths are multiples of
    each other, so rows are multiplied with them once.

    Parameters
    ----------
    kernels : list of kernel objects
        Each with one number as bandwidth.
    n_components : int
        Number of random features for each kernel, rounded up to an even number.
    seed : int
        Seed of the frequencies.
    *samples : ndarray or SparseRows of shape (n_samples, n_features)
        Samples. Labels are read, and some rows for the centre of the data.
    """

    def __init__(
        self, kernels: list[KernelLike], n_components: int, seed: int, *samples: Any
    ):
        self.n_frequencies = (int(n_components) + 1) // 2
        draws = SpectralDraws(self.n_frequencies, seed)
        # Features of labels depend on the labels of all samples.
        self.has_labels = any(isinstance(k, IndicatorKernel) for k in kernels)
        codes: Codes | LazyCodes | None = None
        if self.has_labels:
            [first, *others] = samples
            if isinstance(first, LazyRows) and not others:
                codes = LazyCodes(first)
            else:
                codes = Codes(encode_labels(*samples))
        parts = []
        for kernel in kernels:
            if isinstance(kernel, IndicatorKernel):
                assert codes is not None
                function = partial(_one_hot, codes, kernel.balanced)
                unit = not kernel.balanced
                parts.append([Part(codes.n_labels, None, function, unit)])
            else:
                row = as_block(spread_rows(samples[0])[:1])
                found = _find_parts(kernel, draws, row)
                if found is None:
                    raise ValueError(
                        f"n_components == {n_components}, must be None for the kernel "
                        f"{kernel!r}, which has no random features. {WITH_FEATURES}"
                    )
                parts.append(found)
        self._set(parts)
        self.centre: Any = None
        if self.is_random:
            # Only differences of rows count, and small numbers have accurate cosines.
            self.centre = Rows(*samples).centre

    def _set(self, parts: list[list[Part]]) -> None:
        self.parts, self.n_kernels = parts, len(parts)
        # Kernels that consist of frequencies only, by the array that they share.
        self.families: dict[int, list[int]] = {}
        for k, own in enumerate(parts):
            if len(own) == 1 and own[0].spectrum is not None:
                self.families.setdefault(id(own[0].spectrum.base), []).append(k)
        together = {k for members in self.families.values() for k in members}
        self.alone = [k for k in range(len(parts)) if k not in together]

    def of_parts(self, parts: list[list[Part]]) -> Self:
        """Return the same maps with other features."""
        other = copy(self)
        other._set(parts)
        return other

    def select(self, kernels: Sequence[int]) -> Self:
        """Return the same features of some of the kernels."""
        return self.of_parts([self.parts[k] for k in kernels])

    def has_unit_norm(self, k: int) -> bool:
        """Tell whether k(x, x) = 1 for every row."""
        return len(self.parts[k]) == 1 and self.parts[k][0].has_unit_norm

    @property
    def is_random(self) -> bool:
        """Whether any kernel has random features."""
        return any(part.spectrum is not None for parts in self.parts for part in parts)

    def size(self, k: int) -> int:
        """Return the number of features of a kernel."""
        return sum(part.size for part in self.parts[k])

    def shape(self, k: int) -> tuple[int, ...]:
        """Return the shape of sums that are not finished."""
        return (self.size(k),)

    def frequencies(self, k: int) -> list[np.ndarray]:
        """Return the positions of the features of each frequency of a kernel.

        There is one array of shape (n_features, n_frequencies) for each independent
        draw.
        """
        positions, start = [], 0
        for part in self.parts[k]:
            if part.spectrum is not None:
                positions.append(np.arange(start, start + part.size).reshape(2, -1))
            start += part.size
        return positions

    def strips(self, block: Any, index: np.ndarray) -> Iterator[tuple[slice, int, Any]]:
        """Yield slices of rows, and their features for a kernel in float64.

        The next step may overwrite the features.
        """
        step = STRIP if self.is_random else 8 * STRIP
        for start in range(0, len(index), step):
            end_if_stopped()
            strip = slice(start, min(start + step, len(index)))
            for k, F in self.evaluate(at_rows(block, strip), index[strip]):
                yield strip, k, F

    def vectors(self, k: int, F: Any) -> np.ndarray:
        """Return the features of rows as a dense array."""
        return F.toarray() if issparse(F) else F

    def accumulate(self, k: int, F: Any, weights: Any) -> Any:
        """Return weighted sums of features, to be finished when all are added."""
        return weights @ F

    def accumulate_groups(self, k: int, F: Any, ones: Any, out: np.ndarray) -> None:
        """Add sums of features over groups of consecutive rows, to be finished.

        `ones` is a sparse matrix with a line of weights for each group of `out`.
        """
        out += ones @ F

    def finish(self, k: int, sums: Any) -> Any:
        """Return the sums of features that `accumulate` began."""
        return sums

    def lines(self, vectors: list[np.ndarray]) -> list[np.ndarray]:
        """Return what `project` needs for one vector a kernel."""
        return vectors

    def project(self, k: int, F: Any, line: np.ndarray) -> np.ndarray:
        """Return the inner products of the features of rows with a vector."""
        return F @ line

    def squares(self, k: int, F: Any) -> Any:
        """Return the squared norms of the features of rows."""
        return 1.0 if self.has_unit_norm(k) else aligned_products(F, F)

    def spread(self, k: int, total: float, weight: float) -> Any:
        """Divide a sum of squared norms of features among the features.

        `weight` is the sum of the weights of the rows. For each frequency,
        cos^2 + sin^2 = 1.
        """
        return total / self.size(k)

    def passes(self, n_groups: int) -> Iterator[tuple[range, FeatureMaps]]:
        """Yield kernels and features whose sums over groups are in memory together.

        A kernel that comes several times is the sum of what comes.
        """
        yield range(self.n_kernels), self

    def evaluate(
        self, block: Any, index: Index, *, by_line: bool = False
    ) -> Iterator[tuple[int, Any]]:
        """Yield each kernel with its features of a block of rows, in any order.

        If `by_line`, the features have a line for each feature, in another order.
        """
        rows = block
        if self.centre is not None and not issparse(block):
            rows = block - self.centre
        for members in self.families.values():
            spectra: list[Any] = [self.parts[k][0].spectrum for k in members]
            factors = [spectrum.factor for spectrum in spectra]
            for i, F in self._waves(rows, spectra[0].base, factors, by_line):
                yield members[i], F
        for k in self.alone:
            features: list[Any] = []
            for part in self.parts[k]:
                if part.spectrum is not None:
                    base, factor = part.spectrum
                    [(_, F)] = self._waves(rows, base, [factor], by_line)
                    features.append(F)
                else:
                    assert part.function is not None
                    exact = part.function(block, index)
                    features.append(exact.T if by_line else exact)
            if len(features) > 1 or by_line:
                features = [F.toarray() if issparse(F) else F for F in features]
                features = [np.concatenate(features, axis=0 if by_line else 1)]
            yield k, features[0].astype(np.float64, copy=False)

    def _waves(
        self, rows: Any, base: np.ndarray, factors: list[float], by_line: bool
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield cosines and sines of all frequencies, for each factor."""
        if not by_line:
            angles = np.asarray(rows @ base.T, dtype=np.float64)
        elif issparse(rows):
            angles = np.ascontiguousarray((rows @ base.T).T)
        else:
            angles = base @ rows.T
        amplitude = 1 / np.sqrt(self.n_frequencies)
        for i, F in waves(angles.astype(np.float64, copy=False), factors, amplitude):
            yield i, F.reshape(2 * len(base), -1) if by_line else F


def at_rows(block: Any, rows: Any) -> Any:
    """Return some rows of a block, or of each of several blocks."""
    return tuple(b[rows] for b in block) if isinstance(block, tuple) else block[rows]


def _one_hot(codes: Any, balanced: bool, block: Any, index: Index) -> Any:
    """Return one feature for each label, in a sparse matrix."""
    own, counts = codes.at(block, index)
    values = 1 / np.sqrt(counts) if balanced else np.ones(len(own))
    shape = (len(own), codes.n_labels)
    return csr_array((values, (np.arange(len(own)), own)), shape=shape)


def _of_rows(function: Callable[[Any], Any], block: Any, index: Index) -> Any:
    return function(block)


class PairedMaps(FeatureMaps):
    """Differences of the features of two rows, for pairs of rows i and i + n."""

    def __init__(self, maps: FeatureMaps, n: int):
        self.maps, self.n, self.n_frequencies = maps, n, maps.n_frequencies
        self.has_labels = maps.has_labels
        self._set(maps.parts)

    def has_unit_norm(self, k: int) -> bool:
        """Tell whether k(x, x) = 1 for every row."""
        return False

    def strips(self, block: Any, index: np.ndarray) -> Iterator[tuple[slice, int, Any]]:
        """Yield the differences of features."""
        x, y = block
        both = self.maps.strips(x, index), self.maps.strips(y, index + self.n)
        for (strip, k, F), (_, _, G) in zip(*both, strict=True):
            yield strip, k, F - G


# Bytes that the sums of Stein features over groups of one piece may take. More sums
# take more passes.
GROUP_BYTES = 2**26


class SteinMaps(FeatureMaps):
    r"""The features of Stein kernels.

    A stationary kernel is the mean of cos(w . (x - y)) over its frequencies w, so its
    Stein kernel is h(x, y) = Re sum_w conj(xi_w(x)) . xi_w(y) with the features

    .. math::

        \xi_w(x) = (s(x) + i w)\, e^{i w^\top x} / \sqrt{n_\mathrm{frequencies}},

    where s is the gradient of the log-density. The d complex numbers of each frequency
    never exist for single rows: their sums, and inner products with them, are matrix
    products of the gradients and of the cosines and sines. A block has the rows and
    their gradients. The Stein kernel is a sum over columns, and features may be those
    of some `columns` only.
    """

    columns = slice(None)

    def weights(self, k: int) -> np.ndarray:
        """Return the frequencies of a kernel, of shape (n_columns, n_frequencies)."""
        [part] = self.parts[k]
        assert part.spectrum is not None
        return part.spectrum.factor * part.spectrum.base.T[self.columns]

    def has_unit_norm(self, k: int) -> bool:
        """Tell whether h(x, x) = 1 for every row."""
        return False

    def size(self, k: int) -> int:
        """Return the number of features of a kernel."""
        return 2 * self.weights(k).size

    def shape(self, k: int) -> tuple[int, ...]:
        """Return the shape of sums that are not finished."""
        return len(self.weights(k)) + 1, 2 * self.n_frequencies

    def frequencies(self, k: int) -> list[np.ndarray]:
        """Return the positions of the features of each frequency of a kernel."""
        return [np.arange(self.size(k)).reshape(-1, self.n_frequencies)]

    def strips(self, block: Any, index: np.ndarray) -> Iterator[tuple[slice, int, Any]]:
        """Yield gradients and ones, h(x, x), and cosines and sines."""
        rows, S = block
        S = S[:, self.columns].astype(np.float64, copy=False)
        # cos^2 + sin^2 = 1.
        norms = [
            np.einsum("ij,ij->i", S, S) + np.square(self.weights(k)).sum(axis=0).mean()
            for k in range(self.n_kernels)
        ]
        S = np.column_stack((S, np.ones(len(S))))
        for strip, k, F in super().strips(rows, index):
            yield strip, k, (S[strip], norms[k][strip], F)

    def vectors(self, k: int, F: Any) -> np.ndarray:
        """Return the features of rows as a dense array."""
        S, _, F = F
        return self.finish(k, S[:, :, np.newaxis] * F[:, np.newaxis])

    def accumulate(self, k: int, F: Any, weights: Any) -> Any:
        """Return weighted sums of features, without the features of rows."""
        S, _, F = F
        return (S * weights[:, np.newaxis]).T @ F

    def accumulate_groups(self, k: int, F: Any, ones: Any, out: np.ndarray) -> None:
        """Add sums of features over groups of consecutive rows."""
        S, _, F = F
        for total, (a, b) in zip(out, pairwise(ones.indptr.tolist()), strict=True):
            total += S[a:b].T @ F[a:b]

    def finish(self, k: int, sums: Any) -> Any:
        """Return sums of features.

        `sums` are the sums of products of gradients with cosines and sines, and in the
        last line sums of cosines and sines. They are overwritten.
        """
        W, P = self.weights(k), self.n_frequencies
        features, ones = sums[..., :-1, :], sums[..., -1:, :]
        features[..., :P] -= W * ones[..., P:]
        features[..., P:] += W * ones[..., :P]
        return features.reshape(*features.shape[:-2], -1)

    def lines(self, vectors: list[np.ndarray]) -> list[np.ndarray]:
        """Return what `project` needs for one vector a kernel.

        xi(x) . v is linear in the products of gradients with cosines and sines.
        """
        found = []
        for k, v in enumerate(vectors):
            W = self.weights(k)
            v = v.reshape(len(W), -1)
            cosine, sine = np.split(v, 2, axis=1)
            ones = np.concatenate(((W * sine).sum(axis=0), -(W * cosine).sum(axis=0)))
            found.append(np.vstack((v, ones)).T)
        return found

    def project(self, k: int, F: Any, line: np.ndarray) -> np.ndarray:
        """Return the inner products of the features of rows with a vector."""
        S, _, F = F
        return np.einsum("ij,ij->i", S, F @ line)

    def squares(self, k: int, F: Any) -> Any:
        """Return h(x, x) for some rows."""
        return F[1]

    def spread(self, k: int, total: float, weight: float) -> Any:
        """Divide a sum of h(x, x) among the features."""
        W = self.weights(k)
        squares = np.square(W).sum(axis=0)
        parts = (total + weight * (squares - squares.mean())) / W.size
        return np.tile(parts / 2, 2 * len(W))

    def passes(self, n_groups: int) -> Iterator[tuple[range, FeatureMaps]]:
        """Yield kernels and columns whose sums over groups fit into memory together."""
        K, d = self.n_kernels, len(self.weights(0))
        column_bytes = 16 * n_groups * self.n_frequencies
        width = min(max(GROUP_BYTES // column_bytes - 1, 1), d)
        n_batches = -(-K // max(GROUP_BYTES // (column_bytes * (width + 1)), 1))
        bounds = np.linspace(0, K, n_batches + 1).astype(np.int64)
        for start, stop in pairwise(bounds.tolist()):
            for first in range(0, d, width):
                some = self.select(range(start, stop))
                some.columns = slice(first, min(first + width, d))
                yield range(start, stop), some


def have_features(kernels: list[KernelLike], rows: Any) -> bool:
    """Tell whether all kernels have features, on these rows."""
    draws, row = SpectralDraws(1, 0), as_block(spread_rows(rows)[:1])
    return all(
        isinstance(kernel, IndicatorKernel)
        or _find_parts(kernel, draws, row) is not None
        for kernel in kernels
    )


def _find_parts(
    kernel: KernelLike, draws: SpectralDraws, row: Any, place: str = ""
) -> list[Part] | None:
    """Return the features of a kernel, in parts if it is a sum, None if it has none."""
    spectrum = draws.spectrum(kernel, row.shape[1], place)
    if spectrum is not None:
        return [Part(2 * draws.n_frequencies, spectrum, has_unit_norm=True)]
    if isinstance(kernel, ColumnKernel) and isinstance(kernel.kernel, SumKernel):
        inner = kernel.kernel
        kernel = SumKernel(
            ColumnKernel(inner.first, kernel.columns),
            ColumnKernel(inner.second, kernel.columns),
        )
    if isinstance(kernel, SumKernel):
        first = _find_parts(kernel.first, draws, row, f"{place}1")
        second = _find_parts(kernel.second, draws, row, f"{place}2")
        return None if first is None or second is None else [*first, *second]
    function: Any = None
    if isinstance(kernel, FeatureKernel):
        function = kernel.transform
    elif isinstance(kernel, RowKernel):
        function = kernel.features
    F = None if function is None else function(row)
    return None if F is None else [Part(F.shape[1], None, partial(_of_rows, function))]
