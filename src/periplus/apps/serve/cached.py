"""Serves the stored copy of a page in a sandbox: no scripts, no requests, no forms.

Pages with `noarchive` are not served, and none is with `[search] cached = false`. Versions are chosen by time, with the
header fields of Memento (RFC 7089).
"""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from html import escape
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from periplus.formats.encodings import decode
from periplus.store.export.documents import DecodedCapture, document_near
from periplus.urls import canonical

from .rendering import moment, outside
from .routing import Audience, Operation, Parameter, route
from .search_api import COLLECTION
from .served import ServedCollection, chosen_collection, served_of

_FILL = "00000101000000"
"""What a time is filled up with of which the first digits are given."""


def base_url(request: Request) -> str:
    """The address of this server as clients know it, without a slash at the end."""
    return (served_of(request).settings.public_url or str(request.base_url)).rstrip("/")


def copy_url(request: Request, url: str, timestamp: str) -> str:
    """The URL of the copy of that time."""
    name = request.query_params.get("collection", "") if request.url.path == "/cached" else ""
    chosen = f"&collection={quote(name, safe='')}" if name else ""
    return f"{base_url(request)}/cached?url={quote(url, safe='')}&at={timestamp}{chosen}"


def memento_fields(request: Request, url: str, fetched_at: datetime) -> dict[str, str]:
    """The fields of an answer that is a copy. The page of copies is its own TimeGate."""
    here = base_url(request)
    links = (
        f'<{_safe(url)}>; rel="original"',
        f'<{here}/cached?url={quote(url, safe="")}>; rel="timegate"',
        f'<{here}/timemap/link/{_safe(url)}>; rel="timemap"; type="application/link-format"',
    )
    return {
        "memento-datetime": format_datetime(fetched_at.astimezone(UTC), usegmt=True),
        "link": ", ".join(links),
        "vary": "accept-datetime",
    }


def wanted_time(request: Request) -> datetime | None:
    """The time that `at` or the field `Accept-Datetime` asks for; `None` for the last version."""
    text = request.query_params.get("at", "")
    if text:
        if not (text.isascii() and text.isdecimal() and len(text) <= 14):
            raise HTTPException(400, "at is a time of 1 to 14 digits, such as 20260102.")
        return _moment(text + _FILL[len(text) :])
    asked = request.headers.get("accept-datetime", "")
    if not asked:
        return None
    try:
        found = parsedate_to_datetime(asked)
    except ValueError:
        raise HTTPException(400, "Accept-Datetime is not a date of HTTP.") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def http_date(timestamp: str) -> str:
    """A time of an index as HTTP writes it; empty for what is not one."""
    try:
        return format_datetime(_moment(timestamp[:14]), usegmt=True)
    except HTTPException:
        return ""


def _moment(text: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        raise HTTPException(400, "This is not a time.") from None


def _safe(url: str) -> str:
    """A URL that can stand between angle brackets in a field."""
    return quote(url, safe="/:?#[]@!$&'()*+,;=%~-._")


SECURITY_POLICY = (
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; frame-ancestors 'none'"
)
_MAX_URL = 8_000
"""Characters of a URL: longer ones are not in collections."""
_BANNER = """\
<!doctype html>
<meta charset="utf-8">
<base href="{url}" target="_self">
<div style="all:initial;display:block;font:15px/1.5 sans-serif;padding:.6em 1em;background:#fff8dc;color:#222;\
border-bottom:1px solid #c9b458">This is a copy of <a style="color:#0b5f86" rel="noopener nofollow noreferrer" \
href="{url}">{url}</a> as it was on {date} UTC. The page may have changed since.</div>
"""
_NO_COPY = "There is no copy of this page."


def routes() -> list[Route]:
    """The routes of this module."""
    described = Operation(
        "The stored copy of a page, in a sandbox.",
        (
            Parameter("url", "The URL of the page.", is_required=True),
            Parameter("at", "1 to 14 digits of a time: the version nearest to it; by default the last one."),
            COLLECTION,
        ),
        "text/html",
    )
    return [route("/cached", _cached, audience=Audience.PUBLIC, operation=described, is_page=True)]


def _cached(request: Request) -> Response:
    collection = chosen_collection(request)
    text = request.query_params.get("url", "")
    url = canonical(text) if 0 < len(text) <= _MAX_URL else None
    if url is None or not collection.shows_copies:
        raise HTTPException(404, _NO_COPY)
    if request.state.audience < Audience.VIEWER and not _is_indexed(collection, str(url)):
        raise HTTPException(404, _NO_COPY)
    layout = collection.collection.layout
    document = document_near(layout.tables, layout.spooled, layout.warc, str(url), wanted_time(request))
    if document is None or document.page.directives.noarchive:
        raise HTTPException(404, _NO_COPY)
    banner = _BANNER.format(url=escape(outside(document.capture.url)), date=moment(document.capture.fetched_at))
    fields = {
        "content-security-policy": SECURITY_POLICY,
        "x-dns-prefetch-control": "off",
        "x-robots-tag": "noindex",
        **memento_fields(request, document.capture.url, document.capture.fetched_at),
    }
    return HTMLResponse(banner + _html(document), headers=fields)


def _is_indexed(collection: ServedCollection, url: str) -> bool:
    """Whether a search can find the page: the public sees copies of no others."""
    if not collection.has_index:
        return False
    with collection.index() as index:
        return url in index


def _html(document: DecodedCapture) -> str:
    """The source of a page; what is not HTML as text."""
    kind = (document.capture.content_type or "text/html").partition(";")[0].strip().lower()
    if kind in ("text/html", "application/xhtml+xml"):
        return decode(document.body, document.page.charset).removeprefix("\ufeff")
    if not document.page.text:
        raise HTTPException(404, _NO_COPY)
    return f"<pre style='white-space:pre-wrap'>{escape(document.to_text())}</pre>"
