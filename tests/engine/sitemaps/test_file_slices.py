"""Entries of files as slices: nothing is lost on the way to a queue, and nothing gets out of order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from periplus.engine.sitemaps.file import LENGTH, pack, unpack_slice
from periplus.model import ChangeFreq, Discovery, EntryColumns, Granularity, Hints, Lastmod, SitemapEntry, Source, Url
from periplus.policy.ordering import level_of

FILE = Url("http://a.test/sitemap.xml")
NOW = 1_700_000_000.0

lastmods = st.none() | st.builds(Lastmod, st.floats(-1e9, 4e9), st.sampled_from(Granularity))
entries = st.builds(
    SitemapEntry, st.just(""), lastmods, st.none() | st.sampled_from(ChangeFreq), st.none() | st.floats(0.0, 1.0)
)
scored = st.lists(st.tuples(entries, st.floats(0.0, 1e6)), min_size=1, max_size=40)


def packed(some: list[SitemapEntry], scores: list[float]) -> dict[int, list[Discovery]]:
    """What comes out of the slices of each level."""
    urls = [Url(f"http://a.test/{number}") for number in range(len(some))]
    listed = EntryColumns.of(some).with_urls(urls)
    return {
        level: [found for each in slices for found in unpack_slice(each).discoveries()]
        for level, slices in pack(FILE, Source.SITEMAP, NOW, listed, scores)
    }


@given(scored)
def test_every_entry_comes_out_of_the_slice_of_its_level_as_it_went_in(some: list[tuple[SitemapEntry, float]]) -> None:
    """URL, score and all that the file said of it; in the order of the file within a level."""
    wanted: dict[int, list[Discovery]] = {}
    for number, (entry, score) in enumerate(some):
        hints = Hints(entry.lastmod, entry.changefreq, entry.priority)
        found = Discovery(Url(f"http://a.test/{number}"), Source.SITEMAP, NOW, 1, FILE, hints, score=score)
        wanted.setdefault(level_of(score), []).append(found)
    assert packed([entry for entry, _ in some], [score for _, score in some]) == wanted


def test_slices_are_short() -> None:
    """A slice is queued at once when a queue has run dry: no more than promised, whatever was read at once."""
    urls = [Url(f"http://a.test/{number}") for number in range(2 * LENGTH + 1)]
    some = [SitemapEntry(url) for url in urls]
    [(_, slices)] = pack(FILE, Source.SITEMAP, NOW, EntryColumns.of(some).with_urls(urls), [1.0] * len(urls))
    assert [len(unpack_slice(each).urls) for each in slices] == [LENGTH, LENGTH, 1]


def test_a_slice_takes_less_than_its_urls() -> None:
    """A site that lists a hundred million pages costs disk: a fraction of their letters, with or without dates."""
    urls = [Url(f"http://a.test/section-{number % 7}/{number * 7919 % 10_000}.html") for number in range(LENGTH)]
    for some in (
        [SitemapEntry(url) for url in urls],
        [SitemapEntry(url, Lastmod(NOW, Granularity.DAY)) for url in urls],
    ):
        [(_, [only])] = pack(FILE, Source.SITEMAP, NOW, EntryColumns.of(some).with_urls(urls), [1.0] * len(urls))
        assert len(only) < sum(map(len, urls)) / 3
