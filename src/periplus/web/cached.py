"""The stored copy of a page, as it was fetched, in a sandbox: no scripts, no requests, no forms.

Pages that ask not to be shown as a copy (`noarchive`) are not, and none is with `[search] cached = false`.
"""

from __future__ import annotations

from html import escape

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from periplus.formats.encodings import decode
from periplus.store.export.documents import Document, document_near
from periplus.urls import canonical

from .memento import memento_fields, wanted_time
from .rendering import moment, outside
from .routing import Audience, Operation, Parameter, route
from .search_api import COLLECTION
from .served import ServedCollection, chosen_collection

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
    return [route("/cached", _cached, audience=Audience.PUBLIC, operation=described)]


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


def _html(document: Document) -> str:
    """The source of a page; what is not HTML as text."""
    kind = (document.capture.content_type or "text/html").partition(";")[0].strip().lower()
    if kind in ("text/html", "application/xhtml+xml"):
        return decode(document.body, document.page.charset).removeprefix("\ufeff")
    if not document.page.text:
        raise HTTPException(404, _NO_COPY)
    return f"<pre style='white-space:pre-wrap'>{escape(document.to_text())}</pre>"
