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
_BATCH: Final = 100
_ANYWHERE: Final = "a[href]"
_OTHER_PAGES: Final = 'a[href]:not([href=""], [href^="#"])'
_FRAMES: Final = {
    "area": ("href", "alt", LinkKind.AREA),
    "iframe": ("src", "title", LinkKind.IFRAME),
    "frame": ("src", "title", LinkKind.FRAME),
}
_ANCHOR: Final = ("href", "", LinkKind.ANCHOR)
_MEDIA: Final = ("img", "video", "audio", "source")
# A URL runs to the next space, and commas at its end end it all; else descriptors run to a comma outside brackets.
_SRCSET_URL: Final = re.compile(r"[\s,]*+(\S++)")
_SRCSET_DESCRIPTORS: Final = re.compile(r"(?:[^,(]|\([^)]*+\)?+)*+,?")

Resolve = Callable[[list[str]], list[Url | None]]
"""What makes a page's links canonical: `urls.resolve_all` with the page's base and encoding."""


class Anchors(NamedTuple):
    """The links of a page as written, in columns of equal length: there are many, and lists are cheaper than rows."""

    nodes: list[LexborNode]
    hrefs: list[str]
    texts: list[str]
    rels: list[str]
    kinds: list[LinkKind]


def read_anchors(tree: LexborHTMLParser, found: Elements, *, skip_fragments: bool) -> Anchors:
    """The links of a page, at most one more than we keep. Fragments are links where the base is another."""
    selectors = [_OTHER_PAGES if skip_fragments else _ANYWHERE]
    selectors += [f"{name}[{attribute}]" for name, (attribute, _, _) in _FRAMES.items() if found.get(name)]
    nodes = tree.css(", ".join(selectors))[: MAX_LINKS + 1]
    rows = [node.attributes for node in nodes]
    rels = [row["rel"] or "" if "rel" in row else "" for row in rows]
    texts = _texts(nodes)
    kinds = [LinkKind.ANCHOR] * len(nodes)
    if len(selectors) == 1:
        return Anchors(nodes, [row["href"] or "" for row in rows], texts, rels, kinds)
    hrefs = []
    for place, (node, row) in enumerate(zip(nodes, rows, strict=True)):
        attribute, title, kinds[place] = _FRAMES.get(node.tag or "", _ANCHOR)
        hrefs.append(row.get(attribute) or "")
        texts[place] = row.get(title) or texts[place]
    return Anchors(nodes, hrefs, texts, rels, kinds)


def _texts(nodes: list[LexborNode]) -> list[str]:
    """The texts of links, bounded all together: a link can lie in a link where a table or an object parts them."""
    texts: list[str] = []
    budget = _MAX_ANCHOR_TEXT
    for at in range(0, len(nodes), _BATCH):
        batch = [node.text_lexbor() for node in nodes[at : at + _BATCH]] if budget > 0 else [""] * _BATCH
        texts += batch
        budget -= sum(map(len, batch))
    return texts[: len(nodes)]


def read_links(anchors: Anchors, resolve: Resolve) -> tuple[tuple[Link, ...], list[Problem]]:
    """The links of a page, in document order."""
    texts = [" ".join(text.split())[:MAX_ANCHOR] for text in anchors.texts]
    for place in [place for place, text in enumerate(texts) if not text]:
        texts[place] = _picture_text(anchors.nodes[place])
    columns = zip(resolve(anchors.hrefs), texts, anchors.rels, anchors.kinds, strict=True)
    links = [
        Link(url, text, " ".join(rel.lower().split()), kind) if rel else Link(url, text, "", kind)
        for url, text, rel, kind in columns
        if url is not None
    ]
    problems = [Problem("too-many-links")] if len(anchors.nodes) > MAX_LINKS else []
    return tuple(links[:MAX_LINKS]), problems


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
