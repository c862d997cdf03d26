"""How an estimator keeps its reference sample, and compares samples with it."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from operator import is_
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._base import NO_WEIGHTED_ERRORS, DiscrepancyResult, Settings
from skdiscrepancy._data import (
    LazyRows,
    RandomStateLike,
    as_block,
    n_rows,
    rows_with_weight,
    table_of,
)
from skdiscrepancy._engine import in_one_blas_thread
from skdiscrepancy._mmd._feature_reference import FeatureReference
from skdiscrepancy._mmd._feature_scores import draw_features, feature_reference
from skdiscrepancy._mmd._reference import Reference
from skdiscrepancy._mmd._samples import reference_rows
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels import KernelLike, refuse_balanced
from skdiscrepancy.pooling import check_pooling
from skdiscrepancy.tables import layout_of


class ScoringMixin:
    """What an estimator learns from a sample, and its scores of other samples."""

    # The reference sample with its sums, if `fit` has computed them.
    _reference: Reference | FeatureReference | None = None

    bandwidth: Any
    encoder_: Any
    kernels_: list[KernelLike]
    n_components: int | None
    pooling: str | None
    random_state: RandomStateLike
    reference_: Any
    reference_weight_: np.ndarray | None
    _check_params: Callable[..., Settings]
    _check_weights: Callable[..., np.ndarray]
    _collection: Callable[..., list[Any]]
    _is_paired: Callable[[Design], bool]
    _read: Callable[..., Any]
    _refuse_changed: Callable[[], None]
    _remember: Callable[[], None]
    _result: Callable[..., DiscrepancyResult]
    _validate_pair: Callable[..., tuple[np.ndarray, np.ndarray]]
    _walk_options: Callable[[], dict[str, Any]]
    _with_uncertainty: Callable[..., DiscrepancyResult]

    def _learn(
        self,
        samples: list[np.ndarray],
        settings: Settings,
        table: Any,
        weights: np.ndarray | None = None,
    ) -> Self:
        """Keep the first sample, and choose bandwidths from all samples."""
        kernels = settings.kernels
        layout = layout_of(self.encoder_, table)
        collection = self._collection(samples, kernels, self.bandwidth, table=layout)
        check_pooling(self.pooling, len(collection))
        # A test encodes both samples together.
        self._reference_table = None if self.encoder_ is None else table
        self.reference_ = as_block(samples[0])
        self.reference_weight_ = weights
        self.kernels_ = collection
        self._reference = None
        draw_features(self, samples)
        self._remember()
        return self

    def _weighted(
        self,
        X: Any,
        sample_weight: Any,
        settings: Settings,
        name: str = "sample_weight",
    ) -> tuple[Any, np.ndarray | None]:
        """Return the rows of a sample that have a weight, and their weights."""
        # Data without rows are refused when they are validated.
        if sample_weight is None or (n := n_rows(X)) is None:
            return X, None
        if isinstance(X, LazyRows):
            raise ValueError(
                f"{name} must be None for a sample that is read by blocks. Pass an "
                "array, a sparse matrix or a DataFrame."
            )
        refuse_balanced(
            settings.kernels, f"with {name}, because it divides by numbers of rows"
        )
        weights = self._check_weights(sample_weight, n, settings.design, name=name)
        return rows_with_weight(X, weights), weights[weights > 0]

    @in_one_blas_thread
    def _evaluate(
        self,
        Y: np.ndarray,
        design: Design,
        weights: np.ndarray | None = None,
        *,
        errors: bool = False,
    ) -> DiscrepancyResult:
        """Compare a validated sample with the reference sample.

        `errors` says whether the result has a standard error.
        """
        reference = self._known_reference()
        options = {"paired": self._is_paired(design), **self._walk_options()}
        statistics = reference.statistics(
            Y, design, random_state=self.random_state, weights=weights, **options
        )
        result = self._result(statistics, list(self.kernels_))
        if not errors:
            return result
        if weights is not None or self.reference_weight_ is not None:
            return replace(result, uncertainty=NO_WEIGHTED_ERRORS)
        noise = partial(reference.noise, Y, design, **options)
        return self._with_uncertainty(result, statistics, design, noise)

    def _known_reference(self) -> Reference | FeatureReference:
        """Return the reference sample, with its sums if they are still valid."""
        self._refuse_changed()
        if self.n_components is not None:
            return feature_reference(self)
        # Exact kernels refuse rows that are read by blocks.
        reference_rows(self)
        found = Reference(self.reference_, self.kernels_, self.reference_weight_)
        kept = self._reference
        # Rows, kernels and weights are the same objects.
        if isinstance(kept, Reference) and all(map(is_, kept[:3], found[:3])):
            return kept
        return found

    def _evaluate_pair(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        sample_weight: Any = None,
        sample_weight_Y: Any = None,
    ) -> DiscrepancyResult:
        """Compare two samples, with bandwidths from both samples."""
        settings = self._check_params()
        X, Y = self._read(X, "X", settings), self._read(Y, "Y", settings)
        X, weights = self._weighted(X, sample_weight, settings)
        Y, of_y = self._weighted(Y, sample_weight_Y, settings, "sample_weight_Y")
        rows, others = self._validate_pair(X, Y, settings)
        fitted = self._learn([rows, others], settings, table_of(X), weights)
        return fitted._evaluate(others, settings.design, of_y)
