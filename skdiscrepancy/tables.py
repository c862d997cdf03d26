"""Encoder of tables with numbers, categories, dates and missing values."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from itertools import chain, count, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse, vstack
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data.arrays import (
    are_integers,
    are_labels,
    check_columns,
    kind_of_blocks,
    refuse_masked,
)
from skdiscrepancy._data.blocks import LazyRows, open_rows
from skdiscrepancy._data.checks import (
    KeywordHints,
    check_number,
    explaining,
    make_public,
    shown,
    text_of,
    warn_user,
)
from skdiscrepancy._data.frames import (
    CODED,
    WORDS,
    Column,
    Summary,
    column_error,
    is_table,
    merge_summaries,
    needs_encoding,
    read_columns,
    series_of,
)

# Largest number of values of an encoding that has many categories: 16 GiB.
MOST_NUMBERS = 2**31
# Categories for each known row of an identifier, at least. A column that is drawn from
# as many equally likely categories as there are rows has 0.63.
ALMOST_ALL = 0.9


class TableEncoder(TransformerMixin, KeywordHints, BaseEstimator):
    """Encoder of tables with numbers, categories, dates and missing values.

    Each column of a DataFrame (pandas, polars, pyarrow) or an array of objects becomes
    a block of numbers. The mean L1 distance between two rows of a block is 1, so each
    column counts the same, as in Gower's distance. A column takes O(n log n) time.

    Read more in the :ref:`User Guide <tables>`.

    Parameters
    ----------
    max_categories : int or None, default=30
        Largest number of categories with a column of their own. None keeps all.

    Attributes
    ----------
    kinds_ : list of str
        Each is "number", "date", "duration", "ordered" or "category".
    output_slices_ : list of slice
        Columns of the encoding that belong to each column.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, if all are strings.

    See Also
    --------
    sklearn.preprocessing.OneHotEncoder : Encodes categories only.

    Examples
    --------
    >>> from skdiscrepancy.tables import TableEncoder
    >>> table = [[18.0, "red"], [30.0, "blue"], [None, "red"]]
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['x0', 'x0_missing', 'x1_red', 'x1_blue', 'x1_missing', 'x1_unseen']
    >>> encoder.transform(table)[:, 1].tolist()
    [0.0, 0.0, 1.0]
    """

    def __init__(self, *, max_categories: int | None = 30) -> None:
        self.max_categories = max_categories

    def fit(self, X: ArrayLike, y: Any = None) -> TableEncoder:
        """Learn the kinds, scales and categories of the columns.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Table, or :ref:`blocks <out_of_core>` of a table.
        y : Ignored
            Not used.

        Returns
        -------
        self : TableEncoder
            Fitted estimator.
        """
        return self._fit_tables([X], ["X"])

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Encode a table.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Table, or one block of a table.

        Returns
        -------
        encoded : ndarray of shape (n_samples, n_columns)
            The blocks of all columns, side by side.
        """
        check_is_fitted(self)
        columns = self._read(X, "X", [b.form for b in self._blocks], reset=False)
        n_rows, width = len(columns[0].values), self.output_slices_[-1].stop
        # With the default, a column becomes at most 32 columns.
        if n_rows * width > MOST_NUMBERS and width > 32 * len(columns):
            raise ValueError(
                f"max_categories == {self.max_categories}, must be smaller here, such "
                f"as 30: {n_rows} rows of {width} columns, one for each category, take "
                f"{n_rows * width / 2**27:.1f} GiB."
            )
        encoded = np.zeros((n_rows, width))
        parts = zip(self._blocks, columns, self.output_slices_, strict=True)
        for block, column, where in parts:
            block.write(column, encoded[:, where])
        return encoded

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the encoding.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns. None takes those of `fit`.

        Returns
        -------
        names : ndarray of str objects
            Names with suffixes for missing values and categories.
        """
        check_is_fitted(self)
        # This method of scikit-learn checks the names and returns them.
        names = OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        found: dict[str, None] = {}
        for name, block in zip(names, self._blocks, strict=True):
            for suffix in block.suffixes:
                label = f"{name}{suffix}"
                labels = chain([label], (f"{label}_{i}" for i in count(2)))
                found[next(one for one in labels if one not in found)] = None
        return np.array(list(found), dtype=object)

    def _fit_tables(self, tables: Sequence[Any], names: Sequence[str]) -> TableEncoder:
        """Learn from the rows of several tables with the same columns."""
        if self.max_categories is not None:
            check_number(self.max_categories, "max_categories", integer=True, least=1)
        if any(isinstance(t, LazyRows) or kind_of_blocks(t) for t in tables):
            tables = list(map(open_rows, tables, names))
        found = self._summarize(tables, names)
        if any(column.is_mixed for column in found):
            # What one table holds can depend on another one.
            found = self._summarize(tables, names, [column.form for column in found])
        self._blocks: list[_NumberBlock | _CategoryBlock] = [
            _CategoryBlock.learn(column, self.max_categories)
            if column.form.kind == "category"
            else _NumberBlock.learn(column)
            for column in found
        ]
        if useless := [block.form.name for block in self._blocks if block.useless]:
            warn_user(
                f"The columns {shown(useless)} have more than max_categories == "
                f"{self.max_categories} values, which are nearly all different or "
                "equally frequent, so their encoding carries almost no information. "
                "Drop identifiers, convert dates with pandas.to_datetime, and for "
                "others pass encoder=TableEncoder(max_categories=...)."
            )
        return self._lay_out([len(block.suffixes) for block in self._blocks])

    def _lay_out(self, widths: list[int]) -> TableEncoder:
        """Set what the columns hold, and where the encoding has them."""
        self.kinds_ = [str(block.form.kind) for block in self._blocks]
        ends = np.cumsum([0, *widths]).tolist()
        self.output_slices_ = [slice(*ends) for ends in pairwise(ends)]
        return self

    def _only(self, columns: np.ndarray) -> TableEncoder:
        """Return an encoder of some of the columns."""
        some, widths = copy(self), [s.stop - s.start for s in self.output_slices_]
        some._blocks = [self._blocks[j] for j in columns]
        some.n_features_in_ = len(columns)
        if hasattr(self, "feature_names_in_"):
            some.feature_names_in_ = self.feature_names_in_[columns]
        return some._lay_out([widths[j] for j in columns])

    def _summarize(
        self, tables: Sequence[Any], names: Sequence[str], forms: Any = None
    ) -> list[Summary]:
        """Summarise the columns of all tables, read as the columns of some forms."""
        found: list[Summary] = []
        for table, name in zip(tables, names, strict=True):
            reset = forms is None and not found
            if isinstance(table, LazyRows):
                self._check(table.header, name, reset=reset)
                own = table.summarize(forms)
            else:
                like = forms or [c.form if c.n_known else None for c in found]
                columns = self._read(table, name, like or None, reset=reset)
                own = [Summary.of(column, name) for column in columns]
            found = merge_summaries(found, own) if found else own
        return found

    def _read(self, X: Any, name: str, like: Any, *, reset: bool) -> list[Column]:
        """Read a table, and compare its columns with those of the first table."""
        columns = read_columns(X, name, like)
        # The words are from scikit-learn.
        if not columns or not len(columns[0].values):
            what = f"0 {'sample' if columns else 'feature'}(s) (shape={np.shape(X)})"
            raise ValueError(f"{name} has {what} while a minimum of 1 is required.")
        self._check(X, name, reset=reset)
        return columns

    def _check(self, X: Any, name: str, *, reset: bool) -> None:
        """Compare the columns of a table with those of the first table."""
        try:
            check_columns(self, X, reset=reset)
        except ValueError as error:
            # scikit-learn calls every table X.
            raise ValueError(str(error).replace("X has", f"{name} has", 1)) from None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for name in ("allow_nan", "categorical", "string"):
            setattr(tags.input_tags, name, True)
        return tags


class LabelCodes(OneToOneFeatureMixin, TableEncoder):
    """Encoder of labels: one number for each label of a column, or for missing labels.

    Numbers without missing values stay as they are.
    """

    def _lay_out(self, widths: list[int]) -> TableEncoder:
        return super()._lay_out([1] * len(widths))

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return the codes of all columns."""
        columns = self._read(X, "X", [b.form for b in self._blocks], reset=False)
        pairs = zip(self._blocks, columns, strict=True)
        return np.column_stack([block.codes(column) for block, column in pairs]) * 1.0


@dataclass(frozen=True)
class _NumberBlock:
    """Encoding of a number, date, duration or ordered level.

    SimpleImputer of scikit-learn drops columns of missing values.

    Attributes
    ----------
    form : Column
        The column without its rows.
    exponent : int
        Power of two that values are divided by first, so that nothing overflows.
    median : float
        Median of the known values, after the division.
    scale : float
        Scale of the values, after the division.
    """

    form: Column
    exponent: int
    median: float
    scale: float
    suffixes = ("", "_missing")
    useless = False

    @classmethod
    def learn(cls, column: Summary) -> _NumberBlock:
        form, values, counts = column.form, np.sort(column.values), np.array(1)
        if form.kind == "ordered":
            counts = np.array([column.counts[level] for level in form.levels])
            values = np.flatnonzero(counts).astype(np.float64)
            counts = counts[counts > 0]
        if not len(values):
            # Nothing is known about distances, so known values are at distance 0.
            return cls(form, 0, 0.0, np.inf)
        if values[0] == values[-1]:
            return cls(form, 0, float(values[0]), 1.0)
        exponent = int(np.frexp(np.abs(values[[0, -1]]).max())[1])
        values = np.ldexp(values, -exponent)
        # The values are all known values, or a sample of them.
        ends = np.cumsum(np.broadcast_to(counts, len(values)))
        size = int(ends[-1])
        middle = np.searchsorted(ends, [(size - 1) // 2, size // 2], side="right")
        median = float(values[middle].mean())
        values -= median
        between = np.sum(counts * (2 * ends - counts - size) * values)
        between /= size * (size - 1) / 2
        # A missing value is at the median, and at distance 1 from known values.
        m, k = column.n_missing, column.n_known
        n_pairs, n_known = (m + k) * (m + k - 1) / 2, k * (k - 1) / 2
        to_missing = np.sum(counts * np.abs(values)) / size
        difference = (n_known * between + m * k * to_missing) / n_pairs
        return cls(form, exponent, median, float(difference / (1 - m * k / n_pairs)))

    def codes(self, column: Column) -> np.ndarray:
        return _numbers_like(self.form, column, "y")[0]

    def write(self, column: Column, out: np.ndarray) -> None:
        values, unseen = _numbers_like(self.form, column, "X")
        missing = np.isnan(values)
        with np.errstate(over="ignore", invalid="ignore"):
            encoded = (np.ldexp(values, -self.exponent) - self.median) / self.scale
        encoded[missing] = 0.0
        if not np.all(finite := np.isfinite(encoded)):
            near = "values that are less far from the values seen in fit. Rescale the "
            value = column.values[~finite][0]
            raise column_error("X", value, self.form.name, f"{near}data.")
        out[:, 0] = encoded
        out[:, 1] = np.where(unseen, -1.0, missing)


@dataclass(frozen=True)
class _CategoryBlock:
    """Encoding of a category.

    OneHotEncoder of scikit-learn sorts the categories, so it refuses several types in
    one column, and it has no category for missing values that fit did not see.

    Attributes
    ----------
    form : Column
        The column without its rows.
    positions : dict
        Position of each category in the block.
    suffixes : tuple of str
        Suffix of the name of each column of the block. The last two are for missing
        values and categories that fit did not see.
    scale : float
        Value where a row has the category.
    unseen : int
        Position of categories that fit did not see.
    useless : bool
        Whether the encoding distinguishes almost no rows.
    """

    form: Column
    positions: dict[Hashable, int]
    suffixes: tuple[str, ...]
    scale: float
    unseen: int
    useless: bool

    @classmethod
    def learn(cls, column: Summary, most: int | None) -> _CategoryBlock:
        counts, n_missing = column.counts, column.n_missing
        # The order must not depend on the order of the rows.
        categories = sorted(counts, key=lambda one: (-counts[one], *text_of(one)))
        kept = categories[:most]
        if len(categories) > len(kept) + 1:
            # Categories that are tied at the cut would be chosen by their names.
            tied = counts[categories[len(kept)]]
            kept = [one for one in kept if counts[one] > tied]
        rest = categories[len(kept) :]
        positions = {category: i for i, category in enumerate(kept)}
        positions.update(dict.fromkeys(rest, len(kept)))
        suffixes = [f"_{text_of(category)[0]}" for category in kept]
        suffixes += [*(["_rest"] if rest else []), "_missing", "_unseen"]
        sizes = [counts[category] for category in kept]
        sizes += [counts.total() - sum(sizes), n_missing]
        n_pairs = sum(sizes) * (sum(sizes) - 1)
        n_different = n_pairs - sum(size * (size - 1) for size in sizes)
        # Two rows of different categories differ in two columns.
        scale = n_pairs / (2 * n_different) if n_different else 0.5
        unseen, useless = len(suffixes) - 1, bool(rest and not kept)
        if rest and len(categories) > ALMOST_ALL * counts.total():
            unseen, useless = len(kept), True
        return cls(column.form, positions, tuple(suffixes), scale, unseen, useless)

    def codes(self, column: Column) -> np.ndarray:
        found = [self.positions.get(level, self.unseen) for level in column.levels]
        return np.array([*found, len(self.suffixes) - 2])[column.codes]

    def write(self, column: Column, out: np.ndarray) -> None:
        out[np.arange(len(out)), self.codes(column)] = self.scale


def _numbers_like(
    form: Column, column: Column, table: str
) -> tuple[np.ndarray, np.ndarray | bool]:
    """Return floats, NaN where there is none, and which levels are not in the form."""
    if form.kind == "ordered":
        ranks = {level: i for i, level in enumerate(form.levels)}
        found = [ranks.get(level, -1.0) for level in column.levels]
        values = np.array([*found, np.nan])[column.codes]
        unseen = values < 0
        return np.where(unseen, np.nan, values), unseen
    if column.kind == form.kind:
        return column.values, False
    if column.missing.all():
        return np.full(len(column.values), np.nan), False
    what = WORDS[column.kind]
    if column.kind == "category":
        present = [column.levels[code] for code in np.unique(column.codes) if code >= 0]
        text = [level for level in present if isinstance(level, str)]
        what = shown((text or present)[0])
    raise ValueError(
        f"{table} has {what} in column {form.name!r}, which had {WORDS[form.kind]} in "
        f"fit, must have {WORDS[form.kind]} or missing values. Convert the column, or "
        "fit on a table that has such values."
    )


def fit_encoder(
    encoder: Any, tables: list[Any], names: Sequence[str] = ("X", "Y")
) -> Any:
    """Return an encoder that is fitted to the rows of all tables, None for arrays."""
    for table in tables:
        if isinstance(table, LazyRows):
            refuse_encoder_of_blocks(encoder)
            if table.whole is not None:
                # Rows of X and y that are read together have been encoded.
                return table.encoder
    auto = isinstance(encoder, str)
    if encoder is None or (auto and not any(map(_is_encoded, tables))):
        return None
    fitted = TableEncoder() if auto else clone(encoder)
    titles = [*names, *[names[-1]] * len(tables)][: len(tables)]
    if isinstance(fitted, TableEncoder):
        return fitted._fit_tables(tables, titles)
    if isinstance(fitted, FrozenEstimator):
        return fitted
    return _run(fitted, "fit", stacked(tables, titles))


def _is_encoded(X: Any) -> bool:
    """Return whether the encoder "auto" encodes data: a DataFrame, but no array."""
    return X.needs_encoding if isinstance(X, LazyRows) else is_table(X)


def encode(encoder: Any, X: Any) -> Any:
    """Return a table as a fitted encoder encodes it, or X itself without encoder."""
    if encoder is None:
        return X
    if isinstance(X, LazyRows):
        refuse_encoder_of_blocks(encoder)
        # Integers can still be labels.
        kind = X.kinds if set(X.kinds) <= set("iu") else "f"
        kind = "b" if isinstance(encoder, LabelCodes) else kind
        return X if X.encoder is encoder else X.encode(encoder, kind)
    if isinstance(encoder, TableEncoder):
        return encoder.transform(X)
    refuse_masked(X, "X")
    encoded = _run(encoder, "transform", X)
    values = encoded.data if issparse(encoded) else np.asarray(encoded)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        must = "must return finite numbers. Rescale the data, or impute missing values."
        found = "returned NaN or infinity for X or Y"
        raise ValueError(f"encoder == {shown(encoder)} {found}, {must}")
    return encoded


def _run(encoder: Any, method: str, X: Any) -> Any:
    """Call a method of your own encoder, and name the parameter if it fails."""
    what = f"encoder == {shown(encoder)}"
    with explaining(f"{what}, must be able to {method} the columns of X"):
        return getattr(encoder, method)(X)


def refuse_encoder_of_blocks(encoder: Any) -> None:
    """Refuse a transformer of your own for data that are read by blocks."""
    if not (encoder is None or isinstance(encoder, (str, TableEncoder))):
        raise ValueError(
            f"encoder == {shown(encoder)}, must be None, 'auto' or a TableEncoder for "
            "data that are read by blocks, because no other encoder is fitted to "
            "blocks."
        )


# How each package stacks tables. Integers beside floats are floats, as in pandas.
STACKS: dict[str, tuple[str, dict[str, Any]]] = {
    "pandas": ("concat", {"ignore_index": True}),
    "polars": ("concat", {"how": "vertical_relaxed"}),
    "pyarrow": ("concat_tables", {"promote_options": "permissive"}),
}


def stacked(tables: list[Any], titles: list[str]) -> Any:
    """Return the rows of all tables as one table of their type."""
    if len(tables) == 1:
        return tables[0]
    if all(isinstance(table, list) for table in tables):
        return [*chain(*tables)]
    kinds = [(type(t).__module__.partition(".")[0], type(t)) for t in tables]
    one_type = "must be of one type and width for an encoder of your own"
    if len(set(kinds)) > 1:
        types = ", ".join(f"{package}.{kind.__name__}" for package, kind in kinds)
        raise TypeError(f"The samples have the types {types}, {one_type}.")
    if is_table(tables[0]):
        stack, options = STACKS[kinds[0][0]]
        try:
            return getattr(import_module(kinds[0][0]), stack)(tables, **options)
        except Exception as error:
            failed = "columns that cannot be stacked below the columns of X"
            raise ValueError(f"Y has {failed}: {error}") from error
    parts = [table if issparse(table) else np.asarray(table) for table in tables]
    for part, title in zip(parts, titles, strict=True):
        if not part.ndim:
            found = shown(part.item())
            raise TypeError(f"{title} == {found}, must be an array or a table.")
    types = ", ".join(str(part.dtype) for part in parts)
    with explaining(f"The samples have values of the types {types}, {one_type}"):
        return vstack(parts, "csr") if issparse(parts[0]) else np.concatenate(parts)


class MissingLabel(Enum):
    """Label of the rows of y whose label is missing."""

    MISSING = "missing"


def fit_target_encoder(encoder: Any, y: Any, *, labels: bool) -> TableEncoder | None:
    """Return an encoder fitted to y, if numbers of y are missing or beside labels.

    `labels` says whether the kernels on y read labels, so that no numbers are needed.
    """
    if isinstance(y, LazyRows):
        return _fit_to_blocks(encoder, y, labels)
    table, columns = _read_target(encoder, y)
    if labels or _are_labels(table, columns):
        return None
    mixed = any(column.missing.any() or column.kind in CODED for column in columns)
    return TableEncoder().fit(table) if mixed or len(columns) > 1 else None


def _fit_to_blocks(encoder: Any, y: LazyRows, labels: bool) -> TableEncoder | None:
    """Return an encoder fitted to a target that is read by blocks, if it needs one."""
    if y.whole is not None:
        # Rows of X and y that are read together have been encoded.
        return None if isinstance(y.encoder, LabelCodes) else y.encoder
    if not y.needs_encoding:
        return None
    columns = y.summarize()
    coded = [column.form.kind in CODED for column in columns]
    if labels or all(coded) or (any(coded) and set(y.kinds) <= set("Obiu")):
        return LabelCodes(max_categories=None)._fit_tables([y], ["y"])
    return None if encoder is None else TableEncoder()._fit_tables([y], ["y"])


def encode_target(
    encoder: Any, target_encoder: TableEncoder | None, y: Any, *, labels: bool
) -> Any:
    """Return y encoded, with a label for missing labels, or y itself."""
    table, columns = _read_target(encoder, y)
    if target_encoder is not None:
        return target_encoder.transform(y if table is None else table)
    missing = np.array([column.missing for column in columns]).T
    if not (missing.any() and (labels or _are_labels(table, columns))):
        return y
    values = _objects(table)
    values[missing] = MissingLabel.MISSING
    return values


def _are_labels(table: Any, columns: list[Column]) -> bool:
    """Return whether the known values are labels, as `target_kernel="auto"` says."""
    if not columns:
        return False
    values = _objects(table)
    coded = [column.kind in CODED for column in columns]
    missing = np.array([column.missing for column in columns])
    numbers = [values[~m, j] for j, m in enumerate(missing) if not coded[j]]
    if not all(map(are_integers, numbers)):
        return False
    known = ~missing.any(axis=0)
    return any(coded) or bool(np.any(known) and are_labels(values[known]))


def _objects(table: Any) -> np.ndarray:
    """Return the values of a table with their types, which arrays would not keep."""
    values = np.empty(table.shape, dtype=object)
    for j, column in enumerate(series_of(table)):
        values[:, j] = column.to_list()
    return values


def _read_target(encoder: Any, y: Any) -> tuple[Any, list[Column]]:
    """Return y as a table if it is one, and its columns if they may need an encoder."""
    if not is_table(y):
        column = len(getattr(y, "shape", ())) == 1 and hasattr(y, "to_frame")
        y = y.to_frame() if column else None
    reads = encoder is not None and needs_encoding(y)
    return y, read_columns(y, "y") if reads else []


__all__ = ["TableEncoder"]


make_public(__name__)
