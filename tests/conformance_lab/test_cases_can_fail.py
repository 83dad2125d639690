"""Each case of the conformance lab can fail: a small crawler with one fault fails it."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from periplus.apps.lab.conformance import enclosure
from periplus.apps.lab.conformance.adapters import Adapter
from periplus.apps.lab.conformance.cases import Outcome
from periplus.apps.lab.conformance.judging import judge, listed_cases

CASES = listed_cases()
GROUPS = list(dict.fromkeys(case.group for case in CASES))
FAILS = {group: import_module(f"tests.conformance_lab.faults_{group}").FAILS for group in GROUPS}
RUNS = sorted({(case.group, case.trial, FAILS[case.group][case.name]) for case in CASES})
"""One crawl shows all cases of a trial that the same fault fails."""


def small_crawler(group: str, fault: str) -> Adapter:
    """The adapter of the small crawler."""
    start = [sys.executable, "-m", "tests.conformance_lab.small_crawler", group, fault]
    return Adapter("small crawler", [*start, "{seed}", "{folder}", "{limit}"])


@pytest.mark.parametrize(("group", "trial", "fault"), RUNS, ids=str)
def test_a_fault_is_found(group: str, trial: str, fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.chdir(tmp_path)  # some faults write where they are started
    found = judge(small_crawler(group, fault), [f"{group}/{trial}"])
    verdicts = {verdict.case: verdict for verdict in found.verdicts}
    for case, wanted in FAILS[group].items():
        if wanted == fault and case in verdicts:
            verdict = verdicts[case]
            if verdict.outcome is Outcome.NOT_APPLICABLE:
                assert verdict.reason == enclosure.WHY_NOT
                pytest.skip(verdict.reason)
            assert verdict.outcome is Outcome.FAILED, case
            assert "made no request" not in verdict.reason


def test_every_case_has_a_fault() -> None:
    assert {(case.group, case.name) for case in CASES} == {(group, case) for group in GROUPS for case in FAILS[group]}


def test_names_are_unique() -> None:
    assert len({(case.group, case.name) for case in CASES}) == len(CASES)
