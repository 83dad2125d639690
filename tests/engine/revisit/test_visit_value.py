"""The next visits and their reasons, in the order in which they will be made."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.each_case import each_case
from tests.kept_values import with_values

from periplus.engine.frontier.site import SiteRecords
from periplus.engine.revisit.evidence import PageEvidence, SignalKind
from periplus.engine.revisit.settings import RefreshSettings
from periplus.engine.revisit.signals import KindEvidence, SiteEvidence
from periplus.engine.revisit.visit_value import UpcomingVisits
from periplus.model import FirstSeen, Lane, NextVisit, Queued, Site, Source, Url, UrlRecord
from periplus.policy.weights import PageWeights
from periplus.store import MemoryState, SiteState

DAY = 86_400.0
NOW = 1_000 * DAY
HOME = "http://a.test"
SITE = Site("a.test")
SETTINGS = RefreshSettings()
TRUSTED = SiteEvidence(rate=0.1, signals=0.1, pages=50).with_kind(
    SignalKind.SITEMAP, KindEvidence(right=90.0, judged=100.0, polls=9)
)


def record(path: str, *, rate: float = 0.1, age: float = 1.0, due_at: float | None = NOW + DAY) -> UrlRecord:
    """A page that was seen `age` days ago and changes `rate` times a day."""
    page = PageEvidence(visited_at=NOW - age * DAY, rate=rate, watched_from=1)
    return UrlRecord(
        Url(f"{HOME}{path}"), (FirstSeen(Source.LINK, 1.0),), due_at=due_at, visits=1, evidence=page.pack()
    )


def kept(*records: UrlRecord, waiting: tuple[UrlRecord, ...] = (), site: SiteEvidence = TRUSTED) -> MemoryState:
    state = MemoryState()
    state.records.put([*records, *waiting])
    state.calendar.move([(each.url, None, each.due_at) for each in records])
    state.queues.push([Queued(each.url, SITE, Lane.REFRESH, 63 - n) for n, each in enumerate(waiting)])
    state.sites.put([with_values(SiteState(SITE), site)])
    return state


def visits_of(state: MemoryState, weights: PageWeights | None = None) -> UpcomingVisits:
    return UpcomingVisits(state, SiteRecords(state.sites), SETTINGS, weights)


def upcoming(state: MemoryState, price: float = 0.05, limit: int = 5) -> list[NextVisit]:
    return visits_of(state).list(price, NOW, limit)


def reason(one: UrlRecord, *, price: float = 0.05, site: SiteEvidence = TRUSTED) -> str:
    return upcoming(kept(one, site=site), price)[0].reason


def told(one: UrlRecord, kind: SignalKind) -> UrlRecord:
    page = PageEvidence(visited_at=NOW - DAY, rate=0.1, watched_from=1).signalled(kind)
    return replace(one, evidence=page.pack())


def test_waiting_pages_come_before_the_calendar() -> None:
    """Those that wait by worth, then the calendar, up to the limit."""
    waiting = (record("/w1", age=60.0, due_at=None), record("/w2", age=60.0, due_at=None))
    later = [record(f"/{n}", due_at=NOW + n * 30 * DAY) for n in (3, 1, 2)]
    visits = upcoming(kept(*later, waiting=waiting), limit=4)
    assert [visit.url.removeprefix(HOME) for visit in visits] == ["/w2", "/w1", "/1", "/2"]
    assert [visit.is_waiting for visit in visits] == [True, True, False, False]
    assert upcoming(kept()) == []


@each_case(("rate", "price", "expected"), [(0.1, 0.05, "worth"), (200.0, 1e-9, "soonest"), (0.0001, 100.0, "latest")])
def test_reason_is_what_sets_the_time(rate: float, price: float, expected: str) -> None:
    """Its worth, or one of the two bounds."""
    assert reason(record("/", rate=rate), price=price) == expected


def test_signal_is_a_reason_if_it_is_trusted() -> None:
    """A signal of a source that is always wrong is not."""
    one = told(record("/"), SignalKind.SITEMAP)
    assert reason(one) == "told"
    assert upcoming(kept(one))[0].signals == {"sitemap": 1}
    liar = TRUSTED.with_kind(SignalKind.SITEMAP, KindEvidence(judged=100.0, polls=9))
    assert reason(one, site=liar) != "told"


def test_failures_and_redirects_have_reasons_of_their_own() -> None:
    """Their freshness is not estimated."""
    failed = replace(record("/"), failures=2, reason="timeout")
    moved = replace(record("/"), evidence=b"", status=301)
    assert (reason(failed), reason(moved)) == ("failed", "moved")
    assert upcoming(kept(failed))[0].fresh is None


def test_waiting_page_below_the_price_was_sampled() -> None:
    """It is hardly stale and the price is high."""
    one = record("/", age=0.01, due_at=None)
    assert upcoming(kept(waiting=(one,)), price=1.0)[0].reason == "chance"


def test_page_crawled_before_the_watch_shows_when_it_will_be_worth_it() -> None:
    """Its time in the calendar is that of its last visit, at which it will be postponed."""
    one = record("/", due_at=NOW - DAY)
    visit = upcoming(kept(one))[0]
    assert visit.due_at > NOW
    assert visit.reason == "worth"


def test_freshness_and_worth_are_those_of_now() -> None:
    """A page that changes every ten days and was seen a day ago is fresh with 90 %."""
    visit = upcoming(kept(record("/"), site=SiteEvidence()))[0]
    assert visit.fresh == pytest.approx(0.905, abs=0.01)
    assert visit.rate == pytest.approx(0.1)
    assert visit.worth is not None
    assert 0.0 < visit.worth < 1.0


def test_calendar_entry_without_a_record_is_skipped() -> None:
    """It is not listed."""
    state = kept()
    state.calendar.move([(Url(f"{HOME}/ghost"), None, NOW)])
    assert upcoming(state) == []


def test_page_of_weight_0_is_worthless() -> None:
    """It is not listed; asked for by itself, it has its reason."""
    state = kept(record("/a"), record("/b"))
    visits = visits_of(state, PageWeights({"/a": 0.0}))
    assert [visit.url for visit in visits.list(0.05, NOW, 5)] == [f"{HOME}/b"]
    assert visits.of(record("/a"), 0.05, NOW).reason == "worthless"


def test_weight_moves_a_visit() -> None:
    """A page with three times the weight is due sooner."""
    plain, heavy = (visits_of(kept(record("/a")), PageWeights(weights)) for weights in ({}, {"/a": 3.0}))
    early = record("/a", due_at=NOW - 3 * DAY, age=0.1)
    assert heavy.of(early, 0.5, NOW).due_at < plain.of(early, 0.5, NOW).due_at
