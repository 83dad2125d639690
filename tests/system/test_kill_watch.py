"""A watch is killed while visits are due, and an index while it follows one: afterwards nothing differs."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.scripted_web import ScriptedWeb, page
from tests.system.typed import Run, running, wait_until

import periplus
from periplus.apps.search import Index
from periplus.apps.search.indexing import current_generation
from periplus.collection.collection import existing, states
from periplus.collection.config.settings import Config
from periplus.collection.inspecting import inspect
from periplus.model import Url
from periplus.store.warc import WarcRecord, read_records

HOME = "http://site.test"
PAGES = 12
PLENTY = ("--budget", "100,000,000/day", "--json")


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    """A site of a dozen pages, which answers in full each time."""
    said: dict[str, str | bytes] = {f"{HOME}/p{n}": page(f"page {n} version 0") for n in range(PAGES)}
    said[f"{HOME}/"] = page("home", *(f"/p{n}" for n in range(PAGES)))
    with ScriptedWeb(said, knows_etags=False) as web:
        yield web


def begin(run: Run, web: ScriptedWeb, folder: Path) -> None:
    """A collection of all pages, of which visits are due all the time."""
    folder.mkdir()
    quick = {"refresh.shortest": 0.2, "churn.instant": 0.0, "crawl.workers": 1, "crawl.limit": PAGES + 1}
    (folder.parent / "asked.toml").write_text(Config().with_options(web.settings | quick).dump())
    ended = run("crawl", f"{HOME}/", "-o", str(folder), "--config", str(folder.parent / "asked.toml"))
    assert ended.returncode == 0, ended.stderr


def kill(process: subprocess.Popen[str]) -> None:
    """End a program with all that it has started, at once."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=600)


def change(web: ScriptedWeb, chance: random.Random, number: int) -> None:
    """A few pages get another version."""
    for n in chance.sample(range(PAGES), 3):
        web.said[f"{HOME}/p{n}"] = page(f"page {n} version {number}")


def watch_to_the_end(web: ScriptedWeb, folder: Path) -> None:
    """Watch until each page was visited twice, and stop with Ctrl-C."""
    web.asked.clear()
    with running("watch", str(folder), *PLENTY) as process:
        wait_until(lambda: all(web.asked.count(url) > 1 for url in web.said if url != f"{HOME}/robots.txt"), process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=600)
    assert process.returncode == 130


def check_agreement(folder: Path, web: ScriptedWeb) -> None:
    """State, tables and archive tell of the same visits, and the last version of each page is that of the site."""
    collection = existing(folder)
    assert inspect(collection.layout, 1).damaged == ()
    opened = periplus.open(folder)
    titles = dict(opened.query("select url, last(title order by read_at) from pages group by url").fetchall())
    assert titles == {url: str(body).partition("<title>")[2].partition("<")[0] for url, body in web.said.items()}
    fetches = opened.query(
        "select url, warc_file, warc_offset, purpose from fetches where warc_file is not null"
    ).fetchall()
    places = Counter((file, offset) for _, file, offset, _ in fetches)
    assert max(places.values()) == 1
    archived = {
        (path.name, record.offset)
        for path in (folder / "warc").glob("*.warc.gz")
        for record in read_records(path)
        if isinstance(record, WarcRecord) and record.type in ("response", "revisit")
    }
    assert set(places) == archived
    visits = Counter(url for url, _, _, purpose in fetches if purpose == "page")
    changes = dict(opened.query("select url, count(*) from changes where is_change group by url").fetchall())
    with states(collection.layout) as opened_states:
        records = opened_states[0].records.get([Url(url) for url in web.said])
    found = {record.url: (record.visits, record.changes) for record in records if record is not None}
    assert found == {url: (visits[url], changes.get(url, 0)) for url in web.said}


def kill_watch(run: Run, web: ScriptedWeb, folder: Path, kills: int) -> None:
    begin(run, web, folder)
    web.asked.clear()
    chance = random.Random(33)
    asked = Counter[str]()
    for number in range(1, kills + 1):
        change(web, chance, number)
        before = len(web.asked)
        enough = chance.randrange(1, 3 * PAGES)
        with running("watch", str(folder), *PLENTY) as process:
            wait_until(lambda least=before + enough: len(web.asked) >= least, process)  # type: ignore[misc]
            kill(process)
    asked.update(url for url in web.asked if url in web.said)
    rows = "select url, count(*) from fetches where purpose = 'page' and warc_file is not null group by url"
    watch_to_the_end(web, folder)
    asked.update(url for url in web.asked if url in web.said)
    kept = dict(periplus.open(folder).query(rows).fetchall())
    lost = {url: count + 1 - kept[url] for url, count in asked.items()}  # one visit is that of the crawl
    assert all(0 <= count <= kills for count in lost.values())
    assert sum(lost.values()) <= kills, "a kill costs at most the request that was under way"
    check_agreement(folder, web)


@pytest.mark.proof
def test_a_watch_is_killed_twice_with_visits_due(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    kill_watch(run, web, tmp_path / "site", 2)


@pytest.mark.slow
def test_a_watch_is_killed_twenty_times_with_visits_due(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    kill_watch(run, web, tmp_path / "site", 20)


def indexed(folder: Path) -> list[tuple[str, str, str]]:
    """What is in the index of a collection."""
    found = current_generation(existing(folder).layout)
    assert found is not None
    with Index.open(found) as index:
        return sorted((document.url, document.title, document.text) for document in index.documents())


def kill_index(run: Run, web: ScriptedWeb, folder: Path, kills: int) -> None:
    begin(run, web, folder)
    chance = random.Random(34)
    in_update = 0
    with running("watch", str(folder), *PLENTY) as crawl:
        for number in range(1, kills + 1):
            change(web, chance, number)
            with running("index", str(folder), "--follow", "--json") as process:
                time.sleep(chance.uniform(0.2, 3.0))
                os.killpg(process.pid, signal.SIGKILL)
                printed, _ = process.communicate(timeout=600)
            in_update += not printed
            assert crawl.poll() is None
        crawl.send_signal(signal.SIGINT)
        crawl.communicate(timeout=600)
    assert in_update, "some kills must hit an update"
    watch_to_the_end(web, folder)
    ended = run("index", str(folder), "--json")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["total"] == PAGES + 1
    after_kills = indexed(folder)
    assert run("index", str(folder), "--rebuild").returncode == 0
    assert indexed(folder) == after_kills
    check_agreement(folder, web)


@pytest.mark.proof
def test_an_index_is_killed_twice_beside_a_watch(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    kill_index(run, web, tmp_path / "site", 2)


@pytest.mark.slow
def test_an_index_is_killed_ten_times_beside_a_watch(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    kill_index(run, web, tmp_path / "site", 10)
