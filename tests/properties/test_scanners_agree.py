"""The scanner in C and the one in Python find the same in every page, column by column; so the pages are the same."""

from __future__ import annotations

import os
import sys
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.content.sample_pages import pure_reader, sample_pages
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

from periplus.content import RawPage, read_pages
from periplus.content.digests import marked_sketch, sorted_targets
from periplus.content.forms import form_elements
from periplus.content.masking import masked_in_python
from periplus.content.mime import count_controls_in_python
from periplus.content.scan import Columns, list_tags, python
from periplus.content.scan.tag_list import list_tags as list_tags_in_python
from periplus.content.sketch import sketches_of
from periplus.content.statistics import text_counts_in_python
from periplus.model import Links, Url
from periplus.store.export.markdown import WrittenBlock, written, written_in_python
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


def differences(
    html: bytes, *, wants_blocks: bool = True, wants_events: bool = True, wants_sections: bool = True
) -> list[str]:
    """The columns that are not the same."""
    ours = complete(python.scan(html, URL, wants_blocks, wants_events, wants_sections))
    theirs = complete(native.scan(html, URL, wants_blocks, wants_events, wants_sections))
    return [name for name in Columns._fields if getattr(ours, name) != getattr(theirs, name)]


def complete(columns: Columns) -> Columns:
    """The columns once nothing is left to others: links resolved, the main text sketched, masked and counted."""
    urls = list(columns.urls)
    hrefs = [href for _, href in columns.unresolved]
    for (number, _), url in zip(columns.unresolved, resolve_all(hrefs, URL), strict=True):
        urls[number] = url
    text, main, targets = columns.text, columns.main, columns.targets
    if targets is None:
        links = Links([Url(url) for url in urls if url is not None], own=columns.own)
        targets = sorted_targets(links, Url(URL))
    return columns._replace(
        urls=urls,
        unresolved=[],
        sketch=marked_sketch(sketches_of([main])[0]) if columns.sketch is None else columns.sketch,
        masked=masked_in_python(main) if columns.masked is None else columns.masked,
        targets=targets,
        counts=text_counts_in_python(text, main or text) if columns.counts is None else columns.counts,
    )


def written_both(html: bytes) -> list[tuple[str, list[WrittenBlock]]]:
    """The Markdown of a page as each of the two writers writes it."""
    text = html.decode("utf-8", "replace").encode()
    return [write(text, URL, URL, "utf-8") for write in (written, written_in_python)]


def read_both(html: bytes) -> list[object]:
    """The page as each of the two readers reads it."""
    raw = RawPage(html, URL, "text/html", ("noarchive",), wants_blocks=True, refresh="5; url=later")
    native_page = read_pages([raw])
    with pure_reader():
        return [*native_page, *read_pages([raw])]


@given(pages, st.booleans(), st.booleans(), st.booleans())
def test_tag_soup(html: bytes, wants_blocks: bool, wants_events: bool, wants_sections: bool) -> None:
    """Whatever the tags, attributes and texts."""
    wants = {"wants_blocks": wants_blocks, "wants_events": wants_events, "wants_sections": wants_sections}
    assert differences(html, **wants) == []


@given(st.one_of(pages, st.integers(0, 1 << 32).map(lambda seed: soup(Random(seed)))))
def test_markdown(html: bytes) -> None:
    """Markdown and its blocks, of whatever tags."""
    one, other = written_both(html)
    assert one == other


@given(st.one_of(pages, st.binary(max_size=300)))
def test_listed_tags(html: bytes) -> None:
    """The tags that an audit looks at, whatever is around them."""
    assert list_tags(html) == list_tags_in_python(html)


@given(st.binary(max_size=300))
def test_bytes(html: bytes) -> None:
    """Whatever the bytes."""
    assert differences(html) == []


@given(pages)
def test_pages_of_tag_soup(html: bytes) -> None:
    """Everything that is known of a page is the same."""
    one, other = read_both(html)
    assert one == other


@pytest.mark.parametrize(
    ("html", "anchor"),
    [
        (b"<a href=x>\xc2<b>\xa0", "\ufffd\ufffd"),
        (b"<a href=x>\xc2<b>\xa0\x01", "\ufffd\ufffd\x01"),
        (b"<a href=x>a\xe2<b>\x80\x8bb", "a\ufffd\ufffd\ufffdb"),
        (b"<a href=x>\xc2\xa0<b>\xc2\xa0", ""),
    ],
)
def test_a_tag_within_a_character_ends_it(html: bytes, anchor: str) -> None:
    """Its bytes on both sides of the tag are invalid ones: they are not put together to a no-break space again."""
    assert python.scan(html, URL, False, False, False).anchors == [anchor]
    assert differences(html) == []


def test_blocks_of_invalid_bytes_are_not_text() -> None:
    """Where all else is clutter, clutter is main text, though there be a byte outside that is not a character."""
    html = b"\xa0<form>words"
    assert python.scan(html, URL, False, False, False).main == b"\xa0 words"
    assert differences(html) == []


@pytest.mark.proof
@given(st.lists(st.sampled_from([0, 1, 8, 15, 16, 31, 32, 255, 256, 65_535, 65_536]), max_size=5), st.booleans())
def test_sizes_of_packed_forms(sizes: list[int], is_wide: bool) -> None:
    """Names, values and texts of any size, and any number of attributes, options and repeated names."""
    letter = "é".encode() if is_wide else b"e"
    controls = [
        b"<input %b value='%b' a=1 A=2 \xffb \xfeb><label>%b</label><select>%b</select>"
        % (
            b" ".join(b"n%d" % number for number in range(size % 300)),
            letter * size,
            letter * size,
            b"<option>o" * size,
        )
        for size in sizes
    ]
    html = b"<form>" + b"".join(controls)
    assert native.scan(html, URL, False, False, False).forms == python.scan(html, URL, False, False, False).forms
    assert len(form_elements(native.scan(html, URL, False, False, False).forms)) > 3 * len(sizes)


def test_without_a_form_nothing_is_packed() -> None:
    """Controls outside of forms are not submitted."""
    assert native.scan(b"<input name=a>", URL, False, False, False).forms == b""


@pytest.mark.parametrize("is_own_written_out", [False, True])
def test_targets_are_sorted_without_the_page_itself(is_own_written_out: bool) -> None:
    """Each target once, the page itself only if a link writes it out."""
    html = b"<a href=b><a href=a#x><a href=#y><a href=''><a href=a>"
    html += b"<a href=page.html>" if is_own_written_out else b""
    names = ["a", "b", "page.html"] if is_own_written_out else ["a", "b"]
    expected = "\n".join(f"http://docs.example.org/library/{name}" for name in names)
    assert native.scan(html, URL, False, False, False).targets == expected.encode()
    assert native.scan(html + b"<a href='\\c'>", URL, False, False, False).targets is None


@given(st.binary(max_size=100))
def test_control_characters(data: bytes) -> None:
    """Both count the same."""
    assert native.count_controls(data) == count_controls_in_python(data)


@pytest.fixture(scope="module")
def real_pages() -> list[bytes]:
    """Pages as people and programs write them."""
    return sample_pages(16)[0]


def test_real_pages(real_pages: list[bytes]) -> None:
    """Pages without mistakes."""
    assert [differences(page) for page in real_pages] == [[]] * len(real_pages)


@settings(max_examples=examples(10))
@given(st.integers(0, 1 << 32))
def test_mistakes(real_pages: list[bytes], seed: int) -> None:
    """Pages with mistakes."""
    page = mutated(Random(seed), real_pages)
    assert differences(page) == []
    one, other = read_both(page)
    assert one == other
    first, second = written_both(page)
    assert first == second


@pytest.mark.slow
def test_many_pages(real_pages: list[bytes], capsys: pytest.CaptureFixture[str]) -> None:
    """Many generated pages and pages with mistakes; `PERIPLUS_PAGES` says how many."""
    different = []
    for seed in range(PAGES):
        chance = Random(seed)
        page = soup(chance) if seed % 2 else mutated(chance, real_pages)
        blocks, events, sections = (chance.random() < 0.5 for _ in range(3))
        found = differences(page, wants_blocks=blocks, wants_events=events, wants_sections=sections)
        one, other = read_both(page)
        first, second = written_both(page)
        if found or one != other or first != second:
            different.append(seed)
    with capsys.disabled():
        sys.stdout.write(f"\n{len(different)} of {PAGES} pages differ\n")
    assert different == []
