"""The links of a page: columns that behave like a sequence of links."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.model import Link, LinkKind, Links, Url

links = st.lists(
    st.builds(
        Link,
        st.sampled_from([Url("http://a/"), Url("http://b/"), Url("http://c/")]),
        st.text(max_size=3),
        st.sampled_from(["", "nofollow", "ugc nofollow"]),
        st.sampled_from(LinkKind),
    ),
    max_size=8,
)


@given(links, st.slices(8))
def test_links_are_a_sequence(rows: list[Link], part: slice) -> None:
    """Length, order, indexes, slices, membership and equality are those of the list of links."""
    columns = Links.of(rows)
    assert (len(columns), list(columns), bool(columns)) == (len(rows), rows, bool(rows))
    assert list(reversed(columns)) == rows[::-1]
    assert [columns[position] for position in range(-len(rows), len(rows))] == rows * 2
    assert list(columns[part]) == rows[part]
    assert columns[part] == Links.of(rows[part])
    assert all(row in columns for row in rows)
    assert (columns == Links.of(rows[1:])) == (rows == rows[1:])
    with pytest.raises(IndexError):
        columns[len(rows)]


@given(links, st.slices(8))
def test_links_to_others(rows: list[Link], part: slice) -> None:
    """Links within the page are left out, also of a slice; the others keep their texts, rels and kinds."""
    own = [position for position, row in enumerate(rows) if row.url == "http://a/"]
    columns = msgspec.structs.replace(Links.of(rows), own=own)
    assert list(columns.to_others()) == [row for row in rows if row.url != "http://a/"]
    assert list(columns[part].to_others()) == [row for row in rows[part] if row.url != "http://a/"]


@given(links)
def test_links_to_others_are_found_once(rows: list[Link]) -> None:
    """They are kept for the next time they are asked for, which changes neither equality, nor display, nor encoding."""
    own = [position for position, row in enumerate(rows) if row.url == "http://a/"]
    asked, unasked = (msgspec.structs.replace(Links.of(rows), own=own) for _ in range(2))
    assert asked.to_others() is asked.to_others()
    assert asked == unasked
    assert repr(asked) == repr(unasked)
    assert msgspec.msgpack.encode(asked) == msgspec.msgpack.encode(unasked)


@given(links)
def test_links_survive_encoding(rows: list[Link]) -> None:
    """A page that is encoded by msgspec has its links in columns, and they come back."""
    columns = Links.of(rows)
    for codec in (msgspec.json, msgspec.msgpack):
        assert codec.decode(codec.encode(columns), type=Links) == columns


def test_links_are_shown_by_column() -> None:
    """What is the same for all links is not shown."""
    assert repr(Links.of([Link(Url("http://a/"), "A")])) == "Links(urls=['http://a/'], anchors=['A'])"
    assert repr(Links()) == "Links()"
