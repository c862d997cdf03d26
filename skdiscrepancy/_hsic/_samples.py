"""How an estimator of HSIC reads X, y and the weights of their rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from skdiscrepancy._base import Settings
from skdiscrepancy._data import (
    LazyRows,
    as_labels,
    check_columns,
    n_rows,
    rows_with_weight,
    validate_with_target,
)
from skdiscrepancy._hsic._lazy_samples import least_rows, read_pair, validate_lazy
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels import (
    KernelLike,
    accept_sparse,
    as_target,
    check_kernel,
    refuse_balanced,
    sample_dtype,
)
from skdiscrepancy.tables import encode, encode_target


class SamplesMixin:
    """Validation of X and y."""

    encoder: Any
    encoder_: Any
    kernels_: list[KernelLike]
    n_components: int | None
    n_targets_in_: int
    target_encoder_: Any
    target_kernel: Any
    target_kernels_: list[KernelLike]
    _check_weights: Callable[..., np.ndarray]
    _refuse_changed: Callable[[], None]

    def _weighted(
        self, X: Any, y: Any, sample_weight: Any, settings: Settings
    ) -> tuple[Any, Any, np.ndarray | None]:
        """Return the rows of X and y that have a weight, and their weights."""
        if sample_weight is None:
            return X, y, None
        n = n_rows(X)
        # Data without rows are refused when they are validated.
        if n is None or n_rows(y) is None:
            return X, y, None
        if self.n_components is not None:
            raise ValueError(
                f"n_components == {self.n_components}, must be None with "
                "sample_weight, because only exact kernels weight the rows of HSIC."
            )
        why = "with sample_weight, because it divides by numbers of rows"
        refuse_balanced(settings.kernels, why)
        refuse_balanced(getattr(self, "target_kernels_", []), why, "target_kernel")
        check_consistent_length(X, y)
        least = 2 if settings.design.biased else 4
        weights = self._check_weights(sample_weight, n, settings.design, least)
        X, y = (rows_with_weight(Z, weights) for Z in (X, y))
        return X, y, weights[weights > 0]

    def _reads_labels(self) -> bool:
        """Return whether the parameter `target_kernel` asks for labels."""
        if isinstance(self.target_kernel, str) and self.target_kernel == "auto":
            return False
        return sample_dtype(check_kernel(self.target_kernel, "target_kernel")) is None

    def _validate_fitted(
        self, X: Any, y: Any, design: Design
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return X and y, whose columns must agree with `fit`."""
        self._refuse_changed()
        X, y = read_pair(self, X, y, self.kernels_, least_rows(design))
        X, y = self._validate(X, y, self.kernels_, design, reset=False)
        if not isinstance(y, np.ndarray):
            return X, y
        y = as_target(y, self.target_kernels_, self.target_kernel)
        if self.target_encoder_ is None and y.shape[1] != self.n_targets_in_:
            raise ValueError(
                f"y has {y.shape[1]} columns, must have {self.n_targets_in_} as in fit."
            )
        return X, y

    def _validate(
        self, X: Any, y: Any, kernels: list[KernelLike], design: Design, *, reset: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(X, LazyRows):
            return validate_lazy(self, X, y, reset=reset)
        least = least_rows(design)
        options = {"dtype": sample_dtype(kernels), "ensure_min_samples": least}
        y = encode_target(
            self.encoder, self.target_encoder_, y, labels=self._reads_labels()
        )
        if self.encoder_ is not None:
            check_columns(self, X, reset=reset)
            X = encode(self.encoder_, X)
        options["accept_sparse"] = accept_sparse(X, "X", kernels)
        if self.encoder_ is not None:
            X, y = validate_with_target(None, X, y, **options)
        else:
            X, y = validate_with_target(self, X, y, reset=reset, **options)
        return (X if X.dtype.kind == "f" else as_labels(X, "X")), y
