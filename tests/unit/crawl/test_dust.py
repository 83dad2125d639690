"""Rules for duplicate URLs in a crawl of generated sites: the real machine in virtual time."""

from __future__ import annotations

import pytest

from periplus.lab.simulate.world_crawl import WorldCrawl, hurried
from periplus.lab.web import Answer, Request
from periplus.lab.web.spam_web import Dust, HostileWorld
from periplus.lab.web.spam_web.dust import page_of
from periplus.model import Judged, Refused
from periplus.policy.dust import DustSettings, GivenRule, RuleFile, is_probe

WORLD = HostileWorld(7, 2, pages=20, parts=(Dust,))


def crawled(name: str, limit: int = 250) -> tuple[WorldCrawl, list[str]]:
    """A crawl of a site, and the rules that were learnt."""
    crawl = WorldCrawl(
        WORLD, [f"http://{name}-dust.lab.test/"], hurried(scope__kind="host", dust__enabled=True), limit=limit
    ).run()
    return crawl, [each.evidence[0] for each in crawl.events if isinstance(each, Judged) and each.verdict == "learnt"]


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("idle", "drop-param ref on /article/#.html"),
        ("indexed", "drop-suffix index.html"),
        ("printed", "drop-prefix /print"),
    ],
)
def test_rule_is_learnt_and_spares_requests(name: str, rule: str) -> None:
    crawl, rules = crawled(name)
    assert rule in rules
    urls = [url for url, _ in crawl.fetched]
    late = [url for url in urls[100:] if page_of(url) in {page_of(each) for each in urls[: urls.index(url)]}]
    assert len(late) < 0.2 * len(urls[100:])


def test_parameter_that_matters_is_kept() -> None:
    crawl, rules = crawled("paged")
    assert not rules
    assert len({page_of(url) for url, _ in crawl.fetched}) == len(crawl.fetched)


def test_rules_that_were_written_down_are_used_from_the_first_page_on() -> None:
    known = GivenRule("indexed-dust.lab.test", "drop-suffix", "index.html", state="accepted", equal=40)
    crawl = WorldCrawl(
        WORLD,
        ["http://indexed-dust.lab.test/"],
        hurried(scope__kind="host", dust__enabled=True),
        limit=60,
        learnt=RuleFile((known,)),
    ).run()
    assert len(crawl.fetched) == 60
    assert all(is_probe(url, DustSettings().probe) for url, _ in crawl.fetched if url.endswith("index.html"))


def test_what_a_withdrawn_rule_renamed_is_fetched_after_all() -> None:
    wrong = GivenRule("paged-dust.lab.test", "drop-param", "page", state="accepted", equal=40)
    crawl = WorldCrawl(
        WORLD,
        ["http://paged-dust.lab.test/"],
        hurried(scope__kind="host", dust__enabled=True),
        learnt=RuleFile((wrong,)),
    ).run()
    assert [each.verdict for each in crawl.events if isinstance(each, Judged)] == ["withdrawn"]
    assert len({page_of(url) for url, _ in crawl.fetched}) == 1201


class RefreshWorld(HostileWorld):
    """Every page leads to the next by a meta refresh."""

    def answer(self, request: Request) -> Answer:
        number = int(request.target.strip("/") or 0) if request.target != "/robots.txt" else 0
        head = f'<meta http-equiv="refresh" content="0; url=/{number + 1}">'
        return Answer(
            200, (("Content-Type", "text/html"),), f"<html><head>{head}</head><p>{number}</p></html>".encode()
        )


def test_chain_of_refreshes_is_bounded_as_redirects_are() -> None:
    crawl = WorldCrawl(
        RefreshWorld(7, 2, pages=20, parts=()), ["http://a.lab.test/"], hurried(scope__kind="host", dust__enabled=True)
    )
    crawl.run()
    assert len(crawl.fetched) == 11
    assert [each.reason for each in crawl.events if isinstance(each, Refused)] == ["redirect-chain"]
