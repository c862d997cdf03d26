"""Products of residuals: the core of a conditional test, and the features it needs."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._data import Index, encode_labels, shown
from skdiscrepancy._engine import Source, factor_of
from skdiscrepancy.kernels import KernelLike

# Components of the kernels on one variable, together this fraction of their variance.
EXPLAINED = 0.999
# No more components than this.
MAX_COMPONENTS = 32
# Variances of components that are smaller, relative to the largest, are rounding.
ROUNDING = 1e-12


class Components(NamedTuple):
    """Leading components that the kernels on one variable share.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_components)
        Orthogonal components with a mean of zero, the largest first.
    mixtures : list of ndarray of shape (n_components, n_components)
        For each kernel, the matrix that turns the components into its features.
    """

    values: np.ndarray
    mixtures: list[np.ndarray]


def components_of(kernels: Sequence[KernelLike], rows: np.ndarray) -> Components:
    """Return the leading components of centred kernels.

    All kernels share the components, so that one regression serves all of them. The
    components are the principal components of the features of all kernels, each kernel
    with the same total variance. Memory is O(n rank).

    Parameters
    ----------
    kernels : sequence of kernel objects
        Kernels, each with one number as bandwidth.
    rows : ndarray of shape (n_samples, n_features)
        Rows.

    Returns
    -------
    components : Components
        Components. There are none if all features are constant.
    """
    if isinstance(rows, np.ndarray) and encode_labels(rows).max() == 0:
        factors = [np.zeros((1, len(rows))) for _ in kernels]
    else:
        factors = [_factor(kernel, rows) for kernel in kernels]
    sizes = [np.linalg.norm(factor) for factor in factors]
    used = [f / size for f, size in zip(factors, sizes, strict=True) if size > 0]
    if not used:
        none = np.zeros((len(rows), 0))
        return Components(none, [np.zeros((0, 0)) for _ in kernels])
    stacked = np.concatenate(used)
    if len(stacked) <= stacked.shape[1]:
        variances, vectors = np.linalg.eigh(stacked @ stacked.T)
        variances, vectors = variances[::-1], stacked.T @ vectors[:, ::-1]
    else:
        variances, vectors = np.linalg.eigh(stacked.T @ stacked)
        variances, vectors = variances[::-1], vectors[:, ::-1]
        vectors = vectors * np.sqrt(np.maximum(variances, 0))
    total = np.cumsum(variances) / variances.sum()
    count = min(1 + int(np.searchsorted(total, EXPLAINED)), MAX_COMPONENTS)
    count = min(count, int(np.sum(variances > ROUNDING * variances[0])))
    values = np.ascontiguousarray(vectors[:, :count])
    values -= values.mean(axis=0)
    variances = np.square(values).sum(axis=0)
    mixtures = []
    for factor in factors:
        loadings = (factor @ values) / variances
        mixtures.append(_root(loadings.T @ loadings))
    return Components(values, mixtures)


def _factor(kernel: KernelLike, rows: np.ndarray) -> np.ndarray:
    """Return the centred features of a kernel, of shape (rank, n_samples)."""
    factor = factor_of(rows, kernel)
    n_columns = rows.shape[1]
    definite = not hasattr(kernel, "is_definite") or kernel.is_definite(n_columns)
    if not definite or not (factor.complete or factor.rows.any()):
        raise ValueError(
            f"kernel == {shown(kernel)}, must be positive definite for a conditional "
            "test, because the test needs its features."
        )
    return factor.rows


def _root(matrix: np.ndarray) -> np.ndarray:
    """Return the square root of a positive semi-definite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T


class ResidualProducts(Source):
    """Products of a kernel on Z with inner products of residuals.

    For every choice of a kernel k on Z and of residuals r, q, ... from each side, the
    values are k(z_i, z_j) <r_i, r_j> <q_i, q_j> ... The last side varies fastest.

    Parameters
    ----------
    given : Source
        Kernels on Z.
    *sides : list of ndarray of shape (n_samples, n_residuals)
        Residuals of one variable, for each of its kernels.
    """

    tile = 128

    def __init__(self, given: Source, *sides: list[np.ndarray]):
        self.given = given
        self.sides = sides
        self.n_kernels = given.n_kernels * int(np.prod([len(side) for side in sides]))
        self.n_features = given.n_features + sum(
            residuals.shape[1] for side in sides for residuals in side
        )
        self.dtype = np.dtype(np.float64)

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the tiles of the products."""
        tiles = [
            [residuals[rows] @ residuals[cols].T for residuals in side]
            for side in self.sides
        ]
        products = list(product(*tiles))
        buffer = np.empty(out.shape[-2:], dtype=self.given.dtype)
        for k, values in self.given.block(rows, cols, buffer):
            for i, parts in enumerate(products):
                index = k * len(products) + i
                tile = out[index] if out.ndim == 3 else out
                tile[...] = values
                for part in parts:
                    tile *= part
                yield index, tile

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the products of pairs."""
        pairs: list[list[Any]] = [
            [np.einsum("ij,ij->i", part[rows], part[cols]) for part in side]
            for side in self.sides
        ]
        values = self.given.aligned(rows, cols)
        return np.array(
            [np.prod(parts, axis=0) for parts in product(values, *pairs)],
            dtype=self.dtype,
        )
