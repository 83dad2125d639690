"""The dispatcher of host names: a site of the world, a hostile host, or the lab's own index page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from . import hostile, sites
from .exchange import Answer, Request
from .hostile import Script, perform
from .world import World

_HOSTILE, _WORLD = f".{hostile.DOMAIN}", f".{sites.DOMAIN}"
_PLAIN = ("Content-Type", "text/plain; charset=utf-8")
_UNKNOWN_HOST = Answer(421, (_PLAIN,), b"There is no such host in the lab.\n")
_NO_LOOKUP = Answer(502, (_PLAIN,), b"There is no such host in the lab.\n")
_READ_ONLY = Answer(405, (_PLAIN, ("Allow", "GET, HEAD")), b"This web can only be read.\n")
"""HEAD is handled as GET; the server drops the body."""

Reply = Answer | Script


def is_local(host: str) -> bool:
    """Whether a name means this machine: then it is the index page that is wanted."""
    return host in ("", "localhost", "::1") or host.startswith("127.")


class Front(Protocol):
    """The index of the lab. It may request answers of other hosts, to show them under a path."""

    def answer(self, request: Request, ask: Callable[[Request], Reply]) -> Reply:
        """The reply to a request for no host of the lab."""


class Hosts:
    """Routes requests by host name."""

    def __init__(self, world: World, front: Front) -> None:
        self._world = world
        self._front = front

    def reply(self, request: Request, *, is_proxied: bool = False) -> Reply:
        """The answer of the host of a request. For a proxy's client an unknown name is a failed lookup."""
        found = self._find(request)
        return _NO_LOOKUP if is_proxied and found.status == _UNKNOWN_HOST.status else found

    def _find(self, request: Request) -> Reply:
        host = request.host
        if request.method != "GET":
            return _READ_ONLY
        if host.endswith(_HOSTILE):
            return perform(request) or _UNKNOWN_HOST
        if host.endswith(_WORLD):
            return self._world.answer(request)
        return self._front.answer(request, self.reply) if is_local(host) else _UNKNOWN_HOST
