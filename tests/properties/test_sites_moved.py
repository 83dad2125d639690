"""Sites that move from one state to another, and back, take everything along that any port can be asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.kept_values import with_values

from periplus.content import sketch_of
from periplus.engine.sitemaps.scores import Priorities
from periplus.model import (
    AddressVisits,
    FirstSeen,
    Lane,
    LinkChunk,
    Payload,
    Queued,
    RobotsFile,
    Site,
    SitemapFileRow,
    SiteVisits,
    Sketched,
    Source,
    Stage,
    TreeUse,
    Url,
    UrlRecord,
    UrlScore,
)
from periplus.store import DiskState, SiteState
from periplus.store.state.moving import TABLES, CopiedLinks, Moved, SiteMove, park_sites
from periplus.urls import site_of

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))]
SITES = [Site(name) for name in ("a.test", "b.test:81", "c" * 600 + ".test", "d.test")]
TOKEN = b"the move"
EVERYTHING = 10_000


def urls_of(site: Site) -> list[Url]:
    schemes = ("https://", "http://", "https://me@")
    return [Url(f"{schemes[number % 3]}{site}/{number}") for number in range(7)]


URLS = [url for site in SITES for url in urls_of(site)]
WORDS = [f"word{number}" for number in range(500)]


def fill(state: DiskState, seed: int, sites: list[Site]) -> None:
    """Some of everything, by chance."""
    random = Random(seed)
    for site in sites:
        urls = urls_of(site)
        state.records.add_new([UrlRecord(url, (FirstSeen(Source.LINK, 1.0),), random.randrange(5)) for url in urls])
        visited = [UrlRecord(url, (FirstSeen(Source.SEED, 2.0),), visits=3, due_at=9.0) for url in urls[:2]]
        state.records.put(visited)
        lanes = [lane for lane in Lane if lane is not Lane.PROBES]  # probes have no scores
        entries = [Queued(url, site, random.choice(lanes), random.choice([0, 3, 255])) for url in urls]
        tickets = state.queues.push(entries)
        state.queues.remove(tickets[-1:])
        state.queues.postpone([(random.choice([1.0, 5.0, math.inf]), entry) for entry in entries[:3]])
        state.calendar.move([(url, None, random.choice([1.0, 5.0])) for url in urls[:4]])
        state.sites.put([SiteState(site, pages=random.randrange(9), ready_at=5.0)])
        state.robots.put(RobotsFile(site, "rules", b"User-agent: *", 1.0, 2.0))
        state.listings.add(site, 2, [b"later", b"last"])
        state.listings.add(site, 1, [b"first"])
        state.payloads.add_new(Payload(site.encode()[:16], urls[0], 1.0, "id"))
        for number, url in enumerate(urls[:3]):
            due_at = random.choice([3.0, 7.0, math.inf])
            state.forest.put([SitemapFileRow(url, site, due_at, f"row {number} of {site}".encode())])
            state.forest.remember(url, random.randbytes(random.choice([0, 10, 9_000])))
        standings = [
            (
                ticket.entry.url,
                UrlScore(random.random(), Stage.WAITING, ticket.entry.level, ticket.entry.lane, ticket.place),
            )
            for ticket in tickets[:4]
        ]
        standings += [(urls[5], UrlScore(0.5, Stage.POOLED)), (urls[6], UrlScore(0.25, Stage.DONE))]
        state.standings.put(standings)
        texts = [" ".join(random.choices(WORDS, k=200)) for _ in range(2)]
        state.sketches.add([Sketched(url, sketch_of(texts[place % 2])) for place, url in enumerate(urls[:5])])
    common = sketch_of(" ".join(WORDS[:200]))
    state.sketches.add([Sketched(urls_of(site)[6], common) for site in sites])
    known = [url for site in sites for url in urls_of(site)[:4]]
    state.standings.link([(random.choice(known), random.choice(known)) for _ in range(40)])
    state.commit()
    known_links = state.standings.known()
    state.standings.revalue(known_links.worth * 2)
    state.commit()


def told(state: DiskState, sites: list[Site], *, clusters: bool = True) -> dict[str, Any]:
    """What the ports say of these sites. What asking would change is asked of the tables."""
    urls = [url for site in sites for url in urls_of(site)]
    return {
        "records": sorted(repr(each) for site in sites for each in state.records.of_site(site)),
        "found": [record is not None for record in state.records.get(urls)],
        "queues": [
            [(ticket.entry.url, ticket.entry.level) for ticket in state.queues.heads(site, lane, EVERYTHING)]
            for site in sites
            for lane in Lane
        ],
        "lengths": [state.queues.length(site, lane) for site in sites for lane in Lane],
        "postponed": _postponed(state, sites),
        "calendar": sorted((at, url) for url, at in _due(state) if site_of(url) in sites),
        "sites": state.sites.get(sites),
        "robots": [state.robots.get(site) for site in sites],
        "payloads": [state.environment.table("payloads").get(site.encode()[:16]) for site in sites],
        "listings": [_listed(state, site) for site in sites],
        "forest": sorted(row for site in sites for row in state.forest.of_site(site)),
        "rows": state.forest.get(urls),
        "memories": [state.forest.memory(url) for url in urls],
        "due": [_due_files(state, now, sites) for now in (3.0, 7.0)],
        "standings": [
            None if each is None else (each.worth, each.stage, each.level, each.lane, bool(each.place))
            for each in state.standings.get(urls)
        ],
        "links": sorted(pair for pair in _links(state) if {site_of(pair[0]), site_of(pair[1])} <= set(sites)),
        "sketches": [
            None if each is None else (each.canonical, each.size, each.likeness, each.is_copy)
            for each in state.sketches.get(urls)
        ]
        if clusters
        else [each is not None for each in state.sketches.get(urls)],
    }


def _due(state: DiskState) -> list[tuple[Url, float]]:
    return state.calendar.due(math.inf, EVERYTHING)


def _due_files(state: DiskState, now: float, sites: list[Site]) -> list[str]:
    return sorted(key for key in state.forest.due(now, EVERYTHING) if site_of(Url(key)) in sites)


def _postponed(state: DiskState, sites: list[Site]) -> list[tuple[bytes, bytes]]:
    rows = state.environment.table("postponed").walk()
    return [(key[:8], row[4:]) for key, row in rows if state.names.name(row[:4]) in sites]


def _listed(state: DiskState, site: Site) -> list[bytes]:
    number = state.names.find(site)
    return [] if number is None else [row for _, row in state.environment.table("listings").walk(number)]


def _links(state: DiskState) -> Iterator[tuple[Url, Url]]:
    known = state.standings.known()
    ends = sorted({*known.sources.tolist(), *known.targets.tolist()})
    names = dict(zip(ends, [url for url, _ in state.standings.numbered(ends)], strict=True))
    return ((names[source], names[target]) for source, target in zip(known.sources, known.targets, strict=True))


def check_places(state: DiskState) -> None:
    """A standing that waits names the ticket of its own URL."""
    for site in SITES:
        for url, standing in zip(urls_of(site), state.standings.get(urls_of(site)), strict=True):
            if standing is not None and standing.stage == Stage.WAITING:
                heads = state.queues.heads(site, standing.lane, EVERYTHING)
                assert url in [ticket.entry.url for ticket in heads if ticket.place == standing.place]


def move(source: DiskState, target: DiskState, owner: Callable[[Site], int], *, twice: bool = False) -> Moved:
    """From the state that `owner` calls 0 to the one that it calls 1."""
    for _ in range(1 + twice):
        moving = SiteMove(source, 0, {1: target}, owner, TOKEN)
        moving.copy()
    for _ in range(1 + twice):
        SiteMove(source, 0, {}, owner, TOKEN).clear()
    source.check_invariants()
    target.check_invariants()
    return moving.moved


@pytest.fixture
def states(tmp_path: Path) -> Iterator[tuple[DiskState, DiskState]]:
    both = DiskState(tmp_path / "one"), DiskState(tmp_path / "other", shard=1)
    yield both
    for state in both:
        state.close()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("twice", [False, True])
def test_all_sites_go_and_come_back(states: tuple[DiskState, DiskState], seed: int, twice: bool) -> None:
    """Every question is answered the same there, and after the way back; a move that is done twice moves once."""
    one, other = states
    fill(one, seed, SITES)
    before = told(one, SITES)
    nothing = told(other, SITES)
    moved = move(one, other, lambda _site: 1, twice=twice)
    assert told(other, SITES) == before
    check_places(other)
    assert told(one, SITES) == nothing
    assert (moved.sites, moved.urls) == (len(SITES), len(URLS))
    move(other, one, lambda _site: 1, twice=twice)
    assert told(one, SITES) == before
    check_places(one)


@pytest.mark.parametrize("seed", SEEDS)
def test_some_sites_go_to_where_others_are(states: tuple[DiskState, DiskState], seed: int) -> None:
    """Those that stay and those that were there are as before; clusters and links between sites that part are cut."""
    one, other = states
    fill(one, seed, SITES[:3])
    fill(other, seed + 100, SITES[3:])
    going, staying, there = SITES[:2], SITES[2:3], SITES[3:]
    gone, stayed, was_there = (told(one, going, clusters=False), told(one, staying), told(other, there))
    move(one, other, lambda site: int(site in going), twice=True)
    assert told(other, going, clusters=False) == gone
    for name, now in told(one, staying).items():
        assert name == "sketches" or now == stayed[name]
    assert told(other, there) == was_there
    assert told(one, going)["found"] == [False] * 14
    check_places(one)
    check_places(other)


def test_a_cluster_whose_sites_part_becomes_two(states: tuple[DiskState, DiskState]) -> None:
    """Each counts its own pages; the original stays the original where it is, and a copy elsewhere stays a copy."""
    one, other = states
    same = sketch_of(" ".join(WORDS[:300]))
    here, there = [Url(f"https://a.test/{n}") for n in (1, 2)], [Url(f"https://d.test/{n}") for n in (1, 2, 3)]
    for url in (*here, *there):
        one.records.add_new([UrlRecord(url, (FirstSeen(Source.LINK, 1.0),))])
        one.sketches.add([Sketched(url, same)])
    one.commit()
    move(one, other, lambda site: int(site == "d.test"))
    stayed, went = one.sketches.get(here), other.sketches.get(there)
    assert [(each.size, each.canonical, each.is_copy) for each in stayed if each] == [
        (2, here[0], False),
        (2, here[0], True),
    ]
    assert [(each.size, each.canonical, each.is_copy) for each in went if each] == [(3, there[0], True)] * 3
    (copy,) = other.sketches.add([Sketched(Url("https://d.test/4"), same)])
    assert copy is not None
    assert copy.size == 4


def test_two_states_that_gave_out_one_place_for_one_time(states: tuple[DiskState, DiskState]) -> None:
    """Sequences count in each state for itself: entries postponed to one moment do not overwrite each other."""
    one, other = states
    entries = [Queued(Url(f"https://{site}/"), site, Lane.DISCOVERY, 0) for site in SITES]
    one.queues.postpone([(5.0, entry) for entry in entries[:2]])
    other.queues.postpone([(5.0, entry) for entry in entries[2:]])
    one.commit()
    move(one, other, lambda _site: 1, twice=True)
    assert {ticket.entry.url for ticket in other.queues.release(5.0, 10)} == {entry.url for entry in entries}


def test_every_table_is_known_to_moving(states: tuple[DiskState, DiskState]) -> None:
    """Who adds a table to the state says how its rows move."""
    one, _ = states
    fill(one, 1, SITES)
    one.exchange.send(1, [])
    one.commit()
    transaction = one.environment.transaction()
    tables = {name.decode() for name in transaction.cursor().iternext(values=False)}
    assert tables == TABLES.keys()


def test_what_a_state_knows_of_other_shards_sites_replaces_nothing(states: tuple[DiskState, DiskState]) -> None:
    """Only the shard that had a site gives its record; one that heard of it in a sitemap does not."""
    one, other = states
    mine, theirs = SITES[:2]
    one.sites.put([SiteState(mine, pages=3), with_values(SiteState(theirs), Priorities({50: 1}))])
    one.robots.put(RobotsFile(theirs, "all", b"", 1.0, 2.0))
    other.sites.put([SiteState(theirs, pages=7, ready_at=5.0)])
    SiteMove(one, 0, {1: other}, lambda _site: 1, TOKEN, had=lambda site: site == mine).copy()
    assert other.sites.get([mine, theirs]) == [SiteState(mine, pages=3), SiteState(theirs, pages=7, ready_at=5.0)]
    assert other.robots.get(theirs) is None


def test_links_are_copied_once(states: tuple[DiskState, DiskState]) -> None:
    """The target commits with the links which of them it has; a later move starts at the first again."""
    one, other = states
    urls = urls_of(SITES[0])[:2]
    one.standings.put([(url, UrlScore(1.0, Stage.DONE)) for url in urls])
    one.standings.link([(urls[0], urls[1])])
    for token in (b"first", b"first", b"second"):
        SiteMove(one, 0, {1: other}, lambda _site: 1, token).copy()
        copied = other.meta(CopiedLinks)
        assert copied == CopiedLinks(token, {0: 1})
    assert len(other.standings.known().sources) == 2


def test_parked_sites_leave_their_records(states: tuple[DiskState, DiskState]) -> None:
    """Visits, addresses and links seen lately go; all that is asked of the ports of sites stays."""
    one, _ = states
    fill(one, 1, SITES)
    before = told(one, SITES)
    one.visits.put([SiteVisits(site, 1, 5.0, 3) for site in SITES])
    one.addresses.put([AddressVisits(7, 5.0)])
    one.recent_links.put([LinkChunk(0, b"")])
    one.trees.put([TreeUse("a.test/map.xml", 2)])
    one.commit()
    park_sites(one)
    assert [list(one.visits), list(one.addresses), list(one.recent_links)] == [[], [], []]
    assert list(one.trees) == [TreeUse("a.test/map.xml", 2)]
    assert told(one, SITES) == before
