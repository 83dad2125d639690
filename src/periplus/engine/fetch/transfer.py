"""One transfer at a time on one libcurl handle: options set once, options set for each task, and the outcome.

Handles are made once and reused with their callbacks, because setting up a handle costs as much as a small transfer.
Connections do not belong to a handle: the multi keeps them by host and address and gives them to any handle.

The libcurl inside a Python wheel was built on another machine and may look for the authorities in the wrong place, so
the file is always given: the one that Python's TLS would use (which honours `SSL_CERT_FILE`), a usual path of common
systems, or the one of the package certifi.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import time
from functools import cache
from pathlib import Path
from typing import Any, Final

import certifi
import pycurl

from periplus.model import (
    BROWSER_PROBE,
    ConfigError,
    Excluded,
    Failed,
    Fetched,
    FetchOutcome,
    FetchTask,
    NotModified,
    Purpose,
    Redirected,
    Site,
    Url,
)
from periplus.urls import canonical, site_of

from .addresses import AddressGuard
from .connections import MAX_IDLE, Connections, plain_protocol, protocols, read_handshake, remember
from .head import STOP, Head, WantedTypes
from .http3 import Http3
from .limits import WireSettings
from .poller import Poller
from .reasons import HANDSHAKE_STALLED, PRIVATE_ADDRESS, is_of_server, proxied, reason_of, tls_problem
from .request import HeaderFields, Requests, RequestSigner, lines_of, without_credentials

_USUAL: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian and its family
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora and its family
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",  # Alpine, BSD, macOS
)


@cache
def authorities(chosen: str = "") -> str:
    """The path of the file of trusted authorities. Raises `ConfigError` if the chosen one cannot be used."""
    if chosen:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(chosen)
        except OSError as error:
            message = f"ca_file: {chosen} cannot be used: {error.strerror or error}"
            raise ConfigError(message, hint="Name a file of certificates in PEM") from error
        return chosen
    for path in (ssl.get_default_verify_paths().cafile, *_USUAL):
        if path and Path(path).is_file():
            return path
    return certifi.where()


_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_NOT_MODIFIED: Final = 304
_SWITCHING_PROTOCOLS: Final = 101
_PROXY_AUTHENTICATION: Final = 407
_NO_SERVER: Final = (502, 503, 504)
"""Answers of a proxy to CONNECT that say that the server cannot be reached: not a failure of the proxy."""
_MAX_REDIRECT_BYTES: Final = 64 * 1024
"""Bytes of the body of a redirect that are read, so that the connection can be reused, and kept for the archive."""
_MAX_DETAIL: Final = 200
"""Characters of a server's or libcurl's text that an outcome keeps: one line of a table."""
_SUPPRESS_CONNECT_HEADERS: Final = 265
"""CURLOPT_SUPPRESS_CONNECT_HEADERS, which pycurl does not name: a proxy's answer to CONNECT is not the answer."""
_OF_PAGES: Final = (Purpose.PAGE, Purpose.FORM, Purpose.PROBE)
_NEVER: Final = 1 << 30
"""Seconds of a limit that is not to be reached."""


class _Lent(socket.socket):
    """A socket for libcurl: pycurl duplicates it and drops this object, which then closes without a ResourceWarning."""

    def __del__(self) -> None:
        self.close()


_PARTS_PER_BLOCK = 64
"""Parts of a body that become one block, of up to a MiB. The system gets freed blocks of that size back; small parts of
a hundred long bodies would leave holes in the heap for as long as the process lives."""


LARGE: Final = 2**20
"""Bytes from which a body is large: to archive and read one may take seconds."""


class Buffers:
    """Bytes that all transfers together hold in memory, with the maximum.

    Large bodies may take half of it, so that there is always room for others; a single one may take all.
    """

    __slots__ = ("held", "large", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self.held = self.large = 0

    def take(self, before: int, after: int) -> bool:
        """Hold a body that had so many bytes, and has more now; whether there is room."""
        large = after - (before if before >= LARGE else 0) if after >= LARGE else 0
        is_full = large and self.large + large > max(self.most // 2, after)
        if is_full or self.held + after - before > self.most:
            return False
        self.hold(after - before, large)
        return True

    def hold(self, size: int, large: int) -> None:
        """Count so many more bytes, and so many in large bodies."""
        self.held += size
        self.large += large

    def free(self, size: int) -> None:
        """A body is held no more."""
        self.hold(-size, -size if size >= LARGE else 0)


class BrokenHttp2:
    """Sites whose HTTP/2 failed: they are asked with HTTP/1.1 from then on."""

    __slots__ = ("_sites",)

    def __init__(self) -> None:
        self._sites: dict[Site, None] = {}

    def add(self, site: Site) -> None:
        """Remember a site; the one that failed first is forgotten when there are too many."""
        remember(self._sites, site, None)

    def __contains__(self, site: Site) -> bool:
        return site in self._sites


class Transfer:
    """A handle and the task it fetches. `why` is our own reason for stopping a transfer; empty if we did not."""

    def __init__(
        self,
        settings: WireSettings,
        requests: Requests,
        guard: AddressGuard,
        wanted: WantedTypes,
        buffers: Buffers,
        broken: BrokenHttp2 | None = None,
        connections: Connections | None = None,
        http3: Http3 | None = None,
        signer: RequestSigner | None = None,
        poller: Poller | None = None,
    ) -> None:
        """`broken` are the sites of all transfers of a wire that are asked with HTTP/1.1, `http3` those with HTTP/3.

        `poller` drives the transfer; without one it is performed at once.
        """
        self._poller = poller
        self._signer = signer
        self.signature: HeaderFields = ()
        self._settings = settings
        self._requests = requests
        self._guard = guard
        self._wanted = wanted
        self._buffers = buffers
        self._broken_http2 = BrokenHttp2() if broken is None else broken
        self._connections = Connections() if connections is None else connections
        self._http3 = http3
        self._head = Head(settings.max_head_bytes, settings.max_head_fields, self._is_welcome)
        self._limits = {purpose: settings.max_body(purpose) for purpose in Purpose}
        self._times = {purpose: max(1, round(settings.max_time(purpose) * 1000)) for purpose in Purpose}
        self._time = self._times[Purpose.PAGE]
        self._fields: list[str] | None = None
        self._pinned = ""
        self._usual_version = pycurl.CURL_HTTP_VERSION_2TLS if settings.http2 else pycurl.CURL_HTTP_VERSION_1_1
        self._version = self._usual_version
        self._is_head = False
        self._proxy = ""
        self._is_listening = False
        self._blocks: list[bytes] = []
        self._parts: list[bytes] = []
        self.handle = self._make()

    def _make(self) -> Any:
        chosen = self._settings
        handle = pycurl.Curl()
        options = {
            pycurl.NOSIGNAL: 1,
            pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
            pycurl.PROXY: "",  # none of the environment; `begin` sets that of a task
            _SUPPRESS_CONNECT_HEADERS: 1,
            pycurl.PATH_AS_IS: 1,
            pycurl.DNS_CACHE_TIMEOUT: 0,  # it gets addresses: searching a cache of names would cost more than it saves
            pycurl.HTTP_CONTENT_DECODING: 0,
            pycurl.MAXAGE_CONN: MAX_IDLE,
            pycurl.PREREQFUNCTION: self._on_request,
            pycurl.HTTP_VERSION: self._version,
            pycurl.CONNECTTIMEOUT_MS: max(1, round(chosen.connect_timeout * 1000)),
            pycurl.TIMEOUT_MS: self._time,
            pycurl.LOW_SPEED_LIMIT: 1,  # with one, libcurl looks every second, and finds some errors of HTTP/2
            pycurl.LOW_SPEED_TIME: _NEVER,
            pycurl.SSL_VERIFYPEER: int(chosen.verify_tls),
            pycurl.SSL_VERIFYHOST: 2 if chosen.verify_tls else 0,
            pycurl.HEADERFUNCTION: self._head.feed,
            pycurl.WRITEFUNCTION: self._on_body,
            pycurl.DEBUGFUNCTION: self._on_text,
        }
        if not chosen.is_proxied:
            options[pycurl.OPENSOCKETFUNCTION] = self._open_socket
        options[pycurl.CAINFO] = authorities(chosen.ca_file)
        for option, value in options.items():
            handle.setopt(option, value)
        return handle

    def begin(self, task: FetchTask, now: float, proxy: str = "") -> None:
        """Set the handle up for a task, which is sent through this proxy. Options that did not change are left alone.

        `is_unproxied` says after the end that the proxy opened no connection.
        """
        self.task = task
        self.is_unproxied = False
        self.started_at = self.ended_at = now
        self._begun, self._sent, self._connecting = time.monotonic(), 0.0, 0.0
        self._waited = 0.0 if self._poller is None else self._poller.waited
        self.why = ""
        self._is_cut = False
        self._requests_left = 2 if task.attempt == 1 else 1
        self._size = self._seen = self._slow_for = 0
        self._limit = self._limits[task.purpose]
        self._head.clear()
        handle = self.handle
        handle.setopt(pycurl.URL, without_credentials(task.url))
        is_head = self._settings.head_only and task.purpose is Purpose.PAGE
        fields = self._requests.fields(task)
        if self._signer is not None:
            is_hidden = task.probe == BROWSER_PROBE
            self.signature = () if is_hidden else self._signer.sign("HEAD" if is_head else "GET", task.url)
            fields = [*fields, *lines_of(self.signature)] if self.signature else fields
        if fields is not self._fields:
            handle.setopt(pycurl.HTTPHEADER, fields)
            self._fields = fields
        self._route(task.ip, proxy)
        if self._times[task.purpose] != self._time:
            self._time = self._times[task.purpose]
            handle.setopt(pycurl.TIMEOUT_MS, self._time)
        if is_head != self._is_head:
            handle.setopt(pycurl.NOBODY if is_head else pycurl.HTTPGET, 1)
            self._is_head = is_head
        site = site_of(task.url)
        self._is_secure = task.url[4] == "s"  # URLs of tasks begin with http: or https:
        self._heard = ""
        version = self._usual_version
        if task.attempt > 1 or site in self._broken_http2:
            version = pycurl.CURL_HTTP_VERSION_1_1
        elif self._http3 is not None and self._is_secure and self._http3.is_offered(site, now):
            version = pycurl.CURL_HTTP_VERSION_3
        if version != self._version:
            handle.setopt(pycurl.HTTP_VERSION, version)
            self._version = version
        is_listening = self._is_secure and self._connections.is_made(site, version, now)
        if is_listening != self._is_listening:
            handle.setopt(pycurl.VERBOSE, int(is_listening))
            self._is_listening = is_listening

    def _route(self, ip: str | None, proxy: str) -> None:
        """Send the request to this address, or through a proxy, which looks the name up itself."""
        if proxy != self._proxy:
            self.handle.setopt(pycurl.PROXY, proxy)
            self._proxy = proxy
        if ip is not None and not proxy and ip != self._pinned:
            self.handle.setopt(pycurl.CONNECT_TO, [f"::[{ip}]:" if ":" in ip else f"::{ip}:"])
            self._pinned = ip

    def is_too_slow(self) -> bool:
        """Whether an answer has begun and comes too slowly; called every second.

        libcurl's own limit of this kind cannot be used: it counts the wait for the first byte.
        """
        received = self._head.size + self._size
        is_slow = received > 0 and received - self._seen < self._settings.low_speed_limit
        self._slow_for = self._slow_for + 1 if is_slow else 0
        self._seen = received
        return 0 < self._settings.low_speed_time <= self._slow_for

    def end(self, code: int, message: str, now: float) -> FetchOutcome:
        """Make the outcome; the handle is free for the next task."""
        self._set_times(now)
        outcome = self._outcome(code, message)
        self.release()
        return outcome

    def end_doubtful_connection(self) -> None:
        """End the connection of an answer with a length and chunks: servers and proxies may disagree on where it ends.

        The chunks count (RFC 9112 section 6.3), and nothing else is asked over the connection. libcurl finds it dead
        before it would use it again; its socket is known as long as the handle belongs to the multi.
        """
        if self._head.value(b"transfer-encoding:") is None or self._head.value(b"content-length:") is None:
            return
        number = self.handle.getinfo(pycurl.ACTIVESOCKET)
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(number)) as connection:
            connection.shutdown(socket.SHUT_RDWR)

    def _set_times(self, now: float) -> None:
        """Set when the request began and when its answer arrived, as if we had not been busy with other work.

        Connecting counts as far as it was waited for. libcurl's times cannot be used: they are taken when it gets to a
        handle. Our clock may run at another pace than real time.
        """
        self.ended_at = now
        real_now = time.monotonic()
        elapsed = real_now - self._begun
        if self._poller is None or not self._sent or elapsed <= 0.0 or now <= self.started_at:
            return
        arrived_at = min(max(self._poller.arrived_at, self._sent), real_now)
        pace = (now - self.started_at) / elapsed
        self.ended_at = now - (real_now - arrived_at) * pace
        self.started_at = self.ended_at - (self._connecting + arrived_at - self._sent) * pace

    def release(self) -> None:
        """Free the memory of the body."""
        self._buffers.free(self._size)
        self._size = 0
        self._blocks, self._parts = [], []

    # Callbacks of libcurl.

    def _open_socket(self, _purpose: int, address: Any) -> socket.socket | int:
        """Called with the address that a connection is about to be made to; the last check of it."""
        if not self._guard.allows(site_of(self.task.url), address.addr[0]):
            self.why = PRIVATE_ADDRESS
            return int(pycurl.SOCKET_BAD)
        try:
            return _Lent(address.family, address.socktype, address.protocol)
        except OSError:  # out of file descriptors, or an address family without support here: `connect-failed`
            return int(pycurl.SOCKET_BAD)

    def _on_request(self, *_: object) -> int:
        """Called before a request is sent: more than once if a reused connection broke before the first byte came.

        libcurl then sends the request again at once, up to five times. Once is fair, because the server had probably
        closed the idle connection (RFC 9110 section 9.2.2); further attempts are the scheduler's decision.
        """
        if self._requests_left:
            self._requests_left -= 1
            self._sent = time.monotonic()
            if self._poller is not None:
                self._connecting = self._poller.waited - self._waited
            return int(pycurl.PREREQFUNC_OK)
        self.why = "closed-early"
        return int(pycurl.PREREQFUNC_ABORT)

    def _on_text(self, kind: int, text: bytes) -> None:
        if kind == pycurl.INFOTYPE_TEXT and (heard := read_handshake(text)):
            self._heard = heard

    def _is_welcome(self) -> bool:
        """Whether the body is wanted, decided when the head is complete."""
        status = self._head.status
        if status in _REDIRECTS:
            self._limit = min(self._limit, _MAX_REDIRECT_BYTES)
        if not 200 <= status < 300 or self.task.purpose not in _OF_PAGES:
            return True
        if self._wanted.wants(self._head.value(b"content-type:")):
            return True
        self.why = "unwanted-type"
        return False

    def _on_body(self, part: bytes) -> int | None:
        room = self._limit - self._size
        if len(part) > room:
            self._is_cut = True
            part = part[:room]
        if not self._buffers.take(self._size, self._size + len(part)):
            self.why = "over-budget"
            return STOP
        self._parts.append(part)
        if len(self._parts) == _PARTS_PER_BLOCK:
            self._blocks.append(b"".join(self._parts))
            self._parts = []
        self._size += len(part)
        return STOP if self._is_cut else None

    # Outcomes.

    def _outcome(self, code: int, message: str) -> FetchOutcome:
        if self.why == PRIVATE_ADDRESS:
            return Excluded(self.task, PRIVATE_ADDRESS, self.task.ip or "")
        if self._head.is_too_large:
            return self.failed("too-many-headers")
        if self.why:
            return self.failed(self.why, self._detail())
        if code and not self._is_cut:
            return self._broken(code, message)
        return self._answer(is_truncated=self._is_cut)

    def _detail(self) -> str:
        return (self._head.value(b"content-type:") or "")[:_MAX_DETAIL] if self.why == "unwanted-type" else ""

    def _broken(self, code: int, message: str) -> FetchOutcome:
        getinfo = self.handle.getinfo
        is_connected = getinfo(pycurl.REQUEST_SIZE) > 0
        reason = reason_of(code, message, getinfo(pycurl.OS_ERRNO), is_connected=is_connected)
        task = self.task
        if reason == "closed-early" and self._size and task.attempt > 1 and task.purpose is not Purpose.ROBOTS:
            # It closed early before, too: its Content-Length is always wrong, and browsers show what it sends. Half a
            # robots.txt would lack rules.
            return self._answer(is_truncated=True)
        if reason == "http2":
            self._broken_http2.add(site_of(task.url))
        if self._http3 is not None and self._version == pycurl.CURL_HTTP_VERSION_3:
            self._http3.fail(site_of(task.url), self.ended_at)
        reason, detail = self._explained(reason, message, is_connected=is_connected)
        return self.failed(reason, detail[:_MAX_DETAIL])

    def _explained(self, reason: str, message: str, *, is_connected: bool) -> tuple[str, str]:
        """The reason and detail: what is wrong with TLS in plain words, and behind a proxy the name of the proxy."""
        getinfo = self.handle.getinfo
        detail = tls_problem(message) if reason == "tls" else message
        if reason == "connect-timeout" and getinfo(pycurl.CONNECT_TIME) > 0 and self.task.url.startswith("https:"):
            detail = HANDSHAKE_STALLED
        if not self._proxy:
            return reason, detail
        answered = getinfo(pycurl.HTTP_CONNECTCODE)
        is_open = is_connected or (200 <= answered < 300 and is_of_server(reason, message))
        self.is_unproxied = not is_open and answered not in _NO_SERVER
        return proxied(reason, detail, self._proxy, is_connected=is_open, answered=answered)

    def failed(self, reason: str, detail: str = "") -> Failed:
        """The outcome of a transfer without a complete answer."""
        return Failed(
            self.task,
            reason,
            self.started_at,
            self._duration(),
            status=self._head.status or None,
            detail=detail,
            ip=self._ip(),
        )

    def _answer(self, *, is_truncated: bool) -> FetchOutcome:
        head, task = self._head, self.task
        status, headers = head.status, head.headers()
        if status < 200:
            if status == _SWITCHING_PROTOCOLS:
                return self.failed("bad-response", "101 to a request that asked for no other protocol")
            return self.failed("closed-early", "the connection was closed inside the head")
        if status == _PROXY_AUTHENTICATION and self._proxy:
            self.is_unproxied = True
            return self.failed(*proxied("proxy", "", self._proxy, is_connected=False, answered=status))
        if status == _NOT_MODIFIED:
            if task.validators is None:
                return self.failed("bad-response", "304 to a request that was not conditional")
            return NotModified(task, headers, self.started_at, self._duration(), self._ip(), self._protocols())
        parts = [*self._blocks, *self._parts]
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        if status in _REDIRECTS:
            target = redirect_target(head.value(b"location:"), task.url)
            if target is None:
                return self.failed("bad-redirect", (head.value(b"location:") or "")[:_MAX_DETAIL])
            return Redirected(
                task, status, target, headers, self.started_at, self._duration(), self._ip(), body, self._protocols()
            )
        return Fetched(
            task,
            status,
            headers,
            body,
            self.started_at,
            self._duration(),
            self._ip(),
            is_truncated,
            protocols=self._protocols(),
        )

    def _protocols(self) -> str:
        """What the answer came over (`connections`)."""
        if not self._is_secure:
            return plain_protocol(self._head.lines[0])
        getinfo = self.handle.getinfo
        version = getinfo(pycurl.INFO_HTTP_VERSION)
        site, is_new = site_of(self.task.url), bool(getinfo(pycurl.NUM_CONNECTS))
        if self._http3 is not None:
            self._http3.learn(site, self._head.value(b"alt-svc:"), self.ended_at)
            if is_new and version != pycurl.CURL_HTTP_VERSION_3 == self._version:
                self._http3.fail(site, self.ended_at)
        port = getinfo(pycurl.LOCAL_PORT)
        tls = self._connections.note(site, self._version, port, self._heard, self.ended_at, is_new=is_new)
        return protocols(version, is_secure=True, tls=tls)

    def _duration(self) -> float:
        """Seconds by our clock."""
        return max(0.0, self.ended_at - self.started_at)

    def _ip(self) -> str | None:
        return None if self._proxy else self.handle.getinfo(pycurl.PRIMARY_IP) or None


def redirect_target(location: str | None, base: Url) -> Url | None:
    """The URL that a Location field names. Bytes beyond ASCII are read as UTF-8 if they are valid, as browsers do."""
    if not location:
        return None
    if not location.isascii():
        with contextlib.suppress(UnicodeError):
            location = location.encode("latin-1").decode()
    return canonical(location, base)
