"""Turns the bytes of a feed into XML that a parser accepts: decoded, repaired, and with its end tags complete.

A byte order mark, else the XML declaration, else UTF-8 decides the charset. If many characters are invalid in it, the
feed is read as windows-1252, the charset of most feeds with a wrong declaration; so is ISO 8859-1, as in the Encoding
standard. `open_source` decodes and repairs; `balanced` adds missing end tags. All of it takes time linear in the size
of the body.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from html import unescape
from html.entities import html5

from msgspec import Struct

from periplus.model import Problem

from ..encodings import codec_of

LONGEST = 10 * 1024 * 1024
"""Bytes of a feed that are looked at."""

MOST_TAGS = 500_000
"""Tags of a feed that are looked at: a tree costs up to 200 bytes for each, however short it is written."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_UNMARKED = ((b"<\0?\0", "utf-16-le"), (b"\0<\0?", "utf-16-be"))
_DECLARED = re.compile(rb"<\?xml[^>]{0,200}?encoding\s{0,20}=\s{0,20}[\"']([A-Za-z0-9._:-]{1,40})[\"']")
_LATIN = "cp1252"

_ROOT = re.compile(r"<(?:[\w.-]{1,40}:)?(?:rss|rdf|feed|channel)\b", re.IGNORECASE)
_ELEMENT = re.compile(r"<[A-Za-z_]")
_HTML = re.compile(r"<!doctype\s+html|<(?:html|head|body)\b", re.IGNORECASE)
_PROLOGUE = 65_536
_MOST_MARKUP = 1_000
_STRIDE = 4_096
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_LONG_NAMESPACE = re.compile(r"""(xmlns(?::[\w.-]{1,100})?\s{0,9}=\s{0,9})(?:"[^"]{512,}"|'[^']{512,}')""")
_LONG_BASE = re.compile(r"""(xml:base\s{0,9}=\s{0,9})(?:"[^"]{8192,}"|'[^']{8192,}')""")
_VOID = re.compile(r"<(br|hr|img|wbr)\b([^<>]*+)(?<!/)>|</(?:br|hr|img|wbr)\s*>", re.IGNORECASE)
_STRAY = re.compile(r"&(?!(?:[A-Za-z]\w{1,31}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});)", re.ASCII)
_NAMED = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z]\w{1,31};)", re.ASCII)
_NUMBERED = re.compile(r"&#(?:0*(\d{1,7})|[xX]0*([0-9A-Fa-f]{1,6}));", re.ASCII)


class FeedSource(Struct, frozen=True):
    """XML from its root on, without declaration and document type; empty if it does not contain a feed."""

    text: str
    problems: tuple[Problem, ...]


def open_source(body: bytes | Iterable[bytes]) -> FeedSource:
    """Everything that is known of a body before it is parsed."""
    data, is_cut = _gather(body)
    problems = [Problem("too-large", f"cut at {LONGEST} bytes", LONGEST)] if is_cut else []
    text, problem = _decode(data)
    if problem is not None:
        problems.append(problem)
    start, problem = _find_root(text)
    if problem is not None:
        problems.append(problem)
    if start is None:
        return FeedSource("", tuple(problems))
    end = _end_of_tags(text, start)
    if end < len(text):
        problems.append(Problem("too-large", f"cut after {MOST_TAGS} tags"))
    return FeedSource(_repair(text[start:end]), tuple(problems))


def _gather(body: bytes | Iterable[bytes]) -> tuple[bytes, bool]:
    if isinstance(body, bytes):
        return body[:LONGEST], len(body) > LONGEST
    gathered = bytearray()
    for chunk in body:
        gathered += chunk
        if len(gathered) > LONGEST:
            return bytes(gathered[:LONGEST]), True
    return bytes(gathered), False


def _decode(data: bytes) -> tuple[str, Problem | None]:
    label, codec = _charset(data)
    problem = None if codec else Problem("unknown-charset", label)
    try:
        # Not final: a character that a cut has halved is not an error of the feed.
        return codecs.getincrementaldecoder(codec or "utf-8")().decode(data), problem
    except UnicodeError as error:
        problem = problem or Problem("wrong-charset", f"{label}: {error}"[:200])
        return _decode_anyway(data, codec or "utf-8"), problem


def _decode_anyway(data: bytes, codec: str) -> str:
    """In the charset it claims where only a few characters are broken, else in the one that it is most likely in."""
    text = data.decode(codec, "replace")
    beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
    return text if text.count("\ufffd") * 10 <= beyond_ascii else data.decode(_LATIN, "replace")


def _charset(data: bytes) -> tuple[str, str | None]:
    """The charset that the feed declares, and Python's codec for it, if it is one of the web."""
    for mark, codec in _BOMS + _UNMARKED:
        if data.startswith(mark):
            return codec, codec
    declared = _DECLARED.search(data[:1024])
    label = declared[1].decode("ascii").lower() if declared else "utf-8"
    # A declaration that could be read byte by byte is in no encoding of wider units, whatever it says.
    wide = label.startswith(("utf-16", "utf-32", "ucs-", "iso-10646"))
    return label, "utf-8" if wide else codec_of(label)


def _find_root(text: str) -> tuple[int | None, Problem | None]:
    """Where the feed begins: past the declaration, comments and document type, and whatever else was printed first."""
    at = _skip_prologue(text)
    if _ROOT.match(text, at):
        declares = "<!ENTITY" in text[: min(at, _PROLOGUE)]
        return at, Problem("entity-declarations", "") if declares else None
    if not text.strip("\ufeff \t\r\n\0"):
        return None, Problem("empty")
    root = _ROOT.search(text, 0, _PROLOGUE)
    if root is not None and _HTML.search(text, 0, root.start()) is None:
        return root.start(), Problem("junk-before-root", text[:100])
    return None, Problem("html" if _HTML.search(text, 0, _PROLOGUE) else "not-a-feed", text[:100])


def _skip_prologue(text: str) -> int:
    """Past declaration, comments, instructions and document type, of which no honest feed has many."""
    at = 0
    for _ in range(_MOST_MARKUP):
        opened = text.find("<", at)
        if opened < 0 or text[at:opened].strip("\ufeff \t\r\n") or _ELEMENT.match(text, opened):
            return max(opened, at)
        end = _end_of_markup(text, opened)
        if end < 0:
            return at
        at = end
    return at


def _end_of_markup(text: str, opened: int) -> int:
    """Past a comment, a processing instruction or a document type; -1 where it has no end."""
    if text.startswith("<!--", opened):
        close = "-->"
    elif text.startswith("<?", opened):
        close = "?>"
    else:
        end = text.find(">", opened)
        close = "]>" if text.find("[", opened, max(end, opened)) >= 0 else ">"
    end = text.find(close, opened)
    return end + len(close) if end >= 0 else -1


def _end_of_tags(text: str, start: int) -> int:
    """The position at which the limit of tags is reached, approximately."""
    tags = 0
    for at in range(start, len(text), _STRIDE):
        tags += text.count("<", at, at + _STRIDE)
        if tags > MOST_TAGS:
            return at
    return len(text)


def _repair(text: str) -> str:
    """Remove characters that XML forbids; escape stray ampersands and replace the named entities of HTML.

    A namespace or base of megabytes is removed too: every element in it would carry a copy. And a `<br>` out of HTML,
    which nothing closes, is closed, so that it does not contain the items that follow.
    """
    text = _LONG_NAMESPACE.sub(r'\1"urn:long"', _LONG_BASE.sub(r'\1""', _FORBIDDEN.sub(" ", text)))
    if "&#" in text:
        text = _NUMBERED.sub(_character, text)  # also in CDATA: where that begins, the parser may see differently
    if "&" not in text and _VOID.search(text) is None:
        return text
    outside, *sections = text.split("<![CDATA[")
    pieces = [_repair_outside(outside)]
    for section in sections:
        inside, close, outside = section.partition("]]>")
        pieces += ("<![CDATA[", inside, close, _repair_outside(outside))
    return "".join(pieces)


def _repair_outside(text: str) -> str:
    """Text that is in no CDATA section."""
    text = _VOID.sub(lambda void: f"<{void[1]}{void[2]}/>" if void[1] else "", text)
    return _NAMED.sub(_reference, _STRAY.sub("&amp;", text)) if "&" in text else text


def _character(match: re.Match[str]) -> str:
    """A reference to a character, if there is one: the parser lets half a surrogate pass, and chokes on it later.

    Those between ASCII and Latin-1 are meant as windows-1252 (HTML, "numeric character reference end state").
    """
    code = int(match[1]) if match[1] else int(match[2], 16)
    if 0x80 <= code < 0xA0:
        return unescape(match[0])
    is_one = 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000 or code in (9, 10, 13)
    return match[0] if is_one else "\ufffd"


def _reference(match: re.Match[str]) -> str:
    characters = html5.get(match[1])
    if characters is None:
        return f"&amp;{match[1]}"
    return characters.replace("&", "&amp;").replace("<", "&lt;")


_MOST_BALANCED_TAGS = 100_000
"""Tags of a feed that are looked at: some thousand items."""

_DEEPEST = 250
"""Elements within elements; libxml2 ends at 256."""

_TAG = re.compile(
    r"""<(/?)([A-Za-z_][^\s<>/]{0,99}+)(?=[\s/>])((?>(?:[^<>"']*+(?:"[^"<]*+"|'[^'<]*+'))*)[^<>"']*+(?=>)|[^<>]*+)>""",
)
_MARKS = ("!", "?")
_SECTIONS = (("<![CDATA[", "]]>"), ("<!--", "-->"), ("<?", "?>"))
_ITEMS = frozenset({"item", "entry"})
_LEAVES = frozenset({"title", "link", "guid", "pubdate", "category", "comments"})
_FIELDS = _LEAVES | {"description", "author", "enclosure", "source", "summary", "content", "updated", "published"}


def balanced(text: str) -> str:
    """Add end tags to elements that lack them: unescaped HTML in a description, an item never closed.

    A parser that recovers by itself nests everything that follows in the open element, item in item, until it gives up
    at some depth and all is lost. Here an end tag closes the elements open inside its own, an item ends where the next
    one begins, and an end tag without a start is removed. Balanced XML stays as it is, unless deeper than `_DEEPEST`.
    """
    balance = _Balance(text)
    at = 0
    while (opened := text.find("<", at)) >= 0 and balance.tags < _MOST_BALANCED_TAGS:
        if text.startswith(_MARKS, opened + 1):
            at = _end_of_section(text, opened)
            if at < 0:
                break
        elif tag := _TAG.match(text, opened):
            balance.take(tag)
            at = tag.end()
        else:
            at = opened + 1
    return balance.finish()


def _end_of_section(text: str, opened: int) -> int:
    """Past a comment, an instruction or a CDATA section; -1 where it has no end."""
    for begin, close in _SECTIONS:
        if text.startswith(begin, opened):
            end = text.find(close, opened + len(begin))
            return end + len(close) if end >= 0 else -1
    return opened + 1


@lru_cache(maxsize=1024)
def _kinds(name: str) -> tuple[bool, bool, bool]:
    """Whether a tag begins an item, a field, or one that is but a line of text."""
    local = name.rpartition(":")[2].lower()
    return local in _ITEMS, local in _FIELDS, local in _LEAVES


class _Balance:
    """Which elements are open, and the text as far as it had to be changed."""

    def __init__(self, text: str) -> None:
        self.tags = 0
        self._text = text
        self._pieces: list[str] = []
        self._taken = 0
        self._open: list[str] = []
        self._counts: Counter[str] = Counter()

    def finish(self) -> str:
        """The whole text, with the end tags that were added."""
        return "".join((*self._pieces, self._text[self._taken :]))

    def take(self, tag: re.Match[str]) -> None:
        """Go past one tag, after the ends that it calls for."""
        self.tags += 1
        is_end, name, rest = tag.groups()
        if is_end:
            self._end(tag, name)
        elif not rest.endswith("/"):
            self._make_room(tag, name)
            if len(self._open) < _DEEPEST:
                self._open.append(name)
                self._counts[name.lower()] += 1
            else:
                self._change("", tag.start(), tag.end())

    def _end(self, tag: re.Match[str], name: str) -> None:
        """An end tag: what is open inside of its element ends first, and where no such element is open, it goes."""
        if self._open and self._open[-1] == name:
            self._open.pop()
            self._counts[name.lower()] -= 1
        else:
            self._change(self._ends(name.lower()), tag.start(), tag.end())

    def _make_room(self, tag: re.Match[str], name: str) -> None:
        """No item is within an item, and no field within one that is but a line of text."""
        is_item, is_field, _ = _kinds(name)
        if is_item and self._counts[name.lower()]:
            self._change(self._ends(name.lower()), tag.start(), tag.start())
        elif is_field and self._open and _kinds(self._open[-1])[2]:
            self._change(self._ends(self._open[-1].lower()), tag.start(), tag.start())

    def _ends(self, name: str) -> str:
        """The end tags of the last element of this name and of all inside of it, which are open no longer."""
        ends: list[str] = []
        is_open = self._counts[name] > 0
        while is_open:
            inner = self._open.pop()
            self._counts[inner.lower()] -= 1
            ends.append(f"</{inner}>")
            is_open = inner.lower() != name
        return "".join(ends)

    def _change(self, written: str, start: int, end: int) -> None:
        """Write this in place of what is from `start` to `end`."""
        self._pieces += (self._text[self._taken : start], written)
        self._taken = end
