"""Choice of the number of columns by cross-validated HSIC."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import indexable

from skdiscrepancy._data.arrays import encode_labels
from skdiscrepancy._data.checks import (
    KeywordHints,
    check_number,
    check_run_options,
    shown,
)
from skdiscrepancy._estimators.cka import PAIRS, cka_of_terms, hsic_terms
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.run import Run, Task, in_one_blas_thread, progress, run_all
from skdiscrepancy.feature_selection._selector import HSICSelector
from skdiscrepancy.feature_selection._single_columns import (
    Inputs,
    TableSelector,
    TargetKernel,
    check_single_kernel,
    joint_kernel,
    read_inputs,
)
from skdiscrepancy.kernels._base import RowKernel
from skdiscrepancy.kernels._names import choose_target_kernels
from skdiscrepancy.kernels._radial import RadialKernel

# The training rows and the held-out rows of a fold.
Split = tuple[np.ndarray, np.ndarray]


class HSICSelectorCV(TableSelector, KeywordHints, BaseEstimator):
    r"""HSIC feature selector that cross-validates the number of columns and kernels.

    In each fold, an :class:`HSICSelector` orders the columns on the training rows. The
    first 1, 2, ... columns are then scored on the held-out rows by the CKA of their
    joint kernel with y, from the unbiased HSIC [1]_,

    .. math::

        \frac{\mathrm{HSIC}_u(X_S, y)}
        {\sqrt{\mathrm{HSIC}_u(X_S, X_S) \mathrm{HSIC}_u(y, y)}},

    with bandwidths from the training rows. Columns of noise lower this score. A column
    on which y depends only weakly may lower the score too, so the selection favours few
    columns. Finally, the number of columns and the parameters with the largest mean
    score are used to select columns on all rows.

    Read more in the :ref:`User Guide <feature_selection>`.

    Parameters
    ----------
    selector : HSICSelector or None, default=None
        Selector with the parameters that are not searched. Its `n_features_to_select`
        is ignored. If it has `groups`, groups of columns are counted instead of
        columns. None is ``HSICSelector()``.
    param_grid : dict or list of dict or None, default=None
        Values of the parameters of the selector to try, as in
        :class:`~sklearn.model_selection.GridSearchCV`, such as
        ``{"kernel": ["gaussian", "laplace"], "bandwidth_factor": [0.5, 1, 2]}``.
    min_features_to_select : int, default=1
        Smallest number of columns to try.
    max_features_to_select : int or None, default=None
        Largest number of columns to try. None tries all numbers of columns.
    cv : int, splitter or iterable, default=5
        Folds, as in :class:`~sklearn.model_selection.GridSearchCV`. If y holds labels,
        folds are stratified. Each fold must hold out at least four rows.
    n_jobs : int or None, default=None
        Number of threads, over folds and parameters, or of workers if you set another
        backend with ``joblib.parallel_config``. The selection does not depend on it.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.

    Attributes
    ----------
    selector_ : HSICSelector
        Selector fitted to all rows.
    best_params_ : dict
        Parameters of `param_grid` with the largest mean score.
    n_features_ : int
        Number of selected columns.
    support_ : ndarray of shape (`n_features_in_`,)
        Mask of the selected columns.
    ranking_ : ndarray of shape (`n_features_in_`,)
        Rank of each column in `selector_`. The column that was selected first has rank
        1. The columns of a group share a rank.
    cv_results_ : dict of arrays
        The scores, with one entry for each setting of the parameters and each number of
        columns or groups. The keys are `params`, `n_features`, `mean_test_score`,
        `std_test_score` and `split0_test_score`, ...
    kinds_ : list of str or None
        What each column of a DataFrame holds: "number", "date", "duration", "ordered"
        or "category". None if X holds nothing but known numbers.
    n_features_in_ : int
        Number of features seen during :term:`fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`, if all are strings.

    See Also
    --------
    HSICSelector : Selects a given number of columns.

    References
    ----------
    .. [1] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.feature_selection import HSICSelectorCV
    >>> X = np.random.RandomState(0).normal(size=(150, 6))
    >>> y = X[:, 1] ** 2 + np.sin(2 * X[:, 4])
    >>> HSICSelectorCV().fit(X, y).get_feature_names_out().tolist()
    ['x1', 'x4']
    """

    def __init__(
        self,
        selector: Any = None,
        *,
        param_grid: Any = None,
        min_features_to_select: int = 1,
        max_features_to_select: int | None = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.selector = selector
        self.param_grid = param_grid
        self.min_features_to_select = min_features_to_select
        self.max_features_to_select = max_features_to_select
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose

    @in_one_blas_thread
    def fit(self, X: ArrayLike, y: ArrayLike, groups: Any = None) -> HSICSelectorCV:
        """Choose the number of columns and the parameters, and select the columns.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Columns to select from. Columns of a DataFrame may be of any type and have
            missing values.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Target: numbers, or labels of any type. A Series or DataFrame may have
            missing values. A missing label counts as one more label.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows, for splitters that use them. Groups of columns are a
            parameter of the selector.

        Returns
        -------
        self : HSICSelectorCV
            Fitted selector.
        """
        check_run_options(self.n_jobs, None, self.verbose)
        selector = HSICSelector() if self.selector is None else self.selector
        if not isinstance(selector, HSICSelector):
            raise TypeError(f"selector == {selector!r}, must be an HSICSelector.")
        settings = self._settings()
        inputs, y = read_inputs(self, X, y, selector, selector.groups)
        least, most = self._bounds(inputs.n_variables)
        candidates = [_candidate(selector, setting, most, y) for setting in settings]
        splits = self._splits(inputs.values, y, groups, candidates[0])
        tasks = [(candidate, split) for candidate in candidates for split in splits]
        work = HeldOutScores(inputs, y, least)
        # The last step is the selection on all rows.
        with progress("folds", len(tasks) + 1, self.verbose) as line:
            line.step = len(tasks)
            found = run_all(tasks, work, Run(self.n_jobs, self.verbose), what="folds")
            scores = np.array(list(found))
            line.advance()
            line.step = 1
            n_best = self._set_results(settings, range(least, most + 1), scores)
            self.selector_ = clone(selector).set_params(
                **{**self.best_params_, "n_features_to_select": n_best}
            )
            self.selector_.fit(inputs.values if inputs.kinds is None else X, y)
        self.n_features_ = self.selector_.n_features_
        self.support_ = self.selector_.support_
        self.ranking_ = self.selector_.ranking_
        self.kinds_ = inputs.kinds
        return self

    def _settings(self) -> list[dict[str, Any]]:
        """Return the settings of the parameters that are searched."""
        try:
            settings = list(ParameterGrid(self.param_grid or {}))
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"param_grid == {shown(self.param_grid)}, must be a dict or a list of "
                f"dicts with values in lists: {error}"
            ) from error
        if any("n_features_to_select" in setting for setting in settings):
            raise ValueError(
                f"param_grid == {self.param_grid!r}, must not hold "
                "n_features_to_select. Set its range by min_features_to_select and "
                "max_features_to_select."
            )
        if any({"encoder", "groups"} & set(setting) for setting in settings):
            raise ValueError(
                f"param_grid == {self.param_grid!r}, must not hold encoder or groups. "
                "Set them in the selector."
            )
        known = sorted(HSICSelector().get_params())
        for name in chain.from_iterable(settings):
            if str(name).partition("__")[0] not in known:
                # The first words are from scikit-learn.
                raise ValueError(
                    f"Invalid parameter {shown(name)} in param_grid, must be one of "
                    f"HSICSelector, {known}."
                )
        return settings

    def _splits(
        self, X: np.ndarray, y: np.ndarray, groups: Any, candidate: HSICSelector
    ) -> list[Split]:
        """Return the training rows and the held-out rows of the folds."""
        X, y, groups = indexable(X, y, groups)
        labels = y.ndim == 1 and TargetKernel(y, candidate).of_labels
        name = f"cv == {shown(self.cv)}"
        if isinstance(self.cv, (bool, Integral)):
            check_number(self.cv, "cv", integer=True, least=2, most=len(X))
        # An iterable may hold masks, which have more entries than rows.
        rows = np.arange(len(X))
        if labels:
            # Labels of several types cannot be sorted, but codes can.
            y = encode_labels(y[:, np.newaxis])
        try:
            folds = check_cv(self.cv, y, classifier=labels)
            splits = [(rows[a], rows[b]) for a, b in folds.split(X, y, groups)]
        except (IndexError, TypeError, ValueError) as error:
            raise ValueError(
                f"{name}, must be an integer from 2 to {len(X)}, a splitter, or "
                f"training rows and held-out rows of each fold: {error}"
            ) from error
        if not splits:
            raise ValueError(f"{name} has no folds, must have one or more.")
        for train, test in splits:
            if np.ndim(train) != 1 or len(train) < 2:
                raise ValueError(
                    f"{name} trains on {np.size(train)} of {len(X)} rows, must train "
                    "on 2 or more."
                )
            if np.ndim(test) != 1 or len(test) < 4:
                raise ValueError(
                    f"{name} holds out {np.size(test)} of {len(X)} rows, must hold out "
                    "4 or more."
                )
        return splits

    def _set_results(
        self, settings: list[dict[str, Any]], sizes: range, scores: np.ndarray
    ) -> int:
        """Set the table of scores and the best parameters, and return the best size.

        `scores` has one row for each setting and split, and one column for each size.
        """
        # From (settings x splits, sizes) to (settings x sizes, splits).
        by_setting = scores.reshape(len(settings), -1, len(sizes))
        n_splits = by_setting.shape[1]
        scores = by_setting.transpose(0, 2, 1).reshape(-1, n_splits)
        self.cv_results_ = {
            "params": [setting for setting in settings for _ in sizes],
            "n_features": np.tile(np.array(sizes), len(settings)),
            "mean_test_score": scores.mean(axis=1),
            "std_test_score": scores.std(axis=1),
            **{f"split{i}_test_score": scores[:, i] for i in range(n_splits)},
        }
        best = int(np.argmax(self.cv_results_["mean_test_score"]))
        self.best_params_ = self.cv_results_["params"][best]
        return int(self.cv_results_["n_features"][best])

    def _bounds(self, n_features: int) -> tuple[int, int]:
        """Return the smallest and the largest number of columns."""
        least, most = self.min_features_to_select, self.max_features_to_select
        bounds: dict[str, Any] = {"integer": True, "most": n_features}
        bounds["context"] = ", the number of features"
        least = check_number(least, "min_features_to_select", least=1, **bounds)
        if most is None:
            most = n_features
        return least, check_number(
            most, "max_features_to_select", least=least, **bounds
        )


class HeldOutScores(Task):
    """Scores of the first columns of a selector on the held-out rows of a fold."""

    def __init__(self, inputs: Inputs, y: np.ndarray, least: int):
        self.inputs = inputs
        self.y = y
        self.least = least

    def __call__(self, task: tuple[HSICSelector, Split]) -> np.ndarray:
        """Return the unbiased CKA for each number of columns, starting at `least`."""
        selector, (train, test) = task
        inputs, held_out = self.inputs.take(train), self.inputs.take(test)
        choice = clone(selector)._choose(inputs, self.y[train])
        order = [v for v, _ in choice.path]
        columns, kernel = choice.columns, choice.columns.kernel
        blocks = [columns.rows(v, held_out) / columns.bandwidths[v] for v in order]
        target = TargetKernel(self.y[train], selector)
        rows = target.rows_of(self.y[test])
        of_target = gram([target.kernel], rows, run=Run(1))
        scores = []
        for size in range(self.least, len(order) + 1):
            # Constants come last. They would do nothing but widen the joint kernel.
            size = max(min(size, choice.n_informative), 1)
            rows, joint = np.hstack(blocks[:size]), kernel
            if isinstance(kernel, RadialKernel):
                joint = joint_kernel(kernel, size)
            elif isinstance(kernel, RowKernel):
                joint = kernel.learn([rows])
            grams = [gram([joint], rows), of_target]
            terms = hsic_terms(grams, PAIRS, unbiased=True, run=Run(1))
            scores.append(cka_of_terms(*terms))
        return np.array(scores)


def _candidate(
    selector: HSICSelector, setting: dict[str, Any], most: int, y: np.ndarray
) -> HSICSelector:
    """Return the selector of the largest number of columns, for a setting.

    "auto" chooses its target kernel from all rows, because the rows of a fold alone
    might lead to another choice.
    """
    params = {**setting, "n_features_to_select": most}
    candidate = clone(selector).set_params(**params)
    kernel = check_single_kernel(candidate.kernel, "kernel")
    if isinstance(candidate.target_kernel, str) and candidate.target_kernel == "auto":
        chosen = choose_target_kernels("auto", y, [kernel])[0]
        candidate.set_params(target_kernel=chosen)
    return candidate
