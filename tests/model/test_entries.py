"""Entries by columns are the entries that they were made from, however they are cut and joined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.model import ChangeFreq, EntryColumns, Granularity, Lastmod, SitemapEntry

entries = st.builds(
    SitemapEntry,
    st.text(max_size=5),
    st.none() | st.builds(Lastmod, st.floats(-1e9, 4e9), st.sampled_from(Granularity)),
    st.none() | st.sampled_from(ChangeFreq),
    st.none() | st.floats(0.0, 1.0),
)


@given(st.lists(entries, max_size=8))
def test_they_are_a_sequence_of_entries(some: list[SitemapEntry]) -> None:
    """Read one by one, they are the same."""
    made = EntryColumns.of(some)
    assert list(made) == some
    assert [made[place] for place in range(-len(some), len(some))] == some + some
    assert len(made) == len(some)
    for place in (len(some), -len(some) - 1):
        with pytest.raises(IndexError):
            made[place]


@given(st.lists(st.lists(entries, max_size=4), min_size=1, max_size=4), st.slices(9))
def test_cut_and_joined(parts: list[list[SitemapEntry]], some: slice) -> None:
    """All columns alike."""
    joined = EntryColumns.joined(list(map(EntryColumns.of, parts)))
    together = [entry for part in parts for entry in part]
    assert list(joined) == together
    assert list(joined[some]) == together[some]
    places = np.arange(len(together), dtype=np.intp)[some]
    assert list(joined.take(places)) == together[some]


def test_the_same_of_other_pages() -> None:
    """What is said stays; who it is said of may be written in another way."""
    one = SitemapEntry("http://A.test", Lastmod(1.0, Granularity.DAY), ChangeFreq.DAILY, 0.5)
    [other] = EntryColumns.of([one]).with_urls(["http://a.test/"])
    assert other == SitemapEntry("http://a.test/", one.lastmod, one.changefreq, one.priority)
