"""What a line of a log says."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

LONGEST_LINE: Final = 65_536
"""Bytes; the servers themselves cut what they log well before that."""


class Hit(Struct, frozen=True, gc=False):
    """One request and what became of it.

    `ip` may be a name where the server looks them up; `host` is the virtual host as logged, with its port if that is
    there. A request that was no request line has no `method`, and is in `path` as a whole. Bytes of a path that were
    escaped are percent-encoded, as in a URL.
    """

    ip: str
    at: float
    method: str
    path: str
    protocol: str
    status: int
    size: int
    referrer: str = ""
    agent: str = ""
    user: str = ""
    host: str = ""
