"""Checks of the samples of an MMD."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from skdiscrepancy._data import (
    LazyRows,
    as_block,
    as_labels,
    as_rows,
    check_columns,
    check_rows,
    kind_of_blocks,
    lazy_rows,
    names_of,
    of_blocks,
    table_of,
    validate_rows,
)
from skdiscrepancy._engine import BRIEF, progress
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels import (
    IndicatorKernel,
    KernelLike,
    accept_sparse,
    sample_dtype,
)
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
