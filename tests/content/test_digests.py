"""How much a page changed: digests, masks and levels."""

from __future__ import annotations

from msgspec.structs import replace
from tests.each_case import each_case

from periplus.content import (
    PageVersion,
    SiteTemplate,
    difference,
    has_text_rule,
    likeness,
    page_version,
    read_page,
    resemblance,
    sketch_of,
    version_of,
)
from periplus.content.digests import marked_sketch, masked
from periplus.model import ChangeLevel, Digests, ParsedPage

WORDS = " ".join(f"word{number}" for number in range(2000))


@each_case(
    ("text", "expected"),
    [
        ("at 12:30 and 1:05:59 pm today", "at # and # today"),
        ("on 2026-11-14T12:30:05Z, 2026/11/14 and 14.11.2026", "on #, # and #"),
        ("on Saturday, November 14, 2026 or 14 Nov 2026", "on # or #"),
        ("Fri, 13 Nov 2026 10:11:12 GMT", "# # GMT"),
        ("1,234,567 pages", "# pages"),
        ("17 comments, 3 minutes ago", "#, #"),
        ("id 550e8400-e29b-41d4-a716-446655440000 end", "id # end"),
        ("token a8f5f167f44f4964e6c998dee827110c end", "token # end"),
        ("東京 12:30 東京", "東京 # 東京"),
        ("3.7, 2010-02-01 and 0 2010-02-01", "3.7, # and 0 #"),
    ],
)
def test_masks(text: str, expected: str) -> None:
    """What changes by itself is masked."""
    assert masked(text.encode()).decode() == expected


@each_case(
    "text",
    [
        "costs 1299 dollars or 3.14",
        "version 3.11.2",
        "chapter 5 of 12",
        "a_function_with_a_long_name",
        "internationalisation2",
        "collapse_rfc2231_value",
        "5 days left",
        "may 5 people",
        "",
        "word",
    ],
)
def test_what_is_not_masked(text: str) -> None:
    """Prices, versions, names and plain numbers are content."""
    assert masked(text.encode()).decode() == text


def level(old: str, new: str) -> ChangeLevel:
    before, after = read(old), read(new)
    return change_since(before.digests, version_of(before), after)


def change_since(digests: Digests, version: bytes, page: ParsedPage) -> ChangeLevel:
    return SiteTemplate().level(difference(PageVersion(digests, version), page_version(page)))


def read(html: str) -> ParsedPage:
    return read_page(html.encode(), "http://h.example/", "text/html; charset=utf-8")


def kept_by_first_rule(page: ParsedPage) -> tuple[Digests, bytes]:
    """What the reader with the first text rule would have kept: another main text, and no number of the rule."""
    version = version_of(page)
    return replace(page.digests, main=1), version[:8] + bytes(reversed(version[9:]))


def test_levels() -> None:
    """From the same bytes to another text."""
    page = f"<title>T</title><nav>menu</nav><main>{WORDS}</main>"
    assert level(page, page) is ChangeLevel.SAME
    assert level(page, page + "<!-- 1 -->") is ChangeLevel.RAW_ONLY
    assert level(page, page.replace("menu", "other menu")) is ChangeLevel.RAW_ONLY
    assert level(page, page + "<p>A new note below the text.") is ChangeLevel.ELSEWHERE
    assert level(page + " 12:30", page + " 12:31") is ChangeLevel.RAW_ONLY
    assert level(page, page.replace("word1000", "changed")) is ChangeLevel.MINOR
    assert level(page, page.replace("word1", "changed")) is ChangeLevel.MAJOR


def test_title_links_and_canonical_are_major() -> None:
    """What a page is called, where it leads and what it is a copy of matter, however small the change."""
    page = f"<title>T</title><main>{WORDS} <a href=/a>a</a></main>"
    assert level(page, page.replace("<title>T", "<title>U")) is ChangeLevel.MAJOR
    assert level(page, page.replace("/a", "/b")) is ChangeLevel.MAJOR
    assert level(page, page + "<link rel=canonical href=/c>") is ChangeLevel.MAJOR


def test_the_order_and_number_of_links_does_not_matter() -> None:
    """The digest of links is of the set of them."""
    one = read_page(b"<a href=/a>a</a><a href=/b>b</a>", "http://h/", "text/html")
    other = read_page(b"<a href=/b>b</a><a href=/a>a</a><a href=/a>a</a>", "http://h/", "text/html")
    assert one.digests.links == other.digests.links
    assert one.digests.text != other.digests.text


def test_links_within_the_page_do_not_count() -> None:
    """Fragments are not part of the digest of links; the page's own URL is where it is written out."""
    plain, home = read("<a href=/a>a</a>"), read("<a href=/a>a</a><a href=/>home</a>")
    assert read("<a href=/a>a</a><a href=#x>x</a><a href=''>here</a>").digests.links == plain.digests.links
    assert read("<a href=/a>a</a><a href=#x>x</a><a href=/>home</a>").digests.links == home.digests.links
    assert plain.digests.links != home.digests.links


def test_texts_of_two_rules_are_not_compared() -> None:
    """A page kept under an older text rule has not changed because its main text is another now."""
    page = read(f"<title>T</title><main>{WORDS} <a href=/a>a</a></main>")
    changed = read("<title>T</title><main>other words <a href=/a>a</a></main>")
    digests, version = kept_by_first_rule(page)
    assert change_since(page.digests, version_of(page), changed) is ChangeLevel.MAJOR
    assert has_text_rule(version_of(page))
    assert not has_text_rule(version)
    assert change_since(digests, version, page) is ChangeLevel.SAME
    assert change_since(digests, version, changed) is ChangeLevel.RAW_ONLY
    assert likeness(version, version_of(changed)) == 1.0
    assert change_since(digests, version, replace(changed, title="U")) is ChangeLevel.MAJOR
    assert change_since(replace(digests, links=7), version, changed) is ChangeLevel.MAJOR


def test_sketches_of_two_rules_do_not_resemble_each_other() -> None:
    """The mark of a rule changes every value, so that near-duplicates are found among pages of one rule."""
    page = read(f"<main>{WORDS}</main>")
    unmarked = sketch_of(page.main_text)
    assert resemblance(page.sketch, unmarked) == 0.0
    lowest = [(one, other) for one, other in zip(page.sketch[::4], unmarked[::4], strict=True) if one == other]
    assert lowest == []
    assert marked_sketch(unmarked) == page.sketch
    assert read("<p></p>").sketch == b""
