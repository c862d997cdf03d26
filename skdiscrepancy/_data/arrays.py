"""Validation of samples, numbers, labels and weights as arrays without missing values.

Labels of any type, and their integer codes. Also the target y.

The encoders of scikit-learn sort labels, so they do not accept strings together with
numbers. They also do not encode whole rows.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from decimal import Decimal
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
from narwhals.stable.v2.dependencies import is_into_dataframe
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_X_y, validate_data

from skdiscrepancy._data.checks import shown, warn_user


def is_a(X: Any, package: str, *names: str) -> bool:
    """Return whether data are of a class of a package that may not be installed."""
    # Who has a table of a package has imported the package.
    module = sys.modules.get(package)
    return isinstance(X, tuple(getattr(module, name, ()) for name in names))


def refuse_unreadable(X: Any, name: str) -> None:
    """Refuse blocks, masked entries, paths, images, and what is not computed yet."""
    refuse_blocks(X, name)
    refuse_masked(X, name)
    shape = getattr(X, "shape", None)
    if isinstance(X if shape != () else np.asarray(X).item(), (str, PathLike)):
        raise TypeError(
            f"{name} == {shown(X)}, must be an array or a table, not text. Read a file "
            "first, for example with pandas.read_csv or pandas.read_parquet."
        )
    if len(shape or ()) > 2:
        raise ValueError(
            f"{name} has shape {shape}, must have two dimensions. For images and other "
            f"arrays, pass {name}.reshape(len({name}), -1), one row for each."
        )
    if getattr(X, "requires_grad", False):
        raise TypeError(f"{name} is a tensor with a gradient. Pass {name}.detach().")
    if is_a(X, "polars", "LazyFrame"):
        raise TypeError(f"{name} is a polars LazyFrame. Call its method collect first.")


def kind_of_blocks(X: Any) -> str | None:
    """Return what kind of blocks of rows X has, None if X is data in one piece."""
    if isinstance(X, np.ndarray):
        return None
    if is_a(X, "dask.array", "Array"):
        return "a dask array"
    if is_a(X, "dask.dataframe", "DataFrame", "Series"):
        return "a dask DataFrame"
    if isinstance(X, (list, tuple)):
        shapes = [getattr(block, "shape", None) for block in X]
        blocks = all(isinstance(s, tuple) and len(s) == 2 for s in shapes)
        return "a list of blocks" if shapes and blocks else None
    if isinstance(X, Iterator):
        return "an iterator"
    function = callable(X) and not hasattr(X, "shape") and not isinstance(X, type)
    return "a function that returns blocks" if function else None


def is_on_disk(X: Any) -> bool:
    """Return whether an array is a memory map, or a view of a memory map."""
    while isinstance(X, np.ndarray) and not isinstance(X, np.memmap):
        X = X.base
    return isinstance(X, np.memmap)


def refuse_blocks(X: Any, name: str, why: str = "") -> None:
    """Refuse data in blocks where the rows must be in memory, and say why."""
    kind = kind_of_blocks(X)
    if kind == "an iterator":
        raise TypeError(
            f"{name} is an iterator ({type(X).__name__}), which can be read only once, "
            "but the rows are needed several times. Pass a function without arguments "
            "that returns a new iterator of blocks, such as `lambda: "
            "ParquetFile(path).iter_batches()`, or a list of blocks."
        )
    if kind is not None:
        raise ValueError(
            f"{name} is {kind}, must be an array or a table here. {why}If the rows fit "
            "into memory, pass an array. The user guide lists the functions that read "
            "data by blocks ('Which question takes which data')."
        )


class SparseRows:
    """Rows of a sparse sample, which have a length and are selected as in arrays."""

    ndim = 2

    def __init__(self, matrix: Any):
        self.matrix = matrix
        self.shape: tuple[int, int] = matrix.shape
        self.dtype: np.dtype = matrix.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> SparseRows:
        return SparseRows(self.matrix[index])

    def astype(self, dtype: Any, *, copy: bool = True) -> SparseRows:
        """Return the rows in another type."""
        return SparseRows(self.matrix.astype(dtype, copy=copy))

    @property
    def row_size(self) -> int:
        """Number of values that a row takes in memory, on average."""
        # A column number takes half of the memory of a value.
        return 1 + 3 * self.matrix.nnz // (2 * len(self))


def as_rows(X: Any) -> Any:
    """Return a sparse matrix as :class:`SparseRows`, and an array as it is.

    One column is returned as an array, because it is as small as a sparse column.
    """
    if not issparse(X):
        return X
    if X.shape[1] == 1:
        return X.toarray()
    # This does not copy the data.
    matrix = csr_array(X)
    if not matrix.has_canonical_format:
        # The matrix of the user must not change.
        matrix = matrix.copy()
        matrix.sum_duplicates()
    largest = np.iinfo(np.int32).max
    if matrix.indices.dtype != np.int32 and max(matrix.nnz, *matrix.shape) <= largest:
        # scikit-learn computes L1 distances for 32-bit column numbers only.
        parts = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
        matrix = csr_array((matrix.data, *parts), shape=matrix.shape)
    return SparseRows(matrix)


def as_block(rows: Any) -> Any:
    """Return rows as kernels read them: an array, or a matrix of scipy."""
    return rows.matrix if isinstance(rows, SparseRows) else rows


def read_only(A: Any, B: Any = None) -> Any:
    """Return one or two blocks that functions of the user cannot write into."""
    if issparse(A):
        view: Any = csr_array((read_only(A.data), A.indices, A.indptr), shape=A.shape)
    else:
        view = A.view()
        view.flags.writeable = False
    return view if B is None else (view, view if B is A else read_only(B))


def of_one_kind(*parts: Any) -> tuple[Any, ...]:
    """Return samples that are all sparse if one of them is, else as they are."""
    if not any(isinstance(part, SparseRows) for part in parts):
        return parts
    return tuple(SparseRows(csr_array(as_block(part))) for part in parts)


def inner_products(A: Any, B: Any) -> np.ndarray:
    """Compute the inner products of all rows of A with all rows of B."""
    products = A @ B.T
    return products.toarray() if issparse(products) else products


def aligned_products(A: Any, B: Any) -> np.ndarray:
    """Compute the inner product of row i of A with row i of B, for all i."""
    if issparse(A):
        return np.asarray(A.multiply(B).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, B)


def is_numeric(values: np.ndarray) -> bool:
    """Return whether all values are numbers, dates or durations.

    A column of objects needs values of one of these kinds; booleans are not numbers.
    """
    if values.dtype != object:
        return values.dtype.kind in "iufmM"
    for column in values.reshape(len(values), -1).T:
        if not any(all(map(kind, column)) for kind in (is_number, is_date, is_span)):
            return False
    return True


def too_large(name: str) -> ValueError:
    """Return the error for numbers that overflow a float."""
    what = "a number that is too large for floating point, must hold numbers below"
    return ValueError(f"{name} holds {what} 1e308. Rescale the data.")


def is_number(value: Any) -> bool:
    """Return whether a value is a number, a Decimal too, but not a bool."""
    # Python counts numpy durations as integers.
    other = isinstance(value, (bool, np.bool_)) or is_span(value)
    return isinstance(value, (Real, Decimal)) and not other


def is_date(value: Any) -> bool:
    """Return whether a value is a date, a time stamp or a period."""
    # pandas need not be installed, so we recognise its periods by a method.
    return isinstance(value, (date, np.datetime64)) or hasattr(value, "to_timestamp")


def is_span(value: Any) -> bool:
    """Return whether a value is a duration."""
    return isinstance(value, (timedelta, np.timedelta64))


def as_array(labels: Any, name: str) -> np.ndarray:
    """Return labels as an array that keeps the type of each label."""
    refuse_unreadable(labels, name)
    try:
        array = np.asarray(labels)
    except ValueError:
        lengths = "rows of different lengths, must have one length for all."
        raise ValueError(f"{name} has {lengths}") from None
    if array.dtype.kind in "US" and not hasattr(labels, "dtype"):
        # If a list has numbers and strings, numpy would turn the numbers into strings.
        array = np.asarray(labels, dtype=object)
    return array


def as_labels(labels: Any, name: str) -> np.ndarray:
    """Return labels of any type as a two-dimensional array."""
    labels = as_array(labels, name)
    if labels.ndim == 1:
        labels = labels[:, np.newaxis]
    if labels.ndim != 2 or labels.size == 0:
        must = "must have at least one row and one or two dimensions."
        raise ValueError(f"{name} has shape {labels.shape}, {must}")
    refuse_missing(labels, name)
    return labels


def refuse_masked(values: Any, name: str) -> None:
    """Raise an error for masked entries, because numpy would ignore the mask."""
    parts = values if isinstance(values, (list, tuple)) else [values]
    if any(isinstance(p, np.ma.MaskedArray) and np.ma.is_masked(p) for p in parts):
        raise ValueError(f"Input {name} contains masked entries, {_NOT_KNOWN}")


def has_missing(labels: np.ndarray) -> bool:
    """Return whether there is NaN, NaT, None or a missing value of pandas."""
    if labels.dtype == object:
        return any(map(is_missing, labels.ravel()))
    return bool(np.any(labels != labels))


def refuse_missing(labels: np.ndarray, name: str) -> None:
    """Raise an error for NaN, NaT, None and missing values of pandas."""
    if has_missing(labels):
        raise ValueError(f"Input {name} contains NaN, NaT or None, {_NOT_KNOWN}")


def encode_labels(*parts: np.ndarray) -> np.ndarray:
    """Return one integer for each row of the stacked parts, equal for equal rows."""
    if len({part.dtype.kind for part in parts}) > 1:
        # As objects, numbers and strings keep their types.
        parts = tuple(part.astype(object) for part in parts)
    labels = np.concatenate(parts)
    codes = np.zeros(len(labels), dtype=np.int64)
    for column in labels.T:
        if column.dtype != object:
            inverse = np.unique(column, return_inverse=True)[1]
        else:
            # Labels of several types can be hashed but not sorted.
            known: dict[Any, int] = {}
            try:
                inverse = np.array([known.setdefault(v, len(known)) for v in column])
            except TypeError as error:
                must = "each label must be hashable, like a string or number."
                raise TypeError(f"{error}; {must}") from error
        codes = codes * (inverse.max() + 1) + inverse
        codes = np.unique(codes, return_inverse=True)[1]
    return codes


def is_missing(label: Any) -> bool:
    """Return whether a value is NaN, NaT, None or a missing value of pandas."""
    try:
        return label is None or bool(label != label)
    except (ArithmeticError, TypeError, ValueError):
        # The missing value of pandas has no truth value, and a signalling NaN of
        # Decimal cannot be compared.
        return True


FLOATS = [np.float64, np.float32]
# Beginnings of the names of date and duration types in pandas, polars and arrow.
DATE_TYPES = ("date", "time", "period", "duration")
_NOT_KNOWN = "which are missing values. All values must be known."
_HOW_TO_ENCODE = (
    "Encode the data with TableEncoder() from skdiscrepancy.tables, which MMD and HSIC "
    "also take as the parameter `encoder`"
)


def check_rows(
    X: Any, name: str = "X", *, estimator: Any = None, **options: Any
) -> np.ndarray:
    """Return a sample as a float64 array, or as float32 if it is float32 already.

    An `estimator` stores the number and names of the columns, or compares them with
    ``reset=False``, and `options` are those of :func:`sklearn.utils.check_array`.
    """
    options = {"dtype": FLOATS, **options}
    with readable(X, name, options["dtype"]):
        if estimator is not None:
            found = validate_data(estimator, X, **options)
        elif "y" in options:
            found = check_X_y(X, **options)
        else:
            found = check_array(X, input_name=name, **options)
    rows: Any = (as_rows(found[0]), found[1]) if "y" in options else as_rows(found)
    return rows


def check_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Store the number and names of the columns, or compare them with the stored ones.

    The values are not read, so a table may hold anything.
    """
    if isinstance(X, (list, tuple)) and not len(X):
        raise ValueError("X has 0 rows, must have at least one.")
    refuse_unreadable(X, "X")
    unique_names(X, "X")
    validate_data(estimator, X, reset=reset, skip_check_array=True)


@contextmanager
def readable(X: Any, name: str, dtype: Any) -> Iterator[None]:
    """Raise an error for data that scikit-learn would misread, or cannot read.

    The allowed `dtype` is None for labels of any type.
    """
    # Arrays of numbers are the usual case.
    if type(X) is not np.ndarray or X.dtype.kind not in "fiub" or X.ndim != 2:
        refuse_unreadable(X, name)
        unique_names(X, name)
        if dtype is not None:
            _refuse_dates(X, name)
    try:
        # The sum by which scikit-learn looks for NaN overflows for the largest floats.
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except (OverflowError, TypeError, ValueError) as error:
        _explain(error, X, name, dtype)
        raise


# What to do, by words of an error of scikit-learn.
REMEDIES = {
    "inconsistent numbers of samples": ". y must have one value for each row of X. To "
    "compare two samples, call mmd_test(X, Y).",
    "1 sample(s)": " To compare one row with a sample by MMD, call "
    "MMDEstimator().fit(sample).contributions(row).",
}


def _explain(error: Exception, X: Any, name: str, dtype: Any) -> None:
    """Raise a clearer error than scikit-learn and numpy, if there is one."""
    text, names = str(error), names_of(X)
    if isinstance(error, OverflowError):
        raise too_large(name) from None
    for words, remedy in REMEDIES.items():
        if words in text:
            raise ValueError(text + remedy) from None
    if dtype is None and names and isinstance(error, TypeError):
        for _, values in _columns_of(X):
            refuse_missing(values, name)
        raise ValueError(
            f"{name} has columns of the types {list(map(str, _types_of(X)))}, must "
            "have types that fit into one array. Convert dates to strings for a kernel "
            "on labels."
        ) from None
    ragged = "inhomogeneous" in text
    if not (dtype is None or hasattr(X, "dtype") or names or ragged):
        _refuse_dates(np.asarray(X, dtype=object), name)
    of_missing = f"Input {name} contains NaN" in text or "NAType" in text
    missing = [c for c, Z in _columns_of(X) if has_missing(Z)] if of_missing else []
    if missing:
        several = f"the columns {shown(missing)}"
        where = several if len(missing) > 1 else f"column {missing[0]!r}"
        raise ValueError(
            f"Input {name} contains NaN in {where}. NaN is a missing value, and all "
            f"values must be known. {_HOW_TO_ENCODE}, drop the rows with missing "
            "values, or impute them."
        ) from None
    if ragged:
        raise ValueError(
            f"{name} has rows of different lengths, or rows that hold lists, must have "
            "one length for all rows, and one value in each column."
        ) from None
    if "contains infinity" in text:
        for column, values in _columns_of(X):
            with np.errstate(over="ignore"):
                infinite = np.isinf(values.astype(np.float64))
            if np.any(infinite):
                # The first words are from scikit-learn.
                raise ValueError(
                    f"Input {name} contains infinity or a value too large for floating "
                    f"point ({values[infinite][0]}) in column {column!r}. All values "
                    "must be finite."
                ) from None
    # The other words are of pandas, about categories that are strings.
    of_text = ("could not convert string", "Cannot cast str", "Cannot cast object")
    if dtype is not None and any(words in text for words in of_text):
        where = ""
        for column, values in _columns_of(X):
            try:
                values.astype(np.float64)
            except (TypeError, ValueError):
                where = f" in column {column!r}"
                break
        raise ValueError(
            f"{name} has text{where} ({error}), must have numbers. {_HOW_TO_ENCODE}, "
            "or pass kernel='indicator' to MMD or HSIC if all columns are categorical."
        ) from None


def names_of(X: Any) -> list[Any]:
    """Return the column names of a table, or an empty list for other data."""
    # Arrays are the usual case.
    array = isinstance(X, np.ndarray)
    if array or not (is_into_dataframe(X) or is_a(X, "dask.dataframe", "DataFrame")):
        return []
    # In arrow tables, `columns` holds the data instead of the names.
    return list(X.column_names if is_a(X, "pyarrow", "Table") else X.columns)


def unique_names(X: Any, name: str) -> list[Any]:
    """Return the column names of a table, and refuse two columns of one name."""
    names = names_of(X)
    if len(set(names)) < len(names):
        raise ValueError(f"{name} has the columns {shown(names)}, must have each once.")
    return names


def _types_of(X: Any) -> list[Any]:
    """Return the types of the columns of a table."""
    return list(X.schema.types if is_a(X, "pyarrow", "Table") else X.dtypes)


def _columns_of(X: Any) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield the columns of a table or an array, by their names or positions."""
    names = names_of(X)
    if names:
        for column in names:
            yield column, np.asarray(X[column])
    elif isinstance(X, (np.ndarray, list, tuple)) and np.ndim(X) == 2:
        yield from enumerate(np.asarray(X, dtype=getattr(X, "dtype", object)).T)


def _refuse_dates(X: Any, name: str) -> None:
    """Raise an error if a column of a table, or an array, has dates or durations."""
    columns: Any = []
    if names := names_of(X):
        pairs = zip(names, _types_of(X), strict=True)
        columns = [(f"column {c!r} of type {kind}", kind, X[c]) for c, kind in pairs]
    elif hasattr(X, "dtype"):
        typed = getattr(X.dtype, "kind", "") in ("m", "M")
        columns = [(f"the type {X.dtype}" if typed else "dates", X.dtype, X)]
    for what, kind, values in columns:
        if not str(kind).lower().startswith(DATE_TYPES):
            objects = getattr(kind, "kind", "") == "O"
            items = np.asarray(values).ravel() if objects else ()
            if not any(is_date(item) or is_span(item) for item in items):
                continue
        if has_missing(np.asarray(values)):
            found = f"Input {name} contains NaN, NaT or None, which are missing values"
            raise ValueError(f"{found}, beside dates or durations. {_HOW_TO_ENCODE}.")
        raise ValueError(
            f"{name} has {what}, must have numbers. {_HOW_TO_ENCODE}, or convert dates "
            "and durations to numbers first, for example to seconds since the first "
            "date."
        )


# Integers with at most this many distinct values count as labels.
MAX_LABELS = 20
AS_LABELS = "To use numbers as labels, set target_kernel='indicator'."


def validate_with_target(estimator: Any, X: Any, y: Any, **options: Any) -> Any:
    """Validate X and y like scikit-learn, but keep the type of labels.

    If `estimator` is None, feature names are neither checked nor stored.
    """
    if issparse(y):
        raise TypeError("y is a sparse matrix, must be dense.")
    if y is not None:
        # Afterwards, scikit-learn turns nullable integers and booleans into floats.
        y = as_array(y, "y")
        refuse_missing(y, "y")
    return check_rows(X, estimator=estimator, y=y, multi_output=True, **options)


def warn_of_other_index(X: Any, y: Any, name: str = "y") -> None:
    """Warn if X and y are of pandas, and the labels of their rows differ."""
    kinds = "DataFrame", "Series"
    both = is_a(X, "pandas", *kinds) and is_a(y, "pandas", *kinds)
    if both and len(X) == len(y) and not X.index.equals(y.index):
        warn_user(
            f"The index of {name} is not the index of X. Rows are compared by their "
            f"position. If they are in another order, pass {name}.loc[X.index]. If the "
            f"order is right, pass {name}.to_numpy()."
        )


def tag_target(tags: Any) -> Any:
    """Set the tags that y is required and may have several columns."""
    for name in ("required", "multi_output", "two_d_labels"):
        setattr(tags.target_tags, name, True)
    return tags


def are_labels(y: np.ndarray) -> bool:
    """Return whether y holds labels, as `target_kernel="auto"` defines them."""
    if not is_numeric(y):
        return True
    if not are_integers(y):
        return False
    n_labels = count_labels(y)
    # If all labels are different, they carry no information, but numbers may.
    return n_labels <= MAX_LABELS and n_labels < len(y)


def count_labels(y: np.ndarray, name: str = "y") -> int:
    """Return the number of distinct rows."""
    try:
        return int(encode_labels(y.reshape(len(y), -1)).max()) + 1
    except TypeError as error:
        raise TypeError(f"{name} has labels that cannot be compared: {error}") from None


def refuse_different_labels(y: np.ndarray, name: str = "y") -> None:
    """Raise an error if all labels are different and so carry no information."""
    if count_labels(y, name) == len(y):
        raise ValueError(
            f"{name} holds {len(y)} labels that are all different, so they carry no "
            f"information. {name} must hold numbers, or labels that occur more than "
            "once."
        )


def refuse_numbers_among_labels(
    y: np.ndarray, name: str = "y", remedy: str = AS_LABELS
) -> None:
    """Raise an error for columns of numbers beside columns of labels.

    If the numbers were labels, no two rows would be equal.
    """
    for j, column in enumerate(y.T if y.ndim > 1 and y.dtype == object else ()):
        if is_numeric(column) and not are_integers(column):
            what = "holds numbers and another one labels, must be of one kind."
            raise ValueError(f"Column {j} of {name} {what} {remedy}")


def are_integers(y: np.ndarray) -> bool:
    """Return whether all values have the type of an integer."""
    if y.dtype != object:
        return y.dtype.kind in "iu"
    # Python counts numpy durations as integers.
    return all(isinstance(v, Integral) and not is_span(v) for v in y.ravel())


def check_weights(
    sample_weight: Any, n: int, least: int, name: str = "sample_weight"
) -> np.ndarray:
    """Return the weights of n rows, which sum to one, `least` of them positive."""
    try:
        weights = check_rows(sample_weight, name, ensure_2d=False, dtype=np.float64)
    except (TypeError, ValueError) as error:
        if name in str(error) and " text" not in str(error):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        must = f"must be an array of {n} numbers >= 0."
        raise kind(f"{name} == {shown(sample_weight)}, {must}") from error
    if weights.shape != (n,):
        raise ValueError(f"{name} has shape {weights.shape}, must have {(n,)}.")
    largest = weights.max()
    # The sum of very large weights overflows.
    weights = weights / largest if largest > 0 else weights
    below, above = np.count_nonzero(weights < 0), np.count_nonzero(weights > 0)
    if below or above < least:
        zero = "" if below or above else " All weights are zero."
        raise ValueError(
            f"{name} has {below} negative and {above} positive weights, must have none "
            f"and at least {least}, respectively.{zero}"
        )
    return weights / weights.sum()


def n_rows(X: Any) -> int | None:
    """Return the number of rows of data that are not validated, None without rows."""
    shape = getattr(X, "shape", None)
    if shape is None and not isinstance(X, str):
        shape = (len(X),) if hasattr(X, "__len__") else np.asarray(X).shape
    return int(shape[0]) if shape else None


def rows_with_weight(X: Any, weights: np.ndarray) -> Any:
    """Return the rows of a sample, not validated, that have a positive weight.

    A sample whose rows all have a weight is not copied.
    """
    return X if np.all(weights > 0) else take_rows(X, np.flatnonzero(weights))


def take_rows(X: Any, some: np.ndarray) -> Any:
    """Return some rows of a sample, not validated, as a sample of its type."""
    if isinstance(X, (list, tuple)):
        return [X[i] for i in some]
    if is_a(X, "pyarrow", "Table"):
        return X.take(some)
    rows = X.tocsr() if issparse(X) else getattr(X, "iloc", X)
    return rows[some] if hasattr(rows, "__getitem__") else np.asarray(X)[some]


def other_weights(weights: np.ndarray) -> np.ndarray:
    """Return the sum of all other weights for each row."""
    others = weights.sum() - weights
    largest = int(np.argmax(weights))
    if weights[largest] > others[largest]:
        # The difference loses digits if one row has almost all weight.
        others[largest] = weights[:largest].sum() + weights[largest + 1 :].sum()
    return others


def effective_size(weights: np.ndarray) -> float:
    """Return the effective number of rows, (sum w_i)^2 / sum w_i^2.

    It is the number of equally weighted rows with the same variance of the mean.
    """
    return float(weights.sum() ** 2 / (weights @ weights))
