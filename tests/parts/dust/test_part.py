"""Rules for duplicate URLs in a crawl of generated sites: the real machine in virtual time."""

from __future__ import annotations

import pytest
from tests.each_case import each_case
from tests.verdicts.world_crawl import WorldCrawl, hurried

from periplus.model import Refused, SubjectJudged
from periplus.parts.dust.given import GivenRule, RuleFile
from periplus.parts.dust.renaming import is_probe
from periplus.parts.dust.settings import DustSettings
from periplus_lab import Answer, Request
from periplus_lab.spam_web import Dust, HostileWorld
from periplus_lab.spam_web.dust import page_of

WORLD = HostileWorld(7, 2, pages=20, parts=(Dust,))


def crawled(name: str, limit: int | None = None) -> tuple[WorldCrawl, list[str]]:
    """A crawl of a site, and the rules that were learnt."""
    crawl = WorldCrawl(WORLD, [f"http://{name}-dust.lab.test/"], hurried(scope__kind="host"), limit=limit).run()
    return crawl, [
        each.evidence[0] for each in crawl.events if isinstance(each, SubjectJudged) and each.verdict == "learnt"
    ]


@pytest.mark.parametrize(
    ("name", "rule", "urls"),
    [
        pytest.param("idle", "drop-param ref on /article/#.html", 2718, marks=pytest.mark.slow),
        ("indexed", "drop-suffix index.html", 800),
    ],
)
def test_rule_spares_nine_of_ten_duplicates_and_loses_no_page(name: str, rule: str, urls: int) -> None:
    """By default, and although 5 % of them are fetched to check the rule."""
    crawl, rules = crawled(name)
    assert rules == [rule]
    assert len({page_of(url) for url, _ in crawl.fetched}) == 401
    assert len(crawl.fetched) - 401 < 0.1 * (urls - 401)
    assert all(page_of(old) == page_of(new) for old, new in crawl.renamed())


@pytest.mark.slow
def test_parameter_that_must_be_there_costs_no_page() -> None:
    """No rule is true, each page has twelve URLs, and the guards against traps spare most of them."""
    crawl, rules = crawled("required")
    assert not rules
    assert len({page_of(url) for url, _ in crawl.fetched}) == 401
    assert len(crawl.fetched) < 1200


def test_parameter_that_matters_is_kept() -> None:
    crawl, rules = crawled("paged", limit=250)
    assert not rules
    assert len({page_of(url) for url, _ in crawl.fetched}) == len(crawl.fetched)


def test_rules_that_were_written_down_are_used_from_the_first_page_on() -> None:
    known = GivenRule("indexed-dust.lab.test", "drop-suffix", "index.html", state="accepted", equal=40)
    crawl = WorldCrawl(
        WORLD,
        ["http://indexed-dust.lab.test/"],
        hurried(scope__kind="host"),
        limit=60,
        learnt=RuleFile((known,)),
    ).run()
    assert len(crawl.fetched) == 60
    assert all(is_probe(url, DustSettings().probe) for url, _ in crawl.fetched if url.endswith("index.html"))


@pytest.mark.slow
def test_what_a_withdrawn_rule_renamed_is_fetched_after_all() -> None:
    wrong = GivenRule("paged-dust.lab.test", "drop-param", "page", state="accepted", equal=40)
    crawl = WorldCrawl(
        WORLD,
        ["http://paged-dust.lab.test/"],
        hurried(scope__kind="host"),
        learnt=RuleFile((wrong,)),
    ).run()
    assert [each.verdict for each in crawl.events if isinstance(each, SubjectJudged)] == ["withdrawn"]
    assert len({page_of(url) for url, _ in crawl.fetched}) == 1201


class OnwardWorld(HostileWorld):
    """Every page leads to the next, each in another way than the one before, or all in one way."""

    ways: tuple[str, ...] = ("meta", "header", "script", "canonical", "http")

    def answer(self, request: Request) -> Answer:
        number = int(request.target.strip("/") or 0) if request.target != "/robots.txt" else 0
        target, way = f"/{number + 1}", self.ways[number % len(self.ways)]
        fields = {"header": ("Refresh", f"0; url={target}"), "http": ("Location", target)}
        head = {
            "meta": f'<meta http-equiv="refresh" content="0; url={target}">',
            "script": f'<script>location = "{target}"</script>',
            "canonical": f'<link rel=canonical href="{target}">',
        }
        body = f"<html><head>{head.get(way, '')}</head><p>{number}</p></html>".encode()
        headers = (("Content-Type", "text/html"), *((fields[way],) if way in fields else ()))
        return Answer(302 if way == "http" else 200, headers, body)


@each_case("ways", [OnwardWorld.ways, *((way,) for way in OnwardWorld.ways)])
def test_redirects_of_all_kinds_are_bounded_together(ways: tuple[str, ...]) -> None:
    """HTTP, meta refresh, the Refresh field, scripts and canonical links: ten in a row, alone and mixed."""
    world = OnwardWorld(7, 2, pages=20, parts=())
    world.ways = ways
    crawl = WorldCrawl(world, ["http://a.lab.test/"], hurried(scope__kind="host"))
    crawl.run()
    assert len(crawl.fetched) == 11
    assert [each.reason for each in crawl.events if isinstance(each, Refused)] == ["redirect-chain"]


class ChainWorld(HostileWorld):
    """Every page leads to the next, and says nearly the same, with a number of its own."""

    def answer(self, request: Request) -> Answer:
        number = int(request.target.rpartition("/")[2] or 0) if request.target != "/robots.txt" else 0
        words = " ".join(f"word{place}" for place in range(60))
        links = f'<a href="/day/{number + 1}">next</a> <a href="/day/{max(number - 1, 0)}">before</a>'
        text = f"<main><p>{words} number{number} is here {words[:200]} again{number}</p></main>"
        return Answer(200, (("Content-Type", "text/html"),), f"<html><body>{text}{links}</body></html>".encode())


def test_chain_of_pages_that_say_nearly_the_same_ends() -> None:
    crawl = WorldCrawl(
        ChainWorld(7, 2, pages=20, parts=()), ["http://a.lab.test/day/0"], hurried(scope__kind="host"), limit=400
    ).run()
    assert 20 <= len(crawl.fetched) <= 45
    refused = [each for each in crawl.events if isinstance(each, Refused)]
    assert {(each.reason, each.rule) for each in refused} == {("low-yield", "/day/#")}
