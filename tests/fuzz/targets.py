"""What is called: every public function, and the methods of every estimator."""

# SPDX-License-Identifier: BSD-3-Clause

import hostile_data as data
import hostile_parameters as params
from calls import is_array, is_evaluation, is_float, is_test, target
from hypothesis import strategies as st

RUN, RESAMPLES = params.RUN, params.RESAMPLES
SAMPLES = data.samples("X", "Y")
PAIRS = data.with_target("X", "y")
MODEL = data.with_model("X")
MMD_TEST = {**params.TEST, **RESAMPLES}
HSIC_TEST = {key: v for key, v in MMD_TEST.items() if key != "n_groups"}
SEED = {"random_state": RUN["random_state"]}

TARGETS = {
    # One call.
    "mmd_score": target(
        "mmd_score(X, Y, {keywords})",
        SAMPLES,
        {**params.MMD, **params.POOLING, **RUN},
        callables="mmd_score",
        documented=is_float,
        near="value",
    ),
    "hsic_score": target(
        "hsic_score(X, y, {keywords})",
        PAIRS,
        {**params.HSIC, **params.POOLING, **RUN},
        callables="hsic_score",
        documented=is_float,
        near="value",
    ),
    "ksd_score": target(
        "ksd_score(X, model, {keywords})",
        MODEL,
        {
            **params.KSD,
            **params.POOLING,
            **RUN,
            "sample_weight": params.values(params.WEIGHTS, params.HOSTILE_WEIGHTS),
        },
        callables="ksd_score",
        documented=is_float,
        near="normalized",
    ),
    "mmd_test": target(
        "mmd_test(X, Y, {keywords})",
        SAMPLES,
        {**params.MMD, **MMD_TEST, **RUN},
        callables="mmd_test",
        documented=is_test,
        near="pvalue",
    ),
    "hsic_test": target(
        "hsic_test(X, y, {keywords})",
        PAIRS,
        {**params.HSIC, **HSIC_TEST, **RUN},
        callables="hsic_test",
        documented=is_test,
        near="pvalue",
    ),
    "ksd_test": target(
        "ksd_test(X, model, {keywords})",
        MODEL,
        {**params.KSD, **MMD_TEST, **RUN},
        callables="ksd_test",
        documented=is_test,
        near="pvalue",
    ),
    "mmd_column_tests": target(
        "mmd_column_tests(X, Y, {keywords})",
        data.samples("X", "Y", widest=12),
        {**params.MMD, **MMD_TEST, **RUN, "correction": params.words("correction")},
        callables="mmd_column_tests",
    ),
    "hsic_column_tests": target(
        "hsic_column_tests(X, y, {keywords})",
        data.with_target("X", "y", widest=12, many=60),
        {**params.HSIC, **HSIC_TEST, **RUN, "correction": params.words("correction")},
        callables="hsic_column_tests",
    ),
    # Gram matrices.
    "mmd_from_gram": target(
        "mmd_from_gram(K_xx, K_yy, K_xy, {keywords})",
        data.gram_matrices(("K_xx", "m"), ("K_yy", "n"), ("K_xy", "mn")),
        {**params.GRAM, **SEED},
        callables="mmd_from_gram",
        documented=is_float,
        near="value",
    ),
    "hsic_from_gram": target(
        "hsic_from_gram(K, L, {keywords})",
        data.gram_matrices(("K", "m"), ("L", "m")),
        {**params.GRAM, **SEED},
        callables="hsic_from_gram",
        documented=is_float,
        near="value",
    ),
    "ksd_from_gram": target(
        "ksd_from_gram(H, {keywords})",
        data.gram_matrices(("H", "m")),
        {**{k: v for k, v in params.GRAM.items() if k != "second_order"}, **SEED},
        callables="ksd_from_gram",
        documented=is_float,
        near="value",
    ),
}


def estimator_targets():
    """Yield the methods of the three estimators."""
    run_and_pool = {**params.POOLING, **RUN}
    seeded = ["n_jobs", "random_state"]
    for name, members, fit, arguments, strategy in [
        ("MMDEstimator", params.MMD, "X", "Y", SAMPLES),
        (
            "HSICEstimator",
            params.HSIC,
            "X, y",
            "X_new, y_new",
            data.with_target("X", "y", "X_new", "y_new"),
        ),
        ("KSDEstimator", params.KSD, "X", "Y", data.with_model("X", "Y")),
    ]:
        near = "normalized" if name == "KSDEstimator" else "value"
        first = "model, " if name == "KSDEstimator" else ""
        made = f"{name}({first}{{keywords}}).fit({fit})"
        common = {
            "callables": name,
            "also": ("X", "Y", "y", "points", "model"),
        }
        yield (
            f"{name}.fit",
            target(made, strategy, {**members, **run_and_pool}, **common),
        )
        yield (
            f"{name}.score",
            target(
                f"{made}.score({arguments})",
                strategy,
                {**members, **run_and_pool},
                documented=is_float,
                near=near,
                **common,
            ),
        )
        yield (
            f"{name}.evaluate",
            target(
                f"{made}.evaluate({arguments})",
                strategy,
                {**members, **run_and_pool},
                documented=is_evaluation,
                **common,
            ),
        )
        yield (
            f"{name}.test",
            target(
                f"{made}.test({arguments}, {{options}})",
                strategy,
                {**members, **RUN},
                HSIC_TEST if name == "HSICEstimator" else MMD_TEST,
                always=[*seeded, "n_resamples"],
                documented=is_test,
                near="pvalue",
                **common,
            ),
        )
        if name == "HSICEstimator":
            continue
        points = data.with_model("X", "Y", "points")
        if name == "MMDEstimator":
            points = data.samples("X", "Y", "points")
        yield (
            f"{name}.witness",
            target(
                f"{made}.witness(points, Y)",
                points,
                {**members, **run_and_pool},
                documented=is_array,
                near=near,
                **common,
            ),
        )
    yield (
        "MMDEstimator.contributions",
        target(
            "MMDEstimator({keywords}).fit(X).contributions(Y)",
            SAMPLES,
            {**params.MMD, **run_and_pool},
            documented=is_array,
            near="value",
            callables="MMDEstimator",
            also=("X", "Y"),
        ),
    )


def selection_targets():
    """Yield scores and selectors of features."""
    both = ("X", "y")
    pairs = data.with_target("X", "y", widest=64, many=60)
    for name in ("hsic_regression", "hsic_classif"):
        yield (
            name,
            target(
                f"{name}(X, y, {{keywords}})",
                pairs,
                {**params.SCORE, **RESAMPLES, **RUN},
                callables=f"{name} HSICScore",
            ),
        )
    yield (
        "HSICScore",
        target(
            "HSICScore({keywords})(X, y)",
            pairs,
            {**params.SCORE, **RESAMPLES, **RUN},
            callables="HSICScore",
            also=both,
        ),
    )
    yield (
        "HSICSelector",
        target(
            "HSICSelector({keywords}).fit(X, y)",
            pairs,
            {**params.SELECTOR, **RUN},
            callables="HSICSelector",
            also=both,
        ),
    )
    yield (
        "HSICSelector.transform",
        target(
            "HSICSelector({keywords}).fit(X, y).transform(X_new)",
            data.with_target("X", "y", "X_new", "y_new", widest=64),
            {**params.SELECTOR, **RUN},
            callables="HSICSelector",
            also=both,
        ),
    )
    yield (
        "HSICSelectorCV",
        target(
            "HSICSelectorCV(HSICSelector({keywords}), {options}).fit(X, y)",
            data.with_target("X", "y", widest=5),
            {**params.SELECTOR, **SEED},
            {
                "cv": params.sizes("2", "3"),
                "min_features_to_select": params.sizes("1", "2"),
                "max_features_to_select": params.sizes("2", "None"),
                "param_grid": params.values(
                    ["{'bandwidth_factor': [0.5, 1.0]}", "None"],
                    ["{'nope': [1]}", "3", "{}", "{'bandwidth_factor': []}"],
                ),
                "n_jobs": RUN["n_jobs"],
            },
            always=["n_jobs", "random_state", "n_probes", "cv"],
            callables="HSICSelector HSICSelectorCV",
            also=both,
        ),
    )


def model_checking_targets():
    """Yield scorers, thinning and score functions."""
    fitted = data.with_model("X", fitted=True)
    for name, members in [
        ("KSDScorer", {**params.SCORER, **RUN}),
        ("HyvarinenScorer", {}),
        (
            "MMDScorer",
            {
                "n_samples": params.sizes("10", "None"),
                "normalize": params.BOOL,
                "pooling": params.words("pooling"),
                **RUN,
            },
        ),
    ]:
        yield (
            name,
            target(
                f"{name}({{keywords}})(model, X)",
                fitted,
                members,
                callables=name,
                also=("X", "model", "estimator"),
                documented=is_float,
            ),
        )
    options = {"standardize": params.BOOL}
    options["preconditioner"] = params.words("preconditioner")
    points = params.sizes("3", "1", "np.int64(4)", "30")
    yield (
        "stein_thinning",
        target(
            "stein_thinning(X, gradients, {keywords})",
            data.samples("X", "gradients"),
            {**options, "n_points": points},
            callables="stein_thinning",
            always=["n_points"],
            documented=is_array,
        ),
    )
    yield (
        "SteinThinning",
        target(
            "SteinThinning(model=model, {keywords}).fit(X)",
            MODEL,
            {**options, "n_points": points},
            callables="SteinThinning",
            always=["n_points"],
            also=("X", "model", "gradients"),
        ),
    )
    yield (
        "score_function",
        target(
            "score_function(model, {keywords})(X)",
            # What a function of the caller returns is the caller's.
            data.with_model("X", fitted=True, functions=False),
            {
                "finite_differences": params.BOOL,
                "backend": params.values(["None"], ["'nope'", "3", "True"]),
            },
            callables="score_function",
            also=("X",),
            documented=is_array,
            near="value",
        ),
    )


def noun_targets():
    """Yield bandwidths, kernels, designs and pooling."""
    p = {"p": params.numbers("2", "1", "3", "np.inf", "1.5")}
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
    width = {"bandwidth": params.numbers("1.0", "0.1", "np.int64(3)", "1e3")}
    order = {"nu": params.numbers("1.5", "0.5", "2.5", "4.5"), **p}
    for name, members in [
        ("GaussianKernel", width),
        ("LaplaceKernel", width),
        ("IMQKernel", width),
        ("MaternKernel", {**width, **order}),
        ("IndicatorKernel", {"balanced": params.BOOL}),
    ]:
        yield (
            f"kernels.{name}",
            target(
                f"{name}({{keywords}})(X, Y)",
                SAMPLES,
                members,
                callables=name,
                also=("X", "Y"),
                always=["bandwidth"],
                documented=is_array,
                near="value",
            ),
        )
    design = params.values(params.DESIGNS, params.HOSTILE_DESIGNS)
    number = params.sizes("7", "4", "np.int64(9)", "20", "2", "1")
    for method, members in [
        ("pairs", SEED),
        ("size", {}),
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
    yield (
        "kernels.check_kernel",
        target(
            "check_kernel(kernel)",
            st.tuples(st.fixed_dictionaries({"kernel": params.KERNEL}), NONE),
            callables="check_kernel MaternKernel IndicatorKernel",
        ),
    )
    yield from pooling_targets()


NONE = st.just(())


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


TARGETS.update(estimator_targets())
TARGETS.update(selection_targets())
TARGETS.update(model_checking_targets())
TARGETS.update(noun_targets())
