"""Parts of pages that differ at every visit, learnt site by site: a change in them alone does not count.

Clocks and counters are known by their looks (`volatile`); a quotation of the day is not. A block (see `blocks`) of
which nothing had lasted in most of the comparisons that it was part of is churn: by default in 80 % of at least five.
What does not last until the next visit is not worth coming back for (Olston & Pandey 2008), whether a person wrote it
or a machine. A list of news that has moved on by some lines has lasted in part, and is none.

What is learnt must come from all visits, also those that found nothing else (`observe` with the same blocks twice), or
what changes rarely and is looked at only then would seem to change always. Where nothing was looked at because the
server said that nothing changed (304), this speaks for what a page says and not for its churn, of which validators
often know nothing (`observe_unmodified`). The best teachers are two visits right after each other, since all that
differs between them is noise: a site's first `sample` comparisons should be such. What is the same then may still be
different in an hour, and is not evidence. A page of which more than half would be masked is left as it is: there, what
changes is what the page is about.

What is known of a site takes at most `MAX_WAYS` blocks; what has never differed is forgotten first. It is the same
whether it was written and read between two observations or not: the same visits teach the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ..model import ChangeLevel
from .blocks import OTHERS, Block, unpack
from .digests import TEXT_RULE
from .settings import ChurnSettings

MAX_WAYS: Final = 800
"""Maximum number of blocks stored for a site: its record stays about 4 KB long."""
_ROW: Final = 5
"""Bytes of a block in a record: three of its way, one for each count."""
_MOST: Final = 255
"""The largest count: it takes one byte. Counts of blocks are halved then, so that what was long ago counts less."""
_MOST_PAIRS: Final = 0xFFFF
"""Maximum count of pairs of versions: far more than any setting asks for."""


class ChurnRecord(Struct, frozen=True, array_like=True, gc=False):
    """What a site record holds of its churn.

    `compared` pairs of versions were looked at, of which `instants` were fetched right after each other (255 stand for
    more). `ways` has five bytes for each block, in the order of their ways: the way, how often the block was compared,
    and how often it differed. It is packed because the records of all sites in use are in memory: as Python objects,
    800 blocks would take almost 30 times the space.
    """

    compared: int = 0
    instants: int = 0
    ways: bytes = b""
    rule: int = 1
    """The `TEXT_RULE` by which the blocks were found."""


NO_CHURN: Final = ChurnRecord()
"""The record of a site before the first comparison."""


class _Seen(NamedTuple):
    """How often a block was compared, and how often nothing of it had lasted."""

    compared: int
    differed: int


_NEVER: Final = _Seen(0, 0)


class Churn:
    """The statistics of one site: how often each block was compared, and how often it differed."""

    def __init__(self, settings: ChurnSettings | None = None, record: ChurnRecord = NO_CHURN) -> None:
        if record.rule != TEXT_RULE:  # its blocks are known by other paths now
            record = NO_CHURN
        self._settings = settings or ChurnSettings()
        self._ways: dict[int, _Seen] = {}
        self.compared = record.compared
        """Pairs of versions that were looked at."""
        self.instants = record.instants
        """Pairs that were fetched right after each other; 255 stands for more."""
        ways = record.ways
        for at in range(0, len(ways) - _ROW + 1, _ROW):
            compared, differed = ways[at + 3], ways[at + 4]
            self._ways[int.from_bytes(ways[at : at + 3], "big")] = _Seen(compared, min(differed, compared))
        self._forget()

    @property
    def record(self) -> ChurnRecord:
        """The record, to be stored with the site."""
        ways = b"".join([way.to_bytes(3, "big") + bytes(counts) for way, counts in sorted(self._ways.items())])
        return ChurnRecord(self.compared, self.instants, ways, TEXT_RULE)

    @property
    def is_calibrated(self) -> bool:
        """Whether enough pages were fetched twice in a row."""
        return self.instants >= self._settings.sample

    @property
    def parts(self) -> int:
        """How many blocks are churn."""
        return sum(map(self.is_churn, self._ways))

    def observe(self, old: bytes, new: bytes, *, is_instant: bool = False) -> None:
        """Learn from two versions of a page, given their blocks; the same twice, where nothing changed.

        Of visits in a row all that differs is noise, and what is the same may be different in an hour.
        """
        self._count_pair(is_instant)
        before, after = _by_way(unpack(old)), _by_way(unpack(new))
        for way in before.keys() | after.keys():
            one, other = before.get(way), after.get(way)
            if not is_instant:
                self._count(way, _is_replaced(one, other))
            elif one != other:
                self._count(way, True)
        self._forget()

    def observe_unmodified(self, blocks: bytes, *, is_instant: bool = False) -> None:
        """Learn from a 304 that a page is unchanged."""
        self._count_pair(is_instant)
        for block in () if is_instant else unpack(blocks):
            if not self.is_churn(block.way):
                self._count(block.way, False)
        self._forget()

    def is_churn(self, way: int) -> bool:
        """Whether the block of a path differs at nearly every visit."""
        seen = self._ways.get(way, _NEVER)
        settings = self._settings
        return seen.compared >= settings.least and seen.differed >= settings.share * seen.compared and way != OTHERS

    def mask(self, blocks: bytes) -> list[Block]:
        """The blocks of a page without churn; all of them, where hardly anything would be left."""
        every = unpack(blocks)
        kept = [block for block in every if not self.is_churn(block.way)]
        return kept if self._is_enough(kept, every) else every

    def settles(self, old: bytes, new: bytes) -> bool:
        """Whether two versions differ, and in churn alone. What blocks do not see cannot be settled by them."""
        before, after = self.mask(old), self.mask(new)
        return bool(before) and old != new and _contents(before) == _contents(after)

    def _is_enough(self, kept: Sequence[Block], every: Sequence[Block]) -> bool:
        left, total = (sum(block.words for block in blocks) for blocks in (kept, every))
        return left >= (1 - self._settings.most) * total

    def _count_pair(self, is_instant: bool) -> None:
        self.compared = min(self.compared + 1, _MOST_PAIRS)
        self.instants = min(self.instants + is_instant, _MOST)

    def _count(self, way: int, has_differed: bool) -> None:
        compared, differed = self._ways.get(way, _NEVER)
        if compared == _MOST:  # what was long ago counts less
            compared, differed = compared // 2, differed // 2
        self._ways[way] = _Seen(compared + 1, differed + has_differed)

    def _forget(self) -> None:
        """Keep those that differed most often, and most surely."""
        if len(self._ways) > MAX_WAYS:
            ranked = sorted(self._ways.items(), key=lambda item: (-item[1].differed, item[1].compared, item[0]))
            self._ways = dict(ranked[:MAX_WAYS])


def settled_level(level: ChangeLevel, churn: Churn, old: bytes, new: bytes, *, is_heading_same: bool) -> ChangeLevel:
    """How much a page differs from the version before, without churn.

    Blocks hold texts and links; title and canonical URL are compared besides. If blocks are not known (empty), the
    level stays as it is.
    """
    if level < ChangeLevel.MINOR or not is_heading_same or not old or not new:
        return level
    return ChangeLevel.RAW_ONLY if churn.settles(old, new) else level


def _contents(blocks: Sequence[Block]) -> dict[int, int]:
    return {block.way: block.content for block in blocks}


def _by_way(blocks: Sequence[Block]) -> dict[int, Block]:
    return {block.way: block for block in blocks}


def _is_replaced(one: Block | None, other: Block | None) -> bool:
    """Whether nothing of a block has lasted; of what has lasted in part a drawn part tells, as often as it is large."""
    if one is None or other is None:
        return True
    return one.content != other.content and one.drawn != other.drawn
