"""What is called: similarities of representations, and MMD of random subsets."""

# SPDX-License-Identifier: BSD-3-Clause

import hostile_data as data
import hostile_parameters as params
from calls import ALWAYS, is_float, target

JOBS = {"n_jobs": params.RUN["n_jobs"]}


def is_similarity(result):
    if hasattr(result, "matrix"):
        shape = len(result.x_layers), len(result.y_layers)
        return "" if result.matrix.shape == shape else f"shape {result.matrix.shape}"
    return is_float(result)


def are_subsets(result):
    return is_float(result.mean) or is_float(result.standard_deviation)


def representation_targets():
    """Yield CKA and KID."""
    keywords = {**params.CKA, **JOBS}
    pairs = data.with_target("X", "y", "X_new", "y_new", widest=64)
    layers = data.layers("X", "Y")
    two = data.samples("X", "Y", widest=64)
    for name, expression, strategy, documented in [
        ("cka_score", "cka_score(X, Y, {keywords})", layers, is_similarity),
        (
            "cka_score.to_frame",
            "cka_score({{'a': X}}, {{'b': X, 1: X}}, {keywords}).to_frame()",
            data.plain_samples("X"),
            None,
        ),
        (
            "CKAEstimator.fit",
            "CKAEstimator({keywords}).fit(X, y).score()",
            pairs,
            is_float,
        ),
        (
            "CKAEstimator.partial_fit",
            "CKAEstimator({keywords}).partial_fit(X, y).partial_fit(X_new, y_new)",
            pairs,
            None,
        ),
        (
            "CKAEstimator.score",
            "CKAEstimator({keywords}).fit(X, y).score(X_new, y_new)",
            pairs,
            is_float,
        ),
    ]:
        options = {} if documented is None else {"documented": documented}
        yield (
            name,
            target(
                expression,
                strategy,
                keywords,
                callables="cka_score CKAEstimator",
                also=("X", "Y", "y"),
                near="value",
                **options,
            ),
        )
    for more in ("", ".to_frame()"):
        options = {} if more else {"documented": are_subsets}
        yield (
            f"mmd_subsets{more[:-2]}",
            target(
                f"mmd_subsets(X, Y, {{keywords}}){more}",
                two,
                {**params.SUBSETS, **params.RUN},
                callables="mmd_subsets",
                # Without a size a subset has more rows than the samples.
                always=[*ALWAYS, "n_subsets", "subset_size"],
                **options,
            ),
        )
