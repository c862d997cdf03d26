"""Centred kernel alignment of representations that come in minibatches."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data import (
    KeywordHints,
    as_labels,
    check_run_options,
    explains_keywords,
    tag_target,
    validate_with_target,
)
from skdiscrepancy._engine import kernel_source
from skdiscrepancy._hsic._cka_terms import (
    CKASettings,
    Terms,
    alignments,
    check_cka_params,
    hsic_terms,
    kernel_with_bandwidth,
    positive_part,
)
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels import as_target, sample_dtype

# HSIC of X with itself, of X with y, and of y with itself.
PAIRS = [(0, 0), (0, 1), (1, 1)]


class CKAEstimator(KeywordHints, BaseEstimator):
    r"""Centred kernel alignment (CKA) over minibatches.

    Each call of `partial_fit` adds the three terms :math:`\mathrm{HSIC}(K, L)`,
    :math:`\mathrm{HSIC}(K, K)` and :math:`\mathrm{HSIC}(L, L)` of one minibatch, and
    `cka_` divides their sums [1]_. So representations need not fit into memory at the
    same time. With the unbiased HSIC, ``design="u"``, the result does not depend on the
    size of the batches, up to noise: each term has the same mean for every batch size.
    Batches should be drawn at random.

    A minibatch of b rows takes the time of :func:`cka_score` on b rows. Nothing is kept
    of it but three numbers.

    Read more in the :ref:`User Guide <cka>`.

    Parameters
    ----------
    kernel : str, kernel object or callable, default="linear"
        Kernel on X, such as "linear", "gaussian" or "energy".
    target_kernel : str, kernel object, callable or None, default=None
        Kernel on y; None is `kernel`. "indicator" is for labels.
    bandwidth : "median" or float, default="median"
        Bandwidth of a kernel that has a bandwidth and none of its own. "median" is the
        median distance between the rows of the first batch.
    design : {"u", "v"}, default="u"
        Unbiased HSIC, which needs four rows in each batch, or the biased one, for which
        the result depends on the size of the batches.
    n_jobs : int or None, default=None
        Number of threads; the result does not depend on it.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.

    Attributes
    ----------
    cka_ : float
        CKA of all batches that were seen, the value of `score()`. 0 if the rows of X
        or the rows of y are all equal; `fit` and `score` warn of this.
    hsic_ : ndarray of shape (3,)
        Sums over batches of HSIC of X with itself, of X with y, and of y with itself.
    n_batches_ : int
        Number of batches that were seen.
    n_samples_seen_ : int
        Number of rows that were seen.
    kernel_ : kernel object
        Kernel on X, with a number as bandwidth if it has one.
    target_kernel_ : kernel object
        Kernel on y.
    n_features_in_ : int
        Number of features seen during :term:`fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`, if all are strings.
    n_targets_in_ : int
        Number of columns of y seen during :term:`fit`.

    See Also
    --------
    cka_score : CKA in one call, also of all layers of two networks.
    HSICEstimator : Measures dependence with many kernels.

    References
    ----------
    .. [1] T. Nguyen, M. Raghu and S. Kornblith, "Do wide and deep networks learn the
       same things?", ICLR 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import CKAEstimator, cka_score
    >>> rng = np.random.RandomState(0)
    >>> X = rng.normal(size=(1000, 5))
    >>> Y = np.tanh(X @ rng.normal(size=(5, 8)))
    >>> cka = CKAEstimator()
    >>> for batch in np.split(np.arange(1000), 10):
    ...     cka = cka.partial_fit(X[batch], Y[batch])
    >>> abs(cka.score() - cka_score(X, Y)) < 0.01
    True
    """

    def __init__(
        self,
        *,
        kernel: Any = "linear",
        target_kernel: Any = None,
        bandwidth: Any = "median",
        design: str | Design = "u",
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.target_kernel = target_kernel
        self.bandwidth = bandwidth
        self.design = design
        self.n_jobs = n_jobs
        self.verbose = verbose

    @explains_keywords
    def fit(self, X: ArrayLike, y: ArrayLike) -> CKAEstimator:
        """Forget all batches and compute the terms of one sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            First representation.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Second representation of the same rows.

        Returns
        -------
        self : CKAEstimator
            Fitted estimator.
        """
        self._add(X, y, first=True)
        # Warns of constant data, which a single batch may well be.
        self.score()
        return self

    @explains_keywords
    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> CKAEstimator:
        """Add the terms of one minibatch.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            First representation of the rows of the batch.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Second representation of the same rows.

        Returns
        -------
        self : CKAEstimator
            Fitted estimator.
        """
        self._add(X, y, first=not hasattr(self, "n_batches_"))
        return self

    @explains_keywords
    def score(self, X: ArrayLike | None = None, y: ArrayLike | None = None) -> float:
        """Return CKA of the batches that were seen, or compute CKA of another sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or None, default=None
            First representation. None for the batches that were seen.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Second representation of the same rows. None for the batches that were seen.

        Returns
        -------
        score : float
            The larger, the more similar.
        """
        check_is_fitted(self)
        if X is None and y is None:
            return _cka(self.hsic_, self._roundings)
        terms = self._terms(X, y, self._settings(), first=False)[0]
        return _cka(*terms)

    def _settings(self) -> CKASettings:
        check_run_options(self.n_jobs, None, self.verbose)
        return check_cka_params(
            self.kernel, self.target_kernel, self.bandwidth, self.design
        )

    def _add(self, X: Any, y: Any, *, first: bool) -> None:
        terms, n = self._terms(X, y, self._settings(), first=first)
        if first:
            self.hsic_, self._roundings = np.zeros((2, 3))
            self.n_batches_ = self.n_samples_seen_ = 0
        self.hsic_ = self.hsic_ + terms.values
        self._roundings = self._roundings + terms.roundings
        self.n_batches_ += 1
        self.n_samples_seen_ += n
        self.cka_ = _cka(self.hsic_, self._roundings, warn=False)

    def _terms(
        self, X: Any, y: Any, settings: CKASettings, *, first: bool
    ) -> tuple[Terms, int]:
        """Return the terms of one sample; the first one chooses the kernels."""
        tables = X, y
        X, y = validate_with_target(
            self,
            X,
            y,
            reset=first,
            dtype=sample_dtype(settings.kernel),
            ensure_min_samples=settings.least_rows,
        )
        X = X if X.dtype.kind == "f" else as_labels(X, "X")
        shown = self.kernel if self.target_kernel is None else self.target_kernel
        y = as_target(y, settings.target_kernel, shown)
        if first:
            [self.kernel_] = kernel_with_bandwidth(
                X, settings.kernel, self.bandwidth, tables[0]
            )
            [self.target_kernel_] = kernel_with_bandwidth(
                y, settings.target_kernel, self.bandwidth, tables[1]
            )
            self.n_targets_in_ = y.shape[1]
        elif y.shape[1] != self.n_targets_in_:
            raise ValueError(
                f"y has {y.shape[1]} columns, must have {self.n_targets_in_} as in fit."
            )
        sources = [
            kernel_source([self.kernel_], X),
            kernel_source([self.target_kernel_], y),
        ]
        terms = hsic_terms(
            list(sources),
            PAIRS,
            len(X),
            unbiased=settings.unbiased,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        return terms, len(X)

    def __sklearn_tags__(self) -> Any:
        return tag_target(super().__sklearn_tags__())


def _cka(terms: np.ndarray, roundings: np.ndarray, *, warn: bool = True) -> float:
    """Return CKA from HSIC of X with itself, of X with y, and of y with itself."""
    own_x, own_y = positive_part(terms[[0, 2]], roundings[[0, 2]])
    constant = [name for name, own in (("X", own_x), ("y", own_y)) if own == 0 and warn]
    cross = terms[1:2, np.newaxis]
    return float(
        alignments(cross, np.array([own_x]), np.array([own_y]), constant)[0, 0]
    )
