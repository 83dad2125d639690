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

from periplus.insight.survey.readings import FileReading, Readings
from periplus.store.tables import SCHEMAS

SCHEMA = SCHEMAS["sitemap_entries"]


class Row(NamedTuple):
    sitemap: str
    kind: str
    url: str = "http://a.test/1"
    lastmod: int | None = None
    changefreq: str | None = None
    priority: float | None = None
    entries: int | None = None
    children: int | None = None
    problems: tuple[str, ...] = ()


SITEMAPS = st.sampled_from(["http://a.test/a.xml", "http://a.test/b.xml", "http://a.test/a.xml.gz", "http://b.test/"])
ROWS = st.one_of(
    st.tuples(SITEMAPS, st.none() | st.just(5), st.none() | st.just("daily"), st.none() | st.just(0.5)).map(
        lambda said: Row(said[0], "page", lastmod=said[1], changefreq=said[2], priority=said[3])
    ),
    st.tuples(SITEMAPS, st.sampled_from(["http://a.test/c.xml", "http://a.test/c.xml.gz"])).map(
        lambda said: Row(said[0], "sitemap", said[1])
    ),
    st.tuples(SITEMAPS, st.sampled_from([(), ("html",), ("x", "x", "y")])).map(
        lambda said: Row(said[0], "summary", problems=said[1])
    ),
)


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
    for row in rows:
        key = key_of(row.sitemap)
        if key not in files or files[key].is_closed:
            files[key] = FileReading()
        reading = files[key]
        reading.entries += row.kind == "page"
        reading.with_lastmod += row.lastmod is not None
        reading.with_changefreq += row.changefreq is not None
        reading.with_priority += row.priority is not None
        reading.named += row.kind == "sitemap"
        if row.kind == "sitemap":
            children.setdefault(key, set()).add(key_of(row.url))
        if row.kind == "summary":
            reading.problems = tuple(sorted(Counter(row.problems).items()))
            reading.is_closed = True
    return files, children


def by_name(rows: list[Row]) -> list[Row]:
    """Rows of twins that are mixed have no order of their own: one of a file's names is read at a time."""
    return [row for row in rows if not row.sitemap.endswith(".gz")] + [r for r in rows if r.sitemap.endswith(".gz")]


@settings(max_examples=40)
@given(st.lists(ROWS, max_size=40), st.integers(1, 15))
def test_arrays_count_as_fingers_do(rows: list[Row], size: int) -> None:
    """Pages, what they say, children and problems of the last reading of each file."""
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
