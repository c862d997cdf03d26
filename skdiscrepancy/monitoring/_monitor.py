"""Online detection of drift in a stream of rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data.checks import (
    KeywordHints,
    RandomStateLike,
    check_number,
    check_run_options,
    explains_keywords,
    refuse_changed,
    shown,
    values_of,
    warn_user,
)
from skdiscrepancy._estimators.base import collection_of
from skdiscrepancy._estimators.readers import Reader
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.run import Run, in_one_blas_thread, progress
from skdiscrepancy._nulls.row_order import columns_of, warn_if_dependent
from skdiscrepancy._statistics.second_order import check_finite
from skdiscrepancy.bandwidths import check_bandwidths
from skdiscrepancy.kernels._base import ColumnKernel
from skdiscrepancy.kernels._labels import IndicatorKernel
from skdiscrepancy.kernels._names import check_kernel
from skdiscrepancy.monitoring._stream import (
    Reference,
    StreamKernels,
    StreamTask,
    Window,
    pool,
    simulate_thresholds,
)
from skdiscrepancy.tables import check_encoder, layout_of

# Smallest number of windows that fit into a reference sample.
LEAST_WINDOWS = 3
# Parameters from which `fit` learns kernels, encoder and thresholds.
LEARNT_FROM = (
    "window_size",
    "run_length",
    "kernel",
    "bandwidth",
    "n_bandwidths",
    "encoder",
)


class DriftMonitor(KeywordHints, BaseEstimator):
    r"""Alarm for drift in a stream of rows.

    Use it to monitor data that arrive row by row, for example sensor values or the
    inputs of a deployed model, for data drift (covariate shift). `fit` learns from a
    reference sample what the stream looks like without drift. `update` takes new rows
    and returns an alarm, True or False, for each row.

    The statistic is the unbiased squared MMD between the last `window_size` rows and
    the reference sample, in units of its standard deviation without drift, and the
    largest of all kernels. It takes :math:`O((m + w) K)` time for each row, for m rows
    of reference, windows of w rows and K kernels. An alarm is raised if the statistic
    exceeds a threshold. `fit` chooses the thresholds so that, without drift, the
    probability of an alarm is 1 / `run_length` for the first full window and for each
    later row, given that there was no alarm before [1]_.

    `fit` simulates streams from the rows of the reference sample, in random order. Each
    simulated window is compared with the rows of the reference sample that are not in
    the window. This takes :math:`O((m^2 + w N) K)` time for N simulated windows, where
    N is 400 times `run_length`, but at most 400,000. For a `run_length` above 1000, the
    threshold is extrapolated along the tail of the statistic, which is close to
    exponential. Rows of the reference sample must be independent, so that their order
    carries no information.

    Read more in the :ref:`User Guide <monitoring>`.

    Parameters
    ----------
    window_size : int, default=100
        Number of rows of the window. A longer window detects smaller changes, and a
        shorter window detects large changes earlier. The reference sample must have at
        least 3 times as many rows, and more rows give a more accurate run length.
    run_length : float, default=10_000
        Expected number of rows from the first full window to a false alarm, if there is
        no drift. It is an average over streams and over reference samples.
    kernel : str, kernel object, callable or list, default=("gaussian", "laplace")
        Kernels: names, objects of :mod:`skdiscrepancy.kernels`, their sums and
        products, functions that return the Gram matrix of two blocks of rows, or
        kernels of :mod:`sklearn.gaussian_process.kernels`.
    bandwidth : {"grid", "median", "dyadic"}, float or array-like, default="grid"
        Bandwidths of the kernels that do not have their own, as for
        :class:`~skdiscrepancy.MMDEstimator`. A name chooses them from the distances
        between rows of the reference sample.
    n_bandwidths : int, default=10
        Number of bandwidths of a "grid".
    encoder : "auto", None or transformer, default="auto"
        How to encode tables. "auto" encodes a DataFrame that has categories, dates or
        missing values with :class:`~skdiscrepancy.tables.TableEncoder`, and leaves
        complete numbers unchanged. None refuses such a DataFrame. A transformer is
        cloned, fitted, and encodes all data.
    n_jobs : int or None, default=None
        Number of threads of `fit`. The thresholds do not depend on it.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the simulated streams. None draws new streams in every call. The global
        generator of numpy is never used.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.

    Attributes
    ----------
    reference_ : ndarray of shape (n_samples, n_features)
        Sample seen during :term:`fit`, encoded if there is an encoder. A float array is
        not copied.
    kernels_ : list of kernel objects
        Collection of kernels, each with one number as bandwidth.
    encoder_ : transformer or None
        Fitted encoder. None if the data need none.
    thresholds_ : ndarray of shape (window_size,)
        Threshold for the first full window, for the second full window and so on. The
        last threshold is for all later windows.
    threshold_ : float
        Threshold for the last row. Before the first full window, it is the threshold
        for the first full window.
    statistic_ : float or None
        Statistic after the last row. It is None before the first full window.
    n_seen_ : int
        Number of rows that `update` got since `fit` or `reset`.
    change_point_ : int or None
        Estimated position of the first row after the change, where the first row that
        `update` got is row 0. It is None if there was no alarm. An alarm estimates the
        change point anew if there was no alarm in the `window_size` rows before.
    n_features_in_ : int
        Number of features seen during :term:`fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`, if all are strings.

    See Also
    --------
    skdiscrepancy.MMDEstimator : Compares batches of rows with a reference sample.
    skdiscrepancy.mmd_test : Tests whether two samples have the same distribution.

    References
    ----------
    .. [1] O. Cobb, A. Van Looveren and J. Klaise, "Sequential multivariate change
       detection with calibrated and memoryless false detection rates", AISTATS, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.monitoring import DriftMonitor
    >>> rng = np.random.RandomState(0)
    >>> monitor = DriftMonitor(window_size=20, run_length=500, random_state=0)
    >>> monitor = monitor.fit(rng.normal(size=(500, 2)))
    >>> bool(monitor.update(rng.normal(size=(50, 2))).any())
    False
    >>> alarms = monitor.update(rng.normal(size=(20, 2)) + 2.0)
    >>> int(alarms.argmax()), monitor.change_point_
    (6, 50)
    """

    def __init__(
        self,
        *,
        window_size: int = 100,
        run_length: float = 10_000,
        kernel: Any = ("gaussian", "laplace"),
        bandwidth: Any = "grid",
        n_bandwidths: int = 10,
        encoder: Any = "auto",
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ):
        self.window_size = window_size
        self.run_length = run_length
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_bandwidths = n_bandwidths
        self.encoder = encoder
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @explains_keywords
    @in_one_blas_thread
    def fit(self, X: ArrayLike, y: Any = None) -> DriftMonitor:
        """Learn the kernels and the thresholds from a reference sample.

        If you change `run_length`, or another parameter that `fit` learns from,
        `update` asks you to call `fit` again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Reference sample: independent rows without drift.
        y : None
            Not used, present for API consistency.

        Returns
        -------
        self : DriftMonitor
            Fitted monitor, which has seen no rows of a stream.
        """
        size = check_number(self.window_size, "window_size", integer=True, least=2)
        run_length = check_number(self.run_length, "run_length", least=2)
        kernels = check_kernel(self.kernel)
        check_bandwidths(kernels, self.bandwidth, "bandwidth", self.n_bandwidths)
        check_encoder(self.encoder)
        check_run_options(self.n_jobs, self.random_state, self.verbose)
        reader = Reader(None, 2, self.encoder, self)
        encoder = reader.fit([X])
        rows = reader.rows(X, reset=True)
        _check_size(len(rows), size, run_length)
        warn_if_dependent(
            columns_of(rows, kernels, all_rows=False),
            because="the thresholds are for independent rows. Without drift, alarms "
            "may be much more frequent than run_length says",
            remedy="watch the errors of a forecast instead",
            silence="shuffle the reference sample",
        )
        collection = collection_of(
            [rows],
            kernels,
            self.bandwidth,
            self.n_bandwidths,
            "bandwidth",
            layout_of(encoder, X),
            self.n_jobs,
        )
        evaluated = [_streamed(kernel, rows.shape[1]) for kernel in collection]
        run, n = Run(self.n_jobs, self.verbose), len(rows)
        source = gram(evaluated, rows, run=run)
        with progress("thresholds", 2, self.verbose) as both:
            sums = check_finite(source.sums(diagonal=False))
            diagonal = source.diagonal().sum(axis=1, dtype=np.float64)
            reference = Reference(n, sums, diagonal)
            both.advance()
            scales, thresholds = simulate_thresholds(
                StreamTask(source, reference, size), run_length, self.random_state, run
            )
            both.advance()
        # All at once, so that a fit that ends early leaves no monitor of two samples.
        self.encoder_, self.reference_, self.kernels_ = encoder, rows, collection
        self._learnt_from = values_of(self, LEARNT_FROM)
        self._sums, self._scales, self.thresholds_ = reference, scales, thresholds
        self._stream = StreamKernels(evaluated, rows, size)
        return self.reset()

    def reset(self) -> DriftMonitor:
        """Forget the rows of the stream, and keep what was learnt in `fit`.

        Call it after an alarm, when the cause of the drift is gone. To take the drift
        for the new normal state, call `fit` with a new reference sample instead.

        Returns
        -------
        self : DriftMonitor
            The monitor, with an empty window.
        """
        check_is_fitted(self)
        empty = np.empty((len(self.kernels_), 0))
        self._window = Window(self.reference_[:0], empty, empty)
        self.n_seen_ = 0
        self.statistic_: float | None = None
        self.threshold_ = float(self.thresholds_[0])
        self.change_point_: int | None = None
        self._last_alarm: int | None = None
        return self

    @explains_keywords
    def update(self, X: ArrayLike) -> np.ndarray:
        """Take new rows of the stream, and return an alarm for each row.

        The monitor goes on after an alarm. Alarms continue for as long as the window
        differs from the reference sample, until you call `reset`. The result does not
        depend on how the rows are divided into calls. If a row is refused with an
        error, the monitor is as it was before the call.

        Parameters
        ----------
        X : array-like of shape (n_features,) or (n_rows, n_features)
            One row, or several rows in the order of their time.

        Returns
        -------
        alarms : ndarray of bool of shape (n_rows,)
            Whether there is an alarm, for each row. There is none before the window is
            full for the first time.
        """
        check_is_fitted(self)
        refuse_changed(self, self._learnt_from)
        rows = self._stream_rows(X)
        before = dict(vars(self))
        alarms = np.zeros(len(rows), dtype=bool)
        try:
            for start in range(0, len(rows), self._stream.most_rows):
                new = rows[start : start + self._stream.most_rows]
                for i, window in enumerate(self._window.slide(self._stream, new)):
                    self._window = window
                    alarms[start + i] = self._judge()
        except BaseException:
            self.__dict__.update(before)
            raise
        return alarms

    def contributions(self) -> np.ndarray:
        """Compute how much each row of the window adds to the squared MMD.

        Rows with large contributions are unlike the reference sample. After an alarm,
        the contributions show which rows caused it. They are defined as for
        :meth:`skdiscrepancy.MMDEstimator.contributions`: their mean is the squared MMD
        (V-statistic) of the mean of `kernels_`. Takes O(w^2) time and O(w) memory.

        Returns
        -------
        contributions : ndarray of shape (n_rows,)
            Contributions of the last `window_size` rows, oldest row first. Before the
            window is full, there are fewer rows.
        """
        check_is_fitted(self)
        return self._window.contributions(self._stream, self._sums)

    def _stream_rows(self, X: Any) -> np.ndarray:
        """Return one or more rows of a stream as an array."""
        dtype, plain = self.reference_.dtype, self.encoder_ is None
        if plain and type(X) is np.ndarray and X.shape == (self.n_features_in_,):
            # The common case, without the checks that take longer than the kernels.
            row = X[np.newaxis].astype(dtype) if X.dtype.kind in "fiu" else X
            if row.dtype == dtype and np.isfinite(row).all():
                return row
        first = X[0] if isinstance(X, (list, tuple)) and X else X
        if isinstance(first, Mapping):
            raise TypeError(
                f"X == {shown(X)}, must be an array, a DataFrame or a Series. For rows "
                "that are dicts, pass a DataFrame of a list of rows: DataFrame([row])."
            )
        # Not `ndim`, which a DataFrame of polars does not have.
        shape = np.shape(X)
        one_row = f"must be one row of {self.n_features_in_} values, or several rows"
        if X is None or shape == (0,):
            raise ValueError(f"X == {shown(X)}, {one_row}.")
        if len(shape) == 1 and hasattr(X, "to_frame") and hasattr(X, "index"):
            # A row of a DataFrame of pandas, whose index are the names of columns.
            X = X.to_frame().T.infer_objects()
        elif len(shape) == 1:
            # An array of text and numbers would make text of the numbers. A masked
            # array keeps its mask.
            row = np.asanyarray(X, dtype=None if plain else object)
            if row.dtype.kind in "US":
                raise ValueError(f"X == {shown(X)}, {one_row}, of numbers, not text.")
            X = row[np.newaxis]
        rows = Reader(None, 1, None, self, encoder_=self.encoder_).rows(X, reset=False)
        return rows.astype(dtype, copy=False)

    def _judge(self) -> bool:
        """Compare the statistic of the window with its threshold."""
        window, w = self._window, self._stream.size
        self.n_seen_ += 1
        if len(window) < w:
            return False
        statistics = check_finite(window.statistics(self._sums))
        self.statistic_ = float(pool(statistics, self._scales))
        self.threshold_ = float(self.thresholds_[min(self.n_seen_ - w, w - 1)])
        if not self.statistic_ > self.threshold_:
            return False
        if self._last_alarm is None or self.n_seen_ - self._last_alarm > w:
            row = window.change_point(self._sums, self._scales)
            self.change_point_ = self.n_seen_ - w + row
        self._last_alarm = self.n_seen_
        return True


def _check_size(n: int, size: int, run_length: float) -> None:
    """Refuse a reference sample that is too small for the window."""
    least = LEAST_WINDOWS * size
    if n < least:
        raise ValueError(
            f"n_samples == {n}, must be >= {least} for window_size == {size}. Pass a "
            "larger reference sample, or choose a smaller window_size."
        )
    advised = int(np.ceil(2 * np.log(run_length) * size))
    if n < advised:
        warn_user(
            f"The reference sample has {n} rows. For window_size == {size} and "
            f"run_length == {run_length}, it should have at least {advised} rows. With "
            "fewer rows, the run length varies much from one reference sample to "
            "another."
        )


def _streamed(kernel: Any, n_features: int) -> Any:
    """Return a kernel that can be evaluated on rows that come later."""
    if not isinstance(kernel, IndicatorKernel):
        return kernel
    if kernel.balanced:
        raise ValueError(
            f"kernel == {kernel!r}, must have balanced=False for a stream, because its "
            "values would change with the number of rows."
        )
    # The engine encodes labels once. Rows that come later can have other labels.
    return ColumnKernel(kernel, list(range(n_features)))
