"""What an engine makes of the notes of a process that died: the same as that one would have, and never a trap."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from periplus.assembly import Layout, ShardMaker, open_shard, seeds_from
from periplus.config import Config
from periplus.crawl.clock import SystemClock
from periplus.crawl.engine import commits_of
from periplus.crawl.journal import DEATHS, Journal, Note
from periplus.crawl.shard import Shard
from periplus.lab.web import World
from periplus.lab.web.clock import SteppedClock
from periplus.lab.web.running import RunningLab
from periplus.lab.web.server import Server
from periplus.model import Discovery, Lane, Purpose, Queued, Site, Source, Url
from periplus.policy.refresh import unpack_page_gains
from periplus.store import DiskState
from periplus.urls import site_of

pytest_plugins = ["periplus.lab.pytest_plugin"]


@pytest.fixture
def lab(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    world = World(7, 8, pages=150)
    return start_lab(Server(world, SteppedClock(world.epoch), pace=0.01))


class Collection:
    """One shard that can be opened, abandoned and opened again. It commits only when it is asked to."""

    def __init__(self, folder: Path, lab: RunningLab) -> None:
        self.layout = Layout(folder)
        self.seeds = seeds_from([f"http://{host}/" for host in lab.world.hosts[:3]])
        options = {
            "wire.proxy": lab.base,
            "sitemaps.follow": False,
            "politeness.delay": 0.0,
            "politeness.slow_factor": 0.0,
            "engine.checkpoint_interval": 1e6,
        }
        self.config = Config().with_options(options)

    def open(self) -> Shard:
        return open_shard(ShardMaker(self.config, self.layout.folder, tuple(self.seeds)), self.layout, 0, 1)

    def crawl(self, shard: Shard, pages: int) -> Shard:
        shard.discover([Discovery(seed, Source.SEED, SystemClock().now()) for seed in self.seeds])
        until = time.monotonic() + 30
        while shard.status().tally.pages < pages and time.monotonic() < until:
            shard.step(0.05)
        return shard

    def notes(self) -> tuple[int, list[Note]]:
        """The number of the commit, and what was noted since."""
        state = DiskState(self.layout.shard(0))
        number = commits_of(state)
        state.close()
        journal = Journal(self.layout.shard(0) / "journal", self.layout.warc)
        return number, [note for note in journal.read(number) if isinstance(note, Note)]


@pytest.fixture
def collection(tmp_path: Path, lab: RunningLab) -> Collection:
    return Collection(tmp_path, lab)


def test_what_was_noted_is_all_that_was(collection: Collection) -> None:
    """Counts, queues and what is known are as if nobody had died; nothing is asked again."""
    shard = collection.crawl(collection.open(), pages=30)
    before = shard.status()
    shard.close()
    again = collection.open()
    after = again.status()
    again.close()
    assert replace(after.tally, excluded={}) == replace(before.crawl, excluded={})  # refusals are decided anew
    assert (after.frontier.known, after.frontier.done) == (before.frontier.known, before.frontier.done)
    assert collection.notes()[1] == []


def test_batches_that_nobody_kept_led_to_sites_and_their_files(collection: Collection) -> None:
    """Pages of a batch formed since the commit wait in a pool again; what their sites were asked for is not lost."""
    options = {"crawl.ordering": "batch", "ordering.every": 4, "sitemaps.follow": True}
    collection.config = collection.config.with_options(options)
    shard = collection.crawl(collection.open(), pages=40)
    before = shard.status()
    shard.close()
    asked = {note.outcome.task.url for note in collection.notes()[1] if note.outcome.task.purpose is Purpose.SITEMAP}
    again = collection.open()
    after = again.status()
    again.close()
    assert asked
    assert after.tally.fetches == before.crawl.fetches


def test_a_page_at_which_processes_die_is_kept_but_not_read(
    collection: Collection, caplog: pytest.LogCaptureFixture
) -> None:
    """It would kill whoever opens the collection, for ever; the others are read, and the crawl goes on."""
    shard = collection.crawl(collection.open(), pages=20)
    before = shard.status()
    shard.close()
    number, notes = collection.notes()
    index = max(index for index, note in enumerate(notes) if note.outcome.task.purpose is Purpose.PAGE)
    journal = Journal(collection.layout.shard(0) / "journal", collection.layout.warc)
    for _ in range(DEATHS):
        for tried in range(index + 1):
            journal.trying(number, tried)
        journal.close()
    again = collection.open()
    after = again.status()
    again.close()
    assert f"{notes[index].outcome.task.url} is kept but not read" in caplog.text
    assert (after.tally.fetches, after.tally.pages) == (before.crawl.fetches, before.crawl.pages)
    assert after.frontier.known <= before.frontier.known


def test_notes_are_gone_through_at_their_own_time(collection: Collection) -> None:
    """Rows say when a page was fetched and found, not when somebody opened the collection again."""
    shard = collection.crawl(collection.open(), pages=10)
    shard.close()
    _, notes = collection.notes()
    ended = max(note.at for note in notes)
    time.sleep(0.05)
    shard = collection.open()
    shard.stop(0.0)
    shard.close()
    state = DiskState(collection.layout.shard(0))
    records = state.records.get([note.outcome.task.url for note in notes])
    found = [seen.at for record in records if record is not None for seen in record.first_seen]
    state.close()
    assert found
    assert max(found) <= ended


def test_what_pages_taught_counts_once(collection: Collection, lab: RunningLab, tmp_path: Path) -> None:
    """Levels, parts of pages, churn and what visits brought are the same, whether a process died or not."""
    collection.config = collection.config.with_options({"churn.instant": 0.0})
    shard = collection.crawl(collection.open(), pages=40)
    shard.stop(5.0)
    shard.close()
    assert isinstance(lab.clock, SteppedClock)
    for _ in range(2):  # parts are known from the second visit on
        lab.clock.advance(7 * 86_400.0)
        state = DiskState(collection.layout.shard(0), shard=0)
        known = [each for site in state.sites for each in state.records.of_site(site.site) if each.kept_at is not None]
        urls = [each.url for each in known if each.status in (200, 304)]
        state.queues.push([Queued(url, site_of(url), Lane.REFRESH, 0) for url in urls])
        state.commit()
        state.close()
        shard = collection.open()
        before = shard.status().tally.fetches
        until = time.monotonic() + 30
        while shard.status().tally.fetches < before + len(urls) and time.monotonic() < until:
            shard.step(0.05)
        died = tmp_path.with_name(tmp_path.name + "-died")
        shutil.rmtree(died, ignore_errors=True)
        shutil.copytree(tmp_path, died)
        shard.stop(0.0)
        shard.close()
    other = Collection(died, lab)
    other.config = collection.config
    assert other.notes()[1]
    again = other.open()
    again.stop(0.0)
    again.close()
    assert learnt(collection) == learnt(other)
    sites, pages = learnt(collection)
    assert any(churn for churn, _ in sites.values())
    assert any(gains for _, gains in sites.values())
    assert any(unpack_page_gains(page[3]).spawned for page in pages.values()), "no page led to a new one"


def learnt(
    collection: Collection,
) -> tuple[dict[Site, tuple[bytes, bytes]], dict[Url, tuple[bytes, int, int, bytes]]]:
    """What is known of the churn of each site, of the parts, visits and changes of each page, and of their gains."""
    state = DiskState(collection.layout.shard(0), shard=0)
    sites = {site.site: (site.churn, site.gains) for site in state.sites}
    records = {
        each.url: (each.blocks, each.visits, each.changes, each.gains)
        for site in sites
        for each in state.records.of_site(site)
    }
    state.close()
    return sites, records
