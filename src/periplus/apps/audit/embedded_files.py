"""Checks of what the stored pages embed, of linked files, of links to other sites, and of hreflang links.

What pages embed is in `page_facts`; linked files that a crawl does not fetch (PDF, ZIP) and links to other sites are in
the tables of the collection.

The answers are kept in `audit/checks.json` of the collection, so that an audit that fetches nothing can use them.
Nothing here sends a request.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
from msgspec import Struct

from periplus.model.statements import Statements
from periplus.store.durable import write_file

from .page_facts import CARD, IMAGE, SCRIPT, STYLE, AuditedFacts
from .results import SiteFinding
from .site_table import SiteTable, finding

SQL: Final = Statements(__file__)

FOLDER: Final = "audit"
"""The folder of a collection where audits keep their files."""
_FILE: Final = "checks.json"
_ALIVE: Final = frozenset({401, 403, 405, 429, 501})
"""Statuses that refuse the request, or the method HEAD, without saying that the file is missing. So do those of no
standard, as the 999 of LinkedIn."""
_OURS: Final = frozenset({"over-budget", "cancelled", "proxy"})
"""Failures on our side, which are not evidence about the URL."""
_SAME_AUDIT: Final = 1.0
"""Hours between the first and the last request of one audit; older answers are from an earlier one, and say so."""


class UrlCheck(msgspec.Struct, frozen=True):
    """The answer to one request: `status`, after redirects, or the `reason` why there was none."""

    url: str
    checked_at: float
    status: int | None = None
    reason: str = ""
    bytes: int | None = None
    """What Content-Length says of the file."""

    @property
    def is_dead(self) -> bool:
        """Whether the URL returned an error that a visitor would get as well."""
        if self.status is None:
            return bool(self.reason) and self.reason not in _OURS
        return 400 <= self.status < 600 and self.status not in _ALIVE

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
    """All answers, the last of them at `made_at`. `external`: whether links to other sites were requested."""

    urls: tuple[UrlCheck, ...] = ()
    looks: tuple[SitemapLook, ...] = ()
    external: bool = False

    @property
    def made_at(self) -> float:
        """When the last of the URLs was requested."""
        return max((check.checked_at for check in self.urls), default=0.0)


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
    write_file(place / _FILE, msgspec.json.encode(checks))


# ruff: noqa: S608 - SQL is composed of constants of this package; everything else is a parameter


_NAMES: Final = {IMAGE: "dead-images", STYLE: "dead-styles", SCRIPT: "dead-scripts", CARD: "dead-card-images"}

_UNREAD: Final = "the pages are not stored in the collection"
_UNCHECKED: Final = "not requested: an audit of a site requests them, an audit of a collection does not"
_EXTERNAL: Final = "not requested: add --external"


class EmbeddedChecks(Struct, frozen=True):
    """The findings, what could not be checked, and the URLs to request for it: the most used first."""

    findings: list[SiteFinding]
    unjudged: dict[str, str]
    files: list[str]
    external: list[str]


def check_embedded(table: SiteTable, facts: AuditedFacts, checks: Checks) -> EmbeddedChecks:
    """Check embedded files and external links by the answers in `checks`, and hreflang links by the stored pages."""
    _register(table, checks)
    database = table.views.database
    database.execute(SQL["files"])
    database.execute(SQL["alternates"])
    for sql in (SQL["documents"], SQL["outside"]):
        database.execute(sql, {"sites": table.sites})
    findings: list[SiteFinding] = []
    unjudged: dict[str, str] = {}
    for name, files, why in (
        *((name, f"(select * from audited_embeds where kind = '{kind}')", _UNCHECKED) for kind, name in _NAMES.items()),
        ("dead-documents", "audited_documents", _UNCHECKED),
        ("dead-external-links", "audited_outside", _UNCHECKED if checks.external else _EXTERNAL),
    ):
        total = table.number(f"select count(*) from {files}")
        checked = table.number(SQL["checked"].format(files=files)) if total else 0
        if checked:
            findings += finding(name, table.found(SQL["dead"].format(files=files)), checked)
        if checked < total:
            unjudged[name] = f"{total - checked:,} of {total:,} were {why}" if checked else f"{total:,} were {why}"
    pairs = table.number("select count(*) from audited_pairs")
    findings += finding("hreflang-no-return", table.found(SQL["one_way"]), pairs)
    if not facts.pages and table.count("is_page"):
        unjudged |= dict.fromkeys((*_NAMES.values(), "hreflang-no-return"), _UNREAD)
    wanted = [*_wanted(table, "audited_embeds"), *_wanted(table, "audited_documents")]
    return EmbeddedChecks(findings, unjudged, wanted, _wanted(table, "audited_outside"))


def _wanted(table: SiteTable, files: str) -> list[str]:
    sql = f"select url from {files} group by url order by max(pages) desc, url"
    return [url for (url,) in table.views.database.execute(sql).fetchall()]


def _register(table: SiteTable, checks: Checks) -> None:
    answers = {
        "url": pa.array([check.url for check in checks.urls], pa.string()),
        "answer": pa.array([_answer(check, checks.made_at) for check in checks.urls], pa.string()),
        "is_dead": pa.array([check.is_dead for check in checks.urls], pa.bool_()),
        "bytes": pa.array([check.bytes for check in checks.urls], pa.int64()),
    }
    table.views.database.register("audited_checks", pa.table(answers))


def _answer(check: UrlCheck, made_at: float) -> str:
    """The answer to a request, with its age if an earlier audit asked for it."""
    hours = (made_at - check.checked_at) / 3600
    return check.answer if hours < _SAME_AUDIT else f"{check.answer} ({max(1, round(hours))} h ago)"
