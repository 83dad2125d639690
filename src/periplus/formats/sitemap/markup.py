"""Tags and texts out of XML, well formed or not, as it arrives.

Not a parser of XML 1.0: that must stop at the first error, and many sitemaps have one. This cuts text into tags and
what follows them, skips comments, processing instructions and document types (whose entities are noticed, never
expanded), and leaves it to a `Handler` to make sense of the order. It never looks back further than `HELD` characters
and no pattern can try a text twice, so time is linear in the input and memory is bounded.

Reason: "bad-markup" (a `<` that begins nothing, a tag without end).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Protocol

from .fields import EDGES, EntityRefusedError, Fields

HELD = 128 * 1024
"""Characters that may wait for the end of a tag or text before they are handed on as they are."""

_NAME = r"[A-Za-z_:\x80-\U0010ffff][^\s<>/]{0,99}+"
_QUOTED = r"""[^<>"']*+(?:(?:"[^"<]*+"|'[^'<]*+')[^<>"']*+)*"""
_TAG = re.compile(rf"<(/?)({_NAME})({_QUOTED}(?=>)|[^<>]*+)>([^<]*+)(?:(</\2>)([^<]*+))?|(<[^<]*+)")
_WHOLE_TAG = re.compile(rf"</?{_NAME}{_QUOTED}>")
_UNFINISHED = re.compile(r"<(?:/?[A-Za-z_:][^<>]*+)?\Z")
_SPECIAL = re.compile(r"<[!?]")
_OPENERS = ("<!--", "<![CDATA[", "<!DOCTYPE", "<?")
_ATTRIBUTE = re.compile(r"""([^\s=<>"'/]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'<>]++))""")

Inside = tuple[re.Pattern[str], int]
"""What ends a thing that is skipped, and how many characters of the end could be there already."""

_COMMENT: Inside = (re.compile("-->"), 2)
_SECTION: Inside = (re.compile(r"\]\]>"), 2)
_INSTRUCTION: Inside = (re.compile(r"\?>"), 1)
_DECLARATION: Inside = (re.compile(">"), 0)
_DOCTYPE: Inside = (re.compile(r"[\[>]"), 0)
_SUBSET: Inside = (re.compile(r"\]\s{0,64}>"), 66)


class Handler(Protocol):
    """Receives the tags. Names come as prefix and local name, the latter in lower case."""

    def leaf(self, prefix: str, local: str, raw: str, /) -> bool:
        """An element without attributes and with nothing but text inside; return False to get it step by step."""

    def open(self, prefix: str, local: str, attrs: str, /) -> None:
        """Receive a start tag, with its attributes as written."""

    def close(self, prefix: str, local: str, /) -> None:
        """Receive an end tag, or the end of an empty element."""

    def text(self, raw: str, *, is_decoded: bool) -> None:
        """Text as written, or from a CDATA section, where it needs no decoding."""


@lru_cache(maxsize=1024)
def split_name(name: str) -> tuple[str, str]:
    """Prefix and local name, the latter in lower case."""
    prefix, _, local = name.rpartition(":")
    return prefix, local.lower()


def attributes(raw: str) -> dict[str, str]:
    """The attributes of a tag, as written but for their quotes; the first of a name counts."""
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(raw):
        found.setdefault(name, double or single or bare)
    return found


class Markup:
    """Splits one document into tags and text. `feed` takes any portions: the handler's calls do not depend on them."""

    def __init__(self, handler: Handler, fields: Fields) -> None:
        self.ends_inside_tag = False
        self._handler = handler
        self._fields = fields
        self._held = ""
        self._inside: Inside | None = None

    @property
    def pending(self) -> int:
        """Characters that wait for what follows them."""
        return len(self._held)

    @property
    def is_between_tags(self) -> bool:
        """Whether nothing waits and nothing is being skipped."""
        return not self._held and self._inside is None

    def feed(self, text: str, *, is_last: bool = False, is_followed: bool = False) -> None:
        """Report everything that is complete; all of it, if a tag is known to follow this text."""
        text, self._held = self._held + text, ""
        position = 0
        while position < len(text):
            if self._inside is not None:
                position = self._skip(self._inside, text, position, is_last=is_last)
                continue
            special = _SPECIAL.search(text, position)
            if special is not None:
                self._cut(text[position : special.start()])
                position = self._enter(text, special.start(), is_last=is_last)
            elif is_last:
                self._cut_last(text[position:])
                return
            else:
                end = len(text) if is_followed else self._hold(text, position)
                self._cut(text[position:end])
                return

    def _hold(self, text: str, position: int) -> int:
        """Keep back the last tag and its text, which may go on, unless it is surely whole; where to stop."""
        start = max(text.rfind("<", position), position)
        if len(text) - start > HELD or _WHOLE_TAG.fullmatch(text, start):
            return len(text)
        self._held = text[start:]
        return start

    def _cut_last(self, text: str) -> None:
        unfinished = _UNFINISHED.search(text)
        self.ends_inside_tag = unfinished is not None
        self._cut(text if unfinished is None else text[: unfinished.start()])

    def _cut(self, text: str) -> None:
        handler = self._handler
        start = text.find("<")
        if start:
            handler.text(text if start < 0 else text[:start], is_decoded=False)
        if start < 0:
            return
        for slash, name, attrs, inner, end, after, stray in _TAG.findall(text, start):
            if stray:
                self._fields.complain("bad-markup", stray)
                handler.text(stray, is_decoded=False)
                continue
            prefix, local = split_name(name)
            if end and not slash and not attrs and handler.leaf(prefix, local, inner):
                if not after.isspace():
                    handler.text(after, is_decoded=False)
                continue
            if not slash:
                handler.open(prefix, local, attrs)
            if slash or attrs.endswith("/"):
                handler.close(prefix, local)
            handler.text(inner, is_decoded=False)
            if end:
                handler.close(prefix, local)
                handler.text(after, is_decoded=False)

    def _enter(self, text: str, start: int, *, is_last: bool) -> int:
        """See what `<!` or `<?` begins; where its inside begins."""
        opener = text[start : start + 9].upper()
        if len(opener) < 9 and not is_last and any(known.startswith(opener) for known in _OPENERS):
            self._held = text[start:]
            return len(text)
        if opener.startswith("<!--"):
            self._inside = _COMMENT
            return start + 4
        if opener.startswith("<![CDATA["):
            self._inside = _SECTION
            return start + 9
        if opener.startswith("<!DOCTYPE"):
            self._inside = _DOCTYPE
            return start + 9
        self._inside = _INSTRUCTION if opener.startswith("<?") else _DECLARATION
        return start + 2

    def _skip(self, inside: Inside, text: str, position: int, *, is_last: bool) -> int:
        """Pass over what we are inside of, but for CDATA; where to go on."""
        pattern, overlap = inside
        end = pattern.search(text, position)
        if end is None:
            stop = len(text) if is_last else max(len(text) - overlap, position)
            self._held = text[stop:]
            after = len(text)
        else:
            stop, after = end.start(), end.end()
            self._inside = _SUBSET if inside is _DOCTYPE and end[0] == "[" else None
        if inside is _SUBSET and "<!ENTITY" in text[position:after].upper():
            self._fields.refuse_entities()
        if inside is _SECTION:
            self._handler.text(text[position:stop], is_decoded=True)
        return after


class ElementText:
    """The text of the current element, decoded, up to a maximum length."""

    def __init__(self, fields: Fields) -> None:
        self.name = ""
        self.is_refused = False
        self._fields = fields
        self._parts: list[str] = []
        self._room = 0

    def begin(self, name: str) -> None:
        """Enter an element."""
        self.name = name
        self.is_refused = False
        self._parts.clear()
        self._room = self._fields.limits.text + 1

    def add(self, raw: str, *, is_decoded: bool) -> None:
        """Add text as written, or from CDATA."""
        if self._room <= 0:
            return
        if not is_decoded:
            try:
                raw = self._fields.decoded(raw)
            except EntityRefusedError as refused:
                self._fields.complain("entity-refused", str(refused))
                self.is_refused = True
                return
        if not self._parts:
            raw = raw.lstrip(EDGES)
        if raw:
            self._parts.append(raw[: self._room])
            self._room -= len(raw)

    @property
    def is_blank(self) -> bool:
        """Whether there was nothing but white space yet."""
        return not self._parts

    def end(self) -> str:
        """The text; empty if it referred to an entity that we refuse to expand."""
        self.name = ""
        return "" if self.is_refused else "".join(self._parts)
