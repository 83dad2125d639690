"""Whatever is done in whatever order, the state on disk is the state in memory, as of the last commit after a crash."""

from __future__ import annotations

import shutil
import tempfile
from copy import deepcopy
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec import Struct
from tests.hypothesis_depth import examples

from periplus.model import (
    AddressVisits,
    Batch,
    Delegation,
    Digests,
    Discovery,
    FirstSeen,
    Granularity,
    Lane,
    Lastmod,
    LinkChunk,
    Payload,
    Queued,
    RobotsFile,
    Site,
    SitemapFileRow,
    SiteVisits,
    Source,
    Stage,
    TreeUse,
    Url,
    UrlRecord,
    UrlScore,
    Validators,
)
from periplus.policy.filters import SiteFilterState
from periplus.store import DiskState, MemoryState, SiteState, State

SITES = [Site(name) for name in ("a.test", "b.test:81", "c" * 600 + ".test")]
SHARDS = [1, 2, 2**32 - 1]

sites = st.sampled_from(SITES)
lanes = st.sampled_from(Lane)
times = st.floats(-10.0, 10.0) | st.sampled_from([0.0, -0.0, 5.0, float("inf")])
urls = st.builds(
    lambda scheme, site, number: Url(f"{scheme}{site}/{number}"),
    st.sampled_from(["https://", "http://", "https://me@"]),
    sites,
    st.integers(0, 9),
)
words = st.integers(0, 2**64 - 1)
seen = st.lists(st.builds(FirstSeen, st.sampled_from(Source), st.floats(0, 1e10)), max_size=3).map(tuple)
fresh = st.builds(lambda url, first: UrlRecord(url, (first,)), urls, st.builds(FirstSeen, st.just(Source.LINK), times))
records = fresh | st.builds(
    UrlRecord,
    urls,
    seen,
    depth=st.integers(0, 300),
    lastmod=st.none() | st.builds(Lastmod, times, st.sampled_from(Granularity)),
    validators=st.none() | st.builds(Validators, st.none() | st.text(max_size=5), st.none() | st.text(max_size=5)),
    digests=st.none() | st.builds(Digests, words, words, words, words),
    visits=st.integers(0, 9),
    due_at=st.none() | times,
    status=st.none() | st.integers(100, 599),
    reason=st.sampled_from(["", "http-503"]),
)
entries = st.builds(Queued, urls, sites, lanes, st.sampled_from([0, 1, 7, 255]))
states = st.builds(
    SiteState,
    sites,
    ip=st.none() | st.just("192.0.2.1"),
    pages=st.integers(0, 9),
    traps=st.none() | st.builds(SiteFilterState, st.integers(0, 9)),
)
files = st.builds(RobotsFile, sites, st.sampled_from(["rules", "all", "none"]), st.binary(max_size=9), times, times)
standings = st.builds(
    UrlScore,
    st.floats(0.0, 9.0),
    st.sampled_from([int(stage) for stage in Stage]),
    st.sampled_from([0, 7, 255]),
    lanes,
    st.binary(max_size=14),
    st.integers(0, 9),
    st.integers(0, 255),
    st.booleans(),
)
KEYS = ["https://a.test/map.xml", "http://b.test:81/" + "m" * 600, "é"]
keys = st.sampled_from(KEYS)
forest_rows = st.builds(SitemapFileRow, keys, sites, times, st.binary(max_size=4))
memories = st.binary(max_size=3) | st.sampled_from([b"m" * 4080, b"n" * 4081, b"o" * 12_241])
payloads = st.builds(Payload, st.sampled_from([b"1", b"2", b"3"]), urls, times, st.just("id"))
discoveries = st.lists(st.builds(Discovery, urls, st.sampled_from(Source), times), max_size=3)


address_keys = st.sampled_from([0, 1, 2**64 - 1])
addresses = st.builds(AddressVisits, address_keys, times, st.integers(0, 3), st.booleans())
delegations = st.lists(st.builds(Delegation, sites, urls, st.integers(0, 3)), max_size=2).map(tuple)
visits = st.builds(SiteVisits, sites, st.integers(1, 4), times, st.integers(0, 255), times, delegated=delegations)
trees = st.builds(TreeUse, keys, st.integers(0, 9), st.integers(0, 2**40), words)
chunks = st.builds(LinkChunk, st.integers(0, 5), st.binary(max_size=3))


class Counted(Struct):
    """A value that a state keeps."""

    number: int
    names: list[str]


class Named(Struct):
    """A value of another type."""

    word: int


class States(RuleBasedStateMachine):
    """The same calls on both; `kept` is what a crash goes back to."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="periplus-state-"))
        self.disk = DiskState(self.folder)
        self.memory = MemoryState()
        self.kept = deepcopy(self.memory)

    @property
    def both(self) -> tuple[State, State]:
        return self.disk, self.memory

    @rule(batch=st.lists(records, max_size=6))
    def add_new(self, batch: list[UrlRecord]) -> None:
        assert self.disk.records.add_new(batch) == self.memory.records.add_new(batch)

    @rule(batch=st.lists(records, max_size=6))
    def put(self, batch: list[UrlRecord]) -> None:
        for state in self.both:
            state.records.put(batch)

    @rule(batch=st.lists(entries, max_size=6))
    def push(self, batch: list[Queued]) -> None:
        for state in self.both:
            state.queues.push(batch)

    @rule(site=sites, lane=lanes, which=st.sets(st.integers(0, 5), max_size=3))
    def remove(self, site: Site, lane: Lane, which: set[int]) -> None:
        for state in self.both:
            tickets = state.queues.heads(site, lane, 6)
            state.queues.remove([ticket for index, ticket in enumerate(tickets) if index in which])

    @rule(batch=st.lists(st.tuples(times, entries), max_size=4))
    def postpone(self, batch: list[tuple[float, Queued]]) -> None:
        for state in self.both:
            state.queues.postpone(batch)

    @rule(now=times, limit=st.integers(0, 4))
    def release(self, now: float, limit: int) -> None:
        disk, memory = self.disk.queues.release(now, limit), self.memory.queues.release(now, limit)
        assert [ticket.entry for ticket in disk] == [ticket.entry for ticket in memory]

    @rule(batch=st.lists(states, max_size=3), file=files)
    def put_sites(self, batch: list[SiteState], file: RobotsFile) -> None:
        for state in self.both:
            state.sites.put(batch)
            state.robots.put(file)

    @rule(batch=st.lists(st.tuples(urls, standings), max_size=6), links=st.lists(st.tuples(urls, urls), max_size=4))
    def put_standings(self, batch: list[tuple[Url, UrlScore]], links: list[tuple[Url, Url]]) -> None:
        for state in self.both:
            state.standings.put(deepcopy(batch))
            state.standings.link(links)

    @rule(batch=st.lists(urls, max_size=4), gain=st.floats(0.0, 9.0))
    def gain(self, batch: list[Url], gain: float) -> None:
        for state in self.both:
            found = state.standings.get(batch)
            for each in found:
                if each is not None:
                    each.worth += gain
            state.standings.put([(url, each) for url, each in zip(batch, found, strict=True) if each is not None])

    @rule(factor=st.floats(0.5, 2.0))
    def rank(self, factor: float) -> None:
        for state in self.both:
            state.standings.revalue(state.standings.known().worth * factor)

    @rule(batch=st.lists(forest_rows, max_size=4))
    def put_forest(self, batch: list[SitemapFileRow]) -> None:
        for state in self.both:
            state.forest.put(batch)

    @rule(key=keys, memory=memories)
    def remember(self, key: str, memory: bytes) -> None:
        for state in self.both:
            state.forest.remember(key, memory)

    @rule(payload=payloads)
    def add_payload(self, payload: Payload) -> None:
        assert self.disk.payloads.add_new(payload) == self.memory.payloads.add_new(payload)

    @rule(receiver=st.sampled_from(SHARDS), batch=discoveries)
    def send(self, receiver: int, batch: list[Discovery]) -> None:
        for state in self.both:
            state.exchange.send(receiver, batch)

    @rule(receiver=st.sampled_from(SHARDS), number=st.integers(0, 4))
    def acknowledge(self, receiver: int, number: int) -> None:
        for state in self.both:
            state.exchange.acknowledged(receiver, number)

    @rule()
    def offer(self) -> None:
        self.commit()
        assert sorted(self.disk.exchange.receivers()) == sorted(self.memory.exchange.receivers())
        for receiver in SHARDS:
            assert self.disk.exchange.unsent(receiver, 2) == self.memory.exchange.unsent(receiver, 2)

    @rule(sender=st.sampled_from(SHARDS), number=st.integers(1, 3))
    def take(self, sender: int, number: int) -> None:
        batch = Batch.of(sender, 0, number, ())
        assert self.disk.exchange.is_new(batch) == self.memory.exchange.is_new(batch)

    @rule(
        value=st.builds(Counted, st.integers(0, 9), st.lists(st.text(max_size=3), max_size=2)) | st.builds(Named, words)
    )
    def put_meta(self, value: Counted | Named) -> None:
        for state in self.both:
            state.put_meta(value)

    @rule(batch=st.lists(visits, max_size=3), gone=st.lists(sites, max_size=2))
    def put_visits(self, batch: list[SiteVisits], gone: list[Site]) -> None:
        for state in self.both:
            state.visits.put(batch)
            state.visits.remove(gone)

    @rule(batch=st.lists(addresses, max_size=3), gone=st.lists(address_keys, max_size=2))
    def put_addresses(self, batch: list[AddressVisits], gone: list[int]) -> None:
        for state in self.both:
            state.addresses.put(batch)
            state.addresses.remove(gone)

    @rule(batch=st.lists(trees, max_size=3), chunk=chunks, gone=st.integers(0, 3))
    def put_trees_and_links(self, batch: list[TreeUse], chunk: LinkChunk, gone: int) -> None:
        for state in self.both:
            state.trees.put(batch)
            state.recent_links.put([chunk])
            state.recent_links.remove(range(gone))

    @rule()
    def commit(self) -> None:
        self.disk.commit()
        self.kept = deepcopy(self.memory)

    @rule()
    def crash(self) -> None:
        """Closed without a commit, and opened again: nothing since the last commit has happened."""
        self.disk.close()
        self.disk = DiskState(self.folder)
        self.memory = deepcopy(self.kept)
        self.memory.exchange.reopened()

    @invariant()
    def the_same(self) -> None:
        if hasattr(self, "disk"):
            assert _everything(self.disk) == _everything(self.memory)
            self.disk.check_invariants()

    def teardown(self) -> None:
        if hasattr(self, "disk"):
            self.disk.close()
            shutil.rmtree(self.folder)


def _everything(state: State) -> list[object]:
    """All that can be asked."""
    known = sorted(record.url for site in SITES for record in state.records.of_site(site))
    return [
        known,
        state.records.get([Url(url) for url in known]),
        len(state.records),
        sorted(state.queues.waiting(), key=str),
        [
            (state.queues.length(site, lane), [ticket.entry for ticket in state.queues.heads(site, lane, 99)])
            for site in SITES
            for lane in Lane
        ],
        state.queues.next_release(),
        len(state.queues),
        state.sites.get(SITES),
        len(state.sites),
        [state.robots.get(site) for site in SITES],
        len(state.exchange),
        [state.exchange.taken(shard) for shard in SHARDS],
        [state.meta(Counted), state.meta(Named)],
        sorted(state.visits, key=lambda row: row.site),
        sorted(state.addresses, key=lambda row: row.key),
        sorted(state.trees, key=lambda row: row.tree),
        sorted(state.recent_links, key=lambda row: row.number),
        *_standings(state),
        *_forest(state),
    ]


def _forest(state: State) -> list[object]:
    forest = state.forest
    return [
        forest.get(KEYS),
        [forest.due(now, limit) for now in (-5.0, 0.0, 5.0, float("inf")) for limit in (0, 2, 9)],
        forest.next_due(),
        [sorted(forest.of_site(site)) for site in SITES],
        sorted(forest),
        [forest.memory(key) for key in KEYS],
        len(forest),
    ]


def _standings(state: State) -> list[object]:
    known = state.standings.known()
    columns = [getattr(known, name).tolist() for name in known.__struct_fields__]
    numbered = state.standings.numbered(range(len(known.worth)))
    fields = [(url, [getattr(each, name) for name in UrlScore.__struct_fields__]) for url, each in numbered]
    return [columns, fields, state.standings.pooled]


TestStates = States.TestCase
TestStates.settings = settings(max_examples=examples(8), stateful_step_count=25)
