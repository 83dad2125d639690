"""Queries that viewers type: they read the tables of the collection, and nothing else, for a bounded time."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.apps.serve.asking import PATIENCE, Site
from tests.apps.serve.browsed import crawled
from tests.apps.serve.query_processes import limit_of, memory_of, query_workers
from tests.lab.crawling import rows
from tests.markup import elements

from periplus.apps.serve import browse_tables
from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings
from periplus_lab.sites import Profile


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crawled(tmp_path_factory.mktemp("asked") / "lab", 30, (Profile.NEWS,))


@pytest.fixture(scope="module")
def server(lab: Path) -> Iterator[Site]:
    with running(Served((lab,), ServeSettings(port=0, timeout=PATIENCE))) as url:
        yield Site(url)


def answer(server: Site, sql: str) -> list[dict[str, object]]:
    reply = server.get("/api/collection/sql", q=sql, table="answer")
    assert reply.status == 200, reply.text
    found: list[dict[str, object]] = reply.json
    return found


def test_answer_is_that_of_the_tables(server: Site, lab: Path) -> None:
    asked = "select outcome, count(*) as n from fetches group by outcome order by outcome"
    assert answer(server, asked) == rows(lab, asked)
    page = server.get("/collection/sql", q=asked)
    assert [each.text_content() for each in elements(page.text, "//th")] == ["outcome", "n"]
    assert elements(page.text, "//textarea")[0].text_content() == asked


def test_views_and_describe_work(server: Site) -> None:
    assert answer(server, "select count(*) as n from range(3), unnest([1, 2])") == [{"n": 6}]
    assert answer(server, "select 'duckdb_settings()' as text, 'current_setting' as other")
    assert answer(server, "select table_name from information_schema.columns, fetches limit 1")
    assert len(answer(server, "summarize fetches")) == len(answer(server, "describe fetches"))
    assert answer(server, "select crawled from measures")[0]["crawled"]
    assert any(row["column_name"] == "pagerank" for row in answer(server, "describe urls"))


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_text('/etc/passwd')",
        "select * from read_csv('/etc/passwd')",
        "select * from '/etc/passwd'",
        "select * from read_blob('/proc/self/environ')",
        "select * from glob('/etc/*')",
        "select content from read_text('../../../../../../etc/passwd')",
        "select * from read_parquet('{folder}/tables/../state/shard-00/data.mdb')",
        "select * from read_text('{folder}/periplus.toml')",
        "attach '/tmp/other.db' as other",
        "attach ':memory:' as other",
        "copy (select 1) to '/tmp/periplus-stolen.csv'",
        "copy fetches to '/tmp/periplus-stolen.csv'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "reset enable_external_access",
        "pragma enable_profiling",
        "create table stolen as select 1",
        "export database '/tmp/periplus-stolen'",
        "select 1; select * from read_text('/etc/passwd')",
        "call pragma_database_size()",
        "insert into fetches select * from fetches",
        "drop view fetches",
        "select * from duckdb_settings()",
        'from system.main."DuckDB_Settings"()',
        "with settings as (from duckdb_settings()) select * from settings",
        "select (select min(value) from duckdb_settings())",
        "select * from query('from duckdb_settings()')",
        "select * from query_table('pg_settings')",
        "select current_setting('temp_directory')",
        "select list_transform(['allowed_directories'], name -> current_setting(name))",
        "select json_serialize_plan('select url from fetches')",
        "from json_execute_serialized_sql(json_serialize_sql('select 1'))",
        "select * from pg_catalog.pg_settings",
        "from pg_settings",
        "from pg_views",
        "from information_schema.views",
        "from sqlite_master",
        "from duckdb_views",
        "from duckdb_databases()",
        "from duckdb_temporary_files()",
        "from duckdb_secrets()",
        "from duckdb_extensions()",
        "from pragma_database_list",
        "from pragma_storage_info('fetches')",
        "from enable_logging()",
        "from glob('*')",
        "describe from duckdb_settings()",
        "summarize duckdb_views",
    ],
)
def test_nothing_else_is_read_or_written(server: Site, lab: Path, sql: str) -> None:
    reply = server.get("/api/collection/sql", q=sql.format(folder=lab), table="answer")
    assert reply.status == 400, reply.text
    assert "root:" not in reply.text
    assert f"{lab}/" not in reply.text
    assert not list(Path("/tmp").glob("periplus-stolen*"))


def test_the_page_says_what_is_not_allowed(server: Site) -> None:
    page = server.get("/collection/sql", q="select * from read_text('/etc/passwd')")
    assert page.status == 200
    assert elements(page.text, '//*[@class="problem"]')


def test_a_query_that_takes_too_long_is_stopped(server: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(browse_tables, "MAX_SECONDS", 0.5)
        reply = server.get(
            "/api/collection/sql", q="select count(*) from range(1e7::bigint) a, range(1e7::bigint) b", table="answer"
        )
    assert reply.status == 400
    assert "took longer than 0.5 seconds" in reply.text
    assert answer(server, "select 1 as one") == [{"one": 1}]


def test_memory_that_the_database_does_not_count_is_bounded(server: Site) -> None:
    """A text of 4 GB, twice: refused in the process for queries, which can hold no more than its limit."""
    huge = "select length(repeat('x',4000000000)), length(repeat('y',4000000001))"
    reply = server.get("/api/collection/sql", q=huge, table="answer")
    assert reply.status == 400
    assert "memory" in reply.text.lower()
    for pid in query_workers(os.getpid()):
        assert memory_of(pid, "VmHWM") < 1 << 30
        assert memory_of(pid, "VmSize") < 8 << 30
        assert "unlimited" not in limit_of(pid, "Max address space")
    assert answer(server, "select 1 as one") == [{"one": 1}]


def test_a_query_that_cannot_be_interrupted_is_killed(server: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its process, so that nothing runs on; another one answers the next query."""
    answer(server, "select 1 as one")
    before = query_workers(os.getpid())
    assert before
    with monkeypatch.context() as patch:
        patch.setattr(browse_tables, "MAX_SECONDS", 0.5)
        endless = "select levenshtein(repeat('a',400000),repeat('b',400000))"
        reply = server.get("/api/collection/sql", q=endless, table="answer")
    assert reply.status == 400
    assert "took longer than 0.5 seconds" in reply.text
    assert len(before - query_workers(os.getpid())) == 1
    assert answer(server, "select 1 as one") == [{"one": 1}]


def test_a_process_that_was_killed_meanwhile_is_replaced(server: Site) -> None:
    """By the system, for lack of memory: the next query does not notice."""
    answer(server, "select 1 as one")
    for pid in query_workers(os.getpid()):
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # all its threads have ended, and the pool may notice
    assert answer(server, "select 1 as one") == [{"one": 1}]


def test_processor_time_is_limited_by_the_system(server: Site) -> None:
    """For the case that the server does not kill."""
    answer(server, "select 1 as one")
    assert all(limit_of(pid, "Max cpu time").split()[0] != "unlimited" for pid in query_workers(os.getpid()))


def test_values_of_any_kind(server: Site) -> None:
    """Numbers beyond 64 bits, not numbers at all, and lists in lists."""
    nested = "[" * 60 + "1" + "]" * 60
    (row,) = answer(
        server, f"select 2::hugeint ** 100 as big, 'nan'::double as none, {nested} as nested, 'a'::blob as b"
    )
    assert (row["none"], row["b"]) == (None, "61")
    assert row["nested"] != 1
    (exact,) = answer(server, "select 170141183460469231731687303715884105727::hugeint as big")
    assert exact["big"] == 2**127 - 1


def test_no_query_makes_a_request(server: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/x"
        for sql in (f"select * from read_csv('{url}.csv')", f"select * from '{url}.parquet'"):
            assert server.get("/api/collection/sql", q=sql, table="answer").status == 400
        with pytest.raises(TimeoutError):
            listening.accept()


def test_bytes_are_bounded(server: Site) -> None:
    reply = server.get("/api/collection/sql", q="select repeat('x', 100000) as x from range(1000)", table="answer")
    assert reply.status == 400
    assert "larger than" in reply.text


@pytest.mark.slow
def test_memory_is_bounded(server: Site) -> None:
    reply = server.get(
        "/api/collection/sql", q="select list(repeat(i::varchar, 500)) from range(10000000) t(i)", table="answer"
    )
    assert reply.status == 400


@pytest.mark.proof
def test_rows_are_bounded(server: Site) -> None:
    assert len(answer(server, "select * from range(1000000000)")) == 100_000
    shown = server.get("/api/collection/sql", q="select * from range(1000000000)").json["tables"][0]
    assert len(shown["rows"]) == 200
    assert shown["has_more"]


def test_a_wrong_query_is_explained(server: Site) -> None:
    page = server.get("/collection/sql", q="select * from fetchs")
    assert page.status == 200
    assert "perhaps fetches" in elements(page.text, '//*[@class="problem"]')[0].text_content()
    assert server.get("/collection/sql", q="x" * 20_000).status == 200


def test_queries_at_once(server: Site) -> None:
    found: list[object] = []

    def ask() -> None:
        found.append(answer(server, "select count(*) as n from urls")[0]["n"])

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(found) == 6
    assert len(set(found)) == 1
