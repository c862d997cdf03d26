"""The columns of X as the selectors read them: numbers, labels and groups."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data import (
    Column,
    check_column_encoder,
    check_columns,
    is_table,
    names_of,
    needs_encoding,
    read_columns,
    shown,
    text_of,
    validate_with_target,
)
from skdiscrepancy.kernels import IndicatorKernel
from skdiscrepancy.tables import encode_target, fit_target_encoder


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
