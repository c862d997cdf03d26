"""Dependence of one target on several variables, with projections on rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from functools import partial
from typing import Any

from skdiscrepancy._base import (
    QUADRATIC_ROWS,
    Projections,
    noise_rows,
    one_sample_projections,
)
from skdiscrepancy._engine import MeanSource, centred_products, kernel_source
from skdiscrepancy._hsic._estimator import HSICEstimator
from skdiscrepancy._hsic._noise import mean_centred
from skdiscrepancy._hsic._statistics import centring_offsets


def variable_projections(
    variables: list[Any], y: Any, **params: Any
) -> list[Projections]:
    """Measure the dependence of y on several variables, by the mean over kernels.

    The mean over all products of kernels is the statistic of the product of the mean
    kernels.

    Parameters
    ----------
    variables : list
        Variables, each with the rows of y.
    y : object
        Target.
    **params : dict
        Parameters of an HSICEstimator.

    Returns
    -------
    projections : list of Projections
        The unbiased statistic of each of the variables.
    """
    found: list[Projections] = []
    for X in variables:
        estimator = HSICEstimator(**params).fit(X, y)
        design = estimator._check_params().design
        rows, target = estimator._validate_fitted(X, y, design)
        if found and len(rows) != len(found[0].linear["rows"]):
            raise ValueError(
                f"X has {len(rows)} rows, must have "
                f"{len(found[0].linear['rows'])} as the other variables."
            )
        x = MeanSource(kernel_source(estimator.kernels_, rows))
        z = MeanSource(kernel_source(estimator.target_kernels_, target))
        n = len(rows)
        products = centred_products(
            x,
            z,
            n,
            partial(centring_offsets, unbiased=True),
            tuple,
            diagonal=False,
            **estimator._walk_options(),
        )
        [sums] = products.results
        # The projection of the core of order four on a row, times two.
        means = sums * ((n - 2) / ((n - 1) * (n - 3)))
        value = float(sums.sum() / (n * (n - 3)))
        some = noise_rows(n, most=QUADRATIC_ROWS)
        core = mean_centred(x, some) * mean_centred(z, some)
        found.append(one_sample_projections(value, means, core))
    return found
