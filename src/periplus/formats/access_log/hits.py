"""A line of an access log as a value."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

LONGEST_LINE: Final = 65_536
"""Bytes; the servers themselves cut what they log well before that."""


class Hit(Struct, frozen=True, gc=False):
    """One request and its result.

    `ip` may be a name where the server looks them up; `host` is the virtual host as logged, with its port if given. A
    line without a valid request line has no `method`, and `path` has all of it. Escaped bytes of a path are
    percent-encoded, as in a URL.
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
