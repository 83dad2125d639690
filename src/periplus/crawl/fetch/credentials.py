"""Header fields for single sites: passwords, tokens and cookies that a user gave for them.

They belong to an origin (scheme, host and port) and are sent with requests to that origin only. A redirect is a task
of its own with its own URL, so it takes none of them elsewhere. They are part of no setting: they are not written to
`periplus.toml`, the log of inputs, the tables, or the request records of the archive (`request`), and `repr` hides
them.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Final, Self

from msgspec import Struct

from periplus.model import Url, UsageError
from periplus.urls import site_of

Fields = tuple[tuple[str, str], ...]
"""Names and values of header fields."""

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[!-~\x80-\xff]([ \t!-~\x80-\xff]*[!-~\x80-\xff])?")
_COOKIE: Final = re.compile(r"[!#-+\--:<-\[\]-~]*")
"""RFC 6265 section 4.1.1: no blanks, quotes, commas, semicolons or backslashes."""
_RESERVED: Final = frozenset({
    "accept-encoding", "connection", "content-length", "cookie", "host", "if-modified-since", "if-none-match", "te",
    "transfer-encoding", "upgrade", "user-agent",
})  # fmt: skip
"""Fields that a user cannot set: the crawler's identity, what the wire computes, and `Cookie`, which `cookies` sets."""


class Credentials(Struct, frozen=True):
    """Header fields by origin (`https://example.org`)."""

    sites: dict[str, Fields] = {}

    def __repr__(self) -> str:
        return f"Credentials(for {', '.join(sorted(self.sites)) or 'no site'})"

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self.sites)

    def of(self, url: Url) -> Fields:
        """The fields to send with a request for this URL."""
        return self.sites.get(origin_of(url), ())

    def merged(self, other: Self) -> Credentials:
        """Both; where both set a field of an origin, the other's."""
        sites = dict(self.sites)
        for origin, fields in other.sites.items():
            named = {name.lower(): (name, value) for name, value in (*sites.get(origin, ()), *fields)}
            sites[origin] = tuple(named.values())
        return Credentials(sites)


NO_CREDENTIALS: Final = Credentials()


def origin_of(url: Url) -> str:
    """The scheme, host and port of a canonical URL."""
    return f"{url[: url.index('//') + 2]}{site_of(url)}"


def header_fields(headers: Mapping[str, str]) -> Fields:
    """Checked header fields. An error names the field and never its value."""
    for name, value in headers.items():
        if not isinstance(name, str) or not _TOKEN.fullmatch(name) or name.lower() in _RESERVED:
            raise UsageError(f"headers: {name!r} cannot be set", hint="cookies= and contact= set Cookie and User-Agent")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise UsageError(f"headers: the value of {name} cannot be sent", hint="give visible Latin-1 characters")
    return tuple(headers.items())


def cookie_field(cookies: Mapping[str, str]) -> Fields:
    """The `Cookie` field of some cookies. An error names the cookie and never its value."""
    for name, value in cookies.items():
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise UsageError(f"cookies: {name!r} is not a cookie name", hint="give a name without blanks")
        if not isinstance(value, str) or not _COOKIE.fullmatch(value):
            raise UsageError(
                f"cookies: the value of {name} cannot be sent", hint="encode blanks, quotes and semicolons"
            )
    return (("Cookie", "; ".join(f"{name}={value}" for name, value in cookies.items())),) if cookies else ()


def basic_auth(user: str, password: str) -> Fields:
    """The `Authorization` field of a user name and password (RFC 7617)."""
    if ":" in user:
        raise UsageError("auth: the user name contains a colon", hint="HTTP Basic authentication cannot send one")
    return (("Authorization", f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"),)
