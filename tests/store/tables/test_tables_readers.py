"""The tables as other people's tools see them, and as the docs describe them."""

from __future__ import annotations

import resource
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from msgspec.structs import astuple
from tests import declared_tables

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
    Lane,
    OutageSeen,
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
from periplus.model.rows import columns_of
from periplus.parts.forms.rows import FormProbed
from periplus.parts.permissions.rows import PermissionRow
from periplus.store import Tables, TableSettings
from periplus.store.tables import SCHEMAS, Spooled, count_rows, read
from periplus.store.tables.declared import ROWS, ImportedFileRow
from periplus.store.tables.reader import rows_of

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
    PermissionRow(
        URL,
        NOW,
        "train",
        "disallow",
        None,
        "robots",
        "read",
        URL,
        2,
        "/",
        "Content-Usage: train-ai=n",
        "07",
        "a:0",
    ),
    FormProbed(
        "07",
        "example.org",
        URL,
        URL,
        "GET",
        "search",
        ("q (text)",),
        "open",
        None,
        1,
        2,
        3,
        3,
        4.0,
        3.0,
        5.0,
        9,
        (),
        NOW,
    ),
    SubjectJudged("a.test", "site", "spam", "spam", 0.9, ("every page has the same words",), NOW),
    OutageSeen("a.test", NOW, NOW + 60.0, "http-404", NOW + 90.0),
    ImportedFileRow("a.warc.gz", 4, 2, "<urn:uuid:1>", NOW, "wget", "nobody", "a crawl", "software: wget", NOW),
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


def types_of(table: str) -> dict[str, str]:
    """The types of columns in the words of docs/tables.md."""
    return {name: kind.value for name, kind in columns_of(ROWS[table]).items()}


def test_the_page_of_the_tables_follows_from_their_declarations() -> None:
    """`python -m tests.declared_tables` writes it again."""
    assert declared_tables.tables_page() == declared_tables.TABLES.read_text()


@pytest.mark.parametrize("table", SCHEMAS)
def test_duckdb_reads_every_table_with_the_documented_types(folder: Path, table: str) -> None:
    """SQL sees the columns as they are documented."""
    files = f"'{folder}/{table}/*.parquet'"
    with duckdb.connect() as connection:
        described = connection.execute(f"describe select * from {files}").fetchall()
        counts = connection.execute(f"select count(*), count(columns(*)) from {files}").fetchall()[0]
    assert {row[0]: row[1] for row in described} == {name: IN_SQL[kind] for name, kind in types_of(table).items()}
    assert counts[0] == 2
    assert set(counts[1:]) <= {0, 2}


@pytest.mark.parametrize("table", SCHEMAS)
def test_pandas_reads_every_table(folder: Path, table: str) -> None:
    """A folder is a data frame; times know their zone, words are categories."""
    import pandas

    frame = pandas.read_parquet(folder / table)
    assert list(frame.columns) == SCHEMAS[table].names
    assert len(frame) == 2
    for column, kind in types_of(table).items():
        if kind == "timestamp":
            assert str(frame[column].dtype) == "datetime64[us, UTC]"
        if kind == "dictionary":
            assert str(frame[column].dtype) == "category"


def test_rows_are_read_as_they_were_given(folder: Path) -> None:
    """A typed reader returns what the sink of events took."""
    given = [event for event in EVENTS if isinstance(event, FormProbed | PermissionRow | SubjectJudged | OutageSeen)]
    found = [rows_of(type(row), read(folder, row.table).combine_chunks().to_batches()[0])[0] for row in given]
    as_lists = [[list(value) if isinstance(value, tuple) else value for value in astuple(row)] for row in given]
    assert [list(astuple(row)) for row in found] == as_lists


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


def test_what_sites_list_takes_little_disk_and_memory(tmp_path: Path) -> None:
    """The spool of listed URLs is compressed, and row groups are as large as their rows are in memory."""
    settings = TableSettings(bytes_per_group=1 << 20)
    tables = Tables(tmp_path / "tables", tmp_path / "spool", settings, shard=0, mark=None)
    for part in range(20):
        urls = [f"https://example.org/{part}/{number}/{'a' * 200}" for number in range(1000)]
        tables.record([SitemapEntriesRead(URL, NOW, [SitemapEntry(Url(url)) for url in urls])])
        tables.checkpoint()
    [spool] = (tmp_path / "spool").glob("sitemap_entries-*")
    assert spool.stat().st_size < 20 * 1000 * 20
    tables.settle()
    tables.close()
    [path] = (tmp_path / "tables" / "sitemap_entries").glob("*.parquet")
    file = pq.ParquetFile(path)
    assert max(file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)) <= 5000
    assert len(read(tmp_path / "tables", "sitemap_entries")) == 20_000
