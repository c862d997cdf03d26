"""Test of the dependence between X and y that other variables do not explain."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data import (
    RandomStateLike,
    as_array,
    as_table,
    check_rows,
    draw_seeds,
    generator_of,
    is_numeric,
    is_table,
    refuse_blocks,
    warn_user,
)
from skdiscrepancy._engine import in_one_blas_thread, kernel_source, run_all
from skdiscrepancy._hsic import HSICEstimator
from skdiscrepancy._nulls import (
    Options,
    TestResult,
    block_sign_test,
    check_options,
    rows_of_blocks,
    warn_if_both_dependent,
    wild_test,
)
from skdiscrepancy._regression import (
    Residuals,
    check_regressor,
    residuals_of,
    variance_inflation,
)
from skdiscrepancy.bandwidths import median_bandwidth
from skdiscrepancy.designs import check_design
from skdiscrepancy.inference._conditional_result import ConditionalTestResult
from skdiscrepancy.inference._residual_products import ResidualProducts, components_of
from skdiscrepancy.kernels import (
    GaussianKernel,
    check_kernel,
    radial_parts,
    with_bandwidths,
)
from skdiscrepancy.tables import TableEncoder, encode, fit_encoder

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


@in_one_blas_thread
def conditional_hsic_test(
    X: ArrayLike,
    y: ArrayLike,
    given: ArrayLike,
    *,
    regressor: Any = None,
    n_resamples: int = 999,
    n_groups: int | None = 256,
    pooling: str = "max",
    block_length: int | str | None = None,
    kernel: Any = "gaussian",
    target_kernel: Any = "auto",
    bandwidth: Any = None,
    target_bandwidth: Any = None,
    n_bandwidths: int = 10,
    encoder: Any = "auto",
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
    verbose: int = 0,
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
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Second variables: numbers, or labels of any type.
    given : array-like of shape (n_samples, n_given) or (n_samples,)
        The variables Z: numbers, or labels, which become indicator columns.
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
        :class:`~skdiscrepancy.tables.TableEncoder` where it is needed. None refuses
        such tables.
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
    methods = ("wild",)
    options = check_options(
        "auto", n_resamples, n_groups, pooling, methods, block_length, methods
    )
    check_regressor(regressor)
    estimator = HSICEstimator(
        kernel=kernel,
        target_kernel=target_kernel,
        bandwidth="median" if bandwidth is None else bandwidth,
        target_bandwidth="median" if target_bandwidth is None else target_bandwidth,
        n_bandwidths=n_bandwidths,
        encoder=encoder,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
    )
    for data, name in ((X, "X"), (y, "y"), (given, "given")):
        refuse_blocks(data, name)
    table = as_table(X)
    estimator.fit(table, y)
    X, y = estimator._validate_fitted(table, y, check_design("u"))
    Z = _given_columns(given, encoder, len(X))
    kernels, target_kernels = estimator.kernels_, estimator.target_kernels_
    if bandwidth is None:
        kernels = _wider(kernels, kernel, X)
    if target_bandwidth is None:
        auto = isinstance(target_kernel, str) and target_kernel == "auto"
        target_kernels = _wider(target_kernels, kernel if auto else target_kernel, y)
    return _test(
        (kernels, target_kernels),
        (X, y),
        Z,
        regressor,
        options,
        generator_of(random_state),
        n_jobs=n_jobs,
        verbose=verbose,
    )


def _wider(kernels: list[Any], parameter: Any, rows: np.ndarray) -> list[Any]:
    """Return kernels with several multiples of the median distance as bandwidths.

    `parameter` are the kernels as they were passed.
    """
    passed = check_kernel(parameter)
    parts = [part for kernel in passed for part in radial_parts(kernel)]
    if any(part.kernel.bandwidth is not None for part in parts):
        return kernels
    wider = []
    for kernel in kernels:
        medians = [part.kernel.bandwidth for part in radial_parts(kernel)]
        multiples = ([factor * median for factor in FACTORS] for median in medians)
        wider += with_bandwidths(kernel, [rows], multiples) if medians else [kernel]
    return wider


def _given_columns(given: Any, encoder: Any, n: int) -> np.ndarray:
    """Return the columns of Z that vary, with a standard deviation of 1."""
    table = as_table(given)
    fitted = fit_encoder(encoder, [table], ["given"])
    if fitted is None and encoder is not None and not is_table(table):
        values = as_array(table, "given")
        if values.ndim == 2 and values.size and not is_numeric(values):
            fitted = TableEncoder().fit(values)
    Z = check_rows(encode(fitted, table), "given", dtype=np.float64)
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
    kernels: tuple[list[Any], list[Any]],
    samples: tuple[np.ndarray, np.ndarray],
    Z: np.ndarray,
    regressor: Any,
    options: Options,
    generator: np.random.RandomState,
    **walk_options: Any,
) -> ConditionalTestResult:
    """Test checked rows."""
    seeds = draw_seeds(generator, 2)
    sides = [components_of(*side) for side in zip(kernels, samples, strict=True)]

    def regress(i: int) -> Residuals:
        own = np.random.RandomState(seeds[i])
        return residuals_of(Z, sides[i].values, regressor, own)

    fits = list(run_all((0, 1), regress, walk_options["n_jobs"], require="sharedmem"))
    residuals = [
        [fit.values @ mixture for mixture in side.mixtures]
        for fit, side in zip(fits, sides, strict=True)
    ]
    options = _with_block_length(options, *(fit.values for fit in fits))
    order = generator.permutation(len(Z))
    if options.block_length is not None:
        order = np.arange(len(Z))
    result = residual_test(
        Z[order],
        *([part[order] for part in side] for side in residuals),
        options=options,
        generator=generator,
        kernels=[(k, target) for k in kernels[0] for target in kernels[1]],
        inflation=variance_inflation(*fits),
        **walk_options,
    )
    placebo = _placebo_test(
        Z[order],
        *([part[order] for part in side] for side in residuals),
        options=options._replace(n_resamples=CHECK_RESAMPLES),
        generator=generator,
        **walk_options,
    )
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
        **{field.name: getattr(result, field.name) for field in fields(result)},
        r2_X=fits[0].r2,
        r2_y=fits[1].r2,
        placebo_pvalue=placebo,
    )


def _with_block_length(options: Options, *residuals: np.ndarray) -> Options:
    """Return the options with the number of rows of a block.

    What Z explains is not a dependence between rows, so residuals are looked at.
    """
    if options.block_length == 1:
        return options._replace(block_length=None)
    if options.block_length is None:
        warn_if_both_dependent(*residuals)
        return options
    length = rows_of_blocks(options.block_length, len(residuals[0]), *residuals)
    return options._replace(block_length=length)


def residual_test(
    Z: np.ndarray,
    residuals: list[np.ndarray],
    target_residuals: list[np.ndarray],
    *,
    options: Options,
    generator: np.random.RandomState,
    kernels: list[Any],
    inflation: float = 1.0,
    **walk_options: Any,
) -> TestResult:
    """Test whether products of residuals have mean zero given Z.

    Consecutive rows share a sign if there are more rows than groups.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_given)
        Columns of unit standard deviation.
    residuals, target_residuals : list of ndarray of shape (n_samples, n_residuals)
        Residuals of the features of X and of y, for each kernel.
    options : Options
        Options of the test.
    generator : RandomState
        Draws the signs.
    kernels : list
        Pairs of kernels.
    inflation : float, default=1.0
        Factor of the statistics of random signs.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    result : TestResult
        Result. Its statistics are the means of k(z_i, z_j) <r_i, r_j> <q_i, q_j> over
        pairs of different rows, where k is a Gaussian kernel with twice the median
        distance as its bandwidth.
    """
    if not Z.shape[1]:
        Z = np.zeros((len(Z), 1))
    given = GaussianKernel(bandwidth=GIVEN_FACTOR * median_bandwidth(Z))
    core = ResidualProducts(kernel_source([given], Z), residuals, target_residuals)
    shared: dict[str, Any] = {
        "n_resamples": options.n_resamples,
        "n_groups": options.n_groups,
        "generator": generator,
        "pooling": options.pooling,
        "kernels": kernels,
        "inflation": inflation,
        **walk_options,
    }
    if options.block_length is None:
        return wild_test(core, len(Z), **shared)
    return block_sign_test(
        core, len(Z), block_length=options.block_length, method="wild", **shared
    )


def _placebo_test(
    Z: np.ndarray,
    residuals: list[np.ndarray],
    target_residuals: list[np.ndarray],
    *,
    options: Options,
    **test_options: Any,
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
    kernels = list(range(len(shifted)))
    return residual_test(
        Z, residuals[:1], shifted, kernels=kernels, options=options, **test_options
    ).pvalue


def _next_in_order(column: np.ndarray) -> np.ndarray:
    """Return the row with the next larger value, and for the last row the first."""
    order = np.argsort(column, kind="stable")
    partners = np.empty(len(column), dtype=np.int64)
    partners[order] = np.roll(order, -1)
    return partners
