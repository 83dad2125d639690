"""The data that filters learn of each site: in memory for the sites in use, in the site records for the rest.

Filters decide by what they observed, and a crawl that was killed must decide like one that was not. The data of a site
is therefore one small, bounded value (`SiteFilterState`) in the site's record: the caller's `recall` returns it, and
the caller stores the result of `changed` with each commit. At most `max_sites` are in memory. A changed site that has
to leave is returned by the next call of `changed`; until then it stays.

A value is shared with the record that it came from or was stored in, and is changed only here. `traps` and `chain`
decide what follows from the numbers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

from msgspec import Raw, Struct, field

from periplus.model import InvariantError, PartValues, Site, Url
from periplus.urls import site_of

from .templates import PageChain

MAX_STEPS = 9
MAX_WINDOW = 64
MAX_REFUSED = 10_000
"""URLs of a site that are remembered, at most, after a verdict that may fall refused them when they were found."""
MAX_PATHS = 2048
"""Paths of a site that are remembered, at most: 8 KiB, and only of sites whose URLs have parameters."""
_HASH_BYTES = 4
"""Bytes of the hash of a path."""
_REGISTERS = 128
_REGISTER_BITS = 7
_ALPHA = 0.7213 / (1 + 1.079 / _REGISTERS)
_POWERS = tuple(2.0**-rank for rank in range(66))
"""The weight of a register by its rank: 64 bits have at most 65 different ranks."""


class Window(Struct, array_like=True):
    """The last pages of one kind: bit by bit whether they were unique, how many, and how far the kind is throttled.

    If a full window has too few unique pages, the kind is throttled one step: only a tenth of its URLs is fetched from
    then on, chosen by a hash of the URL, so that the same URL always gets the same answer. The window then starts
    again. Each further poor window leaves a tenth of the tenth, so that an endless trap costs one window for each power
    of ten of its size; a good window takes one step back. No kind is ever closed completely, so that it can recover.
    `is_chain`: the kind is throttled because of a chain of pages, which may all be unique.
    """

    bits: int = 0
    length: int = 0
    steps: int = 0
    is_chain: bool = False

    def observe(self, is_unique: bool, size: int, least: float) -> int:
        """Note a page. Where `size` were seen, a share of unique ones below `least` throttles one step more.

        Gives how the steps changed: 1, 0 or -1.
        """
        self.bits = (self.bits << 1 | is_unique) & ((1 << size) - 1)
        self.length = min(self.length + 1, size)
        if self.length < size:
            return 0
        is_poor = self.bits.bit_count() < least * size
        change = int(is_poor and self.steps < MAX_STEPS) - int(not is_poor and self.steps > 0)
        if change:
            self.steps += change
            self.bits = self.length = 0
            self.is_chain &= self.steps > 0
        return change

    def throttle(self) -> None:
        """Throttle one step more because of a chain, whatever the window says; it starts afresh."""
        self.steps = min(self.steps + 1, MAX_STEPS)
        self.bits = self.length = 0
        self.is_chain = True


class Values(Struct, array_like=True):
    """An estimate of the number of different values of a parameter.

    A HyperLogLog (Flajolet, Fusy, Gandouet & Meunier 2007) of 128 registers: about 9 % off, and enough to distinguish a
    hundred values from a thousand.
    """

    registers: bytes = bytes(_REGISTERS)

    def add(self, key: int) -> bool:
        """Count a value by its hash of 64 bits. Gives whether the estimate has changed."""
        place = key & (_REGISTERS - 1)
        rank = 65 - _REGISTER_BITS - (key >> _REGISTER_BITS).bit_length()
        if rank <= self.registers[place]:
            return False
        self.registers = self.registers[:place] + bytes((rank,)) + self.registers[place + 1 :]
        return True

    def estimate(self) -> float:
        """The number of different values; by the registers still empty (linear counting) where there are few."""
        raw = _ALPHA * _REGISTERS**2 / sum(map(_POWERS.__getitem__, self.registers))
        empty = self.registers.count(0)
        if raw <= 2.5 * _REGISTERS and empty:
            return _REGISTERS * math.log(_REGISTERS / empty)
        return raw

    def exceeds(self, most: float) -> bool:
        """Whether the estimate is above a number. The empty registers alone show that few values are below it."""
        empty = self.registers.count(0)
        if empty and max(_ALPHA * _REGISTERS**2 / empty, _REGISTERS * math.log(_REGISTERS / empty)) <= most:
            return False
        return self.estimate() > most


class ParameterCounts(Struct, array_like=True):
    """One parameter of one path: its number of values (`None`: too many), and a window over pages with it."""

    values: Values | None
    window: Window


class Paths(Struct, array_like=True):
    """The paths of which a page was read, as hashes of 32 bits, at most `MAX_PATHS`."""

    hashes: bytes = b""

    @property
    def is_full(self) -> bool:
        """Whether no more paths are remembered: then nothing follows from not knowing one."""
        return len(self.hashes) >= _HASH_BYTES * MAX_PATHS

    def has(self, key: int) -> bool:
        """Whether a path was read, by its hash of 64 bits; with a chance of one in two million another one was."""
        wanted = _short_hash(key)
        place = self.hashes.find(wanted)
        while place % _HASH_BYTES and place > 0:  # the end of one and the beginning of the next
            place = self.hashes.find(wanted, place + 1)
        return place >= 0

    def add(self, key: int) -> bool:
        """Remember a path. Whether it is new."""
        if self.is_full or self.has(key):
            return False
        self.hashes += _short_hash(key)
        return True


def _short_hash(key: int) -> bytes:
    return (key & 0xFFFFFFFF).to_bytes(_HASH_BYTES, sys.byteorder)


class Growth(Struct, array_like=True):
    """How deep pages of one branch of a site lead on: pages since it was last judged, and what a sample of links shows.

    `fresh`: links that no page had before; `shared`: those of them that another page had as well before they were read.
    `seen` and `done` are links of the sample, and those of which nothing more follows. `is_settled`: the branch has an
    end, and links are not looked at until it is judged again. `following`: URLs of the branch that are let through,
    although it is throttled; `looks`: how often some were.
    """

    pages: int = 0
    fresh: int = 0
    shared: int = 0
    seen: Paths = field(default_factory=Paths)
    done: Paths = field(default_factory=Paths)
    is_settled: bool = False
    following: int = 0
    looks: int = 0


class SiteFilterState(PartValues, Struct, array_like=True):
    """What was learnt of one site: URLs admitted, pages by template and by parameter, and how many are throttled.

    `dated` are templates whose URLs name dates, `ahead` the days that those of a template name more than a month ahead.
    `chains` are pages that each linked to one more. `paths` are those of which a page was read, since the first page
    with parameters. `values` is what parts have learnt that decide about URLs. `refused`: URLs that were refused when
    they were found, and are remembered until the verdict falls. `growths`: branches with many deep pages.
    `second_look`: pages of throttled kinds that are read nevertheless, now that the site has no others; -1: they were.
    `known`: URLs admitted or remembered when some were last let through. `read`, `unique`: pages read for the first
    time, and those of them with new contents.
    """

    admitted: int = 0
    throttled: int = 0
    templates: dict[int, Window] = field(default_factory=dict)
    parameters: dict[int, ParameterCounts] = field(default_factory=dict)
    dated: list[int] = field(default_factory=list)
    ahead: dict[int, list[int]] = field(default_factory=dict)
    chains: list[PageChain] = field(default_factory=list)
    paths: Paths | None = None
    values: dict[str, Raw] = field(default_factory=dict)
    refused: int = 0
    growths: dict[int, Growth] = field(default_factory=dict)
    second_look: int = 0
    known: int = 0
    read: int = 0
    unique: int = 0


_NOTHING = SiteFilterState()


class FilterStates:
    """The data of all sites. `recall` returns what was stored of a site that is not in memory (`None`: nothing)."""

    def __init__(self, recall: Callable[[Site], SiteFilterState | None] | None = None, max_sites: int = 2048) -> None:
        self._recall = recall
        self._max_sites = max(max_sites, 1)
        self._sites: dict[Site, SiteFilterState] = {}
        self._changed: dict[Site, None] = {}
        self._leaving: dict[Site, SiteFilterState] = {}
        self._last_url: Url | None = None
        self._last = _NOTHING

    def of(self, site: Site) -> SiteFilterState:
        """The data of a site, for reading only."""
        state = self._sites.get(site)
        if state is not None:
            return state
        if self._recall is None and site not in self._leaving:
            return _NOTHING
        return self._enter(site)

    def about(self, url: Url) -> SiteFilterState:
        """The data of the site of a URL. Several filters ask about one URL in turn, so the last answer is cached."""
        if url is not self._last_url:
            # The authority is the site, unless it holds a user name.
            state = self._sites.get(url.split("/", 3)[2])  # type: ignore[call-overload]
            self._last = state or self.of(site_of(url))
            self._last_url = url
        return self._last

    def changing(self, url: Url) -> SiteFilterState:
        """The data of the site of a URL, for changing."""
        site = site_of(url)
        if site in self._changed:
            return self._sites[site]
        state = self._sites.pop(site, None)
        if state is None:
            state = self._enter(site)
        else:
            self._sites[site] = state  # at the end: a site that is unchanged for long leaves first
        self._changed[site] = None
        return state

    def changed(self) -> list[tuple[Site, SiteFilterState]]:
        """The data that changed since the last call, or left memory: to be stored with the next commit."""
        states = [*self._leaving.items(), *((site, self._sites[site]) for site in self._changed)]
        self._leaving.clear()
        self._changed.clear()
        return states

    def __len__(self) -> int:
        """How many sites are in memory."""
        return len(self._sites)

    def check_invariants(self) -> None:
        """Check what must hold between calls."""
        if len(self._sites) > self._max_sites:
            raise InvariantError(f"{len(self._sites)} sites in memory, {self._max_sites} allowed")
        for site, state in self._sites.items():
            windows = [*state.templates.values(), *(each.window for each in state.parameters.values())]
            if state.throttled != sum(window.steps > 0 for window in windows):
                raise InvariantError(f"{site}: {state.throttled} is not the number of throttled kinds")
        if SiteFilterState() != _NOTHING or not self._changed.keys() <= self._sites.keys():
            raise InvariantError("the state of a site's filters was changed elsewhere")

    def _enter(self, site: Site) -> SiteFilterState:
        """Load a site into memory."""
        state = self._leaving.pop(site, None)
        if state is not None:
            self._changed[site] = None
        elif self._recall is not None:
            state = self._recall(site)
        return self._add(site, SiteFilterState() if state is None else state)

    def _add(self, site: Site, state: SiteFilterState) -> SiteFilterState:
        self._last_url = None
        if len(self._sites) >= self._max_sites:
            oldest = next(iter(self._sites))
            leaving = self._sites.pop(oldest)
            if oldest in self._changed:
                del self._changed[oldest]
                self._leaving[oldest] = leaving
        self._sites[site] = state
        return state
