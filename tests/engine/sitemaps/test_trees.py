"""The forest: each file once, no loop, no endless tree; and no file speaks for a host that did not ask for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.each_case import each_case

from periplus.engine.sitemaps.trees import Followed, Origin, SitemapNode, TreeLimits, TreeSpending, follow, twin_key
from periplus.engine.sitemaps.visits import AuthoritySettings, SitemapAuthority
from periplus.formats.sitemap import Child
from periplus.model import ConfigError, Granularity, Lastmod, Site, Url

ROOT = Url("http://a.test/index.xml")
INDEX = SitemapNode(ROOT, ROOT, Origin.ROBOTS, 0.0)


def followed(
    names: list[str],
    *,
    index: SitemapNode = INDEX,
    known: frozenset[str] = frozenset(),
    spent: TreeSpending | None = None,
    settings: TreeLimits | None = None,
) -> Followed:
    return follow(
        index,
        [Child(name) for name in names],
        above={twin_key(ROOT), twin_key(index.url)},
        is_known=known.__contains__,
        spent=spent or TreeSpending(1),
        settings=settings or TreeLimits(),
        now=5.0,
    )


@each_case(
    ("url", "key"),
    [
        ("http://a.test/s.xml.gz", "http://a.test/s.xml"),
        ("http://a.test/s.xml.GZ", "http://a.test/s.xml"),
        ("http://a.test/s.xml", "http://a.test/s.xml"),
        ("http://a.test/s.xml.gz?n=1.gz", "http://a.test/s.xml?n=1.gz"),
        ("http://a.test/get?file=s.xml.gz", "http://a.test/get?file=s.xml.gz"),
        ("http://a.test/", "http://a.test/"),
    ],
)
def test_twins_share_a_key(url: str, key: str) -> None:
    """`x.xml` and `x.xml.gz` are one file; a query is another matter."""
    assert twin_key(Url(url)) == key


def test_children_become_nodes() -> None:
    """A node knows where it stands and what its index says of it."""
    lastmod = Lastmod(3.0, Granularity.SECOND)
    result = follow(
        INDEX,
        [Child("HTTP://A.test:80/b.xml", lastmod)],
        above={ROOT},
        is_known=lambda _: False,
        spent=TreeSpending(1),
        settings=TreeLimits(),
        now=5.0,
    )
    assert result.new == (
        SitemapNode(Url("http://a.test/b.xml"), ROOT, Origin.ROBOTS, 5.0, ROOT, 1, lastmod, due_at=5.0),
    )
    assert result.spent == TreeSpending(2)


def test_loops_twins_and_known_files_are_cut() -> None:
    """An index that names itself, its own index, a twin, or what is known makes no second node; but what it says of
    known files is passed on."""
    names = [
        "http://a.test/index.xml.gz",
        "http://a.test/b.xml",
        "http://a.test/b.xml.gz",
        "http://a.test/c.xml",
        "ftp:x",
    ]
    result = followed(names, known=frozenset({"http://a.test/c.xml"}))
    assert [node.url for node in result.new] == ["http://a.test/b.xml"]
    assert [key for key, _ in result.known] == ["http://a.test/c.xml"]
    assert dict(result.refused) == {"sitemap-loop": 1, "sitemap-repeated": 1, "sitemap-not-a-url": 1}


def test_depth_and_budgets_end_a_tree() -> None:
    """Indexes that lead to ever new indexes end somewhere, and so do files, entries and bytes of a tree."""
    deep = SitemapNode(Url("http://a.test/deep.xml"), ROOT, Origin.ROBOTS, 0.0, depth=50)
    assert dict(followed(["http://a.test/x.xml"], index=deep).refused) == {"sitemap-depth": 1}
    names = [f"http://a.test/{number}.xml" for number in range(5)]
    result = followed(names, settings=TreeLimits(max_files=3))
    assert (len(result.new), dict(result.refused)) == (2, {"tree-files": 3})
    settings = TreeLimits(max_entries=10, max_bytes=100)
    assert TreeSpending().read(10, 0).refusal(settings) == "tree-entries"
    assert TreeSpending().read(9, 100).refusal(settings) == "tree-bytes"
    assert TreeSpending().read(9, 99).refusal(settings) == ""
    result = followed(names, settings=TreeLimits(max_children=2))
    assert (len(result.new), dict(result.refused)) == (2, {"index-too-long": 3})


def test_files_of_other_hosts_need_somebody_who_spoke_for_the_tree() -> None:
    """An index that a robots.txt or a person named may lead elsewhere; one that was guessed, linked or pinged not."""
    guessed = SitemapNode(ROOT, ROOT, Origin.WELL_KNOWN, 0.0)
    assert len(followed(["http://cdn.test/b.xml"]).new) == 1
    assert dict(followed(["http://cdn.test/b.xml"], index=guessed).refused) == {"sitemap-foreign": 1}
    relaxed = TreeLimits(follows_foreign=True)
    assert len(followed(["http://cdn.test/b.xml"], index=guessed, settings=relaxed).new) == 1


@given(st.integers(0, 60), st.integers(0, 30), st.integers(0, 20), st.floats(0.0, 1.0), st.integers())
def test_sample_has_its_size_and_stays_when_an_index_grows(
    count: int, more: int, least: int, share: float, seed: int
) -> None:
    """max(n0, alpha n) children, the same for the same seed, and still among them when the index has grown."""
    settings = TreeLimits(sample_least=least, sample_share=share, sample_seed=seed)
    names = [f"http://a.test/{number}.xml" for number in range(count + more)]
    first = [node.url for node in followed(names[:count], settings=settings).new]
    again = [node.url for node in followed(list(reversed(names[:count])), settings=settings).new]
    assert set(first) == set(again)
    assert len(first) == settings.sample_of(count)
    assert min(count, least) <= len(first) <= count
    assert len(first) >= share * count - 1e-6
    grown = followed(names, settings=settings, known=frozenset(map(twin_key, first)))
    assert {key for key, _ in grown.known} == set(first)
    assert len(grown.known) + len(grown.new) == settings.sample_of(count + more)


def test_sample_settings_that_cannot_be() -> None:
    """A setting that makes no sense is refused when it is read."""
    with pytest.raises(ConfigError):
        TreeLimits(sample_share=1.5)
    with pytest.raises(ConfigError):
        AuthoritySettings(cross_host="everybody")


FILE = Url("http://files.test/maps/a.xml")
VOUCHING = frozenset({Site("vouches.test"), Site("also-vouches.test")})


@each_case(
    ("page", "reason"),
    [
        ("http://files.test/maps/x", ""),
        ("http://files.test/x", ""),
        ("https://files.test/x", ""),
        ("http://vouches.test/x", ""),
        ("https://also-vouches.test/x", ""),
        ("http://never-asked.test/x", "sitemap-foreign-host"),
        ("http://www.files.test/x", "sitemap-foreign-host"),
    ],
)
def test_another_host_must_have_named_the_file(page: str, reason: str) -> None:
    """Strictly: its own host, and hosts whose robots.txt names the file or an index that leads to it."""
    assert SitemapAuthority(FILE, VOUCHING).refusal(Url(page)) == reason


def test_rule_can_be_relaxed() -> None:
    """To hosts of the same domain, or to all."""
    kin, stranger = Url("http://www.files.test/x"), Url("http://never-asked.test/x")
    by_domain = SitemapAuthority(FILE, VOUCHING, AuthoritySettings(cross_host="domain"))
    by_all = SitemapAuthority(FILE, VOUCHING, AuthoritySettings(cross_host="any"))
    assert (by_domain.refusal(kin), by_domain.refusal(stranger)) == ("", "sitemap-foreign-host")
    assert (by_all.refusal(kin), by_all.refusal(stranger)) == ("", "")


def test_location_rule_is_an_option_that_robots_lift() -> None:
    """By the protocol a file speaks for its folder; where the host's robots.txt names it, for the host."""
    settings = AuthoritySettings(keeps_folder=True)
    bound = SitemapAuthority(FILE, VOUCHING, settings)
    assert bound.refusal(Url("http://files.test/maps/x")) == ""
    assert bound.refusal(Url("http://files.test/x")) == "sitemap-other-folder"
    named = SitemapAuthority(FILE, {Site("files.test")}, settings)
    assert named.refusal(Url("http://files.test/x")) == ""


def test_a_million_hosts_in_a_file_fill_no_memory() -> None:
    """Answers are remembered, but not more than some."""
    voice = SitemapAuthority(FILE, VOUCHING)
    for number in range(10_000):
        assert voice.refusal(Url(f"http://h{number}.test/")) == "sitemap-foreign-host"
    assert len(voice._answers) <= 4096
