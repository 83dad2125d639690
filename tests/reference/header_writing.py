"""Header fields as text, for the readers of `periplus.formats.headers` to read back."""

from __future__ import annotations

from collections.abc import Iterable

from periplus.formats import dates
from periplus.formats.headers import CacheControl, ETag, MediaType, WebLink, strictest
from periplus.formats.headers.caching import _FLAGS as CACHE_FLAGS
from periplus.formats.headers.caching import _LENGTHS as CACHE_LENGTHS
from periplus.formats.headers.fields import quoted
from periplus.formats.headers.robots_tag import _FLAGS as ROBOTS_FLAGS
from periplus.model import Directives, Granularity, Lastmod

_IN_URL = {ord(" "): "%20", ord("<"): "%3C", ord(">"): "%3E", ord("\n"): "", ord("\r"): ""}


def write_content_type(media: MediaType) -> str:
    """As a server should send it."""
    text = media.mime
    if media.charset is not None:
        text += f"; charset={quoted(media.charset)}"
    if media.boundary is not None:
        text += f"; boundary={quoted(media.boundary)}"
    return text


def write_etag(etag: ETag) -> str:
    """As RFC 9110 has it."""
    return f'{"W/" if etag.is_weak else ""}"{etag.tag}"'


def write_cache_control(control: CacheControl) -> str:
    """What was said, and nothing else; empty where nothing was."""
    words = []
    for name in CacheControl.__struct_fields__:
        value = getattr(control, name)
        word = name.replace("_", "-")
        if name in CACHE_LENGTHS and value is not None:
            words.append(f"{word}={value}")
        elif name in CACHE_FLAGS and value:
            words.append(word)
    return ", ".join(words)


def write_links(links: Iterable[WebLink]) -> str:
    """One value for all links, in order."""
    return ", ".join(_write_one(link) for link in links)


def _write_one(link: WebLink) -> str:
    words = [f"<{link.url.translate(_IN_URL)}>"]
    if link.anchor:
        words.append(f"anchor={quoted(link.anchor)}")
    if link.rel:
        words.append(f"rel={quoted(' '.join(link.rel))}")
    words += [f"hreflang={quoted(language)}" for language in link.hreflang]
    words += [f"{name}={quoted(value)}" for name, value in (("type", link.type), ("media", link.media)) if value]
    if link.title:
        words.append(f"title={quoted(link.title)}")
    return "; ".join(words)


def write_robots_tag(directives: Directives, agent: str = "") -> str:
    """A value that asks for just this, of everybody or of one agent; empty where nothing is asked."""
    words = [
        name
        for name, flag in ROBOTS_FLAGS.items()
        if name not in ("none", "nocache") and strictest(flag, directives) == directives
    ]
    limits = (
        ("max-snippet", directives.max_snippet),
        ("max-image-preview", directives.max_image_preview),
        ("max-video-preview", directives.max_video_preview),
    )
    words += [f"{name}:{limit}" for name, limit in limits if limit is not None]
    if directives.unavailable_after is not None:
        last = dates.write_w3c(Lastmod(directives.unavailable_after, Granularity.SECOND))
        words.append(f"unavailable_after: {last}")
    text = ", ".join(words)
    return f"{agent}: {text}" if agent and text else text
