"""What a page says, as one value: the outcome of `content.read_page`.

Here are the words only; how they are found in bytes is the business of `content`.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from .types import Digests, Problem, Url


class LinkKind(Enum):
    """Which element offered the link."""

    ANCHOR = "a"
    AREA = "area"
    IFRAME = "iframe"
    FRAME = "frame"


class Link(Struct, frozen=True, gc=False):
    """A way from this page to another.

    `anchor` is the visible text, white space folded and bounded; `rel` the attribute's words in lower case, one space
    between them.
    """

    url: Url
    anchor: str = ""
    rel: str = ""
    kind: LinkKind = LinkKind.ANCHOR


class Resource(Struct, frozen=True, gc=False):
    """Something the page shows inside itself: an image, a video, a sound. `text` is its `alt`."""

    url: Url
    tag: str
    text: str = ""


class Alternate(Struct, frozen=True, gc=False):
    """The same page for other readers: another language (`hreflang`), medium or format (`type`)."""

    url: Url
    hreflang: str = ""
    type: str = ""
    title: str = ""
    media: str = ""


class Relations(Struct, frozen=True):
    """What `<link>` elements (and `Link` headers) say of this page's relatives."""

    canonical: Url | None = None
    next: Url | None = None
    prev: Url | None = None
    amphtml: Url | None = None
    alternates: tuple[Alternate, ...] = ()
    feeds: tuple[Alternate, ...] = ()


class Directives(Struct, frozen=True):
    """What the page asks of crawlers, in meta robots and X-Robots-Tag; the strictest voice wins.

    The limits are as written (`-1`: none); `None` where nothing was said. `unavailable_after` is a POSIX time.
    """

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    nosnippet: bool = False
    noimageindex: bool = False
    notranslate: bool = False
    indexifembedded: bool = False
    max_snippet: int | None = None
    max_image_preview: str | None = None
    max_video_preview: int | None = None
    unavailable_after: float | None = None


class Refresh(Struct, frozen=True, gc=False):
    """A meta refresh: after `delay` seconds, go to `url` (`None`: the page reloads itself)."""

    delay: float
    url: Url | None


class Field(Struct, frozen=True):
    """One input of a form. `options` are the values a select, radio group or datalist offers."""

    name: str
    type: str
    value: str = ""
    options: tuple[str, ...] = ()
    is_required: bool = False
    label: str = ""


class Form(Struct, frozen=True):
    """A door to the deep web. `method` is in upper case; `action` is canonical."""

    action: Url
    method: str
    fields: tuple[Field, ...]
    enctype: str = ""


class Page(Struct, frozen=True):
    """Everything the house needs to know of one page, from one parse.

    `url` is where it was fetched; `base` what its links are relative to. `text` is all visible text, `main_text` the
    part of it that is not navigation. `sketch` is 128 MinHash values of 32 bits as little-endian bytes (empty for a
    page with no words): resemblance is the share of equal values. `blocks` is what each part of it says, in few
    bytes, where somebody has asked for it.
    """

    url: Url
    base: Url
    charset: str
    mime: str
    title: str
    description: str
    language: str
    text: str
    main_text: str
    links: tuple[Link, ...]
    resources: tuple[Resource, ...]
    relations: Relations
    directives: Directives
    refresh: Refresh | None
    script_redirect: Url | None
    forms: tuple[Form, ...]
    sketch: bytes
    digests: Digests
    problems: tuple[Problem, ...] = ()
    blocks: bytes = b""

    @property
    def canonical(self) -> Url | None:
        """The URL this page says it should be known by."""
        return self.relations.canonical
