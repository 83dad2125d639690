"""The blocks of a page, each by its way through the document: what `churn` learns by, in a few bytes.

A block is all that stands under one way: the names of the elements from the body down, with their classes, without
their numbers. So all items of a list are one block, and the list of "you might also like" on every page of a site is
the same block with another content. Elements inside a line (links, emphasis) are part of the block around them. Figures
in classes are left out, and classes that no person wrote: they differ from page to page.

Of a block are kept 24 bits of its way, 24 bits of its content (text, volatile words masked, and where its links lead),
how many words it has, roughly, and a sentence that was drawn by lot: two versions of a block draw the same as often as
they have that much in common, so that what was replaced can be told from what was added to.

Of navigation, footers, forms and headers outside of the main part only the links are content, for their text is no main
text either (see `text`). A page has at most `MAX_BLOCKS`; the smallest of others are one block that is never churn. A
page with very many elements has none: what is not looked at cannot be compared.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache
from math import log, log2
from typing import Final, NamedTuple

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser
from xxhash import xxh3_64_digest, xxh3_64_intdigest

from .elements import parse
from .volatile import masked

MAX_BLOCKS: Final = 64
"""Blocks of a page: 512 bytes at most."""
_MAX_ELEMENTS: Final = 20_000
_BYTES: Final = 8
OTHERS: Final = 0
"""The way of all that was too much."""
_DIGEST_BITS: Final = 24
_MAX_SENTENCES: Final = 500
_MAX_CLASSES: Final = 200
_LOTS: Final = 64 * log(2)
_INLINE: Final = (
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "code", "data", "del", "dfn", "em", "font", "i",
    "img", "ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time",
    "tt", "u", "var", "wbr",
)  # fmt: skip
_SILENT: Final = ("script", "style", "noscript", "template", "head", "title", "meta", "link", "svg", "option")
_ASIDE: Final = ("nav", "footer", "aside", "form")
_MAIN: Final = ("main", "article")


def _numbers(names: tuple[str, ...]) -> frozenset[int]:
    """The parser's numbers of names."""
    tree = LexborHTMLParser("")
    return frozenset(tree.create_node(name).tag_id for name in names)


_INLINE_IDS: Final = _numbers(_INLINE)
_SILENT_IDS: Final = _numbers(_SILENT)
_ASIDE_IDS: Final = _numbers(_ASIDE)
_MAIN_IDS: Final = _numbers(_MAIN)
_HEADER: Final = next(iter(_numbers(("header",))))
_LINK: Final = next(iter(_numbers(("a",))))
_FIGURES: Final = re.compile(r"[\d_-]+")
_MADE_UP: Final = re.compile(r"(?=\S*\d)\S{12,}|\S{40,}")


class Block(Struct, frozen=True, gc=False):
    """What is kept of a block. `drawn` is a sentence of it, in 8 bits."""

    way: int
    content: int
    words: int
    drawn: int = 0


def blocks_of(html: bytes) -> bytes:
    """The blocks of a page, packed; `html` is in UTF-8 and safe to parse."""
    return blocks_in(parse(html))


def blocks_in(tree: LexborHTMLParser) -> bytes:
    """The same of a page that was parsed; its tree stays as it is."""
    found = {way: b"\n".join(parts) for way, parts in _gathered(tree).items()}
    ways = sorted(found, key=lambda way: -_words(found[way]))
    if len(ways) > MAX_BLOCKS:
        rest = sorted(ways[MAX_BLOCKS - 1 :])
        found[OTHERS] = b"\n".join([found.pop(way) for way in rest])
        ways[MAX_BLOCKS - 1 :] = [OTHERS]
    return pack([_block(way, found[way]) for way in ways])


def pack(blocks: list[Block]) -> bytes:
    """Blocks in order of their ways; words as a power of the square root of two."""
    ordered = sorted(blocks, key=lambda block: block.way)
    return b"".join(
        block.way.to_bytes(3, "big") + block.content.to_bytes(3, "big") + bytes((_magnitude(block.words), block.drawn))
        for block in ordered
    )


def unpack(data: bytes) -> list[Block]:
    """Blocks again; words are those of their magnitude. What is no whole block at the end is left out."""
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


def _words(said: bytes) -> int:
    return said.count(b" ") + said.count(b"\n") + 1


def _block(way: int, said: bytes) -> Block:
    words, said = _words(said), masked(said)
    return Block(way, xxh3_64_intdigest(said) >> (64 - _DIGEST_BITS), words, _drawn(said))


def _drawn(said: bytes) -> int:
    """A sentence drawn by lot: of two texts the same, as likely as they have that much in common.

    Each draws an exponential number, the smaller the longer it is, and the smallest wins: the lots of one sentence are
    the same in both (the weighted sampling of Manasse, McSherry & Talwar 2010, for a single sample).
    """
    sentences = said.replace(b"\n", b". ").split(b". ", _MAX_SENTENCES)
    lots = [xxh3_64_intdigest(sentence) | 1 for sentence in sentences]
    draws = [(_LOTS - log(lot)) / (1 + len(sentence)) for lot, sentence in zip(lots, sentences, strict=True)]
    return lots[draws.index(min(draws))] >> 8 & 0xFF


class _Way(NamedTuple):
    """The way to an element: its hash, and whether anything on it is navigation, the main part, or silent."""

    print: int
    is_aside: bool = False
    is_main: bool = False
    is_silent: bool = False


def _gathered(tree: LexborHTMLParser) -> dict[int, list[bytes]]:
    """What stands under each way, in the order of the document."""
    found: defaultdict[int, list[bytes]] = defaultdict(list)
    ways: dict[int, _Way] = {}
    root = _Way(0)
    nodes = tree.tags("*")
    for node in nodes if len(nodes) <= _MAX_ELEMENTS else ():
        parent, number = node.parent, node.tag_id
        way = root if parent is None else ways.get(parent.mem_id, root)
        if number not in _INLINE_IDS and not way.is_silent:
            way = _step(way, number, (node.attributes.get("class") or "")[:_MAX_CLASSES])
        ways[node.mem_id] = way
        if way.is_silent:
            continue
        if number == _LINK and (href := node.attributes.get("href")):
            found[way.print].append(href.encode("utf-8", "replace"))
        if not way.is_aside and (words := node.text(deep=False).split()):
            found[way.print].append(" ".join(words).encode("utf-8", "replace"))
    return found


@lru_cache(4096)
def _step(above: _Way, number: int, classes: str) -> _Way:
    """One element further. The pages of a site go the same ways."""
    if number in _SILENT_IDS:
        return above._replace(is_silent=True)
    step = f"{number}.{_lasting(classes)}".encode("utf-8", "replace")
    print_ = int.from_bytes(xxh3_64_digest(step, seed=above.print)[:3], "big") or 1
    is_aside = above.is_aside or number in _ASIDE_IDS or (number == _HEADER and not above.is_main)
    return _Way(print_, is_aside, above.is_main or number in _MAIN_IDS)


def _lasting(classes: str) -> str:
    return " ".join(sorted(_FIGURES.sub("", name) for name in classes.split() if not _MADE_UP.fullmatch(name)))
