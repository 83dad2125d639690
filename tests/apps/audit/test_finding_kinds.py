"""The kinds of findings are documented; text of a site cannot break the HTML page, CSV, JUnit or SARIF."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.declared_findings import AUDIT, FINDINGS, audit_page, findings_page
from tests.each_case import each_case
from tests.insight.asked_collection import Made, at

from periplus.apps.audit import (
    KINDS,
    QUESTIONS,
    Area,
    Audit,
    Cost,
    Dates,
    Mark,
    SiteFinding,
    SiteFindingKind,
    UrlCheck,
    audit,
    finding_kinds,
    page,
)
from periplus.apps.audit.html_page import summary
from periplus.apps.audit.robots_file import check_robots
from periplus.model import RobotsFile, Site
from periplus.view.findings import FaultyUrl, Severity

CODE = Path(finding_kinds.__file__).parent


def test_every_finding_is_documented() -> None:
    """With its severity, why it matters, what to do and an example; if this fails, run `make findings`."""
    assert audit_page() == AUDIT.read_text()
    assert findings_page() == FINDINGS.read_text()
    rows = re.findall(r"^\| \[`([a-z0-9-]+)`\]\(findings.md#\1\) \| (\w+) \|", AUDIT.read_text(), re.MULTILINE)
    assert dict(rows) == {kind.name: kind.severity.value for kind in KINDS.values()}
    assert all(kind.fault and kind.fix for kind in KINDS.values())
    assert {kind.area for kind in KINDS.values()} == set(Area) == set(QUESTIONS)


def test_every_kind_is_made_by_a_check() -> None:
    """By its name, somewhere in the code of the audit: the texts of a check that is gone go, too."""
    code = "".join(file.read_text("utf-8") for file in CODE.glob("*.py"))
    named = set(re.findall(r"\"([a-z0-9-]+)\"", code))
    by_field = {f"{field}-{fault}" for field in ("title", "description") for fault in ("missing", "duplicate", "long")}
    assert KINDS.keys() - named == by_field


def test_every_finding_says_why_and_what_to_do() -> None:
    """In sentences of their own."""
    for kind in KINDS.values():
        assert kind.why.endswith(".")
        assert kind.advice.endswith(".")


@each_case(
    ("status", "reason", "is_dead"),
    [(404, "", True), (500, "", True), (403, "", False), (999, "", False), (None, "dns", True), (None, "proxy", False)],
)
def test_who_refuses_a_program_is_not_dead(status: int | None, reason: str, is_dead: bool) -> None:
    """LinkedIn answers programs with 999."""
    assert UrlCheck("http://a.test/", 0.0, status, reason).is_dead is is_dead


def audit_of(*findings: SiteFinding) -> Audit:
    marks = tuple(Mark(area, QUESTIONS[area], "good", "fine") for area in Area)
    return Audit(
        site="a.test",
        sites=("a.test",),
        pages=1,
        listed=1,
        visited=1,
        linked=1,
        followed=1,
        is_whole=True,
        marks=marks,
        findings=findings,
        cost=Cost(1, 2_000_000, 1, 1, 0, {}),
        dates=Dates(0, 0, 0, 0),
        unjudged={"orphans": "why not"},
    )


def found(url: str, note: str = "") -> SiteFinding:
    kind = SiteFindingKind("orphans", Severity.WARNING, "{count} of {of}", "why", "do", Area.LINKS, "fault", "fix")
    return SiteFinding(**kind.filled(1, 2), area=kind.area, examples=(FaultyUrl(url, note, url),))


def test_what_sites_wrote_is_text() -> None:
    """No URL, title or rule becomes markup, and only addresses of the web are links."""
    text = page(audit_of(found("javascript:alert(1)", '<script>"&'), found('http://a.test/"><script>')), 0.0)
    assert "<script" not in text
    assert 'href="javascript' not in text
    assert 'href="http://a.test/&quot;&gt;&lt;script&gt;"' in text


def test_the_page_loads_nothing() -> None:
    """Nothing of the file comes from elsewhere: no source, no import, no font."""
    text = page(audit_of(found("http://a.test/")), 1e9)
    assert re.findall(r"\bsrc=|@import|url\(", text) == []
    assert set(re.findall(r'href="([^#"][^"]*)"', text)) == {"http://a.test/"}
    assert "9 September 2001" in text


def test_the_outcome_in_a_sentence() -> None:
    """By severity; a clean site is told so."""
    assert summary(audit_of()) == "No problems were found."
    assert summary(audit_of(found(""), found(""))) == "2 warnings."


def robots(text: str, access: str = "rules", status: int = 200) -> RobotsFile:
    return RobotsFile(Site("a.test"), access, text.encode(), 0.0, 0.0, status)


@each_case(
    ("file", "names"),
    [
        (robots("User-agent: *\nDisallow: /x/\nSitemap: http://a.test/s.xml"), []),
        (robots("User-agent: *\nDisallow: /\nSitemap: http://a.test/s.xml"), ["robots-closed"]),
        (robots("User-agent: badbot\nDisallow: /\n\nUser-agent: *\nSitemap: http://a.test/s.xml"), []),
        (robots("User-agent: *\nCrawl-delay: 30\nSitemap: http://a.test/s.xml"), ["robots-slow"]),
        (robots("User-agent: *\nDisallow: /x/"), ["robots-silent"]),
        (robots("Disallow: /x/\nhello\nSitemap: http://a.test/s.xml"), ["robots-format"]),
        (robots("", "all", 404), ["robots-silent"]),
        (robots("User-agent: *\nDissalow: /x/\nSitemap: http://a.test/s.xml"), ["robots-misspelt"]),
        (robots("\ufeffUser-agent: *\nDisallow: /x/\nSitemap: http://a.test/s.xml"), ["robots-bom"]),
        (robots("User-agent: *\nDisallow: /x/\nSitemap: /s.xml"), ["robots-sitemap-url"]),
        (robots("User-agent: *\nSitemap: http://a.test/s.xml\n" + "#" * 600_000), ["robots-large"]),
        (robots("", "none", 503), ["robots-unreachable"]),
        (None, []),
    ],
)
def test_what_is_wrong_with_robots(file: RobotsFile | None, names: list[str]) -> None:
    """By the file alone, for a site that has a sitemap."""
    assert [each.name for each in check_robots(file, "http://a.test/", has_sitemap=True)] == names


def test_a_file_that_fails_is_told_with_its_status() -> None:
    """And how slow a site asks to be crawled, with what that means."""
    assert check_robots(robots("", "none", 503), "http://a.test/", has_sitemap=False)[0].title.endswith("status 503")
    slow = check_robots(robots("User-agent: *\nCrawl-delay: 30"), "http://a.test/", has_sitemap=False)[0]
    assert (slow.title.count("30 s"), slow.why.count("2,880")) == (1, 1)


def of_an_index(folder: Path, *visited: str) -> Audit:
    """A page that an index of two files does not list, as far as these were read."""
    made, home = Made(folder), "http://a.test/"
    made.told(home, "seed")
    made.got(home, 1, [f"{home}x"])
    made.told(f"{home}x", "link", 101, referrer=home)
    made.got(f"{home}x", 2)
    made.told(home, "sitemap", 50)
    said = {"sitemap": f"{home}s.xml", "site": "a.test", "read_at": at(10)}
    made.rows["sitemap_entries"] += [
        *(said | {"kind": "sitemap", "url": f"{home}{name}.xml"} for name in ("one", "two")),
        said | {"kind": "summary", "url": f"{home}s.xml", "children": 2},
    ]
    for name, kind in (("s", "index"), *((name, "urlset") for name in visited)):
        row = {"url": f"{home}{name}.xml", "site": "a.test", "kind": kind, "origin": "robots", "problems": []}
        made.rows["sitemaps"].append(row | {"visited_at": at(11), "read_at": at(11)})
    with made.views() as views:
        return audit(views, ["a.test"], None, is_whole=True)


@pytest.mark.proof
def test_an_index_that_was_not_read_to_its_end_yields_no_finding(tmp_path: Path) -> None:
    """Whether a page is missing in a sitemap is judged when all its files were read, and said to be unjudged before."""
    part, whole = of_an_index(tmp_path / "part", "one"), of_an_index(tmp_path / "whole", "one", "two")
    assert part.unjudged["pages-unlisted"] == "1 file of the sitemap was not read yet"
    assert part.marks[0].verdict == "unknown"
    assert "pages-unlisted" not in {found.name for found in part.findings}
    assert "pages-unlisted" in {found.name for found in whole.findings}
    assert "pages-unlisted" not in whole.unjudged


def test_a_canonical_url_counts_only_where_it_is_believed(tmp_path: Path) -> None:
    """Of listed pages: one names the same text, one another text, one a copy of which it is no copy."""
    made, home = Made(tmp_path), "http://a.test/"
    named = {"": None, "same": f"{home}same?a=1", "same?a=1": None, "other": f"{home}third", "third": None}
    named |= {"copy": home, "copy?b=1": home}
    texts = dict(zip(named, (1, 2, 2, 3, 4, 5, 5), strict=True))
    for name, canonical in named.items():
        made.told(home + name, "link" if name else "seed")
        made.told(home + name, "sitemap", 50)
        made.got(home + name, texts[name], canonical=canonical)
    with made.views() as views:
        told = {
            each.name: {example.url.removeprefix(home) for example in each.examples}
            for each in audit(views, ["a.test"], None, is_whole=True).findings
        }
        indexed = views.rows("select count(*) as indexed from urls where is_indexable")
    assert told["listed-canonical"] == {"same"}
    assert told["canonical-others"] == {"other", "copy", "copy?b=1"}
    assert told["duplicate-pages"] == told["listed-duplicates"] == {"copy?b=1"}
    assert indexed == [{"indexed": len(named) - 1}]
