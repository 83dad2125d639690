"""Admission: discovered URLs are filtered, looked up, and queued with their site.

The order is filters, seen test, the count of admitted URLs, then a priority. A refusal is reported with its rule; so is
every source that names a URL for the first time.

A seed that is given again, and whose site could not be reached, is tried again together with everything that was
refused there for that reason (`retry_unreachable`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import nlargest
from operator import itemgetter

from msgspec.structs import replace

from periplus.model import (
    Discovery,
    Event,
    FirstSeen,
    Lane,
    Queued,
    Refused,
    Reject,
    Rewrite,
    Site,
    Sorting,
    Source,
    Url,
    UrlDiscovered,
    UrlRecord,
    Verdict,
)
from periplus.policy.filters import WantedPair
from periplus.policy.filters.reasons import LIFTED
from periplus.policy.ordering import LAST_LEVEL, level_of, lowered
from periplus.store import SiteState
from periplus.urls import site_of

from .desk import FrontierDesk
from .politeness import delay_after, is_temporary
from .schedule import Schedule
from .scores import Candidate, Scores
from .steering import FIRST_LEVEL, Steering

LANES = {
    Source.SEED: Lane.DISCOVERY,
    Source.LINK: Lane.DISCOVERY,
    Source.REDIRECT: Lane.DISCOVERY,
    Source.FORM: Lane.DISCOVERY,
    Source.SITEMAP: Lane.SITEMAPS,
    Source.FEED: Lane.SITEMAPS,
    Source.PING: Lane.SITEMAPS,
    Source.ARCHIVE: Lane.SITEMAPS,
}
"""Which budget pays for the URLs of a source."""
RENAMED = "renamed"
"""The reason of URLs that a rule for duplicate URLs knows by another name."""
_REMEMBERED = frozenset({"low-yield", "endless", "parameter-values"})
"""The reasons of verdicts that fall while a crawl runs."""
_FOUND_AGAIN = LIFTED - {"parked"}
"""Those for which a URL is refused when it is found: it would not be found again if the verdict still held."""
_RETRIED_TOGETHER, _MAX_RETRIED = 1000, 100_000
"""URLs of an unreachable site that are queued again together, and in all; the others are tried another time."""


class Admission:
    """Admits discoveries to the frontier."""

    def __init__(self, desk: FrontierDesk, schedule: Schedule, scores: Scores, steering: Steering) -> None:
        self._state = desk.state
        self._records = desk.records
        self._guard = desk.guard
        self._ordering = desk.ordering
        self._has_kinds = isinstance(desk.ordering, Sorting)
        self._events = desk.events
        self._revisits = desk.revisits
        self._politeness = desk.rules.politeness
        self._schedule = schedule
        self._domains = schedule.domains
        self._scores = scores
        self._steering = steering

    def admit(self, discoveries: Sequence[Discovery], page_budget: int | None = None) -> list[Queued]:
        """Record discoveries, and queue those that are wanted and new: which those are. `page_budget`: of the crawl."""
        if self._scores.learns:
            self._mention_known(discoveries)
        queued = self._admit(self._scores.unknown(discoveries), may_raise=page_budget is None)
        self._scores.link(discoveries)
        return queued

    def _admit(self, discoveries: Sequence[Discovery], *, may_raise: bool) -> list[Queued]:
        events: list[Event] = []
        renamed: dict[Url, Discovery] = {}
        refused: dict[Url, UrlRecord] = {}
        wanted = self._scores.unknown_judged(self._filter(discoveries, events, renamed, refused))
        if renamed:
            self._remember(renamed)
        if refused:
            self._remember_refused(refused)
        before = self._state.records.add_new([_record(discovery) for discovery in wanted])
        candidates: list[Candidate] = []
        changed: dict[Url, UrlRecord] = {}
        targets = {found.url: variant for variant, found in renamed.items()}
        for discovery, known in zip(wanted, before, strict=True):
            if known is None:
                if discovery.url in targets:
                    self._guard.renamed(targets[discovery.url], discovery.url)
                self._admit_new(discovery, candidates, changed, events)
            else:
                self._admit_known(discovery, changed.get(discovery.url, known), candidates, changed, events)
        if changed:
            self._state.records.put(changed.values())
            self._state.sketches.mark_listed([url for url, record in changed.items() if _is_read_and_listed(record)])
        if events:
            self._events.record(events)
            self._revisits.found_new(events)
        if candidates and may_raise and not self._scores.learns:
            candidates = self._with_pairs_first(candidates)
        return self._scores.queue(candidates) if candidates else []

    def _with_pairs_first(self, candidates: list[Candidate]) -> list[Candidate]:
        """Raise new URLs that may be second names of known ones, a few for each rule, and those with them.

        All of them would be fetched later anyway, if the crawl has no limit. The sooner a pair is read, the sooner a
        rule spares the others.
        """
        wanted = [(place, *pair) for place, each in enumerate(candidates) for pair in self._wanted_pairs(each[0])]
        if not wanted:
            return candidates
        raised: dict[Url, Candidate] = {}
        bases = self._state.records.get([base for _, base, _ in wanted])
        for (place, _, looked_up), base in zip(wanted, bases, strict=True):
            url = candidates[place][0].url
            looked_up(base is not None)
            if base is not None and url not in raised:
                raised[url] = _first(candidates[place])
                if not base.visits and not base.reason and base.url not in raised:
                    raised[base.url] = _first(self.candidate(_discovered(base)))
        own = {found.url for found, _, _ in candidates}
        self._scores.queued_twice += len(raised.keys() - own)
        others = [each for url, each in raised.items() if url not in own]
        return [*(raised.get(each[0].url, each) for each in candidates), *others]

    def _wanted_pairs(self, discovery: Discovery) -> list[WantedPair]:
        return self._guard.wanted_pairs(discovery.url) if LANES[discovery.source] is Lane.DISCOVERY else []

    def _admit_new(
        self,
        discovery: Discovery,
        candidates: list[Candidate],
        changed: dict[Url, UrlRecord],
        events: list[Event],
    ) -> None:
        verdict = self._guard.admit(discovery)
        if isinstance(verdict, Reject):
            changed[discovery.url] = replace(_record(discovery), reason=verdict.reason)
            events.append(Refused(discovery, verdict.reason, verdict.rule))
            return
        site = site_of(discovery.url)
        record = self._records.get(site)
        if self._domains.admitted(discovery, record):
            self._records.changed(record)
        candidates.append(self._candidate(discovery, site))
        events.append(UrlDiscovered(discovery, True))

    def _admit_known(
        self,
        discovery: Discovery,
        known: UrlRecord,
        candidates: list[Candidate],
        changed: dict[Url, UrlRecord],
        events: list[Event],
    ) -> None:
        """A known URL may gain a source, be queued in another lane, or be reported as changed.

        A known source may have named it earlier: of two lists the later may be queued sooner. A URL that a verdict had
        refused, and that the filters accept by now, is queued as a new one is.
        """
        if known.reason in _FOUND_AGAIN and not known.visits:
            others = [seen for seen in known.first_seen if seen.source is not discovery.source]
            changed[discovery.url] = replace(known, first_seen=(*_record(discovery).first_seen, *others), reason="")
            candidates.append(self.candidate(discovery))
            events.append(UrlDiscovered(discovery, False))
            return
        mentioned = self._revisits.mentioned(discovery, known)
        if mentioned is not known:
            changed[discovery.url] = known = mentioned
        source = discovery.source
        named_at = [seen.at for seen in known.first_seen if seen.source is source]
        if named_at and not discovery.found_at < max(named_at):
            return
        changed[discovery.url] = _with_source(known, discovery)
        events.append(UrlDiscovered(discovery, False))
        if not named_at:
            candidate = self.candidate(discovery) if _is_wanted_here_too(discovery, known) else None
            candidates += self._scores.found_again(discovery, candidate)

    def _mention_known(self, discoveries: Sequence[Discovery]) -> None:
        """With learning scores, known URLs of a known source are not looked up again; only signals count."""
        dated = [each for each in discoveries if LANES[each.source] is Lane.SITEMAPS]
        changed: dict[Url, UrlRecord] = {}
        for discovery, known in zip(dated, self._state.records.get([each.url for each in dated]), strict=True):
            if known is not None:
                known = changed.get(discovery.url, known)
                mentioned = self._revisits.mentioned(discovery, known)
                if mentioned is not known:
                    changed[discovery.url] = mentioned
        self._state.records.put(changed.values())

    def candidate(self, discovery: Discovery) -> Candidate:
        """The place that a URL gets: listed ones by the score of their list, others by the ordering."""
        return self._candidate(discovery, site_of(discovery.url))

    def _candidate(self, discovery: Discovery, site: Site) -> Candidate:
        lane = LANES[discovery.source]
        score = discovery.score if lane is Lane.SITEMAPS else self._ordering.score(discovery)
        level = FIRST_LEVEL if self._steering.prefers(discovery.url) else level_of(score)
        if self._has_kinds:
            return discovery, score, Queued(discovery.url, site, lane, level)
        if lane is Lane.DISCOVERY:
            level = self._domains.level(level, discovery.depth, LAST_LEVEL)
        if not self._scores.discounts.is_empty and level != FIRST_LEVEL:
            worth = self._scores.discounts.worth(discovery.url)
            score, level = max(score, 0.0) * worth + min(score, 0.0), lowered(level, worth)
        return discovery, score, Queued(discovery.url, site, lane, level)

    def _remember(self, renamed: dict[Url, Discovery]) -> None:
        """Give URLs that a learnt rule renamed a record: they are queued if it is withdrawn (`retry_renamed`)."""
        known = self._state.records.get(list(renamed))
        variants = [variant for variant, record in zip(renamed, known, strict=True) if record is None]
        self._state.records.put(
            replace(_record(replace(renamed[variant], url=variant)), reason=RENAMED)
            for variant in variants
            if self._guard.may_remember(variant)
        )

    def _remember_refused(self, refused: dict[Url, UrlRecord]) -> None:
        """Give URLs that a verdict refused when they were found a record: they are queued if it falls."""
        known = self._state.records.get(list(refused))
        news = [record for record, before in zip(refused.values(), known, strict=True) if before is None]
        self._state.records.put([record for record in news if self._guard.may_remember_refused(record.url)])

    def _filter(
        self,
        discoveries: Sequence[Discovery],
        events: list[Event],
        renamed: dict[Url, Discovery],
        refused: dict[Url, UrlRecord],
    ) -> list[Discovery]:
        """Those that are wanted, by their names. `renamed` gets those that a learnt rule renamed, by the old ones.

        `refused` gets those that a trap refused, which may be wanted later.
        """
        wanted = []
        is_on, site_record = self._domains.is_on, self._records.get
        for discovery, judged in zip(discoveries, self._judge(discoveries), strict=True):
            verdict = judged
            if is_on and not isinstance(verdict, Reject):
                site = site_record(site_of(verdict.url if isinstance(verdict, Rewrite) else discovery.url))
                if not site.is_admitted:
                    verdict = self._domains.refusal(discovery, site) or verdict
            if isinstance(verdict, Reject):
                if not discovery.is_more:  # it was reported when the URL was first found
                    events.append(Refused(discovery, verdict.reason, verdict.rule))
                    if verdict.reason in _REMEMBERED:
                        refused[discovery.url] = replace(_record(discovery), reason=verdict.reason)
            elif isinstance(verdict, Rewrite):
                wanted.append(replace(discovery, url=verdict.url))
                if verdict.learnt_from is not None:
                    renamed[verdict.learnt_from] = wanted[-1]
            else:
                wanted.append(discovery)
        return wanted

    def _judge(self, discoveries: Sequence[Discovery]) -> list[Verdict]:
        verdicts = self._guard.judge_all(discoveries)
        if not self._steering.state.excluded:
            return verdicts
        return [self._steered(each, verdict) for each, verdict in zip(discoveries, verdicts, strict=True)]

    def _steered(self, discovery: Discovery, verdict: Verdict) -> Verdict:
        """The verdict on a URL, unless people excluded it."""
        pattern = self._steering.refusal(verdict.url if isinstance(verdict, Rewrite) else discovery.url)
        return verdict if pattern is None or isinstance(verdict, Reject) else Reject("excluded", pattern)

    # seeds that are named again

    def retry_unreachable(self, discoveries: Sequence[Discovery], now: float) -> Iterator[Queued]:
        """Queue again what was given up at the sites of these seeds because the sites could not be reached."""
        seeds = [discovery.url for discovery in discoveries if discovery.source is Source.SEED]
        if not seeds:
            return
        sites = [site_of(seed) for seed in seeds]
        known = zip(sites, self._state.records.get(seeds), self._records.get_all(sites), strict=True)
        for site in dict.fromkeys(site for site, record, state in known if _is_given_up(record, state)):
            if self._schedule.get(site) is None:
                yield from self._retry(site, now)

    def _retry(self, site: Site, now: float) -> Iterator[Queued]:
        record = self._records.get(site)
        _ask_again(record)
        delay = delay_after(self._politeness, record.delay, record.last_duration)
        record.ready_at = max(record.ready_at, now + delay)
        self._records.changed(record)
        yield from self.retry_given_up(site)

    def retry_given_up(self, site: Site, limit: int = _MAX_RETRIED) -> Iterator[Queued]:
        """Queue again what was refused because a site could not be reached."""
        yield from self._queue_again(site, _has_failed, limit)

    def forgo_renamed(self, read: Mapping[Url, UrlRecord], rule: str) -> None:
        """Do not fetch these URLs: by a rule that was learnt, each is another name of a page that was read.

        `read`: the records of those pages. Seeds, and what a list names, are fetched nevertheless.
        """
        forgone: list[UrlRecord] = []
        events: list[Event] = []
        for known, (url, page) in zip(self._state.records.get(list(read)), read.items(), strict=True):
            if known is None:
                forgone.append(UrlRecord(url, page.first_seen, page.depth, reason=RENAMED, redirects=page.redirects))
            elif not known.visits and not known.reason and all(each.source is Source.LINK for each in known.first_seen):
                forgone.append(replace(known, reason=RENAMED))
                events.append(Refused(_discovered(known), RENAMED, rule))
        self._scores.queued_twice += len(events)  # each leaves its queue when its turn comes
        self._state.records.put(forgone)
        self._events.record(events)

    def retry_renamed(self, site: Site) -> Iterator[Queued]:
        """Queue again what was renamed while it waited at a site: a rule was withdrawn, and the others are asked."""
        yield from self._queue_again(site, _is_renamed)

    def retry_refused(self, site: Site, limit: int = _MAX_RETRIED) -> Iterator[Queued]:
        """Queue again what verdicts on a site, or on a kind of its URLs, refused, as far as it is accepted by now.

        Of branches without an end, those that are furthest from the seeds: there an end would be seen.
        """
        yield from self._queue_again(site, self._is_lifted, limit)

    def _is_lifted(self, record: UrlRecord) -> bool:
        if record.visits or record.reason not in LIFTED:
            return False
        return not isinstance(self._guard.judge_all([_discovered(record)])[0], Reject)

    def _queue_again(
        self, site: Site, is_wanted: Callable[[UrlRecord], bool], limit: int = _MAX_RETRIED
    ) -> Iterator[Queued]:
        if not limit:
            return
        refused = (
            (record.depth if record.reason == "endless" else 0, record.url)
            for record in self._state.records.of_site(site)
            if is_wanted(record)
        )
        urls = [url for _, url in nlargest(limit, refused, key=itemgetter(0))]
        for start in range(0, len(urls), _RETRIED_TOGETHER):
            found = self._state.records.get(urls[start : start + _RETRIED_TOGETHER])
            records = [record for record in found if record is not None]
            self._state.records.put([replace(record, reason="", failures=0, status=None) for record in records])
            entries = [self.candidate(_discovered(record))[2] for record in records]
            self._scores.requeue(entries)
            yield from entries


def _record(discovery: Discovery) -> UrlRecord:
    return UrlRecord(
        discovery.url,
        (FirstSeen(discovery.source, discovery.found_at),),
        discovery.depth,
        discovery.hints.lastmod,
        redirects=discovery.redirects,
    )


def _first(candidate: Candidate) -> Candidate:
    discovery, score, entry = candidate
    return discovery, score, replace(entry, level=FIRST_LEVEL)


def _is_wanted_here_too(discovery: Discovery, known: UrlRecord) -> bool:
    """Whether a URL that waits in one lane is to wait in this source's as well; it is still fetched only once."""
    lane = LANES[discovery.source]
    is_waiting = not known.visits and not known.reason
    return is_waiting and lane not in [LANES[seen.source] for seen in known.first_seen]


def _is_read_and_listed(record: UrlRecord) -> bool:
    """Whether a page was read, and may have been put with near-duplicates, before a sitemap listed it."""
    return record.visits > 0 and record.first_seen[-1].source is Source.SITEMAP


def _with_source(known: UrlRecord, discovery: Discovery) -> UrlRecord:
    others = [seen for seen in known.first_seen if seen.source is not discovery.source]
    seen = (*others, FirstSeen(discovery.source, discovery.found_at))
    return replace(known, first_seen=seen, lastmod=discovery.hints.lastmod or known.lastmod)


def _is_given_up(record: UrlRecord | None, site: SiteState) -> bool:
    return (record is not None and _has_failed(record)) or is_temporary(site.retired)


def _has_failed(record: UrlRecord) -> bool:
    """Whether a page was given up so. Files are retried by `engine.sitemaps`; their records have a fragment."""
    return record.kept_at is None and is_temporary(record.reason) and "#" not in record.url


def _is_renamed(record: UrlRecord) -> bool:
    return record.reason == RENAMED and not record.visits and "#" not in record.url


def _discovered(record: UrlRecord) -> Discovery:
    """How a URL was discovered, from its record."""
    first = record.first_seen[0]
    return Discovery(record.url, first.source, first.at, record.depth, redirects=record.redirects)


def _ask_again(site: SiteState) -> None:
    """Clear the record that a site could not be reached."""
    site.retired = "" if is_temporary(site.retired) else site.retired
    site.failures = site.robots_tries = site.robots_redirects = 0
    site.robots_at = None
    site.robots_expire_at = site.ip_expires_at = 0.0
