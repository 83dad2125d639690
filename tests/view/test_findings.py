"""Findings: their texts are filled in, they are in order, and they are shown alike wherever they come from."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest
from rich.console import Console
from tests.markup import elements

from periplus.view.findings import FaultyUrl, Finding, FindingKind, Severity, failing, in_order, load_kinds
from periplus.view.html import html_finding
from periplus.view.terminal import print_finding

DEAD = FindingKind("dead", Severity.ERROR, "Dead: {count} of {of}", "{who} get an error.", "Restore them.")
SLOW = FindingKind("slow", Severity.NOTICE, "Slow: {count}", "They wait.", "Cache them.")


def found(kind: FindingKind, *examples: FaultyUrl | str) -> Finding:
    return Finding(**kind.filled(1200, 5000, who="Visitors"), examples=examples)


def test_texts_are_filled_in() -> None:
    """With numbers as people write them; JSON has all of it."""
    value = msgspec.to_builtins(found(DEAD, "a: 1"))
    assert (value["title"], value["why"], value["severity"]) == (
        "Dead: 1,200 of 5,000",
        "Visitors get an error.",
        "error",
    )
    assert list(value["examples"]) == ["a: 1"]


DECLARED = """\
[dead]
severity = "error"
title = "Dead: {count} of {of}"
why = "{who} get an error."
advice = "Restore them."
"""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (DECLARED.replace('why = "{who} get an error."\n', ""), "missing required field `why`"),
        (DECLARED + 'reason = "They are gone."\n', "unknown field `reason`"),
        (DECLARED.replace('"error"', '"fatal"'), "Invalid enum value 'fatal'"),
    ],
)
def test_kinds_are_declared_in_a_file(tmp_path: Path, text: str, problem: str) -> None:
    """With every text and no other; what is wrong with a file is said as soon as it is read."""
    file = tmp_path / "findings.toml"
    file.write_text(DECLARED)
    assert load_kinds(file, FindingKind) == {"dead": DEAD}
    file.write_text(text)
    with pytest.raises(msgspec.ValidationError, match=problem):
        load_kinds(file, FindingKind)


def test_the_most_severe_are_first_and_can_fail() -> None:
    """By severity, whatever the order of the kinds; a name or a severity is wanted."""
    findings = in_order([found(SLOW), found(DEAD)], ["slow", "dead"])
    assert [each.name for each in findings] == ["dead", "slow"]
    assert failing(findings, {"error", "slow"}) == ["dead", "slow"]
    assert failing(findings, {"warning"}) == []


def test_findings_are_shown_with_their_evidence() -> None:
    """URLs with notes and where they were found, or other evidence; on a terminal no more than is asked for."""
    one = found(DEAD, FaultyUrl("http://a.test/\x1b", "404", "http://a.test/from"), "Googlebot: 1.2.3.4", "not shown")
    out = io.StringIO()
    print_finding(Console(file=out, width=80), one, 2)
    lines = [line.strip() for line in out.getvalue().splitlines() if line.strip()]
    assert lines == [
        "✗ Dead: 1,200 of 5,000  dead",
        "Visitors get an error.",
        "→ Restore them.",
        "http://a.test/\ufffd  404  (on http://a.test/from)",
        "Googlebot: 1.2.3.4",
    ]
    card = html_finding(found(DEAD, FaultyUrl("http://a.test/", "<b>", "javascript:x"), "<i>"))
    assert [each.get("href") for each in elements(card, "//a")] == ["http://a.test/"]
    assert elements(card, "//b | //i") == []
    assert elements(card, "//span[@class='do']")[0].text_content() == "Restore them."
