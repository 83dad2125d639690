"""Soft 404s in a crawl: pages are compared with their site's error templates, and suspicious sites are probed.

A page that resembles a template gets the problem `soft-404` before its row is written. When a template is learnt, the
pages of the site that were read before are compared with it, and a verdict is reported for each that resembles it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from msgspec.structs import replace

from periplus.content import resemblance
from periplus.engine.part import Desk, Part, Setup, TakeProbe
from periplus.engine.pipeline import Processed
from periplus.model import (
    SOFT_404,
    BodyReading,
    Fetched,
    FetchOutcome,
    ParsedPage,
    Probe,
    Problem,
    Purpose,
    Redirected,
    Site,
    SubjectJudged,
    Url,
    UrlRecord,
)
from periplus.store import SiteState
from periplus.urls import is_home, site_of

from .policy import (
    ReadPage,
    SiteAbsence,
    accept_group,
    bare_text,
    begin_probe,
    is_error_target,
    is_short_apology,
    learn_honest,
    learn_nothing,
    learn_target,
    learn_template,
    may_probe,
    soft_404,
    suspect_page,
    suspect_redirect,
    word_count,
)
from .settings import AbsenceSettings, AbsenceTables

_GONE: Final = frozenset({404, 410})
_MAX_COMPARED: Final = 10_000
"""Pages of a site that are compared with a new template: those read before it was known."""
_HEADING: Final = 9
"""Bytes of a stored version before its sketch (`content.digests.version_of`)."""


class AbsenceJudge(Part):
    """Finds soft 404s."""

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> list[Part]:
        """One judge."""
        return [cls(desk, setup.settings.some(AbsenceTables).absence)]

    def __init__(self, desk: Desk, settings: AbsenceSettings) -> None:
        self._state = desk.state
        self._records = desk.records
        self._settings = settings
        self._events = desk.events
        self._queue = desk.frontier.queue_probes

    def probes(self) -> Mapping[str, TakeProbe]:
        """Answers for URLs that cannot exist."""
        return {SOFT_404: self.take_probe}

    def read(self, processed: Processed, now: float) -> None:
        """Judge a page, or a redirect."""
        outcome, page, reading = processed.answer.outcome, processed.page, processed.reading
        if page is not None and reading is not None:
            self.page_read(page, reading, now)
        elif isinstance(outcome, Redirected) and outcome.task.purpose is Purpose.PAGE:
            self.redirected(outcome, now)

    def mark(self, page: ParsedPage) -> ParsedPage:
        """The page, with a problem if it resembles an error template of its site."""
        known = self._records.get(site_of(page.url)).value(SiteAbsence)
        if known is None or not known.templates:
            return page
        bare = bare_text(page.url, page.text, self._settings, page.statistics.words)
        template = soft_404(known, _read_page(page, bare), self._settings)
        if template is None:
            return page
        return replace(page, problems=(*page.problems, Problem(SOFT_404, f"as {template.of}")))

    def page_read(self, page: ParsedPage, reading: BodyReading, now: float) -> None:
        """Note a page that may be an error page, and probe its site if it is suspicious."""
        if not self._settings.enabled or is_home(page.url) or page.is_soft_404:
            return
        words = page.statistics.words
        bare = 0 if reading.is_copy else bare_text(page.url, page.text, self._settings, words)
        if not reading.is_copy and not bare and not is_short_apology(page.title, page.text, self._settings, words):
            return
        site = self._records.get(site_of(page.url))
        known = site.value(SiteAbsence) or SiteAbsence()
        if now < known.honest_until:
            return
        site.keep(known)
        read = _read_page(page, bare, reading.cluster, word_count(page.text), is_copy=reading.is_copy)
        is_suspicious = suspect_page(known, read, self._settings)
        self._records.changed(site)
        if not is_suspicious:
            return
        if accept_group(known, read, self._settings):
            found = [page.url, *(url for url in self._resembling(site.site, page) if url != page.url)]
            self._report(site, found, f"the site shows the same at {len(found)} URLs, and other error pages", now)
        else:
            self._probe(site, page.url, now)

    def redirected(self, outcome: Redirected, now: float) -> None:
        """Judge a redirect: to where absent pages lead, or to the home page."""
        url, target = outcome.task.url, outcome.target
        if not self._settings.enabled or is_home(url):
            return
        site = self._records.get(site_of(url))
        if is_error_target(site.value(SiteAbsence), url, target):
            self._report(site, [url], f"it redirects to {target}, as missing pages of the site do", now)
        elif is_home(target):
            known = site.value(SiteAbsence) or site.keep(SiteAbsence())
            is_suspicious = suspect_redirect(known, url, target)
            self._records.changed(site)
            if is_suspicious:
                self._probe(site, url, now)

    def take_probe(self, outcome: FetchOutcome, page: ParsedPage | None, now: float) -> None:
        """Learn from the answer for a URL that cannot exist."""
        site = self._records.get(outcome.task.site)
        known = site.value(SiteAbsence)
        if known is None or known.probe is None:
            return
        asked = known.probe
        if isinstance(outcome, Redirected):
            found = learn_target(known, outcome.target)
            self._report(site, found, f"it redirects to {outcome.target}, as {asked} does", now)
        elif isinstance(outcome, Fetched) and outcome.status in _GONE:
            learn_honest(known, self._settings, now)
        elif page is not None and self._is_informative(site.site, page, asked):
            self._learn_template(site, known, page, asked, now)
        else:
            learn_nothing(known)
        self._records.changed(site)

    def _is_informative(self, site: Site, page: ParsedPage, asked: Url) -> bool:
        """Whether the answer for a URL that cannot exist shows how the site answers for missing pages.

        If a value of a parameter was made up, pages with another value must differ, or the parameter may be idle; and
        so must the page without the parameter, or the site ignores values that it does not know.
        """
        if "?" not in asked:
            return True
        start = asked.rpartition("=")[0] + "="
        without = [Url(asked.rpartition(mark)[0]) for mark in "?&" if mark in asked]
        for known in self._state.records.get(without):
            if known is not None and _resembles(known, page, self._settings.least_likeness):
                return False
        others = (each for each in islice(self._state.records.of_site(site), _MAX_COMPARED) if each.digests is not None)
        least = self._settings.least_likeness
        return any(each.url.startswith(start) and not _resembles(each, page, least) for each in others)

    def _learn_template(self, site: SiteState, known: SiteAbsence, page: ParsedPage, asked: Url, now: float) -> None:
        home = self._state.records.get([_home_of(asked)])[0]
        count = len(known.templates)
        bare = bare_text(page.url, page.text, self._settings, page.statistics.words)
        noted = learn_template(
            known, _read_page(page, bare), home.digests.main if home and home.digests else None, self._settings, now
        )
        if len(known.templates) > count or noted:
            found = dict.fromkeys([*noted, *self._resembling(site.site, page)])
            self._report(site, list(found), f"it shows the same as {asked}, which cannot exist", now)

    def _resembling(self, site: Site, page: ParsedPage) -> Iterable[Url]:
        """The pages of a site that were read before and resemble its error page."""
        for record in islice(self._state.records.of_site(site), _MAX_COMPARED):
            if _resembles(record, page, self._settings.least_likeness) and not is_home(record.url):
                yield record.url

    def _report(self, site: SiteState, urls: Sequence[Url], evidence: str, now: float) -> None:
        """Report soft 404s: they leave their clusters, and each gets a verdict."""
        if not urls:
            return
        self._state.sketches.remove(list(urls))
        self._events.record([SubjectJudged(url, "url", SOFT_404, SOFT_404, 1.0, (evidence,), now) for url in urls])
        self._records.changed(site)

    def _probe(self, site: SiteState, suspect: Url, now: float) -> None:
        known = site.value(SiteAbsence)
        if known is not None and may_probe(known, self._settings, now):
            url = begin_probe(known, suspect, self._settings, now)
            self._records.changed(site)
            self._queue([Probe(url, SOFT_404)], now)


def _read_page(page: ParsedPage, bare: int = 0, cluster: int = 0, words: int = 0, *, is_copy: bool = False) -> ReadPage:
    """The parts of a page that are compared; `words` only decide whether a group of pages is an error template."""
    name = bare or cluster or page.digests.main
    return ReadPage(page.url, page.title, page.sketch, page.digests.main, words, name, is_copy, bare)


def _resembles(record: UrlRecord, page: ParsedPage, least: float) -> bool:
    if record.digests is None or not record.version:
        return False
    sketch = record.version[_HEADING:]
    return record.digests.main == page.digests.main or (bool(sketch) and resemblance(sketch, page.sketch) >= least)


def _home_of(url: Url) -> Url:
    return Url(url[: url.index("/", 8) + 1])
