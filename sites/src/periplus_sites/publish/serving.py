"""What to answer to a request for a page or a file of a published site. Pure: request head and ledger row to an answer.

The application is asked unless the ledger knows the answer: a file written here, or that a page has not changed, where
a scan or a hook confirmed it less than `trust_for` seconds ago. If the reader has the version of the ledger, what the
application answers is compared with it before it is sent. A page may differ for visitors with cookies or credentials:
they are never answered for the application unless the settings say that pages are public.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from msgspec import Struct

from periplus.formats.dates import read_http, write_http

from .settings import ServingSettings

LARGEST_OBSERVED: Final = 2 << 20
"""Bytes of a page that is compared with the ledger; larger ones pass by unread."""
_OPEN_SECONDS: Final = 300
_SEALED_SECONDS: Final = 86_400
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
_TYPES: Final = {
    "xml": "application/xml",
    "gz": "application/gzip",
    "atom": "application/atom+xml",
    "txt": "text/plain; charset=utf-8",
    "well-known/resourcesync": "application/xml",
}
_PERSONAL: Final = ("private", "no-store")
_OF_UNCHANGED: Final = frozenset({"cache-control", "content-location", "date", "expires", "vary"})
"""Fields of a page that a 304 for it repeats (RFC 9110, section 15.4.5)."""


class Known(Struct, frozen=True, gc=False):
    """What the ledger knows of a published page. `confirmed`: when a source last confirmed it."""

    etag: str
    lastmod: float | None
    confirmed: float
    raw: int | None


class Answer(Struct, frozen=True):
    """An answer given instead of the application."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""


class OwnFile(Struct, frozen=True):
    """A file written by the publisher. `link`: the value of its Link header, if it has one."""

    name: str
    body: bytes
    digest: str
    is_sealed: bool = False
    link: str = ""


def not_modified(
    method: str, headers: Mapping[str, str], known: Known, now: float, settings: ServingSettings
) -> Answer | None:
    """The 304 for a page that is known not to have changed; `None` if the application must be asked."""
    if method not in ("GET", "HEAD") or not 0 <= now - known.confirmed < settings.trust_for:
        return None
    if is_personal(headers, settings) or "range" in headers:
        return None
    return Answer(304, validators(known)) if has_version(headers, known) else None


def has_version(headers: Mapping[str, str], known: Known) -> bool:
    """Whether the reader has the version of the ledger, as its request says."""
    tags = headers.get("if-none-match")
    if tags is not None:
        return bool(known.etag) and matches(tags, known.etag)
    since = read_http(headers.get("if-modified-since", ""))
    return since is not None and known.lastmod is not None and since >= int(known.lastmod)


def unchanged_fields(fields: Iterable[tuple[str, str]], known: Known) -> list[tuple[str, str]]:
    """The head of a 304, given that of the page."""
    return [*((name, value) for name, value in fields if name.lower() in _OF_UNCHANGED), *validators(known)]


def is_personal(headers: Mapping[str, str], settings: ServingSettings) -> bool:
    """Whether the answer may be for this visitor alone."""
    return not settings.public and ("cookie" in headers or "authorization" in headers)


@lru_cache(maxsize=4_096)
def validators(known: Known) -> tuple[tuple[str, str], ...]:
    """The headers that let a crawler ask whether a page has changed."""
    found = [("ETag", known.etag)] if known.etag else []
    if known.lastmod is not None:
        found.append(("Last-Modified", write_http(known.lastmod)))
    return tuple(found)


def is_shared(status: int, headers: Mapping[str, str]) -> bool:
    """Whether an answer is a page for everyone: 200, HTML, no cookie set, neither private nor not to be stored."""
    if status != 200 or "set-cookie" in headers or not headers.get("content-type", "").startswith("text/html"):
        return False
    control = headers.get("cache-control", "").lower()
    return not any(word in control for word in _PERSONAL)


def is_observable(headers: Mapping[str, str]) -> bool:
    """Whether the body of a shared page can be compared: as it is, and not too large."""
    length = headers.get("content-length", "")
    return "content-encoding" not in headers and not (length.isdigit() and int(length) > LARGEST_OBSERVED)


def accepts(headers: Mapping[str, str], coding: str) -> bool:
    """Whether a request accepts a content coding that it names."""
    for element in headers.get("accept-encoding", "").split(","):
        name, _, weight = element.partition(";")
        if name.strip().lower() == coding:
            return re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", weight) is None
    return False


def matches(tags: str, etag: str) -> bool:
    """Whether `If-None-Match` names an entity tag, by the weak comparison."""
    wanted = etag.removeprefix("W/")
    return tags.strip() == "*" or any(tag.strip().removeprefix("W/") == wanted for tag in tags.split(","))


def file_answer(method: str, headers: Mapping[str, str], file: OwnFile) -> Answer:
    """The answer with a file, a part of it, or nothing if the reader has it already."""
    if method not in ("GET", "HEAD"):
        return Answer(405, (("Allow", "GET, HEAD"), ("Content-Length", "0")))
    etag = f'"{file.digest}"'
    cached = f"max-age={_SEALED_SECONDS}, immutable" if file.is_sealed else f"max-age={_OPEN_SECONDS}"
    fields = [("ETag", etag), ("Cache-Control", cached), *([("Link", file.link)] if file.link else ())]
    if matches(headers.get("if-none-match", ""), etag):
        return Answer(304, tuple(fields))
    mime = _TYPES.get(file.name.rpartition(".")[2], "application/octet-stream")
    fields += [("Content-Type", mime), ("Accept-Ranges", "bytes"), ("X-Content-Type-Options", "nosniff")]
    first, end, status = 0, len(file.body), 200
    if method == "GET" and headers.get("if-range", etag).strip() == etag and (asked := headers.get("range")):
        part = _part(asked, len(file.body))
        if part is None:
            return Answer(416, (("Content-Range", f"bytes */{len(file.body)}"), ("Content-Length", "0")))
        if part:
            first, end = part
            status = 206
            fields.append(("Content-Range", f"bytes {first}-{end - 1}/{len(file.body)}"))
    fields.append(("Content-Length", str(end - first)))
    return Answer(status, tuple(fields), b"" if method == "HEAD" else file.body[first:end])


def _part(asked: str, size: int) -> tuple[int, int] | tuple[()] | None:
    """First byte and end of the only range that is asked for; empty for what is not one, `None` if it is outside."""
    found = _RANGE.fullmatch(asked.strip())
    if found is None or not (found[1] or found[2]):
        return ()
    if not found[1]:
        length = min(int(found[2]), size)
        return (size - length, size) if length else None
    first = int(found[1])
    last = min(int(found[2]), size - 1) if found[2] else size - 1
    if found[2] and int(found[2]) < first:
        return ()
    return (first, last + 1) if first < size else None


def lowered(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers by their names in lower case; of repeated ones the values are joined."""
    found: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        found[key] = f"{found[key]}, {value}" if key in found else value
    return found
