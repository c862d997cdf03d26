"""The Stein kernel of a model, tile by tile."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
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
from skdiscrepancy._gram.kernel_gram import decay_rate, stein_kind
from skdiscrepancy._gram.run import QUIET, Run
from skdiscrepancy._gram.tiles import Gram, Shared, Values, places
from skdiscrepancy._loops.tile_loops import decay_values
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

    def block(self, rows: Index, cols: Index, out: np.ndarray) -> Values:
        """Yield the tiles of the Stein kernel."""
        [(members, _, evaluate)] = self.shared(rows, cols)
        return evaluate(members, places(out, self.n_kernels))

    def shared(self, rows: Index, cols: Index) -> Iterator[Shared]:
        """Yield all kernels, with distances and products of gradients."""
        products = self._products(rows, cols)
        members = dict(enumerate(self.kernels))
        yield members, products.arrays, partial(self._values, products)

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
        for _ in self._values(products, dict(enumerate(self.kernels)), values):
            pass
        return values

    def _values(
        self, products: SteinProducts, members: dict[int, Any], outs: Any
    ) -> Values:
        """Yield the values of some kernels."""
        squared, inner, cross = products.arrays
        gaussian = [k for k in members if k in self.rates]
        of_ks: Any = [[of[k] for k in gaussian] for of in (self.rates, outs)]
        for i in decay_values(squared, *of_ks):
            k = gaussian[i]
            outs[k] *= members[k].stein_factor(squared, inner, cross)
            yield k, outs[k]
        for k, kernel in members.items():
            if k not in self.rates:
                distance = products.distance.read(squared=kernel.on_squared)
                kernel.evaluate_stein(distance, inner, cross, outs[k])
                yield k, outs[k]


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
