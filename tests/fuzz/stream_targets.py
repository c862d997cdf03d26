"""What is called: the monitor of streams, and sequential tests."""

# SPDX-License-Identifier: BSD-3-Clause

import hostile_data as data
import hostile_parameters as params
from calls import ALWAYS, is_array, target

KEYWORDS = {
    **{name: params.STATISTIC[name] for name in ("kernel", "bandwidth", "encoder")},
    "n_bandwidths": params.sizes("2", "1"),
    "window_size": params.sizes("2", "3", "np.int64(4)"),
    "run_length": params.numbers("5", "2", "7.5", "np.float32(9)"),
    **params.RUN,
    **params.VERBOSE,
}
SEQUENTIAL = {
    **{name: params.STATISTIC[name] for name in ("kernel", "bandwidth", "encoder")},
    "n_bandwidths": params.sizes("2", "1"),
    "n_warmup": params.sizes("4", "5", "np.int64(6)"),
    "n_components": params.sizes("2", "3", "np.int64(4)"),
    "level": params.numbers("0.05", "1", "0.5"),
    "random_state": params.RUN["random_state"],
}


def are_alarms(result):
    return "" if result.dtype == bool else f"alarms of type {result.dtype}"


def stream_targets():
    """Yield the methods of the monitor."""
    made = "DriftMonitor({keywords}).fit(X)"
    for name, expression, documented in [
        ("fit", f"{made}.thresholds_", is_array),
        ("update", f"{made}.update(Y)", are_alarms),
        ("update of a row", f"{made}.update(X[0])", are_alarms),
        ("reset", f"{made}.reset().threshold_", None),
        (
            "contributions",
            "(lambda m: (m.update(Y), m.contributions()))(" + made + ")[1]",
            is_array,
        ),
    ]:
        options = {} if documented is None else {"documented": documented}
        yield (
            f"DriftMonitor.{name}",
            target(
                expression,
                data.samples("X", "Y", widest=12),
                KEYWORDS,
                callables="DriftMonitor",
                always=[*ALWAYS, "window_size", "run_length", "n_bandwidths"],
                also=("X", "Y"),
                **options,
            ),
        )
    of_model = {n: v for n, v in SEQUENTIAL.items() if n not in ("kernel", "encoder")}
    of_model["kernel"] = params.KSD["kernel"]
    model = data.with_model("X", fitted=True, functions=False)
    for name, made, second, rows, members in [
        ("SequentialMMDTest", "", "Y", data.samples("X", "Y", widest=12), SEQUENTIAL),
        (
            "SequentialHSICTest",
            "",
            "y",
            data.with_target("X", "y", widest=12, many=60),
            SEQUENTIAL | params.TARGET,
        ),
        ("SequentialKSDTest", "model, ", "", model, of_model),
    ]:
        yield (
            name,
            target(
                f"{name}({made}{{keywords}}).update(X{second and ', ' + second})",
                rows,
                members,
                callables=name,
                always=["n_warmup", "n_components", "n_bandwidths", "random_state"],
                also=("X", *filter(None, [second])),
                documented=are_alarms,
            ),
        )
