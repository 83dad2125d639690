"""What visits show while a site is down is left out, by the readers of tables and in SQL alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from periplus.content import read_page
from periplus.insight.views import QUESTIONS, Views
from periplus.model import (
    ChangeLevel,
    ChangeSeen,
    Event,
    Failed,
    FetchEnded,
    FetchTask,
    Lane,
    OutageSeen,
    PageRead,
    Purpose,
    Site,
    Url,
)
from periplus.store import Tables
from periplus.store.tables import read

NOW = 1_700_000_000.0
OUTAGES = (
    OutageSeen("down.test", NOW + 20, None, "http-404", NOW + 30),
    OutageSeen("down.test", NOW + 39, NOW + 41, "not-down", NOW + 40),  # within the other
    OutageSeen("down.test", NOW + 20, NOW + 60, "http-404", NOW + 60),
    OutageSeen("down.test", NOW + 79, NOW + 81, "not-down", NOW + 80),
    OutageSeen("up.test", NOW + 20, NOW + 20, "http-404", NOW + 30),  # it was believed
)
VISITED_AT = (10, 20, 40, 50, 60, 70, 80, 90)
SHOWN = (10, 60, 70, 90)


def visit(site: str, at: float) -> tuple[Event, ...]:
    """A page of a site is fetched, read and compared."""
    url = Url(f"https://{site}/")
    task = FetchTask(url, Site(site), Purpose.PAGE, Lane.REFRESH, NOW)
    page = read_page(b"<title>T</title>", url, "text/html")
    return FetchEnded(Failed(task, "timeout", at, 0.1), at), PageRead(page, at), ChangeSeen(url, at, ChangeLevel.MAJOR)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of two sites, both of which are visited at all times."""
    made = tmp_path_factory.mktemp("outages")
    tables = Tables(made / "tables", made / "spool", shard=0, mark=None)
    tables.record(OUTAGES)
    for second in VISITED_AT:
        tables.record([*visit("down.test", NOW + second), *visit("up.test", NOW + second)])
    tables.settle()
    tables.close()
    return made


@pytest.mark.parametrize(("table", "time"), [("fetches", "ended_at"), ("pages", "read_at"), ("changes", "seen_at")])
def test_what_an_outage_shows_is_left_out(folder: Path, table: str, time: str) -> None:
    """Visits are probes then, from the first that failed to the first that did not; what they read is not there."""
    rows = read(folder / "tables", table).to_pylist()
    with Views(folder) as views:
        in_sql = views.rows(f"select * from {table} where url like '%down%' order by {time}")
    for found in (rows, in_sql):
        shown = [row for row in found if row["site"] == "down.test" and row.get("purpose") != "probe"]
        assert [row[time].timestamp() - NOW for row in shown] == list(SHOWN)
    assert sum(row["site"] == "up.test" for row in rows) == len(VISITED_AT)


def test_the_question_about_outages_names_those_that_were_some(folder: Path) -> None:
    """Neither single visits that were not counted, nor what was believed."""
    with Views(folder) as views:
        rows = views.rows(QUESTIONS["outages"].sql)
    assert [(row["site"], row["since"].timestamp(), row["reason"]) for row in rows] == [
        ("down.test", NOW + 20, "http-404")
    ]
