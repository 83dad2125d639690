"""The result of one pass over a page: columns, in the order of the document.

Both scanners (`native` and `python`) return these values, equal field by field, but for `urls` and `unresolved`: the
native scanner resolves the links that need no URL parser, the Python scanner leaves all of them to `urls.resolve_all`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

MAX_TEXT: Final = 1 << 20
"""Maximum bytes of text kept for a page."""
MAX_LINKS: Final = 10_000
"""Links of a page; scanners report at most one more, which says that there were too many. As for `MAX_MEDIA`."""
MAX_MEDIA: Final = 10_000
MAX_ANCHOR: Final = 256
"""Characters of the text of a link, a label, an option or a button."""
MAX_FORMS: Final = 100
"""Forms of a page; scanners report at most one more."""
MAX_SCRIPT: Final = 2000
"""Characters of an inline script that is reported, and only in a page of at most `MAX_REDIRECT_PAGE` bytes."""
MAX_REDIRECT_PAGE: Final = 1 << 14
"""A page that only redirects is small; the scripts of larger ones are not reported."""

Attributes = dict[str, str | None]
"""Attributes by lower-case name, the first of each name; `None` where no value is written."""


class HeadElement(NamedTuple):
    """An `<html>`, `<meta>`, `<link>`, `<base>` or small inline `<script>` element."""

    tag: str
    attributes: Attributes
    is_in_noscript: bool
    content: str
    """The source of a script, otherwise empty."""


class Medium(NamedTuple):
    """An `<img>`, `<video>`, `<audio>` or `<source>` element; attributes that are missing are empty."""

    tag: str
    src: str
    poster: str
    srcset: str
    alt: str


class FormElement(NamedTuple):
    """A form, or something of a form, wherever the page writes it.

    Tags: form, input, select, textarea, button, option, label, datalist. `form` is the number of the `<form>` that was
    open when the element started, as the form element pointer of the HTML Standard says (nesting in tables and blocks
    does not matter); -1 outside of forms. `inside` is the position in this list of the select or datalist that an
    option belongs to, or of the label around a control; otherwise -1.
    """

    tag: str
    attributes: Attributes
    form: int
    inside: int
    content: str
    """The text of a label, option, button or textarea: character references decoded, and bounded; white space is
    folded except in a textarea."""


class EventKind(IntEnum):
    """Kinds of layout events."""

    OPEN = 0
    CLOSE = 1
    TEXT = 2


class Event(NamedTuple):
    """One step through the visible part of a page, for writers of Markdown and text.

    OPEN and CLOSE carry the tag and (OPEN) the attributes that writers use: href, src, alt, class, title, start,
    colspan, rowspan, id. Elements that end implicitly (a paragraph at the next heading, list items, cells) are closed
    by the scanner; inline elements are reported where they stand and may be unbalanced. TEXT carries the text as
    written, character references decoded, white space untouched, and whether its block belongs to the main text.
    """

    kind: EventKind
    value: str
    attributes: Attributes | None
    is_main: bool


class Columns(NamedTuple):
    """A page after one pass."""

    text: bytes
    """All visible text in UTF-8, white space folded, at most `MAX_TEXT` bytes."""
    main: bytes
    """The main text (see `main_text`), blocks separated by a space."""
    is_cut: bool
    """Whether text was left out because there was too much."""
    title: str
    urls: list[str | None]
    """The target of each link where the scanner resolved it; `None`: see `unresolved`."""
    anchors: list[str]
    """The text of each link: white space folded, at most 256 characters."""
    rels: dict[int, str]
    """The `rel` attribute as written, by the number of the link, where it is not empty."""
    kinds: dict[int, int]
    """The position in `LinkKind` by the number of the link, where it is not an `<a>`."""
    unresolved: list[tuple[int, str]]
    """Number and `href` (references decoded) of each link that is left to the URL parser."""
    media: list[Medium]
    head: list[HeadElement]
    forms: list[FormElement]
    sketch: bytes | None
    """MinHash sketch of the main text; `None` where `sketch.sketches_of` has to compute it."""
    blocks: list[tuple[int, bytes]]
    """The way to each part of the page and what stands there (see `folding`), if they were asked for: `content.churn`
    packs them."""
    events: list[Event]
    """The layout, if it was requested."""
    own: list[int]
    """The numbers of the links whose `href` is empty or a bare fragment, ascending: links to the page itself, unless it
    has another base."""
