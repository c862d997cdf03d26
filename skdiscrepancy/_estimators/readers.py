"""How every question reads samples, targets and weights."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from skdiscrepancy._data.arrays import (
    MAX_LABELS,
    are_labels,
    as_labels,
    check_columns,
    check_rows,
    encode_labels,
    is_numeric,
    is_on_disk,
    kind_of_blocks,
    names_of,
    refuse_different_labels,
    unique_names,
    validate_with_target,
)
from skdiscrepancy._data.blocks import (
    LazyRows,
    distinct_rows,
    lazy_pair,
    lazy_rows,
    open_rows,
    table_of,
    views_of,
)
from skdiscrepancy._data.checks import warn_user
from skdiscrepancy._data.frames import Layout, as_numbers, as_table, needs_encoding
from skdiscrepancy._gram.run import BRIEF, progress
from skdiscrepancy.kernels._base import (
    IndicatorKernel,
    KernelLike,
    PrecomputedKernel,
    accept_sparse,
    sample_dtype,
)
from skdiscrepancy.kernels._names import choose_target_kernels
from skdiscrepancy.tables import encode, encode_target, fit_encoder, fit_target_encoder


@dataclass
class Reader:
    """Reads samples as kernels need them: arrays, tables, sparse data and blocks.

    Attributes
    ----------
    kernels : list of kernel objects or None
        Kernels that read the samples. None reads any numbers.
    least : int
        Smallest number of rows.
    encoder : "auto", None or transformer
        How to encode tables.
    estimator : estimator or None
        Stores the number and names of the columns. If it has `n_components`, data may
        be in blocks.
    dense : bool
        Whether samples must not be sparse.
    encoder_ : transformer or None
        The fitted encoder.
    """

    kernels: list[KernelLike] | None
    least: int = 1
    encoder: Any = None
    estimator: Any = None
    dense: bool = False
    encoder_: Any = None

    def blocks(self, Z: Any, name: str = "X") -> Any:
        """Return data in blocks as rows that are read by blocks, and others as is."""
        # Arrays are the usual case.
        if type(Z) is np.ndarray or not hasattr(self.estimator, "n_components"):
            return Z
        kind = "read by blocks" if isinstance(Z, LazyRows) else kind_of_blocks(Z)
        if kind is None:
            # Integers on disk would become floats in memory.
            disk = isinstance(Z, np.memmap) and Z.ndim == 2 and Z.dtype.kind in "iub"
            exact = self.kernels is None or self.estimator.n_components is None
            in_memory = not disk or exact or self._has_labels
            return Z if in_memory else lazy_rows(Z, name)
        self._refuse_in_memory(name, kind)
        return open_rows(Z, name)

    def pair_of_blocks(
        self, X: Any, y: Any, labels: bool, *, fit: bool, target_encoder: Any = None
    ) -> tuple[Any, Any]:
        """Return X and y as rows that are read by blocks, if one is in blocks."""
        if isinstance(X, LazyRows) and isinstance(y, LazyRows):
            return X, y
        of_x = kind_of_blocks(X)
        of_y = _kind_of_target(y, blocks=of_x is not None)
        name, kind = ("y", of_y) if of_x is None else ("X", of_x)
        if kind is None:
            return X, y
        self._refuse_in_memory(name, kind, " on X")

        def encoded(x: LazyRows, z: LazyRows) -> list[LazyRows]:
            own = target_encoder
            if fit:
                self.fit([x])
            if fit or (labels and own is None):
                own = fit_target_encoder(self.encoder, z, labels=labels)
            return [encode(self.encoder_, x), encode(own, z)]

        return pair_of_rows(X, y, self.least, self._watch, encoded)

    def _refuse_in_memory(self, name: str, kind: str, where: str = "") -> None:
        """Refuse data in blocks for kernels that need all rows in memory."""
        if self.estimator.n_components is None and kind != "an iterator":
            raise ValueError(
                f"n_components == None, must be an integer such as 256, because {name} "
                f"is {kind}, and exact kernels need all rows in memory. If the rows "
                "fit into memory, pass an array."
            )
        if self._has_labels:
            raise ValueError(
                f"{name} is {kind}, must be an array or a table for an "
                f"IndicatorKernel{where}, which needs all rows in memory."
            )

    @property
    def _has_labels(self) -> bool:
        return any(isinstance(kernel, IndicatorKernel) for kernel in self.kernels or ())

    @property
    def _watch(self) -> Any:
        verbose = self.estimator.verbose
        watch = partial(progress, "blocks", verbose=verbose, delay=BRIEF)
        return watch if verbose else None

    def fit(self, tables: list[Any], names: Sequence[str] = ("X", "Y")) -> Any:
        """Fit the encoder to the rows of all tables, if they need one; return it."""
        self.encoder_ = None
        # Kernels on labels, or on positions in a matrix, read columns themselves.
        own = self.kernels is not None and sample_dtype(self.kernels) is None
        own |= any(isinstance(k, PrecomputedKernel) for k in self.kernels or ())
        own |= all(type(table) is np.ndarray for table in tables)
        if not (isinstance(self.encoder, str) and own):
            self.encoder_ = fit_encoder(self.encoder, tables, names)
        return self.encoder_

    def rows(self, Z: Any, name: str = "X", *, reset: bool | None = None) -> np.ndarray:
        """Return a sample as the kernels read it; `reset` stores its columns."""
        Z = self.blocks(Z, name)
        lazy = isinstance(Z, LazyRows)
        if reset is not None and (lazy or self.encoder_ is not None):
            check_columns(self.estimator, table_of(Z), reset=reset)
            reset = None
        if self.encoder_ is not None:
            Z = encode(self.encoder_, Z)
        if lazy:
            Z = lazy_rows(Z, name, self.least, self._watch)
            return Z
        options = self._options(Z, name)
        if reset is None:
            rows = check_rows(Z, name, **options)
        else:
            rows = check_rows(Z, estimator=self.estimator, reset=reset, **options)
        return rows if rows.dtype.kind == "f" else as_labels(rows, name)

    def target(self, y: Any, *, labels: bool) -> Any:
        """Return y with missing values encoded, as `labels` if kernels read them."""
        fitted = fit_target_encoder(self.encoder, y, labels=labels)
        return encode_target(self.encoder, fitted, y, labels=labels)

    def rows_with_target(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        """Return X as the kernels read it, and y as an array of numbers or labels."""
        owner, own = self.estimator, {"reset": reset}
        if self.encoder_ is not None:
            check_columns(owner, X, reset=reset)
            X, owner, own = encode(self.encoder_, X), None, {}
        column = getattr(X, "shape", ())[1:] == (1,) and getattr(y, "ndim", 1) == 2
        if column and _holds_labels(X, y):
            warn_user("X has labels, which are compared as numbers. Swap X and y?")
        X, y = validate_with_target(owner, X, y, **self._options(X, "X"), **own)
        return X if X.dtype.kind == "f" else as_labels(X, "X"), y

    def together(
        self, tables: Sequence[Any], names: Sequence[str] = ("X", "Y")
    ) -> list[np.ndarray]:
        """Return samples with the same columns, encoded by the rows of all of them."""
        for table, name in zip(tables[1:], names[1:], strict=True):
            refuse_target(tables[0], table, names[0], name)
            # Without names, columns are compared by their position.
            if type(tables[0]) is not np.ndarray and type(table) is not np.ndarray:
                refuse_other_columns(tables[0], table, names[0], name)
        self.fit(list(tables), names)
        reset = None if self.estimator is None else True
        samples = [self.rows(tables[0], names[0], reset=reset)]
        size = samples[0].shape[1]
        for table, name in zip(tables[1:], names[1:], strict=True):
            samples.append(self.rows(table, name))
            if (found := samples[-1].shape[1]) != size:
                raise ValueError(
                    f"{name} has {found} features, must have {size} as {names[0]}."
                )
        return samples

    def _options(self, Z: Any, name: str) -> dict[str, Any]:
        """Return the options of :func:`sklearn.utils.check_array` for a sample."""
        options: dict[str, Any] = {"ensure_min_samples": self.least}
        if self.kernels is not None:
            options["dtype"] = sample_dtype(self.kernels)
            if not self.dense and type(Z) is not np.ndarray:
                options["accept_sparse"] = accept_sparse(Z, name, self.kernels)
        return options


def layout_of(encoder: Any, X: Any) -> Any:
    """Return where the columns of a table stand after encoding, for kernels.

    The columns of other transformers than a TableEncoder are the columns that come out.
    """
    if isinstance(X, LazyRows):
        X = X.header
    if encoder is None:
        return X
    if hasattr(encoder, "output_slices_"):
        blocks = [list(range(s.start, s.stop)) for s in encoder.output_slices_]
        return Layout(names_of(X), blocks, X)
    try:
        names = list(encoder.get_feature_names_out())
    except (AttributeError, NotImplementedError, ValueError):
        return None
    return Layout(names, [[j] for j in range(len(names))])


def refuse_target(X: Any, y: Any, first: str, name: str) -> None:
    """Refuse a target in place of a second sample, and warn if y may be a target."""
    remedy = (
        f"If {name} has a target or a label for each row of {first}, call "
        "hsic_test(X, y) or k_sample_test(X, groups=labels)."
    )
    shapes: list[Any] = [getattr(Z, "shape", ()) for Z in (X, y)]
    if shapes[1][1:] == (1,) < shapes[0][1:]:
        must = f"must have {shapes[0][1]} as {first}."
        raise ValueError(f"{name} has 1 features, {must} {remedy}")
    if shapes[0] == shapes[1] and shapes[1][1:] == (1,) and _holds_labels(y, X):
        warn_user(
            f"{name} repeats few values, and {first} does not. {remedy} If {name} is a "
            "sample, convert it to floats."
        )


def _holds_labels(y: Any, X: Any) -> bool:
    """Tell whether y has labels and X has numbers, in memory."""
    lazy = any(isinstance(Z, LazyRows) or not hasattr(Z, "__array__") for Z in (X, y))
    return not lazy and are_labels(np.asarray(y)) and not are_labels(np.asarray(X))


def refuse_other_columns(X: Any, Y: Any, first: str, name: str) -> None:
    """Refuse a second sample whose columns have other names than the first sample.

    If only one of the samples has names, columns are compared by their position.
    """
    names = [_string_names(table_of(X), first), _string_names(table_of(Y), name)]
    if None in names or names[0] == names[1]:
        return
    raise ValueError(
        f"{name} has the columns {_shortened(names[1])}, and {first} has the columns "
        f"{_shortened(names[0])}. The columns of {name} should be those of {first}, in "
        f"the same order. For DataFrames of the same columns, select [{first}.columns] "
        f"from {name}."
    )


def _string_names(table: Any, name: str) -> list[str] | None:
    """Return the names of columns that scikit-learn knows, None without names."""
    if not unique_names(table, name):
        return None
    estimator = BaseEstimator()
    check_columns(estimator, table, reset=True)
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else list(names)


def _shortened(names: list[str] | None, most: int = 10) -> str:
    """Return a list of names as text, without the last of many names."""
    names = names or []
    text = ", ".join(repr(str(name)) for name in names[:most])
    return f"[{text}{', ...' if len(names) > most else ''}]"


def pair_of_rows(
    X: Any,
    y: Any,
    least: int,
    watch: Any = None,
    encode: Any = None,
    names: tuple[str, str] = ("X", "y"),
) -> tuple[Any, Any]:
    """Return X and y as rows that are read by blocks, encoded by a function."""
    kinds = None
    blocks = isinstance(X, LazyRows) or kind_of_blocks(X) is not None
    in_memory = _kind_of_target(y, blocks=blocks) is None
    if in_memory and not needs_encoding(as_table(y)):
        y, kinds = _numbers(y, names[1])
    rows = lazy_pair(X, y, names, least, watch, encode)
    if kinds is not None:
        rows[1].kinds = kinds
    return rows


def side_by_side(
    reader: Reader, variables: Sequence[Any], names: Sequence[str]
) -> list[Any]:
    """Return variables as columns of the same rows, if any of them is in blocks."""
    disk = reader.estimator.n_components is not None
    kinds: list[Any] = [
        kind_of_blocks(Z) or (disk and is_on_disk(Z)) for Z in variables
    ]
    # The first variable that is in blocks decides where the rows are.
    order = sorted(range(len(kinds)), key=lambda i: not kinds[i])
    if not kinds[first := order[0]]:
        return list(variables)
    reader._refuse_in_memory(names[first], kinds[first])
    parts: list[Any] = []

    def encoded(*sides: LazyRows) -> list[LazyRows]:
        own = (fit_target_encoder(reader.encoder, Z, labels=False) for Z in sides)
        return list(map(encode, own, sides))

    whole, how = variables[first], (reader.least, reader._watch, encoded)
    for i in order[1:]:
        x, y = pair_of_rows(whole, variables[i], *how, names=(names[first], names[i]))
        parts, whole = [*(parts or [x]), y], x.whole
    views = dict(zip(order, views_of(whole, parts), strict=True))
    return [views[i] for i in range(len(views))]


def _kind_of_target(y: Any, *, blocks: bool) -> str | None:
    """Return what kind of blocks y has, None if y is in memory.

    A list of arrays of one dimension is blocks of a single column if X is in `blocks`,
    and rows of several columns otherwise.
    """
    if blocks and isinstance(y, (list, tuple)) and len(y):
        shapes = [getattr(block, "shape", ()) for block in y]
        return "a list of blocks" if all(shapes) else None
    return None if y is None else kind_of_blocks(y)


def _numbers(y: Any, name: str) -> tuple[Any, str]:
    """Return a target in memory as numbers, and the kind of its type.

    Labels become integers, equal for equal labels.
    """
    values = as_labels(y, name)
    if not is_numeric(values):
        refuse_different_labels(values, name)
        return encode_labels(values)[:, np.newaxis], "b"
    return (values, "i") if are_labels(values) else (as_numbers(values, name), "f")


def lazy_target_kernels(y: LazyRows, kernels: list[KernelLike]) -> list[Any]:
    """Return the kernels on y, as :func:`choose_target_kernels` for rows in memory."""
    labels = set(y.kinds) <= set("biu")
    if labels:
        found = distinct_rows(y, MAX_LABELS)
        labels = found is not None and len(found[0]) < len(y)
        labels |= set(y.kinds) == {"b"}
    # Any labels, or any numbers, of the right kind.
    example = np.array([["a"], ["a"]]) if labels else np.array([[0.5], [1.5]])
    return choose_target_kernels("auto", example, kernels)
