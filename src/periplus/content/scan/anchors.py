"""Links as written, `<a>`, `<area>`, `<iframe>` and `<frame>`, with their texts; and pictures, films and sound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .columns import MAX_ANCHOR, MAX_LINKS, MAX_MEDIA
from .markup import Tag, is_to_itself
from .references import decode_references, decode_text, decode_value
from .state import NONE, Page
from .tags import NUMBERS

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


def start_anchor(page: Page, tag: Tag) -> None:
    """`<a>`: without a target, too, it ends the link before it."""
    page.is_split = False
    if tag.href is not None:
        _open_link(page, tag.href, tag.rel, tag.is_to_itself)
    elif page.is_linked:
        close_anchor(page)


def close_anchor(page: Page, _: Tag | None = None) -> None:
    """`</a>`, or the end of an element that a link does not reach beyond."""
    if page.is_linked:
        page.link = NONE
        page.is_split = page.is_linked = False
        find_sinks(page)


def open_link_again(page: Page) -> None:
    """An element around the open link has ended before it: the HTML Standard opens the link again for the next text."""
    page.is_split = False
    _open_link(page, page.hrefs[page.link], page.rels.get(page.link, ""), page.is_link_to_itself)


def add_other_link(page: Page, tag: Tag) -> None:
    """`<area>`, `<iframe>`, `<frame>`: an area leads to the page itself if its href is empty, a frame nowhere."""
    kind, target, text = _KINDS[tag.number]
    href = tag.raw.get(target)
    if target not in tag.raw or not (href or kind == 1):
        return
    number = _add_row(page, decode_references(href or b""), tag.value(b"rel"), is_to_itself(href))
    if number != NONE:
        page.kinds[number] = kind
        page.labels[number] = tag.raw.get(text) or b""


def add_medium(page: Page, tag: Tag) -> None:
    """`<img>`, `<video>`, `<audio>`, `<source>`. A picture may stand for the text of the link around it."""
    if page.link != NONE and tag.number in _IMAGES and b"alt" in tag.raw:
        page.pictures.setdefault(page.link, tag.raw[b"alt"] or b"")
    if len(page.media) <= MAX_MEDIA:
        page.media.append(tag.medium())


def find_sinks(page: Page) -> None:
    """Determine again what gets the text that follows, besides the page."""
    sinks = () if page.link == NONE else (page.texts[page.link],)
    page.sinks = sinks if page.text_owner == NONE else (*sinks, page.form_texts[page.text_owner])


def _open_link(page: Page, href: bytes, rel: str, is_to_itself: bool) -> None:
    page.is_linked = True
    page.is_link_to_itself = is_to_itself
    page.link_depth = len(page.stack)
    page.link = _add_row(page, href, rel, is_to_itself)
    find_sinks(page)


def _add_row(page: Page, href: bytes, rel: str, is_to_itself: bool) -> int:
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
    page.hrefs.append(href)
    page.texts.append([])
    page.link_elements.append(page.element)
    return number


def anchor_texts(page: Page) -> list[str]:
    """The texts of all links: what is written in them, or else what their first picture says."""
    texts = fold_pieces(page, page.texts)
    for number, picture in page.pictures.items():
        texts[number] = texts[number] or folded(decode_value(picture))
    for number, label in page.labels.items():
        texts[number] = folded(decode_value(label))
    return texts


def fold_pieces(page: Page, written: Sequence[Sequence[bytes]]) -> list[str]:
    """Texts made of pieces of the page, white space folded: all at once, because there are many, and most are short."""
    joined = _TEXT_SIGN.join([_PIECE_SIGN.join(pieces) for pieces in written])
    decoded = decode_text(joined)
    texts = decoded.translate(None, _PIECE_SIGN).split(_TEXT_SIGN)
    if page.has_signs or len(texts) != len(written) or decoded.count(_PIECE_SIGN) != joined.count(_PIECE_SIGN):
        texts = [b"".join(map(decode_text, pieces)) for pieces in written]
    return [folded(text.decode("utf-8", "replace")) for text in texts]


def folded(text: str) -> str:
    """At most as many characters as are kept of an anchor, white space folded."""
    return " ".join(text.split())[:MAX_ANCHOR]
