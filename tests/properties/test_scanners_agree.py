"""The scanner in C and the one in Python find the same in every page, column by column."""

from __future__ import annotations

import os
import sys
from random import Random

import pytest
from bench.pages import sample_pages
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hypothesis_depth import examples
from tests.properties.tag_soup import (
    ATTRIBUTES,
    ENDS,
    OTHER_ATTRIBUTES,
    OTHER_TAGS,
    SPACES,
    TAGS,
    TEXTS,
    VALUES,
    mutated,
    soup,
)

from periplus.content.scan import Columns, python
from periplus.content.sketch import sketches_of
from periplus.urls import resolve_all

native = pytest.importorskip("periplus.content.scan._native", reason="the native scanner is not built")

URL = "http://docs.example.org/library/page.html"
PAGES = int(os.environ.get("PERIPLUS_PAGES", "3000"))
"""Pages of the slow test."""

names = st.sampled_from([*TAGS, *OTHER_TAGS])
attributes = st.builds(
    lambda space, name, sign, quote, value, end: space + name + sign + quote + value + end,
    st.sampled_from(SPACES),
    st.sampled_from([*ATTRIBUTES, *OTHER_ATTRIBUTES]),
    st.sampled_from([b"=", b"", b" = "]),
    st.sampled_from([b'"', b"'", b""]),
    st.sampled_from(VALUES),
    st.sampled_from([b'"', b"'", b""]),
)
start_tags = st.builds(
    lambda name, rest, end: b"<" + name + b"".join(rest) + end,
    names,
    st.lists(attributes, max_size=3),
    st.sampled_from(ENDS),
)
end_tags = names.map(lambda name: b"</" + name + b">")
texts = st.one_of(st.sampled_from(TEXTS), st.binary(max_size=10))
pages = st.lists(st.one_of(start_tags, start_tags, end_tags, texts), max_size=40).map(b"".join)


def differences(html: bytes, *, wants_blocks: bool, wants_events: bool) -> list[str]:
    """The columns that are not the same."""
    ours = complete(python.scan(html, URL, wants_blocks, wants_events))
    theirs = complete(native.scan(html, URL, wants_blocks, wants_events))
    return [name for name in Columns._fields if getattr(ours, name) != getattr(theirs, name)]


def complete(columns: Columns) -> Columns:
    """The columns once nothing is left to others: links resolved, the main text sketched."""
    urls = list(columns.urls)
    hrefs = [href for _, href in columns.unresolved]
    for (number, _), url in zip(columns.unresolved, resolve_all(hrefs, URL), strict=True):
        urls[number] = url
    sketch = columns.sketch if columns.sketch is not None else sketches_of([columns.main])[0]
    return columns._replace(urls=urls, unresolved=[], sketch=sketch)


@given(pages, st.booleans(), st.booleans())
def test_tag_soup(html: bytes, wants_blocks: bool, wants_events: bool) -> None:
    """Whatever the tags, attributes and texts."""
    assert differences(html, wants_blocks=wants_blocks, wants_events=wants_events) == []


@given(st.binary(max_size=300))
def test_bytes(html: bytes) -> None:
    """Whatever the bytes."""
    assert differences(html, wants_blocks=True, wants_events=True) == []


@pytest.fixture(scope="module")
def real_pages() -> list[bytes]:
    """Pages as people and programs write them."""
    return sample_pages(16)[0]


def test_real_pages(real_pages: list[bytes]) -> None:
    """Pages without mistakes."""
    assert [differences(page, wants_blocks=True, wants_events=True) for page in real_pages] == [[]] * len(real_pages)


@settings(max_examples=examples(10))
@given(st.integers(0, 1 << 32))
def test_mistakes(real_pages: list[bytes], seed: int) -> None:
    """Pages with mistakes."""
    page = mutated(Random(seed), real_pages)
    assert differences(page, wants_blocks=True, wants_events=True) == []


@pytest.mark.slow
def test_many_pages(real_pages: list[bytes], capsys: pytest.CaptureFixture[str]) -> None:
    """Many generated pages and pages with mistakes; `PERIPLUS_PAGES` says how many."""
    different = []
    for seed in range(PAGES):
        chance = Random(seed)
        page = soup(chance) if seed % 2 else mutated(chance, real_pages)
        if differences(page, wants_blocks=chance.random() < 0.5, wants_events=chance.random() < 0.5):
            different.append(seed)
    with capsys.disabled():
        sys.stdout.write(f"\n{len(different)} of {PAGES} pages differ\n")
    assert different == []
