"""The compiled inner loops, and equivalent numpy code without numba.

On many processors, numpy has no vector instructions for exponentials in double
precision, and scipy has none for distances. Only the functions of this room change if
you install the extra `fast`. Compiled loops and numpy code agree to a few units in the
last place.
"""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._loops._angles import waves
from skdiscrepancy._loops._chains import chains_of
from skdiscrepancy._loops._constants import FAR
from skdiscrepancy._loops._crossings import Runs, run_sums
from skdiscrepancy._loops._merges import product_sums
from skdiscrepancy._loops._numba import compiled
from skdiscrepancy._loops._ordered_groups import group_sums_below
from skdiscrepancy._loops._scans import (
    DistanceProfile,
    Profile,
    complement_sums,
    distance_sums,
    of_moments,
    scan_states,
    scan_sums,
)
from skdiscrepancy._loops._shifts import shifted_sums
from skdiscrepancy._loops._tiles import (
    TileGroups,
    band,
    city_block,
    decay,
    decay_band_sums,
    decay_group_sums,
    decay_sums,
    decay_values,
    difference_products,
    few_features,
    stein_group_sums,
    stein_sums,
)

__all__ = [
    "FAR",
    "DistanceProfile",
    "Profile",
    "Runs",
    "TileGroups",
    "band",
    "chains_of",
    "city_block",
    "compiled",
    "complement_sums",
    "decay",
    "decay_band_sums",
    "decay_group_sums",
    "decay_sums",
    "decay_values",
    "difference_products",
    "distance_sums",
    "few_features",
    "group_sums_below",
    "of_moments",
    "product_sums",
    "run_sums",
    "scan_states",
    "scan_sums",
    "shifted_sums",
    "stein_group_sums",
    "stein_sums",
    "waves",
]
