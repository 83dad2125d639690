"""Discovery against Sitemaps: from which of a site's two queues is the next page taken?

Schonfeld & Shivakumar ("Sitemaps: above and beyond the crawl of duty", WWW 2009, section 6, Figure 8) give each
site a quota of pages, split it between the two sources, and after each quota look at the results of the *lowest-scored*
pages of either: that share is the expected value of one more page from there. The source whose last pages were worth
more gets a step more of the next quota. The split settles where the last page of either is worth the same, which is
optimal for any two falling curves.

`SiteBalance` does that for one site: `choose` selects a queue, `took` records the page taken, `learnt` its result. Its
`record` is kept with the site, in the middle of an epoch too. `history` is for display: how the budget moved, and why.

The paper crawls an epoch at once: the best kS pages of one queue, the best kD of the other, more of either if that is
less than Ncrawl; then it judges. Here pages leave one by one, so the two quotas are interleaved in their proportion
(Webster's rule, which ends at exactly kS and kD), and a queue that is empty leaves its turn to the other (line 18).
Pages taken beyond a quota are in no sample.

Epochs begin short and grow (`BalanceSettings.length`): half of a budget of some hundred pages would otherwise be spent
before the first look at its results. The strict form has none of that.

An epoch is judged when its pages were taken and the results of both samples are in. The site need not wait for that:
what is taken meanwhile is shared out as before and is in no sample. Results that never come are not waited for
longer than a sample takes.

A page that both sources know is fetched once and put to both accounts: to the other one when its queue comes to it in
the same epoch (`came_to`), at the place where it stands there. A page further down is not one of that source's best kS
or kD, and must not count as one of its last ones.

Pages are taken from a queue in the order of their levels, so the last ones taken *would* be the lowest, if nothing
better arrived in the meantime; but crawls find pages. So a sample is kept sorted: by level, and within a level by when
a page was taken, which is the order of the queue. That is exact, and never more than `delta` pages.

Results arrive later, in any order, or never. Until then a place in the sample holds 32 bits of the page's name; a
result finds its place by these, in every sample that holds the page. A wrong place would be found once in 2^32 / delta
results.

Utilities are computed from it (`utilities`): of the lowest-scored pages of a source, the share that entered the
collection. Ten pages are little evidence, so the guarded form counts earlier epochs with `decay`, and starts from the
prior Beta(1,1): equal evidence, equal utility.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from enum import IntEnum

from msgspec import Struct, field

from periplus.model import CollectionDamaged, InvariantError, Lane

from .settings import BalanceSettings

WORST = 255
_BAD, _GOOD, _PENDING = 0, 1, 2
KEY = (1 << 32) - 1
"""The number of bits of a page's fingerprint that are kept."""


class SourceSample(Struct, array_like=True):
    """The lowest-scored pages that one source gave in this epoch, and their results. Stored packed.

    `taken` counts pages put to its account; `levels` are sorted, the best first; `marks` are what came of the same
    pages: bad, good, or whose result is awaited.
    """

    taken: int = 0
    levels: bytearray = field(default_factory=bytearray)
    marks: list[int] = field(default_factory=list)

    def add(self, level: int, key: int, limit: int) -> None:
        """Add a page that was taken. A full sample drops its best page; a page tried again keeps its place."""
        mark = (key & KEY) + _PENDING
        if mark in self.marks:
            return
        place = bisect_right(self.levels, level)
        self.levels.insert(place, level)
        self.marks.insert(place, mark)
        self.trim(limit)

    def trim(self, limit: int) -> None:
        """Drop the best pages beyond the size of the sample."""
        surplus = max(len(self.marks) - limit, 0)
        del self.levels[:surplus], self.marks[:surplus]

    def settle(self, key: int, is_good: bool) -> None:
        """Record the result of a page, if it is (still) one of the sample."""
        mark = (key & KEY) + _PENDING
        if mark in self.marks:
            self.marks[self.marks.index(mark)] = _GOOD if is_good else _BAD

    def clear(self) -> None:
        """Empty the sample for a new epoch."""
        self.taken = 0
        self.levels.clear()
        self.marks.clear()

    @property
    def is_settled(self) -> bool:
        """Whether every page of the sample has its result."""
        return max(self.marks, default=_BAD) < _PENDING

    @property
    def good(self) -> int:
        """The number of pages that proved good."""
        return self.marks.count(_GOOD)

    @property
    def known(self) -> int:
        """The number of pages whose result is known."""
        return self.good + self.marks.count(_BAD)

    def check_invariants(self, limit: int) -> None:
        """Check that each page has a level and a mark, sorted, and not too many."""
        if len(self.levels) != len(self.marks) or len(self.marks) > min(limit, self.taken):
            raise InvariantError(f"a sample of {len(self.marks)} pages out of {self.taken}, {limit} allowed")
        if sorted(self.levels) != list(self.levels) or min(self.marks, default=0) < 0:
            raise InvariantError("the lowest-scored pages are out of order")


HISTORY = 20
"""Epochs kept for display; an older one would count less than 1 in 1,000 with a decay of 0.7."""


class BalanceMove(IntEnum):
    """The decision after an epoch; `word` is its name in tables and output."""

    TO_SITEMAPS = 0
    """The last pages from sitemaps were worth more."""
    TO_DISCOVERY = 1
    """The last pages from links were worth more."""
    TIE = 2
    """They were worth the same, and nothing moved."""
    TIE_TO_SITEMAPS = 3
    """They were worth the same; the strict form moves to sitemaps then."""
    ONE_SOURCE = 4
    """One of the sources returned no page whose result is known, so nothing could be compared."""
    UNUSED = 5
    """The better source could not even use what it had."""
    AT_BOUND = 6
    """The better source already has its maximum: the other one keeps a sample."""

    FIXED = 7
    """The shares were fixed by the settings."""

    @property
    def word(self) -> str:
        """The name of the move in kebab case."""
        return self.name.lower().replace("_", "-")

    @property
    def direction(self) -> int:
        """1 where sitemaps got more, -1 where links did, 0 where nothing moved."""
        return (self in (BalanceMove.TO_SITEMAPS, BalanceMove.TIE_TO_SITEMAPS)) - (self is BalanceMove.TO_DISCOVERY)


class Epoch(Struct, frozen=True, array_like=True, gc=False):
    """One judged epoch: how it was shared, the results of the two samples, and the decision."""

    sitemaps: int
    """The quota of sitemaps (kS)."""
    discovery: int
    """The quota of links (kD)."""
    sitemaps_good: int
    sitemaps_known: int
    """Of the lowest-scored pages from sitemaps: those unique and indexable, and those whose result was known."""
    discovery_good: int
    discovery_known: int
    """The same two counts for pages found by links."""
    move: BalanceMove

    @property
    def sitemaps_utility(self) -> float | None:
        """The share of good pages in the sample; `None` if it is empty."""
        return self.sitemaps_good / self.sitemaps_known if self.sitemaps_known else None

    @property
    def discovery_utility(self) -> float | None:
        """The utility of pages found by links."""
        return self.discovery_good / self.discovery_known if self.discovery_known else None


Finding = tuple[int, int]
"""Good pages, and pages known, of one sample."""


def utility(last: Finding, earlier: Sequence[Finding], settings: BalanceSettings) -> float:
    """The expected value of one more page of a source, by its last sample and by `earlier` ones, the oldest first."""
    good, known = last
    if settings.is_strict:
        return good / settings.delta
    goods, knowns, weight = float(good), float(known), 1.0
    for good, known in reversed(earlier):
        weight *= settings.decay
        goods += weight * good
        knowns += weight * known
    return (goods + 1.0) / (knowns + 2.0)


class BalanceRecord(Struct, array_like=True):
    """The balance as it is stored in a site record.

    `quota` is what sitemaps get of an epoch of full length, which is `size`; `pages` is past the epoch while results
    are awaited. `judged` counts every epoch so far. `shared` are the pages of this epoch that both sources know, and
    what came of each.
    """

    size: int
    quota: int
    judged: int = 0
    pages: int = 0
    sitemaps: SourceSample = field(default_factory=SourceSample)
    discovery: SourceSample = field(default_factory=SourceSample)
    history: list[Epoch] = field(default_factory=list)
    shared: dict[int, bool | None] = field(default_factory=dict)


class SiteBalance:
    """The shares of one site's two sources, and what they are computed from."""

    __slots__ = ("_kept", "_length", "_sample", "_settings", "quotas")

    def __init__(self, settings: BalanceSettings | None = None, record: BalanceRecord | None = None) -> None:
        """A new balance, or one that works on `record`; under other settings its shares are kept, in proportion.

        Raises `CollectionDamaged` for a record that no balance can have written.
        """
        self._settings = settings or BalanceSettings()
        self._kept = _first(self._settings) if record is None else record
        self._measure()
        if record is not None:
            try:
                self._adapt()
                self.check_invariants()
            except InvariantError as error:
                raise CollectionDamaged(
                    f"the balance of a site is inconsistent: {error}", hint="restore the collection from a copy"
                ) from error

    @property
    def record(self) -> BalanceRecord:
        """The record to be stored with the site: the live object, which changes with the balance."""
        return self._kept

    def _measure(self) -> None:
        """Compute what holds for an epoch: its length, the sample of each source, and their `quotas` of its pages.

        `quotas` are for (sitemaps, discovery).
        """
        kept, settings = self._kept, self._settings
        self._length = length = settings.length(kept.judged)
        self._sample = settings.sample(length)
        least = 0 if settings.is_fixed else self._sample
        sitemaps = min(max(round(kept.quota * length / settings.epoch), least), length - least)
        self.quotas = (sitemaps, length - sitemaps)

    @property
    def history(self) -> tuple[Epoch, ...]:
        """The last epochs, the oldest first."""
        return tuple(self._kept.history)

    @property
    def judged(self) -> int:
        """The number of epochs judged so far."""
        return self._kept.judged

    def choose(self, discovery: int, sitemaps: int) -> Lane:
        """From which queue the next page is taken, given how many wait in each."""
        if not sitemaps or not discovery:
            return Lane.SITEMAPS if sitemaps else Lane.DISCOVERY
        kept, (for_sitemaps, for_discovery) = self._kept, self.quotas
        is_behind = (2 * kept.sitemaps.taken + 1) * for_discovery <= (2 * kept.discovery.taken + 1) * for_sitemaps
        return Lane.SITEMAPS if is_behind else Lane.DISCOVERY

    def took(self, lane: Lane, level: int, key: int, *, is_shared: bool = False) -> None:
        """Record a page taken from this queue, where it stood at `level`; `is_shared`: the other source knows it, too.

        `key` is the page's fingerprint, or any number by which `learnt` and `came_to` will know it.
        """
        self._account(lane, level, key)
        if is_shared and len(self._kept.shared) < self._length:
            self._kept.shared[key & KEY] = None
        self._kept.pages += 1
        self._judge_if_over()

    def came_to(self, lane: Lane, level: int, key: int) -> None:
        """The queue has come to a page that was fetched in the other's turn: in the same epoch it counts for both."""
        is_good = self._kept.shared.pop(key & KEY, None)
        if is_good is not None:
            self._account(lane, level, key).settle(key, is_good)

    def _account(self, lane: Lane, level: int, key: int) -> SourceSample:
        kept, (for_sitemaps, for_discovery) = self._kept, self.quotas
        is_sitemaps = lane is Lane.SITEMAPS
        sample, quota = (kept.sitemaps, for_sitemaps) if is_sitemaps else (kept.discovery, for_discovery)
        if sample.taken < quota and kept.pages < self._length:
            sample.add(min(level, WORST), key, self._sample)
        sample.taken += 1
        return sample

    def learnt(self, key: int, is_good: bool) -> None:
        """Record the result of a page: whether it entered the collection as unique and indexable."""
        self._kept.sitemaps.settle(key, is_good)
        self._kept.discovery.settle(key, is_good)
        if key & KEY in self._kept.shared:
            self._kept.shared[key & KEY] = is_good
        self._judge_if_over()

    def _judge_if_over(self) -> None:
        kept, length = self._kept, self._length
        if kept.pages < length:
            return
        is_settled = kept.sitemaps.is_settled and kept.discovery.is_settled
        if is_settled or kept.pages >= length + self._sample:
            self._judge()

    def _judge(self) -> None:
        """Lines 19-22, and 10-15 of the next epoch."""
        kept, settings = self._kept, self._settings
        worth = self._utilities()
        move = self._move(*worth)
        sitemaps, discovery = self.quotas
        epoch = Epoch(
            sitemaps, discovery,
            kept.sitemaps.good, kept.sitemaps.known, kept.discovery.good, kept.discovery.known,
            move,
        )  # fmt: skip
        kept.judged += 1
        kept.quota = settings.clamped(kept.quota + move.direction * settings.step_for(abs(worth[0] - worth[1])))
        kept.history = [*kept.history, epoch][-HISTORY:]
        self._measure()
        self._begin()

    def _begin(self) -> None:
        """Start a new epoch."""
        kept = self._kept
        kept.pages = 0
        kept.shared.clear()
        kept.sitemaps.clear()
        kept.discovery.clear()

    def _move(self, sitemaps: float, discovery: float) -> BalanceMove:
        """Decide which source's last pages were worth more, and whether it may get more."""
        kept, settings = self._kept, self._settings
        if settings.is_fixed:
            return BalanceMove.FIXED
        if settings.is_strict:
            if sitemaps < discovery:
                return BalanceMove.TO_DISCOVERY
            return BalanceMove.TO_SITEMAPS if sitemaps > discovery else BalanceMove.TIE_TO_SITEMAPS
        if not kept.sitemaps.known or not kept.discovery.known:
            return BalanceMove.ONE_SOURCE
        if abs(sitemaps - discovery) < 1e-9:
            return BalanceMove.TIE
        move = BalanceMove.TO_SITEMAPS if sitemaps > discovery else BalanceMove.TO_DISCOVERY
        return self._hindrance(move) or move

    def _hindrance(self, move: BalanceMove) -> BalanceMove | None:
        """Why the better source gets no more."""
        kept, settings, (for_sitemaps, for_discovery) = self._kept, self._settings, self.quotas
        is_sitemaps = move is BalanceMove.TO_SITEMAPS
        if (kept.sitemaps.taken < for_sitemaps) if is_sitemaps else (kept.discovery.taken < for_discovery):
            return BalanceMove.UNUSED
        share = kept.quota if is_sitemaps else settings.epoch - kept.quota
        return BalanceMove.AT_BOUND if share >= settings.epoch - settings.delta else None

    def _utilities(self) -> tuple[float, float]:
        kept, settings = self._kept, self._settings
        return (
            utility(
                (kept.sitemaps.good, kept.sitemaps.known),
                [(epoch.sitemaps_good, epoch.sitemaps_known) for epoch in kept.history],
                settings,
            ),
            utility(
                (kept.discovery.good, kept.discovery.known),
                [(epoch.discovery_good, epoch.discovery_known) for epoch in kept.history],
                settings,
            ),
        )

    def _adapt(self) -> None:
        """Go on under settings that may be others than those it was packed under."""
        kept, settings = self._kept, self._settings
        if kept.size != settings.epoch:
            kept.quota = round(kept.quota * settings.epoch / max(kept.size, 1))
            kept.size = settings.epoch
            self._begin()
        kept.quota = settings.clamped(kept.quota)
        self._measure()
        length, sample = self._length, self._sample
        kept.pages = min(kept.pages, length + sample - 1)
        if len(kept.shared) > length:
            kept.shared.clear()
        for each in (kept.sitemaps, kept.discovery):
            each.trim(sample)

    def check_invariants(self) -> None:
        """The quotas make an epoch, either source has its part of it, and no more is remembered than is needed."""
        kept, length, sample = self._kept, self._length, self._sample
        if sum(self.quotas) != length or min(self.quotas) < (0 if self._settings.is_fixed else sample):
            raise InvariantError(f"{self.quotas} does not share out {length} pages, {sample} to each at least")
        if not 0 <= kept.pages < length + sample or max(len(kept.history) - HISTORY, len(kept.shared) - length) > 0:
            raise InvariantError(f"an epoch of {kept.pages} pages, a history of {len(kept.history)} epochs")
        kept.sitemaps.check_invariants(sample)
        kept.discovery.check_invariants(sample)


def _first(settings: BalanceSettings) -> BalanceRecord:
    """Lines 1-4: half and half by default. The strict form finds a tie before the first epoch and moves."""
    quota = int(settings.epoch * settings.share)
    if settings.is_strict and not settings.is_fixed:
        quota += settings.delta
    return BalanceRecord(settings.epoch, settings.clamped(quota))
