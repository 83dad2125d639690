"""The head of a page: title, description, language, base, and directives for crawlers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from periplus.formats.headers import read_directives, read_robots_tag, strictest
from periplus.formats.preferences import of_page
from periplus.model import NO_PREFERENCES, Directives, Preferences
from periplus.urls import whatwg

from .scan.columns import Head

AGENT: Final = "periplus"
"""The product token by which pages address this crawler, beside `robots`."""

MAX_TITLE: Final = 1000
MAX_DESCRIPTION: Final = 2000
_MAX_LANGUAGE: Final = 35
"""Characters: the longest language tag that RFC 5646 (4.4.1) asks for."""
_DESCRIPTIONS: Final = ("description", "og:description", "twitter:description")
_NO_DIRECTIVES: Final = Directives()


class Facts(NamedTuple):
    """The head of a page, read."""

    title: str
    description: str
    language: str
    directives: Directives
    preferences: Preferences


def read_facts(
    title: str, head: Head, robots_tags: Sequence[str], use_headers: Sequence[tuple[str, str]] = ()
) -> Facts:
    """Title, description, language, directives and preferences; headers count as much as the page's own elements."""
    metas: dict[str, list[str]] = {}
    content_language = ""
    for _, attributes, _, _ in head.metas:
        content = attributes.get("content")
        if not content:
            continue
        if name := attributes.get("name") or attributes.get("property"):
            metas.setdefault(name.strip().lower(), []).append(content)
        elif not content_language and is_equivalent(attributes.get("http-equiv"), "content-language"):
            content_language = content.partition(",")[0]
    root = head.html[0].attributes if head.html else {}
    language = (root.get("lang") or root.get("xml:lang") or content_language).strip()[:_MAX_LANGUAGE]
    directives = read_robots_tag(robots_tags, AGENT) if robots_tags else _NO_DIRECTIVES
    if not metas and not use_headers and directives is _NO_DIRECTIVES:  # as nearly all pages
        return Facts(folded(title, MAX_TITLE), "", language, directives, NO_PREFERENCES)
    description = next((metas[name][0] for name in _DESCRIPTIONS if name in metas), "")
    for name in ("robots", AGENT):
        for content in metas.get(name, ()):
            directives = strictest(directives, read_directives(content))
    preferences = of_page(use_headers, metas, directives)
    return Facts(folded(title, MAX_TITLE), folded(description, MAX_DESCRIPTION), language, directives, preferences)


def base_of(head: Head, url: str) -> str:
    """The base of links: the first `<base href>`, if it is a URL, else the page (HTML Standard, 4.2.3)."""
    for _, attributes, is_in_noscript, _ in head.bases:
        if not is_in_noscript and (href := attributes.get("href")) is not None:
            base = whatwg(href, url)
            # Only the first counts, even a broken one; a base of these schemes is ignored.
            return base if base and not base.startswith(("data:", "javascript:")) else url
    return url


def is_equivalent(http_equiv: str | None, name: str) -> bool:
    """Whether the `http-equiv` of a meta element is this, in lower case."""
    return http_equiv is not None and http_equiv.strip().lower() == name


def folded(text: str, limit: int) -> str:
    """A text with white space folded and at most `limit` characters; of much white space the rest may be lost."""
    return " ".join(text[: 8 * limit].split())[:limit] if text else ""
