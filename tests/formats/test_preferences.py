"""Preferences about use: every form in which a site can say them, and what they are together."""

from __future__ import annotations

from tests.each_case import each_case

from periplus.content import read_page
from periplus.formats.preferences import (
    MAX_TDM_BYTES,
    MAX_TDM_RULES,
    TdmFile,
    TdmRule,
    of_robots,
    preference_headers,
    read_content_signal,
    read_content_usage,
    read_tdmrep,
)
from periplus.formats.robots import Group, Robots, Rule, UsageRule, parse, write
from periplus.model import NO_PREFERENCES, Preference, Preferences, UseLimit

ALLOW, DISALLOW, UNKNOWN = Preference.ALLOW, Preference.DISALLOW, Preference.UNKNOWN
URL = "https://site.test/a/page"


@each_case(
    ("field", "train", "search"),
    [
        ("train-ai=y, search=n", ALLOW, DISALLOW),
        ('train-ai=y, train-ai, search=n, search="n"', UNKNOWN, UNKNOWN),
        ("train-ai;allow=n, train-ai=y", ALLOW, UNKNOWN),
        ("Train-AI=n", UNKNOWN, UNKNOWN),
        ("train-ai=n, Search=n", UNKNOWN, UNKNOWN),
        ("train-ai=n,", UNKNOWN, UNKNOWN),
        ("train-ai=n search=y", UNKNOWN, UNKNOWN),
        ("other=(a b;q=1);r, train-ai=n;x=?1;y=:YQ==:", DISALLOW, UNKNOWN),
        ("train-ai=N", UNKNOWN, UNKNOWN),
        ("", UNKNOWN, UNKNOWN),
    ],
)
def test_content_usage(field: str, train: Preference, search: Preference) -> None:
    """The examples of the drafts; an error anywhere makes all of it unknown."""
    read = read_content_usage(field)
    assert (read.train, read.search) == (train, search)


def test_content_signal() -> None:
    """Case and blanks are free, unknown signals say nothing, the strictest of repeated ones counts."""
    assert read_content_signal("search=yes,ai-train=no,use=reference") == Preferences(
        search=ALLOW, train=DISALLOW, use=UseLimit.REFERENCE
    )
    assert read_content_signal(" Search = YES , AI-Input=No, other=no, ai-train=maybe") == Preferences(
        search=ALLOW, ai_input=DISALLOW
    )
    assert read_content_signal("search=yes, search=no, use=full, use=immediate") == Preferences(
        search=DISALLOW, use=UseLimit.IMMEDIATE
    )
    assert read_content_signal(",,=,") == NO_PREFERENCES


def test_rules_of_robots_txt() -> None:
    """The longest path of each field decides, the strictest of equal ones, and only our group counts."""
    robots = parse(
        b"User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /a/ train-ai=y, search=y\n"
        b"content-usage: /a/ search=n\nContent-Signal: ai-input=no\nAllow: /\n\n"
        b"User-agent: Other\nContent-Usage: search=n, train-ai=n\nDisallow: /x\n"
    )
    ours = robots.access("periplus")
    home = of_robots(ours, "https://site.test/")
    assert (home.train, home.search, home.ai_input) == (DISALLOW, UNKNOWN, DISALLOW)
    below = of_robots(ours, URL)
    assert (below.train, below.search, below.ai_input) == (ALLOW, DISALLOW, DISALLOW)
    assert below.said_by == (
        "robots.txt Content-Usage: train-ai=y, search=y",
        "robots.txt Content-Usage: search=n",
        "robots.txt Content-Signal: ai-input=no",
    )
    assert of_robots(robots.access("Other"), URL).train is DISALLOW
    assert of_robots(parse(b"User-agent: *\nDisallow: /x").access("periplus"), URL) is NO_PREFERENCES
    assert robots.problems == ()


def test_rules_are_written_as_they_are_read() -> None:
    """A robots.txt with preferences is the same after writing and reading."""
    usage = (UsageRule("content-usage", "/a/*.png$", "train-ai=n"), UsageRule("content-signal", "/", "search=yes"))
    robots = Robots([Group(("*",), (Rule(False, "/x"),), usage=usage)])
    assert parse(write(robots)) == robots


def test_tdmrep_file() -> None:
    """The first rule that matches decides; what is not a rule is left out, and what is not an array is not read."""
    file = read_tdmrep(
        b'[{"location": "/open/*", "tdm-reservation": "0"},'
        b' {"location": "/", "tdm-reservation": 1, "tdm-policy": "https://site.test/policy.json"},'
        b' {"location": 3, "tdm-reservation": 1}, {"location": "/b", "tdm-reservation": true},'
        b' {"location": "/c", "tdm-reservation": 2}, 7]'
    )
    assert [(rule.location, rule.is_reserved, rule.policy) for rule in file.rules] == [
        ("/open/*", False, ""),
        ("/", True, "https://site.test/policy.json"),
    ]
    assert file.problems == ("bad-reservation",)
    reserved, free = file.rule_for("https://site.test/x"), file.rule_for("https://site.test/open/x?q=1")
    assert reserved is not None
    assert reserved.is_reserved
    assert free is not None
    assert not free.is_reserved
    for body in (b"", b"{}", b"[" * 100_000, b"\xff", b'"x"', b" " * (MAX_TDM_BYTES + 1)):
        assert not read_tdmrep(body).is_readable
    many = b"[" + b",".join([b'{"location":"/x","tdm-reservation":1}'] * (MAX_TDM_RULES + 9)) + b"]"
    assert not read_tdmrep(many).is_readable
    assert [read_tdmrep(body).is_too_long for body in (many, b" " * (MAX_TDM_BYTES + 1), b"{}")] == [True, True, False]


@each_case(
    ("location", "url", "is_matched"),
    [
        ("/%7Ejoe/", "https://site.test/~joe/x", True),
        ("/~joe/", "https://site.test/%7ejoe/x", True),
        ("/a%2Fb", "https://site.test/a/b", False),
        ("https://site.test/a/", "https://site.test/a/b", True),
        ("https://other.test/a/", "https://site.test/a/b", False),
        ("a/", "https://site.test/a/b", True),
        ("/caf\u00e9", "https://site.test/caf%C3%A9", True),
    ],
)
def test_location_of_a_tdm_rule(location: str, url: str, *, is_matched: bool) -> None:
    """Escapes of unreserved characters are decoded on both sides; a URL counts for its own origin."""
    file = TdmFile((TdmRule(location, is_reserved=True),))
    assert (file.rule_for(url) is not None) is is_matched


def test_paths_that_may_not_be_crawled_have_no_preference() -> None:
    """And a Content-Usage line ends a list of agents like a rule, which a Content-Signal line does not."""
    robots = parse(
        b"User-agent: *\nContent-Usage: train-ai=n\nUser-agent: Other\nDisallow: /\nContent-Usage: train-ai=y"
    )
    ours, other = robots.access("periplus"), robots.access("Other")
    assert ours.allows(URL)
    assert of_robots(ours, URL).train is DISALLOW
    assert not other.allows(URL)
    assert of_robots(other, URL) is NO_PREFERENCES
    waiting = parse(b"User-agent: a\nCrawl-delay: 9\nUser-agent: b\nContent-Usage: train-ai=n")
    assert [of_robots(waiting.access(name), URL).train for name in "ab"] == [DISALLOW, DISALLOW]
    signals = parse(b"User-agent: a\nContent-Signal: ai-train=no\nUser-agent: b\nDisallow: /x").access("a")
    assert not signals.allows("https://site.test/x")


@each_case(
    ("lines", "ours", "others"),
    [
        ("License: /l.xml\nUser-agent: Other\nDisallow: /", ["/l.xml"], ["/l.xml"]),
        ("User-agent: Other\nLicense: /o.xml\n\nUser-agent: *\nLicense: /l.xml", ["/l.xml"], ["/o.xml"]),
        ("User-agent: *\nAllow: /\n# terms\nLicense: /l.xml\nUser-agent: Other\nAllow: /", ["/l.xml"], []),
        ("User-agent: Other\nAllow: /\n\nLicense: /l.xml\n\nUser-agent: *\nAllow: /", ["/l.xml"], ["/l.xml"]),
        ("User-agent: Other\n\nLicense: /l.xml\nAllow: /", [], ["/l.xml"]),
        ("User-agent: Other\nAllow: /\nSitemap: /s.xml\nLicense: </l.xml>", ["/l.xml"], ["/l.xml"]),
        ("User-agent: *\nLicense: MIT", [], []),
    ],
)
def test_licence_of_a_group_or_of_the_file(lines: str, ours: list[str], others: list[str]) -> None:
    """A licence inside a group is for its crawlers alone; one that stands apart behind its rules is for all."""
    robots = parse(lines.encode())
    assert [each.location for each in robots.access("periplus").licenses] == ours
    assert [each.location for each in robots.access("Other").licenses] == others
    assert parse(write(robots)) == robots


def test_headers_and_elements_of_a_page() -> None:
    """Fields sent in parts are one dictionary, the page precedes the header in TDMRep, noai is about training."""
    html = b'<meta name="tdm-reservation" content="0"><meta name=robots content="noimageai, index"><p>text'
    headers = preference_headers(
        [("Content-Usage", "search=y"), ("CONTENT-USAGE", "train-ai=y"), ("tdm-reservation", "1"), ("Server", "x")]
    )
    page = read_page(html, URL, use_headers=headers).preferences
    assert (page.search, page.train, page.tdm) == (ALLOW, ALLOW, ALLOW)
    assert page.said_by == ("noimageai", "header Content-Usage: search=y, train-ai=y", "meta tdm-reservation: 0")
    sent = read_page(b"<p>text", URL, use_headers=headers).preferences
    assert (sent.tdm, sent.forbids_training) == (DISALLOW, True)
    tagged = read_page(b"<p>text", URL, robots_tags=["noai", "other: noimageai"]).preferences
    assert (tagged.train, tagged.said_by) == (DISALLOW, ("noai",))
    assert read_page(b"<p>text", URL).preferences == NO_PREFERENCES


def test_preferences_together() -> None:
    """Disallow if any source says so, else allow if any does, else unknown."""
    one = Preferences(search=ALLOW, train=DISALLOW, use=UseLimit.FULL, said_by=("one",))
    other = Preferences(search=DISALLOW, train=ALLOW, ai_input=ALLOW, said_by=("other", "one"))
    both = Preferences(DISALLOW, ALLOW, DISALLOW, UseLimit.FULL, UNKNOWN, ("one", "other"))
    assert one.and_also(other) == both
    assert other.and_also(one).search is DISALLOW
    assert NO_PREFERENCES.and_also(one) == one
