"""What an answer came over: the protocols of its connection and its cipher suite, in the words that WARC has for them.

libcurl tells the version of HTTP after each transfer. TLS it tells only in its debug text, in a line when a connection
is made. That text costs a call for every header line and every piece of a body, so transfers listen to it only if a
connection is probably made: for https, unless the last request to the site has used an older one, and not longer ago
than idle connections are kept. What a transfer has heard is known for all that use its connection. What was not heard
is left out.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, TypeVar

import pycurl

from periplus.model import Site

Key = TypeVar("Key")
Value = TypeVar("Value")

MAX_IDLE: Final = 4
"""Seconds after which an idle connection is not used again: common servers close idle connections after 5 or more."""
_MAX_KNOWN: Final = 4096
"""Connections and sites that are remembered: far more than a worker has at a time."""
_HANDSHAKE: Final = re.compile(rb"SSL connection using (\S+) / (\S+)")
_PLAIN: Final = {
    pycurl.CURL_HTTP_VERSION_1_0: "http/1.0",
    pycurl.CURL_HTTP_VERSION_1_1: "http/1.1",
    pycurl.CURL_HTTP_VERSION_2_0: "h2c",
}
_FIRST_WORDS: Final = {b"HTTP/1.0": "http/1.0", b"HTTP/1.1": "http/1.1"}
_SECURE: Final = {**_PLAIN, pycurl.CURL_HTTP_VERSION_2_0: "h2", pycurl.CURL_HTTP_VERSION_3: "h3"}
_TLS: Final = {
    "SSLv2": "ssl/2",
    "SSLv3": "ssl/3",
    "TLSv1": "tls/1.0",
    "TLSv1.0": "tls/1.0",
    "TLSv1.1": "tls/1.1",
    "TLSv1.2": "tls/1.2",
    "TLSv1.3": "tls/1.3",
}
_SUITE: Final = re.compile(
    r"(?P<exchange>(?:(?:ECDHE|DHE|SRP|RSA)-)?(?:RSA|ECDSA|DSS|PSK|GOST2001|GOST2012)-|SRP-|ADH-|AECDH-|ECDHE-|)"
    r"(?P<cipher>NULL|RC4|SEED|IDEA-CBC|DES-CBC3|3DES-EDE-CBC|CHACHA20-POLY1305"
    r"|(?:AES|ARIA|CAMELLIA)-?(?:128|256)(?:-(?:GCM|CBC|CCM8?))?)"
    r"(?:-(?P<hash>MD5|SHA|SHA256|SHA384))?"
)
"""A name of OpenSSL for a suite of TLS 1.2 and before, in its parts."""
_CIPHERS: Final = {"RC4": "RC4_128", "SEED": "SEED_CBC", "DES-CBC3": "3DES_EDE_CBC"}
_EXCHANGES: Final = {"": "RSA", "ADH": "DH_anon", "AECDH": "ECDH_anon", "ECDHE": "ECDHE_RSA", "SRP": "SRP_SHA"}


def protocols(version: int, *, is_secure: bool, tls: str = "") -> str:
    """The words for a connection: HTTP, then TLS and cipher suite as `tls_words` gives them; empty if unknown."""
    http = (_SECURE if is_secure else _PLAIN).get(version, "")
    return f"{http} {tls}".strip() if tls else http


def plain_protocol(status_line: bytes) -> str:
    """The word for an answer without TLS: what libcurl would tell is in its first line, which costs less to read."""
    return _FIRST_WORDS.get(status_line[:8], "")


@cache
def tls_words(version: str, suite: str) -> str:
    """A version of TLS and a cipher suite of OpenSSL in the words of WARC: `tls/1.3 TLS_AES_128_GCM_SHA256`."""
    return f"{_TLS.get(version, '')} {iana_name(suite)}".strip()


def iana_name(suite: str) -> str:
    """The name of a cipher suite in the registry of IANA, for one of OpenSSL; empty if it is not known."""
    if suite.startswith("TLS_"):
        return suite
    found = _SUITE.fullmatch(suite)
    if found is None:
        return ""
    exchange, cipher, digest = found["exchange"].rstrip("-"), found["cipher"], found["hash"]
    keys = _EXCHANGES.get(exchange, exchange.replace("SRP-", "SRP-SHA-").replace("-", "_"))
    bulk = _CIPHERS.get(cipher) or re.sub(r"^(AES|ARIA|CAMELLIA)-?(\d+)", r"\1_\2", cipher).replace("-", "_")
    if re.fullmatch(r"(?:AES|ARIA|CAMELLIA)_\d+", bulk):
        bulk += "_CBC"
    if bulk.endswith("CCM8"):
        return f"TLS_{keys.replace('DHE_PSK', 'PSK_DHE')}_WITH_{bulk[:-1]}_8"
    if bulk.endswith("CCM"):
        return f"TLS_{keys}_WITH_{bulk}"
    return f"TLS_{keys}_WITH_{bulk}_{digest or 'SHA256'}"


class Connections:
    """The TLS of connections, by site and local port, for all transfers of a wire."""

    __slots__ = ("_kept", "_tls")

    def __init__(self) -> None:
        self._kept: dict[tuple[Site, int], float] = {}
        self._tls: dict[tuple[Site, int], str] = {}

    def is_made(self, site: Site, version: int, now: float) -> bool:
        """Whether a transfer that begins now probably makes a connection, and should listen. `version` is of HTTP."""
        return now - self._kept.get((site, version), 0.0) > MAX_IDLE

    def note(self, site: Site, version: int, port: int, heard: str, now: float, *, is_new: bool) -> str:
        """The TLS of the connection that a transfer has used, which `is_new` or not.

        `heard` is what was said while it was made.
        """
        if heard:
            remember(self._tls, (site, port), heard)
        known = self._tls.get((site, port), "")
        if known and not is_new:
            remember(self._kept, (site, version), now)
        else:
            self._kept.pop((site, version), None)
        return known


def read_handshake(text: bytes) -> str:
    """The words for a line of libcurl's debug text that tells of TLS; empty for any other line."""
    found = _HANDSHAKE.match(text)
    return tls_words(found[1].decode("latin-1"), found[2].decode("latin-1")) if found else ""


def remember(known: dict[Key, Value], key: Key, value: Value) -> None:
    """Put something into a dictionary; what was put there first is forgotten when there is too much."""
    known.pop(key, None)
    known[key] = value
    if len(known) > _MAX_KNOWN:
        del known[next(iter(known))]
