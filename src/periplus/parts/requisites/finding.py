"""Which files a page, a style sheet or a manifest needs, by their URLs.

Found are style sheets, images (`src`, `srcset`, `poster`, those that scripts load later, of inline styles and of
drawings), scripts, icons, manifests, objects, and what is to be loaded before (`preload`). Frames are pages, films and
sounds are long: they are not found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from html import unescape
from itertools import chain, islice
from typing import Final

import msgspec

from periplus.content import read_tags
from periplus.content.links import srcset_urls
from periplus.content.scan import ListedTag
from periplus.model import Url
from periplus.policy.filters.media import type_of_header, type_of_url
from periplus.urls import resolve_all

from .style_sheets import style_urls

_RELATIONS: Final = frozenset(
    {
        "stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "manifest", "preload",
        "modulepreload",
    }
)  # fmt: skip
"""Relations of `<link>` to a file that the page needs."""
_IMAGES: Final = (
    "src", "data-src", "data-original", "data-lazy", "data-lazy-src", "data-full-src", "poster", "background",
)  # fmt: skip
_SETS: Final = ("srcset", "data-srcset", "data-lazy-srcset")
_NOT_EMBEDDED: Final = ("text/html", "application/xhtml", "video/", "audio/")
"""Types of objects that are pages, films or sounds."""
_FILMS: Final = frozenset({"audio", "video", "track"})
_STYLE: Final = re.compile(rb"<style\b[^>]*+(?:>(.*?)(?:</style|\Z)|\Z)", re.DOTALL | re.IGNORECASE)
_STYLED: Final = re.compile(rb"""\sstyle\s*+=\s*+("[^">]*+"|'[^'>]*+')""", re.IGNORECASE)
_DRAWN: Final = re.compile(
    rb"""<(?:(?:image|use|feimage|input)\b[^<>]{0,1000}?\s(?:xlink:href|href|src)
    |(?:table|tbody|thead|tfoot|tr|t[dh])\b[^<>]{0,1000}?\sbackground)\s*+=\s*+["']?([^"'>\s]++)""",
    re.IGNORECASE | re.VERBOSE,
)
"""What drawings, buttons that are images, and tables embed."""
_IMAGE: Final = "image/*"
_MAX_FOUND: Final = 10_000
"""Names in a page that are looked at: some are written very often."""


def page_requisites(body: bytes, content_type: str | None, base: str, limit: int) -> list[Url]:
    """The files that a page needs, each once. Never raises for its contents."""
    return _resolved((name for _, name in _written(body, content_type)), base, limit)


def page_media(body: bytes, content_type: str | None, base: str, wants: Callable[[str, str], bool]) -> list[Url]:
    """The files that a page needs and `wants` approves, given the URL and the type that its element implies."""
    written = list(islice(_written(body, content_type), _MAX_FOUND))
    found: list[Url] = []
    for kind in dict.fromkeys(kind for kind, _ in written):
        urls = _resolved((name for each, name in written if each == kind), base, _MAX_FOUND)
        found += [url for url in urls if wants(url, kind)]
    return list(dict.fromkeys(found))


def _written(body: bytes, content_type: str | None) -> Iterator[tuple[str, str]]:
    """What a page names, as written, each with the type or group of types that its element implies."""
    read = read_tags(body, content_type)
    if read is not None:
        html, listed = read
        yield from _of_tags(listed.tags)
        yield from (("", name) for name in chain(_of_styles(html), _of_drawings(html)))


def file_requisites(body: bytes, content_type: str | None, url: Url, limit: int) -> list[Url]:
    """The files that a style sheet or a manifest needs; others need none."""
    mime = type_of_header(content_type) or type_of_url(url)
    if mime == "text/css":
        return _resolved(style_urls(body.decode("utf-8-sig", "replace")), url, limit)
    if mime.endswith("json"):
        return _resolved(_of_manifest(body), url, limit)
    return []


def _of_tags(tags: Iterable[ListedTag]) -> Iterator[tuple[str, str]]:
    for tag in tags:
        attributes = tag.attributes
        if tag.name == "link" and not _RELATIONS.isdisjoint((attributes.get("rel") or "").lower().split()):
            yield "", attributes.get("href") or ""
            yield from ((_IMAGE, url) for url in srcset_urls(attributes.get("imagesrcset") or ""))
        elif tag.name in _FILMS:
            yield _IMAGE, attributes.get("poster") or ""
        elif tag.name in ("object", "embed"):
            kind = (attributes.get("type") or "").strip().lower()
            name = attributes.get("data" if tag.name == "object" else "src")
            yield kind, "" if kind.startswith(_NOT_EMBEDDED) else name or ""
        elif tag.name == "script":
            yield "", attributes.get("src") or ""
        elif tag.name in ("img", "source", "body"):
            names = _IMAGES[1:] if tag.name == "source" else _IMAGES
            sets = (url for name in _SETS for url in srcset_urls(attributes.get(name) or ""))
            yield from ((_IMAGE, url) for url in chain((attributes.get(name) or "" for name in names), sets))


def _of_styles(html: bytes) -> Iterator[str]:
    for styles in _STYLE.findall(html):
        yield from style_urls(styles.decode("utf-8", "replace"))
    if b"url(" in html or b"URL(" in html:
        for styles in _STYLED.findall(html):
            yield from style_urls(unescape(styles[1:-1].decode("utf-8", "replace")))


def _of_drawings(html: bytes) -> Iterator[str]:
    for written in _DRAWN.findall(html):
        name = unescape(written.decode("utf-8", "replace"))
        if not name.startswith("#"):
            yield name


class _Image(msgspec.Struct):
    src: str = ""


class _Manifest(msgspec.Struct):
    """The members of a manifest that name files (W3C Web Application Manifest)."""

    icons: list[_Image] = []
    screenshots: list[_Image] = []


def _of_manifest(body: bytes) -> list[str]:
    try:
        manifest = msgspec.json.decode(body, type=_Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return []
    return [image.src for image in (*manifest.icons, *manifest.screenshots)]


def _resolved(written: Iterable[str], base: str, limit: int) -> list[Url]:
    """The canonical URLs of what is written, each once; `data:` and other schemes have none."""
    names = dict.fromkeys(name.strip() for name in islice(written, _MAX_FOUND))
    names.pop("", None)
    found = [name for name in names if name[:5].lower() != "data:"]
    return list(islice((url for url in dict.fromkeys(resolve_all(found, base)) if url is not None), limit))
