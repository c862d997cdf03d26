"""What is called: bandwidths, designs, pooling and displays."""

# SPDX-License-Identifier: BSD-3-Clause

import hostile_data as data
import hostile_parameters as params
from calls import ALWAYS, is_array, is_float, target
from hypothesis import strategies as st

NONE = st.just(())
RUN, RESAMPLES, SEED = params.RUN, params.RESAMPLES, params.SEED
SAMPLES = data.samples("X", "Y")


def noun_targets():
    """Yield bandwidths, designs and pooling."""
    p = params.ORDER
    count = {"n_bandwidths": params.STATISTIC["n_bandwidths"]}
    one = data.samples("X")
    for name, members in [
        ("bandwidth_grid", {**p, **count}),
        ("inter_sample_distances", p),
        ("median_bandwidth", p),
        (
            "kernel_collection",
            {**count, **{k: params.STATISTIC[k] for k in ("kernel", "bandwidth")}},
        ),
    ]:
        yield (
            f"bandwidths.{name}",
            target(
                f"{name}(X, {{keywords}})", one, members, callables=name, near="value"
            ),
        )
    design = params.values(params.DESIGNS, params.HOSTILE_DESIGNS)
    number = params.sizes("7", "4", "np.int64(9)", "20", "2", "1")
    for method, members in [
        ("pairs", SEED),
        ("size", {}),
        ("n_unused", {}),
        ("regions", {}),
        ("mask", SEED),
        ("chunks", {"max_pairs": params.sizes("3", "100"), **SEED}),
    ]:
        expression = f"check_design(design).{method}(n, {{keywords}})"
        yield (
            f"designs.{method}",
            target(
                f"list({expression})" if method == "chunks" else expression,
                st.tuples(st.fixed_dictionaries({"design": design, "n": number}), NONE),
                members,
                callables="Blocks Cross RandomPairs Subdiagonals check_design",
                always=list(members),
                also=("n", "max_pairs", "random_state"),
            ),
        )
    yield from pooling_targets()


def pooling_targets():
    numbers = ["[0.1, 0.2]", "[1.0]", "np.array([0.0, 0.0])", "[1e-300, 1e300]"]
    numbers += ["[-1e308, 1e308]", "[1, 2]", "np.float32([1, 2])", "[5e-324, 1.0]"]
    hostile = ["[]", "[np.nan, 1.0]", "[[1.0, 2.0]]", "None", "'a'", "1.0", "[1j, 1]"]
    hostile += ["[np.inf, 1.0]", "['a', 'b']", "[1.0, 2.0, 3.0]", "[None, 1.0]"]
    hostile += ["[10**400, 1]", "{}", "sp.csr_matrix([[1.0]])"]
    array = params.values(numbers, hostile)
    yield (
        "pooling.pool_statistics",
        target(
            "pool_statistics(statistics, {keywords})",
            st.tuples(st.fixed_dictionaries({"statistics": array}), NONE),
            {
                "pooling": params.words("pooling"),
                "nu": params.numbers("1.0", "1e-9", "1e9", "1e-300"),
            },
            callables="pool_statistics",
            documented=is_float,
        ),
    )
    yield (
        "pooling.normalize_statistics",
        target(
            "normalize_statistics(statistics, scales, {keywords})",
            st.tuples(
                st.fixed_dictionaries({"statistics": array, "scales": array}), NONE
            ),
            {"rounding": params.numbers("0.0", "1e-12", "[0.0, 1e-9]")},
            callables="normalize_statistics",
            documented=is_array,
        ),
    )


def display_targets():
    """Yield pictures, of data that can be drawn."""
    two, pairs = data.plain_samples("X", "Y"), data.plain_with_target("X", "y")
    statistic = {key: params.MMD[key] for key in ("kernel", "bandwidth", "design")}
    test = {**statistic, **RESAMPLES, **SEED}
    level = {"level": params.numbers("0.05", "0.5", "1", "1e-9")}
    bins = ["'auto'", "5", "[0.0, 1.0, 2.0]", "np.int64(3)", "'fd'"]
    bins = {
        "bins": params.values(bins, ["0", "-1", "'nope'", "None", "[]", "{}", "1.5"])
    }
    features = ["None", "0", "[0]", "[0, 1]", "1"]
    hostile = ["3", "-1", "'c0'", "'nope'", "[0, 0]", "[]", "1.5", "[0, 1, 2]", "{}"]
    witness = {
        "features": params.values(features, hostile, 3),
        "grid_resolution": params.sizes("None", "5", "np.int64(9)"),
    }
    estimator = "MMDEstimator({keywords}).fit(X)"
    number = params.sizes("7", "4", "np.int64(9)", "20", "2", "1")
    design = params.values(params.DESIGNS, params.HOSTILE_DESIGNS)
    drawn = st.tuples(st.fixed_dictionaries({"design": design, "n": number}), NONE)
    for name, call, strategy, groups, callables in [
        (
            "BandwidthDisplay.from_estimator",
            f"BandwidthDisplay.from_estimator({estimator}, Y)",
            two,
            [{**statistic, **SEED}],
            "MMDEstimator",
        ),
        (
            "BandwidthDisplay.from_result",
            "BandwidthDisplay.from_result(mmd_test(X, Y, {keywords}), {options})",
            two,
            [test, level],
            "mmd_test BandwidthDisplay",
        ),
        (
            "NullDistributionDisplay",
            "NullDistributionDisplay.from_result(mmd_test(X, Y, {keywords}), "
            "{options})",
            two,
            [test, bins],
            "mmd_test NullDistributionDisplay",
        ),
        (
            "WitnessDisplay",
            f"WitnessDisplay.from_estimator({estimator}, Y, {{options}})",
            two,
            [{**statistic, **SEED}, witness],
            "MMDEstimator WitnessDisplay",
        ),
        (
            "BatchScoresDisplay",
            f"BatchScoresDisplay.from_estimator({estimator}, Y, {{options}})",
            two,
            [
                {**statistic, **SEED},
                {
                    "confidence": level["level"],
                    "batch_size": params.sizes("2", "3", "np.int64(5)", "None"),
                    "n_resamples": params.sizes("2", "5"),
                    "random_state": SEED["random_state"],
                },
            ],
            "MMDEstimator BatchScoresDisplay",
        ),
        (
            "WitnessDisplay of KSD",
            "WitnessDisplay.from_estimator(KSDEstimator(lambda X: -X, {keywords})"
            ".fit(X), Y, {options})",
            two,
            [{"standardize": params.BOOL}, witness],
            "KSDEstimator WitnessDisplay",
        ),
        (
            "SelectionDisplay",
            "SelectionDisplay.from_estimator(HSICSelector({keywords}).fit(X, y))",
            pairs,
            [{**params.SELECTOR, **SEED}],
            "HSICSelector SelectionDisplay",
        ),
        (
            "SelectionCVDisplay",
            "SelectionCVDisplay.from_estimator(HSICSelectorCV("
            "HSICSelector({keywords}), {options}).fit(X, y))",
            pairs,
            [
                {**params.SELECTOR, **SEED},
                {
                    "cv": params.values(params.FOLDS, params.HOSTILE_FOLDS, 5),
                    "param_grid": params.values(
                        ["{'bandwidth_factor': [0.5, 1.0]}", "None"], ["{}"]
                    ),
                },
            ],
            "HSICSelector HSICSelectorCV SelectionCVDisplay",
        ),
        (
            "ColumnTestsDisplay",
            "ColumnTestsDisplay.from_result(mmd_column_tests(X, Y, {keywords}), "
            "{options})",
            two,
            [test, {**level, "max_columns": params.sizes("30", "None", "1")}],
            "mmd_column_tests ColumnTestsDisplay",
        ),
        (
            "DriftReportDisplay",
            "DriftReportDisplay.from_result(drift_report(X, Y, {keywords}), {options})",
            two,
            [{**RESAMPLES, **SEED}, {"max_columns": params.sizes("30", "None", "1")}],
            "drift_report DriftReportDisplay",
        ),
        (
            "SubsetsDisplay",
            "SubsetsDisplay.from_result(mmd_subsets(X, Y, {keywords}), {options})",
            two,
            [{**params.SUBSETS, **SEED}, bins],
            "mmd_subsets SubsetsDisplay",
        ),
        (
            "CKADisplay",
            "CKADisplay.from_result(cka_score([X], [X, -X], {keywords}), {options})",
            two,
            [
                params.CKA,
                {
                    "include_values": params.BOOL,
                    "cmap": params.values(
                        ["'viridis'", "'Greys'", "None"], ["'nope'", "3", "[]"]
                    ),
                },
            ],
            "cka_score CKADisplay",
        ),
        (
            "DesignDisplay",
            "DesignDisplay.from_design(design, n, {keywords})",
            drawn,
            [SEED],
            "DesignDisplay",
        ),
    ]:
        yield (
            f"plotting.{name}",
            target(
                call,
                strategy,
                *groups,
                callables=callables,
                # Without a size a subset has more rows than the samples.
                always=[*ALWAYS, "n_subsets", "subset_size"],
                also=("X", "Y", "y", "n", "design", "features", "kernel", "batches"),
            ),
        )
    yield (
        "ColumnTestsResult.to_frame",
        target(
            "mmd_column_tests(X, Y, {keywords}).to_frame()",
            two,
            {**statistic, **RESAMPLES, **RUN},
            callables="mmd_column_tests",
        ),
    )
