"""Length of the blocks of consecutive rows that tests of series keep together."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from skdiscrepancy._data import check_number, warn_user

# A test needs this many blocks of each sample. "auto" leaves at least twice as many.
MIN_BLOCKS = 4
MIN_AUTO_BLOCKS = 8
# "auto" takes this multiple of the rule. The rule balances bias and variance of an
# estimated variance, but the type I error suffers more from the bias, which longer
# blocks reduce.
SAFETY = 1.5
# "auto" looks at this many columns. Wider data are projected on principal components.
MAX_COLUMNS = 10
# Autocorrelations below NEGLIGIBLE * sqrt(log10(n) / n) count as zero.
NEGLIGIBLE = 2.0


def check_block_length(block_length: Any) -> int | str | None:
    """Check the parameter `block_length`: None, "auto" or a positive integer.

    Parameters
    ----------
    block_length : object
        Parameter of a test.

    Returns
    -------
    block_length : int, "auto" or None
        Checked parameter. None and 1 are for independent rows. Only None looks whether
        the rows clearly depend on each other.
    """
    if block_length is None or (
        isinstance(block_length, str) and block_length == "auto"
    ):
        return block_length
    return check_number(
        block_length,
        "block_length",
        integer=True,
        least=1,
        keyword="auto",
        context=", or None for independent rows",
    )


def rows_of_blocks(
    block_length: int | str, n_rows: int, *samples: np.ndarray | None
) -> int:
    """Return the number of rows of a block.

    Parameters
    ----------
    block_length : int or "auto"
        Checked parameter of a test.
    n_rows : int
        Rows of the shortest sample.
    *samples : ndarray of shape (n_samples, n_columns), or None
        Series in the order of their rows, for "auto". None if the rows are not numbers.

    Returns
    -------
    length : int
        Rows of a block. A sample has at least `MIN_BLOCKS` of them.
    """
    most = n_rows // MIN_BLOCKS
    if most < 1:
        raise ValueError(
            f"n_samples == {n_rows}, must be >= {MIN_BLOCKS} for a test with "
            f"block_length == {block_length!r}."
        )
    if block_length != "auto":
        if int(block_length) > most:
            raise ValueError(
                f"block_length == {block_length}, must be from 1 to {most}, because a "
                f"test needs at least {MIN_BLOCKS} blocks, and a sample has {n_rows} "
                "rows."
            )
        return int(block_length)
    if any(sample is None for sample in samples):
        raise ValueError(
            "block_length == 'auto', must be an integer or None, because the rows are "
            "labels, a sparse matrix or positions in a Gram matrix. The automatic "
            "length needs columns of numbers."
        )
    wanted = max(
        (
            automatic_length(series)
            for sample in samples
            if sample is not None
            for series in scalar_series(sample)
        ),
        default=1.0,
    )
    length, most = int(np.ceil(SAFETY * wanted)), max(1, n_rows // MIN_AUTO_BLOCKS)
    if wanted > most:
        warn_user(
            f"The rows depend on each other over so long a time that "
            f"block_length='auto' needs blocks of {length} rows, and a sample has "
            f"only {n_rows} rows. The test uses blocks of {most} rows, and may reject "
            "a true null hypothesis too often. Pass more rows, or remove a trend."
        )
    return min(length, most)


def scalar_series(sample: np.ndarray) -> np.ndarray:
    """Return the series that the automatic length looks at, one in each row.

    They are the columns and their squared deviations from the mean, because kernels
    see changes of location and of scale. Data of more than `MAX_COLUMNS` columns are
    first projected on as many leading principal components.

    Parameters
    ----------
    sample : ndarray of shape (n_samples, n_columns)
        Numbers.

    Returns
    -------
    series : ndarray of shape (n_series, n_samples)
        Series.
    """
    columns = np.asarray(sample, dtype=np.float64)
    # Sums and squares of large numbers overflow.
    columns = columns / (np.abs(columns).max(initial=0.0) or 1.0)
    columns = columns - columns.mean(axis=0)
    columns /= np.abs(columns).max(initial=0.0) or 1.0
    if columns.shape[1] > MAX_COLUMNS:
        small = columns.shape[1] <= len(columns)
        gram = columns.T @ columns if small else columns @ columns.T
        vectors = np.linalg.eigh(gram)[1][:, -MAX_COLUMNS:]
        columns = columns @ vectors if small else vectors
    return np.concatenate((columns.T, np.square(columns.T)))


def automatic_length(series: np.ndarray) -> float:
    """Return the length of blocks by the rule of Politis and White.

    It minimises the mean squared error of the variance of a mean that the circular
    block bootstrap estimates [1]_, with the corrected constants of [2]_. Moments of the
    spectral density come from autocovariances with a flat-top window, which ends where
    the autocorrelations become negligible. It takes O(n log n).

    Parameters
    ----------
    series : ndarray of shape (n_samples,)
        Numbers in the order of time.

    Returns
    -------
    length : float
        Rows of a block, 1 or more. A constant series has the length 1.

    References
    ----------
    .. [1] D. N. Politis and H. White, "Automatic block-length selection for the
       dependent bootstrap", Econometric Reviews 23, 2004.
    .. [2] A. Patton, D. N. Politis and H. White, "Correction to 'Automatic block-length
       selection for the dependent bootstrap'", Econometric Reviews 28, 2009.
    """
    n = len(series)
    n_quiet = max(5, int(np.ceil(np.sqrt(np.log10(n)))))
    longest = min(int(np.ceil(np.sqrt(n))) + n_quiet, n - 1)
    most = np.ceil(min(3 * np.sqrt(n), n / 3))
    series = series - series.mean()
    size = np.abs(series).max()
    if n < 3 or not size > 0:
        return 1.0
    R = _autocovariances(series / size, min(longest + n_quiet, n - 1))
    last = _last_lag(R[1:] / R[0], longest, n_quiet, n)
    width = min(2 * max(last, 1), longest)
    lags = np.arange(1, width + 1)
    window = np.minimum(1.0, 2 * (1 - lags / width))
    # Sums over all lags from -width to width.
    density = R[0] + 2 * window @ R[lags]
    slope = 2 * (window * lags) @ R[lags]
    if not density > 0:
        # The window can make an estimated density negative.
        return float(most)
    length = np.cbrt(1.5 * n * (slope / density) ** 2)
    return float(np.clip(length, 1.0, max(most, 1.0)))


def _autocovariances(series: np.ndarray, longest: int) -> np.ndarray:
    """Return the autocovariances of a centred series, divided by its length."""
    n = len(series)
    padded = next_fast_len(n + longest, real=True)
    spectrum = np.square(np.abs(rfft(series, padded)))
    return irfft(spectrum, padded)[: longest + 1] / n


def _last_lag(r: np.ndarray, longest: int, n_quiet: int, n: int) -> int:
    """Return the lag after which `n_quiet` autocorrelations in a row are negligible."""
    loud = np.abs(r) >= NEGLIGIBLE * np.sqrt(np.log10(n) / n)
    for lag in range(longest):
        if not loud[lag : lag + n_quiet].any():
            return lag
    return int(np.flatnonzero(loud)[-1]) + 1
