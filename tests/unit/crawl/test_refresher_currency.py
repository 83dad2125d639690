"""New pages, second visits, hubs and cheap answers are paid in one currency."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from msgspec.structs import replace
from tests.unit.crawl.living_pages import DAY, Living, LivingWeb

from periplus.crawl.frontier import Foretelling, Valuer
from periplus.model import ConfigError, Lane, Site, SiteState
from periplus.policy.refresh import (
    KindEvidence,
    RefreshSettings,
    SignalKind,
    SiteGains,
    Weigher,
    unpack_page_gains,
    unpack_site,
    unpack_site_gains,
)

SITE = Site("a.test")


def site_of(web: LivingWeb) -> SiteState:
    [site] = web.state.sites.get([SITE])
    assert site is not None
    return site


def gains(web: LivingWeb) -> SiteGains:
    return unpack_site_gains(site_of(web).gains)


def still(count: int, **how: object) -> dict[str, Living]:
    return {f"/p{n}": Living(**how) for n in range(count)}  # type: ignore[arg-type]


def news(day: float) -> list[str]:
    """Three new articles a day; the last thirty are named."""
    last = int(3 * day)
    return [f"/article{n}" for n in range(max(0, last - 30), last)]


def test_a_page_that_leads_to_new_ones_is_visited_for_them() -> None:
    """A hub whose text never changes is visited far more often than other pages that never change."""
    web = LivingWeb({"/": Living(leads=lambda _: ["/hub", *still(40)]), "/hub": Living(leads=news), **still(40)})
    web.crawl("/")
    before = web.visits.copy()
    web.watch(30.0)
    again = web.visits - before
    assert unpack_page_gains(web.record("/hub").gains).new_a_day == pytest.approx(3.0, rel=0.5)
    others = sum(again[path] for path in still(40)) / 40
    assert again["/hub"] > 5 * max(others, 1.0)
    assert sum(path.startswith("/article") for path in again) > 70
    assert web.record("/p1").gains == b""
    foretold = Foretelling(web.state).of(web.record("/hub"), web.scheduler.refresher.price, web.now)
    assert foretold.reason == "leads"


def test_what_a_first_visit_finds_is_no_hub() -> None:
    """All links are new the first time."""
    web = LivingWeb({"/": Living(leads=lambda _: list(still(20)))})
    web.crawl("/")
    web.watch(5.0)
    assert web.visits["/"] > 1
    assert web.record("/").gains == b""


def test_where_new_pages_are_copies_a_hub_is_worth_little() -> None:
    """A trap that makes up URLs of one page: what its new pages were worth is learnt, and so what the trap is."""
    worth = {}
    for is_copy in (False, True):
        articles = {f"/article{n}": Living(is_copy=is_copy) for n in range(200)}
        web = LivingWeb({"/": Living(leads=news), **articles}, visits_a_day=24.0)
        web.crawl("/")
        web.watch(20.0)
        hub = Valuer().hub(web.record("/").gains, site_of(web))
        assert hub is not None
        worth[is_copy] = hub.page_worth
    assert worth[True] < 0.1
    assert worth[False] > 0.9


def test_first_visits_are_credited_to_who_told_of_them_and_kept() -> None:
    """Links lead to copies here; it is durable with the site."""
    web = LivingWeb({"/": Living(leads=lambda _: list(still(30))), **still(30, is_copy=True)})
    web.crawl("/")
    assert gains(web).linked.tried > 30
    assert gains(web).listed.tried == 2.0
    assert gains(web).chance(is_listed=False) < 0.1


def test_what_second_visits_are_answered_is_learnt() -> None:
    """A site that answers 304 where nothing changed, and whose Last-Modified moves with its pages."""
    web = LivingWeb({"/": Living(leads=lambda _: list(still(20))), **still(20, answers_304=True, every=3.0)})
    web.crawl("/")
    web.watch(40.0)
    assert 0.2 < gains(web).unchanged_share < 0.9
    assert gains(web).header.verdict == "honest"
    assert gains(web).header_recall > 0.9


@pytest.mark.parametrize("cost", [1.0, 0.1])
def test_cheap_answers_are_preferred_only_where_bytes_count(cost: float) -> None:
    """With a budget of requests two pages that change alike are visited alike."""
    web = LivingWeb({"/": Living(leads=lambda _: ["/a", "/b"])})
    web.crawl("/")
    site = site_of(web)
    valuer = Valuer(RefreshSettings(unchanged_cost=cost))
    plain = valuer.due_at(web.record("/a"), site, web.now)
    for _ in range(100):
        site.gains = unpack_site_gains(site.gains).answered(is_unchanged=True).pack()
    cheap = valuer.due_at(web.record("/a"), site, web.now)
    assert (cheap < plain) == (cost < 1.0)


def test_important_pages_are_visited_more_often_and_the_price_keeps_its_meaning() -> None:
    """Weights by pattern, in means of the collection: the sum of visits is what the budget allows."""
    pages = {f"/{kind}/{n}": Living(every=2.0) for kind in ("news", "old", "never") for n in range(20)}
    home = Living(leads=lambda _: list(pages))
    weigher = Weigher({"/news/*": 5.0, "/never/*": 0.0})
    web = LivingWeb({"/": home, **pages}, visits_a_day=12.0, weigh=weigher)
    web.crawl("/")
    before = web.visits.copy()
    web.watch(60.0)
    again = web.visits - before
    by_kind = {kind: sum(again[f"/{kind}/{n}"] for n in range(20)) for kind in ("news", "old", "never")}
    assert by_kind["news"] > 1.5 * by_kind["old"] > 0
    assert by_kind["never"] == 0
    assert weigher.mean == pytest.approx((20 * 5 + 20 + 1) / 61, rel=0.01)
    assert web.state.marked("mean weight") == repr(weigher.mean).encode()
    assert web.record("/never/1").due_at is not None


def test_longevity_prefers_pages_of_which_more_is_replaced() -> None:
    """Two pages change alike, of one a tenth is replaced each time: that is learnt, and one is due sooner."""
    pages = {"/all": Living(every=3.0), "/bit": Living(every=3.0, replaced=0.1)}
    web = LivingWeb({"/": Living(leads=lambda _: list(pages)), **pages}, visits_a_day=8.0)
    web.crawl("/")
    web.watch(20.0)
    all_, bit = web.record("/all"), web.record("/bit")
    assert unpack_page_gains(all_.gains).replaced > 0.9
    assert unpack_page_gains(bit.gains).replaced < 0.4
    alike = replace(all_, gains=bit.gains)
    binary, longevity = (Valuer(RefreshSettings(name)) for name in ("binary", "longevity"))
    for valuer in (binary, longevity):
        valuer.appraiser.price.value = 0.05
    assert binary.due_at(all_, None, web.now) == binary.due_at(alike, None, web.now)
    assert longevity.due_at(all_, site_of(web), web.now) < longevity.due_at(alike, site_of(web), web.now)


def test_a_page_that_is_asked_for_twice_moves_the_price_once() -> None:
    """Whatever becomes of the first request."""
    web = LivingWeb({"/": Living(every=1.0)})
    web.crawl("/")
    refresher, record = web.scheduler.refresher, web.record("/")
    price = refresher.price
    refresher.lent(record, web.now + 10 * DAY)
    once = refresher.price
    assert once != price
    refresher.lent(record, web.now + 10 * DAY)
    assert refresher.price == once


def test_new_pages_and_second_visits_share_the_budget() -> None:
    """Neither kind is crowded out while both wait."""
    pages = still(300, every=1.0)
    found = [f"/new{n}" for n in range(3000)]
    web = LivingWeb({"/": Living(leads=lambda day: list(pages) if day < 1 else found), **pages}, visits_a_day=96.0)
    web.crawl("/")
    web.watch(2.0)
    before = web.lanes.copy()
    web.watch(5.0)
    lanes = web.lanes - before
    share = lanes[Lane.REFRESH] / lanes.total()
    assert 0.2 < share < 0.8


def test_a_policy_whose_worth_is_not_in_days_has_no_hubs() -> None:
    """There is no telling what a new page is worth beside an age squared."""
    web = LivingWeb({"/": Living(leads=news)}, settings=RefreshSettings("age"))
    web.crawl("/")
    web.watch(10.0)
    assert web.record("/").gains
    assert Valuer(RefreshSettings("age")).hub(web.record("/").gains, None) is None
    assert Valuer().hub(web.record("/").gains, None) is not None


def test_an_objective_that_is_not_there_is_refused() -> None:
    """With the nearest that is."""
    with pytest.raises(ConfigError, match="longvity"):
        LivingWeb({}, settings=RefreshSettings("longvity"))


def lately_changed(day: float) -> list[str]:
    """Those of forty pages that changed in the last three days."""
    return [f"/p{n}" for n in range(40) if day % 40 - 3 < n <= day % 40]


def any_ten(day: float) -> list[str]:
    """Other ones every few hours, whatever they say."""
    return [f"/p{n}" for n in Random(int(day * 4)).sample(range(40), 10)]


@pytest.mark.parametrize("names", [lately_changed, any_ten])
def test_who_a_hub_leads_to_anew_is_told_and_believed_only_once_that_was_right(
    names: Callable[[float], list[str]],
) -> None:
    """Each page changes every forty days. Visits show whether what names them is right; only then it is heard."""
    pages = {f"/p{n}": Living(every=40.0, begins=float(n)) for n in range(40)}
    home = Living(leads=lambda day: list(pages) if day < 0.5 else [])
    hub = Living(leads=lambda day: names(day) + news(day)[-3:])
    web = LivingWeb({"/": home, "/hub": hub, **pages}, visits_a_day=24.0)
    web.crawl("/", "/hub")
    assert KindEvidence(is_doubted=True).kappa == 0.0
    web.watch(40.0)
    heard = unpack_site(site_of(web).signals).of(SignalKind.HUB)
    assert heard.judged > 10.0
    assert heard.verdict == ("useful" if names is lately_changed else "useless")
    assert (heard.kappa > 0.0) == (names is lately_changed)
    assert unpack_page_gains(web.record("/hub").gains).links
    assert not unpack_page_gains(web.record("/p1").gains).links
