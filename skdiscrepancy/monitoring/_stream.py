"""Kernel values of the rows of a stream, with the same bits in blocks of any size."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

from skdiscrepancy._engine import (
    KernelSource,
    decay_rate,
    in_one_blas_thread,
    kernel_source,
)
from skdiscrepancy._loops import (
    city_block,
    compiled,
    decay_sums,
    decay_values,
    difference_products,
)
from skdiscrepancy.kernels import KernelLike

# Largest number of rows that are evaluated at once, and of distances to the reference.
MOST_ROWS, MOST_DISTANCES = 32, 2**20


class StreamKernels:
    """Kernels on rows of a stream, which come after the reference sample.

    The values of a row do not depend on the rows that come with it, to the last digit.
    Matrix products round differently if they have more rows, so rows are evaluated one
    by one. Exponentials of compiled distances are evaluated in blocks.

    Parameters
    ----------
    kernels : list of kernel objects
        Each with one number as bandwidth.
    reference : ndarray of shape (n_samples, n_features)
        Reference sample.
    size : int
        Number of rows of a window.
    """

    def __init__(self, kernels: list[KernelLike], reference: np.ndarray, size: int):
        self.kernels = kernels
        self.reference = reference
        self.size = size
        rates = [decay_rate(kernel, reference.dtype) for kernel in kernels]
        # Kernels by their norm, if all are exponentials of a distance.
        self.rates: dict[int, dict[int, float]] | None = {}
        for k, (kernel, rate) in enumerate(zip(kernels, rates, strict=True)):
            if rate is None or not rate < 0:
                self.rates = None
                break
            self.rates.setdefault(kernel.norm, {})[k] = rate
        self._prepare()

    def _prepare(self) -> None:
        # The loops over differences read columns.
        self._columns = np.asfortranarray(self.reference)
        self._source: KernelSource | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without copies of the reference sample."""
        hidden = ("_columns", "_source", "_rows")
        return {name: v for name, v in vars(self).items() if name not in hidden}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._prepare()

    @property
    def most_rows(self) -> int:
        """Largest number of rows to evaluate at once."""
        return max(1, min(MOST_ROWS, MOST_DISTANCES // len(self.reference)))

    def values(self, old: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return kernel sums over the reference sample, and kernels of the last rows.

        Parameters
        ----------
        old : ndarray of shape (n_old, n_features)
            Rows of the window, oldest first.
        new : ndarray of shape (n_new, n_features)
            Rows that come after them.

        Returns
        -------
        cross : ndarray of shape (n_kernels, n_new)
            Sum of each new row over the reference sample.
        within : ndarray of shape (n_kernels, n_new, n_old + n_new)
            Kernel of each new row with the rows before that are in its window.
        """
        rows = np.concatenate((old, new))
        shape = (len(self.kernels), len(new))
        cross = np.empty(shape)
        within = np.zeros((*shape, len(rows)), dtype=self.reference.dtype)
        with np.errstate(all="ignore"):
            if self.rates is None or compiled("tiles") is None:
                self._one_by_one(rows, len(old), cross, within)
            else:
                self._in_blocks(rows, len(old), cross, within)
        return cross, within

    def _in_blocks(
        self, rows: np.ndarray, n_old: int, cross: np.ndarray, within: np.ndarray
    ) -> None:
        assert self.rates is not None
        new, all_rows = rows[n_old:], np.asfortranarray(rows)
        for norm, members in self.rates.items():
            ks, rates = list(members), list(members.values())
            cross[ks] = decay_sums(_differences(new, self._columns, norm), rates)[0]
            distance = _differences(new, all_rows, norm)
            for _ in decay_values(distance, rates, [within[k] for k in ks]):
                pass

    @in_one_blas_thread
    def _one_by_one(
        self, rows: np.ndarray, n_old: int, cross: np.ndarray, within: np.ndarray
    ) -> None:
        m, n_kernels = len(self.reference), len(self.kernels)
        if self._source is None:
            # The source is centred by the rows that it is given, always the same rows.
            some = np.arange(self.size + MOST_ROWS) % m
            self._rows = self.reference[some]
            self._source = kernel_source(self.kernels, self.reference, self._rows)
        source = self._source
        self._rows[: len(rows)] = rows
        for i in range(len(rows) - n_old):
            stop = n_old + i
            start = max(0, stop + 1 - self.size)
            here = slice(m + stop, m + stop + 1)
            cross[:, i] = source.both_sums(here, slice(0, m))[0][:, 0]
            if start == stop:
                continue
            out = np.empty((n_kernels, 1, stop - start), dtype=source.dtype)
            for _ in source.block(here, slice(m + start, m + stop), out):
                pass
            within[:, i, start:stop] = out[:, 0]


def _differences(A: np.ndarray, B: np.ndarray, norm: int) -> np.ndarray:
    """Return L1 distances, or squared Euclidean distances, by differences of rows."""
    return city_block(A, B) if norm == 1 else difference_products(A, B, A, B)
