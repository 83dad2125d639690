"""The paths of links: the elements around them, and linear time for any page."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.parts.targets.tag_paths import MAX_LINKS, MAX_PATH, TagPaths


def paths(html: str) -> dict[str, str]:
    return dict(TagPaths(html.encode()).links)


def test_elements_with_their_classes() -> None:
    """Blocks count with their classes; elements inside a line, ids and digits do not."""
    html = '<body id=top><div class="main col-12"><ul><li id=x><b><a class=file href="/a">A</a></b></ul></div></body>'
    assert paths(html) == {"/a": "/div.col.main/ul/li/a.file"}


def test_items_end_where_the_next_begins() -> None:
    """Lists and tables are mostly written without end tags."""
    assert paths("<ul><li><a href=1>1</a><li><a href=2>2</a></ul><a href=3>3</a>") == {
        "1": "/ul/li/a", "2": "/ul/li/a", "3": "/a",
    }  # fmt: skip
    assert paths("<table><tr><td><a href=1>1</a><td><a href=2>2</a><tr><td><a href=3>3</a></table>") == dict.fromkeys(
        ("1", "2", "3"), "/table/tr/td/a"
    )


def test_sections_of_any_depth_have_one_path() -> None:
    """An element inside of one that is written alike counts once."""
    assert paths("<section><section><section><a href=1>1</a></section></section></section>") == {"1": "/section/a"}


def test_what_is_not_shown_has_no_links() -> None:
    """Comments and scripts are left out; what is never closed is read as it stands."""
    html = "<!-- <a href=0> --><script>'<a href=1>'</script><p><a href='2'>2</a><!-- <a href=3>"
    assert paths(html) == {"2": "/p/a", "3": "/p/a"}


def test_the_base_and_references() -> None:
    """The base of the page is given, and references in addresses are decoded."""
    found = TagPaths(b'<base href="http://b.test/"><a href="?a=1&amp;b=2">x</a>')
    assert found.base == "http://b.test/"
    assert found.links == [("?a=1&b=2", "/a")]


@given(
    st.binary(max_size=300)
    | st.lists(st.sampled_from(["<a href=x", ">", "<div", "</div>", "<!--", "-->", '"', "<li>", "<"])).map(
        lambda each: "".join(each).encode()
    )
)
def test_any_bytes(html: bytes) -> None:
    """Nothing raises, and paths are bounded."""
    assert all(len(path) <= MAX_PATH for _, path in TagPaths(html).links)


def test_time_is_linear() -> None:
    """A page that was made to cost much takes about ten times as long as one of a tenth of its size."""
    for piece in (
        b"<!--",
        b"<script",
        b"<a href=",
        b'<a href="',
        b"<div>",
        b"<li><ul>",
        b"<a class=x href='",
        b"</div",
    ):
        costs = []
        for size in (25_000, 250_000):
            began = time.process_time()
            TagPaths(piece * (size // len(piece)))
            costs.append(time.process_time() - began)
        assert costs[1] < 40 * costs[0] + 0.2, piece


@pytest.mark.proof
def test_memory_is_bounded() -> None:
    """A page of two million bytes that has nothing but tags, or links at one place that is deep."""
    deep = b"".join(b"<div class=level%c>" % letter for letter in range(97, 123))
    for html in (b"<p>" * 700_000, deep + b"<a href=x>" * 200_000):
        tracemalloc.start()
        found = TagPaths(html)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 10e6
        assert len(found.links) <= MAX_LINKS
