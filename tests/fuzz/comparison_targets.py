"""Targets: comparisons of candidates."""

# SPDX-License-Identifier: BSD-3-Clause

import hostile_data as data
import hostile_parameters as params
from calls import target

from skdiscrepancy import ComparisonResult

TAKEN = ("kernel", "target_kernel", "bandwidth", "target_bandwidth", "n_bandwidths")
TAKEN += ("standardize", "encoder", "n_jobs", "verbose")


def is_comparison(result):
    if not isinstance(result, ComparisonResult):
        return f"{type(result).__name__} is no ComparisonResult"
    return None


NAMES = params.values(["None", "['a', 'b']"], ["['a', 'a']", "'ab'", "3", "[]"], 6)


def taken(keywords):
    return {key: keywords[key] for key in TAKEN if key in keywords}


def comparison_targets():
    """Yield the name and the target of each comparison."""
    for name, expression, strategy, keywords in [
        ("mmd_compare", "X, Y, X", data.samples("X", "Y"), params.MMD),
        ("hsic_compare", "X, X, y", data.with_target("X", "y"), params.HSIC),
        ("ksd_compare", "X, model, np.negative", data.with_model("X"), params.KSD),
    ]:
        yield (
            name,
            target(
                f"{name}({expression}, {{keywords}})",
                strategy,
                {**taken({**keywords, **params.RUN}), "names": NAMES},
                callables=name,
                # "candidate 0" is the name of the first candidate.
                also=("X", "Y", "y", "model", "candidate"),
                documented=is_comparison,
            ),
        )
    found = "{{'split0_test_score': np.ravel(X)[:2], "
    found += "'split1_test_score': np.ravel(X)[2:4], "
    found += "'params': [{{'a': 1}}, {{'a': 2}}]}}"
    yield (
        "search_compare",
        target(
            f"search_compare({found}, {{keywords}})",
            data.plain_samples("X", "Y"),
            {
                "metric": params.values(["'score'"], ["'r2'", "None", "3"], 4),
                "test_fraction": params.numbers("None", "0.2", "0.5"),
                "names": NAMES,
            },
            callables="search_compare",
            documented=is_comparison,
        ),
    )
    yield (
        "ComparisonDisplay",
        target(
            "ComparisonDisplay.from_result(mmd_compare(X, Y, X, {keywords}), "
            "{options})",
            data.plain_samples("X", "Y"),
            {"names": NAMES},
            {"level": params.numbers("0.05", "0.5")},
            callables="mmd_compare ComparisonDisplay",
        ),
    )
