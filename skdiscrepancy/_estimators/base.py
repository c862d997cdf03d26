"""Parameters, encoders and pooling that the estimators share."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from itertools import starmap
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from scipy.stats import iqr
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skdiscrepancy._data.arrays import (
    check_weights,
    is_on_disk,
    n_rows,
    rows_with_weight,
)
from skdiscrepancy._data.blocks import LazyRows, table_of
from skdiscrepancy._data.checks import (
    PARAMETERS,
    KeywordHints,
    RandomStateLike,
    check_flag,
    check_number,
    check_value,
    declares_parameters,
    draw_seeds,
    generator_of,
    refuse_changed,
    refuse_several,
    shown,
    value_of,
    warn_user,
)
from skdiscrepancy._data.frames import Layout, is_table
from skdiscrepancy._estimators.readers import Reader
from skdiscrepancy._gram.feature_maps import have_features
from skdiscrepancy._gram.kernel_gram import line_profile
from skdiscrepancy._gram.run import Run, in_one_blas_thread, run_all
from skdiscrepancy._nulls.pvalues import check_options
from skdiscrepancy._statistics.evaluations import DiscrepancyResult, Effect
from skdiscrepancy._statistics.noise import (
    LEAST_ROWS,
    Noise,
    NormalUncertainty,
    Uncertainty,
)
from skdiscrepancy._statistics.second_order import (
    Statistics,
    check_finite,
    design_noise,
    over_design,
)
from skdiscrepancy.bandwidths import build_collection
from skdiscrepancy.designs import CompleteU, Design, check_design
from skdiscrepancy.kernels._base import (
    CentredKernel,
    KernelLike,
    refuse_balanced,
    resolve_columns,
)
from skdiscrepancy.kernels._names import KERNELS, check_bandwidths, check_kernel
from skdiscrepancy.kernels._radial import (
    LaplaceKernel,
    RadialKernel,
    warn_if_indefinite,
)
from skdiscrepancy.pooling import normalize_statistics, pool_statistics

# A test of more rows in total has random features by default, this many for a kernel.
EXACT_ROWS, N_COMPONENTS = 10_000, 256
# Corrections of p-values for the number of tests.
CORRECTIONS = ("bh", "by", "holm", None)


def check_parameters(
    given: Mapping[str, Any], **own: Callable[[dict[str, Any]], Any]
) -> dict[str, Any]:
    """Check parameters by name, and return their values, or what checks return."""
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
    on_pairs : bool
        Whether the statistics are of pairs of rows, by the design or otherwise.
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
    on_pairs: bool = False
    options: Any = None
    paired: bool = False
    correction: str | None = None
    errors: bool = False


# What a test of whole clusters of rows needs.
WHOLE = {"method": "auto", "block_length": None}


@declares_parameters
class BaseDiscrepancy(KeywordHints, BaseEstimator):
    """Base class of the estimators: checks their parameters and pools."""

    _: KW_ONLY
    kernel: Any = ("gaussian", "laplace")
    bandwidth: Any = "grid"
    n_bandwidths: int | None = None
    design: str | Design = "u"
    normalize: bool = True
    squared: bool = True
    pooling: str | None = "fuse"
    fuse_nu: Any = "auto"
    n_components: Any = None
    n_jobs: int | None = None
    random_state: RandomStateLike = None
    verbose: int = 0

    # Checks of parameters that differ from those of other estimators.
    _own_checks: ClassVar[dict[str, Callable[[dict[str, Any]], Any]]] = {}
    # Parameters from which `fit` learns kernels and encoders.
    _learns_from: ClassVar[Any] = ("kernel", "bandwidth", "n_bandwidths", "encoder")
    _refuse_changed = refuse_changed
    # Name of the discrepancy, also for subclasses that users write.
    _discrepancy: ClassVar[str]
    # Kernel of effect sizes, in place of any radial kernel.
    _effect_kernel: ClassVar[type] = LaplaceKernel
    # First kernel of each fitted list of kernels, without a bandwidth from the data.
    _first: ClassVar[Mapping[str, Any]]

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
        on_pairs = not design.complete or getattr(self, "second_order", False)
        kernels = values["kernel"], values.get("target_kernel", [])
        return Settings(design, *kernels, on_pairs)

    def _check_fitted(self, *, errors: bool = False) -> Settings:
        """Check that the estimator is fitted, every parameter, and the pooling."""
        check_is_fitted(self)
        settings = self._check_params()
        if self.pooling is None:
            refuse_several(len(self._members()))
        return replace(settings, errors=errors)

    def _members(self) -> list[Any]:
        """Return the fitted kernels that are pooled."""
        return list(self.kernels_)

    def _check_test(
        self,
        *,
        paired: bool = False,
        clusters: Any = None,
        n_corrupted: float = 0,
        **given: Any,
    ) -> Settings:
        """Check every parameter, and the options of `test`."""
        settings = self._check_params()
        check_flag(paired, "paired")
        on_pairs = paired or settings.on_pairs
        settings = replace(settings, paired=paired, on_pairs=on_pairs)
        options = check_options(*self._methods(settings), **given)
        context = ", the number of rows, or a fraction below 1"
        number = check_number(n_corrupted, "n_corrupted", context=context)
        if number >= 1:
            whole: dict[str, Any] = {"integer": True, "context": context}
            number = check_number(n_corrupted, "n_corrupted", **whole)
        single = options.method == "permutation" and not options.wants_blocks
        if number and (on_pairs or clusters is not None or not single):
            raise ValueError(
                f"n_corrupted == {n_corrupted}, must be 0 for a test that does not "
                "permute single rows. Corrupted rows need method='permutation', "
                "design='u' or design='v', and neither `paired`, `second_order`, "
                "`clusters` nor `block_length`."
            )
        if number and options.pooling not in ("max", "mean"):
            raise ValueError(
                f"pooling == {options.pooling!r}, must be 'max' or 'mean' for "
                f"n_corrupted == {n_corrupted}, because a corrupted row can change "
                "other poolings of all resamples by any amount."
            )
        options = options._replace(n_corrupted=number)
        if clusters is not None:
            wrong = [f"{n} == {v!r}" for n, v in given.items() if v != WHOLE.get(n, v)]
            wrong += ["paired == True"] * paired
            wrong += [] if settings.design.complete else [f"design == {self.design!r}"]
            if wrong:
                raise ValueError(
                    f"clusters == {shown(clusters)}, must be None for "
                    f"{' and '.join(wrong)}. Whole clusters need method='auto', "
                    "block_length=None, and design='u' or design='v'. Clusters that "
                    "are in both samples are paired without paired=True."
                )
            # Nobody is warned that rows of one cluster are alike.
            options = options._replace(clusters=clusters, block_length=1)
        return replace(settings, options=options)

    def _with_corrupted(self, options: Any, n_rows: int, most: float) -> Any:
        """Return the options with a number of corrupted rows."""
        for name in ("encoder_", "target_encoder_"):
            own = getattr(self, name, None)
            if own is not None and not isinstance(own, FrozenEstimator):
                raise ValueError(
                    f"n_corrupted == {options.n_corrupted}, must be 0 for tables that "
                    f"an encoder is fitted to, because {own} learns from the corrupted "
                    "rows too. Pass encoder=None for numbers, or for other columns "
                    "encoder=FrozenEstimator(TableEncoder().fit(trusted_rows))."
                )
        return options.with_corrupted(n_rows, most)

    def _choose_features(self, options: Any, rows: Any, *kernels: list[Any]) -> Any:
        """Return the options with the number of random features, also if "auto"."""
        if self.n_components == "auto":
            lazy = any(isinstance(Z, LazyRows) for Z in rows)
            many = sum(map(len, rows)) > EXACT_ROWS and all(
                starmap(have_features, zip(kernels, rows, strict=False))
            )
            if many and len(kernels) == 1 and rows[0].shape[1] == 1:
                # One column may be summed in sorted order.
                many = None in map(line_profile, kernels[0])
            self.n_components = None
            if lazy or many:
                self.n_components = N_COMPONENTS
                self._draw_seed()
        number = self.n_components
        return options._replace(n_components=None if number is None else int(number))

    def _draw_seed(self) -> None:
        """Draw a seed of features, if their number is known."""
        if self.n_components not in (None, "auto"):
            [self.feature_seed_] = draw_seeds(generator_of(self.random_state), 1)

    def _remember(self) -> None:
        """Keep the parameters that `fit` has learnt from, and a seed of features."""
        if self.pooling is None:
            refuse_several(len(self._members()))
        self._draw_seed()
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
        if isinstance(samples[0], LazyRows):
            raise ValueError(
                f"{name} must be None for a sample that is read by blocks. Pass an "
                "array, a sparse matrix or a DataFrame."
            )
        n, least = n_rows(samples[0]) or 0, settings.design._least_rows(len(samples))
        weights = check_weights(sample_weight, n, least, name)
        return *(rows_with_weight(Z, weights) for Z in samples), weights[weights > 0]

    def _gram_options(self) -> dict[str, Any]:
        """Return how a fitted estimator computes its Gram operators."""
        seed = 0 if self.n_components is None else self._seed()
        run = Run(self.n_jobs, self.verbose)
        return {"n_components": self.n_components, "seed": seed, "run": run}

    def _reader(self, kernels: list[KernelLike] | None, least: int) -> Reader:
        """Return how samples of at least so many rows are read for kernels."""
        fitted = getattr(self, "encoder_", None)
        encoder = getattr(self, "encoder", None)
        return Reader(kernels, least, encoder, self, encoder_=fitted)

    def _estimate(self, core: Any, settings: Settings) -> DiscrepancyResult:
        """Compute the discrepancy of a Gram over the design, and its uncertainty."""
        design, scales = settings.design, self.normalize or settings.errors
        statistics = over_design(core, design, self.random_state, scales=scales)
        return self._result(statistics, settings, partial(design_noise, core, design))

    def _result(
        self,
        statistics: Statistics,
        settings: Settings | None = None,
        noise: Callable[..., Any] | None = None,
    ) -> DiscrepancyResult:
        """Normalise the statistics, or take their square roots, and pool them."""
        kernels = self._members()
        values, scales, errors = statistics.values, statistics.scales, statistics.errors
        if not self.squared:
            # V-statistics are negative by rounding, or if the kernel is indefinite.
            if np.any(values < -statistics.rounding):
                raise ValueError(
                    "squared == False, must be True: the V-statistic of kernel "
                    f"{int(np.argmin(values))} is {values.min():.3g} < 0, because the "
                    "kernel is not positive definite."
                )
            values = np.sqrt(np.maximum(values, 0))
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

    def _evaluate(
        self, X: Any, y: Any, settings: Settings, sample_weight: Any
    ) -> DiscrepancyResult:
        """Compute the discrepancy of rows that are not validated."""
        rows = self._validated(X, y, settings, sample_weight)
        effect = self._effect(*rows) if settings.errors else None
        return replace(self._compare(*rows, settings), _effect=effect)

    def _effect(self, *rows: Any) -> Effect:
        """Return the effect size of validated rows, as `_compare` takes them."""
        own = copy(self)
        # The seed is that of random features.
        own.__dict__.update(normalize=True, squared=True, pooling=None, design="u")
        own.__dict__.update(random_state=0, verbose=0)
        # Copies of what is in memory, because users may change their data before they
        # ask for the number.
        kept = [
            Z
            if Z is None or isinstance(Z, LazyRows) or is_on_disk(Z)
            else Z.astype(Z.dtype)
            for Z in rows
        ]
        return Effect(partial(own._compute_effect, *kept))

    @in_one_blas_thread
    def _compute_effect(self, *rows: Any) -> DiscrepancyResult:
        """Compute the normalised discrepancy of one kernel with the median distance."""
        n_samples = min(len(Z) for Z in rows if Z is not None)
        if n_samples < LEAST_ROWS:
            raise ValueError(f"n_samples == {n_samples}, must be >= {LEAST_ROWS}.")
        for name, samples in self._sides(*rows).items():
            kernel = self._first[name]
            if isinstance(kernel, RadialKernel):
                kernel = self._effect_kernel()
            members = build_collection(samples, [kernel], "median", 1)
            setattr(self, name, [members[len(members) // 2]])
        self._remember()
        settings = Settings(CompleteU(), [], errors=True)
        result = self._compare(*rows, settings)
        if result.value == 0 and not getattr(result.uncertainty, "standard_error", 0):
            raise ValueError("The rows are constant, must differ from each other.")
        return result

    @property
    def _run(self) -> Run:
        return Run(self.n_jobs, self.verbose)


# Rows that show how a column is spread, and the largest ratio of two spreads.
SPREAD_ROWS, MOST_SPREAD = 1024, 100
SCALE_COLUMNS = (
    "Pass a DataFrame, in which every column counts the same, or scale the columns, "
    "for example with StandardScaler or TableEncoder. Pass encoder=None to take "
    "distances as they are without this warning."
)


def warn_of_spreads(
    rows: Any, kernels: Any, table: Any, name: str, remedy: str = SCALE_COLUMNS
) -> None:
    """Warn if the distances that kernels take hardly see some columns of an array."""
    rows = rows.sample if isinstance(rows, LazyRows) else rows
    seen = any(isinstance(k, (RadialKernel, CentredKernel)) for k in kernels)
    points = isinstance(rows, np.ndarray) and rows.dtype.kind == "f"
    # The columns of tables have been scaled, or should not be.
    scaled = type(table) is not np.ndarray and (
        isinstance(table, Layout) or is_table(table_of(table))
    )
    if scaled or not (seen and points):
        return
    with np.errstate(over="ignore"):
        spread = iqr(rows[:: -(-len(rows) // SPREAD_ROWS)], axis=0)
    small, large = np.nanargmin(np.where(spread > 0, spread, np.inf)), spread.argmax()
    if spread[large] / MOST_SPREAD > spread[small] > 0:
        warn_user(
            f"The interquartile range of column {large} of {name} is "
            f"{spread[large] / spread[small]:.3g} times that of column {small}, so "
            f"distances between rows hardly depend on column {small}. {remedy}"
        )


@in_one_blas_thread
def collection_of(
    estimator: Any,
    samples: list[np.ndarray],
    kernels: list[KernelLike],
    table: Any = None,
    name: str = "bandwidth",
) -> list[Any]:
    """Give kernels their columns of `table`, and bandwidths by the parameter `name`."""
    kernels = resolve_columns(kernels, table, samples[0].shape[1])
    warn_if_indefinite(kernels, samples[0].shape[1])
    of, remedy = "y" if name == "target_bandwidth" else "X", SCALE_COLUMNS
    if hasattr(estimator, "standardize"):
        remedy = "Set standardize=True to divide columns by standard deviations."
    scaled = getattr(estimator, "standardize", False)
    if isinstance(getattr(estimator, "encoder", "auto"), str) and not scaled:
        warn_of_spreads(samples[0], kernels, table, of, remedy)
    run = None
    if effective_n_jobs(estimator.n_jobs) > 1:
        # Threads for every joblib backend, because there are few rows.
        run = partial(run_all, run=Run(estimator.n_jobs), require="sharedmem")
    bandwidth, n_bandwidths = getattr(estimator, name), estimator.n_bandwidths
    if hasattr(estimator, "_discrepancy"):
        # The effect size needs the first kernel, with its columns.
        own = name.replace("bandwidth", "kernels_")
        estimator._first = {**getattr(estimator, "_first", {}), own: kernels[0]}
    return build_collection(samples, kernels, bandwidth, n_bandwidths, run)
