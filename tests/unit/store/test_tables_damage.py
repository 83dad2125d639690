"""Finished Parquet files are listed with size and digest: what is missing or wrong is named, and never left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from periplus.insight.views import Views
from periplus.model import CollectionDamaged, Discovered, Discovery, Source, Url, UsageError
from periplus.store.tables import Spooled, Tables, TableSettings, count_rows, read, scan
from periplus.store.tables.reader import damaged_files, files_of
from periplus.store.tables.writer import surviving_mark

FILES = TableSettings(rows_per_group=100, rows_per_file=300)


def written(folder: Path, rows: int = 1000) -> bytes:
    """A shard that wrote some files of discoveries, and left some rows in its spool."""
    tables = Tables(folder / "tables", folder / "spool", FILES, shard=3, mark=None)
    mark = b""
    for start in range(0, rows, 100):
        urls = [Url(f"http://a.test/{number}") for number in range(start, start + 100)]
        tables.record([Discovered(Discovery(url, Source.LINK, 1.7e9), True) for url in urls])
        mark = tables.checkpoint()
    tables.close()
    return mark


def spooled(folder: Path, mark: bytes | None) -> list[Spooled]:
    return [Spooled(3, folder / "spool", mark)]


def halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for place in range(8, len(data) // 2):  # enough of the first column for any reader to stumble
        data[place] ^= 0xFF
    path.write_bytes(data)


LOSSES: list[Callable[[Path], None]] = [Path.unlink, halve]


def first_file(folder: Path) -> Path:
    return folder / "tables" / "discoveries" / "03-000001.parquet"


@pytest.mark.parametrize("lose", LOSSES)
def test_every_reader_names_a_lost_file(tmp_path: Path, lose: Callable[[Path], None]) -> None:
    """Reading, counting and asking in SQL: none answers without it."""
    mark = written(tmp_path)
    lose(first_file(tmp_path))
    shards = spooled(tmp_path, mark)
    with pytest.raises(CollectionDamaged, match=r"03-000001\.parquet") as refused:
        files_of(tmp_path / "tables", "discoveries", shards)
    assert f"periplus repair {tmp_path}" in refused.value.hint
    with pytest.raises(CollectionDamaged):
        list(scan(tmp_path / "tables", "discoveries", spooled=shards))
    with pytest.raises(CollectionDamaged):
        count_rows(tmp_path / "tables", "discoveries")
    with pytest.raises(CollectionDamaged), Views(tmp_path, spooled=shards) as views:
        views.select("select count(*) from discoveries")


@pytest.mark.parametrize("lose", LOSSES)
def test_a_writer_refuses_to_go_on_without_a_lost_file(tmp_path: Path, lose: Callable[[Path], None]) -> None:
    """What is there stays as it is."""
    mark = written(tmp_path)
    lose(first_file(tmp_path))
    before = sorted(path.name for path in first_file(tmp_path).parent.iterdir())
    with pytest.raises(CollectionDamaged, match=r"03-000001\.parquet"):
        Tables(tmp_path / "tables", tmp_path / "spool", FILES, shard=3, mark=mark)
    assert sorted(path.name for path in first_file(tmp_path).parent.iterdir()) == before


def test_a_lost_list_is_named(tmp_path: Path) -> None:
    """Without it the files that should be there are not known."""
    mark = written(tmp_path)
    (tmp_path / "tables" / "manifest-03.json").unlink()
    with pytest.raises(CollectionDamaged, match=r"manifest-03\.json is missing"):
        read(tmp_path / "tables", "discoveries", spooled=spooled(tmp_path, mark))
    with pytest.raises(CollectionDamaged, match=r"manifest-03\.json is missing"):
        Tables(tmp_path / "tables", tmp_path / "spool", FILES, shard=3, mark=mark)


def test_flipped_bytes_are_damage_and_not_wrong_usage(tmp_path: Path) -> None:
    """The digest says whose fault it is; a question that is wrong is still a wrong question."""
    mark = written(tmp_path)
    assert damaged_files(tmp_path / "tables") == []
    flip(first_file(tmp_path))
    assert damaged_files(tmp_path / "tables") == [first_file(tmp_path)]
    with (
        pytest.raises(CollectionDamaged, match=r"03-000001\.parquet is damaged") as refused,
        Views(tmp_path, spooled=spooled(tmp_path, mark)) as views,
    ):
        list(views.select("select url, depth, source from discoveries").rows())
    assert "periplus repair" in refused.value.hint
    with pytest.raises(CollectionDamaged, match=r"03-000001\.parquet is damaged"):
        list(scan(tmp_path / "tables", "discoveries"))
    with pytest.raises(UsageError), Views(tmp_path, spooled=spooled(tmp_path, mark)) as views:
        list(views.select("select url from fetches where nonsense").rows())


def test_a_mark_that_is_older_than_the_files_is_refused(tmp_path: Path) -> None:
    """Files beyond a mark are removed only where a process died before its commit, and that is one file a table."""
    written(tmp_path)
    files = files_of(tmp_path / "tables", "discoveries")
    with pytest.raises(CollectionDamaged, match="older than the tables"):
        Tables(tmp_path / "tables", tmp_path / "spool", FILES, shard=3, mark=None)
    assert files_of(tmp_path / "tables", "discoveries") == files


def test_a_lost_mark_is_made_from_the_files(tmp_path: Path) -> None:
    """Every row is found once, and a writer goes on from there."""
    written(tmp_path)
    mark = surviving_mark(tmp_path / "tables", tmp_path / "spool", 3)
    urls = read(tmp_path / "tables", "discoveries", spooled=spooled(tmp_path, mark), columns=["url"])["url"]
    assert urls.to_pylist() == [f"http://a.test/{number}" for number in range(1000)]
    tables = Tables(tmp_path / "tables", tmp_path / "spool", FILES, shard=3, mark=mark)
    tables.settle()
    tables.close()
    assert count_rows(tmp_path / "tables", "discoveries") == 1000
