"""Fetches a page on request, outside of any crawl, with the rules of a crawl.

robots.txt is fetched first and obeyed, redirects are checked hop by hop, private addresses are refused, a site rests
between two requests, and there is an hourly budget. Nothing is stored: the page is only returned to the caller.

Reasons of a refusal: `robots`, `robots-unreachable`, `budget` (too many fetches in an hour), `busy` (the site must rest
for longer than a caller waits), `too-many-redirects`, `not-a-page`, and the reasons of the wire (`private-address`,
`timeout`, ...) or `http-404` and its kin.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from periplus.content import NOTHING_HIDDEN, HiddenText, decode_body
from periplus.engine.clock import SystemClock
from periplus.engine.fetch import SingleRequests
from periplus.engine.frontier import delay_after, robots_url
from periplus.engine.frontier.robots import read_robots
from periplus.formats.headers import Headers
from periplus.formats.preferences import of_robots
from periplus.formats.robots import Access, parse
from periplus.model import Excluded, Failed, Fetched, FetchOutcome, ParsedPage, Redirected, Site, Url
from periplus.parts.identity.part import signer_of
from periplus.store.export.documents import read_body
from periplus.urls import site_of

from .collection import CollectionSetup
from .crawl_parts import setup_of

MAX_HOPS: Final = 5
"""Redirects that are followed."""
MAX_WAIT: Final = 30.0
"""Seconds that a caller waits for a site to have rested."""
HOUR: Final = 3600.0
REMEMBERED_SITES: Final = 1_000
"""Sites whose rules and last request are remembered."""


class FreshPage(Struct, frozen=True):
    """A page with its body. `url` is where it was found, after redirects.

    `shown` is the body without what visitors do not see (`hidden_text`), if there is such text.
    """

    url: Url
    page: ParsedPage
    body: bytes
    fetched_at: datetime
    shown: bytes = b""
    hidden_text: HiddenText = NOTHING_HIDDEN


class NotFetched(Struct, frozen=True):
    """Why a page was not fetched."""

    reason: str
    detail: str = ""


class _SiteRules(Struct):
    access: Access | str
    expires_at: float
    rests_until: float = 0.0


class FreshPages:
    """Fetches pages for one collection, one at a time, by its settings."""

    def __init__(self, collection: CollectionSetup, *, wait: Callable[[float], None] = time.sleep) -> None:
        collection.check_trusted()
        config = collection.config
        self._config = config
        self._wait = wait
        self._clock = SystemClock()
        self.guard = config.address_guard()
        self._requests = SingleRequests(
            config.wire,
            identity=config.crawler_identity,
            clock=self._clock,
            dns=config.dns,
            guard=self.guard,
            signer=signer_of(setup_of(collection), self._clock),
        )
        self._sites: OrderedDict[Site, _SiteRules] = OrderedDict()
        self._times: deque[float] = deque()
        self._turn = threading.Lock()

    def fetch(self, url: Url) -> FreshPage | NotFetched:
        """Fetch a page, or say why not."""
        with self._turn:
            if not self._has_budget():
                return NotFetched("budget", f"{self._config.agents.fetches_per_hour} fetches an hour")
            for _ in range(MAX_HOPS + 1):
                refusal = self._refusal(url)
                if refusal is not None:
                    return refusal
                outcome = self._asked(url)
                if not isinstance(outcome, Redirected):
                    return self._read(outcome)
                url = outcome.target
            return NotFetched("too-many-redirects", url)

    def _has_budget(self) -> bool:
        now = self._clock.now()
        while self._times and now - self._times[0] >= HOUR:
            self._times.popleft()
        if len(self._times) >= self._config.agents.fetches_per_hour:
            return False
        self._times.append(now)
        return True

    def _refusal(self, url: Url) -> NotFetched | None:
        rules = self._rules(url)
        if isinstance(rules.access, str):
            is_private = rules.access == "private-address"
            return NotFetched("private-address" if is_private else "robots-unreachable", rules.access)
        if not rules.access.allows(url):
            ruling = rules.access.verdict(url).rule
            return NotFetched("robots", str(ruling or ""))
        return self._rest(rules)

    def _rest(self, rules: _SiteRules) -> NotFetched | None:
        left = rules.rests_until - self._clock.now()
        if left > MAX_WAIT:
            return NotFetched("busy", f"{left:.0f} seconds")
        if left > 0:
            self._wait(left)
        return None

    def _rules(self, url: Url) -> _SiteRules:
        site = site_of(url)
        known = self._sites.get(site)
        if known is not None and known.expires_at > self._clock.now():
            self._sites.move_to_end(site)
            return known
        outcome = self._requests.get(robots_url(url), max_bytes=1 << 20, types=("*/*",))
        file = read_robots(site, outcome, None, self._clock.now())
        access: Access | str = (
            file.reason if file.access == "none" else parse(file.body).access(self._config.crawler_identity.token)
        )
        rules = self._sites[site] = _SiteRules(access, file.expires_at, self._rested_at(outcome, access))
        while len(self._sites) > REMEMBERED_SITES:
            self._sites.popitem(last=False)
        return rules

    def _rested_at(self, outcome: FetchOutcome, access: Access | str) -> float:
        asked = None if isinstance(access, str) else access.crawl_delay
        return self._clock.now() + delay_after(self._config.politeness, asked, getattr(outcome, "duration", 0.0))

    def _asked(self, url: Url) -> FetchOutcome:
        wire = self._config.transfers
        outcome = self._requests.get(url, max_bytes=wire.max_page_bytes, types=wire.accept_types, max_redirects=0)
        rules = self._sites[site_of(url)]
        rules.rests_until = self._rested_at(outcome, rules.access)
        return outcome

    def _read(self, outcome: FetchOutcome) -> FreshPage | NotFetched:
        match outcome:
            case Fetched(status=status) if 200 <= status < 300:
                return self._page(outcome)
            case Fetched(status=status):
                return NotFetched(f"http-{status}")
            case Failed(reason=reason, detail=detail):
                return NotFetched(reason, detail)
            case Excluded(reason=reason):
                return NotFetched(reason)
            case _:
                return NotFetched("bad-response")

    def _page(self, outcome: Fetched) -> FreshPage | NotFetched:
        headers, url = Headers(outcome.headers), outcome.task.url
        body, _ = decode_body(outcome.body, ",".join(headers.all("content-encoding")))
        page, made_html, shown, hidden_text = read_body(body, url, outcome.headers)
        access = self._sites[site_of(url)].access
        if not isinstance(access, str):
            preferences = page.preferences.and_also(of_robots(access, url))
            page = replace(page, preferences=preferences)
        if not page.text and not page.title:
            return NotFetched("not-a-page", page.mime)
        fetched_at = datetime.fromtimestamp(outcome.started_at, UTC)
        return FreshPage(url, page, made_html or body, fetched_at, shown, hidden_text)
