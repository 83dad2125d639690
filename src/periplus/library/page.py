"""A page as programs see it: one stored version, read from the archive when its content is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from periplus import model
from periplus.content import HiddenText
from periplus.formats.encodings import decode
from periplus.model import CollectionDamaged, Links, Url, UsageError
from periplus.store.export.captures import Capture
from periplus.store.export.documents import DecodedCapture, read_document
from periplus.view.notebook import facts_html

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_NO_SELECTORS = "page.select needs selectolax, which is not installed"
_UNREADABLE = {
    "damaged": "its record in the archive is missing or damaged",
    "no-original": "its body equals an earlier one that is not in the collection",
}


class Page:
    """One version of a page in a collection.

    `url`, `status`, `fetched_at` and `content_type` cost nothing; everything else reads the page from the archive,
    once. Raises `CollectionDamaged` if the archive does not hold it any more.
    """

    def __init__(self, capture: Capture, archive: Path, find_body: Callable[[Capture], Capture] | None = None) -> None:
        self._capture = capture
        self._archive = archive
        self._find_body = find_body

    def __repr__(self) -> str:
        return f"Page({self.url!r}, status={self.status}, fetched_at={self.fetched_at.isoformat()!r})"

    def _repr_html_(self) -> str:
        facts = (("title", self.title), ("url", self.url), ("fetched", f"{self.fetched_at:%Y-%m-%d %H:%M} UTC"))
        return facts_html((*facts, ("text", self.main_text)))

    @property
    def url(self) -> str:
        """The canonical URL that it was fetched from."""
        return self._capture.url

    @property
    def vanished_at(self) -> datetime | None:
        """Since when the page is gone; `None` if it is not, and of single versions."""
        return self._capture.vanished_at

    @property
    def status(self) -> int:
        """The HTTP status, 200 to 299."""
        return self._capture.status

    @property
    def fetched_at(self) -> datetime:
        """When the request was sent, in UTC."""
        return self._capture.fetched_at

    @property
    def content_type(self) -> str | None:
        """The Content-Type field of the answer."""
        return self._capture.content_type

    @cached_property
    def _document(self) -> DecodedCapture:
        capture = self._capture
        if capture.body_at is None and self._find_body is not None:
            capture = self._find_body(capture)
        found = read_document(self._archive, capture)
        if isinstance(found, str):
            raise CollectionDamaged(
                f"{self.url} cannot be read: {_UNREADABLE.get(found, found)}",
                hint=f"periplus repair {self._archive.parent} checks the collection",
            )
        return found

    @property
    def content(self) -> model.ParsedPage:
        """Everything that one pass over the page found: relations, directives, forms, digests, problems."""
        return self._document.page

    @property
    def body(self) -> bytes:
        """The body without content codings."""
        return self._document.body

    @cached_property
    def html(self) -> str:
        """The decoded source; of a PDF its text, with a section for each page."""
        return decode(self._document.source, self.content.charset).removeprefix("\ufeff")

    @property
    def title(self) -> str:
        """The title; empty if it has none."""
        return self.content.title

    @property
    def description(self) -> str:
        """The meta description; empty if it has none."""
        return self.content.description

    @property
    def language(self) -> str:
        """The language of its text, such as `en`, as it declares it if that agrees; empty if it is unknown."""
        return self._document.language

    @property
    def canonical(self) -> Url | None:
        """The canonical URL that the page declares."""
        return self.content.canonical

    @property
    def text(self) -> str:
        """All visible text."""
        return self.content.text

    @property
    def main_text(self) -> str:
        """The visible text without navigation."""
        return self.content.main_text

    @property
    def hidden_text(self) -> HiddenText:
        """Text that visitors do not see, which is in none of the texts: `characters`, and the `tricks` that hide it."""
        return self._document.hidden_text

    @property
    def links(self) -> Links:
        """The links in document order, each with `url`, `anchor` and `rel`."""
        return self.content.links

    @cached_property
    def markdown(self) -> str:
        """The main text in Markdown."""
        return self._document.to_markdown()

    @cached_property
    def _tree(self) -> LexborHTMLParser:
        try:
            from selectolax.lexbor import LexborHTMLParser
        except ModuleNotFoundError as error:
            raise UsageError(_NO_SELECTORS, hint="install the extra: pip install 'periplus[select]'") from error
        return LexborHTMLParser(self.html)

    def select(self, css: str) -> list[LexborNode]:
        """The elements that a CSS selector matches, as selectolax nodes (`.text()`, `.attributes`, `.css(...)`).

        Needs the extra `periplus[select]`.
        """
        tree = self._tree
        try:
            return list(tree.css(css))
        except ValueError as error:
            raise _not_a_selector(css) from error
        except Exception as error:
            if type(error).__name__ != "SelectolaxError":
                raise
            raise _not_a_selector(css) from error

    def select_text(self, css: str) -> str | None:
        """The text of the first element that a CSS selector matches, white space folded; `None` if none matches."""
        found = self.select(css)
        return " ".join(str(found[0].text()).split()) if found else None

    def as_dict(self) -> dict[str, Any]:
        """The page as plain values: what a line of the export `jsonl` has."""
        return {
            "url": self.url,
            "fetched_at": self.fetched_at.isoformat().replace("+00:00", "Z"),
            "status": self.status,
            "content_type": self.content_type,
            "title": self.title or None,
            "description": self.description or None,
            "language": self.language or None,
            "canonical": self.canonical,
            "text": self.text,
            "main_text": self.main_text,
            "vanished_at": to_builtins(self.vanished_at),
            **({"hidden_text": to_builtins(self.hidden_text)} if self.hidden_text else {}),
        }


def _not_a_selector(css: str) -> UsageError:
    return UsageError(f"{css[:200]!r} is not a CSS selector", hint="write it as in a style sheet: div.price > span")
