"""Tests of every column of a table."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._base import StatisticParams
from skdiscrepancy._data import (
    MOST_DRAWS,
    RandomStateLike,
    as_array,
    check_run_options,
    generator_of,
    is_numeric,
    refuse_missing,
    shown,
    takes_parameters_of,
)
from skdiscrepancy._hsic import HSICEstimator
from skdiscrepancy._mmd import MMDEstimator, differences
from skdiscrepancy._nulls import TestResult, warn_if_both_dependent, warn_if_dependent
from skdiscrepancy.inference._column_inputs import ColumnSample, read_samples
from skdiscrepancy.inference._tables import (
    ColumnTests,
    check_correction,
    columnwise_tests,
)
from skdiscrepancy.inference._tests import hsic_test, mmd_test, mmd_test_without_effect
from skdiscrepancy.kernels import (
    ColumnKernel,
    Kernel,
    check_kernel,
    choose_target_kernels,
)
from skdiscrepancy.tables import encode_target, fit_target_encoder


class MMDColumnParams(StatisticParams, total=False):
    """Parameters that `mmd_column_tests` passes on to `mmd_test`."""

    bandwidth: Any
    block_length: int | str | None
    method: str
    n_components: int | None
    n_groups: int | None
    paired: bool
    pooling: str
    second_order: bool


class HSICColumnParams(StatisticParams, total=False):
    """Parameters that `hsic_column_tests` passes on to `hsic_test`."""

    bandwidth: Any
    block_length: int | str | None
    method: str
    n_components: int | None
    pooling: str
    target_kernel: Any
    target_bandwidth: Any
    second_order: bool


@takes_parameters_of(mmd_test)
def mmd_column_tests(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    correction: str | None = "bh",
    kernel: Any = "laplace",
    n_resamples: int | None = None,
    encoder: Any = "auto",
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
    verbose: int = 0,
    **params: Unpack[MMDColumnParams],
) -> ColumnTests:
    """Test every column of two samples for a difference.

    Use it to see which columns of a table have drifted. Each column gets its own
    two-sample test, :func:`mmd_test`. Strings, booleans and categories are compared as
    labels, and a missing value counts as one more label. Dates and ordered categories
    are compared as numbers. A missing number differs from all known numbers, so the
    test also detects that values go missing more often. These tests compare the
    distribution of each column, but not how columns depend on each other. To detect a
    changed dependence, test all columns together with :func:`mmd_test`.

    Read more in the :ref:`User Guide <testing>`.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples_X, n_features)
        First sample.
    Y : array-like or DataFrame of shape (n_samples_Y, n_features)
        Second sample, with the same columns. Columns of DataFrames are matched by name.
    correction : {"bh", "by", "holm"} or None, default="bh"
        Correction of the p-values for the number of columns. "bh" (Benjamini and
        Hochberg [1]_) and "by" (Benjamini and Yekutieli, for any dependence between
        columns) control the false discovery rate. "holm" controls the probability of
        any false discovery. None does not correct.
    kernel : str, kernel object or list of them, default="laplace"
        Kernels for the columns of numbers.
    n_resamples : int or None, default=None
        Number of resamples of each test. None is 100 times the number of columns, and
        at least 999, so that p-values can be small enough to pass the correction. The
        time then grows with the square of the number of columns.
    encoder : "auto" or None, default="auto"
        "auto" reads dates and missing values of a DataFrame as they are: a column of
        numbers with missing values becomes the two columns of
        :class:`~skdiscrepancy.tables.TableEncoder`, and `kernel` compares these. None
        refuses such columns.
    n_jobs : int or None, default=None
        Number of threads, over columns. The p-values do not depend on it.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the resamples. None draws new ones in every call. The global generator of
        numpy is never used.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.
    **params : dict
        Other parameters of :func:`mmd_test`.

    Returns
    -------
    tests : ColumnTests
        Statistics, p-values, adjusted p-values and fractions of missing values of the
        columns. ``print(tests)`` shows them, with the smallest p-value first.

    See Also
    --------
    mmd_test : Tests all columns together.

    References
    ----------
    .. [1] Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", Journal
       of the Royal Statistical Society B 57, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_column_tests
    >>> rng = np.random.RandomState(0)
    >>> X, Y = rng.normal(size=(100, 3)), rng.normal(size=(80, 3))
    >>> Y[:, 1] *= 3
    >>> tests = mmd_column_tests(X, Y, random_state=0)
    >>> tests.adjusted_pvalues.round(3).tolist()
    [0.806, 0.003, 0.806]
    """
    _check_params(
        MMDEstimator,
        correction=correction,
        kernel=kernel,
        n_resamples=n_resamples,
        run_options=(n_jobs, random_state, verbose),
        params=dict(params),
    )
    # One look at the order of the rows of all columns, not one for each test.
    in_order = params.get("block_length") is None
    params["block_length"] = 1 if in_order else params["block_length"]
    names, columns = read_samples((X, Y), ("X", "Y"), encoder)
    tests = columnwise_tests(
        names,
        columns,
        partial(
            _test_column,
            mmd_test_without_effect,
            kernel=kernel,
            n_resamples=_resamples(n_resamples, len(names)),
            **params,
        ),
        correction=correction,
        generator=generator_of(random_state),
        n_jobs=n_jobs,
        verbose=verbose,
    )
    if in_order:
        _warn_of_order(names, columns, paired=params.get("paired", False))
    return tests


@takes_parameters_of(hsic_test)
def hsic_column_tests(
    X: ArrayLike,
    y: ArrayLike,
    *,
    correction: str | None = "bh",
    kernel: Any = ("gaussian", "laplace"),
    n_resamples: int | None = None,
    encoder: Any = "auto",
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
    verbose: int = 0,
    **params: Unpack[HSICColumnParams],
) -> ColumnTests:
    """Test for every column of X whether y depends on it.

    Each column gets its own test, :func:`hsic_test`, and the p-values are corrected for
    the number of columns [1]_. Strings, booleans and categories are labels, and a
    missing value counts as one more label. Dates and ordered categories are numbers. A
    missing number differs from all known numbers. All columns use the same kernels on
    y. These tests do not detect interactions, where y depends on two columns only
    together. To detect interactions, test all columns together with :func:`hsic_test`.

    Read more in the :ref:`User Guide <testing>`.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        Columns to test.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Numbers, or labels of any type. A Series or DataFrame may have missing values. A
        missing label counts as one more label.
    correction : {"bh", "by", "holm"} or None, default="bh"
        Correction of the p-values for the number of columns; see
        :func:`mmd_column_tests`.
    kernel : str, kernel object or list of them, default=("gaussian", "laplace")
        Kernels for the columns of numbers.
    n_resamples : int or None, default=None
        Smallest number of resamples of each test. None is 100 times the number of
        columns, and at least 999, so that p-values can be small enough to pass the
        correction. The time then grows with the square of the number of columns.
    encoder : "auto" or None, default="auto"
        "auto" reads dates and missing values of a DataFrame as they are: a column of
        numbers with missing values becomes the two columns of
        :class:`~skdiscrepancy.tables.TableEncoder`, and `kernel` compares these. None
        refuses such columns.
    n_jobs : int or None, default=None
        Number of threads, over columns. The p-values do not depend on it.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the resamples. None draws new ones in every call. The global generator of
        numpy is never used.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.
    **params : dict
        Other parameters of :func:`hsic_test`.

    Returns
    -------
    tests : ColumnTests
        Statistics, p-values, adjusted p-values and fractions of missing values of the
        columns. ``print(tests)`` shows them, with the smallest p-value first.

    See Also
    --------
    hsic_test : Tests all columns together.
    skdiscrepancy.feature_selection.HSICScore : Computes p-values faster, from a gamma
        distribution.

    References
    ----------
    .. [1] Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", Journal
       of the Royal Statistical Society B 57, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import hsic_column_tests
    >>> X = np.random.RandomState(0).normal(size=(80, 3))
    >>> tests = hsic_column_tests(X, X[:, 1] ** 2, n_bandwidths=3, random_state=0)
    >>> tests.adjusted_pvalues.round(3).tolist()
    [0.164, 0.003, 0.852]
    """
    _check_params(
        HSICEstimator,
        correction=correction,
        kernel=kernel,
        n_resamples=n_resamples,
        run_options=(n_jobs, random_state, verbose),
        params=dict(params),
    )
    in_order = params.get("block_length") is None
    params["block_length"] = 1 if in_order else params["block_length"]
    names, columns = read_samples((X,), ("X",), encoder)
    target_kernel = params.get("target_kernel", "auto")
    labels = HSICEstimator(target_kernel=target_kernel)._reads_labels()
    y = encode_target(
        encoder, fit_target_encoder(encoder, y, labels=labels), y, labels=labels
    )
    # Checked here, so that the error does not name the first column.
    refuse_missing(as_array(y, "y"), "y")
    # Columns of numbers and columns of labels use the same kernels on y.
    params["target_kernel"] = _target_kernels(target_kernel, as_array(y, "y"), kernel)
    tests = columnwise_tests(
        names,
        columns,
        partial(
            _test_column,
            hsic_test,
            target=(y,),
            kernel=kernel,
            n_resamples=_resamples(n_resamples, len(names)),
            **params,
        ),
        correction=correction,
        generator=generator_of(random_state),
        n_jobs=n_jobs,
        verbose=verbose,
    )
    target = as_array(y, "y")
    by_shifts = params.get("method") == "shift"
    if in_order and target.ndim and not by_shifts:
        rows = target.reshape(len(target), -1)
        columns.append(ColumnSample([rows], not is_numeric(rows), [0.0]))
        orders = [column.order(*column.parts) for column in columns]
        warn_if_both_dependent(*orders, names=[*names, "y"], n_left=len(names))
    return tests


def _test_column(
    test: Callable[..., TestResult],
    column: ColumnSample,
    seed: int,
    *,
    kernel: Any,
    target: tuple[Any, ...] = (),
    **options: Any,
) -> TestResult:
    """Test one column, with a label kernel if it does not hold numbers."""
    return test(
        *column.parts,
        *target,
        kernel="indicator" if column.of_labels else kernel,
        n_jobs=1,
        random_state=seed,
        **options,
    )


def _warn_of_order(
    names: list[Any], columns: list[ColumnSample], *, paired: bool
) -> None:
    """Warn once if rows of any columns of two tables depend on each other."""
    samples: list[Any] = []
    owners: list[Any] = []
    for name, column in zip(names, columns, strict=True):
        parts: list[Any] = [column.order(part) for part in column.parts]
        if paired:
            # Labels have no differences.
            parts = [] if column.of_labels else [differences(*parts)]
        samples += parts
        owners += [name] * len(parts)
    warn_if_dependent(*samples, names=owners)


def _check_params(
    estimator: type[MMDEstimator] | type[HSICEstimator],
    *,
    correction: Any,
    kernel: Any,
    n_resamples: Any,
    run_options: tuple[Any, Any, Any],
    params: dict[str, Any],
) -> None:
    """Check all parameters before the columns are read."""
    check_correction(correction)
    check_run_options(*run_options)
    options = {
        name: params.pop(name, parameter.default)
        for name, parameter in inspect.signature(estimator.test).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    options["n_resamples"] = _resamples(n_resamples, 1)
    checked = estimator(kernel=kernel, **params)
    settings = checked._check_params()
    for item in settings.kernels:
        parts = item.members() if isinstance(item, Kernel) else []
        if any(isinstance(part, ColumnKernel) for part in parts):
            raise ValueError(
                f"kernel == {shown(item)}, must not choose columns, because every "
                "column has a test of its own."
            )
    checked._check_options(settings.design, **options)


def _target_kernels(target_kernel: Any, y: np.ndarray, kernel: Any) -> Any:
    """Return the kernels on y. "auto" chooses from the kernels for numbers."""
    if not isinstance(target_kernel, str) or target_kernel != "auto" or not y.ndim:
        return target_kernel
    return choose_target_kernels(target_kernel, y, check_kernel(kernel))


def _resamples(n_resamples: int | None, n_columns: int) -> int:
    if n_resamples is not None:
        return n_resamples
    return min(max(999, 100 * n_columns - 1), MOST_DRAWS)
