"""Parameters, encoders and pooling that the estimators share."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from skdiscrepancy._data.arrays import check_weights, n_rows, rows_with_weight
from skdiscrepancy._data.blocks import LazyRows
from skdiscrepancy._data.checks import (
    KeywordHints,
    RandomStateLike,
    refuse_changed,
    shown,
    values_of,
)
from skdiscrepancy._estimators.parameters import CHECKS, check_parameters
from skdiscrepancy._estimators.readers import Reader
from skdiscrepancy._gram.pieces import UnreadError
from skdiscrepancy._gram.run import Run, run_all
from skdiscrepancy._nulls.pvalues import check_options
from skdiscrepancy._statistics.evaluations import DiscrepancyResult
from skdiscrepancy._statistics.noise import Noise, NormalUncertainty, Uncertainty
from skdiscrepancy._statistics.second_order import Normal, Statistics, check_finite
from skdiscrepancy.bandwidths import build_collection
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels._base import KernelLike, refuse_balanced, resolve_columns
from skdiscrepancy.kernels._radial import warn_if_indefinite
from skdiscrepancy.pooling import check_pooling, normalize_statistics, pool_statistics

# Why weights refuse balanced kernels.
NO_BALANCE = "with {}, because it divides by numbers of rows"


@dataclass(frozen=True)
class Settings:
    """The checked parameters of an estimator.

    Attributes
    ----------
    design : Design
        The design.
    kernels : list of kernel objects
        Kernels of the parameter `kernel`, before their bandwidths are chosen.
    target_kernels : list of kernel objects
        Kernels of the parameter `target_kernel`, none for "auto".
    options : Options or None
        Checked options of a test.
    paired : bool
        Whether the rows of both samples of a test belong together.
    correction : str or None
        Correction of p-values for the number of tests.
    """

    design: Design
    kernels: list[Any]
    target_kernels: list[Any] = field(default_factory=list)
    options: Any = None
    paired: bool = False
    correction: str | None = None


class BaseDiscrepancy(KeywordHints, BaseEstimator):
    """Base class of the estimators: checks their parameters and pools."""

    # Checks of parameters that differ from those of other estimators.
    _own_checks: ClassVar[dict[str, Callable[[dict[str, Any]], Any]]] = {}
    # Parameters from which `fit` learns kernels and encoders.
    _learns_from: tuple[str, ...] = ("kernel", "bandwidth", "n_bandwidths", "encoder")

    design: Any
    kernel: Any
    bandwidth: Any
    n_bandwidths: int
    normalize: bool
    squared: bool
    pooling: str | None
    fuse_nu: Any
    encoder: Any
    encoder_: Any
    n_components: int | None
    n_jobs: int | None
    random_state: RandomStateLike
    verbose: int

    def _check_params(self, n_kernels: int = 1) -> Settings:
        """Check every parameter. Public methods do so before they read data.

        `n_kernels` is the number of kernels to pool, if it is known already.
        """
        names = CHECKS | self._own_checks
        given = {name: getattr(self, name) for name in names if hasattr(self, name)}
        values = check_parameters(given, **self._own_checks)
        design = values["design"]
        if not self.squared and (not design.biased or self.normalize):
            raise ValueError(
                f"squared == False, must be True for design == {shown(self.design)} "
                f"and normalize == {self.normalize}. Only the V-statistic without "
                "normalisation has a square root."
            )
        if n_kernels > 1:
            check_pooling(self.pooling, n_kernels)
        self._check_features(design)
        return Settings(design, values["kernel"], values.get("target_kernel", []))

    def _check_test(self, **given: Any) -> Settings:
        """Check every parameter, and the options of `test`."""
        settings = self._check_params()
        methods = self._methods(settings.design)
        return replace(settings, options=check_options(*methods, **given))

    def _remember(self) -> None:
        """Keep the values of the parameters that `fit` has learnt from."""
        self._learnt_from = values_of(self, self._learns_from)

    def _refuse_changed(self) -> None:
        """Refuse parameters that have changed since `fit` has learnt from them."""
        refuse_changed(self, self._learnt_from)

    def _check_weights(
        self,
        sample_weight: Any,
        X: Any,
        design: Design,
        least: int,
        name: str = "sample_weight",
    ) -> np.ndarray:
        """Check the weights of the rows of X, which need a complete design.

        At least `least` rows have a weight. The weights sum to one.
        """
        if isinstance(X, LazyRows):
            raise ValueError(
                f"{name} must be None for a sample that is read by blocks. Pass an "
                "array, a sparse matrix or a DataFrame."
            )
        if not design.complete:
            raise ValueError(
                f"design == {shown(self.design)}, must be 'v' or 'u' with {name}, "
                "because the pairs of an incomplete design have no weights."
            )
        if getattr(self, "second_order", False):
            raise ValueError(
                f"second_order == True, must be False with {name}, because two rows of "
                "different weights form no pair."
            )
        return check_weights(sample_weight, n_rows(X) or 0, least, name)

    def _weighted(
        self,
        samples: list[Any],
        sample_weight: Any,
        settings: Settings,
        name: str = "sample_weight",
    ) -> tuple[Any, ...]:
        """Return the rows of each sample that have a weight, and their weights."""
        # Data without rows are refused when they are validated.
        if sample_weight is None or None in map(n_rows, samples):
            return *samples, None
        refuse_balanced(settings.kernels, NO_BALANCE.format(name))
        design, least = settings.design, settings.design._least_rows(len(samples))
        weights = self._check_weights(sample_weight, samples[0], design, least, name)
        return *(rows_with_weight(Z, weights) for Z in samples), weights[weights > 0]

    def _reader(self, kernels: list[KernelLike] | None, least: int) -> Reader:
        """Return how samples of at least so many rows are read for kernels."""
        return Reader(
            kernels,
            least,
            self.encoder,
            self,
            by_blocks=True,
            n_components=self.n_components,
            verbose=self.verbose,
            encoder_=getattr(self, "encoder_", None),
        )

    def _result(self, statistics: Statistics, kernels: list[Any]) -> DiscrepancyResult:
        """Normalise the statistics, or take their square roots, and pool them."""
        statistics.check_finite()
        values, scales, errors = statistics.values, statistics.scales, statistics.errors
        if not self.squared:
            values = _square_roots(values, statistics.rounding)
            errors = None if errors is None else _errors_of_roots(errors, values)
        if self.normalize:
            pooled = normalize_statistics(values, scales, rounding=statistics.rounding)
        else:
            pooled, scales = values, np.ones_like(values)
        nu = statistics.nu if self.fuse_nu == "auto" else self.fuse_nu
        value = pool_statistics(check_finite(pooled), pooling=self.pooling, nu=nu)
        name = self._discrepancy
        return DiscrepancyResult(value, values, scales, kernels, name, errors)

    def _with_uncertainty(
        self,
        result: DiscrepancyResult,
        statistics: Statistics | None,
        design: Design,
        noise: Callable[..., Noise | Normal | str],
    ) -> DiscrepancyResult:
        """Add the standard error, or the reason why there is none, to a result.

        `noise` takes the statistics, the scales and `normalize`. It returns the noise
        of the mean over kernels, or a text that says why there is no standard error.
        """
        found: Any = self._without_standard_error(len(result.kernels))
        if not found and statistics is not None:
            with np.errstate(all="ignore"):
                try:
                    found = noise(statistics, normalize=self.normalize)
                except UnreadError as error:
                    found = str(error)
        if isinstance(found, Normal):
            found = NormalUncertainty(result.value, *found)
        elif isinstance(found, Noise):
            flags = design.biased, self.normalize, not self.squared
            found = Uncertainty(result.value, found, *flags)
        if not isinstance(found, str) and not np.isfinite(found.standard_error):
            found = "The standard error is not finite. Rescale the data."
        return replace(result, uncertainty=found)

    def _without_standard_error(self, n_kernels: int) -> str:
        """Return why these parameters have no standard error, "" if they have one."""
        if n_kernels == 1:
            return ""
        if self.pooling != "mean":
            return (
                f"pooling == {self.pooling!r}, must be 'mean' for a standard error, or "
                "pass a single kernel and a single bandwidth. A maximum over kernels "
                "is not normal, because the kernel that attains it changes from sample "
                "to sample."
            )
        if not self.squared:
            return (
                "squared == False, must be True for the standard error of several "
                "kernels, or pass a single kernel and a single bandwidth."
            )
        return ""

    @property
    def _discrepancy(self) -> str:
        """Name of the discrepancy, also for subclasses that users write."""
        package = __name__.partition(".")[0]
        ours = (c for c in type(self).__mro__ if c.__module__.startswith(package))
        return next(ours).__name__.removesuffix("Estimator")

    @property
    def _run(self) -> Run:
        return Run(self.n_jobs, self.verbose)


def collection_of(
    estimator: Any,
    samples: list[np.ndarray],
    kernels: list[KernelLike],
    table: Any = None,
    name: str = "bandwidth",
) -> list[Any]:
    """Give kernels their columns and bandwidths, from the rows of samples.

    `table` is one of the samples before validation, with the names of the columns, or
    the layout of an encoded table. `name` is the parameter with the bandwidths.
    """
    kernels = resolve_columns(kernels, table, samples[0].shape[1])
    warn_if_indefinite(kernels, samples[0].shape[1])

    def run(function: Callable[..., Any], tasks: Iterable[Any]) -> Iterator[Any]:
        # Threads for every joblib backend, because there are few rows.
        return run_all(tasks, function, Run(estimator.n_jobs), require="sharedmem")

    bandwidth, n_bandwidths = getattr(estimator, name), estimator.n_bandwidths
    return build_collection(samples, kernels, bandwidth, n_bandwidths, name, run=run)


def _square_roots(values: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    """Take square roots.

    A V-statistic is negative only by rounding, or if its kernel is indefinite.
    """
    if np.any(values < -rounding):
        raise ValueError(
            f"squared == False, must be True: the V-statistic of kernel "
            f"{int(np.argmin(values))} is {values.min():.3g} < 0, because the kernel "
            "is not positive definite."
        )
    return np.sqrt(np.maximum(values, 0))


def _errors_of_roots(errors: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """Return standard errors of square roots from those of their squares.

    To first order, but an error of the square is at least the square of an error.
    """
    with np.errstate(all="ignore"):
        return np.fmin(errors / (2 * roots), np.sqrt(errors))
