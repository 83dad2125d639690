"""Text of a page that its visitors do not see, and the page without it.

Hidden text carries spam into indexes and instructions into language models. `without_hidden` leaves out what the page
itself hides: by attributes, by inline styles, and by rules of its `<style>` elements, with selectors made of tags,
classes, ids and what is around them. Only rules for all screens count: not those for print, or for small windows.
External style sheets are not known, and no script is run.

| trick | is |
|---|---|
| `hidden` | the attributes `hidden` and `popover`, a `<dialog>` that is not open |
| `aria-hidden` | `aria-hidden="true"` |
| `class` | the classes that style sheets use for text that is only for screen readers |
| `display`, `visibility`, `opacity` | not displayed, not visible, transparent |
| `size`, `font-size` | no more than a pixel high or wide, or written in letters of no size |
| `position` | moved out of the window |
| `clip` | cut to nothing |
| `colour` | in the colour of its ground |
| `characters` | tag characters and characters without width |

A trick that would hide more than three quarters of a page's text is not believed: a script fades such a page in. Tags
are read with regular expressions and a stack, in time that grows with the bytes; these, rules, open elements and how
often rules are compared with elements are bounded. For what is exported and shown only: a crawl does not call this.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from html import unescape
from typing import Final, NamedTuple

from msgspec import Struct

from .scan.tags import BARRIER, BLOCK, CLOSES_P, FLAGS, VOID

MAX_LOOKED: Final = 4 << 20
"""Bytes of a page that are looked at; what is behind them stays as it is."""
MAX_RULES: Final = 4000
"""Rules of the style sheets of a page; later ones are not read."""
_MAX_SHEETS: Final = 512 << 10
"""Bytes of the style sheets of a page."""
_MAX_OPEN: Final = 512
_MAX_COMPARED, _COMPARED_A_BYTE = 1 << 20, 4
"""How often rules are compared with elements: at most this often, and this often more for each byte of the page. Rules
say nothing about the elements behind. Honest pages need a tenth: a hundred rules for each of a thousand elements."""
_MAX_REMEMBERED: Final = 300
"""Characters of a style that is remembered once it is read."""
_MAX_COLOUR: Final = 100
"""Characters of a colour; what is longer is not one."""
_MAX_AROUND: Final = 8
"""Parts of a selector; one that has more is not read."""
_LEAST_DOUBTED: Final = 500
"""Bytes of hidden text from which its share of a page says anything."""

_CHARACTERS: Final = {
    pattern[:1]: re.compile(pattern)
    for pattern in (b"\xe2(?:\x80[\x8b-\x8d]|\x81[\xa0-\xa4])", b"\xef\xbb\xbf", b"\xf3\xa0")
}
"""Characters that are not shown, by their first byte: to look for that is fast."""
_REFERENCE: Final = re.compile(
    rb"&(?:#(?:x0*(?:200[bcd]|206[0-4]|e00[0-7][0-9a-f]|feff)|0*(?:820[345]|82(?:8[89]|9[012])|917[5-9]\d\d?|65279));?"
    rb"|(?:zwj|zwnj|ZeroWidthSpace|NoBreak);)",
    re.IGNORECASE,
)
"""Numbers of 5 digits and more are checked once they are decoded."""
_TAG_CHARACTERS: Final = re.compile(r"(\U0001F3F4[\U000E0020-\U000E007E]{1,6}\U000E007F)|[\U000E0000-\U000E007F]+")
"""Characters that copy ASCII and are not shown, but for those behind a flag."""
_WITHOUT_WIDTH: Final = re.compile(
    "[\u200b-\u200d\u2060-\u2064\ufeff]{2,}|(?<=[\\x00-\\x7f])[\u200b-\u200d\u2060-\u2064\ufeff]"
    "|[\u200b-\u200d\u2060-\u2064\ufeff](?=[\\x00-\\x7f])"
)
"""Several in a row, or beside ASCII. Between letters of other scripts, and in emoji, they have a meaning."""

_TOKEN: Final = re.compile(
    rb"""<(/?)([a-z][a-z0-9:-]*)((?>(?:(?>[^<>"']+)|"[^"]{0,4000}"|'[^']{0,4000}'|["']){0,200}))>""", re.IGNORECASE
)
_TAG: Final = re.compile(rb"<[^<>]*>")
_ATTRIBUTE: Final = re.compile(rb"""([^\s=>"'/]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>"']+))?""")
_SEEN_ATTRIBUTES: Final = re.compile(rb"\b(?:class|id|style|hidden|popover|open|color|bgcolor|text)\b", re.IGNORECASE)
_NOT_READ: Final = re.compile(
    rb"<(?:!--.*?(?:-->|\Z)|(?=[sitxn])"
    rb"(script|style|textarea|title|xmp|iframe|noembed|noframes|noscript|template|svg)\b.*?(?:</\1\b[^>]*+(?:>|\Z)|\Z))",
    re.DOTALL,
)
"""Comments, and elements whose content is not text of the page, in lower case."""
_SHEET: Final = re.compile(rb"<style\b([^>]*+)(?:>(.*?)(?:</style|\Z)|\Z)", re.IGNORECASE | re.DOTALL)
_IS_LINKED: Final = re.compile(rb"""<link\b[^<>]{0,500}?\brel\s{0,9}=[^<>]{0,50}?stylesheet|@import""", re.IGNORECASE)
_COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))")
_BRACE: Final = re.compile(r"([^{}]*+)([{}]|\Z)")
_COMPOUND: Final = re.compile(r"(?:[a-z][a-z0-9]*|\*)?(?:[.#][\w-]+)*", re.IGNORECASE)
_PART: Final = re.compile(r"([.#]?)([\w-]+)")
_SCREENS: Final = frozenset({"all", "only all", "screen", "only screen"})
_CLASSES: Final = frozenset(
    {"sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text", "screenreader-only", "u-visually-hidden"}
)
_IMPLIED: Final = {
    **{name: (frozenset({"li"}), frozenset({"ul", "ol", "menu", "dir"})) for name in ("li",)},
    **{name: (frozenset({"dt", "dd"}), frozenset({"dl"})) for name in ("dt", "dd")},
    **{name: (frozenset({"td", "th"}), frozenset({"tr", "table"})) for name in ("td", "th")},
    "tr": (frozenset({"tr"}), frozenset({"table"})),
    "option": (frozenset({"option"}), frozenset({"select", "datalist"})),
}
"""What a tag ends if it is open, and beyond which elements it does not look."""

_NUMBER: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))\s*([a-z%]*)")
_LEAST_OUTSIDE: Final = {"px": 500.0, "": 500.0, "pt": 400.0, "em": 30.0, "rem": 30.0, "ch": 60.0}
_OF_WINDOW: Final = frozenset({"%", "vw", "vh"})
_INVISIBLE: Final = ("hidden", "collapse")
_PROPERTIES: Final = frozenset(
    {
        *("display", "visibility", "opacity", "filter", "font-size", "font", "color", "background", "background-color"),
        *("background-image", "background-clip", "-webkit-background-clip", "text-shadow", "position", "left", "right"),
        *(
            "top",
            "bottom",
            "text-indent",
            "margin",
            "margin-left",
            "margin-top",
            "clip",
            "clip-path",
            "width",
            "height",
        ),
        *("max-height", "max-width", "overflow", "overflow-x", "overflow-y", "transform", "content-visibility"),
    }
)
_FONT_SIZE: Final = re.compile(r"(?:^|\s)(\d+\.?\d*|\.\d+)(px|pt|r?em|%|ex|ch|vw|vh|)(?=/|\s|$)")
_OF_FONT: Final = frozenset({"em", "%", "ex", "ch"})
"""Units of the letters around."""
_WHITE: Final = (255, 255, 255)
_NAMED: Final = {
    "white": _WHITE, "black": (0, 0, 0), "red": (255, 0, 0), "lime": (0, 255, 0), "blue": (0, 0, 255),
    "yellow": (255, 255, 0), "gray": (128, 128, 128), "grey": (128, 128, 128), "silver": (192, 192, 192),
    "navy": (0, 0, 128), "green": (0, 128, 0), "snow": (255, 250, 250), "ivory": (255, 255, 240),
    "whitesmoke": (245, 245, 245), "ghostwhite": (248, 248, 255), "floralwhite": (255, 250, 240),
}  # fmt: skip
_NEAR: Final = 10
"""Steps of 255 by which a colour may differ from that of its ground in every channel, and not be seen."""

_Colour = tuple[int, int, int]
_Style = dict[str, str]


class HiddenText(Struct, frozen=True):
    """How many characters of a page are hidden from its visitors, and by which tricks."""

    characters: int = 0
    tricks: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tricks)


NOTHING_HIDDEN: Final = HiddenText()


def without_hidden(html: bytes) -> tuple[bytes, HiddenText]:
    """A page in UTF-8 without the text that its visitors do not see, and what that was."""
    lower = html[:MAX_LOOKED].lower()
    hidden = Counter[str]()
    html = _without_elements(html, lower, hidden)
    if _has_hidden_characters(html) or (b"&" in html and _REFERENCE.search(html)):
        html = _without_characters(html, hidden)
    return html, HiddenText(hidden.total(), tuple(sorted(hidden))) if hidden else NOTHING_HIDDEN


def _has_hidden_characters(html: bytes) -> bool:
    return any(first in html and pattern.search(html) is not None for first, pattern in _CHARACTERS.items())


def without_hidden_characters(text: str) -> str:
    """A text without tag characters, and without characters of no width where they have no meaning."""
    return _WITHOUT_WIDTH.sub("", _TAG_CHARACTERS.sub(lambda found: found[1] or "", text))


def _without_characters(html: bytes, hidden: Counter[str]) -> bytes:
    html = _REFERENCE.sub(lambda found: unescape(found[0].decode()).encode("utf-8", "replace"), html)
    text = html.decode("utf-8", "surrogateescape")
    kept = without_hidden_characters(text)
    if len(kept) == len(text):
        return html
    hidden["characters"] += len(text) - len(kept)
    return kept.encode("utf-8", "surrogateescape")


def _without_elements(html: bytes, lower: bytes, hidden: Counter[str]) -> bytes:
    sheet = _Sheet(html[: len(lower)], lower)
    spans = [found.span() for found in _NOT_READ.finditer(lower)]
    plain = _blanked(html[: len(lower)], spans)
    places = [] if sheet.hides else _may_hide(_blanked(lower, spans))
    if not sheet.hides and not places:
        return html
    found = _Reading(plain, sheet, places, frozenset())
    doubted = found.doubted()
    if doubted:
        found = _Reading(plain, sheet, places, doubted)
    hidden.update(found.characters)
    kept, at = [], 0
    for start, end in found.spans:
        kept.append(html[at:start])
        at = end
    return b"".join([*kept, html[at:]])


def _blanked(html: bytes, spans: list[tuple[int, int]]) -> bytes:
    """A page of the same length with blanks for some of it."""
    kept, at = [], 0
    for start, end in spans:
        kept += [html[at:start], b" " * (end - start)]
        at = end
    return b"".join([*kept, html[at:]])


_SIGNS: Final = {
    b"hidden": re.compile(rb"""hidden(?=[\s/>="'])"""),
    **{
        word: re.compile(word)
        for word in (
            b"popover",
            b"<dialog",
            b"sr-only",
            b"screen-reader-text",
            b"screenreader-only",
            b"bgcolor",
            b"<font",
        )
    },
}
"""What elements have that may hide text without a rule of the page, by a word in it: to look for words is fast."""
_STYLE: Final = re.compile(rb"""style\s*=\s*["']?""")
_STYLE_END: Final = re.compile(rb"""["'>]""")
_HIDING: Final = re.compile(
    rb"display|visib|opacity|font|clip|color|indent|position|transform|overflow|margin|background|\\|&"
)
"""What a style has that may hide text."""


def _may_hide(plain: bytes) -> list[int]:
    """Where elements begin that may hide text without a rule of the page; in lower case.

    Not the body: it is not hidden itself, and nothing is in its colours unless another element has colours, too.
    """
    signs = [sign.start() for word, each in _SIGNS.items() if word in plain for sign in each.finditer(plain)]
    places = set[int]()
    begin = place = -1
    for sign in sorted([*signs, *_hiding_styles(plain)]):
        place = max(place, plain.rfind(b"<", begin + 1, sign + 1))
        places.add(place)
        begin = sign
    return sorted(each for each in places if each >= 0 and not plain.startswith((b"<body", b"<html"), each))


def _hiding_styles(plain: bytes) -> Iterator[int]:
    """Where styles begin that may hide text. However many begin in one value, that is looked at once."""
    hiding = end = -1
    for found in _STYLE.finditer(plain):
        at = found.end()
        if end < at:
            end = _start(_STYLE_END.search(plain, at), len(plain))
        if hiding < at:
            hiding = _start(_HIDING.search(plain, at, end), end)
        if hiding < end:
            yield found.start()


def _start(found: re.Match[bytes] | None, otherwise: int) -> int:
    return otherwise if found is None else found.start()


_BODY: Final = re.compile(rb"<body\b([^>]*+)(>|\Z)", re.IGNORECASE)

# ---- style sheets


class _Compound(NamedTuple):
    """A part of a selector: tag, classes and id of one element. An empty tag is any."""

    tag: str
    classes: frozenset[str]
    id: str

    def fits(self, element: _Named) -> bool:
        return (
            (not self.tag or self.tag == element.tag)
            and (not self.id or self.id == element.id)
            and self.classes <= element.classes
        )


class _Named(NamedTuple):
    """What selectors ask of an element."""

    tag: str
    classes: frozenset[str]
    id: str


class _Rule(NamedTuple):
    """A rule for one selector: `around` are the parts before the last, the innermost first, with `True` for a child."""

    weight: tuple[int, int, int, int]
    last: _Compound
    around: tuple[tuple[_Compound, bool], ...]
    style: _Style

    def is_in(self, stack: list[_Open]) -> bool:
        """Whether what is around it is open."""
        at = len(stack) - 1
        for compound, is_parent in self.around:
            while at >= 0 and not compound.fits(stack[at].named):
                if is_parent:
                    return False
                at -= 1
            if at < 0:
                return False
            at -= 1
        return True


class _Sheet:
    """The rules of a page's `<style>` elements that may hide text, by the rarest part of their last compound."""

    def __init__(self, html: bytes, lower: bytes) -> None:
        self.rules: dict[str, list[_Rule]] = {}
        self.hides = False
        """Whether a rule alone may hide text; if not, rules are asked only about elements with a style of their own."""
        self._count = self._bytes = 0
        is_linked = _IS_LINKED.search(html) is not None
        self.ground: _Colour | None = None if is_linked else _WHITE
        """The colour behind the page; `None` if a style sheet that is not read may give it."""
        if b"<style" in lower:
            for attributes, source in _SHEET.findall(html):
                if self._bytes < _MAX_SHEETS and _is_for_screens(_media_of(attributes)):
                    self._bytes += len(source)
                    self._read(source[:_MAX_SHEETS].decode("utf-8", "replace"))

    def _read(self, source: str) -> None:
        opened: list[tuple[str, bool]] = []  # selectors; whether rules inside count
        for text, brace in _BRACE.findall(_COMMENT.sub("", source)):
            does_count = opened[-1][1] if opened else True
            if brace == "{":
                selectors = text.rpartition(";")[2].strip()
                opened.append((selectors, does_count and _is_for_all(selectors)))
            elif brace and opened:
                selectors, _ = opened.pop()
                if len(opened) < _MAX_AROUND and (not opened or opened[-1][1]):
                    self._add(selectors, text)

    def _add(self, selectors: str, body: str) -> None:
        style = _declared(body) if self._count < MAX_RULES and not selectors.startswith("@") else None
        if not style:
            return
        self.hides |= (
            "color" in style or style.get("visibility") in _INVISIBLE or _is_tiny(style) or bool(_trick_of(style))
        )
        for selector in selectors.split(","):
            rule = _rule(selector.strip(), style, self._count)
            self._count += 1
            if self._count >= MAX_RULES:
                return
            if rule is not None:
                last = rule.last
                key = f"#{last.id}" if last.id else f".{min(last.classes)}" if last.classes else last.tag
                self.rules.setdefault(key, []).append(rule)

    def rules_for(self, element: _Named) -> list[_Rule]:
        """The rules that may be about an element."""
        rules = self.rules
        keys = [element.tag, ""]
        keys += [f".{name}" for name in element.classes]
        if element.id:
            keys.append(f"#{element.id}")
        return [rule for key in keys if key in rules for rule in rules[key]]


def _style_of(rules: list[_Rule]) -> _Style:
    """The declarations that win."""
    style: _Style = {}
    for rule in sorted(rules, key=lambda rule: rule.weight):
        style.update(rule.style)
    return style


def _media_of(attributes: bytes) -> str:
    """The media of a style sheet; empty: it names none."""
    found = (value for name, value in _ATTRIBUTE.findall(attributes) if name.lower() == b"media")
    return unescape(next(found, b"").strip(b"\"'").decode("utf-8", "replace"))


def _is_for_screens(media: str) -> bool:
    """Whether what has these media is for all screens, whatever their size."""
    each = [" ".join(part.lower().split()) for part in media.split(",")]
    return each == [""] or not _SCREENS.isdisjoint(each)


def _is_for_all(group: str) -> bool:
    """Whether the rules of a group are for all screens."""
    name, _, rest = group.lower().partition(" ") if group.startswith("@") else ("", "", "")
    if name == "@supports":
        return not rest.lstrip().startswith("not")
    return name == "@layer" or (name == "@media" and _is_for_screens(rest))


def _rule(selector: str, style: _Style, number: int) -> _Rule | None:
    parts = selector.replace(">", " > ").split()
    if not parts or len(parts) > _MAX_AROUND or parts[0] == ">" or parts[-1] == ">":
        return None
    compounds: list[_Compound] = []
    is_child: list[bool] = []
    for part in parts:
        if part == ">":
            is_child[-1] = True
            continue
        if not _COMPOUND.fullmatch(part):
            return None
        named = _PART.findall(part)
        classes = frozenset(name for sign, name in named if sign == ".")
        tags = [name.lower() for sign, name in named if not sign]
        ids = [name for sign, name in named if sign == "#"]
        compounds.append(_Compound(tags[0] if tags else "", classes, ids[0] if ids else ""))
        is_child.append(False)
    weight = (
        sum(bool(each.id) for each in compounds),
        sum(len(each.classes) for each in compounds),
        sum(bool(each.tag) for each in compounds),
        number,
    )
    around = tuple(zip(compounds[-2::-1], is_child[-2::-1], strict=True))
    return _Rule(weight, compounds[-1], around, style)


def _declared(source: str) -> _Style:
    """The declarations that may hide text, in lower case; of one property the last."""
    return _remembered(source) if len(source) <= _MAX_REMEMBERED else _declarations(source)


@lru_cache(maxsize=4096)
def _remembered(source: str) -> _Style:
    return _declarations(source)


def _declarations(source: str) -> _Style:
    if "&" in source:
        source = unescape(source)
    if "\\" in source:
        source = _ESCAPE.sub(lambda found: chr(int(found[1], 16) % 0x110000) if found[1] else found[2], source)
    style: _Style = {}
    for declaration in _COMMENT.sub("", source).lower().split(";"):
        name, colon, value = declaration.partition(":")
        name = name.strip()
        if colon and name in _PROPERTIES:
            style[name] = value.partition("!")[0].strip()
    return style


# ---- what a style hides


def _colour(value: str) -> _Colour | None:
    """A colour; `None` if it is not known. One that is not seen at all has negative channels."""
    value = value.strip()
    return _known_colour(value) if len(value) <= _MAX_COLOUR else None


@lru_cache(maxsize=4096)
def _known_colour(value: str) -> _Colour | None:
    if value == "transparent":
        return (-1, -1, -1)
    if value in _NAMED:
        return _NAMED[value]
    if value.startswith("#"):
        digits = value[1:]
        if len(digits) in (3, 4):
            digits = "".join(2 * digit for digit in digits)
        if len(digits) not in (6, 8) or not all(digit in "0123456789abcdef" for digit in digits):
            return None
        if len(digits) == 8 and int(digits[6:], 16) < 16:
            return (-1, -1, -1)
        return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)
    if value.startswith("rgb"):
        numbers = _NUMBER.findall(value)
        if len(numbers) < 3:
            return None
        if len(numbers) > 3 and float(numbers[3][0]) < (5 if numbers[3][1] == "%" else 0.05):
            return (-1, -1, -1)
        red, green, blue = (round(float(one) * (2.55 if unit == "%" else 1)) for one, unit in numbers[:3])
        return red, green, blue
    return None


def _ground(style: _Style, behind: _Colour | None) -> _Colour | None:
    """The colour of the ground of an element, given that behind it; `None` if it is not known."""
    written = style.get("background-color") or style.get("background")
    if "background-image" in style and style["background-image"] != "none":
        return None
    if not written:
        return behind
    if "(" in written and not written.startswith("rgb"):
        return None
    found = _colour(written if written.startswith("rgb") else written.split(" ")[0])
    if found is None:
        return behind if written in ("none", "inherit", "initial") else None
    return behind if found[0] < 0 else found


def _is_like(colour: _Colour, ground: _Colour) -> bool:
    return colour[0] < 0 or all(abs(one - other) <= _NEAR for one, other in zip(colour, ground, strict=True))


def _is_outside(value: str, *, with_window: bool = True) -> bool:
    found = _NUMBER.search(value)
    if found is None:
        return False
    number, unit = float(found[1]), found[2]
    if unit in _OF_WINDOW:
        return with_window and number <= -100
    return number <= -_LEAST_OUTSIDE.get(unit, 500.0)


def _is_at_most(value: str | None, most: float) -> bool:
    found = _NUMBER.match(value) if value else None
    return found is not None and abs(float(found[1])) <= most


def _cuts_all(style: _Style) -> bool:
    clip, path = style.get("clip", ""), style.get("clip-path", "")
    if clip.startswith("rect") and style.get("position") in ("absolute", "fixed"):
        return all(abs(float(one)) <= 1 for one, _ in _NUMBER.findall(clip))
    numbers = [(float(one), unit) for one, unit in _NUMBER.findall(path)]
    if path.startswith("inset"):
        return bool(numbers) and all(one >= 50 and unit == "%" for one, unit in numbers)
    return (
        path.startswith(("circle", "polygon", "ellipse", "rect"))
        and bool(numbers)
        and not any(one for one, _ in numbers[: 1 if path.startswith("circle") else None])
    )


def _trick_of(style: _Style) -> str:
    """How a style hides all of an element, whatever the styles inside say; empty if it does not."""
    if style.get("display") == "none" or style.get("content-visibility") == "hidden":
        return "display"
    if _is_at_most(style.get("opacity"), 0.05) or "opacity(0)" in style.get("filter", ""):
        return "opacity"
    if _cuts_all(style):
        return "clip"
    if style.get("position") in ("absolute", "fixed", "relative") and any(
        _is_outside(style[side]) for side in ("left", "right", "top", "bottom") if side in style
    ):
        return "position"
    transform = style.get("transform", "")
    if "scale(0)" in transform or ("translate" in transform and _is_outside(transform, with_window=False)):
        return "size" if "scale(0)" in transform else "position"
    if any(
        _is_outside(style[side], with_window=False)
        for side in ("text-indent", "margin-left", "margin-top")
        if side in style
    ):
        return "position"
    overflow = " ".join(style.get(name, "") for name in ("overflow", "overflow-x", "overflow-y"))
    if "hidden" in overflow or "clip" in overflow:
        sides = ("height", "width", "max-height", "max-width")
        if any(_is_at_most(style.get(side), 1) and not style[side].endswith(("em", "%")) for side in sides) or any(
            _is_at_most(style.get(side), 0) for side in sides
        ):
            return "size"
    return ""


def _is_tiny(style: _Style) -> bool:
    size = _FONT_SIZE.search(style.get("font-size") or style.get("font", ""))
    return size is not None and float(size[1]) <= (1.0 if size[2] in ("px", "pt") else 0.0)


# ---- reading

_BLOCKS, _BARRIERS = "<block>", "<barrier>"
_OVER_BARRIERS: Final = frozenset({"table", "tr", "tbody", "thead", "tfoot"})


@lru_cache(maxsize=1024)
def _kinds(tag: str) -> tuple[str, ...]:
    """A tag, and what else its elements are."""
    flags = FLAGS.get(tag, 0)
    if not flags & (BLOCK | BARRIER):
        return (tag,)
    return (tag, *([_BLOCKS] if flags & BLOCK else []), *([_BARRIERS] if flags & BARRIER else []))


class _Open(NamedTuple):
    """An open element. `trick` hides all of it; the others are inherited, and an element inside may differ."""

    named: _Named
    trick: str
    is_invisible: bool
    is_tiny: bool
    colour: _Colour | None
    ground: _Colour | None

    def hides(self) -> str:
        """How the text of the element is hidden; empty if it is not."""
        if self.trick:
            return self.trick
        if self.is_invisible:
            return "visibility"
        if self.is_tiny:
            return "font-size"
        colour, ground = self.colour, self.ground
        if colour is not None and (colour[0] < 0 or (ground is not None and _is_like(colour, ground))):
            return "colour"
        return ""


class _Reading:
    """A pass over a page: the spans of hidden text, and its characters by trick.

    If no rule of the page hides text, only elements that may hide text by themselves are read, with what is in them.
    """

    def __init__(self, html: bytes, sheet: _Sheet, places: list[int], doubted: frozenset[str]) -> None:
        self.spans: list[tuple[int, int]] = []
        self.characters = Counter[str]()
        self._sizes = Counter[str]()
        self._html, self._sheet, self._places, self._doubted = html, sheet, places, doubted
        self._stack: list[_Open] = []
        self._open_at: dict[str, list[int]] = {}
        """Where in the stack elements are, by tag, and by `_KINDS`."""
        self._left = _MAX_COMPARED + _COMPARED_A_BYTE * len(html)
        root = _Named("", frozenset(), "")
        self._root = _Open(root, "", False, False, None, sheet.ground)
        self._known: dict[tuple[str, bytes], tuple[_Named, _Style, str]] = {}
        if not sheet.hides and (body := _BODY.search(html)) and body[2]:
            self._root = self._opened("body", body[1])
        self._read()

    def doubted(self) -> frozenset[str]:
        """The tricks that would hide most of the page."""
        large = {trick: size for trick, size in self._sizes.items() if size > _LEAST_DOUBTED}
        total = len(b" ".join(_TAG.sub(b" ", self._html).split())) if large else 0
        return frozenset(trick for trick, size in large.items() if size * 4 > total * 3)

    def _read(self) -> None:
        html, at, hidden = self._html, 0, ""
        while found := _TOKEN.search(html, at if self._stack else self._next(at)):
            start, end = found.span()
            if hidden and start > at:
                self._add_text(at, start, hidden)
            tag = found[2].lower().decode()
            if found[1]:
                self._close(tag)
            else:
                self._open(tag, found[3], start, end, hidden)
            hidden = self._stack[-1].hides() if self._stack else ""
            if hidden in self._doubted:
                hidden = ""
            at = end
        if hidden and at < len(html):
            self._add_text(at, len(html), hidden)

    def _next(self, at: int) -> int:
        """Where the next element begins that may hide text."""
        if self._sheet.hides:
            return at
        number = bisect_left(self._places, at)
        return self._places[number] if number < len(self._places) else len(self._html)

    def _add_text(self, start: int, end: int, hidden: str) -> None:
        text = b" ".join(self._html[start:end].split())
        if text:
            self._sizes[hidden] += len(text)
            self.characters[hidden] += len(text.decode("utf-8", "replace"))
            self.spans.append((start, end))

    def _open(self, tag: str, written: bytes, start: int, end: int, hidden: str) -> None:
        flags = FLAGS.get(tag, 0)
        if flags & CLOSES_P:
            self._close_paragraph()
        if tag in _IMPLIED:
            self._close_implied(*_IMPLIED[tag])
        if flags & VOID:
            if hidden and tag in ("img", "image"):
                self.spans.append((start, end))
        elif len(self._stack) < _MAX_OPEN:
            opened = self._opened(tag, written)
            for kind in _kinds(tag):
                self._open_at.setdefault(kind, []).append(len(self._stack))
            self._stack.append(opened)

    def _opened(self, tag: str, written: bytes) -> _Open:
        around = self._stack[-1] if self._stack else self._root
        if not self._sheet.rules and tag != "dialog" and not _SEEN_ATTRIBUTES.search(written):
            return around._replace(named=_Named(tag, frozenset(), ""))
        key = (tag, written)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _read_attributes(tag, written)
        named, inline, trick = known
        style = {**self._ruled(named), **inline} if self._sheet.rules else inline
        if not style and not trick:
            return around._replace(named=named)
        return _styled(named, style, around, trick, self._doubted)

    def _ruled(self, named: _Named) -> _Style:
        """The style of an element by the rules of the page, while they may still be compared."""
        rules = self._sheet.rules_for(named)
        self._left -= len(rules)
        if self._left < 0:
            return {}
        fitting = [rule for rule in rules if rule.last.fits(named)]
        if any(rule.around for rule in fitting):
            self._left -= len(self._stack) * len(fitting)
            fitting = [rule for rule in fitting if rule.is_in(self._stack)] if self._left >= 0 else []
        return _style_of(fitting) if fitting else {}

    def _last(self, kind: str) -> int:
        """Where in the stack the last element of a kind is; -1: none is open."""
        places = self._open_at.get(kind)
        return places[-1] if places else -1

    def _end(self, place: int) -> None:
        """End an element, and all that are open in it."""
        for ended in reversed(self._stack[place:]):
            for kind in _kinds(ended.named.tag):
                self._open_at[kind].pop()
        del self._stack[place:]

    def _close(self, tag: str) -> None:
        place, barrier = self._last(tag), -1 if tag in _OVER_BARRIERS else self._last(_BARRIERS)
        if place >= 0 and place >= barrier:
            self._end(place)
        elif barrier < 0 and tag != "p" and FLAGS.get(tag, 0) & BLOCK and not self._sheet.hides:
            self._end(0)  # an element around ends

    def _close_paragraph(self) -> None:
        place = self._last("p")
        if place >= 0 and place >= self._last(_BLOCKS):
            self._end(place)

    def _close_implied(self, ended: frozenset[str], stops: frozenset[str]) -> None:
        place = max(map(self._last, ended))
        if place >= 0 and place >= max(map(self._last, stops)):
            self._end(place)


def _read_attributes(tag: str, written: bytes) -> tuple[_Named, _Style, str]:
    """What selectors ask of an element, its inline style, and how an attribute hides it."""
    attributes: dict[str, str] = {}
    for name, value in _ATTRIBUTE.findall(written):
        attributes.setdefault(name.lower().decode("utf-8", "replace"), value.strip(b"\"'").decode("utf-8", "replace"))
    classes = frozenset(attributes.get("class", "").split())
    named = _Named(tag, classes, attributes.get("id", ""))
    style = {}
    for name, value in (("color", attributes.get("color" if tag == "font" else "text", "")),):
        if value and tag in ("font", "body"):
            style[name] = value.lower()
    if "bgcolor" in attributes:
        style["background-color"] = attributes["bgcolor"].lower()
    style |= _declared(attributes.get("style", ""))
    trick = ""
    if "hidden" in attributes or "popover" in attributes or (tag == "dialog" and "open" not in attributes):
        trick = "hidden"
    elif attributes.get("aria-hidden", "").strip().lower() == "true":
        trick = "aria-hidden"
    elif classes & _CLASSES:
        trick = "class"
    return named, style, trick


def _styled(named: _Named, style: _Style, around: _Open, trick: str, doubted: Iterable[str]) -> _Open:
    """An element inside of another, with its style."""
    if not around.trick:
        tricks: Iterator[str] = (each for each in (trick, _trick_of(style)) if each and each not in doubted)
        trick = next(tricks, "")
    else:
        trick = around.trick
    invisible, tiny, colour = around.is_invisible, around.is_tiny, around.colour
    if visibility := style.get("visibility"):
        invisible = visibility in _INVISIBLE if visibility != "inherit" else invisible
    if size := _FONT_SIZE.search(style.get("font-size") or style.get("font", "")):
        tiny = (tiny and size[2] in _OF_FONT) or _is_tiny(style)
    if written := style.get("color"):
        colour = colour if written in ("inherit", "currentcolor") else _colour(written)
        is_filled = "text" in style.get("background-clip", "") + style.get("-webkit-background-clip", "")
        if colour is not None and colour[0] < 0 and (is_filled or "text-shadow" in style):
            colour = None
    ground = _ground(style, around.ground)
    if named.tag in ("html", "body"):  # nobody hides all of a page from everyone
        return _Open(named, "", False, False, colour, ground)
    return _Open(named, trick, invisible, tiny, colour, ground)
