"""The walk over a design: tiles of kernel values, reduced as soon as they are made.

A *source* gives the values of several kernels, or of a core, on a tile. A *reducer*
turns each tile into small sums. The walk cuts a design into tiles, runs stripes of them
in threads, and adds up what comes back in an order that depends on nothing but the
design. A new core is a new source, a new statistic or null a new reducer.

Kernels on a single column that have a shorter way are summed in sorted order instead;
`_columns` says which, and when.
"""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._engine._columns import (
    Classes,
    Line,
    factors_in_order,
    line_profiles,
    other_kernels,
    row_sums,
    two_sample_sums,
)
from skdiscrepancy._engine._groups import GroupSums, group_sums
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
from skdiscrepancy._engine._walk import (
    Task,
    _one_blas_thread,
    design_moments,
    run_all,
    run_tasks,
    walk,
)

__all__ = [
    "CentredSource",
    "Classes",
    "GramSource",
    "GroupSums",
    "KernelSource",
    "Line",
    "Moments",
    "PairedSource",
    "ProductRowSums",
    "RowSums",
    "Source",
    "Task",
    "WeightedSource",
    "_one_blas_thread",
    "design_moments",
    "factors_in_order",
    "group_sums",
    "kernel_source",
    "line_profiles",
    "other_kernels",
    "row_sums",
    "run_all",
    "run_tasks",
    "two_sample_sums",
    "walk",
]
