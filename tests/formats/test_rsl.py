"""Licences of RSL 1.0 beyond the cases of the corpus: users and countries, reporting, several offers, origins."""

from __future__ import annotations

from tests.each_case import each_case

from periplus.content.licenses import named_commons, named_licenses
from periplus.formats.rsl import (
    Licensee,
    NamedLicense,
    Permission,
    creative_commons,
    feed_licenses,
    header_commons,
    read_rsl,
)

URL = "https://site.test/a/page"


def document(inner: str, url: str = "/") -> bytes:
    """A document with one `content` element."""
    return f'<rsl xmlns="https://rslstandard.org/rsl"><content url="{url}">{inner}</content></rsl>'.encode()


@each_case(
    ("inner", "answer", "conditions"),
    [
        (
            "<license><payment type='use'/></license><license><payment type='attribution'/></license>",
            "conditional",
            ("attribution",),
        ),
        ("<license><payment type='barter'/></license>", "conditional", ("pay:barter",)),
        ("<license><reporting type='usage'/></license>", "disallow", ()),
        ("<license><permits type='user'>education</permits></license>", "conditional", ("user",)),
        ("<license><permits type='geo'>DE</permits></license>", "conditional", ("geo",)),
        (
            "<license><prohibits type='geo'>CN</prohibits><payment type='crawl'/></license>",
            "conditional",
            ("pay:crawl", "geo"),
        ),
        ("<license><prohibits type='usage'>ai-index</prohibits></license>", "allow", ()),
        ("<license><permits type='usage'>train-ai</permits></license>", "disallow", ()),
        ("<license><prohibits type='usage'>search <!-- and --> ai-train</prohibits></license>", "disallow", ()),
        ("<license><prohibits type='usage'><?x y?>ai-<!-- x -->train</prohibits></license>", "disallow", ()),
        ("<license><prohibits type='usage'>search<x xmlns='urn:x'/>ai-train</prohibits></license>", "disallow", ()),
        ("<license><prohibits><x xmlns='urn:x'>ai-train</x></prohibits></license>", "disallow", ()),
        ("<license><permits type='usage'>search<x xmlns='urn:x'/>ai-train</permits></license>", "allow", ()),
        ("<license><permits>search<x xmlns='urn:x'>no ai-train</x></permits></license>", "disallow", ()),
        ("<license><prohibits type='usage'><![CDATA[ai-train]]></prohibits></license>", "disallow", ()),
        ("", "unknown", ()),
    ],
)
def test_training(inner: str, answer: str, conditions: tuple[str, ...]) -> None:
    """What a licence says of training to someone of whom nothing is known."""
    assert read_rsl(document(inner)).answers(URL)["train"] == Permission(answer, conditions)


def test_index_of_a_model_is_input() -> None:
    """Who prohibits an index for models prohibits the input of models."""
    answers = read_rsl(document("<license><prohibits type='usage'>ai-index</prohibits></license>")).answers(URL)
    assert (answers["ai_input"].answer, answers["search"].answer) == ("disallow", "allow")


@each_case(
    ("inner", "answer"),
    [
        ("<license><permits type='user'>education</permits></license>", "allow"),
        ("<license><permits type='user'>commercial</permits></license>", "disallow"),
        ("<license><prohibits type='user'>education</prohibits></license>", "disallow"),
        ("<license><permits type='geo'>DE AT</permits></license>", "allow"),
        ("<license><prohibits type='geo'>DE</prohibits></license>", "disallow"),
    ],
)
def test_known_licensee(inner: str, answer: str) -> None:
    """What a licence says to a school in Germany."""
    us = Licensee(frozenset({"education"}), "DE")
    assert read_rsl(document(inner)).answers(URL, us)["search"].answer == answer


@each_case(
    ("url", "is_matched"),
    [
        ("https://site.test/a/", True),
        ("https://SITE.test/a/*", True),
        ("http://site.test/a/", False),
        ("https://other.test/", False),
        ("", True),
        ("a/page$", True),
        ("/b", False),
    ],
)
def test_origin_of_content(url: str, *, is_matched: bool) -> None:
    """An absolute URL is about its own origin, an empty one about whatever names the licence."""
    said = read_rsl(document("<license><prohibits type='usage'>all</prohibits></license>", url)).answers(URL)["train"]
    assert said.answer == ("disallow" if is_matched else "unknown")


def test_licence_of_a_feed_item() -> None:
    """A feed speaks for pages of its own origin only."""
    item = (
        '<item><rsl:content url="{}"><rsl:license><rsl:prohibits type="usage">all</rsl:prohibits></rsl:license>'
        "</rsl:content></item>"
    )
    feed = (
        '<rss xmlns:rsl="https://rslstandard.org/rsl"><channel>'
        + item.format("https://site.test/a/page")
        + item.format("https://other.test/")
        + "</channel></rss>"
    )
    (named,) = feed_licenses(feed.encode(), "https://site.test/feed")
    assert named.by == "feed"
    assert read_rsl(named.inline).answers(URL)["train"].answer == "disallow"
    assert read_rsl(named.inline).answers("https://site.test/b")["train"].answer == "unknown"


@each_case(
    ("path", "conditions"),
    [
        ("licenses/by/4.0/", ("attribution",)),
        ("licenses/BY-SA/3.0/de/", ("attribution", "share-alike")),
        ("licenses/by-nc-nd/4.0", ("attribution", "non-commercial", "no-derivatives")),
        ("publicdomain/zero/1.0/", ()),
        ("publicdomain/mark/1.0/", ()),
    ],
)
def test_creative_commons(path: str, conditions: tuple[str, ...]) -> None:
    """The terms are in the URL; copies for readers are whole."""
    said = creative_commons(f"https://creativecommons.org/{path}")
    assert said is not None
    assert said["search"] == Permission("allow")
    assert said["train"] == said["ai_input"] == Permission("conditional" if conditions else "allow", conditions)
    assert said["archive"].conditions == tuple(each for each in conditions if each != "no-derivatives")


@each_case(
    "url", ["https://creativecommons.org/", "https://creativecommons.org/licenses/", "https://a.test/licenses/by/4.0/"]
)
def test_other_pages_are_no_licences_of_creative_commons(url: str) -> None:
    assert creative_commons(url) is None


BY = "https://creativecommons.org/licenses/by/4.0/"


@each_case(
    ("html", "count"),
    [
        (f'<p>under <a href="{BY}" class=x rel="nofollow license">CC BY</a>', 1),
        (f"<LINK rel=license href={BY}>", 1),
        (f'<a rel="license" href="{BY}">x</a><a rel="license" href="{BY}">y</a>', 1),
        (f'<a href="{BY}">what that licence says</a>', 0),
        (f'<!-- <a rel="license" href="{BY}"> -->', 0),
        (f'<a rel="sublicense" href="{BY}">x</a>', 0),
    ],
)
def test_a_page_names_its_licence_of_creative_commons(html: str, count: int) -> None:
    """By the relation, wherever it is; a link alone may be about the licence."""
    assert named_commons(html.encode(), URL) == [NamedLicense("html", BY)] * count
    assert header_commons(f"<{BY}>; rel=license", URL) == [NamedLicense("header", BY)]
    assert named_licenses(html.encode(), URL, link_headers=[f"<{BY}>; rel=license"]) == [], "it is not one of RSL"
