"""Test of several samples, and the tests of all pairs of them."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data.arrays import (
    as_array,
    encode_labels,
    names_of,
    refuse_blocks,
    refuse_missing,
)
from skdiscrepancy._data.checks import RUN, draw_seeds, shown, takes_parameters_of
from skdiscrepancy._data.frames import as_table, is_table, take_columns
from skdiscrepancy._data.results import Result
from skdiscrepancy._estimators.base import CORRECTIONS, check_correction, collection_of
from skdiscrepancy._estimators.mmd import MMDEstimator, two_sample_test
from skdiscrepancy._estimators.readers import Reader
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.run import in_one_blas_thread, progress
from skdiscrepancy._nulls.groups import permutation_test
from skdiscrepancy._nulls.pvalues import TestResult
from skdiscrepancy._statistics.evaluations import step_down
from skdiscrepancy.designs import CompleteU
from skdiscrepancy.inference._column_tests import adjust_pvalues, resamples
from skdiscrepancy.inference._tests import checked_test, mmd_test
from skdiscrepancy.tables import layout_of

# Unbiased MMD leaves out pairs of equal rows.
MIN_ROWS = 2


def read_k_samples(
    samples: Sequence[Any], groups: Any, reader: Reader
) -> tuple[list[Any], list[Any], Any]:
    """Read several samples, or one table that is divided by its groups.

    Returns the rows and the name of each sample, and the layout of their columns.
    """
    tables, labels = [as_table(sample) for sample in samples], None
    if groups is not None:
        if len(tables) != 1:
            raise ValueError(
                f"k_sample_test got {len(tables)} samples, must be 1 if you pass "
                "`groups`."
            )
        tables[0], labels = _divide(tables[0], groups)
    elif len(tables) < 2:
        raise ValueError(
            f"k_sample_test got {len(tables)} samples, must be >= 2, or one table with "
            "`groups`, the name of a column or one label for each row."
        )
    titles = [f"samples[{i}]" for i in range(len(tables))]
    for table, title in zip(tables, titles, strict=True):
        refuse_blocks(table, title)
        own, first = names_of(table), names_of(tables[0])
        if own and first and own != first:
            raise ValueError(
                f"{title} has the columns {shown(own)}, must have the columns of "
                f"samples[0] in the same order, {shown(first)}."
            )
    rows, names = reader.together(tables, titles), list(range(len(tables)))
    _check_sizes(rows, titles)
    if labels is not None:
        rows, names = _parts(rows[0], labels)
        _check_sizes(rows, [f"The group {shown(name)} of `groups`" for name in names])
    return rows, names, layout_of(reader.encoder_, tables[0])


def _divide(table: Any, groups: Any) -> tuple[Any, np.ndarray]:
    """Return the table without the column of groups, and the label of each row."""
    if is_table(table) and isinstance(groups, (str, int)):
        names = names_of(table)
        if groups not in names:
            raise ValueError(
                f"groups == {groups!r}, must be a column of samples[0], one of "
                f"{shown(names)}, or one label for each row."
            )
        rest = [name for name in names if name != groups]
        if not rest:
            raise ValueError(
                f"samples[0] has no columns beside groups == {groups!r}, must have at "
                "least one."
            )
        labels, table = table[groups], take_columns(table, rest)
    elif isinstance(groups, (str, int)):
        raise ValueError(
            f"groups == {groups!r}, must be one label for each row, because samples[0] "
            "is not a DataFrame with columns of that name."
        )
    else:
        labels = groups
    refuse_blocks(table, "samples[0]")
    found = as_array(labels, "groups")
    if found.ndim != 1 or not len(found):
        raise ValueError(
            f"groups has shape {found.shape}, must have one label for each row."
        )
    refuse_missing(found, "groups")
    return table, found


def _parts(rows: Any, labels: np.ndarray) -> tuple[list[Any], list[Any]]:
    """Return the rows of each label, and the labels, sorted if possible."""
    if len(labels) != len(rows):
        raise ValueError(
            f"groups has {len(labels)} labels, must have one for each of the "
            f"{len(rows)} rows of samples[0]."
        )
    codes = encode_labels(labels[:, np.newaxis])
    found, first = np.unique(codes, return_index=True)
    names = [labels[i] for i in first]
    names = [name.item() if isinstance(name, np.generic) else name for name in names]
    if len(names) < 2:
        raise ValueError(
            f"groups has only the label {shown(names[0])}, must have at least two "
            "different labels."
        )
    try:
        order = sorted(range(len(names)), key=lambda i: names[i])
    except TypeError:
        # Labels of several types stay in the order of their first rows.
        order = np.argsort(first).tolist()
    parts = [rows[np.flatnonzero(codes == found[i])] for i in order]
    return parts, [names[i] for i in order]


def _check_sizes(samples: list[Any], titles: list[str]) -> None:
    """Refuse samples that have too few rows."""
    for rows, title in zip(samples, titles, strict=True):
        if len(rows) < MIN_ROWS:
            raise ValueError(
                f"{title} has {len(rows)} rows, must have at least {MIN_ROWS} for a "
                "test."
            )


@dataclass(frozen=True, eq=False, repr=False)
class KSampleResult(Result):
    """Test of several samples, and the tests of all pairs of them.

    :func:`~skdiscrepancy.k_sample_test` returns this result. The p-values of the pairs
    are corrected for their number, by default with the procedure of Shaffer [1]_. You
    can unpack the test of all samples as ``statistic, pvalue = result``. Two results
    are equal if all their attributes are equal.

    The frame of :meth:`to_frame` has one row for each pair, in the order of `pairs`.
    The columns are `first` and `second`, the names of the samples, `first_size` and
    `second_size`, their numbers of rows, `statistic`, `pvalue` and `adjusted_pvalue`.
    The method :meth:`plot` draws a heat map of the pairs, a
    :class:`~skdiscrepancy.plotting.KSampleDisplay`.

    Read more in the :ref:`User Guide <many_variables>`.

    Attributes
    ----------
    statistic : float
        Pooled statistic of all samples.
    pvalue : float
        p-value of the null hypothesis that all samples have the same distribution.
    sample_names : list of length n_samples
        Names of the samples: their positions, or the labels of the groups.
    sizes : list of int
        Rows of the samples.
    pairs : list of tuple of int
        Positions of both samples of each pair.
    statistics : ndarray of shape (n_pairs,)
        Pooled statistic of each pair, in standard deviations of its permutations.
    pvalues : ndarray of shape (n_pairs,)
        p-value of each pair.
    adjusted_pvalues : ndarray of shape (n_pairs,)
        The p-values, corrected for the number of pairs.
    correction : {"shaffer", "holm", "bh", "by"} or None
        Correction for the number of pairs.
    overall : TestResult
        Result of the test of all samples, with its null distribution and kernels.
    results : list of TestResult
        Result of the test of each pair.

    See Also
    --------
    skdiscrepancy.k_sample_test : Computes the result.
    skdiscrepancy.plotting.KSampleDisplay : Draws the pairs.

    References
    ----------
    .. [1] J. P. Shaffer, "Modified sequentially rejective multiple test procedures",
       Journal of the American Statistical Association 81, 1986.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import k_sample_test
    >>> rng = np.random.RandomState(0)
    >>> a, b, c = rng.normal(size=(3, 60, 2))
    >>> result = k_sample_test(a, b, c + 1, random_state=0)
    >>> statistic, pvalue = result
    >>> pvalue
    0.001
    >>> result.to_frame()["adjusted_pvalue"].round(3).tolist()
    [0.716, 0.003, 0.003]
    """

    statistic: float
    pvalue: float
    sample_names: list[Any]
    sizes: list[int]
    pairs: list[tuple[int, int]]
    statistics: np.ndarray
    pvalues: np.ndarray
    adjusted_pvalues: np.ndarray
    correction: str | None
    overall: TestResult
    results: list[TestResult]

    _display = "KSampleDisplay"
    _item = "pair"
    _shown_first = "smallest p-values"
    _repr_rows = 10

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def _summary(self) -> dict[str, Any]:
        return {
            "statistic": self.statistic,
            "pvalue": self.pvalue,
            "correction": self.correction,
        }

    def _columns(self) -> dict[str, Any]:
        first, second = zip(*self.pairs, strict=True)
        names, sizes = self.sample_names, self.sizes
        return {
            "first": [names[a] for a in first],
            "second": [names[b] for b in second],
            "first_size": np.array([sizes[a] for a in first]),
            "second_size": np.array([sizes[b] for b in second]),
            "statistic": self.statistics,
            "pvalue": self.pvalues,
            "adjusted_pvalue": self.adjusted_pvalues,
        }

    def _priorities(self) -> np.ndarray:
        return self.pvalues


@takes_parameters_of(
    mmd_test,
    names="groups correction kernel bandwidth n_resamples n_groups pooling encoder "
    + RUN,
)
@in_one_blas_thread
def k_sample_test(
    *samples: ArrayLike,
    groups: Any = None,
    correction: str | None = "shaffer",
    n_resamples: int | None = None,
    **params: Any,
) -> KSampleResult:
    """Test whether several samples have the same distribution, and which pairs differ.

    A small `pvalue` of the result means that at least two of the samples differ. Its
    `adjusted_pvalues` say which pairs differ. All tests can detect any difference, not
    only of the means, and their false positive rates (type I errors) are exact.

    The statistic of the first test is the mean of the unbiased squared MMD of all pairs
    of samples, weighted by the products of their sizes. With the energy kernel it is
    the statistic of DISCO [1]_. Permutations of all rows give its p-value. With two
    samples, it is the test of :func:`mmd_test`.

    Each pair then has its own test, which permutes the rows of these two samples only.
    Permutations of all samples would not do: if one sample differs, they mix its rows
    into all others, so that the p-values of the other pairs are wrong. All tests use
    the same kernels, with bandwidths from all rows. The p-values of the pairs are
    corrected for their number, by default with Shaffer's procedure [2]_, which controls
    the probability of any false discovery.

    The rows must be independent of each other. For time series, test pairs by
    :func:`mmd_test` with `block_length`.

    Read more in the :ref:`User Guide <many_variables>`.

    Parameters
    ----------
    *samples : {array-like, sparse matrix} of shape (n_samples, n_features) or \
            (n_samples,)
        Two or more samples with the same columns, which may differ in size, or one
        table together with `groups`.
    groups : str, array-like of shape (n_samples,) or None, default=None
        Name of the column of a DataFrame that says which sample a row belongs to, or
        one label for each row of an array. The samples are in the order of the labels.
    correction : {"shaffer", "holm", "bh", "by"} or None, default="shaffer"
        Correction of the p-values for the number of pairs. "shaffer" and "holm" control
        the probability of any false discovery. "shaffer" is never less powerful,
        because it uses that two samples that equal a third sample are equal. "bh"
        (Benjamini and Hochberg) and "by" (Benjamini and Yekutieli) control the false
        discovery rate. None does not correct.
    kernel : str, kernel object, callable or list, default=("gaussian", "laplace")
        Kernels, as in :func:`mmd_test`. "indicator" compares labels.
    bandwidth : "dyadic", "grid", "median", float or array-like of float, \
            default="dyadic"
        Bandwidths of the kernels that do not have their own, as in :func:`mmd_test`,
        chosen from the rows of all samples.
    n_resamples : int or None, default=None
        Number of permutations of each test. None is 100 times the number of pairs, and
        at least 999, so that p-values can be small enough to pass the correction.
    n_groups : int or None, default=256
        Number of groups of rows to permute if there are more rows. None permutes single
        rows, which takes more time.
    pooling : {"max", "mean", "fuse", "agg"}, default="max"
        How to combine several kernels. "max" takes the largest statistic, "mean" the
        mean, "fuse" a smooth maximum, and "agg" the smallest p-value.
    encoder : "auto", None or transformer, default="auto"
        How to encode tables. "auto" encodes DataFrames that have categories, dates or
        missing values with :class:`~skdiscrepancy.tables.TableEncoder`, and leaves
        complete numbers unchanged. None refuses such DataFrames. A transformer is
        cloned and fitted to the rows of all samples.
    n_jobs : int or None, default=None
        Number of threads. The p-values do not depend on it.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the permutations. None draws new ones in every call. The global generator
        of numpy is never used.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.

    Returns
    -------
    result : KSampleResult
        With `statistic` and `pvalue` of all samples, and statistics, p-values and
        adjusted p-values of all pairs.

    See Also
    --------
    mmd_test : Tests two samples.
    hsic_test : Tests whether the rows depend on a number instead of a group.

    References
    ----------
    .. [1] M. L. Rizzo and G. J. Székely, "DISCO analysis: a nonparametric extension of
       analysis of variance", Annals of Applied Statistics 4, 2010.
    .. [2] J. P. Shaffer, "Modified sequentially rejective multiple test procedures",
       Journal of the American Statistical Association 81, 1986.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import k_sample_test
    >>> rng = np.random.RandomState(0)
    >>> X = rng.normal(size=(150, 2))
    >>> clinic = np.repeat(["east", "north", "west"], 50)
    >>> X[clinic == "west"] *= 3
    >>> result = k_sample_test(X, groups=clinic, random_state=0)
    >>> result.pvalue
    0.001
    >>> [result.sample_names[a] for a, b in result.pairs if b == 2]
    ['east', 'north']
    >>> (result.adjusted_pvalues < 0.05).tolist()
    [False, True, True]
    """
    check_correction(correction, ("shaffer", *CORRECTIONS))
    params["n_resamples"] = resamples(1) if n_resamples is None else n_resamples
    estimator, settings = checked_test(MMDEstimator, params)
    reader = Reader(settings.kernels, encoder=estimator.encoder)
    rows, names, layout = read_k_samples(samples, groups, reader)
    pairs = list(combinations(range(len(rows)), 2))
    options = settings.options
    if n_resamples is None:
        options = options._replace(n_resamples=resamples(len(pairs)))
    collection = collection_of(estimator, rows, settings.kernels, layout)
    options = options.ready(collection, estimator.random_state, estimator._run)
    # A test takes time with the square of the number of rows.
    sizes = list(map(len, rows))
    work = [float(sizes[a] + sizes[b]) ** 2 for a, b in pairs]
    of_all = float(sum(sizes)) ** 2
    with progress("tests of samples", of_all + sum(work), estimator.verbose) as line:
        line.step = of_all
        # Groups must hold random rows, because neighbouring rows may be similar.
        mixed = [part[options.generator.permutation(len(part))] for part in rows]
        overall = permutation_test(gram(collection, *mixed), sizes, options)
        line.advance()
        results = [overall] if len(pairs) == 1 else []
        seeds = [] if results else draw_seeds(options.generator, len(pairs))
        for (a, b), seed, step in zip(pairs, seeds, work, strict=False):
            line.step = step
            own = options.ready(collection, seed, options.run)
            both = rows[a], rows[b]
            results.append(two_sample_test(*both, CompleteU(), own, paired=False))
            line.advance()
    pvalues = np.array([result.pvalue for result in results])
    if correction == "shaffer":
        adjusted = shaffer_pvalues(pvalues, len(rows))
    else:
        adjusted = adjust_pvalues(pvalues, correction)
    return KSampleResult(
        statistic=overall.statistic,
        pvalue=overall.pvalue,
        sample_names=names,
        sizes=sizes,
        pairs=pairs,
        statistics=np.array([result.statistic for result in results]),
        pvalues=pvalues,
        adjusted_pvalues=adjusted,
        correction=correction,
        overall=overall,
        results=results,
    )


def shaffer_pvalues(pvalues: np.ndarray, n_samples: int) -> np.ndarray:
    """Correct the p-values of all pairs of samples by the first procedure of Shaffer.

    Equality of distributions is transitive, so not every number of pairs can be equal:
    if one of three pairs differs, at least one other pair differs too. Where Holm's
    procedure multiplies a p-value with the number of pairs that are not yet rejected,
    this procedure takes the largest possible number of equal pairs among them.

    Parameters
    ----------
    pvalues : ndarray of shape (n_pairs,)
        The p-values of all pairs of samples.
    n_samples : int
        Number of samples.

    Returns
    -------
    adjusted : ndarray of shape (n_pairs,)
        Adjusted p-values.
    """
    possible = np.array(sorted(_numbers_of_equal_pairs(n_samples)))
    left = np.arange(len(pvalues), 0, -1)
    factors = possible[np.searchsorted(possible, left, side="right") - 1]
    return step_down(pvalues, factors)


@cache
def _numbers_of_equal_pairs(n_samples: int) -> frozenset[int]:
    """Return how many pairs of samples can be equal, over all partitions."""
    if n_samples < 2:
        return frozenset({0})
    return frozenset(
        comb(size, 2) + others
        for size in range(1, n_samples + 1)
        for others in _numbers_of_equal_pairs(n_samples - size)
    )
