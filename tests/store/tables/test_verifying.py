"""Finished Parquet files are listed with size and digest: what is missing or wrong is named, and never left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from periplus.insight.views import Views
from periplus.model import CollectionDamaged, Discovery, Source, Url, UrlDiscovered, UsageError
from periplus.store.folders import digest_of
from periplus.store.tables import Spooled, Tables, TableSettings, count_rows, read, scan, verifying
from periplus.store.tables.files import damaged_files, files_of, intact_files_of
from periplus.store.tables.writer import surviving_mark

FILES = TableSettings(rows_per_group=100, rows_per_file=300)


def written(folder: Path, rows: int = 1000) -> bytes:
    """A shard that wrote some files of discoveries, and left some rows in its spool."""
    tables = Tables(folder / "tables", folder / "spool", FILES, shard=3, mark=None)
    mark = b""
    for start in range(0, rows, 100):
        urls = [Url(f"http://a.test/{number}") for number in range(start, start + 100)]
        tables.record([UrlDiscovered(Discovery(url, Source.LINK, 1.7e9), True) for url in urls])
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
        list(views.select("select url, depth, source from discoveries").rows)
    assert "periplus repair" in refused.value.hint
    with pytest.raises(CollectionDamaged, match=r"03-000001\.parquet is damaged"):
        list(scan(tmp_path / "tables", "discoveries"))
    with pytest.raises(UsageError), Views(tmp_path, spooled=spooled(tmp_path, mark)) as views:
        list(views.select("select url from fetches where nonsense").rows)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.9, 0.99])
def test_a_few_changed_bytes_are_noticed_before_the_first_answer(tmp_path: Path, share: float) -> None:
    """Wherever they are: DuckDB would answer with them."""
    mark = written(tmp_path)
    shards = spooled(tmp_path, mark)
    assert count_rows(tmp_path / "tables", "discoveries", spooled=shards) == 1000  # verified, and then changed
    change(first_file(tmp_path), share)
    with pytest.raises(CollectionDamaged, match=r"03-000001\.parquet is damaged") as refused:
        count_rows(tmp_path / "tables", "discoveries", spooled=shards)
    assert "periplus repair" in refused.value.hint
    with pytest.raises(CollectionDamaged):
        next(scan(tmp_path / "tables", "discoveries", spooled=shards))
    with pytest.raises(CollectionDamaged), Views(tmp_path, spooled=shards) as views:
        views.select("select count(*) from discoveries")


def change(path: Path, share: float) -> None:
    """Change 16 bytes of a file, at a share of its length."""
    data = bytearray(path.read_bytes())
    start = int(len(data) * share) - 16
    data[start : start + 16] = bytes(byte ^ 0x55 for byte in data[start : start + 16])
    path.write_bytes(data)


def test_a_file_is_verified_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process; in another one, if it was large, by what was written down."""
    written(tmp_path)
    read_files: list[Path] = []

    def counted(path: Path) -> str:
        read_files.append(path)
        return digest_of(path)

    monkeypatch.setattr(verifying, "digest_of", counted)
    monkeypatch.setattr(verifying, "_WORTH_A_NOTE", 1)
    files = intact_files_of(tmp_path / "tables", "discoveries")
    assert read_files == files
    intact_files_of(tmp_path / "tables", "discoveries")
    assert read_files == files
    monkeypatch.setattr(verifying, "_VERIFIED", {})
    intact_files_of(tmp_path / "tables", "discoveries")
    assert read_files == files
    assert (tmp_path / "insight" / "verified.json").is_file()
    first_file(tmp_path).touch()
    intact_files_of(tmp_path / "tables", "discoveries")
    assert read_files == [*files, first_file(tmp_path)]
    (tmp_path / "insight" / "verified.json").write_text("not json")
    monkeypatch.setattr(verifying, "_VERIFIED", {})
    intact_files_of(tmp_path / "tables", "discoveries")
    assert len(read_files) == 2 * len(files) + 1


def test_nothing_is_written_through_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of others may lead anywhere."""
    written(tmp_path / "c")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "c" / "insight").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(verifying, "_WORTH_A_NOTE", 1)
    assert intact_files_of(tmp_path / "c" / "tables", "discoveries")
    assert not list((tmp_path / "elsewhere").iterdir())


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
