"""What people are shown of freshness: how far signals are trusted, and how likely copies are fresh."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from periplus.content import Churn, ChurnSettings
from periplus.engine.frontier import SiteRecords
from periplus.model import (
    Lane,
    PageFreshness,
    RevisitBudget,
    SignalCounts,
    SignalFacts,
    Site,
    SiteFreshness,
    UrlRecord,
)
from periplus.policy.weights import PageWeights
from periplus.store import SiteState, State
from periplus.urls import site_of

from .evidence import DAY, SignalKind, unpack_page
from .facts import of_collection, price_of
from .gains import NO_SITE_GAINS, SiteGains
from .records import RevisitState
from .settings import RefreshSettings
from .signals import NO_EVIDENCE, KindEvidence, SiteEvidence
from .visit_value import UpcomingVisits

_LOOKED_AT = 10_000
"""Maximum waiting URLs of a site that are searched for a page."""


def budget_of(states: Sequence[State], now: float, settings: RefreshSettings) -> RevisitBudget:
    """How fresh all pages are together, and what their visits cost."""
    metas = [meta for state in states if (meta := state.meta(RevisitState)) is not None]
    watched = [meta for meta in metas if meta.total]
    return RevisitBudget(
        freshness=of_collection(states, now, settings),
        visits_a_day=max((each.total for each in watched), default=0.0),
        price=sum(each.price for each in watched) / len(watched) if watched else None,
        objective=watched[0].objective if watched else "",
        planned=sum(len(state.calendar) for state in states),
    )


def of_site(
    kept: SiteState, settings: ChurnSettings | None = None, counted: Iterable[SignalCounts] = ()
) -> SiteFreshness | None:
    """The freshness of a site; `None` if nothing was learnt yet. `counted` is what other parts know of its signals."""
    evidence = kept.value(SiteEvidence) or NO_EVIDENCE
    kinds = [kind for kind in SignalKind if evidence.of(kind).polls or evidence.of(kind).judged]
    others = [*_header(kept), *(_counted(each) for each in counted)]
    if not kinds and not others and not evidence.pages and not kept.churn.compared:
        return None
    churn = Churn(settings, kept.churn)
    rate = evidence.rate + sum(evidence.precision_rate(kind) for kind in SignalKind)
    return SiteFreshness(
        rate=rate if evidence.again else None,
        pages=evidence.again,
        signals=(*(_signal(kind.name.lower(), evidence.of(kind), evidence.recall(kind)) for kind in kinds), *others),
        churning=churn.parts,
        compared=churn.compared,
    )


def _header(kept: SiteState) -> Iterable[SignalFacts]:
    """Return the trust in `Last-Modified`, which is seen only on a visit; a 304 relies on it."""
    gains = kept.value(SiteGains) or NO_SITE_GAINS
    if gains.moved or gains.changed:
        yield _signal("header", gains.header, gains.header_recall)


def _counted(counts: SignalCounts) -> SignalFacts:
    return _signal(counts.kind, KindEvidence(right=counts.right, judged=counts.judged), counts.recall)


def _signal(kind: str, known: KindEvidence, recall: float) -> SignalFacts:
    low, high = known.interval
    return SignalFacts(
        kind=kind,
        verdict=known.verdict,
        precision=round(known.precision, 4),
        low=round(low, 4),
        high=round(high, 4),
        judged=round(known.judged, 1),
        recall=round(recall, 4),
        lag=round(known.lag * DAY, 1),
        polls=known.polls,
        moved=round(known.moved, 4),
        is_heard=known.kappa > 0.0,
    )


def of_page(
    state: State, record: UrlRecord, settings: RefreshSettings, now: float, weigh: PageWeights | None = None
) -> PageFreshness | None:
    """The freshness of a page; `None` if it was never seen."""
    if not record.evidence:
        return None
    page = unpack_page(record.evidence)
    price = price_of(state)
    is_waiting = record.due_at is None and _waits(state, record)
    upcoming = UpcomingVisits(state, SiteRecords(state.sites), settings, weigh)
    visit = upcoming.of(record, price or 1.0, now, is_waiting=is_waiting)
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


def _waits(state: State, record: UrlRecord) -> bool:
    site: Site = site_of(record.url)
    heads = state.queues.heads(site, Lane.REFRESH, _LOOKED_AT)
    return any(head.entry.url == record.url for head in heads)
