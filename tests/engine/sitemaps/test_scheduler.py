"""Large sitemaps of some sites, and what others get of the crawl meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from tests.properties.replayed_world import Collection
from tests.properties.simulated_web import World

from periplus.collection.config.settings import Config
from periplus.engine.sitemaps.scheduler import SitemapScheduler
from periplus.engine.sitemaps.store import SitemapStore
from periplus.model import FetchOutcome, FetchTask, Purpose, Site
from periplus.urls import site_of

MIB = 2**20


class ListingWorld(World):
    """Sites name some sitemaps of a size, whose entries lie behind white space, so that they are read in no time."""

    files: dict[Site, tuple[int, int]]

    def answer(self, task: FetchTask, now: float) -> FetchOutcome:
        site = site_of(task.url)
        count, size = self.files.get(site, (0, 0))
        if task.ip is None or task.purpose is Purpose.PAGE:
            self.kinds.setdefault(task.url, "ok")
            self.links.setdefault(task.url, [])
            return super().answer(task, now)
        self.asked[task.url, False] += 1
        if task.purpose is Purpose.ROBOTS:
            names = "".join(f"Sitemap: https://{site}/{number}.xml\n" for number in range(count))
            return self._fetched(task, now, 200, names.encode())
        entries = "".join(
            f"<url><loc>https://{site}/{task.url[-5]}/{number}</loc>{' ' * (size // 20)}</url>" for number in range(20)
        )
        return self._fetched(task, now, 200, f"<urlset>{entries}</urlset>".encode())


@contextmanager
def crawl_of(tmp_path: Path, sites: int, pages: int, files: dict[int, tuple[int, int]]) -> Iterator[Collection]:
    """A crawl that has begun; `files` is how many sitemaps a site has, and the size of each."""
    world = ListingWorld.plain(sites, pages)
    assert isinstance(world, ListingWorld)
    world.files = {world.sites[number]: large for number, large in files.items()}
    crawl = Collection(
        tmp_path,
        Config().with_options({"politeness.delay": 0.5, "politeness.slow_factor": 0.0}),
        world,
        tuple(world.urls),
        slots=sites,
    )
    crawl.begin()
    with closing(crawl.engine):
        yield crawl


def seconds(crawl: Collection, count: int) -> Iterator[SitemapScheduler]:
    """The sitemaps of a crawl after each second: in none is there time to read them all."""
    sitemaps = crawl.machine.sitemaps
    for _ in range(count):
        crawl.clock.at += 1.0
        crawl.engine.step(0.0)
        yield sitemaps


def pages_asked(crawl: Collection, site: int) -> int:
    """How often pages of a site were asked for."""
    own = f"https://{crawl.world.sites[site]}/"
    return sum(count for (url, _), count in crawl.world.asked.items() if url.startswith(own) and url[-1].isdigit())


@pytest.mark.proof
def test_large_sitemaps_hold_back_no_other_site(tmp_path: Path) -> None:
    """Three sites have 100 MB of sitemaps that wait to be read, and a fourth is crawled at its pace."""
    with crawl_of(tmp_path, 4, 40, dict.fromkeys(range(3), (2, 17 * MIB))) as crawl:
        *_, sitemaps = seconds(crawl, 60)
        assert sitemaps.is_reading
        assert pages_asked(crawl, 3) >= 15


def test_a_site_has_few_files_that_are_not_read(tmp_path: Path) -> None:
    """It names many, of which the next one is asked for when one was read. Its pages are asked for all the time."""
    with crawl_of(tmp_path, 1, 40, {0: (8, 8 * MIB)}) as crawl:
        waiting = [sum(len(files) for files in sitemaps._unread.values()) for sitemaps in seconds(crawl, 60)]
        assert max(waiting) == 2
        assert pages_asked(crawl, 0) >= 20


@pytest.mark.proof
def test_a_step_reads_little_however_many_sites_have_files(tmp_path: Path) -> None:
    """The length of a step does not grow with their number: requests wait for it to end."""
    with crawl_of(tmp_path, 12, 2, dict.fromkeys(range(12), (1, 6 * MIB))) as crawl:
        read = [0, 0]
        for sitemaps in seconds(crawl, 40):
            files = [files[0] for files in sitemaps._unread.values()]
            read.append(sum(getattr(file, "length", 0) for file in files))
        steps = [after - before for before, after in pairwise(read)]
        assert 0 < max(steps) <= MIB


@pytest.mark.proof
def test_bodies_that_wait_are_not_held_in_memory(tmp_path: Path) -> None:
    """They are read from the archive when their turn has come, to the last entry."""
    with crawl_of(tmp_path, 11, 1, dict.fromkeys(range(11), (1, 7 * MIB))) as crawl:
        held, sitemaps = [0], crawl.machine.sitemaps
        while sitemaps.is_reading or len(held) < 40:
            next(seconds(crawl, 1))
            files = [file for files in sitemaps._unread.values() for file in files]
            held.append(sum(len(file.outcome.body) for file in files))
        assert 48 * MIB < max(held) <= 64 * MIB
        assert [node.entries for node in SitemapStore(crawl.state)] == [20] * 11
