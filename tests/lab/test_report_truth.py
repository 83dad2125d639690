"""The report of a crawl of the lab: its numbers are those of the tables, and a browser shows them without a fault."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.lab.chromium_page import Chromium, NoChromium
from tests.lab.crawling import by_proxy, crawl, rows, standing
from tests.markup import elements

from periplus.apps.audit import audit
from periplus.apps.report import Report, gather_report, page
from periplus.insight.views import Views
from periplus.view.findings import Severity
from periplus.view.wording import count, share, size
from periplus_lab import World
from periplus_lab.sites import Profile

PROFILES = (Profile.SHOP, Profile.NEWS, Profile.PARTIAL, Profile.NONE, Profile.NEWS)
HURRIED = {"politeness.delay": 0.0, "politeness.slow_factor": 0.0, "retries.backoff": 0.02, "sitemaps.follow": True}
_OVERFLOWING = """
[...document.querySelectorAll("main *")].filter((each) => {
  const place = each.getBoundingClientRect();
  return place.width && place.right > innerWidth + 1 && !each.closest(".scroll, pre");
}).map((each) => each.outerHTML.slice(0, 120))
"""
_TABLES = """
[...document.querySelectorAll(".scroll")].filter((each) => !each.closest("details:not([open])")).map((each) => [
  each.getAttribute("aria-label"), each.getBoundingClientRect().right, getComputedStyle(each).overflowX,
  each.scrollWidth <= each.clientWidth])
"""
_SMALLEST = """
Math.min(...[...document.querySelectorAll("svg text")].map((each) =>
  parseFloat(getComputedStyle(each).fontSize) * each.ownerSVGElement.getBoundingClientRect().width / 400))
"""


class Made(NamedTuple):
    """A report, the collection that it is of, and its file."""

    folder: Path
    views: Views
    report: Report
    file: Path

    @property
    def text(self) -> str:
        return self.file.read_text()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """Five sites by links and sitemaps together; reported once."""
    yield from _reported(tmp_path_factory.mktemp("reported"), World(11, len(PROFILES), pages=90, profiles=PROFILES))


@pytest.fixture(scope="module")
def made_of_one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """One site, a shop, by links and sitemaps together."""
    yield from _reported(tmp_path_factory.mktemp("one"), World(11, 1, pages=120, profiles=PROFILES[:1]))


def _reported(folder: Path, world: World) -> Iterator[Made]:
    with standing(world) as lab:
        seeds = [site.url for site in world.sites()]
        crawl(folder, seeds, by_proxy(lab) | HURRIED | {"patterns.exclude": ["*from=sitemap*"]})
    with Views(folder) as views:
        report = gather_report(views, "lab", 1_800_000_000.0)
        (folder / "report.html").write_text(page(report))
        yield Made(folder, views, report, folder / "report.html")


def tables(text: str) -> dict[str, list[list[str]]]:
    """The cells of every table of the page, by the part that it belongs to: numbers as they are."""
    found: dict[str, list[list[str]]] = {}
    for table in elements(text, "//table"):
        lines = [line.xpath("td") for line in table.xpath("tbody/tr")]
        found[table.get("data-part")] = [[cell.get("data-v") or cell.text_content() for cell in line] for line in lines]
    return found


def questions(text: str) -> dict[str, str]:
    """The SQL that stands beside the numbers, as somebody would copy it."""
    shown = re.findall(r'<code data-part="(\w+)">periplus query \S+ - (.*?)</code>', text, re.DOTALL)
    return {part: html.unescape(asked).removeprefix("<<'SQL'\n").removesuffix("\nSQL") for part, asked in shown}


@pytest.mark.proof
def test_every_question_of_the_page_gives_the_numbers_beside_it(made: Made) -> None:
    """What is copied from the page into `periplus query` answers what the page shows."""
    shown = tables(made.text)
    asked = questions(made.text)
    parts = made.report.parts.items()
    assert set(asked) == {name for name, part in parts if part.sql and (part.rows or part.chapter != "glance")}
    assert len(asked) > 22
    for name, sql in asked.items():
        answer = made.views.select(sql)
        got = [dict(zip(answer.names, row, strict=True)) for row in answer.rows]
        part = made.report.parts[name]
        numbers = [column.name for column in part.columns if column.kind not in ("text", "url")]
        kept = [[row[key] for key in numbers] for row in part.rows]
        assert len(got) == len(kept)
        for row, shown_row in zip(got, kept, strict=True):
            assert [row[key] for key in numbers] == pytest.approx(shown_row), name  # sums of floats, in any order
        if name in shown:
            places = [place for place, column in enumerate(part.columns) if column.name in numbers]
            cells = [[line[place] for place in places] for line in shown[name]]
            assert cells == [["–" if value is None else str(value) for value in row] for row in kept], name


@pytest.mark.proof
def test_the_numbers_are_those_of_the_tables(made: Made) -> None:
    """Question of the Parquet files themselves, without our views: requests, bytes, visits and errors by site."""
    asked = rows(made.folder, "select count(*) n, sum(bytes)::bigint b from fetches where outcome <> 'excluded'")[0]
    assert (made.report.row("requests")["requests"], made.report.row("requests")["bytes"]) == (asked["n"], asked["b"])
    assert f"<b>{count(asked['n'])}</b>" in made.text
    assert f"<b>{size(asked['b'])}</b>" in made.text
    visits = "from fetches where purpose = 'page' and outcome <> 'excluded'"
    by_site = {row["site"]: row["n"] for row in rows(made.folder, f"select site, count(*) n {visits} group by site")}
    assert {row["site"]: row["visits"] for row in made.report.rows("visits")} == by_site
    urls = rows(made.folder, f"select count(distinct url) n {visits}")[0]["n"]
    assert made.report.row("glance")["crawled"] == urls == sum(row["visited"] for row in made.report.rows("statuses"))
    gone = f"select count(distinct url) n {visits} and status between 400 and 499"
    assert sum(row["gone"] for row in made.report.rows("statuses")) == rows(made.folder, gone)[0]["n"] > 0
    pages = made.report.rows("cluster_sizes")
    assert sum(row["clusters"] for row in pages) == made.report.row("glance")["unique"]


@pytest.mark.proof
def test_new_urls_over_time_are_all_urls(made: Made) -> None:
    """Whatever the steps are: each source's new URLs add up to those it told of."""
    told = {row["source"]: row["seen"] for row in made.report.rows("sources")}
    for source in ("sitemaps", "discovery"):
        assert sum(row[source] for row in made.report.rows("new_urls")) == told[source] > 0


@pytest.mark.proof
def test_every_figure_is_there_with_what_it_shows_and_what_to_do(made: Made) -> None:
    """No figure without its two sentences; those that have something to show are drawn."""
    figures = elements(made.text, "//figure")
    assert {figure.get("id") for figure in figures} >= {
        "new_urls", "first_seen", "coverage_by_size", "index_against_unique", "depth", "cumulative", "missed",
        "formats", "statuses", "cluster_sizes", "sources",
    }  # fmt: skip
    for figure in figures:
        assert len(figure.xpath(".//svg")) == 1
        said = figure.xpath("p")
        assert [each.get("class") for each in said] == [None, "do"]
        assert all(len(each.text_content()) > 30 for each in said)


@pytest.mark.proof
def test_one_site_is_shown_by_status_depth_type_time_and_rate(made_of_one: Made) -> None:
    """Below five sites no plot has a point per site; problems come first, most severe first."""
    figures = {figure.get("id") for figure in elements(made_of_one.text, "//figure")}
    assert figures >= {"status", "page_depth", "content_types", "response_times", "request_rate", "coverage"}
    assert not figures & {"coverage_by_size", "unique_against_coverage", "index_against_unique", "slow_sites"}
    assert elements(made_of_one.text, "//circle") == []
    chapters = [each.get("id") for each in elements(made_of_one.text, "//main/section[@id]")]
    assert chapters[:2] == ["problems", "responses"]
    report = made_of_one.report
    found = audit(made_of_one.views, [str(report.row("visits")["site"])], None, is_whole=False)
    shown = [(row["severity"], row["name"], row["count"]) for row in report.rows("findings")]
    assert sorted(shown) == sorted((each.severity.value, each.name, each.count) for each in found.findings)
    assert {row["name"]: row["why"] for row in report.rows("unchecked")} == found.unjudged
    numbers, faults = report.row("audited"), {each.name: each.count for each in found.findings}
    for name in ("pages", "listed", "visited", "linked", "followed", "waiting"):
        assert numbers[name] == getattr(found, name)
    assert numbers["broken"] == faults.get("broken-links", 0)
    assert numbers["duplicates"] == faults.get("duplicate-pages", 0)
    ranks = [[severity.value for severity in Severity].index(severity) for severity, _, _ in shown]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) > 1


@pytest.mark.proof
def test_the_numbers_of_one_site_add_up(made_of_one: Made) -> None:
    """Statuses, depths, types and response times each count every fetched URL; the rate counts every request."""
    report = made_of_one.report
    crawled = report.row("glance")["crawled"]
    for name in ("status", "page_depth", "content_types", "response_times"):
        assert sum(row["urls"] for row in report.rows(name)) == crawled > 100
    assert sum(row["requests"] for row in report.rows("request_rate")) == report.row("requests")["requests"]
    listed = {row["what"]: row["share"] for row in report.rows("coverage")}
    assert listed["unique pages"] == report.row("glance")["unique_coverage"]


# in a browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """Chromium, once for all tests here; where there is none they are skipped."""
    try:
        opened = Chromium(tmp_path_factory.mktemp("chromium"))
    except NoChromium as error:
        pytest.skip(str(error))
    with opened:
        yield opened


@pytest.mark.proof
@pytest.mark.parametrize(
    ("width", "is_dark"),
    [
        (360, False),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in ((360, True), (800, False), (800, True), (1280, False), (1280, True))
        ),
    ],
)
def test_a_browser_shows_it_without_a_fault(made: Made, browser: Chromium, width: int, is_dark: bool) -> None:
    """No error, no request but for the file itself, nothing wider than the screen, letters that can be read."""
    browser.complaints.clear()
    browser.requests.clear()
    browser.open(made.file, width, is_dark=is_dark)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run(_OVERFLOWING) == []
    browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run(_OVERFLOWING) == []
    assert browser.run(_SMALLEST) > 8.5
    assert browser.complaints == []
    assert browser.requests == [made.file.resolve().as_uri()]


@pytest.mark.proof
def test_tables_fit_on_a_phone_or_scroll_in_their_box(made: Made, browser: Chromium) -> None:
    """A URL keeps its words whole: what does not fit then can be scrolled to, in a box that ends on the screen."""
    browser.open(made.file, 400)
    open_ones = browser.run(_TABLES)
    assert open_ones
    browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    everything = browser.run(_TABLES)
    assert len(everything) > len(open_ones)
    assert all(right <= 400 and overflow == "auto" for _, right, overflow, _ in everything)


@pytest.mark.proof
def test_a_browser_shows_the_numbers_of_the_tables(made: Made, browser: Chromium) -> None:
    """The tiles say what `measures` says; the figure of statuses names the sites."""
    browser.open(made.file, 1280)
    tiles = browser.run("[...document.querySelectorAll('.tiles b')].map((each) => each.textContent)")
    known = made.views.rows('select seen, crawled, "unique", indexed, unique_coverage from measures')[0]
    counts = [count(known[name]) for name in ("seen", "crawled", "unique", "indexed")]
    assert tiles[:5] == [*counts, share(known["unique_coverage"])]
    drawn = browser.run("document.querySelector('#statuses svg').textContent")
    assert all(row["site"] in drawn for row in made.report.rows("statuses")[:4])


@pytest.mark.proof
def test_a_click_sorts_a_table_by_its_numbers(made: Made, browser: Chromium) -> None:
    """Largest first, then smallest first: by the numbers, not by how they are written."""
    browser.open(made.file, 1280)
    column = "[...document.querySelectorAll('#largest tbody tr')].map((row) => Number(row.cells[1].dataset.v))"
    click = "document.querySelectorAll('#largest th button')[1].click()"
    largest = [row["bytes"] for row in made.report.rows("largest")]
    browser.run(click)
    assert browser.run(column) == sorted(largest, reverse=True)
    browser.run(click)
    assert browser.run(column) == sorted(largest)
    sorts = "[...document.querySelectorAll('#largest th')].map((each) => each.ariaSort)"
    assert browser.run(sorts) == [None, "ascending", None, None]


@pytest.mark.proof
def test_a_filter_keeps_the_rows_that_have_all_its_words(made: Made, browser: Chromium) -> None:
    """Rows without one of the words are hidden, and how many are left is said; an empty filter shows all."""
    browser.open(made.file, 1280)
    typed = """(words) => {
      const input = document.querySelector("#largest .filter input");
      input.value = words;
      input.dispatchEvent(new Event("input"));
      return [[...document.querySelectorAll("#largest tbody tr")].filter((row) => !row.hidden).length,
        document.querySelector("#largest .filter span").textContent];
    }"""
    rows_shown = made.report.rows("largest")
    word = str(rows_shown[0]["url"]).rpartition("/")[2].partition("?")[0] or "http"
    matching = [row for row in rows_shown if word.lower() in str(row["url"]).lower()]
    assert browser.run(f"({typed})({word!r} + ' http')") == [
        len(matching),
        f"{len(matching)} of {len(rows_shown)} rows",
    ]
    assert browser.run(f"({typed})('no row has this')")[0] == 0
    assert browser.run(f"({typed})('')") == [len(rows_shown), ""]


@pytest.mark.proof
@pytest.mark.parametrize("width", [400, pytest.param(1280, marks=pytest.mark.slow)])
def test_a_browser_shows_one_site_without_a_fault(made_of_one: Made, browser: Chromium, width: int) -> None:
    """The page of one site: no error, no request but for the file itself, nothing wider than the screen."""
    browser.complaints.clear()
    browser.requests.clear()
    browser.open(made_of_one.file, width)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run(_OVERFLOWING) == []
    assert browser.complaints == []
    assert browser.requests == [made_of_one.file.resolve().as_uri()]
