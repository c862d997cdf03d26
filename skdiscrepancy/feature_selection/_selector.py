"""Selection of columns by HSIC."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data import (
    check_number,
    tag_target,
    validate_with_target,
    warn_user,
)
from skdiscrepancy.feature_selection._paths import PATHS, Path, Probes
from skdiscrepancy.feature_selection._permutations import Permutations
from skdiscrepancy.feature_selection._single_columns import (
    Columns,
    TargetKernel,
    check_single_kernel,
    column_scales,
)


class HSICSelector(SelectorMixin, BaseEstimator):
    r"""Select the columns that y depends on, by HSIC.

    Dependence of any form counts, not only on the mean. The methods differ in what they
    do about columns that tell the same, and columns that tell something only together:

    - "filter" ranks the columns by their normalised HSIC (CKA) with y;
    - "mrmr" chooses the column of largest CKA with y less the mean CKA with the columns
      that are chosen already;
    - "lasso" follows the non-negative LARS path of HSIC Lasso [1]_, the regression of
      the normalised centred Gram matrix of y on those of the columns; where the path
      ends early, it goes on by the correlation with the residual;
    - "forward" and "backward" add, or take away, columns so that HSIC of y with the
      *joint* kernel of the columns is largest (FOHSIC and BAHSIC [2]_). They find
      interactions, "backward" also where no single column tells anything.

    The first three take O(n r^2) time for each pair of columns that they look at, with
    the numerical rank r of a Gram matrix (10 to 100), if the kernel is smooth, else
    O(n^2). The last two take O(n^2) time for each set of columns; there are k p sets
    for "forward", p^2 / 2 for "backward". Memory is never O(n^2).

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number of columns, or the fraction of them if it is a float between 0 and 1.
        "auto" goes on as long as a column is told from noise: as long as its gain is
        larger than that of every column with permuted rows, for all of `n_probes`
        permutations.
    method : {"filter", "mrmr", "lasso", "forward", "backward"}, default="lasso"
        How columns are chosen.
    kernel : str or kernel object, default="gaussian"
        Kernel of the columns, of :mod:`skdiscrepancy.kernels`.
    target_kernel : "auto", str or kernel object, default="auto"
        Kernel on y. "auto" is "indicator" for labels (non-numeric, bool, or integers of
        at most 20 distinct values), else `kernel`.
    bandwidth : "median" or float, default=1.2
        Bandwidth of the kernel on each column, as a multiple of the median distance of
        that column; "median" is 1. A kernel object that has a number as bandwidth keeps
        it for all columns. The joint kernel of m columns has m^(1/p) times the
        bandwidth, p being the order of its norm.
    target_bandwidth : "median" or float, default=3.0
        The same for y. A wide kernel is more sensitive to the mean of y given X, a
        narrow one to its other moments.
    step : int or float, default=1
        Columns that "backward" takes away at a time, or the fraction of those left.
    n_probes : int, default=19
        Permutations for "auto": if y depends on no column, one is found with a
        probability of 1 / (1 + `n_probes`), about that for "backward"; so it is, about,
        at each step after true columns were found.
    n_jobs : int or None, default=None
        Number of threads, over columns; the selection does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Rules the permutations of "auto". None draws afresh: the global generator of
        numpy is never used.
    verbose : int, default=0
        Verbosity of joblib.

    Attributes
    ----------
    n_features_ : int
        Number of selected columns.
    support_ : ndarray of shape (`n_features_in_`,)
        Mask of the selected columns.
    ranking_ : ndarray of shape (`n_features_in_`,)
        1 for the column chosen first, and so on; columns that were not chosen follow in
        the order of their scores.
    scores_ : ndarray of shape (`n_features_in_`,)
        Normalised HSIC of each column alone with y, from 0 to 1.
    path_ : Bunch
        The order of entry, one entry for each selected column: `feature`, its index;
        `objective`, the value that the method made large at that step, 0 for a column
        that was added because there was no other; `relevance`, its CKA with y;
        `redundancy`, its mean CKA with the columns chosen before.
    n_features_in_ : int
        Number of features seen during :term:`fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`, if all are strings.

    See Also
    --------
    HSICSelectorCV : Chooses the number of columns by cross-validation.
    HSICScore : Scores and p-values of single columns.

    References
    ----------
    .. [1] M. Yamada et al., "High-dimensional feature selection by feature-wise
       kernelized Lasso", Neural Computation 26, 2014.
    .. [2] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.feature_selection import HSICSelector
    >>> X = np.random.RandomState(0).normal(size=(100, 6))
    >>> y = X[:, 1] ** 2 + np.sin(2 * X[:, 4])
    >>> HSICSelector(2).fit(X, y).get_feature_names_out().tolist()
    ['x1', 'x4']
    """

    def __init__(
        self,
        n_features_to_select: Any = "auto",
        *,
        method: str = "lasso",
        kernel: Any = "gaussian",
        target_kernel: Any = "auto",
        bandwidth: Any = 1.2,
        target_bandwidth: Any = 3.0,
        step: Any = 1,
        n_probes: int = 19,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_features_to_select = n_features_to_select
        self.method = method
        self.kernel = kernel
        self.target_kernel = target_kernel
        self.bandwidth = bandwidth
        self.target_bandwidth = target_bandwidth
        self.step = step
        self.n_probes = n_probes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike) -> HSICSelector:
        """Choose the columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Numbers, or labels of any type.

        Returns
        -------
        self : HSICSelector
            Fitted selector.
        """
        columns, path, n_telling = self._choose(X, y)
        if n_telling < len(path):
            self._warn_of_noise(path, n_telling)
        self._set_path(columns, path)
        return self

    def _choose(self, X: ArrayLike, y: ArrayLike) -> tuple[Columns, Path, int]:
        """Return the columns, the path, and how many of its columns tell something."""
        kernel = self._check_params()
        X, y = validate_with_target(self, X, y, dtype=np.float64, ensure_min_samples=2)
        k = self._number_of_features(X.shape[1])
        scales = column_scales(X, kernel, self.bandwidth, "bandwidth")
        columns = Columns(X, kernel, scales, n_jobs=self.n_jobs, verbose=self.verbose)
        target = TargetKernel(
            y, kernel, self.target_kernel, self.target_bandwidth
        ).variable(y)
        self.scores_ = columns.alignments(target)
        probes = None
        if k is None:
            draws = Permutations(len(X), self.n_probes, self.random_state)
            probes = Probes(columns, draws)
        options = {"step": self.step} if self.method == "backward" else {}
        path = PATHS[self.method](
            columns, target, self.scores_, k or X.shape[1], probes, **options
        )
        if probes is not None and len(probes.permutations) < self.n_probes:
            # Rows so few do not have the orders that it takes to tell noise.
            path = []
        return columns, self._complete(path, k), len(path)

    def _check_params(self) -> Any:
        if self.method not in list(PATHS):
            raise ValueError(
                f"method == {self.method!r}, must be one of {sorted(PATHS)}."
            )
        check_number(self.n_probes, "n_probes", integer=True, least=1)
        if isinstance(self.step, Integral):
            check_number(self.step, "step", integer=True, least=1)
        else:
            check_number(self.step, "step", strict=True)
            if self.step >= 1:
                raise ValueError(
                    f"step == {self.step!r}, must be an integer >= 1 or a number "
                    "between 0 and 1."
                )
        return check_single_kernel(self.kernel, "kernel")

    def _number_of_features(self, n_features: int) -> int | None:
        """Return the number of columns to be selected, None for "auto"."""
        k = self.n_features_to_select
        if isinstance(k, str) and k == "auto":
            return None
        if isinstance(k, Integral) or not isinstance(k, (float, np.floating)):
            check_number(
                k,
                "n_features_to_select",
                integer=True,
                least=1,
                most=n_features,
                keyword="auto",
                context=", the number of features, or a number between 0 and 1",
            )
            return int(k)
        if not 0 < k < 1:
            raise ValueError(
                f"n_features_to_select == {k!r}, must be 'auto', an integer from 1 to "
                f"{n_features}, the number of features, or a number between 0 and 1."
            )
        return max(1, int(k * n_features))

    def _complete(self, path: Path, k: int | None) -> Path:
        """Add columns that tell nothing if there are not enough others."""
        chosen = [j for j, _ in path]
        others = [int(j) for j in np.argsort(-self.scores_, kind="stable")]
        others = [j for j in others if j not in chosen]
        if k is None:
            k = max(len(path), 1)
        return path + [(j, 0.0) for j in others[: k - len(path)]]

    def _warn_of_noise(self, path: Path, n_telling: int) -> None:
        if self.n_features_to_select == "auto":
            warn_user(
                "n_features_to_select == 'auto' found no column that is told from "
                f"noise; the one of the largest score is selected, column {path[0][0]}."
            )
            return
        warn_user(
            f"{len(path) - n_telling} of the {len(path)} selected columns are "
            f"constant, or y is: only {n_telling} have a score above 0."
        )

    def _set_path(self, columns: Columns, path: Path) -> None:
        chosen = [j for j, _ in path]
        variables = [columns.variable(j) for j in chosen]
        redundancy = [
            np.mean([variable.alignment(other) for other in variables[:i]])
            if i
            else 0.0
            for i, variable in enumerate(variables)
        ]
        self.path_ = Bunch(
            feature=np.array(chosen),
            objective=np.array([value for _, value in path]),
            relevance=self.scores_[chosen],
            redundancy=np.array(redundancy),
        )
        self.n_features_ = len(chosen)
        self.support_ = np.zeros(columns.n_features, dtype=bool)
        self.support_[chosen] = True
        left = np.argsort(-self.scores_, kind="stable")
        order = [*chosen, *(j for j in left if not self.support_[j])]
        self.ranking_ = np.empty(columns.n_features, dtype=int)
        self.ranking_[order] = np.arange(1, columns.n_features + 1)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        return tag_target(super().__sklearn_tags__())
