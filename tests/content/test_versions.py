"""What is kept of a page: counters and sums that can be subtracted, the same from both scanners."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
