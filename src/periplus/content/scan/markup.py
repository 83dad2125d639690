"""A tag as it is written: its number, its attributes, and what they mean. Pages of a site have many tags in common."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from .columns import MARKED_NEXT, PERMALINK_CLASSES, Attributes, Medium
from .hints import attribute_hints
from .tags import FLAGS_OF, FORM_PART, NAMES, NUMBERS, PUSH, numbers_of
from .tokens import RawAttributes, attributes_in, decode_references, decode_value, decoded, is_self_closing, name_of

if TYPE_CHECKING:
    from .state import PageScan

Act = Callable[["PageScan", "Tag"], bool | None]
"""What a tag does to the state of the pass; true if the tokens behind it have to be read in another way."""

IN_MAIN: Final = 1
IN_ARTICLE: Final = 2
IN_ASIDE: Final = 4
IN_HEADER: Final = 8
IN_FORM: Final = 16
IN_FALLBACK: Final = 32
"""What an element is in, by its own or an ancestor's tag or role. Where this changes, a block ends, but for the last.

Of what is in a fallback browsers show nothing: the content of a film, sound or canvas, notes on formulas.
"""
_TAG_REGIONS: Final = {
    NUMBERS["main"]: IN_MAIN,
    NUMBERS["article"]: IN_ARTICLE,
    NUMBERS["nav"]: IN_ASIDE,
    NUMBERS["aside"]: IN_ASIDE,
    NUMBERS["footer"]: IN_ASIDE,
    NUMBERS["header"]: IN_HEADER,
    NUMBERS["form"]: IN_FORM,
    **dict.fromkeys(numbers_of("audio", "video", "canvas", "annotation"), IN_FALLBACK),
}
_ROLE_REGIONS: Final = {
    b"main": IN_MAIN,
    b"navigation": IN_ASIDE,
    b"banner": IN_ASIDE,
    b"contentinfo": IN_ASIDE,
    b"complementary": IN_ASIDE,
    b"search": IN_ASIDE,
    b"menu": IN_ASIDE,
    b"menubar": IN_ASIDE,
}
_HINTING: Final = frozenset(
    {b"class", b"id", b"role", b"itemprop", b"itemtype", b"style", b"hidden", b"aria-hidden", b"rel"}
)
"""Attributes that the rule for the main text looks at."""
_MARKING: Final = (b"class", b"id", b"title", b"aria-label")
"""Attributes in which a link may say that it leads to the next page."""
_MAY_BE_EMPTY: Final = numbers_of("svg", "math", "annotation", "foreignobject", "desc", "title", "script", "style")
"""Tags that have no content if they end with a slash, in foreign content."""
_EVENT_ATTRIBUTES: Final = frozenset(
    {"href", "src", "alt", "class", "title", "start", "colspan", "rowspan", "id", "name"}
)
_PLAIN_ANCHOR: Final = re.compile(rb'a(?>(?: (?:class|title|id|target)="[^"]*+")*) href="([^"]++)"')
"""How nearly all links are written: the first `href` is behind attributes that do not matter."""
_A: Final = NUMBERS["a"]
_OF_FOREIGN: Final = numbers_of("svg", "math", "annotation", "foreignobject", "desc", "title")
"""Tags with which foreign content, or HTML in it, begins."""
_NEVER_PLAIN: Final = _OF_FOREIGN + numbers_of("fieldset", "legend")
"""Tags that are more than a block, whatever their attributes: also those that may disable controls."""
_NAMES: Final = tuple("img" if name == "image" else name for name in NAMES)
_NUMBERS: Final = {name.encode(): number for name, number in NUMBERS.items() if name} | {
    b"annotation-xml": NUMBERS["annotation"]
}


_PERMALINK_CLASSES: Final = frozenset(name.encode() for name in PERMALINK_CLASSES)
_SPACE: Final = re.compile(rb"[\t\n\f\r ]+")


def is_to_itself(href: bytes | None) -> bool:
    """Whether a link is to the page itself, as far as that can be seen without a URL parser."""
    return not href or href.startswith(b"#")


class Tag:
    """A start or end tag. Properties that only some tags need are computed on first use."""

    act: Act | None = None
    number = flags = 0
    region = 0
    hints = 0
    is_end = is_self_closing = False
    is_plain = False
    """Whether nothing is to be done but to put it on the stack, if at all."""
    href: bytes | None = None
    """Where an `<a>` leads, references decoded; nothing if it does not say."""
    is_to_itself = False
    """Whether that is the page it is on."""
    rel = ""
    mark = 0
    """Whether an `<a>` is `MARKED_NEXT`."""
    step: bytes | None = None
    """What `folding` makes of it."""
    _raw: RawAttributes | None = None
    _attributes: Attributes | None = None
    _event_attributes: Attributes | None = None

    def __init__(self, source: bytes) -> None:
        self._source = source
        plain = _PLAIN_ANCHOR.match(source)
        if plain and b"rel" not in source:
            self.number = _A
            self.href = decode_references(plain[1])
            self.is_to_itself = is_to_itself(plain[1])
        else:
            self._read()
        if self.number == _A and (b"next" in source or b"Next" in source):
            self._read_mark()

    def _read(self) -> None:
        source = self._source
        self.is_end = source.startswith(b"/")
        name, end = name_of(source)
        self.number = _NUMBERS.get(name.lower(), 0)
        self.flags = FLAGS_OF[self.number]
        if self.is_end or end == len(source):
            self._raw = {}
        elif self.number in _MAY_BE_EMPTY:
            self.is_self_closing = is_self_closing(source)
        if not self.is_end and (self.flags & PUSH or self.number in _OF_FOREIGN):
            self._read_hints()
        self.is_plain = not self.region and not self.flags & FORM_PART and self.number not in _NEVER_PLAIN
        if self.number == _A:
            self._read_anchor()

    @property
    def raw(self) -> RawAttributes:
        """The attributes as written."""
        if self._raw is None:
            self._raw = attributes_in(self._source, name_of(self._source)[1])
        return self._raw

    @property
    def name(self) -> str:
        """The name in lower case; empty for an unknown tag. The HTML Standard reads `<image>` as `<img>`."""
        return _NAMES[self.number]

    @property
    def attributes(self) -> Attributes:
        """All attributes, references decoded; a dictionary of the caller's own."""
        if self._attributes is None:
            self._attributes = decoded(self.raw)
        return self._attributes.copy()

    def value(self, name: bytes) -> str:
        """The value of an attribute, references decoded; empty if it is missing."""
        value = self.raw.get(name)
        return decode_value(value) if value else ""

    @property
    def is_permalink(self) -> bool:
        """Whether a class says that a link is there to be copied."""
        return not _PERMALINK_CLASSES.isdisjoint(_SPACE.split(self.raw.get(b"class") or b""))

    def medium(self) -> Medium:
        """The tag as a picture, a film or a sound."""
        return Medium(self.name, self.value(b"src"), self.value(b"poster"), self.value(b"srcset"), self.value(b"alt"))

    def event_attributes(self) -> Attributes:
        """The attributes that writers of Markdown and text use."""
        if self._event_attributes is None:
            attributes = self.attributes.items() if self.raw else ()
            self._event_attributes = {name: value for name, value in attributes if name in _EVENT_ATTRIBUTES}
        return self._event_attributes.copy()

    def _read_anchor(self) -> None:
        raw = self.raw
        href = raw.get(b"href") or raw.get(b"xlink:href")
        self.href = decode_references(href) if href else b"" if b"href" in raw else None
        self.rel = self.value(b"rel")
        self.is_to_itself = is_to_itself(href)

    def _read_mark(self) -> None:
        values = [self.raw.get(name) or b"" for name in _MARKING]
        self.mark = MARKED_NEXT if any(b"next" in value or b"Next" in value for value in values) else 0

    def _read_hints(self) -> None:
        """Find out what the rule for the main text wants to know of the element."""
        self.region = _TAG_REGIONS.get(self.number, 0)
        if not self.raw:
            return
        for name in self.raw.keys() & _HINTING:
            value = self.raw[name]
            self.hints |= attribute_hints(name, value)
            if name == b"role" and value:
                self.region |= _ROLE_REGIONS.get(value.lower(), 0)
