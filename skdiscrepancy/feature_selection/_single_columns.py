"""The columns of X and the target, each with its kernel."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from threading import Lock
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data.arrays import check_columns, names_of
from skdiscrepancy._data.checks import check_number, shown, text_of
from skdiscrepancy._data.frames import (
    Column,
    check_column_encoder,
    is_table,
    needs_encoding,
    read_columns,
)
from skdiscrepancy._data.targets import validate_with_target
from skdiscrepancy._gram.factors import (
    BATCH_NUMBERS,
    MAX_RANK,
    Factor,
    column_factors,
    factor_of,
    may_be_complete,
)
from skdiscrepancy._gram.run import Run, run_all, steps
from skdiscrepancy._gram.sources import Source, is_smooth, kernel_source
from skdiscrepancy._statistics.dependence import complete_statistics
from skdiscrepancy._statistics.second_order import check_finite
from skdiscrepancy.bandwidths import column_medians, median_bandwidth
from skdiscrepancy.kernels._base import Kernel, RowKernel
from skdiscrepancy.kernels._columns import ColumnKernel
from skdiscrepancy.kernels._labels import IndicatorKernel, PrecomputedKernel
from skdiscrepancy.kernels._names import (
    KERNELS,
    as_target,
    check_kernel,
    choose_target_kernels,
)
from skdiscrepancy.kernels._radial import RadialKernel, warn_if_indefinite
from skdiscrepancy.tables import TableEncoder, encode_target, fit_target_encoder


@dataclass(frozen=True, eq=False)
class Inputs:
    """A sample of columns.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_features)
        Numbers, NaN where they are missing, and an integer code for each label. A
        missing label has a code too.
    labels : ndarray of shape (n_features,)
        Whether each column holds labels.
    gaps : ndarray of shape (n_features,)
        Whether each column holds numbers, some of them missing.
    names : list of length n_features
        Names of the columns, or their positions.
    groups : list of list of int
        The columns of each variable, in the order of their first columns.
    group_names : list
        Name of each variable.
    kinds : list of str or None
        What each column of a table holds. None if X holds numbers, all of them known.
    """

    values: np.ndarray
    labels: np.ndarray
    gaps: np.ndarray
    names: list[Any]
    groups: list[list[int]]
    group_names: list[Any]
    kinds: list[str] | None

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.values.shape[0]

    @property
    def n_variables(self) -> int:
        """Number of columns, or of groups of columns."""
        return len(self.groups)

    def plain(self, variable: int) -> bool:
        """Whether a variable is one column of numbers, all of them known."""
        [first, *others] = self.groups[variable]
        return not (others or self.labels[first] or self.gaps[first])

    def label(self, variable: int) -> bool:
        """Whether a variable is one column of labels."""
        [first, *others] = self.groups[variable]
        return not others and bool(self.labels[first])

    def take(self, rows: np.ndarray) -> Inputs:
        """Return some of the rows."""
        return replace(self, values=self.values[rows])

    def expand(self, of_variables: np.ndarray) -> np.ndarray:
        """Return one entry for each column, from one entry for each variable."""
        of_columns = np.empty(self.values.shape[1], dtype=of_variables.dtype)
        for columns, value in zip(self.groups, of_variables, strict=True):
            of_columns[columns] = value
        return of_columns


class TableSelector(SelectorMixin):
    """Selector that returns the columns of a table as they are, if it was encoded."""

    kinds_: list[str] | None

    def transform(self, X: Any) -> Any:
        """Reduce X to the selected columns.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Sample with the columns of :term:`fit`.

        Returns
        -------
        X_selected : ndarray or DataFrame of shape (n_samples, n_selected_features)
            The selected columns. If X was a DataFrame with labels, dates or missing
            values in :term:`fit`, the columns of the DataFrame as they are. Else an
            array, unless `set_output` says otherwise.
        """
        check_is_fitted(self)
        if self.kinds_ is None or not is_table(X):
            return super().transform(X)
        check_columns(self, X, reset=False)
        columns = names_of(X)
        return X[[columns[j] for j in self.get_support(indices=True)]]

    def inverse_transform(self, X: Any) -> Any:
        """Insert a column of zeros for each column that was not selected.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_selected_features)
            Selected columns, which must hold numbers.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Sample with the columns of :term:`fit`.
        """
        check_is_fitted(self)
        if self.kinds_ is not None:
            raise ValueError(
                "inverse_transform inserts zeros, so it needs columns of numbers in "
                "fit, but X had labels, dates or missing values."
            )
        return super().inverse_transform(X)


def read_inputs(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    encoder: Any,
    target_kernel: Any,
    groups: Any = None,
) -> tuple[Inputs, np.ndarray]:
    """Validate X and y, and read the columns of X.

    Parameters
    ----------
    estimator : estimator or None
        Stores the number and names of the columns if it is not None.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Columns.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Target.
    encoder : "auto" or None
        Whether to read tables with columns that are not numbers.
    target_kernel : object
        Kernel on y.
    groups : array-like, dict or None, default=None
        Groups of columns.

    Returns
    -------
    inputs : Inputs
        The columns.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Numbers or labels.
    """
    check_column_encoder(encoder, X, kinds=("number",))
    options: dict[str, Any] = {"dtype": np.float64, "ensure_min_samples": 2}
    labels_of_y = reads_labels(target_kernel)
    target_encoder = fit_target_encoder(encoder, y, labels=labels_of_y)
    y = encode_target(encoder, target_encoder, y, labels=labels_of_y)
    kinds: list[str] | None = None
    if not needs_encoding(X):
        names = names_of(X)
        values, y = validate_with_target(estimator, X, y, **options)
        names = names or list(range(values.shape[1]))
        labels = gaps = np.zeros(values.shape[1], dtype=bool)
    else:
        columns = read_columns(X)
        names = [column.name for column in columns]
        kinds = [str(column.kind) for column in columns]
        labels = np.array([kind == "category" for kind in kinds])
        values = np.empty(X.shape)
        for j, column in enumerate(columns):
            values[:, j] = _label_codes(column) if labels[j] else column.values
        gaps = np.isnan(values).any(axis=0)
        if estimator is not None:
            check_columns(estimator, X, reset=True)
        # Missing numbers are allowed, so only the shapes and y are left to check.
        options["ensure_all_finite"] = "allow-nan"
        values, y = validate_with_target(None, values, y, **options)
    group_names, members = read_groups(groups, names)
    return Inputs(values, labels, gaps, names, members, group_names, kinds), y


def _label_codes(column: Column) -> np.ndarray:
    """Return codes that do not depend on the order of the rows, -1 for missing.

    Labels that are all different, such as an identifier, carry no information. They
    become a constant, because their CKA with y is above 0 in every order of the rows.
    """
    levels, codes = column.levels or [], np.asarray(column.codes)
    if len(np.unique(codes)) == len(codes):
        return np.zeros(len(codes))
    order = sorted(range(len(levels)), key=lambda i: text_of(levels[i]))
    return np.append(np.argsort(order), -1)[codes]


def reads_labels(target_kernel: Any) -> bool:
    """Return whether a parameter `target_kernel` is a kernel on labels."""
    named = isinstance(target_kernel, str) and target_kernel == "indicator"
    return named or isinstance(target_kernel, IndicatorKernel)


def read_groups(groups: Any, names: list[Any]) -> tuple[list[Any], list[list[int]]]:
    """Return the names and the columns of groups, in the order of first columns.

    Parameters
    ----------
    groups : array-like of shape (n_features,), dict or None
        Label of the group of each column, or the columns of each group. Columns in no
        group are groups of their own.
    names : list
        Names of the columns, or their positions.

    Returns
    -------
    group_names : list
        Name of each group.
    members : list of list of int
        Positions of the columns of each group.
    """
    if groups is None:
        return names, [[j] for j in range(len(names))]
    if isinstance(groups, Mapping):
        owners = _owners(groups, names)
        # A column on its own is no member of a group of the same name.
        keys = [
            (True, owners[j]) if j in owners else (False, j) for j in range(len(names))
        ]
    else:
        array = np.asarray(groups, dtype=object)
        if array.shape != (len(names),):
            raise ValueError(
                f"groups == {shown(groups)}, must have one label for each of the "
                f"{len(names)} features, or be a dict of the columns of each group."
            )
        keys = [(True, label) for label in array]
    members: dict[tuple[bool, Any], list[int]] = {}
    try:
        for j, key in enumerate(keys):
            members.setdefault(key, []).append(j)
    except TypeError as error:
        raise TypeError(
            f"groups == {shown(groups)}, must have labels that can be hashed, like "
            f"strings and numbers: {error}."
        ) from error
    group_names = [label if grouped else names[label] for grouped, label in members]
    return group_names, list(members.values())


def _owners(groups: Mapping[Any, Any], names: list[Any]) -> dict[int, Any]:
    """Return the group of each column that a dict of groups names."""
    owners: dict[int, Any] = {}
    for group, columns in groups.items():
        if (
            isinstance(columns, (str, bytes))
            or not np.ndim(columns) == 1
            or not len(columns)
        ):
            raise ValueError(
                f"groups[{group!r}] == {shown(columns)}, must be a list of columns."
            )
        for column in columns:
            if column in names:
                j = names.index(column)
            elif isinstance(column, Integral) and 0 <= int(column) < len(names):
                j = int(column)
            else:
                raise ValueError(
                    f"groups[{group!r}] has the column {column!r}, must have names of "
                    f"columns of X, {shown(names)}, or positions below {len(names)}."
                )
            if j in owners:
                raise ValueError(
                    f"groups[{group!r}] has the column {column!r}, which is in the "
                    f"group {owners[j]!r} already. Each column must be in one group."
                )
            owners[j] = group
    return owners


class Variable:
    """A column of X, or y, with its kernel.

    Products use the factors of Gram matrices, or tiles if a factor is not complete.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_columns)
        Values or labels.
    kernel : kernel object
        Kernel.
    bandwidth : float or None, default=None
        Bandwidth of the kernel. None if the kernel has its own number as bandwidth, or
        compares labels.
    """

    def __init__(self, rows: np.ndarray, kernel: Any, bandwidth: float | None = None):
        self.rows = rows
        self._kernel = kernel
        self._bandwidth = bandwidth
        self._factor: Factor | None = None
        self._norm: float | None = None

    @property
    def kernel(self) -> Any:
        """The kernel, with a number as bandwidth."""
        if isinstance(self._kernel, RowKernel):
            return self._kernel.learn([self.rows])
        if self._bandwidth is None or isinstance(self._kernel, IndicatorKernel):
            return self._kernel
        return clone(self._kernel).set_params(bandwidth=self._bandwidth)

    @property
    def factor(self) -> Factor:
        """Factor of the centred Gram matrix, not complete for a rough kernel.

        It is computed when it is needed, unless it was set.
        """
        if self._factor is None:
            # A factor that is not finite raises an error when scores are checked.
            with np.errstate(over="ignore", invalid="ignore"):
                self._factor = factor_of(self.rows, self.kernel)
        return self._factor

    @factor.setter
    def factor(self, factor: Factor) -> None:
        self._factor = factor

    @property
    def complete(self) -> bool:
        """Whether the factor is the whole Gram matrix, up to rounding."""
        if self._factor is None and not self.may_be_complete:
            return False
        return self.factor.complete

    @property
    def may_be_complete(self) -> bool:
        """Whether the factor can be complete, before it is computed."""
        return may_be_complete(self.rows, self._kernel)

    @property
    def source(self) -> Source:
        """The Gram matrix, tile by tile."""
        return kernel_source([self.kernel], self.rows)

    @property
    def norm(self) -> float:
        """Frobenius norm of the centred Gram matrix, 0 for a constant."""
        if self._norm is None:
            if self.complete:
                self._norm = self.factor.norm
            else:
                self._norm = np.sqrt(max(exact_product(self, self), 0.0))
            # The norm of a constant column is a rounding error. Every norm is below an
            # infinite trace, so such a trace is refused.
            if self._norm <= 1e-12 * check_finite(np.array(self._trace)):
                self._norm = 0.0
        return self._norm

    @property
    def _trace(self) -> float:
        """Trace of the Gram matrix, before it is centred."""
        if isinstance(self._kernel, RowKernel):
            with np.errstate(over="ignore", invalid="ignore"):
                return float(np.abs(self.kernel.pairs(self.rows, self.rows)).sum())
        return float(len(self.rows))

    def product(self, other: Variable) -> float:
        """Return the inner product of both centred Gram matrices."""
        if self.complete and other.complete:
            return float(np.square(self.factor.rows @ other.factor.rows.T).sum())
        return exact_product(self, other)

    def alignment(self, other: Variable) -> float:
        """Return the CKA, from 0 to 1, and 0 for a constant."""
        if not self.norm or not other.norm:
            return 0.0
        return min(max(self.product(other) / (self.norm * other.norm), 0.0), 1.0)


def exact_product(a: Variable, b: Variable) -> float:
    """Return the inner product of two centred Gram matrices, tile by tile."""
    n = len(a.rows)
    statistics = complete_statistics(a.source, b.source, n, unbiased=False, run=Run(1))
    return float(statistics.values[0]) * n**2


# Levels of a column of labels that have a column of their own in a block. The other
# levels share one column, so that a block does not grow with the number of rows.
MAX_LEVELS = 30


def check_factor(factor: Any, name: str) -> float:
    """Return a bandwidth factor, a multiple of the median distance."""
    if isinstance(factor, str):
        raise ValueError(
            f"{name} == {factor!r}, must be a finite number > 0, the multiple "
            "of the median distance: 1.0 is the median itself."
        )
    return check_number(factor, name, strict=True)


def column_scales(
    X: np.ndarray, kernel: Kernel, factor: Any, name: str, names: Any = None
) -> np.ndarray:
    """Return the bandwidth of every column, ones for kernels without a bandwidth.

    The bandwidth is the factor times the median distance of the column, unless the
    kernel has a bandwidth of its own: a number, or "median". `names` are the names of
    the columns, for error messages.
    """
    factor = check_factor(factor, name)
    if not isinstance(kernel, RadialKernel):
        return np.ones(X.shape[1])
    own = kernel.bandwidth
    if own is None:
        medians = _named_medians(X, names)
        with np.errstate(all="ignore"):
            scales = factor * medians
        usable = np.isfinite(scales) & (scales > 0)
        if not np.all(usable):
            j = int(np.argmin(usable))
            label = j if names is None else repr(names[j])
            raise ValueError(
                f"{name} == {factor}, must be another number for column {label} of X: "
                f"its product with the median distance, {medians[j]:.3g}, is too large "
                "or too small for floating point. Rescale this column."
            )
        return scales
    if isinstance(own, str) and own == "median":
        return _named_medians(X, names)
    own = check_number(own, f"bandwidth of {kernel!r}", strict=True, keyword="median")
    return np.full(X.shape[1], float(own))


def _named_medians(X: np.ndarray, names: Any) -> np.ndarray:
    """Return the median distance of every column. Errors name the column."""
    try:
        return column_medians(X)
    except ValueError:
        for j, label in enumerate(range(X.shape[1]) if names is None else names):
            with _naming(f"Column {label!r}"):
                column_medians(X[:, [j]])
        raise


@contextmanager
def _naming(what: str) -> Iterator[None]:
    """Put the name of a column or group before error messages."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error


def joint_bandwidth(n_columns: int, norm: float) -> float:
    """Return the bandwidth on several columns that each have a bandwidth of one.

    It grows with the number of columns as distances do.
    """
    return float(n_columns) ** (1 / norm)


class Measures:
    """The kernel and the bandwidth of each variable, learnt from a sample.

    A column of labels has the indicator kernel. Any other variable has the kernel of
    the selector. A column of numbers with missing values is read as two columns, as by
    `TableEncoder`. A group is read as one block of columns, each divided by its median
    distance. The bandwidth of a block is the factor times its own median distance.

    Parameters
    ----------
    inputs : Inputs
        Sample.
    kernel : kernel object
        Kernel of the selector.
    factor : float
        Multiple of the median distance.
    """

    def __init__(self, inputs: Inputs, kernel: Kernel, factor: Any):
        self.kernel = kernel
        name = "bandwidth_factor"
        plain = [v for v in range(inputs.n_variables) if inputs.plain(v)]
        columns = [inputs.groups[v][0] for v in plain]
        self.all_plain = len(plain) == inputs.n_variables
        X = inputs.values if self.all_plain else inputs.values[:, columns]
        names = [inputs.names[j] for j in columns]
        self.bandwidths = np.ones(inputs.n_variables)
        self.bandwidths[plain] = column_scales(X, kernel, factor, name, names)
        self.blocks: dict[int, Block] = {}
        for v in set(range(inputs.n_variables)) - set(plain):
            what = "Group" if len(inputs.groups[v]) > 1 else "Column"
            # Distances that are not finite are refused without a warning.
            with (
                _naming(f"{what} {inputs.group_names[v]!r}"),
                np.errstate(all="ignore"),
            ):
                self.blocks[v] = Block(inputs, inputs.groups[v], kernel)
            self.bandwidths[v] = self.blocks[v].bandwidth(check_factor(factor, name))

    def variable(self, inputs: Inputs, v: int) -> Variable:
        """Return the rows of one variable with their kernel."""
        if inputs.label(v):
            return Variable(inputs.values[:, inputs.groups[v]], IndicatorKernel())
        return Variable(self.rows(inputs, v), self.kernel, float(self.bandwidths[v]))

    def rows(self, inputs: Inputs, v: int) -> np.ndarray:
        """Return the rows of one variable as numbers, before they are scaled."""
        if v in self.blocks:
            return self.blocks[v].rows(inputs)
        return inputs.values[:, inputs.groups[v]]

    def scaled(self, inputs: Inputs, variables: list[int]) -> np.ndarray:
        """Return the rows of some variables side by side, divided by bandwidths."""
        if self.all_plain:
            return inputs.values[:, variables] / self.bandwidths[variables]
        return np.hstack([self.rows(inputs, v) / self.bandwidths[v] for v in variables])


class Block:
    """Columns that are read as one block of numbers, learnt from a sample.

    Parameters
    ----------
    inputs : Inputs
        Sample.
    columns : list of int
        The columns of the block.
    kernel : kernel object
        Kernel of the block.
    """

    def __init__(self, inputs: Inputs, columns: list[int], kernel: Kernel):
        self.kernel = kernel
        self.norm = kernel.norm if isinstance(kernel, RadialKernel) else 2
        self.columns = columns
        self.parts = [_learn_part(inputs, j, self.norm) for j in columns]
        self.divisors = np.ones(len(columns))
        own = getattr(kernel, "bandwidth", None)
        if len(columns) > 1 and (own is None or isinstance(own, str)):
            for i, (j, part) in enumerate(zip(columns, self.parts, strict=True)):
                rows = part.rows(inputs.values[:, j])
                self.divisors[i] = median_bandwidth(rows, p=self.norm)
        self.median = 1.0
        if own is None or isinstance(own, str):
            self.median = median_bandwidth(self.rows(inputs), p=self.norm)

    def rows(self, inputs: Inputs) -> np.ndarray:
        """Return the block of any sample."""
        return np.hstack(
            [
                part.rows(inputs.values[:, j]) / divisor
                for j, part, divisor in zip(
                    self.columns, self.parts, self.divisors, strict=True
                )
            ]
        )

    def bandwidth(self, factor: float) -> float:
        """Return the bandwidth of the kernel on this block."""
        if not isinstance(self.kernel, RadialKernel):
            return 1.0
        own = self.kernel.bandwidth
        if own is None:
            return factor * self.median
        if isinstance(own, str):
            return self.median
        return float(own) * joint_bandwidth(len(self.columns), self.norm)


class NumberPart:
    """A column of numbers, all of them known."""

    def rows(self, values: np.ndarray) -> np.ndarray:
        """Return the column as it is."""
        return values[:, np.newaxis]


class GapPart:
    """A column of numbers with missing values, as `TableEncoder` reads it."""

    def __init__(self, values: np.ndarray):
        self.encoder = TableEncoder().fit(values[:, np.newaxis])

    def rows(self, values: np.ndarray) -> np.ndarray:
        """Return a column of values, and a column that marks missing values."""
        return np.asarray(self.encoder.transform(values[:, np.newaxis]))


class LabelPart:
    """A column of labels, as columns of zeros and ones at a distance of one."""

    def __init__(self, codes: np.ndarray, norm: float):
        levels, counts = np.unique(codes, return_counts=True)
        self.levels = levels[np.argsort(-counts, kind="stable")][:MAX_LEVELS]
        self.height = 2.0 ** (-1 / norm)

    def rows(self, codes: np.ndarray) -> np.ndarray:
        """Return one column for each level, and one for all other labels."""
        known = codes[:, np.newaxis] == self.levels
        others = ~known.any(axis=1, keepdims=True)
        return self.height * np.hstack([known, others])


def _learn_part(inputs: Inputs, column: int, norm: float) -> Any:
    values = inputs.values[:, column]
    if inputs.labels[column]:
        return LabelPart(values, norm)
    return GapPart(values) if inputs.gaps[column] else NumberPart()


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
            Run(self.n_jobs, self.verbose),
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


# Columns in the order of their choice, with the objective at that step.
Path = list[tuple[int, float]]


# Values that agree to this fraction are equal; the first column is then chosen.
TIES = 1e-9


class Probes:
    """Columns with permuted rows, which are independent of everything.

    A column is distinguished from noise if its gain is larger than the gain of every
    permuted column that can still be chosen, for each of the permutations. Under
    independence, that has a probability of at most 1 / (1 + number of permutations).
    """

    def __init__(self, columns: Columns, permutations: Iterable[np.ndarray]):
        self.columns = columns
        self.permutations = list(permutations)

    def alignments(self, target: Variable) -> np.ndarray:
        """Return the CKA of all permuted columns with a variable.

        The shape is (1 + n_probes, n_features). The first row is the CKA of the
        columns without permutation, computed from the same factors, because factors
        that are not complete lower all of these values. The variable is permuted
        instead of the column, which has the same effect.
        """
        F = target.factor.rows
        permuted = [F, *(F[:, permutation] for permutation in self.permutations)]
        size = target.factor.norm

        def align(column: Variable) -> np.ndarray:
            G = column.factor.rows
            total = size * column.factor.norm
            if not total or not column.norm:
                return np.zeros(len(permuted))
            return np.array([np.square(G @ P.T).sum() / total for P in permuted])

        return np.array(self.columns.map(align)).T


def exceeds_noise(gains: np.ndarray, column: int, allowed: np.ndarray) -> bool:
    """Tell whether a gain in the first row is above all gains of permuted columns."""
    return bool(gains[0, column] > gains[1:, allowed].max() + TIES)


def best_of(values: np.ndarray, allowed: np.ndarray) -> int:
    """Return the index of the largest allowed value, the first index among ties."""
    values = np.where(allowed, values, -np.inf)
    largest = values.max()
    return int(np.argmax(values >= largest - TIES * abs(largest)))
