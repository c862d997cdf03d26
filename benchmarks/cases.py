"""All cases by their names."""

# SPDX-License-Identifier: BSD-3-Clause

import default_cases
import feature_cases
import incomplete_cases
import limit_cases
import monitoring_cases
import peer_cases
import representation_cases
import selection_cases
import sorted_cases
import stein_feature_cases
import table_cases
import testing_cases

CASES = {
    case.name: case
    for module in (
        default_cases,
        feature_cases,
        stein_feature_cases,
        peer_cases,
        representation_cases,
        selection_cases,
        sorted_cases,
        testing_cases,
        incomplete_cases,
        monitoring_cases,
        table_cases,
        limit_cases,
    )
    for case in module.CASES
}
