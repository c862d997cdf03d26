"""Features of the kernels of a collection: random ones, or those that are exact.

With features f, a kernel is k(x, y) = f(x) . f(y), and sums over pairs of rows become
sums over rows.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from skdiscrepancy._data.arrays import as_block, encode_labels
from skdiscrepancy._data.blocks import LazyCodes, LazyRows, spread_rows
from skdiscrepancy._data.checks import check_number
from skdiscrepancy._data.rows import Codes, Index, Rows
from skdiscrepancy._gram.run import end_if_stopped
from skdiscrepancy._loops.angles import waves
from skdiscrepancy.kernels._base import ColumnKernel, KernelLike, RowKernel, SumKernel
from skdiscrepancy.kernels._functions import FeatureKernel
from skdiscrepancy.kernels._labels import IndicatorKernel
from skdiscrepancy.kernels._radial import SpectralDraws, Spectrum

# Rows whose features are computed at a time, so that they fit into the cache.
STRIP = 512
# More features are slower than exact kernels.
MOST_COMPONENTS = 2**20


def check_components(n_components: Any) -> None:
    """Refuse a number of random features that is not None and not positive."""
    if n_components is not None:
        check_number(
            n_components,
            "n_components",
            integer=True,
            least=1,
            most=MOST_COMPONENTS,
            context=", or None for exact kernels",
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
        Takes a block of rows and returns their features, if they are exact.
    """

    size: int
    spectrum: Spectrum | None = None
    function: Callable[[Any], Any] | None = None


class FeatureMaps:
    """The features of all kernels of a collection.

    A stationary kernel has a cosine and a sine for each of its frequencies. The
    frequencies of kernels that differ only in their bandwidths are multiples of each
    other, so rows are multiplied with them once.

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
        self.n_kernels = len(kernels)
        self.n_frequencies = (int(n_components) + 1) // 2
        draws = SpectralDraws(self.n_frequencies, seed)
        self.codes: Codes | LazyCodes | None = None
        # Kernels on labels, and whether they are balanced.
        self.labels: dict[int, bool] = {}
        self.parts: list[list[Part]] = []
        for k, kernel in enumerate(kernels):
            if isinstance(kernel, IndicatorKernel):
                self.labels[k] = kernel.balanced
                self.parts.append([])
            else:
                row = as_block(spread_rows(samples[0])[:1])
                self.parts.append(_parts(kernel, draws, row, n_components))
        if self.labels:
            [first, *others] = samples
            if isinstance(first, LazyRows) and not others:
                self.codes = LazyCodes(first)
            else:
                self.codes = Codes(encode_labels(*samples))
        # Kernels that consist of frequencies only, by the array that they share.
        self.families: dict[int, list[int]] = {}
        for k, parts in enumerate(self.parts):
            if len(parts) == 1 and parts[0].spectrum is not None:
                key = id(parts[0].spectrum.base)
                self.families.setdefault(key, []).append(k)
        self.centre: Any = None
        if self.is_random:
            # Only differences of rows count, and small numbers have accurate cosines.
            self.centre = Rows(*samples).centre

    def select(self, kernels: Sequence[int]) -> FeatureMaps:
        """Return the same features of some of the kernels."""
        place = {k: i for i, k in enumerate(kernels)}
        some = copy(self)
        some.n_kernels = len(place)
        some.parts = [self.parts[k] for k in kernels]
        some.labels = {place[k]: v for k, v in self.labels.items() if k in place}
        families = {
            key: [place[k] for k in members if k in place]
            for key, members in self.families.items()
        }
        some.families = {key: members for key, members in families.items() if members}
        return some

    def has_unit_norm(self, k: int) -> bool:
        """Tell whether k(x, x) = 1 for every row."""
        if k in self.labels:
            return not self.labels[k]
        parts = self.parts[k]
        return len(parts) == 1 and parts[0].spectrum is not None

    @property
    def is_random(self) -> bool:
        """Whether any kernel has random features."""
        return any(part.spectrum is not None for parts in self.parts for part in parts)

    def frequencies(self, k: int) -> list[np.ndarray]:
        """Return the positions of cosines and sines among the features of a kernel.

        Parameters
        ----------
        k : int
            Kernel.

        Returns
        -------
        positions : list of ndarray of shape (2, n_frequencies)
            One array for each independent draw of frequencies. A sum of kernels may
            have several, and a kernel with exact features has none.
        """
        positions, start = [], 0
        for part in self.parts[k]:
            if part.spectrum is not None:
                positions.append(np.arange(start, start + part.size).reshape(2, -1))
            start += part.size
        return positions

    def strips(self, block: Any, index: np.ndarray) -> Iterator[tuple[slice, int, Any]]:
        """Yield the features of all kernels for some rows at a time.

        Parameters
        ----------
        block : {ndarray, csr_array} of shape (n_rows, n_features)
            Rows.
        index : ndarray of shape (n_rows,)
            Positions of the rows among the stacked rows of all samples.

        Yields
        ------
        strip : slice
            Rows of the block.
        k : int
            Kernel.
        F : {ndarray, csr_array} of shape (n_rows_of_strip, n_components)
            Features in float64. The next step may overwrite this array.
        """
        for start in range(0, block.shape[0], STRIP):
            end_if_stopped()
            strip = slice(start, min(start + STRIP, block.shape[0]))
            for k, F in self.evaluate(block[strip], index[strip]):
                yield strip, k, F

    def evaluate(self, block: Any, index: Index) -> Iterator[tuple[int, Any]]:
        """Yield each kernel with its features of a block of rows, in any order."""
        rows = block
        if self.centre is not None and not issparse(block):
            rows = block - self.centre
        amplitude = 1 / np.sqrt(self.n_frequencies)
        for members in self.families.values():
            spectra: list[Any] = [self.parts[k][0].spectrum for k in members]
            angles = _angles(rows, spectra[0])
            factors = [spectrum.factor for spectrum in spectra]
            for i, F in waves(angles, factors, amplitude):
                yield members[i], F
        alone = {k for members in self.families.values() for k in members}
        for k, parts in enumerate(self.parts):
            if k in self.labels:
                yield k, self.one_hot(block, index, balanced=self.labels[k])
            elif k not in alone:
                features = [self._evaluate(part, block, rows) for part in parts]
                if len(features) > 1:
                    features = [F.toarray() if issparse(F) else F for F in features]
                    features = [np.concatenate(features, axis=1)]
                yield k, features[0].astype(np.float64, copy=False)

    def _evaluate(self, part: Part, block: Any, rows: Any) -> Any:
        """Return the features of one part."""
        if part.spectrum is None:
            assert part.function is not None
            return part.function(block)
        amplitude = 1 / np.sqrt(self.n_frequencies)
        [(_, F)] = waves(
            _angles(rows, part.spectrum), [part.spectrum.factor], amplitude
        )
        return F

    def one_hot(self, block: Any, index: Index, *, balanced: bool) -> Any:
        """Return one feature for each label, in a sparse matrix."""
        assert self.codes is not None
        codes, counts = self.codes.at(block, index)
        values = np.ones(len(codes))
        if balanced:
            values /= np.sqrt(counts)
        shape = (len(codes), self.codes.n_labels)
        return csr_array((values, (np.arange(len(codes)), codes)), shape=shape)


def _angles(rows: Any, spectrum: Spectrum) -> np.ndarray:
    """Return the inner products of rows and frequencies for the bandwidth 1."""
    return np.asarray(rows @ spectrum.base.T, dtype=np.float64)


def _parts(
    kernel: KernelLike, draws: SpectralDraws, row: Any, n_components: int
) -> list[Part]:
    """Return the features of a kernel, in parts if it is a sum."""
    parts = _find_parts(kernel, draws, row)
    if parts is None:
        raise ValueError(
            f"n_components == {n_components}, must be None for the kernel {kernel!r}, "
            "which has no random features. The kernels with features are Gaussian, "
            "Laplace, IMQ and Matern (p=2) kernels without a metric, products and sums "
            "of them, ColumnKernel of them, IndicatorKernel, LinearKernel and "
            "CosineKernel on dense data, and FeatureKernel of any transformer. For "
            "most other kernels, pass "
            "FeatureKernel(sklearn.kernel_approximation.Nystroem(...))."
        )
    return parts


def have_features(kernels: list[KernelLike], n_features: int) -> bool:
    """Tell whether all kernels have features, on dense rows of some columns."""
    draws, row = SpectralDraws(1, 0), np.zeros((1, n_features))
    return all(
        isinstance(kernel, IndicatorKernel)
        or _find_parts(kernel, draws, row) is not None
        for kernel in kernels
    )


def _find_parts(
    kernel: KernelLike, draws: SpectralDraws, row: Any, place: str = ""
) -> list[Part] | None:
    spectrum = draws.spectrum(kernel, row.shape[1], place)
    if spectrum is not None:
        return [Part(2 * draws.n_frequencies, spectrum)]
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
    return None if F is None else [Part(F.shape[1], function=function)]
