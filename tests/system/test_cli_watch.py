"""`periplus watch` over real HTTP: comes back, finds what changed, survives a restart; and what `info` then says."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.lab.scripted_web import ScriptedWeb, page, urlset
from tests.system.typed import Run, Said, running, wait_until

import periplus
from periplus.collection.config.settings import Config
from periplus.engine.revisit.records import RevisitState
from periplus.model import CollectionInUse
from periplus.store import DiskState, KnownRanks
from periplus.store.layout import Layout

HOME = "http://site.test"
PAGES = 6
DIFFERENT = ("anchor", "bow", "cable", "deck", "ebb", "fathom")
"""A word for each page: what all pages gain alike is not a change of any of them."""
LONG_AGO = "2020-01-01T00:00:00Z"


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    """A site of six pages, with a sitemap."""
    said: dict[str, str | bytes] = {f"{HOME}/p{n}": page(f"page {n}") for n in range(PAGES)}
    said[f"{HOME}/"] = page("home", *(f"/p{n}" for n in range(PAGES)))
    said[f"{HOME}/robots.txt"] = f"Sitemap: {HOME}/s.xml"
    said[f"{HOME}/s.xml"] = urlset(*(f"{HOME}/p{n} {LONG_AGO}" for n in range(PAGES)))
    with ScriptedWeb(said) as web:
        yield web


def begin(run: Run, web: ScriptedWeb, folder: Path, **settings: object) -> None:
    """A collection of all pages, whose settings let a watch come back at once."""
    folder.mkdir()
    quick = {"refresh.shortest": 0.2, "churn.instant": 0.0}  # what differs a second later is not noise here
    asked = web.settings | quick | {"crawl.limit": PAGES + 1, "crawl.workers": 1} | settings
    (folder.parent / "asked.toml").write_text(Config().with_options(asked).dump())
    ended = run("crawl", f"{HOME}/", "-o", str(folder), "--config", str(folder.parent / "asked.toml"))
    assert ended.returncode == 0, ended.stderr
    web.asked.clear()


def lines(said: Said) -> list[dict[str, Any]]:
    assert said.returncode == 0, said.stderr
    return [json.loads(line) for line in said.stdout.splitlines()]


def plenty(folder: Path) -> tuple[str, ...]:
    """A watch with more budget than it can spend."""
    return "watch", str(folder), "--budget", "100,000,000/day", "--json"


def watched(folder: Path, is_enough: Callable[[], bool]) -> list[dict[str, Any]]:
    """The lines of a watch that was stopped with Ctrl-C as soon as enough had happened."""
    with running(*plenty(folder)) as process:
        wait_until(is_enough, process)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=600)
    assert process.returncode == 130
    return [json.loads(line) for line in said.splitlines()]


@pytest.mark.proof
def test_a_watch_comes_back_and_finds_what_changed(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """Whatever limit of pages the crawl had. Ctrl-C keeps everything: the next watch knows what the first learnt."""
    folder = tmp_path / "site"
    begin(run, web, folder)
    for n in range(4):
        web.said[f"{HOME}/p{n}"] = page(f"page {n} again")
    first = watched(folder, lambda: len(web.asked) > 2 * (PAGES + 1))
    last = first[-1]
    assert [line["ended"] for line in first] == [""] * (len(first) - 1) + ["interrupted"]
    assert last["pages"] == PAGES + 1
    assert last["changed"] == 4
    assert last["visits"] == last["changed"] + last["same"] >= PAGES
    assert last["needless"] == pytest.approx(last["same"] / last["visits"], abs=1e-4)
    assert 0.0 <= last["fresh_low"] <= last["fresh"] <= last["fresh_high"] <= 1.0
    assert last["budget"] == 1e8
    assert 0 < len(last["next_visits"]) <= 5
    assert all(visit["why"] for visit in last["next_visits"])

    config = Config.load(folder / "periplus.toml")
    assert config.watch.visits_a_day == 10**8
    assert (config.crawl.limit, config.crawl.duration) == (PAGES + 1, 0.0)

    again = run("watch", str(folder), "--for", "500ms")
    assert again.returncode == 0
    assert again.stdout.startswith("done: the time is over")
    assert f"of {PAGES + 1} pages" in again.stdout
    assert f"periplus changes {folder}" in again.stdout
    told = " ".join(run("info", str(folder), f"{HOME}/p1").stdout.split())
    for words in ("as it seems from one change in", "likely: last seen", "next visit due "):
        assert words in told


def check_not_watched(run: Run, folder: Path) -> None:
    """`info` says what to type, and claims no visit."""
    said = run("info", str(folder), f"{HOME}/p1").stdout
    assert "none is planned: periplus watch" in " ".join(said.split())
    facts = json.loads(run("info", str(folder), f"{HOME}/p1", "--json").stdout)["freshness"]
    assert (facts["next"], facts["is_watched"], facts["visits"]) == (None, False, 0)


@pytest.mark.proof
def test_a_budget_is_not_overspent(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """At most this many visits a day of all sites, or of one; both are saved, and nothing else is."""
    folder = tmp_path / "site"
    begin(run, web, folder)
    [*_, last] = lines(run("watch", str(folder), "--budget", "86400", "--for", "500ms", "--json"))
    assert last["fetches"] <= 2 + last["seconds"]
    assert last["ended"] == "time"
    plenty = ("--budget", str(10**8))
    [*_, last] = lines(run("watch", str(folder), *plenty, "--per-site", "1440", "--for", "500ms", "--json"))
    assert last["fetches"] <= 1
    kept = Config.load(folder / "periplus.toml")
    assert (kept.watch.per_site, kept.politeness.delay) == (1440, 0.0)
    assert " fresh " in " ".join(run("info", str(folder), "--all").stdout.split())
    facts = json.loads(run("info", str(folder), "--json").stdout)["freshness"]
    assert facts["pages"] == PAGES + 1
    assert (0.0 < facts["fresh"] <= 1.0) if facts["checked"] else facts["fresh"] is None


@pytest.mark.proof
def test_pages_are_weighed_by_rank_and_by_pattern(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """What weighs nothing is not asked for again; ranks are computed from the links of the collection."""
    folder = tmp_path / "site"
    begin(run, web, folder, **{"refresh.weight": "pagerank", "refresh.weights": {"/p1": 0.0, "/p2": 3.0}})
    watched(folder, lambda: len(web.asked) > 2 * (PAGES + 1))
    assert f"{HOME}/p2" in web.asked
    assert f"{HOME}/p1" not in web.asked
    assert len(KnownRanks.load(folder / "state" / "ranks-weight-pagerank.npy")) >= PAGES
    state = DiskState.read_only(folder / "state" / "shard-00")
    revisits = state.meta(RevisitState)
    assert revisits is not None
    assert revisits.mean_weight not in (0.0, 1.0)
    state.close()
    assert "it weighs nothing" in " ".join(run("info", str(folder), f"{HOME}/p1").stdout.split())


def found(folder: Path, words: str) -> list[str]:
    """The URLs that a search finds."""
    return [hit.url for hit in periplus.open(folder).search(words)]


@pytest.mark.proof
def test_what_a_watch_finds_is_searchable_when_it_ends(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """In a collection that has an index; no other gets one."""
    folder = tmp_path / "site"
    begin(run, web, folder)
    assert run("watch", str(folder), "--for", "200ms").returncode == 0
    assert not Layout(folder).search.exists()
    periplus.open(folder).index()
    web.said[f"{HOME}/p1"] = page("moved into a lighthouse")
    watched(folder, lambda: web.asked.count(f"{HOME}/p1") > 1)
    assert found(folder, "lighthouse") == [f"{HOME}/p1"]


@pytest.mark.slow
def test_what_a_watch_finds_is_searchable_while_it_runs(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """Within some looks at the tables; and the process that looks ends with a watch that is killed."""
    folder = tmp_path / "site"
    begin(run, web, folder)
    periplus.open(folder).index()
    with running(*plenty(folder)) as process:
        web.said[f"{HOME}/p1"] = page("moved into a lighthouse")
        wait_until(lambda: found(folder, "lighthouse") == [f"{HOME}/p1"], process)
        process.kill()
        process.communicate()
    for _ in range(600):
        with suppress(CollectionInUse):
            assert periplus.open(folder).index().total == PAGES + 1
            return
        time.sleep(0.1)
    pytest.fail("a process still follows the index of a watch that is over")


@pytest.mark.proof
def test_a_kill_loses_nothing_that_was_learnt(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """The watch goes on: with every page, whether it slept, waited or was being visited. Nothing was committed here."""
    folder = tmp_path / "site"
    begin(run, web, folder, **{"engine.checkpoint_interval": 1000.0})
    for n in range(PAGES):
        web.said[f"{HOME}/p{n}"] = page(f"page {n} again {DIFFERENT[n]}")
    with running(*plenty(folder)) as process:
        wait_until(lambda: all(web.asked.count(f"{HOME}/p{n}") > 1 for n in range(PAGES)), process)
        os.killpg(process.pid, signal.SIGKILL)
    for n in range(PAGES):
        web.said[f"{HOME}/p{n}"] = page(f"page {n} and again {DIFFERENT[-1 - n]}")
    web.asked.clear()
    last = watched(folder, lambda: all(web.asked.count(f"{HOME}/p{n}") > 1 for n in range(PAGES)))[-1]
    assert last["pages"] == PAGES + 1
    found = lines(run("changes", str(folder), "--since", "1h", "--json"))
    assert Counter(each["url"] for each in found if each["kind"] == "changed") == {
        f"{HOME}/p{n}": 2 for n in range(PAGES)
    }


def test_what_cannot_be_watched_says_what_to_type(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """No collection, one without a page, another number of workers, an unknown objective, a budget that is none."""
    nowhere = run("watch", str(tmp_path / "nowhere"))
    assert nowhere.returncode == 2
    assert "periplus crawl SEED -o" in nowhere.stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "periplus.toml").write_text(f'[crawl]\nseeds = ["{HOME}/"]\n')
    none = run("watch", str(empty))
    assert none.returncode == 2
    assert f"periplus crawl -o {empty}" in none.stderr
    folder = tmp_path / "site"
    begin(run, web, folder)
    check_not_watched(run, folder)
    for wrong, words in (
        (("--workers", "3"), "--workers 1"),
        (("--objective", "binery"), "binary"),
        (("--budget", "lots"), "10000/day"),
        (("--for", "long"), "1h30m"),
    ):
        said = run("watch", str(folder), *wrong)
        assert said.returncode == 2
        assert words in said.stderr
    assert web.asked == []


@pytest.mark.slow
def test_shards_watch_together(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """Two processes, one collection: both are told as one."""
    other = "http://second.test"
    web.said |= {f"{other}/": page("second", f"{HOME}/"), f"{HOME}/": page("home", "/p1", f"{other}/")}
    folder = tmp_path / "site"
    begin(run, web, folder, **{"scope.kind": "any", "crawl.workers": 2, "crawl.limit": 0})
    last = watched(folder, lambda: {f"{HOME}/", f"{other}/"} <= set(web.asked))[-1]
    assert last["pages"] == PAGES + 2
    assert last["visits"] > 0
