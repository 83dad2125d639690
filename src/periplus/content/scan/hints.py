"""Hints in the attributes of an element about its text: navigation, a caption, comments, an introduction.

Authors name the parts of their pages in `class` and `id`: a "sidebar" is called so in every language. These names are
looked up in a small vocabulary of markup; `role`, `itemprop`, `style`, `hidden` and `aria-hidden` say the same in
standard words. The hints of an element are bits of one number:

- bits 0 to 9: what kind of part it is, by its classes and standard attributes;
- bits 10 to 18: the first nine kinds again, by its `id`; they are apart because the ids of sections and headings in
  manuals are made of what these are about (`<section id="login">`), and are then not to be believed;
- bit 19: whether a class is called "section", or "sect2" and "refsect1" as in DocBook;
- bits 20 and 21: whether a class or `id` says that the next or the previous page is behind a link in it (`pagination`);
- bits 22 to 31: a hash of the classes; elements beside each other with the same one are of the same kind.

The compiled scanner has the same table in `native/hints.h`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from zlib import crc32

CLUTTER: Final = 1
"""Menus, advertising, buttons to share, dialogs, newsletters."""
SIDE: Final = 2
"""A column or box beside the text."""
TEASER: Final = 4
"""Related articles, authors, dates and keywords: what stands around an article."""
CAPTION: Final = 8
"""What belongs to a picture: captions, credits, galleries."""
PICTURE: Final = 16
"""A place for a picture; a short text in it is a caption."""
COMMENT: Final = 32
"""What readers wrote."""
HIDDEN: Final = 64
"""Not shown."""
LEAD: Final = 128
"""The introduction of an article."""
FOOTER: Final = 256
"""The end of the page: who made it, copyright."""
ASIDE: Final = 512
"""A role of navigation, as `<nav>`, `<aside>` and `<footer>` have it."""
BY_ID: Final = 10
"""Bits by which the kinds are shifted that an `id` suggests."""
SECTION: Final = 1 << 19
NEXT: Final = 1 << 20
PREVIOUS: Final = 1 << 21
KIND: Final = 22
"""The first bit of the hash of the classes."""

WORDS: Final[dict[int, str]] = {
    CLUTTER: (
        "^nav nav$ menu breadcrumb ^crumb pagination ^pager$ toolbar topbar ^skip sitemap dropdown ^button ^btn "
        "advert ^ad$ ^ads$ ^adbox banner sponsor ^promo$ ^promos ^promobox ^promotion outbrain taboola criteo werbung "
        "^anzeige affiliate cookie consent gdpr dsgvo newsletter subscri popup modal overlay lightbox paywall login "
        "signup register ^cta$ ^donat spende ^placeholder thirdparty ^share sharing social sociable shariff addthis "
        "addtoany ^follow whatsapp twittertweet"
    ),
    SIDE: "sidebar ^aside ^rail$ widget ^secondary$ ^marginal",
    TEASER: (
        "related recommend trending popular teaser mostread ^similar readmore ^recent ^latest ^suggest ^weitere ^mehr$ "
        "^further viral nextpost ^meta$ postmeta entrymeta author byline ^autor ^tags taglist ^bio$ vcard "
        "^categories ^cats$ ^rating ^posted ^date$ ^timestamp userinfo userprofile infoline masthead "
        "branding ^tagline slogan imprint impressum"
    ),
    CAPTION: "caption ^credit ^legend ^bildunter gallery slideshow swiper carousel slider attachment",
    PICTURE: "^img ^image ^photo ^picture ^bild ^foto",
    COMMENT: "comment ^respond$ ^reply ^replies disqus kommentar comentario",
    HIDDEN: ("=hidden =hide =invisible =sr-only =d-none =noprint =noscript screenreader visuallyhidden hideprint"),
    LEAD: (
        "^lead$ ^lede ^intro excerpt ^summary standfirst ^abstract vorspann anleser subheadline ^dek$ ^deck$ ^chapeau "
        "^entradilla"
    ),
    FOOTER: "footer ^foot$ colophon copyright",
    SECTION: "section sect$",
    NEXT: "next",
    PREVIOUS: "prev",
}
"""The vocabulary. `^` asks for the beginning of a word, `$` for its end, `=` for a whole class; a word begins at every
letter that follows no letter, and in "mainMenu" at the capital (if it has four letters or more: shorter ones occur by
chance in classes that are made by a machine). Hyphens and underscores inside of longer words do not matter."""

_ROLES: Final = {
    b"navigation": ASIDE,
    b"banner": ASIDE,
    b"contentinfo": ASIDE,
    b"complementary": ASIDE,
    b"search": ASIDE,
    b"menu": ASIDE,
    b"menubar": ASIDE,
    b"dialog": CLUTTER,
    b"alertdialog": CLUTTER,
    b"tooltip": CLUTTER,
    b"tablist": CLUTTER,
    b"toolbar": CLUTTER,
}
_PROPERTIES: Final = {
    b"description": LEAD,
    b"alternativeheadline": LEAD,
    b"author": TEASER,
    b"datepublished": TEASER,
    b"publisher": TEASER,
    b"keywords": TEASER,
    b"comment": COMMENT,
    b"caption": CAPTION,
}
"""Properties of schema.org, by which pages mark their parts for search engines."""
BY_NAME: Final = CLUTTER | SIDE | TEASER | CAPTION | PICTURE | COMMENT | HIDDEN | LEAD | FOOTER
"""The kinds that an `id` may name."""
_SHORT: Final = 4
"""Letters from which on a word may be written with hyphens, underscores and capitals inside."""
_LONGEST: Final = 1024
"""Bytes of a value that are looked at."""
_SPACE: Final = rb"[\t\n\f\r ]"
_IS_HIDDEN: Final = re.compile(
    rb"(?i:display" + _SPACE + rb"*:" + _SPACE + rb"*none|visibility" + _SPACE + rb"*:" + _SPACE + rb"*hidden)"
)


def _pattern(word: str) -> bytes:
    """One word of the vocabulary as a regular expression."""
    letters = word.strip("^$=").encode()
    is_short = len(letters) < _SHORT
    written = (
        rb"(?i:" + (letters if is_short else rb"[-_]*".join(letters[at : at + 1] for at in range(len(letters)))) + b")"
    )
    if word.startswith("="):
        return rb"(?<![^\t\n\f\r ])(?i:" + re.escape(letters) + rb")(?![^\t\n\f\r ])"
    before = rb"(?<![A-Za-z])" if is_short else rb"(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))"
    after = rb"(?![A-Za-z])" if is_short else rb"(?:(?![A-Za-z])|(?<=[a-z])(?=[A-Z]))"
    return (before if word.startswith("^") else b"") + written + (after if word.endswith("$") else b"")


def _any_of(words: set[bytes]) -> bytes:
    """A regular expression for any of some words that looks at each letter once."""
    if b"" in words:
        return b""
    groups: dict[bytes, set[bytes]] = {}
    for word in words:
        groups.setdefault(word[:1], set()).add(word[1:])
    return b"(?:" + b"|".join(letter + _any_of(rest) for letter, rest in sorted(groups.items())) + b")"


_WORD_SIGNS: Final = b"-_"
_MAY_NAME: Final = re.compile(
    _any_of(
        {word.strip("^$=").encode().translate(None, _WORD_SIGNS) for words in WORDS.values() for word in words.split()}
    )
)
"""The letters of any word of the vocabulary. Most ids hold none, and need no closer look."""
_PATTERNS: Final = tuple((kind, re.compile(b"|".join(map(_pattern, words.split())))) for kind, words in WORDS.items())


def attribute_hints(name: bytes, value: bytes | None) -> int:
    """The hints in an attribute of an element; `name` is in lower case, `value` as written."""
    match name:
        case b"class":
            return _class_hints(value[:_LONGEST]) if value else 0
        case b"id":
            return _id_hints(value[:_LONGEST]) if value else 0
        case b"hidden":
            return HIDDEN
        case b"role":
            return _ROLES.get(value.lower(), 0) if value else 0
        case b"itemprop":
            return _property_hints(value[:_LONGEST]) if value else 0
        case b"style":
            return HIDDEN if value and _IS_HIDDEN.search(value[:_LONGEST]) else 0
        case b"aria-hidden":
            return HIDDEN if value and value.lower() == b"true" else 0
        case _:
            return 0


def _class_hints(value: bytes) -> int:
    return _kinds(value) | (crc32(value) >> KIND or 1) << KIND


def _id_hints(value: bytes) -> int:
    kinds = _kinds(value)
    return (kinds & BY_NAME) << BY_ID | kinds & (NEXT | PREVIOUS)


@lru_cache(4096)
def _kinds(value: bytes) -> int:
    """The kinds of part that a value names. The pages of a site have few different ones."""
    if not _MAY_NAME.search(value.lower().translate(None, _WORD_SIGNS)):
        return 0
    return sum(kind for kind, pattern in _PATTERNS if pattern.search(value))


def _property_hints(value: bytes) -> int:
    hints = 0
    for name in re.split(_SPACE, value.lower()):
        hints |= _PROPERTIES.get(name, 0)
    return hints
