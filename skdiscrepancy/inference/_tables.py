"""The table of many tests, with p-values corrected for the number of tests."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import false_discovery_control

from skdiscrepancy._base import holm
from skdiscrepancy._data import Result, draw_seeds, warn_user
from skdiscrepancy._engine import Task, run_all
from skdiscrepancy._nulls import LEVEL, TestResult
from skdiscrepancy.inference._column_inputs import ColumnSample

CORRECTIONS = ("bh", "by", "holm", None)


@dataclass(frozen=True, eq=False, repr=False)
class ColumnTests(Result):
    """Tests of all columns of a table, with p-values corrected for their number.

    The corrections control the false discovery rate [1]_ or the family-wise error rate.
    The repr, ``print(tests)``, the table in a notebook, :meth:`to_frame` and
    :meth:`plot` show the smallest p-value first, and sort equal p-values by the largest
    statistic. The attributes have the order of the columns of your data. Two results
    are equal if all their attributes are equal.

    Read more in the :ref:`User Guide <testing>`.

    Attributes
    ----------
    feature_names : list of length n_features
        Names of the columns, "x0", "x1" and so on for an array.
    statistics : ndarray of shape (n_features,)
        Pooled statistic of each column.
    pvalues : ndarray of shape (n_features,)
        p-value of each column.
    adjusted_pvalues : ndarray of shape (n_features,)
        The p-values, corrected for the number of columns.
    correction : {"bh", "by", "holm"} or None
        Correction for the number of columns.
    results : list of TestResult
        Result of the test of each column.
    missing_x : ndarray of shape (n_features,)
        Fraction of missing values of each column of X.
    missing_y : ndarray of shape (n_features,) or None
        Fraction of missing values of each column of the second sample, None for
        :func:`~skdiscrepancy.hsic_column_tests`.
    changed_fractions : ndarray of shape (n_features,) or None
        Effect size of each column: the fraction of the rows of one table that would
        have to change, at least, before both tables have the same distribution. For
        labels, it is half the sum of the absolute differences of their frequencies, the
        total variation distance. For numbers, it is the largest difference of the
        frequencies of any interval. Without a change, it is about 1.6 / sqrt(n) for two
        tables of n numbers. None for :func:`~skdiscrepancy.hsic_column_tests`.

    See Also
    --------
    skdiscrepancy.mmd_column_tests : Tests which columns have drifted.
    skdiscrepancy.hsic_column_tests : Tests which columns y depends on.
    skdiscrepancy.plotting.ColumnTestsDisplay : Draws the p-values.

    References
    ----------
    .. [1] Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", Journal
       of the Royal Statistical Society B 57, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_column_tests
    >>> rng = np.random.RandomState(0)
    >>> X, Y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + [0, 2]
    >>> tests = mmd_column_tests(X, Y, random_state=0)
    >>> tests.feature_names
    ['x0', 'x1']
    >>> tests.adjusted_pvalues.round(3).tolist()
    [0.748, 0.002]
    >>> tests.to_frame().index.tolist()
    ['x1', 'x0']
    """

    feature_names: list[Any]
    statistics: np.ndarray
    pvalues: np.ndarray
    adjusted_pvalues: np.ndarray
    correction: str | None
    results: list[TestResult]
    missing_x: np.ndarray | None = None
    missing_y: np.ndarray | None = None
    changed_fractions: np.ndarray | None = None

    _display = "ColumnTestsDisplay"
    _item = "column"
    _index = "feature"
    _shown_first = "smallest p-values"
    _repr_rows = 10

    def _order(self) -> np.ndarray:
        """Return the columns of the data in the order of the table."""
        # lexsort is stable, and sorts by the last key first.
        return np.lexsort((-self.statistics, self.pvalues))

    def _summary(self) -> dict[str, Any]:
        return {
            "smallest_adjusted_pvalue": self.adjusted_pvalues.min(),
            "correction": self.correction,
        }

    def _columns(self) -> dict[str, Any]:
        order = self._order()
        columns = {
            "feature": [self.feature_names[j] for j in order],
            "statistic": self.statistics[order],
            "pvalue": self.pvalues[order],
            "adjusted_pvalue": self.adjusted_pvalues[order],
        }
        if self.changed_fractions is not None:
            columns["changed_fraction"] = self.changed_fractions[order]
        missing = {"missing_x": self.missing_x, "missing_y": self.missing_y}
        known = {name: part for name, part in missing.items() if part is not None}
        if any(part.any() for part in known.values()):
            columns |= {name: part[order] for name, part in known.items()}
        return columns

    def to_frame(self) -> Any:
        """Return the tests as a DataFrame, one row for each column of the data.

        Needs pandas: ``pip install "skdiscrepancy[pandas]"``.

        Returns
        -------
        frame : pandas.DataFrame
            The columns are `statistic`, `pvalue` and `adjusted_pvalue`, for two samples
            also `changed_fraction`, and if values are missing, `missing_x` and
            `missing_y`, the fraction of missing values in each sample. The index holds
            the names of the columns of the data. The smallest p-value comes first, and
            equal p-values are sorted by the largest statistic.
        """
        return super().to_frame()

    def plot(self, **kwargs: Any) -> Any:
        """Draw the adjusted p-value of each column, with the smallest on top.

        Needs matplotlib: ``pip install "skdiscrepancy[plot]"``.

        Parameters
        ----------
        **kwargs : dict
            Options of :meth:`ColumnTestsDisplay.from_result
            <skdiscrepancy.plotting.ColumnTestsDisplay.from_result>`, such as `ax`.

        Returns
        -------
        display : ColumnTestsDisplay
            The display, already drawn.
        """
        return super().plot(**kwargs)

    def __str__(self) -> str:
        return "\n".join(self._lines(None))


def columnwise_tests(
    names: list[Any],
    columns: list[ColumnSample],
    run: Callable[[Any, int], TestResult],
    *,
    correction: str | None,
    generator: np.random.RandomState,
    n_jobs: int | None,
    verbose: int = 0,
) -> ColumnTests:
    """Run a test for each column, in threads, and correct the p-values.

    Parameters
    ----------
    names : list
        Names of the columns.
    columns : list of ColumnSample
        Data of each column, passed to `run`.
    run : callable
        Takes an entry of `columns` and a seed, and returns the result of a test.
    correction : {"bh", "by", "holm"} or None
        Correction for the number of columns.
    generator : RandomState
        Draws the seeds.
    n_jobs : int or None
        Number of threads.
    verbose : int, default=0
        Whether the progress is shown.

    Returns
    -------
    tests : ColumnTests
        Results.
    """
    check_correction(correction)
    seeds = draw_seeds(generator, len(columns))
    tasks = zip(names, columns, seeds, strict=True)
    work = _ColumnTask(run)
    results = list(run_all(tasks, work, n_jobs, verbose, what="columns"))
    pvalues = np.array([result.pvalue for result in results])
    _warn_if_powerless(results, correction)
    missing_x, *others = np.array([column.missing for column in columns]).T
    return ColumnTests(
        feature_names=names,
        statistics=np.array([result.statistic for result in results]),
        pvalues=pvalues,
        adjusted_pvalues=adjust_pvalues(pvalues, correction),
        correction=correction,
        results=results,
        missing_x=missing_x,
        missing_y=others[0] if others else None,
        changed_fractions=np.array([c.changed_fraction() for c in columns])
        if others
        else None,
    )


def _warn_if_powerless(results: list[TestResult], correction: str | None) -> None:
    """Warn if no column can have a small adjusted p-value, whatever the data are."""
    # Gamma and normal distributions have no resamples, and any p-value.
    n_resamples = [len(result.null_distribution) or np.inf for result in results]
    smallest = adjust_pvalues(1 / (1 + np.array(n_resamples)), correction).min()
    if smallest > LEVEL:
        warn_user(
            f"The smallest possible adjusted p-value is {smallest:.2g}, because "
            f"correction == {correction!r} is for {len(results)} columns, and the test "
            f"of a column has at most {max(n_resamples)} resamples. No column can be "
            f"significant at the level {LEVEL}. Pass a larger n_resamples, or for "
            "method='shift' more rows."
        )


def check_correction(correction: Any) -> None:
    """Refuse an unknown correction."""
    if correction not in CORRECTIONS:
        raise ValueError(f"correction == {correction!r}, must be one of {CORRECTIONS}.")


def adjust_pvalues(pvalues: np.ndarray, correction: str | None) -> np.ndarray:
    """Correct p-values for the number of tests.

    Parameters
    ----------
    pvalues : ndarray of shape (n_tests,)
        The p-values.
    correction : {"bh", "by", "holm"} or None
        "bh" and "by" control the false discovery rate, "holm" the probability of any
        false discovery.

    Returns
    -------
    adjusted : ndarray of shape (n_tests,)
        Adjusted p-values.
    """
    if correction is None:
        return pvalues.copy()
    if correction in ("bh", "by"):
        return false_discovery_control(pvalues, method=correction)
    return holm(pvalues)


class _ColumnTask(Task):
    """The test of one column."""

    def __init__(self, run: Callable[[Any, int], TestResult]):
        self.run = run

    def __call__(self, task: tuple[Any, Any, int]) -> TestResult:
        name, column, seed = task
        try:
            return self.run(column, seed)
        except ValueError as error:
            raise ValueError(f"Column {name!r}: {error}") from error
