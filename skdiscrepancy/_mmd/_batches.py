"""Scores of many batches against one reference sample."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._base import DiscrepancyResult, warn_unused
from skdiscrepancy._data import (
    as_array,
    check_number,
    draw_seeds,
    explains_keywords,
    generator_of,
    refuse_missing,
    shown,
)
from skdiscrepancy._engine import Task, run_all
from skdiscrepancy._mmd._feature_reference import FeatureReference
from skdiscrepancy._mmd._reference import Reference
from skdiscrepancy._mmd._samples import least_rows, n_columns
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels import KernelLike


class BatchesMixin:
    """Methods of an estimator that score many batches."""

    kernels_: list[KernelLike]
    n_jobs: int | None
    random_state: Any
    verbose: int
    _check_params: Callable[..., Any]
    _is_paired: Callable[[Design], bool]
    _known_reference: Callable[[], Reference | FeatureReference]
    _result: Callable[..., DiscrepancyResult]
    _validate: Callable[..., np.ndarray]

    @explains_keywords
    def score_batches(
        self, batches: Any, *, batch_size: int | None = None, by: Any = None
    ) -> np.ndarray:
        """Compute the discrepancy between each of many batches and the reference.

        Use it to monitor data drift day by day. Each score equals `score` of the batch.
        `fit` has computed the sums over the reference sample, so the score of a batch
        of n rows takes O(m n + n^2) time for m rows of the reference sample, or O(n)
        time with `n_components`. Batches run in parallel, in `n_jobs` threads.

        Pass a list or generator of samples, or one sample together with `batch_size` or
        `by`. To see which scores are unusual, draw them with
        :class:`~skdiscrepancy.plotting.BatchScoresDisplay`.

        Parameters
        ----------
        batches : iterable, array-like or DataFrame
            Samples of shape (n_samples, n_features), or one sample that `batch_size` or
            `by` divides into batches.
        batch_size : int or None, default=None
            Number of consecutive rows of each batch. The last batch holds the rows that
            remain, so it can be smaller. If too few rows remain for a score, they are
            left out with a warning.
        by : str or None, default=None
            Name of the column of a DataFrame that holds the label of each batch, for
            example "day". Rows with the same label form a batch, wherever they are. The
            column is not compared, and must not be among the columns of `fit`.

        Returns
        -------
        scores : ndarray of shape (n_batches,)
            Scores in the order of the batches. With `by`, batches are in the order in
            which their labels first appear, as in ``X["day"].unique()``.

        See Also
        --------
        skdiscrepancy.plotting.BatchScoresDisplay : Draws the scores over time.

        References
        ----------
        .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.

        Examples
        --------
        >>> import numpy as np
        >>> from skdiscrepancy import MMDEstimator
        >>> X = np.random.RandomState(0).normal(size=(400, 2))
        >>> X[300:] += 1
        >>> mmd = MMDEstimator().fit(X[:200])
        >>> mmd.score_batches(X[200:], batch_size=50).round(1).tolist()
        [0.0, -0.1, 0.4, 0.5]
        """
        return self._score_batches(batches, batch_size, by)[0]

    def _score_batches(
        self, batches: Any, batch_size: Any, by: Any
    ) -> tuple[np.ndarray, list[Any], list[int]]:
        """Return the scores, labels and sizes of batches."""
        check_is_fitted(self)
        design = self._check_params(len(self.kernels_)).design
        least = least_rows(design)
        labels: list[Any] = []
        sizes: list[int] = []

        def validated() -> Iterator[tuple[Any, Any]]:
            parts = divide(batches, batch_size, by, least)
            seeds = _seeds(self.random_state)
            for label, batch in parts:
                try:
                    rows = self._validate(
                        batch, self.kernels_, reset=False, least=least
                    )
                except ValueError as error:
                    raise ValueError(f"Batch {label!r}: {error}") from error
                labels.append(label)
                sizes.append(len(rows))
                yield rows, next(seeds)

        work = _BatchTask(self, design)
        results = run_all(
            validated(), work, self.n_jobs, self.verbose, what="scores of batches"
        )
        scores = np.array(list(results), dtype=np.float64)
        if not len(scores):
            raise ValueError("batches == [], must hold at least one batch.")
        return scores, labels, sizes

    def _score_held_out(
        self, size: int, n_resamples: int, random_state: Any
    ) -> np.ndarray:
        """Return the scores of random rows of the reference against all other rows."""
        design = self._check_params(len(self.kernels_)).design
        m, least = self._known_reference().rows.shape[0], least_rows(design)
        if m - size < least:
            raise ValueError(
                f"A batch has {size} rows, must have at most {m - least}. To compute "
                f"the band, as many of the {m} rows of the reference sample are "
                "compared with its other rows."
            )
        generator, seeds = generator_of(random_state), _seeds(self.random_state)
        draws = [
            (np.sort(generator.permutation(m)[:size]), next(seeds))
            for _ in range(n_resamples)
        ]
        work = _HeldOutTask(self, design)
        results = run_all(
            draws, work, self.n_jobs, self.verbose, what="scores of the reference"
        )
        return np.array(list(results))


def _seeds(random_state: Any) -> Iterator[Any]:
    """Yield the seed of each batch, so that no thread draws from another's generator.

    A number, or None, seeds all batches, as it seeds all calls of `score`.
    """
    if isinstance(random_state, (np.random.Generator, np.random.RandomState)):
        generator = generator_of(random_state)
        while True:
            yield draw_seeds(generator, 1)[0]
    while True:
        yield random_state


class _BatchTask(Task):
    """The score of one batch."""

    def __init__(self, estimator: Any, design: Design):
        self.estimator = estimator
        self.design = design
        self.reference = estimator._known_reference()

    def __call__(self, batch: tuple[Any, Any]) -> float:
        return self._score(self.reference.statistics, *batch)

    def _score(self, statistics: Callable[..., Any], rows: Any, seed: Any) -> float:
        estimator = self.estimator
        found = statistics(
            rows,
            self.design,
            paired=estimator._is_paired(self.design),
            random_state=seed,
            # Threads run batches, not parts of them.
            n_jobs=1,
        )
        return estimator._result(found, estimator.kernels_).value


class _HeldOutTask(_BatchTask):
    """The score of some rows of the reference."""

    def __call__(self, batch: tuple[Any, Any]) -> float:
        return self._score(self.reference.statistics_of_held_out, *batch)


def divide(
    batches: Any, batch_size: Any, by: Any, least: int
) -> Iterator[tuple[Any, Any]]:
    """Yield the batches with their labels, which are numbers unless `by` names them."""
    if batch_size is not None and by is not None:
        raise ValueError(
            f"batch_size == {shown(batch_size)} and by == {shown(by)}, must not both "
            "be given."
        )
    if by is not None:
        yield from _by_label(batches, by)
    elif batch_size is not None:
        size = check_number(batch_size, "batch_size", integer=True, least=least)
        yield from enumerate(_by_size(batches, size, least))
    else:
        if _is_table(batches):
            raise ValueError(
                "batches is a single sample. Pass batch_size, or the column of batch "
                "labels as by, or a list of samples."
            )
        refused = (str, bytes, Mapping)
        if not isinstance(batches, Iterable) or isinstance(batches, refused):
            raise TypeError(
                f"batches == {shown(batches)}, must be a list of samples, or one "
                "sample with batch_size or by."
            )
        yield from enumerate(batches)


def _is_table(batches: Any) -> bool:
    """Tell whether this is one sample, not several."""
    if isinstance(batches, (list, tuple)):
        return bool(batches) and n_columns(batches[0]) is None
    return 0 < len(getattr(batches, "shape", ())) < 3


def _by_size(X: Any, size: int, least: int) -> Iterator[Any]:
    """Yield consecutive rows."""
    if not _is_table(X):
        raise ValueError(
            f"batch_size == {size}, must be None unless batches is a single sample."
        )
    if issparse(X):
        X = X.tocsr()
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    rows = getattr(X, "iloc", X)
    for start in range(0, n, size):
        if 0 < n - start < least:
            warn_unused(
                n - start, n, f"batches have {size} rows, and a score needs {least}."
            )
        else:
            yield rows[start : start + size]


def _by_label(frame: Any, by: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the rows of each label of a column, without the column."""
    if not hasattr(frame, "columns") or not hasattr(frame, "drop"):
        raise TypeError(
            f"by == {shown(by)}, must be None unless batches is a DataFrame of pandas "
            f"or polars, and batches is a {type(frame).__name__}."
        )
    if not isinstance(by, Hashable) or by not in frame.columns:
        raise ValueError(
            f"by == {shown(by)}, must be a column of batches: {list(frame.columns)}."
        )
    refuse_missing(as_array(frame[by], "batches"), f"batches[{by!r}]")
    if hasattr(frame, "partition_by"):
        labels = frame[by].unique(maintain_order=True).to_list()
        parts = frame.partition_by(by, maintain_order=True, include_key=False)
        yield from zip(labels, parts, strict=True)
        return
    for label, part in frame.groupby(by, sort=False, observed=True):
        yield label, part.drop(columns=by)
