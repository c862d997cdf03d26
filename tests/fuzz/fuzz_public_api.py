"""Hostile calls of the public functions; `oracle.py` says what each call must do.

``python -m pytest tests/fuzz --examples 2000 --seed 7`` makes 2000 calls and as many
again to shrink what it finds. Each kind of finding is reported once for a function,
with the smallest call as a script.
"""

# SPDX-License-Identifier: BSD-3-Clause

import importlib
import inspect
import re

import pytest
from calls import NAMESPACE
from hypothesis import HealthCheck, Phase, Verbosity, given, reject, seed, settings
from hypothesis.errors import FlakyFailure, Unsatisfiable
from oracle import KINDS, Finding, examine
from targets import TARGETS

import skdiscrepancy

MODULES = {"bandwidths", "designs", "feature_selection", "inference", "kernels"}
MODULES |= {"model_checking", "monitoring", "plotting", "pooling", "tables"}


class Search:
    """Calls of one target until a number of them is used up.

    After a finding the search goes on without it, so that one run shows all kinds.
    """

    def __init__(self, target, n_calls, seed):
        self.target, self.n_calls, self.seed = target, n_calls, seed
        self.findings, self.known = [], set()
        self.n_done = self.n_results = 0
        self.smallest = None

    def run(self):
        while self.n_done < self.n_calls:
            before = self.n_done
            self.round()
            if self.n_done == before:
                break
        return sorted(self.findings, key=lambda found: KINDS.index(found[0].kind))

    def round(self):
        self.smallest = None
        try:
            self.search(self.n_calls - self.n_done)()
        except Unsatisfiable:
            pass
        except (Finding, FlakyFailure):
            # What differs from run to run is kept as it was last seen.
            finding, call = self.smallest
            self.known.add((finding.kind, finding.where))
            self.findings.append((finding, call))

    def search(self, n_calls):
        @seed(self.seed + len(self.findings))
        @settings(
            max_examples=n_calls,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
        )
        @given(call=self.target.calls)
        def attempt(call):
            self.attempt(call)

        return attempt

    def attempt(self, call):
        try:
            call.keyword_values(call.data_values())
        except Exception:
            # These data cannot be made.
            reject()
        if self.smallest is None:
            self.n_done += 1
        elif self.smallest[0].kind == "slow":
            # Smaller calls are not looked for.
            if call == self.smallest[1]:
                raise self.smallest[0]
            return
        try:
            self.n_results += examine(call, self.target)
        except Finding as finding:
            key = finding.kind, finding.where
            looked_for = self.smallest and (
                self.smallest[0].kind,
                self.smallest[0].where,
            )
            if key in self.known or (looked_for and key != looked_for):
                return
            self.smallest = finding, call
            raise


# Base classes, results that calls give back, and what names modules.
NOT_CALLED = {"Design", "Kernel", "RadialKernel", "RowKernel"}
NOT_CALLED |= {"DiscrepancyResult", "TestResult", "ColumnTestsResult"}
NOT_CALLED |= {"ConditionalTestResult", "HSICMatrixResult", "KSampleResult"}
NOT_CALLED |= {
    "ChangePointResult",
    "CKAResult",
    "ComparisonResult",
    "DriftReportResult",
    "MMDSubsetsResult",
}
NOT_CALLED |= {name for name in skdiscrepancy.__all__ if name.islower()} & MODULES


def public_names():
    modules = ["", *(f".{name}" for name in sorted(MODULES))]
    names = set()
    for module in modules:
        names |= set(importlib.import_module(f"skdiscrepancy{module}").__all__)
    return sorted(names - NOT_CALLED)


@pytest.mark.parametrize("name", public_names())
def test_every_public_name_is_called_with_all_of_its_parameters(name):
    """Look for a public function or parameter that no target has."""
    found = [t for t in TARGETS.values() if re.search(rf"\b{name}\b", t.expression)]
    by_value = {"CompleteU", "CompleteV", "Linear", "Subdiagonals"}
    by_value |= {"Blocks", "Cross", "RandomPairs"}
    if name in by_value:
        found = [t for t in TARGETS.values() if "check_design" in t.expression]
    assert found
    given = set().union(*(members for t in found for members in t.groups.values()))
    keyword_only = {
        p.name
        for p in inspect.signature(NAMESPACE[name]).parameters.values()
        if p.kind is p.KEYWORD_ONLY
    }
    if name not in by_value and not name.endswith("Display"):
        assert keyword_only - given == set()


@pytest.mark.parametrize("name", TARGETS)
def test_calls_keep_the_rules_of_the_oracle(name, request):
    config = request.config
    n_calls = -(-config.getoption("examples") // len(TARGETS))
    search = Search(TARGETS[name], n_calls, config.getoption("seed"))
    findings = search.run()
    request.node.user_properties.append(("calls", (search.n_done, search.n_results)))
    text = "\n\n".join(
        f"# {name}: {finding}\n{call.source()}" for finding, call in findings
    )
    if findings:
        request.node.add_report_section("call", "findings", text)
        pytest.fail(f"{name}: {len(findings)} kind(s) of finding", pytrace=False)
