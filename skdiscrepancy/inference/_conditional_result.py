"""Result of a conditional test."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skdiscrepancy._nulls import TestResult


@dataclass(frozen=True, eq=False, repr=False)
class ConditionalTestResult(TestResult):
    """Result of a conditional test: a test result, and how well Z predicts X and y.

    It has all attributes and methods of :class:`~skdiscrepancy.inference.TestResult`,
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
    block_length : int or None
        Rows of the blocks that share a random sign, None for independent rows.
    effect : None
        Tests of dependence have no effect size of two samples.
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
