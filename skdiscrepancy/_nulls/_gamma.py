"""A gamma law for HSIC with one kernel: a p-value without resampling."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

from skdiscrepancy._engine import Factor
from skdiscrepancy._nulls._moments import gamma_pvalue, invariants
from skdiscrepancy._nulls._result import TestResult

# The third moment divides by (n - 5).
MIN_ROWS = 7


def gamma_test(x: Factor, y: Factor, kernels: list[Any]) -> TestResult:
    """Test whether x and y are independent, by the V-statistic of one product.

    Its distribution over all permutations of y has a known mean, variance and
    skewness; the p-value is the tail of the gamma law that has the same. Where a factor
    leaves something out, the test is one of a slightly different statistic.

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
    product = float(np.square(G @ F.T).sum())
    constant = min(x.norm, y.norm) <= 1e-12 * n
    pvalue = 1.0 if constant else gamma_pvalue(product, invariants(G), invariants(F))
    return TestResult(
        statistic=product / n**2,
        pvalue=pvalue,
        null_distribution=np.empty(0),
        method="gamma",
        kernels=kernels,
        statistics=np.array([product / n**2]),
        pvalues=np.array([pvalue]),
    )
