"""All visible text of a page, white space folded, in blocks: on arrays, because text is most of a page.

White space are the bytes up to 0x20 and the no-break, ideographic and zero-width spaces; of a run of it one space is
left. A block is text without a border of a block element (paragraph, heading, cell, ...) inside; another space is
between two blocks. Elements inside a line add none: "<b>json</b>.<i>dumps</i>(" is "json.dumps(".

`contents_by_way` gives `content.churn` the parts of a page, each by the way to it: names and classes of elements from
the body down. All items of a list have one way, on all pages of a site. Elements inside a line do not count, nor do
digits in classes, nor classes that look generated: they differ from page to page.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from .columns import MAX_TEXT
from .markup import IN_ARTICLE, IN_MAIN, Tag
from .state import PageScan, Run
from .tags import NUMBERS, numbers_of
from .tokens import decode_text

_BORDER: Final = b"\x02"
"""Between two runs of text."""
_NO_BORDERS: Final = bytes.maketrans(_BORDER, b" ")
WIDE_SPACES: Final = ("\xa0".encode(), "\u200b".encode(), "\u3000".encode())
_BLANK: Final = 0x20
"""This byte and all below it are white space or signs."""


class Folded(NamedTuple):
    """The text of a page, and its blocks in columns: bytes from and to, bytes in links, and the element they are in.

    `block_of_run`, for events, is the block of each run of text, or that which was open there; -1 if none was.
    """

    text: bytes
    is_cut: bool
    starts: list[int]
    ends: list[int]
    links: list[int]
    elements: list[int]
    block_of_run: list[int]


_EMPTY: Final = Folded(b"", False, [], [], [], [], [])


class _Folding(NamedTuple):
    """The folded text, and for each border where in it the white space around that begins and ends."""

    text: bytes
    before: NDArray[np.intp]
    after: NDArray[np.intp]


def fold_runs(runs: Sequence[Run], *, has_signs: bool, wants_events: bool = False) -> Folded:
    """Fold the runs of text of a page. `has_signs`: whether the page holds bytes that are signs here."""
    if not runs:
        return _EMPTY
    sources, elements, blocks, is_linked = zip(*runs, strict=True)
    codes = np.frombuffer(_joined(sources, has_signs), dtype=np.uint8)
    numbers = np.array(blocks)
    text, before, after = _fold(codes, numbers)
    starts, ends = after[:-1], before[1:]
    return _in_blocks(text, starts, ends, np.array(elements), numbers, np.array(is_linked), wants_events)


def _joined(sources: Sequence[bytes], has_signs: bool) -> bytes:
    """All runs with a border between them, references decoded."""
    if has_signs:
        sources = [source.translate(_NO_BORDERS) for source in sources]
    joined = _BORDER.join((b"", *sources, b""))
    if b"&" in joined:
        joined = decode_text(joined, has_signs=True)
    if not joined.isascii():
        for space in WIDE_SPACES:
            joined = joined.replace(space, b" ")
    return joined


def _fold(codes: NDArray[np.uint8], blocks: NDArray[np.intp]) -> _Folding:
    """Fold white space. Both ends of `codes` are borders, and there is one between every two runs."""
    is_blank = codes <= _BLANK
    edges = (is_blank[1:] != is_blank[:-1]).nonzero()[0] + 1
    starts = np.concatenate(([0], edges[1::2]))
    ends = np.append(edges[0::2], len(codes))
    borders = (codes == _BORDER[0]).nonzero()[0]
    places = starts.searchsorted(borders, side="right") - 1
    is_space = ends - starts > np.bincount(places, minlength=len(starts))
    is_space[places[1:-1][blocks[1:] != blocks[:-1]]] = True
    is_space[0] = is_space[-1] = False
    sizes = np.subtract(starts[1:], ends[:-1])
    before = np.concatenate(([0], (sizes + is_space[:-1]).cumsum()))
    is_kept = ~is_blank
    spaces = ends[is_space] - 1
    is_kept[spaces] = True
    folded = np.maximum(codes, _BLANK)[is_kept]
    return _Folding(folded.tobytes(), before[places], (before + is_space)[places])


def _in_blocks(
    text: bytes,
    starts: NDArray[np.intp],
    ends: NDArray[np.intp],
    elements: NDArray[np.intp],
    blocks: NDArray[np.intp],
    is_linked: NDArray[np.bool_],
    wants_events: bool,
) -> Folded:
    """The blocks of a text, given where its runs are. Runs that begin behind what is kept of the text do not count."""
    before = np.concatenate(([0], ends[:-1]))
    seen = ((ends > starts) & (before <= MAX_TEXT)).nonzero()[0]
    if not len(seen):
        return _EMPTY
    numbers = blocks[seen]
    is_first = np.concatenate(([True], numbers[1:] != numbers[:-1]))
    first = is_first.nonzero()[0]
    from_ = np.where(is_first, starts[seen], before[seen])
    links = np.add.reduceat((ends[seen] - from_) * is_linked[seen], first)
    last = np.append(first[1:], len(seen)) - 1
    block_starts, block_ends = starts[seen[first]], ends[seen[last]]
    folded = Folded(
        text,
        False,
        block_starts.tolist(),
        block_ends.tolist(),
        links.tolist(),
        elements[seen[first]].tolist(),
        _block_of_run(blocks, seen, is_first).tolist() if wants_events else [],
    )
    return _cut(folded) if len(text) > MAX_TEXT else folded


def _block_of_run(blocks: NDArray[np.intp], seen: NDArray[np.intp], is_first: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The block of each run, which for one that is not seen is that of the last that is, if no border is between."""
    last_seen = np.searchsorted(seen, np.arange(len(blocks)), side="right") - 1
    number = is_first.cumsum() - 1
    is_open = (last_seen >= 0) & (blocks == blocks[seen[last_seen]])
    return np.where(is_open, number[last_seen], -1)


def _cut(folded: Folded) -> Folded:
    """Keep at most `MAX_TEXT` bytes, and no half of a character: at most 3 bytes less."""
    text, size = folded.text, MAX_TEXT
    while size > MAX_TEXT - 3 and text[size] & 0xC0 == 0x80:
        size -= 1
    count = int(np.searchsorted(folded.starts, size))
    ends, links = folded.ends[:count], folded.links[:count]
    if count:
        ends[-1] = min(ends[-1], size)
        links[-1] = min(links[-1], ends[-1] - folded.starts[count - 1])
    return folded._replace(
        text=text[:size],
        is_cut=True,
        starts=folded.starts[:count],
        ends=ends,
        links=links,
        elements=folded.elements[:count],
    )


MAX_ELEMENTS: Final = 20_000
"""Elements of a page that is divided into parts; a page with more is not divided."""
_WAY_BITS: Final = 0xFFFFFF
_MAX_CLASSES: Final = 200
"""Bytes of a class attribute that are looked at."""
_GENERATED: Final = re.compile(rb"(?=.*[0-9])(?s:.{12,})|(?s:.{40,})", re.DOTALL)
"""Class names generated by programs."""
_WORDS: Final = re.compile(rb"[^\t\n\f\r ]+")
_ASIDE: Final = numbers_of("nav", "footer", "aside", "form")
_SILENT: Final = numbers_of("svg", "option")
_HEADER: Final = NUMBERS["header"]
_INLINE: Final = NUMBERS["label"]


class _Way(NamedTuple):
    number: int = 0
    region: int = 0
    is_aside: bool = False
    is_silent: bool = False


def contents_by_way(page: PageScan, folded: Folded) -> list[tuple[int, bytes]]:
    """Texts and then targets of links under each way, in ascending order of the ways.

    Of navigation, footers, forms, and headers outside of the main part only the links.
    """
    if len(page.elements) > MAX_ELEMENTS + 1:
        return []
    ways = _ways(page)
    contents: defaultdict[int, list[bytes]] = defaultdict(list)
    for element, start, end in zip(folded.elements, folded.starts, folded.ends, strict=True):
        way = ways[element]
        if not way.is_aside and not way.is_silent:
            contents[way.number].append(folded.text[start:end])
    for link, (element, href) in enumerate(zip(page.link_elements, page.hrefs, strict=True)):
        if href and link not in page.kinds and not ways[element].is_silent:
            contents[ways[element].number].append(href)
    return [(way, b"\n".join(parts)) for way, parts in sorted(contents.items())]


def _ways(page: PageScan) -> list[_Way]:
    ways = [_Way()]
    for parent, tag in page.elements[1:]:
        if tag is not None:
            ways.append(_next_way(ways[parent], tag))
    return ways


def _next_way(above: _Way, tag: Tag) -> _Way:
    """One element further."""
    number = tag.number
    is_header = number == _HEADER and not above.region & (IN_MAIN | IN_ARTICLE)
    way = above.number
    if number != _INLINE:
        way = crc32(_step(tag), way) & _WAY_BITS or 1
    return _Way(
        way,
        above.region | tag.region,
        above.is_aside or number in _ASIDE or is_header,
        above.is_silent or number in _SILENT,
    )


def _step(tag: Tag) -> bytes:
    if tag.step is None:
        words = _WORDS.findall((tag.raw.get(b"class") or b"")[:_MAX_CLASSES])
        lasting = sorted(word.translate(None, b"0123456789_-") for word in words if not _GENERATED.fullmatch(word))
        tag.step = tag.name.encode() + b"." + b" ".join(lasting)
    return tag.step
