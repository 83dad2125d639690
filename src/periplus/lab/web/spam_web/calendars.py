"""Calendars without an end: one on which nothing ever happens, and one with events, whose pages all differ.

Both link every month to the next and the one before, and to its days. The second cannot be told from a newspaper's
archive by its texts, only by its dates: it goes on for centuries.
"""

from __future__ import annotations

import re
from datetime import date

from ..exchange import Answer, Request
from ..randomness import at, key_of
from ..sites import DOMAIN
from ..vocabulary import sentences
from .part import Part

EMPTY, EVENTS, QUERY = (f"{name}-calendar.{DOMAIN}" for name in ("empty", "events", "query"))
"""The hosts: no events; events on every day, by path; and by parameters."""
_PATH = re.compile(r"/events/(\d{4})/(\d\d)/(?:(\d\d)/)?", re.ASCII)
_QUERY = re.compile(r"/events\?month=(\d\d?)&year=(\d{4})", re.ASCII)
_HTML = (("Content-Type", "text/html; charset=utf-8"),)
_DAYS = 28
_SENTENCES = 10


class Calendars(Part):
    """Three calendars."""

    hosts = (EMPTY, EVENTS, QUERY)

    def address(self, host: str) -> str | None:
        """All on one address."""
        return "127.252.1.2" if host in self.hosts else None

    def answer(self, request: Request) -> Answer | None:
        """A month or a day of one of them."""
        if request.host not in self.hosts:
            return None
        if request.target == "/":
            today = date.fromtimestamp(request.at)
            return _ok("Calendar", f'<p><a href="{_month(request.host, today.year, today.month)}">This month</a></p>')
        found = (_QUERY if request.host == QUERY else _PATH).fullmatch(request.target)
        if found is None:
            return Answer(404, _HTML, b"<!doctype html><title>No such day</title>\n")
        month, year = (int(found[1]), int(found[2])) if request.host == QUERY else (int(found[2]), int(found[1]))
        day = found[3] if request.host != QUERY else None
        if not 1 <= month <= 12:
            return Answer(404, _HTML, b"<!doctype html><title>No such month</title>\n")
        return _ok(f"{day or ''} {month} {year}", self._shown(request.host, year, month, day))

    def _shown(self, host: str, year: int, month: int, day: str | None) -> str:
        key = key_of(self.world.seed, host) if host == EMPTY else key_of(self.world.seed, host, year, month, day or "")
        pool = sentences()
        words = "".join(pool[at(key, place) % len(pool)].decode() for place in range(_SENTENCES))
        links = [(f"/events/{year:04d}/{month:02d}/{number:02d}/", str(number)) for number in range(1, _DAYS + 1)]
        months = [(count // 12, count % 12 + 1) for count in (year * 12 + month - 2, year * 12 + month)]
        moves = [(_month(host, *each), "another month") for each in months if 1000 <= each[0] <= 9998]
        shown = moves if day is not None or host == QUERY else [*links, *moves]
        anchors = " ".join(f'<a href="{href}">{text}</a>' for href, text in shown)
        return f"<p>{words}</p><p>{anchors}</p>"


def _month(host: str, year: int, month: int) -> str:
    return f"/events?month={month}&amp;year={year}" if host == QUERY else f"/events/{year:04d}/{month:02d}/"


def _ok(title: str, main: str) -> Answer:
    page = (
        f'<!doctype html>\n<html lang="en">\n<title>{title}</title>\n<h1>{title}</h1>\n<main>{main}</main>\n</html>\n'
    )
    return Answer(200, _HTML, page.encode())
