"""`periplus watch --cluster`: actors come back to pages as processes do, also after one of them was killed."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.scripted_web import ScriptedWeb, page, urlset
from tests.system.raylets import Raylets, raylets
from tests.system.typed import Run, running, wait_until

from periplus.collection.config.settings import Config
from periplus.engine.router import owner_of
from periplus.model import Site

pytest.importorskip("ray", reason="the cluster is an extra: pip install periplus-ray")

SITES, PAGES, SHARDS = 6, 5, 2
PATIENCE = 600.0
LONG_AGO = "2020-01-01T00:00:00Z"


@pytest.fixture
def cluster() -> Iterator[Raylets]:
    """Two nodes with a processor each."""
    with raylets(SHARDS, 1, Path(f"/tmp/periplus-rayw-{os.getpid()}")) as found:  # a short name: sockets lie there
        yield found


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    """Six sites of five pages and a home page each, with sitemaps."""
    said: dict[str, str | bytes] = {}
    for home in homes():
        said |= {f"{home}/p{n}": page(f"page {n} of {home}") for n in range(PAGES)}
        said[f"{home}/"] = page(f"home of {home}", *(f"/p{n}" for n in range(PAGES)))
        said[f"{home}/robots.txt"] = f"Sitemap: {home}/s.xml"
        said[f"{home}/s.xml"] = urlset(*(f"{home}/p{n} {LONG_AGO}" for n in range(PAGES)))
    with ScriptedWeb(said) as web:
        yield web


def homes() -> list[str]:
    return [f"http://site{number}.test" for number in range(SITES)]


def begin(run: Run, web: ScriptedWeb, folder: Path) -> None:
    """A collection of all pages, made by this machine alone, whose settings let a watch come back at once."""
    folder.mkdir()
    quick = {"refresh.shortest": 0.2, "churn.instant": 0.0, "crawl.workers": SHARDS, "cluster.lease": 4.0}
    (folder.parent / "asked.toml").write_text(Config().with_options(web.settings | quick).dump())
    seeds = [f"{home}/" for home in homes()]
    ended = run("crawl", *seeds, "-o", str(folder), "--config", str(folder.parent / "asked.toml"))
    assert ended.returncode == 0, ended.stderr
    web.asked.clear()


def change(web: ScriptedWeb, word: str) -> list[str]:
    """One page of each site says something else; which."""
    changed = [f"{home}/p1" for home in homes()]
    web.said |= {url: page(f"page 1 of {url} {word}") for url in changed}
    web.asked.clear()
    return changed


def were_asked(web: ScriptedWeb, urls: list[str]) -> bool:
    """Whether all were asked, and what they said was heard: who asks again has heard the answer before."""
    asked = Counter(web.asked)
    return all(asked[url] > 1 for url in urls)


@pytest.mark.slow
def test_actors_watch_and_one_is_killed(run: Run, web: ScriptedWeb, cluster: Raylets, tmp_path: Path) -> None:
    """What changed before and after is found by both shards; this machine alone goes on with what they learnt."""
    assert {owner_of(Site(home.removeprefix("http://")), SHARDS) for home in homes()} == {0, 1}
    folder = tmp_path / "sites"
    begin(run, web, folder)
    first = change(web, "again")
    with running(
        "watch", str(folder), "--cluster", cluster.address, "--budget", "100,000,000/day", "--json"
    ) as process:
        wait_until(lambda: were_asked(web, first), process, PATIENCE)
        os.kill(cluster.actors("ShardActor")[0], signal.SIGKILL)
        wait_until(lambda: len(cluster.actors("ShardActor")) == SHARDS, process, PATIENCE)
        again = change(web, "and again")
        wait_until(lambda: were_asked(web, again), process, PATIENCE)
        process.send_signal(signal.SIGINT)
        said, complaints = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, complaints
    last: dict[str, Any] = json.loads(said.splitlines()[-1])
    assert (last["ended"], last["pages"], last["budget"]) == ("interrupted", SITES * (PAGES + 1), 1e8)
    assert last["changed"] == 2 * SITES
    assert 0.0 <= last["fresh_low"] <= last["fresh"] <= last["fresh_high"] <= 1.0
    assert {owner_of(Site(visit["url"].split("/")[2]), SHARDS) for visit in last["next_visits"]} <= {0, 1}
    ended = run("watch", str(folder), "--for", "1s")
    assert ended.returncode == 0, ended.stderr
    assert f"of {SITES * (PAGES + 1)} pages" in ended.stdout
