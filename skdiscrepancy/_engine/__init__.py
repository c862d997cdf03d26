"""The walk over a design: tiles of kernel values, reduced as soon as they are made.

A *source* gives the values of several kernels, or of a core, on a tile. A *reducer*
turns each tile into small sums. The walk cuts a design into tiles, runs stripes of them
in threads, and adds up what comes back in an order that depends on nothing but the
design. A new core is a new source, a new statistic or null a new reducer.

Kernels on a single column that have a shorter way are summed in sorted order instead;
`_columns` says which, and when.
"""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._engine._factors import (
    BATCH_NUMBERS,
    MAX_RANK,
    Factor,
    column_factors,
    factor_of,
    is_smooth,
    may_be_complete,
)
from skdiscrepancy._engine._group_sums import GroupSums, group_sums
from skdiscrepancy._engine._lines import (
    Classes,
    Line,
    factors_in_order,
    line_profiles,
    other_kernels,
    row_sums,
    two_sample_sums,
)
from skdiscrepancy._engine._parallel import Task, one_blas_thread, run_all, run_tasks
from skdiscrepancy._engine._reducers import Moments, ProductRowSums, RowSums
from skdiscrepancy._engine._sources import (
    CentredSource,
    GramSource,
    KernelSource,
    PairedSource,
    Source,
    WeightedSource,
    kernel_source,
)
from skdiscrepancy._engine._totals import ProductTotals
from skdiscrepancy._engine._walk import design_moments, walk

__all__ = [
    "BATCH_NUMBERS",
    "MAX_RANK",
    "CentredSource",
    "Classes",
    "Factor",
    "GramSource",
    "GroupSums",
    "KernelSource",
    "Line",
    "Moments",
    "PairedSource",
    "ProductRowSums",
    "ProductTotals",
    "RowSums",
    "Source",
    "Task",
    "WeightedSource",
    "column_factors",
    "design_moments",
    "factor_of",
    "factors_in_order",
    "group_sums",
    "is_smooth",
    "kernel_source",
    "line_profiles",
    "may_be_complete",
    "one_blas_thread",
    "other_kernels",
    "row_sums",
    "run_all",
    "run_tasks",
    "two_sample_sums",
    "walk",
]
