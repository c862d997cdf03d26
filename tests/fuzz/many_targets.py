"""What is called: tests of many variables, many samples, and all pairs of columns."""

# SPDX-License-Identifier: BSD-3-Clause

import hostile_data as data
import hostile_parameters as params
from calls import is_test, target

JOBS = {"n_jobs": params.RUN["n_jobs"]}
POOLED = {
    "kernel": params.KERNEL,
    "bandwidth": params.STATISTIC["bandwidth"],
    "pooling": params.words("pooling"),
    **params.VERBOSE,
    **params.RESAMPLES,
    **params.RUN,
}
JOINT = {
    **POOLED,
    **params.COLUMN_ENCODER,
    "method": params.words("method"),
    "block_length": params.TEST["block_length"],
}
SAMPLES = {
    **POOLED,
    "encoder": params.STATISTIC["encoder"],
    "correction": params.values(["'shaffer'", "'holm'", "None"], ["'nope'", "3", "[]"]),
    "control": params.values(["None", "0"], ["'a'", "3", "True", "[]", "X"], 8),
    "groups": params.values(["None"], ["'a'", "3", "[0] * len(X)", "[]", "X"], 8),
}
CHANGES = {
    **POOLED,
    "encoder": params.STATISTIC["encoder"],
    "block_length": params.TEST["block_length"],
    **params.COMPONENTS,
    "max_changes": params.values(["None", "1", "3"], ["0", "1.5", "'two'"]),
    "min_size": params.values(["None", "2", "5"], ["1", "2.5", "'few'", "10**9"]),
    "level": params.numbers("0.05", "1", "0.5"),
    "confidence": params.values(["0.5", "0.9", "0.95"], ["0.2", "1", "'high'"]),
}
MATRIX = {
    **params.ONE_KERNEL,
    **params.COLUMN_ENCODER,
    **params.VERBOSE,
    **JOBS,
    "design": params.CKA["design"],
    "correction": params.words("correction"),
}


def is_matrix(result):
    shape = len(result.x_names), len(result.y_names)
    return "" if result.matrix.shape == shape else f"shape {result.matrix.shape}"


def many_targets():
    """Yield the tests of many variables and samples, their frames and figures."""
    two = data.samples("X", "Y", widest=12)
    pairs = data.with_target("X", "y", widest=12, many=60)
    level = {"level": params.numbers("0.05", "1", "0.5")}
    figure = {
        **level,
        "include_values": params.BOOL,
        "cmap": params.values(["'viridis'", "'Greys'", "None"], ["'nope'", "3", "[]"]),
    }
    for name, expression, strategy, groups, callables, documented in [
        (
            "joint_independence_test",
            "joint_independence_test(X, y, X, {keywords})",
            pairs,
            [JOINT],
            "joint_independence_test",
            is_test,
        ),
        (
            "k_sample_test",
            "k_sample_test(X, Y, X, {keywords})",
            two,
            [SAMPLES],
            "k_sample_test",
            None,
        ),
        (
            "k_sample_test by labels",
            "k_sample_test(X, groups=y, {keywords})",
            pairs,
            [{key: value for key, value in SAMPLES.items() if key != "groups"}],
            "k_sample_test",
            None,
        ),
        (
            "change_point_test",
            "change_point_test(X, {keywords})",
            two,
            [CHANGES],
            "change_point_test",
            None,
        ),
        (
            "plotting.ChangePointDisplay",
            "ChangePointDisplay.from_result(change_point_test(X, {keywords}))",
            two,
            [{**params.RESAMPLES, **params.SEED}],
            "change_point_test ChangePointDisplay",
            None,
        ),
        (
            "hsic_matrix",
            "hsic_matrix(X, {keywords})",
            two,
            [MATRIX],
            "hsic_matrix",
            is_matrix,
        ),
        (
            "hsic_matrix with y",
            "hsic_matrix(X, y, {keywords})",
            pairs,
            [MATRIX],
            "hsic_matrix",
            is_matrix,
        ),
        (
            "plotting.KSampleDisplay",
            "KSampleDisplay.from_result(k_sample_test(X, Y, {keywords}), {options})",
            two,
            [{**params.RESAMPLES, **params.SEED}, figure],
            "k_sample_test KSampleDisplay",
            None,
        ),
        (
            "plotting.HSICMatrixDisplay",
            "HSICMatrixDisplay.from_result(hsic_matrix(X, {keywords}), {options})",
            two,
            [JOBS, {**figure, "cluster": params.BOOL}],
            "hsic_matrix HSICMatrixDisplay",
            None,
        ),
    ]:
        options = {} if documented is None else {"documented": documented}
        yield (
            name,
            target(
                expression,
                strategy,
                *groups,
                callables=callables,
                also=("X", "Y", "y", "samples", "variables", "groups", "n_samples"),
                **options,
            ),
        )
