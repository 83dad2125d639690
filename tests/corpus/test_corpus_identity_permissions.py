"""What sites permit: every case of the corpus about preferences, licences, payment, and the ledger of a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from periplus.content import read_page
from periplus.content.licenses import named_licenses
from periplus.engine.frontier.politeness import retry_for
from periplus.formats.headers import Headers, read_directives, strictest
from periplus.formats.payment import read_price
from periplus.formats.preferences import (
    of_robots,
    read_content_signal,
    read_content_usage,
    read_reservation,
    read_tdmrep,
)
from periplus.formats.robots import parse
from periplus.formats.rsl import Licensee, feed_licenses, read_rsl
from periplus.model import Directives, Preference
from periplus.parts.permissions.statements import Place, of_license, of_page, of_reservations, status_of_file
from periplus.parts.permissions.statements import of_robots as robots_statements
from periplus.policy.permissions import PURPOSES, USES, Statement, combine, refusal
from periplus.urls import canonical

pytestmark = pytest.mark.corpus

AGENT = "PeriplusBot"


def cases(corpus: Path, name: str) -> list[dict[str, Any]]:
    """The cases of a file."""
    found: list[dict[str, Any]] = json.loads((corpus / "identity" / name).read_text())
    assert found
    return found


def word(preference: Preference) -> str | None:
    """A preference as the corpus writes it."""
    return None if preference is Preference.UNKNOWN else preference.value


def test_fields(corpus: Path) -> None:
    """Content-Usage and Content-Signal."""
    for case in cases(corpus, "preferences/content_usage.json"):
        said = read_content_usage(case["field"])
        assert (word(said.train), word(said.search)) == (case["train"], case["search"]), case["id"]
    for case in cases(corpus, "preferences/content_signal.json"):
        said = read_content_signal(case["field"])
        found = (word(said.search), word(said.ai_input), word(said.train), said.use and said.use.value)
        assert found == (case["search"], case["ai_input"], case["train"], case["use"]), case["id"]


def test_robots(corpus: Path) -> None:
    """Access, preferences, licences, and the lines that prove them."""
    for case in cases(corpus, "preferences/robots.json"):
        robots, expected, url = parse(case["robots"].encode()), case["expected"], case["url"]
        access = robots.access(case["agent"])
        said, base = of_robots(access, url), canonical("/robots.txt", url) or ""
        used = access.usage_for(url) if access.allows(url) else []
        lines = sorted({rule.line for rule in used} | {each.line for each in access.licenses})
        assert {
            "crawl": access.allows(url),
            "train": word(said.train),
            "search": word(said.search),
            "ai_input": word(said.ai_input),
            "use": said.use and said.use.value,
            "licenses": [canonical(each.location, base) for each in access.licenses],
            "lines": lines,
        } == expected, case["id"]
        reasons = {problem.reason for problem in robots.problems}
        for named in ("misplaced-signal", "relative-license"):
            assert (f"`{named}`" in case.get("note", "")) == (named in reasons), case["id"]


def test_tdmrep(corpus: Path) -> None:
    """The reservation, who decided it, the policy, and problems."""
    for case in cases(corpus, "preferences/tdmrep.json"):
        file = None if case["tdmrep_json"] is None else read_tdmrep(case["tdmrep_json"].encode())
        headers = [(name.lower(), value) for name, value in case["headers"]]
        metas: dict[str, list[str]] = {}
        for name, content in case["meta"] if case["type"] == "text/html" else ():
            metas.setdefault(name.lower(), []).append(content)
        said = read_reservation(case["url"], file, headers, metas)
        found = {
            "tdm": word(said.tdm),
            "by": said.by or None,
            "policy": said.policy or None,
            "problems": list(said.problems),
        }
        assert found == case["expected"], case["id"]


def test_licenses(corpus: Path) -> None:
    """Answers and conditions of a licence for each use."""
    for case in cases(corpus, "rsl/documents.json"):
        document, expected = read_rsl(case["document"].encode()), case["expected"]
        us = Licensee(frozenset(case["us"]["user"]), case["us"]["geo"] or "")
        for use, said in document.answers(case["url"], us).items():
            assert {"answer": said.answer, "conditions": list(said.conditions)} == expected[use], (case["id"], use)
        assert set(document.problems) == set(expected["problems"]), case["id"]
        assert document.max_age_days == expected.get("max_age_days", 30), case["id"]


def test_places_of_licenses(corpus: Path) -> None:
    """Where a page names its licence."""
    for case in cases(corpus, "rsl/links.json"):
        links = [value for name, value in case["headers"] if name.lower() == "link"]
        found = named_licenses(case["html"].encode(), case["page"], "text/html", links)
        found += feed_licenses(case["feed"].encode(), case["page"])
        named = [{"url": each.url, "by": each.by} if each.url else {"inline": True, "by": each.by} for each in found]
        assert named == case["expected"], case["id"]
        assert all(read_rsl(each.inline).is_readable for each in found if each.inline), case["id"]


def test_prices(corpus: Path) -> None:
    """What is asked to be paid is recorded, and nothing is tried again."""
    for case in cases(corpus, "payment/responses.json"):
        response, expected = case["response"], case["expected"]
        headers = tuple((name, value) for name, value in response["headers"])
        price = read_price(response["status"], headers, response["body"].encode())
        found: dict[str, Any] = {"outcome": "failed" if response["status"] >= 400 else "ok"}
        if found["outcome"] == "failed":
            found |= {"reason": f"http-{response['status']}", "retry": retry_for(f"http-{response['status']}").again}
        if price.scheme:
            found |= {
                "price_scheme": price.scheme, "price_amount": price.amount, "price_currency": price.currency,
            }  # fmt: skip
        if price.error:
            found["error"] = price.error
        if price.is_charged:
            found["finding"] = "charged-without-consent"
        links = [value for name, value in headers if name.lower() == "link"]
        licenses = [each.url for each in named_licenses(b"", "https://www.example.org/", None, links)]
        if licenses:
            found["licenses"] = licenses
        assert found == expected, case["id"]


def statements_of(case: dict[str, Any]) -> list[Statement]:
    """What all sources of a case say, as a crawl that keeps the ledger records it."""
    url, found = case["url"], list[Statement]()
    if not case["recorded"]:
        return found
    page = Place(url)
    robots, tdm = case["robots"], case["tdmrep_json"]
    access = parse(robots["body"].encode()).access(AGENT) if robots["status"] == 200 else None
    found += robots_statements(Place("robots.txt", status_of_file(robots["status"], is_readable=True)), access, url)
    file = read_tdmrep(tdm["body"].encode()) if tdm["status"] == 200 else None
    readable = file is None or file.is_readable
    metas: dict[str, list[str]] = {}
    for name, content in case["metas"]:
        metas.setdefault(name.lower(), []).append(content)
    raw = [(name.lower(), value) for name, value in case["response"]["headers"]]
    headers = Headers(raw)
    directives = read_page(b"<html></html>", url, "text/html", robots_tags=headers.all("x-robots-tag")).directives
    for content in metas.get("robots", ()):
        directives = strictest(directives, read_directives(content))
    assert isinstance(directives, Directives)
    found += of_page(page, page, case["response"]["status"], headers, directives)
    tdm_place = Place("tdmrep.json", status_of_file(tdm["status"], is_readable=readable))
    found += of_reservations(url, tdm_place, file, page, raw, page, metas)
    named = [("robots-license", each.location, each.line) for each in (access.licenses if access else ())]
    named += [("header-license", each.url, 0) for each in named_licenses(b"", url, None, headers.all("link"))]
    for source, license_url, line in named:
        answer = case["licenses"].get(license_url, {"status": 404})
        document = read_rsl(answer["body"].encode()) if answer["status"] == 200 else None
        status = status_of_file(answer["status"], is_readable=document is not None and document.is_readable)
        found += of_license(Place(license_url, status), source, document, url, line)
    return found


def test_ledger(corpus: Path) -> None:
    """The combined answer for each use, who decided, conflicts, and what exports do."""
    for case in cases(corpus, "ledger/pages.json"):
        combined, expected = combine(statements_of(case)), case["expected"]
        for use in USES:
            wanted, found = expected[use], combined[use]
            assert found.answer == wanted["answer"], (case["id"], use)
            assert list(found.decided_by) == wanted.get("decided_by", []), (case["id"], use)
            assert list(found.conditions) == wanted.get("conditions", []), (case["id"], use)
        assert [use for use in USES if combined[use].conflict] == expected["conflicts"], case["id"]
        exported = {purpose: refusal(combined[use], purpose) or "pass" for purpose, use in PURPOSES.items()}
        assert exported == expected["export"], case["id"]
