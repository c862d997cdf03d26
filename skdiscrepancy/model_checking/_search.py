"""Comparison of the candidates of a search."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skdiscrepancy._base import ComparisonResult, check_names
from skdiscrepancy._data import check_number, shown


def compare_scores(
    search: Any,
    *,
    metric: str = "score",
    test_fraction: float | None = None,
    names: Sequence[Any] | None = None,
) -> ComparisonResult:
    """Compare the candidates of a search over the same splits.

    Which candidates of a :class:`~sklearn.model_selection.GridSearchCV` are really
    worse than the best one, and which of them only by chance? All candidates are scored
    on the same splits, so their scores are compared split by split. The training rows
    of the splits overlap, so the scores of different splits are correlated. The
    variance of a mean difference is therefore not s^2 / k, for k splits and the
    variance s^2 of the differences, but s^2 (1 / k + n_test / n_train) [1]_, with
    Student's t distribution with k - 1 degrees of freedom.

    Read more in the :ref:`User Guide <uncertainty>`.

    Parameters
    ----------
    search : GridSearchCV, RandomizedSearchCV or dict
        Fitted search, such as one with :data:`neg_ksd_scorer` as `scoring`, or its
        `cv_results_`.
    metric : str, default="score"
        Name of the score, for a search with several scores.
    test_fraction : float or None, default=None
        Fraction of the rows in each test set. None is 1 / n_splits, as in k-fold
        cross-validation.
    names : list of length n_candidates or None, default=None
        Names of the candidates. None takes their parameters.

    Returns
    -------
    result : ComparisonResult
        The candidate with the largest mean score is the best, as in scikit-learn.

    See Also
    --------
    KSDScorer : Scores a density, without its normalising constant.
    skdiscrepancy.ksd_compare : Compares fitted models on other rows.

    References
    ----------
    .. [1] C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine
       Learning 52, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KernelDensity
    >>> from skdiscrepancy.model_checking import KSDScorer, compare_scores
    >>> X = np.random.RandomState(0).normal(size=(300, 1))
    >>> grid = {"bandwidth": [0.3, 0.4, 3.0]}
    >>> scoring = KSDScorer(bandwidth_factor=1)
    >>> search = GridSearchCV(KernelDensity(), grid, scoring=scoring).fit(X)
    >>> result = compare_scores(search)
    >>> "bandwidth=3.0" in result.best_set()
    False
    """
    found = search if isinstance(search, dict) else getattr(search, "cv_results_", None)
    if found is None or "params" not in found:
        raise ValueError(
            f"search == {shown(search)}, must be a fitted search with `cv_results_`."
        )
    scores = _scores(found, metric)
    n_candidates, n_splits = scores.shape
    if n_candidates < 2 or n_splits < 2:
        raise ValueError(
            f"search has {n_candidates} candidates and {n_splits} splits, must have at "
            "least 2 of each."
        )
    if not np.all(np.isfinite(scores)):
        bad = found["params"][int(np.argmin(np.isfinite(scores).all(axis=1)))]
        raise ValueError(
            f"search has scores that are not finite, the first for {bad}, must have "
            "finite scores. Leave out candidates that cannot be scored."
        )
    if test_fraction is None:
        test_fraction = 1 / n_splits
    test_fraction = check_number(
        test_fraction,
        "test_fraction",
        strict=True,
        most=1,
        context=", 0 and 1 excluded",
    )
    if test_fraction >= 1:
        raise ValueError(f"test_fraction == {test_fraction}, must be > 0 and < 1.")
    if names is None:
        names = [
            ", ".join(f"{key}={value}" for key, value in params.items())
            for params in found["params"]
        ]
    factor = 1 / n_splits + test_fraction / (1 - test_fraction)
    differences = scores[:, np.newaxis] - scores
    return ComparisonResult(
        check_names(names, n_candidates, "candidate "),
        scores.mean(axis=1),
        np.sqrt(scores.var(axis=1, ddof=1) * factor),
        differences.mean(axis=2),
        np.sqrt(differences.var(axis=2, ddof=1) * factor),
        metric,
        larger_is_better=True,
        n_degrees=np.full((n_candidates, n_candidates), n_splits - 1.0),
    )


def _scores(found: dict[str, Any], metric: str) -> np.ndarray:
    """Return the scores of each candidate in each split."""
    ending = f"_test_{metric}"
    keys = [key for key in found if key.startswith("split") and key.endswith(ending)]
    if not keys:
        known = {
            key.partition("_test_")[2] for key in found if key.startswith("split0_test")
        }
        raise ValueError(f"metric == {metric!r}, must be one of {sorted(known)}.")
    keys.sort(key=lambda key: int(key.removeprefix("split").removesuffix(ending)))
    columns = [np.asarray(found[key], dtype=np.float64) for key in keys]
    n_candidates = len(found["params"])
    for key, column in zip(keys, columns, strict=True):
        if column.shape != (n_candidates,):
            raise ValueError(
                f"search has {key} of shape {column.shape}, must have one score for "
                f"each of {n_candidates} candidates."
            )
    return np.transpose(columns)
