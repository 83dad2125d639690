"""`periplus refresh` over real HTTP: which pages it asks, with which condition, and what it reports."""

from __future__ import annotations

import json
import os
import shlex
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.scripted_web import ScriptedWeb, page
from tests.system.typed import Run, Said, running, wait_until

from periplus.apps.changes.refreshing import RefreshSelection, begin_refresh, refresh, unfinished
from periplus.collection.config.settings import Config
from periplus.model import Url
from periplus.store.layout import Layout

HOME, OTHER = "http://site.test", "http://docs.other.test"
PAGES = 6


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    """Two sites: one of seven pages, which links to one of two pages."""
    said: dict[str, str | bytes] = {f"{HOME}/p{n}": page(f"page {n}") for n in range(PAGES)}
    said[f"{HOME}/"] = page("home", *(f"/p{n}" for n in range(PAGES)))
    said[f"{OTHER}/"] = page("other home", "/about")
    said[f"{OTHER}/about"] = page("about the other")
    with ScriptedWeb(said) as web:
        yield web


def begin(run: Run, web: ScriptedWeb, folder: Path, **settings: object) -> None:
    """A collection of both sites; what is edited right after the crawl is a change."""
    folder.mkdir()
    asked = web.settings | {"crawl.workers": 1, "sitemaps.follow": False} | settings
    (folder.parent / "asked.toml").write_text(Config().with_options(asked).dump())
    seeds = (f"{HOME}/", f"{OTHER}/")
    ended = run("crawl", *seeds, "-o", str(folder), "--config", str(folder.parent / "asked.toml"))
    assert ended.returncode == 0, ended.stderr
    web.asked.clear()
    web.same.clear()


def set_delay(folder: Path, seconds: float) -> None:
    """A long delay leaves time to disturb a refresh."""
    settings = folder / "periplus.toml"
    settings.write_text(Config.load(settings).with_options({"politeness.delay": seconds}).dump())


def result(said: Said) -> dict[str, Any]:
    assert said.returncode == 0, said.stderr
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def asked_pages(web: ScriptedWeb) -> Counter[str]:
    return Counter(url for url in web.asked if not url.endswith("/robots.txt"))


def change(web: ScriptedWeb) -> None:
    """Two pages are rewritten, one of which links to a new one; one page is removed."""
    web.said[f"{HOME}/"] = page("home", *(f"/p{n}" for n in range(PAGES)), "/new")
    web.said[f"{HOME}/p1"] = page("page 1, written again")
    web.said[f"{HOME}/new"] = page("a new page")
    del web.said[f"{HOME}/p2"]


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_page_is_asked_once_and_what_changed_is_reported(
    run: Run, web: ScriptedWeb, tmp_path: Path, workers: int
) -> None:
    folder = tmp_path / "site"
    begin(run, web, folder, **{"crawl.workers": workers})
    change(web)
    found = result(run("refresh", str(folder), "--json"))
    counts = [found[name] for name in ("ended", "asked", "new", "changed", "same", "gone", "failed")]
    assert counts == ["complete", PAGES + 3, 1, 2, PAGES, 1, 0]
    assert sorted(found["changed_urls"]) == [f"{HOME}/", f"{HOME}/p1"]
    assert found["gone_urls"] == [f"{HOME}/p2"]
    assert found["new_urls"] == [f"{HOME}/new"]
    asked = asked_pages(web)
    assert set(asked.values()) == {1}
    assert len(asked) == PAGES + 3 + 1
    assert len(web.same) == PAGES  # all but the changed, the removed and the new were answered 304
    assert unfinished(Layout(folder)) is None

    web.asked.clear()
    said = run("refresh", str(folder))
    assert said.returncode == 0
    assert said.stdout.startswith("done, in ")
    assert f"{PAGES + 3} pages: 0 changed, {PAGES + 3} same, 0 gone; 0 new" in said.stdout
    assert "periplus refresh" in said.stderr


def test_the_next_command_shows_all_that_was_found(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """What changed and what is gone was found by the run before that which fetched the new page."""
    folder = tmp_path / "site"
    begin(run, web, folder)
    change(web)
    said = run("refresh", str(folder))
    assert said.returncode == 0, said.stderr
    [command] = [line for line in said.stdout.splitlines() if line.startswith("  periplus changes")]
    typed = shlex.split(command.strip().partition("   ")[0])
    shown = run(*typed[1:], "--json")
    assert shown.returncode == 0, shown.stderr
    lines = [json.loads(line) for line in shown.stdout.splitlines()]
    assert sorted((line["kind"], line["url"]) for line in lines) == [
        ("appeared", f"{HOME}/new"),
        ("changed", f"{HOME}/"),
        ("changed", f"{HOME}/p1"),
        ("vanished", f"{HOME}/p2"),
    ]
    last = [json.loads(line) for line in run("changes", str(folder), "--json").stdout.splitlines()]
    assert [line for line in lines if line not in last] == []


@pytest.mark.proof
def test_robots_txt_and_sitemaps_are_read_again(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """What is disallowed now is left alone, what is listed now is fetched; files that were missing are not guessed."""
    folder, robots = tmp_path / "site", f"User-agent: *\nSitemap: {HOME}/map.xml\n"
    listing = f"<?xml version='1.0'?><urlset><url><loc>{HOME}/p0</loc></url></urlset>"
    web.said |= {f"{HOME}/robots.txt": robots, f"{HOME}/map.xml": listing}
    begin(run, web, folder, **{"sitemaps.follow": True})
    more = listing.replace("</urlset>", f"<url><loc>{HOME}/listed</loc></url></urlset>")
    web.said |= {f"{HOME}/robots.txt": f"{robots}Disallow: /p3\n", f"{HOME}/map.xml": more}
    web.said[f"{HOME}/listed"] = page("listed by the sitemap alone")
    found = result(run("refresh", str(folder), "--json"))
    assert found["new_urls"] == [f"{HOME}/listed"]
    asked = Counter(web.asked)
    assert (asked[f"{HOME}/map.xml"], asked[f"{HOME}/p3"], asked[f"{OTHER}/sitemap.xml"]) == (1, 0, 0)

    web.asked.clear()
    result(run("refresh", str(folder), "--no-new", "--json"))
    assert f"{HOME}/map.xml" not in web.asked


def test_urls_that_wait_for_their_first_visit_stay_in_their_queue(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """A collection with a limit of pages is refreshed, not continued; the next crawl still continues it."""
    folder = tmp_path / "site"
    begin(run, web, folder, **{"crawl.limit": 5})
    found = result(run("refresh", str(folder), "--json"))
    assert (found["asked"], found["same"], found["new"]) == (5, 5, 0)
    assert len(asked_pages(web)) == 5
    web.asked.clear()
    again = run("crawl", "-o", str(folder), "--limit", "100")
    assert again.returncode == 0, again.stderr
    assert len(asked_pages(web)) == PAGES + 3 - 5


@pytest.mark.proof
def test_a_site_and_an_age_select_pages(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    begin(run, web, folder)
    assert result(run("refresh", str(folder), "--site", "other.test", "--json"))["asked"] == 2
    assert set(asked_pages(web)) == {f"{OTHER}/", f"{OTHER}/about"}
    web.asked.clear()
    assert result(run("refresh", str(folder), "--older-than", "1h", "--json"))["asked"] == 0
    assert not web.asked
    assert result(run("refresh", str(folder), "--older-than", "0s", "--json"))["asked"] == PAGES + 3
    refused = run("refresh", str(folder), "--older-than", "soon")
    assert refused.returncode == 2
    assert "--older-than" in refused.stderr
    assert "no page to ask" in run("refresh", str(folder), "--older-than", "1h").stdout
    refused = run("refresh", str(folder), "--site", "site.tes")
    assert refused.returncode == 2
    assert "--site site.tes" in refused.stderr
    assert "no change found until" in run("changes", str(folder)).stdout


@pytest.mark.proof
def test_only_the_pages_that_are_named(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """With or without their scheme, in place of those that an interrupted refresh left; new pages wait."""
    folder = tmp_path / "site"
    begin(run, web, folder)
    change(web)
    layout = Layout(folder)
    begin_refresh(Config.load(folder / "periplus.toml"), layout, (), RefreshSelection(("site.test",)))
    found = result(run("refresh", str(folder), "site.test/p1", f"{HOME}/", "--json"))
    assert (found["asked"], found["changed_urls"], found["new"]) == (2, [f"{HOME}/", f"{HOME}/p1"], 0)
    assert set(asked_pages(web)) == {f"{HOME}/", f"{HOME}/p1"}
    found = result(run("refresh", str(folder), f"{HOME}/p2", "--new", "--json"))
    assert (found["asked"], found["gone_urls"], found["new_urls"]) == (1, [f"{HOME}/p2"], [f"{HOME}/new"])
    refused = run("refresh", str(folder), "site.test/p77")
    assert refused.returncode == 2
    assert "has no page site.test/p77" in refused.stderr


@pytest.mark.proof
def test_a_killed_refresh_continues(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """Pages that were asked before the kill are not asked again, and their changes are in the result."""
    folder = tmp_path / "site"
    begin(run, web, folder)
    set_delay(folder, 1.0)
    web.said[f"{HOME}/"] = page("home, written again", *(f"/p{n}" for n in range(PAGES)))
    with running("refresh", str(folder), "--json") as process:
        wait_until(lambda: len(asked_pages(web)) >= 2, process)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert unfinished(Layout(folder)) is not None
    set_delay(folder, 0.0)
    found = result(run("refresh", str(folder), "--json"))
    assert found["asked"] == PAGES + 3 == found["changed"] + found["same"]
    asked = asked_pages(web)
    assert len(asked) == PAGES + 3
    assert sum(asked.values()) <= PAGES + 3 + 2  # the requests that were under way at two hosts
    third = result(run("refresh", str(folder), "--site", "site.test", "--json"))
    assert (third["asked"], third["changed"]) == (PAGES + 1, 0)


@pytest.mark.proof
def test_an_interrupted_refresh_says_so(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    begin(run, web, folder)
    set_delay(folder, 1.0)
    with running("refresh", str(folder), "--json") as process:
        wait_until(lambda: len(asked_pages(web)) >= 2, process)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=600)
    assert process.returncode == 130
    found = json.loads(said)
    assert found["ended"] == "interrupted"
    assert found["failed"] > 0
    assert found["same"] >= 1


def test_a_program_refreshes_without_the_command_line(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    begin(run, web, folder)
    change(web)
    config = Config.load(folder / "periplus.toml")
    seen: list[int] = []
    seeds = [Url(f"{HOME}/"), Url(f"{OTHER}/")]
    found = refresh(
        config, folder, seeds, 1, RefreshSelection(("site.test",)), fetches_new=False,
        on_progress=lambda plan, _crawl, statuses: seen.append(plan.pages + len(statuses)),
    )  # fmt: skip
    assert (found.asked, found.new, found.gone) == (PAGES + 1, 0, 1)
    assert found.gone_urls == (f"{HOME}/p2",)
    assert seen
    assert f"{HOME}/new" not in web.asked


def test_a_page_that_fails_is_counted_as_failed(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    begin(run, web, folder)
    web.failing.add(f"{HOME}/p3")
    found = result(run("refresh", str(folder), "--json"))
    assert (found["failed"], found["gone"], found["same"]) == (1, 0, PAGES + 2)
    web.failing.clear()
    assert result(run("refresh", str(folder), "--json"))["same"] == PAGES + 3


def test_minor_changes_are_changes(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """A page of 900 words with another one is listed among those that changed, and counted as minor."""
    words = [f"word{number}" for number in range(900)]
    web.said[f"{HOME}/p0"] = f"<title>long</title><main><p>{' '.join(words)}</p></main>"
    begin(run, web, tmp_path / "kept")
    words[450] = "other"
    web.said[f"{HOME}/p0"] = f"<title>long</title><main><p>{' '.join(words)}</p></main>"
    found = result(run("refresh", str(tmp_path / "kept"), "--json"))
    assert found["changed_urls"] == [f"{HOME}/p0"]
    assert (found["changed"], found["minor"], found["template"], found["same"]) == (1, 1, 0, PAGES + 2)
