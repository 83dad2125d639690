"""Builds requests, to the byte: the archive keeps each request beside its response.

Every header field is set here, so that the bytes of a request can be reproduced from its task. Over HTTP/2 the same
fields travel in frames; the archive has them in the form of HTTP/1.1, as is usual (RFC 9113 section 8.3).

The user name and password of a URL are never sent: a crawler must not log in with what it found on a page. The header
fields that a user sets for a site (`Credentials`) are sent there, and are left out of the bytes for the archive.

User-Agent and From follow RFC 9110 sections 10.1.5 and 10.1.2. RFC 9309 section 2.2.1 asks that the product token used
in robots.txt is part of the User-Agent.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from msgspec import Struct

from periplus import __version__
from periplus.formats.robots import is_valid_agent
from periplus.model import (
    BROWSER_PROBE,
    ConfigError,
    FetchOutcome,
    FetchTask,
    OfferedDictionary,
    Purpose,
    Url,
    UsageError,
)
from periplus.urls import site_of

from .limits import LISTS

if TYPE_CHECKING:
    from .session import Session

HeaderFields = tuple[tuple[str, str], ...]
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
    """Header fields by origin (`https://example.org`): passwords, tokens and cookies that a user sets for single sites.

    They are sent with requests to that origin only: a redirect is a task of its own with its own URL, so it takes none
    of them elsewhere. They are not settings: they are not written to `periplus.toml`, the log of inputs, the tables, or
    the archive, and `repr` hides them. `proxy` is the `user:password` of the proxy that the settings name.
    """

    sites: dict[str, HeaderFields] = {}
    proxy: str = ""

    def __repr__(self) -> str:
        return f"Credentials(for {', '.join(sorted(self.sites)) or 'no site'})"

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self.sites or self.proxy)

    def of(self, url: Url) -> HeaderFields:
        """The fields to send with a request for this URL."""
        return self.sites.get(origin_of(url), ())

    def merged(self, other: Self) -> Credentials:
        """Both; where both set a field of an origin, the other's."""
        sites = dict(self.sites)
        for origin, fields in other.sites.items():
            named = {name.lower(): (name, value) for name, value in (*sites.get(origin, ()), *fields)}
            sites[origin] = tuple(named.values())
        return Credentials(sites, other.proxy or self.proxy)


NO_CREDENTIALS: Final[Credentials] = Credentials()


class Login(Struct, frozen=True, forbid_unknown_fields=True):
    """How to log in: the fields of the form at a canonical URL, the JSON of a request for a token, or a function.

    `header` is the field that is sent then, with names of the answer in braces: `Authorization: Bearer {access_token}`.
    `call` returns the header fields to send; `Cookie` may be one of them. Visitors who are not logged in get a redirect
    to `url`, one of the statuses `logged_out_status`, a page with the text `logged_out`, or one in which the CSS
    selector `logged_out_selector` finds something.
    """

    url: str = ""
    form: dict[str, str] = {}
    json: dict[str, Any] | None = None
    call: Any = None
    header: str = ""
    logged_out: str = ""
    logged_out_selector: str = ""
    logged_out_status: tuple[int, ...] = (401, 403)

    def __repr__(self) -> str:
        return "Login(...)"

    __str__ = __repr__


class SessionPlan(Struct, frozen=True):
    """A session that a user asks for: with which origins, how to log in, and the text of a `cookies.txt`.

    As `Credentials` it is written nowhere, and `repr` hides it.
    """

    origins: tuple[str, ...] = ()
    login: Login | None = None
    cookies: str = ""

    def __repr__(self) -> str:
        return f"SessionPlan(for {', '.join(sorted(self.origins)) or 'no site'})"

    __str__ = __repr__

    def __bool__(self) -> bool:
        return self.login is not None or bool(self.cookies)


NO_SESSION: Final[SessionPlan] = SessionPlan()


class RequestSigner(Protocol):
    """Signs requests at the moment they are sent."""

    key: str
    """The beginning of the name of its key."""

    def sign(self, method: str, url: Url) -> HeaderFields:
        """The fields of a signature; none if this request is not signed."""

    def is_asked(self, outcome: FetchOutcome) -> bool:
        """Whether the answer to a request without a signature asks for one, so that the request is to be repeated."""


def origin_of(url: Url) -> str:
    """The scheme, host and port of a canonical URL."""
    return f"{url[: url.index('//') + 2]}{site_of(url)}"


def header_fields(headers: Mapping[str, str], *, may_have_cookies: bool = False) -> HeaderFields:
    """Checked header fields. An error names the field and never its value."""
    reserved = _RESERVED - {"cookie"} if may_have_cookies else _RESERVED
    for name, value in headers.items():
        if not isinstance(name, str) or not _TOKEN.fullmatch(name) or name.lower() in reserved:
            raise UsageError(f"headers: {name!r} cannot be set", hint="cookies= and contact= set Cookie and User-Agent")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise UsageError(f"headers: the value of {name} cannot be sent", hint="give visible Latin-1 characters")
    return tuple(headers.items())


def cookie_field(cookies: Mapping[str, str]) -> HeaderFields:
    """The `Cookie` field of some cookies. An error names the cookie and never its value."""
    for name, value in cookies.items():
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise UsageError(f"cookies: {name!r} is not a cookie name", hint="give a name without blanks")
        if not isinstance(value, str) or not _COOKIE.fullmatch(value):
            raise UsageError(
                f"cookies: the value of {name} cannot be sent", hint="encode blanks, quotes and semicolons"
            )
    return (("Cookie", "; ".join(f"{name}={value}" for name, value in cookies.items())),) if cookies else ()


def basic_auth(user: str, password: str) -> HeaderFields:
    """The `Authorization` field of a user name and password (RFC 7617)."""
    if ":" in user:
        raise UsageError("auth: the user name contains a colon", hint="HTTP Basic authentication cannot send one")
    return (("Authorization", f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"),)


_CONTACT: Final = re.compile(r"[!-'*-\[\]-~]*")
_MAILBOX: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")


class CrawlerIdentity(Struct, frozen=True, forbid_unknown_fields=True):
    """The crawler as servers see it. `contact` is a mailbox or the URL of a page for site owners to complain to."""

    contact: str = ""
    product: str = "Periplus"
    version: str = __version__

    def __post_init__(self) -> None:
        if not is_valid_agent(self.product):
            raise ConfigError(
                f"product: {self.product!r} cannot be used in a robots.txt",
                hint="Use letters, dashes and underscores only",
            )
        if not _TOKEN.fullmatch(self.version):
            raise ConfigError(
                f"version: {self.version!r} cannot be used in a User-Agent", hint="Give a version such as 1.0"
            )
        if not _CONTACT.fullmatch(self.contact):
            raise ConfigError(
                f"contact: {self.contact!r} cannot be used in a User-Agent",
                hint="Give a mailbox or the URL of a page, in ASCII, without blanks and brackets",
            )

    @property
    def agent(self) -> str:
        """The User-Agent field."""
        return f"{self.product}/{self.version}" + (f" (+{self.contact})" if self.contact else "")

    @property
    def token(self) -> str:
        """The product token, by which the groups of a robots.txt are matched."""
        return self.product

    @property
    def mailbox(self) -> str:
        """The value of the From field; empty if the contact is not a mailbox."""
        contact = self.contact.removeprefix("mailto:")
        return contact if _MAILBOX.fullmatch(contact) else ""


ACCEPT_ENCODING = "gzip, deflate, br, zstd"
"""Content codings that `content.decode_body` can decode."""

LIST_ENCODING = "gzip"
"""For lists: the parser of sitemaps recognises gzip by its first bytes, whatever the header says."""

_ACCEPT = {
    Purpose.PAGE: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5",
    Purpose.FORM: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5",
    Purpose.PROBE: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5",
    Purpose.ROBOTS: "text/plain,*/*;q=0.5",
    Purpose.SITEMAP: "application/xml,text/xml,*/*;q=0.5",
    Purpose.FEED: "application/atom+xml,application/rss+xml,application/xml;q=0.9,*/*;q=0.5",
    Purpose.ARCHIVE: "*/*",
    Purpose.FILE: "*/*",
}


class Requests:
    """Makes the requests of one crawler: only the task differs between them."""

    def __init__(
        self,
        identity: CrawlerIdentity,
        accept_language: str = "",
        credentials: Credentials = NO_CREDENTIALS,
        browser: str = "",
        session: Session | None = None,
    ) -> None:
        """`browser` is the `User-Agent` of probes that compare what browsers get; our own name is in `From` then."""
        tail = []
        if accept_language:
            tail.append(f"Accept-Language: {accept_language}")
        if identity.mailbox:
            tail.append(f"From: {identity.mailbox}")
        self._fields = {
            purpose: [f"User-Agent: {identity.agent}", f"Accept: {accept}", _accept_encoding(purpose), *tail]
            for purpose, accept in _ACCEPT.items()
        }
        sender = f"{identity.product} <{identity.mailbox}>" if identity.mailbox else identity.agent
        self._disguise: HeaderFields = (("User-Agent", browser or identity.agent), ("From", sender))
        self._session = session
        self._private = {
            (origin, purpose): _with_own(fields, own)
            for origin, own in credentials.sites.items()
            for purpose, fields in self._fields.items()
        }

    def fields(self, task: FetchTask) -> list[str]:
        """The header lines after Host, with the credentials of the task's origin, and those of the session.

        Unconditional tasks of a purpose and site share one list: do not change it.
        """
        shared = self._fields[task.purpose]
        if self._private:
            shared = self._private.get((origin_of(task.url), task.purpose), shared)
        if self._session is not None and (own := self._session.fields_of(task.url)):
            shared = _with_session(shared, own)
        if task.probe == BROWSER_PROBE:
            shared = _with_own(shared, self._disguise)
        return self._conditional(shared, task)

    def _conditional(self, fields: list[str], task: FetchTask) -> list[str]:
        """With both validators if both are known (by RFC 9110, 13.1.3, the entity tag wins), and the dictionary."""
        known, offered = task.validators, task.dictionary
        if offered is not None:
            fields = _with_own(fields, _offer(offered))
        if known is None:
            return fields
        fields = fields.copy()
        if known.etag and _is_sendable(known.etag):
            fields.append(f"If-None-Match: {known.etag}")
        if known.last_modified and _is_sendable(known.last_modified):
            fields.append(f"If-Modified-Since: {known.last_modified}")
        return fields

    def head(self, task: FetchTask, signature: HeaderFields = ()) -> bytes:
        """The whole request as it is sent over HTTP/1.1, without credentials: for the archive."""
        fields = self._conditional(self._fields[task.purpose], task)
        fields = [*fields, *lines_of(signature)] if signature else fields
        lines = [f"GET {target_of(task.url)} HTTP/1.1", f"Host: {site_of(task.url)}", *fields, "", ""]
        return "\r\n".join(lines).encode("latin-1")


def lines_of(fields: HeaderFields) -> list[str]:
    """The lines of header fields."""
    return [f"{name}: {value}" for name, value in fields]


def _with_own(fields: list[str], own: HeaderFields) -> list[str]:
    """Header lines with a user's own fields, which replace those of the same name."""
    replaced = {name.lower() for name, _ in own}
    kept = [line for line in fields if line.partition(":")[0].lower() not in replaced]
    return [*kept, *lines_of(own)]


def _with_session(fields: list[str], own: HeaderFields) -> list[str]:
    """Header lines with those of a session; its cookies are sent behind the user's own."""
    cookies = "".join(f"{line.partition(': ')[2]}; " for line in fields if line.startswith("Cookie: "))
    return _with_own(fields, tuple((name, cookies + value if name == "Cookie" else value) for name, value in own))


def _offer(dictionary: OfferedDictionary) -> HeaderFields:
    """The fields that offer a dictionary (RFC 9842)."""
    from periplus.formats.compression_dictionary import CODING, available, written_id  # few crawls have dictionaries

    offered = (
        ("Accept-Encoding", f"{ACCEPT_ENCODING}, {CODING}"),
        ("Available-Dictionary", available(dictionary.sha256)),
    )
    return (*offered, ("Dictionary-ID", written_id(dictionary.id))) if dictionary.id else offered


def _accept_encoding(purpose: Purpose) -> str:
    return f"Accept-Encoding: {LIST_ENCODING if purpose in LISTS else ACCEPT_ENCODING}"


def target_of(url: Url) -> str:
    """The path and query of a canonical URL."""
    return url[url.index("/", 8) :]


def without_credentials(url: Url) -> str:
    """The URL without user name and password; nearly always it has none."""
    if "@" not in url:
        return url
    return f"{url[: url.index('//') + 2]}{site_of(url)}{target_of(url)}"


def _is_sendable(value: str) -> bool:
    """Whether a validator can be sent: nothing that could end a line, or that libcurl would refuse."""
    return value.isascii() and value.isprintable()
