"""Parameters, encoders and pooling that the estimators share."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skdiscrepancy._data.arrays import check_weights, n_rows, rows_with_weight
from skdiscrepancy._data.blocks import LazyRows
from skdiscrepancy._data.checks import (
    PARAMETERS,
    KeywordHints,
    check_flag,
    check_value,
    draw_seeds,
    generator_of,
    refuse_changed,
    refuse_several,
    shown,
    value_of,
)
from skdiscrepancy._estimators.readers import Reader
from skdiscrepancy._gram.run import Run, in_one_blas_thread, run_all
from skdiscrepancy._nulls.pvalues import check_options
from skdiscrepancy._statistics.evaluations import DiscrepancyResult
from skdiscrepancy._statistics.noise import Noise, NormalUncertainty, Uncertainty
from skdiscrepancy._statistics.second_order import Statistics, check_finite
from skdiscrepancy.bandwidths import build_collection
from skdiscrepancy.designs import Design, check_design
from skdiscrepancy.kernels._base import KernelLike, refuse_balanced, resolve_columns
from skdiscrepancy.kernels._names import KERNELS, check_bandwidths, check_kernel
from skdiscrepancy.kernels._radial import warn_if_indefinite
from skdiscrepancy.pooling import normalize_statistics, pool_statistics

# Corrections of p-values for the number of tests.
CORRECTIONS = ("bh", "by", "holm", None)


def check_parameters(
    given: Mapping[str, Any], **own: Callable[[dict[str, Any]], Any]
) -> dict[str, Any]:
    """Check every parameter by its name, and return their values.

    What a check of `OBJECTS` returns, such as the kernels of names, replaces the value.
    It takes all values, because what one parameter may be can depend on others. `own`
    are checks in place of those of `OBJECTS`.
    """
    values = dict(given)
    for name in filter(given.__contains__, PARAMETERS):
        values[name] = check_value(given[name], name)
    for name, check in (OBJECTS | own).items():
        if name in given:
            found = check(values)
            values[name] = values[name] if found is None else found
    return values


def _bandwidths_of(kernel: str, name: str) -> Callable[..., Any]:
    """Return the check of a bandwidth parameter of the kernels of another one."""
    return lambda values: check_bandwidths(
        values[kernel], values[name], name, values.get("n_bandwidths")
    )


def _check_target_kernel(values: dict[str, Any]) -> list[Any]:
    """Return the kernels on y, none of them for "auto"."""
    kernel = values["target_kernel"]
    if isinstance(kernel, str) and kernel == "auto":
        return []
    return check_kernel(kernel, "target_kernel", ("auto", *KERNELS))


# Parameters that stand for objects, and what depends on them, in the order of checks.
OBJECTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "design": lambda values: check_design(values["design"]),
    "kernel": lambda values: check_kernel(values["kernel"]),
    "bandwidth": _bandwidths_of("kernel", "bandwidth"),
    "target_kernel": _check_target_kernel,
    "target_bandwidth": _bandwidths_of("target_kernel", "target_bandwidth"),
}


def check_correction(correction: Any, allowed: tuple[Any, ...] = CORRECTIONS) -> None:
    """Refuse an unknown correction of p-values."""
    if correction not in allowed:
        raise ValueError(f"correction == {correction!r}, must be one of {allowed}.")


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
    errors : bool
        Whether a result has a standard error.
    """

    design: Design
    kernels: list[Any]
    target_kernels: list[Any] = field(default_factory=list)
    options: Any = None
    paired: bool = False
    correction: str | None = None
    errors: bool = False


class BaseDiscrepancy(KeywordHints, BaseEstimator):
    """Base class of the estimators: checks their parameters and pools."""

    # Checks of parameters that differ from those of other estimators.
    _own_checks: ClassVar[dict[str, Callable[[dict[str, Any]], Any]]] = {}
    # Parameters from which `fit` learns kernels and encoders.
    _learns_from: tuple[str, ...] = ("kernel", "bandwidth", "n_bandwidths", "encoder")
    _refuse_changed = refuse_changed
    # Name of the discrepancy, also for subclasses that users write.
    _discrepancy: str
    n_components: Any

    def _check_params(self) -> Settings:
        """Check every parameter. Public methods do so before they read data."""
        values = check_parameters(vars(self), **self._own_checks)
        design = values["design"]
        if not self.squared and (not design.biased or self.normalize):
            raise ValueError(
                f"squared == False, must be True for design == {shown(self.design)} "
                f"and normalize == {self.normalize}. Only the V-statistic without "
                "normalisation has a square root."
            )
        return Settings(design, values["kernel"], values.get("target_kernel", []))

    def _check_fitted(self) -> Settings:
        """Check that the estimator is fitted, every parameter, and the pooling."""
        check_is_fitted(self)
        settings = self._check_params()
        if self.pooling is None:
            refuse_several(len(self._members()))
        return settings

    def _is_paired(self, design: Design) -> bool:
        return getattr(self, "second_order", False) or not design.complete

    def _members(self) -> list[Any]:
        """Return the fitted kernels that are pooled."""
        return list(self.kernels_)

    def _check_test(self, *, paired: bool = False, **given: Any) -> Settings:
        """Check every parameter, and the options of `test`."""
        settings = self._check_params()
        check_flag(paired, "paired")
        settings = replace(settings, paired=paired)
        options = check_options(*self._methods(settings), **given)
        return replace(settings, options=options)

    def _evaluate(
        self, X: Any, y: Any, sample_weight: Any, *, errors: bool = False
    ) -> DiscrepancyResult:
        """Check the parameters and evaluate rows that are not validated."""
        settings = replace(self._check_fitted(), errors=errors)
        return self._evaluate_rows([X, y], settings, sample_weight)

    def _remember(self) -> None:
        """Keep the parameters that `fit` has learnt from, and a seed of features."""
        if self.pooling is None:
            refuse_several(len(self._members()))
        if self.n_components is not None:
            [self.feature_seed_] = draw_seeds(generator_of(self.random_state), 1)
        learnt = {name: value_of(getattr(self, name)) for name in self._learns_from}
        self._learnt_from = learnt

    def _seed(self) -> int:
        """Seed of the features of a fitted estimator."""
        if not hasattr(self, "feature_seed_"):
            raise ValueError(
                f"n_components == {self.n_components} was set after `fit`. Call `fit` "
                "again to draw random features."
            )
        return self.feature_seed_

    def _check_weights(
        self,
        sample_weight: Any,
        X: Any,
        design: Design,
        name: str = "sample_weight",
        n_samples: int = 1,
    ) -> np.ndarray:
        """Check the weights of the rows of X.

        Some rows of each of the samples must have a weight. The weights sum to one.
        """
        if isinstance(X, LazyRows):
            raise ValueError(
                f"{name} must be None for a sample that is read by blocks. Pass an "
                "array, a sparse matrix or a DataFrame."
            )
        least = design._least_rows(n_samples)
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
        check_consistent_length(*samples)
        why = f"with {name}, because it divides by numbers of rows"
        refuse_balanced(settings.kernels, why)
        refuse_balanced(settings.target_kernels, why, "target_kernel")
        weights = self._check_weights(
            sample_weight, samples[0], settings.design, name, len(samples)
        )
        return *(rows_with_weight(Z, weights) for Z in samples), weights[weights > 0]

    def _gram_options(self) -> dict[str, Any]:
        """Return how a fitted estimator computes its Gram operators."""
        seed = 0 if self.n_components is None else self._seed()
        return {"n_components": self.n_components, "seed": seed, "run": self._run}

    def _reader(self, kernels: list[KernelLike] | None, least: int) -> Reader:
        """Return how samples of at least so many rows are read for kernels."""
        fitted = getattr(self, "encoder_", None)
        return Reader(kernels, least, self.encoder, self, encoder_=fitted)

    def _result(
        self,
        statistics: Statistics,
        settings: Settings | None = None,
        noise: Callable[..., Any] | None = None,
    ) -> DiscrepancyResult:
        """Normalise the statistics, or take their square roots, and pool them.

        `noise` takes the statistics and `normalize`. It returns the noise of the mean
        over kernels, or of the kernel with the largest statistic unless the pooling is
        "mean", or a text that says why there is no standard error.
        """
        kernels = self._members()
        statistics.check_finite()
        values, scales, errors = statistics.values, statistics.scales, statistics.errors
        if not self.squared:
            values = _square_roots(values, statistics.rounding)
            if errors is not None:
                # To first order, but the error of a square is at least its square.
                with np.errstate(all="ignore"):
                    errors = np.fmin(errors / (2 * values), np.sqrt(errors))
        if self.normalize:
            pooled = normalize_statistics(values, scales, rounding=statistics.rounding)
        else:
            pooled, scales = values, np.ones_like(values)
        nu = statistics.nu if self.fuse_nu == "auto" else self.fuse_nu
        value = pool_statistics(check_finite(pooled), pooling=self.pooling, nu=nu)
        result = DiscrepancyResult(
            value, values, scales, kernels, self._discrepancy, errors
        )
        if noise is None or settings is None or not settings.errors:
            return result
        chosen, centre = None, value
        if len(kernels) > 1 and self.pooling != "mean":
            # A maximum over kernels is not normal.
            chosen = int(np.argmax(pooled))
            centre = float(pooled[chosen])
        found: Any
        if len(kernels) > 1 and chosen is None and not self.squared:
            found = (
                "squared == False, must be True for the standard error of the mean "
                "over kernels, or pass a single kernel and a single bandwidth."
            )
        else:
            with np.errstate(all="ignore"):
                own = replace(statistics, chosen=chosen)
                found = noise(own, normalize=self.normalize)
        if isinstance(found, tuple):
            found = NormalUncertainty(centre, *found)
        elif isinstance(found, Noise):
            flags = settings.design.biased, self.normalize, not self.squared
            found = Uncertainty(centre, found, *flags)
        if not isinstance(found, str) and not np.isfinite(found.standard_error):
            found = "The standard error is not finite. Rescale the data."
        return replace(result, uncertainty=found, chosen=chosen)

    @property
    def _run(self) -> Run:
        return Run(self.n_jobs, self.verbose)


@in_one_blas_thread
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
    run = None
    if effective_n_jobs(estimator.n_jobs) > 1:
        # Threads for every joblib backend, because there are few rows.
        run = partial(run_all, run=Run(estimator.n_jobs), require="sharedmem")
    bandwidth, n_bandwidths = getattr(estimator, name), estimator.n_bandwidths
    return build_collection(samples, kernels, bandwidth, n_bandwidths, run)


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
