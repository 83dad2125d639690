"""Which crawler an agent names, and the prefilter that finds the patterns to try."""

from __future__ import annotations

import re
from typing import Any

from tests.each_case import each_case
from tests.published.log_lines import BROWSER, GOOGLEBOT

from periplus_sites.agents import MOST_CACHED, AgentTable, longest_literal


@each_case(
    ("pattern", "literal"),
    [
        (r"Googlebot\/", "Googlebot/"),
        (r"AdsBot-Google([^-]|$)", "AdsBot-Google"),
        (r"Ahrefs(Bot|SiteAudit)", "Ahrefs"),
        (r"[wW]get", "get"),
        (r"Automaton|Newsify Feed Fetcher", ""),
        (r"BlogTraffic\/\d\.\d+ Feed-Fetcher", " Feed-Fetcher"),
        (r"Spider[\s\S]*spider\.com", "spider.com"),
        (r"colou?r", "colo"),
        (r"ab{2,3}cdef", "cdef"),
        (r"(^| )sentry\/", "sentry/"),
    ],
)
def test_every_match_of_a_pattern_contains_its_literal(pattern: str, literal: str) -> None:
    assert longest_literal(pattern) == literal


def test_well_known_crawlers_need_no_package() -> None:
    table = AgentTable()
    found = table.crawler_of(GOOGLEBOT)
    assert found is not None
    assert (found.name, found.operator, found.token) == ("Googlebot", "Google", "Googlebot")
    assert "googlebot.com" in found.suffixes
    assert table.crawler_of(BROWSER) is None
    assert table.crawler_of("") is None


@each_case(
    ("agent", "name"),
    [
        ("Mozilla/5.0 (compatible; OurOwnBot/1.2; +https://our.test/bot)", "OurOwnBot"),
        ("tiny-spider", "tiny-spider"),
        ("Mozilla/5.0 (Linux; Android 9; CUBOT X19) AppleWebKit/537.36", ""),
        ("Mozilla/5.0 (X11; Linux) robotics", ""),
        ("python-requests/2.32", ""),
    ],
)
def test_who_says_that_it_is_a_crawler_is_one(agent: str, name: str) -> None:
    """By its own name, where no list has it."""
    found = AgentTable().crawler_of(agent)
    assert (found.name if found else "") == name


def test_patterns_of_a_list_are_tried_in_their_order() -> None:
    patterns: list[dict[str, Any]] = [
        {"pattern": r"[aA]lpha[bB]ot"},
        {"pattern": "lphaB", "tags": ["seo"]},
        {"pattern": r"^x\d"},
    ]
    table = AgentTable(patterns)
    agents = ["an AlphaBot/1", "alphabot", "xlphaB", "x9", "ax9", "Alpha Bot"]
    naive = [
        next((place for place, each in enumerate(patterns) if re.search(str(each["pattern"]), agent)), None)
        for agent in agents
    ]
    found = [table.crawler_of(agent) for agent in agents]
    assert naive == [0, 0, 1, 2, None, None]
    assert found[0] is not None
    assert found[0] is found[1]
    assert found[2] is not None
    assert (found[2].name, found[2].purpose) == ("lphaB", "seo")
    assert found[3] is not None
    assert found[4:] == [None, None]


def test_a_flood_of_agents_is_forgotten() -> None:
    table = AgentTable()
    for number in range(MOST_CACHED + 10):
        table.crawler_of(f"agent {number}")
    assert len(table._cache) <= MOST_CACHED
