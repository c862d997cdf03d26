"""Test of the dependence between X and y that other variables do not explain."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from skdiscrepancy._data.arrays import (
    as_array,
    encode_labels,
    is_numeric,
    refuse_blocks,
)
from skdiscrepancy._data.checks import (
    RUN,
    draw_seeds,
    shown,
    takes_parameters_of,
    warn_user,
)
from skdiscrepancy._data.distances import Index
from skdiscrepancy._data.frames import as_table, is_table
from skdiscrepancy._estimators.base import check_parameters
from skdiscrepancy._estimators.hsic import HSICEstimator
from skdiscrepancy._estimators.readers import Reader
from skdiscrepancy._gram.factors import factor_of
from skdiscrepancy._gram.feature_maps import FeatureMaps, Part
from skdiscrepancy._gram.features import FeatureGram
from skdiscrepancy._gram.frequency_groups import ProductMaps
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.pieces import paired_blocks
from skdiscrepancy._gram.run import Run, in_one_blas_thread, run_all
from skdiscrepancy._gram.tiles import Gram, place
from skdiscrepancy._models.regression import (
    Residuals,
    check_regressor,
    residuals_of,
    variance_inflation,
)
from skdiscrepancy._nulls.groups import sign_test
from skdiscrepancy._nulls.pvalues import OPTIONS, Options, TestResult, check_options
from skdiscrepancy._statistics.second_order import check_finite
from skdiscrepancy.bandwidths import median_bandwidth, radial_parts, with_bandwidths
from skdiscrepancy.kernels._base import Kernel, KernelLike
from skdiscrepancy.kernels._radial import GaussianKernel, RadialKernel
from skdiscrepancy.tables import TableEncoder


@dataclass(frozen=True, eq=False, repr=False)
class ConditionalTestResult(TestResult):
    """Result of a conditional test: a test result, and how well Z predicts X and y.

    It has all attributes and methods of :class:`~skdiscrepancy.TestResult`,
    such as `plot` and `to_frame`, and three numbers about the regressions on `given`
    [1]_.

    Read more in the :ref:`User Guide <conditional>`.

    Attributes
    ----------
    statistic : float
        Pooled statistic of the data.
    pvalue : float
        Probability of a statistic at least as large as `statistic` if X and y are
        independent given Z, and the regressions are good. It is never 0.
    null_distribution : ndarray of shape (n_resamples,)
        Pooled statistics of the resamples.
    method : str
        How the null distribution was computed, "wild".
    kernels : list of length n_kernels
        The kernels. Each entry is a pair of a kernel on X and a kernel on y.
    statistics : ndarray of shape (n_kernels,)
        The statistic of each pair of kernels.
    pvalues : ndarray of shape (n_kernels,)
        p-value of each pair of kernels, adjusted for the number of pairs.
    null_limit : None
        Conditional tests always use resamples.
    block_length : int or None
        Rows of a block if consecutive rows share a random sign, for rows of a series.
        None if the test treated rows as independent.
    effect_size : None
        The test compares residuals, whose dependence has no effect size.
    r2_X : float
        Fraction of the variance of the kernel features of X that the columns of Z
        predict for rows that the regression has not seen. 0 means that Z carries no
        information about X. Small negative numbers are noise.
    r2_y : float
        Fraction of the variance of the kernel features of y that the columns of Z
        predict.
    placebo_pvalue : float
        p-value of a test with the residuals of y of neighbouring rows in Z. Rows are
        independent, so a small value means that the regressions miss the same part of X
        and of y. Then `pvalue` may be too small, and the test warns.

    See Also
    --------
    skdiscrepancy.conditional_hsic_test : Returns this result.
    skdiscrepancy.plotting.NullDistributionDisplay : Draws the null distribution.

    References
    ----------
    .. [1] K. Zhang et al., "Kernel-based conditional independence test and application
       in causal discovery", UAI 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import conditional_hsic_test
    >>> z, a, b = np.random.RandomState(0).normal(size=(3, 100))
    >>> result = conditional_hsic_test(z + a, z + b, z, random_state=0)
    >>> result.r2_X > 0.2, result.r2_y > 0.2, result.pvalue > 0.05
    (True, True, True)
    """

    r2_X: float = 0.0
    r2_y: float = 0.0
    placebo_pvalue: float = 1.0

    def _summary(self) -> dict[str, Any]:
        summary = {**super()._summary(), "r2_X": self.r2_X, "r2_y": self.r2_y}
        # There is only one method.
        del summary["method"]
        return summary


# Components of the kernels on one variable, together this fraction of their variance.
EXPLAINED = 0.999
# No more components than this.
MAX_COMPONENTS = 32
# Variances of components that are smaller, relative to the largest, are rounding.
ROUNDING = 1e-12


def components_of(
    kernels: Sequence[KernelLike], rows: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the leading components of centred kernels.

    All kernels share the components, so that one regression serves all of them. The
    components are the principal components of the features of all kernels, each kernel
    with the same total variance. Memory is O(n rank).

    Parameters
    ----------
    kernels : sequence of kernel objects
        Kernels, each with one number as bandwidth.
    rows : ndarray of shape (n_samples, n_features)
        Rows.

    Returns
    -------
    components : ndarray of shape (n_samples, n_components)
        Orthogonal components with a mean of zero, the largest first. There are none if
        all features are constant.
    mixtures : list of ndarray of shape (n_components, n_components)
        For each kernel, the matrix that turns the components into its features.
    """
    if isinstance(rows, np.ndarray) and encode_labels(rows).max() == 0:
        factors = [np.zeros((1, len(rows))) for _ in kernels]
    else:
        factors = [_factor(kernel, rows) for kernel in kernels]
    used = [f / size for f in factors if (size := np.linalg.norm(f)) > 0]
    if not used:
        return np.zeros((len(rows), 0)), [np.zeros((0, 0)) for _ in kernels]
    stacked = np.concatenate(used)
    if len(stacked) <= stacked.shape[1]:
        variances, vectors = np.linalg.eigh(stacked @ stacked.T)
        variances, vectors = variances[::-1], stacked.T @ vectors[:, ::-1]
    else:
        variances, vectors = np.linalg.eigh(stacked.T @ stacked)
        variances, vectors = variances[::-1], vectors[:, ::-1]
        vectors = vectors * np.sqrt(np.maximum(variances, 0))
    total = np.cumsum(variances) / variances.sum()
    count = min(1 + int(np.searchsorted(total, EXPLAINED)), MAX_COMPONENTS)
    count = min(count, int(np.sum(variances > ROUNDING * variances[0])))
    values = np.ascontiguousarray(vectors[:, :count])
    values -= values.mean(axis=0)
    variances = np.square(values).sum(axis=0)
    mixtures = []
    for factor in factors:
        loadings = (factor @ values) / variances
        sizes, axes = np.linalg.eigh(loadings.T @ loadings)
        # The square root of a positive semi-definite matrix.
        mixtures.append((axes * np.sqrt(np.maximum(sizes, 0))) @ axes.T)
    return values, mixtures


def _factor(kernel: KernelLike, rows: np.ndarray) -> np.ndarray:
    """Return the centred features of a kernel, of shape (rank, n_samples)."""
    with np.errstate(all="ignore"):
        factor = factor_of(rows, kernel)
    check_finite(factor.rows)
    n_columns = rows.shape[1]
    definite = not hasattr(kernel, "is_definite") or kernel.is_definite(n_columns)
    if not definite or not (factor.complete or factor.rows.any()):
        raise ValueError(
            f"kernel == {shown(kernel)}, must be positive definite for a conditional "
            "test, because the test needs its features."
        )
    return factor.rows


class ResidualGram(Gram):
    """Inner products of residuals of one variable, for each of its kernels."""

    tile = 128

    def __init__(self, residuals: list[np.ndarray]):
        self.residuals = residuals
        self.n, self.n_kernels = len(residuals[0]), len(residuals)
        self.n_features = sum(own.shape[1] for own in residuals)
        self.dtype = np.dtype(np.float64)

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the tiles."""
        for k, own in enumerate(self.residuals):
            yield k, np.matmul(own[rows], own[cols].T, out=place(out, k))

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the inner products of pairs."""
        pairs = [np.einsum("ij,ij->i", R[rows], R[cols]) for R in self.residuals]
        return np.array(pairs)


# Default bandwidths of the kernels on X and on y, as multiples of the median distance.
FACTORS = (2.0, 6.0)
# Bandwidth of the kernel on Z, as a multiple of the median distance.
GIVEN_FACTOR = 2.0
# Number of random signs of the check of the regressions, and the p-value of the check
# up to which users are warned. With good regressions, this happens in 5 % of the tests.
CHECK_RESAMPLES = 199
CHECK_LEVEL = 0.05
# With more columns of Z than this, the check uses as many principal components.
MAX_ORDERS = 100
# Users are also warned if both regressions have a held-out R^2 above this one.
DETERMINED = 0.97


@takes_parameters_of(
    check_options,
    HSICEstimator,
    names="regressor n_resamples n_groups pooling block_length kernel target_kernel "
    f"bandwidth target_bandwidth n_bandwidths encoder n_components {RUN}",
    kernel="gaussian",
    bandwidth=None,
    target_bandwidth=None,
)
@in_one_blas_thread
def conditional_hsic_test(
    X: ArrayLike,
    y: ArrayLike,
    given: ArrayLike,
    *,
    regressor: Any = None,
    **params: Any,
) -> ConditionalTestResult:
    """Test whether X and y are independent given other variables Z.

    A small p-value means that X and y depend on each other in a way that `given` does
    not explain. Use it to ask whether a prediction is fair given the legitimate
    features, whether a column adds information to the columns that you have, whether
    a batch differs given its context (pass the batch label as y), or to find the edges
    of a causal graph.

    The test regresses the kernel features of X and of y on Z. The statistic is the mean
    of k(z_i, z_j) <r_i, r_j> <q_i, q_j> over pairs of different rows, where r and q are
    the residuals [1]_, [2]_. It then compares the statistic with random signs of the
    rows (wild bootstrap), with a correction for the degrees of freedom of the
    regressions. The type I error is only as good as the regressions, because no test of
    conditional independence is exact [3]_. The test warns if the residuals of X depend
    on the residuals of y of *neighbouring* rows in Z, which only errors that both
    regressions share can explain, or if Z predicts nearly all of both.

    Read more in the :ref:`User Guide <conditional>`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples,)
        First variables.
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_targets)
        Second variables: numbers, or labels of any type.
    given : {array-like, sparse matrix} of shape (n_samples, n_given) or (n_samples,)
        The variables Z: numbers, or labels, which become indicator columns. A sparse
        matrix becomes dense, because the regression has a length scale for each column.
    regressor : regressor or None, default=None
        Regressor of scikit-learn for several targets, which predicts the kernel
        features of X and of y from Z. It is cloned and cross-fitted with five folds.
        None is a Gaussian process with one length scale for each column of Z, chosen by
        marginal likelihood. It suits smooth functions. Above 1000 rows, it is a
        low-rank approximation.
    n_resamples : int, default=999
        Number of vectors of random signs. p-values are multiples of
        1 / (1 + `n_resamples`).
    n_groups : int or None, default=256
        Largest number of random signs. With more rows, random groups of rows share a
        sign. None gives each row its own sign.
    pooling : {"max", "mean", "fuse", "agg"}, default="max"
        How to combine several pairs of kernels. "max" takes the largest statistic,
        "mean" the mean, "fuse" a smooth maximum, and "agg" the smallest p-value.
    block_length : int, "auto" or None, default=None
        Rows of a series: blocks of this many consecutive rows share a random sign.
        "auto" chooses the length from the residuals, as in :func:`hsic_test`. With only
        100 rows of a series, the test rejects slightly too often. None is
        for independent rows, and warns if the residuals of both X and y clearly depend
        on each other in the given order. 1 is for independent rows, without this check.
    kernel : str, kernel object or list of them, default="gaussian"
        Positive definite kernels on X. The test uses their 32 largest components at
        most.
    target_kernel : "auto", str, kernel object or list of them, default="auto"
        Kernels on y. "auto" is an indicator kernel for labels, and `kernel` for
        numbers. See :class:`skdiscrepancy.HSICEstimator`.
    bandwidth : None, "dyadic", "grid", "median", float or array-like of float, \
            default=None
        Bandwidths of the kernels on X that do not have their own. None is two and six
        times the median distance. If one of your kernels has its own bandwidth, None is
        the median distance for the others. Small bandwidths detect dependence on a
        finer scale, but their features are functions of Z that are harder to predict.
        See :class:`skdiscrepancy.HSICEstimator` for the other values.
    target_bandwidth : None, "dyadic", "grid", "median", float or array-like of float, \
            default=None
        Bandwidths of the kernels on y, chosen like `bandwidth`.
    n_bandwidths : int, default=10
        Number of bandwidths for "grid".
    encoder : "auto", None or transformer, default="auto"
        How to read DataFrames X and `given` that do not only hold numbers. "auto" uses
        :class:`~skdiscrepancy.TableEncoder` where it is needed. None refuses
        such tables.
    n_components : int or None, default=None
        Number of random features. The product of the kernel on Z with both products of
        residuals is then estimated without bias from n_components / 2 random
        frequencies, and the test takes linear time. The components of the kernels on X
        and y, and the regressions on Z, do not change: all rows are in memory, and
        above 1000 rows they already take linear time. None uses exact kernels.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the signs, the folds, and the choice of rows for the length scales of more
        than 500 rows. None draws new ones in every call.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.

    Returns
    -------
    result : ConditionalTestResult
        With `statistic`, `pvalue` and `null_distribution`, the held-out R^2 of both
        regressions as `r2_X` and `r2_y`, and an adjusted p-value for each pair of
        kernels.

    See Also
    --------
    hsic_test : Tests whether X and y are independent, with an exact type I error.
    skdiscrepancy.inference.ConditionalTestResult : Describes the result.

    References
    ----------
    .. [1] K. Zhang et al., "Kernel-based conditional independence test and application
       in causal discovery", UAI 2011.
    .. [2] R. Pogodin et al., "Efficient conditionally invariant representation
       learning", ICLR 2023.
    .. [3] R. D. Shah and J. Peters, "The hardness of conditional independence testing
       and the generalised covariance measure", Annals of Statistics 48, 2020.

    Examples
    --------
    X and y both depend on z. Given z, they are independent.

    >>> import numpy as np
    >>> from skdiscrepancy import conditional_hsic_test, hsic_test
    >>> z, a, b = np.random.RandomState(0).normal(size=(3, 150))
    >>> X, y = np.sin(2 * z) + 0.3 * a, np.sin(2 * z) + 0.3 * b
    >>> hsic_test(X, y, random_state=0).pvalue < 0.001
    True
    >>> conditional_hsic_test(X, y, z, random_state=0).pvalue > 0.05
    True
    >>> conditional_hsic_test(X, y + 0.5 * a, z, random_state=0).pvalue
    0.001
    """
    wild = ("wild",)
    named = {name: params.pop(name) for name in OPTIONS if name in params}
    number = check_parameters({"n_components": params.pop("n_components", None)})
    options = check_options(wild, wild, **named)._replace(**number)
    check_regressor(regressor)
    rules = "bandwidth", "target_bandwidth"
    wide = [params[name] is None for name in rules]
    params |= {name: "median" for name in rules if params[name] is None}
    estimator = HSICEstimator(**params)
    settings = estimator._check_params()
    for data, name in ((X, "X"), (y, "y"), (given, "given")):
        refuse_blocks(data, name, "The regressions on `given` need all rows. ")
    samples = estimator._learn(as_table(X), y, settings)[:2]
    Z = _given_columns(given, estimator.encoder, len(samples[0]))
    passed = settings.kernels, settings.target_kernels or settings.kernels
    kernels = [estimator.kernels_, estimator.target_kernels_]
    for i in np.flatnonzero(wide):
        kernels[i] = _wider(kernels[i], passed[i], samples[i])
    pairs = list(product(*kernels))
    options = options.ready(pairs, estimator.random_state, estimator._run)
    sides = [components_of(*side) for side in zip(kernels, samples, strict=True)]
    return _test(sides, Z, regressor, options)


def _wider(kernels: list[Any], passed: list[Any], rows: np.ndarray) -> list[Any]:
    """Return kernels with several multiples of the median distance as bandwidths.

    Kernels that were `passed` with a bandwidth keep it, and the median for the others.
    """
    members = (kernel.members() for kernel in passed if isinstance(kernel, Kernel))
    for part in chain.from_iterable(members):
        if isinstance(part, RadialKernel) and part.bandwidth is not None:
            return kernels
    wider = []
    for kernel in kernels:
        medians = [part.bandwidth for part, _ in radial_parts(kernel)]
        multiples = ([factor * median for factor in FACTORS] for median in medians)
        wider += with_bandwidths(kernel, [rows], multiples) if medians else [kernel]
    return wider


def _given_columns(given: Any, encoder: Any, n: int) -> np.ndarray:
    """Return the columns of Z that vary, with a standard deviation of 1."""
    # The regression has a length scale for each column.
    given = given.toarray() if issparse(given) else given
    table, reader = as_table(given), Reader(None, encoder=encoder)
    fitted = reader.fit([table], ["given"])
    if fitted is None and encoder is not None and not is_table(table):
        values = as_array(table, "given")
        if values.ndim == 2 and values.size and not is_numeric(values):
            reader.encoder_ = TableEncoder().fit(values)
    Z = reader.rows(table, "given").astype(np.float64)
    if len(Z) != n:
        raise ValueError(f"given has {len(Z)} rows, must have {n} rows like X and y.")
    Z = Z - Z[0]
    with np.errstate(over="ignore", invalid="ignore"):
        # Scaled first, so that squares neither overflow nor underflow.
        largest = np.abs(Z).max(axis=0)
        Z = Z[:, largest > 0] / largest[largest > 0]
        Z = Z - Z.mean(axis=0)
        Z = Z / Z.std(axis=0)
    if not np.all(np.isfinite(Z)):
        raise ValueError("given has values that are too large. Rescale its columns.")
    return Z


def _test(
    sides: list[Any], Z: np.ndarray, regressor: Any, options: Options
) -> ConditionalTestResult:
    """Test the components of the kernels on X and on y."""
    seeds = draw_seeds(options.generator, 2)

    def regress(i: int) -> Residuals:
        own = np.random.RandomState(seeds[i])
        return residuals_of(Z, sides[i][0], regressor, own)

    fits = list(run_all((0, 1), regress, Run(options.run.n_jobs), require="sharedmem"))
    residuals = [
        [fit.values @ mixture for mixture in mixtures]
        for fit, (_, mixtures) in zip(fits, sides, strict=True)
    ]
    # What Z explains is not a dependence between rows, so residuals are looked at.
    orders, names = [fit.values for fit in fits], ("X", "y")
    options = options.with_block_length(len(Z), *orders, names=names, both=True)
    order = options.generator.permutation(len(Z))
    if options.block_length is not None:
        order = np.arange(len(Z))
    Z = Z[order]
    of_x, of_y = ([part[order] for part in side] for side in residuals)
    inflated = options._replace(inflation=variance_inflation(*fits))
    result = residual_test(Z, of_x, of_y, inflated)
    few = options._replace(n_resamples=CHECK_RESAMPLES)
    placebo = _placebo_test(Z, of_x, of_y, few)
    if min(fit.r2 for fit in fits) > DETERMINED:
        warn_user(
            "The p-value may be too small, because `given` predicts nearly all of both "
            f"X and y, with R^2 of {fits[0].r2:.3f} and {fits[1].r2:.3f}. The errors "
            "of the regressions are then a large fraction of the residuals."
        )
    elif placebo <= CHECK_LEVEL:
        warn_user(
            "The p-value may be too small, because the regressions on `given` miss the "
            "same part of X and of y. The residuals of X depend even on the residuals "
            "of y of other rows with similar values of `given`, with a p-value of "
            f"{placebo:.2g}. Pass more rows, fewer columns in `given`, or a "
            "`regressor` that suits the data."
        )
    return ConditionalTestResult(
        **vars(result), r2_X=fits[0].r2, r2_y=fits[1].r2, placebo_pvalue=placebo
    )


def residual_test(
    Z: np.ndarray,
    residuals: list[np.ndarray],
    target_residuals: list[np.ndarray],
    options: Options,
) -> TestResult:
    """Test whether products of residuals have mean zero given Z.

    Z has columns of unit standard deviation, and there are residuals of the features of
    X and of y for each kernel. The statistics are the means of
    k(z_i, z_j) <r_i, r_j> <q_i, q_j> over pairs of different rows, where k is a
    Gaussian kernel with twice the median distance as its bandwidth. Consecutive rows
    share a sign if there are more rows than groups.
    """
    if not Z.shape[1]:
        Z = np.zeros((len(Z), 1))
    given = GaussianKernel(bandwidth=GIVEN_FACTOR * median_bandwidth(Z))
    if options.n_components is None:
        core = gram([given], Z, run=options.run) * ResidualGram(residuals)
        return sign_test(core * ResidualGram(target_residuals), options)
    seeds = draw_seeds(options.generator, 2)
    maps = [FeatureMaps([given], options.n_components, seeds[0], Z)]
    for side in (residuals, target_residuals):
        parts = [[Part(R.shape[1], None, partial(_at_rows, R))] for R in side]
        maps.append(maps[0].of_parts(parts))
    members = product((0,), range(len(residuals)), range(len(target_residuals)))
    blocks = paired_blocks(Z, Z, Z, run=options.run)
    core = FeatureGram(ProductMaps(maps, members, seeds[1]), blocks)
    core.in_order = True
    return sign_test(core, options)


def _at_rows(values: np.ndarray, block: Any, index: Any) -> np.ndarray:
    return values[index]


def _placebo_test(
    Z: np.ndarray,
    residuals: list[np.ndarray],
    target_residuals: list[np.ndarray],
    options: Options,
) -> float:
    """Return the p-value of the test with the residuals of y of neighbouring rows.

    Different rows are independent, so whatever X and y have in common, only errors of
    the regressions that X and y share can link the residuals of two neighbours. The
    neighbours are those in the order of each column, or of each principal component if
    there are many columns. Every row has another neighbour.
    """
    n_signs = min(len(Z) // (options.block_length or 1), options.n_groups)
    if not Z.shape[1] or CHECK_LEVEL * 2.0 ** min(n_signs - 1, 64) < 1:
        # So few signs have no small p-value, of which the test itself warns.
        return 1.0
    columns = Z
    if Z.shape[1] > MAX_ORDERS:
        axes = np.linalg.eigh(Z.T @ Z)[1]
        columns = Z @ axes[:, -MAX_ORDERS:]
    partners = [_next_in_order(column) for column in columns.T]
    # One kernel on each side is enough, and saves memory for many columns.
    shifted = [target_residuals[0][rows] for rows in partners]
    options = options._replace(kernels=list(range(len(shifted))))
    return residual_test(Z, residuals[:1], shifted, options).pvalue


def _next_in_order(column: np.ndarray) -> np.ndarray:
    """Return the row with the next larger value, and for the last row the first."""
    order = np.argsort(column, kind="stable")
    partners = np.empty(len(column), dtype=np.int64)
    partners[order] = np.roll(order, -1)
    return partners
