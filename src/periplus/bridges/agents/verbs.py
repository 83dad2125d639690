"""The verbs: each takes its arguments and returns an answer or a refusal. Any thread may call them.

Reasons of a refusal, beside those of `collection.fresh_pages`: `bad-argument`, `no-collection`, `no-index`,
`not-archived` (the collection has no such page), `no-such-part`, `not-a-url`, `private-address`, `no-site`,
`not-for-agents` (a setting), `already-running`, `unknown-job`, `sql-off`, `bad-query`, `collection-error`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from threading import Lock
from typing import Any, Final

import msgspec
from msgspec import Struct

from periplus.apps.changes import Change, Passage, RunStatus, changes_since, detail_of
from periplus.apps.report.making import WantedLinks, ulinks_of
from periplus.apps.search import Hit, parse_query
from periplus.apps.serve.browse_tables import reader_of
from periplus.apps.serve.served import Served, ServedCollection
from periplus.collection.fresh_pages import FreshPage, FreshPages, NotFetched
from periplus.collection.options import agents_settings
from periplus.collection.seeds import seeds_from
from periplus.collection.trust import PERSONAL
from periplus.collection.typed_values import moment_of
from periplus.content.text_language import page_language, primary_language
from periplus.library.mapping import map_found
from periplus.model import (
    NO_PREFERENCES,
    ConfigError,
    PeriplusError,
    Preference,
    Preferences,
    Url,
    UsageError,
)
from periplus.store.export import markdown_of
from periplus.store.export.captures import StatedPreferences
from periplus.store.export.documents import last_document
from periplus.urls import canonical, host_of, site_of

from . import arguments as asked
from .answers import (
    ChangesAnswer,
    CrawlJob,
    LinksAnswer,
    MapAnswer,
    MappedPage,
    PageChange,
    PageText,
    Refusal,
    RowsAnswer,
    SearchAnswer,
    SearchHit,
    UsefulLink,
    fenced,
    fitting,
    parts_of,
)
from .crawl_jobs import CrawlJobs

MAX_SQL_ROWS: Final = 1_000
"""Rows of a query."""
MAX_PASSAGES: Final = 3
"""Passages of a change that are shown."""
MAX_PASSAGE: Final = 300
"""Characters of a passage."""
WITHHELD: Final = "ai-input is disallowed by the site"


class AgentVerbs:
    """The verbs over the collections of a server. `allows_sql`: whether `query` may be used."""

    def __init__(self, served: Served, *, allows_sql: bool = False) -> None:
        self._served = served
        self._allows_sql = allows_sql
        self._jobs = CrawlJobs()
        self._fresh: dict[str, FreshPages] = {}
        self._lock = Lock()

    def close(self) -> None:
        """Stop what runs in the background."""
        self._jobs.close()

    @property
    def names(self) -> tuple[str, ...]:
        """The verbs that may be used."""
        return tuple(name for name in VERBS if name != "query" or self._allows_sql)

    def call(self, name: str, given: object, kind: type[Struct] | None = None) -> Struct:
        """Call a verb with arguments as JSON has them; everything that goes wrong is a refusal.

        `kind` is the type of the arguments, by default all that the verb has.
        """
        verb = VERBS.get(name)
        if verb is None:
            return Refusal("bad-argument", f"There is no verb {name[:50]!r}; there are {', '.join(self.names)}.")
        try:
            arguments = msgspec.convert(given, kind or verb.arguments, strict=False)
            answer: Struct = verb.call(self, arguments)
        except msgspec.ValidationError as error:
            return Refusal("bad-argument", str(error))
        except UsageError as error:
            return _refusal("bad-query" if name == "query" else "bad-argument", error)
        except PeriplusError as error:
            return _refusal("collection-error", error)
        return answer

    def search(self, what: asked.Search) -> SearchAnswer | Refusal:
        """Search the pages of a collection."""
        collection = self._collection(what.collection)
        if isinstance(collection, Refusal):
            return collection
        if not collection.has_index:
            return Refusal("no-index", f"Make an index: periplus index {collection.name}")
        query = parse_query(what.query)
        query = msgspec.structs.replace(
            query, site=what.site.lower() or query.site, language=primary_language(what.lang) or query.language
        )
        with collection.index() as index:
            results = index.search(query, what.n)
        hits, _ = fitting((self._hit(collection, hit) for hit in results.hits), what.n)
        return SearchAnswer(results.total, hits)

    def _hit(self, collection: ServedCollection, hit: Hit) -> SearchHit:
        withheld = self._withheld(collection, self._stated(collection).of(Url(hit.url)))
        fetched_at = datetime.fromtimestamp(hit.fetched_at, UTC) if hit.fetched_at else None
        return SearchHit(hit.title, hit.url, "" if withheld else hit.snippet, fetched_at, withheld)

    def read(self, what: asked.ReadStored) -> PageText | Refusal:
        """Read a page, as it was crawled or, if the arguments are `Read`, fetched now."""
        collection = self._collection(what.collection)
        if isinstance(collection, Refusal):
            return collection
        url = canonical(what.url)
        if url is None:
            return Refusal("not-a-url", "Give a whole URL, such as https://example.org/page.")
        is_fresh = isinstance(what, asked.Read) and what.fresh
        found = self._fetched(collection, url) if is_fresh else self._stored(collection, url)
        return found if isinstance(found, Refusal) else self._part(collection, found, what)

    def _stored(self, collection: ServedCollection, url: Url) -> FreshPage | Refusal:
        layout = collection.collection.layout
        document = last_document(layout.tables, layout.spooled, layout.warc, url)
        if document is None:
            return Refusal("not-archived", "The collection does not have this page: use fresh, or crawl it first.")
        preferences = document.page.preferences.and_also(self._stated(collection).of(url))
        page = msgspec.structs.replace(document.page, preferences=preferences)
        fetched_at = document.capture.fetched_at
        return FreshPage(url, page, document.source, fetched_at, document.shown, document.hidden_text)

    def _fetched(self, collection: ServedCollection, url: Url) -> FreshPage | Refusal:
        found = self._fresh_pages(collection).fetch(url)
        if isinstance(found, NotFetched):
            return Refusal(found.reason, HINTS.get(found.reason, "The page cannot be fetched now."), found.detail)
        return found

    def _part(self, collection: ServedCollection, found: FreshPage, what: asked.ReadStored) -> PageText | Refusal:
        page, language = found.page, page_language(found.page)
        withheld = self._withheld(collection, page.preferences)
        parts = [""] if withheld else parts_of(markdown_of(page, found.body, found.shown), what.max_tokens)
        if what.part > len(parts):
            return Refusal("no-such-part", f"The page has {len(parts)} parts.")
        facts = {
            "url": found.url,
            "title": page.title,
            "fetched_at": found.fetched_at.isoformat(timespec="seconds").replace("+00:00", "Z"),
            "language": language,
            "canonical": page.canonical or "",
        }
        front = "\n".join(f"{name}: {json.dumps(value)}" for name, value in facts.items() if value)
        text = "" if withheld else fenced(f"---\n{front}\n---\n\n{parts[what.part - 1]}", f"the authors of {found.url}")
        return PageText(
            url=found.url,
            title=page.title,
            text=text,
            part=what.part,
            parts=len(parts),
            next_part=what.part + 1 if what.part < len(parts) else None,
            fetched_at=found.fetched_at,
            language=language,
            canonical=page.canonical or "",
            withheld=withheld,
            hidden_text=found.hidden_text or None,
        )

    def map(self, what: asked.Map) -> MapAnswer | Refusal:
        """List the URLs that a site publishes."""
        collection = self._collection(what.collection)
        if isinstance(collection, Refusal):
            return collection
        refusal = self._refused_seed(collection, what.site)
        if refusal is not None:
            return refusal
        config = collection.collection.config
        listed = map_found(
            what.site,
            {
                "crawl.contact": config.crawl.contact,
                "politeness.delay": config.politeness.delay,
                "dns.hosts": config.dns.hosts,
                "wire.allow_private": config.wire.allow_private,
                "wire.proxy": config.wire.proxy,
            },
        )
        pages = (
            MappedPage(
                each.url, each.sitemap, None if each.lastmod is None else datetime.fromtimestamp(each.lastmod, UTC)
            )
            for each in listed
            if what.filter in each.url
        )
        return MapAnswer(*fitting(pages, what.limit))

    def crawl(self, what: asked.Crawl) -> CrawlJob | Refusal:
        """Begin a crawl in the background."""
        collection = self._collection(what.collection)
        if isinstance(collection, Refusal):
            return collection
        for seed in what.seeds:
            refusal = self._refused_seed(collection, seed)
            if refusal is not None:
                return refusal
        for name in what.settings:
            refusal = _refused_setting(name)
            if refusal is not None:
                return refusal
        try:
            collection.collection.config.with_options(what.settings, "settings")
        except ConfigError as error:
            return _refusal("bad-argument", error)
        return self._jobs.start(collection.folder, what.seeds, what.limit, what.minutes, what.settings)

    def crawl_status(self, what: asked.CrawlStatus) -> CrawlJob | Refusal:
        """How a crawl is doing."""
        return self._jobs.status(what.id)

    def changes(self, what: asked.Changes) -> ChangesAnswer | Refusal:
        """List what appeared, changed and vanished."""
        collection = self._collection(what.collection)
        if isinstance(collection, Refusal):
            return collection
        layout = collection.collection.layout
        since = moment_of(what.since, time.time()) or 0.0
        sites = (what.site.lower(),) if what.site else ()
        found = changes_since(collection.folder, since, sites=sites, spooled=layout.spooled)
        return ChangesAnswer(*fitting(self._changes(collection, found, what.n), what.n))

    def _changes(self, collection: ServedCollection, found: Iterator[Change], most: int) -> Iterator[PageChange]:
        """Details are looked up only for what is shown."""
        stated = self._stated(collection)
        for number, change in enumerate(found):
            if number >= most:
                yield PageChange(change.url, change.kind.value, datetime.fromtimestamp(change.seen_at, UTC))
                continue
            withheld = self._withheld(collection, stated.of(change.url))
            detail = detail_of(collection.folder, change)
            passages = detail.difference.passages if detail.difference is not None else ()
            shown = [_passage(each) for each in passages if each.is_changed][:MAX_PASSAGES]
            yield PageChange(
                url=change.url,
                kind=change.kind.value,
                seen_at=datetime.fromtimestamp(change.seen_at, UTC),
                title=detail.title,
                reason=change.reason,
                difference=[] if withheld else shown,
                withheld=withheld,
            )

    def useful_links(self, what: asked.UsefulLinks) -> LinksAnswer | Refusal:
        """List the most useful links of a site."""
        collection = self._collection(what.collection)
        if isinstance(collection, Refusal):
            return collection
        try:
            found = ulinks_of(collection.collection, WantedLinks(what.k, what.k, False), what.site)[0]
        except UsageError as error:
            return _refusal("no-site", error)
        links, _ = fitting((UsefulLink(link.url, link.title) for link in found.ulinks), what.k)
        return LinksAnswer(found.site, links)

    def query(self, what: asked.SqlQuery) -> RowsAnswer | Refusal:
        """Query the tables in SQL."""
        if not self._allows_sql:
            return Refusal("sql-off", "Start the server with --sql.")
        collection = self._collection(what.collection)
        if isinstance(collection, Refusal):
            return collection
        answer = reader_of(collection).ask(what.sql, MAX_SQL_ROWS)
        rows, left_out = fitting(answer.rows, MAX_SQL_ROWS)
        return RowsAnswer(answer.names, rows, answer.has_more or left_out > 0)

    def _collection(self, name: str) -> ServedCollection | Refusal:
        if not name:
            return self._served.first
        found = self._served.collections.get(name)
        return found or Refusal("no-collection", f"There are {', '.join(self._served.collections)}.")

    def _stated(self, collection: ServedCollection) -> StatedPreferences:
        layout = collection.collection.layout
        return collection.remembered("stated", lambda: StatedPreferences(layout.tables, layout.spooled))

    def _withheld(self, collection: ServedCollection, preferences: Preferences) -> str:
        is_refused = preferences is not NO_PREFERENCES and preferences.ai_input is Preference.DISALLOW
        return WITHHELD if is_refused and collection.collection.config.agents.obey else ""

    def _fresh_pages(self, collection: ServedCollection) -> FreshPages:
        with self._lock:
            if collection.name not in self._fresh:
                self._fresh[collection.name] = FreshPages(collection.collection)
            return self._fresh[collection.name]

    def _refused_seed(self, collection: ServedCollection, text: str) -> Refusal | None:
        """Why a seed is refused. An agent's seed opens no private address, and the agent learns that at once."""
        try:
            (url,) = seeds_from([text])
        except ConfigError as error:
            return _refusal("not-a-url", error)
        has_host = "." in host_of(url) or host_of(url) == "localhost"
        if "://" not in text and (not has_host or text.startswith("-")):  # etc/passwd, --option
            return Refusal("not-a-url", f"{text[:200]!r} is not a site or URL. Write https:// before a host.")
        if not self._fresh_pages(collection).guard.allows_by_name(site_of(url)):
            return Refusal("private-address", HINTS["private-address"])
        return None


class Verb(Struct, frozen=True):
    """A verb: its arguments, what it returns, and the method."""

    arguments: type[Struct]
    returns: type[Struct]
    call: Callable[[AgentVerbs, Any], Struct]
    is_read_only: bool = True
    fetches: bool = False
    """Whether it sends requests to sites."""
    stored: type[Struct] | None = None
    """If it fetches: the arguments with which it does not."""


VERBS: Final = {
    "search": Verb(asked.Search, SearchAnswer, AgentVerbs.search),
    "read": Verb(asked.Read, PageText, AgentVerbs.read, fetches=True, stored=asked.ReadStored),
    "map": Verb(asked.Map, MapAnswer, AgentVerbs.map, fetches=True),
    "crawl": Verb(asked.Crawl, CrawlJob, AgentVerbs.crawl, is_read_only=False, fetches=True),
    "crawl_status": Verb(asked.CrawlStatus, CrawlJob, AgentVerbs.crawl_status),
    "changes": Verb(asked.Changes, ChangesAnswer, AgentVerbs.changes),
    "useful_links": Verb(asked.UsefulLinks, LinksAnswer, AgentVerbs.useful_links),
    "query": Verb(asked.SqlQuery, RowsAnswer, AgentVerbs.query),
}
"""The verbs by name, in the order in which an agent needs them."""

HINTS: Final = {
    "private-address": "Addresses of private networks are not fetched for agents.",
    "robots": "The site's robots.txt does not allow this page.",
    "robots-unreachable": "The site's robots.txt cannot be fetched, so nothing of the site may be.",
    "budget": "Too many pages were fetched in the last hour: read the stored version, or wait.",
    "busy": "The site must rest before the next request: try again later.",
    "timeout": "The site did not answer in time.",
    "http-404": "The site has no such page.",
}
"""What to do about a refusal, by reason."""


def _refusal(reason: str, error: PeriplusError) -> Refusal:
    """An error of ours as a refusal. Its message may quote a page: DuckDB names the value that it cannot convert."""
    return Refusal(reason, error.hint or "Ask in another way.", str(error))


def _refused_setting(name: str) -> Refusal | None:
    """Why an agent may not set this; `None` if it may."""
    if name in agents_settings():
        return None
    if name in PERSONAL:
        return Refusal("not-for-agents", f"Only the person who runs Periplus may set {name}.")
    return Refusal("not-for-agents", f"Agents may set {', '.join(agents_settings())}, not {name[:100]!r}.")


def _passage(passage: Passage) -> str:
    """A passage with what was removed and added between marks."""
    return " ".join(_MARKS[run.mark].format(run.text) for run in passage.runs)[:MAX_PASSAGE]


_MARKS: Final = {RunStatus.KEPT: "{}", RunStatus.REMOVED: "[-{}-]", RunStatus.ADDED: "{{+{}+}}"}
