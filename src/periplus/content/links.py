"""Where a page leads, and what it shows: links with their texts, and resources apart from them.

Links are `<a>`, `<area>`, `<iframe>` and `<frame>`; resources are pictures, sound and film. All are resolved against
the page's base. A link into the page itself (an empty or a bare fragment) is no way to another page and is left out, as
is what cannot be fetched over HTTP (`javascript:`, `mailto:`, `data:`).

Reasons of the problems: `too-many-links`, `too-many-resources`: the rest was left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ..model import Link, LinkKind, Problem, Resource, Url
from .elements import Elements

MAX_LINKS: Final = 10_000
MAX_RESOURCES: Final = 10_000
MAX_ANCHOR: Final = 256
_MAX_ANCHOR_TEXT: Final = 4 << 20
"""Links can lie in links where tables or objects part them; all their texts together are no longer than this."""
_ANYWHERE: Final = "a[href]"
_OTHER_PAGES: Final = 'a[href]:not([href=""], [href^="#"])'
_FRAMES: Final = {
    "area": ("href", "alt", LinkKind.AREA),
    "iframe": ("src", "title", LinkKind.IFRAME),
    "frame": ("src", "title", LinkKind.FRAME),
}
_MEDIA: Final = ("img", "video", "audio", "source")
# A URL runs to the next space, and commas at its end end it all; else descriptors run to a comma outside brackets.
_SRCSET_URL: Final = re.compile(r"[\s,]*+(\S++)")
_SRCSET_DESCRIPTORS: Final = re.compile(r"(?:[^,(]|\([^)]*+\)?+)*+,?")

Resolve = Callable[[list[str]], list[Url | None]]
"""What makes a page's links canonical: `urls.resolve_all` with the page's base and encoding."""


class Anchor(NamedTuple):
    """A link before anything about it is worked out."""

    node: LexborNode
    href: str
    text: str
    rel: str
    kind: LinkKind


def read_anchors(tree: LexborHTMLParser, found: Elements, *, skip_fragments: bool) -> list[Anchor]:
    """The links of a page as written, at most one more than we keep. Fragments are links where the base is another."""
    selector = _OTHER_PAGES if skip_fragments else _ANYWHERE
    frames = [f"{name}[{attribute}]" for name, (attribute, _, _) in _FRAMES.items() if found.get(name)]
    nodes = tree.css(", ".join([selector, *frames]))[: MAX_LINKS + 1]
    anchors: list[Anchor] = []
    budget = _MAX_ANCHOR_TEXT
    for node in nodes:
        attributes = node.attributes
        if frames and (name := node.tag) in _FRAMES:
            place, title, kind = _FRAMES[name]
            href, text = attributes[place], attributes.get(title) or ""
        else:
            href, kind = attributes["href"], LinkKind.ANCHOR
            text = node.text_lexbor() if budget > 0 else ""
            budget -= len(text)
        if href:
            anchors.append(Anchor(node, href, text, attributes.get("rel") or "", kind))
    return anchors


def read_links(anchors: list[Anchor], resolve: Resolve) -> tuple[tuple[Link, ...], list[Problem]]:
    """The links of a page, in document order."""
    links = [
        Link(
            url,
            " ".join(text.split())[:MAX_ANCHOR] or _picture_text(node),
            " ".join(rel.lower().split()) if rel else "",
            kind,
        )
        for url, (node, _, text, rel, kind) in zip(resolve([anchor.href for anchor in anchors]), anchors, strict=True)
        if url is not None
    ]
    if len(links) > MAX_LINKS:
        return tuple(links[:MAX_LINKS]), [Problem("too-many-links", str(len(links)))]
    return tuple(links), []


def read_resources(found: Elements, resolve: Resolve) -> tuple[tuple[Resource, ...], list[Problem]]:
    """Pictures, sound and film, also those a `srcset` offers; each URL once an element."""
    if not any(found.get(name) for name in _MEDIA):
        return (), []
    nodes = [(node, name) for name in _MEDIA for node in found.get(name, ())[: MAX_RESOURCES + 1]]
    rows = [row for node, name in nodes[: MAX_RESOURCES + 1] for row in _sources(node, name)]
    problems = []
    if len(rows) > MAX_RESOURCES:
        problems.append(Problem("too-many-resources", str(len(rows))))
        rows = rows[:MAX_RESOURCES]
    urls = resolve([href for href, _, _ in rows])
    return tuple(Resource(url, tag, text) for url, (_, tag, text) in zip(urls, rows, strict=True) if url), problems


def _sources(node: LexborNode, tag: str) -> Iterator[tuple[str, str, str]]:
    attributes = node.attributes
    text = _folded(attributes.get("alt") or "")
    hrefs = [attributes.get("src"), attributes.get("poster"), *srcset_urls(attributes.get("srcset") or "")]
    for href in dict.fromkeys(href.strip() for href in hrefs if href):
        if href:
            yield href, tag, text


def srcset_urls(srcset: str) -> list[str]:
    """The URLs of a `srcset`, as "parsing a srcset attribute" of the HTML Standard finds them."""
    urls: list[str] = []
    at = 0
    while at < len(srcset) and len(urls) < MAX_RESOURCES:
        found = _SRCSET_URL.match(srcset, at)
        if found is None:
            break
        url = found[1].rstrip(",")
        at = found.end()
        if url == found[1] and (descriptors := _SRCSET_DESCRIPTORS.match(srcset, at)):
            at = descriptors.end()
        if url:
            urls.append(url)
    return urls


def _picture_text(node: LexborNode) -> str:
    """What the picture says that stands in place of a link's text."""
    image = node.css_first("img[alt]") if node.first_child is not None else None
    return _folded(image.attributes.get("alt") or "") if image else ""


def _folded(text: str) -> str:
    return " ".join(text[: 8 * MAX_ANCHOR].split())[:MAX_ANCHOR]
