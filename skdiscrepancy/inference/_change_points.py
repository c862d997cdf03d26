"""Whether and when the distribution of rows in order changes."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from skdiscrepancy._data.arrays import as_block, encode_labels, names_of
from skdiscrepancy._data.checks import (
    RUN,
    check_number,
    draw_seeds,
    shown,
    takes_parameters_of,
    warn_user,
)
from skdiscrepancy._data.frames import Column, as_table, read_columns
from skdiscrepancy._data.results import Result
from skdiscrepancy._estimators.base import collection_of
from skdiscrepancy._estimators.mmd import MMDEstimator
from skdiscrepancy._estimators.readers import layout_of
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.run import in_one_blas_thread
from skdiscrepancy._nulls.pvalues import Options, TestResult
from skdiscrepancy._nulls.row_order import columns_of, without_changes
from skdiscrepancy._nulls.splits import Place, find_place, split_test
from skdiscrepancy.inference._tests import checked_test, mmd_test

# By default, each side of a change has one row in this many, and at least MIN_ROWS.
SHARE, MIN_ROWS = 20, 2
# Rows or blocks of a part that is tested for further changes, at least.
MIN_PART = 8
# Columns that a figure draws, at most.
MAX_DRAWN = 6


@dataclass(frozen=True, eq=False, repr=False)
class ChangePointResult(Result):
    """Places at which the distribution of rows in order changes, with their p-values.

    You can unpack ``statistic, pvalue = result`` of the whole series. :meth:`plot`
    draws a :class:`~skdiscrepancy.plotting.ChangePointDisplay`.

    Read more in the :ref:`User Guide <change_points>`.

    Attributes
    ----------
    statistic : float
        Standardised statistic of the whole series.
    pvalue : float
        p-value of the test for any change.
    change_points : ndarray of shape (n_changes,)
        Position of the first row after each change.
    labels : list of length n_changes
        Labels of these rows, such as dates.
    pvalues : ndarray of shape (n_changes,)
        Corrected p-value of each change.
    intervals : ndarray of shape (n_changes, 2)
        Confidence interval of each position.
    segments : list of tuple of int
        Start and stop of the rows between changes.
    overall : TestResult
        Test of the whole series.

    See Also
    --------
    skdiscrepancy.change_point_test : Computes the result.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import change_point_test
    >>> X = np.random.RandomState(0).normal(size=(90, 2))
    >>> X[60:] += 2
    >>> result = change_point_test(X, random_state=0)
    >>> statistic, pvalue = result
    >>> pvalue, result.segments
    (0.001, [(0, 60), (60, 90)])
    """

    statistic: float
    pvalue: float
    change_points: np.ndarray
    labels: list[Any]
    pvalues: np.ndarray
    intervals: np.ndarray
    segments: list[tuple[int, int]]
    overall: TestResult
    # What a figure draws: names, columns, and the index.
    _series: Any = None

    _display = "ChangePointDisplay"
    _item = "change"
    _repr_rows = 10

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def _summary(self) -> dict[str, Any]:
        return {"statistic": self.statistic, "pvalue": self.pvalue}

    def _columns(self) -> dict[str, Any]:
        return {
            "label": self.labels,
            "change_point": self.change_points,
            "low": self.intervals[:, 0],
            "high": self.intervals[:, 1],
            "pvalue": self.pvalues,
        }


@takes_parameters_of(
    mmd_test,
    names="max_changes min_size level confidence kernel bandwidth n_resamples pooling "
    f"block_length encoder n_components {RUN}",
)
@in_one_blas_thread
def change_point_test(
    X: ArrayLike,
    *,
    max_changes: int | None = None,
    min_size: int | None = None,
    level: float = 0.05,
    confidence: float = 0.95,
    **params: Any,
) -> ChangePointResult:
    """Test whether the distribution of rows in order changes, and find out when.

    A small `pvalue` means that the distribution changes, in any way. The test takes
    the largest statistic of :func:`mmd_test` over all splits [1]_, and then tests both
    sides. The probability of any false change is about `level` [2]_. If rows depend
    on their neighbours, pass `block_length`. Exact kernels take O(n^2) time.

    Read more in the :ref:`User Guide <change_points>`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples,)
        Rows in the order of time.
    max_changes : int or None, default=None
        Largest number of changes. None has no limit.
    min_size : int or None, default=None
        Fewest rows on each side of a change. None is 5 % of the tested rows.
    level : float, default=0.05
        Largest p-value of the changes in the result.
    confidence : float, default=0.95
        Coverage of the intervals.
    **params : dict
        Parameters of :func:`mmd_test`.

    Returns
    -------
    result : ChangePointResult
        Changes with p-values and intervals.

    See Also
    --------
    DriftMonitor : Detects a change while rows arrive.

    References
    ----------
    .. [1] Z. Harchaoui, F. Bach and E. Moulines, "Kernel change-point analysis",
       NeurIPS 2008.
    .. [2] N. Meinshausen, "Hierarchical testing of variable importance", Biometrika 95,
       2008.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import change_point_test
    >>> X = np.random.RandomState(0).normal(size=(150, 3))
    >>> X[50:100] *= 3
    >>> result = change_point_test(X, random_state=0)
    >>> result.change_points.tolist()
    [50, 100]
    """
    whole: dict[str, Any] = {"integer": True, "optional": True}
    max_changes = check_number(max_changes, "max_changes", least=1, **whole)
    min_size = check_number(min_size, "min_size", least=MIN_ROWS, **whole)
    level = check_number(level, "level", strict=True, most=1)
    confidence = check_number(confidence, "confidence", least=0.5, most=0.999)
    estimator, settings = checked_test(MMDEstimator, params)
    table, [rows], _ = estimator._read([X], settings, (None,), ("X",), ("",))
    n, least_rows = len(rows), 2 * (min_size or MIN_ROWS)
    if n < least_rows:
        why = f", because min_size == {min_size}" if min_size else ""
        raise ValueError(f"n_samples == {n}, must be >= {least_rows}{why}.")
    named = as_table(X, named=True)
    columns = read_columns(named) if names_of(named) else []
    _warn_of_growing(columns)
    layout = layout_of(estimator.encoder_, table)
    kernels = collection_of(estimator, [rows], settings.kernels, layout)
    options = estimator._choose_features(settings.options, [rows], kernels)
    options = options.ready(kernels, estimator.random_state, estimator._run)
    series = columns_of(rows[:], kernels, all_rows=options.wants_blocks)
    # Both sides of a change in the middle have as many blocks as two samples.
    if series is not None:
        series = without_changes(series, _least(len(series), min_size))
    options = options.with_block_length(n // 2, series, names=["X"])
    finder = _Finder(rows[:], options, min_size, confidence)
    first = finder.test(0, n)
    # Parts of the series whose tests reject: p-value, statistic, start, stop, test.
    open_parts = [(first.pvalue, -first.statistic, 0, n, first)]
    found: list[tuple[Place, float, TestResult]] = []
    untested: list[tuple[int, int]] = []
    while open_parts and len(found) < (max_changes or n):
        open_parts.sort(key=lambda part: part[:3])
        pvalue, _, start, stop, test = open_parts.pop(0)
        if pvalue > level or test.chosen is None:
            break
        place = finder.place(start, stop, test)
        found.append((place, pvalue, test))
        least = max(least_rows, MIN_PART * (options.block_length or 1))
        # Rows near the place may belong to both sides. Other changes may be further.
        near = _least(stop - start, min_size)
        left, right = place.row - near, place.row + near
        for a, b in ((start, max(left, place.low)), (min(right, place.high), stop)):
            if b - a < least or len(found) == max_changes:
                continue
            if n / (b - a) > level * (1 + options.n_resamples):
                untested.append((a, b))
            else:
                part = finder.test(a, b)
                adjusted = max(pvalue, min(1.0, part.pvalue * n / (b - a)))
                open_parts.append((adjusted, -part.statistic, a, b, part))
    if untested:
        warn_user(
            f"n_resamples == {options.n_resamples} is too small to detect changes in "
            f"the parts {shown(untested)} of {n} rows at the level {level}, because "
            "few rows need a smaller p-value. Pass a larger n_resamples."
        )
    found.sort(key=lambda change: change[0].row)
    bounds = [0, *(place.row for place, _, _ in found), n]
    if len(found) > 1:
        # Other changes blur a place.
        for i, (_, pvalue, test) in enumerate(found):
            place = finder.place(bounds[i], bounds[i + 2], test)
            found[i], bounds[i + 1] = (place, pvalue, test), place.row
    places = np.array(bounds[1:-1], dtype=np.int64)
    intervals = [place[1:] for place, _, _ in found]
    index: Any = getattr(X, "index", None)
    index = index if hasattr(index, "isin") else np.arange(n)
    return ChangePointResult(
        statistic=first.statistic,
        pvalue=first.pvalue,
        change_points=places,
        labels=index[places].tolist(),
        pvalues=np.array([pvalue for _, pvalue, _ in found]),
        intervals=np.array(intervals, dtype=np.int64).reshape(-1, 2),
        segments=list(pairwise(bounds)),
        overall=first,
        _series=(*_drawn(columns, rows), index),
    )


class _Finder(NamedTuple):
    """Tests and places on parts of the rows of one series."""

    rows: Any
    options: Options
    min_size: int | None
    confidence: float

    def test(self, start: int, stop: int) -> TestResult:
        """Test whether some rows change."""
        core = self._gram(self.rows[start:stop], self.options)
        return split_test(core, _least(stop - start, self.min_size), self.options)

    def place(self, start: int, stop: int, test: TestResult) -> Place:
        """Return the place of a change of some rows, by the kernel of a test."""
        kernel = [self.options.kernels[test.chosen]]
        options = self.options._replace(kernels=kernel)
        core = self._gram(self.rows[start:stop], options)
        least = _least(stop - start, self.min_size)
        found = find_place(core, least, self.confidence, options)
        return Place(*(start + row for row in found))

    def _gram(self, rows: Any, options: Options) -> Any:
        """Return the Gram of consecutive rows."""
        [seed] = draw_seeds(options.generator, 1)
        how: dict[str, Any] = {"n_components": options.n_components, "seed": seed}
        core = gram(options.kernels, rows, run=options.run, **how)
        if options.n_components is not None:
            core.in_order = True
        return core


def _least(n: int, min_size: int | None) -> int:
    """Return the smallest number of rows of a side of a part of n rows."""
    return min(min_size or max(MIN_ROWS, n // SHARE), n // 2)


def _warn_of_growing(columns: list[Column]) -> None:
    """Warn of a column that grows in every row, such as a date, beside others."""
    for column in columns if len(columns) > 1 else ():
        if column.codes is None and np.all(column.values[1:] > column.values[:-1]):
            warn_user(
                f"Column {column.name!r} grows in every row, so its distribution "
                "changes everywhere. If it is the time or number of a row, make it the "
                "index of X."
            )


def _drawn(columns: list[Column], rows: Any) -> tuple[list[Any], np.ndarray]:
    """Return the names and numbers of the columns that a figure draws.

    A category is drawn as whether it is the most frequent one.
    """
    if columns:
        names, numbers = [], []
        for column in columns[:MAX_DRAWN]:
            values, name = column.values, column.name
            if column.codes is not None:
                most = np.bincount(column.codes[~column.missing]).argmax()
                values = np.where(column.missing, np.nan, column.codes == most)
                name = f"{name} = {column.levels[most]}"
            names.append(name)
            numbers.append(values)
        return names, np.column_stack(numbers)
    some = as_block(rows)[:, :MAX_DRAWN]
    some = some.toarray() if issparse(some) else some
    if some.dtype.kind != "f":
        some = np.column_stack([encode_labels(own[:, np.newaxis]) for own in some.T])
    return list(range(some.shape[1])), some
