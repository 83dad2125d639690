"""`insight.clusters`: all pages at once are put together as the crawl puts them one by one."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from periplus.insight.clusters import clusters_of
from periplus.model import Fingerprint, Sketched, Url
from periplus.policy.settings import VALUES
from periplus.store.sketches import MemorySketches
from periplus.store.tables import SCHEMAS
from periplus.urls import fingerprint, site_of

Row = dict[str, object]


def found(folder: Path, rows: list[Row]) -> set[frozenset[str]]:
    """The clusters of pages, as sets of URLs."""
    schema = SCHEMAS["pages"]
    table = pa.Table.from_pydict({name: [row.get(name) for row in rows] for name in schema.names}, schema)
    (folder / "pages").mkdir()
    pq.write_table(table, folder / "pages" / "00-000001.parquet", row_group_size=500)
    members, firsts = clusters_of(folder)
    urls = {fingerprint(Url(str(row["url"]))): str(row["url"]) for row in rows}
    return together(
        {urls[Fingerprint(key)]: first for key, first in zip(members.tolist(), firsts.tolist(), strict=True)}
    )


def together(clusters: dict[str, int]) -> set[frozenset[str]]:
    members: dict[int, set[str]] = {}
    for url, cluster in clusters.items():
        members.setdefault(cluster, set()).add(url)
    return {frozenset(urls) for urls in members.values() if len(urls) > 1}


def as_the_crawl_does(rows: list[Row]) -> set[frozenset[str]]:
    sketches = MemorySketches()
    urls = [Url(str(row["url"])) for row in rows]
    for url, row in zip(urls, rows, strict=True):
        links = row["links_digest"]
        assert isinstance(row["sketch"], bytes)
        assert isinstance(links, int)
        sketches.add([Sketched(url, row["sketch"], False, 0.0, None, links)])
    placed = zip(urls, sketches.get(urls), strict=True)
    return together({url: placement.cluster for url, placement in placed if placement is not None})


def page(name: str, sketch: bytes | None, when: int, **more: object) -> Row:
    url = Url(f"http://{name}")
    row = {"url": url, "site": site_of(url), "sketch": sketch, "read_at": when, "links_digest": 0}
    return row | {"main_length": 900, "main_digest": when + 1} | more


def varied(sketch: np.ndarray, share: float, random: np.random.Generator) -> bytes:
    """The same, but for a share of its values, and one at least."""
    other = random.integers(0, 2**32, VALUES, np.uint32)
    is_other = random.random(VALUES) < share
    is_other[random.integers(VALUES)] = True
    return np.where(is_other, other, sketch).astype("<u4").tobytes()


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))])
def test_as_the_crawl_would_have_put_them(tmp_path: Path, seed: int) -> None:
    """Pages more and less alike, of several sites, some with the same links, some of them crowds of copies."""
    random, chance = np.random.default_rng(seed), Random(seed)
    rows: list[tuple[str, bytes, int]] = []
    for topic in range(60):
        sketch = random.integers(0, 2**32, VALUES, np.uint32)
        for _ in range(chance.choice([1, 1, 2, 5, 40])):
            share = chance.choice([0.01, 0.02, 0.05, 0.2])
            rows.append((f"{chance.choice('ab')}.test/{topic}/{len(rows)}", varied(sketch, share, random), topic + 1))
    chance.shuffle(rows)
    pages = [page(name, sketch, at, links_digest=links) for at, (name, sketch, links) in enumerate(rows)]
    assert found(tmp_path, pages) == as_the_crawl_does(pages)


def test_a_crowd_of_copies_is_one(tmp_path: Path) -> None:
    """However many share all bands: a session in each URL makes thousands of pages, each a little different."""
    random = np.random.default_rng(1)
    sketch = random.integers(0, 2**32, VALUES, np.uint32)
    rows = [page(f"a.test/{at}", varied(sketch, 0.03, random), at) for at in range(500)]
    rows[0] = page("a.test/0", sketch.astype("<u4").tobytes(), 0)
    (crowd,) = found(tmp_path, rows)
    assert len(crowd) > 495


def test_what_says_hardly_anything_is_a_copy_word_by_word(tmp_path: Path) -> None:
    """Of pages with hardly a sentence those with the same words; what says nothing is a copy of nothing."""
    thin = np.repeat(np.arange(4, dtype="<u4"), VALUES // 4).tobytes()
    rows = [page(f"a.test/{at}", thin, at, main_digest=7 + at // 2, main_length=20) for at in range(4)]
    rows += [page(f"a.test/no/{at}", b"", at, main_digest=0, main_length=0) for at in range(3)]
    rows += [page(f"a.test/none/{at}", None, at, main_digest=None, main_length=None) for at in range(3)]
    assert found(tmp_path, rows) == {
        frozenset({"http://a.test/0", "http://a.test/1"}),
        frozenset({"http://a.test/2", "http://a.test/3"}),
    }


def test_the_last_version_of_a_page_counts(tmp_path: Path) -> None:
    """What it said before says nothing any more."""
    one, other = (np.random.default_rng(at).integers(0, 2**32, VALUES, np.uint32).tobytes() for at in range(2))
    rows = [page("a.test/1", one, 0), page("a.test/2", one, 1), page("a.test/2", other, 2), page("a.test/3", other, 3)]
    assert found(tmp_path, rows) == {frozenset({"http://a.test/2", "http://a.test/3"})}
