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

from skdiscrepancy._data import shown
from skdiscrepancy._engine import (
    BATCH_NUMBERS,
    MAX_RANK,
    column_factors,
    is_smooth,
    run_all,
    steps,
)
from skdiscrepancy.feature_selection._inputs import Inputs
from skdiscrepancy.feature_selection._measures import (
    Measures,
    column_scales,
    joint_bandwidth,
)
from skdiscrepancy.feature_selection._variables import Variable
from skdiscrepancy.kernels import (
    KERNELS,
    ColumnKernel,
    IndicatorKernel,
    Kernel,
    PrecomputedKernel,
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


class Columns:
    """The columns of X, or groups of columns, with one kernel each.

    Parameters
    ----------
    inputs : Inputs
        Sample.
    measures : Measures
        The kernel and the bandwidth of each variable.
    n_jobs : int or None, default=None
        Number of threads.
    verbose : int, default=0
        Whether the progress is shown.
    keep : bool, default=True
        Keep the factors, as far as the working memory allows.
    """

    def __init__(
        self,
        inputs: Inputs,
        measures: Measures,
        *,
        n_jobs: int | None = None,
        verbose: int = 0,
        keep: bool = True,
    ):
        self.inputs = inputs
        self.measures = measures
        self.kernel = measures.kernel
        self.n_samples = inputs.n_samples
        self.n_jobs = n_jobs
        self.verbose = verbose
        rank = 1 if is_smooth(self.kernel) else min(self.n_samples, MAX_RANK)
        self._batch_size = max(1, BATCH_NUMBERS // (self.n_samples * rank))
        self._kept: dict[int, Batch] = {}
        self._lock = Lock()
        self._room = get_config()["working_memory"] * 2**20 if keep else 0

    def variable(self, column: int) -> Variable:
        """Return one column or group with its kernel."""
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
        n_batches = -(-self.inputs.n_variables // self._batch_size)
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
        stop = min(start + self._batch_size, self.inputs.n_variables)
        batch = Batch(self.inputs, self.measures, range(start, stop))
        with self._lock:
            if self._room > batch.rows.nbytes:
                self._room -= batch.rows.nbytes
                self._kept[position] = batch
        return batch


class Batch:
    """Some columns with their kernels, and their factors in one array if complete."""

    def __init__(self, inputs: Inputs, measures: Measures, members: range):
        self.variables = [measures.variable(inputs, v) for v in members]
        if not all(variable.may_be_complete for variable in self.variables):
            self.complete = False
            self.rows = np.empty((0, inputs.n_samples))
            return
        # Columns of numbers are factored together.
        plain = [v for v in members if inputs.plain(v)]
        if plain:
            X = inputs.values[:, [inputs.groups[v][0] for v in plain]]
            bandwidths = measures.bandwidths[plain]
            factors = column_factors(X, measures.kernel, bandwidths)
            for v, factor in zip(plain, factors, strict=True):
                self.variables[v - members.start].factor = factor
        factors = [variable.factor for variable in self.variables]
        ranks = [len(factor.rows) for factor in factors]
        self.starts = np.cumsum([0, *ranks[:-1]])
        self.rows = np.concatenate([factor.rows for factor in factors])
        for variable, start, rank in zip(
            self.variables, self.starts, ranks, strict=True
        ):
            rows = self.rows[start : start + rank]
            variable.factor = variable.factor._replace(rows=rows)
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
