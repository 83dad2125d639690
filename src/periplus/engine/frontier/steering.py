"""What the people who watch a crawl ask of it while it runs: URLs to leave out, and URLs to fetch first.

Both are patterns (`policy.filters.patterns`). A URL that matches an excluded pattern is refused when it is discovered,
and leaves its queue when its turn comes. One that matches a preferred pattern waits at the first level of its queue;
those that wait already are moved there, at most `MAX_LOOKED_AT` of them. Patterns are part of the committed state, so
they hold in every later run until they are allowed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from msgspec import Struct

from periplus.model import Lane, Queues, Ticket, Url, UrlRecords
from periplus.policy.filters.patterns import MAX_PATTERNS, compiled

from .site import NOT_PAGES

MAX_LOOKED_AT = 50_000
"""Waiting URLs that one request looks at: less than half a second, in which the shard does nothing else."""
SAMPLE = 20
"""URLs that a preview shows: one screen."""
FIRST_LEVEL = 0
"""The level of a queue from which URLs are taken first."""
_PAGES = (Lane.DISCOVERY, Lane.SITEMAPS)
"""Lanes whose URLs are moved: pages that wait for their first visit."""


class SteeringState(Struct, frozen=True, array_like=True):
    """The patterns that hold, in the order in which they were given."""

    excluded: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()


class Preview(Struct, frozen=True):
    """The waiting URLs that match a pattern: how many, and the first of them.

    `looked_at` URLs were compared; not all that wait, unless `is_complete`.
    """

    matching: int = 0
    looked_at: int = 0
    is_complete: bool = True
    sample: tuple[Url, ...] = ()

    def __add__(self, other: Preview) -> Preview:
        """The preview of two shards together."""
        return Preview(
            self.matching + other.matching,
            self.looked_at + other.looked_at,
            self.is_complete and other.is_complete,
            (self.sample + other.sample)[:SAMPLE],
        )


class Steering:
    """The patterns of a frontier, ready to match."""

    def __init__(self, state: SteeringState) -> None:
        self._set(state)

    def _set(self, state: SteeringState) -> None:
        self.state = state
        self._excluded = [(each, compiled(each)) for each in state.excluded]
        self._preferred = [compiled(each) for each in state.preferred]

    def change(self, excluded: Iterable[str], preferred: Iterable[str], allowed: Iterable[str]) -> None:
        """Add patterns, and drop those that are allowed again."""
        dropped = frozenset(allowed)
        before = self.state
        self._set(
            SteeringState(_merged(before.excluded, excluded, dropped), _merged(before.preferred, preferred, dropped))
        )

    def refusal(self, url: Url) -> str | None:
        """The excluded pattern that a URL matches."""
        if self._excluded:
            for written, matches in self._excluded:
                if matches(url):
                    return written
        return None

    def prefers(self, url: Url) -> bool:
        """Whether a URL is to be fetched before others."""
        return bool(self._preferred) and any(matches(url) for matches in self._preferred)


def _merged(known: tuple[str, ...], added: Iterable[str], dropped: frozenset[str]) -> tuple[str, ...]:
    return tuple(each for each in dict.fromkeys((*known, *added)) if each not in dropped)[:MAX_PATTERNS]


def preview(queues: Queues, records: UrlRecords, pattern: str, is_out: Callable[[Url], bool]) -> Preview:
    """Which waiting URLs a pattern matches.

    One in two lanes counts once. One that is being fetched, or that the other lane had first, does not wait.
    """
    matches = compiled(pattern)
    looked_at, found = 0, dict[Url, bool]()
    for ticket in _waiting(queues, tuple(Lane)):
        looked_at += 1
        if ticket.entry.lane not in NOT_PAGES and matches(ticket.entry.url) and not is_out(ticket.entry.url):
            found[ticket.entry.url] = ticket.entry.lane not in (Lane.DISCOVERY, Lane.SITEMAPS)
    known = zip(found.items(), records.get(list(found)), strict=True)
    waiting = [url for (url, is_again), record in known if is_again or record is None or not record.visits]
    return Preview(len(waiting), looked_at, looked_at < MAX_LOOKED_AT, tuple(waiting[:SAMPLE]))


def to_be_raised(queues: Queues, prefers: Callable[[Url], bool], is_out: Callable[[Url], bool]) -> list[Ticket]:
    """The waiting pages that are preferred, and not at the first level already. One that is fetched now stays."""
    return [
        ticket
        for ticket in _waiting(queues, _PAGES)
        if ticket.entry.level > FIRST_LEVEL and prefers(ticket.entry.url) and not is_out(ticket.entry.url)
    ]


def _waiting(queues: Queues, lanes: tuple[Lane, ...]) -> Iterator[Ticket]:
    """The URLs that wait in these lanes, site by site, up to the maximum."""
    left = MAX_LOOKED_AT
    for site, lane, _level in islice(queues.waiting(), MAX_LOOKED_AT):
        if lane in lanes:
            tickets = queues.heads(site, lane, left)
            left -= len(tickets)
            yield from tickets
        if left <= 0:
            return
