"""Answers to requests of an audit besides the crawl: embedded files and external links (HEAD), sitemaps once more.

The answers are kept in `audit/checks.json` of the collection, so that an audit that fetches nothing can use them.
Nothing here sends a request.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

FOLDER: Final = "audit"
"""The folder of a collection where audits keep their files."""
_FILE: Final = "checks.json"
_ALIVE: Final = frozenset({401, 403, 405, 429, 501})
"""Statuses that refuse the request, or the method HEAD, without saying that the file is missing."""
_OURS: Final = frozenset({"over-budget", "cancelled", "proxy"})
"""Failures on our side, which are no evidence about the URL."""


class UrlCheck(msgspec.Struct, frozen=True):
    """The answer to one request: `status`, after redirects, or the `reason` why there was none."""

    url: str
    checked_at: float
    status: int | None = None
    reason: str = ""

    @property
    def is_dead(self) -> bool:
        """Whether the URL returned an error that a visitor would get as well."""
        if self.status is None:
            return bool(self.reason) and self.reason not in _OURS
        return self.status >= 400 and self.status not in _ALIVE

    @property
    def answer(self) -> str:
        """The status or the reason, for a report."""
        return str(self.status) if self.status is not None else self.reason


class SitemapLook(msgspec.Struct, frozen=True):
    """A reading of a sitemap: when, and the newest lastmod in it (seconds since 1970)."""

    sitemap: str
    read_at: float
    newest: float


class Checks(msgspec.Struct, frozen=True):
    """All answers. `external`: whether links to other sites were requested."""

    urls: tuple[UrlCheck, ...] = ()
    looks: tuple[SitemapLook, ...] = ()
    external: bool = False


def load_checks(folder: Path) -> Checks:
    """The answers kept in a collection; empty if the file is missing or cannot be read."""
    try:
        return msgspec.json.decode((folder / FOLDER / _FILE).read_bytes(), type=Checks)
    except (OSError, msgspec.MsgspecError):
        return Checks()


def save_checks(folder: Path, checks: Checks) -> None:
    """Keep the answers in a collection."""
    place = folder / FOLDER
    place.mkdir(parents=True, exist_ok=True)
    draft = place / f".{_FILE}"
    draft.write_bytes(msgspec.json.encode(checks))
    draft.replace(place / _FILE)
