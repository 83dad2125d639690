"""The contents of a page as one value: the result of `content.read_page`."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, IntEnum
from functools import cached_property
from itertools import compress
from typing import Final, TypeVar, overload

from msgspec import Struct, field

from .preferences import NO_PREFERENCES, Preferences
from .types import Digests, Problem, Url

T = TypeVar("T")


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


class Links(Struct, frozen=True, repr_omit_defaults=True, dict=True):
    """The links of a page in document order: a sequence of `Link`, kept as columns because a page has many.

    Code that handles many links reads the columns; indexing and iteration make a `Link` each. `rels` and `kinds` hold
    only what is not the default, by the position of the link. `own` are the positions of links within the page, by an
    empty `href` or a bare fragment: they lead nowhere else and count as evidence of nothing (see `to_others`).
    """

    urls: list[Url] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    rels: dict[int, str] = field(default_factory=dict)
    kinds: dict[int, LinkKind] = field(default_factory=dict)
    own: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, links: Iterable[Link]) -> Links:
        """Columns of these links, none of them within the page."""
        rows = list(links)
        return cls(
            [link.url for link in rows],
            [link.anchor for link in rows],
            {position: link.rel for position, link in enumerate(rows) if link.rel},
            {position: link.kind for position, link in enumerate(rows) if link.kind is not LinkKind.ANCHOR},
        )

    def to_others(self) -> Links:
        """Without the links within the page."""
        return self._to_others if self.own else self

    @cached_property  # several parts of a crawl ask; the cache is not one of the fields that are compared and encoded
    def _to_others(self) -> Links:
        flags = self.flags
        return Links(
            list(compress(self.urls, flags)),
            list(compress(self.anchors, flags)),
            self.moved(self.rels),
            self.moved(self.kinds),
        )

    @property
    def flags(self) -> bytearray:
        """For each link 1, or 0 if it is within the page: for those who need only columns of the others."""
        flags = bytearray(b"\1") * len(self.urls)
        for position in self.own:
            flags[position] = 0
        return flags

    def moved(self, by_position: dict[int, T]) -> dict[int, T]:
        """The values of links to others, by the positions that these have among themselves."""
        if not by_position:
            return by_position
        own = sorted(self.own)
        within = {*own}
        return {old - bisect(own, old): value for old, value in by_position.items() if old not in within}

    def at(self, positions: Sequence[int]) -> Links:
        """The links at these positions, in this order."""
        rels, kinds, own = self.rels, self.kinds, {*self.own}
        return Links(
            [self.urls[position] for position in positions],
            [self.anchors[position] for position in positions],
            {new: rels[old] for new, old in enumerate(positions) if old in rels} if rels else {},
            {new: kinds[old] for new, old in enumerate(positions) if old in kinds} if kinds else {},
            [new for new, old in enumerate(positions) if old in own] if own else [],
        )

    def __len__(self) -> int:
        return len(self.urls)

    def __iter__(self) -> Iterator[Link]:
        rel_of, kind_of = self.rels.get, self.kinds.get
        for position, (url, anchor) in enumerate(zip(self.urls, self.anchors, strict=True)):
            yield Link(url, anchor, rel_of(position, ""), kind_of(position, LinkKind.ANCHOR))

    @overload
    def __getitem__(self, position: int) -> Link: ...

    @overload
    def __getitem__(self, position: slice) -> Links: ...

    def __getitem__(self, position: int | slice) -> Link | Links:
        positions = range(len(self.urls))[position]
        if isinstance(positions, range):
            return self.at(positions)
        kind = self.kinds.get(positions, LinkKind.ANCHOR)
        return Link(self.urls[positions], self.anchors[positions], self.rels.get(positions, ""), kind)


class EmbeddedResource(Struct, frozen=True, gc=False):
    """Something the page shows inside itself: an image, a video, a sound. `text` is its `alt`."""

    url: Url
    tag: str
    text: str = ""


class AlternateLink(Struct, frozen=True, gc=False):
    """The same page for other readers: another language (`hreflang`), medium or format (`type`)."""

    url: Url
    hreflang: str = ""
    type: str = ""
    title: str = ""
    media: str = ""


class Relations(Struct, frozen=True):
    """The relations of a page, from `<link>` elements and `Link` headers.

    Where these do not name the next page, a link may: then `is_next_declared` is false (see `content.pagination`).
    """

    canonical: Url | None = None
    next: Url | None = None
    prev: Url | None = None
    amphtml: Url | None = None
    alternates: tuple[AlternateLink, ...] = ()
    feeds: tuple[AlternateLink, ...] = ()
    is_next_declared: bool = True


class Directives(Struct, frozen=True):
    """The directives for crawlers, from meta robots and X-Robots-Tag; the strictest wins.

    The limits are as written (`-1`: no limit); `None` if not given. `unavailable_after` is a POSIX time.
    """

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    nosnippet: bool = False
    noimageindex: bool = False
    notranslate: bool = False
    indexifembedded: bool = False
    noai: bool = False
    noimageai: bool = False
    max_snippet: int | None = None
    max_image_preview: str | None = None
    max_video_preview: int | None = None
    unavailable_after: float | None = None

    def hides_at(self, at: float) -> bool:
        """Whether the page is not to be in search results at this time."""
        return self.noindex or (self.unavailable_after is not None and self.unavailable_after <= at)


class Refresh(Struct, frozen=True, gc=False):
    """A refresh by a meta element or a header: after `delay` seconds, go to `url` (`None`: the page reloads itself)."""

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
    """A form of a page. `method` is in upper case; `action` is canonical; `buttons` is what its buttons say."""

    action: Url
    method: str
    fields: tuple[Field, ...]
    enctype: str = ""
    buttons: tuple[str, ...] = ()


class PageStatistics(Struct, frozen=True, gc=False):
    """Counts of a page's text (see `content.statistics`); `None`: not measured, or too little text to say.

    Words are split at white space. `visible_share` is visible text as a share of the HTML, `title_repeats` the words of
    the title that it repeats or the URL has too; `word_length` (mean, in bytes), `distinct_share`, `top_word_share` and
    `common_share` (words that are the commonest of a language) are of the beginning of the main text; `compression` is
    text per deflated byte, `hidden_share` text that inline styles hide, both of a sample of pages.
    """

    words: int = 0
    title_words: int = 0
    anchor_words: int = 0
    visible_share: float = 0.0
    title_repeats: int = 0
    word_length: float | None = None
    distinct_share: float | None = None
    top_word_share: float | None = None
    compression: float | None = None
    hidden_share: float | None = None
    common_share: float | None = None


NO_STATISTICS = PageStatistics()
"""The statistics of a page without text."""


class ReadFrom(IntEnum):
    """The source a page was read from; versions are compared only with versions from the same source."""

    SERVER = 0
    """What the server sent."""
    BROWSER = 1
    """The document in a browser, after its scripts ran."""
    DATA = 2
    """What the server sent, with the data that it has for its scripts."""


DOCUMENT_TYPE: Final = "text/html; charset=utf-8"
"""The type of a document that a browser wrote down."""
SOFT_404: Final = "soft-404"
"""The problem of an error page that was sent with status 200."""


class PageSection(Struct, frozen=True):
    """A section of a page: a heading, or a term of a definition.

    `offset` is where it begins in `ParsedPage.main_text`, in characters; `anchor` what its URL has behind "#", empty if
    there is none; `level` 1 to 6 for headings, 7 for terms; `title` at most 256 characters of the heading or term.
    """

    offset: int
    anchor: str
    level: int
    title: str


class ParsedPage(Struct, frozen=True):
    """Everything that is known of one page, from one pass over it.

    `url` is where it was fetched; `base` what its links are relative to. `text` is all visible text, `main_text` the
    part of it that is not navigation. `sketch` is 128 MinHash values of 32 bits as little-endian bytes (empty for a
    page with no words): resemblance is the share of equal values, between sketches of the same text rule (see
    `content.digests`). `blocks` is what each part of it says, in few bytes, if it was asked for; `profile` is what its
    next version is compared with (`content.versions`); `statistics` are counts of its text; `sections` are there if
    they were asked for. `preferences` are what the page and its headers say about its use; in a crawl robots.txt, too.
    `relevance`, from 0 to 1, is how much it is on the topic of a focused crawl.
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
    links: Links
    resources: tuple[EmbeddedResource, ...]
    relations: Relations
    directives: Directives
    refresh: Refresh | None
    script_redirect: Url | None
    forms: tuple[Form, ...]
    sketch: bytes
    digests: Digests
    problems: tuple[Problem, ...] = ()
    blocks: bytes = b""
    statistics: PageStatistics = NO_STATISTICS
    preferences: Preferences = NO_PREFERENCES
    read_from: ReadFrom = ReadFrom.SERVER
    relevance: float | None = None
    profile: bytes = b""
    sections: tuple[PageSection, ...] = ()

    @property
    def canonical(self) -> Url | None:
        """The canonical URL that the page declares."""
        return self.relations.canonical

    @property
    def is_soft_404(self) -> bool:
        """Whether it was found to be an error page (`parts.absence`)."""
        return bool(self.problems) and any(problem.reason == SOFT_404 for problem in self.problems)
