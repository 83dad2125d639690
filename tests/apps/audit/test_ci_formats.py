"""CSV, JUnit and SARIF of an audit, and the comparison of two: the structure that their readers rely on."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.apps.audit.test_finding_kinds import audit_of

from periplus.apps.audit import KINDS, Area, Audit, SiteFinding, compare, to_csv, to_junit, to_sarif
from periplus.apps.audit.comparison import MAX_TREND, TrendPoint, with_audit
from periplus.view.findings import FaultyUrl, Severity

EVIL = 'http://a.test/"><script>&\x00'


def finding(name: str, *urls: str, note: str = "", count: int = 0) -> SiteFinding:
    kind = KINDS[name]
    examples = tuple(FaultyUrl(url, note, "http://a.test/") for url in urls)
    number = count or len(urls) or 1
    filled = kind.filled(number, 9, days=1, limit=1, detail="", delay=1.0)
    return SiteFinding(**filled | {"title": "a title", "why": "why", "advice": "do"}, area=kind.area, examples=examples)


def sarif(audit: Audit, before: Audit | None = None) -> dict[str, Any]:
    log = json.loads(to_sarif(audit, compare(before, audit) if before else None))
    assert isinstance(log, dict)
    return log


def test_sarif_has_the_required_properties() -> None:
    """Of SARIF 2.1.0, and those that code scanners ask for besides: rules, levels, locations, fingerprints."""
    log = sarif(
        audit_of(finding("broken-links", EVIL, note="404"), finding("no-sitemap"), finding("orphans", "http://x/"))
    )
    assert (log["version"], log["$schema"]) == ("2.1.0", "https://json.schemastore.org/sarif-2.1.0.json")
    [run] = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"]
    assert len({rule["id"] for rule in rules}) == len(rules) == len(KINDS)
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert "{" not in rule["fullDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    assert [result["ruleId"] for result in run["results"]] == ["broken-links", "no-sitemap", "orphans"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].startswith("http")
        assert "baselineState" not in result
    assert len({json.dumps(result["partialFingerprints"]) for result in run["results"]}) == 3


_URI = re.compile(r"https?://(?:[A-Za-z0-9._~:/?#@!$&'()*+,;=\[\]-]|%[0-9A-Fa-f]{2})+")
"""An absolute URI by RFC 3986: no control characters, quotation marks or letters beyond ASCII."""
_UTC = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z")
_KNOWN = {
    "log": {"$schema", "version", "runs"},
    "run": {"tool", "invocations", "columnKind", "results"},
    "driver": {"name", "version", "semanticVersion", "rules"},
    "rule": {"id", "name", "shortDescription", "fullDescription", "help", "defaultConfiguration", "properties"},
    "result": {
        "ruleId", "ruleIndex", "level", "message", "locations", "relatedLocations", "partialFingerprints",
        "baselineState",
    },
}  # fmt: skip
"""Properties of SARIF 2.1.0 that are written: the schema allows no others but its own."""


def test_sarif_keeps_the_rules_of_the_standard() -> None:
    """Section by section of SARIF 2.1.0, for URLs, texts and fixed faults of every kind."""
    strange = ("http://a.test/ä b", "http://a.test/%zz|", EVIL)
    before = audit_of(*(finding(name, "http://a.test/fixed") for name in KINDS))
    log = sarif(audit_of(*(finding(name, *strange, note=EVIL) for name in KINDS)), before)
    assert log.keys() == _KNOWN["log"]
    [run] = log["runs"]
    assert run.keys() == _KNOWN["run"]
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    driver = run["tool"]["driver"]
    assert driver.keys() == _KNOWN["driver"]
    assert re.fullmatch(r"\d+\.\d+\.\d+([-+].+)?", driver["semanticVersion"])
    for rule in driver["rules"]:
        assert rule.keys() == _KNOWN["rule"]
        assert all(rule[part]["text"] for part in ("shortDescription", "fullDescription", "help"))
        assert len(set(rule["properties"]["tags"])) == len(rule["properties"]["tags"])
    for invocation in run["invocations"]:
        assert isinstance(invocation["executionSuccessful"], bool)
        assert all(_UTC.fullmatch(invocation[key]) for key in invocation.keys() & {"startTimeUtc", "endTimeUtc"})
    costs = {kind.name for kind in KINDS.values() if kind.area is Area.COST}
    compared = [result for result in run["results"] if result["ruleId"] not in costs]
    assert {result["baselineState"] for result in compared} == {"new", "absent"}
    assert not any("baselineState" in result for result in run["results"] if result["ruleId"] in costs)
    for result in run["results"]:
        assert result.keys() <= _KNOWN["result"]
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        for place in (*result["locations"], *result.get("relatedLocations", ())):
            assert _URI.fullmatch(place["physicalLocation"]["artifactLocation"]["uri"])
        assert all(key and value for key, value in result["partialFingerprints"].items())
    prints = [json.dumps(result["partialFingerprints"]) for result in run["results"]]
    assert len(set(prints)) == len(prints) == 4 * len(KINDS) - len(costs)


def test_sarif_of_a_comparison_has_baseline_states() -> None:
    """New, unchanged and absent: every result has one of them."""
    before = audit_of(finding("orphans", "http://a.test/1", "http://a.test/2"))
    log = sarif(audit_of(finding("orphans", "http://a.test/2", "http://a.test/3")), before)
    results = log["runs"][0]["results"]
    places = {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]: result["baselineState"]
        for result in results
    }
    assert places == {"http://a.test/1": "absent", "http://a.test/2": "unchanged", "http://a.test/3": "new"}


def test_junit_counts_agree_with_its_cases() -> None:
    """Every kind of finding is a case: failed, skipped where it could not be checked, or passed."""
    audit = audit_of(finding("broken-links", EVIL, note="\x0b404"), finding("title-long", "http://a.test/"))
    root = ElementTree.fromstring(to_junit(audit))
    [suite] = root
    cases = list(suite)
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    assert {case.attrib["name"] for case in cases} == KINDS.keys()
    for key, tag in (("failures", "failure"), ("skipped", "skipped")):
        assert int(suite.attrib[key]) == sum(case.find(tag) is not None for case in cases) == 1
    assert int(suite.attrib["tests"]) == len(cases)
    [failed] = [case for case in cases if case.find("failure") is not None]
    assert (failed.attrib["name"], failed.attrib["classname"]) == ("broken-links", "audit.links")
    chosen = ElementTree.fromstring(to_junit(audit, ["title-long"]))[0]
    assert [case.attrib["name"] for case in chosen if case.find("failure") is not None] == ["title-long"]


def test_csv_has_a_row_for_each_fault_and_no_formulas() -> None:
    """A finding without URLs has one row; what a spreadsheet would compute is text."""
    audit = audit_of(finding("title-long", "http://a.test/1", "http://a.test/2", note="=1+1"), finding("no-sitemap"))
    rows = list(csv.DictReader(io.StringIO(to_csv(audit))))
    assert [(row["finding"], row["url"]) for row in rows] == [
        ("title-long", "http://a.test/1"),
        ("title-long", "http://a.test/2"),
        ("no-sitemap", ""),
    ]
    assert rows[0]["note"] == "'=1+1"
    assert {row["severity"] for row in rows} <= {severity.value for severity in Severity}


def test_a_comparison_does_not_call_fixed_what_was_not_checked() -> None:
    """Neither where the finding is unjudged now, nor where only some of the URLs are known."""
    before = audit_of(finding("orphans", "http://a.test/1"), finding("broken-links", "http://a.test/2"))
    unchecked = compare(before, audit_of())  # `audit_of` has orphans among the unjudged
    assert unchecked.unknown == ("orphans",)
    assert (unchecked.new, unchecked.fixed, unchecked.remaining) == (0, 1, 0)
    cut = compare(audit_of(finding("broken-links", "http://a.test/2", count=40)), before)
    [links] = [change for change in cut.changes if change.name == "broken-links"]
    assert (links.new, links.fixed, links.before, links.after) == ((), (), 40, 1)
    assert cut.fixed == 39


URLS = st.lists(st.sampled_from(["", *(f"http://a.test/{number}" for number in range(6))]), max_size=8)


@given(before=URLS, after=URLS, missing=st.integers(0, 5))
def test_new_fixed_and_remaining_add_up(before: list[str], after: list[str], missing: int) -> None:
    """Of every finding: what is new and what remains is all there is now, and likewise what there was."""
    audits = [
        audit_of(finding("broken-links", *urls, count=len(urls) + more)) if urls else audit_of()
        for urls, more in ((before, missing), (after, 0))
    ]
    counts = [sum(found.count for found in each.findings) for each in audits]
    found = compare(*audits)
    assert (found.fixed + found.remaining, found.new + found.remaining) == tuple(counts)
    assert min(found.new, found.fixed, found.remaining) >= 0
    rows = list(csv.DictReader(io.StringIO(to_csv(audits[1], found))))
    results = json.loads(to_sarif(audits[1], found))["runs"][0]["results"]
    assert [row["url"] for row in rows if row["state"] == "fixed"] == list(
        found.changes[0].fixed if counts != [0, 0] else ()
    )
    assert sum(result.get("baselineState") == "absent" for result in results) == sum(
        row["state"] == "fixed" for row in rows
    )
    assert found.new_findings == ({"broken-links"} if found.new else set())


def test_the_cost_of_a_crawl_is_neither_new_nor_fixed() -> None:
    """It differs between crawls of a site that did not change."""
    cost, fault = finding("needless-requests", count=8), finding("broken-links", "http://a.test/1")
    for audits in ((audit_of(cost), audit_of()), (audit_of(), audit_of(cost))):
        found = compare(*audits)
        assert (found.changes, found.unknown, found.new, found.fixed) == ((), (), 0, 0)
    [row, *_] = csv.DictReader(io.StringIO(to_csv(audit_of(cost), compare(audit_of(fault), audit_of(cost)))))
    assert row["state"] == ""


@given(count=st.integers(1, 500), of=st.integers(0, 500))
def test_a_finding_never_has_more_faults_than_were_looked_at(count: int, of: int) -> None:
    """Whatever a check counts."""
    filled = KINDS["broken-links"].filled(count, of)
    assert filled["count"] == count
    assert filled["of"] >= count or not of


def test_the_trend_is_bounded_and_in_order() -> None:
    """Another audit of the same answers takes the place of the last; the oldest are thinned."""
    trend: tuple[TrendPoint, ...] = ()
    for number in range(3 * MAX_TREND):
        trend = with_audit(
            trend, replace(audit_of(finding("orphans", "http://a.test/")), seen_until=float(number)), None
        )
        again = with_audit(trend, replace(audit_of(), seen_until=float(number)), None)
        assert len(again) == len(trend) <= MAX_TREND + 1
        assert (again[-1].warnings, trend[-1].warnings, trend[-1].faults) == (0, 1, {"orphans": 1})
    times = [point.at for point in trend]
    assert times == sorted(set(times))
    assert (times[0], times[-1]) == (0.0, 3.0 * MAX_TREND - 1)
