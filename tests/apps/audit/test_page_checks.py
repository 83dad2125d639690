"""Every kind of fault is named at its page, and clean pages are left alone.

Also: what single checks say of single pages, where the difference between a fault and a good page is small.
"""

from __future__ import annotations

import pytest
from tests.apps.audit.planted_faults import FAULTS, run
from tests.each_case import each_case

from periplus.apps.audit.audited_page import AuditedPage
from periplus.apps.audit.languages import other_language, wrong_code, wrong_language
from periplus.apps.audit.page_checks import PAGE_CHECKS
from periplus.apps.audit.structured_data import ITEM, json_faults, markup_faults
from periplus.content import read_tags

HEAD = (
    '<!doctype html><html lang="en"><head><title>A page of some kind</title>'
    '<meta name="viewport" content="width=device-width">'
)
BODY = "<body><h1>A page</h1>"


@pytest.mark.proof
def test_every_planted_fault_is_found_and_no_other() -> None:
    """More than 60 kinds, each at its page."""
    result = run(seed=11, clean=40)
    assert len({name.partition("+")[0] for name in FAULTS}) >= 60
    assert result.missed == []
    assert result.alarm_share < 0.01, result.alarms


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_among_many_clean_pages(seed: int) -> None:
    """As often as one likes, with other pages each time."""
    result = run(seed=seed, clean=300)
    assert result.missed == []
    assert result.alarm_share < 0.01, result.alarms


def names_of(html: str, url: str = "http://a.test/page") -> set[str]:
    """The faults of one page, but for those that are relative to others."""
    read = read_tags(html.encode(), "text/html; charset=utf-8")
    assert read is not None
    page = AuditedPage(url, *read, {"content-type": "text/html; charset=utf-8"})
    return {check.kind.name for check in PAGE_CHECKS if not check.kind.is_relative and list(check.find(page))}


@each_case(
    ("html", "names"),
    [
        ("", set()),
        ('<h1><img src="/a.png" alt="Logo" width=9 height=9></h1>', {"h1-several"}),
        ("<h2>b</h2><h3>c</h3><h2>d</h2>", set()),
        ("<h4>b</h4>", {"headings-skip"}),
        ('<a href="/x"><svg><title>Cart</title></svg></a>', set()),
        ('<a href="/x"><svg><path d=""/></svg></a>', {"empty-links"}),
        ('<a href="/x" aria-label="Cart"><i></i></a><a name="here"></a><a id="x" href="#x"></a>', set()),
        ('<a href="/x"><img src="/a.png" alt="" width=9 height=9></a>', {"empty-links"}),
        ('<img src="/a.gif" width=1 height=1><noscript><img src="/b.png"></noscript>', set()),
        ('<img src="/a.png" alt="" style="width:9px;height:9px">', set()),
        ("<img src='/a.png' alt='' width='9'>", {"image-size-missing"}),
        ('<template><img src="/a.png"><h1>x</h1></template><!-- <img src="/a.png"> -->', set()),
        ('<form action="/search"><input name="q"></form>', set()),
        ('<a href="https.html">a</a><a href="httpd/">b</a><a href="http://b.test/?u=http://c">c</a>', set()),
        ('<a href="http//b.test/">b</a>', {"malformed-links"}),
        ('<a href="https://127.0.0.1:____/">b</a>', {"malformed-links", "localhost-links"}),
        ('<a href="http://exa mple.org/">b</a>', {"malformed-links"}),
        ('<a href="https://exa mple.org/x">b</a>', {"malformed-links"}),
        ('<a href="//exa mple.org/">b</a><a href="//b.test/x">c</a>', {"malformed-links"}),
        ('<a href="mailto:">a</a>', {"malformed-links"}),
        ('<a href="tel: ">a</a>', {"malformed-links"}),
        ('<a href="mailto:ann?cc=b@a.test">a</a>', {"malformed-links"}),
        ('<a href="MAILTO:ann%40a.test">a</a><a href="mailto:a@b, c@d?subject=x">b</a>', set()),
        ('<a href="mailto:?subject=x">a</a><a href="tel:123">b</a><a href="https://b.test:81/_x">c</a>', set()),
        ('<a onclick="show(3)">More</a>', {"javascript-links"}),
        ('<a class="x" onclick="a > b && show()">More</a>', {"javascript-links"}),
        ('<a onclick="a > b" href="/x">a</a><a role="button" onclick="f()">b</a>', set()),
        ('<a role="button" href="javascript:f()">b</a>', set()),
        ('<script>x = "<a onclick=f()>"</script><!-- <a onclick="f()"> -->', set()),
        ('<img src="" alt="A" width=9 height=9>', {"image-source-empty"}),
        ('<img src="" data-lazy-src="/a.png" alt="A"><img src srcset="/a.png 2x" alt="" width=9 height=9>', set()),
        ('<meta name="twitter:card" content="summary"><meta property="og:image" content="">', {"card-image-relative"}),
        ('<a href="http://localhost:3000/">Home</a>', {"localhost-links"}),
        ('<a href="http://localhost:3000/">http://localhost:3000/</a>', set()),
        ("<p>Lorem ipsum dolor sit amet, consectetur</p>", {"placeholder-text"}),
        ("<svg><title>A point</title></svg>", set()),
        ("<title>Another title, below</title>", {"title-several", "head-in-body"}),
        ('<link rel="canonical" href="/page">', {"canonical-in-body"}),
        ('<script type="application/ld+json">{"@context": "http://schema.org", "@type": "Thing"}</script>', set()),
        ('<meta name="twitter:card" value="summary"><meta name="twitter:card" content="summary">', set()),
        (
            '<meta name="description" content="What the page is about"><meta property="description" content="It">',
            {"head-in-body"},
        ),
        ('<meta name="twitter:card" content="summary"><meta property="og:image" content="http://a.test/i.png">', set()),
    ],
)  # fmt: skip
def test_what_is_a_fault_of_a_page(html: str, names: set[str]) -> None:
    """And what only looks like one."""
    assert names_of(HEAD + BODY + html) == names


def names_with(
    head: str, link: str = "", body: bytes | None = None, kind: str = "text/html; charset=utf-8"
) -> set[str]:
    """The faults of a page with a head, header fields and bytes of its own."""
    html = (HEAD + head + BODY).encode() if body is None else body
    read = read_tags(html, kind)
    assert read is not None
    page = AuditedPage("http://a.test/page", *read, {"content-type": kind, "link": link}, html)
    return {check.kind.name for check in PAGE_CHECKS if not check.kind.is_relative and list(check.find(page))}


@each_case(
    ("head", "link", "names"),
    [
        ('<link rel="canonical" href="http://a.test/page">', "<http://a.test/page>; rel=canonical", set()),
        ('<link rel="canonical" href="http://a.test/page">', "<http://a.test/b>; rel=canonical", {"canonical-several"}),
        ('<link rel="canonical" href="http://exa mple.org/">', "", {"canonical-protocol"}),
        ('<link rel="canonical" href="https://127.0.0.1:____">', "", {"canonical-protocol"}),
        ("", '<http://a.test/page>; rel=alternate; hreflang=en, <http://a.test/uk>; rel=alternate; hreflang="en-UK"',
         {"hreflang-code"}),
        ("", '<http://a.test/page>; rel=alternate; hreflang=en, <http://a.test/de>; rel=alternate; hreflang=de', set()),
    ],
)  # fmt: skip
def test_canonical_urls_and_languages_of_headers(head: str, link: str, names: set[str]) -> None:
    """They count like elements of the head, which they may repeat."""
    assert names_with(head, link) == names


@each_case(
    ("text", "encoding", "declared", "is_wrong"),
    [
        ("Crème brûlée", "utf-8", "utf-8", False),
        ("Crème brûlée", "latin-1", "utf-8", True),
        ("Crème brûlée", "utf-8", "iso-8859-1", True),
        ("Crème brûlée", "latin-1", "iso-8859-1", False),
        ("テスト", "shift_jis", "shift_jis", False),
        ("Creme", "ascii", "iso-8859-1", False),
    ],
)
def test_bytes_that_contradict_the_charset(text: str, encoding: str, declared: str, is_wrong: bool) -> None:
    """In both directions; of a page that was cut off, the last character does not count."""
    body = (HEAD + BODY).encode() + text.encode(encoding)
    assert ("charset-wrong" in names_with("", "", body, f"text/html; charset={declared}")) is is_wrong
    if encoding == declared == "utf-8":
        assert "charset-wrong" not in names_with("", "", body[:-1], "text/html; charset=utf-8")


@each_case(
    ("code", "is_wrong"),
    [
        ("en", False), ("en-GB", False), ("zh-Hant-TW", False), ("es-419", False), ("x-default", False), ("fil", False),
        ("en-UK", True), ("en_GB", True), ("xx", True), ("us", True), ("english", True), ("de-XX", True),
    ],
)  # fmt: skip
def test_codes_of_hreflang(code: str, is_wrong: bool) -> None:
    """Those of the standards, and no others."""
    assert bool(wrong_code(code)) is is_wrong


def test_a_viewport_may_come_by_a_script() -> None:
    """What scripts do is left alone."""
    head = HEAD.replace('<meta name="viewport" content="width=device-width">', "")
    script = """<script>document.head.innerHTML += '<meta name="viewport" content="width=device-width">'</script>"""
    assert names_of(head + BODY) == {"viewport-missing"}
    assert names_of(head + script + BODY) == set()


def test_faults_of_microdata_name_their_line() -> None:
    """The line of the item."""
    event = '<p>\n<div itemscope itemtype="https://schema.org/Event"><b itemprop="name">Opening</b></div>'
    assert {line for line, _ in markup_faults(event.encode())} == {2}


def test_languages_of_texts() -> None:
    """Another language is only told where it is certain."""
    german = "der Kuchen und die Torte sind mit dem Apfel nicht von der Stadt für ein Fest und das ist auch gut " * 5
    russian = "и в этом городе не было ни одного человека который знал бы что это такое на самом деле " * 5
    assert other_language("en", german.encode()) == "de"
    assert other_language("de-AT", german.encode()) == ""
    assert other_language("en", russian.encode()) == "text in Cyrillic letters"
    assert other_language("ru", russian.encode()) == ""
    assert other_language("en", b"int main(void) { return 0; }" * 50) == ""
    assert [wrong_language(code) != "" for code in ("en", "pt-BR", "gsw", "english", "x-klingon")] == [
        False, False, False, True, False,
    ]  # fmt: skip


@each_case(
    ("source", "findings"),
    [
        ('{"@context": "https://schema.org", "@type": "FAQPage", "mainEntity": [{"@type": "Question", "name": "Q",'
         ' "acceptedAnswer": {"@type": "Answer", "text": "A"}}]}', []),
        ('{"@context": "https://schema.org", "@graph": [{"@id": "#a"}, {"@type": "WebPage", "name": "x"}]}', []),
        ('<!-- {"@context": "https://schema.org", "@type": "Person", "name": "x"} -->', []),
        ('{"@context": "https://www.w3.org/ns/activitystreams", "type": "Note"}', []),
        ('{"@context": "https://schema.org", "@type": "Product", "name": "x", "image": "i", "description": "d",'
         ' "offers": {"@type": "Offer", "price": "9.5"}}', ["data-required"]),
        ('{"@context": "https://schema.org", "@type": "VideoObject", "name": "x", "thumbnailUrl": "t", "uploadDate":'
         ' "2026-01-02T03:04:05Z", "description": "d", "contentUrl": "c"}', []),
        ('{"@context": "https://schema.org", "@type": "recipe"}', []),
        ('{"@context": "https://schema.org", "@type": "recipe", "name": "x"}', ["data-type-unknown"]),
    ],
)  # fmt: skip
def test_json_ld(source: str, findings: list[str]) -> None:
    """Required properties, nested items, other vocabularies."""
    assert [fault.finding for fault in json_faults(source.encode()) if fault.finding != ITEM] == findings


def test_microdata_and_rdfa() -> None:
    """Items in items, values of attributes, and types that do not exist."""
    product = (
        '<div itemscope itemtype="http://schema.org/Product"><b itemprop="name">Lamp</b><img itemprop="image" src="i">'
        '<p itemprop="description">d</p><div itemprop="offers" itemscope itemtype="http://schema.org/Offer">'
        '<meta itemprop="price" content="9"><meta itemprop="priceCurrency" content="EUR"></div></div>'
    )
    assert [fault.finding for _, fault in markup_faults(product.encode()) if fault.finding != ITEM] == []
    other = (
        '<p itemscope><b itemprop="name">x</b></p><p itemscope itemtype="https://x.test/y"><b itemprop="name">x</b></p>'
    )
    assert not list(markup_faults(other.encode()))
    event = '<div vocab="https://schema.org/" typeof="Event"><b property="name">Party</b></div>'
    assert [fault.detail for _, fault in markup_faults(event.encode()) if fault.finding == "data-required"] == [
        "Event without startDate",
        "Event without location",
    ]
