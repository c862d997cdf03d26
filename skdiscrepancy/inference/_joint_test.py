"""Test of joint independence of several variables."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import clone

from skdiscrepancy._data.arrays import (
    are_labels,
    as_array,
    as_labels,
    refuse_different_labels,
    refuse_numbers_among_labels,
)
from skdiscrepancy._data.checks import RUN, shown, takes_parameters_of
from skdiscrepancy._data.frames import as_numbers, check_column_encoder
from skdiscrepancy._estimators.base import check_parameters
from skdiscrepancy._estimators.hsic import HSICEstimator
from skdiscrepancy._estimators.readers import Reader
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.run import Run
from skdiscrepancy._gram.tiles import Gram
from skdiscrepancy._nulls.pvalues import OPTIONS, TestResult, check_options
from skdiscrepancy._nulls.row_order import columns_of, warn_if_both_dependent
from skdiscrepancy._nulls.shifts import joint_shift_test, random_blocks
from skdiscrepancy.bandwidths import build_collection
from skdiscrepancy.inference._tests import hsic_test
from skdiscrepancy.kernels._base import (
    ColumnKernel,
    IndicatorKernel,
    Kernel,
    PrecomputedKernel,
)
from skdiscrepancy.kernels._names import kernel_bandwidth
from skdiscrepancy.kernels._radial import RadialKernel, warn_if_indefinite


def check_joint_kernels(kernels: list[Any]) -> None:
    """Refuse kernels that cannot be used on every variable."""
    for kernel in kernels:
        parts = kernel.members() if isinstance(kernel, Kernel) else []
        if any(isinstance(part, (ColumnKernel, PrecomputedKernel)) for part in parts):
            raise ValueError(
                f"kernel == {shown(kernel)}, must not choose columns or hold a Gram "
                "matrix, because all variables use the same kernels."
            )


def read_variable(
    Z: Any, name: str, values: dict[str, Any]
) -> tuple[np.ndarray, list[Any]]:
    """Return the rows of one variable, and its kernels with numbers as bandwidths.

    Labels are strings, booleans, and integers with at most 20 distinct values. They
    have the indicator kernel alone. Tables with missing values, or with labels beside
    numbers, are encoded by `TableEncoder`. `values` are the parameters of the test.
    """
    if issparse(Z):
        raise TypeError(f"{name} is a sparse matrix, must be dense.")
    encoder, kernels = values["encoder"], values["kernel"]
    check_column_encoder(encoder, Z, name, kinds=("number", "category"))
    all_labels = all(isinstance(kernel, IndicatorKernel) for kernel in kernels)
    rows = Reader(kernels, encoder=encoder).target(Z, labels=all_labels)
    rows = as_labels(as_array(rows, name), name)
    if all_labels:
        return rows, kernels[:1]
    if are_labels(rows):
        remedy = "Pass a DataFrame, or one variable for each column."
        refuse_numbers_among_labels(rows, name, remedy)
        refuse_different_labels(rows, name)
        return rows, [IndicatorKernel()]
    rows = as_numbers(rows, name)
    if not np.all(np.isfinite(rows)):
        raise ValueError(f"{name} contains infinity, must hold finite numbers.")
    warn_if_indefinite(kernels, rows.shape[1])
    # As many bandwidths for every variable.
    found, n_bandwidths = [], values["n_bandwidths"]
    for kernel in kernels:
        rule = values["bandwidth"]
        if isinstance(kernel, RadialKernel) and kernel.bandwidth is not None:
            rule, kernel = kernel.bandwidth, clone(kernel).set_params(bandwidth=None)
        if isinstance(rule, str) and rule == "dyadic":
            rule = "grid"
            if isinstance(kernel, RadialKernel):
                rule = _dyadic_grid(rows, kernel, n_bandwidths)
        found += build_collection([rows], [kernel], rule, n_bandwidths, "bandwidth")
    return rows, found


def _dyadic_grid(rows: np.ndarray, kernel: Any, n_bandwidths: int) -> np.ndarray:
    """Return bandwidths in equal ratios, on the range of the rule "dyadic".

    The rule itself chooses their number from the data, so it differs by variable.
    """
    if n_bandwidths == 1:
        [middle] = build_collection([rows], [kernel], "median", 1, "bandwidth")
        return np.array([kernel_bandwidth(middle)])
    ends = build_collection([rows], [kernel], "grid", 2, "bandwidth")
    low, high = (kernel_bandwidth(end) for end in ends)
    info = np.finfo(float)
    exponents = np.linspace(np.log2(low) - 1, np.log2(high) + 1, n_bandwidths)
    return np.exp2(np.clip(exponents, np.log2(info.tiny), np.log2(info.max) - 1e-9))


# Four rows have 24 orders, so that a p-value can be below 0.05.
MIN_ROWS = 4


@takes_parameters_of(
    hsic_test,
    names="method kernel bandwidth n_bandwidths n_resamples pooling block_length "
    f"encoder {RUN}",
)
def joint_independence_test(*variables: ArrayLike, **params: Any) -> TestResult:
    r"""Test whether several variables are jointly independent (dHSIC).

    A small p-value means that some of the variables depend on each other. The test can
    detect dependence of any form. It also detects dependence that exists only between
    three or more variables together, while all pairs are independent, which
    :func:`hsic_test` of pairs cannot detect. By default, its false positive rate (type
    I error) is exact.

    For d variables with Gram matrices :math:`K^1, \dots, K^d` of n rows, the test
    computes the V-statistic of [1]_,

    .. math:: \frac{1}{n^2} \sum_{i,j} \prod_l K^l_{ij}
        + \prod_l \frac{1}{n^2} \sum_{i,j} K^l_{ij}
        - \frac{2}{n} \sum_i \prod_l \frac{1}{n} \sum_j K^l_{ij},

    for Gaussian and Laplace kernels with ten bandwidths each. Kernel number k of the
    collection uses bandwidth number k of every variable, so the collection does not
    grow with the number of variables. The statistic of each kernel is standardised by
    its mean and standard deviation over all permutations, including the data, and the
    largest value is compared with 999 permutations.

    The rows are put into random order. Each permutation then shifts variable l by l * s
    rows, for a random s, so that all pairs of variables lose their pairing. The time is
    O(n_resamples d n^2) for each kernel, of contiguous multiplications without a new
    evaluation of any kernel, and the memory is O(n) for each kernel.

    Read more in the :ref:`User Guide <many_variables>`.

    Parameters
    ----------
    *variables : array-like of shape (n_samples,) or (n_samples, n_columns)
        Two or more variables with the same rows: numbers, labels of any type, or
        DataFrames. Each variable may have several columns. The columns of one variable
        may depend on each other.
    method : {"auto", "permutation", "shift"}, default="auto"
        Null distribution. "permutation", the default, puts the rows into random order
        first. "shift" keeps the order of the rows, for stationary time series, and has
        at most one resample less than there are rows.
    kernel : str, kernel object, callable or list, default=("gaussian", "laplace")
        Kernels on all variables that hold numbers, as in :func:`hsic_test`. Labels
        (strings, booleans, and integers with at most 20 distinct values of which some
        are equal) have the indicator kernel.
    bandwidth : {"dyadic", "grid", "median"}, float or array-like, default="dyadic"
        Bandwidths of the kernels that do not have their own. A name chooses them for
        each variable from the distances between its rows. "dyadic" takes
        `n_bandwidths` values in equal ratios from half the 5 % quantile of the
        distances to twice the 95 % quantile. "grid" takes equal steps from the 5 % to
        the 95 % quantile. "median" takes the median. Numbers are used for every
        variable.
    n_bandwidths : int, default=10
        Number of bandwidths of "dyadic" and "grid".
    n_resamples : int, default=999
        Smallest number of permutations. If there are fewer rows than permutations, all
        shifts of several random orders are used, which can be a few more.
    pooling : {"max", "mean", "fuse", "agg"}, default="max"
        How to combine several kernels. "max" takes the largest statistic, "mean" the
        mean, "fuse" a smooth maximum, and "agg" the smallest p-value.
    block_length : int, "auto" or None, default=None
        Rows of a series: "permutation" keeps the order of the rows, and permutes whole
        blocks of this many consecutive rows. "auto" chooses the length from the
        variables, as in :func:`hsic_test`. None is for independent rows, and warns if
        the rows of two variables clearly depend on each other in the given order. 1 is
        for independent rows, without this check.
    encoder : "auto" or None, default="auto"
        "auto" encodes a variable that is a DataFrame with missing values, or with
        labels beside numbers, by :class:`~skdiscrepancy.tables.TableEncoder`. None
        refuses such a variable.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the permutations. None draws new ones in every call. The global generator
        of numpy is never used.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.

    Returns
    -------
    result : TestResult
        With `statistic`, `pvalue`, `null_distribution`, the V-statistic of each kernel
        as `statistics`, and an adjusted p-value for each kernel. Each entry of
        `kernels` is a tuple of one kernel for each variable.

    See Also
    --------
    hsic_test : Tests whether two variables are independent.
    hsic_matrix : Tests all pairs of columns.

    References
    ----------
    .. [1] N. Pfister, P. Bühlmann, B. Schölkopf and J. Peters, "Kernel-based tests for
       joint independence", Journal of the Royal Statistical Society B 80, 2018.

    Examples
    --------
    Any two of these three variables are independent, but the sign of the third is the
    product of the signs of the others:

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
    methods = ("permutation", "shift")
    given = {name: params.pop(name) for name in OPTIONS if name in params}
    values = HSICEstimator().get_params(deep=False) | params
    names = ("kernel", "bandwidth", *RUN.split())
    checked = check_parameters({name: values[name] for name in names})
    check_joint_kernels(checked["kernel"])
    # "dyadic" has `n_bandwidths` values here, which the rule of other tests refuses.
    number = check_parameters({"n_bandwidths": values["n_bandwidths"]})
    values |= checked | number
    options = check_options(methods, methods, **given)
    if len(variables) < 2:
        raise ValueError(
            f"joint_independence_test got {len(variables)} variables, must be >= 2. To "
            "test the columns of an array X, pass them one by one: "
            "joint_independence_test(*X.T)."
        )
    read: list[tuple[np.ndarray, list[Any]]] = []
    titles = [f"variables[{i}]" for i in range(len(variables))]
    for Z, name in zip(variables, titles, strict=True):
        read.append(read_variable(Z, name, values))
        n, own = len(read[0][0]), len(read[-1][0])
        if own != n:
            raise ValueError(f"{name} has {own} rows, must have {n} as variables[0].")
    if n < MIN_ROWS:
        raise ValueError(
            f"n_samples == {n}, must be >= {MIN_ROWS} for a test of joint independence."
        )
    columns = [columns_of(*own, all_rows=options.wants_blocks) for own in read]
    warn = partial(warn_if_both_dependent, names=titles)
    options = options.with_block_length(n, warn, *columns)
    n_kernels = max(len(kernels) for _, kernels in read)
    together = [
        tuple(kernels[k if len(kernels) > 1 else 0] for _, kernels in read)
        for k in range(n_kernels)
    ]
    run = Run(values["n_jobs"], values["verbose"])
    options = options.ready(together, values["random_state"], run)
    length, generator = options.block_length, options.generator

    def draw_orders(shared: bool) -> list[np.ndarray]:
        if shared:
            in_order = options.method == "shift" or length is not None
            return [np.arange(n) if in_order else generator.permutation(n)] * len(read)
        if length is not None:
            return [random_blocks(n, length, generator) for _ in read]
        return [generator.permutation(n) for _ in read]

    def grams_of(orders: list[np.ndarray]) -> list[Gram]:
        return [
            gram(kernels, rows[order], run=options.run)
            for (rows, kernels), order in zip(read, orders, strict=True)
        ]

    return joint_shift_test(grams_of, n, len(read), draw_orders, options)
