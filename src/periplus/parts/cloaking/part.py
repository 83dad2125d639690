"""Cloaking in a crawl: some pages are requested again with a browser's name, and the copies are compared.

Only if `[cloaking] enabled` says so, and only what robots.txt allows both to us and to every other crawler (`*`): the
request hides our name in its `From` field. Politeness counts such requests as visits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field
from xxhash import xxh3_64_intdigest

from periplus.content import decode_body
from periplus.engine.part import Desk, Part, Setup, TakeProbe
from periplus.engine.pipeline import Processed
from periplus.formats.headers import Headers
from periplus.formats.robots import parse
from periplus.model import (
    BROWSER_PROBE,
    Fetched,
    FetchOutcome,
    ParsedPage,
    Probe,
    Redirected,
    Site,
    Source,
    SubjectJudged,
    Url,
)
from periplus.store import SiteState
from periplus.urls import is_home, site_of

from .policy import (
    CloakingFound,
    Copy,
    SiteProbes,
    SiteRedirections,
    Step,
    begin_comparison,
    copy_of,
    count_page,
    end_comparison,
    is_due,
    leads_away,
    most_requests,
    next_step,
    wants_comparison,
)
from .settings import CloakingSettings, CloakingTables, RedirectionSettings

JUDGE: Final = "cloaking"
CRAWLER_PROBE: Final = "cloaking-crawler"
"""The kind of probes that are sent with our own name."""
_OFFENCES: Final = 2
"""Cloaked pages from which their site is judged; a home page counts as two."""
_MAX_WAITING: Final = 10_000
"""Sites that wait for their first comparison; later ones have none."""
_SCRIPT: Final = b"<script"
_MAX_BODY: Final = 1 << 20
"""Bytes of a decoded body in which scripts are looked for."""


class ComparisonState(Struct, array_like=True):
    """The state of comparisons in a commit: requests that were made or are reserved, and the sites that wait."""

    requests: int = 0
    waiting: list[Site] = field(default_factory=list)


class CloakingJudge(Part):
    """Finds cloaked pages, and hosts that redirect their readers to another domain."""

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> list[Part]:
        """One judge."""
        tables = setup.settings.some(CloakingTables)
        return [cls(desk, tables.cloaking, tables.redirections, setup.settings.value("scope.suffixes"))]

    def __init__(
        self,
        desk: Desk,
        settings: CloakingSettings,
        redirections: RedirectionSettings,
        suffixes: tuple[str, ...] = (),
    ) -> None:
        self._state = desk.state
        self._records = desk.records
        self._settings = settings
        self._redirections = redirections
        self._events = desk.events
        self._queue = desk.frontier.queue_probes
        self._worth = desk.frontier.scores.worth
        self._stats = desk.events.stats
        self._suffixes = suffixes
        self.state = desk.saved(ComparisonState) or ComparisonState()

    def probes(self) -> Mapping[str, TakeProbe]:
        """Copies for browsers and for crawlers."""
        return {BROWSER_PROBE: self.take_browser, CRAWLER_PROBE: self.take_crawler}

    def read(self, processed: Processed, now: float) -> None:
        """Judge a page. A query of a form is sent once: forms have an interval of their own."""
        if processed.page is not None and processed.reading is not None:
            is_result = processed.answer.outcome.task.source is Source.FORM
            self.page_read(processed.page, self._stats.pages, now, is_comparable=not is_result)

    def flush(self) -> ComparisonState:
        """The state of comparisons."""
        return self.state

    def page_read(self, page: ParsedPage, pages: int, now: float, *, is_comparable: bool = True) -> None:
        """Count where a page sends its readers, and compare it with what browsers get, if its turn has come.

        `pages` is the number of pages of the crawl. A page that is not `is_comparable` is not requested again.
        """
        target = None
        if page.refresh is not None or page.script_redirect is not None:
            target = leads_away(page, self._redirections, self._suffixes)
            if target is not None:
                self._count_redirection(page, target, now)
        if self._settings.enabled:
            self._consider(page, pages, is_suspect=target is not None, is_comparable=is_comparable, now=now)

    def _count_redirection(self, page: ParsedPage, target: str, now: float) -> None:
        site = self._records.get(site_of(page.url))
        known = site.value(SiteRedirections) or site.keep(SiteRedirections())
        evidence = count_page(known, target, site.pages, self._redirections)
        self._records.changed(site)
        if evidence:
            score = known.targets[target] / max(site.pages, 1)
            verdict = SubjectJudged(site.site, "site", "redirection", "redirects-elsewhere", score, evidence, now)
            self._events.record([verdict])

    # comparisons

    def _consider(self, page: ParsedPage, pages: int, *, is_suspect: bool, is_comparable: bool, now: float) -> None:
        """Note a site for its first comparison, or compare this page; then let waiting sites have theirs."""
        site = self._records.get(site_of(page.url))
        probes = site.value(SiteProbes) or SiteProbes()
        if is_home(page.url) and not probes.compared:
            site.keep(probes)
            probes.home = copy_of(page)
            self._records.changed(site)
        if is_due(probes, site.pages, self._settings):
            site.keep(probes)
            probes.is_noted = True
            self._records.changed(site)
            if len(self.state.waiting) < _MAX_WAITING:
                self.state.waiting.append(site.site)
        elif is_comparable and probes.compared and self._is_affordable(pages):
            is_chosen = xxh3_64_intdigest(page.url.encode()) < self._settings.share * 2**64
            worth, is_suspect = self._worth([page.url])[0], is_suspect or is_chosen
            if wants_comparison(probes, site.pages, self._settings, worth=worth, is_suspect=is_suspect):
                self._begin(site, probes, page.url, copy_of(page), now)
        while self.state.waiting and self._is_affordable(pages):
            self._begin_first(self._records.get(self.state.waiting.pop(0)), page.url, now)

    def _is_affordable(self, pages: int) -> bool:
        return self.state.requests + most_requests(self._settings) <= self._settings.share * pages

    def _begin_first(self, site: SiteState, url: Url, now: float) -> None:
        """Compare the home page of a site."""
        probes = site.value(SiteProbes)
        if probes is not None:
            home = Url(f"{url[: url.index(':')]}://{site.site}/")
            self._begin(site, probes, home, probes.home, now)

    def _begin(self, site: SiteState, probes: SiteProbes, url: Url, copy: Copy | None, now: float) -> None:
        if not self._is_open_to_all(site.site, url):
            return
        begin_comparison(probes, url, copy)
        self.state.requests += most_requests(self._settings)
        self._ask(site, Step.ASK_AS_BROWSER if copy is not None else Step.ASK_AS_CRAWLER, now)

    def _is_open_to_all(self, site: Site, url: Url) -> bool:
        """Whether robots.txt allows a URL to crawlers that it does not name."""
        file = self._state.robots.get(site)
        if file is None or file.access == "none":
            return False
        return file.access == "all" or parse(file.body).access("*").allows(url)

    def take_browser(self, outcome: FetchOutcome, page: ParsedPage | None, now: float) -> None:
        """Take a copy as a browser gets it."""
        self._take(outcome, page, now, is_browser=True)

    def take_crawler(self, outcome: FetchOutcome, page: ParsedPage | None, now: float) -> None:
        """Take another copy as a crawler gets it."""
        self._take(outcome, page, now, is_browser=False)

    def _take(self, outcome: FetchOutcome, page: ParsedPage | None, now: float, *, is_browser: bool) -> None:
        site = self._records.get(outcome.task.site)
        probes = site.value(SiteProbes)
        if probes is None or probes.url != outcome.task.url:
            return
        self._records.changed(site)
        copy = _copy_of(outcome, page)
        if copy is None:
            self._end(probes)
            return
        (probes.browsers if is_browser else probes.crawlers).append(copy)
        step, found = next_step(probes, self._settings, self._suffixes)
        if step is not Step.DECIDED:
            self._ask(site, step, now)
            return
        if found is not None:
            self._report(site, probes, found, now)
        self._end(probes)

    def _end(self, probes: SiteProbes) -> None:
        """Give back the requests that were reserved and not needed."""
        self.state.requests -= max(0, most_requests(self._settings) - probes.asked)
        end_comparison(probes)

    def _ask(self, site: SiteState, step: Step, now: float) -> None:
        """Queue the next request of a comparison."""
        probes = site.value(SiteProbes)
        if probes is not None and probes.url is not None:
            probes.asked += 1
            self._records.changed(site)
            kind = BROWSER_PROBE if step is Step.ASK_AS_BROWSER else CRAWLER_PROBE
            self._queue([Probe(probes.url, kind)], now)

    def _report(self, site: SiteState, probes: SiteProbes, found: CloakingFound, now: float) -> None:
        """Report a verdict on the page; and on its site, once that has offended often enough."""
        url = probes.url or Url("")
        score = min(1.0, 0.5 * found.score) if found.is_offence else 0.0
        probes.is_judged = not found.is_offence
        verdicts = [SubjectJudged(url, "url", JUDGE, found.kind.value, score, found.evidence, now)]
        if found.is_offence:
            before, probes.offences = probes.offences, probes.offences + (2 if is_home(url) else 1)
            probes.is_judged = probes.offences >= _OFFENCES
            if before < _OFFENCES <= probes.offences:
                evidence = (f"cloaked pages, such as {url}", *found.evidence)
                verdicts.append(SubjectJudged(site.site, "site", JUDGE, "cloaks", score, evidence, now))
        self._events.record(verdicts)


def _copy_of(outcome: FetchOutcome, page: ParsedPage | None) -> Copy | None:
    """The copy that a probe returned; `None` if it returned nothing that can be compared."""
    if isinstance(outcome, Redirected):
        return copy_of(None, target=outcome.target)
    return copy_of(page, has_scripts=_has_scripts(outcome)) if page is not None else None


def _has_scripts(outcome: FetchOutcome) -> bool:
    if not isinstance(outcome, Fetched):
        return False
    codings = Headers(outcome.headers).get("content-encoding") or ""
    return _SCRIPT in decode_body(outcome.body, codings, max_size=_MAX_BODY)[0].lower()
