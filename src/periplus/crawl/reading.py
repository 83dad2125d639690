"""From an answer to what the rest of the house wants of it: the page, and where it leads.

Which links are followed is decided here as far as the page decides it: what it asks crawlers not to follow is left
alone (`nofollow`, on the page or on a link). Whether we want a URL is for the filters to say.

Links that were met lately are not told again: navigation repeats on every page of a site. Where an ordering learns from
every link, what those bring is added up by URL, so that navigation costs a few rows from time to time and not a hundred
a page; `gains` hands it over. Where it wants to know who leads where (`keeps_links`), every link is told.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from periplus.content import RawPage, decode_body, is_same_body, read_pages
from periplus.formats.headers import Headers
from periplus.model import NO_HINTS, Discovery, Fetched, Hints, Page, Redirected, Source, Url, UrlRecord, UrlRecords


class ReadingSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How pages are read and which of their links are followed."""

    max_decoded_bytes: int = 32 * 2**20
    """Of a page after its content codings are taken off; the rest is cut off."""
    follow_links: bool = True
    """Whether links are followed at all; without, only what is named: seeds, redirects, and what sitemaps list."""
    follow_nofollow: bool = False
    """Follow links also where a page asks crawlers not to."""
    remembered_links: int = 200_000
    """Links lately met, which need not be looked up again: navigation repeats on every page of a site."""


Share = Callable[[int], float]
"""How much each of so many links of a page passes on."""


class PageReader:
    """Reads pages, and remembers the links lately met, in two generations, so that memory is bounded.

    `records` know what pages said at the last visit, `watches` says that there will be another.
    """

    def __init__(
        self,
        settings: ReadingSettings | None = None,
        *,
        keeps_links: bool = False,
        records: UrlRecords | None = None,
        watches: bool = False,
    ) -> None:
        self._settings = settings or ReadingSettings()
        self._keeps_links = keeps_links
        self._records = records
        self._watches = watches
        self._gains: defaultdict[Url, float] = defaultdict(float)
        self._young: set[Url] = set()
        self._old: set[Url] = set()

    def read(self, answers: Sequence[Fetched]) -> list[Page]:
        """What each page says: several at once, which is sooner. Never raises for what they say."""
        raw, problems = [], []
        known = self._known(answers)
        for answer in answers:
            headers = Headers(answer.headers)
            codings = ",".join(headers.all("content-encoding"))
            body, wrong = decode_body(answer.body, codings, max_size=self._settings.max_decoded_bytes)
            tags, links = headers.all("x-robots-tag"), headers.all("link")
            parts = self._wants_blocks(known.get(answer.task.url), body)
            raw.append(RawPage(body, answer.task.url, headers.get("content-type") or "", tags, links, parts))
            problems.append(wrong)
        return [
            replace(page, problems=(*wrong, *page.problems)) if wrong else page
            for page, wrong in zip(read_pages(raw), problems, strict=True)
        ]

    def _known(self, answers: Sequence[Fetched]) -> dict[Url, UrlRecord | None]:
        """What was kept of the pages that were visited before."""
        again = [answer.task.url for answer in answers if answer.task.visited_at is not None]
        return dict(zip(again, self._records.get(again), strict=True)) if again and self._records is not None else {}

    def _wants_blocks(self, known: UrlRecord | None, body: bytes) -> bool:
        """Whether the parts of a page are to be compared, now or at the next visit, and are not known already.

        They cost about as much as all else of a page, and nothing where nobody comes back.
        """
        if known is None or known.digests is None:
            return self._watches
        return not known.blocks or not is_same_body(known.digests, body)

    def forget(self) -> None:
        """Links met before may be wanted now."""
        self._young, self._old = set(), set()

    def links(self, page: Page, depth: int, now: float) -> list[Discovery]:
        """Where the page leads, but for what was met lately."""
        if not self._leads_on(page):
            return []
        news = {link.url for link in page.links}
        news.update(_relatives(page))
        news -= self._young
        news -= self._old
        return self._tell(page, news, depth, now) if news else []  # most pages of a site lead where the others do

    def _leads_on(self, page: Page) -> bool:
        settings = self._settings
        return settings.follow_links and (settings.follow_nofollow or not page.directives.nofollow)

    def _tell(self, page: Page, news: set[Url], depth: int, now: float, gain: float = 0.0) -> list[Discovery]:
        found = []
        for url, anchor in self._ways(page):
            if url in news:
                news.remove(url)
                self._young.add(url)
                found.append(_link(page, url, anchor, depth, now, gain))
        if len(self._young) > self._settings.remembered_links // 2:
            self._old, self._young = self._young, set()
        return found

    def learn(self, page: Page, depth: int, now: float, share: Share) -> list[Discovery]:
        """The same, where every link passes something on; what those met lately gain is kept for `gains`."""
        if not self._leads_on(page):
            return []
        if self._keeps_links:
            told = dict(self._ways(page))
            gain = share(len(told))
            return [_link(page, url, anchor, depth, now, gain) for url, anchor in told.items()]
        ways = dict.fromkeys(self._targets(page))
        gain = share(len(ways))
        young, old, gains = self._young, self._old, self._gains
        news = set()
        for url in ways:
            if url in young or url in old:
                gains[url] += gain
            else:
                news.add(url)
        return self._tell(page, news, depth, now, gain) if news else []

    @property
    def gaining(self) -> int:
        """How many URLs `gains` would hand over."""
        return len(self._gains)

    def gains(self, now: float) -> list[Discovery]:
        """What links met again have brought since this was last asked, added up: one for each URL."""
        gains, self._gains = self._gains, defaultdict(float)
        return [Discovery(url, Source.LINK, now, gain=gain) for url, gain in gains.items() if gain]

    def _targets(self, page: Page) -> list[Url]:
        """Where a page leads, as `_ways` but without the words; sooner where no link asks for anything."""
        rels = [link.rel for link in page.links]
        if any(rels) and not self._settings.follow_nofollow:
            return [url for url, _ in self._ways(page)]
        return [*[link.url for link in page.links], *_relatives(page)]

    def _ways(self, page: Page) -> Iterator[tuple[Url, str]]:
        follow_all = self._settings.follow_nofollow
        for link in page.links:
            if follow_all or not link.rel or "nofollow" not in link.rel.split():
                yield link.url, link.anchor
        for url in _relatives(page):
            yield url, ""


def _link(page: Page, url: Url, anchor: str, depth: int, now: float, gain: float) -> Discovery:
    hints = Hints(anchor=anchor) if anchor else NO_HINTS
    return Discovery(url, Source.LINK, now, depth + 1, page.url, hints, gain=gain)


def _relatives(page: Page) -> Iterable[Url]:
    """The same page by other names, and its neighbours."""
    relations = page.relations
    for url in (relations.canonical, relations.next, relations.prev, relations.amphtml, page.script_redirect):
        if url is not None:
            yield url
    if page.refresh is not None and page.refresh.url is not None:
        yield page.refresh.url
    for alternate in relations.alternates:
        yield alternate.url


def redirection(outcome: Redirected, gain: float = 0.0) -> Discovery:
    """Where a redirect leads. It is no deeper than where it came from, and gains what a single link would."""
    task = outcome.task
    return Discovery(
        outcome.target,
        Source.REDIRECT,
        outcome.started_at + outcome.duration,
        task.depth,
        task.url,
        redirects=task.redirects + 1,
        gain=gain,
    )
