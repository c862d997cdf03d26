"""Tests of whole clusters of rows: a cluster is one observation, its mean embedding.

The rows of a cluster have weights that sum to one, so sums over pairs of clusters are
sums over groups of rows, and the null distributions are those of single rows.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from skdiscrepancy._data.arrays import as_block, as_rows, encode_labels
from skdiscrepancy._data.checks import draw_seeds
from skdiscrepancy._gram.features import stacked
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.tiles import Gram, PairWeights, WeightedGram
from skdiscrepancy._nulls.groups import accurate_group_sums, permutation_test, sign_test
from skdiscrepancy._nulls.pvalues import GROUPS, Options, TestResult
from skdiscrepancy._nulls.shifts import Variable, shift_test
from skdiscrepancy._statistics.second_order import positions_of
from skdiscrepancy.designs import square
from skdiscrepancy.kernels._base import PrecomputedKernel

# More clusters have random signs in a test of independence, because the means of each
# kernel over all pairs of clusters would take too much memory.
MIN_CLUSTERS, MOST_CLUSTERS = 4, 1000


def clusters_of_samples_test(samples: Sequence[Any], options: Options) -> TestResult:
    """Test whether samples have the same distribution, by whole clusters of rows.

    If each cluster is in one sample, clusters are permuted. If each cluster is in both
    samples, an observation is the difference of two mean embeddings, with random signs.
    """
    owners = np.repeat(np.arange(len(samples)), list(map(len, samples)))
    codes = encode_labels(np.concatenate(options.clusters)[:, np.newaxis])
    counts = np.zeros((codes.max() + 1, len(samples)))
    np.add.at(counts, (codes, owners), 1)
    n_own, n_both = (counts > 0).sum(axis=0), ((counts > 0).sum(axis=1) > 1).sum()
    allowed = (0, len(counts)) if len(samples) == 2 else (0,)
    if n_both not in allowed or n_own.min() < 2:
        raise ValueError(
            f"clusters has {len(counts) - n_both} clusters in one sample, {n_both} in "
            f"several samples, and {n_own.min()} in the sample with the fewest. Each "
            "cluster must be in one sample, or if there are two samples, each in both, "
            "and each sample must have at least 2. Keep only the rows of the clusters "
            "that are in one sample, or only the rows of the others."
        )
    order, options = _in_order(codes, options, *([] if n_both else [owners]))
    w = (np.where(n_both, 1 - 2 * owners, 1) / counts[codes, owners])[order]
    rows = as_rows(stacked(list(map(as_block, samples))))[order]
    [seed] = draw_seeds(options.generator, 1)
    how: Any = {"n_components": options.n_components, "seed": seed, "run": options.run}
    core = gram(options.kernels, rows, weights=[w], **how)
    core.in_order = True
    if options.n_components is None:
        core = WeightedGram(core, PairWeights(w, [(1.0, w)]))
    if n_both:
        return sign_test(core, options._replace(method="swap"))
    return permutation_test(core, n_own.tolist(), options)


def clusters_of_pairs_test(
    x: Variable, y: Variable, options: Options, how: dict[str, Any]
) -> TestResult:
    """Test whether x and y are independent, by whole clusters of rows.

    If x or y is constant in every cluster, clusters are permuted. If not, or if there
    are many clusters, each cluster has a random sign. `how` says how to sum kernels.
    """
    order, options = _in_order(options.clusters[0], options)
    starts, size = options.clusters, np.diff(options.clusters)
    if len(size) < MIN_CLUSTERS:
        raise ValueError(
            f"clusters has {len(size)} different labels, must have at least "
            f"{MIN_CLUSTERS} for an HSIC test."
        )
    sides = [(rows[order], kernels) for rows, kernels in (x, y)]
    first = np.repeat(starts[:-1], size)
    varies = [(as_block(Z) != as_block(Z[first])).sum() > 0 for Z, _ in sides]
    if not all(varies) and len(size) <= MOST_CLUSTERS:
        observations = []
        for rows, kernels in sides:
            core = gram(kernels, rows, **how)
            core.in_order = True
            # The U-statistic does not need the means within clusters.
            means = accurate_group_sums(core, starts).groups / np.outer(size, size)
            own = positions_of(means[0]), list(map(PrecomputedKernel, means))
            observations.append(own)
        return shift_test(observations[0], observations[1], options)
    w = np.repeat(1 / size, size)
    cores = [_centred(gram(k, Z, run=options.run), w, starts) for Z, k in sides]
    core = WeightedGram(cores[0] * cores[1], PairWeights(w, [(1.0, w)]))
    options = options._replace(method="wild", n_groups=GROUPS, n_components=None)
    return sign_test(core, options)


def _in_order(codes: np.ndarray, options: Options, *keys: Any) -> tuple[Any, Options]:
    """Return an order of rows by `keys` and clusters, and options with their starts.

    The clusters are in random order, because several of them may form a group.
    """
    ranks = options.generator.permutation(codes.max() + 1)[codes]
    order = np.lexsort((ranks, *keys))
    starts = np.flatnonzero(np.diff(ranks[order], prepend=-1, append=-1))
    return order, options._replace(clusters=starts)


def _centred(gram: Gram, weights: np.ndarray, starts: np.ndarray) -> Gram:
    """Return matrices of which the sums over the rows of other clusters are zero.

    If each row is a cluster, the matrices are those of the U-statistic.
    """
    n = len(starts) - 1
    within = [square(*ends, diagonal=True) for ends in pairwise(starts.tolist())]
    sums = gram.sums(weights)
    sums -= np.concatenate([own for own, _ in gram.walk(within, weights)], axis=1)
    # The offsets f of the rows i of a cluster solve (n - 1) f_i + F - F_c = sums_i,
    # where F is the sum of f over all clusters, and F_c the sum over this cluster.
    totals = np.add.reduceat(weights * sums, starts[:-1], axis=1)
    total = totals.sum(axis=1, keepdims=True) / (2 * (n - 1))
    own = np.repeat((totals - total) / (n - 2), np.diff(starts), axis=1)
    return gram.centred((sums - total + own) / (n - 1))
