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
from skdiscrepancy._data import RandomStateLike, check_flag, effective_size
from skdiscrepancy._engine import (
    GramSource,
    PairedSource,
    ProductRowSums,
    Source,
    centred_products,
    row_sums,
)
from skdiscrepancy._hsic._weighted import (
    Norms,
    pair_weights,
    weighted_hsic,
    weighted_offsets,
)
from skdiscrepancy.designs import Design, check_design

# Smallest sum of the products of four weights, by which rounding errors are divided,
# for values of four and of eight bytes.
LEAST_NORMS = {4: 1e-3, 8: 1e-8}


def centring_offsets(row_sums: np.ndarray, *, unbiased: bool) -> np.ndarray:
    """Return the offsets to subtract from rows and columns to centre a Gram matrix.

    For the V-statistic, K_ij - offset_i - offset_j is H K H. For the U-statistic, the
    row sums leave out the diagonal, and the rows of the centred matrix sum to zero
    without the diagonal.

    Parameters
    ----------
    row_sums : ndarray of shape (n_kernels, n_samples)
        Row sums of Gram matrices.
    unbiased : bool
        True for the U-statistic, False for the V-statistic.

    Returns
    -------
    offsets : ndarray of shape (n_kernels, n_samples)
        Offsets, for both rows and columns.
    """
    n = row_sums.shape[1]
    with np.errstate(all="ignore"):
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
    # Results that are not finite raise an error, without a warning before it.
    with np.errstate(all="ignore"):
        if unbiased:
            statistics = row_sums.sum(axis=1) / (n * (n - 3))
            projections = row_sums * ((n - 2) / (2 * (n - 1) * (n - 3)))
            # sum(c) is the same for all projections, so it adds no variance.
            return statistics, 4 * projections.std(axis=1)
        means = row_sums / n
        return means.mean(axis=1), 2 * means.std(axis=1)


def complete_statistics(
    x: Source,
    y: Source,
    n: int,
    *,
    unbiased: bool,
    weights: np.ndarray | None = None,
    **walk_options: Any,
) -> Statistics:
    """Compute the complete statistics of n rows, for all products of kernels.

    `weights` are positive weights of the rows that sum to one.
    """
    if weights is not None:
        four = Norms.of(weights).four if unbiased else 1.0
        if four < max(LEAST_NORMS[source.dtype.itemsize] for source in (x, y)):
            raise ValueError(
                "sample_weight has almost all weight in three rows or fewer, so the "
                "unbiased HSIC, which compares four different rows, has too few "
                "digits. Use design='v' or other weights."
            )
        products = centred_products(
            x,
            y,
            n,
            partial(weighted_offsets, weights=weights, unbiased=unbiased),
            partial(weighted_hsic, weights=weights, unbiased=unbiased),
            diagonal=not unbiased,
            weights=pair_weights(weights, unbiased=unbiased),
            **walk_options,
        )
        values, scales = products.results
        # The U-statistic divides rounding errors too.
        sizes = products.sizes / four
        nu = effective_size(weights, n)
        return Statistics(values, scales, nu, sizes, products.dtype)
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
    """Return the offsets that centre the Gram matrices for the U-statistic."""
    sums = row_sums(source, n, diagonal=False, **walk_options)
    return centring_offsets(sums, unbiased=True)


def paired_rows(n_rows: int, design: Design) -> int:
    """Return the number of samples of the second-order core.

    A sample is a pair of rows, (Z_i, Z_{i+n}).
    """
    n = n_rows // 2
    left_out = design.n_unused(n)
    n_unused = n_rows % 2 + 2 * left_out
    if n_unused:
        why = f"the design {design!r} pairs the rows i and i + {n}"
        if left_out:
            why += f", and leaves out the last {left_out} of {n} pairs"
        warn_unused(n_unused, n_rows, f"{why}.")
    return n


def hsic_statistics(
    x: Source,
    y: Source,
    n_rows: int,
    design: Design,
    *,
    second_order: bool,
    random_state: RandomStateLike = None,
    weights: np.ndarray | None = None,
    **walk_options: Any,
) -> Statistics:
    """Compute the statistics of a design for two sources on the same rows.

    `weights` of the rows need a complete design and no `second_order`.
    """
    if design.complete and not second_order:
        unbiased = not design.biased
        if unbiased and n_rows < 4:
            raise ValueError(
                f"n_samples == {n_rows}, must be >= 4 for the unbiased HSIC."
            )
        return complete_statistics(
            x, y, n_rows, unbiased=unbiased, weights=weights, **walk_options
        )
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
    """Compute the squared Hilbert-Schmidt independence criterion from Gram matrices.

    Use this function if you have Gram matrices already, for example of strings or
    graphs. The V-statistic is tr(KHLH) / N^2 [1]_. The U-statistic is Equation 5 of
    [2]_. The incomplete designs come from [3]_.

    Read more in the :ref:`User Guide <hsic>`.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Gram matrix of X.
    L : array-like of shape (n_samples, n_samples)
        Gram matrix of y.
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design, default="u"
        Pairs of rows that enter the statistic. "u" and "v" use all pairs, the others
        fewer, which takes less time. See :mod:`skdiscrepancy.designs`.
    second_order : bool, default=False
        Pair the rows i and i + N/2 also for "u" and "v".
    normalize : bool, default=True
        Divide the statistic by its scale sigma_k.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the pairs that ``design="r"`` draws. None draws new ones in every call.
        The global generator of numpy is never used.

    Returns
    -------
    score : float
        The dependence. A larger score means a stronger dependence.

    See Also
    --------
    hsic_score : Computes HSIC from X and y.
    HSICEstimator : Scores several samples with the same kernels.

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
