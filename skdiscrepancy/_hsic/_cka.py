"""Centred kernel alignment (CKA) of representations of the same rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data import MatrixResult, check_run_options, shown
from skdiscrepancy._engine import Source, kernel_source
from skdiscrepancy._hsic._cka_terms import (
    CKASettings,
    alignments,
    as_representation,
    check_cka_params,
    hsic_terms,
    kernel_with_bandwidth,
    positive_part,
)
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels import KernelLike, kernel_name


@dataclass(frozen=True, eq=False, repr=False)
class CKAResult(MatrixResult):
    """Similarities of all layers of one network with all layers of another.

    :func:`cka_score` returns this result for lists of layers, the heat map of [1]_ in
    numbers. ``np.asarray(result)`` is the matrix. Two results are equal if all their
    attributes are.

    Read more in the :ref:`User Guide <cka>`.

    Attributes
    ----------
    matrix : ndarray of shape (n_layers_X, n_layers_Y)
        CKA of each layer of X with each layer of Y.
    x_layers : list of length n_layers_X
        Names of the layers of X; positions if the layers came as a list.
    y_layers : list of length n_layers_Y
        Names of the layers of Y.
    x_kernels : list of length n_layers_X
        Kernel on each layer of X.
    y_kernels : list of length n_layers_Y
        Kernel on each layer of Y.

    See Also
    --------
    cka_score : Computes the similarities.
    skdiscrepancy.plotting.CKADisplay : Draws the matrix.

    References
    ----------
    .. [1] S. Kornblith et al., "Similarity of neural network representations
       revisited", ICML 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import cka_score
    >>> rng = np.random.RandomState(0)
    >>> first = rng.normal(size=(100, 5))
    >>> second = np.tanh(first @ rng.normal(size=(5, 8)))
    >>> result = cka_score({"first": first, "second": second}, [first])
    >>> result.to_frame()[0].round(2).to_dict()
    {'first': 1.0, 'second': 0.68}
    >>> np.asarray(result).shape
    (2, 1)
    """

    matrix: np.ndarray
    x_layers: list[Any]
    y_layers: list[Any]
    x_kernels: list[Any]
    y_kernels: list[Any]

    _display = "CKADisplay"
    _item = "layer"

    def _summary(self) -> dict[str, Any]:
        return {
            "largest": float(self.matrix.max()),
            "kernel": kernel_name(self.x_kernels[0]),
        }

    def _columns(self) -> dict[str, Any]:
        columns = {str(name): self.matrix[:, j] for j, name in enumerate(self.y_layers)}
        first = "layer"
        while first in columns:
            first += "_"
        return {first: list(self.x_layers), **columns}

    def _count(self) -> str:
        n_x, n_y = self.matrix.shape
        return f"{n_x} x {n_y} layers"

    def to_frame(self) -> Any:
        """Return the matrix as a DataFrame.

        Needs pandas: ``pip install "skdiscrepancy[pandas]"``.

        Returns
        -------
        frame : pandas.DataFrame
            One row for each layer of X and one column for each layer of Y, with the
            names of the layers as index and columns.
        """
        frame = super().to_frame()
        frame = frame.set_index(frame.columns[0])
        frame.index.name = "layer"
        frame.columns = list(self.y_layers)
        return frame

    def plot(self, **kwargs: Any) -> Any:
        """Draw the matrix as a heat map.

        Needs matplotlib: ``pip install "skdiscrepancy[plot]"``.

        Parameters
        ----------
        **kwargs : dict
            Options of :meth:`CKADisplay.from_result
            <skdiscrepancy.plotting.CKADisplay.from_result>`, such as `ax`.

        Returns
        -------
        display : CKADisplay
            The display, drawn.
        """
        return super().plot(**kwargs)


def cka_score(
    X: Any,
    Y: Any,
    *,
    kernel: Any = "linear",
    target_kernel: Any = None,
    bandwidth: Any = "median",
    design: str | Design = "u",
    n_jobs: int | None = None,
    verbose: int = 0,
) -> float | CKAResult:
    r"""Compute the centred kernel alignment of two representations of the same rows.

    :math:`\mathrm{CKA} = \mathrm{HSIC}(K, L) / \sqrt{\mathrm{HSIC}(K, K)\,
    \mathrm{HSIC}(L, L)}` [1]_ is 1 for representations that agree up to a rotation, a
    shift and a scale, and 0 for representations that have nothing in common. With
    ``design="u"`` the unbiased estimator of HSIC takes its place in all three terms
    [2]_: unrelated representations then have CKA near 0, also if they have more columns
    than rows, and the value may be negative. ``design="v"`` is the textbook number.

    With ``kernel="energy"``, CKA is the squared distance correlation, bias-corrected
    for "u" [3]_.

    The linear kernel takes O(n d_X d_Y) time for n rows of d_X and d_Y columns. Other
    kernels, and more columns than rows, take O(n^2) time. "energy" and "laplace" on two
    single columns take O(n log n) time. Memory is O(n) for each pair of layers, and a
    copy of layers that have far more columns than rows.

    Read more in the :ref:`User Guide <cka>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features_X), or list or dict of such arrays
        First representation, or the layers of a network, with names in a dict. A list
        of one-dimensional arrays is one representation, row by row; use a dict for
        layers of one column.
    Y : array-like of shape (n_samples, n_features_Y), or list or dict of such arrays
        Second representation, or layers, of the same rows in the same order.
    kernel : str, kernel object or callable, default="linear"
        Kernel on X, such as "linear", "gaussian" or "energy".
    target_kernel : str, kernel object, callable or None, default=None
        Kernel on Y; None is `kernel`. "indicator" is for labels.
    bandwidth : "median" or float, default="median"
        Bandwidth of a kernel that has a bandwidth, such as "gaussian", and none of its
        own. "median" is the median distance between rows, for each representation its
        own.
    design : {"u", "v"}, default="u"
        Unbiased HSIC, which needs four rows, or the biased one.
    n_jobs : int or None, default=None
        Number of threads; the result does not depend on it.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.

    Returns
    -------
    cka : float or CKAResult
        The larger, the more similar. For lists or dicts of layers, a result with the
        matrix of all layers of X with all layers of Y. A representation whose rows are
        all equal has CKA 0, with a warning.

    See Also
    --------
    CKAEstimator : Adds up minibatches.
    hsic_score : Measures dependence on a scale for tests and feature selection.

    References
    ----------
    .. [1] S. Kornblith et al., "Similarity of neural network representations
       revisited", ICML 2019.
    .. [2] T. Nguyen, M. Raghu and S. Kornblith, "Do wide and deep networks learn the
       same things?", ICLR 2021.
    .. [3] G. J. Székely and M. L. Rizzo, "Partial distance correlation with methods for
       dissimilarities", Annals of Statistics 42, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import cka_score
    >>> rng = np.random.RandomState(0)
    >>> X = rng.normal(size=(200, 10))
    >>> rotation, _ = np.linalg.qr(rng.normal(size=(10, 10)))
    >>> round(cka_score(X, 3 * X @ rotation + 1), 6)
    1.0
    >>> unrelated = rng.normal(size=(200, 300))
    >>> abs(cka_score(X, unrelated)) < 0.05 < cka_score(X, unrelated, design="v")
    True
    """
    settings = check_cka_params(kernel, target_kernel, bandwidth, design)
    check_run_options(n_jobs, None, verbose)
    options = {"n_jobs": n_jobs, "verbose": verbose}
    symmetric = Y is X and target_kernel is None
    left = _Layers(X, "X", settings.kernel, settings, bandwidth)
    right = left
    if not symmetric:
        right = _Layers(Y, "Y", settings.target_kernel, settings, bandwidth)
        _check_rows_agree(left, right)
    matrix = _cka_matrix(left, right, settings, options)
    if not left.several and not right.several:
        return float(matrix[0, 0])
    return CKAResult(matrix, left.names, right.names, left.kernels, right.kernels)


class _Layers:
    """One or several representations with their kernels.

    Attributes
    ----------
    several : bool
        Whether they came as a list or dict.
    names : list
        Names of the layers.
    titles : list of str
        What messages call the layers.
    sources : list of Source
        The kernels on the rows.
    """

    def __init__(
        self,
        Z: Any,
        name: str,
        kernel: list[KernelLike],
        settings: CKASettings,
        bandwidth: Any,
    ):
        self.names, arrays, self.several = _split(Z, name)
        self.titles = [name]
        if self.several:
            self.titles = [f"layer {shown(layer)} of {name}" for layer in self.names]
        samples = [
            as_representation(layer, title, kernel, settings.least_rows)
            for layer, title in zip(arrays, self.titles, strict=True)
        ]
        self.n_rows = [len(sample) for sample in samples]
        kernels = [
            kernel_with_bandwidth(sample, kernel, bandwidth, layer)
            for sample, layer in zip(samples, arrays, strict=True)
        ]
        self.kernels = [kernel for [kernel] in kernels]
        self.sources: list[Source] = [
            kernel_source(*item) for item in zip(kernels, samples, strict=True)
        ]


def _split(Z: Any, name: str) -> tuple[list[Any], list[ArrayLike], bool]:
    """Return names and arrays of layers, and whether there may be several."""
    if isinstance(Z, Mapping) and not hasattr(Z, "shape"):
        names, arrays = list(Z), list(Z.values())
    elif isinstance(Z, (list, tuple)) and (not Z or _is_layer(Z[0])):
        names, arrays = list(range(len(Z))), list(Z)
    else:
        return [0], [Z], False
    if not arrays:
        raise ValueError(f"{name} == {Z!r}, must hold at least one layer.")
    return names, arrays, True


def _is_layer(item: Any) -> bool:
    """Tell a layer from a row: it has two dimensions or more."""
    shape = getattr(item, "shape", None)
    if shape is not None:
        return len(shape) > 1
    return isinstance(item, (list, tuple)) and any(np.ndim(row) > 0 for row in item[:1])


def _check_rows_agree(left: _Layers, right: _Layers) -> None:
    """Refuse layers of different numbers of rows."""
    n = left.n_rows[0]
    for layers in (left, right):
        for title, rows in zip(layers.titles, layers.n_rows, strict=True):
            if rows != n:
                raise ValueError(
                    f"{title[0].upper()}{title[1:]} has {rows} rows, must have {n} as "
                    f"{left.titles[0]}."
                )


def _cka_matrix(
    left: _Layers, right: _Layers, settings: CKASettings, options: dict[str, Any]
) -> np.ndarray:
    """Return CKA of every layer on the left with every layer on the right."""
    p, q = len(left.sources), len(right.sources)
    if right is left:
        _check_rows_agree(left, left)
        sources = left.sources
        pairs = list(combinations_with_replacement(range(p), 2))
    else:
        sources = [*left.sources, *right.sources]
        pairs = [(i, i) for i in range(p + q)]
        pairs += product(range(p), range(p, p + q))
    n = left.n_rows[0]
    terms = hsic_terms(sources, pairs, n, unbiased=settings.unbiased, **options)
    values, roundings = np.zeros((2, len(sources), len(sources)))
    at = tuple(np.array(pairs).T)
    values[at], roundings[at] = terms
    own = positive_part(np.diagonal(values), np.diagonal(roundings))
    titles = left.titles if right is left else [*left.titles, *right.titles]
    constant = [title for title, t in zip(titles, own, strict=True) if t == 0]
    if right is left:
        values = np.triu(values) + np.triu(values, 1).T
        return alignments(values, own, own, constant)
    return alignments(values[:p, p:], own[:p], own[p:], constant)
