"""How the estimators read samples, targets and weights."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from skdiscrepancy._data.arrays import (
    as_block,
    as_labels,
    as_numbers,
    as_rows,
    check_columns,
    check_rows,
    encode_labels,
    is_numeric,
    kind_of_blocks,
    names_of,
    validate_rows,
)
from skdiscrepancy._data.blocks import (
    LazyRows,
    distinct_rows,
    lazy_pair,
    lazy_rows,
    of_blocks,
    table_of,
)
from skdiscrepancy._data.targets import MAX_LABELS, are_labels, refuse_different_labels
from skdiscrepancy._gram.run import BRIEF, progress
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels._base import KernelLike, accept_sparse
from skdiscrepancy.kernels._labels import IndicatorKernel, sample_dtype
from skdiscrepancy.kernels._names import choose_target_kernels
from skdiscrepancy.tables import encode, fit_encoder, layout_of


def least_rows(design: Design) -> int:
    """Return the smallest number of rows that the statistic of a design needs."""
    return 1 if design.biased else 2


def read_blocks(
    Z: Any,
    name: str,
    kernels: list[KernelLike],
    least: int,
    n_components: int | None,
    verbose: int = 0,
) -> Any:
    """Return data in blocks as rows that are read by blocks, and other data unchanged.

    Parameters
    ----------
    Z : object
        Sample, not validated.
    name : str
        Name of the sample, for error messages.
    kernels : list of kernel objects
        Kernels.
    least : int
        Smallest number of rows.
    n_components : int or None
        Number of random features. Exact kernels need all rows in memory.
    verbose : int, default=0
        Whether the progress is shown.

    Returns
    -------
    Z : object
        LazyRows, or the sample itself.
    """
    kind = "read by blocks" if isinstance(Z, LazyRows) else kind_of_blocks(Z)
    labels = any(isinstance(kernel, IndicatorKernel) for kernel in kernels)
    if kind is None:
        # Integers on disk would become floats in memory.
        disk = isinstance(Z, np.memmap) and Z.ndim == 2 and Z.dtype.kind in "iub"
        if not disk or labels or n_components is None:
            return Z
        return of_blocks(Z, name)
    if n_components is None and kind != "an iterator":
        raise ValueError(
            f"n_components == None, must be an integer such as 256, because {name} is "
            f"{kind}, and exact kernels need all rows in memory. If the rows fit into "
            "memory, pass an array."
        )
    if labels:
        raise ValueError(
            f"{name} is {kind}, must be an array or a table for an IndicatorKernel, "
            "which needs all rows in memory."
        )
    watch = partial(progress, "blocks", verbose=verbose, delay=BRIEF)
    return lazy_rows(Z, name, least, watch if verbose else None)


def reference_rows(estimator: Any) -> Any:
    """Return the rows of the reference sample of a fitted estimator."""
    return read_blocks(
        as_rows(estimator.reference_),
        "the reference sample",
        estimator.kernels_,
        1,
        estimator.n_components,
    )


def as_sample(
    Z: Any,
    name: str,
    kernels: list[KernelLike],
    least: int,
    n_components: int | None = None,
) -> Any:
    """Return a sample as the kernels read it, without a check of column names."""
    Z = read_blocks(Z, name, kernels, least, n_components)
    if isinstance(Z, LazyRows):
        return Z
    Z = check_rows(Z, name, **_options(Z, name, kernels, least))
    return Z if Z.dtype.kind == "f" else as_labels(Z, name)


def samples_to_test(
    estimator: Any, X: Any, Y: Any, kernels: list[KernelLike], least: int
) -> tuple[Any, Any, Any]:
    """Return the reference sample, another sample, and the layout of their columns.

    Parameters
    ----------
    estimator : MMDEstimator
        Fitted estimator.
    X : object
        The other sample, not validated.
    Y : ndarray or rows
        The other sample, validated.
    kernels : list of kernel objects
        Kernels of the parameter `kernel`. `set_params` may have changed them, and so
        the types they read.
    least : int
        Smallest number of rows.

    Returns
    -------
    reference, sample, layout : tuple
        With an encoder, both samples are encoded anew, because permutations must not
        change the encoding.
    """
    if estimator.encoder_ is None:
        reference, sample = (
            as_sample(as_block(rows), name, kernels, least, estimator.n_components)
            for rows, name in ((reference_rows(estimator), "reference_"), (Y, "X"))
        )
        return reference, sample, table_of(X)
    tables = [estimator._reference_table, X]
    encoder = fit_encoder(estimator.encoder, tables)
    reference, sample = (
        as_sample(encode(encoder, table), "X", kernels, least) for table in tables
    )
    return reference, sample, layout_of(encoder, X)


def refuse_other_columns(names: Any, Y: Any, name: str = "Y") -> None:
    """Refuse a second sample whose columns have other names than those of X.

    If only one of the samples has names, columns are compared by their position.

    Parameters
    ----------
    names : ndarray of str or None
        Names of the columns of X, if X has names.
    Y : object
        Second sample, with as many columns.
    name : str, default="Y"
        Name of the second sample, for the error message.
    """
    second = BaseEstimator()
    check_columns(second, table_of(Y), reset=True)
    names_of_y = getattr(second, "feature_names_in_", None)
    if names is None or names_of_y is None or np.array_equal(names, names_of_y):
        return
    raise ValueError(
        f"{name} has the columns {_shortened(names_of_y)}, and X has the columns "
        f"{_shortened(names)}. The columns of {name} should be those of X, in the same "
        f"order. For DataFrames of the same columns, select [X.columns] from {name}."
    )


def refuse_other_tables(X: Any, Y: Any, name: str = "Y") -> None:
    """Refuse two tables with different columns, before they are encoded together."""
    if names_of(X) and names_of(Y):
        first = BaseEstimator()
        check_columns(first, X, reset=True)
        refuse_other_columns(getattr(first, "feature_names_in_", None), Y, name)


def _shortened(names: np.ndarray, most: int = 10) -> str:
    """Return a list of names as text, without the last of many names."""
    text = ", ".join(repr(str(name)) for name in names[:most])
    return f"[{text}{', ...' if len(names) > most else ''}]"


def validate_sample(
    estimator: Any, X: Any, kernels: list[KernelLike], *, reset: bool, least: int
) -> Any:
    """Return a sample as the kernels read it, with a check of its columns."""
    X = read_blocks(X, "X", kernels, least, estimator.n_components, estimator.verbose)
    if isinstance(X, LazyRows):
        encode(estimator.encoder_, X)
        check_columns(estimator, X.header, reset=reset)
        return X
    if estimator.encoder_ is not None:
        check_columns(estimator, X, reset=reset)
        return as_sample(encode(estimator.encoder_, X), "X", kernels, least)
    options = _options(X, "X", kernels, least)
    X = validate_rows(estimator, X, reset=reset, **options)
    return X if X.dtype.kind == "f" else as_labels(X, "X")


def validate_pair(
    estimator: Any,
    X: Any,
    Y: Any,
    kernels: list[KernelLike],
    least: int,
    name: str = "Y",
) -> tuple[np.ndarray, np.ndarray]:
    """Return two samples with the same columns, as the encoder encodes them."""
    X = validate_sample(estimator, X, kernels, reset=True, least=least)
    names = getattr(estimator, "feature_names_in_", None)
    values = as_sample(
        encode(estimator.encoder_, Y), name, kernels, least, estimator.n_components
    )
    if values.shape[1] != X.shape[1]:
        raise ValueError(
            f"{name} has {values.shape[1]} features, must have {X.shape[1]} as X."
        )
    refuse_other_columns(names, Y, name)
    return X, values


def _options(
    Z: Any, name: str, kernels: list[KernelLike], least: int
) -> dict[str, Any]:
    """Return the options of :func:`sklearn.utils.check_array` for a sample."""
    return {
        "dtype": sample_dtype(kernels),
        "ensure_min_samples": least,
        "accept_sparse": accept_sparse(Z, name, kernels),
    }


def refuse_second_sample(X: Any, y: Any) -> None:
    """Refuse a second sample passed as `y`, which would be ignored.

    If X has several columns, a `y` of a single column passes, because some pipelines
    store labels in this form.

    Parameters
    ----------
    X : object
        Sample, not validated.
    y : object
        Labels or None.
    """
    if y is None:
        return
    n_given = n_columns(y)
    if n_given is None or (n_given == 1 and n_columns(X) != 1):
        return
    raise ValueError(
        f"y has {n_given} column{'s' * (n_given != 1)}, must be None or a "
        "one-dimensional array of labels. `y` is ignored and not compared with X. To "
        "compare two samples, call mmd_score(X, Y) or mmd_test(X, Y), or call fit(X) "
        "and then score(Y) or test(Y)."
    )


def refuse_weighted_reference(weights: np.ndarray | None) -> None:
    """Refuse a test against a reference sample whose rows have weights."""
    if weights is not None:
        raise ValueError(
            "A test needs a reference sample without weights, and `fit` was called "
            "with sample_weight. Rows of different weights are not exchangeable, so "
            "their permutations do not have the distribution of the statistic under "
            "the null hypothesis. Call fit(X) without sample_weight."
        )


def n_columns(Z: Any) -> int | None:
    """Return the number of columns, or None if Z has fewer than two dimensions."""
    shape = getattr(Z, "shape", None)
    if shape is None:
        try:
            shape = np.asarray(Z).shape
        except ValueError:
            # Rows of different lengths are not a sample.
            return None
    return int(np.prod(shape[1:])) if len(shape) > 1 else None


def least_pairs(design: Design) -> int:
    """Return the smallest number of rows that the statistic of a design needs."""
    return 2 if design.biased else 4


def read_pair(
    estimator: Any, X: Any, y: Any, kernels: list[KernelLike], least: int
) -> tuple[Any, Any]:
    """Return X and y as rows that are read by blocks, if one of them is in blocks.

    Parameters
    ----------
    estimator : HSICEstimator
        Estimator, whose parameters are checked.
    X, y : object
        Samples, not validated.
    kernels : list of kernel objects
        Kernels on X.
    least : int
        Smallest number of rows.

    Returns
    -------
    X, y : object
        Two samples of LazyRows, or the samples themselves.
    """
    if isinstance(X, LazyRows) and isinstance(y, LazyRows):
        return X, y
    of_x = kind_of_blocks(X)
    kinds = {"X": of_x, "y": _kind_of_target(y, blocks=of_x is not None)}
    given = [(name, kind) for name, kind in kinds.items() if kind is not None]
    if not given:
        return X, y
    name, kind = given[0]
    if estimator.n_components is None:
        raise ValueError(
            f"n_components == None, must be an integer such as 256, because {name} is "
            f"{kind}, and exact kernels need all rows in memory. If the rows fit into "
            "memory, pass an array."
        )
    if any(isinstance(kernel, IndicatorKernel) for kernel in kernels):
        raise ValueError(
            f"{name} is {kind}, must be an array or a table for an IndicatorKernel on "
            "X, which needs all rows in memory."
        )
    if not (estimator.encoder is None or isinstance(estimator.encoder, str)):
        raise ValueError(
            f"encoder == {estimator.encoder!r}, must be None or 'auto' for data that "
            "are read by blocks. The columns must be numbers, because no encoder sees "
            "all rows."
        )
    return pair_of_rows(X, y, least, estimator.verbose)


def pair_of_rows(X: Any, y: Any, least: int, verbose: int = 0) -> tuple[Any, Any]:
    """Return X and y as rows that are read by blocks."""
    watch = partial(progress, "blocks", verbose=verbose, delay=BRIEF)
    kinds = None
    if _kind_of_target(y, blocks=kind_of_blocks(X) is not None) is None:
        y, kinds = _numbers(y)
    rows = lazy_pair(X, y, ("X", "y"), least, watch if verbose else None)
    if kinds is not None:
        rows[1].kinds = kinds
    return rows


def _kind_of_target(y: Any, *, blocks: bool) -> str | None:
    """Return what kind of blocks y has, None if y is in memory.

    A list of arrays of one dimension is blocks of a single column if X is in `blocks`,
    and rows of several columns otherwise.
    """
    if blocks and isinstance(y, (list, tuple)) and len(y):
        shapes = [getattr(block, "shape", ()) for block in y]
        return "a list of blocks" if all(shapes) else None
    return None if y is None else kind_of_blocks(y)


def _numbers(y: Any) -> tuple[Any, str]:
    """Return a target in memory as numbers, and the kind of its type.

    Labels become integers, equal for equal labels.
    """
    values = as_labels(y, "y")
    if not is_numeric(values):
        refuse_different_labels(values)
        return encode_labels(values)[:, np.newaxis], "b"
    return (values, "i") if are_labels(values) else (as_numbers(values, "y"), "f")


def lazy_target_kernels(
    target_kernel: Any, y: LazyRows, kernels: list[KernelLike]
) -> list[Any]:
    """Return the kernels on y, as :func:`choose_target_kernels` for rows in memory."""
    labels = set(y.kinds) <= set("biu")
    if labels:
        found = distinct_rows(y, MAX_LABELS)
        labels = found is not None and len(found[0]) < len(y)
        labels |= set(y.kinds) == {"b"}
    # Any labels, or any numbers, of the right kind.
    example = np.array([["a"], ["a"]]) if labels else np.array([[0.5], [1.5]])
    return choose_target_kernels(target_kernel, example, kernels)


def validate_lazy_pair(
    estimator: Any, X: LazyRows, y: LazyRows, *, reset: bool
) -> tuple[Any, Any]:
    """Check the columns of X and y."""
    for encoder in (estimator.encoder_, estimator.target_encoder_):
        if encoder is not None:
            raise ValueError(
                "X or y is read by blocks, must be a table in memory, because `fit` "
                f"has fitted {encoder!r} to a table with categories or missing values."
            )
    check_columns(estimator, X.header, reset=reset)
    if not reset and y.shape[1] != estimator.n_targets_in_:
        raise ValueError(
            f"y has {y.shape[1]} columns, must have {estimator.n_targets_in_} as in "
            "fit."
        )
    return X, y
