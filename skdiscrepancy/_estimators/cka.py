"""Centred kernel alignment (CKA) of representations of the same rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from itertools import chain, combinations_with_replacement, product
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data.arrays import check_weights, tag_target, warn_of_other_index
from skdiscrepancy._data.blocks import LazyRows
from skdiscrepancy._data.checks import (
    RUN,
    KeywordHints,
    RandomStateLike,
    declares_parameters,
    draw_seeds,
    generator_of,
    shown,
    takes_parameters_of,
    warn_user,
)
from skdiscrepancy._data.frames import as_table
from skdiscrepancy._data.results import MatrixResult
from skdiscrepancy._estimators.base import check_parameters, collection_of
from skdiscrepancy._estimators.readers import Reader, layout_of
from skdiscrepancy._gram.factors import (
    Factor,
    LazyFactors,
    SparseColumns,
    factor_of,
    inner_product,
    may_be_complete,
)
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.products import Centring, Pair, pair_totals
from skdiscrepancy._gram.run import QUIET, Run, in_one_blas_thread
from skdiscrepancy._gram.tiles import Gram
from skdiscrepancy._statistics.dependence import centring_offsets, hsic_statistics
from skdiscrepancy._statistics.second_order import check_finite
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels._base import (
    KernelLike,
    RowKernel,
    refuse_balanced,
    sample_dtype,
)
from skdiscrepancy.kernels._names import (
    as_target,
    check_bandwidths,
    check_kernel,
    kernel_name,
)
from skdiscrepancy.tables import encode_target, fit_target_encoder

# Norms of centred matrices below this fraction of the trace are rounding errors.
CONSTANT = 1e-12


class CKASettings(NamedTuple):
    """What the check of the parameters of CKA has found.

    Attributes
    ----------
    estimator : CKAEstimator
        Has the parameters.
    kernels : pair of lists of length 1
        The kernel on X and the kernel on Y, bandwidths still to be chosen.
    unbiased : bool
        Whether HSIC is the U-statistic.
    least_rows : int
        Smallest number of rows that HSIC takes.
    seed : int
        Seed of random features.
    """

    estimator: CKAEstimator
    kernels: tuple[list[KernelLike], list[KernelLike]]
    unbiased: bool
    least_rows: int
    seed: int

    @property
    def run(self) -> Run:
        """Threads and progress."""
        return Run(self.estimator.n_jobs, self.estimator.verbose)

    @property
    def features(self) -> tuple[int, int] | None:
        """Number of random features and their seed, None for exact kernels."""
        number = self.estimator.n_components
        return None if number is None else (number, self.seed)

    def with_weight(self, rows: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Return the rows that have a weight, and their weights."""
        if sample_weight is None:
            return rows, None
        why = "with sample_weight, because it divides by numbers of rows"
        refuse_balanced([*chain(*self.kernels)], why)
        weights = check_weights(sample_weight, len(rows), self.least_rows)
        if isinstance(rows, LazyRows) or np.all(weights > 0):
            return rows, weights
        return rows[np.flatnonzero(weights)], weights[weights > 0]

    def terms(
        self, both: list[Any], pairs: list[Pair], weights: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the terms of `hsic_terms` for rows with kernels, or their features."""
        if isinstance(both[0][0], LazyRows):
            if weights is not None and self.unbiased:
                raise ValueError(
                    "design == 'u', must be 'v' for rows with sample_weight that are "
                    "read by blocks, because the unbiased HSIC needs them in memory."
                )
            table = LazyFactors(both, self.features, weights, self.run)
            values, at = table.hsic(unbiased=self.unbiased)[0], tuple(np.array(pairs).T)
            least = np.where(np.outer(table.norms, table.norms) > 0, 0.0, np.inf)
            return check_finite(values[at]), least[at]
        how: Any = {"n_components": self.estimator.n_components, "seed": self.seed}
        rows = [np.asarray(Z) if isinstance(Z, SparseColumns) else Z for Z, _ in both]
        grams = [gram([k], Z, **how) for (_, k), Z in zip(both, rows, strict=True)]
        return hsic_terms(grams, pairs, self.unbiased, weights, self.run)

    def choose(self, side: int, sample: np.ndarray, table: Any = None) -> Any:
        """Return the kernel on X (0) or Y (1) with all that it takes from a sample.

        `table` is the sample before validation, with the names of the columns.
        """
        if isinstance(sample, LazyRows):
            sample = sample.sample
        found = collection_of(self.estimator, [sample], self.kernels[side], table)
        if len(found) > 1:
            raise ValueError(
                f"bandwidth == {shown(self.estimator.bandwidth)} makes {len(found)} "
                f"kernels of {self.kernels[side][0]!r}, must be 'median' or one number "
                "for CKA."
            )
        return found[0]


def _check_target_kernel(values: dict[str, Any]) -> Any:
    """Return the kernels on y, which are those on X for None."""
    kernel = values["target_kernel"]
    return values["kernel"] if kernel is None else check_kernel(kernel, "target_kernel")


def check_cka_params(given: CKAEstimator, seed: int | None = None) -> CKASettings:
    """Check the parameters of CKA, and draw a seed of random features unless given."""
    values = check_parameters(vars(given), target_kernel=_check_target_kernel)
    design, seeds = values["design"], [seed or 0]
    if given.n_components is not None and seed is None:
        seeds = draw_seeds(generator_of(given.random_state), 1)
    if not design.complete:
        raise ValueError(
            f"design == {shown(given.design)}, must be 'u' or 'v': CKA needs all pairs "
            "of rows."
        )
    kernels = values["kernel"], values["target_kernel"]
    for name, own in zip(("kernel", "target_kernel"), kernels, strict=True):
        if len(own) > 1:
            raise ValueError(
                f"{name} == {shown(getattr(given, name))} has {len(own)} kernels, must "
                "be one kernel for CKA."
            )
    check_bandwidths(kernels[1], given.bandwidth, "bandwidth")
    of_design = not design.biased, design._least_rows(2)
    return CKASettings(given, kernels, *of_design, *seeds)


@in_one_blas_thread
def hsic_terms(
    grams: Sequence[Gram],
    pairs: list[Pair],
    unbiased: bool,
    weights: np.ndarray | None = None,
    run: Run = QUIET,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute complete HSIC, not normalised, of pairs of grams with one kernel each.

    In the centred matrices A and B this is sum(A o B) / (n (n - 3)) for U, where the
    diagonal is left out, and sum(A o B) / n^2 for V. Also return how large HSIC of a
    constant sample with itself may be by rounding.
    """
    # CKA has no incomplete designs.
    other = "minibatches (CKAEstimator.partial_fit)"
    run = run._replace(faster=f"random features (n_components), {other}")
    centring = Centring(partial(centring_offsets, unbiased=unbiased), not unbiased)
    if weights is not None:
        for own in grams:
            own.run = run
        how: Any = {"w": weights, "unbiased": unbiased}
        found = [hsic_statistics(grams[i], grams[j], **how) for i, j in pairs]
        values = np.array([(own.values[0], own.rounding[0]) for own in found]).T
        return check_finite(values[0]), values[1]
    # Sums beyond floating point are refused below.
    with np.errstate(all="ignore"):
        totals, roundings = pair_totals(grams, pairs, centring, run)
    n = grams[0].n
    count = n * (n - 3) if unbiased else n * n
    return check_finite(totals / count), roundings / count


def cka(cross: np.ndarray, norms_x: np.ndarray, norms_y: np.ndarray) -> np.ndarray:
    """Divide HSIC by the roots of HSIC of each sample with itself, 0 for constants."""
    # Root by root: the product of two HSIC may be beyond floating point.
    scale = norms_x[:, np.newaxis] * norms_y
    return np.divide(cross, scale, out=np.zeros(cross.shape), where=scale > 0)


# HSIC of X with itself, of X with y, and of y with itself.
PAIRS = [(0, 0), (0, 1), (1, 1)]


def cka_of_terms(
    terms: Any, pairs: list[Pair] = PAIRS, names: Sequence[str] = ()
) -> np.ndarray:
    """Return the symmetric matrix of CKA from the terms of `hsic_terms`."""
    at = tuple(np.array(pairs).T)
    values, roundings = np.zeros((2, at[1].max() + 1, at[1].max() + 1))
    values[at], roundings[at] = terms
    values.T[at] = terms[0]
    norms = norms_of(np.diagonal(values), np.diagonal(roundings))
    warn_of_constants(names, norms)
    return cka(values, norms, norms)


def norms_of(terms: np.ndarray, roundings: np.ndarray) -> np.ndarray:
    """Return the roots of HSIC of samples with themselves, 0 for rounding errors."""
    return np.sqrt(np.where(terms > roundings, terms, 0.0))


def warn_of_constants(names: Sequence[str], norms: np.ndarray) -> None:
    """Warn of samples with norm 0."""
    constant = [name for name, norm in zip(names, norms, strict=False) if norm == 0]
    if constant:
        warn_user(
            f"CKA with {', '.join(constant)} is 0, because HSIC with itself is not "
            "positive. For the kernel, all rows are equal, all rows are equally "
            "different, or all rows but one are equal."
        )


@dataclass(eq=False, repr=False)
class Variable:
    """Rows with one kernel, and the low-rank factor of its centred Gram matrix."""

    rows: Any
    kernel: KernelLike
    features: tuple[int, int] | None = None
    weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        if isinstance(self.kernel, RowKernel):
            self.kernel = self.kernel.learn([np.asarray(self.rows)])

    @cached_property
    def factor(self) -> Factor:
        """Factor of the centred Gram matrix, not complete for a rough kernel."""
        # A factor that is not finite raises an error when scores are checked.
        with np.errstate(all="ignore"):
            return self.with_weights(factor_of(self.rows, self.kernel, self.features))

    def with_weights(self, factor: Factor) -> Factor:
        """Return a factor with the weights of the rows."""
        return factor if self.weights is None else factor.weighted(self.weights)

    @cached_property
    def lines(self) -> np.ndarray:
        """The factor as an array."""
        return self.factor.centred

    @cached_property
    def may_be_complete(self) -> bool:
        """Whether the factor can be complete, before it is computed."""
        return self.features is not None or may_be_complete(self.rows, self.kernel)

    @property
    def complete(self) -> bool:
        """Whether the factor is the whole Gram matrix, up to rounding."""
        return self.may_be_complete and self.factor.complete

    @property
    def gram(self) -> Gram:
        """The Gram matrix, tile by tile."""
        return gram([self.kernel], np.asarray(self.rows))

    def is_zero(self, norm: float) -> bool:
        """Tell whether the norm of the centred Gram matrix is a rounding error."""
        trace = float(len(self.rows))
        if isinstance(self.kernel, RowKernel):
            rows = np.asarray(self.rows)
            with np.errstate(all="ignore"):
                trace = np.abs(self.kernel.pairs(rows, rows)).sum()
        check_finite(np.array([norm, trace]))
        return bool(norm <= CONSTANT * trace)

    @cached_property
    def norm(self) -> float:
        """Frobenius norm of the centred Gram matrix, 0 for a constant."""
        if self.complete:
            norm = self.factor.norm
        else:
            norm = np.sqrt(max(self.product(self), 0.0))
        return 0.0 if self.is_zero(norm) else norm

    def product(self, other: Variable) -> float:
        """Return the inner product of both centred Gram matrices."""
        if self.complete and other.complete:
            return inner_product(self.factor.rows, other.lines)
        pair, n = (0, 0 if other is self else 1), len(self.rows)
        grams, options = [self.gram, other.gram], (False, self.weights, Run(1))
        return hsic_terms(grams, [pair], *options)[0][0] * n**2

    def alignment(self, other: Variable) -> float:
        """Return CKA of the V-statistic, from 0 to 1."""
        # Not by `cka`, because selectors call this for thousands of pairs.
        scale = self.norm * other.norm
        return min(max(self.product(other) / scale, 0.0), 1.0) if scale > 0 else 0.0


@dataclass(frozen=True, eq=False, repr=False)
class CKAResult(MatrixResult):
    """Similarities of all layers of one network with all layers of another.

    ``np.asarray(result)`` is the matrix.

    Read more in the :ref:`User Guide <cka>`.

    Attributes
    ----------
    matrix : ndarray of shape (n_layers_X, n_layers_Y)
        CKA of each pair of layers.
    x_layers : list of length n_layers_X
        Names, or positions, of the layers of X.
    y_layers : list of length n_layers_Y
        Names, or positions, of the layers of Y.
    x_kernels : list of length n_layers_X
        Kernels on the layers of X.
    y_kernels : list of length n_layers_Y
        Kernels on the layers of Y.

    See Also
    --------
    cka_score : Computes the similarities.
    skdiscrepancy.plotting.CKADisplay : Draws the matrix.

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
        """Return the matrix as a DataFrame, which needs pandas.

        Returns
        -------
        frame : pandas.DataFrame
            Layers of X by layers of Y.
        """
        names = {"index": list(self.x_layers), "columns": list(self.y_layers)}
        return type(super().to_frame())(self.matrix, **names).rename_axis("layer")


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
    kernels : list
        The kernel on each layer.
    rows : list of ndarray, SparseRows or LazyRows
        The rows of each layer.
    weights : ndarray of shape (n_samples,) or None
        Weights of the rows.
    """

    def __init__(self, Z: Any, side: int, settings: CKASettings, sample_weight: Any):
        name = "XY"[side]
        self.names, arrays, self.several = _split(Z, name)
        self.titles = [name]
        if self.several:
            self.titles = [f"layer {shown(layer)} of {name}" for layer in self.names]
        given, kernels = settings.estimator, settings.kernels[side]
        self.kernels, self.rows = [], []
        for layer, title in zip(arrays, self.titles, strict=True):
            table = as_table(layer)
            shape = tuple(getattr(table, "shape", ()))
            if len(shape) > 2:
                raise ValueError(
                    f"{title} has shape {shape}, must have two dimensions: flatten the "
                    f"values of each row with reshape({shape[0]}, -1), or pass a list "
                    "of layers."
                )
            reader = Reader(kernels, settings.least_rows, given.encoder, given)
            table = reader.blocks(table, title)
            reader.fit([table], [title])
            rows = reader.rows(table, title)
            rows, self.weights = settings.with_weight(rows, sample_weight)
            layout = layout_of(reader.encoder_, table)
            self.kernels.append(settings.choose(side, rows, layout))
            self.rows.append(rows)


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


@declares_parameters
class CKAEstimator(KeywordHints, BaseEstimator):
    r"""Centred kernel alignment (CKA) over minibatches.

    Use it if the representations do not fit into memory. `partial_fit` adds the HSIC of
    a minibatch, and `cka_` divides the sums [1]_. Draw batches at random. Only the
    unbiased HSIC does not depend on their size.

    Read more in the :ref:`User Guide <cka>`.

    Parameters
    ----------
    kernel : str, kernel object or callable, default="linear"
        Kernel on X, such as "linear", "gaussian" or "energy".
    target_kernel : str, kernel object, callable or None, default=None
        Kernel on y. None is `kernel`.
    bandwidth : "median" or float, default="median"
        Bandwidth of a kernel without its own.
    design : {"u", "v"}, default="u"
        Unbiased HSIC, which may be negative, or biased HSIC.
    encoder : "auto", None or transformer, default="auto"
        "auto" applies a :class:`~skdiscrepancy.TableEncoder` to DataFrames; see
        :ref:`tables`.
    n_components : int or None, default=None
        Number of random features, for linear time; None is exact.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds all random draws.
    verbose : int, default=0
        1 or more shows the percentage done and the time left.

    Attributes
    ----------
    cka_ : float
        CKA of all batches, 0 for constant data.
    hsic_ : ndarray of shape (3,)
        Sums of HSIC of (X, X), (X, y), (y, y).
    n_batches_ : int
        Number of batches.
    n_samples_seen_ : int
        Number of rows.
    kernel_, target_kernel_ : kernel object
        Kernels with their bandwidths.
    encoder_, target_encoder_ : transformer or None
        Fitted encoders of X and y.
    feature_seed_ : int
        Seed of the random features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, if all are strings.
    n_targets_in_ : int
        Number of columns of y.

    See Also
    --------
    cka_score : Computes CKA in one call.

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

    # Bandwidths are one number for each kernel.
    n_bandwidths: ClassVar = None
    _: KW_ONLY
    kernel: Any = "linear"
    target_kernel: Any = None
    bandwidth: Any = "median"
    design: str | Design = "u"
    encoder: Any = "auto"
    n_components: int | None = None
    n_jobs: int | None = None
    random_state: RandomStateLike = None
    verbose: int = 0

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None
    ) -> CKAEstimator:
        """Forget all batches and compute the terms of one sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            First representation.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Second representation.
        sample_weight : array-like of shape (n_samples,), default=None
            Relative row weights.

        Returns
        -------
        self : CKAEstimator
            Fitted estimator.
        """
        self._add(X, y, sample_weight, first=True)
        # Warns of constant data, which a single batch may well be.
        self.score()
        return self

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None
    ) -> CKAEstimator:
        """Add the terms of one minibatch.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            First representation.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Second representation.
        sample_weight : array-like of shape (n_samples,), default=None
            Relative row weights.

        Returns
        -------
        self : CKAEstimator
            Fitted estimator.
        """
        self._add(X, y, sample_weight, first=not hasattr(self, "n_batches_"))
        return self

    def score(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: Any = None,
    ) -> float:
        """Return CKA of all batches, or of another sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            First representation. None for all batches.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Second representation.
        sample_weight : array-like of shape (n_samples,), default=None
            Relative row weights.

        Returns
        -------
        score : float
            A larger score means more similar representations.
        """
        check_is_fitted(self)
        terms: Any = self.hsic_, self._roundings
        if X is not None or y is not None:
            terms = self._terms(X, y, sample_weight, first=False)[0]
        return float(cka_of_terms(terms, names="Xy")[0, 1])

    def _add(self, X: Any, y: Any, weights: Any, *, first: bool) -> None:
        """Add the terms of one batch."""
        terms, n = self._terms(X, y, weights, first=first)
        if first:
            self.hsic_, self._roundings = np.zeros((2, 3))
            self.n_batches_ = self.n_samples_seen_ = 0
        self.hsic_, self._roundings = self.hsic_ + terms[0], self._roundings + terms[1]
        self.n_batches_ += 1
        self.n_samples_seen_ += n
        self.cka_ = float(cka_of_terms((self.hsic_, self._roundings))[0, 1])

    def _terms(
        self, X: Any, y: Any, sample_weight: Any, *, first: bool
    ) -> tuple[Any, int]:
        """Return the terms of one sample; the first one chooses the kernels."""
        seed = None if first else getattr(self, "feature_seed_", 0)
        settings = check_cka_params(self, seed)
        tables = X, y
        warn_of_other_index(X, y)
        of_x, of_y = settings.kernels
        labels = sample_dtype(of_y) is None
        reader = Reader(of_x, settings.least_rows, self.encoder, self)
        if first:
            self.encoder_, self.feature_seed_ = reader.fit([X]), settings.seed
            self.target_encoder_ = fit_target_encoder(self.encoder, y, labels=labels)
        y = encode_target(self.encoder, self.target_encoder_, y, labels=labels)
        reader.encoder_ = self.encoder_
        X, y = reader.rows_with_target(X, y, reset=first)
        shown = self.kernel if self.target_kernel is None else self.target_kernel
        y = as_target(y, of_y, shown)
        X, weights = settings.with_weight(X, sample_weight)
        y, _ = settings.with_weight(y, sample_weight)
        if first:
            layouts = map(layout_of, (self.encoder_, self.target_encoder_), tables)
            self.kernel_ = settings.choose(0, X, next(layouts))
            self.target_kernel_ = settings.choose(1, y, next(layouts))
            self.n_targets_in_ = y.shape[1]
        elif y.shape[1] != self.n_targets_in_:
            raise ValueError(
                f"y has {y.shape[1]} columns, must have {self.n_targets_in_} as in fit."
            )
        both = [(X, self.kernel_), (y, self.target_kernel_)]
        return settings.terms(both, PAIRS, weights), len(X)

    def __sklearn_tags__(self) -> Any:
        tags = tag_target(super().__sklearn_tags__())
        tags.input_tags.sparse = True
        return tags


@takes_parameters_of(
    CKAEstimator,
    names="kernel target_kernel bandwidth design sample_weight encoder n_components "
    f"{RUN}",
)
def cka_score(
    X: Any, Y: Any, *, sample_weight: Any = None, **params: Any
) -> float | CKAResult:
    r"""Compute the centred kernel alignment of two representations of the same rows.

    :math:`\mathrm{CKA} = \mathrm{HSIC}(K, L) / \sqrt{\mathrm{HSIC}(K, K)\,
    \mathrm{HSIC}(L, L)}` [1]_ is 1 for representations that differ by a rotation, a
    shift and a scale only, and near 0 for unrelated ones. The linear kernel takes O(n
    d_X d_Y) time, others O(n^2). With ``kernel="energy"``, CKA is the squared distance
    correlation.

    Read more in the :ref:`User Guide <cka>`.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame, or list or dict of them
        First representation, or the layers of a network.
    Y : array-like, sparse matrix or DataFrame, or list or dict of them
        Second representation, or layers, of the same rows.
    sample_weight : array-like of shape (n_samples,), default=None
        Relative row weights.
    **params : dict
        Parameters of :class:`CKAEstimator`.

    Returns
    -------
    cka : float or CKAResult
        CKA, or the matrix for several layers.

    See Also
    --------
    CKAEstimator : Adds up minibatches.

    References
    ----------
    .. [1] S. Kornblith et al., "Similarity of neural network representations
       revisited", ICML 2019.

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
    settings = check_cka_params(CKAEstimator(**params))
    left = _Layers(X, 0, settings, sample_weight)
    symmetric = Y is X and settings.estimator.target_kernel is None
    right = left if symmetric else _Layers(Y, 1, settings, sample_weight)
    p, q = len(left.rows), len(right.rows)
    rows, kernels, titles = left.rows, left.kernels, left.titles
    pairs = list(combinations_with_replacement(range(p), 2))
    if not symmetric:
        rows, kernels = [*rows, *right.rows], [*kernels, *right.kernels]
        titles = [*titles, *right.titles]
        pairs = [(i, i) for i in range(p + q)]
        pairs += product(range(p), range(p, p + q))
    for title, own in zip(titles, rows, strict=True):
        if len(own) != len(rows[0]):
            raise ValueError(
                f"{title[0].upper()}{title[1:]} has {len(own)} rows, must have "
                f"{len(rows[0])} as {titles[0]}. A list is a list of layers. Pass "
                "blocks of rows as a function that returns an iterator of blocks."
            )
    both = list(zip(rows, kernels, strict=True))
    terms = settings.terms(both, pairs, left.weights)
    matrix = cka_of_terms(terms, pairs, titles)[:p, 0 if symmetric else p :]
    if not left.several and not right.several:
        return float(matrix[0, 0])
    return CKAResult(matrix, left.names, right.names, left.kernels, right.kernels)
