"""Feature selection by HSIC: the columns that y depends on."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._data.checks import make_public
from skdiscrepancy.feature_selection._selector import (
    HSICSelector as HSICSelector,
    HSICSelectorCV as HSICSelectorCV,
)
from skdiscrepancy.feature_selection._single_columns import (
    ColumnCKA as ColumnCKA,
    hsic_classif as hsic_classif,
    hsic_regression as hsic_regression,
)

make_public(__name__)
