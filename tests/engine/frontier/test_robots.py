"""What follows from an answer to the question for robots.txt (RFC 9309 section 2.3.1), and how long it holds."""

from __future__ import annotations

import gzip

import pytest
from tests.each_case import each_case

from periplus.engine.frontier import RobotsGate
from periplus.engine.frontier.robots import (
    FRESH,
    LEAST_FRESH,
    MAX_ROBOTS_REDIRECTS,
    STALE,
    Ask,
    next_step,
    robots_url,
    www_sibling,
)
from periplus.model import (
    Excluded,
    Failed,
    Fetched,
    FetchOutcome,
    FetchTask,
    Lane,
    NotModified,
    Purpose,
    Redirected,
    RobotsFile,
    Site,
    Url,
)
from periplus.store.memory import MemoryRobotsFiles

NOW = 1_700_000_000.0
SITE = Site("a.test")
HTML = b"<!doctype html><html><body>Welcome</body></html>"
RULES = b"User-agent: *\nDisallow: /private/\n"


def task(url: str = "https://a.test/robots.txt", redirects: int = 0) -> FetchTask:
    return FetchTask(Url(url), SITE, Purpose.ROBOTS, Lane.DISCOVERY, NOW + 300, ip="192.0.2.1", redirects=redirects)


def answer(status: int, body: bytes = b"", *headers: tuple[str, str], asked: FetchTask | None = None) -> Fetched:
    return Fetched(asked or task(), status, headers, body, NOW, 0.1)


def file_after(outcome: FetchOutcome, before: RobotsFile | None = None) -> RobotsFile:
    step = next_step(SITE, outcome, before, NOW)
    assert isinstance(step, RobotsFile)
    return step


@each_case("status", [400, 401, 403, 404, 410, 451])
def test_where_there_is_no_file_all_is_allowed(status: int) -> None:
    """Section 2.3.1.3: unavailable."""
    assert (file_after(answer(status)).access, file_after(answer(status)).reason) == ("all", f"http-{status}")


@each_case("status", [429, 500, 502, 503, 599])
def test_where_the_site_cannot_be_asked_nothing_is_allowed(status: int) -> None:
    """Section 2.3.1.4: unreachable; 429 is the same said politely."""
    file = file_after(answer(status))
    assert (file.access, file.reason, file.expires_at) == ("none", f"http-{status}", NOW + LEAST_FRESH)


@each_case(
    "outcome",
    [
        Failed(task(), "timeout", NOW, 30.0),
        Excluded(task(), "private-address", "10.0.0.1"),
        NotModified(task(), (), NOW, 0.1),
    ],
)
def test_no_answer_allows_nothing(outcome: FetchOutcome) -> None:
    """Nor does an answer that is none, or an address that we do not go to."""
    assert file_after(outcome).access == "none"
    assert file_after(outcome).reason


@pytest.mark.parametrize("access", ["rules", "all"])
def test_an_older_answer_stands_in_for_a_week(access: str) -> None:
    """Section 2.4: a cached copy may be used while the file is unreachable; its age goes on counting."""
    before = RobotsFile(SITE, access, RULES if access == "rules" else b"", NOW - FRESH, NOW)
    file = file_after(answer(503), before)
    assert (file.access, file.body, file.fetched_at) == (access, before.body, before.fetched_at)
    assert file.expires_at == NOW + LEAST_FRESH
    old = RobotsFile(SITE, access, before.body, NOW - STALE, NOW)
    assert file_after(answer(503), old).access == "none"


WAF = ("x-amzn-waf-action", "captcha")


@each_case(
    ("outcome", "reason"),
    [
        (answer(405, HTML, WAF), "challenge"),
        (answer(202, b"", WAF), "challenge"),
        (answer(200, HTML, asked=task("https://www.a.test/robots.txt")), "html-instead"),
        (answer(200, b" \n"), "empty"),
        (answer(401), "http-401"),
        (
            Redirected(task(redirects=MAX_ROBOTS_REDIRECTS), 302, Url("https://a.test/r"), (), NOW, 0.1),
            "too-many-redirects",
        ),
        (
            Redirected(
                task(),
                302,
                Url("https://google.test/r"),
                (("Location", "https://www.google.com/sorry/index?q=x"),),
                NOW,
                0.1,
            ),
            "challenge",
        ),
    ],
)
def test_rules_hold_for_a_week_behind_a_wall(outcome: FetchOutcome, reason: str) -> None:
    """What stands in place of a file that was known does not end its rules, until it is a week old."""
    before = RobotsFile(SITE, "rules", RULES, NOW - FRESH, NOW)
    file = file_after(outcome, before)
    assert (file.access, file.body, file.fetched_at, file.reason) == ("rules", RULES, NOW - FRESH, reason)
    assert file.expires_at == NOW + LEAST_FRESH
    for earlier in (None, RobotsFile(SITE, "rules", RULES, NOW - STALE, NOW)):
        assert file_after(outcome, earlier).access == ("none" if reason == "challenge" else file_after(outcome).access)
    for no_rules in (b"", HTML):
        after = file_after(outcome, RobotsFile(SITE, "rules", no_rules, NOW - FRESH, NOW))
        assert reason == "challenge" or after.fetched_at == NOW


@each_case(
    ("said", "kept"),
    [
        ("max-age=7200", 7200.0),
        ("max-age=1", LEAST_FRESH),
        ("max-age=31536000", FRESH),
        ("no-store", LEAST_FRESH),
        ("nonsense", FRESH),
    ],
)
def test_a_file_is_kept_as_long_as_it_says_within_reason(said: str, kept: float) -> None:
    """Section 2.4: no longer than 24 hours."""
    assert file_after(answer(200, RULES, ("Cache-Control", said))).expires_at == NOW + kept


def test_redirects_are_followed_five_times_wherever_they_lead() -> None:
    """Section 2.3.1.2; after that it counts as if there was no file."""
    for redirects in range(MAX_ROBOTS_REDIRECTS):
        outcome = Redirected(task(redirects=redirects), 302, Url("https://b.test/r"), (), NOW, 0.1)
        assert next_step(SITE, outcome, None, NOW) == Ask(Url("https://b.test/r"), redirects + 1)
    last = Redirected(task(redirects=MAX_ROBOTS_REDIRECTS), 302, Url("https://b.test/r"), (), NOW, 0.1)
    assert (file_after(last).access, file_after(last).reason) == ("all", "too-many-redirects")


def test_a_page_instead_of_the_file_leads_to_www_once() -> None:
    """The Berkeley report: bare names answer with a page where the real file is under `www.`."""
    step = next_step(SITE, answer(200, HTML), None, NOW)
    assert isinstance(step, Ask)
    assert step.url == "https://www.a.test/robots.txt"
    there = task(step.url, step.redirects)
    assert file_after(answer(200, RULES, asked=there)).body == RULES
    for outcome in (
        answer(200, HTML, asked=there),
        answer(503, asked=there),
        Failed(there, "dns-not-found", NOW, 0.1),
        Redirected(there, 302, Url("https://a.test/robots.txt"), (), NOW, 0.1),
    ):
        assert (file_after(outcome).access, file_after(outcome).reason) == ("all", "html-instead")


def test_a_redirect_to_www_is_not_a_fallback() -> None:
    """A redirect to a `www.` host that does not answer leaves robots.txt unknown: all is forbidden, not allowed."""
    there = task("https://www.a.test/robots.txt", redirects=1)
    assert file_after(answer(503, asked=there)).access == "none"
    assert file_after(Failed(there, "timeout", NOW, 30.0)).access == "none"


@each_case("host", ["www.a.test", "192.0.2.7", "[2001:db8::1]", "localhost", "a.test:8080"])
def test_who_has_a_sibling(host: str) -> None:
    """Addresses and names without a domain have none; a port stays."""
    sibling = www_sibling(Url(f"https://{host}/robots.txt"))
    assert sibling == ("https://www.a.test:8080/robots.txt" if host == "a.test:8080" else None)


def test_where_the_file_is() -> None:
    """At the root of the same scheme, host and port."""
    assert robots_url(Url("http://a.test:8080/x/y?z")) == "http://a.test:8080/robots.txt"


def test_the_gate_says_why() -> None:
    """By the rule, or by why the site could not be asked."""
    gate = RobotsGate(MemoryRobotsFiles(), "Periplus")
    gate.learn(file_after(answer(200, gzip.compress(RULES), ("Content-Encoding", "gzip"))))
    assert gate.refusal(SITE, Url("https://a.test/private/x")) == ("robots", "/private/")
    assert gate.refusal(SITE, Url("https://a.test/x")) is None
    gate.learn(file_after(answer(503)))
    assert gate.refusal(SITE, Url("https://a.test/x")) == ("robots-unreachable", "http-503")
    assert gate.refusal(Site("b.test"), Url("https://b.test/")) == ("robots-unreachable", "")


def test_the_delay_is_the_longer_of_what_is_asked() -> None:
    """Crawl-delay, or the pace of Request-rate."""
    gate = RobotsGate(MemoryRobotsFiles(), "Periplus")
    gate.learn(file_after(answer(200, b"User-agent: *\nCrawl-delay: 2\nRequest-rate: 1/5\n")))
    assert gate.delay(SITE) == 5.0
    gate.learn(file_after(answer(404)))
    assert gate.delay(SITE) is None


def test_the_gate_remembers_a_bounded_number_of_rules() -> None:
    """The rules of sites lately asked about, bounded by their size; the others are read again from what is kept."""
    gate = RobotsGate(MemoryRobotsFiles(), "Periplus")
    long = RULES + b"#" * 100_000
    for number in range(1000):
        site = Site(f"s{number}.test")
        gate.learn(RobotsFile(site, "rules", long, NOW, NOW + FRESH))
        assert gate.refusal(site, Url(f"https://{site}/private/")) == ("robots", "/private/")
    assert 100 < len(gate._ready) < 400
    assert gate.refusal(Site("s0.test"), Url("https://s0.test/private/")) == ("robots", "/private/")
