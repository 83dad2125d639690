"""An audit as CSV, JUnit XML and SARIF 2.1.0, for spreadsheets and continuous integration.

All three list the examples that the audit has, so it should have been made with many. Text of the site is escaped; in
CSV a value that a spreadsheet would compute (`=`, `+`, `-`, `@`) gets a leading apostrophe.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final
from urllib.parse import quote

import msgspec

from periplus import __version__
from periplus.view.csv_text import csv_chunks, inert
from periplus.view.findings import FaultyUrl, Severity
from periplus.view.junit import JUnitCase, junit_file

from .comparison import AuditComparison
from .finding_kinds import KINDS
from .html_page import budget_line
from .results import Audit, SiteFinding, SiteFindingKind

SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
"""The schema that consumers of SARIF 2.1.0 expect to be named."""
_URI_CHARACTERS: Final = ":/?#[]@!$&'()*+,;=%~"
"""What a URI may contain besides letters, digits and `_.-`."""
_BARE_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTICE: "note"}
_COLUMNS: Final = ("finding", "severity", "area", "state", "url", "note", "linked_from", "advice")
_LISTED: Final = 50
"""Examples in the text of a JUnit failure: more than a person reads in a build log."""


def to_csv(audit: Audit, comparison: AuditComparison | None = None) -> str:
    """One row for each fault, and with a comparison for each that was fixed, with a header."""
    state = _states(comparison)
    rows = [
        (
            found.name, found.severity.value, found.area.value, state(found.name, example.url), example.url,
            example.note or found.title, example.at, found.advice,
        )
        for found in audit.findings
        for example in _places(found)
    ]  # fmt: skip
    for kind, url in _fixed(comparison):
        rows.append((kind.name, kind.severity.value, kind.area.value, "fixed", url, "Fixed.", "", ""))
    return "".join(csv_chunks(_COLUMNS, rows, inert, newline="\r\n"))  # RFC 4180


def _places(found: SiteFinding) -> tuple[FaultyUrl, ...]:
    return found.examples or (FaultyUrl("", found.title),)


def _states(comparison: AuditComparison | None) -> Callable[[str, str], str]:
    return comparison.states() if comparison is not None else lambda _name, _url: ""


def _fixed(comparison: AuditComparison | None) -> Iterator[tuple[SiteFindingKind, str]]:
    """Faults that are fixed: the kind of finding, and the URL."""
    for change in comparison.changes if comparison is not None else ():
        if change.name in KINDS:
            yield from ((KINDS[change.name], url) for url in change.fixed)


def to_junit(audit: Audit, failed: Collection[str] | None = None) -> str:
    """One test case for each kind of finding, and for each budget.

    Findings named in `failed` are failures; by default those that are errors or warnings. What could not be checked is
    skipped.
    """
    found = {finding.name: finding for finding in audit.findings}
    failing = {name for name, each in found.items() if each.severity is not Severity.NOTICE}
    failing = failing if failed is None else set(failed) & found.keys()
    skipped = audit.unjudged.keys() - found.keys()
    at = {} if audit.seen_until is None else {"timestamp": _utc(audit.seen_until).strftime("%Y-%m-%dT%H:%M:%S")}
    cases = [
        JUnitCase(
            f"audit.{kind.area.value}",
            kind.name,
            failure=found[kind.name].title if kind.name in failing else "",
            kind=kind.severity.value if kind.name not in found else found[kind.name].severity.value,
            skipped=audit.unjudged[kind.name] if kind.name in skipped else "",
            text=_text(found[kind.name], is_failure=kind.name in failing) if kind.name in found else "",
        )
        for kind in KINDS.values()
    ]
    cases += [
        JUnitCase(
            "audit.budgets",
            check.name,
            failure=budget_line(check) if check.is_over else "",
            kind="error",
            text="\n".join(f"{each.url} {each.note}" for each in check.examples[:_LISTED]) if check.is_over else "",
        )
        for check in audit.budgets
    ]
    return junit_file(f"Audit of {audit.site}", audit.site, cases, {"hostname": audit.site, **at})


def _text(found: SiteFinding, *, is_failure: bool) -> str:
    return "\n".join(_lines(found) if is_failure else (found.title, *_lines(found)))


def _lines(found: SiteFinding) -> Iterator[str]:
    yield found.why
    yield found.advice
    for example in found.examples[:_LISTED]:
        yield " ".join(part for part in (example.url, example.note, f"(on {example.at})" if example.at else "") if part)
    if found.count > _LISTED and found.examples:
        yield f"and {found.count - _LISTED:,} more"


def to_sarif(audit: Audit, comparison: AuditComparison | None = None) -> str:
    """One result for each fault. With a comparison, results are marked as new, unchanged or absent (fixed)."""
    rules = list(KINDS.values())
    numbers = {kind.name: number for number, kind in enumerate(rules)}
    state = _states(comparison)
    results = [
        _result(audit, found, example, numbers[found.name], state(found.name, example.url))
        for found in audit.findings
        for example in _places(found)
    ]
    for kind, url in _fixed(comparison):
        fixed = _bare_result(audit, kind.name, numbers[kind.name], _LEVELS[kind.severity], url)
        results.append(fixed | {"message": {"text": "Fixed."}, "baselineState": "absent"})
    driver = {
        "name": "Periplus audit",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(kind) for kind in rules],
    }
    invocation: dict[str, Any] = {"executionSuccessful": bool(audit.pages)}
    if audit.seen_from is not None and audit.seen_until is not None:
        invocation["startTimeUtc"] = _utc(audit.seen_from).strftime("%Y-%m-%dT%H:%M:%SZ")
        invocation["endTimeUtc"] = _utc(audit.seen_until).strftime("%Y-%m-%dT%H:%M:%SZ")
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(log)).decode() + "\n"


def _rule(kind: SiteFindingKind) -> dict[str, Any]:
    return {
        "id": kind.name,
        "name": "".join(part.capitalize() for part in kind.name.split("-")),
        "shortDescription": {"text": kind.name.replace("-", " ").capitalize()},
        "fullDescription": {"text": kind.why.replace("{limit}", "a limited number of")},
        "help": {"text": kind.advice},
        "defaultConfiguration": {"level": _LEVELS[kind.severity]},
        "properties": {"tags": [kind.area.value]},
    }


def _result(audit: Audit, found: SiteFinding, example: FaultyUrl, number: int, state: str) -> dict[str, Any]:
    result = _bare_result(audit, found.name, number, _LEVELS[found.severity], example.url)
    text = example.note if example.url and example.note else found.title
    result["message"] = {"text": f"{text}. {found.advice}"}
    if example.at:
        result["relatedLocations"] = [_location(example.at) | {"message": {"text": "Linked from here"}}]
    if state:
        result["baselineState"] = "new" if state == "new" else "unchanged"
    return result


def _bare_result(audit: Audit, name: str, number: int, level: str, url: str) -> dict[str, Any]:
    key = sha256(f"{audit.site} {name} {url}".encode()).hexdigest()[:32]
    return {
        "ruleId": name,
        "ruleIndex": number,
        "level": level,
        "message": {},
        "locations": [_location(url or f"http://{audit.site}/")],
        "partialFingerprints": {"fault/v1": key},
    }


def _location(url: str) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(url)}}}


def _uri(url: str) -> str:
    """A URL as RFC 3986 allows it, which SARIF requires: URLs of the web may have other characters, and bare `%`."""
    return _BARE_PERCENT.sub("%25", quote(url, safe=_URI_CHARACTERS))


def _utc(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
