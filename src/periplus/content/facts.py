"""What a page says of itself in its head: title, description, language, base, and what it asks of crawlers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser, LexborNode

from ..formats.headers import read_directives, read_robots_tag, strictest
from ..model import Directives
from ..urls import whatwg
from .elements import Elements

AGENT: Final = "periplus"
"""The product token under which pages may speak to us, beside `robots`."""

MAX_TITLE: Final = 1000
MAX_DESCRIPTION: Final = 2000
_MAX_LANGUAGE: Final = 35
_MAX_METAS: Final = 1000
_DESCRIPTIONS: Final = ("description", "og:description", "twitter:description")


class Meta(NamedTuple):
    """A `<meta>` element."""

    node: LexborNode
    attributes: dict[str, str | None]


class Facts(Struct, frozen=True):
    """The head of a page, read."""

    title: str
    description: str
    language: str
    directives: Directives


def read_metas(found: Elements) -> list[Meta]:
    """The `<meta>` elements of a page, of which more than one reader asks for all attributes."""
    return [Meta(node, node.attributes) for node in found.get("meta", ())[:_MAX_METAS]]


def read_facts(tree: LexborHTMLParser, found: Elements, elements: Sequence[Meta], robots_tags: Sequence[str]) -> Facts:
    """Title, description, language and directives; those of X-Robots-Tag headers count as much as the page's own."""
    metas = _metas(elements)
    description = next((metas[name][0] for name in _DESCRIPTIONS if name in metas), "")
    directives = read_robots_tag(robots_tags, AGENT) if robots_tags else Directives()
    for content in metas.get("robots", []) + metas.get(AGENT, []):
        directives = strictest(directives, read_directives(content))
    return Facts(_title(found), _folded(description, MAX_DESCRIPTION), _language(tree, elements), directives)


def base_of(found: Elements, url: str) -> str:
    """What links are relative to: the first `<base href>`, if it is a URL, else the page (HTML Standard, 4.2.3)."""
    for node in found.get("base", ()):
        href = node.attributes.get("href")
        if href is not None and not is_in_noscript(node):
            base = whatwg(href, url)
            # Only the first counts, be it broken; a base that is no place leaves the page itself.
            return base if base and not base.startswith(("data:", "javascript:")) else url
    return url


def is_in_noscript(node: LexborNode) -> bool:
    """Is this only for readers without scripts? What concerns the page as a whole does not count there."""
    parent = node.parent
    return parent is not None and parent.tag == "noscript"


def _metas(elements: Sequence[Meta]) -> dict[str, list[str]]:
    """The contents of named metas, by name or property in lower case."""
    metas: dict[str, list[str]] = {}
    for _, attributes in elements:
        name, content = attributes.get("name") or attributes.get("property"), attributes.get("content")
        if name and content:
            metas.setdefault(name.strip().lower(), []).append(content)
    return metas


def _title(found: Elements) -> str:
    for node in found.get("title", ()):
        parent = node.parent
        if parent is not None and parent.tag != "svg":
            return _folded(node.text_lexbor(), MAX_TITLE)
    return ""


def _language(tree: LexborHTMLParser, elements: Sequence[Meta]) -> str:
    """The language as the page writes it: of the root element, else of a content-language meta."""
    attributes = tree.root.attributes if tree.root else {}
    language = attributes.get("lang") or attributes.get("xml:lang") or ""
    if not language:
        for _, meta in elements:
            if (meta.get("http-equiv") or "").strip().lower() == "content-language":
                language = (meta.get("content") or "").partition(",")[0]
                break
    return language.strip()[:_MAX_LANGUAGE]


def _folded(text: str, limit: int) -> str:
    return " ".join(text[: 8 * limit].split())[:limit]
