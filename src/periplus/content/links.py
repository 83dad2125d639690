"""Where a page leads, and what it shows: links with their texts, and resources apart from them.

Links are `<a>`, `<area>`, `<iframe>` and `<frame>`; resources are pictures, sound and film. All are resolved against
the page's base. A link into the page itself (an empty or a bare fragment) is no way to another page and is left out, as
is what cannot be fetched over HTTP (`javascript:`, `mailto:`, `data:`).

Reasons of the problems: `too-many-links`, `too-many-resources`: the rest was left out.
"""

from __future__ import annotations

import re
from itertools import repeat
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ..model import Link, LinkKind, Problem, Resource, Url
from .elements import Elements

MAX_LINKS: Final = 10_000
MAX_RESOURCES: Final = 10_000
MAX_ANCHOR: Final = 256
_MAX_ANCHOR_TEXT: Final = 4 << 20
_BATCH: Final = 100
_FRAMES: Final = {
    "area": ("href", "alt", LinkKind.AREA),
    "iframe": ("src", "title", LinkKind.IFRAME),
    "frame": ("src", "title", LinkKind.FRAME),
}
_ANCHOR: Final = ("href", "", LinkKind.ANCHOR)
_WAYS: Final = (("a", "href"), *((name, attribute) for name, (attribute, _, _) in _FRAMES.items()))
_ANYWHERE: Final = ", ".join(f"{name}[{way}]" for name, way in _WAYS)
_OTHER_PAGES: Final = ", ".join(f'{name}[{way}]:not([{way}=""], [{way}^="#"])' for name, way in _WAYS)
_MEDIA: Final = ("img", "video", "audio", "source")
# A URL runs to the next space, and commas at its end end it all; else descriptors run to a comma outside brackets.
_SRCSET_URL: Final = re.compile(r"[\s,]*+(\S++)")
_SRCSET_DESCRIPTORS: Final = re.compile(r"(?:[^,(]|\([^)]*+\)?+)*+,?")

Urls = list[Url | None]
"""Links made canonical by `urls.resolve_all`, aligned with how they were written; `None` for what is not fetched."""


class Anchors(NamedTuple):
    """The links of a page as written, in columns of equal length: there are many, and lists are cheaper than rows.

    `kinds` is empty where all are `<a>`. `pictures` is what pictures in place of a text say, by the place of the link.
    """

    nodes: list[LexborNode]
    hrefs: list[str]
    texts: list[str]
    rels: list[str]
    kinds: list[LinkKind]
    pictures: dict[int, str]


def read_anchors(tree: LexborHTMLParser, found: Elements, *, skip_fragments: bool) -> Anchors:
    """The links of a page, at most one more than we keep. Fragments are links where the base is another."""
    if len(found["a"]) > MAX_LINKS or not found.keys().isdisjoint(_FRAMES):
        return _read_all_kinds(tree, skip_fragments)
    nodes, hrefs, rels = [], [], []
    for node in found["a"]:
        row = node.attributes
        href = row.get("href") or row.get("xlink:href") or ""
        if (href and href[0] != "#") if skip_fragments else ("href" in row or href):
            nodes.append(node)
            hrefs.append(href)
            rels.append(row["rel"] or "" if "rel" in row else "")
    texts = _texts(nodes)
    return Anchors(nodes, hrefs, texts, rels, [], _pictures(nodes, texts) if found.get("img") else {})


def _read_all_kinds(tree: LexborHTMLParser, skip_fragments: bool) -> Anchors:
    """The same for pages of frames or image maps, or of very many links: a selector keeps all in their order."""
    nodes = tree.css(_OTHER_PAGES if skip_fragments else _ANYWHERE)[: MAX_LINKS + 1]
    texts = _texts(nodes)
    anchors = Anchors(nodes, [], texts, [], [], _pictures(nodes, texts))
    for place, node in enumerate(nodes):
        row = node.attributes
        attribute, title, kind = _FRAMES.get(node.tag or "", _ANCHOR)
        anchors.hrefs.append(row.get(attribute) or row.get("xlink:href") or "")
        anchors.texts[place] = row.get(title) or anchors.texts[place]
        anchors.rels.append(row.get("rel") or "")
        anchors.kinds.append(kind)
    return anchors


def _texts(nodes: list[LexborNode]) -> list[str]:
    """The texts of links, bounded all together: a link can lie in a link where a table or an object parts them."""
    if len(nodes) <= _BATCH:
        return [node.text_lexbor() for node in nodes]
    texts: list[str] = []
    budget = _MAX_ANCHOR_TEXT
    for at in range(0, len(nodes), _BATCH):
        batch = [node.text_lexbor() for node in nodes[at : at + _BATCH]] if budget > 0 else [""] * _BATCH
        texts += batch
        budget -= sum(map(len, batch))
    return texts[: len(nodes)]


def _pictures(nodes: list[LexborNode], texts: list[str]) -> dict[int, str]:
    """What pictures say that stand in place of a link's text, by the place of the link."""
    pictures = {}
    for place in [place for place, text in enumerate(texts) if not text or text.isspace()]:
        child = nodes[place].first_child
        if child is not None:
            image = child if child.tag == "img" and "alt" in child.attributes else nodes[place].css_first("img[alt]")
            if image is not None:
                pictures[place] = _folded(image.attributes.get("alt") or "")
    return pictures


def read_links(anchors: Anchors, urls: Urls) -> tuple[tuple[Link, ...], list[Problem]]:
    """The links of a page, in document order."""
    texts = [" ".join(text.split())[:MAX_ANCHOR] for text in anchors.texts]
    for place, text in anchors.pictures.items():
        texts[place] = texts[place] or text
    kinds = anchors.kinds or repeat(LinkKind.ANCHOR)
    links = [
        Link(url, text, " ".join(rel.lower().split()) if rel else "", kind)
        for url, text, rel, kind in zip(urls, texts, anchors.rels, kinds, strict=False)
        if url is not None
    ]
    problems = [Problem("too-many-links")] if len(anchors.hrefs) > MAX_LINKS else []
    return tuple(links[:MAX_LINKS]), problems


class Sources(NamedTuple):
    """Where pictures, sound and film are, as written, in columns of equal length."""

    hrefs: list[str]
    tags: list[str]
    texts: list[str]


def read_sources(found: Elements) -> Sources:
    """Pictures, sound and film, also what a `srcset` offers: each URL once an element, at most one too many."""
    sources = Sources([], [], [])
    for tag in _MEDIA:
        for node in found.get(tag, ()):
            if len(sources.hrefs) > MAX_RESOURCES:
                return sources
            attributes = node.attributes
            hrefs = _hrefs(attributes)
            sources.hrefs.extend(hrefs)
            sources.tags.extend([tag] * len(hrefs))
            sources.texts.extend([_folded(attributes.get("alt") or "")] * len(hrefs))
    return sources


def read_resources(sources: Sources, urls: Urls) -> tuple[tuple[Resource, ...], list[Problem]]:
    """The resources of a page: first all pictures, then films, and so on."""
    columns = zip(urls[:MAX_RESOURCES], sources.tags, sources.texts, strict=False)
    problems = [Problem("too-many-resources")] if len(urls) > MAX_RESOURCES else []
    return tuple([Resource(url, tag, text) for url, tag, text in columns if url is not None]), problems


def _hrefs(attributes: dict[str, str | None]) -> list[str]:
    hrefs = [attributes.get("src"), attributes.get("poster")]
    if srcset := attributes.get("srcset"):
        hrefs += srcset_urls(srcset)
    return list(dict.fromkeys([trimmed for href in hrefs if href and (trimmed := href.strip())]))


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


def _folded(text: str) -> str:
    return " ".join(text[: 8 * MAX_ANCHOR].split())[:MAX_ANCHOR]
