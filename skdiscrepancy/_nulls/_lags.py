"""Which lag of two series depends: the statistic of every lag, and its p-value."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from skdiscrepancy._nulls._result import TIES, TestResult, warn_if_powerless


@dataclass(frozen=True, eq=False, repr=False)
class LagTestResult(TestResult):
    """Result of a test of several lags: the statistic of every lag, and its p-value.

    ``hsic_test(X, y, method="shift", max_lag=10)`` returns it. At lag s, row i + s of y
    is compared with row i of X. So a positive lag means that y follows X, and a
    negative lag that X follows y. The null distribution comes from larger shifts [1]_.
    A notebook shows the result as a table with one row for each lag.

    Read more in the :ref:`User Guide <series>`.

    Attributes
    ----------
    statistic : float
        Largest statistic of all lags.
    pvalue : float
        p-value of this statistic, adjusted for the number of lags.
    null_distribution : ndarray of shape (n_windows,)
        Largest statistics of windows of other shifts, with as many shifts as lags.
    method : str
        "shift".
    kernels : list of length n_kernels
        Pairs of a kernel on X and a kernel on y.
    statistics : ndarray of shape (n_kernels,)
        The statistic of each pair of kernels at the lag `lag`.
    pvalues : ndarray of shape (n_kernels,)
        p-value of each pair of kernels, adjusted for the number of pairs and lags.
    null_limit : None
        The test resamples.
    block_length : int or None
        Pairs of rows that are nearer than this are left out, None for all pairs.
    effect : None
        Tests of dependence have no effect size of two samples.
    lags : ndarray of shape (n_lags,), of int
        Lags from -`max_lag` to `max_lag`.
    lag_statistics : ndarray of shape (n_lags,)
        Pooled statistic of each lag.
    lag_pvalues : ndarray of shape (n_lags,)
        p-value of each lag, adjusted for the number of lags. If X and y are
        independent, the probability that the p-value of any lag is at most the
        significance level is at most this level.

    See Also
    --------
    skdiscrepancy.hsic_test : Tests whether y depends on X.
    skdiscrepancy.plotting.LagDisplay : Draws the statistic of every lag.

    References
    ----------
    .. [1] K. Chwialkowski and A. Gretton, "A kernel independence test for random
       processes", ICML 2014.

    Examples
    --------
    The series y follows x two steps later.

    >>> import numpy as np
    >>> from skdiscrepancy import hsic_test
    >>> rng = np.random.RandomState(0)
    >>> x = rng.normal(size=202)
    >>> y = x[:-2] ** 2 + rng.normal(size=200)
    >>> result = hsic_test(x[2:], y, method="shift", max_lag=5, n_bandwidths=3)
    >>> result.lag
    2
    >>> result.lags[result.lag_pvalues <= 0.05]
    array([2])
    """

    lags: np.ndarray = None  # type: ignore[assignment]
    lag_statistics: np.ndarray = None  # type: ignore[assignment]
    lag_pvalues: np.ndarray = None  # type: ignore[assignment]

    _display = "LagDisplay"
    _item = "lag"

    @property
    def lag(self) -> int:
        """Lag with the largest statistic."""
        return int(self.lags[np.argmax(self.lag_statistics)])

    def _summary(self) -> dict[str, Any]:
        return {**super()._summary(), "lag": self.lag}

    def _columns(self) -> dict[str, Any]:
        return {
            "lag": self.lags,
            "statistic": self.lag_statistics,
            "pvalue": self.lag_pvalues,
        }

    def _priorities(self) -> np.ndarray:
        return self.lag_pvalues

    def to_frame(self) -> Any:
        """Return statistics and p-values as a DataFrame, one row for each lag.

        Needs pandas: ``pip install "skdiscrepancy[pandas]"``.

        Returns
        -------
        frame : pandas.DataFrame
            The columns are `lag`, `statistic` and `pvalue`. The p-values are adjusted
            for the number of lags.
        """
        return super().to_frame()

    def plot(self, **kwargs: Any) -> Any:
        """Draw the statistic of every lag.

        Needs matplotlib: ``pip install "skdiscrepancy[plot]"``.

        Parameters
        ----------
        **kwargs : dict
            Options of :meth:`LagDisplay.from_result
            <skdiscrepancy.plotting.LagDisplay.from_result>`, such as `ax`.

        Returns
        -------
        display : LagDisplay
            The display, already drawn.
        """
        return super().plot(**kwargs)


def n_windows(n: int, max_lag: int, block_length: int | None) -> int:
    """Return the number of windows of other shifts, which are the null distribution.

    Windows do not overlap with the lags. With blocks, they are one block away.
    """
    return n - 2 * (2 * max_lag + (block_length or 1)) + 1


def lag_result(
    result: TestResult, values: np.ndarray, max_lag: int, useful: np.ndarray
) -> LagTestResult:
    """Compare the statistics of small shifts with windows of larger shifts.

    For stationary series, a window of neighbouring shifts has the same distribution as
    the window of the lags if X and y are independent. So the largest statistic of the
    lags is ranked among the largest statistics of other windows.

    Parameters
    ----------
    result : TestResult
        Result for the shift 0, with all other shifts in order as null distribution.
    values : ndarray of shape (n_kernels, n)
        Statistics of all shifts.
    max_lag : int
        Largest lag.
    useful : ndarray of shape (n_kernels,), of bool
        Kernels that hold more than rounding errors.

    Returns
    -------
    lag_result : LagTestResult
        Result.
    """
    n = values.shape[1]
    pooled = np.concatenate(([result.statistic], result.null_distribution))
    lags = np.arange(-max_lag, max_lag + 1)
    own = pooled[lags]
    warn_if_powerless(
        1.0 + n_windows(n, max_lag, result.block_length), "windows of shifts"
    )
    null = _window_maxima(pooled, max_lag, result.block_length)
    lag = lags[np.argmax(own)]
    pvalues = np.ones(len(values))
    deviations = values.std(axis=1)
    useful = useful & (deviations > TIES * np.abs(values).max(axis=1))
    if useful.any():
        z = values[useful] - values[useful].mean(axis=1, keepdims=True)
        z /= deviations[useful, np.newaxis]
        null_z = _window_maxima(z.max(axis=0), max_lag, result.block_length)
        pvalues[useful] = _ranks(null_z, z[:, lags].max(axis=1))
    adjusted = _ranks(null, own)
    return LagTestResult(
        statistic=float(own.max()),
        pvalue=float(adjusted.min()),
        null_distribution=null,
        method=result.method,
        kernels=result.kernels,
        statistics=values[:, lag].copy(),
        pvalues=pvalues,
        block_length=result.block_length,
        lags=lags,
        lag_statistics=own,
        lag_pvalues=adjusted,
    )


def _window_maxima(
    values: np.ndarray, max_lag: int, block_length: int | None
) -> np.ndarray:
    """Return the largest value of each window of shifts that are larger than the lags.

    `values` are the statistics of the shifts 0, 1, ..., n - 1, which are circular.
    """
    first = max_lag + (block_length or 1)
    other = values[first : len(values) - first + 1]
    return sliding_window_view(other, 2 * max_lag + 1).max(axis=1)


def _ranks(null: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Return p-values of several statistics with the same null distribution."""
    tolerance = TIES * max(np.abs(null).max(initial=0.0), np.abs(observed).max())
    reached = np.sort(null)
    n_larger = len(null) - np.searchsorted(reached, observed - tolerance)
    return (1 + n_larger) / (1 + len(null))
