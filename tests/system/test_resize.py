"""A collection that gets another number of shards, killed at any moment, has what it had, each site in one place."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.processes import wait_until_gone
from tests.system.crawled import (
    PATIENCE,
    Asked,
    Crawled,
    _context,
    _Executioner,
    asked,
    begin,
    crawled,
    finish,
    lost,
    same,
    shards_of,
    small_world,
    tallied,
    wait_for,
)

from periplus.collection.collection import tally_of
from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl
from periplus.collection.resizing import Resized, plan_of, resize
from periplus.collection.resting import bring_to_rest
from periplus.collection.seeds import seeds_from
from periplus.collection.shards import ShardMaker
from periplus.engine.router import owner_of
from periplus.model import CollectionError, ConfigError, FirstSeen, Lane, Site, Source, Url, UrlRecord
from periplus.store import DiskState, Replica, SiteState
from periplus.store.layout import Layout
from periplus.urls import site_of
from periplus_lab.server import RunningLab, Server, SteppedClock

pytest_plugins = ["periplus_lab.pytest_plugin"]
EVERYTHING = 100_000


@pytest.fixture
def lab(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    """Some pages on nine hosts."""
    world = small_world(60)
    return start_lab(Server(world, SteppedClock(world.epoch), pace=0.01))


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Asked]:
    """Half of all pages by two shards, killed: nothing is at rest. To be copied.

    Hosts whose robots.txt is another host's are left out: the other may be known to two shards, until they are resized.
    """
    world = small_world(60)
    folder = tmp_path_factory.mktemp("half")
    with RunningLab(Server(world, SteppedClock(world.epoch), pace=0.01)) as lab:
        aliases = [f"{host}/*" for host in world.hosts if host.startswith("www.")]
        what = asked(lab, workers=2, patterns__exclude=aliases)
        half_crawled(lab, folder, what)
    return folder, what


def with_workers(what: Asked, workers: int) -> Asked:
    return Asked(what.seeds, what.options, workers)


def resize_now(folder: Path, what: Asked, shards: int) -> Resized:
    return resize(Config().with_options(what.options), folder, seeds_from(what.seeds), shards)


def resizing_life(folder: Path, what: Asked, shards: int, strike: int) -> None:
    """A resize that kills itself in front of an operation on the disk."""
    sys.setprofile(_Executioner(strike))
    resize_now(folder, what, shards)


def half_crawled(lab: RunningLab, folder: Path, what: Asked, requests: int = 60) -> None:
    """Killed in the middle: journals, spools and outboxes have something in them."""
    process = begin(folder, what)
    wait_for(requests, lab, process)
    kill(folder, process)
    wait_until_free(folder)


def kill(folder: Path, process: BaseProcess) -> None:
    pids = shards_of(folder, process)
    for pid in (process.pid, *pids):
        with suppress(ProcessLookupError):
            os.kill(pid or 0, signal.SIGKILL)
    process.join()
    wait_until_gone(pids)


def wait_until_free(folder: Path) -> None:
    """Until shards that were about to be born when they lost their coordinator have ended, too."""
    for shard in (folder / "state").glob("shard-*"):
        descriptor = os.open(shard, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.close(descriptor)


@contextmanager
def states(folder: Path) -> Iterator[dict[int, DiskState]]:
    layout = Layout(folder)
    opened = {number: DiskState.read_only(layout.shard(number), shard=number) for number in range(layout.shards)}
    yield opened
    for state in opened.values():
        state.close()


def held(folder: Path) -> dict[str, Any]:
    """What all shards together know, and each site in the shard where it belongs."""
    found: dict[str, Counter[Any]] = {}
    with states(folder) as opened:
        for number, state in opened.items():
            for name, what in told(state):
                site = what[0]
                assert owner_of(site, len(opened)) == number, (name, site)
                found.setdefault(name, Counter())[what] += 1
    return {name: dict(counted) for name, counted in found.items()}


def told(state: DiskState) -> Iterator[tuple[str, tuple[Site, Any]]]:
    for each in state.sites:
        yield "sites", (each.site, (each.pages, each.ready_at, each.files))
        yield "robots", (each.site, repr(state.robots.get(each.site)))
        for record in state.records.of_site(each.site):
            yield "records", (each.site, repr(record))
        for lane in Lane:
            heads = state.queues.heads(each.site, lane, EVERYTHING)
            assert len(heads) == state.queues.length(each.site, lane)
            for ticket in heads:
                yield "queued", (each.site, (lane, ticket.entry.url, ticket.entry.level))
        for row in state.forest.of_site(each.site):
            yield "files", (each.site, row)
    for key, row in state.environment.table("postponed").walk():
        yield "postponed", (state.names.name(row[:4]), (key[:8], row[4:]))
    for url in state.calendar:
        yield "calendar", (site_of(url), url)
    assert not len(state.exchange)


def at_rest(folder: Path, what: Asked) -> dict[str, Any]:
    """What a collection holds before it is resized."""
    bring_to_rest(Config().with_options(what.options), Layout(folder), seeds_from(what.seeds))
    return held(folder)


def without_robots(found: Crawled) -> Crawled:
    """A host may be asked for its robots.txt by each shard whose own is said to be there."""
    kept = {url: count for url, count in found.captures.items() if not url.endswith("/robots.txt")}
    return replace(found, captures=Counter(kept))


@pytest.mark.slow
def test_nothing_is_lost_or_fetched_again(lab: RunningLab, tmp_path: Path) -> None:
    """Killed, from two shards to three, killed, to one, and to two: as one that was never disturbed."""
    what = asked(lab, workers=2)
    finish(tmp_path / "whole", with_workers(what, 1))
    requests = lab.log.total
    lab.log.clear()
    births, folder, layout = [], tmp_path / "killed", Layout(tmp_path / "killed")
    for share, workers, then in ((0.3, 2, 3), (0.6, 3, 1), (0.8, 1, 2)):
        half_crawled(lab, folder, with_workers(what, workers), int(requests * share))
        births.append(time.time())
        before = tally_of(layout).pages
        resize_now(folder, what, then)
        assert layout.shards == then
        assert tally_of(layout).pages >= before
    finish(folder, with_workers(what, 2))
    killed, whole = (without_robots(crawled(each)) for each in (folder, tmp_path / "whole"))
    apart = {"tally", "revisits", "fetches"}  # copies are known as such by the shard that has both
    assert {name: what for name, what in same(killed, whole).items() if name not in apart} == {}
    assert max(killed.pages.values()) == 1
    lost(lab.log.visits(), folder, births)


@pytest.mark.parametrize("after", [3, *(pytest.param(after, marks=pytest.mark.slow) for after in (1, 5))])
def test_what_is_known_moves_whole(half: tuple[Path, Asked], tmp_path: Path, after: int) -> None:
    """Every record, queue entry and file is where it belongs, once; totals stay; only what must has moved."""
    what, folder = half[1], tmp_path / "copy"
    shutil.copytree(half[0], folder)
    known, counted = at_rest(folder, what), tallied(folder)
    assert len(known["records"]) > 50
    done = resize_now(folder, what, after)
    assert held(folder) == known
    assert tallied(folder) == counted
    assert (done.before, done.after) == (2, after)
    sites = {site for site, _ in known["sites"]}
    moved = {site for site in sites if owner_of(site, 2) != owner_of(site, after)}
    assert done.sites == len(moved)
    assert done.urls == sum(site in moved for site, _ in known["records"])
    assert not list((folder / "state").glob("gone-*"))
    assert plan_of(Layout(folder)) is None


@pytest.mark.parametrize(
    ("before", "after", "seed", "rounds"), [(2, 3, 1, 1), pytest.param(3, 2, 2, 3, marks=pytest.mark.slow)]
)
def test_killed_in_front_of_operations_on_the_disk(
    half: tuple[Path, Asked], tmp_path: Path, before: int, after: int, seed: int, rounds: int
) -> None:
    """Whenever it dies, the next finishes it; nothing is lost, and nothing is in two shards."""
    what, rest, folder = half[1], tmp_path / "rest", tmp_path / "killed"
    shutil.copytree(half[0], rest)
    resize_now(rest, what, before)
    known, counted = at_rest(rest, what), tallied(rest)
    chance = random.Random(seed)
    deaths = 0
    for _ in range(rounds):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(rest, folder)
        for _ in range(3):
            process = _context.Process(target=resizing_life, args=(folder, what, after, chance.randrange(50)))
            process.start()
            process.join(PATIENCE)
            deaths += process.exitcode == -signal.SIGKILL
            if process.exitcode == 0:
                break
        resize_now(folder, what, after)
        assert held(folder) == known
        assert tallied(folder) == counted
    assert deaths >= rounds


@pytest.mark.slow
def test_killed_while_shards_come_to_rest(half: tuple[Path, Asked], tmp_path: Path) -> None:
    """What was noted, and what was on its way between shards, is processed once, whichever process is killed."""
    what, rest, folder = half[1], tmp_path / "rest", tmp_path / "killed"
    shutil.copytree(half[0], rest)
    known, counted = at_rest(rest, what), tallied(rest)
    shutil.copytree(half[0], folder)
    for strike in range(10, 100, 30):
        process = _context.Process(target=resizing_life, args=(folder, what, 3, strike))
        process.start()
        process.join(PATIENCE)
    resize_now(folder, what, 3)
    now = held(folder)
    assert {name: {site for site, _ in found} for name, found in now.items()} == {
        name: {site for site, _ in found} for name, found in known.items()
    }
    assert len(now["records"]) == len(known["records"])
    assert tallied(folder) == counted


def test_growing_by_one_moves_its_share(tmp_path: Path) -> None:
    """Of S shards that become S + 1, 1/(S + 1) of all sites move, all of them to the new one."""
    sites = [Site(f"site{number}.test") for number in range(2_000)]
    layout = Layout(tmp_path)
    for number in range(3):
        with closing(DiskState(layout.shard(number), shard=number)) as state:
            mine = [site for site in sites if owner_of(site, 3) == number]
            state.sites.put([SiteState(site) for site in mine])
            state.records.add_new([UrlRecord(Url(f"https://{site}/"), (FirstSeen(Source.LINK, 1.0),)) for site in mine])
            state.commit()
    done = resize(Config(), tmp_path, (), 4)
    assert done.urls == done.sites
    assert done.rows == 2 * done.sites
    assert abs(done.sites / len(sites) - 1 / 4) < 0.04
    with closing(DiskState.read_only(layout.shard(3))) as state:
        assert len(state.sites) == done.sites
    assert resize(Config(), tmp_path, (), 4).rows == 0


def test_a_shard_that_comes_again_keeps_the_files_of_the_one_that_went(
    half: tuple[Path, Asked], tmp_path: Path
) -> None:
    """Files are named by the number of a shard: those of one that went are neither removed nor written over."""
    what, folder = half[1], tmp_path / "copy"
    shutil.copytree(half[0], folder)
    known = at_rest(folder, what)
    files, pages = archived(folder), crawled(folder).pages
    assert any("-01-" in name for name in files)
    resize_now(folder, what, 1)
    resize_now(folder, what, 2)
    maker = ShardMaker(Config().with_options(what.options), folder, seeds_from(what.seeds))
    for number in range(2):
        with closing(maker(number, 2)) as shard:
            shard.stop(0.0)
    assert archived(folder) == files
    assert crawled(folder).pages == pages
    assert held(folder) == known


def archived(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in (folder / "warc").iterdir() if ".warc" in path.name}


def test_who_is_between_two_numbers_is_not_crawled(half: tuple[Path, Asked], tmp_path: Path) -> None:
    """A crawl would put new pages where they do not belong: it says what to type."""
    what, folder = half[1], tmp_path / "copy"
    shutil.copytree(half[0], folder)
    at_rest(folder, what)
    layout = Layout(folder)
    layout.resizing.write_bytes(b'{"before":2,"after":3,"token":"x"}')
    with pytest.raises(CollectionError, match="from 2 to 3") as refused:
        open_crawl(Config().with_options(what.options), folder, seeds_from(what.seeds), 2)
    assert "cluster resize" in refused.value.hint
    with pytest.raises(CollectionError, match="from 2 to 3"):
        resize_now(folder, what, 5)
    assert resize_now(folder, what, 3).after == 3


def test_numbers_that_are_none(tmp_path: Path) -> None:
    """Neither none nor hundreds, nor a folder without a crawl."""
    for shards in (0, 257, 2):
        with pytest.raises(ConfigError):
            resize(Config(), tmp_path, (), shards)


def test_states_on_a_machines_own_disk_come_home(tmp_path: Path) -> None:
    """What counts is their copy in the collection, wherever they lay."""
    folder, url = tmp_path / "collection", Url("https://site.test/")
    home = Layout(folder).shard(0)
    with closing(DiskState(tmp_path / "local", replica=Replica(home, epoch=1))) as state:
        state.records.add_new([UrlRecord(url, (FirstSeen(Source.LINK, 1.0),))])
        state.commit()
    resize(Config(), folder, (), 2)
    with closing(DiskState.read_only(Layout(folder).shard(owner_of(Site("site.test"), 2)))) as state:
        assert state.records.get([url]) != [None]
