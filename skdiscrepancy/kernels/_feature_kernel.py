"""Kernels from transformers of scikit-learn."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from skdiscrepancy._data import (
    LazyRows,
    Rows,
    aligned_products,
    as_block,
    check_rows,
    inner_products,
    shown,
)
from skdiscrepancy.kernels._base import RowKernel
from skdiscrepancy.kernels._sparse import accept_sparse

# Sparse features of more columns are not made dense.
MAX_DENSE = 1024


class FeatureKernel(RowKernel):
    r"""Kernel from a transformer, :math:`k(x, y) = \langle T(x), T(y) \rangle`.

    Any transformer of scikit-learn is a kernel: the random features of
    :class:`~sklearn.kernel_approximation.RBFSampler`, the
    :class:`~sklearn.kernel_approximation.Nystroem` approximation [1]_ of any other
    kernel, a :class:`~sklearn.feature_extraction.text.TfidfTransformer`, or the last
    layer of a network in a :class:`~sklearn.preprocessing.FunctionTransformer`.

    Estimators fit a clone of the transformer in `fit`, to the reference sample. Scores
    and tests of two samples fit it to both samples together. Scores with a complete
    design take linear time in the number of rows, and so do MMD tests with
    `n_components`, which does not change the features of this kernel.

    Permutation tests are exact if the features are a function of both samples together.
    For arrays this is so, because the rows are sorted before the transformer is fitted.

    Read more in the :ref:`User Guide <own_kernels>`.

    Parameters
    ----------
    transformer : transformer
        Has `fit` and `transform`. `transform` returns one row of numbers for each row,
        as an array or as a sparse matrix. To keep a fitted transformer, pass
        ``sklearn.frozen.FrozenEstimator(transformer)``.

    Attributes
    ----------
    transformer_ : transformer
        The fitted transformer. Only the kernels in `kernels_` of an estimator have it.

    See Also
    --------
    LinearKernel : The inner product of the rows themselves.
    FunctionKernel : A kernel from a function.

    References
    ----------
    .. [1] C. K. I. Williams and M. Seeger, "Using the Nystroem method to speed up
       kernel machines", NeurIPS 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.kernel_approximation import Nystroem
    >>> from skdiscrepancy import mmd_score
    >>> from skdiscrepancy.kernels import FeatureKernel
    >>> X, Y = np.random.RandomState(0).normal(size=(2, 200, 3))
    >>> kernel = FeatureKernel(Nystroem(n_components=50, random_state=0))
    >>> mmd_score(X, Y, kernel=kernel) < mmd_score(X, Y + 1, kernel=kernel)
    True
    """

    def __init__(self, transformer: Any):
        self.transformer = transformer

    @property
    def takes_sparse(self) -> bool:
        """True. The transformer must take sparse data."""
        return True

    def check_params(self) -> None:
        """Refuse what cannot be fitted and cannot transform."""
        missing = [
            name
            for name in ("fit", "transform", "get_params")
            if not callable(getattr(self.transformer, name, None))
        ]
        if missing or isinstance(self.transformer, type):
            raise TypeError(
                f"transformer == {shown(self.transformer)}, must be a transformer "
                "object of scikit-learn, with `fit` and `transform`, such as "
                "Nystroem()."
            )

    def learn(self, samples: list[np.ndarray]) -> FeatureKernel:
        kernel = FeatureKernel(clone(self.transformer))
        if isinstance(self.transformer, FrozenEstimator):
            # Its method `fit` does nothing, but needs labels.
            kernel.transformer_ = kernel.transformer
            return kernel
        if any(isinstance(sample, LazyRows) for sample in samples):
            raise ValueError(
                f"transformer == {shown(self.transformer)}, must be fitted for data "
                "that are read by blocks. Fit it to some rows, and pass "
                "sklearn.frozen.FrozenEstimator(transformer)."
            )
        rows = Rows(*samples, centred=False)
        everything = rows.take(slice(0, len(rows)))
        if len(samples) > 1 and not rows.sparse:
            # Which rows a Nystroem approximation draws must not depend on the sample.
            everything = everything[_order(everything)]
        kernel.transformer_ = _run(clone(self.transformer), "fit", everything)
        return kernel

    def transform(self, A: Any) -> Any:
        """Compute the features of a block of rows.

        Parameters
        ----------
        A : {ndarray, csr_array} of shape (n_rows, n_features)
            Block of rows.

        Returns
        -------
        F : {ndarray, csr_array} of shape (n_rows, n_components)
            Features.
        """
        transformer = getattr(self, "transformer_", self.transformer)
        F = _run(transformer, "transform", A)
        F = csr_array(F) if issparse(F) else np.asarray(F)
        name = type(transformer).__name__
        if F.ndim != 2 or F.shape[0] != A.shape[0]:
            raise ValueError(
                f"The transformer {name} returned an array of shape {F.shape} for "
                f"{A.shape[0]} rows, must return one row of features for each row."
            )
        if F.dtype.kind not in "fiub":
            raise TypeError(
                f"The transformer {name} returned values of type {F.dtype}, must "
                "return real numbers."
            )
        if not np.isfinite(F.sum()):
            raise ValueError(
                f"The transformer {name} returned NaN, infinity, or numbers that are "
                "too large for floating point. It must return finite numbers."
            )
        return F.astype(np.float64, copy=False) if F.dtype.kind != "f" else F

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        F = self.transform(A)
        return inner_products(F, F if B is A else self.transform(B))

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return aligned_products(self.transform(A), self.transform(B))

    def features(self, A: np.ndarray) -> np.ndarray | None:
        F = self.transform(A)
        if issparse(F):
            return F.toarray() if F.shape[1] <= MAX_DENSE else None
        return F

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> np.ndarray:
        """Compute the Gram matrix.

        If the kernel is not from an estimator, the transformer is fitted to both
        samples first.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_features)
            First sample.
        Y : array-like of shape (n_samples_Y, n_features), default=None
            Second sample; `X` itself if None.

        Returns
        -------
        K : ndarray of shape (n_samples_X, n_samples_Y)
            Values of the kernel.
        """
        self.check_params()
        if hasattr(self, "transformer_"):
            return super().__call__(X, Y)
        samples = [
            check_rows(Z, name, accept_sparse=accept_sparse(Z, name, [self]))
            for Z, name in ((X, "X"), (Y, "Y"))
            if Z is not None
        ]
        if len({sample.shape[1] for sample in samples}) > 1:
            raise ValueError(
                f"Y has {samples[1].shape[1]} features, must have "
                f"{samples[0].shape[1]} as X."
            )
        blocks = [as_block(sample) for sample in samples]
        return self.learn(samples)(*blocks)


def _run(transformer: Any, method: str, A: Any) -> Any:
    """Call a method of a transformer, and say which one it was if it fails."""
    try:
        # Numbers beyond floating point end in features that are refused. A copy,
        # because a transformer that works in place must not change the sample.
        with np.errstate(all="ignore"):
            return getattr(transformer, method)(A.copy())
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"transformer == {shown(transformer)}, must be able to {method} "
            f"{A.shape[0]} rows of {A.shape[1]} numbers: {error}"
        ) from error


def _order(rows: np.ndarray) -> np.ndarray:
    """Return an order of rows that depends on the set of rows only."""
    rows = np.ascontiguousarray(rows)
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1])))
    return np.argsort(keys.ravel(), kind="stable")
