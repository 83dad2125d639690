"""Every URL that sitemaps list, each once: as a dictionary would tell them apart, without one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hypothesis_depth import examples

from periplus.insight.listed import ListedUrl, listed_urls
from periplus.model import Url
from periplus.store.tables import SCHEMAS

SCHEMA = SCHEMAS["sitemap_entries"]
FILES = ("http://a.test/a.xml", "http://a.test/b.xml", "http://c.test/c.xml")


class Row(NamedTuple):
    sitemap: str
    url: str
    kind: str = "page"
    read_at: int = 1
    lastmod: int | None = None
    lastmod_granularity: str | None = None
    changefreq: str | None = None
    priority: float | None = None


def write(folder: Path, number: int, rows: Sequence[Row]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    arrays = []
    for field in SCHEMA:
        values = [getattr(row, field.name, None) for row in rows]
        is_word = pa.types.is_dictionary(field.type)
        array = pa.array(values, field.type.value_type if is_word else field.type)
        arrays.append(array.dictionary_encode() if is_word else array)
    pq.write_table(pa.Table.from_arrays(arrays, schema=SCHEMA), folder / f"00-{number:06d}.parquet")


def judge(sitemap: str, urls: Sequence[Url]) -> list[tuple[Url, str]]:
    """A file may list what lies on its host; a session is not part of a name."""
    host = sitemap.split("/")[2]
    return [(Url(url.partition("?sid")[0]), "" if url.split("/")[2] == host else "foreign") for url in urls]


def read(folder: Path) -> list[ListedUrl]:
    with TemporaryDirectory() as scratch:
        return list(listed_urls(folder / "tables", Path(scratch), judge))


def plainly(rows: Sequence[Row]) -> dict[str, tuple[str, int, str]]:
    """By URL: the first file that may list it, in how many it is, and why none may."""
    ends = {row.sitemap: row.read_at for row in rows if row.kind == "summary"}
    found: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        if row.kind == "page" and ends.get(row.sitemap) == row.read_at:
            is_url = row.url.startswith("http")
            ((name, refused),) = judge(row.sitemap, [Url(row.url)]) if is_url else [(Url(row.url), "not-a-url")]
            found.setdefault(name, []).append((row.sitemap, refused))
    first = {url: min(said, key=lambda one: bool(one[1])) for url, said in found.items()}
    return {url: (first[url][0], len({file for file, _ in said}), first[url][1]) for url, said in found.items()}


URLS = ("http://a.test/1", "http://a.test/2", "http://a.test/2?sid=7", "http://c.test/3", "mailto:x")
PAGES = st.tuples(st.sampled_from(FILES), st.sampled_from(URLS), st.sampled_from([1, 1, 2])).map(
    lambda said: Row(said[0], said[1], read_at=said[2])
)
SUMMARIES = st.tuples(st.sampled_from(FILES), st.sampled_from([1, 2])).map(
    lambda said: Row(said[0], "", "summary", said[1])
)


@settings(max_examples=examples(20))
@given(st.lists(PAGES | PAGES | SUMMARIES, max_size=40), st.integers(1, 20))
def test_each_url_comes_once(rows: list[Row], size: int) -> None:
    """With its first file, the number of its files, and a refusal only where no file may list it."""
    with TemporaryDirectory() as folder:
        for number, start in enumerate(range(0, len(rows), size)):
            write(Path(folder) / "tables" / "sitemap_entries", number, rows[start : start + size])
        found = read(Path(folder))
    assert len({each.url for each in found}) == len(found)
    assert {each.url: (each.sitemap, each.files, each.refused) for each in found} == plainly(rows)


def test_they_come_in_the_order_of_the_lists_with_what_is_said_of_them(tmp_path: Path) -> None:
    """A person finds them where the site has put them; what counts is what the first file says."""
    said = Row(FILES[0], "http://a.test/z", lastmod=1_700_000_000_000_000, lastmod_granularity="day", priority=0.5)
    rows = [
        said,
        *(Row(FILES[0], f"http://a.test/{number}") for number in range(200, 0, -1)),
        Row(FILES[0], "", "summary"),
        Row(FILES[1], "http://a.test/z", changefreq="daily"),
        Row(FILES[1], "relative/page"),
        Row(FILES[1], "", "summary"),
    ]
    write(tmp_path / "tables" / "sitemap_entries", 0, rows)
    found = read(tmp_path)
    assert [each.url for each in found] == [
        "http://a.test/z",
        *(f"http://a.test/{number}" for number in range(200, 0, -1)),
        "http://a.test/relative/page",
    ]
    assert found[0] == ListedUrl("http://a.test/z", FILES[0], 2, 1_700_000_000.0, "day", None, 0.5, "")


def test_a_reading_that_was_broken_off_lists_nothing(tmp_path: Path) -> None:
    """The file is read again; until then its list is incomplete."""
    rows = [Row(FILES[0], "http://a.test/old", read_at=1), Row(FILES[0], "http://a.test/new", read_at=2)]
    write(tmp_path / "tables" / "sitemap_entries", 0, [*rows, Row(FILES[0], "", "summary", 2)])
    assert [each.url for each in read(tmp_path)] == ["http://a.test/new"]


def test_the_same_said_thousands_of_times_is_one_url(tmp_path: Path) -> None:
    """Also where it is told apart on disk: lists are hostile."""
    for number in range(2):
        write(tmp_path / "tables" / "sitemap_entries", number, [Row(FILES[0], "http://a.test/1")] * 4_000)
    write(tmp_path / "tables" / "sitemap_entries", 2, [Row(FILES[0], "", "summary")])
    assert [(each.url, each.files) for each in read(tmp_path)] == [("http://a.test/1", 1)]


def test_a_collection_that_lists_nothing_gives_nothing(tmp_path: Path) -> None:
    """No file at all, too."""
    assert read(tmp_path) == []
