"""What is called: every public function, and the methods of every estimator."""

# SPDX-License-Identifier: BSD-3-Clause

import hostile_data as data
import hostile_parameters as params
from calls import is_array, is_evaluation, is_float, is_test, target
from comparison_targets import comparison_targets
from kernel_targets import kernel_targets
from many_targets import many_targets
from noun_targets import display_targets, noun_targets
from representation_targets import representation_targets
from stream_targets import stream_targets
from table_targets import table_targets

RUN, RESAMPLES, SEED = params.RUN, params.RESAMPLES, params.SEED
SAMPLES = data.samples("X", "Y")
PAIRS = data.with_target("X", "y")
MODEL = data.with_model("X")
KSD_TEST = {**params.TEST, **RESAMPLES}
MMD_TEST = {**KSD_TEST, **params.PAIRED}
TEST_OF = {
    "MMDEstimator": MMD_TEST,
    "HSICEstimator": KSD_TEST,
    "KSDEstimator": KSD_TEST,
}
CORRECTION = {"correction": params.words("correction")}


def of_test(members, *without):
    """Return the parameters of an estimator that its test has."""
    without += params.OF_SCORES
    return {name: v for name, v in members.items() if name not in without}


def of_columns(members):
    """Return the parameters of an estimator that its tests of columns have."""
    return of_test(members, "design")


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
        {**params.KSD, **params.POOLING, **RUN, "sample_weight": params.weights()},
        callables="ksd_score",
        documented=is_float,
        near="normalized",
    ),
    "mmd_test": target(
        "mmd_test(X, Y, {keywords})",
        SAMPLES,
        {**of_test(params.MMD), **MMD_TEST, **RUN},
        callables="mmd_test",
        documented=is_test,
        near="pvalue",
    ),
    "hsic_test": target(
        "hsic_test(X, y, {keywords})",
        PAIRS,
        {**of_test(params.HSIC), **KSD_TEST, **RUN},
        callables="hsic_test",
        documented=is_test,
        near="pvalue",
    ),
    "conditional_hsic_test": target(
        "conditional_hsic_test(X, y, X, {keywords})",
        data.with_target("X", "y", widest=8, many=60),
        {**params.CONDITIONAL, **RESAMPLES, **RUN},
        callables="conditional_hsic_test",
        documented=is_test,
        near="pvalue",
    ),
    "ksd_test": target(
        "ksd_test(X, model, {keywords})",
        MODEL,
        {**of_test(params.KSD), **KSD_TEST, **RUN},
        callables="ksd_test",
        documented=is_test,
        near="pvalue",
    ),
    "mmd_column_tests": target(
        "mmd_column_tests(X, Y, {keywords})",
        data.samples("X", "Y", widest=12),
        {**of_columns(params.MMD), **MMD_TEST, **RUN, **CORRECTION},
        callables="mmd_column_tests",
    ),
    "hsic_column_tests": target(
        "hsic_column_tests(X, y, {keywords})",
        data.with_target("X", "y", widest=12, many=60),
        {**of_columns(params.HSIC), **KSD_TEST, **RUN, **CORRECTION},
        callables="hsic_column_tests",
    ),
    "drift_report": target(
        "drift_report(X, Y, {keywords})",
        data.samples("X", "Y", widest=12),
        {
            "kernel": params.KERNEL,
            "block_length": params.TEST["block_length"],
            **params.COMPONENTS,
            **params.VERBOSE,
            **RESAMPLES,
            **RUN,
            **CORRECTION,
            "level": params.numbers("0.05", "1", "0.5"),
            "max_columns": params.sizes("10", "1"),
            "max_rows": params.sizes("10", "1"),
            "encoder": params.values(["'auto'", "None"], params.HOSTILE_WORDS, 8),
        },
        callables="drift_report",
        # Errors of the joint test name its samples.
        also=("X", "Y"),
    ),
    "DriftReportResult.to_html": target(
        "drift_report(X, Y, {keywords}).to_html()",
        data.plain_samples("X", "Y"),
        {**RESAMPLES, **RUN},
        callables="drift_report",
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
    "mmd_test_from_gram": target(
        "mmd_test_from_gram(K_xx, K_yy, K_xy, {keywords})",
        data.gram_matrices(("K_xx", "m"), ("K_yy", "n"), ("K_xy", "mn"), lists=True),
        {**params.GRAM_TEST, **params.PAIRED},
        callables="mmd_test_from_gram",
        documented=is_test,
        near="pvalue",
    ),
    "hsic_test_from_gram": target(
        "hsic_test_from_gram(K, L, {keywords})",
        data.gram_matrices(("K", "m"), ("L", "m"), lists=True),
        params.GRAM_TEST,
        callables="hsic_test_from_gram",
        documented=is_test,
        near="pvalue",
    ),
    "ksd_test_from_gram": target(
        "ksd_test_from_gram(H, {keywords})",
        data.gram_matrices(("H", "m"), lists=True),
        params.GRAM_TEST,
        callables="ksd_test_from_gram",
        documented=is_test,
        near="pvalue",
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
        common = {"callables": name, "also": ("X", "Y", "y", "points", "model")}
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
                TEST_OF[name],
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
        "mmd_score.weights",
        target(
            "mmd_score(X, Y, {keywords})",
            SAMPLES,
            {
                **params.MMD,
                **run_and_pool,
                "sample_weight": params.weights(),
                "sample_weight_Y": params.weights("Y"),
            },
            always=[*seeded, "sample_weight"],
            documented=is_float,
            callables="mmd_score",
            also=("X", "Y", "sample_weight", "sample_weight_Y"),
        ),
    )
    yield (
        "MMDEstimator.weights",
        target(
            "MMDEstimator({keywords})"
            ".fit(X, sample_weight=np.arange(np.shape(X)[0]) + 1.0)"
            ".evaluate(Y, {options})",
            SAMPLES,
            {**params.MMD, **run_and_pool},
            {"sample_weight": params.weights("Y")},
            always=seeded,
            documented=is_evaluation,
            callables="MMDEstimator",
            also=("X", "Y", "sample_weight"),
        ),
    )
    yield (
        "hsic_score.weights",
        target(
            "hsic_score(X, y, {keywords})",
            PAIRS,
            {**params.HSIC, **run_and_pool, "sample_weight": params.weights()},
            always=[*seeded, "sample_weight"],
            documented=is_float,
            callables="hsic_score",
            also=("X", "y", "sample_weight"),
        ),
    )
    yield (
        "KSDEstimator.weights",
        target(
            "KSDEstimator(model, {keywords}).fit(X).score(X, {options})",
            data.with_model("X"),
            {**params.KSD, **run_and_pool},
            {"sample_weight": params.weights()},
            always=[*seeded, "sample_weight"],
            documented=is_float,
            callables="KSDEstimator",
            also=("X", "model", "sample_weight"),
        ),
    )
    yield (
        "MMDEstimator.score_batches",
        target(
            "MMDEstimator({keywords}).fit(X).score_batches(Y, {options})",
            SAMPLES,
            {**params.MMD, **run_and_pool},
            {
                "batch_size": params.sizes("2", "3", "np.int64(5)", "None"),
                "by": params.values(["None"], ["'c0'", "3", "[]", "{}"]),
            },
            always=[*seeded, "batch_size"],
            documented=is_array,
            callables="MMDEstimator",
            also=("X", "Y", "batches"),
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
                callables=f"{name} ColumnCKA",
            ),
        )
    yield (
        "ColumnCKA",
        target(
            "ColumnCKA({keywords})(X, y)",
            pairs,
            {**params.SCORE, **RESAMPLES, **RUN},
            callables="ColumnCKA",
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
                "cv": params.values(params.FOLDS, params.HOSTILE_FOLDS, 3),
                **params.VERBOSE,
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
    selectors = ["HSICSelector(n_probes=3)", "HSICSelector(2, method='forward')"]
    yield (
        "HSICSelectorCV.transform",
        target(
            "HSICSelectorCV({keywords}).fit(X, y, {options}).transform(X_new)",
            data.with_target("X", "y", "X_new", "y_new", widest=5),
            {
                "selector": params.values(
                    selectors, ["3", "HSICSelector", "ColumnCKA()"]
                ),
                "cv": params.values(params.FOLDS[:4], params.HOSTILE_FOLDS, 5),
            },
            {
                "groups": params.values(
                    ["None", "np.arange(len(X)) % 3"],
                    ["np.arange(len(X) + 1)", "3", "'a'", "[1.0, np.nan]"],
                )
            },
            always=["selector", "cv"],
            callables="HSICSelector HSICSelectorCV",
            also=(*both, "groups"),
        ),
    )
    for method, more in [
        ("fit_transform(X, y)", ""),
        ("fit(X, y)", ".inverse_transform(np.zeros((2, 1)))"),
        ("fit(X, y)", ".get_feature_names_out({options})"),
        ("fit(X, y)", ".get_support({options})"),
    ]:
        name = (more or method).strip(".").partition("(")[0]
        features = ["None", "['a'] * 3", "[f'x{i}' for i in range(X.shape[1])]", "3"]
        options = {"input_features": params.values(features[:1], features[1:])}
        if name == "get_support":
            options = {"indices": params.BOOL}
        groups = [options] if "{options}" in more else []
        yield (
            f"HSICSelector.{name}",
            target(
                f"HSICSelector({{keywords}}).{method}{more}",
                data.plain_with_target("X", "y"),
                {**params.SELECTOR, **RUN},
                *groups,
                callables="HSICSelector",
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
    for name in ("ksd", "hyvarinen", "mmd"):
        yield (
            f"neg_{name}_scorer",
            target(
                f"neg_{name}_scorer(model, X)",
                fitted,
                callables=f"neg_{name}_scorer",
                also=("X", "model", "kernel", "bandwidth"),
                documented=is_float,
            ),
        )
    yield (
        "log_density_gradient_of",
        target(
            "log_density_gradient_of(model)(X)",
            data.with_model("X", fitted=True, functions=False),
            callables="log_density_gradient_of",
            also=("X",),
            documented=is_array,
            near="value",
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
            {**options, **params.VERBOSE, "n_points": points},
            callables="stein_thinning",
            always=["n_points"],
            documented=is_array,
        ),
    )
    yield (
        "MMDThinning",
        target(
            "MMDThinning({keywords}).fit(X)",
            data.samples("X"),
            {
                "kernel": params.KERNEL,
                "bandwidth": params.STATISTIC["bandwidth"],
                "encoder": params.STATISTIC["encoder"],
                "n_jobs": params.RUN["n_jobs"],
                **params.VERBOSE,
                "n_points": points,
            },
            callables="MMDThinning",
            always=["n_points"],
        ),
    )
    yield (
        "SteinThinning",
        target(
            "SteinThinning(model=model, {keywords}).fit(X)",
            MODEL,
            {**options, **params.VERBOSE, "n_points": points},
            callables="SteinThinning",
            always=["n_points"],
            also=("X", "model", "gradients"),
        ),
    )
    yield (
        "log_density_gradient",
        target(
            "log_density_gradient(model, {keywords})(X)",
            # What a function of the caller returns is the caller's.
            data.with_model("X", fitted=True, functions=False),
            {
                "finite_differences": params.BOOL,
                "backend": params.values(["None"], ["'nope'", "3", "True"]),
            },
            callables="log_density_gradient",
            also=("X",),
            documented=is_array,
            near="value",
        ),
    )


TARGETS.update(estimator_targets())
TARGETS.update(selection_targets())
TARGETS.update(model_checking_targets())
TARGETS.update(noun_targets())
TARGETS.update(kernel_targets())
TARGETS.update(comparison_targets())
TARGETS.update(representation_targets())
TARGETS.update(stream_targets())
TARGETS.update(table_targets())
TARGETS.update(many_targets())
TARGETS.update(display_targets())
