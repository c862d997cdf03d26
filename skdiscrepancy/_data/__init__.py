"""Rows, labels and targets, checks of single parameters, and the base of results."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._data._arrays import (
    check_columns,
    check_rows,
    names_of,
    validate_rows,
)
from skdiscrepancy._data._checks import (
    MOST_DRAWS,
    check_flag,
    check_number,
    refuse_changed,
    shown,
    text_of,
    values_of,
    warn_user,
)
from skdiscrepancy._data._column_encoders import check_column_encoder
from skdiscrepancy._data._distances import (
    Distances,
    aligned_distances,
    block_distances,
    cross_products,
)
from skdiscrepancy._data._joint_rows import DividedRows, lazy_pair
from skdiscrepancy._data._keywords import (
    KeywordHints,
    check_run_options,
    check_verbose,
    explains_keywords,
    refuse_unknown_keywords,
    takes_parameters_of,
)
from skdiscrepancy._data._labels import (
    as_array,
    as_labels,
    encode_labels,
    refuse_masked,
    refuse_missing,
)
from skdiscrepancy._data._layouts import Layout
from skdiscrepancy._data._lazy import is_on_disk, kind_of_blocks, refuse_blocks
from skdiscrepancy._data._lazy_labels import LazyCodes, distinct_rows
from skdiscrepancy._data._lazy_rows import (
    DaskRows,
    LazyRows,
    StreamRows,
    lazy_rows,
    of_blocks,
    spread_rows,
    table_of,
)
from skdiscrepancy._data._metrics import (
    SPARSE_METRICS,
    aligned_metric_distances,
    check_metric,
    metric_distances,
)
from skdiscrepancy._data._numbers import as_numbers, is_numeric
from skdiscrepancy._data._quantiles import TOO_LARGE, ColumnDistances, ListedDistances
from skdiscrepancy._data._representatives import MAX_ROWS, representative_rows
from skdiscrepancy._data._results import MatrixResult, Result
from skdiscrepancy._data._rows import Codes, Index, Rows
from skdiscrepancy._data._seeds import RandomStateLike, draw_seeds, generator_of
from skdiscrepancy._data._sparse import (
    SparseRows,
    aligned_products,
    as_block,
    as_rows,
    inner_products,
    of_one_kind,
    read_only,
)
from skdiscrepancy._data._tables import (
    Column,
    as_table,
    is_table,
    needs_encoding,
    read_columns,
)
from skdiscrepancy._data._targets import (
    MAX_LABELS,
    are_integers,
    are_labels,
    refuse_different_labels,
    refuse_numbers_among_labels,
    tag_target,
    validate_with_target,
)
from skdiscrepancy._data._weights import (
    check_weights,
    effective_size,
    n_rows,
    other_weights,
    rows_with_weight,
)

__all__ = [
    "MAX_LABELS",
    "MAX_ROWS",
    "MOST_DRAWS",
    "SPARSE_METRICS",
    "TOO_LARGE",
    "Codes",
    "Column",
    "ColumnDistances",
    "DaskRows",
    "Distances",
    "DividedRows",
    "Index",
    "KeywordHints",
    "Layout",
    "LazyCodes",
    "LazyRows",
    "ListedDistances",
    "MatrixResult",
    "RandomStateLike",
    "Result",
    "Rows",
    "SparseRows",
    "StreamRows",
    "aligned_distances",
    "aligned_metric_distances",
    "aligned_products",
    "are_integers",
    "are_labels",
    "as_array",
    "as_block",
    "as_labels",
    "as_numbers",
    "as_rows",
    "as_table",
    "block_distances",
    "check_column_encoder",
    "check_columns",
    "check_flag",
    "check_metric",
    "check_number",
    "check_rows",
    "check_run_options",
    "check_verbose",
    "check_weights",
    "cross_products",
    "distinct_rows",
    "draw_seeds",
    "effective_size",
    "encode_labels",
    "explains_keywords",
    "generator_of",
    "inner_products",
    "is_numeric",
    "is_on_disk",
    "is_table",
    "kind_of_blocks",
    "lazy_pair",
    "lazy_rows",
    "metric_distances",
    "n_rows",
    "names_of",
    "needs_encoding",
    "of_blocks",
    "of_one_kind",
    "other_weights",
    "read_columns",
    "read_only",
    "refuse_blocks",
    "refuse_changed",
    "refuse_different_labels",
    "refuse_masked",
    "refuse_missing",
    "refuse_numbers_among_labels",
    "refuse_unknown_keywords",
    "representative_rows",
    "rows_with_weight",
    "shown",
    "spread_rows",
    "table_of",
    "tag_target",
    "takes_parameters_of",
    "text_of",
    "validate_rows",
    "validate_with_target",
    "values_of",
    "warn_user",
]
