"""Common Crawl's schema and example queries over our columnar index."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from tests.archives.foreign import Capture, html, write_warc

import periplus
from periplus.apps.export.exporting import Export, ExportOptions
from periplus.collection.collection import existing
from periplus.collection.importing import import_archives
from periplus.store.export.columns import SCHEMA

TYPES = {"string": pa.string(), "integer": pa.int32(), "short": pa.int16(), "timestamp": pa.timestamp("ms", tz="UTC")}
PDF = (("Content-Type", "application/pdf"),)
SHIMS = """
create macro cardinality(list) as len(list);
create macro url_extract_path(url) as regexp_extract(url, '^[a-z]+://[^/]+([^?#]*)', 1);
create macro levenshtein_distance(one, other) as levenshtein(one, other);
"""
"""Functions of Athena under the names that DuckDB has for them."""


def captures() -> Iterator[Capture]:
    """Sites under several suffixes, with every subset, language and type that the queries ask for."""
    second = 0
    for host in (
        "www.wikipedia.org",
        "en.wikipedia.org",
        "wikipedja.org",
        "commoncrawl.org",
        "nett.no",
        "blogg.nett.no",
    ):
        count = 130 if host.endswith(".no") else 12
        plain = (("Content-Type", "text/plain"),)
        yield Capture(f"http://{host}/robots.txt", b"User-agent: *\n", "2020-01-01T00:00:00Z", headers=plain)
        for number in range(count):
            second += 1
            date = f"2020-01-02T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"
            body = html(f"{host} {number}")
            if number % 3 == 0:
                body = body.replace(b"lang=de", b"lang=is")
            url = f"https://{host}/" + (f"p/{number}" if number else "")
            if number % 10 == 9:
                yield Capture(url, b"", date, "404 Not Found" if number % 20 == 9 else "410 Gone")
            elif number % 10 == 8:
                yield Capture(url + ".pdf", b"%PDF-1.4", date, headers=PDF)
            else:
                yield Capture(url, body, date)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An imported collection."""
    folder = tmp_path_factory.mktemp("columns")
    import_archives(folder / "mine", [write_warc(folder / "x.warc.gz", captures())])
    return folder / "mine"


@pytest.fixture(scope="module")
def index(collection: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Its columnar index, under the name that the queries use."""
    folder = collection.parent / "index"
    exported = Export(existing(collection), ExportOptions("cc-index")).to_path(folder)
    assert exported.written == sum(1 for _ in captures())
    with duckdb.connect() as connection:
        connection.execute("create schema ccindex")
        connection.execute(
            "create view ccindex.ccindex as "
            f"select * from read_parquet('{folder}/*/*/*.parquet', hive_partitioning = true)"
        )
        connection.execute(SHIMS)
        yield connection


@pytest.mark.corpus
def test_schema(corpus: Path, index: duckdb.DuckDBPyConnection) -> None:
    """Names, types and order are those of the flat schema; nothing is null that must not be."""
    told = json.loads((corpus / "cc_index_sql" / "schema" / "cc-index-schema-flat.json").read_text())["fields"]
    columns = [field for field in told if field["name"] not in ("crawl", "subset")]
    assert [(field.name, field.type, field.nullable) for field in SCHEMA] == [
        (field["name"], TYPES[field["type"]], field["nullable"]) for field in columns
    ]
    assert [row[0] for row in index.execute("describe ccindex.ccindex").fetchall()] == [field["name"] for field in told]


def test_rows_are_sorted(index: duckdb.DuckDBPyConnection) -> None:
    """By key, in every subset."""
    for subset in ("warc", "robotstxt", "crawldiagnostics"):
        found = index.execute("select url_surtkey from ccindex.ccindex where subset = ?", [subset]).fetchall()
        assert found
        assert found == sorted(found)


def asked(corpus: Path, index: duckdb.DuckDBPyConnection, name: str) -> list[tuple[Any, ...]]:
    """The answer of an example query, asked of our crawl."""
    sql = (corpus / "cc_index_sql" / "queries" / f"{name}.sql").read_text()
    return index.execute(re.sub(r"'CC-MAIN-[\d-]+'", "'mine'", sql)).fetchall()


def own(collection: Path, sql: str) -> list[tuple[Any, ...]]:
    """The answer of a query over our own tables."""
    return [tuple(row) for row in periplus.open(collection).query(sql)]


@pytest.mark.corpus
def test_ten_example_queries(corpus: Path, collection: Path, index: duckdb.DuckDBPyConnection) -> None:
    """Their counts are those of our own tables."""

    def ask(name: str) -> list[tuple[Any, ...]]:
        found = asked(corpus, index, name)
        assert found, name
        return found

    table = "from fetches where warc_file is not null"
    good = f"{table} and purpose in ('page', 'file') and status = 200"
    host = "regexp_extract(url, '//([^/]+)', 1)"

    subsets = {subset: count for count, _, subset in ask("count-by-partition")}
    [(robots, warc, others)] = own(
        collection,
        f"select count_if(purpose = 'robots'), count_if(purpose in ('page', 'file') and status = 200), "
        f"count_if(purpose = 'page' and status <> 200) {table}",
    )
    assert subsets == {"robotstxt": robots, "warc": warc, "crawldiagnostics": others}
    assert Counter({status: count for count, status in ask("count-fetch-status")}) == Counter(
        dict(own(collection, f"select status, count(*) {table} and purpose = 'page' and status <> 200 group by all"))
    )
    assert {(tld, pages, hosts) for pages, tld, hosts, _ in ask("count-by-tld-page-host-domain")} == set(
        own(collection, f"select split_part({host}, '.', -1), count(*), count(distinct {host}) {good} group by all")
    )
    assert {(mime, count) for count, mime, _ in ask("compare-mime-type-http-vs-detected")} == set(
        own(collection, f"select split_part(content_type, ';', 1), count(*) {good} group by all")
    )
    assert {(length, pages) for pages, _, length in ask("host-length-distrib")} == set(
        own(collection, f"select len(string_split({host}, '.')), count(*) {good} group by all")
    )
    assert {(domain, count) for count, domain in ask("count-domains-of-tld")} == set(
        own(collection, f"select domain, count(*) {good} and domain like '%.no' group by all having count(*) >= 100")
    )
    assert (
        len(ask("get-records-of-domain"))
        == own(collection, f"select count(*) {good} and domain = 'commoncrawl.org'")[0][0]
    )
    assert (
        len(ask("get-records-of-mime-type"))
        == own(collection, f"select count(*) {good} and content_type like '%pdf'")[0][0]
    )
    assert (
        len(ask("get-records-for-language"))
        == own(collection, "select count(*) from pages where language = 'is'")[0][0]
    )
    assert (
        sum(row[0] for row in ask("similar-domains"))
        == own(collection, f"select count(*) {good} and domain like 'wikiped%'")[0][0]
    )
    languages = {(row[0], row[1]): row[4] for row in ask("correlation-language-charset")}
    assert languages["deu", "UTF-8"] == own(collection, "select count(*) from pages where language = 'de'")[0][0]
    assert len(ask("get-home-pages-languages")) == 6


def test_counts_are_those_of_our_own_tables(collection: Path, index: duckdb.DuckDBPyConnection) -> None:
    """By subset, by status and by domain, without the queries of others."""
    table = "from fetches where warc_file is not null"
    subsets = dict(index.execute("select subset, count(*) from ccindex.ccindex group by all").fetchall())
    [(robots, pages)] = own(
        collection,
        f"select count_if(purpose = 'robots'), count_if(purpose in ('page', 'file') and status = 200) {table}",
    )
    assert (subsets["robotstxt"], subsets["warc"]) == (robots, pages)
    assert set(index.execute("select fetch_status, count(*) from ccindex.ccindex group by all").fetchall()) == set(
        own(collection, f"select status, count(*) {table} group by all")
    )
    by_domain = "select url_host_registered_domain, count(*) from ccindex.ccindex group by all"
    assert set(index.execute(by_domain).fetchall()) == set(
        own(collection, f"select domain, count(*) {table} group by all")
    )
