"""The Stein kernel of a model, tile by tile, and its statistics with weights."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._base import Statistics, second_order_statistics
from skdiscrepancy._data import (
    Distances,
    Index,
    RandomStateLike,
    Rows,
    aligned_distances,
    block_distances,
    cross_products,
    effective_size,
    other_weights,
)
from skdiscrepancy._engine import (
    Moments,
    RowSums,
    Source,
    decay_rate,
    group_bounds,
    have_features,
    stein_kind,
    walk,
)
from skdiscrepancy._loops import decay_values, stein_group_sums, stein_sums
from skdiscrepancy.designs import Design, square
from skdiscrepancy.kernels import KernelLike


class SteinProducts(NamedTuple):
    """Distances and products of gradients, which all kernels share."""

    distance: Distances
    inner: np.ndarray
    cross: np.ndarray


class SteinSource(Source):
    r"""The Stein kernel of a model, for the kernels of a collection.

    With the gradients s of the log-density, the distance d and a kernel psi(d),

    .. math::

        h(x, y) = s(x)^\top s(y) \psi - \frac{\psi'}{d} (s(x) - s(y))^\top (x - y)
        - \psi'' - (n_\mathrm{features} - 1) \frac{\psi'}{d}.

    The inner products are shared by all kernels.
    """

    def __init__(self, kernels: list[KernelLike], X: np.ndarray, gradients: np.ndarray):
        self.kernels = kernels
        self.rows = Rows(X).check_range()
        self.dtype = self.rows.dtype
        check_squares(kernels, self.dtype)
        self.gradients = Rows(gradients.astype(self.dtype, copy=False), centred=False)
        self.n_kernels = len(kernels)
        self.n_features = 2 * X.shape[1]
        self.kinds = [stein_kind(kernel, self.dtype) for kernel in kernels]
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
        if weights is not None:
            return super().both_sums(rows, cols, weights)
        out, sums = self._buffers(rows, cols)
        products = self._products(rows, cols)
        known = [k for k, kind in enumerate(self.kinds) if kind is not None]
        compiled = stein_sums(
            products.distance.read(squared=True),
            products.inner,
            products.cross,
            [kind for kind in self.kinds if kind is not None],
            [self.kernels[k].bandwidth for k in known],
        )
        if compiled is None:
            known = []
        else:
            sums[0][known], sums[1][known] = compiled
        others = [k for k in range(self.n_kernels) if k not in known]
        self._add_up(self._values(products, others, out), sums)
        return sums

    def tile_groups(
        self, rows: slice, cols: slice, row_groups: np.ndarray, col_groups: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return sums of a tile over groups, by compiled loops where possible."""
        sums = None
        if None not in self.kinds:
            products = self._products(rows, cols)
            sums = stein_group_sums(
                products.distance.read(squared=True),
                products.inner,
                products.cross,
                [kind for kind in self.kinds if kind is not None],
                [kernel.bandwidth for kernel in self.kernels],
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
        _, inner, cross = products
        squared = products.distance.read(squared=True)
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


def stein_statistics(
    source: Source,
    n: int,
    design: Design,
    weights: np.ndarray | None = None,
    *,
    random_state: RandomStateLike = None,
    **walk_options: Any,
) -> Statistics:
    """Compute the statistics of a core on n rows, which may have weights."""
    if weights is not None:
        return weighted_statistics(
            source, weights, unbiased=not design.biased, **walk_options
        )
    core = RowSums(source, moments=True)
    return second_order_statistics(
        design, n, core, random_state=random_state, **walk_options
    )


def weight_masses(
    weights: np.ndarray, *, unbiased: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights that sum to one, and the weight of all pairs of each row."""
    w = weights / weights.sum()
    return w, w * other_weights(w) if unbiased else w


def weighted_statistics(
    source: Source, weights: np.ndarray, *, unbiased: bool, **walk_options: Any
) -> Statistics:
    """Compute the complete statistics of a core for rows with weights.

    For weights that sum to one, the V-statistic is sum w_i w_j h_ij. The U-statistic
    leaves out the terms with i = j and divides by 1 - sum w_i^2.

    Parameters
    ----------
    source : Source
        The core.
    weights : ndarray of shape (n_samples,)
        Positive weights.
    unbiased : bool
        U-statistic or V-statistic.
    **walk_options : dict
        Options of the walk.

    Returns
    -------
    statistics : Statistics
        Statistics, whose `nu` is the effective number of rows, 1 / sum w_i^2.
    """
    n = len(weights)
    w, masses = weight_masses(weights, unbiased=unbiased)
    region = square(0, n, diagonal=not unbiased)
    [(sums, _)] = walk([region], RowSums(source, weights=w), **walk_options)
    with np.errstate(all="ignore"):
        # Statistics that are not finite are refused.
        moments = Moments.of_row_sums(sums * w, masses)
        scales = moments.scale
        sizes = source.sizes(n).mean(axis=1)
    nu = effective_size(w, n)
    return Statistics(moments.mean, scales, nu, sizes, source.dtype)
