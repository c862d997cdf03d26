"""The columns of X and the target, each with its kernel."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from skdiscrepancy._data import check_number, shown
from skdiscrepancy._engine import (
    BATCH_NUMBERS,
    MAX_RANK,
    column_factors,
    is_smooth,
    may_be_complete,
    run_all,
    steps,
)
from skdiscrepancy.bandwidths import column_medians
from skdiscrepancy.feature_selection._variables import Variable
from skdiscrepancy.kernels import (
    KERNELS,
    ColumnKernel,
    IndicatorKernel,
    Kernel,
    PrecomputedKernel,
    RadialKernel,
    RowKernel,
    as_target,
    check_kernel,
    choose_target_kernels,
    warn_if_indefinite,
)


def check_single_kernel(kernel: Any, name: str, *words: str) -> Kernel:
    """Return the one kernel that a parameter names.

    `words` are other values that are allowed, for the error message.
    """
    of_gaussian_process = isinstance(kernel, GaussianProcessKernel)
    named = isinstance(kernel, str) and kernel in KERNELS
    if named or (callable(kernel) and not of_gaussian_process):
        [checked] = check_kernel(kernel, name)
        parts = checked.members() if isinstance(checked, Kernel) else []
        refused = (PrecomputedKernel, ColumnKernel)
        if parts and not any(
            isinstance(part, refused) or getattr(part, "metric", None) is not None
            for part in parts
        ):
            return checked
    raise ValueError(
        f"{name} == {shown(kernel)}, must be one kernel of skdiscrepancy.kernels that "
        "reads the values of a column and has no metric, a function that returns the "
        f"Gram matrix of two blocks of rows, or one of {[*words, *sorted(KERNELS)]}."
    )


def check_factor(factor: Any, name: str) -> float:
    """Return a bandwidth factor, a multiple of the median distance."""
    if isinstance(factor, str):
        raise ValueError(
            f"{name} == {factor!r}, must be a finite number > 0, the multiple "
            "of the median distance: 1.0 is the median itself."
        )
    check_number(factor, name, strict=True)
    return float(factor)


def column_scales(X: np.ndarray, kernel: Kernel, factor: Any, name: str) -> np.ndarray:
    """Return the bandwidth of every column, ones for kernels without a bandwidth.

    The bandwidth is the factor times the median distance of the column, unless the
    kernel has a bandwidth of its own: a number, or "median".
    """
    factor = check_factor(factor, name)
    if not isinstance(kernel, RadialKernel):
        return np.ones(X.shape[1])
    own = kernel.bandwidth
    if own is None:
        medians = column_medians(X)
        with np.errstate(all="ignore"):
            scales = factor * medians
        usable = np.isfinite(scales) & (scales > 0)
        if not np.all(usable):
            j = int(np.argmin(usable))
            raise ValueError(
                f"{name} == {factor}, must be another number for column {j} of X: its "
                f"product with the median distance, {medians[j]:.3g}, is too large or "
                "too small for floating point. Rescale this column."
            )
        return scales
    if isinstance(own, str) and own == "median":
        return column_medians(X)
    check_number(own, f"bandwidth of {kernel!r}", strict=True, keyword="median")
    return np.full(X.shape[1], float(own))


def joint_bandwidth(n_columns: int, norm: float) -> float:
    """Return the bandwidth on several columns that each have a bandwidth of one.

    It grows with the number of columns as distances do.
    """
    return float(n_columns) ** (1 / norm)


class Columns:
    """The columns of X with one kernel each.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Sample.
    kernel : kernel object
        Kernel of all columns.
    scales : ndarray of shape (n_features,)
        Bandwidth of each column.
    n_jobs : int or None, default=None
        Number of threads.
    verbose : int, default=0
        Whether the progress is shown.
    keep : bool, default=True
        Keep the factors, as far as the working memory allows.
    """

    def __init__(
        self,
        X: np.ndarray,
        kernel: Kernel,
        scales: np.ndarray,
        *,
        n_jobs: int | None = None,
        verbose: int = 0,
        keep: bool = True,
    ):
        self.X = X
        self.kernel = kernel
        self.scales = scales
        self.n_jobs = n_jobs
        self.verbose = verbose
        rank = 1 if is_smooth(kernel) else min(self.n_samples, MAX_RANK)
        self._batch_size = max(1, BATCH_NUMBERS // (self.n_samples * rank))
        self._kept: dict[int, Batch] = {}
        self._lock = Lock()
        self._room = get_config()["working_memory"] * 2**20 if keep else 0

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.X.shape[1]

    def variable(self, column: int) -> Variable:
        """Return one column with its kernel."""
        position, inside = divmod(column, self._batch_size)
        return self._batch(position).variables[inside]

    def map(self, function: Callable[[Variable], Any]) -> list[Any]:
        """Apply a function to the variables of all columns, in threads, in order."""

        def of_batch(batch: Batch) -> list[Any]:
            variables: Iterable[Variable] = batch.variables
            if self.verbose:
                n_columns = len(batch.variables)
                variables = steps(variables, "columns", n_columns, self.verbose)
            return list(map(function, variables))

        return self._map_batches(of_batch)

    def alignments(self, target: Variable) -> np.ndarray:
        """Return the CKA of each column with a variable."""
        return np.array(self._map_batches(lambda batch: batch.alignments(target)))

    def _map_batches(self, function: Callable[[Batch], list[Any]]) -> list[Any]:
        n_batches = -(-self.n_features // self._batch_size)
        parts = run_all(
            range(n_batches),
            lambda position: function(self._batch(position)),
            self.n_jobs,
            self.verbose,
            what="columns",
            # The threads share the batches that are kept.
            require="sharedmem",
        )
        return [result for part in parts for result in part]

    def _batch(self, position: int) -> Batch:
        """Return a batch of columns; batches that fit the working memory are kept."""
        if position in self._kept:
            return self._kept[position]
        start = position * self._batch_size
        columns = slice(start, start + self._batch_size)
        batch = Batch(self.X[:, columns], self.kernel, self.scales[columns])
        with self._lock:
            if self._room > batch.rows.nbytes:
                self._room -= batch.rows.nbytes
                self._kept[position] = batch
        return batch


class Batch:
    """Some columns with their kernels, and their factors in one array if complete."""

    def __init__(self, X: np.ndarray, kernel: Kernel, scales: np.ndarray):
        if not all(may_be_complete(X[:, [j]], kernel) for j in range(X.shape[1])):
            self.complete = False
            self.rows = np.empty((0, len(X)))
            self.variables = [
                Variable(X[:, [j]], kernel, bandwidth=float(scale))
                for j, scale in enumerate(scales)
            ]
            return
        factors = column_factors(X, kernel, scales)
        ranks = [len(factor.rows) for factor in factors]
        self.starts = np.cumsum([0, *ranks[:-1]])
        self.rows = np.concatenate([factor.rows for factor in factors])
        self.variables = [
            Variable(
                X[:, [j]],
                kernel,
                factor._replace(rows=self.rows[start : start + rank]),
                bandwidth=float(scale),
            )
            for j, (factor, start, rank, scale) in enumerate(
                zip(factors, self.starts, ranks, scales, strict=True)
            )
        ]
        self.complete = all(factor.complete for factor in factors)

    def alignments(self, target: Variable) -> list[float]:
        """Return the CKA of each column with a variable."""
        if not (self.complete and target.complete):
            return [variable.alignment(target) for variable in self.variables]
        squares = np.square(self.rows @ target.factor.rows.T).sum(axis=1)
        # The last column may have no rows, if its kernel is zero.
        products = np.add.reduceat(np.append(squares, 0.0), self.starts)
        sizes = target.norm * np.array([variable.norm for variable in self.variables])
        aligned = np.divide(products, sizes, out=np.zeros_like(sizes), where=sizes > 0)
        return aligned.clip(0, 1).tolist()


class TargetKernel:
    """The kernel on y, with a bandwidth from one sample, for this and other samples.

    Several numeric columns are divided by their scales, and share one joint kernel.

    Parameters
    ----------
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Numbers or labels.
    kernel : kernel object
        Kernel on X.
    target_kernel, target_bandwidth_factor : object
        Parameters of the selectors.
    """

    def __init__(
        self,
        y: np.ndarray,
        kernel: Kernel,
        target_kernel: Any,
        target_bandwidth_factor: Any,
    ):
        if not (isinstance(target_kernel, str) and target_kernel == "auto"):
            check_single_kernel(target_kernel, "target_kernel", "auto")
        self.name = target_kernel
        self.kernel = choose_target_kernels(target_kernel, y, [kernel])[0]
        self.scales: np.ndarray | None = None
        rows = self.rows_of(y)
        scales = column_scales(
            rows, self.kernel, target_bandwidth_factor, "target_bandwidth_factor"
        )
        if isinstance(self.kernel, RowKernel):
            self.kernel = self.kernel.learn([rows])
        elif not self.of_labels:
            bandwidth = float(scales[0])
            warn_if_indefinite([self.kernel], rows.shape[1])
            if rows.shape[1] > 1:
                bandwidth = joint_bandwidth(rows.shape[1], self.kernel.norm)
                self.scales = scales
            self.kernel = clone(self.kernel).set_params(bandwidth=bandwidth)

    @property
    def of_labels(self) -> bool:
        """Whether the kernel compares labels."""
        return isinstance(self.kernel, IndicatorKernel)

    def rows_of(self, y: np.ndarray) -> np.ndarray:
        """Return y with one column for each target, as the kernel reads it."""
        y = as_target(y, [self.kernel], self.name)
        if self.of_labels:
            return y
        y = y.astype(np.float64, copy=False)
        return y if self.scales is None else y / self.scales

    def variable(self, y: np.ndarray) -> Variable:
        """Return y with its kernel."""
        return Variable(self.rows_of(y), self.kernel)
