"""How the rows of each variable are compared: blocks of columns and bandwidths."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from skdiscrepancy._data import check_number
from skdiscrepancy.bandwidths import column_medians, median_bandwidth
from skdiscrepancy.feature_selection._inputs import Inputs
from skdiscrepancy.feature_selection._variables import Variable
from skdiscrepancy.kernels import IndicatorKernel, Kernel, RadialKernel
from skdiscrepancy.tables import TableEncoder

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
