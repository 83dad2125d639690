"""Pages are read while a crawl writes the collection, in another process or in this one; the crawl is not disturbed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tests.apps.serve.asking import PATIENCE, Reply, Site
from tests.apps.serve.browsed import HURRIED, PROFILES
from tests.lab.crawling import by_proxy, standing

from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings
from periplus.collection.collection import existing, planned
from periplus.collection.facts.lookup import collection_facts
from periplus.collection.opening import open_crawl, settle
from periplus.store import DiskState
from periplus_lab import World

PATHS = ("/collection", "/collection/sites", "/collection/sql?q=select+count(*)+from+fetches", "/collection/runs")


def test_pages_of_a_collection_that_this_process_writes(tmp_path: Path) -> None:
    """LMDB does not open a file twice in a process: another process reads it."""
    folder = crawled_a_little(tmp_path / "lab")
    known = collection_facts(existing(folder)).known
    with running(Served((folder,), ServeSettings(port=0, timeout=PATIENCE))) as url:
        site = Site(url)
        writer = DiskState(existing(folder).layout.shard(0), shard=0)
        try:
            for path in PATHS:
                page = patient(site, path)
                assert page.status == 200, page.text
                assert "problem" not in page.text
            assert site.get("/api/collection").json["facts"]["known"] == known
        finally:
            writer.close()
        assert site.get("/api/collection").json["facts"]["known"] == known


@pytest.mark.slow
def test_pages_while_a_crawl_runs(tmp_path: Path) -> None:
    """Many readers at once and a crawl of two processes: every page answers, and the crawl ends with all its pages."""
    folder = tmp_path / "lab"
    world = World(11, 2, pages=24, profiles=PROFILES[:2])
    with standing(world) as lab:
        options = by_proxy(lab) | HURRIED | {"crawl.workers": 2, "crawl.rate": 60.0}
        found = planned(folder, typed=[site.url for site in world.sites()], options=options)
        found.save()
        has_ended = threading.Event()
        statuses: list[int] = []

        def browse(url: str) -> None:
            site = Site(url)
            statuses.extend(site.get(path).status for path in PATHS)
            while not has_ended.wait(0.3):
                statuses.extend(site.get(path).status for path in PATHS)

        with running(Served((folder,), ServeSettings(port=0, timeout=PATIENCE))) as url:
            readers = [threading.Thread(target=browse, args=(url,)) for _ in range(2)]
            for reader in readers:
                reader.start()
            open_crawl(found.config, folder, found.seeds, found.workers).run()
            settle(folder)
            has_ended.set()
            for reader in readers:
                reader.join(PATIENCE)
            site = Site(url)
            facts = site.get("/api/collection").json["facts"]
    assert len(statuses) >= len(PATHS)
    assert set(statuses) == {200}
    assert facts["tally"]["pages"] == collection_facts(existing(folder)).tally.pages > 20


def patient(site: Site, path: str) -> Reply:
    """Ask again while the process that reads for the server is starting, which takes long on a busy machine."""
    for _ in range(10):
        page = site.get(path)
        if page.status != 503:
            break
    return page


def crawled_a_little(folder: Path) -> Path:
    world = World(11, 1, pages=20, profiles=PROFILES[:1])
    with standing(world) as lab:
        found = planned(folder, typed=[site.url for site in world.sites()], options=by_proxy(lab) | HURRIED)
        found.save()
        open_crawl(found.config, folder, found.seeds, found.workers).run()
        settle(folder)
    return folder
