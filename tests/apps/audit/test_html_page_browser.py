"""An audit and a grid in a real browser: what matters is on the first screens, and the grid does what it offers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.apps.audit.test_ci_formats import finding
from tests.apps.audit.test_finding_kinds import audit_of
from tests.lab.chromium_page import Chromium, NoChromium

from periplus.apps.audit import KINDS, BudgetCheck, TrendPoint, compare, grid_page, page
from periplus.apps.audit.page_grid import GRID_COLUMNS
from periplus.view.findings import FaultyUrl

EVIL = '=1+1 <img src=x onerror="document.title=1">'


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """One browser for all tests here; skipped, with the reason, where there is none."""
    try:
        opened = Chromium(tmp_path_factory.mktemp("chromium"))
    except NoChromium as error:
        pytest.skip(str(error))
    with opened:
        yield opened
        assert opened.complaints == []


@pytest.mark.proof
@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_details_begin_after_three_screens_at_most(browser: Chromium, tmp_path: Path, width: int, height: int) -> None:
    """Of a site with every finding there is, all of them new, a trend, and all budgets broken."""
    url = "http://a.test/articles/2026/a-page-with-a-name-of-usual-length"
    audit = audit_of(*(finding(name, url, f"{url}-2", f"{url}-3") for name in KINDS))
    names = ("max_page_weight", "max_page_seconds", "max_depth", "max_broken_links")
    budgets = tuple(BudgetCheck(name, 2, 3, 1, 9, (FaultyUrl(url, "3"),)) for name in names)
    audit = replace(audit, is_whole=False, waiting=99, budgets=budgets)
    trend = [TrendPoint(at * 1e5, 9, at % 3, at % 5, 3, {}, at, 1) for at in range(30)]
    file = tmp_path / "audit.html"
    file.write_text(page(audit, 1e9, compare(audit_of(), audit), trend))
    browser.open(file, width)
    assert browser.run("document.querySelector('#details').getBoundingClientRect().top") <= 3 * height
    assert browser.run("document.documentElement.scrollWidth") <= width


def test_a_grid_filters_sorts_pages_and_saves(browser: Chromium, tmp_path: Path) -> None:
    """By keyboard as well; texts of a site stay text, on the page and in the CSV."""
    blank = {column.name: None for column in GRID_COLUMNS}
    rows = [
        blank | {"url": f"http://a.test/{number}", "status": 200 if number % 2 else 404, "title": EVIL,
                 "state": "indexable" if number % 2 else "error", "words": number * 7 % 250}
        for number in range(250)
    ]  # fmt: skip
    file = tmp_path / "grid.html"
    file.write_text(grid_page("a.test", rows, 0.0))
    browser.open(file, 390)
    assert browser.run("document.documentElement.scrollWidth") <= 390
    browser.open(file, 1280, is_dark=True)
    told = "document.querySelector('[role=status]').textContent"
    column = "[...document.querySelectorAll('tbody tr')].map(row => row.cells[%d].textContent)"
    assert browser.run(told) == "250 URLs"
    assert len(browser.run(column % 0)) == 100
    browser.run("document.querySelectorAll('.pages button')[1].click()")
    assert browser.run(column % 0)[0] == "http://a.test/100"
    browser.run("{ const box = document.querySelector('select'); box.value = 'error';"
                " box.dispatchEvent(new Event('change')); }")  # fmt: skip
    assert browser.run(told) == "125 of 250 URLs"
    browser.run("document.querySelectorAll('th button')[6].click()")
    words = [int(text) for text in browser.run(column % 6)]
    assert words == sorted(words, reverse=True)
    assert browser.run("document.activeElement.textContent") == "words"
    assert browser.run("document.querySelectorAll('th')[6].getAttribute('aria-sort')") == "descending"
    browser.run("document.querySelector('.columns input').click()")
    lines = browser.run("csv()").split("\r\n")
    assert (len(lines), lines[0].split(",")[:3]) == (127, ["status", "state", "title"])
    assert f"'{EVIL}".replace('"', '""') in lines[1]
    assert browser.run("document.title") == "Pages of a.test"
    assert browser.run("document.querySelectorAll('img').length") == 0
