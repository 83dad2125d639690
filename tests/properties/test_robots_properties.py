"""robots.txt, for all inputs: nothing raises, what is written is read back, and short ways say what long ones say."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from periplus.formats.robots import CleanParam, Group, RequestRate, Robots, Rule, VisitTime, parse, write

LINES = st.sampled_from(
    b"User-agent: *|user-agent: foo|Disallow: /|Allow: /a*b$|Crawl-delay: 1|Request-rate: 1/1|Noindex: /|Sitemap: /s|"
    b"Host: h|Clean-param: a /|Visit-time: 0100-0200|x y|<html>".split(b"|")
)
NAMED = st.builds(
    lambda name, value: name + b":" + value,
    st.sampled_from([b"User-agent", b"Allow", b"Sitemap", b"Clean-param", b"Host", b"Noindex", b"Request-rate", b"x"]),
    st.one_of(
        st.binary(max_size=20), st.text(max_size=20).map(str.encode), st.text(" \t\xa0'<&/:#asitemap").map(str.encode)
    ),
)
BODIES = st.one_of(
    st.binary(max_size=400),
    st.lists(st.one_of(LINES, NAMED), max_size=20).map(b"\n".join),
    st.lists(st.one_of(LINES, st.binary(max_size=30)), max_size=20).map(b"\r".join),
)

NAME = st.text("abyzABYZ_-", min_size=1, max_size=8)
TOKENS = st.one_of(st.just("*"), NAME, NAME.map("{}/1.0".format))
PIECES = st.sampled_from([*"abc/*?=&.$ -", "%00", "%2F", "%3A", "%7E", "%A9", "%C3", "%FF"])
PATTERNS = st.builds(str.__add__, st.sampled_from("/*"), st.lists(PIECES, max_size=12).map("".join)).map(str.strip)
PLAIN_PATTERNS = st.builds(str.__add__, st.sampled_from("/*"), st.text("abc/*?=&.$-", max_size=12))
PLAIN_PATTERNS |= st.from_regex(r"\A/(aa|ab|/){0,9}\*?a?\$?\Z")
PATHS = st.from_regex(r"\A/[a-c/?=&.$-]{0,12}\Z") | st.from_regex(r"\A/(aa|ab|/){0,12}\Z")
TIMES = st.times().map(lambda moment: moment.replace(second=0, microsecond=0))
HOURS = st.builds(VisitTime, TIMES, TIMES)
RATES = st.builds(RequestRate, st.integers(1, 10**6), st.integers(1, 10**6), st.none() | HOURS)
GROUPS = st.builds(
    Group,
    agents=st.lists(TOKENS, max_size=3, unique=True).map(tuple),
    rules=st.lists(st.builds(Rule, st.booleans(), PATTERNS), max_size=5).map(tuple),
    crawl_delay=st.none() | st.integers(0, 10**8).map(lambda milliseconds: milliseconds / 1000),
    request_rate=st.none() | RATES,
    visit_time=st.none() | HOURS,
    noindex=st.lists(PATTERNS, max_size=2).map(tuple),
)
NAMES = st.text("abyz019.\u00e0\u00e9\u00ff-", min_size=1, max_size=10)
FILES = st.builds(
    Robots,
    st.lists(GROUPS, max_size=4),
    st.lists(NAMES.map("https://h/{}.xml".format), max_size=3, unique=True),
    host=st.none() | NAMES,
    clean_params=st.lists(st.builds(CleanParam, st.lists(NAMES, min_size=1).map(tuple), st.just("") | PATTERNS)),
)

ORDINARY = st.one_of(
    LINES,
    st.builds(
        b"%s:%s%s%s".__mod__,
        st.tuples(
            st.sampled_from([b"User-agent", b"user-agent", b"Disallow", b"DISALLOW", b"Allow", b"Sitemap", b"Noindex"]),
            st.sampled_from([b" ", b" ", b"", b"\t", b"  "]),
            st.sampled_from([b"/", b"/a/*.b$", b"*", b"a", b"/%C3%a4", b"/%3A", b"/\xc3\xa4", b"b\xf6t", b"", b"/a b"]),
            st.sampled_from([b"", b"", b" ", b"\t", b" # why", b"\r"]),
        ),
    ),
    st.builds(b"Crawl-delay: %s".__mod__, st.sampled_from([b"5", b"1.5", b"1234567890", b"5s", b"\xb2"])),
    st.just(b""),
)
SPELLINGS = re.compile(rb"(?m)^(?:user-agent|disallow|allow|sitemap|noindex|crawl-delay|host)(?=:)", re.IGNORECASE)


@given(st.lists(ORDINARY, max_size=12))
def test_short_ways_say_what_long_ones_say(lines: list[bytes]) -> None:
    """Unusual spellings, and a line that makes the whole file need care, change nothing about the other lines."""
    body = b"\n".join(lines)
    careful = SPELLINGS.sub(lambda name: b" " + name[0].swapcase(), body) + b"\nx: %c3\xc3\xa4\n"
    plain, other = parse(body), parse(careful)
    assert other == plain
    assert [rule.line for group in other.groups for rule in group.rules] == [
        rule.line for group in plain.groups for rule in group.rules
    ]
    assert [problem.reason for problem in other.problems] == [problem.reason for problem in plain.problems]
    assert other.is_html or other.fields - plain.fields == {"x": 1}


@given(BODIES, st.text(max_size=10), st.text(max_size=30))
def test_no_bytes_make_it_raise(body: bytes, agent: str, url: str) -> None:
    """Whatever is served, there is an answer for every crawler and every URL."""
    robots = parse(body)
    assert robots.verdict(agent, url).allowed is robots.allows(agent, url)
    assert all(robots.noindex(agent))
    robots.sitemap_urls("http://h/robots.txt")


@given(FILES)
def test_what_is_written_is_read_back(robots: Robots) -> None:
    """`parse(write(x)) == x`, and nothing about it is a problem but a group without agents."""
    again = parse(write(robots))
    assert again == robots
    assert {problem.reason for problem in again.problems} <= {"empty-agent"}


@given(BODIES)
def test_what_was_read_can_be_written(body: bytes) -> None:
    """A file that was tidied up says the same as before."""
    robots = parse(body)
    assert parse(write(robots)) == robots


@given(st.lists(st.builds(Rule, st.booleans(), PLAIN_PATTERNS), max_size=40), PATHS)
def test_the_matcher_equals_a_plain_one(rules: list[Rule], path: str) -> None:
    """The tree and the pieces decide as a regular expression for each pattern would."""
    longest = {True: -1, False: -1}
    for rule in rules:
        if re.match(as_expression(rule.pattern), path):
            longest[rule.allows] = max(longest[rule.allows], len(rule.pattern))
    assert Robots([Group(("*",), tuple(rules))]).allows("x", "http://h" + path) is (longest[True] >= longest[False])


def as_expression(pattern: str) -> str:
    """The pattern as RFC 9309 explains it."""
    anchored = pattern.endswith("$")
    body = pattern[:-1] if anchored else pattern
    return ".*".join(map(re.escape, body.split("*"))) + (r"\Z" if anchored else "")
