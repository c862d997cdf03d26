"""Kernels from functions and transformers of blocks of rows, and the energy kernel."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics.pairwise import kernel_metrics, pairwise_kernels
from sklearn.preprocessing import normalize

from skdiscrepancy._data.arrays import (
    aligned_products,
    as_block,
    check_rows,
    inner_products,
    read_only,
)
from skdiscrepancy._data.blocks import LazyRows
from skdiscrepancy._data.checks import check_number, shown
from skdiscrepancy._data.distances import Rows, aligned_distances, block_distances
from skdiscrepancy.kernels._base import RowKernel, read_both

# Names of `pairwise_kernels` that take dense rows only.
DENSE_ONLY = ("additive_chi2", "chi2")
# Larger differences of k(x, y) and k(y, x), relative to the largest value of a tile,
# are not rounding errors, not even of a function that computes in float16.
ASYMMETRY = 1e-2


class FunctionKernel(RowKernel):
    """Kernel from a function of two blocks of rows, or from a name of scikit-learn.

    Any positive definite function is a kernel [1]_. The function is evaluated tile by
    tile, so it never sees all rows at once. If you pass a function as `kernel` to an
    estimator, a score or a test, it becomes a `FunctionKernel`.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    function : callable or str
        A callable takes two arrays of shape (n_rows_A, n_features) and (n_rows_B,
        n_features) and returns their Gram matrix of shape (n_rows_A, n_rows_B), as for
        :class:`sklearn.svm.SVC`. A string is a name of
        :func:`sklearn.metrics.pairwise.pairwise_kernels`, such as "sigmoid" or "chi2".
        If your data are sparse, a callable gets two ``scipy.sparse.csr_array``. The
        arrays are read-only, and the kernel must be symmetric.
    params : dict or None, default=None
        Keywords for the function.

    See Also
    --------
    PrecomputedKernel : A kernel from a Gram matrix.
    RowKernel : Base class for a kernel with parameters of its own.

    References
    ----------
    .. [1] N. Aronszajn, "Theory of reproducing kernels", Transactions of the American
       Mathematical Society 68, 1950.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_score
    >>> from skdiscrepancy.kernels import FunctionKernel
    >>> def cubic(A, B, shift):
    ...     return (A @ B.T + shift) ** 3
    >>> X, Y = np.random.RandomState(0).normal(size=(2, 100, 3))
    >>> kernel = FunctionKernel(cubic, {"shift": 1.0})
    >>> mmd_score(X, Y, kernel=kernel) < mmd_score(X, Y + 1, kernel=kernel)
    True
    """

    def __init__(
        self,
        function: str | Callable[..., np.ndarray],
        params: Mapping[str, Any] | None = None,
    ):
        self.function = function
        self.params = params

    @property
    def takes_sparse(self) -> bool:
        """Whether the kernel takes sparse data. A callable must take them."""
        return not (isinstance(self.function, str) and self.function in DENSE_ONLY)

    def check_params(self) -> None:
        """Refuse what cannot be called with two blocks of rows and `params`."""
        functions, named = kernel_metrics(), isinstance(self.function, str)
        if not (self.function in functions if named else callable(self.function)):
            raise (ValueError if named else TypeError)(
                f"function == {shown(self.function)}, must be a callable or one of "
                f"{sorted(functions)}."
            )
        if self.params is not None and not isinstance(self.params, Mapping):
            raise TypeError(f"params == {shown(self.params)}, must be a dict or None.")
        try:
            function: Any = functions[self.function] if named else self.function
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            # Compiled functions may have none.
            return
        try:
            signature.bind(None, None, **(self.params or {}))
        except TypeError as error:
            raise TypeError(
                f"The kernel function {self._name!r} does not take two blocks of "
                f"rows with params == {shown(self.params)}: {error}."
            ) from None

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        shape, same = (A.shape[0], B.shape[0]), B is A
        try:
            K = self._call(A, B)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            if isinstance(self.function, str):
                raise kind(
                    f"The kernel {self.function!r} of scikit-learn failed with params "
                    f"== {shown(self.params)}: {error}"
                ) from error
            raise kind(
                f"The kernel function {self._name!r} failed on blocks of {shape[0]} "
                f"and {shape[1]} rows: {error}. It must take two blocks of rows and "
                f"return their Gram matrix. {self._single_rows}"
            ) from error
        return K if isinstance(self.function, str) else self._checked(K, shape, same)

    def _call(self, A: Any, B: Any) -> Any:
        """Return what the function gives for two blocks of rows."""
        params = dict(self.params or {})
        if isinstance(self.function, str):
            if not issparse(A):
                # Some functions of scikit-learn do not take arrays that are read-only.
                A, B = (np.require(block, requirements="W") for block in (A, B))
            return pairwise_kernels(A, B, metric=self.function, **params)
        A, B = read_only(A, B)
        try:
            return self.function(A, B, **params)
        except ValueError as error:
            # Compiled functions may not read arrays that are read-only.
            if "buffer source array is read-only" not in str(error):
                raise
            return self.function(A.copy(), B.copy(), **params)

    @property
    def _name(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))

    @property
    def _single_rows(self) -> str:
        """What to pass instead of a function of two single rows."""
        name = self._name if self._name.isidentifier() else "function"
        return (
            "For a function of two single rows, pass functools.partial("
            f"sklearn.metrics.pairwise.pairwise_kernels, metric={name})."
        )

    def _checked(self, K: Any, shape: tuple[int, int], same: bool) -> np.ndarray:
        """Return what the function gave, if it is the Gram matrix of two blocks."""
        returned = f"The kernel function {self._name!r} returned"
        if issparse(K):
            K = K.toarray()
        try:
            K = np.asarray(K, dtype=None if hasattr(K, "dtype") else np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"{returned} {shown(K)}, must return an array of shape {shape}."
            ) from None
        if K.shape != shape:
            raise ValueError(
                f"{returned} an array of shape {K.shape} for blocks of {shape[0]} and "
                f"{shape[1]} rows, must return shape {shape}. {self._single_rows}"
            )
        if K.dtype.kind not in "fiub":
            raise TypeError(
                f"{returned} values of type {K.dtype}, must return real numbers."
            )
        # A sum is finite if all terms are, but for terms at the end of floating point.
        with np.errstate(all="ignore"):
            suspicious = K.dtype.kind == "f" and not np.isfinite(K.sum())
        if suspicious and not np.all(np.isfinite(K)):
            raise ValueError(f"{returned} NaN or infinity, must return finite numbers.")
        if same and K.size:
            numbers = K if K.dtype.kind == "f" else K.astype(np.float64)
            gaps = np.abs(numbers - numbers.T)
            if gaps.max() > ASYMMETRY * np.abs(numbers).max():
                i, j = np.unravel_index(np.argmax(gaps), gaps.shape)
                raise ValueError(
                    f"{returned} k(x, y) == {K[i, j]:g} and k(y, x) == {K[j, i]:g} for "
                    "two rows, must be symmetric."
                )
        return K


class VectorKernel(RowKernel):
    """Base class of the kernels that are inner products of known vectors."""

    takes_sparse = True

    def _vectors(self, A: Any) -> Any:
        """Return the vectors of a block of rows."""
        return A

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        F = self._vectors(A)
        return inner_products(F, F if B is A else self._vectors(B))

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return aligned_products(self._vectors(A), self._vectors(B))

    def features(self, A: np.ndarray) -> np.ndarray | None:
        F = self._vectors(A)
        return None if issparse(F) else F


class LinearKernel(VectorKernel):
    r"""Linear kernel :math:`\langle x, y \rangle`.

    It compares means only: the squared MMD is the squared distance of the means, and
    HSIC is the sum of the squared covariances of all pairs of columns. Linear CKA [1]_
    of two representations is HSIC with this kernel, normalised.

    Read more in the :ref:`User Guide <kernels>`.

    See Also
    --------
    PolynomialKernel : Powers of the inner product.
    CosineKernel : Inner product of rows that are scaled to length one.

    References
    ----------
    .. [1] S. Kornblith et al., "Similarity of neural network representations
       revisited", ICML 2019.

    Examples
    --------
    >>> from skdiscrepancy.kernels import LinearKernel
    >>> LinearKernel()([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[11.0]]
    """


class PolynomialKernel(RowKernel):
    r"""Polynomial kernel :math:`(\gamma \langle x, y \rangle + c)^{\mathrm{degree}}`.

    With the defaults this is the kernel of the Kernel Inception Distance (KID) [1]_.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    degree : int, default=3
        Degree of the polynomial.
    gamma : float or None, default=None
        Factor of the inner product. None: one over the number of features.
    coef0 : float, default=1
        Constant c that is added to the inner product.

    See Also
    --------
    LinearKernel : The inner product itself.

    References
    ----------
    .. [1] M. Bińkowski et al., "Demystifying MMD GANs", ICLR 2018.

    Examples
    --------
    >>> from skdiscrepancy.kernels import PolynomialKernel
    >>> PolynomialKernel(degree=2)([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[42.25]]
    """

    def __init__(
        self, degree: int = 3, *, gamma: float | None = None, coef0: float = 1
    ):
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    takes_sparse = True

    def check_params(self) -> None:
        """Refuse parameters for which the kernel is not positive definite."""
        check_number(self.degree, "degree", integer=True, least=1)
        check_number(self.coef0, "coef0")
        if self.gamma is not None:
            check_number(self.gamma, "gamma", strict=True)

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return self._power(inner_products(A, B), A.shape[1])

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return self._power(aligned_products(A, B), A.shape[1])

    def _power(self, products: np.ndarray, n_features: int) -> np.ndarray:
        products *= 1 / n_features if self.gamma is None else float(self.gamma)
        products += float(self.coef0)
        if self.degree == 1:
            return products
        # Products of arrays: powers of numpy call a function for every entry.
        power = products * products
        for _ in range(self.degree - 2):
            power *= products
        return power


class CosineKernel(VectorKernel):
    r"""Cosine of the angle between rows, :math:`\langle x, y \rangle / (|x| |y|)`.

    The length of a row makes no difference, as for texts of different lengths [1]_. A
    row of zeros has the value 0 with every row.

    Read more in the :ref:`User Guide <kernels>`.

    See Also
    --------
    LinearKernel : The inner product itself.

    References
    ----------
    .. [1] G. Salton and C. Buckley, "Term-weighting approaches in automatic text
       retrieval", Information Processing & Management 24, 1988.

    Examples
    --------
    >>> from skdiscrepancy.kernels import CosineKernel
    >>> CosineKernel()([[3.0, 4.0]], [[6.0, 8.0], [0.0, 0.0]]).round(6).tolist()
    [[1.0, 0.0]]
    """

    def _vectors(self, A: Any) -> Any:
        """Return rows of length one; rows of zeros as they are."""
        if issparse(A):
            return normalize(normalize(A, norm="max"), norm="l2", copy=False)
        # Divided by the largest entry first, squares neither overflow nor underflow.
        largest = np.abs(A).max(axis=1, keepdims=True)
        A = A / np.where(largest > 0, largest, 1)
        lengths = np.sqrt(np.einsum("ij,ij->i", A, A))[:, np.newaxis]
        return A / np.where(lengths > 0, lengths, 1)


class EnergyKernel(RowKernel):
    r"""Energy kernel :math:`|x - o|^a + |y - o|^a - |x - y|^a`, Euclidean norms.

    The squared MMD with this kernel is the energy distance, and HSIC is the squared
    distance covariance [1]_. The origin o changes neither of them. There is no
    bandwidth to choose.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    exponent : float, default=1
        Exponent a of the distances, above 0 and below 2.
    origin : array-like of shape (n_features,) or None, default=None
        The point o. None: the mean of all rows that the estimator takes its kernels
        from, or zero if you call the kernel as a function.

    See Also
    --------
    LaplaceKernel : A bounded kernel with a bandwidth, with the same cost on one column.

    References
    ----------
    .. [1] D. Sejdinovic et al., "Equivalence of distance-based and RKHS-based
       statistics in hypothesis testing", Annals of Statistics 41, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_score
    >>> X, Y = np.array([[0.0], [2.0]]), np.array([[5.0], [7.0]])
    >>> options = dict(design="v", normalize=False)
    >>> distance = 2 * 5.0 - 1.0 - 1.0  # 2 E|X - Y| - E|X - X'| - E|Y - Y'|
    >>> round(mmd_score(X, Y, kernel="energy", **options) / distance, 12)
    1.0
    """

    def __init__(self, exponent: float = 1, *, origin: ArrayLike | None = None):
        self.exponent = exponent
        self.origin = origin

    def check_params(self) -> None:
        """Refuse exponents for which the kernel is not positive definite."""
        check_number(self.exponent, "exponent", strict=True)
        if self.exponent >= 2:
            raise ValueError(
                f"exponent == {self.exponent!r}, must be a number above 0 and below 2."
            )
        if self.origin is not None:
            check_rows(np.atleast_2d(np.asarray(self.origin)), "origin")

    def resolve(self, table: Any, n_features: int) -> EnergyKernel:
        if self.origin is not None and np.shape(self.origin) != (n_features,):
            raise ValueError(
                f"origin has shape {np.shape(self.origin)}, must have shape "
                f"({n_features},) as a row of the data."
            )
        return self

    def learn(self, samples: list[np.ndarray]) -> EnergyKernel:
        kernel = clone(self)
        if self.origin is None:
            # Statistics that are not finite raise an error later.
            with np.errstate(over="ignore", invalid="ignore"):
                totals = sum(np.sum(Z, axis=0, dtype=np.float64) for Z in samples)
            kernel.set_params(origin=totals / sum(map(len, samples)))
        return kernel.resolve(None, samples[0].shape[1])

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        A, B = self._from_origin(A), self._from_origin(B)
        K = self._power(block_distances(A, B, 2).read(squared=True))
        np.subtract(self._lengths(B), K, out=K)
        K += self._lengths(A)[:, np.newaxis]
        return K

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        A, B = self._from_origin(A), self._from_origin(B)
        distance = self._power(aligned_distances(A, B, 2).read(squared=True))
        return self._lengths(A) + self._lengths(B) - distance

    def _from_origin(self, A: np.ndarray) -> np.ndarray:
        if self.origin is None:
            return A
        origin = np.asarray(self.origin, dtype=np.float64)
        return (A - origin).astype(A.dtype, copy=False)

    def _lengths(self, A: np.ndarray) -> np.ndarray:
        return self._power(np.einsum("ij,ij->i", A, A))

    def _power(self, squares: Any) -> np.ndarray:
        """Return lengths to the power of the exponent, from their squares."""
        if self.exponent == 1:
            return np.sqrt(squares)
        return squares ** (float(self.exponent) / 2)


# Sparse features of more columns are not made dense.
MAX_DENSE = 1024


class FeatureKernel(VectorKernel):
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

    def check_params(self) -> None:
        """Refuse what cannot be fitted and cannot transform."""
        methods = ("fit", "transform", "get_params")
        known = all(callable(getattr(self.transformer, m, None)) for m in methods)
        if not known or isinstance(self.transformer, type):
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
        returned = f"The transformer {type(transformer).__name__} returned"
        if F.ndim != 2 or F.shape[0] != A.shape[0]:
            raise ValueError(
                f"{returned} an array of shape {F.shape} for {A.shape[0]} rows, must "
                "return one row of features for each row."
            )
        if F.dtype.kind not in "fiub":
            raise TypeError(
                f"{returned} values of type {F.dtype}, must return real numbers."
            )
        if not np.isfinite(F.sum()):
            raise ValueError(
                f"{returned} NaN, infinity, or numbers that are too large for floating "
                "point. It must return finite numbers."
            )
        return F.astype(np.float64, copy=False) if F.dtype.kind != "f" else F

    def _vectors(self, A: Any) -> Any:
        return self.transform(A)

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
        samples = read_both(self, X, Y)
        return self.learn(samples)(*map(as_block, samples))


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
