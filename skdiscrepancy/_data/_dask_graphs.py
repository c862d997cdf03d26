"""Functions of the partitions of a dask collection, merged where the partitions are."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

# Results that are merged at a time.
FAN_IN = 8
# Chains of partitions whose large results are added one after the other.
CHAINS = 32


def compute_in_order(
    function: Callable[[Any, Any], Any],
    parts: list[Any],
    extras: Iterable[Any],
    merge: Callable[[Any, Any], Any],
    advance: Callable[[], None] | None = None,
    chained: bool = False,
) -> Any:
    """Merge what a function returns for delayed partitions.

    Neighbours are merged in a tree, which does not depend on the number of workers, by
    the scheduler that is active: that of a client of dask.distributed, or of
    ``dask.config.set(scheduler=...)``.

    Parameters
    ----------
    function : callable
        Takes a partition and an object.
    parts : list of Delayed
        Partitions.
    extras : iterable
        Objects for the function.
    merge : callable
        Takes two results and returns one.
    advance : callable or None, default=None
        Called after each partition.
    chained : bool, default=False
        Whether results are large. A worker then merges the result of a partition with
        the result of the partitions before, instead of waiting for several results.

    Returns
    -------
    result : object
        Merged result.
    """
    from dask import delayed

    # Functions may hold arrays, which each worker gets once.
    of_part, of_two = (
        delayed(given, pure=False, traverse=False) for given in (function, merge)
    )
    call, joined = delayed(_call, pure=False), delayed(_merge, pure=False)
    leaves: list[Any] = []
    level: list[Any] = []
    pairs = list(zip(parts, extras, strict=False))
    length = -(-len(pairs) // CHAINS) if chained else 1
    follow = delayed(_follow, pure=False)
    for i, pair in enumerate(pairs):
        if i % length:
            leaves.append(follow(of_two, level.pop(), of_part, *pair))
        else:
            leaves.append(call(of_part, *pair))
        level.append(leaves[-1])
    fan_in = 2 if chained else FAN_IN
    while len(level) > 1:
        starts = range(0, len(level), fan_in)
        level = [joined(of_two, level[i : i + fan_in]) for i in starts]
    [root] = level
    if advance is None:
        return root.compute()
    # A small task after each partition, so that its sums need not be kept.
    mark = delayed(_mark, pure=False)
    return _watch(root, [mark(leaf) for leaf in leaves], advance)


def _call(function: Callable[[Any, Any], Any], part: Any, extra: Any) -> Any:
    return function(part, extra)


def _follow(
    merge: Callable[[Any, Any], Any],
    before: Any,
    function: Callable[[Any, Any], Any],
    part: Any,
    extra: Any,
) -> Any:
    return merge(before, function(part, extra))


def _merge(merge: Callable[[Any, Any], Any], results: list[Any]) -> Any:
    return reduce(merge, results)


def _mark(result: Any) -> None:
    """Tell that a result has come."""


def _watch(root: Any, marks: list[Any], advance: Callable[[], None]) -> Any:
    """Compute a result, and count the marks that are done."""
    import dask
    from dask.callbacks import Callback

    if dask.config.get("scheduler", None) in ("dask.distributed", "distributed"):
        from distributed import as_completed, default_client

        client = default_client()
        *done, result = futures = client.compute([*marks, root])
        try:
            for _ in as_completed(done):
                advance()
            return result.result()
        finally:
            client.cancel(futures)
    keys = {mark.key for mark in marks}

    def count(key: Any, *state: Any) -> None:
        if key in keys:
            advance()

    with Callback(posttask=count):
        return dask.compute(root, marks)[0]
