"""The settings of the wire: limits on time and memory for every transfer, and what requests contain."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from msgspec import Struct

from periplus.model import ConfigError, Purpose
from periplus.model.flags import HOW, PERSONAL, REQUESTS, Flag

from .addresses import private_entry

LISTS: Final = (Purpose.SITEMAP, Purpose.FEED, Purpose.ARCHIVE)
"""Purposes with long lists of URLs, which have a longer timeout than pages."""

_MIB = 1 << 20
_PROXY: Final = re.compile(
    r"""(?: (?:https?|socks4a?|socks5h?):// (?:[^\s/?#@]*@)? (?:\[[^\s/?#@\[\]]+\]|[^\s/?#@:\[\]]+) (?::([0-9]{0,5}))?
        | (?:[^\s/?#@:]*@)? [^\s/?#@:]+ :([0-9]{1,5}) ) /?""",
    re.VERBOSE,
)
"""What libcurl takes for a proxy: a URL of a scheme it supports, or host:port."""


def is_proxy(text: str) -> bool:
    """Whether libcurl takes a text for a proxy."""
    found = _PROXY.fullmatch(text) if text.isascii() and text.isprintable() else None
    return found is not None and int(found[1] or found[2] or 0) < 1 << 16


class WireSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of each transfer and of all of them together. Times are in seconds, sizes in bytes as sent."""

    max_transfers: int = 256
    """Maximum transfers and lookups at once."""
    max_idle_connections: int = 512
    """Connections kept open for the next request to the same host."""
    connect_timeout: float = 10.0
    """For TCP and TLS together."""
    timeout: float = 30.0
    """For the whole transfer, connecting included."""
    sitemap_timeout: float = 120.0
    """The same for a sitemap, a feed or an archive."""
    low_speed_limit: int = 100
    """Bytes a second below which a server is too slow..."""
    low_speed_time: int = 10
    """...for this number of seconds, once its answer has begun. For the first byte it has `timeout`."""
    max_page_bytes: int = 10 * _MIB
    """Of a page or a form's answer; the rest is cut off."""
    max_robots_bytes: int = 512 * 1024
    """Of a robots.txt."""
    max_sitemap_bytes: int = 64 * _MIB
    """Of a sitemap."""
    max_feed_bytes: int = 10 * _MIB
    """Of a feed."""
    max_archive_bytes: int = 64 * _MIB
    """Of a metadata archive."""
    max_head_bytes: int = 128 * 1024
    """Of all heads of an answer, with interim ones (1xx) and trailers."""
    max_head_fields: int = 1000
    """Fields in them."""
    max_buffered_bytes: int = 512 * _MIB
    """Held by all transfers together, in half of it bodies beyond a megabyte; near it no new one begins."""
    accept_types: tuple[str, ...] = (
        "text/html",
        "application/xhtml+xml",
        "application/vnd.wap.xhtml+xml",
        "text/plain",
    )
    """Types a page may have: `text/html`, `text/*`, `*/*`. A page without a type is accepted."""
    head_only: bool = False
    """Request pages with HEAD, for checking links."""
    accept_language: str = ""
    """The Accept-Language field; empty: none."""
    http2: bool = True
    """Use HTTP/2 over TLS where servers support it."""
    http3: Literal["off", "advertised"] = "off"
    """`advertised`: use HTTP/3 where servers offer it (`Alt-Svc`) and libcurl supports it."""
    verify_tls: Annotated[bool, PERSONAL] = True
    """Verify TLS certificates."""
    ca_file: Annotated[
        str,
        Flag("--ca-file", "Certificate authorities to trust (PEM) instead of the system's.", "FILE", HOW, REQUESTS),
        PERSONAL,
    ] = ""
    """Authorities to trust, in PEM; empty: those of the system."""
    proxy: Annotated[
        str,
        Flag(
            "--proxy",
            "Fetch through this proxy: http://127.0.0.1:3128, socks5h://127.0.0.1:1080.",
            "URL",
            HOW,
            REQUESTS,
        ),
        PERSONAL,
    ] = ""
    """A proxy for all requests, such as `http://127.0.0.1:3128`; the environment's are not used."""
    proxies: Annotated[
        str,
        Flag(
            "--proxies",
            "Fetch through the proxies in this file, one URL a line; those that fail rest.",
            "FILE",
            HOW,
            REQUESTS,
        ),
        PERSONAL,
    ] = ""
    """A file of proxies, one a line, with user names and passwords. Each site has its own; those that fail rest."""
    allow_private: Annotated[
        tuple[str, ...],
        Flag(
            "--allow-private",
            "Allow this host to be in a private network: NAME, *.NAME or IP, with :PORT if needed. May be repeated.",
            "HOST",
            HOW,
            REQUESTS,
        ),
        PERSONAL,
    ] = ()
    """Hosts that may be in a private network: `intranet.example`, `*.corp.example`, `10.0.0.7:8080`. Without a
    port: the default ports. Seeds that you type are added."""

    def __post_init__(self) -> None:
        for name in ("max_transfers", "max_page_bytes", "max_robots_bytes", "max_head_bytes", "max_head_fields"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1", hint=f"Leave {name} out for the default")
        if min(self.timeout, self.connect_timeout, self.sitemap_timeout) <= 0:
            raise ConfigError("a time limit must be more than 0 seconds", hint="The defaults are 10, 30 and 120")
        if self.proxy and not is_proxy(self.proxy):
            raise ConfigError(
                f"proxy must be a URL or host:port, got {self.proxy.rpartition('@')[2]!r}",
                hint="Write it as http://127.0.0.1:3128 or socks5h://127.0.0.1:1080",
            )
        for entry in self.allow_private:
            private_entry(entry)

    @property
    def is_proxied(self) -> bool:
        """Whether requests are sent through proxies, which look names up themselves."""
        return bool(self.proxy or self.proxies)

    def max_time(self, purpose: Purpose) -> float:
        """Time limit of a transfer, in seconds."""
        return self.sitemap_timeout if purpose in LISTS else self.timeout

    def max_body(self, purpose: Purpose) -> int:
        """Maximum size of a body, in bytes; the rest is cut off."""
        match purpose:
            case Purpose.ROBOTS:
                return self.max_robots_bytes
            case Purpose.SITEMAP:
                return self.max_sitemap_bytes
            case Purpose.FEED:
                return self.max_feed_bytes
            case Purpose.ARCHIVE:
                return self.max_archive_bytes
            case Purpose.PAGE | Purpose.FORM | Purpose.PROBE | Purpose.FILE:
                return self.max_page_bytes
