"""Reports of changes over HTTP: what a program posts, whether it may, and what is answered. The middleware uses it.

POST /.periplus/changes
Authorization: Bearer TOKEN

{"changed": ["/news/1", {"url": "/news/2", "title": "A title"}], "removed": ["/old"], "moved": [["/a", "/b"]]}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hmac import compare_digest
from typing import Final

import msgspec
from msgspec import Struct

from periplus.model import PeriplusError, UsageError
from periplus_sites.ledger import Ledger

from . import hooks
from .serving import Answer

LARGEST_REPORT: Final = 1 << 20
"""Bytes of a report: ten thousand addresses fit."""
MOST_REPORTED: Final = 10_000
"""Addresses of one report."""


class Reported(Struct, frozen=True, forbid_unknown_fields=True):
    """A page that is new or has changed."""

    url: str
    title: str = ""


class HookReport(Struct, frozen=True, forbid_unknown_fields=True):
    """What a program reports. `moved` are pairs of the old and the new address."""

    changed: tuple[str | Reported, ...] = ()
    removed: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()


_decode = msgspec.json.Decoder(HookReport).decode


def refusal(method: str, headers: Mapping[str, str], token: str) -> Answer | None:
    """Why a request is not read: another method, no token or a wrong one, too large; `None` if it may report."""
    if method != "POST":
        return _answer(405, "reports are posted", ("Allow", "POST"))
    given = headers.get("authorization", "")
    if not compare_digest(given.encode("utf-8", "replace"), f"Bearer {token}".encode()):
        return _answer(401, "the token is missing or wrong", ("WWW-Authenticate", "Bearer"))
    length = headers.get("content-length", "")
    if not length.isascii() or not length.isdigit():
        return _answer(411, "the length of the report is not given")
    return _answer(413, f"a report has at most {LARGEST_REPORT:,} bytes") if int(length) > LARGEST_REPORT else None


def receive(body: bytes, ledger: Ledger, base_url: str, now: float, hidden: Callable[[str], str]) -> Answer:
    """Record the reported changes, and answer; nothing is recorded if one address is wrong.

    `hidden` returns why an address is not published.
    """
    try:
        report = _decode(body)
        changed = [(hooks.address(each.url, base_url), each.title) for each in map(_named, report.changed)]
        removed = [hooks.address(url, base_url) for url in report.removed]
        moved = [(hooks.address(old, base_url), hooks.address(new, base_url)) for old, new in report.moved]
        if len(changed) + len(removed) + len(moved) > MOST_REPORTED:
            return _answer(413, f"a report has at most {MOST_REPORTED:,} addresses")
    except (msgspec.MsgspecError, UsageError, UnicodeDecodeError, RecursionError) as error:
        return _answer(400, str(error)[:500])
    try:
        with ledger.writing() as db:
            for url, title in changed:
                hooks.note_changed(db, url, now, title, "text/html", lambda url=url: hidden(url))  # type: ignore[misc]
            known = sum([hooks.note_removed(db, url, now) for url in removed])
            for old, new in moved:
                hooks.note_moved(db, old, new, now, lambda new=new: hidden(new))  # type: ignore[misc]
    except PeriplusError as error:
        return _answer(503, str(error), ("Retry-After", "60"))
    counts = {"changed": len(changed), "removed": known, "moved": len(moved)}
    return _json(200, counts)


def _named(each: str | Reported) -> Reported:
    return Reported(each) if isinstance(each, str) else each


def _answer(status: int, reason: str, *headers: tuple[str, str]) -> Answer:
    return _json(status, {"error": reason}, *headers)


def _json(status: int, value: object, *headers: tuple[str, str]) -> Answer:
    body = msgspec.json.encode(value)
    fields = (("Content-Type", "application/json"), ("Content-Length", str(len(body))), ("Cache-Control", "no-store"))
    return Answer(status, (*fields, *headers), body)
