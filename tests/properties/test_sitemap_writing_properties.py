"""Writing sitemaps: what is written is read again, whole and in order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hypothesis_depth import examples
from tests.reference.sitemap_writing import write

from periplus.formats.dates import read_w3c, write_w3c
from periplus.formats.sitemap import Alternate, Child, Entry, Image, News, Restriction, Video, read
from periplus.model import ChangeFreq, Granularity, Lastmod, Problem

BASE = "https://example.com/maps/"

characters = st.characters(
    codec="utf-8", exclude_categories=("Cc", "Cs", "Cn"), exclude_characters="\ufeff\ufffe\uffff\u200b\u2060"
)
text = st.text(characters, min_size=1, max_size=30).map(str.strip).filter(bool)
maybe_text = st.none() | text
word = st.text(characters, min_size=1, max_size=10).map(lambda t: "".join(t.replace(",", "").split())).filter(bool)
words = st.lists(word, max_size=3).map(tuple)
url = text.map(lambda rest: f"https://example.com/{rest}".strip())
maybe_url = st.none() | url
lastmod = (
    st.builds(
        Lastmod,
        st.integers(-(10**10), 2 * 10**11).map(float),
        st.sampled_from([g for g in Granularity if g is not Granularity.FRACTION]),
    )
    .map(write_w3c)
    .map(read_w3c)
)
count = st.none() | st.integers(0, 10**9)
flag = st.none() | st.booleans()
share = st.none() | st.floats(0, 1).filter(lambda number: number == 0 or number > 1e-20)
restriction = st.none() | st.builds(Restriction, st.booleans(), words)

image = st.builds(Image, url, maybe_text, maybe_text, maybe_text, maybe_text)
video = st.builds(
    Video,
    thumbnail_loc=maybe_url,
    title=maybe_text,
    description=maybe_text,
    content_loc=maybe_url,
    player_loc=maybe_url,
    duration=count,
    expiration_date=lastmod,
    rating=st.none() | st.floats(0, 5).map(lambda number: round(number, 2)),
    view_count=count,
    publication_date=lastmod,
    family_friendly=flag,
    restriction=restriction,
    platform=restriction,
    requires_subscription=flag,
    uploader=maybe_text,
    live=flag,
    category=maybe_text,
    tags=st.lists(text, max_size=3).map(tuple),
)
news = st.builds(News, maybe_text, maybe_text, lastmod, maybe_text, words, words, words, maybe_text)
alternate = st.builds(Alternate, url, st.just("") | text, st.just("") | text)
entry = st.builds(
    Entry,
    url,
    st.none() | lastmod,
    st.none() | st.sampled_from(ChangeFreq),
    share,
    maybe_text,
    st.lists(image, max_size=2).map(tuple),
    st.lists(video, max_size=2).map(tuple),
    st.lists(news, max_size=1).map(tuple),
    st.lists(alternate, max_size=3).map(tuple),
)
plain_entry = st.builds(Entry, url, st.none() | lastmod, st.none() | st.sampled_from(ChangeFreq), share)


def read_all(documents: dict[str, bytes], name: str) -> list[Entry | Problem]:
    """Follow the index as a crawler would."""
    found: list[Entry | Problem] = []
    for value in read(documents.pop(name), BASE + name):
        if isinstance(value, Child):
            found += read_all(documents, value.url.removeprefix(BASE))
        else:
            found.append(value)
    return found


@settings(max_examples=examples(8))
@given(st.lists(entry, max_size=4), st.booleans())
def test_written_entries_are_read_again(entries: list[Entry], gzip: bool) -> None:
    """Every field of every extension survives, and nothing else is said."""
    documents = dict(write(entries, base=BASE, gzip=gzip))
    name = "sitemap.xml.gz" if gzip else "sitemap.xml"
    assert read_all(documents, name) == entries
    assert documents == {}


@settings(max_examples=examples(8))
@given(st.lists(plain_entry, max_size=30), st.integers(2, 7), st.integers(2_000, 4_000), st.booleans())
def test_split_documents_hold_all_entries_once(entries: list[Entry], urls: int, size: int, gzip: bool) -> None:
    """However small the documents must be, the one to announce leads to all entries, in order."""
    documents = list(write(entries, base=BASE, gzip=gzip, max_urls=urls, max_bytes=size))
    names = [name for name, _ in documents]
    assert len(set(names)) == len(names)
    assert names[-1] in ("sitemap.xml", "sitemap.xml.gz")
    by_name = dict(documents)
    assert read_all(by_name, names[-1]) == entries
    assert by_name == {}
    if not gzip:
        assert all(len(document) <= size for _, document in documents)
