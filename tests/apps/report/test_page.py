"""The page of a report: what strangers wrote cannot break it, and it is no larger for a large collection."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest
from tests.insight.asked_collection import Made, at
from tests.markup import elements

from periplus.apps.report import Budget, CrawlState, KnownFreshness, Report, Trust, gather_report, page
from periplus.apps.report.drawing import FIGURES
from periplus.apps.report.questions import BY_NAME, CHAPTERS
from periplus.view.charts import WIDTH, Point, linear, logarithmic, scatter_plot

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'\u202e\x07"
DOCUMENTED = (Path(__file__).resolve().parents[3] / "docs" / "report.md").read_text()
MOST_BYTES = 700_000


def reported(made: Made, beside: CrawlState | None = None, name: str = "docs") -> Report:
    with made.views() as views:
        return gather_report(views, name, 1_800_000_000.0, beside)


@pytest.mark.proof
def test_what_strangers_wrote_is_only_text(tmp_path: Path) -> None:
    """Titles, URLs, hosts, types, reasons and signals that are HTML stay text: one script, no handler, no odd link."""
    made = Made(tmp_path / "a <b> 'c' \"d\"")
    home = "http://evil.test/"
    urls = [f"{home}{EVIL}", "javascript:alert(3)//x", f"{home}?q=<svg onload=alert(4)>", f"{home}{'x' * 5000}"]
    made.told(home, "seed")
    made.got(home, 1, [], title=EVIL)
    for number, url in enumerate(urls):
        made.told(url, "link", number, site="evil.test")
        made.asked(url, site="evil.test", content_type=EVIL, reason=EVIL)
        made.read(url, 2, [home], title=EVIL, site="evil.test")
    beside = CrawlState(
        KnownFreshness(3, 0.5, 0.4, 0.6, 60.0),
        (Budget(EVIL, 1, 2, 3),),
        (Trust(EVIL, EVIL, EVIL, EVIL),),
        lambda reason: f"{reason}{EVIL}",
    )
    text = page(reported(made, beside, EVIL))
    assert len(elements(text, "//script")) == 1
    assert elements(text, "//img | //iframe | //object | //link | //base | //form") == []
    assert elements(text, "//@*[starts-with(name(), 'on')]") == []
    hrefs = [each.get("href") or "" for each in elements(text, "//a")]
    assert {href.partition(":")[0] for href in hrefs if href[0] != "#"} == {"http"}
    assert "alert(1)" in text
    assert "<script>alert" not in text
    assert "a <b>" not in text
    assert not {"\u202e", "\x07"} & set(text)
    assert max(map(len, hrefs)) <= 500


def test_only_our_script_may_run() -> None:
    """The page's policy names the digest of the script that is in it, and lets nothing be loaded."""
    text = page(Report("a", "a", 0.0, {}, []))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)
    assert policy is not None
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert "default-src 'none'" in policy[1]
    assert f"script-src 'sha256-{digest}'" in policy[1]


def test_a_collection_of_nothing_has_a_page(tmp_path: Path) -> None:
    """Also before the first page was fetched."""
    made = Made(tmp_path)
    made.told("http://a.test/", "seed")
    text = page(reported(made))
    assert "URLs discovered" in text
    assert "Nothing to show here yet" in text


@pytest.mark.proof
def test_a_page_stays_small(tmp_path: Path) -> None:
    """Hundreds of sites with long names and URLs make no larger page than some: rows and letters are bounded."""
    made = Made(tmp_path)
    for number in range(80):
        home = f"http://{'a-rather-long-name-' * 3}{number}.test/"
        url = f"{home}{'deep/' * 80}{number}"
        made.told(home, "seed")
        made.told(url, "sitemap", number)
        made.told(url, "link", number + 5)
        made.got(url, number + 1, [home], title="A title " * 50)
        made.got(home, 9000 + number, [url])
    text = page(reported(made))
    assert len(text.encode()) < MOST_BYTES
    assert "the query without its limit returns all" in text


def test_every_part_has_its_chapter_and_its_figure() -> None:
    """Whatever is asked is shown somewhere, with sentences that end."""
    asked = [each for each in BY_NAME.values() if each.chapter != "glance"]
    assert {each.chapter for each in asked} <= set(CHAPTERS)
    assert {each.figure for each in asked if each.figure} <= set(FIGURES)
    for each in asked:
        assert each.says.endswith(".")
        assert each.advice.endswith(".")
    for title, _ in CHAPTERS.values():
        assert f"| {title} |" in DOCUMENTED


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Pages of six sites, one of them visited four times; and two sites that were visited five times after updates of
    lastmod: one updates it with changes, one with every build.
    """
    made = Made(tmp_path_factory.mktemp("watched"))
    day = 86_400
    for number in range(12):
        url = f"http://{'abcdef'[number % 6]}.test/{number}"
        made.told(url, "seed" if number < 6 else "sitemap")
        made.got(url, number // 2 + 1, [f"http://a.test/{number + 6}"])
    made.asked("http://a.test/gone", 404)
    made.told("http://a.test/gone", "link")
    for visit, is_change in enumerate([False, True, True, False]):
        seen = {"url": "http://a.test/0", "site": "a.test", "seen_at": at(day * visit), "is_change": is_change}
        made.rows["changes"].append(seen)
    for name, changed in (("honest", (1, 2, 3, 4, 5)), ("built", (3,))):
        url = f"http://{name}.test/"
        made.told(url, "seed")
        made.got(url, 1, when=10)
        told = 0
        for visit in range(6):
            told = visit * day - 60 if name == "built" or visit in changed else told
            entry = {"url": url, "site": f"{name}.test", "sitemap": f"{url}sitemap.xml", "kind": "page"}
            made.rows["sitemap_entries"].append(entry | {"lastmod": at(told), "read_at": at(visit * day)})
            if visit:
                level = "major" if visit in changed else "same"
                seen = {"url": url, "site": f"{name}.test", "seen_at": at(visit * day + 100), "level": level}
                made.rows["changes"].append(seen | {"is_change": level == "major"})
    beside = CrawlState(
        KnownFreshness(1, 0.83, 0.7, 0.9, 7200.0),
        (Budget("a.test", 30, 70, 4),),
        (Trust("a.test", "its feed", "honest", "its feed is honest"),),
    )
    return reported(made, beside)


def test_a_site_that_is_down_has_the_time_of_the_next_try(tmp_path: Path) -> None:
    """The tables say since when and why, the state when it was tried and is tried next."""
    made = Made(tmp_path)
    made.told("http://a.test/", "seed")
    made.got("http://a.test/", 1, [])
    for site, until in (("down.test", None), ("back.test", at(90))):
        row = {"site": site, "since": at(0), "until": until, "reason": "http-404", "seen_at": at(60)}
        made.rows["outages"].append(row)
    tries = {site: {"tried": 100.0, "next": 400.0} for site in ("down.test", "back.test")}
    report = reported(made, CrawlState(tries=tries))
    rows = {row["site"]: (row["until"], row.get("tried"), row.get("next")) for row in report.parts["outages"].rows}
    assert rows["down.test"] == (None, 100.0, 400.0)
    assert rows["back.test"][1:] == (None, None)
    assert "next try" in elements(page(report), "//article[@id='outages']")[0].text_content()


@pytest.mark.proof
def test_what_the_state_knows_is_drawn_beside_what_the_tables_tell(watched: Report) -> None:
    """How often pages changed, how the budget is shared, whom to believe, how fresh the copies are."""
    (rates,) = [row for row in watched.parts["change_rates"].rows if row["site"] == "a.test"]
    assert (rates["comparisons"], rates["changed"], rates["days_between"]) == (4, 2, 1.0)
    (shown,) = elements(page(watched), "/html")
    for name, said in (("change_rates", "50 % of 4 fetches"), ("budgets", "30 : 70")):
        (found,) = shown.xpath(f"//figure[@id='{name}']//svg")
        assert said in found.text_content()
    assert "honest" in shown.get_element_by_id("trusts").text_content()
    assert "between 70 % and 90 %" in shown.text_content()


def test_dates_that_are_right_and_dates_of_builds_are_told_apart(watched: Report) -> None:
    """Of five updates of lastmod, one site made each with a change, and one with every build."""
    rows = {row["site"]: row for row in watched.parts["lastmod_trust"].rows}
    shown = {name: (row["moved"], row["precision"], row["needless_share"]) for name, row in rows.items()}
    assert shown == {"honest.test": (5, 1.0, 0.0), "built.test": (5, 0.2, 0.8)}
    (figure,) = elements(page(watched), "//figure[@id='lastmod_trust']//svg")
    for said in ("5 of 5 · 100 %", "1 of 5 · 20 %", "0 of 5 · 0 %", "4 of 5 · 80 %"):
        assert said in figure.text_content()


def test_bars_of_shares_are_of_all() -> None:
    """Two thirds are two thirds of the width, not the longest bar; what bars lack is drawn behind them."""
    rows = [{"is_pinged": False, "sitemaps_first": 20, "together": 0, "discovery_first": 10}]
    boxes = elements(FIGURES["first"](rows, "label"), "//rect")
    widths = [(each.get("class"), float(each.get("width", 0))) for each in boxes]
    whole = float(WIDTH)
    assert widths == [
        ("track", whole), ("sitemaps", pytest.approx(whole * 2 / 3, abs=0.1)), ("track", whole), ("track", whole),
        ("links", pytest.approx(whole / 3, abs=0.1)),
    ]  # fmt: skip
    classes = FIGURES["classes"]([{"class": "error", "urls": 1}, {"class": "media", "urls": 3}], "x")
    drawn = [float(each.get("width", 0)) for each in elements(classes, "//rect[@class='accent']")]
    assert drawn == [whole / 4, whole * 3 / 4]


def test_a_logarithmic_axis_shows_no_zero() -> None:
    """A step without URLs interrupts the line: 0 has no place there, and drawn at the end it would look like 1."""
    rows = [
        {"since": 10.0 * place, "sitemaps": number, "discovery": 0}
        for place, number in enumerate([5000, 2, 0, 1, 3, 0, 9])
    ]
    drawn = FIGURES["times"](rows, "label")
    assert "(logarithmic)" in drawn
    lines = [each.get("d", "") for each in elements(drawn, "//path[contains(@class, 'sitemaps')]")]
    assert [line.count("L") + 1 for line in lines] == [2, 2, 1]
    assert elements(drawn, "//path[contains(@class, 'links')]") == []
    ticks = [each.text_content() for each in elements(drawn, "//text[contains(@class, 'tick')]")]
    assert "0" not in ticks
    assert (
        scatter_plot([Point("a", 0, 1)], logarithmic([10.0]), linear([1.0]), ("x", "y"), "label").count("circle") == 0
    )


def test_every_figure_of_bars_says_what_its_whole_is(watched: Report) -> None:
    """Bars that lie say it below them; bars that stand, in the title of their axis."""
    figures = elements(page(watched), "//figure[.//rect]")
    assert len(figures) > 8
    for figure in figures:
        words = [each.text_content() for each in figure.xpath(".//svg//text")]
        is_said = any(each.startswith("Full width: ") or ", of all " in each or "of all" in each for each in words)
        assert is_said, figure.get("id")
