"""The walk over a design: tiles of kernel values, reduced as soon as they are made.

A *source* computes the values of several kernels, or of a core, on a tile. A *reducer*
turns each tile into small sums. The walk cuts a design into tiles, runs stripes of
tiles in threads, and adds up the sums in an order that depends only on the design. A
new core needs a new source. A new statistic or null distribution needs a new reducer.

Kernels on a single column are summed in sorted order if this is faster, and explicit
features are summed without pairs. The module `_ways` decides.
"""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._engine._blocks import ArrayBlocks, Blocks, Piece, piece_rows
from skdiscrepancy._engine._centred_products import centred_products, short_factors
from skdiscrepancy._engine._durations import announce
from skdiscrepancy._engine._factors import (
    BATCH_NUMBERS,
    MAX_RANK,
    Factor,
    column_factors,
    factor_of,
    may_be_complete,
)
from skdiscrepancy._engine._feature_maps import (
    FeatureMaps,
    check_components,
    have_features,
)
from skdiscrepancy._engine._feature_sums import (
    FeatureGroups,
    FeatureTask,
    Lines,
    Totals,
    feature_groups,
    feature_totals,
    row_values,
    run_pieces,
    sums_of_squares,
)
from skdiscrepancy._engine._features import FeatureSource
from skdiscrepancy._engine._forms import decay_rate, is_smooth, stein_kind
from skdiscrepancy._engine._frequency_groups import (
    FeatureSide,
    LineMoments,
    PairSums,
    PairTask,
    bilinear_variances,
    block_sums,
    paired_pieces,
    sums_of_products,
    unbiased_products,
)
from skdiscrepancy._engine._group_sums import GroupSums, check_group_memory, group_sums
from skdiscrepancy._engine._kept_features import KeptFeatures, keep_features
from skdiscrepancy._engine._kernel_source import KernelSource, kernel_source
from skdiscrepancy._engine._lazy_blocks import (
    DerivedBlocks,
    LazyBlocks,
    blocks_of,
    paired_blocks,
)
from skdiscrepancy._engine._lines import Classes, Line
from skdiscrepancy._engine._parallel import (
    Task,
    end_if_stopped,
    in_one_blas_thread,
    one_blas_thread,
    one_openmp_thread,
    run_all,
    run_tasks,
)
from skdiscrepancy._engine._progress import BRIEF, SILENT, Progress, progress, steps
from skdiscrepancy._engine._reducers import (
    Moments,
    ProductRowSums,
    RowSums,
    SignedPart,
    SignedSums,
)
from skdiscrepancy._engine._source_pairs import SourcePairs, source_pair_totals
from skdiscrepancy._engine._sources import (
    CentredSource,
    GramSource,
    MeanSource,
    PairedSource,
    PairWeights,
    Source,
    WeightedSource,
    as_indices,
    group_bounds,
)
from skdiscrepancy._engine._totals import ProductTotals
from skdiscrepancy._engine._two_samples import (
    KeptSums,
    Weights,
    keep_sums,
    stacked_weights,
    two_sample_sums,
)
from skdiscrepancy._engine._walk import (
    aligned_by_parts,
    design_moments,
    reduce_pairs,
    source_bytes,
    walk,
)
from skdiscrepancy._engine._ways import row_sums

__all__ = [
    "BATCH_NUMBERS",
    "BRIEF",
    "MAX_RANK",
    "SILENT",
    "ArrayBlocks",
    "Blocks",
    "CentredSource",
    "Classes",
    "DerivedBlocks",
    "Factor",
    "FeatureGroups",
    "FeatureMaps",
    "FeatureSide",
    "FeatureSource",
    "FeatureTask",
    "GramSource",
    "GroupSums",
    "KeptFeatures",
    "KeptSums",
    "KernelSource",
    "LazyBlocks",
    "Line",
    "LineMoments",
    "Lines",
    "MeanSource",
    "Moments",
    "PairSums",
    "PairTask",
    "PairWeights",
    "PairedSource",
    "Piece",
    "ProductRowSums",
    "ProductTotals",
    "Progress",
    "RowSums",
    "SignedPart",
    "SignedSums",
    "Source",
    "SourcePairs",
    "Task",
    "Totals",
    "WeightedSource",
    "Weights",
    "aligned_by_parts",
    "announce",
    "as_indices",
    "bilinear_variances",
    "block_sums",
    "blocks_of",
    "centred_products",
    "check_components",
    "check_group_memory",
    "column_factors",
    "decay_rate",
    "design_moments",
    "end_if_stopped",
    "factor_of",
    "feature_groups",
    "feature_totals",
    "group_bounds",
    "group_sums",
    "have_features",
    "in_one_blas_thread",
    "is_smooth",
    "keep_features",
    "keep_sums",
    "kernel_source",
    "may_be_complete",
    "one_blas_thread",
    "one_openmp_thread",
    "paired_blocks",
    "paired_pieces",
    "piece_rows",
    "progress",
    "reduce_pairs",
    "row_sums",
    "row_values",
    "run_all",
    "run_pieces",
    "run_tasks",
    "short_factors",
    "source_bytes",
    "source_pair_totals",
    "stacked_weights",
    "stein_kind",
    "steps",
    "sums_of_products",
    "sums_of_squares",
    "two_sample_sums",
    "unbiased_products",
    "walk",
]
