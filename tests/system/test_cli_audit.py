"""`periplus audit` as people type it: a clean site, a site with faults, the exit codes, the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.scripted_web import MovedTo, ScriptedWeb, page, urlset
from tests.system.typed import Run

HOME = "http://site.test"
NAMES = ("apples", "pears", "plums", "figs", "dates", "limes", "kiwis", "grapes", "melons", "cherries", "nuts", "rice")


def clean() -> dict[str, str | bytes]:
    """Twelve pages that all link to each other, each listed with a date of its own."""
    urls = {name: f"{HOME}/{name}" for name in NAMES}
    dated = [f"{url} 2026-0{1 + place % 9}-1{place % 10}" for place, url in enumerate(urls.values())]
    said: dict[str, str | bytes] = {
        f"{HOME}/": page("Fruit", *urls.values()),
        f"{HOME}/robots.txt": f"User-agent: *\nDisallow: /private/\n\nSitemap: {HOME}/sitemap.xml\n",
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


def test_a_clean_site_has_no_finding(run: Run, web: ScriptedWeb) -> None:
    """Nothing is found fault with that is not there: every mark is good."""
    said = run(*typed(web, "--json", "--fail-on", "notice"))
    audit: dict[str, Any] = json.loads(said.stdout)
    assert said.returncode == 0
    assert audit["findings"] == []
    assert {mark["verdict"] for mark in audit["marks"]} == {"good"}
    assert (audit["pages"], audit["listed"], audit["visited"], audit["is_whole"]) == (13, 13, 13, True)
    assert audit["cost"] == {"requests": 13, "bytes": audit["cost"]["bytes"], "pages": 13, "needless": 0, "wasted": {}}
    assert "Nothing to mend was found" in run(*typed(web)).stdout


def broken(web: ScriptedWeb) -> None:
    """A dead page that is listed and linked, a redirect, a page that nobody lists, one that nobody links to."""
    said = web.said
    first = f"{HOME}/{NAMES[0]}"
    said[first] = page("All about apples", f"{HOME}/", f"{HOME}/dead", f"{HOME}/moved", f"{HOME}/secret")
    said[f"{HOME}/moved"] = MovedTo(f"{HOME}/pears")
    said[f"{HOME}/secret"] = page("A secret")
    said[f"{HOME}/lonely"] = page("A lonely page")
    listed = [f"{HOME}/{name}" for name in ("", "dead", "moved", "lonely", "private/x", *NAMES)]
    said[f"{HOME}/sitemap.xml"] = urlset(*(f"{url} 2020-01-01T00:00:00Z" for url in listed))


def test_faults_are_told_with_their_pages_and_fail_if_asked(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """On the terminal, as JSON and as a page; the exit code is 4 for what `--fail-on` names."""
    broken(web)
    file = tmp_path / "audit.html"
    said = run(*typed(web, "--json", "--html", str(file), "--fail-on", "error", "--fail-on", "orphans,slow-pages"))
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
    text = file.read_text()
    assert all(f'id="{name}"' in text for name in told)


def test_a_collection_is_audited_without_fetching(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """And one that is continued is judged as a whole."""
    broken(web)
    folder = str(tmp_path / "c")
    assert run(*typed(web, "-o", folder, "--limit", "3", "--json")).returncode == 0
    asked = len(web.asked)
    part = json.loads(run("audit", folder, "--json").stdout)
    assert len(web.asked) == asked
    assert not part["is_whole"]
    assert "orphans" in part["unjudged"]
    whole = json.loads(run(*typed(web, "-o", folder, "--json")).stdout)
    assert whole["is_whole"]
    assert "orphans" in {found["name"] for found in whole["findings"]}
    said = run("audit", folder, "--site", "www.site.test")
    assert "→ Link them from a section" in said.stdout
    assert run("audit", folder, "--site", "nobody.test").returncode == 2


def test_slow_pages_are_found(run: Run, web: ScriptedWeb) -> None:
    """By the bound that was asked for."""
    found = json.loads(run(*typed(web, "--json", "--slow", "0.001", "--examples", "2")).stdout)["findings"]
    slow = next(each for each in found if each["name"] == "slow-pages")
    assert len(slow["examples"]) == min(2, slow["count"])
    assert slow["of"] == 13


def test_what_cannot_be_failed_on_is_refused(run: Run, web: ScriptedWeb) -> None:
    """Before anything is fetched, with what was likely meant."""
    said = run(*typed(web, "--fail-on", "orphan"))
    assert said.returncode == 2
    assert "did you mean orphans" in said.stderr
    assert web.asked == []


def test_a_site_that_is_not_there_has_nothing_to_audit(run: Run, web: ScriptedWeb) -> None:
    """The exit code says so."""
    web.said = {}
    said = run(*typed(web, "--json"))
    assert said.returncode == 1
    assert {mark["verdict"] for mark in json.loads(said.stdout)["marks"]} == {"unknown"}
