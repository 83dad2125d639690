"""Downloads the IP ranges that operators publish for their crawlers.

With the identity, limits and address checks of a crawl; if a download fails or is not a list of ranges, the old file
stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

from periplus.collection.config.settings import Config
from periplus.content import decode_body
from periplus.engine.clock import SystemClock
from periplus.engine.fetch import SingleRequests
from periplus.formats.address_ranges import read_address_ranges
from periplus.formats.headers import Headers
from periplus.model import Fetched, FetchOutcome, Url
from periplus.store import durable

from .identity import LARGEST_FILE, range_file

FRESH_FOR: Final = 86_400.0
"""Seconds for which a file is not fetched again: operators change theirs every few days."""
_TYPES: Final = ("application/json", "application/octet-stream", "text/*")


class RangesRefreshed(Struct, frozen=True):
    """The results for the files: `written`, `fresh` (young enough), and why the others `failed`, by URL."""

    written: int
    fresh: int
    failed: dict[str, str]


def range_requests(config: Config | None = None) -> SingleRequests:
    """Requests as a crawl sends them."""
    config = config or Config()
    guard = config.address_guard()
    return SingleRequests(
        config.wire, identity=config.crawler_identity, clock=SystemClock(), dns=config.dns, guard=guard
    )


def refresh_ranges(
    ledger: Path, urls: Iterable[str], requests: SingleRequests, clock: Callable[[], float] = time.time
) -> RangesRefreshed:
    """Fetch the range files that are not there or older than a day, into the folder `ranges` of a ledger's folder."""
    written = fresh = 0
    failed: dict[str, str] = {}
    for url in urls:
        path = ledger / "ranges" / range_file(url)
        if path.is_file() and 0 <= clock() - path.stat().st_mtime < FRESH_FOR:
            fresh += 1
            continue
        body = _body(requests.get(Url(url), max_bytes=LARGEST_FILE, types=_TYPES))
        if isinstance(body, str):
            failed[url] = body
        elif not read_address_ranges(body).ranges:
            failed[url] = "not a list of ranges"
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            durable.write_file(path, body)
            written += 1
    return RangesRefreshed(written, fresh, failed)


def _body(outcome: FetchOutcome) -> bytes | str:
    """The file; or why there is none."""
    if not isinstance(outcome, Fetched):
        return str(getattr(outcome, "reason", "redirected to another host"))
    if outcome.status != 200:
        return f"status {outcome.status}"
    if outcome.is_truncated:
        return f"larger than {LARGEST_FILE:,} bytes"
    return decode_body(outcome.body, Headers(outcome.headers).get("content-encoding") or "", max_size=LARGEST_FILE)[0]
