"""When pages are visited again: who is due, and what a visit must be worth.

The policy is `policy.refresh`; here it meets what is kept: the evidence of pages and sites (`lessons`), and the
calendar. Who was visited goes into the calendar. When its time has come it is
looked at once more, since the price and what is known of its site may have changed, and then waits with its site or
goes back to sleep. So nothing of it is in memory, however many pages there are.

A crawl that does not watch keeps evidence and calendar all the same, with no time but that of the visit: whoever
watches the collection later finds all that was learnt.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from random import Random

from msgspec.structs import replace

from periplus.content import ChurnSettings, compared_of
from periplus.model import (
    Discovered,
    Discovery,
    Event,
    Fetched,
    FetchOutcome,
    Lane,
    NotModified,
    Queued,
    Reading,
    Redirected,
    Site,
    SiteState,
    Source,
    State,
    Url,
    UrlRecord,
    Validators,
)
from periplus.policy.ordering import level_of
from periplus.policy.refresh import (
    DAY,
    Appraisal,
    Bid,
    RefreshRetirementSettings,
    RefreshSettings,
    SignalKind,
    Weigher,
    after_setback,
    unpack_page,
    unpack_site,
    why_worthless,
)
from periplus.urls import site_of

from .lessons import Lessons
from .panel import Freshness, Gauge, waiting_again
from .rounds import Rounds
from .shares import Shares
from .spending import Spending, Watching
from .takings import Takings
from .valuing import Valuer
from .workbench import ActiveSite

_LOOKED_AT = 200
"""So many of the calendar are looked at in one step."""
_COMPARED_SHARE = 0.05
"""Of a site's pages, at most: so many may be visited twice in a row."""
_HALFWAY = 0.25
"""Of the time from one visit to the next: who is drawn before that would teach little."""
_LEAST_WORTH = 0.01
"""A visit must be worth so much of the shortest pause between two: idle hands make no work."""
_LATEST_READING = 0.25
"""Days: files also tell of new pages."""
_LOOKED_AHEAD = 20
"""So many are looked at before their time while nobody is due."""
_LEAST_WAITING = 20
"""Visits of an hour may wait with their sites, or so many; others sleep on, and are looked at when there is room."""
_LONGEST_PAUSE = 600.0
"""So often at least it is looked at how fresh all is."""
_MOST_OUT = 10_000
"""Pages under way that are remembered, at most."""
_WITHOUT_CONDITION = 0.1
"""The share of second visits that ask without a condition."""


class Refresher:
    """Decides on second visits, and learns from them. Without `watching` it only learns."""

    def __init__(
        self,
        state: State,
        rounds: Rounds,
        settings: RefreshSettings | None = None,
        retirement: RefreshRetirementSettings | None = None,
        *,
        watching: Watching | None = None,
        weigh: Weigher | None = None,
        churn: ChurnSettings | None = None,
        random: Random | None = None,
    ) -> None:
        self._churn = churn or ChurnSettings()
        self._state = state
        self._rounds = rounds
        self._retirement = retirement or RefreshRetirementSettings()
        self._watching = watching
        self._random = random or Random(0)  # noqa: S311 - chance, not secrets
        self._valuer = Valuer(settings, weigh)
        self._weigh = self._valuer.weigh
        self._appraiser = self._valuer.appraiser
        self._room = 0
        self._lessons = Lessons(state, rounds, is_watching=watching is not None)
        self._takings = Takings(state)
        self._out: dict[Url, None] = {}
        self._idle_since: float | None = None
        self._is_idle = False
        self._gauge: Gauge | None = None
        self.spending = Spending(state, watching, self._valuer, self._lessons)
        if watching is not None:
            waiting = waiting_again(state)
            visits_a_day = self.spending.visits_a_day
            rounds.again, self._room = len(waiting), max(_LEAST_WAITING, round(visits_a_day / 24))
            rounds.level_of_new = self._level_of_new
            rounds.shares = Shares(self._appraiser.settings.refresh_share, self._appraiser.settings.new_share)
            urls = chain(state.calendar, waiting)
            self._gauge = Gauge(state.records, self._lessons.evidence_of, urls, _pause(visits_a_day), self._random)
            self._weigh.settle(self._gauge.urls)
            self.spending.begin(self._gauge.urls, self._pages)

    def save(self) -> None:
        """Keep the price, and what weights are measured by; the caller commits."""
        self.spending.save()

    # what it may spend

    def afford(self, visits_a_day: float) -> None:
        """Its share of the visits is another from now on."""
        self.spending.afford(visits_a_day)
        self._room = max(_LEAST_WAITING, round(visits_a_day / 24))
        if self._gauge is not None:
            self._gauge.pause = _pause(visits_a_day)

    def bid(self, now: float) -> Bid | None:
        """What it says of its visits, so that all parts of a crawl come to one price."""
        if self._gauge is None:
            return None
        return self.spending.bid(self._gauge.urls, self._pages, now)

    @property
    def _pages(self) -> int:
        """Those that it may come back to."""
        return len(self._state.calendar) + self._rounds.again

    @property
    def is_watching(self) -> bool:
        """Whether pages are visited again at all."""
        return self._watching is not None

    @property
    def price(self) -> float:
        """What a visit must be worth now."""
        return self._appraiser.price.value

    # what is learnt

    def visited(
        self,
        active: ActiveSite,
        before: UrlRecord,
        after: UrlRecord,
        outcome: FetchOutcome,
        reading: Reading | None,
        now: float,
    ) -> UrlRecord:
        """A visit has ended, well or for good: the record with what it taught, in the calendar for the next."""
        self._out.pop(after.url, None)
        page = self._lessons.of_visit(active, before, after, outcome, reading, now)
        gains = self._takings.of_visit(active.state, before, after, outcome, reading, now)
        active.is_changed = True
        after = replace(after, evidence=page.pack() if page.visited_at else b"", gains=gains)
        if isinstance(outcome, NotModified) or (reading is not None and isinstance(outcome, Fetched)):
            is_noise = self._asks_what_is_noise(active, before, after, now)
            due_at: float | None = now if is_noise else self._due_at(after, active.state, now)
        elif isinstance(outcome, Redirected):
            due_at = now + self._appraiser.settings.longest
        else:
            setback = after_setback(after.status, after.failures, now, self._retirement)
            due_at = None if setback.retired else setback.again_at
        self._state.calendar.move([(after.url, before.due_at, due_at)])
        if self._gauge is not None and page.visited_at:
            self._gauge.meet(after.url)
        self._think_again(after.url, now)
        return replace(after, due_at=due_at)

    def _asks_what_is_noise(self, active: ActiveSite, before: UrlRecord, after: UrlRecord, now: float) -> bool:
        """Whether to come back at once: all that differs then is noise. So a few pages of a site are visited.

        A site that is small, or of which enough visits were compared, is spared that; and so is who was just there.
        """
        if self._watching is None or not after.blocks:
            return False
        if before.fetched_at is not None and now - before.fetched_at <= self._appraiser.settings.shortest:
            return False
        pages = unpack_site(active.state.signals).pages
        return bool(compared_of(active.state.churn) < min(self._churn.sample, pages * _COMPARED_SHARE))

    def _think_again(self, but: Url, now: float) -> None:
        """What a visit says of its site may say something else of other pages: they are due at another time."""
        for record in self._lessons.moved(but):
            due_at = record.due_at
            if due_at is not None and not record.failures:
                due_at = self._due_at(record, self._site(record.url), now)
                self._state.calendar.move([(record.url, record.due_at, due_at)])
            self._state.records.put([replace(record, due_at=due_at)])

    def heard(self, discovery: Discovery, known: UrlRecord) -> UrlRecord:
        """Somebody tells of a page that is known: the record with what was said; who was changed may be due sooner."""
        after = self._lessons.heard(discovery, known)
        if known.due_at is None and self._is_told_again(discovery, known):
            self._state.calendar.move([(after.url, None, discovery.found_at)])
            return replace(after, due_at=discovery.found_at, failures=0)
        if after.evidence == known.evidence or after.due_at is None:  # nothing new; it waits already, or was given up
            return after
        return self._sooner(after, self._due_at(after, self._site(after.url), discovery.found_at))

    def _is_told_again(self, discovery: Discovery, known: UrlRecord) -> bool:
        """Whether a page that was given up is said to have changed since."""
        lastmod = discovery.hints.lastmod
        is_later = lastmod is not None and known.fetched_at is not None and lastmod.at > known.fetched_at
        if not known.failures or not (is_later or discovery.source is Source.PING):
            return False
        return bool(after_setback(known.status, known.failures, discovery.found_at, self._retirement).retired)

    def _sooner(self, record: UrlRecord, due_at: float) -> UrlRecord:
        """Who sleeps may have a reason to wake before its time."""
        if record.due_at is None or due_at >= record.due_at:
            return record
        self._state.calendar.move([(record.url, record.due_at, due_at)])
        return replace(record, due_at=due_at)

    def spawned(self, events: Iterable[Event]) -> None:
        """URLs were told of, some for the first time: whose links did that on a later visit is worth coming back to."""
        if not self._takings.is_leading:
            return
        told = (event.discovery for event in events if isinstance(event, Discovered) and event.is_new)
        new = Counter(each.referrer for each in told if each.referrer is not None and each.source is Source.LINK)
        records = self._takings.spawned(new)
        for record in list(records):
            due_at = self._due_at(record, self._site(record.url), unpack_page(record.evidence).visited_at)
            self._state.records.put([self._sooner(record, due_at)])

    def linked(self, url: Url, links: Iterable[Url], now: float) -> None:
        """A page was visited again that leads to new ones: to whom else it leads anew may have changed."""
        listed, anew = self._takings.linked(url, links)
        if not listed:
            return
        for record in anew:
            told = replace(record, evidence=unpack_page(record.evidence).told(SignalKind.HUB).pack())
            due_at = self._due_at(told, self._site(told.url), now)
            self._state.records.put([self._sooner(told, due_at)])
        self._lessons.named(site_of(url), listed, len(anew))

    def polled(self, site: Site, source: Source, listed: int, moved: int, *, is_generated: bool = False) -> None:
        """A file of a site was read again, and says of so many pages that they changed."""
        self._lessons.polled(site, source, listed, moved, is_generated=is_generated)

    def pause_of_files(self, site: Site) -> float:
        """Seconds before which it does not pay to read a file of a site again, while it is watched.

        Who reads every P days hears of R changes a day P/2 days late, which costs R P/2 days of a fresh copy a day, and
        1/P readings a day: the least in all is at P = sqrt(2 price/R).
        """
        if self._watching is None:
            return 0.0
        useful = self._lessons.evidence_of(site).useful
        return DAY * min(math.sqrt(2.0 * self.price / useful) if useful else math.inf, _LATEST_READING)

    def _level_of_new(self, active: ActiveSite, entry: Queued) -> int:
        """At which level a page of a site waits that was never visited, in the currency of those that were."""
        return level_of(self._valuer.new(entry.url, entry.lane, active.state) / self.price)

    # who is due

    def release(self, now: float) -> list[Queued]:
        """Let those wait with their sites whose visit is worth its price by now; which those are.

        With some of them one goes that was drawn by chance, so that what is believed of pages stays unbiased.
        """
        if self._rounds.again >= self._room:
            return []
        due = self._state.calendar.due(now, min(_LOOKED_AT, 2 * (self._room - self._rounds.again)))
        if not due and self._is_idle:  # the price has fallen: who would be next may be worth it by now
            due = self._state.calendar.due(math.inf, _LOOKED_AHEAD)
        entries = []
        for (url, at), record in zip(due, self._state.records.get([url for url, _ in due]), strict=True):
            if record is None or record.due_at != at:
                self._state.calendar.move([(url, at, None)])
                continue
            self._lessons.meet(site_of(url), now)
            seen = self._appraise(record, now)
            due_at = at if seen is None else seen.due_at
            if why_worthless(self._weigh(url)):  # its weight is looked up again some time: a user may change it
                due_at = now + self._appraiser.settings.longest
            if due_at > now:
                if due_at < at or at <= now:
                    self._state.calendar.move([(url, at, due_at)])
                    self._state.records.put([replace(record, due_at=due_at)])
            else:
                entries.append(self._woken(record, seen))
        share = self._appraiser.settings.explore_share
        draws = sum(self._random.random() < share for _ in entries)
        if self._is_idle and not entries:  # a visit that nobody is worth is worth what it teaches
            draws = 1
        for _ in range(draws):  # after the others, or one of those could be woken twice
            entries += self._drawn(now)
        self._state.queues.push(entries)
        return entries

    def _woken(self, record: UrlRecord, seen: Appraisal | None) -> Queued:
        self._state.calendar.move([(record.url, record.due_at, None)])
        self._state.records.put([replace(record, due_at=None)])
        level = level_of(1.0) if seen is None else seen.level
        return Queued(record.url, site_of(record.url), Lane.REFRESH, level)

    def recall(self, url: Url) -> list[Queued]:
        """Wake a page again that was out when a process ended, if it sleeps: it was woken after the last commit."""
        record = self._state.records.get([url])[0]
        entries = [] if record is None or record.due_at is None else [self._woken(record, None)]
        self._state.queues.push(entries)
        return entries

    def _drawn(self, now: float) -> list[Queued]:
        """One by chance; none, if most of the time until its visit lies ahead, or it is no page any more."""
        drawn = None if self._gauge is None else self._gauge.drawn()
        [record] = [None] if drawn is None else self._state.records.get([drawn])
        if record is None or record.due_at is None or record.failures or why_worthless(self._weigh(record.url)):
            return []
        seen_at = unpack_page(record.evidence).visited_at
        pause = max(self._appraiser.settings.shortest, (record.due_at - seen_at) * _HALFWAY)
        return [self._woken(record, None)] if now - seen_at >= pause and record.status in (200, 304) else []

    def next_at(self) -> float | None:
        """When somebody is due next, if there is room."""
        if self._rounds.again >= self._room:
            return None
        return self._state.calendar.next_due()

    def condition(self, active: ActiveSite, record: UrlRecord) -> Validators | None:
        """On what condition to ask for a page again: none where 304 is not to be believed, nor on a few visits else."""
        if not self.is_watching:
            return record.validators
        is_tried = self._random.random() < _WITHOUT_CONDITION
        return None if is_tried or not self._lessons.believes_validators(active) else record.validators

    def lent(self, record: UrlRecord, now: float) -> None:
        """A page is visited again: the price follows what it is worth, once, however often it has to be asked for."""
        self._idle_since, self._is_idle = now, False
        if record.url in self._out:
            return
        self._out[record.url] = None
        if len(self._out) > _MOST_OUT:
            del self._out[next(iter(self._out))]
        seen = self._appraise(record, now)
        if seen is not None:
            self._appraiser.price.served(seen.worth, len(self._state.calendar))

    def idled(self, now: float) -> None:
        """There was time for visits, and nobody was worth one: the price falls."""
        if self._watching is None:
            return
        since, self._idle_since, self._is_idle = self._idle_since, now, True
        if since is not None and now > since:
            missed = (now - since) / DAY * self.spending.visits_a_day
            least = _LEAST_WORTH * self._appraiser.settings.shortest / DAY
            if self.price > least:
                self._appraiser.price.missed(missed, len(self._state.calendar))

    def freshness(self, now: float) -> Freshness | None:
        """How fresh the collection is now, from the pages that stand for all."""
        return None if self._gauge is None else self._gauge.read(self._pages, self.price, now)

    def _appraise(self, record: UrlRecord, now: float) -> Appraisal | None:
        if record.failures or not record.evidence:
            return None
        return self._valuer.appraise(record, self._site(record.url), now)

    def _due_at(self, record: UrlRecord, site: SiteState | None, now: float) -> float:
        if self._watching is None:
            return unpack_page(record.evidence).visited_at
        return self._valuer.due_at(record, site, now)

    def _site(self, url: Url) -> SiteState | None:
        site = site_of(url)
        active = self._rounds.bench.get(site)
        return active.state if active is not None else self._state.sites.get([site])[0]


def _pause(visits_a_day: float) -> float:
    """Seconds between two looks at how fresh all is."""
    return min(10 * DAY / visits_a_day, _LONGEST_PAUSE)
