from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.content.entities import MAX_ENTITIES, Entity, PageSummary, entities_of, summary_of
from periplus.content.structured_data import MAX_SCRIPT

URL = "https://example.org/pies/apple"
CRUMBS = {
    "@type": "BreadcrumbList",
    "itemListElement": [
        {"@type": "ListItem", "position": 2, "item": {"@id": "/pies/", "name": "Pies"}},
        {"@type": "ListItem", "position": 1, "name": "Home", "item": "https://example.org/"},
        {"@type": "ListItem", "position": 3, "name": "Apple pie"},
    ],
}


def page(*blocks: object, head: str = "", body: str = "") -> bytes:
    scripts = "".join(f'<script type="application/ld+json">{json.dumps(block)}</script>' for block in blocks)
    return f"<!doctype html><head>{head}</head><body>{scripts}{body}</body>".encode()


def at(year: int, month: int, day: int) -> float:
    return datetime(year, month, day, tzinfo=UTC).timestamp()


def test_json_ld() -> None:
    article = {
        "@context": "https://schema.org",
        "@type": ["NewsArticle", "Thing"],
        "headline": [" Apple\n pie "],
        "url": "/pies/apple?x=1#top",
        "datePublished": "2026-01-02",
        "dateModified": "2026-02-03T00:00:00Z",
        "author": {"@type": "Person", "name": "Ann"},
    }
    assert entities_of(page(article), URL) == [
        Entity(
            "json-ld", "NewsArticle", "Apple pie", "https://example.org/pies/apple?x=1", at(2026, 1, 2), at(2026, 2, 3)
        )
    ]


def test_a_graph_and_what_is_nested_in_it() -> None:
    graph = {"@graph": [{"@type": "WebPage", "name": "Pie", "breadcrumb": CRUMBS}, {"@id": "#reference"}, 5, None]}
    found = entities_of(page(graph), URL)
    assert [entity.type for entity in found] == ["WebPage", "BreadcrumbList"]
    assert found[1].breadcrumbs == ("Home", "Pies", "Apple pie")


def test_microdata_and_open_graph() -> None:
    html = page(
        head='<meta property="og:title" content="Pie &amp; cake"><meta content=article property=og:type>'
        "<meta property='article:modified_time' content='2026-02-03'><meta name=og:url content=/pies/apple>",
        body='<div itemscope itemtype="https://schema.org/BreadcrumbList"><span itemprop="itemListElement" itemscope'
        ' itemtype="https://schema.org/ListItem"><a itemprop="item" href="/"><b itemprop="name">Home</b></a>'
        '<meta itemprop="position" content="1"></span></div>',
    )
    assert entities_of(html, URL) == [
        Entity("microdata", "BreadcrumbList", breadcrumbs=("Home",)),
        Entity("open-graph", "article", "Pie & cake", URL, modified_at=at(2026, 2, 3)),
    ]
    assert summary_of(html, URL) == PageSummary(("Home",), at(2026, 2, 3))


def test_microdata_of_any_vocabulary_without_a_type_and_in_pieces() -> None:
    """An item has the properties that it contains, and those elsewhere that it names by `itemref`."""
    html = page(
        body='<div itemscope itemtype="https://data-vocabulary.org/Person"><b itemprop="name">Ann</b></div>'
        '<div itemscope><b itemprop="name">Something</b></div>'
        '<div itemscope itemtype="https://schema.org/Recipe" itemref="title dates nowhere">'
        '<b itemprop="headline">Short</b></div>'
        '<h1 id="title" itemprop="name">Apple pie</h1><p id="dates"><time itemprop="dateModified">2026-02-03</time>'
        '<i itemprop="author" itemscope itemtype="https://schema.org/Person"><b itemprop="name">Bob</b></i></p>'
        '<p itemscope id="self" itemref="self"><b itemprop="name">Loop</b></p>',
    )
    assert entities_of(html, URL) == [
        Entity("microdata", "https://data-vocabulary.org/Person", "Ann"),
        Entity("microdata", "", "Something"),
        Entity("microdata", "Recipe", "Apple pie", modified_at=at(2026, 2, 3)),
        Entity("microdata", "", "Loop"),
    ]


def test_a_page_without_any() -> None:
    assert entities_of(b"<title>ld+json og: itemscope schema.org</title>", URL) == []
    assert summary_of(b"", URL) == PageSummary()


def test_a_broken_block_leaves_the_others() -> None:
    html = page({"@type": "Event", "name": "One"}).replace(b"</body>", b"") + (
        b"<script type='application/ld+json'>{\"@type\": oops}</script>"
        b'<SCRIPT async type=application/ld+json><!-- {"@type": "Event", "name": "Two"} --></SCRIPT>'
    )
    assert [entity.name for entity in entities_of(html, URL)] == ["One", "Two"]


@pytest.mark.parametrize(
    "block",
    [
        "[" * 200_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        json.dumps([{"@type": "Thing", "name": "x"}] * 20_000),
        json.dumps(
            {"@graph": [{"@id": "#a", "mainEntity": {"@id": "#b"}}, {"@id": "#b", "mainEntity": {"@id": "#a"}}]}
        ),
        json.dumps({"@type": "BreadcrumbList", "itemListElement": [{"name": "x" * 5000, "position": "NaN"}] * 9999}),
        json.dumps({"@type": ["T"] * 99_999, "name": [[["deep"]]], "dateModified": {"@value": "2026"}}),
        '{"@type": "T", "name": "' + "x" * MAX_SCRIPT + '"}',
        '{"position": 1e999, "@type": 5, "name": {"name": {"name": {"name": 1}}}}',
    ],
    ids=["arrays", "objects", "many", "cycle", "crumbs", "types", "large", "odd"],
)
def test_hostile_blocks_are_bounded(block: str) -> None:
    started = time.process_time()
    found = entities_of(f'<script type="application/ld+json">{block}</script>'.encode(), URL)
    assert time.process_time() - started < 2
    assert len(found) <= MAX_ENTITIES
    assert all(len(entity.name) <= 500 and len(entity.breadcrumbs) <= 20 for entity in found)


@pytest.mark.parametrize(
    "piece",
    [b"<script ld+json ", b"<meta property=og:title content=", b'<script type="application/ld+json">', b"ld+json<",
     b"<meta og: property" + b"=" * 50, b"<i itemscope itemtype=schema.org itemprop=a>",
     b"<i id=a itemscope itemref='a a a'><b id=a itemprop=name>"],
)  # fmt: skip
def test_time_grows_with_the_length_alone(piece: bytes) -> None:
    html = piece * (1_000_000 // len(piece))
    started = time.process_time()
    assert len(entities_of(html, URL)) <= MAX_ENTITIES
    assert time.process_time() - started < 6


KEYS = (
    "@type @id @graph @value name headline url datePublished dateModified breadcrumb mainEntity itemListElement item"
    " position"
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(KEYS.split()) | st.text(max_size=5), inner, max_size=6)
    ),
    max_leaves=30,
)


@given(VALUES)
def test_any_json_is_a_value(value: object) -> None:
    for entity in entities_of(page(value, {"@type": "BreadcrumbList", "itemListElement": value}), URL):
        assert isinstance(entity.name, str)
        assert isinstance(entity.type, str)
        assert all(isinstance(name, str) for name in entity.breadcrumbs)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_page(body: bytes) -> None:
    entities_of(b'<meta property="og:title" content="' + body + b'"><i itemscope itemtype="schema.org">ld+json', URL)
    entities_of(b'<script type="application/ld+json">' + body + b"</script>", URL)
