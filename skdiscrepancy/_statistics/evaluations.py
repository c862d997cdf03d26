"""Results of estimators and of comparisons."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.stats import t as student

from skdiscrepancy._data.checks import check_number, shown
from skdiscrepancy._data.results import Result
from skdiscrepancy._statistics.noise import NormalUncertainty, Projections, Uncertainty
from skdiscrepancy.kernels._names import kernel_columns

# Effect sizes that begin to be small, medium and large: those of two normal samples
# with Cohen's d = .2, .5 and .8, of normal variables with the correlations .1, .3 and
# .5, and of normal rows that the model shifts by .2, .5 and .8 standard deviations.
# Measured by benchmarks/effect_sizes.py.
YARDSTICK = {
    "MMD": (0.06, 0.16, 0.26),
    "HSIC": (0.04, 0.13, 0.22),
    "KSD": (0.10, 0.24, 0.36),
}


class UnavailableError(ValueError, AttributeError):
    """A result does not have this number. `hasattr` is False."""


@dataclass(eq=False)
class Effect:
    """An effect size, computed when you first ask for it, or why there is none."""

    compute: Callable[[], DiscrepancyResult]

    @cached_property
    def found(self) -> DiscrepancyResult | str:
        """The discrepancy, or why there is none."""
        try:
            return self.compute()
        except ValueError as error:
            return f"There is no effect size. {error}"

    def __getstate__(self) -> dict[str, Any]:
        # The number, and not the rows that it is computed from.
        return {"found": self.found}

    def known(self) -> DiscrepancyResult:
        """Return the discrepancy."""
        if isinstance(self.found, str):
            raise UnavailableError(self.found)
        return self.found

    @property
    def effect_size(self) -> float:
        """The effect size."""
        return _bounded(self.known().value)

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return a confidence interval of the effect size."""
        low, high = self.known().confidence_interval(confidence)
        return _bounded(low), _bounded(high)

    def words(self) -> str:
        """Return the effect size, and how large it is in one word."""
        size, steps = self.effect_size, YARDSTICK[self.known().discrepancy]
        place = np.searchsorted(steps, size, side="right")
        return f"{size:.2f} ({('negligible', 'small', 'medium', 'large')[place]})"


def _bounded(value: float) -> float:
    """Return t / sqrt(1 + t^2) for a normalised discrepancy t, 0 if t is negative."""
    return float(max(value, 0.0) / np.hypot(1.0, value))


def sizes_of(effects: list[Any]) -> np.ndarray:
    """Return the effect sizes of effects or results, NaN where there is none."""
    sizes = [getattr(effect, "effect_size", None) for effect in effects]
    return np.array([np.nan if size is None else size for size in sizes])


@dataclass(frozen=True, eq=False, repr=False)
class SizedResult(Result):
    """Base class of the results that have an effect size."""

    _effect: Effect | None = field(default=None, kw_only=True)

    # Whether an effect size that does not exist raises an error, or is None.
    _raises: ClassVar[bool] = False

    @property
    def effect_size(self) -> Any:
        """How large the difference or dependence is, from 0 (none) to 1.

        Small, medium and large begin at .06, .16 and .26 for MMD, .04, .13 and .22 for
        HSIC, and .10, .24 and .36 for KSD; see :ref:`effect_size`. Tests without an
        effect size have None; other results raise an error.
        """
        return self._of_effect(lambda effect: effect.effect_size)

    def effect_interval(self, confidence: float = 0.95) -> Any:
        """Return a confidence interval of the effect size, for independent rows.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability that the interval contains the true value.

        Returns
        -------
        interval : tuple of two floats, or None
            Bounds, or None if a test has none.
        """
        confidence = check_level(confidence, "confidence")
        return self._of_effect(lambda effect: effect.interval(confidence))

    def _of_effect(self, number: Callable[[Effect], Any]) -> Any:
        """Return a number of the effect size, None or an error if there is none."""
        try:
            if self._effect is None:
                raise UnavailableError("This result has no effect size.")
            return number(self._effect)
        except UnavailableError:
            if self._raises:
                raise
            return None

    def _effect_words(self) -> dict[str, str]:
        """Return the effect size for the summary, if there is one."""
        known = getattr(self, "effect_size", None) is not None
        return {"effect_size": self._of_effect(Effect.words)} if known else {}


@dataclass(frozen=True, eq=False, repr=False)
class DiscrepancyResult(SizedResult):
    """Discrepancy with the statistic and scale of every kernel.

    Read more in the :ref:`User Guide <score>`.

    Attributes
    ----------
    value : float
        The number that `score` returns.
    statistics : ndarray of shape (n_kernels,)
        Statistic of each kernel, not normalised.
    scales : ndarray of shape (n_kernels,)
        Scale of each kernel, 1 without `normalize`.
    kernels : list of length n_kernels
        Kernels, or pairs for HSIC.
    discrepancy : str
        "MMD", "HSIC" or "KSD".
    feature_errors : ndarray of shape (n_kernels,) or None
        Standard errors from random features.
    uncertainty : object, str or None
        Source of `standard_error`, or why there is none.
    chosen : int or None
        Position of the kernel of `standard_error`, None if it belongs to `value`.

    See Also
    --------
    MMDEstimator.evaluate : Computes the result.
    skdiscrepancy.plotting.BandwidthDisplay : Draws the statistics.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import MMDEstimator
    >>> X = np.random.RandomState(0).normal(size=(50, 2))
    >>> result = MMDEstimator().fit(X[:25]).evaluate(X[25:] + 1)
    >>> round(result.value, 3), len(result.kernels)
    (0.345, 20)
    """

    value: float
    statistics: np.ndarray
    scales: np.ndarray
    kernels: list[Any]
    discrepancy: str = "discrepancy"
    feature_errors: np.ndarray | None = None
    uncertainty: Uncertainty | NormalUncertainty | str | None = None
    chosen: int | None = None

    _display = "BandwidthDisplay"
    _shown_first = "largest normalised statistics"
    _raises = True

    @property
    def _normalized(self) -> np.ndarray:
        # The scale and the statistic of constant data are 0.
        zeros = np.zeros(len(self.statistics))
        positive = self.scales > 0
        return np.divide(self.statistics, self.scales, out=zeros, where=positive)

    @property
    def standard_error(self) -> float:
        """Standard error from the sampling of the rows, for fixed kernels.

        For "fuse" and "max", it belongs to ``kernels[chosen]``, not to `value`. Near
        the null hypothesis, use `confidence_interval`.
        """
        return self._known_uncertainty().standard_error

    def confidence_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval of the discrepancy of the distributions.

        For "fuse" and "max", it belongs to ``kernels[chosen]``, not to `value`.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability that the interval contains the true value.

        Returns
        -------
        low, high : float
            Bounds. `low` is 0 if no discrepancy is plausible.

        Examples
        --------
        >>> import numpy as np
        >>> from skdiscrepancy import MMDEstimator
        >>> rng = np.random.RandomState(0)
        >>> X, Y = rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 1
        >>> mmd = MMDEstimator(pooling="mean", normalize=False).fit(X)
        >>> low, high = mmd.evaluate(Y).confidence_interval()
        >>> round(low, 2), round(high, 2)
        (0.06, 0.17)
        """
        confidence = check_level(confidence, "confidence")
        return self._known_uncertainty().interval(confidence)

    def pvalue_above(self, delta: float) -> float:
        """Compute a p-value of the hypothesis that the discrepancy is at most delta.

        With many rows, even a negligible discrepancy is significant. This one-sided
        test is approximate. It needs one kernel, or ``pooling="mean"``.

        Parameters
        ----------
        delta : float
            Largest `value` that does not matter.

        Returns
        -------
        pvalue : float
            Small if the discrepancy is larger than `delta`.
        """
        delta = check_number(delta, "delta", strict=True)
        if self.chosen is not None:
            raise ValueError(
                f"The discrepancy pools {len(self.kernels)} kernels by 'fuse' or "
                "'max', must be of one kernel, or have pooling='mean', for a p-value."
            )
        return self._known_uncertainty().pvalue_above(delta)

    def _known_uncertainty(self) -> Uncertainty | NormalUncertainty:
        found = self.uncertainty
        if isinstance(found, (Uncertainty, NormalUncertainty)):
            return found
        raise UnavailableError(found or "This result has no standard error.")

    def _summary(self) -> dict[str, Any]:
        summary = {"value": self.value, "discrepancy": self.discrepancy}
        if isinstance(self.uncertainty, (Uncertainty, NormalUncertainty)):
            error = self.uncertainty.standard_error
            summary = {"value": self.value, "standard_error": error, **summary}
            if self.chosen is not None:
                summary["chosen"] = self.chosen
        return {**summary, **self._effect_words()}

    def _columns(self) -> dict[str, Any]:
        errors = self.feature_errors
        return {
            **kernel_columns(self.kernels),
            "statistic": self.statistics,
            "scale": self.scales,
            "normalized_statistic": self._normalized,
            **({} if errors is None else {"feature_error": errors}),
        }

    def _priorities(self) -> np.ndarray:
        return -self._normalized


def check_level(level: Any, name: str = "level") -> float:
    """Return a level, or raise an error unless it is above 0 and below 1."""
    level = check_number(level, name, strict=True, context=" and < 1")
    if level >= 1:
        raise ValueError(f"{name} == {level}, must be a finite number > 0 and < 1.")
    return level


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonResult(Result):
    """Comparison of two or more candidates by their scores.

    For two candidates, read `difference` and `pvalue`, for more candidates `best_set`.

    Read more in the :ref:`User Guide <uncertainty>`.

    Attributes
    ----------
    names : list of length n_candidates
        Names of the candidates.
    scores : ndarray of shape (n_candidates,)
        Score of each candidate.
    standard_errors : ndarray of shape (n_candidates,)
        Standard error of each score.
    differences : ndarray of shape (n_candidates, n_candidates)
        Score of the row minus score of the column.
    difference_errors : ndarray of shape (n_candidates, n_candidates)
        Standard errors of the differences.
    discrepancy : str
        Name of the score.
    larger_is_better : bool
        Whether the best candidate has the largest score.
    n_degrees : ndarray of shape (n_candidates, n_candidates) or None
        Degrees of freedom, None for normal differences.

    See Also
    --------
    skdiscrepancy.mmd_compare : Computes the result.
    skdiscrepancy.plotting.ComparisonDisplay : Draws the scores.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_compare
    >>> rng = np.random.RandomState(0)
    >>> X, Y, Z = rng.normal(size=(3, 200, 2)) + np.reshape([0, 0.2, 1], (3, 1, 1))
    >>> result = mmd_compare(X, Y, Z, names=["near", "far"])
    >>> result.best, result.best_set()
    ('near', ['near'])
    >>> result.difference < 0, result.pvalue < 0.001
    (True, True)
    """

    names: list[Any]
    scores: np.ndarray
    standard_errors: np.ndarray
    differences: np.ndarray
    difference_errors: np.ndarray
    discrepancy: str = "score"
    larger_is_better: bool = False
    n_degrees: np.ndarray | None = None
    _effects: list[Effect] = field(default_factory=list)

    _display = "ComparisonDisplay"
    _item = "candidate"
    _index = "candidate"
    _repr_rows = 10

    @classmethod
    def of(
        cls,
        names: list[Any],
        candidates: list[Projections],
        discrepancy: str,
        effects: list[Effect],
        *,
        larger_is_better: bool = False,
    ) -> ComparisonResult:
        """Compare statistics by the differences of their projections."""
        n, scores = len(candidates), np.array([c.value for c in candidates])
        variances, degrees = np.zeros((n, n)), np.ones((n, n))
        for i in range(n):
            for j in range(i):
                both = (candidates[i] - candidates[j]).under_equality()
                variances[i, j], degrees[i, j] = both
                variances[j, i], degrees[j, i] = both
        errors = np.sqrt([c.variance for c in candidates])
        differences = np.subtract.outer(scores, scores)
        numbers = scores, errors, differences, np.sqrt(variances)
        return cls(names, *numbers, discrepancy, larger_is_better, degrees, effects)

    @cached_property
    def effect_sizes(self) -> np.ndarray | None:
        """Effect size of each candidate, NaN if it has none; None for a search."""
        return sizes_of(self._effects) if self._effects else None

    @property
    def difference(self) -> float:
        """Score of the first minus score of the second of two candidates."""
        return self._of_two(self.differences)

    @property
    def standard_error(self) -> float:
        """Standard error of `difference`."""
        return self._of_two(self.difference_errors)

    @property
    def pvalue(self) -> float:
        """Two-sided p-value of equal scores of two candidates."""
        return min(2 * min(self.pvalue_less, self.pvalue_greater), 1.0)

    @property
    def pvalue_less(self) -> float:
        """One-sided p-value, small if the first candidate has the smaller score."""
        return self._of_two(self._tails(1.0))

    @property
    def pvalue_greater(self) -> float:
        """One-sided p-value, small if the first candidate has the larger score."""
        return self._of_two(self._tails(-1.0))

    def confidence_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval of the difference of two candidates.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability that the interval contains the true value.

        Returns
        -------
        low, high : float
            Bounds.
        """
        confidence = check_level(confidence, "confidence")
        quantiles = student.ppf((1 + confidence) / 2, self._degrees)
        width = self._of_two(quantiles) * self.standard_error
        return self.difference - width, self.difference + width

    def pair(self, first: Any, second: Any) -> ComparisonResult:
        """Return the comparison of two of the candidates, without adjustment.

        Parameters
        ----------
        first, second : object
            Names of two candidates.

        Returns
        -------
        result : ComparisonResult
            The two candidates alone.
        """
        places = []
        for name in (first, second):
            if name not in self.names:
                raise ValueError(f"candidate {shown(name)}, must be in {self.names}.")
            places.append(self.names.index(name))
        if places[0] == places[1]:
            raise ValueError(f"second == {shown(second)}, must differ from first.")
        grid = np.ix_(places, places)
        return replace(
            self,
            names=[self.names[i] for i in places],
            scores=self.scores[places],
            standard_errors=self.standard_errors[places],
            differences=self.differences[grid],
            difference_errors=self.difference_errors[grid],
            n_degrees=None if self.n_degrees is None else self.n_degrees[grid],
            _effects=[self._effects[i] for i in places if self._effects],
        )

    @property
    def best(self) -> Any:
        """Name of the candidate with the best score."""
        return self.names[self._order()[0]]

    def best_set(self, level: float = 0.05) -> list[Any]:
        """Return the candidates that cannot be distinguished from the best one.

        It contains the best candidate with a probability of at least 1 - `level`.

        Parameters
        ----------
        level : float, default=0.05
            Significance level.

        Returns
        -------
        names : list
            Names, the best first.
        """
        level = check_level(level)
        adjusted = self.adjusted_pvalues
        return [self.names[i] for i in self._order() if adjusted[i] > level]

    @property
    def adjusted_pvalues(self) -> np.ndarray:
        """Smallest Holm-adjusted p-value of each candidate against a better one."""
        n = len(self.names)
        sign = -1.0 if self.larger_is_better else 1.0
        # Small if the candidate of the row is worse than the candidate of the column.
        worse = self._tails(-sign)
        pairs = ~np.eye(n, dtype=bool)
        adjusted = np.ones((n, n))
        adjusted[pairs] = holm(worse[pairs])
        return adjusted.min(axis=1)

    def _tails(self, sign: float) -> np.ndarray:
        """Return the probability of differences, times a sign, at most as large."""
        differences, errors = sign * self.differences, self.difference_errors
        zeros = np.zeros_like(differences)
        z = np.divide(differences, errors, out=zeros, where=errors > 0)
        # Differences without an error, as of equal candidates, are exact.
        exact = (errors <= 0) & (differences != 0)
        z[exact] = np.copysign(np.inf, differences[exact])
        return np.asarray(student.cdf(z, self._degrees))

    @property
    def _degrees(self) -> np.ndarray:
        # The limit of Student's t distribution is the normal distribution.
        if self.n_degrees is None:
            return np.full_like(self.differences, np.inf)
        return self.n_degrees

    def _of_two(self, matrix: np.ndarray) -> float:
        """Return the entry of the first of two candidates against the second."""
        if len(self.names) != 2:
            raise UnavailableError(
                f"There are {len(self.names)} candidates, must be 2 for one "
                "difference. Call pair(first, second) with the names of two "
                f"candidates of {self.names}, or to_frame()."
            )
        return float(matrix[0, 1])

    def _order(self) -> np.ndarray:
        """Return the candidates in the order of the table, the best first."""
        keys = -self.scores if self.larger_is_better else self.scores
        return np.argsort(keys, kind="stable")

    def _summary(self) -> dict[str, Any]:
        if len(self.names) == 2:
            return {
                "difference": self.difference,
                "standard_error": self.standard_error,
                "pvalue": self.pvalue,
            }
        return {"best": self.best, "discrepancy": self.discrepancy}

    def _columns(self) -> dict[str, Any]:
        order, sizes = self._order(), self.effect_sizes
        best = order[0]
        return {
            "candidate": [self.names[i] for i in order],
            "score": self.scores[order],
            "standard_error": self.standard_errors[order],
            "difference": self.differences[order, best],
            "difference_error": self.difference_errors[order, best],
            "adjusted_pvalue": self.adjusted_pvalues[order],
            **({} if sizes is None else {"effect_size": sizes[order]}),
        }


def check_names(names: Any, n: int, default: str) -> list[Any]:
    """Return the names of n candidates, which must differ."""
    if names is None:
        return [f"{default}{i}" for i in range(n)]
    if isinstance(names, (str, bytes)) or not hasattr(names, "__len__"):
        raise TypeError(f"names == {shown(names)}, must be None or {n} names.")
    found = list(names)
    if len(found) != n or len({*map(str, found)}) != n:
        raise ValueError(
            f"names == {shown(names)}, must be None or {n} different names, one for "
            "each candidate."
        )
    return found


def holm(pvalues: np.ndarray) -> np.ndarray:
    """Adjust p-values by Holm's method."""
    return step_down(pvalues, np.arange(len(pvalues), 0, -1))


def step_down(pvalues: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Multiply increasing p-values by factors, and keep their order, at most 1."""
    order = np.argsort(pvalues, kind="stable")
    adjusted = np.empty(len(pvalues))
    raised = np.maximum.accumulate(pvalues[order] * factors)
    adjusted[order] = np.minimum(raised, 1)
    return adjusted
