"""Decides when pages are visited again: the one class of this package that the frontier uses.

A page that was visited gets a time in the calendar, at which its next visit is expected to be worth the price. When
that time has come, `due` values it once more, since the price and what is known of its site may have changed; it is
then returned to be queued with its site, or postponed. So memory does not grow with the number of pages.

A crawl that does not watch keeps evidence and calendar as well, with the time of the visit as due time, so that a later
watch of the collection starts with all that was learnt.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from periplus.content import ChurnSettings
from periplus.engine.frontier import is_temporary
from periplus.engine.frontier.revisiting import Revisiting, ToldPage
from periplus.model import (
    Bid,
    BodyReading,
    Discovery,
    Event,
    FetchOutcome,
    Freshness,
    Lane,
    NextVisit,
    Queued,
    Redirected,
    Site,
    Source,
    Url,
    UrlDiscovered,
    UrlRecord,
    Validators,
)
from periplus.policy.ordering import level_of
from periplus.policy.weights import PageWeights
from periplus.store import SiteState, State
from periplus.urls import site_of

from .budget import RevisitQuota, VisitBudget, Watching, weighting_of
from .change_history import ChangeHistory, Revised, is_announced, is_page, named_again_at
from .evidence import DAY, SignalKind, unpack_page
from .freshness import CLOCK_ERROR, FreshnessEstimator, bring_back, queued_revisits
from .gains import NO_SITE_GAINS, SiteGains
from .page_rates import boost_of
from .page_value import Appraisal
from .records import LiveSiteRecords, RevisitState, SampleRows
from .settings import RefreshSettings
from .signals import NO_EVIDENCE, SiteEvidence
from .visit_stats import VisitStats
from .visit_value import UpcomingVisits, VisitValuer
from .weights import RefreshRetirementSettings, asked_again_at, why_worthless

_MAX_LOOKED_AT = 200
"""RevisitQueue entries that one call of `due` looks at, at most: so one step stays short."""
_LOOKED_AT = 8
"""RevisitQueue entries that are looked at for each that may be queued: the most valuable are."""
_COMPARED_SHARE = 0.05
"""Share of a site's pages that are fetched twice in a row to learn what is noise, at most."""
_HALFWAY = 0.25
"""Share of the interval between two visits before which a page is not sampled: it would teach little."""
_MIN_PRICE = 0.01
"""Floor of the price, as a share of the shortest interval between visits: idle slots need not all be used."""
_MAX_FILE_INTERVAL = 0.25
"""Days between two readings of a sitemap or feed, at most: files also list new pages."""
_LOOKED_AHEAD = 20
"""RevisitQueue entries that are looked at before their time while slots are idle."""
_MIN_ROOM = 20
"""Revisits that may wait with their sites, if that is more than the visits of an hour."""
_MIN_INTERVAL, _MAX_INTERVAL, _INTERVAL_PER_PAGE = 5.0, 600.0, 0.03
"""Seconds between two measurements of freshness: at least, at most, and at least for each page in the sample. Measuring
takes 0.2 s for 50 pages and 0.6 s for 2,000: at most a twenty-fifth of the time."""
_WITHOUT_CONDITION = 0.1
"""Share of revisits that are sent without validators, to find servers that answer 304 whatever has changed."""
_PUT_OFF = 3600.0
"""Minimum seconds for which a page is put off whose site is down."""
_RETURNED_AT_ONCE = 5_000
"""Pages of a site that are scheduled again when its outage has ended; the others were put off for a day at most."""
_REVISED_AT_ONCE = 1_000
"""Records of revised pages that are loaded together."""


class Revisits(Revisiting):
    """Schedules revisits, and learns from every visit. Without `watching` it only learns."""

    def __init__(
        self,
        state: State,
        sites: LiveSiteRecords,
        settings: RefreshSettings | None = None,
        retirement: RefreshRetirementSettings | None = None,
        *,
        watching: Watching | None = None,
        weights: PageWeights | None = None,
        churn: ChurnSettings | None = None,
        random: Random,
    ) -> None:
        self._state = state
        self._sites = sites
        self._retirement = retirement or RefreshRetirementSettings()
        self._churn = churn or ChurnSettings()
        self._random = random
        self._valuer = VisitValuer(settings, weights)
        self._settings = self._valuer.settings
        self._appraiser, self._weights = self._valuer.appraiser, self._valuer.weights
        self._stats = VisitStats(state)
        self._upcoming = UpcomingVisits(state, sites, self._settings, self._weights)
        self._saved = state.meta(RevisitState) or RevisitState()
        self._history = ChangeHistory(state, sites, self._saved.trust, is_watching=watching is not None)
        self._told: list[ToldPage] = []
        self._idle_since, self._is_idle = self._saved.idle_since, self._saved.is_idle
        self._waiting, self._latest_at = self._saved.waiting, self._saved.latest_at
        self.quota = RevisitQuota(self._settings.refresh_share, self._settings.new_share, self._saved.quota)
        self._budget: VisitBudget | None = None
        self._estimator: FreshnessEstimator | None = None
        if watching is not None:
            self._estimator = self._sampled(watching, state.meta(SampleRows))
            self._budget = VisitBudget(state, watching, self._valuer, self._history)
            self._reschedule(*self._budget.begin(self._saved, self._estimator.urls, self._pages))

    @property
    def shortest(self) -> float:
        """As the settings say."""
        return self._settings.shortest

    # starting and committing

    def _sampled(self, watching: Watching, sample: SampleRows | None) -> FreshnessEstimator:
        """The sample of the last commit; or a new one, if there is none or sites may have moved between shards."""
        saved = self._saved
        is_kept = sample is not None and saved.factor and saved.parts == watching.parts
        factor = saved.factor if is_kept else self._random.getrandbits(64) | 1
        evidence_of, shortest = self._history.evidence_of, self._settings.shortest
        estimator = FreshnessEstimator(self._state.records, evidence_of, factor, shortest)
        if sample is not None and is_kept:
            estimator.restore(sample, saved.added)
            return estimator
        queued = queued_revisits(self._state)
        self._waiting = len(queued)
        estimator.begin(chain(self._state.calendar, queued))
        return estimator

    def flush(self) -> Iterable[Struct]:
        """The state that a commit must hold for `Revisits` to go on exactly as it is."""
        sample = self.sample_rows()
        return [self.snapshot()] if sample is None else [self.snapshot(), sample]

    def snapshot(self) -> RevisitState:
        """The state besides `sample_rows`."""
        if self._budget is None or self._estimator is None:  # without a watch the sample would grow stale
            quota, trust = self.quota.counts, self._history.trust
            return replace(self._saved, quota=quota, factor=0, added=(), latest_at=self._latest_at, trust=trust)
        return RevisitState(
            objective=self._settings.objective,
            total=self._budget.watching.visits_a_day,
            granted=self._budget.visits_per_day,
            parts=self._budget.watching.parts,
            price=self.price,
            weighting=weighting_of(self._settings),
            mean_weight=self._weights.mean,
            idle_since=self._idle_since,
            is_idle=self._is_idle,
            quota=self.quota.counts,
            waiting=self._waiting,
            factor=self._estimator.factor,
            added=self._estimator.added,
            latest_at=self._latest_at,
            trust=self._history.trust,
        )

    def sample_rows(self) -> SampleRows | None:
        """The sampled pages, if this commit must write them (about 200 KB, seldom); otherwise the last ones hold."""
        return None if self._estimator is None else self._estimator.changed_rows()

    def restart(self, now: float) -> bool:
        """Continue in a new process; whether the clock was set back, in which case revisit times are moved with it."""
        is_set_back, self._latest_at = now < self._latest_at - CLOCK_ERROR, now
        if is_set_back:
            bring_back(self._state, self._settings, self._retirement, self._site, self._due_at, now)
        return is_set_back

    def end_of_input(self) -> None:
        """Drop data that is only needed until the links of a visit are delivered, within the same input."""
        self._stats.end_of_input()

    # the budget

    @property
    def is_watching(self) -> bool:
        """Whether pages are visited again at all."""
        return self._budget is not None

    @property
    def price(self) -> float:
        """The current price of a visit."""
        return self._appraiser.price.value

    @property
    def visits_per_day(self) -> float:
        """Visits a day that this shard may make; 0 without a watch."""
        return 0.0 if self._budget is None else self._budget.visits_per_day

    def set_budget(self, visits_per_day: float, now: float) -> None:
        """Change this shard's part of the visits; the price moves to where it will be in the long run."""
        if self._budget is not None and self._estimator is not None:
            self._reschedule(self._budget.set(visits_per_day, self._estimator.urls, self._pages), now)

    def bid(self, now: float, waiting: int = 0) -> Bid | None:
        """The bid of this shard for visits, of which `waiting` are queued; `None` without a watch."""
        if self._budget is None or self._estimator is None:
            return None
        return self._budget.bid(self._estimator.urls, len(self._state.calendar) + waiting, now)

    @property
    def _pages(self) -> int:
        """How many pages may be visited again: those in the calendar, and those queued at the last call of `due`."""
        return len(self._state.calendar) + self._waiting

    @property
    def _room(self) -> int:
        """How many revisits may wait with their sites; the others stay in the calendar."""
        return 0 if self._budget is None else max(_MIN_ROOM, round(self._budget.visits_per_day / 24))

    # what visits and signals teach

    def visited(
        self,
        site: SiteState,
        before: UrlRecord,
        after: UrlRecord,
        outcome: FetchOutcome,
        reading: BodyReading | None,
        now: float,
    ) -> UrlRecord:
        """Learn from a visit that has ended, with a page or finally without; the record, scheduled for the next."""
        page, revised = self._history.visited(site, before, after, outcome, reading, now)
        gains = self._stats.visited(site, before, after, outcome, reading, now)
        self._sites.changed(site)
        after = replace(after, evidence=page.pack() if page.visited_at else b"", gains=gains)
        due_at = self._next_visit(site, before, after, outcome, now, is_page=is_page(outcome, reading))
        self._state.calendar.move([(after.url, before.due_at, due_at)])
        if self._estimator is not None and page.visited_at:
            self._estimator.add(after.url)
        revised.pop(after.url, None)
        self._reschedule(revised, now)
        return replace(after, due_at=due_at)

    def _next_visit(
        self, site: SiteState, before: UrlRecord, after: UrlRecord, outcome: FetchOutcome, now: float, *, is_page: bool
    ) -> float | None:
        if is_page:
            return now if self._samples_noise(site, before, after, now) else self._due_at(after, site, now)
        if isinstance(outcome, Redirected):
            return now + self._settings.longest
        return asked_again_at(after.status, after.failures, now, self._retirement)

    def put_off(self, record: UrlRecord, now: float) -> UrlRecord:
        """Schedule a page for another time, the later the more often it could not be visited."""
        due_at = now + min(max(_PUT_OFF, self._retirement.first_pause * 2.0 ** min(record.failures, 40)), DAY)
        self._state.calendar.move([(record.url, record.due_at, due_at)])
        return replace(record, due_at=due_at)

    def back(self, site: Site, since: float, now: float) -> None:
        """Schedule the pages of a site by their worth again: nothing that it answered since then counts for them."""
        state = self._sites.get(site)
        waiting = (
            record for record in self._state.records.of_site(site) if record.due_at is not None and record.evidence
        )
        for record in list(islice(waiting, _RETURNED_AT_ONCE)):
            after = record
            if record.failures and ((record.fetched_at or 0.0) >= since or is_temporary(record.reason or "robots")):
                after = replace(record, failures=0, reason="", status=200)
            if not after.failures:
                after = replace(after, due_at=self._due_at(after, state, now))
            if after != record:
                self._state.calendar.move([(record.url, record.due_at, after.due_at)])
                self._state.records.put([after])

    def _samples_noise(self, site: SiteState, before: UrlRecord, after: UrlRecord, now: float) -> bool:
        """Whether to fetch a page again at once: all that differs then is noise.

        A few pages of a site are fetched twice so. Small sites are spared, and those of which enough visits were
        compared; and no page is fetched three times in a row. Answers to forms are not fetched twice: `forms.interval`.
        """
        if not self.is_watching or not after.blocks or after.first_seen[0].source is Source.FORM:
            return False
        if before.fetched_at is not None and now - before.fetched_at <= self._settings.shortest:
            return False
        pages = (site.value(SiteEvidence) or NO_EVIDENCE).pages
        return bool(site.churn.compared < min(self._churn.sample, pages * _COMPARED_SHARE))

    def _reschedule(self, revised: Revised, now: float) -> None:
        """Give pages their new rates, and the due times that follow from these."""
        pages = list(revised.items())
        for start in range(0, len(pages), _REVISED_AT_ONCE):
            for record in self._history.records_of(dict(pages[start : start + _REVISED_AT_ONCE])):
                due_at = record.due_at
                if due_at is not None and not record.failures:
                    due_at = self._due_at(record, self._site(record.url), now)
                    self._state.calendar.move([(record.url, record.due_at, due_at)])
                self._state.records.put([replace(record, due_at=due_at)])

    def mentioned(self, discovery: Discovery, known: UrlRecord) -> UrlRecord:
        """The record of a known page after a source mentioned it; a page reported as changed is due sooner."""
        after = self._history.mentioned(discovery, known)
        if known.failures:
            return self._sooner(after, named_again_at(discovery, known, self._retirement))
        if after.evidence == known.evidence:  # no signal
            return after
        due_at = self._due_at(after, self._site(after.url), discovery.found_at)
        if self.is_watching and due_at <= discovery.found_at:
            return self._tell(after, discovery.found_at)
        return self._sooner(after, due_at)

    def _tell(self, record: UrlRecord, now: float) -> UrlRecord:
        """Queue a page at once that was reported as changed: pages that are due must not keep it waiting.

        They may take as much room again as others; if more are reported, the rest waits in the calendar.
        """
        is_waiting = record.due_at is None
        if not is_waiting and self._waiting >= 2 * self._room:
            return self._sooner(record, now)
        seen = self._appraise(record, now)
        if is_waiting:
            entry = Queued(record.url, site_of(record.url), Lane.REFRESH, _level(seen))
        else:
            entry, record = self._released(record, seen), replace(record, due_at=None)
            self._waiting += 1
        self._told.append(ToldPage(entry, is_waiting))
        return record

    def told(self) -> list[ToldPage]:
        """The pages that this input reported as changed, to be queued with their sites."""
        told, self._told = self._told, []
        return told

    def _sooner(self, record: UrlRecord, due_at: float) -> UrlRecord:
        """Move a page in the calendar if it is due earlier than it was."""
        if record.due_at is None or due_at >= record.due_at:
            return record
        self._state.calendar.move([(record.url, record.due_at, due_at)])
        return replace(record, due_at=due_at)

    def found_new(self, events: Sequence[Event]) -> None:
        """Credit pages that were revisited by this input with the new URLs that they link to."""
        if not self._stats.has_revisited:
            return
        found = (event.discovery for event in events if isinstance(event, UrlDiscovered) and event.is_new)
        new = Counter(each.referrer for each in found if each.referrer is not None and each.source is Source.LINK)
        for record in list(self._stats.found_new(new)):
            due_at = self._due_at(record, self._site(record.url), unpack_page(record.evidence).visited_at)
            self._state.records.put([self._sooner(record, due_at)])

    def linked(self, url: Url, links: Iterable[Url], now: float) -> None:
        """Take new links on a revisited hub as signals that the linked pages changed."""
        listed, added = self._stats.linked(url, links)
        if not listed:
            return
        for record in added:
            signalled = replace(record, evidence=unpack_page(record.evidence).signalled(SignalKind.HUB).pack())
            due_at = self._due_at(signalled, self._site(signalled.url), now)
            self._state.records.put([self._sooner(signalled, due_at)])
        self._history.hub_read(site_of(url), listed, len(added))

    def file_read(self, site: Site, source: Source, listed: int, moved: int, *, is_generated: bool = False) -> None:
        """Learn from a sitemap or feed that was read again: `moved` of its `listed` pages have a later date."""
        self._history.file_read(site, source, listed, moved, is_generated=is_generated)

    def file_interval(self, site: Site) -> float:
        """Seconds before which it does not pay to read a sitemap or feed of a site again, while it is watched.

        Reading every P days reports R changes a day P/2 days late, which costs R P/2 days of a fresh copy a day, and
        1/P readings a day: the sum is smallest at P = sqrt(2 price/R).
        """
        if not self.is_watching:
            return 0.0
        useful = self._history.evidence_of(site).useful
        return DAY * min(math.sqrt(2.0 * self.price / useful) if useful else math.inf, _MAX_FILE_INTERVAL)

    def prefers_revisit(self, site: SiteState, again: Queued, new: Queued) -> bool:
        """Whether a revisit goes before a first visit: by their shares, then by what they are worth.

        Without a watch a first visit is worth its own level.
        """
        level = new.level
        if self.is_watching:
            level = level_of(self._valuer.first_visit(new.url, new.lane, site) / self.price)
        return self.quota.prefers_revisit(is_worth_more=again.level < level)

    def first_visited(self, site: SiteState, lane: Lane, *, is_good: bool) -> None:
        """Count a first visit with its site."""
        gains = site.value(SiteGains) or NO_SITE_GAINS
        site.keep(gains.first_visit(is_good, is_listed=lane is Lane.SITEMAPS))

    def visited_at(self, record: UrlRecord) -> float:
        """The time of the last visit, which `bring_back` moves."""
        return unpack_page(record.evidence).visited_at if record.evidence else math.inf

    def is_announced(self, site: SiteState, record: UrlRecord) -> bool:
        """Whether a signal that is mostly right announced a change of the page."""
        return is_announced(site, record)

    # what is due

    def due(self, now: float, waiting: int) -> list[Queued]:
        """The pages whose visit is worth its price now, to be queued with their sites.

        `waiting` revisits are queued already. A small share of pages is sampled at random, so that estimates stay
        unbiased.
        """
        self._waiting, self._latest_at = waiting, max(self._latest_at, now)
        free = self._free(waiting)
        if not free:
            return []
        due = self._state.calendar.due(now, min(_MAX_LOOKED_AT, _LOOKED_AT * free))
        if not due and self._is_idle:  # the price has fallen: the next pages may be worth it by now
            due = self._state.calendar.due(math.inf, _LOOKED_AHEAD)
        ripe: list[tuple[UrlRecord, Appraisal | None]] = []
        told: list[tuple[UrlRecord, Appraisal]] = []
        revised: Revised = {}
        for (url, at), record in zip(due, self._state.records.get([url for url, _ in due]), strict=True):
            if record is None or record.due_at != at:
                self._state.calendar.move([(url, at, None)])
                continue
            revised |= self._history.estimate_first(site_of(url), now)
            seen = self._appraise(record, now)
            if self._is_ripe(record, at, seen, now):
                ripe.append((record, seen))
            elif seen is not None and self._is_told(record, now):
                told.append((record, seen))
        ripe.sort(key=lambda each: math.inf if each[1] is None else each[1].worth, reverse=True)
        entries = [self._released(record, seen) for record, seen in ripe[:free]]
        if not entries and self._is_idle and told:  # a signal that is not worth its price is still better than chance
            entries.append(self._released(*max(told, key=lambda each: each[1].worth)))
        entries += self._explored(len(entries), now)
        self._reschedule(revised, now)
        return entries

    def _free(self, waiting: int) -> int:
        """How many revisits may be queued; none until there is room for several, so that the best can be chosen."""
        free = self._room - waiting
        return free if free >= self._room // 4 else 0

    def _is_told(self, record: UrlRecord, now: float) -> bool:
        """Whether a signal that is not ignored says that a page changed, and it may be visited again."""
        page = unpack_page(record.evidence)
        is_rested = now - page.visited_at >= self._settings.shortest
        return is_rested and boost_of(page, self._history.evidence_of(site_of(record.url))) > 0.0

    def _is_ripe(self, record: UrlRecord, at: float, seen: Appraisal | None, now: float) -> bool:
        """Whether a visit is worth its price now; if not, the page gets another time in the calendar."""
        due_at = at if seen is None else seen.due_at
        if why_worthless(self._weights(record.url)):  # its weight is looked up again later: a user may change it
            due_at = now + self._settings.longest
        if due_at <= now:
            return True
        if due_at < at or at <= now:
            self._state.calendar.move([(record.url, at, due_at)])
            self._state.records.put([replace(record, due_at=due_at)])
        return False

    def _explored(self, released: int, now: float) -> list[Queued]:
        """Pages sampled at random: a share of those released; or one, if slots are idle."""
        share = self._settings.explore_share
        draws = sum(self._random.random() < share for _ in range(released))
        if self._is_idle and not released:  # if no visit is worth its price, one that teaches something is best
            return self._draw(now, is_spare=True)
        return list(chain.from_iterable(self._draw(now) for _ in range(draws)))

    def _draw(self, now: float, *, is_spare: bool = False) -> list[Queued]:
        """One page at random, unless it was visited recently or is gone; if `is_spare`, none that awaits archives."""
        url = None if self._estimator is None else self._estimator.draw(self._random)
        [record] = [None] if url is None else self._state.records.get([url])
        if record is None or record.due_at is None or record.failures or why_worthless(self._weights(record.url)):
            return []
        seen_at = unpack_page(record.evidence).visited_at
        pause = max(self._settings.shortest, (record.due_at - seen_at) * _HALFWAY)
        if self._valuer.waits_for_archives(record, self._site(record.url)):
            pause = math.inf if is_spare else self._settings.shortest
        return [self._released(record, None)] if now - seen_at >= pause and record.status in (200, 304) else []

    def _released(self, record: UrlRecord, seen: Appraisal | None) -> Queued:
        self._state.calendar.move([(record.url, record.due_at, None)])
        self._state.records.put([replace(record, due_at=None)])
        return Queued(record.url, site_of(record.url), Lane.REFRESH, _level(seen))

    def next_due(self, waiting: int) -> float | None:
        """When the next page is due, if there is room for it."""
        return self._state.calendar.next_due() if self._free(waiting) else None

    def condition(self, site: SiteState, record: UrlRecord) -> Validators | None:
        """The validators of a revisit: none where 304 is not trusted, nor on a few other visits."""
        if not self.is_watching:
            return record.validators
        is_tested = self._random.random() < _WITHOUT_CONDITION
        return None if is_tested or not self._history.trusts_validators(site) else record.validators

    def granted(self, record: UrlRecord, now: float, *, is_revisit: bool) -> None:
        """Count a visit; in a watch the price follows the value of revisits, but not of attempts after a failure."""
        self.quota.count(is_revisit=is_revisit)
        if not is_revisit or not self.is_watching:
            return
        self._idle_since, self._is_idle = now, False
        seen = self._appraise(record, now)
        if seen is not None:
            self._appraiser.price.served(seen.worth, len(self._state.calendar))

    def idle(self, now: float) -> None:
        """Record that no page was worth a visit although there was time for one: the price falls."""
        if not self.is_watching:
            return
        since, self._idle_since, self._is_idle = self._idle_since, now, True
        if since is not None and now > since:
            missed = (now - since) / DAY * self.visits_per_day
            if self.price > _MIN_PRICE * self._settings.shortest / DAY:
                self._appraiser.price.missed(missed, len(self._state.calendar))

    # what users see

    def freshness(self, now: float, waiting: int = 0) -> Freshness | None:
        """How fresh the collection is, from a sample of its pages; `waiting` of them are queued to be visited again."""
        if self._estimator is None:
            return None
        least = max(_INTERVAL_PER_PAGE * len(self._estimator.urls), _MIN_INTERVAL)
        interval = min(max(10 * DAY / max(self.visits_per_day, 1.0), least), _MAX_INTERVAL)
        return self._estimator.read(len(self._state.calendar) + waiting, self.price, now, interval)

    def upcoming(self, now: float, limit: int) -> list[NextVisit]:
        """The next `limit` visits and their reasons. Changes no decision."""
        return self._upcoming.list(self.price, now, limit) if self.is_watching else []

    def _appraise(self, record: UrlRecord, now: float) -> Appraisal | None:
        if record.failures or not record.evidence:
            return None
        return self._valuer.appraise(record, self._site(record.url), now)

    def _due_at(self, record: UrlRecord, site: SiteState, now: float) -> float:
        if not self.is_watching:
            return unpack_page(record.evidence).visited_at
        return self._valuer.due_at(record, site, now)

    def _site(self, url: Url) -> SiteState:
        return self._sites.get(site_of(url))


def _level(seen: Appraisal | None) -> int:
    """The level of a visit in its queue; one whose value is not known counts as worth its price."""
    return level_of(1.0) if seen is None else seen.level
