"""Scorers for model selection: the better the fit, the larger."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._base import check_finite
from skdiscrepancy._data import (
    RandomStateLike,
    check_number,
    check_rows,
    generator_of,
    refuse_masked,
    validate_rows,
)
from skdiscrepancy._gradients import draw_from, score_function_of, widths, without_names
from skdiscrepancy._ksd import KSDEstimator, check_differentiable, freeze, gradients_at
from skdiscrepancy._mmd import MMDEstimator
from skdiscrepancy.bandwidths import median_bandwidth
from skdiscrepancy.designs import Design

# Step, in deviations of a column, of the derivatives of gradients.
STEP = 1e-4


class KSDScorer(BaseEstimator):
    """Negative kernel Stein discrepancy of a fitted density to held-out rows.

    For the `scoring` of :class:`~sklearn.model_selection.GridSearchCV`,
    :func:`~sklearn.model_selection.cross_val_score` and the like. It needs no
    normalising constant [1]_, [2]_. Where there is one, the log-likelihood, which is
    what `score` of a density gives, chooses better; see the user guide.

    A U-statistic far below zero is noise, not a good fit. A density that is much too
    rough, such as a KernelDensity with a tiny bandwidth, has large gradients and much
    of this noise, and can win a search by it: leave such candidates out, and mistrust a
    best score far above zero.

    The last step of a pipeline is scored, in the space of that step: candidates with
    other steps before it are not to be compared. Of a
    :class:`~skdiscrepancy.KSDEstimator`, the fitted model is scored, so that a search
    over ``KSDEstimator(GaussianMixture())`` gives the same scores as a search over
    ``GaussianMixture()``.

    Read more in the :ref:`User Guide <model_checking>`.

    Parameters
    ----------
    kernel : str, kernel object or list of them, default="gaussian"
        Kernels, twice differentiable.
    bandwidth_factor : float, default=0.125
        Bandwidth of the kernels that have none of their own, as a multiple of the
        median distance of the held-out rows, which is the same for all candidates of a
        search. With the median itself, a search takes the flattest candidate.
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design, default="u"
        Pairs of rows that are used.
    normalize : bool, default=False
        Divide the statistic of each kernel by its scale sigma_k.
    pooling : {"fuse", "mean", "max"} or None, default="mean"
        How the statistics of several kernels become one.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the pairs that ``design="r"`` draws.

    See Also
    --------
    HyvarinenScorer : Score matching, without a kernel.

    References
    ----------
    .. [1] K. Chwialkowski, H. Strathmann and A. Gretton, "A kernel test of goodness of
       fit", ICML 2016.
    .. [2] Q. Liu, J. Lee and M. Jordan, "A kernelized Stein discrepancy for
       goodness-of-fit tests", ICML 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.mixture import GaussianMixture
    >>> from sklearn.model_selection import cross_val_score
    >>> from skdiscrepancy.model_checking import KSDScorer
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> cross_val_score(GaussianMixture(), X, scoring=KSDScorer(), cv=3).shape
    (3,)
    """

    def __init__(
        self,
        *,
        kernel: Any = "gaussian",
        bandwidth_factor: float = 0.125,
        design: str | Design = "u",
        normalize: bool = False,
        pooling: str | None = "mean",
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
    ):
        self.kernel = kernel
        self.bandwidth_factor = bandwidth_factor
        self.design = design
        self.normalize = normalize
        self.pooling = pooling
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __call__(self, estimator: Any, X: ArrayLike, y: Any = None) -> float:
        """Score a fitted density.

        Parameters
        ----------
        estimator : estimator
            Fitted density, a fitted KSDEstimator, or a pipeline that ends in one.
        X : array-like of shape (n_samples, n_features)
            Held-out rows.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        score : float
            Negative squared KSD.
        """
        check_number(self.bandwidth_factor, "bandwidth_factor", strict=True)
        kernels = check_differentiable(self.kernel)
        model, X = last_step(estimator, X)
        bandwidth = self.bandwidth_factor * median_bandwidth(X)
        kernels = [
            clone(kernel).set_params(bandwidth=bandwidth)
            if kernel.bandwidth is None
            else kernel
            for kernel in kernels
        ]
        estimator = KSDEstimator(
            model=freeze(model),
            kernel=kernels,
            design=self.design,
            normalize=self.normalize,
            pooling=self.pooling,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        return -estimator.fit(X).score(X)


class HyvarinenScorer(BaseEstimator):
    r"""Negative Hyvarinen score of a fitted density: score matching.

    The mean over held-out rows of :math:`\|s(x)\|^2 / 2 + \nabla \cdot s(x)`, with the
    gradient s of the log-density [1]_. It differs by a constant of the data from half
    the Fisher divergence, to which KSD tends for small bandwidths, and needs no
    normalising constant either. The divergence is taken by central differences of s,
    2 d + 1 evaluations of it for d columns, with steps of 1e-4 deviations of a column.

    It is for densities whose gradient is continuous, and smooth at the scale of these
    steps. Where the gradient jumps, as for a Laplace distribution or a KernelDensity
    with the exponential kernel in one column, the score means nothing. Rows that are
    equal, as in rounded data, reward components that shrink on to them, more than a
    log-likelihood does.

    The last step of a pipeline is scored, in the space of that step.

    Read more in the :ref:`User Guide <model_checking>`.

    See Also
    --------
    KSDScorer : Kernel Stein discrepancy.

    References
    ----------
    .. [1] A. Hyvarinen, "Estimation of non-normalized statistical models by score
       matching", JMLR 6, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.covariance import EmpiricalCovariance
    >>> from skdiscrepancy.model_checking import HyvarinenScorer
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> density = EmpiricalCovariance().fit(X)
    >>> HyvarinenScorer()(density, X) > HyvarinenScorer()(density, X + 1)
    True
    """

    def __call__(self, estimator: Any, X: ArrayLike, y: Any = None) -> float:
        """Score a fitted density.

        Parameters
        ----------
        estimator : estimator
            Fitted density, a fitted KSDEstimator, or a pipeline that ends in one.
        X : array-like of shape (n_samples, n_features)
            Held-out rows.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        score : float
            Negative mean Hyvarinen score.
        """
        model, X = last_step(estimator, X)
        score = score_function_of(model)
        gradients = gradients_at(X, score)
        with np.errstate(all="ignore"):
            # What is not finite is refused.
            total = np.square(gradients).sum(axis=1) / 2
        for j, width in enumerate(widths(X)):
            shift = np.zeros(X.shape[1])
            shift[j] = STEP * width
            ahead = gradients_at(X + shift, score)[:, j]
            behind = gradients_at(X - shift, score)[:, j]
            with np.errstate(all="ignore"):
                total += (ahead - behind) / (2 * shift[j])
        with np.errstate(all="ignore"):
            return -float(check_finite(total.mean()))


class MMDScorer(BaseEstimator):
    """Negative maximum mean discrepancy of held-out rows to draws from a fitted model.

    For models that can `sample` [1]_. Kernels and bandwidths are the defaults of
    :class:`~skdiscrepancy.MMDEstimator`, taken from the held-out rows alone: they are
    the same for all candidates of a search. The last step of a pipeline is scored, in
    the space of that step.

    Read more in the :ref:`User Guide <model_checking>`.

    Parameters
    ----------
    n_samples : int or None, default=None
        Number of draws, None for as many as there are held-out rows.
    normalize : bool, default=False
        Divide the statistic of each kernel by its scale sigma_k.
    pooling : {"fuse", "mean", "max"} or None, default="mean"
        How the statistics of several kernels become one.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance, Generator or None, default=0
        Seeds the draws. None draws afresh. The global generator of numpy is never used.

    See Also
    --------
    KSDScorer : For models with a gradient; it draws nothing.

    References
    ----------
    .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KernelDensity
    >>> from skdiscrepancy.model_checking import neg_mmd_scorer
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> neg_mmd_scorer(KernelDensity().fit(X), X) > neg_mmd_scorer(
    ...     KernelDensity().fit(X + 2), X
    ... )
    True
    """

    def __init__(
        self,
        *,
        n_samples: int | None = None,
        normalize: bool = False,
        pooling: str | None = "mean",
        n_jobs: int | None = None,
        random_state: RandomStateLike = 0,
    ):
        self.n_samples = n_samples
        self.normalize = normalize
        self.pooling = pooling
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __call__(self, estimator: Any, X: ArrayLike, y: Any = None) -> float:
        """Score a fitted model.

        Parameters
        ----------
        estimator : estimator
            Fitted model that can `sample`, or a pipeline that ends in one.
        X : array-like of shape (n_samples, n_features)
            Held-out rows.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        score : float
            Negative squared MMD.
        """
        if self.n_samples is not None:
            check_number(self.n_samples, "n_samples", integer=True, least=2)
        model, X = last_step(estimator, X)
        n = len(X) if self.n_samples is None else self.n_samples
        draws = draw_from(model, n, generator_of(self.random_state))
        estimator = MMDEstimator(
            normalize=self.normalize, pooling=self.pooling, n_jobs=self.n_jobs
        )
        return -estimator.fit(X).score(draws)


def last_step(estimator: Any, X: Any) -> tuple[Any, np.ndarray]:
    """Return the last step of a pipeline, and X in its space."""
    # Before a step forgets the mask.
    refuse_masked(X, "X")
    if isinstance(estimator, FrozenEstimator):
        return last_step(estimator.estimator, X)
    if hasattr(estimator, "best_estimator_"):
        # A search within a search.
        return last_step(estimator.best_estimator_, X)
    if isinstance(estimator, Pipeline):
        if len(estimator.steps) > 1:
            # A copy: steps that work in place must not change the sample.
            X = estimator[:-1].transform(copy.copy(X))
        return last_step(estimator.steps[-1][1], X)
    if isinstance(estimator, KSDEstimator):
        check_is_fitted(estimator)
        # Columns are those of the estimator: the model may have seen other names.
        X = validate_rows(estimator, X, reset=False, dtype=np.float64)
        return last_step(without_names(estimator.model_), X)
    if isinstance(estimator, BaseEstimator):
        # Columns must be those that the estimator was fitted to, by name and order.
        X = validate_rows(
            estimator, X, reset=False, dtype=np.float64, ensure_min_samples=2
        )
        return estimator, X
    return estimator, check_rows(X, dtype=np.float64, ensure_min_samples=2)


neg_ksd_scorer = KSDScorer()
neg_hyvarinen_scorer = HyvarinenScorer()
neg_mmd_scorer = MMDScorer()
