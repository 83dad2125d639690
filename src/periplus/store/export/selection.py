"""Which pages of a collection are exported: by site, URL, language, and each text once."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Final

from msgspec import Struct

from periplus.model import Page, Url
from periplus.policy.filters.patterns import compiled
from periplus.urls import site_of

OTHER_LANGUAGE, DUPLICATE = "other-language", "duplicate"
_DIGEST_BYTES: Final = 16
"""Bytes of a text's digest: with 128 bits collisions do not occur in practice."""


class Selection(Struct, frozen=True):
    """What is asked for; an empty field selects all pages.

    `sites` are hosts (with a port that is not the default), subdomains included. `include` are URL patterns as of a
    crawl. `languages` are tags as pages declare them: `de` selects `de-AT`, too. `dedupe`: of pages with the same main
    text, only the one that was fetched first.
    """

    sites: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    dedupe: bool = False

    def __bool__(self) -> bool:
        return self != Selection()


class PageFilter:
    """Applies a selection to the pages of one export, in their order."""

    def __init__(self, selection: Selection) -> None:
        self._sites = tuple(site.lower() for site in selection.sites)
        self._patterns: list[Callable[[str], object]] = [compiled(pattern) for pattern in selection.include]
        self._languages = tuple(language.lower().replace("_", "-") for language in selection.languages)
        self._seen: set[bytes] | None = set() if selection.dedupe else None

    def wants_url(self, url: Url) -> bool:
        """Whether a URL is selected by its site and its form."""
        if self._sites and not self._is_of_site(site_of(url)):
            return False
        return not self._patterns or any(fits(url) for fits in self._patterns)

    def _is_of_site(self, site: str) -> bool:
        return any(site == wanted or site.endswith(f".{wanted}") for wanted in self._sites)

    def refusal(self, page: Page) -> str:
        """Why a page with a selected URL is left out; empty if it is not."""
        if self._languages and not self._is_in_language(page.language or ""):
            return OTHER_LANGUAGE
        return DUPLICATE if self._seen is not None and self._is_known(page, self._seen) else ""

    def _is_in_language(self, language: str) -> bool:
        tag = language.lower().replace("_", "-")
        return any(tag == wanted or tag.startswith(f"{wanted}-") for wanted in self._languages)

    @staticmethod
    def _is_known(page: Page, seen: set[bytes]) -> bool:
        """Whether the text of a page was exported before; a page without text is like no other."""
        text = page.main_text or page.text
        if not text:
            return False
        digest = blake2b(text.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).digest()
        is_known = digest in seen
        seen.add(digest)
        return is_known
