"""Versions of pages in time (RFC 7089, Memento): fields of answers, and the time that a request asks for."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request

from .served import served_of

_FILL = "00000101000000"
"""What a time is filled up with of which the first digits are given."""


def base_url(request: Request) -> str:
    """The address of this server as clients know it, without a slash at the end."""
    return (served_of(request).settings.public_url or str(request.base_url)).rstrip("/")


def copy_url(request: Request, url: str, timestamp: str) -> str:
    """Where the copy of that time is."""
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
