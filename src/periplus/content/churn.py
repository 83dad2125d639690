"""Learns which blocks of a site's pages differ at nearly every visit, so that a change in these alone does not count.

`digests` masks clocks and counters by their form; a quotation of the day has no such form. A block is churn if nothing
of it lasted in most comparisons (`ChurnSettings`: 80 % of at least five). Content that does not last until the next
visit is not worth a revisit (Olston & Pandey 2008). A list of news that moved on by some lines has lasted in part, and
is not churn.

A block is everything under one path through the document: the names and classes of the elements from the root down,
without positions, so that all items of a list are one block. Elements inside a line belong to the block around them.
Digits in classes and classes that look generated are left out. The scanner collects texts and link targets
(`Columns.blocks`); of navigation, footers, forms and headers outside the main part only the link targets, because their
text is not main text. A page with more than 20,000 elements has no blocks.

The statistics must come from all visits, also from those without a change, or rare changes would look frequent. The
same visits give the same statistics, whether or not the record was stored in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, log2
from typing import Final, NamedTuple

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from periplus.model import ChangeLevel

from .digests import masked
from .scan.columns import TEXT_RULE
from .settings import ChurnSettings

MAX_BLOCKS: Final = 64
"""Maximum number of blocks stored for a page: 512 bytes."""
OTHERS: Final = 0
"""The path of all blocks beyond `MAX_BLOCKS`, as one."""
_BYTES: Final = 8
_DIGEST_BITS: Final = 24
_MAX_SENTENCES: Final = 500
"""Sentences of a block that can be drawn; the rest of a longer block is the last."""
_LOG_RANGE: Final = 64 * log(2)


class Block(Struct, frozen=True, gc=False):
    """The stored form of a block: 24 bits of its path and of its masked content, its words, and 8 bits of a sentence.

    `drawn` is a hash of that sentence (see `_drawn`): it distinguishes a block that was replaced from one that was
    added to.
    """

    way: int
    content: int
    words: int
    drawn: int = 0


def packed_blocks(contents: Sequence[tuple[int, bytes]]) -> bytes:
    """The blocks of a page, packed, given the content under each path; all beyond `MAX_BLOCKS` are one, never churn."""
    found = sorted(contents, key=lambda block: -_words(block[1]))
    if len(found) > MAX_BLOCKS:
        rest = sorted(found[MAX_BLOCKS - 1 :])
        found[MAX_BLOCKS - 1 :] = [(OTHERS, b"\n".join([content for _, content in rest]))]
    return pack([_block(way, content) for way, content in found])


def pack(blocks: Sequence[Block]) -> bytes:
    """Blocks in order of their paths; words as a power of the square root of two."""
    ordered = sorted(blocks, key=lambda block: block.way)
    return b"".join(
        block.way.to_bytes(3, "big") + block.content.to_bytes(3, "big") + bytes((_magnitude(block.words), block.drawn))
        for block in ordered
    )


def unpack(data: bytes) -> list[Block]:
    """Blocks again; words are those of their magnitude. An incomplete block at the end is left out."""
    return [
        Block(
            int.from_bytes(data[at : at + 3], "big"),
            int.from_bytes(data[at + 3 : at + 6], "big"),
            round(2 ** (data[at + 6] / 2)) if data[at + 6] else 0,
            data[at + 7],
        )
        for at in range(0, len(data) - _BYTES + 1, _BYTES)
    ]


def _magnitude(words: int) -> int:
    return 0 if words <= 0 else max(1, round(2 * log2(words)))


def _words(content: bytes) -> int:
    return content.count(b" ") + content.count(b"\n") + 1


def _block(way: int, content: bytes) -> Block:
    words, content = _words(content), masked(content)
    return Block(way, xxh3_64_intdigest(content) >> (64 - _DIGEST_BITS), words, _drawn(content))


def _drawn(content: bytes) -> int:
    """A sentence of a block, drawn so that two contents draw the same with the probability of what they share.

    Each sentence draws an exponential number, the smaller the longer the sentence, and the smallest wins: the draws of
    one sentence are the same in both (the weighted sampling of Manasse, McSherry & Talwar 2010, for a single sample).
    """
    sentences = content.replace(b"\n", b". ").split(b". ", _MAX_SENTENCES)
    hashes = [xxh3_64_intdigest(sentence) | 1 for sentence in sentences]
    draws = [(_LOG_RANGE - log(hash_)) / (1 + len(sentence)) for hash_, sentence in zip(hashes, sentences, strict=True)]
    return hashes[draws.index(min(draws))] >> 8 & 0xFF


MAX_WAYS: Final = 800
"""Maximum number of blocks stored for a site: its record stays about 4 KB long."""
_ROW: Final = 5
"""Bytes of a block in a record: three of its way, one for each count."""
_MOST: Final = 255
"""The largest count: it takes one byte. Counts of blocks are halved then, so that what was long ago counts less."""
_MOST_PAIRS: Final = 0xFFFF
"""Maximum count of pairs of versions: far more than any setting asks for."""


class ChurnRecord(Struct, frozen=True, array_like=True, gc=False):
    """The churn of a site, as it is stored in its record.

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

        All differences between two visits in a row are noise. Blocks that are the same then may differ an hour later,
        so they are not counted.
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
        """Learn from a 304 that a page is unchanged.

        Validators often ignore churn, so only the other blocks count as unchanged.
        """
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
        """The blocks of a page without churn; all of them where too few words would be left.

        The changes are then what the page is about.
        """
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
    if level < ChangeLevel.ELSEWHERE or not is_heading_same or not old or not new:
        return level
    return ChangeLevel.RAW_ONLY if churn.settles(old, new) else level


def _contents(blocks: Sequence[Block]) -> dict[int, int]:
    return {block.way: block.content for block in blocks}


def _by_way(blocks: Sequence[Block]) -> dict[int, Block]:
    return {block.way: block for block in blocks}


def _is_replaced(one: Block | None, other: Block | None) -> bool:
    """Whether a block was replaced; a block kept in part counts as kept if a part sampled from it is unchanged."""
    if one is None or other is None:
        return True
    return one.content != other.content and one.drawn != other.drawn
