"""The interface of Gram operators: each is the dense matrix that it stands for.

Every leaf and every combinator goes through every operation. A new leaf needs one entry
in `LEAVES`, a new combinator one in `COMBINATORS`, a new operation one in `OPERATIONS`.

Bounds on rounding. An entry is made of terms whose magnitude is the `size` of a case.
Data have few bits, so distances are exact, and an entry has an error of at most
`ENTRY_UNITS` units of its size (see test_statistic_properties.py). A sum over rows and
columns adds at most 2 n units. An operation that is linear in the matrix therefore has
an error of at most the operation itself on the matrix of these bounds.
"""

# SPDX-License-Identifier: BSD-3-Clause

import operator
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import pairwise, product
from typing import NamedTuple
from zlib import crc32

import brute_force as reference
import joblib
import numpy as np
import pytest
import strategies
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, issparse
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from switches import WAYS, small_pieces, way

from skdiscrepancy._data.arrays import as_rows
from skdiscrepancy._data.blocks import lazy_rows
from skdiscrepancy._gram.feature_maps import FeatureMaps, SteinMaps
from skdiscrepancy._gram.features import FeatureGram
from skdiscrepancy._gram.kernel_gram import SteinGram, gram
from skdiscrepancy._gram.pieces import ArrayBlocks, LazyBlocks, blocks_of
from skdiscrepancy._gram.products import UNIFORM, Centring, centred_products
from skdiscrepancy._gram.row_sums import Fold
from skdiscrepancy._gram.sorted_columns import FactorGram
from skdiscrepancy._gram.tiles import DoubleGram, Gram, PairWeights, WeightedGram
from skdiscrepancy._statistics.second_order import matrix_gram
from skdiscrepancy.designs import CompleteV, Region, square
from skdiscrepancy.feature_selection._selector import JoinedColumns, Part
from skdiscrepancy.inference._tests import inner_products
from skdiscrepancy.kernels import (
    EnergyKernel,
    GaussianKernel,
    IndicatorKernel,
    LaplaceKernel,
    LinearKernel,
    MaternKernel,
    PolynomialKernel,
    check_kernel,
)

ENTRY_UNITS = 20
some_examples = settings(max_examples=settings.default.max_examples // 2)
few_examples = settings(max_examples=max(3, settings.default.max_examples // 7))


class Case(NamedTuple):
    """A Gram, its matrices, the size of their entries, and the precision of values.

    `terms` is the magnitude that the Gram itself reports.
    """

    gram: Gram
    K: np.ndarray
    size: np.ndarray
    eps: float
    terms: np.ndarray

    @classmethod
    def of(cls, gram, matrices, size=1.0, dtype=None, terms=None):
        K = np.array(matrices, dtype=np.float64)
        size = np.broadcast_to(np.array(size, dtype=np.float64), K.shape)
        eps = float(np.finfo(dtype or gram.dtype).eps)
        return cls(gram, K, size, eps, np.abs(K) if terms is None else terms)

    @property
    def bound(self):
        """The largest error of a term in a sum over rows and columns."""
        return (ENTRY_UNITS + 2 * self.gram.n) * self.eps * self.size


# Kernels and rows: what `gram` takes. Each entry returns kernels, rows, the matrices,
# and the size of their entries.


def numbers(draw, n, d, unit=1.0, dtype=np.float64):
    return draw(strategies.samples(n, d, unit=unit, dtype=dtype))


def radial(draw, n, dtype, names=strategies.RADIAL, dimensions=strategies.dimensions):
    d, unit = draw(dimensions), draw(strategies.powers_of_two)
    offset = draw(strategies.offsets(dtype))
    X = draw(strategies.samples(n, d, unit=unit, offset=offset, dtype=dtype))
    kernels = draw(strategies.kernels(unit, names))
    # Single distances from products of many columns are computed again if they cancel.
    size = 1 + 100 * d / ENTRY_UNITS if dtype == np.float32 and d > 3 else 1.0
    matrices = [strategies.gram(kernel, X) for kernel in kernels]
    return [kernel for kernel, *_ in kernels], X, matrices, size


def line(draw, n, dtype):
    names = [*strategies.ON_A_LINE, "gaussian"]
    return radial(draw, n, dtype, names, st.just(1))


def energy(draw, n, dtype):
    X = numbers(draw, n, 1, dtype=dtype)
    x = np.abs(X[:, 0].astype(np.float64))
    K = np.add.outer(x, x) - np.abs(X - X.T)
    return [EnergyKernel()], X, [K], 4 * x.max()


def labels(draw, n, dtype):
    X = numbers(draw, n, 1, dtype=dtype)
    same = (X == X.T).astype(np.float64)
    kernels = [IndicatorKernel(), IndicatorKernel(balanced=True)]
    return kernels, X, [same, same / same.sum(axis=1)], 1.0


def functions(draw, n, dtype):
    X = numbers(draw, n, draw(st.integers(1, 4)), 2.0**-6, dtype)
    rows = X.astype(np.float64)
    inner, size = rows @ rows.T, np.abs(rows) @ np.abs(rows).T
    kernels = [LinearKernel(), PolynomialKernel(degree=2, gamma=0.5, coef0=1)]
    matrices = [inner, (0.5 * inner + 1) ** 2]
    return kernels, X, matrices, [size, (0.5 * size + 1) ** 2]


def white(draw, n, dtype):
    X = numbers(draw, n, 2, dtype=dtype)
    # scikit-learn divides rows by the bandwidth: no quotient is above one.
    width = float(np.abs(X).max()) or 1.0
    K = reference.gram(reference.sklearn_rbf, X.tolist(), width, noise=0.25)
    return [RBF(width) + WhiteKernel(0.25)], X, [K], 1.25


def metric(draw, n, dtype):
    X = numbers(draw, n, 3, dtype=dtype)
    width = draw(st.floats(1, 4096))
    gaps = np.abs(X[:, np.newaxis].astype(np.float64) - X).max(axis=2)
    kernel = LaplaceKernel(bandwidth=width, metric="chebyshev")
    return [kernel], X, [np.exp(-gaps / width)], 1.0


def sparse(draw, n, dtype):
    kernels, X, matrices, _ = radial(draw, n, np.float64, dimensions=st.just(3))
    return kernels, as_rows(csr_array(X)), matrices, 1.0


COLLECTIONS = {
    "radial": radial,
    "line": line,
    "energy": energy,
    "labels": labels,
    "functions": functions,
    "white noise": white,
    "metric": metric,
    "sparse": sparse,
}


# Leaves: what draws a case of n rows.


def kernel_gram(collection):
    def leaf(draw, n, dtype):
        kernels, X, matrices, size = COLLECTIONS[collection](draw, n, dtype)
        # Two samples, without a copy, are the usual rows.
        samples = (X[: n // 2], X[n // 2 :]) if n > 1 else (X,)
        return Case.of(gram(kernels, *samples), matrices, size, X.dtype)

    return leaf


def stein(draw, n, dtype):
    X = numbers(draw, n, draw(st.integers(1, 3)), 2.0**-6, dtype)
    S = numbers(draw, n, X.shape[1], 2.0**-6, dtype)
    chosen = draw(strategies.kernels(2.0**-2, strategies.SMOOTH, 2))
    rows, gradients = X.astype(np.float64), S.astype(np.float64)
    matrices, sizes = [], []
    for _, name, width in chosen:
        matrices.append(reference.stein_gram(name, rows, gradients, width))
        # |psi| <= 1, and |psi' / d| and |psi''| are at most 9 / width^2.
        gaps = np.abs(rows[:, np.newaxis] - rows)
        cross = (np.abs(gradients[:, np.newaxis] - gradients) * gaps).sum(axis=2)
        inner = np.abs(gradients) @ np.abs(gradients).T
        sizes.append(inner + 9 / width**2 * (cross + X.shape[1]))
    leaf = SteinGram([kernel for kernel, *_ in chosen], [X], [S])
    return Case.of(leaf, matrices, sizes)


def factor(draw, n, dtype):
    F = numbers(draw, n, 4, dtype=dtype).T
    G = F.astype(np.float64)
    return Case.of(FactorGram(F), [G.T @ G], [np.abs(G).T @ np.abs(G)])


def matrix(draw, n, dtype):
    A = numbers(draw, n, n, dtype=dtype)
    return Case.of(matrix_gram(A + A.T), [A + A.T], np.abs(A) + np.abs(A).T)


def joined_columns(draw, n, dtype):
    name = draw(st.sampled_from(["gaussian", "laplace", "matern32"]))
    kernel = check_kernel(name)[0].set_params(bandwidth=2.0)
    X, codes = numbers(draw, n, 4, 2.0**-6, dtype), numbers(draw, n, 1, dtype=dtype)
    of_labels, removed = 0.5, draw(st.booleans())
    parts = [Part(X[:, :2]), Part(codes, of_labels), Part(X[:, 2:3])]
    # One column for each label, so that two labels have the same distance.
    height = of_labels / 2 ** (1 / kernel.norm)
    columns = [X[:, :2], np.equal(codes, np.unique(codes)) * height, X[:, 2:3]]
    sets = [(0, 2), (0, 1)] if removed else [(0, 1), (0, 2)]
    matrices = [
        reference.gram(
            reference.KERNELS[name],
            np.hstack([columns[j] for j in some]).tolist(),
            kernel.bandwidth,
        )
        for some in sets
    ]
    common = parts if removed else parts[:1]
    leaf = JoinedColumns(common, parts[1:], kernel, removed=removed)
    return Case.of(leaf, matrices)


def residual_products(draw, n, dtype):
    given = kernel_gram("radial")(draw, n, dtype)
    sides = [[numbers(draw, n, d, 2.0**-4) for d in some] for some in ((1, 2), (3,))]
    inner = [[R @ R.T for R in side] for side in sides]
    sizes = [[np.abs(R) @ np.abs(R).T for R in side] for side in sides]
    matrices = [K * a * b for K, a, b in product(given.K, *inner)]
    size = [2 * K * a * b for K, a, b in product(given.size, *sizes)]
    first, second = (gram(*inner_products(side)) for side in sides)
    core = given.gram * first * second
    return Case.of(core, matrices, size, given.gram.dtype)


def as_blocks(rows):
    """Return rows in memory as a stream of uneven blocks."""
    cut = (len(rows) + 2) // 3
    return lazy_rows([rows[:1], rows[1:cut], rows[cut:]], "X")


def features(streamed, *names):
    """Return a leaf of random features, or of exact features of kernels."""

    def leaf(draw, n, dtype):
        X = numbers(draw, n, 2, 2.0**-6, dtype)
        kernels = {
            "random": [GaussianKernel(bandwidth=2.0), MaternKernel(bandwidth=3.0)],
            "sum": [LaplaceKernel(bandwidth=2.0) + LinearKernel()],
            "exact": [LinearKernel()],
            "labels": [IndicatorKernel(), IndicatorKernel(balanced=True)],
        }
        chosen = [kernel for name in names for kernel in kernels[name]]
        samples = [X[: n // 2], X[n // 2 :]] if n > 1 and not streamed else [X]
        maps = FeatureMaps(chosen, 6, 1, *samples)
        # Random features in double precision, of exact rows.
        every = [
            F.toarray() if issparse(F) else F.copy() for _, F in evaluated(maps, X)
        ]
        rows = [as_blocks(X)] if streamed else samples
        case = FeatureGram(maps, blocks_of(*rows))
        sizes = [np.abs(F) @ np.abs(F).T for F in every]
        return Case.of(case, [F @ F.T for F in every], np.array(sizes) + 1)

    return leaf


def evaluated(maps, X):
    return sorted(
        ((k, F.copy()) for k, F in maps.evaluate(X, np.arange(len(X)))),
        key=operator.itemgetter(0),
    )


def stein_features(streamed):
    def leaf(draw, n, dtype):
        X = numbers(draw, n, draw(st.integers(1, 3)), 2.0**-6)
        maps = SteinMaps([GaussianKernel(bandwidth=2.0)], 6, 1, X)
        [(_, F)] = evaluated(maps, X)
        # Row by row and frequency by frequency, as the class says.
        W, cosines, sines = maps.weights(0).T, *np.split(F, 2, axis=1)
        waves = cosines + 1j * sines
        parts = (-X[:, np.newaxis] + 1j * W) * waves[:, :, np.newaxis]
        flat = parts.reshape(n, -1)
        size = np.abs(flat) @ np.abs(flat).T
        if streamed:
            blocks = LazyBlocks(as_blocks(X), view=lambda rows: (rows, -rows))
        else:
            blocks = ArrayBlocks(X, beside=[[-X]])
        return Case.of(
            FeatureGram(maps, blocks), [(flat.conj() @ flat.T).real], size + 1
        )

    return leaf


LEAVES = {
    **{name: kernel_gram(name) for name in COLLECTIONS},
    "features": features(False, "random", "sum", "exact", "labels"),
    "streamed features": features(True, "random", "sum", "exact"),
    "Stein features": stein_features(False),
    "streamed Stein features": stein_features(True),
    "Stein": stein,
    "factor": factor,
    "matrix": matrix,
    "joined columns": joined_columns,
    "residual products": residual_products,
}


# Combinators: what makes another case of a case.


def weights_of(draw, n):
    """Draw weights of rows, some of them negative or zero."""
    return np.random.RandomState(draw(strategies.seeds)).randint(-4, 8, size=n) / 8


def itself(draw, case):
    return case


def paired(draw, case):
    n = case.gram.n // 2

    def signed(K, sign):
        a, b = slice(0, n), slice(n, 2 * n)
        return K[:, a, a] + K[:, b, b] + sign * (K[:, a, b] + K[:, b, a])

    terms = signed(np.abs(case.K), 1)
    size = signed(case.size, 1)
    return Case(case.gram.paired(), signed(case.K, -1), size, case.eps, terms)


def centred(draw, case):
    shares = np.array([weights_of(draw, case.gram.n) for _ in case.K])
    offsets = shares * case.size.max(axis=2)
    both = offsets[:, :, np.newaxis] + offsets[:, np.newaxis]
    size = case.size + 2 * np.abs(offsets)[:, :, np.newaxis]
    size = size + 2 * np.abs(offsets)[:, np.newaxis]
    K = case.K - both
    return Case(case.gram.centred(offsets), K, size, case.eps, np.abs(K))


def mean(draw, case):
    K = case.K.mean(axis=0, keepdims=True)
    # Kernels of several sizes are added one by one.
    size = case.size.max(axis=0, keepdims=True) * (1 + len(case.K) / ENTRY_UNITS)
    return Case(case.gram.mean(), K, size, case.eps, np.abs(K))


def double(draw, case):
    return case._replace(gram=DoubleGram(case.gram))


def weighted(draw, case):
    terms = [(factor, weights_of(draw, case.gram.n)) for factor in (1.0, -2.0)]
    W = sum(factor * np.outer(v, v) for factor, v in terms)
    sizes = sum(abs(factor) * np.outer(abs(v), abs(v)) for factor, v in terms)
    K = W * case.K
    pairs = WeightedGram(case.gram, PairWeights(None, terms))
    return Case(pairs, K, 2 * sizes * case.size, case.eps, np.abs(K))


def times(draw, case):
    other = case
    if draw(st.booleans()):
        other = centred(draw, kernel_gram("radial")(draw, case.gram.n, np.float64))
    both = [
        np.array([a * b for a, b in product(*factors)])
        for factors in (
            (case.K, other.K),
            (case.size, other.size),
            (case.terms, other.terms),
        )
    ]
    eps = max(case.eps, other.eps)
    return Case(case.gram * other.gram, both[0], 3 * both[1], eps, both[2])


COMBINATORS = {
    "itself": itself,
    "paired": paired,
    "centred": centred,
    "mean": mean,
    "double": double,
    "weighted": weighted,
    "product": times,
    "product of paired": lambda draw, case: times(draw, paired(draw, case)),
    "product of centred": lambda draw, case: times(draw, centred(draw, case)),
}


# Operations: what a Gram returns, and what the dense matrices K give.


class Plan(NamedTuple):
    """What operations need besides the Gram.

    `cut` divides the rows into two parts, `rows` and `cols` are pairs, `chosen` some
    rows without repeats, and `others` all other rows.
    """

    n: int
    cut: int
    rows: np.ndarray
    cols: np.ndarray
    chosen: np.ndarray
    others: np.ndarray
    weights: np.ndarray
    bounds: np.ndarray
    design: object
    diagonal: bool

    def absolute(self):
        """Return the plan for bounds: sums without a diagonal may subtract it."""
        return self._replace(weights=np.abs(self.weights), diagonal=True)

    @property
    def regions(self):
        squares = [
            square(start, stop, diagonal=self.diagonal)
            for start, stop in pairwise([0, self.cut, self.n])
            if start < stop
        ]
        cross = Region(0, self.cut, self.cut, self.n)
        return [*squares, cross] if 0 < self.cut < self.n else squares

    @property
    def indicators(self):
        return np.repeat(np.eye(len(self.bounds) - 1), np.diff(self.bounds), axis=1)


@st.composite
def plans(draw, n):
    rng = np.random.RandomState(draw(strategies.seeds))
    cut = draw(st.integers(0, n))
    rows, cols = rng.randint(n, size=(2, 2 * n + 1))
    order = rng.permutation(n)
    chosen, others = order[: (n + 1) // 2], order[(n + 1) // 2 :]
    inner = rng.choice(np.arange(1, n), min(n - 1, draw(st.integers(0, 9))), False)
    bounds = np.array([0, *np.sort(inner), n])
    design = draw(strategies.designs(n)) if n > 1 else CompleteV()
    weights = weights_of(draw, n)
    return Plan(
        n, cut, rows, cols, chosen, others, weights, bounds, design, draw(st.booleans())
    )


def blocks(gram, rows, cols):
    """Return the tiles of a Gram. What it yields may be changed by the caller."""
    shape = tuple(
        index.stop - index.start if isinstance(index, slice) else len(index)
        for index in (rows, cols)
    )
    tiles = {}
    for k, values in gram.block(rows, cols, np.empty(shape, dtype=gram.dtype)):
        tiles[k] = values.copy()
        values[...] = np.nan
    return np.array([tiles[k] for k in range(gram.n_kernels)])


def tiles(plan):
    """Return two tiles on the diagonal, and one off the diagonal."""
    first, second = slice(0, plan.cut), slice(plan.cut, plan.n)
    pairs = [(part, part) for part in (first, second) if part.start < part.stop]
    return [*pairs, (first, second)] if len(pairs) == 2 else pairs


def index_pairs(plan):
    pairs = [(plan.chosen, plan.chosen)]
    return [*pairs, (plan.chosen, plan.others)] if len(plan.others) else pairs


def few_rows(gram, plan):
    found = []
    for rows, cols in index_pairs(plan):
        matrices = {k: values.copy() for k, values in gram.dense(rows, cols)}
        found.append(np.array([matrices[k] for k in range(gram.n_kernels)]))
    return found


def without_diagonal(K, diagonal):
    return K if diagonal else K * (1 - np.eye(K.shape[-1]))


def of_regions(K, plan, weights):
    """Return row and column sums of the regions of a plan."""
    sums = []
    for region in plan.regions:
        rows = slice(region.row_start, region.row_stop)
        cols = slice(region.col_start, region.col_stop)
        part = K[:, rows, cols]
        if region.symmetric:
            part = without_diagonal(part, region.diagonal)
        sums.append(part @ weights[cols])
        if not region.symmetric:
            sums.append(weights[rows] @ part)
    return sums


def walked(gram, plan, weights):
    sums = gram.walk(plan.regions, weights)
    return [
        part
        for region, parts in zip(plan.regions, sums, strict=True)
        for part in (parts[:1] if region.symmetric else parts)
    ]


def group_sums(K, plan):
    Z, off = plan.indicators, without_diagonal(K, False)
    squares = (off**2).sum(axis=(1, 2))
    return [Z @ off @ Z.T, squares]


def groups_bound(case, plan):
    error, n = case.bound, case.gram.n
    groups, _ = group_sums(error, plan)
    squares = 2 * np.abs(case.K) * error + error**2 + n**2 * case.eps * case.K**2
    return [groups, squares.sum(axis=(1, 2))]


def moments(K, plan):
    pairs = reference.design_pairs(plan.design, plan.n, random_state=3)
    return list(np.transpose([reference.design_statistic(M, pairs) for M in K]))


def found_moments(gram, plan):
    moments = gram.moments(plan.design, 3)
    return [moments.mean, moments.scale]


def moments_bound(case, plan):
    # The scale is twice a standard deviation of row means.
    largest = case.bound.max(axis=(1, 2))
    return [largest, 2 * largest]


class Operation(NamedTuple):
    """What a Gram and what dense matrices return, and a bound on the difference.

    Without a bound the operation is linear: it is its own bound.
    """

    found: Callable
    dense: Callable
    bound: Callable | None = None


ONES = np.ones(1000)
OPERATIONS = {
    "block": Operation(
        lambda g, p: [blocks(g, *tile) for tile in tiles(p)],
        lambda K, p: [K[:, rows, cols] for rows, cols in tiles(p)],
    ),
    "stack": Operation(
        lambda g, p: [g.stack(*tile) for tile in tiles(p)],
        lambda K, p: [K[:, rows, cols] for rows, cols in tiles(p)],
    ),
    "dense": Operation(
        few_rows, lambda K, p: [K[:, r[:, None], c] for r, c in index_pairs(p)]
    ),
    "aligned": Operation(
        lambda g, p: [g.aligned(p.rows, p.cols)], lambda K, p: [K[:, p.rows, p.cols]]
    ),
    "pairs": Operation(
        lambda g, p: [g.pairs(p.rows, p.cols)], lambda K, p: [K[:, p.rows, p.cols]]
    ),
    "diagonal": Operation(
        lambda g, p: [g.diagonal()], lambda K, p: [np.diagonal(K, axis1=1, axis2=2)]
    ),
    "sums": Operation(
        lambda g, p: [g.sums(diagonal=p.diagonal)],
        lambda K, p: [without_diagonal(K, p.diagonal).sum(axis=2)],
    ),
    "weighted sums": Operation(
        lambda g, p: [g.sums(p.weights, diagonal=p.diagonal)],
        lambda K, p: [without_diagonal(K, p.diagonal) @ p.weights],
    ),
    "totals": Operation(
        lambda g, p: [g.totals(diagonal=p.diagonal)],
        lambda K, p: [without_diagonal(K, p.diagonal).sum(axis=(1, 2))],
    ),
    "walk": Operation(
        lambda g, p: walked(g, p, None), lambda K, p: of_regions(K, p, ONES)
    ),
    "weighted walk": Operation(
        lambda g, p: walked(g, p, p.weights), lambda K, p: of_regions(K, p, p.weights)
    ),
    "moments": Operation(found_moments, moments, moments_bound),
    "group sums": Operation(
        lambda g, p: list(g.group_sums(p.bounds)[:2]), group_sums, groups_bound
    ),
}


def surroundings(data, *names, sizes=(40, 3, 2, 1)):
    """Draw n, a type, a way to the sums, and the sizes of their pieces.

    hypothesis draws the same for all parameters of a test, so the names are mixed in.
    """
    seed = [data.draw(strategies.seeds), crc32(" ".join(names).encode())]
    rng = np.random.RandomState(seed)
    n, tile = sizes[rng.randint(len(sizes))], [0, 11, 13][rng.randint(3)]
    stack = ExitStack()
    stack.enter_context(way(list(WAYS)[rng.randint(len(WAYS))]))
    if tile:
        stack.enter_context(small_pieces(tile, 2 * tile))
    return n, [np.float64, np.float32][rng.randint(2)], stack


def check(case, plan, name):
    """Compare an operation with the dense matrices, on one and on two threads."""
    operation = OPERATIONS[name]
    found = operation.found(case.gram, plan)
    with joblib.parallel_config("threading", n_jobs=2):
        again = operation.found(case.gram, plan)
    expected = operation.dense(case.K, plan)
    if operation.bound is None:
        bounds = operation.dense(case.bound, plan.absolute())
    else:
        bounds = operation.bound(case, plan)
    results = found, again, expected, bounds
    for part, other, exact, bound in zip(*results, strict=True):
        assert_array_equal(part, other, err_msg=name)
        assert part.shape == exact.shape, name
        errors = np.abs(part - exact)
        worst = np.argmax(errors - bound)
        assert np.all(errors <= bound), (
            f"{name}: {part.flat[worst]!r} is not {exact.flat[worst]!r} up to "
            f"{bound.flat[worst]}"
        )


@pytest.mark.parametrize("combinator", COMBINATORS)
@pytest.mark.parametrize("leaf", LEAVES)
@few_examples
@given(data=st.data())
def test_every_operation_is_that_of_the_dense_matrix(leaf, combinator, data):
    n, dtype, way_there = surroundings(data, leaf, combinator)
    # Row i is paired with row i + n / 2.
    n_rows = min(2 * n, 40) if "paired" in combinator else n
    with way_there:
        case = LEAVES[leaf](data.draw, n_rows, dtype)
        case = COMBINATORS[combinator](data.draw, case)
        plan = data.draw(plans(case.gram.n))
        for name in OPERATIONS:
            check(case, plan, name)
        some = np.arange(case.gram.n)
        assert_allclose(
            case.gram.magnitudes(),
            case.terms[:, some, np.roll(some, 1)],
            rtol=0,
            atol=case.bound.max(),
        )


# Two samples: sums within and between them.


@st.composite
def row_weights(draw, n):
    """Draw positive weights of rows, or None."""
    if draw(st.booleans()):
        return None
    return np.random.RandomState(draw(strategies.seeds)).randint(1, 9, size=n) / 8


def lists_of_kernels(part):
    """Return the weights, sums within and sums across of each kernel, in lists."""
    weights = np.full(part.sums[0].shape[1], part.measure.weights)
    sums = zip(part.sums[part.sample], part.sums[1 - part.sample], strict=True)
    return [[np.array([weights, own, other])] for own, other in sums]


def sums_of_both(gram, *, diagonal, keep_order):
    """Return, for each kernel, sums of X within and across, and those of Y.

    Each is an array with the rows of weights, sums within, and sums across.
    """
    found = [None] * gram.n_kernels
    merge = partial(map_lists, operator.add)
    how = Fold(lists_of_kernels, merge, diagonal, keep_order)
    for kernels, _, results in gram.fold(how):
        for i, k in enumerate(kernels):
            found[k] = [np.concatenate(sample[i], axis=1) for sample in results]
    return found


def summarised(kept):
    """Return the kernels whose kept rows are few rows with the same moments."""
    some = (kept or {}).items()
    few = [key for key, own in some if getattr(own, "roots", None) is not None]
    return {k for key in few for k in key[1:-1]}


def map_lists(function, first, second):
    return list(map(function, first, second))


def filled(weights, n):
    return np.ones(n) if weights is None else weights


@pytest.mark.parametrize("collection", COLLECTIONS)
@some_examples
@given(data=st.data())
def test_sums_of_two_samples_are_those_of_the_dense_matrix(collection, data):
    n, dtype, way_there = surroundings(data, collection, sizes=(40, 3, 2))
    kernels, Z, matrices, size = COLLECTIONS[collection](data.draw, n, dtype)
    m, held_out = data.draw(st.integers(1, n - 1)), data.draw(st.booleans())
    first, second, held = np.arange(m), np.arange(m, n), None
    if held_out and collection != "labels":
        # The second sample is a part of the first one, in any order.
        order = np.random.RandomState(data.draw(strategies.seeds)).permutation(n)
        first, second, held = np.sort(order[:m]), order[m:], order[m:]
    # Equal values of one column have one place in sorted order, but several weights.
    weights = (
        None if held is not None and Z.shape[1] == 1 else data.draw(row_weights(n))
    )
    diagonal, keep_order, kept = (data.draw(st.booleans()) for _ in range(3))
    every = first if held is None else np.arange(n)
    w, v = (None if weights is None else weights[rows] for rows in (every, second))
    with way_there:
        both = gram(kernels, Z[every], Z[second], reference=True)
        # Frequencies of labels are those of all rows.
        own = gram(kernels, Z[every], weights=[w], reference=True)
        sums = own.keep(Z[every], scales=True) if kept else None
        both.weights, both.kept, both.held_out = (w, v), sums, held
        options = {"diagonal": diagonal, "keep_order": keep_order}
        found = sums_of_both(both, **options)
        with joblib.parallel_config("threading", n_jobs=2):
            again = sums_of_both(both, **options)
    case = Case.of(both, matrices, size, Z.dtype)
    w, v = (filled(weights, n)[rows] for rows in (first, second))
    for k, K in enumerate(case.K):
        # Rows that are held out are subtracted from sums over all rows.
        atol = 2 * n * case.bound[k].max()
        for i, (own, other, a, b) in enumerate(
            [(first, second, w, v), (second, first, v, w)]
        ):
            assert_array_equal(found[k][i], again[k][i])
            within = without_diagonal(K[np.ix_(own, own)], diagonal) @ a
            expected = np.array([a, within, K[np.ix_(own, other)] @ b])
            sums = found[k][i]
            if i == 0 and k in summarised(both.kept):
                totals = (sums * sums[0]).sum(axis=1)
                assert_allclose(totals[1:], expected[1:] @ a, rtol=1e-9, atol=m * atol)
                moments, right = (
                    (s[1:] * w) @ s[1:].T for s, w in ((sums, sums[0]), (expected, a))
                )
                error = m * atol * np.abs(expected).max()
                assert_allclose(moments, right, rtol=1e-9, atol=error)
                assert_allclose(sums[0].sum(), a.sum(), rtol=1e-9)
                continue
            if i == 0 or not keep_order:
                # Sums may come in another order: their totals stay with the weights,
                # and sorting moves no number further from its counterpart.
                assert_allclose(sums @ sums[0], expected @ a, rtol=1e-12, atol=m * atol)
                sums, expected = np.sort(sums), np.sort(expected)
            assert_allclose(sums, expected, rtol=0, atol=atol)


# Products of centred matrices, with the table of leaves that need no pairs.


@pytest.mark.parametrize("y", COLLECTIONS)
@pytest.mark.parametrize("x", COLLECTIONS)
@few_examples
@given(data=st.data())
def test_products_of_centred_matrices_are_those_of_the_dense_ones(x, y, data):
    n, dtype, way_there = surroundings(data, x, y)
    # Few rows have no offsets that make all sums zero without the diagonal.
    diagonal = n < 40 or data.draw(st.booleans())
    w, terms = data.draw(row_weights(n)), UNIFORM
    if w is not None:
        w = w / w.sum()
        terms = PairWeights(w, [(1.0, w), (-0.5, w**2)])
    v = filled(w, n)
    left = v.sum() - (0 if diagonal else 2 * v)

    def offsets(sums):
        """Return offsets f that make all weighted sums of K_ij - f_i - f_j zero."""
        share = v / left
        middle = sums @ share / (1 + share.sum())
        return (sums - middle[:, np.newaxis]) / left

    with way_there:
        K, L = (kernel_gram(side)(data.draw, n, dtype) for side in (x, y))
        centring = Centring(offsets, diagonal, terms)
        found = centred_products(
            K.gram, L.gram, centring, lambda sums: (sums.sum(axis=1), sums[:, n // 2])
        ).results
    W = np.ones((n, n))
    if w is not None:
        W = np.outer(w, w) - 0.5 * np.outer(w**2, w**2)
    both = []
    for case in (K, L):
        f = offsets(without_diagonal(case.K, diagonal) @ v)
        both.append(case.K - f[:, :, np.newaxis] - f[:, np.newaxis])
    products = np.array([a * b for a, b in product(*both)])
    sums = (without_diagonal(products, diagonal) * W).sum(axis=2)
    # A product of two centred matrices, multiplied out, has 16 terms, each at most the
    # product of the largest entries.
    eps = max(K.eps, L.eps)
    largest = np.outer(*(case.size.max(axis=(1, 2)) for case in (K, L))).ravel()
    atol = 16 * (ENTRY_UNITS + 2 * n) * eps * largest * np.abs(W).sum()
    for part, exact in zip(found, (sums.sum(axis=1), sums[:, n // 2]), strict=True):
        assert np.all(np.abs(part - exact) <= atol), (part - exact, atol)
