"""`insight.duplicates.clusters`: pages of a collection that say the same, from its tables."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from periplus.content import sketch_of
from periplus.insight.duplicates import PageCluster, clusters
from periplus.model import Url
from periplus.store.tables import SCHEMAS


def write(folder: Path, table: str, number: int, rows: list[dict[str, object]]) -> None:
    """One file of a table of which only some columns matter."""
    schema = SCHEMAS[table]
    columns = {name: [row.get(name) for row in rows] for name in schema.names}
    (folder / table).mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pydict(columns, schema), folder / table / f"{number:02}-000000.parquet")


def page(name: str, topic: int, canonical: str | None = None) -> dict[str, object]:
    text = " ".join(f"w{topic}-{place}" for place in range(200))
    return {"url": f"https://{name}", "sketch": sketch_of(text), "canonical": canonical}


def test_clusters_of_all_shards_with_their_canonical_urls(tmp_path: Path) -> None:
    """The largest first; what is alone, or says too little, is in none; a page's last version counts."""
    first = [page("a.test/1", 1), page("a.test/1?x=1", 1), page("a.test/2", 2), page("a.test/moved", 1)]
    first += [{"url": "https://a.test/empty", "sketch": None}, {"url": "https://a.test/void", "sketch": None}]
    write(tmp_path, "pages", 0, first)
    write(tmp_path, "pages", 1, [page("b.test/mirror", 1), page("b.test/two", 2), page("a.test/moved", 3)])
    write(
        tmp_path,
        "discoveries",
        0,
        [
            {"url": "https://b.test/mirror", "source": "sitemap"},
            {"url": "https://a.test/1", "source": "link"},
        ],
    )
    found = list(clusters(tmp_path))
    assert found == [
        PageCluster(
            Url("https://b.test/mirror"),
            (Url("https://a.test/1"), Url("https://a.test/1?x=1"), Url("https://b.test/mirror")),
        ),
        PageCluster(Url("https://a.test/2"), (Url("https://a.test/2"), Url("https://b.test/two"))),
    ]


def test_worth_decides_where_no_sitemap_does(tmp_path: Path) -> None:
    """What links make of a URL, then its length."""
    write(tmp_path, "pages", 0, [page("a.test/short", 1), page("a.test/longer/name", 1)])
    write(tmp_path, "discoveries", 0, [])
    (plain,) = clusters(tmp_path)
    (ranked,) = clusters(tmp_path, worth=lambda url: float("longer" in url))
    assert plain.canonical == "https://a.test/short"
    assert ranked.canonical == "https://a.test/longer/name"


def test_no_pages_no_clusters(tmp_path: Path) -> None:
    """Nor is a folder without tables an error."""
    assert list(clusters(tmp_path)) == []
