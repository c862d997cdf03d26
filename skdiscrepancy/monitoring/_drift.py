"""Drift reports: how a new table differs from a reference, and in which columns."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, dia_array, issparse
from scipy.stats import chi2, rankdata
from sklearn.base import clone

from skdiscrepancy._data.arrays import as_block, check_rows, kind_of_blocks
from skdiscrepancy._data.blocks import lazy_rows, open_rows, rows_at
from skdiscrepancy._data.checks import (
    RUN,
    draw_seeds,
    generator_of,
    takes_parameters_of,
    warn_user,
)
from skdiscrepancy._data.frames import as_table, in_order, is_table, read_columns
from skdiscrepancy._data.results import Result
from skdiscrepancy._estimators.base import Settings, check_correction, check_parameters
from skdiscrepancy._estimators.mmd import MMDEstimator
from skdiscrepancy._estimators.readers import Reader, refuse_other_columns
from skdiscrepancy._gram.run import in_one_blas_thread, progress
from skdiscrepancy._nulls.pvalues import LEVEL, Options, TestResult
from skdiscrepancy._statistics.evaluations import holm, sizes_of
from skdiscrepancy.designs import CompleteU
from skdiscrepancy.inference._multiple_tests import (
    ColumnTestsResult,
    adjust_pvalues,
    checked_tests,
    of_tests,
    resamples,
    two_sample_columns,
)
from skdiscrepancy.inference._tests import mmd_test, with_clusters
from skdiscrepancy.kernels._radial import LaplaceKernel
from skdiscrepancy.monitoring._pages import (
    CORRECTIONS,
    marginal,
    pair_points,
    report_page,
    write_value,
)
from skdiscrepancy.tables import (
    TableEncoder,
    encode,
    fit_encoder,
    refuse_encoder_of_blocks,
)


@dataclass(frozen=True, eq=False, repr=False)
class DriftReportResult(Result):
    """Report of how a new table differs from a reference table.

    `drift` is the verdict, and `pvalue` its p-value. The repr, :meth:`to_frame` and
    :meth:`plot` show the columns with the smallest p-values first. In the frame,
    `explanation` is the number of the group that names a column, or 0.

    Read more in the :ref:`User Guide <tables>`.

    Attributes
    ----------
    joint_test : TestResult
        Test of all columns together.
    column_tests : ColumnTestsResult
        Tests of single columns.
    kinds : list of str
        Each is "number", "date", "duration", "ordered" or "category".
    missing_reference : ndarray of shape (n_features,)
        Fraction of missing values of each reference column.
    missing_new : ndarray of shape (n_features,)
        Fraction of missing values of each new column.
    explanation : list of list
        Columns that differ alone, then pairs that differ together.
    remaining_pvalue : float or None
        p-value of all columns that are not named.
    rows : ndarray of shape (n_rows,)
        Positions of new rows that contribute most.
    row_labels : list of length n_rows
        Index labels of these rows, or positions.
    row_values : list of dict
        Values of these rows as text.
    contributions : ndarray of shape (n_rows,)
        Contributions of these rows, in the named columns.
    marginals : list of dict
        Distribution of each column in both tables.
    pairs : list of dict
        Some rows of each named pair of columns.
    n_reference : int
        Number of rows of the reference table.
    n_new : int
        Number of rows of the new table.
    level : float
        Significance level.
    n_compared : tuple of int
        Numbers of reference rows and of new rows that contributions compare.

    See Also
    --------
    skdiscrepancy.drift_report : Computes the report.
    skdiscrepancy.plotting.DriftReportDisplay : Draws the effect sizes.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.monitoring import drift_report
    >>> rng = np.random.RandomState(0)
    >>> X, Y = rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + [0, 2, 0]
    >>> report = drift_report(X, Y, random_state=0)
    >>> report.drift, report.pvalue
    (True, 0.002)
    >>> report.explanation
    [['x1']]
    """

    joint_test: TestResult
    column_tests: ColumnTestsResult
    kinds: list[str]
    missing_reference: np.ndarray
    missing_new: np.ndarray
    explanation: list[list[Any]]
    remaining_pvalue: float | None
    rows: np.ndarray
    row_labels: list[Any]
    row_values: list[dict[Any, str]]
    contributions: np.ndarray
    marginals: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    n_reference: int
    n_new: int
    level: float
    n_compared: tuple[int, int] = (0, 0)

    _display = "DriftReportDisplay"
    _item = "column"
    _index = "feature"
    _shown_first = "smallest p-values"
    _repr_rows = 10

    @property
    def adjusted_pvalues(self) -> np.ndarray:
        """The p-value of each column, adjusted for all columns and the joint test."""
        return np.minimum(2 * self.column_tests.adjusted_pvalues, 1.0)

    @property
    def pvalue(self) -> float:
        """The p-value of the verdict, the smallest adjusted one of all tests."""
        return float(min(2 * self.joint_test.pvalue, self.adjusted_pvalues.min()))

    @property
    def drift(self) -> bool:
        """Whether the tables differ, in a column or in all columns together."""
        return self.pvalue <= self.level

    @property
    def effect_size(self) -> float | None:
        """How large the difference of all columns is; see :ref:`effect_size`."""
        return self.joint_test.effect_size

    def _summary(self) -> dict[str, Any]:
        groups = (" + ".join(map(str, group)) for group in self.explanation)
        return {
            "drift": self.drift,
            "pvalue": self.pvalue,
            **self.joint_test._effect_words(),
            "explanation": ", ".join(groups) or "none",
        }

    @property
    def effect_sizes(self) -> np.ndarray:
        """Effect size of each column, NaN if there is none; see :ref:`effect_size`."""
        return self.column_tests.effect_sizes

    def _order(self) -> np.ndarray:
        """Return the columns of the data in the order of the table."""
        return np.lexsort((-self.effect_sizes, self.column_tests.pvalues))

    def _columns(self) -> dict[str, Any]:
        order, tests = self._order(), self.column_tests
        numbered = reversed([*enumerate(self.explanation, 1)])
        groups = {name: i for i, group in numbered for name in group}
        names = [tests.feature_names[j] for j in order]
        return {
            "feature": names,
            "kind": [self.kinds[j] for j in order],
            "effect_size": self.effect_sizes[order],
            "pvalue": tests.pvalues[order],
            "adjusted_pvalue": self.adjusted_pvalues[order],
            "missing_reference": self.missing_reference[order],
            "missing_new": self.missing_new[order],
            "explanation": np.array([groups.get(name, 0) for name in names]),
        }

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Write the report as an HTML page in a single file.

        The page needs no network and runs no scripts. It contains values of your data.

        Parameters
        ----------
        path : str, path-like or None, default=None
            File to write. None writes no file.

        Returns
        -------
        page : str
            The page.
        """
        page = report_page(self)
        if path is not None:
            # Names may have letters that UTF-8 does not have.
            Path(path).write_text(page, encoding="utf-8", errors="backslashreplace")
        return page


# Functions of each encoded column that show how columns depend on each other, and how
# many functions a table has at most.
N_FUNCTIONS, MOST_FUNCTIONS = 4, 2000
# Pairs of columns that are tested, at most, and the smallest p-value of a column of a
# pair. Columns with smaller ones may differ on their own, so a pair would say too much.
MOST_PAIRS, LEAST_PVALUE = 10, 0.01
# Half of a table needs this many rows, clusters or blocks to name pairs.
LEAST_UNITS = 4


def changed_pairs(blocks: list[np.ndarray], m: int) -> list[tuple[int, int]]:
    """Return pairs of columns that seem to depend on each other in another way.

    Cosines of the ranks describe each column. The covariances of these functions in the
    first m rows and in the others are compared, in standard errors, and the largest
    difference counts for a pair. The strongest pair comes first. Others follow if their
    differences are too large for chance.

    Parameters
    ----------
    blocks : list of ndarray of shape (n_samples, n_block_columns)
        Encoded columns, with the rows of both samples stacked.
    m : int
        Number of rows of the first sample.

    Returns
    -------
    pairs : list of tuple of int
        Positions of both blocks of each pair.
    """
    Z = np.hstack(blocks)
    if Z.shape[1] > MOST_FUNCTIONS:
        return []
    number = int(np.clip(MOST_FUNCTIONS // Z.shape[1], 1, N_FUNCTIONS))
    angles = np.pi * (rankdata(Z, axis=0) - 0.5) / len(Z)
    F = np.cos(angles[:, :, np.newaxis] * np.arange(1, number + 1)).reshape(len(Z), -1)
    difference, variance = np.zeros((2, F.shape[1], F.shape[1]))
    for sign, part in ((1, F[:m]), (-1, F[m:])):
        part = part - part.mean(axis=0)
        covariance, squares = part.T @ part / len(part), np.square(part)
        difference += sign * covariance
        variance += (squares.T @ squares / len(part) - covariance**2) / len(part)
    ratios = np.zeros_like(variance)
    # Constant columns leave rounding errors.
    varies = variance > 1e-12 / len(Z)
    np.divide(difference**2, variance, out=ratios, where=varies)
    starts = number * np.cumsum([0, *(block.shape[1] for block in blocks[:-1])])
    ratios = np.maximum.reduceat(ratios, starts, axis=0)
    ratios = np.maximum.reduceat(ratios, starts, axis=1)
    first, second = np.triu_indices(len(blocks), 1)
    found = ratios[first, second]
    order = np.argsort(-found, kind="stable")[:MOST_PAIRS]
    clear = found[order] > chi2.isf(0.05 / max(varies.sum() / 2, 1), 1)
    clear[:1] = True
    return list(zip(first[order][clear], second[order][clear], strict=True))


# Rows of each table that contributions compare, at most, in quadratic time.
COMPARED_ROWS = 5000
# Work of the test of a column for the progress, if that of the joint test is 1.
WORK_OF_COLUMN = 0.3
# Larger tables in memory are encoded by blocks, if the joint test uses features.
MOST_VALUES = 2**23


@takes_parameters_of(
    checked_tests,
    mmd_test,
    names="level correction n_resamples kernel block_length clusters max_columns "
    f"max_rows encoder n_components {RUN}",
)
@in_one_blas_thread
def drift_report(
    reference: ArrayLike,
    new: ArrayLike,
    *,
    level: float = 0.05,
    correction: str = "holm",
    kernel: Any = None,
    max_columns: int = 10,
    max_rows: int = 10,
    encoder: Any = "auto",
    **params: Any,
) -> DriftReportResult:
    """Report how a new table differs from a reference table.

    Use it to detect data drift (covariate shift) and to see where it comes from. The
    verdict `drift` combines an MMD test of all columns with a test of each column.
    Without drift, it is True with a probability of at most `level`, if rows are
    independent. The report names columns that differ, alone or in pairs, and the rows
    that contribute most. Changes that only three or more columns show together have no
    names.

    Read more in the :ref:`User Guide <tables>`.

    Parameters
    ----------
    reference : DataFrame or {array-like, sparse matrix} of shape \
            (n_samples_reference, n_features)
        Reference table, for example the training data.
    new : DataFrame or {array-like, sparse matrix} of shape (n_samples_new, n_features)
        New table. Columns of DataFrames are matched by name.
    level : float, default=0.05
        Significance level of the verdict, and of the columns that are named.
    correction : {"holm", "bh", "by"}, default="holm"
        "holm" controls the probability of any wrong name, "bh" and "by" the fraction of
        wrong names.
    n_resamples : int or None, default=None
        Number of resamples. None is 999, and more for columns with small p-values.
    kernel : str, kernel object, callable, list or None, default=None
        Kernels of all tests. None is Gaussian and Laplace, Laplace for single columns.
    max_columns : int, default=10
        Largest number of columns to name. 0 skips the search.
    max_rows : int, default=10
        Number of rows to report.
    encoder : "auto", None or transformer, default="auto"
        How the joint test reads tables. "auto" gives all columns the same weight, also
        columns of arrays; None uses numbers as they are.
    **params : dict
        Parameters of :func:`skdiscrepancy.mmd_test`.

    Returns
    -------
    report : DriftReportResult
        The report. ``report.to_html("report.html")`` writes a page for a browser.

    See Also
    --------
    skdiscrepancy.mmd_test : Tests all columns together.
    skdiscrepancy.mmd_column_tests : Tests each column.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.monitoring import drift_report
    >>> rng = np.random.RandomState(0)
    >>> reference, new = rng.normal(size=(2, 200, 4))
    >>> report = drift_report(reference, new + [0, 0, 1, 0], random_state=0)
    >>> report.drift, report.pvalue, report.explanation
    (True, 0.002, [['x2']])
    """
    own = {"level": level, "max_columns": max_columns, "max_rows": max_rows}
    values = check_parameters({**own, "encoder": encoder})
    check_correction(correction, tuple(CORRECTIONS))
    params["correction"] = correction
    kernels: list[Any] = [LaplaceKernel()]
    if kernel is not None:
        kernels, params["kernel"] = [], kernel
    mmd, settings = checked_tests(MMDEstimator, bandwidth="dyadic", **params)
    names = ["reference", "new"]
    given, settings = with_clusters(settings, reference, new, names=names)
    with progress("drift report", 4, mmd.verbose) as line:
        tables = _Tables(given, encoder, mmd, settings.options.clusters is None)
        of_columns = replace(settings, kernels=kernels or settings.kernels)
        x, y = tables.given
        line.step = WORK_OF_COLUMN * len(tables.columns)
        line.total = line.step + 3
        column_tests = two_sample_columns(x, y, mmd, of_columns)
        n_drawn = settings.options.n_resamples or resamples(len(tables.columns))
        least = np.full(len(tables.columns), 1 / (1 + n_drawn))
        smallest = 2 * adjust_pvalues(least, correction).min()
        if values["level"] < smallest <= 2 * LEVEL:
            warn_user(
                f"n_resamples == {n_drawn}, so the smallest possible adjusted p-value "
                f"of a column is {smallest:.2g}, and no column can differ at level == "
                f"{level}. Pass a larger n_resamples."
            )
        # The tests of columns have looked at the order of the rows.
        settings = of_tests(settings, 1)

        plain = copy(mmd).set_params(encoder=None)

        def pvalue_of(columns: list[int], rows: Any) -> float:
            x, y = tables.of(columns, rows, None if rows else tables.encoded)
            own, options = settings, settings.options
            if rows and options.clusters:
                some = tables.clusters(options, rows)
                own = replace(own, options=options._replace(clusters=some))
            return copy(plain)._test_pair(x, y, own).pvalue

        line.advance()
        line.step = 1.0
        x, y = map(as_table, tables.joint)
        joint_test = copy(plain)._test_pair(x, y, settings)
        line.advance()
        adjusted = 2 * column_tests.adjusted_pvalues
        differ = np.flatnonzero(adjusted <= values["level"])
        sizes = sizes_of([column_tests.results[j] for j in differ])
        differ = differ[np.lexsort((-sizes, column_tests.pvalues[differ]))]
        groups, remaining = tables.explain(
            joint_test.pvalue,
            column_tests.pvalues,
            differ.tolist(),
            pvalue_of,
            values["level"] / 2,
            values["max_columns"],
            settings.options,
        )
        line.advance()
        found = [j for group in groups for j in group]
        x, y = tables.of(found or list(range(len(tables.columns))))
        kept, others = tables.draw_rows(COMPARED_ROWS)
        how = {name: getattr(mmd, name) for name in RUN.split()}
        complete = Settings(CompleteU(), settings.kernels)
        fitted = MMDEstimator(**how)._fit(x[kept], complete)
        contributions, rows = fitted._contributions(y[others]), others
        line.advance()
    names, sample = column_tests.feature_names, tables.samples[1]
    named = [(name, *pair) for name, pair in zip(names, tables.columns, strict=True)]
    largest = np.argsort(-contributions, kind="stable")[: values["max_rows"]]
    rows = rows[largest]
    # Of the rows that are not in the sample, neither values nor labels are known.
    index = getattr(sample, "index", None) if is_table(sample) else None
    missing: Any = np.array([column_tests.missing_X, column_tests.missing_Y])
    return DriftReportResult(
        joint_test=joint_test,
        column_tests=column_tests,
        kinds=list(tables.encoder.kinds_),
        missing_reference=missing[0],
        missing_new=missing[1],
        explanation=[[names[j] for j in group] for group in groups],
        remaining_pvalue=remaining,
        rows=tables.positions[1][rows],
        row_labels=(tables.positions[1] if index is None else index)[rows].tolist(),
        row_values=[
            {name: write_value(column, row) for name, _, column in named}
            for row in rows
        ],
        contributions=contributions[largest],
        marginals=[
            marginal(*pair) | {"missing": share}
            for pair, share in zip(tables.columns, missing.T.tolist(), strict=True)
        ],
        pairs=[
            pair_points([named[j] for j in group[:2]], generator_of(mmd.random_state))
            for group in groups
            if len(group) > 1
        ],
        n_reference=tables.encoded[0].shape[0],
        n_new=tables.encoded[1].shape[0],
        level=float(values["level"]),
        n_compared=(len(kept), len(others)),
    )


class _Tables:
    """Both tables, encoded as numbers.

    Attributes
    ----------
    given : list
        Both tables, with columns in the same order.
    samples : list
        Both tables, or random rows of tables that are read by blocks.
    positions : list of ndarray of shape (n_rows,)
        Positions of the rows of the samples in the tables.
    columns : list of tuple of Column
        The columns of the samples.
    compared : list of ndarray of shape (n_rows, n_columns)
        The samples, encoded.
    encoded, joint : list of {ndarray, csr_array, LazyRows}
        Both tables, encoded, and as the joint test reads them.
    """

    def __init__(self, given: list[Any], encoder: Any, mmd: MMDEstimator, lazy: bool):
        reference, new = given
        self.mmd, self.names = mmd, ["reference", "new"]
        own = encoder if isinstance(encoder, TableEncoder) else TableEncoder()
        self.encoder = clone(own)
        self.given = tables = [reference, in_order(new, reference, *self.names[::-1])]
        as_given = not (encoder is own or isinstance(encoder, str))
        self.encoded: list[Any]
        self.joint: Any = None
        if any(map(kind_of_blocks, tables)):
            # What the first pass finds is kept for the tests of columns.
            self.given = self._in_blocks(tables, encoder if as_given else own)
        elif any(map(issparse, tables)):
            self._sparse(tables)
            self._join(tables, encoder, as_given)
        elif lazy and mmd.n_components and _n_values(tables) > MOST_VALUES:
            self._in_blocks(tables, encoder if as_given else own)
        else:
            n_columns = [_check(*pair) for pair in zip(tables, self.names, strict=True)]
            if n_columns[0] != n_columns[1]:
                raise ValueError(
                    f"new has {n_columns[1]} columns, must have {n_columns[0]} as "
                    "reference."
                )
            self._encode(tables, [np.arange(len(table)) for table in tables])
            self.encoded = self.compared
            self._join(tables, encoder, as_given)
        self.joint = self.joint or self.encoded

    def _join(self, tables: list[Any], encoder: Any, as_given: bool) -> None:
        """Encode tables in memory for the joint test, if an encoder is `as_given`."""
        if as_given:
            fitted = fit_encoder(encoder, tables)
            self.joint = [encode(fitted, table) for table in tables]

    def _encode(self, samples: list[Any], positions: list[np.ndarray]) -> None:
        """Encode and read rows in memory, by an encoder that may have been fitted."""
        self.samples, self.positions = samples, positions
        if not hasattr(self.encoder, "kinds_"):
            self.encoder._fit_tables(samples, self.names)
        # `set_output` can make DataFrames of the encoding.
        self.compared = [np.asarray(self.encoder.transform(t)) for t in samples]
        forms = [block.form for block in self.encoder._blocks]
        pairs = zip(samples, self.names, strict=True)
        self.columns = list(zip(*(read_columns(*p, forms) for p in pairs), strict=True))

    def _draw(self, rows: list[Any], take: Callable[..., Any]) -> None:
        """Encode and read random rows of both tables."""
        draw = np.random.default_rng(draw_seeds(generator_of(self.mmd.random_state), 1))
        most = min(COMPARED_ROWS, MOST_VALUES // rows[0].shape[1])
        positions = [
            np.sort(draw.choice(Z.shape[0], min(Z.shape[0], most), replace=False))
            for Z in rows
        ]
        self._encode(list(map(take, rows, positions)), positions)

    def _in_blocks(self, tables: list[Any], encoder: Any) -> list[Any]:
        """Read both tables by blocks, and some rows as they are."""
        refuse_encoder_of_blocks(encoder)
        reader = Reader(None, 2, "auto", self.mmd)
        pairs = zip(tables, self.names, strict=True)
        rows = [open_rows(reader.blocks(*pair), pair[1]) for pair in pairs]
        refuse_other_columns(*rows, *self.names)
        self.encoder._fit_tables(rows, self.names)
        self._draw(rows, rows_at)
        self.encoded = [lazy_rows(encode(self.encoder, Z), Z.name, 2) for Z in rows]
        if encoder is None:
            self.joint = [lazy_rows(copy(Z), Z.name, 2) for Z in rows]
        return rows

    def _sparse(self, tables: list[Any]) -> None:
        """Scale sparse matrices by the encoder of some of their rows."""
        pairs = zip(tables, self.names, strict=True)
        rows = [csr_array(as_block(check_rows(*p, accept_sparse="csr"))) for p in pairs]
        self._draw(rows, lambda Z, some: Z[some].toarray())
        blocks: Any = self.encoder._blocks
        units = [np.ldexp(block.scale, block.exponent) for block in blocks]
        # A shift by the median would change no distance.
        scale = dia_array(([1 / np.array(units)], [0]), shape=(len(units),) * 2)
        self.encoded = [csr_array(Z @ scale) for Z in rows]

    def of(self, columns: list[int], rows: Any = None, tables: Any = None) -> list[Any]:
        """Return encoded columns of some rows of both samples, or of both tables."""
        tables = self.compared if tables is None else tables
        if issparse(tables[0]):
            return [Z[:, columns] for Z in tables]
        places = np.r_[tuple(self.encoder.output_slices_[j] for j in columns)]
        parts = [Z.take(places, axis=1) for Z in tables]
        ends = [
            (Z.min(axis=0), Z.max(axis=0))
            if isinstance(Z, np.ndarray)
            else (Z.least, Z.most)
            for Z in parts
        ]
        # Constant columns, such as the indicators of values that are never missing,
        # change no distance, and one column is faster than two.
        varies = np.ptp(np.concatenate(ends), axis=0) > 0
        varies[0] |= not varies.any()
        parts = [Z.take(np.flatnonzero(varies), axis=1) for Z in parts]
        if rows is None:
            return parts
        return [Z[some] for Z, some in zip(parts, rows, strict=True)]

    def draw_rows(self, n_rows: int) -> list[np.ndarray]:
        """Draw at most `n_rows` rows of each table, in their order."""
        generator = generator_of(self.mmd.random_state)
        sizes = map(len, self.compared)
        return [np.sort(generator.permutation(size)[:n_rows]) for size in sizes]

    def explain(
        self,
        pvalue: float,
        pvalues: np.ndarray,
        named: list[int],
        test: Callable[..., float],
        level: float,
        most: int,
        options: Options,
    ) -> tuple[list[list[int]], float | None]:
        """Name columns and pairs of columns that differ significantly themselves.

        If the columns that do not differ on their own differ together, one half of the
        rows of both tables suggests pairs of them, and the other half tests these.

        Parameters
        ----------
        pvalue : float
            The p-value of the test of all columns.
        pvalues : ndarray of shape (n_columns,)
            The p-values of the tests of single columns.
        named : list of int
            Columns that differ on their own.
        test : callable
            Takes the positions of some columns, and rows of both tables or None for all
            rows, and returns the p-value of their test.
        level : float
            Significance level of these tests.
        most : int
            Largest number of columns to name.
        options : Options
            Options of the tests, which say whether rows belong together.

        Returns
        -------
        groups : list of list of int
            Columns that differ, and pairs that differ together.
        remaining : float or None
            The p-value of the test of the other columns. None if there are no others.
        """
        if not most:
            return [], pvalue

        def of_others(known: list[int]) -> tuple[list[int], float | None]:
            others = [j for j in range(len(self.columns)) if j not in known]
            if len(known) * len(others) == 0:
                return others, None if known else pvalue
            return others, test(others, None)

        groups = [[j] for j in named[:most]]
        others, remaining = of_others(named[:most])
        room = (most - len(groups)) // 2
        if room and len(others) > 1 and remaining is not None and remaining <= level:
            search, check, enough = self.halves(options)
            alike = [j for j in others if pvalues[j] > LEAST_PVALUE and enough]
            blocks = [np.concatenate(self.of([j], search)) for j in alike]
            found = changed_pairs(blocks, len(search[0])) if len(alike) > 1 else []
            pairs = [[alike[i], alike[j]] for i, j in found]
            adjusted = holm(np.array([test(pair, check) for pair in pairs]))
            groups += [pairs[i] for i in np.flatnonzero(adjusted <= level)[:room]]
        if len(groups) > len(named):
            _, remaining = of_others([j for group in groups for j in group])
        return groups, remaining

    def halves(self, options: Options) -> tuple[Any, Any, bool]:
        """Return both halves of the rows: of random rows or clusters, or of a series.

        Also return whether both halves have enough rows, clusters or blocks for a test.
        """
        generator = generator_of(self.mmd.random_state)
        units = self.clusters(options) or [np.arange(len(Z)) for Z in self.compared]
        # Clusters that are in both tables are in one half.
        together = options.clusters and np.intersect1d(*units).size
        values = [np.unique(np.concatenate(units))] * 2 if together else [*units]
        firsts: list[np.ndarray] = []
        least: list[int] = []
        for own, known in zip(units, map(np.unique, values), strict=True):
            if not (firsts and together):
                order = known if options.wants_blocks else generator.permutation(known)
                first = order[: len(order) // 2]
            firsts.append(np.isin(own, first))
            parts = own[firsts[-1]], own[~firsts[-1]]
            least.append(min(np.unique(part).size for part in parts))
        # "auto" leaves blocks enough.
        length = options.block_length if isinstance(options.block_length, int) else 1
        search, check = (
            [np.flatnonzero(first == own) for first in firsts] for own in (True, False)
        )
        return search, check, min(least) >= LEAST_UNITS * length

    def clusters(self, options: Options, rows: Any = (slice(None),) * 2) -> list[Any]:
        """Return the clusters of some rows of both samples, if there are clusters."""
        known = zip(options.clusters or (), self.positions, rows, strict=False)
        return [codes[positions][some] for codes, positions, some in known]


def _n_values(tables: list[Any]) -> float:
    return sum(float(np.prod(getattr(table, "shape", 0))) for table in tables)


def _check(table: Any, name: str) -> int:
    """Refuse a table of too few rows, and return how many columns it has."""
    columns = read_columns(table, name)
    n_rows = len(columns[0].values) if columns else 0
    if n_rows < 2:
        raise ValueError(
            f"{name} has {n_rows} rows and {len(columns)} columns, must have at least "
            "two rows and one column."
        )
    for column in () if is_table(table) else columns:
        known = not np.any(column.missing)
        if column.kind not in ("number", "category") or not known:
            what = f"{column.kind}s" if known else "missing values"
            raise ValueError(
                f"{name} has {what} in column {column.name}, must be a DataFrame of "
                "pandas or polars to have them."
            )
    return len(columns)
