"""Fill the state of a crawl with known URLs without discovering them one by one, so that large states can be measured.

The rows are those that `bench.state` writes for the same web: a record of each URL, and a place in the queue of its
site if it was not visited. They are written site by site, in several passes, so that the pages of the tables are split
and left partly empty as they are when URLs arrive at random.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence

from xxhash import xxh3_64_digest

from periplus.model import Lane, Site, Source
from periplus.store import DiskState
from periplus.store.state.records import NUMBER_LENGTH
from periplus.store.state.rows import LANE_CODES, SOURCE_CODES, encode
from periplus.store.state.sites import ID_LENGTH

PASSES = 4
"""Passes over all sites, each with every fourth URL: the tables are then about as full as after random insertion."""

CHUNK = 100_000
"""URLs written between two commits: this changes fewer pages than a commit of the measured stretches."""

DEPTHS = 6
VISITED_EVERY = 9
"""One URL in nine was visited: a page has about nine new URLs."""

FOUND_AT = 1.7e9
_LINK = SOURCE_CODES[Source.LINK]
_LANE = LANE_CODES[Lane.DISCOVERY]
_PLACES = [_LANE + bytes((depth,)) for depth in range(DEPTHS + 1)]
_VISITED_FIELDS = (
    [(_LINK, FOUND_AT)], None, ('"5f3c-1a2b3c4d5e6f7"', "Tue, 15 Nov 2022 12:45:26 GMT"),
    (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93),
    1, 0, FOUND_AT, FOUND_AT + 86400.0, 0, 0, 200, "", FOUND_AT, b"", b"", b"", b"",
)  # fmt: skip
"""The fields after `depth` in the row of a URL that was visited once."""


def share(rank: int, sites: int) -> float:
    """The share of the site of a rank, from 0, in all URLs."""
    return math.log((rank + 2) / (rank + 1)) / math.log(sites) if rank + 1 < sites else 0.0


class Filling:
    """Writes rows of known URLs into a state. `path_of` returns the path of the URL of a site that has this number."""

    def __init__(self, state: DiskState, sites: Sequence[Site], path_of: Callable[[int], str]) -> None:
        self._state = state
        self._sites = sites
        self._path_of = path_of
        self._urls = state.environment.table("urls")
        self._ends: dict[bytes, int] = {}
        self._queues = state.environment.table("queues")

    def fill(self, known: Sequence[int], wanted: Sequence[int]) -> None:
        """Make the URLs of each site known that have a number from `known` to below `wanted`."""
        ranks = [rank for rank, (have, want) in enumerate(zip(known, wanted, strict=True)) if have < want]
        random.Random(1).shuffle(ranks)
        order = sorted(ranks, key=lambda rank: self._state.names.number(self._sites[rank]))
        for start in range(PASSES):
            ranges = [(rank, range(known[rank] + start, wanted[rank], PASSES)) for rank in order]
            for chunk in _chunks(ranges):
                self._write(chunk)

    def _write(self, chunk: Sequence[tuple[int, range]]) -> None:
        urls: list[tuple[bytes, bytes]] = []
        places: list[tuple[bytes, bytes]] = []
        queued: list[tuple[bytes, bytes]] = []
        queues = self._state.queues
        for rank, numbers in chunk:
            site = self._sites[rank]
            prefix, head = f"https://{site}", self._state.names.number(site)
            before, end = len(queued), self._end_of(head)
            for number in numbers:
                short = self._path_of(number)
                depth = 1 + number % DEPTHS
                place = head + end.to_bytes(NUMBER_LENGTH, "big")
                end += 1
                places.append((head + xxh3_64_digest((prefix + short).encode()), place))
                if number % VISITED_EVERY == 0:
                    urls.append((place, encode((short, depth, *_VISITED_FIELDS))))
                    continue
                urls.append((place, encode((short, depth, _LINK, FOUND_AT))))
                queued.append((head + _PLACES[depth] + queues._next(), short.encode()))
            queues._change(head + _LANE, len(queued) - before)
            self._ends[head] = end
        urls.sort()
        self._urls.put_many(urls)
        records = self._state.records
        if records._linked is not None:  # it is None for readers only
            records._linked.put(urls)
        records._places.add(places)
        self._queues.put_many(sorted(queued))
        self._state.commit()

    def _end_of(self, head: bytes) -> int:
        """How many URLs of a site have been moved out of the tree of new ones."""
        end = self._ends.get(head)
        if end is None:
            last = self._urls.last(head)
            end = 0 if last is None else int.from_bytes(last[ID_LENGTH:], "big") + 1
        return end


def _chunks(ranges: Sequence[tuple[int, range]]) -> Iterator[list[tuple[int, range]]]:
    """The URLs of these sites in lists of about `CHUNK`; a large site is in several of them."""
    chunk: list[tuple[int, range]] = []
    room = CHUNK
    for rank, numbers in ranges:
        for start in range(0, len(numbers), CHUNK):
            piece = numbers[start : start + CHUNK]
            chunk.append((rank, piece))
            room -= len(piece)
            if room <= 0:
                yield chunk
                chunk, room = [], CHUNK
    if chunk:
        yield chunk
