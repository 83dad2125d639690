"""Authentication: tokens, login cookies, failed attempts, and the origin of forms.

A token is compared in constant time. A cookie holds the audience and an expiry time under an HMAC whose key is derived
from the tokens: it survives a restart, and ends when a token changes. Without a token the key is random.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict, deque
from enum import IntEnum
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request

from .connections import network_of
from .served import ServeSettings

SESSION = 12 * 3600
"""Seconds until a person must log in again: a working day."""
MAX_FAILURES = 5
"""Wrong tokens of one address within `FAILURE_WINDOW`, before its attempts are refused unread."""
FAILURE_WINDOW = 60.0
"""Seconds."""
_ADDRESSES = 10_000
"""Addresses whose failures are remembered; the oldest are forgotten first."""


class Audience(IntEnum):
    """Who may see something; each may do what those before it may."""

    ANYONE = 0
    PUBLIC = 1
    """Search, for everyone with `--public-search`."""
    VIEWER = 2
    OPERATOR = 3


class Failures:
    """Counts wrong tokens by address."""

    def __init__(self) -> None:
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_of(self, address: str, now: float) -> float:
        """Seconds until the address may try again; 0: now."""
        times = self._times.get(address)
        while times and now - times[0] >= FAILURE_WINDOW:
            times.popleft()
        return FAILURE_WINDOW - (now - times[0]) if times and len(times) >= MAX_FAILURES else 0.0

    def add(self, address: str, now: float) -> None:
        """Count a failure."""
        self._times.setdefault(address, deque(maxlen=MAX_FAILURES)).append(now)
        self._times.move_to_end(address)
        while len(self._times) > _ADDRESSES:
            self._times.popitem(last=False)


class Auth:
    """Checks the credentials of requests against the settings of the server."""

    def __init__(self, settings: ServeSettings) -> None:
        self._tokens = {Audience.OPERATOR: settings.token, Audience.VIEWER: settings.viewer_token}
        self._stranger = Audience.PUBLIC if settings.public_search else Audience.ANYONE
        tokens = f"{settings.token}\0{settings.viewer_token}".encode()
        self._key = hashlib.sha256(b"periplus sessions\0" + (tokens if settings.token else secrets.token_bytes(32)))
        self._settings = settings
        self._failures = Failures()

    @property
    def needs_token(self) -> bool:
        """Whether anything but the search needs a token."""
        return bool(self._settings.token)

    @property
    def cookie(self) -> str:
        """The name of the cookie. Browsers share cookies between ports of a host, so that the port is part of it."""
        return f"periplus_{self._settings.port}"

    def audience_of(self, request: Request) -> Audience:
        """The audience that a request belongs to. Raises 401 for a wrong token and 429 after too many."""
        if not self.needs_token:
            return Audience.OPERATOR
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.check(token.strip(), request)
        return self.visitor(request)

    def visitor(self, request: Request) -> Audience:
        """The audience of a request for a page that is open to anyone: by the cookie alone."""
        if not self.needs_token:
            return Audience.OPERATOR
        return self._session(request.cookies.get(self.cookie, "")) or self._stranger

    def check(self, token: str, request: Request) -> Audience:
        """The audience of a token. Raises 401 for a wrong token and 429 after too many."""
        now, address = time.monotonic(), address_of(request)
        if wait := self._failures.wait_of(address, now):
            raise HTTPException(429, "Too many wrong tokens.", headers={"Retry-After": str(int(wait) + 1)})
        found = None
        for audience, right in self._tokens.items():
            if hmac.compare_digest(token.encode(), right.encode()) and right:
                found = audience
        if found is None:
            self._failures.add(address, now)
            raise HTTPException(401, "This token is not valid.", headers={"WWW-Authenticate": "Bearer"})
        return found

    def new_session(self, audience: Audience) -> str:
        """The value of a cookie for someone who gave the right token."""
        value = f"{int(audience)}.{int(time.time()) + SESSION}.{secrets.token_hex(8)}"
        return f"{value}.{self._signature(value)}"

    def _session(self, cookie: str) -> Audience | None:
        value, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(value).encode()):
            return None
        audience, expires, _ = value.split(".")
        return Audience(int(audience)) if time.time() < int(expires) else None

    def csrf_token(self, request: Request, periods_ago: int = 0) -> str:
        """What a form of this session carries; valid for 12 to 24 hours."""
        period = int(time.time()) // SESSION - periods_ago
        return self._signature(f"form {period} {request.cookies.get(self.cookie, '')}")

    def is_own_form(self, request: Request, token: str) -> bool:
        """Whether a form was made by this server for this session."""
        return any(hmac.compare_digest(token.encode(), self.csrf_token(request, ago).encode()) for ago in (0, 1))

    def _signature(self, value: str) -> str:
        return hmac.new(self._key.digest(), value.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def is_secure(self, request: Request) -> bool:
        """Whether the browser uses https, perhaps through a proxy."""
        return request.url.scheme == "https" or self._settings.public_url.startswith("https:")

    def is_same_origin(self, request: Request, origin: str) -> bool:
        """Whether an Origin header names this server."""
        own = {f"{request.url.scheme}://{request.headers.get('host', '')}"}
        if self._settings.public_url:
            public = urlsplit(self._settings.public_url)
            own.add(f"{public.scheme}://{public.netloc}")
        return origin in own


def auth_of(request: Request) -> Auth:
    """The checks of the server of a request."""
    auth: Auth = request.app.state.auth
    return auth


def address_of(request: Request) -> str:
    """The address of a client; for IPv6 its /64 network, all of which one person may use."""
    return network_of(request.client.host if request.client else "")
