"""The tables as other people's tools see them, and as the docs describe them."""

from __future__ import annotations

import re
import resource
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from periplus.content import read_page
from periplus.model import (
    ChangeLevel,
    ChangeSeen,
    CollectionDamaged,
    CollectionError,
    Discovery,
    Failed,
    FetchEnded,
    FetchTask,
    FormProbed,
    Lane,
    PageRead,
    Purpose,
    Site,
    SitemapEntriesRead,
    SitemapEntry,
    SitemapVisited,
    Source,
    SubjectJudged,
    Url,
    UrlDiscovered,
)
from periplus.store import Tables, TableSettings
from periplus.store.tables import SCHEMAS, Spooled, count_rows, read

ROOT = Path(__file__).resolve().parents[3]
NOW = 1_700_000_000.0
URL = Url("https://example.org/")
TASK = FetchTask(URL, Site("example.org"), Purpose.PAGE, Lane.DISCOVERY, NOW)
EVENTS = (
    UrlDiscovered(Discovery(URL, Source.SEED, NOW), True),
    FetchEnded(Failed(TASK, "timeout", NOW, 0.1), NOW),
    PageRead(read_page(b"<title>T</title><a href=/x>x\0y</a>", URL, "text/html"), NOW),
    SitemapVisited(
        URL,
        NOW,
        URL,
        None,
        "robots",
        0,
        "urlset",
        "",
        200,
        1,
        0,
        99,
        (("bad-date", 2),),
        None,
        NOW,
        NOW,
        None,
        1,
        0,
        0,
        "",
    ),
    SitemapEntriesRead(URL, NOW, (SitemapEntry("https://example.org/a"),)),
    ChangeSeen(URL, NOW, ChangeLevel.MINOR),
    FormProbed(7, Site("example.org"), URL, URL, "GET", "search", ("q (text)",), "open", "", NOW, 1, 2, 3, 3, 4.0),
    SubjectJudged("site", "a.test", "spam", "spam", 0.9, ("every page has the same words",), NOW),
)
IN_SQL = {
    "string": "VARCHAR", "dictionary": "VARCHAR", "timestamp": "TIMESTAMP WITH TIME ZONE", "int32": "INTEGER",
    "int64": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN", "uint64": "UBIGINT", "binary": "BLOB",
    "list<string>": "VARCHAR[]", "float": "FLOAT",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All seven tables, two files each."""
    made = tmp_path_factory.mktemp("tables")
    tables = Tables(made / "tables", made / "spool", shard=0, mark=None)
    for _ in range(2):
        tables.record(EVENTS)
        tables.settle()
    tables.close()
    return made / "tables"


def documented() -> dict[str, dict[str, str]]:
    """Table, column and type, as docs/tables.md has them."""
    parts = re.split(r"^## (\w+)$", (ROOT / "docs" / "tables.md").read_text(), flags=re.MULTILINE)[1:]
    row = re.compile(r"^\| `(\w+)` \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)
    return {name: dict(row.findall(text)) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def written(kind: pa.DataType) -> str:
    """A type in the words of the docs."""
    if pa.types.is_dictionary(kind):
        return "dictionary"
    if pa.types.is_list(kind):
        return "list<string>"
    return "timestamp" if pa.types.is_timestamp(kind) else str(kind)


def test_every_column_is_documented_with_its_type() -> None:
    """docs/tables.md has every table and column, in order, and no other."""
    schemas = {name: {field.name: written(field.type) for field in schema} for name, schema in SCHEMAS.items()}
    assert documented() == schemas
    assert {name: list(columns) for name, columns in documented().items()} == {
        name: schema.names for name, schema in SCHEMAS.items()
    }


@pytest.mark.parametrize("table", SCHEMAS)
def test_duckdb_reads_every_table_with_the_documented_types(folder: Path, table: str) -> None:
    """SQL sees the columns as they are documented."""
    files = f"'{folder}/{table}/*.parquet'"
    with duckdb.connect() as connection:
        described = connection.execute(f"describe select * from {files}").fetchall()
        counts = connection.execute(f"select count(*), count(columns(*)) from {files}").fetchall()[0]
    assert {row[0]: row[1] for row in described} == {name: IN_SQL[kind] for name, kind in documented()[table].items()}
    assert counts[0] == 2
    assert set(counts[1:]) <= {0, 2}


@pytest.mark.parametrize("table", SCHEMAS)
def test_pandas_reads_every_table(folder: Path, table: str) -> None:
    """A folder is a data frame; times know their zone, words are categories."""
    import pandas

    frame = pandas.read_parquet(folder / table)
    assert list(frame.columns) == SCHEMAS[table].names
    assert len(frame) == 2
    for column, kind in documented()[table].items():
        if kind == "timestamp":
            assert str(frame[column].dtype) == "datetime64[us, UTC]"
        if kind == "dictionary":
            assert str(frame[column].dtype) == "category"


def test_a_zero_byte_in_a_text_reaches_sql(folder: Path) -> None:
    """What a page says is kept as it is."""
    with duckdb.connect() as connection:
        rows = connection.sql(f"select anchor from '{folder}/links/*.parquet'").fetchall()
    assert {len(anchor) for (anchor,) in rows} == {len(EVENTS[2].page.links[0].anchor)}


def test_a_killed_collection_reads_as_it_was_committed(tmp_path: Path) -> None:
    """Rows in the spool count, rows after the mark do not, and shards do not mix."""
    folder = tmp_path / "tables"
    marks = []
    for shard in (0, 1):
        tables = Tables(folder, tmp_path / f"spool-{shard}", shard=shard, mark=None)
        tables.record(EVENTS)
        marks.append(Spooled(shard, tmp_path / f"spool-{shard}", tables.checkpoint()))
        tables.record(EVENTS)
        tables.settle()  # never committed
        tables.close()
    assert count_rows(folder, "fetches") == 4
    assert count_rows(folder, "fetches", spooled=marks) == 2
    assert read(folder, "fetches", spooled=marks, columns=["reason"]).to_pylist() == [{"reason": "timeout"}] * 2


def test_row_groups_and_files_end_where_the_settings_say(tmp_path: Path) -> None:
    """Files are neither endless nor tiny, and every one is whole."""
    import pandas

    settings = TableSettings(rows_per_group=10, rows_per_file=25)
    tables = Tables(tmp_path / "tables", tmp_path / "spool", settings, shard=3, mark=None)
    for number in range(40):
        tables.record([ChangeSeen(URL, NOW + number, ChangeLevel.SAME)] * 2)
        tables.checkpoint()
    files = sorted((tmp_path / "tables" / "changes").glob("*.parquet"))
    sizes = [pandas.read_parquet(file).shape[0] for file in files]
    assert [file.name for file in files] == ["03-000001.parquet", "03-000002.parquet"]
    assert sizes == [30, 30]
    tables.close()


def test_a_lost_spool_is_damage_and_says_so(tmp_path: Path) -> None:
    """What was committed and is not there is told, with the file's name."""
    tables = Tables(tmp_path / "tables", tmp_path / "spool", shard=0, mark=None)
    tables.record(EVENTS)
    mark = tables.checkpoint()
    tables.close()
    (tmp_path / "spool" / "pages-000001.arrows").write_bytes(b"")
    with pytest.raises(CollectionDamaged, match="pages-000001"):
        Tables(tmp_path / "tables", tmp_path / "spool", shard=0, mark=mark)
    with pytest.raises(CollectionDamaged):
        read(tmp_path / "tables", "pages", spooled=[Spooled(0, tmp_path / "spool", mark)])
    with pytest.raises(CollectionDamaged, match="position of the tables"):
        Tables(tmp_path / "tables", tmp_path / "spool", shard=0, mark=b"\xff nonsense")


def test_after_a_full_disk_nothing_more_is_written(tmp_path: Path) -> None:
    """No mark is given out for files of unknown length; opened again, all is as committed."""
    tables = Tables(tmp_path / "tables", tmp_path / "spool", shard=0, mark=None)
    tables.record(EVENTS)
    mark = tables.checkpoint()
    tables.record(EVENTS * 1000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, hard))
    try:
        with pytest.raises(CollectionError, match="cannot write"):
            tables.checkpoint()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with pytest.raises(CollectionError, match="before"):
        tables.settle()
    tables.close()
    again = Tables(tmp_path / "tables", tmp_path / "spool", shard=0, mark=mark)
    again.settle()
    again.close()
    assert {name: count_rows(tmp_path / "tables", name) for name in SCHEMAS} == dict.fromkeys(SCHEMAS, 1)


def test_a_disk_that_refuses_is_an_error_of_ours(tmp_path: Path) -> None:
    """The message names the folder and the hint what to do."""
    (tmp_path / "tables").write_text("a file where a folder should be")
    with pytest.raises(CollectionError) as caught:
        Tables(tmp_path / "tables", tmp_path / "spool", shard=0, mark=None)
    assert caught.value.hint
