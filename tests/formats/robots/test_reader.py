"""Reading robots.txt: fields, groups, extensions, and the dirt of the real web."""

from __future__ import annotations

from datetime import time

import pytest
from tests.each_case import each_case
from tests.formats.linear_time import assert_linear

from periplus.formats.robots import MAX_BYTES, CleanParam, Group, RequestRate, Rule, VisitTime, looks_like_html, parse


def reasons(body: bytes) -> list[str]:
    return [problem.reason for problem in parse(body).problems]


def test_groups_are_read_in_order() -> None:
    """Agents that follow each other share their rules; a rule line ends the list of agents."""
    robots = parse(b"User-agent: a\nUser-agent: B/2.1\nDisallow: /x\nAllow: /x/y\n\nUser-agent: *\nDisallow:\n")
    assert robots.groups == (
        Group(("a", "B/2.1"), (Rule(False, "/x"), Rule(True, "/x/y"))),
        Group(("*",)),
    )
    assert [rule.line for rule in robots.groups[0].rules] == [3, 4]
    assert robots.problems == ()


def test_unknown_lines_do_not_end_a_list_of_agents() -> None:
    """RFC 9309 section 2.2.4: other records must not interfere; both crawlers get the rule."""
    robots = parse(b"User-agent: a\nSitemap: /s.xml\nFoo: bar\nUser-agent: b\nDisallow: /\n")
    assert robots.groups == (Group(("a", "b"), (Rule(False, "/"),)),)


def test_a_delay_is_for_those_above_it_and_rules_for_all() -> None:
    """A Crawl-delay does not end the list of agents for rules, and is not for agents named below it."""
    robots = parse(b"User-agent: a\nCrawl-delay: 9\nUser-agent: b\nDisallow: /x\nCrawl-delay: 2\n")
    assert robots.groups == (
        Group(("a",), crawl_delay=9.0),
        Group(("a", "b"), (Rule(False, "/x"),)),
        Group(("b",), crawl_delay=2.0),
    )
    assert (robots.crawl_delay("a"), robots.crawl_delay("b")) == (9.0, 2.0)
    assert not robots.allows("a", "http://h/x")
    assert not robots.allows("b", "http://h/x")


def test_agents_without_rules_are_a_group() -> None:
    """Who is named and told nothing may do everything, and does not fall back to `*`."""
    robots = parse(b"User-agent: *\nDisallow: /\nUser-agent: a\n")
    assert robots.allows("a", "http://h/x")
    assert not robots.allows("b", "http://h/x")


def test_empty_agent_line_begins_a_group() -> None:
    """The rules below `User-agent:` with no name are not those of the group above."""
    robots = parse(b"User-agent: a\nDisallow: /a\nUser-agent:\nDisallow: /\n")
    assert robots.allows("a", "http://h/b")
    assert robots.allows("", "http://h/b")
    assert reasons(b"User-agent:\nDisallow: /\n") == ["empty-agent"]


def test_lines_before_any_agent_say_nothing() -> None:
    """A rule outside a group is a problem, with its place, and no rule."""
    robots = parse(b"# hello\r\nDisallow: /\r\nCrawl-delay: 3\r\nUser-agent: *\r\nDisallow: /a\r\n")
    assert [(problem.reason, problem.at) for problem in robots.problems] == [
        ("outside-group", 9),
        ("outside-group", 22),
    ]
    assert robots.allows("a", "http://h/b")
    assert robots.crawl_delay("a") is None


@each_case("name", ["disalow", "DISSALLOW", "Disallowed", " Disallow ", "diasllow"])
def test_misspelt_names_are_understood(name: str) -> None:
    """Google's parser takes common misspellings and whatever begins with a known name."""
    assert parse(f"useragent: *\n{name}: /x".encode()).groups == (Group(("*",), (Rule(False, "/x"),)),)


def test_a_forgotten_colon_is_tolerated_only_before_one_word() -> None:
    """`disallow /x` is a rule, prose is not."""
    robots = parse(b"user-agent foobot\ndisallow /x\ndisallow the bad bots\nallow\n")
    assert robots.groups == (Group(("foobot",), (Rule(False, "/x"),)),)
    assert [problem.reason for problem in robots.problems] == ["no-colon", "no-colon", "not-a-field", "not-a-field"]


def test_comments_and_blanks_are_cut() -> None:
    """A comment begins anywhere; blanks around names and values do not count."""
    body = b"\t User-agent\t:\tfoo # me\n#Disallow: /\n  Disallow :/x y \t# why\n"
    assert parse(body).groups == (Group(("foo",), (Rule(False, "/x y"),)),)


def test_patterns_are_compared_by_octet() -> None:
    """Octets beyond ASCII are escaped whatever the charset, also one that looks like a blank; escapes in upper case."""
    rules = parse(b"User-agent: *\nDisallow: /caf\xe9\nDisallow: /voil\xc3\xa0\nDisallow: /%c3%a0%zz\n").groups[0].rules
    assert [rule.pattern for rule in rules] == ["/caf%E9", "/voil%C3%A0", "/%C3%A0%zz"]


@each_case(
    ("text", "delay"),
    [("10", 10.0), ("0.5", 0.5), ("2,5", 2.5), (".5", 0.5), ("10s", 10.0), ("3 seconds", 3.0), ("0", 0.0)],
)
def test_crawl_delays(text: str, delay: float) -> None:
    """Seconds, as people write them."""
    assert parse(f"User-agent: *\nCrawl-delay: {text}".encode()).crawl_delay("any") == delay


@each_case("text", ["", "-1", "soon", "1e9", "nan", "inf", "9" * 400, "10 minutes", "٣"])
def test_bad_crawl_delays_are_problems(text: str) -> None:
    """What is not a number of seconds is not a delay."""
    body = f"User-agent: *\nCrawl-delay: {text}".encode()
    assert parse(body).crawl_delay("any") is None
    assert reasons(body) == ["bad-value"]


def test_the_slower_of_two_wishes_holds() -> None:
    """A site that says two things about speed is given the more polite one."""
    robots = parse(b"User-agent: *\nCrawl-delay: 2\nCrawl-delay: 5\nRequest-rate: 1/1\nRequest-rate: 2/60\n")
    assert robots.crawl_delay("a") == 5.0
    assert robots.request_rate("a") == RequestRate(2, 60)


@each_case(
    ("text", "rate"),
    [
        ("1/5", RequestRate(1, 5)),
        ("100 / 15m", RequestRate(100, 900)),
        ("1/1 hour", RequestRate(1, 3600)),
        ("1/10s 1820-1940", RequestRate(1, 10, VisitTime(time(18, 20), time(19, 40)))),
        ("1/0", None),
        ("0/5", None),
        ("5", None),
        ("1/10x", None),
        ("1/10s sometimes", None),
    ],
)
def test_request_rates(text: str, rate: RequestRate | None) -> None:
    """Requests in a time, perhaps in some hours; anything else is nothing."""
    assert parse(f"User-agent: *\nRequest-rate: {text}".encode()).request_rate("any") == rate


@each_case(
    ("text", "span"),
    [
        ("0200-0630", VisitTime(time(2), time(6, 30))),
        ("02:00 - 06:30", VisitTime(time(2), time(6, 30))),
        ("02.00-06.30", VisitTime(time(2), time(6, 30))),
        ("2200 2400", VisitTime(time(22), time(0))),
        ("2500-2600", None),
        ("0260-0300", None),
        ("night", None),
    ],
)
def test_visit_times(text: str, span: VisitTime | None) -> None:
    """Two times of the day, also across midnight."""
    assert parse(f"User-agent: *\nVisit-time: {text}".encode()).visit_time("any") == span


def test_yandex_fields_belong_to_the_site() -> None:
    """Host and Clean-param stand anywhere; the first Host holds."""
    robots = parse(
        b"Host: www.h\nUser-agent: *\nClean-param: ref&sid /shop/*.php\nHost: h2\nClean-param: s\nDisallow: /"
    )
    assert robots.host == "www.h"
    assert robots.clean_params == (CleanParam(("ref", "sid"), "/shop/*.php"), CleanParam(("s",)))
    assert reasons(b"Clean-param:\nHost:") == ["bad-value", "bad-value"]


def test_noindex_is_for_its_group() -> None:
    """Noindex patterns are kept by group, and do not forbid fetching."""
    robots = parse(b"User-agent: a\nNoindex: /x*y\nUser-agent: *\nDisallow: /d\n")
    assert robots.noindex("a") == ("/x*y",)
    assert robots.noindex("b") == ()
    assert robots.allows("a", "http://h/x/y")


@each_case(
    ("line", "sitemaps"),
    [
        ("Sitemap: h \xa0;", ("h \xa0",)),
        ("Sitemap: <http://h/s.xml>", ("http://h/s.xml",)),
        ("SITEMAP:'http://h/s.xml'", ("http://h/s.xml",)),
        ("site-map : /s.xml # ours", ("/s.xml",)),
        ("Sitemap: Sitemap: http://h/s.xml", ("http://h/s.xml",)),
        ("Sitemap http://h/s.xml", ("http://h/s.xml",)),
        ("Sitemap: http://h/a.xml http://h/b.xml", ("http://h/a.xml", "http://h/b.xml")),
        ("Sitemap: http://h/my map.xml", ("http://h/my map.xml",)),
        ("Sitemap: http://h/s.xml\nSitemap: http://h/s.xml", ("http://h/s.xml",)),
        ("Sitemap: http://h/\u00fc.xml", ("http://h/\u00fc.xml",)),
        ("Sitemap:", ()),
        ("Sitemap: <>", ()),
    ],
)
def test_sitemap_lines_are_cleaned(line: str, sitemaps: tuple[str, ...]) -> None:
    """Angle brackets, quotes, a second name, a missing colon, several at once: all seen in the wild."""
    assert parse(line.encode()).sitemaps == sitemaps


def test_sitemaps_are_resolved_against_the_file() -> None:
    """Relative locations are resolved, what is not a web address is left out, and each comes once."""
    robots = parse(b"Sitemap: /s.xml\nSitemap: HTTP://H.example/s.xml\nSitemap: s.xml#x\nSitemap: ftp://h/s.xml")
    assert robots.sitemap_urls("http://h.example/robots.txt") == ("http://h.example/s.xml",)


def test_every_field_is_counted() -> None:
    """The survey of field names sees known, unknown and ACAP fields, in any letter case."""
    robots = parse(b"User-Agent: *\nDISALLOW: /a\nDisallow: /b\nACAP-crawler: *\nACAP-disallow-crawl: /\nFoo bar: 1\n")
    assert dict(robots.fields) == {
        "user-agent": 1,
        "disallow": 2,
        "acap-crawler": 1,
        "acap-disallow-crawl": 1,
        "foo bar": 1,
    }


@each_case("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_read(encoding: str) -> None:
    """With or without its byte order mark."""
    robots = parse("User-agent: *\r\nDisallow: /ü\r\n".encode(encoding))
    assert robots.groups == (Group(("*",), (Rule(False, "/%C3%BC"),)),)
    assert [problem.reason for problem in robots.problems] == ["utf-16"]


def test_utf_16_is_cut_between_characters() -> None:
    """The limit may fall into a character; the rule before it stays whole."""
    body = "User-agent: *\nDisallow: /a\nDisallow: /b\n".encode("utf-16-le")
    robots = parse(body, limit=len(body) - 5)
    assert robots.groups == (Group(("*",), (Rule(False, "/a"),)),)


@each_case("mark", [b"\xff\xfe", b"\xfe\xff"])
@each_case("end", [b"", b"\0"])
def test_the_mark_of_utf_16_before_ascii_is_skipped(mark: bytes, end: bytes) -> None:
    """Read as UTF-16 it would have no rules, and everything would be allowed."""
    robots = parse(mark + b"User-agent: *\nDisallow: /x\n" + end)
    assert not robots.allows("a", "http://h/x")
    assert robots.problems[0].reason in ("utf-16", "nul-bytes")


def test_nuls_do_not_keep_a_byte_order_mark() -> None:
    """One NUL anywhere must not cost the first line, and with it the whole group."""
    robots = parse(b"\xef\xbb\xbfUser-agent: *\nDisallow: /x\n\0")
    assert robots.groups == (Group(("*",), (Rule(False, "/x"),)),)


def test_nuls_are_dropped() -> None:
    """They are in no URL, and no reason to ignore a rule."""
    robots = parse(b"User-agent: *\0\nDisallow: /x\0\0\n")
    assert not robots.allows("a", "http://h/x")
    assert [problem.reason for problem in robots.problems] == ["nul-bytes"]


@each_case(
    "page",
    [
        b"<!DOCTYPE html><html><body>Disallow: /</body></html>",
        b"\n\n  <html>\nUser-agents are: none",
        b"<!-- 404 --><title>Not found</title>",
        b"\xef\xbb\xbf<?xml version='1.0'?><html/>",
    ],
)
def test_a_web_page_in_its_place_has_no_rules(page: bytes) -> None:
    """Servers that answer everything with a page exclude no crawler."""
    robots = parse(page)
    assert robots.is_html
    assert [problem.reason for problem in robots.problems] == ["html-instead"]
    assert robots.groups == ()
    assert robots.allows("a", "http://h/")


def test_a_robots_txt_in_markup_is_obeyed() -> None:
    """Who wrote `User-agent` at the beginning of a line meant it."""
    body = b"<html><pre>\nUser-agent: *\nDisallow: /x\n</pre></html>"
    assert not looks_like_html(body)
    assert not parse(body).allows("a", "http://h/x")


@each_case("before", [b"<pre>", b"<html><body><pre>", b"<!DOCTYPE html>\n<p class=x>", b"<!-- x --><html>"])
def test_the_first_line_may_stand_behind_tags(before: bytes) -> None:
    """A file that names its agents is one, wherever its markup ends."""
    robots = parse(before + b"User-agent: *\nDisallow: /a</pre>\n")
    assert not robots.is_html
    assert not robots.allows("any", "http://h/a")
    assert robots.allows("any", "http://h/b")


def test_tags_around_lines_are_not_part_of_them() -> None:
    """Editors that write web pages end every line with a tag."""
    body = b"""<!DOCTYPE html><body>
User-agent: a<BR>
Disallow: <BR>
Crawl-delay: 10<br />
User-agent: *<BR>
<p class="x">Disallow: /x</p>
Sitemap: <http://h/s.xml><br>
"""
    robots = parse(body)
    assert robots.crawl_delay("a") == 10.0
    assert robots.allows("a", "http://h/x")
    assert not robots.allows("b", "http://h/xy")
    assert robots.sitemaps == ("http://h/s.xml",)
    assert not parse(b"User-agent: *\nDisallow: /<br>").allows("b", "http://h/<br>")


def test_what_is_beyond_the_limit_is_not_read() -> None:
    """At least 500 KiB count; a larger file is cut at the end of a line and says so."""
    line = b"Disallow: /" + b"a" * 52 + b"\n"
    body = b"User-agent: *\n" + line * 300_000
    robots = parse(body)
    assert [problem.reason for problem in robots.problems] == ["too-large"]
    assert MAX_BYTES >= 512_000
    assert len(robots.groups[0].rules) == (MAX_BYTES - 14) // len(line)
    assert {len(rule.pattern) for rule in robots.groups[0].rules} == {53}


def test_a_long_line_is_cut() -> None:
    """And the lines behind it are read."""
    robots = parse(b"User-agent: *\nDisallow: /" + b"a" * 20_000 + b"\nDisallow: /b\n")
    assert [len(str(rule)) for rule in robots.groups[0].rules] == [2083 * 8 - 1, len("Disallow: /b")]
    assert [problem.reason for problem in robots.problems] == ["long-line"]


def test_junk_is_bounded() -> None:
    """A megabyte of nonsense costs no more than a few problems and names."""
    robots = parse(b"".join(b"name%d: x\njunk junk junk\n" % number for number in range(30_000)))
    assert len(robots.problems) <= 102
    assert robots.problems[-1].reason == "more-problems"
    assert len(robots.fields) <= 1000


@pytest.mark.parametrize(
    "piece",
    [
        *(" ", "\t", "\r", "\n", "#", ":", "%", "%c3", "\xe9", "\0", "<p ", "<!--", "'", "a "),
        *("Disallow:", "Disallow: /a\n", "Disallow: a\n", "User-agent: a\n", "User-agent: a\nCrawl-delay: 1\n"),
        *("Sitemap: /\n", "Sitemap: Sitemap: ", "Sitemap /\n", "Noindex: /\n", "Request-rate: 1/1 ", "x y\n"),
    ],
)
def test_robots_take_linear_time(piece: str) -> None:
    """No repetition, in a line or of lines, costs more than what it weighs."""

    def read(size: int) -> None:
        text = (piece * (size // len(piece))).encode("latin-1")
        for start in (b"", b"User-agent: *\nDisallow: /", b"<html>User-agent: *\nSitemap: "):
            parse(start + text)

    assert_linear(read, 40_000)
