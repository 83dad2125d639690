"""The same generated pages on two sites, for a crawler that watches both in the lab's time.

The honest site is a folder that `periplus.publish` scans every day and serves with its middleware. Its twin has the
same pages and a sitemap with the modification times of its files, as most generators write it. A generator writes all
files of both every day, whether they changed or not.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

from tests.lab.watching import DAY, OPTIONS, LabTime, Leaping

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl, settle
from periplus.collection.seeds import seeds_from
from periplus.engine.revisit.evidence import SignalKind
from periplus.engine.revisit.signals import KindEvidence, SiteEvidence
from periplus.formats.dates import write_w3c
from periplus.model import Granularity, Lastmod, Site
from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus_lab import World
from periplus_lab.server import SteppedClock
from periplus_lab.sites import Profile
from periplus_sites.publish import FolderInventory, Publisher, PublishSettings
from periplus_sites.publish.inventory.application import Wsgi
from periplus_sites.publish.settings import RobotsSettings, SiteSettings
from periplus_sites.publish.trial_server import folder_app, trial_server

HONEST, TWIN = "honest.test", "twin.test"
TWIN_BASE = f"http://{TWIN}/"
_CANONICAL = re.compile(rb'<link rel="canonical"[^>]*>')


class DailyClock(SteppedClock):
    """A clock of the lab that calls back at the beginning of each day."""

    on_day: Callable[[], None] = staticmethod(lambda: None)

    def advance(self, seconds: float) -> float:
        day = (self.now() - self.epoch) // DAY
        now = super().advance(seconds)
        if (now - self.epoch) // DAY > day:
            self.on_day()
        return now


class Twins:
    """Two sites with the same pages, one of which tells the truth about them."""

    def __init__(self, folder: Path, pages: int, seed: int = 7) -> None:
        self.world = World(seed, 1, pages=pages, profiles=(Profile.NONE,))
        self.clock = DailyClock(self.world.epoch)
        self.clock.on_day = self.build
        self.collection = folder / "collection"
        self.collection.mkdir()
        self._files = folder / "site"
        self._claims = folder / "twin"
        settings = PublishSettings(SiteSettings(f"http://{HONEST}/"), robots=RobotsSettings(manage=True))
        self.publisher = Publisher(folder / "out", settings, clock=self.clock.now)
        files = folder_app([folder / "out", self._files], clean_urls=True)
        self._apps: dict[str, Wsgi] = {
            HONEST: self.publisher.wsgi(files),
            TWIN: folder_app([self._claims, self._files], clean_urls=True),
        }
        self._server = trial_server(self._answer, 0)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.build()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.publisher.close()

    def _answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """Answer as a proxy: the path of the request is a whole address."""
        asked = urlsplit(environ["PATH_INFO"])
        return self._apps[asked.netloc](environ | {"PATH_INFO": asked.path}, start)

    def build(self) -> None:
        """Write every page as it is now, as generators do, and publish the site."""
        now = self.clock.now()
        (site,) = self.world.sites()
        self._files.mkdir(exist_ok=True)
        entries = []
        for url in self.world.urls(site.host, now):
            name = _file_name(url)
            if not name:
                continue
            path = self._files / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_CANONICAL.sub(b"", self.world.content(url, now)))
            os.utime(path, (now, now))
            address = TWIN_BASE + name.removesuffix("index.html").removesuffix(".html")
            entries.append(f"<url><loc>{address}</loc><lastmod>{_text(now)}</lastmod></url>")
        self._claims.mkdir(exist_ok=True)
        xmlns = "http://www.sitemaps.org/schemas/sitemap/0.9"
        (self._claims / "sitemap.xml").write_text(f'<urlset xmlns="{xmlns}">{"".join(entries)}</urlset>')
        (self._claims / "robots.txt").write_text(f"Sitemap: {TWIN_BASE}sitemap.xml\n")
        inventory = FolderInventory(self._files, self.publisher.base_url, clean_urls=True)
        self.publisher.scan([inventory], allows_removals=True)

    def crawl(self, options: dict[str, object]) -> None:
        """Fetch all pages of both sites once."""
        chosen = {"wire.proxy": f"http://127.0.0.1:{self._server.server_port}"}
        self._config = Config().with_options(chosen | OPTIONS | options)
        self._config.check()
        self._seeds = seeds_from([f"http://{HONEST}/", TWIN_BASE])
        open_crawl(self._config, self.collection, self._seeds, 1).run()
        settle(self.collection)

    def watch(self, until_day: float) -> None:
        """Watch both sites until a day since the beginning of the lab's time."""
        until = self.clock.epoch + until_day * DAY
        crawl = open_crawl(self._config, self.collection, self._seeds, 1, watches=True)
        for _ in crawl.progress():
            if self.clock.now() >= until:
                crawl.stop()
        settle(self.collection)

    def learnt(self, site: str) -> KindEvidence:
        """What the crawl has learnt of the dates in the sitemaps of a site."""
        state = DiskState.read_only(Layout(self.collection).shard(0))
        (found,) = state.sites.get([Site(site)])
        state.close()
        assert found is not None
        known = found.value(SiteEvidence)
        assert known is not None
        return known.of(SignalKind.SITEMAP)


@contextmanager
def twins(folder: Path, pages: int) -> Iterator[Twins]:
    """Both sites, on loopback; crawls of them go by their clock."""
    made = Twins(folder, pages)
    with (
        patch("periplus.collection.shards.SystemClock", lambda _scale=None: LabTime(made.clock)),
        patch("periplus.collection.opening.SystemClock", lambda _scale=None: LabTime(made.clock)),
        patch("periplus.collection.shards.CurlWire", Leaping),
    ):
        try:
            yield made
        finally:
            made.close()


def _file_name(url: str) -> str:
    """The file of a page; empty for what is not a file: an address with a query."""
    parts = urlsplit(url)
    path = parts.path.removeprefix("/")
    return (
        "" if parts.query or "." in path else f"{path}index.html" if path.endswith("/") or not path else f"{path}.html"
    )


def _text(at: float) -> str:
    return write_w3c(Lastmod(float(int(at)), Granularity.SECOND))
