"""The Markdown of a page in chunks for retrieval, each of one section where sections are large enough.

A chunk ends before a heading once it has three eighths of its size, and before a block that would make it too long. A
paragraph that is too long with the headings above it, or would leave a chunk too short, is cut at the end of a
sentence, else between words. Code and tables are never cut, unless they are longer than `HARD_BOUND` sizes: then at
lines, code between fences of its own and tables with their header again. Code stands at the left margin, even in lists,
as it is written in the page's `<pre>`. No chunk ends with a heading or a term, unless a run of them is long enough to
be a chunk.

Each chunk has the path of headings above its first text, which begins with the title of the page (or its URL), and the
URL of that section. Its id depends on the URL, the path and its place under that: an edit elsewhere does not change it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from periplus.model import NO_PREFERENCES, Directives, Preferences, UsageError
from periplus.urls import fingerprint

from .bulk import preference_words
from .captures import Capture
from .documents import NO_TEXT, DecodedCapture, modified_at
from .markdown import WrittenBlock, WrittenKind

DEFAULT_SIZE: Final = 400
"""Words of a chunk at most: some 500 tokens, which embedding models read whole."""
LEAST_SIZE: Final = 20
CHARACTERS_PER_WORD: Final = 8
"""Characters that count as a word where a script does not separate words, or words are very long."""
HARD_BOUND: Final = 4
"""Sizes of a chunk that a single piece of code or a table may have."""
MAX_PATH: Final = 8
"""Headings of a path: the title and six levels, and a term."""
MAX_HEADING: Final = 200
"""Characters of a heading in a path."""
_SHORTEST_RUN: Final = 40
"""Characters of a word that is not cut in chunks of few words."""
WORDS, CHARACTERS, TOKENS = "words", "characters", "tokens:"

_SENTENCE_END: Final = re.compile(r"[.!?…。！？\n](?:(?<=[.!?…])\s+|(?<=[。！？])\s*|(?<=\n))")
"""It begins with one set of characters, which the search skips to: a third of the time."""
_HEADER_LINES: Final = 2
"""Lines of the header of a table."""
_ID_BYTES: Final = 6
_TITLES: Final = (WrittenKind.HEADING, WrittenKind.TERM)
_LINES: Final = (WrittenKind.CODE, WrittenKind.TABLE)

_encode = msgspec.json.Encoder().encode


class Chunk(Struct, frozen=True):
    """A part of a page in Markdown. `url` leads to its section; `content_hash` is the SHA-256 of its text.

    `permissions` are the stated preferences on the use of the page (`search`, `ai_input`, `train`, `tdm`, `use`) and
    `robots` directives that limit it.
    """

    id: str
    url: str
    page_url: str
    title: str
    headings: tuple[str, ...]
    text: str
    position: int
    language: str | None
    fetched_at: datetime
    modified_at: datetime | None
    content_hash: str
    permissions: dict[str, str]
    cluster: int | None = None


class ChunkShape:
    """How long chunks are, and how much of one is repeated in the next, in words, characters or tokens of a model."""

    def __init__(self, size: int = DEFAULT_SIZE, unit: str = WORDS, overlap: int = 0) -> None:
        if size < LEAST_SIZE:
            unit_name = unit.partition(":")[0]
            raise UsageError(f"--size: chunks have at least {LEAST_SIZE} {unit_name}, got {size}", hint="use 400")
        if not 0 <= overlap <= size // 2:
            raise UsageError(f"--overlap: at most half of the size, got {overlap}", hint=f"use {size // 8}")
        self.size = size
        self.overlap = overlap
        self.least = size * 3 // 8
        self.bound = size * HARD_BOUND
        self.weigh: Callable[[str], float] = _weigher(unit)
        self.weigh_gap = lru_cache(_gap_weight if unit == WORDS else self.weigh)
        """What the line breaks between two blocks add to the weight of both."""
        self.name = "" if unit.startswith(TOKENS) else f"{size} {unit} {overlap}"
        """What tells this shape from others; empty if tokens are counted by another program, which may change."""
        run = max(size, _SHORTEST_RUN) if unit == WORDS else size // 4
        self.runs = re.compile(rf".{{1,{run}}}(?:\s+|\Z)|.{{1,{run}}}", re.DOTALL)
        """Runs of words in which a sentence is cut that is too long by itself; a word without end is cut, too.

        If a chunk is measured in words, a run has as many characters, so that it is half a chunk of words of a letter.
        """


def _weigher(unit: str) -> Callable[[str], float]:
    if unit == WORDS:
        return lambda text: max(1 + text.count(" ") + text.count("\n"), len(text) / CHARACTERS_PER_WORD)
    if unit == CHARACTERS:
        return len
    if not unit.startswith(TOKENS):
        raise UsageError(f"--unit: {unit!r} is not a unit", hint="use words, characters or tokens:NAME")
    return _token_counter(unit.removeprefix(TOKENS))


def _gap_weight(gap: str) -> float:
    """Line breaks are no words, but count where a script does not separate these."""
    return len(gap) / CHARACTERS_PER_WORD


def _token_counter(name: str) -> Callable[[str], float]:
    """Counts the tokens of a text: of an encoding of `tiktoken`, or of a tokenizer of `tokenizers`, also in a file."""
    if (name.endswith(".json") or name.startswith((".", "/"))) and not Path(name).is_file():  # no hub is asked for it
        raise UsageError(f"--unit: no such file: {name}", hint="give the path of a tokenizer.json")
    try:
        encode = _encoding(name)
    except ImportError:
        raise UsageError(
            f"--unit: tokens of {name!r} are counted by a package that is not installed",
            hint="pip install tokenizers, or tiktoken",
        ) from None
    except Exception as error:
        raise UsageError(f"--unit: no tokenizer {name!r}: {error}", hint="give the path of a tokenizer.json") from error
    return lambda text: len(encode(text))


def _encoding(name: str) -> Callable[[str], Any]:
    if not Path(name).is_file():
        try:
            import tiktoken  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            pass
        else:
            if name in tiktoken.list_encoding_names():
                encode: Callable[[str], Any] = tiktoken.get_encoding(name).encode_ordinary
                return encode
    from tokenizers import Tokenizer  # type: ignore[import-not-found, unused-ignore]

    tokenizer = Tokenizer.from_file(name) if Path(name).is_file() else Tokenizer.from_pretrained(name)
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


class CutText(NamedTuple):
    """A text with the path of its headings and the anchor of its section."""

    path: tuple[str, ...]
    anchor: str
    text: str


class CutPart(NamedTuple):
    """A chunk as far as it depends on the text of its page alone. `place` is the end of its id."""

    path: tuple[str, ...]
    anchor: str
    text: str
    place: str
    content_hash: str


class CutPage(Struct, frozen=True, array_like=True):
    """A page that was cut: what its chunks say, and what exports select it by. It depends on the body and URL alone."""

    title: str
    language: str
    preferences: Preferences
    directives: Directives
    last_modified: float | None
    text_digest: bytes
    parts: tuple[CutPart, ...]


class CutCapture(Struct, frozen=True):
    """A version of a page that was cut by an earlier export."""

    capture: Capture
    page: CutPage

    @property
    def language(self) -> str:
        """The language of its text; empty if it is unknown."""
        return self.page.language

    @property
    def preferences(self) -> Preferences:
        """What the page states on its use."""
        return self.page.preferences

    @property
    def directives(self) -> Directives:
        """What the page asks of crawlers."""
        return self.page.directives

    @property
    def text_digest(self) -> bytes:
        """A digest of the text; empty without text."""
        return self.page.text_digest

    @property
    def no_text(self) -> str:
        """Why there is no text, if there is none; other reasons are not kept."""
        return NO_TEXT


def cut_page(document: DecodedCapture, shape: ChunkShape) -> CutPage:
    """A page in parts, none if it has no text."""
    page, parts = document.page, []
    numbers = Counter[tuple[str, ...]]()
    for path, anchor, text in cut(document.blocks(), page.title or document.capture.url, shape):
        numbers[path] += 1
        place = sha256("\n".join((*path, str(numbers[path]))).encode("utf-8", "replace")).hexdigest()
        digest = sha256(text.encode("utf-8", "replace")).hexdigest()
        parts.append(CutPart(path, anchor, text, place[: 2 * _ID_BYTES], digest))
    return CutPage(
        title=page.title,
        language=document.language,
        preferences=page.preferences,
        directives=page.directives,
        last_modified=document.last_modified,
        text_digest=document.text_digest,
        parts=tuple(parts),
    )


def chunks_of(
    document: DecodedCapture,
    cluster: int | None = None,
    shape: ChunkShape | None = None,
    preferences: Preferences = NO_PREFERENCES,
) -> Iterator[Chunk]:
    """The chunks of a page, in their order; none of a page without text. `preferences`: those of its site."""
    return chunks_of_cut(document.capture, cut_page(document, shape or ChunkShape()), cluster, preferences)


def chunks_of_cut(
    capture: Capture, page: CutPage, cluster: int | None = None, preferences: Preferences = NO_PREFERENCES
) -> Iterator[Chunk]:
    """The chunks of a page that was cut."""
    key = f"{fingerprint(capture.url):016x}"
    permissions = preference_words(page.preferences.and_also(preferences))
    directives = [name for name in ("noindex", "noarchive", "nosnippet", "noai") if getattr(page.directives, name)]
    if directives:
        permissions["robots"] = ", ".join(directives)
    changed_at = modified_at(page.last_modified, capture)
    for position, part in enumerate(page.parts):
        yield Chunk(
            id=f"{key}-{part.place}",
            url=f"{capture.url}#{part.anchor}" if part.anchor else capture.url,
            page_url=capture.url,
            title=page.title,
            headings=part.path,
            text=part.text,
            position=position,
            language=page.language or None,
            fetched_at=capture.fetched_at,
            modified_at=changed_at,
            content_hash=part.content_hash,
            permissions=permissions,
            cluster=cluster,
        )


def chunk_line(chunk: Chunk) -> bytes:
    """The JSON object of a chunk, in a line of its own."""
    try:
        return _encode(chunk) + b"\n"
    except UnicodeEncodeError:  # lone surrogates, which UTF-8 cannot hold
        return _encode(msgspec.structs.replace(chunk, text=chunk.text.encode("utf-8", "replace").decode())) + b"\n"


class _Piece(NamedTuple):
    """A block, or a part of one; `gap` is between it and what is before it."""

    text: str
    weight: float
    kind: WrittenKind
    gap: str
    path: tuple[str, ...]
    anchor: str


_PIECE: Final = partial(tuple.__new__, _Piece)
"""`_Piece._make` without a call in Python."""


def cut(blocks: Iterable[WrittenBlock], root: str, shape: ChunkShape) -> Iterator[CutText]:
    """The chunks of a page, given its blocks and its title."""
    sections = _Sections(root[:MAX_HEADING])
    pieces: list[_Piece] = []
    """Of the chunk that is being put together."""
    weight = 0.0
    weigh, weigh_gap, most = shape.weigh, shape.weigh_gap, shape.size
    for block in blocks:
        is_section = block.level and sections.enter(block)
        if is_section and weight >= shape.least and pieces[-1].kind not in _TITLES:
            yield _joined(pieces)
            pieces, weight = [], 0.0
        text, kind, gap = block[:3]
        alone = weigh(text)
        size = alone + weigh_gap(gap) if pieces else alone
        if weight + size <= most:  # as nearly all of them
            pieces.append(_PIECE((text, size, kind, gap, sections.path, sections.anchor)))
            weight += size
            continue
        left = _weight(pieces[len(_without_headings(pieces, shape.least)) :])
        is_cut = left + (size if left else alone) > most or (kind is WrittenKind.TEXT and weight < shape.least)
        for number, text in enumerate(_divided(block, alone, shape, is_cut=is_cut)):
            gap = block.gap if not number else "\n\n" if kind in _LINES else ""
            own = size if text is block.text else weigh(text) + weigh_gap(gap)
            if pieces and weight + own > most and (kept := _without_headings(pieces, shape.least)):
                yield _joined(kept)
                pieces = pieces[len(kept) :]
                pieces = _overlap(kept, most - own - _weight(pieces), shape) + pieces
                weight = _weight(pieces)
            pieces.append(_Piece(text, own, kind, gap, sections.path, sections.anchor))
            weight += own
    if pieces:
        yield _joined(pieces)


class _Sections:
    """The headings above a block."""

    def __init__(self, root: str) -> None:
        self._open = [(0, root, "")]
        self.path: tuple[str, ...] = (root,)
        self.anchor = ""

    def enter(self, block: WrittenBlock) -> bool:
        """Whether a heading or term begins a section. A heading that repeats the title is the title."""
        level = block.level
        title = block.title[:MAX_HEADING]
        if not title or (block.kind is WrittenKind.TERM and not block.anchor):
            return False
        while self._open[-1][0] >= level:
            self._open.pop()
        if title == self._open[-1][1]:
            level = self._open.pop()[0]
        self._open.append((level, title, block.anchor))
        self.path = tuple([one[1] for one in self._open][:MAX_PATH])
        self.anchor = next((anchor for _, _, anchor in reversed(self._open) if anchor), "")
        return True


def _joined(pieces: list[_Piece]) -> CutText:
    """A chunk: it is of the section of its first text."""
    first = next((piece for piece in pieces if piece.kind is not WrittenKind.HEADING), pieces[-1])
    text = "".join([pieces[0].text, *(part for piece in pieces[1:] for part in (piece.gap, piece.text))])
    return CutText(first.path, first.anchor, text.strip("\n"))


def _without_headings(pieces: list[_Piece], least: float) -> list[_Piece]:
    """The pieces without headings and terms at their end, which belong to what follows.

    Those that weigh `least` are a text of their own, as the terms of an index are: then without headings, or all.
    """
    for titles in (_TITLES, (WrittenKind.HEADING,)):
        end = len(pieces)
        while end and pieces[end - 1].kind in titles:
            end -= 1
        if _weight(pieces[end:]) < least:
            return pieces[:end]
    return pieces


def _weight(pieces: list[_Piece]) -> float:
    return sum(piece.weight for piece in pieces)


def _overlap(pieces: list[_Piece], room: float, shape: ChunkShape) -> list[_Piece]:
    """The last pieces of a chunk that go into the next one again, if it has room; of a long one its last sentences."""
    found: list[_Piece] = []
    left = min(shape.overlap, room)
    for piece in reversed(pieces):
        if left <= 0 or piece.kind is WrittenKind.HEADING:
            break
        text = piece.text
        if piece.weight > left:
            if piece.kind is not WrittenKind.TEXT:
                break
            text = _last_sentences(text, left, shape)
        if text:
            found.insert(0, piece._replace(text=text, weight=shape.weigh(text) + shape.weigh_gap(piece.gap)))
        if text != piece.text:
            break
        left -= piece.weight
    return found


def _last_sentences(text: str, most: float, shape: ChunkShape) -> str:
    """The last sentences of a paragraph that weigh no more."""
    last = ""
    for sentence in reversed(list(_sentences(text, shape))):
        if shape.weigh(sentence + last) > most:
            break
        last = sentence + last
    return last


def _divided(block: WrittenBlock, size: float, shape: ChunkShape, *, is_cut: bool) -> Iterable[str]:
    """A block that does not fit into the chunk in pieces: one, if it need not be cut."""
    if block.kind in _LINES:
        return (block.text,) if size <= shape.bound else _line_groups(block, shape)
    return _sentences(block.text, shape) if is_cut else (block.text,)


def _line_groups(block: WrittenBlock, shape: ChunkShape) -> Iterator[str]:
    """Code or a table that is too long by itself, in parts of whole lines."""
    lines = block.text.split("\n")
    if block.kind is WrittenKind.CODE:
        head, inside, tail = lines[:1], lines[1:-1], lines[-1:]
    else:
        head, inside, tail = lines[:_HEADER_LINES], lines[_HEADER_LINES:], []
    group: list[str] = []
    weight = 0.0
    for line in inside:
        for part in (line,) if shape.weigh(line) <= shape.bound else shape.runs.findall(line):
            own = shape.weigh(part)
            if group and weight + own > shape.size:
                yield "\n".join([*head, *group, *tail])
                group, weight = [], 0.0
            group.append(part)
            weight += own
    if group:
        yield "\n".join([*head, *group, *tail])


def _sentences(text: str, shape: ChunkShape) -> Iterator[str]:
    """The sentences of a paragraph with the white space behind them; one that is too long is cut further."""
    start = 0
    for end in [*(found.end() for found in _SENTENCE_END.finditer(text)), len(text)]:
        sentence = text[start:end]
        start = end
        if sentence:
            yield from (sentence,) if shape.weigh(sentence) <= shape.size // 4 else shape.runs.findall(sentence)
