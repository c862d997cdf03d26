"""Options of tests, and the way from the statistics of resamples to one p-value."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from skdiscrepancy._data.checks import (
    check_number,
    check_value,
    draw_seeds,
    generator_of,
    warn_user,
)
from skdiscrepancy._gram.run import QUIET, Run, one_openmp_thread, run_all
from skdiscrepancy._nulls.row_order import rows_of_blocks, warn_if_dependent
from skdiscrepancy._statistics.evaluations import SizedResult
from skdiscrepancy._statistics.second_order import check_finite
from skdiscrepancy.kernels._names import kernel_columns
from skdiscrepancy.pooling import TEST_POOLINGS, fuse

# Statistics whose relative difference is below this are equal, because some resamples
# change nothing but rounding.
TIES = 1e-9
# A scale this small, relative to the statistics, counts as zero, because no statistic
# is so many standard deviations away from 0.
VANISHED = 1e-100
# Relative differences of k(x, x) below this are rounding errors.
CONSTANT = 1e-6
# Users are warned of a test that can never reject at this significance level.
LEVEL = 0.05
# What kinds of change the two statistics of two or more samples detect.
CHANGES = ("location or shape", "scale, spread or correlation")


@dataclass(frozen=True, eq=False, repr=False)
class TestResult(SizedResult):
    """Result of a test: the statistic, its p-value and the null distribution.

    You can unpack ``statistic, pvalue = result``. :meth:`to_frame` has a row for each
    kernel. :meth:`plot` draws a
    :class:`~skdiscrepancy.plotting.NullDistributionDisplay`.

    Read more in the :ref:`User Guide <testing>`.

    Attributes
    ----------
    statistic, pvalue : float
        Pooled statistic, and its p-value. Compare `effect_size` between tests.
    null_distribution : ndarray of shape (n_resamples,)
        Pooled statistics of the resamples.
    method : str
        How the null distribution was computed.
    kernels : list of length n_kernels
        Kernels, or pairs of kernels on X and y.
    statistics, pvalues : ndarray of shape (n_kernels,)
        Statistic and adjusted p-value of each kernel.
    null_limit : frozen distribution of :mod:`scipy.stats` or None
        Null distribution of a test without resamples.
    chosen : int or None
        Position in `kernels` of the largest standardised statistic.
    change : {"location or shape", "scale, spread or correlation"} or None
        What mostly changed; meaningful if the test rejects.
    block_length, n_components, n_clusters, n_corrupted : int or None
        Rows per block, numbers of random features, clusters and corrupted rows, if any.

    See Also
    --------
    skdiscrepancy.mmd_test : Tests two samples.
    skdiscrepancy.hsic_test : Tests independence.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.inference import mmd_test
    >>> X, Y = np.random.RandomState(0).normal(size=(2, 30, 1))
    >>> result = mmd_test(X + 1, Y, n_resamples=99, random_state=0)
    >>> statistic, pvalue = result
    >>> round(statistic, 2), pvalue
    (8.57, 0.01)
    >>> low, high = result.effect_interval()
    >>> 0 <= low < result.effect_size < high < 1
    True
    """

    # Not a test for pytest.
    __test__ = False

    statistic: float
    pvalue: float
    null_distribution: np.ndarray
    method: str
    kernels: list[Any]
    statistics: np.ndarray
    pvalues: np.ndarray
    null_limit: Any = None
    chosen: int | None = None
    change: str | None = None
    block_length: int | None = None
    n_components: int | None = None
    n_clusters: int | None = None
    n_corrupted: int | None = None

    _display = "NullDistributionDisplay"
    _shown_first = "smallest p-values"

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            self._refuse()
        return (self.statistic, self.pvalue)[index]

    def _summary(self) -> dict[str, Any]:
        summary: dict[str, Any] = {"statistic": self.statistic, "pvalue": self.pvalue}
        summary |= self._effect_words()
        if self.change and self.pvalue <= LEVEL:
            summary["change"] = self.change
        summary["method"] = self.method
        for name in ("block_length", "n_clusters", "n_components", "n_corrupted"):
            if getattr(self, name) is not None:
                summary[name] = getattr(self, name)
        return summary

    def _columns(self) -> dict[str, Any]:
        return {
            **kernel_columns(self.kernels),
            "statistic": self.statistics,
            "pvalue": self.pvalues,
        }

    def _priorities(self) -> np.ndarray:
        return self.pvalues


# Groups of rows that are permuted, or share a sign, if there are more rows. A test then
# takes about the time of one score, and its type I error stays exact.
GROUPS = 256
# Groups of a test with corrupted rows. If samples differ much, resamples of few groups
# do too, which would have to be less than what is left beside the corrupted rows.
MANY_GROUPS = 1024


class Options(NamedTuple):
    """Checked options of a test, and what every null distribution needs besides."""

    method: str
    n_resamples: int
    n_groups: int
    pooling: str
    # An integer, "auto" or None.
    block_length: Any = None
    kernels: Any = ()
    generator: Any = None
    run: Run = QUIET
    # A factor of the statistics of all resamples.
    inflation: float = 1.0
    # Number of random features, None for exact kernels.
    n_components: int | None = None
    # Fraction or number of rows that anyone may have changed.
    n_corrupted: float = 0
    # What the user passed, then the cluster of each row of every sample, then the first
    # row of each cluster in the order of the test, and the number of rows.
    clusters: Any = None
    # Keys of groups of the first sample that several tests share, see `shared_keys`,
    # and what draws the other keys of this test.
    shared: Any = None

    @property
    def units(self) -> str:
        """What the test resamples."""
        if self.clusters is not None:
            return "clusters"
        return "rows" if self.block_length is None else "blocks"

    @property
    def wants_blocks(self) -> bool:
        """Whether the rows are a series, according to the user."""
        return self.block_length not in (None, 1)

    def with_block_length(
        self, n_rows: int, *samples: np.ndarray | None, **words: Any
    ) -> Options:
        """Return the options with the rows of a block, or warn if rows clearly depend.

        Shifts do not need independent rows.
        """
        length = None
        if self.wants_blocks:
            length = rows_of_blocks(self.block_length, n_rows, *samples)
        elif self.block_length is None and self.method != "shift":
            warn_if_dependent(*samples, **words)
        return self._replace(block_length=length)

    def with_corrupted(self, n_rows: int, most: float) -> Options:
        """Return the options with a number of corrupted rows, at most so many."""
        given = self.n_corrupted
        number = int(np.ceil(round(given * n_rows, 9))) if given < 1 else int(given)
        if number > most:
            found = f" is {number} rows" if given < 1 else ""
            raise ValueError(
                f"n_corrupted == {given}{found}, must be at most "
                f"{int(most)} rows for samples of this size. With more corrupted rows "
                "the test cannot reject, for any data."
            )
        return self._replace(n_corrupted=number, n_groups=MANY_GROUPS)

    def ready(self, kernels: list[Any], random_state: Any, run: Run) -> Options:
        """Return the options with the kernels, the generator of resamples and a run."""
        generator = generator_of(random_state)
        return self._replace(kernels=kernels, generator=generator, run=run)


# Options of every test.
OPTIONS = ("method", "n_resamples", "pooling", "block_length")


def check_options(
    allowed: tuple[str, ...],
    for_blocks: tuple[str, ...] = (),
    setting: str = "this design",
    *,
    method: str = "auto",
    n_resamples: int = 999,
    pooling: str = "max",
    block_length: int | str | None = None,
) -> Options:
    """Check the options of a test, where "auto" is the first of the allowed methods.

    `for_blocks` are the methods for a series. `setting` is for the error message.
    """
    block_length = check_value(block_length, "block_length")
    if method != "auto" and method not in allowed:
        raise ValueError(
            f"method == {method!r}, must be one of {('auto', *allowed)} for {setting}."
        )
    if block_length not in (None, 1):
        given = f"block_length == {block_length!r}, must be None for"
        if not for_blocks:
            raise ValueError(
                f"{given} this design. Whole blocks of rows need design='u' or "
                "design='v'."
            )
        if method not in ("auto", *for_blocks):
            raise ValueError(
                f"{given} method == {method!r}. Whole blocks of rows need method to be "
                f"one of {('auto', *for_blocks)}."
            )
        allowed = for_blocks
    n_resamples = check_number(n_resamples, "n_resamples", integer=True, least=1)
    if pooling not in TEST_POOLINGS:
        raise ValueError(f"pooling == {pooling!r}, must be one of {TEST_POOLINGS}.")
    method = allowed[0] if method == "auto" else method
    return Options(method, n_resamples, GROUPS, pooling, block_length)


def lost_squares(
    squares: np.ndarray, n_terms: float, nonzero: Any, dtype: Any = np.float64
) -> np.ndarray:
    """Tell which sums of squares of values that are `nonzero` are not accurate.

    Squares can underflow or overflow although the values do not.
    """
    info = np.finfo(dtype)
    # The error of a square that underflows is at most the smallest normal number.
    least = n_terms * float(info.tiny) / float(info.eps)
    return ~np.isfinite(squares) | ((squares < least) & nonzero)


def refuse(lost: np.ndarray) -> None:
    """Refuse numbers that are too large or too small for floating point."""
    check_finite(np.where(lost, np.nan, 0.0))


def warn_if_powerless(n_distinct: float, resamples: str, of: str = "rows") -> None:
    """Warn if a test of few rows, blocks or clusters cannot reject, for any data.

    `n_distinct` is the number of resamples with different statistics, at most.
    """
    if n_distinct * LEVEL < 1:
        warn_user(
            f"The smallest possible p-value of this test is about {1 / n_distinct:.2g},"
            f" because so few {of} have only {n_distinct:g} different {resamples}. The "
            f"test cannot reject at the significance level {LEVEL}. Pass more "
            f"{'clusters' if of == 'clusters' else 'rows'}"
            f"{', or a smaller block_length' * (of == 'blocks')}."
        )


def combine(values: np.ndarray, scale: Any, options: Options) -> TestResult:
    """Pool the statistics of every resample, and rank the data among the resamples.

    `values` has a row for each kernel, with the data in the first column. A `scale` of
    None is the standard deviation of each row. A kernel whose scale vanishes, or whose
    statistic no resample changes, has the p-value 1 and is not pooled.
    """
    if 1 < values.shape[1] == 1 + options.n_resamples < 1 / LEVEL:
        warn_user(
            f"n_resamples == {options.n_resamples}, must be >= {1 / LEVEL - 1:g} for "
            f"a test that can reject at the significance level {LEVEL}."
        )
    pooling, statistics = options.pooling, check_finite(values)[:, 0].copy()
    # Division by powers of two is exact, and squares of numbers near 1 do not overflow.
    exponents = np.frexp(np.abs(values).max(axis=1))[1]
    values = np.ldexp(values, -exponents[:, np.newaxis])
    deviations = values.std(axis=1)
    scale = deviations if scale is None else np.ldexp(check_finite(scale), -exponents)
    # A kernel that no resample changes carries no information.
    useful = deviations > TIES * np.abs(values).max(axis=1)
    useful &= scale > VANISHED
    pooled, pvalues, chosen = np.zeros(values.shape[1]), np.ones(len(values)), None
    if useful.any():
        values = values[useful]
        z = values - values.mean(axis=1, keepdims=True)
        z /= deviations[useful, np.newaxis]
        chosen = int(np.flatnonzero(useful)[z[:, 0].argmax()])
        scaled = values / scale[useful, np.newaxis]
        pooled = aggregate(z) if pooling == "agg" else POOLED[pooling](scaled)
        largest = z.max(axis=0)
        pvalues[useful] = [rank_pvalue(largest, own) for own in z[:, 0]]
    return TestResult(
        statistic=float(pooled[0]),
        # "agg" pools ranks, which are rounded already.
        pvalue=rank_pvalue(pooled, pooled[0], ties=0 if pooling == "agg" else TIES),
        null_distribution=pooled[1:],
        method=options.method,
        kernels=options.kernels,
        statistics=statistics,
        pvalues=pvalues,
        chosen=chosen,
        block_length=options.block_length,
        n_components=options.n_components,
        n_clusters=None if options.clusters is None else len(options.clusters) - 1,
    )


def corrupted_test(
    values: np.ndarray, sensitivities: np.ndarray, options: Options
) -> TestResult:
    """Test a null hypothesis that holds up to some rows that anyone may have changed.

    One changed row changes the root of a V-statistic by its `sensitivity` or less. So r
    changed rows raise the root of the data, relative to those of resamples, by
    2 r sensitivities or less, which are subtracted [1]_. In units of sensitivities, the
    same is true of the largest root and of the mean root of several kernels. It would
    not be true of roots that are standardised by resamples of corrupted rows.

    References
    ----------
    .. [1] A. Schrab and I. Kim, "Robust kernel hypothesis testing under data
       corruption", AISTATS 2025.
    """
    roots = np.sqrt(np.maximum(check_finite(values), 0))
    observed = roots[:, 0].copy()
    sensitivities = np.broadcast_to(sensitivities, len(roots))
    roots[:, 0] -= 2 * options.n_corrupted * sensitivities
    result = combine(roots, sensitivities, options)
    scaled = roots / sensitivities[:, np.newaxis]
    largest = scaled.max(axis=0)
    return replace(
        result,
        statistics=observed,
        pvalues=np.array([rank_pvalue(largest, own) for own in scaled[:, 0]]),
        chosen=None if result.chosen is None else int(scaled[:, 0].argmax()),
        n_corrupted=int(options.n_corrupted),
    )


def aggregate(z: np.ndarray) -> np.ndarray:
    """Return one minus the smallest p-value of the kernels, for every resample [1]_.

    Among resamples with the same smallest p-value, the one with the largest
    standardised statistic ranks first.

    References
    ----------
    .. [1] A. Schrab et al., "MMD aggregated two-sample test", JMLR 24, 2023.
    """
    n_values = z.shape[1]
    # Values that differ only by rounding are equal.
    size = TIES * np.abs(z).max(axis=1, keepdims=True)
    counts = rankdata(-np.round(z / size), method="max", axis=1)
    least = counts.min(axis=0)
    furthest = np.where(counts == least, z, -np.inf).max(axis=0)
    order = rankdata(np.round(furthest / size.max()), method="max")
    return 1 - (least - order / (1 + n_values)) / n_values


def rank_pvalue(values: np.ndarray, observed: float, ties: float = TIES) -> float:
    """Return the fraction of values that are at least as large as the observed one."""
    check_finite(values)
    tolerance = ties * np.abs(values).max(initial=0.0)
    return float(np.mean(values >= observed - tolerance))


def _smooth_maximum(scaled: np.ndarray) -> np.ndarray:
    # In units of the standard deviation of a statistic. All resamples share it.
    return fuse(scaled, 3 / scaled.std(axis=1).mean())


# Poolings of statistics that are divided by their scales.
POOLED: dict[str, Callable[..., Any]] = {
    "mean": partial(np.mean, axis=0),
    "max": partial(np.max, axis=0),
    "fuse": _smooth_maximum,
}


def parametric_test(
    observed: tuple[np.ndarray, np.ndarray],
    evaluate: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    draw: Callable[[np.random.RandomState], np.ndarray],
    options: Options,
    what: str,
) -> TestResult:
    """Test whether a sample comes from a model, by samples drawn from the model.

    `evaluate` returns the statistics of a sample and the scales that divide them.
    """
    seeds = draw_seeds(options.generator, options.n_resamples)
    work = partial(_of_draw, evaluate, draw)
    answers = run_all(seeds, work, options.run, what=what)
    statistics, scales = np.stack([observed, *answers], axis=-1)
    # A scale is 0 only if its statistic is 0.
    values = np.divide(statistics, scales, out=np.zeros_like(scales), where=scales > 0)
    result = combine(values, np.ones(len(values)), options)
    return replace(result, statistics=observed[0])


def _of_draw(evaluate: Any, draw: Any, seed: int) -> Any:
    """Return the statistics and scales of one sample of the model."""
    # Models that use OpenMP would wait for threads of their own in every thread.
    with one_openmp_thread():
        return evaluate(draw(np.random.RandomState(seed)))
