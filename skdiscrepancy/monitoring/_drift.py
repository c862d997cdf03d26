"""How a new table differs from a reference table, and which columns explain it."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from skdiscrepancy._data.checks import (
    RUN,
    RandomStateLike,
    generator_of,
    takes_parameters_of,
)
from skdiscrepancy._data.distances import block_distances
from skdiscrepancy._data.frames import (
    Column,
    as_table,
    in_order,
    is_table,
    read_columns,
)
from skdiscrepancy._data.rows import Index
from skdiscrepancy._estimators.base import Settings
from skdiscrepancy._estimators.mmd import MMDEstimator
from skdiscrepancy._estimators.parameters import check_parameters
from skdiscrepancy._gram.run import Run, in_one_blas_thread, progress
from skdiscrepancy._gram.tiles import Gram, place
from skdiscrepancy._gram.two_sample_sums import TwoSamples
from skdiscrepancy._nulls.pvalues import TestResult
from skdiscrepancy._statistics.evaluations import effect_size
from skdiscrepancy._statistics.two_samples import two_sample_statistics
from skdiscrepancy.designs import CompleteU
from skdiscrepancy.inference._column_tests import (
    checked_tests,
    read_samples,
    two_sample_columns,
)
from skdiscrepancy.inference._tests import mmd_test
from skdiscrepancy.kernels._labels import IndicatorKernel
from skdiscrepancy.kernels._radial import LaplaceKernel
from skdiscrepancy.monitoring._report import (
    DriftReport,
    marginal,
    pair_points,
    write_value,
)
from skdiscrepancy.tables import TableEncoder, encode, fit_encoder

# Fraction of the columns that a step removes. Up to 19 columns are removed one by one.
STEP = 0.1
# Sets of columns that are compared at once.
BATCH = 32


class ColumnSets(Gram):
    """A Laplace kernel on all blocks of columns but some, for several sets of blocks.

    The bandwidth is the number of remaining blocks, because the mean L1 distance of
    every block is one.

    Parameters
    ----------
    blocks : list of ndarray of shape (n_samples, n_block_columns)
        Encoded columns of each column of the table, for both samples.
    m : int
        Number of rows of the first sample.
    removed : list of sequence of int
        Positions of the blocks that each kernel does not see.
    run : Run
        Threads and progress.
    """

    def __init__(
        self,
        blocks: list[np.ndarray],
        m: int,
        removed: Sequence[Sequence[int]],
        run: Run,
    ):
        self.run = run
        self.Z = np.concatenate(blocks, axis=1)
        # No columns at all have the distance zero.
        none = self.Z[:, :0]
        self.removed = [
            np.concatenate([none, *(blocks[j] for j in some)], axis=1)
            for some in removed
        ]
        self.bandwidths = [len(blocks) - len(some) for some in removed]
        self.n_kernels = len(removed)
        self.n, self.n_features = self.Z.shape
        self.sizes = m, self.n - m
        self.dtype = self.Z.dtype

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the Gram tiles of the sets of columns."""
        distance = block_distances(self.Z[rows], self.Z[cols], 1).read(squared=False)
        for k, rest in enumerate(self.removed):
            values = place(out, k)
            values[...] = distance
            values -= block_distances(rest[rows], rest[cols], 1).read(squared=False)
            # Rounding must not make the difference of equal distances negative.
            np.maximum(values, 0, out=values)
            values /= -self.bandwidths[k]
            np.exp(values, out=values)
            yield k, values


def unbiased_mmds(
    blocks: list[np.ndarray],
    m: int,
    removed: Sequence[Sequence[int]],
    n_jobs: int | None,
) -> np.ndarray:
    """Compute the unbiased MMD without each of several sets of blocks.

    Parameters
    ----------
    blocks : list of ndarray of shape (n_samples, n_block_columns)
        Encoded columns, with the rows of both samples stacked.
    m : int
        Number of rows of the first sample.
    removed : sequence of sequences of int
        Blocks to leave out, one sequence for each MMD.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_sets,)
        One MMD for each set.
    """
    values = []
    for start in range(0, len(removed), BATCH):
        some = ColumnSets(blocks, m, removed[start : start + BATCH], Run(n_jobs))
        found = two_sample_statistics(TwoSamples(some), unbiased=True)
        values.append(found.values)
    return np.concatenate(values)


def drifting_set(blocks: list[np.ndarray], m: int, n_jobs: int | None) -> list[int]:
    """Find the columns that differ most together, by backward elimination.

    Each step removes the column without which MMD is largest. The set with the largest
    MMD is returned. MMD is HSIC with the sample as label, so this is BAHSIC.

    Parameters
    ----------
    blocks : list of ndarray of shape (n_samples, n_block_columns)
        Encoded columns, with the rows of both samples stacked.
    m : int
        Number of rows of the first sample.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    columns : list of int
        Positions of the blocks, the block that was removed last first.
    """
    left = list(range(len(blocks)))
    removed: list[int] = []
    [value] = unbiased_mmds(blocks, m, [()], n_jobs)
    largest, n_removed = value, 0
    while len(left) > 1:
        present = [blocks[j] for j in left]
        values = unbiased_mmds(present, m, [[i] for i in range(len(left))], n_jobs)
        n_steps = max(1, int(STEP * len(left)))
        worst = np.argsort(-values, kind="stable")[:n_steps].tolist()
        value = values[worst[0]]
        if n_steps > 1:
            [value] = unbiased_mmds(present, m, [worst], n_jobs)
        removed += [left[i] for i in worst]
        left = [j for i, j in enumerate(left) if i not in worst]
        if value >= largest:
            largest, n_removed = value, len(removed)
    return [*left, *reversed(removed[n_removed:])]


def explain(
    blocks: list[np.ndarray],
    m: int,
    remaining: float | None,
    test: Callable[[list[int]], float],
    *,
    level: float,
    max_columns: int,
    n_jobs: int | None,
) -> tuple[list[list[int]], float | None]:
    """Name columns until the remaining columns do not differ significantly.

    Parameters
    ----------
    blocks : list of ndarray of shape (n_samples, n_block_columns)
        Encoded columns, with the rows of both samples stacked.
    m : int
        Number of rows of the first sample.
    remaining : float
        The p-value of the test of all columns.
    test : callable
        Takes the positions of some columns and returns the p-value of their test.
    level : float
        Significance level.
    max_columns : int
        Largest number of columns to name.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    groups : list of list of int
        Columns that differ together, the strongest group first.
    remaining : float or None
        The p-value of the test of the other columns. None if there are no others.
    """
    groups: list[list[int]] = []
    left = list(range(len(blocks)))
    while remaining is not None and remaining <= level and max_columns:
        found = drifting_set([blocks[j] for j in left], m, n_jobs)[:max_columns]
        groups.append([left[i] for i in found])
        max_columns -= len(found)
        left = [j for j in left if j not in groups[-1]]
        remaining = test(left) if left else None
    return groups, remaining


# Rows of each table that are compared, at most, by the search for an explanation, and
# by contributions and effect sizes that take quadratic time.
EXPLAINED_ROWS = 1000
COMPARED_ROWS = 5000
# Keywords that come first in the signature of a report.
FIRST = ("level", "correction", "n_resamples", "max_columns", "max_rows", "encoder")


@takes_parameters_of(mmd_test, first=(*FIRST, *RUN))
@in_one_blas_thread
def drift_report(
    reference: ArrayLike,
    new: ArrayLike,
    *,
    level: float = 0.05,
    correction: str | None = "bh",
    n_resamples: int | None = None,
    max_columns: int = 10,
    max_rows: int = 10,
    encoder: Any = "auto",
    **params: Any,
) -> DriftReport:
    """Report how a new table differs from a reference table.

    Use it to detect data drift (covariate shift) and to see where it comes from. The
    tables may have numbers, strings, categories, booleans, dates and missing values.
    The report has a joint test of all columns and a test of each column. It names the
    columns that explain the drift, also if no single column has drifted, and the rows
    of the new table that contribute most.

    The explanation is computed if the joint test rejects. A backward elimination [1]_
    finds the columns that differ most together: it removes columns one by one so that
    MMD stays as large as possible, and keeps the set with the largest MMD. If the
    remaining columns still differ, the elimination starts again with them.

    The joint test takes the time of :func:`skdiscrepancy.mmd_test`, O(n^2) for n rows
    of both tables, and so does each further test of remaining columns. The elimination
    compares at most 1000 random rows of each table, and at most p^2 / 2 sets of p
    columns, or 10 p sets if there are more than 19 columns. Contributions, and the
    effect sizes of categories and of columns with missing numbers, compare at most 5000
    random rows of each table. Memory is O(n). For more than 20 000 rows, pass an
    incomplete design such as ``design="r"``.

    Read more in the :ref:`User Guide <tables>`.

    Parameters
    ----------
    reference : DataFrame or array-like of shape (n_samples_reference, n_features)
        Reference table, for example the training data.
    new : DataFrame or array-like of shape (n_samples_new, n_features)
        New table, with the same columns. Columns of DataFrames are matched by name.
    level : float, default=0.05
        Significance level of the joint test and of its explanation.
    correction : {"bh", "by", "holm"} or None, default="bh"
        Correction of the p-values of single columns, see
        :func:`skdiscrepancy.mmd_column_tests`.
    n_resamples : int or None, default=None
        Number of resamples of each test. None is 999 for joint tests and, for single
        columns, 100 times the number of columns, at least 999.
    max_columns : int, default=10
        Largest number of columns in the explanation.
    max_rows : int, default=10
        Number of rows to report, those with the largest contributions.
    encoder : "auto", None or transformer, default="auto"
        How the joint test reads the tables. "auto" is a
        :class:`~skdiscrepancy.tables.TableEncoder` that is fitted to both tables. It
        gives every column the same weight, whatever its unit. None uses numbers as they
        are. The explanation, the effect sizes and the contributions always use a
        TableEncoder: yours, if you pass one.
    n_jobs : int or None, default=None
        Number of threads. The report does not depend on it.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the resamples and the rows of the elimination. None draws new ones in
        every call. The global generator of numpy is never used.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.
    **params : dict
        Other parameters of :func:`skdiscrepancy.mmd_test`. By default, single columns
        use ``kernel="laplace"``.

    Returns
    -------
    report : DriftReport
        The report. ``report.to_html("report.html")`` writes it as a page for a browser.

    See Also
    --------
    skdiscrepancy.mmd_test : Tests all columns together.
    skdiscrepancy.mmd_column_tests : Tests each column.

    References
    ----------
    .. [1] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.

    Examples
    --------
    In the new table, `a` and `b` have the same distributions as before, but they do not
    depend on each other anymore. No single column shows this drift.

    >>> import numpy as np
    >>> from skdiscrepancy.monitoring import drift_report
    >>> rng = np.random.RandomState(0)
    >>> reference, new = rng.normal(size=(2, 200, 4))
    >>> reference[:, 1] = reference[:, 3]
    >>> report = drift_report(reference, new, random_state=0)
    >>> bool(report.column_tests.adjusted_pvalues.min() > 0.05)
    True
    >>> report.joint_test.pvalue
    0.001
    >>> report.explanation
    [['x3', 'x1']]
    """
    values = check_parameters(
        {
            "level": level,
            "max_columns": max_columns,
            "max_rows": max_rows,
            "encoder": encoder,
        }
    )
    kernels: list[Any] = [] if "kernel" in params else [LaplaceKernel()]
    mmd, settings = checked_tests(MMDEstimator, correction, n_resamples, params)
    new, columns = _read_tables(reference, new)
    with progress("drift report", 4, mmd.verbose) as line:
        tables = _Tables([reference, new], encoder, mmd.random_state, mmd.n_jobs)
        column_tests = two_sample_columns(
            mmd,
            replace(settings, kernels=kernels or settings.kernels),
            read_samples((reference, new), ("X", "Y"), "auto"),
            correction,
            n_resamples,
        )
        # The tests of columns have looked at the order of the rows.
        length = settings.options.block_length or 1
        options = settings.options._replace(block_length=length)
        settings = replace(settings, options=options)

        def test(samples: list[Any], *, encoder: Any, effect: bool) -> TestResult:
            own = copy(mmd).set_params(encoder=encoder)
            x, y = map(as_table, samples)
            return own._test_pair(x, y, settings, effect=effect)

        line.advance()
        joint_test = test(tables.joint, encoder=None, effect=True)
        line.advance()
        groups, remaining = explain(
            *tables.sampled_blocks(),
            joint_test.pvalue,
            lambda some: test(tables.of(some), encoder="auto", effect=False).pvalue,
            level=values["level"],
            max_columns=values["max_columns"],
            n_jobs=mmd.n_jobs,
        )
        line.advance()
        found = [j for group in groups for j in group]
        x, y = tables.of(found or list(range(len(columns))))
        kept, rows = tables.draw_rows(COMPARED_ROWS)
        how = {name: getattr(mmd, name) for name in ("bandwidth", "n_bandwidths", *RUN)}
        if isinstance(mmd.bandwidth, str) and mmd.bandwidth == "dyadic":
            how["bandwidth"] = "grid"
        complete = Settings(CompleteU(), settings.kernels)
        fitted = MMDEstimator(**how)._fit(x[kept], complete)
        contributions = fitted._contributions(y[rows])
        line.advance()
    names = column_tests.feature_names
    largest = np.argsort(-contributions, kind="stable")[: values["max_rows"]]
    rows = rows[largest]
    index = getattr(new, "index", None) if is_table(new) else None
    missing = np.array([[np.mean(of_table.missing) for of_table in c] for c in columns])
    return DriftReport(
        joint_test=joint_test,
        column_tests=column_tests,
        kinds=list(tables.encoder.kinds_),
        effect_sizes=tables.effect_sizes(),
        missing_reference=missing[:, 0],
        missing_new=missing[:, 1],
        explanation=[[names[j] for j in group] for group in groups],
        remaining_pvalue=remaining,
        rows=rows,
        row_labels=(rows if index is None else index[rows]).tolist(),
        row_values=[
            {
                name: write_value(column, row)
                for name, (_, column) in zip(names, columns, strict=True)
            }
            for row in rows
        ],
        contributions=contributions[largest],
        marginals=[marginal(*column) for column in columns],
        pairs=[
            pair_points(
                [(names[j], *columns[j]) for j in group[:2]],
                generator_of(mmd.random_state),
            )
            for group in groups
            if len(group) > 1
        ],
        n_reference=len(tables.x),
        n_new=len(tables.y),
        level=float(values["level"]),
    )


class _Tables:
    """Both tables, encoded as numbers."""

    def __init__(
        self,
        tables: list[Any],
        encoder: Any,
        random_state: RandomStateLike,
        n_jobs: int | None,
    ):
        self.random_state, self.n_jobs = random_state, n_jobs
        own = encoder if isinstance(encoder, TableEncoder) else TableEncoder()
        self.encoder = clone(own)._fit_tables(tables, ["reference", "new"])
        # `set_output` can make DataFrames of the encoding.
        self.x, self.y = (np.asarray(self.encoder.transform(t)) for t in tables)
        self.joint = [self.x, self.y]
        is_auto = isinstance(encoder, str) and encoder == "auto"
        if encoder is not own and not is_auto:
            fitted = fit_encoder(encoder, tables)
            self.joint = [encode(fitted, table) for table in tables]

    def of(self, columns: list[int]) -> list[np.ndarray]:
        """Return the encoded columns of both tables."""
        slices = self.encoder.output_slices_
        parts = [[Z[:, slices[j]] for j in columns] for Z in (self.x, self.y)]
        x, y = (np.concatenate(part, axis=1) for part in parts)
        # Constant columns, such as the indicators of values that are never missing,
        # change no distance, and one column is faster than two.
        varies = np.any(np.concatenate((x, y)) != x[0], axis=0)
        varies[0] |= not varies.any()
        return [x[:, varies], y[:, varies]]

    def draw_rows(self, n_rows: int) -> list[np.ndarray]:
        """Draw at most `n_rows` rows of each table, in their order."""
        generator = generator_of(self.random_state)
        tables = (self.x, self.y)
        return [np.sort(generator.permutation(len(Z))[:n_rows]) for Z in tables]

    def sampled_blocks(self) -> tuple[list[np.ndarray], int]:
        """Return the columns of some rows of both tables, and how many are first."""
        kept, others = self.draw_rows(EXPLAINED_ROWS)
        pairs = (self.of([j]) for j in range(len(self.encoder.output_slices_)))
        return [np.concatenate((x[kept], y[others])) for x, y in pairs], len(kept)

    def effect_sizes(self) -> np.ndarray:
        """Return the effect size of each column."""
        kept, others = self.draw_rows(COMPARED_ROWS)
        sizes = []
        for j, kind in enumerate(self.encoder.kinds_):
            x, y = self.of([j])
            kernel: Any = LaplaceKernel(bandwidth=1.0)
            if kind == "category" or x.shape[1] > 1:
                # A single column of numbers is compared in sorted order, in less time.
                x, y = x[kept], y[others]
            if kind == "category":
                # The same value, in less time: one category is in each row.
                kernel = IndicatorKernel()
                x, y = (np.argmax(Z, axis=1)[:, np.newaxis] for Z in (x, y))
            settings = Settings(CompleteU(), [kernel])
            mmd = MMDEstimator(pooling=None, n_jobs=self.n_jobs)
            try:
                sizes.append(effect_size(mmd._evaluate_pair(x, y, settings).value))
            except ValueError:
                # The scale is 0: all rows of a table are equally far from the other.
                mmd.set_params(normalize=False)
                sizes.append(float(mmd._evaluate_pair(x, y, settings).value > 0))
        return np.array(sizes)


def _read_tables(reference: Any, new: Any) -> tuple[Any, list[tuple[Column, Column]]]:
    """Return the new table in the order of the reference, and the columns of both."""
    first = _read(reference, "reference", None)
    new = in_order(new, reference, "new", "reference")
    n_columns = len(_read(new, "new", None))
    if n_columns != len(first):
        raise ValueError(
            f"new has {n_columns} columns, must have {len(first)} as reference."
        )
    return new, list(zip(first, _read(new, "new", first), strict=True))


def _read(table: Any, name: str, like: list[Column] | None) -> list[Column]:
    """Return the columns of a table that has enough rows."""
    columns = read_columns(table, name, like)
    n_rows = len(columns[0].values) if columns else 0
    if n_rows < 2:
        raise ValueError(
            f"{name} has {n_rows} rows and {len(columns)} columns, must have at least "
            "two rows and one column."
        )
    if is_table(table):
        return columns
    for column in columns:
        known = not np.any(column.missing)
        if column.kind not in ("number", "category") or not known:
            what = f"{column.kind}s" if known else "missing values"
            raise ValueError(
                f"{name} has {what} in column {column.name}, must be a DataFrame of "
                "pandas or polars to have them."
            )
    return columns
