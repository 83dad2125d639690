"""The grid of all pages: the states of URLs, hostile texts as CSV and HTML, and budgets over its columns."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.insight.asked_collection import Made, at
from tests.markup import elements

from periplus.apps.audit import AuditSettings, JudgedAudit, grid_csv, grid_page, judge, page, to_junit
from periplus.apps.audit.page_facts import AuditedFacts, read_facts
from periplus.apps.audit.page_grid import GRID_COLUMNS, INDEX_STATES, keep_headings, load_headings
from periplus.collection.config.settings import AuditBudgets, Config
from periplus.view.csv_text import inert
from periplus.view.values import TableRow

HOME = "http://a.test/"
Visit = tuple[str, int | None, int]
EVIL = '=cmd|"/c calc"!A1</script><script>alert(1)</script>'


def made_site(folder: Path) -> Made:
    """A home page that links to a copy, a page that is gone, a redirect, a noindex page and a heavy one."""
    made = Made(folder)
    names = ("same", "gone", "old", "hidden", "heavy", "last")
    made.told(HOME, "seed")
    made.got(HOME, 1, [HOME + name for name in names], title=EVIL, description="+1", words=7)
    for name in names:
        made.told(HOME + name, "link", 101, referrer=HOME)
    made.got(HOME + "same", 1, title="Home", canonical=None)
    made.asked(HOME + "gone", 404)
    made.asked(HOME + "old", 301, target=HOME + "last")
    made.got(HOME + "hidden", 2, noindex=True)
    made.asked(HOME + "heavy", when=100, bytes=3_000_000, duration=2.5)
    made.read(HOME + "heavy", 3)
    made.got(HOME + "last", 4)
    return made


def judged_site(folder: Path, budgets: AuditBudgets | None = None) -> JudgedAudit:
    asked = AuditSettings(has_grid=True, budgets=budgets or AuditBudgets())
    with made_site(folder).views() as views:
        unread = read_facts(views, ["a.test"])
        home = pa.table({"url": [HOME], "h1": [EVIL], "bytes": [1000], "requests": [0]})
        facts = AuditedFacts(unread.tables | {"audited_read": home}, unread.groups, ())
        return judge(views, ["a.test"], None, is_whole=True, settings=asked, facts=facts)


def test_every_fetched_url_has_its_index_state(tmp_path: Path) -> None:
    """And the numbers are those of the audit."""
    found = judged_site(tmp_path)
    states = {row["url"].removeprefix(HOME): row["state"] for row in found.grid}
    assert states == {
        "": "indexable", "same": "duplicate", "gone": "error", "old": "redirect", "hidden": "noindex",
        "heavy": "indexable", "last": "indexable",
    }  # fmt: skip
    assert set(states.values()) <= set(INDEX_STATES)
    pages = [row for row in found.grid if row["state"] not in ("error", "redirect", "file")]
    assert len(pages) == found.audit.pages == 5
    faults = {each.name: each.count for each in found.audit.findings}
    assert faults["broken-links"] == sum(row["state"] == "error" for row in found.grid)
    assert faults["duplicate-pages"] == sum(row["state"] == "duplicate" for row in found.grid)
    home = next(row for row in found.grid if row["url"] == HOME)
    assert list(home) == [column.name for column in GRID_COLUMNS]
    assert (home["title"], home["h1"], home["words"], home["outlinks"], home["depth"]) == (EVIL, EVIL, 7, 6, 0)


def test_nothing_of_a_page_is_a_formula_or_markup(tmp_path: Path) -> None:
    """Texts that begin like formulas get an apostrophe in CSV; in HTML they are text, in JSON they end no script."""
    rows = judged_site(tmp_path).grid
    written = list(csv.DictReader(io.StringIO("".join(grid_csv(rows)))))
    assert len(written) == len(rows)
    home = next(row for row in written if row["url"] == HOME)
    assert (home["title"], home["h1"], home["description"]) == (f"'{EVIL}", f"'{EVIL}", "'+1")
    assert re.fullmatch(r"2026-01-05T00:\d\d:\d\dZ", home["fetched"])
    text = grid_page("a.test", rows, 0.0)
    assert len(re.findall(r"<script", text)) == 2, "the data and the script, both ours"
    assert "sha256-" in text
    [data] = elements(text, "//script[@type='application/json']")
    kept = json.loads(data.text_content())
    assert [row[0] for row in kept["rows"]] == [row["url"] for row in rows]
    assert EVIL in kept["rows"][[row["url"] for row in rows].index(HOME)]
    assert all(head.get("scope") == "col" for head in elements(text, "//th"))


@given(st.text(max_size=20))
def test_no_text_is_computed(text: str) -> None:
    """Whatever it is, the cell does not begin like a formula, and loses nothing."""
    cell = str(inert(text))
    assert cell.lstrip()[:1] not in ("=", "+", "-", "@")
    assert cell in (text, f"'{text}")


def test_headings_are_kept_for_the_server(tmp_path: Path) -> None:
    """Without a file there are none, and the table is there all the same."""
    with Made(tmp_path).views() as views:
        assert not load_headings(views.database, tmp_path, "a.test")
        views.database.execute("create or replace temp table headings as select 'http://a.test/' as url, 'One' as h1")
        views.database.unregister("audited_read")
        views.database.execute("create temp view audited_read as select * from headings")
        keep_headings(views.database, tmp_path, "a.test")
        views.database.execute("drop view audited_read")
        assert load_headings(views.database, tmp_path, "a.test")
        assert views.database.sql("select * from audited_read").fetchall() == [("http://a.test/", "One")]


@pytest.mark.proof
def test_budgets_are_kept_or_not(tmp_path: Path) -> None:
    """Of those that are set: how many pages are over, the worst value, and where."""
    budgets = AuditBudgets(max_page_weight=2_000_000, max_page_seconds=5, max_depth=1, max_broken_links=0)
    found = judged_site(tmp_path, budgets).audit
    checks = {check.name: check for check in found.budgets}
    over = {name: (check.is_over, check.count, check.of, check.worst) for name, check in checks.items()}
    assert over == {
        "max_page_weight": (True, 1, 5, 3_000_000),
        "max_page_seconds": (False, 0, 5, 2.5),
        "max_depth": (False, 0, 3, 1),
        "max_broken_links": (True, 1, found.followed, 1),
    }
    assert [each.url for each in checks["max_page_weight"].examples] == [HOME + "heavy"]
    text = page(found, 0.0)
    assert "1 of 5 pages are over 2.0 MB, the largest value is 3.0 MB" in text
    assert "1 broken, 0 allowed" in text
    assert 'name="max_page_weight"' in to_junit(found)
    assert judged_site(tmp_path / "none").audit.budgets == ()


@pytest.mark.parametrize(("text", "limit"), [('"2MB"', 2_000_000), ("300", 300)])
def test_a_weight_is_written_as_a_size(text: str, limit: int) -> None:
    """In the file of settings, as other sizes."""
    assert Config.parse(f"[audit]\nmax_page_weight = {text}\n").audit.max_page_weight == limit


def rows_of(count: int) -> list[TableRow]:
    row: TableRow = {column.name: None for column in GRID_COLUMNS}
    return [row | {"url": f"{HOME}{number}", "state": "indexable", "depth": number} for number in range(count)]


def test_a_file_without_its_script_has_the_first_rows() -> None:
    """The rest is in the data of the script, so that a large grid is still shown at once."""
    text = grid_page("a.test", rows_of(250), 0.0)
    assert len(elements(text, "//tbody/tr")) == 100
    [data] = elements(text, "//script[@type='application/json']")
    assert len(json.loads(data.text_content())["rows"]) == 250
    assert elements(text, "//noscript")


VISITS = st.lists(
    st.tuples(st.sampled_from(["", "a", "b", "c"]), st.sampled_from([200, 200, 301, 404, None]), st.integers(0, 2)),
    min_size=1,
    max_size=12,
)


@pytest.mark.proof
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(visits=VISITS, since=st.integers(0, 12))
def test_no_more_requests_are_needless_than_were_sent(tmp_path: Path, visits: list[Visit], since: int) -> None:
    """Whatever was fetched before and since: copies and soft errors of earlier crawls are not counted again."""
    made = Made(tmp_path / str(len(list(tmp_path.iterdir()))))
    for name in ("", "a", "b", "c"):
        made.told(HOME + name, "seed")
    for place, (name, status, text) in enumerate(visits):
        when = 1000.0 * place
        made.asked(HOME + name, status, when, **({"target": HOME + "c"} if status == 301 else {}))
        if status == 200:
            made.read(HOME + name, text, when=when + 1, title="Not found" if text == 2 else "Title")
    with made.views() as views:
        found = judge(
            views, ["a.test"], None, is_whole=True,
            settings=AuditSettings(since=at(1000.0 * since).timestamp()),
        ).audit  # fmt: skip
    assert found.cost.needless == sum(found.cost.wasted.values()) <= found.cost.visits == max(len(visits) - since, 0)
    assert all(each.count <= each.of for each in found.findings if each.of)
