"""The image, video and news extensions: which elements they have, and the values made of them.

An element is known by its name inside its container, whatever its prefix or namespace: of the web's dirt, undeclared
prefixes and mistyped namespaces are the most common. What Google has retired is passed over.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from .fields import Fields
from .values import Image, News, Restriction, Video


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
        """What it says, or `None` if it lacks what makes it one."""
        return self.shape.read(self, fields)


class Shape(Struct, frozen=True):
    """What a container is made of: elements with a text, and elements that only group others."""

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
