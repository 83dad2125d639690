"""How fresh is the collection? A few pages stand for all: those whose fingerprints are the smallest.

Which these are has nothing to do with what they say or how often they change, so that they are as good as drawn by
lot; and a page that is met for the first time later has the same chance as others. For each of them the probability
that it is as it was when it was fetched is known (`policy.refresh`), and so the share of fresh pages, with an interval.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from random import Random

from msgspec import Struct

from periplus.model import Lane, Site, State, Url, UrlRecord, UrlRecords
from periplus.policy.refresh import SiteEvidence, fresh_chances, unpack_page
from periplus.urls import fingerprint, site_of

_SIZE = 2_000
_DRAWN_FROM = 1_000
_ALL_BITS = (1 << 64) - 1


class Freshness(Struct, frozen=True):
    """The state of a collection that is watched, as far as it is known.

    `fresh` is the expected share of `pages` that are as they were fetched, give or take `half` with 95 % probability;
    `age` the mean seconds since pages were last seen; `price` what a visit must be worth.
    """

    pages: int
    fresh: float
    half: float
    age: float
    price: float

    def __add__(self, other: Freshness) -> Freshness:
        """Of two parts of a collection."""
        pages = self.pages + other.pages
        if not self.pages or not other.pages:
            return self if self.pages else other
        mine, theirs = self.pages / pages, other.pages / pages
        return Freshness(
            pages,
            mine * self.fresh + theirs * other.fresh,
            math.hypot(mine * self.half, theirs * other.half),
            mine * self.age + theirs * other.age,
            mine * self.price + theirs * other.price,
        )


class Panel:
    """The pages that stand for all: at most `size`, each with its fingerprint, turned by an odd `factor`: others."""

    def __init__(self, urls: Iterable[Url] = (), size: int = _SIZE, factor: int = 1) -> None:
        self._size = size
        self._factor = factor
        self._chosen: list[tuple[int, Url]] = []
        for url in urls:
            self.meet(url)

    def meet(self, url: Url) -> None:
        """A page was visited; it may be one of them, or one already."""
        place = fingerprint(url) * self._factor & _ALL_BITS, url
        chosen = self._chosen
        if len(chosen) == self._size and place >= chosen[-1]:
            return
        at = bisect_left(chosen, place)
        if at == len(chosen) or chosen[at] != place:
            insort(chosen, place)
            del chosen[self._size :]

    @property
    def urls(self) -> list[Url]:
        """Those chosen."""
        return [url for _, url in self._chosen]

    def drawn(self, random: Random) -> Url | None:
        """One of them, by chance."""
        return random.choice(self._chosen)[1] if self._chosen else None


class Gauge:
    """Reads off how fresh a collection is, and keeps that for a `pause` in seconds: looking takes a while.

    Other pages, as good as drawn by lot, too, are those that are visited for what that teaches: if they were the same,
    those that stand for all would be fresher than all.
    """

    def __init__(
        self,
        records: UrlRecords,
        evidence_of: Callable[[Site], SiteEvidence],
        urls: Iterable[Url],
        pause: float,
        random: Random | None = None,
    ) -> None:
        self._records = records
        self._evidence_of = evidence_of
        self._random = random or Random(0)  # noqa: S311 - chance, not secrets
        self._panel, self._others = Panel(), Panel((), _DRAWN_FROM, self._random.getrandbits(64) | 1)
        for url in urls:
            self.meet(url)
        self.pause = pause
        self._read: tuple[float, Freshness] | None = None

    def meet(self, url: Url) -> None:
        """A page was visited."""
        self._panel.meet(url)
        self._others.meet(url)

    def drawn(self) -> Url | None:
        """One to visit by chance."""
        return self._others.drawn(self._random)

    @property
    def urls(self) -> list[Url]:
        """The pages that stand for all."""
        return self._panel.urls

    def read(self, pages: int, price: float, now: float) -> Freshness:
        """How fresh so many pages are now, or were a moment ago."""
        if self._read is None or now >= self._read[0]:
            self._read = now + self.pause, self._look(pages, price, now)
        return self._read[1]

    def _look(self, pages: int, price: float, now: float) -> Freshness:
        found = self._records.get(self._panel.urls)
        known = [record for record in found if record is not None and is_there(record)]
        fresh, half = share_of(self._chances(known, now))
        ages = [now - record.fetched_at for record in known if record.fetched_at is not None]
        there = round(pages * len(known) / max(len(found), 1))
        return Freshness(there, fresh, half, max(math.fsum(ages) / max(len(ages), 1), 0.0), price)

    def _chances(self, records: Sequence[UrlRecord], now: float) -> list[float]:
        numbers: dict[Site, int] = {}
        site = [numbers.setdefault(site_of(record.url), len(numbers)) for record in records]
        pages = [unpack_page(record.evidence) for record in records]
        return list(map(float, fresh_chances(pages, site, [self._evidence_of(each) for each in numbers], now)))


def waiting_again(state: State) -> list[Url]:
    """Those that wait with their sites to be visited again: the calendar has them no more."""
    queues = state.queues
    lanes = [(site, queues.length(site, lane)) for site, lane, _ in queues.waiting() if lane is Lane.REFRESH]
    return [head.entry.url for site, length in lanes for head in queues.heads(site, Lane.REFRESH, length)]


def is_there(record: UrlRecord) -> bool:
    """Whether it was a page at the last visit: who led elsewhere then, or nowhere, is none any more."""
    return record.status in (200, 304) and bool(record.evidence)


def share_of(chances: list[float]) -> tuple[float, float]:
    """The expected share of those that hold, and half of its 95 % interval, from the chance of each."""
    if not chances:
        return 0.0, 0.0
    mean = math.fsum(chances) / len(chances)
    return mean, 1.96 * math.sqrt(max(mean * (1.0 - mean), 0.25 / len(chances)) / len(chances))
