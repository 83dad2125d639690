"""The model of many shards: its placement is the crawl's, its formulas give what can be computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray
from tests.each_case import each_case
from tests.hypothesis_depth import examples

from periplus.engine.router import owner_of
from periplus.model import ConfigError
from periplus_lab.simulate.scaling import (
    CoordinatorSettings,
    ScalingSettings,
    coordinator_share,
    placing_share,
    saturated_at,
    scaling,
)
from periplus_lab.simulate.scaling_traffic import (
    ExchangeSettings,
    PaceSettings,
    ScalingWeb,
    ScalingWebSettings,
    batches_a_second,
    bounds,
    generate_scaling_web,
    messages_a_second,
    pace,
    traffic,
)
from periplus_lab.simulate.web import owners, site_name

SMALL = ScalingSettings(web=ScalingWebSettings(pages=20_000, sites=400, largest_site=2_000))


def ints(*numbers: int) -> NDArray[np.int32]:
    return np.array(numbers, np.int32)


def sizes(*numbers: int) -> NDArray[np.int64]:
    return np.array(numbers, np.int64)


# placement


def test_sites_are_placed_as_crawls_place_them() -> None:
    """Site by site and for every number of shards: what is simulated is where sites would really be."""
    counts = (1, 2, 3, 10, 64, 257)
    placed = owners(500, counts)
    for count in counts:
        assert placed[count].tolist() == [owner_of(site_name(number), count) for number in range(500)]


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 40_000), st.integers(1, 40))
def test_any_site_is_placed_as_crawls_place_it(number: int, shards: int) -> None:
    """Whichever block of sites it falls into."""
    assert owners(number + 1, [shards])[shards][number] == owner_of(site_name(number), shards)


def test_one_shard_more_takes_its_share_and_nothing_else_moves() -> None:
    """Rendezvous hashing: who moves goes to the new one, and about 1/(n + 1) do."""
    placed = owners(20_000, [9, 10])
    moves = placed[9] != placed[10]
    assert set(placed[10][moves].tolist()) == {9}
    assert abs(float(moves.mean()) - 0.1) < 4 * np.sqrt(0.1 * 0.9 / 20_000)


@each_case(("sites", "counts"), [(0, [1]), (10_000_001, [1]), (5, []), (5, [0]), (5, [100_001])])
def test_what_cannot_be_placed_is_refused(sites: int, counts: list[int]) -> None:
    """Before it takes the time of a hundred million hashes."""
    with pytest.raises(ConfigError, match="cannot be placed"):
        owners(sites, counts)


# the web


def test_a_web_has_the_pages_sites_and_links_that_were_asked_for() -> None:
    """All of its links leave their site; the same seed gives the same web."""
    asked = ScalingWebSettings(pages=5_000, sites=100, largest_site=500, links=8.0, leaving=0.5, largest_address=20)
    web, again = generate_scaling_web(asked), generate_scaling_web(asked)
    assert (int(web.sizes.sum()), len(web.sizes), int(web.sizes.max())) == (5_000, 100, 500)
    assert np.all(web.source != web.site_of_page[web.target])
    assert 0.8 * 20_000 < len(web.source) <= 20_000
    assert (len(np.unique(web.address)), int(np.bincount(web.address).max())) == (25, 20)
    assert np.array_equal(web.target, again.target)
    assert np.array_equal(web.sizes, again.sizes)


@each_case(
    "wrong", [{"sites": 10**6}, {"leaving": 1.5}, {"sites_an_address": 0.5}, {"links": 1e9}, {"largest_site": 5}]
)
def test_a_web_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    """With what to change."""
    with pytest.raises(ConfigError) as caught:
        generate_scaling_web(replace(ScalingWebSettings(pages=1000, sites=20), **wrong))
    assert caught.value.hint


# how long it takes


def test_a_polite_crawl_takes_a_delay_for_every_page_of_its_largest_site() -> None:
    """A fast shard, sites of 10, 20 and 100 pages, two seconds a page: 200 s, and all but 80 pages after 40 s."""
    gone = pace(sizes(10, 20, 100), ints(0, 0, 0), ints(0, 1, 2), 1, PaceSettings(rate=1e6, delay=2.0, ip_delay=0.0))
    assert gone.until(1.0) == pytest.approx(200.0)
    assert gone.until(50 / 130) == pytest.approx(40.0)


def test_a_slow_shard_takes_as_long_as_its_pages() -> None:
    """130 pages at ten a second: 13 s, whatever sites would allow."""
    gone = pace(sizes(10, 20, 100), ints(0, 0, 0), ints(0, 1, 2), 1, PaceSettings(rate=10.0, delay=1e-3, ip_delay=0.0))
    assert gone.until(1.0) == pytest.approx(13.0, rel=0.03)


def test_every_shard_waits_for_all_where_addresses_are_shared_blindly() -> None:
    """A site alone on its address, 100 shards, a quarter of a second: a page in 25 s; one in 1 s if shards knew."""
    alone = PaceSettings(rate=400.0, delay=1.0, ip_delay=0.25, shares="all")
    gone = pace(sizes(40), ints(7), ints(0), 100, alone)
    knowing = pace(sizes(40), ints(7), ints(0), 100, replace(alone, shares="present"))
    assert [gone.until(1.0), knowing.until(1.0)] == pytest.approx([1000.0, 40.0])


def test_sites_of_one_address_share_its_rate() -> None:
    """Eight sites of ten pages, half a second between requests: 40 s together, in one shard or, told of, in two."""
    polite = PaceSettings(rate=400.0, delay=1.0, ip_delay=0.5, shares="present")
    many, where = sizes(*[10] * 8), ints(*[0] * 8)
    assert pace(many, where, where, 1, polite).until(1.0) == pytest.approx(40.0)
    assert pace(many, ints(*[0, 1] * 4), where, 2, polite).until(1.0) == pytest.approx(40.0)


def test_no_crawl_ends_before_its_bounds() -> None:
    """The largest site, the busiest shard, and a site's share in its address; the longest is named."""
    asked = PaceSettings(rate=10.0, delay=1.0, ip_delay=0.25)
    assert bounds(sizes(100, 300), ints(0, 1), 2, asked)[0] == (300.0, "largest site")
    assert bounds(sizes(*[100] * 40), ints(*[0] * 40), 1, asked)[0] == (400.0, "busiest shard")
    assert bounds(sizes(100, 300), ints(0, 1), 8, asked)[0] == (300.0, "largest site")
    assert bounds(sizes(100, 300), ints(0, 1), 8, replace(asked, shares="all"))[0] == (600.0, "address share")
    web, placed = generate_scaling_web(SMALL.web), owners(400, [1, 8])
    for count in (1, 8):
        for shares in ("all", "present"):
            each = replace(asked, shares=shares)
            gone = pace(web.sizes, placed[count], web.address, count, each)
            assert gone.until(1.0) >= bounds(web.sizes, placed[count], count, each)[0][0] * (1 - 1e-9)
            assert np.all(np.diff(gone.at) > 0)
            assert gone.done[-1] == pytest.approx(20_000)


@each_case("wrong", [{"rate": 0.0}, {"delay": 0.0}, {"shares": "some"}])
def test_a_pace_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    """Rather than divided by."""
    with pytest.raises(ConfigError):
        PaceSettings(**wrong).check()  # type: ignore[arg-type]


# what passes between shards


def linked(*links: tuple[int, int]) -> ScalingWeb:
    """Three sites of four pages each, in three shards, with links from sites to pages."""
    source, target = (ints(*column) for column in zip(*links, strict=True))
    return ScalingWeb(sizes(4, 4, 4), ints(0, 1, 2), source, target, np.repeat(ints(0, 1, 2), 4))


def test_a_shard_tells_of_a_url_once() -> None:
    """Four times the same link, and another: two discoveries of five. Links within the shard are not sent."""
    web = linked((0, 5), (0, 5), (0, 5), (0, 5), (0, 9), (1, 2))
    found = traffic(web, ints(0, 1, 2), 3, 1.0, ExchangeSettings())
    assert found.told.tolist() == [[0, 1, 1], [1, 0, 0], [0, 0, 0]]
    assert [found.foreign, found.spared] == pytest.approx([1.0, 0.5])
    together = traffic(web, ints(0, 0, 1), 2, 1.0, ExchangeSettings())
    assert together.told.tolist() == [[0, 1], [0, 0]]
    assert together.foreign == pytest.approx(1 / 6)


def test_a_shard_that_forgets_tells_again() -> None:
    """Four links remembered and three new ones a page last a third of these four pages: the link is told thrice."""
    web = linked(*[(0, 5)] * 9)
    for remembered, times in ((4, 3), (12, 1)):
        asked = ExchangeSettings(remembered_links=remembered, news=3.0)
        assert traffic(web, ints(0, 1, 2), 3, 1.0, asked).told.sum() == times


def test_rates_are_those_of_shards_at_full_speed() -> None:
    """Four pages at two a second take 2 s: two discoveries in that time are one a second."""
    found = traffic(linked((0, 5), (0, 9)), ints(0, 1, 2), 3, 2.0, ExchangeSettings())
    assert found.discoveries == pytest.approx(1.0 / 3)
    assert found.a_page == pytest.approx(2 / 12)


def test_batches_are_as_many_as_there_is_anything_to_tell() -> None:
    """One a commit where discoveries are many, one for each where they are few, and more where one is full."""
    asked = ExchangeSettings(commit_interval=2.0, batch=1000)
    found = batches_a_second(np.array([0.0, 1e-6, 50.0, 5000.0]), asked)
    assert found == pytest.approx([0.0, 1e-6, 0.5 + 0.05, 0.5 + 5.0], rel=0.01)


def test_receipts_ride_with_batches() -> None:
    """Busy both ways: one message a commit each way. Seldom, and one way: a batch there, a receipt back."""
    asked = ExchangeSettings(commit_interval=2.0)
    found = messages_a_second(np.array([[0.0, 50.0, 1e-6], [50.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), asked)
    assert found[0, 1] == found[1, 0] == pytest.approx(0.5)
    assert [found[0, 2], found[2, 0], found[1, 2]] == pytest.approx([1e-6, 1e-6, 0.0], rel=1e-3)


# the coordinator, and the whole


def test_the_coordinators_load_grows_with_the_square() -> None:
    """100 shards, four words a second, 0.5 ms and 3 us for each shard: 400 * 0.8 ms = 32 % of a core."""
    asked = CoordinatorSettings(status_interval=0.25, status_seconds=5e-4, status_seconds_a_shard=3e-6)
    assert coordinator_share(asked, 100) == pytest.approx(0.32)
    assert coordinator_share(asked, saturated_at(asked)) == pytest.approx(1.0)  # type: ignore[arg-type]
    assert saturated_at(replace(asked, status_seconds_a_shard=0.0)) == pytest.approx(500.0)


def test_placing_costs_the_sites_that_are_met() -> None:
    """One site met, 10 us to place it, four pages at two a second: 10 us in 2 s."""
    asked = replace(
        ScalingSettings(),
        pace=PaceSettings(rate=2.0),
        placement=replace(ScalingSettings().placement, owner_seconds=4e-6, owner_seconds_a_shard=2e-6),
    )
    web = linked((0, 5), (0, 6), (1, 2))
    assert placing_share(asked, web, ints(0, 1, 2), 3) == pytest.approx(10e-6 / 2)
    assert placing_share(asked, web, ints(0, 0, 0), 1) == 0.0


def test_rows_say_what_more_shards_do() -> None:
    """Speed-up is against one shard, sites and moves are shares, and traffic grows towards all links between sites."""
    rows = {row.shards: row for row in scaling(SMALL, (16, 2, 4, 2))}
    assert list(rows) == [2, 4, 16]
    assert [row.sites_a_shard for row in rows.values()] == [200.0, 100.0, 25.0]
    assert rows[2].foreign < rows[4].foreign < rows[16].foreign < 1.0
    assert rows[2].batch_fill > rows[4].batch_fill > rows[16].batch_fill >= 1.0
    assert rows[16].bound_by != "address share"
    blind = replace(SMALL, pace=replace(SMALL.pace, shares="all"))
    few, many = scaling(blind, (4, 16))
    assert many.bound_by == "address share"
    assert many.speedup < min(few.speedup, rows[16].speedup)
    assert all(abs(row.moved - 1 / (row.shards + 1)) < 0.1 for row in rows.values())
    (alone,) = scaling(SMALL, (1,))
    assert (alone.speedup, alone.discoveries, alone.imbalance) == (1.0, 0.0, 1.0)


@each_case("shards", [(), (0,), (100_000,)])
def test_numbers_of_shards_have_bounds(shards: tuple[int, ...]) -> None:
    """One at least."""
    with pytest.raises(ConfigError):
        scaling(SMALL, shards)
