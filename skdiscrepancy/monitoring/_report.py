"""The report of how two tables differ."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from skdiscrepancy._data import Result
from skdiscrepancy._nulls import TestResult
from skdiscrepancy.inference import ColumnTests
from skdiscrepancy.monitoring._html import report_page


@dataclass(frozen=True, eq=False, repr=False)
class DriftReport(Result):
    """Report of how a new table differs from a reference table.

    The joint test compares all columns together, so it also detects drift that no
    single column shows. The report names the columns that explain the drift [1]_, and
    the rows that contribute most. The repr, the table in a notebook, :meth:`to_frame`
    and :meth:`plot` show the column with the smallest p-value first. The attributes
    have the order of the columns of your data. Two reports are equal if all their
    attributes are equal.

    Read more in the :ref:`User Guide <tables>`.

    Attributes
    ----------
    joint_test : TestResult
        Test of all columns together.
    column_tests : ColumnTests
        Test of each column, with p-values corrected for the number of columns.
    kinds : list of str
        What each column holds: "number", "date", "duration", "ordered" or "category".
    effect_sizes : ndarray of shape (n_features,)
        Effect size of each column, from 0 to 1, which does not grow with the number of
        rows. It is t / sqrt(1 + t^2), where t is the normalised MMD (the value of
        :func:`skdiscrepancy.mmd_score` with one Laplace kernel whose bandwidth is the
        mean distance of two rows), or 0 if t is negative. It is 1 if the column is
        constant in each table, but not the same constant.
    missing_reference : ndarray of shape (n_features,)
        Fraction of missing values of each column in the reference table.
    missing_new : ndarray of shape (n_features,)
        Fraction of missing values of each column in the new table.
    explanation : list of list
        Names of the columns that explain the drift. The columns of one group differ
        together. The strongest group comes first, and each group begins with its
        strongest column. Empty if the joint test does not reject.
    remaining_pvalue : float or None
        p-value of the joint test of all columns that `explanation` does not name. None
        if it names all columns.
    rows : ndarray of shape (n_rows,)
        Positions of the rows of the new table that contribute most, the largest
        contribution first.
    row_labels : list of length n_rows
        Index labels of these rows, or their positions if the table has no index.
    row_values : list of dict
        Values of these rows as text, by the name of the column.
    contributions : ndarray of shape (n_rows,)
        Contribution of each of these rows, see :meth:`skdiscrepancy.MMDEstimator.\
contributions`, computed on the columns of `explanation`, or on all columns if it is
        empty.
    marginals : list of dict
        Distribution of each column in both tables, for the pictures of :meth:`to_html`.
    pairs : list of dict
        Some rows of both tables in the first two columns of each group of several
        columns, for the pictures of :meth:`to_html`.
    n_reference : int
        Number of rows of the reference table.
    n_new : int
        Number of rows of the new table.
    level : float
        Significance level.

    See Also
    --------
    drift_report : Computes the report.
    skdiscrepancy.plotting.DriftReportDisplay : Draws the effect sizes.

    References
    ----------
    .. [1] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.monitoring import drift_report
    >>> rng = np.random.RandomState(0)
    >>> X, Y = rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + [0, 2, 0]
    >>> report = drift_report(X, Y, random_state=0)
    >>> report.joint_test.pvalue
    0.001
    >>> report.explanation
    [['x1']]
    """

    joint_test: TestResult
    column_tests: ColumnTests
    kinds: list[str]
    effect_sizes: np.ndarray
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

    _display = "DriftReportDisplay"
    _item = "column"
    _index = "feature"
    _shown_first = "smallest p-values"
    _repr_rows = 10

    def _summary(self) -> dict[str, Any]:
        groups = (" + ".join(map(str, group)) for group in self.explanation)
        return {
            "pvalue": self.joint_test.pvalue,
            "explanation": ", ".join(groups) or "none",
        }

    def _order(self) -> np.ndarray:
        """Return the columns of the data in the order of the table."""
        return np.lexsort((-self.effect_sizes, self.column_tests.pvalues))

    def _columns(self) -> dict[str, Any]:
        order, tests = self._order(), self.column_tests
        groups = {
            name: i + 1 for i, group in enumerate(self.explanation) for name in group
        }
        names = [tests.feature_names[j] for j in order]
        return {
            "feature": names,
            "kind": [self.kinds[j] for j in order],
            "effect_size": self.effect_sizes[order],
            "pvalue": tests.pvalues[order],
            "adjusted_pvalue": tests.adjusted_pvalues[order],
            "missing_reference": self.missing_reference[order],
            "missing_new": self.missing_new[order],
            "explanation": np.array([groups.get(name, 0) for name in names]),
        }

    def to_frame(self) -> Any:
        """Return the report as a DataFrame, one row for each column of the data.

        Needs pandas: ``pip install "skdiscrepancy[pandas]"``.

        Returns
        -------
        frame : pandas.DataFrame
            The columns are `kind`, `effect_size`, `pvalue`, `adjusted_pvalue`,
            `missing_reference`, `missing_new` and `explanation`, the number of the
            group of `explanation` that names the column, or 0. The index holds
            the names of the columns of the data. The smallest p-value comes first, and
            equal p-values are sorted by the largest effect.
        """
        return super().to_frame()

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Write the report as an HTML page in a single file.

        The page has the answer in words, the tests, pictures of the columns that have
        drifted, and the rows that contribute most. It loads nothing from a network and
        runs no scripts, so you can send it by e-mail. It contains values of your data.

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

    def plot(self, **kwargs: Any) -> Any:
        """Draw the effect size of each column, with the smallest p-value on top.

        Needs matplotlib: ``pip install "skdiscrepancy[plot]"``.

        Parameters
        ----------
        **kwargs : dict
            Options of :meth:`DriftReportDisplay.from_result
            <skdiscrepancy.plotting.DriftReportDisplay.from_result>`, such as `ax`.

        Returns
        -------
        display : DriftReportDisplay
            The display, already drawn.
        """
        return super().plot(**kwargs)
