"""A crash loses nothing that decides: after a commit the same inputs lead to the same rows. Queries change nothing."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.engine.revisit.revisited_pages import DAY, ChangingPage, RevisitedWeb
from tests.hypothesis_depth import examples

from periplus.engine.revisit.budget import Watching
from periplus.engine.revisit.evidence import PageEvidence
from periplus.engine.revisit.freshness import FreshnessEstimator
from periplus.engine.revisit.settings import RefreshSettings
from periplus.engine.revisit.signals import SiteEvidence
from periplus.model import FirstSeen, Site, Source, Url, UrlRecord
from periplus.policy.weights import PageWeights
from periplus.store import MemoryState

Input = Callable[[RevisitedWeb], object]
WEIGHTS = {"/p1*": 3.0, "*/news": 0.0}


def new_web() -> RevisitedWeb:
    """Two sites with pages of all kinds."""
    pages = {
        **{f"/p{n}": ChangingPage(every=1.0 + n, answers_304=n % 2 == 0) for n in range(12)},
        "/news": ChangingPage(),
        "/bad": ChangingPage(fails=True),
        "/noisy": ChangingPage(every=0.5, blocks=bytes(range(40))),
        "/hub": ChangingPage(links=lambda day: [f"/article{n}" for n in range(int(5 * day))][-20:]),
    }
    others = [f"http://b.test/q{n}" for n in range(8)]
    home = ChangingPage(links=lambda _: [*pages, *others])
    refresh = RefreshSettings("longevity", unchanged_cost=0.1, weights=WEIGHTS, explore_share=0.3)
    web = RevisitedWeb(
        {"/": home, **pages}, settings=refresh, weights=lambda: PageWeights(WEIGHTS), visits_per_day=40.0
    )
    web.crawl("/")
    return web


def later(hours: float) -> Input:
    def turn(web: RevisitedWeb) -> None:
        web.now += hours * 3600.0
        web.turn()

    return turn


def mention(path: str, source: Source) -> Input:
    return lambda web: web.mention(path, source, None if source is Source.PING else web.now - 60.0)


def read_file(moved: int) -> Input:
    def read(web: RevisitedWeb) -> None:
        web.revisits.file_read(Site("a.test"), Source.SITEMAP, 30, moved)
        web.now += min(web.revisits.file_interval(Site("a.test")), 60.0)

    return read


def budget(visits_per_day: float) -> Input:
    return lambda web: web.revisits.set_budget(visits_per_day, web.now)


INPUTS = st.one_of(
    st.sampled_from([0.0, 0.01, 0.5, 3.0, 30.0, 200.0]).map(later),
    st.tuples(
        st.sampled_from(["/p1", "/p2", "/noisy"]), st.sampled_from([Source.SITEMAP, Source.FEED, Source.PING])
    ).map(lambda each: mention(*each)),
    st.integers(0, 30).map(read_file),
    st.sampled_from([5.0, 40.0, 100.0]).map(budget),
)


@settings(max_examples=examples(3), deadline=None)
@given(st.lists(INPUTS, min_size=5, max_size=40), st.data())
def test_replay_after_a_crash_leads_to_the_same_rows(inputs: list[Input], data: st.DataObject) -> None:
    """Commits and crashes at any moments; after each crash the inputs since the last commit come again."""
    moments = st.sets(st.integers(0, len(inputs) - 1))
    commits, crashes = data.draw(moments), data.draw(moments)
    plain, crashed = new_web(), new_web()
    committed, since, now = crashed.commit(), 0, crashed.now
    for number, make in enumerate(inputs):
        make(plain)
        make(crashed)
        if number in crashes:
            crashed.recover(committed)
            crashed.now = now
            for again in inputs[since : number + 1]:
                again(crashed)
        assert crashed.rows() == plain.rows()
        if number in commits:
            committed, since, now = crashed.commit(), number + 1, crashed.now
    crashed.commit()
    plain.commit()
    assert crashed.sample == plain.sample


def test_every_field_of_a_commit_is_restored() -> None:
    """And is then what the next commit holds."""
    web = new_web()
    web.commit()
    assert web.saved is not None
    assert web.saved.weighting == "equal /p1*=3.0 */news=0.0"
    odd = replace(
        web.saved,
        granted=17.25,
        price=0.123456789,
        mean_weight=1.625,
        idle_since=web.now - 7.5,
        is_idle=True,
        quota=(123.0, 456.0),
        waiting=9,
        factor=0x1234567,
        added=(Url("http://a.test/p3"), Url("http://a.test/p9")),
    )
    web.saved = odd
    web.open(Watching(40.0))
    assert web.revisits.snapshot() == odd
    assert web.revisits.price == odd.price
    assert web.weights.mean == odd.mean_weight
    assert web.revisits.quota.counts == odd.quota
    bid = web.revisits.bid(web.now, waiting=9)
    assert bid is not None
    assert (bid.visits_a_day, bid.pages) == (17.25, len(web.state.calendar) + 9)


@pytest.mark.proof
@settings(max_examples=examples(2), deadline=None)
@given(st.lists(INPUTS, min_size=5, max_size=40))
def test_queries_change_no_decision(inputs: list[Input]) -> None:
    """Bids, freshness and the next visits may be asked for between any two inputs."""
    plain, asked = new_web(), new_web()
    for make in inputs:
        make(plain)
        asked.revisits.bid(asked.now)
        asked.revisits.freshness(asked.now)
        asked.revisits.upcoming(asked.now, 10)
        asked.revisits.next_due(0)
        make(asked)
    assert asked.rows() == plain.rows()


def test_bid_of_sites_without_an_estimate_keeps_none() -> None:
    """They are estimated for the bid alone."""
    web = new_web()
    web.found([Url("http://c.test/")], None)
    while web.record("http://c.test/").fetched_at is None:
        web.turn()
    rows = web.rows()
    assert web.revisits.bid(web.now + DAY) is not None
    assert web.rows() == rows


def test_links_are_credited_within_their_input_only() -> None:
    """After `end_of_input` the links of a page that was revisited are links like others."""
    web = new_web()
    web.now += 20 * DAY
    while web.visits["/hub"] < 2:
        web.now += 3600.0
        web.turn()
    gains = web.record("/hub").gains
    assert gains
    web.found([web.url("/unheard-of")], web.url("/hub"))
    assert web.record("/hub").gains == gains


def estimator() -> FreshnessEstimator:
    return FreshnessEstimator(MemoryState().records, lambda _site: SiteEvidence(), 0x9E3779B97F4A7C15)


@pytest.mark.proof
def test_no_share_is_estimated_before_a_page_was_visited_twice() -> None:
    """Where nothing would be stated, its computation is spared; from the second visit on both readings agree."""
    state, url, now = MemoryState(), Url("http://a.test/"), 10 * DAY
    page = PageEvidence(visited_at=9 * DAY, rate=0.1, watched_from=1)
    for evidence in (page, replace(page, ring=(1,))):
        seen = (FirstSeen(Source.LINK, 0.0),)
        state.records.put([UrlRecord(url, seen, status=200, fetched_at=9 * DAY, evidence=evidence.pack())])
        one = FreshnessEstimator(state.records, lambda _site: SiteEvidence(), 1)
        one.begin([url])
        found, checked = one.read(1, 0.0, now), one.read_checked(1, 0.0, now)
        if evidence.ring:
            assert (checked, checked.checked) == (found, 1)
        else:
            assert msgspec.json.decode(msgspec.json.encode(checked))["fresh"] is None
            assert checked.checked == 0
            assert (checked.pages, checked.age) == (found.pages, found.age) == (1, DAY)


def test_sample_is_the_same_from_rows_and_additions() -> None:
    """Rows are returned once each time they were made; the rest is in `added`, which stays short."""
    one = estimator()
    one.begin(Url(f"http://a.test/{n}") for n in range(3000))
    rows = one.changed_rows()
    assert rows is not None
    assert one.changed_rows() is None
    longest = 0
    for n in range(3000, 6000):
        one.add(Url(f"http://a.test/{n}"))
        longest = max(longest, len(one.added))
        rows = one.changed_rows() or rows
    assert 0 < longest <= 256
    other = estimator()
    other.restore(rows, one.added)
    assert other.urls == one.urls
    assert len(other.urls) == 2000
    assert other.added == one.added


def test_a_refresh_moves_no_price() -> None:
    """Without a watch the price is not committed: if revisits moved it, the next process would decide by another."""
    web = new_web()
    web.commit()
    web.open()
    price = web.revisits.price
    for record in web.state.records.get(list(web.urls)):
        if record is not None and record.evidence:
            web.revisits.granted(record, web.now + DAY, is_revisit=True)
    assert web.revisits.price == price
