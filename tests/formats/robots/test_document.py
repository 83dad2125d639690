"""Deciding about URLs: who is meant, which rule is the most specific, and what wildcards cost."""

from __future__ import annotations

from collections.abc import Iterator

from tests.each_case import each_case

from periplus.formats.robots import Rule, is_valid_agent, parse, path_of, product_token


def allowed(rules: str, path: str) -> bool:
    return parse(f"User-agent: *\n{rules}".encode()).allows("any", f"http://h{path}")


def test_groups_of_the_same_agent_are_one() -> None:
    """RFC 9309 section 2.2.1: rules of all groups that name a crawler hold together."""
    robots = parse(b"User-agent: a\nDisallow: /x\nUser-agent: b\nDisallow: /y\nUser-agent: A/1.0\nDisallow: /z\n")
    assert [robots.allows("a", f"http://h/{name}") for name in "xyz"] == [False, True, False]


@each_case(
    ("agent", "token"),
    [
        ("Foobot", "foobot"),
        ("Foobot/2.1 (+https://h/)", "foobot"),
        ("Foo-bot_x (me)", "foo-bot_x"),
        ("Foobot / 2.1", "foobot"),
        ("bot2", ""),
        ("Foo Bar", ""),
        ("", ""),
        ("*", ""),
    ],
)
def test_product_tokens(agent: str, token: str) -> None:
    """The name at the head of a User-Agent header; what no robots.txt can name matches no group."""
    assert product_token(agent) == token


@each_case(
    ("agent", "is_valid"),
    [("Foobot", True), ("Foo_bot-x", True), ("", False), ("Foo bot", False), ("Foobot*", False), ("Foobot/2.1", False)],
)
def test_names_that_a_file_can_have(agent: str, is_valid: bool) -> None:
    """RFC 9309 section 2.2.1: letters, `_` and `-`."""
    assert is_valid_agent(agent) is is_valid


def test_a_token_matches_whole() -> None:
    """`foo` and `foo-news` are two crawlers."""
    robots = parse(b"User-agent: foo\nDisallow: /\n")
    assert not robots.allows("FOO/3", "http://h/")
    assert robots.allows("foo-news", "http://h/")


@each_case(
    ("rules", "path", "expected"),
    [
        ("Disallow: /a\nAllow: /a/b", "/a/b", True),
        ("Disallow: /a/b\nAllow: /a", "/a/b", False),
        ("Disallow: /a\nAllow: /a", "/a", True),
        ("Disallow: /a*\nAllow: /a", "/a", False),
        ("Allow: /page\nDisallow: /*.htm", "/page.htm", False),
        ("Disallow: /*?\nAllow: /a", "/a?b", False),
        ("Disallow: /*?", "/a", True),
        ("Disallow: /a$", "/a", False),
        ("Disallow: /a$", "/ab", True),
        ("Disallow: /a$b", "/a$b/c", False),
        ("Disallow: /*.php$", "/x.php", False),
        ("Disallow: /*.php$", "/x.php?y", True),
        ("Disallow: /a*b*c$", "/axbxbxc", False),
        ("Disallow: /ab*ba$", "/aba", True),
        ("Disallow: /a*$", "/abc", False),
        ("Disallow: *", "/", False),
        ("Disallow: *x", "/yx", False),
        ("Disallow: /a****", "/a", False),
        ("Disallow: /a***\nAllow: /ab", "/ab", False),
        ("Disallow: a", "/a", True),
        ("Disallow: $", "/", True),
        ("Disallow: /A", "/a", True),
        ("Disallow:", "/", True),
        ("Disallow: /", "/robots.txt", True),
        ("Disallow: /", "/robots.txt?x", False),
    ],
)
def test_the_most_specific_rule_decides(rules: str, path: str, expected: bool) -> None:
    """RFC 9309 section 2.2.2 and 2.2.3: longest pattern, Allow wins ties, `*`, `$`, and /robots.txt is free."""
    assert allowed(rules, path) is expected


def test_a_verdict_names_its_rule_and_line() -> None:
    """So that who is refused can be told why."""
    robots = parse(b"User-agent: *\nDisallow: /a\nAllow: /a/*.css\n")
    refused = robots.verdict("a", "http://h/a/b")
    assert (refused.allowed, str(refused.rule), refused.rule.line if refused.rule else 0) == (False, "Disallow: /a", 2)
    assert robots.verdict("a", "http://h/a/b.css").rule == Rule(True, "/a/*.css")
    assert robots.verdict("a", "http://h/b").rule is None


def test_a_disallow_holds_for_the_canonical_spelling_too() -> None:
    """RFC 9309 calls these equal; who respells URLs must not step over a fence by it. An Allow is taken exactly."""
    assert not allowed("Disallow: /%7Ejoe/", "/~joe/x")
    assert not allowed("Disallow: /%7ejoe/", "/%7Ejoe/x")
    assert not allowed("Disallow: /a-%2A.html", "/a-*.html")
    assert not allowed("Disallow: /*-%24$", "/a-$")
    assert allowed("Disallow: /a-%2A.html", "/a-b.html")
    assert allowed("Disallow: /*-%24$", "/a-$b")
    assert not allowed("Disallow: /my folder/", "/my%20folder/x")
    assert not allowed("Disallow: /\nAllow: /%7Ejoe/", "/~joe/x")
    assert allowed("Disallow: /a%2Fb", "/a/b")
    assert not allowed("Disallow: /a%24", "/a$")


def test_allowing_an_index_page_allows_its_folder() -> None:
    """As in Google's matcher."""
    assert allowed("Disallow: /\nAllow: /a/index.html", "/a/")
    assert not allowed("Disallow: /\nAllow: /a/index.html", "/a/b")


def test_one_prefix_in_many_is_found() -> None:
    """The walk down the tree meets every prefix of a path, however they interleave."""
    prefixes = ["/a", "/a/b", "/a/b/c/d", "/a/bb", "/a-b", "/ab", "/b"]
    prefixes += [f"/wiki/{name}{number}" for name in ("User", "User:", "Talk:") for number in range(12)]
    robots = parse(("User-agent: *\n" + "".join(f"Disallow: {prefix}\n" for prefix in prefixes)).encode())
    for path in [
        "/wiki/User11/x",
        "/wiki/User:7",
        "/wiki/User",
        "/wiki/Talk:12",
        "/wiki/",
        "/a/b/c/c",
        "/a/b/c/d",
        "/a/ba",
        "/a/bbb",
        "/a/c",
        "/a",
        "/",
        "/b/",
        "/ac",
        "/aa",
    ]:
        longest = max((prefix for prefix in prefixes if path.startswith(prefix)), key=len, default=None)
        rule = robots.verdict("x", "http://h" + path).rule
        assert (rule.pattern if rule else None) == longest


def test_wildcards_cost_no_backtracking() -> None:
    """Patterns that make regular expressions explode are decided in time linear in pattern and path."""
    rules = "".join(f"Disallow: /{'*a' * count}*b\n" for count in range(1, 8000, 100))
    robots = parse(f"User-agent: *\n{rules}".encode())
    assert robots.allows("x", "http://h/" + "a" * 100_000)
    assert not robots.allows("x", "http://h/" + "a" * 100_000 + "b")


def test_many_agents_share_one_reading_and_memory_is_bounded() -> None:
    """However many names are asked for, only a few readings are kept."""
    robots = parse(b"User-agent: *\nDisallow: /x\n")
    assert robots.access("foo") is robots.access("bar")
    for name in names():
        assert not robots.allows(name, "http://h/x")
    assert len(robots._accesses) <= 66


def names() -> Iterator[str]:
    for first in "abcdefghij":
        for second in "abcdefghijklmnopqrst":
            yield first + second


def test_paths_are_cut_from_urls() -> None:
    """Path, parameters and query; no fragment; `/` where there is none."""
    assert path_of("https://h/a;b?c#d") == "/a;b?c"
    assert path_of("https://h?c") == "/?c"
    assert path_of("https://h#/a") == "/"
    assert path_of("https://u:p@h:8/a") == "/a"
    assert path_of("HTTPS://h/a") == "/a"


def test_one_reading_serves_urls_of_any_origin() -> None:
    """What is remembered of one URL's origin does not mislead about the next one's path."""
    access = parse(b"User-agent: *\nDisallow: /secret/\n").access("any")
    urls = ["http://a/b#http://a/b", "https://h/secret/", "http://h:80/secret/", "//h/secret/", "/secret/", "h/secret/"]
    urls += ["http://a/secret/#http://a/b", "https://h/x?https://h/secret/", "https://h/secret", "https://h", ""]
    for first in urls:
        for url in [first, *urls]:
            assert access.allows(url) is not path_of(url).startswith("/secret/"), url
