"""ETag, Last-Modified and conditional requests (RFC 9110 sections 8.8 and 13), honest and otherwise."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from periplus.formats.dates import read_http, write_http

from .exchange import Request
from .life import DAY
from .live import State
from .randomness import at
from .sites import Site, Validation


@lru_cache(maxsize=4096)
def _http_day(day: int) -> str:
    return write_http(float(day * DAY)).removesuffix("00:00:00 GMT")


def http_date(at_second: int) -> str:
    """An HTTP date; most pages last changed on one of few days, so the day is kept ready."""
    day, second = divmod(at_second, DAY)
    return f"{_http_day(day)}{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d} GMT"


class Stamp(Struct, frozen=True):
    """The validators of a response."""

    etag: str | None = None
    modified_at: int | None = None

    def headers(self) -> tuple[tuple[str, str], ...]:
        """As header fields."""
        fields = []
        if self.etag is not None:
            fields.append(("ETag", self.etag))
        if self.modified_at is not None:
            fields.append(("Last-Modified", http_date(self.modified_at)))
        return tuple(fields)


def stamp(site: Site, state: State, tick: int, origin: int, view: str, at_time: float) -> Stamp:
    """The validators of a page, as its site gives them.

    An honest strong ETag must differ whenever a byte does, so it follows the churning region, too; a weak one need not.
    """
    match site.validation:
        case Validation.MISSING:
            return Stamp()
        case Validation.HONEST:
            churn = tick // site.churn_every if site.churn_every and view != "print" else 0
            modified = max(state.modified, churn * site.churn_every)
            return Stamp(f'"{state.slot:x}-{state.version:x}-{churn:x}{view[:1]}"', modified + origin)
        case Validation.WEAK:
            return Stamp(f'W/"{state.slot:x}-{state.version:x}{view[:1]}"')
        case Validation.RANDOM:
            return Stamp(f'"{at(site.key ^ state.slot, int(at_time * 1000)):016x}"', int(at_time))
        case Validation.STUCK:
            return Stamp(f'"{state.slot:x}-{state.generation:x}"', state.born + origin)


def is_unmodified(request: Request, current: Stamp) -> bool:
    """Whether 304 answers a conditional request: If-None-Match decides where there is one, then If-Modified-Since."""
    wanted = request.header("if-none-match")
    if wanted is not None:
        if current.etag is None:
            return False
        bare = current.etag.removeprefix("W/")
        tags = [tag.strip() for tag in wanted.split(",")]
        return "*" in tags or any(tag.removeprefix("W/") == bare for tag in tags)
    since = request.header("if-modified-since")
    if since is None or current.modified_at is None:
        return False
    date = read_http(since)
    return date is not None and current.modified_at <= date
