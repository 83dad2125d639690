"""A stored page as its checks see it, and how a check is declared.

A check of single pages is a function from an `AuditedPage` to the places with the fault, below `@page_check` with the
name of its finding. A check of the whole site is a query over the tables (`site_checks`). The texts of both are in
`findings.toml`, under that name. Nothing else has to know of a check: `page_facts` runs them, `site_audit` makes
findings, docs/findings.md is written from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import unescape
from typing import Any, Final, NamedTuple

from periplus.content.scan import ListedTag, TagList
from periplus.formats.headers import read_links
from periplus.model import Url
from periplus.urls import resolve_all

from .finding_kinds import KINDS
from .results import SiteFindingKind

MAX_TEXT: Final = 120
"""Characters of a page that are shown with a fault."""
PAGE_NUMBER: Final = (
    r"(?:[?&](?:page|p|paged|pg|seite|pagina)=|/(?:page|seite|pagina)[/-]?)0*([2-9]|[1-9]\d{1,4})([/&#.]|$)"
)
"""What the URLs of the second and later pages of a list have in common; an expression of Python and of DuckDB."""
_TAGS: Final = re.compile(rb"<[^>]*>")
_SPACES: Final = re.compile(r"\s+")
_ODD: Final = frozenset("hHwWtT ")
"""How links begin that may be a misspelt URL."""


class FaultPlace(NamedTuple):
    """Where a fault is. `group` is what the fault is compared in: see `SiteFindingKind.is_relative`."""

    line: int
    text: str
    kind: str = ""
    group: str = ""


class AuditedPage:
    """One page: its tags by name, what its head says, and the header of its answer.

    `html` is in UTF-8, `body` as it was sent. Links of the header are `<link>` elements in line 0.
    """

    def __init__(self, url: str, html: bytes, listed: TagList, headers: Mapping[str, str], body: bytes = b"") -> None:
        self.url, self.html, self.headers, self.body = url, html, headers, body or html
        self.tags, self.ids, self.sample, self.has_items = listed
        self.by_name: dict[str, list[ListedTag]] = {}
        for tag in self.tags:
            self.by_name.setdefault(tag[0], []).append(tag)
        self.origin = url[: url.find("/", 8)]
        self.base = url
        for tag in self.by_name.get("base", ()):
            if href := tag.attributes.get("href"):
                self.base = str(resolve_all([href], url)[0] or url)
                break
        self.metas: dict[str, list[tuple[int, str]]] = {}
        for tag in self.by_name.get("meta", ()):
            attributes = tag[2]
            name = attributes.get("name") or _property(attributes) or attributes.get("http-equiv")
            if name and not tag.is_in_noscript:
                is_card = name.startswith("twitter:")  # X reads value as well
                content = attributes.get("content") or (is_card and attributes.get("value")) or ""
                self.metas.setdefault(name.strip().lower(), []).append((tag[1], content.strip()))
        self._by_relation: dict[str, list[ListedTag]] = {}
        for tag in (*self.by_name.get("link", ()), *_links_of_header(headers.get("link", ""))):
            if tag[2].get("href"):
                for relation in dict.fromkeys((tag[2].get("rel") or "").lower().split()):
                    self._by_relation.setdefault(relation, []).append(tag)
        self.fragment_links: list[ListedTag] = []
        self.odd_links: list[ListedTag] = []
        self.unnamed_links: list[ListedTag] = []
        self._sort_links()
        self.groups: list[str] = [""]
        self.memo: dict[str, Any] = {}

    def _sort_links(self) -> None:
        """Sort the links, so that each check looks at few: into pages, with another beginning than a path, no text."""
        for tag in self.by_name.get("a", ()):
            href = tag[2].get("href")
            if href:
                if "#" in href:
                    self.fragment_links.append(tag)
                if ":" in href or href[0] in _ODD or href.startswith("//"):
                    self.odd_links.append(tag)
                if not tag[5]:
                    self.unnamed_links.append(tag)

    def traits(self, asked: frozenset[str]) -> frozenset[str]:
        """Which of these the page has: names of tags and `<meta>`, relations of `<link>`, and some kinds of links."""
        found = asked.intersection((*self.by_name, *self.metas, *self._by_relation))
        others = (
            ("odd-links", self.odd_links),
            ("unnamed-links", self.unnamed_links),
            ("structured-data", self.has_items or "script" in self.by_name),
        )
        return found.union(name for name, has_any in others if has_any)

    @property
    def is_secure(self) -> bool:
        """Whether the page is served over HTTPS."""
        return self.url.startswith("https:")

    def named(self, *names: str) -> Iterable[ListedTag]:
        """The tags of some names."""
        for name in names:
            yield from self.by_name.get(name, ())

    def related(self, relation: str) -> list[ListedTag]:
        """The `<link>` elements of a relation that have a target."""
        return self._by_relation.get(relation, [])

    def text_of(self, tag: ListedTag) -> str:
        """The text of a heading, a link or a title."""
        text = _TAGS.sub(b" ", self.html[tag.start : tag.end][:2000]).decode("utf-8", "replace")
        return _SPACES.sub(" ", unescape(text)).strip()[:500]

    def resolved(self, hrefs: Sequence[str]) -> list[Url | None]:
        """Where links of the page lead."""
        return resolve_all(list(hrefs), self.base)

    def is_own(self, href: str) -> bool:
        """Whether a link, as it is written, leads to the same origin."""
        if ":" not in href.partition("/")[0] and not href.startswith("//"):
            return True
        start = href[: len(self.origin) + 1].lower()
        return start in (self.origin, f"{self.origin}/") or start.startswith(self.origin.partition(":")[2] + "/")


def _links_of_header(field: str) -> Iterator[ListedTag]:
    for link in read_links(field):
        if not link.anchor:
            attributes: dict[str, str | None] = {"href": link.url, "rel": " ".join(link.rel)}
            for code in link.hreflang or ("",):
                yield ListedTag("link", 0, attributes | {"hreflang": code}, 0, 0, False, False)


def _property(attributes: Mapping[str, str | None]) -> str:
    """The property of a `<meta>` that has a vocabulary, as in `og:title`; without one it is no name of HTML."""
    name = attributes.get("property") or ""
    return name if ":" in name else ""


Find = Callable[[AuditedPage], Iterable[FaultPlace]]


class PageCheck(NamedTuple):
    """A kind of fault, and the function that finds its places on a page."""

    kind: SiteFindingKind
    find: Find
    of_all: bool
    """Whether pages that are not to be indexed are judged as well."""
    needs: frozenset[str]
    """What a page has at least one of if it can have the fault (see `AuditedPage.traits`); empty: any page can."""


DECLARED: Final[list[PageCheck]] = []
"""Every check that was declared, in the order of the source."""


def page_check(name: str, *, of_all: bool = False, needs: str = "") -> Callable[[Find], Find]:
    """Declare a check of single pages. `findings.toml` has the texts of its finding."""

    def declared(find: Find) -> Find:
        DECLARED.append(PageCheck(KINDS[name], find, of_all, frozenset(needs.split())))
        return find

    return declared


def cut(text: str) -> str:
    """A text of a page in one line, short enough to be shown."""
    text = _SPACES.sub(" ", text).strip()
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"
