"""Images, styles, scripts and hreflang links of the stored pages, and the checks of them; linked files and other sites.

The tables of a collection only count what pages embed, so the pages are read again from the WARC files. Linked files
that a crawl does not fetch (PDF, ZIP) and links to other sites are in the tables.

The answers are kept in `audit/checks.json` of the collection, so that an audit that fetches nothing can use them.
Nothing here sends a request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa
from msgspec import Struct

from periplus.model import Url
from periplus.store.durable import write_file
from periplus.store.export.captures import latest_captures
from periplus.store.export.documents import DecodedCapture, read_document
from periplus.urls import resolve_all, site_of

from .results import SiteFinding
from .site_table import SiteTable, finding

if TYPE_CHECKING:
    from periplus.insight.views import Views

FOLDER: Final = "audit"
"""The folder of a collection where audits keep their files."""
_FILE: Final = "checks.json"
_ALIVE: Final = frozenset({401, 403, 405, 429, 501})
"""Statuses that refuse the request, or the method HEAD, without saying that the file is missing."""
_OURS: Final = frozenset({"over-budget", "cancelled", "proxy"})
"""Failures on our side, which are not evidence about the URL."""


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
    write_file(place / _FILE, msgspec.json.encode(checks))


# ruff: noqa: S608 - SQL is composed of constants of this package; everything else is a parameter


MAX_PAGES: Final = 20_000
"""Stored pages that are read again: some minutes of work."""
IMAGE, STYLE, SCRIPT = "image", "style", "script"
_NAMES: Final = {IMAGE: "dead-images", STYLE: "dead-styles", SCRIPT: "dead-scripts"}
_COMMENT: Final = re.compile(rb"<!--.*?-->", re.DOTALL)
_TAG: Final = re.compile(rb"<(script|link)\b([^>]{1,4000})>", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(rb"""\b(src|href|rel)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_H1: Final = re.compile(rb"<h1\b[^>]{0,4000}>(.{0,20000}?)</h1\s*>", re.IGNORECASE | re.DOTALL)
_TAGS: Final = re.compile(rb"<!--.*?-->|<[^>]*>", re.DOTALL)
_LONGEST_HEADING: Final = 500
"""Characters of a heading that are kept."""
_ICONS: Final = frozenset({"icon", "apple-touch-icon"})

_UNREAD: Final = "the pages are not stored in the collection"
_UNCHECKED: Final = "not requested: an audit of a site requests them, an audit of a collection does not"
_EXTERNAL: Final = "not requested: add --external"

_FILES: Final = """
create or replace temp table audited_embeds as
select url, kind, min(page) as page, count(distinct page) as pages from audited_embedded
semi join (select url as page from audited where is_page) using (page) group by url, kind
"""
_DEAD: Final = """
select url, answer || ', used by ' || case when pages = 1 then 'one page' else pages || ' pages' end as note,
    page as via, answer as kind, pages as weight
from {files} as files join audited_checks using (url) where is_dead
"""
_CHECKED: Final = "select count(*) from {files} join audited_checks using (url)"
_DOCUMENTS: Final = """
create or replace temp table audited_documents as select * from audited_targets where list_contains($sites, site)
    and url in (select url from discoveries where refused = 'extension')
"""
"""Linked files of the site that a crawl does not fetch, by their extension."""
_OUTSIDE: Final = """
create or replace temp table audited_outside as select * from audited_targets where not list_contains($sites, site)
"""
_ALTERNATES: Final = """
create or replace temp table audited_pairs as
select distinct alternates.page, alternates.url, alternates.hreflang from audited_alternates as alternates
    join audited as target on target.url = alternates.url and target.is_page
    join audited as source on source.url = alternates.page and source.is_page
where alternates.page <> alternates.url and alternates.url in (select url from audited_read)
"""
_ONE_WAY: Final = """
select page as url, 'hreflang ' || any_value(hreflang) || ': ' || url || ' does not link back' as note, '' as via,
    '' as kind, 0.0 as weight
from audited_pairs as pairs where not exists (
    select 1 from audited_alternates as back left join audited as source on source.url = pairs.page
    where back.page = pairs.url and back.url in (pairs.page, source.canonical))
group by page, url
"""


class Embedded(Struct, frozen=True):
    """What the stored pages embed and name: rows of page, URL and kind or language; `read` are the pages.

    `headings` are pages with their first h1.
    """

    files: list[tuple[str, str, str]]
    alternates: list[tuple[str, str, str]]
    read: list[str]
    headings: list[tuple[str, str]] = []


def read_embedded(views: Views, sites: Sequence[str]) -> Embedded:
    """Read the stored pages of a site, at most `MAX_PAGES`."""
    found = Embedded([], [], [], [])
    for document in _documents(views, sites):
        url = document.page.url
        found.read.append(url)
        if heading := _heading(document):
            found.headings.append((url, heading))
        found.files.extend((url, target, kind) for target, kind in dict(_files(document)).items())
        found.alternates.extend(
            (url, alternate.url, alternate.hreflang)
            for alternate in document.page.relations.alternates
            if alternate.hreflang
        )
    return found


def _documents(views: Views, sites: Sequence[str]) -> Iterator[DecodedCapture]:
    read = 0
    for capture in latest_captures(views.tables, views.spooled):
        if read >= MAX_PAGES:
            return
        if site_of(capture.url) in sites:
            document = read_document(_archive(views.folder), capture)
            if isinstance(document, DecodedCapture):
                read += 1
                yield document


def _heading(document: DecodedCapture) -> str:
    """The text of the first h1; empty if there is none."""
    html = document.html
    written = _H1.search(html) if html is not None else None
    text = unescape(_TAGS.sub(b" ", written[1]).decode("utf-8", "replace")) if written else ""
    return " ".join(text.split())[:_LONGEST_HEADING]


def _archive(folder: Path) -> Path:
    return folder / "warc"


def _files(document: DecodedCapture) -> Iterator[tuple[Url, str]]:
    """URL and kind of everything the page embeds."""
    page = document.page
    written = list(_written(document.body))
    for url, (_, kind) in zip(resolve_all([href for href, _ in written], page.base), written, strict=True):
        if url is not None:
            yield url, kind
    yield from ((resource.url, IMAGE) for resource in page.resources)


def _written(body: bytes) -> Iterator[tuple[str, str]]:
    """The `src` of scripts and the `href` of style sheets and icons, as written."""
    for tag, attributes in _TAG.findall(_COMMENT.sub(b"", body)):
        named: dict[bytes, str] = {}
        for name, *values in _ATTRIBUTE.findall(attributes):
            named.setdefault(name.lower(), b"".join(values).decode("utf-8", "replace").replace("&amp;", "&").strip())
        rel = frozenset(named.get(b"rel", "").lower().split())
        if tag.lower() == b"script" and named.get(b"src"):
            yield named[b"src"], SCRIPT
        elif tag.lower() == b"link" and named.get(b"href") and "stylesheet" in rel:
            yield named[b"href"], STYLE
        elif tag.lower() == b"link" and named.get(b"href") and rel & _ICONS:
            yield named[b"href"], IMAGE


class EmbeddedChecks(Struct, frozen=True):
    """The findings, what could not be checked, and the URLs to request for it: the most used first."""

    findings: list[SiteFinding]
    unjudged: dict[str, str]
    files: list[str]
    external: list[str]


def check_embedded(table: SiteTable, embedded: Embedded, checks: Checks) -> EmbeddedChecks:
    """Check embedded files and external links by the answers in `checks`, and hreflang links by the stored pages."""
    _register(table, embedded, checks)
    database = table.views.database
    database.execute(_FILES)
    database.execute(_ALTERNATES)
    for sql in (_DOCUMENTS, _OUTSIDE):
        database.execute(sql, {"sites": table.sites})
    findings: list[SiteFinding] = []
    unjudged: dict[str, str] = {}
    for name, files, why in (
        *((name, f"(select * from audited_embeds where kind = '{kind}')", _UNCHECKED) for kind, name in _NAMES.items()),
        ("dead-documents", "audited_documents", _UNCHECKED),
        ("dead-external-links", "audited_outside", _UNCHECKED if checks.external else _EXTERNAL),
    ):
        total = table.number(f"select count(*) from {files}")
        checked = table.number(_CHECKED.format(files=files)) if total else 0
        if checked:
            findings += finding(name, table.found(_DEAD.format(files=files)), checked)
        if checked < total:
            unjudged[name] = f"{total - checked:,} of {total:,} were {why}" if checked else f"{total:,} were {why}"
    pairs = table.number("select count(*) from audited_pairs")
    findings += finding("hreflang-no-return", table.found(_ONE_WAY), pairs)
    if not embedded.read and table.count("is_page"):
        unjudged |= dict.fromkeys((*_NAMES.values(), "hreflang-no-return"), _UNREAD)
    wanted = [*_wanted(table, "audited_embeds"), *_wanted(table, "audited_documents")]
    return EmbeddedChecks(findings, unjudged, wanted, _wanted(table, "audited_outside"))


def _wanted(table: SiteTable, files: str) -> list[str]:
    sql = f"select url from {files} group by url order by max(pages) desc, url"
    return [url for (url,) in table.views.database.execute(sql).fetchall()]


def _register(table: SiteTable, embedded: Embedded, checks: Checks) -> None:
    def rows(names: tuple[str, ...], values: Sequence[Sequence[object]]) -> pa.Table:
        columns = list(zip(*values, strict=True)) if values else [()] * len(names)
        return pa.table({name: pa.array(column, pa.string()) for name, column in zip(names, columns, strict=True)})

    database = table.views.database
    database.register("audited_embedded", rows(("page", "url", "kind"), embedded.files))
    database.register("audited_alternates", rows(("page", "url", "hreflang"), embedded.alternates))
    database.register("audited_facts", rows(("url", "h1"), embedded.headings))
    database.register("audited_read", rows(("url",), [(url,) for url in embedded.read]))
    answers = [(check.url, check.answer) for check in checks.urls]
    dead = pa.array([check.is_dead for check in checks.urls], pa.bool_())
    database.register("audited_checks", rows(("url", "answer"), answers).append_column("is_dead", dead))
