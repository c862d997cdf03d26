"""A gamma distribution for HSIC with one kernel: a p-value without resampling."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

from skdiscrepancy._base import check_finite
from skdiscrepancy._engine import Factor
from skdiscrepancy._nulls._moments import gamma_limit, invariants
from skdiscrepancy._nulls._result import TestResult

# The third moment divides by (n - 5).
MIN_ROWS = 7


def gamma_test(x: Factor, y: Factor, kernels: list[Any]) -> TestResult:
    """Test whether x and y are independent, by the V-statistic of one product.

    The mean, variance and skewness of the V-statistic over all permutations of y are
    known. The p-value is the tail of the gamma distribution with these moments. If a
    factor is not complete, the test uses a slightly different statistic.

    Parameters
    ----------
    x, y : Factor
        Centred factors of the Gram matrices.
    kernels : list of length 1
        The pair of kernels.

    Returns
    -------
    result : TestResult
        Result, without a null distribution.
    """
    G, F = x.rows, y.rows
    n = G.shape[1]
    product = float(check_finite(np.square(G @ F.T).sum()))
    limit = None
    if min(x.norm, y.norm) > 1e-12 * n:
        limit = gamma_limit(invariants(G), invariants(F))
    pvalue = 1.0 if limit is None else limit.pvalue(product)
    return TestResult(
        statistic=product / n**2,
        pvalue=pvalue,
        null_distribution=np.empty(0),
        method="gamma",
        kernels=kernels,
        statistics=np.array([product / n**2]),
        pvalues=np.array([pvalue]),
        null_limit=None if limit is None else limit.distribution(1 / n**2),
    )
