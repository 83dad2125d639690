"""Publishes a site: keeps its ledger, writes the files that announce its pages to crawlers, and reports its status."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from periplus.formats.indexnow import key_file
from periplus.formats.robots import Robots, parse
from periplus.model import ConfigError, UsageError
from periplus.store.folders import FolderLock
from periplus.urls import whatwg
from periplus_sites.ledger import Ledger

from . import archives, changes_feed, hooks, llms_guide
from .files import NotOurs, digest_of, with_block, without_block, write_file
from .inventory.application import Asgi, Wsgi
from .middleware import AsgiMiddleware, WsgiMiddleware
from .middleware.live import Live
from .push import PushResult, Sender, feed, key_of
from .resources import Inventory
from .scan import ScanResult, hidden_reason, scan
from .settings import PublishSettings
from .sitemaps import SitemapFiles, Written
from .usage import UsagePolicy, contradictions, without_policy

SHOWN: Final = 10
"""Changes that are shown."""


_CRAWLERS: Final = """
select agent, sum(hits), sum(hits * (verified > 0)), sum(hits * (verified < 0)), sum(needless) from visits
where minute > (select max(minute) from visits) - 1440 group by agent order by sum(hits) desc, agent limit ?
"""


_SIGNED: Final = """
select agent_url, outcome, reason, sum(hits) from signed_visits
where minute > (select max(minute) from signed_visits) - 1440
group by agent_url, outcome, reason order by sum(hits) desc, agent_url, outcome, reason limit ?
"""


class PublishedChange(Struct, frozen=True):
    """An event: a page is `new`, `changed` or `removed`."""

    url: str
    kind: str
    at: float


class CrawlerDay(Struct, frozen=True):
    """Visits of a crawler on the last day: all, from verified addresses, from others with its name, and needless."""

    name: str
    visits: int
    verified: int
    false_claims: int
    needless: int


class SignedDay(Struct, frozen=True):
    """Signed visits on the last day, of one verified agent, or with one reason why they are not verified."""

    agent: str
    outcome: str
    reason: str
    visits: int


class PublishStatus(Struct, frozen=True):
    """The state of a published site. `dated` of the published addresses have a date; `hidden` is by reason."""

    published: int
    dated: int
    hidden: dict[str, int]
    gone: int
    scanned_at: float | None
    files: list[str]
    last_changes: list[PublishedChange]
    waiting: int
    """Messages that wait to be sent."""
    crawlers: list[CrawlerDay]
    """Crawlers that the middleware counted on the last day, those with the most visits first."""
    signed: list[SignedDay] = []
    """Signed visits on the last day, if the middleware verifies signatures."""


def status_of(ledger: Ledger) -> PublishStatus:
    """The state of the site of a ledger."""
    db = ledger.db
    return PublishStatus(
        ledger.count(),
        ledger.count("gone is null and hidden = '' and lastmod is not null"),
        dict(db.execute("select hidden, count(*) from resources where gone is null and hidden != '' group by 1")),
        ledger.count("gone is not null"),
        ledger.note("scanned_at"),
        [name for (name,) in db.execute("select name from files where dropped_at is null order by name")],
        [
            PublishedChange(*row)
            for row in db.execute("select url, kind, at from events order by id desc limit ?", (SHOWN,))
        ],
        db.execute("select count(*) from outbox where done_at is null").fetchone()[0],
        [CrawlerDay(*row) for row in db.execute(_CRAWLERS, (SHOWN,))],
        [SignedDay(*row) for row in db.execute(_SIGNED, (SHOWN,))] if ledger.has_table("signed_visits") else [],
    )


LEDGER: Final = ".periplus-publish"
"""The folder of the ledger inside the folder of the published files. Servers do not serve what begins with a dot."""


class Published(Struct, frozen=True):
    """What a scan found and what was written."""

    scan: ScanResult
    sitemaps: Written
    archives: int
    robots: str
    """Why robots.txt was not written, if it should have been."""
    unsent: int = 0
    """Pages of the first files of a site, which a new IndexNow endpoint is not sent."""


class Publisher:
    """Publishes one site into a folder that its web server serves at the base URL.

    `ledger`: the folder of the ledger, by default inside `folder`. `clock` returns the time.
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
        self.policy = UsagePolicy.of(settings.usage, self.base_url)
        self.clock = clock
        self._home = Path(ledger) if ledger is not None else self.folder / LEDGER
        self._home.mkdir(parents=True, exist_ok=True)
        self.ledger = Ledger(self._home / "ledger.sqlite")
        self._usage_files: dict[str, str] = self.ledger.note("usage_files") or {}
        self._lives: list[Live] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what middleware gathered in this process, and close the ledger."""
        for live in self._lives:
            live.close()
        self.ledger.close()

    def is_own(self, path: str) -> bool:
        """Whether a path below the folder is one of the files written here."""
        name = path.rpartition("/")[2]
        return (
            (name.startswith("sitemap") and name.endswith((".xml", ".xml.gz")))
            or path in (changes_feed.NAME, "robots.txt", self._key_name(), *self._usage_files, *self.policy.files())
            or (self.settings.llms.enabled and path == llms_guide.NAME)
            or path.startswith(f"{self.settings.archives.folder}/")
            or (self.settings.resync.enabled and path.startswith(f"{archives.RESYNC_FOLDER}/"))
        )

    def scan(
        self, inventories: Sequence[Inventory], *, is_deep: bool = False, allows_removals: bool = False
    ) -> Published:
        """Scan the sources of the site, and write what changed."""
        lock = FolderLock(self._home, "scanning")
        try:
            self._check_usage()
            found = scan(
                self.ledger,
                inventories,
                self.clock(),
                robots=self._robots(),
                is_deep=is_deep,
                wants_images=self.settings.sitemap.images,
                allows_removals=allows_removals,
            )
            return Published(found, *self._write())
        finally:
            lock.close()

    def changed(self, url: str, *, title: str = "") -> None:
        """Report that a page is new or has changed now. `write` then updates the files."""
        found = hooks.address(url, self.base_url)
        hooks.changed(self.ledger, found, self.clock(), title=title, hidden=lambda: self._hidden(found))

    def removed(self, url: str) -> bool:
        """Report that a page is gone now; whether it was known."""
        return hooks.removed(self.ledger, hooks.address(url, self.base_url), self.clock())

    def moved(self, old: str, new: str) -> None:
        """Report that a page has another address now."""
        found = hooks.address(new, self.base_url)
        old = hooks.address(old, self.base_url)
        hooks.moved(self.ledger, old, found, self.clock(), hidden=lambda: self._hidden(found))

    def write(self) -> Written:
        """Update the files with what was reported since they were last written."""
        lock = FolderLock(self._home, "scanning")
        try:
            return self._write()[0]
        finally:
            lock.close()

    def is_written(self) -> bool:
        """Whether the files include every event."""
        last = self.ledger.db.execute("select coalesce(max(id), 0) from events").fetchone()[0]
        return bool(last == (self.ledger.note("listed_event") or 0))

    def asgi(self, app: Asgi) -> AsgiMiddleware:
        """An ASGI application with the files, validators and observations of this publisher in front of it."""
        return AsgiMiddleware(app, self._live())

    def wsgi(self, app: Wsgi) -> WsgiMiddleware:
        """A WSGI application with the files, validators and observations of this publisher in front of it."""
        return WsgiMiddleware(app, self._live())

    def _live(self) -> Live:
        live = Live(
            self.ledger.path, self.folder, self.base_url, self.settings, self.clock, self.robots_lines, self._robots
        )
        self._lives.append(live)
        return live

    def push(self, *, is_early: bool = False) -> list[PushResult]:
        """Send what is due to the receivers of `[push]`; with `is_early` without waiting for further changes."""
        folder = self._home / "push"
        folder.mkdir(exist_ok=True)
        lock = FolderLock(folder, "sending")
        try:
            return Sender(self.ledger, self.settings, self.base_url, self.clock).send(is_early=is_early)
        finally:
            lock.close()

    def status(self) -> PublishStatus:
        """What is published, what is not and why, and what changed last."""
        return status_of(self.ledger)

    def _write(self) -> tuple[Written, int, str, int]:
        now = self.clock()
        written_event = self.ledger.note("listed_event")
        files = SitemapFiles(self.ledger, self.folder, self.base_url, self.settings.sitemap, self.settings.news)
        written = files.update(now)
        names: list[str] = []
        if self.settings.archives.enabled:
            names = archives.ArchiveFiles(self.ledger, self.folder / self.settings.archives.folder).update()
        if self.settings.feed.enabled:
            self._write_feed()
        if self.settings.resync.enabled:
            archives.ResyncFiles(self.ledger, self.folder, self.base_url).update()
        if self.settings.llms.enabled:
            self._write_changed(llms_guide.NAME, llms_guide.guide_of(self.ledger, self.base_url, self.settings.llms))
        if self.settings.push.indexnow:
            self._write_key()
        self._write_usage()
        robots = self._write_robots(files.announced, names)
        unsent = feed(self.ledger, self.settings, self.base_url, now, written=written_event)
        return written, len(names), robots, unsent

    def _check_usage(self) -> None:
        """Refuse a policy that the site's own robots.txt contradicts, or whose files it has already."""
        path = self.folder / "robots.txt"
        owner = without_policy(without_block(path.read_bytes())) if self.policy and path.is_file() else b""
        for contradiction in contradictions(owner, self.policy):
            raise ConfigError(contradiction, hint="remove the line, or change [usage] in publish.toml")
        for name in self.policy.files():
            file = self.folder / name
            if file.is_file() and self._usage_files.get(name) != digest_of(file.read_bytes()):
                raise ConfigError(
                    f"{file} is there already, and was not written by periplus publish",
                    hint="remove it, or leave its form out of usage.forms",
                )

    def _write_usage(self) -> None:
        """Write the files of the policy, and remove those that it does not have any more."""
        files = self.policy.files()
        for name, body in files.items():
            self._write_changed(name, body)
        for name in self._usage_files.keys() - files.keys():
            (self.folder / name).unlink(missing_ok=True)
        kept = {name: digest_of(body) for name, body in files.items()}
        if kept != self._usage_files:
            with self.ledger.writing():
                self.ledger.keep_note("usage_files", kept)
            self._usage_files = kept

    def _write_key(self) -> None:
        file = key_file(key_of(self.ledger))
        if not (self.folder / file.name).exists():
            write_file(self.folder / file.name, file.body)

    def _key_name(self) -> str:
        key = self.ledger.note("indexnow_key")
        return "" if key is None else key_file(str(key)).name

    def _robots(self) -> Robots | None:
        path = self.folder / "robots.txt"
        return parse(path.read_bytes()) if path.is_file() else None

    def _hidden(self, url: str) -> str:
        return hidden_reason(url, None, self._robots())

    def _write_feed(self) -> None:
        types = self.settings.sitemap.types
        body = changes_feed.changes_feed(self.ledger, self.base_url, self.settings.feed, types)
        self._write_changed(changes_feed.NAME, body)

    def _write_changed(self, name: str, body: bytes) -> None:
        path = self.folder / name
        if not path.exists() or path.read_bytes() != body:
            write_file(path, body)

    def robots_lines(self, sitemaps: Sequence[str], names: list[str]) -> list[str]:
        """Our lines of robots.txt."""
        folder_url = f"{self.base_url}{self.settings.archives.folder}/"
        return [
            *(f"Sitemap: {self.base_url}{name}" for name in sitemaps),
            *archives.robots_lines(names, folder_url),
        ]

    def _write_robots(self, sitemaps: Sequence[str], names: list[str]) -> str:
        path = self.folder / "robots.txt"
        before = path.read_bytes() if path.exists() else b""
        is_managed, has_lines = self.settings.robots.manage, bool(self.policy)
        if not is_managed and not has_lines and not self.ledger.note("usage_lines"):
            return ""
        try:
            after = with_block(before, self.robots_lines(sitemaps, names) if is_managed else (), self.policy)
        except NotOurs as reason:
            return str(reason)
        if after != before:
            write_file(path, after)
        if has_lines != bool(self.ledger.note("usage_lines")):
            with self.ledger.writing():
                self.ledger.keep_note("usage_lines", has_lines)
        return ""
