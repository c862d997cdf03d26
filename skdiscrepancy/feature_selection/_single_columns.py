"""The columns of X and the target, each with its kernel, and scores of columns."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache
from itertools import chain, islice, permutations
from numbers import Integral
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data.arrays import (
    SparseRows,
    check_columns,
    check_weights,
    kind_of_blocks,
    n_rows,
    names_of,
    readable,
    refuse_missing,
    rows_with_weight,
    tag_target,
    validate_with_target,
    warn_of_other_index,
)
from skdiscrepancy._data.blocks import LazyRows
from skdiscrepancy._data.checks import (
    RandomStateLike,
    check_number,
    check_run_options,
    check_value,
    declares_parameters,
    draw_seeds,
    explaining,
    generator_of,
    shown,
    text_of,
)
from skdiscrepancy._data.distances import representative_rows
from skdiscrepancy._data.frames import (
    Column,
    check_column_encoder,
    is_table,
    read_columns,
    take_columns,
)
from skdiscrepancy._estimators.cka import Variable, cka
from skdiscrepancy._estimators.readers import Reader, lazy_target_kernels, pair_of_rows
from skdiscrepancy._gram.factors import (
    BATCH_NUMBERS,
    MAX_RANK,
    LazyFactors,
    SparseColumns,
    column_factors,
    factor_of,
    inner_product,
)
from skdiscrepancy._gram.kernel_gram import is_smooth
from skdiscrepancy._gram.run import (
    Run,
    end_if_stopped,
    in_one_blas_thread,
    run_all,
    steps,
)
from skdiscrepancy._nulls.limits import gamma_pvalue, invariants
from skdiscrepancy._nulls.pvalues import rank_pvalue
from skdiscrepancy._statistics.second_order import check_finite
from skdiscrepancy.bandwidths import median_bandwidth, quantiles
from skdiscrepancy.kernels._base import (
    ColumnKernel,
    IndicatorKernel,
    Kernel,
    PrecomputedKernel,
    RowKernel,
)
from skdiscrepancy.kernels._names import (
    KERNELS,
    as_target,
    check_kernel,
    choose_target_kernels,
    is_for_columns,
)
from skdiscrepancy.kernels._radial import (
    GaussianKernel,
    RadialKernel,
    TwoScaleKernel,
    warn_if_indefinite,
)
from skdiscrepancy.tables import TableEncoder


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
    weights : ndarray of shape (n_samples,) or None
        Weights of the rows that sum to one.
    """

    values: Any
    labels: np.ndarray
    gaps: np.ndarray
    names: list[Any]
    groups: list[list[int]]
    group_names: list[Any]
    kinds: list[str] | None
    weights: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> Inputs:
        """Return some of the rows."""
        weights = self.weights
        if weights is not None:
            weights = weights[rows] / weights[rows].sum()
        return replace(self, values=self.values[rows], weights=weights)

    def plain(self, variable: int) -> bool:
        """Whether a variable is one column of numbers, all of them known."""
        [first, *others] = self.groups[variable]
        return not (others or self.labels[first] or self.gaps[first])

    def label(self, variable: int) -> bool:
        """Whether a variable is one column of labels."""
        [first, *others] = self.groups[variable]
        return not others and bool(self.labels[first])

    def expand(self, of_variables: np.ndarray) -> np.ndarray:
        """Return one entry for each column, from one entry for each variable."""
        sizes = [len(columns) for columns in self.groups]
        return np.repeat(of_variables, sizes)[np.argsort(np.concatenate(self.groups))]


class TableSelector(SelectorMixin):
    """Selector that returns the columns of a table as they are, if it was encoded."""

    kinds_: list[str] | None
    support_: np.ndarray

    def transform(self, X: Any) -> Any:
        """Reduce X to the selected columns.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Sample with all columns.

        Returns
        -------
        X_selected : ndarray or DataFrame of shape (n_samples, n_selected_features)
            The selected columns.
        """
        check_is_fitted(self)
        if self.kinds_ is None or not is_table(X):
            with readable(X, "X", None):
                return super().transform(X)
        check_columns(self, X, reset=False)
        columns = names_of(X)
        return take_columns(X, [columns[j] for j in self.get_support(indices=True)])

    def inverse_transform(self, X: Any) -> Any:
        """Insert zeros for the columns that were not selected.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_selected_features)
            Selected columns of numbers.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Sample with all columns.
        """
        check_is_fitted(self)
        if self.kinds_ is not None:
            raise ValueError(
                "inverse_transform inserts zeros, so it needs columns of numbers in "
                "fit, but X had labels, dates or missing values."
            )
        return super().inverse_transform(X)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = tag_target(super().__sklearn_tags__())
        tags.input_tags.sparse = True
        return tags


def read_inputs(
    owner: Any, X: Any, y: Any, params: Any, sample_weight: Any = None
) -> tuple[Inputs, Any]:
    """Validate X and y, read the columns of X, and store their names in `owner`."""
    encoder, kernel = params.encoder, params.target_kernel
    check_value(params.n_components, "n_components")
    on_disk = isinstance(X, np.memmap) and params.n_components is not None
    kind = "a memory map" if on_disk else kind_of_blocks(X)
    if owner is not None and kind is not None:
        Reader(None, 2, encoder, params)._refuse_in_memory("X", kind)
        rows, target = pair_of_rows(X, y, 2)
        check_columns(owner, rows.header, reset=True)
        return _inputs(rows, rows.columns, None, params, sample_weight), target
    warn_of_other_index(X, y)
    check_column_encoder(encoder, X, kinds=("number",))
    if sample_weight is not None:
        X, y, sample_weight = with_weight(sample_weight, X, y)
    labels_of_y = isinstance(kernel, IndicatorKernel) or str(kernel) == "indicator"
    y = Reader(None, encoder=encoder).target(y, labels=labels_of_y)
    options: Any = dict(dtype=np.float64, ensure_min_samples=2, accept_sparse="csr")
    names, kinds = names_of(X), None
    columns = read_columns(X) if is_table(X) else []
    if any(column.missing.any() or column.kind != "number" for column in columns):
        names = [column.name for column in columns]
        kinds = [str(column.kind) for column in columns]
        if owner is not None:
            check_columns(owner, X, reset=True)
        X = np.column_stack([_numbers_of(column) for column in columns])
        # Missing numbers are allowed, so only the shapes and y are left to check.
        owner, options["ensure_all_finite"] = None, "allow-nan"
    values, y = validate_with_target(owner, X, y, **options)
    if isinstance(values, SparseRows):
        values = SparseColumns(values.matrix)
    return _inputs(values, names, kinds, params, sample_weight), y


def with_weight(sample_weight: Any, *samples: Any) -> list[Any]:
    """Return the rows of samples that have a weight, and their weights."""
    weights = check_weights(sample_weight, n_rows(samples[0]) or 0, 2)
    found = [Z if Z is None else rows_with_weight(Z, weights) for Z in samples]
    return [*found, weights[weights > 0]]


def _inputs(values: Any, names: Any, kinds: Any, params: Any, weights: Any) -> Inputs:
    """Return the columns of a sample, with the groups and weights that it has."""
    names = names or list(range(values.shape[1]))
    labels = np.array(kinds or ["number"] * len(names)) == "category"
    gaps: Any = np.zeros(len(names), dtype=bool)
    if isinstance(values, np.ndarray):
        gaps = np.isnan(values).any(axis=0)
    group_names, members = read_groups(getattr(params, "groups", None), names)
    if weights is not None:
        weights = check_weights(weights, len(values), 2)
    return Inputs(values, labels, gaps, names, members, group_names, kinds, weights)


def _numbers_of(column: Column) -> np.ndarray:
    """Return numbers, or codes of labels in any order of the rows, -1 for missing.

    Labels that are all different, such as an identifier, carry no information. They
    become a constant, because their CKA with y is above 0 in every order of the rows.
    """
    if column.kind != "category":
        return column.values
    levels, codes = column.levels or [], np.asarray(column.codes)
    if len(np.unique(codes)) == len(codes):
        return np.zeros(len(codes))
    order = sorted(range(len(levels)), key=lambda i: text_of(levels[i]))
    return np.append(np.argsort(order), -1)[codes]


def read_groups(groups: Any, names: list[Any]) -> tuple[list[Any], list[list[int]]]:
    """Return the names and the columns of groups, in the order of first columns."""
    if groups is None:
        return names, [[j] for j in range(len(names))]
    # A column on its own is no member of a group of the same name.
    keys: list[tuple[bool, Any]] = [(False, j) for j in range(len(names))]
    if isinstance(groups, Mapping):
        for group, columns in groups.items():
            text = isinstance(columns, (str, bytes))
            if text or np.ndim(columns) != 1 or not len(columns):
                raise ValueError(
                    f"groups[{shown(group)}] == {shown(columns)}, must be a list of "
                    "columns."
                )
            for column in columns:
                j = _place_of(column, names, group)
                if keys[j][0]:
                    raise ValueError(
                        f"groups[{shown(group)}] has the column {shown(column)}, "
                        f"which is in the group {shown(keys[j][1])} already. Each "
                        "column must be in one group."
                    )
                keys[j] = True, group
    else:
        array = np.asarray(groups, dtype=object)
        if array.shape != (len(names),):
            raise ValueError(
                f"groups == {shown(groups)}, must have one label for each of the "
                f"{len(names)} features, or be a dict of the columns of each group."
            )
        refuse_missing(array, "groups")
        keys = [(True, label) for label in array]
    members: dict[tuple[bool, Any], list[int]] = {}
    what = f"groups == {shown(groups)}, must have labels that can be hashed"
    with explaining(f"{what}, like strings and numbers"):
        for j, key in enumerate(keys):
            members.setdefault(key, []).append(j)
    group_names = [label if grouped else names[label] for grouped, label in members]
    return group_names, list(members.values())


def _place_of(column: Any, names: list[Any], group: Any) -> int:
    """Return the position of a column of a group, which is its name or position."""
    if column in names:
        return names.index(column)
    if isinstance(column, Integral) and 0 <= int(column) < len(names):
        return int(column)
    raise ValueError(
        f"groups[{shown(group)}] has the column {shown(column)}, must have names of "
        f"columns of X, {shown(names)}, or positions below {len(names)}."
    )


# Default bandwidths, as multiples of the median distance: the smaller one of two
# Gaussian kernels, and of any other kernel.
SMALLER, FACTOR = 0.8, 1.2
# Levels of a column of labels that have a column of their own in a block. The other
# levels share one column, so that a block does not grow with the number of rows.
MAX_LEVELS = 30


def block_scales(
    blocks: Any, titles: list[str], kernel: Kernel, factor: Any, prefix: str = ""
) -> np.ndarray:
    """Return the bandwidth on every block of columns, ones if the kernel has none."""
    name = f"{prefix}bandwidth_factor"
    if isinstance(factor, str):
        raise ValueError(
            f"{name} == {factor!r}, must be a finite number > 0, the multiple "
            "of the median distance: 1.0 is the median itself."
        )
    factor = float(check_number(factor, name, strict=True))
    if not isinstance(kernel, RadialKernel):
        return np.ones(len(titles))
    own = kernel.bandwidth
    if own is not None and not (isinstance(own, str) and own == "median"):
        what = f"bandwidth of {kernel!r}"
        own = check_number(own, what, strict=True, keyword="median")
        return np.full(len(titles), float(own))
    medians = np.empty(len(titles))
    for v, (title, rows) in enumerate(zip(titles, blocks, strict=True)):
        with explaining(f"{title[0].upper()}{title[1:]}"):
            rows = rows.sample if isinstance(rows, LazyRows) else rows
            medians[v] = quantiles(representative_rows([rows]), kernel.norm)(0.5)
    if own is not None:
        return medians
    with np.errstate(all="ignore"):
        scales = factor * medians
    usable = np.isfinite(scales) & (scales > 0)
    if not np.all(usable):
        v = int(np.argmin(usable))
        raise ValueError(
            f"{name} == {factor}, must be another number for {titles[v]} of X: "
            f"its product with the median distance, {medians[v]:.3g}, is too large or "
            "too small for floating point. Rescale this column."
        )
    return scales


def joint_kernel(kernel: RadialKernel, n_columns: int) -> RadialKernel:
    """Return the kernel on several columns that each have a bandwidth of one.

    Its bandwidth grows with the number of columns as distances do.
    """
    bandwidth = float(n_columns) ** (1 / kernel.norm)
    return clone(kernel).set_params(bandwidth=bandwidth)


# Reads columns of any sample as one block of numbers.
ReadBlock = Callable[[Inputs], np.ndarray]


def _learn_block(inputs: Inputs, columns: list[int], kernel: Kernel) -> ReadBlock:
    """Learn to read columns as one block, in which each column has the same weight."""
    norm = kernel.norm if isinstance(kernel, RadialKernel) else 2
    readers = [_learn_column(inputs, j, norm) for j in columns]
    if len(columns) == 1:
        return readers[0]
    own = getattr(kernel, "bandwidth", None)
    divisors = [len(columns) ** (1 / norm)] * len(columns)
    if own is None or isinstance(own, str):
        divisors = [median_bandwidth(read(inputs), p=norm) for read in readers]

    def rows(sample: Inputs) -> np.ndarray:
        columns = zip(readers, divisors, strict=True)
        return np.hstack([read(sample) / divisor for read, divisor in columns])

    return rows


def _learn_column(inputs: Inputs, column: int, norm: float) -> ReadBlock:
    """Learn to read one column; labels or missing values become several columns."""
    if inputs.labels[column]:
        values = inputs.values[:, [column]]
        levels, counts = np.unique(values, return_counts=True)
        levels = levels[np.argsort(-counts, kind="stable")][:MAX_LEVELS]

        def one_hot(sample: Inputs) -> np.ndarray:
            known = sample.values[:, [column]] == levels
            others = ~known.any(axis=1, keepdims=True)
            return 2.0 ** (-1 / norm) * np.hstack([known, others])

        return one_hot
    if inputs.gaps[column]:
        encoder = TableEncoder().fit(inputs.values[:, [column]])
        return lambda sample: np.asarray(encoder.transform(sample.values[:, [column]]))
    if isinstance(inputs.values, LazyRows):
        return lambda sample: sample.values.take([column])
    return lambda sample: np.asarray(sample.values[:, [column]])


def check_single_kernel(kernel: Any, name: str, *words: str) -> Kernel:
    """Return the one kernel that a parameter names.

    `words` are other values that are allowed, for the error message.
    """
    of_gaussian_process = isinstance(kernel, GaussianProcessKernel)
    named = isinstance(kernel, str) and kernel in KERNELS
    if named or (callable(kernel) and not of_gaussian_process):
        [checked] = check_kernel(kernel, name)
        refused = PrecomputedKernel, ColumnKernel
        if isinstance(checked, Kernel) and not is_for_columns(checked, *refused):
            return checked
    raise ValueError(
        f"{name} == {shown(kernel)}, must be one kernel of skdiscrepancy.kernels that "
        "reads the values of a column and has no metric, a function that returns the "
        f"Gram matrix of two blocks of rows, or one of {[*words, *sorted(KERNELS)]}."
    )


class Columns:
    """Variables of X: labels have an indicator kernel, others the selector's kernel."""

    def __init__(self, inputs: Inputs, params: Any, *, keep: bool = True):
        self.inputs = inputs
        self.kernel = check_single_kernel(params.kernel, "kernel")
        kernel, factor = self.kernel, params.bandwidth_factor
        if factor is None:
            factor = FACTOR
            if repr(kernel) == repr(GaussianKernel()):
                self.kernel, factor = TwoScaleKernel(), SMALLER
        self.blocks: list[ReadBlock] = []
        titles = []
        for name, columns in zip(inputs.group_names, inputs.groups, strict=True):
            titles.append(f"group {name!r}")
            if len(columns) == 1:
                titles[-1] = f"column {inputs.names[columns[0]]!r}"
            with explaining(f"{titles[-1][0].upper()}{titles[-1][1:]}"):
                self.blocks.append(_learn_block(inputs, columns, self.kernel))
        blocks = (read(inputs) for read in self.blocks)
        self.bandwidths = block_scales(blocks, titles, self.kernel, factor)
        self.run, self.features = Run(params.n_jobs, params.verbose), None
        if params.n_components is not None:
            [seed] = draw_seeds(generator_of(params.random_state), 1)
            self.features = params.n_components, seed
        rank = 1 if is_smooth(self.kernel) else min(len(inputs.values), MAX_RANK)
        self._batch_size = max(1, BATCH_NUMBERS // (len(inputs.values) * rank))
        self._kept: dict[int, list[Variable]] = {}
        self._lock = Lock()
        self._room = get_config()["working_memory"] * 2**20 if keep else 0

    def with_target(self, rows: Any, kernel: Any) -> Any:
        """Return the target, which has the features and weights of the columns."""
        return Variable(rows, kernel, self.features, self.inputs.weights)

    def rows(self, v: int, inputs: Inputs | None = None) -> np.ndarray:
        """Return the rows of one variable as numbers, here or in another sample."""
        return self.blocks[v](inputs or self.inputs)

    def variable(self, v: int) -> Variable:
        """Return one column or group with its kernel."""
        position, inside = divmod(v, self._batch_size)
        return self._batch(position)[inside]

    def map(self, function: Callable[[Variable], Any]) -> list[Any]:
        """Apply a function to the variables of all columns, in threads, in order."""

        def of_batch(position: int) -> list[Any]:
            batch, verbose = self._batch(position), self.run.verbose
            columns = steps(batch, "columns", len(batch), verbose)
            return [function(column) for column in columns]

        positions = range(-(-len(self.inputs.groups) // self._batch_size))
        # The threads share the batches that are kept.
        found = run_all(
            positions, of_batch, self.run, what="columns", require="sharedmem"
        )
        return list(chain.from_iterable(found))

    def alignments(self, target: Variable) -> np.ndarray:
        """Return the CKA of each column with a variable."""
        return np.array(self.map(lambda column: column.alignment(target)))

    def alignment(self, v: int, other: int) -> float:
        """Return the CKA of two columns."""
        return self.variable(v).alignment(self.variable(other))

    def permuted_alignments(self, target: Any, permutations: Any) -> np.ndarray:
        """Return the CKA of all columns with a variable, for permuted rows.

        The first row is the CKA without permutation, from the same factors, because
        factors that are not complete lower all values.
        """
        raw = target.factor
        if target.weights is not None:
            # The weights stay with their rows.
            raw = factor_of(target.rows, target.kernel, target.features)
        orders = (raw._replace(rows=raw.centred[:, order]) for order in permutations)
        factors = [target.factor, *map(target.with_weights, orders)]
        permuted = [factor.centred for factor in factors]
        norms = np.array([factor.norm for factor in factors])

        def align(column: Variable) -> np.ndarray:
            G = column.factor
            norm = np.array([G.norm if column.norm else 0.0])
            products = [[inner_product(G.rows, P)] for P in permuted]
            return cka(np.array(products), norms, norm)[:, 0]

        return np.array(self.map(align)).T

    def with_kernel(self, v: int) -> tuple[Any, Any]:
        """Return the rows of one column or group, and its kernel."""
        inputs, kernel = self.inputs, self.kernel
        if inputs.label(v):
            return inputs.values[:, inputs.groups[v]], IndicatorKernel()
        if isinstance(kernel, RadialKernel):
            kernel = copy(kernel)
            kernel.bandwidth = float(self.bandwidths[v])
        if isinstance(inputs.values, SparseColumns) and inputs.plain(v):
            return inputs.values[:, inputs.groups[v]], kernel
        return self.rows(v), kernel

    def _batch(self, position: int) -> list[Variable]:
        """Return a batch of columns; batches that fit the working memory are kept.

        Columns of numbers are factored together.
        """
        if position in self._kept:
            return self._kept[position]
        start, inputs = position * self._batch_size, self.inputs
        end = min(start + self._batch_size, len(inputs.groups))
        how = self.features, inputs.weights
        variables = {v: Variable(*self.with_kernel(v), *how) for v in range(start, end)}
        batch, nbytes = list(variables.values()), 0
        if all(variable.may_be_complete for variable in batch):
            plain = [v for v in variables if inputs.plain(v)]
            dense = isinstance(inputs.values, np.ndarray)
            if plain and dense and self.features is None:
                X = inputs.values[:, [inputs.groups[v][0] for v in plain]]
                factors = column_factors(X, self.kernel, self.bandwidths[plain])
                for v, factor in zip(plain, factors, strict=True):
                    variables[v].factor = variables[v].with_weights(factor)
            nbytes = sum(variable.factor.nbytes for variable in batch)
        with self._lock:
            if self._room > nbytes:
                self._room -= nbytes
                self._kept[position] = batch
        return batch


class LazyColumns(Columns):
    """Columns of rows that are read by blocks, and the target beside them.

    A pass over the rows compares all columns with one variable.
    """

    def with_target(self, rows: Any, kernel: Any) -> int:
        """Return the position of the target, which is the last variable."""
        p = len(self.inputs.groups)
        variables = [*map(self.with_kernel, range(p)), (rows, kernel)]
        weights = self.inputs.weights
        self.table = LazyFactors(variables, self.features, weights, self.run)
        self.norms = check_finite(self.table.norms)
        self.products = cache(self.table.inner_products)
        return p

    def variable(self, v: int) -> Any:
        """Return the position of one column or group, or of the target."""
        return v

    def alignment(self, v: int, other: int) -> float:
        """Return the CKA of two columns."""
        return float(self.alignments(other)[v])

    def alignments(self, target: Any) -> np.ndarray:
        """Return the CKA of each column with a variable."""
        return self.permuted_alignments(target, ())[0].clip(0, 1)

    def permuted_alignments(self, target: Any, permutations: Any) -> np.ndarray:
        """Return the CKA of all columns with a variable, for permuted rows.

        The permutations within strips of rows have seeds.
        """
        products = self.products(target, tuple(permutations))[:, :-1]
        norms = np.full(len(products), self.norms[target])
        return cka(products, norms, self.norms[:-1])


class TargetKernel:
    """The kernel on y, with a bandwidth from one sample, for this and other samples."""

    kernel: Any

    def __init__(self, y: Any, params: Any):
        kernel = check_single_kernel(params.kernel, "kernel")
        self.name = params.target_kernel
        self.scales: np.ndarray | None = None
        auto, lazy = str(self.name) == "auto", isinstance(y, LazyRows)
        if not auto:
            check_single_kernel(self.name, "target_kernel", "auto")
        if auto and lazy:
            self.kernel = lazy_target_kernels(y, [kernel])[0]
        else:
            self.kernel = choose_target_kernels(self.name, y, [kernel])[0]
        rows = y.sample if lazy else self.rows_of(y)
        columns = rows.T[:, :, np.newaxis]
        titles = [f"column {j}" for j in range(len(columns))]
        factor = params.target_bandwidth_factor
        scales = block_scales(columns, titles, self.kernel, factor, "target_")
        if isinstance(self.kernel, RowKernel):
            self.kernel = self.kernel.learn([rows])
        elif not self.of_labels:
            warn_if_indefinite([self.kernel], rows.shape[1])
            self.kernel = joint_kernel(self.kernel, rows.shape[1])
            self.scales = scales

    @property
    def of_labels(self) -> bool:
        """Whether the kernel compares labels."""
        return isinstance(self.kernel, IndicatorKernel)

    def rows_of(self, y: Any) -> Any:
        """Return y with one column for each target, as the kernel reads it."""
        if not isinstance(y, LazyRows):
            y = as_target(y, [self.kernel], self.name)
            y = y if self.of_labels else y.astype(np.float64, copy=False)
        return y if self.scales is None else y / self.scales

    def variable(self, y: Any, columns: Columns) -> Any:
        """Return y with its kernel, beside columns of the same rows."""
        return columns.with_target(self.rows_of(y), self.kernel)


# Up to this many rows, all permutations are used.
MAX_LISTED = 6


def row_orders(n: int, seeds: list[int]) -> Iterator[np.ndarray]:
    """Yield a random permutation of n rows for each seed, or all of few rows."""
    if n <= MAX_LISTED:
        yield from map(np.array, islice(permutations(range(n)), 1, None))
        return
    for seed in seeds:
        end_if_stopped()
        yield np.random.RandomState(seed).permutation(n)


# A score and a p-value for each column, or no p-values.
Scores: TypeAlias = tuple[np.ndarray, np.ndarray | None]
CHOICES = {"statistic": ("cka", "hsic"), "pvalue": ("gamma", "permutation", None)}


@declares_parameters
class ColumnCKA(BaseEstimator):
    """Score function for univariate selectors: the dependence of y on each column.

    Pass it to :class:`~sklearn.feature_selection.SelectKBest`. The score is the centred
    kernel alignment (CKA [1]_), with p-values from a gamma approximation [2]_. Smooth
    kernels take linear time. Compare p-values, not scores, of columns of different
    kinds.

    Read more in the :ref:`User Guide <feature_selection>`.

    Parameters
    ----------
    kernel : str, kernel object or callable, default="gaussian"
        Kernel on each column.
    target_kernel : "auto", str, kernel object or callable, default="auto"
        Kernel on y; "auto" treats strings, booleans and at most 20 distinct integers as
        labels.
    bandwidth_factor : float or None, default=None
        Bandwidth in median distances; None is 1.2, or for "gaussian" a mean of two
        kernels with 0.8 and 4.
    target_bandwidth_factor : float, default=3.0
        Bandwidth on y in median distances.
    statistic : {"cka", "hsic"}, default="cka"
        CKA, or the V-statistic of HSIC.
    pvalue : {"gamma", "permutation"} or None, default="gamma"
        Null distribution of the p-values.
    n_resamples : int, default=999
        Number of permutations for "permutation".
    encoder : "auto" or None, default="auto"
        "auto" reads labels, dates and missing values; None raises an error.
    n_components : int or None, default=None
        Number of random features, for linear time; None is exact.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds all random draws.
    verbose : int, default=0
        1 or more shows the percentage done and the time left.

    See Also
    --------
    hsic_regression : Scores columns in one call.
    skdiscrepancy.HSICSelector : Selects columns together.

    References
    ----------
    .. [1] C. Cortes, M. Mohri and A. Rostamizadeh, "Algorithms for learning kernels
       based on centered alignment", JMLR 13, 2012.
    .. [2] F. Kazi-Aoual et al., "Refined approximations to permutation tests for
       multivariate inference", Computational Statistics & Data Analysis 20, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.feature_selection import SelectKBest
    >>> from skdiscrepancy.feature_selection import ColumnCKA
    >>> X = np.random.RandomState(0).normal(size=(100, 5))
    >>> selector = SelectKBest(ColumnCKA(), k=1).fit(X, X[:, 3] ** 2)
    >>> selector.scores_.round(2).tolist()
    [0.04, 0.01, 0.03, 0.47, 0.04]
    """

    _: KW_ONLY
    kernel: Any = "gaussian"
    target_kernel: Any = "auto"
    bandwidth_factor: float | None = None
    target_bandwidth_factor: float = 3.0
    statistic: str = "cka"
    pvalue: str | None = "gamma"
    n_resamples: int = 999
    encoder: Any = "auto"
    n_components: int | None = None
    n_jobs: int | None = None
    random_state: RandomStateLike = None
    verbose: int = 0

    @in_one_blas_thread
    def __call__(self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None) -> Scores:
        """Compute the score and the p-value of every column.

        Parameters
        ----------
        X : {array-like, sparse matrix} or DataFrame of shape (n_samples, n_features)
            Columns of any type.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Numbers or labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; p-values are then None.

        Returns
        -------
        scores : ndarray of shape (n_features,)
            Score of each column.
        pvalues : ndarray of shape (n_features,) or None
            The p-value of each column.
        """
        for name, allowed in CHOICES.items():
            if (value := getattr(self, name)) not in allowed:
                raise ValueError(f"{name} == {value!r}, must be one of {allowed}.")
        check_number(self.n_resamples, "n_resamples", integer=True, least=1)
        check_run_options(self.n_jobs, self.random_state, self.verbose)
        check_single_kernel(self.kernel, "kernel")
        inputs, y = read_inputs(None, X, y, self, sample_weight)
        columns = Columns(inputs, self, keep=False)
        target = TargetKernel(y, self).variable(y, columns)
        pvalue = self._pvalue_function(target)

        def evaluate(column: Variable) -> tuple[float, float]:
            if self.statistic == "cka":
                score = column.alignment(target)
            else:
                score = max(column.product(target), 0.0) / len(inputs.values) ** 2
            return score, pvalue(column)

        results, weighted = columns.map(evaluate), sample_weight is not None
        scores, pvalues = check_finite(np.array(results)).T
        return scores, None if self.pvalue is None or weighted else pvalues

    def _pvalue_function(self, target: Variable) -> Callable[[Variable], float]:
        """Return a function for p-values, also valid for incomplete factors."""
        if self.pvalue is None or target.weights is not None or not target.norm:
            return lambda column: 1.0
        n, F = len(target.rows), target.lines
        if by_moments := self.pvalue == "gamma" and n > MAX_LISTED:
            of_target = invariants(F)
        else:
            # Permutations are drawn again for each column, because all of them would
            # take much memory.
            seeds = draw_seeds(generator_of(self.random_state), int(self.n_resamples))

        def pvalue(column: Variable) -> float:
            G = column.lines
            if not column.norm:
                return 1.0
            observed = inner_product(G, F)
            if by_moments:
                return gamma_pvalue(observed, invariants(G), of_target)
            drawn = [inner_product(G[:, order], F) for order in row_orders(n, seeds)]
            return rank_pvalue(np.array([observed, *drawn]), observed)

        return pvalue


def hsic_regression(X: ArrayLike, y: ArrayLike, **params: Any) -> Scores:
    """Compute the dependence of a numeric y on every column, with p-values.

    Unlike an F-test, the score (CKA) detects dependence of any form.

    Read more in the :ref:`User Guide <feature_selection>`.

    Parameters
    ----------
    X : {array-like, sparse matrix} or DataFrame of shape (n_samples, n_features)
        Columns of any type.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Numbers.
    **params : dict
        Parameters of :class:`ColumnCKA`.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Score of each column.
    pvalues : ndarray of shape (n_features,) or None
        The p-value of each column.

    See Also
    --------
    hsic_classif : Scores columns for labels.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.feature_selection import hsic_regression
    >>> X = np.random.RandomState(1).normal(size=(200, 3))
    >>> scores, pvalues = hsic_regression(X, np.cos(3 * X[:, 1]))
    >>> scores.round(2).tolist()
    [0.01, 0.26, 0.01]
    >>> pvalues.round(3).tolist()
    [0.483, 0.0, 0.724]
    """
    kernel = check_single_kernel(params.get("kernel", "gaussian"), "kernel")
    # y holds numbers, even if the columns hold labels.
    target_kernel = "gaussian" if isinstance(kernel, IndicatorKernel) else kernel
    return ColumnCKA(**{"target_kernel": target_kernel, **params})(X, y)


def hsic_classif(X: ArrayLike, y: ArrayLike, **params: Any) -> Scores:
    """Compute the dependence of labels on every column, with p-values.

    Unlike an F-test, the score (CKA) detects dependence of any form.

    Read more in the :ref:`User Guide <feature_selection>`.

    Parameters
    ----------
    X : {array-like, sparse matrix} or DataFrame of shape (n_samples, n_features)
        Columns of any type.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Labels of any type.
    **params : dict
        Parameters of :class:`ColumnCKA`.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Score of each column.
    pvalues : ndarray of shape (n_features,) or None
        The p-value of each column.

    See Also
    --------
    hsic_regression : Scores columns for a numeric y.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skdiscrepancy.feature_selection import hsic_classif
    >>> X, y = load_iris(return_X_y=True)
    >>> scores, pvalues = hsic_classif(X, y)
    >>> scores.round(2).tolist()
    [0.45, 0.24, 0.81, 0.84]
    """
    return ColumnCKA(**{"target_kernel": "indicator", **params})(X, y)
