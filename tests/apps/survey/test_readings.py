"""Counting entries by arrays gives what counting them one by one gives, however rows are mixed and cut into batches."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hypothesis_depth import examples

from periplus.apps.survey.readings import FileReading, Readings
from periplus.store.tables import SCHEMAS

SCHEMA = SCHEMAS["sitemap_entries"]


class Row(NamedTuple):
    sitemap: str
    kind: str
    url: str = "http://a.test/1"
    read_at: int | None = None
    lastmod: int | None = None
    changefreq: str | None = None
    priority: float | None = None
    entries: int | None = None
    children: int | None = None
    problems: tuple[str, ...] = ()


SITEMAPS = st.sampled_from(["http://a.test/a.xml", "http://a.test/b.xml", "http://a.test/a.xml.gz", "http://b.test/"])
TIMES = st.sampled_from([1, 1, 1, 2])
PAGES = st.tuples(SITEMAPS, st.none() | st.just(5), st.none() | st.just("daily"), st.none() | st.just(0.5)).map(
    lambda said: Row(said[0], "page", lastmod=said[1], changefreq=said[2], priority=said[3])
)
CHILDREN = st.tuples(SITEMAPS, st.sampled_from(["http://a.test/c.xml", "http://a.test/c.xml.gz"])).map(
    lambda said: Row(said[0], "sitemap", said[1])
)
SUMMARIES = st.tuples(SITEMAPS, st.sampled_from([(), ("html",), ("x", "x", "y")])).map(
    lambda said: Row(said[0], "summary", problems=said[1])
)
ROWS = st.tuples(st.one_of(PAGES, CHILDREN, SUMMARIES), TIMES).map(lambda said: said[0]._replace(read_at=said[1]))


def write(folder: Path, number: int, rows: list[Row]) -> None:
    arrays = []
    for field in SCHEMA:
        values = [getattr(row, field.name, None) for row in rows]
        is_word = pa.types.is_dictionary(field.type)
        array = pa.array(values, field.type.value_type if is_word else field.type)
        arrays.append(array.dictionary_encode() if is_word else array)
    pq.write_table(pa.Table.from_arrays(arrays, schema=SCHEMA), folder / f"00-{number:06d}.parquet")


def key_of(url: str) -> str:
    return url.removesuffix(".gz")


def one_by_one(rows: list[Row]) -> tuple[dict[str, FileReading], dict[str, set[str]]]:
    files: dict[str, FileReading] = {}
    children: dict[str, set[str]] = {}
    reading: dict[str, list[Row]] = {}
    for row in rows:
        key = key_of(row.sitemap)
        so_far = reading.setdefault(key, [])
        if so_far and so_far[-1].read_at != row.read_at:  # broken off
            so_far.clear()
        so_far.append(row)
        if row.kind == "summary":
            files[key] = summed(reading.pop(key))
            named = {key_of(child.url) for child in so_far if child.kind == "sitemap"}
            if named:
                children.setdefault(key, set()).update(named)
    return files, children


def summed(rows: list[Row]) -> FileReading:
    pages = [row for row in rows if row.kind == "page"]
    return FileReading(
        len(pages),
        sum(row.lastmod is not None for row in pages),
        sum(row.changefreq is not None for row in pages),
        sum(row.priority is not None for row in pages),
        sum(row.kind == "sitemap" for row in rows),
        tuple(sorted(Counter(rows[-1].problems).items())),
    )


def by_name(rows: list[Row]) -> list[Row]:
    """Rows of twins that are mixed have no order of their own: one of a file's names is read at a time."""
    return [row for row in rows if not row.sitemap.endswith(".gz")] + [r for r in rows if r.sitemap.endswith(".gz")]


@settings(max_examples=examples(20))
@given(st.lists(ROWS, max_size=40), st.integers(1, 15))
def test_arrays_count_as_fingers_do(rows: list[Row], size: int) -> None:
    """Pages, what they say, children and problems of the last reading of each file that came to its end."""
    rows = by_name(rows)
    with TemporaryDirectory() as folder:
        table = Path(folder) / "tables" / "sitemap_entries"
        table.mkdir(parents=True)
        for number, start in enumerate(range(0, len(rows), size)):
            write(table, number, rows[start : start + size])
        readings = Readings(Path(folder), (), key_of)
    files, children = one_by_one(rows)
    assert readings.files == files
    assert {key: set(named) for key, named in readings.children.items()} == children


def test_a_reading_that_was_broken_off_counts_for_nothing(tmp_path: Path) -> None:
    """Its file was read again: rows without a summary would be counted twice."""
    table = tmp_path / "tables" / "sitemap_entries"
    table.mkdir(parents=True)
    page = Row("http://a.test/a.xml", "page", lastmod=5, read_at=1)
    again = page._replace(read_at=2)
    write(table, 0, [page, page, Row("http://b.test/", "page", read_at=1)])
    write(table, 1, [again, again, again, again._replace(kind="summary", entries=3), page._replace(read_at=3)])
    readings = Readings(tmp_path, (), key_of)
    assert readings.files == {"http://a.test/a.xml": FileReading(3, 3)}
