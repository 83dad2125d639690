"""Range files of crawlers, fetched from their operators into the folder of a ledger.

They are fetched as a crawl fetches: its limits, its checks of addresses, its identity. A file that cannot be fetched,
or is not a list of ranges, leaves the old one as it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

from periplus.config import Config
from periplus.content import decode_body
from periplus.crawl.clock import SystemClock
from periplus.crawl.fetch import AddressGuard, SingleRequests
from periplus.formats.headers import Headers
from periplus.model import Fetched, FetchOutcome, Url
from periplus.publish.files import write_file
from periplus.publish.logs.identity import LARGEST_FILE, parse_ranges, range_file

FRESH_FOR: Final = 86_400.0
"""Seconds for which a file is not fetched again: operators change theirs every few days."""
_TYPES: Final = ("application/json", "application/octet-stream", "text/*")


class RangesRefreshed(Struct, frozen=True):
    """What became of the files: `written`, `fresh` (young enough), and why the others `failed`, by URL."""

    written: int
    fresh: int
    failed: dict[str, str]


def range_requests(config: Config | None = None) -> SingleRequests:
    """Requests as a crawl sends them."""
    config = config or Config()
    guard = AddressGuard([], hosts=config.dns.hosts, allow_private=config.wire.allow_private)
    return SingleRequests(config.wire, identity=config.identity, clock=SystemClock(), dns=config.dns, guard=guard)


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
        elif not parse_ranges(body):
            failed[url] = "not a list of ranges"
        else:
            write_file(path, body)
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
