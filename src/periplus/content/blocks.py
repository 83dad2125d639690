"""The blocks of a page, each by its path through the document, in a few bytes: what `churn` learns by.

A block is all that stands under one path: the names of the elements from the root down, with their classes, without
positions. So all items of a list are one block, and the list of "you might also like" on every page of a site is the
same block with another content. Elements inside a line (links, emphasis) are part of the block around them. Digits in
classes are left out, and classes that look generated: they differ from page to page. The scanner gathers the contents
(`Columns.blocks`): text, and where links lead; of navigation, footers, forms, and headers outside of the main part only
the links, as their text is not main text either. A page with more than 20,000 elements has no blocks.

Of a block are kept 24 bits of its path, 24 bits of its content with volatile words masked, roughly how many words it
has, and 8 bits of a sentence drawn from it: two versions of a block draw the same one as often as they have that much
in common, so that what was replaced can be told from what was added to. A page has at most `MAX_BLOCKS`; the smallest
of others are one block, which is never churn.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, log2
from typing import Final

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from .volatile import masked

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
    """The stored form of a block. `drawn` is a hash of one of its sentences."""

    way: int
    content: int
    words: int
    drawn: int = 0


def packed_blocks(contents: Sequence[tuple[int, bytes]]) -> bytes:
    """The blocks of a page, packed, given the content under each path."""
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
