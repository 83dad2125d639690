"""`periplus audit` as people type it: a clean site, one with faults that are fixed, the exit codes, all outputs."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.lab import scripted_web
from tests.lab.scripted_web import MovedTo, ScriptedWeb, sitemap_index, urlset
from tests.system.typed import Run, run_program

HOME = "http://site.test"
NAMES = ("apples", "pears", "plums", "figs", "dates", "limes", "kiwis", "grapes", "melons", "cherries", "nuts", "rice")


VIEWPORT = 'name="viewport" content="width=device-width"'


def page(title: str, *links: str, head: str = "") -> str:
    """A page with a description of its own."""
    written = scripted_web.page(title, *links).replace("<title>", f'<html lang="en"><meta {VIEWPORT}><title>', 1)
    description = f'<meta name="description" content="What {title} is about">'
    return written.replace("<p>", f"{description}{head}<h1>About {title}</h1><p>", 1)


def clean() -> dict[str, str | bytes]:
    """Twelve pages that all link to each other, each listed with a date of its own."""
    urls = {name: f"{HOME}/{name}" for name in NAMES}
    dated = [f"{url} 2026-0{1 + place % 9}-1{place % 10}" for place, url in enumerate(urls.values())]
    said: dict[str, str | bytes] = {
        f"{HOME}/": page("Fruit of all kinds", *urls.values()),
        f"{HOME}/robots.txt": f"User-agent: *\nAllow: /\n\nSitemap: {HOME}/sitemap.xml\n",
        f"{HOME}/sitemap.xml": urlset(f"{HOME}/ 2026-01-02", *dated),
    }
    return said | {url: page(f"All about {name}", f"{HOME}/", *urls.values()) for name, url in urls.items()}


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    """A clean site."""
    with ScriptedWeb(clean()) as served:
        yield served


def typed(web: ScriptedWeb, *args: str) -> tuple[str, ...]:
    return ("audit", HOME, "--proxy", web.base, "--delay", "0", *args)


@pytest.fixture(scope="module")
def of_clean() -> str:
    """What an audit of a clean site says as JSON."""
    with ScriptedWeb(clean()) as web:
        said = run_program(*typed(web, "--json", "--fail-on", "notice"), text=True)
    assert said.returncode == 0, said.stderr
    return str(said.stdout)


@pytest.mark.proof
def test_a_clean_site_has_no_finding(of_clean: str) -> None:
    """Nothing is found fault with that is not there: every mark is good."""
    audit: dict[str, Any] = json.loads(of_clean)
    assert audit["comparison"] is None
    assert audit["findings"] == []
    assert {mark["verdict"] for mark in audit["marks"]} == {"good"}
    assert (audit["pages"], audit["listed"], audit["visited"], audit["is_whole"]) == (13, 13, 13, True)
    assert (audit["linked"], audit["followed"]) == (13, 13)
    assert audit["cost"] | {"bytes": 0} == {
        "requests": 15, "bytes": 0, "visits": 13, "pages": 13, "needless": 0, "wasted": {},
    }  # fmt: skip


def broken(web: ScriptedWeb) -> None:
    """A dead page that is listed and linked, a redirect, a page that is not listed, one without links to it."""
    said = web.said
    first = f"{HOME}/{NAMES[0]}"
    said[first] = page("All about apples", f"{HOME}/", f"{HOME}/dead", f"{HOME}/moved", f"{HOME}/secret")
    said[f"{HOME}/moved"] = MovedTo(f"{HOME}/pears")
    said[f"{HOME}/secret"] = page("A secret page")
    said[f"{HOME}/robots.txt"] = f"User-agent: *\nDisallow: /private/\n\nSitemap: {HOME}/sitemap.xml\n"
    said[f"{HOME}/lonely"] = page("A lonely page")
    listed = [f"{HOME}/{name}" for name in ("", "dead", "moved", "lonely", "private/x", *NAMES)]
    said[f"{HOME}/sitemap.xml"] = urlset(*(f"{url} 2020-01-01T00:00:00Z" for url in listed))


@pytest.mark.proof
def test_faults_are_told_with_their_pages_and_which_were_fixed(
    run: Run, web: ScriptedWeb, tmp_path: Path, of_clean: str
) -> None:
    """As JSON, a page, CSV, JUnit, SARIF and text, against a baseline; the exit code is 4 for what `--fail-on` names.

    Then the site is fixed: pages, dead URLs, robots.txt and sitemaps are asked for again, on condition, and nothing of
    before is found; the comparison has what was fixed.
    """
    broken(web)
    before, folder = tmp_path / "before.json", str(tmp_path / "c")
    before.write_text(of_clean)
    files = {kind: tmp_path / f"audit.{kind}" for kind in ("csv", "junit", "sarif", "html")}
    said = run(
        *typed(web, "-o", folder, "--json", "--baseline", str(before)),
        *("--fail-on", "error", "--fail-on", "orphans,slow-pages"),
        *(part for kind, path in files.items() for part in (f"--{kind}", str(path))),
    )
    audit = json.loads(said.stdout)
    told = {found["name"]: sorted(example["url"] for example in found["examples"]) for found in audit["findings"]}
    assert told == {
        "pages-unlisted": [f"{HOME}/secret"],
        "listed-errors": [f"{HOME}/dead"],
        "listed-redirects": [f"{HOME}/moved"],
        "listed-forbidden": [f"{HOME}/private/x"],
        "sitemap-stale": [],
        "lastmod-build-time": [""],
        "orphans": [f"{HOME}/lonely"],
        "broken-links": [f"{HOME}/dead"],
        "redirected-links": [f"{HOME}/moved"],
    }
    assert said.returncode == 4
    assert sorted(audit["failed_on"]) == ["listed-errors", "listed-forbidden", "orphans"]
    check_files(files, told.keys())
    again = run("audit", folder, "--site", "www.site.test", "--baseline", str(before), "--fail-on", "orphans")
    assert again.returncode == 4
    assert "+ orphans http://site.test/lonely" in again.stdout
    assert "→ Link to them from a section" in again.stdout
    assert all(len(line) < 300 for line in again.stdout.splitlines()), "lines are not padded to the console's width"
    assert run("audit", folder, "--csv", "-").stdout.startswith("finding,severity,area,state,url,")
    assert run("audit", folder, "--baseline", str(tmp_path / "none.json")).returncode == 2
    check_fixed(run, web, folder, told.keys())


def check_files(files: dict[str, Path], names: Iterable[str]) -> None:
    """All faults are in the files for machines and on the page; what is not in the baseline is new."""
    text = files["html"].read_text()
    assert all(f'id="{name}"' in text for name in names)
    rows = list(csv.DictReader(io.StringIO(files["csv"].read_text(encoding="utf-8"))))
    assert {row["state"] for row in rows if row["finding"] == "orphans"} == {"new"}
    root = ElementTree.fromstring(files["junit"].read_text())
    assert root[0].attrib["failures"] == "3"
    log = json.loads(files["sarif"].read_text())
    results = {result["ruleId"]: result for result in log["runs"][0]["results"]}
    assert results["orphans"]["baselineState"] == "new"


def check_fixed(run: Run, web: ScriptedWeb, folder: str, names: Iterable[str]) -> None:
    """Fix the site and audit it again."""
    web.said = clean()
    web.same.clear()
    started_at = time.time()
    audit = json.loads(run(*typed(web, "-o", folder, "--json")).stdout)
    assert {found["name"] for found in audit["findings"]}.isdisjoint(names)
    assert len(web.same) > 5
    assert audit["seen_from"] >= started_at
    fixed = {change["name"]: change["fixed"] for change in audit["comparison"]["changes"]}
    assert fixed["broken-links"] == [f"{HOME}/dead"]
    assert fixed["orphans"] == [f"{HOME}/lonely"]
    text = run("audit", folder).stdout
    assert "as of" in text
    assert "since the last audit: 0 new" in text


@pytest.mark.proof
def test_an_incomplete_crawl_says_so_and_is_completed(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """How many URLs the limit leaves out; its collection is audited without fetching, and continued.

    The marks say of how many URLs they speak, as JSON and as a page: what was not visited is not called good.
    """
    folder, file = str(tmp_path / "c"), tmp_path / "audit.html"
    part = json.loads(run(*typed(web, "-o", folder, "--limit", "3", "--json", "--html", str(file))).stdout)
    assert not part["is_whole"]
    assert part["waiting"] > 5
    assert {"orphans", "broken-links", "deep-pages"} <= part["unjudged"].keys()
    assert (part["listed"], part["visited"], part["linked"], part["followed"]) == (13, 3, 13, 3)
    told = {area: sentence for area, (_, sentence) in says(part).items()}
    assert told["clean"] == "All 3 of 13 listed URLs that were visited are indexable pages"
    assert told["links"] == "All 3 of 13 linked URLs that were visited work, and every page has one URL"
    assert told["complete"] == "Every indexable page is listed, of 3 that were read"
    assert all(told[area] in file.read_text() for area in ("clean", "links", "complete"))
    asked = len(web.asked)
    text = run("audit", folder).stdout
    assert len(web.asked) == asked
    assert "The crawl is incomplete" in text
    assert "--limit 0" in text
    broken(web)
    whole = json.loads(run(*typed(web, "-o", folder, "--limit", "0", "--json")).stdout)
    assert (whole["waiting"], whole["is_whole"]) == (0, True)
    assert "orphans" in {found["name"] for found in whole["findings"]}
    assert run("audit", folder, "--site", "nobody.test").returncode == 2


class Late(dict[str, str | bytes]):
    """A site that takes 10 ms for every answer."""

    def get(self, key: str, default: Any = None) -> Any:
        """What is there, later."""
        time.sleep(0.01)
        return super().get(key, default)


@pytest.mark.proof
def test_slow_pages_are_found_and_an_empty_sitemap_misses_every_page(run: Run, web: ScriptedWeb) -> None:
    """Slow by the bound that was asked for; a sitemap is there, and so nothing of it is called good."""
    web.said = Late(web.said | {f"{HOME}/sitemap.xml": urlset()})
    audit = json.loads(run(*typed(web, "--json", "--slow", "0.001", "--examples", "2")).stdout)
    found = {each["name"]: (each["count"], each["of"], len(each["examples"])) for each in audit["findings"]}
    assert found["slow-pages"] == (13, 13, 2)
    assert found["pages-unlisted"] == (13, 13, 2)
    assert says(audit)["clean"] == ("unknown", "No sitemap that was read lists a page")


def test_what_cannot_be_failed_on_is_refused(run: Run, web: ScriptedWeb) -> None:
    """Before anything is fetched, with what was likely meant."""
    said = run(*typed(web, "--fail-on", "orphan"))
    assert said.returncode == 2
    assert "did you mean orphans" in said.stderr
    assert web.asked == []


@pytest.mark.proof
def test_a_site_without_pages_ends_with_1(run: Run, web: ScriptedWeb) -> None:
    """Whether its URLs are missing, or robots.txt forbids them all, at the cost of that file; the message says why."""
    web.said = {}
    said = run(*typed(web, "--json"))
    assert said.returncode == 1
    assert {mark["verdict"] for mark in json.loads(said.stdout)["marks"]} == {"unknown"}
    assert "error: site.test: no page could be read (404)" in said.stderr
    web.said = {f"{HOME}/robots.txt": "User-agent: *\nDisallow: /\n"}
    closed = run(*typed(web, "--json"))
    audit = json.loads(closed.stdout)
    assert [found["name"] for found in audit["findings"]] == ["robots-closed"]
    assert (audit["cost"]["requests"], audit["cost"]["bytes"], audit["cost"]["visits"]) == (1, 26, 0)
    assert closed.returncode == 1
    assert "no page could be read" in closed.stderr


@pytest.mark.proof
def test_a_server_that_does_not_listen_ends_with_1(run: Run) -> None:
    """The message says why."""
    args = ("audit", "http://127.0.0.1:9/", "--delay", "0", "--allow-private", "127.0.0.1:9", "--for", "1s")
    said = run(*args)
    assert said.returncode == 1
    assert "no page could be read (connect-refused)" in said.stderr


def says(audit: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The verdict on each area, and the sentence."""
    return {mark["area"]: (mark["verdict"], mark["says"]) for mark in audit["marks"]}


def test_a_sitemap_that_was_not_asked_for_is_not_said_to_be_missing(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """Of a crawl without sitemaps nothing is claimed of them, and nothing fails for it."""
    folder = str(tmp_path / "c")
    run("crawl", HOME, "-o", folder, "--proxy", web.base, "--delay", "0", "--no-sitemaps", "--workers", "1")
    said = run("audit", folder, "--json", "--fail-on", "notice")
    audit = json.loads(said.stdout)
    assert said.returncode == 0
    assert audit["findings"] == []
    assert "did not ask for" in audit["unjudged"]["no-sitemap"]
    assert {says(audit)[area] for area in ("complete", "clean", "lastmod", "hints")} == {
        ("unknown", "Sitemaps were not read")
    }


@pytest.mark.proof
def test_a_url_in_two_files_is_one_listed_page(run: Run, web: ScriptedWeb) -> None:
    """Counts of lastmod and of listed URLs are of the same: URLs of the site, each once, however it is written."""
    listed = [f"{HOME}/{name}" for name in ("", *NAMES)]
    web.said[f"{HOME}/sitemap.xml"] = sitemap_index(f"{HOME}/one.xml", f"{HOME}/two.xml")
    web.said[f"{HOME}/one.xml"] = urlset(*listed)
    again = [f"{url.replace('site.test', 'SITE.test:80')} 2026-01-02" for url in listed[:3]]
    web.said[f"{HOME}/two.xml"] = urlset(*again, *(f"http://other.test/{number}" for number in range(9)))
    audit = json.loads(run(*typed(web, "--json")).stdout)
    found = {each["name"]: (each["count"], each["of"]) for each in audit["findings"]}
    assert (audit["listed"], found["lastmod-missing"]) == (13, (10, 13))
    assert (audit["dates"]["entries"], audit["dates"]["dated"]) == (13, 3)


@pytest.mark.slow
def test_a_dead_sitemap_that_robots_txt_no_longer_names(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """After its owner removed the line, as advised, the finding is that there is no sitemap.

    A site that stopped answering ends with 1: earlier answers in a collection do not count as an answer now.
    """
    del web.said[f"{HOME}/sitemap.xml"]
    before = json.loads(run(*typed(web, "-o", str(tmp_path / "c"), "--json")).stdout)
    assert "sitemap-errors" in {found["name"] for found in before["findings"]}
    web.said[f"{HOME}/robots.txt"] = "User-agent: *\nDisallow: /private/\n"
    after = json.loads(run(*typed(web, "-o", str(tmp_path / "c"), "--json")).stdout)
    names = {found["name"] for found in after["findings"]}
    assert names == {"no-sitemap"}
    assert after["unjudged"] == {}
    web.failing = set(web.said)
    said = run(*typed(web, "-o", str(tmp_path / "c"), "--for", "1s", "--json"))
    assert said.returncode == 1
    assert "error: site.test" in said.stderr
