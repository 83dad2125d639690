"""The index of captures: `/cdx` in the dialect of pywb's CDX server, `/timemap/link/URL` of Memento (RFC 7089).

Lines come as they are found, so an answer begins at once; it ends after `SECONDS` or `MAX_LIMIT` lines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from periplus.model import UsageError
from periplus.store.warc import CdxLine
from periplus.store.warc.cdx_query import (
    DEFAULT_LIMIT,
    LINES_PER_BLOCK,
    MAX_LIMIT,
    CdxQuery,
    count_lines,
    fields_of,
    find,
    index_files,
    key_range,
    make_query,
    page_size,
    value_of,
)

from .cached import base_url, copy_url, http_date
from .rendering import json_response
from .routing import Audience, Operation, Parameter, route
from .search_api import COLLECTION
from .served import ServedCollection, chosen_collection, served_of

SECONDS: Final = 10.0
"""How long one question may take."""
_MAX_QUERY: Final = 16_000
"""Characters of a question, all parameters together."""
_LINES_AT_ONCE: Final = 500
"""Lines of one piece of an answer."""
_PARAMETERS: Final = (
    Parameter("url", "A URL; URL* is a prefix, *.HOST a host with its subdomains.", is_required=True),
    Parameter("matchType", "exact, prefix, host or domain."),
    Parameter("from", "The earliest time: 1 to 14 digits."),
    Parameter("to", "The latest time: 1 to 14 digits."),
    Parameter("limit", f"Lines, {DEFAULT_LIMIT:,} by default, at most {MAX_LIMIT:,}; negative: the last.", "integer"),
    Parameter("sort", "reverse, or closest with closest=TIME."),
    Parameter("closest", "For sort=closest: a time of 1 to 14 digits."),
    Parameter("filter", "[!][=|~]FIELD:VALUE: contains, is (=), matches a regular expression (~). May be repeated."),
    Parameter("collapse", "FIELD or FIELD:N: of neighbours with the same value, the first."),
    Parameter("fl", "Fields, with commas between."),
    Parameter("output", "cdxj (the default), json (an object a line) or text."),
    Parameter("page", "A page of the answer, from 0 on.", "integer"),
    Parameter("pageSize", f"Blocks of {LINES_PER_BLOCK:,} lines in a page.", "integer"),
    Parameter("showNumPages", "true: only how many pages there are."),
    Parameter("resumeKey", "Where an earlier answer ended."),
    Parameter("showResumeKey", "true: an empty line and the resumeKey follow, if there is more."),
    COLLECTION,
)


def routes() -> list[Route]:
    """The routes of this module."""
    described = Operation(
        "Captures of a URL, a prefix, a host or a domain, as a CDX server.", _PARAMETERS, "text/plain"
    )
    mapped = Operation(
        "The versions of a page in time, as a TimeMap of Memento.",
        (Parameter("url", "The URL of the page.", is_in_path=True),),
        "application/link-format",
    )
    return [
        route("/cdx", _cdx, audience=Audience.VIEWER, operation=described),
        route("/timemap/link/{url:path}", _timemap, audience=Audience.VIEWER, operation=mapped),
    ]


def _cdx(request: Request) -> Response:
    collection = chosen_collection(request)
    if len(request.url.query) > _MAX_QUERY:
        raise HTTPException(414, f"A question may have {_MAX_QUERY:,} characters.")
    given: dict[str, list[str]] = {}
    for name, value in request.query_params.multi_items():
        given.setdefault(name, []).append(value)
    query, deadline = make_query(given), time.monotonic() + SECONDS
    files = index_files(collection.collection.layout.warc)
    if given.get("showNumPages", [""])[-1] == "true":
        return _page_count(count_lines(files, query, deadline=deadline), page_size(given.get("pageSize", [""])[-1]))
    write, kind = _writer(given)
    shows_key = given.get("showResumeKey", [""])[-1] == "true"
    lines = _written(find(files, query, deadline=deadline), query, write, shows_key=shows_key)
    return _streamed(lines, kind)


def _page_count(lines: int, size: int) -> Response:
    blocks = -(-lines // LINES_PER_BLOCK)
    return json_response({"blocks": blocks, "pages": max(1, -(-blocks // size)), "pageSize": size})


def _writer(given: dict[str, list[str]]) -> tuple[Callable[[CdxLine], bytes], str]:
    """How a line is written, and the type of the answer."""
    output, chosen = given.get("output", ["cdxj"])[-1], given.get("fl", [""])[-1]
    names = fields_of(chosen)
    if output == "json":
        return lambda line: _object(line, names) + b"\n", "text/x-ndjson"
    if output == "text":
        return lambda line: " ".join(value_of(line, name) or "-" for name in names).encode() + b"\n", "text/plain"
    if output != "cdxj":
        raise UsageError(f"output cannot be {output[:40]!r}", hint="cdxj, json or text")
    if not chosen:
        return lambda line: line.encode(), "text/x-cdxj"
    rest = tuple(name for name in names if name not in ("urlkey", "timestamp"))
    return lambda line: f"{line.key} {line.timestamp} ".encode() + _object(line, rest) + b"\n", "text/x-cdxj"


def _object(line: CdxLine, names: tuple[str, ...]) -> bytes:
    values = {name: value_of(line, name) for name in names}
    return msgspec.json.encode({name: value for name, value in values.items() if value})


def _written(
    lines: Iterator[CdxLine], query: CdxQuery, write: Callable[[CdxLine], bytes], *, shows_key: bool
) -> Iterator[bytes]:
    written, last = 0, None
    while some := list(islice(lines, _LINES_AT_ONCE)):
        written += len(some)
        last = some[-1]
        yield b"".join(map(write, some))
    if shows_key and last is not None and written >= query.limit > 0:
        yield b"\n" + last.encode()


def _streamed(pieces: Iterator[bytes], kind: str) -> Response:
    """A streamed answer whose first piece is already made, so that an invalid query is refused before it begins."""
    first = next(pieces, b"")
    return StreamingResponse(chain([first], pieces), media_type=kind)


# time maps


def _timemap(request: Request) -> Response:
    collection: ServedCollection = served_of(request).first
    url = request.path_params["url"] + (f"?{request.url.query}" if request.url.query else "")
    if len(url) > _MAX_QUERY:
        raise HTTPException(414, f"A URL may have {_MAX_QUERY:,} characters.")
    begin, end = key_range(url, "exact")
    query = CdxQuery(begin, end, (_are_good,), limit=MAX_LIMIT)
    files = index_files(collection.collection.layout.warc)
    lines = find(files, query, deadline=time.monotonic() + SECONDS)
    first = next(lines, None)
    if first is None:
        raise HTTPException(404, "There is no copy of this page.")
    return StreamingResponse(_links(request, first, lines), media_type="application/link-format")


def _are_good(lines: Sequence[CdxLine]) -> list[bool]:
    return [line.status.startswith("2") for line in lines]


def _links(request: Request, first: CdxLine, lines: Iterator[CdxLine]) -> Iterator[bytes]:
    here = base_url(request)
    target = f"{here}/timemap/link/{first.url}"
    yield (
        f'<{first.url}>; rel="original",\n'
        f'<{target}>; rel="self"; type="application/link-format",\n'
        f'<{copy_url(request, first.url, "").removesuffix("&at=")}>; rel="timegate"'
    ).encode()
    rel, line = "first memento", first
    for following in lines:
        yield _link(request, line, rel)
        rel, line = "memento", following
    yield _link(request, line, "first last memento" if rel == "first memento" else "last memento") + b"\n"


def _link(request: Request, line: CdxLine, rel: str) -> bytes:
    place = copy_url(request, line.url, line.timestamp)
    return f',\n<{place}>; rel="{rel}"; datetime="{http_date(line.timestamp)}"'.encode()
