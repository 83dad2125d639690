"""How robots.txt is asked for: through redirects, at other sites, after failures, and again when it expires."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.each_case import each_case
from tests.properties.simulated_web import RobotsReply, ScriptedRobots
from tests.properties.watched_crawl import START, Crawl

from periplus.engine.frontier import PolitenessSettings
from periplus.model import Discovery, Purpose, Site, Source, Url

S0, S1, S2 = Site("s0.test"), Site("s1.test"), Site("s2.test")


def robots(site: str) -> str:
    return f"https://{site}/robots.txt"


FORBIDS = "User-agent: *\nDisallow: /\n"
PAGE = "<!doctype html><html><body>Welcome</body></html>"


def crawl_of(answers: dict[str, list[RobotsReply]], sites: int = 3, pages: int = 2, **settings: object) -> Crawl:
    crawl = Crawl(ScriptedRobots(sites, pages, answers), **settings)  # type: ignore[arg-type]
    crawl.seed(crawl.world.urls)
    crawl.run(5_000)
    crawl.check_end()
    return crawl


def reasons(crawl: Crawl, site: Site) -> set[str]:
    return {record.reason for record in crawl.state.records.of_site(site)}


def asked(crawl: Crawl, site: Site) -> list[str]:
    return [start.task.url for start in crawl.starts if start.site == site and start.task.purpose is Purpose.ROBOTS]


def test_rules_found_elsewhere_hold_for_the_site_that_sent_us() -> None:
    """RFC 9309 section 2.3.1.2: in the context of the first authority; the other site keeps its own."""
    crawl = crawl_of({robots("s0.test"): [robots("rules.test")], robots("rules.test"): [FORBIDS]}, sites=2)
    assert reasons(crawl, S0) == {"robots-unreachable"}, "the name does not exist"
    world = ScriptedRobots(
        2, 2, {robots("s0.test"): ["https://s1.test/common.txt"], "https://s1.test/common.txt": [FORBIDS]}
    )
    crawl = Crawl(world)
    crawl.seed(world.urls)
    crawl.run()
    crawl.check_end()
    assert (reasons(crawl, S0), reasons(crawl, S1)) == ({"robots"}, {""})


def test_two_sites_that_redirect_to_each_other_do_not_wait_for_each_other() -> None:
    """Each is held for the other's answer and still makes the delegated request. Five redirects: no file."""
    crawl = crawl_of({robots("s0.test"): [robots("s1.test")], robots("s1.test"): [robots("s0.test")]}, sites=2)
    assert (reasons(crawl, S0), reasons(crawl, S1)) == ({""}, {""})
    for site in (S0, S1):
        file = crawl.state.robots.get(site)
        assert file is not None
        assert file.reason == "too-many-redirects"


def test_a_ring_of_sites_ends() -> None:
    """The same with three, all at once."""
    ring = {robots(f"s{n}.test"): [robots(f"s{(n + 1) % 3}.test")] for n in range(3)}
    crawl = crawl_of({key: list(value) for key, value in ring.items()})
    assert all(reasons(crawl, site) == {""} for site in (S0, S1, S2))


def test_many_sites_that_redirect_to_one_are_answered_politely() -> None:
    """Forty sites whose rules are at one: it is asked for each, and rests in between."""
    answers: dict[str, list[RobotsReply]] = {robots(f"s{n}.test"): [robots("s40.test")] for n in range(40)}
    crawl = crawl_of({**answers, robots("s40.test"): [FORBIDS]}, sites=41, pages=1)
    assert {reason for n in range(40) for reason in reasons(crawl, Site(f"s{n}.test"))} == {"robots"}
    assert len(asked(crawl, Site("s40.test"))) == 41


def test_a_redirect_to_a_dead_host_ends_with_a_reason() -> None:
    """The host is looked up three times; then the site that sent us there cannot be asked."""
    crawl = crawl_of({robots("s0.test"): [robots("dead.test")]}, sites=1)
    assert reasons(crawl, S0) == {"robots-unreachable"}
    file = crawl.state.robots.get(S0)
    assert file is not None
    assert file.reason == "dns-not-found"


def test_a_page_and_no_www_means_no_rules() -> None:
    """That the sibling does not exist is not a reason to stay away."""
    crawl = crawl_of({robots("s0.test"): [PAGE]}, sites=1)
    assert reasons(crawl, S0) == {""}


def test_a_file_that_comes_late_is_obeyed() -> None:
    """503 twice, then the rules: the site is asked three times, and longer apart."""
    crawl = crawl_of({robots("s0.test"): [503, 503, FORBIDS]}, sites=1)
    assert reasons(crawl, S0) == {"robots"}
    times = [start.at for start in crawl.starts]
    assert len(times) == 3
    assert times[2] - times[1] > times[1] - times[0] >= 10.0


def test_the_rest_of_a_site_is_not_cut_short_by_another_attempt() -> None:
    """Waiting for the next question is the longer of the rest and the back-off."""
    crawl = crawl_of({robots("s0.test"): [500, FORBIDS]}, sites=1, politeness=PolitenessSettings(delay=100.0))
    assert crawl.starts[1].at - crawl.starts[0].at >= 100.0


def test_the_file_is_asked_for_again_when_a_day_has_passed() -> None:
    """And the new rules hold for what is still waiting."""
    crawl = Crawl(ScriptedRobots(1, 1, {robots("s0.test"): [404, FORBIDS]}))
    crawl.seed()
    crawl.run()
    crawl.now += 23 * 3600.0
    crawl.discover([Discovery(Url("https://s0.test/2"), Source.LINK, crawl.now)])
    crawl.world.kinds[Url("https://s0.test/2")], crawl.world.links[Url("https://s0.test/2")] = "ok", []
    crawl.run()
    assert asked(crawl, S0) == [robots("s0.test")]
    crawl.now += 2 * 3600.0
    crawl.discover([Discovery(Url("https://s0.test/3"), Source.LINK, crawl.now)])
    crawl.run()
    assert len(asked(crawl, S0)) == 2
    assert {record.reason for record in crawl.state.records.of_site(S0)} == {"", "robots"}


def test_rules_that_were_known_hold_while_the_site_cannot_be_asked() -> None:
    """A day later 503: yesterday's rules are obeyed, and pages are fetched."""
    crawl = Crawl(ScriptedRobots(1, 1, {robots("s0.test"): ["User-agent: *\nDisallow: /no\n", 503]}))
    crawl.seed()
    crawl.run()
    crawl.now = START + 90_000.0
    for path in ("yes", "no"):
        url = Url(f"https://s0.test/{path}")
        crawl.world.kinds[url], crawl.world.links[url] = "ok", []
        crawl.discover([Discovery(url, Source.LINK, crawl.now)])
    crawl.run()
    ends = {record.url: record.reason for record in crawl.state.records.of_site(S0)}
    assert (ends[Url("https://s0.test/yes")], ends[Url("https://s0.test/no")]) == ("", "robots")


def fetched_a_day_later(replies: list[RobotsReply]) -> dict[str, str]:
    """The reasons of an allowed and four forbidden pages that are found a day after the first request."""
    answers: dict[str, list[RobotsReply]] = {
        robots("s0.test"): replies,
        "https://s0.test/login": [PAGE],
        robots("www.s0.test"): [PAGE],
    }
    crawl = Crawl(ScriptedRobots(1, 1, answers))
    crawl.seed()
    crawl.run()
    crawl.now = START + 90_000.0
    for path in ("yes", "no/1", "no/2", "no/3", "no/4"):
        url = Url(f"https://s0.test/{path}")
        crawl.world.kinds[url], crawl.world.links[url] = "ok", []
        crawl.discover([Discovery(url, Source.LINK, crawl.now)])
    crawl.run()
    crawl.check_end()
    return {record.url.removeprefix("https://s0.test/"): record.reason for record in crawl.state.records.of_site(S0)}


CHALLENGE = b"<!doctype html><title>Just a moment...</title><script src='/cdn-cgi/challenge-platform/h/g'></script>"


@each_case(
    "instead",
    [
        PAGE,
        (202, (("x-amzn-waf-action", "challenge"),), PAGE.encode()),
        (403, (("cf-mitigated", "challenge"),), CHALLENGE),
        (200, (), b""),
        "https://s0.test/login",
        (200, (), CHALLENGE),
        401,
        403,
    ],
)
def test_rules_that_were_known_hold_behind_a_wall(instead: RobotsReply) -> None:
    """A challenge, a page, nothing or a login in place of the file: none of the four forbidden pages is fetched."""
    reasons = fetched_a_day_later(["User-agent: *\nDisallow: /no\n", instead])
    assert [reasons[f"no/{number}"] for number in range(1, 5)] == ["robots"] * 4
    assert reasons["yes"] == ""


@each_case("instead", [404, 410, "User-agent: *\nDisallow:\n"])
def test_rules_that_were_known_end_with_the_file(instead: RobotsReply) -> None:
    """RFC 9309 section 2.3.1.3: a file that is not there any more has no rules."""
    reasons = fetched_a_day_later(["User-agent: *\nDisallow: /no\n", instead])
    assert set(reasons.values()) == {""}


def test_a_challenge_on_a_first_visit_allows_nothing() -> None:
    """The site could not be asked; its `www.` name is not asked either."""
    crawl = crawl_of({robots("s0.test"): [(403, (("cf-mitigated", "challenge"),), CHALLENGE)]}, sites=1)
    assert (reasons(crawl, S0), len(crawl.starts)) == ({"robots-unreachable"}, 1)


@pytest.mark.parametrize("pages_per_visit", [1, 5])
def test_a_delay_that_is_learnt_elsewhere_counts_from_then_on(pages_per_visit: int) -> None:
    """Crawl-delay in a file to which another site was sent."""
    rules = "User-agent: *\nCrawl-delay: 50\n"
    crawl = crawl_of(
        {robots("s0.test"): ["https://s1.test/common.txt"], "https://s1.test/common.txt": [rules]},
        sites=2,
        politeness=PolitenessSettings(pages_per_visit=pages_per_visit),
    )
    pages = [start.at for start in crawl.starts if start.site == S0]
    assert all(second - first >= 50.0 for first, second in pairwise(pages))


def test_delegated_requests_do_not_exceed_the_capacity() -> None:
    """A site summoned for a delegated request is parked when there is no room for its own URLs."""
    answers: dict[str, list[RobotsReply]] = {robots(f"s{n}.test"): [robots(f"s{n + 1}.test")] for n in range(29)}
    crawl = Crawl(ScriptedRobots(30, 3, answers), capacity=2)
    crawl.seed(crawl.world.urls)
    most = 0
    while not crawl.frontier.is_idle:
        crawl.step()
        most = max(most, len(crawl.frontier.schedule))
    crawl.check_end()
    assert most <= 2 + 2, "two sites, and for each one that was summoned"
