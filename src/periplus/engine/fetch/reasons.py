"""Why a fetch failed: libcurl's many codes mapped to our few reasons, here and nowhere else.

Reasons of `Failed`, besides those of `dns`:

- `connect-refused`: no server listens on that port.
- `connect-timeout`: no connection (TCP and TLS) within `connect_timeout`.
- `connect-failed`: no connection for another reason: no route, no network.
- `tls`: the handshake failed, or the certificate does not prove who the server is; `detail` says which.
- `timeout`: the transfer took longer than `timeout`.
- `too-slow`: fewer bytes a second than `low_speed_limit` for `low_speed_time`, after the first byte of the answer.
- `reset`: the connection broke.
- `closed-early`: the server closed the connection before the answer was complete, or before it began.
- `too-many-headers`: more than `max_head_bytes` or `max_head_fields`.
- `bad-response`: the answer is not HTTP, or breaks its rules.
- `bad-redirect`: a redirect without a URL that can be fetched.
- `unwanted-type`: a page of a type that is not in `accept_types`; its body was not downloaded. `detail` is the type.
- `http2`: the server broke the rules of HTTP/2. A second attempt is made with HTTP/1.1.
- `bad-delta`: the answer cannot be decoded with the dictionary that was offered (`parts.deltas`); `detail` says why. A
  second attempt offers none.
- `bad-url`: libcurl does not accept the URL, or its port belongs to another protocol (see `addresses`).
- `proxy`: the proxy cannot be reached, refuses, or sends what it must not; `detail` names it.
- `over-budget`: all transfers together reached `max_buffered_bytes`, or large bodies half of it; not the server's
  fault.
- `cancelled`: the crawl was stopped.
- `other`: none of these; `detail` has libcurl's message.

Reasons of `Excluded`:

- `private-address`: the address is private and was not opened for this site (see `addresses`).
"""

from __future__ import annotations

import errno
from typing import Final

PRIVATE_ADDRESS: Final = "private-address"
TOO_SLOW: Final = "the answer came too slowly"
_COULD_NOT_CONNECT: Final = 7
TIMED_OUT: Final = 28
_TLS_CONNECT: Final = 35
_CONVERSING: Final = (55, 56)  # SEND_ERROR, RECV_ERROR

_REASONS: Final = {
    1: "bad-response",  # UNSUPPORTED_PROTOCOL: HTTP/0.9, or none at all
    3: "bad-url",
    5: "proxy",  # COULDNT_RESOLVE_PROXY
    6: "bad-url",  # COULDNT_RESOLVE_HOST: we gave it an address
    8: "bad-response",  # WEIRD_SERVER_REPLY
    16: "http2",
    18: "closed-early",  # PARTIAL_FILE
    _TLS_CONNECT: "tls",
    43: "bad-response",  # BAD_FUNCTION_ARGUMENT: from headers that it cannot store
    52: "closed-early",  # GOT_NOTHING
    53: "tls",
    54: "tls",
    58: "tls",
    59: "tls",
    60: "tls",  # PEER_FAILED_VERIFICATION
    61: "bad-response",  # BAD_CONTENT_ENCODING: a transfer coding that was not requested
    64: "tls",
    66: "tls",
    80: "tls",
    83: "tls",
    90: "tls",
    91: "tls",
    92: "http2",  # HTTP2_STREAM
    95: "reset",  # HTTP3: the site is asked without it for a day
    96: "connect-failed",  # QUIC_CONNECT_ERROR: likewise
    97: "proxy",  # PROXY: SOCKS failed
    98: "tls",
    100: "too-many-headers",  # TOO_LARGE
}
"""By number: pycurl does not name all of them (https://curl.se/libcurl/c/libcurl-errors.html)."""


_HTTP2: Final = ("HTTP/2", "[HTTP2]", "nghttp2")
"""What libcurl's messages about HTTP/2 contain, whatever their code."""

EXPIRED: Final = "the certificate has expired"
NOT_YET_VALID: Final = "the certificate is not valid yet, or the clock of this machine is wrong"
OTHER_HOST: Final = "the certificate is for another host name, and may be self-signed or expired as well"
"""libcurl checks the name first, and ends there: whether the certificate could be trusted is not known."""
SELF_SIGNED: Final = "the certificate is self-signed"
UNKNOWN_AUTHORITY: Final = "the certificate is from an authority that is not trusted here"
NOT_TLS: Final = "the server does not use TLS on this port"
OLD_TLS: Final = "the server has no version of TLS from 1.2 on"
UNKNOWN_NAME: Final = "the server has no certificate for this host name"
CLIENT_CERTIFICATE: Final = "the server requires a client certificate"
HANDSHAKE_REFUSED: Final = "the server refused the TLS handshake"
HANDSHAKE_CLOSED: Final = "the server closed the connection during the TLS handshake"
HANDSHAKE_STALLED: Final = "the TLS handshake did not end in time"

_TLS_PROBLEMS: Final = (
    ("certificate has expired", EXPIRED),
    ("not yet valid", NOT_YET_VALID),
    ("no alternative certificate subject name", OTHER_HOST),
    ("does not match target host", OTHER_HOST),
    ("self-signed certificate in certificate chain", UNKNOWN_AUTHORITY),
    ("self-signed certificate", SELF_SIGNED),
    ("local issuer certificate", UNKNOWN_AUTHORITY),
    ("verify the first certificate", UNKNOWN_AUTHORITY),
    ("wrong version number", NOT_TLS),
    ("http request", NOT_TLS),
    ("protocol version", OLD_TLS),
    ("unsupported protocol", OLD_TLS),
    ("unrecognized name", UNKNOWN_NAME),
    ("certificate required", CLIENT_CERTIFICATE),
    ("unexpected eof", HANDSHAKE_CLOSED),
    (" alert ", HANDSHAKE_REFUSED),
)
"""Parts of OpenSSL's and libcurl's messages, and what they mean; the first that fits counts."""


def tls_problem(message: str) -> str:
    """The problem in words that are the same in every version; the message itself if it is unknown."""
    return next((words for part, words in _TLS_PROBLEMS if part in message), message)


def is_of_server(reason: str, message: str) -> bool:
    """Whether a failure after a proxy has accepted CONNECT may be the server's, and not something the proxy sent."""
    if reason == "tls":
        return tls_problem(message) != NOT_TLS
    return reason in ("connect-timeout", "reset", "closed-early") and "CONNECT" not in message


def proxied(reason: str, detail: str, proxy: str, *, is_connected: bool, answered: int) -> tuple[str, str]:
    """A failure behind a proxy: its reason and detail, which name the proxy and do not have its password.

    `is_connected`: the proxy has opened the way to the server. `answered` is its status for CONNECT, 0 without one.
    """
    name = proxy.partition("://")[2] or proxy
    name = name.rpartition("@")[2].rstrip("/")
    quoted = proxy if proxy in detail else proxy[:_BEGINNING]
    before, found, after = detail.partition(quoted)
    if found and "@" in proxy:
        detail = before + name + (after if quoted == proxy else "")
    if is_connected:
        return reason, f"{detail} (through the proxy {name})".strip()
    if answered >= 300 or 0 < answered < 200:
        return "proxy", f"{name} answered {answered}{_PROXY_ANSWERS.get(answered, ' to CONNECT')}"
    if answered:
        return "proxy", f"{name} accepted CONNECT, but then: {detail}"
    if reason == "connect-timeout":
        return reason, f"the proxy {name} opened no connection in time"
    return "proxy", f"{name} {_PROXY_FAILURES.get(reason, f'failed: {detail}')}"


_BEGINNING: Final = 12
"""Characters by which the URL of a proxy is known where libcurl, whose messages have 255 characters, has cut it off."""
_PROXY_ANSWERS: Final = {407: ": it requires a user name and password"}
_PROXY_FAILURES: Final = {
    "connect-refused": "refuses connections",
    "connect-failed": "cannot be reached",
    "reset": "closed the connection without a valid answer to CONNECT",
    "closed-early": "closed the connection without a valid answer to CONNECT",
    "too-many-headers": "sent too many header fields for CONNECT",
}
"""What a proxy did that has not opened a connection, by the reason that a server would have."""


def reason_of(code: int, message: str, os_error: int, *, is_connected: bool) -> str:
    """The reason for a code of libcurl, its message, the system's error behind it, and how far the transfer was."""
    if code == TIMED_OUT:
        if not is_connected:
            return "connect-timeout"
        return "too-slow" if message == TOO_SLOW else "timeout"
    if code == _COULD_NOT_CONNECT:
        return _no_connection(message, os_error)
    if code == _TLS_CONNECT and os_error == errno.ECONNRESET:
        return "reset"
    if any(word in message for word in _HTTP2):
        return "http2"
    if code in _CONVERSING:
        return _broken_off(message)
    return _REASONS.get(code, "other")


def _broken_off(message: str) -> str:
    """The same codes of libcurl stand for a broken connection and for invalid HTTP: only the messages differ."""
    if message.startswith(("Too large response headers", "Too many response headers")):
        return "too-many-headers"
    if " alert " in message:  # TLS 1.3: a server refuses a client after its side of the handshake
        return "tls"
    return "bad-response" if "chunk" in message else "reset"


def _no_connection(message: str, os_error: int) -> str:
    if os_error == errno.ECONNREFUSED:
        return "connect-refused"
    return "connect-timeout" if os_error == errno.ETIMEDOUT or "timed out" in message.lower() else "connect-failed"
