"""Figure 8 of Schonfeld & Shivakumar (2009) for one site, a page at a time.

The paper crawls an epoch at once: the best kS pages of one queue, the best kD of the other, more of either if that is
less than Ncrawl; then it judges. Here pages leave one by one, so the two quotas are interleaved in their proportion
(Webster's rule, which ends at exactly kS and kD), and a queue that is empty leaves its turn to the other (line 18).
Pages taken beyond a quota are in no sample.

An epoch is judged when its pages were taken and the results of both samples are in. The site need not wait for that:
what is taken meanwhile is shared out as before and is in no sample. Results that never come are not waited for
longer than a sample takes.

A page that both sources know is fetched once and put to both accounts, if the other source would have come to it by
now: if it stood no lower there than the page last taken from there. A page further down is no page of that source's
best kS or kD, and must not speak for its last ones.
"""

from __future__ import annotations

from typing import Self

import msgspec
from msgspec import Struct, field

from ...model import CollectionDamaged, InvariantError, Lane
from .epochs import HISTORY, Epoch, Move, utility
from .samples import WORST, Sample
from .settings import BalanceSettings


class _Kept(Struct, array_like=True):
    """What is packed.

    `size` is the epoch that `quota` is a part of; `pages` is past it while results are awaited. `judged` counts epochs
    for ever, `turns` how often the budget moved back.
    """

    size: int
    quota: int
    judged: int = 0
    turns: int = 0
    pages: int = 0
    sitemaps: Sample = field(default_factory=Sample)
    discovery: Sample = field(default_factory=Sample)
    history: list[Epoch] = field(default_factory=list)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Kept)


class SiteBalance:
    """The shares of one site's two sources, and what they are reckoned from."""

    __slots__ = ("_kept", "_settings")

    def __init__(self, settings: BalanceSettings | None = None) -> None:
        self._settings = settings or BalanceSettings()
        self._kept = _first(self._settings)

    @classmethod
    def unpack(cls, kept: bytes, settings: BalanceSettings | None = None) -> Self:
        """A balance as it was packed; a new one from nothing. Under other settings its shares are kept, in proportion.

        Raises `CollectionDamaged` for what was never packed.
        """
        balance = cls(settings)
        if kept:
            try:
                balance._kept = _decoder.decode(kept)
                balance._adapt()
                balance.check_invariants()
            except (msgspec.MsgspecError, InvariantError) as error:
                raise CollectionDamaged(
                    f"the balance of a site cannot be read: {error}", hint="restore the collection from a copy"
                ) from error
        return balance

    def pack(self) -> bytes:
        """All of it, to be kept with the site."""
        return _encoder.encode(self._kept)

    @property
    def quotas(self) -> tuple[int, int]:
        """Pages of an epoch for (sitemaps, discovery)."""
        return self._kept.quota, self._settings.epoch - self._kept.quota

    @property
    def history(self) -> tuple[Epoch, ...]:
        """The last epochs, the oldest first."""
        return tuple(self._kept.history)

    @property
    def judged(self) -> int:
        """Epochs that were judged so far."""
        return self._kept.judged

    def choose(self, discovery: int, sitemaps: int) -> Lane:
        """From which queue the next page is taken, if so many wait in each."""
        if not sitemaps or not discovery:
            return Lane.SITEMAPS if sitemaps else Lane.DISCOVERY
        kept, (for_sitemaps, for_discovery) = self._kept, self.quotas
        is_behind = (2 * kept.sitemaps.taken + 1) * for_discovery <= (2 * kept.discovery.taken + 1) * for_sitemaps
        return Lane.SITEMAPS if is_behind else Lane.DISCOVERY

    def took(self, lane: Lane, level: int, key: int, other: int | None = None) -> None:
        """A page was taken from this queue, where it stood at `level`.

        `other` is its level in the other queue, if it is known there too. `key` is the page's fingerprint, or any
        number by which `learnt` will know it.
        """
        kept, (for_sitemaps, for_discovery) = self._kept, self.quotas
        own, foreign = (kept.sitemaps, for_sitemaps), (kept.discovery, for_discovery)
        if lane is not Lane.SITEMAPS:
            own, foreign = foreign, own
        own[0].reached = min(level, WORST)
        self._account(*own, level, key)
        if other is not None and other <= foreign[0].reached:
            self._account(*foreign, other, key)
        kept.pages += 1
        self._judge_if_over()

    def _account(self, sample: Sample, quota: int, level: int, key: int) -> None:
        if sample.taken < quota and self._kept.pages < self._settings.epoch:
            sample.add(min(level, WORST), key, self._settings.delta)
        sample.taken += 1

    def learnt(self, key: int, is_good: bool) -> None:
        """What came of a page: whether it entered the collection as unique and indexable."""
        self._kept.sitemaps.settle(key, is_good)
        self._kept.discovery.settle(key, is_good)
        self._judge_if_over()

    def _judge_if_over(self) -> None:
        kept, settings = self._kept, self._settings
        if kept.pages < settings.epoch:
            return
        is_settled = kept.sitemaps.is_settled and kept.discovery.is_settled
        if is_settled or kept.pages >= settings.epoch + settings.delta:
            self._judge()

    def _judge(self) -> None:
        """Lines 19-22, and 10-15 of the next epoch."""
        kept, settings = self._kept, self._settings
        move = self._move()
        sitemaps, discovery = self.quotas
        epoch = Epoch(
            sitemaps, discovery,
            kept.sitemaps.good, kept.sitemaps.known, kept.discovery.good, kept.discovery.known,
            move,
        )  # fmt: skip
        kept.judged += 1
        if move.direction:
            last = next((past.move.direction for past in reversed(kept.history) if past.move.direction), move.direction)
            kept.turns += last != move.direction
            kept.quota = settings.clamped(sitemaps + move.direction * settings.step_after(kept.turns))
        kept.history = [*kept.history, epoch][-HISTORY:]
        kept.pages = 0
        kept.sitemaps.clear()
        kept.discovery.clear()

    def _move(self) -> Move:
        """Whose last pages were worth more, and what speaks against giving it more."""
        kept, settings = self._kept, self._settings
        sitemaps, discovery = self._utilities()
        if settings.is_strict:
            if sitemaps < discovery:
                return Move.TO_DISCOVERY
            return Move.TO_SITEMAPS if sitemaps > discovery else Move.TIE_TO_SITEMAPS
        if not kept.sitemaps.known or not kept.discovery.known:
            return Move.ONE_SOURCE
        if abs(sitemaps - discovery) < 1e-9:
            return Move.TIE
        move = Move.TO_SITEMAPS if sitemaps > discovery else Move.TO_DISCOVERY
        return self._hindrance(move) or move

    def _hindrance(self, move: Move) -> Move | None:
        """Why the better source gets no more."""
        settings, (for_sitemaps, for_discovery) = self._settings, self.quotas
        is_sitemaps = move is Move.TO_SITEMAPS
        quota = for_sitemaps if is_sitemaps else for_discovery
        taken = (self._kept.sitemaps if is_sitemaps else self._kept.discovery).taken
        if taken < quota:
            return Move.UNUSED
        return Move.AT_BOUND if quota >= settings.epoch - settings.delta else None

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
            kept.size, kept.pages = settings.epoch, 0
            kept.sitemaps.clear()
            kept.discovery.clear()
        kept.quota = settings.clamped(kept.quota)
        kept.pages = min(kept.pages, settings.epoch + settings.delta - 1)
        for sample in (kept.sitemaps, kept.discovery):
            sample.trim(settings.delta)

    def check_invariants(self) -> None:
        """The quotas make an epoch, either source has its part of it, and no more is remembered than is needed."""
        kept, settings = self._kept, self._settings
        if sum(self.quotas) != settings.epoch or min(self.quotas) < settings.delta:
            raise InvariantError(
                f"{self.quotas} does not share out {settings.epoch} pages in steps of {settings.delta}"
            )
        if not 0 <= kept.pages < settings.epoch + settings.delta or len(kept.history) > HISTORY:
            raise InvariantError(f"an epoch of {kept.pages} pages, a history of {len(kept.history)} epochs")
        kept.sitemaps.check_invariants(settings.delta)
        kept.discovery.check_invariants(settings.delta)


def _first(settings: BalanceSettings) -> _Kept:
    """Lines 1-4: half and half. The strict form finds a tie before the first epoch, and moves."""
    quota = settings.epoch // 2
    if settings.is_strict:
        quota += settings.delta
    return _Kept(settings.epoch, settings.clamped(quota))
