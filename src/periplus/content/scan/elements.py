"""Links as written, `<a>`, `<area>`, `<iframe>` and `<frame>`, with their texts; and pictures, films and sound."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from .columns import (
    IN_NEXT,
    IN_PREVIOUS,
    MARKED_NEXT,
    MAX_ANCHOR,
    MAX_FORMS,
    MAX_LINKS,
    MAX_MEDIA,
    MAX_REDIRECT_PAGE,
    MAX_SCRIPT,
    META_EQUIVALENTS,
    META_NAMES,
    FormElement,
    HeadElement,
)
from .hints import NEXT, PREVIOUS
from .markup import Tag, is_to_itself
from .state import NONE, PageScan
from .tags import FORM_PART, NUMBERS, numbers_of, numbers_with
from .tokens import decode_references, decode_text, decode_value

_IMAGES: Final = frozenset((NUMBERS["img"], NUMBERS["image"]))
_KINDS: Final = {
    NUMBERS["area"]: (1, b"href", b"alt"),
    NUMBERS["iframe"]: (2, b"src", b"title"),
    NUMBERS["frame"]: (3, b"src", b"title"),
}
"""For links that are not `<a>`: position in `model.LinkKind`, the attribute with the target, that with a text."""
_PIECE_SIGN: Final = b"\x01"
"""Between two pieces of a text, so that no reference comes about; removed in the end."""
_TEXT_SIGN: Final = b"\x02"
"""Between two texts."""


def start_anchor(page: PageScan, tag: Tag) -> None:
    """`<a>`: without a target, too, it ends the link before it."""
    page.is_split = False
    if tag.href is not None:
        page.link_tag = tag
        _open_link(page, tag.href, tag.rel, tag.mark, tag.is_to_itself)
    elif page.is_linked:
        close_anchor(page)


def close_anchor(page: PageScan, _: Tag | None = None) -> None:
    """`</a>`, or the end of an element that a link does not reach beyond."""
    if page.is_linked:
        page.link = NONE
        page.is_split = page.is_linked = False
        find_sinks(page)


def open_link_again(page: PageScan) -> None:
    """An element around the open link has ended before it: the HTML Standard opens the link again for the next text."""
    page.is_split = False
    mark = page.marks.get(page.link, 0) & MARKED_NEXT
    _open_link(page, page.hrefs[page.link], page.rels.get(page.link, ""), mark, page.is_link_to_itself)


def add_other_link(page: PageScan, tag: Tag) -> None:
    """Add the link of an `<area>`, `<iframe>` or `<frame>`; an empty one is to the page itself, of a frame nowhere."""
    kind, target, text = _KINDS[tag.number]
    href = tag.raw.get(target)
    if target not in tag.raw or not (href or kind == 1):
        return
    number = _add_row(page, decode_references(href or b""), tag.value(b"rel"), 0, is_to_itself(href))
    if number != NONE:
        page.kinds[number] = kind
        page.labels[number] = tag.raw.get(text) or b""


def add_medium(page: PageScan, tag: Tag) -> None:
    """`<img>`, `<video>`, `<audio>`, `<source>`. A picture may stand for the text of the link around it."""
    if page.link != NONE and tag.number in _IMAGES and b"alt" in tag.raw:
        page.pictures.setdefault(page.link, tag.raw[b"alt"] or b"")
    if len(page.media) <= MAX_MEDIA:
        page.media.append(tag.medium())


def find_sinks(page: PageScan) -> None:
    """Determine again what gets the text that follows, besides the page."""
    sinks = () if page.link == NONE else (page.texts[page.link],)
    page.sinks = sinks if page.text_owner == NONE else (*sinks, page.form_texts[page.text_owner])


def _open_link(page: PageScan, href: bytes, rel: str, mark: int, is_to_itself: bool) -> None:
    page.is_linked = True
    page.is_link_to_itself = is_to_itself
    page.link_depth = len(page.stack)
    page.link = _add_row(page, href, rel, mark, is_to_itself)
    find_sinks(page)


def _add_row(page: PageScan, href: bytes, rel: str, mark: int, is_to_itself: bool) -> int:
    """Add a link. Returns its number, none if there are too many of its kind: to the page itself, and to others."""
    number = len(page.hrefs)
    if is_to_itself:
        if len(page.own_links) >= MAX_LINKS:
            return NONE
        page.own_links.append(number)
    elif number - len(page.own_links) > MAX_LINKS:
        return NONE
    if rel:
        page.rels[number] = rel
    around = page.elements[page.element][1]
    if around is not None and around.hints & (NEXT | PREVIOUS):
        mark |= (around.hints & NEXT and IN_NEXT) | (around.hints & PREVIOUS and IN_PREVIOUS)
    if mark:
        page.marks[number] = mark
    page.hrefs.append(href)
    page.texts.append([])
    page.link_elements.append(page.element)
    return number


def anchor_texts(page: PageScan) -> list[str]:
    """The texts of all links: what is written in them, or else what their first picture says."""
    texts = fold_pieces(page, page.texts)
    for number, picture in page.pictures.items():
        texts[number] = texts[number] or folded(decode_value(picture))
    for number, label in page.labels.items():
        texts[number] = folded(decode_value(label))
    return texts


def fold_pieces(page: PageScan, written: Sequence[Sequence[bytes]]) -> list[str]:
    """Texts made of pieces of the page, white space folded: all at once, because there are many, and most are short."""
    joined = _TEXT_SIGN.join([_PIECE_SIGN.join(pieces) for pieces in written])
    decoded = decode_text(joined)
    texts = decoded.decode("utf-8", "replace").replace(_PIECE_SIGN.decode(), "").split(_TEXT_SIGN.decode())
    if page.has_signs or len(texts) != len(written) or decoded.count(_PIECE_SIGN) != joined.count(_PIECE_SIGN):
        texts = ["".join([decode_text(piece).decode("utf-8", "replace") for piece in pieces]) for pieces in written]
    return [folded(text) for text in texts]


def folded(text: str) -> str:
    """At most as many characters as are kept of an anchor, white space folded."""
    return " ".join(text.split())[:MAX_ANCHOR]


MAX_FORM_ELEMENTS: Final = 20_000
"""Elements of forms that are reported of a page."""
_CONTROLS: Final = numbers_of("input", "select", "textarea", "button")
_OWNERS: Final = numbers_of("label", "option", "button")
"""The innermost of these owns the text inside."""
_HOLDERS: Final = numbers_of("select", "datalist")
_OPTION: Final = NUMBERS["option"]
_LABEL: Final = NUMBERS["label"]
_FIELDSET: Final = NUMBERS["fieldset"]
_LEGEND: Final = NUMBERS["legend"]
TRACKED: Final = frozenset(numbers_with(FORM_PART)) | {_FIELDSET, _LEGEND}
"""Elements that change the state of forms where they begin and end."""
_IS_DISABLED: Final = 1
"""A flag of `PageScan.fieldset`: controls here are disabled."""
_IS_DISABLED_OUTSIDE: Final = 2
"""A flag of `PageScan.fieldset`: controls around the innermost fieldset are disabled."""
_HAS_LEGEND: Final = 4
"""A flag of `PageScan.fieldset`: the innermost fieldset has had its first legend."""


def add_form_element(page: PageScan, tag: Tag) -> int:
    """Report an element, unless it is a control of a disabled fieldset. Returns its position in the list."""
    position = len(page.forms)
    number = tag.number
    if position >= MAX_FORM_ELEMENTS or (number in _CONTROLS and page.fieldset & _IS_DISABLED):
        return NONE
    inside = page.options if number == _OPTION else page.label if number in _CONTROLS else NONE
    page.forms.append(FormElement(tag.name, tag.attributes, page.form, inside, ""))
    return position


def start_form(page: PageScan, tag: Tag) -> None:
    """Start a form: what follows belongs to it up to its end tag, however elements are nested."""
    page.is_form_open = True
    if page.form_count <= MAX_FORMS:
        position = add_form_element(page, tag)
        page.form = NONE if position == NONE else page.form_count
        page.form_count += 1


def end_form(page: PageScan) -> None:
    """End the form at `</form>`, wherever it stands."""
    page.is_form_open = False
    page.form = NONE


def enter_form_part(page: PageScan, tag: Tag, position: int) -> None:
    """A part of a form was put on the stack: text may be its own from here on, and what follows may be inside it."""
    number = tag.number
    page.outer.append((page.text_owner, page.label, page.options, page.fieldset))
    if number in _OWNERS:
        page.text_owner = position
        if position != NONE:
            page.form_texts[position] = []
        find_sinks(page)
    if number == _LABEL:
        page.label = position
    elif number in _HOLDERS:
        page.options = position
    elif number == _FIELDSET:
        is_disabled = page.fieldset & _IS_DISABLED
        page.fieldset = is_disabled and _IS_DISABLED_OUTSIDE
        page.fieldset |= is_disabled or ("disabled" in tag.attributes and _IS_DISABLED)
    elif number == _LEGEND and page.stack[-2] == _FIELDSET and not page.fieldset & _HAS_LEGEND:
        is_outside = page.fieldset & _IS_DISABLED_OUTSIDE
        page.fieldset = _HAS_LEGEND | (is_outside and _IS_DISABLED | _IS_DISABLED_OUTSIDE)


def leave_form_parts(page: PageScan, closed: bytearray) -> None:
    """The elements with these tags are closed."""
    count = sum(1 for number in closed if number in TRACKED)
    if count:
        page.text_owner, page.label, page.options, page.fieldset = page.outer[-count]
        if closed[0] == _LEGEND and page.stack[-len(closed) - 1] == _FIELDSET:
            page.fieldset |= _HAS_LEGEND
        del page.outer[-count:]
        find_sinks(page)


def add_textarea(page: PageScan, tag: Tag, content: bytes) -> None:
    """Add a textarea with its content: a first line break does not count."""
    position = add_form_element(page, tag)
    if position != NONE:
        text = decode_text(content).decode("utf-8", "replace")
        text = text.removeprefix("\r\n") if text.startswith("\r\n") else text[text[:1] in ("\n", "\r") :]
        page.forms[position] = page.forms[position]._replace(content=text[:MAX_ANCHOR])


def form_elements(page: PageScan) -> list[FormElement]:
    """All of them, with the texts of labels, options and buttons."""
    forms = page.forms
    texts = fold_pieces(page, list(page.form_texts.values()))
    for position, text in zip(page.form_texts, texts, strict=True):
        forms[position] = forms[position]._replace(content=text)
    return forms


_WORDS: Final = re.compile(rb"[^\t\n\f\r ]+")
_RELATIONS: Final = frozenset({b"canonical", b"next", b"prev", b"previous", b"amphtml", b"alternate", b"feed"})
"""Words of a `rel` that concern another page; most links are to stylesheets and icons."""
MAX_METAS: Final = 1000
MAX_HEAD_LINKS: Final = 2000
"""Elements of a kind that are reported of a page."""
MAX_TITLE: Final = 8000
"""Characters of the title as written."""


_STRIPPED: Final = bytes(code for code in range(0x80) if chr(code).isspace())
"""White space of ASCII."""
_META_NAMES: Final = frozenset(name.encode() for name in META_NAMES)
_META_EQUIVALENTS: Final = frozenset(name.encode() for name in META_EQUIVALENTS)


def add_head_element(page: PageScan, tag: Tag) -> None:
    """Report an element, if it is relevant."""
    if _is_reported(page, tag):
        head = page.head
        elements = {"html": head.html, "meta": head.metas, "link": head.links, "base": head.bases}[tag.name]
        elements.append(HeadElement(tag.name, tag.attributes, page.is_in_noscript, ""))


def add_script(page: PageScan, tag: Tag, content: bytes) -> None:
    """Add a small script in a small page: it may redirect, by its location."""
    if b"location" in content and len(page.html) <= MAX_REDIRECT_PAGE and b"src" not in tag.raw:
        source = content.decode("utf-8", "replace")
        if len(source) <= MAX_SCRIPT:
            page.head.scripts.append(HeadElement("script", tag.attributes, page.is_in_noscript, source))


def title_of(page: PageScan) -> str:
    """The first title, references decoded."""
    return decode_text(page.title or b"").decode("utf-8", "replace")[:MAX_TITLE]


def _is_reported(page: PageScan, tag: Tag) -> bool:
    raw = tag.raw
    match tag.name:
        case "meta":
            name, equivalent = raw.get(b"name") or raw.get(b"property") or b"", raw.get(b"http-equiv") or b""
            if not (name or equivalent) or not raw.get(b"content"):
                return False
            page.metas += 1
            is_read = _may_be_one_of(name, _META_NAMES) or _may_be_one_of(equivalent, _META_EQUIVALENTS)
            is_reported = page.metas <= MAX_METAS and is_read
        case "link":
            words = _WORDS.findall((raw.get(b"rel") or b"").lower())
            is_reported = not _RELATIONS.isdisjoint(words) and page.head_links < MAX_HEAD_LINKS
            page.head_links += is_reported
        case "html":
            is_reported = not page.has_language and (b"lang" in raw or b"xml:lang" in raw)
            page.has_language |= is_reported
        case _:
            is_reported = not page.has_base and not page.is_in_noscript and b"href" in raw
            page.has_base |= is_reported
    return is_reported


def _may_be_one_of(name: bytes, words: frozenset[bytes]) -> bool:
    """Whether a name is one of some words; one with references or beyond ASCII is decided where it is decoded."""
    return b"&" in name or not name.isascii() or name.strip(_STRIPPED).lower() in words
