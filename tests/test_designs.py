"""Designs against the sets of pairs of the paper, written out from its definitions."""

# SPDX-License-Identifier: BSD-3-Clause

import tracemalloc
from collections import Counter
from itertools import chain, combinations, pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import chi2
from sklearn.base import clone

from skdiscrepancy import MMDEstimator
from skdiscrepancy.designs import (
    Blocks,
    CompleteU,
    CompleteV,
    Cross,
    Design,
    Linear,
    RandomPairs,
    Subdiagonals,
    check_design,
)


def one_to(n):
    return range(1, n + 1)


def paper_v(n):
    return {(i, j) for i in one_to(n) for j in one_to(n)}


def paper_u(n):
    return {(i, j) for i in one_to(n) for j in one_to(n) if i != j}


def paper_l(n):
    return {(2 * i - 1, 2 * i) for i in one_to(n // 2)}


def paper_d(n, r):
    return {(i, i + j) for j in one_to(r) for i in one_to(n - j)}


def paper_b(sizes):
    ends = [sum(sizes[:s]) for s in range(len(sizes) + 1)]
    return {
        (i, j)
        for start, stop in pairwise(ends)
        for i in range(1 + start, stop + 1)
        for j in range(1 + start, stop + 1)
        if i != j
    }


def paper_x(n, n_1):
    return {(i, j) for i in one_to(n_1) for j in range(n_1 + 1, n + 1)}


def root(n):
    """Largest integer whose square is at most n."""
    return max(r for r in one_to(n) if r * r <= n)


def equal_blocks(n, b):
    """Equal blocks of floor(n / b), then the rest if it has two rows or more."""
    rest = n - b * (n // b)
    return [n // b] * b + [rest] * (rest >= 2)


# Each design with the paper's set for n samples, and the least n it is made for.
FIXED = [
    pytest.param(CompleteV(), paper_v, 1, id="v"),
    pytest.param(CompleteU(), paper_u, 2, id="u"),
    pytest.param(Linear(), paper_l, 2, id="l"),
    pytest.param(Subdiagonals(), lambda n: paper_d(n, root(n)), 2, id="d-sqrt"),
    *(
        pytest.param(
            Subdiagonals(n_subdiagonals=r),
            lambda n, r=r: paper_d(n, r),
            r + 1,
            id=f"d-{r}",
        )
        for r in (1, 2, 5)
    ),
    pytest.param(Blocks(), lambda n: paper_b(equal_blocks(n, root(n))), 2, id="b-sqrt"),
    *(
        pytest.param(
            Blocks(n_blocks=b),
            lambda n, b=b: paper_b(equal_blocks(n, b)),
            2 * b,
            id=f"b-{b}",
        )
        for b in (1, 2, 3)
    ),
    pytest.param(
        Blocks(block_sizes=(2, 3)), lambda n: paper_b([2, 3]), 5, id="b-sizes"
    ),
    pytest.param(Cross(), lambda n: paper_x(n, n // 2), 2, id="x-half"),
    pytest.param(Cross(n_first=3), lambda n: paper_x(n, 3), 4, id="x-3"),
]
RANDOM = [
    pytest.param(RandomPairs(), id="r-sqrt"),
    pytest.param(RandomPairs(n_pairs=3), id="r-3"),
    pytest.param(RandomPairs(n_pairs=60), id="r-60"),
    pytest.param(RandomPairs(n_pairs=40, replace=True), id="r-40-replaced"),
]
fixed_designs = pytest.mark.parametrize(("design", "paper", "least"), FIXED)
all_designs = pytest.mark.parametrize(
    "design", [*(pytest.param(p.values[0], id=p.id) for p in FIXED), *RANDOM]
)


def zero_based(pairs):
    return sorted((i - 1, j - 1) for i, j in pairs)


def listed(pairs):
    rows, cols = pairs
    return list(zip(rows.tolist(), cols.tolist(), strict=True))


def upper_triangle(n):
    return list(combinations(range(n), 2))


@fixed_designs
def test_pairs_are_the_set_of_the_paper(design, paper, least):
    for n in range(max(least, 2), 13):
        assert sorted(listed(design.pairs(n))) == zero_based(paper(n))
        assert design.size(n) == len(paper(n))


@pytest.mark.parametrize(
    ("design", "size"),
    [
        (CompleteV(), 1001**2),
        (CompleteU(), 1001 * 1000),
        (Linear(), 500),
        (Subdiagonals(), 31 * 1001 - 31 * 32 // 2),
        (Blocks(), 31 * 32 * 31 + 9 * 8),
        (Cross(), 500 * 501),
        (RandomPairs(), 1001 * 31),
        (RandomPairs(n_pairs=77), 77),
        (RandomPairs(n_pairs=10**6, replace=True), 10**6),
    ],
    ids=repr,
)
def test_size_is_the_closed_form_and_that_of_the_pairs(design, size):
    assert design.size(1001) == size
    assert len(design.pairs(1001)[0]) == len(design.pairs(1001)[1]) == size


@pytest.mark.parametrize(
    ("n", "n_blocks", "sizes"),
    [
        (10, "sqrt", [3, 3, 3]),  # one row over: in no pair
        (11, "sqrt", [3, 3, 3, 2]),
        (16, "sqrt", [4, 4, 4, 4]),
        (23, "sqrt", [5, 5, 5, 5, 3]),
        (2, "sqrt", [2]),
        (3, "sqrt", [3]),
        (5, 2, [2, 2]),
        (8, 3, [2, 2, 2, 2]),
        (11, 4, [2, 2, 2, 2, 3]),
    ],
)
def test_rest_of_the_blocks_is_a_block_if_it_has_a_pair(n, n_blocks, sizes):
    pairs = Blocks(n_blocks=n_blocks).pairs(n)
    assert sorted(listed(pairs)) == zero_based(paper_b(sizes))


# Row and column of each entry of the matrices that the paper draws.
ROW, COL = np.indices((10, 10))


def same_block(*sizes):
    """Entries off the diagonal whose row and column are in one block."""
    block = np.append(np.repeat(np.arange(len(sizes)), sizes), [-1] * (10 - sum(sizes)))
    return (block[ROW] == block[COL]) & (block[ROW] >= 0) & (ROW != COL)


@pytest.mark.parametrize(
    ("design", "blue"),
    [
        pytest.param(CompleteV(), ROW >= 0, id="v"),
        pytest.param(CompleteU(), ROW != COL, id="u"),
        pytest.param(Linear(), (ROW // 2 == COL // 2) & (ROW != COL), id="l"),
        *(
            pytest.param(
                Subdiagonals(n_subdiagonals=r),
                (ROW != COL) & (abs(ROW - COL) <= r),
                id=f"d-{r}",
            )
            for r in (1, 2, 3)
        ),
        pytest.param(Blocks(n_blocks=2), same_block(5, 5), id="b-2"),
        *(
            pytest.param(Blocks(block_sizes=sizes), same_block(*sizes), id=f"b-{sizes}")
            for sizes in [(5, 5), (3, 5), (4, 4, 2)]
        ),
        *(
            pytest.param(Cross(n_first=n), (n > ROW) != (n > COL), id=f"x-{n}")
            for n in (5, 3, 8)
        ),
    ],
)
def test_mask_is_the_figure_of_the_paper(design, blue):
    mask = design.mask(10)
    assert_array_equal(mask, blue)
    assert mask.dtype == np.int64


def assert_shares(counts, shares):
    """Pearson's test, which a correct program fails for one seed in a million."""
    total = sum(counts.values())
    assert set(counts) <= set(shares)
    statistic = sum(
        (counts[key] - total * share) ** 2 / (total * share)
        for key, share in shares.items()
    )
    assert statistic < chi2.isf(1e-6, len(shares) - 1)


class TestRandomPairs:
    @pytest.mark.parametrize("n_pairs", [1, 2, 3, 4, 5])
    def test_every_subset_of_the_pairs_is_equally_likely(self, n_pairs):
        # More than half of the 6 pairs are drawn by another road than fewer.
        generator, n_draws = np.random.RandomState(0), 2000
        design = RandomPairs(n_pairs=n_pairs)
        counts = Counter(
            tuple(listed(design.pairs(4, random_state=generator)))
            for _ in range(n_draws)
        )
        subsets = list(combinations(upper_triangle(4), n_pairs))
        assert_shares(counts, dict.fromkeys(subsets, 1 / len(subsets)))

    @pytest.mark.parametrize("n_pairs", [30, 150])
    def test_every_pair_is_as_likely_among_many(self, n_pairs):
        n, n_draws, n_all = 20, 500, 190
        generator, design = np.random.RandomState(1), RandomPairs(n_pairs=n_pairs)
        counts = sum(design.mask(n, random_state=generator) for _ in range(n_draws))
        counts = counts[np.triu_indices(n, 1)]
        share = n_pairs / n_all
        # A draw without replacement has the covariance of share (1 - share) times
        # (I - 11'/N) N / (N - 1): scaled so, the sum is chi-square with N - 1 degrees,
        # and the bound is exceeded for one seed in a million.
        squares = np.sum((counts - n_draws * share) ** 2)
        statistic = squares / (n_draws * share * (1 - share)) * (n_all - 1) / n_all
        assert statistic < chi2.isf(1e-6, n_all - 1)

    def test_draws_with_replacement_are_independent_and_uniform(self):
        # Far more draws than there are pairs.
        design = RandomPairs(n_pairs=30_000, replace=True)
        counts = Counter(listed(design.pairs(6, random_state=0)))
        assert_shares(counts, dict.fromkeys(upper_triangle(6), 1 / 15))
        # Two draws from 3 pairs: 1/9 for the same one twice, 2/9 for two others.
        design = RandomPairs(n_pairs=2, replace=True)
        generator = np.random.RandomState(1)
        counts = Counter(
            tuple(sorted(listed(design.pairs(3, random_state=generator))))
            for _ in range(2000)
        )
        twice = {(pair, pair): 1 / 9 for pair in upper_triangle(3)}
        other = dict.fromkeys(combinations(upper_triangle(3), 2), 2 / 9)
        assert_shares(counts, twice | other)

    def test_sqrt_is_n_times_the_root_but_not_more_than_all(self):
        for n in range(2, 30):
            assert RandomPairs().size(n) == min(n * root(n), n * (n - 1) // 2)

    def test_a_few_pairs_of_a_million_samples_need_little_memory(self):
        n, n_pairs = 10**6, 10**5
        tracemalloc.start()
        try:
            rows, cols = RandomPairs(n_pairs=n_pairs).pairs(n, random_state=0)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        # Ten integers for each sample and pair; the 5e11 pairs would take 4 TB.
        assert peak < 10 * 8 * (n + n_pairs)
        assert np.all((rows >= 0) & (rows < cols) & (cols < n))
        assert np.unique(rows * n + cols).size == n_pairs
        # i + j is a sum of two distinct numbers below n: mean n - 1, variance less than
        # n^2 / 6. Five standard errors: one seed in a million fails.
        assert abs(np.mean(rows + cols) - (n - 1)) < 5 * n / np.sqrt(6 * n_pairs)

    @pytest.mark.parametrize("replace", [False, True])
    def test_random_state_rules_the_pairs(self, replace):
        design = RandomPairs(n_pairs=40, replace=replace)

        def draw(random_state):
            return listed(design.pairs(50, random_state=random_state))

        assert draw(3) == draw(3) == draw(np.random.RandomState(3))
        assert draw(3) != draw(4)
        # An instance goes on: the second draw is another one.
        generator = np.random.RandomState(3)
        first, second = draw(generator), draw(generator)
        assert first == draw(3)
        assert first != second

    @pytest.mark.parametrize("replace", [False, True])
    def test_none_is_fresh_chance_that_leaves_the_global_state_alone(self, replace):
        design = RandomPairs(n_pairs=40, replace=replace)
        draws = []
        for _ in range(2):
            np.random.seed(0)
            before = np.random.get_state()
            draws.append(listed(design.pairs(50)))
            after = np.random.get_state()
            assert before[2:] == after[2:]
            assert_array_equal(before[1], after[1])
        # Equal by chance once in more than 1e70 runs.
        assert draws[0] != draws[1]


class Ring(Design):
    """Neighbours on a ring, in no order of the rows."""

    def pairs(self, n, random_state=None):
        rows = np.arange(n)[::-1]
        return rows, (rows + 1) % n


def test_a_design_of_ones_own_needs_only_pairs():
    ring, n = Ring(), 7
    expected = sorted((i, (i + 1) % n) for i in range(n))
    assert ring.size(n) == n
    for max_pairs in (1, 3, 100):
        chunks = [listed(chunk) for chunk in ring.chunks(n, max_pairs)]
        assert list(chain(*chunks)) == expected
        assert all(len(chunk) <= max_pairs for chunk in chunks)
        assert len(chunks) == -(-n // max_pairs)
    neighbours = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    assert_array_equal(ring.mask(n), (neighbours == 1) | (neighbours == n - 1))
    assert ring.regions(n) is None
    assert check_design(ring) is ring


class TestParameters:
    @pytest.mark.parametrize(
        ("name", "cls", "params"),
        [
            ("v", CompleteV, {}),
            ("u", CompleteU, {}),
            ("l", Linear, {}),
            ("d", Subdiagonals, {"n_subdiagonals": "sqrt"}),
            ("b", Blocks, {"n_blocks": "sqrt", "block_sizes": None}),
            ("x", Cross, {"n_first": "half"}),
            ("r", RandomPairs, {"n_pairs": "sqrt", "replace": False}),
        ],
    )
    def test_names_stand_for_designs_with_default_parameters(self, name, cls, params):
        design = check_design(name)
        assert type(design) is cls
        assert design.get_params() == params

    @pytest.mark.parametrize("design", ["z", "U", "", None, 3, CompleteU])
    def test_what_is_no_design_is_refused(self, design):
        with pytest.raises(
            ValueError, match=f"design == {design!r}, must be one of .* design object"
        ):
            check_design(design)

    @all_designs
    def test_parameters_survive_clone_and_repr(self, design):
        for copy in (clone(design), eval(repr(design))):
            assert type(copy) is type(design)
            assert copy.get_params() == design.get_params()

    def test_parameters_are_reached_through_an_estimator(self):
        estimator = MMDEstimator(design=Subdiagonals(n_subdiagonals=3))
        assert estimator.get_params()["design__n_subdiagonals"] == 3
        estimator.set_params(design__n_subdiagonals=2)
        assert estimator.design.size(10) == 9 + 8

    @pytest.mark.parametrize(
        ("design", "least"),
        [
            (CompleteV(), 1),
            (CompleteU(), 2),
            (Linear(), 2),
            (Subdiagonals(), 2),
            (Blocks(), 2),
            (Blocks(block_sizes=(2,)), 2),
            (Cross(), 2),
            (RandomPairs(), 2),
        ],
        ids=repr,
    )
    def test_too_few_samples_are_refused(self, design, least):
        message = f"n_samples == {least - 1}, must be >= {least} for the design"
        for ask in (design.size, design.pairs):
            with pytest.raises(ValueError, match=message):
                ask(least - 1)
        assert design.size(least) >= 1

    @pytest.mark.parametrize(
        ("cls", "name", "keyword", "most"),
        [
            (Subdiagonals, "n_subdiagonals", "sqrt", 9),
            (Blocks, "n_blocks", "sqrt", 5),
            (Cross, "n_first", "half", 9),
            (RandomPairs, "n_pairs", "sqrt", 45),
        ],
    )
    def test_counts_out_of_range_are_named(self, cls, name, keyword, most):
        allowed = f"{keyword!r} or an integer from 1 to {most} for 10 samples"
        for value, error in [
            (0, ValueError),
            (-1, ValueError),
            (most + 1, ValueError),
            ("foo", ValueError),
            (1.5, TypeError),
            (2.0, TypeError),
            (True, TypeError),
            (None, TypeError),
        ]:
            design, message = cls(**{name: value}), f"{name} == {value!r}, must be "
            for ask in (design.size, design.pairs):
                with pytest.raises(error, match=message + allowed):
                    ask(10)
        for value in (1, most, np.int64(most)):
            design = cls(**{name: value})
            assert design.size(10) == len(design.pairs(10)[0])

    def test_replacement_has_no_upper_limit(self):
        assert len(RandomPairs(n_pairs=46, replace=True).pairs(10)[0]) == 46
        with pytest.raises(ValueError, match=r"n_pairs == 0, must be .* >= 1"):
            RandomPairs(n_pairs=0, replace=True).pairs(10)

    def test_replace_that_is_no_bool_is_named(self):
        with pytest.raises(TypeError, match="replace == 'no', must be True or False"):
            RandomPairs(replace="no").size(10)

    @pytest.mark.parametrize(
        "sizes", [(), (1, 5), (5, 6), (2.0, 3), (True, 4), ("a",), (3, None), "foo", 5]
    )
    def test_bad_block_sizes_are_named(self, sizes):
        message = f"block_sizes == {sizes!r}, must be integers of at least 2"
        for ask in (Blocks(block_sizes=sizes).size, Blocks(block_sizes=sizes).pairs):
            with pytest.raises((ValueError, TypeError)) as caught:
                ask(10)
            assert message in str(caught.value)

    @pytest.mark.parametrize("kind", [tuple, list, np.array])
    def test_block_sizes_come_in_any_sequence(self, kind):
        pairs = Blocks(block_sizes=kind([4, 4, 2])).pairs(11)
        assert sorted(listed(pairs)) == zero_based(paper_b([4, 4, 2]))


@pytest.mark.parametrize(
    ("rows", "cols"), [([], []), ([0], [5]), ([-1], [2]), ([0, 1], [1]), ([[0]], [[1]])]
)
def test_pairs_of_ones_own_design_are_checked(rows, cols):
    class Own(Design):
        def pairs(self, n, random_state=None):
            return np.array(rows, dtype=int), np.array(cols, dtype=int)

    with pytest.raises(
        ValueError, match=r"Own\(\) must give one or more pairs .* 0 to 4"
    ):
        list(Own().chunks(5, 10))


def test_mask_takes_pairs_that_come_as_one_array():
    class OnePair(Design):
        def pairs(self, n, random_state=None):
            return np.array([[0], [1]])

    assert_array_equal(OnePair().mask(3), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
