"""Figures of designs, kernels, witness functions, tests and selections.

The Displays work like the Displays of scikit-learn. Class methods such as `from_result`
and `from_estimator` compute and draw, and `plot` draws again. The method `plot` of a
result creates its Display. Titles and legends are above the axes. If you draw in your
own axes, create the figure with ``layout="constrained"`` to leave space for them.

Displays need matplotlib: ``pip install "skdiscrepancy[plot]"``.
"""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._data.checks import make_public
from skdiscrepancy.plotting._charts import (
    BandwidthDisplay as BandwidthDisplay,
    BatchScoresDisplay as BatchScoresDisplay,
    ChangePointDisplay as ChangePointDisplay,
    ColumnTestsDisplay as ColumnTestsDisplay,
    ComparisonDisplay as ComparisonDisplay,
    DriftReportDisplay as DriftReportDisplay,
    MonitorDisplay as MonitorDisplay,
    NullDistributionDisplay as NullDistributionDisplay,
    SelectionCVDisplay as SelectionCVDisplay,
    SelectionDisplay as SelectionDisplay,
    SubsetsDisplay as SubsetsDisplay,
)
from skdiscrepancy.plotting._maps import (
    CKADisplay as CKADisplay,
    DesignDisplay as DesignDisplay,
    HSICMatrixDisplay as HSICMatrixDisplay,
    KSampleDisplay as KSampleDisplay,
    WitnessDisplay as WitnessDisplay,
)

make_public(__name__)
