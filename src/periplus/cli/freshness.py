"""What is known of freshness: how far a site's signals can be trusted, and how likely a copy of a page is fresh.

Gathered from what the shards have committed; how it is said is in `freshness_words`. The values here are part of what
`periplus info --json` prints.
"""

from __future__ import annotations

from msgspec import Struct

from periplus.crawl.frontier import Foretelling, NextVisit
from periplus.model import Lane, Site, SiteState, State, UrlRecord
from periplus.policy.refresh import RefreshSettings, SignalKind, SiteEvidence, unpack_page, unpack_site
from periplus.urls import site_of

DAY = 86_400.0
_LOOKED_AT = 10_000
"""So many that wait with a site are looked through for a page."""


class SignalFacts(Struct, frozen=True):
    """How far one kind of signal can be trusted on a site: `verdict` in a word.

    `precision` is the share of its signals that are right, with 95 % probability between `low` and `high`, from
    `judged` of them; `recall` the share of changes that it tells; `lag` how many seconds after the time that they name
    its signals are heard. `polls`: how often it was asked, `moved` of how many of its pages it said then that they
    changed, lately. `is_heard`: whether what it says counts.
    """

    kind: str
    verdict: str
    precision: float
    low: float
    high: float
    judged: float
    recall: float
    lag: float
    polls: int
    moved: float
    is_heard: bool


class SiteFreshness(Struct, frozen=True):
    """How often the pages of a site change (`rate`, a day, told or not), as `pages` of them show, and its signals.

    `rate` is null as long as too few were visited again.
    """

    rate: float | None
    pages: int
    signals: tuple[SignalFacts, ...]


class PageFreshness(Struct, frozen=True):
    """How likely the copy of a page is fresh, from how often it changes (`rate`, a day) and what was said since.

    `age` is in seconds; `visits` is how many could be compared with the one before, `changes` how many differed, and
    `signals` how many of each kind came since the last. The first two are null after a visit that failed. `next` is
    null if nobody will come back.
    """

    rate: float | None
    fresh: float | None
    age: float
    visits: int
    changes: int
    signals: dict[str, int]
    next: NextVisit | None
    is_watched: bool


def of_site(kept: SiteState) -> SiteFreshness | None:
    """Of a site; `None` if nothing was learnt yet."""
    evidence = unpack_site(kept.signals)
    heard = [kind for kind in SignalKind if evidence.of(kind).polls or evidence.of(kind).judged]
    if not heard and not evidence.pages:
        return None
    rate = evidence.rate + sum(evidence.precision_rate(kind) for kind in SignalKind)
    return SiteFreshness(
        rate=rate if evidence.pages else None,
        pages=evidence.pages,
        signals=tuple(_signal(evidence, kind) for kind in heard),
    )


def _signal(evidence: SiteEvidence, kind: SignalKind) -> SignalFacts:
    known = evidence.of(kind)
    low, high = known.interval
    return SignalFacts(
        kind=kind.name.lower(),
        verdict=known.verdict,
        precision=round(known.precision, 4),
        low=round(low, 4),
        high=round(high, 4),
        judged=round(known.judged, 1),
        recall=round(evidence.recall(kind), 4),
        lag=round(known.lag * DAY, 1),
        polls=known.polls,
        moved=round(known.moved, 4),
        is_heard=known.kappa > 0.0,
    )


def of_page(state: State, record: UrlRecord, settings: RefreshSettings, now: float) -> PageFreshness | None:
    """Of a page; `None` if it was never seen."""
    if not record.evidence:
        return None
    page = unpack_page(record.evidence)
    price = price_of(state)
    is_waiting = record.due_at is None and _waits(state, record)
    visit = Foretelling(state, settings).of(record, price or 1.0, now, is_waiting=is_waiting)
    is_due = price is not None and (is_waiting or record.due_at is not None)
    return PageFreshness(
        rate=visit.rate,
        fresh=visit.fresh,
        age=max(now - page.visited_at, 0.0),
        visits=max(record.visits - 1, 0),
        changes=record.changes,
        signals=visit.signals,
        next=visit if is_due else None,
        is_watched=price is not None,
    )


def price_of(state: State) -> float | None:
    """What a visit must be worth, of a collection that was watched."""
    kept = state.marked("price")
    return None if kept is None else float(kept)


def _waits(state: State, record: UrlRecord) -> bool:
    site: Site = site_of(record.url)
    heads = state.queues.heads(site, Lane.REFRESH, _LOOKED_AT)
    return any(head.entry.url == record.url for head in heads)
