"""The door: what is discovered is judged, known or new, and gets a place in the queue of its site.

The order is that of the plan: filters, then the seen test, then the count of what is admitted, then a priority. A
refusal is recorded with its rule; so is every source that tells of a URL for the first time.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from periplus.model import (
    Discovered,
    Discovery,
    Event,
    EventSink,
    FirstSeen,
    Guard,
    Lane,
    Ordering,
    Queued,
    Refused,
    Reject,
    Rewrite,
    Source,
    State,
    Url,
    UrlRecord,
)
from periplus.policy.ordering import level_of
from periplus.urls import site_of

from .esteem import Esteem
from .refresher import Refresher

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
"""Which budget pays for what was told by whom."""


def lane_of(discovery: Discovery) -> Lane:
    """Which budget pays for a discovery."""
    return LANES[discovery.source]


class Admission:
    """Lets discoveries in."""

    def __init__(
        self,
        state: State,
        *,
        guard: Guard,
        ordering: Ordering,
        events: EventSink,
        esteem: Esteem | None = None,
        refresher: Refresher | None = None,
    ) -> None:
        self._state = state
        self._guard = guard
        self._ordering = ordering
        self._events = events
        self._esteem = esteem
        self._refresher = refresher

    def admit(self, discoveries: Sequence[Discovery]) -> list[Queued]:
        """Learn of URLs, and queue those that are wanted and new: which those are."""
        if self._esteem is None:
            return self._admit(discoveries)
        self._hear(discoveries)
        queued = self._admit(self._esteem.credit(discoveries))
        self._esteem.link(discoveries)
        return queued

    def _admit(self, discoveries: Sequence[Discovery]) -> list[Queued]:
        events: list[Event] = []
        wanted = self._judge(discoveries, events)
        if self._esteem is not None:
            wanted = self._esteem.credit_judged(wanted)
        before = self._state.records.add_new([_record(discovery) for discovery in wanted])
        queued: list[tuple[Discovery, float, Queued]] = []
        changed: dict[Url, UrlRecord] = {}
        for discovery, known in zip(wanted, before, strict=True):
            if known is None:
                self._queue(discovery, queued, changed, events)
                continue
            known = self._heard(discovery, changed.get(discovery.url, known), changed)
            if _is_earlier(discovery, known):
                changed[discovery.url] = _with_source(known, discovery)
                events.append(Discovered(discovery, False))
            elif all(seen.source is not discovery.source for seen in known.first_seen):
                changed[discovery.url] = _with_source(known, discovery)
                events.append(Discovered(discovery, False))
                if self._esteem is not None:
                    self._esteem.also(discovery)
                elif self._is_wanted_here_too(discovery, known):
                    queued.append(self.entry(discovery))
        if changed:
            self._state.records.put(changed.values())
            self._state.sketches.mark_listed([url for url, record in changed.items() if _is_read_and_listed(record)])
        if events:
            self._tell(events)
        return self._push(queued) if queued else []

    def _tell(self, events: list[Event]) -> None:
        self._events.record(events)
        if self._refresher is not None:
            self._refresher.spawned(events)

    def _hear(self, discoveries: Sequence[Discovery]) -> None:
        """The same where those that are known by their source are not looked up otherwise."""
        dated = [each for each in discoveries if LANES[each.source] is Lane.SITEMAPS]
        changed: dict[Url, UrlRecord] = {}
        for discovery, known in zip(dated, self._state.records.get([each.url for each in dated]), strict=True):
            if known is not None:
                self._heard(discovery, changed.get(discovery.url, known), changed)
        self._state.records.put(changed.values())

    def _heard(self, discovery: Discovery, known: UrlRecord, changed: dict[Url, UrlRecord]) -> UrlRecord:
        """What is said of a page that is known may be that it changed."""
        heard = known if self._refresher is None else self._refresher.heard(discovery, known)
        if heard is not known:
            changed[discovery.url] = heard
        return heard

    def _push(self, queued: Sequence[tuple[Discovery, float, Queued]]) -> list[Queued]:
        if self._esteem is not None:
            return self._esteem.queue(queued)
        entries = [entry for _, _, entry in queued]
        self._state.queues.push(entries)
        return entries

    def _is_wanted_here_too(self, discovery: Discovery, known: UrlRecord) -> bool:
        """Whether a URL that waits in one lane is to wait in this source's as well; it is fetched once all the same."""
        lane = lane_of(discovery)
        is_waiting = not known.visits and not known.reason
        return is_waiting and all(LANES[seen.source] is not lane for seen in known.first_seen)

    def entry(self, discovery: Discovery) -> tuple[Discovery, float, Queued]:
        """The place that a URL gets: listed ones are in the order of their source, others in that of the ordering."""
        lane = lane_of(discovery)
        score = discovery.score if lane is Lane.SITEMAPS else self._ordering.score(discovery)
        return discovery, score, Queued(discovery.url, site_of(discovery.url), lane, level_of(score))

    def _judge(self, discoveries: Sequence[Discovery], events: list[Event]) -> list[Discovery]:
        wanted = []
        for discovery in discoveries:
            verdict = self._guard.judge(discovery)
            if isinstance(verdict, Reject):
                if not discovery.is_more:  # it was said when it was told of
                    events.append(Refused(discovery, verdict.reason, verdict.rule))
            elif isinstance(verdict, Rewrite):
                wanted.append(replace(discovery, url=verdict.url))
            else:
                wanted.append(discovery)
        return wanted

    def _queue(
        self,
        discovery: Discovery,
        queued: list[tuple[Discovery, float, Queued]],
        changed: dict[Url, UrlRecord],
        events: list[Event],
    ) -> None:
        verdict = self._guard.admit(discovery)
        if isinstance(verdict, Reject):
            changed[discovery.url] = replace(_record(discovery), reason=verdict.reason)
            events.append(Refused(discovery, verdict.reason, verdict.rule))
            return
        queued.append(self.entry(discovery))
        events.append(Discovered(discovery, True))


def _record(discovery: Discovery) -> UrlRecord:
    return UrlRecord(
        discovery.url,
        (FirstSeen(discovery.source, discovery.found_at),),
        discovery.depth,
        discovery.hints.lastmod,
        redirects=discovery.redirects,
    )


def _is_read_and_listed(record: UrlRecord) -> bool:
    """Whether a page was read, and may have been put with others that say the same, before a sitemap listed it."""
    return record.visits > 0 and record.first_seen[-1].source is Source.SITEMAP


def _is_earlier(discovery: Discovery, known: UrlRecord) -> bool:
    """Whether a source that is known had told of a URL before that: of two lists the later may be queued sooner."""
    return any(seen.source is discovery.source and discovery.found_at < seen.at for seen in known.first_seen)


def _with_source(known: UrlRecord, discovery: Discovery) -> UrlRecord:
    others = (seen for seen in known.first_seen if seen.source is not discovery.source)
    seen = (*others, FirstSeen(discovery.source, discovery.found_at))
    return replace(known, first_seen=seen, lastmod=discovery.hints.lastmod or known.lastmod)
