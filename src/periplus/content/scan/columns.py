"""The result of one pass over a page: columns, in the order of the document.

Both scanners (`native` and `python`) return these values, equal field by field, but for `urls` and `unresolved`: the
native scanner resolves the links that need no URL parser, the Python scanner leaves all of them to `urls.resolve_all`;
and for `sketch`, `masked`, `targets` and `counts`, which the Python scanner leaves to other modules of `content`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

TEXT_RULE: Final = 6
"""The number of the rule by which main text and blocks are found, from 1 to 63.

To be raised with every change after which the same page has another main text, other blocks or another sketch.
"""
VALUES: Final = 128
"""Values of a sketch."""
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

MARKED_NEXT: Final = 1
"""The `class`, `id`, `title` or `aria-label` of an `<a>` has the word "next" in it."""
IN_NEXT: Final = 2
"""A class or the `id` of the element around a link has it; inline elements do not count."""
IN_PREVIOUS: Final = 4
"""The same with "prev"."""

META_NAMES: Final = frozenset(
    {"description", "og:description", "twitter:description", "robots", "periplus", "tdm-reservation", "tdm-policy"}
)
"""The `name` or `property` of `<meta>` elements that are read, in lower case. `native/head.h` has the same words."""
META_EQUIVALENTS: Final = frozenset({"refresh", "content-language"})
"""The `http-equiv` of `<meta>` elements that are read, in lower case."""

PERMALINK_CLASSES: Final = frozenset(
    {
        *("anchor", "anchor-link", "anchorjs-link", "hash-link", "header-anchor", "header-link", "headeranchor"),
        *("headeranchor-link", "headerlink", "heading-anchor", "heading-link", "headinganchor", "headinglink"),
        "permalink",
    }
)
"""Classes of links that are there to be copied. `native/text.h` has the same."""

Attributes = dict[str, str | None]
"""Attributes by lower-case name, the first of each name; `None` where no value is written."""


class HeadElement(NamedTuple):
    """An `<html>`, `<meta>`, `<link>`, `<base>` or small inline `<script>` element."""

    tag: str
    attributes: Attributes
    is_in_noscript: bool
    content: str
    """The source of a script, otherwise empty."""


class Head(NamedTuple):
    """The head elements of a page by tag, each in document order.

    Scanners leave out what is not read: `<meta>` elements of other names than `META_NAMES` and `META_EQUIVALENTS`,
    `<link>` elements without a relation to another page, and scripts without the word "location".
    """

    html: list[HeadElement]
    metas: list[HeadElement]
    links: list[HeadElement]
    bases: list[HeadElement]
    scripts: list[HeadElement]


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
    colspan, rowspan, id, name. Elements that end implicitly (a paragraph at the next heading, list items, cells) are
    closed by the scanner; inline elements are reported where they stand and may be unbalanced. TEXT carries the text as
    written, character references decoded, white space untouched, and whether its block belongs to the main text.
    """

    kind: EventKind
    value: str
    attributes: Attributes | None
    is_main: bool


class ScannedSection(NamedTuple):
    """A heading, or a term of a definition, in the main text: bytes before it there, and bytes of it."""

    start: int
    size: int
    level: int
    """From 1 to 6 for headings, 7 for terms."""
    anchor: str
    """What a link to it has behind "#", references decoded; empty if there is none."""


TextCounts = tuple[int, int, int, int, int]
"""Of the beginnings of a text and a main text: spaces; words, distinct words, most uses of one word, common words."""


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
    marks: dict[int, int]
    """`MARKED_NEXT`, `IN_NEXT` and `IN_PREVIOUS` by the number of the link, where one of them holds."""
    unresolved: list[tuple[int, str]]
    """Number and `href` (references decoded) of each link that is left to the URL parser."""
    media: list[Medium]
    head: Head
    forms: bytes
    """A list of `FormElement` as MessagePack, so that `forms` can tell whether it has read the same forms before; empty
    if the page has no `<form>`."""
    sketch: bytes | None
    """MinHash sketch of the main text, with the mark of `TEXT_RULE`; `None` where `sketch.sketches_of` has to compute
    it."""
    blocks: list[tuple[int, bytes]]
    """The way to each part of the page and what stands there (see `folding`), if they were asked for: `content.churn`
    packs them."""
    events: list[Event]
    """The layout, if it was requested."""
    own: list[int]
    """The numbers of the links whose `href` is empty or a bare fragment, ascending: links to the page itself, unless it
    has another base."""
    masked: bytes | None
    """The main text with volatile words masked; `None` where `digests.masked` has to mask them."""
    targets: bytes | None
    """The different targets of the links that do not lead to the page itself, sorted, a newline between two; `None`
    where a target is left to the URL parser, or where there are too many links."""
    counts: TextCounts | None
    """Counts of the text and the main text, or of the text alone where there is no main text; `None` where
    `statistics.text_counts_in_python` has to count."""
    anchor_words: int
    """Words of `anchors`, split at spaces; an anchor without text counts as one."""
    sections: list[ScannedSection]
    """The sections of the main text, if they were asked for."""


class ListedTag(NamedTuple):
    """A start tag. `start` and `end` are where its content is: of links, headings, and elements without tags inside.

    `is_named`: a link or heading that has text, or a picture or an attribute with a name for it.
    """

    name: str
    line: int
    attributes: Attributes
    start: int
    end: int
    is_named: bool
    is_in_noscript: bool


class TagList(NamedTuple):
    """The tags of a page, but for those in templates and drawings, and `<a>` without `href`.

    Links with a text are left out if they only lead elsewhere, to a place of this page, or where an earlier one leads;
    of others only `href` is listed, unless a script takes them over. Headings have no attributes here.

    `ids` are the targets of fragments as written, a newline behind each; `sample` is text by which the language can be
    told; `has_items`: there is microdata or RDFa.
    """

    tags: list[ListedTag]
    ids: bytes
    sample: bytes
    has_items: bool
