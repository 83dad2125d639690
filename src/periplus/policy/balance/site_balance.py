"""Figure 8 of Schonfeld & Shivakumar (2009) for one site, a page at a time.

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
or kD, and must not speak for its last ones.
"""

from __future__ import annotations

from msgspec import Struct, field

from ...model import CollectionDamaged, InvariantError, Lane
from .epochs import HISTORY, Epoch, Move, utility
from .samples import KEY, WORST, Sample
from .settings import BalanceSettings


class BalanceRecord(Struct, array_like=True):
    """What a site record holds of a balance.

    `quota` is what sitemaps get of an epoch of full length, which is `size`; `pages` is past the epoch while results
    are awaited. `judged` counts every epoch so far. `shared` are the pages of this epoch that both sources know, and
    what came of each.
    """

    size: int
    quota: int
    judged: int = 0
    pages: int = 0
    sitemaps: Sample = field(default_factory=Sample)
    discovery: Sample = field(default_factory=Sample)
    history: list[Epoch] = field(default_factory=list)
    shared: dict[int, bool | None] = field(default_factory=dict)


class SiteBalance:
    """The shares of one site's two sources, and what they are computed from."""

    __slots__ = ("_kept", "_settings")

    def __init__(self, settings: BalanceSettings | None = None, record: BalanceRecord | None = None) -> None:
        """A new balance, or one that works on `record`; under other settings its shares are kept, in proportion.

        Raises `CollectionDamaged` for a record that no balance can have written.
        """
        self._settings = settings or BalanceSettings()
        self._kept = _first(self._settings) if record is None else record
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

    @property
    def quotas(self) -> tuple[int, int]:
        """Pages of this epoch for (sitemaps, discovery)."""
        length, least = self._length, self._settings.sample(self._length)
        sitemaps = min(max(round(self._kept.quota * length / self._settings.epoch), least), length - least)
        return sitemaps, length - sitemaps

    @property
    def _length(self) -> int:
        return self._settings.length(self._kept.judged)

    @property
    def history(self) -> tuple[Epoch, ...]:
        """The last epochs, the oldest first."""
        return tuple(self._kept.history)

    @property
    def judged(self) -> int:
        """Epochs judged so far."""
        return self._kept.judged

    def choose(self, discovery: int, sitemaps: int) -> Lane:
        """From which queue the next page is taken, given how many wait in each."""
        if not sitemaps or not discovery:
            return Lane.SITEMAPS if sitemaps else Lane.DISCOVERY
        kept, (for_sitemaps, for_discovery) = self._kept, self.quotas
        is_behind = (2 * kept.sitemaps.taken + 1) * for_discovery <= (2 * kept.discovery.taken + 1) * for_sitemaps
        return Lane.SITEMAPS if is_behind else Lane.DISCOVERY

    def took(self, lane: Lane, level: int, key: int, *, is_shared: bool = False) -> None:
        """A page was taken from this queue, where it stood at `level`; `is_shared`: the other source knows it, too.

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

    def _account(self, lane: Lane, level: int, key: int) -> Sample:
        kept, (for_sitemaps, for_discovery) = self._kept, self.quotas
        is_sitemaps = lane is Lane.SITEMAPS
        sample, quota = (kept.sitemaps, for_sitemaps) if is_sitemaps else (kept.discovery, for_discovery)
        if sample.taken < quota and kept.pages < self._length:
            sample.add(min(level, WORST), key, self._settings.sample(self._length))
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
        if is_settled or kept.pages >= length + self._settings.sample(length):
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
        self._begin()

    def _begin(self) -> None:
        """A new epoch."""
        kept = self._kept
        kept.pages = 0
        kept.shared.clear()
        kept.sitemaps.clear()
        kept.discovery.clear()

    def _move(self, sitemaps: float, discovery: float) -> Move:
        """Decide which source's last pages were worth more, and whether it may get more."""
        kept, settings = self._kept, self._settings
        if settings.is_fixed:
            return Move.FIXED
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
        kept, settings, (for_sitemaps, for_discovery) = self._kept, self._settings, self.quotas
        is_sitemaps = move is Move.TO_SITEMAPS
        if (kept.sitemaps.taken < for_sitemaps) if is_sitemaps else (kept.discovery.taken < for_discovery):
            return Move.UNUSED
        share = kept.quota if is_sitemaps else settings.epoch - kept.quota
        return Move.AT_BOUND if share >= settings.epoch - settings.delta else None

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
        length, sample = self._length, settings.sample(self._length)
        kept.quota = settings.clamped(kept.quota)
        kept.pages = min(kept.pages, length + sample - 1)
        if len(kept.shared) > length:
            kept.shared.clear()
        for each in (kept.sitemaps, kept.discovery):
            each.trim(sample)

    def check_invariants(self) -> None:
        """The quotas make an epoch, either source has its part of it, and no more is remembered than is needed."""
        kept, length, sample = self._kept, self._length, self._settings.sample(self._length)
        if sum(self.quotas) != length or min(self.quotas) < sample:
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
