"""Statistics of dependence, from kernels on x and y or from Gram matrices."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._base import (
    Statistics,
    check_gram,
    one_statistic,
    second_order_statistics,
    warn_unused,
)
from skdiscrepancy._data import RandomStateLike, check_flag
from skdiscrepancy._engine import (
    GramSource,
    PairedSource,
    ProductRowSums,
    Source,
    centred_products,
    row_sums,
)
from skdiscrepancy.designs import Design, check_design


def centring_offsets(row_sums: np.ndarray, *, unbiased: bool) -> np.ndarray:
    """Return what is to be taken from rows and columns to centre a Gram matrix.

    K_ij - offset_i - offset_j is H K H for the V-statistic. For the U-statistic, where
    the row sums leave out the diagonal, it is the matrix whose rows sum to zero off the
    diagonal.

    Parameters
    ----------
    row_sums : ndarray of shape (n_kernels, n_samples)
        Row sums of Gram matrices.
    unbiased : bool
        For the U-statistic, or the V-statistic.

    Returns
    -------
    offsets : ndarray of shape (n_kernels, n_samples)
        Offsets of rows, and of columns.
    """
    n = row_sums.shape[1]
    total = row_sums.sum(axis=1, keepdims=True)
    if unbiased:
        return row_sums / (n - 2) - total / (2 * (n - 1) * (n - 2))
    return row_sums / n - total / (2 * n**2)


def complete_hsic(
    row_sums: np.ndarray, *, unbiased: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Compute HSIC and its scale from the row sums of products of centred matrices.

    The fourth-order core does not change when K_ij becomes K_ij - f_i - f_j. Written in
    the centred matrices A and B, whose rows sum to zero, the unbiased estimator
    of [1]_, Equation 5, is sum(A o B) / (N (N - 3)), and the projection of the
    symmetrised core on sample i, Theorem 5, is
    ((N - 2) c_i + sum(c)) / (2 (N - 1) (N - 3)) with c = (A o B) 1.

    Parameters
    ----------
    row_sums : ndarray of shape (n_kernels, n_samples)
        The vectors c, without the diagonal if `unbiased`.
    unbiased : bool
        U-statistic, or V-statistic tr(KHLH) / N^2.

    Returns
    -------
    statistics, scales : ndarray of shape (n_kernels,)
        Squared HSIC and sigma_k.

    References
    ----------
    .. [1] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.
    """
    n = row_sums.shape[1]
    if unbiased:
        statistics = row_sums.sum(axis=1) / (n * (n - 3))
        projections = row_sums * ((n - 2) / (2 * (n - 1) * (n - 3)))
        # The constant sum(c) of the projections has no variance.
        return statistics, 4 * projections.std(axis=1)
    means = row_sums / n
    return means.mean(axis=1), 2 * means.std(axis=1)


def complete_statistics(
    x: Source, y: Source, n: int, *, unbiased: bool, **walk_options: Any
) -> Statistics:
    """Compute the complete statistics of n rows, for all products of kernels."""
    products = centred_products(
        x,
        y,
        n,
        partial(centring_offsets, unbiased=unbiased),
        partial(complete_hsic, unbiased=unbiased),
        diagonal=not unbiased,
        **walk_options,
    )
    values, scales = products.results
    return Statistics(values, scales, float(n), products.sizes, products.dtype)


def unbiased_offsets(source: Source, n: int, **walk_options: Any) -> np.ndarray:
    """Return what centres the Gram matrices of a source for the U-statistic."""
    sums = row_sums(source, n, diagonal=False, **walk_options)
    return centring_offsets(sums, unbiased=True)


def paired_rows(n_rows: int, design: Design) -> int:
    """Return the number of samples of the second-order core.

    A sample is a pair of rows, (Z_i, Z_{i+n}).
    """
    n = n_rows // 2
    if n_rows % 2:
        warn_unused(
            1, n_rows, f"the design {design!r} works on pairs of rows, i and i + {n}."
        )
    return n


def hsic_statistics(
    x: Source,
    y: Source,
    n_rows: int,
    design: Design,
    *,
    second_order: bool,
    random_state: RandomStateLike = None,
    **walk_options: Any,
) -> Statistics:
    """Compute the statistics of a design for two sources on the same rows."""
    if design.complete and not second_order:
        unbiased = not design.biased
        if unbiased and n_rows < 4:
            raise ValueError(
                f"n_samples == {n_rows}, must be >= 4 for the unbiased HSIC."
            )
        return complete_statistics(x, y, n_rows, unbiased=unbiased, **walk_options)
    n = paired_rows(n_rows, design)
    reducer = ProductRowSums(
        PairedSource(x, n), PairedSource(y, n), factor=0.25, moments=True
    )
    return second_order_statistics(
        design, n, reducer, random_state=random_state, **walk_options
    )


def hsic_from_gram(
    K: ArrayLike,
    L: ArrayLike,
    *,
    design: str | Design = "u",
    second_order: bool = False,
    normalize: bool = True,
    random_state: RandomStateLike = None,
) -> float:
    """Compute squared HSIC from Gram matrices.

    The complete statistics are tr(KHLH) / N^2 for V [1]_ and Equation 5 of [2]_ for U;
    the second-order core and the other designs are those of [3]_.

    Read more in the :ref:`User Guide <hsic>`.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Gram matrix of X.
    L : array-like of shape (n_samples, n_samples)
        Gram matrix of y.
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design, default="u"
        Pairs of samples that are used.
    second_order : bool, default=False
        Use the second-order core on pairs of rows for "v" and "u" too.
    normalize : bool, default=True
        Divide by the scale sigma_k.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the pairs that ``design="r"`` draws. None draws afresh: the global
        generator of numpy is never used.

    Returns
    -------
    score : float
        The statistic, normalised or not.

    See Also
    --------
    hsic_score : Computes the Gram matrices, too.
    HSICEstimator : Takes the kernels from another sample.

    References
    ----------
    .. [1] A. Gretton et al., "Measuring statistical dependence with Hilbert-Schmidt
       norms", ALT 2005.
    .. [2] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.
    .. [3] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import hsic_from_gram
    >>> round(hsic_from_gram(np.eye(4), np.eye(4), design="v", normalize=False), 4)
    0.1875
    """
    design = check_design(design)
    check_flag(second_order, "second_order")
    check_flag(normalize, "normalize")
    K, L = check_gram(K, "K"), check_gram(L, "L")
    if K.shape != L.shape:
        raise ValueError(f"L has shape {L.shape}, must be {K.shape} as K.")
    statistics = hsic_statistics(
        GramSource(K),
        GramSource(L),
        len(K),
        design,
        second_order=second_order,
        random_state=random_state,
    )
    return one_statistic(statistics, normalize=normalize)
