"""From an answer to its page, and to where the page leads.

Which links are followed is decided here as far as the page decides it: what it asks crawlers not to follow is left out
(`nofollow`, on the page or on a link), and so are links within a page (`Links.own`). Whether we want a URL is decided
by filters.

Recently seen links are not reported again: navigation repeats on every page of a site. Where the ordering
learns from every link, what those pass on is added up by URL, so that navigation costs a few rows from time to time
instead of a hundred a page; `gains` returns it. Where the ordering needs every single link (`keeps_links`), each is
reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, compress
from operator import add

from msgspec import Struct
from msgspec.structs import replace
from zstandard import ZstdCompressor, ZstdDecompressor

from periplus.content import RawPage, decode_body, has_text_rule, is_same_body, read_pages
from periplus.formats.headers import Headers
from periplus.formats.preferences import preference_headers
from periplus.model import (
    DOCUMENT_TYPE,
    NO_HINTS,
    Discovery,
    Fetched,
    Hints,
    LinkChunk,
    ParsedPage,
    Render,
    Rows,
    Source,
    Url,
    UrlRecord,
    UrlRecords,
)
from periplus.policy.filters import MediaTypes

from .link_state import LinkState
from .settings import ReadingSettings

_DECLARED = {"video": "video/*", "audio": "audio/*", "source": "", "embed": "", "object": ""}
"""Types of embedded files by the element; others embed images."""
Share = Callable[[int], float]
"""How much each link of a page passes on, given how many it has."""
CountGains = Callable[[Mapping[Url, float]], Iterable[Url]]
"""Counts what URLs gain; returns those that it does not know."""
Complete = Callable[[ParsedPage, RawPage, Fetched], ParsedPage]
"""Completes a page that was read, given its bytes and the answer that they came in."""
Worths = Callable[[ParsedPage, Sequence[tuple[Url, str]], float], dict[Url, float]]
"""What each link of a page is worth, given as URL and anchor, and what the page itself is worth."""


class LinkMemory:
    """Recently seen links, in two generations, so that memory is bounded. Changes are written in chunks."""

    def __init__(self, size: int, rows: Rows[LinkChunk] | None = None, saved: LinkState | None = None) -> None:
        self._size = size
        self._rows = rows
        self._state = saved or LinkState()
        self.young: set[Url] = set()
        self.old: set[Url] = set()
        self._added: list[Url] = []
        self._unwritten: list[LinkChunk] = []
        self._dropped: range = range(0)
        for chunk in rows or ():
            urls = ZstdDecompressor().decompress(chunk.packed).decode().split("\n")
            (self.young if chunk.number >= self._state.young else self.old).update(map(Url, urls))

    def add_all(self, urls: Collection[Url]) -> None:
        """Remember links."""
        self.young.update(urls)
        self._added.extend(urls)

    def age(self) -> None:
        """When the young generation is full it becomes the old one, and the old one is forgotten."""
        if len(self.young) > self._size // 2:
            self._close_chunk()
            self._drop(self._state.old, self._state.young)
            self._state = LinkState(self._state.young, self._state.next, self._state.next)
            self.old, self.young = self.young, set()

    def clear(self) -> None:
        """Forget all links."""
        self._close_chunk()
        self._drop(self._state.old, self._state.next)
        self._state = LinkState(self._state.next, self._state.next, self._state.next)
        self.old, self.young = set(), set()

    def _close_chunk(self) -> None:
        if self._added:
            number = self._state.next
            self._unwritten.append(LinkChunk(number, ZstdCompressor(level=1).compress("\n".join(self._added).encode())))
            self._state = replace(self._state, next=number + 1)
            self._added = []

    def _drop(self, first: int, end: int) -> None:
        self._unwritten = [chunk for chunk in self._unwritten if not first <= chunk.number < end]
        self._dropped = range(min(self._dropped.start, first) if self._dropped else first, end)

    def flush(self) -> LinkState:
        """Write what changed; which chunks are which, to be committed."""
        self._close_chunk()
        if self._rows is not None:
            self._rows.remove(self._dropped)
            self._rows.put(self._unwritten)
        self._unwritten, self._dropped = [], range(0)
        return self._state


class LinkValuation(Struct, frozen=True):
    """What links are worth to the ordering. `learns`: every link matters to it, `keeps_links`: each by itself.

    `worths`: what gives each link its own gain, as in a crawl with a topic.
    """

    learns: bool = False
    keeps_links: bool = False
    worths: Worths | None = None


class PageReader:
    """Reads pages and their links. `valuation`: by default, a link is worth nothing once it was seen.

    `records` hold the last version of each page; `watches`: pages will be revisited. `media`: of a crawl for files,
    which follows what pages embed, too. `completing`: what completes a page that was, or might have been, opened in
    a browser. `inspecting` look at the bytes of every page.
    """

    def __init__(
        self,
        settings: ReadingSettings | None = None,
        valuation: LinkValuation | None = None,
        *,
        records: UrlRecords | None = None,
        watches: bool = False,
        rows: Rows[LinkChunk] | None = None,
        saved: LinkState | None = None,
        media: MediaTypes | None = None,
        completing: Sequence[Complete] = (),
        inspecting: Sequence[Callable[[RawPage], None]] = (),
    ) -> None:
        self._settings = settings or ReadingSettings()
        valuation = valuation or LinkValuation()
        self._learns, self._keeps_links, self._worths = valuation.learns, valuation.keeps_links, valuation.worths
        self._completing = completing
        self._inspecting = inspecting
        self._media = media
        self._records = records
        self._watches = watches
        self._again: dict[Url, float] = {}
        self._gains: dict[Url, float] = {}
        self._seen = LinkMemory(self._settings.remembered_links, rows, saved)

    def read(self, answers: Sequence[Fetched]) -> list[ParsedPage]:
        """Read several pages at once, which is faster. Never raises for their contents."""
        raw, problems = [], []
        known = self._known(answers)
        for answer in answers:
            headers = Headers(answer.headers)
            codings = "" if answer.is_rendered else ",".join(headers.all("content-encoding"))
            content_type = DOCUMENT_TYPE if answer.is_rendered else headers.get("content-type") or ""
            body, wrong = decode_body(answer.body, codings, max_size=self._settings.max_decoded_bytes)
            tags, links = headers.all("x-robots-tag"), headers.all("link")
            parts = self._wants_blocks(known.get(answer.task.url), body)
            use = preference_headers(answer.headers)
            refresh = headers.get("refresh") or ""
            raw.append(RawPage(body, answer.task.url, content_type, tags, links, parts, use, refresh))
            problems.append(wrong)
        for inspect in self._inspecting:
            for page in raw:
                inspect(page)
        pages = read_pages(raw)
        for place, answer in enumerate(answers):
            if answer.rendering is not None or answer.task.render is not Render.NEVER:
                for complete in self._completing:
                    pages[place] = complete(pages[place], raw[place], answer)
        return [
            replace(page, problems=(*wrong, *page.problems)) if wrong else page
            for page, wrong in zip(pages, problems, strict=True)
        ]

    def _known(self, answers: Sequence[Fetched]) -> dict[Url, UrlRecord | None]:
        """The stored versions of the pages that were visited before."""
        again = [answer.task.url for answer in answers if answer.task.visited_at is not None]
        return dict(zip(again, self._records.get(again), strict=True)) if again and self._records is not None else {}

    def _wants_blocks(self, known: UrlRecord | None, body: bytes) -> bool:
        """Whether the blocks of a page are to be compared, now or at the next visit, and are not known already.

        They cost about as much as everything else of a page.
        """
        if known is None or known.digests is None:
            return self._watches
        return not (known.blocks and has_text_rule(known.version) and is_same_body(known.digests, body))

    def forget(self) -> None:
        """Forget links that were seen before: they may be wanted now."""
        self._seen.clear()

    def flush(self) -> LinkState:
        """Write what changed of the memory of links."""
        return self._seen.flush()

    def links(self, page: ParsedPage, depth: int, now: float, share: Share = lambda _links: 0.0) -> list[Discovery]:
        """The links of the page, without those seen recently."""
        if not self._leads_on(page):
            return []
        if self._worths is not None:
            return self._valued_apart(self._worths, page, depth, now, share)
        if self._learns:
            return self._valued_links(page, depth, now, share)
        news = {*page.links.urls, *self._others(page)}.difference(self._seen.young).difference(self._seen.old)
        return self._report(page, news, depth, now) if news else []  # most pages of a site link where the others do

    def _leads_on(self, page: ParsedPage) -> bool:
        settings = self._settings
        return settings.follow_links and (settings.follow_nofollow or not page.directives.nofollow)

    def _report(self, page: ParsedPage, news: set[Url], depth: int, now: float, gain: float = 0.0) -> list[Discovery]:
        first: dict[Url, str] = {}
        for url, anchor in self._followed(page):
            if url in news and url not in first:
                first[url] = anchor
                if len(first) == len(news):
                    break
        self._seen.add_all(first)
        self._seen.age()
        return [_link(page, url, anchor, depth, now, gain) for url, anchor in first.items()]

    def _valued_links(self, page: ParsedPage, depth: int, now: float, share: Share) -> list[Discovery]:
        """The same where every link passes a score on; gains of recently seen links are for `count_again`."""
        if self._keeps_links:
            followed = dict(self._followed(page))
            gain = share(len(followed))
            return [_link(page, url, anchor, depth, now, gain) for url, anchor in followed.items()]
        targets = [*self._targets(page)]
        gain = share(len(targets))
        young, old, again = self._seen.young, self._seen.old, []
        news = set()
        for url in targets:
            if url in young or url in old:
                again.append(url)
            else:
                news.add(url)
        self._again = dict.fromkeys(again, gain) if gain else {}
        return self._report(page, news, depth, now, gain) if news else []

    def _valued_apart(self, value: Worths, page: ParsedPage, depth: int, now: float, share: Share) -> list[Discovery]:
        """The links of a page, each with its own gain, of several to one URL the best."""
        followed = list(self._followed(page))
        worths = value(page, followed, share(len(followed)))
        young, old = self._seen.young, self._seen.old
        again: dict[Url, float] = {}
        found = []
        for url, anchor in dict(followed).items():
            if not self._keeps_links and (url in young or url in old):
                again[url] = worths[url]
            else:
                found.append(_link(page, url, anchor, depth, now, worths[url]))
        self._again = again
        self._seen.add_all([each.url for each in found])
        self._seen.age()
        return found

    def count_again(self, count: CountGains) -> None:
        """Have the links of the last page counted that were seen before; `gains` returns what could not be counted."""
        again, self._again = self._again, {}
        if again:
            held, combine = self._gains, add if self._worths is None else max
            for url in count(again):
                held[url] = combine(held.get(url, 0.0), again[url])

    @property
    def gaining(self) -> int:
        """How many URLs `gains` would return."""
        return len(self._gains)

    def gains(self, now: float) -> list[Discovery]:
        """The gains of links that were not counted, since the last call: one discovery for each URL."""
        gains, self._gains = self._gains, {}
        return [Discovery(url, Source.LINK, now, gain=gain) for url, gain in gains.items() if gain]

    def _targets(self, page: ParsedPage) -> Iterable[Url]:
        """Where a page leads, each URL once: as `_followed` but without anchors, and faster where no link has a rel."""
        if page.links.rels and not self._settings.follow_nofollow:
            return dict(self._followed(page))
        return dict.fromkeys([*page.links.to_others().urls, *self._others(page)])

    def _followed(self, page: ParsedPage) -> Iterable[tuple[Url, str]]:
        """URL and anchor of what is followed."""
        links = page.links
        pairs: Iterable[tuple[Url, str]] = zip(links.urls, links.anchors, strict=True)
        rels = {} if self._settings.follow_nofollow else links.rels
        left_out = [position for position, rel in rels.items() if "nofollow" in rel.split()]
        if left_out or links.own:
            flags = links.flags
            for position in left_out:
                flags[position] = 0
            pairs = compress(pairs, flags)
        return chain(pairs, [(url, "") for url in self._others(page)])

    def _others(self, page: ParsedPage) -> list[Url]:
        """Where a page leads without a link: the same page by other names, its neighbours, and wanted files in it."""
        others = _relatives(page)
        if self._media:
            for resource in page.resources:
                if self._media.wants_url(resource.url, _DECLARED.get(resource.tag, "image/*")):
                    others.append(resource.url)
        return others


def _link(page: ParsedPage, url: Url, anchor: str, depth: int, now: float, gain: float) -> Discovery:
    hints = Hints(anchor=anchor) if anchor else NO_HINTS
    return Discovery(url, Source.LINK, now, depth + 1, page.url, hints, gain=gain)


def _relatives(page: ParsedPage) -> list[Url]:
    """The URLs of the same page under other names, and of its neighbours."""
    relations = page.relations
    refresh = None if page.refresh is None else page.refresh.url
    named = (relations.canonical, relations.next, relations.prev, relations.amphtml, page.script_redirect, refresh)
    found = [url for url in named if url is not None]
    if relations.alternates:
        found += [alternate.url for alternate in relations.alternates]
    return found
