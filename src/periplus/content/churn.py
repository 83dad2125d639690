"""Parts of pages that are different at every visit, learnt site by site: a change in them alone is none.

Clocks and counters are known by their looks (`volatile`); a quotation of the day is not. A block (see `blocks`) that
differed in most of the comparisons that it was part of is churn: by default in 80 % of at least five. What does not
last until the next visit is not worth coming back for (Olston & Pandey 2008), whether a person wrote it or a machine.

What is learnt must come from all visits, also those that found nothing else (`observe` with the same blocks twice), or
what changes rarely and is looked at only then would seem to change always. The best teachers are two visits right after
each other, since all that differs between them is noise: a site's first `sample` comparisons should be such. A page of
which more than half would be masked is left as it is: there, what changes is what the page is about.

The memory of a site is at most `MAX_BYTES` long; what has never differed is forgotten first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self

from msgspec import Struct

from ..model import ChangeLevel
from .blocks import OTHERS, Block, unpack

MAX_WAYS: Final = 800
MAX_BYTES: Final = 2 + 5 * MAX_WAYS
_MOST: Final = 255
_MOST_PAIRS: Final = 0xFFFF


class ChurnSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """From when on a part of a page counts as churn."""

    share: float = 0.8
    """It differed in so large a share of comparisons..."""
    least: int = 5
    """...of which there were so many at least."""
    most: float = 0.5
    """Pages of which a larger share of words would be masked are not."""
    sample: int = 20
    """So many pages of a site are fetched twice in a row to learn what is noise; 0: none."""


class Churn:
    """What is known of one site: how often each block was compared, and how often it differed."""

    def __init__(self, settings: ChurnSettings | None = None) -> None:
        self._settings = settings or ChurnSettings()
        self._ways: dict[int, tuple[int, int]] = {}
        self.compared = 0
        """Pairs of versions that were looked at."""

    @classmethod
    def unpacked(cls, data: bytes, settings: ChurnSettings | None = None) -> Self:
        """As it was packed. Nothing is known of a site with no bytes."""
        churn = cls(settings)
        churn.compared = int.from_bytes(data[:2], "big")
        for at in range(2, len(data) - 4, 5):
            churn._ways[int.from_bytes(data[at : at + 3], "big")] = (data[at + 3], data[at + 4])
        return churn

    def packed(self) -> bytes:
        """In few bytes: 5 for each block that ever differed, or was compared of late."""
        self._forget()
        parts = [self.compared.to_bytes(2, "big")]
        parts += [way.to_bytes(3, "big") + bytes(counts) for way, counts in sorted(self._ways.items())]
        return b"".join(parts)

    @property
    def is_calibrated(self) -> bool:
        """Whether enough pairs were seen, so that no page need be fetched twice in a row."""
        return self.compared >= self._settings.sample

    def observe(self, old: bytes, new: bytes) -> None:
        """Learn from two versions of a page, given their blocks; the same twice, where nothing changed."""
        self.compared = min(self.compared + 1, _MOST_PAIRS)
        before, after = _contents(unpack(old)), _contents(unpack(new))
        for way in before.keys() | after.keys():
            self._count(way, before.get(way) != after.get(way))
        if len(self._ways) > 2 * MAX_WAYS:
            self._forget()

    def is_churn(self, way: int) -> bool:
        """Whether what stands under a way is different at nearly every visit."""
        seen, differed = self._ways.get(way, (0, 0))
        return seen >= self._settings.least and differed >= self._settings.share * seen and way != OTHERS

    def mask(self, blocks: bytes) -> list[Block]:
        """The blocks of a page without churn; all of them, where hardly anything would be left."""
        every = unpack(blocks)
        kept = [block for block in every if not self.is_churn(block.way)]
        return kept if self._is_enough(kept, every) else every

    def settles(self, old: bytes, new: bytes) -> bool:
        """Whether two versions differ in churn alone."""
        before, after = self.mask(old), self.mask(new)
        return bool(before) and _contents(before) == _contents(after)

    def _is_enough(self, kept: Sequence[Block], every: Sequence[Block]) -> bool:
        left, total = (sum(block.words for block in blocks) for blocks in (kept, every))
        return left >= (1 - self._settings.most) * total

    def _count(self, way: int, has_differed: bool) -> None:
        seen, differed = self._ways.get(way, (0, 0))
        if seen == _MOST:  # what was long ago counts less
            seen, differed = seen // 2, differed // 2
        self._ways[way] = (seen + 1, differed + has_differed)

    def _forget(self) -> None:
        """Keep those that differed most often, and most surely."""
        if len(self._ways) > MAX_WAYS:
            ranked = sorted(self._ways.items(), key=lambda item: (-item[1][1], item[1][0], item[0]))
            self._ways = dict(ranked[:MAX_WAYS])


def settled_level(level: ChangeLevel, churn: Churn, old: bytes, new: bytes, *, is_heading_same: bool) -> ChangeLevel:
    """How much a page differs from the version before, once churn is left out of account.

    Blocks hold texts and links; title and canonical URL are told besides. Where blocks are not known (empty), the level
    stays as it is.
    """
    if level < ChangeLevel.MINOR or not is_heading_same or not old or not new:
        return level
    return ChangeLevel.RAW_ONLY if churn.settles(old, new) else level


def _contents(blocks: Sequence[Block]) -> dict[int, int]:
    return {block.way: block.content for block in blocks}
