"""Selects the next URL of a site: from the lane whose turn it is, past URLs that need not or may not be fetched.

A site has up to six lanes: pages found by links, pages listed in sitemaps, pages to be visited again, sitemap files,
probes, and files that pages embed. The last three alternate with pages. Between links and sitemaps the site's balance
decides, by the results of each (Schonfeld & Shivakumar 2009 section 6; `policy.balance`). A URL known from both waits
in both lanes and is fetched once; its result counts for both. Revisits compete with first visits by the value of a
visit.

While a URL waits, its page may be fetched from another lane, a trap recognised, or robots.txt changed. So each URL is
judged again when its turn comes (`CandidateSelector.judge`), and leaves its queue if it is refused then. Files and
probes are not discoveries: filters do not judge them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import compress

from msgspec.structs import replace

from periplus.content import read_from
from periplus.model import (
    BodyReading,
    Discovery,
    Excluded,
    Fetched,
    FetchEnded,
    FetchOutcome,
    FetchTask,
    FirstSeen,
    InvariantError,
    Lane,
    OfferedDictionary,
    Probe,
    Purpose,
    Queued,
    ReadFrom,
    Reject,
    Render,
    Rewrite,
    Site,
    Source,
    Ticket,
    Url,
    UrlRecord,
    UrlRecords,
)
from periplus.store import State
from periplus.urls import fingerprint, site_of

from ..settings import RetrySettings
from .admission import LANES
from .desk import FrontierDesk
from .politeness import is_tried_again
from .robots import RobotsGate, robots_url
from .schedule import Schedule
from .scores import Scores
from .site import NOT_PAGES, ActiveSite
from .steering import Steering

_RESCORED = 8
"""Heads of a queue that are scored again before one is taken as it is."""
_SEARCHED = 32
"""URLs at the head of a queue among which one is looked for that an earlier crawl fetched: more than are under way."""
_FIRST_VISITS = frozenset({Lane.DISCOVERY, Lane.SITEMAPS})
"""Where pages wait for their first visit."""

_BY_ROBOTS = frozenset({"robots", "robots-unreachable"})
"""Why a known page may not be fetched now, but perhaps another time."""

_PROBE = "#probe:"
"""Between the URL of a probe and its kind, in queues and records."""


_PURPOSES = {Lane.PROBES: Purpose.PROBE, Lane.FILES: Purpose.SITEMAP, Lane.EMBEDDED: Purpose.FILE}


def purpose_of(lane: Lane) -> Purpose:
    """The purpose for which URLs of a lane are fetched."""
    return _PURPOSES.get(lane, Purpose.PAGE)


def probe_name(probe: Probe) -> Url:
    """The key of a probe's record, and its place in queues."""
    return Url(f"{probe.url}{_PROBE}{probe.kind}")


def file_name(url: Url) -> Url:
    """The key of a file's record, apart from that of a page at the same URL."""
    return Url(f"{url}#file")


def embedded_name(url: Url) -> Url:
    """The key of the record of a file that pages embed."""
    return Url(f"{url}#embedded")


_NAMES = {Lane.FILES: file_name, Lane.EMBEDDED: embedded_name}


class CandidateSelector:
    """Looks at the heads of a site's queues, and takes URLs out of them."""

    def __init__(
        self, desk: FrontierDesk, schedule: Schedule, scores: Scores, gate: RobotsGate, steering: Steering
    ) -> None:
        self._state = desk.state
        self._guard = desk.guard
        self._events = desk.events
        self._revisits = desk.revisits
        self._lease = desk.rules.politeness.lease
        self._retries = desk.rules.retries
        self._balance = desk.rules.balance
        self._schedule = schedule
        self._scores = scores
        self._gate = gate
        self._steering = steering
        self.emptied: dict[Site, None] = {}
        self.exhausted: dict[Site, None] = {}
        """Sites whose queue of listed pages ran empty since this was last cleared."""
        self.revisits_waiting = 0
        """Revisits that wait with their sites."""
        self.embedded_waiting = 0
        """Files that pages embed, which wait with their sites or for their next attempt."""
        self.refused_pages: list[tuple[ActiveSite, UrlRecord, str]] = []
        """Known pages that robots.txt refused since this was last cleared."""
        self.refused_files: list[Excluded] = []
        """Sitemaps, and files that pages need, that were refused since this was last cleared."""
        self.reconsidering = [desk.guard.reconsider]
        """What judges a URL again before it is fetched, in this order."""
        self.how_to_render: Callable[[Url, float], Render] | None = None
        """Whether a page is opened in a browser, if any is."""
        self.dictionary_for: Callable[[UrlRecord, float], OfferedDictionary | None] | None = None
        """Which stored version of a page is offered as a dictionary when it is visited again, if any is."""
        self.choose_levels: Callable[[Site, Sequence[int]], Sequence[int]] | None = None
        """In which order the levels of a queue of links are, if not in ascending order."""
        self.refuses_embedded: Callable[[UrlRecord], str] | None = None
        """Why a file that pages embed is not fetched, if anything refuses some."""
        self.renamed: list[Discovery] = []
        """New names of URLs that were renamed while they waited, since this was last cleared."""

    # the heads of queues

    def next_two(self, active: ActiveSite, out: Collection[Url]) -> list[Ticket]:
        """The two best URLs of a site but those that are out; scored again where scores sink while URLs wait."""
        heads = self.heads(active, 2, out)
        for _ in range(_RESCORED):
            if not heads or not self._scores.has_sunk(heads[0]):
                break
            heads = self.heads(active, 2, out)
        return heads

    def heads(self, active: ActiveSite, limit: int, out: Collection[Url] = ()) -> list[Ticket]:
        """The best URLs of a site that are not being fetched, from the lane whose turn it is."""
        waiting = active.waiting
        if len(waiting) == 1:
            return self._heads_of(active.site, next(iter(waiting)), limit, out)
        others = [] if active.took_file else self._heads_of_others(active, limit, out)
        return others or self._heads_of_pages(active, limit, out) or self._heads_of_others(active, limit, out)

    def _heads_of_others(self, active: ActiveSite, limit: int, out: Collection[Url]) -> list[Ticket]:
        """The first of the probes, or else of the files."""
        for lane in NOT_PAGES:
            if lane in active.waiting and (found := self._heads_of(active.site, lane, limit, out)):
                return found
        return []

    def _heads_of(self, site: Site, lane: Lane, limit: int, out: Collection[Url]) -> list[Ticket]:
        if self.choose_levels is not None and lane is Lane.DISCOVERY:
            return self._chosen_heads(self.choose_levels, site, limit, out)
        heads = self._state.queues.heads(site, lane, limit + len(out))
        return [head for head in heads if head.entry.url not in out][:limit] if out else heads

    def _chosen_heads(
        self, choose: Callable[[Site, Sequence[int]], Sequence[int]], site: Site, limit: int, out: Collection[Url]
    ) -> list[Ticket]:
        """The first links of a site, level by level in the order that is chosen now."""
        queues, found = self._state.queues, []
        for level in choose(site, queues.levels(site, Lane.DISCOVERY)):
            heads = queues.heads_of_level(site, Lane.DISCOVERY, level, limit + len(out))
            found += [head for head in heads if head.entry.url not in out]
            if len(found) >= limit:
                break
        return found[:limit]

    def _heads_of_pages(self, active: ActiveSite, limit: int, out: Collection[Url]) -> list[Ticket]:
        first, second = Lane.DISCOVERY, Lane.SITEMAPS
        if Lane.SITEMAPS in active.waiting:
            lengths = [active.waiting.get(lane, 0) for lane in (first, second)]
            if active.balanced(self._balance).choose(*lengths) is Lane.SITEMAPS:
                first, second = second, first
        lanes = [lane for lane in (first, second) if lane in active.waiting]
        pages = next((heads for lane in lanes if (heads := self._heads_of(active.site, lane, limit, out))), [])
        if Lane.REFRESH not in active.waiting:
            return pages
        again = self._heads_of(active.site, Lane.REFRESH, limit, out)
        if not again or not pages:
            return again or pages
        return again if self._revisits.prefers_revisit(active.record, again[0].entry, pages[0].entry) else pages

    # one URL

    def judge(self, active: ActiveSite, head: Ticket, now: float) -> tuple[FetchTask, UrlRecord] | None:
        """The task of a URL and its record; or `None`, if it has left its queue."""
        record = self.record_of(head.entry)
        if self._is_settled(head.entry, record):
            self._skip(active, head)
            return None
        task = self._task(head.entry, record, active, now)
        refusal = self._refusal(task, now)
        if task.lane is Lane.EMBEDDED and self.refuses_embedded is not None and (why := self.refuses_embedded(record)):
            refusal = refusal or (why, "")
        if refusal is None:
            return task, record
        self.exclude(active, head, *refusal, now)
        return None

    def _is_settled(self, entry: Queued, record: UrlRecord) -> bool:
        """Whether a URL that waits for its first visit has had it: it waited in two lanes, and the other was sooner."""
        lane = entry.lane
        if lane is Lane.FILES and entry.url == robots_url(entry.url):
            return True  # it waited so that its site is asked for it, which was done before anything else
        if lane not in _FIRST_VISITS or not (record.visits or record.reason):
            return False
        return record.visits > 0 or not is_tried_again(self._retries, record.reason, record.failures)

    def _task(self, entry: Queued, record: UrlRecord, active: ActiveSite, now: float) -> FetchTask:
        is_revisit = entry.lane is Lane.REFRESH
        url, _, kind = entry.url.partition(_PROBE) if entry.lane is Lane.PROBES else (entry.url, "", "")
        purpose, how = purpose_of(entry.lane), self.how_to_render
        render = how(entry.url, now) if how is not None and purpose is Purpose.PAGE else Render.NEVER
        validators = self._revisits.condition(active.record, record) if is_revisit else record.validators
        if render is not Render.NEVER and read_from(record.version) is not ReadFrom.SERVER:
            validators = None  # the shell of an application stays the same when what it shows has changed
        offering = self.dictionary_for if is_revisit else None
        return FetchTask(
            Url(url),
            entry.site,
            purpose,
            entry.lane,
            now + self._lease,
            validators,
            record.failures + 1,
            active.record.ip,
            record.first_seen[0].source,
            record.depth,
            record.redirects,
            record.kept_at,
            kind,
            render,
            None if offering is None else offering(record, now),
        )

    def _refusal(self, task: FetchTask, now: float) -> tuple[str, str] | None:
        """Why a URL is not fetched although it waited: it was excluded or is a trap, as known by now, or robots.txt."""
        if task.purpose is not Purpose.SITEMAP:
            pattern = self._steering.refusal(task.url)
            if pattern is not None:
                return "excluded", pattern
        if task.purpose is Purpose.PAGE:
            discovery = Discovery(task.url, task.source, now, task.depth, redirects=task.redirects)
            for reconsider in self.reconsidering:
                verdict = reconsider(discovery)
                if isinstance(verdict, Reject):
                    return verdict.reason, verdict.rule
                if isinstance(verdict, Rewrite) and task.lane is not Lane.REFRESH:
                    self.renamed.append(replace(discovery, url=verdict.url))
                    return "renamed", verdict.rule
        return self._gate.refusal(task.site, task.url)

    def record_of(self, entry: Queued) -> UrlRecord:
        """The record of a URL that waits."""
        name = entry.url
        if entry.lane in _NAMES:
            name = _NAMES[entry.lane](name)
        record = self._state.records.get([name])[0]
        if record is None:
            raise InvariantError(f"{entry.url} waits in a queue but has no record")
        return record

    # what an archive has answers for

    def find(self, active: ActiveSite, task: FetchTask, now: float) -> Ticket | None:
        """The ticket of a URL that an earlier crawl fetched at this moment.

        It was first in its queue then; so it is near the head now, behind URLs that the crawl had refused or fetched
        before: those leave the queue as they did then. `None` if it is not among the first that stay.
        """
        kept = self._scores.ticket_of(task.url) if task.lane not in NOT_PAGES else None
        stay = 0
        while kept is None and stay < _SEARCHED:
            heads = self._heads_of(active.site, task.lane, stay + _SEARCHED, ())[stay:]
            if not heads:
                return None
            for head in heads:
                if head.entry.url == task.url:
                    return head
                stay += not self._gate.is_known(active.site) or self.judge(active, head, now) is not None
        return kept

    def drop_refused(self, active: ActiveSite, now: float) -> None:
        """Remove URLs from the heads of a site's queues that were fetched or may not be, if its rules are known."""
        if active.record.retired or not active.has_rules(now) or not self._gate.is_known(active.site):
            return
        for lane in [lane for lane in active.waiting if lane is not Lane.REFRESH]:
            while heads := self._heads_of(active.site, lane, 1, ()):
                if self.judge(active, heads[0], now) is not None:
                    break

    # files that pages embed

    def queue_embedded(self, found: Sequence[Discovery], *, again: bool = False) -> list[Queued]:
        """Queue files that pages embed, each once for all time, unless they were fetched as pages: their places.

        With `again` each that does not wait is queued, however often it was fetched.
        """
        files = {each.url: each for each in found}
        records = [
            UrlRecord(
                embedded_name(url), (FirstSeen(each.source, each.found_at),), each.depth, redirects=each.redirects
            )
            for url, each in files.items()
        ]
        if again:
            known = self._state.records.get([record.url for record in records])
            is_wanted = [record is None or _is_over(record, self._retries) for record in known]
            self._state.records.put(list(compress(records, is_wanted)))
            wanted = list(compress(files, is_wanted))
        else:
            known = self._state.records.add_new(records)
            news = [url for url, record in zip(files, known, strict=True) if record is None]
            pages = self._state.records.get(news)
            wanted = [url for url, page in zip(news, pages, strict=True) if page is None or page.kept_at is None]
        entries = [Queued(url, site_of(url), Lane.EMBEDDED, 0) for url in wanted]
        self._state.queues.push(entries)
        self.embedded_waiting += len(entries)
        return entries

    # a URL leaves its queue

    def remove(self, active: ActiveSite, ticket: Ticket) -> None:
        """Remove a URL from its queue."""
        self._state.queues.remove([ticket])
        lane = ticket.entry.lane
        active.count(lane, -1)
        self.revisits_waiting -= lane is Lane.REFRESH
        self.embedded_waiting -= lane is Lane.EMBEDDED
        if lane is Lane.SITEMAPS and lane not in active.waiting:
            self.emptied[active.site] = None
        if not active.waiting:
            self.exhausted[active.site] = None
        if lane not in NOT_PAGES:
            self._scores.removed(ticket.entry.url)

    def forgo(self, active: ActiveSite, ticket: Ticket, reason: str) -> UrlRecord:
        """Record the reason why a URL will not be fetched; return the record as it was."""
        record = self.record_of(ticket.entry)
        self.remove(active, ticket)
        self._state.records.put([replace(record, reason=reason, status=None)])
        return record

    def exclude(self, active: ActiveSite, ticket: Ticket, reason: str, rule: str, now: float) -> None:
        """Exclude a URL from fetching: it leaves its queue, its record says why, and an event reports it."""
        record, entry = self.forgo(active, ticket, reason), ticket.entry
        if entry.lane is Lane.REFRESH and reason in _BY_ROBOTS:
            refused = replace(record, reason=reason, status=None, failures=record.failures + 1)
            self._state.records.put([self._revisits.put_off(refused, now)])
            self.refused_pages.append((active, record, reason))
        url, _, kind = entry.url.partition(_PROBE)
        task = FetchTask(
            Url(url), entry.site, purpose_of(entry.lane), entry.lane, now, None, record.failures + 1, None,
            record.first_seen[0].source, record.depth, record.redirects, probe=kind,
        )  # fmt: skip
        excluded = Excluded(task, reason, rule)
        self._events.record([FetchEnded(excluded, now)])
        if task.purpose is Purpose.SITEMAP or task.purpose is Purpose.FILE:
            self.refused_files.append(excluded)

    def exclude_heads(self, active: ActiveSite, limit: int, reason: str, now: float) -> int:
        """Refuse the first URLs of a site that was given up, each once, even if it waits in two lanes; how many.

        Known pages are not refused: they are asked another time.
        """
        tickets = self.heads(active, limit)
        for ticket in tickets:
            if ticket.entry.lane is Lane.REFRESH:
                self.remove(active, ticket)
                self._state.records.put([self._revisits.put_off(self.record_of(ticket.entry), now)])
                continue
            is_page = ticket.entry.lane in _FIRST_VISITS
            if is_page and self._is_settled(ticket.entry, self.record_of(ticket.entry)):
                self._skip(active, ticket)
            else:
                self.exclude(active, ticket, reason, "", now)
        return len(tickets)

    def _skip(self, active: ActiveSite, ticket: Ticket) -> None:
        """A page is the next of one source, and the other was sooner: it counts for both, and leaves the queue."""
        entry = ticket.entry
        if active.has_balance and entry.lane in _FIRST_VISITS:
            active.balanced(self._balance).came_to(entry.lane, entry.level, fingerprint(entry.url))
        if entry.lane in _FIRST_VISITS:
            self._scores.queued_twice = max(self._scores.queued_twice - 1, 0)
        self.remove(active, ticket)

    # what was taken, and its result

    def granted(self, active: ActiveSite, entry: Queued, record: UrlRecord, now: float) -> None:
        """Count a URL that is about to be fetched for the budget that pays for it."""
        active.took_file = entry.lane in NOT_PAGES
        if entry.lane in _FIRST_VISITS:
            self._schedule.domains.granted(active.domain)
        if not active.took_file:
            self._revisits.granted(record, now, is_revisit=entry.lane is Lane.REFRESH)
        if (active.has_balance or Lane.SITEMAPS in active.waiting) and entry.lane in _FIRST_VISITS:
            sources = {LANES[seen.source] for seen in record.first_seen}
            is_shared = len(sources & _FIRST_VISITS) > 1
            balance = active.balanced(self._balance)
            balance.took(entry.lane, entry.level, fingerprint(entry.url), is_shared=is_shared)

    def learn(self, active: ActiveSite, outcome: FetchOutcome, reading: BodyReading | None, reason: str) -> None:
        """Credit the sources of a page with its final result."""
        task = outcome.task
        is_good = _is_good(outcome, reading, reason)
        if active.has_balance:
            active.balanced(self._balance).learnt(fingerprint(task.url), is_good)
        if task.lane in _FIRST_VISITS:
            self._revisits.first_visited(active.record, task.lane, is_good=is_good)


def _is_good(outcome: FetchOutcome, reading: BodyReading | None, reason: str) -> bool:
    """Whether a page entered the collection as unique and indexable: what a source is credited for."""
    if not isinstance(outcome, Fetched) or reason or reading is None:
        return False
    return not reading.is_copy and reading.is_indexable


def unknown_robots(records: UrlRecords, discoveries: Sequence[Discovery]) -> list[Url]:
    """The robots.txt files among discoveries that were not requested yet."""
    wanted = [discovery.url for discovery in discoveries if discovery.purpose is Purpose.ROBOTS]
    known = records.get([file_name(url) for url in wanted])
    return [url for url, record in zip(wanted, known, strict=True) if record is None]


def queued_files(state: State, urls: Sequence[Url], now: float) -> list[Queued]:
    """Queue files, and return their places."""
    seen = (FirstSeen(Source.SITEMAP, now),)
    state.records.add_new([UrlRecord(file_name(url), seen) for url in urls])
    entries = [Queued(url, site_of(url), Lane.FILES, 0) for url in urls]
    state.queues.push(entries)
    return entries


def queued_probes(state: State, probes: Sequence[Probe], retries: RetrySettings, now: float) -> list[Queued]:
    """Queue probes that do not wait already, and return their places."""
    wanted = {probe_name(probe): probe for probe in probes}
    known = state.records.get(list(wanted))
    names = [name for name, record in zip(wanted, known, strict=True) if record is None or _is_over(record, retries)]
    state.records.put([UrlRecord(name, (FirstSeen(Source.LINK, now),)) for name in names])
    entries = [Queued(name, site_of(wanted[name].url), Lane.PROBES, 0) for name in names]
    state.queues.push(entries)
    return entries


def _is_over(record: UrlRecord, retries: RetrySettings) -> bool:
    if record.visits:
        return True
    return bool(record.reason) and not is_tried_again(retries, record.reason, record.failures)
