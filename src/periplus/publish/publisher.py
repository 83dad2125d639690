"""A published site: its ledger, and the files that tell crawlers of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from periplus.formats.robots import parse
from periplus.model import UsageError
from periplus.store.folder_lock import FolderLock
from periplus.urls import whatwg

from . import archives, changes_feed
from .files import write_file
from .ledger import Ledger
from .resources import Inventory
from .robots_block import NotOurs, with_block
from .scan import ScanResult, scan
from .settings import PublishSettings
from .sitemaps import SitemapFiles, Written
from .status import PublishStatus, status_of

LEDGER: Final = ".periplus-publish"
"""The folder of the ledger inside the folder of the published files. Servers do not serve what begins with a dot."""


class Published(Struct, frozen=True):
    """What a scan found and what was written."""

    scan: ScanResult
    sitemaps: Written
    archives: int
    robots: str
    """Why robots.txt was not written, if it should have been."""


class Publisher:
    """Publishes one site into a folder that its web server serves at the base URL.

    `ledger`: the folder of the ledger, by default inside `folder`. `clock` tells the time.
    """

    def __init__(
        self,
        folder: Path | str,
        settings: PublishSettings,
        *,
        ledger: Path | str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        base = whatwg(settings.site.base_url)
        if base is None or not base.startswith(("http://", "https://")):
            raise UsageError(
                f"{settings.site.base_url!r} is not the address of a site", hint="such as https://www.example.org/"
            )
        self.folder = Path(folder)
        self.settings = settings
        self.base_url = base if base.endswith("/") else base + "/"
        self.clock = clock
        self._home = Path(ledger) if ledger is not None else self.folder / LEDGER
        self._home.mkdir(parents=True, exist_ok=True)
        self.ledger = Ledger(self._home / "ledger.sqlite")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()

    def is_own(self, path: str) -> bool:
        """Whether a path below the folder is one of the files written here."""
        name = path.rpartition("/")[2]
        return (
            (name.startswith("sitemap") and name.endswith((".xml", ".xml.gz")))
            or path in (changes_feed.NAME, "robots.txt")
            or path.startswith(f"{self.settings.archives.folder}/")
        )

    def scan(
        self, inventories: Sequence[Inventory], *, is_deep: bool = False, allows_removals: bool = False
    ) -> Published:
        """Scan the sources of the site, and write what changed."""
        lock = FolderLock(self._home, "scanning")
        try:
            robots = self.folder / "robots.txt"
            found = scan(
                self.ledger,
                inventories,
                self.clock(),
                robots=parse(robots.read_bytes()) if robots.is_file() else None,
                is_deep=is_deep,
                wants_images=self.settings.sitemap.images,
                allows_removals=allows_removals,
            )
            return self._write(found)
        finally:
            lock.close()

    def status(self) -> PublishStatus:
        """What is published, what is not and why, and what changed last."""
        return status_of(self.ledger)

    def _write(self, found: ScanResult) -> Published:
        now = self.clock()
        files = SitemapFiles(self.ledger, self.folder, self.base_url, self.settings.sitemap, self.settings.news)
        written = files.update(now)
        names: list[str] = []
        if self.settings.archives.enabled:
            names = archives.ArchiveFiles(self.ledger, self.folder / self.settings.archives.folder).update()
        if self.settings.feed.enabled:
            self._write_feed()
        return Published(found, written, len(names), self._write_robots(files.announced, names))

    def _write_feed(self) -> None:
        body = changes_feed.changes_feed(self.ledger, self.base_url, self.settings.feed)
        path = self.folder / changes_feed.NAME
        if not path.exists() or path.read_bytes() != body:
            write_file(path, body)

    def robots_lines(self, sitemaps: Sequence[str], names: list[str]) -> list[str]:
        """Our lines of robots.txt."""
        folder_url = f"{self.base_url}{self.settings.archives.folder}/"
        return [
            *(f"Sitemap: {self.base_url}{name}" for name in sitemaps),
            *archives.robots_lines(names, folder_url),
            *self.settings.robots.usage,
        ]

    def _write_robots(self, sitemaps: Sequence[str], names: list[str]) -> str:
        if not self.settings.robots.manage:
            return ""
        path = self.folder / "robots.txt"
        before = path.read_bytes() if path.exists() else b""
        try:
            after = with_block(before, self.robots_lines(sitemaps, names))
        except NotOurs as reason:
            return str(reason)
        if after != before:
            write_file(path, after)
        return ""
