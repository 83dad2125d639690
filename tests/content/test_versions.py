"""What is kept of a page: counters and sums that can be subtracted, the same from both scanners."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.linear_time import assert_linear

from periplus.content import page_version, read_page
from periplus.content.digests import masked
from periplus.content.scan import READER
from periplus.content.versions import counted_in_python, has_profile, unpack_profile

TEXTS = st.lists(st.sampled_from([b"a", b"word", b"12:30:05", b"\xe6\x9d\xb1\xe4\xba\xac", b"longer-than-eight", b""]))


@pytest.mark.skipif(READER == "python", reason="there is no native scanner to compare with")
@given(TEXTS, TEXTS, st.lists(st.binary(min_size=1, max_size=40)))
def test_both_scanners_count_alike(text: list[bytes], main: list[bytes], links: list[bytes]) -> None:
    from periplus.content.scan._native import profile

    values = b" ".join(text), masked(b" ".join(main)), b"\n".join(links)
    assert profile(*values) == counted_in_python(*values)


def test_a_profile_has_what_the_page_has() -> None:
    html = b"<title>A title</title><link rel=canonical href=/c><p>one two two <a href=/x>three</a> <a href=/x>x</a></p>"
    version = page_version(read_page(html, "https://a.test/", "text/html")).version
    profile = unpack_profile(version)
    assert has_profile(version)
    assert profile is not None
    assert profile.size == 5
    assert sum(profile.main) == sum(profile.text) == 5
    assert max(profile.main) >= 2
    assert profile.title
    assert profile.canonical
    assert profile.links
    assert not profile.marks


def marks_of(html: bytes) -> int:
    profile = unpack_profile(page_version(read_page(html, "https://a.test/", "text/html")).version)
    assert profile is not None
    return profile.marks


def test_structured_data_are_part_of_a_version() -> None:
    """Pieces that end, and are not longer than what is compared; a piece may begin in one that is too long."""
    one, other = (
        b'<script type="application/ld+json">{"a":%d}</script>',
        b"<SCRIPT TYPE=application/ld+json>[%d]</SCRIPT >",
    )
    assert marks_of(one % 1) == marks_of(b"<p>" + one % 1)
    assert len({marks_of(b""), marks_of(one % 1), marks_of(one % 2), marks_of(one % 1 + other % 1)}) == 4
    assert marks_of(one % 1 + other % 1) == marks_of(other % 1 + one % 1)
    too_long = b"<script type=application/ld+json>" + b"x" * 100_001
    assert marks_of(too_long + one % 1) == marks_of(one % 1)
    assert marks_of(too_long + b"</script>" + other % 1) == marks_of(other % 1)
    assert marks_of(one[:-9] % 1) == marks_of(b"")


@pytest.mark.parametrize(
    "piece", [b"<script type='application/ld+json'>", b"<script ", b"<script application/ld+json "]
)
def test_structured_data_take_linear_time(piece: bytes) -> None:
    """Also if they do not end, however many begin."""
    assert_linear(lambda size: marks_of(b"ld+json" + piece * (size // len(piece))), 120_000)
