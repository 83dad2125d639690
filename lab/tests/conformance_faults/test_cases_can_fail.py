"""Each case of the conformance lab can fail: a small crawler with one fault fails it."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from periplus_lab.conformance import enclosure
from periplus_lab.conformance.adapters import Adapter
from periplus_lab.conformance.cases import CaseOutcome
from periplus_lab.conformance.judging import judge, listed_cases
from periplus_lab.conformance.trials import TRIALS, drowning, finding, freshness, life, load, robots, safety

pytestmark = pytest.mark.proof


CASES = listed_cases()
GROUPS = list(dict.fromkeys(case.group for case in CASES))
FAILS = {group: import_module(f"lab.tests.conformance_faults.faults_{group}").FAILS for group in GROUPS}
PASSES = {
    group: getattr(import_module(f"lab.tests.conformance_faults.faults_{group}"), "PASSES", {}) for group in GROUPS
}
SLOW = {group: getattr(import_module(f"lab.tests.conformance_faults.faults_{group}"), "SLOW", ()) for group in GROUPS}
RUNS = [
    pytest.param(*run, marks=[pytest.mark.slow] if run[1] in SLOW[run[0]] else [])
    for run in sorted({(case.group, case.trial, FAILS[case.group][case.name]) for case in CASES})
]
"""One crawl shows all cases of a trial that the same fault fails."""


def small_crawler(group: str, fault: str) -> Adapter:
    """The adapter of the small crawler."""
    start = [sys.executable, "-m", "lab.tests.conformance_faults.small_crawler", group, fault]
    return Adapter("small crawler", [*start, "{seed}", "{folder}", "{limit}"])


@pytest.mark.proof
@pytest.mark.parametrize(("group", "trial", "fault"), RUNS, ids=str)
def test_a_fault_is_found(group: str, trial: str, fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    monkeypatch.chdir(tmp_path)  # some faults write where they are started
    found = judge(small_crawler(group, fault), [f"{group}/{trial}"])
    verdicts = {verdict.case: verdict for verdict in found.verdicts}
    for case, wanted in FAILS[group].items():
        if wanted == fault and case in verdicts:
            verdict = verdicts[case]
            if verdict.outcome is CaseOutcome.NOT_APPLICABLE:
                pytest.skip(verdict.reason)  # this machine cannot show it
            assert verdict.outcome is CaseOutcome.FAILED, case
            assert "made no request" not in verdict.reason


@pytest.mark.proof
@pytest.mark.parametrize(
    ("group", "case", "crawler"), [(group, *item) for group in GROUPS for item in PASSES[group].items()], ids=str
)
def test_a_case_can_be_passed(group: str, case: str, crawler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that Periplus does not pass."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    (verdict,) = judge(small_crawler(group, crawler), [f"{group}/{case}"]).verdicts
    assert verdict.outcome is CaseOutcome.PASSED or verdict.reason == enclosure.WHY_NOT, verdict.reason


def test_every_case_has_a_fault() -> None:
    assert {(case.group, case.name) for case in CASES} == {(group, case) for group in GROUPS for case in FAILS[group]}


def test_names_are_unique() -> None:
    assert len({(case.group, case.name) for case in CASES}) == len(CASES)


def test_every_trial_can_be_told_from_its_case() -> None:
    """`--only group/name` takes both: a case that shares the name of a trial is the only one of it."""
    for trial in TRIALS.values():
        cases = {case.name for case in CASES if (case.group, case.trial) == (trial.group, trial.name)}
        assert trial.name not in {case.name for case in CASES if case.group == trial.group} or cases == {trial.name}


def test_every_group_has_a_module_of_its_name() -> None:
    modules = (robots, load, finding, drowning, freshness, safety, life)
    assert [module.__name__.rpartition(".")[2] for module in modules] == GROUPS


@pytest.mark.parametrize("page", ["CHANGELOG.md", "docs/conformance.md"])
def test_pages_state_the_number_of_cases(page: str) -> None:
    assert f"{len(CASES)} cases" in (Path(__file__).parents[3] / page).read_text()
