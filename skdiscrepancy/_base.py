"""What the three estimators share: parameters, scales, pooling, the result."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypedDict, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skdiscrepancy._data import (
    RandomStateLike,
    Result,
    check_flag,
    check_number,
    check_rows,
    check_run_options,
    refuse_unknown_keywords,
    warn_user,
)
from skdiscrepancy._engine import RowSums, design_moments, run_all
from skdiscrepancy.bandwidths import build_collection, check_bandwidths
from skdiscrepancy.designs import Design, check_design
from skdiscrepancy.kernels import (
    KernelLike,
    check_kernel,
    kernel_columns,
    resolve_columns,
    warn_if_indefinite,
)
from skdiscrepancy.pooling import check_pooling, normalize_statistics, pool_statistics

# Below so many units of the working precision, relative to what was added up, a number
# is a rounding error of zero.
ROUNDING = 100

Function = TypeVar("Function", bound=Callable[..., Any])


class StatisticParams(TypedDict, total=False):
    """Parameters of every estimator that say which statistic is computed."""

    n_bandwidths: int
    design: Any
    normalize: bool
    squared: bool
    fuse_nu: Any


class CommonParams(StatisticParams, total=False):
    """Parameters of every estimator but those for which tests have their own."""

    kernel: Any
    n_jobs: int | None
    random_state: RandomStateLike
    verbose: int


class ScoreParams(CommonParams, total=False):
    """Parameters of every estimator."""

    bandwidth: Any
    pooling: str | None


@dataclass(frozen=True)
class Settings:
    """What the check of the parameters of an estimator has found.

    Attributes
    ----------
    design : Design
        The design.
    kernels : list of kernel objects
        Kernels of the parameter `kernel`, bandwidths still to be chosen.
    """

    design: Design
    kernels: list[Any]


@dataclass(frozen=True, eq=False, repr=False)
class DiscrepancyResult(Result):
    """A discrepancy with the statistics of the kernels that it was pooled from.

    The method `evaluate` of the estimators returns this result, the terms of a pooled
    statistic [1]_. A notebook shows it as a table. Two results are equal if all their
    attributes are.

    Read more in the :ref:`User Guide <score>`.

    Attributes
    ----------
    value : float
        The discrepancy, the number that `score` returns.
    statistics : ndarray of shape (n_kernels,)
        The statistic S_k of each kernel before normalisation, or the square root of
        the statistic if `squared` is False.
    scales : ndarray of shape (n_kernels,)
        The scale sigma_k of each kernel. Constant data have a scale of 0, and the
        scales are ones if `normalize` is False.
    kernels : list of length n_kernels
        The kernels; for HSIC, pairs of a kernel on X and a kernel on y.
    discrepancy : str
        Name of the discrepancy: "MMD", "HSIC" or "KSD".

    See Also
    --------
    MMDEstimator.evaluate : Compares two samples.
    HSICEstimator.evaluate : Measures how y depends on X.
    KSDEstimator.evaluate : Compares a sample with a model.
    skdiscrepancy.plotting.BandwidthDisplay : Draws the statistic of each kernel.

    References
    ----------
    .. [1] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import MMDEstimator
    >>> X = np.random.RandomState(0).normal(size=(50, 2))
    >>> result = MMDEstimator().fit(X[:25]).evaluate(X[25:])
    >>> bool(result.value <= (result.statistics / result.scales).max())
    True
    """

    value: float
    statistics: np.ndarray
    scales: np.ndarray
    kernels: list[Any]
    discrepancy: str = "discrepancy"

    _display = "BandwidthDisplay"
    _shown_first = "largest normalised statistics"

    @property
    def _normalized(self) -> np.ndarray:
        # Constant data have no scale, and a statistic of 0.
        zeros = np.zeros(len(self.statistics))
        positive = self.scales > 0
        return np.divide(self.statistics, self.scales, out=zeros, where=positive)

    def _summary(self) -> dict[str, Any]:
        return {"value": self.value, "discrepancy": self.discrepancy}

    def _columns(self) -> dict[str, Any]:
        return {
            **kernel_columns(self.kernels),
            "statistic": self.statistics,
            "scale": self.scales,
            "normalized_statistic": self._normalized,
        }

    def _priorities(self) -> np.ndarray:
        return -self._normalized

    def to_frame(self) -> Any:
        """Return the statistics as a DataFrame, one row for each kernel.

        Needs pandas: ``pip install "skdiscrepancy[pandas]"``.

        Returns
        -------
        frame : pandas.DataFrame
            With the columns `kernel`, `bandwidth`, `statistic`, `scale` and
            `normalized_statistic`, and for HSIC also `target_kernel` and
            `target_bandwidth`, in the order of `kernels`. A kernel without a bandwidth
            has NaN.
        """
        return super().to_frame()

    def plot(self, **kwargs: Any) -> Any:
        """Draw the statistic of each kernel against its bandwidth.

        Needs matplotlib: ``pip install "skdiscrepancy[plot]"``.

        Parameters
        ----------
        **kwargs : dict
            Options of :meth:`BandwidthDisplay.from_result
            <skdiscrepancy.plotting.BandwidthDisplay.from_result>`, such as `ax`.

        Returns
        -------
        display : BandwidthDisplay
            The display, drawn.
        """
        return super().plot(**kwargs)


@dataclass(frozen=True, eq=False)
class Statistics:
    """The statistics of a collection with all that pooling needs to know of them.

    `nu` is the parameter of fuse for these data; `sizes`, those of the numbers that
    were added up, and `dtype`, one for all kernels or a list, say how large a rounding
    error can be.
    """

    values: np.ndarray
    scales: np.ndarray
    nu: float
    sizes: np.ndarray
    dtype: np.dtype | list[np.dtype]

    @property
    def rounding(self) -> np.ndarray:
        """Size of a rounding error for each kernel."""
        dtypes = self.dtype if isinstance(self.dtype, list) else [self.dtype]
        return ROUNDING * np.array([np.finfo(d).eps for d in dtypes]) * self.sizes

    def check_finite(self) -> None:
        """Refuse numbers beyond the range of floating point."""
        check_finite(self.values)
        check_finite(self.scales)
        check_finite(self.sizes)


def check_finite(values: np.ndarray) -> np.ndarray:
    """Return statistics as they are, unless they are beyond floating point."""
    if not np.all(np.isfinite(values)):
        raise ValueError(
            "The statistic is not finite: distances, gradients or bandwidths are too "
            "large or too small for floating point. Rescale the data, or choose a "
            "`bandwidth` of the order of the distances between rows."
        )
    return values


class BaseDiscrepancy(BaseEstimator):
    """Base class of the estimators: checks their parameters and pools."""

    # Parameters that are True or False.
    _flags: tuple[str, ...] = ("normalize", "squared")

    design: Any
    kernel: Any
    bandwidth: Any
    n_bandwidths: int
    normalize: bool
    squared: bool
    pooling: str | None
    fuse_nu: Any
    n_jobs: int | None
    random_state: RandomStateLike
    verbose: int

    def _check_params(self, n_kernels: int = 1) -> Settings:
        """Check every parameter, which public methods do before they read data.

        Parameters
        ----------
        n_kernels : int, default=1
            Number of kernels that `pooling` is for, as far as it is known.

        Returns
        -------
        settings : Settings
            The design and the kernels of the parameters.
        """
        design = check_design(self.design)
        kernels = self._check_kernels()
        check_bandwidths(kernels, self.bandwidth, "bandwidth", self.n_bandwidths)
        for name in self._flags:
            check_flag(getattr(self, name), name)
        if not self.squared and (not design.biased or self.normalize):
            raise ValueError(
                f"squared == False, must be True for design == {self.design!r} and "
                f"normalize == {self.normalize}: only a V-statistic that is not "
                "normalised has a square root."
            )
        check_pooling(self.pooling, n_kernels)
        if not (isinstance(self.fuse_nu, str) and self.fuse_nu == "auto"):
            check_number(self.fuse_nu, "fuse_nu", strict=True, keyword="auto")
        check_run_options(self.n_jobs, self.random_state, self.verbose)
        return Settings(design, kernels)

    def _check_kernels(self) -> list[Any]:
        """Return the kernels of the parameter `kernel`."""
        return check_kernel(self.kernel)

    def _collection(
        self,
        samples: list[np.ndarray],
        kernels: list[KernelLike],
        bandwidth: Any,
        name: str = "bandwidth",
        *,
        table: Any = None,
    ) -> list[Any]:
        """Give kernels their bandwidths, from the rows of samples.

        `table` is one of the samples before validation, with the names of the columns.
        """
        kernels = resolve_columns(kernels, table, samples[0].shape[1])
        warn_if_indefinite(kernels, samples[0].shape[1])

        def run(function: Callable[..., Any], tasks: Iterable[Any]) -> Iterator[Any]:
            # In threads whatever the backend, because there are only few rows.
            return run_all(tasks, function, self.n_jobs, require="sharedmem")

        return build_collection(
            samples, kernels, bandwidth, self.n_bandwidths, name, run=run
        )

    def _result(self, statistics: Statistics, kernels: list[Any]) -> DiscrepancyResult:
        """Normalise, take roots if asked to, and pool."""
        statistics.check_finite()
        values, scales = statistics.values, statistics.scales
        if not self.squared:
            values = _square_roots(values, statistics.rounding)
        if self.normalize:
            pooled = normalize_statistics(values, scales, rounding=statistics.rounding)
        else:
            pooled, scales = values, np.ones_like(values)
        nu = statistics.nu if self.fuse_nu == "auto" else self.fuse_nu
        value = pool_statistics(check_finite(pooled), pooling=self.pooling, nu=nu)
        return DiscrepancyResult(value, values, scales, kernels, self._discrepancy)

    @property
    def _discrepancy(self) -> str:
        """Name of the discrepancy, also for classes that users derive."""
        package = __name__.partition(".")[0]
        ours = (c for c in type(self).__mro__ if c.__module__.startswith(package))
        return next(ours).__name__.removesuffix("Estimator")

    def _walk_options(self) -> dict[str, Any]:
        return {"n_jobs": self.n_jobs, "verbose": self.verbose}


def second_order_statistics(
    design: Design,
    n: int,
    reducer: RowSums,
    *,
    random_state: RandomStateLike = None,
    **walk_options: Any,
) -> Statistics:
    """Compute the statistics of a second-order core over a design on n samples."""
    moments = design_moments(
        design, n, reducer, random_state=random_state, **walk_options
    )
    nu = float(n) if design.complete else moments.weight / n
    with np.errstate(all="ignore"):
        sizes = reducer.sizes(n)
    return Statistics(moments.mean, moments.scale, nu, sizes, reducer.dtype)


def one_statistic(statistics: Statistics, *, normalize: bool) -> float:
    """Return the statistic of a single kernel, normalised or not."""
    statistics.check_finite()
    values = statistics.values
    if normalize:
        values = normalize_statistics(
            values, statistics.scales, rounding=statistics.rounding
        )
    return float(values[0])


def check_gram(K: ArrayLike, name: str, *, symmetric: bool = True) -> np.ndarray:
    """Return a Gram matrix as a float array, checked for its shape and symmetry."""
    gram = check_rows(K, name)
    if symmetric:
        if gram.shape[0] != gram.shape[1]:
            raise ValueError(f"{name} has shape {gram.shape}, must be square.")
        tolerance = ROUNDING * np.finfo(gram.dtype).eps * max(gram.max(), -gram.min())
        if any(
            np.any(
                np.abs(gram[start : start + 512] - gram[:, start : start + 512].T)
                > tolerance
            )
            for start in range(0, len(gram), 512)
        ):
            raise ValueError(f"{name} must be symmetric.")
    return gram


def warn_unused(n_unused: int, n_rows: int, why: str) -> None:
    """Say how many rows a design leaves out."""
    warn_user(f"{n_unused} of {n_rows} rows are not used: {why}")


def takes_parameters_of(source: Callable[..., Any]) -> Callable[[Function], Function]:
    """Give a function the keywords of an estimator, or of another function.

    The signature shows every keyword with its default, those of the function itself
    first. A keyword that neither has is refused by the name of the function.

    Parameters
    ----------
    source : class or callable
        What the function hands its `**params` to.

    Returns
    -------
    decorate : callable
        Decorator.
    """

    def decorate(function: Function) -> Function:
        own = {
            name: parameter
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.kind is not parameter.VAR_KEYWORD
        }
        handed_on = [
            parameter
            for name, parameter in inspect.signature(source).parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY and name not in own
        ]
        signature = inspect.signature(function).replace(
            parameters=[*own.values(), *handed_on]
        )

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            refuse_unknown_keywords(kwargs, signature.parameters, function.__name__)
            return function(*args, **kwargs)

        checked.__signature__ = signature  # type: ignore[attr-defined]
        return cast(Function, checked)

    return decorate


def explains_keywords(method: Function) -> Function:
    """Let a method of an estimator say where a keyword belongs that it does not have.

    Parameters
    ----------
    method : callable
        Method.

    Returns
    -------
    checked : callable
        The same method, which refuses other keywords by name.
    """
    allowed = list(inspect.signature(method).parameters)[1:]

    @wraps(method)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not kwargs.keys() <= set(allowed):
            estimator = type(self).__name__
            refuse_unknown_keywords(
                kwargs,
                allowed,
                f"{estimator}.{method.__name__}",
                estimator=estimator,
                parameters=self.get_params(deep=False),
            )
        return method(self, *args, **kwargs)

    return cast(Function, checked)


def _square_roots(values: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    """Take roots; a V-statistic is below zero only by rounding, or by its kernel."""
    if np.any(values < -rounding):
        raise ValueError(
            f"squared == False, must be True: the V-statistic of kernel "
            f"{int(np.argmin(values))} is {values.min():.3g} < 0, since that kernel is "
            "not positive definite."
        )
    return np.sqrt(np.maximum(values, 0))
