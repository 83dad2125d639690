"""From the bytes of a feed to XML that a parser can take.

Everything is linear in the size of the body. Byte order mark, then the XML declaration, then UTF-8 decide the charset;
where more than a few bytes are not in it, the whole is windows-1252, as most of the wrong ones are. ISO 8859-1 is read
as windows-1252 too: the Encoding standard has it so.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from html import unescape
from html.entities import html5

from msgspec import Struct

from periplus.formats.encodings import codec_of
from periplus.model import Problem

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


class Source(Struct, frozen=True):
    """XML from its root on, without declaration and document type; empty if there is no feed in it."""

    text: str
    problems: tuple[Problem, ...]


def open_source(body: bytes | Iterable[bytes]) -> Source:
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
        return Source("", tuple(problems))
    end = _end_of_tags(text, start)
    if end < len(text):
        problems.append(Problem("too-large", f"cut after {MOST_TAGS} tags"))
    return Source(_repair(text[start:end]), tuple(problems))


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
    """What the feed calls its charset, and Python's codec for it, if it is one of the web."""
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
    """Where there have been too many tags, give or take a few."""
    tags = 0
    for at in range(start, len(text), _STRIDE):
        tags += text.count("<", at, at + _STRIDE)
        if tags > MOST_TAGS:
            return at
    return len(text)


def _repair(text: str) -> str:
    """Characters that XML forbids go; ampersands that begin no reference, and HTML's names, become what they mean.

    A namespace or base of megabytes goes too: every element in it would carry a copy. And a `<br>` out of HTML, which
    nothing closes, is closed, lest it swallow the items that follow.
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
