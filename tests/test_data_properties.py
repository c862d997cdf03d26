"""Rows, labels and distances of any data, against lists and numpy."""

# SPDX-License-Identifier: BSD-3-Clause

from fractions import Fraction

import brute_force as reference
import numpy as np
import strategies
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist

from skdiscrepancy._data.arrays import encode_labels
from skdiscrepancy._data.distances import Rows
from skdiscrepancy.bandwidths import (
    bandwidth_grid,
    inter_sample_distances,
    kernel_collection,
    median_bandwidth,
)
from skdiscrepancy.kernels import IndicatorKernel, LaplaceKernel, MaternKernel

# Labels that are equal across types (1, 1.0, True), that look alike ("1", b"1"), and
# that are close (2^53, 2^53 + 1, and 2.0^53, which is one of them).
MIXED = [
    *(0, 1, -1, 2**53, 2**53 + 1, 2**63, 2**70),
    *(0.0, -0.0, 1.0, 0.5, 2.0**53, float("inf")),
    *(False, True, "", "1", "a", "ab", b"1", (1, 2), (1, 2.0), Fraction(1, 2)),
]
# Few of each type, so that two arrays have some in common.
TYPES = {
    np.int64: [-1, 0, 1, 2**53, 2**53 + 1, 2**62],
    np.uint64: [0, 1, 2, 2**53 + 1, 2**63, 2**64 - 1],
    np.int8: [-1, 0, 1],
    np.float64: [0.0, -0.0, -1.0, 1.0, 0.1, 2.0**53, 2.0**63, float("inf")],
    np.float32: [0.0, 1.0, 0.1, 2.0**63],
    np.bool_: [False, True],
    np.str_: ["", "0", "1", "1.0", "True", "-1"],
    object: MIXED,
}


@st.composite
def label_arrays(draw, n_columns):
    """Draw rows of labels of one type, the objects among them of any."""
    dtype = draw(st.sampled_from(list(TYPES)))
    n = draw(st.integers(2, 8))
    size = n * n_columns
    labels = draw(st.lists(st.sampled_from(TYPES[dtype]), min_size=size, max_size=size))
    # Element by element: numpy would make arrays of the tuples.
    array = np.empty(size, dtype=object)
    array[:] = labels
    return array.astype(dtype).reshape(n, n_columns)


@st.composite
def label_parts(draw, n_parts):
    n_columns = draw(st.sampled_from([1, 1, 2]))
    return [draw(label_arrays(n_columns)) for _ in range(draw(n_parts))]


def equal_rows(parts):
    """Compare rows label by label, as the objects that they hold."""
    rows = [row for part in parts for row in part.tolist()]
    return np.array([[a == b for b in rows] for a in rows])


@strategies.many_examples
@given(parts=label_parts(st.sampled_from([2, 3, 1])))
def test_codes_are_equal_exactly_for_equal_rows(parts):
    codes = encode_labels(*parts)
    assert_array_equal(np.equal.outer(codes, codes), equal_rows(parts))
    # From 0 on, without gaps.
    assert set(codes.tolist()) == set(range(codes.max() + 1))


@strategies.many_examples
@given(parts=label_parts(st.sampled_from([2, 1])), balanced=st.booleans())
def test_indicator_kernel_is_one_exactly_for_equal_labels(parts, balanced):
    same = equal_rows(parts).astype(float)
    expected = same / same.sum(axis=1) if balanced else same
    if len(parts) == 2:
        n = len(parts[0])
        expected = expected[:n, n:]
    # A share of float32 labels is rounded to their type.
    K = IndicatorKernel(balanced=balanced)(*parts)
    assert_allclose(K, expected, rtol=np.finfo(K.dtype).eps, atol=0)


@strategies.many_examples
@given(data=st.data(), n=st.integers(1, 20))
def test_indicator_of_numbers_is_the_one_of_brute_force(data, n):
    labels = data.draw(strategies.integers_in_columns(n, 2))
    expected = reference.gram(reference.indicator, labels.tolist())
    for dtype in (np.int64, np.float32, object):
        assert_array_equal(IndicatorKernel()(labels.astype(dtype)), expected)


@st.composite
def stacked_rows(draw):
    """Draw parts of different lengths and types, and their numbers together."""
    d, dtype = draw(st.tuples(st.integers(1, 4), strategies.dtypes))
    unit, offset = draw(strategies.powers_of_two), draw(strategies.offsets(dtype))
    parts = []
    for _ in range(draw(st.sampled_from([2, 3, 4, 1]))):
        n = draw(st.integers(1, 12))
        sample = draw(strategies.samples(n, d, unit=unit, offset=offset, dtype=dtype))
        # A part may have more bits than the others.
        parts.append(sample.astype(draw(st.sampled_from([dtype, np.float64]))))
    return parts


@st.composite
def indices(draw, n):
    """Draw a slice, or an index array in any order, of n rows."""
    if draw(st.booleans()):
        start = draw(st.integers(0, n - 1))
        return slice(start, draw(st.integers(start + 1, n)))
    return np.array(draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=30)))


@strategies.many_examples
@given(parts=stacked_rows(), data=st.data())
def test_rows_that_are_taken_are_those_of_the_stacked_parts(parts, data):
    stacked = np.concatenate(parts)
    index = data.draw(indices(len(stacked)))
    rows = Rows(*parts, centred=False)
    assert len(rows) == len(stacked)
    assert rows.n_features == stacked.shape[1]
    block = rows.take(index)
    assert block.dtype == stacked.dtype
    assert_array_equal(block, stacked[index])


@strategies.many_examples
@given(parts=stacked_rows(), data=st.data())
def test_rows_are_taken_without_their_offset(parts, data):
    stacked = np.concatenate(parts)
    index = data.draw(indices(len(stacked)))
    rows = Rows(*parts)
    block = rows.take(index)
    assert block.dtype == stacked.dtype
    # The centre is half a unit at most off the lattice: nothing rounds.
    centre = np.median(stacked.astype(np.float64), axis=0)
    assert_array_equal(rows.centre, centre)
    assert_array_equal(block.astype(np.float64), stacked[index] - centre)


@st.composite
def distance_samples(draw):
    """Draw up to 300 rows: above 256, quantiles of one column are bounded first."""
    n = draw(st.integers(1, 40) | st.integers(255, 300))
    d, dtype = draw(st.tuples(st.sampled_from([1, 1, 2, 5, 17]), strategies.dtypes))
    return draw(
        strategies.samples(
            n,
            d,
            unit=draw(strategies.powers_of_two),
            offset=draw(strategies.offsets(dtype)),
            dtype=dtype,
        )
    )


norms = st.sampled_from([1, 2, 3, np.inf])


def nonzero_distances(X, p):
    X = X.astype(np.float64)
    if len(X) < 2:
        return np.ones(1)
    metric = {"metric": "chebyshev"} if p == np.inf else {"metric": "minkowski", "p": p}
    # Less the first row, without rounding: powers of large numbers would.
    distances = pdist(X - X[0], **metric)
    distances = distances[distances > 0]
    # Rows that are all equal have the bandwidth one.
    return distances if distances.size else np.ones(1)


# A sum of 17 powers, a root, and two numbers that are interpolated: all errors are
# relative, since nothing is subtracted but smaller distances from larger ones.
RTOL = 32 * np.finfo(np.float64).eps


@given(X=distance_samples(), p=norms, n_bandwidths=st.integers(1, 7))
def test_bandwidths_are_quantiles_of_the_distances(X, p, n_bandwidths):
    distances = nonzero_distances(X, p)
    found = inter_sample_distances(X, p=p)
    if found.size:
        assert_allclose(np.sort(found), np.sort(distances), rtol=RTOL)
    median = np.quantile(distances, 0.5)
    assert_allclose(median_bandwidth(X, p=p), median, rtol=RTOL)
    assert type(median_bandwidth(X, p=p)) is float
    ends = np.quantile(distances, [0.05, 0.95])
    grid = np.linspace(*ends, n_bandwidths)
    assert_allclose(bandwidth_grid(X, p=p, n_bandwidths=n_bandwidths), grid, rtol=RTOL)
    # A collection takes the sorted values of one column instead.
    kernel = MaternKernel(nu=0.5, p=p)
    for rule, expected in [("median", [median]), ("grid", grid)]:
        kernels = kernel_collection(
            X, kernel=kernel, bandwidth=rule, n_bandwidths=n_bandwidths
        )
        assert_allclose([k.bandwidth for k in kernels], expected, rtol=RTOL)


@given(X=distance_samples())
def test_medians_of_columns_are_those_of_their_distances(X):
    X = X.astype(np.float64)
    expected = [np.median(nonzero_distances(X[:, [j]], 1)) for j in range(X.shape[1])]
    found = [median_bandwidth(X[:, [j]]) for j in range(X.shape[1])]
    assert_allclose(found, expected, rtol=RTOL)
    collection = kernel_collection(X[:, :1], kernel=LaplaceKernel(), bandwidth="median")
    assert_allclose(collection[0].bandwidth, expected[0], rtol=RTOL)
