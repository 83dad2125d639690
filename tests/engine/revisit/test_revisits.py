"""Which pages are visited again, and how often: hubs, weights, cheap answers, quotas and signals, on live sites."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from msgspec.structs import replace
from tests.each_case import each_case
from tests.engine.revisit.revisited_pages import DAY, ChangingPage, RevisitedWeb, unchanging

from periplus.engine.frontier.site import SiteRecords
from periplus.engine.revisit.budget import Watching
from periplus.engine.revisit.evidence import SignalKind, unpack_page
from periplus.engine.revisit.gains import NO_SITE_GAINS, SiteGains, unpack_page_gains
from periplus.engine.revisit.revisits import Revisits
from periplus.engine.revisit.settings import RefreshSettings
from periplus.engine.revisit.signals import NO_EVIDENCE, KindEvidence, SiteEvidence
from periplus.engine.revisit.visit_value import UpcomingVisits, VisitValuer
from periplus.model import ConfigError, Discovery, Lane, Site, Source
from periplus.policy.weights import PageWeights
from periplus.store import MemoryState, SiteState

NEW_SITE = SiteState(Site("a.test"))


def news(day: float) -> list[str]:
    """Three new articles a day; the last thirty are linked."""
    last = int(3 * day)
    return [f"/article{n}" for n in range(max(0, last - 30), last)]


@pytest.mark.proof
def test_hub_is_visited_for_the_new_pages_it_links_to() -> None:
    """Its own text never changes."""
    pages = unchanging(40)
    web = RevisitedWeb({"/": ChangingPage(links=lambda _: ["/hub", *pages]), "/hub": ChangingPage(links=news), **pages})
    web.crawl("/")
    before = web.visits.copy()
    web.watch(11.0)
    again = web.visits - before
    assert unpack_page_gains(web.record("/hub").gains).new_a_day == pytest.approx(3.0, rel=0.5)
    others = sum(again[path] for path in pages) / len(pages)
    assert again["/hub"] > 5 * max(others, 1.0)
    assert sum(path.startswith("/article") for path in again) > 20
    assert web.record("/p1").gains == b""
    visit = UpcomingVisits(web.state, web.sites).of(web.record("/hub"), web.revisits.price, web.now)
    assert visit.reason == "leads"


def test_first_visit_earns_no_credit_for_links() -> None:
    """All links are new the first time."""
    web = RevisitedWeb({"/": ChangingPage(links=lambda _: list(unchanging(20)))})
    web.crawl("/")
    web.watch(5.0)
    assert web.visits["/"] > 1
    assert web.record("/").gains == b""


@pytest.mark.proof
@pytest.mark.parametrize("is_copy", [False, True])
def test_hub_that_links_to_copies_is_worth_little(is_copy: bool) -> None:
    """What its new pages were worth is learnt, and so what the hub is worth."""
    articles = {f"/article{n}": ChangingPage(is_copy=is_copy) for n in range(200)}
    web = RevisitedWeb({"/": ChangingPage(links=news), **articles})
    web.crawl("/")
    web.watch(8.0)
    hub = VisitValuer().hub(web.record("/").gains, web.site())
    assert hub is not None
    assert (hub.page_worth < 0.1) if is_copy else (hub.page_worth > 0.9)


def test_answers_to_revisits_are_counted() -> None:
    """A site that answers 304 where nothing changed, and whose Last-Modified moves with its pages."""
    pages = unchanging(20, answers_304=True, every=3.0)
    web = RevisitedWeb({"/": ChangingPage(links=lambda _: list(pages)), **pages})
    web.crawl("/")
    web.watch(10.0)
    gains = web.site().value(SiteGains) or NO_SITE_GAINS
    assert 0.2 < gains.unchanged_share < 0.9
    assert gains.header.verdict == "honest"
    assert gains.header_recall > 0.9


@pytest.mark.parametrize("cost", [1.0, 0.1])
def test_cheap_answers_count_only_where_bytes_do(cost: float) -> None:
    """With a budget of requests, pages that change alike are visited alike."""
    web = RevisitedWeb({"/": ChangingPage(links=lambda _: ["/a"])})
    web.crawl("/")
    site, valuer = web.site(), VisitValuer(RefreshSettings(unchanged_cost=cost))
    plain = valuer.due_at(web.record("/a"), site, web.now)
    for _ in range(100):
        site.keep((site.value(SiteGains) or NO_SITE_GAINS).answered(is_unchanged=True))
    cheap = valuer.due_at(web.record("/a"), site, web.now)
    assert (cheap < plain) == (cost < 1.0)


def test_weights_shift_visits_within_the_budget() -> None:
    """Important pages are visited more often, pages of weight 0 never; weights are in means of the collection."""
    pages = {f"/{kind}/{n}": ChangingPage(every=2.0) for kind in ("news", "old", "never") for n in range(20)}
    settings = RefreshSettings(weights={"/news/*": 5.0, "/never/*": 0.0})
    web = RevisitedWeb(
        {"/": ChangingPage(links=lambda _: list(pages)), **pages},
        visits_per_day=12.0,
        settings=settings,
        weights=lambda: PageWeights(settings.weights),
    )
    web.crawl("/")
    before = web.visits.copy()
    web.watch(10.0)
    again = web.visits - before
    by_kind = {kind: sum(again[f"/{kind}/{n}"] for n in range(20)) for kind in ("news", "old", "never")}
    assert by_kind["news"] > 1.5 * by_kind["old"] > 0
    assert by_kind["never"] == 0
    assert web.weights.mean == pytest.approx((20 * 5 + 20 + 1) / 61, rel=0.01)
    assert web.record("/never/1").due_at is not None


def test_longevity_prefers_pages_of_which_more_is_replaced() -> None:
    """Two pages change alike; of one a tenth is replaced each time."""
    pages = {"/all": ChangingPage(every=3.0), "/bit": ChangingPage(every=3.0, replaced=0.1)}
    web = RevisitedWeb({"/": ChangingPage(links=lambda _: list(pages)), **pages}, visits_per_day=8.0)
    web.crawl("/")
    web.watch(20.0)
    whole, bit = web.record("/all"), web.record("/bit")
    assert unpack_page_gains(whole.gains).replaced > 0.9
    assert unpack_page_gains(bit.gains).replaced < 0.4
    alike = replace(whole, gains=bit.gains)
    binary, longevity = (VisitValuer(RefreshSettings(name)) for name in ("binary", "longevity"))
    for valuer in (binary, longevity):
        valuer.appraiser.price.value = 0.05
    site = web.site()
    assert binary.due_at(whole, site, web.now) == binary.due_at(alike, site, web.now)
    assert longevity.due_at(whole, site, web.now) < longevity.due_at(alike, site, web.now)


def test_price_moves_once_for_a_visit_that_is_tried_again() -> None:
    """An attempt after a failure does not count."""
    web = RevisitedWeb({"/": ChangingPage(every=1.0)})
    web.crawl("/")
    record, price = web.record("/"), web.revisits.price
    web.revisits.granted(record, web.now + 10 * DAY, is_revisit=True)
    once = web.revisits.price
    assert once != price
    web.revisits.granted(replace(record, failures=1), web.now + 10 * DAY, is_revisit=True)
    assert web.revisits.price == once


def test_new_pages_and_revisits_share_the_budget() -> None:
    """Neither kind is crowded out while both wait."""
    pages = unchanging(80, every=1.0)
    new = [f"/new{n}" for n in range(600)]
    home = ChangingPage(links=lambda day: list(pages) if day < 1 else new)
    web = RevisitedWeb({"/": home, **pages}, visits_per_day=48.0)
    web.crawl("/")
    web.watch(2.0)
    before = web.lanes.copy()
    web.watch(2.5)
    lanes = web.lanes - before
    assert 0.2 < lanes[Lane.REFRESH] / lanes.total() < 0.8


def test_objective_without_days_has_no_hubs() -> None:
    """An age squared cannot be compared with new pages."""
    web = RevisitedWeb({"/": ChangingPage(links=news)}, settings=RefreshSettings("age"))
    web.crawl("/")
    web.watch(5.0)
    gains = web.record("/").gains
    assert gains
    assert VisitValuer(RefreshSettings("age")).hub(gains, NEW_SITE) is None
    assert VisitValuer().hub(gains, NEW_SITE) is not None


def test_unknown_objective_is_refused() -> None:
    """The message names it."""
    state = MemoryState()
    with pytest.raises(ConfigError, match="longvity"):
        Revisits(state, SiteRecords(state.sites), RefreshSettings("longvity"), random=Random(1))


def lately_changed(day: float) -> list[str]:
    """Those of forty pages that changed in the last three days."""
    return [f"/p{n}" for n in range(40) if day % 40 - 3 < n <= day % 40]


def any_ten(day: float) -> list[str]:
    """Ten other pages every few hours, whatever changed."""
    return [f"/p{n}" for n in Random(int(day * 4)).sample(range(40), 10)]


@pytest.mark.parametrize("links", [lately_changed, pytest.param(any_ten, marks=pytest.mark.slow)])
def test_new_links_of_a_hub_are_signals_once_visits_confirm_them(links: Callable[[float], list[str]]) -> None:
    """Each page changes every forty days; visits show whether a new link means that its page changed."""
    pages = {f"/p{n}": ChangingPage(every=40.0, begins=float(n)) for n in range(40)}
    home = ChangingPage(links=lambda day: list(pages) if day < 0.5 else [])
    hub = ChangingPage(links=lambda day: links(day) + news(day)[-3:])
    web = RevisitedWeb({"/": home, "/hub": hub, **pages})
    web.crawl("/", "/hub")
    assert KindEvidence(is_doubted=True).kappa == 0.0
    web.watch(16.0)
    heard = (web.site().value(SiteEvidence) or NO_EVIDENCE).of(SignalKind.HUB)
    assert heard.judged > 10.0
    assert heard.verdict == ("useful" if links is lately_changed else "useless")
    assert (heard.kappa > 0.0) == (links is lately_changed)
    assert unpack_page_gains(web.record("/hub").gains).links
    assert not unpack_page_gains(web.record("/p1").gains).links


def test_signal_makes_a_page_due_sooner() -> None:
    """A later date in a sitemap that was right before."""
    web = RevisitedWeb({"/": ChangingPage(links=lambda _: list(unchanging(10)))}, visits_per_day=2.0)
    web.crawl("/")
    trusted = KindEvidence(right=90.0, judged=100.0, polls=9)
    known = SiteEvidence(rate=0.1, signals=0.1, pages=11).with_kind(SignalKind.SITEMAP, trusted)
    web.site().keep(known)
    web.now += DAY / 4
    web.turn()
    before = web.record("/p1").due_at
    web.mention("/p1", lastmod=web.now - 60.0)
    assert before is not None
    assert before > web.now
    assert web.record("/p1").due_at is None
    assert web.url("/p1") in [entry.url for entry in web.waiting(Lane.REFRESH)]


def told_web(**settings: float) -> RevisitedWeb:
    """A site of 81 pages, each visited once, four hours ago. No sitemap has dated them yet."""
    pages = unchanging(80)
    web = RevisitedWeb(
        {"/": ChangingPage(links=lambda _: list(pages)), **pages},
        visits_per_day=480.0,
        settings=RefreshSettings(**settings),  # type: ignore[arg-type]
    )
    web.crawl("/")
    web.now += DAY / 6
    return web


def test_first_date_of_a_site_is_a_reason_to_look() -> None:
    """Pages that a sitemap dates later than our copies, for the first time, are visited before any other."""
    web = told_web()
    told = [f"/p{number}" for number in range(10, 20)]
    for path in told:
        web.mention(path, lastmod=web.now - 60.0)
    web.visits.clear()
    for _ in told:
        web.turn()
        web.now += 1.0
    assert set(web.visits) == set(told)


def test_signal_just_after_a_visit_is_not_lost() -> None:
    """The page rests for `shortest`, and is then visited before others."""
    web = told_web(shortest=7200.0)
    web.mention("/p7", lastmod=web.now - 60.0)
    web.turn()
    web.now += 10.0
    web.mention("/p7", lastmod=web.now - 5.0)
    page = web.record("/p7")
    assert page.fetched_at == web.now - 10.0
    assert unpack_page(page.evidence).signals[SignalKind.SITEMAP] == 1
    assert page.due_at is not None
    assert page.due_at == web.now - 10.0 + 7200.0


@each_case("is_true", [True, False])
def test_trust_follows_the_first_checks(is_true: bool) -> None:
    """A few visits raise or lower it, before the site is estimated again."""
    web = told_web()
    told = [f"/p{number}" for number in range(8)]
    for path in told:
        web.pages[path] = ChangingPage(begins=1e9 if is_true else 0.0)
        web.mention(path, lastmod=web.now - 60.0)
    before = (web.site().value(SiteEvidence) or NO_EVIDENCE).of(SignalKind.SITEMAP).precision
    for _ in told:
        web.turn()
        web.now += 1.0
    after = (web.site().value(SiteEvidence) or NO_EVIDENCE).of(SignalKind.SITEMAP).precision
    assert before == 0.5
    assert after > 0.8 if is_true else after < 0.2
    trust = web.revisits.snapshot().trust
    assert (trust.of(SignalKind.SITEMAP) > 0.55) if is_true else (trust.of(SignalKind.SITEMAP) < 0.45)
    assert trust.of(SignalKind.PING) == 0.8


def test_pages_that_are_due_do_not_keep_a_reported_one_waiting() -> None:
    """It is queued although there is no room, and its level is better than theirs."""
    web = told_web(explore_share=0.0)
    web.now += 60 * DAY
    web.state.queues.push(web.revisits.due(web.now, 0))
    waiting = web.waiting(Lane.REFRESH)
    assert len(waiting) == 20
    assert web.revisits.due(web.now, 20) == []
    other = next(path for path in web.pages if web.record(path).due_at is not None)
    web.mention(other, Source.PING)
    assert web.url(other) in [entry.url for entry in web.waiting(Lane.REFRESH)]
    waiting_one = waiting[-1].url
    discovery = Discovery(waiting_one, Source.PING, web.now)
    web.revisits.mentioned(discovery, web.record_of(waiting_one))
    [told] = web.revisits.told()
    assert told.is_waiting
    assert told.entry.level <= waiting[-1].level


def test_of_pages_that_are_due_the_most_valuable_are_queued() -> None:
    """Not those that have been due for the longest: one of much weight was visited two days ago, others long ago."""
    weights = {"*/p79": 50.0}
    pages = unchanging(79) | {"/p79": ChangingPage(every=1.0)}
    web = RevisitedWeb(
        {"/": ChangingPage(links=lambda _: list(pages)), **pages},
        visits_per_day=480.0,
        settings=RefreshSettings(explore_share=0.0, weights=weights),
        weights=lambda: PageWeights(weights),
    )
    web.crawl("/")
    web.now += 58 * DAY
    web.mention("/p79", Source.PING)
    web.turn()
    for entry in web.waiting(Lane.REFRESH):
        assert entry.url != web.url("/p79")
    web.now += 2 * DAY
    queued = [entry.url for entry in web.revisits.due(web.now, 0)]
    assert len(queued) == 20
    assert web.url("/p79") in queued


def test_page_that_fails_is_asked_again_at_once_after_a_ping() -> None:
    """Its visits grow rarer and never end; a ping brings the next one forward."""
    web = RevisitedWeb({"/": ChangingPage(links=lambda _: ["/a"]), "/a": ChangingPage()}, visits_per_day=6.0)
    web.crawl("/")
    web.pages["/a"].fails = True
    web.watch(60.0)
    due_at = web.record("/a").due_at
    assert due_at is not None
    assert web.now < due_at <= web.now + 30 * DAY
    web.mention("/a", Source.PING)
    assert web.record("/a").due_at == web.now


def test_crawl_without_a_watch_only_learns() -> None:
    """Its calendar holds the time of each visit, and nothing is due."""
    web = RevisitedWeb({"/": ChangingPage(links=lambda _: ["/a"])})
    web.found([web.url("/")], None)
    while web.turn():
        web.now += 1.0
    revisits = web.revisits
    assert web.record("/a").due_at == web.record("/a").fetched_at
    assert not revisits.is_watching
    assert revisits.due(web.now + 1000 * DAY, 0) == []
    assert revisits.next_due(0) is None
    assert (revisits.bid(web.now), revisits.freshness(web.now), revisits.upcoming(web.now, 5)) == (None, None, [])
    assert revisits.file_interval(Site("a.test")) == 0.0
    assert revisits.condition(web.site(), web.record("/a")) is None


def test_no_more_wait_than_visits_of_an_hour() -> None:
    """Others stay in the calendar until there is room."""
    pages = unchanging(200, every=1.0)
    web = RevisitedWeb(
        {"/": ChangingPage(links=lambda _: list(pages)), **pages},
        visits_per_day=240.0,
        settings=RefreshSettings(explore_share=0.0),
    )
    web.crawl("/")
    later = web.now + 50 * DAY
    assert web.revisits.next_due(20) is None
    assert web.revisits.next_due(15) is not None
    assert web.revisits.due(later, 20) == []
    assert 0 < len(web.revisits.due(later, 10)) <= 20
    assert web.watching == Watching(240.0)
