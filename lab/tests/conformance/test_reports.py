"""Verdicts as a table, as JUnit XML and as one page."""

from __future__ import annotations

from xml.etree import ElementTree

from periplus_lab.conformance.cases import CaseOutcome, Verdict
from periplus_lab.conformance.judging import Judgement, listed_cases
from periplus_lab.conformance.reports import score_table, summary_line, to_html, to_junit
from periplus_lab.conformance.trials import GROUPS

JUDGED = Judgement(
    "a<b",
    "1",
    "as documented",
    [
        Verdict("robots", "wildcard", CaseOutcome.PASSED),
        Verdict("robots", "query", CaseOutcome.FAILED, "requested <x>", ("1 s GET <x>",)),
        Verdict("robots", "longest-match", CaseOutcome.NOT_APPLICABLE, "reads no robots.txt"),
    ],
    61.0,
)


def test_scores() -> None:
    table = score_table([JUDGED, Judgement("c", "", "", JUDGED.verdicts[2:], 1.0)])
    assert [list(row.values()) for row in table.rows] == [["robots.txt", "1 of 2", "–"], ["all", "1 of 2", "–"]]
    assert summary_line(JUDGED) == "a<b 1: 1 passed, 1 failed, 1 not applicable, in 1 m 1 s."


def test_junit() -> None:
    suite = ElementTree.fromstring(to_junit(JUDGED)).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert (failure.get("message"), failure.text) == ("requested <x>", "1 s GET <x>")


def test_a_page_explains_every_failure() -> None:
    page = to_html([JUDGED])
    rule = next(case for case in listed_cases() if case.name == "query")
    assert rule.source in page
    assert "requested &lt;x&gt;" in page
    assert "a<b" not in page


def test_every_group_has_a_title() -> None:
    assert {case.group for case in listed_cases()} == GROUPS.keys()
