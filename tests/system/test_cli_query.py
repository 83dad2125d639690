"""`periplus query` as people type it: a table for them, JSON lines and CSV for programs, words where it is wrong."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from tests.lab.scripted_web import page
from tests.system.small_collection import HOME, small_collection
from tests.system.typed import Run

EVIL = "<title>bad \x1b[31m\x07 title</title>"


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three pages, one of which a sitemap lists, and one with a hostile title."""
    return small_collection(tmp_path_factory.mktemp("asked"), EVIL + page("two").replace("<title>two</title>", ""))


def test_without_a_question_it_says_what_there_is(run: Run, collection: Path) -> None:
    """Every name with a sentence, and what to type next; for programs with the SQL of each view."""
    said = run("query", str(collection))
    assert said.returncode == 0
    for name in ("discoveries", "urls", "site_measures", "missed", "hubs"):
        assert f"  {name} " in said.stdout
    assert f"periplus query {collection}" in said.stdout
    lines = [json.loads(line) for line in run("query", str(collection), "--json").stdout.splitlines()]
    assert {
        "name": "crawled",
        "says": "The URLs that were requested.",
        "sql": "select * from urls where is_crawled",
    } in lines


def test_people_get_an_aligned_table(run: Run, collection: Path) -> None:
    """Numbers to the right, the first rows, and how to get the others; letters that would move the cursor are gone."""
    said = run("query", str(collection), "select url, title, status, pagerank from urls order by url", "--limit", "4")
    head, *lines = said.stdout.splitlines()
    assert head.split() == ["url", "title", "status", "pagerank"]
    assert len(lines) == 4
    assert len({line.index("200") + 3 for line in lines if "200" in line}) == 1
    assert "--limit" in said.stderr
    titles = run("query", str(collection), "select title from pages where url like '%two'").stdout
    assert "bad" in titles
    assert "\x1b" not in titles
    assert run("query", str(collection), "select url from urls where false").stdout.split() == ["url", "no", "rows"]


def test_programs_get_all_rows(run: Run, collection: Path) -> None:
    """As JSON lines and as CSV, from the command line or from standard input."""
    question = "select url, by_sitemaps, first_seen_at, sum(1) over () as n, [1, 2] as list from urls order by url"
    rows = [json.loads(line) for line in run("query", str(collection), question, "--json").stdout.splitlines()]
    assert [row["url"].removeprefix(HOME) for row in rows] == ["", "gone", "one", "only-listed", "two"]
    assert {row["url"] for row in rows if row["by_sitemaps"]} == {f"{HOME}one", f"{HOME}only-listed"}
    assert {row["n"] for row in rows} == {5}
    assert all(row["first_seen_at"].endswith("Z") for row in rows)
    table = list(csv.DictReader(io.StringIO(run("query", str(collection), "-", "--csv", stdin=question).stdout)))
    assert [row["url"] for row in table] == [row["url"] for row in rows]
    assert table[0]["list"] == "[1,2]"
    assert table[0]["by_sitemaps"] == "false"


def test_the_measures_are_those_of_the_web(run: Run, collection: Path) -> None:
    """One of five URLs is known by links and sitemap, one by the sitemap alone; one is gone."""
    (row,) = run("query", str(collection), "select * from site_measures", "--json").stdout.splitlines()
    found = json.loads(row)
    assert (found["seen"], found["seen_sitemaps"], found["seen_both"], found["crawled"], found["unique"]) == (
        5,
        2,
        1,
        5,
        4,
    )
    assert found["unique_coverage"] == 0.5
    said = run("query", str(collection), "select url, class from missed order by url", "--csv").stdout
    assert said.splitlines() == ["url,class", f"{HOME},missing", f"{HOME}gone,error", f"{HOME}two,missing"]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("selct 1", "syntax error"),
        ("select * from urlz", "perhaps urls"),
        ("copy urls to 'out.csv'", "one statement that only reads"),
    ],
)
def test_a_wrong_question_ends_with_2(run: Run, collection: Path, sql: str, said: str) -> None:
    """And says what to type, with the folder's name in it."""
    ended = run("query", str(collection), sql)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert f"periplus query {collection}" in ended.stderr
    assert ended.stdout == ""


def test_a_question_to_the_machine_is_refused(run: Run, collection: Path) -> None:
    """A file outside the collection is none of its business; what may be asked is listed."""
    ended = run("query", str(collection), "select * from read_text('/etc/hostname')")
    assert ended.returncode == 2
    assert "read_text is not allowed" in ended.stderr
    assert "show tables" in ended.stderr


def test_two_answers_or_no_collection(run: Run, collection: Path, tmp_path: Path) -> None:
    """Are wrong usage."""
    assert run("query", str(collection), "select 1", "--json", "--csv").returncode == 2
    assert run("query", str(tmp_path), "select 1").returncode == 2


@pytest.mark.proof
@pytest.mark.parametrize("table", ["fetches", "pages", "links", "discoveries", "sitemap_entries"])
def test_a_table_with_changed_bytes_gives_no_answer(run: Run, collection: Path, tmp_path: Path, table: str) -> None:
    """16 of them, which DuckDB would read as other values: what reads the table ends with 3 and names the file."""
    folder = Path(shutil.copytree(collection, tmp_path / "c"))
    shutil.rmtree(folder / "insight", ignore_errors=True)
    (path,) = (folder / "tables" / table).glob("*.parquet")
    data = bytearray(path.read_bytes())
    middle = len(data) // 3
    data[middle : middle + 16] = bytes(byte ^ 0x55 for byte in data[middle : middle + 16])
    path.write_bytes(data)
    report = str(tmp_path / "report.html")
    for command in (["query", str(folder), f"select count(*) from {table}"], ["report", str(folder), "-o", report]):
        said = run(*command)
        assert said.returncode == 3, (command, said)
        assert f"{path} is damaged" in said.stderr.replace("\n", "")
        assert "periplus repair" in said.stderr
    assert not Path(report).exists()


def test_computed_tables_with_changed_bytes_are_computed_again(run: Run, collection: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(collection, tmp_path / "c"))
    asked = ("query", str(folder), "--json", "select url, depth, pagerank from urls order by url")
    before = run(*asked)
    path = folder / "insight" / "urls.parquet"
    data = bytearray(path.read_bytes())
    data[100:116] = bytes(byte ^ 0x55 for byte in data[100:116])
    path.write_bytes(data)
    assert run(*asked).stdout == before.stdout
