"""Tags and texts out of XML, well formed or not, as it arrives.

Not a parser of XML 1.0: that must stop at the first error, and many sitemaps have one. This cuts text into tags and
what follows them, skips comments, processing instructions and document types (whose entities are noticed, never
expanded), and leaves it to its users to make sense of the order. It never looks back further than `HELD` characters
and no pattern can try a text twice, so time is linear in the input and memory is bounded.

Reason: "bad-markup" (a `<` that begins nothing, a tag without end).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

HELD = 128 * 1024
"""Characters that may wait for the end of a tag or text before they are handed on as they are."""

Token = tuple[str, str, str, str]
"""A tag: "/" or "", its name as written, its attributes as written (ending in "/" if it is empty), and the raw text
behind it. Without a name: more raw text; if the first is `CDATA`, text that needs no decoding."""

CDATA = "!"

_NAME = r"[A-Za-z_:\x80-\U0010ffff][^\s<>/]*+"
_QUOTED = r"""[^<>"']*+(?:(?:"[^"<]*+"|'[^'<]*+')[^<>"']*+)*"""
_TAG = re.compile(rf"<(/?)({_NAME})({_QUOTED}(?=>)|[^<>]*+)>([^<]*+)|(<[^<]*+)")
_WHOLE_TAG = re.compile(rf"</?{_NAME}{_QUOTED}>")
_UNFINISHED = re.compile(r"<(?:/?[A-Za-z_:][^<>]*+)?\Z")
_SPECIAL = re.compile(r"<[!?]")
_OPENERS = ("<!--", "<![CDATA[", "<!DOCTYPE", "<?")
_ATTRIBUTE = re.compile(r"""([^\s=<>"'/]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'<>]++))""")

Inside = tuple[re.Pattern[str], int]
"""What ends a thing that is skipped, and how many characters of the end could be there already."""

_COMMENT = (re.compile("-->"), 2)
_SECTION = (re.compile(r"\]\]>"), 2)
_INSTRUCTION = (re.compile(r"\?>"), 1)
_DECLARATION = (re.compile(">"), 0)
_DOCTYPE = (re.compile(r"[\[>]"), 0)
_SUBSET = (re.compile(r"\]\s{0,64}>"), 66)


def attributes(raw: str) -> dict[str, str]:
    """The attributes of a tag, as written but for their quotes; the first of a name counts."""
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(raw):
        found.setdefault(name, double or single or bare)
    return found


class Markup:
    """Cuts one document. `feed` it text in any portions; the tokens do not depend on how it was portioned.

    `on_entity` is called when a document type defines an entity.
    """

    def __init__(self, complain: Callable[[str, str], None], on_entity: Callable[[], None]) -> None:
        self.ends_inside_tag = False
        self._complain = complain
        self._on_entity = on_entity
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

    def feed(self, text: str, *, is_last: bool = False, is_followed: bool = False) -> Iterator[Token]:
        """Every token that is complete; all of them, if a tag is known to follow this text."""
        text, self._held = self._held + text, ""
        position = 0
        while position < len(text):
            if self._inside is not None:
                piece, position = self._skip(self._inside, text, position, is_last=is_last)
                if piece:
                    yield CDATA, "", "", piece
                continue
            special = _SPECIAL.search(text, position)
            end = len(text) if special is None else special.start()
            if special is None and not is_last and not is_followed:
                end = self._hold(text, position)
            yield from self._cut(text[position:end], is_last=is_last and special is None)
            if special is None:
                return
            position = self._enter(text, end, is_last=is_last)

    def _hold(self, text: str, position: int) -> int:
        """Keep back the last tag and its text, which may go on, unless it is surely whole; where to stop."""
        start = max(text.rfind("<", position), position)
        if len(text) - start > HELD or _WHOLE_TAG.fullmatch(text, start):
            return len(text)
        self._held = text[start:]
        return start

    def _cut(self, text: str, *, is_last: bool) -> Iterator[Token]:
        if is_last and (unfinished := _UNFINISHED.search(text)):
            self.ends_inside_tag = True
            text = text[: unfinished.start()]
        start = text.find("<")
        if start:
            yield "", "", "", text if start < 0 else text[:start]
        if start < 0:
            return
        for slash, name, attrs, after, stray in _TAG.findall(text, start):
            if stray:
                self._complain("bad-markup", stray)
                yield "", "", "", stray
            else:
                yield slash, name, attrs, after

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

    def _skip(self, inside: Inside, text: str, position: int, *, is_last: bool) -> tuple[str, int]:
        """Pass over what we are inside of: its text if it is CDATA, and where to go on."""
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
            self._on_entity()
        return (text[position:stop] if inside is _SECTION else ""), after
