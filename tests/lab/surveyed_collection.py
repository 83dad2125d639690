"""A collection of the surveyed domains, written by the real archive and the real tables, without a crawl.

Here is played what a survey does: ask for robots.txt, follow redirects and try `www.` where a page came, ask for the
sitemaps that it names and for those that indexes name, each once. Sitemaps are read by the real reader, since their
entries are what the tables hold; what is true of them is told by the plan.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path

from tests.lab.surveyed_domains import SurveyedDomains

from periplus.engine.sitemaps.trees import twin_key
from periplus.formats.robots import looks_like_html, parse
from periplus.formats.sitemap import Child, Entry, read
from periplus.model import (
    Discovery,
    Event,
    Failed,
    Fetched,
    FetchEnded,
    FetchTask,
    Lane,
    Problem,
    Purpose,
    Redirected,
    SitemapEntriesRead,
    SitemapEntry,
    SitemapRead,
    Source,
    Url,
    UrlDiscovered,
)
from periplus.store import Archive, MemoryPayloads, Tables, WarcSettings
from periplus.urls import canonical, site_of

NOW = 1_800_000_000.0
BATCH = 40
"""Entries told at once, so that one reading is many events."""


class PlayedSurvey:
    """Writes a collection while it asks the plan.

    What a file says is told under the name by which it was asked for or, with `tells_place`, that of where it lay.
    """

    def __init__(self, plan: SurveyedDomains, folder: Path, *, tells_place: bool = False) -> None:
        self._plan = plan
        self._tells_place = tells_place
        self._at = NOW
        self._archive = Archive(
            folder / "warc", WarcSettings(), shard=0, software="Periplus", fields={}, end=None,
            payloads=MemoryPayloads(),
        )  # fmt: skip
        self._tables = Tables(folder / "tables", folder / "spool", shard=0, mark=None)

    def run(self) -> None:
        """Survey every domain, and put the collection to rest."""
        waiting: deque[Url] = deque()
        for domain in self._plan.domains:
            self._tables.record([UrlDiscovered(Discovery(_url(f"http://{domain}/"), Source.SEED, self._at), True)])
            waiting.extend(self._survey(domain))
        known: set[str] = set()
        while waiting:
            url = waiting.popleft()
            if twin_key(url) not in known:
                known.add(twin_key(url))
                waiting.extend(self._read_sitemap(url))
        self._archive.sync()
        self._tables.settle()
        self._tables.close()
        self._archive.close()

    def _survey(self, domain: str) -> tuple[Url, ...]:
        """The sitemaps that a domain's robots.txt names."""
        found = self._ask(_url(f"http://{domain}/robots.txt"), Purpose.ROBOTS)
        if isinstance(found, Fetched) and looks_like_html(found.body) and found.status == 200:
            found = self._ask(_url(f"http://www.{domain}/robots.txt"), Purpose.ROBOTS)
        if not isinstance(found, Fetched) or found.status != 200:
            return ()
        return parse(found.body).sitemap_urls(found.task.url)

    def _ask(self, url: Url, purpose: Purpose) -> Fetched | Redirected | Failed:
        """The answer in the end; every one on the way is written down."""
        for _ in range(6):
            outcome = self._fetch(url, purpose)
            if not isinstance(outcome, Redirected):
                break
            url = outcome.target
        return outcome

    def _fetch(self, url: Url, purpose: Purpose) -> Fetched | Redirected | Failed:
        self._at += 1
        task = FetchTask(url, site_of(url), purpose, Lane.SITEMAPS, self._at + 60)
        said = self._plan.answer(url)
        headers = (("Content-Type", said.content_type),)
        outcome: Fetched | Redirected | Failed
        if said.trouble:
            outcome = Failed(task, {"silent": "timeout", "closes": "closed-early"}[said.trouble], self._at, 0.1)
            self._tables.record([FetchEnded(outcome, self._at)])
            return outcome
        if said.location:
            outcome = Redirected(task, said.status, _url(said.location), headers, self._at, 0.1)
        else:
            outcome = Fetched(task, said.status, headers, said.body, self._at, 0.1)
        stored, _ = self._archive.write(outcome, b"GET / HTTP/1.1\r\n\r\n")
        self._tables.record([FetchEnded(outcome, self._at, stored)])
        return outcome

    def _read_sitemap(self, url: Url) -> list[Url]:
        """The files that a file names."""
        found = self._ask(url, Purpose.SITEMAP)
        if not isinstance(found, Fetched) or found.status != 200:
            return []
        children: list[Url] = []
        name = found.task.url if self._tells_place else url
        self._tables.record(list(self._events(name, found.body, children)))
        return children

    def _events(self, url: Url, body: bytes, children: list[Url]) -> Iterator[Event]:
        entries: list[SitemapEntry] = []
        problems: list[Problem] = []
        pages = 0
        for value in read(body, url):
            match value:
                case Entry():
                    pages += 1
                    said = (value.lastmod, value.changefreq, value.priority, value.title)
                    entries.append(SitemapEntry(value.url, *said))
                case Child():
                    children.append(_url(value.url))
                    entries.append(SitemapEntry(value.url, value.lastmod, is_sitemap=True))
                case Problem():
                    problems.append(value)
            if len(entries) >= BATCH:
                yield SitemapEntriesRead(url, self._at, tuple(entries))
                entries = []
        yield SitemapEntriesRead(url, self._at, tuple(entries))
        yield SitemapRead(url, self._at, pages, len(children), None, tuple(problems))


def _url(text: str) -> Url:
    url = canonical(text)
    assert url is not None, text
    return url
