"""Cloaking in a crawl: some pages are requested again with a browser's name, and the copies are compared.

Only if `[cloaking] enabled` says so, and only what robots.txt allows both to us and to every other crawler (`*`): the
request hides our name in its `From` field. Politeness counts such requests as visits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from periplus.content import decode_body
from periplus.formats.headers import Headers
from periplus.formats.robots import parse
from periplus.model import EventSink, Fetched, FetchOutcome, Judged, Page, Probe, Redirected, Site, Url
from periplus.policy.absence import is_home
from periplus.policy.cloaking import (
    BROWSER_PROBE,
    CRAWLER_PROBE,
    CloakingFound,
    CloakingSettings,
    Copy,
    RedirectionSettings,
    SiteProbes,
    SiteRedirections,
    Step,
    begin_comparison,
    copy_of,
    count_page,
    end_comparison,
    leads_away,
    may_compare,
    next_step,
    wants_comparison,
)
from periplus.store import SiteState, State
from periplus.urls import site_of

from ..frontier import SiteRecords

JUDGE: Final = "cloaking"
_OFFENCES: Final = 2
"""Cloaked pages from which their site is judged; a home page counts as two."""
_SCRIPT: Final = b"<script"
_MAX_BODY: Final = 1 << 20
"""Bytes of a decoded body in which scripts are looked for."""


class ProbeCount(Struct):
    """The requests for comparison that a shard has queued so far."""

    requests: int = 0


class CloakingJudge:
    """Finds cloaked pages, and hosts that redirect their readers to another domain."""

    def __init__(
        self,
        state: State,
        records: SiteRecords,
        settings: CloakingSettings,
        redirections: RedirectionSettings,
        *,
        events: EventSink,
        queue: Callable[[Sequence[Probe], float], None],
        worth: Callable[[Sequence[Url]], list[float]],
        suffixes: tuple[str, ...] = (),
        count: ProbeCount | None = None,
    ) -> None:
        self._state = state
        self._records = records
        self._settings = settings
        self._redirections = redirections
        self._events = events
        self._queue = queue
        self._worth = worth
        self._suffixes = suffixes
        self.count = count or ProbeCount()

    def page_read(self, page: Page, pages: int, now: float) -> None:
        """Count where a page sends its readers, and compare it with what browsers get, if its turn has come.

        `pages` is the number of pages of the crawl.
        """
        target = None
        if page.refresh is not None or page.script_redirect is not None:
            target = leads_away(page, self._redirections, self._suffixes)
            if target is not None:
                self._count_redirection(page, target, now)
        if self._settings.enabled:
            self._consider(page, pages, is_suspect=target is not None, now=now)

    def _count_redirection(self, page: Page, target: str, now: float) -> None:
        site = self._records.get(site_of(page.url))
        site.redirections = known = site.redirections or SiteRedirections()
        evidence = count_page(known, target, site.pages, self._redirections)
        self._records.changed(site)
        if evidence:
            score = known.targets[target] / max(site.pages, 1)
            verdict = Judged("site", site.site, "redirection", "redirects-elsewhere", score, evidence, now)
            self._events.record([verdict])

    # comparisons

    def _consider(self, page: Page, pages: int, *, is_suspect: bool, now: float) -> None:
        """Begin a comparison of the home page, or of this page, if both the site and the crawl have requests left."""
        site = self._records.get(site_of(page.url))
        probes = site.cloaking or SiteProbes()
        is_affordable = self.count.requests + 2 <= self._settings.share * pages
        if not is_affordable or not may_compare(probes, site.pages, self._settings):
            return
        home = _home_of(page.url)
        is_own = probes.is_home_done or page.url == home
        if probes.is_home_done:
            is_chosen = xxh3_64_intdigest(page.url.encode()) < self._settings.share * 2**64
            worth = self._worth([page.url])[0]
            if not wants_comparison(probes, worth=worth, is_suspect=is_suspect or is_chosen):
                return
        url = page.url if is_own else home
        if not self._is_open_to_all(site.site, url):
            return
        site.cloaking = probes
        begin_comparison(probes, url, copy_of(page) if is_own else None, is_home=url == home)
        self._ask(site, Step.ASK_AS_BROWSER if is_own else Step.ASK_AS_CRAWLER, now)

    def _is_open_to_all(self, site: Site, url: Url) -> bool:
        """Whether robots.txt allows a URL to crawlers that it does not name."""
        file = self._state.robots.get(site)
        if file is None or file.access == "none":
            return False
        return file.access == "all" or parse(file.body).access("*").allows(url)

    def take_browser(self, outcome: FetchOutcome, page: Page | None, now: float) -> None:
        """A copy as a browser gets it."""
        self._take(outcome, page, now, is_browser=True)

    def take_crawler(self, outcome: FetchOutcome, page: Page | None, now: float) -> None:
        """Another copy as a crawler gets it."""
        self._take(outcome, page, now, is_browser=False)

    def _take(self, outcome: FetchOutcome, page: Page | None, now: float, *, is_browser: bool) -> None:
        site = self._records.get(outcome.task.site)
        probes = site.cloaking
        if probes is None or probes.url != outcome.task.url:
            return
        self._records.changed(site)
        copy = _copy_of(outcome, page)
        if copy is None:
            end_comparison(probes)
            return
        (probes.browsers if is_browser else probes.crawlers).append(copy)
        step, found = next_step(probes, self._settings, self._suffixes)
        if step is Step.DECIDED:
            if found is not None:
                self._report(site, probes, found, now)
            end_comparison(probes)
        else:
            probes.requests += 1
            self._ask(site, step, now)

    def _ask(self, site: SiteState, step: Step, now: float) -> None:
        """Queue the next request of a comparison."""
        if site.cloaking is not None and site.cloaking.url is not None:
            self.count.requests += 1
            self._records.changed(site)
            kind = BROWSER_PROBE if step is Step.ASK_AS_BROWSER else CRAWLER_PROBE
            self._queue([Probe(site.cloaking.url, kind)], now)

    def _report(self, site: SiteState, probes: SiteProbes, found: CloakingFound, now: float) -> None:
        """A verdict on the page; and on its site, once that has offended often enough."""
        url = probes.url or Url("")
        score = min(1.0, 0.5 * found.score) if found.is_offence else 0.0
        verdicts = [Judged("url", url, JUDGE, found.kind.value, score, found.evidence, now)]
        if found.is_offence:
            before, probes.offences = probes.offences, probes.offences + (2 if is_home(url) else 1)
            if before < _OFFENCES <= probes.offences:
                evidence = (f"cloaked pages, such as {url}", *found.evidence)
                verdicts.append(Judged("site", site.site, JUDGE, "cloaks", score, evidence, now))
        self._events.record(verdicts)


def _copy_of(outcome: FetchOutcome, page: Page | None) -> Copy | None:
    """What a probe brought; `None` if it brought nothing that can be compared."""
    if isinstance(outcome, Redirected):
        return copy_of(None, target=outcome.target)
    return copy_of(page, has_scripts=_has_scripts(outcome)) if page is not None else None


def _has_scripts(outcome: FetchOutcome) -> bool:
    if not isinstance(outcome, Fetched):
        return False
    codings = Headers(outcome.headers).get("content-encoding") or ""
    return _SCRIPT in decode_body(outcome.body, codings, max_size=_MAX_BODY)[0].lower()


def _home_of(url: Url) -> Url:
    return Url(url[: url.index("/", 8) + 1])
