"""`insight.views`: what can be asked, what is kept, and what a stranger's question cannot do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.each_case import each_case
from tests.insight.asked_collection import Made

from periplus.insight.views import DERIVED, ITEMS, MADE, QUESTIONS, TABLES, VIEWS, Views, ViewSettings
from periplus.model import Discovery, Source, Url, UrlDiscovered, UsageError
from periplus.store.tables import SCHEMAS, Spooled, Tables

A = "http://a.test"


def small(folder: Path) -> Made:
    made = Made(folder)
    made.told(f"{A}/", "seed")
    made.got(f"{A}/", 1, [f"{A}/x", f"{A}/y"])
    made.told(f"{A}/x", "link", 101, referrer=f"{A}/")
    made.told(f"{A}/x", "sitemap", 50)
    made.got(f"{A}/x", 2, [f"{A}/"])
    made.told(f"{A}/y", "link", 101, referrer=f"{A}/")
    return made


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Views]:
    """A collection that was asked something before."""
    with small(tmp_path_factory.mktemp("asked")).views() as views:
        assert list(views.select("select count(*) from urls").rows) == [(3,)]
        yield views


def test_everything_can_be_asked_of_a_collection_without_rows(tmp_path: Path) -> None:
    """A crawl that has just begun has no tables at all."""
    names = [view.name for view in VIEWS.values()]
    with Views(tmp_path) as views:
        found = {name: len(views.rows(f'select * from "{name}"')) for name in names}
    assert found == dict.fromkeys(names, 0) | {"measures": 1}


@pytest.mark.parametrize("name", ["measures", "missed", "site_ranks"])
def test_a_view_may_be_the_first_that_is_asked(tmp_path: Path, name: str) -> None:
    """What it rests on is made for it."""
    with Views(tmp_path) as views:
        assert len(views.rows(f'select * from "{name}"')) == (1 if name == "measures" else 0)


def test_everything_can_be_asked_at_once(asked: Views) -> None:
    """Views rest on each other; each name is there once, says something, and all tables are there."""
    names = [view.name for view in (*TABLES, ITEMS, *MADE, *DERIVED)]
    assert len(set(names)) == len(names)
    assert {view.name for view in TABLES} == set(SCHEMAS)
    assert all(view.says.endswith(".") for view in VIEWS.values())
    for name in names:
        asked.rows(f'select * from "{name}"')
    assert asked.rows("select count(*) as n from urls") == [{"n": 3}]


def test_a_page_that_redirected_or_failed_before_is_a_page_like_any_other(tmp_path: Path) -> None:
    """Where it led to, and why it failed, is forgotten with its next answer."""
    made = small(tmp_path)
    made.asked(f"{A}/0", 301, target=f"{A}/y")
    made.asked(f"{A}/1", None, reason="timeout")
    for number in range(2):
        made.told(f"{A}/{number}", "link", 101, referrer=f"{A}/")
        made.got(f"{A}/{number}", 3 + number, when=200)
    with made.views() as views:
        found = views.rows(f"select leads_to, reason, is_indexable from urls where url in ('{A}/0', '{A}/1')")
    assert found == [{"leads_to": None, "reason": None, "is_indexable": True}] * 2


def test_rows_that_are_in_no_file_yet_count_too(tmp_path: Path) -> None:
    """Of a crawl that runs, as of its last commit; and what it wrote after that does not count."""
    tables = Tables(tmp_path / "tables", tmp_path / "spool", shard=0, mark=None)
    tables.record([UrlDiscovered(Discovery(Url(f"{A}/1"), Source.SEED, 1.0), True)])
    mark = tables.checkpoint()
    tables.record([UrlDiscovered(Discovery(Url(f"{A}/2"), Source.LINK, 2.0), True)])
    tables.close()
    with Views(tmp_path, spooled=[Spooled(0, tmp_path / "spool", mark)]) as views:
        assert views.rows("select url from discoveries") == [{"url": f"{A}/1"}]
        assert views.rows("select url, by_discovery from urls") == [{"url": f"{A}/1", "by_discovery": True}]


def test_rows_in_no_file_that_are_too_many_for_memory(tmp_path: Path) -> None:
    """They are copied to a file outside the collection, which goes away; what is asked has the same answers."""
    tables = Tables(tmp_path / "c" / "tables", tmp_path / "spool", shard=0, mark=None)
    found = [Discovery(Url(f"{A}/{number}"), Source.SEED, 1.0) for number in range(3)]
    tables.record([UrlDiscovered(each, True) for each in found])
    spooled = [Spooled(0, tmp_path / "spool", tables.checkpoint())]
    tables.close()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    answers, copies = [], []
    for most in (3, 2):
        settings = ViewSettings(max_spooled_rows=most)
        with Views(tmp_path / "c", spooled=spooled, settings=settings, scratch=scratch) as views:
            answers.append(views.rows("select * from discoveries order by url"))
            copies.append(len(list(scratch.rglob("discoveries.parquet"))))
    assert len(answers[0]) == 3
    assert answers[0] == answers[1]
    assert copies == [0, 1]
    assert not list(scratch.iterdir())


def test_results_are_kept_until_the_tables_grow(tmp_path: Path) -> None:
    """The second question finds it; after new rows it is computed again, and reports it."""
    made = small(tmp_path)
    made.write()
    heard: list[str] = []
    for _ in range(2):
        with Views(tmp_path, say=heard.append) as views:
            assert views.rows("select count(*) as n from urls") == [{"n": 3}]
    assert len(heard) == 1
    made.told(f"{A}/new", "sitemap", 500)
    made.write()
    with Views(tmp_path, say=heard.append) as views:
        assert views.rows("select count(*) as n from urls") == [{"n": 4}]
    assert len(heard) == 2
    (tmp_path / "insight" / "made-from.json").write_text("{")
    with Views(tmp_path, say=heard.append) as views:
        assert views.rows("select count(*) as n from crawled") == [{"n": 2}]
    assert len(heard) == 3
    assert sorted(path.name for path in (tmp_path / "insight").iterdir()) == [
        "made-from.json", "site_ranks.parquet", "urls.parquet",
    ]  # fmt: skip


def test_a_collection_that_cannot_be_written_can_be_asked(tmp_path: Path) -> None:
    """What is computed is kept for as long as it is asked for."""
    made = small(tmp_path)
    made.write()
    (tmp_path / "insight").write_text("in the way")
    with Views(tmp_path) as views:
        assert views.rows("select count(*) as n from urls") == [{"n": 3}]
        assert list(views.select("select count(*) from urls").rows) == [(3,)]
    assert (tmp_path / "insight").read_text() == "in the way"


def test_query_of_tables_computes_nothing(tmp_path: Path) -> None:
    """Who counts fetches need not wait for PageRank."""
    with small(tmp_path).views() as views:
        assert list(views.select("select count(*) from fetches").rows) == [(2,)]
        assert not (tmp_path / "insight").exists()
        assert list(views.select("select count(*) from urls").rows) == [(3,)]


FORBIDDEN = [
    "copy urls to '{out}'",
    "copy (select 1) to '{out}' (format parquet)",
    "export database '{out}'",
    "attach '{out}' as other",
    "create table t as select 1",
    "create or replace view urls as select 1",
    "insert into urls select 1",
    "drop view urls",
    "install httpfs",
    "load httpfs",
    "set memory_limit = '100GB'",
    "set enable_external_access = true",
    "pragma database_list",
    "call pragma_version()",
    "explain analyze copy (select 1) to '{out}'",
    "checkpoint",
    "select 1; copy (select 1) to '{out}'",
    "",
]


def assert_refused(views: Views, sql: str) -> None:
    with pytest.raises(UsageError) as refused:
        views.select(sql)
    assert refused.value.hint


@each_case("sql", FORBIDDEN)
def test_a_stranger_asks_and_does_nothing_else(tmp_path: Path, asked: Views, sql: str) -> None:
    """Only one question; anything that writes, loads or changes settings is refused."""
    assert_refused(asked, sql.format(out=tmp_path / "out"))
    assert list(asked.select("select count(*) from urls").rows) == [(3,)]
    assert not (tmp_path / "out").exists()


def test_a_stranger_does_nothing_else_before_the_first_question(tmp_path: Path) -> None:
    """What is refused after a question is refused before the first, too."""
    with small(tmp_path / "kept").views() as views:
        for sql in FORBIDDEN:
            assert_refused(views, sql.format(out=tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@each_case(
    "source",
    ["read_text('{file}')", "read_csv('{file}')", "'{file}'", "glob('{file}')", "read_blob('{file}')", "here"],
)
def test_a_stranger_reads_the_collection_and_nothing_else(tmp_path: Path, asked: Views, source: str) -> None:
    """Neither files of the disk, nor values of the program that asks."""
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    here = [1, 2, 3]
    with pytest.raises(UsageError):
        list(asked.select(f"select * from {source.format(file=secret)}").rows)
    assert here


@each_case(
    ("sql", "said"),
    [
        ("selct 1", "syntax error"),
        ("select * from urlz", "nothing of the name urlz"),
        ("select nothing from urls", "nothing"),
        ("select cast(url as int) from urls", "Could not convert"),
        ("select error('as asked')", "as asked"),
    ],
)
def test_a_wrong_question_is_said_to_be_wrong(asked: Views, sql: str, said: str) -> None:
    """In words that help, with what to type next."""
    with pytest.raises(UsageError, match=said) as wrong:
        list(asked.select(sql).rows)
    assert "periplus query" in wrong.value.hint


def test_a_name_that_is_nearly_right_is_named(asked: Views) -> None:
    """So that users need not look it up."""
    with pytest.raises(UsageError) as wrong:
        asked.select("select * from site_measure")
    assert "site_measures" in wrong.value.hint


def test_the_columns_of_the_view_in_question_are_named(asked: Views) -> None:
    """A wrong name of a column is looked up there."""
    with pytest.raises(UsageError) as wrong:
        asked.select("select type from media")
    assert "'describe media'" in wrong.value.hint


@pytest.mark.proof
def test_every_question_has_an_answer(tmp_path: Path, asked: Views) -> None:
    """Asked as a stranger would, of a small collection and of an empty one; and says what it shows and what to do."""
    with Views(tmp_path / "empty") as empty:
        for name, question in QUESTIONS.items():
            assert name == question.name
            assert question.says.endswith(".")
            assert question.advice.endswith(".")
            for each in (asked, empty):
                list(each.select(question.sql).rows)
    (glance,) = asked.rows(QUESTIONS["glance"].sql)
    assert (glance["seen"], glance["crawled"], glance["unique"]) == (3, 2, 2)


def test_what_was_kept_out_when_its_turn_came_does_not_wait(tmp_path: Path) -> None:
    """Exclusions are decided late, too: `refused` tells the last; what was visited before or after is not refused."""
    made = small(tmp_path)
    for name in ("forbidden", "trap", "once", "later"):
        made.told(f"{A}/{name}", "link", 102, referrer=f"{A}/")
    made.told(f"{A}/never", "link", 102, refused="low-yield")
    for when, name, reason in (
        (103, "forbidden", "robots-unreachable"), (104, "forbidden", "robots"), (103, "trap", "low-yield"),
        (500, "once", "robots"), (10, "later", "robots"),
    ):  # fmt: skip
        made.asked(f"{A}/{name}", None, when, outcome="excluded", reason=reason)
    for name in ("once", "later"):
        made.got(f"{A}/{name}", 7, when=120)
    with made.views() as views:
        rows = views.rows("select url, refused, is_crawled from urls")
    assert {row["url"].removeprefix(f"{A}/"): (row["refused"], row["is_crawled"]) for row in rows} == {
        "": (None, True), "x": (None, True), "y": (None, False), "forbidden": ("robots", False),
        "trap": ("low-yield", False), "never": ("low-yield", False), "once": (None, True), "later": (None, True),
    }  # fmt: skip
