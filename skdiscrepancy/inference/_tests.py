"""Hypothesis tests in one call: two samples, dependence, fit, given other variables."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain, product, repeat, starmap
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import clone

from skdiscrepancy._data.arrays import (
    are_labels,
    as_array,
    as_labels,
    encode_labels,
    is_numeric,
    n_rows,
    names_of,
    refuse_blocks,
    refuse_different_labels,
    refuse_missing,
    refuse_numbers_among_labels,
    warn_of_other_index,
)
from skdiscrepancy._data.blocks import LazyRows
from skdiscrepancy._data.checks import (
    RUN,
    draw_seeds,
    shown,
    takes_parameters_of,
    warn_user,
)
from skdiscrepancy._data.frames import (
    as_numbers,
    as_table,
    check_column_encoder,
    is_table,
    take_columns,
)
from skdiscrepancy._estimators.base import Settings, check_parameters, warn_of_spreads
from skdiscrepancy._estimators.hsic import HSICEstimator
from skdiscrepancy._estimators.ksd import (
    TEST_KERNELS,
    KSDEstimator,
    as_given,
    stein_methods,
    stein_test,
)
from skdiscrepancy._estimators.mmd import MMDEstimator, joined_gram
from skdiscrepancy._estimators.readers import Reader, lazy_target_kernels, side_by_side
from skdiscrepancy._gram.factors import factor_of
from skdiscrepancy._gram.feature_maps import FeatureMaps
from skdiscrepancy._gram.features import FeatureGram
from skdiscrepancy._gram.frequency_groups import ProductMaps
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.pieces import paired_blocks
from skdiscrepancy._gram.run import Run, in_one_blas_thread, run_all
from skdiscrepancy._models.regression import (
    Residuals,
    check_regressor,
    residuals_of,
    variance_inflation,
)
from skdiscrepancy._nulls.groups import sign_test
from skdiscrepancy._nulls.pvalues import OPTIONS, Options, TestResult, check_options
from skdiscrepancy._nulls.row_order import columns_of
from skdiscrepancy._nulls.shifts import joint_feature_test, joint_shift_test
from skdiscrepancy._statistics.second_order import check_finite, warn_left_out
from skdiscrepancy.bandwidths import (
    build_collection,
    median_bandwidth,
    radial_parts,
    with_bandwidths,
)
from skdiscrepancy.kernels._base import (
    ColumnKernel,
    IndicatorKernel,
    Kernel,
    KernelLike,
    LinearKernel,
    PrecomputedKernel,
    check_gram,
)
from skdiscrepancy.kernels._names import N_BANDWIDTHS, kernel_bandwidth
from skdiscrepancy.kernels._radial import (
    GaussianKernel,
    RadialKernel,
    warn_if_indefinite,
)
from skdiscrepancy.tables import TableEncoder

# Keywords that come first in the signature of a test.
FIRST = (
    "method n_resamples pooling bandwidth target_bandwidth block_length clusters paired"
    " n_corrupted"
)
# Parameters of estimators that have no effect on a test, or belong to a "grid".
WITHOUT = "n_bandwidths second_order normalize squared fuse_nu"


@takes_parameters_of(
    MMDEstimator.test,
    MMDEstimator,
    first=FIRST,
    without=WITHOUT,
    bandwidth="dyadic",
    n_components="auto",
)
def mmd_test(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    clusters: Any = None,
    n_corrupted: float = 0,
    **params: Any,
) -> TestResult:
    """Test whether two samples have the same distribution.

    A small p-value means that the distributions differ in any way (data drift,
    covariate shift). By default, the type I error (false positive rate) is exact.
    Columns of an array are not rescaled, unlike columns of a DataFrame.

    The test adds to the unbiased MMD a statistic for scale and correlation [1]_, and
    permutes groups of rows [2]_. Exact kernels take O(n^2) time.

    Read more in the :ref:`User Guide <testing>`.

    Parameters
    ----------
    X, Y : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples,)
        The two samples, of any numbers of rows.
    method : {"auto", "permutation", "swap", "asymptotic"}, default="auto"
        Null distribution; see :meth:`skdiscrepancy.MMDEstimator.test`.
    bandwidth : {"dyadic", "grid", "median"}, float or array-like, default="dyadic"
        Bandwidths of kernels without their own, as in
        :class:`skdiscrepancy.MMDEstimator`.
    block_length : int, "auto" or None, default=None
        Rows per block of a :ref:`time series <series>`.
    clusters : str, tuple of two array-like or None, default=None
        Column or labels that say which :ref:`rows belong together <clusters>`.
    paired : bool, default=False
        Whether rows i of X and Y are :ref:`from one subject <paired>`.
    n_corrupted : int or float, default=0
        Number or fraction of rows that may be :ref:`corrupted <corrupted>`.
        Needs `pooling` "max" or "mean".
    n_components : int, "auto" or None, default="auto"
        Number of random features: "auto" is None (exact) up to 10 000 rows in total,
        and 256 above.
    **params : dict
        Parameters of :class:`skdiscrepancy.MMDEstimator` and its method `test`.

    Returns
    -------
    result : TestResult
        Statistic, p-value, and :ref:`effect size <effect_size>`.

    See Also
    --------
    mmd_column_tests : Tests each column.
    k_sample_test : Compares several samples.

    References
    ----------
    .. [1] H. Song and H. Chen, "Generalized kernel two-sample tests", Biometrika, 2024.
    .. [2] C. Domingo-Enrich et al., "Cheap permutation testing", 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_test
    >>> rng = np.random.RandomState(0)
    >>> X, Y = rng.normal(size=(50, 2)), rng.normal(size=(60, 2)) + 1
    >>> mmd_test(X, Y, random_state=0).pvalue
    0.001
    """
    params |= {"clusters": clusters, "n_corrupted": n_corrupted}
    estimator, settings = checked_test(MMDEstimator, params)
    if clusters is not None:
        (X, Y), settings = with_clusters(settings, X, Y)
    return estimator._test_pair(as_table(X), as_table(Y), settings)


def with_clusters(
    settings: Settings, *tables: Any, names: Sequence[str] = ("X", "Y")
) -> tuple[list[Any], Settings]:
    """Return tables without a column of clusters, and settings with the clusters."""
    clusters, some = settings.options.clusters, list(tables)
    if clusters is None:
        return some, settings
    if isinstance(clusters, (str, int)) or len(some) == 1:
        clusters = [clusters] * len(some)
    if not isinstance(clusters, (list, tuple)) or len(clusters) != len(some):
        raise ValueError(
            f"clusters == {shown(clusters)}, must be the name of a column, or a list "
            f"with the labels of each of the {len(some)} samples."
        )
    each = zip(map(as_table, some), clusters, repeat("clusters"), names, strict=False)
    some, labels = map(list, zip(*starmap(divide, each), strict=True))
    codes = encode_labels(*(own[:, np.newaxis] for own in labels))
    each_code = np.split(codes, np.cumsum(list(map(len, labels)))[:-1])
    options = settings.options._replace(clusters=each_code)
    return some, replace(settings, options=options)


def divide(
    table: Any, labels: Any, name: str, of: str = "samples[0]"
) -> tuple[Any, np.ndarray]:
    """Return a table without a column of labels, and the label of each row."""
    refuse_blocks(table, of, f"`{name}` needs all rows in memory. ")
    if isinstance(labels, (str, int)):
        if not is_table(table):
            raise ValueError(
                f"{name} == {labels!r}, must be one label for each row, because {of} "
                "is not a DataFrame with columns of that name."
            )
        columns = names_of(table)
        if labels not in columns:
            raise ValueError(
                f"{name} == {labels!r}, must be a column of {of}, one of "
                f"{shown(columns)}, or one label for each row."
            )
        rest = [column for column in columns if column != labels]
        if not rest:
            raise ValueError(
                f"{of} has no columns beside {name} == {labels!r}, must have at least "
                "one."
            )
        labels, table = table[labels], take_columns(table, rest)
    found = as_array(labels, name)
    if found.ndim != 1 or not 0 < len(found) == n_rows(table):
        has = f"{len(found)} labels" if found.ndim == 1 else f"shape {found.shape}"
        raise ValueError(
            f"{name} has {has}, must have one for each of the {n_rows(table)} rows of "
            f"{of}."
        )
    refuse_missing(found, name)
    return table, found


def checked_test(make: Any, params: dict[str, Any]) -> tuple[Any, Settings]:
    """Return an estimator, and its checked settings with the options of a test."""
    known = (*OPTIONS, "clusters", "paired", "n_corrupted")
    options = {name: params.pop(name) for name in known if name in params}
    automatic = _pop_automatic(params)
    estimator = make(**params)
    settings = estimator._check_test(**options)
    resamples = settings.options.method not in ("asymptotic", "parametric")
    if automatic and resamples and settings.design.complete:
        estimator.n_components = "auto"
    return estimator, settings


def _pop_automatic(params: dict[str, Any]) -> bool:
    """Tell whether `n_components` is "auto", and leave None in its place if so."""
    given = params.get("n_components")
    if automatic := isinstance(given, str) and given == "auto":
        params["n_components"] = None
    return automatic


@takes_parameters_of(
    HSICEstimator.test,
    HSICEstimator,
    first=FIRST,
    without=WITHOUT,
    bandwidth="dyadic",
    target_bandwidth="dyadic",
    n_components="auto",
)
def hsic_test(
    X: ArrayLike,
    y: ArrayLike,
    *,
    clusters: Any = None,
    n_corrupted: float = 0,
    **params: Any,
) -> TestResult:
    """Test whether X and y are independent.

    A small p-value means that y depends on X, in any form. By default, the type I error
    (false positive rate) is exact.

    The test adds :ref:`mean similarities <similarities>` to the unbiased HSIC of each
    pair of kernels, and permutes y. Exact kernels take O(n^2) time.

    Read more in the :ref:`User Guide <testing>`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples,)
        First variables.
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_targets)
        Second variables: numbers, or labels of any type.
    method : {"auto", "permutation", "shift", "swap", "asymptotic"}, default="auto"
        Null distribution; see :meth:`skdiscrepancy.HSICEstimator.test`.
    bandwidth, target_bandwidth : {"dyadic", "grid", "median"}, float or array-like, \
            default="dyadic"
        Bandwidths of kernels without their own, as in
        :class:`skdiscrepancy.HSICEstimator`.
    block_length : int, "auto" or None, default=None
        Rows per block of a :ref:`time series <series>`.
    clusters : str, array-like of shape (n_samples,) or None, default=None
        Column or labels that say which :ref:`rows belong together <clusters>`.
    n_corrupted : int or float, default=0
        Number or fraction of rows that may be :ref:`corrupted <corrupted>`.
        Needs `pooling` "max" or "mean".
    n_components : int, "auto" or None, default="auto"
        Number of random features; "auto" is None (exact) up to 5000 rows.
    **params : dict
        Parameters of :class:`skdiscrepancy.HSICEstimator` and its method `test`.

    Returns
    -------
    result : TestResult
        Statistic, p-value, and :ref:`effect size <effect_size>`.

    See Also
    --------
    hsic_column_tests : Tests each column of X.
    conditional_hsic_test : Accounts for other variables.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import hsic_test
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> hsic_test(X, X[:, 0] ** 2, random_state=0).pvalue
    0.001
    """
    params |= {"clusters": clusters, "n_corrupted": n_corrupted}
    estimator, settings = checked_test(HSICEstimator, params)
    [X], settings = with_clusters(settings, X)
    warn_of_other_index(X, y)
    if is_table(X) and is_table(y) and names_of(X) == names_of(y):
        warn_user(
            "X and y have the same columns. hsic_test asks whether row i of y depends "
            "on row i of X. To ask whether two tables differ, call mmd_test or "
            "drift_report."
        )
    rows = estimator._learn(as_table(X), y, settings)[:2]
    return estimator._test_rows(*rows, settings)


@takes_parameters_of(
    KSDEstimator.test,
    KSDEstimator,
    first=f"{FIRST} sample_weight",
    without=WITHOUT,
    kernel=TEST_KERNELS,
    bandwidth="dyadic",
    n_components="auto",
)
def ksd_test(
    X: ArrayLike, model: Any = None, *, sample_weight: Any = None, **params: Any
) -> TestResult:
    """Test whether a sample comes from a model (goodness of fit).

    A small p-value means that the model does not fit. If you fitted the model to these
    rows, the test rejects too rarely. Test held-out rows instead, or pass the unfitted
    model and ``method="parametric"``.

    The test compares the largest unbiased KSD of all kernels with the wild bootstrap,
    which is accurate for many rows. Exact kernels take O(n^2) time.

    Read more in the :ref:`User Guide <testing>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples,)
        Sample.
    model : model, callable, array-like of shape (n_samples, n_features) or None, \
            default=None
        Model of :class:`skdiscrepancy.KSDEstimator`, or gradients at the rows. Only an
        unfitted model is fitted to X. None is Gaussian.
    method : {"auto", "wild", "parametric", "asymptotic"}, default="auto"
        Null distribution; see :meth:`skdiscrepancy.KSDEstimator.test`.
    bandwidth : {"dyadic", "grid", "median"}, float or array-like, default="dyadic"
        Bandwidths of kernels without their own, as in
        :class:`skdiscrepancy.KSDEstimator`.
    block_length : int, "auto" or None, default=None
        Rows per block of a :ref:`time series <series>`.
    sample_weight : array-like of shape (n_samples,), default=None
        Importance weights, or weights independent of the rows, for "wild".
    kernel : str, kernel object or list of them, default=("gaussian", "imq", "affine")
        Kernels of :class:`skdiscrepancy.KSDEstimator`.
    n_components : int, "auto" or None, default="auto"
        Number of random features; "auto" is None (exact) up to 10 000 rows.
    **params : dict
        Parameters of :class:`skdiscrepancy.KSDEstimator` and its method `test`.

    Returns
    -------
    result : TestResult
        Statistic, p-value, and :ref:`effect size <effect_size>`.

    See Also
    --------
    ksd_score : Computes the discrepancy without a test.
    KSDEstimator : Keeps the model for several samples.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import ksd_test
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> ksd_test(X + 0.5, lambda X: -X, random_state=0).pvalue
    0.001
    """
    rule = params["bandwidth"]
    if params.get("method") == "parametric" and isinstance(rule, str):
        # Every draw chooses its own bandwidths, and must have as many as the data.
        params["bandwidth"] = "grid" if rule == "dyadic" else rule
    if sample_weight is not None and params["n_components"] == "auto":
        # Random features have no weights in a test.
        params["n_components"] = None
    make = partial(KSDEstimator, as_given(model))
    estimator, settings = checked_test(make, params)
    rows = estimator._learn(as_table(X), settings, sample_weight=sample_weight)
    return estimator._test_rows(*rows, settings)


# Keywords of tests from Gram matrices.
OF_GRAMS = f"method n_resamples pooling design {RUN} block_length paired"


@takes_parameters_of(mmd_test, names=OF_GRAMS)
def mmd_test_from_gram(
    K_xx: ArrayLike, K_yy: ArrayLike, K_xy: ArrayLike, **params: Any
) -> TestResult:
    """Test whether two samples are from one distribution, from Gram matrices.

    Use it for data that are not numbers, such as graphs or strings.

    Read more in the :ref:`User Guide <testing>`.

    Parameters
    ----------
    K_xx, K_yy, K_xy : array-like of shape (n_rows, n_columns), or list of them
        Kernel of X with X, Y with Y, and X (rows) with Y (columns). Lists hold several
        kernels.
    block_length : int or None, default=None
        Rows per block of a :ref:`time series <series>`.
    **params : dict
        Parameters of :func:`mmd_test`.

    Returns
    -------
    result : TestResult
        Statistic, p-value, and null distribution.

    See Also
    --------
    skdiscrepancy.kernels.PrecomputedKernel : Uses a Gram matrix in any estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_test_from_gram
    >>> words = [["abab", "abba", "baba", "bbaa"] * 3, ["cdcd", "dccd", "abcd"] * 4]
    >>> def kernel(A, B):
    ...     return [[len(set(a) & set(b)) / len(set(a) | set(b)) for b in B] for a in A]
    >>> X, Y = words
    >>> grams = kernel(X, X), kernel(Y, Y), kernel(X, Y)
    >>> mmd_test_from_gram(*grams, random_state=0).pvalue
    0.001
    """
    named = {"K_xx": K_xx, "K_yy": K_yy, "K_xy": K_xy}
    parts = [_as_list(K, name) for name, K in named.items()]
    numbers = list(map(len, parts))
    if len(set(numbers)) > 1:
        raise ValueError(
            f"K_xx, K_yy and K_xy hold {numbers} matrices, must hold the same number, "
            "one for each kernel."
        )
    kernels = [
        PrecomputedKernel(joined_gram(*grams)) for grams in zip(*parts, strict=True)
    ]
    m = len(np.asarray(parts[0][0]))
    rows = _positions(kernels, "K_xx, K_yy and K_xy")
    estimator, settings = checked_test(MMDEstimator, params | {"kernel": kernels})
    return estimator._test_pair(rows[:m], rows[m:], settings)


@takes_parameters_of(hsic_test, names=OF_GRAMS)
def hsic_test_from_gram(K: ArrayLike, L: ArrayLike, **params: Any) -> TestResult:
    """Test whether X and y are independent, from Gram matrices.

    Use it for data that are not numbers, such as graphs or strings.

    Read more in the :ref:`User Guide <testing>`.

    Parameters
    ----------
    K, L : array-like of shape (n_samples, n_samples), or list of them
        Gram matrices of X and of y. Lists hold several kernels.
    block_length : int or None, default=None
        Rows per block of a :ref:`time series <series>`.
    **params : dict
        Parameters of :func:`hsic_test`.

    Returns
    -------
    result : TestResult
        Statistic, p-value, and null distribution.

    See Also
    --------
    skdiscrepancy.kernels.PrecomputedKernel : Uses a Gram matrix in any estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics.pairwise import rbf_kernel
    >>> from skdiscrepancy import hsic_test_from_gram
    >>> X = np.random.RandomState(0).normal(size=(100, 1))
    >>> hsic_test_from_gram(rbf_kernel(X), rbf_kernel(X**2), random_state=0).pvalue
    0.001
    """
    kernels, targets = _kernels_of(K, "K"), _kernels_of(L, "L")
    rows = _positions([*kernels, *targets], "K and L")
    params |= {"kernel": kernels, "target_kernel": targets}
    estimator, settings = checked_test(HSICEstimator, params)
    both = estimator._learn(rows, rows, settings)[:2]
    return estimator._test_rows(*both, settings)


@takes_parameters_of(ksd_test, names=OF_GRAMS)
def ksd_test_from_gram(H: ArrayLike, **params: Any) -> TestResult:
    """Test whether a model fits, from a matrix of the Stein kernel.

    Use it if you compute the Stein kernel yourself, for example on discrete data.

    Read more in the :ref:`User Guide <testing>`.

    Parameters
    ----------
    H : array-like of shape (n_samples, n_samples), or list of them
        Stein kernel of all pairs of rows. A list holds several kernels.
    method : {"auto", "wild", "asymptotic"}, default="auto"
        Null distribution; see :meth:`skdiscrepancy.KSDEstimator.test`.
    block_length : int or None, default=None
        Rows per block of a :ref:`time series <series>`.
    **params : dict
        Parameters of :func:`ksd_test`.

    Returns
    -------
    result : TestResult
        Statistic, p-value, and null distribution.

    See Also
    --------
    skdiscrepancy.ksd_from_gram : Computes the discrepancy without a test.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import ksd_test_from_gram
    >>> x = np.random.RandomState(0).normal(0.5, 1, size=100)
    >>> d, u = np.subtract.outer(x, x), np.multiply.outer(x, x)
    >>> H = (u + 1 - 2 * d**2) * np.exp(-(d**2) / 2)  # normal model, exp(-d^2 / 2)
    >>> ksd_test_from_gram(H, random_state=0).pvalue
    0.001
    """
    given = {name: params.pop(name) for name in OPTIONS if name in params}
    estimator = KSDEstimator(**params)
    design = estimator._check_params().design
    options = check_options(*stein_methods(design), **given)
    kernels = _kernels_of(H, "H")
    rows = _positions(kernels, "H")
    n = len(rows)
    if n < 2:
        raise ValueError(f"H has {n} row, must have 2 or more for a test.")
    warn_left_out(design, n)
    # A matrix does not show whether its rows depend on each other.
    options = options.with_block_length(n, None)
    options = options.ready(kernels, estimator.random_state, estimator._run)
    return stein_test(
        lambda index: gram(kernels, rows[index], run=options.run), n, design, options
    )


def _as_list(grams: Any, name: str) -> list[Any]:
    """Return a Gram matrix, or several, as a list of matrices."""
    several = isinstance(grams, (list, tuple)) and all(np.ndim(K) == 2 for K in grams)
    if several and not grams:
        raise ValueError(f"{name} == {grams!r}, must hold one Gram matrix or more.")
    return list(grams) if several else [grams]


def _kernels_of(grams: Any, name: str) -> list[PrecomputedKernel]:
    """Return the kernels of one Gram matrix, or of several."""
    return [PrecomputedKernel(check_gram(K, name)) for K in _as_list(grams, name)]


def _positions(kernels: list[PrecomputedKernel], names: str) -> np.ndarray:
    """Return the positions of all rows of matrices that have the same shape."""
    shapes = [np.shape(kernel.K) for kernel in kernels]
    if len(set(shapes)) > 1:
        raise ValueError(
            f"The Gram matrices {names} have the shapes {shapes}, must have the same "
            "shape."
        )
    return np.arange(shapes[0][0], dtype=np.float64)[:, np.newaxis]


def refuse_parts(
    kernels: list[Any],
    kinds: Any = (ColumnKernel, PrecomputedKernel),
    what: str = "choose columns or hold a Gram matrix, because all variables use the "
    "same kernels",
) -> None:
    """Refuse kernels that have a part of some kinds, by default on every variable."""
    for kernel in kernels:
        parts = kernel.members() if isinstance(kernel, Kernel) else []
        if any(isinstance(part, kinds) for part in parts):
            raise ValueError(f"kernel == {shown(kernel)}, must not {what}.")


def read_variable(Z: Any, name: str, values: dict[str, Any]) -> tuple[Any, list[Any]]:
    """Return the rows of one variable, and its kernels with numbers as bandwidths."""
    encoder, kernels = values["encoder"], values["kernel"]
    all_labels = all(isinstance(kernel, IndicatorKernel) for kernel in kernels)
    rows, labels = Z, False
    if isinstance(Z, LazyRows):
        labels = isinstance(lazy_target_kernels(Z, kernels)[0], IndicatorKernel)
    elif issparse(Z):
        rows = Reader(kernels).rows(Z, name)
    else:
        check_column_encoder(encoder, Z, name, kinds=("number", "category"))
        rows = Reader(kernels, encoder=encoder).target(Z, labels=all_labels)
        rows = as_labels(as_array(rows, name), name)
        labels = all_labels or are_labels(rows)
        if labels and not all_labels:
            remedy = "Pass a DataFrame, or one variable for each column."
            refuse_numbers_among_labels(rows, name, remedy)
            refuse_different_labels(rows, name)
        elif not labels and not np.all(np.isfinite(rows := as_numbers(rows, name))):
            raise ValueError(f"{name} contains infinity, must hold finite numbers.")
    if all_labels or labels:
        return rows, kernels[:1] if all_labels else [IndicatorKernel()]
    warn_if_indefinite(kernels, rows.shape[1])
    if isinstance(encoder, str):
        warn_of_spreads(rows, kernels, Z, name)
    # As many bandwidths for every variable.
    found = []
    for kernel in kernels:
        rule = values["bandwidth"]
        if isinstance(kernel, RadialKernel) and kernel.bandwidth is not None:
            rule, kernel = kernel.bandwidth, clone(kernel).set_params(bandwidth=None)
        if isinstance(rule, str) and rule == "dyadic":
            rule = "grid"
            if isinstance(kernel, RadialKernel):
                rule = _dyadic_grid(rows, kernel)
        found += build_collection([rows], [kernel], rule, None)
    return rows, found


def _dyadic_grid(rows: np.ndarray, kernel: Any) -> np.ndarray:
    """Return as many bandwidths for any data, in equal ratios on the "dyadic" range."""
    ends = build_collection([rows], [kernel], "grid", 2)
    low, high = (kernel_bandwidth(end) for end in ends)
    info = np.finfo(float)
    exponents = np.linspace(np.log2(low) - 1, np.log2(high) + 1, N_BANDWIDTHS)
    return np.exp2(np.clip(exponents, np.log2(info.tiny), np.log2(info.max) - 1e-9))


# Four rows have 24 orders, so that a p-value can be below 0.05.
MIN_ROWS = 4


@takes_parameters_of(
    hsic_test,
    names="method kernel bandwidth n_resamples pooling block_length "
    f"encoder n_components {RUN}",
)
def joint_independence_test(*variables: ArrayLike, **params: Any) -> TestResult:
    """Test whether several variables are jointly independent (dHSIC).

    A small p-value means that some of the variables depend on each other, in any form,
    even if all pairs are independent. By default, the type I error is exact.

    The test compares the largest V-statistic of dHSIC [1]_ with cyclic shifts of the
    variables. It takes O(n_resamples d n^2) time for d variables and exact kernels.

    Read more in the :ref:`User Guide <many_variables>`.

    Parameters
    ----------
    *variables : {array-like, sparse matrix} of shape (n_samples, n_columns)
        Two or more variables with the same rows: numbers, labels, or DataFrames.
    method : {"auto", "permutation", "shift"}, default="auto"
        Null distribution. "shift" is for stationary series and exact kernels.
    kernel : str, kernel object, callable or list, default=("gaussian", "laplace")
        Kernels on numbers. Labels, and integers with at most 20 values, have
        "indicator".
    encoder : "auto" or None, default="auto"
        "auto" reads dates and missing values; None raises an error.
    n_components : int, "auto" or None, default="auto"
        Number of random features; "auto" is None (exact) up to 10 000 rows of all
        variables together.
    **params : dict
        Parameters of :func:`hsic_test`.

    Returns
    -------
    result : TestResult
        Statistic and p-value. Each of `kernels` has one kernel per variable.

    See Also
    --------
    hsic_matrix : Tests all pairs of columns.

    References
    ----------
    .. [1] N. Pfister et al., "Kernel-based tests for joint independence", Journal of
       the Royal Statistical Society B 80, 2018.

    Examples
    --------
    The variables are pairwise independent:

    >>> import numpy as np
    >>> from skdiscrepancy import hsic_test, joint_independence_test
    >>> rng = np.random.RandomState(0)
    >>> x, y, noise = rng.normal(size=(3, 200))
    >>> z = np.abs(noise) * np.sign(x * y)
    >>> joint_independence_test(x, y, z, random_state=0).pvalue
    0.001
    >>> hsic_test(x, z, random_state=0).pvalue > 0.05
    True
    """
    given = {name: params.pop(name) for name in OPTIONS if name in params}
    values = HSICEstimator().get_params(deep=False) | params
    automatic = _pop_automatic(values)
    names = ("kernel", "bandwidth", "n_components", *RUN.split())
    checked = check_parameters({name: values[name] for name in names})
    refuse_parts(checked["kernel"])
    values |= checked
    n_components = values["n_components"]
    # Shifts of all rows of several variables take time for each shift.
    methods = ("permutation", "shift")[: 2 if n_components is None else 1]
    setting = f"n_components == {n_components}"
    options = check_options(methods, methods, setting, **given)
    if len(variables) < 2:
        raise ValueError(
            f"joint_independence_test got {len(variables)} variables, must be >= 2. To "
            "test the columns of an array X, pass them one by one: "
            "joint_independence_test(*X.T)."
        )
    read: list[tuple[np.ndarray, list[Any]]] = []
    titles = [f"variables[{i}]" for i in range(len(variables))]
    like = HSICEstimator(n_components=n_components, verbose=values["verbose"])
    if automatic and options.method != "shift":
        like.n_components = "auto"
    reader = Reader(None, MIN_ROWS, values["encoder"], estimator=like)
    for Z, name in zip(side_by_side(reader, variables, titles), titles, strict=True):
        read.append(read_variable(Z, name, values))
        n, own = len(read[0][0]), len(read[-1][0])
        if own != n:
            raise ValueError(f"{name} has {own} rows, must have {n} as variables[0].")
    if n < MIN_ROWS:
        raise ValueError(
            f"n_samples == {n}, must be >= {MIN_ROWS} for a test of joint independence."
        )
    columns = [columns_of(*own, all_rows=options.wants_blocks) for own in read]
    options = options.with_block_length(n, *columns, names=titles, both=True)
    # A single kernel is used beside every kernel of the other variables.
    n_kernels = max(len(kernels) for _, kernels in read)
    together = zip(*(own * (n_kernels // len(own)) for _, own in read), strict=True)
    run = Run(values["n_jobs"], values["verbose"])
    options = options.ready(list(together), values["random_state"], run)
    rows, kernels = map(list, zip(*read, strict=True))
    options = like._choose_features(options, rows, *kernels)
    if options.n_components is None:
        return joint_shift_test(read, options)
    seeds = draw_seeds(options.generator, 1 + len(rows))
    if not isinstance(rows[0], LazyRows) and options.block_length is None:
        order = options.generator.permutation(n)
        rows = [own[order] for own in rows]
    numbers = repeat(options.n_components)
    maps = list(map(FeatureMaps, kernels, numbers, seeds[1:], rows))
    members = [tuple(k % len(own) for own in kernels) for k in range(n_kernels)]
    products, blocks = (
        ProductMaps(maps, members, seeds[0]),
        paired_blocks(*rows, run=run),
    )
    return joint_feature_test(FeatureGram(products, blocks), options)


@dataclass(frozen=True, eq=False, repr=False)
class ConditionalTestResult(TestResult):
    """Result of a conditional test: a test result, and how well Z predicts X and y.

    Read more in the :ref:`User Guide <conditional>`.

    Attributes
    ----------
    statistic, pvalue : float
        Pooled statistic, and its p-value.
    null_distribution : ndarray of shape (n_resamples,)
        Pooled statistics of the resamples.
    method : str
        Always "wild".
    kernels : list of length n_kernels
        Pairs of a kernel on X and on y.
    statistics, pvalues : ndarray of shape (n_kernels,)
        Statistic and adjusted p-value of each kernel.
    chosen : int or None
        Position in `kernels` of the largest standardised statistic.
    block_length, n_components : int or None
        Rows per block of a series, and random features.
    null_limit, change, n_clusters, n_corrupted : None
        Always None.
    r2_X, r2_y : float
        Held-out R^2 of the regressions on Z.
    placebo_pvalue : float
        p-value with residuals of neighbours. If small, distrust `pvalue`.

    See Also
    --------
    skdiscrepancy.conditional_hsic_test : Computes the result.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import conditional_hsic_test
    >>> z, a, b = np.random.RandomState(0).normal(size=(3, 100))
    >>> result = conditional_hsic_test(z + a, z + a + b, z, random_state=0)
    >>> result.pvalue
    0.001
    >>> round(result.r2_X, 2), round(result.r2_y, 2)
    (0.45, 0.32)
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
    """Return the leading components of all centred kernels, and mixtures of components.

    All kernels share the principal components of their features, each kernel with the
    same total variance. A mixture turns the components into the features of a kernel.
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


def inner_products(residuals: list[np.ndarray]) -> tuple[list[Any], np.ndarray]:
    """Return kernels that are inner products of residuals, and the rows they read."""
    # A last column of zeros, because all residuals may be without columns.
    rows = np.hstack((*residuals, np.zeros((len(residuals[0]), 1))))
    ends = np.cumsum([own.shape[1] for own in residuals])
    columns = np.split(np.arange(ends[-1]), ends[:-1])
    return [ColumnKernel(LinearKernel(), own) for own in columns], rows


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
    names="regressor n_resamples pooling block_length kernel target_kernel "
    f"bandwidth target_bandwidth encoder n_components {RUN}",
    kernel="gaussian",
    bandwidth=None,
    target_bandwidth=None,
    n_components="auto",
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

    A small p-value means that Z does not explain how X and y depend on each other. The
    p-value is only as good as the regressions on Z.

    The U-statistic is the mean of k(z_i, z_j) <r_i, r_j> <q_i, q_j>, where r and q are
    residuals of kernel features of X and of y [1]_, with the wild bootstrap. Exact
    kernels take O(n^2) time.

    Read more in the :ref:`User Guide <conditional>`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples,)
        First variables.
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_targets)
        Second variables: numbers, or labels of any type.
    given : {array-like, sparse matrix} of shape (n_samples, n_given) or (n_samples,)
        The variables Z: numbers, or labels of any type.
    regressor : regressor or None, default=None
        Regressor for several targets, cross-fitted. None is a Gaussian process.
    n_resamples : int, default=999
        Number of resamples.
    pooling : {"max", "mean", "fuse", "agg"}, default="max"
        How to combine kernels; see :meth:`skdiscrepancy.HSICEstimator.test`.
    block_length : int, "auto" or None, default=None
        Rows per block of a :ref:`time series <series>`.
    kernel : str, kernel object or list of them, default="gaussian"
        Positive definite kernels on X. At most 32 components are used.
    bandwidth, target_bandwidth : {"dyadic", "grid", "median"}, float, array-like or \
            None, default=None
        Bandwidths of kernels without their own. None is 2 and 6 times the median
        distance.
    n_components : int, "auto" or None, default="auto"
        Number of random features; "auto" is None (exact) up to 5000 rows.
    **params : dict
        Parameters of :class:`skdiscrepancy.HSICEstimator`.

    Returns
    -------
    result : ConditionalTestResult
        Statistic, p-value, and the held-out R^2 of both regressions.

    See Also
    --------
    hsic_test : Tests whether X and y are independent.

    References
    ----------
    .. [1] K. Zhang et al., "Kernel-based conditional independence test and application
       in causal discovery", UAI 2011.

    Examples
    --------
    Given z, X and y are independent:

    >>> import numpy as np
    >>> from skdiscrepancy import conditional_hsic_test, hsic_test
    >>> z, a, b = np.random.RandomState(0).normal(size=(3, 150))
    >>> X, y = np.sin(2 * z) + 0.3 * a, np.sin(2 * z) + 0.3 * b
    >>> hsic_test(X, y, random_state=0).pvalue < 0.001
    True
    >>> conditional_hsic_test(X, y, z, random_state=0).pvalue > 0.05
    True
    """
    wild = ("wild",)
    named = {name: params.pop(name) for name in OPTIONS if name in params}
    automatic = _pop_automatic(params)
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
    if automatic:
        estimator.n_components = "auto"
        options = estimator._choose_features(options, samples, *kernels)
    sides = [components_of(*side) for side in zip(kernels, samples, strict=True)]
    return _test(sides, Z, regressor, options)


def _wider(kernels: list[Any], passed: list[Any], rows: np.ndarray) -> list[Any]:
    """Return kernels with multiples of the median, unless one has a bandwidth."""
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
    Z: np.ndarray, residuals: list[Any], target_residuals: list[Any], options: Options
) -> TestResult:
    """Test whether products of residuals have mean zero given Z, for each kernel.

    The statistics are the means of k(z_i, z_j) <r_i, r_j> <q_i, q_j> over pairs of
    different rows, where k is Gaussian with twice the median distance as its bandwidth.
    """
    if not Z.shape[1]:
        Z = np.zeros((len(Z), 1))
    given = GaussianKernel(bandwidth=GIVEN_FACTOR * median_bandwidth(Z))
    both = map(inner_products, (residuals, target_residuals))
    sides: Any = ([given], Z), *both
    kernels, rows = zip(*sides, strict=True)
    if options.n_components is None:
        grams = map(partial(gram, run=options.run), kernels, rows)
        return sign_test(reduce(mul, grams), options)
    seeds = draw_seeds(options.generator, 2)
    how = repeat(options.n_components), repeat(seeds[0])
    maps = list(map(FeatureMaps, kernels, *how, rows))
    members = product(*(range(len(own)) for own in kernels))
    blocks = paired_blocks(*rows, run=options.run)
    core = FeatureGram(ProductMaps(maps, members, seeds[1]), blocks)
    core.in_order = True
    return sign_test(core, options)


def _placebo_test(
    Z: np.ndarray, residuals: list[Any], target_residuals: list[Any], options: Options
) -> float:
    """Return the p-value of the test with the residuals of y of neighbouring rows.

    Different rows are independent, so only errors that both regressions share can link
    the residuals of neighbours, in the order of each column or principal component.
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
