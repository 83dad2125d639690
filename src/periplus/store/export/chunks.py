"""The main text of a page in chunks for retrieval: cut at headings and paragraphs, without overlap.

A chunk has `MIN_WORDS` to `MAX_WORDS` words where the page allows it. It ends before a heading once it has enough
words, and before a paragraph that would make it too long; a paragraph that is too long by itself, or would leave a
chunk too short, is cut at the end of a sentence, else between words. The chunks of a page in their order are its main
text, word by word: headings are part of the text.

Headings and paragraphs are looked for in the HTML and found again in the main text, in their order: this takes a small
part of the time that reading the page as a whole does. What is not found there is not the main text, or is passed over.

Each chunk has the path of headings above it, which begins with the title of the page (or its URL); a chunk of several
sections has what their paths have in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from html import unescape
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from periplus.model import ParsedPage
from periplus.urls import fingerprint

from .documents import DecodedCapture

MIN_WORDS: Final = 150
"""Words from which on a chunk ends at the next heading."""
MAX_WORDS: Final = 400
"""Words of a chunk at most: some 500 tokens, which embedding models read whole."""
CHARACTERS_PER_WORD: Final = 8
"""Characters that count as a word where a script does not separate words, or words are very long."""
MAX_PATH: Final = 8
"""Headings of a path: the title and six levels, and room for one more."""
MAX_HEADING: Final = 200
"""Characters of a heading in a path."""

_MARK: Final = "\x02"
"""Put before headings while the text is cut; no text has it."""
_HEADING: Final = re.compile(rf"{_MARK}([1-6])")
_LANDMARK: Final = re.compile(
    rb"<(?:h([1-6])\b[^>]*>(.{0,1000}?)</h[1-6]\s*>"  # a heading
    rb"|(?:p|li|pre|dd|dt|td|th|blockquote|div)\b[^>]*>\s*(?>(?:<[a-z][^>]*>\s*){0,3})([^<]{24,80}))",  # a paragraph
    re.DOTALL,
)
"""In HTML in lower case: a search that ignores case takes twice as long."""
_TAG: Final = re.compile(rb"<[^>]*(?:>|$)")
_BEGINNING: Final = 24
"""Characters by which a paragraph is found in the main text."""
_FOLLOWING: Final = 12
"""Characters behind a short heading that must be the same in the main text: the words of headings occur elsewhere."""
_SURE: Final = 30
"""Characters of a heading that is found without them."""
_BLOCKS: Final = re.compile(r"\n\n")
_SENTENCE_END: Final = re.compile(r"[.!?…。！？\n](?:(?<=[.!?…])\s+|(?<=[。！？])\s*|(?<=\n))")
"""It begins with one set of characters, which the search skips to: a third of the time."""
_RUN: Final = 25
"""Words in which a sentence is cut that is too long by itself."""
_WORDS: Final = re.compile(rf"(?:\s*\S+\s*){{1,{_RUN}}}|\s+")
_MARKED: Final = re.compile(f"{_MARK}[1-6]")

_encode = msgspec.json.Encoder().encode


class Chunk(Struct, frozen=True):
    """A part of a page. `id` is that of the URL and its place, so that the same export gives the same ids."""

    id: str
    url: str
    title: str
    headings: tuple[str, ...]
    text: str
    position: int
    language: str | None
    fetched_at: datetime
    cluster: int | None = None


class _Block(NamedTuple):
    text: str
    weight: float
    level: int
    """Of a heading; 0 of other text."""
    gap: str = "\n\n"
    """Between this and what is before it."""


def chunks_of(document: DecodedCapture, cluster: int | None = None) -> Iterator[Chunk]:
    """The chunks of a page, in their order; none of a page without text."""
    capture, page = document.capture, document.page
    root = page.title or capture.url
    key = f"{fingerprint(capture.url):016x}"
    for position, (path, text) in enumerate(cut(outline_of(page, document.html), root)):
        yield Chunk(
            id=f"{key}-{position}",
            url=capture.url,
            title=page.title,
            headings=path,
            text=text,
            position=position,
            language=page.language or None,
            fetched_at=capture.fetched_at,
            cluster=cluster,
        )


def chunk_line(chunk: Chunk) -> bytes:
    """The JSON object of a chunk, in a line of its own."""
    try:
        return _encode(chunk) + b"\n"
    except UnicodeEncodeError:  # lone surrogates, which UTF-8 cannot hold
        return _encode(msgspec.structs.replace(chunk, text=chunk.text.encode("utf-8", "replace").decode())) + b"\n"


def outline_of(page: ParsedPage, html: bytes | None) -> str:
    """The main text with an empty line between paragraphs, and a mark with its level before each heading."""
    main = page.main_text or page.text
    if html is None:
        return main
    parts: list[str] = []
    at = 0
    for landmark in _LANDMARK.finditer(html.lower()):
        if landmark[1] is None:
            beginning = _folded(html[slice(*landmark.span(3))])[:_BEGINNING]
            start = main.find(beginning, at) if len(beginning) == _BEGINNING else -1
            end, level = start, b""
        else:
            start, end = _heading_in(main, at, html, landmark)
            level = landmark[1]
        if start < 0:
            continue
        parts.append(main[at:start])
        if level:
            parts.append(f"{_MARK}{level.decode()}{main[start:end]}")
        at = end
    return "\n\n".join([*parts, main[at:]])


def _heading_in(main: str, at: int, html: bytes, landmark: re.Match[bytes]) -> tuple[int, int]:
    """Where a heading begins and ends in the main text from `at` on; -1 if it is not found, or not for sure."""
    inside = html[slice(*landmark.span(2))]
    following = None
    for gap in (b"", b" ") if b"<" in inside else (b"",):
        heading = _folded(_TAG.sub(gap, inside) if b"<" in inside else inside)
        start = main.find(heading, at) if heading else -1
        while start >= 0:
            end = start + len(heading)
            if len(heading) >= _SURE:
                return start, end
            if following is None:
                following = _folded(_TAG.sub(b" ", html[landmark.end() : landmark.end() + 500]))[:_FOLLOWING]
            if following and main[end : end + 40].lstrip().startswith(following):
                return start, end
            start = main.find(heading, start + 1, start + 5000)
    return -1, -1


def _folded(octets: bytes) -> str:
    text = octets.decode("utf-8", "replace")
    return " ".join((unescape(text) if "&" in text else text).split())


def cut(outlined: str, root: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Pairs of a path of headings and a text, from a text whose headings are marked."""
    path, levels = [root[:MAX_HEADING]], [0]
    open_chunk = _OpenChunk()
    for paragraph in _blocks(outlined):
        for block in _pieces(paragraph) if open_chunk.splits(paragraph) else (paragraph,):
            if open_chunk.is_full_before(block):
                yield open_chunk.path, open_chunk.text
                open_chunk = _OpenChunk()
            if block.level:
                _descend(path, levels, block)
            open_chunk.add(block, tuple(path[:MAX_PATH]))
    if open_chunk.texts:
        yield open_chunk.path, open_chunk.text


class _OpenChunk:
    """A chunk that is being put together."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.path: tuple[str, ...] = ()
        self._weight = 0.0

    @property
    def text(self) -> str:
        return "".join(self.texts).strip()

    def splits(self, block: _Block) -> bool:
        """Whether a paragraph is taken sentence by sentence: it is too long, or would leave this chunk too short."""
        is_too_much = self._weight + block.weight > MAX_WORDS
        return block.weight > MAX_WORDS or (bool(self.texts) and self._weight < MIN_WORDS and is_too_much)

    def is_full_before(self, block: _Block) -> bool:
        if not self.texts:
            return False
        return self._weight + block.weight > MAX_WORDS or (block.level > 0 and self._weight >= MIN_WORDS)

    def add(self, block: _Block, path: tuple[str, ...]) -> None:
        if self.texts:
            self.path = _common(self.path, path)
            self.texts.append(block.gap)
        else:
            self.path = path
        self.texts.append(block.text)
        self._weight += block.weight


def _descend(path: list[str], levels: list[int], block: _Block) -> None:
    """Put a heading below those of higher levels. A heading that repeats the title is the title."""
    while levels[-1] >= block.level:
        levels.pop()
        path.pop()
    heading = block.text.strip()[:MAX_HEADING]
    if heading and heading != path[-1]:
        levels.append(block.level)
        path.append(heading)


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    if one == other:
        return one
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    return one[:shared]


def _blocks(outlined: str) -> Iterator[_Block]:
    for text in _BLOCKS.split(outlined):
        if _MARK in text:
            heading = _HEADING.match(text)
            text = _MARKED.sub("", text)
            level = int(heading[1]) if heading else 0
        else:
            level = 0
        if text and not text.isspace():
            yield _Block(text, _weight(text), level)


def _weight(text: str) -> float:
    """Words of a text whose white space is folded; where it is not, more."""
    return max(1 + text.count(" ") + text.count("\n"), len(text) / CHARACTERS_PER_WORD)


def _pieces(block: _Block) -> Iterator[_Block]:
    """The sentences of a paragraph with the white space behind them; one that is too long is cut further."""
    gap, level = block.gap, block.level
    for sentence in _cut_at(_SENTENCE_END, block.text):
        for piece in (sentence,) if _weight(sentence) <= MAX_WORDS // 4 else _runs_of_words(sentence):
            yield _Block(piece, _weight(piece), level, gap)
            gap, level = "", 0


def _cut_at(ends: re.Pattern[str], text: str) -> Iterator[str]:
    start = 0
    for end in ends.finditer(text):
        yield text[start : end.end()]
        start = end.end()
    if start < len(text):
        yield text[start:]


def _runs_of_words(sentence: str) -> Iterator[str]:
    """A long sentence in runs of words; a word without end is cut, too."""
    size = _RUN * CHARACTERS_PER_WORD
    for run in _WORDS.findall(sentence):
        for start in range(0, len(run), size):
            yield run[start : start + size]
