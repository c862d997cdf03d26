"""Sequential tests: wealth by hand, fair bets, calls, tables and errors."""

# SPDX-License-Identifier: BSD-3-Clause

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.mixture import GaussianMixture

from skdiscrepancy import SequentialHSICTest, SequentialKSDTest, SequentialMMDTest
from skdiscrepancy.kernels import FeatureKernel, IndicatorKernel
from skdiscrepancy.plotting import MonitorDisplay

WARMUP = 4
LINEAR = {"kernel": "linear", "n_warmup": WARMUP, "random_state": 0}
FEW = {"n_warmup": 6, "n_components": 8, "n_bandwidths": 2, "random_state": 0}


def draw(n, d=2, seed=0):
    return np.random.RandomState(seed).normal(size=(n, d))


def data(n=30, d=2, shift=0.5):
    """Return each test with samples of n rows."""
    X, Y = draw(n, d), draw(n, d, 1) + shift
    return {
        "mmd": (SequentialMMDTest(**FEW), (X, Y)),
        "hsic": (SequentialHSICTest(**FEW), (X, X[:, 0] + draw(n, 1, 2)[:, 0])),
        "ksd": (SequentialKSDTest(stats.norm(), **FEW), (X[:, :1] + shift,)),
    }


TESTS = sorted(data())


def wealth_by_hand(changes, news, n_first):
    """Return the wealth after each change, from lists of numbers.

    Bets begin after `n_first` changes, with one witness.
    """
    wealths, found, payoffs = [1.0, 1.0, 1.0], [], []
    witness = [0.0] * len(changes[0])
    for i, (change, new) in enumerate(zip(changes, news, strict=True)):
        norm = sum(w * w for w in witness) ** 0.5
        product = sum(w * c for w, c in zip(witness, change, strict=True))
        payoff = product / norm if norm else 0.0
        if i >= n_first:
            mean = sum(p * p for p in payoffs) / i
            share = payoff / (3 * (mean * (1 + 100 / i)) ** 0.5) if mean else 0.0
            share = max(-1.0, min(1.0, share))
            wealths = [
                w * (1 + f * share)
                for w, f in zip(wealths, (0.3, 0.6, 0.9), strict=True)
            ]
            found.append(sum(wealths) / 3)
        payoffs.append(payoff)
        witness = [w + x for w, x in zip(witness, new, strict=True)]
    return found


def histories(test, *samples):
    """Return the wealth after each row."""
    test.update(*samples)
    return test._columns()["wealth"]


def test_wealth_of_two_samples_agrees_with_lists_of_numbers():
    X, Y = draw(25), draw(25, seed=1) + 1
    found = histories(SequentialMMDTest(**LINEAR), X, Y)
    changes = (X - Y).tolist()
    assert_allclose(found[:WARMUP], 1)
    assert_allclose(found[WARMUP:], wealth_by_hand(changes, changes, WARMUP))


def test_wealth_of_dependence_agrees_with_lists_of_numbers():
    X = draw(26)
    y = X[:, 0] + draw(26, 1, 1)[:, 0]
    test = SequentialHSICTest(**LINEAR, target_kernel="linear")
    found = histories(test, X, y)
    changes = []
    for i in range(0, 26, 2):
        slope = y[i] - y[i + 1]
        changes.append([(a - b) * slope for a, b in zip(X[i], X[i + 1], strict=True)])
    expected = wealth_by_hand(changes, changes, WARMUP // 2)
    assert_allclose(found[WARMUP + 1 :: 2], expected)
    # The first row of a pair changes nothing.
    assert_array_equal(found[WARMUP::2], np.append(1, found[WARMUP + 1 : -1 : 2]))


def test_a_warm_up_of_odd_length_leaves_out_its_last_row():
    X = draw(25)
    y = X[:, 0] + draw(25, 1, 1)[:, 0]
    how = {**LINEAR, "n_warmup": 5, "target_kernel": "linear"}
    found = histories(SequentialHSICTest(**how), X, y)
    changes = []
    for i in (0, 2, *range(5, 25, 2)):
        slope = y[i] - y[i + 1]
        changes.append([(a - b) * slope for a, b in zip(X[i], X[i + 1], strict=True)])
    assert_allclose(found[6::2], wealth_by_hand(changes, changes, 2))


def test_wealth_of_a_model_agrees_with_stein_features_by_hand():
    X, scale = draw(20, 1) + 0.5, 2.0
    test = SequentialKSDTest(
        stats.norm(0, scale), kernel="gaussian", bandwidth=1.5, n_warmup=WARMUP,
        n_components=4, random_state=0,
    )  # fmt: skip
    found = histories(test, X)
    [part] = test._maps.parts[0]
    frequencies = (part.spectrum.factor * part.spectrum.base).ravel()

    def features(x):
        values = []
        for w in frequencies:
            # (s(x) + i w) exp(i w x), relative to the centre of the rows.
            value = (-x / scale**2 + 1j * w) * np.exp(
                1j * w * (x - test._maps.centre[0])
            )
            values += [value.real, value.imag]
        return values

    rows = [features(x) for x in X[:, 0]]
    drawn = [features(test._draw(i, X[i])[0]) for i in range(20)]
    changes = [
        [a - b for a, b in zip(*p, strict=True)] for p in zip(rows, drawn, strict=True)
    ]
    assert_allclose(found[WARMUP:], wealth_by_hand(changes, rows, WARMUP), rtol=1e-6)


def swaps(n):
    return itertools.product([False, True], repeat=n)


def test_mean_wealth_over_all_exchanges_of_pairs_is_one():
    X, Y = draw(14), draw(14, seed=1) + 2
    start, found = SequentialMMDTest(**FEW), []
    start.update(X[:6], Y[:6])
    for swap in swaps(8):
        mask = np.array(swap)[:, np.newaxis]
        x, y = np.where(mask, Y[6:], X[6:]), np.where(mask, X[6:], Y[6:])
        found.append(histories(copy.deepcopy(start), x, y)[6:])
    assert np.std(np.array(found)[:, -1]) > 0.01
    assert_allclose(np.mean(found, axis=0), 1)
    assert np.min(found) > 0


def test_mean_wealth_over_all_exchanges_of_targets_is_one():
    X = draw(20)
    y = 3 * X[:, 0]
    start, found = SequentialHSICTest(**FEW), []
    start.update(X[:6], y[:6])
    for swap in swaps(7):
        pairs = y[6:].reshape(-1, 2).copy()
        mask = np.array(swap)
        pairs[mask] = pairs[mask, ::-1]
        found.append(histories(copy.deepcopy(start), X[6:], pairs.ravel())[6:])
    assert np.std(np.array(found)[:, -1]) > 0.01
    assert_allclose(np.mean(found, axis=0), 1)


def test_mean_wealth_over_all_exchanges_with_draws_is_one(monkeypatch):
    X, Z = draw(13, 1) + 1, draw(13, 1, 1)
    start, found = SequentialKSDTest(stats.norm(), **FEW), []
    start.update(X[:6])
    for swap in swaps(7):
        test, mask = copy.deepcopy(start), np.append([False] * 6, swap)[:, np.newaxis]
        drawn = np.where(mask, X, Z)
        monkeypatch.setattr(test, "_draw", lambda i, like, drawn=drawn: drawn[i])
        found.append(histories(test, np.where(mask, Z, X)[6:])[6:])
    assert np.std(np.array(found)[:, -1]) > 0.01
    assert_allclose(np.mean(found, axis=0), 1)


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("sizes", [[1] * 30, [3, 3, 1, 23], [6, 24], [29, 1]])
def test_result_does_not_depend_on_the_division_into_calls(name, sizes):
    test, samples = data()[name]
    rejected = test.update(*samples)
    other, parts = clone(test), []
    for start, stop in itertools.pairwise(np.cumsum([0, *sizes])):
        parts.append(other.update(*(Z[start:stop] for Z in samples)))
    assert_array_equal(np.concatenate(parts), rejected)
    for column, values in test._columns().items():
        assert_array_equal(other._columns()[column], values)


@pytest.mark.parametrize("name", TESTS)
def test_pvalue_is_the_inverse_of_the_largest_wealth(name):
    test, samples = data(60, shift=1)[name]
    rejected = test.set_params(level=0.3).update(*samples)
    frame = test.to_frame()
    largest = np.maximum.accumulate(np.maximum(frame["wealth"], 1))
    assert_allclose(frame["pvalue"], 1 / largest)
    assert_array_equal(frame["rejected"], rejected)
    assert_array_equal(rejected, frame["pvalue"] <= 0.3)
    assert rejected[-1] == test.rejected_
    assert (test.wealth_, test.pvalue_) == tuple(frame[["wealth", "pvalue"]].iloc[-1])
    assert_array_equal(frame["position"], np.arange(60))
    assert test.n_seen_ == 60


@pytest.mark.parametrize("name", TESTS)
def test_a_stored_test_continues_with_the_same_numbers(name):
    test, samples = data()[name]
    for stop in (3, 17):
        test.reset().update(*(Z[:stop] for Z in samples))
        stored = pickle.loads(pickle.dumps(test))
        for one in (test, stored):
            one.update(*(Z[stop:] for Z in samples))
        assert stored.wealth_ == test.wealth_ != 1


@pytest.mark.parametrize("name", TESTS)
def test_reset_begins_again_and_seeds_make_numbers_repeatable(name):
    test, samples = data()[name]
    first = histories(test, *samples)
    assert_array_equal(histories(test.reset(), *samples), first)
    other = clone(test).set_params(random_state=1)
    assert np.any(histories(other, *samples) != first)


@pytest.mark.parametrize("name", TESTS)
def test_refused_row_changes_nothing(name):
    test, samples = data()[name]
    expected = histories(clone(test), *samples)
    for stop in (0, 3, 11):
        if stop:
            test.update(*(Z[test.n_seen_ : stop] for Z in samples))
        bad = [Z[stop : stop + 2].copy() for Z in samples]
        bad[0][1, 0] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            test.update(*bad)
        assert getattr(test, "n_seen_", 0) == stop
    test.update(*(Z[11:] for Z in samples))
    assert_array_equal(test._columns()["wealth"], expected)


@pytest.mark.parametrize("name", TESTS)
def test_long_streams_without_an_effect_lose_all_wealth(name):
    test, samples = data()[name]
    test.update(*samples)
    pvalue = test.pvalue_
    # As after some 100 000 rows.
    test._bets.log_wealths = test._bets.log_wealths - 800
    test.update(*samples)
    assert 0 <= test.wealth_ < 1e-300
    assert test.pvalue_ == pvalue


def test_constant_rows_never_win_a_bet():
    ones = np.ones((20, 2))
    test = SequentialMMDTest(**FEW)
    assert_array_equal(histories(test, ones, ones), 1)
    test = SequentialHSICTest(**FEW)
    assert_array_equal(histories(test, draw(20), np.ones(20)), 1)


def test_three_rows_are_a_warm_up():
    for test, samples in data(3).values():
        assert not test.update(*samples).any()
        assert (test.wealth_, test.pvalue_, test.n_seen_) == (1, 1, 3)
        assert not hasattr(test, "kernels_")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_tables_with_categories_and_missing_values(make):
    rng = np.random.RandomState(0)
    columns = {
        "number": [
            None if i % 7 == 3 else float(v) for i, v in enumerate(draw(80, 1)[:, 0])
        ],
        "category": list(rng.choice(["a", "b", None], 80)),
    }
    # A category that the warm-up has not seen.
    other = {**columns, "category": ["a"] * 10 + ["new"] * 70}
    test = SequentialMMDTest(random_state=0, n_warmup=10)
    rejected = test.update(make(columns), make(other))
    assert rejected[-1]
    assert list(test.feature_names_in_) == ["number", "category"]
    other_test = clone(test)
    for i in range(0, 80, 9):
        part = [make(table)[i : i + 9] for table in (columns, other)]
        other_test.update(*part)
    assert other_test.wealth_ == test.wealth_


def test_labels_of_any_type_are_targets():
    X = draw(120)
    y = np.where(X[:, 0] > 0, "yes", "no")
    test = SequentialHSICTest(random_state=0)
    assert test.update(X, y)[-1]
    assert isinstance(test.target_kernels_[0], IndicatorKernel)
    # Later labels are one more label.
    test.update(X[:10], np.array(["perhaps"] * 10))
    again = SequentialHSICTest(random_state=0).update(
        pd.DataFrame(X).to_numpy(), list(y)
    )
    assert again[-1]


def test_labels_are_compared_as_the_indicator_kernel_says():
    # Each column has the same distribution, but no row of X is a row of Y.
    X = np.tile([[0, 0], [1, 1]], (60, 1))
    Y = np.column_stack((X[:, 0], 1 - X[:, 1]))
    order = np.random.RandomState(0).permutation(120)
    test = SequentialMMDTest(kernel="indicator", random_state=0)
    assert test.update(X[order], Y)[-1]


def test_sparse_rows_have_the_wealth_of_dense_rows():
    X, Y = (Z * (Z > 0) for Z in data()["mmd"][1])
    test = SequentialMMDTest(**FEW, kernel="gaussian", bandwidth=1.0)
    dense = histories(clone(test), X, Y)
    assert_allclose(histories(test, csr_array(X), csr_array(Y)), dense)


def test_mixture_is_drawn_from_in_random_order():
    rng = np.random.RandomState(0)
    model = GaussianMixture(2, random_state=0)
    model.fit(
        np.concatenate((rng.normal(-9, size=(50, 1)), rng.normal(9, size=(50, 1))))
    )
    test = SequentialKSDTest(model, **FEW)
    test.update(rng.normal(size=(10, 1)))
    drawn = np.array([test._draw(i, np.zeros(1))[0] for i in range(64)])
    # Sorted components have one change of sign; 64 fair signs have fewer than 12
    # changes with a probability of 2e-7.
    assert np.count_nonzero(np.diff(np.sign(drawn))) >= 12


@pytest.mark.parametrize(
    "draws",
    [lambda rng, n: rng.randint(3, size=(n, 1)) * 1.0,
     lambda rng, n: rng.standard_cauchy((n, 1))],
    ids=["ties", "Cauchy"],
)  # fmt: skip
def test_true_null_hypothesis_is_seldom_rejected(draws):
    # At most 5 % of all streams reject in truth. More than 12 of 100 streams do so with
    # a probability below 0.0015 if it is 5 %, and streams are short.
    rejected = 0
    for seed in range(100):
        rng = np.random.RandomState(seed)
        test = SequentialMMDTest(kernel="gaussian", **FEW)
        rejected += test.update(draws(rng, 60), draws(rng, 60))[-1]
    assert rejected <= 12


def test_display_marks_the_first_rejection():
    test, samples = data(200, shift=1)["mmd"]
    rejected = test.update(*samples)
    display = test.plot()
    assert isinstance(display, MonitorDisplay)
    assert display.ax_.get_yscale() == "log"
    assert_array_equal(display.alarms_.get_xdata(), [rejected.argmax()])
    assert_allclose(display.threshold_line_.get_ydata(), 20)


def test_no_rejection_is_marked_if_the_first_one_is_forgotten(monkeypatch):
    monkeypatch.setattr("skdiscrepancy.monitoring._sequential.HISTORY", 50)
    test, samples = data(200, shift=1)["mmd"]
    assert test.update(*samples)[140]
    assert test.plot().alarms_ is None
    assert test.to_frame()["position"].tolist() == [*range(150, 200)]


@pytest.mark.parametrize(
    ("params", "error", "match"),
    [
        ({"level": 0}, ValueError, "level == 0, must be a finite number > 0 and <= 1"),
        ({"level": "5%"}, TypeError, "level == '5%'"),
        ({"n_warmup": 3}, ValueError, "n_warmup == 3, must be an integer >= 4"),
        ({"n_components": None}, TypeError, "n_components == None"),
        ({"n_components": 2000}, ValueError, "from 1 to 1024"),
        ({"kernel": "energy"}, ValueError, "must have random features"),
        ({"kernel": "gausian"}, ValueError, "gaussian"),
        ({"kernel": IndicatorKernel(balanced=True)}, ValueError, "balanced"),
        ({"kernel": FeatureKernel}, TypeError, "kernel"),
        ({"bandwidth": -1}, ValueError, "bandwidth"),
        ({"encoder": 3}, TypeError, "encoder == 3"),
        ({"random_state": -1}, ValueError, "random_state == -1"),
    ],
)
def test_bad_parameters_are_refused(params, error, match):
    with pytest.raises(error, match=match):
        SequentialMMDTest(**params).update(draw(30), draw(30, seed=1))


@pytest.mark.parametrize(
    ("X", "Y", "match"),
    [
        (draw(3), draw(4), "X has 3 rows and Y has 4 rows, must have the same number"),
        (draw(3)[:0], draw(3)[:0], "at least 1"),
        (draw(3), draw(3, 3), "features"),
        (np.array([["a"], ["b"]]), np.array([["a"], ["b"]]), "numbers|string|text"),
        ([draw(3), draw(3)], draw(6), "list of blocks"),
    ],
)
def test_bad_rows_are_refused(X, Y, match):
    with pytest.raises((TypeError, ValueError), match=match):
        SequentialMMDTest(encoder=None).update(X, Y)


def test_other_columns_are_refused_after_the_warm_up():
    test, (X, Y) = data()["mmd"]
    test.update(X, Y)
    with pytest.raises(ValueError, match="X is data with 3 columns, must be data with"):
        test.update(draw(2, 3), draw(2, 3))


def test_first_rows_say_which_columns_there_are():
    test = SequentialMMDTest(**FEW)
    test.update([[1.0, 2.0]], [[2.0, 1.0]])
    # Lists are arrays.
    test.update(draw(2), draw(2))
    table = pd.DataFrame(draw(2), columns=["a", "b"])
    for other in (draw(1, 3), table):
        with pytest.raises(ValueError, match="must be data with 2 columns"):
            test.update(other, other)
    assert test.n_seen_ == 3


def test_one_row_is_not_mistaken_for_a_column():
    row = pd.DataFrame(draw(1), columns=["a", "b"]).iloc[0]
    for one in (row, row.to_numpy(), row.tolist()):
        with pytest.raises(ValueError, match=r"For one row, pass X.reshape\(1, -1\)"):
            SequentialMMDTest(**FEW).update(one, one)
    assert SequentialKSDTest(stats.norm(), **FEW).update(draw(30)[:, 0]).shape == (30,)


def test_counts_are_numbers_and_codes_are_labels():
    # Of 20 counts around 50, some are equal.
    y = np.random.RandomState(0).poisson(50, size=30)
    test = SequentialHSICTest(**FEW | {"n_warmup": 20})
    test.update(draw(30), y)
    assert len(set(y[:20])) < 20
    assert not any(isinstance(k, IndicatorKernel) for k in test.target_kernels_)
    test.reset().update(draw(30), y % 3)
    assert [type(k) for k in test.target_kernels_] == [IndicatorKernel]


def test_copies_have_histories_of_their_own():
    test, samples = data(60)["mmd"]
    test.update(*samples)
    other = copy.copy(test)
    test.update(*samples)
    assert len(other.to_frame()) == other.n_seen_ == 60
    assert other.to_frame()["wealth"].iloc[-1] == other.wealth_


def test_parameters_do_not_change_in_the_middle():
    test, samples = data()["mmd"]
    test.update(*samples)
    for change in ({"level": 0.5}, {"n_components": 16}):
        known = test.get_params()
        test.set_params(**change)
        with pytest.raises(ValueError, match=r"since `reset`. Call `reset` again"):
            test.update(*samples)
        test.set_params(**known)
    test.n_components = 16
    assert test.reset().update(*samples).shape == (30,)


@pytest.mark.parametrize(
    "model",
    [None, lambda X: -X, GaussianMixture(), -draw(5)],
    ids=["None", "function", "unfitted", "gradients"],
)
def test_models_that_cannot_be_sampled_are_refused(model):
    with pytest.raises(
        TypeError, match="must be a fitted model with a method `sample`"
    ):
        SequentialKSDTest(model).update(draw(5))
