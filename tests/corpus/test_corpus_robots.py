"""robots.txt against the conformance data of Google's matcher, of its specification tests and of Protego.

Where a row has the verdict of Google's own matcher, that is what must come out, also where the row's project thinks
otherwise. What does not hold is listed by name, with the reason, and the list must stay true.
"""

from __future__ import annotations

import base64
import json
from datetime import time
from pathlib import Path
from typing import Any

import pytest

from periplus.apps.survey.tables import AI_AGENTS, robots_preferences
from periplus.formats.robots import RequestRate, Robots, VisitTime, is_valid_agent, parse, path_of
from periplus.formats.robots.patterns import escaped

pytestmark = pytest.mark.corpus

KNOWN = {"user-agent", "allow", "disallow", "sitemap"}

KNOWN_DIFFERENCES = {
    "test_generosity / request_rate / harry potter": "RFC 9309 has no agents of two words, and `user agent harry"
    " potter` names no agent: without a colon only one word may follow the name (Google's parser)",
}


def load(corpus: Path, folder: str) -> dict[str, Any]:
    with (corpus / folder / "cases.json").open(encoding="utf-8") as file:
        data: dict[str, Any] = json.load(file)
    return data


def body_of(row: dict[str, Any]) -> bytes:
    if "robots_b64" in row:
        return base64.b64decode(row["robots_b64"])
    robots = row["robots"]
    return base64.b64decode(robots["b64"]) if isinstance(robots, dict) else robots.encode()


@pytest.mark.parametrize("folder", ["robots_google", "robots_google_spec", "robots_protego"])
def test_every_verdict_is_that_of_googles_matcher(corpus: Path, folder: str) -> None:
    """(robots, agent, url) -> allowed, for every row that has Google's verdict.

    Where a rule has `%2A` or `%24`, RFC 9309 section 2.2.3 says what they match, Protego does so, and Google does not.
    """
    rows = [row for row in load(corpus, folder)["cases"] if "google_cpp" in row]
    verdict = {
        id(row): row["result" if row.get("test") == "test_escaped_special_symbols" else "google_cpp"] for row in rows
    }
    wrong = [row for row in rows if parse(body_of(row)).allows(row["agent"], row["url"]) is not verdict[id(row)]]
    assert len(rows) > 100
    assert wrong == []


def test_the_rule_that_decided_agrees_with_the_verdict(corpus: Path) -> None:
    """`verdict` and `allows` never differ, and a refusal always names its rule."""
    for folder in ("robots_google", "robots_google_spec", "robots_protego"):
        for row in load(corpus, folder)["cases"]:
            if "url" not in row or row["url"] is None:
                continue
            robots = parse(body_of(row))
            ruling = robots.verdict(row["agent"], row["url"])
            assert ruling.allowed is robots.allows(row["agent"], row["url"])
            assert ruling.allowed or (ruling.rule is not None and not ruling.rule.allows)


def test_other_facts_of_protego(corpus: Path) -> None:
    """Crawl-delay, Request-rate, Visit-time, sitemaps and host as stated, but for the known differences."""
    rows = [row for row in load(corpus, "robots_protego")["cases"] if row["q"] != "allowed"]
    differences = {
        f"{row['test']} / {row['q']} / {row['agent']}"
        for row in rows
        if fact(parse(body_of(row)), row["q"], row["agent"]) != row["result"]
    }
    assert len(rows) > 20
    assert differences == set(KNOWN_DIFFERENCES)


def fact(robots: Robots, question: str, agent: str) -> object:
    if question == "sitemaps":
        return list(robots.sitemaps)
    if question == "preferred_host":
        return robots.host
    answer = getattr(robots, question)(agent)
    if isinstance(answer, RequestRate):
        return {"requests": answer.requests, "seconds": answer.seconds} | hours(answer.hours)
    return hours(answer) if isinstance(answer, VisitTime) else answer


def hours(span: VisitTime | None) -> dict[str, str | None]:
    def spelt(moment: time | None) -> str | None:
        return moment.isoformat() if moment else None

    return {"start": spelt(span.start if span else None), "end": spelt(span.end if span else None)}


def test_paths_and_escapes_and_agents_of_google(corpus: Path) -> None:
    """What a URL is matched by, how a pattern is normalised, and which names can be obeyed."""
    google = load(corpus, "robots_google")
    assert [path_of(row["in"]) for row in google["path"]] == [row["out"] for row in google["path"]]
    escapes = google["escape"]
    assert [escaped(row["in"].encode().decode("latin-1")) for row in escapes] == [row["out"] for row in escapes]
    assert [is_valid_agent(row["agent"]) for row in google["valid_agent"]] == [
        row["valid"] for row in google["valid_agent"]
    ]


def test_lines_of_google(corpus: Path) -> None:
    """Line ends of every kind are counted alike, and a rule knows its line."""
    for row in load(corpus, "robots_google")["line_reports"]:
        robots = parse(body_of(row))
        assert sum(robots.fields.values()) == row["valid_directives"]
        assert max(rule.line for group in robots.groups for rule in group.rules) == row["last_line"]


def test_byte_order_marks_of_google(corpus: Path) -> None:
    """A byte order mark is skipped at the beginning, whole or cut short, and nowhere else."""
    for row in load(corpus, "robots_google")["bom"]:
        fields = parse(body_of(row)).fields
        assert sum(count for name, count in fields.items() if name in KNOWN) == row["valid_directives"]
        assert sum(count for name, count in fields.items() if name not in KNOWN) == row["unknown_directives"]


def test_sitemaps_of_google(corpus: Path) -> None:
    """Sitemap lines are found before, between and behind groups."""
    for row in load(corpus, "robots_google")["sitemaps"]:
        assert list(parse(body_of(row)).sitemaps) == row["sitemaps"]


def test_preferences_cause_no_problem_of_their_own(corpus: Path) -> None:
    """Every file with Content-Signal and Content-Usage lines in its group has the problems that it had without."""
    lines = (
        b"\nUser-agent: *\nContent-Signal: search=yes,ai-train=no,use=reference\nContent-Usage: /x train-ai=n\nAllow: /"
    )
    for folder in ("robots_google", "robots_google_spec", "robots_protego"):
        for row in load(corpus, folder)["cases"]:
            body = body_of(row) + b"\nUser-agent: *\nAllow: /"
            told = parse(body_of(row) + lines)
            assert [problem.reason for problem in told.problems] == [problem.reason for problem in parse(body).problems]
            assert told.allows("Periplus", "https://site.test/") is parse(body).allows("Periplus", "https://site.test/")


def test_our_ai_agents_are_known_ones(corpus: Path) -> None:
    """The product tokens that a survey counts are those of the list that others keep."""
    with (corpus / "agents" / "ai_robots.json").open(encoding="utf-8") as file:
        known = {name.lower() for name in json.load(file)}
    assert {agent.lower() for agent in AI_AGENTS} <= known
    text = "".join(f"User-agent: {agent}\n" for agent in AI_AGENTS) + "Disallow: /\n"
    assert parse(text.encode()).problems == ()
    assert robots_preferences(parse(text.encode())) == (("ai-agents", "disallow"),)
