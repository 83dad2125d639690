"""Which visits come next, and why: every reason from what is kept, in the order in which visits will be made."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from periplus.crawl.frontier import Foretelling, NextVisit
from periplus.model import FirstSeen, Lane, Queued, Site, SiteState, Source, Url, UrlRecord
from periplus.policy.refresh import KindEvidence, PageEvidence, RefreshSettings, SignalKind, SiteEvidence, Weigher
from periplus.store import MemoryState

DAY = 86_400.0
NOW = 1_000 * DAY
HOME = "http://a.test"
SITE = Site("a.test")
SETTINGS = RefreshSettings()
TRUSTED = SiteEvidence(rate=0.1, signals=0.1, pages=50).with_kind(
    SignalKind.SITEMAP, KindEvidence(right=90.0, judged=100.0, polls=9)
)


def record(path: str, *, rate: float = 0.1, age: float = 1.0, due_at: float | None = NOW + DAY) -> UrlRecord:
    """A page that was seen so many days ago and changes so many times a day."""
    page = PageEvidence(visited_at=NOW - age * DAY, rate=rate, watched_from=1)
    return UrlRecord(
        Url(f"{HOME}{path}"), (FirstSeen(Source.LINK, 1.0),), due_at=due_at, visits=1, evidence=page.pack()
    )


def kept(*records: UrlRecord, waiting: tuple[UrlRecord, ...] = (), site: SiteEvidence = TRUSTED) -> MemoryState:
    state = MemoryState()
    state.records.put([*records, *waiting])
    state.calendar.move([(each.url, None, each.due_at) for each in records])
    state.queues.push([Queued(each.url, SITE, Lane.REFRESH, 63 - n) for n, each in enumerate(waiting)])
    state.sites.put([SiteState(SITE, signals=site.pack())])
    return state


def foretold(state: MemoryState, price: float = 0.05, limit: int = 5) -> list[NextVisit]:
    return Foretelling(state, SETTINGS).next(price, NOW, limit)


def reason(one: UrlRecord, *, price: float = 0.05, site: SiteEvidence = TRUSTED) -> str:
    return foretold(kept(one, site=site), price)[0].reason


def told(one: UrlRecord, kind: SignalKind) -> UrlRecord:
    page = PageEvidence(visited_at=NOW - DAY, rate=0.1, watched_from=1).told(kind)
    return replace(one, evidence=page.pack())


def test_who_waits_comes_first_then_who_is_due_first() -> None:
    """Those whose time has come, the worthiest first; then the calendar; no more than were asked for."""
    waiting = (record("/w1", age=60.0, due_at=None), record("/w2", age=60.0, due_at=None))
    later = [record(f"/{n}", due_at=NOW + n * 30 * DAY) for n in (3, 1, 2)]
    visits = foretold(kept(*later, waiting=waiting), limit=4)
    assert [visit.url.removeprefix(HOME) for visit in visits] == ["/w2", "/w1", "/1", "/2"]
    assert [visit.is_waiting for visit in visits] == [True, True, False, False]
    assert foretold(kept()) == []


@pytest.mark.parametrize(
    ("rate", "price", "expected"), [(0.1, 0.05, "worth"), (200.0, 1e-9, "soonest"), (0.0001, 100.0, "latest")]
)
def test_the_reason_of_a_visit_is_what_sets_its_time(rate: float, price: float, expected: str) -> None:
    """Its worth, or one of the two bounds."""
    assert reason(record("/", rate=rate), price=price) == expected


def test_a_signal_is_a_reason_if_it_is_believed() -> None:
    """What a liar says is no reason."""
    one = told(record("/"), SignalKind.SITEMAP)
    assert reason(one) == "told"
    assert foretold(kept(one))[0].signals == {"sitemap": 1}
    liar = TRUSTED.with_kind(SignalKind.SITEMAP, KindEvidence(judged=100.0, polls=9))
    assert reason(one, site=liar) != "told"


def test_failures_and_redirects_have_reasons_of_their_own() -> None:
    """They are not reckoned with: nothing is said of how fresh they are."""
    failed = replace(record("/"), failures=2, reason="timeout")
    moved = replace(record("/"), evidence=b"", status=301)
    assert (reason(failed), reason(moved)) == ("failed", "moved")
    assert foretold(kept(failed))[0].fresh is None


def test_who_waits_without_being_worth_it_was_drawn_by_lot() -> None:
    """Hardly stale and dear: nobody else would let it wait."""
    one = record("/", age=0.01, due_at=None)
    assert foretold(kept(waiting=(one,)), price=1.0)[0].reason == "chance"


def test_a_page_that_was_crawled_before_the_watch_is_told_when_it_will_be_worth_it() -> None:
    """Its time in the calendar is that of its last visit, at which it is only looked at: it will sleep on."""
    one = record("/", due_at=NOW - DAY)
    visit = foretold(kept(one))[0]
    assert visit.due_at > NOW
    assert visit.reason == "worth"


def test_freshness_and_worth_are_those_of_now() -> None:
    """A page that changes every ten days and was seen a day ago is fresh with 90 %."""
    visit = foretold(kept(record("/"), site=SiteEvidence()))[0]
    assert visit.fresh == pytest.approx(0.905, abs=0.01)
    assert visit.rate == pytest.approx(0.1)
    assert visit.worth is not None
    assert 0.0 < visit.worth < 1.0


def test_a_calendar_that_names_what_is_gone_does_not_matter() -> None:
    """Nobody tells of a page without a record."""
    state = kept()
    state.calendar.move([(Url(f"{HOME}/ghost"), None, NOW)])
    assert foretold(state) == []


def test_who_weighs_nothing_is_not_visited_and_says_so() -> None:
    """It is in no list of visits to come; asked for by itself, it has its reason."""
    state = kept(record("/a"), record("/b"))
    foretelling = Foretelling(state, SETTINGS, Weigher({"/a": 0.0}))
    assert [visit.url for visit in foretelling.next(0.05, NOW, 5)] == [f"{HOME}/b"]
    assert foretelling.of(record("/a"), 0.05, NOW).reason == "worthless"


def test_weights_move_a_visit() -> None:
    """Three times the weight, sooner."""
    plain, heavy = (Foretelling(kept(record("/a")), SETTINGS, Weigher(weights)) for weights in ({}, {"/a": 3.0}))
    early = record("/a", due_at=NOW - 3 * DAY, age=0.1)
    assert heavy.of(early, 0.5, NOW).due_at < plain.of(early, 0.5, NOW).due_at
