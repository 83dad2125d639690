"""`periplus cluster resize`: without a crawl, and in the middle of a crawl that runs."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.scripted_web import ScriptedWeb, page
from tests.system.typed import Run, running, wait_until

from periplus.collection.collection import tally_of
from periplus.collection.config.settings import Config
from periplus.collection.resizing import request
from periplus.engine.router import owner_of
from periplus.model import Site
from periplus.store import DiskState
from periplus.store.layout import Layout

HOSTS = [f"http://site{number}.test" for number in range(4)]
PAGES = 5


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    """Four sites of six pages each, all linked from each home page."""
    said: dict[str, str | bytes] = {
        f"{host}/p{n}": page(f"page {n} of {host}", f"{HOSTS[n % 4]}/") for host in HOSTS for n in range(PAGES)
    }
    for host in HOSTS:
        said[f"{host}/"] = page(f"home of {host}", *(f"{host}/p{n}" for n in range(PAGES)))
    with ScriptedWeb(said) as web:
        yield web


def arguments(web: ScriptedWeb, folder: Path, **settings: object) -> list[str]:
    asked = {**web.settings, "crawl.workers": 2, "sitemaps.follow": False, **settings}
    path = folder.with_suffix(".toml")
    path.write_text(Config().with_options(asked).dump())
    return ["crawl", *[f"{host}/" for host in HOSTS], "-o", str(folder), "--config", str(path)]


def check_places(folder: Path, shards: int) -> None:
    layout = Layout(folder)
    assert layout.shards == shards
    assert Config.load(layout.settings).crawl.workers == shards
    for number in range(shards):
        state = DiskState.read_only(layout.shard(number))
        assert {owner_of(each.site, shards) for each in state.sites} <= {number}
        state.close()


def fetched_once(web: ScriptedWeb) -> None:
    asked = Counter(url for url in web.asked if not url.endswith("/robots.txt"))
    assert set(asked) == {url for url in web.said if not url.endswith("/robots.txt")}
    assert max(asked.values()) == 1


def test_a_collection_that_is_not_in_use(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """It is done at once, told in figures, and the crawl goes on with as many; nothing is fetched again."""
    folder = tmp_path / "docs"
    assert run(*arguments(web, folder, **{"crawl.limit": 10, "crawl.workers": 1})).returncode == 0
    ended = run("crawl", "-o", str(folder), "--workers", "2")
    assert ended.returncode == 2
    assert f"periplus cluster resize {folder} 2" in ended.stderr
    done = run("cluster", "resize", str(folder), "2", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    moved = [host for host in HOSTS if owner_of(site(host), 2) != owner_of(site(host), 1)]
    assert (told["before"], told["after"], told["by"]) == (1, 2, "command")
    assert (told["sites"], told["urls"] >= len(moved)) == (len(moved), True)
    check_places(folder, 2)
    again = run("cluster", "resize", str(folder), "2")
    assert again.stdout.startswith("there are 2 shards already")
    assert run("cluster", "resize", str(folder), "1").stdout.startswith("from 2 to 1 shard: ")
    assert run("crawl", "-o", str(folder), "--limit", "1000").returncode == 0
    check_places(folder, 1)
    fetched_once(web)
    assert tally_of(Layout(folder)).pages == len(HOSTS) * (PAGES + 1)


def site(host: str) -> Site:
    return Site(host.removeprefix("http://"))


class Endless(dict[str, str | bytes]):
    """Sites on which each page links to the next, until they are finished."""

    is_finished = False

    def get(self, key: str, default: Any = None) -> Any:
        """A page of any number; it is remembered."""
        host, _, number = key.rpartition("/p")
        if number.isdigit() and key not in self:
            more = () if self.is_finished else (f"{host}/p{int(number) + 1}",)
            self[key] = page(f"page {number} of {host}", *more)
        return super().get(key, default)


@pytest.mark.proof
def test_a_crawl_that_runs(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """It stops, moves sites, and goes on to its end; the asking command reports it."""
    folder = tmp_path / "docs"
    web.said = endless = Endless({f"{host}/": page(f"home of {host}", f"{host}/p0") for host in HOSTS})
    with running(*arguments(web, folder, **{"politeness.delay": 0.05}), "--json") as crawl:
        wait_until(lambda: len(web.asked) > 20, crawl)
        done = run("cluster", "resize", str(folder), "3", "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["by"] == "crawl"
        before = len(web.asked)
        check_places(folder, 3)
        wait_until(lambda: len(web.asked) > before, crawl)
        endless.is_finished = True
        said, spoke = crawl.communicate(timeout=600)
    assert crawl.returncode == 0, spoke
    summary = json.loads(said)
    assert (summary["ended"], summary["workers"]) == ("complete", 3)
    assert summary["pages"] == summary["this_run"]["pages"] == len(web.said)
    assert "from 2 to 3 shards" in spoke
    fetched_once(web)


@pytest.mark.slow
def test_a_watch_that_runs(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """It comes back to pages before and after."""
    folder = tmp_path / "docs"
    assert run(*arguments(web, folder, **{"refresh.shortest": 0.2, "crawl.workers": 1})).returncode == 0
    web.asked.clear()
    with running("watch", str(folder), "--budget", "100,000,000/day") as watch:
        wait_until(lambda: len(web.asked) > 20, watch)
        assert run("cluster", "resize", str(folder), "2").returncode == 0
        check_places(folder, 2)
        before = len(web.asked)
        wait_until(lambda: len(web.asked) > before + 20, watch)
        watch.send_signal(signal.SIGINT)
        watch.communicate(timeout=600)
    assert watch.returncode == 130


@pytest.mark.slow
def test_who_is_asked_and_does_not_come_round_to_it(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """The request stays, for the next crawl, which does it first."""
    folder = tmp_path / "docs"
    assert run(*arguments(web, folder, **{"crawl.limit": 10, "crawl.workers": 1})).returncode == 0
    request(Layout(folder), 2)
    assert run("crawl", "-o", str(folder), "--limit", "1000").returncode == 0
    check_places(folder, 2)
    assert not Layout(folder).resize_request.exists()
    fetched_once(web)
