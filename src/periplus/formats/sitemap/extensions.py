"""Reads the image, video and news extensions of a record, and its alternates.

The careful reader (`records`) collects elements in a `Container`. An element is identified by its name inside its
container, whatever its prefix or namespace, because undeclared prefixes and mistyped namespaces are the most common
errors. Elements that Google has retired are skipped.

`PlainExtensions` reads images, articles and alternates as programs write them, by patterns instead of tag by tag. The
matches must account for every tag: each stands for a known number of `<`, and a text with any other, or with a problem
to report, is refused (`NotRegularError`). The careful reader gets the refused texts (videos, comments, other prefixes,
empty elements, unusual attributes), and would give the same result for all others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from ..dates import read_any
from .fields import EDGES, Fields, NotRegularError, clean_text
from .values import Alternate, Image, News, Restriction, Video


class Container:
    """One image, video or article while its elements arrive."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.shape = SHAPES[name]
        self.texts: dict[str, str] = {}
        self.tags: list[str] = []
        self.relations: dict[str, str] = {}

    def add(self, element: str, text: str, limit: int) -> None:
        """Take the text of an element. Only a video's tags repeat; of others the last counts."""
        if element != "tag":
            self.texts[element] = text
        elif len(self.tags) < limit:
            self.tags.append(text)

    def value(self, fields: Fields) -> Image | Video | News | None:
        """The value of the container, or `None` if a required element is missing."""
        return self.shape.read(self, fields)


class Shape(Struct, frozen=True):
    """The elements of a container: those with a text, and those that only group others."""

    elements: frozenset[str]
    groups: frozenset[str]
    read: Callable[[Container, Fields], Image | Video | News | None]


def _image(container: Container, fields: Fields) -> Image | None:
    texts = container.texts
    loc = fields.url(texts.get("loc", ""))
    if loc is None:
        fields.complain("missing-loc", "image")
        return None
    return Image(
        loc,
        caption=fields.text(texts.get("caption", "")),
        title=fields.text(texts.get("title", "")),
        geo_location=fields.text(texts.get("geo_location", "")),
        license=fields.text(texts.get("license", "")),
    )


def _video(container: Container, fields: Fields) -> Video:
    def text(name: str) -> str:
        return container.texts.get(name, "")

    return Video(
        thumbnail_loc=fields.url(text("thumbnail_loc")),
        title=fields.text(text("title")),
        description=fields.text(text("description")),
        content_loc=fields.url(text("content_loc")),
        player_loc=fields.url(text("player_loc")),
        duration=fields.integer(text("duration")),
        expiration_date=fields.date(text("expiration_date")),
        rating=fields.number(text("rating")),
        view_count=fields.integer(text("view_count")),
        publication_date=fields.date(text("publication_date")),
        family_friendly=fields.flag(text("family_friendly")),
        restriction=_restriction(container, fields, "restriction"),
        platform=_restriction(container, fields, "platform"),
        requires_subscription=fields.flag(text("requires_subscription")),
        uploader=fields.text(text("uploader")),
        live=fields.flag(text("live")),
        category=fields.text(text("category")),
        tags=tuple(tag for tag in map(fields.text, container.tags) if tag is not None),
    )


def _restriction(container: Container, fields: Fields, name: str) -> Restriction | None:
    if name not in container.texts:
        return None
    allows = container.relations.get(name, "allow").strip().lower() != "deny"
    return Restriction(allows, fields.words(container.texts[name], None))


def _news(container: Container, fields: Fields) -> News:
    def text(name: str) -> str:
        return container.texts.get(name, "")

    return News(
        name=fields.text(text("name")),
        language=fields.text(text("language")),
        publication_date=fields.date(text("publication_date")),
        title=fields.text(text("title")),
        keywords=fields.words(text("keywords")),
        genres=fields.words(text("genres")),
        stock_tickers=fields.words(text("stock_tickers")),
        access=fields.text(text("access")),
    )


SHAPES = {
    "image": Shape(frozenset(Image.__struct_fields__), frozenset(), _image),
    "video": Shape(frozenset((*Video.__struct_fields__, "tag")) - {"tags"}, frozenset(), _video),
    "news": Shape(frozenset(News.__struct_fields__), frozenset({"publication"}), _news),
}


class EntryExtensions(Struct, frozen=True, gc=False):
    """The values of a record beyond the fields of the protocol."""

    images: tuple[Image, ...] = ()
    news: tuple[News, ...] = ()
    alternates: tuple[Alternate, ...] = ()


Texts = tuple[str, ...]
"""The groups of a pattern; an empty one for an element that is not there."""

NO_EXTENSIONS = EntryExtensions()

_MOBILE = "<mobile:mobile/>"
_LANGUAGE, _HREF = r'hreflang="([^"<]*+)"', r'href="([^"<]*+)"'
_LINK = re.compile(
    rf'<xhtml:link\s++rel="alternate"\s++(?:{_LANGUAGE}\s++{_HREF}|{_HREF}\s++{_LANGUAGE})\s*+/>',
)
_LONGEST = 32 * 1024
"""Characters of the extensions of one record; the careful reader has bounds for what is longer."""


def _elements(prefix: str, names: Iterable[str]) -> str:
    """Elements with these names in any order, with a group for the text of each."""
    elements = "|".join(f"{prefix}:{name}>([^<]*+)</{prefix}:{name}" for name in names)
    return rf"\s*+(?>(?:<(?:{elements})>\s*+)*)"


_IMAGE = re.compile(f"<image:image>{_elements('image', Image.__struct_fields__)}</image:image>")
_NEWS = re.compile(
    rf"<news:news>\s*+<news:publication>{_elements('news', News.__struct_fields__[:2])}</news:publication>"
    f"{_elements('news', News.__struct_fields__[2:])}</news:news>"
)
"""An article. Its publication has a name and a language, which are the first two fields of `News`."""


class PlainExtensions:
    """Reads the extensions of the records of one document."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields

    def read(self, text: str) -> EntryExtensions:
        """Read what follows the fields of the protocol, up to the end of the record."""
        if not text:
            return NO_EXTENSIONS
        if len(text) > min(self._fields.limits.text, _LONGEST):
            raise NotRegularError
        links = self._found(_LINK, text) if "<xhtml:link" in text else []
        images = self._found(_IMAGE, text) if "<image:image>" in text else []
        news = self._found(_NEWS, text) if "<news:news>" in text else []
        if _tags(links, images, news) != text.count("<") - text.count(_MOBILE):
            raise NotRegularError
        return EntryExtensions(
            tuple(map(_plain_image, images)) if images else (),
            tuple(map(self._news, news)) if news else (),
            tuple([Alternate(_clean_url(href or also), _clean(one or other)) for one, href, also, other in links]),
        )

    def _found(self, pattern: re.Pattern[str], text: str) -> list[Texts]:
        found: list[Texts] = pattern.findall(text)
        if len(found) > self._fields.limits.items:
            raise NotRegularError
        return found

    def _news(self, texts: Texts) -> News:
        name, language, date, title, keywords, genres, tickers, access = [text and _clean(text) for text in texts]
        published = read_any(date) if date else None
        if date and published is None:
            raise NotRegularError
        words = self._fields.words
        return News(
            name or None,
            language or None,
            published,
            title or None,
            words(keywords) if keywords else (),
            words(genres) if genres else (),
            words(tickers) if tickers else (),
            access or None,
        )


def _plain_image(texts: Texts) -> Image:
    loc, *others = texts
    return Image(_clean_url(loc), *[_clean(text) or None if text else None for text in others])


def _tags(links: Sequence[Texts], images: Sequence[Texts], news: Sequence[Texts]) -> int:
    """How many `<` there are in these: one in a link, two in an element with a text, two or four around elements."""
    tags = len(links) + 2 * len(images) + 4 * len(news)
    for texts in (*images, *news):
        tags += 2 * (len(texts) - texts.count(""))
    return tags


def _clean(text: str) -> str:
    if "\r" in text:
        raise NotRegularError
    return (clean_text(text) if "&" in text else text).strip(EDGES)


def _clean_url(text: str) -> str:
    url = _clean(text)
    if not url.startswith(("http://", "https://")):
        raise NotRegularError
    return url
