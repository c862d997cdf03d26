"""The Stein kernel of a model, tile by tile."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._data.distances import (
    Distances,
    Index,
    Rows,
    aligned_distances,
    block_distances,
    cross_products,
)
from skdiscrepancy._gram.feature_maps import have_features
from skdiscrepancy._gram.kernel_gram import decay_rate, group_bounds, stein_kind
from skdiscrepancy._gram.run import QUIET, Run
from skdiscrepancy._gram.tiles import Gram, weights_of_tile
from skdiscrepancy._loops.tile_loops import (
    compiled_group_sums,
    compiled_sums,
    decay_values,
)
from skdiscrepancy.kernels._base import KernelLike


class SteinProducts(NamedTuple):
    """Distances and products of gradients, which all kernels share."""

    distance: Distances
    inner: np.ndarray
    cross: np.ndarray

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Squared distances and both products."""
        return self.distance.read(squared=True), self.inner, self.cross


class SteinGram(Gram):
    r"""The Stein kernel of a model, for the kernels of a collection.

    With the gradients s of the log-density, the distance d and a kernel psi(d),

    .. math::

        h(x, y) = s(x)^\top s(y) \psi - \frac{\psi'}{d} (s(x) - s(y))^\top (x - y)
        - \psi'' - (n_\mathrm{features} - 1) \frac{\psi'}{d}.

    The inner products are shared by all kernels.
    """

    def __init__(
        self,
        kernels: list[KernelLike],
        X: np.ndarray,
        gradients: np.ndarray,
        run: Run = QUIET,
    ):
        self.kernels, self.run = kernels, run
        self.rows = Rows(X).check_range()
        self.dtype = self.rows.dtype
        check_squares(kernels, self.dtype)
        self.gradients = Rows(gradients.astype(self.dtype, copy=False), centred=False)
        self.n, self.n_kernels = len(X), len(kernels)
        self.n_features = 2 * X.shape[1]
        self.known = {
            k: (kind, kernel.bandwidth)
            for k, kernel in enumerate(kernels)
            if (kind := stein_kind(kernel, self.dtype)) is not None
        }
        # Gaussian kernels: the exponential of one may be the square of another.
        rates = {k: decay_rate(kernel, self.dtype) for k, kernel in enumerate(kernels)}
        self.rates = {k: rate for k, rate in rates.items() if rate is not None}

    def has_features(self) -> bool:
        """Tell whether random features can replace the kernels."""
        return have_features(self.kernels, self.rows.n_features)

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the tiles of the Stein kernel."""
        yield from self._values(self._products(rows, cols), range(self.n_kernels), out)

    def both_sums(
        self, rows: slice, cols: slice, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of rows and of columns, by compiled loops where possible."""
        own = weights_of_tile(weights, rows, cols)
        out, sums = self._buffers(rows, cols)
        products = self._products(rows, cols)
        known = list(self.known)
        compiled = compiled_sums(products.arrays, list(self.known.values()), own)
        if compiled is None:
            known = []
        else:
            sums[0][known], sums[1][known] = compiled
        others = [k for k in range(self.n_kernels) if k not in known]
        self._add_up(self._values(products, others, out), sums, own)
        return sums

    def tile_groups(
        self, rows: slice, cols: slice, row_groups: np.ndarray, col_groups: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Return sums of a tile over groups, by compiled loops where possible."""
        sums = None
        if len(self.known) == self.n_kernels:
            sums = compiled_group_sums(
                self._products(rows, cols).arrays,
                list(self.known.values()),
                row_groups,
                group_bounds(col_groups),
                drop_diagonal=rows == cols,
            )
        if sums is None:
            return super().tile_groups(rows, cols, row_groups, col_groups)
        return sums

    def _products(self, rows: Index, cols: Index) -> SteinProducts:
        """Return the products of a tile that all kernels share."""
        A, B = self.rows.take(rows), self.rows.take(cols)
        S, T = self.gradients.take(rows), self.gradients.take(cols)
        distance = block_distances(A, B, 2)
        cross = cross_products(A, B, S, T, distance.read(squared=True))
        cross += self.rows.n_features
        return SteinProducts(distance, S @ T.T, cross)

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the Stein kernel of pairs."""
        A, B = self.rows.take(rows), self.rows.take(cols)
        S, T = self.gradients.take(rows), self.gradients.take(cols)
        inner = np.einsum("ij,ij->i", S, T)
        cross = np.einsum("ij,ij->i", S - T, A - B)
        cross += self.rows.n_features
        products = SteinProducts(aligned_distances(A, B, 2), inner, cross)
        values = np.empty((self.n_kernels, len(rows)), dtype=self.dtype)
        for _ in self._values(products, range(self.n_kernels), values):
            pass
        return values

    def _values(
        self, products: SteinProducts, members: Iterable[int], out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        squared, inner, cross = products.arrays
        stacked, members = out.ndim > squared.ndim, list(members)
        gaussian = [k for k in members if k in self.rates]
        outs = [out[k] if stacked else out for k in gaussian]
        for i in decay_values(squared, [self.rates[k] for k in gaussian], outs):
            k = gaussian[i]
            outs[i] *= self.kernels[k].stein_factor(squared, inner, cross)
            yield k, outs[i]
        for k in members:
            if k not in self.rates:
                kernel, values = self.kernels[k], out[k] if stacked else out
                distance = products.distance.read(squared=kernel.on_squared)
                kernel.evaluate_stein(distance, inner, cross, values)
                yield k, values


def check_squares(kernels: list[Any], dtype: np.dtype) -> None:
    """Refuse bandwidths whose inverse squares overflow in the Stein kernel."""
    least = 1e-150 if dtype == np.float64 else 1e-16
    for kernel in kernels:
        if kernel.bandwidth < least:
            raise ValueError(
                f"bandwidth == {kernel.bandwidth!r}, must be >= {least} for KSD on "
                f"{dtype} data, because for a smaller bandwidth the derivatives of "
                f"{type(kernel).__name__} are too large for floating point."
            )
