"""Why a fetch failed: libcurl's many codes mapped to our few reasons, here and nowhere else.

Reasons of `Failed`, besides those of `dns`:

- `connect-refused`: no server listens on that port.
- `connect-timeout`: no connection (TCP and TLS) within `connect_timeout`.
- `connect-failed`: no connection for another reason: no route, no network.
- `tls`: the handshake failed, or the certificate does not prove who the server is.
- `timeout`: the transfer took longer than `timeout`.
- `too-slow`: fewer bytes a second than `low_speed_limit` for `low_speed_time`, the wait for the first byte included.
- `reset`: the connection broke.
- `closed-early`: the server closed the connection before the answer was complete, or before it began.
- `too-many-headers`: more than `max_head_bytes` or `max_head_fields`.
- `bad-response`: the answer is not HTTP, or breaks its rules.
- `bad-redirect`: a redirect without a URL that can be fetched.
- `unwanted-type`: a page of a type that is not in `accept_types`; its body was not downloaded. `detail` is the type.
- `http2`: the server broke the rules of HTTP/2. A second attempt is made with HTTP/1.1.
- `bad-url`: libcurl does not accept the URL.
- `proxy`: the proxy cannot be reached or refuses.
- `over-budget`: all transfers together reached `max_buffered_bytes`; not the server's fault.
- `cancelled`: the crawl was stopped.
- `other`: none of these; `detail` has libcurl's message.

Reasons of `Excluded`:

- `private-address`: the address is private and was not opened for this site (see `addresses`).
"""

from __future__ import annotations

import errno
from typing import Final

PRIVATE_ADDRESS: Final = "private-address"
_COULD_NOT_CONNECT: Final = 7
_TIMED_OUT: Final = 28
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
    97: "proxy",
    98: "tls",
    100: "too-many-headers",  # TOO_LARGE
}
"""By number: pycurl does not name all of them (https://curl.se/libcurl/c/libcurl-errors.html)."""


def reason_of(code: int, message: str, os_error: int, *, is_connected: bool) -> str:
    """The reason for a code of libcurl, its message, the system's error behind it, and how far the transfer was."""
    if code == _TIMED_OUT:
        if not is_connected:
            return "connect-timeout"
        return "too-slow" if message.startswith("Operation too slow") else "timeout"
    if code == _COULD_NOT_CONNECT:
        return _no_connection(message, os_error)
    if code == _TLS_CONNECT and os_error == errno.ECONNRESET:
        return "reset"
    if code in _CONVERSING:
        return _broken_off(message)
    return _REASONS.get(code, "other")


def _broken_off(message: str) -> str:
    """The same codes of libcurl stand for a broken connection and for invalid HTTP: only the messages differ."""
    if message.startswith(("Too large response headers", "Too many response headers")):
        return "too-many-headers"
    if "HTTP/2" in message:
        return "http2"
    return "bad-response" if "chunk" in message else "reset"


def _no_connection(message: str, os_error: int) -> str:
    if os_error == errno.ECONNREFUSED:
        return "connect-refused"
    return "connect-timeout" if os_error == errno.ETIMEDOUT or "timed out" in message.lower() else "connect-failed"
