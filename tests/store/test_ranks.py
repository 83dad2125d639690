"""What an earlier collection says its URLs are worth: PageRank over its followed links and its redirects."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from periplus.graph import pagerank
from periplus.model import CollectionDamaged, Url
from periplus.store import KnownRanks, known_ranks
from periplus.store.tables import SCHEMAS


def write(folder: Path, table: str, rows: list[dict[str, object]]) -> None:
    """A table of which only some columns matter."""
    empty: dict[str, object] = {"rel": "", "anchor": "", "kind": "anchor", "site": "", "target_site": ""}
    empty |= {"read_at": 0, "is_internal": True}
    schema = SCHEMAS[table]
    columns = {
        name: [row.get(name, empty.get(name) if table == "links" else None) for row in rows] for name in schema.names
    }
    (folder / table).mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pydict(columns, schema), folder / table / "00-000000.parquet")


def url(name: str) -> Url:
    return Url(f"https://a.test/{name}")


def link(page: str, target: str, rel: str = "") -> dict[str, object]:
    return {"page": url(page), "target": url(target), "rel": rel}


def test_ranks_are_those_of_the_graph(tmp_path: Path) -> None:
    """In multiples of the mean; nofollow links do not count, redirects do, unknown pages are worth 0."""
    write(
        tmp_path, "links", [link("0", "1"), link("1", "2", "noopener"), link("1", "3", "ugc nofollow"), link("3", "0")]
    )
    write(tmp_path, "fetches", [{"url": url("2"), "target": url("0"), "purpose": "page"}, {"url": url("9")}])
    ranks = known_ranks(tmp_path)
    expected = pagerank(np.array([0, 1, 2, 3]), np.array([1, 2, 0, 0]), 4) * 4
    assert [ranks(url(name)) for name in "0123"] == pytest.approx(expected.tolist(), rel=1e-4)
    assert ranks(url("9")) == ranks(Url("https://elsewhere.test/")) == 0.0


def test_kept_ranks_are_those_computed(tmp_path: Path) -> None:
    """From a file, which is mapped; what is none of ours is damage, with what to do."""
    write(tmp_path, "links", [link(str(number), str(number * 7 % 100)) for number in range(100)])
    ranks = known_ranks(tmp_path)
    ranks.save(tmp_path / "ranks.npy")
    again = KnownRanks.load(tmp_path / "ranks.npy")
    assert [again(url(str(number))) for number in range(100)] == [ranks(url(str(number))) for number in range(100)]
    (tmp_path / "ranks.npy").write_bytes(b"something else")
    with pytest.raises(CollectionDamaged):
        KnownRanks.load(tmp_path / "ranks.npy")


def test_nothing_is_known_of_no_links(tmp_path: Path) -> None:
    """An empty collection, or one that never was."""
    assert len(known_ranks(tmp_path)) == 0
