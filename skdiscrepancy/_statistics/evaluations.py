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
    """An effect size, computed when you first ask for it.

    Parameters
    ----------
    compute : callable
        Returns the normalised discrepancy of one kernel, a DiscrepancyResult, or raises
        a ValueError that says why there is none.
    """

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

        Two normal samples whose means differ by .2, .5, .8 or 2 standard deviations
        have about .06 (small), .16 (medium), .26 (large) and .61. A correlation of .1,
        .3, .5 or .9 has about .04 (small), .13 (medium), .22 (large) and .60.

        It is the same number in all results about the same rows. It does not depend on
        the kernels, the design, the pooling and the number of resamples of your call,
        nor, apart from noise, on the number of rows. It is computed from all rows when
        you first ask for it; see :ref:`effect_size`.

        Returns
        -------
        size : float or None
            The effect size. A test without an effect size has None: tests of several
            samples or variables at once and conditional tests, fewer than 4 rows, and
            constant data.

        Raises
        ------
        ValueError
            If the result of `evaluate` has no effect size. The message says why.
        """
        return self._of_effect(lambda effect: effect.effect_size)

    def effect_interval(self, confidence: float = 0.95) -> Any:
        """Return a confidence interval of the effect size, which contains it.

        The interval treats rows as independent, and samples too.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability that the interval contains the effect size of the distributions,
            above 0 and below 1.

        Returns
        -------
        interval : tuple of two floats, or None
            Bounds of the interval, from 0 to 1. None for a test without an effect size.

        Raises
        ------
        ValueError
            If the result of `evaluate` has no effect size. The message says why.

        Examples
        --------
        >>> import numpy as np
        >>> from skdiscrepancy import mmd_test
        >>> rng = np.random.RandomState(0)
        >>> X, Y = rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 1
        >>> result = mmd_test(X, Y, random_state=0)
        >>> low, high = result.effect_interval()
        >>> round(low, 2), round(result.effect_size, 2), round(high, 2)
        (0.25, 0.36, 0.46)
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

    The method `evaluate` of an estimator returns this result. It holds the pooled
    discrepancy and the statistics that were pooled [1]_, so you can see which kernels
    and bandwidths detect a difference. A notebook shows it as a table. Two results are
    equal if all their attributes are equal.

    The frame of :meth:`to_frame` has one row for each kernel, with `kernel`,
    `bandwidth` (NaN for a kernel without one), `statistic`, `scale` and
    `normalized_statistic`, for HSIC also `target_kernel` and `target_bandwidth`, and
    with random features `feature_error`. The method :meth:`plot` draws the statistics
    against the bandwidths, a :class:`~skdiscrepancy.plotting.BandwidthDisplay`.

    Read more in the :ref:`User Guide <score>`.

    Attributes
    ----------
    value : float
        The discrepancy, the number that `score` returns.
    statistics : ndarray of shape (n_kernels,)
        The statistic S_k of each kernel before normalisation, or the square root of
        the statistic if `squared` is False.
    scales : ndarray of shape (n_kernels,)
        The scale sigma_k of each kernel. The scale of constant data is 0. All scales
        are 1 if `normalize` is False.
    kernels : list of length n_kernels
        The kernels. For HSIC, each entry is a pair of a kernel on X and a kernel on y.
    discrepancy : str
        Name of the discrepancy: "MMD", "HSIC" or "KSD".
    feature_errors : ndarray of shape (n_kernels,) or None
        Standard error of each statistic from the draw of random features, usually an
        upper bound, and infinity for ``n_components=2``, because a single draw has no
        standard error. The standard error from the data is sigma_k / sqrt(n). None if
        the estimator has no `n_components`.
    uncertainty : object or None
        The numbers behind `standard_error` and `confidence_interval`, or a text that
        says why there are none.
    chosen : int or None
        Position of the kernel of `standard_error` and `confidence_interval` among
        `kernels`: the kernel with the largest normalised statistic if the pooling is
        "fuse" or "max". None if they are those of `value`.

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
    >>> result = MMDEstimator().fit(X[:25]).evaluate(X[25:] + 1)
    >>> round(result.value, 3), len(result.kernels)
    (0.345, 20)

    The kernel that shows the largest difference:

    >>> best = (result.statistics / result.scales).argmax()
    >>> type(result.kernels[best]).__name__
    'GaussianKernel'
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
        """Standard error from the sampling of the rows.

        For one kernel, or for several kernels with ``pooling="mean"``, it is the
        standard error of `value`. With the pooling "fuse" or "max", it is the standard
        error of a single kernel, the kernel with the largest normalised statistic,
        which the repr names. A maximum over kernels itself is not normal. You get a
        standard error for the designs "u", "v" and "x". The kernels count as fixed,
        although their bandwidths may come from the data.

        Returns
        -------
        error : float
            The standard error. Near the null hypothesis, where the statistic is not
            normal, use `confidence_interval`.

        Raises
        ------
        ValueError
            If this discrepancy has no standard error. The message says why, and what to
            pass to the estimator.
        """
        return self._known_uncertainty().standard_error

    def confidence_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval of the discrepancy of the distributions.

        The interval contains the discrepancy between the distributions behind the rows
        with about the probability `confidence`. It is never below zero, and it starts
        at zero if the data are compatible with no discrepancy. It is not symmetric
        around `value` if `value` is close to zero, where the statistic is skewed. For
        the V-statistic, the interval takes the bias of `value` into account. With the
        pooling "fuse" or "max", the interval is that of the discrepancy of a single
        kernel, ``kernels[chosen]``. If there is no discrepancy and ``normalize=False``,
        the choice of the largest statistic lowers the coverage of 95 % to about 92 %.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability that the interval contains the discrepancy, above 0 and below 1.

        Returns
        -------
        low, high : float
            Bounds of the interval.

        Raises
        ------
        ValueError
            If this discrepancy has no standard error. The message says why, and what to
            pass to the estimator.

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

        With many rows, even a negligible difference is significant. This test asks
        whether the discrepancy of the distributions is larger than a number that you
        choose. It is the one-sided test that belongs to `confidence_interval`, from the
        same estimate of the noise, and not exact: with 100 rows or more, it rejected a
        true null hypothesis at .05 in at most 6 % of 2000 draws.

        Parameters
        ----------
        delta : float
            Largest discrepancy that does not matter, in units of `value`, above 0. For
            no discrepancy at all, use a test such as :func:`~skdiscrepancy.mmd_test`.

        Returns
        -------
        pvalue : float
            The p-value. If it is small, the discrepancy is larger than `delta`.

        Raises
        ------
        ValueError
            If `value` pools several kernels other than by their mean, or has no
            standard error.

        Examples
        --------
        >>> import numpy as np
        >>> from skdiscrepancy import MMDEstimator
        >>> rng = np.random.RandomState(0)
        >>> X, Y = rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 1
        >>> mmd = MMDEstimator(pooling="mean", normalize=False).fit(X)
        >>> result = mmd.evaluate(Y)
        >>> result.pvalue_above(0.01) < 0.001, result.pvalue_above(0.1) < 0.05
        (True, False)
        """
        delta = check_number(delta, "delta", strict=True)
        if self.chosen is not None:
            raise ValueError(
                f"The discrepancy pools {len(self.kernels)} kernels by a maximum, must "
                "be of one kernel, or of several with pooling='mean', for a p-value."
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
    context = ", 0 and 1 excluded"
    level = check_number(level, name, strict=True, most=1, context=context)
    if level >= 1:
        raise ValueError(f"{name} == {level}, must be > 0 and < 1.")
    return level


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonResult(Result):
    """Comparison of two or more candidates by their scores.

    The scores of candidates are computed on shared rows, so their differences have
    smaller standard errors than the scores [1]_. With two candidates, the attributes
    `difference`, `standard_error` and `pvalue` compare the first with the second. With
    more candidates, call :meth:`pair`, or read the table, which holds the difference of
    each candidate to the best one, and a p-value that is adjusted for the number of
    comparisons [2]_. Two results are equal if all their attributes are equal.

    The frame of :meth:`to_frame` has one row for each candidate, the best first, with
    the names as index. Its columns are `score`, its `standard_error`, the `difference`
    to the best candidate, the standard error of this difference as `difference_error`,
    `adjusted_pvalue`, which is small if some other candidate is better, and the
    :ref:`effect_size <effect_size>`, if candidates have one. The method :meth:`plot`
    draws the differences with intervals, a
    :class:`~skdiscrepancy.plotting.ComparisonDisplay`.

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
        Score of the candidate of the row minus score of the candidate of the column.
    difference_errors : ndarray of shape (n_candidates, n_candidates)
        Standard errors of the differences, for candidates with equal scores.
    discrepancy : str
        What the scores are: "MMD", "HSIC", "KSD", or the name of another score.
    larger_is_better : bool
        Whether the best candidate has the largest score.
    n_degrees : ndarray of shape (n_candidates, n_candidates) or None
        Degrees of freedom of Student's t distribution of the differences over their
        standard errors. None for a normal distribution.

    See Also
    --------
    skdiscrepancy.mmd_compare : Compares samples by their distance to a sample.
    skdiscrepancy.hsic_compare : Compares variables by the dependence of y on them.
    skdiscrepancy.ksd_compare : Compares models by their fit.
    skdiscrepancy.model_checking.search_compare : Compares the candidates of a search.
    skdiscrepancy.plotting.ComparisonDisplay : Draws the differences to the best.

    References
    ----------
    .. [1] W. Bounliphone et al., "A test of relative similarity for model selection in
       generative models", ICLR 2016.
    .. [2] S. Holm, "A simple sequentially rejective multiple test procedure",
       Scandinavian Journal of Statistics 6, 1979.

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
        """Compare statistics by the differences of their projections.

        Parameters
        ----------
        names : list of length n_candidates
            Names of the candidates.
        candidates : list of Projections
            Statistics of the candidates.
        discrepancy : str
            Name of the discrepancy.
        effects : list of Effect
            Effect sizes of the candidates.
        larger_is_better : bool, default=False
            Whether the best candidate has the largest score.

        Returns
        -------
        result : ComparisonResult
            Result.
        """
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
        """Effect size of each candidate; see :ref:`effect_size`.

        NaN for a candidate without an effect size, such as a constant sample. None for
        the candidates of a search.
        """
        return sizes_of(self._effects) if self._effects else None

    @property
    def difference(self) -> float:
        """Score of the first candidate minus score of the second, of two candidates."""
        return self._of_two(self.differences)

    @property
    def standard_error(self) -> float:
        """Standard error of `difference`."""
        return self._of_two(self.difference_errors)

    @property
    def pvalue(self) -> float:
        """Two-sided p-value: the probability of a difference of at least this size.

        It is a probability under the null hypothesis that both candidates have the same
        discrepancy.
        """
        return min(2 * min(self.pvalue_less, self.pvalue_greater), 1.0)

    @property
    def pvalue_less(self) -> float:
        """One-sided p-value; if small, the first candidate has the smaller score."""
        return self._of_two(self._tails(1.0))

    @property
    def pvalue_greater(self) -> float:
        """One-sided p-value; if small, the first candidate has the larger score."""
        return self._of_two(self._tails(-1.0))

    def confidence_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval of the difference of two candidates.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability that the interval contains the difference, above 0 and below 1.

        Returns
        -------
        low, high : float
            Bounds of the interval.
        """
        confidence = check_level(confidence, "confidence")
        quantiles = student.ppf((1 + confidence) / 2, self._degrees)
        width = self._of_two(quantiles) * self.standard_error
        return self.difference - width, self.difference + width

    def pair(self, first: Any, second: Any) -> ComparisonResult:
        """Return the comparison of two of the candidates.

        Parameters
        ----------
        first, second : object
            Names of two candidates.

        Returns
        -------
        result : ComparisonResult
            Comparison of these two. Its p-values are not adjusted for the number of
            candidates.
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

        A candidate is left out if some other candidate is significantly better. All
        pairs of candidates are tested in both directions, with Holm's correction. So
        the candidate that is truly the best is in this set with a probability of at
        least 1 - `level`, although the best candidate is chosen from the same data.

        Parameters
        ----------
        level : float, default=0.05
            Significance level, above 0 and below 1.

        Returns
        -------
        names : list
            Names of the candidates, the best score first.
        """
        level = check_level(level)
        adjusted = self.adjusted_pvalues
        return [self.names[i] for i in self._order() if adjusted[i] > level]

    @property
    def adjusted_pvalues(self) -> np.ndarray:
        """Smallest p-value of each candidate against a better one.

        The p-values are adjusted by Holm's method for all pairs in both directions.
        """
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
    """Multiply p-values by factors in increasing order, and keep this order.

    Parameters
    ----------
    pvalues : ndarray of shape (n_tests,)
        The p-values.
    factors : ndarray of shape (n_tests,)
        Factor of the smallest p-value, of the second smallest, and so on.

    Returns
    -------
    adjusted : ndarray of shape (n_tests,)
        Adjusted p-values, at most 1.
    """
    order = np.argsort(pvalues, kind="stable")
    adjusted = np.empty(len(pvalues))
    raised = np.maximum.accumulate(pvalues[order] * factors)
    adjusted[order] = np.minimum(raised, 1)
    return adjusted
